//! What is proven of a choice of gains, and what a simulation uses of it.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

use std::sync::Arc;

use crate::campaign::arm::Setup;
use crate::campaign::soundness::case::Case;
use crate::certify::{CellReport, Problem};
use crate::control::{Controller, Measured as Reading, RobustController};
use crate::dynamics::truth;
use crate::plan::inertia_floor::FloorFit;
use crate::plan::tube_fit;
use crate::reach::{PreparedSet, Tube};
use crate::robot::Gains;
use crate::trajectory::Bezier;

/// Rounds in which the constants of a tube feed back on each other; each makes what is missing a few times smaller.
const ROUNDS: usize = 5;

/// What is proven of some gains over some plans.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProvenPerformance {
    /// Half-width of the commands, N m: mean over joints, intervals and plans.
    pub mean_nm: f64,
    /// The largest.
    pub max_nm: f64,
    /// How far tracking errors carry the end of a capsule at most, m.
    pub growth_m: f64,
    /// Largest share that the hold power has of alpha V_max.
    pub hold_share: f64,
    /// Plans whose torque, speed and position limits are proven too.
    pub within_limits: usize,
    /// Plans.
    pub plans: usize,
}

/// Why a tube is not proven.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wanting {
    /// The term of the proof that forbids it, with its figures.
    pub term: String,
    /// How much more than is there it would need, relative.
    pub excess: f64,
}

/// What simulated plans used of their tubes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Simulated {
    /// Largest share of a joint's bound on r or e.
    pub tube_used: f64,
    /// Largest V / V_max.
    pub energy_used: f64,
    /// Plans simulated.
    pub plans: usize,
}

/// Proves the tubes of all plans.
///
/// # Errors
/// [`Wanting`] says what is wanting for the first that is not proven.
pub fn proven(
    arm: &Setup,
    gains: Gains,
    curves: &[Bezier],
    cells: usize,
) -> Result<ProvenPerformance, Wanting> {
    let (mut sum, mut count, mut max, mut growth) = (0.0, 0u64, 0.0f64, 0.0f64);
    let (mut hold, mut within) = (0.0f64, 0);
    for curve in curves {
        let (tube, reports, fits) = one(arm, gains, curve, cells)?;
        within += usize::from(fits);
        hold = hold.max(tube.hold_power_w / (gains.alpha * gains.v_max));
        for report in &reports {
            for (torque, robust) in report.torque.iter().zip(&report.robust) {
                let half = 0.5 * (torque.nominal_upper - torque.nominal_lower) + robust;
                (sum, count, max) = (sum + half, count + 1, max.max(half));
            }
            growth = growth.max(report.growth_m);
        }
    }
    Ok(ProvenPerformance {
        mean_nm: sum / count as f64,
        max_nm: max,
        growth_m: growth,
        hold_share: hold,
        within_limits: within,
        plans: curves.len(),
    })
}

/// The tube of one plan, the reports that prove it, and whether the limits hold too.
fn one(
    arm: &Setup,
    gains: Gains,
    curve: &Bezier,
    cells: usize,
) -> Result<(Tube, Vec<CellReport>, bool), Wanting> {
    let refused = |term: String| Wanting { term, excess: 1e9 };
    let robot = arm.robot.with_gains(gains).map_err(|error| refused(error.to_string()))?;
    let mut tube = tube_fit::initial(&robot);
    let set = Arc::new(PreparedSet::new(&robot, &arm.set));
    tube_fit::ground(&robot, &set, curve, &mut tube, (None, &mut FloorFit::new(&robot)));
    let mut first: Option<Wanting> = None;
    for _ in 0..=ROUNDS {
        let problem = Problem::with_prepared(&robot, &set, &arm.scene, &tube, curve)
            .map_err(|r| refused(r.to_string()))?;
        let reports = problem.survey(cells);
        if reports.iter().all(|report| problem.tube_margin(report) >= 0.0) {
            let fits = reports.iter().all(|r| {
                let margins = r.torque_margin.iter().chain(&r.velocity).chain(&r.position);
                margins.into_iter().all(|m| *m >= 0.0)
            });
            return Ok((tube, reports, fits));
        }
        let wanting = wanting(&robot.joints, &tube, &reports);
        // Once it runs away, the figures of the round before say more.
        if !wanting.excess.is_finite() {
            return Err(first.unwrap_or(wanting));
        }
        first = Some(wanting);
        tube_fit::adapt(&mut tube, &reports, None);
    }
    Err(first.unwrap_or_else(|| refused("nothing".to_owned())))
}

/// The term of the tube's proof that asks for most.
fn wanting(joints: &[crate::robot::Joint], tube: &Tube, reports: &[CellReport]) -> Wanting {
    let largest = |f: &dyn Fn(&CellReport) -> f64| reports.iter().map(f).fold(0.0f64, f64::max);
    let gains = &tube.gains;
    let gain = largest(&|r| r.required.gain);
    let available = gains.alpha * gains.v_max;
    let hold = largest(&|r| r.required.hold_power_w);
    let slack = largest(&|r| r.required.energy_slack_j);
    let rate = (0..joints.len())
        .map(|j| {
            (j, largest(&|r| r.required.drift_nm[j]) / largest(&|r| r.torque[j].rho).max(f64::MIN_POSITIVE))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let mut all = vec![
        (gain - 1.0, format!("the gain condition: {gain:.3}, at most 1 is allowed")),
        (
            hold / available - 1.0,
            format!("the hold power: {hold:.3} W needed, alpha v_max is {available:.3} W"),
        ),
        (
            slack / gains.v_max - 1.0,
            format!("the energy slack of the sensors: {slack:.2e} J needed, v_max is {} J", gains.v_max),
        ),
    ];
    if let Some((j, share)) = rate {
        let name = &joints[j].name;
        let text = format!(
            "the drift of '{name}' within a tick: it grows to {share:.2} of the disturbance that causes it"
        );
        all.push((share - 1.0, text));
    }
    let worst = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    worst.map_or(Wanting { term: "nothing".to_owned(), excess: 0.0 }, |(excess, term)| Wanting {
        term,
        excess: if excess.is_nan() { f64::INFINITY } else { excess.max(0.0) },
    })
}

/// Simulates the plans in closed loop, each with other parameters at the edge of the set, sensors at the edge of their
/// bounds and friction that pushes outward, and tells how much of the tube is used.
pub fn simulated(arm: &Setup, gains: Gains, curves: &[Bezier], seed: u64) -> Simulated {
    let runs: Vec<(f64, f64)> = curves
        .par_iter()
        .enumerate()
        .filter_map(|(k, curve)| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(1 + k as u64);
            let (tube, ..) = one(arm, gains, curve, super::CELLS).ok()?;
            let robot = arm.robot.with_gains(gains).ok()?;
            let (set, scene) = (arm.set.clone(), arm.scene.clone());
            let case = Case::new(robot, set, scene, tube, curve.clone());
            Some(follow(&case, &mut rng))
        })
        .collect();
    let largest = |f: &dyn Fn(&(f64, f64)) -> f64| runs.iter().map(f).fold(0.0f64, f64::max);
    Simulated { tube_used: largest(&|r| r.0), energy_used: largest(&|r| r.1), plans: runs.len() }
}

/// Follows one plan from rest; the largest share of the tube and of V_max.
fn follow(case: &Case, rng: &mut ChaCha8Rng) -> (f64, f64) {
    let (robot, tube, n) = (&case.robot, &case.tube, case.robot.dof());
    let theta = truth::consistent(robot, &case.set, rng);
    let mut controller = RobustController::new(Arc::new(robot.clone()), &case.set, tube);
    let h = tube.gains.period_s;
    let mut desired = case.curve.state(0.0);
    let (mut q, mut dq, mut tau) = (desired.q.clone(), desired.dq.clone(), vec![0.0; n]);
    let (mut used, mut energy) = (0.0f64, 0.0f64);
    let radius: Vec<[f64; 2]> = (0..n).map(|j| [tube.e_radius(j), tube.r_radius(j)]).collect();
    for k in 0..(case.curve.duration_s / h).round() as usize {
        case.curve.evaluate(k as f64 * h, &mut desired);
        let off = |bound: f64, rng: &mut ChaCha8Rng| bound * truth::extreme(rng);
        let read_q: Vec<f64> = q.iter().map(|x| x + off(robot.sensors().position_rad, rng)).collect();
        let read_dq: Vec<f64> = dq.iter().map(|x| x + off(robot.sensors().velocity_rad_s, rng)).collect();
        let [_, _, r] = case.auxiliary(&desired, &q, &dq);
        for j in 0..n {
            let e = (desired.q[j] - q[j]).abs();
            used = used.max(e / radius[j][0]).max(r[j].abs() / radius[j][1]);
        }
        energy = energy.max(truth::energy(robot, &theta, &q, &r) / tube.gains.v_max);
        controller.tick(k as f64 * h, Reading { q: &read_q, dq: &read_dq }, &desired, &mut tau);
        let pushes: Vec<f64> = r.iter().map(|r| r.signum()).collect();
        (q, dq) = truth::step(robot, &theta, (&q, &dq), &tau, &pushes, h);
    }
    (used, energy)
}
