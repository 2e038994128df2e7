//! Drift and acceleration: each part of their bounds in turn outweighs the others.

use super::adversary::{acceleration, coriolis, drift, states};
use super::*;
use crate::campaign::soundness::attack::Attack;
use crate::campaign::soundness::ledger::{Check, Ledger};
use crate::campaign::soundness::tick::Pushed;
use crate::inertia::ARMATURE;
use crate::reach::Cell;
use crate::reach::CellWorkspace;
use crate::reach::{PreparedSet, torque};
use crate::robot::DriveBounds;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The bound on the drift of joint `j` is met.
#[track_caller]
fn drifts(what: &str, mut case: Case, j: usize) {
    let report = report(&mut case, START);
    meets(what, drift(&case, &report)[j], report.required.drift_nm[j]);
}

/// The bound on the acceleration of joint `j` is met.
#[track_caller]
fn speeds_up(what: &str, mut case: Case, j: usize) {
    let report = report(&mut case, START);
    meets(what, acceleration(&case, &report)[j], report.required.acceleration_bound[j]);
}

/// `case` with its first joint's figures changed.
fn with(mut case: Case, change: impl FnOnce(&mut Case)) -> Case {
    change(&mut case);
    case
}

/// Viscous friction of joint `j`, known exactly.
fn viscous(case: &mut Case, j: usize, value: f64) {
    let at = case.robot.joint_index(j).viscous;
    (case.set.bounds().0[at], case.set.bounds().1[at]) = (value, value);
}

#[test]
fn drift_by_an_error_of_velocity_through_the_acceleration_asked_for() {
    let case = with(slider(), |c| c.robot.stated().sensors.velocity_rad_s = 1e-2);
    drifts("M K_r delta_dq", case, 0);
}

#[test]
fn drift_by_an_error_of_velocity_through_friction() {
    let case = with(slider(), |c| {
        c.robot.stated().sensors.velocity_rad_s = 1e-2;
        c.tube.gains.k_r = 0.1;
        viscous(c, 0, 1e3);
    });
    drifts("F_v delta_dq", case, 0);
}

#[test]
fn drift_by_an_error_of_position_through_gravity() {
    let case = with(pendulum(), |c| {
        c.robot.stated().sensors.position_rad = 1e-4;
        c.curve = still(&[std::f64::consts::FRAC_PI_2]);
    });
    drifts("dg/dq delta_q", case.clone(), 0);
    // The same by hand: the weight falls with the cosine.
    let claimed = report(&mut case.clone(), START).required.drift_nm[0];
    meets("weight times delta_q", WEIGHT * 1e-4, claimed);
}

#[test]
fn drift_by_an_error_of_position_through_the_velocity_asked_for() {
    // dq_a is off by K_r delta_q, and the slide is pulled out by x dq dq_a.
    let case = with(polar(0.0), |c| {
        c.robot.stated().sensors.position_rad = 1e-4;
        c.tube.gains.k_r = 1e3;
        c.curve = from(&[0.0, 1.0], &[10.0, 0.0], &[0.0; 2]);
    });
    drifts("C(q, dq) K_r delta_q", case, 1);
}

#[test]
fn drift_by_an_error_of_velocity_through_centrifugal_force() {
    let case = with(polar(0.0), |c| {
        c.robot.stated().sensors.velocity_rad_s = 1e-3;
        c.tube.gains.k_r = 0.1;
        c.curve = from(&[0.0, 1.0], &[10.0, 0.0], &[0.0; 2]);
    });
    drifts("x delta_dq dq_a", case, 1);
}

#[test]
fn drift_by_what_becomes_of_position_errors_in_a_tick() {
    let case = with(slider(), |c| {
        c.tube.gains.v_max = 1.5;
        c.tube.gains.k_r = 10.0;
    });
    drifts("h M K_r^2 de", case, 0);
}

#[test]
fn drift_by_the_jerk_of_the_motion() {
    let case =
        with(slider(), |c| c.curve = Bezier::to_rest(&JointState::at_rest(&[0.0]), &[1.0], 1.0).unwrap());
    drifts("h M dddq_d", case.clone(), 0);
    meets("by hand", 1e-3 * 3.0 * 60.0, report(&mut case.clone(), START).required.drift_nm[0]);
}

#[test]
fn drift_by_the_acceleration_of_the_motion_through_friction() {
    let case = with(slider(), |c| {
        viscous(c, 0, 1e3);
        c.curve = from(&[0.0], &[0.0], &[5.0]);
    });
    drifts("h F_v ddq_d", case, 0);
}

#[test]
fn drift_by_the_velocity_of_the_motion_through_gravity() {
    let start = [std::f64::consts::FRAC_PI_2];
    let case = with(pendulum(), |c| c.curve = from(&start, &[20.0], &[0.0]));
    drifts("h dg/dq dq", case, 0);
}

#[test]
fn drift_by_the_acceleration_of_the_motion_through_centrifugal_force() {
    // The arm speeds up: dq and dq_a take equal parts of it.
    let case = with(polar(0.0), |c| c.curve = from(&[0.0, 1.0], &[10.0, 0.0], &[1e3, 0.0]));
    drifts("h x (ddq dq_a + dq ddq_a)", case, 1);
}

#[test]
fn drift_by_the_disturbance_through_the_acceleration_asked_for() {
    let case = with(slider(), |c| {
        c.tube.gains.v_max = 1e-2;
        c.tube.drift_nm[0] = 10.0;
    });
    drifts("h K_r (rho + |v|)", case, 0);
}

/// Beside what position errors do in a tick this is little, so that part is taken away first.
#[test]
fn drift_by_coriolis_force_through_the_acceleration_asked_for() {
    let mut case = with(polar(1.0), |c| {
        c.curve = from(&[0.0, 1.0], &[0.0, 1.0], &[0.0; 2]);
        c.tube.gains.v_max = 1e-6;
        c.tube.gains.k_r = 1e3;
    });
    let report = report(&mut case, START);
    let cell = Cell::<16, Counted>::new(&case.robot, &case.tube, &case.curve, START);
    let prepared = PreparedSet::new(&case.robot, &case.set);
    let mut space = CellWorkspace::<16, Counted>::new(&case.robot);
    let rest = torque::drift(&case.robot, &case.tube, &prepared, &cell, &mut space.rates);
    let theta = case.set.center();
    let turned = states(&case, START).iter().map(|s| coriolis(&case, &theta, s)[0].abs()).fold(0.0, f64::max);
    let claimed = report.required.drift_nm[0] - rest[0];
    meets("h K_r |C r|", 1e-3 * 1e3 * turned, claimed);
}

#[test]
fn drift_by_the_disturbance_through_friction() {
    let case = with(slider(), |c| {
        c.tube.gains.k_r = 0.1;
        (c.tube.gains.v_max, c.tube.gains.period_s) = (1e-2, 1e-5);
        c.tube.drift_nm[0] = 10.0;
        viscous(c, 0, 1e3);
    });
    drifts("h F_v |dr/dt|", case, 0);
}

#[test]
fn drift_by_the_disturbance_through_centrifugal_force() {
    // Only the turning joint is disturbed; the slide, pulled out by it, feels its dr/dt.
    let case = with(polar(0.0), |c| {
        (c.tube.gains.v_max, c.tube.gains.period_s) = (1e-6, 1e-7);
        c.tube.drift_nm[0] = 10.0;
        c.curve = from(&[0.0, 1.0], &[10.0, 0.0], &[0.0; 2]);
    });
    drifts("h x |dr/dt| dq_a", case, 1);
}

/// What of the drift claimed the campaign's attack uses where the base of a pendulum at `q`, at rest, leans by `degrees` in its plane
/// and the claim is made for `share` of that.
/// Drives at the end of what they may do and the largest torque that nobody accounts for, through the controller's own command.
#[test]
fn drives_that_err_use_up_what_is_charged_for_them() {
    let drive = DriveBounds { error_nm: 3.0, error_ratio: 0.02, unmodelled_nm: 9.0, ..DriveBounds::IDEAL };
    let mut claim = with(pendulum(), |c| {
        c.curve = still(&[0.0]);
        c.robot.stated().drives = vec![drive];
        (c.tube.gains.k_r, c.tube.gains.v_max) = (0.1, 1.0);
    });
    // A tube that holds: what acts beside the command moves the joint, too.
    for _ in 0..20 {
        claim.tube.drift_nm = report(&mut claim, START).required.drift_nm.to_vec();
    }
    let report = report(&mut claim, START);
    let (theta, zero, mut rng) = (claim.set.center(), [0.0], ChaCha8Rng::seed_from_u64(1));
    let drawn = claim.state(&theta, 0.0, &zero, &zero, 0.0, [&zero, &zero]);
    let mut ledger = Ledger::default();
    Attack::new(&claim, &claim, &report).with(&theta, 0.0, &drawn, &mut rng, &mut ledger);
    let used = ledger.get(Check::Drift).unwrap().used;
    assert!((0.97..=1.0).contains(&used), "{used}");
}

fn lean_used(q: f64, degrees: f64, share: f64) -> f64 {
    let mut claim = with(pendulum(), |c| {
        c.curve = still(&[q]);
        c.robot.stated().uncertainty.gravity_direction_deg = share * degrees;
    });
    let report = report(&mut claim, START);
    let angle = (1.0 - 1e-9) * degrees.to_radians();
    let used = |quarter: u32| {
        let mut truth = claim.clone();
        truth.robot = claim.robot.tilted(angle, f64::from(quarter) * std::f64::consts::FRAC_PI_2);
        let (theta, zero) = (truth.set.center(), [0.0]);
        let drawn = truth.state(&theta, 0.0, &zero, &zero, 0.0, [&zero, &zero]);
        let (mut ledger, attack) = (Ledger::default(), Attack::new(&claim, &truth, &report));
        let (robust, rho, beside, drawn) = (&zero, &zero, &zero, &drawn);
        let (energy, gave, allowance, in_force) = (0.0, 0.0, 0.0, true);
        attack.pushed(
            &Pushed { theta: &theta, t: 0.0, drawn, robust, rho, beside, energy, gave, allowance, in_force },
            &mut ledger,
        );
        let used = ledger.get(Check::Drift).unwrap().used;
        assert_eq!(used > 1.0, ledger.outside().contains(&Check::Drift), "{used}");
        used
    };
    (0..4).map(used).fold(0.0, f64::max)
}

/// Upright the weight is turned across its lever, level it pulls less.
#[test]
fn the_attack_on_the_drift_is_felt_through_a_base_that_leans() {
    for (q, degrees) in [(std::f64::consts::FRAC_PI_2, 0.2), (0.0, 5.0)] {
        let used = [1.0, 0.97, 0.0].map(|share| lean_used(q, degrees, share));
        assert!((0.99..=1.0).contains(&used[0]) && used[1] > 1.0 && used[2] > 1.0, "{q}: {used:?}");
    }
}

#[test]
fn drift_is_that_of_the_heaviest_body_of_the_set() {
    let heavy = |p: usize| {
        with(slider(), |c| {
            c.robot.stated().sensors.velocity_rad_s = 1e-2;
            (c.tube.gains.v_max, c.tube.gains.period_s) = (1e-6, 1e-9);
            widen(c, 0, p, 0.5);
        })
    };
    drifts("links", heavy(0), 0);
    drifts("transmission", heavy(INERTIAL + ARMATURE), 0);
}

#[test]
fn acceleration_of_the_motion() {
    speeds_up("ddq_d", with(slider(), |c| c.curve = from(&[0.0], &[0.0], &[5.0])), 0);
}

#[test]
fn acceleration_by_errors_of_velocity() {
    speeds_up("K_r de", with(slider(), |c| c.tube.gains.v_max = 1.5), 0);
}

#[test]
fn acceleration_by_the_disturbance() {
    let case = with(slider(), |c| {
        c.tube.gains.v_max = 1e-2;
        c.tube.drift_nm[0] = 1e3;
    });
    speeds_up("(rho + |v|) / M", case, 0);
}

#[test]
fn acceleration_by_coriolis_force() {
    let case = with(polar(1.0), |c| {
        c.tube.gains.v_max = 1e-8;
        c.tube.gains.k_r = 1.0;
        c.curve = from(&[0.0, 1.0], &[0.0, 1e3], &[0.0; 2]);
        c.tube.gains.period_s = 1e-6;
    });
    speeds_up("C r / M", case, 0);
}
