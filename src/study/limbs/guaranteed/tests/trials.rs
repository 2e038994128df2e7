//! Truths and errors drawn: the truth is inside.

use std::path::PathBuf;

use rand::SeedableRng;

use super::*;

const PERIOD_S: f64 = 0.002;
/// How long a recording of the long trials is.
const DURATION_S: f64 = 1.2;

/// How sensors err within their bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Errors {
    /// Anywhere.
    Random,
    /// At an end, drawn anew for each sample.
    Ends,
    /// At one end throughout, drawn for each sensor.
    Constant,
    /// Torques as friction would be, against or along the motion.
    Friction,
}

struct Trial {
    /// Whether the truth is in all intervals, and in the box of all parameters.
    inside: bool,
    /// Share of the prior's width that is left of Coulomb, viscous friction, armature, offset of each motor.
    shares: Vec<[f64; 4]>,
    rows: usize,
}

fn trial((leg, domain): (&Model, &ClosureDomain), (seed, seconds): (u64, f64)) -> Trial {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let prior = FrictionPrior::default().set(leg).unwrap();
    let theta = truth(&prior, &mut rng);
    let waves = Waves::draw(leg, domain, &mut rng);
    let bounds = FrictionAssumptions { acceleration: waves.acceleration(), ..assumptions() };
    let errors = [Errors::Random, Errors::Ends, Errors::Constant, Errors::Friction][seed as usize % 4];
    let sensors = (&bounds, errors, seconds);
    let samples = record(&mut Numbers::new(leg, domain), &theta, &waves, sensors, &mut rng);
    let log = MeasurementLog::of_samples(PathBuf::from("drawn.csv"), samples).unwrap();
    let logs = [MotorLog { log, passive: false }];
    let study = GuaranteedStudy {
        robot: leg,
        logs: &logs,
        assumptions: &bounds,
        prior: &prior,
        passive_tolerance: 0.0,
    };
    study.check(leg, 6).unwrap();
    let whole = leg.limbs();
    let limb = study.limb_within(leg, (&whole[0], "leg".to_owned()), &motors_and_base(leg), domain).unwrap();
    let within = |(motor, joint): (&GuaranteedMotor, usize)| {
        let at = leg.friction_index(joint);
        motor.intervals().iter().zip([COULOMB, VISCOUS, ARMATURE, OFFSET]).all(|((_, _, found), k)| {
            let [lower, upper] = found.interval;
            lower <= theta[at + k] && theta[at + k] <= upper && found.share() <= 1.0
        })
    };
    let inside = limb.motors.iter().zip(motors_and_base(leg)).all(within) && limb.set.contains(&theta);
    let shares = limb.motors.iter().map(|motor| motor.intervals().map(|(.., x)| x.share())).collect();
    Trial { inside, shares, rows: limb.rows }
}

/// What sensors within `bounds` say of so many seconds of a motion.
fn record(
    leg: &mut Numbers<'_>,
    theta: &[f64],
    waves: &Waves,
    (bounds, errors, seconds): (&FrictionAssumptions, Errors, f64),
    rng: &mut ChaCha8Rng,
) -> Vec<Sample> {
    let m = motors_and_base(leg.robot).len();
    let ends: Vec<f64> = (0..4 * m).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
    let mut err = |sensor: usize, v: f64| match errors {
        Errors::Random => rng.random_range(-1.0..=1.0),
        Errors::Ends => f64::from(i8::from(rng.random::<bool>()) * 2 - 1),
        Errors::Constant => ends[sensor],
        Errors::Friction => ends[sensor] * v.signum(),
    };
    let count = (seconds / PERIOD_S) as usize;
    let record = |i: usize| {
        let t = i as f64 * PERIOD_S;
        let [mut q, v, _] = waves.at(t);
        let mut tau = leg.mean(theta, &|t| waves.at(t), [t, (i + 1) as f64 * PERIOD_S]);
        let mut dq = v.clone();
        let errors: Vec<f64> = (0..4 * m).map(|sensor| err(sensor, v[sensor % m])).collect();
        let add = |x: &mut [f64], bound: f64, sensor: usize| {
            x.iter_mut().zip(&errors[sensor * m..]).for_each(|(x, error)| *x += bound * error);
        };
        add(&mut q, bounds.position_error, 0);
        add(&mut dq, bounds.velocity_error, 1);
        add(&mut tau, bounds.torque_error[0], 2);
        add(&mut tau, bounds.unmodelled[0], 3);
        Sample { t, q, dq, tau }
    };
    (0..=count).map(record).collect()
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}

/// Runs trials with recordings of so many seconds; gives the medians of the shares of each motor.
fn run(trials: u64, seconds: f64) -> Vec<[f64; 4]> {
    let leg = leg();
    let domain = ClosureDomain::of(&leg).unwrap();
    let of = |seed| trial((&leg, &domain), (seed, seconds));
    let done: Vec<Trial> = (0..trials).into_par_iter().map(of).collect();
    let inside = done.iter().filter(|trial| trial.inside).count();
    println!("truth inside in {inside} of {trials}; {} rows", done[0].rows);
    let medians: Vec<[f64; 4]> = (0..6)
        .map(|k| std::array::from_fn(|i| median(done.iter().map(|trial| trial.shares[k][i]).collect())))
        .collect();
    for (joint, shares) in motors_and_base(&leg).into_iter().zip(&medians) {
        println!("{}: Coulomb, viscous, armature, offset {shares:.3?}", leg.joints[joint].name);
    }
    assert_eq!(inside, done.len());
    medians
}

/// Short recordings, one for each way to err.
#[test]
fn the_truth_is_inside() {
    let medians = run(4, 0.3);
    assert!(medians.iter().all(|[_, viscous, ..]| *viscous < 0.9), "{medians:?}");
}

#[test]
#[ignore = "100 trials: some two minutes"]
fn the_truth_is_inside_at_length() {
    let medians = run(100, DURATION_S);
    for (k, [coulomb, ..]) in medians.iter().enumerate() {
        assert!(*coulomb < 0.8, "motor {k}: {coulomb}");
    }
}

/// What the documentation tells: `cargo test --release --lib study::limbs::guaranteed -- --ignored --nocapture five_hundred`
#[test]
#[ignore = "500 trials: some ten minutes"]
fn five_hundred_trials() {
    run(500, DURATION_S);
}
