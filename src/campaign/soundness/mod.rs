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
pub mod ledger;
#[cfg(test)]
mod tests;
mod tick;
mod walk;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::certify::Workspaces;
use crate::enclose::{Counted, Rounding};
use crate::reach::Span;
use crate::report::figure::figure;

use super::arm::{Setup, SetupFile};
use super::{Campaign, CampaignError, CampaignFindings, Progress};
use attack::Attack;
use case::Case;
use ledger::{Check, CheckFamily, Closest, Ledger};

/// Spans attacked of each plan. More of them, or more states in each, find more in proportion to time; these share a plan's
/// preparation among about a thousand states.
const SPANS: usize = 16;
/// Random states a span; see [`SPANS`].
const DRAWS: usize = 64;

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

    /// Attacks the `k`-th plan of an arm.
    fn attack_arm(&self, arm: usize, k: u64) -> Result<(Ledger, u64), CampaignError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream((arm as u64) << 40 | k);
        let arm = &self.arms[arm];
        let case = Case::draw_plan(arm, &mut rng).ok_or_else(|| {
            let name = &arm.label;
            CampaignError::Trials(format!("no tube is proven for any plan of '{name}': nothing to attack"))
        })?;
        let tilted = case.tilted(&mut rng);
        self.attack_plan(&case, &tilted, (&self.workspaces, &mut rng))
    }
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

impl Campaign for Soundness {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, progress: &Progress<'_>) -> Result<CampaignFindings, CampaignError> {
        let a_plan = (SPANS * DRAWS) as u64;
        let plans = self.samples.div_ceil(a_plan * self.arms.len() as u64);
        let total = plans * self.arms.len() as u64;
        let done = AtomicU64::new(0);
        let trials = (0..total).into_par_iter().map(|k| {
            let arms = self.arms.len() as u64;
            let found = self.attack_arm((k % arms) as usize, k / arms)?;
            progress((done.fetch_add(1, Ordering::Relaxed) + 1) * a_plan, total * a_plan);
            Ok(((k % arms) as usize, found))
        });
        let nothing = || vec![(Ledger::default(), 0); self.arms.len()];
        let found = trials.try_fold(nothing, |mut sums, trial: Result<_, CampaignError>| {
            let (arm, (ledger, walked)) = trial?;
            let (sum, count) = &mut sums[arm];
            (*sum, *count) = (std::mem::take(sum).merged(&ledger), *count + walked);
            Ok::<_, CampaignError>(sums)
        });
        let found = found.try_reduce(nothing, |a, b| {
            Ok(a.into_iter().zip(b).map(|((a, m), (b, n))| (a.merged(&b), m + n)).collect())
        })?;
        Ok(self.findings(total * a_plan, &found))
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
