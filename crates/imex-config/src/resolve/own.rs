//! Which node of the map this machine is, and by which address its peers reach it.
//!
//! With `BIND_INTERFACE_IP`, it is the entry that is this address, or a name for it. Without, it is the entry that is
//! an address of this machine, or a name for one. Names are only looked up when no address decides.

use std::net::IpAddr;
use std::path::Path;

use imex_core::NodeId;
use thiserror::Error;

use super::here::Here;
use super::lookup::look_up;
use super::node_problem;
use crate::address::is_link_local;
use crate::keys::{Key, table as key};
use crate::machine::{LocalAddress, Machine};
use crate::nodes::{NodeAddress, NodeEntry, NodeFile};
use crate::problem::Severity;
use crate::settings::Bind;
use crate::values::Values;

/// Why it is not known which node this machine is.
#[derive(Debug, Error)]
enum OwnError {
    #[error("{ip} is no address of this machine")]
    NotLocal { ip: IpAddr, here: String },
    #[error("BIND_INTERFACE_IP is {ip}, and the node map has no such entry{unresolved}")]
    NotInMap { ip: IpAddr, unresolved: Unresolved },
    #[error("this machine is not in the node map{unresolved}")]
    NotAMember { here: String, unresolved: Unresolved },
    #[error("several entries are this machine: {}", listed(entries))]
    Several { entries: Vec<String> },
    #[error("several entries are {ip}: {}", listed(entries))]
    Synonyms { ip: IpAddr, entries: Vec<String> },
    #[error("{ip} is on several interfaces: {}", interfaces.join(", "))]
    SeveralInterfaces { ip: IpAddr, interfaces: Vec<String> },
    #[error("{ip} is not on interface {wanted}")]
    OtherInterface { ip: IpAddr, wanted: String, interfaces: Vec<String> },
}

/// Names that were looked up in vain; its text follows a statement.
#[derive(Debug, Default)]
struct Unresolved {
    count: usize,
    first: Option<(String, std::io::Error)>,
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some((name, error)) = &self.first else {
            return Ok(());
        };
        match self.count {
            1 => write!(f, "; host name {name} was not found: {error}"),
            count => write!(f, "; {count} host names were not found, the first is {name}: {error}"),
        }
    }
}

/// The first of many, and how many more.
fn listed(entries: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut text = entries[..entries.len().min(SHOWN)].join(", ");
    if entries.len() > SHOWN {
        text.push_str(&format!(" and {} more", entries.len() - SHOWN));
    }
    text
}

/// In which file an error is to be mended.
enum Place {
    Nodes,
    Key(Key),
}

impl OwnError {
    fn place(&self) -> Place {
        match self {
            OwnError::NotInMap { .. }
            | OwnError::NotAMember { .. }
            | OwnError::Several { .. }
            | OwnError::Synonyms { .. } => Place::Nodes,
            OwnError::NotLocal { .. } => Place::Key(key::BIND_INTERFACE_IP),
            OwnError::SeveralInterfaces { .. } | OwnError::OtherInterface { .. } => {
                Place::Key(key::NETWORK_INTERFACE)
            }
        }
    }

    fn hint(&self) -> String {
        match self {
            OwnError::NotLocal { here, .. } => format!("this machine has {here}"),
            OwnError::NotInMap { .. } => {
                "add it to the node map, at the same place on every node, or correct BIND_INTERFACE_IP"
                    .to_owned()
            }
            OwnError::NotAMember { here, .. } => {
                format!("add one of its addresses, at the same place on every node: {here}")
            }
            OwnError::Several { .. } => {
                "set BIND_INTERFACE_IP to the one that the other nodes use, or list each machine once"
                    .to_owned()
            }
            OwnError::Synonyms { .. } => "list each machine once".to_owned(),
            OwnError::SeveralInterfaces { .. } => "name one of them in NETWORK_INTERFACE".to_owned(),
            OwnError::OtherInterface { interfaces, .. } => format!("it is on {}", interfaces.join(", ")),
        }
    }
}

/// An address that `BIND_INTERFACE_IP` asks for.
#[derive(Clone, Debug)]
struct Wanted {
    ip: IpAddr,
    zone: Option<String>,
}

/// An entry that may be this machine.
#[derive(Clone, Debug)]
struct Candidate<'a> {
    entry: &'a NodeEntry,
    ip: IpAddr,
    zone: Option<String>,
}

/// Finds this machine in the map; on failure the problem has been reported.
pub(super) fn find(
    nodes: &NodeFile,
    path: &Path,
    values: &mut Values<'_>,
    here: &Here<'_>,
) -> Option<(NodeId, Bind)> {
    let wanted = wanted(values);
    let interface = values.non_empty(&key::NETWORK_INTERFACE);
    let found = search(nodes, wanted.as_ref(), here).and_then(|candidate| {
        let bind = bind(candidate.ip, candidate.zone.as_deref(), interface, here)?;
        Ok((candidate, bind))
    });
    match found {
        Ok((candidate, bind)) => {
            warn(&candidate, &bind, nodes, path, values);
            Some((candidate.entry.node, bind))
        }
        Err(error) => {
            let (what, hint) = (error.to_string(), error.hint());
            match error.place() {
                Place::Nodes => values.problems.push(node_problem(Severity::Error, path, what, &hint)),
                Place::Key(key) => values.report(Severity::Error, &key, what, hint),
            }
            None
        }
    }
}

/// The scope id of the command service's own address, if it has one; reports an address that is not local.
pub(super) fn command_scope(values: &mut Values<'_>, here: &Here<'_>) -> u32 {
    let key = key::IMEX_CMD_BIND_INTERFACE_IP;
    let Some((ip, zone)) = values.address(&key).filter(|(ip, _)| !ip.is_unspecified()) else {
        return 0;
    };
    let bound = if here.has(ip, zone.as_deref()) {
        bind(ip, zone.as_deref(), values.non_empty(&key::NETWORK_INTERFACE), here)
    } else {
        let here = here.to_string();
        Err(OwnError::NotLocal { ip, here })
    };
    bound.map(|bind| bind.scope_id).unwrap_or_else(|error| {
        values.report(Severity::Error, &key, format!("{}: {error}", key.name), error.hint());
        0
    })
}

/// Finds this machine in the map without looking up a name.
pub(super) fn guess(nodes: &NodeFile, values: &mut Values<'_>, machine: &impl Machine) -> Option<NodeId> {
    let here = Here::look(machine, values)?;
    match by_address(nodes, wanted(values).as_ref(), &here).as_slice() {
        [only] => Some(only.entry.node),
        _ => None,
    }
}

fn wanted(values: &Values<'_>) -> Option<Wanted> {
    let (ip, zone) = values.address(&key::BIND_INTERFACE_IP)?;
    let ip = ip.to_canonical();
    Some(Wanted { ip, zone })
}

fn search<'a>(
    nodes: &'a NodeFile,
    wanted: Option<&Wanted>,
    here: &Here<'_>,
) -> Result<Candidate<'a>, OwnError> {
    if let Some(wanted) = wanted.filter(|wanted| !here.has(wanted.ip, wanted.zone.as_deref())) {
        let (ip, here) = (wanted.ip, here.to_string());
        return Err(OwnError::NotLocal { ip, here });
    }
    let mut candidates = by_address(nodes, wanted, here);
    let mut unresolved = Unresolved::default();
    if candidates.is_empty() {
        (candidates, unresolved) = by_name(nodes, wanted, here);
    }
    match (candidates.len(), wanted) {
        (1, _) => Ok(candidates.remove(0)),
        (0, Some(wanted)) => Err(OwnError::NotInMap { ip: wanted.ip, unresolved }),
        (0, None) => Err(OwnError::NotAMember { here: here.to_string(), unresolved }),
        (_, Some(wanted)) => Err(OwnError::Synonyms { ip: wanted.ip, entries: shown(&candidates) }),
        (_, None) => Err(OwnError::Several { entries: shown(&candidates) }),
    }
}

fn shown(candidates: &[Candidate<'_>]) -> Vec<String> {
    let entries = candidates.iter().map(|candidate| candidate.entry);
    entries.map(|entry| format!("node {} ({})", entry.node, entry.text)).collect()
}

/// The entries that are the wanted address, or any address of this machine.
fn by_address<'a>(nodes: &'a NodeFile, wanted: Option<&Wanted>, here: &Here<'_>) -> Vec<Candidate<'a>> {
    let fits = |ip: IpAddr, zone: Option<&str>| match wanted {
        Some(wanted) => ip == wanted.ip && agree(zone, wanted.zone.as_deref()),
        None => here.has(ip, zone),
    };
    let candidate = |entry: &'a NodeEntry| match &entry.address {
        NodeAddress::Ip { ip, zone } if fits(ip.to_canonical(), zone.as_deref()) => Some(Candidate {
            entry,
            ip: ip.to_canonical(),
            zone: zone.clone().or_else(|| wanted.and_then(|wanted| wanted.zone.clone())),
        }),
        NodeAddress::Ip { .. } | NodeAddress::Name(_) => None,
    };
    nodes.entries().iter().filter_map(candidate).collect()
}

/// Whether two zones can be one: no zone is any zone.
fn agree(one: Option<&str>, other: Option<&str>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// How well a name's address fits; the best fit of all names counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It is the wanted address, or one that others can reach.
    Good,
    /// It is a loopback address: many systems give their own name one in `/etc/hosts`.
    Loopback,
}

/// The entries whose names have the wanted address, or any address of this machine.
fn by_name<'a>(
    nodes: &'a NodeFile,
    wanted: Option<&Wanted>,
    here: &Here<'_>,
) -> (Vec<Candidate<'a>>, Unresolved) {
    let named: Vec<(&NodeEntry, &str)> = nodes
        .entries()
        .iter()
        .filter_map(|entry| match &entry.address {
            NodeAddress::Name(name) => Some((entry, name.as_str())),
            NodeAddress::Ip { .. } => None,
        })
        .collect();
    let names: Vec<&str> = named.iter().map(|(_, name)| *name).collect();
    let fit = |ip: IpAddr| match wanted {
        Some(wanted) if ip == wanted.ip => Some(Fit::Good),
        _ if !here.has(ip, None) => None,
        _ if ip.is_loopback() => Some(Fit::Loopback),
        Some(_) => None,
        None => Some(Fit::Good),
    };
    let mut unresolved = Unresolved::default();
    let mut fitting: Vec<(Fit, Candidate<'a>)> = Vec::new();
    for ((entry, name), answer) in named.into_iter().zip(look_up(&names, here.machine)) {
        match answer {
            Ok(ips) => {
                let ips = ips.into_iter().map(|ip| ip.to_canonical());
                let best = ips.filter_map(|ip| Some((fit(ip)?, ip))).min_by_key(|(fit, _)| *fit);
                fitting.extend(best.map(|(fit, ip)| (fit, Candidate::named(entry, ip, wanted))));
            }
            Err(error) => {
                unresolved.count += 1;
                unresolved.first.get_or_insert((name.to_owned(), error));
            }
        }
    }
    let best = fitting.iter().map(|(fit, _)| *fit).min();
    let candidates = fitting.into_iter().filter(|(fit, _)| Some(*fit) == best);
    (candidates.map(|(_, candidate)| candidate).collect(), unresolved)
}

impl<'a> Candidate<'a> {
    /// The entry is a name for `ip`; what was asked for is bound whatever the name says.
    fn named(entry: &'a NodeEntry, ip: IpAddr, wanted: Option<&Wanted>) -> Self {
        Candidate {
            entry,
            ip: wanted.map_or(ip, |wanted| wanted.ip),
            zone: wanted.and_then(|wanted| wanted.zone.clone()),
        }
    }
}

/// How to bind a local address: a link-local one needs an interface, from its zone, from the key, or the only one.
fn bind(ip: IpAddr, zone: Option<&str>, interface: Option<&str>, here: &Here<'_>) -> Result<Bind, OwnError> {
    let holders = here.holders(ip);
    let names = || holders.iter().map(|local| local.interface.clone()).collect::<Vec<_>>();
    let bind =
        |local: &LocalAddress, scope_id| Bind { address: ip, scope_id, interface: local.interface.clone() };
    let other =
        |wanted: &str| OwnError::OtherInterface { ip, wanted: wanted.to_owned(), interfaces: names() };
    if !is_link_local(ip) {
        let named = holders.iter().find(|local| interface.is_some_and(|name| local.is_on(name)));
        let local = named.or(holders.first()).expect("a candidate's address is local");
        return Ok(bind(local, 0));
    }
    let asked: Vec<&str> = zone.into_iter().chain(interface).collect();
    let fitting: Vec<_> = holders.iter().filter(|local| asked.iter().all(|zone| local.is_on(zone))).collect();
    match (fitting.as_slice(), asked.last()) {
        ([only], _) => Ok(bind(only, only.index)),
        ([], Some(zone)) => Err(other(zone)),
        _ => Err(OwnError::SeveralInterfaces { ip, interfaces: names() }),
    }
}

/// What is settled but doubtful.
fn warn(candidate: &Candidate<'_>, bind: &Bind, nodes: &NodeFile, path: &Path, values: &mut Values<'_>) {
    let interface = values.non_empty(&key::NETWORK_INTERFACE);
    if let Some(name) = interface.filter(|name| bind.scope_id == 0 && *name != bind.interface) {
        let what = format!("{} is on {}, not on {name}", bind.address, bind.interface);
        let hint = "leave NETWORK_INTERFACE empty: only a link-local address needs it".to_owned();
        values.report(Severity::Warning, &key::NETWORK_INTERFACE, what, hint);
    }
    let by_name = matches!(candidate.entry.address, NodeAddress::Name(_));
    let asked_for = values.non_empty(&key::BIND_INTERFACE_IP).is_some();
    if by_name && !asked_for && bind.address.is_loopback() && nodes.entries().len() > 1 {
        let what = format!(
            "{} is {} on this machine, where no other node reaches it",
            candidate.entry.text, bind.address
        );
        let hint = "set BIND_INTERFACE_IP to the address that the other nodes use, or correct /etc/hosts";
        let problem = node_problem(Severity::Warning, path, what, hint);
        values.problems.push(problem.at(candidate.entry.line));
    }
}
