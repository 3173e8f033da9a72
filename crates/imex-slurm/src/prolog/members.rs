//! The steps that find the members of the domain, and their addresses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_config::operator::{PeersBy, ScopeBy};
use imex_core::NodeMap;
use tokio::time::sleep;

use super::{Prolog, PrologError, Step};
use crate::eyes::Eyes;
use crate::job_domain::{JobDomain, MemberName};
use crate::joblog::Level;
use crate::machine::{Machine, Unknown};
use crate::map;
use crate::peers::{self, Addresses, Peer};
use crate::scope::{self, Division};
use crate::service::ServiceManager;

/// How long the resolver may take for all names: it answers from a file or a cache as a rule.
const RESOLVE: Duration = Duration::from_secs(5);

/// How often the controller is asked before it is given up.
const TRIES: u32 = 4;

/// The pause before it is asked again, doubled each time, and up to as much again by node.
const PAUSE: Duration = Duration::from_millis(200);

/// Where Slurm's configuration is if Slurm does not say.
const SLURM_CONF: &str = "/etc/slurm/slurm.conf";

impl<M, S, F, E> Prolog<'_, M, S, F>
where
    M: Machine,
    S: ServiceManager,
    F: Fn(&str) -> E,
    E: Eyes,
{
    /// Divides the job into domains.
    pub(super) async fn scope(&mut self) -> Result<Division, PrologError> {
        let begun = self.spent_ms();
        let (nodes, own) = (self.context.nodes.clone(), self.context.node.clone());
        let division = match self.site.operator.scope.by {
            ScopeBy::Job => scope::whole(&nodes),
            ScopeBy::Auto => match self.topology_file()? {
                Some((_, places)) => scope::divide_if_placed(&nodes, &own, &places),
                None => scope::whole(&nodes),
            },
            ScopeBy::TopologyFile => {
                let missing = || PrologError::ScopeSource(Unknown::new("there is no topology file"));
                let (file, places) = self.topology_file()?.ok_or_else(missing)?;
                scope::divide_by(&nodes, &own, &places, &file.display().to_string())?
            }
            ScopeBy::Scontrol => {
                let text = self.scontrol(&["show", "topology"]).await.map_err(PrologError::ScopeSource)?;
                scope::divide_by(&nodes, &own, &scope::by_shown_topology(&text), "scontrol show topology")?
            }
            ScopeBy::Fabric => {
                let file = &self.site.operator.scope.reports;
                let text = self.site.machine.text(file).map_err(PrologError::ScopeSource)?;
                scope::divide_by(&nodes, &own, &scope::by_reports(&text), &file.display().to_string())?
            }
        };
        self.say(Level::Info, &format!("the job is {}", division.describe()));
        let strays = division.strays();
        if !strays.is_empty() {
            let text = format!("in no block, so that each gets a domain of its own: {}", strays.join(" "));
            self.say(Level::Warn, &text);
        }
        self.record.note("division", &division);
        self.done(Step::Scope, begun);
        Ok(division)
    }

    /// The topology file that there is, with what it says.
    fn topology_file(&self) -> Result<Option<(PathBuf, scope::Places)>, PrologError> {
        let beside = self.context.slurm_conf.as_deref().unwrap_or(Path::new(SLURM_CONF));
        let files = match &self.site.operator.scope.topology_file {
            Some(file) => vec![file.clone()],
            None => ["topology.yaml", "topology.conf"].map(|name| beside.with_file_name(name)).to_vec(),
        };
        for file in files {
            if let Some(places) = self.site.machine.places(&file).map_err(PrologError::ScopeSource)? {
                return Ok(Some((file, places)));
            }
        }
        Ok(None)
    }

    /// One address for each member.
    pub(super) async fn peers(&mut self, division: &Division) -> Result<Vec<Peer>, PrologError> {
        let begun = self.spent_ms();
        let nodes = &division.share().nodes;
        let family = self.site.operator.peers.family;
        let (source, peers) = match self.site.operator.peers.by {
            PeersBy::Map => ("map", peers::choose(nodes, &self.peer_map()?, family)?),
            PeersBy::Resolver => ("resolver", self.known(nodes).await?),
            PeersBy::Scontrol => ("scontrol", self.asked(nodes).await?),
            PeersBy::Auto => match self.known(nodes).await {
                Ok(peers) => ("resolver", peers),
                Err(error) => {
                    let why = imex_config::chain(&error);
                    let text = format!(
                        "addresses come from the controller, the usual way where names are not enough ({why}); \
                         peers.by = \"scontrol\" asks it at once"
                    );
                    self.say(Level::Info, &text);
                    ("scontrol", self.asked(nodes).await?)
                }
            },
        };
        self.record.note("peers", &peers);
        self.record.note("peers_by", &source);
        self.done(Step::Peers, begun);
        Ok(peers)
    }

    /// The addresses by the resolver.
    async fn known(&self, nodes: &[String]) -> Result<Vec<Peer>, PrologError> {
        let mut addresses = self.resolved(nodes).await.map_err(PrologError::PeersSource)?;
        let (own, policy) = (&self.context.node, &self.site.operator.peers);
        if !peers::knows_itself(own, nodes, &addresses, policy.family) {
            if policy.by == PeersBy::Auto {
                let why = "this node's own name has no address, or several, that others can use";
                return Err(PrologError::PeersSource(Unknown::new(why)));
            }
            self.settle_own(nodes, &mut addresses);
        }
        Ok(peers::choose(nodes, &addresses, self.site.operator.peers.family)?)
    }

    async fn resolved(&self, names: &[String]) -> Result<Addresses, Unknown> {
        let within = self.budget.step(self.clock.now(), RESOLVE);
        let addresses = self.site.machine.resolve(names, within).await?;
        Ok(names.iter().cloned().zip(addresses).collect())
    }

    /// What a node is told of its own name is not what others are told: the hosts file may have a loopback address for it, and
    /// systemd's resolver has the addresses of all its interfaces. Then the address counts by which it speaks to the first of
    /// the others.
    fn settle_own(&self, nodes: &[String], addresses: &mut Addresses) {
        let own = &self.context.node;
        let found = addresses.get(own).map(|found| peers::usable(found)).unwrap_or_default();
        if found.len() == 1 {
            return;
        }
        let others = nodes.iter().filter(|node| *node != own).filter_map(|node| addresses.get(node));
        let first = others.flat_map(|found| peers::usable(found)).next();
        if let Some(address) = first.and_then(|other| self.site.machine.address_towards(other)) {
            addresses.insert(own.clone(), vec![address]);
        }
    }

    fn peer_map(&self) -> Result<Addresses, PrologError> {
        let file = &self.site.operator.peers.map;
        let text = self.site.machine.text(file).map_err(PrologError::PeersSource)?;
        let wrong = |line| Unknown::new(format!("{}:{line}: not a name and an address", file.display()));
        peers::read_map(&text).map_err(|line| PrologError::PeersSource(wrong(line)))
    }

    /// The addresses by the controller. Names among them are looked up.
    async fn asked(&mut self, nodes: &[String]) -> Result<Vec<Peer>, PrologError> {
        let list = imex_host::compress(nodes);
        let text = self.scontrol(&["-o", "show", "node", &list]).await.map_err(PrologError::PeersSource)?;
        let told = peers::node_addresses(&text);
        let names: Vec<String> = told.values().filter(|address| !is_address(address)).cloned().collect();
        let looked_up = match names.is_empty() {
            true => Addresses::new(),
            false => self.resolved(&names).await.map_err(PrologError::PeersSource)?,
        };
        let addresses = told.into_iter().map(|(node, address)| {
            let found = address.parse().map(|address| vec![address]);
            (node, found.unwrap_or_else(|_| looked_up.get(&address).cloned().unwrap_or_default()))
        });
        let mut addresses = addresses.collect();
        self.settle_own(nodes, &mut addresses);
        Ok(peers::choose(nodes, &addresses, self.site.operator.peers.family)?)
    }

    /// Asks the controller, again if it does not answer: all nodes of the job ask at the same time.
    async fn scontrol(&mut self, words: &[&str]) -> Result<String, Unknown> {
        let deadline = self.site.operator.tools.scontrol_deadline;
        let mut pause = PAUSE;
        let mut tries = 1;
        loop {
            let within = self.budget.step(self.clock.now(), deadline);
            match self.site.machine.scontrol(words, within).await {
                Ok(text) => return Ok(text),
                Err(error) if tries == TRIES || self.budget.left(self.clock.now()) < pause * 2 => {
                    return Err(error);
                }
                Err(error) => self.say(Level::Warn, &format!("asking the controller again: {error}")),
            }
            sleep(pause + jitter(&self.context.node, pause)).await;
            pause *= 2;
            tries += 1;
        }
    }

    /// The node map of the domain, which is noted in its state.
    pub(super) fn map(
        &mut self,
        domain: &mut JobDomain,
        division: &Division,
        peers: &[Peer],
    ) -> Result<NodeMap, PrologError> {
        let map = map::node_map(peers)?;
        let member = |peer: &Peer| MemberName { node: peer.node.clone(), address: peer.address.to_string() };
        domain.members = peers.iter().map(member).collect();
        domain.domains = Some(division.domains.len());
        domain.block.clone_from(&division.share().block);
        domain.domain_id = Some(format!("{}/{}", self.context.token(), division.own));
        let digest = map.digest().to_string();
        self.record.note("map_digest", &digest);
        let entries: Vec<&str> = map.iter().map(|(_, entry)| entry).collect();
        let short = digest.get(..12).unwrap_or_default();
        self.say(Level::Info, &format!("node map {short}: {}", entries.join(" ")));
        Ok(map)
    }
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// A part of `most` that differs from node to node and is the same for one: chance without a source of chance.
fn jitter(node: &str, most: Duration) -> Duration {
    // FNV-1a, 32 bits: spreads names that differ in one digit.
    let hash =
        node.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    most * (hash % 1_000) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_rack_do_not_ask_at_the_same_instant() {
        let most = Duration::from_millis(200);
        let mut waits: Vec<Duration> = (1..=18).map(|node| jitter(&format!("n{node}"), most)).collect();
        waits.sort();
        waits.dedup();
        assert!(waits.len() >= 16 && waits.iter().all(|wait| *wait < most), "{waits:?}");
    }
}
