//! `[faults]`: what is false in the simulated world although the task says otherwise; see [`crate::simulate::faults`].

use serde::Deserialize;

use super::Check;
use crate::robot::{Arm, EncoderSide, Scene, Zonotope3};
use crate::scenario::ScenarioError;
use crate::simulate::Faults;
use crate::simulate::faults::{
    ClampedDrive, ClockJump, DroppedSamples, ElasticJoints, FastObstacle, FrozenEncoder, LateReadings,
    LostEncoder, MisplacedStart, PayloadDropped, PayloadSlips, PlannerStalls, TorqueGain,
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
    /// An encoder says nothing any more.
    lost_encoder: Option<Lost>,
    /// A drive gives less than it is asked for, and does not tell.
    clamped_drive: Option<Clamped>,
    /// Springs between the transmissions and the links.
    elastic_joints: Option<Elastic>,
    /// An obstacle is faster than it is said to be.
    fast_obstacle: Option<Fast>,
    /// The held object is let go.
    payload_dropped: Option<Drop>,
    /// Encoders are read late.
    late_readings: Option<Late>,
    /// The planner is busy with something else; shows where plans have to be ready in time.
    planner_stalls: Option<Stalls>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lost {
    /// Which joint.
    joint: String,
    /// From when on, s.
    at_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clamped {
    /// At this joint; left out: at all.
    joint: Option<String>,
    /// From when on, s.
    at_s: f64,
    /// Largest torque over the limit, > 0.
    share: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fast {
    /// Which obstacle; it must have a speed.
    obstacle: String,
    /// From when on, s.
    at_s: f64,
    /// How many times as fast as its path says, > 0.
    factor: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Drop {
    /// When, s.
    at_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Late {
    /// From when on, s.
    at_s: f64,
    /// By how many control periods, 1 to 1000.
    periods: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stalls {
    /// Hits the first plan that would start then or later, s.
    at_s: f64,
    /// For how long, s on the clock; at most 60.
    for_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Elastic {
    /// Stiffness of each joint, N m/rad (N/m), > 0.
    stiffness_nm_rad: Vec<f64>,
    /// Where the encoders are.
    encoders: EncoderSide,
}

/// The faults of one table.
struct FaultCheck<'a> {
    check: &'a Check<'a>,
    robot: &'a Arm,
    scene: &'a Scene,
}

impl Check<'_> {
    /// The faults, joints by index.
    pub(super) fn faults(
        &self,
        table: FaultTable,
        robot: &Arm,
        scene: &Scene,
    ) -> Result<Faults, ScenarioError> {
        let check = FaultCheck { check: self, robot, scene };
        // In the order of the table: the first mistake is the one that is told.
        let payload_slips = table.payload_slips.map(|slips| check.payload_slips(slips)).transpose()?;
        let torque_gain = table.torque_gain.map(|gain| check.torque_gain(gain)).transpose()?;
        if let Some(x) = table.friction_ratio {
            check.ratio("faults.friction_ratio", x)?;
        }
        if let Some(tilt) = table.base_tilt_deg
            && !(0.0..=45.0).contains(&tilt)
        {
            let reason = format!("{tilt}, expected an angle from 0 to 45 degrees");
            return Err(self.error("faults.base_tilt_deg", reason));
        }
        Ok(Faults {
            payload_slips,
            torque_gain,
            friction_ratio: table.friction_ratio,
            base_tilt_deg: table.base_tilt_deg,
            misplaced_start: table.misplaced_start.map(|start| check.misplaced_start(start)).transpose()?,
            frozen_encoder: table.frozen_encoder.map(|frozen| check.frozen_encoder(frozen)).transpose()?,
            clock_jump: table.clock_jump.map(|jump| check.clock_jump(jump)).transpose()?,
            dropped_samples: table
                .dropped_samples
                .map(|dropped| check.dropped_samples(dropped))
                .transpose()?,
            lost_encoder: table.lost_encoder.map(|lost| check.lost_encoder(lost)).transpose()?,
            clamped_drive: table.clamped_drive.map(|clamped| check.clamped_drive(clamped)).transpose()?,
            elastic_joints: table.elastic_joints.map(|elastic| check.elastic_joints(elastic)).transpose()?,
            fast_obstacle: table.fast_obstacle.map(|fast| check.fast_obstacle(fast)).transpose()?,
            payload_dropped: table.payload_dropped.map(|drop| check.payload_dropped(drop)).transpose()?,
            late_readings: table.late_readings.map(|late| check.late_readings(late)).transpose()?,
            planner_stalls: table.planner_stalls.map(|stalls| check.planner_stalls(stalls)).transpose()?,
        })
    }
}

impl FaultCheck<'_> {
    fn error(&self, field: &str, reason: String) -> ScenarioError {
        self.check.error(field, reason)
    }

    fn joint(&self, field: &str, name: &str) -> Result<usize, ScenarioError> {
        let found = self.robot.joints.iter().position(|joint| joint.name == name);
        found.ok_or_else(|| self.error(field, format!("`{name}` is no joint of the robot")))
    }

    fn time(&self, field: &str, at_s: f64) -> Result<(), ScenarioError> {
        let fine = at_s.is_finite() && at_s >= 0.0;
        if fine { Ok(()) } else { Err(self.error(field, format!("{at_s}, expected a time >= 0 in s"))) }
    }

    fn ratio(&self, field: &str, x: f64) -> Result<(), ScenarioError> {
        let fine = x.is_finite() && x > -1.0;
        if fine { Ok(()) } else { Err(self.error(field, format!("{x}, expected a finite number > -1"))) }
    }

    fn payload_slips(&self, Slips { at_s, by_m }: Slips) -> Result<PayloadSlips, ScenarioError> {
        self.time("faults.payload_slips.at_s", at_s)?;
        self.check.finite("faults.payload_slips.by_m", &by_m)?;
        Ok(PayloadSlips { at_s, by_m })
    }

    fn torque_gain(&self, gain: Gain) -> Result<TorqueGain, ScenarioError> {
        self.ratio("faults.torque_gain.ratio", gain.ratio)?;
        let only = gain.joint.map(|name| self.joint("faults.torque_gain.joint", &name)).transpose()?;
        Ok(TorqueGain { ratio: gain.ratio, joint: only })
    }

    fn misplaced_start(&self, start: Misplaced) -> Result<MisplacedStart, ScenarioError> {
        self.check.finite("faults.misplaced_start.by_rad", &[start.by_rad])?;
        let joint = self.joint("faults.misplaced_start.joint", &start.joint)?;
        Ok(MisplacedStart { joint, by_rad: start.by_rad })
    }

    fn frozen_encoder(&self, frozen: Frozen) -> Result<FrozenEncoder, ScenarioError> {
        self.time("faults.frozen_encoder.at_s", frozen.at_s)?;
        let joint = self.joint("faults.frozen_encoder.joint", &frozen.joint)?;
        Ok(FrozenEncoder { joint, at_s: frozen.at_s })
    }

    fn lost_encoder(&self, lost: Lost) -> Result<LostEncoder, ScenarioError> {
        self.time("faults.lost_encoder.at_s", lost.at_s)?;
        let joint = self.joint("faults.lost_encoder.joint", &lost.joint)?;
        Ok(LostEncoder { joint, at_s: lost.at_s })
    }

    fn clamped_drive(&self, clamped: Clamped) -> Result<ClampedDrive, ScenarioError> {
        self.time("faults.clamped_drive.at_s", clamped.at_s)?;
        self.check.positive("faults.clamped_drive.share", clamped.share)?;
        let only = clamped.joint.map(|name| self.joint("faults.clamped_drive.joint", &name)).transpose()?;
        Ok(ClampedDrive { joint: only, at_s: clamped.at_s, share: clamped.share })
    }

    fn elastic_joints(&self, elastic: Elastic) -> Result<ElasticJoints, ScenarioError> {
        let field = "faults.elastic_joints.stiffness_nm_rad";
        let (found, expected) = (elastic.stiffness_nm_rad.len(), self.robot.dof());
        if found != expected {
            return Err(self.error(field, format!("{found} numbers, expected {expected}, one a joint")));
        }
        elastic.stiffness_nm_rad.iter().try_for_each(|&k| self.check.positive(field, k))?;
        if let Some(joint) = self.robot.joints.iter().find(|joint| joint.friction.armature <= 0.0) {
            let reason = format!("joint '{}' has no transmission inertia before its spring", joint.name);
            return Err(self.error("faults.elastic_joints", reason));
        }
        Ok(ElasticJoints { stiffness_nm_rad: elastic.stiffness_nm_rad, encoders: elastic.encoders })
    }

    fn fast_obstacle(&self, fast: Fast) -> Result<FastObstacle, ScenarioError> {
        self.time("faults.fast_obstacle.at_s", fast.at_s)?;
        self.check.positive("faults.fast_obstacle.factor", fast.factor)?;
        let moving = |obstacle: &Zonotope3| obstacle.moves() && obstacle.name == fast.obstacle;
        let found = self.scene.obstacles.iter().position(moving);
        let unknown = || format!("`{}` is no obstacle with a `speed_m_s`", fast.obstacle);
        let obstacle = found.ok_or_else(|| self.error("faults.fast_obstacle.obstacle", unknown()))?;
        Ok(FastObstacle { obstacle, at_s: fast.at_s, factor: fast.factor })
    }

    fn payload_dropped(&self, Drop { at_s }: Drop) -> Result<PayloadDropped, ScenarioError> {
        self.time("faults.payload_dropped.at_s", at_s)?;
        Ok(PayloadDropped { at_s })
    }

    fn late_readings(&self, Late { at_s, periods }: Late) -> Result<LateReadings, ScenarioError> {
        self.time("faults.late_readings.at_s", at_s)?;
        if !(1..=1000).contains(&periods) {
            let reason = format!("{periods}, expected 1 to 1000 control periods");
            return Err(self.error("faults.late_readings.periods", reason));
        }
        Ok(LateReadings { at_s, periods })
    }

    fn planner_stalls(&self, Stalls { at_s, for_s }: Stalls) -> Result<PlannerStalls, ScenarioError> {
        self.time("faults.planner_stalls.at_s", at_s)?;
        if !(for_s > 0.0 && for_s <= 60.0) {
            let reason = format!("{for_s}, expected more than 0 and at most 60 s");
            return Err(self.error("faults.planner_stalls.for_s", reason));
        }
        Ok(PlannerStalls { at_s, for_s })
    }

    fn clock_jump(&self, Jump { at_s, by_s }: Jump) -> Result<ClockJump, ScenarioError> {
        self.time("faults.clock_jump.at_s", at_s)?;
        self.check.finite("faults.clock_jump.by_s", &[by_s])?;
        Ok(ClockJump { at_s, by_s })
    }

    fn dropped_samples(&self, dropped: Dropped) -> Result<DroppedSamples, ScenarioError> {
        let Dropped { at_s, count, every_s } = dropped;
        self.time("faults.dropped_samples.at_s", at_s)?;
        every_s.map_or(Ok(()), |every| self.check.positive("faults.dropped_samples.every_s", every))?;
        Ok(DroppedSamples { at_s, count, every_s })
    }
}
