//! Robots as trees of rigid bodies, on a fixed base or floating, with contacts and closed loops: encoders, poses,
//! velocities and torque sensors, inertial, friction and drive parameters.
//!
//! For those who estimate from a log. The state is (q, v); a stage lasts one sampling interval h, with the torque held,
//! by the implicit midpoint rule on the manifold (`mechanics`):
//!
//! ```text
//! q' = q (+) (h v + h^2 a / 2),   v' = v + h a,   M a + bias + friction - J' lambda = gain tau + w,   J a + gamma = 0
//! ```
//!
//! at the interval's middle, with w what the force differs by from the measured one (process noise, with the covariance of
//! the torque sensor and of what the model leaves out). Noise acts as a force, so what reaches the motion is projected by the
//! dynamically consistent projector of the active constraints ([3, eqs. 36 to 38]). [`Formulation`] says which of the
//! unknowns are inputs; the minimiser is the same. Where a constraint becomes active, a stage without duration lets the
//! velocity jump (impact). All derivatives are exact.

mod bounds;
mod contacts;
mod deviations;
pub mod equations;
mod guess;
mod intervals;
mod mechanics;
mod observations;
pub mod parameters;
pub mod payload;
mod solution;
mod stages;
mod torques;
mod volume;
mod work;

use std::sync::Arc;

use crate::estimate::error::EstimateError;
use crate::estimate::problem::{EstimationProblem, Given, Point, StageValues, Trajectory};
use crate::estimate::stage::{StageModel, StageSize};
use crate::linear::dense::Mat;
use crate::recording::{MissingReadings, Sample};
use crate::robot::Model;
use crate::robot::configuration::{difference, difference_jacobians, integrate};

pub use bounds::ParameterBound;
pub use contacts::{ContactPhase, Contacts};
pub use deviations::Deviations;
pub use equations::{ParameterEquation, Plane};
pub use observations::Observation;
pub use parameters::{JointParameter, ParameterMap};
pub use stages::MultibodySpace;

use bounds::ParameterBounds;
use contacts::{Kind, Schedule, Stage};
use deviations::{Weights, check_numbers, check_sample, weights};
#[cfg(feature = "studies")]
pub(crate) use mechanics::drive_slope;
use mechanics::{Interval, Mechanics};
use observations::Observed;
use torques::TorqueSensor;
use work::Work;

/// What the inputs of a stage are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formulation {
    /// The noise w; accelerations and forces are solved for.
    #[default]
    Forward,
    /// Accelerations and the active constraints' forces; w is what inverse dynamics leaves, and the constraints are equations
    /// of the stage. It factors nothing, and converges from farther away.
    Inverse,
}

/// A robot's log as an estimation problem.
#[derive(Debug, Clone)]
pub struct MultibodyProblem {
    robot: Arc<Model>,
    map: ParameterMap,
    samples: Vec<Sample>,
    /// Of the observations, for each sample one after the other; empty without any.
    readings: Vec<Vec<f64>>,
    /// From each sample to the next, s; infinite where the log has a gap.
    steps: Vec<f64>,
    /// Numbers of samples that are no readings, by sample; empty where all are readings.
    missing: Vec<MissingReadings>,
    /// What deviations of forces are more in the interval behind each sample, N (N m); empty where nothing is added.
    added_force: Vec<f64>,
    weights: Weights,
    prior: Vec<f64>,
    bounds: ParameterBounds,
    formulation: Formulation,
    schedule: Schedule,
    equations: Vec<ParameterEquation>,
    observed: Vec<Observed>,
    work: Option<Work>,
    /// By degree of freedom, where noise of the torques is their sensors'; otherwise empty.
    torque_sensors: Vec<Option<TorqueSensor>>,
}

impl MultibodyProblem {
    /// The problem of explaining `samples`, taken every `step_s` seconds, starting from the map's nominal parameters.
    /// Friction and transmission inertia are kept from becoming negative, and smooth friction from driving a joint.
    ///
    /// # Errors
    /// When sizes disagree, a deviation is missing (zero, negative, NaN), or a sample is not finite.
    pub fn new(
        robot: Arc<Model>,
        map: ParameterMap,
        samples: Vec<Sample>,
        step_s: f64,
        deviations: &Deviations,
    ) -> Result<Self, EstimateError> {
        if samples.len() < 2 {
            return Err(EstimateError::Size { what: "samples".into(), found: samples.len(), expected: 2 });
        }
        if !(step_s > 0.0 && step_s.is_finite()) {
            return Err(EstimateError::Deviation { what: "the sampling interval".into(), value: step_s });
        }
        for (k, sample) in samples.iter().enumerate() {
            check_sample(&robot, k, sample)?;
        }
        let weights = Weights::new(deviations, robot.nv(), map.len())?;
        let prior = map.start(&robot)?;
        let bounds = ParameterBounds::new(&robot, &map, &[])?;
        let schedule = Schedule::free(samples.len(), |_| false);
        let formulation = Formulation::default();
        Ok(Self {
            robot,
            map,
            steps: vec![step_s; samples.len()],
            missing: Vec::new(),
            added_force: Vec::new(),
            samples,
            readings: Vec::new(),
            weights,
            prior,
            bounds,
            formulation,
            schedule,
            equations: Vec::new(),
            observed: Vec::new(),
            work: None,
            torque_sensors: Vec::new(),
        })
    }

    /// With other inputs.
    pub fn formulated(self, formulation: Formulation) -> Self {
        Self { formulation, ..self }
    }

    /// With equations between the parameters.
    pub fn with_equations(self, equations: Vec<ParameterEquation>) -> Self {
        Self { equations, ..self }
    }

    /// With bounds on estimated parameters, beside the signs of friction.
    ///
    /// # Errors
    /// [`EstimateError::Body`] for a bound on a parameter that is not estimated, that is not a number, or leaves nothing between its sides.
    pub fn with_bounds(self, stated: &[ParameterBound]) -> Result<Self, EstimateError> {
        let bounds = ParameterBounds::new(&self.robot, &self.map, stated)?;
        Ok(Self { bounds, ..self })
    }

    /// With contacts and closed loops. Loops of points are closed exactly at the beginning.
    ///
    /// # Errors
    /// When phases are out of order or beyond the log, speak of another number of constraints, or a constraint
    /// makes no sense.
    pub fn with_contacts(self, contacts: Contacts) -> Result<Self, EstimateError> {
        if let Some(k) = self.steps[..self.samples.len() - 1].iter().position(|h| h.is_infinite()) {
            let reason =
                format!("contacts and loops need a log without gaps, but there is one behind sample {k}");
            return Err(EstimateError::Schedule { reason });
        }
        let schedule = Schedule::new(&self.robot, contacts, self.samples.len())?;
        Ok(Self { schedule, ..self })
    }

    /// With sensors beside the encoders, and their `readings`, one after the other for each sample, NaN where there is none; after
    /// [`MultibodyProblem::with_contacts`].
    ///
    /// # Errors
    /// When a sample has another number of readings, or a sensor's deviation, frame or contact makes no sense.
    pub fn with_observations(
        self,
        observations: &[Observation],
        readings: Vec<Vec<f64>>,
    ) -> Result<Self, EstimateError> {
        let constraints = self.schedule.contacts.constraints.len();
        let (observed, count) = Observed::all(&self.robot, observations, constraints)?;
        let (found, expected) = (readings.len(), self.samples.len());
        if found != expected {
            return Err(EstimateError::Size { what: "samples with readings".into(), found, expected });
        }
        for (k, readings) in readings.iter().enumerate() {
            let read: Vec<f64> = readings.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
            check_numbers("the readings", k, &read, count)?;
        }
        Ok(Self { observed, readings, ..self })
    }

    /// With the observed work of the applied forces (J, one number a sample: of the interval that begins there), of standard
    /// deviation `deviation_j`.
    ///
    /// # Errors
    /// When there is another number of them than of samples, one is not finite, or the deviation is missing.
    pub fn with_work(self, observed: Vec<f64>, deviation_j: f64) -> Result<Self, EstimateError> {
        if observed.len() != self.samples.len() {
            let (found, expected) = (observed.len(), self.samples.len());
            return Err(EstimateError::Size { what: "the observed work".into(), found, expected });
        }
        if let Some(stage) = observed.iter().position(|x| !x.is_finite()) {
            return Err(EstimateError::NotFinite { what: "the observed work", stage });
        }
        let weight = weights("the observed work", &[deviation_j], 1, false)?[0];
        Ok(Self { work: Some(Work { observed, weight }), ..self })
    }

    /// The problem of the first `samples` samples (at least two; all of them if there are fewer).
    pub fn beginning(&self, samples: usize) -> Self {
        let count = samples.clamp(2, self.samples.len());
        let mut contacts = self.schedule.contacts.clone();
        contacts.phases.retain(|p| p.from + 1 < count);
        let mut part = self.clone();
        part.samples.truncate(count);
        part.steps.truncate(count);
        part.missing.truncate(count);
        part.added_force.truncate(count);
        part.readings.truncate(count);
        part.schedule = self.schedule.shortened(contacts, count);
        part
    }

    /// The states of the trajectory at the samples (before an impact, where there is one).
    pub fn states<'a>(&'a self, trajectory: &'a Trajectory) -> impl Iterator<Item = &'a Vec<f64>> {
        trajectory.xs.iter().zip(&self.schedule.stages).filter(|(_, s)| s.observed).map(|(x, _)| x)
    }

    /// The sample whose readings stage `k` carries, and whether the stage has noise of torques; nothing where it carries none.
    pub fn sample_of(&self, k: usize) -> Option<(usize, bool)> {
        let stage = self.schedule.stages[k];
        stage.observed.then_some((stage.sample, stage.kind == Kind::Step))
    }

    /// What the force differs by from the measured one, w, in each interval; nothing in a gap.
    ///
    /// # Errors
    /// Where the trajectory is outside the model's domain.
    pub fn noise(&self, trajectory: &Trajectory) -> Result<Vec<Vec<f64>>, EstimateError> {
        let (mut s, n) = (self.workspace(), self.robot.nv());
        let mut noise = Vec::with_capacity(self.samples.len());
        let passing = |s: &Stage| matches!(s.kind, Kind::Step | Kind::Gap);
        for (k, stage) in self.schedule.stages.iter().enumerate().filter(|(_, s)| passing(s)) {
            let at = trajectory.at(k);
            if stage.kind == Kind::Gap {
                noise.push(Vec::new());
                continue;
            }
            if self.formulation == Formulation::Forward {
                noise.push(at.u.to_vec());
                continue;
            }
            let wrong = |reason| EstimateError::Stage { stage: k, reason };
            s.mechanics.parameterise(self, at.theta).map_err(wrong)?;
            let interval = self.interval(*stage, at.x);
            s.mechanics.take(self, interval, at.u);
            s.mechanics.evaluate(self, interval).map_err(wrong)?;
            noise.push(s.mechanics.value[..n].to_vec());
        }
        noise.push(Vec::new());
        Ok(noise)
    }

    /// Largest difference of the trajectory's states at the samples and `states` in tangent space, rad and rad/s.
    pub fn largest_error(&self, trajectory: &Trajectory, states: &[Vec<f64>]) -> f64 {
        let mut change = vec![0.0; 2 * self.robot.nv()];
        let mut largest = 0.0f64;
        for (x, truth) in self.states(trajectory).zip(states) {
            self.difference(0, x, truth, &mut change);
            largest = change.iter().fold(largest, |m, c| m.max(c.abs()));
        }
        largest
    }

    /// What theta means.
    pub fn map(&self) -> &ParameterMap {
        &self.map
    }

    /// The robot.
    pub fn robot(&self) -> &Model {
        &self.robot
    }

    fn interval<'a>(&'a self, stage: Stage, x: &'a [f64]) -> Interval<'a> {
        let (q, v) = x.split_at(self.robot.nq());
        let step = self.steps[stage.sample];
        Interval {
            q,
            v,
            tau: &self.samples[stage.sample].tau,
            sample: stage.sample,
            phase: stage.phase,
            step,
        }
    }
}

impl EstimationProblem for MultibodyProblem {
    type Workspace = MultibodySpace;

    fn workspace(&self) -> MultibodySpace {
        MultibodySpace::new(self)
    }

    fn stages(&self) -> usize {
        self.schedule.stages.len()
    }

    fn size(&self, k: usize) -> StageSize {
        let (n, stage) = (self.robot.nv(), self.schedule.stages[k]);
        let rows = self.schedule.rows[stage.phase].len();
        let (input, constraints) = match (stage.kind, self.formulation) {
            (Kind::Reset, _) if k == 0 => (0, self.schedule.closures.len()),
            (Kind::Gap, _) => (2 * n, 0),
            (Kind::Step, Formulation::Forward) => (n, 0),
            (Kind::Step, Formulation::Inverse) => (n + rows, rows),
            _ => (0, 0),
        };
        StageSize { state: self.robot.nq() + n, tangent: 2 * n, input, constraints }
    }

    fn parameters(&self) -> (usize, usize, usize) {
        (self.map.len(), self.equations.iter().map(ParameterEquation::count).sum(), self.bounds.len())
    }

    fn rename(&self, theta: &mut [f64]) -> bool {
        self.map.rename(theta, &self.prior)
    }

    fn strain(&self, _: &[f64], dtheta: &[f64]) -> f64 {
        self.map.strain(dtheta)
    }

    fn evaluate(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut MultibodySpace,
        out: &mut StageValues,
    ) -> Result<(), String> {
        out.cost = self.cost(k, at, &mut s.error);
        let stage = self.schedule.stages[k];
        if stage.kind == Kind::Last {
            out.cost += s.watch.cost(self, stage, at, &s.mechanics);
            return Ok(());
        }
        if stage.kind == Kind::Gap {
            out.cost += s.watch.cost(self, stage, at, &s.mechanics);
            self.leap(stage, at.u, s, &mut out.next);
            return Ok(());
        }
        s.mechanics.parameterise(self, at.theta)?;
        let interval = self.interval(stage, at.x);
        let n = self.robot.nv();
        match (stage.kind, self.formulation) {
            (Kind::Reset, _) => {
                let (after, _) = s.mechanics.impact(self, (interval.q, interval.v), stage.phase, false)?;
                out.next[..self.robot.nq()].copy_from_slice(interval.q);
                out.next[self.robot.nq()..].copy_from_slice(after);
                out.cost += s.watch.cost(self, stage, at, &s.mechanics);
                if k == 0 && !out.constraints.is_empty() {
                    s.mechanics.closures(self, interval.q, &mut out.constraints)?;
                }
                return Ok(());
            }
            (_, Formulation::Forward) => {
                s.mechanics.solve(self, interval, at, &mut out.memory)?;
                out.cost += self.noise_cost(&s.mechanics.parameters, interval, at.u);
            }
            (_, Formulation::Inverse) => {
                s.mechanics.take(self, interval, at.u);
                s.mechanics.evaluate(self, interval)?;
                let (noise, constraints) = s.mechanics.value[..at.u.len()].split_at(n);
                out.cost += self.noise_cost(&s.mechanics.parameters, interval, noise);
                out.constraints.copy_from_slice(constraints);
            }
        }
        out.cost += s.watch.cost(self, stage, at, &s.mechanics);
        out.cost += self.work_cost(stage.sample, interval, at.u, &mut s.mechanics);
        s.advance(self, interval, &mut out.next);
        Ok(())
    }

    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut MultibodySpace,
        m: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        let (stage, size) = (self.schedule.stages[k], self.size(k));
        let mut before = None;
        if stage.kind == Kind::Gap {
            self.leap(stage, at.u, s, &mut out.next);
            self.leap_slopes(at.u, s, m);
        } else if stage.kind != Kind::Last {
            s.mechanics.parameterise(self, at.theta)?;
            let interval = self.interval(stage, at.x);
            if stage.kind == Kind::Reset {
                self.reset(stage, at, s, m, &mut out.next)?;
                if k == 0 && !m.con_value.is_empty() {
                    s.mechanics.closures(self, interval.q, &mut m.con_value)?;
                    let n = self.robot.nv();
                    for i in 0..m.con_value.len() {
                        m.con.col_mut(i)[..n].copy_from_slice(s.mechanics.closure_row(i));
                    }
                    out.constraints.copy_from_slice(&m.con_value);
                }
            } else {
                match self.formulation {
                    Formulation::Forward => {
                        before = Some(self.forward_step(interval, at, &mut out.memory, s, m)?)
                    }
                    Formulation::Inverse => before = self.inverse_step(interval, at, s, m)?,
                }
                self.add_work(stage.sample, interval, at, (&mut s.mechanics, before), (&mut s.row, m));
                s.advance(self, interval, &mut out.next);
                self.finish_step(interval.step, s, m);
                let n = self.robot.nv();
                out.constraints.copy_from_slice(&s.mechanics.value[n..n + size.constraints]);
            }
        }
        self.add_costs(k, at, s, m);
        s.watch.add(self, stage, at, (&s.mechanics, before), m);
        out.cost = m.cost;
        Ok(())
    }

    fn integrate(&self, _: usize, x: &[f64], dx: &[f64], out: &mut [f64]) {
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        let (q, v) = out.split_at_mut(nq);
        integrate(&self.robot, &x[..nq], &dx[..n], q);
        for j in 0..n {
            v[j] = x[nq + j] + dx[n + j];
        }
    }

    fn difference(&self, _: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        let (q, v) = out.split_at_mut(n);
        difference(&self.robot, &b[..nq], &a[..nq], q);
        for j in 0..n {
            v[j] = a[nq + j] - b[nq + j];
        }
    }

    fn transport(&self, _: usize, a: &[f64], b: &[f64], s: &mut MultibodySpace, out: &mut Mat) -> bool {
        if !self.robot.has_free_flyer() {
            return false;
        }
        let (nq, n) = (self.robot.nq(), self.robot.nv());
        difference_jacobians(&self.robot, &b[..nq], &a[..nq], &mut s.by_other, &mut s.by_q);
        out.reset(2 * n, 2 * n);
        for i in 0..n {
            out.col_mut(i)[..n].copy_from_slice(&s.by_q[n * i..n * (i + 1)]);
            out[(n + i, n + i)] = 1.0;
        }
        true
    }

    fn natural(&self) -> usize {
        if self.torque_sensors.is_empty() { self.map.len() } else { 0 }
    }

    fn naturalise(&self, theta: &[f64], phi: &mut [f64], slopes: &mut Mat) {
        self.map.physical(theta, phi, slopes);
    }

    fn volume_slope(
        &self,
        k: usize,
        at: Point<'_>,
        s: &mut MultibodySpace,
        given: Given<'_>,
        out: &mut [f64],
    ) -> Result<(), String> {
        self.add_volume_slope(k, at, s, given, out)
    }

    fn constrain_parameters(&self, theta: &[f64], out: &mut crate::estimate::ParameterModel) {
        self.bounds.write(&self.robot, &self.map, theta, out);
        let mut first = 0;
        for equation in &self.equations {
            equation.write(&self.robot, &self.map, theta, first, out);
            first += equation.count();
        }
    }
}

#[cfg(test)]
mod tests;
