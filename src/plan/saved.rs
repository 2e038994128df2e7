//! Saved plans: everything that a proof needs, in one JSON file that another process can check.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::inertia::ParameterSet;
use crate::reach::Tube;
use crate::robot::{Arm, Scene};
use crate::trajectory::{Pieces, PiecewiseBezier};

use crate::certify::{Certificate, Partition, Predecessor, Problem, Refusal, Start, Workspaces, certify_in};
use crate::enclose::Rounding;

/// Version of the plan file.
pub const SCHEMA: u32 = 4;
/// Version of one in which an obstacle moves: a program that knows no such obstacles must not take them for others.
const SCHEMA_MOVING: u32 = 5;
/// Version of one whose curve has several pieces.
const SCHEMA_PIECES: u32 = 6;

/// Version of a plan file with this scene and this curve.
pub fn schema(scene: &Scene, curve: Pieces<'_>) -> u32 {
    if curve.single().is_none() {
        SCHEMA_PIECES
    } else if scene.moves() {
        SCHEMA_MOVING
    } else {
        SCHEMA
    }
}

/// Where a plan starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanStart {
    /// At rest, where the arm stands.
    Rest,
    /// Where the plan before it is after so many ticks.
    AfterTicks(u64),
}

impl PlanStart {
    /// How a plan starts, where `before` is the plan that was executed before it, of which this excess has been proven. Without that plan the
    /// start of one that starts in motion is believed.
    pub fn after(self, before: Option<(&Plan, f64)>) -> Start<'_> {
        match (self, before) {
            (PlanStart::Rest, _) => Start::Rest,
            (PlanStart::AfterTicks(_), None) => Start::Believed,
            (PlanStart::AfterTicks(ticks), Some((plan, excess))) => {
                Start::After(Predecessor { curve: plan.curve.view(), tube: &plan.tube, excess, ticks })
            }
        }
    }
}

/// A trajectory together with all that it was proven against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this format: 4, at least 5 where an obstacle moves, 6 where the curve has several pieces.
    pub schema: u32,
    /// When the plan starts, s since the start of the run.
    pub t_start_s: f64,
    /// From where.
    pub start: PlanStart,
    /// The desired motion.
    pub curve: PiecewiseBezier,
    /// Constants of the controller and its proof.
    pub tube: Tube,
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
    #[error("{}: plan schema {found}, this program reads {SCHEMA} to {SCHEMA_PIECES}", path.display())]
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

impl Plan {
    /// Reads a plan from JSON.
    ///
    /// # Errors
    /// [`PlanError`] names the file: unreadable, no JSON of a plan, of another version, or with indices that point nowhere.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, PlanError> {
        let path = path.as_ref().to_path_buf();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(source) => return Err(PlanError::Read { path, source }),
        };
        Self::parse(&text, path)
    }

    /// Reads a plan from a text in JSON.
    ///
    /// # Errors
    /// As [`Plan::load`], without a file's name.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        Self::parse(text, PathBuf::from("plan"))
    }

    fn parse(text: &str, path: PathBuf) -> Result<Self, PlanError> {
        /// An older plan lacks fields: its version is looked at first.
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let parse_error = |source| PlanError::Parse { path: path.clone(), source };
        let Version { schema } = serde_json::from_str(text).map_err(parse_error)?;
        if !(SCHEMA..=SCHEMA_PIECES).contains(&schema) {
            return Err(PlanError::Schema { path, found: schema });
        }
        // Its robot is checked as it is read; sizes and numbers of the rest are the certifier's to check.
        let plan: Self = serde_json::from_str(text).map_err(parse_error)?;
        let expected = self::schema(&plan.scene, plan.curve.view());
        if plan.schema < expected {
            let several = "its curve has several pieces";
            let why = if expected == SCHEMA_PIECES { several } else { "an obstacle moves" };
            let reason = format!("schema {schema}, but {why}: expected {expected}");
            return Err(PlanError::Content { path, reason });
        }
        Ok(plan)
    }

    /// Repeats the proof in the arithmetic `R`; after `before` as in [`PlanStart::after`].
    ///
    /// # Errors
    /// [`Refusal`] names constraint, time and place that cannot be proven.
    pub fn verify<R: Rounding>(
        &self,
        before: Option<(&Plan, f64)>,
        partition: Partition,
    ) -> Result<Certificate, Refusal> {
        let problem = Problem::new(&self.robot, &self.set, &self.scene, &self.tube, &self.curve)?;
        certify_in(&problem, &self.start.after(before), partition, &Workspaces::<R>::default())
    }
}
