//! Chooses the constants of the tube for a plan. A guess with a margin: the certifier decides whether it holds.

use crate::certify::{CellReport, Problem, Refusal};
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
    let empty = Scene::default();
    let mut tube = guess.clone();
    for _ in 0..ROUNDS {
        let problem = Problem::new(robot, set, &empty, &tube, curve)?;
        let reports = problem.survey(cells);
        tube = adapted(&tube, &reports);
    }
    Ok(tube)
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

/// The tube with constants that cover what `reports` needed.
pub fn adapted(tube: &Tube, reports: &[CellReport]) -> Tube {
    let n = tube.drift_nm.len();
    let largest = |f: &dyn Fn(&CellReport) -> f64| reports.iter().map(f).fold(0.0f64, f64::max);
    Tube {
        gains: tube.gains,
        layer_ticks: tube.layer_ticks,
        drift_nm: (0..n).map(|j| RESERVE * largest(&|r| r.required.drift_nm[j])).collect(),
        hold_power_w: RESERVE * largest(&|r| r.required.hold_power_w),
        energy_slack_j: RESERVE * largest(&|r| r.required.energy_slack_j),
        acceleration_bound: (0..n)
            .map(|j| RESERVE * largest(&|r| r.required.acceleration_bound[j]))
            .collect(),
    }
}
