//! A judgement in words: for the log, and for whoever asks why a node was drained.

use std::collections::BTreeMap;

use imex_core::{LinkState, NodeState};

use super::{Fault, Judgement, Standing, Tie, Verdict};
use crate::view::{Cell, View, Voice};

/// A judgement in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// One sentence.
    pub summary: String,
    /// A line for each member that something speaks against.
    pub lines: Vec<String>,
}

/// Why a member that cannot authenticate itself has no link. What exactly is wrong only its daemon knows.
const UNPROVEN: &str = "it is STARTING_AUTH_SERVER: its munged, key table or KDC does not work yet, its service's log says \
                        why";

/// How many members a sentence names before it counts them.
const NAMED: usize = 3;

/// Puts a judgement in words. `names` are those of the members, in the order of the map.
pub fn describe(view: &View, judgement: &Judgement, names: &[String]) -> Told {
    let name = |member: usize| names.get(member).map_or("?", String::as_str);
    let line = |(member, standing): (usize, &Standing)| {
        let against = against(standing, &name)?;
        let cause = cause(view, member).map(|cause| format!(" ({cause})")).unwrap_or_default();
        Some(format!("{} [{}] {against}{cause}", name(member), view.members[member].address))
    };
    let lines: Vec<String> = judgement.standings.iter().enumerate().filter_map(line).collect();
    let state = view.state.word();
    let own = lines.iter().find(|line| line.split(' ').next() == Some(name(view.own)));
    let summary = match (judgement.verdict, own) {
        (Verdict::Up, _) => "the domain is UP".to_owned(),
        (Verdict::AtFault, Some(line)) => format!("the domain is {state} and this node is at fault: {line}"),
        (Verdict::Tied, Some(line)) => {
            format!("the domain is {state} and nobody can tell which side is at fault: {line}")
        }
        (Verdict::Innocent, _) => {
            format!("the domain is {state} and this node is not at fault: {}", some(&lines))
        }
        (Verdict::Abandoned, _) => format!("the domain is {state} and given up elsewhere: {}", some(&lines)),
        (Verdict::AtFault | Verdict::Tied, None) | (Verdict::Unexplained, _) => {
            format!(
                "the domain is {state} and nothing shows why: {} of {} nodes are READY",
                view.ready(),
                names.len()
            )
        }
    };
    Told { summary, lines }
}

fn some(lines: &[String]) -> String {
    let mut shown: Vec<String> = lines.iter().take(NAMED).cloned().collect();
    if lines.len() > NAMED {
        shown.push(format!("and {} more", lines.len() - NAMED));
    }
    shown.join("; ")
}

fn against<'n>(standing: &Standing, name: &impl Fn(usize) -> &'n str) -> Option<String> {
    let text = match standing {
        Standing::Good => return None,
        Standing::Left => "has left: its service was stopped".to_owned(),
        Standing::AtFault { fault: Fault::NotRunning } => "is at fault: its service does not run".to_owned(),
        Standing::AtFault { fault: Fault::Unreached { by, of } } => {
            format!("is at fault: {by} of {of} other nodes reach it")
        }
        Standing::AtFault { fault: Fault::NotReady { state } } => {
            format!("is at fault: it is connected but {state}")
        }
        Standing::AtFault { fault: Fault::Silent } => {
            "is at fault: it is connected but does not answer".to_owned()
        }
        Standing::AtFault { fault: Fault::Links { missing } } => {
            format!("is at fault: {missing} of its links are missing")
        }
        Standing::Tied { tie: Tie::Half { side } } => {
            format!("is one of {side} nodes, half of the domain, that the other half does not see")
        }
        Standing::Tied { tie: Tie::Link { with } } => format!("has no link with {}", name(*with)),
    };
    Some(text)
}

/// What is said most often about why links to a member are missing, or, if nobody says anything, what it says itself: that
/// it could not yet begin, or about its links to others, for of whoever refuses everybody only its own word may be known.
/// Of equals the first by letter.
fn cause(view: &View, member: usize) -> Option<String> {
    let heard = |from: &usize| view.members[*from].voice == Voice::Heard;
    if heard(&member) && view.members[member].state == NodeState::StartingAuthServer {
        return Some(UNPROVEN.to_owned());
    }
    let others = || (0..view.members.len()).filter(|other| *other != member);
    let of_others = others().filter(heard).map(|from| &view.members[from].links[member]);
    let own = others().filter(|_| heard(&member)).map(|to| &view.members[member].links[to]);
    most_frequent(of_others).or_else(|| most_frequent(own))
}

fn most_frequent<'v>(cells: impl Iterator<Item = &'v Cell>) -> Option<String> {
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for why in cells.filter_map(why) {
        *causes.entry(why).or_default() += 1;
    }
    let most = causes.values().max().copied()?;
    causes.into_iter().find(|(_, count)| *count == most).map(|(cause, _)| cause.to_owned())
}

/// Why a link is missing: as its own end says, or, where the control tool tells no more than a state, what that means.
fn why(cell: &Cell) -> Option<&str> {
    let meant = match cell.state {
        LinkState::Connected => return None,
        // Its node was not asked, or answers with the links of another map.
        LinkState::Invalid => None,
        LinkState::NeverConnected => Some("no connection was made"),
        LinkState::Recovering | LinkState::Disconnected => Some("the connection was lost"),
        LinkState::Authenticating => Some("the two do not come to know each other"),
        LinkState::VersionMismatch => Some("its version is another one"),
        LinkState::MapMismatch => Some("its node map is another one"),
    };
    cell.cause.as_deref().or(meant)
}

#[cfg(test)]
mod tests {
    use imex_core::DomainState;

    use super::*;
    use crate::blame::judge;
    use crate::view::{Member, Proof};

    #[test]
    fn an_innocent_node_names_the_one_at_fault_and_why() {
        let told = told(0, &[(0, 2), (1, 2)], &[2]);
        assert_eq!(
            told.lines,
            ["n3 [10.0.0.2] is at fault: 0 of 2 other nodes reach it (nothing came back in time)"]
        );
        let expected = "the domain is DEGRADED and this node is not at fault: n3 [10.0.0.2] is at fault: 0 of 2 other nodes \
                        reach it (nothing came back in time)";
        assert_eq!(told.summary, expected);
    }

    #[test]
    fn the_node_at_fault_says_so_itself() {
        let told = told(2, &[(2, 0), (2, 1)], &[0, 1]);
        assert!(
            told.summary.starts_with("the domain is DEGRADED and this node is at fault: n3 "),
            "{}",
            told.summary
        );
        assert!(told.summary.ends_with(" reach it (nothing came back in time)"), "{}", told.summary);
    }

    #[test]
    fn a_tie_names_the_other_end() {
        let told = told(0, &[(0, 1), (1, 0)], &[]);
        let expected = "the domain is DEGRADED and nobody can tell which side is at fault: n1 [10.0.0.0] has no link with n2 \
                        (nothing came back in time)";
        assert_eq!(told.summary, expected);
    }

    #[test]
    fn a_node_that_cannot_prove_itself_says_that_and_not_that_it_has_no_links() {
        let missing = [(0, 1), (1, 0), (0, 2), (2, 0)];
        let mut view = view(0, &missing, &[1, 2]);
        view.members[0].state = NodeState::StartingAuthServer;
        let told = describe(&view, &judge(&view), &NAMES.map(str::to_owned));
        assert!(
            told.summary.contains("n1 [10.0.0.0] is at fault: 0 of 2 other nodes reach it (it is STARTING"),
            "{told:?}"
        );
    }

    #[test]
    fn where_no_cause_is_told_the_state_is_put_in_words() {
        let told = |own, state| {
            let mut view = view(own, &[(0, 2), (1, 2), (2, 0), (2, 1)], &[]);
            for cell in view.members.iter_mut().flat_map(|member| &mut member.links) {
                if !cell.is_connected() {
                    *cell = Cell { state, cause: None, proof: Proof::Nothing };
                }
            }
            // A node with another map answers for itself, but its links are not those of this map.
            let strange = if own == 2 { [0, 1].as_slice() } else { &[2] };
            for member in strange {
                view.members[*member].links.iter_mut().for_each(|cell| cell.state = LinkState::Invalid);
            }
            describe(&view, &judge(&view), &NAMES.map(str::to_owned)).summary
        };
        for (state, words) in [
            (LinkState::MapMismatch, " (its node map is another one)"),
            (LinkState::VersionMismatch, " (its version is another one)"),
            (LinkState::Recovering, " (the connection was lost)"),
        ] {
            for own in 0..3 {
                let told = told(own, state);
                assert!(told.contains("n3 [10.0.0.2] is at fault: ") && told.contains(words), "{told}");
            }
        }
    }

    const NAMES: [&str; 3] = ["n1", "n2", "n3"];

    fn told(own: usize, missing: &[(usize, usize)], silent: &[usize]) -> Told {
        let view = view(own, missing, silent);
        describe(&view, &judge(&view), &NAMES.map(str::to_owned))
    }

    fn view(own: usize, missing: &[(usize, usize)], silent: &[usize]) -> View {
        let cell = |from: usize, to: usize| match missing.contains(&(from, to)) {
            true => Cell {
                state: LinkState::NeverConnected,
                cause: Some("nothing came back in time".to_owned()),
                proof: Proof::Nothing,
            },
            false => Cell { state: LinkState::Connected, cause: None, proof: Proof::Nothing },
        };
        let member = |node: usize| Member {
            address: format!("10.0.0.{node}"),
            state: NodeState::Ready,
            version: String::new(),
            voice: if silent.contains(&node) { Voice::Silent } else { Voice::Heard },
            links: (0..3).map(|to| cell(node, to)).collect(),
        };
        View { own, members: (0..3).map(member).collect(), state: DomainState::Degraded }
    }
}
