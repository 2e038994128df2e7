//! The decision on a plan of the second law ([`crate::reach::momentum`]): for drives and sensors with delays and noise.
//!
//! # Assumed
//! What that theorem does, on readings, commands and drives; that every body is one, and obstacles as [`super`] has them. From rest, that
//! [`crate::control::MomentumController::start_fault`] finds nothing before the first tick. After another plan, that it was proven, with its own predecessor,
//! and that its controller takes over at the first tick that is not before the time of the switch.
//!
//! # Proven by [`MomentumProblem::certify`]
//! For every time of the plan and after it, every theta in the set, and every state of the tube: what [`super`] lists. Time is cut into cells, and a cell with a
//! margin below zero is halved, as there; storage is new for each proof.
//!
//! *Bounds.* What a plan says of its states besides ([`StateBounds`]) is held against each cell in the same way.
//!
//! *Until the first command acts* the commands of the plan before are in effect, and its own proof bounds their torques. The state is in both
//! tubes then ([`crate::reach::momentum::NeededAtStart`]), so limits and distances are kept by this plan's cells as well.
//!
//! *Obstacles that move* go on until the age after each span: longer than a tick.

mod start;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use crate::enclose::{Counted, Rounding, environment};
use crate::reach::block::Block;
use crate::reach::cell::joints_fault;
use crate::reach::momentum::{
    BoundedTube, CellOutlook, Handover, MomentumPredecessor, MomentumReport, MomentumTube, MomentumWorkspace,
    NeededAtStart, StateBounds, accelerations,
};
use crate::reach::upward::add_up;
use crate::reach::{PreparedSet, Span, sized};
use crate::robot::{Arm, Scene, Zonotope3};
use crate::trajectory::Pieces;

use super::halving::halve;
use super::separate::Surroundings;
use super::verdict::{self, Tally};
use super::{Certificate, ConstraintFamily, ConstraintIndex, Partition, ProvenClearance, Refusal, Shortfall};

/// What is known of the state in which a plan of the second law starts.
#[derive(Debug, Clone, Copy)]
pub enum MomentumStart<'a> {
    /// The arm stands at the plan's first point, as the controller finds before its first tick.
    Rest,
    /// A proven plan runs until then.
    After(MomentumPredecessor<'a>),
}

/// A motion that the second law is to follow, and all that it is to be proven against but the tube.
#[derive(Debug, Clone)]
pub struct MomentumProblem<'a> {
    robot: &'a Arm,
    set: &'a PreparedSet,
    scene: &'a Scene,
    curve: Pieces<'a>,
    start: MomentumStart<'a>,
    left: Option<Handover>,
}

/// What is proven over one span, for those who prepare plans.
#[derive(Debug, Clone)]
pub struct SurveyedCell {
    /// What the theorem needs there, and the margins of limits.
    pub report: MomentumReport,
    /// The distances of all that must be kept apart.
    pub clearances: Vec<ProvenClearance>,
    /// The first constraint that is not proven there, of all that the certifier asks for but bounds of states.
    pub shortfall: Option<Shortfall>,
    /// What other constants would need there, about.
    pub outlook: CellOutlook,
}

/// What a plan says: the constants of its tube, and of its states.
#[derive(Clone, Copy)]
struct Claimed<'a> {
    tube: &'a MomentumTube,
    bounds: Option<&'a StateBounds>,
}

/// Storage for cells.
struct Place<const N: usize, R: Rounding> {
    space: MomentumWorkspace<N, R>,
    blocks: Vec<Block>,
    weights: Vec<f64>,
    clearances: Vec<ProvenClearance>,
}

impl<const N: usize, R: Rounding> Place<N, R> {
    fn new(robot: &Arm) -> Self {
        let space = MomentumWorkspace::new(robot);
        Self { space, blocks: vec![], weights: vec![], clearances: vec![] }
    }
}

impl<'a> MomentumProblem<'a> {
    /// Puts a problem together. Of a set with strips the box alone is used.
    ///
    /// # Errors
    /// [`Refusal`] names what the theorem does not cover: another number of joints, a set or a motion that is none, pieces that do not join, a motion
    /// that does not end at rest, or does not start as it should.
    pub fn new(
        robot: &'a Arm,
        set: &'a PreparedSet,
        scene: &'a Scene,
        curve: impl Into<Pieces<'a>>,
        start: MomentumStart<'a>,
    ) -> Result<Self, Refusal> {
        let curve = curve.into();
        check(robot, set, scene, curve).map_err(Refusal::Unsupported)?;
        let left = start::left::<Counted>(robot, set, curve, &start)?;
        Ok(Self { robot, set, scene, curve, start, left })
    }

    /// The arm.
    pub fn robot(&self) -> &'a Arm {
        self.robot
    }

    /// Duration of the motion, s.
    pub fn duration_s(&self) -> f64 {
        self.curve.duration_s()
    }

    /// The motion.
    pub fn curve(&self) -> Pieces<'a> {
        self.curve
    }

    /// What is true of the states of the plan under `tube`, from reports on spans that together are all of its time; `None` where nothing bounds the
    /// accelerations. It holds if the plan is proven.
    pub fn bounds(&self, tube: &MomentumTube, reports: &[MomentumReport]) -> Option<StateBounds> {
        StateBounds::of(self.set, (tube, self.carried_nm()), self.curve, reports)
    }

    /// What drives that lag remember of the plan before, N m.
    fn carried_nm(&self) -> Option<&[f64]> {
        Some(&self.left.as_ref()?.carried.as_ref()?.torque_nm)
    }

    /// What a tube with this K_r (1/s) must be at its start at least, in the default arithmetic: of a plan that follows another.
    pub fn needed_at_start(&self, k_r: f64) -> Option<NeededAtStart<'_>> {
        Some(self.left.as_ref()?.needed(self.robot, k_r))
    }

    /// What the plan before leaves, in the default arithmetic.
    pub fn left(&self) -> Option<&Handover> {
        self.left.as_ref()
    }

    /// Reports on `cells` equal spans of the plan and on the rest after it; `None` where the mass matrix is too uncertain for any bound.
    ///
    /// # Errors
    /// Constants that are none, by name.
    pub fn survey(&self, tube: &MomentumTube, cells: usize) -> Result<Option<Vec<MomentumReport>>, String> {
        self.ensure(tube)?;
        Ok(sized!(self.robot, N => self.reports::<N, Counted>(tube, cells.max(1))))
    }

    /// [`MomentumProblem::survey`] with how far apart the arm's capsules are from what they must not touch.
    ///
    /// # Errors
    /// As there.
    pub fn survey_apart(
        &self,
        tube: &MomentumTube,
        cells: usize,
    ) -> Result<Option<Vec<SurveyedCell>>, String> {
        self.ensure(tube)?;
        Ok(sized!(self.robot, N => self.surveyed::<N, Counted>(tube, cells.max(1))))
    }

    /// Bounds of |ddq_j| under `tube` (rad/s^2), from reports on `cells` equal spans; `None` where none is found. They hold if the plan is proven.
    ///
    /// # Errors
    /// As [`MomentumProblem::survey`].
    pub fn accelerations(&self, tube: &MomentumTube, cells: usize) -> Result<Option<Vec<f64>>, String> {
        let reports = self.survey(tube, cells)?;
        Ok(reports
            .and_then(|reports| accelerations(self.set, (tube, self.carried_nm()), self.curve, &reports)))
    }

    /// Proves the problem over its whole time, from its start, under `tube`.
    ///
    /// # Errors
    /// [`Refusal`] names the first constraint (in time) that it cannot prove, and its margin.
    pub fn certify(&self, tube: &MomentumTube, partition: Partition) -> Result<Certificate, Refusal> {
        let _span = verdict::span(self.robot, partition).entered();
        let verdict = self.decide::<Counted>(Claimed { tube, bounds: None }, partition);
        verdict::tell(&verdict);
        verdict
    }

    /// [`MomentumProblem::certify`] together with what the plan says of its states, in the arithmetic `R`.
    ///
    /// # Errors
    /// As there.
    pub fn certify_bounded<R: Rounding>(
        &self,
        bounded: &BoundedTube,
        partition: Partition,
    ) -> Result<Certificate, Refusal> {
        let BoundedTube { tube, bounds, .. } = bounded;
        if let Some(fault) = bounds.fault(self.robot.dof()) {
            return Err(Refusal::Unsupported(format!("bounds {fault}")));
        }
        let _span = verdict::span(self.robot, partition).entered();
        let verdict = self.decide::<R>(Claimed { tube, bounds: Some(bounds) }, partition);
        verdict::tell(&verdict);
        verdict
    }

    fn decide<R: Rounding>(
        &self,
        claimed: Claimed<'_>,
        partition: Partition,
    ) -> Result<Certificate, Refusal> {
        self.ensure(claimed.tube).map_err(Refusal::Unsupported)?;
        let left = start::left::<R>(self.robot, self.set, self.curve, &self.start)?;
        start::covered(self.robot, claimed.tube, &self.start, left.as_ref())?;
        let tally = sized!(self.robot, N => self.tally::<N, R>(claimed, partition));
        let tally = tally.map_err(|shortfall| shortfall.refusal(self.robot, self.scene))?;
        let clear_until_s = self.scene.moves().then_some(self.curve.duration_s());
        Ok(tally.certificate(self.robot, self.scene, 0.0, clear_until_s))
    }

    fn ensure(&self, tube: &MomentumTube) -> Result<(), String> {
        let fault = tube.fault(self.robot.dof()).or_else(|| tube.timing.kinder_than(self.robot));
        fault.map_or(Ok(()), |fault| Err(format!("tube {fault}")))
    }

    fn report<const N: usize, R: Rounding>(
        &self,
        tube: &MomentumTube,
        span: Span,
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<MomentumReport> {
        MomentumReport::new(self.robot, self.set, tube, (self.curve, span), space)
    }

    fn reports<const N: usize, R: Rounding>(
        &self,
        tube: &MomentumTube,
        cells: usize,
    ) -> Option<Vec<MomentumReport>> {
        let space = || MomentumWorkspace::<N, R>::new(self.robot);
        let report = |space: &mut MomentumWorkspace<N, R>, k| self.report(tube, self.span(k, cells), space);
        (0..=cells).into_par_iter().map_init(space, report).collect()
    }

    fn surveyed<const N: usize, R: Rounding>(
        &self,
        tube: &MomentumTube,
        cells: usize,
    ) -> Option<Vec<SurveyedCell>> {
        let survey = |place: &mut Place<N, R>, k| {
            let span = self.span(k, cells);
            let motion = (self.curve, span);
            let seen = MomentumReport::with_outlook(self.robot, self.set, tube, motion, &mut place.space);
            let (report, outlook) = seen?;
            self.separate(tube, span, place);
            let clearances = place.clearances.clone();
            let shortfall = self.judge_report(Claimed { tube, bounds: None }, &report, &clearances).err();
            Some(SurveyedCell { report, clearances, shortfall, outlook })
        };
        (0..=cells).into_par_iter().map_init(|| Place::new(self.robot), survey).collect()
    }

    /// Proves distances over `span`, of which a report has been made in this place.
    fn separate<const N: usize, R: Rounding>(
        &self,
        tube: &MomentumTube,
        span: Span,
        place: &mut Place<N, R>,
    ) {
        let Place { space, blocks, weights, clearances } = place;
        let (robot, obstacles, after_s) = (self.robot, &self.scene.obstacles[..], tube.timing.age_s());
        let near = Surroundings { robot, obstacles, after_s };
        near.separate(span, (space.ends(), blocks, weights), clearances);
    }

    /// Span `k` of `cells`, which follow each other without a gap; the last one is the rest.
    fn span(&self, k: usize, cells: usize) -> Span {
        let end = self.curve.duration_s();
        let t = |k: usize| end * k as f64 / cells as f64;
        if k == cells {
            return Span::Rest;
        }
        Span::Between(t(k), if k + 1 == cells { end } else { t(k + 1) })
    }

    fn tally<const N: usize, R: Rounding>(
        &self,
        claimed: Claimed<'_>,
        Partition { cells, depth }: Partition,
    ) -> Result<Tally, Shortfall> {
        let cells = cells.max(1);
        let verdict = |place: &mut Place<N, R>, k| {
            let span = self.span(k, cells);
            if environment::fault().is_some() {
                return Err(Shortfall::whole(ConstraintIndex::Arithmetic));
            }
            let mut judge = |span| self.judge(claimed, span, place);
            judge(span).or_else(|shortfall| halve(span, shortfall, depth, &mut judge))
        };
        let verdicts = (0..=cells).into_par_iter().map_init(|| Place::new(self.robot), verdict);
        verdicts.reduce(|| Ok(Tally::default()), |first, later| Ok(first?.and(later?)))
    }

    /// Smallest margins of one cell, or the first negative one.
    fn judge<const N: usize, R: Rounding>(
        &self,
        claimed: Claimed<'_>,
        span: Span,
        place: &mut Place<N, R>,
    ) -> Result<Tally, Shortfall> {
        let Some(report) = self.report(claimed.tube, span, &mut place.space) else {
            let ((t0, t1), margin) = (self.times(span), f64::NEG_INFINITY);
            let (family, place) = (ConstraintFamily::Tube, ConstraintIndex::MassMatrix);
            return Err(Shortfall { family, place, t0, t1, margin });
        };
        self.separate(claimed.tube, span, place);
        self.judge_report(claimed, &report, &place.clearances)
    }

    /// The times of a span, s.
    fn times(&self, span: Span) -> (f64, f64) {
        match span {
            Span::Between(t0, t1) => (t0, t1),
            Span::Rest => (self.curve.duration_s(), f64::INFINITY),
        }
    }

    /// The same of a report, given the distances.
    fn judge_report(
        &self,
        claimed: Claimed<'_>,
        report: &MomentumReport,
        clearances: &[ProvenClearance],
    ) -> Result<Tally, Shortfall> {
        let tube = claimed.tube;
        let (t0, t1) = self.times(report.needs.span);
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
            record(ConstraintFamily::Position, ConstraintIndex::Joint(j), report.position_margin[j])?;
            record(ConstraintFamily::Velocity, ConstraintIndex::Joint(j), report.velocity_margin[j])?;
            record(ConstraintFamily::Torque, ConstraintIndex::Joint(j), report.torque_margin[j])?;
        }
        for ProvenClearance { shape, other, separation } in clearances {
            let pair = ConstraintIndex::Pair(*shape, *other);
            record(ConstraintFamily::Collision, pair, separation.clearance_m)?;
        }
        let states = claimed.bounds.map(|bounds| self.state_margins(bounds, report, tube));
        for (place, margin) in tube_margins(report, tube).into_iter().chain(states.into_iter().flatten()) {
            record(ConstraintFamily::Tube, place, margin)?;
        }
        Ok(tally)
    }

    /// (stored - needed) / stored for each bound of the plan's states over a span.
    fn state_margins(
        &self,
        bounds: &StateBounds,
        report: &MomentumReport,
        tube: &MomentumTube,
    ) -> Vec<(ConstraintIndex, f64)> {
        let n = self.robot.dof();
        let carried = self.carried_nm();
        let found = accelerations(self.set, (tube, carried), self.curve, std::slice::from_ref(report));
        // Where there is no bound, none is small enough.
        let found = found.unwrap_or_else(|| vec![f64::INFINITY; n]);
        let rests = report.needs.span == Span::Rest;
        let of = |j: usize| {
            let position = report.position_error_rad[j];
            [
                ("position_error_rad", bounds.position_error_rad[j], position),
                ("rest_error_rad", bounds.rest_error_rad[j], if rests { position } else { 0.0 }),
                ("r_rad_s", bounds.r_rad_s[j], report.r_rad_s[j]),
                ("acceleration_rad_s2", bounds.acceleration_rad_s2[j], found[j]),
            ]
            .map(|(what, have, need)| (ConstraintIndex::State(what, j), relative(have, need)))
        };
        (0..n).flat_map(of).collect()
    }
}

fn relative(have: f64, need: f64) -> f64 {
    if have > 0.0 { (have - need) / have } else { have - need }
}

/// (stored - needed) / stored for each constant of the tube over a span.
fn tube_margins(report: &MomentumReport, tube: &MomentumTube) -> Vec<(ConstraintIndex, f64)> {
    let least = report.needs.least_of(tube);
    let mut margins = vec![(ConstraintIndex::Gain, 1.0 - report.needs.gain)];
    for j in 0..least.robust_nm.len() {
        let need = report.needs.noise_nms[j];
        let carried = tube.noise_while_carried(report.needs.span, j);
        let carried = carried.map_or(f64::INFINITY, |(own, besides)| relative(own, add_up(need, besides)));
        margins.extend([
            (ConstraintIndex::Robust(j), relative(least.robust_nm[j], report.needs.robust_nm[j])),
            (ConstraintIndex::Noise(j), relative(least.noise_nms[j], need).min(carried)),
            (ConstraintIndex::Lag(j), relative(least.lag_nms2[j], report.needs.lag_nms2[j])),
            (
                ConstraintIndex::SignBand(j),
                relative(least.sign_band_rad_s[j], report.needs.sign_band_rad_s[j]),
            ),
        ]);
    }
    margins
}

/// Refuses what the proof does not cover, by name.
fn check(robot: &Arm, set: &PreparedSet, scene: &Scene, curve: Pieces<'_>) -> Result<(), String> {
    let (n, name) = (robot.dof(), &robot.name);
    joints_fault(name, n).map_or(Ok(()), Err)?;
    if let Some(fault) = scene.obstacles.iter().find_map(Zonotope3::fault) {
        return Err(fault);
    }
    for shape in robot.shapes() {
        let (name, radius) = (&shape.name, shape.capsule.radius);
        if !(radius >= 0.0) {
            return Err(format!("capsule '{name}': radius {radius}, expected >= 0"));
        }
    }
    if set.joints() != n || curve.dof() != n {
        let (set, curve) = (set.joints(), curve.dof());
        return Err(format!(
            "'{name}' has {n} joints: set of {set} joints, trajectory of {curve}, expected {n} of each"
        ));
    }
    curve.check().map_err(|error| error.to_string())?;
    if let Some(fault) = set.set().fault(n, robot.parameter_count(), curve.duration_s()) {
        return Err(format!("parameter set: {fault}"));
    }
    match robot.joints.iter().enumerate().find(|(j, _)| !curve.rests(*j)) {
        Some((_, joint)) => Err(format!("trajectory: joint '{}' does not come to rest", joint.name)),
        None => Ok(()),
    }
}
