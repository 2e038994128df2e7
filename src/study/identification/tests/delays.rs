//! Torques that come late: the delay is found, undone, and what is left of it charged.

use super::*;

#[test]
fn a_delay_is_found_and_undone() {
    let (robot, theta, samples) = empty_handed(3, 4.0);
    // Torques that a bus brings 40 ms late.
    let late: Vec<Sample> = (40..samples.len())
        .step_by(10)
        .map(|k| Sample { tau: samples[k - 40].tau.clone(), ..samples[k].clone() })
        .collect();
    let logs = [through_a_file(&late, &robot)];
    let prior = Unknown::Friction.default_prior(&robot);
    let options = StudyOptions { delay: Delay::Fitted, ..options(Unknown::Friction, &robot) };
    let study = study(&robot, &prior, &logs, &options);
    let (found, _) = study.fitted_delay().unwrap();
    assert!((found - 0.04).abs() <= 0.006, "{found}");
    // It is an interval.
    let delay = study.delay().unwrap();
    assert!(delay.best_s == Some(found) && delay.error_ratio.unwrap() < 0.9, "{delay:?}");
    let [low, high] = delay.interval_s;
    assert!(low < 0.04 && 0.04 < high && high - low < 0.06, "{delay:?}");
    assert!((delay.taken_out_s - 0.5 * (low + high)).abs() < 1e-12, "{delay:?}");
    assert!(delay.left_s >= high - delay.taken_out_s && delay.left_s >= delay.taken_out_s - low, "{delay:?}");
    // Nobody has to ask for it. So little is known of friction here that torques in time contradict nothing, so none is allowed for as well.
    let unasked = StudyOptions { delay: Delay::Automatic, ..options.clone() };
    let delay = IdentificationStudy { options: &unasked, ..study }.delay().unwrap();
    assert!(delay.best_s == Some(found) && delay.interval_s == [0.0, high], "{delay:?}");
    let findings = study.run().unwrap();
    assert!(findings.logs[0].notes.iter().any(|n| n.contains("s later")), "{:?}", findings.logs[0].notes);
    let viscous = &findings.parameters[VISCOUS];
    let x = theta[INERTIAL * robot.dof() + VISCOUS];
    assert!((viscous.estimate - x).abs() < 0.15 * x, "{viscous:?} for {x}");
}

/// Logs of a control loop whose torques are some milliseconds late: the interval holds the delay, and the set, with what is left of
/// it charged, the truth.
#[test]
fn what_is_left_of_a_delay_is_charged() {
    delays_are_charged(&[(21, 13)], 2.5);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn what_is_left_of_a_delay_is_charged_at_length() {
    delays_are_charged(&[(20, 7), (22, 25)], 2.5);
}

/// For each seed a log of so many seconds that is so many milliseconds late.
fn delays_are_charged(cases: &[(u64, usize)], seconds: f64) {
    let robot = arm();
    let prior = prior(&robot);
    for &(seed, late) in cases {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let theta = truth(&robot, &prior, &mut rng);
        let (samples, acceleration) = recording(&robot, &theta, seconds, Noise::Uniform, &mut rng);
        let moved: Vec<Sample> = (late..samples.len())
            .map(|k| Sample { tau: samples[k - late].tau.clone(), ..samples[k].clone() })
            .collect();
        let logs = [through_a_file(&moved, &robot)];
        let smoothing = Smoothing::SavitzkyGolay { half: 20, degree: 2 };
        let options = StudyOptions {
            acceleration: Some(acceleration),
            delay: Delay::Fitted,
            smoothing,
            ..options(Unknown::Payload, &robot)
        };
        let study = study(&robot, &prior, &logs, &options);
        let delay = study.delay().unwrap();
        let truth_s = late as f64 * robot.gains().period_s;
        println!("{delay:?} for {truth_s}");
        assert!(delay.interval_s[0] <= truth_s && truth_s <= delay.interval_s[1], "{delay:?} for {truth_s}");
        assert!(delay.left_s > 0.0 && (delay.taken_out_s - truth_s).abs() <= delay.left_s, "{delay:?}");
        let findings = study.run().unwrap();
        assert_eq!(findings.verdict, Verdict::Consistent, "{late} ms");
        assert_truth_inside(&findings, &robot, &theta, &format!("{late} ms"));
    }
}

/// Errors at the ends of their bounds can make a delay look good that is none. As long as torques in time contradict nothing the interval
/// holds zero, and the set the truth.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_delay_that_nobody_asks_for_leaves_room_for_none_at_length() {
    let found = delays_that_nobody_asks_for(40..46);
    println!("{found} of 6 logs look late");
    assert!(found > 0, "the test shows nothing");
}

/// How many of the logs of these seeds, all of them in time, look late.
fn delays_that_nobody_asks_for(seeds: std::ops::Range<u64>) -> usize {
    let robot = arm();
    let prior = prior(&robot);
    let mut found = 0;
    for seed in seeds {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let theta = truth(&robot, &prior, &mut rng);
        let (samples, acceleration) = recording(&robot, &theta, 1.5, Noise::Corner, &mut rng);
        let logs = [through_a_file(&samples, &robot)];
        let smoothing = Smoothing::SavitzkyGolay { half: 20, degree: 2 };
        let options = StudyOptions {
            acceleration: Some(acceleration),
            delay: Delay::Automatic,
            smoothing,
            ..options(Unknown::Payload, &robot)
        };
        let study = study(&robot, &prior, &logs, &options);
        let delay = study.delay().unwrap();
        println!("seed {seed}: {} s", delay.taken_out_s);
        found += usize::from(delay.taken_out_s != 0.0);
        assert!(delay.interval_s[0] <= 0.0 && 0.0 <= delay.interval_s[1], "{delay:?}");
        let findings = study.run().unwrap();
        assert_eq!(findings.verdict, Verdict::Consistent, "{seed}");
        assert_truth_inside(&findings, &robot, &theta, &format!("{seed}"));
    }
    found
}
