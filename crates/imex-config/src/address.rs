//! One entry of the node map: an IP address, perhaps with an interface, or a host name.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use imex_core::NodeMap;
use thiserror::Error;

/// What an entry of the node map names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeAddress {
    /// An address.
    Ip {
        /// The address.
        ip: IpAddr,
        /// The interface it is reached by (`fe80::1%eth0`); only ever with a link-local IPv6 address.
        zone: Option<String>,
    },
    /// A host name, resolved anew for each connection.
    Name(String),
}

/// Why a text names no node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NodeAddressError {
    /// There is nothing.
    #[error("address is empty")]
    Empty,
    /// It is longer than any host name.
    #[error("entry has {found} bytes, at most {max} are allowed", max = NodeMap::MAX_ENTRY_BYTES)]
    TooLong {
        /// Its length in bytes.
        found: usize,
    },
    /// There are several things in it.
    #[error("{text:?} is more than one address")]
    Several {
        /// The text.
        text: String,
    },
    /// It is a list expression of a job scheduler.
    #[error("{text:?} stands for several hosts")]
    HostList {
        /// The text.
        text: String,
    },
    /// There is a port behind the address.
    #[error("{text:?} has a port")]
    Port {
        /// The text.
        text: String,
    },
    /// An interface stands behind an address that needs none.
    #[error("{text:?} names an interface, which only a link-local IPv6 address may")]
    NeedlessZone {
        /// The text.
        text: String,
    },
    /// The address is nobody's: 0.0.0.0, ::, multicast or broadcast.
    #[error("{ip} is not the address of one machine")]
    NotOneMachine {
        /// The address.
        ip: IpAddr,
    },
    /// It looks like an address but is none.
    #[error("{text:?} is not a valid IP address")]
    BadIp {
        /// The text.
        text: String,
    },
    /// It is no host name.
    #[error("{text:?} is neither an IP address nor a host name: {why}")]
    BadName {
        /// The text.
        text: String,
        /// Which rule it breaks.
        why: &'static str,
    },
}

impl NodeAddressError {
    /// What to do about it, if that is not plain from the text.
    pub fn hint(&self) -> Option<&'static str> {
        use NodeAddressError as E;
        match self {
            E::Several { .. } => {
                Some("write one address or host name per line; comments have lines of their own")
            }
            E::HostList { .. } => Some("expand it first, one host per line: scontrol show hostnames LIST"),
            E::Port { .. } => Some("all nodes use the same port: set SERVER_PORT in the configuration file"),
            E::NeedlessZone { .. } => Some("leave out the part from % on"),
            E::NotOneMachine { .. } => Some("a placeholder will not do: list the nodes' real addresses"),
            E::BadIp { text } if text.contains(':') => {
                Some("IPv6 is up to eight groups of hexadecimal digits, :: at most once, as in fe80::1")
            }
            E::BadIp { .. } => {
                Some("IPv4 is four numbers from 0 to 255 without leading zeros, as in 10.0.0.1")
            }
            E::Empty | E::TooLong { .. } | E::BadName { .. } => None,
        }
    }
}

impl NodeAddress {
    /// What is equal for two spellings of one address: IPv4 in IPv6 is unwrapped, names are lower case without a
    /// final dot. Two link-local addresses with different interfaces may be two machines, so they differ.
    pub(crate) fn canonical(&self) -> NodeAddress {
        match self {
            NodeAddress::Ip { ip, zone } => NodeAddress::Ip { ip: ip.to_canonical(), zone: zone.clone() },
            NodeAddress::Name(name) => {
                NodeAddress::Name(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase())
            }
        }
    }
}

impl FromStr for NodeAddress {
    type Err = NodeAddressError;

    fn from_str(text: &str) -> Result<Self, NodeAddressError> {
        if text.is_empty() {
            return Err(NodeAddressError::Empty);
        }
        if text.len() > NodeMap::MAX_ENTRY_BYTES {
            return Err(NodeAddressError::TooLong { found: text.len() });
        }
        let owned = || text.to_owned();
        let (bare, zone) = match text.split_once('%') {
            Some((bare, zone)) => (bare, Some(zone)),
            None => (text, None),
        };
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return with_zone(ip, zone).ok_or_else(|| NodeAddressError::NeedlessZone { text: owned() })?;
        }
        if text.contains(|c: char| c.is_whitespace() || c == ',' || c == ';') {
            return Err(NodeAddressError::Several { text: owned() });
        }
        if has_port(text) {
            return Err(NodeAddressError::Port { text: owned() });
        }
        if text.contains(':') || text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return Err(NodeAddressError::BadIp { text: owned() });
        }
        if text.contains(['[', ']']) {
            return Err(NodeAddressError::HostList { text: owned() });
        }
        match broken_name_rule(text) {
            Some(why) => Err(NodeAddressError::BadName { text: owned(), why }),
            None => Ok(NodeAddress::Name(owned())),
        }
    }
}

/// `None` if the zone must not be there.
fn with_zone(ip: IpAddr, zone: Option<&str>) -> Option<Result<NodeAddress, NodeAddressError>> {
    let fits = match zone {
        None => true,
        Some(zone) => is_link_local(ip) && is_interface_name(zone),
    };
    fits.then(|| {
        if is_one_machine(ip) {
            let zone = zone.map(str::to_owned);
            Ok(NodeAddress::Ip { ip, zone })
        } else {
            Err(NodeAddressError::NotOneMachine { ip })
        }
    })
}

/// Whether an address can be one machine's.
pub(crate) fn is_one_machine(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    !ip.is_unspecified() && !ip.is_multicast() && ip != IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Whether an address only has a meaning together with an interface (RFC 4291, section 2.5.6).
pub(crate) fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// Whether a text can be the name (or number) of a Linux network interface: 1 to 15 bytes, no blank, `/` or `:`.
pub(crate) fn is_interface_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_graphic() && b != b'/' && b != b':' && b != b'%';
    (1..=15).contains(&text.len()) && text.bytes().all(allowed) && text != "." && text != ".."
}

/// `10.0.0.1:50000`, `[::1]:50000` or `name:50000`.
fn has_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let plain = !host.contains(':') || bracketed.is_some_and(|host| host.parse::<Ipv6Addr>().is_ok());
    plain && port.parse::<u16>().is_ok()
}

/// The rule of RFC 1123, section 2.1, that a name breaks; an underscore is let through, as many sites use it.
fn broken_name_rule(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let mut last = "";
    for label in name.split('.') {
        if label.is_empty() {
            return Some("there is nothing between two dots");
        }
        if label.len() > 63 {
            return Some("a part between dots has more than 63 letters");
        }
        if !label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Some("only letters, digits, '-', '_' and '.' are allowed");
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Some("a part between dots begins or ends with '-'");
        }
        last = label;
    }
    last.bytes().all(|b| b.is_ascii_digit()).then_some("its last part is a number")
}

impl fmt::Display for NodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeAddress::Ip { ip, zone: None } => write!(f, "{ip}"),
            NodeAddress::Ip { ip, zone: Some(zone) } => write!(f, "{ip}%{zone}"),
            NodeAddress::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        text.parse::<NodeAddress>().unwrap_err().to_string()
    }

    #[test]
    fn addresses_and_names_are_told_apart() {
        let ip = |text: &str| NodeAddress::Ip { ip: text.parse().unwrap(), zone: None };
        assert_eq!("10.0.0.1".parse(), Ok(ip("10.0.0.1")));
        assert_eq!("::1".parse(), Ok(ip("::1")));
        assert_eq!("fe80::1".parse(), Ok(ip("fe80::1")));
        assert_eq!("node-1.rack_2.".parse(), Ok(NodeAddress::Name("node-1.rack_2.".to_owned())));
        let zoned: NodeAddress = "fe80::1%eth0".parse().unwrap();
        assert_eq!(zoned.to_string(), "fe80::1%eth0");
    }

    #[test]
    fn each_mistake_is_called_by_its_name() {
        let table = [
            ("10.0.0.256", "\"10.0.0.256\" is not a valid IP address"),
            ("10.0.1", "\"10.0.1\" is not a valid IP address"),
            ("010.0.0.1", "\"010.0.0.1\" is not a valid IP address"),
            ("fe80:::1", "\"fe80:::1\" is not a valid IP address"),
            ("10.0.0.1:50000", "\"10.0.0.1:50000\" has a port"),
            ("[::1]:50000", "\"[::1]:50000\" has a port"),
            ("a b", "\"a b\" is more than one address"),
            ("a,b", "\"a,b\" is more than one address"),
            ("node[01-18]", "\"node[01-18]\" stands for several hosts"),
            ("0.0.0.0", "0.0.0.0 is not the address of one machine"),
            ("::", ":: is not the address of one machine"),
            ("ff02::1", "ff02::1 is not the address of one machine"),
            (
                "10.0.0.1%eth0",
                "\"10.0.0.1%eth0\" names an interface, which only a link-local IPv6 address may",
            ),
            (
                "-a",
                "\"-a\" is neither an IP address nor a host name: a part between dots begins or ends with '-'",
            ),
            ("a..b", "\"a..b\" is neither an IP address nor a host name: there is nothing between two dots"),
            ("a.1", "\"a.1\" is neither an IP address nor a host name: its last part is a number"),
        ];
        for (text, message) in table {
            assert_eq!(fault(text), message, "{text}");
        }
    }

    #[test]
    fn spellings_of_one_address_are_equal_in_canonical_form() {
        let same = |a: &str, b: &str| {
            a.parse::<NodeAddress>().unwrap().canonical() == b.parse::<NodeAddress>().unwrap().canonical()
        };
        assert!(same("::1", "0:0:0:0:0:0:0:1"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(same("Node1.", "node1"));
        assert!(!same("fe80::1%a", "fe80::1%b"));
    }
}
