//! How far links are believed to be from what the files say, and what counts as an outlier: chosen by leaving out one recording after the other.
//!
//! A prior that is too wide lets links explain what drives did in the recordings at hand, and the next recording is then predicted worse
//! than with the files' links. One that is too narrow keeps wrong links. Likewise, a sample that is an outlier for one motor may be a good one for
//! the others, or not. So what all recordings but one say is asked to predict that one, for every share of [`SHARES`] and both kinds of outliers. What counts
//! is the sum over motors of the logarithms of the errors' root mean squares over all recordings: no motor counts more because its torques
//! are larger. Whatever predicts a motor worse than the files' links do, with friction learnt for them, is out: what is told may be a mixture of both, or the
//! files' links. A recording to validate on has no part in it. Of a single recording, thirds are left out.

use rayon::prelude::*;
use serde::Serialize;

use super::LimbUnknown;
use super::fit::{Free, fit};
use super::rows::LimbRows;
use crate::regression::RegressionError;
use crate::regression::robust::SampleRows;
use crate::robot::Model;

/// Shares that are tried, of the deviation that links have; ascending.
const SHARES: [f64; 7] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0];
/// Shares of what was learnt in what is told, the rest being what is found with the links of the files.
const LEARNT_SHARES: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0];
/// By how much a motor may be predicted worse with learnt links than with those of the files, relative: noise decides the rest.
const WORSE: f64 = 1e-3;
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
    /// Share of the links, and of the friction that goes with them, in what is told; the rest is what is found with the links of the files. 0: the links
    /// of the files predict best.
    pub learnt_share: f64,
    /// Error of each motor on the recordings that were left out, N m RMS.
    pub left_out_rms_nm: Vec<f64>,
    /// The same with the links of the files.
    pub left_out_apart_rms_nm: Vec<f64>,
}

impl LinkBelief {
    /// Whether no motor is predicted worse than with the links of the files.
    fn nowhere_worse(&self) -> bool {
        let pairs = self.left_out_rms_nm.iter().zip(&self.left_out_apart_rms_nm);
        pairs.into_iter().all(|(own, apart)| *own <= (1.0 + WORSE) * apart)
    }

    /// What counts.
    fn score(&self) -> f64 {
        self.left_out_rms_nm.iter().map(|rms| rms.max(f64::MIN_POSITIVE).ln()).sum()
    }
}

/// The best of all.
pub(super) fn choose(
    limb: &Model,
    (free, unknown): (&Free, LimbUnknown),
    rows: &LimbRows,
) -> Result<LinkBelief, RegressionError> {
    let parts = parts(rows);
    let count = parts.iter().max().map_or(0, |last| last + 1);
    let split =
        |left_out: usize| (rows.select(|s| parts[s] != left_out).rows, rows.select(|s| parts[s] == left_out));
    let mut splits = Vec::with_capacity(count);
    for (seen, unseen) in (0..count).map(split) {
        let apart = links_apart(limb, unknown, &seen)?;
        splits.push(Split { seen, unseen, apart });
    }
    let apart: Vec<&[f64]> = splits.iter().map(|split| &split.apart[..]).collect();
    let left_out_apart_rms_nm = predicted(&splits, &apart);
    let tried = |(share, outliers): (f64, Outliers)| -> Result<Vec<LinkBelief>, RegressionError> {
        let free = free.within(share);
        let found: Vec<Vec<f64>> = splits
            .iter()
            .map(|split| Ok(fit(limb, &free, &split.seen, outliers)?.theta))
            .collect::<Result<_, RegressionError>>()?;
        let with = |learnt_share: f64| {
            let mixed: Vec<Vec<f64>> = splits
                .iter()
                .zip(&found)
                .map(|(split, found)| mixed(found, &split.apart, learnt_share))
                .collect();
            let mixed: Vec<&[f64]> = mixed.iter().map(|theta| &theta[..]).collect();
            let left_out_rms_nm = predicted(&splits, &mixed);
            let left_out_apart_rms_nm = left_out_apart_rms_nm.clone();
            LinkBelief { link_share: share, outliers, learnt_share, left_out_rms_nm, left_out_apart_rms_nm }
        };
        Ok(LEARNT_SHARES.map(with).to_vec())
    };
    let all: Vec<(f64, Outliers)> = [Outliers::Samples, Outliers::Motors]
        .into_iter()
        .flat_map(|o| SHARES.map(|share| (share, o)))
        .collect();
    let all: Vec<Vec<LinkBelief>> = all.into_par_iter().map(tried).collect::<Result<_, _>>()?;
    let all = all.into_iter().flatten();
    let all = all.inspect(|x| tracing::debug!(?x, score = x.score(), worse = !x.nowhere_worse(), "left out"));
    let best = all.filter(LinkBelief::nowhere_worse).min_by(|a, b| a.score().total_cmp(&b.score()));
    // The share 0 is nowhere worse, so there is one where there are samples.
    best.ok_or_else(|| RegressionError::NoEstimate("no samples".to_owned()))
}

/// Recordings to learn from, one to predict, and what the first say if links are as in the files.
struct Split {
    seen: SampleRows,
    unseen: LimbRows,
    apart: Vec<f64>,
}

/// Error of each motor over all that was left out, by the parameters found without it, N m RMS.
fn predicted(splits: &[Split], theta: &[&[f64]]) -> Vec<f64> {
    let joints = splits.first().map_or(0, |split| split.seen.joints);
    let (mut squares, mut samples) = (vec![0.0; joints], vec![0usize; joints]);
    for (split, theta) in splits.iter().zip(theta) {
        for (j, (sum, of)) in split.unseen.errors(theta).into_iter().enumerate() {
            squares[j] += sum;
            samples[j] += of;
        }
    }
    squares.iter().zip(&samples).map(|(sum, of)| (sum / (*of).max(1) as f64).sqrt()).collect()
}

/// A share of what was learnt, the rest of what is found with the links of the files. Bodies that exist make one that exists.
pub(super) fn mixed(learnt: &[f64], apart: &[f64], learnt_share: f64) -> Vec<f64> {
    learnt.iter().zip(apart).map(|(a, b)| learnt_share * a + (1.0 - learnt_share) * b).collect()
}

/// All parameters with the links of the files: friction alone is learnt, where friction is unknown.
pub(super) fn links_apart(
    limb: &Model,
    unknown: LimbUnknown,
    rows: &SampleRows,
) -> Result<Vec<f64>, RegressionError> {
    match unknown {
        LimbUnknown::Links => Ok(limb.nominal_parameters()),
        LimbUnknown::Friction | LimbUnknown::Everything => {
            Ok(fit(limb, &Free::of(limb, LimbUnknown::Friction), rows, Outliers::Samples)?.theta)
        }
    }
}

/// The part that each sample belongs to: its recording, or its third of a single one.
fn parts(rows: &LimbRows) -> Vec<usize> {
    let logs = rows.log.iter().max().map_or(0, |last| last + 1);
    match logs {
        0 | 1 => (0..rows.log.len()).map(|s| PARTS * s / rows.log.len()).collect(),
        _ => rows.log.clone(),
    }
}
