//! How far links are believed to be from what the files say, and what counts as an outlier: chosen by leaving out one recording after the other.
//!
//! A prior that is too wide lets links explain what drives did in the recordings at hand, and the next recording is then predicted worse
//! than with the files' links. One that is too narrow keeps wrong links. Likewise, a sample that is an outlier for one motor may be a good one for
//! the others, or not. So what all recordings but one say is asked to predict that one, for every share of [`SHARES`] and both kinds of outliers. What counts
//! is the sum over motors of the logarithms of the errors' root mean squares over all recordings: no motor counts more because its torques
//! are larger. Whatever predicts a motor worse than the files' links do, with friction learnt for them, is out. Worse is what chance does not explain: squared errors
//! are compared block by block, and their differences' mean counts in standard errors ([`LinkBelief::worst_excess`]). Nor are links told
//! by which no motor gains a twentieth: what a few recordings leave to chance, and the friction that its model lacks, is as large as that. What is told
//! may be a mixture of both, of the first links alone, or the files' links. A recording to validate on has no part in it. Of a single recording, thirds are
//! left out.

use nalgebra::DMatrix;
use rayon::prelude::*;
use serde::Serialize;

use super::LimbUnknown;
use super::compressed::Compressed;
use super::evidence::Evidence;
use super::fit::{Effort, Free, fit};
use super::rows::LimbRows;
use crate::regression::RegressionError;
use crate::robot::Model;

/// Shares that are tried, of the deviation that links have; ascending.
const SHARES: [f64; 7] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0];
/// Shares of what was learnt in what is told, the rest being what is found with the links of the files.
const LEARNT_SHARES: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0];
/// A motor is predicted worse with learnt links than with those of the files if its squared errors are larger by more than so many standard errors: chance decides the rest.
const WORSE: f64 = 1.0;
/// Blocks of each left-out recording, over which differences of squared errors are counted as independent.
const BLOCKS: usize = 10;
/// The least gain, relative, of one motor at least, for which learnt links are told at all.
const GAIN: f64 = 0.05;
/// What is told whole and predicts no motor worse than that by the sums is fitted with weights of its own too: at most so many of each kind of outliers.
const NEARLY: f64 = 0.01;
const WHOLE: usize = 4;
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
    /// So many links are learnt, from the base on; the others are the files'.
    pub links: usize,
    /// Share of the links, and of the friction that goes with them, in what is told; the rest is what is found with the links of the files. 0: the links
    /// of the files predict best.
    pub learnt_share: f64,
    /// Error of each motor on the recordings that were left out, N m RMS.
    pub left_out_rms_nm: Vec<f64>,
    /// The same with the links of the files.
    pub left_out_apart_rms_nm: Vec<f64>,
    /// Largest ratio of such an error to that with the files' links, over motors and recordings that were left out.
    pub worst_ratio: f64,
    /// The same as it may be expected of a further recording: of each motor the logarithms' mean and a standard deviation of one more like them.
    pub next_ratio: f64,
    /// By how many standard errors a motor's squared errors exceed those with the files' links: the mean of the differences over blocks of the recordings that were left out,
    /// by what these differ among each other; the largest over motors. Negative: all are predicted better.
    pub worst_excess: f64,
}

impl LinkBelief {
    /// Whether no motor is predicted worse than with the links of the files, and one clearly better; or these are told.
    fn worth_telling(&self) -> bool {
        let mut pairs = self.left_out_rms_nm.iter().zip(&self.left_out_apart_rms_nm);
        let gains = pairs.any(|(own, apart)| *own <= (1.0 - GAIN) * apart);
        self.learnt_share == 0.0 || gains && self.nowhere_worse()
    }

    /// Whether no motor is predicted worse than with the links of the files.
    fn nowhere_worse(&self) -> bool {
        self.worst_excess <= WORSE
    }

    /// What counts.
    fn score(&self) -> f64 {
        self.left_out_rms_nm.iter().map(|rms| rms.max(f64::MIN_POSITIVE).ln()).sum()
    }
}

/// The best of all.
///
/// For each kind of outliers the share is chosen for all links first. Then so many links are taken, from the base on, as predict best: a motor feels the links
/// that it carries and no others, so those further out are not disturbed by what is learnt of the first. Then the share is chosen for these. All that looks at
/// sums of weighted rows ([`Evidence`]), whose weights differ by kind, so that kinds are not compared by them. Of each kind those that predict best are then
/// fitted with weights of their own, and only these may be told.
pub(super) fn choose(
    limb: &Model,
    unknown: LimbUnknown,
    rows: &Compressed,
) -> Result<LinkBelief, RegressionError> {
    let trial = Trial::new(limb, unknown, rows)?;
    let mut tried = vec![];
    for kind in [Outliers::Samples, Outliers::Motors] {
        tried.extend(trial.of_kind(kind)?);
    }
    let finalists = trial.finalists(&tried);
    let exact = trial.exactly(finalists)?;
    exact.iter().for_each(|x| tracing::debug!(?x, score = x.score(), told = x.worth_telling(), "left out"));
    // The share 0 may always be told, so there is one where there are samples.
    let told = best(&exact, LinkBelief::worth_telling).cloned();
    let told = told.ok_or_else(|| RegressionError::NoEstimate("no samples".to_owned()))?;
    Ok(match told.learnt_share {
        // Links that are believed, with the deviations that go with it.
        0.0 => LinkBelief { link_share: SHARES[0], links: limb.bodies(), ..told },
        _ => told,
    })
}

/// The best of those that may be.
fn best(tried: &[LinkBelief], may: impl Fn(&LinkBelief) -> bool) -> Option<&LinkBelief> {
    tried.iter().filter(|belief| may(belief)).min_by(|a, b| a.score().total_cmp(&b.score()))
}

/// Share, kind of outliers and number of links.
type Of = (f64, Outliers, usize);

/// What beliefs are tried on.
struct Trial<'a> {
    limb: &'a Model,
    unknown: LimbUnknown,
    rows: &'a Compressed,
    /// The part that each sample belongs to.
    parts: Vec<usize>,
    /// Parts that are left out, one after the other.
    left_out: Vec<LimbRows>,
    /// By kind of outliers.
    kinds: [Kind<'a>; 2],
}

/// What the recordings say with one kind of outliers.
struct Kind<'a> {
    evidence: Evidence<'a>,
    /// Errors in each part that was left out, if links are as in the files.
    apart: Vec<DMatrix<f64>>,
}

impl<'a> Trial<'a> {
    fn new(limb: &'a Model, unknown: LimbUnknown, rows: &'a Compressed) -> Result<Self, RegressionError> {
        let parts = parts(&rows.rows);
        let count = parts.iter().max().map_or(0, |last| last + 1);
        let left_out: Vec<LimbRows> = (0..count).map(|part| rows.rows.select(|s| parts[s] == part)).collect();
        let widest = Free::of(limb, unknown, limb.bodies());
        let friction = Free::of(limb, LimbUnknown::Friction, 0);
        let kind = |outliers: Outliers| {
            let evidence = Evidence::of(limb, (&widest, outliers), rows, &parts)?;
            let apart = |part: usize| {
                let theta = match unknown {
                    LimbUnknown::Links => limb.nominal_parameters(),
                    LimbUnknown::Friction | LimbUnknown::Everything => evidence.fit(&friction, part)?,
                };
                Ok(left_out[part].rows.residuals(&rows.onto(&theta)))
            };
            let apart = (0..count).map(apart).collect::<Result<_, RegressionError>>()?;
            Ok(Kind { evidence, apart })
        };
        let (samples, motors) = rayon::join(|| kind(Outliers::Samples), || kind(Outliers::Motors));
        let kinds: [Kind<'a>; 2] = [samples?, motors?];
        Ok(Self { limb, unknown, rows, parts, left_out, kinds })
    }

    /// Beliefs with one kind of outliers by the sums: all shares, then numbers of links, then all shares for the best number.
    fn of_kind(&self, kind: Outliers) -> Result<Vec<LinkBelief>, RegressionError> {
        let all = self.limb.bodies();
        let mut tried = self.all(SHARES.map(|share| (share, kind, all)).to_vec())?;
        let first = best(&tried, |belief| belief.learnt_share == 1.0).map(|belief| belief.link_share);
        let share = first.ok_or_else(|| RegressionError::NoEstimate("no samples".to_owned()))?;
        tried.extend(self.all((1..all).map(|links| (share, kind, links)).collect())?);
        let links = best(&tried, LinkBelief::nowhere_worse).map_or(all, |belief| belief.links);
        if links < all {
            let others = SHARES.into_iter().filter(|other| *other != share);
            tried.extend(self.all(others.map(|share| (share, kind, links)).collect())?);
        }
        Ok(tried)
    }

    /// All of these by the sums, with every share of what is learnt.
    fn all(&self, of: Vec<Of>) -> Result<Vec<LinkBelief>, RegressionError> {
        let all: Vec<Vec<LinkBelief>> =
            of.into_par_iter().map(|of| self.one(of)).collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    fn one(&self, of: Of) -> Result<Vec<LinkBelief>, RegressionError> {
        let free = Free::of(self.limb, self.unknown, of.2).within(of.0);
        let kind = &self.kinds[usize::from(of.1 == Outliers::Motors)];
        let residuals = |(part, unseen): (usize, &LimbRows)| {
            let theta = kind.evidence.fit(&free, part)?;
            Ok(unseen.rows.residuals(&self.rows.onto(&theta)))
        };
        let found: Result<Vec<_>, RegressionError> =
            self.left_out.iter().enumerate().map(residuals).collect();
        Ok(self.beliefs(of, &found?, &kind.apart))
    }

    /// What is worth fits with weights of their own, of each kind of outliers: the best, and the best of what is told whole.
    fn finalists(&self, tried: &[LinkBelief]) -> Vec<Of> {
        let mut finalists: Vec<Of> = vec![];
        for kind in [Outliers::Samples, Outliers::Motors] {
            let learnt = |belief: &LinkBelief| belief.outliers == kind && belief.learnt_share > 0.0;
            let kept = |belief: &LinkBelief| learnt(belief) && belief.nowhere_worse();
            let any = best(tried, kept).or_else(|| best(tried, learnt));
            let nearly = |belief: &&LinkBelief| belief.worst_ratio.max(belief.next_ratio) <= 1.0 + NEARLY;
            let whole = tried.iter().filter(|belief| learnt(belief) && belief.learnt_share == 1.0);
            let mut whole: Vec<&LinkBelief> = whole.filter(nearly).collect();
            whole.sort_by(|a, b| a.score().total_cmp(&b.score()));
            for belief in any.into_iter().chain(whole.into_iter().take(WHOLE)) {
                let of = (belief.link_share, kind, belief.links);
                if !finalists.contains(&of) {
                    finalists.push(of);
                }
            }
        }
        finalists
    }

    /// All of these by fits with weights of their own.
    fn exactly(&self, of: Vec<Of>) -> Result<Vec<LinkBelief>, RegressionError> {
        let seen: Vec<Compressed> =
            (0..self.left_out.len()).map(|part| self.rows.select(|s| self.parts[s] != part)).collect();
        let errors = |part: usize, theta: &[f64]| self.left_out[part].rows.residuals(&self.rows.onto(theta));
        let apart = |outliers: Outliers| -> Result<Vec<DMatrix<f64>>, RegressionError> {
            let one = |(part, seen): (usize, &Compressed)| {
                let theta = links_apart(self.limb, self.unknown, (seen, outliers), Effort::Search)?;
                Ok(errors(part, &theta))
            };
            seen.par_iter().enumerate().map(one).collect()
        };
        let (samples, motors) = rayon::join(|| apart(Outliers::Samples), || apart(Outliers::Motors));
        let apart = [samples?, motors?];
        let one = |of: Of| {
            let free = Free::of(self.limb, self.unknown, of.2).within(of.0);
            let learnt = |(part, seen): (usize, &Compressed)| {
                Ok(errors(part, &fit(self.limb, &free, seen, (of.1, Effort::Search))?.theta))
            };
            let found: Result<Vec<_>, RegressionError> = seen.par_iter().enumerate().map(learnt).collect();
            Ok(self.beliefs(of, &found?, &apart[usize::from(of.1 == Outliers::Motors)]))
        };
        let all: Vec<Vec<LinkBelief>> =
            of.into_par_iter().map(one).collect::<Result<_, RegressionError>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    /// Every share of what is learnt, from the errors in each part with all of it and with nothing: errors of a mixture are mixtures of errors.
    fn beliefs(
        &self,
        (link_share, outliers, links): Of,
        found: &[DMatrix<f64>],
        apart: &[DMatrix<f64>],
    ) -> Vec<LinkBelief> {
        let errors = |learnt_share: f64| -> Vec<Vec<(f64, usize)>> {
            let pairs = self.left_out.iter().zip(found.iter().zip(apart));
            pairs
                .map(|(unseen, (own, apart))| {
                    unseen.sums(&(own * learnt_share + apart * (1.0 - learnt_share)))
                })
                .collect()
        };
        let mixed_blocks = |learnt_share: f64| -> Vec<Vec<f64>> {
            let pairs = self.left_out.iter().zip(found.iter().zip(apart));
            let parts = pairs.map(|(unseen, (own, apart))| {
                unseen.block_sums(&(own * learnt_share + apart * (1.0 - learnt_share)), BLOCKS)
            });
            parts.flatten().collect()
        };
        let apart_blocks = mixed_blocks(0.0);
        let apart = errors(0.0);
        let with = |learnt_share: f64| {
            let own = errors(learnt_share);
            LinkBelief {
                link_share,
                outliers,
                links,
                learnt_share,
                worst_ratio: worst_ratio(&own, &apart),
                next_ratio: next_ratio(&own, &apart),
                worst_excess: worst_excess(&mixed_blocks(learnt_share), &apart_blocks),
                left_out_rms_nm: rms(&own),
                left_out_apart_rms_nm: rms(&apart),
            }
        };
        LEARNT_SHARES.map(with).to_vec()
    }
}

/// Errors of each motor over all parts.
fn rms(parts: &[Vec<(f64, usize)>]) -> Vec<f64> {
    let motors = parts.first().map_or(0, Vec::len);
    let of =
        |j: usize| parts.iter().fold((0.0, 0), |(sum, count), part| (sum + part[j].0, count + part[j].1));
    (0..motors).map(of).map(|(sum, count)| (sum / count.max(1) as f64).sqrt()).collect()
}

/// Largest ratio of an error to that of the files' links, over motors and parts.
fn worst_ratio(own: &[Vec<(f64, usize)>], apart: &[Vec<(f64, usize)>]) -> f64 {
    let pairs = own.iter().flatten().zip(apart.iter().flatten());
    pairs.map(|(own, apart)| ratio(own.0, apart.0).sqrt()).fold(0.0, f64::max)
}

/// The largest ratio that a further part may be expected to have: with x the logarithms of a motor's ratios in K parts, of mean m and variance s^2, one more
/// is at m, give or take s sqrt(1 + 1 / K). With one part there is no s, and the ratio is its own.
fn next_ratio(own: &[Vec<(f64, usize)>], apart: &[Vec<(f64, usize)>]) -> f64 {
    let (motors, count) = (own.first().map_or(0, Vec::len), own.len() as f64);
    let of = |j: usize| {
        let logs = own.iter().zip(apart).map(|(own, apart)| 0.5 * ratio(own[j].0, apart[j].0).ln());
        let logs: Vec<f64> = logs.collect();
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|x| (x - mean).powi(2)).sum();
        mean + (squares / (count - 1.0).max(1.0) * (1.0 + 1.0 / count)).sqrt()
    };
    (0..motors).map(of).fold(f64::NEG_INFINITY, f64::max).exp()
}

/// The mean of the differences of a motor's squared errors in blocks, in standard errors of that mean; the largest over motors.
fn worst_excess(own: &[Vec<f64>], apart: &[Vec<f64>]) -> f64 {
    let (motors, count) = (own.first().map_or(0, Vec::len), own.len() as f64);
    let of = |j: usize| {
        let differences = || own.iter().zip(apart).map(|(own, apart)| own[j] - apart[j]);
        let mean = differences().sum::<f64>() / count;
        let squares: f64 = differences().map(|x| (x - mean).powi(2)).sum();
        let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
        if mean == 0.0 { 0.0 } else { mean / error }
    };
    (0..motors).map(of).fold(f64::NEG_INFINITY, f64::max)
}

/// Of two sums of squares; 1 where there is nothing in either.
fn ratio(own: f64, apart: f64) -> f64 {
    (own.max(f64::MIN_POSITIVE)) / apart.max(f64::MIN_POSITIVE)
}

/// A share of what was learnt, the rest of what is found with the links of the files. Bodies that exist make one that exists.
pub(super) fn mixed(learnt: &[f64], apart: &[f64], learnt_share: f64) -> Vec<f64> {
    learnt.iter().zip(apart).map(|(a, b)| learnt_share * a + (1.0 - learnt_share) * b).collect()
}

/// All parameters with the links of the files: friction alone is learnt, where friction is unknown.
pub(super) fn links_apart(
    limb: &Model,
    unknown: LimbUnknown,
    (rows, outliers): (&Compressed, Outliers),
    effort: Effort,
) -> Result<Vec<f64>, RegressionError> {
    match unknown {
        LimbUnknown::Links => Ok(limb.nominal_parameters()),
        LimbUnknown::Friction | LimbUnknown::Everything => {
            Ok(fit(limb, &Free::of(limb, LimbUnknown::Friction, 0), rows, (outliers, effort))?.theta)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of squares of motors in parts, from the errors' percent against one.
    fn parts(percent: &[&[f64]]) -> Vec<Vec<(f64, usize)>> {
        percent.iter().map(|part| part.iter().map(|p| ((1.0 + 0.01 * p).powi(2), 1)).collect()).collect()
    }

    #[test]
    fn a_motor_that_gains_here_and_loses_there_is_expected_to_lose() {
        let apart = parts(&[&[0.0, 0.0], &[0.0, 0.0], &[0.0, 0.0]]);
        let told = |own: &[&[f64]]| {
            let own = parts(own);
            (worst_ratio(&own, &apart), next_ratio(&own, &apart))
        };
        // The files' links themselves, and what is better by the same everywhere.
        assert_eq!(told(&[&[0.0, 0.0], &[0.0, 0.0], &[0.0, 0.0]]), (1.0, 1.0));
        let (worst, next) = told(&[&[-5.0, 0.0], &[-5.0, 0.0], &[-5.0, 0.0]]);
        assert!(worst == 1.0 && next == 1.0, "{worst} {next}");
        // The first motor loses by a thousandth at most, but by its spread it may lose more in the next.
        let (worst, next) = told(&[&[-0.9, -1.0], &[0.05, -1.1], &[0.09, -0.9]]);
        assert!(worst < 1.001 && next > 1.001, "{worst} {next}");
        let (x, mean) = ([0.991f64, 1.0005, 1.0009].map(f64::ln), (0.991f64 * 1.0005 * 1.0009).ln() / 3.0);
        let s = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
        assert!((next - (mean + s * (4.0f64 / 3.0).sqrt()).exp()).abs() < 1e-12, "{next}");
        // What is clear stays in, however much recordings differ.
        let (worst, next) = told(&[&[-50.0, -10.0], &[-70.0, -9.0], &[-60.0, -11.0]]);
        assert!(worst < 1.0 && next < 1.0, "{worst} {next}");
        // Nowhere worse, but by so little better that it is not told.
        let told = |percent: f64| {
            let own = parts(&[&[percent, 0.0], &[percent, 0.0]]);
            let apart = &apart[..2];
            let belief = LinkBelief {
                link_share: 1.0,
                outliers: Outliers::Samples,
                links: 2,
                learnt_share: 1.0,
                left_out_rms_nm: rms(&own),
                left_out_apart_rms_nm: rms(apart),
                worst_ratio: worst_ratio(&own, apart),
                next_ratio: next_ratio(&own, apart),
                worst_excess: 0.0,
            };
            (belief.worth_telling(), LinkBelief { learnt_share: 0.0, ..belief }.worth_telling())
        };
        assert_eq!([-4.9, -5.1, 5.1].map(told), [(false, true), (true, true), (false, true)]);
        // By chance or not: of four blocks the differences' mean, in its standard error.
        let apart = vec![vec![1.0, 1.0]; 4];
        let own = |x: [f64; 4]| x.map(|x| vec![x, 0.9]).to_vec();
        let excess = worst_excess(&own([1.3, 0.8, 1.2, 0.9]), &apart);
        let error = ((2.0 * 0.25f64.powi(2) + 2.0 * 0.15f64.powi(2)) / 3.0 / 4.0).sqrt();
        assert!((excess - 0.05 / error).abs() < 1e-9 && excess < WORSE, "{excess}");
        assert!(worst_excess(&own([1.04, 1.05, 1.06, 1.05]), &apart) > WORSE);
        assert!(worst_excess(&own([0.94, 0.95, 0.96, 0.95]), &apart) < 0.0);
        assert_eq!(worst_excess(&apart, &apart), 0.0);
        // Two recordings, and one.
        assert!(next_ratio(&parts(&[&[1.0]]), &parts(&[&[0.0]])) > 1.0099);
        assert!(next_ratio(&parts(&[&[-1.0], &[1.0]]), &parts(&[&[0.0], &[0.0]])) > 1.01);
    }
}
