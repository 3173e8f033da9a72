//! Where the nodes of the map are: addresses as written, and what host names last resolved to.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use imex_config::settings::Bind;
use imex_config::{NodeAddress, Settings};
use imex_core::input::Source;
use imex_core::{Moment, NodeId};

/// How long a name that did not resolve is not looked up again. Every daemon looks up every missing name at every try;
/// without this a rack whose names are not there yet floods its name server (reference, chapter on reconnecting).
const NEGATIVE_FOR: Duration = Duration::from_secs(1);

/// Where the nodes of the map are. One per daemon, owned by the driver loop.
#[derive(Debug)]
pub(crate) struct AddressBook {
    entries: Vec<Entry>,
    shape: AddressShape,
    neighbours: Neighbours,
}

/// Which addresses are nodes', for the door. The driver loop writes it when a name resolves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// How many nodes have an address.
    addresses: BTreeMap<IpAddr, usize>,
    /// How many names have never resolved.
    unresolved: usize,
}

/// What an address is to the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// A node's.
    Node,
    /// No node's.
    Foreign,
    /// A name that has not resolved yet may stand for it.
    Unknown {
        /// How many such names there are, at least one.
        unresolved: usize,
    },
}

/// What an address needs besides itself to be dialled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressShape {
    port: u16,
    scope_id: u32,
}

#[derive(Debug)]
enum Entry {
    Fixed(SocketAddr),
    Name { name: Arc<str>, known: Vec<IpAddr>, unknown_until: Option<Moment> },
}

/// How to reach a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// At this address.
    To(SocketAddr),
    /// By looking up this name.
    ByName(Arc<str>),
    /// Not now: the name did not resolve a moment ago.
    Unknown,
}

impl AddressBook {
    /// The book of a map as it is written. Peers listen on `port`.
    pub(crate) fn new(settings: &Settings, port: u16) -> Self {
        let shape = AddressShape { port, scope_id: settings.bind.scope_id };
        let mut book = AddressBook {
            entries: settings.addresses.iter().map(|address| Entry::new(address, shape)).collect(),
            shape,
            neighbours: Neighbours::default(),
        };
        book.know_self(settings.node, &settings.bind);
        book.neighbours = Neighbours::of(&book.entries);
        book
    }

    /// What an address needs besides itself.
    pub(crate) fn shape(&self) -> AddressShape {
        self.shape
    }

    /// Which addresses are nodes', kept in step with this book.
    pub(crate) fn neighbours(&self) -> Neighbours {
        self.neighbours.clone()
    }

    /// How to reach a node; `Unknown` too for a node that the map does not have.
    pub(crate) fn route(&self, node: NodeId, now: Moment) -> Route {
        match self.entries.get(node.index()) {
            Some(Entry::Fixed(address)) => Route::To(*address),
            Some(Entry::Name { unknown_until: Some(until), .. }) if now < *until => Route::Unknown,
            Some(Entry::Name { name, .. }) => Route::ByName(Arc::clone(name)),
            None => Route::Unknown,
        }
    }

    /// Notes what a node's name resolved to. If it did not, what it resolved to before stays: the node may be there.
    pub(crate) fn learn(&mut self, node: NodeId, found: Vec<IpAddr>, now: Moment) {
        if let Some(Entry::Name { known, unknown_until, .. }) = self.entries.get_mut(node.index()) {
            if found.is_empty() {
                *unknown_until = Some(now + NEGATIVE_FOR);
            } else {
                self.neighbours.learn(known, &found);
                *known = found;
                *unknown_until = None;
            }
        }
    }

    /// Forgets which names did not resolve.
    pub(crate) fn forget_failures(&mut self) {
        for entry in &mut self.entries {
            if let Entry::Name { unknown_until, .. } = entry {
                *unknown_until = None;
            }
        }
    }

    /// Whether a connection from `from` may be the node's.
    pub(crate) fn source(&self, node: NodeId, from: IpAddr) -> Source {
        let from = from.to_canonical();
        let known = match self.entries.get(node.index()) {
            Some(Entry::Fixed(address)) => address.ip() == from,
            Some(Entry::Name { known, .. }) if known.is_empty() => return Source::Unknown,
            Some(Entry::Name { known, .. }) => known.contains(&from),
            None => return Source::Unknown,
        };
        if known { Source::Matches } else { Source::Differs }
    }

    fn know_self(&mut self, node: NodeId, bind: &Bind) {
        if let Some(Entry::Name { known, .. }) = self.entries.get_mut(node.index()) {
            known.push(bind.address.to_canonical());
        }
    }
}

impl Neighbours {
    fn of(entries: &[Entry]) -> Self {
        let mut all = Known::default();
        for entry in entries {
            let (ips, resolved): (&[IpAddr], _) = match entry {
                Entry::Fixed(address) => (&[address.ip()], true),
                Entry::Name { known, .. } => (known, !known.is_empty()),
            };
            all.unresolved += usize::from(!resolved);
            ips.iter().for_each(|ip| *all.addresses.entry(*ip).or_default() += 1);
        }
        Neighbours(Arc::new(RwLock::new(all)))
    }

    /// What an address is to the map.
    pub(crate) fn whereabouts(&self, from: IpAddr) -> Whereabouts {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match known.addresses.contains_key(&from) {
            true => Whereabouts::Node,
            false if known.unresolved > 0 => Whereabouts::Unknown { unresolved: known.unresolved },
            false => Whereabouts::Foreign,
        }
    }

    /// A name resolves to other addresses than before.
    fn learn(&self, before: &[IpAddr], after: &[IpAddr]) {
        if before == after {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.unresolved -= usize::from(before.is_empty());
        after.iter().for_each(|ip| *known.addresses.entry(*ip).or_default() += 1);
        for ip in before {
            if let Some(nodes) = known.addresses.get_mut(ip) {
                *nodes -= 1;
            }
        }
        known.addresses.retain(|_, nodes| *nodes > 0);
    }
}

impl Entry {
    fn new(address: &NodeAddress, shape: AddressShape) -> Self {
        match address {
            NodeAddress::Ip { ip, zone } => {
                let index = zone.as_deref().and_then(|zone| nix::net::if_::if_nametoindex(zone).ok());
                let shape = AddressShape { scope_id: index.unwrap_or(shape.scope_id), ..shape };
                Entry::Fixed(shape.socket_addr(ip.to_canonical()))
            }
            NodeAddress::Name(name) => {
                Entry::Name { name: name.as_str().into(), known: Vec::new(), unknown_until: None }
            }
        }
    }
}

impl AddressShape {
    /// The address to dial for an IP address. Only link-local addresses get a scope.
    pub(crate) fn socket_addr(self, ip: IpAddr) -> SocketAddr {
        match ip {
            IpAddr::V4(ip) => SocketAddrV4::new(ip, self.port).into(),
            IpAddr::V6(ip) => {
                let scope_id = if ip.is_unicast_link_local() { self.scope_id } else { 0 };
                SocketAddrV6::new(ip, self.port, 0, scope_id).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_matches_its_entry_whatever_its_spelling() {
        let book = book(&["10.0.0.1", "fe80::1", "host"]);
        let source = |node, from: &str| book.source(NodeId::new(node), from.parse().unwrap());
        assert_eq!(source(0, "10.0.0.1"), Source::Matches);
        assert_eq!(source(0, "::ffff:10.0.0.1"), Source::Matches);
        assert_eq!(source(0, "10.0.0.2"), Source::Differs);
        assert_eq!(source(1, "fe80::1"), Source::Matches);
        assert_eq!(source(2, "10.0.0.3"), Source::Unknown);
        assert_eq!(source(9, "10.0.0.1"), Source::Unknown);
    }

    #[test]
    fn a_name_is_asked_for_again_only_a_while_after_it_did_not_resolve() {
        let mut book = book(&["host"]);
        let node = NodeId::new(0);
        assert_eq!(book.route(node, at(0)), Route::ByName("host".into()));
        book.learn(node, Vec::new(), at(0));
        assert_eq!(book.route(node, at(999)), Route::Unknown);
        assert_eq!(book.route(node, at(1000)), Route::ByName("host".into()));
        book.learn(node, Vec::new(), at(1000));
        book.forget_failures();
        assert_eq!(book.route(node, at(1000)), Route::ByName("host".into()));
    }

    #[test]
    fn a_name_that_stops_resolving_keeps_its_last_address() {
        let mut book = book(&["host"]);
        let (node, address) = (NodeId::new(0), "10.0.0.7".parse().unwrap());
        book.learn(node, vec![address], at(0));
        book.learn(node, Vec::new(), at(1));
        assert_eq!(book.source(node, address), Source::Matches);
    }

    #[test]
    fn an_address_is_foreign_once_every_name_has_resolved_to_others() {
        let mut book = book(&["10.0.0.1", "host"]);
        let neighbours = book.neighbours();
        let where_is = |from: &str| neighbours.whereabouts(from.parse().unwrap());
        let unknown = Whereabouts::Unknown { unresolved: 1 };
        assert_eq!([where_is("10.0.0.1"), where_is("10.0.0.7")], [Whereabouts::Node, unknown]);
        book.learn(NodeId::new(1), vec!["10.0.0.7".parse().unwrap()], at(0));
        assert_eq!([where_is("10.0.0.7"), where_is("10.0.0.8")], [Whereabouts::Node, Whereabouts::Foreign]);
        book.learn(NodeId::new(1), vec!["10.0.0.8".parse().unwrap()], at(1));
        assert_eq!([where_is("10.0.0.7"), where_is("10.0.0.8")], [Whereabouts::Foreign, Whereabouts::Node]);
    }

    #[test]
    fn only_link_local_addresses_have_a_scope() {
        let book = book(&["fe80::1", "2001:db8::1", "10.0.0.1"]);
        let routes = [0, 1, 2].map(|node| book.route(NodeId::new(node), at(0)));
        let expected = ["[fe80::1%7]:50000", "[2001:db8::1]:50000", "10.0.0.1:50000"];
        assert_eq!(routes, expected.map(|text| Route::To(text.parse().unwrap())));
    }

    fn book(entries: &[&str]) -> AddressBook {
        let shape = AddressShape { port: 50000, scope_id: 7 };
        let entry = |text: &&str| Entry::new(&text.parse().unwrap(), shape);
        let entries: Vec<Entry> = entries.iter().map(entry).collect();
        let neighbours = Neighbours::of(&entries);
        AddressBook { entries, shape, neighbours }
    }

    fn at(millis: u64) -> Moment {
        Moment::after(Duration::from_millis(millis))
    }
}
