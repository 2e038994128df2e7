//! What estimated parameters may be at least and at most: signs that friction has, and bounds that a person states.
//!
//! Bounds are on *physical* parameters, whatever coordinates these are estimated in; the inequalities g_p(theta) >= 0 of the parameters follow by the
//! chain rule. Each is divided by the size of what it bounds, so that kg m^2 and kg weigh alike.

use super::parameters::{JointParameter, PHYSICAL, ParameterMap};
use crate::dynamics::actuation::actuation_index;
use crate::estimate::ParameterModel;
use crate::estimate::error::EstimateError;
use crate::inertia::INERTIAL;
use crate::robot::Model;

/// Place of g1 and of g2 behind a joint's gain.
const STICTION: usize = 2;
const STRIBECK: usize = 3;

/// A bound on one estimated physical parameter, or on both sides of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterBound {
    /// Its place among the estimated parameters: ten a body in the order of [`PHYSICAL`], then those of joints.
    pub place: usize,
    /// At least this, in the parameter's unit; minus infinity: no bound.
    pub lower: f64,
    /// At most this; infinity: no bound.
    pub upper: f64,
}

/// An inequality that the parameters satisfy.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Inequality {
    /// sign * (parameter - bound) >= 0, over a size.
    Side { place: usize, sign: f64, bound: f64, size: f64 },
    /// g1 >= g2 of this joint: smooth friction never drives ([`crate::dynamics::friction::SmoothFriction::dissipates`]).
    Dissipates { joint: usize, size: f64 },
}

/// All inequalities of a problem.
#[derive(Debug, Clone, Default)]
pub(super) struct ParameterBounds(Vec<Inequality>);

impl ParameterBounds {
    /// Signs of friction, drives and transmission inertia, and g1 >= g2 wherever one of the two is estimated; over these the bounds that are stated.
    ///
    /// # Errors
    /// [`EstimateError::Body`] for a bound on a parameter that is not estimated, that is not a number, or leaves nothing between its sides.
    pub(super) fn new(
        robot: &Model,
        map: &ParameterMap,
        stated: &[ParameterBound],
    ) -> Result<Self, EstimateError> {
        let mut all = vec![];
        for bound in stated {
            check(robot, map, bound)?;
            let size = size_of(robot, map, bound.place);
            for (sign, bound_at) in [(1.0, bound.lower), (-1.0, bound.upper)] {
                if bound_at.is_finite() {
                    all.push(Inequality::Side { place: bound.place, sign, bound: bound_at, size });
                }
            }
        }
        let first = INERTIAL * map.bodies.len();
        for (i, (_, which)) in map.joints.iter().enumerate().filter(|(_, (_, which))| which.is_bounded()) {
            let place = first + i;
            let narrower = |b: &ParameterBound| b.place == place && b.lower >= 0.0;
            // Theta itself, as it is: a sign needs no size.
            debug_assert!(!which.is_logarithm());
            if !stated.iter().any(narrower) {
                all.push(Inequality::Side { place, sign: 1.0, bound: 0.0, size: 1.0 });
            }
        }
        let rates = [JointParameter::StictionRate, JointParameter::StribeckRate];
        let mut joints: Vec<usize> =
            map.joints.iter().filter(|(_, which)| rates.contains(which)).map(|(joint, _)| *joint).collect();
        joints.dedup();
        joints.sort_unstable();
        joints.dedup();
        for joint in joints {
            let at = actuation_index(robot, joint);
            let size = map.nominal[at + STICTION].abs().max(map.nominal[at + STRIBECK].abs()).max(1.0);
            all.push(Inequality::Dissipates { joint, size });
        }
        Ok(Self(all))
    }

    /// Number of inequalities.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes values and gradients.
    pub(super) fn write(&self, robot: &Model, map: &ParameterMap, theta: &[f64], out: &mut ParameterModel) {
        for (row, inequality) in self.0.iter().enumerate() {
            let gradient = out.inequalities.col_mut(row);
            gradient.fill(0.0);
            out.inequality_values[row] = match *inequality {
                Inequality::Side { place, sign, bound, size } => {
                    let value =
                        by_coordinates(map, theta, place, |k, slope| gradient[k] += sign * slope / size);
                    sign * (value - bound) / size
                }
                Inequality::Dissipates { joint, size } => {
                    let mut rate = |which: JointParameter, sign: f64| {
                        let found = map.joints.iter().position(|own| *own == (joint, which));
                        let Some(i) = found else { return sign * map.nominal[which.index(robot, joint)] };
                        let place = INERTIAL * map.bodies.len() + i;
                        sign * by_coordinates(map, theta, place, |k, slope| {
                            gradient[k] += sign * slope / size
                        })
                    };
                    (rate(JointParameter::StictionRate, 1.0) + rate(JointParameter::StribeckRate, -1.0))
                        / size
                }
            };
        }
    }
}

/// The value of an estimated physical parameter; visits the coordinates that it depends on, with its slopes.
fn by_coordinates(map: &ParameterMap, theta: &[f64], place: usize, mut visit: impl FnMut(usize, f64)) -> f64 {
    let bodies = INERTIAL * map.bodies.len();
    if place >= bodies {
        let (i, x) = (place - bodies, theta[place]);
        visit(place, map.joint_slope(theta, i));
        return if map.joints[i].1.is_logarithm() { x.exp() } else { x };
    }
    let (b, i) = (place / INERTIAL, place % INERTIAL);
    let first = INERTIAL * b;
    let mut own = [0.0; INERTIAL];
    own.copy_from_slice(&theta[first..first + INERTIAL]);
    map.block(theta, b).row(i).iter().enumerate().for_each(|(k, slope)| visit(first + k, *slope));
    map.bodies[b].1.physical(&own)[i]
}

/// The size of what is bounded: of a body that of its nominal mass, at 0.1 m for moments.
fn size_of(robot: &Model, map: &ParameterMap, place: usize) -> f64 {
    let bodies = INERTIAL * map.bodies.len();
    if place < bodies {
        let mass = map.nominal[robot.body_range(map.bodies[place / INERTIAL].0)][0];
        return match place % INERTIAL {
            0 => mass,
            1..=3 => 0.1 * mass,
            _ => 0.01 * mass,
        };
    }
    let (joint, which) = map.joints[place - bodies];
    let nominal = map.nominal[which.index(robot, joint)].abs();
    if nominal > 0.0 { nominal } else { 1.0 }
}

fn check(robot: &Model, map: &ParameterMap, bound: &ParameterBound) -> Result<(), EstimateError> {
    let ParameterBound { place, lower, upper } = *bound;
    let bodies = INERTIAL * map.bodies.len();
    if place >= map.len() {
        let reason = format!("a bound on parameter {place}, expected one of the {} estimated", map.len());
        return Err(EstimateError::Body { body: robot.name.clone(), reason });
    }
    if lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY {
        return Ok(());
    }
    let (body, name) = if place < bodies {
        (robot.joints[map.bodies[place / INERTIAL].0].link.clone(), PHYSICAL[place % INERTIAL])
    } else {
        let (joint, which) = map.joints[place - bodies];
        (robot.joints[joint].name.clone(), which.name().0)
    };
    let reason = format!(
        "{name} between {lower} and {upper}, expected two numbers, the first no larger than the second"
    );
    Err(EstimateError::Body { body, reason })
}

#[cfg(test)]
mod tests;
