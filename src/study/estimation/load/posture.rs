//! The posture that a simulated robot of a problem file follows.

use std::path::Path;

use nalgebra::Vector3;

use super::super::file::{File, PostureFile};
use super::super::footing::Stamps;
use super::Reader;
use crate::estimate::error::EstimateError;
use crate::simulate::posture::{Circle, Foot, Jump, Posture};
use crate::simulate::{Drive, Sway};
use crate::study::standing::read_motion;

/// What torques cost the law if nobody says it, see `simulate.posture.effort`.
const AROUND_THE_START: f64 = 1e-3;
const ALONG_A_MOTION: f64 = 1e-6;

impl Reader<'_> {
    /// The posture: its feet are the contacts.
    pub(in crate::study::estimation) fn posture(
        &self,
        file: &File,
        p: &PostureFile,
        stamps: &Stamps,
    ) -> Result<Drive, EstimateError> {
        self.positive("simulate.posture.bandwidth_rad_s", p.bandwidth_rad_s)?;
        self.finite("simulate.posture.sway", p.sway.as_flattened())?;
        self.finite("simulate.posture.speed_m_s", &p.speed_m_s)?;
        self.finite("simulate.posture.moving_s", &p.moving_s)?;
        self.finite("simulate.posture.step_m", &p.step_m)?;
        self.finite("simulate.posture.height_m", &[p.height_m])?;
        let mut joints = vec![[0.0; 2]; self.robot.nv()];
        for (i, swing) in p.joint.iter().enumerate() {
            let joint = self.joint(&format!("simulate.posture.joint[{i}].name"), &swing.name)?;
            self.finite(&format!("simulate.posture.joint[{i}]"), &[swing.amplitude_rad, swing.frequency_hz])?;
            joints[self.robot.v_index(joint)] = [swing.amplitude_rad, swing.frequency_hz];
        }
        if let Some(j) = &p.jump {
            self.finite("simulate.posture.jump", &[j.at_s, j.crouch_m])?;
            self.positive("simulate.posture.jump.lasts_s", j.lasts_s)?;
            self.positive("simulate.posture.jump.flight_s", j.flight_s)?;
        }
        let jump = p.jump.as_ref().map(|j| Jump {
            at: j.at_s,
            crouch: j.crouch_m,
            lasts: j.lasts_s,
            flight: j.flight_s,
        });
        Ok(Drive::Posture(Box::new(Posture {
            sway: p.sway,
            speed: Vector3::from(p.speed_m_s),
            moving: p.moving_s,
            jump,
            feet: self.feet(file, p, stamps)?,
            circles: self.circles(p)?,
            joints,
            series: p.motion.as_ref().map(|motion| self.motion(file, motion)).transpose()?,
            bandwidth: p.bandwidth_rad_s,
            effort: {
                let usual = if p.motion.is_some() { ALONG_A_MOTION } else { AROUND_THE_START };
                self.positive("simulate.posture.effort", p.effort.unwrap_or(usual))?
            },
        })))
    }

    fn feet(&self, file: &File, p: &PostureFile, stamps: &Stamps) -> Result<Vec<Foot>, EstimateError> {
        let mut feet = Vec::new();
        for (c, contact) in file.contact.iter().enumerate() {
            feet.push(Foot {
                frame: self.frame(&format!("contact[{c}].frame"), &contact.frame)?,
                kind: contact.kind,
                lifted: self.lifted_times(file, stamps, c)?,
                step: Vector3::from(p.step_m),
                height: p.height_m,
            });
        }
        Ok(feet)
    }

    fn circles(&self, p: &PostureFile) -> Result<Vec<Circle>, EstimateError> {
        let mut circles = Vec::new();
        for (c, circle) in p.circle.iter().enumerate() {
            let field = |name: &str| format!("simulate.posture.circle[{c}].{name}");
            self.finite(&field("frequency_hz"), &[circle.frequency_hz])?;
            circles.push(Circle {
                frame: self.frame(&field("frame"), &circle.frame)?,
                radius: self.positive(&field("radius_m"), circle.radius_m)?,
                frequency_hz: circle.frequency_hz,
                normal: circle.normal as usize,
            });
        }
        Ok(circles)
    }

    /// The motion of a `summary.json` of `surelift excite`, if it begins where the simulated robot does.
    fn motion(&self, file: &File, motion: &Path) -> Result<Sway, EstimateError> {
        let path = self.path.parent().unwrap_or(Path::new("")).join(motion);
        let (series, start) = read_motion(&self.robot, &path)
            .or_else(|error| self.error("simulate.posture.motion", error.to_string()))?;
        let own = file.simulate.as_ref().map_or(&[][..], |simulate| &simulate.start_rad);
        if start.iter().zip(own).any(|(a, b)| (a - b).abs() > 1e-9) || start.len() != own.len() {
            let reason = format!("is not where `{}` starts: expected {start:?}", path.display());
            return self.error("simulate.start_rad", reason);
        }
        Ok(series)
    }
}
