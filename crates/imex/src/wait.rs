//! `imex wait`: until the domain is UP as the local daemon sees it.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use imex_config::{ThisMachine, load_client};
use imex_core::{DomainState, DomainSummary};
use imex_ctl::Sources;
use imex_ctl::commands::domain::domain;
use imex_lab::{WatchError, watch_until};
use imex_wire::{ClientError, CommandError, Endpoint};
use serde::Serialize;

use crate::cli::{WaitArgs, format};
use crate::clock::Stopwatch;
use crate::diagnosis::Diagnosis;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format, count, duration};
use crate::progress::Progress;
use crate::run::block_on;

/// What waiting came to.
#[derive(Debug, Serialize)]
struct Waited {
    /// The exit code.
    exit_code: Exit,
    /// The domain's state.
    state: &'static str,
    /// How many nodes its map has.
    nodes: usize,
    /// How many were demanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<usize>,
    /// How many are READY.
    ready: usize,
    /// How long was waited.
    waited_ms: u64,
    #[serde(skip)]
    waited: Duration,
    /// What is wrong; empty when it is UP.
    #[serde(flatten)]
    diagnosis: Diagnosis,
}

/// Runs the command.
pub(crate) fn run(args: &WaitArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let settings =
        load_client(&args.config, &ThisMachine).map_err(|error| Failure::new(Exit::Config, &error))?;
    let endpoint = Endpoint::Unix(settings.settings.socket);
    let waited = block_on(wait(args, endpoint))??;
    match format(args.json) {
        Format::Json => output::json(&waited, out)?,
        Format::Text => waited.write(out)?,
    }
    Ok(waited.exit_code)
}

async fn wait(args: &WaitArgs, endpoint: Endpoint) -> Result<Waited, Failure> {
    let started = Stopwatch::start();
    let progress = Progress::start();
    let members = args.members.map(usize::from);
    let up = watch_until(&endpoint, args.timeout, |summary: DomainSummary| {
        progress.show(&summary);
        let enough = members.is_none_or(|demanded| demanded == summary.nodes);
        match summary.state {
            DomainState::Up if enough => ControlFlow::Break(summary),
            DomainState::Up | DomainState::Down | DomainState::Degraded => ControlFlow::Continue(()),
        }
    });
    let outcome = up.await;
    progress.clear();
    let waited = started.elapsed();
    match outcome {
        Ok(summary) => Ok(Waited::up(summary, members, waited)),
        Err(error @ (WatchError::Ask(_) | WatchError::Overdue { last: None, .. })) => Err(no_daemon(&error)),
        Err(WatchError::Overdue { last: Some(last), .. }) => {
            let table = match domain(&Sources::endpoint(endpoint)).await {
                Ok(report) => report.table,
                Err(ClientError::Declined { why: CommandError::TooLarge, .. }) => {
                    return Ok(Waited::summed_up(last, members, waited));
                }
                Err(error) => return Err(no_daemon(&error)),
            };
            let diagnosis = Diagnosis::of(&table);
            let exit_code = miscounted(members, table.rows.len()).unwrap_or(diagnosis.exit(table.state));
            Ok(Waited {
                exit_code,
                state: table.state.word(),
                nodes: table.rows.len(),
                members,
                ready: table.ready(),
                waited_ms: output::millis(waited),
                waited,
                diagnosis,
            })
        }
    }
}

/// What a map of another size than demanded comes to, whatever else is wrong.
fn miscounted(demanded: Option<usize>, nodes: usize) -> Option<Exit> {
    demanded.filter(|demanded| *demanded != nodes).map(|_| Exit::Members)
}

fn no_daemon(error: &(dyn std::error::Error + 'static)) -> Failure {
    let asked = error.downcast_ref::<ClientError>().or_else(|| error.source()?.downcast_ref());
    let hint = match asked {
        Some(ClientError::NotPermitted { .. }) => {
            "who may ask is whom the socket's mode lets: root, unless OPENIMEX_CMD_SOCKET_MODE says otherwise"
        }
        _ => "is the daemon running? `systemctl status` and its log tell more",
    };
    Failure::new(Exit::NoDaemon, error).hint(hint)
}

impl Waited {
    fn up(summary: DomainSummary, members: Option<usize>, waited: Duration) -> Self {
        Waited { exit_code: Exit::Done, ..Waited::summed_up(summary, members, waited) }
    }

    /// What is known of a domain too large for a table: not who is missing.
    fn summed_up(summary: DomainSummary, members: Option<usize>, waited: Duration) -> Self {
        Waited {
            exit_code: miscounted(members, summary.nodes).unwrap_or(Exit::Failed),
            state: summary.state.word(),
            nodes: summary.nodes,
            members,
            ready: summary.ready,
            waited_ms: output::millis(waited),
            waited,
            diagnosis: Diagnosis::nothing(),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let waited = duration(self.waited);
        let nodes = count(self.nodes, "node");
        if self.exit_code == Exit::Done {
            return writeln!(out, "domain is UP with {nodes} after {waited}");
        }
        let view = self.diagnosis.viewer.map(|node| format!(", as node {node} sees it")).unwrap_or_default();
        writeln!(out, "domain is {} after {waited}: {} of {nodes} READY{view}", self.state, self.ready)?;
        if let Some(demanded) = self.members.filter(|demanded| *demanded != self.nodes) {
            writeln!(out, "  its node map has {nodes}, not {demanded}")?;
        }
        self.diagnosis.write(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_too_large_for_a_table_still_tells_that_its_map_has_another_size() {
        let summary =
            DomainSummary { state: DomainState::Degraded, nodes: 2000, ready: 1999, complete: 1999 };
        let exit = |members| Waited::summed_up(summary, members, Duration::ZERO).exit_code;
        assert_eq!(
            [exit(None), exit(Some(2000)), exit(Some(1999))],
            [Exit::Failed, Exit::Failed, Exit::Members]
        );
    }
}
