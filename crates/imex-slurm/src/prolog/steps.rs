//! The steps before the members: applicability, lease, channel.

use std::time::Duration;

use imex_config::operator::{ChannelOwner, Channels};
use imex_host::channel::{self, Channel, Mode, NodeOutcome, Owner, Spec};
use imex_host::lease::{LeaseError, Leases};
use tokio::time::sleep;

use super::{Ended, Prolog, PrologError, Step};
use crate::applicable::{Applicability, Capability, Facts, Next, Question, next};
use crate::clock::millis;
use crate::eyes::Eyes;
use crate::job_domain::{JobChannel, JobDomain, SCHEMA_VERSION, Stage};
use crate::joblog::Level;
use crate::lock::{self, Turn};
use crate::machine::Machine;
use crate::outcome::Ending;
use crate::service::{ServiceManager, unit_file};
use crate::tenancy::{self, Found};

/// How long one question may take: the metadata service and NVML answer within milliseconds.
const QUESTION: Duration = Duration::from_secs(2);

/// How long a run of another script may take the turn.
const TURN: Duration = Duration::from_secs(10);

/// How long the domain may be in being remade by `imex follow`, which takes seconds.
const CLAIMED: Duration = Duration::from_secs(20);

/// How often the lease is tried again meanwhile.
const RETRY: Duration = Duration::from_millis(100);

impl<M, S, F, E> Prolog<'_, M, S, F>
where
    M: Machine,
    S: ServiceManager,
    F: Fn(&str) -> E,
    E: Eyes,
{
    /// Looks at what decides whether there is something to form.
    pub(super) async fn applicable(&mut self) -> Result<Applicability, PrologError> {
        let begun = self.spent_ms();
        let mut facts = Facts::of_job(self.context.exclusivity, self.context.nodes.len());
        let applicability = loop {
            match next(&facts, self.site.operator) {
                Next::Ask(question) => self.answer(question, &mut facts).await?,
                Next::Is(applicability) => break applicability,
            }
        };
        self.done(Step::Applicable, begun);
        Ok(applicability)
    }

    async fn answer(&mut self, question: Question, facts: &mut Facts) -> Result<(), PrologError> {
        let within = self.budget.step(self.clock.now(), QUESTION);
        match question {
            Question::Capability => {
                let capability = Capability::of(&self.site.machine.devices());
                self.record.note("capability", &capability);
                facts.capability = Some(capability);
            }
            Question::InstanceType => {
                let instance_type = self.site.machine.instance_type(within).await;
                self.record.note("instance_type", &instance_type);
                facts.instance_type = Some(instance_type);
            }
            Question::Fabric => {
                let fabric = self.site.machine.fabric(within).await;
                self.record.note("fabric", &fabric);
                facts.fabric = Some(fabric);
            }
            Question::Unit => {
                let unit = self.site.manager.facts(within).await.map_err(PrologError::Unit)?;
                self.record.note("unit", &unit);
                facts.unit = Some(unit_file(&unit));
            }
        }
        Ok(())
    }

    /// Waits for its turn among the scripts of this node.
    pub(super) async fn lock(&mut self) -> Result<Turn, PrologError> {
        let within = self.budget.step(self.clock.now(), TURN);
        Ok(lock::turn(&self.site.operator.files.run, within).await?)
    }

    /// Takes the node: after cleaning up what ended jobs left, before anything is changed for this one.
    pub(super) async fn lease(&mut self) -> Result<JobDomain, PrologError> {
        let begun = self.spent_ms();
        let leases = Leases::at(self.site.operator.files.leases());
        let boot = self.site.machine.boot().map_err(PrologError::Boot)?;
        // A state that cannot be read is none: it says nothing that could be cleaned up.
        let before = self.state_file().read().unwrap_or_default();
        let held = leases.held()?;
        let alive = if held.is_empty() && before.is_none() {
            Vec::new()
        } else {
            self.site.machine.jobs_with_steps()
        };
        let found = Found { leases: &held, domain: before.as_ref(), boot: &boot, alive: &alive };
        let takeover = tenancy::judge(&found, &self.context.name())?;
        if takeover != tenancy::Takeover::default() {
            self.record.note("takeover", &takeover);
            self.clean_up(&leases, &takeover, before.as_ref());
        }
        let context = &self.context;
        let domain = JobDomain {
            schema_version: SCHEMA_VERSION,
            job: context.job,
            run: context.run.to_string(),
            boot_id: boot,
            since: self.clock.wall(),
            node: context.node.clone(),
            uid: context.user.uid,
            unit: self.site.operator.service.unit.clone(),
            stage: Stage::Forming,
            reason: None,
            domain_id: None,
            members: Vec::new(),
            block: None,
            domains: None,
            channel: None,
        };
        self.state_file().write(&domain)?;
        self.take(&leases).await?;
        self.done(Step::Lease, begun);
        Ok(domain)
    }

    /// Goes on over what cannot be removed: it is told, and in nobody's way.
    fn clean_up(&mut self, leases: &Leases, takeover: &tenancy::Takeover, before: Option<&JobDomain>) {
        if let Some(left) = &takeover.domain {
            let text = format!(
                "taking over what job {} run {} left behind ({:?})",
                left.job, left.run, left.because
            );
            self.say(Level::Warn, &text);
        }
        for holder in &takeover.leases {
            if let Err(error) = leases.give_back(holder) {
                self.say(Level::Warn, &imex_config::chain(&error));
            }
        }
        let channel =
            before.and_then(|domain| domain.channel.as_ref()).filter(|channel| channel.removed_after);
        let folder = channel::Channels::at(&self.site.operator.channels.directory);
        if let Some(channel) = channel.and_then(|channel| Channel::new(channel.number).ok())
            && let Err(error) = folder.remove(channel)
        {
            self.say(Level::Warn, &imex_config::chain(&error));
        }
    }

    async fn take(&mut self, leases: &Leases) -> Result<(), PrologError> {
        let holder = self.context.run.holder(self.context.job);
        let until = self.clock.now() + self.budget.step(self.clock.now(), CLAIMED);
        let mut told = false;
        loop {
            match leases.take(&holder, self.clock.wall()) {
                Ok(()) => return Ok(()),
                Err(LeaseError::Claimed) if self.clock.now() < until => {}
                Err(error) => return Err(error.into()),
            }
            if !told {
                self.say(Level::Info, "waiting: the node's domain is being remade");
                told = true;
            }
            sleep(RETRY).await;
        }
    }

    /// Makes the job's channel what it should be.
    pub(super) fn channel(&mut self, domain: &mut JobDomain) -> Result<(), PrologError> {
        let begun = self.spent_ms();
        let policy = &self.site.operator.channels;
        let number = match policy.channels {
            Channels::Off | Channels::Switch => None,
            Channels::Channel0 => Some(0),
            Channels::PerJob => Some(own_channel(self.context.job, policy.count)),
        };
        if let Some(number) = number {
            let channel = Channel::new(number)?;
            let owner = match policy.owner {
                ChannelOwner::Root => Owner::ROOT,
                ChannelOwner::User => Owner { uid: self.context.user.uid, gid: self.context.user.gid },
            };
            let major = self.site.machine.devices()?.imex_channels()?;
            let spec = Spec { major, mode: Mode::new(policy.mode)?, owner };
            let folder = channel::Channels::at(&policy.directory);
            // Noted before it is made, so that one that is left behind has an owner.
            let removed_after = policy.channels == Channels::PerJob;
            domain.channel = Some(JobChannel { number, path: folder.path(channel), removed_after });
            if removed_after {
                self.state_file().write(domain)?;
            }
            let ensured = folder.ensure(channel, &spec)?;
            self.record.note("channel", &(&domain.channel, &ensured));
            let became = match ensured.node {
                NodeOutcome::Right => "is there already",
                NodeOutcome::Created => "created",
                NodeOutcome::Replaced { .. } => "replaced: it was stale",
            };
            self.say(Level::Info, &format!("IMEX channel {number} (major {major}) {became}"));
        }
        self.done(Step::Channel, begun);
        Ok(())
    }

    /// A job that needs no more than its channel.
    pub(super) fn channel_only(&mut self, domain: &mut JobDomain) -> Result<Ended, PrologError> {
        self.channel(domain)?;
        let message = "the job has one node and needs no domain; its channel is there".to_owned();
        Ok(Ended { ending: Ending::Channel, message })
    }

    /// How much of the budget is left, for the log.
    pub(super) fn left_ms(&self) -> u64 {
        millis(self.budget.left(self.clock.now()))
    }
}

/// The channel of a job where each has one of its own: 1 and up, the same on all nodes. Channel 0 is everybody's.
pub(crate) fn own_channel(job: u32, count: u32) -> u32 {
    match count {
        0 | 1 => 0,
        more => 1 + job % (more - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::own_channel;

    #[test]
    fn a_job_has_a_channel_that_the_driver_has_and_never_the_common_one() {
        assert_eq!((own_channel(7, 2048), own_channel(2047, 2048), own_channel(2046, 2048)), (8, 1, 2047));
        assert_eq!((own_channel(7, 1), own_channel(7, 2)), (0, 1));
    }
}
