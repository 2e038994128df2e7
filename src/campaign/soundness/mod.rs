//! Soundness: whatever the certifier claims of a span of a plan must hold for every state that is possible in it.
//!
//! Plans (parameter k) are drawn for each arm, and spans of them; the certifier reports on each span; then states are drawn
//! — time, parameters theta, tracking error, sensor errors, mostly at the edge of what is possible — and an adversary
//! walks uphill from further ones (`walk`). Each is held against every claim ([`attack`]) with a plant of its
//! own ([`crate::dynamics::truth`]), and the arithmetic that the claims are made of against numbers of twice the precision. The same seed makes the same trials, on any number of threads.
//!
//! What it is blind to is told by the shares of the bounds that were used: an error smaller than what is left does not show.

mod arithmetic;
pub mod attack;
#[cfg(test)]
mod attained;
pub mod case;
pub mod edge;
mod late;
pub mod ledger;
mod motors;
#[cfg(test)]
mod tests;
mod tick;
mod walk;

use std::ops::Range;
use std::path::Path;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::certify::Workspaces;
use crate::enclose::{Counted, Rounding};
use crate::reach::Span;
use crate::report::figure::figure;

use super::arm::{Setup, SetupFile};
use super::trials::{Trials, digest};
use super::{CampaignError, CampaignFindings};
use attack::Attack;
use case::Case;
use late::LateCase;
use ledger::{Check, CheckFamily, Closest, Ledger};
use motors::MotorCase;

/// Spans attacked of each plan. More of them, or more states in each, find more in proportion to time; these share a plan's
/// preparation among about a thousand states.
const SPANS: usize = 16;
/// Random states a span; see [`SPANS`].
const DRAWS: usize = 64;
/// Plans of one arm that are attacked, written down and taken over together. A plan takes a fraction of a second: an interruption loses seconds,
/// and 10^9 samples leave a hundred thousand lines.
const BLOCK: u64 = 8;

/// No walk, and no play of a late arm, looks at more states than this: some ten thousand are usual.
const MOST_STATES: u64 = 1 << 24;
/// No state is compared with one claim more often than this: arms have some tens of joints and some hundreds of pairs that may touch.
const MOST_COMPARISONS: u64 = 1 << 16;

/// The file of the campaign.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SoundnessFile {
    /// Name of the campaign.
    name: String,
    /// Random states over all arms.
    samples: u64,
    /// Walks of the adversary for each span.
    walks: usize,
    /// Draws everything.
    seed: u64,
    /// The arms that are attacked.
    arms: Vec<SetupFile>,
}

/// The campaign, its file read and checked.
#[derive(Debug)]
pub struct Soundness {
    name: String,
    samples: u64,
    walks: usize,
    seed: u64,
    arms: Vec<Setup>,
    /// Claims are made where [`crate::certify::certify_in`] makes them: in storage that was used for other cells, plans and arms before.
    workspaces: Workspaces<Counted>,
}

impl Soundness {
    pub(super) fn new(path: &Path, file: SoundnessFile) -> Result<Self, CampaignError> {
        if file.samples == 0 {
            return Err(CampaignError::field(path, "samples", "is 0, expected at least 1"));
        }
        let arms = SetupFile::load_all(path, &file.arms)?;
        let workspaces = Workspaces::default();
        Ok(Self {
            name: file.name,
            samples: file.samples,
            walks: file.walks,
            seed: file.seed,
            arms,
            workspaces,
        })
    }

    /// Attacks one plan of an arm; the claims are made in the arithmetic `R`.
    fn attack_plan<R: Rounding>(
        &self,
        claim: &Case,
        truth: &Case,
        (workspaces, rng): (&Workspaces<R>, &mut ChaCha8Rng),
    ) -> Result<(Ledger, u64), CampaignError> {
        let (mut ledger, mut walked) = (Ledger::default(), 0);
        let problem = claim.problem().map_err(|refusal| CampaignError::Trials(refusal.to_string()))?;
        for _ in 0..SPANS {
            let report = problem.report(span(truth, rng), workspaces);
            let mut attack = Attack::new(claim, truth, &report);
            attack.at_random(DRAWS, rng, &mut ledger);
            for _ in 0..self.walks {
                walked += attack.by_walking(rng, &mut ledger);
            }
            (0..DRAWS).for_each(|_| arithmetic::attack::<R>(rng, &mut ledger));
        }
        Ok((ledger, walked))
    }

    /// Attacks a plan of an arm whose readings and commands are late: plays it, each time on another arm. Each play looks at more states than the spans of a plan on
    /// time do.
    fn attack_late(&self, arm: &Setup, rng: &mut ChaCha8Rng) -> Result<(Ledger, u64), CampaignError> {
        let case = LateCase::draw(arm, rng).ok_or_else(|| nothing_proven(arm))?;
        let mut ledger = Ledger::default();
        let walked = (0..=self.walks).map(|_| case.play(1.0, rng, &mut ledger)).sum();
        Ok((ledger, walked))
    }

    /// Attacks a plan whose feedback runs in the motors: plays it, each time on another arm.
    fn attack_in_motors(&self, arm: &Setup, rng: &mut ChaCha8Rng) -> Result<(Ledger, u64), CampaignError> {
        let case = MotorCase::draw(arm, rng).ok_or_else(|| nothing_proven(arm))?;
        let mut ledger = Ledger::default();
        let walked = (0..=self.walks).map(|_| case.play(1.0, rng, &mut ledger)).sum();
        Ok((ledger, walked))
    }

    /// Attacks the `k`-th plan of an arm.
    fn attack_arm(&self, arm: usize, k: u64) -> Result<(Ledger, u64), CampaignError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream((arm as u64) << 40 | k);
        let arm = &self.arms[arm];
        if arm.robot.beyond_first_law().is_some() {
            return self.attack_late(arm, &mut rng);
        }
        if arm.robot.timing().has_motor_loops() {
            return self.attack_in_motors(arm, &mut rng);
        }
        let case = Case::draw_plan(arm, &mut rng).ok_or_else(|| nothing_proven(arm))?;
        let tilted = case.tilted(&mut rng);
        self.attack_plan(&case, &tilted, (&self.workspaces, &mut rng))
    }
}

/// An arm for which nothing is claimed.
fn nothing_proven(arm: &Setup) -> CampaignError {
    let name = &arm.label;
    CampaignError::Trials(format!("no tube is proven for any plan of '{name}': nothing to attack"))
}

/// Trials that claim more than there can be.
fn uncountable() -> CampaignError {
    CampaignError::Merge("trials claim more comparisons or states than can be counted".to_owned())
}

/// Spans to attack: cells as the certifier uses them, short ones whose bounds are nearly sharp, also where the strips of the set are
/// meant for, and the rest at the end.
fn span(case: &Case, rng: &mut ChaCha8Rng) -> Span {
    let duration = case.curve.duration_s;
    let width = if rng.random_bool(0.25) { duration / 32.0 } else { 1e-3 };
    let t0 = match rng.random_range(0..12) {
        3..6 if let Some(strips) = case.set.strips() => {
            let k = rng.random_range(0..strips.times.len());
            (strips.times[k] - 0.5 * width).clamp(0.0, duration - width)
        }
        0 => 0.0,
        1 => duration - width,
        2 => return Span::Rest,
        _ => rng.random_range(0.0..duration - width),
    };
    Span::Between(t0, (t0 + width).min(duration))
}

/// A block of plans of one arm.
#[derive(Debug, Clone)]
struct Block {
    arm: usize,
    plans: Range<u64>,
}

/// What the attacks on a block of plans found.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BlockLedger {
    ledger: Ledger,
    /// States that the adversary walked through.
    walked: u64,
}

impl Soundness {
    /// Plans of each arm.
    fn plans(&self) -> u64 {
        self.samples.div_ceil((SPANS * DRAWS) as u64 * self.arms.len() as u64)
    }

    /// Block `number`: the arms take turns.
    fn block(&self, number: u64) -> Block {
        let arms = self.arms.len() as u64;
        let start = number / arms * BLOCK;
        Block { arm: (number % arms) as usize, plans: start..self.plans().min(start + BLOCK) }
    }

    /// All blocks.
    fn blocks(&self) -> impl Iterator<Item = Block> {
        (0..self.plans().div_ceil(BLOCK) * self.arms.len() as u64).map(|number| self.block(number))
    }
}

impl Trials for Soundness {
    type Trial = BlockLedger;

    fn title(&self) -> &str {
        &self.name
    }

    fn inputs(&self) -> u64 {
        digest(&self.arms)
    }

    fn keys(&self) -> Vec<String> {
        let inputs: Vec<u64> = self.arms.iter().map(digest).collect();
        let key = |Block { arm, plans: Range { start, end } }: Block| {
            let (label, inputs, Self { seed, walks, .. }) = (&self.arms[arm].label, inputs[arm], self);
            format!(
                "arm {arm} ({label}), plans {start}..{end}, {walks} walks, seed {seed}, inputs {inputs:016x}"
            )
        };
        self.blocks().map(key).collect()
    }

    fn make(&self, number: usize) -> Result<BlockLedger, CampaignError> {
        let Block { arm, plans } = self.block(number as u64);
        let (mut sum, mut walked) = (Ledger::default(), 0);
        for plan in plans {
            let (ledger, count) = self.attack_arm(arm, plan)?;
            let counted = sum.merged(&ledger).zip(u64::checked_add(walked, count));
            (sum, walked) = counted.ok_or_else(uncountable)?;
        }
        Ok(BlockLedger { ledger: sum, walked })
    }

    fn is_possible(&self, number: usize, trial: &BlockLedger) -> bool {
        let Range { start, end } = self.block(number as u64).plans;
        let walks = (self.walks as u64).saturating_add(DRAWS as u64);
        let states = ((end - start) * SPANS as u64).saturating_mul(walks).saturating_mul(MOST_STATES);
        trial.walked <= states && trial.ledger.most_trials() <= states.saturating_mul(MOST_COMPARISONS)
    }

    fn sum_up(&self, trials: Vec<BlockLedger>) -> Result<CampaignFindings, CampaignError> {
        let mut found = vec![(Ledger::default(), 0); self.arms.len()];
        for (block, BlockLedger { ledger, walked }) in self.blocks().zip(&trials) {
            let (sum, count) = &mut found[block.arm];
            let counted = std::mem::take(sum).merged(ledger).zip(u64::checked_add(*count, *walked));
            (*sum, *count) = counted.ok_or_else(uncountable)?;
        }
        if found.iter().try_fold(0_u64, |sum, (_, walked)| sum.checked_add(*walked)).is_none() {
            return Err(uncountable());
        }
        Ok(self.findings(self.plans() * (SPANS * DRAWS * self.arms.len()) as u64, &found))
    }
}

impl Soundness {
    fn findings(&self, samples: u64, found: &[(Ledger, u64)]) -> CampaignFindings {
        let passed = found.iter().all(|(ledger, _)| ledger.outside().is_empty());
        let walked: u64 = found.iter().map(|(_, walked)| walked).sum();
        let walks = samples / DRAWS as u64 * self.walks as u64;
        let heading = ["arm", "claim", "family", "smallest gap", "unit", "bound used", "trials"];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        let mut arms = Vec::new();
        for (arm, (ledger, _)) in self.arms.iter().zip(found) {
            let seen = || Check::ALL.into_iter().filter_map(|check| Some((check, ledger.get(check)?)));
            table.extend(seen().map(|(check, closest)| row(&arm.label, check, closest)));
            let checks: Vec<_> = seen()
                .map(|(check, closest)| {
                    let (family, name, unit) = check.facts();
                    json!({ "claim": name, "family": family, "unit": unit, "gap": closest.gap,
                        "used": closest.used, "trials": closest.trials })
                })
                .collect();
            arms.push(json!({ "arm": arm.label, "robot": arm.robot.name, "claims": checks, "families": families(ledger) }));
        }
        let outside: u64 = found.iter().map(|(ledger, _)| ledger.outside().len() as u64).sum();
        let verdict = if passed {
            format!("Nothing outside: {samples} samples, {walks} walks with {walked} states.")
        } else {
            format!("UNSOUND: {outside} claims were passed, in {samples} samples and {walks} walks.")
        };
        let summary = json!({ "name": self.name, "kind": "soundness", "passed": passed, "verdict": verdict,
            "seed": self.seed, "samples": samples, "walks": walks, "walked_states": walked, "arms": arms });
        CampaignFindings { passed, verdict, table, summary, files: Vec::new() }
    }
}

/// The claim of each family whose bound was used most.
fn families(ledger: &Ledger) -> serde_json::Value {
    let of = |family: CheckFamily| {
        let all = Check::ALL.into_iter().filter(|c| c.facts().0 == family);
        let seen = all.filter_map(|check| Some((check, ledger.get(check)?)));
        let closest = seen.max_by(|a, b| a.1.used.total_cmp(&b.1.used));
        closest.map(|(check, c)| {
            let (_, name, unit) = check.facts();
            json!({ "family": family, "claim": name, "gap": c.gap, "unit": unit, "used": c.used })
        })
    };
    let all = [
        CheckFamily::Position,
        CheckFamily::Velocity,
        CheckFamily::Torque,
        CheckFamily::Collision,
        CheckFamily::Tube,
        CheckFamily::Arithmetic,
    ];
    all.into_iter().filter_map(of).collect()
}

fn row(arm: &str, check: Check, closest: Closest) -> Vec<String> {
    let (family, name, unit) = check.facts();
    let used = format!("{:.2} %", 100.0 * closest.used);
    let family = format!("{family:?}").to_lowercase();
    vec![
        arm.to_owned(),
        name.to_owned(),
        family,
        figure(closest.gap),
        unit.to_owned(),
        used,
        closest.trials.to_string(),
    ]
}
