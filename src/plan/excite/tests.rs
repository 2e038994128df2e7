use super::*;
use crate::inertia::ParameterSet;
use crate::plan::nlp::{self, Evaluation, NonlinearProgram};
use crate::robot::fixture::small_robot;
use crate::robot::{JointKind, Placement, Uncertainty};
use nalgebra::{DMatrix, Rotation3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;
use std::time::Instant;

/// A chain of `n` turning joints with axes at right angles to each other, 0.2 m apart.
fn arm(n: usize) -> Arm {
    let mut robot = small_robot();
    let template = robot.joints[0].clone();
    robot.joints = (0..n)
        .map(|i| {
            let mut joint = template.clone();
            joint.parent = i.checked_sub(1);
            joint.kind = JointKind::Continuous;
            let turn = Rotation3::new(Vector3::x() * if i % 2 == 0 { FRAC_PI_2 } else { -FRAC_PI_2 });
            let translation = Vector3::new(0.01 * i as f64, 0.02, 0.2);
            joint.placement = Placement { rotation: turn.into_inner(), translation };
            joint
        })
        .collect();
    robot.stated().end_effector = n - 1;
    robot.stated().shapes.clear();
    robot.pairs().clear();
    robot
}

fn random(rng: &mut ChaCha8Rng, n: usize, size: f64) -> Vec<f64> {
    (0..n).map(|_| rng.random_range(-size..size)).collect()
}

fn moving_start(rng: &mut ChaCha8Rng, n: usize) -> JointState {
    JointState { q: random(rng, n, 2.0), dq: random(rng, n, 0.5), ddq: random(rng, n, 0.5) }
}

/// W of the condition number as a matrix.
fn weighted(samples: &Samples) -> DMatrix<f64> {
    let rows: Vec<Row> = samples.weighted().collect();
    DMatrix::from_fn(rows.len(), INERTIAL, |i, p| rows[i][p])
}

fn cost<'a>(
    robot: &'a Arm,
    start: &'a JointState,
    known: &'a Information,
    options: ExcitationOptions,
) -> Excitation<'a> {
    let ends = EndPoints::new(&start.q, &vec![0.9; robot.dof()]).unwrap();
    Excitation::new(robot, start, ends, 3.0, known, options).unwrap()
}

/// The robot's own box, with room for something in its hand.
fn wide(robot: &Arm) -> ParameterSet {
    let mut set = ParameterSet::around_nominal(robot);
    let at = robot.body_range(robot.end_effector());
    set.bounds().1[at].iter_mut().for_each(|x| *x += 0.5);
    set
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn gradients_agree_with_differences_at_length() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    // Nine joints need two passes of dual numbers; the small robot has a sliding joint.
    for mut robot in [arm(7), arm(9), small_robot()] {
        let n = robot.dof();
        (robot.stated().sensors.torque_ratio, robot.stated().sensors.torque_abs_nm) = (0.02, 0.3);
        // So many joints are slow now and then that the derivative of their friction's error counts.
        (robot.stated().sensors.velocity_rad_s, robot.stated().gains.stiction_speed_rad_s) = (1e-4, 0.1);
        robot.joints.iter_mut().for_each(|joint| joint.friction.coulomb = 0.4);
        for trial in 0..8 {
            // What is not known of the arm and not shared makes errors whose derivative the gradient does not hold.
            let ratio = if trial < 6 { 0.0 } else { 0.05 };
            robot.stated().uncertainty = Uncertainty {
                link_ratio: ratio,
                friction_ratio: ratio,
                armature_ratio: ratio,
                ..robot.uncertainty()
            };
            let start = moving_start(&mut rng, n);
            let mut known = Information::none();
            let plain = Criterion::ConditionNumber { floor: 1e-3 };
            let mut criterion =
                if trial < 4 { plain } else { Criterion::predicted_width(&robot, &wide(&robot)) };
            if let Criterion::PredictedWidth { gap, sample_errors, .. } = &mut criterion {
                *gap = 1e-9;
                *sample_errors = Arc::new(SampleErrors::sharing(&robot, &wide(&robot), 0.1, 0.0));
                assert_eq!(sample_errors.shared().is_empty(), trial < 6);
            }
            if trial % 4 >= 2 {
                let curve = Bezier::to_rest(&start, &random(&mut rng, n, 1.0), 3.0).unwrap();
                known.absorb(&robot, &wide(&robot), &curve, 1.5, 64);
            }
            let mut options = ExcitationOptions { criterion, ..ExcitationOptions::new(3.0) };
            if trial % 2 == 1 {
                options.horizon_s = 1.5;
            }
            let cost = cost(&robot, &start, &known, options);
            let k = random(&mut rng, n, 1.0);
            let here = cost.evaluate(&k);
            assert!((here.value - cost.value(&k)).abs() < 1e-9);
            for j in 0..n {
                let at = |s: f64| {
                    let mut k = k.clone();
                    k[j] += s;
                    cost.value(&k)
                };
                // From either side: where a torque changes its sign between two samples the slope of its error jumps.
                let h = 1e-4;
                let slopes = [h, -h].map(|h| (4.0 * at(h) - at(2.0 * h) - 3.0 * here.value) / (2.0 * h));
                let error =
                    slopes.map(|slope| (slope - here.gradient[j]).abs()).into_iter().fold(1.0, f64::min);
                assert!(error < 1e-4 * (1.0 + slopes[0].abs()), "{slopes:?} {}", here.gradient[j]);
            }
        }
    }
}

#[test]
fn the_value_is_the_condition_number_of_all_data() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let robot = arm(7);
    let start = moving_start(&mut rng, 7);
    let old = Bezier::to_rest(&start, &random(&mut rng, 7, 1.0), 3.0).unwrap();
    let criterion = Criterion::ConditionNumber { floor: 1e-12 };
    let old_rows = weighted(&samples_along(&robot, &old, 1.5, 64, None));
    let mut known = Information::none();
    assert_eq!(known.condition_number(), f64::INFINITY);
    known.absorb(&robot, &wide(&robot), &old, 1.5, 64);
    let options = ExcitationOptions { criterion: criterion.clone(), ..ExcitationOptions::new(3.0) };
    let cost = cost(&robot, &start, &known, options);
    let k = random(&mut rng, 7, 1.0);
    let new = Bezier::to_rest(&start, &cost.ends.at(&k), 3.0).unwrap();
    let new_rows = weighted(&samples_along(&robot, &new, 3.0, 128, None));
    let mut all = DMatrix::zeros(192 * 7, INERTIAL);
    all.rows_mut(0, 64 * 7).copy_from(&old_rows);
    all.rows_mut(64 * 7, 128 * 7).copy_from(&new_rows);
    let sigma = all.singular_values();
    let expected = sigma.max() / sigma.min();
    assert!((cost.value(&k).exp() / expected - 1.0).abs() < 1e-6);
    known.absorb(&robot, &wide(&robot), &new, 3.0, 128);
    assert!((known.condition_number() / expected - 1.0).abs() < 1e-6);
}

#[test]
fn what_is_learnt_narrows_what_is_foreseen() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let robot = arm(7);
    let set = wide(&robot);
    let mut known = Information::none();
    let first = known.half_widths(&robot, &set).unwrap();
    let at = robot.inertial_index(robot.end_effector());
    // Without data the present intervals are all there is.
    let present = |p: usize| (0.5 * (set.upper()[at + p] - set.lower()[at + p])).max(1e-6);
    assert!((0..INERTIAL).all(|p| (first[p] / present(p) - 1.0).abs() < 1e-9), "{first:?}");
    for _ in 0..3 {
        let start = moving_start(&mut rng, 7);
        let curve = Bezier::to_rest(&start, &random(&mut rng, 7, 1.0), 3.0).unwrap();
        known.absorb(&robot, &set, &curve, 3.0, 64);
    }
    let after = known.half_widths(&robot, &set).unwrap();
    assert!((0..INERTIAL).all(|p| after[p] > 0.0 && after[p] <= 1.001 * first[p]), "{after:?}");
    assert!(after[0] < 0.5 * first[0], "{after:?} {first:?}");
}

/// Excitation without constraints but the box.
struct Free<'a>(Excitation<'a>);

impl NonlinearProgram for Free<'_> {
    fn dimension(&self) -> usize {
        self.0.ends.dimension()
    }

    fn evaluate(&mut self, k: &[f64], out: &mut Evaluation) {
        let Cost { value, gradient } = self.0.evaluate(k);
        out.cost = value;
        out.cost_gradient = gradient.iter().copied().collect();
        out.proven = true;
    }

    fn keep(&mut self) {}
}

#[test]
fn the_solver_excites() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let robot = arm(7);
    let start = JointState::at_rest(&random(&mut rng, 7, 1.0));
    let nothing = Information::none();
    let cost = cost(&robot, &start, &nothing, ExcitationOptions::new(3.0));
    let k = random(&mut rng, 7, 0.7);
    let begin = Instant::now();
    for _ in 0..20 {
        cost.evaluate(&k);
    }
    println!("value and gradient: {:?}", begin.elapsed() / 20);
    let begin = Instant::now();
    for _ in 0..20 {
        cost.value(&k);
    }
    println!("value: {:?}", begin.elapsed() / 20);
    let mut random_best = f64::INFINITY;
    for _ in 0..40 {
        random_best = random_best.min(cost.value(&random(&mut rng, 7, 1.0)));
    }
    let options = nlp::NlpOptions { max_evaluations: 40, ..nlp::NlpOptions::default() };
    let solution = nlp::solve(&mut Free(cost), &k, &options, &mut nlp::NlpWorkspace::default()).unwrap();
    println!(
        "log cond {} after {} evaluations ({:?}); best of 40 random {random_best}",
        solution.cost, solution.evaluations, solution.stopped
    );
    assert!(solution.cost < random_best);
}

#[test]
fn motionless_and_undefined_trajectories_have_a_defined_answer() {
    let robot = arm(7);
    let start = JointState::at_rest(&[0.1; 7]);
    let nothing = Information::none();
    let cost = cost(&robot, &start, &nothing, ExcitationOptions::new(3.0));
    let still = cost.evaluate(&[0.0; 7]);
    assert!(still.value.is_finite() && still.gradient.iter().all(|x| x.is_finite()));
    assert!(cost.evaluate(&[f64::NAN; 7]).value.is_nan());
}

#[test]
fn bad_input_is_named() {
    let robot = arm(7);
    let ends = EndPoints::new(&[0.0; 7], &[0.5; 7]).unwrap();
    let make = |start: &JointState, options| {
        Excitation::new(&robot, start, ends.clone(), 3.0, &Information::none(), options).unwrap_err()
    };
    let good = || ExcitationOptions::new(3.0);
    let size = make(&JointState::at_rest(&[0.0; 6]), good());
    assert_eq!(size, CostError::Size { field: "start.q", expected: 7, found: 6 });
    let mut nan = JointState::at_rest(&[0.0; 7]);
    nan.ddq[3] = f64::NAN;
    assert!(matches!(make(&nan, good()), CostError::Value { field: "start.ddq", .. }));
    let start = JointState::at_rest(&[0.0; 7]);
    let long = ExcitationOptions { horizon_s: 4.0, ..good() };
    assert!(matches!(make(&start, long), CostError::Value { field: "horizon_s", .. }));
    let none = ExcitationOptions { samples: 0, ..good() };
    assert!(matches!(make(&start, none), CostError::Value { field: "samples", .. }));
}
