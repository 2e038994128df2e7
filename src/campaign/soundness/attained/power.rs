//! Hold power, the robust law and the slack of V.

use super::super::attack::AttackedLaw;
use super::adversary::{coriolis, directions, states};
use super::*;
use crate::control::{Controller, Measured, RobustController};
use crate::dynamics::truth;
use crate::reach::formulas;
use crate::reach::roundoff::LAW_ROUNDOFF;
use std::sync::Arc;

/// What the controller does at most, over states that are read at the edge of the tube and within it.
#[derive(Debug, Clone)]
struct Seen {
    /// rho, written out independently of the controller, N m.
    rho: Vec<f64>,
    /// |v_j|, N m.
    robust: Vec<f64>,
    /// Norm of v, weighted by 1/A.
    norm: f64,
    /// |tau_j|, N m.
    command: Vec<f64>,
    /// (h/2) sum m_j^2 / A_j of what v has beyond rho, W.
    mismatch: f64,
}

/// Ticks of the controller at the start of the motion, with r along many directions at many levels of V.
fn seen(case: &Case) -> Seen {
    let (robot, tube) = (&case.robot, &case.tube);
    let n = robot.dof();
    let h = tube.gains.period_s;
    let mut controller = RobustController::new(Arc::new(robot.clone()), &case.set, tube);
    let mut seen =
        Seen { rho: vec![0.0; n], robust: vec![0.0; n], norm: 0.0, command: vec![0.0; n], mismatch: 0.0 };
    let weighted = |x: &[f64]| -> f64 { (0..n).map(|j| x[j] * x[j] / tube.inertia_floor[j]).sum() };
    let desired = case.curve.state(0.0);
    let mut tau = vec![0.0; n];
    for toward in directions(n) {
        for back in directions(n) {
            for below in (1..100).map(|k| 1e-2 * f64::from(k)).chain((2..9).map(|k| 0.1f64.powi(k))) {
                let e: Vec<f64> = (0..n).map(|j| back[j] * formulas::e_radius(tube, j)).collect();
                let q: Vec<f64> = (0..n).map(|j| desired.q[j] - e[j]).collect();
                // The parameters are known: V^ is V and its slack.
                let energy = truth::energy(robot, case.set.upper(), &q, &toward);
                let wanted = (1.0 - below) * (tube.gains.v_max - tube.energy_slack_j);
                let r: Vec<f64> = toward.iter().map(|x| (wanted / energy).sqrt() * x).collect();
                let dq: Vec<f64> = (0..n).map(|j| desired.dq[j] - r[j] + tube.gains.k_r * e[j]).collect();
                let said = controller.tick(0.0, Measured { q: &q, dq: &dq }, &desired, &mut tau);
                assert!(!said.saturated && said.energy_j <= tube.gains.v_max);
                let law = AttackedLaw::new(case, 0.0, (&q, &dq), &desired);
                let v: Vec<f64> = (0..n).map(|j| tau[j] - law.nominal[j]).collect();
                let beyond: Vec<f64> = (0..n).map(|j| (v[j].abs() - law.rho[j]).max(0.0)).collect();
                for (most, x) in
                    [(&mut seen.rho, &law.rho), (&mut seen.robust, &v), (&mut seen.command, &tau)]
                {
                    most.iter_mut().zip(x).for_each(|(most, x)| *most = most.max(x.abs()));
                }
                seen.norm = seen.norm.max(weighted(&v).sqrt());
                seen.mismatch = seen.mismatch.max(0.5 * h * weighted(&beyond));
            }
        }
    }
    seen
}

/// The hold power that the theorem asks for, with what the controller was seen to do.
fn hold_power(case: &Case, report: &CellReport) -> f64 {
    let (tube, n) = (&case.tube, case.robot.dof());
    let seen = seen(case);
    let weighted =
        |x: &[f64]| -> f64 { (0..n).map(|j| x[j] * x[j] / tube.inertia_floor[j]).sum::<f64>().sqrt() };
    let theta = case.set.center();
    let turned =
        states(case, report.span).iter().map(|s| weighted(&coriolis(case, &theta, s))).fold(0.0, f64::max);
    let delta = formulas::r_error(tube, &case.robot);
    let misread: f64 = (0..n).map(|j| delta * (seen.rho[j] + seen.robust[j])).sum();
    let carried = 0.5 * tube.gains.period_s * turned * (weighted(&seen.rho) + seen.norm);
    seen.mismatch + misread + carried
}

#[track_caller]
fn holds(what: &str, mut case: Case) {
    let report = report(&mut case, START);
    meets(what, hold_power(&case, &report), report.required.hold_power_w);
}

/// The slider, disturbed by 10 N and with room in V.
fn disturbed() -> Case {
    let mut case = slider();
    case.tube.drift_nm[0] = 10.0;
    (case.tube.gains.v_max, case.tube.gains.period_s) = (1e-2, 1e-6);
    case
}

#[test]
fn power_by_an_error_of_velocity() {
    let mut case = disturbed();
    case.robot.stated().sensors.velocity_rad_s = 1e-4;
    holds("delta_dq (rho + |v|)", case);
}

#[test]
fn power_by_an_error_of_position() {
    let mut case = disturbed();
    case.robot.stated().sensors.position_rad = 1e-5;
    case.tube.gains.k_r = 100.0;
    holds("K_r delta_q (rho + |v|)", case);
}

#[test]
fn power_by_coriolis_force() {
    let mut case = polar(1.0);
    case.curve = from(&[0.0, 1.0], &[0.0, 1.0], &[0.0; 2]);
    case.tube.drift_nm = vec![1e-3; 2];
    (case.tube.gains.v_max, case.tube.gains.k_r) = (1e-6, 1e2);
    holds("(h/2) |C r| (|rho| + |v|)", case);
}

#[test]
fn power_by_what_the_law_adds() {
    let mut case = slider();
    case.tube.gains.v_max = 1.0;
    case.tube.hold_power_w = 0.1;
    holds("(h/2) m^2 / A", case);
}

#[test]
fn torque_of_what_the_law_adds() {
    let mut case = slider();
    case.tube.gains.v_max = 1.0;
    case.tube.hold_power_w = 0.1;
    let report = report(&mut case, START);
    meets("v", seen(&case).robust[0], report.robust[0]);
}

#[test]
fn commands_are_nominal_and_robust_torques() {
    // Nearly all of it the robust one, then nearly all of it the nominal one.
    for (drift, known) in [(10.0, 0.0), (0.0, 10.0)] {
        let mut case = disturbed();
        case.tube.drift_nm[0] = drift;
        let offset = case.robot.joint_index(0).offset;
        (case.set.bounds().0[offset], case.set.bounds().1[offset]) = (known, known);
        case.robot.joints[0].limits.torque = 100.0;
        let report = report(&mut case, START);
        let claimed = 100.0 - report.torque_margin[0];
        meets("command", seen(&case).command[0], claimed);
        // A sum of the two, rounded.
        let sum = report.robust[0] + report.torque[0].nominal_sup();
        assert!(
            claimed >= sum * (1.0 + 0.9 * LAW_ROUNDOFF) && claimed <= sum * (1.0 + 2.0 * LAW_ROUNDOFF),
            "{claimed} for {sum}"
        );
    }
}

#[test]
fn slack_by_errors_of_r() {
    let slack = |change: &dyn Fn(&mut Case)| {
        let mut case = slider();
        case.tube.gains.v_max = 1.5;
        change(&mut case);
        widen(&mut case, 0, 0, 0.5);
        let report = report(&mut case, START);
        let delta = formulas::r_error(&case.tube, &case.robot);
        // The heaviest slider, at a speed with V = V_max.
        let (heavy, r) = (3.5, (2.0f64 * 1.5 / 3.5).sqrt());
        meets("M (r + delta/2) delta", heavy * (r + 0.5 * delta) * delta, report.required.energy_slack_j);
    };
    slack(&|c| c.robot.stated().sensors.velocity_rad_s = 1e-3);
    slack(&|c| c.robot.stated().sensors.position_rad = 1e-4);
    // So large that its square counts.
    slack(&|c| c.robot.stated().sensors.velocity_rad_s = 1e2);
}

#[test]
fn slack_by_errors_of_position() {
    // An error of x by 1e-3 changes the arm's inertia 1 + 2 x^2; r is read rightly.
    use crate::reach::Cell;
    use crate::reach::energy::energy_slack;
    let mut case = polar(1.0);
    case.tube.gains.v_max = 1e-6;
    case.robot.stated().gains = case.tube.gains;
    let mut cell = Cell::<16, Counted>::new(&case.robot, &case.tube, &case.curve, Span::Rest);
    for off in &mut cell.deviation {
        (off.q, off.r) = (1e-3, 0.0);
    }
    let prepared = crate::reach::PreparedSet::new(&case.robot, &case.set);
    let mut space = crate::reach::CellWorkspace::<16, Counted>::new(&case.robot);
    let floor = (&case.tube.inertia_floor[..], 1.0);
    let claimed = energy_slack(&case.robot, &prepared, &cell, floor, case.tube.level_j(), &mut space.changes);
    let energy =
        |x: f64| truth::energy(&case.robot, &case.set.center(), &[0.0, x], &[(2e-6f64 / 3.0).sqrt(), 0.0]);
    meets("dV/dq delta_q", 0.5 * (energy(1.001) - energy(0.999)), claimed);
}
