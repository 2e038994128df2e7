//! Chooses the constants of the tube for a plan. A guess with a margin: the certifier decides whether it holds.

mod loops;

use std::sync::Arc;

use crate::certify::cell::Required;
use crate::certify::{CellReport, Problem, Refusal, Workspaces};
use crate::inertia::ParameterSet;
use crate::plan::inertia_floor::armature_floor;
use crate::reach::{PreparedSet, Tube};
use crate::robot::{Arm, Scene};
use crate::trajectory::Pieces;

use super::inertia_floor::FloorFit;

/// Stored constants exceed what a coarse evaluation needs by this factor, so that small moves of the curve keep them. More
/// widens the disturbance bounds; less has them fitted again more often.
const RESERVE: f64 = 1.1;
/// Hold power beyond this multiple of what is needed is worth another fit. A smaller multiple has it fitted more often, a
/// larger one leaves V_max to it that tracking could use.
const LAVISH: f64 = 1.6;
/// Largest useful share of alpha V_max for the hold power: the other half is left to the tracking. Near 1, V is only just
/// kept below V_max whatever the errors are.
const HOLD_SHARE: f64 = 0.5;
/// Rounds of the fixed point drift -> rho -> drift, at least and at most. It contracts by about 0.05 a round where transmissions
/// outweigh the links, by a half or hardly at all where links do.
const ROUNDS: usize = 2;
const MOST_ROUNDS: usize = 12;
/// Growth within a round that the reserve of the constants still covers in the next one, which grows less.
const SETTLED: f64 = 1.0 + 0.8 * (RESERVE - 1.0);
/// Layer of the robust law: at 2 the gain is half of what a tick allows, and the layer costs a third more power than
/// the least possible.
const LAYER_TICKS: f64 = 2.0;

/// A first guess, from the robot's gains alone.
pub fn initial(robot: &Arm) -> Tube {
    let n = robot.dof();
    let set = ParameterSet::around_nominal(robot);
    let bare: Vec<f64> = (0..n).map(|j| armature_floor(robot, &set, j)).collect();
    Tube {
        gains: robot.gains(),
        layer_ticks: LAYER_TICKS,
        inertia_floor: bare.clone(),
        lag_floor: bare,
        drift_nm: vec![0.5; n],
        hold_power_w: 0.0,
        energy_slack_j: 0.0,
        acceleration_bound: vec![20.0; n],
        motor_loops: robot.timing().has_motor_loops().then(|| Box::new(loops::initial(n))),
    }
}

/// Constants that hold for `curve`, starting from a guess.
///
/// # Errors
/// [`Refusal`] if no constants are found under which the tube is proven along `curve`.
pub fn fit<'a>(
    robot: &Arm,
    set: &ParameterSet,
    curve: impl Into<Pieces<'a>>,
    guess: &Tube,
    cells: usize,
) -> Result<Tube, Refusal> {
    let set = &Arc::new(PreparedSet::new(robot, set));
    let mut tube = guess.clone();
    let mut place = (FloorFit::new(robot), Vec::new());
    let (floors, reports) = (&mut place.0, &mut place.1);
    refit(robot, set, curve.into(), &mut tube, (cells, None), (&Workspaces::default(), floors, reports))?;
    Ok(tube)
}

/// [`fit`] for a set that is prepared, after a plan with the tube `held`.
///
/// # Errors
/// As [`fit`].
pub fn fit_after<'a>(
    robot: &Arm,
    set: &Arc<PreparedSet>,
    curve: impl Into<Pieces<'a>>,
    held: Option<&Tube>,
    cells: usize,
) -> Result<Tube, Refusal> {
    let mut tube = held.cloned().unwrap_or_else(|| initial(robot));
    let mut place = (FloorFit::new(robot), Vec::new());
    let (floors, reports) = (&mut place.0, &mut place.1);
    refit(robot, set, curve.into(), &mut tube, (cells, held), (&Workspaces::default(), floors, reports))?;
    Ok(tube)
}

/// [`fit`] in place, starting from what `tube` is; in storage that is kept. Holds the position errors of the plan that runs under `held`.
///
/// # Errors
/// [`Refusal`] where the problem is not one that the proof covers.
pub fn refit(
    robot: &Arm,
    set: &Arc<PreparedSet>,
    curve: Pieces<'_>,
    tube: &mut Tube,
    (cells, held): (usize, Option<&Tube>),
    (workspaces, floors, reports): (&Workspaces, &mut FloorFit, &mut Vec<CellReport>),
) -> Result<(), Refusal> {
    let empty = Scene::default();
    ground(robot, set, curve, tube, (held, floors));
    for round in 1..=MOST_ROUNDS {
        Problem::with_prepared(robot, set, &empty, tube, curve)?.survey_into(cells, workspaces, reports);
        let growth = growth(tube, reports);
        adapt(tube, reports, held);
        if round >= ROUNDS && growth <= SETTLED || !tube.hold_power_w.is_finite() || loops::are_hopeless(tube)
        {
            break;
        }
    }
    Ok(())
}

/// Gives the tube the floor that the mass matrix has along `curve`.
pub fn ground(
    robot: &Arm,
    set: &PreparedSet,
    curve: Pieces<'_>,
    tube: &mut Tube,
    (held, floors): (Option<&Tube>, &mut FloorFit),
) {
    floors.fit(robot, set, curve, &mut tube.inertia_floor);
    tube.motor_loops.iter_mut().for_each(|loops| loops::begin(loops));
    hold(tube, held);
}

/// Position errors as large as r makes them, and as those of the tube before.
fn hold(tube: &mut Tube, held: Option<&Tube>) {
    for (j, lag) in tube.lag_floor.iter_mut().enumerate() {
        let least = held.map_or(f64::INFINITY, |held| held.lag_floor[j]);
        *lag = tube.inertia_floor[j].min(least);
    }
    let held = held.and_then(|held| held.motor_loops.as_deref());
    tube.motor_loops.iter_mut().zip(held).for_each(|(loops, held)| loops::hold(loops, held));
}

/// Whether the stored constants suit `reports`: they cover what was needed, and the hold power, which costs torque on
/// every joint, not by more than `LAVISH`.
pub fn suits(tube: &Tube, reports: &[CellReport]) -> bool {
    let hold = reports.iter().map(|r| r.required.hold_power_w).fold(0.0, f64::max);
    covers(tube, reports) && (hold..=LAVISH * hold).contains(&tube.hold_power_w)
}

/// Whether the stored constants are as large as `reports` needed them.
pub fn covers(tube: &Tube, reports: &[CellReport]) -> bool {
    let all = |have: &[f64], need: &[f64]| have.iter().zip(need).all(|(a, b)| a >= b);
    reports.iter().map(|r| &r.required).all(|need| {
        need.floor_factor <= 1.0
            && tube.hold_power_w >= need.hold_power_w
            && tube.energy_slack_j >= need.energy_slack_j
            && all(&tube.drift_nm, &need.drift_nm)
            && all(&tube.acceleration_bound, &need.acceleration_bound)
            && loops::covered(tube, need)
    })
}

/// Index of the report that needed most hold power, or the largest V_max of loops in the motors; `None` of none.
pub fn busiest(reports: &[CellReport]) -> Option<usize> {
    let need = |required: &Required| match &required.motor_loops {
        Some(needed) => needed.v_max_j,
        None => required.hold_power_w,
    };
    let powers = reports.iter().map(|report| need(&report.required)).enumerate();
    powers.reduce(|most, next| if next.1 > most.1 { next } else { most }).map(|(index, _)| index)
}

/// Whether the hold power leaves enough of V_max to the tracking, or loops in the motors have limits that a drive could have, for the tube to be of use.
pub fn is_usable(tube: &Tube) -> bool {
    tube.hold_power_w <= HOLD_SHARE * tube.gains.alpha * tube.gains.v_max && !loops::are_hopeless(tube)
}

/// The largest factor by which [`adapt`] will make the constants grow that feed back on each other.
fn growth(tube: &Tube, reports: &[CellReport]) -> f64 {
    let needed = reports.iter().map(|report| &report.required);
    let hold = |needed: &Required| needed.hold_power_w / tube.hold_power_w;
    let drift = |needed: &Required| -> f64 {
        let joints = needed.drift_nm.iter().zip(&tube.drift_nm);
        joints.map(|(need, have)| need / have).fold(0.0, f64::max)
    };
    let grown = |needed: &Required| hold(needed).max(drift(needed)).max(loops::growth(tube, needed));
    RESERVE * needed.map(grown).fold(0.0, f64::max)
}

/// Gives the tube constants that cover what `reports` needed, and that hold the position errors of the plan under `held`.
pub fn adapt(tube: &mut Tube, reports: &[CellReport], held: Option<&Tube>) {
    let most = |f: &dyn Fn(&CellReport) -> f64| reports.iter().map(f).fold(0.0f64, f64::max);
    let factor = most(&|r| r.required.floor_factor);
    if factor > 1.0 {
        tube.inertia_floor.iter_mut().for_each(|a| *a /= RESERVE * factor);
    }
    let largest = |f: &dyn Fn(&CellReport) -> f64| RESERVE * most(f);
    for (j, drift) in tube.drift_nm.iter_mut().enumerate() {
        *drift = largest(&|r| r.required.drift_nm[j]);
    }
    for (j, bound) in tube.acceleration_bound.iter_mut().enumerate() {
        *bound = largest(&|r| r.required.acceleration_bound[j]);
    }
    tube.hold_power_w = largest(&|r| r.required.hold_power_w);
    tube.energy_slack_j = largest(&|r| r.required.energy_slack_j);
    loops::adapt(tube, reports);
    hold(tube, held);
}
