//! Deviations by leaving out one block of the samples after the other: the delete-a-group jackknife.
//!
//! Posterior deviations believe that errors are as large as stated and independent; coloured ones that they are the same everywhere, and forgotten soon. Friction that is another a
//! second later, or depends on where the joint is, is neither: it moves the estimate as long as it lasts. What it does is seen by estimating again without a part of the samples.
//!
//! With K blocks of consecutive samples and the parameter x_k that is estimated without block k, the deviation is `sqrt((K - 1) / K sum (x_k - mean)^2)`. It assumes that errors of
//! different blocks are independent, so a block has to be longer than what errors remember. If blocks are alike, its square is in expectation no
//! smaller than (K - 1) / K of the variance of an estimate from K - 1 of them, whatever the estimator [28]. Where one block tells most, the others have little to go by without it,
//! and it is larger still. K blocks know it only to
//! about 1 / sqrt(2 (K - 1)) of itself. Priors are in all estimates alike: what they alone know has no deviation here.

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use super::choice::Shown;
use super::file::File;
use super::load::Reader;
use super::log::Samples;
use super::result::{collapses, physical, words};
use super::{EstimationMethod, EstimationStudy, ParameterRow};
use crate::estimate::error::EstimateError;
use crate::estimate::solver::Status;

/// Fewer tell next to nothing of how estimates scatter.
const FEWEST: usize = 4;
/// Samples that a block has at least.
const SHORTEST: usize = 10;

impl Reader<'_> {
    /// Number of blocks, where such deviations are asked for.
    pub(super) fn blocks(&self, file: &File, log: &Samples) -> Result<Option<usize>, EstimateError> {
        let Some(count) = file.solver.deviation_blocks else { return Ok(None) };
        let most = log.samples.len() / SHORTEST;
        if !(FEWEST..=most).contains(&count) {
            let samples = log.samples.len();
            let reason = format!(
                "{count}, expected {FEWEST} to {most} of {samples} samples, {SHORTEST} each at least"
            );
            return self.error("solver.deviation_blocks", reason);
        }
        Ok(Some(count))
    }
}

impl EstimationStudy {
    /// Deviations of the physical parameters by blocks, in the order of the result's rows, or why there are none; nothing if they are not asked for.
    pub(super) fn by_blocks(&self, shown: &Shown) -> Option<Result<Vec<f64>, String>> {
        let count = self.deviation_blocks?;
        let method = shown.choice.as_ref().map_or(EstimationMethod::Trajectory, |choice| choice.method);
        let n = self.samples.len();
        let without = |k: usize| {
            let block = k * n / count..(k + 1) * n / count;
            let (from, to) = (self.samples[block.start].t, self.samples[block.end - 1].t);
            self.estimated_without(block, method, &shown.estimate.theta).map_err(|reason| {
                format!("no deviations by blocks: without the samples from {from:.3} to {to:.3} s {reason}")
            })
        };
        let found: Result<Vec<Vec<f64>>, String> = (0..count).into_par_iter().map(without).collect();
        Some(found.map(|estimates| jackknife(&estimates)))
    }

    /// The physical parameters by the same method without the samples of `block`, or why there are none.
    fn estimated_without(
        &self,
        block: Range<usize>,
        method: EstimationMethod,
        theta: &[f64],
    ) -> Result<Vec<f64>, String> {
        let part = self.without_block(block, method);
        let refused = |e: EstimateError| e.to_string();
        let problem = part.problem().map_err(refused)?;
        let found = part.find(&problem, Some(theta), Instant::now()).map_err(refused)?;
        if method == EstimationMethod::Trajectory && found.outcome.status != Status::Converged {
            return Err(format!("the search does not converge ({})", words(found.outcome.status)));
        }
        let theta = &found.shown.estimate.theta;
        if let Some(lost) = collapses(&problem, problem.guess_theta(), theta).into_iter().next() {
            return Err(lost);
        }
        let mut p = self.map.nominal.clone();
        self.map.fill(&self.robot, theta, &mut p);
        Ok(physical(&self.robot, &self.map, &p))
    }

    /// The same problem whose motion begins anew at each of these samples, so that they tell nothing of the parameters; with errors as they are settled, and that method.
    fn without_block(&self, block: Range<usize>, method: EstimationMethod) -> Self {
        let mut part = self.clone();
        part.intervals_s[block.start.saturating_sub(1)..block.end].fill(f64::INFINITY);
        (part.method, part.first_part, part.deviation_blocks) = (Some(method), None, None);
        (part.validation, part.sealed) = (None, None);
        part
    }
}

/// Puts deviations by blocks into the rows of the parameters; the warning where there are none of those that were asked for.
pub(super) fn into_rows(
    blocks: Option<Result<Vec<f64>, String>>,
    rows: &mut [ParameterRow],
) -> Option<String> {
    match blocks? {
        Ok(deviations) => {
            rows.iter_mut().zip(deviations).for_each(|(row, x)| row.block_deviation = Some(x));
            None
        }
        Err(warning) => Some(warning),
    }
}

/// The deviation of each number by the estimates without one block each.
fn jackknife(estimates: &[Vec<f64>]) -> Vec<f64> {
    let count = estimates.len() as f64;
    let of = |i: usize| {
        let mean = estimates.iter().map(|x| x[i]).sum::<f64>() / count;
        let squares: f64 = estimates.iter().map(|x| (x[i] - mean) * (x[i] - mean)).sum();
        ((count - 1.0) / count * squares).sqrt()
    };
    (0..estimates[0].len()).map(of).collect()
}

#[cfg(test)]
mod tests;
