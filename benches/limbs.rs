//! Both legs and both arms of Digit learnt from four recordings of 3 s at 500 Hz: rows, beliefs, and the fits that are told. The recordings are what inverse dynamics
//! with other parameters say, with noise; files are not read.

use std::path::PathBuf;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use surelift::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics};
use surelift::recording::{MeasurementLog, Sample};
use surelift::regression::filter::Smoothing;
use surelift::robot::{Model, configuration, load_model};
use surelift::study::limbs::{LimbStudy, LimbUnknown, MotorLog};

const RECORDINGS: u64 = 4;
const SECONDS: f64 = 3.0;
const PERIOD_S: f64 = 0.002;
const NOISE_NM: f64 = 0.2;
/// Share of each motor's range that sines use.
const USED: f64 = 0.8;

/// Middle of a motor's motion, and amplitude, speed and phase of two sines about it.
type Wave = (f64, [(f64, f64, f64); 2]);

/// A recording of the motors along two sines each.
fn recording(held: &Model, domain: &ClosureDomain, seed: u64) -> MotorLog {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut reduced = ReducedDynamics::of_loops(held).expect("loops");
    let motors = reduced.independent().to_vec();
    let mut theta = held.nominal_parameters();
    theta.iter_mut().for_each(|x| *x *= 1.2);
    let waves: Vec<Wave> = motors
        .iter()
        .map(|&motor| {
            let proven = domain.blocks.iter().find_map(|block| {
                let place = block.block.motors.iter().position(|&j| j == motor)?;
                Some((block.rectangle[place].lower(), block.rectangle[place].upper()))
            });
            let (lower, upper) = proven.or(held.joints[motor].limits.position).unwrap_or((-1.0, 1.0));
            let size = 0.25 * USED * (upper - lower);
            let wave = |speed: f64| (size, speed * rng.random_range(0.8..1.2), rng.random_range(0.0..6.0));
            (0.5 * (lower + upper), [3.0, 7.0].map(wave))
        })
        .collect();
    let count = (SECONDS / PERIOD_S) as usize;
    let mut samples = Vec::with_capacity(count);
    for k in 0..count {
        let t = k as f64 * PERIOD_S;
        let of = |f: &dyn Fn(f64, f64, f64) -> f64| -> Vec<f64> {
            waves.iter().map(|(_, sines)| sines.iter().map(|&(a, w, p)| f(a, w, w * t + p)).sum()).collect()
        };
        let mut own = of(&|a, _, x| a * x.sin());
        own.iter_mut().zip(&waves).for_each(|(q, (middle, _))| *q += middle);
        let (v, a) = (of(&|a, w, x| a * w * x.cos()), of(&|a, w, x| -a * w * w * x.sin()));
        let mut q = configuration::neutral(held);
        motors.iter().zip(&own).for_each(|(&k, x)| q[k] = *x);
        domain.place(held, &mut q).expect("a proven posture");
        reduced.close(held, &mut q).expect("closed loops");
        reduced.place(held, &q, &v, &a).expect("a regular posture");
        let torque = reduced.torque(held, &theta).expect("torques");
        let tau = torque.iter().map(|u| u + 3f64.sqrt() * NOISE_NM * rng.random_range(-1.0..1.0)).collect();
        samples.push(Sample { t, q: own, dq: v, tau });
    }
    let log = MeasurementLog::of_samples(PathBuf::from(format!("recording {seed}")), samples);
    MotorLog { log: log.expect("samples in order"), passive: false }
}

fn legs_and_arms(c: &mut Criterion) {
    let robot = load_model("digit").expect("a robot");
    let held = robot.with_base_held();
    let domain = ClosureDomain::of(&held).expect("proven loops");
    let logs: Vec<MotorLog> = (0..RECORDINGS).map(|seed| recording(&held, &domain, seed)).collect();
    let study = LimbStudy {
        robot: &robot,
        logs: &logs,
        validation: None,
        unknown: LimbUnknown::Everything,
        smoothing: Smoothing::Butterworth { order: 4, cutoff_hz: 15.0 },
        passive_tolerance: 0.02,
        exponents: false,
    };
    let mut group = c.benchmark_group("limbs");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_secs(5));
    group.bench_function("legs_and_arms", |b| b.iter(|| study.run().expect("limbs")));
    group.finish();
}

criterion_group!(benches, legs_and_arms);
criterion_main!(benches);
