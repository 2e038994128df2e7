//! Chooses the constants of the momentum law for a plan. A guess with a margin: [`MomentumProblem::certify`] decides whether it holds.
//!
//! What constants need grows with them, so those that are enough are a fixed point. To look at the cells of a plan is dear, and what other constants would need
//! there is known nearly ([`CellOutlook`]); so rounds are taken with that, and cells are looked at only where those have settled: two or three times.
//!
//! A plan that follows another starts as wide as it must ([`MomentumProblem::needed_at_start`]) and falls from there to what its own motion needs. Momenta fall
//! at twice K_r, which costs little of kappa; position errors can only follow momenta, at K_r, so they wait until those have
//! fallen and then fall slower.

use thiserror::Error;

use rayon::prelude::*;

use crate::certify::{MomentumProblem, SurveyedCell};
use crate::reach::momentum::{
    BoundedTube, CellOutlook, CycleTiming, Fall, LawName, MomentumGains, MomentumNeeds, MomentumReport,
    MomentumTube, NeededAtStart, WideStart,
};
use crate::robot::{Arm, Joint};

/// What is stored exceeds what a round needs by this factor, so that the fixed point u -> w -> u is passed and not only approached. More widens the
/// torque, less takes more rounds.
const RESERVE: f64 = 1.02;
/// In what is foreseen so much is to be met, that a look finds it met: it sees a few thousandths more.
const SPARE: f64 = 1.01;
/// Rounds at most. One that has not settled by then grows too slowly to be told from one that never will.
const MOST_ROUNDS: usize = 80;
/// Looks at most. Each is nearer to the fixed point than the last by some orders of magnitude.
const MOST_LOOKS: usize = 8;
/// Largest share of the robust torque that misreadings alone may ask for. At 1 and above the law is a switch that noise throws at every tick, proven but
/// harsh; less costs growth, as the tube is wider where more torque is at hand.
const NOISE_SHARE: f64 = 0.5;
/// A robust torque above this multiple of what the joint can do is none of use. Where a tube falls too fast, constants may settle far above those with which a
/// slower one does: that must count as none.
const HOPELESS: f64 = 1.0;
/// What is needed at the start is known and does not grow from round to round: this is for rounding.
const START_RESERVE: f64 = 1.0 + 1e-9;
/// Rates at which the tube falls, over K_r.
const MOMENTUM_RATE: f64 = 2.0;
const LAG_RATE: f64 = 0.4;
/// Position errors begin to fall when momenta have come down to this share of what they fall by.
const LAG_SHARE: f64 = 0.4;
/// What falls may fall by at most so much over one cell, as a cell must bear its widest tube with its narrowest constants. The first with which constants settle is
/// taken: where errors ask for nearly as much torque as they are answered with, little may be lost to that.
const FALLS_IN_A_CELL: [f64; 3] = [0.3, 0.1, 0.03];
/// A robust torque has fallen that is below this share of what it was at the start. Less is what the reserve makes.
const NARROWED: f64 = 0.98;
/// Cells in which more than this share of the start is left raise what they lack at the start, others later.
const AT_START: f64 = 0.5;

/// Why no constants were found.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MomentumRefusal {
    /// The problem is none, or a constant.
    #[error("{0}")]
    Unsupported(String),
    /// The mass matrix is too uncertain: the nominal one may be off by as much as itself.
    #[error(
        "what is held is too uncertain: the mass matrix may be as far from the nominal one as it is large; learn or narrow the payload"
    )]
    MassMatrix,
    /// kappa is too high for the age.
    #[error(
        "kappa = {kappa:.1} 1/s is too high for readings that are {age_ms:.2} ms old{}: at most {most:.1} 1/s",
        lagging(*lag_ms)
    )]
    Gain {
        /// kappa, 1/s.
        kappa: f64,
        /// Age, ms.
        age_ms: f64,
        /// Lag of the drives, ms.
        lag_ms: f64,
        /// The largest kappa, 1/s.
        most: f64,
    },
    /// Nothing bounds the accelerations, which the identifier must be told.
    #[error("a joint may have no transmission inertia: its accelerations have no bound that is proven here")]
    Accelerations,
    /// The torque that tracking errors ask for makes larger errors than it mends.
    #[error(
        "joint '{joint}' needs a robust torque of more than {robust_nm:.0} N m: errors ask for more torque than they are answered with"
    )]
    Diverges {
        /// The joint.
        joint: String,
        /// What it had come to, N m.
        robust_nm: f64,
    },
}

fn lagging(lag_ms: f64) -> String {
    if lag_ms > 0.0 { format!(" and drives that lag by {lag_ms:.2} ms") } else { String::new() }
}

/// Constants under which the tube is proven along the problem's motion, with the reports on them.
///
/// # Errors
/// [`MomentumRefusal`] if none are found.
pub fn fit(
    problem: &MomentumProblem<'_>,
    gains: MomentumGains,
    timing: CycleTiming,
    cells: usize,
) -> Result<(MomentumTube, Vec<MomentumReport>), MomentumRefusal> {
    let begin = |fall| none(problem, gains, timing, (cells, fall));
    let (tube, survey) = try_falls(None, begin, |tube| settle(problem, tube, cells))?;
    Ok((tube, survey.into_iter().map(|cell| cell.report).collect()))
}

/// Constants with which `more` times the needs that `outlooks` foresee are met, and what is met. For `more` = 1 that is what [`fit`] would find if it looked no further.
///
/// # Errors
/// As there.
pub(super) fn foresee(
    problem: &MomentumProblem<'_>,
    gains: MomentumGains,
    (outlooks, cells): (&[&CellOutlook], usize),
    more: f64,
) -> Result<(MomentumTube, Vec<MomentumNeeds>), MomentumRefusal> {
    let timing = CycleTiming::of(problem.robot());
    let begin = |fall| none(problem, gains, timing, (cells, fall));
    try_falls(None, begin, |mut tube| {
        let needs = settle_in_outlook(problem, &mut tube, outlooks, more)?;
        Ok((tube, needs))
    })
}

/// [`fit`] from the constants and the fall of `guess` on, which are nearly what they need to be.
///
/// # Errors
/// As there.
pub(super) fn fit_from(
    problem: &MomentumProblem<'_>,
    guess: &MomentumTube,
    cells: usize,
) -> Result<MomentumTube, MomentumRefusal> {
    let begin = |fall| begun(none(problem, guess.gains, guess.timing, (cells, fall)), Some(guess));
    try_falls(Some(guess), begin, |tube| settle(problem, tube, cells)).map(|(tube, _)| tube)
}

/// [`fit`] with what is then true of the plan's states, and all that was seen of its cells. Where there is a `guess`, of a motion much like this one with the same
/// gains, from its later constants on and with its fall alone.
///
/// # Errors
/// As there; and if nothing bounds the accelerations.
pub fn fit_bounded(
    problem: &MomentumProblem<'_>,
    gains: MomentumGains,
    guess: Option<&MomentumTube>,
    cells: usize,
) -> Result<(BoundedTube, Vec<SurveyedCell>), MomentumRefusal> {
    let timing = CycleTiming::of(problem.robot());
    let begin = |fall: f64| begun(none(problem, gains, timing, (cells, fall)), guess);
    let (tube, survey) = try_falls(guess, begin, |tube| settle(problem, tube, cells))?;
    let reports: Vec<MomentumReport> = survey.iter().map(|cell| cell.report.clone()).collect();
    let bounds = problem.bounds(&tube, &reports).ok_or(MomentumRefusal::Accelerations)?;
    Ok((BoundedTube { law: LawName::Momentum, tube, bounds }, survey))
}

/// Settles with the fastest fall with which that can be done, or that of `guess`. Where nothing narrows with it, constants may have settled above those with which a
/// slower one does: then it is taken if those do no better. Without a start nothing falls.
fn try_falls<T>(
    guess: Option<&MomentumTube>,
    begin: impl Fn(f64) -> MomentumTube,
    settle: impl Fn(MomentumTube) -> Result<(MomentumTube, T), MomentumRefusal>,
) -> Result<(MomentumTube, T), MomentumRefusal> {
    let rate = |tube: &MomentumTube| tube.start.as_ref().map(|start| start.momentum_fall.rate_1_s);
    let known = guess.and_then(rate);
    let (mut first, mut wide) = (None, None);
    for fall in FALLS_IN_A_CELL {
        let tube = begin(fall);
        if rate(&tube).zip(known).is_some_and(|(rate, known)| (rate / known - 1.0).abs() > 1e-3) {
            continue;
        }
        let falls = tube.start.is_some();
        match settle(tube) {
            Err(MomentumRefusal::Diverges { joint, robust_nm }) if falls => {
                first.get_or_insert(MomentumRefusal::Diverges { joint, robust_nm });
            }
            Ok(settled) if falls && !narrows(&settled.0) => _ = wide.get_or_insert(settled),
            settled => return settled,
        }
    }
    let none = || MomentumRefusal::Unsupported("no fall to try".to_owned());
    wide.ok_or_else(|| first.unwrap_or_else(none))
}

/// Whether some robust torque falls in the course of the plan.
fn narrows(tube: &MomentumTube) -> bool {
    let Some(start) = &tube.start else { return false };
    start.robust_nm.iter().zip(&tube.robust_nm).any(|(start, later)| *later < NARROWED * start)
}

/// `tube` with the later constants of `guess`.
fn begun(mut tube: MomentumTube, guess: Option<&MomentumTube>) -> MomentumTube {
    if let Some(guess) = guess {
        let lists = [
            (&mut tube.robust_nm, &guess.robust_nm),
            (&mut tube.noise_nms, &guess.noise_nms),
            (&mut tube.lag_nms2, &guess.lag_nms2),
            (&mut tube.sign_band_rad_s, &guess.sign_band_rad_s),
        ];
        lists.into_iter().for_each(|(list, guess)| list.clone_from(guess));
        widen_start(&mut tube);
    }
    tube
}

/// No constant of the start is below its later value.
fn widen_start(tube: &mut MomentumTube) {
    let Some(start) = &mut tube.start else { return };
    let lists = [
        (&mut start.robust_nm, &tube.robust_nm),
        (&mut start.noise_nms, &tube.noise_nms),
        (&mut start.lag_nms2, &tube.lag_nms2),
        (&mut start.sign_band_rad_s, &tube.sign_band_rad_s),
    ];
    for (list, later) in lists {
        list.iter_mut().zip(later).for_each(|(start, later)| *start = start.max(*later));
    }
}

/// Raises and lowers the constants of `tube` until they are what they need to be.
fn settle(
    problem: &MomentumProblem<'_>,
    mut tube: MomentumTube,
    cells: usize,
) -> Result<(MomentumTube, Vec<SurveyedCell>), MomentumRefusal> {
    let needed = problem.needed_at_start(tube.gains.k_r);
    for _ in 0..MOST_LOOKS {
        let survey = problem.survey_apart(&tube, cells).map_err(MomentumRefusal::Unsupported)?;
        let survey = survey.ok_or(MomentumRefusal::MassMatrix)?;
        let gain = survey.iter().map(|cell| cell.report.needs.gain).fold(0.0, f64::max);
        if gain > 1.0 {
            let (kappa, age_ms) = (tube.gains.kappa, 1e3 * tube.timing.age_s());
            let lag_ms = 1e3 * tube.timing.drive_lag_s;
            return Err(MomentumRefusal::Gain { kappa, age_ms, lag_ms, most: kappa / gain });
        }
        let starts = needed.as_ref().is_none_or(|needed| bears_carried(&tube, needed));
        if starts && survey.iter().all(|cell| cell.report.needs.covered_by(&tube)) {
            return Ok((tube, survey));
        }
        let outlooks: Vec<&CellOutlook> = survey.iter().map(|cell| &cell.outlook).collect();
        settle_in_outlook(problem, &mut tube, &outlooks, 1.0)?;
    }
    Err(slow(problem.robot(), &tube))
}

/// The same with `more` times what is foreseen; that, under the constants that it comes to.
fn settle_in_outlook(
    problem: &MomentumProblem<'_>,
    tube: &mut MomentumTube,
    outlooks: &[&CellOutlook],
    more: f64,
) -> Result<Vec<MomentumNeeds>, MomentumRefusal> {
    let (robot, needed) = (problem.robot(), problem.needed_at_start(tube.gains.k_r));
    for _ in 0..MOST_ROUNDS {
        let needs = |outlook: &&CellOutlook| outlook.needs(robot, tube).times(more);
        let needs: Vec<MomentumNeeds> = outlooks.par_iter().with_min_len(4).map(needs).collect();
        let starts = needed.as_ref().is_none_or(|needed| bears_carried(tube, needed));
        if starts && needs.iter().all(|needs| needs.clone().times(SPARE).covered_by(tube)) {
            return Ok(needs);
        }
        raise(tube, needed.as_ref(), &needs);
        for (j, joint) in robot.joints.iter().enumerate() {
            let robust_nm = tube.robust_at(j, 0.0);
            if !(robust_nm <= HOPELESS * joint.limits.torque) {
                return Err(MomentumRefusal::Diverges { joint: joint.name.clone(), robust_nm });
            }
        }
    }
    Err(slow(robot, tube))
}

/// What grows most where constants have not settled.
fn slow(robot: &Arm, tube: &MomentumTube) -> MomentumRefusal {
    let joints = robot.joints.iter().zip(&tube.robust_nm);
    let share = |(joint, robust_nm): (&Joint, &f64)| robust_nm / joint.limits.torque;
    match joints.max_by(|a, b| share(*a).total_cmp(&share(*b))) {
        Some((joint, &robust_nm)) => MomentumRefusal::Diverges { joint: joint.name.clone(), robust_nm },
        None => MomentumRefusal::Unsupported("the robot has no joints".to_owned()),
    }
}

/// A tube of no width, for an arm that its own drives hold: there has to be one before the first plan.
pub fn standing_tube(robot: &Arm) -> MomentumTube {
    let none = vec![0.0; robot.dof()];
    MomentumTube {
        gains: MomentumGains { k_r: 1.0, kappa: 1.0 },
        timing: CycleTiming::of(robot),
        robust_nm: none.clone(),
        noise_nms: none.clone(),
        lag_nms2: none.clone(),
        sign_band_rad_s: none,
        start: None,
    }
}

/// A tube of no width, but for what a plan that follows another must have at its start.
fn none(
    problem: &MomentumProblem<'_>,
    gains: MomentumGains,
    timing: CycleTiming,
    (cells, fall): (usize, f64),
) -> MomentumTube {
    let none = vec![0.0; problem.robot().dof()];
    let most = fall * cells.max(1) as f64 / problem.duration_s();
    let momentum_fall = Fall { hold_s: timing.window_s(), rate_1_s: (MOMENTUM_RATE * gains.k_r).min(most) };
    let wait_s = momentum_fall.time_to(LAG_SHARE);
    let lag_fall = Fall { hold_s: wait_s, rate_1_s: (LAG_RATE * gains.k_r).min(most) };
    let needed = problem.needed_at_start(gains.k_r);
    let start = needed.as_ref().map(|_| WideStart {
        robust_nm: none.clone(),
        noise_nms: none.clone(),
        lag_nms2: none.clone(),
        sign_band_rad_s: none.clone(),
        carried_nms: vec![],
        momentum_fall,
        lag_fall,
    });
    let mut tube = MomentumTube {
        gains,
        timing,
        robust_nm: none.clone(),
        noise_nms: none.clone(),
        lag_nms2: none.clone(),
        sign_band_rad_s: none,
        start,
    };
    raise(&mut tube, needed.as_ref(), &[]);
    tube
}

/// What the cells need of one constant, with the share of its start that each has left.
struct Demand<'a> {
    cells: Vec<(f64, f64)>,
    constant: (&'a mut f64, Option<&'a mut f64>),
}

impl Demand<'_> {
    /// Gives the constant what the cells need, with the reserve: `least` at its later value, `at_start` at its start.
    fn meet(self, least: f64, at_start: f64) {
        let (later, start) = self.constant;
        let most = |cells: &mut dyn Iterator<Item = f64>| cells.fold(0.0, f64::max);
        let needs = || self.cells.iter().map(|(need, share)| (RESERVE * need, *share));
        let Some(start) = start else {
            *later = most(&mut needs().map(|(need, _)| need)).max(least);
            return;
        };
        let early = most(&mut needs().filter(|(_, share)| *share > AT_START).map(|(need, _)| need));
        let wide = early.max(at_start);
        // later (1 - share) + wide share is to be enough.
        let left = |(need, share): (f64, f64)| {
            if need >= wide { need } else { ((need - wide * share) / (1.0 - share)).max(0.0) }
        };
        *later = most(&mut needs().map(left)).max(least);
        *start = wide.max(*later);
    }
}

/// Whether the tube has room for what drives remember of the plan before, under its own robust torques.
fn bears_carried(tube: &MomentumTube, needed: &NeededAtStart<'_>) -> bool {
    let Some((carried, start)) = needed.carried.zip(tube.start.as_ref()) else { return true };
    let impulse = carried.impulse_nms(&tube.widest_from(0.0).robust_nm);
    let radius = |j: usize| start.robust_nm[j] / tube.gains.kappa + start.noise_nms[j];
    start.carried_nms.len() == impulse.len()
        && (0..impulse.len()).all(|j| {
            start.carried_nms[j] >= impulse[j]
                && radius(j) >= START_RESERVE.sqrt() * (needed.radius_nms[j] + start.carried_nms[j])
                && start.noise_nms[j]
                    >= START_RESERVE.sqrt() * (needed.noise_nms[j] + 2.0 * start.carried_nms[j])
        })
}

/// Gives the tube room for what drives remember of the plan before, under its own robust torques.
fn carry(tube: &mut MomentumTube, needed: Option<&NeededAtStart<'_>>) {
    let Some(carried) = needed.and_then(|needed| needed.carried) else { return };
    let robust_nm = tube.widest_from(0.0).robust_nm;
    if let Some(start) = &mut tube.start {
        start.carried_nms = carried.impulse_nms(&robust_nm).iter().map(|x| RESERVE * x).collect();
    }
}

/// Gives the tube what the cells and the start need, with the reserve.
fn raise(tube: &mut MomentumTube, needed: Option<&NeededAtStart<'_>>, needs: &[MomentumNeeds]) {
    carry(tube, needed);
    let carried_nms = tube.start.as_ref().map(|start| start.carried_nms.clone()).unwrap_or_default();
    let carried = |j: usize| carried_nms.get(j).copied().unwrap_or(0.0);
    let early: Vec<&MomentumNeeds> =
        needs.iter().filter(|needs| tube.noise_while_carried(needs.span, 0).is_some()).collect();
    let shares: Vec<(f64, f64)> = needs.iter().map(|needs| tube.shares_over(needs.span)).collect();
    let kappa = tube.gains.kappa;
    let at_start = |list: &dyn Fn(&NeededAtStart<'_>) -> f64| -> f64 {
        needed.map_or(0.0, |needed| START_RESERVE * list(needed))
    };
    let MomentumTube { robust_nm, noise_nms, lag_nms2, sign_band_rad_s, start, .. } = tube;
    let mut start = start.as_mut();
    let cells = |of: &dyn Fn(&MomentumNeeds) -> f64, momentum: bool| -> Vec<(f64, f64)> {
        let share = |(p, lag): &(f64, f64)| if momentum { *p } else { *lag };
        needs.iter().zip(&shares).map(|(needs, shares)| (of(needs), share(shares))).collect()
    };
    for j in 0..robust_nm.len() {
        let constant = (&mut noise_nms[j], start.as_mut().map(|start| &mut start.noise_nms[j]));
        let demand = Demand { cells: cells(&|needs| needs.noise_nms[j], true), constant };
        let misread = early.iter().map(|needs| RESERVE * needs.noise_nms[j]).fold(0.0, f64::max);
        let besides = START_RESERVE * 2.0 * carried(j);
        demand.meet(0.0, at_start(&|needed| needed.noise_nms[j]).max(misread) + besides);
        let quiet = |noise: f64| kappa * noise / NOISE_SHARE;
        let wide_noise = start.as_ref().map_or(0.0, |start| start.noise_nms[j]);
        let radius = at_start(&|needed| needed.radius_nms[j]) + START_RESERVE * carried(j);
        let inherited = kappa * (radius - wide_noise);
        let constant = (&mut robust_nm[j], start.as_mut().map(|start| &mut start.robust_nm[j]));
        let demand = Demand { cells: cells(&|needs| needs.robust_nm[j], true), constant };
        demand.meet(quiet(noise_nms[j]), inherited.max(quiet((wide_noise - 2.0 * carried(j)).max(0.0))));
        let constant = (&mut lag_nms2[j], start.as_mut().map(|start| &mut start.lag_nms2[j]));
        let demand = Demand { cells: cells(&|needs| needs.lag_nms2[j], false), constant };
        demand.meet(0.0, at_start(&|needed| needed.lag_nms2[j]));
        let constant = (&mut sign_band_rad_s[j], start.as_mut().map(|start| &mut start.sign_band_rad_s[j]));
        let demand = Demand { cells: cells(&|needs| needs.sign_band_rad_s[j], false), constant };
        demand.meet(0.0, 0.0);
    }
}
