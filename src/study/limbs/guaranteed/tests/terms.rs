//! Each term of a row's radius by itself: errors that reach it leave the truth at its edge, so that a bound that is 3 % smaller fails.

use rand::SeedableRng;

use super::*;
use crate::dynamics::constraint::reduced::domain::enclosed::Following;
use crate::enclose::Affine;
use crate::inertia::ParameterSet;

/// Share of the radius that the errors must reach: a bound 3 % smaller would be exceeded.
const REACHED: f64 = 0.97;

/// No errors at all.
fn exact() -> FrictionAssumptions {
    FrictionAssumptions {
        position_error: 0.0,
        velocity_error: 0.0,
        torque_error: vec![0.0],
        unmodelled: vec![0.0],
        ..assumptions()
    }
}

fn point(theta: &[f64]) -> ParameterSet {
    ParameterSet::new(theta.to_vec(), theta.to_vec()).unwrap()
}

/// For each motor by how much of its radius the truth misses the row over all samples.
fn missed(
    leg: &Model,
    bounds: &FrictionAssumptions,
    samples: Vec<Sample>,
    case: (&ParameterSet, &[f64]),
) -> Vec<f64> {
    let domain = ClosureDomain::of(leg).unwrap();
    let frame = Frame::new(leg.clone(), motors_and_base(leg));
    let m = frame.motors.len();
    let each = |list: &[f64]| if list.len() == 1 { vec![list[0]; m] } else { list.to_vec() };
    let (set, theta) = case;
    let maker = Maker::new(&frame, &domain, (bounds, each(&bounds.acceleration)), set);
    let stretch = stretch(&maker, samples, 1).unwrap_or_else(|(at, _)| panic!("sample {at}"));
    let torque = bounds.torque_error[0] + bounds.unmodelled[0];
    let rows = stretch.rows(&frame, (&(0..stretch.panels.len()), &vec![torque; m]), set);
    let miss = |k: usize| {
        let y: f64 = rows.y.row(k).iter().zip(theta).map(|(y, z)| y * z).sum();
        (y - rows.u[k]) / rows.radius[k]
    };
    let missed: Vec<f64> = (0..m).map(miss).collect();
    println!("{missed:.4?}");
    assert!(missed.iter().all(|x| x.abs() <= 1.0), "{missed:?}");
    missed
}

/// Samples of a motion without errors, torques as they are in the mean.
fn samples(
    leg: &mut Numbers<'_>,
    theta: &[f64],
    motion: &dyn Fn(f64) -> [Vec<f64>; 3],
    times: &[f64],
) -> Vec<Sample> {
    let record = |i: usize| {
        let [q, dq, _] = motion(times[i]);
        let after = times.get(i + 1).copied().unwrap_or(times[i] + 1e-3);
        Sample { t: times[i], q, dq, tau: leg.mean(theta, motion, [times[i], after]) }
    };
    (0..times.len()).map(record).collect()
}

fn times(count: usize, period: f64) -> Vec<f64> {
    (0..=count).map(|k| k as f64 * period).collect()
}

/// A leg, its domain, and parameters without Coulomb friction: its sign is a term of its own.
fn case() -> (Model, ClosureDomain, Vec<f64>) {
    let leg = leg();
    let domain = ClosureDomain::of(&leg).unwrap();
    let mut theta = leg.nominal_parameters();
    (0..leg.bodies()).for_each(|j| theta[leg.friction_index(j) + COULOMB] = 0.0);
    (leg, domain, theta)
}

/// Motors at rest in the middle of what they can.
fn still(leg: &Model, domain: &ClosureDomain) -> [Vec<f64>; 3] {
    let [q, ..] = Waves::draw(leg, domain, &mut ChaCha8Rng::seed_from_u64(4)).at(0.3);
    [q, vec![0.0; 6], vec![0.0; 6]]
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn without_errors_rows_are_exact_at_length() {
    let (leg, domain, theta) = case();
    let waves = Waves::draw(&leg, &domain, &mut ChaCha8Rng::seed_from_u64(3));
    let bounds = FrictionAssumptions { acceleration: waves.acceleration(), ..exact() };
    let mut numbers = Numbers::new(&leg, &domain);
    let samples = samples(&mut numbers, &theta, &|t| waves.at(t), &times(20, 1e-3));
    missed(&leg, &bounds, samples, (&point(&theta), &theta));
}

#[test]
fn torque_errors_and_what_is_not_modelled_are_charged_whole() {
    let (leg, domain, theta) = case();
    let motion = still(&leg, &domain);
    for bounds in [
        FrictionAssumptions { torque_error: vec![0.5], ..exact() },
        FrictionAssumptions { unmodelled: vec![0.5], ..exact() },
    ] {
        let mut numbers = Numbers::new(&leg, &domain);
        let mut samples = samples(&mut numbers, &theta, &|_| motion.clone(), &times(2, 1e-3));
        samples.iter_mut().for_each(|sample| sample.tau.iter_mut().for_each(|tau| *tau += 0.5));
        let reached = missed(&leg, &bounds, samples, (&point(&theta), &theta));
        assert!(reached.iter().all(|x| *x <= -REACHED), "{reached:?}");
    }
}

#[test]
fn static_friction_is_charged_up_to_the_breakaway_ratio() {
    let (leg, domain, mut theta) = case();
    frictionless(&leg, &mut theta);
    let motion = still(&leg, &domain);
    let mut numbers = Numbers::new(&leg, &domain);
    let mut samples = samples(&mut numbers, &theta, &|_| motion.clone(), &times(2, 1e-3));
    let motors = motors_and_base(&leg);
    motors.iter().for_each(|&joint| theta[leg.friction_index(joint) + COULOMB] = 2.0);
    samples.iter_mut().for_each(|sample| sample.tau.iter_mut().for_each(|tau| *tau += 1.2 * 2.0));
    let reached = missed(&leg, &exact(), samples, (&point(&theta), &theta));
    assert!(reached.iter().all(|x| *x <= -REACHED), "{reached:?}");
}

#[test]
fn static_friction_of_passive_joints_is_charged_by_their_ratios() {
    let (leg, domain, mut theta) = case();
    let motion = still(&leg, &domain);
    let mut numbers = Numbers::new(&leg, &domain);
    let recorded = samples(&mut numbers, &theta, &|_| motion.clone(), &times(2, 1e-3));
    numbers.place(&motion);
    let (g, motors) = (numbers.reduced.g().clone(), motors_and_base(&leg));
    for joint in (0..leg.bodies()).filter(|joint| !motors.contains(joint)) {
        theta[leg.friction_index(joint) + COULOMB] = 0.3;
    }
    for (k, own) in g.column_iter().enumerate() {
        let passive = own.iter().enumerate().filter(|(joint, _)| !motors.contains(joint));
        let most = passive.map(|(_, ratio)| 1.2 * 0.3 * ratio.abs()).sum::<f64>();
        // What is left of rounding binds nothing.
        if most < 1e-9 {
            continue;
        }
        let mut samples = recorded.clone();
        samples.iter_mut().for_each(|sample| sample.tau[k] += most);
        let reached = missed(&leg, &exact(), samples, (&point(&theta), &theta));
        assert!(reached[k] <= -REACHED, "{k}: {reached:?}");
    }
}

fn frictionless(leg: &Model, theta: &mut [f64]) {
    for joint in 0..leg.bodies() {
        let at = leg.friction_index(joint);
        (theta[at + COULOMB], theta[at + VISCOUS], theta[at + OFFSET]) = (0.0, 0.0, 0.0);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn speed_errors_at_the_ends_are_charged_as_one_at_length() {
    let (leg, domain, mut theta) = case();
    frictionless(&leg, &mut theta);
    let motion = still(&leg, &domain);
    let bounds = FrictionAssumptions { velocity_error: 0.02, ..exact() };
    let mut numbers = Numbers::new(&leg, &domain);
    let recorded = samples(&mut numbers, &theta, &|_| motion.clone(), &times(2, 1e-4));
    numbers.place(&motion);
    let (mass, _) = numbers.reduced.mass_and_bias(&leg, &theta).unwrap();
    for k in 0..6 {
        let mut samples = recorded.clone();
        for s in 0..6 {
            let by = 0.02 * mass[(k, s)].signum();
            samples[0].dq[s] -= by;
            samples[2].dq[s] += by;
        }
        let reached = missed(&leg, &bounds, samples, (&point(&theta), &theta));
        assert!(reached[k] >= REACHED, "{k}: {reached:?}");
    }
}

/// Momentum of a motor, with what its viscous friction makes of the position.
fn momentum(numbers: &mut Numbers<'_>, theta: &[f64], k: usize, q: &[f64], v: &[f64]) -> f64 {
    numbers.place(&[q.to_vec(), v.to_vec(), vec![0.0; 6]]);
    let (mass, _) = numbers.reduced.mass_and_bias(numbers.robot, theta).unwrap();
    let own = numbers.robot.friction_index(motors_and_base(numbers.robot)[k]);
    (0..6).map(|s| mass[(k, s)] * v[s]).sum::<f64>() + theta[own + VISCOUS] * q[k]
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn position_errors_at_the_ends_are_charged_as_one_at_length() {
    let (leg, domain, theta) = case();
    let waves = Waves::draw(&leg, &domain, &mut ChaCha8Rng::seed_from_u64(5));
    let (error, start) = (2e-5, 0.2);
    let motion = |t: f64| waves.at(start + t);
    let bounds = FrictionAssumptions { position_error: error, acceleration: waves.acceleration(), ..exact() };
    let mut numbers = Numbers::new(&leg, &domain);
    let recorded = samples(&mut numbers, &theta, &motion, &times(1, 1e-5));
    for k in 0..6 {
        let mut samples = recorded.clone();
        for (end, sign) in [(0, -1.0), (1, 1.0)] {
            let sample = recorded[end].clone();
            for s in 0..6 {
                let mut at = |by: f64| {
                    let mut q = sample.q.clone();
                    q[s] += by;
                    momentum(&mut numbers, &theta, k, &q, &sample.dq)
                };
                samples[end].q[s] += sign * error * (at(1e-6) - at(-1e-6)).signum();
            }
        }
        let reached = missed(&leg, &bounds, samples, (&point(&theta), &theta));
        assert!(reached[k] >= REACHED, "{k}: {reached:?}");
    }
}

/// Adversarial position errors of a leg at rest: what it weighs at motor k, for parameters `theta`.
fn misplaced(
    numbers: &mut Numbers<'_>,
    theta: &[f64],
    k: usize,
    motion: &[Vec<f64>; 3],
    error: f64,
) -> Vec<f64> {
    let mut signs = vec![0.0; 6];
    for (s, sign) in signs.iter_mut().enumerate() {
        let mut at = |by: f64| {
            let mut moved = motion.clone();
            moved[0][s] += by;
            numbers.torque(theta, &moved)[k]
        };
        *sign = error * (at(1e-5) - at(-1e-5)).signum();
    }
    signs
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn position_errors_between_are_charged_as_one_at_length() {
    let (leg, domain, mut theta) = case();
    frictionless(&leg, &mut theta);
    let motion = still(&leg, &domain);
    let bounds = FrictionAssumptions { position_error: 1e-4, ..exact() };
    let mut numbers = Numbers::new(&leg, &domain);
    let recorded = samples(&mut numbers, &theta, &|_| motion.clone(), &times(10, 1e-3));
    for k in 0..6 {
        let errors = misplaced(&mut numbers, &theta, k, &motion, 1e-4);
        let mut samples = recorded.clone();
        samples.iter_mut().for_each(|x| x.q.iter_mut().zip(&errors).for_each(|(q, e)| *q += e));
        let reached = missed(&leg, &bounds, samples, (&point(&theta), &theta));
        assert!(reached[k] >= REACHED, "{k}: {reached:?}");
    }
}

#[test]
fn what_errors_do_to_unknown_parameters_is_charged() {
    // A first moment of which nothing is known but a bound: the middle of the set is zero, and all of the charge is by its width.
    let (leg, domain, theta) = case();
    let none = vec![0.0; theta.len()];
    let knee = leg.joints.iter().position(|joint| joint.name.contains("knee")).unwrap();
    let mut truth = none.clone();
    truth[leg.body_range(knee).start + 1] = 1.0;
    let set = ParameterSet::new(truth.iter().map(|x| -x).collect(), truth.clone()).unwrap();
    let motion = still(&leg, &domain);
    let bounds = FrictionAssumptions { position_error: 1e-4, ..exact() };
    let mut numbers = Numbers::new(&leg, &domain);
    let recorded = samples(&mut numbers, &truth, &|_| motion.clone(), &times(1, 1e-3));
    let k = motors_and_base(&leg).iter().position(|&joint| joint == knee).unwrap();
    let errors = misplaced(&mut numbers, &truth, k, &motion, 1e-4);
    let mut samples = recorded;
    samples.iter_mut().for_each(|x| x.q.iter_mut().zip(&errors).for_each(|(q, e)| *q += e));
    let reached = missed(&leg, &bounds, samples, (&set, &truth));
    assert!(reached[k] >= REACHED, "{reached:?}");
}

/// A motor at speed `v0` that accelerates by `a` in the first half of each panel and by `-a` in the second: how far it is after `t` s, its speed, its acceleration.
fn zigzag([v0, a, period]: [f64; 3], t: f64) -> [f64; 3] {
    let panels = t / period + 1e-9;
    let s = panels.fract() * period;
    let (first, rest) = (s.min(0.5 * period), (s - 0.5 * period).max(0.0));
    let moved = v0 * s + 0.5 * a * first * first + a * first * rest - 0.5 * a * rest * rest;
    let each = v0 * period + 0.25 * a * period * period;
    [panels.floor() * each + moved, v0 + a * first - a * rest, if s < 0.5 * period { a } else { -a }]
}

#[test]
fn motion_between_samples_is_charged() {
    // Weightless; the hip swings, and the leg pulls at the knee by the square of its speed.
    let (mut leg, _, mut theta) = case();
    leg.gravity = nalgebra::Vector3::zeros();
    frictionless(&leg, &mut theta);
    let domain = ClosureDomain::of(&leg).unwrap();
    let [middle, ..] = still(&leg, &domain);
    let place = |name: &str| {
        motors_and_base(&leg).iter().position(|&joint| leg.joints[joint].name.contains(name)).unwrap()
    };
    let (hip, knee) = (place("hip_pitch"), place("knee"));
    // So short that what a panel's range of positions adds is small beside it.
    let period = 5e-5;
    for a in [40.0, -40.0] {
        let motion = |t: f64| {
            let mut all = [middle.clone(), vec![0.0; 6], vec![0.0; 6]];
            all.iter_mut().zip(zigzag([2.0, a, period], t)).for_each(|(all, x)| all[hip] += x);
            all
        };
        let mut bounds = exact();
        bounds.acceleration = vec![0.0; 6];
        bounds.acceleration[hip] = a.abs();
        let mut numbers = Numbers::new(&leg, &domain);
        let record = |&t: &f64| {
            // Torques of both halves apart, as the acceleration jumps.
            let [q, dq, _] = motion(t);
            let halves = [[t, t + 0.5 * period], [t + 0.5 * period, t + period]];
            let means = halves.map(|[from, to]| numbers.mean(&theta, &motion, [from, to]));
            Sample { t, q, dq, tau: (0..6).map(|i| 0.5 * (means[0][i] + means[1][i])).collect() }
        };
        let samples: Vec<Sample> = times(2, period).iter().map(record).collect();
        let reached = missed(&leg, &bounds, samples, (&point(&theta), &theta));
        assert!(reached[knee].abs() >= REACHED, "{reached:?}");
    }
}

#[test]
fn speeds_between_samples_are_as_far_as_accelerations_allow() {
    let (leg, domain, theta) = case();
    let frame = Frame::new(leg.clone(), motors_and_base(&leg));
    let (a, h) = (20.0, 0.01);
    let bounds = exact();
    let maker = Maker::new(&frame, &domain, (&bounds, vec![a; 6]), &point(&theta));
    // From speed x at both samples the motor may come down by a h / 2 between, no further.
    let sample = |t: f64, x: f64| Sample { t, q: vec![x * t; 6], dq: vec![x; 6], tau: vec![0.0; 6] };
    let dip = 0.5 * a * h;
    for (share, certain) in [(0.97, false), (1.03, true)] {
        let x = leg.friction_speed_rad_s + share * dip;
        let (_, v) = maker.between(0, [&sample(0.0, x), &sample(h, x)]);
        assert!(v.contains(x - 0.999 * dip));
        assert_eq!(maker.direction(v) == Interval::constant(1.0), certain);
        let (_, v) = maker.between(0, [&sample(0.0, -x), &sample(h, -x)]);
        assert_eq!(maker.direction(v) == Interval::constant(-1.0), certain);
    }
    // At rest at both samples, it may have moved by a h^2 / 16 between (and the bound is twice that).
    let (q, _) = maker.between(0, [&sample(0.0, 0.0), &sample(h, 0.0)]);
    assert!(q.upper() >= a * h * h / 16.0 && q.upper() < 0.3 * a * h * h);
}

/// All joints where the motors are within `error` of `q`, their speeds within twice that of `v`.
fn over_box(leg: &Model, domain: &ClosureDomain, [q, v]: [&[f64]; 2], error: f64) -> Following<Affine<12>> {
    let motors = motors_and_base(leg);
    let spread = |own: &dyn Fn(usize) -> Affine<12>| {
        let mut all = vec![Affine::<12>::zero(); leg.bodies()];
        motors.iter().enumerate().for_each(|(k, &j)| all[j] = own(k));
        all
    };
    let boxes: Vec<Interval> = (0..leg.bodies())
        .map(|j| {
            motors.iter().position(|&m| m == j).map_or(Interval::zero(), |k| Interval::around(q[k], error))
        })
        .collect();
    let at = domain.enclose(leg, &boxes).unwrap();
    domain
        .follow(
            &at,
            spread(&|k| Affine::constant(q[k]) + Affine::symbol(k, error)),
            spread(&|k| Affine::constant(v[k]) + Affine::symbol(6 + k, 2.0 * error)),
        )
        .unwrap()
}

#[test]
fn closures_and_ratios_of_a_box_hold_those_of_its_points() {
    let (leg, domain, _) = case();
    let mut numbers = Numbers::new(&leg, &domain);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let (motors, error) = (motors_and_base(&leg), 1e-3);
    let mut nearest = f64::INFINITY;
    for seed in 0..10 {
        let [q, v, _] = Waves::draw(&leg, &domain, &mut ChaCha8Rng::seed_from_u64(seed)).at(0.4);
        let found = over_box(&leg, &domain, [&q, &v], error);
        for trial in 0..20 {
            let mut e = || {
                if trial % 2 == 0 {
                    f64::from(i8::from(rng.random::<bool>()) * 2 - 1)
                } else {
                    rng.random_range(-1.0..=1.0)
                }
            };
            let moved: Vec<f64> = q.iter().map(|q| q + error * e()).collect();
            let faster: Vec<f64> = v.iter().map(|v| v + 2.0 * error * e()).collect();
            numbers.place(&[moved, faster, vec![0.0; 6]]);
            // Newton's method leaves some 1e-14 m.
            let holds = |form: &Affine<12>, x: f64| {
                form.interval().contains(x) || form.widen(1e-11).interval().contains(x)
            };
            for j in 0..leg.bodies() {
                assert!(holds(&found.q[j], numbers.reduced.q()[j]), "position {j}");
                assert!(holds(&found.v[j], numbers.reduced.v()[j]), "speed {j}");
                let range = found.q[j].interval();
                let room =
                    (range.upper() - numbers.reduced.q()[j]).min(numbers.reduced.q()[j] - range.lower());
                nearest = nearest.min(room / range.radius());
            }
            let (g, rate) = (numbers.reduced.g().clone(), numbers.reduced.g_rate(&leg));
            for tie in &found.ties {
                let k = motors.iter().position(|&j| j == tie.motor).unwrap();
                assert!(holds(&tie.ratio, g[(tie.passive, k)]));
                assert!(
                    holds(&tie.rate, rate[(tie.passive, k)]),
                    "{:?} {}",
                    tie.rate.interval(),
                    rate[(tie.passive, k)]
                );
            }
        }
    }
    assert!(nearest < 0.03, "{nearest}");
}
