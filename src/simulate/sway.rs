//! The motion of a base that sways over feet that stand, and of joints that carry none of them.

use nalgebra::{Matrix3, UnitQuaternion, Vector3};

use crate::linear::rigid_motion::left_jacobian3;
use crate::robot::Model;
use crate::trajectory::{Curve, Fourier, JointState, TrajectoryError};

/// Coordinates of the base: shift along the axes of the world, m, then a rotation vector in the base's first axes, rad.
pub const BASE: usize = 6;
/// Half of the interval of the difference that gives the rate of the rotation vector's Jacobian, s. It is linear in the rate, and bends little.
const HALF_S: f64 = 1e-5;

/// A series of the base and of joints around a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Sway {
    start: Vec<f64>,
    /// Degrees of freedom that follow coordinates 6.., by index among all velocities.
    swinging: Vec<usize>,
    curve: Fourier,
}

/// Configuration without legs, and independent velocities and accelerations, in the order base, swinging joints.
#[derive(Debug, Clone)]
pub struct SwayState {
    /// Length nq; joints of legs are as at the start.
    pub q: Vec<f64>,
    /// Twist of the base in its own axes, linear before angular, m/s and rad/s; then rates of the swinging joints.
    pub v: Vec<f64>,
    /// Time derivative of `v`.
    pub a: Vec<f64>,
}

/// J(-phi), which takes the rate of a rotation vector to the angular velocity in the turned axes.
fn right_jacobian(phi: &Vector3<f64>) -> Matrix3<f64> {
    left_jacobian3(&-phi)
}

impl Sway {
    /// `curve` has the six coordinates of the base, then one of each swinging degree of freedom; all are offsets from `start` (length nq).
    pub fn new(start: &[f64], swinging: &[usize], curve: Fourier) -> Self {
        Self { start: start.to_vec(), swinging: swinging.to_vec(), curve }
    }

    /// A Fourier series of that many coefficients of each coordinate ([`Fourier::at_rest`]) around `start`, gone through `repeats` times in `duration_s`.
    ///
    /// # Errors
    /// As [`Fourier::at_rest`].
    pub fn series(
        (start, swinging): (&[f64], &[usize]),
        coefficients: &[Vec<[f64; 2]>],
        (duration_s, repeats): (f64, u32),
    ) -> Result<Self, TrajectoryError> {
        let period_s = duration_s / f64::from(repeats);
        let curve = Fourier::at_rest(&vec![0.0; coefficients.len()], coefficients, period_s)?;
        Ok(Self::new(start, swinging, curve.repeated(repeats)))
    }

    /// The state at `t`, s.
    pub fn at(&self, robot: &Model, t: f64) -> SwayState {
        self.state(robot, &self.coordinates(t))
    }

    /// Coordinates of the base and of the joints that swing at `t`, s, with their rates.
    pub fn coordinates(&self, t: f64) -> JointState {
        let mut x = JointState::at_rest(&vec![0.0; BASE + self.swinging.len()]);
        self.curve.evaluate(t, &mut x);
        x
    }

    /// The state where coordinates are `x`.
    pub fn state(&self, robot: &Model, x: &JointState) -> SwayState {
        let of = |from: &[f64], at: usize| Vector3::new(from[at], from[at + 1], from[at + 2]);
        let (phi, rate, bend) = (of(&x.q, 3), of(&x.dq, 3), of(&x.ddq, 3));
        let s = &self.start;
        let first = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(s[6], s[3], s[4], s[5]));
        let turn = first * UnitQuaternion::from_scaled_axis(phi);
        let mut q = s.clone();
        (0..3).for_each(|k| q[k] += x.q[k]);
        q[3..7].copy_from_slice(turn.coords.as_slice());
        for (k, &dof) in self.swinging.iter().enumerate() {
            q[dof + robot.nq() - robot.nv()] += x.q[BASE + k];
        }
        let back = turn.inverse();
        let linear = back * of(&x.dq, 0);
        let jacobian = right_jacobian(&phi);
        let jacobian_rate = (right_jacobian(&(phi + rate * HALF_S)) - right_jacobian(&(phi - rate * HALF_S)))
            / (2.0 * HALF_S);
        let angular = jacobian * rate;
        let linear_rate = back * of(&x.ddq, 0) - angular.cross(&linear);
        let angular_rate = jacobian * bend + jacobian_rate * rate;
        let joined =
            |a: Vector3<f64>, b: Vector3<f64>, rest: &[f64]| [a.as_slice(), b.as_slice(), rest].concat();
        SwayState {
            q,
            v: joined(linear, angular, &x.dq[BASE..]),
            a: joined(linear_rate, angular_rate, &x.ddq[BASE..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::configuration::{difference, neutral};
    use crate::robot::load_model;

    /// Velocities and accelerations against differences of configurations, and of velocities.
    #[test]
    fn rates_are_those_of_the_configurations() {
        let robot = load_model("talos_reduced").unwrap();
        let swinging = [6, 9];
        let free: Vec<Vec<[f64; 2]>> = (0..8)
            .map(|j| (0..3).map(|k| [0.1 * f64::from(j + 1), 0.3 - 0.05 * f64::from(k)]).collect())
            .collect();
        let sway = Sway::new(&neutral(&robot), &swinging, Fourier::at_rest(&[0.0; 8], &free, 3.0).unwrap());
        let (h, n) = (1e-5, robot.nv());
        for t in [0.3, 1.1, 2.2] {
            let [before, now, after] = [t - h, t, t + h].map(|t| sway.at(&robot, t));
            let mut moved = vec![0.0; n];
            difference(&robot, &before.q, &after.q, &mut moved);
            let found: Vec<f64> = (0..6).chain(swinging).map(|k| moved[k] / (2.0 * h)).collect();
            for (k, (found, told)) in found.iter().zip(&now.v).enumerate() {
                assert!((found - told).abs() < 1e-7, "{t} {k}: {found} {told}");
                let rate = (after.v[k] - before.v[k]) / (2.0 * h);
                assert!((rate - now.a[k]).abs() < 1e-6, "{t} {k}: {rate} {}", now.a[k]);
            }
        }
    }
}
