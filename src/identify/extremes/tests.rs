use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::identify::polytope::Rows;
use crate::identify::tests::{Noise, arm, prior, recording, truth};
use crate::identify::window::{Clock, Enclosures, Window, parts, rows_over_parts};
use crate::identify::{Identifier, IdentifierOptions};
use crate::inertia::ParameterSet;

fn window(samples: &[Sample], acceleration_bound: &[f64]) -> Window {
    let acceleration_bound = acceleration_bound.to_vec();
    Window { samples: samples.to_vec(), acceleration_bound, clock: Clock::Control }
}

/// The picks of a window.
fn picked(robot: &Robot, set: &ParameterSet, enclosed: &Enclosed, count: usize) -> Vec<Pick> {
    let mut picks = vec![];
    Search::new(robot, &set.center()).run(enclosed, count, &mut picks);
    picks
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
        let mut enclosures = Enclosures::new(&robot, &set);
        let mut enclosed = enclosures.of(&window);
        let found = picked(&robot, &set, &enclosed, 2);
        assert_eq!(found.len(), 4 * robot.dof());
        // Share of its radius that the error of each row is.
        let shares = |rows: &Rows| -> Vec<f64> {
            let value = |w: usize| -> f64 { rows.y.row(w).iter().zip(&theta).map(|(y, z)| y * z).sum() };
            (0..rows.len()).map(|w| (value(w) - rows.u[w]).abs() / rows.radius[w]).collect()
        };
        let rows = enclosed.rows(found.iter().map(|pick| (pick.span.clone(), pick.joint)));
        let own = shares(&rows);
        assert!(own.iter().all(|share| *share <= 1.0), "seed {seed}: {own:?}");
        let picked = own.iter().sum::<f64>() / own.len() as f64;
        // The same rows as those of all joints over the same parts.
        let spans: Vec<_> = found.iter().map(|pick| pick.span.clone()).collect();
        for ((w, pick), part) in found.iter().enumerate().zip(enclosed.parts(&spans)) {
            let all = rows_over_parts(&robot, &set, &[part]);
            assert_eq!(all.y.row(pick.joint), rows.y.row(w));
            assert_eq!(all.u[pick.joint], rows.u[w]);
            let wider = all.radius[pick.joint] / rows.radius[w];
            assert!((wider - 1.0).abs() < 1e-12, "{wider}");
        }
        // Wherever they lie, they contain the truth.
        let anywhere: Vec<(std::ops::Range<usize>, usize)> = (0..200)
            .map(|_| {
                let a = rng.random_range(0..100);
                (a..rng.random_range(a + 1..=100), rng.random_range(0..robot.dof()))
            })
            .collect();
        let rows = enclosed.rows(anywhere.iter().cloned());
        assert!(shares(&rows).iter().all(|share| *share <= 1.0), "seed {seed}");
        let each = |part| shares(&rows_over_parts(&robot, &set, &[part]));
        let all = parts(&robot, &set, &window, 50).into_iter().flat_map(each).collect::<Vec<f64>>();
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
    let still =
        |k: usize| Sample { t: 1e-3 * k as f64, q: vec![0.1; 7], dq: vec![0.0; 7], tau: vec![1.0; 7] };
    let samples: Vec<Sample> = (0..3).map(still).collect();
    let set = ParameterSet::around_nominal(&robot);
    let mut enclosures = Enclosures::new(&robot, &set);
    let mut found =
        |samples: &[Sample], count| picked(&robot, &set, &enclosures.of(&window(samples, &[1.0; 7])), count);
    assert!(found(&samples[..2], 1).is_empty() && found(&samples, 0).is_empty());
    let found = found(&samples, 1);
    assert!(found.len() == 14 && found.iter().all(|pick| pick.span.end <= 2), "{found:?}");
    let mut line: Vec<f64> = (0..7).map(|k| 3.0 - 0.5 * f64::from(k)).collect();
    take_off_line(&mut line);
    assert!(line.iter().all(|x| x.abs() < 1e-12));
}
