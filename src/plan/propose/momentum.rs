//! Proposals under the momentum law ([`crate::reach::momentum`]): the same search, with that law's constants and constraints.
//!
//! Each end point that is looked at has its tube fitted anew, from the constants of the last one that was proven: a few rounds of a fixed point. What limits and distances leave
//! then are the rows.

use crate::certify::{CellReport, MomentumProblem, MomentumStart, Partition, Refusal, SurveyedCell};
use crate::enclose::Counted;
use crate::plan::momentum_fit::{MomentumRefusal, fit_bounded};
use crate::plan::nlp;
use crate::plan::rows::RowBuilder;
use crate::reach::momentum::{BoundedTube, MomentumTube};
use crate::trajectory::Bezier;

use super::search::{Candidates, Objection, SearchStorage};
use super::{DEPTH, NEARLY, Planner, ProposeError, Purpose, Setting, Task};

/// The law, and what is known of the state in which the plan starts.
#[derive(Debug, Clone, Copy)]
pub struct MomentumLaw<'a> {
    /// A tube of coasting to rest, or nearly one, under the gains that are planned with: the fits begin with it.
    pub calm: &'a MomentumTube,
    /// Where the plan starts from.
    pub start: MomentumStart<'a>,
}

/// A proposal that the planner itself could prove; the certifier decides.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentumProposal {
    /// The trajectory.
    pub curve: Bezier,
    /// Constants of its tube, and bounds of its states.
    pub tube: BoundedTube,
    /// Its cost.
    pub cost: f64,
}

/// Tubes of one search: of the curve evaluated last if that is proven, and those of the proven points that go with the proposals.
#[derive(Debug, Default)]
pub(super) struct MomentumTubes {
    pub(super) last: Option<BoundedTube>,
    pub(super) kept: Option<BoundedTube>,
    pub(super) best: Option<BoundedTube>,
}

impl Planner {
    /// [`Planner::propose`] under the momentum law; `held` of the setting counts for nothing. Each proposal asks for memory.
    ///
    /// # Errors
    /// As there; and if constraints are to come from sets over all end points, which there are none of under this law.
    pub fn propose_momentum(
        &mut self,
        setting: &Setting<'_>,
        law: &MomentumLaw<'_>,
        purpose: Purpose<'_>,
    ) -> Result<MomentumProposal, ProposeError> {
        let best = self.search(setting, purpose, Some(law))?;
        self.searches[best].momentum_outcome(setting)
    }
}

impl SearchStorage {
    /// The best proposal found, or what stood in the way.
    fn momentum_outcome(&mut self, setting: &Setting<'_>) -> Result<MomentumProposal, ProposeError> {
        let best = self.outcome(setting)?;
        let (curve, cost) = (best.curve.clone(), best.cost);
        let tube = self.momentum.best.clone().ok_or(ProposeError::Unproven(None))?;
        Ok(MomentumProposal { curve, tube, cost })
    }
}

impl Candidates<'_> {
    /// Rows at the storage's curve, and whether it is proven.
    pub(super) fn momentum_constraints(
        &mut self,
        law: &MomentumLaw<'_>,
        rows: &mut Vec<nlp::Row>,
    ) -> Result<bool, Refusal> {
        let (Task { setting, cells, ends, .. }, search) = (self.task, &mut *self.search);
        let Setting { robot, set, scene, .. } = **setting;
        let problem = MomentumProblem::new(robot, set, scene, &search.curve, law.start)?;
        let last = search.momentum.last.take();
        let fit = |guess: &MomentumTube| fit_bounded(&problem, law.calm.gains, Some(guess), *cells);
        // From too wide a tube errors may grow that would not from a narrow one.
        let fitted = match &last {
            Some(last) => fit(&last.tube).or_else(|_| fit(law.calm)),
            None => fit(law.calm),
        };
        let (bounded, survey) = fitted.map_err(|e| named(&e))?;
        let growth_m = survey.iter().map(|cell| cell.report.needs.growth_m).fold(0.0, f64::max);
        setting.carries_no_farther(growth_m)?;
        let pairs = survey.first().map_or(0, |cell| cell.clearances.len());
        rows.reserve(survey.len() * RowBuilder::most(robot, pairs));
        for (index, cell) in survey.iter().enumerate() {
            search.rows.append(robot, (index, &as_cell(cell)), &search.curve, ends.reach(), rows);
        }
        let mut objection = survey.iter().find_map(|cell| cell.shortfall).map(Objection::Short);
        if objection.is_some() && rows.iter().all(|row| row.value >= NEARLY) {
            let partition = Partition { cells: *cells, depth: DEPTH };
            objection = problem.certify_bounded::<Counted>(&bounded, partition).err().map(Objection::Refused);
        }
        let proven = objection.is_none();
        // Constants that are enough are not lowered: a fit that began with those of a motion that asks too much would end there again.
        search.momentum.last = proven.then_some(bounded);
        if !proven {
            search.object(objection);
        }
        Ok(proven)
    }
}

fn named(refusal: &MomentumRefusal) -> Refusal {
    Refusal::Unsupported(refusal.to_string())
}

/// What rows are made of.
fn as_cell(cell: &SurveyedCell) -> CellReport {
    let SurveyedCell { report, clearances, .. } = cell;
    CellReport {
        span: report.needs.span,
        position: report.position_margin.clone(),
        velocity: report.velocity_margin.clone(),
        torque_margin: report.torque_margin.clone(),
        clearances: clearances.clone(),
        ..CellReport::default()
    }
}
