use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::ConstrainedDynamics;
use crate::dynamics::actuation::coulomb_direction;
use crate::dynamics::constraint::{Constraint, Redundancy};
use crate::robot::Placement;
use crate::robot::{load_model, load_model_with_shapes};
use crate::simulate::posture::ground_rows;

fn task(robot: &Model, feet: Vec<Footprint>, start: Vec<f64>) -> StandingTask<'_> {
    StandingTask {
        robot,
        feet,
        start,
        friction: 0.6,
        shapes: load_model_with_shapes(&robot.name).unwrap().shapes,
        ignored: vec![],
        clearance_m: 0.01,
        wanted: vec![0],
        goal: Goal::Condition,
        torque_deviation_nm: 0.2,
        duration_s: 4.0,
        repeats: 1,
        evaluations: (40, 200),
        seed: 0,
        beside: None,
    }
}

/// A Go1 with bent knees, its base level.
fn go1(robot: &Model) -> StandingTask<'_> {
    let mut start = crate::robot::configuration::neutral(robot);
    for leg in 0..4 {
        start[7 + 3 * leg..10 + 3 * leg].copy_from_slice(&[0.0, 0.8, -1.6]);
    }
    let foot = |name: &str| Footprint {
        frame: robot.frame_index(name).unwrap(),
        kind: LoopKind::Point,
        sole_m: [0.0; 2],
    };
    task(robot, ["FL_foot", "FR_foot", "RL_foot", "RR_foot"].map(foot).to_vec(), start)
}

/// The dynamics of a robot whose feet are held.
fn on_feet(task: &StandingTask<'_>) -> ConstrainedDynamics {
    let contact =
        |foot: &Footprint| Constraint::contact(task.robot, foot.frame, foot.kind, Placement::identity());
    let feet = task.feet.iter().map(contact).collect();
    ConstrainedDynamics::new(task.robot, feet, Redundancy::Refuse).unwrap()
}

/// Torques and forces are those by which constrained dynamics make the same motion; feet stay where they are.
#[test]
fn torques_make_the_motion_and_feet_bear_the_forces() {
    for robot in [load_model("go1").unwrap(), load_model("talos_reduced").unwrap()] {
        let task = if robot.name == "go1" { go1(&robot) } else { talos(&robot) };
        let mut support = Support::new(&task).unwrap();
        let ranges = task.ranges(support.swinging());
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let x: Vec<f64> = (0..8 * ranges.len()).map(|_| rng.random_range(-0.1..0.1)).collect();
        let sway = task.sway(&support, &ranges, &x).unwrap();
        let mut dynamics = on_feet(&task);
        for t in [0.0, 0.7, 2.3] {
            let at = support.carried(&sway.at(&robot, t), &task.start).unwrap();
            let mut tau = at.tau.clone();
            for i in robot.first_actuated()..robot.bodies() {
                let k = robot.v_index(i);
                let own = robot.joint_parameters(&support.theta, i);
                tau[k] -=
                    own.coulomb * coulomb_direction(&robot, at.v[k]).0 + own.viscous * at.v[k] + own.offset;
            }
            let theta = &support.theta;
            dynamics.forward(&robot, &at.q, &at.v, &tau, theta).unwrap();
            let wrong = dynamics.motion().iter().zip(&at.a).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(wrong < 1e-7, "{} {t}: {wrong}", robot.name);
            for (k, own) in at.forces.iter().enumerate() {
                let wrong =
                    own.iter().zip(dynamics.force_of(k)).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
                assert!(wrong < 1e-6, "{} {t} foot {k}: {own:?} {:?}", robot.name, dynamics.force_of(k));
            }
            let (u, rows, theta) = support.projected();
            let told = rows * nalgebra::DVector::from_vec(theta);
            assert!((u - told).amax() < 1e-9);
        }
    }
}

/// Of all torques that make the motion, those are chosen that are small together with the weighed forces along the ground: along whatever leaves the motion as it is, the sum of their squares is level.
#[test]
fn torques_are_the_smallest_with_the_forces_along_the_ground() {
    for robot in [load_model("go1").unwrap(), load_model("talos_reduced").unwrap()] {
        let task = if robot.name == "go1" { go1(&robot) } else { talos(&robot) };
        let mut support = Support::new(&task).unwrap();
        let ranges = task.ranges(support.swinging());
        let x = vec![0.05; 8 * ranges.len()];
        let sway = task.sway(&support, &ranges, &x).unwrap();
        let at = support.carried(&sway.at(&robot, 0.9), &task.start).unwrap();
        let mut dynamics = on_feet(&task);
        let mut effects = |tau: &[f64]| -> (Vec<f64>, Vec<f64>) {
            dynamics.forward(&robot, &at.q, &at.v, tau, &support.theta).unwrap();
            let weighed = |(k, foot): (usize, &Footprint)| {
                let force = dynamics.force_of(k).to_vec();
                ground_rows(foot.kind)
                    .iter()
                    .map(move |&(row, weight)| weight * force[row])
                    .collect::<Vec<_>>()
            };
            let level = task.feet.iter().enumerate().flat_map(weighed).collect();
            (dynamics.motion().to_vec(), level)
        };
        let (motion, level) = effects(&at.tau);
        // Forces by what was told, which friction of joints is part of.
        let told = task.feet.iter().zip(&at.forces).flat_map(|(foot, force)| {
            ground_rows(foot.kind).iter().map(|&(row, weight)| weight * force[row])
        });
        let told: Vec<f64> = told.collect();
        let count = robot.nv() - BASE;
        let mut by_motion = nalgebra::DMatrix::zeros(robot.nv(), count);
        let mut by_level = nalgebra::DMatrix::zeros(level.len(), count);
        for k in 0..count {
            let mut tau = at.tau.clone();
            tau[BASE + k] += 1.0;
            let (moved, borne) = effects(&tau);
            (0..robot.nv()).for_each(|r| by_motion[(r, k)] = moved[r] - motion[r]);
            (0..level.len()).for_each(|r| by_level[(r, k)] = borne[r] - level[r]);
        }
        let gradient: Vec<f64> = (0..count)
            .map(|k| at.tau[BASE + k] + (0..level.len()).map(|r| by_level[(r, k)] * told[r]).sum::<f64>())
            .collect();
        let eigen = nalgebra::SymmetricEigen::new(by_motion.tr_mul(&by_motion));
        let least = 1e-12 * eigen.eigenvalues.max();
        let mut still = 0;
        for k in (0..count).filter(|&k| eigen.eigenvalues[k] < least) {
            still += 1;
            let along: f64 = eigen.eigenvectors.column(k).iter().zip(&gradient).map(|(e, g)| e * g).sum();
            assert!(along.abs() < 1e-4, "{} {k}: {along}", robot.name);
        }
        // As many as dependent freedoms less the base's six.
        let rows: usize = task.feet.iter().map(Footprint::rows).sum();
        assert_eq!(still, rows - 6, "{}", robot.name);
    }
}

/// Forces of feet of a moving robot, one after the other motor off by 1 N m, all of which make it move otherwise: squares of the changes add up to what is told.
#[test]
fn forces_are_off_as_they_are_said_to_be() {
    for robot in [load_model("go1").unwrap(), load_model("talos_reduced").unwrap()] {
        let task = if robot.name == "go1" { go1(&robot) } else { talos(&robot) };
        let mut support = Support::new(&task).unwrap();
        let ranges = task.ranges(support.swinging());
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let x: Vec<f64> = (0..8 * ranges.len()).map(|_| rng.random_range(-0.1..0.1)).collect();
        let sway = task.sway(&support, &ranges, &x).unwrap();
        let mut dynamics = on_feet(&task);
        for t in [0.3, 1.1, 2.9] {
            let at = support.carried(&sway.at(&robot, t), &task.start).unwrap();
            let mut forces = |tau: &[f64]| -> Vec<f64> {
                dynamics.forward(&robot, &at.q, &at.v, tau, &support.theta).unwrap();
                (0..task.feet.len()).flat_map(|k| dynamics.force_of(k).to_vec()).collect()
            };
            let exact = forces(&at.tau);
            let mut squares = vec![0.0; exact.len()];
            for k in BASE..robot.nv() {
                let mut tau = at.tau.clone();
                tau[k] += 1.0;
                let moved = forces(&tau);
                squares
                    .iter_mut()
                    .zip(moved.iter().zip(&exact))
                    .for_each(|(sum, (x, y))| *sum += (x - y).powi(2));
            }
            for (square, told) in squares.iter().zip(at.force_errors.concat()) {
                let expected = 4.0 * task.torque_deviation_nm * square.sqrt();
                assert!((told - expected).abs() < 1e-6 * expected, "{} {t}: {told} {expected}", robot.name);
            }
        }
    }
}

/// Torques that are off leave less of friction, soles and load.
#[test]
fn torques_that_are_off_cost_friction_and_sole() {
    let robot = load_model("talos_reduced").unwrap();
    let used = |torque_deviation_nm: f64| {
        let task = StandingTask { torque_deviation_nm, ..talos(&robot) };
        let mut support = Support::new(&task).unwrap();
        let ranges = task.ranges(support.swinging());
        let x = vec![0.03; 8 * ranges.len()];
        let sway = task.sway(&support, &ranges, &x).unwrap();
        support.look(&task.along(&sway), &even(8), f64::INFINITY, None).unwrap().0
    };
    let (exact, off) = (used(1e-9), used(1.0));
    assert!(
        off.friction > 1.05 * exact.friction && off.pressure > 1.02 * exact.pressure,
        "{exact:?} {off:?}"
    );
    assert_eq!((off.position, off.speed, off.torque), (exact.position, exact.speed, exact.torque));
    assert_eq!(used(200.0).friction, f64::INFINITY);
}

/// A motion that is read again is the motion that was written, and how often it is gone through is looked at.
#[test]
fn a_motion_is_read_as_it_was_written() {
    let robot = load_model("go1").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let task = StandingTask { evaluations: (4, 0), repeats: 3, ..go1(&robot) };
    let found = task.run().unwrap();
    let path = folder.path().join("summary.json");
    let mut written = serde_json::to_value(&found).unwrap();
    let write = |value: &serde_json::Value| std::fs::write(&path, value.to_string()).unwrap();
    write(&written);
    let (sway, start) = read_motion(&robot, &path).unwrap();
    assert_eq!(start, task.start);
    let states = task.states(&found, 41).unwrap();
    for (k, state) in states.iter().enumerate() {
        let read = sway.at(&robot, 0.1 * k as f64);
        assert!(read.q[..7].iter().zip(&state.q).all(|(a, b)| (a - b).abs() < 1e-12), "{k}");
    }
    // The base moves, and is where it was a repeat before.
    let [a, b] = [0.6, 0.6 + 4.0 / 3.0].map(|t| sway.at(&robot, t).q);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9) && (a[0] - start[0]).abs() > 1e-6);
    for repeats in [0u32, 13, u32::MAX] {
        written["repeats"] = repeats.into();
        write(&written);
        let reason = read_motion(&robot, &path).unwrap_err().to_string();
        assert!(reason.contains(&format!("repeats: {repeats} in 4 s, expected 1 to 12")), "{reason}");
    }
    // Older files went through it once.
    written.as_object_mut().unwrap().remove("repeats");
    write(&written);
    let once = read_motion(&robot, &path).unwrap().0;
    let (slow, fast) = (once.at(&robot, 1.5).q, sway.at(&robot, 0.5).q);
    assert!((slow[0] - start[0] - 3.0 * (fast[0] - start[0])).abs() < 1e-9);
}

/// A Talos on both soles.
fn talos(robot: &Model) -> StandingTask<'_> {
    let mut start = crate::robot::configuration::neutral(robot);
    start[2] = 1.0;
    let joints = [
        0.0, 0.1, 0.2, 0.4, 0.0, -1.0, 0.0, 0.0, 0.0, -0.3, -0.2, -0.4, 0.0, -1.0, 0.0, 0.0, 0.0, -0.3, 0.0,
        0.0, 0.0, 0.0, -0.4, 0.8, -0.4, 0.0, 0.0, 0.0, -0.4, 0.8, -0.4, 0.0,
    ];
    start[7..].copy_from_slice(&joints);
    let foot = |name: &str| Footprint {
        frame: robot.frame_index(name).unwrap(),
        kind: LoopKind::Rigid,
        sole_m: [0.1, 0.06],
    };
    task(robot, ["left_sole", "right_sole"].map(foot).to_vec(), start)
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_motion_tells_more_than_random_ones_at_length() {
    let [on_points, on_soles] = ["go1", "talos_reduced"].map(|name| load_model(name).unwrap());
    for task in [go1(&on_points), talos(&on_soles)] {
        let found = task.run().unwrap();
        let (condition, random) = (found.condition_number, found.random_condition_number);
        assert!(condition < 0.4 * random, "{}: {condition} {random}", found.robot);
        assert!(found.used.most() <= 1.0, "{}: {:?}", found.robot, found.used);
    }
}

fn search<'a>(task: &'a StandingTask<'a>) -> Search<'a> {
    let support = Support::new(task).unwrap();
    Search {
        task,
        exact: support.clone(),
        ranges: task.ranges(support.swinging()),
        support,
        times: even(SAMPLES),
        wanted: Wanted::new(task.robot, &task.wanted).unwrap(),
    }
}

/// Values and limits by coefficients, against motions whose coefficients are a little larger and smaller.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn slopes_are_those_of_differences_at_length() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for mut robot in [load_model("go1").unwrap(), load_model("talos_reduced").unwrap()] {
        robot.friction_speed_rad_s = SMOOTH_RAD_S;
        for goal in [Goal::Condition, Goal::Deviations, Goal::Posterior] {
            let task = if robot.name == "go1" { go1(&robot) } else { talos(&robot) };
            let wanted = vec![0, robot.bodies() - 1];
            let task = StandingTask { goal, wanted, evaluations: (6, 0), ..task };
            let mut search = search(&task);
            let found = search.run().unwrap();
            // A time between those that tell.
            search.times.insert(9, support::Time { share: 8.4 / SAMPLES as f64, tells: false });
            let (judge, x) = (found.judge, found.best.x);
            let slopes = search.slopes(&x, &judge).unwrap();
            for _ in 0..4 {
                let k = rng.random_range(0..x.len());
                let h = 1e-5;
                let [above, below] = [h, -h].map(|h| {
                    let mut x = x.clone();
                    x[k] += h;
                    search.slopes(&x, &judge).unwrap()
                });
                let expected = (above.value - below.value) / (2.0 * h);
                let off = (slopes.gradient[k] - expected).abs();
                assert!(
                    off < 1e-4 * (1.0 + expected.abs()),
                    "{} {goal:?} {k}: {} {expected}",
                    robot.name,
                    slopes.gradient[k]
                );
                let count = slopes.limits.len();
                if (above.limits.len(), below.limits.len()) != (count, count) {
                    continue;
                }
                for (own, (above, below)) in slopes.limits.iter().zip(above.limits.iter().zip(&below.limits))
                {
                    let expected = (above.0 - below.0) / (2.0 * h);
                    let off = (own.1[k] - expected).abs();
                    assert!(
                        off < 1e-3 * (1.0 + expected.abs()),
                        "{} {k}: {} {expected}",
                        robot.name,
                        own.1[k]
                    );
                }
            }
        }
    }
}

/// The largest of all limits is what a look finds.
#[test]
fn limits_one_by_one_are_those_of_a_look() {
    for robot in [load_model("go1").unwrap(), load_model("talos_reduced").unwrap()] {
        let task = if robot.name == "go1" { go1(&robot) } else { talos(&robot) };
        let search = search(&task);
        let x = vec![0.01; 8 * search.ranges.len()];
        let sway = task.sway(&search.support, &search.ranges, &x).unwrap();
        let mut support = search.support.clone();
        let (used, _) = support.look(&task.along(&sway), &search.times, f64::INFINITY, None).unwrap();
        let course = support.course(&task.along(&sway), &search.times).unwrap();
        assert_eq!(course.iter().copied().fold(0.0, f64::max), used.most());
        let at = support.carried(&task.along(&sway)(0.3), &task.start).unwrap();
        let apart = support.apart();
        let limits = support.limits(&at, &apart);
        let motion = |_: f64| task.along(&sway)(0.3);
        let one = [support::Time { share: 0.3, tells: false }];
        let (used, _) = support.look(&motion, &one, f64::INFINITY, None).unwrap();
        assert_eq!(limits.iter().copied().fold(0.0, f64::max), used.most(), "{}", robot.name);
        assert!(used.load > 0.0 && used.load < 1.0);
    }
}

/// Of a motion that is made better, limits are looked at between samples as well: it is found large as it is.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn limits_between_samples_are_kept_by_the_search_at_length() {
    let robot = load_model("go1").unwrap();
    let task = StandingTask { goal: Goal::Deviations, evaluations: (20, 2000), repeats: 4, ..go1(&robot) };
    let mut search = search(&task);
    let found = search.run().unwrap();
    assert!(
        search.times.len() > SAMPLES + 1 && search.times.windows(2).all(|two| two[0].share < two[1].share)
    );
    let sway = task.sway(&search.support, &search.ranges, &found.best.x).unwrap();
    let course = search.support.clone().course(&task.along(&sway), &even(SAMPLES * FINER)).unwrap();
    let most = course.into_iter().fold(0.0, f64::max);
    assert!(most < 1.0, "{most}");
}

#[test]
fn what_is_no_number_is_worst() {
    let one = LimitShares { speed: f64::NAN, ..LimitShares::NONE };
    let other = LimitShares { torque: 0.5, apart: f64::INFINITY, ..LimitShares::NONE };
    for both in [one.or(&other), other.or(&one)] {
        let (what, share) = both.worst();
        assert!(what == "a joint's speed" && share.is_nan(), "{what} {share}");
        assert!(both.most().is_nan());
    }
    assert_eq!(other.worst(), (APART, f64::INFINITY));
}
