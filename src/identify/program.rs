//! Proposes multipliers: a dual simplex method for the programs "maximise d'z over the polytope".
//!
//! Nothing here is trusted: what it returns is checked by [`super::certificate`], and a poor answer costs tightness
//! only. The method suits how bounds are asked for: a corner of the box is where it may start whatever the rows say, every
//! basis on the way gives multipliers (a valid bound), cuts and rows that come later cost a few more pivots from where the
//! search ended ([`SimplexState`]), and at most as many rows as there are unknowns get a multiplier.
//!
//! In scaled unknowns x in [-1, 1]^p (box to unit cube, rows to unit radius, cuts to unit norm):
//! maximise c'x subject to lo <= G x <= hi with G the rows, the cuts (hi = inf) and the identity.
//! p active lines with outward normals B (p x p) have the vertex B x = b and the multipliers B' y = c; y >= 0 is kept. A violated line
//! a x <= b enters with multiplier t, the others become y - t w with B' w = a. Where a multiplier reaches zero, its line leaves;
//! but one with two sides changes to the other side first, as long as the entering line is still violated there (the long
//! step). c is disturbed a little, so that few multipliers reach zero together.

use nalgebra::{DMatrix, DVector};

use super::certificate::Multipliers;
use super::polytope::Polytope;
use crate::inertia::INERTIAL;

/// Pivots of one search at most.
const MAX_PIVOTS: usize = 4000;
/// Pivots after which the inverse is computed anew.
const FRESH: usize = 100;
/// Lines that are looked at between two looks at all lines, and how often.
const CANDIDATES: usize = 48;
const LOOKS: usize = 12;
/// Pivots on less than this lose too many digits.
const SMALLEST_PIVOT: f64 = 1e-9;
/// Size of the disturbance of c.
const DISTURBANCE: f64 = 1e-7;
/// A contradiction pushes the bound down by this, in half-widths of the box.
const CONTRADICTION: f64 = 1e3;
/// Unknowns outside the body whose whole interval moves no row by more than this (in units of its radius) are left out:
/// half of the arm's parameters, and most of the work.
const IDLE: f64 = 5e-3;
/// Scaled multipliers below this move no bound.
const NOTHING: f64 = 1e-9;
/// Rows that the box alone implies are left out; a cut or row whose scaled norm is below this as well.
const NEGLIGIBLE: f64 = 1e-14;

/// The scaled program, shared by all directions.
pub struct LinearProgram {
    center: Vec<f64>,
    half: Vec<f64>,
    /// One column a line: rows, then cuts; scaled, without the idle unknowns and the identity block.
    lines: DMatrix<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// Norm of each column.
    norm: Vec<f64>,
    /// Which row or cut each line is, and what it was divided by.
    source: Vec<(Source, f64)>,
    /// The unknown that each component of a line belongs to, and the others.
    kept: Vec<usize>,
    idle: Vec<usize>,
    /// Rows and cuts of the polytope that have been looked at.
    rows: usize,
    cuts: usize,
    /// No line is violated by more than this (of its norm, in units of the box) in the end.
    tolerance: f64,
}

/// What a line was made of, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Row(usize),
    Cut(usize),
}

/// A scaled row: its index, what it was divided by, and its two sides; -1 and 1 but for the middle of the box.
struct Scaled {
    row: usize,
    scale: f64,
    lo: f64,
    hi: f64,
}

/// What the solver proposes for one direction.
pub struct MultiplierProposal {
    /// Approximate maximiser, in the unscaled parameters.
    pub z: Vec<f64>,
    /// Multipliers for the certificate.
    pub multipliers: Multipliers,
}

/// A line of G or, from `lines.ncols()` on, of the identity, on one of its sides.
#[derive(Debug, Clone, Copy)]
struct Active {
    line: Line,
    /// 1 at the upper bound, -1 at the lower one.
    sign: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Line {
    Data(usize),
    Unit(usize),
}

/// Where a search stands; it may go on with a program that has got further rows and cuts.
#[derive(Debug, Clone)]
pub struct SimplexState {
    /// c, disturbed and as asked for; the largest component is one.
    cost: Vec<f64>,
    plain: Vec<f64>,
    /// What c was divided by.
    size: f64,
    basis: Vec<Active>,
    /// Columns of the inverse of B.
    inverse: DMatrix<f64>,
    x: DVector<f64>,
    y: Vec<f64>,
    /// A line that contradicts the active ones, and its multiplier.
    contradiction: Option<(Active, f64)>,
}

impl LinearProgram {
    /// Scales the polytope; rows that no point of the box violates are dropped.
    pub fn new(polytope: &Polytope, tolerance: f64) -> Self {
        let (center, half) = (polytope.set.center(), polytope.set.radius());
        let p = half.len();
        let mut program = Self {
            lines: DMatrix::zeros(0, 0),
            lo: vec![],
            hi: vec![],
            norm: vec![],
            source: vec![],
            kept: vec![],
            idle: vec![],
            rows: 0,
            cuts: 0,
            tolerance,
            center,
            half,
        };
        let body = polytope.cuts.offset..polytope.cuts.offset + INERTIAL;
        let mut largest = vec![0.0_f64; p];
        let lines = program.scaled_rows(polytope);
        for (j, largest) in largest.iter_mut().enumerate() {
            let column = polytope.rows.y.column(j);
            let entries = lines.iter().map(|line| (column[line.row] * program.half[j] / line.scale).abs());
            *largest = entries.fold(0.0, f64::max);
        }
        (program.kept, program.idle) = (0..p).partition(|&j| body.contains(&j) || largest[j] > IDLE);
        program.lines = DMatrix::zeros(program.kept.len(), 0);
        program.extend(polytope);
        program
    }

    /// Takes over the rows and cuts that `polytope` has got since; those that no point of the box violates are dropped.
    pub fn extend(&mut self, polytope: &Polytope) {
        self.add_rows(polytope);
        self.add_cuts(polytope);
        let norms = self.lines.columns_range(self.norm.len()..);
        self.norm.extend(norms.column_iter().map(|column| column.norm().max(NEGLIGIBLE)));
    }

    fn add_rows(&mut self, polytope: &Polytope) {
        let fresh = self.scaled_rows(polytope);
        self.rows = polytope.rows.len();
        let before = self.grow(fresh.len());
        for (k, &Scaled { row, scale, lo, hi }) in fresh.iter().enumerate() {
            let entry = |j: usize| polytope.rows.y[(row, j)] * self.half[j] / scale;
            let mut column = self.lines.column_mut(before + k);
            column.iter_mut().zip(&self.kept).for_each(|(x, &j)| *x = entry(j));
            // What idle unknowns may do is left to the noise.
            let slack = self.idle.iter().map(|&j| entry(j).abs()).sum::<f64>();
            self.source.push((Source::Row(row), scale));
            self.lo.push(lo - slack);
            self.hi.push(hi + slack);
        }
    }

    /// The rows of `polytope` beyond those looked at that some point of the box violates.
    fn scaled_rows(&self, polytope: &Polytope) -> Vec<Scaled> {
        let rows = &polytope.rows;
        let (middle, reach) = reaches(polytope, self.rows, &self.center, &self.half);
        let scaled = |k: usize| {
            let row = self.rows + k;
            let off = rows.u[row] - middle[k];
            let scale = rows.radius[row].max(1e-9 * reach[k]);
            let tells = reach[k] > NEGLIGIBLE && off.abs() + reach[k] > scale;
            tells.then(|| Scaled { row, scale, lo: off / scale - 1.0, hi: off / scale + 1.0 })
        };
        (0..reach.len()).filter_map(scaled).collect()
    }

    fn add_cuts(&mut self, polytope: &Polytope) {
        let offset = polytope.cuts.offset;
        let first = self.kept.iter().position(|&j| j == offset).unwrap_or(0);
        let known = std::mem::replace(&mut self.cuts, polytope.cuts.coefficients.len());
        let mut fresh: Vec<[f64; INERTIAL]> = vec![];
        for (k, c) in polytope.cuts.coefficients.iter().enumerate().skip(known) {
            let middle: f64 = c.iter().zip(&self.center[offset..]).map(|(c, x)| c * x).sum();
            let scaled: [f64; INERTIAL] = std::array::from_fn(|j| c[j] * self.half[offset + j]);
            let norm = scaled.iter().map(|x| x.abs()).sum::<f64>();
            if norm > NEGLIGIBLE && middle < norm {
                fresh.push(scaled.map(|x| x / norm));
                self.source.push((Source::Cut(k), norm));
                self.lo.push(-middle / norm);
                self.hi.push(f64::INFINITY);
            }
        }
        let before = self.grow(fresh.len());
        for (k, cut) in fresh.iter().enumerate() {
            cut.iter().enumerate().for_each(|(j, x)| self.lines[(first + j, before + k)] = *x);
        }
    }

    /// Makes room for so many more lines and returns the first one's column.
    fn grow(&mut self, more: usize) -> usize {
        let before = self.lines.ncols();
        let lines = std::mem::replace(&mut self.lines, DMatrix::zeros(0, 0));
        self.lines = lines.resize_horizontally(before + more, 0.0);
        before
    }

    /// Approximately maximises d'z; `d` has length p.
    pub fn maximise(&self, d: &[f64]) -> MultiplierProposal {
        let mut state = self.start(d);
        self.solve(&mut state);
        self.proposal(&state, d)
    }

    /// The corner of the box in direction `d` (length p).
    pub fn start(&self, d: &[f64]) -> SimplexState {
        let p = self.kept.len();
        let cost: Vec<f64> = self.kept.iter().map(|&j| d[j] * self.half[j]).collect();
        let size = cost.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let size = if size.is_finite() && size > 0.0 { size } else { 0.0 };
        let plain: Vec<f64> = cost.iter().map(|x| if size > 0.0 { x / size } else { 0.0 }).collect();
        // Any irregular numbers do.
        let irregular = |j: usize| 1.0 + (0.618_033_988_749_895 * (j + 1) as f64).fract();
        let towards = |x: f64, j: usize| if x != 0.0 { x.signum() } else { 1.0 - 2.0 * (j % 2) as f64 };
        let cost: Vec<f64> = (plain.iter().enumerate())
            .map(|(j, &x)| x + DISTURBANCE * irregular(j) * towards(x, j))
            .collect();
        let sign = |j: usize| cost[j].signum();
        SimplexState {
            basis: (0..p).map(|j| Active { line: Line::Unit(j), sign: sign(j) }).collect(),
            inverse: DMatrix::from_fn(p, p, |i, j| if i == j { sign(j) } else { 0.0 }),
            x: DVector::from_fn(p, |j, _| sign(j)),
            y: cost.iter().map(|c| c.abs()).collect(),
            cost,
            plain,
            size,
            contradiction: None,
        }
    }

    /// Goes on until no line is violated. A search that began with fewer cuts of the same polytope and box may go on here.
    pub fn solve(&self, state: &mut SimplexState) {
        if state.size == 0.0 || state.contradiction.is_some() {
            return;
        }
        let mut candidates: Vec<usize> = vec![];
        let (mut looks, mut stale) = (0, 0);
        for _ in 0..MAX_PIVOTS {
            let mut entering = self.worst(state, candidates.iter().copied());
            if entering.is_none() || looks >= LOOKS {
                candidates = self.violated(state);
                looks = 0;
                entering = self.worst(state, candidates.iter().copied());
            }
            looks += 1;
            let entering = match (entering, self.worst_unit(state)) {
                (Some(line), Some(unit)) => Some(if unit.1 > line.1 { unit } else { line }),
                (line, unit) => line.or(unit),
            };
            let Some((active, _)) = entering else { break };
            if !self.pivot(state, active) {
                break;
            }
            stale += 1;
            if stale >= FRESH {
                stale = 0;
                if !self.refresh(state) {
                    break;
                }
            }
        }
    }

    /// Multipliers and maximiser of a state, for the direction that it was started with.
    pub fn proposal(&self, state: &SimplexState, d: &[f64]) -> MultiplierProposal {
        // Idle unknowns go where the direction wants them.
        let mut z: Vec<f64> = (0..d.len())
            .map(|j| self.center[j] + if d[j] == 0.0 { 0.0 } else { self.half[j].copysign(d[j]) })
            .collect();
        for (&j, x) in self.kept.iter().zip(&state.x) {
            z[j] = self.center[j] + self.half[j] * x;
        }
        let mut multipliers = Multipliers { rows: vec![0.0; self.rows], cuts: vec![0.0; self.cuts] };
        let mut enter = |active: Active, y: f64| {
            let Line::Data(i) = active.line else { return };
            if y.abs() < NOTHING {
                return;
            }
            let (source, scale) = self.source[i];
            // Any multiplier will do; of one with few digits a short text can be kept.
            let net = f64::from((active.sign * y * state.size / scale) as f32);
            match source {
                Source::Row(w) => multipliers.rows[w] += net,
                Source::Cut(k) => multipliers.cuts[k] -= net,
            }
        };
        match state.contradiction {
            None => {
                // Those of c as it was asked for.
                let plain = DVector::from_column_slice(&state.plain);
                let y = state.inverse.tr_mul(&plain);
                state.basis.iter().zip(&y).for_each(|(&active, &y)| enter(active, y));
            }
            Some((active, t)) => {
                state.basis.iter().zip(&state.y).for_each(|(&active, &y)| enter(active, y));
                enter(active, t);
            }
        }
        MultiplierProposal { z, multipliers }
    }

    /// How far the present vertex is beyond line i, in norms of it, and on which side.
    fn violation(&self, state: &SimplexState, i: usize) -> (f64, f64) {
        let value = self.lines.column(i).dot(&state.x);
        let (above, below) = (value - self.hi[i], self.lo[i] - value);
        if above > below { (above / self.norm[i], 1.0) } else { (below / self.norm[i], -1.0) }
    }

    /// Lines that are violated most.
    fn violated(&self, state: &SimplexState) -> Vec<usize> {
        let all = (0..self.source.len()).map(|i| (self.violation(state, i).0, i));
        let mut found: Vec<(f64, usize)> = all.filter(|(by, _)| *by > self.tolerance).collect();
        found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(CANDIDATES);
        found.into_iter().map(|(_, i)| i).collect()
    }

    fn worst(&self, state: &SimplexState, among: impl Iterator<Item = usize>) -> Option<(Active, f64)> {
        let mut worst = None;
        let mut most = self.tolerance;
        for i in among {
            let (by, sign) = self.violation(state, i);
            if by > most {
                most = by;
                worst = Some((Active { line: Line::Data(i), sign }, by));
            }
        }
        worst
    }

    fn worst_unit(&self, state: &SimplexState) -> Option<(Active, f64)> {
        let most = (0..state.x.len()).max_by(|&a, &b| state.x[a].abs().total_cmp(&state.x[b].abs()))?;
        let by = state.x[most].abs() - 1.0;
        let active = Active { line: Line::Unit(most), sign: state.x[most].signum() };
        (by > self.tolerance).then_some((active, by))
    }

    /// Distance between the two sides of a line.
    fn range(&self, line: Line) -> f64 {
        match line {
            Line::Unit(_) => 2.0,
            Line::Data(i) => self.hi[i] - self.lo[i],
        }
    }

    /// Where an active line is, a x = bound.
    fn bound(&self, active: Active) -> f64 {
        match active.line {
            Line::Unit(_) => 1.0,
            Line::Data(i) if active.sign > 0.0 => self.hi[i],
            Line::Data(i) => -self.lo[i],
        }
    }

    /// The line enters the basis. False where that cannot go on: the lines contradict one another, or digits are lost.
    fn pivot(&self, state: &mut SimplexState, entering: Active) -> bool {
        let (mut w, value) = match entering.line {
            Line::Data(i) => {
                let a = self.lines.column(i);
                (state.inverse.tr_mul(&a) * entering.sign, entering.sign * a.dot(&state.x))
            }
            Line::Unit(j) => (state.inverse.row(j).transpose() * entering.sign, entering.sign * state.x[j]),
        };
        let mut slope = value - self.bound(entering);
        let mut ratios: Vec<(f64, usize)> = (0..w.len())
            .filter(|&i| w[i] > SMALLEST_PIVOT)
            .map(|i| (state.y[i].max(0.0) / w[i], i))
            .collect();
        ratios.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut leaving = None;
        let mut flipped = 0;
        for &(t, i) in &ratios {
            let left = slope - w[i] * self.range(state.basis[i].line);
            if !(left > 0.0) {
                leaving = Some((t, i));
                break;
            }
            slope = left;
            flipped += 1;
        }
        let Some((t, out)) = leaving else {
            // Nothing holds the bound up: it may be pushed as far as one likes.
            let t = CONTRADICTION / (value - self.bound(entering)).max(NEGLIGIBLE);
            state.y.iter_mut().zip(&w).for_each(|(y, w)| *y -= t * w);
            state.contradiction = Some((entering, t));
            return false;
        };
        state.y.iter_mut().zip(&w).for_each(|(y, w)| *y -= t * w);
        for &(_, i) in &ratios[..flipped] {
            let range = self.range(state.basis[i].line);
            state.x.axpy(-range, &state.inverse.column(i), 1.0);
            state.inverse.column_mut(i).neg_mut();
            state.basis[i].sign = -state.basis[i].sign;
            state.y[i] = -state.y[i];
        }
        ratios[..flipped].iter().for_each(|&(_, i)| w[i] = -w[i]);
        let column = state.inverse.column(out) / w[out];
        state.x.axpy(-slope, &column, 1.0);
        w[out] = 0.0;
        state.inverse.ger(-1.0, &column, &w, 1.0);
        state.inverse.set_column(out, &column);
        state.y[out] = t;
        state.basis[out] = entering;
        true
    }

    /// Inverse, vertex and multipliers anew from the active lines; false where they have become dependent.
    fn refresh(&self, state: &mut SimplexState) -> bool {
        let p = state.x.len();
        let mut normals = DMatrix::zeros(p, p);
        for (i, active) in state.basis.iter().enumerate() {
            match active.line {
                Line::Unit(j) => normals[(i, j)] = active.sign,
                Line::Data(l) => {
                    (0..p).for_each(|j| normals[(i, j)] = active.sign * self.lines[(j, l)]);
                }
            }
        }
        let Some(inverse) = normals.try_inverse() else { return false };
        let bounds = DVector::from_iterator(p, state.basis.iter().map(|&active| self.bound(active)));
        state.x = &inverse * bounds;
        let y = inverse.tr_mul(&DVector::from_column_slice(&state.cost));
        state.y.iter_mut().zip(&y).for_each(|(y, new)| *y = new.max(0.0));
        state.inverse = inverse;
        true
    }
}

/// For each row from number `first` on the value in the middle of the box, and how far the box moves it to either side.
fn reaches(polytope: &Polytope, first: usize, center: &[f64], half: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let rows = polytope.rows.y.rows_range(first.min(polytope.rows.len())..);
    let (mut middle, mut reach) = (vec![0.0; rows.nrows()], vec![0.0; rows.nrows()]);
    for ((column, c), r) in rows.column_iter().zip(center).zip(half) {
        for ((y, middle), reach) in column.iter().zip(&mut middle).zip(&mut reach) {
            *middle += y * c;
            *reach += (y * r).abs();
        }
    }
    (middle, reach)
}
