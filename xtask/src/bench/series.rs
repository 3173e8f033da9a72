//! The values of several runs, and how they are written.

use std::time::Duration;

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Milliseconds,
    Mebibytes,
    /// Of one core.
    Percent,
    /// Times a baseline.
    Ratio,
    PerSecond,
    Seconds,
}

impl Unit {
    /// The name in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Mebibytes => "MiB",
            Unit::Percent => "percent of a core",
            Unit::Ratio => "ratio",
            Unit::PerSecond => "1/s",
            Unit::Seconds => "s",
        }
    }

    /// A value with as many digits as mean something.
    pub(super) fn text(self, value: f64) -> String {
        match self {
            Unit::Milliseconds => format!("{value:.1} ms"),
            Unit::Mebibytes => format!("{value:.1} MiB"),
            Unit::Percent => format!("{value:.2} %"),
            Unit::Ratio => format!("{value:.2}×"),
            Unit::PerSecond => format!("{value:.0}/s"),
            Unit::Seconds => format!("{value:.1} s"),
        }
    }
}

/// The values of at least one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    runs: Vec<f64>,
    sorted: Vec<f64>,
}

impl Series {
    /// `None` if there is no run.
    pub(super) fn new(runs: Vec<f64>) -> Option<Self> {
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        (!runs.is_empty()).then_some(Series { runs, sorted })
    }

    /// In milliseconds.
    pub(super) fn of_durations(runs: impl IntoIterator<Item = Duration>) -> Option<Self> {
        Series::new(runs.into_iter().map(|run| run.as_secs_f64() * 1e3).collect())
    }

    /// In the order in which they were made.
    pub(super) fn runs(&self) -> &[f64] {
        &self.runs
    }

    /// The middle, or the mean of the two in the middle.
    pub(super) fn median(&self) -> f64 {
        let middle = self.sorted.len() / 2;
        if self.sorted.len() % 2 == 1 {
            self.sorted[middle]
        } else {
            f64::midpoint(self.sorted[middle - 1], self.sorted[middle])
        }
    }

    pub(super) fn least(&self) -> f64 {
        self.sorted[0]
    }

    pub(super) fn most(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        let median = |runs: &[f64]| Series::new(runs.to_vec()).unwrap().median();
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!((median(&[7.0]) - 7.0).abs() < f64::EPSILON);
    }

    #[test]
    fn runs_keep_their_order_and_no_run_is_no_series() {
        let series = Series::new(vec![3.0, 1.0]).unwrap();
        assert_eq!(series.runs(), [3.0, 1.0]);
        assert_eq!((series.least(), series.most()), (1.0, 3.0));
        assert_eq!(Series::new(vec![]), None);
    }
}
