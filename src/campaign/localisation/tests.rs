use super::*;
use crate::campaign::Campaign;

const HERE: &str = "./few.toml";

fn campaign(changes: &[(&str, &str)]) -> Result<LocalisationCampaign, CampaignError> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/campaigns/go1_localisation.toml");
    let mut text = std::fs::read_to_string(shipped).unwrap();
    for (from, to) in
        [("\"../estimation/", "\"scenarios/estimation/"), ("seeds = 10", "seeds = 1")].iter().chain(changes)
    {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    LocalisationCampaign::new(Path::new(HERE), crate::campaign::parse(Path::new(HERE), &text)?)
}

/// Estimates of the shipped problem by its filter number `which` under more changes, with the truth; `disturb` changes the readings.
fn filtered(which: usize, more: &str, disturb: impl Fn(&mut Readings)) -> (Vec<BaseEstimate>, Vec<Pose>) {
    let campaign = campaign(&[]).unwrap();
    let more: toml::Table = toml::from_str(more).unwrap();
    let problem = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/estimation/go1_jump.toml");
    let study = EstimationStudy::load_changed(problem, &[&campaign.file.change, &more]).unwrap();
    let mut readings = Readings::of(&study, "imu").unwrap();
    disturb(&mut readings);
    let estimates = readings.filtered(&study, &campaign.file.filter[which]);
    let (_, states) = study.reveal().unwrap();
    (estimates, states.iter().map(|x| pose(x)).collect())
}

const SILENT: &str = "simulate.noise = { q_rad = 0.0, dq_rad_s = 0.0, tau_nm = 0.0 }\n\
    sensor = [{ noise = 0.0 }, { noise = 0.0 }]";
/// The robot sways on its feet all the time.
const STANDING: &str = "contact = [{ lifted_s = [] }, { lifted_s = [] }, { lifted_s = [] }, { lifted_s = [] }]\n\
    simulate.posture.jump = { crouch_m = 0.0, at_s = 1e3 }";

/// Without noise the filter follows crouch, flight, impact and stand: what is left is of its steps.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn without_noise_the_filter_is_where_the_robot_is_at_length() {
    for which in 0..2 {
        let (estimates, truth) = filtered(which, SILENT, |_| ());
        let errors = BaseErrors::of_filter(&estimates, &truth);
        assert!(errors.drift_largest_m < 2e-4 && errors.attitude_rms_rad < 2e-4, "{which}: {errors:?}");
    }
    // The robot does jump: its base goes up by more than the 0.1 m that the flight takes.
    let (_, truth) = filtered(0, SILENT, |_| ());
    let height = |t: &Pose| t.0.z;
    let (low, high) =
        (truth.iter().map(height).fold(1.0, f64::min), truth.iter().map(height).fold(0.0, f64::max));
    assert!(high - low > 0.1, "{low} {high}");
}

/// Under noise the drift is as large as the filter says, on a robot that stands and on one that jumps: in the mean square and over seeds. A filter that is told
/// of better encoders than there are is noticed by the same measure.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn errors_are_as_large_as_the_filter_says_at_length() {
    let mut overall = 0.0;
    for seed in 1..=3 {
        for motion in [STANDING, ""] {
            let (estimates, truth) = filtered(0, &format!("simulate.seed = {seed}\n{motion}"), |_| ());
            let consistency = BaseErrors::of_filter(&estimates, &truth).consistency;
            assert!(consistency < 9.0, "seed {seed}: {consistency}");
            overall += consistency / 6.0;
        }
    }
    assert!((0.1..4.0).contains(&overall), "{overall}");
    let (estimates, truth) = filtered(0, "", |r| r.noise = SensorNoise { q: 1e-5, dq: 1e-4, ..r.noise });
    let told = BaseErrors::of_filter(&estimates, &truth).consistency;
    assert!(told > 20.0 * overall, "{told} {overall}");
}

/// A gyroscope's bias is found by the filter that looks for it, and taken out of the rates.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_bias_is_found_at_length() {
    let bias = Vector3::new(0.015, -0.01, 0.005);
    let disturb = |r: &mut Readings| r.rates.iter_mut().for_each(|rate| *rate += bias);
    let (ignorant, _) = filtered(0, STANDING, disturb);
    let (aware, _) = filtered(1, STANDING, disturb);
    let half = aware.len() / 2;
    let apart = ignorant[half..].iter().zip(&aware[half..]).map(|(a, b)| a.rate - b.rate);
    let found = apart.sum::<Vector3<f64>>() / (aware.len() - half) as f64;
    assert!((found.norm() / bias.norm() - 1.0).abs() < 0.2, "{found:?}");
}

/// One seed of the shipped campaign.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_smoother_is_nearer_than_the_filter_at_length() {
    let findings = campaign(&[]).unwrap().run(&|_, _| ()).unwrap();
    let trial = &findings.summary["trials"][0];
    assert_eq!(trial["converged"], true, "{trial}");
    let drift = |of: &serde_json::Value| of["drift_rms_m"].as_f64().unwrap();
    assert!(drift(&trial["smoother"]) < drift(&trial["filters"][0]), "{trial}");
    assert_eq!(findings.table.len(), 4);
    // A bar that is out of reach is told as not reached.
    let strict = campaign(&[("filter_over_smoother = 2.0", "filter_over_smoother = 1e6")]).unwrap();
    assert!(!strict.sum_up(vec![serde_json::from_value(trial.clone()).unwrap()]).unwrap().passed);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn files_that_make_no_sense_are_refused_by_field_at_length() {
    let told = |from: &str, to: &str| campaign(&[(from, to)]).unwrap_err().to_string();
    assert!(told("seeds = 1", "seeds = 0").contains("`seeds / filter`"));
    assert!(
        told("filter_over_smoother = 2.0", "filter_over_smoother = nan").contains("`filter_over_smoother`")
    );
    assert!(told("slip = 1e-5", "slip = -1e-5").contains("`filter[0].slip`"));
    assert!(told("imu = \"imu\"", "imu = \"nose\"").contains("no frame `nose`"));
    assert!(told("imu = \"imu\"", "imu = \"FL_foot\"").contains("not fixed to the base"));
    assert!(told("quantity = \"rate\"", "quantity = \"velocity\"").contains("no sensor of Rate"));
    assert!(told("go1_jump.toml", "gen3_payload.toml").contains("`problem`"));
}
