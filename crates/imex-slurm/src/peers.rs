//! From names to addresses: the same text on every node, or nothing.
//!
//! The service compares the text of node maps, so two nodes that write one address in two ways are two domains. Addresses
//! are therefore written in one form (RFC 5952 for IPv6), of several the lowest is taken, and what differs from node to node
//! is refused: a name that is a loopback address (the first line of Debian's `/etc/hosts`) or a link-local one.

use std::collections::BTreeMap;
use std::net::IpAddr;

use imex_config::operator::Family;
use serde::Serialize;
use thiserror::Error;

/// The addresses of each node, in any order.
pub type Addresses = BTreeMap<String, Vec<IpAddr>>;

/// A node with its entry of the node map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Its name.
    pub node: String,
    /// Its address.
    pub address: IpAddr,
}

/// Why a domain has no node map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not every node has an address of its own: {}", shown(.problems))]
pub struct PeersError {
    /// One or more, in the order of the nodes.
    pub problems: Vec<PeerProblem>,
}

/// What is wrong with one node's address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PeerProblem {
    /// Nothing is known.
    #[error("{node} has none")]
    None {
        /// The node.
        node: String,
    },
    /// It has only such that others cannot use.
    #[error("{node} has only {}, which other nodes cannot use", list(.found))]
    Local {
        /// The node.
        node: String,
        /// What it has.
        found: Vec<IpAddr>,
    },
    /// It has only such of the other family.
    #[error("{node} has only {}, and peers.family is \"{family}\"", list(.found))]
    Family {
        /// The node.
        node: String,
        /// What it has.
        found: Vec<IpAddr>,
        /// What is wanted.
        family: Family,
    },
    /// Another node has the same.
    #[error("{node} has {address}, and so has {other}")]
    Twice {
        /// The node.
        node: String,
        /// The address.
        address: IpAddr,
        /// The node that has it too.
        other: String,
    },
}

/// Takes one address for each node.
///
/// # Errors
///
/// All nodes that have none to take.
pub fn choose(nodes: &[String], addresses: &Addresses, family: Family) -> Result<Vec<Peer>, PeersError> {
    let mut peers: Vec<Peer> = Vec::new();
    let mut problems = Vec::new();
    for node in nodes {
        let found = addresses.get(node).map(Vec::as_slice).unwrap_or_default();
        match pick(node, found, family) {
            Ok(address) => match peers.iter().find(|peer| peer.address == address) {
                Some(Peer { node: other, .. }) => {
                    problems.push(PeerProblem::Twice { node: node.clone(), address, other: other.clone() });
                }
                None => peers.push(Peer { node: node.clone(), address }),
            },
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(peers) } else { Err(PeersError { problems }) }
}

/// Whether what the node `own` is told of its own name is what the others are told. The hosts file may have a loopback address
/// for it alone, and a resolver that answers for its own machine has the addresses of all interfaces. So it counts if it is one
/// address, or one of the family that is taken, where the names of all others lead to addresses of that family: IPv4 and
/// IPv6 beside each other are no two machines.
pub fn knows_itself(own: &str, nodes: &[String], addresses: &Addresses, family: Family) -> bool {
    let of = |node: &str| usable(addresses.get(node).map(Vec::as_slice).unwrap_or_default());
    let found = of(own);
    if nodes.len() == 1 || found.len() == 1 {
        return true;
    }
    let Ok(taken) = pick(own, &found, family) else { return false };
    let like_it = |address: &IpAddr| address.is_ipv4() == taken.is_ipv4();
    let others = nodes.iter().filter(|node| *node != own);
    let picked = others.map(|node| pick(node, &of(node), family));
    found.iter().filter(|address| like_it(address)).count() == 1
        && picked.into_iter().all(|address| address.is_ok_and(|address| like_it(&address)))
}

fn pick(node: &str, found: &[IpAddr], family: Family) -> Result<IpAddr, PeerProblem> {
    if found.is_empty() {
        return Err(PeerProblem::None { node: node.to_owned() });
    }
    let usable = usable(found);
    if usable.is_empty() {
        return Err(PeerProblem::Local { node: node.to_owned(), found: found.to_vec() });
    }
    let wanted = usable.iter().filter(|address| match family {
        Family::Any => true,
        Family::Ipv4 => address.is_ipv4(),
        Family::Ipv6 => address.is_ipv6(),
    });
    // IPv4 comes before IPv6 in the order of addresses; the lowest is the same whatever the order in which a resolver gives.
    let lowest = wanted.min().copied();
    lowest.ok_or_else(|| PeerProblem::Family { node: node.to_owned(), found: usable, family })
}

/// Those that other nodes can use, in one form.
pub fn usable(found: &[IpAddr]) -> Vec<IpAddr> {
    let canonical = found.iter().map(IpAddr::to_canonical);
    canonical.filter(|address| !is_local(*address)).collect()
}

fn is_local(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    address.is_loopback() || address.is_unspecified() || address.is_multicast() || link_local
}

/// What `scontrol -o show node` says of each node's `NodeAddr`: an address, or a name that is still to be looked up.
pub fn node_addresses(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| {
        let word = |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key));
        Some((word("NodeName=")?.to_owned(), word("NodeAddr=")?.to_owned()))
    });
    lines.collect()
}

/// Reads a map of names and addresses: a name, blanks, an address on each line; `#` begins a comment.
///
/// # Errors
///
/// The number of the first line that is wrong, from 1.
pub fn read_map(text: &str) -> Result<Addresses, usize> {
    let mut addresses = Addresses::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [node, address] => {
                let address = address.parse().map_err(|_| number + 1)?;
                addresses.entry((*node).to_owned()).or_default().push(address);
            }
            _ => return Err(number + 1),
        }
    }
    Ok(addresses)
}

fn shown(problems: &[PeerProblem]) -> String {
    /// More than a person reads; the record has all.
    const SHOWN: usize = 4;
    let mut texts: Vec<String> = problems.iter().take(SHOWN).map(ToString::to_string).collect();
    if problems.len() > SHOWN {
        texts.push(format!("and {} more", problems.len() - SHOWN));
    }
    texts.join("; ")
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_one_address_whatever_the_order_in_which_they_came() {
        for order in [["10.0.0.2", "10.0.0.1", "fd00::1"], ["fd00::1", "10.0.0.1", "10.0.0.2"]] {
            let addresses = of(&[("a", &order)]);
            assert_eq!(taken(&addresses, Family::Any).unwrap(), ["10.0.0.1"]);
            assert_eq!(taken(&addresses, Family::Ipv6).unwrap(), ["fd00::1"]);
        }
    }

    #[test]
    fn a_node_knows_itself_by_one_address_of_the_family_that_all_are_reached_by() {
        let knows = |own: &[&str], other: &[&str], family| {
            let nodes = ["a", "b"].map(str::to_owned);
            knows_itself("a", &nodes, &of(&[("a", own), ("b", other)]), family)
        };
        let dual: (&[&str], &[&str]) = (&["127.0.1.1", "10.0.0.1", "fd00::1"], &["10.0.0.2", "fd00::2"]);
        for family in [Family::Any, Family::Ipv4, Family::Ipv6] {
            assert!(knows(dual.0, dual.1, family), "{family}");
        }
        // One address is one, whatever the others have.
        assert!(knows(&["127.0.1.1", "10.0.0.1"], &["fd00::2"], Family::Any));
        // Several interfaces, nothing that others can use, and others who are reached in another way.
        assert!(!knows(&["10.0.0.1", "192.168.0.1", "fd00::1"], dual.1, Family::Any));
        assert!(!knows(&["127.0.1.1"], dual.1, Family::Any));
        assert!(!knows(&[], dual.1, Family::Any));
        assert!(!knows(dual.0, &["fd00::2"], Family::Any));
        assert!(!knows(dual.0, &[], Family::Any));
        assert!(knows(&["10.0.0.1", "192.168.0.1", "fd00::1"], dual.1, Family::Ipv6));
        let alone = ["a".to_owned()];
        assert!(knows_itself("a", &alone, &of(&[("a", &[])]), Family::Any));
    }

    #[test]
    fn one_address_is_written_in_one_form() {
        let addresses = of(&[("a", &["::ffff:10.0.0.1"]), ("b", &["fd00:0:0::0:2"])]);
        assert_eq!(taken(&addresses, Family::Any).unwrap(), ["10.0.0.1", "fd00::2"]);
    }

    #[test]
    fn all_nodes_without_an_address_of_their_own_are_told() {
        let addresses = of(&[
            ("a", &[]),
            ("b", &["127.0.1.1", "fe80::1"]),
            ("c", &["10.0.0.3"]),
            ("d", &["10.0.0.3"]),
            ("e", &["fd00::5"]),
        ]);
        let told = taken(&addresses, Family::Ipv4).unwrap_err().to_string();
        let expected = "not every node has an address of its own: a has none; b has only 127.0.1.1, fe80::1, which other nodes \
                        cannot use; d has 10.0.0.3, and so has c; e has only fd00::5, and peers.family is \"ipv4\"";
        assert_eq!(told, expected);
    }

    #[test]
    fn the_controllers_lines_are_read_by_their_keys() {
        let text = "NodeName=n1 Arch=x86_64 NodeAddr=10.0.0.1 NodeHostName=n1 OS=Linux 6.1 #1 SMP State=ALLOCATED\n\
                    NodeName=n2 NodeAddr=n2.example NodeHostName=n2 Reason=Prolog error [root@x]\n\nerror: no\n";
        let found = node_addresses(text);
        assert_eq!(
            found,
            BTreeMap::from([("n1".into(), "10.0.0.1".into()), ("n2".into(), "n2.example".into())])
        );
    }

    #[test]
    fn a_map_is_names_and_addresses() {
        let map = read_map("# rack 1\nn1 10.0.0.1\n\nn2\tfd00::2 # spare\n").unwrap();
        assert_eq!(map, of(&[("n1", &["10.0.0.1"]), ("n2", &["fd00::2"])]));
        assert_eq!(read_map("n1 10.0.0.1\nn2 10.0.0\n"), Err(2));
        assert_eq!(read_map("n1\n"), Err(1));
    }

    fn of(nodes: &[(&str, &[&str])]) -> Addresses {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        nodes.iter().map(|(node, texts)| ((*node).to_owned(), parse(texts))).collect()
    }

    fn taken(addresses: &Addresses, family: Family) -> Result<Vec<String>, PeersError> {
        let nodes: Vec<String> = addresses.keys().cloned().collect();
        Ok(choose(&nodes, addresses, family)?.into_iter().map(|peer| peer.address.to_string()).collect())
    }
}
