//! The most probable payload (`method = "map"`): an estimate with standard deviations, without a guarantee.
//!
//! The guaranteed set ([`crate::identify::identifier`]) says where the parameters must be; nobody needs this estimate for safety.
//! It comes from the shared estimation core ([`crate::estimate`]): all states of the log, the inertial parameters of all moving
//! links in log-Cholesky coordinates, friction and transmission inertia of all joints are found at once, by maximum a
//! posteriori. Without the other links among the unknowns their error would be taken for the payload's.
//!
//! What the bounds of the robot's file become here: an error that is bounded by b counts as uniform, with deviation
//! b / sqrt(3). Parameters are one number for the whole log. A torque sensor errs in two ways, each within its bounds: independently
//! from sample to sample, and by numbers of its own for the whole log, which are found too: a gain, a share of the torque's
//! size (the same sign whichever way it pulls), an offset. Without these, errors that keep their sign would be taken for
//! payload, and by small deviations. Encoders err from sample to sample. Sensors are all that errs (the motion is
//! what the controller makes of it), so the trajectory is found with the parameters rather than integrated out
//! ([`SolverOptions::marginal`]).

use std::sync::Arc;
use std::time::Instant;

use nalgebra::SVector;

use super::{Deviations, Formulation, JointParameter, MultibodyProblem, ParameterMap};
use crate::estimate::{EstimateError, Solver, SolverOptions, Status};
use crate::inertia::Coordinates;
use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET};
use crate::recording::Sample;
use crate::robot::Arm;

/// Prior deviation of the log-Cholesky coordinates: within it the mass changes by a factor of e^2, the centre of mass by
/// one metre.
const SPREAD: f64 = 1.0;
/// Least prior deviation of a coordinate that the robot's file takes for exactly known.
const KNOWN: f64 = 1e-6;

/// What is most probable.
#[derive(Debug, Clone, PartialEq)]
pub struct MapEstimate {
    /// Inertial parameters of the end effector with payload (m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz; SI units, about
    /// and in the last joint's frame).
    pub inertial: [f64; INERTIAL],
    /// Their posterior standard deviations; infinite where neither data nor prior say anything.
    pub deviation: [f64; INERTIAL],
    /// Whether the iteration converged.
    pub converged: bool,
    /// Iterations.
    pub iterations: usize,
    /// Samples.
    pub samples: usize,
    /// Time taken, s.
    pub seconds: f64,
}

/// Estimates the inertial parameters of the end effector from consecutive `samples`, one control period apart, starting
/// from `start` (a body that can exist).
///
/// # Errors
/// When `start` is no rigid body, samples have the wrong length or are not finite, or the iteration breaks down.
pub fn estimate(
    robot: &Arc<Arm>,
    samples: &[Sample],
    start: &[f64; INERTIAL],
) -> Result<MapEstimate, EstimateError> {
    let clock = Instant::now();
    let n = robot.dof();
    let mut map = ParameterMap::none(robot);
    map.nominal[robot.body_range(robot.end_effector())].copy_from_slice(start);
    // The payload comes first; links without mass have no coordinates.
    let others = (0..robot.bodies()).filter(|&b| b != robot.end_effector());
    let heavy = others.filter(|&b| map.nominal[robot.body_range(b).start] > 0.0);
    map.bodies =
        std::iter::once(robot.end_effector()).chain(heavy).map(|b| (b, Coordinates::LogCholesky)).collect();
    use JointParameter::{Armature, Coulomb, Gain, Offset, Skew, Viscous};
    map.joints =
        (0..n).flat_map(|j| [Coulomb, Viscous, Armature, Gain, Skew, Offset].map(|w| (j, w))).collect();

    let deviations = deviations(robot, samples, &map)?;
    let problem = MultibodyProblem::new(
        Arc::new(robot.model().clone()),
        map,
        samples.to_vec(),
        robot.gains().period_s,
        &deviations,
    )?
    .formulated(Formulation::Inverse)
    .with_sensor_noise();
    // Far beyond what a deviation of the result can be told to.
    let options =
        SolverOptions { tolerance: 1e-8, feasibility: 1e-9, iterations: 60, ..SolverOptions::default() };
    let mut solver = Solver::new(&problem, options)?;
    let outcome = solver.solve(&problem.guess())?;
    let found = solver.trajectory().theta.clone();
    let posterior = solver.posterior(|_, _| {})?;
    let mut physical = problem.map().nominal.clone();
    problem.map().fill(robot, &found, &mut physical);
    let slope = problem.map().slope(&found);
    let spread = |i: usize| posterior.deviation(&slope.row(i).transpose()).unwrap_or(f64::INFINITY);
    let hand = &physical[robot.body_range(robot.end_effector())];
    Ok(MapEstimate {
        inertial: std::array::from_fn(|i| hand[i]),
        deviation: std::array::from_fn(spread),
        converged: outcome.status == Status::Converged,
        iterations: outcome.record.iter().filter(|i| i.step > 0.0).count(),
        samples: samples.len(),
        seconds: clock.elapsed().as_secs_f64(),
    })
}

/// What the bounds of the robot's file become: deviations of sensors, and of parameters before the first sample.
fn deviations(robot: &Arm, samples: &[Sample], map: &ParameterMap) -> Result<Deviations, EstimateError> {
    use JointParameter::{Armature, Gain, Offset, Skew};
    let n = robot.dof();
    let uniform = |bound: f64| bound.max(1e-12) / 3f64.sqrt();
    let mut theta = vec![SPREAD; INERTIAL];
    let center = map.start(robot)?;
    for b in 1..map.bodies.len() {
        theta.extend(coordinate_deviations(robot, map, &center, b)?);
    }
    theta.extend(map.joints.iter().map(|&(j, which)| {
        let (sensors, unknown) = (robot.sensors(), robot.uncertainty());
        let nominal = map.nominal[which.index(robot, j)];
        uniform(match which {
            Gain | Skew => sensors.torque_ratio,
            Armature => unknown.of_joint(ARMATURE, nominal),
            Offset => sensors.torque(j).abs_nm + unknown.of_joint(OFFSET, nominal),
            _ => unknown.of_joint(COULOMB, nominal),
        })
        .max(KNOWN)
    }));
    Ok(Deviations {
        q: vec![uniform(robot.sensors().position_rad); n],
        dq: vec![uniform(robot.sensors().velocity_rad_s); n],
        tau: torque_deviations(robot, samples)?,
        first_q: vec![f64::INFINITY; n],
        first_dq: vec![f64::INFINITY; n],
        theta,
    })
}

/// Prior deviations of the coordinates of body `b` of the map, whose physical parameters err by the robot's ratio each: those of
/// the linearised coordinates.
fn coordinate_deviations(
    robot: &Arm,
    map: &ParameterMap,
    center: &[f64],
    b: usize,
) -> Result<Vec<f64>, EstimateError> {
    let link = map.bodies[b].0;
    let nominal = &map.nominal[robot.body_range(link)];
    let inverse = map.block(center, b).try_inverse().ok_or_else(|| EstimateError::Body {
        body: robot.joints[link].link.clone(),
        reason: "a body as flat as that has no coordinates".into(),
    })?;
    let error =
        SVector::<f64, INERTIAL>::from_fn(|i, _| robot.uncertainty().of_link(i, nominal[i]) / 3f64.sqrt());
    Ok((0..INERTIAL).map(|c| inverse.row(c).transpose().component_mul(&error).norm().max(KNOWN)).collect())
}

/// Deviation of each joint's torque sensor over the log.
fn torque_deviations(robot: &Arm, samples: &[Sample]) -> Result<Vec<f64>, EstimateError> {
    let (n, sensors) = (robot.dof(), robot.sensors());
    if samples.len() < 2 {
        return Err(EstimateError::Size { what: "samples".into(), found: samples.len(), expected: 2 });
    }
    let mut variance = vec![0.0; n];
    for (k, s) in samples.iter().enumerate() {
        if let Some(bad) = [&s.q, &s.dq, &s.tau].into_iter().find(|v| v.len() != n) {
            let what = format!("joints of sample {k}");
            return Err(EstimateError::Size { what, found: bad.len(), expected: n });
        }
        for (j, (v, tau)) in variance.iter_mut().zip(&s.tau).enumerate() {
            let bound = sensors.torque(j).error_of_reading_nm(*tau) + robot.drive(j).unmodelled_nm;
            *v += bound * bound / (3.0 * samples.len() as f64);
        }
    }
    // A sensor without error still leaves the discretisation.
    Ok(variance.into_iter().map(|v| v.sqrt().max(1e-6)).collect())
}

#[cfg(test)]
mod tests;
