//! Motions for Digit, looked at ten times more finely than the search does.

use super::*;
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics};
use crate::robot::Placement;
use crate::robot::{LinkedModel, between_capsules, configuration, load_model, load_model_with_shapes};

fn task(robot: &Model) -> ExcitationTask<'_> {
    ExcitationTask {
        robot,
        shapes: &[],
        ignored: &[],
        clearance_m: 0.0,
        unknown: LimbUnknown::Everything,
        motions: 2,
        duration_s: 5.0,
        least_singular_value: 0.015,
        evaluations: (12, 40),
        seed: 1,
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn motions_tell_more_than_random_ones_and_keep_all_limits_at_length() {
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
    let linked = load_model_with_shapes("digit").unwrap();
    for (task, culprit) in [
        (ExcitationTask { motions: 0, ..task(&robot) }, "number of motions"),
        (ExcitationTask { motions: 13, ..task(&robot) }, "number of motions"),
        (ExcitationTask { duration_s: f64::NAN, ..task(&robot) }, "duration"),
        (ExcitationTask { duration_s: 0.0, ..task(&robot) }, "duration"),
        (ExcitationTask { least_singular_value: f64::NAN, ..task(&robot) }, "singular value"),
        (ExcitationTask { least_singular_value: 1.0, ..task(&robot) }, "0 keep the limits"),
        (with_shapes(&linked, -0.01), "the clearance"),
        (with_shapes(&linked, 0.0), "the clearance"),
        (with_shapes(&linked, f64::NAN), "the clearance"),
        (with_shapes(&linked, f64::INFINITY), "the clearance"),
    ] {
        let error = task.run().unwrap_err().to_string();
        assert!(error.contains(culprit), "{error}");
    }
}

/// Beside the capsules of its file.
fn with_shapes(linked: &LinkedModel, clearance_m: f64) -> ExcitationTask<'_> {
    ExcitationTask { shapes: &linked.shapes, ignored: &linked.ignored, clearance_m, ..task(&linked.model) }
}

/// How many pairs of capsules neither overlap where motions begin nor hang on one body or on neighbours; and their least distance over all motions at so many times each, m. Found with
/// frames of the whole robot with its base held, by nothing that the search uses but the closing of loops.
fn least_distance(linked: &LinkedModel, found: &ExcitingMotions, count: usize) -> (usize, f64) {
    let held = linked.model.with_base_held();
    let domain = ClosureDomain::of(&held).unwrap();
    let reduced = ReducedDynamics::of_loops(&held).unwrap();
    let capsules = |reduced: &mut ReducedDynamics, state: &JointState| -> Vec<_> {
        let mut q = configuration::neutral(&held);
        reduced.independent().iter().zip(&state.q).for_each(|(&motor, x)| q[motor] = *x);
        domain.place(&held, &mut q).unwrap();
        reduced.close(&held, &mut q).unwrap();
        let frames = held.frames(&q);
        let placed = |shape: &LinkShape| match shape.joint {
            // The base's joint is the first of the whole robot.
            None | Some(0) => shape.capsule.placed(&Placement::identity()),
            Some(joint) => shape.capsule.placed(&frames[joint - 1]),
        };
        linked.shapes.iter().map(placed).collect()
    };
    let first = capsules(&mut reduced.clone(), &found.at(0, 0.0));
    let all = (0..first.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    let joint = |shape: usize| linked.shapes[shape].joint;
    let pairs: Vec<_> = all
        .filter(|&(a, b)| !linked.model.adjacent(joint(a), joint(b)))
        .filter(|&(a, b)| between_capsules(&first[a], &first[b]) > 0.0)
        .collect();
    let of_motion = |motion: usize| {
        let (mut least, mut reduced) = (f64::INFINITY, reduced.clone());
        for s in 0..=count {
            let state = found.at(motion, s as f64 / count as f64 * found.duration_s);
            let now = capsules(&mut reduced, &state);
            least = pairs.iter().map(|&(a, b)| between_capsules(&now[a], &now[b])).fold(least, f64::min);
        }
        least
    };
    let least = (0..found.motions.len()).into_par_iter().map(of_motion);
    (pairs.len(), least.reduce(|| f64::INFINITY, f64::min))
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn limbs_that_move_at_the_same_time_keep_their_distance_at_length() {
    let linked = load_model_with_shapes("digit").unwrap();
    for (clearance_m, seed, finer) in [(0.01, 1, 10), (0.02, 2, 2)] {
        let found = ExcitationTask { seed, ..with_shapes(&linked, clearance_m) }.run().unwrap();
        let report = &found.self_collision;
        let (pairs, least) = least_distance(&linked, &found, finer * TICKS);
        let told = report.nearest.as_ref().unwrap().0;
        assert!(
            least >= clearance_m && told >= clearance_m && told - least < 0.1 * clearance_m,
            "{least} {told}"
        );
        assert!(report.pairs == pairs && pairs > 200 && report.overlap_at_start.len() == 14, "{report:?}");
        assert_eq!(found.shares, [1.0, 1.0]);
        for limb in &found.limbs {
            assert!(limb.condition_number < 0.5 * limb.random_condition_number, "{limb:?}");
        }
    }
}

/// What the check is for: without it limbs go through each other, and that it was not looked at is told.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn without_shapes_limbs_go_through_each_other_at_length() {
    let linked = load_model_with_shapes("digit").unwrap();
    let found = task(&linked.model).run().unwrap();
    assert!(found.self_collision.pairs == 0 && found.self_collision.nearest.is_none());
    assert!(least_distance(&linked, &found, 100).1 < -0.01);
}

/// Motions that were found without a look at links are made smaller until these keep their distance, and that is told.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn motions_whose_links_come_too_near_are_made_smaller_at_length() {
    let linked = load_model_with_shapes("digit").unwrap();
    let task = with_shapes(&linked, 0.01);
    let held = linked.model.with_base_held();
    let limbs = held.limbs();
    let mut searches: Vec<_> = limbs.iter().map(|limb| Search::new(&task, &held, limb).unwrap()).collect();
    let mut whole = WholeRobot::new(&task, &held, &mut searches).unwrap();
    let mut found: Vec<_> = searches.iter_mut().map(|search| search.run(&whole).unwrap()).collect();
    for (search, found) in searches.iter_mut().zip(&found) {
        for (k, trial) in found.trials.iter().enumerate() {
            whole.follow(k, search, &trial.curve).unwrap();
        }
    }
    let before: Vec<_> = searches.iter().zip(&found).map(|(search, found)| search.told(found)).collect();
    let (shares, report) = whole.keep_apart(&mut searches, &mut found).unwrap();
    assert!(shares.iter().all(|share| *share < 1.0), "{shares:?}");
    assert!(report.nearest.as_ref().unwrap().0 >= 0.01 / USED);
    // What is told is told of the smaller motions, and these keep their distance.
    for ((search, found), before) in searches.iter().zip(&found).zip(&before) {
        let told = search.told(found);
        assert!(told.condition_number != before.condition_number);
        assert!(told.largest_speed_share < before.largest_speed_share, "{told:?}");
    }
    let told = task.told(&held, (&searches, &found), (shares, report));
    assert!(least_distance(&linked, &told, 2 * TICKS).1 >= 0.01);
}

/// Limbs that are searched one after the other give one motion, however many threads look at it.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn threads_make_no_difference_at_length() {
    let linked = load_model_with_shapes("digit").unwrap();
    let task = ExcitationTask { evaluations: (6, 6), ..with_shapes(&linked, 0.01) };
    let by = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        serde_json::to_string(&pool.install(|| task.run()).unwrap()).unwrap()
    };
    assert_eq!(by(1), by(3));
}

/// Links that are near by their build leave arms and legs to move.
#[test]
fn robots_whose_links_are_near_by_their_build_are_excited() {
    for (name, near) in [("z1", "pedestal"), ("b1", "trunk")] {
        let linked = load_model_with_shapes(name).unwrap();
        let found =
            ExcitationTask { evaluations: (12, 6), least_singular_value: 0.0, ..with_shapes(&linked, 0.01) }
                .run()
                .unwrap();
        let by_build = &found.self_collision.near_by_build;
        assert!(by_build.iter().any(|(_, pair)| pair.iter().any(|link| link == near)), "{by_build:?}");
        let least = by_build.iter().map(|(kept, _)| *kept).fold(0.01, f64::min);
        assert!(least > 0.0 && least_distance(&linked, &found, TICKS).1 >= least);
    }
}

#[test]
fn links_that_are_too_near_where_motions_begin_are_named() {
    let linked = load_model_with_shapes("digit").unwrap();
    let error = with_shapes(&linked, 0.1).run().unwrap_err().to_string();
    assert!(error.contains("left") && error.contains("m apart where motions begin"), "{error}");
}
