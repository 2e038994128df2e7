//! Recordings of robots with closed loops, whose passive joints need no sensors, and of whole robots of which one limb is looked at.

use std::path::Path;

use super::file::File;
use super::load::Reader;
use crate::dynamics::constraint::reduced::motors_and_base;
use crate::estimate::error::EstimateError;
use crate::recording::{LogRequest, MeasurementLog, MissingReadings};
use crate::robot::Model;
use crate::study::limbs::MotorLog;

/// The robot whose limb a problem is about.
#[derive(Debug)]
pub(super) struct Whole {
    /// Its base is held.
    pub robot: Model,
    /// Index of each joint of the limb.
    pub joints: Vec<usize>,
}

impl Reader<'_> {
    /// A recording of the problem's robot. Where the problem is about a limb it is one of the whole robot, and with closed loops it may be of the motors alone.
    /// What was not measured is zero, and has to be stated so.
    pub(super) fn read_log(
        &self,
        path: &Path,
        file: &File,
        request: &LogRequest,
    ) -> Result<MeasurementLog, EstimateError> {
        let refused = |e: crate::recording::LogError| EstimateError::Recording { reason: e.to_string() };
        let (robot, joints) = match &self.whole {
            Some(whole) => (&whole.robot, whole.joints.clone()),
            None => (&*self.robot, (0..self.robot.joints.len()).collect()),
        };
        if robot.has_free_flyer() || !(file.loops || self.whole.is_some()) {
            return MeasurementLog::read_request(path, robot, request).map_err(refused);
        }
        let MotorLog { mut log, passive } = MotorLog::read(path, robot, request).map_err(refused)?;
        let driven = motors_and_base(robot);
        let column = |joint: &usize| if passive { Some(*joint) } else { driven.binary_search(joint).ok() };
        let columns: Vec<Option<usize>> = joints.iter().map(column).collect();
        self.check_unmeasured(file, &columns)?;
        pick(&mut log, &columns);
        Ok(log)
    }

    /// That nothing is believed of readings which are not there: joints without a column.
    fn check_unmeasured(&self, file: &File, columns: &[Option<usize>]) -> Result<(), EstimateError> {
        let d = &file.deviations;
        for (field, numbers) in [("deviations.q_rad", &d.q_rad), ("deviations.dq_rad_s", &d.dq_rad_s)] {
            let stated = self.measured(field, numbers, columns.len())?;
            let believed = |j: &usize| columns[*j].is_none() && stated[*j].is_finite();
            if let Some(j) = (0..columns.len()).find(believed) {
                let name = &self.robot.joints[j].name;
                let reason = format!("{} for joint `{name}`, which the log lacks, expected inf", stated[j]);
                return self.error(field, reason);
            }
        }
        Ok(())
    }
}

/// Keeps these columns of positions, velocities and torques, in this order; zero where there is none.
fn pick(log: &mut MeasurementLog, columns: &[Option<usize>]) {
    for sample in &mut log.samples {
        for numbers in [&mut sample.q, &mut sample.dq, &mut sample.tau] {
            *numbers = columns.iter().map(|column| column.map_or(0.0, |k| numbers[k])).collect();
        }
    }
    let places = |missing: &[usize]| -> Vec<usize> {
        let lacks = |column: &Option<usize>| column.is_some_and(|k| missing.contains(&k));
        (0..columns.len()).filter(|&j| lacks(&columns[j])).collect()
    };
    for missing in &mut log.missing {
        let MissingReadings { q, dq, tau } = &*missing;
        *missing = MissingReadings { q: places(q), dq: places(dq), tau: places(tau) };
    }
}
