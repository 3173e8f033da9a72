//! Listening to every daemon at once, so that "all of them say so" has a time.

use std::time::Duration;

use imex_core::{DomainState, DomainSummary};
use imex_lab::Lab;
use imex_wire::{ClientError, CommandClient, Endpoint};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::error::BenchError;
use crate::clock::Stopwatch;

/// How long a daemon may take to answer; a stopped one must not hold up the others.
const ANSWER: Duration = Duration::from_secs(30);

/// How often a daemon that does not run yet is tried, per node: at 18 nodes each 2 ms, at 144 each 14 ms. The tries
/// cost about one hundredth of the machine whatever the number of nodes.
const RETRY_PER_NODE: Duration = Duration::from_micros(100);

/// How many summaries may wait to be looked at; a full queue delays the daemons' streams, not the daemons.
const QUEUE: usize = 4096;

/// What a daemon said, and when it arrived here.
struct Heard {
    node: usize,
    at: Duration,
    summary: DomainSummary,
}

/// One open stream to every daemon.
pub(super) struct Watchers {
    since: Stopwatch,
    heard: mpsc::Receiver<Heard>,
    latest: Vec<Option<(Duration, DomainSummary)>>,
    _tasks: JoinSet<()>,
}

/// What is waited for.
#[derive(Clone, Copy)]
pub(super) struct Awaited {
    pub(super) called: &'static str,
    pub(super) is: fn(&DomainSummary) -> bool,
}

pub(super) const UP: Awaited = Awaited { called: "UP", is: |summary| summary.state == DomainState::Up };
pub(super) const NOT_UP: Awaited =
    Awaited { called: "not UP", is: |summary| summary.state != DomainState::Up };

impl Watchers {
    /// Listens to all nodes, those that do not run yet included.
    pub(super) fn listen(lab: &Lab) -> Self {
        let since = Stopwatch::start();
        let (say, heard) = mpsc::channel(QUEUE);
        let retry = RETRY_PER_NODE * u32::try_from(lab.nodes()).unwrap_or(u32::MAX);
        let mut tasks = JoinSet::new();
        for node in 0..lab.nodes() {
            tasks.spawn(follow(node, lab.endpoint(node), retry, since, say.clone()));
        }
        Watchers { since, heard, latest: vec![None; lab.nodes()], _tasks: tasks }
    }

    /// The time now, on the clock of the answers.
    pub(super) fn now(&self) -> Duration {
        self.since.elapsed()
    }

    /// Waits until each of `nodes` has said since `event` that the domain is as awaited. Returns the time from the event
    /// to the last one's first such word.
    pub(super) async fn all_say(
        &mut self,
        nodes: &[usize],
        event: Duration,
        awaited: Awaited,
        limit: Duration,
    ) -> Result<Duration, BenchError> {
        let mut first: Vec<Option<Duration>> = vec![None; self.latest.len()];
        let missing =
            |first: &[Option<Duration>]| nodes.iter().filter(|&&node| first[node].is_none()).count();
        let all = async {
            while missing(&first) > 0 {
                let Some(Heard { node, at, summary }) = self.heard.recv().await else {
                    break;
                };
                self.latest[node] = Some((at, summary));
                if at >= event && (awaited.is)(&summary) {
                    first[node].get_or_insert(at);
                }
            }
        };
        let in_time = timeout(limit, all).await.is_ok();
        let missing = missing(&first);
        if !in_time || missing > 0 {
            return Err(BenchError::Overdue { awaited: awaited.called, missing, asked: nodes.len(), limit });
        }
        let last = nodes.iter().filter_map(|&node| first[node]).max();
        Ok(last.ok_or(BenchError::NoRun)?.saturating_sub(event))
    }

    /// Waits until the newest word of each of `nodes` is as awaited, whenever it was said.
    pub(super) async fn all_know(
        &mut self,
        nodes: &[usize],
        awaited: Awaited,
        limit: Duration,
    ) -> Result<(), BenchError> {
        let known = |latest: &[Option<(Duration, DomainSummary)>], node: usize| {
            latest[node].is_some_and(|(_, summary)| (awaited.is)(&summary))
        };
        let all = async {
            while !nodes.iter().all(|&node| known(&self.latest, node)) {
                let Some(Heard { node, at, summary }) = self.heard.recv().await else {
                    break;
                };
                self.latest[node] = Some((at, summary));
            }
        };
        // What is missing afterwards is counted whether the time was over or not.
        let _ = timeout(limit, all).await;
        let missing = nodes.iter().filter(|&&node| !known(&self.latest, node)).count();
        if missing == 0 {
            return Ok(());
        }
        Err(BenchError::Overdue { awaited: awaited.called, missing, asked: nodes.len(), limit })
    }
}

/// Listens to one daemon for ever; one that is not there is tried again.
async fn follow(
    node: usize,
    endpoint: Endpoint,
    retry: Duration,
    since: Stopwatch,
    say: mpsc::Sender<Heard>,
) {
    loop {
        // Why a daemon cannot be asked does not matter: it is waited for, with a limit, by whoever asked.
        let _ = listen(node, &endpoint, since, &say).await;
        if say.is_closed() {
            return;
        }
        sleep(retry).await;
    }
}

async fn listen(
    node: usize,
    endpoint: &Endpoint,
    since: Stopwatch,
    say: &mpsc::Sender<Heard>,
) -> Result<(), ClientError> {
    let mut client = CommandClient::connect(endpoint, ANSWER).await?;
    let mut changes = client.watch_domain().await?;
    while let Some(summary) = changes.next().await? {
        let at = since.elapsed();
        if say.send(Heard { node, at, summary }).await.is_err() {
            break;
        }
    }
    Ok(())
}
