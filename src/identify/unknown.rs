//! Which parameters recordings are to tell of, what they are called, and what is believed of them where nobody says more.

use serde::{Deserialize, Serialize};

use crate::inertia::{ARMATURE, COULOMB, FRICTION, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use crate::robot::{Arm, Model};

/// Coulomb friction and offset of an unknown joint are taken to stay below this share of its torque limit.
const FRICTION_SHARE: f64 = 0.2;
/// The transmission inertia of an unknown joint is taken to be so small that its torque limit yields this, rad/s^2.
const LEAST_ACCELERATION: f64 = 1.0;

/// What is to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// The inertial parameters of the last body.
    Payload,
    /// Coulomb, viscous friction, transmission inertia and offset of every joint.
    Friction,
    /// Both, and the links within the robot's uncertainty.
    All,
}

impl Unknown {
    /// Indices of the unknown parameters.
    pub fn indices(self, robot: &Arm) -> Vec<usize> {
        let links = INERTIAL * robot.dof();
        let hand = robot.body_range(robot.end_effector());
        match self {
            Self::Payload => hand.collect(),
            Self::Friction => (links..robot.parameter_count()).collect(),
            Self::All => (0..robot.parameter_count()).collect(),
        }
    }

    /// What is believed before the first measurement where the user says nothing: the robot's own box, with friction
    /// anywhere between zero and what the joint's limits make plausible where it is unknown.
    pub fn default_prior(self, robot: &Arm) -> ParameterSet {
        let mut set = ParameterSet::around_nominal(robot);
        if self == Self::Payload {
            return set;
        }
        for (i, joint) in robot.joints.iter().enumerate() {
            let (at, limits) = (robot.friction_index(i), joint.limits);
            let share = FRICTION_SHARE * limits.torque;
            let ranges = [
                (COULOMB, 0.0, share),
                (VISCOUS, 0.0, limits.torque / limits.velocity),
                (ARMATURE, 0.0, limits.torque / LEAST_ACCELERATION),
                (OFFSET, -share, share),
            ];
            for (k, lower, upper) in ranges {
                set.replace(at + k, [lower, upper]);
            }
        }
        set
    }
}

/// Name and unit of a parameter of the full vector.
pub fn parameter_name(robot: &Model, j: usize) -> (String, &'static str) {
    let links = INERTIAL * robot.bodies();
    if j < links {
        let names = ["m", "m c_x", "m c_y", "m c_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz"];
        let k = j % INERTIAL;
        let unit = if k == 0 {
            "kg"
        } else if k < 4 {
            "kg m"
        } else {
            "kg m^2"
        };
        return (format!("{} {}", robot.joints[j / INERTIAL].link, names[k]), unit);
    }
    let (joint, k) = ((j - links) / FRICTION, (j - links) % FRICTION);
    let (name, unit) = [
        (COULOMB, ("Coulomb", "N m")),
        (VISCOUS, ("viscous", "N m s/rad")),
        (ARMATURE, ("transmission inertia", "kg m^2")),
        (OFFSET, ("offset", "N m")),
    ]
    .into_iter()
    .find(|(index, _)| *index == k)
    .map_or(("parameter", ""), |(_, found)| found);
    (format!("{} {name}", robot.joints[robot.first_actuated() + joint].name), unit)
}
