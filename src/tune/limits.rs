//! What can be proven of an arm as it is: the heaviest unknown payload, or what would have to be better for the one that is asked for.
//!
//! A payload is provable here if, with the robot's own gains, the certifier proves the tube of some random plans, tracking errors carry no link too
//! far, and torque, speed and position limits hold. Masses are doubled, then bisected; so is what a payload needs. What is told is a value that was proven, for these plans.
//!
//! A proof for payloads of up to some mass is one for each lighter payload: the heavier prior holds it. A lighter *prior* may fail all the same: the law
//! rests on the middle of what it is told, and a plan that keeps its limits by little with one may break them with another. So doubling does not end at the first mass
//! that fails; the heaviest that is proven counts.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::measure::{self, ProvenPerformance};
pub use super::needs::Needs;
use super::needs::better;
use super::{CELLS, TuneError, TuneOptions, TuningProblem, physical};
use crate::robot::prior::PriorFault;
use crate::robot::{Arm, PayloadWords, Prior};
use crate::trajectory::Bezier;

/// Largest payload that is tried, kg.
const HEAVIEST_KG: f64 = 128.0;
/// Smallest payload that counts, kg.
const LIGHTEST_KG: f64 = 1.0 / 128.0;
/// Halvings of an interval of masses, in logarithms.
const HALVINGS: usize = 5;

/// A payload whose mass is to be found or judged.
#[derive(Debug, Clone)]
pub struct LimitsProblem {
    /// The robot's file or name.
    pub path: PathBuf,
    /// Where the payload is and how large, in words; a mass that is stated is what is asked for.
    pub payload: PayloadWords,
    /// Plans, seed and how far tracking errors may carry a link.
    pub options: TuneOptions,
}

/// What is provable.
#[derive(Debug, Clone, Serialize)]
pub struct ProvableLimits {
    /// The robot's name.
    pub robot: String,
    /// Its control period, s.
    pub period_s: f64,
    /// The heaviest payload that was proven, kg; 0 if none is, not even an empty hand.
    pub heaviest_kg: f64,
    /// Whether nothing heavier was tried.
    pub and_more: bool,
    /// Why a little more is not proven.
    pub forbids: Option<String>,
    /// What is proven of the heaviest.
    #[serde(skip)]
    pub proven: Option<ProvenPerformance>,
    /// For a payload that is asked for and is heavier: its mass, kg, why it is not proven, and what it needs.
    pub asked: Option<(f64, String, Needs)>,
}

/// Why limits cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// The robot, or its plans.
    #[error(transparent)]
    Tune(#[from] TuneError),
    /// The payload's words.
    #[error(transparent)]
    Payload(#[from] PriorFault),
}

impl LimitsProblem {
    /// Finds the heaviest payload, and what the one that is asked for needs. `progress` is called after each proof that was tried.
    ///
    /// # Errors
    /// A robot that cannot be used, words that describe no payload.
    pub fn run(&self, progress: &(dyn Fn() + Sync)) -> Result<ProvableLimits, LimitsError> {
        let study = TuningProblem::of_robot(Path::new(&self.path))?;
        let curves = study.curves(&self.options)?;
        let search = Search { problem: self, study: &study, curves: &curves, progress };
        // Words that make no sense are refused before anything is tried.
        let asked = self.payload.max_mass_kg;
        search.payload(&study.arm.robot, asked.unwrap_or(1.0))?;
        let (heaviest_kg, proven, forbids) = search.heaviest();
        let too_heavy = asked.filter(|kg| *kg > heaviest_kg);
        let robot = &study.arm.robot;
        let refused = too_heavy.and_then(|kg| Some((kg, search.provable(robot, kg).err()?)));
        let asked = refused.map(|(kg, reason)| (kg, reason, search.needs(kg)));
        Ok(ProvableLimits {
            robot: robot.name.clone(),
            period_s: robot.gains().period_s,
            heaviest_kg: match asked.is_none() {
                // What was asked for is proven, though bisection stopped just below it.
                true => too_heavy.unwrap_or(heaviest_kg),
                false => heaviest_kg,
            },
            and_more: forbids.is_none(),
            forbids,
            proven,
            asked,
        })
    }
}

struct Search<'a> {
    problem: &'a LimitsProblem,
    study: &'a TuningProblem,
    curves: &'a [Bezier],
    progress: &'a (dyn Fn() + Sync),
}

impl Search<'_> {
    /// The prior of a payload of at most `kg`.
    fn payload(&self, robot: &Arm, kg: f64) -> Result<Prior, PriorFault> {
        let words = PayloadWords { max_mass_kg: Some(kg), ..self.problem.payload.clone() };
        Prior { payload: Some(words), ..Prior::default() }.in_numbers(robot)
    }

    /// What is proven of a payload of at most `kg`, or what forbids it.
    fn provable(&self, robot: &Arm, kg: f64) -> Result<ProvenPerformance, String> {
        let mut arm = self.study.arm.clone();
        arm.robot = robot.clone();
        arm.set = crate::inertia::ParameterSet::around_nominal(robot);
        if kg > 0.0 {
            let prior = self.payload(robot, kg).map_err(|fault| fault.to_string())?;
            arm.set = prior.applied_to(arm.set, robot).map_err(|fault| fault.to_string())?;
        }
        arm.set = physical(&arm.set, robot).map_err(|error| error.to_string())?;
        let found = measure::proven(&arm, robot.gains(), self.curves, CELLS);
        (self.progress)();
        let found = found.map_err(|wanting| wanting.term)?;
        let growth_m = self.problem.options.growth_m;
        if found.growth_m > growth_m {
            let (is, may) = (1e3 * found.growth_m, 1e3 * growth_m);
            return Err(format!(
                "tracking errors: they carry a link by {is:.1} mm, at most {may:.1} mm is allowed"
            ));
        }
        if found.within_limits < found.plans {
            let (kept, plans) = (found.within_limits, found.plans);
            return Err(format!("limits of torque, speed or position: {kept} of {plans} plans keep them"));
        }
        Ok(found)
    }

    /// The heaviest payload, what is proven of it, and why a little more is not.
    fn heaviest(&self) -> (f64, Option<ProvenPerformance>, Option<String>) {
        let robot = &self.study.arm.robot;
        let (mut low, mut proven) = match self.provable(robot, 0.0) {
            Ok(found) => (0.0, Some(found)),
            Err(reason) => return (0.0, None, Some(reason)),
        };
        let (mut high, mut forbids) = (LIGHTEST_KG, None);
        // Doubled to the end, then halved between the heaviest that is proven and the next.
        let doublings = (HEAVIEST_KG / LIGHTEST_KG).log2() as i32;
        for mass in (0..=doublings).map(|k| LIGHTEST_KG * f64::from(k).exp2()) {
            match self.provable(robot, mass) {
                Ok(found) => (low, proven, forbids) = (mass, Some(found), None),
                Err(reason) if forbids.is_none() => (high, forbids) = (mass, Some(reason)),
                Err(_) => {}
            }
        }
        for _ in 0..if forbids.is_some() && low > 0.0 { HALVINGS } else { 0 } {
            let middle = (low * high).sqrt();
            match self.provable(robot, middle) {
                Ok(found) => (low, proven) = (middle, Some(found)),
                Err(reason) => (high, forbids) = (middle, Some(reason)),
            }
        }
        (low, proven, forbids)
    }

    fn needs(&self, kg: f64) -> Needs {
        let robot = &self.study.arm.robot;
        Needs::find(robot, &|what, factor| {
            better(robot, what, factor).is_some_and(|robot| self.provable(&robot, kg).is_ok())
        })
    }
}

impl ProvableLimits {
    /// What was found, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let rate = format!("at {:.0} Hz", 1.0 / self.period_s);
        let more = if self.and_more { "; nothing heavier was tried" } else { "" };
        let mut all = vec![match (&self.proven, self.heaviest_kg) {
            (None, _) => {
                let gains = "with the gains of its file; `surelift robot tune` looks for others";
                format!("`{}`: nothing is provable {rate}, not even an empty hand, {gains}", self.robot)
            }
            (_, 0.0) => {
                format!("`{}`: an empty hand is provable {rate}, an unknown payload is not", self.robot)
            }
            (_, kg) => {
                format!("`{}`: an unknown payload of at most {kg:.3} kg is provable {rate}{more}", self.robot)
            }
        }];
        let more = if self.proven.is_some() { "a little more" } else { "it" };
        all.extend(self.forbids.iter().map(|term| format!("{more} is forbidden by {term}")));
        if let Some((kg, reason, needs)) = &self.asked {
            all.push(format!("{kg} kg is not provable: {reason}"));
            let nothing = *needs == Needs { period_s: None, armature_ratio: None, velocity_rad_s: None };
            let gains = "; try other gains (`surelift robot tune`) or a payload that is known better";
            all.push(format!("{needs}{}", if nothing { gains } else { "" }));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::needs::Better;

    fn problem(robot: &str, kg: Option<f64>) -> LimitsProblem {
        let payload = PayloadWords { max_mass_kg: kg, size_m: Some([0.1; 3]), ..PayloadWords::default() };
        LimitsProblem {
            path: robot.into(),
            payload,
            options: TuneOptions { plans: 2, ..TuneOptions::default() },
        }
    }

    /// What is told to be provable is, and what is told to need more does.
    #[test]
    fn the_heaviest_is_proven_and_a_heavier_one_needs_what_is_told() {
        let problem = problem("kinova_gen3_2f85", Some(30.0));
        let found = problem.run(&|| ()).unwrap();
        println!("{:#?}", found.sentences());
        assert!(found.heaviest_kg > 1.0 && found.heaviest_kg < 30.0, "{found:?}");
        let study = TuningProblem::of_robot(&problem.path).unwrap();
        let curves = study.curves(&problem.options).unwrap();
        let search = Search { problem: &problem, study: &study, curves: &curves, progress: &|| () };
        let robot = &study.arm.robot;
        assert!(search.provable(robot, found.heaviest_kg).is_ok());
        assert!(search.provable(robot, 1.1 * found.heaviest_kg).is_err());
        let (kg, _, needs) = found.asked.unwrap();
        assert_eq!(kg, 30.0);
        if let Some(ratio) = needs.armature_ratio {
            assert!(search.provable(&better(robot, Better::Armature, ratio).unwrap(), kg).is_ok());
            assert!(search.provable(&better(robot, Better::Armature, 0.8 * ratio).unwrap(), kg).is_err());
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (kg, culprit) in [(f64::NAN, "max_mass_kg"), (-1.0, "max_mass_kg")] {
            let error = problem("kinova_gen3_2f85", Some(kg)).run(&|| ()).unwrap_err().to_string();
            assert!(error.contains(culprit), "{error}");
        }
        let error = problem("no_such_arm", None).run(&|| ()).unwrap_err().to_string();
        assert!(error.contains("no_such_arm"), "{error}");
        let mut flat = problem("kinova_gen3_2f85", Some(1.0));
        flat.payload.size_m = Some([0.1, 0.0, 0.1]);
        assert!(flat.run(&|| ()).unwrap_err().to_string().contains("size_m"));
    }
}
