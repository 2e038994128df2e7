use super::*;
use crate::campaign::{Campaign, Journal};

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_open_design_is_followed_and_identified_at_length() {
    let body = "[3.09923, -4e-5, 9e-5, -0.43801, 0.07803, 0.0, 0.07405, 0.0, 0.0, 0.00705]";
    let text = format!(
        "schema = 1\nname = \"few\"\nkind = \"excitation\"\nscenario = \"scenarios/dumbbell_c_8lb.toml\"\n\
         seeds = 1\nevaluations = 5\ndesigns = [\"fourier\"]\n[[payloads]]\nname = \"4 lb\"\nbody = {body}"
    );
    let path = Path::new("./few.toml");
    let campaign = ExcitationCampaign::new(path, crate::campaign::parse(path, &text).unwrap()).unwrap();
    let findings = campaign.run(&|_, _| ()).unwrap();
    assert!(findings.passed, "{:?}", findings.table);
    let trial = &findings.summary["trials"][0];
    assert!(trial["condition_number"].as_f64().unwrap() > 1.0);
    let mass = trial["mass_kg"].as_f64().unwrap();
    assert!((0.01..1.0).contains(&mass), "{mass}");
    // Beside the heading one line for the payload and one for all.
    assert_eq!(findings.table.len(), 3);
    assert_eq!(findings.table[1][5], "0");

    // A trial that was made is taken over, but for another truth, seed, design or task.
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path(), false).unwrap();
    let payload = &campaign.file.payloads[0];
    let key = campaign.key(payload, Design::Fourier, 0);
    let first: Trial = serde_json::from_value(trial.clone()).unwrap();
    let half = Trial { mass_kg: 0.5 * mass, seed: 7, ..first.clone() };
    journal.trial(&key, || Ok(half.clone())).unwrap();
    let again = campaign.go_on(&Journal::open(folder.path(), true).unwrap(), &|_, _| ()).unwrap();
    assert_eq!(again.summary["trials"][0]["mass_kg"], 0.5 * mass);
    let heavier = Payload { body: payload.body.map(|x| 1.01 * x), ..payload.clone() };
    let other = ExcitationCampaign { task: campaign.task + 1, ..campaign.clone() };
    let keys = [
        campaign.key(&heavier, Design::Fourier, 0),
        campaign.key(payload, Design::BSpline, 0),
        campaign.key(payload, Design::Fourier, 1),
        other.key(payload, Design::Fourier, 0),
    ];
    assert!(!keys.contains(&key), "{keys:?}");

    // Twice as tight is 50 % tighter, and 0.03 and 0.01 kg deviate by 0.0141.
    let double = Trial { mass_kg: 2.0 * first.mass_kg, ..first.clone() };
    assert!((tighter(&[&double], &[&first]) - 50.0).abs() < 1e-9);
    let [mean, deviation, worst] =
        spread(&[&Trial { mass_kg: 0.03, ..first.clone() }, &Trial { mass_kg: 0.01, ..first }], |t| {
            t.mass_kg
        });
    assert!((mean - 0.02).abs() < 1e-12 && (deviation - 0.014142).abs() < 1e-6 && worst == 0.03);

    let refuse = |from: &str, to: &str| {
        let file = crate::campaign::parse(path, &text.replace(from, to)).unwrap();
        ExcitationCampaign::new(path, file).unwrap_err().to_string()
    };
    assert!(refuse("seeds = 1", "seeds = 0").contains("`seeds`"));
    assert!(refuse("3.09923", "-3.0").contains("payloads[0]"));
}
