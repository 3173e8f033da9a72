use imex_core::{NodeId, NodeState};
use insta::assert_snapshot;

use super::*;
use crate::sample::{connected, report, silence};

#[test]
fn one_node_alone() {
    assert_snapshot!(rendered(connected(1), HostNames::Hidden));
}

#[test]
fn a_full_rack() {
    assert_snapshot!(rendered(connected(18), HostNames::Hidden));
}

#[test]
fn the_viewer_has_stars_and_names_stand_last() {
    let mut table = connected(3);
    table.viewer = Some(NodeId::new(1));
    silence(&mut table, 2);
    assert_snapshot!(rendered(table, HostNames::Shown));
}

#[test]
fn every_letter_keeps_the_columns_straight() {
    let mut table = connected(8);
    for (from, row) in table.rows.iter_mut().enumerate() {
        row.links.iter_mut().zip(0..).for_each(|(link, to): (_, usize)| {
            link.state = LinkState::ALL[(from + to) % LinkState::ALL.len()];
        });
        row.state = NodeState::ALL[from];
    }
    table.state = DomainTable::judge(&table.rows);
    assert_snapshot!(rendered(table, HostNames::Hidden));
}

#[test]
fn long_addresses_push_the_rest_to_the_right() {
    let mut table = connected(3);
    table.rows[0].address = "compute-domain-daemon-0000".into();
    table.rows[0].version = "NO_GPU".into();
    table.rows[1].address = "2001:db8:4a0::17".into();
    table.rows[2].address = "10.131.148.101".into();
    table.viewer = Some(NodeId::new(2));
    assert_snapshot!(rendered(table, HostNames::Hidden));
}

#[test]
fn the_legend_has_nine_lines_and_the_time_follows_an_empty_one() {
    let text = rendered(connected(3), HostNames::Hidden);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Connectivity Table Legend:");
    assert!(lines[1..9].iter().all(|line| line.contains(" - ")));
    assert_eq!(lines[9..12], ["", "5/4/2026 06:08:10.580", "Nodes:"]);
    assert_eq!(lines.last(), Some(&"Domain State: UP"));
}

#[test]
fn no_line_of_a_table_whose_nodes_all_answer_ends_in_a_blank() {
    let text = rendered(connected(18), HostNames::Hidden);
    assert_eq!(text.lines().find(|line| line.ends_with(' ')), None);
}

#[test]
fn columns_still_stand_apart_beyond_a_thousand_nodes() {
    let mut table = connected(1);
    table.rows = vec![table.rows[0].clone(); 1_002];
    let text = rendered(table, HostNames::Hidden);
    let header = text.lines().find(|line| line.contains("From\\To"));
    assert!(header.is_some_and(|header| header.ends_with("999  1000 1001")));
}

#[test]
fn only_driver_versions_are_shortened() {
    let shortened = ["570.172.08", "580.30", "580.95.05.1", "NO_GPU", "", "v1.2.3"].map(short_version);
    assert_eq!(shortened, ["570.172", "580.30", "580.95", "NO_GPU", "", "v1.2.3"]);
}

#[test]
fn a_host_name_cannot_move_the_cursor() {
    let mut table = connected(1);
    table.rows[0].host = "\x1b[2Jnode\n".into();
    let text = rendered(table, HostNames::Shown);
    assert!(text.contains("Hostname: ?[2Jnode?\n"), "{text}");
}

fn rendered(table: DomainTable, names: HostNames) -> String {
    let mut out = Vec::new();
    domain(&report(table), names, &mut out).expect("a vector takes anything");
    String::from_utf8(out).expect("the layout is text")
}
