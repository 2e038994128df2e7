//! How late the torques of recordings are against their motion.

use serde::Serialize;

use super::{Study, StudyError};
use crate::identify::inverse::{Moving, moving};
use crate::identify::log::torque_at;
use crate::identify::window::Sample;

/// Delays are looked for within this of zero at first, s, in steps of [`STEP`].
const REACH: f64 = 0.1;
const STEP: f64 = 0.01;
/// Steps of the last search, as a share of [`STEP`].
const FINE: f64 = 0.25;
/// No delay is looked for beyond this, s.
const FARTHEST: f64 = 0.5;
/// Samples that the search looks at, at most; spread evenly.
const SAMPLES: usize = 3000;
/// Unless it is asked for, a delay is taken out only if it makes the torque errors smaller than this share of theirs (geometric mean
/// over the joints).
const WORTHWHILE: f64 = 0.95;

/// How late the torques of a recording are against its positions and velocities.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Delay {
    /// As [`Self::Fitted`], if that leaves less than 0.95 of the torque errors; else not at all.
    #[default]
    Automatic,
    /// By so much, s; negative: early.
    Seconds(f64),
    /// By what gives the smallest torque errors over the logs to learn from: within a tenth of a second, or farther where
    /// the best of these lies at their edge.
    Fitted,
}

/// What was found of it and done about it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayFinding {
    /// What the torques of all logs were moved by, s.
    pub taken_out_s: f64,
    /// What fits the logs to learn from best, s; none if nobody looked.
    pub best_s: Option<f64>,
    /// Torque errors with that, as a share of those without a delay: geometric mean over the joints.
    pub error_ratio: Option<f64>,
}

impl DelayFinding {
    /// In words.
    pub fn sentence(&self) -> String {
        let (Some(best), Some(ratio)) = (self.best_s, self.error_ratio) else {
            return format!("torques taken as {:.1} ms late, as stated", 1e3 * self.taken_out_s);
        };
        let errors = format!("leaves {:.0} % of the torque errors that none leaves", 100.0 * ratio);
        if self.taken_out_s != 0.0 {
            format!(
                "torques are {:.1} ms late against the motion and were moved: this {errors} (fitted to the logs learned from; \
                 --delay 0 takes them as they are)",
                1e3 * best
            )
        } else {
            format!(
                "torques taken as in time: the delay that fits best, {:.1} ms, {errors} (--delay fit takes it out all the \
                 same)",
                1e3 * best
            )
        }
    }
}

/// A sample of log `log`, the one at `at` of its segment `segment`.
struct Tick {
    log: usize,
    segment: usize,
    at: usize,
    sample: Moving,
}

/// Where the torque of a delay comes from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// The sample that is nearest. Delays can then be compared with one another and with none: interpolation averages the noise of
    /// two samples, which makes any delay between two of them look better by up to 30 %.
    Sample,
    /// Between two samples.
    Interpolated,
}

impl Study<'_> {
    /// The delay that the options ask for.
    pub(super) fn delay(&self) -> Result<DelayFinding, StudyError> {
        let fitted = match self.options.delay {
            Delay::Seconds(taken_out_s) => {
                return Ok(DelayFinding { taken_out_s, best_s: None, error_ratio: None });
            }
            Delay::Automatic | Delay::Fitted => self.fitted_delay()?,
        };
        let (best, ratio) = fitted;
        let taken = self.options.delay == Delay::Fitted || ratio < WORTHWHILE;
        Ok(DelayFinding {
            taken_out_s: if taken { best } else { 0.0 },
            best_s: Some(best),
            error_ratio: Some(ratio),
        })
    }

    /// The delay with the smallest product of all joints' torque errors: a coarse search, which goes on past its edge while
    /// the best is found there, then a fine one around it; and the share that it leaves of the errors without a delay.
    pub(super) fn fitted_delay(&self) -> Result<(f64, f64), StudyError> {
        let ticks = self.ticks()?;
        let period = self.logs.iter().map(|log| log.period_s).fold(0.0, f64::max);
        let (mut low, mut high) = (-REACH, REACH);
        let none = self.delay_score(&ticks, 0.0, Source::Sample)?;
        let mut best = self.best_between(&ticks, low, high, STEP, (none, 0.0))?;
        // Inside by two steps: farther ones have been tried and were worse.
        loop {
            if best.1 > high - 1.5 * STEP && high < FARTHEST {
                best = self.best_between(&ticks, high + STEP, high + 2.0 * STEP, STEP, best)?;
                high += 2.0 * STEP;
            } else if best.1 < low + 1.5 * STEP && low > -FARTHEST {
                best = self.best_between(&ticks, low - 2.0 * STEP, low - STEP, STEP, best)?;
                low -= 2.0 * STEP;
            } else {
                break;
            }
        }
        // Whole periods where they are fine enough, else between them.
        if period <= FINE * STEP {
            let reach = (STEP / period).floor() * period;
            best = self.best_between(&ticks, best.1 - reach, best.1 + reach, period, best)?;
        }
        if !(best.0 < none) {
            return Ok((0.0, 1.0));
        }
        let ratio = ((best.0 - none) / self.robot.dof() as f64).exp();
        if period > FINE * STEP {
            let steps = (1.0 / FINE).round() as i32;
            let mut finest = (f64::INFINITY, best.1);
            for k in -steps..=steps {
                let delay = best.1 + f64::from(k) * FINE * STEP;
                let score = self.delay_score(&ticks, delay, Source::Interpolated)?;
                if score < finest.0 {
                    finest = (score, delay);
                }
            }
            best.1 = finest.1;
        }
        Ok((best.1, ratio))
    }

    /// The better of `best` (score, delay) and the delays between the two.
    fn best_between(
        &self,
        ticks: &[Tick],
        from: f64,
        to: f64,
        step: f64,
        best: (f64, f64),
    ) -> Result<(f64, f64), StudyError> {
        let mut best = best;
        for k in 0..=((to - from) / step).round() as usize {
            let delay = from + k as f64 * step;
            let score = self.delay_score(ticks, delay, Source::Sample)?;
            if score < best.0 {
                best = (score, delay);
            }
        }
        Ok(best)
    }

    /// Samples with accelerations, which no delay of the torques changes.
    fn ticks(&self) -> Result<Vec<Tick>, StudyError> {
        let mut ticks = vec![];
        for (index, log) in self.logs.iter().enumerate() {
            let mut samples = moving(log, self.options.smoothing)?.into_iter();
            for (segment, range) in log.segments.iter().enumerate().filter(|(_, range)| range.len() >= 2) {
                let part = samples.by_ref().take(range.len()).enumerate();
                ticks.extend(part.map(|(at, sample)| Tick { log: index, segment, at, sample }));
            }
        }
        let stride = ticks.len().div_ceil(SAMPLES).max(1);
        Ok(ticks.into_iter().step_by(stride).collect())
    }

    /// Sum over the joints of the logarithm of the torque errors' root mean square, after the best fit for that delay (s).
    /// Infinite where no torque is left.
    fn delay_score(&self, ticks: &[Tick], delay: f64, source: Source) -> Result<f64, StudyError> {
        let late = |tick: &Tick| {
            let log = &self.logs[tick.log];
            let segment: &[Sample] = &log.samples[log.segments[tick.segment].clone()];
            let tau = match source {
                Source::Sample => {
                    let at = tick.at.checked_add_signed((delay / log.period_s).round() as isize)?;
                    segment.get(at)?.tau.clone()
                }
                Source::Interpolated => torque_at(segment, tick.sample.t + delay)?,
            };
            Some(Moving { tau, ..tick.sample.clone() })
        };
        let samples: Vec<Moving> = ticks.iter().filter_map(late).collect();
        if samples.is_empty() {
            return Ok(f64::INFINITY);
        }
        let errors = self.errors(&self.estimate(&samples, 1)?, &samples);
        Ok(errors.unlimited.iter().filter(|rms| rms.is_finite()).map(|rms| rms.max(1e-12).ln()).sum())
    }
}
