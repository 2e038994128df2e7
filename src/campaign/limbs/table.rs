//! What the trials of limbs say together: tables for people, a row a motor for programs, and which promises did not hold.

use std::fmt::Write;

use serde_json::{Value, json};

use super::file::LimbPromiseFile;
use super::{Compared, LimbTrial, MotorTrial, Tracked};
use crate::campaign::CampaignError;
use crate::report::comparison::{CaptionedTable, MethodComparison};

/// Rows of cells, the first one a heading.
type Rows = Vec<Vec<String>>;

/// Trials of one case.
struct Case<'a> {
    name: &'a str,
    trials: Vec<&'a LimbTrial>,
}

/// All trials, by case.
pub(super) struct Tables<'a> {
    cases: Vec<Case<'a>>,
    trials: &'a [LimbTrial],
    speeds: &'a [f64],
}

/// Middle of some values; the lower one of two.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

fn most(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

impl MotorTrial {
    /// How many times better predictions are than by the files.
    fn prediction_factor(&self) -> f64 {
        self.prediction.maker / self.prediction.identified
    }
}

impl Compared<Tracked> {
    /// The larger share of mean and largest error of those by the files.
    fn share(&self) -> f64 {
        (self.identified.0 / self.maker.0).max(self.identified.1 / self.maker.1)
    }
}

impl Case<'_> {
    fn motors(&self) -> impl Iterator<Item = (&LimbTrial, &MotorTrial)> {
        self.trials.iter().flat_map(|trial| trial.motors.iter().map(move |motor| (*trial, motor)))
    }

    /// Names of all motors, in order.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        for (_, motor) in self.motors() {
            if !names.contains(&motor.motor.as_str()) {
                names.push(&motor.motor);
            }
        }
        names
    }

    fn of(&self, name: &str) -> Vec<&MotorTrial> {
        self.motors().map(|(_, motor)| motor).filter(|motor| motor.motor == name).collect()
    }

    /// One row a motor: case, motor, and the medians over seeds.
    fn rows(&self, cells: &dyn Fn(&[&MotorTrial]) -> Vec<f64>) -> Rows {
        let row = |name: &str| {
            let numbers = cells(&self.of(name)).into_iter().map(|x| format!("{x:.3}"));
            [self.name.to_owned(), name.to_owned()].into_iter().chain(numbers).collect()
        };
        self.names().into_iter().map(row).collect()
    }

    fn tracked(&self) -> impl Iterator<Item = (&LimbTrial, &MotorTrial, &Compared<Tracked>)> {
        self.motors().flat_map(|(trial, motor)| motor.tracking_deg.iter().map(move |c| (trial, motor, c)))
    }

    /// For each promise in words how many did not keep it, of how many.
    fn counts(&self, promise: &LimbPromiseFile) -> Vec<(String, usize, usize)> {
        let all = self.motors().count();
        let motors = |wrong: &dyn Fn(&MotorTrial) -> bool| self.motors().filter(|(_, m)| wrong(m)).count();
        let tracked = self.tracked().count();
        let share = promise.tracking_share;
        let too_far = |trial: &LimbTrial, error: f64| {
            error > if trial.looped { promise.looped_deg } else { promise.open_deg }
        };
        vec![
            (
                "torques explained worse than by the files".to_owned(),
                motors(&|m| m.torque_nm.identified > m.torque_nm.maker),
                all,
            ),
            (
                format!(
                    "torque errors above {} of what noise and friction outside the class leave",
                    promise.torque_factor
                ),
                motors(&|m| m.torque_nm.identified > promise.torque_factor * m.torque_nm.truth),
                all,
            ),
            (
                "predictions worse than by the files".to_owned(),
                motors(&|m| !(m.prediction_factor() > 1.0)),
                all,
            ),
            (
                format!("tracking errors above {share} of those by the files"),
                self.tracked().filter(|(_, _, c)| !(c.share() <= share)).count(),
                tracked,
            ),
            (
                format!(
                    "tracking errors above {} deg (with loops) or {} deg",
                    promise.looped_deg, promise.open_deg
                ),
                self.tracked().filter(|(trial, _, c)| too_far(trial, c.identified.1)).count(),
                tracked,
            ),
        ]
    }

    fn prediction_factor(&self) -> f64 {
        median(self.motors().map(|(_, motor)| motor.prediction_factor()))
    }
}

impl<'a> Tables<'a> {
    pub(super) fn of(trials: &'a [LimbTrial], speeds: &'a [f64]) -> Self {
        let mut cases: Vec<Case<'a>> = vec![];
        for trial in trials {
            match cases.iter_mut().find(|case| case.name == trial.case) {
                Some(case) => case.trials.push(trial),
                None => cases.push(Case { name: &trial.case, trials: vec![trial] }),
            }
        }
        Self { cases, trials, speeds }
    }

    fn table(&self, heading: &[String], cells: &dyn Fn(&[&MotorTrial]) -> Vec<f64>) -> Rows {
        let first = ["case", "motor"].map(str::to_owned);
        let heading = first.into_iter().chain(heading.iter().cloned()).collect();
        std::iter::once(heading).chain(self.cases.iter().flat_map(|case| case.rows(cells))).collect()
    }

    /// Torque errors on the unseen motion, N m RMS.
    pub(super) fn torques(&self) -> Rows {
        let heading = [
            "identified",
            "friction alone",
            "files",
            "true parameters",
            "fitted to it",
            "identified / files, worst",
            "identified / true, worst",
        ];
        self.table(&heading.map(str::to_owned), &|motors| {
            let of = |pick: &dyn Fn(&MotorTrial) -> f64| median(motors.iter().map(|m| pick(m)));
            let worst = |pick: &dyn Fn(&MotorTrial) -> f64| most(motors.iter().map(|m| pick(m)));
            vec![
                of(&|m| m.torque_nm.identified),
                of(&|m| m.torque_nm.friction),
                of(&|m| m.torque_nm.maker),
                of(&|m| m.torque_nm.truth),
                of(&|m| m.torque_nm.least),
                worst(&|m| m.torque_nm.identified / m.torque_nm.maker),
                worst(&|m| m.torque_nm.identified / m.torque_nm.truth),
            ]
        })
    }

    /// L2 norms of open-loop predictions, rad s^(1/2).
    fn predictions(&self) -> Rows {
        let heading = ["identified", "files", "true parameters", "files / identified", "the same, worst"];
        self.table(&heading.map(str::to_owned), &|motors| {
            vec![
                median(motors.iter().map(|m| m.prediction.identified)),
                median(motors.iter().map(|m| m.prediction.maker)),
                median(motors.iter().map(|m| m.prediction.truth)),
                median(motors.iter().map(|m| m.prediction_factor())),
                -most(motors.iter().map(|m| -m.prediction_factor())),
            ]
        })
    }

    /// Tracking errors at one speed, degrees.
    fn tracking(&self, speed: usize) -> Rows {
        let heading = [
            "identified, mean",
            "largest",
            "files, mean",
            "largest",
            "true parameters, mean",
            "largest",
            "largest of all",
            "worst share of the files'",
        ];
        self.table(&heading.map(str::to_owned), &|motors| {
            let of = |pick: &dyn Fn(&Compared<Tracked>) -> f64| {
                median(motors.iter().map(|m| pick(&m.tracking_deg[speed])))
            };
            vec![
                of(&|c| c.identified.0),
                of(&|c| c.identified.1),
                of(&|c| c.maker.0),
                of(&|c| c.maker.1),
                of(&|c| c.truth.0),
                of(&|c| c.truth.1),
                most(motors.iter().map(|m| m.tracking_deg[speed].identified.1)),
                most(motors.iter().map(|m| m.tracking_deg[speed].share())),
            ]
        })
    }

    /// What the fits were like, a row a limb and seed.
    fn fits(&self) -> Rows {
        let heading = [
            "case",
            "limb",
            "seed",
            "base parameters",
            "parameters",
            "duality gap",
            "outliers, %",
            "condition number",
            "of random motions",
            "predictions broken off",
            "by the files",
            "by true parameters",
            "links learnt, %",
            "sines reach, rad/s",
            "springs bend by, deg",
        ];
        let row = |t: &LimbTrial| {
            vec![
                t.case.clone(),
                t.limb.clone(),
                t.seed.to_string(),
                t.rank.to_string(),
                t.parameters.to_string(),
                format!("{:.1e}", t.duality_gap),
                format!("{:.1}", 100.0 * t.outliers),
                format!("{:.0}", t.condition_number),
                format!("{:.0}", t.random_condition_number),
                t.broken.identified.to_string(),
                t.broken.maker.to_string(),
                t.broken.truth.to_string(),
                format!("{:.0}", 100.0 * t.learnt_share),
                t.speeds_rad_s.iter().map(|speed| format!("{speed:.2}")).collect::<Vec<_>>().join(", "),
                format!("{:.2}", t.deflection_rad.to_degrees()),
            ]
        };
        std::iter::once(heading.map(str::to_owned).to_vec()).chain(self.trials.iter().map(row)).collect()
    }

    fn all(&self) -> Vec<CaptionedTable> {
        let captioned = |caption: &str, rows: Rows| CaptionedTable { caption: caption.to_owned(), rows };
        let mut all = vec![
            captioned("Torque errors on unseen motion, N m RMS", self.torques()),
            captioned("Open-loop predictions, L2 norm, rad s^(1/2)", self.predictions()),
        ];
        for (k, speed) in self.speeds.iter().enumerate() {
            let caption =
                format!("Tracking errors, sines to {speed} rad/s or as fast as motors can, degrees");
            all.push(captioned(&caption, self.tracking(k)));
        }
        all.push(captioned("Fits", self.fits()));
        all
    }

    /// Promises that did not hold of rigid limbs, in words.
    pub(super) fn broken(&self, promise: &LimbPromiseFile) -> Vec<String> {
        let Some(rigid) = self.cases.first() else { return vec![] };
        let mut broken: Vec<String> = rigid
            .counts(promise)
            .into_iter()
            .filter(|(_, wrong, _)| *wrong > 0)
            .map(|(what, wrong, of)| format!("{what}: {wrong} of {of}"))
            .collect();
        let factor = rigid.prediction_factor();
        if !(factor >= promise.prediction_factor) {
            let least = promise.prediction_factor;
            broken.push(format!("predictions are {factor:.2} times better in the median, expected {least}"));
        }
        broken
    }

    /// For each case in words by how much predictions are better.
    pub(super) fn closing(&self) -> String {
        let one = |case: &Case<'_>| {
            let torque = median(case.motors().map(|(_, m)| m.torque_nm.maker / m.torque_nm.identified));
            format!(
                "{}: in the median torque errors are {torque:.2} and predictions {:.2} times better than by the files",
                case.name,
                case.prediction_factor()
            )
        };
        self.cases.iter().map(one).collect::<Vec<_>>().join("; ") + "."
    }

    /// For each case medians over motors and seeds, and how many broke each promise.
    pub(super) fn cases(&self, promise: Option<&LimbPromiseFile>) -> Value {
        let one = |case: &Case<'_>| {
            let counts = promise.map(|promise| {
                let counts = case.counts(promise).into_iter();
                counts
                    .map(|(what, wrong, of)| json!({ "what": what, "wrong": wrong, "of": of }))
                    .collect::<Vec<_>>()
            });
            json!({
                "case": case.name,
                "torque_factor": median(case.motors().map(|(_, m)| m.torque_nm.maker / m.torque_nm.identified)),
                "torque_over_truth": median(case.motors().map(|(_, m)| m.torque_nm.identified / m.torque_nm.truth)),
                "prediction_factor": case.prediction_factor(),
                "tracking_share": median(case.tracked().map(|(_, _, c)| c.share())),
                "promises": counts,
            })
        };
        self.cases.iter().map(one).collect()
    }

    /// A row a motor, seed and case.
    fn csv(&self) -> String {
        let mut text = "case,limb,seed,motor,torque_identified_nm,torque_friction_nm,torque_files_nm,torque_truth_nm,torque_least_nm,\
                        prediction_identified,prediction_files,prediction_truth"
            .to_owned();
        for speed in self.speeds {
            for what in ["identified", "files", "truth"]
                .iter()
                .flat_map(|by| ["mean", "largest"].map(|of| format!("{by}_{of}")))
            {
                let _ = write!(text, ",tracking_{speed}_{what}_deg");
            }
        }
        text.push('\n');
        for trial in self.trials {
            for motor in &trial.motors {
                let torque = &motor.torque_nm;
                let numbers = [
                    torque.identified,
                    torque.friction,
                    torque.maker,
                    torque.truth,
                    torque.least,
                    motor.prediction.identified,
                    motor.prediction.maker,
                    motor.prediction.truth,
                ];
                let tracked = motor
                    .tracking_deg
                    .iter()
                    .flat_map(|c| [&c.identified, &c.maker, &c.truth])
                    .flat_map(|(mean, largest)| [*mean, *largest]);
                let _ = write!(text, "{},{},{},{}", trial.case, trial.limb, trial.seed, motor.motor);
                numbers.into_iter().chain(tracked).for_each(|x| {
                    let _ = write!(text, ",{x}");
                });
                text.push('\n');
            }
        }
        text
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        for CaptionedTable { caption, rows } in self.all() {
            let _ = writeln!(text, "## {caption}\n");
            for (i, row) in rows.iter().enumerate() {
                let _ = writeln!(text, "| {} |", row.join(" | "));
                if i == 0 {
                    let _ = writeln!(text, "|{}", "---|".repeat(row.len()));
                }
            }
            text.push('\n');
        }
        text
    }

    /// Name and content of all further files.
    pub(super) fn files(&self, title: &str, verdict: &str) -> Result<Vec<(String, String)>, CampaignError> {
        let page = MethodComparison {
            title: title.to_owned(),
            verdict: verdict.to_owned(),
            tables: self.all(),
            bodies: vec![],
        };
        let page = page.page().map_err(|error| CampaignError::Trials(error.to_string()))?;
        let results = json!({ "schema": 1, "name": title, "trials": self.trials });
        Ok(vec![
            ("results.csv".to_owned(), self.csv()),
            ("tables.md".to_owned(), self.markdown()),
            ("report.html".to_owned(), page),
            ("results.json".to_owned(), format!("{results:#}\n")),
        ])
    }
}
