//! One cell of motors' positions: Krawczyk's test, with the passive joints written as a slope times the motors plus a tube.

use nalgebra::{DMatrix, DVector};

use super::chain::Chain;
use super::{PASSIVE, SYMBOLS};
use crate::enclose::{Affine, Interval};
use crate::scalar::{Dual, Scalar};

type Form = Affine<SYMBOLS>;

/// Newton steps at most; it doubles the digits in each.
const STEPS: usize = 30;
/// Position errors (m) at which Newton's method stops.
const EXACT: f64 = 1e-14;
/// How often the tube is widened until the test holds.
const TRIALS: usize = 6;
/// A tube is so many times as wide as what Krawczyk's test leaves of it: neighbours' tubes must hold each other's solutions, and these
/// lie up to three such widths apart.
const ROOM: f64 = 4.0;
/// Least width of a tube, rad: rounding is far below.
const LEAST: f64 = 1e-12;
/// Squarings of Y'Y; see [`norm`].
const SQUARINGS: usize = 4;

/// A cell of motors' positions on which the closure is proven to be unique.
///
/// For each position a of the motors in the cell there is exactly one position u of the passive joints with
/// `|u - u_0 - G (a - a_0)| <= tube` (componentwise) that closes the loops, and it is off by no more than `tight`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvenCell {
    /// Motors' positions, rad or m.
    pub motors: Vec<Interval>,
    /// a_0, a point of the cell.
    pub center: Vec<f64>,
    /// u_0, rad or m.
    pub passive: Vec<f64>,
    /// G, a row for each passive joint.
    pub slope: Vec<Vec<f64>>,
    /// Where no other closure is.
    pub tube: Vec<f64>,
    /// Where this one is.
    pub tight: Vec<f64>,
    /// Lower bound of the smallest singular value of J_u at the closures of this cell; m/rad where all passive joints turn.
    pub smallest_singular_value: f64,
}

/// The loops of a block, with the order of its joints.
pub(super) struct Loops<'a> {
    pub(super) chains: &'a [Chain],
    pub(super) motors: &'a [usize],
    pub(super) passive: &'a [usize],
}

impl Loops<'_> {
    /// By how much the loops are open; joints in no list are not moved by any.
    pub(super) fn errors<T: Scalar>(&self, motors: &[T], passive: &[T]) -> Vec<T> {
        let position = |joint: usize| match self.motors.iter().position(|&j| j == joint) {
            Some(k) => motors[k],
            None => self.passive.iter().position(|&j| j == joint).map_or(T::zero(), |k| passive[k]),
        };
        let mut out = Vec::with_capacity(passive.len());
        self.chains.iter().for_each(|chain| chain.errors(position, &mut out));
        out
    }

    /// The same, and its derivatives: J_u where `of_passive`, else J_a.
    fn slopes<T: Scalar>(&self, motors: &[T], passive: &[T], of_passive: bool) -> Vec<Dual<T, PASSIVE>> {
        let dual = |x: &[T], moves: bool| -> Vec<Dual<T, PASSIVE>> {
            let one = |(k, x): (usize, &T)| {
                if moves { Dual::variable(*x, k) } else { Dual::new(*x, [T::zero(); PASSIVE]) }
            };
            x.iter().enumerate().map(one).collect()
        };
        self.errors(&dual(motors, !of_passive), &dual(passive, of_passive))
    }

    /// Errors, and J_u where `of_passive`, else J_a.
    pub(super) fn jacobian(
        &self,
        motors: &[f64],
        passive: &[f64],
        of_passive: bool,
    ) -> (DVector<f64>, DMatrix<f64>) {
        let found = self.slopes(motors, passive, of_passive);
        let columns = if of_passive { passive.len() } else { motors.len() };
        (
            DVector::from_iterator(found.len(), found.iter().map(|e| e.value)),
            DMatrix::from_fn(found.len(), columns, |r, c| found[r].slope[c]),
        )
    }

    /// Passive joints that close the loops, by Newton's method from `guess`.
    pub(super) fn close(&self, motors: &[f64], guess: &[f64]) -> Option<Vec<f64>> {
        let mut u = DVector::from_column_slice(guess);
        for _ in 0..STEPS {
            let (e, j_u) = self.jacobian(motors, u.as_slice(), true);
            if e.amax() <= EXACT {
                break;
            }
            u -= j_u.lu().solve(&e)?;
        }
        let (e, _) = self.jacobian(motors, u.as_slice(), true);
        // A few roundings of lengths of some metres; the proof does not rest on it.
        (e.amax() <= 1e2 * EXACT).then(|| u.as_slice().to_vec())
    }

    /// Tries to prove the cell; `guess` is near its passive joints.
    ///
    /// # Assumed
    /// The model as it is in floats: placements, ends.
    ///
    /// # Proven
    /// Let u~(a) = u_0 + G (a - a_0), and Y any matrix. By the fundamental theorem, with u = u~ + d,
    ///
    /// ```text
    /// u - Y f(a, u) - u~ = -Y f(a, u~) + (1 - Y int_0^1 J_u(a, u~ + s d) ds) d
    /// ```
    ///
    /// so for all |d| <= tube the left side is at most `tight` = sup|Y f(a, u~)| + sup|1 - Y J_u| tube in each entry, with suprema over
    /// the motors of the cell and the tube. (The integral's entries are means of those of one matrix each, so a form over a common
    /// point of all rows bounds them.) If tight < tube, u -> u - Y f(a, u) maps the tube into itself and has a fixed point (Brouwer).
    /// |1 - Y J_u| tube < tube makes the spectral radius of 1 - Y J_u smaller than one: Y and J_u are regular, so the fixed point is a
    /// closure; and two closures of one a differ by d = (1 - Y J) d, hence not at all. It is continuous in a by the implicit function theorem.
    ///
    /// J_u = Y^-1 (1 - E) gives `sigma_min(J_u) >= (1 - ||E||) / ||Y||` in the spectral norm, bounded by [`norm`] for Y and by
    /// sqrt(||E||_1 ||E||_inf) for E.
    pub(super) fn prove(&self, cell: &[Interval], guess: &[f64]) -> Option<ProvenCell> {
        let center: Vec<f64> = cell.iter().map(|x| x.midpoint()).collect();
        let (m, n) = (cell.len(), guess.len());
        let u0 = self.close(&center, guess)?;
        let (_, j_u) = self.jacobian(&center, &u0, true);
        let (_, j_a) = self.jacobian(&center, &u0, false);
        let y = j_u.try_inverse()?;
        let g = -(&y * j_a);
        let motor = |k: usize| Form::constant(center[k]) + Form::symbol(k, cell[k].radius());
        let motors: Vec<Form> = (0..m).map(motor).collect();
        let linear = |k: usize| {
            (0..m).fold(Form::constant(u0[k]), |sum, i| {
                sum + Form::symbol(i, cell[i].radius()).scale(g[(k, i)])
            })
        };
        let predicted: Vec<Form> = (0..n).map(linear).collect();
        let missed = times(&y, &self.errors(&motors, &predicted));
        let missed: Vec<f64> = missed.iter().map(Form::sup_abs).collect();
        let mut tube: Vec<f64> = missed.iter().map(|x| ROOM * x + LEAST).collect();
        for _ in 0..TRIALS {
            let within: Vec<Form> = (0..n).map(|k| predicted[k] + Form::symbol(m + k, tube[k])).collect();
            let off = self.off(&y, &motors, &within);
            let tight: Vec<f64> = (0..n).map(|k| image(missed[k], &off[k], &tube)).collect();
            if tight.iter().zip(&tube).all(|(tight, tube)| tight < tube) {
                let slope = (0..n).map(|k| g.row(k).iter().copied().collect()).collect();
                let smallest_singular_value = regular_by(&y, &off);
                let motors = cell.to_vec();
                return Some(ProvenCell {
                    motors,
                    center,
                    passive: u0,
                    slope,
                    tube,
                    tight,
                    smallest_singular_value,
                });
            }
            tube = tight.iter().map(|x| ROOM * x + LEAST).collect();
        }
        None
    }

    /// Upper bounds of the entries of |1 - Y J_u|.
    fn off(&self, y: &DMatrix<f64>, motors: &[Form], passive: &[Form]) -> Vec<Vec<f64>> {
        let n = passive.len();
        let slopes = self.slopes(motors, passive, true);
        let column = |c: usize| times(y, &slopes.iter().map(|e| e.slope[c]).collect::<Vec<_>>());
        let mut off = vec![vec![0.0; n]; n];
        for c in 0..n {
            for (r, entry) in column(c).into_iter().enumerate() {
                let unit = Form::constant(if r == c { 1.0 } else { 0.0 });
                off[r][c] = (unit - entry).sup_abs();
            }
        }
        off
    }
}

fn times(y: &DMatrix<f64>, x: &[Form]) -> Vec<Form> {
    let row = |r: usize| x.iter().enumerate().fold(Form::zero(), |sum, (c, x)| sum + x.scale(y[(r, c)]));
    (0..y.nrows()).map(row).collect()
}

/// missed + sum_j off_j tube_j, rounded up.
fn image(missed: f64, off: &[f64], tube: &[f64]) -> f64 {
    let products = off.iter().zip(tube).map(|(e, t)| Interval::constant(*e) * Interval::constant(*t));
    products.fold(Interval::constant(missed), |sum, x| sum + x).upper()
}

/// Lower bound of the smallest singular value of J_u = Y^-1 (1 - E), |E| <= off.
fn regular_by(y: &DMatrix<f64>, off: &[Vec<f64>]) -> f64 {
    let n = off.len();
    let sum = |entries: &mut dyn Iterator<Item = f64>| {
        entries.fold(Interval::zero(), |sum, x| sum + Interval::constant(x)).upper()
    };
    let rows = (0..n).map(|r| sum(&mut off[r].iter().copied())).fold(0.0, f64::max);
    let columns = (0..n).map(|c| sum(&mut off.iter().map(|row| row[c]))).fold(0.0, f64::max);
    let error = (Interval::constant(rows) * Interval::constant(columns)).sqrt();
    ((Interval::constant(1.0) - error) / Interval::constant(norm(y))).lower().max(0.0)
}

/// Upper bound of the spectral norm of `y`, at most n^(1/64) times it: ||Y||^2 is the largest eigenvalue of S = Y'Y, at most the
/// 2^k-th root of the Frobenius norm of S^(2^k).
fn norm(y: &DMatrix<f64>) -> f64 {
    let n = y.ncols();
    let scale = y.amax();
    if !(scale > 0.0 && scale.is_finite()) {
        return f64::INFINITY;
    }
    let product = |a: &dyn Fn(usize, usize) -> Interval,
                   b: &dyn Fn(usize, usize) -> Interval,
                   inner: usize| {
        let entry = |k: usize| (0..inner).fold(Interval::zero(), |sum, i| sum + a(k / n, i) * b(i, k % n));
        (0..n * n).map(entry).collect::<Vec<_>>()
    };
    let scaled = |r: usize, c: usize| Interval::constant(y[(r, c)]) / Interval::constant(scale);
    let mut s = product(&|r, i| scaled(i, r), &|i, c| scaled(i, c), y.nrows());
    for _ in 0..SQUARINGS {
        let old = s;
        s = product(&|r, i| old[r * n + i], &|i, c| old[i * n + c], n);
    }
    let squares = s.iter().fold(Interval::zero(), |sum, x| sum + x.sqr());
    // The Frobenius norm, a root for each squaring, and one from S to Y.
    let root = (0..SQUARINGS + 2).fold(squares, |x, _| x.sqrt());
    (root * Interval::constant(scale)).upper()
}

impl ProvenCell {
    /// Where the passive joints are predicted for motors at `a`.
    pub(super) fn predicted(&self, a: &[Interval]) -> Vec<Interval> {
        let entry = |(u0, row): (&f64, &Vec<f64>)| {
            let by = |i: usize| Interval::constant(row[i]) * (a[i] - Interval::constant(self.center[i]));
            (0..a.len()).fold(Interval::constant(*u0), |sum, i| sum + by(i))
        };
        self.passive.iter().zip(&self.slope).map(entry).collect()
    }

    /// Where the passive joints are, proven, for motors anywhere in the cell.
    pub fn passive_range(&self) -> Vec<Interval> {
        let widened = |(x, tight): (Interval, &f64)| x + Interval::new(-tight, *tight);
        self.predicted(&self.motors).into_iter().zip(&self.tight).map(widened).collect()
    }

    /// Whether both cells' closures are the same where the cells meet. They share the point `a`; the closure of `other` there lies in
    /// this cell's tube, where there is only one. Along the rest of a common face both are continuous, and cannot part.
    pub(super) fn continues(&self, other: &Self, a: &[f64]) -> bool {
        let a: Vec<Interval> = a.iter().map(|x| Interval::constant(*x)).collect();
        let (own, there) = (self.predicted(&a), other.predicted(&a));
        (0..own.len()).all(|k| {
            let apart = there[k] + Interval::new(-other.tight[k], other.tight[k]) - own[k];
            apart.sup_abs() <= self.tube[k]
        })
    }
}
