//! Regressors: whether motions that condition the standard regressor well condition the momentum regressor well too (\[1, App. D\]).
//!
//! Of each random Fourier series condition numbers are taken: that of W, the last body's columns of the torque regressor at every sample, and
//! that of Y_h, the momentum regressor over the h periods from every sample on. \[1, Table IV\] gives their Pearson correlation over many
//! series. It falls as h grows, and \[1\] holds the accumulation of integration errors to be why. Two ways try that:
//! - Y_h is formed by forward Euler, as there, and with an integral that is next to exact. If integration errors were the cause, the second would not fall.
//! - The momentum's derivative is the torque, so Y_h is W averaged over h periods, times their length. If averaging is the cause, plain averages of W,
//!   in which no momentum is integrated, fall as Y_h does.
//!
//! Averaging takes away what is fast. So there are ensembles of series, slow ones and fast ones: the faster, the earlier must it fall.
//! The promise is that correlations do fall, that no integration error has a part in it, and that averages of W fall alike.

use std::path::{Path, PathBuf};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings};
use crate::robot::{self, Arm};
use crate::trajectory::Fourier;

mod conditions;

use conditions::{Conditions, conditions};

/// Correlations that differ by less are the same.
const SAME: f64 = 0.02;
/// A correlation below this has fallen.
const FALLEN: f64 = 0.9;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegressorsFile {
    /// Name of the campaign.
    name: String,
    /// Robot TOML, URDF or bare name, from the folder of this file.
    robot: PathBuf,
    /// Fourier series of each ensemble, at least 3.
    series: u64,
    /// Draws them.
    seed: u64,
    /// Duration of a series, s.
    duration_s: f64,
    /// Horizons h, control periods.
    horizons: Vec<usize>,
    /// Kinds of series.
    ensembles: Vec<EnsembleFile>,
}

/// Random Fourier series of one kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnsembleFile {
    /// Its name in tables.
    label: String,
    /// Number of harmonics, at least 2; the slowest has one period in the duration.
    harmonics: usize,
    /// Largest coefficient of a harmonic, as a share of the joint's limit of velocity.
    speed: f64,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct Regressors {
    file: RegressorsFile,
    robot: Arm,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Correlation {
    ensemble: String,
    /// h, control periods.
    horizon: usize,
    /// Of W and Y_h by forward Euler.
    euler: f64,
    /// Of W and Y_h integrated next to exactly.
    exact: f64,
    /// Of W and its averages over h periods.
    averaged: f64,
    /// The largest share by which forward Euler changes the condition number of a Y_h.
    euler_changes: f64,
}

/// Pearson's correlation coefficient.
fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let sum = |of: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| of(x - mx, y - my)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

impl Regressors {
    pub(super) fn new(path: &Path, file: RegressorsFile) -> Result<Self, CampaignError> {
        let refuse = |field: &str, reason: String| Err(CampaignError::field(path, field, reason));
        if file.series < 3 {
            return refuse("series", format!("is {}, expected at least 3", file.series));
        }
        if !(file.duration_s > 0.0 && file.duration_s <= 600.0) {
            return refuse(
                "duration_s",
                format!("is {}, expected a number above 0, at most 600", file.duration_s),
            );
        }
        for (field, empty) in
            [("horizons", file.horizons.is_empty()), ("ensembles", file.ensembles.is_empty())]
        {
            if empty {
                return refuse(field, "is empty, expected at least 1".to_owned());
            }
        }
        for (i, EnsembleFile { harmonics, speed, .. }) in file.ensembles.iter().enumerate() {
            if !(2..=200).contains(harmonics) {
                return refuse(
                    &format!("ensembles[{i}].harmonics"),
                    format!("is {harmonics}, expected 2 to 200"),
                );
            }
            if !(*speed > 0.0 && *speed <= 10.0) {
                let reason = format!("is {speed}, expected a number above 0, at most 10");
                return refuse(&format!("ensembles[{i}].speed"), reason);
            }
        }
        let source = match file.robot.extension() {
            Some(_) => path.parent().unwrap_or(Path::new("")).join(&file.robot),
            None => file.robot.clone(),
        };
        let robot = robot::load(&source).map_err(|source| CampaignError::Robot {
            path: path.to_owned(),
            field: "robot".to_owned(),
            source: Box::new(source),
        })?;
        let most = (0.5 * file.duration_s / robot.gains().period_s) as usize;
        if let Some((i, h)) = file.horizons.iter().enumerate().find(|(_, h)| !(1..=most).contains(*h)) {
            let reason = format!("is {h}, expected 1 to {most}, half of a series");
            return refuse(&format!("horizons[{i}]"), reason);
        }
        Ok(Self { file, robot })
    }

    /// Series number `i` of an ensemble.
    fn series(&self, ensemble: &EnsembleFile, i: u64) -> Result<Fourier, CampaignError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.file.seed);
        rng.set_stream(i);
        let joints = &self.robot.joints;
        let mut free = vec![];
        for joint in joints {
            let speed = ensemble.speed * joint.limits.velocity;
            let mut draw = || speed * rng.random_range(-1.0..=1.0);
            free.push((2..=ensemble.harmonics).map(|_| [draw(), draw()]).collect());
        }
        let start: Vec<f64> = joints.iter().map(|_| rng.random_range(-1.0..=1.0)).collect();
        Fourier::at_rest(&start, &free, self.file.duration_s)
            .map_err(|error| CampaignError::Trials(error.to_string()))
    }

    /// What the series of an ensemble give together, a line a horizon.
    fn correlations(&self, ensemble: &EnsembleFile, all: &[Conditions]) -> Vec<Correlation> {
        let standard: Vec<f64> = all.iter().map(|c| c.standard).collect();
        let lines = self.file.horizons.iter().enumerate().map(|(k, &horizon)| {
            let of = |pick: &dyn Fn(&Conditions) -> f64| -> Vec<f64> { all.iter().map(pick).collect() };
            let with_standard = |x: Vec<f64>| pearson(&standard, &x);
            let changes = all.iter().map(|c| (c.euler[k] / c.exact[k] - 1.0).abs());
            Correlation {
                ensemble: ensemble.label.clone(),
                horizon,
                euler: with_standard(of(&|c| c.euler[k])),
                exact: with_standard(of(&|c| c.exact[k])),
                averaged: with_standard(of(&|c| c.averaged[k])),
                euler_changes: changes.fold(0.0, f64::max),
            }
        });
        lines.collect()
    }
}

impl Correlation {
    fn row(&self) -> Vec<String> {
        let number = |x: f64| format!("{x:.4}");
        vec![
            self.ensemble.clone(),
            self.horizon.to_string(),
            number(self.euler),
            number(self.exact),
            number(self.averaged),
            format!("{:.2} %", 100.0 * self.euler_changes),
        ]
    }
}

/// Whether the promise holds, and in a sentence what was found.
fn judged(lines: &[Correlation]) -> (bool, String) {
    let most = |of: &dyn Fn(&Correlation) -> f64| lines.iter().map(|l| of(l).abs()).fold(0.0, f64::max);
    let least = lines.iter().map(|line| line.exact).fold(f64::INFINITY, f64::min);
    let (integration, averaging) = (most(&|l| l.euler - l.exact), most(&|l| l.averaged - l.exact));
    let holds = least < FALLEN && integration <= SAME && averaging <= SAME;
    let verdict = format!(
        "Correlations fall to {least:.3}. Forward Euler moves none by more than {integration:.4}; averages of W differ from Y_h by at most {averaging:.4}. \
         So averaging {} why they fall, and integration errors {}.",
        if least < FALLEN && averaging <= SAME { "is" } else { "is NOT shown to be" },
        if integration <= SAME { "are not" } else { "DO have a part in it" },
    );
    (holds, verdict)
}

impl Trials for Regressors {
    type Trial = Conditions;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        digest(&self.robot)
    }

    fn keys(&self) -> Vec<String> {
        let (RegressorsFile { seed, duration_s, horizons, .. }, inputs) = (&self.file, self.inputs());
        let key = |(EnsembleFile { label, harmonics, speed }, i): (&EnsembleFile, u64)| {
            format!(
                "{label} ({harmonics} harmonics, speed {speed}), series {i}, {duration_s} s, horizons {horizons:?}, \
                 seed {seed}, inputs {inputs:016x}"
            )
        };
        let all = self.file.ensembles.iter().flat_map(|e| (0..self.file.series).map(move |i| (e, i)));
        all.map(key).collect()
    }

    fn make(&self, number: usize) -> Result<Conditions, CampaignError> {
        let ensemble = &self.file.ensembles[number / self.file.series as usize];
        let series = self.series(ensemble, number as u64 % self.file.series)?;
        Ok(conditions(&self.robot, &series, &self.file.horizons))
    }

    fn sum_up(&self, trials: Vec<Conditions>) -> Result<CampaignFindings, CampaignError> {
        let ensembles = self.file.ensembles.iter().zip(trials.chunks(self.file.series as usize));
        let lines: Vec<Correlation> =
            ensembles.flat_map(|(ensemble, all)| self.correlations(ensemble, all)).collect();
        let heading = [
            "series",
            "h",
            "W, Y_h by Euler",
            "W, Y_h exactly",
            "W, W averaged",
            "Euler changes cond(Y_h) by",
        ];
        let heading = heading.map(str::to_owned).to_vec();
        let (passed, verdict) = judged(&lines);
        Ok(CampaignFindings {
            passed,
            verdict,
            table: std::iter::once(heading).chain(lines.iter().map(Correlation::row)).collect(),
            summary: json!({ "schema": 1, "name": self.file.name, "passed": passed, "correlations": lines }),
            files: vec![],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Campaign;

    const FILE: &str = "schema = 1\nname = \"r\"\nkind = \"regressors\"\nrobot = \"kinova_gen3_2f85\"\nseries = 6\nseed = 1\n\
        duration_s = 1.0\nhorizons = [1, 20, 200]\n[[ensembles]]\nlabel = \"all\"\nharmonics = 8\nspeed = 0.1\n";

    fn load(text: &str) -> Result<Regressors, CampaignError> {
        let path = Path::new("regressors.toml");
        Regressors::new(path, super::super::parse(path, text)?)
    }

    #[test]
    fn a_correlation_is_pearsons() {
        let by_hand = 4.5 / (2.0 * 61.0 / 6.0_f64).sqrt();
        assert!((pearson(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.5]) - by_hand).abs() < 1e-12);
        assert!((pearson(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_explanation_is_tried_and_can_fail() {
        let findings = load(FILE).unwrap().run(&|_, _| ()).unwrap();
        assert_eq!(findings.table.len(), 1 + 3);
        let again = load(FILE).unwrap().run(&|_, _| ()).unwrap();
        assert_eq!(findings.summary, again.summary);
        let line = |euler, exact, averaged| Correlation {
            ensemble: String::new(),
            horizon: 1,
            euler,
            exact,
            averaged,
            euler_changes: 0.0,
        };
        assert!(judged(&[line(0.99, 0.99, 0.99), line(0.41, 0.4, 0.41)]).0);
        for refuted in [line(0.3, 0.4, 0.4), line(0.4, 0.4, 0.9), line(0.95, 0.95, 0.95)] {
            let (holds, said) = judged(&[refuted]);
            assert!(!holds, "{said}");
        }
        assert!(judged(&[line(0.3, 0.9, 0.9)]).1.contains("DO have"));
    }

    #[test]
    fn what_cannot_be_is_refused_by_field() {
        for (from, to, field) in [
            ("series = 6", "series = 2", "`series`"),
            ("duration_s = 1.0", "duration_s = nan", "`duration_s`"),
            ("[1, 20, 200]", "[]", "`horizons`"),
            ("[1, 20, 200]", "[1, 0]", "`horizons[1]`"),
            ("[1, 20, 200]", "[501]", "`horizons[0]`"),
            ("harmonics = 8", "harmonics = 1", "`ensembles[0].harmonics`"),
            ("speed = 0.1", "speed = inf", "`ensembles[0].speed`"),
            ("kinova_gen3_2f85", "no_such", "`robot`"),
            ("seed = 1", "seed = 1\ncolour = 2", "colour"),
        ] {
            assert!(FILE.contains(from));
            let said = load(&FILE.replace(from, to)).unwrap_err().to_string();
            assert!(said.contains("regressors.toml") && said.contains(field), "{said}");
        }
    }
}
