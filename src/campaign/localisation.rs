//! Where a legged robot's base is: the smoother that knows the dynamics against contact-aided filters that know the kinematics alone ([2, Fig. 5]).
//!
//! All see the same readings of one simulated problem: encoders, joint speeds, an IMU's angular rate and specific force, and the schedule of contacts. All are told
//! the deviations that the simulator draws noise from, and where the robot begins. The smoother has torques and the robot's model besides, with the inertia that the
//! problem estimates unknown, and looks back over the whole log; a filter only knows what came before. The smoother starts from the first filter's
//! states, so that nothing of the base that no sensor tells gets into it.

mod filter;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::trials::{Trials, digest, seeded};
use super::{CampaignError, CampaignFindings, exact};
use crate::estimate::{EstimateError, Solver, Status};
use crate::recording::Quantity;
use crate::report::figure::figure;
use crate::study::estimation::EstimationStudy;
use filter::{BaseEstimate, ContactAidedFilter, FilterFile, SensorNoise};

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LocalisationFile {
    /// Name of the campaign.
    name: String,
    /// A simulated problem of a robot that floats and stands on contacts; relative to the campaign file.
    problem: PathBuf,
    /// What is changed in the problem file, key by key.
    #[serde(default)]
    change: toml::Table,
    /// Frame of the IMU, which is fixed to the base: the problem has sensors of its angular rate and specific force.
    imu: String,
    /// Realisations of the noise: seeds 1..=seeds.
    seeds: u64,
    /// How many times the first filter's drift that of the smoother should be at least: errors of how far the base has gone since the first sample.
    filter_over_smoother: f64,
    /// Filters to compare with.
    filter: Vec<FilterFile>,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct LocalisationCampaign {
    path: PathBuf,
    file: LocalisationFile,
    inputs: u64,
}

/// Errors of one estimator over a log.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct BaseErrors {
    /// Root mean square and largest error of how far the base has gone since the first sample, m.
    #[serde(with = "exact")]
    drift_rms_m: f64,
    #[serde(with = "exact")]
    drift_largest_m: f64,
    /// Root mean square distance of the base from where it is, m: with the error of the first sample, which no sensor tells.
    #[serde(with = "exact")]
    place_rms_m: f64,
    /// Root mean square of the angle between the attitudes, rad.
    #[serde(with = "exact")]
    attitude_rms_rad: f64,
    /// Mean square of error over told deviation of the three numbers of the drift; not told of the smoother.
    #[serde(with = "exact")]
    consistency: f64,
}

/// One realisation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Trial {
    seed: u64,
    filters: Vec<BaseErrors>,
    smoother: BaseErrors,
    converged: bool,
    iterations: usize,
}

/// A place and an attitude.
type Pose = (Vector3<f64>, UnitQuaternion<f64>);

fn pose(q: &[f64]) -> Pose {
    let attitude = UnitQuaternion::new_normalize(Quaternion::new(q[6], q[3], q[4], q[5]));
    (Vector3::new(q[0], q[1], q[2]), attitude)
}

/// Variance of a drift below which it is not compared with its error: 0.1 micrometres squared, rounding of a covariance.
const ROUNDING: f64 = 1e-14;

impl BaseErrors {
    /// Of estimates against the truth, sample by sample.
    fn of(estimates: &[Pose], truth: &[Pose], consistency: f64) -> Self {
        let rms = |errors: &[f64]| (errors.iter().map(|x| x * x).sum::<f64>() / truth.len() as f64).sqrt();
        let apart: Vec<Vector3<f64>> = estimates.iter().zip(truth).map(|(a, b)| a.0 - b.0).collect();
        let drifts: Vec<f64> = apart.iter().map(|x| (x - apart[0]).norm()).collect();
        let places: Vec<f64> = apart.iter().map(|x| x.norm()).collect();
        let turns: Vec<f64> = estimates.iter().zip(truth).map(|(a, b)| a.1.angle_to(&b.1)).collect();
        Self {
            drift_rms_m: rms(&drifts),
            drift_largest_m: drifts.iter().copied().fold(0.0, f64::max),
            place_rms_m: rms(&places),
            attitude_rms_rad: rms(&turns),
            consistency,
        }
    }

    /// A filter's. No sensor tells the first sample's place, so its error stays in all others, and the drift's variance is what they have more.
    fn of_filter(estimates: &[BaseEstimate], truth: &[Pose]) -> Self {
        let poses: Vec<Pose> = estimates.iter().map(|e| (e.place, e.attitude)).collect();
        let start = poses[0].0 - truth[0].0;
        let (mut sum, mut count) = (0.0, 0.0);
        for (e, t) in estimates.iter().zip(truth) {
            let (drift, more) = (e.place - t.0 - start, e.covariance - estimates[0].covariance);
            for k in (0..3).filter(|&k| more[(k, k)] > ROUNDING) {
                sum += drift[k].powi(2) / more[(k, k)];
                count += 1.0;
            }
        }
        Self::of(&poses, truth, sum / count)
    }
}

/// What a filter reads of a problem.
struct Readings {
    imu: usize,
    feet: Vec<usize>,
    noise: SensorNoise,
    /// Angular rates at the samples, and specific forces in the middle of the intervals behind them.
    rates: Vec<Vector3<f64>>,
    forces: Vec<Vector3<f64>>,
}

impl Readings {
    /// Of the IMU on frame `imu`; in words, what the problem lacks.
    fn of(study: &EstimationStudy, imu: &str) -> Result<Self, String> {
        let robot = &*study.robot;
        if !robot.has_free_flyer() || study.contacts.constraints.is_empty() {
            return Err(format!("robot `{}`: expected one that floats, with contacts", robot.name));
        }
        let frame =
            robot.frame_index(imu).ok_or_else(|| format!("no frame `{imu}` of robot `{}`", robot.name))?;
        if robot.named_frames[frame].joint != Some(0) {
            return Err(format!("frame `{imu}` is not fixed to the base"));
        }
        let sensor = |quantity: Quantity| {
            let mut first = 0;
            for o in &study.observations {
                if o.sensor.frame == frame && o.sensor.quantity == quantity {
                    let read = |r: &Vec<f64>| Vector3::new(r[first], r[first + 1], r[first + 2]);
                    return Ok((o.deviation[0], study.readings.iter().map(read).collect::<Vec<_>>()));
                }
                first += o.sensor.quantity.count();
            }
            Err(format!("no sensor of {quantity:?} on frame `{imu}`"))
        };
        let ((rate, rates), (force, forces)) = (sensor(Quantity::Rate)?, sensor(Quantity::Acceleration)?);
        let foot =
            |name: &str| robot.frame_index(name).ok_or_else(|| format!("contact `{name}` is on no frame"));
        let feet = study.contacts.constraints.iter().map(|c| foot(&c.name)).collect::<Result<_, _>>()?;
        let (q, dq) = (study.deviations.q[6], study.deviations.dq[6]);
        Ok(Self { imu: frame, feet, noise: SensorNoise { q, dq, rate, force }, rates, forces })
    }

    /// Where the filter believes the base to be, sample by sample (before an impact, where there is one).
    fn filtered(&self, study: &EstimationStudy, file: &FilterFile) -> Vec<BaseEstimate> {
        let d = &study.deviations;
        let first: [f64; 6] = std::array::from_fn(|k| d.first_q[k]);
        let mut filter = ContactAidedFilter::new(
            &study.robot,
            (self.imu, self.feet.clone()),
            (file.clone(), self.noise),
            &study.samples[0].q,
            (first, d.first_dq[0]),
        );
        let (mut estimates, mut struck) = (Vec::with_capacity(study.samples.len()), false);
        for (k, s) in study.samples.iter().enumerate() {
            let rate = self.rates[k];
            if k > 0 {
                // What was read before an impact is not the rate behind it.
                let mean = if struck { rate } else { 0.5 * (self.rates[k - 1] + rate) };
                filter.propagate(study.step_s, &mean, &self.forces[k - 1]);
                filter.correct(&s.q, &s.dq, &rate);
            }
            estimates.push(filter.base(&rate));
            let phase = study.contacts.phases.iter().find(|p| p.from == k);
            struck = k > 0 && phase.is_some();
            if let Some(phase) = phase {
                filter.enter(&phase.active, (&s.q, &s.dq, &rate), k > 0);
            }
        }
        estimates
    }
}

impl LocalisationCampaign {
    pub(super) fn new(path: &Path, file: LocalisationFile) -> Result<Self, CampaignError> {
        let wrong = |field: &str, reason: String| CampaignError::field(path, field.to_owned(), reason);
        if file.seeds == 0 || file.filter.is_empty() {
            return Err(wrong("seeds / filter", "is empty, expected at least 1".into()));
        }
        let bar = file.filter_over_smoother;
        if !(bar > 0.0 && bar.is_finite()) {
            return Err(wrong("filter_over_smoother", format!("is {bar}, expected a positive number")));
        }
        for (i, filter) in file.filter.iter().enumerate() {
            if let Some((field, reason)) = filter.fault() {
                return Err(wrong(&format!("filter[{i}].{field}"), reason));
            }
        }
        let campaign = Self { path: path.to_owned(), file, inputs: 0 };
        let study = campaign.load(1).map_err(|e| wrong("problem", e.to_string()))?;
        Readings::of(&study, &campaign.file.imu).map_err(|reason| wrong("imu", reason))?;
        let d = &study.deviations;
        if d.first_q[..6].iter().chain(&d.first_dq[..3]).any(|x| x.is_infinite()) {
            let reason = "`deviations.first_q_rad` and `first_dq_rad_s` do not say how well the base is known at first";
            return Err(wrong("problem", reason.into()));
        }
        Ok(Self { inputs: digest(&study), ..campaign })
    }

    fn load(&self, seed: u64) -> Result<EstimationStudy, EstimateError> {
        let problem = self.path.parent().unwrap_or(Path::new("")).join(&self.file.problem);
        let mut study = EstimationStudy::load_changed(problem, &[&self.file.change, &seeded(seed)])?;
        // Trials are made side by side, each the same however many threads there are.
        study.options.parallel = false;
        Ok(study)
    }

    fn trial(&self, seed: u64) -> Result<Trial, EstimateError> {
        let wrong = |reason| EstimateError::Recording { reason };
        let mut study = self.load(seed)?;
        let readings = Readings::of(&study, &self.file.imu).map_err(wrong)?;
        let filtered: Vec<Vec<BaseEstimate>> =
            self.file.filter.iter().map(|f| readings.filtered(&study, f)).collect();
        for (s, e) in study.samples.iter_mut().zip(&filtered[0]).skip(1) {
            s.q[..3].copy_from_slice(e.place.as_slice());
            s.q[3..7].copy_from_slice(e.attitude.coords.as_slice());
            s.dq[..3].copy_from_slice(e.velocity.as_slice());
            s.dq[3..6].copy_from_slice(e.rate.as_slice());
        }
        let problem = study.problem()?;
        let mut solver = Solver::new(&problem, study.options)?;
        let outcome = solver.solve(&problem.guess())?;
        let smoothed: Vec<Pose> = problem.states(solver.trajectory()).map(|x| pose(x)).collect();
        let Some((_, states)) = study.reveal() else {
            return Err(wrong("expected a simulated problem".into()));
        };
        let truth: Vec<Pose> = states.iter().map(|x| pose(x)).collect();
        Ok(Trial {
            seed,
            filters: filtered.iter().map(|f| BaseErrors::of_filter(f, &truth)).collect(),
            smoother: BaseErrors::of(&smoothed, &truth, f64::NAN),
            converged: outcome.status == Status::Converged,
            iterations: outcome.record.len(),
        })
    }
}

impl Trials for LocalisationCampaign {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        self.inputs
    }

    fn keys(&self) -> Vec<String> {
        let (LocalisationFile { imu, filter, .. }, inputs) = (&self.file, self.inputs);
        let key = |seed| format!("seed {seed}, {imu}, {filter:?}, inputs {inputs:016x}");
        (1..=self.file.seeds).map(key).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        let seed = number as u64 + 1;
        self.trial(seed).map_err(|e| CampaignError::Trials(format!("seed {seed}: {e}")))
    }

    fn is_possible(&self, _: usize, trial: &Trial) -> bool {
        trial.filters.len() == self.file.filter.len()
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let mean = |of: &dyn Fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / trials.len() as f64;
        let heading = [
            "estimator",
            "drift, mm (rms)",
            "largest, mm",
            "place, mm (rms)",
            "attitude, mrad (rms)",
            "(error / deviation)^2",
        ];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        let mut row = |label: &str, of: &dyn Fn(&Trial) -> BaseErrors| {
            let numbers = [
                1e3 * mean(&|t| of(t).drift_rms_m),
                1e3 * mean(&|t| of(t).drift_largest_m),
                1e3 * mean(&|t| of(t).place_rms_m),
                1e3 * mean(&|t| of(t).attitude_rms_rad),
                mean(&|t| of(t).consistency),
            ];
            table.push(std::iter::once(label.to_owned()).chain(numbers.map(figure)).collect());
            numbers[0]
        };
        let filters: Vec<f64> = (self.file.filter.iter().enumerate())
            .map(|(i, filter)| row(&filter.label, &|t| t.filters[i]))
            .collect();
        let smoother = row("smoother", &|t| t.smoother);
        let (ratio, bar) = (filters[0] / smoother, self.file.filter_over_smoother);
        let stuck = trials.iter().filter(|t| !t.converged).count();
        Ok(CampaignFindings {
            passed: ratio >= bar && stuck == 0,
            verdict: format!(
                "Errors of the base over the whole log, means over {} seeds. The first filter's drift is {} times the smoother's; {} was \
                 asked for. {stuck} estimates did not converge.",
                trials.len(),
                figure(ratio),
                figure(bar),
            ),
            table,
            summary: json!({ "schema": 1, "name": self.file.name, "ratio": ratio, "trials": trials }),
            files: vec![],
        })
    }
}
