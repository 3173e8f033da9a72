//! Whom to ask about a domain.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use imex_config::{ClientSettings, Security, SecurityUnusable};
use imex_core::NodeMap;
use imex_wire::Endpoint;

use crate::secure::Credentials;

/// The daemon that knows the domain, and what is known of the other nodes without it.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Where the daemon listens: the first of these that somebody listens at. Never empty.
    pub(crate) daemon: Vec<Endpoint>,
    /// What the node map calls the daemon's node, for which its certificate must be good; `None` if that is not known,
    /// and then it is the address that is asked.
    pub(crate) entry: Option<String>,
    /// The other nodes; `None` if all that is known is where one daemon listens.
    pub(crate) nodes: Option<Nodes>,
    /// What TCP connections are made secure by.
    pub(crate) credentials: Credentials,
}

/// The domain's nodes as the local files have them.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    pub(crate) map: NodeMap,
    /// The TCP port at which each node's command service listens, if the files enable one.
    pub(crate) port: Option<u16>,
}

impl Sources {
    /// One daemon at this place and no other.
    pub fn endpoint(place: Endpoint) -> Self {
        Sources { daemon: vec![place], entry: None, nodes: None, credentials: Credentials::default() }
    }

    /// The same, asked as securely as a configuration says.
    #[must_use]
    pub fn secured(self, security: &Result<Security, SecurityUnusable>) -> Self {
        Sources { credentials: Credentials::of(security), ..self }
    }
}

impl From<&ClientSettings> for Sources {
    /// The daemon of these files: its socket comes first, since it needs no network, then its TCP port.
    fn from(settings: &ClientSettings) -> Self {
        let ClientSettings { nodes_path: _, map, addresses: _, node, socket, security, tcp } = settings;
        let any_interface = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut daemon = vec![Endpoint::Unix(socket.clone())];
        daemon.extend(
            tcp.map(|tcp| Endpoint::Tcp(SocketAddr::new(tcp.bind.unwrap_or(any_interface), tcp.port))),
        );
        let entry = node.and_then(|node| map.get(node)).map(ToString::to_string);
        let nodes = Some(Nodes { map: map.clone(), port: tcp.map(|tcp| tcp.port) });
        Sources { daemon, entry, nodes, credentials: Credentials::of(security) }
    }
}
