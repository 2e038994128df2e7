//! What is to be proven, cell by cell, and the conclusion from a survey of all cells.

use std::sync::Arc;

use rayon::prelude::*;

use crate::enclose::{Counted, Rounding, environment};
use crate::inertia::ParameterSet;
use crate::reach::cell::joints_fault;
use crate::reach::law::Law;
use crate::reach::upward::mul_up;
use crate::reach::{PreparedSet, Span, Tube};
use crate::robot::{Arm, Scene, Zonotope3};
use crate::trajectory::Pieces;

use super::halving::halve;
use super::verdict::Tally;
use super::{
    CellReport, Certificate, ConstraintFamily, ConstraintIndex, ProvenClearance, Refusal, Shortfall, Start,
    StartRefusal, Workspaces, switch,
};

/// How finely time is cut. Coarser or finer, what is proven is as true; it is proven of fewer or more plans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Partition {
    /// Cells that every plan starts with.
    pub cells: usize,
    /// How often a cell may be halved.
    pub depth: u32,
}

impl Default for Partition {
    fn default() -> Self {
        Self { cells: 32, depth: 5 }
    }
}

/// A trajectory and all that it is to be proven against.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    pub(crate) robot: &'a Arm,
    pub(crate) scene: &'a Scene,
    pub(super) tube: &'a Tube,
    pub(super) curve: Pieces<'a>,
    pub(super) set: Arc<PreparedSet>,
}

/// What the arm's file states that the law of [`Tube`] is not proven for: late readings and commands, and links on springs.
pub fn on_time(robot: &Arm) -> Option<String> {
    let (beyond, name) = (robot.beyond_first_law()?, &robot.name);
    Some(format!(
        "robot '{name}': {beyond}: this law is proven for rigid joints, and readings and commands of their tick, alone; for others there is \
         `certify::MomentumProblem`"
    ))
}

/// Refuses what the proof does not cover: sizes, sets and curves that are none, constants of the tube.
fn check(
    robot: &Arm,
    scene: &Scene,
    set: &ParameterSet,
    tube: &Tube,
    curve: Pieces<'_>,
) -> Result<(), String> {
    environment::fault().map_or(Ok(()), |fault| Err(fault.to_owned()))?;
    on_time(robot).map_or(Ok(()), Err)?;
    scene.obstacles.iter().find_map(Zonotope3::fault).map_or(Ok(()), Err)?;
    let ensure = |good: bool, fault: &dyn Fn() -> String| if good { Ok(()) } else { Err(fault()) };
    let (n, gains, own) = (robot.dof(), &tube.gains, &robot.gains());
    joints_fault(&robot.name, n).map_or(Ok(()), Err)?;
    let (drift, acceleration) = (&tube.drift_nm, &tube.acceleration_bound);
    let (floor, lag) = (&tube.inertia_floor, &tube.lag_floor);
    let sizes = [("points", curve.dof()), ("inertia_floor", floor.len()), ("lag_floor", lag.len())];
    let more = [("drift_nm", drift.len()), ("acceleration_bound", acceleration.len())];
    for (what, found) in sizes.into_iter().chain(more) {
        ensure(found == n, &|| format!("{what}: expected {n} values for '{}', found {found}", robot.name))?;
    }
    curve.check().map_err(|error| error.to_string())?;
    let fault = set.fault(n, robot.parameter_count(), curve.duration_s());
    fault.map_or(Ok(()), |fault| Err(format!("parameter set: {fault}")))?;
    for (j, joint) in robot.joints.iter().enumerate() {
        let name = &joint.name;
        // The law and its proof need a desired motion that is continuous up to its acceleration, past the end too.
        ensure(curve.rests(j), &|| format!("trajectory: joint '{name}' does not come to rest"))?;
        let (floor, lag) = (floor[j], lag[j]);
        ensure(lag > 0.0 && lag <= floor && floor.is_finite(), &|| {
            let why = "a lower bound of the mass matrix, of the joint's transmission inertia (`armature`) or of the links alone";
            format!(
                "tube inertia_floor and lag_floor of joint '{name}': expected 0 < {lag:e} <= {floor:e}, {why}"
            )
        })?;
    }
    for shape in robot.shapes() {
        let (name, radius) = (&shape.name, shape.capsule.radius);
        ensure(radius >= 0.0, &|| format!("capsule '{name}': radius {radius}, expected >= 0"))?;
    }
    gains.fault().map_or(Ok(()), |fault| Err(format!("tube {fault}")))?;
    let own_clock = gains.period_s == own.period_s && gains.stiction_speed_rad_s >= own.stiction_speed_rad_s;
    ensure(own_clock, &|| format!("tube: {gains:?}, expected period and stiction speed of {own:?}"))?;
    let ticks = tube.layer_ticks;
    ensure(ticks >= 1.0 && ticks.is_finite(), &|| format!("tube layer_ticks: expected >= 1, found {ticks}"))?;
    let decay = mul_up(gains.alpha, gains.period_s);
    ensure(decay <= 1.0, &|| format!("tube: alpha * period_s is {decay}, above 1"))?;
    match &tube.motor_loops {
        None => {}
        Some(_) if !robot.timing().has_motor_loops() => {
            let name = &robot.name;
            return Err(format!(
                "tube motor_loops: robot '{name}' has no loops in its motors, expected `timing.motor_loop_age_max_s` above 0"
            ));
        }
        Some(loops) => loops.fault(n).map_or(Ok(()), |fault| Err(format!("tube {fault}")))?,
    }
    for x in drift.iter().chain(acceleration).chain([&tube.hold_power_w, &tube.energy_slack_j]) {
        ensure(*x >= 0.0, &|| format!("tube constants: expected numbers not below 0, found {x}"))?;
    }
    Ok(())
}

impl<'a> Problem<'a> {
    /// Puts a proof obligation together.
    ///
    /// # Errors
    /// [`Refusal::Unsupported`] for what the proof does not cover: it names the field and what was expected.
    pub fn new(
        robot: &'a Arm,
        set: &ParameterSet,
        scene: &'a Scene,
        tube: &'a Tube,
        curve: impl Into<Pieces<'a>>,
    ) -> Result<Self, Refusal> {
        let curve = curve.into();
        check(robot, scene, set, tube, curve).map_err(Refusal::Unsupported)?;
        Ok(Self { robot, scene, tube, curve, set: Arc::new(PreparedSet::new(robot, set)) })
    }

    /// [`Problem::new`] with a set that is prepared already: for one set there may be many problems.
    ///
    /// # Errors
    /// As [`Problem::new`]; and if the set was prepared for another number of joints.
    pub fn with_prepared(
        robot: &'a Arm,
        set: &Arc<PreparedSet>,
        scene: &'a Scene,
        tube: &'a Tube,
        curve: impl Into<Pieces<'a>>,
    ) -> Result<Self, Refusal> {
        let curve = curve.into();
        check(robot, scene, set.set(), tube, curve).map_err(Refusal::Unsupported)?;
        if set.joints() != robot.dof() {
            let (name, n, found) = (&robot.name, robot.dof(), set.joints());
            let fault = format!("parameter set: prepared for {found} joints, '{name}' has {n}");
            return Err(Refusal::Unsupported(fault));
        }
        Ok(Self { robot, scene, tube, curve, set: set.clone() })
    }

    /// The law whose torques are bounded.
    pub(super) fn law(&self) -> Law<'_> {
        Law::new(self.robot, &self.set, self.tube)
    }

    /// Cell `k` of a partition into `cells` equal ones; the last one is followed by the rest after the end.
    pub(super) fn span(&self, k: usize, cells: usize) -> Span {
        let t = |k: usize| self.curve.duration_s() * k as f64 / cells as f64;
        if k == cells {
            return Span::Rest;
        }
        Span::Between(t(k), if k + 1 == cells { self.curve.duration_s() } else { t(k + 1) })
    }

    /// Smallest margins of one cell, or the first negative one.
    fn judge(&self, report: &CellReport) -> Result<Tally, Shortfall> {
        let (t0, t1) = match report.span {
            Span::Between(t0, t1) => (t0, t1),
            Span::Rest => (self.curve.duration_s(), f64::INFINITY),
        };
        let mut tally = Tally::of_a_cell();
        let mut record = |family: ConstraintFamily, place: ConstraintIndex, margin: f64| {
            // NaN is no proof either.
            if !(margin >= 0.0) {
                return Err(Shortfall { family, place, t0, t1, margin });
            }
            tally.record(family, margin, t0, place);
            Ok(())
        };
        for j in 0..self.robot.dof() {
            record(ConstraintFamily::Position, ConstraintIndex::Joint(j), report.position[j])?;
            record(ConstraintFamily::Velocity, ConstraintIndex::Joint(j), report.velocity[j])?;
            record(ConstraintFamily::Torque, ConstraintIndex::Joint(j), report.torque_margin[j])?;
        }
        for ProvenClearance { shape, other, separation } in &report.clearances {
            record(
                ConstraintFamily::Collision,
                ConstraintIndex::Pair(*shape, *other),
                separation.clearance_m,
            )?;
        }
        for (place, margin) in self.tube_margins(report) {
            record(ConstraintFamily::Tube, place, margin)?;
        }
        Ok(tally)
    }

    /// (stored - required) / stored for each constant of the tube.
    pub(crate) fn tube_margins<'r>(
        &'r self,
        report: &'r CellReport,
    ) -> impl Iterator<Item = (ConstraintIndex, f64)> + 'r {
        let (tube, needed) = (self.tube, &report.required);
        let relative = |have: f64, need: f64| if have > 0.0 { (have - need) / have } else { have - need };
        let loops = tube.motor_loops.as_ref().zip(needed.motor_loops.as_ref());
        let level = loops.map(|(_, needed)| relative(tube.gains.v_max, needed.v_max_j));
        let aged = loops.into_iter().flat_map(move |(loops, needed)| {
            let rates = loops.rate_rad_s2.iter().zip(&needed.rate_rad_s2).enumerate();
            rates.map(move |(j, (have, need))| (ConstraintIndex::LoopRate(j), relative(*have, *need)))
        });
        let in_motors = level.map(|margin| (ConstraintIndex::MotorLoops, margin)).into_iter().chain(aged);
        let whole = [
            (ConstraintIndex::HoldPower, relative(tube.hold_power_w, needed.hold_power_w)),
            (ConstraintIndex::EnergySlack, relative(tube.energy_slack_j, needed.energy_slack_j)),
            (ConstraintIndex::Gain, 1.0 - needed.gain),
            (ConstraintIndex::Floor, 1.0 - needed.floor_factor),
        ];
        let joints = (0..self.robot.dof()).flat_map(move |j| {
            let acceleration = relative(tube.acceleration_bound[j], needed.acceleration_bound[j]);
            let drift = relative(tube.drift_nm[j], needed.drift_nm[j]);
            [(ConstraintIndex::Drift(j), drift), (ConstraintIndex::Acceleration(j), acceleration)]
        });
        whole.into_iter().chain(joints).chain(in_motors)
    }

    /// Evaluates every cell of a partition in the arithmetic `R`, in parallel. Asks for memory only if the reports and
    /// workspaces have not been used for such a problem before.
    pub fn survey_into<R: Rounding>(
        &self,
        cells: usize,
        workspaces: &Workspaces<R>,
        reports: &mut Vec<CellReport>,
    ) {
        let cells = cells.max(1);
        reports.resize_with(cells + 1, CellReport::default);
        workspaces.prepare(self.robot, self.scene);
        reports.par_iter_mut().enumerate().for_each(|(k, report)| {
            workspaces.with(|place| place.space.evaluate(self, self.span(k, cells), report));
            if environment::fault().is_some() {
                // Such a cell covers nothing.
                report.span = Span::Between(f64::NAN, f64::NAN);
            }
        });
    }

    /// The excess with which the plan starts, given a survey of it.
    pub(crate) fn starts(&self, start: &Start<'_>, survey: &[CellReport]) -> Result<f64, StartRefusal> {
        // The first cell holds the start; without one nothing is proven anyway.
        let sigma = survey.first().map_or(f64::INFINITY, |report| report.relative_mass);
        switch::excess(self.robot, self.tube, self.curve, start, sigma)
    }

    /// [`Problem::conclude`] without names and start.
    pub(crate) fn tally<R: Rounding>(
        &self,
        survey: &[CellReport],
        depth: u32,
        workspaces: &Workspaces<R>,
    ) -> Result<Tally, Shortfall> {
        if !self.covered(survey) {
            return Err(Shortfall::whole(ConstraintIndex::Uncovered));
        }
        let verdicts = survey.par_iter().map(|report| match self.judge(report) {
            // Other threads than the one that put the problem together may have other arithmetic.
            _ if environment::fault().is_some() => Err(Shortfall::whole(ConstraintIndex::Arithmetic)),
            Err(shortfall) => workspaces.with(|place| {
                halve(report.span, shortfall, depth, &mut |span| {
                    place.space.evaluate(self, span, &mut place.report);
                    self.judge(&place.report)
                })
            }),
            proven => proven,
        });
        verdicts.reduce(|| Ok(Tally::default()), |first, later| Ok(first?.and(later?)))
    }

    /// Whether the cells follow each other from 0 to the end and past it.
    fn covered(&self, survey: &[CellReport]) -> bool {
        let Some((last, cells)) = survey.split_last() else { return false };
        let end = cells.iter().try_fold(0.0f64, |t, report| match report.span {
            Span::Between(t0, t1) if t0 <= t => Some(t1),
            _ => None,
        });
        last.span == Span::Rest && end.is_some_and(|t| t >= self.curve.duration_s())
    }
}

/// The certifier's steps one by one, for those who prepare plans or look closer at them.
impl Problem<'_> {
    /// Evaluates every constraint over one span in the arithmetic `R`, in the storage in which [`crate::certify::certify_in`] does.
    pub fn report<R: Rounding>(&self, span: Span, workspaces: &Workspaces<R>) -> CellReport {
        let mut report = CellReport { span, ..CellReport::default() };
        self.renew(workspaces, &mut report);
        report
    }

    /// Evaluates every constraint anew over the span that `report` is of, in workspaces.
    pub fn renew<R: Rounding>(&self, workspaces: &Workspaces<R>, report: &mut CellReport) {
        workspaces.with(|place| place.space.evaluate(self, report.span, report));
    }

    /// Evaluates every cell of a partition in the default arithmetic, in parallel.
    pub fn survey(&self, cells: usize) -> Vec<CellReport> {
        let mut reports = Vec::new();
        self.survey_into(cells, &Workspaces::<Counted>::default(), &mut reports);
        reports
    }

    /// Smallest relative margin of the tube's constants over one cell; the tube is proven there if it is not negative.
    pub fn tube_margin(&self, report: &CellReport) -> f64 {
        let margins = self.tube_margins(report).map(|(_, margin)| margin);
        margins.fold(f64::INFINITY, |least, m| if m.is_nan() { f64::NEG_INFINITY } else { least.min(m) })
    }

    /// Draws the conclusion from a survey of this very problem; cells that are not proven are halved up to `depth` times.
    /// In the arithmetic `R`, without asking for memory in workspaces that have been used before.
    ///
    /// # Errors
    /// [`Refusal`] names the claim that is not proven, where and by how much.
    pub fn conclude<R: Rounding>(
        &self,
        survey: &[CellReport],
        start: &Start<'_>,
        depth: u32,
        workspaces: &Workspaces<R>,
    ) -> Result<Certificate, Refusal> {
        let tally = self.tally(survey, depth, workspaces);
        let tally = tally.map_err(|shortfall| shortfall.refusal(self.robot, self.scene))?;
        let excess = self.starts(start, survey)?;
        let clear_until_s = self.scene.moves().then_some(self.curve.duration_s());
        Ok(tally.certificate(self.robot, self.scene, excess, clear_until_s))
    }

    /// [`Problem::conclude`] without names and without the plan's start, without asking for memory in workspaces that have been used before.
    ///
    /// # Errors
    /// [`Shortfall`] of the first cell that stays unproven.
    pub fn prove_survey<R: Rounding>(
        &self,
        survey: &[CellReport],
        depth: u32,
        workspaces: &Workspaces<R>,
    ) -> Result<(), Shortfall> {
        self.tally(survey, depth, workspaces).map(|_| ())
    }
}
