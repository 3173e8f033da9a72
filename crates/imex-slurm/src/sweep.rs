//! What a lost epilog left behind: found and taken away, at boot and by Slurm's HealthCheckProgram.
//!
//! At any moment a job may be between its prolog and its first step, so that only two things prove that a domain is not used
//! any more: the machine was booted since, or Slurm says that the job has ended. Where Slurm does not answer, all stays.

use std::collections::BTreeMap;
use std::time::Duration;

use imex_config::Operator;
use imex_config::operator::Channels;
use imex_host::HostList;
use imex_host::boot::BootId;
use imex_host::channel::{self, Listing};
use imex_host::lease::{Lease, Leases};
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::clock::Clock;
use crate::epilog::{self, Hands, Plan, Report};
use crate::job_domain::{JobDomain, JobDomainFile};
use crate::lock::{self, LockError};
use crate::machine::{Machine, Unknown};
use crate::service::ServiceManager;
use crate::tenancy::job_of;

/// How long another script of this node may take its turn. A sweep that finds none has time until the next.
const TURN: Duration = Duration::from_secs(1);

/// Whether a job still has this node, by Slurm's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It has, or its epilog is still to come.
    Runs,
    /// It has not.
    Ended,
    /// Slurm does not say.
    Unknown,
}

/// What is found on a node.
#[derive(Clone, Debug)]
pub struct Found<'f> {
    /// The state of the node's domain.
    pub domain: Option<&'f JobDomain>,
    /// Whether there is a state that nobody can read.
    pub broken: bool,
    /// The leases that are held.
    pub leases: &'f [Lease],
    /// The channels that there are.
    pub channels: &'f Listing,
    /// This boot.
    pub boot: &'f BootId,
    /// Whether the jobs that are named by domain and leases live.
    pub lives: &'f BTreeMap<u32, Life>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Sweep {
    /// What is taken away.
    pub plan: Plan,
    /// Whether the state stays all the same, for tasks of a job that goes on.
    pub keep_state: bool,
    /// Channels that belong to no job.
    pub channels: Vec<u32>,
    /// Of which jobs, and why.
    pub findings: Vec<Finding>,
}

/// Something that a sweep found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whose it is, if that can be told.
    pub job: Option<u32>,
    /// What it is.
    pub what: What,
}

/// What a sweep can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The domain of a job that has ended.
    Ended,
    /// The domain of a job from before the machine was booted.
    Rebooted,
    /// The same, and Slurm has kept the job running, or does not say: it has lost its domain. The state stays, so that its
    /// tasks are refused.
    Lost,
    /// Slurm does not say whether the job runs: its domain stays.
    Unknown,
    /// A lease of a job that has ended.
    Lease,
    /// A state that nobody can read, and no job has a lease: it is nobody's.
    Unreadable,
}

/// What is to be taken away.
pub fn plan(found: &Found<'_>, operator: &Operator) -> Sweep {
    let mut sweep = Sweep::default();
    let life = |job: u32| found.lives.get(&job).copied().unwrap_or(Life::Unknown);
    let kept = found.domain.filter(|domain| !sweep_domain(domain, found, life(domain.job), &mut sweep));
    for Lease { holder, .. } in found.leases {
        let Some(job) = job_of(holder) else { continue };
        if life(job) == Life::Ended {
            sweep.plan.leases.push(holder.clone());
            sweep.findings.push(Finding { job: Some(job), what: What::Lease });
        }
    }
    let used = |lease: &Lease| !sweep.plan.leases.contains(&lease.holder);
    if found.broken && !found.leases.iter().any(used) {
        sweep.plan.domain = true;
        sweep.findings.push(Finding { job: None, what: What::Unreadable });
    }
    if operator.channels.channels == Channels::PerJob {
        let at_boot = |number: u32| {
            operator.channels.at_boot.iter().any(|(low, high)| (*low..=*high).contains(&number))
        };
        let of_job = kept.and_then(|domain| domain.channel.as_ref()).map(|channel| channel.number);
        let numbers = found.channels.channels.iter().map(|(channel, _)| channel.number());
        let stray = |number: &u32| *number != 0 && !at_boot(*number) && Some(*number) != of_job;
        sweep.channels = numbers.filter(stray).collect();
    }
    sweep
}

/// Whether the node's domain is taken away.
fn sweep_domain(domain: &JobDomain, found: &Found<'_>, life: Life, sweep: &mut Sweep) -> bool {
    let rebooted = domain.boot_id != *found.boot;
    let what = match (rebooted, life) {
        (true, Life::Runs | Life::Unknown) => What::Lost,
        (true, Life::Ended) => What::Rebooted,
        (false, Life::Ended) => What::Ended,
        (false, Life::Unknown) => What::Unknown,
        (false, Life::Runs) => return false,
    };
    sweep.findings.push(Finding { job: Some(domain.job), what });
    if what == What::Unknown {
        return false;
    }
    sweep.plan.domain = true;
    sweep.keep_state = what == What::Lost;
    let channel = domain.channel.as_ref().filter(|channel| channel.removed_after);
    sweep.plan.channel = channel.map(|channel| channel.number);
    true
}

/// Looks and takes away. Slurm is asked before the turn is taken, since it may be slow; what has changed by then is left to
/// the next sweep. The epilog's budget is that of a sweep. `node` is Slurm's name for this node, if that is certain.
pub async fn run<M: Machine, S: ServiceManager>(
    node: Option<&str>,
    machine: &M,
    mut hands: Hands<'_, S>,
    clock: Clock,
) -> (Sweep, Report) {
    let mut report = Report::default();
    let time = Time { clock, budget: Budget::new(clock.now(), hands.operator.epilog_budget) };
    match swept((node, machine), &mut hands, time, &mut report).await {
        Ok(sweep) => (sweep, report),
        Err(problem) => {
            report.problems.push(problem);
            (Sweep::default(), report)
        }
    }
}

/// What a sweep may take.
#[derive(Clone, Copy)]
struct Time {
    clock: Clock,
    budget: Budget,
}

impl Time {
    /// The first half of a budget that begins now: a controller that does not answer must not take the time in which the
    /// service stops, or its map and channel would be taken away under it.
    fn half(self, budget: Duration) -> Self {
        Time { budget: Budget::new(self.clock.now(), budget / 2), ..self }
    }

    /// How long a part of it may take that would like `wish`.
    fn step(self, wish: Duration) -> Duration {
        self.budget.step(self.clock.now(), wish)
    }
}

async fn swept<M: Machine, S: ServiceManager>(
    (node, machine): (Option<&str>, &M),
    hands: &mut Hands<'_, S>,
    time: Time,
    report: &mut Report,
) -> Result<Sweep, epilog::Problem> {
    let operator = hands.operator;
    let seen = Seen::now(operator)?;
    let asking = time.half(operator.epilog_budget);
    let within = || asking.step(operator.tools.scontrol_deadline);
    let lives = ask(node, machine, &seen, within).await;
    let turn = match lock::turn(&operator.files.run, time.step(TURN)).await {
        Ok(turn) => turn,
        // A prolog or an epilog is at work: there will be another sweep.
        Err(LockError::Busy { .. }) => return Ok(Sweep::default()),
        Err(error) => return Err(error.into()),
    };
    let now = Seen::now(operator)?;
    if (&now.domain, &now.leases) != (&seen.domain, &seen.leases) {
        return Ok(Sweep::default());
    }
    let boot = machine.boot()?;
    let Seen { domain, broken, leases, channels } = &now;
    let found =
        Found { domain: domain.as_ref(), broken: *broken, leases, channels, boot: &boot, lives: &lives };
    let sweep = plan(&found, operator);
    take_away((&sweep, domain.as_ref()), hands, time, report).await;
    drop(turn);
    Ok(sweep)
}

async fn take_away<S: ServiceManager>(
    (sweep, domain): (&Sweep, Option<&JobDomain>),
    hands: &mut Hands<'_, S>,
    time: Time,
    report: &mut Report,
) {
    report.plan = sweep.plan.clone();
    if sweep.plan.domain {
        hands.take_away(time.budget.left(time.clock.now()), domain, report).await;
    }
    epilog::remove(hands.operator, sweep.channels.iter().copied(), report);
    if report.problems.is_empty() {
        report.plan.domain &= !sweep.keep_state;
        let files = &hands.operator.files;
        epilog::forget(&JobDomainFile::within(&files.state), &Leases::at(files.leases()), report);
    }
}

/// What is on the node.
#[derive(Debug)]
struct Seen {
    domain: Option<JobDomain>,
    broken: bool,
    leases: Vec<Lease>,
    channels: Listing,
}

impl Seen {
    fn now(operator: &Operator) -> Result<Self, epilog::Problem> {
        let (domain, broken) = match JobDomainFile::within(&operator.files.state).read() {
            Ok(domain) => (domain, false),
            Err(error) if error.is_unreadable() => (None, true),
            Err(error) => return Err(error.into()),
        };
        Ok(Seen {
            domain,
            broken,
            leases: Leases::at(operator.files.leases()).held()?,
            channels: channel::Channels::at(&operator.channels.directory).list()?,
        })
    }
}

/// Asks Slurm about every job that is named. A job runs on the node that its domain's state names; of one that only a lease
/// names, the node is `node`, or else any. Each answer may take what `within` says then.
async fn ask<M: Machine>(
    node: Option<&str>,
    machine: &M,
    seen: &Seen,
    within: impl Fn() -> Duration,
) -> BTreeMap<u32, Life> {
    let by_lease = seen.leases.iter().filter_map(|lease| Some((job_of(&lease.holder)?, node)));
    let mut jobs: BTreeMap<u32, Option<&str>> = by_lease.collect();
    jobs.extend(seen.domain.iter().map(|domain| (domain.job, Some(domain.node.as_str()))));
    let mut lives = BTreeMap::new();
    for (job, node) in jobs {
        let words = ["show", "job", &job.to_string(), "--json"];
        let said = machine.scontrol(&words, within()).await;
        lives.insert(job, life(&said, job, node));
    }
    lives
}

/// The states of a job that has no node any more.
const ENDED: [&str; 11] = [
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
];

/// What `scontrol show job --json` prints, as far as it counts.
#[derive(Deserialize)]
struct Answer {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    job_id: u32,
    job_state: Vec<String>,
    #[serde(default)]
    nodes: String,
}

/// What Slurm's JSON says of a job, for this node. A state that is not known as one of an ended job means nothing: Slurm gets
/// new ones.
pub fn life(said: &Result<String, Unknown>, job: u32, node: Option<&str>) -> Life {
    let text = match said {
        Ok(text) => text,
        Err(error) if error.to_string().contains("Invalid job id") => return Life::Ended,
        Err(_) => return Life::Unknown,
    };
    let Ok(Answer { jobs }) = serde_json::from_str(text) else { return Life::Unknown };
    let Some(Job { job_state, nodes, .. }) = jobs.into_iter().find(|found| found.job_id == job) else {
        return Life::Unknown;
    };
    let is = |words: &[&str]| job_state.iter().any(|state| words.contains(&state.as_str()));
    if is(&["COMPLETING"]) {
        return Life::Runs;
    }
    if is(&ENDED) {
        return Life::Ended;
    }
    // A list that cannot be read excludes nobody.
    let list = HostList::parse(&nodes).unwrap_or_default();
    match (is(&["RUNNING", "SUSPENDED", "CONFIGURING"]), node) {
        (true, Some(node)) if !list.is_empty() && !list.iter().any(|other| other == node) => Life::Ended,
        (true, _) => Life::Runs,
        (false, _) => Life::Unknown,
    }
}

impl What {
    /// In a sentence that begins with the job.
    pub const fn sentence(self) -> &'static str {
        match self {
            What::Ended => "has ended, and its domain was left behind",
            What::Rebooted => "is from before the machine was booted, and its domain was left behind",
            What::Lost => "may run on, but the machine was booted and its domain is gone",
            What::Unknown => "may run or not, Slurm does not say: its domain stays",
            What::Lease => "has ended, and its lease was left behind",
            What::Unreadable => {
                "cannot be told: the state of its domain cannot be read, and no job has a lease"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use imex_host::channel::{Channel, Facts, Kind, Mode, Owner};

    use super::*;
    use crate::job_domain::{JobChannel, SCHEMA_VERSION, Stage};

    const NOW: &str = "0d2b9c1e-1111-2222-3333-444455556666";
    const BEFORE: &str = "0d2b9c1e-1111-2222-3333-444455557777";

    #[test]
    fn only_what_is_proven_to_be_left_behind_is_taken_away() {
        for (boot, life, taken, what) in [
            (NOW, Life::Runs, false, None),
            (NOW, Life::Unknown, false, Some(What::Unknown)),
            (NOW, Life::Ended, true, Some(What::Ended)),
            (BEFORE, Life::Runs, true, Some(What::Lost)),
            (BEFORE, Life::Unknown, true, Some(What::Lost)),
            (BEFORE, Life::Ended, true, Some(What::Rebooted)),
        ] {
            let sweep = planned("", of(boot), &[], life, &[]);
            let found: Vec<What> = sweep.findings.iter().map(|finding| finding.what).collect();
            assert_eq!((sweep.plan.domain, found), (taken, Vec::from_iter(what)), "{boot} {life:?}");
            assert_eq!(sweep.plan.channel, taken.then_some(8));
            assert_eq!(sweep.keep_state, what == Some(What::Lost));
        }
    }

    #[test]
    fn leases_of_ended_jobs_are_given_back_and_others_stay() {
        let leases = |life| planned("", State::None, &["7.0", "backup"], life, &[]).plan.leases.len();
        assert_eq!((leases(Life::Ended), leases(Life::Runs), leases(Life::Unknown)), (1, 0, 0));
    }

    #[test]
    fn channels_of_no_job_are_removed_where_each_job_has_its_own() {
        let policy = "channels.use = \"per-job\"\nchannels.boot = \"0,3\"";
        let swept = |policy, life| planned(policy, of(NOW), &[], life, &[0, 3, 8, 9]).channels;
        assert_eq!(swept(policy, Life::Runs), [9]);
        assert_eq!(swept(policy, Life::Ended), [8, 9]);
        assert_eq!(swept("", Life::Ended), [0; 0]);
    }

    #[test]
    fn slurms_word_for_a_job_is_read_for_this_node() {
        let told = |states: &str, nodes: &str, node| {
            // A job's name is its user's.
            let text = format!(
                r#"{{"jobs":[{{"job_id":7,"name":"x JobState=COMPLETED","job_state":[{states}],"nodes":"{nodes}"}}]}}"#
            );
            life(&Ok(text), 7, node)
        };
        let own = Some("n2");
        assert_eq!(told(r#""RUNNING""#, "n[1-2]", own), Life::Runs);
        assert_eq!(told(r#""COMPLETED","COMPLETING""#, "n2", own), Life::Runs);
        assert_eq!(told(r#""RUNNING""#, "n[3-4]", own), Life::Ended);
        // The machine's own name may be another than Slurm's for it.
        assert_eq!(told(r#""RUNNING""#, "n[3-4]", None), Life::Runs);
        assert_eq!(told(r#""COMPLETED""#, "n[1-2]", own), Life::Ended);
        assert_eq!(told(r#""PENDING""#, "", own), Life::Ended);
        assert_eq!(told(r#""EXPEDITING""#, "n2", own), Life::Unknown);
        assert_eq!(life(&Ok(r#"{"jobs":[]}"#.to_owned()), 7, own), Life::Unknown);
        assert_eq!(life(&Ok("nothing".to_owned()), 7, own), Life::Unknown);
        let gone = Unknown::new("slurm_load_jobs error: Invalid job id specified");
        assert_eq!(life(&Err(gone), 7, own), Life::Ended);
        assert_eq!(life(&Err(Unknown::new("no answer")), 7, own), Life::Unknown);
    }

    fn planned(policy: &str, state: State, leases: &[&str], life: Life, channels: &[u32]) -> Sweep {
        let operator = Operator::parse(policy, Path::new("openimex.toml")).unwrap();
        let lease = |name: &&str| Lease { holder: name.parse().unwrap(), since: None };
        let leases: Vec<Lease> = leases.iter().map(lease).collect();
        let facts =
            Facts { kind: Kind::CharDevice { major: 1, minor: 1 }, mode: Mode::OPEN, owner: Owner::ROOT };
        let channels = channels.iter().map(|number| (Channel::new(*number).unwrap(), facts));
        let channels = Listing { channels: channels.collect(), ..Listing::default() };
        let lives = BTreeMap::from([(7, life)]);
        let boot = NOW.parse().unwrap();
        let (domain, broken) = match state {
            State::None => (None, false),
            State::Of(domain) => (Some(*domain), false),
            State::Broken => (None, true),
        };
        let found = Found {
            domain: domain.as_ref(),
            broken,
            leases: &leases,
            channels: &channels,
            boot: &boot,
            lives: &lives,
        };
        plan(&found, &operator)
    }

    #[test]
    fn a_state_that_nobody_can_read_goes_when_no_job_has_a_lease() {
        let taken = |leases: &[&str], life| planned("", State::Broken, leases, life, &[]).plan.domain;
        assert!(taken(&[], Life::Unknown));
        assert!(taken(&["7.0"], Life::Ended));
        assert!(!taken(&["7.0"], Life::Runs) && !taken(&["7.0"], Life::Unknown));
        assert!(!taken(&["backup"], Life::Ended));
    }

    #[test]
    fn questions_leave_half_of_the_budget_to_what_follows() {
        let (clock, budget) = (Clock::start(), Duration::from_secs(60));
        let time = Time { clock, budget: Budget::new(clock.now(), budget) };
        assert!(time.step(budget) > budget / 2);
        assert!(time.half(budget).step(budget) <= budget / 2);
    }

    /// What a node's state is.
    enum State {
        None,
        Of(Box<JobDomain>),
        Broken,
    }

    fn of(boot: &str) -> State {
        State::Of(Box::new(domain(boot)))
    }

    fn domain(boot: &str) -> JobDomain {
        JobDomain {
            schema_version: SCHEMA_VERSION,
            job: 7,
            run: "0".to_owned(),
            boot_id: boot.parse().unwrap(),
            since: jiff::Timestamp::UNIX_EPOCH,
            node: "n2".to_owned(),
            uid: 0,
            unit: "imexd.service".to_owned(),
            stage: Stage::Up,
            reason: None,
            domain_id: None,
            members: Vec::new(),
            block: None,
            domains: None,
            channel: Some(JobChannel { number: 8, path: "/dev/c/channel8".into(), removed_after: true }),
            keys_before: Default::default(),
        }
    }
}
