//! Torques that are early or late.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::identify::tests::{Noise, arm, prior, recording, truth};

const RATIO: f64 = 0.1;
/// Absolute errors of every other joint's sensor.
const ABSOLUTE_NM: [f64; 2] = [0.2, 0.05];

/// An arm that stands still, upright, and whose encoders do not err: rows hold nothing but the torque.
fn still(absolute_nm: [f64; 2]) -> Arm {
    let mut robot = arm();
    let torque_abs_of_joints_nm = (0..robot.dof()).map(|j| absolute_nm[j % 2]).collect();
    robot.stated().sensors = Sensors { torque_ratio: RATIO, torque_abs_of_joints_nm, ..Sensors::PERFECT };
    robot.stated().uncertainty.gravity_direction_deg = 0.0;
    robot
}

/// No friction, of whose sign nothing is known at rest.
fn believed(robot: &Arm) -> ParameterSet {
    let mut set = prior(robot);
    for j in 0..robot.dof() {
        let at = robot.joint_index(j).coulomb;
        (set.bounds().0[at], set.bounds().1[at]) = (0.0, 0.0);
    }
    set
}

fn log_of(torques: &[f64], period: f64) -> MeasurementLog {
    let sample = |(k, &tau): (usize, &f64)| Sample {
        t: k as f64 * period,
        q: vec![0.3; 7],
        dq: vec![0.0; 7],
        tau: vec![tau; 7],
    };
    MeasurementLog::of_samples("made up".into(), torques.iter().enumerate().map(sample).collect()).unwrap()
}

/// Integral from a to b of the reported torque: linear between samples, or held.
fn integral(torques: &[f64], period: f64, held: bool, a: f64, b: f64) -> f64 {
    let upto = |t: f64| {
        let at = (t / period).clamp(0.0, (torques.len() - 1) as f64);
        let whole = at.floor() as usize;
        let full: f64 =
            (0..whole).map(|k| if held { torques[k] } else { 0.5 * (torques[k] + torques[k + 1]) }).sum();
        let share = at - whole as f64;
        let next = torques[(whole + 1).min(torques.len() - 1)];
        let last = if held { torques[whole] } else { torques[whole] + 0.5 * share * (next - torques[whole]) };
        period * (full + share * last)
    };
    upto(b) - upto(a)
}

/// How much of each row's radius is used up at most, if the true torque is 1/(1 - ratio) times the reported one `early` before and the absolute
/// error: as much beyond as the sensor may be.
fn used(
    torques: &[f64],
    (period, window): (f64, f64),
    (shift, early): (f64, f64),
    absolute_nm: [f64; 2],
) -> f64 {
    let robot = still(absolute_nm);
    let held = period == robot.gains().period_s;
    let logs = [log_of(torques, period)];
    let data = momentum_rows(&robot, &believed(&robot), &logs, window, &[0.0; 7], shift).unwrap();
    assert!(data.rows.len() >= 7 * 3);
    let mut most = 0.0_f64;
    for w in 0..data.rows.len() {
        let (end, length) = (data.rows.origin[w].t, data.duration[w].next_up());
        let read = integral(torques, period, held, end - length - early, end - early);
        let absolute = absolute_nm[data.rows.origin[w].joint % 2] * length;
        let true_integral = (read + absolute) / (1.0 - RATIO);
        let share = (true_integral - data.rows.u[w]).abs() / data.rows.radius[w];
        assert!(share <= 1.0 + 1e-9, "row {w}: {share}");
        most = most.max(share);
    }
    most
}

/// Whatever the torques and however early or late they are, the truth is within the radius; and where they are level around the windows'
/// ends it is used up, so that a charge 3 % smaller, one without the sensor's error in it, or none would lose the truth.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn late_torques_stay_within_their_charge_and_use_it_up_at_length() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (period, window, shift) in [(0.01, 0.1, 0.013), (0.02, 0.1, 0.004), (0.001, 0.02, 0.003)] {
        for _ in 0..20 {
            let torques: Vec<f64> = (0..300).map(|_| rng.random_range(-20.0..20.0)).collect();
            let early = if period == 0.001 {
                // Held torque moves by whole ticks.
                period * f64::from(rng.random_range(-3..=3))
            } else {
                rng.random_range(-shift..shift)
            };
            used(&torques, (period, window), (shift, early), ABSOLUTE_NM);
        }
        // No torque at every other end of a window, 20 N m at the ones between; windows begin where the shift allows it.
        let panels = (window / period).round() as usize;
        let first = (shift / period - 1e-9).ceil() as usize;
        let level = |k: usize| {
            if ((k + panels - first + panels / 2) / panels).is_multiple_of(2) { 0.0 } else { 20.0 }
        };
        let torques: Vec<f64> = (0..300).map(level).collect();
        // With absolute errors all but what those, which have one sign here, might do besides where there is no torque.
        for (absolute_nm, least) in [([0.0; 2], 0.9999), (ABSOLUTE_NM, 0.99)] {
            let both =
                [-shift, shift].map(|early| used(&torques, (period, window), (shift, early), absolute_nm));
            assert!(both[0].max(both[1]) > least, "{period}: {both:?}");
        }
    }
}

/// Rows of an arm that moves hold the truth though its torques are up to 4 ms early or late.
#[test]
fn rows_of_late_torques_contain_the_truth() {
    let robot = arm();
    let set = prior(&robot);
    for seed in 0..4 {
        let mut rng = ChaCha8Rng::seed_from_u64(40 + seed);
        let theta = truth(&robot, &set, &mut rng);
        let (samples, acceleration) = recording(&robot, &theta, 1.0, Noise::Corner, &mut rng);
        for late in [-4_i64, 4] {
            let n = samples.len() as i64;
            let moved: Vec<Sample> = (4..n - 4)
                .map(|k| Sample {
                    tau: samples[(k - late) as usize].tau.clone(),
                    ..samples[k as usize].clone()
                })
                .collect();
            let logs = [MeasurementLog::of_samples("late".into(), moved).unwrap()];
            let data = momentum_rows(&robot, &set, &logs, 0.02, &acceleration, 0.004).unwrap();
            for w in 0..data.rows.len() {
                let y: f64 = data.rows.y.row(w).iter().zip(&theta).map(|(y, z)| y * z).sum();
                let off = (y - data.rows.u[w]).abs();
                assert!(off <= data.rows.radius[w], "seed {seed}, {late} ms, row {w}");
            }
        }
    }
}

/// Readings that are g times the true torque, the sensor's error beside it at its end: with kappa = 1/g the truth is within the radius, and uses
/// it up where the gain is the smallest.
#[test]
fn rows_with_an_open_gain_hold_the_truth_and_are_used_up() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let box_of = ParameterSet::new(vec![-1.0; 3], vec![1.0; 3]).unwrap();
    let range = wider::with_gain(&box_of);
    let (least, most) = (range.lower()[3], range.upper()[3]);
    assert_eq!((range.len(), least, most), (4, 0.8, 1.25));
    let mut used = 0.0_f64;
    for kappa in (0..100).map(|k| least + (most - least) * f64::from(k) / 99.0) {
        let (z, y): (Vec<f64>, Vec<f64>) =
            (0..3).map(|_| (rng.random_range(-1.0..1.0), rng.random_range(-3.0..3.0))).unzip();
        let (radius, more, length) = (rng.random_range(0.1..1.0), rng.random_range(0.0..2.0), 0.1);
        let truth: f64 = y.iter().zip(&z).map(|(y, z)| y * z).sum();
        let sign = if rng.random() { 1.0 } else { -1.0 };
        // y z = kappa (u + error).
        let u = truth / kappa - sign * 0.999_999 * (radius + more * length);
        let mut rows = Rows::none(3);
        rows.y = nalgebra::DMatrix::from_row_slice(1, 3, &y);
        (rows.u, rows.radius) = (vec![u], vec![radius]);
        rows.origin = vec![crate::identify::polytope::Origin { t: 1.0, joint: 1 }];
        let data = RecordedRows { rows, duration: vec![length], left_out: 0, speed: vec![0.0] };
        let open = wider::gain_left_open(&data, more, 2);
        assert_eq!((open.y.ncols(), open.u[0]), (4, 0.0));
        let off = (truth + open.y[(0, 3)] * kappa).abs();
        assert!(off <= open.radius[0], "{kappa}: {off}, {}", open.radius[0]);
        used = used.max(off / open.radius[0]);
    }
    assert!(used > 0.999, "{used}");
}

/// What is left of a delay reaches from what is taken out to the interval's ends; of a control loop's log whole periods are taken out.
#[test]
fn what_is_left_of_a_delay_reaches_the_ends_of_its_interval() {
    let robot = still([0.0; 2]);
    let logs = |period: f64| [log_of(&[0.0; 20], period)];
    for (period, interval, expected) in [
        (0.01, [0.02, 0.05], (0.035, 0.015)),
        (0.01, [0.037, 0.037], (0.037, 0.0)),
        (0.001, [0.002, 0.0051], (0.004, 0.002)),
        (0.001, [0.007, 0.007], (0.007, 0.0)),
        (0.001, [-0.0034, -0.0034], (-0.003, 0.0004)),
        (0.01, [0.0, 0.0], (0.0, 0.0)),
    ] {
        let (taken, left) = delay_taken_out(&robot, &logs(period), interval);
        assert!((taken - expected.0).abs() < 1e-12 && (left - expected.1).abs() < 1e-12, "{taken} {left}");
        let exact = expected.1 == 0.0;
        assert!(exact == (left == 0.0));
        assert!(exact || interval[0] >= taken - left && interval[1] <= taken + left);
    }
}
