//! How a simulated legged robot follows its posture under a law that believes other parameters.

use std::path::Path;
use std::sync::Arc;

use super::EstimationStudy;
use super::file::File;
use super::footing::Stamps;
use super::load::{Reader, field_error};
use crate::estimate::error::EstimateError;
use crate::robot::Model;
use crate::simulate::posture::PostureReference;
use crate::simulate::{Drive, Posture};

/// What a simulated robot did, and what it should have done, sample by sample.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowedPosture {
    /// Configurations that it should have been in (nq numbers).
    pub wanted: Vec<Vec<f64>>,
    /// Configurations that it was in.
    pub reached: Vec<Vec<f64>>,
    /// Named frames of its feet, and whether each was in the air, sample by sample.
    pub feet: Vec<(usize, Vec<bool>)>,
}

impl EstimationStudy {
    /// The robot of the problem file at `path`, and the posture that its simulation follows.
    ///
    /// # Errors
    /// As [`EstimationStudy::load`]; a problem that simulates no `posture` is named.
    pub fn posture(path: impl AsRef<Path>) -> Result<(Arc<Model>, Posture), EstimateError> {
        let path = path.as_ref();
        let file = File::read(path, &[])?;
        let reader = Reader::new(path, &file)?;
        let missing = || field_error(path, "simulate.posture", "missing, expected one to follow".to_owned());
        let simulate = file.simulate.as_ref().ok_or_else(missing)?;
        let written = simulate.posture.as_ref().ok_or_else(missing)?;
        let step_s = file
            .step_s
            .ok_or_else(|| field_error(path, "step_s", "missing, expected a number of seconds".to_owned()))?;
        let reads = reader.reads(simulate, step_s)?;
        match reader.posture(&file, written, &Stamps::of_simulation(&reads))? {
            Drive::Posture(posture) => Ok((reader.robot.clone(), *posture)),
            _ => Err(missing()),
        }
    }

    /// Lets the simulated robot of the problem file at `path`, with `changes` laid over it, follow its posture under a law for the whole body that
    /// believes the parameters `believed` (extended, [`crate::dynamics::actuation`]) and knows the true state.
    ///
    /// # Errors
    /// As [`EstimationStudy::load`]; a problem that simulates no `posture` on ground as planned is named, and so is another number of parameters.
    pub fn follow(
        path: impl AsRef<Path>,
        changes: &[&toml::Table],
        believed: &[f64],
    ) -> Result<FollowedPosture, EstimateError> {
        let path = path.as_ref();
        let file = File::read(path, changes)?;
        let reader = Reader::new(path, &file)?;
        let wrong = |field: &str, reason: &str| field_error(path, field, reason.to_owned());
        let (Some(simulate), Some(step_s)) = (&file.simulate, file.step_s) else {
            return Err(wrong("simulate / step_s", "missing, expected a simulated problem"));
        };
        let observations = reader.observations(&file)?;
        let reads = reader.reads(simulate, step_s)?;
        let stamps = Stamps::of_simulation(&reads);
        let plan = reader.plan(&file, (simulate, &stamps, reads), &observations, Some(believed.to_vec()))?;
        let Drive::Posture(posture) = &plan.drive else {
            return Err(wrong("simulate.posture", "missing, expected a posture that is followed"));
        };
        if plan.ground.is_some() {
            return Err(wrong(
                "simulate.ground",
                "expected none: where feet should be is not known before they stand",
            ));
        }
        let robot = reader.robot.clone();
        let expected = crate::dynamics::actuation::extended_parameters(&robot).len();
        if believed.len() != expected {
            return Err(EstimateError::Size {
                what: "believed parameters".into(),
                found: believed.len(),
                expected,
            });
        }
        let stuck = |reason: String| field_error(path, "simulate.posture", reason);
        let mut reference =
            PostureReference::new(&robot, Posture::clone(posture), &plan.start).map_err(stuck)?;
        let (_, states) = reader.simulate(&file, &plan)?.sealed.reveal();
        let mut wanted = vec![];
        for reads in &plan.samples {
            let mut q = vec![0.0; robot.nq()];
            reference.at(&robot, reads.t, &mut q).map_err(stuck)?;
            wanted.push(q);
        }
        let in_the_air = |f: usize| {
            let now = |k: usize| {
                plan.footing.phases.iter().rfind(|(from, _)| *from <= k).is_some_and(|(_, active)| !active[f])
            };
            (0..plan.samples.len()).map(now).collect()
        };
        let feet = posture.feet.iter().enumerate().map(|(f, foot)| (foot.frame, in_the_air(f))).collect();
        let reached = states.into_iter().map(|x| x[..robot.nq()].to_vec()).collect();
        Ok(FollowedPosture { wanted, reached, feet })
    }
}
