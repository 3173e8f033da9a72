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
    use super::*;
    use crate::sample;

    #[test]
    fn month_and_day_have_no_leading_zero_and_milliseconds_always_three_digits() {
        assert_eq!(timestamp(&sample::at(580)), "5/4/2026 06:08:10.580");
        assert_eq!(timestamp(&sample::at(7)), "5/4/2026 06:08:10.007");
        assert_eq!(timestamp(&sample::at(0)), "5/4/2026 06:08:10.000");
    }
}
