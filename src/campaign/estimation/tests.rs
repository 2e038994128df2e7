use super::*;
use crate::campaign::Campaign;
use crate::estimate::Iteration;

fn read<T: for<'de> Deserialize<'de>>(text: &str) -> T {
    crate::campaign::parse(Path::new(HERE), text).unwrap()
}

const HERE: &str = "./few.toml";

fn starts(head: &str, rest: &str) -> Result<Starts, CampaignError> {
    let text = format!("schema = 1\nname = \"few\"\nkind = \"estimation\"\n{head}\n{rest}");
    Starts::new(Path::new(HERE), read(&text))
}

const HECTOR: &str = "[[problem]]\nlabel = \"Hector\"\nfile = \"scenarios/estimation/hector_payload.toml\"\n\
    change = { simulate = { duration_s = 0.3 } }\n";

#[test]
fn variants_are_laid_over_the_file_and_compared() {
    let variants = "[[variant]]\nlabel = \"whole\"\n\
        [[variant]]\nlabel = \"cut\"\nchange = { body = [{ coordinates = \"log_cholesky\" }], solver = { iterations = 1 } }";
    let campaign = starts("starts = 2\nspread = 0.3\nstate_spread = 0.0", &format!("{HECTOR}{variants}"));
    let findings = campaign.unwrap().run(&|_, _| ()).unwrap();
    assert_eq!(findings.table.len(), 3);
    let groups = findings.summary["groups"].as_array().unwrap();
    assert!(groups[0]["trials"].as_array().unwrap().iter().all(|t| t["converged"] == true), "{groups:?}");
    let errors = &groups[0]["trials"][0]["errors"];
    assert!(errors["inertia"].as_f64().unwrap() > 0.0 && errors["friction"].is_null(), "{errors}");
    // One iteration is not enough from anywhere.
    assert!(groups[1]["trials"].as_array().unwrap().iter().all(|t| t["converged"] == false), "{groups:?}");
}

/// A cost that passes its end on the way is not there yet, and iterations without a step are none.
#[test]
fn iterations_to_the_end_are_those_after_which_the_cost_stays_there() {
    let line = |cost: f64, step: f64| Iteration {
        cost,
        violation: 0.0,
        expected: 0.0,
        step,
        trials: 1,
        damping: 0.0,
    };
    let record = vec![
        line(90.0, 1.0),
        line(10.0, 1.0),
        line(12.0, 0.0),
        line(12.0, 1.0),
        line(10.05, 0.5),
        line(10.0, 0.0),
    ];
    let outcome = SolverOutcome {
        status: Status::Converged,
        cost: 10.0,
        violation: 0.0,
        record,
        deficiency: 0,
        contradiction: 0.0,
    };
    assert_eq!(iterations_to(&outcome, 100.0), 0);
    assert_eq!(iterations_to(&outcome, 50.0), 1);
    assert_eq!(iterations_to(&outcome, 0.1), 3);
    assert_eq!(iterations_to(&outcome, 0.005), 4);
}

#[test]
fn starts_are_random_and_repeatable() {
    let head = "starts = 2\nspread = 0.5\nstate_spread = 0.02";
    let campaign = starts(head, &format!("{HECTOR}[[variant]]\nlabel = \"as is\"")).unwrap();
    let problem = &campaign.file.problem[0];
    let study = campaign.load(problem, &campaign.file.variant[0]).unwrap();
    let stated = study.problem().unwrap();
    let guess = |seed| campaign.start(&study, &stated, seed).unwrap();
    assert_eq!(guess(1), guess(1));
    assert_ne!(guess(1).theta, guess(2).theta);
    // Attitudes stay unit quaternions.
    let norm = guess(1).xs[7][3..7].iter().map(|x| x * x).sum::<f64>();
    assert!((norm - 1.0).abs() < 1e-12, "{norm}");
}

#[test]
fn bad_starts_name_the_field() {
    let told = |head: &str, rest: &str| starts(head, rest).unwrap_err().to_string();
    let one = "[[variant]]\nlabel = \"a\"";
    let good = format!("{HECTOR}{one}");
    assert!(told("starts = 0\nspread = 0.5\nstate_spread = 0.0", &good).contains("`starts`"));
    assert!(told("starts = 1\nspread = 1.0\nstate_spread = 0.0", &good).contains("`spread`"));
    assert!(told("starts = 1\nspread = nan\nstate_spread = 0.0", &good).contains("`spread`"));
    assert!(told("starts = 1\nspread = 0.5\nstate_spread = -1.0", &good).contains("`state_spread`"));
    assert!(told("starts = 1\nspread = 0.5\nstate_spread = 0.0", HECTOR).contains("`problem[0].variant`"));
    let unknown = format!("{HECTOR}{one}\nchange = {{ colour = 3 }}");
    let error = told("starts = 1\nspread = 0.5\nstate_spread = 0.0", &unknown);
    assert!(error.contains("Hector") && error.contains("colour"), "{error}");
}

/// Without noise all methods find the payload; with it, accelerations from a short window are useless and the estimate is not.
#[test]
fn noise_hurts_regressions_more_than_estimates() {
    let text = "schema = 1\nname = \"few\"\nkind = \"estimation_noise\"\nnoise = [0.0, 0.01]\nleast = 1e-4\nseeds = 1\n\
        torque_windows_s = [0.02]\nenergy_windows_s = [0.1]\n[[problem]]\nlabel = \"arm\"\n\
        file = \"scenarios/estimation/gen3_payload.toml\"\n\
        change = { formulation = \"inverse\", simulate = { duration_s = 2.0 }, truth = { joint = [{ value = 7.40648 }] } }";
    let campaign = noise::UnderNoise::new(Path::new(HERE), read(text)).unwrap();
    let findings = campaign.run(&|_, _| ()).unwrap();
    assert!(findings.passed, "{}", findings.verdict);
    let trials = findings.summary["trials"].as_array().unwrap();
    let mass = |i: usize, who: &str| {
        let of = &trials[i][who];
        if of.is_array() { of[0]["mass"].as_f64().unwrap() } else { of["mass"].as_f64().unwrap() }
    };
    assert!(
        // 0.107, 5e-5 and 0.0038 kg.
        mass(0, "torques") < 0.13 && mass(0, "energies") < 1e-3 && mass(0, "estimate") < 0.0045,
        "{trials:?}"
    );
    // 0.165 and 6.14 kg.
    assert!(mass(1, "estimate") < 0.2 && mass(1, "torques") > 30.0 * mass(1, "estimate"), "{trials:?}");
    let bad = text.replace("least = 1e-4", "least = 0.0");
    assert!(noise::UnderNoise::new(Path::new(HERE), read(&bad)).unwrap_err().to_string().contains("`least`"));
    let variants = format!("{text}\n[[problem.variant]]\nlabel = \"a\"");
    let told = noise::UnderNoise::new(Path::new(HERE), read(&variants)).unwrap_err().to_string();
    assert!(told.contains("`problem[0].variant`: expected none"), "{told}");
}

fn honesty(head: &str) -> Result<deviations::Honesty, CampaignError> {
    let text =
        format!("schema = 1\nname = \"few\"\nkind = \"estimation_deviations\"\nseeds = 3\n{head}\n{HECTOR}");
    deviations::Honesty::new(Path::new(HERE), read(&text))
}

#[test]
fn deviations_are_held_against_errors() {
    // Of 0.3 s the prior decides most, and the truth is far from where it is centred.
    let findings = honesty("largest_mean_square = 1e9").unwrap().run(&|_, _| ()).unwrap();
    assert!(findings.passed, "{:?}", findings.table);
    let (spread, trials) = (&findings.summary["problems"][0], &findings.summary["trials"]);
    assert_eq!((spread["trials"].as_u64(), spread["converged"].as_u64()), (Some(3), Some(3)));
    let errors = |i: usize| trials[i]["errors"].as_array().unwrap().iter().map(|z| z.as_f64().unwrap());
    let total: f64 = (0..3).flat_map(errors).map(|z| z * z).sum();
    let overall = spread["overall"].as_f64().unwrap();
    assert!((overall * 3.0 * errors(0).count() as f64 / total - 1.0).abs() < 1e-12, "{spread}");
    // A limit that no honest deviation meets.
    assert!(!honesty("largest_mean_square = 1e-3").unwrap().run(&|_, _| ()).unwrap().passed);
    for bad in ["0.0", "nan", "-1.0"] {
        let told = honesty(&format!("largest_mean_square = {bad}")).unwrap_err().to_string();
        assert!(told.contains("largest_mean_square"), "{told}");
    }
}
