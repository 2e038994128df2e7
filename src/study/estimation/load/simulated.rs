//! What a problem file asks to be simulated: the truth, how the robot is driven, and what its sensors make of it.

use nalgebra::{Matrix3, Vector3};

use super::super::file::{self, File};
use super::Reader;
use crate::dynamics::actuation::extended_parameters;
use crate::estimate::error::EstimateError;
use crate::inertia::pseudo::from_center_of_mass;
use crate::multibody::JointParameter;
use crate::multibody::Observation;
use crate::simulate::{
    Drive, Ground, HiddenParameters, Noise, ReadingRates, Reads, Recording, RecordingPlan, record,
};
use crate::study::estimation::footing::Stamps;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Stream of random numbers that friction is drawn from, beside those of noise and ground.
const FRICTION: u64 = 3;
/// What `step_s` may differ by from the fastest sensor's interval, as a share of it.
const EVEN: f64 = 1e-6;

impl Reader<'_> {
    /// Nominal parameters with the file's truth in them.
    fn truth(&self, file: &File, seed: u64) -> Result<HiddenParameters, EstimateError> {
        let (robot, mut p) = (&self.robot, extended_parameters(&self.robot));
        for (i, payload) in file.truth.payload.iter().enumerate() {
            let field = format!("truth.payload[{i}]");
            let at = robot.body_range(self.link(&field, &payload.link)?);
            let inertia = Matrix3::from_diagonal(&Vector3::from(payload.inertia_kg_m2));
            let object = from_center_of_mass(payload.mass_kg, &Vector3::from(payload.center_m), &inertia);
            p[at].iter_mut().zip(object).for_each(|(x, o)| *x += o);
        }
        if let Some(factor) = file.truth.friction_factor {
            if !(factor >= 1.0 && factor.is_finite()) {
                return self.error("truth.friction_factor", format!("{factor}, expected a number >= 1"));
            }
            let mut draw = ChaCha8Rng::seed_from_u64(seed);
            draw.set_stream(FRICTION);
            let driven = |&i: &usize| robot.joints[i].limits.torque > 0.0;
            for i in (robot.first_actuated()..robot.bodies()).filter(driven) {
                for which in [JointParameter::Coulomb, JointParameter::Viscous] {
                    p[which.index(robot, i)] *= factor.powf(draw.random_range(-1.0..=1.0));
                }
            }
        }
        for (i, joint) in file.truth.joint.iter().enumerate() {
            self.finite(&format!("truth.joint[{i}].value"), &[joint.value])?;
            let j = self.joint(&format!("truth.joint[{i}]"), &joint.name)?;
            p[joint.parameter.index(robot, j)] = joint.value;
        }
        HiddenParameters::new(robot, p).or_else(|reason| self.error("truth", reason))
    }

    /// Number of samples of a simulated log.
    pub(super) fn count(&self, step: f64, s: &file::Simulate) -> Result<usize, EstimateError> {
        let count = (s.duration_s / step).round();
        if (2.0..=1e7).contains(&count) {
            return Ok(count as usize);
        }
        let duration = s.duration_s;
        let reason = format!("{duration} s at step_s = {step} s, expected two to ten million samples");
        self.error("simulate.duration_s", reason)
    }

    /// When a simulated robot's samples are taken, and what is read then.
    pub(in crate::study::estimation) fn reads(
        &self,
        s: &file::Simulate,
        step_s: f64,
    ) -> Result<Vec<Reads>, EstimateError> {
        if let Some((field, reason)) = s.reading_fault() {
            return self.error(&field, reason);
        }
        let Some(file::Rates { joints, base, torques }) = s.rates_hz else {
            return Ok(Reads::everything(step_s, self.count(step_s, s)?));
        };
        let fastest = joints.max(base).max(torques);
        self.count(1.0 / fastest, s)?;
        if (step_s * fastest - 1.0).abs() > EVEN {
            let reason = format!(
                "{step_s} s, expected that of the fastest sensor of `simulate.rates_hz`, {} s",
                1.0 / fastest
            );
            return self.error("step_s", reason);
        }
        Ok(ReadingRates { joints, base, torques }.samples(s.duration_s))
    }

    /// What is to be simulated, under a law that believes `believed` (extended; the nominal parameters if left out).
    pub(in crate::study::estimation) fn plan(
        &self,
        file: &File,
        (s, stamps, samples): (&file::Simulate, &Stamps, Vec<Reads>),
        observations: &[Observation],
        believed: Option<Vec<f64>>,
    ) -> Result<RecordingPlan, EstimateError> {
        let contacts = self.simulated_contacts(file, stamps)?;
        self.check_ground(file, s, stamps)?;
        let n = self.robot.nq();
        if s.start_rad.len() != n {
            return self.error("simulate.start_rad", format!("{} numbers, expected {n}", s.start_rad.len()));
        }
        self.finite("simulate.start_rad", &s.start_rad)?;
        if let Some(reason) = self.turned_wrong(&s.start_rad) {
            return self.error("simulate.start_rad", reason);
        }
        for (name, x) in
            [("q_rad", s.noise.q_rad), ("dq_rad_s", s.noise.dq_rad_s), ("tau_nm", s.noise.tau_nm)]
        {
            if !(x >= 0.0 && x.is_finite()) {
                return self.error(&format!("simulate.noise.{name}"), format!("{x}, expected a number >= 0"));
            }
        }
        let drive = match &s.posture {
            None => self.drive(s)?,
            Some(posture) if s.sines.is_none() && s.torques.is_none() => {
                self.posture(file, posture, stamps)?
            }
            Some(_) => return self.error("simulate.posture", "expected no other drive beside it".into()),
        };
        Ok(RecordingPlan {
            start: s.start_rad.clone(),
            drive,
            step_s: s.rates_hz.is_none().then_some(file.step_s).flatten(),
            believed,
            footing: Self::footing(file, &contacts),
            samples,
            ground: s
                .ground
                .as_ref()
                .map(|g| Ground { height_error_m: g.height_error_m, told_time_error_s: g.told_time_error_s }),
            sensors: observations.iter().zip(&file.sensor).map(|(o, f)| (o.sensor, f.noise)).collect(),
            noise: Noise {
                q: s.noise.q_rad,
                dq: s.noise.dq_rad_s,
                tau: s.noise.tau_nm,
                work: file.energy.as_ref().map_or(0.0, |e| e.noise_j),
            },
            seed: s.seed,
        })
    }

    /// Whether feet can step on the simulated ground, and what is told of them be put in order.
    fn check_ground(&self, file: &File, s: &file::Simulate, stamps: &Stamps) -> Result<(), EstimateError> {
        let (Some(ground), Some(posture)) = (&s.ground, &s.posture) else { return Ok(()) };
        if file.contact.is_empty() || file.loops {
            let reason = "needs feet in `contact`, and a robot without `loops`";
            return self.error("simulate.ground", reason.into());
        }
        if ground.height_error_m >= posture.height_m {
            let reason = format!(
                "{}, expected less than `posture.height_m`, {}",
                ground.height_error_m, posture.height_m
            );
            return self.error("simulate.ground.height_error_m", reason);
        }
        for c in 0..file.contact.len() {
            for [from, to] in self.lifted_times(file, stamps, c)? {
                if to - from <= 2.0 * ground.told_time_error_s {
                    let reason = format!(
                        "{}, expected less than half of a step of {} s",
                        ground.told_time_error_s,
                        to - from
                    );
                    return self.error("simulate.ground.told_time_error_s", reason);
                }
            }
        }
        Ok(())
    }

    /// Lets the simulated robot move.
    pub(in crate::study::estimation) fn simulate(
        &self,
        file: &File,
        plan: &RecordingPlan,
    ) -> Result<Recording, EstimateError> {
        record(&self.robot, self.truth(file, plan.seed)?, plan)
            .or_else(|reason| self.error("simulate", reason))
    }

    fn drive(&self, s: &file::Simulate) -> Result<Drive, EstimateError> {
        let n = self.robot.nv();
        let joints = |field: &str, list: &[f64]| {
            if list.len() != n {
                return self.error(field, format!("{} numbers, expected {n}", list.len()));
            }
            self.finite(field, list).map(|()| list.to_vec())
        };
        if let Some((field, reason)) = s.drive_fault() {
            return self.error(&field, reason);
        }
        match (&s.sines, &s.torques) {
            (None, None) => Ok(Drive::Free),
            (Some(sines), None) => Ok(Drive::Sines {
                amplitude: joints("simulate.sines.amplitude_rad", &sines.amplitude_rad)?,
                frequency_hz: self.positive("simulate.sines.frequency_hz", sines.frequency_hz)?,
                harmonics: sines.harmonics,
                bandwidth_rad_s: self.positive("simulate.sines.bandwidth_rad_s", sines.bandwidth_rad_s)?,
            }),
            (None, Some(torques)) => Ok(Drive::Torques {
                offset: if torques.offset_nm.is_empty() {
                    vec![0.0; n]
                } else {
                    joints("simulate.torques.offset_nm", &torques.offset_nm)?
                },
                amplitude: joints("simulate.torques.amplitude_nm", &torques.amplitude_nm)?,
                frequency_hz: self.positive("simulate.torques.frequency_hz", torques.frequency_hz)?,
                harmonics: torques.harmonics,
            }),
            (Some(_), Some(_)) => {
                self.error("simulate.torques", "given beside `sines`, expected one of them".into())
            }
        }
    }
}
