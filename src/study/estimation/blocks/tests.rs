use super::*;

/// Of a mean, whose deviation is known.
#[test]
fn of_a_mean_they_are_those_of_the_textbook() {
    let x = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0];
    let sum: f64 = x.iter().sum();
    let without: Vec<Vec<f64>> = x.iter().map(|x| vec![(sum - x) / 5.0]).collect();
    let mean = sum / 6.0;
    let squares: f64 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
    assert!((jackknife(&without)[0] - (squares / 5.0 / 6.0).sqrt()).abs() < 1e-12);
}

const PENDULUM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recordings/pendulums/simple_1.toml");

fn with(change: &str) -> Result<EstimationStudy, EstimateError> {
    EstimationStudy::load_changed(PENDULUM, &[&change.parse().unwrap()])
}

#[test]
fn too_few_and_too_short_blocks_are_refused() {
    for count in [0, 3, 301] {
        let refused = with(&format!("solver = {{ deviation_blocks = {count} }}")).unwrap_err().to_string();
        let said = ["solver.deviation_blocks", "expected 4 to 300 of 3000 samples"];
        assert!(said.iter().all(|words| refused.contains(words)), "{refused}");
    }
    assert_eq!(with("solver = { deviation_blocks = 300 }").unwrap().deviation_blocks, Some(300));
}

/// A block that is left out tells nothing: with other torques in it the estimate is the same.
#[test]
fn a_block_that_is_left_out_tells_nothing() {
    let study = with("log = { range_s = [0.0, 2.0] }").unwrap();
    let block = 400..600;
    let mut other = study.clone();
    other.samples[block.clone()].iter_mut().for_each(|sample| sample.tau[0] += 3.0);
    let theta = study.problem().unwrap().guess_theta().to_vec();
    let estimates = [&study, &other]
        .map(|s| s.estimated_without(block.clone(), EstimationMethod::Trajectory, &theta).unwrap());
    let all = study.estimated_without(0..1, EstimationMethod::Trajectory, &theta).unwrap();
    let far = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0, |far: f64, (a, b)| far.max((a - b).abs()));
    assert!(far(&estimates[0], &estimates[1]) < 1e-6, "{estimates:?}");
    assert!(far(&estimates[0], &all) > 1e-4, "{all:?}");
}
