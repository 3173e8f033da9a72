use imex_core::{LinkState, NodeId};
use insta::assert_snapshot;

use super::*;
use crate::render::tests::report;
use crate::sample::{connected, silence};

#[test]
fn one_node_alone() {
    assert_snapshot!(rendered(connected(1), Since::FIRST, HostNames::Hidden));
}

#[test]
fn a_node_that_does_not_answer_is_unavailable_and_unchanged() {
    let mut table = connected(2);
    table.rows[0].links[1].state = LinkState::NeverConnected;
    silence(&mut table, 1);
    assert_snapshot!(rendered(table, Since::FIRST, HostNames::Hidden));
}

#[test]
fn names_are_shown_when_asked_for() {
    let mut table = connected(3);
    table.viewer = Some(NodeId::new(0));
    assert_snapshot!(rendered(table, Since::FIRST, HostNames::Shown));
}

#[test]
fn only_what_differs_from_the_report_before_is_changed() {
    let before = connected(2);
    let mut now = before.clone();
    now.rows[0].links[1].state = LinkState::Recovering;
    now.state = DomainTable::judge(&now.rows);
    assert_snapshot!(rendered(now, Since::report(&before), HostNames::Hidden));
}

#[test]
fn every_link_state_has_its_word() {
    let mut table = connected(8);
    for (link, state) in table.rows[0].links.iter_mut().zip(LinkState::ALL) {
        link.state = state;
    }
    let text = rendered(table, Since::FIRST, HostNames::Hidden);
    let words = LinkState::ALL.map(|state| format!("\"status\": \"{}\"", state.word()));
    let missing: Vec<&String> = words.iter().filter(|word| !text.contains(*word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn nodes_are_in_the_order_of_their_numbers() {
    let text = rendered(connected(12), Since::FIRST, HostNames::Hidden);
    let keys: Vec<&str> = text.lines().filter(|line| line.starts_with("  \"")).collect();
    let expected: Vec<String> = (0..12).map(|id| format!("  \"{id}\": {{")).collect();
    assert_eq!(keys, expected);
}

#[test]
fn the_last_status_is_the_domains() {
    let mut table = connected(18);
    silence(&mut table, 17);
    let text = rendered(table, Since::FIRST, HostNames::Shown);
    let last = text.rfind("\"status\":").expect("there is one");
    assert_eq!(&text[last..], "\"status\": \"DEGRADED\"\n}\n");
}

fn rendered(table: DomainTable, since: Since<'_>, names: HostNames) -> String {
    let mut out = Vec::new();
    domain(&report(table), since, names, &mut out).expect("a vector takes anything");
    String::from_utf8(out).expect("the layout is text")
}
