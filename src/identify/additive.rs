//! The smallest additive error bound that explains a recording: what must be granted when the assumed bounds are refuted.
//!
//! Rows of data say |y_w z - u_w| <= radius_w. Grant joint i a further mean torque error b_i (N m), that is
//! |y_w z - u_w| <= radius_w + b_i T_w over a window of T_w seconds. Two proven figures enclose the smallest b:
//!
//! - *Necessary.* For one joint alone, any multipliers l on its rows and any z of the box,
//!   0 = l Y z - l Y z <= l u + |l| (radius + b T) + sup over the box of -l Y z, so with D = l u + |l| radius + that
//!   supremum (an outward-rounded sum, [`super::certificate`], which may use physical consistency as well) b >= -D / (|l| T): less explains joint i for no z.
//! - *Sufficient.* For any z of the box, b_i = max over the rows of joint i of (|y_w z - u_w| - radius_w)/T_w explains all
//!   rows with that z, rounded upward; a linear program proposes a z that is good for all joints together, with a
//!   physically consistent last body.
//!
//! Neither is a bound on what the sensors really do: another recording may need more. A set computed with it is
//! conditional, and is reported so.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};

use super::certificate::{Multipliers, Sum, upper_bound};
use super::error::IdentifyError;
use super::physics::tighten_body;
use super::polytope::{Cuts, Polytope, Rows};
use crate::inertia::pseudo::check_physical;
use crate::inertia::{INERTIAL, ParameterSet};

/// Rounds of adding the rows that the last proposal violates.
const ROUNDS: usize = 25;
/// Rows added for each joint and round.
const FRESH: usize = 12;
/// Rows added in each round where all of them share one bound.
const FRESH_TOGETHER: usize = 60;
/// Rows with a smaller share of the largest multiplier are not carried over.
const IDLE: f64 = 1e-5;
/// A proposal counts as physically consistent up to this (kg; lengths in units of 0.2 m).
const CONSISTENT: f64 = 1e-7;
/// Rows of violated rows that matter, in units of the largest bound.
const TOLERANCE: f64 = 1e-7;

/// What [`smallest`] found, one entry a joint, N m.
#[derive(Debug, Clone, PartialEq)]
pub struct AdditiveBound {
    /// Proven: with less than this, the rows of the joint contradict the box, whatever the other joints are granted.
    pub necessary: Vec<f64>,
    /// Proven: with this for all joints together, `witness` explains every row.
    pub sufficient: Vec<f64>,
    /// A parameter vector of the box.
    pub witness: Vec<f64>,
}

/// Encloses the smallest additive bounds for `joints` joints over the rows and their windows' lengths (s). The body at
/// index `body` is physically consistent.
///
/// Every length must be positive; rows of a length that is not are not explained by anything, so `sufficient` is
/// infinite for their joint.
///
/// # Errors
/// [`IdentifyError`] if the box is not finite, does not fit the rows or holds no physically consistent body.
pub fn smallest(
    set: &ParameterSet,
    rows: &Rows,
    duration: &[f64],
    joints: usize,
    body: usize,
) -> Result<AdditiveBound, IdentifyError> {
    let (_, inside) = tighten_body(set, body)?;
    let mut cuts = Cuts::axes(INERTIAL * body);
    let mut necessary = vec![];
    let mut guess = set.center();
    for joint in 0..joints {
        let own: Vec<usize> = (0..rows.len()).filter(|&w| rows.origin[w].joint == joint).collect();
        let lengths: Vec<f64> = own.iter().map(|&w| duration[w]).collect();
        let part = rows.select(&own);
        let search =
            Search { set, rows: &part, duration: &lengths, weight: &vec![1.0; joints], fresh: FRESH };
        let (found, used) = search.run(&guess, &mut cuts, &mut vec![]);
        let polytope = Polytope { set: set.clone(), rows: part, cuts: used, weight: vec![] };
        necessary.push(refute(&polytope, &lengths, &found.multipliers));
        guess = found.z;
    }
    // All joints together, each in units of what it needs at least.
    let smallest = necessary.iter().copied().filter(|b| *b > 0.0).fold(f64::INFINITY, f64::min);
    let unit = if smallest.is_finite() { smallest } else { 1.0 };
    let weight: Vec<f64> = necessary.iter().map(|b| 1.0 / b.max(unit)).collect();
    let search = Search { set, rows, duration, weight: &weight, fresh: FRESH };
    let (found, _) = search.run(&guess, &mut cuts, &mut vec![]);
    let witness = admissible(set, &cuts, &found.z, &inside);
    let sufficient = explain(rows, duration, joints, &witness);
    Ok(AdditiveBound { necessary, sufficient, witness })
}

/// Encloses the smallest t >= 0 with which some z of the box explains every row within 1 + t of its radius: below the first no z
/// does, with the second the returned one does. `warm` carries the cuts and the rows that mattered from one call to the next, for rows
/// that differ little. The body of the cuts is physically consistent.
///
/// Both are proven as those of [`smallest`] are, with radii in the place of lengths of windows and all rows of one joint.
///
/// # Errors
/// As [`smallest`].
pub fn radius_excess(
    set: &ParameterSet,
    rows: &Rows,
    warm: &mut Warm,
) -> Result<(f64, f64, Vec<f64>), IdentifyError> {
    let (_, inside) = tighten_body(set, warm.cuts.offset / INERTIAL)?;
    let mut rows = rows.clone();
    rows.origin.iter_mut().for_each(|origin| origin.joint = 0);
    let unit = rows.radius.clone();
    let start = if warm.z.len() == set.len() { warm.z.clone() } else { set.center() };
    let search = Search { set, rows: &rows, duration: &unit, weight: &[1.0], fresh: FRESH_TOGETHER };
    let (found, used) = search.run(&start, &mut warm.cuts, &mut warm.chosen);
    let witness = admissible(set, &warm.cuts, &found.z, &inside);
    let sufficient = explain(&rows, &unit, 1, &witness)[0];
    let polytope = Polytope { set: set.clone(), rows, cuts: used, weight: vec![] };
    let necessary = refute(&polytope, &unit, &found.multipliers);
    // What holds the answer in place; the rest would only make the next program larger.
    let heaviest = found.multipliers.rows.iter().fold(0.0_f64, |most, l| most.max(l.abs()));
    warm.chosen.retain(|&w| found.multipliers.rows[w].abs() > IDLE * heaviest);
    warm.z = found.z;
    Ok((necessary, sufficient, witness))
}

/// What [`radius_excess`] carries over; none of it is trusted.
#[derive(Debug, Clone)]
pub struct Warm {
    cuts: Cuts,
    chosen: Vec<usize>,
    z: Vec<f64>,
}

impl Warm {
    /// Nothing yet; `body` is the index of the physically consistent body.
    pub fn new(body: usize) -> Self {
        Self { cuts: Cuts::axes(INERTIAL * body), chosen: vec![], z: vec![] }
    }
}

/// A proposal moved into the box, its body to a physically consistent one.
fn admissible(set: &ParameterSet, cuts: &Cuts, z: &[f64], inside: &[f64; INERTIAL]) -> Vec<f64> {
    let mut witness: Vec<f64> =
        z.iter().enumerate().map(|(j, z)| z.clamp(set.lower()[j], set.upper()[j])).collect();
    make_physical(&mut witness[cuts.offset..cuts.offset + INERTIAL], inside);
    witness
}

/// Moves a body towards a physically consistent one, no farther than it needs to be consistent itself.
fn make_physical(theta: &mut [f64], inside: &[f64; INERTIAL]) {
    let wanted: [f64; INERTIAL] = std::array::from_fn(|k| theta[k]);
    // Both lie in the box, which is convex; the first of these shares is a millionth, so little is lost.
    let shares = std::iter::once(0.0).chain((-20..=0).map(|k| 2f64.powi(k)));
    for share in shares {
        let blend: [f64; INERTIAL] = std::array::from_fn(|k| (1.0 - share) * wanted[k] + share * inside[k]);
        theta.copy_from_slice(&blend);
        if check_physical(&blend).is_ok() {
            break;
        }
    }
}

/// The bound that explains all rows with `z`, rounded upward.
fn explain(rows: &Rows, duration: &[f64], joints: usize, z: &[f64]) -> Vec<f64> {
    let mut bound = vec![0.0_f64; joints];
    for w in 0..rows.len() {
        let mut sum = Sum::default();
        rows.y.row(w).iter().zip(z).for_each(|(y, z)| sum.add(y * z));
        sum.add(-rows.u[w]);
        let excess = (sum.upper_abs() - rows.radius[w]).next_up();
        if excess > 0.0 {
            let share = (excess / duration[w]).next_up();
            let at = &mut bound[rows.origin[w].joint];
            *at = if share >= 0.0 { at.max(share) } else { f64::INFINITY };
        }
    }
    bound
}

/// A lower bound on the additive bound of a single joint, from any multipliers; never negative.
fn refute(polytope: &Polytope, duration: &[f64], multipliers: &Multipliers) -> f64 {
    let value = upper_bound(polytope, &vec![0.0; polytope.len()], multipliers).value;
    let mut length = Sum::default();
    multipliers.rows.iter().zip(duration).for_each(|(l, t)| length.add(l.abs() * t));
    let least = (-value / length.upper()).next_down();
    if value < 0.0 && least > 0.0 { least } else { 0.0 }
}

/// What a linear program proposes: nothing here is trusted.
struct Found {
    z: Vec<f64>,
    multipliers: Multipliers,
}

/// Minimise sum_i weight_i b_i over z in the box and b >= 0 with all rows within radius + b T.
struct Search<'a> {
    set: &'a ParameterSet,
    rows: &'a Rows,
    duration: &'a [f64],
    weight: &'a [f64],
    /// Rows added for each bound and round.
    fresh: usize,
}

impl Search<'_> {
    /// Solves with few rows, adds those that the answer violates the most, and cuts, and so on. The answer comes with the
    /// cuts that its multipliers belong to; more may have been added to `cuts` since. Begins with the rows `chosen` and adds to them.
    fn run(&self, start: &[f64], cuts: &mut Cuts, chosen: &mut Vec<usize>) -> (Found, Cuts) {
        let nothing =
            Multipliers { rows: vec![0.0; self.rows.len()], cuts: vec![0.0; cuts.coefficients.len()] };
        let mut found = (Found { z: start.to_vec(), multipliers: nothing }, cuts.clone());
        let mut bound = vec![0.0; self.weight.len()];
        for round in 0..ROUNDS {
            let fresh = self.violated(&found.0.z, &bound, chosen);
            let cut = cuts.separate(&found.0.z, CONSISTENT);
            let known = round == 0 && !chosen.is_empty();
            if fresh.is_empty() && cut == 0 && !known {
                break;
            }
            chosen.extend(fresh);
            let Some((next, reached)) = self.solve(chosen, cuts) else { break };
            (found, bound) = ((next, cuts.clone()), reached);
        }
        found
    }

    /// Rows beyond what `bound` allows at `z`, the worst of each joint.
    fn violated(&self, z: &[f64], bound: &[f64], chosen: &[usize]) -> Vec<usize> {
        let unit = bound.iter().copied().fold(1e-6, f64::max);
        let mut excess: Vec<(f64, usize)> = (0..self.rows.len())
            .filter(|w| !chosen.contains(w))
            .map(|w| {
                let y: f64 = self.rows.y.row(w).iter().zip(z).map(|(y, z)| y * z).sum();
                let off = ((y - self.rows.u[w]).abs() - self.rows.radius[w]) / self.duration[w];
                (off - bound[self.rows.origin[w].joint], w)
            })
            .filter(|(e, _)| *e > TOLERANCE * unit)
            .collect();
        excess.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut count = vec![0; bound.len()];
        excess.retain(|&(_, w)| {
            let taken = &mut count[self.rows.origin[w].joint];
            *taken += 1;
            *taken <= self.fresh
        });
        excess.into_iter().map(|(_, w)| w).collect()
    }

    /// The program over the chosen rows; unknowns are z in units of the box, then b.
    fn solve(&self, chosen: &[usize], cuts: &Cuts) -> Option<(Found, Vec<f64>)> {
        let (center, half) = (self.set.center(), self.set.radius());
        let (p, k) = (center.len(), self.weight.len());
        let mut triplets = (vec![], vec![], vec![]);
        let mut put = |i: usize, j: usize, v: f64| {
            if v != 0.0 {
                triplets.0.push(i);
                triplets.1.push(j);
                triplets.2.push(v);
            }
        };
        let mut right = vec![];
        for &w in chosen {
            let t = self.duration[w];
            let middle: f64 = self.rows.y.row(w).iter().zip(&center).map(|(y, c)| y * c).sum();
            for sign in [1.0, -1.0] {
                let i = right.len();
                self.rows.y.row(w).iter().enumerate().for_each(|(j, y)| put(i, j, sign * y * half[j] / t));
                put(i, p + self.rows.origin[w].joint, -1.0);
                right.push((sign * (self.rows.u[w] - middle) + self.rows.radius[w]) / t);
            }
        }
        let mut norms = vec![];
        for c in &cuts.coefficients {
            // c' theta >= 0, in units of what the box allows.
            let at = cuts.offset;
            let norm: f64 = (0..INERTIAL).map(|l| (c[l] * half[at + l]).abs()).sum::<f64>().max(1e-9);
            (0..INERTIAL).for_each(|l| put(right.len(), at + l, -c[l] * half[at + l] / norm));
            right.push((0..INERTIAL).map(|l| c[l] * center[at + l]).sum::<f64>() / norm);
            norms.push(norm);
        }
        for j in 0..p + k {
            // |x_j| <= 1, b >= 0.
            put(right.len(), j, -1.0);
            right.push(if j < p { 1.0 } else { 0.0 });
            if j < p {
                put(right.len(), j, 1.0);
                right.push(1.0);
            }
        }
        let a = CscMatrix::new_from_triplets(right.len(), p + k, triplets.0, triplets.1, triplets.2);
        let mut cost = vec![0.0; p];
        cost.extend_from_slice(self.weight);
        let settings = DefaultSettings { verbose: false, ..Default::default() };
        let cones = [SupportedConeT::NonnegativeConeT(right.len())];
        let mut solver =
            DefaultSolver::new(&CscMatrix::zeros((p + k, p + k)), &cost, &a, &right, &cones, settings)
                .ok()?;
        solver.solve();
        let (x, v) = (&solver.solution.x, &solver.solution.z);
        let mut multipliers = vec![0.0; self.rows.len()];
        for (i, &w) in chosen.iter().enumerate() {
            // Net multiplier of y z <= u + ... minus that of the other side.
            multipliers[w] = (v[2 * i] - v[2 * i + 1]) / self.duration[w];
        }
        let first = 2 * chosen.len();
        let mu = norms.iter().enumerate().map(|(i, norm)| v[first + i] / norm).collect();
        let multipliers = Multipliers { rows: multipliers, cuts: mu };
        let z = (0..p).map(|j| center[j] + half[j] * x[j]).collect();
        Some((Found { z, multipliers }, x[p..].to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::polytope::Origin;
    use super::*;
    use nalgebra::DMatrix;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    const BODY: [f64; INERTIAL] = [2.0, 0.1, -0.2, 0.3, 0.2, 0.01, 0.25, 0.0, -0.02, 0.15];

    fn smallest(set: &ParameterSet, rows: &Rows, duration: &[f64], joints: usize) -> AdditiveBound {
        let found = super::smallest(set, rows, duration, joints, 0).unwrap();
        let body: [f64; INERTIAL] = std::array::from_fn(|k| found.witness[k]);
        assert!(check_physical(&body).is_ok());
        found
    }

    /// Rows of two joints over a body and four parameters; errors up to `error` (N m) at random or at the corners.
    fn problem(seed: u64, m: usize, error: [f64; 2]) -> (ParameterSet, Rows, Vec<f64>, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let others = (0..4).map(|_| rng.random_range(-1.0..1.0));
        let truth: Vec<f64> = BODY.into_iter().chain(others).collect();
        let p = truth.len();
        let set = ParameterSet::new(
            truth.iter().map(|t| t - rng.random_range(0.1..1.0)).collect(),
            truth.iter().map(|t| t + rng.random_range(0.1..1.0)).collect(),
        )
        .unwrap();
        let mut rows = Rows::none(p);
        rows.y = DMatrix::from_fn(m, p, |_, _| rng.random_range(-1.0..1.0));
        let mut duration = vec![];
        for w in 0..m {
            let t = rng.random_range(0.05..0.3);
            let exact: f64 = rows.y.row(w).iter().zip(&truth).map(|(y, z)| y * z).sum();
            let share = if rng.random() { 1.0 } else { rng.random_range(-1.0..1.0) };
            rows.radius.push(0.01 * t);
            rows.u.push(exact + share * (rows.radius[w] + error[w % 2] * t));
            rows.origin.push(Origin { t: w as f64, joint: w % 2 });
            duration.push(t);
        }
        (set, rows, duration, truth)
    }

    #[test]
    fn the_figures_enclose_the_smallest_bound() {
        smallest_bounds_are_enclosed(0..5);
    }

    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn the_figures_enclose_the_smallest_bound_at_length() {
        smallest_bounds_are_enclosed(0..20);
    }

    fn smallest_bounds_are_enclosed(seeds: std::ops::Range<u64>) {
        for seed in seeds {
            let error = [0.3, 0.05];
            let (set, rows, duration, _) = problem(seed, 400, error);
            let found = smallest(&set, &rows, &duration, 2);
            for i in 0..2 {
                // The truth needs no more than its own error, so nothing above that can be necessary.
                assert!(found.necessary[i] <= error[i] * (1.0 + 1e-9), "seed {seed}: {found:?}");
                assert!(found.sufficient[i] >= found.necessary[i]);
                // Of so many rows some use all of their error: 1.000 and 1.000 to three places.
                assert!(found.sufficient[i] <= 1.001 * error[i], "seed {seed}: {found:?}");
                assert!(found.necessary[i] > 0.999 * error[i], "seed {seed}: {found:?}");
            }
            assert!(set.contains(&found.witness));
            // The witness explains everything with `sufficient`.
            for w in 0..rows.len() {
                let y: f64 = rows.y.row(w).iter().zip(&found.witness).map(|(y, z)| y * z).sum();
                let granted = rows.radius[w] + found.sufficient[w % 2] * duration[w];
                assert!((y - rows.u[w]).abs() <= granted * (1.0 + 1e-12));
            }
        }
    }

    #[test]
    fn one_joint_alone_is_solved_to_the_end() {
        joints_alone_are_solved(100..105);
    }

    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn one_joint_alone_is_solved_to_the_end_at_length() {
        joints_alone_are_solved(100..120);
    }

    fn joints_alone_are_solved(seeds: std::ops::Range<u64>) {
        for seed in seeds {
            let (set, mut rows, duration, _) = problem(seed, 150, [0.2, 0.2]);
            rows.origin.iter_mut().for_each(|o| o.joint = 0);
            let found = smallest(&set, &rows, &duration, 1);
            let gap = found.sufficient[0] - found.necessary[0];
            assert!(gap >= 0.0 && gap < 1e-4 * found.sufficient[0], "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn what_is_explained_needs_nothing() {
        let (set, rows, duration, _) = problem(1, 50, [0.0, 0.0]);
        let found = smallest(&set, &rows, &duration, 2);
        assert_eq!(found.necessary, [0.0, 0.0]);
        assert!(found.sufficient.iter().all(|b| *b < 1e-6), "{found:?}");
    }

    #[test]
    fn no_multipliers_refute_what_is_true() {
        let (set, rows, duration, _) = problem(3, 40, [0.1, 0.1]);
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let polytope = Polytope { set, rows, cuts: Cuts::axes(0), weight: vec![] };
        let count = polytope.cuts.coefficients.len();
        let with = |rows: Vec<f64>, cuts: Vec<f64>| refute(&polytope, &duration, &Multipliers { rows, cuts });
        for _ in 0..500 {
            let mut draw = |k: usize| (0..k).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
            assert!(with(draw(40), draw(count)) <= 0.1 * (1.0 + 1e-9));
        }
        assert_eq!(with(vec![f64::NAN; 40], vec![0.0; count]), 0.0);
        assert_eq!(with(vec![0.0; 40], vec![0.0; count]), 0.0);
    }
}
