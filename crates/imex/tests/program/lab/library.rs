//! The lab as a library, as tests and benchmarks use it.

use std::time::Duration;

use imex_core::{DomainState, LinkState};
use imex_lab::{Lab, Life, NodeSignal, WaitError};

/// See [`crate::program`]: far above what it takes.
const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_killed_node_is_seen_by_the_others_and_heals_after_its_start() {
    let mut lab = lab(3).start().unwrap();
    lab.wait_all_up(DEADLINE).await.unwrap();

    lab.kill(1, NodeSignal::Kill).unwrap();
    let summary =
        lab.wait_until(0, DEADLINE, |summary| summary.state == DomainState::Degraded).await.unwrap();
    assert_eq!(summary.nodes, 3);
    let gone = |link: LinkState| !matches!(link, LinkState::Connected | LinkState::Invalid);
    let table = lab.wait_table(0, DEADLINE, |table| gone(table.rows[2].links[1].state)).await.unwrap();
    assert_eq!(table.state, DomainState::Degraded);

    let dead = lab.wait_up(DEADLINE).await.unwrap_err();
    assert!(matches!(dead, WaitError::NodeDead { node: 1, .. }), "a dead node is not waited for: {dead}");
    lab.start_node(1).unwrap();
    lab.wait_all_up(DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_killed_node_can_be_started_at_once() {
    let mut lab = lab(2).start().unwrap();
    for _ in 0..20 {
        lab.kill(1, NodeSignal::Kill).unwrap();
        lab.start_node(1).unwrap();
    }
}

#[tokio::test]
async fn a_dropped_lab_leaves_no_process_and_no_file() {
    let mut lab = lab(2).prepare().unwrap();
    assert!(lab.lives().iter().all(|life| matches!(life, Life::Dead { .. })));
    lab.start_all().unwrap();
    let dir = lab.layout().dir().to_owned();
    let pids = [0, 1].map(|node| lab.pid(node).unwrap());
    lab.kill(0, NodeSignal::Stop).unwrap();
    drop(lab);
    assert!(!dir.exists());
    assert!(pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
}

#[tokio::test]
async fn nodes_that_are_told_to_end_leave_gracefully() {
    let mut lab = lab(3).start().unwrap();
    lab.wait_all_up(DEADLINE).await.unwrap();
    assert_eq!(lab.end(DEADLINE).await, 0);
    for life in lab.lives() {
        let Life::Dead { end } = life else { panic!("it lives") };
        assert_eq!(end.to_string(), "exited with code 0");
    }
}

fn lab(nodes: usize) -> imex_lab::LabBuilder {
    Lab::builder(env!("CARGO_BIN_EXE_imex")).nodes(nodes)
}
