//! Chooses the constants of the tube for a plan. A guess with a margin: the certifier decides whether it holds.

use crate::certify::{CellReport, Problem, Refusal};
use crate::inertia::ParameterSet;
use crate::reach::Tube;
use crate::reach::tube::armature_floor;
use crate::robot::{Robot, Scene};
use crate::trajectory::Bezier;

/// Stored constants exceed what a coarse evaluation needs by this factor.
const RESERVE: f64 = 1.05;
/// Largest factor by which [`widened`] raises a constant at once.
const GROWTH: f64 = 1.5;
/// The hold power stays below this share of alpha V_max: near it, little is left of the tube for tracking.
const HOLD_SHARE: f64 = 0.4;
/// Rounds of the fixed point drift -> rho -> drift; it contracts by about 0.05 a round.
const ROUNDS: usize = 3;
/// Contrast of the weights per transmission inertia; the tube's proof allows 2.
const CONTRAST: f64 = 1.3;

/// A first guess, from the robot's gains alone.
pub fn initial(robot: &Robot) -> Tube {
    let n = robot.dof();
    let armature: Vec<f64> = robot.joints.iter().map(|j| j.friction.armature).collect();
    Tube {
        gains: robot.control,
        weights: armature,
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
        tube = adapted(robot, set, &tube, &reports);
    }
    Ok(tube)
}

/// The tube with its constants raised towards what `reports` needed where they fall short, weights kept; by at most
/// [`GROWTH`], because the constants feed back on themselves and a wild trajectory must not spoil them for the next.
pub fn widened(robot: &Robot, set: &ParameterSet, tube: &Tube, reports: &[CellReport]) -> Tube {
    let needed = adapted(robot, set, tube, reports);
    let grown = |have: f64, need: f64| if need > have { need.min(GROWTH * have) } else { have };
    let each = |have: &[f64], need: &[f64]| have.iter().zip(need).map(|(a, b)| grown(*a, *b)).collect();
    let candidate = Tube {
        gains: tube.gains,
        weights: tube.weights.clone(),
        drift_nm: each(&tube.drift_nm, &needed.drift_nm),
        hold_power_w: grown(tube.hold_power_w, needed.hold_power_w),
        energy_slack_j: grown(tube.energy_slack_j, needed.energy_slack_j),
        acceleration_bound: each(&tube.acceleration_bound, &needed.acceleration_bound),
    };
    let budget = HOLD_SHARE * tube.gains.alpha * tube.gains.v_max;
    if candidate.hold_power_w <= budget { candidate } else { tube.clone() }
}

/// The tube with constants that cover what `reports` needed, and weights from their disturbance bounds.
pub fn adapted(robot: &Robot, set: &ParameterSet, tube: &Tube, reports: &[CellReport]) -> Tube {
    let n = tube.weights.len();
    let largest = |f: &dyn Fn(&CellReport) -> f64| reports.iter().map(f).fold(0.0f64, f64::max);
    let rho: Vec<f64> = (0..n).map(|j| largest(&|r| r.torque[j].rho)).collect();
    let top = rho.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    Tube {
        gains: tube.gains,
        weights: (0..n).map(|j| armature_floor(robot, set, j) * (CONTRAST * rho[j] / top).max(1.0)).collect(),
        drift_nm: (0..n).map(|j| RESERVE * largest(&|r| r.required.drift_nm[j])).collect(),
        hold_power_w: RESERVE * largest(&|r| r.required.hold_power_w),
        energy_slack_j: RESERVE * largest(&|r| r.required.energy_slack_j),
        acceleration_bound: (0..n)
            .map(|j| RESERVE * largest(&|r| r.required.acceleration_bound[j]))
            .collect(),
    }
}
