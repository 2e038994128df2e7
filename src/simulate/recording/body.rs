//! The true robot of a recording, and how it moves.

use std::sync::Arc;

use super::{Footing, RecordingPlan};
use crate::dynamics::Workspace;
use crate::dynamics::actuation::{drive_torque, joint_friction};
use crate::dynamics::constraint::{ConstrainedDynamics, Redundancy};
use crate::recording::{Quantity, Sensor};
use crate::robot::configuration::integrate;
use crate::robot::{Model, Placement};

/// Integration steps within one sampling interval; half as many err sixteen times as much.
const SUBSTEPS: usize = 4;

/// The true robot: forward dynamics with the friction of the arm's plant, integrated by the classical Runge-Kutta rule
/// (in tangent space at the beginning of the step where the base floats).
pub(super) struct Body {
    robot: Arc<Model>,
    pub(super) parameters: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) v: Vec<f64>,
    dynamics: Workspace,
    held: Option<ConstrainedDynamics>,
    active: Vec<bool>,
}

/// Dynamics under the constraints of a recording, if there are any.
pub(super) fn constrained(robot: &Model, footing: &Footing) -> Result<Option<ConstrainedDynamics>, String> {
    if footing.constraints.is_empty() {
        return Ok(None);
    }
    ConstrainedDynamics::new(robot, footing.constraints.clone(), Redundancy::Drop)
        .map(Some)
        .map_err(|e| e.to_string())
}

impl Body {
    /// At rest in `q`, or near it where loops have to be closed first.
    pub(super) fn at_rest(
        robot: Arc<Model>,
        parameters: Vec<f64>,
        q: &[f64],
        footing: &Footing,
    ) -> Result<Self, String> {
        let mut held = constrained(&robot, footing)?;
        let mut q = q.to_vec();
        if let Some(held) = &mut held {
            // Contacts are wherever they are; loops have two ends that must meet.
            let loops: Vec<bool> = footing.constraints.iter().map(|c| c.b.joint.is_some()).collect();
            loops.iter().enumerate().for_each(|(i, l)| held.set_active(i, *l));
            if loops.contains(&true) {
                let p = &parameters[..robot.parameter_count()];
                let left = held.close(&robot, &mut q, p).map_err(|e| e.to_string())?;
                if left > 1e-9 {
                    return Err(format!("loops stay open by {left} m at the start"));
                }
            }
        }
        let active = vec![false; footing.constraints.len()];
        Ok(Self {
            q,
            v: vec![0.0; robot.nv()],
            dynamics: Workspace::new(&robot),
            robot,
            parameters,
            held,
            active,
        })
    }

    /// What a sensor says without noise, for acceleration `a`.
    pub(super) fn tell(&mut self, sensor: &Sensor, a: &[f64]) -> Vec<f64> {
        self.dynamics.place_moving(&self.robot, &self.q, &self.v, a);
        sensor.read(&self.robot, &self.dynamics)
    }

    /// Where a named frame is.
    pub(super) fn place_of(&mut self, frame: usize) -> Placement {
        self.dynamics.place(&self.robot, &self.q);
        self.dynamics.frame_placement(&self.robot.named_frames[frame])
    }

    /// A new phase of contact: feet that touch down stay where they are, and stop.
    pub(super) fn enter(&mut self, active: &[bool]) -> Result<(), String> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let mut begins = false;
        for (i, now) in active.iter().enumerate() {
            held.set_active(i, *now);
            if *now && !self.active[i] {
                begins = true;
                if held.constraints()[i].b.joint.is_none() {
                    held.hold_here(&self.robot, i, &self.q).map_err(|e| e.to_string())?;
                }
            }
        }
        self.active.copy_from_slice(active);
        if begins {
            let p = &self.parameters[..self.robot.parameter_count()];
            held.impulse(&self.robot, &self.q, &self.v, p).map_err(|e| e.to_string())?;
            self.v.copy_from_slice(held.motion());
        }
        Ok(())
    }

    /// One sampling interval under held forces; their work, J. What accelerometers tell is that of its middle.
    pub(super) fn move_on(
        &mut self,
        (plan, interval_s): (&RecordingPlan, f64),
        applied: &[f64],
        told: &mut [Vec<f64>],
    ) -> Result<f64, String> {
        let mut work = 0.0;
        for part in 0..SUBSTEPS {
            if part == SUBSTEPS / 2 && !told.is_empty() {
                let (q, v) = (self.q.clone(), self.v.clone());
                let mut acceleration = vec![0.0; v.len()];
                self.acceleration(&q, &v, applied, &mut acceleration)?;
                for (told, (sensor, _)) in told.iter_mut().zip(&plan.sensors) {
                    if sensor.quantity == Quantity::Acceleration {
                        *told = self.tell(sensor, &acceleration);
                    }
                }
            }
            work += self.runge_kutta(applied, interval_s / SUBSTEPS as f64)?;
        }
        Ok(work)
    }

    /// One step under held forces; their work, J.
    fn runge_kutta(&mut self, tau: &[f64], h: f64) -> Result<f64, String> {
        let n = self.v.len();
        let (mut shift, mut change) = (vec![0.0; n], vec![0.0; n]);
        let (mut speed, mut acceleration) = (self.v.clone(), vec![0.0; n]);
        let (mut q, mut shifted) = (self.q.clone(), vec![0.0; n]);
        for (weight, ahead) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)] {
            self.acceleration(&q, &speed, tau, &mut acceleration)?;
            for j in 0..n {
                shift[j] += weight * h / 6.0 * speed[j];
                change[j] += weight * h / 6.0 * acceleration[j];
                shifted[j] = ahead * h * speed[j];
                speed[j] = self.v[j] + ahead * h * acceleration[j];
            }
            integrate(&self.robot, &self.q, &shifted, &mut q);
        }
        let start = self.q.clone();
        integrate(&self.robot, &start, &shift, &mut self.q);
        self.v.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
        let mut work = tau.iter().zip(&shift).map(|(t, s)| t * s).sum::<f64>();
        for i in self.robot.first_actuated()..self.robot.bodies() {
            let at = self.robot.v_index(i);
            work += (drive_torque(&self.robot, &self.parameters, i, tau[at]) - tau[at]) * shift[at];
        }
        Ok(work)
    }

    /// Whether feet push against the ground, within its friction and on their soles, by the forces of the last step's end.
    pub(super) fn stands(&self, footing: &Footing) -> Result<(), String> {
        let Some(held) = &self.held else { return Ok(()) };
        for (c, hold) in footing.hold.iter().enumerate() {
            let Some(hold) = hold.filter(|_| self.active[c]) else { continue };
            let (name, force) = (&held.constraints()[c].name, held.force_of(c));
            if !(force[2] > 0.0) {
                return Err(format!(
                    "foot `{name}` would lift: the ground would have to pull it by {:.2} N",
                    -force[2]
                ));
            }
            let [friction, pressure] = hold.shares(force, &[0.0; 6]);
            if !(pressure <= 1.0) {
                return Err(format!(
                    "foot `{name}` would tilt: its centre of pressure is at {pressure:.2} times the way to its sole's edge"
                ));
            }
            if !(friction <= 1.0) {
                return Err(format!(
                    "foot `{name}` would slip: it asks for {friction:.2} times the friction that there is"
                ));
            }
        }
        Ok(())
    }

    fn acceleration(&mut self, q: &[f64], v: &[f64], tau: &[f64], a: &mut [f64]) -> Result<(), String> {
        let robot = &*self.robot;
        let mut driving = tau.to_vec();
        for i in robot.first_actuated()..robot.bodies() {
            let at = robot.v_index(i);
            let drive = drive_torque(robot, &self.parameters, i, driving[at]);
            driving[at] = drive - joint_friction(robot, &self.parameters, i, v[at]).0;
        }
        let p = &self.parameters[..robot.parameter_count()];
        if let Some(held) = &mut self.held {
            held.forward(robot, q, v, &driving, p).map_err(|e| e.to_string())?;
            a.copy_from_slice(held.motion());
        } else {
            self.dynamics.forward_dynamics(robot, q, v, &driving, p, a);
        }
        Ok(())
    }
}
