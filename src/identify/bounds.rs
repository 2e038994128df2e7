//! Guaranteed intervals: for each unknown and each side a program proposes ([`super::program`]), the certificate
//! disposes ([`super::certificate`]).

use rayon::prelude::*;

use super::certificate::{Bound, Multipliers, upper_bound};
use super::error::IdentifyError;
use super::polytope::{Origin, Polytope};
use super::program::Program;
use crate::inertia::ParameterSet;

/// How hard to try; any values are sound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Programs per direction at most: the first, then one for each round of new cuts.
    pub rounds: usize,
    /// A maximiser whose pseudo-inertia has no eigenvalue below minus this (kg, lengths in units of 0.2 m)
    /// counts as physically consistent.
    pub cut_tolerance: f64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { rounds: 4, cut_tolerance: 1e-3 }
    }
}

/// What [`tighten`] found.
#[derive(Debug, Clone)]
pub struct Tightened {
    /// The old box with the intervals of the unknowns shrunk; never wider than the old one.
    pub set: ParameterSet,
    /// Approximate maximisers, one a direction: points at the ends of the polytope.
    pub vertices: Vec<Vec<f64>>,
    /// How much each row of data holds in place: largest share of |l_w| radius_w in a bound, 0 for idle rows.
    pub row_share: Vec<f64>,
    /// Whether each cut is used by some bound.
    pub cut_used: Vec<bool>,
}

impl Tightened {
    /// The mean of the vertices: a point well inside the polytope.
    pub fn middle(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.set.len()];
        for vertex in &self.vertices {
            mean.iter_mut().zip(vertex).for_each(|(m, v)| *m += v / self.vertices.len() as f64);
        }
        mean
    }
}

/// A direction +-e_j with the best certificate so far.
struct Side {
    index: usize,
    sign: f64,
    bound: Bound,
    multipliers: Multipliers,
    vertex: Vec<f64>,
}

impl Side {
    fn direction(&self, p: usize) -> Vec<f64> {
        let mut d = vec![0.0; p];
        d[self.index] = self.sign;
        d
    }
}

/// Shrinks the intervals of the parameters `unknown` (indices into z) to certified bounds over the polytope.
///
/// Adds to `polytope.cuts` on the way. The result contains every z of the box that satisfies the rows and is
/// physically consistent: each bound is one of [`upper_bound`], whatever the programs proposed.
/// `Err(AssumptionBroken)` if no such z exists and the bounds prove it.
pub fn tighten(
    polytope: &mut Polytope,
    unknown: &[usize],
    effort: Effort,
) -> Result<Tightened, IdentifyError> {
    check_rows(polytope)?;
    let p = polytope.len();
    let mut sides: Vec<Side> = unknown
        .iter()
        .flat_map(|&index| [1.0, -1.0].map(|sign| (index, sign)))
        .map(|(index, sign)| Side {
            index,
            sign,
            bound: Bound { value: f64::INFINITY, noise: 0.0 },
            multipliers: Multipliers { rows: vec![], cuts: vec![] },
            vertex: vec![],
        })
        .collect();
    let mut pending: Vec<usize> = (0..sides.len()).collect();
    for _ in 0..effort.rounds {
        let program = Program::new(polytope);
        let solved: Vec<_> = pending
            .par_iter()
            .map(|&i| {
                let d = sides[i].direction(p);
                let proposal = program.maximise(&d);
                let bound = upper_bound(polytope, &d, &proposal.multipliers);
                (i, proposal, bound)
            })
            .collect();
        pending.clear();
        for (i, proposal, bound) in solved {
            let side = &mut sides[i];
            if bound.value <= side.bound.value {
                side.bound = bound;
                side.multipliers = proposal.multipliers;
            }
            if polytope.cuts.separate(&proposal.z, effort.cut_tolerance) > 0 {
                pending.push(i);
            }
            side.vertex = proposal.z;
        }
        if pending.is_empty() {
            break;
        }
    }
    collect(polytope, sides)
}

/// Intersects the certified intervals with the box and reports an empty one.
fn collect(polytope: &Polytope, sides: Vec<Side>) -> Result<Tightened, IdentifyError> {
    let mut set = polytope.set.clone();
    for side in &sides {
        // An interval bound is exact under negation.
        let j = side.index;
        if side.sign > 0.0 {
            set.upper[j] = set.upper[j].min(side.bound.value);
        } else {
            set.lower[j] = set.lower[j].max(-side.bound.value);
        }
    }
    if let Some(pair) = sides.chunks_exact(2).find(|pair| set.upper[pair[0].index] < set.lower[pair[0].index])
    {
        return Err(broken(polytope, pair));
    }
    let rows = &polytope.rows;
    let mut row_share = vec![0.0_f64; rows.len()];
    let mut cut_used = vec![false; polytope.cuts.coefficients.len()];
    for side in &sides {
        for (w, l) in side.multipliers.rows.iter().enumerate() {
            let share = l.abs() * rows.radius[w] / side.bound.noise;
            // NaN (no noise at all) leaves the share as it is.
            row_share[w] = row_share[w].max(share);
        }
        let largest = side.multipliers.cuts.iter().copied().fold(0.0, f64::max);
        for (k, &mu) in side.multipliers.cuts.iter().enumerate() {
            cut_used[k] |= mu > 1e-4 * largest;
        }
    }
    let vertices = sides.into_iter().map(|s| s.vertex).collect();
    Ok(Tightened { set, vertices, row_share, cut_used })
}

/// The error for a pair of bounds with upper < lower: the sum of the two is a proof that 0 < 0 unless the noise
/// radii grow: multiplying all of them by (1 + t) adds t (noise of both) to the sum.
fn broken(polytope: &Polytope, pair: &[Side]) -> IdentifyError {
    let noise = (pair[0].bound.noise + pair[1].bound.noise).next_up();
    let excess = -(pair[0].bound.value + pair[1].bound.value);
    let weight = |w: usize| {
        let of = |s: &Side| s.multipliers.rows.get(w).map_or(0.0, |l| l.abs());
        (of(&pair[0]) + of(&pair[1])) * polytope.rows.radius[w]
    };
    let heaviest = (0..polytope.rows.len()).max_by(|&a, &b| weight(a).total_cmp(&weight(b)));
    match heaviest.filter(|_| noise > f64::MIN_POSITIVE) {
        Some(w) => {
            let Origin { t, joint } = polytope.rows.origin[w];
            IdentifyError::AssumptionBroken { t, joint, by: 1.0 + (excess / noise).next_down().max(0.0) }
        }
        None => IdentifyError::PriorExcludesPhysics { parameter: pair[0].index },
    }
}

/// Refuses a row that no point of the box explains.
pub(super) fn check_rows(polytope: &Polytope) -> Result<(), IdentifyError> {
    let (set, rows) = (&polytope.set, &polytope.rows);
    for w in 0..rows.len() {
        let (mut low, mut high, mut size) = (0.0, 0.0, rows.u[w].abs());
        for (j, y) in rows.y.row(w).iter().enumerate() {
            let (a, b) = (y * set.lower[j], y * set.upper[j]);
            low += a.min(b);
            high += a.max(b);
            size += a.abs().max(b.abs());
        }
        // The sums are off by at most gamma_p size; a distance must exceed that before it is believed.
        let rounding = (set.len() + 4) as f64 * f64::EPSILON * size;
        let distance = (rows.u[w] - high).max(low - rows.u[w]) - rounding;
        if distance > rows.radius[w] {
            let Origin { t, joint } = rows.origin[w];
            return Err(IdentifyError::AssumptionBroken { t, joint, by: distance / rows.radius[w] });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
