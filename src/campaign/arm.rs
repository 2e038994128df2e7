//! The arms that a campaign is made on.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::CampaignError;
use crate::identify::tighten_by_physics;
use crate::inertia::ParameterSet;
pub use crate::plan::setup::Setup;
use crate::robot::prior::{Prior, PriorFault};
use crate::robot::{self, Arm, DriveBounds, Gains, Scene, TimingBounds};
use crate::scenario::Scenario;

/// An arm as written: a scenario's, with its payload's shape, prior and obstacles, or a bare robot within its own
/// uncertainty.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetupFile {
    /// Its name in tables; the robot's name if left out.
    label: Option<String>,
    /// Robot, prior, scene and poses, from the folder of this file; either this or `robot`.
    scenario: Option<PathBuf>,
    /// Robot TOML, URDF or bare name.
    robot: Option<PathBuf>,
    /// Where plans start, rad (m), one number a joint, in place of the scenario's start.
    start_rad: Option<Vec<f64>>,
    /// How far one plan goes, rad (m), one number a joint, in place of the scenario's.
    range_rad: Option<Vec<f64>>,
    /// What is known of the last body with its payload and of the joints, in place of the scenario's prior or the robot's uncertainty.
    prior: Option<Prior>,
    /// Whether what no rigid body can have is cut off the set first.
    #[serde(default)]
    physical: bool,
    /// Gains in place of the robot's.
    control: Option<GainSettings>,
    /// What every drive does beside what it is asked for, in place of the robot's.
    drives: Option<DriveBounds>,
    /// When readings are taken and commands act, in place of the robot's. Where any of it is above 0 plans are those of the momentum law.
    timing: Option<TimingBounds>,
    /// Duration of a plan, s.
    #[serde(default = "default_duration")]
    duration_s: f64,
    /// Whether the set has strips in the directions of each plan's motion, as identification proves them.
    #[serde(default)]
    pub(super) correlated: bool,
}

/// As [`crate::robot::Gains`].
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct GainSettings {
    /// K_r, 1/s.
    k_r: f64,
    /// alpha, 1/s.
    alpha: f64,
    /// V_max, J.
    v_max: f64,
}

fn default_duration() -> f64 {
    3.0
}

/// The folder that a campaign's paths are relative to.
fn folder_of(campaign: &Path) -> &Path {
    campaign.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The robot that `field` of a campaign's file names: a file, from the campaign's folder, or a bare name.
pub(super) fn load_robot(campaign: &Path, field: &str, named: &Path) -> Result<Arm, CampaignError> {
    let found = robot::find(named, folder_of(campaign)).and_then(robot::load);
    found.map_err(|source| CampaignError::Robot {
        path: campaign.to_owned(),
        field: field.to_owned(),
        source: Box::new(source),
    })
}

/// A robot, what is known of it, its surroundings, where it starts and how far it moves.
type Parts = (Arm, ParameterSet, Scene, Vec<f64>, Vec<f64>);

impl SetupFile {
    /// The arms of the file `path`.
    pub(super) fn load_all(path: &Path, arms: &[SetupFile]) -> Result<Vec<Setup>, CampaignError> {
        if arms.is_empty() {
            return Err(CampaignError::field(path, "arms", "is empty, expected at least one"));
        }
        arms.iter().enumerate().map(|(i, arm)| arm.load(path, &format!("arms[{i}]"))).collect()
    }

    fn load(&self, path: &Path, field: &str) -> Result<Setup, CampaignError> {
        let wrong = |key: &str, reason: String| CampaignError::field(path, format!("{field}.{key}"), reason);
        if !(self.duration_s > 0.0 && self.duration_s.is_finite()) {
            return Err(wrong("duration_s", format!("is {}, expected a number above 0", self.duration_s)));
        }
        let (mut robot, mut set, scene, start, range) = self.parts(path, field)?;
        if let Some(GainSettings { k_r, alpha, v_max }) = self.control {
            for (key, x) in [("k_r", k_r), ("alpha", alpha), ("v_max", v_max)] {
                if !(x > 0.0 && x.is_finite()) {
                    return Err(wrong(
                        &format!("control.{key}"),
                        format!("is {x}, expected a number above 0"),
                    ));
                }
            }
            let gains = Gains { k_r, alpha, v_max, ..robot.gains() };
            robot = robot.with_gains(gains).map_err(|error| wrong("control", error.to_string()))?;
        }
        robot = self.with_errors(robot).map_err(|(key, reason)| wrong(key, reason))?;
        if let Some(prior) = &self.prior {
            let at_fault = |fault: PriorFault| wrong(&format!("prior.{}", fault.field), fault.reason);
            let folder = path.parent().unwrap_or(Path::new(""));
            let prior = prior.clone().in_folder(folder).in_numbers(&robot).map_err(at_fault)?;
            if prior.nominal.is_some() {
                return Err(wrong(
                    "prior.nominal",
                    "given, expected bounds alone: nothing here is made of a guess".to_owned(),
                ));
            }
            set = prior.applied_to(set, &robot).map_err(at_fault)?;
        }
        if self.physical {
            set = tighten_by_physics(&set, robot.end_effector())
                .map_err(|error| wrong("physical", error.to_string()))?;
        }
        let n = robot.dof();
        let vector = |key: &str, given: &Option<Vec<f64>>, default: Vec<f64>| match given {
            Some(x) if x.len() != n || x.iter().any(|x| !x.is_finite()) => {
                Err(wrong(key, format!("is {x:?}, expected {n} finite numbers for '{}'", robot.name)))
            }
            Some(x) => Ok(x.clone()),
            None => Ok(default),
        };
        let start = vector("start_rad", &self.start_rad, start)?;
        let range = vector("range_rad", &self.range_rad, range)?;
        let label = self.label.clone().unwrap_or_else(|| robot.name.clone());
        Ok(Setup {
            label,
            start,
            range,
            robot,
            set,
            scene,
            duration_s: self.duration_s,
            tolerance: None,
            correlated: self.correlated,
        })
    }

    /// The arm with the drives and times that are given; else the field at fault, and why.
    fn with_errors(&self, mut robot: Arm) -> Result<Arm, (&'static str, String)> {
        if let Some(drive) = self.drives {
            let all = vec![drive; robot.dof()];
            robot = robot.with_drives(all).map_err(|error| ("drives", error.to_string()))?;
        }
        if let Some(timing) = self.timing {
            robot = robot.with_timing(timing).map_err(|error| ("timing", error.to_string()))?;
        }
        Ok(robot)
    }

    fn parts(&self, path: &Path, field: &str) -> Result<Parts, CampaignError> {
        match (&self.scenario, &self.robot) {
            (Some(file), None) => {
                let found = robot::find(file, folder_of(path)).map_err(|source| CampaignError::Robot {
                    path: path.to_owned(),
                    field: format!("{field}.scenario"),
                    source: Box::new(source),
                })?;
                let scenario = Scenario::load(found).map_err(|source| CampaignError::Scenario {
                    path: path.to_owned(),
                    field: format!("{field}.scenario"),
                    source: Box::new(source),
                })?;
                let task = scenario.split().0;
                let set = task.prior_set().map_err(|error| {
                    CampaignError::field(path, format!("{field}.scenario"), error.to_string())
                })?;
                let range = task.held.map_or(task.carry.range_rad, |held| held.excite.range_rad);
                Ok((task.robot, set, task.scene, task.start, range))
            }
            (None, Some(name)) => {
                let robot = load_robot(path, &format!("{field}.robot"), name)?;
                let n = robot.dof();
                let set = ParameterSet::around_nominal(&robot);
                Ok((robot, set, Scene::default(), vec![0.0; n], vec![1.0; n]))
            }
            _ => {
                let reason = "expected either `robot` or `scenario`";
                Err(CampaignError::field(path, format!("{field}.robot"), reason))
            }
        }
    }
}
