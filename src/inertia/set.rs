//! A set of parameter vectors: what the planner, the controller and the certifier quantify over.

use serde::{Deserialize, Serialize};

use crate::robot::{Arm, FRICTION, INERTIAL};

/// A box of parameter vectors (layout of [`crate::robot::Model::nominal_parameters`]), `lower <= theta <= upper`, and what is known of
/// combinations of them besides.
///
/// Units are those of the parameters: kg, kg m, kg m^2, then N m, N m s/rad, kg m^2, N m.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterSet {
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds, not below `lower`.
    pub upper: Vec<f64>,
    /// Bounds on combinations, for one motion; none if the box is all that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strips: Option<TorqueStrips>,
    /// A part of one of the bodies; none if nothing of the kind is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<Core>,
}

/// Part of a body: what is left of the body without it is one that can exist (pseudo-inertia >= 0), or nothing. A gripper that
/// holds something is known to be still there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Index of the whole body's mass among the parameters.
    pub first: usize,
    /// Inertial parameters of the part, in the whole body's frame.
    pub part: [f64; INERTIAL],
}

/// { theta : lower <= direction . theta <= upper }. A few of them hold what a box forgets: that the data allow a heavier
/// payload only with a lighter link, or one that is held closer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strip {
    /// One number a parameter.
    pub direction: Vec<f64>,
    /// Lower bound of `direction . theta`.
    pub lower: f64,
    /// Upper bound, not below `lower`.
    pub upper: f64,
}

/// Strips in the directions in which a motion needs them: at some of its times and for each joint, the row that the joint's
/// torque (N m) depends on the parameters with, or one near it. The strips say something about the parameters, not about
/// the motion: they hold for any other one too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorqueStrips {
    /// Times from the motion's start, s; at least one, increasing.
    pub times: Vec<f64>,
    /// For each time in turn, one strip a joint.
    pub strips: Vec<Strip>,
}

impl Strip {
    /// Whether `theta` lies in it, up to the rounding of the sum.
    pub fn contains(&self, theta: &[f64]) -> bool {
        let (mut sum, mut size) = (0.0, 0.0);
        for (d, x) in self.direction.iter().zip(theta) {
            sum += d * x;
            size += (d * x).abs();
        }
        let slack = (self.direction.len() + 2) as f64 * f64::EPSILON * size;
        theta.len() == self.direction.len() && self.lower - slack <= sum && sum <= self.upper + slack
    }
}

impl TorqueStrips {
    /// What is wrong with them for a robot with `dof` joints and so many `parameters`, over a motion of `duration_s`.
    pub fn fault(&self, dof: usize, parameters: usize, duration_s: f64) -> Option<String> {
        let times = &self.times;
        let ordered = times.windows(2).all(|pair| pair[0] < pair[1]);
        let within = times.first().is_some_and(|t| *t >= 0.0) && times.iter().all(|t| *t <= duration_s);
        if !(ordered && within) {
            return Some(format!("times {times:?}, expected increasing ones from 0 to {duration_s} s"));
        }
        if self.strips.len() != dof * times.len() {
            let (found, expected) = (self.strips.len(), dof * times.len());
            return Some(format!(
                "{found} strips, expected {dof} for each of {} times, {expected}",
                times.len()
            ));
        }
        let sound = |strip: &Strip| {
            let numbers = strip.direction.iter().chain([&strip.lower, &strip.upper]);
            strip.direction.len() == parameters
                && strip.lower <= strip.upper
                && numbers.into_iter().all(|x| x.is_finite())
        };
        let bad = self.strips.iter().position(|strip| !sound(strip))?;
        Some(format!("strip {bad}: expected {parameters} finite numbers and finite bounds, lower <= upper"))
    }
}

impl ParameterSet {
    /// The box from `lower` to `upper`.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Self {
        Self { lower, upper, strips: None, core: None }
    }

    /// The box that the robot's own uncertainty ratios allow around its nominal parameters, outward-rounded.
    pub fn around_nominal(robot: &Arm) -> Self {
        let theta = robot.nominal_parameters();
        let inertial = robot.dof() * INERTIAL;
        let (lower, upper) = theta
            .iter()
            .enumerate()
            .map(|(j, &x)| {
                let half = if j < inertial {
                    robot.uncertainty().of_link(j % INERTIAL, x)
                } else {
                    robot.uncertainty().of_joint((j - inertial) % FRICTION, x)
                };
                ((x - half).next_down(), (x + half).next_up())
            })
            .unzip();
        Self::new(lower, upper)
    }

    /// What is wrong with the set for a robot with `dof` joints and so many `parameters`, over a motion of `duration_s`.
    pub fn fault(&self, dof: usize, parameters: usize, duration_s: f64) -> Option<String> {
        let (lower, upper) = (self.lower.len(), self.upper.len());
        if lower != parameters || upper != parameters {
            return Some(format!(
                "expected {parameters} intervals, found {lower} lower and {upper} upper bounds"
            ));
        }
        let finite = |(l, u): (&f64, &f64)| l <= u && l.is_finite() && u.is_finite();
        if let Some(j) = self.lower.iter().zip(&self.upper).position(|bounds| !finite(bounds)) {
            return Some(format!("interval {j} is empty or not finite"));
        }
        if let Some(Core { first, part }) = &self.core
            && !(first.is_multiple_of(INERTIAL)
                && *first < INERTIAL * dof
                && part.iter().all(|x| x.is_finite()))
        {
            return Some(format!("core: expected finite numbers of a body, found {part:?} from {first}"));
        }
        self.strips.as_ref()?.fault(dof, parameters, duration_s).map(|fault| format!("strips: {fault}"))
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// Whether the set has no parameters at all.
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// Midpoint of each interval (any point serves as centre; `radius` is taken about the returned value).
    pub fn center(&self) -> Vec<f64> {
        self.centers_and_radii().map(|(center, _)| center).collect()
    }

    /// Half-widths about [`ParameterSet::center`], rounded up so that the box is inside center +- radius.
    pub fn radius(&self) -> Vec<f64> {
        self.centers_and_radii().map(|(_, radius)| radius).collect()
    }

    /// [`ParameterSet::center`] and [`ParameterSet::radius`], one parameter after the other.
    pub fn centers_and_radii(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.lower.iter().zip(&self.upper).map(|(l, u)| {
            let c = 0.5 * l + 0.5 * u;
            (c, (u - c).next_up().max((c - l).next_up()).max(0.0))
        })
    }

    /// Whether `theta` lies in the box and, up to rounding, in all strips.
    pub fn contains(&self, theta: &[f64]) -> bool {
        let mut strips = self.strips.iter().flat_map(|s| &s.strips);
        theta.len() == self.len()
            && strips.all(|strip| strip.contains(theta))
            && theta.iter().zip(self.lower.iter().zip(&self.upper)).all(|(x, (l, u))| l <= x && x <= u)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::{COULOMB, INERTIAL, OFFSET, load};

    #[test]
    fn a_figure_of_zero_is_exact_with_a_ratio_and_not_with_an_absolute_uncertainty() {
        let mut robot = load("kinova_gen3_2f85").unwrap();
        let joint = robot.friction_index(2);
        // Parameters of the third link, and of its joint.
        let half = |robot: &Arm, p: usize| {
            let set = ParameterSet::around_nominal(robot);
            0.5 * (set.upper[p] - set.lower[p])
        };
        robot.joints[2].inertia[1] = 0.0;
        let (moment, product, mass) = (INERTIAL * 2 + 1, INERTIAL * 2 + 5, INERTIAL * 2);
        let before = [mass, moment, product, joint + OFFSET, joint + COULOMB].map(|p| half(&robot, p));
        assert!(before[1] < 1e-300 && before[3] < 1e-300, "{before:?}");
        (robot.stated().uncertainty.first_moment_kg_m, robot.stated().uncertainty.inertia_kg_m2) =
            (0.004, 0.0003);
        robot.stated().uncertainty.offset_nm = 0.2;
        let after = [mass, moment, product, joint + OFFSET, joint + COULOMB].map(|p| half(&robot, p));
        for (k, more) in [0.0, 0.004, 0.0003, 0.2, 0.0].into_iter().enumerate() {
            let grown = after[k] - before[k];
            assert!(grown >= more - 1e-15 && grown <= more + 1e-12, "{k}: {grown} of {more}");
        }
        robot.stated().uncertainty.offset_nm = f64::NAN;
        assert_eq!(robot.uncertainty().fault().map(|(what, _)| what), Some("offset_nm"));
    }
}
