//! Proposes one trajectory: exciting, or towards a way-point.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use thiserror::Error;

use crate::certify::{Problem, Refusal};
use crate::inertia::ParameterSet;
use crate::reach::Tube;
use crate::robot::{Robot, Scene};
use crate::trajectory::{Bezier, JointState, TrajectoryError};

use super::decision::{CostError, EndPoints};
use super::excite::{Criterion, Excitation, ExcitationOptions, Information};
use super::goal::GoalCost;
use super::nlp::{self, Evaluation, NlpError, Options, Program};
use super::rows::RowBuilder;
use super::tube_fit;

/// Length of a cell of the planner's model of the constraints, s; the certifier halves where that is too coarse.
const CELL_S: f64 = 3.0 / 32.0;
/// Fewest cells, however short the trajectory.
const LEAST_CELLS: usize = 8;
/// How often the planner lets a cell be halved before it calls a point unproven.
const DEPTH: u32 = 3;
/// Points are tried for a proof when no row is below this: halving cells gains about as much.
const NEARLY: f64 = -0.05;
/// Random end points among which exciting starts are chosen.
const CANDIDATES: usize = 64;
/// How far the planner goes back from a start that cannot be proven towards coasting to rest.
const RETREAT: [f64; 6] = [1.0, 0.7, 0.45, 0.25, 0.1, 0.0];
/// Starts that are improved by the solver, one after the other.
const STARTS: usize = 2;
/// Share of a limit that the planner leaves: the next plan starts inside this one and must fit as well.
const SPARE: f64 = 0.02;
/// Evaluations a start.
const EVALUATIONS: usize = 16;

/// What everybody must know to plan.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The robot, payload shape included.
    pub robot: &'a Robot,
    /// Parameters that the plan must be safe for.
    pub set: &'a ParameterSet,
    /// Obstacles.
    pub scene: &'a Scene,
    /// Desired state in which the plan starts.
    pub start: &'a JointState,
    /// Duration t_f, s; the plan ends at rest.
    pub duration_s: f64,
    /// How far each joint may move, rad.
    pub reach: &'a [f64],
    /// Where the running plan ends, rad: a start for the solver that is known to be good.
    pub warm: Option<&'a [f64]>,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// No evaluation starts that would end after this.
    pub deadline: Instant,
}

/// What the plan is for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// Tell much about the last body, together with what was collected before.
    Excite {
        /// Rows collected so far.
        known: &'a Information,
        /// What to minimise.
        criterion: &'a Criterion,
        /// Samples along the part that counts.
        samples: usize,
        /// That part, s from the start: what will be executed before the next plan takes over.
        horizon_s: f64,
    },
    /// End near this configuration, rad.
    Approach(&'a [f64]),
}

/// A proposal that the planner itself could prove; the certifier decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The trajectory.
    pub curve: Bezier,
    /// Constants of its tube.
    pub tube: Tube,
    /// Its cost.
    pub cost: f64,
}

/// Why nothing was proposed.
#[derive(Debug, Error)]
pub enum ProposeError {
    /// Costs that cannot be built.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// A program that cannot be posed.
    #[error(transparent)]
    Program(#[from] NlpError),
    /// A trajectory that cannot be built.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// No candidate could be proven in time; the last refusal says what stood in the way.
    #[error("no trajectory could be proven{}", match .0 { Some(r) => format!(": {r}"), None => " in time".to_owned() })]
    Unproven(Option<Refusal>),
}

#[derive(Clone)]
enum Cost<'a> {
    Excite(Arc<Excitation<'a>>),
    Approach(GoalCost),
}

/// Proposes a trajectory.
///
/// # Errors
/// [`ProposeError::Unproven`] if none was found before the deadline; the others for inconsistent input.
pub fn propose(setting: &Setting<'_>, purpose: Purpose<'_>) -> Result<Proposal, ProposeError> {
    let ends = EndPoints::within_limits(setting.robot, setting.start, setting.reach)?;
    let (cost, starts) = match purpose {
        Purpose::Excite { known, criterion, samples, horizon_s } => {
            let options = ExcitationOptions { criterion: criterion.clone(), samples, horizon_s };
            let (robot, start) = (setting.robot, setting.start);
            let cost = Excitation::new(robot, start, ends.clone(), setting.duration_s, known, options)?;
            let starts = exciting_starts(&cost, ends.dimension(), setting.seed);
            (Cost::Excite(Arc::new(cost)), starts)
        }
        Purpose::Approach(target) => {
            let weights = vec![1.0; ends.dimension()];
            let starts =
                [Some(target), setting.warm].into_iter().flatten().map(|end| ends.nearest(end)).collect();
            (Cost::Approach(GoalCost::new(ends.clone(), target, &weights)?), starts)
        }
    };
    let exciting = matches!(cost, Cost::Excite(_));
    let coast = ends.nearest(&coasting_end(setting));
    let mut program = Candidates {
        setting,
        cells: ((setting.duration_s / CELL_S).round() as usize).max(LEAST_CELLS),
        ends,
        cost,
        base: None,
        tube: None,
        rows: RowBuilder::new(setting.robot, setting.set),
        refusal: None,
        last: None,
    };
    if exciting {
        program.base = Some(program.coasting_tube(&coast)?);
        program.best_of(&starts, &coast)
    } else {
        program.best_towards(&starts, &coast)
    }
}

/// Where the arm comes to rest if it is steered as little as possible: the third control point of its curve, rad.
fn coasting_end(setting: &Setting<'_>) -> Vec<f64> {
    let (t, start) = (setting.duration_s, setting.start);
    (0..start.q.len()).map(|j| start.q[j] + 0.4 * t * start.dq[j] + 0.05 * t * t * start.ddq[j]).collect()
}

/// The best of many random end points, by cost alone.
fn exciting_starts(cost: &Excitation<'_>, n: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut draw = ChaCha8Rng::seed_from_u64(seed);
    let mut candidates: Vec<(f64, Vec<f64>)> = (0..CANDIDATES)
        .map(|_| {
            let k: Vec<f64> = (0..n).map(|_| draw.random_range(-1.0..=1.0)).collect();
            (cost.value(&k), k)
        })
        .collect();
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
    candidates.truncate(STARTS);
    candidates.into_iter().map(|(_, k)| k).collect()
}

/// End points as the solver sees them.
#[derive(Clone)]
struct Candidates<'a> {
    setting: &'a Setting<'a>,
    cells: usize,
    ends: EndPoints,
    cost: Cost<'a>,
    /// Constants in use; none before the first evaluation.
    tube: Option<Tube>,
    /// Constants for coasting to rest, once they are needed.
    base: Option<Tube>,
    rows: RowBuilder<'a>,
    refusal: Option<Refusal>,
    /// The point evaluated last: the solver starts where the search for a start ended.
    last: Option<(Vec<f64>, Evaluation<Proposal>)>,
}

impl Candidates<'_> {
    /// The tube of coasting to rest.
    fn coasting_tube(&self, coast: &[f64]) -> Result<Tube, ProposeError> {
        let setting = self.setting;
        let curve = Bezier::to_rest(setting.start, &self.ends.at(coast), setting.duration_s)?;
        let guess = tube_fit::initial(setting.robot);
        tube_fit::fit(setting.robot, setting.set, &curve, &guess, self.cells / 2)
            .map_err(|r| ProposeError::Unproven(Some(r)))
    }

    /// The first start if it can be proven as it stands; else the best that the solver makes of all starts, each on its
    /// own core.
    fn best_towards(&mut self, starts: &[Vec<f64>], coast: &[f64]) -> Result<Proposal, ProposeError> {
        if starts.first().is_some_and(|first| self.evaluate(first).accepted.is_some()) {
            return self.best_of(&starts[..1], coast);
        }
        self.base = Some(self.coasting_tube(coast)?);
        let alone: Vec<_> = starts.chunks(1).map(|start| (self.clone(), start)).collect();
        let solved = alone.into_par_iter().map(|(mut program, start)| program.best_of(start, coast));
        let mut best: Result<Proposal, ProposeError> = Err(ProposeError::Unproven(self.refusal.take()));
        for found in solved.collect::<Vec<_>>() {
            best = match (best, found) {
                (Ok(a), Ok(b)) => Ok(if b.cost < a.cost { b } else { a }),
                (Ok(a), Err(_)) | (Err(_), Ok(a)) => Ok(a),
                (Err(first), Err(_)) => Err(first),
            };
        }
        best
    }

    /// Improves each start in its share of the remaining time and keeps the cheapest proven point.
    fn best_of(&mut self, starts: &[Vec<f64>], coast: &[f64]) -> Result<Proposal, ProposeError> {
        let mut best: Option<Proposal> = None;
        for (i, start) in starts.iter().enumerate() {
            let left = self.setting.deadline.saturating_duration_since(Instant::now());
            if left < Duration::from_millis(1) {
                break;
            }
            let deadline = Instant::now() + left / (starts.len() - i) as u32;
            let options = Options {
                deadline: Some(deadline),
                max_evaluations: EVALUATIONS,
                margin: SPARE,
                ..Options::default()
            };
            let from = self.proven_on_the_way(start, coast, deadline);
            let solution = nlp::solve(self, &from, &options)?;
            tracing::debug!(
                start = i,
                evaluations = solution.evaluations,
                stopped = ?solution.stopped,
                worst = ?solution.worst_row,
                cost = solution.best_accepted.as_ref().map(|a| a.cost),
                "solved"
            );
            if let Some(accepted) = solution.best_accepted
                && best.as_ref().is_none_or(|b| accepted.cost < b.cost)
            {
                best = Some(accepted.proof);
            }
        }
        best.ok_or_else(|| ProposeError::Unproven(self.refusal.take()))
    }

    /// The first proven point on the way from `start` back to `coast`, or `start` itself if there is none: the solver
    /// then has something to return whatever happens.
    fn proven_on_the_way(&mut self, start: &[f64], coast: &[f64], deadline: Instant) -> Vec<f64> {
        for share in RETREAT {
            let k: Vec<f64> = start.iter().zip(coast).map(|(s, c)| c + share * (s - c)).collect();
            if Instant::now() >= deadline {
                break;
            }
            if self.evaluate(&k).accepted.is_some() {
                return k;
            }
        }
        start.to_vec()
    }

    /// Constraints at `curve`. Where the tube's constants are too small for it they are fitted anew, from the ones that
    /// suit coasting or from none: they feed back on themselves, and those of a wilder trajectory would never come down
    /// again.
    fn constraints(&mut self, curve: &Bezier) -> Result<(Vec<nlp::Row>, bool), Refusal> {
        let Setting { robot, set, scene, .. } = *self.setting;
        let survey_with = |tube: &Tube| -> Result<_, Refusal> {
            Ok(Problem::new(robot, set, scene, tube, curve)?.survey(self.cells))
        };
        let kept = match self.tube.take() {
            Some(tube) => Some((survey_with(&tube)?, tube)).filter(|(s, tube)| tube_fit::suits(tube, s)),
            None => None,
        };
        let (survey, tube) = match kept {
            Some(kept) => kept,
            None => {
                let calm = self.base.clone().unwrap_or_else(|| tube_fit::initial(robot));
                let fitted = tube_fit::fit(robot, set, curve, &calm, self.cells / 2)?;
                let tube = if tube_fit::is_usable(&fitted) { fitted } else { calm };
                (survey_with(&tube)?, tube)
            }
        };
        let mut rows = Vec::new();
        for report in &survey {
            self.rows.append(report, curve, self.ends.reach(), &mut rows);
        }
        let nearly = rows.iter().all(|row| row.value >= NEARLY);
        let depth = if nearly { DEPTH } else { 0 };
        let proof = Problem::new(robot, set, scene, &tube, curve)?.conclude(&survey, depth);
        let proven = proof.is_ok();
        self.refusal = proof.err().or(self.refusal.take());
        self.tube = Some(tube);
        Ok((rows, proven))
    }
}

impl Program for Candidates<'_> {
    type Proof = Proposal;

    fn dimension(&self) -> usize {
        self.ends.dimension()
    }

    fn evaluate(&mut self, k: &[f64]) -> Evaluation<Proposal> {
        if let Some((_, known)) = self.last.as_ref().filter(|(at, _)| at == k) {
            return known.clone();
        }
        let found = self.assess(k);
        self.last = Some((k.to_vec(), found.clone()));
        found
    }
}

impl Candidates<'_> {
    /// Cost, rows and, where there is one, proof of an end point.
    fn assess(&mut self, k: &[f64]) -> Evaluation<Proposal> {
        let (cost, cost_hessian) = match &self.cost {
            Cost::Excite(cost) => (cost.evaluate(k), None),
            Cost::Approach(cost) => (cost.evaluate(k), Some(cost.hessian())),
        };
        let unusable = Evaluation {
            cost: f64::NAN,
            cost_gradient: cost.gradient.clone(),
            cost_hessian: None,
            rows: vec![],
            accepted: None,
        };
        let end = self.ends.at(k);
        let Ok(curve) = Bezier::to_rest(self.setting.start, &end, self.setting.duration_s) else {
            return unusable;
        };
        match self.constraints(&curve) {
            Ok((rows, proven)) => Evaluation {
                accepted: self.tube.clone().filter(|_| proven).map(|tube| Proposal {
                    curve,
                    tube,
                    cost: cost.value,
                }),
                cost: cost.value,
                cost_gradient: cost.gradient,
                cost_hessian,
                rows,
            },
            Err(refusal) => {
                self.refusal = Some(refusal);
                unusable
            }
        }
    }
}

#[cfg(test)]
mod tests;
