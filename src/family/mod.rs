//! Families of trajectories, and sets that hold for all of them at once: for planners. No certificate rests on what is here.
//!
//! [`crate::plan::vicinity`] asks [`Places`], the part of them without torques, which of many obstacles no k can come near, and the planner
//! leaves those out. It asks the certifier for all else at one end point after the other: torques over K could spare it only rows that are
//! active for no k, which cost a fiftieth of what the survey of an end point does, the sets more than half of one
//! (`benches/family.rs` compares them, `benches/obstacles.rs` has the obstacles).
//!
//! [`sets`] runs the certifier's own algorithms over a whole family, with the parameters k as further symbols of its affine
//! forms; [`polynomial_sets`] with polynomials in k, dearer and tighter in k. [`polynomial`], [`zonotope`] and [`root`] are
//! enclosures that the certifier does not need.
//!
//! A family is q(t; k) = mid(t) + reach_j k_j w(t) with k in [-1, 1]^n, w the sum of the last three Bernstein polynomials of
//! degree 5: trajectories from one start to rest at end + reach k. The sets hold what a planner's own curve is, up to the rounding of
//! its control points: end + reach k in floats is off by 2^-52 (|end| + reach) at most, of which 16 times is added to position, velocity
//! and acceleration, each times what one unit in the last three control points is worth (at most 1, 5/T, 20/T^2).

mod interval;
pub mod polynomial;
pub mod polynomial_sets;
pub mod root;
pub mod sets;
pub mod spectrum;
pub mod zonotope;

pub use polynomial::Polynomial;
pub use sets::{FamilySets, Places};

use crate::dynamics::Motion;
use crate::dynamics::vec3::Vec3;
use crate::reach::links::sweep_capsules;
use crate::reach::upward::{add_up, div_up, mul_up};
use crate::robot::Arm;
use crate::scalar::Scalar;
use crate::trajectory::{Bezier, JointState, TrajectoryError};

/// The trajectories from one start.
#[derive(Debug, Clone)]
pub struct TrajectoryFamily {
    mid: Bezier,
    unit: Bezier,
    reach: Vec<f64>,
}

/// A family that cannot be enclosed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FamilyError {
    /// Sizes that do not fit together.
    #[error("family of trajectories: expected {expected} finite reaches, one a joint, found {found}")]
    Reach {
        /// How many finite ones there are.
        found: usize,
        /// How many joints the curve has.
        expected: usize,
    },
    /// The middle is not a curve to rest.
    #[error("family of trajectories: joint {joint} of the middle does not come to rest")]
    Moving {
        /// Its index.
        joint: usize,
    },
}

impl TrajectoryFamily {
    /// The trajectories around `mid` (which must come to rest) whose ends are within `reach` (rad, m) of its end.
    ///
    /// # Errors
    /// [`FamilyError`] for sizes that do not fit.
    pub fn new(mid: Bezier, reach: Vec<f64>) -> Result<Self, FamilyError> {
        let n = mid.dof();
        let finite = reach.iter().filter(|r| r.is_finite()).count();
        if reach.len() != n || finite != n {
            return Err(FamilyError::Reach { found: finite, expected: n });
        }
        if let Some(joint) = (0..n).find(|&j| !mid.rests(j)) {
            return Err(FamilyError::Moving { joint });
        }
        let unit = Bezier { points: vec![[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]], duration_s: mid.duration_s };
        Ok(Self { mid, unit, reach })
    }

    /// The family of one trajectory of 1 s that stays where all of `dof` joints are zero: one to be aimed.
    pub fn still(dof: usize) -> Self {
        let curve = |joints: usize| Bezier { points: vec![[0.0; 6]; joints], duration_s: 1.0 };
        let unit = Bezier { points: vec![[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]], duration_s: 1.0 };
        Self { mid: curve(dof), unit, reach: vec![0.0; dof] }
    }

    /// Makes this the family of the trajectories from `start` whose ends are within `reach` of `centre` (lengths n), in the memory that
    /// it has.
    ///
    /// # Errors
    /// [`TrajectoryError`] for sizes that do not fit or numbers that are not finite; the family is then not to be used.
    pub fn aim(
        &mut self,
        start: &JointState,
        (centre, reach): (&[f64], &[f64]),
        duration_s: f64,
    ) -> Result<(), TrajectoryError> {
        let (n, found) = (start.q.len(), reach.len());
        if found != n {
            return Err(TrajectoryError::Size { field: "reach", expected: n, found });
        }
        if let Some(&found) = reach.iter().find(|r| !r.is_finite()) {
            return Err(TrajectoryError::Value { field: "reach", what: "number", found });
        }
        self.mid.set_to_rest(start, centre, duration_s)?;
        self.unit.duration_s = duration_s;
        self.reach.clear();
        self.reach.extend_from_slice(reach);
        Ok(())
    }

    /// The trajectory of one k.
    pub fn at(&self, k: &[f64]) -> Bezier {
        let mut curve = self.mid.clone();
        for (points, (reach, k)) in curve.points.iter_mut().zip(self.reach.iter().zip(k)) {
            let end = points[5] + reach * k;
            points[3..].fill(end);
        }
        curve
    }

    /// What position, velocity and acceleration of joint `j` are to be widened by (module header).
    fn roundoff(&self, j: usize) -> [f64; 3] {
        let rate = div_up(5.0, self.mid.duration_s);
        let roundoff = mul_up(16.0 * f64::EPSILON, add_up(self.mid.points[j][5].abs(), self.reach[j].abs()));
        [roundoff, mul_up(roundoff, rate), mul_up(roundoff, mul_up(4.0, mul_up(rate, rate)))]
    }
}

/// Ends of every collision capsule over a cell, base frame, m.
fn swept_capsules<T: Scalar>(robot: &Arm, motion: &Motion<T>) -> Vec<[Vec3<T>; 2]> {
    let (mut placed, mut ends) = (vec![], vec![]);
    sweep_capsules(robot, motion, &mut placed, &mut ends);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        let start = JointState::at_rest(&[0.0; 3]);
        let mid = Bezier::to_rest(&start, &[0.1, 0.2, 0.3], 2.0).unwrap();
        let refusal = |mid: &Bezier, reach: Vec<f64>| {
            TrajectoryFamily::new(mid.clone(), reach).unwrap_err().to_string()
        };
        assert!(refusal(&mid, vec![0.1; 2]).contains("3 finite"));
        assert!(refusal(&mid, vec![f64::NAN; 3]).contains("found 0"));
        let mut moving = mid.clone();
        moving.points[2][4] += 0.1;
        assert!(refusal(&moving, vec![0.1; 3]).contains("joint 2"));
    }
}
