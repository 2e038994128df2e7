//! Limbs with closed chains that are simulated, identified from the motors' side, and put to the test ([4, Tables I to IV]).
//!
//! The truth of a limb is drawn: links other than the robot's files say, friction and offsets of its own for each joint, and dry friction that no parameters
//! describe. It follows exciting motions under PD control with noisy sensors, and [`crate::study::limbs`] learns from that. Then three things are measured, by
//! what was learnt and by the files: torque errors on a motion that was not learnt from; how well torques alone foretell the motion, open loop, over many short
//! segments; and how well inverse dynamics with PD control track sines. The promises are that no motor's torques are explained worse than by the files, and nearly
//! as well as any parameters could; that every prediction is better than the files'; and that tracking errors are small, and at most half of the files'.
//!
//! Springs that the files take for rigid may bend in the truth: then the fit's model is wrong in its geometry too.

mod file;
mod laboratory;
mod plant;
mod table;
#[cfg(test)]
mod tests;
mod truth;

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings};
use crate::recording::MeasurementLog;
use crate::regression::filter::Smoothing;
use crate::regression::inverse::moving;
use crate::robot::{self, Limb, Model};
use crate::study::limbs::excite::{ExcitationTask, ExcitingMotions};
use crate::study::limbs::{LimbFinding, LimbStudy, LimbUnknown, MotorLog};
use file::{ExcitingFile, FilterFile, LimbsFile};
use laboratory::{Laboratory, Order, errors, least_errors, tracking};
use truth::{LimbTruth, SpringFile};

/// How far measured passive joints may be from the loops; none are measured here.
const PASSIVE_RAD: f64 = 0.02;
/// Tracking error of a limb that did not come to the end, because its loops were forced open or its motion could not be computed, degrees.
const LOST_DEG: f64 = 180.0;
/// Random motions that the search for exciting ones begins with, for each that is wanted.
const RANDOM: usize = 12;

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct LimbsCampaign {
    file: LimbsFile,
    limbs: Vec<Limb>,
    /// For each case its name, and the limbs as they are; the first is rigid.
    cases: Vec<(String, Vec<Limb>)>,
}

/// Torque errors of a motor on the motion that was not learnt from, N m RMS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TorqueErrors {
    /// By everything that was learnt.
    identified: f64,
    /// By friction, armature and offsets that were learnt with the files' links.
    friction: f64,
    /// By the files.
    maker: f64,
    /// By the truth's parameters: what noise and friction outside the class leave of them.
    truth: f64,
    /// The least that any parameters leave, found from that motion itself, for each motor others.
    least: f64,
}

/// By what was learnt, by the files, and by the truth's parameters: what noise and friction outside the class leave of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Compared<T> {
    identified: T,
    maker: T,
    truth: T,
}

impl<T> Compared<T> {
    fn map<U>(&self, pick: impl Fn(&T) -> U) -> Compared<U> {
        Compared { identified: pick(&self.identified), maker: pick(&self.maker), truth: pick(&self.truth) }
    }
}

/// Mean and largest tracking error, degrees.
type Tracked = (f64, f64);

/// The largest speed of sines, rad/s, and the tracking errors of all motors along them.
type Sped = (f64, Compared<Vec<Tracked>>);

/// What was found of all motors, in how many segments predictions broke off, and the largest speed of each tracking, rad/s.
type MotorsFound = (Vec<MotorTrial>, Compared<u64>, Vec<f64>);

/// What was found of one motor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct MotorTrial {
    motor: String,
    torque_nm: TorqueErrors,
    /// L2 norms of predictions, rad s^(1/2).
    prediction: Compared<f64>,
    /// One entry a speed.
    tracking_deg: Vec<Compared<Tracked>>,
}

/// What was found of one limb.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LimbTrial {
    case: String,
    limb: String,
    seed: u64,
    looped: bool,
    motors: Vec<MotorTrial>,
    /// Base parameters, and parameters.
    rank: usize,
    parameters: usize,
    duality_gap: f64,
    outliers: f64,
    /// Condition numbers of the exciting motions, and of random ones.
    condition_number: f64,
    random_condition_number: f64,
    /// Segments in which predictions came to where loops do not close.
    broken: Compared<u64>,
    /// Share of learnt links in what was told.
    learnt_share: f64,
    /// Largest speeds that sines reach, rad/s: those that were asked for, or what motors' torques and speeds allow.
    speeds_rad_s: Vec<f64>,
    /// Largest deflection of a spring in the recordings, rad.
    deflection_rad: f64,
}

fn path_of(near: &Path, reference: &Path) -> PathBuf {
    match reference.extension() {
        Some(_) => near.parent().unwrap_or(Path::new("")).join(reference),
        None => reference.to_owned(),
    }
}

impl LimbsCampaign {
    pub(super) fn new(path: &Path, file: LimbsFile) -> Result<Self, CampaignError> {
        if let Some((field, reason)) = file.fault() {
            return Err(CampaignError::field(path, field, reason));
        }
        let load = |field: String, source: &Path| {
            let failed =
                |source| CampaignError::Robot { path: path.to_owned(), field, source: Box::new(source) };
            robot::load_model(path_of(path, source)).map_err(failed)
        };
        let driven = |model: &Model| -> Vec<Limb> {
            let drives = |limb: &Limb| limb.model.joints.iter().any(|joint| joint.limits.torque > 0.0);
            model.limbs().into_iter().filter(drives).collect()
        };
        let limbs = driven(&load("robot".to_owned(), &file.robot)?);
        if limbs.is_empty() {
            return Err(CampaignError::field(path, "robot", "has no motors, expected some"));
        }
        let mut cases = vec![("rigid".to_owned(), limbs.clone())];
        for (i, springs) in file.springs.iter().enumerate() {
            let field = format!("springs[{i}].robot");
            let bodies = driven(&load(field.clone(), &springs.robot)?);
            if let Some(reason) = unlike(&limbs, &bodies, &springs.spring) {
                return Err(CampaignError::field(path, field, reason));
            }
            cases.push((springs.label.clone(), bodies));
        }
        Ok(Self { file, limbs, cases })
    }

    /// Case, limb and seed of all trials, in order.
    fn all(&self) -> Vec<(usize, usize, u64)> {
        let mut all = vec![];
        for case in 0..self.cases.len() {
            for seed in 1..=self.file.seeds {
                // Springs make no difference to limbs that have none.
                let own =
                    |&limb: &usize| case == 0 || self.cases[case].1[limb].model != self.limbs[limb].model;
                all.extend((0..self.limbs.len()).filter(own).map(|limb| (case, limb, seed)));
            }
        }
        all
    }

    fn springs(&self, case: usize) -> &[SpringFile] {
        case.checked_sub(1).map_or(&[], |place| &self.file.springs[place].spring)
    }

    fn limb_name(&self, limb: usize) -> &str {
        self.limbs[limb].model.joints.first().map_or("", |joint| joint.name.as_str())
    }

    fn motions(&self, limb: &Model, own: (usize, f64, usize, u64)) -> Result<ExcitingMotions, String> {
        let (motions, duration_s, changes, seed) = own;
        let task = ExcitationTask {
            robot: limb,
            unknown: LimbUnknown::Everything,
            motions,
            duration_s,
            least_singular_value: self.file.excitation.least_singular_value,
            evaluations: (RANDOM * motions, changes),
            seed,
            // Of one limb alone; its own links are not looked at either.
            shapes: &[],
            ignored: &[],
            clearance_m: 0.0,
        };
        task.run().map_err(|error| error.to_string())
    }

    fn trial(&self, (case, place, seed): (usize, usize, u64)) -> Result<LimbTrial, String> {
        let LimbsFile { truth, noise, control, excitation, prediction, .. } = &self.file;
        let (limb, body) = (&self.limbs[place].model, &self.cases[case].1[place].model);
        let drawn = LimbTruth::draw(truth, limb, seed, place as u64);
        let lab = Laboratory::new(limb, body, (&drawn, self.springs(case)), (control, noise))?;
        let ExcitingFile { motions, duration_s, evaluations, seed: drawing, .. } = *excitation;
        let exciting = self.motions(limb, (motions, duration_s, evaluations, drawing))?;
        let further =
            self.motions(limb, (prediction.motions, prediction.duration_s, evaluations, drawing + 1))?;
        let noise_seed = 1000 * (100 * seed + place as u64);
        let one = |k: usize| self.record(&lab, &exciting, k..k + 1, noise_seed + k as u64);
        let recorded = (0..motions).map(one).collect::<Result<Vec<_>, _>>()?;
        let (unseen, bent) =
            self.record(&lab, &further, 0..prediction.motions, noise_seed + motions as u64)?;
        let deflection_rad = recorded.iter().map(|(_, bent)| *bent).fold(bent, f64::max);
        let logs: Vec<MotorLog> = recorded.into_iter().map(|(log, _)| log).collect();
        let learn = |unknown| self.learn(limb, (&logs, &unseen), unknown);
        let (learnt, friction) = (learn(LimbUnknown::Everything)?, learn(LimbUnknown::Friction)?);
        let truth = drawn.parameters(limb);
        let by = [&learnt.theta, &friction.theta, &truth];
        let (motors, broken, speeds_rad_s) = self.compared(&lab, &unseen, by, noise_seed + 500)?;
        Ok(LimbTrial {
            case: self.cases[case].0.clone(),
            limb: self.limb_name(place).to_owned(),
            seed,
            looped: !limb.loops.is_empty(),
            motors,
            rank: learnt.base.rank,
            parameters: learnt.parameters.len(),
            duality_gap: learnt.duality_gap,
            outliers: learnt.outliers,
            condition_number: exciting.limbs[0].condition_number,
            random_condition_number: exciting.limbs[0].random_condition_number,
            broken,
            learnt_share: learnt.belief.as_ref().map_or(0.0, |belief| belief.learnt_share),
            speeds_rad_s,
            deflection_rad,
        })
    }

    /// Lets the limb follow some of the motions under PD control, one after the other: they begin and end at rest in one posture. Gives the largest deflection of
    /// a spring too, rad.
    fn record(
        &self,
        lab: &Laboratory<'_>,
        motions: &ExcitingMotions,
        which: Range<usize>,
        seed: u64,
    ) -> Result<(MotorLog, f64), String> {
        let each = motions.duration_s;
        let order = Order {
            wanted: &|t| {
                let k = ((t / each) as usize).min(which.len() - 1);
                motions.at(which.start + k, t - k as f64 * each)
            },
            duration_s: each * which.len() as f64,
            bandwidth_rad_s: self.file.excitation.bandwidth_rad_s,
            forward: None,
            seed,
        };
        let followed = lab.follow(&order)?;
        let name = PathBuf::from(format!("motion of seed {seed}"));
        let log = MeasurementLog::of_samples(name, followed.samples).map_err(|e| e.to_string())?;
        Ok((MotorLog { log, passive: false }, followed.deflection_rad))
    }

    fn smoothing(&self) -> Smoothing {
        let FilterFile { order, cutoff_hz } = self.file.filter;
        Smoothing::Butterworth { order, cutoff_hz }
    }

    fn learn(
        &self,
        limb: &Model,
        (logs, unseen): (&[MotorLog], &MotorLog),
        unknown: LimbUnknown,
    ) -> Result<LimbFinding, String> {
        let study = LimbStudy {
            robot: limb,
            logs,
            validation: Some(unseen),
            unknown,
            smoothing: self.smoothing(),
            passive_tolerance: PASSIVE_RAD,
            exponents: false,
        };
        let found = study.run().map_err(|error| error.to_string())?;
        found.limbs.into_iter().next().ok_or_else(|| "nothing was learnt".to_owned())
    }

    /// Everything that is measured of the motors, by all that was learnt, by friction alone that was, and by the truth; in how many segments predictions broke off; and the
    /// largest speed of each tracking, rad/s.
    fn compared(
        &self,
        lab: &Laboratory<'_>,
        unseen: &MotorLog,
        [learnt, friction, truth]: [&Vec<f64>; 3],
        seed: u64,
    ) -> Result<MotorsFound, String> {
        let maker = lab.limb.nominal_parameters();
        let samples = moving(&unseen.log, self.smoothing()).map_err(|error| error.to_string())?;
        let rows = lab.rows(&samples)?;
        let count = lab.motors.len();
        let [identified, by_friction, by_files, by_truth] =
            [learnt, friction, &maker, truth].map(|theta| errors(&rows, count, theta));
        let least = least_errors(&rows, count);
        let segments = self.file.prediction.segments;
        let foretold = |theta: &[f64]| lab.predict(theta, (&unseen.log, &samples), segments);
        let by = Compared { identified: &learnt[..], maker: &maker[..], truth: &truth[..] };
        let predicted = Compared {
            identified: foretold(by.identified)?,
            maker: foretold(by.maker)?,
            truth: foretold(by.truth)?,
        };
        let tracked = self.tracked(lab, &by, seed)?;
        let motor = |(k, &joint): (usize, &usize)| MotorTrial {
            motor: lab.limb.joints[joint].name.clone(),
            torque_nm: TorqueErrors {
                identified: identified[k],
                friction: by_friction[k],
                maker: by_files[k],
                truth: by_truth[k],
                least: least[k],
            },
            prediction: predicted.map(|by| by.norms[k]),
            tracking_deg: tracked.iter().map(|(_, errors)| errors.map(|of| of[k])).collect(),
        };
        let motors = lab.motors.iter().enumerate().map(motor).collect();
        let speeds = tracked.iter().map(|(speed, _)| *speed).collect();
        Ok((motors, predicted.map(|by| by.broken), speeds))
    }

    /// The largest speed that sines reach, rad/s, and tracking errors of all motors with the inverse dynamics of these parameters, for each speed that is asked for.
    fn tracked(&self, lab: &Laboratory<'_>, by: &Compared<&[f64]>, seed: u64) -> Result<Vec<Sped>, String> {
        let file = &self.file.tracking;
        let one = |(i, &speed): (usize, &f64)| {
            let (sines, reached) = lab.sines(file.range_share, speed, (file.ramp_s, file.duration_s))?;
            let run = |theta: &[f64]| {
                let order = Order {
                    wanted: &|t| sines.at(t),
                    duration_s: file.duration_s,
                    bandwidth_rad_s: file.bandwidth_rad_s,
                    forward: Some(theta),
                    seed: seed + i as u64,
                };
                let from = (file.ramp_s / self.file.control.period_s).ceil() as usize;
                match lab.follow(&order) {
                    Ok(followed) => tracking(&followed, from),
                    Err(_) => vec![(LOST_DEG, LOST_DEG); lab.motors.len()],
                }
            };
            Ok((reached, by.map(|theta| run(theta))))
        };
        file.speeds_rad_s.iter().enumerate().map(one).collect()
    }
}

/// What of `bodies` is no limb with springs as `limbs` has it without, in words.
fn unlike(limbs: &[Limb], bodies: &[Limb], springs: &[SpringFile]) -> Option<String> {
    if limbs.len() != bodies.len() {
        return Some(format!("has {} limbs, expected {} as of the robot", bodies.len(), limbs.len()));
    }
    for (limb, body) in limbs.iter().zip(bodies) {
        let has = |model: &Model, name: &str| model.joints.iter().any(|joint| joint.name == name);
        if let Some(joint) = limb.model.joints.iter().find(|joint| !has(&body.model, &joint.name)) {
            return Some(format!("lacks joint `{}` of the robot", joint.name));
        }
        let new = body.model.joints.iter().filter(|joint| !has(&limb.model, &joint.name));
        if let Some(joint) = new.into_iter().find(|joint| springs.iter().all(|s| s.joint != joint.name)) {
            return Some(format!("has joint `{}`, for which no spring is given", joint.name));
        }
    }
    let turns = |spring: &&SpringFile| {
        bodies.iter().all(|body| body.model.joints.iter().all(|joint| joint.name != spring.joint))
    };
    springs.iter().find(turns).map(|spring| format!("has no joint `{}`", spring.joint))
}

impl Trials for LimbsCampaign {
    type Trial = LimbTrial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        digest(&(&self.file, &self.limbs, &self.cases))
    }

    fn keys(&self) -> Vec<String> {
        let inputs = self.inputs();
        let key = |(case, limb, seed): (usize, usize, u64)| {
            format!("{}, {}, seed {seed}, inputs {inputs:016x}", self.cases[case].0, self.limb_name(limb))
        };
        self.all().into_iter().map(key).collect()
    }

    fn make(&self, number: usize) -> Result<LimbTrial, CampaignError> {
        let (case, limb, seed) = self.all()[number];
        let failed = |reason: String| {
            let name = self.limb_name(limb);
            CampaignError::Trials(format!("{}, limb `{name}`, seed {seed}: {reason}", self.cases[case].0))
        };
        self.trial((case, limb, seed)).map_err(failed)
    }

    fn sum_up(&self, trials: Vec<LimbTrial>) -> Result<CampaignFindings, CampaignError> {
        let tables = table::Tables::of(&trials, &self.file.tracking.speeds_rad_s);
        let broken = self.file.promise.as_ref().map(|promise| tables.broken(promise));
        let verdict = match &broken {
            None => format!("{} limbs; nothing was promised. {}", trials.len(), tables.closing()),
            Some(broken) if broken.is_empty() => {
                format!("{} limbs; every promise held. {}", trials.len(), tables.closing())
            }
            Some(broken) => format!(
                "{} limbs; {} of the promises did NOT hold: {}. {}",
                trials.len(),
                broken.len(),
                broken.join("; "),
                tables.closing()
            ),
        };
        Ok(CampaignFindings {
            passed: broken.as_ref().is_none_or(Vec::is_empty),
            table: tables.torques(),
            summary: json!({
                "schema": 1, "name": self.file.name, "broken": broken, "cases": tables.cases(self.file.promise.as_ref()),
            }),
            files: tables.files(&self.file.name, &verdict)?,
            verdict,
        })
    }
}
