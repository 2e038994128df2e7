use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::identify::tests::{Noise, arm, prior, recording, truth};
use crate::identify::window::{Clock, Part, parts, pieces, rows_over_parts};
use crate::identify::{Identifier, IdentifierOptions};

fn window(samples: &[Sample], acceleration_bound: &[f64]) -> Window {
    let acceleration_bound = acceleration_bound.to_vec();
    Window { samples: samples.to_vec(), acceleration_bound, clock: Clock::Control }
}

/// Chosen for their errors, rows still contain the truth; and their errors are large.
#[test]
fn picked_rows_contain_the_truth_and_nearly_touch_it() {
    let robot = arm();
    let set = prior(&robot);
    for seed in 0..6 {
        let noise = if seed % 2 == 0 { Noise::Uniform } else { Noise::Corner };
        let mut rng = ChaCha8Rng::seed_from_u64(300 + seed);
        let theta = truth(&robot, &set, &mut rng);
        let (samples, bound) = recording(&robot, &theta, 0.3, noise, &mut rng);
        let window = window(&samples[150..=250], &bound);
        // Parameters that are not the truth do.
        let found = picks(&robot, &set.center(), &window, 2);
        assert_eq!(found.len(), 4 * robot.dof());
        let spans: Vec<_> = found.iter().map(|pick| pick.span.clone()).collect();
        // Share of its radius that the error of each row is.
        let shares = |part: Part| -> Vec<f64> {
            let rows = rows_over_parts(&robot, &set, &[part]);
            let value =
                |joint: usize| -> f64 { rows.y.row(joint).iter().zip(&theta).map(|(y, z)| y * z).sum() };
            (0..robot.dof()).map(|joint| (value(joint) - rows.u[joint]).abs() / rows.radius[joint]).collect()
        };
        let mut picked = 0.0;
        for (pick, part) in found.iter().zip(pieces(&robot, &set, &window, &spans)) {
            let shares = shares(part);
            assert!(shares.iter().all(|share| *share <= 1.0), "seed {seed}: {pick:?}");
            picked += shares[pick.joint] / found.len() as f64;
        }
        let all = parts(&robot, &set, &window, 50).into_iter().flat_map(shares).collect::<Vec<f64>>();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!(noise == Noise::Corner || picked > 1.5 * mean, "seed {seed}: {picked} {mean}");
    }
}

#[test]
fn they_tighten_what_is_identified() {
    let robot = Arc::new(arm());
    let start = prior(&robot);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let theta = truth(&robot, &start, &mut rng);
    let (samples, acceleration) = recording(&robot, &theta, 3.0, Noise::Uniform, &mut rng);
    let at = robot.inertial_index(robot.end_effector);
    let mass = |extremes: usize| {
        let options = IdentifierOptions { extremes, ..IdentifierOptions::default() };
        let mut identifier = Identifier::new(robot.clone(), &start, acceleration.clone(), options).unwrap();
        for (k, sample) in samples.iter().enumerate() {
            identifier.push(sample.clone()).unwrap();
            if k > 0 && k % 1500 == 0 {
                identifier.update().unwrap();
            }
        }
        assert!(identifier.set().contains(&theta));
        identifier.set().radius()[at]
    };
    let (without, with) = (mass(0), mass(1));
    assert!(with < 0.95 * without, "{with} {without}");
}

#[test]
fn short_windows_and_straight_lines() {
    let robot = arm();
    let theta = robot.nominal_parameters();
    let still =
        |k: usize| Sample { t: 1e-3 * k as f64, q: vec![0.1; 7], dq: vec![0.0; 7], tau: vec![1.0; 7] };
    let samples: Vec<Sample> = (0..3).map(still).collect();
    assert!(picks(&robot, &theta, &window(&samples[..2], &[1.0; 7]), 1).is_empty());
    assert!(picks(&robot, &theta, &window(&samples, &[1.0; 7]), 0).is_empty());
    let found = picks(&robot, &theta, &window(&samples, &[1.0; 7]), 1);
    assert!(found.len() == 14 && found.iter().all(|pick| pick.span.end <= 2), "{found:?}");
    let line: Vec<f64> = (0..7).map(|k| 3.0 - 0.5 * f64::from(k)).collect();
    assert!(off_line(&line).iter().all(|x| x.abs() < 1e-12));
}
