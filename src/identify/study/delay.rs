//! How late the torques of recordings are against their motion.

use super::{Study, StudyError};
use crate::identify::inverse::moving;

/// Delays are looked for within this of zero at first, s, in steps of [`STEP`].
const REACH: f64 = 0.1;
const STEP: f64 = 0.01;
/// Steps of the last search, as a share of [`STEP`].
const FINE: f64 = 0.25;
/// No delay is looked for beyond this, s.
const FARTHEST: f64 = 0.5;

impl Study<'_> {
    /// The delay with the smallest product of all joints' torque errors: a coarse search, which goes on past its edge while
    /// the best is found there, then a fine one around it.
    pub(super) fn fitted_delay(&self) -> Result<f64, StudyError> {
        let (mut low, mut high) = (-REACH, REACH);
        let mut best = self.best_between(low, high, STEP, (f64::INFINITY, 0.0))?;
        // Inside by two steps: farther ones have been tried and were worse.
        loop {
            if best.1 > high - 1.5 * STEP && high < FARTHEST {
                best = self.best_between(high + STEP, high + 2.0 * STEP, STEP, best)?;
                high += 2.0 * STEP;
            } else if best.1 < low + 1.5 * STEP && low > -FARTHEST {
                best = self.best_between(low - 2.0 * STEP, low - STEP, STEP, best)?;
                low -= 2.0 * STEP;
            } else {
                break;
            }
        }
        Ok(self.best_between(best.1 - STEP, best.1 + STEP, FINE * STEP, best)?.1)
    }

    /// The better of `best` (score, delay) and the delays between the two.
    fn best_between(
        &self,
        from: f64,
        to: f64,
        step: f64,
        best: (f64, f64),
    ) -> Result<(f64, f64), StudyError> {
        let mut best = best;
        for k in 0..=((to - from) / step).round() as usize {
            let delay = from + k as f64 * step;
            let score = self.delay_score(delay)?;
            if score < best.0 {
                best = (score, delay);
            }
        }
        Ok(best)
    }

    /// Sum over the joints of the logarithm of the torque errors' root mean square, after the best fit for that delay (s).
    fn delay_score(&self, delay: f64) -> Result<f64, StudyError> {
        let mut samples = vec![];
        for log in self.logs {
            samples.extend(moving(&log.clone().with_torque_delay(delay)?, self.options.smoothing)?);
        }
        let errors = self.errors(&self.estimate(&samples, 1)?, &samples);
        Ok(errors.unlimited.iter().map(|rms| rms.ln()).sum())
    }
}
