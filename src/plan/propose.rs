//! Proposes trajectories: exciting ones, or towards a way-point.

use std::sync::Arc;
use std::time::Instant;

use arrayvec::ArrayVec;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::certify::{Refusal, Workspaces};
use crate::reach::{Joints, PreparedSet, Tube};
use crate::robot::{Arm, Scene};
use crate::trajectory::{Bezier, JointState, TrajectoryError};

use super::decision::{CostError, EndCost, EndPoints};
use super::excite::{self, Criterion, Excitation, ExcitationOptions, Information};
use super::family_rows::FamilyRows;
use super::goal::GoalCost;
use super::nlp::{MAX_DIMENSION, NlpError};
use super::vicinity::Vicinity;
use search::{Candidates, SearchStorage};

mod exciting;
mod momentum;
mod search;

pub use momentum::{MomentumLaw, MomentumProposal};

/// Length of a cell in which constraints are judged, s; the certifier halves where that is too coarse. 32 cells for 3 s:
/// time grows with their number, and longer cells prove less before any is halved.
const CELL_S: f64 = 3.0 / 32.0;
/// Fewest cells, however short the trajectory: a motion to rest has a braking and an accelerating part, and bounds over both
/// at once say little.
const LEAST_CELLS: usize = 8;
/// Most cells, however long the trajectory: it moves the more slowly. Minutes of motion, a few seconds of proof.
const MOST_CELLS: usize = 1 << 12;

/// Cells into which the planner cuts a trajectory of this duration (s). The certifier does well to begin with as many: more prove no
/// more than halving those that need it.
pub fn cells(duration_s: f64) -> usize {
    ((duration_s / CELL_S).round() as usize).clamp(LEAST_CELLS, MOST_CELLS)
}

/// How often the planner lets a cell be halved before it calls a point unproven: to an eighth. Each further halving may
/// double the time of a proof that fails in the end.
const DEPTH: u32 = 3;
/// Points are tried for a proof when no row is below this: halving cells gains about as much.
const NEARLY: f64 = -0.05;
/// How far the planner goes back from a start that cannot be proven towards coasting to rest, from all of the way to none.
/// Each share costs an assessment; coasting itself comes last, as it always brings the arm to rest.
const RETREAT: [f64; 6] = [1.0, 0.7, 0.45, 0.25, 0.1, 0.0];
/// Starts that are improved by the solver, side by side where there are cores. More of them share the same time where cores
/// are fewer.
const STARTS: usize = 4;
/// Share of a limit that the planner leaves: the next plan starts inside this one and must fit as well. Half of it leaves
/// the next plan less room to begin with; twice as much is lost to every motion.
const SPARE: f64 = 0.02;
/// Evaluations a start. The deadline may end the search first; this bounds it where the clock does not count.
const EVALUATIONS: usize = 16;

/// Where the constraints of the planner's nonlinear program come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintModel {
    /// From the certifier itself, at one end point after the other.
    #[default]
    Certifier,
    /// From polynomial zonotopes over all end points on offer, as the planner of \[1\] and \[6\] has them.
    PolynomialZonotopes(OverAll),
}

/// Constraints over all end points at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverAll {
    /// How far an end point may be from where the motion starts, rad (m), of any joint; less where the task allows less. Sets over more end points
    /// are wider.
    pub range_rad: f64,
}

impl ConstraintModel {
    /// Whether it can be planned with.
    ///
    /// # Errors
    /// What is wrong and what was expected.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::PolynomialZonotopes(OverAll { range_rad: x })
                if !(*x > 0.0 && *x <= std::f64::consts::PI) =>
            {
                Err(format!("range_rad is {x}, expected a number above 0, at most pi"))
            }
            _ => Ok(()),
        }
    }

    /// The program over all end points, where constraints come from there.
    fn posed<'a>(
        &self,
        setting: &Setting<'a>,
        ends: &EndPoints,
        coast: &[f64],
        how: (usize, &Workspaces),
    ) -> Result<Option<FamilyRows<'a>>, ProposeError> {
        let Self::PolynomialZonotopes(_) = self else { return Ok(None) };
        let posed = FamilyRows::new(setting, ends, coast, how);
        posed.map(Some).map_err(|refusal| ProposeError::Unproven(Some(refusal)))
    }

    /// The end points on offer.
    fn ends(&self, setting: &Setting<'_>) -> Result<EndPoints, CostError> {
        let Setting { robot, start, reach, .. } = *setting;
        match self {
            Self::Certifier => EndPoints::within_limits(robot, start, reach),
            Self::PolynomialZonotopes(all) => {
                let less: Vec<f64> = reach.iter().map(|reach| reach.min(all.range_rad)).collect();
                EndPoints::within_limits(robot, start, &less)
            }
        }
    }
}

/// What everybody must know to plan.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The robot, payload shape included.
    pub robot: &'a Arm,
    /// Parameters that the plan must be safe for.
    pub set: &'a Arc<PreparedSet>,
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
    /// Tube of the running plan, whose position errors the next one must hold.
    pub held: Option<&'a Tube>,
    /// How far tracking errors may carry a link at most, m, where that is limited; see [`crate::horizon::Task::growth_max_m`].
    pub growth_max_m: Option<f64>,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// No evaluation starts that would end after this.
    pub deadline: Instant,
}

impl Setting<'_> {
    /// Refuses a tube in which tracking errors carry a link too far (m).
    fn carries_no_farther(&self, growth_m: f64) -> Result<(), Refusal> {
        match self.growth_max_m.filter(|most_m| !(growth_m <= *most_m)) {
            None => Ok(()),
            Some(most_m) => Err(Refusal::Growth { growth_m, most_m }),
        }
    }
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
    /// End where this cost of your own is least.
    Least(&'a dyn EndCost),
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

// There is one of it a proposal; a box would ask for memory.
#[allow(clippy::large_enum_variant)]
enum Cost<'a> {
    Excite(Excitation<'a>),
    Approach(GoalCost),
    Least(&'a dyn EndCost),
}

/// Points in k to start from.
type Starts = ArrayVec<Joints<f64>, STARTS>;

/// What all searches for one proposal share.
struct Task<'a> {
    setting: &'a Setting<'a>,
    cells: usize,
    ends: EndPoints,
    cost: Cost<'a>,
    /// Where the arm comes to rest if it is steered as little as possible.
    coast: Joints<f64>,
    /// Obstacles that an end point may lead to.
    vicinity: &'a Vicinity,
    workspaces: &'a Workspaces,
    /// The program over all of K, where constraints come from there.
    family: Option<&'a FamilyRows<'a>>,
    /// The momentum law, where that is planned for.
    law: Option<&'a MomentumLaw<'a>>,
}

/// Proposes a trajectory, see [`Planner::propose`].
///
/// # Errors
/// [`ProposeError::Unproven`] if none was found before the deadline; the others for inconsistent input.
pub fn propose(setting: &Setting<'_>, purpose: Purpose<'_>) -> Result<Proposal, ProposeError> {
    Planner::default().propose(setting, purpose).cloned()
}

/// Proposes again and again in the same storage: after the first trajectory of a kind, further ones for this robot ask for no
/// memory (but exciting ones for what was learnt since, and the message of a failure).
#[derive(Debug, Default)]
pub struct Planner {
    robot: Option<Arm>,
    workspaces: Workspaces,
    searches: Vec<SearchStorage>,
    vicinity: Option<Vicinity>,
    excite: Option<excite::ExcitationStorage>,
    most_assessments: Option<usize>,
    constraints: ConstraintModel,
}

impl Planner {
    /// A planner whose constraints come from there.
    pub fn with_constraints(constraints: ConstraintModel) -> Self {
        Self { constraints, ..Self::default() }
    }

    /// A planner that assesses no more than so many end points a search, however much time there is: what it finds can be repeated.
    /// (An exciting proposal is one search; towards a target there are up to four.)
    pub fn of_few_assessments(most: usize) -> Self {
        Self { most_assessments: Some(most), ..Self::default() }
    }

    /// Proposes a trajectory.
    ///
    /// # Errors
    /// [`ProposeError::Unproven`] if none was found before the deadline; the others for inconsistent input.
    pub fn propose(
        &mut self,
        setting: &Setting<'_>,
        purpose: Purpose<'_>,
    ) -> Result<&Proposal, ProposeError> {
        let best = self.search(setting, purpose, None)?;
        self.searches[best].outcome(setting)
    }

    /// Searches, and gives the index of the storage that holds the best proposal, or the objection.
    fn search(
        &mut self,
        setting: &Setting<'_>,
        purpose: Purpose<'_>,
        law: Option<&MomentumLaw<'_>>,
    ) -> Result<usize, ProposeError> {
        if law.is_some() && self.constraints != ConstraintModel::Certifier {
            let fault = "sets over all end points are known for the first law alone; expected constraints of the certifier";
            return Err(ProposeError::Unproven(Some(Refusal::Unsupported(fault.to_owned()))));
        }
        let _span = tracing::info_span!("propose", robot = &*setting.robot.name).entered();
        let ends = self.constraints.ends(setting)?;
        let n = ends.dimension();
        if n == 0 || n > MAX_DIMENSION {
            return Err(NlpError::Dimension(n).into());
        }
        self.prepare(setting);
        let cells = cells(setting.duration_s);
        let vicinity = self.vicinity.get_or_insert_with(|| Vicinity::new(setting.robot));
        if law.is_none() {
            vicinity.look(setting, &ends);
        }
        let (cost, starts) = costs(&mut self.excite, (setting, purpose), &ends)?;
        let coast = ends.nearest(&coasting_end(setting));
        let workspaces = &self.workspaces;
        let family = self.constraints.posed(setting, &ends, &coast, (cells, workspaces))?;
        let family = family.as_ref();
        let task = Task { setting, cells, ends, cost, coast, vicinity, workspaces, family, law };
        let best = match &task.cost {
            Cost::Excite(cost) => {
                Candidates { task: &task, search: &mut self.searches[0] }.excite(cost)?;
                0
            }
            Cost::Approach(_) | Cost::Least(_) => best_towards(&task, &mut self.searches, &starts)?,
        };
        if family.is_some() {
            self.searches[best].fit_best(&task).map_err(|refusal| ProposeError::Unproven(Some(refusal)))?;
        }
        if let Cost::Excite(cost) = task.cost {
            self.excite = Some(cost.into_space());
        }
        Ok(best)
    }

    /// Storage for this robot, free of what the last task left.
    fn prepare(&mut self, setting: &Setting<'_>) {
        let Setting { robot, set, .. } = *setting;
        if self.robot.as_ref() != Some(robot) {
            self.robot = Some(robot.clone());
            self.searches = (0..STARTS).map(|_| SearchStorage::new(robot, set)).collect();
            self.vicinity = None;
            self.excite = None;
        }
        let allowed = self.most_assessments;
        self.searches.iter_mut().for_each(|search| search.reset(set, allowed));
    }
}

/// What the end points cost, and those to start from.
fn costs<'a>(
    storage: &mut Option<excite::ExcitationStorage>,
    (setting, purpose): (&Setting<'a>, Purpose<'a>),
    ends: &EndPoints,
) -> Result<(Cost<'a>, Starts), ProposeError> {
    let n = ends.dimension();
    Ok(match purpose {
        Purpose::Excite { known, criterion, samples, horizon_s } => {
            let options = ExcitationOptions { criterion: criterion.clone(), samples, horizon_s };
            let (robot, start) = (setting.robot, setting.start);
            let space = storage.take().unwrap_or_else(|| excite::ExcitationStorage::new(robot));
            let cost =
                Excitation::within(space, robot, start, ends.clone(), setting.duration_s, known, options)?;
            (Cost::Excite(cost), Starts::new())
        }
        Purpose::Approach(target) => {
            let weights: Joints<f64> = (0..n).map(|_| 1.0).collect();
            let starts: Starts =
                [Some(target), setting.warm].into_iter().flatten().map(|end| ends.nearest(end)).collect();
            (Cost::Approach(GoalCost::new(ends.clone(), target, &weights)?), starts)
        }
        Purpose::Least(cost) => {
            let here: Joints<f64> = (0..n).map(|_| 0.0).collect();
            let starts = [Some(here), setting.warm.map(|end| ends.nearest(end))];
            (Cost::Least(cost), starts.into_iter().flatten().collect())
        }
    })
}

/// Where the arm comes to rest if it is steered as little as possible: the third control point of its curve, rad.
pub(crate) fn coasting_end(setting: &Setting<'_>) -> Joints<f64> {
    let (t, start) = (setting.duration_s, setting.start);
    (0..start.q.len()).map(|j| start.q[j] + 0.4 * t * start.dq[j] + 0.05 * t * t * start.ddq[j]).collect()
}

/// The first start if it can be proven as it stands; else the best that the solver makes of all starts, each on its
/// own core. Returns the index of the storage that holds it, or the objection to the first start.
fn best_towards(
    task: &Task<'_>,
    searches: &mut [SearchStorage],
    starts: &[Joints<f64>],
) -> Result<usize, ProposeError> {
    let (first, others) = searches.split_at_mut(1);
    let mut candidates = Candidates { task, search: &mut first[0] };
    if starts.first().is_some_and(|start| candidates.is_proven(start)) {
        candidates.best_of(&starts[..1])?;
        return Ok(0);
    }
    candidates.fit_coasting()?;
    others.iter_mut().for_each(|search| search.follow(&first[0]));
    let objection = first[0].take_objection();
    // Other threads do not know what they work for.
    let span = tracing::Span::current();
    searches.par_iter_mut().zip(starts.par_iter()).for_each(|(search, start)| {
        // A start that cannot be solved is one that found nothing.
        let _ = span.in_scope(|| Candidates { task, search }.best_of(std::slice::from_ref(start)));
    });
    let costs = searches.iter().enumerate().filter_map(|(i, search)| Some((i, search.best()?.cost)));
    let best = costs.reduce(|best, other| if other.1 < best.1 { other } else { best });
    searches[0].object(objection);
    Ok(best.map_or(0, |(search, _)| search))
}

#[cfg(test)]
mod tests;
