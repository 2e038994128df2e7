//! Motions for Digit, looked at ten times more finely than the search does.

use super::*;
use crate::robot::load_model;

fn task(robot: &Model) -> ExcitationTask<'_> {
    ExcitationTask {
        robot,
        unknown: LimbUnknown::Everything,
        motions: 2,
        duration_s: 5.0,
        least_singular_value: 0.015,
        evaluations: (12, 40),
        seed: 1,
    }
}

#[test]
fn motions_tell_more_than_random_ones_and_keep_all_limits() {
    let robot = load_model("digit").unwrap();
    let found = task(&robot).run().unwrap();
    for limb in &found.limbs {
        assert!(limb.condition_number < 0.5 * limb.random_condition_number, "{limb:?}");
        assert!(limb.largest_speed_share < USED && limb.largest_torque_share < USED);
    }
    let held = robot.with_base_held();
    let domain = ClosureDomain::of(&held).unwrap();
    let mut reduced = ReducedDynamics::of_loops(&held).unwrap();
    let theta = held.nominal_parameters();
    let count = 10 * SAMPLES * FINER;
    for motion in 0..found.motions.len() {
        for s in 0..=count {
            let state = found.at(motion, s as f64 / count as f64 * found.duration_s);
            let mut q = configuration::neutral(&held);
            for (k, &motor) in reduced.independent().iter().enumerate() {
                let limits = held.joints[motor].limits;
                let (lower, upper) = limits.position.unwrap();
                assert!(lower < state.q[k] && state.q[k] < upper && state.dq[k].abs() < limits.velocity);
                q[motor] = state.q[k];
            }
            domain.place(&held, &mut q).unwrap();
            assert!(domain.smallest_singular_value_at(&held, &q).unwrap() >= 0.015);
            // Torques change slowly; every tenth sample is enough.
            if s % 10 == 0 {
                reduced.close(&held, &mut q).unwrap();
                reduced.place(&held, &q, &state.dq, &state.ddq).unwrap();
                let u = reduced.torque(&held, &theta).unwrap();
                for (k, &motor) in reduced.independent().iter().enumerate() {
                    assert!(u[k].abs() < held.joints[motor].limits.torque);
                }
            }
        }
        for t in [0.0, found.duration_s] {
            let state = found.at(motion, t);
            assert!(state.dq.iter().chain(&state.ddq).all(|x| x.abs() < 1e-9));
        }
    }
}

#[test]
fn an_open_arm_is_one_limb_and_a_seed_gives_one_motion() {
    let robot = load_model("kinova_gen3").unwrap();
    let task = ExcitationTask { evaluations: (6, 10), ..task(&robot) };
    let (one, again) = (task.run().unwrap(), task.run().unwrap());
    assert_eq!((one.limbs.len(), one.motors.len()), (1, 7));
    assert_eq!(one.limbs[0].coefficients, again.limbs[0].coefficients);
    assert_eq!(one.limbs[0].least_singular_value, None);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let robot = load_model("digit").unwrap();
    for (task, culprit) in [
        (ExcitationTask { motions: 0, ..task(&robot) }, "number of motions"),
        (ExcitationTask { motions: 13, ..task(&robot) }, "number of motions"),
        (ExcitationTask { duration_s: f64::NAN, ..task(&robot) }, "duration"),
        (ExcitationTask { duration_s: 0.0, ..task(&robot) }, "duration"),
        (ExcitationTask { least_singular_value: f64::NAN, ..task(&robot) }, "singular value"),
        (ExcitationTask { least_singular_value: 1.0, ..task(&robot) }, "0 keep the limits"),
    ] {
        let error = task.run().unwrap_err().to_string();
        assert!(error.contains(culprit), "{error}");
    }
}
