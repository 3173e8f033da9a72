//! Loopback addresses that no other lab uses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};

use thiserror::Error;

/// Nodes per /24: hosts 1 to 250 of it, so that an address reads as a node number.
const PER_BLOCK: usize = 250;

/// How many places are tried. There are over 60,000, so even with a hundred labs of one block on the machine a wrong
/// guess is rare and this many in a row mean that the port is taken everywhere.
const TRIES: usize = 16;

/// The addresses of one lab: node K has 127.A.(B + K / 250).(1 + K % 250).
///
/// They are claimed for as long as the value lives, by UDP sockets on the same port, which the daemons do not use:
/// two labs never get the same address, even while all their daemons are stopped.
#[derive(Debug)]
pub(crate) struct Addresses {
    place: Place,
    count: usize,
    _claims: Vec<UdpSocket>,
}

/// Why a lab got no addresses.
#[derive(Debug, Error)]
pub enum AddressError {
    /// There was no place that is free.
    #[error("port {port} could not be bound on {tries} places of 127.0.0.0/8, the last being {address}")]
    Taken {
        /// The port that every node uses.
        port: u16,
        /// How many places were tried.
        tries: usize,
        /// The last address tried.
        address: Ipv4Addr,
        /// What the system said to it.
        source: io::Error,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[source] getrandom::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    a: u8,
    b: u8,
}

impl Addresses {
    /// The most nodes of one lab: four blocks. More processes than this tell nothing new and fit on no machine.
    pub(crate) const MAX_NODES: usize = 4 * PER_BLOCK;

    /// Finds and claims free addresses for `nodes` nodes, at most [`Addresses::MAX_NODES`].
    pub(crate) fn claim(nodes: usize, port: u16) -> Result<Self, AddressError> {
        let mut last = (Ipv4Addr::LOCALHOST, io::Error::from(io::ErrorKind::AddrInUse));
        for _ in 0..TRIES {
            let place = Place::random(nodes)?;
            match place.claim(nodes, port) {
                Ok(claims) => {
                    return Ok(Addresses { place, count: nodes, _claims: claims });
                }
                Err(failure) => last = failure,
            }
        }
        let (address, source) = last;
        Err(AddressError::Taken { port, tries: TRIES, address, source })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The address of a node of this lab.
    pub(crate) fn of(&self, node: usize) -> Ipv4Addr {
        self.place.address(node)
    }
}

impl Place {
    fn random(nodes: usize) -> Result<Self, AddressError> {
        let mut bytes = [0; 2];
        getrandom::fill(&mut bytes).map_err(AddressError::Random)?;
        Ok(Place::from_bytes(bytes, nodes))
    }

    /// Never 127.0, where everything else on a machine listens, and never so high that the blocks do not fit.
    fn from_bytes([a, b]: [u8; 2], nodes: usize) -> Self {
        let blocks = u8::try_from(nodes.div_ceil(PER_BLOCK)).unwrap_or(u8::MAX);
        Place { a: a.max(1), b: b.min(u8::MAX - blocks) }
    }

    fn address(self, node: usize) -> Ipv4Addr {
        let block = u8::try_from(node / PER_BLOCK).unwrap_or(u8::MAX);
        let host = u8::try_from(1 + node % PER_BLOCK).unwrap_or(u8::MAX);
        Ipv4Addr::new(127, self.a, self.b.saturating_add(block), host)
    }

    fn claim(self, nodes: usize, port: u16) -> Result<Vec<UdpSocket>, (Ipv4Addr, io::Error)> {
        let first_of_blocks = (0..nodes).step_by(PER_BLOCK).map(|node| self.address(node));
        let claims = first_of_blocks
            .map(|address| UdpSocket::bind((IpAddr::from(address), port)).map_err(|e| (address, e)))
            .collect::<Result<Vec<_>, _>>()?;
        for address in (0..nodes).map(|node| self.address(node)) {
            TcpListener::bind((address, port)).map_err(|e| (address, e))?;
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_node_has_an_address_of_its_own_at_both_ends_of_the_range() {
        for bytes in [[0, 0], [255, 255]] {
            let place = Place::from_bytes(bytes, Addresses::MAX_NODES);
            let all: BTreeSet<_> = (0..Addresses::MAX_NODES).map(|node| place.address(node)).collect();
            assert_eq!(all.len(), Addresses::MAX_NODES);
            assert!(all.iter().all(|address| address.octets()[1] > 0 && address.octets()[3] < 255));
        }
    }

    #[test]
    fn a_place_is_claimed_until_its_lab_ends() {
        let first = Addresses::claim(3, 50_000).unwrap();
        let (address, error) = first.place.claim(1, 50_000).unwrap_err();
        assert_eq!((address, error.kind()), (first.of(0), io::ErrorKind::AddrInUse));
        let place = first.place;
        drop(first);
        place.claim(1, 50_000).unwrap();
    }

    #[test]
    fn a_port_that_is_listened_on_is_not_free() {
        let place = Place::random(2).unwrap();
        let _other = TcpListener::bind((place.address(1), 50_000)).unwrap();
        assert_eq!(place.claim(2, 50_000).unwrap_err().0, place.address(1));
    }
}
