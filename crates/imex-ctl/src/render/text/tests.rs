use imex_core::{NodeId, NodeState};
use insta::assert_snapshot;

use super::*;
use crate::render::tests::report;
use crate::sample::{connected, silence};

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
fn a_known_consumers_expression_finds_every_part() {
    let row =
        r"^Node\s+#(\d+)\s+([*-])\s+(\S+)\s+[*\s]+-\s+(\S+)\s+-\s+Version:\s*(.*?)\s+-\s+Hostname:\s*(\S*)";
    let row = regex::Regex::new(row).expect("it is one");
    let mut table = connected(3);
    table.rows[0].address = "180.100.41.1".into();
    table.rows[1].address = "180.100.41.232".into();
    table.viewer = Some(NodeId::new(1));
    silence(&mut table, 2);
    let text = rendered(table, HostNames::Shown);
    let parts = text.lines().filter_map(|line| row.captures(line));
    let found: Vec<[&str; 6]> = parts.map(|parts| parts.extract().1).collect();
    let expected = [
        ["0", "-", "180.100.41.1", "READY", "570.172", "rack1-host00"],
        ["1", "*", "180.100.41.232", "READY", "570.172", "rack1-host01"],
        ["2", "-", "10.31.48.35", "UNAVAILABLE", "", ""],
    ];
    assert_eq!(found, expected);
}

#[test]
fn whose_view_it_is_takes_one_line_and_none_if_it_is_the_daemons() {
    let line = |view: &View| {
        let mut out = Vec::new();
        whose_view(view, &mut out).expect("a vector takes anything");
        String::from_utf8(out).expect("it is text")
    };
    let tools = |port| View::Tool { because: "nobody listens at /run/imexd/cmd.sock".to_owned(), port };
    assert_eq!(line(&View::Daemon), "");
    assert_snapshot!(line(&tools(Some(50_005))) + &line(&tools(None)));
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
