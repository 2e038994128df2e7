//! The search downhill: in each step a quadratic model of what a motion tells is made small, within a linear model of the limits and a distance in which both can be trusted (sequential quadratic
//! programming with an exact penalty, and damped BFGS; Nocedal and Wright 2006, "Numerical Optimization", chapter 18).
//!
//! Where deviations are made small, motions end in a corner of many limits, and steps are good without curvature. Where the condition number is, few limits are met: with curvature it ended at a half.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use nalgebra::{DMatrix, DVector};

use super::search::{Search, Trial};
use super::slopes::Slopes;
use super::support::{Time, even};
use super::{FINER, SAMPLES, SMALLER, USED};
use crate::study::excitation::Judge;

/// The distance of a step: no coefficient alone changes any share of a limit by more than this. The first and longest one, and one that is too short to go on.
const RADIUS: (f64, f64) = (0.1, 1e-5);
/// The same of coefficients by which no limit changes much, in their range.
const FARTHEST: f64 = 1.5;
/// Of the gain that a step promises it has to keep so much to be taken; with less than the second the next is shorter, with more than the third longer.
const KEPT: [f64; 3] = [0.1, 0.3, 0.7];
/// What becomes of the distance after a step that is not taken, a poor one and a good one.
const CHANGED: [f64; 3] = [0.35, 0.5, 2.0];
/// The search ends where a step promises less than this, in units of [`Search::price`]: some tenth of a percent of a deviation.
const NOTHING: f64 = 1e-3;
/// What limits are exceeded by after a step is made good by the next: so much, as a share, costs nothing. Without it steps along limits that bend are short.
const FORGIVEN: f64 = 0.02;
/// Least curvature to begin with, as a share of what the gradient has changed by.
const FLAT: f64 = 1e-3;
/// Limits that are farther away than half the distance of a step are left out of it until it breaks them: how far it may, as a share; and how often such are added.
const BROKEN: f64 = 1e-3;
const ROUNDS: usize = 12;

/// How often times are added at most, and how often a motion is made smaller then: to a hundredth.
const EXCHANGES: usize = 8;
const SHRUNK: usize = 150;

/// A step of all coefficients.
struct Step {
    by: DVector<f64>,
    /// What the model gains.
    promised: f64,
    /// The gradient where it begins.
    slope: DVector<f64>,
}

impl Search<'_> {
    /// The best motion downhill from `here`. Where it uses more of a limit between the times at which it was looked at, these are added, and the search goes on (an exchange method for limits at all times).
    pub fn descended(&mut self, mut here: Trial, judge: &Judge) -> Trial {
        let (_, mut left) = self.task.evaluations;
        for round in 1..=EXCHANGES {
            // A first motion that is near the end is enough to see when it uses too much; the rounds after it are short.
            let mut own = match round {
                1 => left / 2,
                EXCHANGES => left,
                _ => left / 3,
            };
            left -= own;
            here = self.down(here, judge, &mut own);
            left += own;
            if !self.exchanged(&here) {
                break;
            }
            here = self.standing(here, judge);
        }
        here
    }

    /// `here` by the times that are new; smaller, where a foot lifts at one of them: no slope leads back from there.
    fn standing(&self, here: Trial, judge: &Judge) -> Trial {
        let mut x = here.x.clone();
        for _ in 0..SHRUNK {
            match self.trial(x.clone(), f64::INFINITY, self.columns(judge)) {
                Ok(again) if again.most.is_finite() => return again,
                _ => x.iter_mut().for_each(|x| *x *= SMALLER),
            }
        }
        here
    }

    /// Adds the times at which `here` uses more of a limit than around them, and than is allowed. False if there are none.
    fn exchanged(&mut self, here: &Trial) -> bool {
        let fine = even(SAMPLES * FINER);
        let course = self.task.sway(&self.support, &self.ranges, &here.x).ok().and_then(|sway| {
            let motion = self.task.along(&sway);
            self.support.clone().course(&motion, &fine)
        });
        let Some(course) = course else { return false };
        let peak = |k: &usize| {
            let around = [k.saturating_sub(1), (k + 1).min(fine.len() - 1)].map(|k| course[k]);
            let below = |than: f64| course[*k] < than;
            !(around.into_iter().any(below) || below(USED + 2.0 * FORGIVEN))
        };
        let fresh: Vec<Time> = (0..fine.len())
            .filter(peak)
            .map(|k| Time { share: fine[k].share, tells: false })
            .filter(|time| self.times.iter().all(|known| known.share != time.share))
            .collect();
        self.times.extend(&fresh);
        self.times.sort_by(|a, b| a.share.total_cmp(&b.share));
        !fresh.is_empty()
    }

    /// Downhill from `here` with so many motions left.
    fn down(&self, mut here: Trial, judge: &Judge, left: &mut usize) -> Trial {
        // Slopes take as long as so many motions.
        let cost = 2 * self.ranges.len();
        let (mut radius, least) = RADIUS;
        let mut slopes: Option<Slopes> = None;
        let (mut curvature, mut before) = (DMatrix::zeros(here.x.len(), here.x.len()), None::<Step>);
        while *left > cost && radius > least {
            if slopes.is_none() {
                *left -= cost;
                slopes = self.slopes(&here.x, judge);
                if let (Some(now), Some(Step { by, slope, .. })) = (&slopes, before.take()) {
                    learn(
                        &mut curvature,
                        &by,
                        &(DVector::from_column_slice(&now.gradient) - slope),
                        &reach(now, 1.0),
                    );
                }
            }
            let Some(now) = &slopes else { break };
            *left -= 1;
            let merit = self.merit(now.value, here.most);
            let Some(step) = self.step(now, &curvature, (radius, merit)) else {
                radius *= CHANGED[0];
                continue;
            };
            if step.promised < NOTHING * self.price() {
                break;
            }
            let x = here.x.iter().zip(step.by.iter()).map(|(x, d)| x + d).collect();
            let tried = self.trial(x, f64::INFINITY, self.columns(judge)).ok();
            let after = |trial: &Trial| self.merit(self.value(judge, &trial.information), trial.most);
            let kept = tried.as_ref().map_or(f64::NAN, |trial| (merit - after(trial)) / step.promised);
            let Some(trial) = tried.filter(|_| kept > KEPT[0]) else {
                radius *= CHANGED[0];
                continue;
            };
            (here, slopes, before) = (trial, None, Some(step));
            radius = match kept {
                poor if poor < KEPT[1] => CHANGED[1] * radius,
                good if good > KEPT[2] => (CHANGED[2] * radius).min(RADIUS.0),
                _ => radius,
            };
        }
        here
    }

    /// What is made small, and the price of the limit that is exceeded most.
    fn merit(&self, value: f64, most: f64) -> f64 {
        value + self.price() * ((most - FORGIVEN) / USED - 1.0).max(0.0)
    }

    /// The step that makes the model smallest. Rows that it breaks are added until there is none.
    fn step(&self, slopes: &Slopes, curvature: &DMatrix<f64>, (radius, merit): (f64, f64)) -> Option<Step> {
        let (reach, limits) = (reach(slopes, radius), &slopes.limits);
        let mut rows: Vec<usize> = (0..limits.len()).filter(|&r| limits[r].0 > USED - 0.5 * radius).collect();
        for _ in 0..ROUNDS {
            let (by, over) = self.within(slopes, curvature, &rows, &reach)?;
            let broken = |r: &usize| {
                let (share, slope) = &limits[*r];
                let then = share + slope.iter().zip(by.iter()).map(|(a, d)| a * d).sum::<f64>();
                !rows.contains(r) && then > USED + over + BROKEN
            };
            let fresh: Vec<usize> = (0..limits.len()).filter(broken).collect();
            if fresh.is_empty() {
                let slope = DVector::from_column_slice(&slopes.gradient);
                let gained = slope.dot(&by) + 0.5 * by.dot(&(curvature * &by));
                let promised = merit - self.merit(slopes.value + gained, USED + over);
                return Some(Step { by, promised, slope });
            }
            rows.extend(fresh);
        }
        None
    }

    /// The program over these rows: minimise g'd + d'B d / 2 + price / USED t with share + slope'd <= USED + t, t >= 0, |d| <= reach. Returns d and t.
    fn within(
        &self,
        slopes: &Slopes,
        curvature: &DMatrix<f64>,
        rows: &[usize],
        reach: &[f64],
    ) -> Option<(DVector<f64>, f64)> {
        let n = reach.len();
        let cost: Vec<f64> = slopes.gradient.iter().copied().chain([self.price() / USED]).collect();
        let (mut entries, mut most) = (Entries::default(), vec![]);
        for (r, (share, slope)) in rows.iter().map(|&r| &slopes.limits[r]).enumerate() {
            slope.iter().enumerate().for_each(|(c, x)| entries.put(r, c, *x));
            entries.put(r, n, -1.0);
            most.push(USED - share);
        }
        entries.put(most.len(), n, -1.0);
        most.push(0.0);
        for (c, reach) in reach.iter().enumerate() {
            for sign in [1.0, -1.0] {
                entries.put(most.len(), c, sign);
                most.push(*reach);
            }
        }
        let mut upper = Entries::default();
        for c in 0..n {
            (0..=c).for_each(|r| upper.put(r, c, curvature[(r, c)]));
        }
        let numbers = most.iter().chain(&cost).chain(&entries.values).chain(&upper.values);
        if numbers.into_iter().any(|x| !x.is_finite()) {
            return None;
        }
        let (rows, curvature) = (entries.matrix(most.len(), n + 1), upper.matrix(n + 1, n + 1));
        let cones = [SupportedConeT::NonnegativeConeT(most.len())];
        let mut solver = DefaultSolver::new(&curvature, &cost, &rows, &most, &cones, settings()).ok()?;
        solver.solve();
        let found = matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
        let x = &solver.solution.x;
        found.then(|| (DVector::from_column_slice(&x[..n]), x[n].max(0.0)))
    }
}

/// Entries of a sparse matrix.
#[derive(Default)]
struct Entries {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl Entries {
    /// Another entry, unless it is zero.
    fn put(&mut self, row: usize, column: usize, value: f64) {
        if value != 0.0 {
            self.rows.push(row);
            self.columns.push(column);
            self.values.push(value);
        }
    }

    fn matrix(self, rows: usize, columns: usize) -> CscMatrix<f64> {
        CscMatrix::new_from_triplets(rows, columns, self.rows, self.columns, self.values)
    }
}

/// As exact as a model of which more is left out.
fn settings() -> DefaultSettings<f64> {
    DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-5,
        tol_gap_rel: 1e-4,
        tol_feas: 1e-5,
        iterative_refinement_reltol: 1e-7,
        iterative_refinement_abstol: 1e-7,
        ..DefaultSettings::default()
    }
}

/// What a step and the change of the gradient along it say of the curvature: an update of damped BFGS. The first one begins with a diagonal matrix by the reach of each coefficient, as curved as it
/// was along the step.
fn learn(curvature: &mut DMatrix<f64>, step: &DVector<f64>, change: &DVector<f64>, reach: &[f64]) {
    if curvature.amax() == 0.0 {
        let by_reach = DVector::from_iterator(reach.len(), reach.iter().map(|reach| reach.powi(-2)));
        let own = step.component_mul(&by_reach).dot(step);
        // Where it was not curved upwards, by a little of the gradient's change.
        let scale = (change.dot(step) / own).max(FLAT * change.norm() * step.norm() / own);
        curvature.set_diagonal(&(by_reach * scale));
    }
    let along = &*curvature * step;
    let (model, found) = (step.dot(&along), step.dot(change));
    // Powell's damping keeps it positive definite.
    let part = if found < 0.2 * model { 0.8 * model / (model - found) } else { 1.0 };
    let change = change * part + &along * (1.0 - part);
    let found = step.dot(&change);
    if model > 0.0 && found > 0.0 {
        curvature.ger(-1.0 / model, &along, &along, 1.0);
        curvature.ger(1.0 / found, &change, &change, 1.0);
    }
}

/// How far each coefficient may go.
fn reach(slopes: &Slopes, radius: f64) -> Vec<f64> {
    let mut steepest = vec![0.0_f64; slopes.gradient.len()];
    for (_, slope) in &slopes.limits {
        steepest.iter_mut().zip(slope).for_each(|(most, x)| *most = most.max(x.abs()));
    }
    steepest.into_iter().map(|slope| radius * FARTHEST.min(1.0 / slope)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a quadratic function steps learn the matrix, whatever it is to begin with; where it is not curved upwards it stays positive definite.
    #[test]
    fn curvature_is_learnt_and_stays_positive() {
        let exact = DMatrix::from_fn(4, 4, |r, c| if r == c { 3.0 + r as f64 } else { 0.5 });
        let mut learnt = DMatrix::zeros(4, 4);
        for k in 0..200 {
            let step = DVector::from_fn(4, |i, _| (((5 * k + 3 * i + k * i) % 7) as f64 - 3.0) * 0.1);
            if step.amax() > 0.0 {
                learn(&mut learnt, &step, &(&exact * &step), &[0.1, 1.0, 2.0, 0.5]);
            }
        }
        assert!((&learnt - &exact).amax() < 1e-3, "{learnt}");
        for k in 0..20 {
            let step = DVector::from_fn(4, |i, _| ((3 * k + i) % 5) as f64 - 2.0);
            learn(&mut learnt, &step, &(&step * -1.0), &[1.0; 4]);
            assert!(learnt.clone().symmetric_eigenvalues().min() > 0.0, "{learnt}");
        }
    }
}
