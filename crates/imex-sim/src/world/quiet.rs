//! The invariants of a cluster that has been left alone for a while.

use std::time::Duration;

use imex_core::{DomainSummary, DomainTable, Evidence, Grace, NodeId, NodeRow, NodeState};

use super::World;
use crate::Address;
use crate::host::Host;
use crate::invariants::{Invariant, Pair, Violation};
use crate::operation::Operation;

/// More than enough packets in a row for every exchange after the last wait: connect, hello, report, one more report.
const LAST_EXCHANGE: u32 = 12;

impl World {
    /// How long a cluster with equal maps takes at most to be UP everywhere after its network is healed and every host
    /// runs a daemon that is not stopped.
    ///
    /// The longest chain of waits on one link: a dead stream is noticed after [`Timing::silence`] and one more ping
    /// interval; a dial that was lost just before runs into [`Timing::dial_deadline`]; the retry is one longest wait
    /// away (jitter only shortens it); its answer may be one that cannot be put in order, so it is asked once more, which again takes
    /// at most one wait and one deadline; then the last report goes out after [`REPORT_GAP`].
    ///
    /// [`Timing::silence`]: imex_core::Timing::silence
    /// [`Timing::dial_deadline`]: imex_core::Timing::dial_deadline
    /// [`REPORT_GAP`]: imex_core::timing::REPORT_GAP
    pub fn healing_bound(&self) -> Duration {
        let timing = &self.timing;
        let noticed = timing.silence() + timing.ping_interval;
        let retry = timing.retry_max + timing.dial_deadline;
        noticed + retry * 2 + imex_core::timing::REPORT_GAP + self.network.delay.most() * LAST_EXCHANGE
    }

    /// Heals the network and lets every stopped daemon go on.
    pub fn heal(&mut self) -> Result<(), Box<Violation>> {
        self.apply(&Operation::Heal)?;
        self.addresses().try_for_each(|address| self.apply(&Operation::Continue(address)))
    }

    /// Puts the right map, one driver and one domain on every host; starts those that are down, and starts anew those
    /// whose daemon still runs with something else.
    pub fn repair(&mut self) -> Result<(), Box<Violation>> {
        for address in self.addresses() {
            let host = &mut self.hosts[address.index()];
            host.config = host.config.repaired();
            let wrong = host.process.as_ref().is_some_and(|process| {
                let run = &host.runs[process.run as usize];
                !run.config.agrees_with(&host.config) || run.leaving
            });
            if wrong {
                self.apply(&Operation::Kill(address))?;
            }
            self.apply(&Operation::Start(address))?;
        }
        Ok(())
    }

    /// Checks that the whole cluster gets UP within [`World::healing_bound`]. Returns the time that it took.
    pub fn check_heals(&mut self) -> Result<Duration, Box<Violation>> {
        let bound = self.healing_bound();
        if let Some(took) = self.run_until_up(bound)? {
            return Ok(took);
        }
        let blind = |address: &Address| {
            self.machine(*address).is_none_or(|machine| machine.domain().state != imex_core::DomainState::Up)
        };
        let address = self.addresses().find(blind).unwrap_or(Address::new(0));
        let row = self.machine(address).map(|machine| row_text(&machine.row(self.now)));
        let detail = format!("not UP after {bound:?}; state, row: {row:?}");
        Err(self.violation(Invariant::Heals, address, detail))
    }

    /// Checks a cluster that has been left alone for [`World::healing_bound`] with a healed network, whether all its
    /// daemons run and agree or not. Costs hosts³; meant for dozens.
    pub fn check_quiet(&self) -> Result<(), Box<Violation>> {
        for (index, host) in self.hosts.iter().enumerate() {
            let address = Address::at(index);
            self.check_view(address, host)
                .map_err(|detail| self.violation(Invariant::QuietViewIsTrue, address, detail))?;
            self.check_grace(host)
                .map_err(|detail| self.violation(Invariant::GraceIsKept, address, detail))?;
        }
        Ok(())
    }

    fn check_view(&self, address: Address, host: &Host) -> Result<(), String> {
        let Some(process) = &host.process else {
            return Ok(());
        };
        let map = &host.runs[process.run as usize].map;
        let rows: Vec<_> = map.nodes.iter().map(|(node, _)| self.true_row(address, node)).collect();
        let truth = DomainSummary {
            state: DomainTable::judge(&rows),
            nodes: rows.len(),
            ready: rows.iter().filter(|row| row.state == NodeState::Ready).count(),
            complete: rows.iter().filter(|row| row.is_complete()).count(),
        };
        let view = process.machine.domain();
        if view == truth {
            return Ok(());
        }
        let text: Vec<_> = rows.iter().map(|row| format!("{} {}", row.state, row_text(&row.links))).collect();
        Err(format!("sees {view:?}, the truth is {truth:?} with rows {text:?}"))
    }

    /// The row of a node as it would be if a member could look at it directly.
    pub(crate) fn true_row(&self, viewer: Address, node: NodeId) -> NodeRow {
        let host = &self.hosts[viewer.index()];
        let own = host.process.as_ref().map(|process| &host.runs[process.run as usize]);
        let len = own.map_or(0, |own| own.map.nodes.len());
        let entry = own.and_then(|own| own.map.nodes.get(node)).unwrap_or_default();
        let answer = own.and_then(|own| {
            let other = self.hosts.get(own.map.address(node)?.index())?;
            let process = other.process.as_ref()?;
            let run = &other.runs[process.run as usize];
            (run.config.agrees_with(&own.config) && run.hello.node() == node).then_some((process, run))
        });
        match answer {
            None => NodeRow::no_answer(entry.into(), len),
            Some((process, run)) => NodeRow {
                address: entry.into(),
                state: process.machine.state(),
                version: run.hello.get().driver.clone(),
                host: "".into(),
                evidence: Evidence::Asked,
                links: process.machine.row(self.now),
            },
        }
    }

    fn check_grace(&self, host: &Host) -> Result<(), String> {
        let Some(process) = &host.process else {
            return Ok(());
        };
        let Grace::For(grace) = host.runs[process.run as usize].config.grace else {
            return Ok(());
        };
        let overdue = |pair: &&Pair| {
            let gone = !pair.linked && !pair.admitted && pair.run != Pair::UNKNOWN;
            gone && !pair.cleaned && pair.lost + grace < self.now
        };
        match process.pairs.iter().find(overdue) {
            Some(pair) => Err(format!("not cleaned up after {grace:?}: {pair:?}")),
            None => Ok(()),
        }
    }
}

fn row_text(row: &[imex_core::LinkReport]) -> String {
    row.iter().map(|link| link.state.letter()).collect::<Vec<_>>().join(" ")
}
