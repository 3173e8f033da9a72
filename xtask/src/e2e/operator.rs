//! Scenario 12: what operators and users type, on nodes that have what is shipped: inside of jobs, on ill nodes, after a boot.

mod examined;
mod ills;

use std::time::Duration;

use serde_json::Value;

use super::jobs::{Job, JobId};
use super::rig::{LIMIT, Rig, Story, USER};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{Report, seconds};
use crate::slurm_lab::{Said, Seat, channels_open};

use examined::Examined;

/// One block, so that nothing is to be said about topology.
pub(super) const TOPOLOGY: &str = "\
- topology: nvlink
  cluster_default: true
  block:
    block_sizes: [4]
    blocks:
      - block: rack1
        nodes: node[1-4]
";

/// How many nodes the jobs have.
const NODES: u8 = 3;

/// The channel of each job: the fake's driver has 0 and 1.
const CHANNEL: &str = "/dev/nvidia-caps-imex-channels/channel1";

/// How long a command of an operator may take.
const COMMAND: Duration = Duration::from_secs(60);

/// What a story wants of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// A channel that can be opened.
    OpenChannel,
}

/// Scenario 12.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let stories: [(&str, Needs, Story); 11] = [
        (
            "the lines of `imex slurm settings` are in force, and `check` finds nothing",
            Needs::Nothing,
            settings,
        ),
        ("a node without a job is well", Needs::Nothing, idle_nodes),
        ("the boot unit makes channels, and the sweep ends well", Needs::Nothing, booted),
        ("validate and doctor inside of a job", Needs::OpenChannel, inside_of_a_job),
        ("the script of validate, as it is printed", Needs::OpenChannel, script),
        ("a daemon is stopped", Needs::OpenChannel, ills::stopped),
        ("a channel is stale, or gone", Needs::OpenChannel, ills::channels),
        ("a node is power-cycled, and nothing sweeps", Needs::Nothing, ills::power_cycled),
        ("a prolog has failed", Needs::OpenChannel, ills::failed_prolog),
        ("an epilog was lost: the HealthCheckProgram sweeps", Needs::Nothing, ills::lost_epilog),
        ("records are figures", Needs::Nothing, figures),
    ];
    let opens = channels_open()?;
    for (name, needs, story) in stories {
        if needs == Needs::OpenChannel && !opens {
            let why = "this kernel has no driver whose devices open as channels do (modprobe cpuid)";
            report.warning(format_args!("scenario 12, {name}: {why}"));
            continue;
        }
        let running = Stopwatch::start();
        story(rig).and_then(|()| rig.rest()).map_err(|error| error.on(name))?;
        report.line(format_args!("{name}: ok, {}", seconds(running.elapsed())));
    }
    Ok(())
}

/// What a shell on a node says to a line of the user's.
fn user_on(rig: &Rig, node: u8, line: &str) -> Result<Said, TaskError> {
    rig.cluster().exec_at(Seat { node: Some(node), user: Some(USER) }, &["sh", "-c", line], COMMAND)
}

/// Claims that a line ended with a code and printed something.
fn says(said: &Said, code: i32, words: &[&str]) -> Result<(), TaskError> {
    let all = format!("{}{}", said.out, said.err);
    let so = said.code == Some(code) && words.iter().all(|word| all.contains(word));
    TaskError::unless(so, || {
        format!("it ends with {code} and says {words:?}; it ends with {:?}:\n{all}", said.code)
    })
}

/// A job that waits, in which steps can be started.
fn waiting_job(rig: &Rig) -> Result<JobId, TaskError> {
    let job = rig.submit(&Job::exclusive(NODES, "echo RUNS\nsleep 1000\n"))?;
    rig.until("the job runs", LIMIT, || Ok(rig.output(job)?.contains("RUNS")))?;
    Ok(job)
}

/// `imex validate` of a running job, as its user, from outside of it.
fn validate(rig: &Rig, job: JobId) -> Result<Value, TaskError> {
    asked(rig, format!("imex validate --job {job} --json"))
}

fn asked(rig: &Rig, line: String) -> Result<Value, TaskError> {
    let said = user_on(rig, 1, &line)?;
    let told = serde_json::from_str(&said.out)
        .map_err(|error| TaskError::Output { line, why: format!("{error}: {}{}", said.out, said.err) })?;
    Ok(told)
}

/// Claims that a job is verified: by exit code and verdict, with every cell of every member's own row.
fn verified(told: &Value) -> Result<(), TaskError> {
    let names: Vec<String> = (1..=NODES).map(|node| format!("node{node}")).collect();
    let wrong = told["domains"].as_array().is_none_or(|parts| {
        parts.len() != 1
            || parts[0]["wrong"] != serde_json::json!([])
            || parts[0]["nodes"] != serde_json::json!(names)
    });
    let members = told["members"].as_object();
    let set = members.is_some_and(|members| members.keys().eq(&names));
    let connected = members.into_iter().flatten().all(|(_, member)| {
        let table = &member["table"];
        let own = table["own"].as_u64().and_then(|own| usize::try_from(own).ok()).unwrap_or(usize::MAX);
        let links = table["members"][own]["links"].as_array();
        member["channel"] == serde_json::json!({"state": "open", "number": 1})
            && table["state"] == "UP"
            && links.is_some_and(|links| {
                links.len() == names.len() && links.iter().all(|link| link == "CONNECTED")
            })
    });
    TaskError::unless(told["exit_code"] == 0 && !wrong && set && connected, || {
        format!("the job on {names:?} is verified; it is {told:#}")
    })
}

/// Claims that a job is not verified, by this code, and what is said of a node.
fn not_verified(told: &Value, code: u8, node: &str, words: &str) -> Result<(), TaskError> {
    let wrong = told["domains"][0]["wrong"].as_array().map_or(&[][..], Vec::as_slice);
    let named = wrong
        .iter()
        .any(|one| one["nodes"] == node && one["what"].as_str().is_some_and(|what| what.contains(words)));
    TaskError::unless(told["exit_code"] == code && named, || {
        format!(
            "the job is not verified ({code}), because of {node}: {words}; it is {}: {wrong:#?}",
            told["exit_code"]
        )
    })
}

/// Every line is what the controller holds, the whole is clean, and what AWS PCS takes is JSON.
fn settings(rig: &Rig) -> Result<(), TaskError> {
    says(&rig.try_on(1, "imex slurm check --slurm-version 26.05")?, 0, &["0 errors, 0 warnings"])?;
    let live = rig.cluster().exec(&["imex", "slurm", "check", "--live"], COMMAND)?;
    says(&live, 0, &["the controller: 0 errors, 0 warnings"])?;
    let printed = rig.on(1, "imex slurm settings --slurm-version 26.05 --json")?;
    let printed: Value = parse("imex slurm settings --json", &printed)?;
    let held = rig.control("scontrol show config")?;
    let held: Vec<(&str, &str)> = held.lines().filter_map(|line| line.split_once('=')).collect();
    for line in printed["lines"].as_array().into_iter().flatten() {
        let (key, value) = (line["key"].as_str().unwrap_or("?"), line["value"].as_str().unwrap_or("?"));
        // The lab has more words, and sweeps more often.
        let value = if key == "HealthCheckInterval" { "5" } else { value };
        let is_it = |(name, shown): &&(&str, &str)| {
            name.trim().split('[').next() == Some(key)
                && shown.split_whitespace().any(|word| word.contains(value))
        };
        TaskError::unless(held.iter().any(|row| is_it(&row)), || {
            format!("the controller holds {key}={value}; it holds {held:#?}")
        })?;
    }
    let pcs = rig.on(1, "imex slurm settings --pcs 2>/dev/null")?;
    let pcs: Value = parse("imex slurm settings --pcs", &pcs)?;
    let names: Vec<&str> = pcs["slurmCustomSettings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|setting| {
            setting["parameterName"].as_str().filter(|_| setting["parameterValue"].is_string())
        })
        .collect();
    TaskError::unless(names.starts_with(&["Prolog", "Epilog", "TaskProlog"]), || {
        format!("AWS PCS is told of the scripts; it is told of {names:?}")
    })
}

fn parse(line: &str, text: &str) -> Result<Value, TaskError> {
    serde_json::from_str(text)
        .map_err(|error| TaskError::Output { line: line.to_owned(), why: format!("{error} in {text}") })
}

/// Nothing fails. What warns is the port, which is among those of outgoing connections; the fix says what to do.
fn idle_nodes(rig: &Rig) -> Result<(), TaskError> {
    for node in rig.nodes() {
        // Where each job gets its own, the boot unit makes none that everybody finds.
        says(&rig.try_on(node, "imex channel list")?, 0, &[": 0 channels;"])?;
        let failed = rig.on(node, "systemctl --failed --no-legend")?;
        TaskError::unless(failed.is_empty(), || {
            format!("no unit of node{node} has failed; those have:\n{failed}")
        })?;
        let seen = Examined::of(rig, node, None)?;
        seen.is("D17", "warn")?;
        seen.fix("D17", "ip_local_reserved_ports")?;
        reserve_port(rig, node)?;
        Examined::of(rig, node, None)?.is_well()?;
    }
    says(
        &rig.try_on(1, "imex doctor explain 800")?,
        0,
        &["channel missing", "not supported here", "imex channel check"],
    )
}

/// After a power cut: a channel for the boot, clean units.
fn booted(rig: &Rig) -> Result<(), TaskError> {
    let toml = "/etc/openimex/openimex.toml";
    rig.on(
        4,
        &format!("cp {toml} {toml}.away; sed -i 's/^use = .*/use = \"channel0\"\\nboot = \"0\"/' {toml}"),
    )?;
    rig.cluster().power_off(4)?;
    rig.cluster().power_on(4)?;
    let line = "systemctl show -p Result -p ConditionResult --value imex-channels imex-sweep; systemctl --failed --no-legend; \
                imex channel list";
    let said = rig.on(4, line)?;
    let words: Vec<&str> = said.split_whitespace().take(4).collect();
    let right =
        words == ["yes", "success", "yes", "success"] && said.contains("203:0") && said.contains("right");
    TaskError::unless(right, || format!("both units end well and channel 0 is right; they say:\n{said}"))?;
    for (line, code, word) in [
        ("imex channel check --as alice", 0, "alice can open it"),
        ("imex channel remove 0", 0, "removed"),
        ("imex channel check --as alice", 61, "missing"),
        ("imex channel create --boot", 0, "created"),
        ("imex channel check 0 --as alice", 0, "alice can open it"),
        ("imex channel remove 0", 0, "removed"),
    ] {
        says(&rig.try_on(4, line)?, code, &[word]).map_err(|error| error.on(line))?;
    }
    rig.on(4, &format!("mv {toml}.away {toml}"))?;
    reserve_port(rig, 4)
}

/// What D17 advises, from outside: a node of the lab may not write to the kernel's parameters.
fn reserve_port(rig: &Rig, node: u8) -> Result<(), TaskError> {
    let line = "echo 50000 > /proc/sys/net/ipv4/ip_local_reserved_ports";
    rig.control(&format!("nsenter --net=/run/netns/node{node} sh -c '{line}'")).map(drop)
}

/// As the user in the batch script, in steps of it, and as root on each node of the job.
fn inside_of_a_job(rig: &Rig) -> Result<(), TaskError> {
    let script = "imex validate --json > validated.json; echo VALIDATED $?\n\
                  imex doctor --json > examined.json; echo EXAMINED $?\n\
                  srun --ntasks-per-node=1 imex validate > /dev/null; echo STEPS $?\n\
                  srun --nodes=1 --ntasks=1 imex channel check 1; echo CHANNEL $?\nsleep 1000\n";
    let job = rig.submit(&Job::exclusive(NODES, script))?;
    rig.until("the job has looked", LIMIT, || Ok(rig.output(job)?.contains("CHANNEL")))?;
    let output = rig.output(job)?;
    for line in ["VALIDATED 0", "EXAMINED 102", "STEPS 0", "CHANNEL 0"] {
        TaskError::unless(output.contains(line), || format!("the job prints {line}; it prints:\n{output}"))?;
    }
    verified(&parse("imex validate --json", &rig.control(&format!("cat /home/{USER}/validated.json"))?)?)?;
    let seen = rig.control(&format!("cat /home/{USER}/examined.json"))?;
    Examined::parse(&seen)?.is_well_to_a_user()?;
    // On part of the nodes srun calls only these the job's.
    let step = format!("srun --jobid={job} --overlap --nodes=1 --ntasks=1 --quiet imex validate --json");
    verified(&asked(rig, step)?)?;
    verified(&validate(rig, job)?)?;
    for node in 1..=NODES {
        let seen = Examined::of(rig, node, None)?;
        seen.is_well()?;
        for check in ["D04", "D05", "D21", "D30", "D31", "D32", "D33"] {
            seen.is(check, "ok")?;
        }
        Examined::of(rig, node, Some(USER))?.is_well_to_a_user()?;
    }
    bundle(rig)
}

/// For root alone, and with what helps.
fn bundle(rig: &Rig) -> Result<(), TaskError> {
    let file = "/var/tmp/doctor.tar.gz";
    let said =
        rig.on(1, &format!("imex doctor -q --bundle {file}; stat -c '%a %u' {file}; tar -tzf {file}"))?;
    for word in [
        &format!("written: {file}"),
        "600 0",
        "facts.json",
        "findings.txt",
        "domain.json",
        "nodes_config.cfg",
    ] {
        TaskError::unless(said.contains(word), || format!("{word} is in the bundle; there is:\n{said}"))?;
    }
    says(&user_on(rig, 1, &format!("cat {file}"))?, 1, &["denied"])?;
    rig.on(1, &format!("rm {file}")).map(drop)
}

/// Handed to sbatch as it is printed.
fn script(rig: &Rig) -> Result<(), TaskError> {
    let said = rig.user(&["sh", "-c", &format!("imex validate --script -N {NODES} | sbatch --parsable")])?;
    let number = said.trim().parse();
    let job =
        rig.known(number.map_err(|_| TaskError::Output { line: "sbatch --parsable".to_owned(), why: said })?);
    rig.completed(job)?;
    let output = rig.control(&format!("cat /home/{USER}/imex-validate-{job}.out"))?;
    let verdict = format!("job {job}: verified: {NODES} nodes in 1 domain");
    TaskError::unless(output.trim_end().ends_with(&verdict), || {
        format!("it ends with {verdict:?}; it is:\n{output}")
    })
}

/// What the scenario has done until now, for Prometheus.
fn figures(rig: &Rig) -> Result<(), TaskError> {
    let to = "/var/lib/prometheus/node-exporter";
    let said =
        rig.on(1, &format!("mkdir -p {to}; systemctl start imex-metrics.service; cat {to}/imex-slurm.prom"))?;
    for row in [
        "imex_slurm_records{kind=\"prolog\",ending=\"up\"}",
        "imex_slurm_run_seconds{kind=\"epilog\",quantile=\"0.5\"}",
        "imex_slurm_last_run_exit_code{kind=\"prolog\"} 0",
        "imex_slurm_unreadable_records 0",
    ] {
        TaskError::unless(said.contains(row), || format!("{row} is told; told is:\n{said}"))?;
    }
    Ok(())
}
