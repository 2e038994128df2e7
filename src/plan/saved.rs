//! Saved plans: everything that a proof needs, in one JSON file that another process can check.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::certify::{Certificate, MomentumStart, Predecessor, Start, StartRefusal};
use crate::inertia::ParameterSet;
use crate::reach::momentum::MomentumPredecessor;
use crate::reach::{PreparedSet, TrackingTube};
use crate::robot::{Arm, Scene};
use crate::trajectory::{Pieces, PiecewiseBezier};

#[cfg(any(feature = "verify", not(surelift_program)))]
mod read;

/// Version of the plan file.
pub const SCHEMA: u32 = 4;
/// Version of one in which an obstacle moves: a program that knows no such obstacles must not take them for others.
const SCHEMA_MOVING: u32 = 5;
/// Version of one whose curve has several pieces.
const SCHEMA_PIECES: u32 = 6;
/// Version of one that is proven for another law than the first.
const SCHEMA_LAW: u32 = 7;
/// Version of one whose feedback runs in the motors.
const SCHEMA_LOOPS: u32 = 8;

/// Version of a plan file with this scene, curve and tube.
pub fn schema(scene: &Scene, curve: Pieces<'_>, tube: &TrackingTube) -> u32 {
    if tube.energy().is_some_and(|tube| tube.motor_loops.is_some()) {
        SCHEMA_LOOPS
    } else if tube.energy().is_none() {
        SCHEMA_LAW
    } else if curve.single().is_none() {
        SCHEMA_PIECES
    } else if scene.moves() {
        SCHEMA_MOVING
    } else {
        SCHEMA
    }
}

/// Where a plan starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanStart {
    /// At rest, where the arm stands.
    Rest,
    /// Where the plan before it is after so many ticks; under the momentum law, whose ticks need not be even, after so many control periods of its clock: at the
    /// first tick that is not before.
    AfterTicks(u64),
}

impl PlanStart {
    /// How a plan of the first law starts, where `before` is the plan that was executed before it, of which this excess has been proven. Without that plan the
    /// start of one that starts in motion is believed.
    ///
    /// # Errors
    /// If the plan before is of another law.
    pub fn after(self, before: Option<(&Plan, f64)>) -> Result<Start<'_>, StartRefusal> {
        match (self, before) {
            (PlanStart::Rest, _) => Ok(Start::Rest),
            (PlanStart::AfterTicks(_), None) => Ok(Start::Believed),
            (PlanStart::AfterTicks(ticks), Some((plan, excess))) => {
                let tube = plan.tube.energy().ok_or(StartRefusal::OtherLaw)?;
                Ok(Start::After(Predecessor { curve: plan.curve.view(), tube, excess, ticks }))
            }
        }
    }

    /// How a plan of the momentum law starts, after `before` with its set as it was prepared.
    ///
    /// # Errors
    /// If it starts in motion and the plan before is not known, or is of another law.
    pub fn after_momentum<'a>(
        self,
        before: Option<(&'a Plan, &'a PreparedSet)>,
    ) -> Result<MomentumStart<'a>, StartRefusal> {
        let PlanStart::AfterTicks(ticks) = self else { return Ok(MomentumStart::Rest) };
        let (plan, set) = before.ok_or(StartRefusal::Unknown)?;
        let bounded = plan.tube.momentum().ok_or(StartRefusal::OtherLaw)?;
        let at_s = ticks as f64 * plan.tube.period_s();
        Ok(MomentumStart::After(MomentumPredecessor {
            set,
            tube: &bounded.tube,
            curve: plan.curve.view(),
            at_s,
        }))
    }
}

/// A trajectory together with all that it was proven against.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this format: 4, at least 5 where an obstacle moves, 6 where the curve has several pieces, 7 for the momentum law, 8 where the feedback runs in the motors.
    pub schema: u32,
    /// When the plan starts, s since the start of the run.
    pub t_start_s: f64,
    /// From where.
    pub start: PlanStart,
    /// The desired motion.
    pub curve: PiecewiseBezier,
    /// Constants of the controller and its proof.
    pub tube: TrackingTube,
    /// Parameters that the proof quantifies over.
    pub set: ParameterSet,
    /// Obstacles.
    pub scene: Scene,
    /// The robot, payload shape included.
    pub robot: Arm,
    /// What was proven when the plan was made.
    pub certificate: Certificate,
}

/// A plan file that cannot be used.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error("{}: cannot read the plan: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is not a plan.
    #[error("{}: not a plan file: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Field and line.
        source: serde_json::Error,
    },
    /// The file has another version.
    #[error("{}: plan schema {found}, this program reads {SCHEMA} to {SCHEMA_LOOPS}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The robot or the scene inside the file is malformed.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}
