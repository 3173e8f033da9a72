//! How reports look: the text and JSON layouts of `nvidia-imex-ctl`.
//!
//! Widths, words, letters, line counts and key order are contracts: scripts cut fixed line counts, compare words and
//! look for the last `"status":`. Explanations behind the letters are our own.

pub mod json;
pub mod text;

use jiff::Zoned;

/// Whether the machines' names are shown (`-H`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostNames {
    /// They are not.
    Hidden,
    /// They are.
    Shown,
}

/// `M/D/YYYY HH:MM:SS.mmm` on a 24-hour clock, month and day without a leading zero, no time zone.
fn timestamp(at: &Zoned) -> String {
    at.strftime("%-m/%-d/%Y %H:%M:%S%.3f").to_string()
}

#[cfg(test)]
mod tests {
    use imex_core::DomainTable;
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::{DomainReport, View};

    #[test]
    fn month_and_day_have_no_leading_zero_and_milliseconds_always_three_digits() {
        assert_eq!(timestamp(&at(580)), "5/4/2026 06:08:10.580");
        assert_eq!(timestamp(&at(7)), "5/4/2026 06:08:10.007");
        assert_eq!(timestamp(&at(0)), "5/4/2026 06:08:10.000");
    }

    /// A report of a table, as its daemon's view.
    pub(super) fn report(table: DomainTable) -> DomainReport {
        DomainReport { table, view: View::Daemon, taken_at: at(580) }
    }

    fn at(milliseconds: i32) -> Zoned {
        let time = date(2026, 5, 4).at(6, 8, 10, milliseconds * 1_000_000);
        time.to_zoned(TimeZone::UTC).expect("a time in UTC always exists")
    }
}
