//! What a robot's own uncertainty leaves possible.

use super::arm::Arm;
use crate::inertia::{FRICTION, INERTIAL, ParameterSet};

impl ParameterSet {
    /// The box that the robot's own uncertainty allows around its nominal parameters, outward-rounded.
    pub fn around_nominal(robot: &Arm) -> Self {
        let (uncertainty, inertial) = (robot.uncertainty(), robot.dof() * INERTIAL);
        Self::around(robot.nominal_parameters().into_iter().enumerate().map(|(j, x)| {
            let half = if j < inertial {
                uncertainty.of_link(j % INERTIAL, x)
            } else {
                uncertainty.of_joint((j - inertial) % FRICTION, x)
            };
            (x, half)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::load;

    #[test]
    fn a_figure_of_zero_is_exact_with_a_ratio_and_not_with_an_absolute_uncertainty() {
        let mut robot = load("kinova_gen3_2f85").unwrap();
        let joint = robot.joint_index(2);
        // Parameters of the third link, and of its joint.
        let half = |robot: &Arm, p: usize| {
            let set = ParameterSet::around_nominal(robot);
            set.radius()[p]
        };
        robot.joints[2].inertia[1] = 0.0;
        let link = robot.body_range(2).start;
        let (mass, moment, product) = (link, link + 1, link + 5);
        let before = [mass, moment, product, joint.offset, joint.coulomb].map(|p| half(&robot, p));
        assert!(before[1] < 1e-300 && before[3] < 1e-300, "{before:?}");
        (robot.stated().uncertainty.first_moment_kg_m, robot.stated().uncertainty.inertia_kg_m2) =
            (0.004, 0.0003);
        robot.stated().uncertainty.offset_nm = 0.2;
        let after = [mass, moment, product, joint.offset, joint.coulomb].map(|p| half(&robot, p));
        for (k, more) in [0.0, 0.004, 0.0003, 0.2, 0.0].into_iter().enumerate() {
            let grown = after[k] - before[k];
            assert!(grown >= more - 1e-15 && grown <= more + 1e-12, "{k}: {grown} of {more}");
        }
        robot.stated().uncertainty.offset_nm = f64::NAN;
        assert_eq!(robot.uncertainty().fault().map(|(what, _)| what), Some("offset_nm"));
    }
}
