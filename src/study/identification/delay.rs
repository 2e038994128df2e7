//! How late the torques of recordings are against their motion.
//!
//! A delay that is found from the recordings is an interval: the delays whose torque errors are nearly as small as the smallest
//! ([`WORTHWHILE`], the share by which a delay has to be better than none to be believed) cannot be told from it. The torques are moved by
//! its middle; what is left of it is charged to the rows of data ([`crate::identify::recorded`]). That the delay lies in the interval is an
//! assumption as the others are, and a constant delay another; both are said. Where nobody asked for a delay, and torques in time contradict
//! nothing, the interval reaches to zero: torque errors of one estimate are no proof of a delay.

use serde::Serialize;

use super::refuted::Making;
use super::{IdentificationStudy, StudyError};
use crate::identify::IdentifyError;
use crate::identify::recorded::{delay_taken_out, sets_within};
use crate::recording::Sample;
use crate::recording::torque_at;
use crate::regression::inverse::{Moving, moving};

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
    /// As [`Self::Fitted`], if that leaves less than 0.95 of the torque errors; else not at all. Without a delay that the logs ask for,
    /// as torques in time contradict nothing, none is allowed for as well.
    #[default]
    Automatic,
    /// By so much, s; negative: early.
    Seconds(f64),
    /// By an unknown time between these two, s.
    Between(f64, f64),
    /// By what gives the smallest torque errors over the logs to learn from: within a tenth of a second, or farther where
    /// the best of these lies at their edge.
    Fitted,
}

/// What was found of it and done about it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayFinding {
    /// What the torques of all logs were moved by, s.
    pub taken_out_s: f64,
    /// Taken to hold the delay, s: of one point where it is stated, or where torques are taken as in time.
    pub interval_s: [f64; 2],
    /// What is left of it either way and charged to the rows of data, s.
    pub left_s: f64,
    /// What fits the logs to learn from best, s; none if nobody looked.
    pub best_s: Option<f64>,
    /// Torque errors with that, as a share of those without a delay: geometric mean over the joints.
    pub error_ratio: Option<f64>,
}

impl DelayFinding {
    /// Whether it leaves so much less of the torque errors than none does that it is worth taking out unasked, or is stated.
    pub fn is_worthwhile(&self) -> bool {
        self.error_ratio.is_none_or(|ratio| ratio < WORTHWHILE)
    }

    /// In words.
    pub fn sentence(&self) -> String {
        let [low, high] = self.interval_s.map(|s| 1e3 * s);
        let left = format!("what is left of it, {:.1} ms either way, is charged", 1e3 * self.left_s);
        let (Some(best), Some(ratio)) = (self.best_s, self.error_ratio) else {
            return if low == high {
                format!("torques taken as {low:.1} ms late, as stated")
            } else {
                format!("torques taken as {low:.1} to {high:.1} ms late, as stated; {left}")
            };
        };
        let errors = format!("leaves {:.0} % of the torque errors that none leaves", 100.0 * ratio);
        if self.taken_out_s != 0.0 {
            format!(
                "torques that are {:.1} ms late against the motion fit best: this {errors} (fitted to the logs learned from; --delay 0 takes \
                 them as they are). Delays from {low:.1} to {high:.1} ms are allowed for: torques were moved by {:.1} ms, and {left}",
                1e3 * best,
                1e3 * self.taken_out_s
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

impl IdentificationStudy<'_> {
    /// The delay that the options ask for.
    ///
    /// # Errors
    /// [`StudyError::Delay`] for one that is no interval of finite numbers.
    pub fn delay(&self) -> Result<DelayFinding, StudyError> {
        let stated = match self.options.delay {
            Delay::Seconds(s) => Some([s, s]),
            Delay::Between(low, high) => Some([low, high]),
            Delay::Automatic | Delay::Fitted => None,
        };
        if let Some(interval) = stated {
            if !(interval[0] <= interval[1] && interval.iter().all(|s| s.is_finite())) {
                return Err(StudyError::Delay { low: interval[0], high: interval[1] });
            }
            return Ok(self.about(interval, None));
        }
        let (best, ratio) = self.fitted_delay()?;
        if self.options.delay == Delay::Automatic && ratio >= WORTHWHILE {
            return Ok(self.about([0.0; 2], Some((best, ratio))));
        }
        let [low, high] = self.delays_like(best)?;
        let asked_for = self.options.delay == Delay::Fitted || !self.explained_in_time()?;
        let interval = if asked_for { [low, high] } else { [low.min(0.0), high.max(0.0)] };
        Ok(self.about(interval, Some((best, ratio))))
    }

    /// Whether some parameters explain the logs with torques that are in time. Then nothing says that they are not, however
    /// much smaller a delay would make the torque errors of one estimate.
    fn explained_in_time(&self) -> Result<bool, StudyError> {
        let acceleration = match &self.options.acceleration {
            Some(stated) => stated.clone(),
            None => self.largest_acceleration(self.logs)?,
        };
        let making = Making { acceleration: &acceleration, shift_s: 0.0, delay_s: 0.0, recorded: self.logs };
        let data = self.rows(self.robot.sensors(), self.logs, making)?;
        let stated = data.granting(&self.options.torque_abs_nm);
        let unknown = self.options.unknown.indices(self.robot);
        match sets_within(self.robot, self.prior, &stated, &unknown) {
            Ok(_) => Ok(true),
            Err(IdentifyError::AssumptionBroken { .. }) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// What is done about delays of an interval.
    fn about(&self, interval: [f64; 2], fit: Option<(f64, f64)>) -> DelayFinding {
        let (taken_out_s, left_s) = delay_taken_out(self.robot, self.logs, interval);
        DelayFinding {
            taken_out_s,
            interval_s: interval,
            left_s,
            best_s: fit.map(|f| f.0),
            error_ratio: fit.map(|f| f.1),
        }
    }

    /// The delays around `best` whose torque errors are less than 1 / [`WORTHWHILE`] of the smallest (geometric mean over the joints), up
    /// to the first whole period that was tried and is worse, as far to one side as to the other. Never less than a period: delays
    /// between two samples cannot be compared with those of samples ([`Source`]).
    fn delays_like(&self, best: f64) -> Result<[f64; 2], StudyError> {
        let ticks = self.ticks()?;
        let period = self.logs.iter().map(|log| log.period_s).fold(0.0, f64::max);
        let score = |periods: f64| self.delay_score(&ticks, periods * period, Source::Sample);
        let (below, above) = ((best / period).floor(), (best / period).ceil());
        let middle = if score(below)? <= score(above)? { below } else { above };
        let allowed = score(middle)? - self.robot.dof() as f64 * WORTHWHILE.ln();
        let end = |sign: f64| -> Result<f64, StudyError> {
            // So many periods away it is as good, and so many it is not.
            let (mut near, mut far) = (0.0, 1.0);
            while score(middle + sign * far)? <= allowed && far * period < FARTHEST {
                (near, far) = (far, 2.0 * far);
            }
            while far - near > 1.0 {
                let between = (0.5 * (near + far)).floor();
                if score(middle + sign * between)? <= allowed { near = between } else { far = between }
            }
            Ok((middle + sign * far) * period)
        };
        let reach = (best - end(-1.0)?).max(end(1.0)? - best);
        Ok([best - reach, best + reach])
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
