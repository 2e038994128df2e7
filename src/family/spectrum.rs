//! Proven bounds on the eigenvalues of the mass matrix over a cell and a set. No certificate rests on them: what the tube's proof needs is a
//! floor joint by joint ([`crate::reach::mass::floor_factor`]).
//!
//! # Assumed, and proven
//! What [`crate::reach::mass`] says of bodies and definite matrices: M lies between the matrices of the lowered and of the raised bodies, and
//! g M - 1 or g 1 - M is definite for the factors found.

use crate::dynamics::{Composites, Motion, crba};
use crate::enclose::{Affine, Interval, Rounding};
use crate::reach::Cell;
use crate::reach::mass::{IntervalMatrix, MassBounds, least_factor, with_transmission};
use crate::robot::Arm;
use crate::scalar::Scalar;

/// Enclosure of M(q; theta), transmission inertia included, over the positions of `cell` for one theta.
fn enclosed<const N: usize, R: Rounding>(robot: &Arm, theta: &[f64], cell: &Cell<N, R>) -> IntervalMatrix {
    let mut motion = Motion::new(robot);
    motion.place(robot, &cell.q);
    let constants: Vec<_> = theta.iter().map(|&x| Affine::<N, R>::constant(x)).collect();
    let mut mass = vec![Affine::<N, R>::zero(); robot.dof() * robot.dof()];
    crba(robot, &motion, &constants, &mut Composites::new(robot), &mut mass);
    with_transmission(robot, theta, &mass)
}

/// Proven bounds, kg m^2 (kg, kg m), on the smallest and the largest eigenvalue of M(q; theta) over a cell and a set: the
/// first from below (0 if none is proven), the second from above.
pub fn eigenvalue_bounds<const N: usize, R: Rounding>(
    robot: &Arm,
    between: &MassBounds,
    cell: &Cell<N, R>,
) -> (f64, f64) {
    let n = robot.dof();
    let unit: IntervalMatrix =
        (0..n * n).map(|k| Interval::constant(if k % (n + 1) == 0 { 1.0 } else { 0.0 })).collect();
    let inverse = least_factor(&unit, &enclosed(robot, &between.below, cell), n);
    let above = least_factor(&enclosed(robot, &between.above, cell), &unit, n);
    ((1.0 / inverse).next_down().max(0.0), above)
}
