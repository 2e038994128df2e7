//! What can be proven of an arm as it is: the heaviest unknown payload, or what would have to be better for the one that is asked for.
//!
//! A payload is provable here if the certifier proves the tube of some random plans, tracking errors carry no link too
//! far, and torque, speed and position limits hold. An arm that is on time has the robot's own gains; one that is late has the momentum law, whose gains are chosen
//! for each plan. Masses are doubled, then bisected; so is what a payload needs. What is told is a value that was proven, for these plans.
//!
//! A proof for payloads of up to some mass is one for each lighter payload: the heavier prior holds it. A lighter *prior* may fail all the same: the law
//! rests on the middle of what it is told, and a plan that keeps its limits by little with one may break them with another. So doubling does not end at the first mass
//! that fails, but at the third in a row; the heaviest that is proven counts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::grid::grid;
use super::measure::{self, ProvenPerformance};
pub use super::needs::Needs;
use super::needs::better;
use super::{CELLS, TuneError, TuneOptions, TuningProblem, late, physical};
use crate::plan::setup::Setup;
use crate::report::figure::below;
use crate::robot::prior::PriorFault;
use crate::robot::{Arm, Gains, PayloadWords, Prior};
use crate::trajectory::Bezier;

/// Largest payload that is tried, kg.
const HEAVIEST_KG: f64 = 128.0;
/// Smallest payload that counts, kg.
const LIGHTEST_KG: f64 = 1.0 / 128.0;
/// Doubling ends with so many masses in a row that are not provable.
const REFUSED_IN_A_ROW: usize = 3;
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

/// The law, and the gains with which a payload may be proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LawTried {
    /// The first law with the robot's own gains.
    OwnGains,
    /// The first law with any gains of the grid that `robot tune` begins with.
    Grid,
    /// The momentum law.
    Momentum,
}

impl LawTried {
    /// That of the loop: the momentum law for an arm that is late or elastic.
    fn of(arm: &Arm) -> Self {
        if arm.beyond_first_law().is_none() { Self::OwnGains } else { Self::Momentum }
    }
}

/// What is proven of some plans.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProvenPlans {
    /// How far tracking errors carry the end of a capsule at most, m.
    pub growth_m: f64,
    /// Plans whose torque, speed and position limits are proven too.
    pub within_limits: usize,
    /// Plans.
    pub plans: usize,
}

impl From<ProvenPerformance> for ProvenPlans {
    fn from(found: ProvenPerformance) -> Self {
        let ProvenPerformance { growth_m, within_limits, plans, .. } = found;
        Self { growth_m, within_limits, plans }
    }
}

/// The heaviest payload that is provable.
#[derive(Debug, Clone, PartialEq)]
pub struct Heaviest {
    /// Its mass, kg; 0 if none is, not even an empty hand.
    pub kg: f64,
    /// What is proven of it; `None` if not even an empty hand is provable.
    pub proven: Option<ProvenPlans>,
    /// Why a little more is not proven; `None` if nothing heavier was tried.
    pub forbids: Option<String>,
}

/// What is provable.
#[derive(Debug, Clone, Serialize)]
pub struct ProvableLimits {
    /// The robot's name.
    pub robot: String,
    /// Its control period, s.
    pub period_s: f64,
    /// Under which law.
    pub law: LawTried,
    /// The heaviest payload that was proven, kg; 0 if none is, not even an empty hand.
    pub heaviest_kg: f64,
    /// Whether nothing heavier was tried.
    pub and_more: bool,
    /// Why a little more is not proven.
    pub forbids: Option<String>,
    /// What is proven of the heaviest.
    #[serde(skip)]
    pub proven: Option<ProvenPlans>,
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
        let arm = TuningProblem::of_robot(Path::new(&self.path))?.arm;
        let law = LawTried::of(&arm.robot);
        let search = Search::new(arm, (&self.payload, &self.options), law, progress)?;
        let asked = self.payload.max_mass_kg;
        let Heaviest { kg: heaviest_kg, proven, forbids } = search.heaviest();
        let too_heavy = asked.filter(|kg| *kg > heaviest_kg);
        let robot = &search.arm.robot;
        let refused = too_heavy.and_then(|kg| Some((kg, search.provable(robot, kg).err()?)));
        let asked = refused.map(|(kg, reason)| (kg, reason, search.needs(kg)));
        Ok(ProvableLimits {
            robot: robot.name.clone(),
            period_s: robot.gains().period_s,
            law,
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

/// The heaviest payload that is provable for an arm under a law. A mass that the words state plays no part.
///
/// # Errors
/// As [`LimitsProblem::run`].
pub fn heaviest(
    arm: &Arm,
    (payload, options): (&PayloadWords, &TuneOptions),
    law: LawTried,
) -> Result<Heaviest, LimitsError> {
    let arm = TuningProblem::of_arm(PathBuf::from(&arm.name), arm.clone())?.arm;
    Ok(Search::new(arm, (payload, options), law, &|| ())?.heaviest())
}

struct Search<'a> {
    payload: &'a PayloadWords,
    options: &'a TuneOptions,
    law: LawTried,
    arm: Setup,
    curves: Vec<Bezier>,
    /// Which gains of the grid proved a payload last.
    proved_last: AtomicUsize,
    progress: &'a (dyn Fn() + Sync),
}

impl<'a> Search<'a> {
    /// Refuses words that make no sense before anything is tried.
    fn new(
        arm: Setup,
        (payload, options): (&'a PayloadWords, &'a TuneOptions),
        law: LawTried,
        progress: &'a (dyn Fn() + Sync),
    ) -> Result<Self, LimitsError> {
        let study = TuningProblem::of_arm(PathBuf::new(), arm.robot.clone())?;
        let curves = match law {
            LawTried::OwnGains => study.curves(options)?,
            // A plan in motion follows another one there. What both laws are tried on is to be the same.
            LawTried::Grid | LawTried::Momentum => study.curves_from_rest(options)?,
        };
        let search = Self { payload, options, law, arm, curves, proved_last: AtomicUsize::new(0), progress };
        search.words(&search.arm.robot, payload.max_mass_kg.unwrap_or(1.0))?;
        Ok(search)
    }

    /// The prior of a payload of at most `kg`.
    fn words(&self, robot: &Arm, kg: f64) -> Result<Prior, PriorFault> {
        let words = PayloadWords { max_mass_kg: Some(kg), ..self.payload.clone() };
        Prior { payload: Some(words), ..Prior::default() }.in_numbers(robot)
    }

    /// What is proven of a payload of at most `kg`, or what forbids it.
    fn provable(&self, robot: &Arm, kg: f64) -> Result<ProvenPlans, String> {
        let mut arm = self.arm.clone();
        arm.robot = robot.clone();
        arm.set = crate::inertia::ParameterSet::around_nominal(robot);
        if kg > 0.0 {
            let prior = self.words(robot, kg).map_err(|fault| fault.to_string())?;
            arm.set = prior.applied_to(arm.set, robot).map_err(|fault| fault.to_string())?;
        }
        arm.set = physical(&arm.set, robot).map_err(|error| error.to_string())?;
        let own = robot.gains();
        let found = match self.law {
            LawTried::OwnGains => self.with_gains(&arm, own),
            LawTried::Grid => self.with_any(&arm, &grid(own)),
            LawTried::Momentum => late::proven(&arm, &self.curves, CELLS).and_then(|found| self.good(found)),
        };
        (self.progress)();
        found
    }

    /// With the first gains that prove it; those that did so last come first.
    fn with_any(&self, arm: &Setup, all: &[Gains]) -> Result<ProvenPlans, String> {
        let last = self.proved_last.load(Ordering::Relaxed);
        let mut refusal = None;
        for k in std::iter::once(last).chain((0..all.len()).filter(|k| *k != last)) {
            match self.with_gains(arm, all[k]) {
                Ok(found) => {
                    self.proved_last.store(k, Ordering::Relaxed);
                    return Ok(found);
                }
                Err(reason) => _ = refusal.get_or_insert(reason),
            }
        }
        Err(refusal.unwrap_or_default())
    }

    fn with_gains(&self, arm: &Setup, gains: Gains) -> Result<ProvenPlans, String> {
        let found = measure::proven(arm, gains, &self.curves, CELLS).map_err(|wanting| wanting.term)?;
        self.good(found.into())
    }

    /// Whether errors carry no link too far, and all limits hold.
    fn good(&self, found: ProvenPlans) -> Result<ProvenPlans, String> {
        let growth_m = self.options.growth_m;
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

    fn heaviest(&self) -> Heaviest {
        let robot = &self.arm.robot;
        let (mut low, mut proven) = match self.provable(robot, 0.0) {
            Ok(found) => (0.0, Some(found)),
            Err(reason) => return Heaviest { kg: 0.0, proven: None, forbids: Some(reason) },
        };
        let (mut high, mut forbids) = (LIGHTEST_KG, None);
        // Doubled, then halved between the heaviest that is proven and the next.
        let mut refused = 0;
        let doublings = (HEAVIEST_KG / LIGHTEST_KG).log2() as i32;
        for mass in (0..=doublings).map(|k| LIGHTEST_KG * f64::from(k).exp2()) {
            match self.provable(robot, mass) {
                Ok(found) => (low, proven, forbids, refused) = (mass, Some(found), None, 0),
                Err(reason) => {
                    refused += 1;
                    if forbids.is_none() {
                        (high, forbids) = (mass, Some(reason));
                    }
                }
            }
            if refused == REFUSED_IN_A_ROW {
                break;
            }
        }
        for _ in 0..if forbids.is_some() && low > 0.0 { HALVINGS } else { 0 } {
            let middle = (low * high).sqrt();
            match self.provable(robot, middle) {
                Ok(found) => (low, proven) = (middle, Some(found)),
                Err(reason) => (high, forbids) = (middle, Some(reason)),
            }
        }
        Heaviest { kg: low, proven, forbids }
    }

    fn needs(&self, kg: f64) -> Needs {
        let robot = &self.arm.robot;
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
                let gains = match self.law {
                    LawTried::Momentum => "under the momentum law, with the best gains that were found",
                    _ => "with the gains of its file; `surelift robot tune` looks for others",
                };
                format!("`{}`: nothing is provable {rate}, not even an empty hand, {gains}", self.robot)
            }
            (_, 0.0) => {
                format!("`{}`: an empty hand is provable {rate}, an unknown payload is not", self.robot)
            }
            (_, kg) => {
                let kg = below(kg);
                format!("`{}`: an unknown payload of at most {kg} kg is provable {rate}{more}", self.robot)
            }
        }];
        let more = if self.proven.is_some() { "a little more" } else { "it" };
        // Gains of the momentum law are searched for; what is not found may exist.
        let searched = self.law == LawTried::Momentum;
        all.extend(self.forbids.iter().map(|term| match searched {
            true => format!("no proof was found of {more}: {term}"),
            false => format!("{more} is forbidden by {term}"),
        }));
        if let Some((kg, reason, needs)) = &self.asked {
            let not = if searched { "no proof was found" } else { "it is not provable" };
            all.push(format!("{kg} kg: {not}: {reason}"));
            let gains = if searched { "" } else { "other gains (`surelift robot tune`) or " };
            let gains = format!("; try {gains}a payload that is known better");
            all.push(format!("{needs}{}", if needs.are_not_met() { &gains } else { "" }));
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
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn the_heaviest_is_proven_and_a_heavier_one_needs_what_is_told_at_length() {
        let problem = problem("kinova_gen3_2f85", Some(30.0));
        let found = problem.run(&|| ()).unwrap();
        println!("{:#?}", found.sentences());
        assert!(found.heaviest_kg > 1.0 && found.heaviest_kg < 30.0, "{found:?}");
        assert_eq!(found.law, LawTried::OwnGains);
        let arm = TuningProblem::of_robot(&problem.path).unwrap().arm;
        let search = Search::new(arm, (&problem.payload, &problem.options), found.law, &|| ()).unwrap();
        let robot = &search.arm.robot;
        assert!(search.provable(robot, found.heaviest_kg).is_ok());
        assert!(search.provable(robot, 1.1 * found.heaviest_kg).is_err());
        let (kg, _, needs) = found.asked.unwrap();
        assert_eq!(kg, 30.0);
        if let Some(ratio) = needs.armature_ratio {
            assert!(search.provable(&better(robot, Better::Armature, ratio).unwrap(), kg).is_ok());
            assert!(search.provable(&better(robot, Better::Armature, 0.8 * ratio).unwrap(), kg).is_err());
        }
    }

    /// An arm that is late has the momentum law, and may need fresher readings.
    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn a_late_arm_is_judged_under_its_own_law_at_length() {
        let mut problem = problem("kinova_gen3_2f85_late", None);
        problem.options.plans = 1;
        let arm = TuningProblem::of_robot(&problem.path).unwrap().arm;
        let tried = (&problem.payload, &problem.options);
        let search =
            Search::new(arm, tried, LawTried::of(&crate::robot::load(&problem.path).unwrap()), &|| ());
        let search = search.unwrap();
        assert_eq!(search.law, LawTried::Momentum);
        let robot = &search.arm.robot;
        let found = search.provable(robot, 1.0).unwrap();
        assert!(found.growth_m > 0.0 && found.within_limits == 1, "{found:?}");
        // Readings and commands half a dozen times as old are too old for a payload that is provable here.
        let older = better(robot, Better::Age, 1.0 / 6.0).unwrap();
        let refusal = search.provable(&older, 8.0).unwrap_err();
        assert!(search.provable(robot, 8.0).is_ok(), "{refusal}");
        // What is told to be enough for it is. A shorter period is tried too, though ticks of this arm shake by more than the shortest.
        let late = Search { arm: Setup { robot: older.clone(), ..search.arm.clone() }, ..search };
        let needs = late.needs(8.0);
        let ratio = needs.fresher_ratio.unwrap();
        assert!(ratio > 1.0 && ratio < 6.5, "{needs}");
        assert!(late.provable(&better(&older, Better::Age, ratio).unwrap(), 8.0).is_ok());
        assert!(better(&older, Better::Period, 32.0).is_some());
        // The first law is proven for no such arm, whatever its gains.
        let first = Search { law: LawTried::Grid, ..late };
        assert!(first.provable(&first.arm.robot, 0.0).unwrap_err().contains("reading_age_max_s"));
    }

    /// Each limit, and how far errors may carry a link, counts under the momentum law, too.
    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn a_late_arm_has_to_keep_each_limit_at_length() {
        let mut problem = problem("kinova_gen3_2f85_late", None);
        problem.options.plans = 1;
        let arm = TuningProblem::of_robot(&problem.path).unwrap().arm;
        let tried = (&problem.payload, &problem.options);
        let search = Search::new(arm, tried, LawTried::Momentum, &|| ()).unwrap();
        let robot = &search.arm.robot;
        let found = search.provable(robot, 1.0).unwrap();
        let ends = search.curves[0].end();
        let refused = |change: &dyn Fn(&mut crate::robot::Joint, f64)| {
            let changed = robot.changed(|arm| change(&mut arm.model.joints[1], ends[1])).unwrap();
            search.provable(&changed, 1.0).unwrap_err()
        };
        let said = "limits of torque, speed or position: 0 of 1 plans keep them";
        assert_eq!(refused(&|joint, _| joint.limits.velocity = 0.01), said);
        assert_eq!(refused(&|joint, end| joint.limits.position = Some((end - 3.0, end))), said);
        assert_eq!(refused(&|joint, end| joint.limits.position = Some((end, end + 3.0))), said);
        let options = TuneOptions { growth_m: 0.97 * found.growth_m, ..problem.options.clone() };
        let narrow = Search { options: &options, ..search };
        assert!(narrow.provable(&narrow.arm.robot, 1.0).unwrap_err().contains("tracking errors"));
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
