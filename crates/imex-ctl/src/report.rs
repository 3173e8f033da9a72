//! One look at a domain, and what changed since the look before.

use imex_core::{DomainTable, NodeState};
use jiff::Zoned;

/// The domain as it was found, whose view it is and when it was taken.
#[derive(Clone, Debug)]
pub struct DomainReport {
    /// The table.
    pub table: DomainTable,
    /// Whose view it is.
    pub view: View,
    /// When it was complete, by this machine's clock and in its time zone.
    pub taken_at: Zoned,
}

/// Whose view a [`DomainReport`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// The daemon's that was asked; it knows the domain.
    Daemon,
    /// This tool's own, put together from what single nodes answered.
    Tool {
        /// Why the daemon's is missing: a lower-case fragment.
        because: String,
        /// The TCP port at which the nodes were asked; `None` if the configuration enables none, so nobody was.
        port: Option<u16>,
    },
}

/// The table that a new one is compared with.
///
/// What it decides is the `changed` flag of the JSON layout (reference: `nvidia-imex-ctl -n -j`). Of a first report
/// everything counts as changed that somebody could tell; what nobody could tell does not.
#[derive(Clone, Copy, Debug)]
pub struct Since<'a>(Option<&'a DomainTable>);

impl<'a> Since<'a> {
    /// There was no report before.
    pub const FIRST: Since<'static> = Since(None);

    /// The report before showed this table.
    pub fn report(before: &'a DomainTable) -> Self {
        Since(Some(before))
    }

    /// Whether the node in place `node` differs in what a table shows of it, its links apart.
    pub fn node_changed(self, now: &DomainTable, node: usize) -> bool {
        let Some(row) = now.rows.get(node) else {
            return false;
        };
        match self.0.map(|before| before.rows.get(node)) {
            None => row.state != NodeState::Unavailable,
            Some(None) => true,
            Some(Some(before)) => {
                (row.state, &row.version, &row.host, &row.address)
                    != (before.state, &before.version, &before.host, &before.address)
            }
        }
    }

    /// Whether the cell from `from` to `to` differs.
    pub fn link_changed(self, now: &DomainTable, from: usize, to: usize) -> bool {
        let cell = |table: &DomainTable| Some(table.rows.get(from)?.links.get(to)?.state);
        match self.0 {
            None => now.rows.get(from).is_some_and(|row| row.state != NodeState::Unavailable),
            Some(before) => cell(before) != cell(now),
        }
    }

    /// Whether anything that a table shows differs: a node, a link, the viewer or the domain's state.
    pub fn any_change(self, now: &DomainTable) -> bool {
        let Some(before) = self.0 else {
            return true;
        };
        let differs = |node: usize| {
            let links = now.rows[node].links.len();
            self.node_changed(now, node) || (0..links).any(|to| self.link_changed(now, node, to))
        };
        (before.state, before.viewer, before.rows.len()) != (now.state, now.viewer, now.rows.len())
            || (0..now.rows.len()).any(differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use imex_core::LinkState;

    #[test]
    fn in_a_first_report_only_what_nobody_could_tell_is_unchanged() {
        let mut table = sample::connected(2);
        sample::silence(&mut table, 1);
        assert!(Since::FIRST.node_changed(&table, 0));
        assert!(Since::FIRST.link_changed(&table, 0, 1));
        assert!(!Since::FIRST.node_changed(&table, 1));
        assert!(!Since::FIRST.link_changed(&table, 1, 0));
        assert!(Since::FIRST.any_change(&table));
    }

    #[test]
    fn one_cell_that_differs_changes_that_cell_and_no_other() {
        let before = sample::connected(3);
        let mut now = before.clone();
        now.rows[1].links[2].state = LinkState::Recovering;
        let since = Since::report(&before);
        let changed: Vec<(usize, usize)> = (0..3)
            .flat_map(|from| (0..3).map(move |to| (from, to)))
            .filter(|&(from, to)| since.link_changed(&now, from, to))
            .collect();
        assert_eq!(changed, [(1, 2)]);
        assert!((0..3).all(|node| !since.node_changed(&now, node)));
        assert!(since.any_change(&now));
    }

    #[test]
    fn a_node_that_falls_silent_changes_with_its_row() {
        let before = sample::connected(2);
        let mut now = before.clone();
        sample::silence(&mut now, 1);
        let since = Since::report(&before);
        assert!(since.node_changed(&now, 1));
        assert!(since.link_changed(&now, 1, 0));
        assert!(!since.node_changed(&now, 0));
    }

    #[test]
    fn time_alone_changes_nothing() {
        let before = sample::connected(2);
        let mut now = before.clone();
        now.rows[0].links[1].since += std::time::Duration::from_secs(9);
        assert!(!Since::report(&before).any_change(&now));
    }
}
