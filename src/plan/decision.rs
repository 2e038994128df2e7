//! What the planner decides: where a trajectory comes to rest.

use crate::inertia::INERTIAL;
use crate::reach::Joints;
use crate::reach::cell::MAX_JOINTS;
use crate::robot::Arm;
use crate::trajectory::JointState;
use nalgebra::SMatrix;
use thiserror::Error;

/// A matrix over one body's inertial parameters.
pub(super) type Square = SMatrix<f64, INERTIAL, INERTIAL>;

/// A cost or a set of end points that can't be built.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum CostError {
    /// A length differs from the number of joints.
    #[error("{field}: expected {expected} numbers, one a joint, found {found}")]
    Size {
        /// Which argument.
        field: &'static str,
        /// Number of joints.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// The robot is no arm on a fixed base, or its file leaves out what planning rests on.
    #[error("{0}")]
    NoArm(String),
    /// A number out of its range.
    #[error("{field}: expected {expected}, found {found}")]
    Value {
        /// Which argument or option.
        field: &'static str,
        /// What was expected.
        expected: &'static str,
        /// What was given.
        found: f64,
    },
}

pub(super) fn check_size(field: &'static str, expected: usize, found: usize) -> Result<(), CostError> {
    if expected == found { Ok(()) } else { Err(CostError::Size { field, expected, found }) }
}

/// The end points that are offered: centre + reach * k, joint by joint, for k in \[-1, 1\]^n (rad or m).
#[derive(Debug, Clone, PartialEq)]
pub struct EndPoints {
    centre: Joints<f64>,
    reach: Joints<f64>,
}

impl EndPoints {
    /// End points around `centre`; `reach` holds eta, one a joint, above 0.
    ///
    /// # Errors
    /// [`CostError`] for different lengths, a non-finite number or a reach that is not above zero.
    pub fn new(centre: &[f64], reach: &[f64]) -> Result<Self, CostError> {
        check_size("reach of the end points", centre.len(), reach.len())?;
        if centre.len() > MAX_JOINTS {
            let n = centre.len();
            return Err(CostError::NoArm(format!("{n} joints, expected at most {MAX_JOINTS}")));
        }
        if let Some(&found) = centre.iter().find(|x| !x.is_finite()) {
            return Err(CostError::Value {
                field: "centre of the end points",
                expected: "finite numbers",
                found,
            });
        }
        if let Some(&found) = reach.iter().find(|x| !(x.is_finite() && **x > 0.0)) {
            let field = "reach of the end points";
            return Err(CostError::Value { field, expected: "finite numbers above 0", found });
        }
        Ok(Self { centre: centre.iter().copied().collect(), reach: reach.iter().copied().collect() })
    }

    /// The part of `start.q` +- `reach` that the robot's position limits leave. A joint of which nothing is left
    /// keeps a reach of 1e-6 around its nearest limit.
    ///
    /// # Errors
    /// As [`EndPoints::new`].
    pub fn within_limits(robot: &Arm, start: &JointState, reach: &[f64]) -> Result<Self, CostError> {
        check_size("start", robot.dof(), start.q.len())?;
        let whole = Self::new(&start.q, reach)?;
        let joints = robot.joints.iter().zip(whole.centre.iter().zip(&whole.reach));
        let parts = joints.map(|(joint, (&c, &r))| {
            let (lower, upper) = joint.limits.position.unwrap_or((c - r, c + r));
            let (a, b) = ((c - r).clamp(lower, upper), (c + r).clamp(lower, upper));
            (0.5 * (a + b), (0.5 * (b - a)).max(1e-6))
        });
        let (mut centre, mut reach): (Joints<f64>, Joints<f64>) = Default::default();
        for (c, r) in parts {
            centre.push(c);
            reach.push(r);
        }
        Self::new(&centre, &reach)
    }

    /// Number of joints n.
    pub fn dimension(&self) -> usize {
        self.centre.len()
    }

    /// The end point for k = 0.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// eta, the change of the end point with k.
    pub fn reach(&self) -> &[f64] {
        &self.reach
    }

    /// The end point for `k` (length n).
    pub fn at(&self, k: &[f64]) -> Joints<f64> {
        k.iter().zip(self.centre.iter().zip(&self.reach)).map(|(k, (c, r))| c + r * k).collect()
    }

    /// What `cost` says of the end point for `k` (length n), with the gradient by k.
    pub(super) fn cost_at(&self, cost: &dyn EndCost, k: &[f64]) -> Cost {
        let mut gradient: Joints<f64> = k.iter().map(|_| 0.0).collect();
        let value = cost.evaluate(&self.at(k), &mut gradient);
        gradient.iter_mut().zip(&self.reach).for_each(|(slope, reach)| *slope *= reach);
        Cost { value, gradient }
    }

    /// The k whose end point is nearest to `q` (length n).
    pub fn nearest(&self, q: &[f64]) -> Joints<f64> {
        q.iter()
            .zip(self.centre.iter().zip(&self.reach))
            .map(|(q, (c, r))| ((q - c) / r).clamp(-1.0, 1.0))
            .collect()
    }
}

/// A cost of one's own: what it costs to come to rest at an end point ([`super::propose::Purpose::Least`]). Like all of this folder
/// it is not trusted: whatever it says, what is proposed can be proven.
pub trait EndCost: std::fmt::Debug + Sync {
    /// The cost of ending at `end` (rad or m, one a joint); its slopes, per rad or m, go into `gradient`, one a joint. Costs of order one
    /// suit the solver. Where a number is not finite it looks no further.
    fn evaluate(&self, end: &[f64], gradient: &mut [f64]) -> f64;
}

/// A cost at one k.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// Its value.
    pub value: f64,
    /// Its gradient with respect to k, length n.
    pub gradient: Joints<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::fixture::small_robot;

    #[test]
    fn end_points_stay_within_limits() {
        let robot = small_robot();
        let start = JointState::at_rest(&[2.9, 8.0, 0.5]);
        let ends = EndPoints::within_limits(&robot, &start, &[0.5, 0.5, 0.25]).unwrap();
        for (k, expected) in [(-1.0, [2.4, 7.5, 0.25]), (1.0, [3.0, 8.5, 0.5])] {
            let found = ends.at(&[k; 3]);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        }
        assert_eq!(ends.nearest(&[9.0, 8.0, 0.0])[..], [1.0, 0.0, -1.0]);
        assert!(EndPoints::within_limits(&robot, &JointState::at_rest(&[9.0, 0.0, 0.0]), &[0.1; 3]).is_ok());
    }

    #[test]
    fn bad_end_points_are_refused() {
        assert!(matches!(EndPoints::new(&[0.0], &[0.1, 0.2]), Err(CostError::Size { .. })));
        assert!(matches!(EndPoints::new(&[f64::NAN], &[0.1]), Err(CostError::Value { .. })));
        assert!(matches!(EndPoints::new(&[0.0], &[0.0]), Err(CostError::Value { .. })));
    }
}
