//! A set of parameter vectors: the box that the planner, the controller and the certifier quantify over.

use serde::{Deserialize, Serialize};

use crate::robot::{ARMATURE, FRICTION, INERTIAL, Robot};

/// A box of parameter vectors (layout of [`Robot::nominal_parameters`]): `lower <= theta <= upper`.
///
/// Units are those of the parameters: kg, kg m, kg m^2, then N m, N m s/rad, kg m^2, N m.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterSet {
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds, not below `lower`.
    pub upper: Vec<f64>,
}

impl ParameterSet {
    /// The box that the robot's own uncertainty ratios allow around its nominal parameters, outward-rounded.
    pub fn around_nominal(robot: &Robot) -> Self {
        let theta = robot.nominal_parameters();
        let inertial = robot.dof() * INERTIAL;
        let (lower, upper) = theta
            .iter()
            .enumerate()
            .map(|(j, &x)| {
                let ratio = if j < inertial {
                    robot.uncertainty.link_ratio
                } else if (j - inertial) % FRICTION == ARMATURE {
                    robot.uncertainty.armature_ratio
                } else {
                    robot.uncertainty.friction_ratio
                };
                // One rounding in the product, one in the sum: two steps outward cover both.
                let half = (x.abs() * ratio).next_up();
                ((x - half).next_down(), (x + half).next_up())
            })
            .unzip();
        Self { lower, upper }
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

    /// Whether `theta` lies in the box.
    pub fn contains(&self, theta: &[f64]) -> bool {
        theta.len() == self.len()
            && theta.iter().zip(self.lower.iter().zip(&self.upper)).all(|(x, (l, u))| l <= x && x <= u)
    }
}
