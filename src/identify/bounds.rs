//! Guaranteed bounds: for each direction and each side a program proposes ([`super::program`]), the certificate
//! disposes ([`super::certificate`]).
//!
//! A maximiser that is no body adds the half-spaces that tell it from one, and the search goes on from there. The
//! certificate holds however far it got.

use rayon::prelude::*;

use super::certificate::{CertifiedBound, Multipliers, upper_bound};
use super::error::IdentifyError;
use super::polytope::{Origin, Polytope, Rows, Source};
use super::program::{LinearProgram, SimplexState};
use crate::inertia::{INERTIAL, ParameterSet, Strip};

/// How hard to try; any values are sound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Searches per direction at most: the first, then one for each round of new cuts.
    pub rounds: usize,
    /// A maximiser whose pseudo-inertia has no eigenvalue below minus this (kg, lengths in units of 0.2 m)
    /// counts as physically consistent.
    pub cut_tolerance: f64,
    /// The programs stop at this complementarity, in units of the box's half-width along the direction.
    pub tolerance: f64,
    /// Further rows are asked for in a direction until a round of them narrows it by less than this share of its width.
    pub gain: f64,
    /// How often an update may make the rows that hold its bounds anew with the set that they leave: radii shrink with the set.
    pub remakes: usize,
    /// It does so once an interval has become narrower by this share since they were made.
    pub remake: f64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { rounds: 12, cut_tolerance: 1e-3, tolerance: 1e-4, gain: 3e-3, remakes: 2, remake: 0.05 }
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
    /// The bounds that are better than the old ones, with what proves them.
    pub proven: Vec<Proven>,
}

/// A bound with all that proves it, apart from the box: multipliers of rows and cuts that are not zero, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Proven {
    /// Which unknown's or direction's bound it is.
    pub index: usize,
    /// Whether it is an upper bound.
    pub upper: bool,
    /// The bound.
    pub value: f64,
    /// Each row's source and multiplier; rows without a source leave the bound without a proof.
    pub rows: Vec<(Option<Source>, f64)>,
    /// Each cut's coefficients and multiplier.
    pub cuts: Vec<([f64; INERTIAL], f64)>,
}

impl Proven {
    /// `value` is the bound itself, not that of the negative direction.
    pub(super) fn new(polytope: &Polytope, index: usize, upper: bool, value: f64, by: &Multipliers) -> Self {
        let rows = by.rows.iter().enumerate().filter(|(_, l)| **l != 0.0);
        let cuts = by.cuts.iter().zip(&polytope.cuts.coefficients).filter(|(mu, _)| **mu > 0.0);
        Self {
            index,
            upper,
            value,
            rows: rows.map(|(w, l)| (polytope.rows.source_of(w), *l)).collect(),
            cuts: cuts.map(|(mu, c)| (*c, *mu)).collect(),
        }
    }
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

/// A direction, up or down, with the best certificate so far.
struct Side {
    /// Which direction.
    index: usize,
    sign: f64,
    bound: CertifiedBound,
    multipliers: Multipliers,
    vertex: Vec<f64>,
    state: SimplexState,
    /// How far the last round lowered the bound.
    gained: f64,
    /// Whether the search is over.
    done: bool,
}

impl Side {
    /// What proves the bound.
    fn proven(&self, polytope: &Polytope) -> Proven {
        let upper = self.sign > 0.0;
        // An interval bound is exact under negation.
        let value = if upper { self.bound.value } else { -self.bound.value };
        Proven::new(polytope, self.index, upper, value, &self.multipliers)
    }
}

/// Where rows come from that a program turns out to miss.
pub(super) trait RowSource {
    /// Rows that the points (full parameter vectors) violate, and for each point whether some are among them or were given before.
    fn missing(&mut self, points: &[&[f64]]) -> (Rows, Vec<bool>);
}

/// No further rows.
struct NoRows;

impl RowSource for NoRows {
    fn missing(&mut self, points: &[&[f64]]) -> (Rows, Vec<bool>) {
        (Rows::none(0), vec![false; points.len()])
    }
}

/// Certified bounds on d'z along directions, and where the programs that propose them stand. The search goes on where it ended when
/// the polytope has got further rows; its box may have become smaller as well, which the certificates use.
pub(super) struct Search {
    program: LinearProgram,
    /// Each direction and its opposite.
    along: Vec<Vec<f64>>,
    sides: Vec<Side>,
    effort: Effort,
}

impl Search {
    /// Along each of `directions`, two sides each in turn, from the box of `polytope` on.
    pub(super) fn new(polytope: &Polytope, directions: &[Vec<f64>], effort: Effort) -> Self {
        let both = directions.iter().map(|d| [d.clone(), d.iter().map(|x| -x).collect()]);
        let along: Vec<Vec<f64>> = both.flatten().collect();
        let program = LinearProgram::new(polytope, effort.tolerance);
        let side = |(i, d): (usize, &Vec<f64>)| Side {
            index: i / 2,
            sign: if i % 2 == 0 { 1.0 } else { -1.0 },
            bound: CertifiedBound { value: f64::INFINITY, noise: 0.0 },
            multipliers: Multipliers { rows: vec![], cuts: vec![] },
            vertex: vec![],
            state: program.start(d),
            gained: f64::INFINITY,
            done: false,
        };
        let sides = along.iter().enumerate().map(side).collect();
        Self { program, along, sides, effort }
    }

    /// Searches on. Adds to `polytope.cuts` on the way, and rows of `source`.
    pub(super) fn run(&mut self, polytope: &mut Polytope, source: &mut dyn RowSource) {
        let Self { program, along, sides, effort } = self;
        program.extend(polytope);
        sides.iter_mut().for_each(|side| side.done = false);
        for round in 1..=effort.rounds {
            sides.par_iter_mut().zip(&*along).filter(|(side, _)| !side.done).for_each(|(side, d)| {
                program.solve(&mut side.state);
                let proposal = program.proposal(&side.state, d);
                let bound = upper_bound(polytope, d, &proposal.multipliers);
                side.gained = side.bound.value - bound.value;
                if bound.value <= side.bound.value {
                    side.bound = bound;
                    side.multipliers = proposal.multipliers;
                }
                side.vertex = proposal.z;
            });
            let missed =
                if round < effort.rounds { add_rows(polytope, sides, *effort, source) } else { vec![] };
            for (k, side) in sides.iter_mut().enumerate().filter(|(_, side)| !side.done) {
                let cuts = polytope.cuts.separate(&side.vertex, effort.cut_tolerance);
                side.done = cuts == 0 && !missed.contains(&k);
            }
            if sides.iter().all(|side| side.done) {
                break;
            }
            program.extend(polytope);
        }
    }

    /// What the search has found so far of the parameters `unknown`, in whose directions it is.
    ///
    /// # Errors
    /// As [`tighten`].
    pub(super) fn found(&self, polytope: &Polytope, unknown: &[usize]) -> Result<Tightened, IdentifyError> {
        collect(polytope, unknown, &self.sides, self.effort)
    }
}

/// Certified bounds on d'z for each of `directions`, two sides each in turn. Adds to `polytope.cuts` on the way.
fn prove(polytope: &mut Polytope, directions: &[Vec<f64>], effort: Effort) -> Vec<Side> {
    let mut search = Search::new(polytope, directions, effort);
    search.run(polytope, &mut NoRows);
    search.sides
}

/// Adds the rows that the vertices of those sides violate that still gain by it; returns which sides those are.
fn add_rows(
    polytope: &mut Polytope,
    sides: &[Side],
    effort: Effort,
    source: &mut dyn RowSource,
) -> Vec<usize> {
    let width = |pair: &[Side]| pair.iter().map(|side| side.bound.value).sum::<f64>();
    let gains = |k: &usize| {
        let least = effort.gain * width(&sides[k - k % 2..k - k % 2 + 2]);
        !sides[*k].done && sides[*k].gained > least
    };
    let asking: Vec<usize> = (0..sides.len()).filter(gains).collect();
    let points: Vec<&[f64]> = asking.iter().map(|&k| &sides[k].vertex[..]).collect();
    let (rows, missed) = source.missing(&points);
    if !rows.is_empty() {
        polytope.rows.append(&rows);
    }
    asking.into_iter().zip(missed).filter(|(_, missed)| *missed).map(|(k, _)| k).collect()
}

/// Shrinks the intervals of the parameters `unknown` (indices into z) to certified bounds over the polytope.
///
/// Adds to `polytope.cuts` on the way. The result contains every z of the box that satisfies the rows and is
/// physically consistent: each bound is one of [`upper_bound`], whatever the programs proposed.
///
/// # Errors
/// [`IdentifyError::AssumptionBroken`] if no such z exists and the bounds prove it, or [`IdentifyError::PriorExcludesPhysics`] where
/// they prove it without the measurements.
pub fn tighten(
    polytope: &mut Polytope,
    unknown: &[usize],
    effort: Effort,
) -> Result<Tightened, IdentifyError> {
    check_rows(polytope)?;
    let directions: Vec<_> = unknown.iter().map(|&j| unit(polytope.len(), j)).collect();
    let sides = prove(polytope, &directions, effort);
    collect(polytope, unknown, &sides, effort)
}

/// The direction of a parameter among p.
pub(super) fn unit(p: usize, index: usize) -> Vec<f64> {
    (0..p).map(|k| f64::from(k == index)).collect()
}

/// Strips in the given directions (one number a parameter) that contain every z of the polytope that is physically consistent.
///
/// Adds to `polytope.cuts` on the way, and notes which rows were needed. With the strips come their bounds and what proves them: upper,
/// then lower, of each in turn.
///
/// # Errors
/// As [`tighten`], if there is provably no such z.
pub fn strips(
    polytope: &mut Polytope,
    directions: &[Vec<f64>],
    effort: Effort,
) -> Result<(Vec<Strip>, Vec<Proven>), IdentifyError> {
    let sides = prove(polytope, directions, effort);
    polytope.note_weights(&shares(polytope, &sides));
    let proven = sides.iter().map(|side| side.proven(polytope)).collect();
    let pairs = sides.chunks_exact(2).zip(directions);
    let strips: Result<Vec<Strip>, IdentifyError> = pairs
        .map(|(pair, direction)| {
            // An interval bound is exact under negation.
            let (lower, upper) = (-pair[1].bound.value, pair[0].bound.value);
            if lower > upper {
                // Named by the parameter that the direction is steepest in.
                let steepest =
                    (0..direction.len()).max_by(|&a, &b| direction[a].abs().total_cmp(&direction[b].abs()));
                return Err(broken(
                    polytope,
                    steepest.unwrap_or(0),
                    pair,
                    std::slice::from_ref(direction),
                    effort,
                ));
            }
            Ok(Strip { direction: direction.clone(), lower, upper })
        })
        .collect();
    Ok((strips?, proven))
}

/// Intersects the certified intervals with the box and reports an empty one.
fn collect(
    polytope: &Polytope,
    unknown: &[usize],
    sides: &[Side],
    effort: Effort,
) -> Result<Tightened, IdentifyError> {
    let mut set = polytope.set.clone();
    let mut proven = vec![];
    for side in sides {
        let found = Proven { index: unknown[side.index], ..side.proven(polytope) };
        let j = found.index;
        let better = if found.upper { found.value < set.upper()[j] } else { found.value > set.lower()[j] };
        if better {
            let (lower, upper) =
                if found.upper { (f64::NEG_INFINITY, found.value) } else { (found.value, f64::INFINITY) };
            set.narrow(j, lower, upper);
            proven.push(found);
        }
    }
    let empty = |pair: &&[Side]| set.emptied(unknown[pair[0].index]).is_some();
    if let Some(pair) = sides.chunks_exact(2).find(empty) {
        let directions: Vec<_> = unknown.iter().map(|&j| unit(polytope.len(), j)).collect();
        return Err(broken(polytope, unknown[pair[0].index], pair, &directions, effort));
    }
    let row_share = shares(polytope, sides);
    let mut cut_used = vec![false; polytope.cuts.coefficients.len()];
    for side in sides {
        let largest = side.multipliers.cuts.iter().copied().fold(0.0, f64::max);
        for (k, &mu) in side.multipliers.cuts.iter().enumerate() {
            cut_used[k] |= mu > 1e-4 * largest;
        }
    }
    let vertices = sides.iter().map(|s| s.vertex.clone()).collect();
    Ok(Tightened { set, vertices, row_share, cut_used, proven })
}

/// How much each row of data holds in place: its largest share of the noise in a bound.
fn shares(polytope: &Polytope, sides: &[Side]) -> Vec<f64> {
    let mut row_share = vec![0.0_f64; polytope.rows.len()];
    for side in sides {
        for (w, l) in side.multipliers.rows.iter().enumerate() {
            let share = l.abs() * polytope.rows.radius[w] / side.bound.noise;
            // NaN (no noise at all) leaves the share as it is.
            row_share[w] = row_share[w].max(share);
        }
    }
    row_share
}

/// The error for a pair of bounds with upper < lower: the sum of the two is a proof that 0 < 0 unless the noise
/// radii grow: multiplying all of them by (1 + t) adds t (noise of both) to the sum.
///
/// One contradiction between two joints cannot tell which of them is at fault. So the joint that is named is the one that the proof
/// leans on most (rows are many and alike; all of its rows together) among those without which `directions` hold no contradiction.
fn broken(
    polytope: &Polytope,
    parameter: usize,
    pair: &[Side],
    directions: &[Vec<f64>],
    effort: Effort,
) -> IdentifyError {
    let noise = (pair[0].bound.noise + pair[1].bound.noise).next_up();
    let excess = -(pair[0].bound.value + pair[1].bound.value);
    let weight = |w: usize| {
        let of = |s: &Side| s.multipliers.rows.get(w).map_or(0.0, |l| l.abs());
        (of(&pair[0]) + of(&pair[1])) * polytope.rows.radius[w]
    };
    let origin = &polytope.rows.origin;
    let mut by_joint = vec![0.0; origin.iter().map(|o| o.joint + 1).max().unwrap_or(0)];
    (0..origin.len()).for_each(|w| by_joint[origin[w].joint] += weight(w));
    let mut leaned: Vec<usize> = (0..by_joint.len()).filter(|&j| by_joint[j] > 0.0).collect();
    leaned.sort_by(|&a, &b| by_joint[b].total_cmp(&by_joint[a]));
    let alone = |&j: &usize| !contradicts_without(polytope, j, directions, effort);
    let joint = leaned.iter().copied().find(alone).or(leaned.first().copied());
    let rows = (0..origin.len()).filter(|&w| Some(origin[w].joint) == joint);
    let heaviest = rows.max_by(|&a, &b| weight(a).total_cmp(&weight(b)));
    match heaviest.filter(|_| noise > f64::MIN_POSITIVE) {
        Some(w) => {
            let Origin { t, joint } = origin[w];
            IdentifyError::AssumptionBroken { t, joint, by: 1.0 + (excess / noise).next_down().max(0.0) }
        }
        None => IdentifyError::PriorExcludesPhysics { parameter },
    }
}

/// Whether the data contradict one another in one of `directions` even without the rows of `joint`.
fn contradicts_without(polytope: &Polytope, joint: usize, directions: &[Vec<f64>], effort: Effort) -> bool {
    let origin = &polytope.rows.origin;
    let kept: Vec<usize> = (0..origin.len()).filter(|&w| origin[w].joint != joint).collect();
    let mut without = Polytope { rows: polytope.rows.select(&kept), weight: vec![], ..polytope.clone() };
    let sides = prove(&mut without, directions, effort);
    sides.chunks_exact(2).any(|pair| pair[0].bound.value < -pair[1].bound.value)
}

/// Refuses a row that no point of the box explains.
pub(super) fn check_rows(polytope: &Polytope) -> Result<(), IdentifyError> {
    let (set, rows) = (&polytope.set, &polytope.rows);
    for w in 0..rows.len() {
        let (mut low, mut high, mut size) = (0.0, 0.0, rows.u[w].abs());
        for (j, y) in rows.y.row(w).iter().enumerate() {
            let (a, b) = (y * set.lower()[j], y * set.upper()[j]);
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
