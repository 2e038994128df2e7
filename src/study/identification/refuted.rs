//! Which of the stated assumptions the recordings contradict, and bound by bound what would be enough.

use super::{Assumption, BrokenAssumption, IdentificationStudy, StudyError, Verdict};
use crate::identify::IdentifyError;
use crate::identify::factor::{Scaled, smallest_factor};
use crate::identify::motion::{BrokenMotion, Comparison, MotionBound, RecordedMotion, Remedy};
use crate::identify::recorded::{RecordedRows, numbered_rows};
use crate::recording::MeasurementLog;
use crate::robot::Sensors;

/// What rows of data are made with, beside the sensor bounds.
#[derive(Clone, Copy)]
pub(super) struct Making<'a> {
    /// Bound on |ddq_j|, rad/s^2.
    pub acceleration: &'a [f64],
    /// What is left of the torques' delay, s.
    pub shift_s: f64,
    /// What was taken out of it, s.
    pub delay_s: f64,
    /// The logs before it was. Encoders against encoders know no delay, so their motion is compared over every step of these; taking a
    /// delay out leaves no torque for the ends of segments.
    pub recorded: &'a [MeasurementLog],
}

impl IdentificationStudy<'_> {
    /// Rows of data with these sensor bounds, those of joints at their speed limit left out.
    pub(super) fn rows(
        &self,
        sensors: &Sensors,
        logs: &[MeasurementLog],
        making: Making,
    ) -> Result<RecordedRows, IdentifyError> {
        let robot = self
            .robot
            .with_sensors(sensors.clone())
            .map_err(|error| IdentifyError::Arm(error.to_string()))?;
        let window_s = self.options.window_s;
        numbered_rows(&robot, self.prior, logs, window_s, making.acceleration, making.shift_s)
    }

    /// The verdict on the motion of all logs as recorded and, if the rows of data are refuted (`torque`: end of the window and joint), on these.
    pub(super) fn verdict(
        &self,
        making: Making,
        torque: Option<(f64, usize)>,
    ) -> Result<Verdict, StudyError> {
        let (logs, acceleration) = (making.recorded, making.acceleration);
        let motion = RecordedMotion { robot: self.robot, logs, acceleration };
        let found = motion.broken();
        let time_stamps_s = if found.is_empty() { None } else { motion.stamps_enough() };
        let mut broken: Vec<_> = found.into_iter().map(|found| self.broken_motion(found)).collect();
        if let Some((t_s, joint)) = torque {
            broken.push(BrokenAssumption {
                assumption: Assumption::Torque,
                log: None,
                joint: self.robot.joints[joint].name.clone(),
                t_s,
                over_s: self.options.window_s,
                steps: None,
                remedies: self.torque_remedies(making)?,
            });
        }
        Ok(if broken.is_empty() { Verdict::Consistent } else { Verdict::Refuted { broken, time_stamps_s } })
    }

    fn broken_motion(&self, found: BrokenMotion) -> BrokenAssumption {
        BrokenAssumption {
            assumption: match found.comparison {
                Comparison::PositionAgainstVelocity => Assumption::PositionAgainstVelocity,
                Comparison::VelocityAgainstAcceleration => Assumption::VelocityAgainstAcceleration,
            },
            log: Some(self.logs[found.log].path.display().to_string()),
            joint: self.robot.joints[found.joint].name.clone(),
            t_s: found.t,
            over_s: found.over_s,
            steps: Some([found.steps, found.of]),
            remedies: found.remedies,
        }
    }

    /// Factors on the sensor bounds, from the prior and rows made anew with each.
    fn torque_remedies(&self, making: Making) -> Result<Vec<Remedy>, StudyError> {
        let one = |(bound, scaled): (MotionBound, Scaled)| -> Result<Remedy, StudyError> {
            let (robot, sensors) = (self.robot, self.robot.sensors());
            let rows = |sensors: &Sensors| {
                Ok(self.rows(sensors, self.logs, making)?.granting(&self.options.torque_abs_nm))
            };
            let found = smallest_factor(self.prior, robot.end_effector(), sensors, scaled, rows)?;
            Ok(Remedy { bound, at_least: Some(found.at_least), enough: found.enough })
        };
        [(MotionBound::Torque, Scaled::Torque), (MotionBound::Sensors, Scaled::Sensors)]
            .into_iter()
            .map(one)
            .collect()
    }
}
