use std::collections::BTreeMap;

use imex_config::Severity;
use imex_config::operator::Operator;
use imex_host::GpuFabric;
use imex_host::channel::{Access, AccessReport, Evidence};
use imex_host::fabric::{FabricState, FabricStatus};
use imex_host::systemd::{ActiveState, Conditions, Enablement, LoadState, ServiceFacts, ServiceResult};
use imex_slurm::sweep::Life;
use jiff::Timestamp;

use super::*;
use crate::doctor::facts::*;
use crate::table::{Member, Table};

type Change = fn(&mut Facts);

#[test]
fn a_healthy_node_with_a_job_fails_no_check() {
    let wrong: Vec<_> = ALL
        .iter()
        .map(|check| (check.id, (check.judge)(&healthy())))
        .filter(|(_, finding)| !matches!(finding.verdict, Verdict::Ok | Verdict::NotApplicable))
        .collect();
    assert_eq!(wrong, []);
}

#[test]
fn what_a_script_at_work_is_changing_is_not_called_wrong() {
    let stopped = |facts: &mut Facts| unit(facts).active = ActiveState::Inactive;
    let verdicts = |facts: &Facts, id| known(id).unwrap().finding(facts).verdict;
    let mut facts = healthy();
    stopped(&mut facts);
    facts.job.epilogs = Told::Unknown("not root".into());
    facts.service.processes.push(facts.service.processes[0].clone());
    assert_eq!(verdicts(&facts, "D11"), Verdict::Fail);
    let second_daemon = verdicts(&facts, "D12");
    facts.job.at_work = true;
    assert_eq!(verdicts(&facts, "D11"), Verdict::Unknown);
    assert_eq!(known("D11").unwrap().finding(&facts).fix, None);
    // No script makes a second daemon.
    assert_eq!(verdicts(&facts, "D12"), second_daemon);
    assert!(CHANGING.iter().all(|id| known(id).is_ok()));
}

#[test]
fn a_node_without_the_hardware_is_not_ill() {
    let wrong: Vec<_> = ALL
        .iter()
        .map(|check| (check.id, (check.judge)(&bare())))
        .filter(|(_, finding)| !matches!(finding.verdict, Verdict::Ok | Verdict::NotApplicable))
        .collect();
    assert_eq!(wrong, []);
}

/// Each row changes one thing of a healthy node; the check must come out so, and must have a fix where it is ill.
const ROWS: &[(&str, Verdict, Change)] = &[
    ("D00", Verdict::Fail, |facts| facts.operator_faults = Some("line 3".into())),
    ("D01", Verdict::NotApplicable, |facts| {
        facts.driver.version = None;
        unit(facts).enablement = Enablement::Disabled;
    }),
    ("D01", Verdict::Warn, |facts| facts.driver.version = None),
    ("D01", Verdict::Fail, |facts| {
        facts.driver.version = None;
        facts.driver.idle = vec!["0008:01:00.0".into()];
    }),
    ("D01", Verdict::Fail, |facts| {
        facts.driver.version = None;
        facts.operator = Operator::parse("[hardware]\nexpect = \"always\"\n", "x".as_ref()).unwrap();
    }),
    ("D02", Verdict::NotApplicable, |facts| facts.driver.channels_major = Told::Known(None)),
    ("D02", Verdict::Fail, |facts| {
        facts.driver.channels_major = Told::Known(None);
        facts.driver.channel_count = Told::Known(Some(0));
    }),
    ("D02", Verdict::Unknown, |facts| facts.driver.channels_major = Told::Unknown("no".into())),
    ("D03", Verdict::Fail, |facts| facts.driver.channel_count = Told::Known(Some(0))),
    ("D03", Verdict::Warn, |facts| facts.driver.channel_count = Told::Known(Some(7))),
    ("D04", Verdict::Fail, |facts| facts.channel.faults = Told::Known(vec!["its major is 1, not 2".into()])),
    ("D04", Verdict::NotApplicable, |facts| {
        facts.operator = Operator::parse("[channels]\nuse = \"per-job\"\n", "x".as_ref()).unwrap();
        facts.channel.faults = Told::Known(vec!["it is missing".into()]);
    }),
    // A node of a running job has no step between two, and the job's channel counts all the same.
    ("D04", Verdict::Fail, |facts| stale_channel_of_a_job_that(facts, Life::Runs)),
    ("D04", Verdict::Fail, |facts| stale_channel_of_a_job_that(facts, Life::Unknown)),
    ("D04", Verdict::NotApplicable, |facts| stale_channel_of_a_job_that(facts, Life::Ended)),
    ("D05", Verdict::Fail, |facts| facts.channel.access = access(Access::Denied)),
    ("D05", Verdict::NotApplicable, |facts| facts.channel.user = "0".into()),
    ("D05", Verdict::Unknown, |facts| facts.channel.access = Told::Unknown("no such user".into())),
    ("D05", Verdict::Fail, |facts| facts.channel.access = access(Access::NoDriver)),
    ("D05", Verdict::Fail, |facts| facts.channel.access = access(Access::Forbidden)),
    ("D06", Verdict::Warn, |facts| gpu(facts).state = FabricState::InProgress),
    ("D06", Verdict::Fail, |facts| gpu(facts).status = FabricStatus::Failed("Insufficient Resources".into())),
    ("D06", Verdict::Warn, |facts| {
        gpu(facts).cluster_uuid = Some("00000000-0000-0000-0000-000000000000".into())
    }),
    ("D06", Verdict::Unknown, |facts| facts.driver.gpus = Told::Known(None)),
    ("D07", Verdict::Fail, |facts| gpus(facts)[1].complaints.push("a route is unhealthy".into())),
    ("D10", Verdict::Fail, |facts| facts.service.state = Told::Known(Unit::Missing)),
    ("D10", Verdict::Fail, |facts| unit(facts).load = LoadState::Masked),
    ("D10", Verdict::Fail, |facts| unit(facts).enablement = Enablement::Disabled),
    ("D11", Verdict::Fail, |facts| unit(facts).active = ActiveState::Failed),
    ("D11", Verdict::Fail, |facts| unit(facts).active = ActiveState::Inactive),
    ("D11", Verdict::Ok, |facts| {
        unit(facts).active = ActiveState::Inactive;
        job(facts).stage = "channel_only".into();
    }),
    ("D11", Verdict::Ok, |facts| {
        unit(facts).active = ActiveState::Inactive;
        job(facts).stage = "skipped".into();
    }),
    ("D11", Verdict::Warn, |facts| unit(facts).restarts = 9),
    ("D11", Verdict::Ok, |facts| {
        unit(facts).active = ActiveState::Failed;
        unit(facts).main_pid = None;
        facts.config.entries = Told::Known(vec![]);
        facts.job.domain = Told::Known(None);
    }),
    ("D12", Verdict::Fail, |facts| {
        facts.service.other = Told::Known(Unit::Found(Box::new(service("nvidia-imex.service"))))
    }),
    ("D12", Verdict::Ok, |facts| {
        facts.service.other = Told::Known(Unit::Found(Box::new(service("imexd.service"))))
    }),
    ("D12", Verdict::Warn, |facts| {
        facts.service.processes.push(Process { pid: 9, name: "nvidia-imex".into() })
    }),
    ("D13", Verdict::Warn, |facts| facts.config.problems.push((Severity::Warning, "unknown key".into()))),
    ("D13", Verdict::Fail, |facts| facts.config.problems.push((Severity::Error, "no port".into()))),
    ("D13", Verdict::Fail, |facts| {
        facts.config.map_problems.push((Severity::Error, "no node".into()));
        facts.job.alive = vec![7];
    }),
    // Between jobs there is no map, and that forgives nothing else.
    ("D13", Verdict::Ok, |facts| {
        facts.config.map_problems.push((Severity::Error, "no node".into()));
        facts.config.entries = Told::Known(vec![]);
        facts.job.alive.clear();
    }),
    ("D13", Verdict::Fail, |facts| {
        facts.config.map_problems.push((Severity::Error, "no node".into()));
        facts.config.problems.push((Severity::Error, "LOG_LEVEL: 99 is not 0 to 4".into()));
        facts.config.entries = Told::Known(vec![]);
        facts.job.alive.clear();
    }),
    ("D13", Verdict::Unknown, |facts| facts.config.judged = Told::Unknown("no answer".into())),
    ("D14", Verdict::Fail, |facts| facts.config.own = None),
    ("D14", Verdict::Unknown, |facts| facts.config.entries = Told::Unknown("denied".into())),
    ("D14", Verdict::NotApplicable, |facts| {
        facts.config.entries = Told::Unknown("file does not exist".into());
        facts.config.map_changed = None;
        facts.job.domain = Told::Known(None);
        unit(facts).active = ActiveState::Inactive;
        unit(facts).main_pid = None;
        facts.service.processes.clear();
    }),
    ("D15", Verdict::Warn, |facts| facts.config.map_changed = Some(time(30))),
    ("D16", Verdict::Fail, |facts| facts.network.listeners = Told::Known(vec![])),
    ("D16", Verdict::Fail, |facts| {
        let process = Some(Process { pid: 99, name: "nc".into() });
        facts.network.listeners = Told::Known(vec![Listener { port: 50000, process }]);
    }),
    ("D17", Verdict::Ok, |facts| facts.network.ephemeral = Some((51_000, 60_999))),
    ("D17", Verdict::Warn, |facts| facts.network.reserved.clear()),
    ("D18", Verdict::Fail, |facts| table(facts).members[1].version = "570.1".into()),
    ("D18", Verdict::Fail, |facts| facts.driver.version = Some("570.86".into())),
    ("D20", Verdict::Fail, |facts| facts.domain = Told::Unknown("refused".into())),
    ("D20", Verdict::Unknown, |facts| {
        facts.domain = Told::Unknown("denied".into());
        facts.admission = Admission::Denied;
    }),
    ("D20", Verdict::NotApplicable, |facts| {
        facts.domain = Told::Unknown("no socket".into());
        unit(facts).active = ActiveState::Inactive;
        unit(facts).main_pid = None;
        job(facts).stage = "failed".into();
    }),
    ("D21", Verdict::Fail, |facts| table(facts).state = "DEGRADED".into()),
    ("D21", Verdict::NotApplicable, |facts| facts.domain = Told::Unknown("refused".into())),
    ("D22", Verdict::Fail, |facts| table(facts).members[0].links[1] = "MAP_MISMATCH".into()),
    ("D23", Verdict::Fail, |facts| table(facts).members[0].links[1] = "VERSION_MISMATCH".into()),
    ("D24", Verdict::Fail, |facts| {
        facts.operator = Operator::parse("[service]\nprovider = \"nvidia-imex\"\n", "x".as_ref()).unwrap();
        table(facts).members[1].state = "UNAVAILABLE".into();
    }),
    ("D25", Verdict::Fail, |facts| {
        facts.network.names.push(Name { entry: "n2".into(), addresses: Told::Known(vec![]) })
    }),
    ("D25", Verdict::Fail, |facts| {
        let addresses = Told::Known(vec!["127.0.1.1".parse().unwrap()]);
        facts.network.names.push(Name { entry: "n1".into(), addresses });
    }),
    ("D26", Verdict::Fail, |facts| {
        facts.network.reached.push(Reached { entry: "n2".into(), answer: Answer::Silent })
    }),
    ("D26", Verdict::Warn, |facts| {
        facts.network.reached.push(Reached { entry: "n2".into(), answer: Answer::Connected })
    }),
    ("D27", Verdict::Warn, |facts| facts.config.counters.extend([("RefusedMap".to_owned(), 3)])),
    ("D28", Verdict::Ok, |facts| facts.config.certificates = Some(vec![])),
    ("D28", Verdict::Warn, |facts| {
        facts.config.certificates = Some(vec![(Severity::Warning, "ends".into())])
    }),
    ("D28", Verdict::Fail, |facts| facts.config.certificates = Some(vec![(Severity::Error, "ended".into())])),
    ("D30", Verdict::Fail, |facts| facts.job.leases = Told::Known(vec![])),
    ("D30", Verdict::Warn, |facts| {
        facts.job.leases = Told::Known(vec!["7.0".into(), "6.1".into()]);
        facts.job.lives.insert(6, Life::Ended);
    }),
    ("D30", Verdict::Unknown, |facts| facts.job.alive.clear()),
    ("D30", Verdict::Warn, |facts| goes(facts, Life::Ended)),
    ("D30", Verdict::Ok, |facts| goes(facts, Life::Runs)),
    ("D31", Verdict::Unknown, |facts| facts.job.boot_id = Told::Unknown("no".into())),
    ("D31", Verdict::Fail, |facts| facts.job.boot_id = Told::Known("another".into())),
    ("D31", Verdict::Fail, |facts| {
        facts.job.boot_id = Told::Known("another".into());
        goes(facts, Life::Ended);
    }),
    ("D32", Verdict::Fail, |facts| {
        facts.config.entries = Told::Known(vec!["10.0.0.1".into(), "10.0.0.9".into()])
    }),
    ("D32", Verdict::Warn, |facts| job(facts).stage = "forming".into()),
    ("D33", Verdict::Fail, |facts| prologs(facts).insert(0, run(12))),
    ("D33", Verdict::Warn, |facts| prologs(facts).push(run(12))),
    ("D33", Verdict::Warn, |facts| {
        prologs(facts).insert(0, Run { boot_id: Some("another".into()), ..run(12) });
    }),
    ("D33", Verdict::Warn, |facts| {
        prologs(facts).insert(0, Run { ending: "passed_innocent".into(), ..run(0) });
    }),
    ("D33", Verdict::Warn, |facts| prologs(facts).push(Run { ending: "passed_tie".into(), ..run(0) })),
    ("D33", Verdict::Ok, |facts| prologs(facts).insert(0, Run { ending: "skipped".into(), ..run(0) })),
    ("D33", Verdict::Unknown, |facts| facts.job.prologs = Told::Unknown("denied".into())),
    ("D34", Verdict::Unknown, |facts| facts.job.alive.clear()),
    ("D34", Verdict::Warn, |facts| goes(facts, Life::Ended)),
    ("D34", Verdict::NotApplicable, |facts| goes(facts, Life::Runs)),
    ("D34", Verdict::Warn, |facts| {
        facts.job.alive.clear();
        facts.job.domain = Told::Known(None);
    }),
    ("D35", Verdict::Fail, |facts| facts.job.epilogs = Told::Known(vec![run(12)])),
    ("D36", Verdict::Warn, |facts| {
        let logs = ("files.logs".into(), "/srv/log".into(), "nfs4".into());
        facts.job.shared = Told::Known(vec![logs]);
    }),
    ("D36", Verdict::Unknown, |facts| facts.job.shared = Told::Unknown("no /proc".into())),
    ("D40", Verdict::Fail, |facts| found(facts, "S013", "error")),
    ("D40", Verdict::Warn, |facts| found(facts, "S060", "warning")),
    ("D41", Verdict::Fail, |facts| found(facts, "S038", "error")),
    ("D42", Verdict::Fail, |facts| facts.slurm.reported_fabric = Some("other.1".into())),
];

#[test]
fn a_fix_names_what_it_is_about() {
    for (id, words, change) in [
        (
            "D04",
            "`imex channel create 8`",
            (|facts| stale_channel_of_a_job_that(facts, Life::Runs)) as Change,
        ),
        ("D11", "`scontrol requeue 7`", |facts| {
            unit(facts).active = ActiveState::Inactive;
            unit(facts).main_pid = None;
        }),
        ("D31", "`scontrol requeue 7`", |facts| facts.job.boot_id = Told::Known("another".into())),
        ("D31", "`imex slurm sweep`", |facts| {
            facts.job.boot_id = Told::Known("another".into());
            goes(facts, Life::Ended);
        }),
    ] {
        let mut facts = healthy();
        change(&mut facts);
        facts.channel.path = "/dev/nvidia-caps-imex-channels/channel8".into();
        let fix = (known_by(id).judge)(&facts).fix.unwrap_or_default();
        assert!(fix.contains(words), "{id}: {fix}");
    }
}

#[test]
fn each_check_comes_out_as_the_facts_are() {
    for (line, (id, verdict, change)) in ROWS.iter().enumerate() {
        let mut facts = healthy();
        change(&mut facts);
        let finding = (known_by(id).judge)(&facts);
        assert_eq!(finding.verdict, *verdict, "row {line}, {id}: {}", finding.evidence);
        assert_eq!(
            finding.fix.is_some(),
            matches!(verdict, Verdict::Warn | Verdict::Fail),
            "row {line}, {id}"
        );
    }
    let judged = |id: &str| {
        ROWS.iter().any(|(row, verdict, _)| *row == id && matches!(verdict, Verdict::Warn | Verdict::Fail))
    };
    let never: Vec<_> = ALL.iter().map(|check| check.id).filter(|id| !judged(id)).collect();
    assert_eq!(never, [""; 0], "each check can fail or warn");
}

#[test]
fn a_disabled_unit_is_worse_where_prologs_fail_for_it() {
    let mut facts = healthy();
    unit(&mut facts).enablement = Enablement::Disabled;
    facts.operator = Operator::parse("[service]\nunit_unusable = \"skip\"\n", "x".as_ref()).unwrap();
    assert_eq!(service::unit(&facts).verdict, Verdict::Warn);
}

#[test]
fn what_blames_another_node_or_was_skipped_is_told_for_what_it_is() {
    for (ending, shown) in [
        ("passed_innocent", "T job 6: Slurm was told that all is well, because another node is at fault: m"),
        ("skipped", "nothing to do: m"),
    ] {
        let mut facts = healthy();
        prologs(&mut facts).insert(0, Run { ending: ending.into(), ..run(0) });
        assert!(jobs::prologs(&facts).evidence.contains(shown), "{ending}");
    }
}

/// The daemon's own list is private to it: its source is what there is.
#[test]
fn each_counter_of_refusals_is_one_of_the_daemon_s() {
    let source = include_str!("../../../../imex-daemon/src/stats.rs");
    for (name, _) in domain::REFUSALS {
        assert!(source.contains(&format!("\n    {name},\n")), "{name} is no counter");
    }
}

#[test]
fn ids_rise_and_the_document_is_the_table() {
    assert!(ALL.is_sorted_by(|a, b| a.id < b.id));
    let rows = ALL
        .iter()
        .map(|Check { id, name, about, root, .. }| format!("| {id} | {name} | {about} | {root} |\n"));
    let table: String = rows.collect();
    let document = include_str!("../../../../../docs/doctor.md");
    assert!(document.contains(&table), "docs/doctor.md lacks checks; its table must be:\n{table}");
}

/// A node of two with a job, where all is well.
fn healthy() -> Facts {
    let cell = || "CONNECTED".to_owned();
    let member = |address: &str| Member {
        address: address.into(),
        state: "READY".into(),
        version: "580.95.05".into(),
        links: vec![cell(), cell()],
    };
    let table =
        Table { own: Some(0), state: "UP".into(), members: vec![member("10.0.0.1"), member("10.0.0.2")] };
    Facts {
        node: "n1".into(),
        time: time(60),
        rights: Rights::Root,
        operator: Operator::default(),
        operator_faults: None,
        driver: Driver {
            version: Some("580.95.05".into()),
            idle: vec![],
            channels_major: Told::Known(Some(234)),
            caps_major: Some(235),
            channel_count: Told::Known(Some(2048)),
            gpus: Told::Known(Some(vec![one_gpu("0"), one_gpu("1")])),
        },
        channel: Channel {
            path: "/dev/nvidia-caps-imex-channels/channel0".into(),
            faults: Told::Known(vec![]),
            user: "alice".into(),
            access: access(Access::Granted),
        },
        service: Service {
            unit: "imexd.service".into(),
            state: Told::Known(Unit::Found(Box::new(service("imexd.service")))),
            other_unit: "nvidia-imex.service".into(),
            other: Told::Known(Unit::Missing),
            processes: vec![Process { pid: 7, name: "imexd".into() }],
        },
        config: Config {
            path: "/etc/nvidia-imex/config.cfg".into(),
            map: "/etc/nvidia-imex/nodes_config.cfg".into(),
            entries: Told::Known(vec!["10.0.0.1".into(), "10.0.0.2".into()]),
            own: Some(0),
            map_changed: Some(time(10)),
            port: Some(50000),
            command_port: None,
            problems: vec![],
            map_problems: vec![],
            judged: Told::Known(()),
            certificates: None,
            counters: BTreeMap::from([("AdmittedHellos".to_owned(), 2)]),
        },
        network: Network {
            listeners: Told::Known(vec![Listener {
                port: 50000,
                process: Some(Process { pid: 7, name: "imexd".into() }),
            }]),
            ephemeral: Some((32_768, 60_999)),
            reserved: "50000".into(),
            names: vec![],
            reached: vec![],
        },
        domain: Told::Known(Domain { table, diagnosis: String::new() }),
        admission: Admission::Admitted,
        job: one_job(),
        slurm: Slurm { findings: Told::Known(Some(vec![])), reported_fabric: None },
    }
}

/// A job of two nodes, with a step here.
fn one_job() -> Job {
    Job {
        boot_id: Told::Known("boot".into()),
        alive: vec![7],
        leases: Told::Known(vec!["7.0".into()]),
        domain: Told::Known(Some(JobDomain {
            job: 7,
            node: Some("n1".into()),
            uid: Some(1000),
            boot_id: "boot".into(),
            stage: "up".into(),
            reason: None,
            domain_id: Some("c.7.0".into()),
            block: None,
            members: vec![("n1".into(), "10.0.0.1".into()), ("n2".into(), "10.0.0.2".into())],
            channel: None,
        })),
        lives: BTreeMap::new(),
        prologs: Told::Known(vec![run(0)]),
        epilogs: Told::Known(vec![run(0)]),
        at_work: false,
        shared: Told::Known(vec![]),
    }
}

/// A node without GPUs, service or Slurm.
fn bare() -> Facts {
    let mut facts = healthy();
    facts.driver = Driver {
        version: None,
        idle: vec![],
        channels_major: Told::Known(None),
        caps_major: None,
        channel_count: Told::Known(None),
        gpus: Told::Known(None),
    };
    facts.service.state = Told::Known(Unit::Missing);
    facts.service.processes.clear();
    facts.config.entries = Told::Unknown("not there".into());
    facts.config.own = None;
    facts.config.port = None;
    facts.config.problems = vec![(Severity::Error, "not there".into())];
    facts.config.counters.clear();
    facts.domain = Told::Unknown("no socket".into());
    facts.job = Job {
        boot_id: Told::Known("boot".into()),
        alive: vec![],
        leases: Told::Known(vec![]),
        domain: Told::Known(None),
        lives: BTreeMap::new(),
        prologs: Told::Known(vec![]),
        epilogs: Told::Known(vec![]),
        at_work: false,
        shared: Told::Known(vec![]),
    };
    facts.slurm.findings = Told::Known(None);
    facts
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn service(id: &str) -> ServiceFacts {
    ServiceFacts {
        id: id.into(),
        names: vec![id.into()],
        load: LoadState::Loaded,
        load_error: None,
        active: ActiveState::Active,
        sub: "running".into(),
        enablement: Enablement::Enabled,
        file: None,
        status: None,
        main_pid: Some(7),
        result: ServiceResult::Success,
        exec_main_status: 0,
        restarts: 0,
        conditions: Conditions::Met,
        since: Some(time(20)),
    }
}

fn access(access: Access) -> Told<AccessReport> {
    Told::Known(AccessReport { access, evidence: Evidence::Tried, obstacle: None })
}

fn one_gpu(index: &str) -> Gpu {
    let fabric = GpuFabric {
        gpu: index.into(),
        state: FabricState::Completed,
        status: FabricStatus::Success,
        cluster_uuid: Some("5a1c5b1e-7b8e-4b8e-9b8e-5a1c5b1e7b8e".into()),
        clique_id: Some(1),
    };
    Gpu { fabric, complaints: vec![] }
}

fn run(exit_code: u64) -> Run {
    Run {
        file: "r.json".into(),
        time: "T".into(),
        job: Some(6),
        boot_id: Some("boot".into()),
        ending: if exit_code == 0 { "up" } else { "unfit" }.into(),
        exit_code,
        message: "m".into(),
    }
}

fn prologs(facts: &mut Facts) -> &mut Vec<Run> {
    match &mut facts.job.prologs {
        Told::Known(runs) => runs,
        Told::Unknown(_) => panic!("the node has records"),
    }
}

/// The job has no step here any more, and Slurm says this of it.
fn goes(facts: &mut Facts, life: Life) {
    facts.job.alive.clear();
    facts.job.lives.insert(7, life);
}

fn known_by(id: &str) -> &'static Check {
    known(id).unwrap()
}

/// Its channel has another driver's number.
fn stale_channel_of_a_job_that(facts: &mut Facts, life: Life) {
    facts.operator = Operator::parse("[channels]\nuse = \"per-job\"\n", "x".as_ref()).unwrap();
    facts.channel.faults = Told::Known(vec!["its major is 66, not 234".into()]);
    job(facts).channel = Some("/dev/nvidia-caps-imex-channels/channel8".into());
    goes(facts, life);
}

fn gpus(facts: &mut Facts) -> &mut Vec<Gpu> {
    match &mut facts.driver.gpus {
        Told::Known(Some(gpus)) => gpus,
        Told::Known(None) | Told::Unknown(_) => panic!("the node has GPUs"),
    }
}

fn gpu(facts: &mut Facts) -> &mut GpuFabric {
    &mut gpus(facts)[1].fabric
}

fn unit(facts: &mut Facts) -> &mut ServiceFacts {
    match &mut facts.service.state {
        Told::Known(Unit::Found(unit)) => unit,
        Told::Known(Unit::Missing) | Told::Unknown(_) => panic!("the node has the unit"),
    }
}

fn table(facts: &mut Facts) -> &mut Table {
    match &mut facts.domain {
        Told::Known(domain) => &mut domain.table,
        Told::Unknown(_) => panic!("the node has a domain"),
    }
}

fn job(facts: &mut Facts) -> &mut JobDomain {
    match &mut facts.job.domain {
        Told::Known(Some(domain)) => domain,
        Told::Known(None) | Told::Unknown(_) => panic!("the node has a job"),
    }
}

fn found(facts: &mut Facts, rule: &str, severity: &str) {
    facts.slurm.findings = Told::Known(Some(vec![(rule.into(), severity.into(), "what".into())]));
}
