//! Storage that was used for anything before gives the same answers as new storage, to the last bit, on any number of threads.

use nalgebra::{DMatrix, DVector, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::truth;
use crate::inertia::ParameterSet;
use crate::reach::{PreparedSet, Span, Tube, fixture};
use crate::robot::fixture::tree;
use crate::robot::{Arm, Scene};
use crate::trajectory::{Bezier, JointState};

mod drives;
mod tilt;

/// A flap beside an arm of three joints, two arms on one base, and a chain of twelve joints. Their transmissions turn next to nothing, so the links bear the
/// floor of the mass matrix.
fn robots() -> [Arm; 3] {
    let chain = |first: usize, n: usize| (0..n).map(move |k| k.checked_sub(1).map(|k| k + first));
    let flap: Vec<_> = [None].into_iter().chain(chain(1, 3)).collect();
    let arms: Vec<_> = chain(0, 3).chain(chain(3, 3)).collect();
    [tree("flap_and_arm", &flap), tree("two_arms", &arms), tree("twelve", &chain(0, 12).collect::<Vec<_>>())]
}

fn motion(robot: &Arm, rng: &mut ChaCha8Rng) -> Bezier {
    let q: Vec<f64> = (0..robot.dof()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let end: Vec<f64> = q.iter().map(|q| q + rng.random_range(-0.2..0.2)).collect();
    Bezier::to_rest(&JointState::at_rest(&q), &end, 2.0).unwrap()
}

/// A tube whose floor the links bear: half of what the lightest ones have in the middle of the curve.
fn tube(robot: &Arm, set: &ParameterSet, curve: &Bezier) -> Tube {
    let mut tube = fixture::tube(robot);
    let mass = truth::mass(robot, &PreparedSet::new(robot, set).between().below, &curve.state(1.0).q);
    let raised = |floor: &[f64]| -> Vec<f64> {
        let left = &mass - DMatrix::from_diagonal(&DVector::from_column_slice(floor));
        // As much as any one entry may be raised by if no other is: the mean of these leaves the matrix positive definite.
        let left = left.cholesky().unwrap().inverse();
        floor.iter().enumerate().map(|(j, a)| a + 1.0 / (floor.len() as f64 * left[(j, j)])).collect()
    };
    let bare: Vec<f64> = tube.inertia_floor.iter().map(|a| 0.98 * a).collect();
    let most = (0..8).fold(bare.clone(), |floor, _| raised(&floor));
    tube.inertia_floor = bare.iter().zip(&most).map(|(bare, most)| 0.5 * (bare + most)).collect();
    tube.lag_floor.clone_from(&tube.inertia_floor);
    tube.drift_nm.fill(1.0);
    tube.hold_power_w = 0.01;
    tube.energy_slack_j = 1e-5;
    tube
}

fn threads(count: usize, work: impl FnOnce() -> String + Send) -> String {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(work)
}

#[test]
fn used_storage_answers_as_new_storage_does() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let used = Workspaces::<Counted>::default();
    let scene = Scene {
        obstacles: vec![crate::robot::Zonotope3::cuboid(
            "block",
            Vector3::new(9.0, 0.0, 0.0),
            Vector3::repeat(0.2),
            &nalgebra::Matrix3::identity(),
        )],
    };
    for robot in robots() {
        let set = ParameterSet::around_nominal(&robot);
        let curve = motion(&robot, &mut rng);
        let tube = tube(&robot, &set, &curve);
        let borne = |j: usize| tube.inertia_floor[j] > set.lower()[robot.joint_index(j).armature];
        assert!((0..robot.dof()).any(borne), "the transmissions bear the floor of {}", robot.name);
        let problem = Problem::new(&robot, &set, &scene, &tube, &curve).unwrap();
        let spans: Vec<Span> = (0..9).map(|k| problem.span(k, 8)).collect();
        let fresh: Vec<String> = spans
            .iter()
            .map(|span| format!("{:?}", problem.report(*span, &Workspaces::<Counted>::default())))
            .collect();
        for round in 0..3 {
            for (span, fresh) in spans.iter().zip(&fresh) {
                assert_eq!(
                    &format!("{:?}", problem.report(*span, &used)),
                    fresh,
                    "{} round {round}",
                    robot.name
                );
            }
        }
        let survey = |count: usize| threads(count, || format!("{:?}", problem.survey(8)));
        for count in [1, 2, 3, 5] {
            assert_eq!(survey(count), format!("[{}]", fresh.join(", ")), "{} on {count} threads", robot.name);
        }
    }
}

#[test]
fn a_torque_beyond_the_limit_is_refused_in_used_storage_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for mut robot in robots() {
        // Known and without friction, so that bounds are finite whatever the constants are.
        robot.joints.iter_mut().for_each(|joint| joint.friction.coulomb = 0.0);
        (robot.stated().gains.alpha, robot.stated().gains.v_max) = (300.0, 0.01);
        let set = ParameterSet::new(robot.nominal_parameters(), robot.nominal_parameters()).unwrap();
        let curve = motion(&robot, &mut rng);
        let mut tube = tube(&robot, &set, &curve);
        tube.drift_nm.fill(0.01);
        let scene = Scene::default();
        // A limit that is just missed, joint by joint, in new storage.
        let report = Problem::new(&robot, &set, &scene, &tube, &curve)
            .unwrap()
            .report(Span::Between(0.0, 0.1), &Workspaces::<Counted>::default());
        assert!(report.torque_margin.iter().all(|margin| margin.is_finite()), "{:?}", report.torque_margin);
        for (joint, margin) in robot.joints.iter_mut().zip(&report.torque_margin) {
            joint.limits.torque -= margin + 1e-3 * margin.abs();
        }
        let problem = Problem::new(&robot, &set, &scene, &tube, &curve).unwrap();
        let used = Workspaces::<Counted>::default();
        for _ in 0..3 {
            let again = problem.report(Span::Between(0.0, 0.1), &used);
            assert!(again.torque_margin.iter().all(|margin| *margin < 0.0), "{:?}", again.torque_margin);
        }
    }
}

/// Threads that round in another way than the one that puts the problem together.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_thread_with_other_arithmetic_proves_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let [robot, ..] = robots();
    let (set, scene) = (ParameterSet::around_nominal(&robot), Scene::default());
    let curve = motion(&robot, &mut rng);
    let tube = tube(&robot, &set, &curve);
    let problem = Problem::new(&robot, &set, &scene, &tube, &curve).unwrap();
    let good = problem.survey(8);
    let within = |bits: u32| {
        let begin = move |_| {
            let mut control = 0_u32;
            // SAFETY: the thread ends with the pool, and computes nothing that is relied on.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control);
                control |= bits;
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control);
            }
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(begin).build().unwrap();
        let judged = |survey: &[CellReport]| {
            problem.tally(survey, 0, &Workspaces::<Counted>::default()).err().map(|shortfall| shortfall.place)
        };
        pool.install(|| (judged(&problem.survey(8)), judged(&good)))
    };
    let (anew, before) = within(0);
    assert_eq!(anew, before);
    for bits in [0x2000, 0x4000, 0x6000, 0x8000, 0x0040] {
        let found = within(bits);
        assert_eq!(found, (Some(ConstraintIndex::Uncovered), Some(ConstraintIndex::Arithmetic)), "{bits:x}");
    }
}
