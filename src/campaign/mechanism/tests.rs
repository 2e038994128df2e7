use super::*;
use crate::campaign::{Campaign, Journal, Shard};

const HERE: &str = "./few.toml";

fn campaign(text: &str) -> Result<MechanismCampaign, CampaignError> {
    let text = format!("schema = 1\nname = \"few\"\nkind = \"mechanism\"\n{text}");
    MechanismCampaign::new(Path::new(HERE), crate::campaign::parse(Path::new(HERE), &text).unwrap())
}

const SHORT: &str = "problem = \"scenarios/estimation/furuta_synthetic.toml\"\n\
    change = { simulate = { duration_s = 1.0, plant_step_s = 1e-3 } }\n";

/// A key in a table, and another that goes with it.
#[test]
fn keys_are_changed_together() {
    let keys =
        "key = \"simulate.plant_compliance\"\nalso = [\"compliance\", \"simulate.plant_relaxation_s\"]";
    let text = format!("[[sweep]]\nlabel = \"both\"\n{SHORT}{keys}\nvalues = [1e-3, 1e-4]");
    let both = campaign(&text).unwrap();
    for (v, value) in [1e-3, 1e-4].into_iter().enumerate() {
        let study = both.study(Which::Sweep(0, v)).unwrap();
        assert!(study.mechanism.joints.iter().all(|j| j.compliance_m_n == value));
    }
    let unknown = text.replace("\"compliance\"", "\"softness\"");
    assert!(campaign(&unknown).unwrap_err().to_string().contains("softness"));
}

const SWING: &str = "problem = \"scenarios/estimation/pendulum_viscous.toml\"\n";

#[test]
fn a_sweep_keeps_its_promise_or_says_what_it_broke() {
    let sweep = |within: f64| {
        let promise = format!(
            "promise = {{ between = [1e-5, 1e-3], parameters = [\"J_yy of rod\"], within = {within:?} }}"
        );
        campaign(&format!(
            "[[sweep]]\nlabel = \"soft\"\n{SHORT}key = \"compliance\"\nvalues = [1e-3, 1e-4, 1e-12]\n{promise}"
        ))
    };
    let good = sweep(0.5).unwrap().run(&|_, _| ()).unwrap();
    assert!(good.passed, "{}", good.verdict);
    assert_eq!(good.table.len(), 4);
    let (name, picture) = &good.files[0];
    assert_eq!((name.as_str(), good.files.len()), ("compliance.svg", 1));
    // Three values of the one parameter that is promised, and of both mean squares.
    assert_eq!(picture.matches("<circle").count(), 9);
    assert!(picture.contains("J_yy of rod") && picture.trim_end().ends_with("</svg>"));
    assert!(!picture.contains("viscous friction"), "drawn, and nothing is promised of it");
    // The names stand under the panels' frames.
    let lines: Vec<&str> = picture.lines().collect();
    let named = lines.iter().position(|l| l.contains("J_yy of rod")).unwrap();
    let text = lines[..=named].iter().rev().find(|l| l.contains("<text")).unwrap();
    let y = text.split(" y=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
    assert!(y > 600.0, "{text}");
    let bad = sweep(1e-9).unwrap().run(&|_, _| ()).unwrap();
    assert!(!bad.passed && bad.verdict.contains("J_yy of rod"), "{}", bad.verdict);
    let largest = bad.summary["parts"][0]["largest_errors"]["J_yy of rod"].as_f64().unwrap();
    assert!(largest > 0.0 && largest < 0.5, "{largest}");
}

/// Where each model leads by itself, and how it came about.
#[test]
fn a_sweep_draws_its_course_where_it_is_asked_to() {
    let text = format!(
        "[[sweep]]\nlabel = \"weight\"\ncourse = true\n{SHORT}key = \"kappa\"\nvalues = [1.0, 100.0]\n\
        promise = {{ between = [100.0, 100.0], parameters = [\"J_yy of rod\"], within = 0.5 }}"
    );
    let drawn = campaign(&text).unwrap().run(&|_, _| ()).unwrap();
    let names: Vec<&str> = drawn.files.iter().map(|f| f.0.as_str()).collect();
    assert_eq!(names, ["kappa.svg", "kappa_course.svg"]);
    let picture = &drawn.files[1].1;
    for words in ["kappa = 1.0", "kappa = 100.0", "recorded", "hinge 2, rad", "J_yy of rod", "iteration"] {
        assert!(picture.contains(words), "{words}");
    }
    // Two hinges with three lines, the control, two lines of the parameter and two of the cost.
    assert!(picture.matches("<polyline").count() >= 11);
    let course = &drawn.summary["trials"][1]["course"];
    let number = |x: &serde_json::Value| x.as_f64().unwrap();
    let [second, all] = [0, 1].map(|i| number(&course["rms_rad"][i]));
    // From near the top errors of the first state grow, yet the fall of half a turn is found. The log lasts a second.
    assert!(second > 1e-4 && second < 0.2 && (all - second).abs() < 1e-3, "{second} {all}");
    let (first, last) =
        (&course["parameters"][0][1], course["parameters"].as_array().unwrap().last().unwrap());
    assert_eq!(number(first), 0.01);
    assert_eq!(number(&last[1]), number(&drawn.summary["trials"][1]["parameters"][1]["estimate"]));
}

#[test]
fn noise_and_models_are_summed_up_alike_in_shards() {
    let models = "[[comparison.model]]\nlabel = \"viscous\"\n\
        change = { simulate = { duration_s = 1.0, plant_step_s = 1e-3 } }\n\
        [[comparison.recording]]\nlabel = \"a\"\n\
        [[comparison.recording]]\nlabel = \"b\"\nchange = { simulate = { start_rad = [2.5] } }\n";
    let text = format!(
        "[[noise]]\nlabel = \"seeds\"\n{SHORT}seeds = 2\n[[comparison]]\nlabel = \"friction\"\n{SWING}{models}"
    );
    let campaign = campaign(&text).unwrap();
    assert_eq!(campaign.trial_keys().len(), 4);
    let whole = campaign.run(&|_, _| ()).unwrap();
    let trials = whole.summary["trials"].as_array().unwrap();
    assert_eq!(trials[0]["parameters"].as_array().unwrap().len(), 4);
    assert_ne!(trials[0]["parameters"], trials[1]["parameters"], "the noise is one and the same");
    assert_eq!(trials[2]["cross"].as_array().unwrap().len(), 1);
    assert!(trials[2]["cross"][0].as_f64().unwrap() > 0.0);
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path(), false).unwrap();
    assert_eq!(campaign.run_shard("1/2".parse::<Shard>().unwrap(), &journal, &|_, _| ()).unwrap(), 2);
    let rest = campaign.go_on(&journal, &|_, _| ()).unwrap();
    assert_eq!(rest.summary, whole.summary);
}

#[test]
fn bad_campaigns_name_the_field() {
    let told = |text: &str| campaign(text).unwrap_err().to_string();
    let sweep = |rest: &str| format!("[[sweep]]\nlabel = \"a\"\n{SHORT}{rest}");
    assert!(told("").contains("sweep / noise / comparison"));
    assert!(told(&sweep("key = \"kappa\"\nvalues = []")).contains("sweep[0].values"));
    assert!(told(&sweep("key = \"kappa\"\nvalues = [nan]")).contains("sweep[0].values"));
    assert!(told(&sweep("key = \"colour\"\nvalues = [1.0]")).contains("colour"));
    let promise = |text: &str| sweep(&format!("key = \"kappa\"\nvalues = [1.0]\npromise = {{ {text} }}"));
    let one = "parameters = [\"J_yy of rod\"]";
    assert!(told(&promise(&format!("between = [2.0, 3.0], within = 0.1, {one}"))).contains("between"));
    assert!(told(&promise(&format!("between = [0.0, 3.0], within = nan, {one}"))).contains("within"));
    let unknown = promise("between = [0.0, 3.0], within = 0.1, parameters = [\"J_xx of rod\"]");
    assert!(told(&unknown).contains("J_xx of rod"));
    assert!(told(&format!("[[noise]]\nlabel = \"a\"\n{SHORT}seeds = 0")).contains("noise[0].seeds"));
    let share = format!("[[noise]]\nlabel = \"a\"\n{SHORT}seeds = 1\nwithin_three = 2.0");
    assert!(told(&share).contains("within_three"));
    assert!(
        told(&format!("[[comparison]]\nlabel = \"a\"\n{SWING}model = []\nrecording = []"))
            .contains("comparison[0]")
    );
}
