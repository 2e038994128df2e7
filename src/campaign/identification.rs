//! Identification: the truth never leaves the set, whatever the payload of the prior, the robot of the box, the motion,
//! and whatever the sensors do within their bounds.
//!
//! Each trial draws a payload, the parameters of all links and joints (inside their intervals or at their ends), a random
//! motion, and a way in which the sensors err: at random, at the ends of their bounds, or as an adversary would who
//! wants a given bound of a given parameter passed. The base leans and the joints break away as much as the robot's file allows. The
//! plant follows the motion by computed torque, held over each tick; the identifier sees the measurements alone. Strips along
//! a motion to come are held against the truth as well as the set. The same seed makes the same trials, on any number of threads.

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::experiment::{self, NOISES, Noise};
use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings, exact};
use crate::identify::{Identifier, IdentifierOptions, IdentifyError, tighten_by_physics};
use crate::inertia::{INERTIAL, PARAMETER_NAMES, ParameterSet, log_cholesky};
use crate::recording::Sample;
use crate::regression::foresee;
use crate::report::figure::figure;
use crate::robot::{Arm, Joint};
use crate::scenario::Scenario;
use crate::trajectory::{Bezier, Curve, JointState};

/// Length of the motion that strips are asked for, s: between the 1.5 s from one plan to the next and the 3 s that a plan
/// takes unless stated.
const STRIPS_S: f64 = 2.0;
/// Draws of a payload before a prior is given up as one that holds no body. The number is only there to end.
const DRAWS: usize = 2_000_000;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdentificationFile {
    /// Name of the campaign.
    name: String,
    /// Trials; the kinds of noise take turns.
    trials: u64,
    /// Length of each motion, s.
    seconds: f64,
    /// Draws everything.
    seed: u64,
    /// Robot and prior; relative to this file.
    scenario: PathBuf,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct IdentificationCampaign {
    name: String,
    trials: u64,
    seconds: f64,
    seed: u64,
    robot: Arc<Arm>,
    prior: ParameterSet,
    /// The prior of the payload within what physics leaves of it.
    body: [(f64, f64); INERTIAL],
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Trial {
    noise: Noise,
    /// Whether the truth was in every set.
    inside: bool,
    /// Smallest distance of the truth to a bound of the payload, as a share of that interval's own half-width, and whose
    /// it is.
    #[serde(with = "exact")]
    gap: f64,
    #[serde(deserialize_with = "one_of_a_body")]
    parameter: usize,
    /// Half-width of the mass interval at the end, kg.
    #[serde(with = "exact")]
    mass_half: f64,
}

/// The index of one of a body's parameters: a ledger that somebody has changed may hold any number.
fn one_of_a_body<'de, D: Deserializer<'de>>(found: D) -> Result<usize, D::Error> {
    match usize::deserialize(found)? {
        parameter if parameter < INERTIAL => Ok(parameter),
        parameter => Err(D::Error::custom(format!("parameter {parameter}, expected one below {INERTIAL}"))),
    }
}

impl IdentificationCampaign {
    pub(super) fn new(path: &Path, file: IdentificationFile) -> Result<Self, CampaignError> {
        if file.trials == 0 {
            return Err(CampaignError::field(path, "trials", "is 0, expected at least 1"));
        }
        if !(file.seconds.is_finite() && (0.2..=60.0).contains(&file.seconds)) {
            let reason = format!("is {}, expected 0.2 to 60 s", file.seconds);
            return Err(CampaignError::field(path, "seconds", reason));
        }
        let scenario = Scenario::load(path.parent().unwrap_or(Path::new("")).join(&file.scenario)).map_err(
            |source| CampaignError::Scenario {
                path: path.to_owned(),
                field: "scenario".to_owned(),
                source: Box::new(source),
            },
        )?;
        let task = scenario.task();
        let prior =
            task.prior_set().map_err(|error| CampaignError::field(path, "scenario", error.to_string()))?;
        let robot = Arc::new(task.robot.clone());
        let tight = tighten_by_physics(&prior, robot.end_effector())
            .map_err(|error| CampaignError::field(path, "scenario", error.to_string()))?;
        let body = tight.body(robot.end_effector());
        let body = std::array::from_fn(|k| (body.range(k).lower, body.range(k).upper));
        let IdentificationFile { name, trials, seconds, seed, .. } = file;
        Ok(Self { name, trials, seconds, seed, robot, prior, body })
    }

    /// One trial.
    fn trial(&self, number: u64) -> Result<Trial, CampaignError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(number);
        let noise = NOISES[(number % NOISES.len() as u64) as usize];
        let theta = self.truth(&mut rng)?;
        let angle = self.strip_bounds(&mut rng);
        let (samples, acceleration) = self.recording(&theta, noise, angle, &mut rng);
        let fail =
            |error: IdentifyError| CampaignError::Trials(format!("trial {number} ({noise:?}): {error}"));
        let options = IdentifierOptions::default();
        let mut identifier =
            Identifier::new(self.robot.clone(), &self.prior, acceleration, options).map_err(fail)?;
        let mut inside = identifier.set().contains(&theta);
        let half = samples.len() / 2;
        let holds = |identifier: &mut Identifier| match identifier.update() {
            Ok(update) => Ok(update.set.contains(&theta)),
            // Nothing is broken here: to say so is to lose the truth.
            Err(IdentifyError::AssumptionBroken { .. }) => Ok(false),
            Err(error) => Err(fail(error)),
        };
        for (k, sample) in samples.into_iter().enumerate() {
            identifier.push(sample).map_err(fail)?;
            if k == half {
                inside &= holds(&mut identifier)?;
            }
        }
        inside &= holds(&mut identifier)?;
        let strips = self.strips_hold(&mut identifier, &theta, &mut rng);
        inside &=
            strips.map_err(|error| CampaignError::Trials(format!("strips of trial {number}: {error}")))?;
        let hand = self.robot.end_effector();
        let (body, truth) = (identifier.set().body(hand), &theta[self.robot.body_range(hand)]);
        let gap = |k: usize| {
            let range = body.range(k);
            (truth[k] - range.lower).min(range.upper - truth[k]) / range.half_width()
        };
        let parameter = (0..INERTIAL).min_by(|&a, &b| gap(a).total_cmp(&gap(b))).unwrap_or(0);
        let mass_half = body.mass().half_width();
        Ok(Trial { noise, inside, gap: gap(parameter), parameter, mass_half })
    }

    /// How far the base leans: half of the time as far as it may, rad.
    fn strip_bounds(&self, rng: &mut ChaCha8Rng) -> f64 {
        let share = if rng.random() { 1.0 - 1e-9 } else { rng.random::<f64>() };
        share * self.robot.uncertainty().gravity_direction_deg.to_radians()
    }

    /// What the sensors say of a random motion on a base that leans by `angle` (rad) some way, and a bound on the accelerations.
    fn recording(
        &self,
        theta: &[f64],
        noise: Noise,
        angle: f64,
        rng: &mut ChaCha8Rng,
    ) -> (Vec<Sample>, Vec<f64>) {
        let wave = Wave::draw(&self.robot, self.seconds, rng);
        let strips = Arc::new(self.robot.tilted(angle, rng.random_range(0.0..TAU)));
        experiment::record(&strips, theta, &wave, noise, rng)
    }

    /// Whether the truth is in the strips along a random motion, as a planner would ask for them.
    fn strips_hold(
        &self,
        identifier: &mut Identifier,
        theta: &[f64],
        rng: &mut ChaCha8Rng,
    ) -> Result<bool, String> {
        let wave = Wave::draw(&self.robot, STRIPS_S, rng);
        let mut state = JointState::at_rest(&vec![0.0; self.robot.dof()]);
        wave.evaluate(0.5 * STRIPS_S, &mut state);
        let end: Vec<f64> = state.q.iter().map(|q| q + rng.random_range(-1.0..1.0)).collect();
        let curve = Bezier::to_rest(&state, &end, STRIPS_S).map_err(|error| error.to_string())?;
        let (times, rows) = foresee::torque_rows(&self.robot, &curve);
        match identifier.torque_strips(times, &rows) {
            Ok(strips) => Ok(strips.strips.iter().all(|strip| strip.contains(theta))),
            Err(IdentifyError::AssumptionBroken { .. }) => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Parameters of the whole robot: inside their intervals or at their ends; the last body physically consistent.
    fn truth(&self, rng: &mut ChaCha8Rng) -> Result<Vec<f64>, CampaignError> {
        let at_ends: bool = rng.random();
        let draw = |(lower, upper): (&f64, &f64), rng: &mut ChaCha8Rng| {
            let share: f64 = rng.random();
            if at_ends { if share < 0.5 { *lower } else { *upper } } else { lower + share * (upper - lower) }
        };
        let pairs = self.prior.lower().iter().zip(self.prior.upper());
        let mut theta: Vec<f64> = pairs.map(|pair| draw(pair, rng).clamp(*pair.0, *pair.1)).collect();
        let at = self.robot.body_range(self.robot.end_effector());
        theta[at].copy_from_slice(&self.payload(rng)?);
        Ok(theta)
    }

    /// A physically consistent body of the prior, by rejection.
    fn payload(&self, rng: &mut ChaCha8Rng) -> Result<[f64; INERTIAL], CampaignError> {
        for _ in 0..DRAWS {
            let mass = rng.random_range(self.body[0].0..=self.body[0].1);
            let mut eta = [0.5 * mass.ln(); INERTIAL];
            for d in &mut eta[1..4] {
                *d = rng.random_range(-5.0..-1.5);
            }
            for s in &mut eta[4..7] {
                *s = rng.random_range(-0.1..0.1);
            }
            for k in 1..4 {
                eta[6 + k] = rng.random_range(self.body[k].0..=self.body[k].1) / mass;
            }
            let theta = log_cholesky::theta(&eta);
            if theta.iter().zip(&self.body).all(|(x, (lower, upper))| lower <= x && x <= upper) {
                return Ok(theta);
            }
        }
        Err(CampaignError::Trials(format!(
            "no physically consistent payload in {DRAWS} draws from the prior"
        )))
    }
}

/// A random motion from rest: two cosines a joint.
struct Wave {
    duration_s: f64,
    /// Start (rad), then amplitude (rad) and frequency (rad/s) of each cosine.
    joints: Vec<[f64; 5]>,
}

impl Wave {
    fn draw(robot: &Arm, duration_s: f64, rng: &mut ChaCha8Rng) -> Self {
        let draw = |joint: &Joint| {
            let (fast, slow) = (rng.random_range(1.0..3.0), rng.random_range(0.3..1.0));
            // Together below the speed limit.
            let speed = 0.45 * joint.limits.velocity;
            let (a, b) =
                (rng.random_range(0.2..1.0) * speed / fast, rng.random_range(-1.0..1.0) * speed / slow);
            [rng.random_range(-1.5..1.5), a, fast, b, slow]
        };
        Self { duration_s, joints: robot.joints.iter().map(draw).collect() }
    }
}

impl Curve for Wave {
    fn duration_s(&self) -> f64 {
        self.duration_s
    }

    fn evaluate(&self, t: f64, out: &mut JointState) {
        for (j, &[start, a, v, b, w]) in self.joints.iter().enumerate() {
            out.q[j] = start + a * (1.0 - (v * t).cos()) + b * (1.0 - (w * t).cos());
            out.dq[j] = a * v * (v * t).sin() + b * w * (w * t).sin();
            out.ddq[j] = a * v * v * (v * t).cos() + b * w * w * (w * t).cos();
        }
    }
}

impl Trials for IdentificationCampaign {
    type Trial = Trial;

    fn title(&self) -> &str {
        &self.name
    }

    fn inputs(&self) -> u64 {
        digest(&(&self.robot, &self.prior, &self.body))
    }

    fn keys(&self) -> Vec<String> {
        let (Self { seconds, seed, .. }, inputs) = (self, self.inputs());
        let key = |number| format!("trial {number}, {seconds} s, seed {seed}, inputs {inputs:016x}");
        (0..self.trials).map(key).collect()
    }

    fn make(&self, number: usize) -> Result<Trial, CampaignError> {
        self.trial(number as u64)
    }

    fn sum_up(&self, trials: Vec<Trial>) -> Result<CampaignFindings, CampaignError> {
        let mut table = vec![
            ["noise", "trials", "truth outside", "tightest gap", "of", "mass half-width, mean kg"]
                .map(str::to_owned)
                .to_vec(),
        ];
        let mut kinds = vec![];
        for noise in NOISES {
            let own: Vec<&Trial> = trials.iter().filter(|t| t.noise == noise).collect();
            let Some(tightest) = own.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)) else { continue };
            let outside = own.iter().filter(|t| !t.inside).count();
            let mass = own.iter().map(|t| t.mass_half).sum::<f64>() / own.len() as f64;
            let name = format!("{noise:?}").to_lowercase();
            let parameter = PARAMETER_NAMES[tightest.parameter];
            table.push(vec![
                name.clone(),
                own.len().to_string(),
                outside.to_string(),
                figure(tightest.gap),
                parameter.to_owned(),
                figure(mass),
            ]);
            kinds.push(json!({
                "noise": name, "trials": own.len(), "outside": outside, "tightest_gap": tightest.gap,
                "tightest_parameter": parameter, "mean_mass_half_width_kg": mass,
            }));
        }
        let outside = trials.iter().filter(|t| !t.inside).count();
        let gap = trials.iter().map(|t| t.gap).fold(f64::INFINITY, f64::min);
        let verdict = if outside == 0 {
            format!(
                "The truth lay in every set of {} trials; nearest to a bound it was {} of the interval's half-width.",
                trials.len(),
                figure(gap)
            )
        } else {
            format!("THE TRUTH LEFT THE SET in {outside} of {} trials.", trials.len())
        };
        Ok(CampaignFindings {
            passed: outside == 0,
            verdict,
            table,
            summary: json!({
                "schema": 1, "name": self.name, "robot": self.robot.name, "trials": trials.len(), "seed": self.seed,
                "seconds": self.seconds, "outside": outside, "tightest_gap": gap, "noises": kinds,
            }),
            files: vec![],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Campaign;

    fn campaign(trials: u64) -> IdentificationCampaign {
        let text = format!(
            "schema = 1\nname = \"few\"\nkind = \"identification\"\ntrials = {trials}\nseconds = 0.6\nseed = 3\n\
             scenario = \"scenarios/dumbbell_c_8lb.toml\""
        );
        let path = Path::new("./few.toml");
        IdentificationCampaign::new(path, crate::campaign::parse(path, &text).unwrap()).unwrap()
    }

    #[test]
    fn the_truth_stays_inside_for_every_kind_of_noise() {
        let findings = campaign(6).run(&|_, _| ()).unwrap();
        assert!(findings.passed, "{}", findings.verdict);
        assert_eq!(findings.table.len(), 4);
        assert_eq!(findings.summary["outside"], 0);
        assert!(findings.summary["tightest_gap"].as_f64().unwrap() >= 0.0);
    }

    #[test]
    fn a_trial_of_a_parameter_that_there_is_not_cannot_be_read() {
        let trial = campaign(1).trial(0).unwrap();
        let mut written = serde_json::to_value(trial).unwrap();
        assert_eq!(serde_json::from_value::<Trial>(written.clone()).unwrap().parameter, trial.parameter);
        written["parameter"] = INERTIAL.into();
        let error = serde_json::from_value::<Trial>(written).unwrap_err().to_string();
        assert!(error.contains("parameter 10, expected one below 10"), "{error}");
    }

    #[test]
    fn a_truth_outside_is_noticed() {
        // The identifier is told of sensors ten times as good as they are.
        let mut campaign = campaign(4);
        let honest = campaign.robot.clone();
        let trial = campaign.trial(1).unwrap();
        assert!(trial.inside && trial.gap > 0.0);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let theta = campaign.truth(&mut rng).unwrap();
        let (samples, acceleration) = campaign.recording(&theta, Noise::Corners, 0.0, &mut rng);
        let mut sure = (*honest).clone();
        sure.stated().sensors.torque_ratio = 0.0;
        campaign.robot = Arc::new(sure);
        let options = IdentifierOptions::default();
        let mut identifier =
            Identifier::new(campaign.robot.clone(), &campaign.prior, acceleration, options).unwrap();
        samples.into_iter().for_each(|s| identifier.push(s).unwrap());
        let outside = identifier.update().map(|update| !update.set.contains(&theta));
        // Either the set misses the truth or the data are seen to contradict the bounds; never does it go unnoticed.
        assert!(outside.unwrap_or(true));
    }

    /// What becomes of the truth where the base leans by `degrees`, over `count` motions: inside, noticed, outside in silence.
    fn strips(campaign: &IdentificationCampaign, degrees: f64, count: u64) -> [usize; 3] {
        let mut counts = [0; 3];
        for number in 0..count {
            let mut rng = ChaCha8Rng::seed_from_u64(number);
            let theta = campaign.truth(&mut rng).unwrap();
            let noise = NOISES[(number % NOISES.len() as u64) as usize];
            let (samples, acceleration) = campaign.recording(&theta, noise, degrees.to_radians(), &mut rng);
            let options = IdentifierOptions::default();
            let mut identifier =
                Identifier::new(campaign.robot.clone(), &campaign.prior, acceleration, options).unwrap();
            samples.into_iter().for_each(|s| identifier.push(s).unwrap());
            let found = match identifier.update() {
                Ok(update) if update.set.contains(&theta) => 0,
                Ok(_) => 2,
                Err(_) => 1,
            };
            counts[found] += 1;
        }
        println!(
            "{degrees} degrees: {} inside, {} noticed, {} outside in silence",
            counts[0], counts[1], counts[2]
        );
        counts
    }

    /// At the bound nothing is lost.
    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn a_base_that_leans_as_far_as_it_may_loses_nothing_at_length() {
        let mut campaign = campaign(1);
        campaign.seconds = 3.0;
        let most = campaign.robot.uncertainty().gravity_direction_deg;
        assert_eq!(strips(&campaign, most * (1.0 - 1e-9), 4), [4, 0, 0]);
    }

    /// Beyond the bound nothing is promised; the figures are printed.
    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn a_base_that_leans_farther_at_length() {
        let mut campaign = campaign(1);
        campaign.seconds = 3.0;
        for degrees in [0.5, 1.0, 2.0] {
            strips(&campaign, degrees, 4);
        }
    }

    /// Half-widths of the payload's mass after `seconds` of a motion, with the direction of gravity known exactly and to within the
    /// robot's angle; the base stands straight.
    #[test]
    fn what_is_not_known_of_gravity_has_its_price() {
        prices_of_gravity(&[(2, Noise::Corners)], 3.0);
    }

    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn what_is_not_known_of_gravity_has_its_price_at_length() {
        prices_of_gravity(&[(0, Noise::Uniform), (1, Noise::Uniform), (2, Noise::Corners)], 7.5);
    }

    fn prices_of_gravity(recordings: &[(u64, Noise)], seconds: f64) {
        let mut campaign = campaign(1);
        campaign.seconds = seconds;
        for &(seed, noise) in recordings {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let theta = campaign.truth(&mut rng).unwrap();
            let (samples, acceleration) = campaign.recording(&theta, noise, 0.0, &mut rng);
            let widths = |degrees: f64| {
                let mut robot = (*campaign.robot).clone();
                robot.stated().uncertainty.gravity_direction_deg = degrees;
                let options = IdentifierOptions::default();
                let (robot, bound) = (Arc::new(robot), acceleration.clone());
                let mut identifier = Identifier::new(robot, &campaign.prior, bound, options).unwrap();
                for (k, sample) in samples.iter().enumerate() {
                    identifier.push(sample.clone()).unwrap();
                    if k > 0 && k % 1500 == 0 {
                        identifier.update().unwrap();
                    }
                }
                let body = identifier.set().body(campaign.robot.end_effector());
                (0..INERTIAL).map(|k| body.range(k).half_width()).collect::<Vec<f64>>()
            };
            let (exact, angle) = (widths(0.0), widths(campaign.robot.uncertainty().gravity_direction_deg));
            let ratio: Vec<f64> = angle.iter().zip(&exact).map(|(a, b)| a / b).collect();
            println!("mass within {:.4} kg, {:.4} kg: {ratio:.3?}", exact[0], angle[0]);
            // At most 1.375 times the mass, 3.48 times anything else.
            assert!(ratio.iter().all(|r| (1.0 - 1e-6..3.85).contains(r)) && ratio[0] < 1.52, "{ratio:?}");
        }
    }
}
