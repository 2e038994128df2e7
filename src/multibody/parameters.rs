//! Which physical parameters are estimated, and in which coordinates.
//!
//! theta holds, body after body, ten coordinates in which every point is a body that can exist, then friction and drive
//! parameters, as they are or (those of smooth friction that must stay positive) as logarithms. The dynamics need the physical
//! parameters p (the extended layout of [`crate::dynamics::actuation`]) and dp/dtheta, which is block-diagonal.

use nalgebra::{DMatrix, SMatrix, Vector3};

use crate::dynamics::actuation::{actuation_index, extended_parameters};
use crate::estimate::error::EstimateError;
use crate::inertia::{ARMATURE, COULOMB, Coordinates, INERTIAL, OFFSET, VISCOUS, exponential_eigenvalue};
use crate::linear::dense::Mat;
use crate::robot::Model;

/// Names of the coordinates, in their order.
const LOG_CHOLESKY: [&str; INERTIAL] = ["alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3"];
const EXPONENTIAL: [&str; INERTIAL] =
    ["sigma_m", "h_x", "h_y", "h_z", "omega_x", "omega_y", "omega_z", "sigma_x", "sigma_y", "sigma_z"];
/// Names of the physical parameters of a body, in their order.
pub const PHYSICAL: [&str; INERTIAL] =
    ["m", "h_x", "h_y", "h_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];
/// Their units.
pub const UNITS: [&str; INERTIAL] =
    ["kg", "kg m", "kg m", "kg m", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2", "kg m^2"];

impl Coordinates {
    /// Other coordinates of the same body where these are near a place that has more than one name: rotations are kept
    /// below half a turn, since at a whole one the exponential map is singular. Of all the body has, those with axes
    /// nearest to the axes of `near` are taken.
    fn renamed(self, c: &[f64; INERTIAL], near: &[f64; INERTIAL]) -> Option<[f64; INERTIAL]> {
        let turned = c[4..7].iter().map(|w| w * w).sum::<f64>().sqrt();
        if self == Coordinates::LogCholesky || turned <= std::f64::consts::PI {
            return None;
        }
        exponential_eigenvalue::coordinates_near(&self.physical(c), &Vector3::new(near[4], near[5], near[6]))
            .ok()
    }
}

/// A friction or drive parameter of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JointParameter {
    /// Coulomb friction, N m.
    Coulomb,
    /// Viscous friction, N m s/rad.
    Viscous,
    /// Transmission inertia, kg m^2.
    Armature,
    /// Constant offset, N m.
    Offset,
    /// Gain of the drive: torque on the links over measured torque.
    Gain,
    /// What the drive does beyond that, as a share of the measured torque's size: the same sign for both directions.
    Skew,
    /// Height g0 of the hump of stiction and Stribeck friction, N m.
    StribeckHeight,
    /// Rate g1 at which the hump rises, s/rad.
    StictionRate,
    /// Rate g2 at which it dies, s/rad.
    StribeckRate,
    /// Smooth Coulomb friction g3, N m.
    SmoothCoulomb,
    /// Its rate g4, s/rad.
    SmoothRate,
    /// Viscous friction g5 of the drive, N m s/rad.
    SmoothViscous,
}

impl JointParameter {
    /// Its index in the extended parameter vector of `robot`, for joint `i`.
    pub fn index(self, robot: &Model, i: usize) -> usize {
        use JointParameter as P;
        let (friction, drive) = (robot.friction_index(i), actuation_index(robot, i));
        match self {
            P::Coulomb => friction + COULOMB,
            P::Viscous => friction + VISCOUS,
            P::Armature => friction + ARMATURE,
            P::Offset => friction + OFFSET,
            P::Gain => drive,
            P::Skew => drive + 7,
            P::StribeckHeight => drive + 1,
            P::StictionRate => drive + 2,
            P::StribeckRate => drive + 3,
            P::SmoothCoulomb => drive + 4,
            P::SmoothRate => drive + 5,
            P::SmoothViscous => drive + 6,
        }
    }

    /// Whether theta holds its logarithm ([3, eq. 58]).
    pub fn is_logarithm(self) -> bool {
        use JointParameter as P;
        matches!(
            self,
            P::StribeckHeight | P::StictionRate | P::SmoothCoulomb | P::SmoothRate | P::SmoothViscous
        )
    }

    /// Whether it says how the measured torque and that on the links belong together.
    pub fn is_of_the_sensor(self) -> bool {
        matches!(self, JointParameter::Gain | JointParameter::Skew)
    }

    /// Whether theta itself must not become negative.
    pub fn is_bounded(self) -> bool {
        use JointParameter as P;
        matches!(self, P::Coulomb | P::Viscous | P::Armature | P::Gain | P::StribeckRate)
    }

    /// Its name and unit.
    pub fn name(self) -> (&'static str, &'static str) {
        match self {
            JointParameter::Coulomb => ("F_c", "N m"),
            JointParameter::Viscous => ("F_v", "N m s/rad"),
            JointParameter::Armature => ("I_a", "kg m^2"),
            JointParameter::Offset => ("beta", "N m"),
            JointParameter::Gain => ("gain", "1"),
            JointParameter::Skew => ("skew", "1"),
            JointParameter::StribeckHeight => ("g_0", "N m"),
            JointParameter::StictionRate => ("g_1", "s/rad"),
            JointParameter::StribeckRate => ("g_2", "s/rad"),
            JointParameter::SmoothCoulomb => ("g_3", "N m"),
            JointParameter::SmoothRate => ("g_4", "s/rad"),
            JointParameter::SmoothViscous => ("g_5", "N m s/rad"),
        }
    }
}

/// What theta means.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterMap {
    /// Bodies (joint indices) with their coordinates.
    pub bodies: Vec<(usize, Coordinates)>,
    /// Friction and drive parameters (joint index and which).
    pub joints: Vec<(usize, JointParameter)>,
    /// Physical parameters of everything that is not estimated, and where the estimate starts.
    pub nominal: Vec<f64>,
}

impl ParameterMap {
    /// Nothing is estimated.
    pub fn none(robot: &Model) -> Self {
        Self { bodies: Vec::new(), joints: Vec::new(), nominal: extended_parameters(robot) }
    }

    /// Number of coordinates.
    pub fn len(&self) -> usize {
        INERTIAL * self.bodies.len() + self.joints.len()
    }

    /// Whether nothing is estimated.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Coordinates of the nominal parameters.
    ///
    /// # Errors
    /// When a nominal body or drive has no coordinates.
    pub fn start(&self, robot: &Model) -> Result<Vec<f64>, EstimateError> {
        let mut theta = Vec::with_capacity(self.len());
        for &(body, coordinates) in &self.bodies {
            let at = robot.body_range(body);
            let mut physical = [0.0; INERTIAL];
            physical.copy_from_slice(&self.nominal[at]);
            let c = coordinates.of(&physical).map_err(|e| EstimateError::Body {
                body: robot.joints[body].link.clone(),
                reason: e.to_string(),
            })?;
            theta.extend_from_slice(&c);
        }
        for &(j, which) in &self.joints {
            let value = self.nominal[which.index(robot, j)];
            if which.is_logarithm() && !(value > 0.0) {
                let reason =
                    format!("{} is {value}, expected a positive number to start from", which.name().0);
                return Err(EstimateError::Body { body: robot.joints[j].name.clone(), reason });
            }
            theta.push(if which.is_logarithm() { value.ln() } else { value });
        }
        Ok(theta)
    }

    /// Physical parameters p at `theta`; `p` starts as a copy of the nominal ones.
    pub fn fill(&self, robot: &Model, theta: &[f64], p: &mut [f64]) {
        for (b, &(body, coordinates)) in self.bodies.iter().enumerate() {
            let at = robot.body_range(body);
            p[at].copy_from_slice(&coordinates.physical(&ten(theta, b)));
        }
        for (i, &(j, which)) in self.joints.iter().enumerate() {
            let x = theta[INERTIAL * self.bodies.len() + i];
            p[which.index(robot, j)] = if which.is_logarithm() { x.exp() } else { x };
        }
    }

    /// The estimated physical parameters in the order of their coordinates, and their gradients by theta, the columns of
    /// `slopes`.
    pub fn physical(&self, theta: &[f64], physical: &mut [f64], slopes: &mut Mat) {
        slopes.reset(self.len(), self.len());
        for (b, &(_, coordinates)) in self.bodies.iter().enumerate() {
            let (first, block) = (INERTIAL * b, self.block(theta, b));
            physical[first..first + INERTIAL].copy_from_slice(&coordinates.physical(&ten(theta, b)));
            for (i, c) in (0..INERTIAL).flat_map(|i| (0..INERTIAL).map(move |c| (i, c))) {
                slopes[(first + c, first + i)] = block[(i, c)];
            }
        }
        for (i, &(_, which)) in self.joints.iter().enumerate() {
            let at = INERTIAL * self.bodies.len() + i;
            physical[at] = if which.is_logarithm() { theta[at].exp() } else { theta[at] };
            slopes[(at, at)] = self.joint_slope(theta, i);
        }
    }

    /// d physical / d theta: the estimated physical parameters, bodies first, by the coordinates.
    pub fn slope(&self, theta: &[f64]) -> DMatrix<f64> {
        let mut slope = DMatrix::identity(self.len(), self.len());
        for b in 0..self.bodies.len() {
            let at = INERTIAL * b;
            slope.view_mut((at, at), (INERTIAL, INERTIAL)).copy_from(&self.block(theta, b));
        }
        for i in 0..self.joints.len() {
            let at = INERTIAL * self.bodies.len() + i;
            slope[(at, at)] = self.joint_slope(theta, i);
        }
        slope
    }

    /// d physical / d theta of the `i`-th joint parameter.
    pub fn joint_slope(&self, theta: &[f64], i: usize) -> f64 {
        if self.joints[i].1.is_logarithm() { theta[INERTIAL * self.bodies.len() + i].exp() } else { 1.0 }
    }

    /// d physical / d coordinates of the `b`-th estimated body.
    pub fn block(&self, theta: &[f64], b: usize) -> SMatrix<f64, INERTIAL, INERTIAL> {
        self.bodies[b].1.jacobian(&ten(theta, b))
    }

    /// Gives bodies at `theta` other coordinates where theirs come near a singularity, `start` being where the estimate
    /// starts; whether any had to. The physical parameters stay what they are.
    pub fn rename(&self, theta: &mut [f64], start: &[f64]) -> bool {
        let mut renamed = false;
        for (b, &(_, coordinates)) in self.bodies.iter().enumerate() {
            if let Some(c) = coordinates.renamed(&ten(theta, b), &ten(start, b)) {
                theta[INERTIAL * b..INERTIAL * (b + 1)].copy_from_slice(&c);
                renamed = true;
            }
        }
        renamed
    }

    /// The largest change of a logarithm, or angle of a rotation, in the step `dtheta`: beyond 1 (a factor e, a radian) the
    /// tangent says nothing of the physical parameters.
    pub fn strain(&self, dtheta: &[f64]) -> f64 {
        let (bodies, joints) = dtheta.split_at(INERTIAL * self.bodies.len());
        let of_bodies = bodies.chunks_exact(INERTIAL).zip(&self.bodies).map(|(c, (_, kind))| match kind {
            Coordinates::LogCholesky => largest(&c[..4]),
            Coordinates::ExponentialEigenvalue => {
                let turn = c[4..7].iter().map(|w| w * w).sum::<f64>().sqrt();
                turn.max(c[0].abs()).max(largest(&c[7..]))
            }
        });
        let logarithm = |(x, (_, which)): (&f64, &(usize, JointParameter))| {
            if which.is_logarithm() { x.abs() } else { 0.0 }
        };
        of_bodies.chain(joints.iter().zip(&self.joints).map(logarithm)).fold(0.0, f64::max)
    }

    /// Names of the coordinates, with the link or joint.
    pub fn names(&self, robot: &Model) -> Vec<String> {
        let mut names = Vec::with_capacity(self.len());
        for &(body, coordinates) in &self.bodies {
            let labels = match coordinates {
                Coordinates::LogCholesky => LOG_CHOLESKY,
                Coordinates::ExponentialEigenvalue => EXPONENTIAL,
            };
            names.extend(labels.iter().map(|l| format!("{l} of {}", robot.joints[body].link)));
        }
        names.extend(self.joints.iter().map(|&(j, w)| format!("{} of {}", w.name().0, robot.joints[j].name)));
        names
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// The ten coordinates of the `b`-th estimated body.
fn ten(theta: &[f64], b: usize) -> [f64; INERTIAL] {
    let mut c = [0.0; INERTIAL];
    c.copy_from_slice(&theta[INERTIAL * b..INERTIAL * (b + 1)]);
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::load_model;

    #[test]
    fn logarithms_and_angles_strain_the_tangent_and_nothing_else_does() {
        let robot = load_model("robots/double_pendulum.toml").unwrap();
        let mut map = ParameterMap::none(&robot);
        map.bodies = vec![(0, Coordinates::LogCholesky), (1, Coordinates::ExponentialEigenvalue)];
        map.joints = vec![(0, JointParameter::Viscous), (1, JointParameter::SmoothViscous)];
        let counts = |i: usize| matches!(i, 0..=3 | 10 | 14..=19 | 21);
        for i in 0..map.len() {
            let mut step = vec![0.0; map.len()];
            step[i] = -2.5;
            assert_eq!(map.strain(&step), if counts(i) { 2.5 } else { 0.0 }, "{i}");
        }
        let mut turn = vec![0.0; map.len()];
        (turn[14], turn[16]) = (3.0, 4.0);
        assert!((map.strain(&turn) - 5.0).abs() < 1e-15);
    }

    /// A body keeps its parameters when its coordinates come near a whole turn and are given up for others.
    #[test]
    fn beyond_half_a_turn_a_body_gets_other_coordinates() {
        let robot = load_model("robots/double_pendulum.toml").unwrap();
        let mut map = ParameterMap::none(&robot);
        map.bodies = vec![(0, Coordinates::LogCholesky), (1, Coordinates::ExponentialEigenvalue)];
        let start = map.start(&robot).unwrap();
        for turn in [[1.3, -6.1, 0.1], [0.2, 0.3, 9.0], [-2.0, 2.5, 0.4]] {
            let mut theta = start.clone();
            // As large in the other body, whose coordinates are not a turn.
            theta[4..7].copy_from_slice(&turn);
            theta[14..17].copy_from_slice(&turn);
            theta[17..20].copy_from_slice(&[-3.0, -4.0, -3.3]);
            let given = theta.clone();
            assert!(map.rename(&mut theta, &start));
            assert_eq!(theta[..10], given[..10]);
            let length = theta[14..17].iter().map(|w| w * w).sum::<f64>().sqrt();
            assert!(length <= std::f64::consts::PI, "{length}");
            let of = |theta: &[f64]| map.bodies[1].1.physical(&ten(theta, 1));
            for (before, after) in of(&given).iter().zip(of(&theta)) {
                assert!((before - after).abs() < 1e-9 * (1.0 + before.abs()), "{before} {after}");
            }
            assert!(!map.rename(&mut theta, &start));
        }
    }
}
