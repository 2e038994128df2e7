//! What is left to say once the stated bounds are refuted: a set under wider bounds, if these hold with room.
//!
//! The smallest bounds that explain some data say nothing of how large the errors are: with them the set is nearly a point, and errors
//! that look like parameters move it away from the truth. So
//! - the bounds are found on the first part of every log alone ([`USED`]), and taken `margin` times;
//! - every joint is granted what the neediest one needs, since data that contradict one another do not tell which joint's torques are
//!   false;
//! - a common gain of all torque sensors, which looks like a heavier or lighter load, is left unknown ([`GAIN`]);
//! - the last part of every log, which nothing was fitted to, must not contradict them.
//!
//! Otherwise no interval is shown, and the reason is. Even so nothing proves the wider bounds; the set is said to be conditional.
//!
//! # The gain
//! With readings g times the true torque but for an error within the sensor's bounds of the reading, a row |y z - u| <= r becomes
//! |y z - kappa u| <= kappa r, kappa = 1/g. That is a row over (z, kappa) with right-hand side zero, and kappa r is at most
//! r times the largest kappa (what r holds beside the torque's error is charged too much then).

use super::refuted::Making;
use super::{ConditionalSet, Study, StudyError};
use crate::identify::additive;
use crate::identify::error::IdentifyError;
use crate::identify::log::MeasurementLog;
use crate::identify::motion::RecordedMotion;
use crate::identify::polytope::Rows;
use crate::identify::recorded::{RecordedRows, sets_within};
use crate::inertia::ParameterSet;
use crate::robot::Sensors;

/// Share of every log that wider bounds are found on; the rest tries them.
const USED: f64 = 2.0 / 3.0;
/// What true torques are taken to be, as a share of the readings: the same for all joints.
const GAIN: [f64; 2] = [0.8, 1.25];

/// The sets after so many windows each.
pub(super) type Sets = Vec<(usize, ParameterSet)>;

impl Study<'_> {
    /// The set under wider bounds, and what they are; none with the reason where there is none to be shown.
    pub(super) fn conditional(&self, making: Making) -> Result<(ConditionalSet, Option<Sets>), StudyError> {
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
            Ok(sets) => (found, Some(sets)),
            Err(reason) => (ConditionalSet { refused: Some(reason), ..found }, None),
        })
    }

    fn wider(&self, making: Making, found: &mut ConditionalSet) -> Result<Result<Sets, String>, StudyError> {
        let (robot, margin) = (self.robot, self.options.margin);
        let parts: Option<Vec<_>> = self.logs.iter().map(|log| log.split(USED)).collect();
        let Some((used, held)) = parts.map(|parts| parts.into_iter().unzip::<_, _, Vec<_>, Vec<_>>()) else {
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
        let (first, last) = (self.granted(&sensors, &used, making)?, self.granted(&sensors, &held, making)?);
        (found.windows_used, found.windows_held_out) = (first.data.windows(), last.data.windows());
        if found.windows_used == 0 || found.windows_held_out == 0 {
            return Ok(Err("too few windows to hold some of them out".to_owned()));
        }
        let bound = additive::smallest(
            self.prior,
            &first.data.rows,
            &first.data.duration,
            robot.dof(),
            robot.end_effector(),
        )?;
        found.torque_nm = margin * bound.sufficient.iter().copied().fold(0.0, f64::max);
        if !found.torque_nm.is_finite() {
            return Ok(Err("no additive torque error explains the first part of the logs".to_owned()));
        }
        self.tried(&first.with(found.torque_nm), &last.with(found.torque_nm), margin)
    }

    /// The sets that the rows of the used part leave, if those held out do not contradict them.
    fn tried(&self, used: &Rows, held: &Rows, margin: f64) -> Result<Result<Sets, String>, StudyError> {
        let unknown = self.options.unknown.indices(self.robot);
        let prior = self.prior.with_further(GAIN);
        let mut sets = match sets_within(self.robot, &prior, used, &unknown) {
            Ok(sets) => sets,
            Err(IdentifyError::AssumptionBroken { .. }) => {
                return Ok(Err("no parameters explain the first part of the logs".to_owned()));
            }
            Err(error) => return Err(error.into()),
        };
        let set = sets.last().map_or(&prior, |(_, set)| set);
        match sets_within(self.robot, set, held, &unknown) {
            Ok(_) => {
                for (_, set) in &mut sets {
                    *set = set.without_last();
                }
                Ok(Ok(sets))
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
    ) -> Result<Granted, StudyError> {
        let mut data = self.rows(sensors, logs, making)?;
        data.rows = data.granting(&self.options.torque_abs_nm);
        Ok(Granted { data, joints: self.robot.dof() })
    }
}

/// Rows of a part of the logs.
struct Granted {
    data: RecordedRows,
    joints: usize,
}

impl Granted {
    /// With so much more mean torque error for every joint, N m, and the gain as the last parameter.
    fn with(&self, more: f64) -> Rows {
        let mut rows = self.data.granting(&vec![more; self.joints]);
        let p = rows.y.ncols();
        rows.y = rows.y.insert_column(p, 0.0);
        for (w, u) in rows.u.iter_mut().enumerate() {
            rows.y[(w, p)] = -*u;
            *u = 0.0;
        }
        rows.radius.iter_mut().for_each(|radius| *radius = (*radius * GAIN[1]).next_up());
        rows
    }
}
