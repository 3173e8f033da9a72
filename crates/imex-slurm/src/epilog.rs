//! The epilog: takes away what the prolog made, whatever became of it.
//!
//! It may run any number of times, for a job that never had a prolog, and after a reboot. What fails is told and does not
//! keep the rest from being done; then the state and the lease stay, so that the next prolog or `imex slurm sweep` goes on
//! from there.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use imex_config::Operator;
use imex_config::operator::Channels;
use imex_host::channel::{self, Channel, ChannelError};
use imex_host::lease::{Holder, Lease, LeaseError, Leases};
use imex_host::systemd::{Stopped, SystemdError};
use serde::Serialize;
use thiserror::Error;
use tokio::time::timeout;

use crate::budget::Budget;
use crate::clock::Clock;
use crate::context::{JobName, Run};
use crate::job_domain::{JobDomain, JobDomainError, JobDomainFile};
use crate::lock::{self, LockError};
use crate::machine::Unknown;
use crate::map::{self, FilesError};
use crate::prolog::own_channel;
use crate::service::{self, ServiceManager};
use crate::tenancy::{self, job_of};

/// How long another script of this node may take its turn.
const TURN: Duration = Duration::from_secs(10);

/// What is to be taken away for a job.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Plan {
    /// Whether the node's domain is this job's: service, map, channel and state.
    pub domain: bool,
    /// Which channel is to be removed.
    pub channel: Option<u32>,
    /// Its leases.
    #[serde(serialize_with = "tenancy::names")]
    pub leases: Vec<Holder>,
}

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum Did {
    /// The service was stopped.
    Stopped {
        /// How.
        how: Stopped,
    },
    /// The node map is empty and the keys of the job are reset.
    Emptied {
        /// Where the node map is.
        map: PathBuf,
    },
    /// A channel was removed.
    RemovedChannel {
        /// Its number.
        number: u32,
    },
    /// A lease was given back.
    GaveBack {
        /// Whose.
        holder: String,
    },
    /// The state was forgotten.
    Forgot,
}

/// Something that could not be done.
#[derive(Debug, Error)]
pub enum Problem {
    /// There was no turn.
    #[error("another script is at work on this node")]
    Turn(#[from] LockError),
    /// The leases cannot be read or given back.
    #[error("the node's lease cannot be given back")]
    Lease(#[from] LeaseError),
    /// The service runs still.
    #[error("the service cannot be stopped")]
    Stop(#[source] SystemdError),
    /// Stopping it takes more than the budget has.
    #[error("the service did not stop within what the budget has left")]
    StopOverdue,
    /// Its files cannot be written.
    #[error("the service's files cannot be reset")]
    Files(#[from] FilesError),
    /// The channel is there still.
    #[error("the job's channel cannot be removed")]
    Channel(#[from] ChannelError),
    /// The state is there still.
    #[error("the state of the job's domain cannot be removed")]
    State(#[from] JobDomainError),
    /// This boot cannot be told from others.
    #[error("this boot cannot be told from others")]
    Boot(#[from] Unknown),
}

/// What an epilog did.
#[derive(Debug, Default)]
pub struct Report {
    /// What was to be done.
    pub plan: Plan,
    /// What was.
    pub did: Vec<Did>,
    /// What was not.
    pub problems: Vec<Problem>,
}

/// What there is to take away for `me`. `domain` is the state of the node's domain, if it can be read.
pub fn plan(me: &JobName, domain: Option<&JobDomain>, leases: &[Lease], operator: &Operator) -> Plan {
    let is_mine = |run: &str| match &me.run {
        Some(Run::Sluid(sluid)) => run == sluid,
        // The count of a requeued job's next run may be told to the epilog of this one.
        Some(Run::Restart(_)) | None => true,
    };
    let my_run = |holder: &Holder| holder.as_str().split_once('.').is_some_and(|(_, run)| is_mine(run));
    let leases: Vec<Holder> = leases
        .iter()
        .map(|lease| lease.holder.clone())
        .filter(|holder| job_of(holder) == Some(me.job) && my_run(holder))
        .collect();
    let channel_by_policy = || match operator.channels.channels {
        Channels::PerJob => own_channel(me.job, &operator.channels, operator.channels.count),
        Channels::Channel0 | Channels::Switch | Channels::Off => None,
    };
    match domain {
        Some(domain) if domain.job == me.job && is_mine(&domain.run) => {
            let channel = domain.channel.as_ref().filter(|channel| channel.removed_after);
            Plan { domain: true, channel: channel.map(|channel| channel.number), leases }
        }
        // Another job's: it must not be touched.
        Some(_) => Plan { domain: false, channel: None, leases },
        None if leases.is_empty() => Plan::default(),
        None => Plan { domain: true, channel: channel_by_policy(), leases },
    }
}

/// The names of the steps, for tests that end an epilog after one of them.
pub const STEPS: [&str; 4] = ["epilog-stop", "epilog-files", "epilog-channel", "epilog-forget"];

/// What an epilog works with.
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct Hands<'h, S> {
    /// How domains are made here.
    pub operator: &'h Operator,
    /// Who stops the service.
    pub manager: S,
    /// Called with the name of each step, of [`STEPS`], that is over.
    pub after: &'h dyn Fn(&str),
}

/// Takes away what belongs to the job.
pub async fn run<S: ServiceManager>(me: &JobName, mut hands: Hands<'_, S>, clock: Clock) -> Report {
    let operator = hands.operator;
    let budget = Budget::new(clock.now(), operator.epilog_budget);
    let mut report = Report::default();
    let turn = match lock::turn(&operator.files.run, budget.step(clock.now(), TURN)).await {
        Ok(turn) => turn,
        Err(error) => {
            report.problems.push(error.into());
            return report;
        }
    };
    let file = JobDomainFile::within(&operator.files.state);
    let leases = Leases::at(operator.files.leases());
    let (state, broken) = match file.read() {
        Ok(state) => (state, false),
        // What nobody can read is nobody's: it is taken away, unless another job has a lease.
        Err(error) if error.is_unreadable() => (None, true),
        Err(error) => {
            report.problems.push(error.into());
            (None, false)
        }
    };
    match leases.held() {
        Ok(held) => {
            report.plan = plan(me, state.as_ref(), &held, operator);
            let others = held.iter().any(|lease| job_of(&lease.holder) != Some(me.job));
            report.plan.domain |= broken && !others;
        }
        Err(error) => report.problems.push(error.into()),
    }
    if report.plan.domain {
        hands.take_away(budget.left(clock.now()), state.as_ref(), &mut report).await;
    }
    if report.problems.is_empty() {
        forget(&file, &leases, &mut report);
        (hands.after)("epilog-forget");
    }
    drop(turn);
    report
}

impl<S: ServiceManager> Hands<'_, S> {
    /// Takes away service, map and channel; stopping the service may take what is `left`, killing it included.
    pub(crate) async fn take_away(&mut self, left: Duration, state: Option<&JobDomain>, report: &mut Report) {
        let stopping = self.manager.stop(service::patience(self.operator.prolog.stop, left));
        match timeout(left, stopping).await {
            Ok(Ok(how)) => report.did.push(Did::Stopped { how }),
            // Uninstalled since: nothing runs.
            Ok(Err(SystemdError::NotFound { .. })) => {}
            Ok(Err(error)) => report.problems.push(Problem::Stop(error)),
            Err(_) => report.problems.push(Problem::StopOverdue),
        }
        (self.after)("epilog-stop");
        match empty(self.operator, state) {
            Ok(map) => report.did.push(Did::Emptied { map }),
            Err(error) => report.problems.push(error.into()),
        }
        (self.after)("epilog-files");
        remove(self.operator, report.plan.channel, report);
        (self.after)("epilog-channel");
    }
}

/// Removes channels.
pub(crate) fn remove(operator: &Operator, numbers: impl IntoIterator<Item = u32>, report: &mut Report) {
    let folder = channel::Channels::at(&operator.channels.directory);
    for channel in numbers.into_iter().filter_map(|number| Channel::new(number).ok()) {
        match folder.remove(channel) {
            Ok(_) => report.did.push(Did::RemovedChannel { number: channel.number() }),
            Err(error) => report.problems.push(error.into()),
        }
    }
}

/// Empties the node map, so that a service that is started by accident forms no domain, and resets the keys of the job.
fn empty(operator: &Operator, state: Option<&JobDomain>) -> Result<PathBuf, FilesError> {
    let policy = &operator.service;
    let file = map::read_config(&policy.config)?;
    let before = state.map(|state| state.keys_before.clone()).unwrap_or_default();
    map::configure(&policy.config, &file, &map::settings_without_job(policy, &before))?;
    let path = map::map_path(policy, &file);
    map::write_map(&path, "")?;
    Ok(path)
}

/// State and leases: last, because they say whose the rest is.
pub(crate) fn forget(file: &JobDomainFile, leases: &Leases, report: &mut Report) {
    if report.plan.domain {
        match file.remove() {
            Ok(()) => report.did.push(Did::Forgot),
            Err(error) => report.problems.push(error.into()),
        }
    }
    for holder in report.plan.leases.clone() {
        match leases.give_back(&holder) {
            Ok(_) => report.did.push(Did::GaveBack { holder: holder.as_str().to_owned() }),
            Err(error) => report.problems.push(error.into()),
        }
    }
}

impl fmt::Display for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Did::Stopped { how: Stopped::Before } => f.write_str("the service did not run"),
            Did::Stopped { how: Stopped::Gracefully } => f.write_str("the service has stopped"),
            Did::Stopped { how: Stopped::Killed { after_ms } } => write!(
                f,
                "the service did not stop within {after_ms} ms and was killed: fabric memory of this node may be blocked \
                 until it runs again"
            ),
            Did::Stopped { how: Stopped::KilledBySystemd } => f.write_str(
                "systemd killed the service, whose unit allows less time than prolog.stop: fabric memory of this node may be \
                 blocked until it runs again",
            ),
            Did::Emptied { map } => write!(f, "{} is empty", map.display()),
            Did::RemovedChannel { number } => write!(f, "IMEX channel {number} is removed"),
            Did::GaveBack { holder } => write!(f, "lease {holder} is given back"),
            Did::Forgot => f.write_str("the state of the job's domain is forgotten"),
        }
    }
}
