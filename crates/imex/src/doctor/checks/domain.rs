//! Checks of the domain, as the local daemon sees it.

use std::collections::BTreeMap;

use imex_config::operator::Provider;
use imex_core::{DomainState, LinkState, NodeState};

use super::Finding;
use super::service;
use crate::doctor::facts::{Admission, Domain, Facts, Told};

/// Counters of refused members, with what each means (docs/statistics.md).
pub(super) const REFUSALS: [(&str, &str); 9] = [
    ("RefusedVersion", "another version"),
    ("RefusedMap", "another node map"),
    ("RefusedNotAtItsAddress", "two nodes with one id, or a NAT between"),
    ("RefusedUnproven", "a node whose credential does not prove that it is one"),
    ("RefusedAddressUnknown", "a node with another map, or somebody who knows the protocol"),
    ("StrangersUnauthenticated", "a connection that did not prove who it is"),
    ("StrangersForeign", "a connection from an address that is no node's"),
    ("StrangersTurnedAway", "more connections than can be heard: somebody floods the port"),
    ("Violations", "a breach of the protocol"),
];

/// What the version column says without a GPU.
const NO_GPU: &str = "NO_GPU";

/// The domain, or why there is nothing to say about it.
fn domain(facts: &Facts) -> Result<&Domain, Finding> {
    match &facts.domain {
        Told::Known(domain) => Ok(domain),
        Told::Unknown(why) if !service::is_expected(facts) => {
            Err(Finding::not_applicable(format!("no daemon is expected to run: {why}")))
        }
        Told::Unknown(_) => Err(Finding::not_applicable("the daemon does not answer (D20)")),
    }
}

pub(super) fn answers(facts: &Facts) -> Finding {
    match &facts.domain {
        Told::Known(domain) => Finding::ok(format!("it knows {} members", domain.table.members.len())),
        Told::Unknown(why) if !service::is_expected(facts) => {
            Finding::not_applicable(format!("no daemon is expected to run: {why}"))
        }
        Told::Unknown(why) if facts.admission == Admission::Denied => {
            Finding::unknown(format!("you must not ask it: {why}"))
        }
        Told::Unknown(why) => Finding::fail(why, "is it running (D11)? its log says more"),
    }
}

pub(super) fn up(facts: &Facts) -> Finding {
    let Domain { table, diagnosis } = match domain(facts) {
        Ok(domain) => domain,
        Err(finding) => return finding,
    };
    let count = table.members.len();
    if table.state == DomainState::Up.word() {
        return Finding::ok(format!("UP with {count} members"));
    }
    let missing = table.members.iter().filter(|member| !member.is_complete());
    let missing: Vec<String> =
        missing.map(|member| format!("{} is {}", member.address, member.state)).collect();
    let why = if diagnosis.is_empty() { missing.join("\n") } else { diagnosis.clone() };
    Finding::fail(
        format!("{}, with {count} members\n{why}", table.state),
        "look at the nodes that are named; `imex wait` waits for them and names them again",
    )
}

pub(super) fn same_map(facts: &Facts) -> Finding {
    linked(
        facts,
        LinkState::MapMismatch,
        "compare the node map there with the one here; requeue the job, so that all write it anew and restart",
    )
}

pub(super) fn same_version(facts: &Facts) -> Finding {
    linked(
        facts,
        LinkState::VersionMismatch,
        "install one version of driver and service on all nodes of the rack",
    )
}

fn linked(facts: &Facts, state: LinkState, fix: &'static str) -> Finding {
    let domain = match domain(facts) {
        Ok(domain) => domain,
        Err(finding) => return finding,
    };
    let members = domain.table.linked(|link| link == state.word());
    if members.is_empty() {
        Finding::ok("none of the members")
    } else {
        Finding::fail(format!("{}: {}", state.word(), members.join(", ")), fix)
    }
}

pub(super) fn versions(facts: &Facts) -> Finding {
    let domain = match domain(facts) {
        Ok(domain) => domain,
        Err(finding) => return finding,
    };
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for member in domain.table.members.iter().filter(|member| !member.version.is_empty()) {
        versions.entry(&member.version).or_default().push(&member.address);
    }
    if versions.len() > 1 {
        let told: Vec<String> =
            versions.iter().map(|(version, nodes)| format!("{version}: {}", nodes.join(", "))).collect();
        return Finding::fail(told.join("\n"), "install one version on all nodes of the rack");
    }
    let own = domain.table.own_row().map_or("", |row| row.version.as_str());
    match &facts.driver.version {
        // The text form of a version is shorter than the driver's.
        Some(driver)
            if !own.is_empty()
                && own != NO_GPU
                && !driver.starts_with(own)
                && !own.starts_with(driver.as_str()) =>
        {
            Finding::fail(
                format!("the service has version {own}, the driver {driver}"),
                "install the service of the driver's version",
            )
        }
        Some(_) | None => Finding::ok(versions.keys().next().map_or("none is told", |version| *version)),
    }
}

pub(super) fn command_port(facts: &Facts) -> Finding {
    if facts.operator.service.provider == Provider::Imexd {
        return Finding::not_applicable("imexd tells the domain's state over its one port");
    }
    let domain = match domain(facts) {
        Ok(domain) => domain,
        Err(finding) => return finding,
    };
    let links = domain.table.own_row().map_or(&[][..], |row| &row.links);
    let both = links.iter().zip(&domain.table.members);
    let silent: Vec<&str> = both
        .filter(|(link, member)| {
            *link == LinkState::Connected.word() && member.state == NodeState::Unavailable.word()
        })
        .map(|(_, member)| member.address.as_str())
        .collect();
    if silent.is_empty() {
        return Finding::ok("no member is connected and UNAVAILABLE");
    }
    Finding::fail(
        format!("connected, and UNAVAILABLE to the control tool: {}", silent.join(", ")),
        "open IMEX_CMD_PORT between the nodes, and set IMEX_CMD_ENABLED=1 on all",
    )
}

pub(super) fn refusals(facts: &Facts) -> Finding {
    let counters = &facts.config.counters;
    if counters.is_empty() {
        return Finding::not_applicable("the daemon has written no counters");
    }
    let told: Vec<String> = (REFUSALS.iter())
        .filter_map(|(name, means)| Some((name, means, counters.get(*name).filter(|count| **count > 0)?)))
        .map(|(name, means, count)| format!("{name} {count}: {means}"))
        .collect();
    if told.is_empty() {
        Finding::ok("no refused member since the daemon's start")
    } else {
        Finding::warn(
            told.join("\n"),
            "the daemon's log names the members; docs/statistics.md tells when to look",
        )
    }
}
