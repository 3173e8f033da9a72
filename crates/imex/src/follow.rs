//! `imex follow`: keeps a node's map in line with the topology, where domains are not made for each job.
//!
//! When to claim the node and when to move is decided by [`imex_topology::follow`]; here are its hands: asking the sources
//! and the other members, the lease, the map's file, the service. Every change is a line of JSON on standard output.

pub(crate) mod args;
mod marker;
mod members;
mod service;
mod talk;
mod turn;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_config::{ClientError, ThisMachine, load_client};
use imex_core::{Moment, NodeMap};
use imex_host::lease::{Claim, Leases};
use imex_topology::follow::{Follower, Timing, Waiting};
use imex_wire::Endpoint;
use serde::Serialize;
use tokio::time::sleep;

use self::args::FollowArgs;
use self::marker::Marker;
use self::service::Service;
use self::talk::Talk;
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::notify::Notifier;
use crate::output;
use crate::run::block_on;
use crate::signals::{Asked, Signals};

/// How long claims are held. A round of asking takes a fraction of a second, so ten seconds are many rounds; a job that
/// finds the node claimed waits in its prolog for as long.
const TIMING: Timing =
    Timing { claim: Duration::from_secs(10), commit: Duration::from_secs(60), pause: Duration::from_secs(5) };

/// How often the others are asked while another map is wanted, and while the node is claimed: then jobs wait.
const ROUND: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(100));

/// A line of the record.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    /// The topology cannot be trusted now; the map stays.
    Keep { failure: &'a Failure },
    /// The sources warn of something else than before; of nothing any more if it is empty.
    Warned { warnings: &'a [String] },
    /// The node has the map that it should have.
    Settled { members: usize },
    /// The topology asks for another map.
    Wanted { map: Vec<&'a str> },
    /// Somebody else has changed or removed the map's file; the topology asks for this one.
    Changed { wanted: Vec<&'a str> },
    /// It waits.
    Wait(&'a Waiting),
    /// No job can take the node's lease now.
    Claimed,
    /// Jobs can take it again; the map was not changed.
    Released(&'a Waiting),
    /// The map is written and the service restarted.
    Moved,
    /// The map or the service could not be changed.
    NotMoved { failure: &'a Failure },
    /// The new domain is UP.
    Up { nodes: usize, after_ms: u64 },
    /// The new domain was not UP in time; `imex wait` tells more.
    NotUp { failure: &'a Failure },
}

/// What was told last: the same is not told again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Settled,
    Waiting(Waiting),
}

struct Follow<'a> {
    args: &'a FollowArgs,
    clock: Stopwatch,
    endpoint: Endpoint,
    map: PathBuf,
    marker: Marker,
    leases: Leases,
    service: Service,
    talk: Talk,
    follower: Follower,
    claim: Option<Claim>,
    /// This node's entry in its maps.
    own: String,
    next_poll: Moment,
    told: Told,
    /// Why the topology could not be trusted at the last look.
    kept: Option<Failure>,
    /// What the sources warned of when that was last told.
    warnings: Vec<String>,
    out: &'a mut dyn Write,
}

/// Runs the command. It ends when it is told to, or when nobody takes its record.
pub(crate) fn run(args: &FollowArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let client = load_client(&args.config, &ThisMachine).map_err(|error| no_map(&error))?;
    let map = client.settings.nodes_path;
    if let Some(other) = args.map.as_ref().filter(|other| !is_same(other, &map)) {
        let (named, read) = (other.display(), map.display());
        return Err(Failure::because(Exit::Config, format!("the service does not read {named} but {read}"))
            .hint("leave --map out, or set IMEX_NODE_CONFIG_FILE")
            .into());
    }
    let marker = Marker::of(&map);
    // A map that a killed run has written may not be the one that the service runs with.
    let running: Option<NodeMap> = (!marker.exists()).then_some(client.settings.map);
    let follow = |talk| Follow {
        args,
        clock: Stopwatch::start(),
        endpoint: Endpoint::Unix(client.settings.socket),
        map: map.clone(),
        marker,
        leases: Leases::at(&args.leases),
        service: Service::new(args),
        talk,
        follower: Follower::new(running, TIMING),
        claim: None,
        own: String::new(),
        next_poll: Moment::ZERO,
        told: Told::Nothing,
        kept: None,
        warnings: Vec::new(),
        out,
    };
    block_on(async { follow(Talk::listen(args).await?).follow().await })?
}

fn no_map(error: &ClientError) -> Failure {
    let hint = match error {
        ClientError::Config { .. } => "name the configuration file of this machine's daemon with -c",
        ClientError::NodeMap { .. } => {
            "write the node's first map with `imex topology node-map`, then start the service"
        }
    };
    Failure::new(Exit::Config, error).hint(hint)
}

/// Whether two paths lead to one file, which need not be there.
fn is_same(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    found(one) == found(other)
}

impl Follow<'_> {
    async fn follow(mut self) -> Result<Exit, Stop> {
        let notifier = Notifier::from_environment();
        let mut signals = Signals::take()?;
        loop {
            self.turn().await?;
            notifier.ready(self.status());
            notifier.alive();
            let wait = self.wait();
            let wait = notifier.watchdog_interval().map_or(wait, |most| wait.min(most));
            tokio::select! {
                () = sleep(wait) => {}
                asked = signals.next() => match asked {
                    Asked::Look => self.next_poll = self.clock.now(),
                    Asked::End => break,
                },
            }
        }
        notifier.stopping();
        Ok(Exit::Done)
    }

    /// How long there is nothing to do.
    fn wait(&self) -> Duration {
        let poll = self.clock.until(self.next_poll);
        if self.follower.is_settled() {
            poll
        } else if self.follower.needs_claim() {
            poll.min(ROUND.1)
        } else {
            poll.min(ROUND.0)
        }
    }

    fn status(&self) -> &'static str {
        match &self.told {
            Told::Nothing => "the topology was not read yet",
            Told::Settled => "the node has the map that the topology asks for",
            Told::Waiting(_) => "another map is wanted; waiting for jobs or members",
        }
    }

    fn tell(&mut self, event: &Event<'_>) -> Result<(), Stop> {
        Ok(output::json_line(event, self.out)?)
    }
}
