//! This machine, with its addresses listed once, as questions are put to them.

use std::fmt;
use std::net::IpAddr;

use crate::keys::table::BIND_INTERFACE_IP;
use crate::machine::{LocalAddress, Machine};
use crate::problem::Severity;
use crate::values::Values;

/// This machine.
pub(super) struct Here<'a> {
    pub(super) machine: &'a dyn Machine,
    addresses: Vec<LocalAddress>,
}

impl<'a> Here<'a> {
    /// How many addresses are shown to people.
    const SHOWN: usize = 8;

    /// Lists the addresses; on failure the problem has been reported.
    pub(super) fn look(machine: &'a impl Machine, values: &mut Values<'_>) -> Option<Self> {
        match machine.addresses() {
            Ok(addresses) => Some(Here { machine, addresses }),
            Err(error) => {
                let what = format!("addresses of this machine cannot be listed: {error}");
                let hint = "the service needs them to find itself in the node map".to_owned();
                values.report(Severity::Error, &BIND_INTERFACE_IP, what, hint);
                None
            }
        }
    }

    /// Which interfaces have an address. All of 127.0.0.0/8 is the loopback interface's as soon as it has one of them
    /// (Linux, `ip-address(8)`: the network of a loopback address is local as a whole).
    pub(super) fn holders(&self, ip: IpAddr) -> Vec<&LocalAddress> {
        let ip = ip.to_canonical();
        let exact: Vec<_> = self.addresses.iter().filter(|local| local.address == ip).collect();
        if !exact.is_empty() || !is_loopback_v4(ip) {
            return exact;
        }
        self.addresses.iter().filter(|local| is_loopback_v4(local.address)).take(1).collect()
    }

    /// Whether an address is this machine's, on the interface `zone` if one is given.
    pub(super) fn has(&self, ip: IpAddr, zone: Option<&str>) -> bool {
        self.holders(ip).into_iter().any(|local| zone.is_none_or(|zone| local.is_on(zone)))
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

impl fmt::Display for Here<'_> {
    /// Those that others can reach, or else all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (loopback, outside): (Vec<_>, Vec<_>) =
            self.addresses.iter().partition(|local| local.address.is_loopback());
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
