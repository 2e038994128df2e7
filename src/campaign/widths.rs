//! Widths: how large the certifier's sets are, over random plans, for given gains.
//!
//! For each arm and each choice of gains the tube is fitted and the plan cut into equal intervals; of every interval are
//! taken the half-widths of the nominal torque and of the command (nominal and robust torque together), joint by joint,
//! what of it no controller can avoid (the range of the required torque over the set in the middle of the interval, without
//! tracking error and Coulomb friction: linear in the parameters, hence exact), and the growth of the link capsules: how far the
//! ends of a capsule may be from the line that they would follow without tracking errors ([`crate::reach::extent::growth`]). A plan whose
//! tube is not proven counts as such and gives no widths. Means and largest values are over all plans; of the largest
//! command of each single plan the median is given too.
//! Nothing is promised here, so nothing can fail: it is a measurement.

use std::path::Path;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::arm::{Setup, SetupFile};
use super::soundness::attack::AttackedLaw;
use super::soundness::case::Case;
use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings, exact};
use crate::certify::{CellReport, Problem};
use crate::plan::tube_fit;
use crate::reach::Tube;
use crate::report::figure::figure;
use crate::robot::Gains;
use crate::trajectory::Bezier;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WidthsFile {
    /// Name of the campaign.
    name: String,
    /// Plans for each arm.
    plans: u64,
    /// Intervals for each plan.
    intervals: usize,
    /// Draws the plans.
    seed: u64,
    /// Gains to try in all combinations; the robot's own where a list is empty.
    #[serde(default)]
    k_r: Vec<f64>,
    /// As `k_r`.
    #[serde(default)]
    alpha: Vec<f64>,
    /// As `k_r`.
    #[serde(default)]
    v_max: Vec<f64>,
    /// The arms that are measured.
    arms: Vec<SetupFile>,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct Widths {
    file: WidthsFile,
    arms: Vec<Setup>,
    /// The plans of each arm.
    curves: Vec<Vec<Bezier>>,
}

/// Mean and largest of many values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Spread {
    #[serde(with = "exact")]
    sum: f64,
    count: u64,
    #[serde(with = "exact")]
    max: f64,
}

impl Spread {
    fn take(&mut self, x: f64) {
        self.merge(&Spread { sum: x, count: 1, max: x });
    }

    fn merge(&mut self, other: &Spread) {
        self.sum += other.sum;
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// What the plans of one arm under one choice of gains gave.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Sizes {
    command: Spread,
    nominal: Spread,
    robust: Spread,
    asked: Spread,
    growth: Spread,
    /// The largest command of each plan.
    #[serde(with = "exact::list")]
    peaks: Vec<f64>,
    plans: u64,
    unproven: u64,
}

impl Sizes {
    fn merge(&mut self, other: &Sizes) {
        let pairs = [
            (&mut self.command, &other.command),
            (&mut self.nominal, &other.nominal),
            (&mut self.robust, &other.robust),
            (&mut self.asked, &other.asked),
            (&mut self.growth, &other.growth),
        ];
        pairs.into_iter().for_each(|(a, b)| a.merge(b));
        self.peaks.extend(&other.peaks);
        self.plans += other.plans;
        self.unproven += other.unproven;
    }

    fn take(&mut self, report: &CellReport) {
        for (torque, &robust) in report.torque.iter().zip(&report.robust) {
            let half = 0.5 * (torque.nominal_upper - torque.nominal_lower);
            self.nominal.take(half);
            self.robust.take(robust);
            self.command.take(half + robust);
        }
        self.growth.take(report.growth_m);
    }

    /// Median over plans of their largest commands; none if no plan was proven.
    fn usual_peak(&self) -> Option<f64> {
        let mut peaks = self.peaks.clone();
        peaks.sort_by(f64::total_cmp);
        let (low, high) = (peaks.get(peaks.len().checked_sub(1)? / 2)?, peaks.get(peaks.len() / 2)?);
        Some(0.5 * (low + high))
    }
}

impl Widths {
    pub(super) fn new(path: &Path, file: WidthsFile) -> Result<Self, CampaignError> {
        for (field, x) in [("plans", file.plans), ("intervals", file.intervals as u64)] {
            if x == 0 {
                return Err(CampaignError::field(path, field, "is 0, expected at least 1"));
            }
        }
        if let Some(arm) = file.arms.iter().position(|arm| arm.correlated) {
            let reason = "is true, but widths are those of boxes: expected false";
            return Err(CampaignError::field(path, format!("arms[{arm}].correlated"), reason));
        }
        for (field, list) in [("k_r", &file.k_r), ("alpha", &file.alpha), ("v_max", &file.v_max)] {
            if let Some(x) = list.iter().find(|x| !(**x > 0.0 && x.is_finite())) {
                return Err(CampaignError::field(
                    path,
                    field,
                    format!("holds {x}, expected numbers above 0"),
                ));
            }
        }
        let arms = SetupFile::load_all(path, &file.arms)?;
        let curves = |arm: &Setup| {
            // The same plans for all gains, and for all arms that differ in their set alone.
            let mut rng = ChaCha8Rng::seed_from_u64(file.seed);
            (0..file.plans).filter_map(|_| arm.curve(&mut rng)).collect()
        };
        let curves = arms.iter().map(curves).collect();
        Ok(Self { file, arms, curves })
    }

    /// All combinations of the gains for one arm.
    fn gains(&self, own: Gains) -> Vec<Gains> {
        let or = |list: &[f64], own: f64| if list.is_empty() { vec![own] } else { list.to_vec() };
        let mut all = Vec::new();
        for &k_r in &or(&self.file.k_r, own.k_r) {
            for &alpha in &or(&self.file.alpha, own.alpha) {
                for &v_max in &or(&self.file.v_max, own.v_max) {
                    all.push(Gains { k_r, alpha, v_max, ..own });
                }
            }
        }
        all
    }

    fn measure(&self, arm: &Setup, gains: Gains, curve: &Bezier) -> Sizes {
        let mut sizes = Sizes { plans: 1, ..Sizes::default() };
        match self.survey(arm, gains, curve) {
            Some((reports, tube)) => {
                reports.iter().for_each(|report| sizes.take(report));
                sizes.peaks.push(sizes.command.max);
                let Setup { robot, set, scene, .. } = arm.clone();
                let case = Case::new(robot, set, scene, tube, curve.clone());
                for k in 0..self.file.intervals {
                    let t = curve.duration_s * (k as f64 + 0.5) / self.file.intervals as f64;
                    let desired = curve.state(t);
                    let law = AttackedLaw::new(&case, t, (&desired.q, &desired.dq), &desired);
                    law.spread.iter().for_each(|&half| sizes.asked.take(half));
                }
            }
            None => sizes.unproven = 1,
        }
        sizes
    }

    /// The reports of all intervals and the tube, if it is proven over them.
    fn survey(&self, arm: &Setup, gains: Gains, curve: &Bezier) -> Option<(Vec<CellReport>, Tube)> {
        let (robot, set) = (&arm.robot, &arm.set);
        let mut guess = tube_fit::initial(robot);
        guess.gains = gains;
        let tube = tube_fit::fit(robot, set, curve, &guess, self.file.intervals).ok()?;
        let problem = Problem::new(robot, set, &arm.scene, &tube, curve).ok()?;
        let reports = problem.survey(self.file.intervals);
        let proven = reports.iter().all(|report| problem.tube_margin(report) >= 0.0);
        proven.then_some((reports, tube))
    }
}

impl Widths {
    /// Every plan of every arm under every choice of gains.
    fn all(&self) -> impl Iterator<Item = (usize, Gains, usize)> {
        self.curves.iter().enumerate().flat_map(move |(arm, curves)| {
            let gains = self.gains(self.arms[arm].robot.gains());
            gains.into_iter().flat_map(move |gains| (0..curves.len()).map(move |plan| (arm, gains, plan)))
        })
    }
}

impl Trials for Widths {
    type Trial = Sizes;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        digest(&self.arms)
    }

    fn keys(&self) -> Vec<String> {
        let inputs: Vec<u64> = self.arms.iter().map(digest).collect();
        let WidthsFile { seed, intervals, .. } = self.file;
        let key = |(arm, gains, plan): (usize, Gains, usize)| {
            let (label, inputs) = (&self.arms[arm].label, inputs[arm]);
            let Gains { k_r, alpha, v_max, .. } = gains;
            format!(
                "arm {arm} ({label}), gains {k_r} {alpha} {v_max}, plan {plan}, {intervals} intervals, seed {seed}, inputs {inputs:016x}"
            )
        };
        self.all().map(key).collect()
    }

    fn make(&self, number: usize) -> Result<Sizes, CampaignError> {
        let trial = self.all().nth(number);
        let (arm, gains, plan) = trial.ok_or_else(|| CampaignError::Trials(format!("no trial {number}")))?;
        Ok(self.measure(&self.arms[arm], gains, &self.curves[arm][plan]))
    }

    fn sum_up(&self, sizes: Vec<Sizes>) -> Result<CampaignFindings, CampaignError> {
        let mut groups: Vec<(usize, Gains, Sizes)> = Vec::new();
        for ((i, gains, _), sizes) in self.all().zip(&sizes) {
            match groups.last_mut() {
                Some((j, same, sum)) if *j == i && *same == gains => sum.merge(sizes),
                _ => groups.push((i, gains, sizes.clone())),
            }
        }
        Ok(self.findings(&groups))
    }
}

impl Widths {
    fn findings(&self, groups: &[(usize, Gains, Sizes)]) -> CampaignFindings {
        let heading = [
            "arm",
            "k_r",
            "alpha",
            "v_max",
            "command, mean",
            "max",
            "max of a plan, median",
            "nominal, mean",
            "max",
            "robust, mean",
            "max",
            "asked by the set, mean",
            "max",
            "N m; growth, mean",
            "max",
            "m; unproven",
        ];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        let mut entries = Vec::new();
        for (i, gains, sizes) in groups {
            let arm = &self.arms[*i];
            let spreads = [&sizes.command, &sizes.nominal, &sizes.robust, &sizes.asked, &sizes.growth];
            let mut row =
                vec![arm.label.clone(), figure(gains.k_r), figure(gains.alpha), figure(gains.v_max)];
            row.extend(spreads.iter().flat_map(|s| [figure(s.mean()), figure(s.max)]));
            let peak = sizes.usual_peak();
            row.insert(6, figure(peak.unwrap_or(f64::NAN)));
            row.push(format!("{} of {}", sizes.unproven, sizes.plans));
            table.push(row);
            let both = |s: &Spread| json!({ "mean": s.mean(), "max": s.max });
            entries.push(json!({ "arm": arm.label, "robot": arm.robot.name, "gains": gains,
                "command_nm": both(&sizes.command), "nominal_nm": both(&sizes.nominal),
                "robust_nm": both(&sizes.robust), "asked_nm": both(&sizes.asked), "growth_m": both(&sizes.growth),
                "largest_command_of_a_plan_median_nm": peak, "plans": sizes.plans, "unproven": sizes.unproven }));
        }
        let WidthsFile { name, seed, intervals, .. } = &self.file;
        let verdict = format!("Half-widths over all joints and {intervals} intervals of each proven plan.");
        let summary = json!({ "name": name, "kind": "widths", "seed": seed, "intervals": intervals,
            "passed": true, "entries": entries });
        CampaignFindings { passed: true, verdict, table, summary, files: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Campaign;

    #[test]
    fn what_is_better_known_has_smaller_sets() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/campaigns/widths.toml"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut file: WidthsFile = crate::campaign::parse(path, &text).unwrap();
        (file.plans, file.intervals) = (1, 16);
        let widths = Widths::new(path, file).unwrap();
        let findings = widths.run(&|_, _| ()).unwrap();
        let mean = |k: usize| findings.summary["entries"][k]["command_nm"]["mean"].as_f64().unwrap();
        assert!(mean(0) > mean(1) && mean(1) > mean(2), "{}", findings.summary);
        // Of a single plan the largest command is the same, however it is taken.
        for entry in findings.summary["entries"].as_array().unwrap() {
            assert_eq!(entry["largest_command_of_a_plan_median_nm"], entry["command_nm"]["max"]);
        }
    }

    #[test]
    fn the_usual_peak_is_the_median() {
        let of = |peaks: &[f64]| Sizes { peaks: peaks.to_vec(), ..Sizes::default() }.usual_peak();
        assert_eq!((of(&[]), of(&[3.0]), of(&[3.0, 1.0])), (None, Some(3.0), Some(2.0)));
        assert_eq!(of(&[5.0, 1.0, 2.0]), Some(2.0));
    }
}
