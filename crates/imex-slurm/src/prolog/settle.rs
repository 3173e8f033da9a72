//! The steps of the service: stopping that of the job before, starting this job's, waiting until its domain is UP, and
//! saying who is at fault if it does not come UP.

use std::cell::RefCell;
use std::time::Duration;

use imex_config::operator::{Innocent, Provider, Tie as TiePolicy};
use imex_core::{Moment, NodeMap};
use imex_host::systemd::{JobFailure, Patience, Stopped, SystemdError};
use tokio::time::{sleep, timeout};

use super::{Ended, Prolog, PrologError, Step};
use crate::blame::{self, Judgement, Verdict};
use crate::clock::Clock;
use crate::eyes::{Blind, Eyes};
use crate::job_domain::{JobDomain, Stage};
use crate::joblog::Level;
use crate::machine::Machine;
use crate::map;
use crate::outcome::Ending;
use crate::service::{self, ServiceManager};
use crate::view::View;

/// How long the service may take to stop when its domain is given up; the epilog has more patience.
const GIVE_UP: Duration = Duration::from_millis(400);

/// How often it is looked at whether the service still runs. One that fails while it starts is told at once.
const LOOK: Duration = Duration::from_millis(500);

/// How long the last look at the domain may take: a daemon gives its peers one second for their rows, and the way there and
/// back takes a little.
const LAST_LOOK: Duration = Duration::from_millis(1_300);

/// How often the domain is looked at while it forms: at least so long apart, and longer by member, because a table has the
/// square of them in cells. A domain is UP before the first look as a rule.
const OBSERVE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(20));

/// How long a lost link is doubted: the leave of a service that is stopped is heard by then.
const DOUBT: Duration = Duration::from_millis(200);

/// How long the service manager may take to tell how the service fares.
const ASK: Duration = Duration::from_secs(2);

/// How waiting ends.
#[derive(Debug)]
enum Settled {
    Up(View),
    /// The time is over, or a member has left. What was seen before anybody left, if anything was.
    NotUp(Option<View>),
}

impl<M, S, F, E> Prolog<'_, M, S, F>
where
    M: Machine,
    S: ServiceManager,
    F: Fn(&str) -> E,
    E: Eyes,
{
    /// Stops the service, whosever it was. Killing it is the last step, because it blocks fabric memory on the node.
    pub(super) async fn stop(&mut self) -> Result<(), PrologError> {
        let begun = self.spent_ms();
        let left = self.budget.left(self.clock.now());
        let stopping = self.site.manager.stop(service::patience(self.site.operator.prolog.stop, left));
        let stopped = timeout(left, stopping).await;
        let stopped = stopped.map_err(|_| PrologError::StopOverdue)?.map_err(PrologError::Stop)?;
        self.record.note("stopped", &stopped);
        if let Stopped::Killed { .. } | Stopped::KilledBySystemd = stopped {
            let text = "the service did not stop in time and was killed: fabric memory of this node may be blocked until the \
                        service runs again";
            self.say(Level::Warn, text);
        }
        self.done(Step::Stop, begun);
        Ok(())
    }

    /// Writes the node map and the keys of the job.
    pub(super) fn files(&mut self, domain: &mut JobDomain, map: &NodeMap) -> Result<(), PrologError> {
        let begun = self.spent_ms();
        let policy = &self.site.operator.service;
        let file = map::read_config(self.config_path())?;
        let settings = map::settings(policy, self.context.job, &self.context.token(), &file);
        for (key, value) in map::before(&file, &settings) {
            domain.keys_before.entry(key).or_insert(value);
        }
        // Before the keys are set, so that whoever takes over knows what they were.
        self.state_file().write(domain)?;
        let configured = map::configure(self.config_path(), &file, &settings)?;
        let written = map::write_map(&map::map_path(policy, &file), &map::text(map))?;
        self.record.note("settings", &settings);
        self.record.note("written", &(configured, written));
        self.done(Step::Files, begun);
        Ok(())
    }

    /// Starts the service and waits until the domain is UP, the service has ended, or the time is over.
    pub(super) async fn settle(&mut self, domain: &JobDomain, map: &NodeMap) -> Result<Ended, PrologError> {
        let begun = self.spent_ms();
        let text = format!(
            "starting {}, waiting for {} nodes for at most {} ms",
            domain.unit,
            map.len(),
            self.left_ms()
        );
        self.say(Level::Info, &text);
        let eyes = (self.site.eyes)(&self.own_entry(map, domain));
        let until = self.budget.last_wait();
        let (clock, after, provider) = (self.clock, self.site.after, self.site.operator.service.provider);
        let watched = Watched { clock, until, provider, started: || after(Step::Start) };
        let settled = wait(&mut self.site.manager, &eyes, map, watched).await;
        self.done(Step::Settle, begun);
        match settled {
            Ok(Settled::Up(view)) => Ok(self.is_up(&view)),
            Ok(Settled::NotUp(before)) => match self.last_look(&eyes, map, before).await {
                Ok(view) => self.blame(&view, domain),
                Err(blind) => Err(blind.into()),
            },
            Err(error) => Err(error),
        }
    }

    fn is_up(&mut self, view: &View) -> Ended {
        self.record.note("verdict", &Verdict::Up);
        let versions: Vec<&str> = view.members.iter().map(|member| member.version.as_str()).collect();
        self.record.note("versions", &versions);
        let (nodes, ms) = (view.members.len(), self.spent_ms());
        let message = format!(
            "the domain is UP: all {} links of its {nodes} nodes are connected, after {ms} ms",
            nodes * nodes
        );
        Ended { ending: Ending::Up, message }
    }

    /// The view to judge by: the last one, or the one before anybody left. A node whose prolog has judged earlier is stopped
    /// by its epilog at once, and must not look like the fault.
    async fn last_look(&self, eyes: &E, map: &NodeMap, before: Option<View>) -> Result<View, Blind> {
        let now = eyes.look(LAST_LOOK).await?;
        if !now.has_members(map.iter().map(|(_, entry)| entry)) {
            return Err(Blind::OtherMap { found: now.members.len(), expected: map.len() });
        }
        Ok(match before {
            // What was lost in the last second explains nothing that there was before.
            Some(before) if now.lost_since(&before) && explains(&before) => before,
            Some(_) | None => now,
        })
    }

    /// Says who is at fault.
    fn blame(&mut self, view: &View, domain: &JobDomain) -> Result<Ended, PrologError> {
        let names: Vec<String> = domain.members.iter().map(|member| member.node.clone()).collect();
        let judgement = blame::judge(view);
        let told = blame::text::describe(view, &judgement, &names);
        self.note_judgement(view, &judgement);
        for line in &told.lines {
            self.say(Level::Warn, line);
        }
        let policy = &self.site.operator.prolog;
        let ending = match (judgement.verdict, policy.innocent, policy.tie) {
            (Verdict::Up, _, _) => return Ok(self.is_up(view)),
            (Verdict::AtFault, _, _) => Ending::AtFault,
            (Verdict::Tied, _, TiePolicy::Fail) => Ending::Tied,
            (Verdict::Tied, _, TiePolicy::Pass) => Ending::PassedTie,
            (Verdict::Innocent, Innocent::Pass, _) => Ending::PassedInnocent,
            (Verdict::Innocent, Innocent::Fail, _) => Ending::Innocent,
            // Some other node has ended badly, or the job was cancelled: it does not run in either case.
            (Verdict::Abandoned, _, _) => Ending::PassedInnocent,
            (Verdict::Unexplained, _, TiePolicy::Fail) => Ending::Unexplained,
            (Verdict::Unexplained, _, TiePolicy::Pass) => Ending::PassedTie,
        };
        match ending.is_success() {
            true => Ok(Ended { ending, message: told.summary }),
            false => Err(PrologError::NotUp { ending, told: told.summary }),
        }
    }

    fn note_judgement(&mut self, view: &View, judgement: &Judgement) {
        self.record.note("verdict", &judgement.verdict);
        self.record.note("standings", &judgement.standings);
        let letters = view.members.iter().map(|member| {
            let letters = member.links.iter().map(|cell| cell.state.letter());
            letters.collect::<Vec<_>>().join(" ")
        });
        self.record.note("matrix", &letters.collect::<Vec<_>>());
        self.record
            .note("states", &view.members.iter().map(|member| member.state.word()).collect::<Vec<_>>());
    }

    /// Stops the service of a domain that did not come UP: a member whose prolog comes later than this one's end must not find
    /// it UP, while the tasks of this node are refused.
    async fn give_up(&mut self) {
        let patience = Patience { asked: GIVE_UP, killed: GIVE_UP };
        match timeout(2 * GIVE_UP, self.site.manager.stop(patience)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.say(Level::Warn, &imex_config::chain(&error)),
            Err(_) => self.say(Level::Warn, "the service did not stop in the time that is left"),
        }
    }

    /// Writes down what came of it, for tasks and for whoever looks.
    pub(super) async fn conclude(
        &mut self,
        domain: &mut JobDomain,
        ended: Result<Ended, PrologError>,
    ) -> Result<Ended, PrologError> {
        let begun = self.spent_ms();
        if let Ok(Ended { ending: Ending::PassedInnocent | Ending::PassedTie, .. }) = &ended {
            self.give_up().await;
        }
        let (stage, reason) = match &ended {
            Ok(Ended { ending: Ending::Up, .. }) => (Stage::Up, None),
            Ok(Ended { ending: Ending::Channel, .. }) => (Stage::ChannelOnly, None),
            Ok(Ended { ending: Ending::Skipped, .. }) => (Stage::Skipped, None),
            Ok(ended) => (Stage::Failed, Some(ended.message.clone())),
            Err(error) => (Stage::Failed, Some(imex_config::chain(error))),
        };
        domain.stage = stage;
        domain.reason = reason;
        let written = self.state_file().write(domain);
        self.done(Step::Verdict, begun);
        match (ended, written) {
            // Without the state no task would be let in.
            (Ok(_), Err(error)) => Err(error.into()),
            (ended, _) => ended,
        }
    }
}

/// What a wait is measured by.
struct Watched<F> {
    clock: Clock,
    until: Moment,
    provider: Provider,
    started: F,
}

/// Starts the service and waits.
async fn wait<S: ServiceManager, E: Eyes, F: Fn()>(
    manager: &mut S,
    eyes: &E,
    map: &NodeMap,
    watched: Watched<F>,
) -> Result<Settled, PrologError> {
    let left = watched.until.since(watched.clock.now());
    let before = RefCell::new(None);
    let lives = async {
        let error = start_and_watch(manager, left, &watched).await;
        Err::<Settled, PrologError>(error)
    };
    let waited = timeout(left, async {
        tokio::select! {
            // A service that has ended counts, whatever was seen of it before.
            biased;
            ended = lives => ended,
            up = eyes.until_up(map) => up.map(Settled::Up).map_err(PrologError::Blind),
            () = observe(eyes, map, &before) => Ok(Settled::NotUp(None)),
        }
    });
    match waited.await {
        Ok(Ok(Settled::NotUp(_))) | Err(_) => Ok(Settled::NotUp(before.into_inner())),
        Ok(settled) => settled,
    }
}

/// Looks at the domain while it forms, and keeps what it saw last; ends when a member has left.
async fn observe<E: Eyes>(eyes: &E, map: &NodeMap, before: &RefCell<Option<View>>) {
    let by_size = OBSERVE.1 * u32::try_from(map.len()).unwrap_or(u32::MAX);
    let pause = OBSERVE.0.max(by_size);
    let mut doubted = false;
    sleep(pause).await;
    loop {
        let Ok(view) = eyes.look(LAST_LOOK).await else {
            sleep(pause).await;
            continue;
        };
        if view.left().contains(&true) {
            return;
        }
        let lost = before.borrow().as_ref().is_some_and(|before| view.lost_since(before));
        if lost && !doubted {
            // A service that is stopped says so within milliseconds; one that has crashed does not.
            doubted = true;
            sleep(DOUBT).await;
            continue;
        }
        doubted = false;
        before.replace(Some(view));
        sleep(pause).await;
    }
}

/// Whether a view shows who is at fault.
fn explains(view: &View) -> bool {
    match blame::judge(view).verdict {
        Verdict::AtFault | Verdict::Tied | Verdict::Innocent => true,
        Verdict::Up | Verdict::Abandoned | Verdict::Unexplained => false,
    }
}

/// Starts the service and looks after it; ends only when it has ended.
async fn start_and_watch<S: ServiceManager, F: Fn()>(
    manager: &mut S,
    left: Duration,
    watched: &Watched<F>,
) -> PrologError {
    match manager.start(left).await {
        Ok(_) | Err(SystemdError::Overdue { .. }) => {}
        Err(error @ SystemdError::Job { end: JobFailure::Failed, .. }) => {
            match manager.facts(ASK).await {
                // A port may be held for a moment by an outgoing connection: the unit is started again by its own rule.
                Ok(facts) if service::may_mend(&facts, watched.provider) => {}
                Ok(facts) => {
                    return PrologError::ServiceEnded { how: service::how(&facts, watched.provider) };
                }
                Err(_) => return PrologError::Start(error),
            }
        }
        Err(error) => return PrologError::Start(error),
    }
    (watched.started)();
    loop {
        sleep(LOOK).await;
        if let Ok(facts) = manager.facts(ASK).await
            && !service::may_mend(&facts, watched.provider)
            && let Some(how) = service::ended(&facts, watched.provider)
        {
            return PrologError::ServiceEnded { how };
        }
    }
}
