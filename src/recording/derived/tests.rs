use std::fmt::Write as _;
use std::io::Write as _;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::recording::{LogFormat, LogRequest};
use crate::robot::fixture::small_robot;

/// Position and velocity after accelerations that are constant over steps of 1 ms.
struct Driven {
    states: Vec<[f64; 2]>,
}

const FINE_S: f64 = 1e-3;

impl Driven {
    /// Accelerations of +-`most` that switch now and then, pulled back to where it began.
    fn draw(most: f64, steps: usize, rng: &mut ChaCha8Rng) -> Self {
        let (mut q, mut dq, mut a) = (0.1_f64, 0.0_f64, most);
        let mut states = vec![[q, dq]];
        for _ in 0..steps {
            if rng.random_bool(0.02) {
                a = if rng.random_bool(0.5 + (0.4 * (q + 0.3 * dq)).clamp(-0.5, 0.5)) { -most } else { most };
            }
            q += FINE_S * dq + 0.5 * FINE_S * FINE_S * a;
            dq += FINE_S * a;
            states.push([q, dq]);
        }
        Self { states }
    }
}

/// Reads a recording with positions and torques alone.
fn read(rows: &[(f64, [f64; 3])], half: usize) -> Result<MeasurementLog, LogError> {
    let mut text = "t,q1,q2,q3,tau1,tau2,tau3\n".to_owned();
    for (t, q) in rows {
        let _ = writeln!(text, "{t:e},{:e},{:e},{:e},0,0,0", q[0], q[1], q[2]);
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let format = LogFormat { velocity_half: Some(half), ..LogFormat::default() };
    MeasurementLog::read_request(file.path(), &small_robot(), &LogRequest { format, ..LogRequest::default() })
}

/// No velocity is farther from the truth than the bound, over random motions at the limit of their acceleration, stamps, gaps and readings
/// whose errors are whole bounds; and the bound is nearly attained.
#[test]
fn errors_stay_within_the_bound_and_nearly_reach_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut most_used: f64 = 0.0;
    for case in 0..40 {
        let (limit, error) = (rng.random_range(0.5..8.0), 10f64.powf(rng.random_range(-6.0..-2.5)));
        let half = rng.random_range(1..5);
        let motions = [0, 1, 2].map(|_| Driven::draw(limit, 3000, &mut rng));
        let (mut rows, mut at, mut truth) = (vec![], 0, vec![]);
        while at < 3000 {
            let sign = |rng: &mut ChaCha8Rng| if rng.random_bool(0.5) { error } else { -error };
            let q = [0, 1, 2].map(|j| motions[j].states[at][0] + sign(&mut rng));
            rows.push((at as f64 * FINE_S, q));
            truth.push([0, 1, 2].map(|j: usize| motions[j].states[at][1]));
            at += if rng.random_bool(0.01) { 60 } else { rng.random_range(8..=11) };
        }
        let log = read(&rows, half).unwrap();
        assert!(log.segments.len() > 1 || case > 0);
        let bound = log.derived.unwrap().error(error, limit, 0.0);
        let mut next = 0;
        for sample in &log.samples {
            while rows[next].0 < sample.t - 1e-9 {
                next += 1;
            }
            assert_eq!(rows[next].0, sample.t);
            for (dq, exact) in sample.dq.iter().zip(&truth[next]) {
                let off = (dq - exact).abs();
                // The truth itself is a sum of 3000 rounded steps.
                assert!(off <= bound + 1e-11, "case {case}: {off} beyond {bound}");
                most_used = most_used.max(off / bound);
            }
        }
    }
    println!("largest share of the bound: {most_used:.3}");
    assert!(most_used > 0.8, "{most_used}");
}

/// The worst case of each term: an acceleration that turns round at the sample, and readings off by whole bounds on either side. The bound is met to a
/// thousandth, so that none of its terms could be 3 % smaller.
#[test]
fn the_worst_case_meets_the_bound() {
    for (limit, error) in [(2.0, 0.0), (1e-9, 1e-4), (2.0, 1e-4)] {
        let at = |k: i32| {
            let s = 0.01 * f64::from(k);
            let read = 0.5 * limit * s * s.abs() + error * f64::from(k.signum());
            (1.0 + s, [read; 3])
        };
        let log = read(&[at(-1), at(0), at(1), at(2)], 1).unwrap();
        let bound = log.derived.unwrap().error(error, limit, 0.0);
        let sample = log.samples.iter().find(|sample| sample.t == 1.0).unwrap();
        let off = sample.dq[0].abs();
        assert!((0.999 * bound..=bound * (1.0 + 1e-9)).contains(&off), "{limit} {error}: {off} {bound}");
    }
}

/// Wrong stamps within the stated share change velocities by less than what the bound grows.
#[test]
fn stamps_that_are_off_are_paid_for() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for _ in 0..20 {
        let (limit, share) = (rng.random_range(0.5..8.0), 2e-3);
        let motions = [0, 1, 2].map(|_| Driven::draw(limit, 2000, &mut rng));
        let (mut rows, mut stamp) = (vec![], 0.0);
        for at in (0..2000).step_by(10) {
            rows.push((stamp, [0, 1, 2].map(|j: usize| motions[j].states[at][0])));
            stamp += 0.01 * (1.0 + rng.random_range(-0.9 * share..0.9 * share));
        }
        let log = read(&rows, 2).unwrap();
        let bound = log.derived.unwrap().error(0.0, limit, share);
        for (k, sample) in log.samples.iter().enumerate() {
            for j in 0..3 {
                let exact = motions[j].states[10 * (k + 2)][1];
                assert!((sample.dq[j] - exact).abs() <= bound + 1e-11);
            }
        }
    }
}

#[test]
fn the_best_half_is_the_best() {
    for (position, acceleration) in [(1e-4, 5.0), (1e-3, 1.0), (1e-6, 20.0)] {
        let bound = |half: usize| {
            let h = half as f64 * 0.01;
            position / h + 0.5 * acceleration * h
        };
        let best = best_half(position, acceleration, 0.01);
        let least = (1..100).map(bound).fold(f64::INFINITY, f64::min);
        assert!(bound(best) < 1.1 * least, "{best}");
    }
    assert_eq!((best_half(0.0, 1.0, 0.01), best_half(1e-4, 0.0, 0.01)), (1, 1));
}

#[test]
fn what_is_too_short_or_not_asked_for_is_refused() {
    let rows: Vec<(f64, [f64; 3])> = (0..4).map(|k| (0.01 * k as f64, [0.0; 3])).collect();
    assert!(matches!(read(&rows, 2), Err(LogError::TooShort { expected: 6, .. })));
    assert!(read(&rows, 0).unwrap_err().to_string().contains("at least 1"));
    let log = read(&rows, 1).unwrap();
    assert_eq!(log.samples.len(), 2);
    assert!(log.notes().iter().any(|note| note.contains("no velocities")), "{:?}", log.notes());
}
