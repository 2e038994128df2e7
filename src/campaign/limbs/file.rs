//! The file of a campaign on limbs.

use std::path::PathBuf;

use serde::Deserialize;

use super::truth::{LimbTruthFile, SpringFile};

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct LimbsFile {
    /// Name of the campaign.
    pub(in crate::campaign) name: String,
    /// Robot TOML, URDF or bare name, from the folder of this file: what is known of the robot.
    pub(in crate::campaign) robot: PathBuf,
    /// Seeds 1 to this: each draws a truth of its own.
    pub(in crate::campaign) seeds: u64,
    /// How far the truth is from the files.
    pub(in crate::campaign) truth: LimbTruthFile,
    /// Springs of the truth; left out: it is as rigid as the files say.
    #[serde(default)]
    pub(in crate::campaign) springs: Vec<SpringsFile>,
    /// Sensors.
    pub(in crate::campaign) noise: SensorNoiseFile,
    /// Control.
    pub(in crate::campaign) control: ControlFile,
    /// Of velocities; accelerations are central differences of what it gives.
    pub(in crate::campaign) filter: FilterFile,
    /// Exciting motions.
    pub(in crate::campaign) excitation: ExcitingFile,
    /// Prediction.
    pub(in crate::campaign) prediction: PredictionFile,
    /// Tracking.
    pub(in crate::campaign) tracking: TrackingFile,
    /// What is promised; left out: nothing.
    pub(in crate::campaign) promise: Option<LimbPromiseFile>,
}

/// A robot with joints where the files have rigid springs. The limbs are tried with each of these as well as rigid.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct SpringsFile {
    /// Its name in tables.
    pub(in crate::campaign) label: String,
    /// Robot TOML with the springs as joints, from the folder of this file.
    pub(in crate::campaign) robot: PathBuf,
    /// The springs.
    pub(in crate::campaign) spring: Vec<SpringFile>,
}

/// Normal errors of what is measured of the motors, their deviations.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct SensorNoiseFile {
    /// Of positions, rad.
    pub(in crate::campaign) position_rad: f64,
    /// Of velocities, rad/s.
    pub(in crate::campaign) velocity_rad_s: f64,
    /// Of torques, N m.
    pub(in crate::campaign) torque_nm: f64,
}

/// How limbs are controlled and simulated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct ControlFile {
    /// Period of control and of recordings, s.
    pub(in crate::campaign) period_s: f64,
    /// Steps of the simulated limb in a period.
    pub(in crate::campaign) plant_steps: usize,
}

/// A zero-phase Butterworth low-pass.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct FilterFile {
    /// Order of one pass.
    pub(in crate::campaign) order: usize,
    /// Frequency of one pass's -3 dB, Hz.
    pub(in crate::campaign) cutoff_hz: f64,
}

/// Exciting motions, found with the files' parameters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct ExcitingFile {
    /// How many are learnt from.
    pub(in crate::campaign) motions: usize,
    /// Duration of each, s.
    pub(in crate::campaign) duration_s: f64,
    /// Changes of a motion that are tried.
    pub(in crate::campaign) evaluations: usize,
    /// Least proven singular value of the loops' Jacobian by the passive joints, m/rad.
    pub(in crate::campaign) least_singular_value: f64,
    /// Natural frequency of the PD controller, rad/s.
    pub(in crate::campaign) bandwidth_rad_s: f64,
    /// Draws the motions.
    pub(in crate::campaign) seed: u64,
}

/// Prediction of further motions one after the other, of another search.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct PredictionFile {
    /// How many.
    pub(in crate::campaign) motions: usize,
    /// Duration of each, s.
    pub(in crate::campaign) duration_s: f64,
    /// Segments that all of it is cut into.
    pub(in crate::campaign) segments: usize,
}

/// Tracking of sines.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct TrackingFile {
    /// Largest speeds, rad/s; where a motor would need more than nine tenths of its torque or speed by the files, its limb is as much slower.
    pub(in crate::campaign) speeds_rad_s: Vec<f64>,
    /// Share of the motors' ranges that sines use.
    pub(in crate::campaign) range_share: f64,
    /// In which they grow from rest, s; errors count from then on.
    pub(in crate::campaign) ramp_s: f64,
    /// Duration, s.
    pub(in crate::campaign) duration_s: f64,
    /// Natural frequency of the PD controller, rad/s.
    pub(in crate::campaign) bandwidth_rad_s: f64,
}

/// What is promised of every motor.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::campaign) struct LimbPromiseFile {
    /// Torque errors are at most so many times those by the true parameters, which are what noise and friction outside the class leave.
    pub(in crate::campaign) torque_factor: f64,
    /// The median over motors of how many times better predictions are than by the files.
    pub(in crate::campaign) prediction_factor: f64,
    /// Mean and largest tracking errors are at most this share of those by the files.
    pub(in crate::campaign) tracking_share: f64,
    /// Largest tracking error of limbs with loops, degrees.
    pub(in crate::campaign) looped_deg: f64,
    /// Largest tracking error of other limbs, degrees.
    pub(in crate::campaign) open_deg: f64,
}

impl LimbsFile {
    /// The first number that is none of its kind, its field and what was expected.
    pub(in crate::campaign) fn fault(&self) -> Option<(String, String)> {
        if let Some((field, reason)) = self.truth.fault() {
            return Some((format!("truth.{field}"), reason));
        }
        if let Some((field, _)) = self.positive().into_iter().find(|(_, x)| !(*x > 0.0 && x.is_finite())) {
            let more = if field == "tracking.duration_s" { ", and more than `ramp_s`" } else { "" };
            return Some((field, format!("expected a finite number above 0{more}")));
        }
        if let Some((field, x)) = self.sizes().into_iter().find(|(_, x)| !(*x >= 0.0 && x.is_finite())) {
            return Some((field, format!("is {x}, expected a finite number >= 0")));
        }
        let Self { control, excitation, prediction, tracking, filter, .. } = self;
        let counts = [
            ("seeds", self.seeds as usize),
            ("control.plant_steps", control.plant_steps),
            ("filter.order", filter.order),
            ("excitation.motions", excitation.motions),
            ("prediction.motions", prediction.motions),
            ("prediction.segments", prediction.segments),
        ];
        if let Some((field, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Some(((*field).to_owned(), "is 0, expected at least 1".to_owned()));
        }
        let samples = prediction.motions as f64 * prediction.duration_s / control.period_s;
        let (share, segments, cutoff) = (tracking.range_share, prediction.segments, filter.cutoff_hz);
        let (field, reason) = if share >= 1.0 {
            ("tracking.range_share", format!("is {share}, expected a share below 1"))
        } else if samples < 20.0 * segments as f64 {
            ("prediction.segments", format!("is {segments}, expected at least 20 samples a segment"))
        } else if 2.0 * cutoff * control.period_s >= 1.0 {
            ("filter.cutoff_hz", format!("is {cutoff}, expected less than half of the rate of control"))
        } else {
            return None;
        };
        Some((field.to_owned(), reason))
    }

    /// Of each spring a number, and its field.
    fn of_springs(&self, name: &str, pick: fn(&SpringFile) -> f64) -> Vec<(String, f64)> {
        let mut all = vec![];
        for (i, springs) in self.springs.iter().enumerate() {
            let own = springs.spring.iter().enumerate();
            all.extend(own.map(|(k, spring)| (format!("springs[{i}].spring[{k}].{name}"), pick(spring))));
        }
        all
    }

    /// What has to be above 0, with its field.
    fn positive(&self) -> Vec<(String, f64)> {
        let Self { control, excitation, prediction, tracking, promise, .. } = self;
        let mut all = vec![
            ("control.period_s", control.period_s),
            ("filter.cutoff_hz", self.filter.cutoff_hz),
            ("excitation.duration_s", excitation.duration_s),
            ("excitation.bandwidth_rad_s", excitation.bandwidth_rad_s),
            ("prediction.duration_s", prediction.duration_s),
            ("tracking.range_share", tracking.range_share),
            ("tracking.ramp_s", tracking.ramp_s),
            ("tracking.duration_s", tracking.duration_s - tracking.ramp_s),
            ("tracking.bandwidth_rad_s", tracking.bandwidth_rad_s),
        ];
        if let Some(promise) = promise {
            all.extend([
                ("promise.torque_factor", promise.torque_factor),
                ("promise.prediction_factor", promise.prediction_factor),
                ("promise.tracking_share", promise.tracking_share),
                ("promise.looped_deg", promise.looped_deg),
                ("promise.open_deg", promise.open_deg),
            ]);
        }
        let mut all: Vec<_> = all.into_iter().map(|(field, x)| (field.to_owned(), x)).collect();
        let speeds = tracking.speeds_rad_s.iter().enumerate();
        all.extend(speeds.map(|(i, x)| (format!("tracking.speeds_rad_s[{i}]"), *x)));
        all.extend(self.of_springs("stiffness_nm_rad", |spring| spring.stiffness_nm_rad));
        all
    }

    /// What has to be 0 or more, with its field.
    fn sizes(&self) -> Vec<(String, f64)> {
        let all = [
            ("noise.position_rad", self.noise.position_rad),
            ("noise.velocity_rad_s", self.noise.velocity_rad_s),
            ("noise.torque_nm", self.noise.torque_nm),
            ("excitation.least_singular_value", self.excitation.least_singular_value),
        ];
        let mut all: Vec<_> = all.into_iter().map(|(field, x)| (field.to_owned(), x)).collect();
        all.extend(self.of_springs("damping_nm_s_rad", |spring| spring.damping_nm_s_rad));
        all
    }
}
