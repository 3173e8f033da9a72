//! The prolog: from a job's environment to a domain that is UP, or to who is at fault.
//!
//! [`Prolog::run`] goes through the [`Step`]s in their order. What to do is decided by the pure modules beside this one; here
//! it is done, logged, timed and recorded.

mod error;
mod members;
mod settle;
mod steps;

use std::path::Path;
use std::time::Duration;

use imex_config::Operator;
use imex_config::operator::OneNode;
use imex_core::NodeMap;
use serde::Serialize;

pub use self::error::PrologError;
pub(crate) use self::steps::own_channel;
use crate::applicable::Applicability;
use crate::budget::Budget;
use crate::clock::{Clock, millis};
use crate::context::JobContext;
use crate::eyes::Eyes;
use crate::job_domain::{JobDomain, JobDomainFile};
use crate::joblog::{JobLog, Level};
use crate::machine::Machine;
use crate::outcome::Ending;
use crate::record::Record;
use crate::service::ServiceManager;

/// The steps, by name in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Is there something to form?
    Applicable,
    /// Taking the node.
    Lease,
    /// Dividing the job.
    Scope,
    /// Making the channel.
    Channel,
    /// Finding addresses.
    Peers,
    /// Stopping the service of the job before.
    Stop,
    /// Writing the service's files.
    Files,
    /// Starting the service.
    Start,
    /// Waiting until the domain is UP.
    Settle,
    /// Writing down what came of it.
    Verdict,
}

impl Step {
    /// All, in their order.
    pub const ALL: [Step; 10] = [
        Step::Applicable,
        Step::Lease,
        Step::Scope,
        Step::Channel,
        Step::Peers,
        Step::Stop,
        Step::Files,
        Step::Start,
        Step::Settle,
        Step::Verdict,
    ];

    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            Step::Applicable => "applicable",
            Step::Lease => "lease",
            Step::Scope => "scope",
            Step::Channel => "channel",
            Step::Peers => "peers",
            Step::Stop => "stop",
            Step::Files => "files",
            Step::Start => "start",
            Step::Settle => "settle",
            Step::Verdict => "verdict",
        }
    }
}

/// What a prolog works with.
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub struct Site<'s, M, S, F> {
    /// How domains are made here.
    pub operator: &'s Operator,
    /// This machine.
    pub machine: M,
    /// Who stops and starts the service.
    pub manager: S,
    /// Makes the eyes of this node, given its entry of the node map.
    pub eyes: F,
    /// Called after each step. Tests end the process here.
    pub after: &'s dyn Fn(Step),
}

/// A prolog at work.
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub struct Prolog<'s, M, S, F> {
    site: Site<'s, M, S, F>,
    context: JobContext,
    clock: Clock,
    budget: Budget,
    log: JobLog,
    record: Record,
    /// Whether a domain that a lost epilog left behind was found.
    took_over: bool,
}

/// How a prolog ended, and what it says about it.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub ending: Ending,
    /// In words.
    pub message: String,
}

impl<'s, M, S, F, E> Prolog<'s, M, S, F>
where
    M: Machine,
    S: ServiceManager,
    F: Fn(&str) -> E,
    E: Eyes,
{
    /// Of this job, from now on.
    pub fn new(
        site: Site<'s, M, S, F>,
        context: JobContext,
        clock: Clock,
        log: JobLog,
        record: Record,
    ) -> Self {
        let budget = Budget::new(clock.now(), site.operator.prolog.budget);
        Prolog { site, context, clock, budget, log, record, took_over: false }
    }

    /// Does it all. Dropping the future stops at the next wait; [`Prolog::finish`] is for afterwards.
    pub async fn run(&mut self) -> Ended {
        self.begin();
        let ended = match self.form().await {
            Ok(ended) => ended,
            Err(error) => Ended { ending: error.ending(), message: imex_config::chain(&error) },
        };
        match (ended.ending, self.late()) {
            (Ending::Up | Ending::Channel | Ending::Skipped, _) | (_, None) => ended,
            (ending, Some(late)) => Ended { ending, message: format!("{}; {late}", ended.message) },
        }
    }

    /// That this prolog began when those of the other nodes, which have the same budget, may have given up already. It is told
    /// and not judged by: the controller's clock need not be this machine's.
    fn late(&self) -> Option<String> {
        let after = self.clock.begun().duration_since(self.context.started?);
        let (after, budget) = (Duration::try_from(after).ok()?, self.site.operator.prolog.budget);
        (after > budget).then(|| {
            format!(
                "this prolog began {} s after its job got its nodes, and prologs give up after {} s: others may have",
                after.as_secs(),
                budget.as_secs_f64()
            )
        })
    }

    /// Logs how it ended; what was noted on the way comes back for the record.
    pub fn finish(mut self, ended: &Ended) -> Record {
        let level = match (ended.ending.is_success(), ended.ending) {
            (true, Ending::PassedInnocent | Ending::PassedTie) => Level::Warn,
            (true, _) => Level::Info,
            (false, _) => Level::Error,
        };
        self.say(level, &ended.message);
        let spent = self.budget.spent(self.clock.now());
        self.record.note("spent_ms", &millis(spent));
        self.say(Level::Info, &format!("PROLOG End JobId={} after {} ms", self.context.job, millis(spent)));
        self.record
    }

    fn begin(&mut self) {
        let JobContext { job, run, nodes, node, user, het, exclusivity, .. } = &self.context;
        self.record.note("job", job);
        self.record.note("run", run);
        self.record.note("node", node);
        self.record.note("nodes", nodes);
        self.record.note("user", user);
        self.record.note("het", het);
        self.record.note("exclusivity", exclusivity);
        self.record.note("provider", &self.site.operator.service.provider.word());
        let count = nodes.len();
        let text = format!("PROLOG Start JobId={job} Run={run} on {node}, one of {count}");
        self.say(Level::Info, &text);
        if let Some(late) = self.late() {
            self.record.note("late", &late);
            self.say(Level::Warn, &late);
        }
    }

    async fn form(&mut self) -> Result<Ended, PrologError> {
        let applicability = self.applicable().await?;
        self.record.note("applicability", &applicability);
        let channel_only = match applicability {
            Applicability::Skip { why } => {
                let message = format!("Skipping IMEX configuration because {why}");
                return Ok(Ended { ending: Ending::Skipped, message });
            }
            Applicability::Refuse { why } => return Err(PrologError::Unfit(why)),
            Applicability::Channel => true,
            Applicability::Domain => false,
        };
        let lock = self.lock().await?;
        let mut domain = self.lease().await?;
        let ended = match channel_only {
            true => self.channel_only(&mut domain).await,
            false => self.domain(&mut domain).await,
        };
        let ended = self.conclude(&mut domain, ended).await;
        drop(lock);
        ended
    }

    async fn domain(&mut self, domain: &mut JobDomain) -> Result<Ended, PrologError> {
        let division = self.scope().await?;
        let alone = division.share().nodes.len() == 1;
        match self.site.operator.jobs.one_node {
            OneNode::Channel if alone => return self.channel_only(domain).await,
            OneNode::Skip if alone => return self.nothing().await,
            OneNode::Domain | OneNode::Channel | OneNode::Skip => {}
        }
        self.channel(domain)?;
        let peers = self.peers(&division).await?;
        let map = self.map(domain, &division, &peers)?;
        self.stop().await?;
        self.files(domain, &map)?;
        self.settle(domain, &map).await
    }

    fn say(&mut self, level: Level, text: &str) {
        self.log.line(self.clock.wall(), level, text);
    }

    /// Notes that a step is over, which began at `begun` milliseconds of the budget.
    fn done(&mut self, step: Step, begun: u64) {
        let ms = self.spent_ms().saturating_sub(begun);
        self.record.step(step.word(), ms);
        (self.site.after)(step);
    }

    fn spent_ms(&self) -> u64 {
        millis(self.budget.spent(self.clock.now()))
    }

    fn state_file(&self) -> JobDomainFile {
        JobDomainFile::within(&self.site.operator.files.state)
    }

    fn own_entry(&self, map: &NodeMap, domain: &JobDomain) -> String {
        let index = domain.index().unwrap_or_default();
        map.iter().nth(index).map(|(_, entry)| entry.to_owned()).unwrap_or_default()
    }

    fn config_path(&self) -> &'s Path {
        &self.site.operator.service.config
    }
}

#[cfg(test)]
mod tests;
