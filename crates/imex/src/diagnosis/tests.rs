use std::sync::Arc;

use imex_core::cause::Unreachable;
use imex_core::{LinkReport, MapDifference, NodeId, NodeRow};

use super::*;

#[test]
fn a_domain_that_is_up_has_no_problem() {
    let table = judged(whole(18));
    let diagnosis = Diagnosis::of(&table);
    assert_eq!(lines(&table), Vec::<String>::new());
    assert_eq!(diagnosis.exit(table.state), Exit::Done);
}

#[test]
fn one_dead_node_of_eighteen_is_one_line() {
    let mut table = whole(18);
    die(&mut table, 5, &Cause::Unreachable(Unreachable::PortClosed));
    let table = judged(table);
    let expected =
        "node 5 (10.0.0.5) is UNAVAILABLE: nobody listens on its port (seen from 17 nodes, for 3.0 s)";
    assert_eq!(lines(&table), [expected]);
    assert_eq!(Diagnosis::of(&table).missing.len(), 17);
    assert_eq!(Diagnosis::of(&table).exit(table.state), Exit::Unreachable);
}

#[test]
fn half_a_rack_that_is_away_is_one_line() {
    let mut table = whole(18);
    for node in 9..18 {
        die(&mut table, node, &Cause::Silent);
    }
    let expected = "nodes 9-17 are UNAVAILABLE: it stopped answering (seen from 9 nodes, for 3.0 s)";
    assert_eq!(lines(&judged(table)), [expected]);
}

#[test]
fn a_viewer_with_a_wrong_map_is_the_culprit_and_not_the_seventeen_others() {
    let mut table = whole(18);
    let cause = map_differs();
    for node in 1..18 {
        table.rows[node] = NodeRow::no_answer(table.rows[node].address.clone(), 18);
        break_link(&mut table, (0, node), LinkState::MapMismatch, &cause);
    }
    let table = judged(table);
    let expected = "node 0 (10.0.0.0) is READY: it sees of 17 nodes: its node map differs: entry 3: a here, b there \
                    (for 3.0 s)";
    assert_eq!(lines(&table), [expected]);
    assert_eq!(Diagnosis::of(&table).exit(table.state), Exit::Map);
}

#[test]
fn what_waiting_does_not_heal_comes_first_and_decides_the_exit_code() {
    let mut table = whole(6);
    die(&mut table, 1, &Cause::Silent);
    die(&mut table, 4, &map_differs());
    table.rows[2].state = NodeState::WaitingForRecovery;
    let table = judged(table);
    let kinds: Vec<Kind> = Diagnosis::of(&table).problems.iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds, [Kind::Map, Kind::Unreachable, Kind::NotReady]);
    assert_eq!(Diagnosis::of(&table).exit(table.state), Exit::Map);
}

#[test]
fn of_two_nodes_the_one_that_does_not_answer_is_the_culprit() {
    let mut table = whole(2);
    die(&mut table, 0, &Cause::ConnectionReset);
    table.viewer = Some(NodeId::new(1));
    assert_eq!(
        lines(&judged(table)),
        ["node 0 (10.0.0.0) is UNAVAILABLE: it closed the connection (seen from node 1, for 3.0 s)"]
    );
}

#[test]
fn a_single_broken_direction_is_told_of_its_far_end() {
    let mut table = whole(4);
    break_link(&mut table, (1, 3), LinkState::Recovering, &Cause::Silent);
    assert_eq!(
        lines(&judged(table)),
        [
            "node 3 (10.0.0.3) is READY, but at the last try: it stopped answering (seen from node 1, for 3.0 s)"
        ]
    );
}

#[test]
fn a_connected_node_that_is_not_ready_is_told_with_its_state() {
    let mut table = whole(3);
    table.rows[2].state = NodeState::InitGpu;
    let table = judged(table);
    assert_eq!(lines(&table), ["node 2 (10.0.0.2) is INIT_GPU"]);
    assert_eq!(Diagnosis::of(&table).exit(table.state), Exit::NotReady);
}

#[test]
fn a_node_that_cannot_prove_itself_is_not_just_out_of_reach() {
    let mut table = whole(3);
    for other in [0, 2] {
        break_link(
            &mut table,
            (1, other),
            LinkState::NeverConnected,
            &Cause::Unreachable(Unreachable::PortClosed),
        );
        break_link(
            &mut table,
            (other, 1),
            LinkState::NeverConnected,
            &Cause::Unreachable(Unreachable::PortClosed),
        );
    }
    table.rows[1].state = NodeState::StartingAuthServer;
    let table = judged(table);
    assert_eq!(Diagnosis::of(&table).exit(table.state), Exit::Unauthenticated);
    assert!(
        lines(&table)[0].starts_with("node 1 (10.0.0.1) is STARTING_AUTH_SERVER: "),
        "{:?}",
        lines(&table)
    );
}

#[test]
fn nodes_of_which_nothing_is_known_are_told_too() {
    let mut table = whole(3);
    for row in &mut table.rows {
        *row = NodeRow::no_answer(row.address.clone(), 3);
    }
    table.viewer = None;
    let table = judged(table);
    assert_eq!(lines(&table), ["nodes 0-2 are UNAVAILABLE"]);
    assert_eq!(Diagnosis::of(&table).exit(table.state), Exit::Unreachable);
}

fn whole(nodes: u16) -> DomainTable {
    let connected = LinkReport { state: LinkState::Connected, cause: None, since: Duration::from_secs(60) };
    let rows = (0..nodes).map(|node| NodeRow {
        address: format!("10.0.0.{node}").into(),
        state: NodeState::Ready,
        version: "NO_GPU".into(),
        host: "".into(),
        evidence: Evidence::Reported,
        links: vec![connected.clone(); usize::from(nodes)],
    });
    DomainTable { viewer: Some(NodeId::new(0)), rows: rows.collect(), state: DomainState::Up }
}

fn die(table: &mut DomainTable, node: usize, cause: &Cause) {
    let len = table.rows.len();
    table.rows[node] = NodeRow::no_answer(table.rows[node].address.clone(), len);
    for from in 0..len {
        if table.rows[from].evidence != Evidence::NoAnswer {
            break_link(table, (from, node), LinkState::Disconnected, cause);
        }
    }
}

fn break_link(table: &mut DomainTable, (from, to): (usize, usize), state: LinkState, cause: &Cause) {
    table.rows[from].links[to] =
        LinkReport { state, cause: Some(cause.clone()), since: Duration::from_secs(3) };
}

fn map_differs() -> Cause {
    let difference = MapDifference { index: 3, ours: Some("a".to_owned()), theirs: Some("b".to_owned()) };
    Cause::MapDiffers { differences: Arc::new([difference]) }
}

fn judged(mut table: DomainTable) -> DomainTable {
    table.state = DomainTable::judge(&table.rows);
    table
}

fn lines(table: &DomainTable) -> Vec<String> {
    let mut out = Vec::new();
    Diagnosis::of(table).write(&mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(|line| line.trim_start().to_owned()).collect()
}
