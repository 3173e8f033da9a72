//! One turn: look at the topology when it is time, then one step of the rule.

use std::ops::ControlFlow;

use imex_config::file::FileError;
use imex_config::{ClientError, NodeMapUnreadable, ThisMachine, load_client};
use imex_core::{DomainState, NodeMap};
use imex_host::lease::LeaseError;
use imex_lab::watch_until;
use imex_topology::follow::{Lease, Moved, Step, Waiting};

use super::members::Wanted;
use super::service::Restart;
use super::{Event, Follow, Told, members, no_map};
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::{fault, output};

impl Follow<'_> {
    /// Does what there is to do now.
    pub(super) async fn turn(&mut self) -> Result<(), Stop> {
        let now = self.clock.now();
        if now >= self.next_poll {
            self.next_poll = now + self.args.interval;
            self.look().await?;
        }
        if self.follower.is_settled() {
            self.settled()?;
        } else if let Some(wanted) = self.follower.wanted().cloned() {
            self.step(&wanted).await?;
        }
        if !self.follower.needs_claim() {
            self.claim = None;
        }
        self.talk.say(self.follower.announcement());
        Ok(())
    }

    /// Asks the sources for the map.
    async fn look(&mut self) -> Result<(), Stop> {
        let args = self.args.clone();
        // Sources read files and may wait for a network.
        let wanted = tokio::task::spawn_blocking(move || members::wanted(&args)).await;
        let wanted = wanted.map_err(|error| Failure::new(Exit::Failed, &error))?;
        match wanted {
            Ok(Wanted { map, own, warnings }) => {
                self.kept = None;
                self.warned(warnings)?;
                self.own = own;
                let news = self.follower.wanted() != Some(&map);
                self.follower.want(map.clone());
                if news && !self.follower.is_settled() {
                    self.told = Told::Nothing;
                    self.tell(&Event::Wanted { map: map.iter().map(|(_, entry)| entry).collect() })?;
                }
            }
            Err(failure) => self.keep(failure)?,
        }
        self.look_at_file()
    }

    /// The same warnings are told once, not at each look.
    fn warned(&mut self, warnings: Vec<String>) -> Result<(), Stop> {
        if self.warnings != warnings {
            self.tell(&Event::Warned { warnings: &warnings })?;
            self.warnings = warnings;
        }
        Ok(())
    }

    /// The same failure is told once, not at each look.
    fn keep(&mut self, failure: Failure) -> Result<(), Stop> {
        if self.kept.as_ref() != Some(&failure) {
            self.tell(&Event::Keep { failure: &failure })?;
            self.kept = Some(failure);
        }
        Ok(())
    }

    /// Whether the service still reads what was written for it.
    fn look_at_file(&mut self) -> Result<(), Stop> {
        if !self.follower.is_settled() {
            return Ok(());
        }
        match load_client(&self.args.config, &ThisMachine) {
            Ok(client) if client.settings.nodes_path == self.map => {
                self.follower.found(Some(client.settings.map));
            }
            // Gone, or no map any more. What merely cannot be read now says nothing of the map.
            Err(ClientError::NodeMap {
                path,
                source: NodeMapUnreadable::File(FileError::Missing) | NodeMapUnreadable::Faults { .. },
            }) if path == self.map => self.follower.found(None),
            Ok(client) => {
                let (read, kept) = (client.settings.nodes_path.display(), self.map.display());
                let what = format!("the service reads {read} now, not {kept}");
                return self.keep(Failure::because(Exit::Config, what).hint("start this follower anew"));
            }
            Err(error) => return self.keep(no_map(&error)),
        }
        match self.follower.wanted().filter(|_| !self.follower.is_settled()).cloned() {
            Some(wanted) => {
                self.told = Told::Nothing;
                self.tell(&Event::Changed { wanted: wanted.iter().map(|(_, entry)| entry).collect() })
            }
            None => Ok(()),
        }
    }

    fn settled(&mut self) -> Result<(), Stop> {
        let Some(members) = self.follower.wanted().map(NodeMap::len) else { return Ok(()) };
        if self.told != Told::Settled {
            self.told = Told::Settled;
            self.tell(&Event::Settled { members })?;
        }
        Ok(())
    }

    async fn step(&mut self, wanted: &NodeMap) -> Result<(), Stop> {
        let lease = match &self.claim {
            Some(_) => Lease::Free,
            None => self.lease()?,
        };
        let others = wanted.iter().map(|(_, entry)| entry.to_owned()).filter(|entry| *entry != self.own);
        let told = self.talk.ask(others.collect()).await;
        match self.follower.step(lease, &told, self.clock.now()) {
            Step::Rest => Ok(()),
            Step::Wait(waiting) => self.waits(waiting),
            Step::Claim => self.take_claim(),
            Step::Release(waiting) => {
                self.tell(&Event::Released(&waiting))?;
                self.told = Told::Waiting(waiting);
                Ok(())
            }
            Step::Move(map) => self.change(&map).await,
        }
    }

    fn waits(&mut self, waiting: Waiting) -> Result<(), Stop> {
        if self.told != Told::Waiting(waiting.clone()) {
            self.tell(&Event::Wait(&waiting))?;
            self.told = Told::Waiting(waiting);
        }
        Ok(())
    }

    fn lease(&self) -> Result<Lease, Failure> {
        let held = self.leases.held().map_err(|error| Failure::new(Exit::Failed, &error))?;
        Ok(if held.is_empty() { Lease::Free } else { Lease::Held })
    }

    fn take_claim(&mut self) -> Result<(), Stop> {
        let now = self.clock.now();
        match self.leases.claim() {
            Ok(claim) => {
                self.claim = Some(claim);
                self.follower.claimed(now);
                self.tell(&Event::Claimed)
            }
            Err(LeaseError::Held { .. } | LeaseError::Claimed | LeaseError::Busy { .. }) => {
                self.follower.refused(now);
                Ok(())
            }
            Err(error @ LeaseError::Io { .. }) => Err(Failure::new(Exit::Failed, &error).into()),
        }
    }

    /// Writes the map and restarts the service; then no job comes before the domain is UP, or its time is over.
    async fn change(&mut self, map: &NodeMap) -> Result<(), Stop> {
        self.talk.say(self.follower.announcement());
        let changed = self.write_and_restart(map).await;
        let moved = if changed.is_ok() { Moved::Restarted } else { Moved::Failed };
        match changed {
            Ok(()) => {
                self.tell(&Event::Moved)?;
                self.prove(map).await?;
            }
            Err(failure) => self.tell(&Event::NotMoved { failure: &failure })?,
        }
        self.told = Told::Nothing;
        self.follower.moved(moved, self.clock.now());
        Ok(())
    }

    async fn write_and_restart(&self, map: &NodeMap) -> Result<(), Failure> {
        let failed = |error: &dyn std::error::Error| Failure::new(Exit::NotFollowed, error);
        self.marker.set().map_err(|error| failed(&error))?;
        imex_config::replace(&self.map, members::text(map).as_bytes()).map_err(|error| failed(&error))?;
        fault::point("map-written");
        self.service.restart().await?;
        fault::point("restarted");
        self.marker.clear().map_err(|error| failed(&error))
    }

    async fn prove(&mut self, map: &NodeMap) -> Result<(), Stop> {
        let started = Stopwatch::start();
        let up = watch_until(&self.endpoint, self.args.up, |summary| {
            // The daemon that leaves still tells of the domain before.
            match summary.state {
                DomainState::Up if summary.nodes == map.len() => ControlFlow::Break(summary),
                DomainState::Up | DomainState::Down | DomainState::Degraded => ControlFlow::Continue(()),
            }
        });
        match up.await {
            Ok(summary) => {
                let after_ms = output::millis(started.elapsed());
                self.tell(&Event::Up { nodes: summary.nodes, after_ms })
            }
            Err(error) => {
                let failure = Failure::new(Exit::NotFollowed, &error);
                self.tell(&Event::NotUp { failure: &failure })
            }
        }
    }
}
