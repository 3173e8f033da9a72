//! The truth table: each row is a fault as it happens, and what every node of the domain comes to.

use imex_core::LinkState;
use proptest::prelude::*;

use super::*;
use crate::view::{Cell, Member};

/// Who reaches whom in truth: `true` where the link from the row's node to the column's is connected.
type Truth = Vec<Vec<bool>>;

/// What happened to a domain.
struct Domain {
    links: Truth,
    states: Vec<NodeState>,
    /// Whose service does not run while the machine answers.
    down: Vec<usize>,
    /// Whose service was stopped after the domain had come as far as it could, and whom it took leave of.
    left: Vec<(usize, Vec<usize>)>,
}

#[test]
fn one_node_cut_off_is_at_fault_for_itself_and_for_all_others() {
    for nodes in [3, 4, 18] {
        let mut domain = Domain::whole(nodes);
        domain.cut_off(1);
        let expected: Vec<Verdict> =
            (0..nodes).map(|node| if node == 1 { Verdict::AtFault } else { Verdict::Innocent }).collect();
        assert_eq!(domain.verdicts(), expected, "{nodes} nodes");
        let standing = Standing::AtFault { fault: Fault::Unreached { by: 0, of: nodes - 1 } };
        assert_eq!(domain.seen_by(0).standings[1], standing);
        assert_eq!(domain.seen_by(0).standings[2], Standing::Good);
    }
}

#[test]
fn a_service_that_does_not_run_is_at_fault_even_of_two_nodes() {
    for nodes in [2, 3, 18] {
        let mut domain = Domain::whole(nodes);
        domain.stop(1);
        // The node itself does not come to judge: it knows that its service failed.
        let mine = domain.seen_by(0);
        assert_eq!(mine.verdict, Verdict::Innocent, "{nodes} nodes");
        assert_eq!(mine.standings[1], Standing::AtFault { fault: Fault::NotRunning });
    }
}

#[test]
fn who_is_refused_by_more_than_half_blames_itself() {
    let mut domain = Domain::whole(4);
    for node in [1, 2, 3] {
        domain.stop(node);
    }
    assert_eq!(domain.seen_by(0).verdict, Verdict::AtFault);
}

#[test]
fn two_nodes_that_do_not_see_each_other_are_tied() {
    let mut domain = Domain::whole(2);
    domain.cut_off(1);
    assert_eq!(domain.verdicts(), [Verdict::Tied, Verdict::Tied]);
    assert_eq!(domain.seen_by(0).standings[0], Standing::Tied { tie: Tie::Half { side: 1 } });
}

#[test]
fn of_a_split_the_smaller_side_is_at_fault_and_halves_are_tied() {
    let table = [
        (2, 2, Verdict::Tied, Verdict::Tied),
        (9, 9, Verdict::Tied, Verdict::Tied),
        (6, 12, Verdict::AtFault, Verdict::Innocent),
        (1, 2, Verdict::AtFault, Verdict::Innocent),
        (8, 9, Verdict::AtFault, Verdict::Innocent),
    ];
    for (left, right, of_left, of_right) in table {
        let mut domain = Domain::whole(left + right);
        domain.split(left);
        let expected: Vec<Verdict> =
            (0..left + right).map(|node| if node < left { of_left } else { of_right }).collect();
        assert_eq!(domain.verdicts(), expected, "{left}|{right}");
    }
}

#[test]
fn nodes_that_all_reach_nobody_all_blame_themselves() {
    let mut domain = Domain::whole(4);
    for node in 0..4 {
        domain.cut_off(node);
    }
    assert_eq!(domain.verdicts(), [Verdict::AtFault; 4]);
}

#[test]
fn a_node_that_others_do_not_reach_is_at_fault_though_it_reaches_them() {
    let mut domain = Domain::whole(4);
    for other in [0, 2, 3] {
        domain.links[other][1] = false;
    }
    assert_eq!(domain.seen_by(1).verdict, Verdict::AtFault);
    assert_eq!(
        domain.seen_by(0).standings[1],
        Standing::AtFault { fault: Fault::Unreached { by: 0, of: 3 } }
    );
}

#[test]
fn two_bad_nodes_of_many_are_both_at_fault_and_nobody_else() {
    let mut domain = Domain::whole(6);
    domain.cut_off(1);
    domain.stop(4);
    let standings = domain.seen_by(0).standings;
    assert_eq!(standings[1], Standing::AtFault { fault: Fault::Unreached { by: 0, of: 4 } });
    assert_eq!(standings[4], Standing::AtFault { fault: Fault::NotRunning });
    assert_eq!([0, 2, 3, 5].map(|node| domain.seen_by(node).verdict), [Verdict::Innocent; 4]);
}

#[test]
fn a_single_missing_link_ties_its_ends_alone() {
    let mut domain = Domain::whole(4);
    domain.break_link(1, 2);
    assert_eq!(domain.verdicts(), [Verdict::Innocent, Verdict::Tied, Verdict::Tied, Verdict::Innocent]);
    assert_eq!(domain.seen_by(0).standings[2], Standing::Tied { tie: Tie::Link { with: 1 } });
}

#[test]
fn the_end_that_misses_more_links_is_at_fault() {
    let mut domain = Domain::whole(6);
    domain.break_link(1, 2);
    domain.break_link(1, 3);
    assert_eq!(domain.seen_by(0).standings[1], Standing::AtFault { fault: Fault::Links { missing: 2 } });
    assert_eq!(domain.seen_by(0).standings[2], Standing::Good);
    assert_eq!(domain.seen_by(1).verdict, Verdict::AtFault);
}

#[test]
fn a_connected_node_that_is_not_ready_is_at_fault_unless_it_waits_for_another() {
    for state in [NodeState::InitGpu, NodeState::Initializing, NodeState::WaitingForRecovery] {
        let mut domain = Domain::whole(3);
        domain.states[1] = state;
        let expected = Standing::AtFault { fault: Fault::NotReady { state: state.word() } };
        assert_eq!(domain.seen_by(0).standings[1], expected);
        assert_eq!(domain.seen_by(1).verdict, Verdict::AtFault);
    }
    let mut domain = Domain::whole(3);
    domain.states = vec![NodeState::WaitingForPeers; 3];
    domain.cut_off(2);
    assert_eq!(domain.verdicts(), [Verdict::Innocent, Verdict::Innocent, Verdict::AtFault]);
}

#[test]
fn who_leaves_after_its_verdict_changes_no_other_verdict() {
    // The innocent nodes of a domain with one bad node do not judge in the same instant: the first to judge is stopped by its
    // epilog before the last one looks.
    for nodes in [3, 5, 18] {
        let mut domain = Domain::whole(nodes);
        domain.stop(1);
        for leaver in (0..nodes - 1).filter(|node| *node != 1) {
            assert_eq!(domain.seen_by(nodes - 1).verdict, Verdict::Innocent, "{leaver} of {nodes}");
            domain.leave(leaver);
        }
        let last = domain.seen_by(nodes - 1);
        assert_eq!((last.verdict, &last.standings[0]), (Verdict::Innocent, &Standing::Left), "{nodes}");
        assert_eq!(last.standings[1], Standing::AtFault { fault: Fault::NotRunning });
    }
}

#[test]
fn a_node_cut_off_is_at_fault_though_all_others_have_left() {
    let mut domain = Domain::whole(5);
    domain.cut_off(2);
    for leaver in [0, 1, 3, 4] {
        assert_eq!(domain.seen_by(2).verdict, Verdict::AtFault);
        domain.leave(leaver);
    }
    assert_eq!(domain.seen_by(2).verdict, Verdict::AtFault);
}

#[test]
fn a_domain_that_others_leave_for_reasons_unseen_is_given_up() {
    let mut domain = Domain::whole(4);
    domain.leave(1);
    domain.leave(3);
    assert_eq!(domain.seen_by(0).verdict, Verdict::Abandoned);
}

#[test]
fn what_all_are_slow_at_is_nobodys_fault() {
    let mut domain = Domain::whole(18);
    domain.states = vec![NodeState::InitGpu; 18];
    assert_eq!(domain.verdicts(), [Verdict::Unexplained; 18]);
    domain.states[3..].fill(NodeState::Ready);
    assert_eq!(
        domain.verdicts()[..4],
        [Verdict::AtFault, Verdict::AtFault, Verdict::AtFault, Verdict::Innocent]
    );
}

#[test]
fn one_node_alone_is_good_or_not_ready() {
    let mut domain = Domain::whole(1);
    domain.states[0] = NodeState::InitGpu;
    assert_eq!(domain.verdicts(), [Verdict::AtFault]);
    assert_eq!(Domain::whole(1).verdicts(), [Verdict::Up]);
}

proptest! {
    /// Whatever links are missing: while the domain is not UP somebody does not find itself innocent, so that something is
    /// drained and the job does not come back to the same nodes for ever.
    #[test]
    fn of_any_domain_that_is_not_up_somebody_is_at_fault_or_tied(
        nodes in 2_usize..7,
        missing in prop::collection::vec((0_usize..6, 0_usize..6), 1..12),
    ) {
        let mut domain = Domain::whole(nodes);
        for (from, to) in missing {
            if from != to && from < nodes && to < nodes {
                domain.links[from][to] = false;
            }
        }
        let verdicts = domain.verdicts();
        let up = verdicts.iter().all(|verdict| *verdict == Verdict::Up);
        prop_assert!(up || verdicts.iter().any(|verdict| matches!(verdict, Verdict::AtFault | Verdict::Tied)), "{verdicts:?}");
        prop_assert!(!verdicts.contains(&Verdict::Unexplained), "{verdicts:?}");
    }
}

impl Domain {
    fn whole(nodes: usize) -> Self {
        Domain {
            links: vec![vec![true; nodes]; nodes],
            states: vec![NodeState::Ready; nodes],
            down: Vec::new(),
            left: Vec::new(),
        }
    }

    fn cut_off(&mut self, node: usize) {
        for other in (0..self.links.len()).filter(|other| *other != node) {
            self.break_link(node, other);
        }
    }

    fn break_link(&mut self, one: usize, other: usize) {
        self.links[one][other] = false;
        self.links[other][one] = false;
    }

    fn split(&mut self, left: usize) {
        for one in 0..left {
            for other in left..self.links.len() {
                self.break_link(one, other);
            }
        }
    }

    fn stop(&mut self, node: usize) {
        self.cut_off(node);
        self.down.push(node);
    }

    /// An epilog stops a node's service: it takes leave of those that it reaches.
    fn leave(&mut self, node: usize) {
        let others =
            (0..self.links.len()).filter(|other| *other != node && self.links[*other][node]).collect();
        self.stop(node);
        self.left.push((node, others));
    }

    /// What a node sees: its own row, and the rows of those that it reaches, for it asks them over its own links.
    fn seen_by(&self, own: usize) -> Judgement {
        let heard = |node: usize| node == own || self.links[own][node];
        let members = (0..self.links.len()).map(|node| self.member(node, heard(node)));
        let members: Vec<Member> = members.collect();
        let up = self.links.iter().flatten().all(|link| *link)
            && self.states.iter().all(|s| *s == NodeState::Ready);
        let state = if up { DomainState::Up } else { DomainState::Degraded };
        judge(&View { own, members, state })
    }

    fn member(&self, node: usize, heard: bool) -> Member {
        let cell = |to: usize| {
            let state = match (heard, self.links[node][to]) {
                (false, _) => LinkState::Invalid,
                (true, true) => LinkState::Connected,
                (true, false) => LinkState::NeverConnected,
            };
            let leave = self.left.iter().find(|(left, _)| *left == to);
            let proof = match leave {
                Some((_, others)) if others.contains(&node) => Proof::Left,
                Some(_) | None if self.down.contains(&to) => Proof::NobodyListens,
                Some(_) | None => Proof::Nothing,
            };
            Cell { state, cause: None, proof }
        };
        Member {
            address: format!("10.0.0.{node}"),
            state: if heard { self.states[node] } else { NodeState::Unavailable },
            version: String::new(),
            voice: if heard { Voice::Heard } else { Voice::Silent },
            links: (0..self.links.len()).map(cell).collect(),
        }
    }

    fn verdicts(&self) -> Vec<Verdict> {
        (0..self.links.len()).map(|node| self.seen_by(node).verdict).collect()
    }
}
