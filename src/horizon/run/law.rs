//! The law of a run: which one, and what planning and proof of the second one need that those of the first do not.
//!
//! The first law is for arms whose readings and commands are of their tick, the momentum law ([`crate::reach::momentum`]) for those that are late. A run keeps to one:
//! no switch from one law to the other is proven.

use std::sync::Arc;

use crate::certify::{
    Certificate, MomentumProblem, MomentumStart, Partition, Problem, Refusal, StartRefusal, certify,
};
use crate::control::{MomentumPlan, SupervisedController};
use crate::inertia::ParameterSet;
use crate::plan::momentum_fit::{fit, fit_bounded, standing_tube};
use crate::plan::momentum_gains::choose;
use crate::plan::propose::{MomentumLaw, Planner, Purpose, Setting, cells, coasting_end};
use crate::plan::saved::PlanStart;
use crate::plan::tube_fit;
use crate::reach::momentum::MomentumTube;
use crate::reach::{PreparedSet, TrackingTube};
use crate::robot::{Arm, Scene};
use crate::trajectory::{Bezier, JointState, PiecewiseBezier};

use super::planning::Candidate;
use super::{Active, Runner};

/// The law that a run's plans are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Law {
    Energy,
    Momentum,
}

impl Law {
    /// The law for an arm: the first one where its file states that nothing is late or elastic.
    pub(super) fn of(robot: &Arm) -> Self {
        if robot.beyond_first_law().is_none() { Self::Energy } else { Self::Momentum }
    }

    /// In how many control periods a plan that is to start in so many may start at the latest: under the momentum law at the first tick that is not before, and by
    /// ticks that shake.
    pub(super) fn latest_ticks(self, robot: &Arm, ticks: u64) -> u64 {
        if self == Self::Energy {
            return ticks;
        }
        let late = ticks as f64 * robot.timing().jitter_max_s / robot.gains().period_s;
        ticks + late.ceil() as u64 + 1
    }
}

/// What the identifier takes for a bound of accelerations before the first plan: nothing is measured then, or the arm stands.
pub(super) fn trusted_acceleration(robot: &Arm) -> Vec<f64> {
    tube_fit::initial(robot).acceleration_bound
}

/// A controller for an arm that its own drives hold until a plan from rest takes over.
pub(super) fn standing_controller(
    law: Law,
    robot: &Arc<Arm>,
    set: &ParameterSet,
    start: &[f64],
) -> SupervisedController {
    let rest = Bezier::to_rest(&JointState::at_rest(start), start, 1.0);
    match (law, rest) {
        (Law::Momentum, Ok(rest)) => {
            let set = Arc::new(PreparedSet::new(robot, set));
            let plan = MomentumPlan { set, tube: standing_tube(robot), curve: PiecewiseBezier::from(rest) };
            SupervisedController::with_momentum(robot.clone(), Arc::new(plan))
        }
        _ => SupervisedController::new(robot.clone(), set, &tube_fit::initial(robot)),
    }
}

impl Active {
    /// Time on the plan's clock after so many control periods, s, also past the plan's end.
    pub(super) fn time_by_the_clock(&self, periods: u64) -> f64 {
        periods as f64 * self.plan.tube.period_s()
    }

    /// Where the next plan starts that takes over then.
    fn momentum_start(&self, start: PlanStart) -> Result<MomentumStart<'_>, StartRefusal> {
        start.after_momentum(Some((&*self.plan, &**self.prepared.set())))
    }
}

impl Runner<'_> {
    /// Where the plan starts that is made now.
    pub(super) fn plan_start(&self) -> PlanStart {
        let after = |active: &Active| PlanStart::AfterTicks(self.switch_ticks(active));
        self.active.as_ref().map_or(PlanStart::Rest, after)
    }

    fn momentum_start(&self) -> Result<MomentumStart<'_>, StartRefusal> {
        let start = self.plan_start();
        self.active.as_ref().map_or(Ok(MomentumStart::Rest), |active| active.momentum_start(start))
    }

    /// The proof of a plan of either law.
    pub(super) fn prove(
        &self,
        proposal: &Candidate,
        set: &Arc<PreparedSet>,
        start: PlanStart,
        partition: Partition,
    ) -> Result<Certificate, Refusal> {
        let (scene, curve) = (&**self.surroundings.scene(), &proposal.curve);
        match &proposal.tube {
            TrackingTube::Energy(tube) => {
                let problem = Problem::with_prepared(&self.robot, set, scene, tube, curve)?;
                let before = self.active.as_ref();
                let before = before.map(|active| (&*active.plan, active.plan.certificate.excess));
                certify(&problem, &start.after(before)?, partition)
            }
            TrackingTube::Momentum(bounded) => {
                let problem = MomentumProblem::new(&self.robot, set, scene, curve, self.momentum_start()?)?;
                problem.certify_bounded::<crate::enclose::Counted>(bounded, partition)
            }
        }
    }

    /// What the planner finds.
    pub(super) fn found(
        &self,
        planner: &mut Planner,
        setting: &Setting<'_>,
        purpose: Purpose<'_>,
    ) -> Result<Candidate, String> {
        if self.law == Law::Energy {
            return planner.propose(setting, purpose).map(Candidate::from).map_err(|e| e.to_string());
        }
        let start = self.momentum_start().map_err(|e| e.to_string())?;
        let calm = self.calm_tube(setting)?;
        let law = MomentumLaw { calm: &calm, start };
        let found = planner.propose_momentum(setting, &law, purpose);
        found.map(Candidate::from).map_err(|e| e.to_string())
    }

    /// The tube of coming to rest with as little steering as possible, under the gains that prove best for that: those of the next plan.
    fn calm_tube(&self, setting: &Setting<'_>) -> Result<MomentumTube, String> {
        let start = self.momentum_start().map_err(|e| e.to_string())?;
        let end = coasting_end(setting);
        let curve = Bezier::to_rest(setting.start, &end, setting.duration_s).map_err(|e| e.to_string())?;
        let empty = Scene::default();
        let problem = MomentumProblem::new(setting.robot, setting.set, &empty, &curve, start)
            .map_err(|e| e.to_string())?;
        let cells = cells(setting.duration_s);
        let few = self.few(cells);
        let tube = choose(&problem, few, setting.growth_max_m).map_err(|e| e.to_string())?;
        if few == cells {
            return Ok(tube);
        }
        // In long cells constants come out larger than need be, and a fit that begins with such stays there.
        fit(&problem, tube.gains, tube.timing, cells).map(|(tube, _)| tube).map_err(|e| e.to_string())
    }

    /// Cells in which gains are tried. Nothing rests on them; but a tube that narrows needs as many as its proof.
    fn few(&self, cells: usize) -> usize {
        if self.active.is_some() { cells } else { (cells / 4).max(8) }
    }

    /// Whether a plan for this set settles the running one: it was prepared once, for both.
    pub(super) fn settles(&self, set: &Arc<PreparedSet>) -> bool {
        self.active.as_ref().is_some_and(|active| Arc::ptr_eq(active.prepared.set(), set))
    }

    /// Whether the arm may settle ([`Runner::settling`]): after a failure, where it rests at the end of a plan of the momentum law. Once is enough.
    pub(super) fn may_settle(&self) -> bool {
        let rests = |active: &Active| {
            !active.settles && active.plan.tube.momentum().is_some() && self.rests_next(active)
        };
        self.failures > 0 && self.active.as_ref().is_some_and(rests)
    }

    /// To go on resting, with the set and gains of the plan before. Its tube is as wide as its motion asked for, and a plan for another set has to begin with that, turned by
    /// another M_0 and kappa. At rest it narrows to what standing needs.
    pub(super) fn settling(&self, start: &JointState) -> Result<(Candidate, Arc<PreparedSet>), String> {
        let before = self.active.as_ref().and_then(|active| Some((active, active.plan.tube.momentum()?)));
        let (active, tube) = before.ok_or("no plan of the momentum law goes before")?;
        let (set, gains, duration_s) = (active.prepared.set(), tube.tube.gains, self.task.timing.t_f_s);
        let curve = Bezier::to_rest(start, &start.q, duration_s).map_err(|e| e.to_string())?;
        let (empty, from) = (Scene::default(), self.momentum_start().map_err(|e| e.to_string())?);
        let problem =
            MomentumProblem::new(&self.robot, set, &empty, &curve, from).map_err(|e| e.to_string())?;
        let fitted = fit_bounded(&problem, gains, None, cells(duration_s));
        let (tube, _) = fitted.map_err(|e| e.to_string())?;
        Ok((Candidate { curve: curve.into(), tube: tube.into() }, set.clone()))
    }

    /// A tube along a motion that is given.
    pub(super) fn tube_along(
        &self,
        curve: &PiecewiseBezier,
        set: &Arc<PreparedSet>,
        cells: usize,
    ) -> Result<TrackingTube, String> {
        if self.law == Law::Energy {
            let held = self.active.as_ref().and_then(|active| active.plan.tube.energy());
            let tube = tube_fit::fit_after(&self.robot, set, curve, held, cells);
            return tube.map(TrackingTube::from).map_err(|e| e.to_string());
        }
        let start = self.momentum_start().map_err(|e| e.to_string())?;
        let empty = Scene::default();
        let problem =
            MomentumProblem::new(&self.robot, set, &empty, curve, start).map_err(|e| e.to_string())?;
        let tube = choose(&problem, self.few(cells), self.task.growth_max_m).map_err(|e| e.to_string())?;
        let fitted = fit_bounded(&problem, tube.gains, None, cells);
        fitted.map(|(tube, _)| tube.into()).map_err(|e| e.to_string())
    }
}
