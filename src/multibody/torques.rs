//! What the difference w of the force and the measured torque costs, and whose error it is.
//!
//! As a rule w is a force: what the measured torque leaves out moves the robot. Where it is the sensor's error
//! ([`MultibodyProblem::with_sensor_noise`]), a unit of it is worth the drive's slope s = gain + skew sign(measured), and the
//! cost is that of w / s: with the cost of w itself, smaller gains of all drives and lighter bodies would always fit better.

use super::MultibodyProblem;
use super::mechanics::Interval;
use super::parameters::JointParameter;
use crate::dynamics::actuation::drive_slope;
use crate::estimate::stage::StageModel;
use crate::inertia::INERTIAL;
use crate::linear::dense::axpy;

/// A torque sensor: its joint, and where among theta its gain and its skew are, if they are estimated.
#[derive(Debug, Clone, Copy)]
pub(super) struct TorqueSensor {
    joint: usize,
    gain: Option<usize>,
    skew: Option<usize>,
}

impl MultibodyProblem {
    /// With noise that is the torque sensors' alone: the motion is what a controller makes of it, and the error of a
    /// measured torque moves nothing. The trajectory is then not to be integrated out, and is not.
    pub fn with_sensor_noise(self) -> Self {
        let mut torque_sensors = vec![None; self.robot.nv()];
        for joint in self.robot.first_actuated()..self.robot.bodies() {
            let place = |which| {
                let at = self.map.joints.iter().position(|x| *x == (joint, which));
                at.map(|i| INERTIAL * self.map.bodies.len() + i)
            };
            let (gain, skew) = (place(JointParameter::Gain), place(JointParameter::Skew));
            torque_sensors[self.robot.v_index(joint)] = Some(TorqueSensor { joint, gain, skew });
        }
        Self { torque_sensors, ..self }
    }

    /// The sensor of degree of freedom `j` whose error w is, and the drive's slope.
    fn torque_sensor(&self, p: &[f64], at: Interval<'_>, j: usize) -> Option<(TorqueSensor, f64)> {
        let sensor = (*self.torque_sensors.get(j)?)?;
        Some((sensor, drive_slope(&self.robot, p, sensor.joint, at.tau[j])))
    }

    /// The cost of `noise` in an interval; `p` are the physical parameters.
    pub(super) fn noise_cost(&self, p: &[f64], at: Interval<'_>, noise: &[f64]) -> f64 {
        let error = |j: usize| self.torque_sensor(p, at, j).map_or(noise[j], |(_, slope)| noise[j] / slope);
        0.5 * (0..noise.len()).map(|j| self.force_weight(at.sample, j) * error(j).powi(2)).sum::<f64>()
    }

    /// Adds it to a model whose first variables are the noise.
    pub(super) fn add_noise(
        &self,
        p: &[f64],
        at: Interval<'_>,
        noise: &[f64],
        (row, m): (&mut Vec<f64>, &mut StageModel),
    ) {
        for (j, &w) in noise.iter().enumerate() {
            if self.torque_sensors.is_empty() {
                m.add_direct(w, j, self.force_weight(at.sample, j));
                continue;
            }
            row.clear();
            row.resize(m.n(), 0.0);
            row[j] = 1.0;
            let error = self.refer_to_sensor(p, at, j, w, (m.nt, row));
            m.add_residual(error, row, self.force_weight(at.sample, j));
        }
    }

    /// From `row`, the gradient of the noise `w` of degree of freedom `j`, whose last `nt` numbers are theta's, to that of the
    /// error that costs, which is returned.
    pub(super) fn refer_to_sensor(
        &self,
        p: &[f64],
        at: Interval<'_>,
        j: usize,
        w: f64,
        (nt, row): (usize, &mut [f64]),
    ) -> f64 {
        let Some((sensor, slope)) = self.torque_sensor(p, at, j) else { return w };
        let (error, first) = (w / slope, row.len() - nt);
        row.iter_mut().for_each(|x| *x /= slope);
        // d(w / s) = dw / s - w / s^2 ds.
        for (place, by) in [(sensor.gain, 1.0), (sensor.skew, at.tau[j].signum())] {
            if let Some(i) = place {
                axpy(-error / slope, &[by], &mut row[first + i..=first + i]);
            }
        }
        error
    }
}
