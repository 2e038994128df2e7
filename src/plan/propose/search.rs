//! One search among end points, and the storage that it keeps from one proposal to the next.

use std::time::{Duration, Instant};

use crate::certify::{CellReport, Problem, Refusal, Shortfall};
use crate::plan::family_rows::FamilyRows;
use crate::plan::inertia_floor::FloorFit;
use crate::plan::nlp::{self, Evaluation, NlpError, NlpOptions, NonlinearProgram};
use crate::plan::rows::RowBuilder;
use crate::plan::tube_fit;
use crate::reach::{Joints, PreparedSet, Tube};
use crate::robot::Arm;
use crate::trajectory::Bezier;
use crate::trajectory::bezier::POINTS;

use super::exciting::Anchor;
use super::momentum::MomentumTubes;
use super::{Cost, Proposal, ProposeError, Setting, Task};
use super::{DEPTH, EVALUATIONS, NEARLY, RETREAT, SPARE};

/// What the latest assessment counts for in the time that the next is expected to take: after three the first counts an
/// eighth, and one slow assessment does not end the search.
const LATEST: f64 = 0.5;

/// Storage of one search.
#[derive(Debug)]
pub(super) struct SearchStorage {
    pub(super) rows: RowBuilder,
    /// Cells that the tube is fitted to, and those that the rows come from.
    coarse: Vec<CellReport>,
    fine: Vec<CellReport>,
    floors: FloorFit,
    solver: nlp::NlpWorkspace,
    /// The curve evaluated last, and the constants in use: none before the first evaluation.
    pub(super) curve: Bezier,
    tube: Tube,
    /// The same of the momentum law, where that is planned for.
    pub(super) momentum: MomentumTubes,
    fitted: Fitted,
    /// Where the hold power was needed most when it was looked at last: an index into `fine`; `None` where it was not.
    busiest: Option<usize>,
    /// A guess from the robot alone, and the constants for coasting to rest, once they are needed.
    initial: Tube,
    base: Tube,
    coasts: bool,
    /// The point evaluated last, if it was not handed to the solver yet: that starts where the search for a start ended.
    pub(super) known: Option<Joints<f64>>,
    pub(super) last: Evaluation,
    pub(super) anchor: Anchor,
    objection: Option<Objection>,
    /// How long an assessment takes of late, and how many more there may be, if that is bounded.
    pub(super) pace: Duration,
    pub(super) allowed: Option<usize>,
    /// The cheapest proven point of this start, and of all.
    kept: Proposal,
    best: Proposal,
    found: bool,
}

/// What the constants in use were fitted to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fitted {
    /// Nothing yet.
    Nowhere,
    /// The curve that is to be assessed.
    Here,
    /// A curve that was assessed before.
    Elsewhere,
}

/// What stood in the way.
#[derive(Debug)]
pub(super) enum Objection {
    /// A constraint.
    Short(Shortfall),
    /// The problem itself.
    Refused(Refusal),
}

impl Objection {
    fn named(self, setting: &Setting<'_>) -> Refusal {
        match self {
            Objection::Short(shortfall) => shortfall.refusal(setting.robot, setting.scene),
            Objection::Refused(refusal) => refusal,
        }
    }
}

impl SearchStorage {
    pub(super) fn new(robot: &Arm, set: &PreparedSet) -> Self {
        let initial = tube_fit::initial(robot);
        let curve = Bezier { duration_s: 0.0, points: vec![[0.0; POINTS]; robot.dof()] };
        let nothing = || Proposal { curve: curve.clone(), tube: initial.clone(), cost: f64::NAN };
        Self {
            rows: RowBuilder::new(robot, set),
            coarse: Vec::new(),
            fine: Vec::new(),
            floors: FloorFit::new(robot),
            solver: nlp::NlpWorkspace::default(),
            kept: nothing(),
            best: nothing(),
            found: false,
            curve,
            momentum: MomentumTubes::default(),
            tube: initial.clone(),
            fitted: Fitted::Nowhere,
            busiest: None,
            base: initial.clone(),
            initial,
            coasts: false,
            known: None,
            last: Evaluation::default(),
            anchor: Anchor::default(),
            objection: None,
            pace: Duration::ZERO,
            allowed: None,
        }
    }

    /// Ready for another task of this robot, of so many assessments at most if that is bounded.
    pub(super) fn reset(&mut self, set: &PreparedSet, allowed: Option<usize>) {
        self.rows.take(set);
        (self.fitted, self.coasts, self.found) = (Fitted::Nowhere, false, false);
        self.momentum = MomentumTubes::default();
        self.known = None;
        self.allowed = allowed;
        self.objection = None;
    }

    /// Goes on from where `other` is.
    pub(super) fn follow(&mut self, other: &Self) {
        self.tube.assign(&other.tube);
        self.base.assign(&other.base);
        self.momentum.last.clone_from(&other.momentum.last);
        let elsewhere = if other.fitted == Fitted::Nowhere { Fitted::Nowhere } else { Fitted::Elsewhere };
        (self.fitted, self.coasts, self.pace) = (elsewhere, other.coasts, other.pace);
        // What it needed where is not known here.
        self.busiest = None;
    }

    /// What was kept is the best so far, if it costs no more: where all cost the same, a motion that was looked for comes after the
    /// one that only keeps the arm safe, and is taken.
    pub(super) fn kept_costs(&mut self, cost: f64) {
        if !self.found || cost <= self.best.cost {
            self.found = true;
            self.kept.cost = cost;
            std::mem::swap(&mut self.kept, &mut self.best);
            std::mem::swap(&mut self.momentum.kept, &mut self.momentum.best);
        }
    }

    pub(super) fn take_objection(&mut self) -> Option<Objection> {
        self.objection.take()
    }

    /// Replaces what stood in the way.
    pub(super) fn object(&mut self, objection: Option<Objection>) {
        self.objection = objection;
    }

    /// Gives the best proposal, if there is one, the constants that its own curve needs: it was sought with those of all that were on offer.
    pub(super) fn fit_best(&mut self, task: &Task<'_>) -> Result<(), Refusal> {
        let Setting { robot, set, held, .. } = *task.setting;
        if !self.found {
            return Ok(());
        }
        let Proposal { curve, tube, .. } = &mut self.best;
        let place = (task.workspaces, &mut self.floors, &mut self.coarse);
        tube_fit::refit(robot, set, (&*curve).into(), tube, (task.cells, held), place)
    }

    /// The best proposal found.
    pub(super) fn best(&self) -> Option<&Proposal> {
        self.found.then_some(&self.best)
    }

    /// The best proposal found, or what stood in the way.
    pub(super) fn outcome(&mut self, setting: &Setting<'_>) -> Result<&Proposal, ProposeError> {
        if self.found {
            return Ok(&self.best);
        }
        Err(ProposeError::Unproven(self.objection.take().map(|objection| objection.named(setting))))
    }
}

/// End points as the solver sees them.
pub(super) struct Candidates<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) search: &'a mut SearchStorage,
}

impl Candidates<'_> {
    /// Fits the tube of coasting to rest, which may be assessed with it at once. The storage's curve is then no longer that of the point
    /// known, which must not be a proven one.
    pub(super) fn fit_coasting(&mut self) -> Result<(), ProposeError> {
        if self.task.family.is_some() || self.task.law.is_some() {
            // One tube was found for all, or the momentum law's came with it.
            return Ok(());
        }
        let (Task { setting, ends, coast, workspaces, cells, .. }, search) = (self.task, &mut *self.search);
        let Setting { robot, set, start, duration_s, held, .. } = **setting;
        search.curve.set_to_rest(start, &ends.at(coast), duration_s)?;
        search.base.assign(&search.initial);
        let place = (*workspaces, &mut search.floors, &mut search.coarse);
        let fitted =
            tube_fit::refit(robot, set, (&search.curve).into(), &mut search.base, (cells / 2, held), place);
        fitted.map_err(|refusal| ProposeError::Unproven(Some(refusal)))?;
        search.coasts = true;
        Ok(())
    }

    /// Takes the tube of coasting for a start.
    pub(super) fn take_coasting_tube(&mut self) {
        let search = &mut *self.search;
        if tube_fit::is_usable(&search.base) {
            search.tube.assign(&search.base);
            search.fitted = Fitted::Here;
        }
    }

    /// Whether so many more assessments may be begun that are to end before `deadline`.
    pub(super) fn affords(&self, count: u32, deadline: Instant) -> bool {
        self.search.allowed.is_none_or(|allowed| allowed >= count as usize)
            && Instant::now() + count * self.search.pace <= deadline
    }

    /// Keeps the point known if it is proven; true if so.
    pub(super) fn keep_known(&mut self) -> bool {
        let Evaluation { proven, cost, .. } = self.search.last;
        let good = proven && cost.is_finite() && self.search.known.is_some();
        if good {
            self.keep();
            self.search.kept_costs(cost);
        }
        good
    }

    /// Whether the planner can prove `k` as it stands.
    pub(super) fn is_proven(&mut self, k: &[f64]) -> bool {
        if self.search.known.as_deref() != Some(k) {
            let mut last = std::mem::take(&mut self.search.last);
            self.assess(k, &mut last);
            self.search.last = last;
            self.search.known = Some(k.iter().copied().collect());
        }
        self.search.last.proven
    }

    /// Improves each start in its share of the remaining time, the most promising first, and keeps the cheapest proven point. Until
    /// there is one the way back to coasting may take all the time there is.
    pub(super) fn best_of(&mut self, starts: &[Joints<f64>]) -> Result<(), NlpError> {
        let end = self.task.setting.deadline;
        for (i, start) in starts.iter().enumerate() {
            let left = end.saturating_duration_since(Instant::now());
            if left < Duration::from_millis(1) {
                break;
            }
            let deadline = Instant::now() + left / (starts.len() - i) as u32;
            let from = self.proven_on_the_way(start, if self.search.found { deadline } else { end });
            if self.search.known.as_deref() == Some(&from[..]) {
                self.keep_known();
            }
            self.improve(&from, deadline)?;
        }
        Ok(())
    }

    /// Improves `from` by the solver and keeps the cheapest proven point.
    pub(super) fn improve(&mut self, from: &[f64], deadline: Instant) -> Result<(), NlpError> {
        let known = self.search.known.as_deref() == Some(from);
        if !known && !self.affords(1, deadline) {
            return Ok(());
        }
        let options = NlpOptions {
            deadline: Some(deadline),
            pace: self.search.pace,
            // What is known is handed out.
            max_evaluations: self
                .search
                .allowed
                .map_or(EVALUATIONS, |allowed| EVALUATIONS.min(allowed.saturating_add(usize::from(known)))),
            margin: SPARE,
            ..NlpOptions::default()
        };
        let mut solver = std::mem::take(&mut self.search.solver);
        let solution = nlp::solve(self, from, &options, &mut solver);
        self.search.solver = solver;
        let solution = solution?;
        tracing::debug!(
            evaluations = solution.evaluations,
            stopped = ?solution.stopped,
            worst = ?solution.worst_row,
            cost = solution.best_accepted.as_ref().map(|a| a.cost),
            "solved"
        );
        if let Some(accepted) = solution.best_accepted {
            self.search.kept_costs(accepted.cost);
        }
        Ok(())
    }

    /// The first proven point on the way from `start` back to coasting, or `start` itself if there is none: the solver
    /// then has something to return whatever happens.
    fn proven_on_the_way(&mut self, start: &[f64], deadline: Instant) -> Joints<f64> {
        for (i, share) in RETREAT.into_iter().enumerate() {
            let ways = start.iter().zip(&self.task.coast);
            let k: Joints<f64> = ways.map(|(s, c)| c + share * (s - c)).collect();
            // Without the first there is nothing at all.
            if Instant::now() >= deadline || i > 0 && !self.affords(1, deadline) {
                break;
            }
            if self.is_proven(&k) {
                return k;
            }
        }
        start.iter().copied().collect()
    }

    /// Cost, rows and, where there is one, proof of an end point.
    fn assess(&mut self, k: &[f64], out: &mut Evaluation) {
        let begun = Instant::now();
        self.evaluate_point(k, out);
        let (search, took) = (&mut *self.search, begun.elapsed());
        search.pace = if search.pace.is_zero() {
            took
        } else {
            took.mul_f64(LATEST) + search.pace.mul_f64(1.0 - LATEST)
        };
        search.allowed = search.allowed.map(|allowed| allowed.saturating_sub(1));
        tracing::trace!(proven = out.proven, cost = out.cost, worst = least(&out.rows), ?took, "assessed");
    }

    fn evaluate_point(&mut self, k: &[f64], out: &mut Evaluation) {
        let Task { setting, ends, cost, .. } = self.task;
        let (cost, hessian) = match cost {
            Cost::Excite(cost) => (cost.evaluate(k), None),
            Cost::Approach(cost) => (cost.evaluate(k), Some(cost.hessian())),
            Cost::Least(cost) => (ends.cost_at(*cost, k), None),
        };
        // Unusable, if it stays at that.
        out.cost = f64::NAN;
        out.cost_gradient = cost.gradient.iter().copied().collect();
        out.cost_hessian = None;
        out.rows.clear();
        out.proven = false;
        if self.search.curve.set_to_rest(setting.start, &ends.at(k), setting.duration_s).is_err() {
            return;
        }
        let judged = match (self.task.family, self.task.law) {
            (Some(family), _) => Ok(self.constraints_over_all(family, k, &mut out.rows)),
            (None, Some(law)) => self.momentum_constraints(law, &mut out.rows),
            (None, None) => self.constraints(&mut out.rows),
        };
        match judged {
            Ok(proven) => {
                out.cost = cost.value;
                out.cost_hessian = hessian;
                out.proven = proven;
            }
            Err(refusal) => self.search.objection = Some(Objection::Refused(refusal)),
        }
    }

    /// Rows at `k` of the program over all of K, and whether they hold.
    fn constraints_over_all(&mut self, family: &FamilyRows<'_>, k: &[f64], rows: &mut Vec<nlp::Row>) -> bool {
        family.append(k, rows);
        self.search.tube.assign(&family.tube);
        let worst = rows.iter().min_by(|a, b| a.value.total_cmp(&b.value));
        let short = worst.filter(|row| !(row.value >= 0.0)).map(|row| family.shortfall(row));
        self.search.objection = short.map(Objection::Short);
        short.is_none()
    }

    /// Rows at the storage's curve, and whether it is proven. Where the tube's constants are too small for it they are fitted
    /// anew, from the ones that suit coasting or from none: they feed back on themselves, and those of a wilder trajectory
    /// would never come down again.
    fn constraints(&mut self, rows: &mut Vec<nlp::Row>) -> Result<bool, Refusal> {
        let (Task { setting, cells, ends, vicinity, workspaces, .. }, search) =
            (self.task, &mut *self.search);
        let Setting { robot, set, held, .. } = **setting;
        let survey = |tube: &Tube, curve: &Bezier, reports: &mut Vec<CellReport>| -> Result<(), Refusal> {
            Problem::with_prepared(robot, set, vicinity.scene(tube, setting.scene), tube, curve)?
                .survey_into(*cells, workspaces, reports);
            Ok(())
        };
        let kept = match std::mem::replace(&mut search.fitted, Fitted::Nowhere) {
            Fitted::Nowhere => false,
            Fitted::Here => {
                survey(&search.tube, &search.curve, &mut search.fine)?;
                tube_fit::covers(&search.tube, &search.fine)
            }
            Fitted::Elsewhere => {
                // Mostly they don't suit, and mostly one cell says so.
                let promising = match search.busiest.and_then(|cell| search.fine.get_mut(cell)) {
                    Some(report) => {
                        let scene = vicinity.scene(&search.tube, setting.scene);
                        let problem = Problem::with_prepared(robot, set, scene, &search.tube, &search.curve)?;
                        problem.renew(workspaces, report);
                        tube_fit::suits(&search.tube, std::slice::from_ref(report))
                    }
                    None => true,
                };
                promising && {
                    survey(&search.tube, &search.curve, &mut search.fine)?;
                    tube_fit::suits(&search.tube, &search.fine)
                }
            }
        };
        if !kept {
            let calm = if search.coasts { &search.base } else { &search.initial };
            search.tube.assign(calm);
            let place = (*workspaces, &mut search.floors, &mut search.coarse);
            tube_fit::refit(robot, set, (&search.curve).into(), &mut search.tube, (cells / 2, held), place)?;
            if !tube_fit::is_usable(&search.tube) {
                search.tube.assign(calm);
            }
            survey(&search.tube, &search.curve, &mut search.fine)?;
        }
        search.busiest = tube_fit::busiest(&search.fine);
        let growth_m = search.fine.iter().map(|report| report.growth_m).fold(0.0, f64::max);
        setting.carries_no_farther(growth_m)?;
        let pairs = search.fine.first().map_or(0, |report| report.clearances.len());
        rows.reserve(search.fine.len() * RowBuilder::most(robot, pairs));
        for cell in search.fine.iter().enumerate() {
            search.rows.append(robot, cell, &search.curve, ends.reach(), rows);
        }
        let nearly = rows.iter().all(|row| row.value >= NEARLY);
        let depth = if nearly { DEPTH } else { 0 };
        let scene = vicinity.scene(&search.tube, setting.scene);
        let problem = Problem::with_prepared(robot, set, scene, &search.tube, &search.curve)?;
        let verdict = problem.prove_survey(&search.fine, depth, workspaces);
        if let Err(shortfall) = verdict {
            search.objection = Some(Objection::Short(vicinity.in_the_whole(scene, shortfall)));
        }
        search.fitted = Fitted::Elsewhere;
        Ok(verdict.is_ok())
    }
}

/// The least of the rows' values.
pub(super) fn least(rows: &[nlp::Row]) -> f64 {
    rows.iter().map(|row| row.value).fold(f64::INFINITY, f64::min)
}

impl NonlinearProgram for Candidates<'_> {
    fn dimension(&self) -> usize {
        self.task.ends.dimension()
    }

    fn evaluate(&mut self, k: &[f64], out: &mut Evaluation) {
        if self.search.known.take().as_deref() == Some(k) {
            std::mem::swap(out, &mut self.search.last);
            // The storage goes round: it must be large enough wherever it comes to be used.
            self.search.last.rows.clear();
            self.search.last.rows.reserve(out.rows.capacity());
        } else {
            self.assess(k, out);
        }
    }

    fn keep(&mut self) {
        let SearchStorage { curve, tube, kept, momentum, .. } = &mut *self.search;
        kept.curve.duration_s = curve.duration_s;
        kept.curve.points.clone_from(&curve.points);
        kept.tube.assign(tube);
        momentum.kept.clone_from(&momentum.last);
    }
}
