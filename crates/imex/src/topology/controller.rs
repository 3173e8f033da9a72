//! What slurmctld holds, and having it load what is written: everything that is asked of `scontrol`.
//!
//! `scontrol` exits 0 over a topology that it does not know and prints the reason on its standard error; so an answer is
//! what it printed, never its exit code alone.

use std::time::Duration;

use imex_host::{Program, RunError, Said};
use imex_topology::diff::BlocksDiff;
use imex_topology::source::{SourceError, show_topology};
use imex_topology::{NodeSet, Topologies, held, resting};
use serde::Serialize;
use thiserror::Error;
use tokio::time::sleep;

use super::lifecycle_args::SlurmArgs;
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::search::hint_of_scontrol;

/// How often a controller that was told to load is asked if it has: it takes some tens of milliseconds.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// The controller, by way of `scontrol`.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    args: SlurmArgs,
}

/// What a topology of a file is in the controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Held {
    /// The topology; empty for the only one of a `topology.conf`.
    pub(crate) topology: String,
    /// How it fares.
    #[serde(flatten)]
    pub(crate) state: HeldState,
}

/// How a topology of a file fares in the controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum HeldState {
    /// The controller holds it.
    Held,
    /// It has no blocks, and the controller shows only blocks.
    NotShown,
    /// The controller does not know it.
    Unknown {
        /// What it says.
        said: String,
    },
    /// The controller holds something else by this name.
    Differs {
        /// From the file to the controller.
        difference: BlocksDiff,
    },
}

/// Why the controller did not answer, or not with something that could be understood.
#[derive(Debug, Error)]
pub(crate) enum AskError {
    /// `scontrol` gave no answer.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It answered something else.
    #[error("what `{line}` prints cannot be understood")]
    Answer {
        /// The question.
        line: String,
        /// Why.
        source: SourceError,
    },
}

/// Why the controller does not hold a topology.
#[derive(Debug, Error)]
pub(crate) enum LoadError {
    /// It could not be told to load, or refused to.
    #[error("the controller did not reload")]
    Reload(#[source] RunError),
    /// It did not answer any more.
    #[error("the controller does not answer after the reload")]
    Silent(#[source] AskError),
    /// It answers, and holds something else.
    #[error("the controller does not hold it after the reload: {what}")]
    Differs {
        /// What it holds instead.
        what: String,
    },
}

impl Controller {
    /// The one that the command line names.
    pub(crate) fn new(args: &SlurmArgs) -> Self {
        Controller { args: args.clone() }
    }

    /// How the topologies of a file fare in the controller.
    pub(crate) async fn holds(&self, topologies: &Topologies) -> Result<Vec<Held>, AskError> {
        let mut all = Vec::new();
        for topology in &topologies.list {
            let state = match topology.blocks() {
                None => HeldState::NotShown,
                Some(blocks) => match self.shown(&topology.name).await? {
                    Err(said) => HeldState::Unknown { said },
                    Ok(shown) => match held::difference(blocks, &shown) {
                        None => HeldState::Held,
                        Some(difference) => HeldState::Differs { difference },
                    },
                },
            };
            all.push(Held { topology: topology.name.clone(), state });
        }
        Ok(all)
    }

    /// The blocks of a topology, or what the controller says instead.
    async fn shown(&self, name: &str) -> Result<Result<imex_topology::BlockTopology, String>, AskError> {
        let program = self.scontrol(["show", "topology"]);
        let program = if name.is_empty() { program } else { program.words([name]) };
        let Said { out, err, .. } = program.run().await?;
        match show_topology::parse(&out) {
            Ok(blocks) => Ok(Ok(blocks)),
            Err(SourceError::Nothing) => Ok(Err(err.trim().to_owned())),
            Err(source) => Err(AskError::Answer { line: program.line(), source }),
        }
    }

    /// If it answers at all.
    pub(crate) async fn answers(&self) -> Result<(), AskError> {
        self.scontrol(["show", "topology"]).run().await?;
        Ok(())
    }

    /// Has it load its files, and waits until it holds these topologies.
    pub(crate) async fn load(&self, topologies: &Topologies) -> Result<(), LoadError> {
        self.reload().await.map_err(LoadError::Reload)?;
        crate::fault::point("reloaded");
        self.wait_held(topologies).await
    }

    /// Waits until it holds these topologies.
    pub(crate) async fn wait_held(&self, topologies: &Topologies) -> Result<(), LoadError> {
        let started = Stopwatch::start();
        loop {
            let held = self.holds(topologies).await;
            if started.elapsed() < self.args.load && !held.as_ref().is_ok_and(|held| all_held(held)) {
                sleep(ASK_AGAIN).await;
                continue;
            }
            return match held {
                Err(error) => Err(LoadError::Silent(error)),
                Ok(held) if all_held(&held) => Ok(()),
                Ok(held) => Err(LoadError::Differs { what: summary(&held) }),
            };
        }
    }

    /// Has it load its files.
    pub(crate) async fn reload(&self) -> Result<(), RunError> {
        self.scontrol(["reconfigure"]).run().await.map(drop)
    }

    /// The nodes that are powered down or on their way there or back.
    pub(crate) async fn resting(&self) -> Result<NodeSet, AskError> {
        let program = self.scontrol(["show", "nodes", "--json"]);
        let said = program.run().await?;
        resting::parse(&said.out).map_err(|source| AskError::Answer { line: program.line(), source })
    }

    fn scontrol<const N: usize>(&self, words: [&str; N]) -> Program {
        Program::new("scontrol").words(words).path(self.args.path.folders()).deadline(self.args.ask)
    }
}

/// If the controller holds all that it shows.
pub(crate) fn all_held(held: &[Held]) -> bool {
    held.iter().all(|held| matches!(held.state, HeldState::Held | HeldState::NotShown))
}

/// What it does not hold, in one line.
pub(crate) fn summary(held: &[Held]) -> String {
    let told = held.iter().filter_map(|Held { topology, state }| match state {
        HeldState::Held | HeldState::NotShown => None,
        HeldState::Unknown { said } if said.is_empty() => Some(format!("it shows no blocks of `{topology}`")),
        HeldState::Unknown { said } => Some(format!("it does not know `{topology}` ({said})")),
        HeldState::Differs { .. } => Some(format!("it holds another `{topology}`")),
    });
    told.collect::<Vec<_>>().join("; ")
}

impl AskError {
    /// The failure of a command that needs the answer.
    pub(crate) fn failure(&self) -> Failure {
        let hint = match self {
            AskError::Run(error) => hint_of_scontrol(error),
            AskError::Answer { .. } => "is it Slurm's scontrol? `scontrol --version` tells",
        };
        Failure::new(Exit::ControllerSilent, self).hint(hint)
    }
}
