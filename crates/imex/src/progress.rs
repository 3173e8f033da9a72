//! A line that moves while a person waits.

use std::io::{self, IsTerminal};

use imex_core::DomainSummary;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress of a domain that forms, on standard error; nothing if that is no terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts to show it, if a person watches.
    pub(crate) fn start() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} nodes, {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message("waiting for the daemon");
            bar
        });
        Progress { bar }
    }

    /// Shows what is now.
    pub(crate) fn show(&self, summary: &DomainSummary) {
        if let Some(bar) = &self.bar {
            let whole = summary.ready.min(summary.complete);
            bar.set_length(u64::try_from(summary.nodes).unwrap_or(u64::MAX));
            bar.set_position(u64::try_from(whole).unwrap_or(u64::MAX));
            bar.set_message(summary.state.word());
        }
    }

    /// Takes it away, so that what follows stands alone.
    pub(crate) fn clear(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
