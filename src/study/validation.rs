//! How well parameters predict a recording that they were not found from: torques, and the motion simulated without looking at it.
//!
//! Torques are those of inverse dynamics with filtered accelerations against the measured ones. A simulation starts from a sample's
//! filtered state, applies the measured torques and nothing else, and is compared with the samples that follow. Friction and drives are
//! those of [`crate::dynamics::actuation`], and an interval is one step of the implicit midpoint rule, as for an estimate.

use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

use crate::dynamics::Workspace;
use crate::dynamics::actuation::{drive_torque, joint_friction};
use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, Point, StageValues};
use crate::multibody::{Deviations, MultibodyProblem, ParameterMap};
use crate::recording::{MeasurementLog, Sample};
use crate::regression::RegressionError;
use crate::regression::filter::Smoothing;
use crate::regression::inverse::{Moving, moving};
use crate::robot::Model;

/// After how many seconds simulations are compared with the recording.
pub const HORIZONS_S: [f64; 5] = [0.1, 0.25, 0.5, 1.0, 2.0];
/// From one simulation's start to the next, s.
pub(super) const EVERY_S: f64 = 0.25;

/// Why a recording could not be predicted.
#[derive(Debug, Error)]
pub enum ValidationError {
    /// The model cannot be evaluated.
    #[error(transparent)]
    Model(#[from] EstimateError),
    /// The filter does not fit the recording.
    #[error(transparent)]
    Filter(#[from] RegressionError),
    /// The robot floats: a simulation without contacts would say nothing of it.
    #[error("robot `{robot}` floats, expected one on a fixed base")]
    Floating {
        /// Its name.
        robot: String,
    },
}

/// Torque errors of one joint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TorqueError {
    /// The joint.
    pub joint: String,
    /// Root mean square of the measured torque, N m (N).
    pub measured_rms: f64,
    /// Root mean square of measured less predicted torque, N m (N).
    pub error_rms: f64,
}

/// Errors of simulations after a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulationError {
    /// After how many seconds.
    pub after_s: f64,
    /// How many simulations came so far; one that left the model's domain counts nowhere from there on.
    pub simulations: usize,
    /// Root mean square of the positions' errors, rad (m), one entry a joint.
    pub position_rms: Vec<f64>,
    /// Root mean square of the velocities' errors, rad/s (m/s), one entry a joint.
    pub velocity_rms: Vec<f64>,
}

/// How well a recording is predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValidationFinding {
    /// The file.
    pub path: String,
    /// Number of samples.
    pub samples: usize,
    /// What was done to the data, one sentence each.
    pub notes: Vec<String>,
    /// Torque errors, joint by joint.
    pub torques: Vec<TorqueError>,
    /// Errors of simulations over time; times that no segment of the recording lasts are left out.
    pub simulations: Vec<SimulationError>,
}

impl ValidationFinding {
    /// Predicts `log` of `robot` with the extended parameters `p` ([`crate::dynamics::actuation::extended_parameters`]).
    ///
    /// # Errors
    /// [`ValidationError`] for a robot that floats, a filter that is longer than the log, or parameters of another robot.
    pub fn new(
        robot: &Arc<Model>,
        p: &[f64],
        log: &MeasurementLog,
        smoothing: Smoothing,
    ) -> Result<Self, ValidationError> {
        if robot.has_free_flyer() {
            return Err(ValidationError::Floating { robot: robot.name.clone() });
        }
        let expected = ParameterMap::none(robot).nominal.len();
        if p.len() != expected {
            let what = "parameters to validate".to_owned();
            return Err(EstimateError::Size { what, found: p.len(), expected }.into());
        }
        if let Some((i, x)) = p.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            let reason = format!("parameter {i} is {x}, expected a finite number");
            return Err(EstimateError::Body { body: robot.name.clone(), reason }.into());
        }
        let smooth = moving(log, smoothing)?;
        Ok(Self {
            path: log.path.display().to_string(),
            samples: log.samples.len(),
            notes: log.notes(),
            torques: torque_errors(robot, p, &smooth),
            simulations: simulation_errors(robot, p, parts(log, &smooth))?,
        })
    }
}

fn torque_errors(robot: &Model, p: &[f64], samples: &[Moving]) -> Vec<TorqueError> {
    let n = robot.nv();
    let mut workspace = Workspace::new(robot);
    let (mut tau, mut squares) = (vec![0.0; n], vec![[0.0; 2]; n]);
    for s in samples {
        workspace.inverse_dynamics(robot, &s.q, &s.dq, &s.ddq, &p[..robot.parameter_count()], &mut tau);
        for j in 0..n {
            // Told by the drive: what moves the links is its gain times the measured torque.
            let error = drive_torque(robot, p, j, s.tau[j]) - tau[j] - joint_friction(robot, p, j, s.dq[j]).0;
            squares[j][0] += s.tau[j] * s.tau[j];
            squares[j][1] += error * error;
        }
    }
    let rms = |sum: f64| (sum / samples.len() as f64).sqrt();
    let row = |(joint, sums): (&crate::robot::Joint, &[f64; 2])| TorqueError {
        joint: joint.name.clone(),
        measured_rms: rms(sums[0]),
        error_rms: rms(sums[1]),
    };
    robot.joints.iter().zip(&squares).map(row).collect()
}

/// Sums over simulations, by horizon.
#[derive(Clone)]
struct Sums {
    count: usize,
    position: Vec<f64>,
    velocity: Vec<f64>,
}

/// Segments with their filtered states; `smooth` leaves segments of one sample out.
fn parts<'a>(
    log: &'a MeasurementLog,
    smooth: &'a [Moving],
) -> impl Iterator<Item = (&'a [Sample], &'a [Moving])> {
    let mut first = 0;
    log.segments.iter().filter(|s| s.len() >= 2).map(move |segment| {
        let states = &smooth[first..first + segment.len()];
        first += segment.len();
        (&log.samples[segment.clone()], states)
    })
}

/// Errors of simulations over segments: their samples, and the filtered states at them.
pub(super) fn simulation_errors<'a>(
    robot: &Arc<Model>,
    p: &[f64],
    segments: impl Iterator<Item = (&'a [Sample], &'a [Moving])>,
) -> Result<Vec<SimulationError>, EstimateError> {
    let n = robot.nv();
    let mut sums = vec![Sums { count: 0, position: vec![0.0; n], velocity: vec![0.0; n] }; HORIZONS_S.len()];
    for (samples, states) in segments {
        let problem = known(robot, p, samples)?;
        let (mut from, mut start) = (0, samples[0].t);
        while from + 1 < samples.len() {
            simulate(&problem, samples, states, from, &mut sums);
            start += EVERY_S;
            from = samples.partition_point(|s| s.t < start);
        }
    }
    let row = |(after_s, s): (&f64, &Sums)| {
        let rms = |of: &[f64]| of.iter().map(|x| (x / s.count as f64).sqrt()).collect();
        let (position_rms, velocity_rms) = (rms(&s.position), rms(&s.velocity));
        (s.count > 0).then_some(SimulationError {
            after_s: *after_s,
            simulations: s.count,
            position_rms,
            velocity_rms,
        })
    };
    Ok(HORIZONS_S.iter().zip(&sums).filter_map(row).collect())
}

/// The motion of a segment with nothing to be estimated: its stages are the simulator.
fn known(robot: &Arc<Model>, p: &[f64], samples: &[Sample]) -> Result<MultibodyProblem, EstimateError> {
    let n = robot.nv();
    let map = ParameterMap { nominal: p.to_vec(), ..ParameterMap::none(robot) };
    let open = vec![f64::INFINITY; n];
    let deviations = Deviations {
        q: open.clone(),
        dq: open.clone(),
        tau: vec![1.0; n],
        first_q: open.clone(),
        first_dq: open,
        theta: vec![],
    };
    let mut steps: Vec<f64> = samples.windows(2).map(|pair| pair[1].t - pair[0].t).collect();
    steps.push(1.0);
    MultibodyProblem::new(robot.clone(), map, samples.to_vec(), 1.0, &deviations)?.with_intervals(&steps)
}

/// One simulation from sample `from` on, compared wherever a horizon is passed.
fn simulate(
    problem: &MultibodyProblem,
    samples: &[Sample],
    states: &[Moving],
    from: usize,
    sums: &mut [Sums],
) {
    let n = problem.robot().nv();
    let quiet = vec![0.0; n];
    let mut x = [states[from].q.as_slice(), &states[from].dq].concat();
    let mut workspace = problem.workspace();
    let mut out = StageValues { next: vec![0.0; 2 * n], ..StageValues::default() };
    let mut next = 0;
    for k in from..samples.len() - 1 {
        let at = Point { x: &x, u: &quiet, theta: &[] };
        out.memory.clear();
        let told = problem.evaluate(k, at, &mut workspace, &mut out);
        if told.is_err() || out.next.iter().any(|x| !x.is_finite()) {
            return;
        }
        x.copy_from_slice(&out.next);
        while next < sums.len() && samples[k + 1].t - samples[from].t >= HORIZONS_S[next] {
            let (sums, state) = (&mut sums[next], &states[k + 1]);
            sums.count += 1;
            for j in 0..n {
                sums.position[j] += (x[j] - samples[k + 1].q[j]).powi(2);
                sums.velocity[j] += (x[n + j] - state.dq[j]).powi(2);
            }
            next += 1;
        }
        if next == sums.len() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
