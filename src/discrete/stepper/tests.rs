use nalgebra::Vector3;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::discrete::furuta::{FurutaNumbers, GRAVITY, furuta, pendulum};
use crate::discrete::mechanism::{DryFriction, FreeBody, HeldJointKind, HingeMotor};
use crate::discrete::parameters::MechanismParameter as P;

/// A Furuta pendulum with everything in it, off its constraints, in motion.
fn case(trial: usize, draw: &mut ChaCha8Rng) -> (Mechanism, DiscreteState, Vec<P>) {
    // Half of the hinges with friction creep where they stick, by forces that hold them.
    let (kinetic, creep) = if trial % 4 == 1 { (0.4, 300.0) } else { (0.01, 0.0) };
    let dry = DryFriction { kinetic, excess: 0.02, rate: 0.1, radius_m: 0.7, creep };
    let mut mechanism = furuta(&FurutaNumbers {
        dry: (trial % 2 == 1).then_some([dry; 2]),
        inertias: [[1e-3, 2e-3, 3e-3], [5e-4, 4e-3, 4.5e-3]],
        compliance: [1e-3, 1e-5, 0.0][trial % 3],
        motor: HingeMotor { gain: 2.0, shaft_kg_m2: 3e-4 },
        ..Default::default()
    });
    mechanism.tilt_rad = Vector3::new(0.1, -0.2, 0.3);
    let met = mechanism.assemble(&[0.3, 1.0]).unwrap();
    if trial % 5 == 4 {
        mechanism.joints[1].kind = HeldJointKind::Point;
    }
    let mut pose = met.clone();
    let off: Vec<f64> = (0..12).map(|_| draw.random_range(-1e-2..1e-2)).collect();
    move_pose(&met, &off, &mut pose);
    let velocity = (0..12).map(|_| draw.random_range(-2.0..2.0)).collect();
    let mut sought = vec![P::Viscous(0), P::Viscous(1), P::Gain(0), P::Shaft(0)];
    sought.extend((0..3).map(P::Tilt));
    for b in 0..2 {
        sought.push(P::Mass(b));
        sought.extend((0..3).map(|i| P::Inertia(b, i)));
        if trial % 2 == 1 {
            sought.extend([P::Kinetic(b), P::Excess(b), P::Rate(b)]);
        }
    }
    sought.retain(|p| p.exists(&mechanism));
    (mechanism, DiscreteState { pose, velocity }, sought)
}

/// The unknowns of a step, and the friction that was found, starting from `friction`.
fn solved(
    mechanism: &Mechanism,
    state: &DiscreteState,
    friction: &mut Vec<HingeFriction>,
    space: &mut StepSpace,
) -> Equations {
    let (equations, geometry) = (Equations::new(mechanism, 0.01), Geometry::at(mechanism, &state.pose));
    let at = Start { mechanism, geometry: &geometry, v: &state.velocity, controls: &[0.4, 0.0] };
    if friction.is_empty() {
        *friction = first_guess(&equations, &geometry, &state.velocity);
    }
    space.solve(&equations, at, &[], friction).unwrap();
    equations
}

/// The point that is moved by `step` along column `c`: the state's tangent, then the parameters.
fn moved(
    c: usize,
    step: f64,
    mechanism: &Mechanism,
    state: &DiscreteState,
    sought: &[P],
) -> (Mechanism, DiscreteState) {
    let (mut mechanism, mut out) = (mechanism.clone(), state.clone());
    if c < 12 {
        let mut d = [0.0; 12];
        d[c] = step;
        move_pose(&state.pose, &d, &mut out.pose);
    } else if c < 24 {
        out.velocity[c - 12] += step;
    } else {
        let value = sought[c - 24].get(&mechanism);
        sought[c - 24].set(&mut mechanism, value + step);
    }
    (mechanism, out)
}

#[test]
fn slopes_of_a_step_agree_with_differences() {
    let mut draw = ChaCha8Rng::seed_from_u64(1);
    let mut seen = [0; 3];
    for trial in 0..60 {
        let (mechanism, state, sought) = case(trial, &mut draw);
        let (mut friction, mut space) = (vec![], StepSpace::default());
        let equations = solved(&mechanism, &state, &mut friction, &mut space);
        seen[0] += friction.iter().filter(|f| f.sliding != 0).count();
        seen[1] += friction.iter().filter(|f| f.sliding == 0).count();
        seen[2] += usize::from(mechanism.joints[1].kind == HeldJointKind::Point);
        let geometry = Geometry::at(&mechanism, &state.pose);
        let at =
            Start { mechanism: &mechanism, geometry: &geometry, v: &state.velocity, controls: &[0.4, 0.0] };
        let width = 24 + sought.len();
        let mut slopes = vec![0.0; equations.size() * width];
        let y = space.y.clone();
        equations.fill_slopes(at, &friction, &y, &sought, 0, &mut slopes);
        space.elimination.solve(&mut slopes, width, 0);
        for c in 0..width {
            let size = if c < 24 { 1.0 } else { sought[c - 24].get(&mechanism).abs().max(1e-3) };
            let e = 1e-5 * size;
            let [more, less] = [e, -e].map(|e| {
                let (mechanism, state) = moved(c, e, &mechanism, &state, &sought);
                let (mut active, mut space) = (friction.clone(), StepSpace::default());
                solved(&mechanism, &state, &mut active, &mut space);
                assert_eq!(active, friction, "a switch: draw another case");
                space.y
            });
            let largest = (0..12).map(|i| (size * slopes[i * width + c]).abs()).fold(1e-3, f64::max);
            for i in 0..12 {
                let difference = (more[i] - less[i]) / 2e-5;
                let slope = -size * slopes[i * width + c];
                assert!(
                    (difference - slope).abs() < 2e-6 * largest,
                    "{trial}, column {c}, row {i}: {difference} {slope}"
                );
            }
        }
    }
    println!("{seen:?} sliding, sticking, points");
    assert!(seen.iter().all(|n| *n > 5), "{seen:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn sign_states_agree_with_lemke_and_the_step_is_unique_where_friction_is_small_at_length() {
    let mut draw = ChaCha8Rng::seed_from_u64(2);
    let (mut stuck, mut slid) = (0, 0);
    for trial in 0..200 {
        let mut some = |most: f64| draw.random_range(0.0..most);
        let dry = DryFriction { kinetic: some(0.1), excess: some(0.1), rate: 1.0, radius_m: 0.3, creep: 0.0 };
        let mechanism = furuta(&FurutaNumbers { dry: Some([dry; 2]), ..Default::default() });
        let equations = Equations::new(&mechanism, 0.01);
        let angles = [draw.random_range(-3.0..3.0), draw.random_range(-3.0..3.0)];
        let pose = mechanism.assemble(&angles).unwrap();
        let size = [1.0, 1e-2, 0.0][trial % 3];
        let v: Vec<f64> = (0..12).map(|_| size * draw.random_range(-1.0..1.0)).collect();
        let geometry = Geometry::at(&mechanism, &pose);
        let at = Start { mechanism: &mechanism, geometry: &geometry, v: &v, controls: &[0.0; 2] };
        let mut space = StepSpace::default();
        let mut friction = first_guess(&equations, &geometry, &v);
        space.solve(&equations, at, &[], &mut friction).unwrap();
        let y = space.y.clone();
        space.prepare(&equations, at, &[]);
        let mut judged = space.by_lemke(&equations, at).expect("Lemke's method ends at a solution");
        let sliding = |f: &[HingeFriction]| f.iter().map(|f| f.sliding).collect::<Vec<_>>();
        let said = sliding(&judged);
        space.solve(&equations, at, &[], &mut judged).unwrap();
        assert_eq!(sliding(&judged), said, "{trial}: Lemke's state confirms itself");
        assert!((0..12).all(|i| (space.y[i] - y[i]).abs() < 1e-9), "{trial}: {friction:?} {said:?}");
        assert_eq!(space.solutions(&equations, at, &[]).len(), 1, "{trial}");
        stuck += said.iter().filter(|s| **s == 0).count();
        slid += said.iter().filter(|s| **s != 0).count();
    }
    assert!(stuck > 50 && slid > 50, "{stuck} {slid}");
}

/// Arm, shaft and rod by Lagrange: (theta_1, theta_2, rates) after `duration` with steps of Runge and Kutta.
fn minimal(n: &FurutaNumbers, start: [f64; 2], duration: f64) -> [f64; 4] {
    let rod = n.masses[1];
    let slope = |x: [f64; 4]| {
        let ([_, q, d1, d2], (s, c)) = (x, x[1].sin_cos());
        let upright =
            n.inertias[0][2] + n.masses[0] * n.l_1.powi(2) + rod * n.l_a.powi(2) + n.motor.shaft_kg_m2;
        let across = n.inertias[1][2] + rod * n.l_2 * n.l_2;
        let (m11, m22) =
            (upright + n.inertias[1][0] * c * c + across * s * s, n.inertias[1][1] + rod * n.l_2 * n.l_2);
        let (couple, a) = (rod * n.l_a * n.l_2, across - n.inertias[1][0]);
        let m12 = couple * q.cos();
        let f1 = -2.0 * a * s * c * d1 * d2 + couple * s * d2 * d2 - n.viscous[0] * d1;
        let f2 = a * s * c * d1 * d1 - rod * GRAVITY * n.l_2 * s - n.viscous[1] * d2;
        let det = m11 * m22 - m12 * m12;
        [d1, d2, (m22 * f1 - m12 * f2) / det, (m11 * f2 - m12 * f1) / det]
    };
    let steps = (duration / 1e-4).round() as usize;
    let mut x = [start[0], start[1], 0.0, 0.0];
    for _ in 0..steps {
        let along = |k: [f64; 4], h: f64| std::array::from_fn(|i| x[i] + h * k[i]);
        let k1 = slope(x);
        let k2 = slope(along(k1, 5e-5));
        let k3 = slope(along(k2, 5e-5));
        let k4 = slope(along(k3, 1e-4));
        x = std::array::from_fn(|i| x[i] + 1e-4 / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    x
}

fn run(mechanism: Mechanism, h: f64, start: [f64; 2], duration: f64) -> [f64; 2] {
    let pose = mechanism.assemble(&start).unwrap();
    let mut stepper = Stepper::new(mechanism, h, &pose).unwrap();
    let mut state = DiscreteState { pose, velocity: vec![0.0; 12] };
    let mut angles = start;
    for _ in 0..(duration / h).round() as usize {
        stepper.step(&mut state, &[0.0; 2]).unwrap();
        angles = [0, 1].map(|j| stepper.angle(&state, j, angles[j]));
    }
    angles
}

/// Halving the step halves the distance to minimal coordinates, once compliance is out of the way.
#[test]
fn steps_converge_to_minimal_coordinates_at_first_order() {
    let numbers = FurutaNumbers { compliance: 0.0, ..Default::default() };
    let (start, duration) = ([0.0, 2.0], 0.6);
    let exact = minimal(&numbers, start, duration);
    // Hinge 1 may turn the other way round in the textbook's formulas.
    let error = |h: f64| {
        let found = run(furuta(&numbers), h, start, duration);
        (found[1] - exact[1]).abs().max((found[0].abs() - exact[0].abs()).abs())
    };
    let errors = [2e-3, 1e-3, 5e-4].map(error);
    println!("{errors:?}, {exact:?}");
    for pair in errors.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!((1.7..2.3).contains(&ratio), "{errors:?}");
    }
    assert!(errors[2] < 5e-3, "{errors:?}");
}

#[test]
fn energy_drifts_at_first_order_and_constraints_hold() {
    let drift = |h: f64| {
        let mechanism = furuta(&FurutaNumbers { compliance: 1e-9, viscous: [0.0; 2], ..Default::default() });
        let pose = mechanism.assemble(&[0.0, 2.5]).unwrap();
        let mut stepper = Stepper::new(mechanism, h, &pose).unwrap();
        let mut state = DiscreteState { pose, velocity: vec![0.0; 12] };
        let before = stepper.energy(&state);
        for _ in 0..(1.0 / h).round() as usize {
            stepper.step(&mut state, &[0.0; 2]).unwrap();
        }
        assert!(stepper.violation(&state) < h, "{h}: {}", stepper.violation(&state));
        (stepper.energy(&state) - before).abs()
    };
    let (coarse, fine) = (drift(1e-3), drift(2.5e-4));
    assert!(fine < 2e-3 && coarse / fine > 2.0, "{coarse} {fine}");
}

/// Two bodies on a hinge in free space: linear momentum to rounding, angular momentum at first order of the step.
#[test]
fn momentum_is_kept_in_free_space() {
    let drift = |h: f64| {
        let mut mechanism = furuta(&FurutaNumbers { compliance: 0.0, ..Default::default() });
        mechanism.gravity_m_s2 = Vector3::zeros();
        let pose = mechanism.assemble(&[0.4, 1.0]).unwrap();
        mechanism.joints.remove(0);
        let mut stepper = Stepper::new(mechanism.clone(), h, &pose).unwrap();
        let mut state = DiscreteState {
            pose,
            velocity: vec![0.1, 0.0, 0.3, 0.5, 2.0, -1.0, 0.0, 0.2, 0.0, 1.0, 3.0, 0.5],
        };
        let momenta = |state: &DiscreteState| {
            let geometry = Geometry::at(&mechanism, &state.pose);
            let (mut linear, mut angular) = (Vector3::zeros(), Vector3::zeros());
            for (b, body) in mechanism.bodies.iter().enumerate() {
                let part = |x: &[f64], at: usize| Vector3::new(x[at], x[at + 1], x[at + 2]);
                let p = part(&state.velocity, 6 * b) * body.mass_kg;
                linear += p;
                angular += part(&state.pose, 7 * b).cross(&p)
                    + geometry.inertias[b] * part(&state.velocity, 6 * b + 3);
            }
            (linear, angular)
        };
        // The first step brings the velocities onto the constraint.
        stepper.step(&mut state, &[0.0]).unwrap();
        let before = momenta(&state);
        for _ in 0..(0.5 / h).round() as usize {
            stepper.step(&mut state, &[0.0]).unwrap();
        }
        let after = momenta(&state);
        assert!((after.0 - before.0).norm() < 1e-12);
        (after.1 - before.1).norm() / before.1.norm()
    };
    let (coarse, fine) = (drift(1e-3), drift(2.5e-4));
    assert!(fine < 5e-3 && coarse / fine > 2.0, "{coarse} {fine}");
}

fn hinge(kinetic: f64) -> HeldJointKind {
    let dry = DryFriction { kinetic, radius_m: 1.0, ..Default::default() };
    HeldJointKind::Hinge { viscous: 0.0, dry: Some(dry), motor: None }
}

#[test]
fn dry_friction_holds_a_pendulum_and_its_step_is_unique() {
    let mechanism = pendulum(0.4, 0.1, 4e-3, hinge(0.05), 1e-6);
    let pose = mechanism.assemble(&[0.3]).unwrap();
    let mut stepper = Stepper::new(mechanism, 1e-3, &pose).unwrap();
    let mut state = DiscreteState { pose, velocity: vec![0.0; 6] };
    for _ in 0..500 {
        stepper.step(&mut state, &[0.0]).unwrap();
    }
    assert!((stepper.angle(&state, 0, 0.3) - 0.3).abs() < 1e-3);
    assert_eq!(stepper.solutions(&state, &[0.0]), 1);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let good = furuta(&FurutaNumbers { compliance: 0.0, ..Default::default() });
    let pose = good.assemble(&[0.0, 0.3]).unwrap();
    let said = |mechanism: Mechanism| Stepper::new(mechanism, 0.01, &pose).unwrap_err().to_string();
    assert!(Stepper::new(good.clone(), 0.01, &pose).is_ok());
    let mut twice = good.clone();
    twice.joints.push(twice.joints[1].clone());
    twice.joints[2].name = "copy".into();
    let reason = said(twice);
    assert!(reason.contains("over-constrained") && reason.contains("copy"), "{reason}");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut wrong = good.clone();
        wrong.bodies[1].inertia_kg_m2[2] = bad;
        assert!(said(wrong).contains("body `rod`: `inertia_kg_m2`"));
        let mut wrong = good.clone();
        wrong.bodies[0] = FreeBody { mass_kg: bad, ..wrong.bodies[0].clone() };
        assert!(said(wrong).contains("body `arm`: `mass_kg`"));
    }
    let mut wrong = good.clone();
    wrong.joints[0].relaxation_s = f64::NAN;
    assert!(said(wrong).contains("joint `hinge 1`: `relaxation_s`"));
    assert!(Stepper::new(good.clone(), 0.0, &pose).unwrap_err().to_string().contains("step_s"));
    assert!(Stepper::new(good.clone(), 0.01, &pose[1..]).is_err());
    let mut stepper = Stepper::new(good, 0.01, &pose).unwrap();
    let mut state = DiscreteState { pose: pose.clone(), velocity: vec![0.0; 12] };
    assert!(stepper.step(&mut state, &[f64::NAN, 0.0]).is_err());
    state.velocity[3] = f64::NAN;
    assert!(stepper.step(&mut state, &[0.0; 2]).is_err());
    assert_eq!(state.pose, pose);
}

/// \[5\] says that large friction makes the step ambiguous. A pendulum that rises slowly, its swing nearly
/// at an end, may slide on as its bearing hardly presses, or be held back by a torque whose own bearing force makes it possible.
#[test]
fn large_friction_has_several_solutions_and_says_so() {
    let mut draw = ChaCha8Rng::seed_from_u64(5);
    let mut counts = [0; 4];
    for _ in 0..300 {
        let mut some = |a: f64, b: f64| draw.random_range(a..b);
        let (mass, arm, inertia) = (some(0.1, 1.0), some(0.02, 0.5), some(1e-4, 1e-2));
        let with = |kinetic: f64| {
            let dry = DryFriction { kinetic, excess: 0.0, rate: 1.0, radius_m: 0.3, creep: 0.0 };
            let kind = HeldJointKind::Hinge { viscous: 0.0, dry: Some(dry), motor: None };
            pendulum(mass, arm, inertia, kind, 1e-6)
        };
        let free = with(0.0);
        let pose = free.assemble(&[some(-3.0, 3.0)]).unwrap();
        let mut state = DiscreteState { pose: pose.clone(), velocity: vec![0.0; 6] };
        let mut falling = Stepper::new(free, 1e-3, &pose).unwrap();
        for _ in 0..(some(1.0, 100.0) as usize) {
            falling.step(&mut state, &[0.0]).unwrap();
        }
        // The way back up.
        state.velocity.iter_mut().for_each(|v| *v = -*v);
        let mut stepper = Stepper::new(with(some(0.5, 20.0)), 1e-3, &pose).unwrap();
        let count = stepper.solutions(&state, &[0.0]);
        counts[count.min(3)] += 1;
        assert_eq!(stepper.step(&mut state, &[0.0]).is_ok(), count > 0);
    }
    println!("draws with none, one, two and more solutions: {counts:?}");
    // Measured: 12 of 300 have three solutions.
    assert!(counts[2] + counts[3] > 5, "{counts:?}");
}
