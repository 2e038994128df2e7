//! What is left to say once the stated bounds are refuted: a set under wider bounds, if these hold with room.
//!
//! The smallest bounds that explain some data say nothing of how large the errors are: with them the set is nearly a point, and errors
//! that look like parameters move it away from the truth. So
//! - the bounds are found on the first part of every log alone ([`wider::parted`]), and taken `margin` times;
//! - every joint is granted what the neediest one needs, since data that contradict one another do not tell which joint's torques are
//!   false;
//! - a common gain of all torque sensors, which looks like a heavier or lighter load, is left unknown ([`wider`]);
//! - the last part of every log, which nothing was fitted to, must not contradict them.
//!
//! Otherwise no interval is shown, and the reason is. Even so nothing proves the wider bounds; the set is said to be conditional.

use super::refuted::Making;
use super::{ConditionalSet, IdentificationStudy, StudyError};
use crate::identify::IdentifyError;
use crate::identify::additive;
use crate::identify::motion::RecordedMotion;
use crate::identify::polytope::Rows;
use crate::identify::recorded::{Narrowed, RecordedRows, sets_within, wider};
use crate::recording::MeasurementLog;
use crate::robot::Sensors;

impl IdentificationStudy<'_> {
    /// The set under wider bounds, and what they are; none with the reason where there is none to be shown.
    pub(super) fn conditional(
        &self,
        making: Making,
    ) -> Result<(ConditionalSet, Option<Narrowed>), StudyError> {
        let (robot, margin) = (self.robot, self.options.margin);
        let mut found = ConditionalSet {
            margin,
            position_rad: robot.sensors().position_rad,
            velocity_rad_s: robot.sensors().velocity_rad_s,
            torque_nm: 0.0,
            windows_used: 0,
            windows_held_out: 0,
            refused: None,
        };
        let outcome = self.wider(making, &mut found)?;
        Ok(match outcome {
            Ok(narrowed) => (found, Some(narrowed)),
            Err(reason) => (ConditionalSet { refused: Some(reason), ..found }, None),
        })
    }

    fn wider(
        &self,
        making: Making,
        found: &mut ConditionalSet,
    ) -> Result<Result<Narrowed, String>, StudyError> {
        let (robot, margin) = (self.robot, self.options.margin);
        let Some((used, held)) = wider::parted(making.recorded) else {
            return Ok(Err("a log is too short to hold a part of it out".to_owned()));
        };
        let motion = |logs| RecordedMotion { robot, logs, acceleration: making.acceleration };
        let Some(sensors) = motion(&used).sensors_needed(margin) else {
            return Ok(Err("no bound on the encoders' errors, however wide, explains the motion".to_owned()));
        };
        (found.position_rad, found.velocity_rad_s) = (sensors.position_rad, sensors.velocity_rad_s);
        if !motion(&held).holds_with(&sensors) {
            return Ok(Err(format!(
                "the last part of the logs, held out, moves as encoders with {margin} times the bounds that the first \
                 part needs cannot have it"
            )));
        }
        // Each part by itself: what the torques of one tell is not known before the other begins.
        let in_time = |logs: Vec<MeasurementLog>| -> Option<Vec<MeasurementLog>> {
            logs.into_iter().map(|log| log.with_torque_delay(making.delay_s).ok()).collect()
        };
        let (Some(used), Some(held)) = (in_time(used), in_time(held)) else {
            return Ok(Err("a log is too short for its delay once a part of it is held out".to_owned()));
        };
        let (first, last) = (self.granted(&sensors, &used, making)?, self.granted(&sensors, &held, making)?);
        (found.windows_used, found.windows_held_out) = (first.windows(), last.windows());
        if found.windows_used == 0 || found.windows_held_out == 0 {
            return Ok(Err("too few windows to hold some of them out".to_owned()));
        }
        let bound =
            additive::smallest(self.prior, &first.rows, &first.duration, robot.dof(), robot.end_effector())?;
        found.torque_nm = margin * bound.sufficient.iter().copied().fold(0.0, f64::max);
        if !found.torque_nm.is_finite() {
            return Ok(Err("no additive torque error explains the first part of the logs".to_owned()));
        }
        let with = |data: &RecordedRows| wider::gain_left_open(data, found.torque_nm, robot.dof());
        self.tried(&with(&first), &with(&last), margin)
    }

    /// The sets that the rows of the used part leave, if those held out do not contradict them.
    fn tried(&self, used: &Rows, held: &Rows, margin: f64) -> Result<Result<Narrowed, String>, StudyError> {
        let unknown = self.options.unknown.indices(self.robot);
        let prior = wider::with_gain(self.prior);
        let mut narrowed = match sets_within(self.robot, &prior, used, &unknown) {
            Ok(narrowed) => narrowed,
            Err(IdentifyError::AssumptionBroken { .. }) => {
                return Ok(Err("no parameters explain the first part of the logs".to_owned()));
            }
            Err(error) => return Err(error.into()),
        };
        let set = narrowed.sets.last().map_or(&prior, |(_, set)| set);
        match sets_within(self.robot, set, held, &unknown) {
            Ok(_) => {
                for (_, set) in &mut narrowed.sets {
                    *set = set.without_last();
                }
                Ok(Ok(narrowed))
            }
            Err(IdentifyError::AssumptionBroken { t, joint, .. }) => Ok(Err(format!(
                "the last part of the logs, held out, contradicts {margin} times what the first part needs ({}, window that ends at \
                 t = {t:.3} s)",
                self.robot.joints[joint].name
            ))),
            Err(IdentifyError::PriorExcludesPhysics { .. }) => {
                Ok(Err("no body explains the first part of the logs".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Rows of data with the torque error that was stated.
    fn granted(
        &self,
        sensors: &Sensors,
        logs: &[MeasurementLog],
        making: Making,
    ) -> Result<RecordedRows, StudyError> {
        let mut data = self.rows(sensors, logs, making)?;
        data.rows = data.granting(&self.options.torque_abs_nm);
        Ok(data)
    }
}
