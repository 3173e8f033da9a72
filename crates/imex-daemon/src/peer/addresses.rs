//! Where the nodes of the map are: addresses as written, and what host names last resolved to.

use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::Arc;
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
        };
        book.know_self(settings.node, &settings.bind);
        book
    }

    /// What an address needs besides itself.
    pub(crate) fn shape(&self) -> AddressShape {
        self.shape
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
    fn only_link_local_addresses_have_a_scope() {
        let book = book(&["fe80::1", "2001:db8::1", "10.0.0.1"]);
        let routes = [0, 1, 2].map(|node| book.route(NodeId::new(node), at(0)));
        let expected = ["[fe80::1%7]:50000", "[2001:db8::1]:50000", "10.0.0.1:50000"];
        assert_eq!(routes, expected.map(|text| Route::To(text.parse().unwrap())));
    }

    fn book(entries: &[&str]) -> AddressBook {
        let shape = AddressShape { port: 50000, scope_id: 7 };
        let entry = |text: &&str| Entry::new(&text.parse().unwrap(), shape);
        AddressBook { entries: entries.iter().map(entry).collect(), shape }
    }

    fn at(millis: u64) -> Moment {
        Moment::after(Duration::from_millis(millis))
    }
}
