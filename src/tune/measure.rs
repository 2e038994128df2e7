//! What is proven of a choice of gains.

use std::sync::Arc;

use serde::Serialize;

use crate::certify::{CellReport, Problem};
use crate::plan::inertia_floor::FloorFit;
use crate::plan::setup::Setup;
use crate::plan::tube_fit;
use crate::reach::{PreparedSet, Tube};
use crate::robot::{Arm, Gains, Joint};
use crate::trajectory::Bezier;

/// Rounds in which the constants of a tube feed back on each other; each makes what is missing a few times smaller.
const ROUNDS: usize = 5;

/// What is proven of some gains over some plans.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProvenPerformance {
    /// Half-width of the commands, N m: mean over joints, intervals and plans. The force of a joint that slides counts as the torque that is the same
    /// share of the arm's largest torque limit.
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

/// What a unit of each joint's command counts in half-widths. A joint that slides has newtons: they count as the N m that are the same share of the
/// largest torque limit. Among joints that all slide, newtons are counted.
fn weights(robot: &Arm) -> Vec<f64> {
    let turning = robot.joints.iter().filter(|joint| joint.kind.is_rotation());
    let largest = turning.map(|joint| joint.limits.torque).fold(0.0, f64::max);
    let weight = |joint: &Joint| match joint.kind.is_rotation() || largest == 0.0 {
        true => 1.0,
        false => largest / joint.limits.torque,
    };
    robot.joints.iter().map(weight).collect()
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
    let weight = weights(&arm.robot);
    let (mut sum, mut count, mut max, mut growth) = (0.0, 0u64, 0.0f64, 0.0f64);
    let (mut hold, mut within) = (0.0f64, 0);
    for curve in curves {
        let (tube, reports, fits) = one(arm, gains, curve, cells)?;
        within_tolerance(arm, &tube)?;
        within += usize::from(fits);
        hold = hold.max(tube.hold_power_w / (gains.alpha * gains.v_max));
        for report in &reports {
            for ((torque, robust), weight) in report.torque.iter().zip(&report.robust).zip(&weight) {
                let half = weight * (0.5 * (torque.nominal_upper - torque.nominal_lower) + robust);
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

/// Whether the goal's tolerance leaves room for the tracking errors alone ([`Setup::tolerance`]).
///
/// # Errors
/// The joint for which it does not.
fn within_tolerance(arm: &Setup, tube: &Tube) -> Result<(), Wanting> {
    let allowed = arm.tolerance.iter().flatten();
    let share = |(j, allowed): (usize, &f64)| (j, tube.e_radius(j) / allowed, *allowed);
    let most = allowed.enumerate().map(share).max_by(|a, b| a.1.total_cmp(&b.1));
    match most.filter(|(_, share, _)| *share > 1.0) {
        None => Ok(()),
        Some((j, share, allowed)) => Err(Wanting {
            term: format!(
                "the tracking error of joint '{}': {:.2e} rad (m), at most the goal's tolerance of {allowed:e} is allowed",
                arm.robot.joints[j].name,
                share * allowed
            ),
            excess: share - 1.0,
        }),
    }
}

/// The tube of one plan, the reports that prove it, and whether the limits hold too.
pub(super) fn one(
    arm: &Setup,
    gains: Gains,
    curve: &Bezier,
    cells: usize,
) -> Result<(Tube, Vec<CellReport>, bool), Wanting> {
    let refused = |term: String| Wanting { term, excess: 1e9 };
    let robot = arm.robot.with_gains(gains).map_err(|error| refused(error.to_string()))?;
    let mut tube = tube_fit::initial(&robot);
    let set = Arc::new(PreparedSet::new(&robot, &arm.set));
    tube_fit::ground(&robot, &set, curve.into(), &mut tube, (None, &mut FloorFit::new(&robot)));
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
        (
            gain - 1.0,
            format!(
                "the gain condition: {gain:.3}, at most 1 is allowed; the control period is too long for so large torques on so little inertia"
            ),
        ),
        (
            hold / available - 1.0,
            format!(
                "the hold power: {hold:.3} W needed, alpha v_max is {available:.3} W; what held torques may do between two ticks is too much, \
                 so the control period is too long or too little is known of the payload"
            ),
        ),
        (
            slack / gains.v_max - 1.0,
            format!(
                "the energy slack of the sensors: {slack:.2e} J needed, v_max is {} J; the errors of measured velocities are too large",
                gains.v_max
            ),
        ),
    ];
    if let Some((j, share)) = rate {
        let name = &joints[j].name;
        let text = format!(
            "the drift of '{name}' within a tick: it grows to {share:.2} of the disturbance that causes it; the control period is too long"
        );
        all.push((share - 1.0, text));
    }
    let worst = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    worst.map_or(Wanting { term: "nothing".to_owned(), excess: 0.0 }, |(excess, term)| Wanting {
        term,
        excess: if excess.is_nan() { f64::INFINITY } else { excess.max(0.0) },
    })
}
