//! The addresses of this machine, as questions are put to them.

use std::fmt;
use std::net::IpAddr;

use crate::machine::LocalAddress;

/// The addresses of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Locals(Vec<LocalAddress>);

impl Locals {
    /// How many addresses are shown to people.
    const SHOWN: usize = 8;

    pub(super) fn new(addresses: Vec<LocalAddress>) -> Self {
        Locals(addresses)
    }

    /// Which interfaces have an address. All of 127.0.0.0/8 is the loopback interface's as soon as it has one of them
    /// (Linux, `ip-address(8)`: the network of a loopback address is local as a whole).
    pub(super) fn holders(&self, ip: IpAddr) -> Vec<&LocalAddress> {
        let ip = ip.to_canonical();
        let exact: Vec<_> = self.0.iter().filter(|local| local.address == ip).collect();
        if !exact.is_empty() || !is_loopback_v4(ip) {
            return exact;
        }
        self.0
            .iter()
            .filter(|local| is_loopback_v4(local.address))
            .take(1)
            .collect()
    }

    /// Whether an address is this machine's, on the interface `zone` if one is given.
    pub(super) fn has(&self, ip: IpAddr, zone: Option<&str>) -> bool {
        self.holders(ip)
            .into_iter()
            .any(|local| zone.is_none_or(|zone| local.is_on(zone)))
    }
}

impl LocalAddress {
    /// Whether its interface is the one with this name or number.
    pub(super) fn is_on(&self, zone: &str) -> bool {
        self.interface == zone || zone.parse() == Ok(self.index)
    }
}

fn is_loopback_v4(ip: IpAddr) -> bool {
    ip.is_ipv4() && ip.is_loopback()
}

impl fmt::Display for Locals {
    /// Those that others can reach, or else all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (loopback, outside): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|local| local.address.is_loopback());
        let shown = if outside.is_empty() { loopback } else { outside };
        if shown.is_empty() {
            return f.write_str("none");
        }
        for (n, local) in shown.iter().take(Self::SHOWN).enumerate() {
            let separator = if n == 0 { "" } else { ", " };
            write!(f, "{separator}{} ({})", local.address, local.interface)?;
        }
        match shown.len().saturating_sub(Self::SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
