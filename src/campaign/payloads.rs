//! A map of what can be proven: the heaviest unknown payload of an arm, over its control rate, the delay of readings and commands, and the errors of velocities.
//!
//! For those who choose a drive for a job. Each trial gives the arm one rate, delay and bound of velocities, and finds the heaviest payload as `surelift robot limits`
//! does ([`crate::tune::limits`]): the tubes of some random plans from rest are proven, errors carry no link too far, and limits hold. Half of a delay is the
//! age of readings, half the delay of commands; ticks do not shake, and drives do not lag. Where there is no delay the first law counts too, with any gains of the grid that `robot tune` begins with, and the heavier
//! of both payloads is told. An arm with loops in its motors has no other delay than the age of their readings: that is the map's delay for it. All other figures are those of the robot's file. Gains are searched for: of what is not proven here, others may find a proof. A
//! measurement, no promise.

mod map;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::arm::load_robot;
use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings, exact};
use crate::report::figure::{below, figure};
use crate::robot::{self, Arm, PayloadWords, TimingBounds};
use crate::tune::TuneOptions;
use crate::tune::limits::{Heaviest, LawTried, LimitsError, heaviest};

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PayloadsFile {
    /// Name of the campaign.
    name: String,
    /// Random plans that must all be proven.
    plans: usize,
    /// Draws the plans.
    seed: u64,
    /// Control rates, Hz.
    rates_hz: Vec<f64>,
    /// Age of readings and delay of commands together, ms; half of it each. For an arm with loops in its motors the age of those loops' readings, above 0.
    delays_ms: Vec<f64>,
    /// Bounds of what measured velocities are off by, rad/s (m/s).
    velocity_errors_rad_s: Vec<f64>,
    /// The arms.
    arms: Vec<HoldingArm>,
}

/// An arm and what it is to hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct HoldingArm {
    /// Its name in tables and pictures; the robot's name if left out.
    label: Option<String>,
    /// Robot TOML, URDF or bare name.
    robot: PathBuf,
    /// How far tracking errors may carry a link, mm.
    growth_mm: f64,
    /// Where the payload is and how large, in words, without its mass.
    payload: PayloadWords,
}

/// The campaign, its file read and checked.
#[derive(Debug, Clone)]
pub struct PayloadMap {
    file: PayloadsFile,
    arms: Vec<Arm>,
}

/// What stands in one place of the map: numbers of arm, velocity error, rate and delay in their lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    arm: usize,
    velocity: usize,
    rate: usize,
    delay: usize,
}

/// What is provable there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Provable {
    /// The heaviest payload, kg; NaN where not even an empty hand is.
    #[serde(with = "exact")]
    kg: f64,
    /// Whether that is of the momentum law.
    momentum: bool,
    /// Why a little more is not proven, by the first gains that were tried; none if nothing heavier was.
    forbids: Option<String>,
}

impl Provable {
    fn of(found: Heaviest, law: LawTried) -> Self {
        let kg = if found.proven.is_some() { found.kg } else { f64::NAN };
        Self { kg, momentum: law == LawTried::Momentum, forbids: found.forbids }
    }

    /// The heavier of two; something is heavier than nothing.
    fn or(self, other: Self) -> Self {
        if other.kg > self.kg || self.kg.is_nan() { other } else { self }
    }
}

impl PayloadMap {
    pub(super) fn new(path: &Path, file: PayloadsFile) -> Result<Self, CampaignError> {
        let wrong = |field: &str, reason: String| CampaignError::field(path, field, reason);
        if file.plans == 0 {
            return Err(wrong("plans", "is 0, expected at least 1".into()));
        }
        for (field, list, from) in [
            ("rates_hz", &file.rates_hz, "numbers above 0"),
            ("delays_ms", &file.delays_ms, "numbers from 0 on"),
            ("velocity_errors_rad_s", &file.velocity_errors_rad_s, "numbers from 0 on"),
        ] {
            let good = |x: f64| x.is_finite() && (x > 0.0 || x == 0.0 && field != "rates_hz");
            if let Some(x) = list.iter().find(|x| !good(**x)) {
                return Err(wrong(field, format!("holds {x}, expected {from}")));
            }
            if list.is_empty() {
                return Err(wrong(field, "is empty, expected at least one number".into()));
            }
        }
        if file.arms.is_empty() {
            return Err(wrong("arms", "is empty, expected at least one".into()));
        }
        let arms = file.arms.iter().enumerate().map(|(i, arm)| arm.load(path, &format!("arms[{i}]")));
        let arms = arms.collect::<Result<_, _>>()?;
        let map = Self { file, arms };
        for arm in 0..map.arms.len() {
            if let Some(other) = (0..arm).find(|other| map.label(*other) == map.label(arm)) {
                let reason =
                    format!("is `{}`, as that of arms[{other}]: expected another one", map.label(arm));
                return Err(wrong(&format!("arms[{arm}].label"), reason));
            }
        }
        for place in map.places() {
            let (rate, delay) = (map.file.rates_hz[place.rate], map.file.delays_ms[place.delay]);
            let field = format!("arms[{}] at {rate} Hz with a delay of {delay} ms", place.arm);
            if delay == 0.0 && map.arms[place.arm].timing().has_motor_loops() {
                let reason =
                    "expected delays above 0: this arm's are the ages of what the loops in its motors read";
                return Err(wrong(&field, reason.into()));
            }
            map.arm_at(place).map_err(|error| wrong(&field, error.to_string()))?;
        }
        Ok(map)
    }

    /// All places, delays fastest.
    fn places(&self) -> impl Iterator<Item = Place> {
        let PayloadsFile { rates_hz, delays_ms, velocity_errors_rad_s, arms, .. } = &self.file;
        let lengths = [delays_ms.len(), rates_hz.len(), velocity_errors_rad_s.len()];
        (0..arms.len() * lengths.iter().product::<usize>()).map(move |k| {
            let (delay, k) = (k % lengths[0], k / lengths[0]);
            let (rate, k) = (k % lengths[1], k / lengths[1]);
            Place { arm: k / lengths[2], velocity: k % lengths[2], rate, delay }
        })
    }

    /// The arm with the figures of a place.
    fn arm_at(&self, place: Place) -> Result<Arm, robot::RobotError> {
        let arm = &self.arms[place.arm];
        let delay_s = 1e-3 * self.file.delays_ms[place.delay];
        let mut gains = arm.gains();
        gains.period_s = 1.0 / self.file.rates_hz[place.rate];
        let mut sensors = arm.sensors().clone();
        sensors.velocity_rad_s = self.file.velocity_errors_rad_s[place.velocity];
        let timing = if arm.timing().has_motor_loops() {
            TimingBounds { motor_loop_age_max_s: delay_s, ..TimingBounds::EXACT }
        } else {
            let half_s = 0.5 * delay_s;
            TimingBounds { reading_age_max_s: half_s, command_delay_max_s: half_s, ..TimingBounds::EXACT }
        };
        // Ages are judged against the period: that comes first.
        let exact = arm.with_timing(TimingBounds::EXACT)?;
        exact.with_gains(gains)?.with_timing(timing)?.with_sensors(sensors)
    }

    fn at(&self, place: Place) -> Result<Provable, LimitsError> {
        let holding = &self.file.arms[place.arm];
        let arm = self.arm_at(place).map_err(crate::tune::TuneError::from)?;
        let options = TuneOptions {
            plans: self.file.plans,
            seed: self.file.seed,
            growth_m: 1e-3 * holding.growth_mm,
            own_alone: true,
        };
        let under = |law: LawTried| {
            Ok::<_, LimitsError>(Provable::of(heaviest(&arm, (&holding.payload, &options), law)?, law))
        };
        if arm.timing().has_motor_loops() {
            return under(LawTried::Grid);
        }
        let momentum = under(LawTried::Momentum)?;
        Ok(if arm.beyond_first_law().is_none() { under(LawTried::Grid)?.or(momentum) } else { momentum })
    }

    fn label(&self, arm: usize) -> &str {
        self.file.arms[arm].label.as_deref().unwrap_or(&self.arms[arm].name)
    }
}

impl HoldingArm {
    fn load(&self, path: &Path, field: &str) -> Result<Arm, CampaignError> {
        let wrong = |key: &str, reason: String| CampaignError::field(path, format!("{field}.{key}"), reason);
        if !(self.growth_mm > 0.0 && self.growth_mm.is_finite()) {
            return Err(wrong("growth_mm", format!("is {}, expected a number above 0", self.growth_mm)));
        }
        let given = [
            ("max_mass_kg", self.payload.max_mass_kg.is_some()),
            ("min_mass_kg", self.payload.min_mass_kg.is_some()),
            ("density_kg_m3", self.payload.density_kg_m3.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
            let reason = "given, but the mass is what is sought: expected a place and a size alone";
            return Err(wrong(&format!("payload.{key}"), reason.into()));
        }
        let arm = load_robot(path, &format!("{field}.robot"), &self.robot)?;
        let words = PayloadWords { max_mass_kg: Some(1.0), ..self.payload.clone() };
        let prior = robot::Prior { payload: Some(words), ..robot::Prior::default() };
        prior.in_numbers(&arm).map_err(|fault| wrong(&fault.field, fault.reason.clone()))?;
        Ok(arm)
    }
}

impl Trials for PayloadMap {
    type Trial = Provable;

    fn title(&self) -> &str {
        &self.file.name
    }

    fn inputs(&self) -> u64 {
        digest(&self.arms)
    }

    fn keys(&self) -> Vec<String> {
        let inputs: Vec<u64> = self.arms.iter().map(digest).collect();
        let PayloadsFile { plans, seed, .. } = self.file;
        let key = |place: Place| {
            let (label, holding) = (self.label(place.arm), &self.file.arms[place.arm]);
            let (rate, delay) = (self.file.rates_hz[place.rate], self.file.delays_ms[place.delay]);
            let velocity = self.file.velocity_errors_rad_s[place.velocity];
            let (growth, payload, inputs) = (holding.growth_mm, &holding.payload, inputs[place.arm]);
            format!(
                "arm {} ({label}), {rate} Hz, {delay} ms, {velocity} rad/s, {plans} plans, seed {seed}, {growth} mm, {payload:?}, inputs {inputs:016x}",
                place.arm
            )
        };
        self.places().map(key).collect()
    }

    fn make(&self, number: usize) -> Result<Provable, CampaignError> {
        let place = self.places().nth(number);
        let place = place.ok_or_else(|| CampaignError::Trials(format!("no trial {number}")))?;
        self.at(place).map_err(|error| CampaignError::Trials(format!("{}: {error}", self.label(place.arm))))
    }

    fn sum_up(&self, found: Vec<Provable>) -> Result<CampaignFindings, CampaignError> {
        let files = map::figures(self, &found)?;
        Ok(CampaignFindings {
            passed: true,
            verdict: "Heaviest unknown payload of which a proof was found, kg. A dash: of none, not even of an empty hand."
                .into(),
            table: self.table(&found),
            summary: self.summary(&found),
            files,
        })
    }
}

impl PayloadMap {
    /// A line for each arm, velocity error and rate; a column for each delay.
    fn table(&self, found: &[Provable]) -> Vec<Vec<String>> {
        let PayloadsFile { rates_hz, delays_ms, velocity_errors_rad_s, .. } = &self.file;
        let heading = ["arm", "velocity error, rad/s", "rate, Hz"].map(str::to_owned);
        let delays = delays_ms.iter().map(|ms| format!("delay {} ms", figure(*ms)));
        let mut table = vec![heading.into_iter().chain(delays).collect::<Vec<_>>()];
        let places: Vec<Place> = self.places().collect();
        for (line, found) in places.chunks(delays_ms.len()).zip(found.chunks(delays_ms.len())) {
            let Place { arm, velocity, rate, .. } = line[0];
            let mut row = vec![self.label(arm).to_owned()];
            row.extend([velocity_errors_rad_s[velocity], rates_hz[rate]].map(figure));
            row.extend(found.iter().map(|found| below(found.kg)));
            table.push(row);
        }
        table
    }

    fn summary(&self, found: &[Provable]) -> serde_json::Value {
        let entry = |(place, found): (Place, &Provable)| {
            let kg = Some(found.kg).filter(|kg| !kg.is_nan());
            json!({ "arm": self.label(place.arm), "robot": self.arms[place.arm].name,
                "rate_hz": self.file.rates_hz[place.rate], "delay_ms": self.file.delays_ms[place.delay],
                "velocity_error_rad_s": self.file.velocity_errors_rad_s[place.velocity],
                "heaviest_kg": kg, "law": if found.momentum { "momentum" } else { "first" },
                "forbids": found.forbids })
        };
        let entries: Vec<_> = self.places().zip(found).map(entry).collect();
        let PayloadsFile { name, plans, seed, .. } = &self.file;
        json!({ "name": name, "kind": "payloads", "plans": plans, "seed": seed, "passed": true, "entries": entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{Campaign, parse};

    const FILE: &str = "schema = 1\nname = \"few\"\nkind = \"payloads\"\nplans = 1\nseed = 1\nrates_hz = [500, 1000]\ndelays_ms = [0, 6]\n\
        velocity_errors_rad_s = [1e-3]\n[[arms]]\nrobot = \"kinova_gen3_2f85\"\ngrowth_mm = 20\npayload = { size_m = [0.1, 0.1, 0.1] }\n";

    fn map(text: &str) -> Result<PayloadMap, String> {
        let path = Path::new("campaign.toml");
        let file = parse(path, text).map_err(|error: CampaignError| error.to_string())?;
        PayloadMap::new(path, file).map_err(|error| error.to_string())
    }

    /// Faster ticks and fresher readings never carry less; late enough, nothing is provable. Each place has its own cell in table and picture.
    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn a_faster_and_fresher_arm_carries_more_at_length() {
        let findings = map(FILE).unwrap().run(&|_, _| ()).unwrap();
        let kg = |k: usize| findings.summary["entries"][k]["heaviest_kg"].as_f64();
        assert!(kg(0).unwrap() > 0.5 && kg(2).unwrap() > kg(0).unwrap(), "{}", findings.summary);
        assert!(kg(1).is_none_or(|late| late < kg(0).unwrap()), "{}", findings.summary);
        let delayed = &findings.summary["entries"][1];
        assert_eq!(delayed["law"], "momentum");
        assert!(delayed["forbids"].is_string());
        assert_eq!(findings.table.len(), 3);
        assert_eq!(findings.table[1][2..4].to_vec(), ["500".to_owned(), below(kg(0).unwrap())]);
        let (name, picture) = &findings.files[0];
        assert_eq!(name, "kinova_gen3_2f85.svg");
        for k in [0, 2] {
            assert!(picture.contains(&format!("{} kg", below(kg(k).unwrap()))), "{k}");
        }
        assert!(picture.trim_end().ends_with("</svg>"));
    }

    /// Two arms under two velocity errors: each place has its own figures, and its own text in the table and the right picture.
    #[test]
    fn no_place_is_taken_for_another() {
        let second = "[[arms]]\nlabel = \"second\"\nrobot = \"z1\"\ngrowth_mm = 50\npayload = { size_m = [0.1, 0.1, 0.1] }\n";
        let map = map(&(FILE.replace("[1e-3]", "[1e-3, 2e-3]") + second)).unwrap();
        let places: Vec<Place> = map.places().collect();
        let distinct: std::collections::BTreeSet<_> =
            places.iter().map(|p| (p.arm, p.velocity, p.rate, p.delay)).collect();
        assert_eq!((places.len(), distinct.len(), map.keys().len()), (16, 16, 16));
        for place in &places {
            let arm = map.arm_at(*place).unwrap();
            let timing = arm.timing();
            assert_eq!(arm.name, ["kinova_gen3_2f85", "z1"][place.arm]);
            assert_eq!(arm.sensors().velocity_rad_s, [1e-3, 2e-3][place.velocity]);
            assert_eq!(arm.gains().period_s, [2e-3, 1e-3][place.rate]);
            assert_eq!(timing.reading_age_max_s + timing.command_delay_max_s, [0.0, 6e-3][place.delay]);
        }
        let provable = |k: usize| Provable { kg: 1.0 + k as f64, momentum: false, forbids: None };
        let findings = map.sum_up((0..16).map(provable).collect()).unwrap();
        assert_eq!(findings.table[1][..5].to_vec(), ["kinova_gen3_2f85", "0.00100", "500", "1", "2"]);
        assert_eq!(findings.table[8][..5].to_vec(), ["second", "0.00200", "1000", "15", "16"]);
        let names: Vec<&str> = findings.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["kinova_gen3_2f85.svg", "second.svg"]);
        for k in 0..16 {
            let there =
                findings.files.iter().map(|(_, picture)| picture.contains(&format!("\n{} kg\n", k + 1)));
            assert_eq!(there.collect::<Vec<_>>(), [k < 8, k >= 8], "{k}");
        }
    }

    /// Motors with loops of their own have no other delay than the age of what those read.
    #[test]
    fn the_delay_of_loops_in_the_motors_is_the_age_of_their_readings() {
        let looped = FILE.replace("kinova_gen3_2f85", "z1_500hz");
        let map = map(&looped.replace("[0, 6]", "[0.05, 0.1]")).unwrap();
        let ages = map.places().map(|place| {
            let timing = map.arm_at(place).unwrap().timing();
            let age_s = timing.motor_loop_age_max_s;
            assert_eq!(timing, TimingBounds { motor_loop_age_max_s: age_s, ..TimingBounds::EXACT });
            1e3 * age_s
        });
        assert_eq!(ages.collect::<Vec<_>>(), [0.05, 0.1, 0.05, 0.1]);
        let findings =
            map.sum_up(map.places().map(|_| Provable { kg: 1.0, momentum: false, forbids: None }).collect());
        assert!(findings.unwrap().files[0].1.contains("age of loop readings, ms"));
    }

    #[test]
    fn a_file_that_makes_no_sense_is_refused_by_field() {
        let refused = |from: &str, to: &str, field: &str| {
            assert!(FILE.contains(from));
            let said = map(&FILE.replace(from, to)).unwrap_err();
            assert!(said.contains(field), "{to}: {said}");
        };
        refused("rates_hz = [500, 1000]", "rates_hz = [0]", "`rates_hz`: holds 0");
        refused("rates_hz = [500, 1000]", "rates_hz = []", "`rates_hz`: is empty");
        refused("delays_ms = [0, 6]", "delays_ms = [-1]", "`delays_ms`: holds -1");
        refused("delays_ms = [0, 6]", "delays_ms = [1e6]", "`arms[0] at 500 Hz with a delay of 1000000 ms`");
        refused(
            "kinova_gen3_2f85",
            "z1_500hz",
            "`arms[0] at 500 Hz with a delay of 0 ms`: expected delays above 0",
        );
        refused("[1e-3]", "[nan]", "`velocity_errors_rad_s`: holds NaN");
        refused("plans = 1", "plans = 0", "`plans`");
        refused("growth_mm = 20", "growth_mm = 0", "`arms[0].growth_mm`");
        refused("payload = {", "payload = { max_mass_kg = 1.0,", "`arms[0].payload.max_mass_kg`");
        refused("[0.1, 0.1, 0.1]", "[0.1, 0.1, 0.0]", "`arms[0].payload.size_m`");
        refused("kinova_gen3_2f85", "no_such_arm", "no_such_arm");
        let arm = &FILE[FILE.find("[[arms]]").unwrap()..];
        let said = map(&format!("{FILE}{arm}")).unwrap_err();
        assert!(said.contains("`arms[1].label`") && said.contains("arms[0]"), "{said}");
    }
}
