//! Chooses the constants of the tube for a plan. A guess with a margin: the certifier decides whether it holds.

use crate::certify::{CellReport, Problem, Refusal, Workspaces};
use crate::inertia::ParameterSet;
use crate::reach::Tube;
use crate::robot::{Robot, Scene};
use crate::trajectory::Bezier;

/// Stored constants exceed what a coarse evaluation needs by this factor.
const RESERVE: f64 = 1.1;
/// Hold power beyond this multiple of what is needed is worth another fit.
const LAVISH: f64 = 1.6;
/// Largest useful share of alpha V_max for the hold power.
const HOLD_SHARE: f64 = 0.5;
/// Rounds of the fixed point drift -> rho -> drift; it contracts by about 0.05 a round.
const ROUNDS: usize = 3;
/// Layer of the robust law: at 2 the gain is half of what a tick allows, and the layer costs a third more power than
/// the least possible.
const LAYER_TICKS: f64 = 2.0;

/// A first guess, from the robot's gains alone.
pub fn initial(robot: &Robot) -> Tube {
    let n = robot.dof();
    Tube {
        gains: robot.control,
        layer_ticks: LAYER_TICKS,
        drift_nm: vec![0.5; n],
        hold_power_w: 0.0,
        energy_slack_j: 0.0,
        acceleration_bound: vec![20.0; n],
    }
}

/// Constants that hold for `curve`, starting from a guess.
pub fn fit(
    robot: &Robot,
    set: &ParameterSet,
    curve: &Bezier,
    guess: &Tube,
    cells: usize,
) -> Result<Tube, Refusal> {
    let mut tube = guess.clone();
    refit(robot, set, curve, &mut tube, cells, &Workspaces::default(), &mut Vec::new())?;
    Ok(tube)
}

/// [`fit`] in place, starting from what `tube` is; in storage that is kept.
pub fn refit(
    robot: &Robot,
    set: &ParameterSet,
    curve: &Bezier,
    tube: &mut Tube,
    cells: usize,
    workspaces: &Workspaces,
    reports: &mut Vec<CellReport>,
) -> Result<(), Refusal> {
    let empty = Scene::default();
    for _ in 0..ROUNDS {
        Problem::new(robot, set, &empty, tube, curve)?.survey_into(cells, workspaces, reports);
        adapt(tube, reports);
    }
    Ok(())
}

/// Makes `tube` the same as `other`, in the memory that it has.
pub fn assign(tube: &mut Tube, other: &Tube) {
    let Tube { gains, layer_ticks, drift_nm, hold_power_w, energy_slack_j, acceleration_bound } = tube;
    (*gains, *layer_ticks) = (other.gains, other.layer_ticks);
    (*hold_power_w, *energy_slack_j) = (other.hold_power_w, other.energy_slack_j);
    drift_nm.clone_from(&other.drift_nm);
    acceleration_bound.clone_from(&other.acceleration_bound);
}

/// Whether the stored constants suit `reports`: they cover what was needed, and the hold power, which costs torque on
/// every joint, not by more than `LAVISH`.
pub fn suits(tube: &Tube, reports: &[CellReport]) -> bool {
    let all = |have: &[f64], need: &[f64]| have.iter().zip(need).all(|(a, b)| a >= b);
    let covered = reports.iter().map(|r| &r.required).all(|need| {
        tube.energy_slack_j >= need.energy_slack_j
            && all(&tube.drift_nm, &need.drift_nm)
            && all(&tube.acceleration_bound, &need.acceleration_bound)
    });
    let hold = reports.iter().map(|r| r.required.hold_power_w).fold(0.0, f64::max);
    covered && (hold..=LAVISH * hold).contains(&tube.hold_power_w)
}

/// Whether the hold power leaves enough of V_max to the tracking for the tube to be of use.
pub fn is_usable(tube: &Tube) -> bool {
    tube.hold_power_w <= HOLD_SHARE * tube.gains.alpha * tube.gains.v_max
}

/// Gives the tube constants that cover what `reports` needed.
pub fn adapt(tube: &mut Tube, reports: &[CellReport]) {
    let largest = |f: &dyn Fn(&CellReport) -> f64| RESERVE * reports.iter().map(f).fold(0.0f64, f64::max);
    for (j, drift) in tube.drift_nm.iter_mut().enumerate() {
        *drift = largest(&|r| r.required.drift_nm[j]);
    }
    for (j, bound) in tube.acceleration_bound.iter_mut().enumerate() {
        *bound = largest(&|r| r.required.acceleration_bound[j]);
    }
    tube.hold_power_w = largest(&|r| r.required.hold_power_w);
    tube.energy_slack_j = largest(&|r| r.required.energy_slack_j);
}
