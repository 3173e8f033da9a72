//! Whole prologs on a machine of files: a fake service manager, a daemon that sees what the test says.

use std::cell::RefCell;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use imex_core::{DomainState, LinkState, NodeState};
use imex_host::boot::BootId;
use imex_host::devices::{CharDevices, DevicesError};
use imex_host::systemd::{
    ActiveState, Conditions, Enablement, JobDone, JobFailure, LoadState, Operation, Patience, ServiceFacts,
    ServiceResult, Stopped, SystemdError,
};
use tempfile::TempDir;

use super::*;
use crate::applicable::{FabricFact, Gpu, InstanceType};
use crate::epilog::{self, Hands};
use crate::eyes::Blind;
use crate::job_domain::Stage;
use crate::joblog::Origin;
use crate::machine::Unknown;
use crate::record::{Kind, Result as Outcome};
use crate::scope::Places;
use crate::view::{Cell, Member, Proof, View, Voice};

#[test]
fn a_job_gets_a_domain_that_is_up_and_leaves_nothing() {
    let site = TestSite::new("");
    let (ended, record) = site.prolog();
    assert_eq!(ended.ending, Ending::Up, "{}", ended.message);
    assert!(ended.message.starts_with("the domain is UP: all 4 links of its 2 nodes are connected"));
    assert_eq!(site.map(), "10.0.0.1\n10.0.0.2\n");
    assert!(site.config().contains("OPENIMEX_DOMAIN_TOKEN=lab/7/0\n"), "{}", site.config());
    let state = site.state().unwrap();
    assert_eq!((state.stage, state.index(), state.domains), (Stage::Up, Some(0), Some(1)));
    assert!(site.path("run/leases/7.0.lease").exists());
    let steps: Vec<&str> =
        record["steps"].as_array().unwrap().iter().map(|s| s["step"].as_str().unwrap()).collect();
    assert_eq!(
        steps,
        ["applicable", "lease", "scope", "channel", "peers", "stop", "files", "settle", "verdict"]
    );
    assert_eq!((&record["verdict"], &record["peers_by"]), (&"up".into(), &"resolver".into()));
    let log = fs::read_to_string(site.path("logs/job-7.log")).unwrap();
    assert!(log.contains(" [INFO] [PID:1] [JOB:7] the job is one domain of 2 (n[1-2])\n"), "{log}");
    for _ in 0..2 {
        assert_eq!(site.epilog(), Vec::<String>::new());
        assert_eq!((site.map().as_str(), site.state()), ("", None));
        assert!(!site.path("run/leases/7.0.lease").exists());
        assert!(site.config().contains("OPENIMEX_DOMAIN_TOKEN=\n"), "{}", site.config());
        assert!(!site.manager.borrow().runs);
    }
}

#[test]
fn a_shared_job_is_skipped_and_touches_nothing() {
    let mut site = TestSite::new("");
    site.environment.insert("SLURM_JOB_EXCLUSIVE".to_owned(), "NO".to_owned());
    let (ended, _) = site.prolog();
    assert_eq!(ended.ending, Ending::Skipped);
    assert!(ended.message.contains("the job is not exclusive"), "{}", ended.message);
    assert_eq!((site.state(), site.path("run/leases").exists()), (None, false));
    assert_eq!(site.epilog(), Vec::<String>::new());
    assert_eq!(site.manager.borrow().calls, [""; 0]);
}

#[test]
fn a_node_that_sees_another_at_fault_passes_and_says_whom() {
    let site = TestSite::new("prolog.budget = \"600ms\"").seeing(view(0, 3, &[2]));
    let site = site.with_nodes("n[1-3]");
    let (ended, record) = site.prolog();
    assert_eq!(ended.ending, Ending::PassedInnocent);
    assert!(
        ended.message.contains("n3 [10.0.0.3] is at fault: 0 of 2 other nodes reach it"),
        "{}",
        ended.message
    );
    assert_eq!(record["standings"][2]["standing"], "at_fault");
    assert_eq!(record["matrix"][0], "C C N");
    let state = site.state().unwrap();
    assert_eq!((state.stage, state.reason), (Stage::Failed, Some(ended.message)));
}

#[test]
fn a_prolog_that_began_when_others_had_given_up_says_so_where_no_domain_comes_of_it() {
    let late = " s after its job got its nodes, and prologs give up after 0.6 s: others may have";
    let at = |mut site: TestSite, seconds: i64| {
        let started = Clock::start().begun().as_second() - seconds;
        site.environment.insert("SLURM_JOB_START_TIME".to_owned(), started.to_string());
        site.prolog()
    };
    let site = || TestSite::new("prolog.budget = \"600ms\"");
    let without_n3 = || site().seeing(view(0, 3, &[2])).with_nodes("n[1-3]");
    let (ended, record) = at(without_n3(), 3600);
    assert_eq!((ended.ending, record["late"].is_string()), (Ending::PassedInnocent, true));
    let told = ended.message.strip_suffix(late).and_then(|told| told.rsplit_once("; this prolog began "));
    let began: i64 = told.unwrap_or_else(|| panic!("{}", ended.message)).1.parse().unwrap();
    // Time goes on until it looks.
    assert!((3600..3700).contains(&began), "{began}");
    let up = at(TestSite::new(""), 3600).0;
    assert_eq!(up.ending, Ending::Up);
    assert!(!up.message.contains("this prolog began"));
    // A controller whose clock is ahead.
    assert!(!at(without_n3(), -3600).0.message.contains("this prolog began"));
}

#[test]
fn policy_decides_what_innocent_and_tied_nodes_do() {
    for (policy, view, nodes, expected) in [
        ("prolog.innocent = \"fail\"", view(0, 3, &[2]), "n[1-3]", Ending::Innocent),
        ("", view(0, 2, &[1]), "n[1-2]", Ending::Tied),
        ("prolog.tie = \"pass\"", view(0, 2, &[1]), "n[1-2]", Ending::PassedTie),
        ("", view(2, 3, &[0, 1]), "n[1-3]", Ending::AtFault),
    ] {
        let own = view.own;
        let mut site =
            TestSite::new(&format!("prolog.budget = \"600ms\"\n{policy}")).seeing(view).with_nodes(nodes);
        site.environment.insert("SLURMD_NODENAME".to_owned(), format!("n{}", own + 1));
        assert_eq!(site.prolog().0.ending, expected, "{policy} {nodes}");
    }
}

#[test]
fn a_service_that_ends_is_told_at_once_and_by_its_code() {
    let mut site = TestSite::new("");
    site.view = None;
    site.manager.borrow_mut().fails = Some(203);
    let (ended, _) = site.prolog();
    assert_eq!(ended.ending, Ending::Service);
    assert_eq!(
        ended.message,
        "imexd.service ended with code 203: its program cannot be run; is it installed?"
    );
}

#[test]
fn a_service_that_does_not_answer_is_this_nodes_fault() {
    let mut site = TestSite::new("prolog.budget = \"500ms\"");
    site.view = None;
    let (ended, _) = site.prolog();
    assert_eq!(ended.ending, Ending::Service);
    assert_eq!(ended.message, "this node's service does not answer: nobody there");
}

#[test]
fn what_a_lost_epilog_left_is_taken_over_and_a_living_owner_refused() {
    let mut site = TestSite::new("");
    site.prolog();
    site.environment.insert("SLURM_JOB_ID".to_owned(), "8".to_owned());
    let (ended, record) = site.prolog();
    assert_eq!(ended.ending, Ending::Up);
    assert_eq!(record["takeover"]["domain"]["because"], "ended");
    assert_eq!(site.leases(), ["8.0.lease"]);
    site.machine.alive = vec![8];
    site.environment.insert("SLURM_JOB_ID".to_owned(), "9".to_owned());
    let (ended, _) = site.prolog();
    assert_eq!(ended.ending, Ending::InUse);
    assert!(ended.message.contains("in use by job 8"), "{}", ended.message);
    assert_eq!(site.state().unwrap().job, 8);
    // Its epilog must not touch what is another's.
    site.epilog();
    assert_eq!((site.state().unwrap().job, site.leases()), (8, vec!["8.0.lease".to_owned()]));
}

#[test]
fn all_nodes_write_the_same_map_whatever_each_is_told_of_its_own_name() {
    let views: [Option<Vec<&'static str>>; 4] =
        [None, Some(vec!["127.0.1.1"]), Some(vec!["172.17.0.1", "10.0.0.9", "fe80::1"]), Some(vec![])];
    for (own, named) in views.iter().flat_map(|own| [(own, false), (own, true)]) {
        for (node, nodes) in [("n1", "n[1-3]"), ("n2", "n3,n1,n2"), ("n3", "n[2-3],n1")] {
            let mut site = TestSite::new("prolog.budget = \"300ms\"").with_nodes(nodes);
            site.environment.insert("SLURMD_NODENAME".to_owned(), node.to_owned());
            (site.machine.name, site.machine.own, site.machine.named) = (node.to_owned(), own.clone(), named);
            site.prolog();
            assert_eq!(site.map(), "10.0.0.1\n10.0.0.2\n10.0.0.3\n", "{node} {own:?} {named}");
        }
    }
}

#[test]
fn a_rotated_port_is_put_back() {
    let site = TestSite::new("service.port = \"rotate\"");
    let before = site.config();
    site.prolog();
    assert!(site.config().contains("SERVER_PORT=33799\n"), "{}", site.config());
    site.epilog();
    assert!(site.config().starts_with(&before) && site.config().ends_with("OPENIMEX_DOMAIN_TOKEN=\n"));
}

#[test]
fn an_innocent_node_stops_its_service_when_it_gives_up() {
    let site = TestSite::new("prolog.budget = \"600ms\"").seeing(view(0, 3, &[2])).with_nodes("n[1-3]");
    assert_eq!(site.prolog().0.ending, Ending::PassedInnocent);
    assert!(!site.manager.borrow().runs);
}

#[test]
fn a_state_that_nobody_can_read_is_taken_away() {
    let site = TestSite::new("");
    site.prolog();
    fs::write(site.path("state/domain.json"), "{").unwrap();
    assert_eq!(site.epilog(), Vec::<String>::new());
    assert_eq!((site.map().as_str(), site.state(), site.leases()), ("", None, Vec::new()));
}

#[test]
fn the_single_node_of_a_divided_job_gets_what_policy_says_of_one_node() {
    let place = |node: &str, block: &str| (node.to_owned(), block.to_owned());
    for (policy, ending, stage) in
        [("channel", Ending::Channel, Stage::ChannelOnly), ("skip", Ending::Skipped, Stage::Skipped)]
    {
        let mut site = TestSite::new(&format!("jobs.one_node = \"{policy}\"")).with_nodes("n[1-2]");
        site.machine.places = Some([place("n1", "a"), place("n2", "b")].into());
        assert_eq!(site.prolog().0.ending, ending);
        // Its tasks start, and its service does not.
        assert_eq!(site.state().unwrap().stage, stage);
        assert!(!site.manager.borrow().runs);
    }
}

#[test]
fn a_job_over_two_blocks_has_the_domain_of_this_nodes_block() {
    let mut site = TestSite::new("").with_nodes("n[1-3]");
    let place = |node: &str, block: &str| (node.to_owned(), block.to_owned());
    site.machine.places = Some([place("n1", "a"), place("n2", "a"), place("n3", "b")].into());
    let (ended, record) = site.prolog();
    assert_eq!(ended.ending, Ending::Up);
    assert_eq!(site.map(), "10.0.0.1\n10.0.0.2\n");
    let state = site.state().unwrap();
    assert_eq!((state.block.as_deref(), state.domains), (Some("a"), Some(2)));
    assert_eq!(record["division"]["domains"][1]["nodes"][0], "n3");
}

#[test]
fn the_controller_is_asked_where_the_resolver_does_not_do() {
    let mut site = TestSite::new("");
    site.machine.resolves = false;
    let (ended, record) = site.prolog();
    assert_eq!((ended.ending, &record["peers_by"]), (Ending::Up, &"scontrol".into()));
    assert_eq!(site.map(), "10.0.0.1\n10.0.0.2\n");
}

#[test]
fn whatever_fails_after_the_lease_is_in_the_state_for_tasks_to_read() {
    let mut site = TestSite::new("peers.by = \"resolver\"");
    site.machine.resolves = false;
    let (ended, _) = site.prolog();
    assert_eq!(ended.ending, Ending::Members);
    let told = "the addresses of the members cannot be found out: the name is not known";
    assert_eq!(ended.message, told);
    let state = site.state().unwrap();
    assert_eq!((state.stage, state.reason.as_deref()), (Stage::Failed, Some(told)));
}

#[test]
fn a_prolog_that_is_dropped_anywhere_is_cleaned_up_by_the_epilog() {
    for step in Step::ALL {
        let site = TestSite::new("");
        let reached = site.prolog_until(step);
        assert!(reached, "{step:?}");
        assert_eq!(site.epilog(), Vec::<String>::new(), "{step:?}");
        assert_eq!((site.state(), site.leases()), (None, Vec::new()), "{step:?}");
        assert!(!site.manager.borrow().runs, "{step:?}");
        assert_eq!(site.prolog().0.ending, Ending::Up, "{step:?}");
    }
}

/// A node with its files in a folder.
struct TestSite {
    dir: TempDir,
    operator: Operator,
    environment: crate::context::Environment,
    machine: TestMachine,
    manager: Rc<RefCell<TestService>>,
    view: Option<View>,
}

#[derive(Clone)]
struct TestMachine {
    name: String,
    /// What it is told of its own name, where that is not what others are told.
    own: Option<Vec<&'static str>>,
    /// What the controller has instead of addresses: names.
    named: bool,
    places: Option<Places>,
    alive: Vec<u32>,
    resolves: bool,
}

#[derive(Default)]
struct TestService {
    runs: bool,
    fails: Option<i32>,
    calls: Vec<&'static str>,
}

struct TestManager(Rc<RefCell<TestService>>);

struct TestEyes(Option<View>);

impl TestSite {
    /// Of a job on two nodes that sees its domain UP.
    fn new(policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let text = format!(
            "service.config = {:?}\nservice.node_map = {:?}\nfiles.state = {:?}\nfiles.run = {:?}\nfiles.logs = {:?}\n\
             channels.use = \"off\"\n{policy}\n",
            at("config.cfg"),
            at("nodes.cfg"),
            at("state"),
            at("run"),
            at("logs")
        );
        fs::write(dir.path().join("config.cfg"), "SERVER_PORT=50000\n").unwrap();
        let environment = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_CLUSTER_NAME", "lab"),
            ("SLURM_JOB_NODELIST", "n[1-2]"),
            ("SLURMD_NODENAME", "n1"),
            ("SLURM_JOB_UID", "1001"),
            ("SLURM_JOB_GID", "1001"),
            ("SLURM_JOB_EXCLUSIVE", "NODE"),
        ];
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        TestSite {
            operator: Operator::parse(&text, Path::new("openimex.toml")).unwrap(),
            dir,
            environment: environment.into_iter().map(pair).collect(),
            machine: TestMachine {
                name: "n1".to_owned(),
                own: None,
                named: false,
                places: None,
                alive: Vec::new(),
                resolves: true,
            },
            manager: Rc::default(),
            view: Some(view(0, 2, &[])),
        }
    }

    fn seeing(self, view: View) -> Self {
        TestSite { view: Some(view), ..self }
    }

    fn with_nodes(mut self, nodes: &str) -> Self {
        self.environment.insert("SLURM_JOB_NODELIST".to_owned(), nodes.to_owned());
        self
    }

    fn prolog(&self) -> (Ended, serde_json::Value) {
        let mut prolog = self.begin(&|_| {});
        let ended = run(prolog.run());
        let record = prolog.finish(&ended);
        let outcome = Outcome { ending: "", exit_code: 0, message: &ended.message };
        let text = record.text(&outcome, None, jiff::Timestamp::UNIX_EPOCH);
        (ended, serde_json::from_str(&text).unwrap())
    }

    /// Drops the prolog as soon as a step is over; says whether it came to that.
    fn prolog_until(&self, last: Step) -> bool {
        let reached = std::cell::Cell::new(false);
        let after = |step| {
            if step == last {
                reached.set(true);
                std::panic::panic_any(Killed);
            }
        };
        let mut prolog = self.begin(&after);
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(prolog.run())));
        killed.is_err() && reached.get()
    }

    fn begin<'s>(
        &'s self,
        after: &'s dyn Fn(Step),
    ) -> Prolog<'s, TestMachine, TestManager, impl Fn(&str) -> TestEyes + 's> {
        let context = JobContext::read(&self.environment, 8).unwrap();
        let clock = Clock::start();
        let origin = Origin { identifier: "imex-prolog", job: Some(context.job), run: None, pid: 1 };
        let log = JobLog::open(origin, &self.operator.files.logs, 10, Path::new("/nowhere"));
        let site = Site {
            operator: &self.operator,
            machine: self.machine.clone(),
            manager: TestManager(Rc::clone(&self.manager)),
            eyes: |_: &str| TestEyes(self.view.clone()),
            after,
        };
        Prolog::new(site, context, clock, log, Record::begin(Kind::Prolog, clock.wall()))
    }

    /// The problems of an epilog.
    fn epilog(&self) -> Vec<String> {
        let me = crate::context::JobName::read(&self.environment).unwrap();
        let manager = TestManager(Rc::clone(&self.manager));
        let hands = Hands { operator: &self.operator, manager, after: &|_| {} };
        let report = run(epilog::run(&me, hands, Clock::start()));
        report.problems.iter().map(ToString::to_string).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn map(&self) -> String {
        fs::read_to_string(self.path("nodes.cfg")).unwrap_or_default()
    }

    fn config(&self) -> String {
        fs::read_to_string(self.path("config.cfg")).unwrap()
    }

    fn state(&self) -> Option<JobDomain> {
        JobDomainFile::within(&self.operator.files.state).read().unwrap()
    }

    fn leases(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("run/leases")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".lease")).collect();
        names.sort();
        names
    }
}

/// What a dropped prolog panics with.
struct Killed;

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A domain of so many nodes, of which some are cut off from the others.
fn view(own: usize, nodes: usize, cut_off: &[usize]) -> View {
    let connected =
        |from: usize, to: usize| from == to || !(cut_off.contains(&from) || cut_off.contains(&to));
    let state = |from, to| if connected(from, to) { LinkState::Connected } else { LinkState::NeverConnected };
    let member = |node: usize| Member {
        address: format!("10.0.0.{}", node + 1),
        state: NodeState::Ready,
        version: "NO_GPU".to_owned(),
        voice: if connected(own, node) { Voice::Heard } else { Voice::Silent },
        links: (0..nodes)
            .map(|to| Cell { state: state(node, to), cause: None, proof: Proof::Nothing })
            .collect(),
    };
    let domain = if cut_off.is_empty() { DomainState::Up } else { DomainState::Degraded };
    View { own, members: (0..nodes).map(member).collect(), state: domain }
}

impl Eyes for TestEyes {
    async fn until_up(&self, map: &NodeMap) -> Result<View, Blind> {
        match &self.0 {
            Some(view)
                if view.state == DomainState::Up && view.has_members(map.iter().map(|(_, entry)| entry)) =>
            {
                Ok(view.clone())
            }
            Some(_) | None => std::future::pending().await,
        }
    }

    async fn look(&self, _within: Duration) -> Result<View, Blind> {
        self.0.clone().ok_or_else(|| Blind::NoAnswer { why: "nobody there".to_owned() })
    }
}

impl ServiceManager for TestManager {
    async fn facts(&mut self, _within: Duration) -> Result<ServiceFacts, SystemdError> {
        let service = self.0.borrow();
        Ok(ServiceFacts {
            id: "imexd.service".to_owned(),
            names: Vec::new(),
            load: LoadState::Loaded,
            load_error: None,
            active: if service.runs { ActiveState::Active } else { ActiveState::Inactive },
            sub: String::new(),
            enablement: Enablement::Enabled,
            file: None,
            status: None,
            main_pid: None,
            result: if service.fails.is_some() { ServiceResult::ExitCode } else { ServiceResult::Success },
            exec_main_status: service.fails.unwrap_or(0),
            restarts: 0,
            conditions: Conditions::Met,
            since: None,
        })
    }

    async fn stop(&mut self, _patience: Patience) -> Result<Stopped, SystemdError> {
        let mut service = self.0.borrow_mut();
        service.calls.push("stop");
        Ok(if std::mem::take(&mut service.runs) { Stopped::Gracefully } else { Stopped::Before })
    }

    async fn start(&mut self, _within: Duration) -> Result<JobDone, SystemdError> {
        let mut service = self.0.borrow_mut();
        service.calls.push("start");
        if service.fails.is_some() {
            let unit = "imexd.service".to_owned();
            return Err(SystemdError::Job { operation: Operation::Start, unit, end: JobFailure::Failed });
        }
        service.runs = true;
        Ok(JobDone::Done)
    }
}

impl Machine for TestMachine {
    fn boot(&self) -> Result<BootId, Unknown> {
        "0d2b9c1e-1111-2222-3333-444455556666".parse().map_err(|error| Unknown::because(&error))
    }

    fn devices(&self) -> Result<CharDevices, DevicesError> {
        CharDevices::parse("Character devices:\n234 nvidia-caps-imex-channels\n")
    }

    async fn instance_type(&self, _within: Duration) -> InstanceType {
        InstanceType::Unknown { why: "nobody asks".to_owned() }
    }

    async fn fabric(&self, _within: Duration) -> FabricFact {
        FabricFact::Unknown { why: "no library".to_owned() }
    }

    fn jobs_with_steps(&self) -> Vec<u32> {
        self.alive.clone()
    }

    fn address_towards(&self, other: IpAddr) -> Option<IpAddr> {
        (!other.is_loopback()).then(|| address(&self.name).parse().ok()).flatten()
    }

    fn gpu(&self) -> Gpu {
        Gpu::Nvidia
    }

    fn channel_count(&self) -> Option<u32> {
        None
    }

    async fn resolve(&self, names: &[String], _: Duration) -> Result<Vec<Vec<IpAddr>>, Unknown> {
        if !self.resolves {
            return Err(Unknown::new("the name is not known"));
        }
        let parse = |text: &str| text.parse().map_err(|error| Unknown::because(&error));
        let found = |name: &String| match &self.own {
            Some(own) if *name == self.name => own.iter().map(|text| parse(text)).collect(),
            Some(_) | None => parse(&address(name)).map(|address| vec![address]),
        };
        names.iter().map(found).collect()
    }

    async fn scontrol(&self, _words: &[&str], _within: Duration) -> Result<String, Unknown> {
        let told = |node: &str| if self.named { node.to_owned() } else { address(node) };
        let line = |node: &str| format!("NodeName={node} NodeAddr={} State=IDLE\n", told(node));
        Ok(["n1", "n2", "n3"].map(line).concat())
    }

    fn places(&self, _file: &Path) -> Result<Option<Places>, Unknown> {
        Ok(self.places.clone())
    }

    fn text(&self, file: &Path) -> Result<String, Unknown> {
        Err(Unknown::new(format!("{} is not there", file.display())))
    }
}

fn address(node: &str) -> String {
    format!("10.0.0.{}", node.trim_start_matches('n'))
}
