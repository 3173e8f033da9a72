//! A diagnosis for people.

use std::io::{self, Write};

use imex_core::NodeState;

use super::{Diagnosis, Kind, Problem, Reason, Said};
use crate::output::{count, duration};

/// From how many on other nodes are counted rather than listed.
const COUNTED: usize = 4;

impl Diagnosis {
    /// Writes one line for each problem, indented by two.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.problems.iter().try_for_each(|problem| writeln!(out, "  {}", line(problem)))
    }
}

fn line(problem: &Problem) -> String {
    let state = problem.state;
    let who = match (problem.nodes.as_slice(), problem.addresses.as_slice()) {
        ([node], [address]) => format!("node {node} ({address}) is {state}"),
        (nodes, _) => format!("nodes {} are {state}", ranges(nodes)),
    };
    let reasons: Vec<String> = problem.reasons.iter().map(reason).collect();
    match (reasons.is_empty(), problem.state == NodeState::Ready.word() && problem.kind == Kind::Unreachable)
    {
        (true, _) => who,
        // The state is of now, the reason of the last try to reach it, before it was READY again.
        (false, true) => format!("{who}, but at the last try: {}", reasons.join("; ")),
        (false, false) => format!("{who}: {}", reasons.join("; ")),
    }
}

fn reason(reason: &Reason) -> String {
    let Reason { said, others, cause, since } = reason;
    let others = match others.as_slice() {
        [node] => format!("node {node}"),
        nodes if nodes.len() < COUNTED => format!("nodes {}", ranges(nodes)),
        nodes => count(nodes.len(), "node"),
    };
    let since = duration(*since);
    match said {
        Said::ByOthers => format!("{cause} (seen from {others}, for {since})"),
        Said::OfOthers => format!("it sees of {others}: {cause} (for {since})"),
    }
}

/// Numbers in rising order, runs put together: `0-4, 7`.
pub(crate) fn ranges(nodes: &[usize]) -> String {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    let runs = nodes.chunk_by(|a, b| a + 1 == *b);
    let texts: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            [] | [_] => run.first().map(usize::to_string).unwrap_or_default(),
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_nodes_are_put_together() {
        assert_eq!(ranges(&[7, 0, 1, 2, 9, 10]), "0-2, 7, 9-10");
        assert_eq!(ranges(&[3]), "3");
    }
}
