//! The steps before the members: applicability, lease, channel.

use std::time::Duration;

use imex_config::operator::{ChannelOwner, ChannelPolicy, Channels};
use imex_host::NoFabric;
use imex_host::channel::{self, Channel, Mode, NodeOutcome, Owner, Spec};
use imex_host::lease::{LeaseError, Leases};
use imex_host::systemd::SystemdError;
use tokio::time::sleep;

use super::{Ended, Prolog, PrologError, Step};
use crate::applicable::{Applicability, Capability, FabricFact, Facts, Next, Question, UnitFile, next};
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

/// How often the fabric is asked again while GPUs register, which takes minutes after a boot.
const FABRIC_AGAIN: Duration = Duration::from_secs(1);

/// What waiting for the fabric leaves of the budget: a domain forms within a second, a service stops within ten.
const FOR_THE_REST: Duration = Duration::from_secs(15);

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
            Question::Gpu => {
                let gpu = self.site.machine.gpu();
                self.record.note("gpu", &gpu);
                facts.gpu = Some(gpu);
            }
            Question::InstanceType => {
                let instance_type = self.site.machine.instance_type(within).await;
                self.record.note("instance_type", &instance_type);
                facts.instance_type = Some(instance_type);
            }
            Question::Fabric => {
                let fabric = self.attached(within).await;
                self.record.note("fabric", &fabric);
                if let FabricFact::Attached { ailing, .. } = &fabric {
                    ailing.iter().for_each(|text| self.say(Level::Warn, text));
                }
                facts.fabric = Some(fabric);
            }
            Question::Unit => {
                let unit = match self.site.manager.facts(within).await {
                    Ok(unit) => unit,
                    // Without a service manager there is no service; that matters only where one is needed.
                    Err(SystemdError::NoBus { .. })
                        if matches!(facts.capability, Some(Capability::None { .. })) =>
                    {
                        facts.unit = Some(UnitFile::Missing);
                        return Ok(());
                    }
                    Err(error) => return Err(PrologError::Unit(error)),
                };
                self.record.note("unit", &unit);
                facts.unit = Some(unit_file(&unit));
            }
        }
        Ok(())
    }

    /// The fabric of the GPUs. Soon after a boot their registration may still go on: it is waited for, as long as the budget
    /// has time for the rest.
    async fn attached(&mut self, within: Duration) -> FabricFact {
        let mut told = false;
        loop {
            let fabric = self.site.machine.fabric(within).await;
            let pending = matches!(&fabric, FabricFact::NotAttached { why: NoFabric::NotCompleted { .. } });
            if !pending || self.budget.left(self.clock.now()) < FOR_THE_REST {
                return fabric;
            }
            if !told {
                self.say(
                    Level::Info,
                    "waiting: the GPUs have not completed their registration with the fabric",
                );
                told = true;
            }
            sleep(FABRIC_AGAIN).await;
        }
    }

    /// Waits for its turn among the scripts of this node.
    pub(super) async fn lock(&mut self) -> Result<Turn, PrologError> {
        // Another prolog or epilog may be at work for as long as its own budget; what is left must do for this one.
        let within = self.budget.left(self.clock.now()) / 2;
        Ok(lock::turn(&self.site.operator.files.run, within).await?)
    }

    /// Takes the node: after cleaning up what ended jobs left, before anything is changed for this one.
    pub(super) async fn lease(&mut self) -> Result<JobDomain, PrologError> {
        let begun = self.spent_ms();
        let leases = Leases::at(self.site.operator.files.leases());
        let boot = self.site.machine.boot().map_err(PrologError::Boot)?;
        // A state that cannot be read is none: it says nothing that could be cleaned up.
        let before = self.state_file().read().unwrap_or_default();
        // Nor is that of another node, in a folder that nodes share by mistake.
        let before = before.filter(|domain| domain.node == self.context.node);
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
            self.took_over = takeover.domain.is_some();
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
            // What a killed prolog set was not reset by anybody.
            keys_before: before.map(|domain| domain.keys_before).unwrap_or_default(),
        };
        self.take(&leases).await?;
        self.state_file().write(&domain)?;
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
            Channels::PerJob => {
                let count =
                    self.site.machine.channel_count().map_or(policy.count, |count| count.min(policy.count));
                let own = own_channel(self.context.job, policy, count);
                Some(own.ok_or(PrologError::TooFewChannels { count })?)
            }
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
    pub(super) async fn channel_only(&mut self, domain: &mut JobDomain) -> Result<Ended, PrologError> {
        self.channel(domain)?;
        self.stop_what_was_left().await?;
        let message = "the job is alone here and needs no domain; its channel is there".to_owned();
        Ok(Ended { ending: Ending::Channel, message })
    }

    /// A job that has a single node in this partition, and more in others.
    pub(super) async fn nothing(&mut self) -> Result<Ended, PrologError> {
        self.stop_what_was_left().await?;
        let message = "Skipping IMEX configuration because the job has one node in this NVLink partition";
        Ok(Ended { ending: Ending::Skipped, message: message.to_owned() })
    }

    /// The service of the job before must not run beside this one.
    async fn stop_what_was_left(&mut self) -> Result<(), PrologError> {
        if self.took_over { self.stop().await } else { Ok(()) }
    }

    /// How much of the budget is left, for the log.
    pub(super) fn left_ms(&self) -> u64 {
        millis(self.budget.left(self.clock.now()))
    }
}

/// The channel of a job where each has one of its own, the same on all nodes: above those that the boot unit makes, and never
/// channel 0, which is everybody's. `None` if the driver, which has `count`, has none left.
pub(crate) fn own_channel(job: u32, policy: &ChannelPolicy, count: u32) -> Option<u32> {
    let highest = policy.at_boot.iter().map(|(_, high)| *high).max().unwrap_or(0);
    let first = highest + 1;
    let choice = count.checked_sub(first).filter(|choice| *choice > 0)?;
    Some(first + job % choice)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use imex_config::Operator;

    use super::own_channel;

    #[test]
    fn a_job_has_a_channel_that_the_driver_has_and_that_nobody_else_uses() {
        let policy = |boot: &str| {
            let text = format!("channels.boot = \"{boot}\"");
            Operator::parse(&text, Path::new("openimex.toml")).unwrap().channels
        };
        let own = |job, boot, count| own_channel(job, &policy(boot), count);
        assert_eq!(
            (own(7, "0", 2048), own(2047, "0", 2048), own(2046, "0", 2048)),
            (Some(8), Some(1), Some(2047))
        );
        assert_eq!((own(7, "0-7", 16), own(8, "0-7", 16)), (Some(15), Some(8)));
        assert_eq!((own(7, "0", 1), own(7, "0", 2), own(7, "0-7", 4)), (None, Some(1), None));
    }
}
