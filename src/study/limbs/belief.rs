//! How far links are believed to be from what the files say, and what counts as an outlier: chosen by leaving out one recording after the other.
//!
//! A prior that is too wide lets links explain what drives did in the recordings at hand, and the next recording is then predicted worse
//! than with the files' links. One that is too narrow keeps wrong links. Likewise, a sample that is an outlier for one motor may be a good one for
//! the others, or not. So what all recordings but one say is asked to predict that one, for every share of [`SHARES`] and both kinds of outliers. What counts
//! is the sum over motors of the logarithms of the errors' root mean squares over all recordings: no motor counts more because its torques
//! are larger. A recording to validate on has no part in it. Of a single recording, thirds are left out.

use rayon::prelude::*;
use serde::Serialize;

use super::fit::{Free, fit};
use super::rows::LimbRows;
use crate::regression::RegressionError;
use crate::robot::Model;

/// Shares that are tried, of the deviation that links have; ascending.
const SHARES: [f64; 7] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0];
/// Parts of a single recording.
const PARTS: usize = 3;

/// What loses its pull where a motor's error is large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outliers {
    /// The whole sample ([`crate::regression::robust::reweight`]).
    Samples,
    /// That motor's torque alone ([`crate::regression::robust::reweight_each`]).
    Motors,
}

/// What was chosen, and how well it predicts what it did not see.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkBelief {
    /// Deviation of a link's mass in the prior, as a share of what the files say; the rest of its parameters in proportion.
    pub link_share: f64,
    /// What counts as an outlier.
    pub outliers: Outliers,
    /// Error of each motor on the recordings that were left out, N m RMS.
    pub left_out_rms_nm: Vec<f64>,
}

impl LinkBelief {
    /// What counts.
    fn score(&self) -> f64 {
        self.left_out_rms_nm.iter().map(|rms| rms.max(f64::MIN_POSITIVE).ln()).sum()
    }
}

/// The best of all.
pub(super) fn choose(limb: &Model, free: &Free, rows: &LimbRows) -> Result<LinkBelief, RegressionError> {
    let parts = parts(rows);
    let count = parts.iter().max().map_or(0, |last| last + 1);
    let split =
        |left_out: usize| (rows.select(|s| parts[s] != left_out).rows, rows.select(|s| parts[s] == left_out));
    let splits: Vec<_> = (0..count).map(split).collect();
    let tried = |(share, outliers): (f64, Outliers)| -> Result<LinkBelief, RegressionError> {
        let (mut squares, mut samples) = (vec![0.0; rows.rows.joints], vec![0usize; rows.rows.joints]);
        let free = free.within(share);
        for (seen, unseen) in &splits {
            let found = fit(limb, &free, seen, outliers)?;
            for (j, (sum, of)) in unseen.errors(&found.theta).into_iter().enumerate() {
                squares[j] += sum;
                samples[j] += of;
            }
        }
        let rms = squares.iter().zip(&samples).map(|(sum, of)| (sum / (*of).max(1) as f64).sqrt());
        Ok(LinkBelief { link_share: share, outliers, left_out_rms_nm: rms.collect() })
    };
    let all: Vec<(f64, Outliers)> = [Outliers::Samples, Outliers::Motors]
        .into_iter()
        .flat_map(|o| SHARES.map(|share| (share, o)))
        .collect();
    let all: Vec<LinkBelief> = all.into_par_iter().map(tried).collect::<Result<_, _>>()?;
    all.iter().for_each(|x| tracing::debug!(?x, score = x.score(), "left out"));
    let best = all.into_iter().min_by(|a, b| a.score().total_cmp(&b.score()));
    best.ok_or_else(|| RegressionError::NoEstimate("no samples".to_owned()))
}

/// The part that each sample belongs to: its recording, or its third of a single one.
fn parts(rows: &LimbRows) -> Vec<usize> {
    let logs = rows.log.iter().max().map_or(0, |last| last + 1);
    match logs {
        0 | 1 => (0..rows.log.len()).map(|s| PARTS * s / rows.log.len()).collect(),
        _ => rows.log.clone(),
    }
}
