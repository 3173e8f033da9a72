//! Checks of ports, names and ways.

use super::Finding;
use super::service;
use crate::doctor::facts::{Answer, Facts, Told, Unit};

pub(super) fn port(facts: &Facts) -> Finding {
    let Some(port) = facts.config.port else {
        return Finding::not_applicable("the configuration names no port");
    };
    let listeners = match &facts.network.listeners {
        Told::Unknown(why) => return Finding::unknown(why),
        Told::Known(listeners) => listeners,
    };
    let of_units: Vec<u32> = [&facts.service.state, &facts.service.other]
        .into_iter()
        .filter_map(|unit| match unit.known()? {
            Unit::Found(unit) => unit.main_pid,
            Unit::Missing => None,
        })
        .collect();
    let others = facts.service.processes.iter().map(|process| process.pid);
    let own: Vec<u32> = of_units.iter().copied().chain(others).collect();
    let at: Vec<_> = listeners.iter().filter(|listener| listener.port == port).collect();
    if at.is_empty() {
        return if service::is_expected(facts) {
            Finding::fail(format!("nobody listens at port {port}"), "see D11: the daemon has not come so far")
        } else {
            Finding::ok(format!("port {port} is free"))
        };
    }
    let strangers: Vec<String> = at
        .iter()
        .filter_map(|listener| listener.process.as_ref())
        .filter(|process| !own.contains(&process.pid))
        .map(|process| format!("{} ({})", process.name, process.pid))
        .collect();
    if !strangers.is_empty() {
        return Finding::fail(
            format!("port {port} is {}'s", strangers.join(", ")),
            "end that program, or set another SERVER_PORT on all nodes",
        );
    }
    let listening = at.iter().filter_map(|listener| listener.process.as_ref());
    let of_no_unit: Vec<String> = listening
        .filter(|process| !of_units.contains(&process.pid))
        .map(|process| format!("{} ({})", process.name, process.pid))
        .collect();
    match at.iter().all(|listener| listener.process.is_some()) {
        true if !of_no_unit.is_empty() => {
            Finding::ok(format!("port {port} is that of {}, which no unit runs", of_no_unit.join(", ")))
        }
        true => Finding::ok(format!("port {port} is the daemon's")),
        false if service::is_expected(facts) => {
            Finding::ok(format!("somebody listens at port {port}; root sees who"))
        }
        false => Finding::warn(
            format!("somebody listens at port {port}, and no daemon is expected"),
            "run this as root: it names the process",
        ),
    }
}

pub(super) fn port_range(facts: &Facts) -> Finding {
    let Some(port) = facts.config.port else {
        return Finding::not_applicable("the configuration names no port");
    };
    let Some((first, last)) = facts.network.ephemeral else {
        return Finding::unknown("ip_local_port_range cannot be read");
    };
    if !(first..=last).contains(&port) {
        return Finding::ok(format!("port {port} is outside of {first} to {last}"));
    }
    if is_reserved(&facts.network.reserved, port) {
        return Finding::ok(format!("port {port} is reserved in ip_local_reserved_ports"));
    }
    Finding::warn(
        format!("port {port} is among {first} to {last}, which the kernel gives to outgoing connections"),
        "add it to net.ipv4.ip_local_reserved_ports, or set a SERVER_PORT outside of the range on all nodes",
    )
}

/// If a list such as `50000,50005-50010` has the port.
fn is_reserved(list: &str, port: u16) -> bool {
    list.trim().split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.parse::<u16>(), last.parse::<u16>()), (Ok(first), Ok(last)) if (first..=last).contains(&port))
    })
}

pub(super) fn names(facts: &Facts) -> Finding {
    let names = &facts.network.names;
    if names.is_empty() {
        return Finding::not_applicable("the map has no names, or is empty");
    }
    let own = facts.config.own.and_then(|own| facts.config.entries.known()?.get(own));
    let mut wrong = Vec::new();
    for name in names {
        match &name.addresses {
            Told::Unknown(why) => wrong.push(format!("{}: {why}", name.entry)),
            Told::Known(addresses) if addresses.is_empty() => {
                wrong.push(format!("{} stands for nothing", name.entry))
            }
            Told::Known(addresses) => {
                let loopback = addresses.iter().filter(|address| address.is_loopback());
                let loopback: Vec<String> = loopback.map(ToString::to_string).collect();
                // Debian's /etc/hosts gives a machine's own name 127.0.1.1.
                if !loopback.is_empty() {
                    let whose =
                        if Some(&name.entry) == own { "this node's own name" } else { "another node's name" };
                    wrong.push(format!("{}, {whose}, stands for {} here", name.entry, loopback.join(", ")));
                }
            }
        }
    }
    if wrong.is_empty() {
        Finding::ok(format!("{} names stand for addresses", names.len()))
    } else {
        Finding::fail(
            wrong.join("\n"),
            "have DNS or /etc/hosts say the same on all nodes, or write addresses: peers.by in openimex.toml",
        )
    }
}

pub(super) fn reachable(facts: &Facts) -> Finding {
    let reached = &facts.network.reached;
    if reached.is_empty() {
        return Finding::not_applicable("the daemon reaches all members, or none is known");
    }
    let told: Vec<String> = reached
        .iter()
        .map(|member| {
            let answer = match &member.answer {
                Answer::Connected => {
                    "somebody listens: the daemons refuse each other, see D22 and D23".to_owned()
                }
                Answer::Refused => "the machine answers, and no service listens".to_owned(),
                Answer::Silent => "nothing comes back: a firewall, or the machine is off".to_owned(),
                Answer::Failed(why) => why.clone(),
            };
            format!("{}: {answer}", member.entry)
        })
        .collect();
    if reached.iter().all(|member| member.answer == Answer::Connected) {
        return Finding::warn(told.join("\n"), "see D21 for the reasons that the daemon gives");
    }
    Finding::fail(
        told.join("\n"),
        "start the service there, or open SERVER_PORT between the nodes (a security group, nft, an access list)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_reserved_ports_is_read_as_the_kernel_writes_it() {
        assert!(is_reserved("8080,50000-50010\n", 50005));
        assert!(is_reserved("50000", 50000));
        assert!(!is_reserved("", 50000) && !is_reserved("49999,50001-50002", 50000));
    }
}
