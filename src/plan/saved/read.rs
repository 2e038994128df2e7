//! Plans read back from their files, and proven again.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Plan, PlanError, SCHEMA, SCHEMA_LAW, SCHEMA_LOOPS, SCHEMA_PIECES};
use crate::certify::{Certificate, MomentumProblem, Partition, Problem, Refusal, Workspaces, certify_in};
use crate::enclose::Rounding;
use crate::reach::cell::joints_fault;
use crate::reach::{PreparedSet, TrackingTube};

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
        if !(SCHEMA..=SCHEMA_LOOPS).contains(&schema) {
            return Err(PlanError::Schema { path, found: schema });
        }
        // Its robot is checked as it is read; sizes and numbers of the rest are the certifier's to check.
        let plan: Self = serde_json::from_str(text).map_err(parse_error)?;
        let expected = super::schema(&plan.scene, plan.curve.view(), &plan.tube);
        if plan.schema < expected {
            let why = match expected {
                SCHEMA_LOOPS => "its feedback runs in the motors",
                SCHEMA_LAW => "its tube is of another law",
                SCHEMA_PIECES => "its curve has several pieces",
                _ => "an obstacle moves",
            };
            let reason = format!("schema {schema}, but {why}: expected {expected}");
            return Err(PlanError::Content { path, reason });
        }
        Ok(plan)
    }

    /// Repeats the proof in the arithmetic `R`; after `before` as in [`super::PlanStart::after`] and [`super::PlanStart::after_momentum`].
    ///
    /// # Errors
    /// [`Refusal`] names constraint, time and place that cannot be proven. A plan of the momentum law that starts in motion is refused without the one before.
    pub fn verify<R: Rounding>(
        &self,
        before: Option<(&Plan, f64)>,
        partition: Partition,
    ) -> Result<Certificate, Refusal> {
        match &self.tube {
            TrackingTube::Energy(tube) => {
                let problem = Problem::new(&self.robot, &self.set, &self.scene, tube, &self.curve)?;
                certify_in(&problem, &self.start.after(before)?, partition, &Workspaces::<R>::default())
            }
            TrackingTube::Momentum(bounded) => {
                let set_before = before.map(|(plan, _)| plan.prepared()).transpose()?;
                let before = before.map(|(plan, _)| plan).zip(set_before.as_ref());
                let start = self.start.after_momentum(before)?;
                let set = self.prepared()?;
                let problem = MomentumProblem::new(&self.robot, &set, &self.scene, &self.curve, start)?;
                problem.certify_bounded::<R>(bounded, partition)
            }
        }
    }

    /// Its set as proof and controller use it. Sizes in a file may be any.
    fn prepared(&self) -> Result<PreparedSet, Refusal> {
        let n = self.robot.dof();
        joints_fault(&self.robot.name, n).map_or(Ok(()), |fault| Err(Refusal::Unsupported(fault)))?;
        match self.set.fault(n, self.robot.parameter_count(), self.curve.duration_s()) {
            Some(fault) => Err(Refusal::Unsupported(format!("parameter set: {fault}"))),
            None => Ok(PreparedSet::new(&self.robot, &self.set)),
        }
    }
}
