use super::*;

const HERE: &str = "./few.toml";

/// The shipped campaign with the first of its robots alone, one seed and short motions, and with text replaced.
fn campaign(changes: &[(&str, &str)]) -> Result<TrackingCampaign, CampaignError> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/campaigns/whole_body_tracking.toml");
    let text = std::fs::read_to_string(shipped).unwrap();
    let (text, _) = text.split_once("[[problem]]\nlabel = \"Talos").unwrap();
    let mut text = text.to_owned();
    let short = [
        ("\"../estimation/", "\"scenarios/estimation/"),
        ("seeds = 5", "seeds = 1"),
        ("duration_s = 6.0", "duration_s = 2.2"),
        ("[\"FL_foot\", \"FR_foot\", \"RL_foot\", \"RR_foot\"]", "[\"FL_foot\", \"RL_foot\"]"),
        ("moving_s = [0.5, 5.4]", "moving_s = [0.5, 1.6]"),
    ];
    for (from, to) in short.iter().chain(changes) {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    TrackingCampaign::new(Path::new(HERE), crate::campaign::parse(Path::new(HERE), &text)?)
}

#[test]
fn files_that_make_no_sense_are_refused_by_field() {
    for (from, to, field) in [
        ("seeds = 1", "seeds = 0", "seeds"),
        ("nominal_over_identified = 3.0", "nominal_over_identified = nan", "nominal_over_identified"),
        ("\"RL_foot\"]", "\"RL_toe\"]", "problem[0].frames"),
        ("go1_walk.toml", "gen3_payload.toml", "problem[0]"),
    ] {
        let error = campaign(&[(from, to)]).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

/// A law that believes the truth tracks to what integration and ramps leave; with the nominal model the base sags by the acceleration that the payload takes
/// away, over the square of the bandwidth; with the identified one it does not.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_identified_model_tracks_as_the_true_one_does_at_length() {
    let campaign = campaign(&[]).unwrap();
    let trial = campaign.make(0).unwrap();
    assert!(trial.converged && campaign.is_possible(0, &trial));
    let (nominal, identified, truth) = (trial.nominal.shown(), trial.identified.shown(), trial.truth.shown());
    assert_eq!(nominal.len(), 4);
    // 7.2 kg on 12 kg under a bandwidth of 20 rad/s: some millimetres.
    assert!(nominal[0] > 2e-3 && nominal[0] < 5e-2, "{nominal:?}");
    for (i, (n, f)) in nominal.iter().zip(&identified).enumerate() {
        assert!(n / f > 10.0, "{i}: {n} {f}");
        assert!((f - truth[i]).abs() < 0.1 * n, "{i}: {f} {}", truth[i]);
    }
    let findings = campaign.sum_up(vec![trial]).unwrap();
    assert_eq!(findings.table.len(), 5);
}

/// A foot that stands all the time is compared with nothing, and that is told.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn feet_that_never_step_are_refused_at_length() {
    let stands = "[problem.held_out]\ncontact = [{ lifted_s = [] }]\n\n[problem.held_out.simulate]";
    let campaign = campaign(&[("[problem.held_out.simulate]", stands)]).unwrap();
    let error = campaign.make(0).unwrap_err().to_string();
    assert!(error.contains("`RL_foot` never leaves the ground"), "{error}");
}
