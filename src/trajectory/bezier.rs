//! Quintic Bézier trajectories in joint space.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Number of control points of a quintic.
pub const POINTS: usize = 6;

/// A trajectory that cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TrajectoryError {
    /// A length differs from the number of joints.
    #[error("trajectory {field}: expected {expected} values, one a joint, found {found}")]
    Size {
        /// Which argument.
        field: &'static str,
        /// Number of joints.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// A number is NaN or infinite, or the duration is not positive.
    #[error("trajectory {field}: expected a finite {what}, found {found}")]
    Value {
        /// Which argument.
        field: &'static str,
        /// What it should be.
        what: &'static str,
        /// What it is.
        found: f64,
    },
    /// More pieces than a motion may have.
    #[error("trajectory: {found} pieces, expected at most {}", super::pieces::MAX_PIECES)]
    Pieces {
        /// How many there are.
        found: usize,
    },
    /// A piece that does not start where the one before it ends.
    #[error(
        "trajectory: the {what} of joint {} does not go on from piece {} to piece {piece}: position, velocity and acceleration jump by \
         {:e} rad, {:e} rad/s and {:e} rad/s^2, expected no more than rounding",
        joint + 1, piece - 1, jump[0], jump[1], jump[2]
    )]
    Junction {
        /// Index of the joint, from 0.
        joint: usize,
        /// Number of the later piece, from 1.
        piece: usize,
        /// Position, velocity or acceleration.
        what: &'static str,
        /// Upper bounds of the jumps of all three, rad, rad/s, rad/s^2.
        jump: [f64; 3],
    },
}

/// Desired position, velocity and acceleration of all joints at one time (rad, rad/s, rad/s^2; m for prismatic).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct JointState {
    /// Positions.
    pub q: Vec<f64>,
    /// Velocities.
    pub dq: Vec<f64>,
    /// Accelerations.
    pub ddq: Vec<f64>,
}

impl JointState {
    /// At rest at `q`.
    pub fn at_rest(q: &[f64]) -> Self {
        Self { q: q.to_vec(), dq: vec![0.0; q.len()], ddq: vec![0.0; q.len()] }
    }
}

/// A quintic Bézier curve a joint on [0, duration_s]; past its end it rests at its last point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bezier {
    /// Duration T, s.
    pub duration_s: f64,
    /// Control points b_0..b_5 of each joint, rad.
    pub points: Vec<[f64; POINTS]>,
}

impl Bezier {
    /// The curve that leaves `start` with its velocity and acceleration and comes to rest at `end`:
    /// b1 = q0 + T dq0/5, b2 = q0 + 2 T dq0/5 + T^2 ddq0/20, b3 = b4 = b5 = end ([1, eq. 28]).
    ///
    /// # Errors
    /// [`TrajectoryError::Size`] unless `start` and `end` have n entries each; [`TrajectoryError::Value`] for numbers that are not
    /// finite, or a duration that is not above 0.
    pub fn to_rest(start: &JointState, end: &[f64], duration_s: f64) -> Result<Self, TrajectoryError> {
        let mut curve = Self { duration_s, points: Vec::new() };
        curve.set_to_rest(start, end, duration_s)?;
        Ok(curve)
    }

    /// Makes this curve that of [`Bezier::to_rest`], in the memory that it has. After an error it is not to be used.
    ///
    /// # Errors
    /// As [`Bezier::to_rest`].
    pub fn set_to_rest(
        &mut self,
        start: &JointState,
        end: &[f64],
        duration_s: f64,
    ) -> Result<(), TrajectoryError> {
        let n = start.q.len();
        for (field, values) in [("velocity", &start.dq[..]), ("acceleration", &start.ddq[..]), ("end", end)] {
            if values.len() != n {
                return Err(TrajectoryError::Size { field, expected: n, found: values.len() });
            }
        }
        let t = duration_s;
        self.duration_s = duration_s;
        self.points.clear();
        self.points.extend((0..n).map(|j| {
            let (q, dq, ddq) = (start.q[j], start.dq[j], start.ddq[j]);
            [q, q + t * dq / 5.0, q + 2.0 * t * dq / 5.0 + t * t * ddq / 20.0, end[j], end[j], end[j]]
        }));
        self.check()
    }

    /// Refuses non-finite control points and a duration that is not positive (for curves read from a file).
    ///
    /// # Errors
    /// [`TrajectoryError::Value`] names which.
    pub fn check(&self) -> Result<(), TrajectoryError> {
        if !(self.duration_s.is_finite() && self.duration_s > 0.0) {
            let (field, what) = ("duration_s", "number above 0");
            return Err(TrajectoryError::Value { field, what, found: self.duration_s });
        }
        match self.points.iter().flatten().find(|x| !x.is_finite()) {
            Some(&found) => Err(TrajectoryError::Value { field: "points", what: "number", found }),
            None => Ok(()),
        }
    }

    /// Whether the last three control points of a joint are equal: position, velocity and acceleration come to rest.
    pub fn rests(&self, joint: usize) -> bool {
        let [.., a, b, c] = self.points[joint];
        a == b && b == c
    }

    /// Number of joints.
    pub fn dof(&self) -> usize {
        self.points.len()
    }

    /// Where the curve ends, rad.
    pub fn end(&self) -> Vec<f64> {
        self.points.iter().map(|p| p[POINTS - 1]).collect()
    }

    /// Desired state at time `t` (s) into `out`; before 0 and after the end it is clamped to the curve's ends, at
    /// rest after the end.
    pub fn evaluate(&self, t: f64, out: &mut JointState) {
        self.evaluate_until(t, self.duration_s, t >= self.duration_s, out);
    }

    /// As [`Bezier::evaluate`] on a curve of `duration_s` that goes on at its end.
    pub(super) fn evaluate_on(&self, t: f64, duration_s: f64, out: &mut JointState) {
        self.evaluate_until(t, duration_s, false, out);
    }

    fn evaluate_until(&self, t: f64, duration_s: f64, rest: bool, out: &mut JointState) {
        let s = (t / duration_s).clamp(0.0, 1.0);
        let (a, b) = (5.0 / duration_s, 20.0 / (duration_s * duration_s));
        for (j, p) in self.points.iter().enumerate() {
            out.q[j] = casteljau(*p, s);
            let first: [f64; 5] = std::array::from_fn(|i| p[i + 1] - p[i]);
            let second: [f64; 4] = std::array::from_fn(|i| first[i + 1] - first[i]);
            out.dq[j] = if rest { 0.0 } else { a * casteljau(first, s) };
            out.ddq[j] = if rest { 0.0 } else { b * casteljau(second, s) };
        }
    }

    /// Desired state at time `t` (s), allocated.
    pub fn state(&self, t: f64) -> JointState {
        let mut out = JointState::at_rest(&vec![0.0; self.dof()]);
        self.evaluate(t, &mut out);
        out
    }
}

/// Value at s in [0, 1] of the Bernstein polynomial with coefficients `c`.
#[inline]
fn casteljau<const C: usize>(mut c: [f64; C], s: f64) -> f64 {
    for last in (1..C).rev() {
        for i in 0..last {
            c[i] += s * (c[i + 1] - c[i]);
        }
    }
    c[0]
}

/// Derivatives of q, dq, ddq at time `t` with respect to the end point b3 = b4 = b5 of a curve of duration `t_f`.
pub fn end_point_basis(t: f64, t_f: f64) -> [f64; 3] {
    let s = (t / t_f).clamp(0.0, 1.0);
    let q = s * s * s * (10.0 + s * (-15.0 + 6.0 * s));
    let dq = 30.0 * s * s * (1.0 - s) * (1.0 - s) / t_f;
    let ddq = 60.0 * s * (1.0 + s * (-3.0 + 2.0 * s)) / (t_f * t_f);
    [q, dq, ddq]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn start() -> JointState {
        JointState { q: vec![0.3, -1.0], dq: vec![0.2, -0.4], ddq: vec![-0.5, 0.7] }
    }

    #[test]
    fn leaves_the_start_and_comes_to_rest_at_the_end() {
        let curve = Bezier::to_rest(&start(), &[1.0, -0.2], 3.0).unwrap();
        let s0 = curve.state(0.0);
        for j in 0..2 {
            assert!((s0.q[j] - start().q[j]).abs() < 1e-14);
            assert!((s0.dq[j] - start().dq[j]).abs() < 1e-14);
            assert!((s0.ddq[j] - start().ddq[j]).abs() < 1e-13);
        }
        assert_eq!(curve.state(3.0), JointState::at_rest(&[1.0, -0.2]));
        assert_eq!(curve.state(9.0), JointState::at_rest(&[1.0, -0.2]));
    }

    #[test]
    fn refuses_what_is_not_a_trajectory() {
        let wrong = |end: &[f64], t: f64| Bezier::to_rest(&start(), end, t).unwrap_err();
        assert!(matches!(wrong(&[1.0], 3.0), TrajectoryError::Size { field: "end", expected: 2, found: 1 }));
        assert!(matches!(wrong(&[1.0, f64::NAN], 3.0), TrajectoryError::Value { field: "points", .. }));
        assert!(matches!(wrong(&[1.0, 0.0], 0.0), TrajectoryError::Value { field: "duration_s", .. }));
        assert!(matches!(wrong(&[1.0, 0.0], f64::INFINITY), TrajectoryError::Value { .. }));
    }

    proptest! {
        #[test]
        fn derivatives_and_basis_agree_with_differences(t in 0.1..2.9f64, end in -1.0..1.0f64) {
            let curve = |end: f64| Bezier::to_rest(&start(), &[end, 0.0], 3.0).unwrap();
            let (c, h) = (curve(end), 1e-5);
            let (a, b, m) = (c.state(t - h), c.state(t + h), c.state(t));
            prop_assert!(((b.q[0] - a.q[0]) / (2.0 * h) - m.dq[0]).abs() < 1e-8);
            prop_assert!(((b.dq[0] - a.dq[0]) / (2.0 * h) - m.ddq[0]).abs() < 1e-8);
            // The curve is linear in its end point.
            let moved = curve(end + 1.0).state(t);
            let basis = end_point_basis(t, 3.0);
            prop_assert!((moved.q[0] - m.q[0] - basis[0]).abs() < 1e-12);
            prop_assert!((moved.dq[0] - m.dq[0] - basis[1]).abs() < 1e-12);
            prop_assert!((moved.ddq[0] - m.ddq[0] - basis[2]).abs() < 1e-12);
        }
    }
}
