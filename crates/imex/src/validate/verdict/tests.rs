use super::*;
use crate::table::Table;
use crate::validate::member::Spared;

type Change = fn(&mut Reports);

#[test]
fn a_job_of_one_domain_and_one_of_two_partitions_are_verified() {
    let reports = domain(&["n1", "n2", "n3"]);
    assert_eq!(told(&job(&["n1", "n2", "n3"]), &reports), [""; 0]);
    let mut two = domain(&["n1", "n2"]);
    two.extend(domain(&["n3"]));
    for (node, report) in &mut two {
        report.fabric = Some(if node == "n3" { "rack2" } else { "rack1" }.into());
    }
    let job = job(&["n1", "n2", "n3"]);
    let parts = judge(&job, &two, &BTreeSet::new());
    assert_eq!(parts.iter().map(|part| part.nodes.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(exit(&parts), Exit::Done);
}

/// Each row changes what the members of a verified domain of three tell; so it must be told, and end with this code.
#[test]
fn each_fault_has_its_words_and_its_code() {
    let rows: &[(Exit, &str, Change)] = &[
        (Exit::NoReport, "n2: gave no report", |reports| drop(reports.remove("n2"))),
        (Exit::NoDaemon, "n2: no socket", |reports| {
            of(reports, "n2").table = None;
            of(reports, "n2").silent = Some("no socket".into());
        }),
        (Exit::NoDaemon, "n2: this user may not ask the daemon: no socket", |reports| {
            of(reports, "n2").table = None;
            of(reports, "n2").silent = Some("no socket".into());
            of(reports, "n2").denied = true;
        }),
        (Exit::JobNodes, "n2: its own node map does not have it", |reports| table(reports, "n2").own = None),
        (Exit::NotReady, "n2: is WAITING_FOR_PEERS", |reports| {
            table(reports, "n2").members[1].state = "WAITING_FOR_PEERS".into();
        }),
        (Exit::Unreachable, "n[1,3]: DISCONNECTED towards a-n2", |reports| {
            for node in ["n1", "n3"] {
                let table = table(reports, node);
                let own = table.own.unwrap();
                table.members[own].links[1] = "DISCONNECTED".into();
            }
        }),
        (Exit::Map, "n1: MAP_MISMATCH towards a-n3", |reports| {
            table(reports, "n1").members[0].links[2] = "MAP_MISMATCH".into();
        }),
        (Exit::Version, "n3: has another version than others: 570.1", |reports| {
            table(reports, "n3").members[2].version = "570.1".into();
        }),
        (Exit::Channel, "n2: channel 0: its mode", |reports| {
            of(reports, "n2").channel = ChannelSeen::Shut { number: Some(0), why: "its mode".into() };
        }),
        (Exit::Channel, "n2: has another channel than others: 7", |reports| {
            of(reports, "n2").channel = ChannelSeen::Open { number: 7 };
        }),
        (Exit::Channel, "n2: has no channels, and others have", |reports| {
            of(reports, "n2").channel = ChannelSeen::NotApplicable;
        }),
        (Exit::JobNodes, "n2: has no domain id, and others have one", |reports| {
            of(reports, "n2").domain_id = None;
        }),
        (Exit::Version, "n2: has another version of the driver than others: 570.86", |reports| {
            for report in reports.values_mut() {
                report.driver = Some("580.95.05".into());
            }
            of(reports, "n2").driver = Some("570.86".into());
        }),
        (Exit::Map, "n2: has another meaning of the map's names than others: n1 is 127.0.1.1", |reports| {
            of(reports, "n2").names = vec![("n1".into(), "127.0.1.1".into())];
        }),
        (Exit::JobNodes, "n3: has another domain id than others: x", |reports| {
            of(reports, "n3").domain_id = Some("x".into());
        }),
    ];
    for (code, words, change) in rows {
        let mut reports = domain(&["n1", "n2", "n3"]);
        change(&mut reports);
        let parts = judge(&job(&["n1", "n2", "n3"]), &reports, &BTreeSet::new());
        assert_eq!(exit(&parts), *code, "{parts:?}");
        let told = told(&job(&["n1", "n2", "n3"]), &reports);
        assert!(told.iter().any(|line| line == words), "{words} is not among {told:?}");
    }
}

#[test]
fn a_report_that_came_broken_is_not_taken_for_silence() {
    let mut reports = domain(&["n1", "n2"]);
    reports.remove("n2");
    let parts = judge(&job(&["n1", "n2"]), &reports, &BTreeSet::from(["n2".to_owned()]));
    assert_eq!(exit(&parts), Exit::NoReport);
    let what = "its report did not come whole, which says nothing of the domain: ask again";
    assert_eq!(parts[0].wrong.iter().map(|wrong| wrong.what.as_str()).collect::<Vec<_>>(), [what]);
}

#[test]
fn a_member_of_others_fails_and_so_does_one_that_is_lacking() {
    let four = domain(&["n1", "n2", "n3", "alien"]);
    assert_eq!(
        told(&job(&["n1", "n2", "n3"]), &four),
        ["n[1-3]: its domain has members that do not belong to it: a-alien"]
    );
    let two = domain(&["n1", "n2"]);
    let told = told(&job(&["n1", "n2", "n3"]), &two);
    assert_eq!(told, ["n3: gave no report", "n[1-2]: its domain lacks n3"]);
}

#[test]
fn a_member_that_gives_no_report_is_no_stranger_to_the_others() {
    let mut reports = domain(&["n1", "n2", "n3"]);
    reports.remove("n3");
    assert_eq!(told(&job(&["n1", "n2", "n3"]), &reports), ["n3: gave no report"]);
}

#[test]
fn a_domain_over_two_partitions_is_none() {
    let mut reports = domain(&["n1", "n2"]);
    of(&mut reports, "n1").fabric = Some("rack1".into());
    of(&mut reports, "n2").fabric = Some("rack2".into());
    let parts = judge(&job(&["n1", "n2"]), &reports, &BTreeSet::new());
    assert_eq!(exit(&parts), Exit::JobNodes);
    assert_eq!(parts.len(), 2);
    assert!(parts[0].wrong[0].what.contains("a-n2"), "{parts:?}");
}

#[test]
fn without_fabrics_the_blocks_of_the_prologs_divide() {
    let mut reports = domain(&["n1", "n2"]);
    reports.extend(domain(&["n3", "n4"]));
    for (node, report) in &mut reports {
        report.block = Some(if node < &"n3".to_owned() { "b1" } else { "b2" }.into());
        report.domain_id = Some("same".into());
    }
    let parts = judge(&job(&["n1", "n2", "n3", "n4"]), &reports, &BTreeSet::new());
    assert_eq!(parts.len(), 2);
    // Two domains that call themselves the same would take each other's notices for their own.
    assert_eq!(exit(&parts), Exit::JobNodes);
}

/// As the prologs of a job over three blocks leave it, of which two have one node each.
#[test]
fn nodes_that_are_alone_and_by_policy_have_no_domain_are_verified_without() {
    let mut reports = domain(&["n1", "n2"]);
    for report in reports.values_mut() {
        report.block = Some("b1".into());
    }
    for (node, spared) in [("n3", Spared::ChannelOnly), ("n4", Spared::Skipped)] {
        reports.extend(domain(&[node]));
        let report = of(&mut reports, node);
        (report.table, report.silent, report.domain_id) = (None, Some("no socket".into()), None);
        report.spared = Some(spared);
    }
    of(&mut reports, "n4").channel = ChannelSeen::NotApplicable;
    let job = job(&["n1", "n2", "n3", "n4"]);
    let parts = judge(&job, &reports, &BTreeSet::new());
    assert_eq!(parts.iter().map(|part| part.nodes.len()).collect::<Vec<_>>(), [2, 1, 1]);
    assert_eq!(exit(&parts), Exit::Done, "{parts:?}");
    // One that should have a domain and has none is no such node.
    of(&mut reports, "n4").spared = None;
    assert_eq!(exit(&judge(&job, &reports, &BTreeSet::new())), Exit::NoDaemon);
}

fn told(job: &Job, reports: &Reports) -> Vec<String> {
    let parts = judge(job, reports, &BTreeSet::new());
    parts
        .iter()
        .flat_map(|part| &part.wrong)
        .map(|wrong| format!("{}: {}", wrong.nodes, wrong.what))
        .collect()
}

fn job(nodes: &[&str]) -> Job {
    Job { id: "7".into(), nodes: nodes.iter().map(|node| (*node).to_owned()).collect() }
}

/// What the members of a domain tell that is as it should be.
fn domain(nodes: &[&str]) -> Reports {
    let member = |node: &&str| Member {
        address: format!("a-{node}"),
        state: "READY".into(),
        version: "580.95.05".into(),
        links: vec!["CONNECTED".into(); nodes.len()],
    };
    let reports = nodes.iter().enumerate().map(|(own, node)| {
        let members = nodes.iter().map(member).collect();
        let report = Report {
            node: (*node).to_owned(),
            table: Some(Table { own: Some(own), state: "UP".into(), members }),
            silent: None,
            denied: false,
            members: vec![],
            domain_id: Some("c.7.0".into()),
            block: None,
            driver: None,
            fabric: None,
            names: vec![("n1".into(), "10.0.0.1".into())],
            channel: ChannelSeen::Open { number: 0 },
            spared: None,
        };
        ((*node).to_owned(), Report { domain_id: Some(format!("c.7.0.{}", nodes[0])), ..report })
    });
    reports.collect()
}

fn of<'r>(reports: &'r mut Reports, node: &str) -> &'r mut Report {
    reports.get_mut(node).unwrap()
}

fn table<'r>(reports: &'r mut Reports, node: &str) -> &'r mut Table {
    of(reports, node).table.as_mut().unwrap()
}
