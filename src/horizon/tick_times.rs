//! How well the ticks of a run kept time.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Width of a bin of the histograms, us.
const BIN_US: f64 = 0.5;
/// Number of bins; what takes longer than all of them is in the last.
const BINS: usize = 4000;

/// How long ticks took and how regularly they came, on this computer's clock. [`TickTimes::note`] neither allocates nor panics.
#[derive(Debug, Clone, PartialEq)]
pub struct TickTimes {
    took: Histogram,
    /// How much later a tick came than a period after the one before.
    late: Histogram,
    period: Duration,
    before: Option<Instant>,
    /// Ticks that came at least a whole period late.
    overruns: u64,
    /// Ticks that the planning thread was never told of, as it was busy for too long.
    pub rows_lost: u64,
    /// Whether the system lets the control thread run whenever it can.
    pub prioritised: bool,
}

/// Durations in bins, and the longest.
#[derive(Debug, Clone, PartialEq)]
struct Histogram {
    counts: Box<[u64; BINS]>,
    total: u64,
    longest_us: f64,
}

impl Histogram {
    fn new() -> Self {
        Self { counts: Box::new([0; BINS]), total: 0, longest_us: 0.0 }
    }

    fn note(&mut self, us: f64) {
        // The conversion saturates.
        let bin = ((us / BIN_US) as usize).min(BINS - 1);
        self.counts[bin] += 1;
        self.total += 1;
        self.longest_us = self.longest_us.max(us);
    }

    /// The duration that this share of all do not pass: the upper end of its bin, us.
    fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.total as f64).ceil() as u64;
        let mut sum = 0;
        let bin = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        bin.map_or(self.longest_us, |bin| (BIN_US * (bin as f64 + 1.0)).min(self.longest_us))
    }
}

/// [`TickTimes`] in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct TickSummary {
    /// Number of ticks.
    pub ticks: u64,
    /// From a reading to its torques, us: median.
    pub median_us: f64,
    /// The same: what 99.9 % do not pass.
    pub most_us: f64,
    /// The same: the longest.
    pub longest_us: f64,
    /// How much later a tick came than a period after the one before, us: what 99.9 % do not pass.
    pub late_most_us: f64,
    /// The same: the most.
    pub latest_us: f64,
    /// Ticks that came at least a whole period late.
    pub overruns: u64,
    /// Ticks that the planning thread was never told of.
    pub rows_lost: u64,
    /// Whether the system let the control thread run whenever it could.
    pub prioritised: bool,
}

impl TickTimes {
    /// Of no tick yet, of this period (s).
    pub fn new(period_s: f64) -> Self {
        Self {
            took: Histogram::new(),
            late: Histogram::new(),
            period: Duration::from_secs_f64(period_s),
            before: None,
            overruns: 0,
            rows_lost: 0,
            prioritised: false,
        }
    }

    /// A tick whose reading was there at `begun`, and whose torques were ready after it `took` so long.
    pub fn note(&mut self, begun: Instant, took: Duration) {
        self.took.note(1e6 * took.as_secs_f64());
        if let Some(before) = self.before.replace(begun) {
            let late = begun.saturating_duration_since(before).saturating_sub(self.period);
            self.late.note(1e6 * late.as_secs_f64());
            self.overruns += u64::from(late >= self.period);
        }
    }

    /// All of it in a few numbers.
    pub fn summary(&self) -> TickSummary {
        TickSummary {
            ticks: self.took.total,
            median_us: self.took.quantile(0.5),
            most_us: self.took.quantile(0.999),
            longest_us: self.took.longest_us,
            late_most_us: self.late.quantile(0.999),
            latest_us: self.late.longest_us,
            overruns: self.overruns,
            rows_lost: self.rows_lost,
            prioritised: self.prioritised,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_that_of_the_sorted_durations() {
        let mut times = TickTimes::new(1e-3);
        let begun = Instant::now();
        // Durations of 1 to 1000 us in disorder, thrice; each tick a little later than due, and one by two periods.
        let mut at = begun;
        for k in 0..3000_u64 {
            times.note(at, Duration::from_micros(1 + (k * 389) % 1000));
            at += Duration::from_micros(if k == 500 { 3000 } else { 1010 });
        }
        let told = times.summary();
        assert_eq!((told.ticks, told.overruns, told.rows_lost), (3000, 1, 0));
        assert!((told.median_us - 500.0).abs() <= 1.0, "{told:?}");
        assert!((told.most_us - 999.0).abs() <= 1.0 && (told.longest_us - 1000.0).abs() < 1e-6, "{told:?}");
        assert!(
            (told.latest_us - 2000.0).abs() < 1e-6 && (told.late_most_us - 10.5).abs() <= 0.5,
            "{told:?}"
        );
        // What lasts longer than all bins is not lost.
        times.note(at, Duration::from_secs(3));
        assert!((times.summary().longest_us - 3e6).abs() < 1e-3);
        assert_eq!(TickTimes::new(1e-3).summary().median_us, 0.0);
    }
}
