//! `imex topology apply`, `verify` and `watch` against a real slurmctld: what it takes, refuses, forgets, and dies of.
//!
//! The program is the debug build, which can be killed at a chosen step. Its every misbehaviour in detail is tried with a
//! fake `scontrol` in the tests of `crates/imex`; here the real one has its say.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::process::Program;
use crate::report::{self, Report};
use crate::slurm_lab::{Cluster, Keep, Root, Setup};
use crate::tree;

/// Two blocks of four.
const NODES: u8 = 8;

/// Far above what any command takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A `scontrol` before the real one: told to reconfigure it kills the controller, as a file might.
const DEADLY: &str = "#!/bin/sh\n[ \"$1\" = reconfigure ] && { kill -9 $(cat /run/slurmctld.pid); sleep 0.2; exit 0; }\n\
                      exec /usr/bin/scontrol \"$@\"\n";

/// One thing that must be so: commands, the exit code of the last, and all that they must say.
struct Story {
    claim: &'static str,
    commands: &'static [&'static str],
    code: i32,
    says: &'static [&'static str],
}

/// Waits until no job is left and every node is idle.
const CLEAN: &str = "scancel --user=root; scontrol update nodename=node[1-8] state=undrain; \
                     until [ \"$(sinfo -hN -p main -o %T | sort -u)\" = idle ]; do sleep 0.1; done";

const STORIES: [Story; 17] = [
    Story { claim: "the controller holds its file", commands: &["IMEX verify"], code: 0, says: &["holds"] },
    Story {
        claim: "a topology is applied and verified",
        commands: &["IMEX apply /out/moved.yaml"],
        code: 0,
        says: &["written, loaded and verified"],
    },
    Story {
        claim: "the controller has moved the node",
        commands: &["scontrol show topology nvlink"],
        code: 0,
        says: &["BlockName=rack2 BlockIndex=1 Nodes=node[4-8] BlockSize=4"],
    },
    Story {
        claim: "a change past the file is found",
        commands: &["scontrol update nodename=node4 topology=nvlink:rack1", "IMEX verify"],
        code: 50,
        says: &["> node4 (1 node) from rack2 to rack1"],
    },
    Story {
        claim: "applying the same file heals it",
        commands: &["IMEX apply /out/moved.yaml", "IMEX verify"],
        code: 0,
        says: &["holds"],
    },
    Story {
        claim: "a topology that a partition misses is rolled back, whole",
        commands: &["IMEX apply /out/without-half.yaml --load 2s"],
        code: 52,
        says: &["the file before is in use again"],
    },
    Story {
        claim: "the file before is in use after that",
        commands: &["IMEX verify"],
        code: 0,
        says: &["holds"],
    },
    Story {
        claim: "a run killed after its write is completed by watch",
        commands: &[
            "IMEX_DIE_AT=written IMEX apply /out/start.yaml",
            "IMEX watch --once --source slurm:/out/start.yaml --sizes 4,8",
        ],
        code: 0,
        says: &["\"recovered\":\"finished\""],
    },
    Story {
        claim: "watch leaves a topology alone that is as its sources say",
        commands: &["IMEX watch --once --source slurm:/out/start.yaml --sizes 4,8"],
        code: 0,
        says: &["\"decision\":\"unchanged\""],
    },
    Story {
        claim: "a controller that dies of it finds the file before",
        commands: &["IMEX apply /out/moved.yaml --path /out/deadly:/usr/bin:/bin --load 1s"],
        code: 53,
        says: &["the file before is back, but not confirmed"],
    },
    Story {
        claim: "started again, it holds the file before, and the next run confirms it",
        commands: &["slurmctld", "sleep 1", "IMEX apply /out/start.yaml"],
        code: 0,
        says: &["an earlier run was cut short: the file before it is in use again"],
    },
    Story {
        claim: "a job that waits for a drained node is explained",
        commands: &[
            "scontrol update nodename=node[1-3,8] state=drain reason=test",
            "SUBMIT -N4 UNTIL ReqNodeNotAvail",
            "IMEX plan --job $(cat /out/job)",
        ],
        code: 37,
        says: &[
            "-N4 waits: 4 nodes are up, but not where they are needed: 0 of 1 segments of 4 nodes fit",
            "is PENDING, reason ReqNodeNotAvail",
            ": nodes that it needs are down, drained or reserved",
        ],
    },
    Story {
        claim: "the same as JSON",
        commands: &["IMEX plan --json --job $(cat /out/job)", "CLEAN"],
        code: 0,
        says: &[
            "\"exit_code\": 37",
            "\"state\": \"PENDING\"",
            "\"meaning\": \"nodes that it needs are down, drained or reserved\"",
            "\"reason\": \"scattered\"",
            "\"not_covered\": []",
        ],
    },
    Story {
        claim: "a job one of whose segments fits no block is explained",
        commands: &[
            "scontrol update nodename=node[1-2] state=drain reason=test",
            "SUBMIT -N6 --segment=3 UNTIL ReqNodeNotAvail",
            "IMEX plan --job $(cat /out/job)",
        ],
        code: 37,
        says: &[
            "-N6 --segment=3 waits: 6 nodes are up, but not where they are needed: 1 of 2 segments of 3 nodes fit",
        ],
    },
    Story {
        claim: "jobs that wait for others are told apart: the first in the queue, and those behind it",
        commands: &[
            "CLEAN",
            "SUBMIT -N8 UNTIL RUNNING",
            "SUBMIT -N4 --segment=2 UNTIL Resources",
            "IMEX plan --job $(cat /out/job)",
            "SUBMIT -N2 UNTIL Priority",
            "IMEX plan --job $(cat /out/job)",
        ],
        code: 37,
        says: &[
            "-N4 --segment=2 waits: it waits for running jobs: 0 nodes are free, 0 of 2 segments of 2 nodes fit",
            "reason Resources: it is first in the queue and waits for nodes",
            "-N2 waits: it waits for running jobs: 0 nodes are free",
            "reason Priority: jobs before it in the queue come first",
        ],
    },
    Story {
        claim: "the same as JSON, with the reason that Slurm comes to",
        commands: &["IMEX plan --json --job $(cat /out/job)", "CLEAN"],
        code: 0,
        says: &[
            "\"reason\": \"Priority\"",
            "\"meaning\": \"jobs before it in the queue come first\"",
            "\"reason\": \"jobs\"",
        ],
    },
    Story {
        claim: "options of a job that the plan does not go by are said, and those that it does are read",
        commands: &[
            "SUBMIT --hold -N2-4 --segment=2 --consolidate-segments UNTIL JobHeldUser",
            "IMEX plan --job $(cat /out/job)",
            "IMEX plan --json --job $(cat /out/job)",
        ],
        code: 0,
        says: &[
            "not covered, so that Slurm may do otherwise: it takes up to 4 nodes: the plan is for 2",
            "reason JobHeldUser: its owner holds it",
            "\"spread\": \"consolidated\"",
            "\"what\": \"range\"",
        ],
    },
];

/// The same in CI. A machine that cannot have a real Slurm is told so and passes.
pub(crate) fn smoke(report: &mut Report) -> Result<(), TaskError> {
    match run(report) {
        Err(TaskError::NotHere(why)) => {
            report.warning(format_args!("the life cycle of a topology on a real Slurm: {why}"));
            Ok(())
        }
        done => done,
    }
}

/// Runs the stories and fails for each that goes another way.
pub(crate) fn run(report: &mut Report) -> Result<(), TaskError> {
    let root = Root::build(report)?;
    Program::cargo().words("build --quiet --package imex --bin imex").limit(LIMIT * 20).run()?;
    let dir = tree::target().join(format!("slurm-lab/lifecycle-{}", std::process::id()));
    let setup = Setup {
        topology: Some(topology("[1-4]", "[5-8]", true)),
        partitions: vec!["half".to_owned()],
        ..Setup::daemons(NODES)
    };
    let running = Stopwatch::start();
    let cluster = Cluster::up(&root, &dir, &setup, Keep::WhileStarterLives)?;
    prepare(&cluster)?;
    let mut findings = Vec::new();
    for story in &STORIES {
        match story.tell(&cluster)? {
            None => report.line(format_args!("{}", story.claim)),
            Some(finding) => findings.push(finding),
        }
    }
    report.line(format_args!("{} in {}", root.version()?, report::seconds(running.elapsed())));
    cluster.down()?;
    fs::remove_dir_all(&dir).map_err(TaskError::file("remove", dir))?;
    TaskError::from_findings(findings)
}

/// Puts the program and the files where the cluster sees them.
fn prepare(cluster: &Cluster) -> Result<(), TaskError> {
    let out = cluster.dir().join("out");
    let write = |name: &str, text: &str| {
        let path = out.join(name);
        fs::write(&path, text).map_err(TaskError::file("write", path))
    };
    let (program, deadly) = (out.join("imex"), out.join("deadly"));
    fs::copy(tree::target().join("debug/imex"), &program).map_err(TaskError::file("write", program))?;
    fs::create_dir(&deadly).map_err(TaskError::file("make", &deadly))?;
    write("deadly/scontrol", DEADLY)?;
    let scontrol = deadly.join("scontrol");
    fs::set_permissions(&scontrol, fs::Permissions::from_mode(0o755))
        .map_err(TaskError::file("make executable", scontrol))?;
    write("start.yaml", &topology("[1-4]", "[5-8]", true))?;
    write("moved.yaml", &topology("[1-3]", "[4-8]", true))?;
    write("without-half.yaml", &topology("[1-4]", "[5-8]", false))
}

fn topology(first: &str, second: &str, with_half: bool) -> String {
    let mut text = format!(
        "- topology: nvlink\n  cluster_default: true\n  block:\n    block_sizes: [4, 8]\n    blocks:\n\
         \x20     - block: rack1\n        nodes: node{first}\n\
         \x20     - block: rack2\n        nodes: node{second}\n"
    );
    if with_half {
        text.push_str("- topology: half\n  flat: true\n");
    }
    text
}

impl Story {
    fn tell(&self, cluster: &Cluster) -> Result<Option<String>, TaskError> {
        let mut told = String::new();
        let mut code = None;
        for command in self.commands {
            let command = spelled(command);
            let said = cluster.exec(&["sh", "-c", &command], LIMIT)?;
            told.push_str(&format!("{}{}", said.out, said.err));
            code = said.code;
        }
        let as_claimed = code == Some(self.code) && self.says.iter().all(|words| told.contains(words));
        Ok((!as_claimed).then(|| format!("not so: {} (code {code:?}):\n{told}", self.claim)))
    }
}

/// A command as the shell takes it. `SUBMIT OPTIONS UNTIL WORD` submits a job, keeps its number in `/out/job`, and waits until
/// the word is its state or Slurm's reason for it.
fn spelled(command: &str) -> String {
    if command == "CLEAN" {
        return CLEAN.to_owned();
    }
    let command = command.replace("IMEX ", "/out/imex topology ");
    let Some((options, word)) = command.strip_prefix("SUBMIT ").and_then(|rest| rest.split_once(" UNTIL "))
    else {
        return command;
    };
    format!(
        "sbatch --parsable --exclusive --output=/dev/null {options} --wrap 'sleep 1000' > /out/job && \
         until squeue -hj $(cat /out/job) -o '%T %r' | grep -qw '{word}'; do sleep 0.1; done"
    )
}
