//! How far links are believed to be from what the files say: chosen by leaving out one recording after the other.
//!
//! A prior that is too wide lets links explain what drives and outliers did in the recordings at hand, and the next recording is then predicted worse
//! than with the files' links. One that is too narrow keeps wrong links. So every share of [`SHARES`] is tried: what all recordings but one say is
//! asked to predict that one. What counts is the sum over motors of the logarithms of the errors' root mean squares over all recordings: no
//! motor counts more because its torques are larger. A recording to validate on has no part in it. Of a single recording, thirds are left out.

use rayon::prelude::*;

use super::fit::{Free, fit};
use super::rows::LimbRows;
use crate::regression::RegressionError;
use crate::robot::Model;

/// Shares that are tried, of the deviation that [`Free`] has for links; ascending.
pub(super) const SHARES: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0];
/// Parts of a single recording.
const PARTS: usize = 3;

/// A share, and how well it predicts what it did not see.
pub(super) struct Tried {
    /// The share.
    pub share: f64,
    /// Error of each motor on recordings that were left out, N m RMS.
    pub rms_nm: Vec<f64>,
}

impl Tried {
    /// What counts.
    fn score(&self) -> f64 {
        self.rms_nm.iter().map(|rms| rms.max(f64::MIN_POSITIVE).ln()).sum()
    }
}

/// All shares with their errors, and the place of the best.
pub(super) fn choose(limb: &Model, free: &Free, rows: &LimbRows) -> Result<(Vec<Tried>, usize), RegressionError> {
    let parts = parts(rows);
    let count = parts.iter().max().map_or(0, |last| last + 1);
    let own = |share: f64| -> Result<Tried, RegressionError> {
        let (mut squares, mut samples) = (vec![0.0; rows.rows.joints], vec![0usize; rows.rows.joints]);
        for left_out in 0..count {
            let (seen, unseen) = (rows.select(|s| parts[s] != left_out), rows.select(|s| parts[s] == left_out));
            let found = fit(limb, &free.within(share), &seen.rows)?;
            let errors = unseen.errors(&found.theta);
            for (j, (own, of)) in errors.iter().enumerate() {
                squares[j] += own;
                samples[j] += of;
            }
        }
        let rms = squares.iter().zip(&samples).map(|(sum, of)| (sum / (*of).max(1) as f64).sqrt());
        Ok(Tried { share, rms_nm: rms.collect() })
    };
    let tried: Vec<Tried> = SHARES.par_iter().map(|share| own(*share)).collect::<Result<_, _>>()?;
    let best = (0..tried.len()).min_by(|&a, &b| tried[a].score().total_cmp(&tried[b].score()));
    Ok((tried, best.unwrap_or(SHARES.len() - 1)))
}

/// The part that each sample belongs to: its recording, or its third of a single one.
fn parts(rows: &LimbRows) -> Vec<usize> {
    let logs = rows.log.iter().max().map_or(0, |last| last + 1);
    match logs {
        0 | 1 => (0..rows.log.len()).map(|s| PARTS * s / rows.log.len()).collect(),
        _ => rows.log.clone(),
    }
}
