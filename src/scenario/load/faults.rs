//! `[faults]`: what is false in the simulated world although the task says otherwise; see [`crate::simulate::faults`].

use serde::Deserialize;

use super::Check;
use crate::robot::Arm;
use crate::scenario::ScenarioError;
use crate::simulate::Faults;
use crate::simulate::faults::{
    ClockJump, DroppedSamples, FrozenEncoder, MisplacedStart, PayloadSlips, TorqueGain,
};

/// The table as written; joints by name.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FaultTable {
    /// The held object weighs this, kg; first moment and inertia scale with it.
    pub payload_mass_kg: Option<f64>,
    /// The held object moves in the hand.
    payload_slips: Option<Slips>,
    /// Torque sensors read too much or too little.
    torque_gain: Option<Gain>,
    /// True over nominal friction (Coulomb and viscous, all joints), less 1.
    friction_ratio: Option<f64>,
    /// The base leans by this, whatever the robot's file allows.
    base_tilt_deg: Option<f64>,
    /// A joint starts elsewhere than the task says.
    misplaced_start: Option<Misplaced>,
    /// An encoder repeats itself.
    frozen_encoder: Option<Frozen>,
    /// The time stamps jump.
    clock_jump: Option<Jump>,
    /// Samples are lost.
    dropped_samples: Option<Dropped>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slips {
    /// When, s.
    at_s: f64,
    /// By how much, in the frame of the last joint, m.
    by_m: [f64; 3],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gain {
    /// Read over true torque, less 1.
    ratio: f64,
    /// At this joint; left out: at all.
    joint: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Misplaced {
    /// Which joint.
    joint: String,
    /// By how much, rad (m).
    by_rad: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frozen {
    /// Which joint.
    joint: String,
    /// From when on, s.
    at_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Jump {
    /// When, s.
    at_s: f64,
    /// By how much, s; below 0: back.
    by_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dropped {
    /// When, s.
    at_s: f64,
    /// How many in a row.
    count: u64,
    /// And again after so long, s; left out: once.
    every_s: Option<f64>,
}

impl Check<'_> {
    /// The faults, joints by index.
    pub(super) fn faults(&self, table: FaultTable, robot: &Arm) -> Result<Faults, ScenarioError> {
        let joint = |field: &str, name: String| {
            let found = robot.joints.iter().position(|joint| joint.name == name);
            found.ok_or_else(|| self.error(field, format!("`{name}` is no joint of the robot")))
        };
        let time = |field: &str, at_s: f64| {
            let fine = at_s.is_finite() && at_s >= 0.0;
            if fine { Ok(()) } else { Err(self.error(field, format!("{at_s}, expected a time >= 0 in s"))) }
        };
        let ratio = |field: &str, x: f64| {
            let fine = x.is_finite() && x > -1.0;
            if fine { Ok(()) } else { Err(self.error(field, format!("{x}, expected a finite number > -1"))) }
        };
        let payload_slips = match table.payload_slips {
            None => None,
            Some(Slips { at_s, by_m }) => {
                time("faults.payload_slips.at_s", at_s)?;
                self.finite("faults.payload_slips.by_m", &by_m)?;
                Some(PayloadSlips { at_s, by_m })
            }
        };
        let torque_gain = match table.torque_gain {
            None => None,
            Some(gain) => {
                ratio("faults.torque_gain.ratio", gain.ratio)?;
                let only = gain.joint.map(|name| joint("faults.torque_gain.joint", name)).transpose()?;
                Some(TorqueGain { ratio: gain.ratio, joint: only })
            }
        };
        if let Some(x) = table.friction_ratio {
            ratio("faults.friction_ratio", x)?;
        }
        if let Some(tilt) = table.base_tilt_deg
            && !(0.0..=45.0).contains(&tilt)
        {
            let reason = format!("{tilt}, expected an angle from 0 to 45 degrees");
            return Err(self.error("faults.base_tilt_deg", reason));
        }
        let misplaced_start = match table.misplaced_start {
            None => None,
            Some(Misplaced { joint: name, by_rad }) => {
                self.finite("faults.misplaced_start.by_rad", &[by_rad])?;
                Some(MisplacedStart { joint: joint("faults.misplaced_start.joint", name)?, by_rad })
            }
        };
        let frozen_encoder = match table.frozen_encoder {
            None => None,
            Some(frozen) => {
                time("faults.frozen_encoder.at_s", frozen.at_s)?;
                let joint = joint("faults.frozen_encoder.joint", frozen.joint)?;
                Some(FrozenEncoder { joint, at_s: frozen.at_s })
            }
        };
        let clock_jump = match table.clock_jump {
            None => None,
            Some(Jump { at_s, by_s }) => {
                time("faults.clock_jump.at_s", at_s)?;
                self.finite("faults.clock_jump.by_s", &[by_s])?;
                Some(ClockJump { at_s, by_s })
            }
        };
        let dropped_samples = match table.dropped_samples {
            None => None,
            Some(Dropped { at_s, count, every_s }) => {
                time("faults.dropped_samples.at_s", at_s)?;
                every_s.map_or(Ok(()), |every| self.positive("faults.dropped_samples.every_s", every))?;
                Some(DroppedSamples { at_s, count, every_s })
            }
        };
        Ok(Faults {
            payload_slips,
            torque_gain,
            friction_ratio: table.friction_ratio,
            base_tilt_deg: table.base_tilt_deg,
            misplaced_start,
            frozen_encoder,
            clock_jump,
            dropped_samples,
        })
    }
}
