//! Strangers that go on and on, and a member that joins meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use imex_core::DomainState;

use super::{Node, Rack, Stopwatch, eventually};

/// What a member may take to join, process start included, whatever strangers do. It takes a tenth to a quarter of that.
const JOIN: Duration = Duration::from_secs(1);

/// How often it is tried; the one in the middle counts. Other tests run beside, and a pause of theirs is no fault of the daemon.
const TRIES: usize = 3;

/// How many such tries there are before it counts as a fault: what keeps a member out does so in each of them.
const ROUNDS: usize = 8;

/// On a machine where a join takes long anyhow, how many times as long it may take beside a flood: whoever makes the flood
/// wants a processor too, and keeps every member busy.
const SLOWER: u32 = 6;

/// What is done again and again, and its name.
pub(crate) type Hostile<'a> = (&'a str, Box<dyn FnMut() + Send>);

/// Something that goes on in a thread of its own until it is dropped.
pub(crate) struct Flood {
    over: Arc<AtomicBool>,
    rounds: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    /// Does it again and again; returns when it has been done for the first time.
    pub(crate) fn start(mut go_on: impl FnMut() + Send + 'static) -> Self {
        let (over, rounds) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (ended, done) = (Arc::clone(&over), Arc::clone(&rounds));
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                go_on();
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        let flood = Flood { over, rounds, thread: Some(thread) };
        assert!(eventually(|| flood.rounds() > 0), "the flood has begun");
        flood
    }

    /// How often it has been done.
    fn rounds(&self) -> usize {
        self.rounds.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "the flood went on until it was ended");
        }
    }
}

/// What members say, as an error, of the last node when it comes again.
pub(crate) fn restarted(last: usize) -> String {
    format!("Node disconnect event detected for node {last} ")
}

/// A domain that is UP but for its last node, which comes and goes.
pub(crate) struct Domain<'a> {
    pub(crate) rack: &'a Rack,
    pub(crate) members: &'a [Node],
}

impl Domain<'_> {
    /// The last node joins within a second, beside each of the floods, which goes on throughout. Nobody else loses
    /// anybody.
    pub(crate) fn bears(&self, floods: Vec<Hostile<'_>>) {
        let alone = self.usual(None);
        let most = JOIN.max(alone * SLOWER);
        for (name, go_on) in floods {
            let flood = Flood::start(go_on);
            let mut took = Vec::new();
            let bears = (0..ROUNDS).any(|_| {
                took.push(self.usual(Some(&flood)));
                took.last().is_some_and(|took| *took < most)
            });
            assert!(bears, "{name}: {took:?}, and {alone:?} without");
        }
        self.lost_nobody();
    }

    /// How long the last node usually takes to join, beside a flood that goes on meanwhile.
    fn usual(&self, flood: Option<&Flood>) -> Duration {
        let join = |_| {
            let before = flood.map(Flood::rounds);
            let took = self.join();
            // One round of it may take longer than the join.
            let goes_on = || flood.map(Flood::rounds) > before;
            assert!(flood.is_none() || eventually(goes_on), "the flood does not go on");
            took
        };
        let mut took: Vec<Duration> = (0..TRIES).map(join).collect();
        took.sort_unstable();
        took[TRIES / 2]
    }

    /// Starts the last node, and returns how long it takes until everybody sees the domain UP; then it is gone again.
    pub(crate) fn join(&self) -> Duration {
        let watch = Stopwatch::start();
        let mut last = self.rack.start(self.members.len());
        last.await_domain(DomainState::Up);
        self.members.iter().for_each(|member| member.await_domain(DomainState::Up));
        let took = watch.elapsed();
        last.kill();
        self.members.iter().for_each(|member| member.await_domain(DomainState::Degraded));
        took
    }

    /// None of the members has lost another one.
    pub(crate) fn lost_nobody(&self) {
        for member in self.members {
            let log = member.log();
            let lost =
                (0..self.members.len()).find(|k| log.contains(&format!("Connection lost to node {k}:")));
            assert_eq!(lost, None, "{log}");
        }
    }
}
