//! The text layout: legend, time, nodes, From→To matrix, domain state.
//!
//! No line of the matrix ends in a blank, as in the published sample of a full rack. The one trailing blank there can
//! be is after `Version:` of a node that does not answer: whoever cuts at `Version: ` finds an empty version.

use std::borrow::Cow;
use std::io::{self, Write};

use imex_core::{DomainTable, LinkState, NodeRow};

use super::{HostNames, timestamp};
use crate::{DomainReport, View};

/// Writes the whole report.
///
/// # Errors
///
/// Those of `out`.
pub fn domain(report: &DomainReport, names: HostNames, out: &mut impl Write) -> io::Result<()> {
    let DomainReport { table, view: _, taken_at } = report;
    legend(out)?;
    writeln!(out, "\n{}", timestamp(taken_at))?;
    nodes(table, names, out)?;
    writeln!(out)?;
    matrix(table, out)?;
    writeln!(out, "\nDomain State: {}", table.state)
}

/// Writes one line that says whose view a report is, if it is not the daemon's. Meant for standard error, so that what
/// scripts parse stays as it is.
///
/// # Errors
///
/// Those of `out`.
pub fn whose_view(view: &View, out: &mut impl Write) -> io::Result<()> {
    match view {
        View::Daemon => Ok(()),
        View::Tool { because, port } => {
            write!(out, "imexctl: no answer from the local daemon ({because}); ")?;
            match port {
                Some(port) => writeln!(out, "the table shows what each node answers on port {port}"),
                None => writeln!(out, "no command port is enabled on which other nodes could be asked"),
            }
        }
    }
}

/// Nine lines; scripts drop them by count.
fn legend(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Connectivity Table Legend:")?;
    LinkState::ALL.iter().try_for_each(|&state| writeln!(out, "{} - {}", state.letter(), meaning(state)))
}

fn meaning(state: LinkState) -> &'static str {
    match state {
        LinkState::Invalid => "Invalid - The node of this row gave no answer, so its links are unknown",
        LinkState::NeverConnected => "Never Connected - No connection since the node of this row started",
        LinkState::Recovering => "Recovering - Connection lost, its memory is kept until the grace time ends",
        LinkState::Disconnected => "Disconnected - Connection lost, its memory has been cleaned up",
        LinkState::Authenticating => {
            "Authenticating - The two nodes are proving their identity to each other"
        }
        LinkState::VersionMismatch => {
            "Version mismatch - The two nodes run different versions and exchange nothing"
        }
        LinkState::MapMismatch => {
            "Map mismatch - The two nodes have different node maps and exchange nothing"
        }
        LinkState::Connected => "Connected - Ready for use",
    }
}

fn nodes(table: &DomainTable, names: HostNames, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "Nodes:")?;
    for (id, row) in table.rows.iter().enumerate() {
        let own = table.viewer.is_some_and(|viewer| viewer.index() == id);
        node(id, row, own, out)?;
        match names {
            HostNames::Hidden => writeln!(out)?,
            HostNames::Shown => writeln!(out, "   - Hostname: {}", printable(&row.host))?,
        }
    }
    Ok(())
}

/// A node's row, without its end. The viewer's own has stars about its address.
fn node(id: usize, row: &NodeRow, own: bool, out: &mut impl Write) -> io::Result<()> {
    let address = printable(&row.address);
    let (mark, address) = if own { ('*', Cow::from(format!("{address} *"))) } else { ('-', address) };
    let (state, version) = (row.state, printable(short_version(&row.version)));
    write!(out, "Node #{id:<3} {mark} {address:<15} - {state:<20} - Version: {version}")
}

/// The release branch of a driver version: `570.172` of `570.172.08`. Anything else is left as it is.
fn short_version(version: &str) -> &str {
    match version.match_indices('.').nth(1) {
        Some((second_dot, _)) if version.starts_with(|c: char| c.is_ascii_digit()) => &version[..second_dot],
        _ => version,
    }
}

/// The From→To matrix; row ids end in column 8, columns are four wide, wider from 1,001 nodes on.
fn matrix(table: &DomainTable, out: &mut impl Write) -> io::Result<()> {
    let last = table.rows.len().saturating_sub(1);
    let width = (last.to_string().len() + 1).max(4);
    let mut line = String::new();
    push_cells(&mut line, width, (0..table.rows.len()).map(|id| id.to_string()));
    writeln!(out, "{}", format!(" Nodes From\\To  {line}").trim_end())?;
    for (id, row) in table.rows.iter().enumerate() {
        line.clear();
        push_cells(&mut line, width, row.links.iter().map(|link| link.state.letter()));
        writeln!(out, "{id:>8}        {}", line.trim_end())?;
    }
    Ok(())
}

fn push_cells(line: &mut String, width: usize, cells: impl Iterator<Item = impl std::fmt::Display>) {
    use std::fmt::Write as _;
    for cell in cells {
        write!(line, "{cell:<width$}").expect("a string takes any text");
    }
}

/// Text that came from another machine, with `?` for what would move a cursor or break a line.
fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        Cow::from(text.replace(char::is_control, "?"))
    } else {
        Cow::from(text)
    }
}

#[cfg(test)]
mod tests;
