//! What sensors beside encoders tell: residuals with their derivatives.

use nalgebra::{Quaternion, Rotation3, UnitQuaternion, Vector3};

use super::MultibodyProblem;
use super::contacts::{Kind, Stage};
use super::deviations::weights;
use super::mechanics::Mechanics;
use crate::dynamics::{Axes, FrameDerivatives, Workspace};
use crate::estimate::error::EstimateError;
use crate::estimate::problem::Point;
use crate::estimate::stage::StageModel;
use crate::linear::dense::{axpy, dot};
use crate::linear::rigid_motion::left_jacobian3_inverse;
use crate::recording::{Quantity, Sensor};
use crate::robot::Model;

/// A sensor and how far it may be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The sensor.
    pub sensor: Sensor,
    /// Standard deviations of its three numbers (of an orientation: along the frame's axes); infinite ones count nothing.
    pub deviation: [f64; 3],
    /// Constraint during whose phases alone the sensor is read: a foot's place is known while it stands on the ground.
    pub standing: Option<usize>,
}

/// A checked observation.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    sensor: Sensor,
    weights: [f64; 3],
    standing: Option<usize>,
    /// Where its readings begin in a sample's.
    first: usize,
}

impl Observed {
    /// Observations in the order of their readings, and the number of these.
    ///
    /// # Errors
    /// When a sensor's deviation, frame or contact makes no sense.
    pub fn all(
        robot: &Model,
        observations: &[Observation],
        constraints: usize,
    ) -> Result<(Vec<Self>, usize), EstimateError> {
        let mut first = 0;
        let mut all = Vec::with_capacity(observations.len());
        for (i, o) in observations.iter().enumerate() {
            if o.sensor.frame >= robot.named_frames.len() || o.standing.is_some_and(|c| c >= constraints) {
                let reason = format!("sensor {i} is on a frame or bound to a contact that does not exist");
                return Err(EstimateError::Schedule { reason });
            }
            let name = &robot.named_frames[o.sensor.frame].name;
            let w = weights(&format!("sensor {i} on `{name}`"), &o.deviation, 3, true)?;
            all.push(Self { sensor: o.sensor, weights: [w[0], w[1], w[2]], standing: o.standing, first });
            first += o.sensor.quantity.count();
        }
        Ok((all, first))
    }

    /// Whether it counts in this stage.
    fn counts(&self, problem: &MultibodyProblem, stage: Stage) -> bool {
        let phase = &problem.schedule.contacts.phases[stage.phase];
        let stands = self.standing.is_none_or(|c| phase.active[c]);
        let here = if self.sensor.quantity == Quantity::Acceleration {
            stage.kind == Kind::Step
        } else {
            stage.observed
        };
        stands && here
    }
}

/// Scratch space.
#[derive(Debug)]
pub(super) struct Watch {
    workspace: Workspace,
    slopes: FrameDerivatives,
    zero: Vec<f64>,
    /// Derivatives of the three residuals to q, v, a; 3 x nv, row-major.
    by_q: Vec<f64>,
    by_v: Vec<f64>,
    by_a: Vec<f64>,
    row: Vec<f64>,
}

impl Watch {
    pub fn new(robot: &Model) -> Self {
        let n = robot.nv();
        Self {
            workspace: Workspace::new(robot),
            slopes: FrameDerivatives::new(robot),
            zero: vec![0.0; n],
            by_q: vec![0.0; 3 * n],
            by_v: vec![0.0; 3 * n],
            by_a: vec![0.0; 3 * n],
            row: Vec::new(),
        }
    }

    /// The residuals for the placed motion; with derivatives if `slopes`.
    fn residual(&mut self, robot: &Model, o: &Observed, reading: &[f64], slopes: bool) -> Vector3<f64> {
        let (frame, n) = (&robot.named_frames[o.sensor.frame], robot.nv());
        let place = self.workspace.frame_placement(frame);
        let axes = match o.sensor.quantity {
            Quantity::Orientation | Quantity::Rate | Quantity::Velocity => Axes::Local,
            Quantity::Acceleration | Quantity::Position => Axes::WorldAligned,
        };
        if slopes {
            self.workspace.frame_derivatives(robot, frame, axes, &mut self.slopes);
            [&mut self.by_q, &mut self.by_v, &mut self.by_a].into_iter().for_each(|x| x.fill(0.0));
        }
        let d = &self.slopes;
        let triple = |m: &[f64], first: usize, c: usize| {
            Vector3::new(m[n * first + c], m[n * (first + 1) + c], m[n * (first + 2) + c])
        };
        let put = |to: &mut [f64], c: usize, x: Vector3<f64>| (0..3).for_each(|r| to[n * r + c] = x[r]);
        match o.sensor.quantity {
            Quantity::Orientation => {
                let q = Quaternion::new(reading[3], reading[0], reading[1], reading[2]);
                let told = UnitQuaternion::from_quaternion(q).to_rotation_matrix();
                let apart = Rotation3::from_matrix_unchecked(told.matrix().tr_mul(&place.rotation));
                let apart = UnitQuaternion::from_rotation_matrix(&apart).scaled_axis();
                if slopes {
                    let turn = left_jacobian3_inverse(&apart).transpose();
                    (0..n).for_each(|c| put(&mut self.by_q, c, turn * triple(&d.jacobian, 3, c)));
                }
                apart
            }
            quantity @ (Quantity::Rate | Quantity::Velocity) => {
                let first = if quantity == Quantity::Rate { 3 } else { 0 };
                if slopes {
                    for c in 0..n {
                        put(&mut self.by_q, c, triple(&d.velocity_by_q, first, c));
                        put(&mut self.by_v, c, triple(&d.jacobian, first, c));
                    }
                }
                let twist = self.workspace.frame_velocity(frame, Axes::Local);
                Vector3::from_column_slice(&twist[first..first + 3]) - Vector3::from_column_slice(reading)
            }
            Quantity::Position => {
                if slopes {
                    (0..n).for_each(|c| put(&mut self.by_q, c, triple(&d.jacobian, 0, c)));
                }
                place.translation - Vector3::from_column_slice(reading)
            }
            Quantity::Acceleration => {
                let a = self.workspace.frame_acceleration(frame, Axes::WorldAligned);
                let force = Vector3::new(a[0], a[1], a[2]) - robot.gravity;
                if slopes {
                    for c in 0..n {
                        // R'y changes by R'(dy + y x dphi) when the frame turns by dphi.
                        let turned = force.cross(&triple(&d.jacobian, 3, c));
                        let moved = triple(&d.acceleration_by_q, 0, c) + turned;
                        put(&mut self.by_q, c, place.rotation.tr_mul(&moved));
                        put(&mut self.by_v, c, place.rotation.tr_mul(&triple(&d.acceleration_by_v, 0, c)));
                        put(&mut self.by_a, c, place.rotation.tr_mul(&triple(&d.jacobian, 0, c)));
                    }
                }
                place.rotation.tr_mul(&force) - Vector3::from_column_slice(reading)
            }
        }
    }

    /// Places the robot where the observation looks: at the state, or in the middle of the interval.
    fn place(&mut self, problem: &MultibodyProblem, o: &Observed, at: Point<'_>, mechanics: &Mechanics) {
        let robot = &*problem.robot;
        if o.sensor.quantity == Quantity::Acceleration {
            self.workspace.place_moving(robot, &mechanics.middle, &mechanics.speed, &mechanics.acceleration);
        } else {
            let (q, v) = at.x.split_at(robot.nq());
            self.workspace.place_moving(robot, q, v, &self.zero);
        }
    }

    /// Costs of a stage; `mechanics` stands where its interval has been evaluated.
    pub fn cost(
        &mut self,
        problem: &MultibodyProblem,
        stage: Stage,
        at: Point<'_>,
        mechanics: &Mechanics,
    ) -> f64 {
        let Some(readings) = problem.readings.get(stage.sample) else { return 0.0 };
        let mut cost = 0.0;
        for o in problem.observed.iter().filter(|o| o.counts(problem, stage)) {
            self.place(problem, o, at, mechanics);
            let reading = &readings[o.first..o.first + o.sensor.quantity.count()];
            if reading.iter().any(|x| x.is_nan()) {
                continue;
            }
            let r = self.residual(&problem.robot, o, reading, false);
            cost += 0.5 * (0..3).map(|i| o.weights[i] * r[i] * r[i]).sum::<f64>();
        }
        cost
    }

    /// Adds the costs of a stage to its model, whose variables before the state are (a, forces) or, with the derivatives
    /// of a in `mechanics` from row `before` on, noise.
    pub fn add(
        &mut self,
        problem: &MultibodyProblem,
        stage: Stage,
        at: Point<'_>,
        (mechanics, before): (&Mechanics, Option<usize>),
        m: &mut StageModel,
    ) {
        let Some(readings) = problem.readings.get(stage.sample) else { return };
        let (n, nu) = (problem.robot.nv(), m.nu);
        for o in problem.observed.iter().filter(|o| o.counts(problem, stage)) {
            self.place(problem, o, at, mechanics);
            let reading = &readings[o.first..o.first + o.sensor.quantity.count()];
            if reading.iter().any(|x| x.is_nan()) {
                continue;
            }
            let r = self.residual(&problem.robot, o, reading, true);
            for i in (0..3).filter(|&i| o.weights[i] > 0.0) {
                let part = n * i..n * (i + 1);
                self.row.clear();
                self.row.resize(m.n(), 0.0);
                let (by_q, by_v) = (&mut self.by_q[part.clone()], &mut self.by_v[part.clone()]);
                if o.sensor.quantity == Quantity::Acceleration {
                    let by_a = &mut self.by_a[part];
                    mechanics.chain(problem, by_q, by_v, by_a);
                    match before {
                        None => self.row[..n].copy_from_slice(by_a),
                        Some(before) => {
                            let width = m.n();
                            for (j, slope) in by_a.iter().enumerate() {
                                axpy(
                                    *slope,
                                    &mechanics.solution[width * (before + j)..][..width],
                                    &mut self.row,
                                );
                            }
                        }
                    }
                }
                axpy(1.0, by_q, &mut self.row[nu..nu + n]);
                axpy(1.0, by_v, &mut self.row[nu + n..nu + 2 * n]);
                if m.substitution.active && o.sensor.quantity == Quantity::Acceleration {
                    let moved = dot(&self.by_a[n * i..n * (i + 1)], &m.substitution.shift[..n]);
                    m.add_moved_residual(r[i], moved, &self.row, o.weights[i]);
                } else {
                    m.add_residual(r[i], &self.row, o.weights[i]);
                }
            }
        }
    }
}
