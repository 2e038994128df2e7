use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::identify::tests::{Noise, arm, prior, recording, truth};
use crate::identify::{Identifier, IdentifierOptions, Method};
use crate::recording::Sample;

/// What an identifier has learnt from measurements, with strips between two updates.
fn learnt(method: Method) -> (SetProof, Vec<Sample>, ParameterSet, Vec<Strip>) {
    let robot = Arc::new(arm());
    let start = prior(&robot);
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let theta = truth(&robot, &start, &mut rng);
    let (samples, bound) = recording(&robot, &theta, 1.2, Noise::Uniform, &mut rng);
    let options = IdentifierOptions { method, ..IdentifierOptions::default() };
    let mut identifier = Identifier::new(robot.clone(), &start, bound, options).unwrap();
    let mut strips = vec![];
    for (k, sample) in samples.iter().enumerate() {
        // A gap: its window is left out.
        if k == 432 {
            identifier.interrupt();
        }
        identifier.push(sample.clone()).unwrap();
        if k == 600 || k == 1200 {
            identifier.update().unwrap();
        }
        if k == 700 && method == Method::Dual {
            let direction = |_| (0..start.len()).map(|_| rng.random_range(-1.0..1.0)).collect();
            let directions: Vec<Vec<f64>> = (0..7).map(direction).collect();
            strips = identifier.torque_strips(vec![0.0], &directions).unwrap().strips;
        }
    }
    assert!(identifier.set().contains(&theta));
    (identifier.proof(), samples, identifier.set().clone(), strips)
}

/// The number of the last update that brought measurements; ones that make rows anew may follow.
fn last_update(proof: &SetProof) -> usize {
    let brings = |step: &ProofStep| matches!(step, ProofStep::Update { windows, .. } if !windows.is_empty());
    proof.steps.iter().rposition(brings).unwrap()
}

/// Whether a step makes rows anew with the set of the one before, and bounds with them.
fn makes_anew(step: &ProofStep) -> bool {
    matches!(step, ProofStep::Update { windows, bounds } if windows.is_empty() && !bounds.is_empty())
}

fn bounds_of(proof: &mut SetProof, step: usize) -> &mut Vec<ProvenBound> {
    match &mut proof.steps[step] {
        ProofStep::Physics { bounds } | ProofStep::Update { bounds, .. } => bounds,
        ProofStep::Strips { .. } => panic!("strips"),
    }
}

#[test]
fn what_was_learnt_is_proven_again_from_the_text_of_its_proof() {
    proven_again(&[Method::Dual]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn what_was_learnt_is_proven_again_from_the_text_of_its_proof_at_length() {
    proven_again(&[Method::Dual, Method::Perturbation]);
}

fn proven_again(methods: &[Method]) {
    for &method in methods {
        let (proof, samples, set, strips) = learnt(method);
        let text = serde_json::to_string(&proof).unwrap();
        let read: SetProof = serde_json::from_str(&text).unwrap();
        assert_eq!(read, proof);
        let found = check(&read, &samples).unwrap();
        assert_eq!((&found.set, &found.strips), (&set, &strips));
        println!("{method:?}: {} bytes, {} rows, {} bounds", text.len(), found.rows, found.bounds);
        assert!(found.bounds > 10 && found.rows > 20);
        // Rows that were made with a set that the same update had proven are part of it.
        assert_eq!(read.steps.iter().any(makes_anew), method == Method::Dual);
        assert_eq!(found.excludes(&set), None);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn bounds_that_were_moved_are_named_at_length() {
    let (proof, samples, ..) = learnt(Method::Dual);
    let strips = proof.steps.iter().position(|step| matches!(step, ProofStep::Strips { .. })).unwrap();
    for step in (0..proof.steps.len()).filter(|step| *step != strips) {
        for k in 0..bounds_of(&mut proof.clone(), step).len() {
            let mut moved = proof.clone();
            let bound = &mut bounds_of(&mut moved, step)[k];
            let inward = 1e-6 * bound.value.abs().max(1e-3);
            bound.value += if bound.upper { -inward } else { inward };
            let expected = format!("bound of parameter {}", bound.parameter);
            let error = check(&moved, &samples).unwrap_err();
            let ProofError::NotProven { step: found, what, .. } = &error else { panic!("{error}") };
            assert!(*found == step && what.contains(&expected), "{error}");
        }
    }
    let mut moved = proof.clone();
    let ProofStep::Strips { strips: own } = &mut moved.steps[strips] else { panic!() };
    own[3].upper -= 1e-6 * (own[3].upper - own[3].lower);
    let error = check(&moved, &samples).unwrap_err();
    assert!(error.to_string().contains("upper bound of a strip"), "{error}");
}

#[test]
fn multipliers_spans_and_measurements_that_were_changed_are_noticed() {
    let (proof, samples, ..) = learnt(Method::Dual);
    let step = last_update(&proof);
    let refused = |proof: &SetProof, samples: &[Sample], what: &str| {
        let error = check(proof, samples).expect_err(what);
        println!("{what}: {error}");
        error
    };
    let mut changed = proof.clone();
    let terms = &mut bounds_of(&mut changed, step)[0].by.rows;
    let heaviest = (0..terms.len()).max_by(|&a, &b| terms[a].1.abs().total_cmp(&terms[b].1.abs())).unwrap();
    terms[heaviest].1 *= 1.01;
    let row = terms[heaviest].0 as usize;
    assert!(matches!(refused(&changed, &samples, "multiplier"), ProofError::NotProven { .. }));
    // A better bound, for which its multipliers were changed too.
    bounds_of(&mut changed, step)[0].value *= 0.999;
    refused(&changed, &samples, "multiplier and bound");

    let Source::Span(span) = proof.rows[row] else { panic!("the heaviest row is a strip") };
    for (at, by) in [(1, 1), (2, -1), (0, 1)] {
        let mut changed = proof.clone();
        let mut span = span.map(i64::from);
        span[at] = (span[at] + by).rem_euclid(if at == 0 { 7 } else { i64::MAX });
        changed.rows[row] = Source::Span(span.map(|x| x as u32));
        refused(&changed, &samples, "span or joint of a row");
    }
    // Inside the span, near its start and at its end.
    for tick in [span[1] as usize, span[2] as usize] {
        for sign in [1.0, -1.0] {
            let mut changed = samples.clone();
            changed[tick].dq[span[0] as usize] += sign * 1e-5;
            refused(&proof, &changed, "a speed of the log");
        }
    }
    let torque = |sign: f64| {
        let mut changed = samples.clone();
        changed[span[1] as usize].tau[span[0] as usize] += sign * 1e-2;
        check(&proof, &changed).is_err()
    };
    assert!(torque(1.0) || torque(-1.0));
    let mut changed = samples.clone();
    changed[span[1] as usize].q[2] += 0.1;
    assert!(matches!(refused(&proof, &changed, "a jump"), ProofError::Measurements { .. }));
}

#[test]
fn files_that_contradict_themselves_are_refused() {
    let (proof, samples, set, _) = learnt(Method::Dual);
    let step = last_update(&proof);
    let refused = |change: &dyn Fn(&mut SetProof)| {
        let mut changed = proof.clone();
        change(&mut changed);
        let error = check(&changed, &samples).unwrap_err();
        println!("{error}");
    };
    refused(&|proof| proof.schema += 1);
    refused(&|proof| proof.prior.bounds().0[3] = f64::NAN);
    refused(&|proof| {
        proof.prior.bounds().1.pop();
    });
    refused(&|proof| proof.robot.stated().sensors.torque_ratio = 2.0);
    refused(&|proof| proof.cuts[0][1] = 1 << 21);
    refused(&|proof| bounds_of(proof, step)[0].parameter = 98);
    refused(&|proof| bounds_of(proof, step)[0].by.rows[0].0 = u32::MAX);
    refused(&|proof| bounds_of(proof, step)[0].by.cuts.push((u32::MAX, 1.0)));
    refused(&|proof| bounds_of(proof, step)[0].value = f64::NAN);
    refused(&|proof| bounds_of(proof, 0)[0].parameter = 0);
    refused(&|proof| proof.steps.swap(1, step));
    let window = |change: &'static dyn Fn(&mut MeasuredWindow)| {
        refused(&move |proof| {
            let ProofStep::Update { windows, .. } = &mut proof.steps[step] else { panic!() };
            windows.iter_mut().for_each(change);
        });
    };
    window(&|window| window.t_s += 1e-9);
    window(&|window| window.panels += 5000);
    window(&|window| window.panels = 0);
    window(&|window| window.tick += 7);
    window(&|window| window.acceleration_bound[2] = -1.0);
    window(&|window| window.acceleration_bound.clear());
    // A prior that is wider is another assumption: what was proven of the narrower one need not hold.
    refused(&|proof| proof.prior.bounds().1.iter_mut().for_each(|x| *x += 0.1));
    // The claim of a plan.
    let checked = check(&proof, &samples).unwrap();
    let mut claimed = set.clone();
    claimed.bounds().1[60] = claimed.upper()[60].next_down();
    assert!(checked.excludes(&claimed).is_some_and(|reason| reason.contains("parameter 60")));
    assert!(checked.excludes(&ParameterSet::new(vec![], vec![]).unwrap()).is_some());
    let direction = vec![1.0; set.len()];
    let strips = vec![Strip { direction, lower: -1e9, upper: 1e9 }];
    let with = set.with_strips(Some(crate::inertia::TorqueStrips { times: vec![0.0], strips }));
    assert!(checked.excludes(&with).is_some_and(|reason| reason.contains("strip 0")));
}

#[test]
fn accelerations_must_be_what_the_motions_promise() {
    let (proof, ..) = learnt(Method::Dual);
    let ProofStep::Update { windows, .. } = &proof.steps[1] else { panic!() };
    let bound = windows[0].acceleration_bound.clone();
    let more: Vec<f64> = bound.iter().map(|x| 1.001 * x).collect();
    assert_eq!(proof.acceleration_fault(&[(0.0, &bound)]), None);
    assert!(proof.acceleration_fault(&[(0.0, &more)]).is_some());
    // A motion after all windows, or one that another has taken over from before the first.
    assert_eq!(proof.acceleration_fault(&[(0.0, &bound), (5.0, &more)]), None);
    assert!(proof.acceleration_fault(&[(0.0, &bound), (0.3, &more)]).is_some());
}

#[test]
fn cuts_are_written_down_exactly() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..1000 {
        let v = Vector4::from_fn(|_, _| rng.random_range(-1.0..1.0));
        let c = quadratic_form(&crate::inertia::pseudo::on_grid(&v).unwrap());
        assert_eq!(cut(&on_grid(&c).unwrap()), c);
    }
    assert_eq!(on_grid(&[1.0; INERTIAL]), None);
}
