//! The passive joints of closed loops, their speeds, and how they follow the motors: enclosed for all motors' positions and speeds of a box.
//!
//! # Assumed
//! The model as it is in floats: placements, ends. What [`crate::enclose`] promises.
//!
//! # Proven
//! - *Positions.* [`ClosureDomain::enclose`] runs Krawczyk's test ([`ProvenCell`]) on the box of motors' positions itself. Where it passes, there is
//!   for each position of the box one closure within a tube, it is continuous, and it is u_0 + S (a - a_0) up to `tight`. In the box's middle that
//!   closure is the domain's own. For a closure there, enclosed by a test of its own, lies in the tubes of the box and of the domain's cell. In each of
//!   them there is but one. So it is the domain's closure, continued.
//! - *Ratios.* J_u G_u = -J_a is a linear system for each position. With any matrices Y and X_0, and E = 1 - Y J_u,
//!
//! ```text
//! J_u X = R   =>   Y J_u (X - X_0) = Y (R - J_u X_0)   =>   X - X_0 = Y (R - J_u X_0) + E (X - X_0),
//! ```
//!
//!   so with |E| <= e < 1 (largest sum of a row) the largest entry of a column of X - X_0 is at most w = max |Y (R - J_u X_0)| / (1 - e), and X is
//!   X_0 + Y (R - J_u X_0) up to (the row's sum of |E|) w. Nothing is assumed of Y and X_0; X exists, as the first test makes J_u regular.
//!   Each step is made over enclosures that hold the true value at the same symbols, so an affine form of X holds it there too.
//! - *Rates.* J_u dG_u/dt = -(dJ_a/dt + dJ_u/dt G_u), with dJ/dt along the motion by dual numbers: the same system again. Over dual numbers the
//!   system is solved for the values first, then for the slopes: J X' = R' - J' X.

use nalgebra::DMatrix;

use super::cell::{Loops, ProvenCell};
use super::{BlockDomain, ClosureBlock, ClosureDomain, DomainError};
use crate::enclose::{Affine, Interval};
use crate::robot::Model;
use crate::scalar::{Dual, Scalar};

/// Scalars over which a linear system is enclosed.
pub(crate) trait Solved: Scalar {
    /// X with `matrix` X = `right` for all that the entries hold; row-major, n x n and n x columns. `inverse` is about that of `matrix`.
    /// `None` where it is not near enough for a proof.
    fn solve(matrix: &[Self], right: &[Self], inverse: &DMatrix<f64>) -> Option<Vec<Self>>;
}

/// A set of real numbers, one for each value of its symbols.
pub(crate) trait Enclosing: Scalar {
    /// All values.
    fn range(self) -> Interval;
    /// The values and all that are off by at most `by`.
    fn widened(self, by: f64) -> Self;
}

impl Enclosing for Interval {
    fn range(self) -> Interval {
        self
    }

    fn widened(self, by: f64) -> Self {
        self + Self::new(-by, by)
    }
}

impl<const N: usize> Enclosing for Affine<N> {
    fn range(self) -> Interval {
        self.interval()
    }

    fn widened(self, by: f64) -> Self {
        self.widen(by)
    }
}

impl Solved for Interval {
    fn solve(matrix: &[Self], right: &[Self], inverse: &DMatrix<f64>) -> Option<Vec<Self>> {
        enclosed(matrix, right, inverse)
    }
}

impl<const N: usize> Solved for Affine<N> {
    fn solve(matrix: &[Self], right: &[Self], inverse: &DMatrix<f64>) -> Option<Vec<Self>> {
        enclosed(matrix, right, inverse)
    }
}

impl<T: Solved> Solved for Dual<T, 1> {
    fn solve(matrix: &[Self], right: &[Self], inverse: &DMatrix<f64>) -> Option<Vec<Self>> {
        let values = |x: &[Self]| x.iter().map(|x| x.value).collect::<Vec<T>>();
        let j = values(matrix);
        let x = T::solve(&j, &values(right), inverse)?;
        let (n, columns) = (inverse.nrows(), right.len() / inverse.nrows().max(1));
        let left = |r: usize, c: usize| {
            (0..n).fold(right[columns * r + c].slope[0], |sum, i| {
                sum - matrix[n * r + i].slope[0] * x[columns * i + c]
            })
        };
        let rest: Vec<T> = (0..n * columns).map(|k| left(k / columns, k % columns)).collect();
        let slopes = T::solve(&j, &rest, inverse)?;
        Some(x.into_iter().zip(slopes).map(|(value, slope)| Self::new(value, [slope])).collect())
    }
}

/// [`Solved::solve`]; the module's documentation has the proof.
fn enclosed<T: Enclosing>(matrix: &[T], right: &[T], inverse: &DMatrix<f64>) -> Option<Vec<T>> {
    let n = inverse.nrows();
    let columns = right.len() / n.max(1);
    let times =
        |r: usize, x: &dyn Fn(usize) -> T| (0..n).fold(T::zero(), |sum, i| sum + x(i).scale(inverse[(r, i)]));
    let off = |r: usize| {
        let entry = |c: usize| {
            let unit = T::constant(if r == c { 1.0 } else { 0.0 });
            (unit - times(r, &|i| matrix[n * i + c])).range().sup_abs()
        };
        (0..n).map(entry).fold(Interval::zero(), |sum, x| sum + Interval::constant(x)).upper()
    };
    let off: Vec<f64> = (0..n).map(off).collect();
    // One by one, as `max` would drop a NaN.
    if off.iter().any(|x| !(*x < 1.0)) {
        return None;
    }
    let most = off.iter().copied().fold(0.0, f64::max);
    let guess = inverse * DMatrix::from_fn(n, columns, |r, c| right[columns * r + c].range().midpoint());
    let missed = |r: usize, c: usize| {
        (0..n).fold(right[columns * r + c], |sum, i| sum - matrix[n * r + i].scale(guess[(i, c)]))
    };
    let mut x = vec![T::zero(); n * columns];
    for c in 0..columns {
        let missed: Vec<T> = (0..n).map(|r| missed(r, c)).collect();
        let step: Vec<T> = (0..n).map(|r| times(r, &|i| missed[i])).collect();
        let sizes = step.iter().map(|x| x.range().sup_abs());
        if sizes.clone().any(|x| !x.is_finite()) {
            return None;
        }
        let largest = sizes.fold(0.0, f64::max);
        let room = Interval::constant(1.0) - Interval::constant(most);
        let within = Interval::constant(largest) / room;
        for (r, step) in step.into_iter().enumerate() {
            let by = (Interval::constant(off[r]) * within).upper();
            x[columns * r + c] = (T::constant(guess[(r, c)]) + step).widened(by);
        }
    }
    Some(x)
}

/// The closure on a box of motors' positions: one cell a block, and about the inverse of its J_u.
#[derive(Debug, Clone)]
pub(crate) struct ProvenBox {
    cells: Vec<(ProvenCell, DMatrix<f64>)>,
}

/// How fast a passive joint moves by a motor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tie<T> {
    /// Index of the passive joint.
    pub passive: usize,
    /// Index of the motor's joint.
    pub motor: usize,
    /// Entry of G.
    pub ratio: T,
    /// Its rate, 1/s.
    pub rate: T,
}

/// A robot on a fixed base whose loops are closed.
#[derive(Debug, Clone)]
pub(crate) struct Following<T> {
    /// Positions of all joints, rad or m.
    pub q: Vec<T>,
    /// Speeds of all joints.
    pub v: Vec<T>,
    /// The entries of G and dG/dt that need not be zero, but for those of the motors themselves.
    pub ties: Vec<Tie<T>>,
}

impl ClosureDomain {
    /// Proves where the loops close for all motors' positions in `joints`: one interval a joint, those of passive ones are not looked at.
    ///
    /// # Errors
    /// [`DomainError::Outside`] where the box's middle is outside the domain, [`DomainError::Box`] where the box is too large for a proof.
    pub(crate) fn enclose(&self, robot: &Model, joints: &[Interval]) -> Result<ProvenBox, DomainError> {
        let cells: Result<_, _> = self.blocks.iter().map(|block| block.enclose(robot, joints)).collect();
        Ok(ProvenBox { cells: cells? })
    }

    /// All joints where the motors are at `q` in that box with speeds `v`; both have one entry a joint, those of passive joints are filled in.
    /// `None` where J_u is not known well enough.
    pub(crate) fn follow<T: Enclosing + Solved>(
        &self,
        at: &ProvenBox,
        q: Vec<T>,
        v: Vec<T>,
    ) -> Option<Following<T>> {
        let mut all = Following { q, v, ties: vec![] };
        for (domain, (cell, inverse)) in self.blocks.iter().zip(&at.cells) {
            let block = &domain.block;
            let apart = |k: usize| all.q[block.motors[k]] - T::constant(cell.center[k]);
            let placed = |(r, row): (usize, &Vec<f64>)| {
                let line = row
                    .iter()
                    .enumerate()
                    .fold(T::constant(cell.passive[r]), |sum, (k, slope)| sum + apart(k).scale(*slope));
                line.widened(cell.tight[r])
            };
            let passive: Vec<T> = cell.slope.iter().enumerate().map(placed).collect();
            block.passive.iter().zip(&passive).for_each(|(&j, x)| all.q[j] = *x);
            tie(block, inverse, &mut all)?;
        }
        Some(all)
    }

    /// The same with derivatives by time: `a` are the accelerations.
    pub(crate) fn follow_in_time<T: Enclosing + Solved>(
        &self,
        at: &ProvenBox,
        (q, v, a): (Vec<T>, Vec<T>, Vec<T>),
    ) -> Option<Following<Dual<T, 1>>> {
        let still = self.follow(at, q, v)?;
        let moving = |x: &[T], rate: &[T]| -> Vec<Dual<T, 1>> {
            x.iter().zip(rate).map(|(x, rate)| Dual::new(*x, [*rate])).collect()
        };
        // Speeds of passive joints are replaced with what G makes of the motors', which has their accelerations.
        let mut all = Following { q: moving(&still.q, &still.v), v: moving(&still.v, &a), ties: vec![] };
        for (domain, (_, inverse)) in self.blocks.iter().zip(&at.cells) {
            tie(&domain.block, inverse, &mut all)?;
        }
        Some(all)
    }
}

impl BlockDomain {
    fn enclose(&self, robot: &Model, joints: &[Interval]) -> Result<(ProvenCell, DMatrix<f64>), DomainError> {
        let motors: Vec<Interval> = self.block.motors.iter().map(|&j| joints[j]).collect();
        let middle: Vec<f64> = motors.iter().map(|x| x.midpoint()).collect();
        let own = self.cell_at(&middle).ok_or_else(|| self.outside(robot, &middle))?;
        let at: Vec<Interval> = middle.iter().map(|x| Interval::constant(*x)).collect();
        let guess: Vec<f64> = own.predicted(&at).iter().map(|x| x.midpoint()).collect();
        let loops = self.block.equations();
        // The closure in the middle is in the tubes of both, in each of which there is one.
        let point = loops.prove(&at, &guess).filter(|point| own.continues(point, &middle));
        let whole = |point: ProvenCell| {
            loops.prove(&motors, &point.passive).filter(|cell| cell.continues(&point, &middle))
        };
        let proven = point.and_then(whole);
        let inverse = proven.and_then(|cell| {
            let (_, j_u) = loops.jacobian(&cell.center, &cell.passive, true);
            Some((cell, j_u.try_inverse()?))
        });
        inverse.ok_or_else(|| self.too_large(robot, &motors))
    }

    fn too_large(&self, robot: &Model, motors: &[Interval]) -> DomainError {
        let widest = (0..motors.len()).max_by(|&a, &b| motors[a].radius().total_cmp(&motors[b].radius()));
        let widest = widest.unwrap_or(0);
        DomainError::Box {
            joint: robot.joints[self.block.motors[widest]].name.clone(),
            lower: motors[widest].lower(),
            upper: motors[widest].upper(),
            name: self.block.loops().next().unwrap_or_default().to_owned(),
        }
    }
}

/// Adds the ties of a block whose joints' positions and motors' speeds are there; fills in the passive joints' speeds.
fn tie<T: Solved>(block: &ClosureBlock, inverse: &DMatrix<f64>, all: &mut Following<T>) -> Option<()> {
    let loops = block.equations();
    let of = |joints: &[usize], x: &[T]| -> Vec<T> { joints.iter().map(|&j| x[j]).collect() };
    let (motors, passive) = (of(&block.motors, &all.q), of(&block.passive, &all.q));
    let (n, m) = (passive.len(), motors.len());
    let j_u = jacobian(&loops, &motors, &passive, true);
    let j_a = jacobian(&loops, &motors, &passive, false);
    let g = T::solve(&j_u, &j_a.iter().map(|x| -*x).collect::<Vec<T>>(), inverse)?;
    let v_a = of(&block.motors, &all.v);
    let speed = |r: usize| (0..m).fold(T::zero(), |sum, c| sum + g[m * r + c] * v_a[c]);
    let v_u: Vec<T> = (0..n).map(speed).collect();
    let moving =
        |x: &[T], v: &[T]| -> Vec<Dual<T, 1>> { x.iter().zip(v).map(|(x, v)| Dual::new(*x, [*v])).collect() };
    let (motors, passive) = (moving(&motors, &v_a), moving(&passive, &v_u));
    let d_u = jacobian(&loops, &motors, &passive, true);
    let d_a = jacobian(&loops, &motors, &passive, false);
    let right = |r: usize, c: usize| {
        (0..n).fold(-d_a[m * r + c].slope[0], |sum, i| sum - d_u[n * r + i].slope[0] * g[m * i + c])
    };
    let right: Vec<T> = (0..n * m).map(|k| right(k / m, k % m)).collect();
    let rates = T::solve(&j_u, &right, inverse)?;
    for (r, &passive) in block.passive.iter().enumerate() {
        all.v[passive] = v_u[r];
        for (c, &motor) in block.motors.iter().enumerate() {
            let (ratio, rate) = (g[m * r + c], rates[m * r + c]);
            all.ties.push(Tie { passive, motor, ratio, rate });
        }
    }
    Some(())
}

/// J_u where `of_passive`, else J_a; row-major. Column by column: a block has few.
fn jacobian<T: Scalar>(loops: &Loops<'_>, motors: &[T], passive: &[T], of_passive: bool) -> Vec<T> {
    let (n, columns) = (passive.len(), if of_passive { passive.len() } else { motors.len() });
    let mut out = vec![T::zero(); n * columns];
    for c in 0..columns {
        let dual = |x: &[T], moves: bool| -> Vec<Dual<T, 1>> {
            let slope = |k: usize| T::constant(if moves && k == c { 1.0 } else { 0.0 });
            x.iter().enumerate().map(|(k, x)| Dual::new(*x, [slope(k)])).collect()
        };
        let errors = loops.errors(&dual(motors, !of_passive), &dual(passive, of_passive));
        errors.iter().enumerate().for_each(|(r, e)| out[columns * r + c] = e.slope[0]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 / m for all m within `off` of 1: the bound is met where m is least.
    #[test]
    fn what_a_matrix_is_off_by_counts_to_all_orders() {
        let inverse = DMatrix::from_element(1, 1, 1.0);
        for off in [0.1, 0.3, 0.5] {
            let form = Affine::<4>::constant(1.0) + Affine::symbol(0, off);
            let range = Interval::new(1.0 - off, 1.0 + off);
            let by_forms = Affine::solve(&[form], &[Affine::constant(1.0)], &inverse).unwrap()[0].interval();
            let by_intervals = Interval::solve(&[range], &[Interval::constant(1.0)], &inverse).unwrap()[0];
            let largest = 1.0 / (1.0 - off);
            for x in [by_forms, by_intervals] {
                assert!(x.lower() <= 1.0 / (1.0 + off), "{off}: {x:?}");
                assert!(x.upper() >= (1.0 - 1e-12) * largest, "{off}: {x:?}");
                assert!(x.upper() <= (1.0 + 1e-12) * largest, "{off}: {x:?}");
            }
        }
        let too_far = Interval::new(0.0, 2.0);
        assert!(Interval::solve(&[too_far], &[Interval::constant(1.0)], &inverse).is_none());
    }
}
