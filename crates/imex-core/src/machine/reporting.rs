//! Telling the others how this node is: at once when it matters, seldom otherwise.

use std::time::Duration;

use super::Machine;
use crate::message::Report;
use crate::timing::{REPORT_GAP, REPORT_GAP_URGENT, REPORTS_PER_SECOND};
use crate::{Action, Moment, PeerMessage};

/// What has been told.
#[derive(Debug)]
pub(super) struct Reporting {
    /// What all were last told; before that, what the first peer was told.
    told: Option<Report>,
    number: u64,
    sent: Option<Moment>,
    due: Option<Moment>,
    gap: Duration,
    /// Whether somebody was told something newer than what all were told.
    astray: bool,
}

impl Reporting {
    pub(super) fn new(nodes: usize) -> Self {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        let paced = Duration::from_secs(1) * nodes / REPORTS_PER_SECOND;
        Reporting { told: None, number: 0, sent: None, due: None, gap: REPORT_GAP.max(paced), astray: false }
    }

    pub(super) fn due(&self) -> Option<Moment> {
        self.due
    }

    /// When a change may be told: what decides about UP almost at once, a mere number later.
    fn earliest(&self, told: &Report, current: &Report) -> Moment {
        // What is no news for all may be decisive for those who were told something newer in between.
        let decisive = told.agrees_with(current)
            || told.state != current.state
            || (told.missing == 0) != (current.missing == 0);
        let gap = if decisive { REPORT_GAP_URGENT } else { self.gap };
        self.sent.map_or(Moment::ZERO, |sent| sent + gap)
    }
}

impl Machine {
    /// The report for a link that has just opened.
    pub(super) fn newest_report(&mut self) -> Report {
        let current = self.own_report(0);
        match self.reporting.told {
            Some(told) if told.agrees_with(&current) => told,
            Some(_) | None => {
                self.reporting.number += 1;
                let report = Report { number: self.reporting.number, ..current };
                // The others have yet to be told: `report` compares with what was told to all.
                self.reporting.astray |= self.reporting.told.is_some();
                self.reporting.told.get_or_insert(report);
                report
            }
        }
    }

    /// Tells all peers if something has changed since they were last told and the time for it has come.
    pub(super) fn report(&mut self, now: Moment) {
        let current = self.own_report(0);
        let Some(told) = self.reporting.told else { return };
        if told.agrees_with(&current) && !self.reporting.astray {
            self.reporting.due = None;
            return;
        }
        let earliest = self.reporting.earliest(&told, &current);
        if now < earliest {
            self.reporting.due = Some(earliest);
            return;
        }
        self.reporting.number += 1;
        let report = Report { number: self.reporting.number, ..current };
        self.reporting.told = Some(report);
        self.reporting.sent = Some(now);
        self.reporting.due = None;
        self.reporting.astray = false;
        self.tell_all(report);
    }

    fn tell_all(&mut self, report: Report) {
        for (peer, entry) in self.setup.map.ids().zip(&self.peers) {
            if let Some(stream) = entry.stream(peer).filter(|_| peer != self.me) {
                self.actions.push_back(Action::Send { stream, message: PeerMessage::Report(report) });
            }
        }
    }
}
