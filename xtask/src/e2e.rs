//! `cargo xtask e2e`: jobs on a real Slurm with real systemd on every node, judged from outside.
//!
//! Each scenario is a claim of docs/testing.md. What it asserts it reads where an operator or a user would: files,
//! processes, ports and devices of the nodes, what Slurm prints, and the job's own output. Scenarios that need the same
//! ground run on one cluster; one that fails has its evidence printed, and the next one gets a new cluster.

mod bad_node;
mod blocks;
mod evidence;
mod family;
mod hard;
mod healthy;
mod jobs;
mod killed;
mod look;
mod munge;
mod operator;
mod order;
mod records;
mod rig;
mod seeds;
mod site;
mod split;
mod traces;
mod units;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{self, Report};
use crate::slurm_lab::{Keep, Network, Root};
use crate::tree;

pub(crate) use jobs::{Job, JobId};
pub(crate) use records::of_prologs;
pub(crate) use rig::Rig;
pub(crate) use seeds::aws_hooks;
pub(crate) use site::{Build, Channels, Hooks, Site};

#[derive(Args)]
pub(crate) struct Options {
    /// Run these scenarios only
    #[arg(long, value_name = "N", value_delimiter = ',')]
    only: Vec<String>,
    /// Also run what takes too long for every change
    #[arg(long)]
    all: bool,
    /// A folder with the published prologs that are to be compared with; without it they are left out
    #[arg(long, value_name = "DIR")]
    seeds: Option<PathBuf>,
    /// Leave the cluster of the first scenario that fails running, to be looked into
    #[arg(long)]
    keep: bool,
    /// List the scenarios
    #[arg(long)]
    list: bool,
}

/// One claim, and what tries it.
struct Scenario {
    name: &'static str,
    claim: &'static str,
    ground: Ground,
    length: Length,
    run: rig::Told,
}

/// What a scenario runs on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ground {
    /// Six nodes.
    Six,
    /// Six nodes, the service under NVIDIA's names.
    SixNvidia,
    /// Two blocks of four nodes.
    Blocks,
    /// Four nodes whose network speaks IPv6 only, each with an address that is a name of its own.
    Ipv6,
    /// Six nodes with AWS's prolog.
    AwsSeed,
    /// Six nodes with NVIDIA's prolog and epilog.
    NvidiaSeed,
    /// Four nodes with what is shipped, as the documents say.
    Shipped,
    /// Eighteen nodes.
    Eighteen,
}

/// Whether a scenario is part of every verification.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Short,
    /// Only with `--all`.
    Long,
}

const SCENARIOS: [Scenario; 20] = [
    Scenario {
        name: "1",
        claim: "the first line of a job sees its domain UP from every node, and afterwards nothing is left",
        ground: Ground::Six,
        length: Length::Short,
        run: healthy::one_job,
    },
    Scenario {
        name: "2",
        claim: "fifty jobs back to back on changing nodes: none waits for a dead peer",
        ground: Ground::Six,
        length: Length::Short,
        run: healthy::back_to_back,
    },
    Scenario {
        name: "3",
        claim: "a job that shares its nodes gets no domain, as Slurm 26.05 tells sharing",
        ground: Ground::Six,
        length: Length::Short,
        run: healthy::shared,
    },
    Scenario {
        name: "4",
        claim: "a bad node alone is drained, says why, and the job runs on the spare",
        ground: Ground::Six,
        length: Length::Short,
        run: bad_node::run,
    },
    Scenario {
        name: "5",
        claim: "after a prolog killed at any step, a restarted slurmd or a rebooted node the next job is clean",
        ground: Ground::Six,
        length: Length::Short,
        run: killed::run,
    },
    Scenario {
        name: "16",
        claim: "a service that must be killed or ends under its job, a bus that hangs: told, and the next job is clean",
        ground: Ground::Six,
        length: Length::Short,
        run: hard::run,
    },
    Scenario {
        name: "16-epilog",
        claim: "after an epilog killed at any step a sweep, or the next job, cleans up",
        ground: Ground::Six,
        length: Length::Long,
        run: hard::killed_epilogs,
    },
    Scenario {
        name: "13",
        claim: "where the site asks for MUNGE, members prove that they are of this cluster, and who cannot is drained",
        ground: Ground::Six,
        length: Length::Short,
        run: munge::run,
    },
    // The last one on its ground: Slurm repeats for minutes that a prolog of the cancelled job failed, which drains the node anew.
    Scenario {
        name: "7",
        claim: "requeued, cancelled in the prolog, in an array, heterogeneous: a domain for each, and nothing left",
        ground: Ground::Six,
        length: Length::Short,
        run: order::run,
    },
    Scenario {
        name: "6",
        claim: "a job over two blocks of four has two domains of four",
        ground: Ground::Blocks,
        length: Length::Short,
        run: blocks::run,
    },
    Scenario {
        name: "8",
        claim: "nodes with IPv6 only, whose NodeAddr is a host name, form a domain",
        ground: Ground::Ipv6,
        length: Length::Short,
        run: family::run,
    },
    Scenario {
        name: "9",
        claim: "the same with the service under NVIDIA's names: a job, and a bad node",
        ground: Ground::SixNvidia,
        length: Length::Short,
        run: seeds::under_nvidias_names,
    },
    Scenario {
        name: "9-all",
        claim: "all of it with the service under NVIDIA's names",
        ground: Ground::SixNvidia,
        length: Length::Long,
        run: seeds::everything_under_nvidias_names,
    },
    Scenario {
        name: "9-aws",
        claim: "AWS's prolog, unchanged, works with the service under NVIDIA's names",
        ground: Ground::AwsSeed,
        length: Length::Short,
        run: seeds::aws,
    },
    Scenario {
        name: "9-nvidia",
        claim: "NVIDIA's prolog and epilog, unchanged, work with the service under NVIDIA's names",
        ground: Ground::NvidiaSeed,
        length: Length::Short,
        run: seeds::nvidia,
    },
    Scenario {
        name: "12",
        claim: "validate, doctor, channel, settings and check tell the truth in jobs, on ill nodes and after a boot",
        ground: Ground::Shipped,
        length: Length::Short,
        run: operator::run,
    },
    Scenario {
        name: "15",
        claim: "what is asked of systemd is what a real one answers",
        ground: Ground::Shipped,
        length: Length::Short,
        run: units::tests,
    },
    Scenario {
        name: "14",
        claim: "the units of `follow` and `topology watch` do their work, and live through what may come",
        ground: Ground::Shipped,
        length: Length::Short,
        run: units::keepers,
    },
    Scenario {
        name: "10",
        claim: "eighteen nodes get their domain",
        ground: Ground::Eighteen,
        length: Length::Long,
        run: healthy::whole_rack,
    },
    Scenario {
        name: "11",
        claim: "a network split in halves: both halves say so, and the policy decides",
        ground: Ground::Eighteen,
        length: Length::Long,
        run: split::run,
    },
];

/// The same in CI, with the published prologs if there is a folder with them. A machine that cannot have such a cluster is
/// told so and passes.
pub(crate) fn smoke(seeds: Option<&Path>, report: &mut Report) -> Result<(), TaskError> {
    let seeds = seeds.map(Path::to_owned);
    let options = Options { only: Vec::new(), all: false, seeds, keep: false, list: false };
    match run(&options, report) {
        Err(TaskError::NotHere(why)) => {
            report.warning(format_args!("jobs on a real Slurm with systemd: {why}"));
            Ok(())
        }
        done => done,
    }
}

/// Runs the scenarios and fails for each whose claim does not hold.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let chosen = options.choose(report)?;
    if options.list {
        let row = |s: &&Scenario| vec![s.name.to_owned(), s.claim.to_owned()];
        report.table(&["scenario", "claim"], &chosen.iter().map(row).collect::<Vec<_>>());
        return Ok(());
    }
    let root = Root::build(report)?;
    Site::new(1).build()?;
    let running = Stopwatch::start();
    let mut grounds = Grounds { root: &root, options, current: None, booted: false };
    let mut findings = Vec::new();
    for scenario in chosen {
        match grounds.try_scenario(scenario, report) {
            Ok(None) => {}
            Ok(Some(_)) if options.keep => return Err(grounds.leave(scenario, report)),
            Ok(Some(finding)) => findings.push(finding),
            // Found out before the first cluster, this is no fault; later it would be one.
            Err(error @ TaskError::NotHere(_)) if !grounds.booted => return Err(error),
            Err(error) => {
                report.failure(&error);
                findings.push(scenario.finding(&error));
            }
        }
    }
    findings.extend(grounds.level().err().map(|error| error.to_string()));
    report.line(format_args!("{} in {}", root.version()?, report::seconds(running.elapsed())));
    TaskError::from_findings(findings)
}

impl Options {
    fn choose(&self, report: &mut Report) -> Result<Vec<&'static Scenario>, TaskError> {
        let is = |scenario: &Scenario, name: &String| {
            scenario.name == name || scenario.name.split('-').next() == Some(name)
        };
        if let Some(name) = self.only.iter().find(|name| !SCENARIOS.iter().any(|s| is(s, name))) {
            let known = SCENARIOS.iter().map(|scenario| scenario.name.to_owned()).collect();
            return Err(TaskError::Unknown { kind: "scenario", name: name.clone(), known });
        }
        let mut chosen = Vec::new();
        for scenario in &SCENARIOS {
            let named = self.only.iter().any(|name| is(scenario, name));
            let seeded = matches!(scenario.ground, Ground::AwsSeed | Ground::NvidiaSeed);
            let why = match scenario.length {
                _ if !self.only.is_empty() && !named => continue,
                Length::Long if !self.all && !named => "it is long: --all",
                Length::Short | Length::Long if seeded && self.seeds.is_none() => "it needs --seeds DIR",
                Length::Short | Length::Long => {
                    chosen.push(scenario);
                    continue;
                }
            };
            report.warning(format_args!("scenario {}, {}: {why}", scenario.name, scenario.claim));
        }
        Ok(chosen)
    }
}

/// The cluster that runs now.
struct Grounds<'a> {
    root: &'a Root,
    options: &'a Options,
    current: Option<(Ground, Rig)>,
    /// Whether there was a cluster before: this machine can have one.
    booted: bool,
}

impl Scenario {
    fn finding(&self, error: &TaskError) -> String {
        format!("scenario {}, {}: {error}", self.name, self.claim)
    }
}

impl Grounds<'_> {
    /// What is wrong with a scenario's claim, if anything is.
    fn try_scenario(
        &mut self,
        scenario: &Scenario,
        report: &mut Report,
    ) -> Result<Option<String>, TaskError> {
        report.line(format_args!("--- {}: {}", scenario.name, scenario.claim));
        let running = Stopwatch::start();
        self.prepare(scenario.ground)?;
        let Some((_, rig)) = &self.current else { return Ok(None) };
        let done = (scenario.run)(rig, report).and_then(|()| rig.rest());
        let took = report::seconds(running.elapsed());
        let Err(error) = done else {
            report.line(format_args!("ok, {took}"));
            return Ok(None);
        };
        report.failure(&error);
        evidence::print(rig, report);
        report.line(format_args!("FAILED, {took}"));
        if !self.options.keep {
            self.level()?;
        }
        Ok(Some(scenario.finding(&error)))
    }

    /// Boots a ground, unless it is there.
    fn prepare(&mut self, ground: Ground) -> Result<(), TaskError> {
        if self.current.as_ref().is_some_and(|(current, _)| *current == ground) {
            return Ok(());
        }
        self.level()?;
        let site = ground.site(self.options)?;
        self.current = Some((ground, Rig::up(self.root, &dir(), site)?));
        self.booted = true;
        Ok(())
    }

    /// Ends the cluster, and looks whether all of it has gone.
    fn level(&mut self) -> Result<(), TaskError> {
        let Some((_, rig)) = self.current.take() else { return Ok(()) };
        traces::none_after_the_end_of(rig)?;
        std::fs::remove_dir_all(dir()).map_err(TaskError::file("remove", dir()))
    }

    fn leave(&mut self, scenario: &Scenario, report: &mut Report) -> TaskError {
        if let Some((_, rig)) = self.current.take() {
            let dir = rig.cluster().dir().display().to_string();
            report.line(format_args!("left running: cargo xtask slurm-lab exec --dir {dir} --node node1 …"));
            rig.leave_running();
        }
        TaskError::Findings(vec![format!("scenario {}: {}", scenario.name, scenario.claim)])
    }
}

impl Ground {
    fn site(self, options: &Options) -> Result<Site, TaskError> {
        let nvidia = Site { provider: site::Provider::NvidiaImex, ..Site::new(6) };
        let keep = if options.keep { Keep::UntilDown } else { Keep::WhileStarterLives };
        let site = match self {
            Ground::Six => Site::new(6),
            Ground::SixNvidia => nvidia,
            Ground::Blocks => Site { topology: Some(blocks::TOPOLOGY.to_owned()), ..Site::new(8) },
            Ground::Ipv6 => Site { network: Network::Ipv6, address_names: Some("fabric"), ..Site::new(4) },
            Ground::AwsSeed => Site { hooks: aws_hooks(options.seeds.as_deref())?, ..nvidia },
            Ground::NvidiaSeed => Site { hooks: seeds::nvidia_hooks(options.seeds.as_deref())?, ..nvidia },
            Ground::Shipped => Site {
                hooks: Hooks::Shipped,
                channels: Channels::Openable,
                topology: Some(operator::TOPOLOGY.to_owned()),
                ..Site::new(4)
            },
            Ground::Eighteen => Site::new(18),
        };
        Ok(Site { keep, ..site })
    }
}

fn dir() -> PathBuf {
    tree::target().join(format!("slurm-lab/e2e-{}", std::process::id()))
}
