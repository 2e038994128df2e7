//! The promise: a campaign may be made in parts, on as many machines as there are; merged, the parts are to the bit what one machine writes.
//! A part that is killed goes on; what cannot be merged is refused by name, and nothing is written then.
#![cfg(feature = "cli")]

#[path = "shards/machines.rs"]
mod machines;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Exit code, and all that is said.
fn surelift(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(["campaign"].iter().chain(arguments))
        .current_dir(ROOT)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said.into_owned())
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A campaign file in a folder of its own, with places for what comes of it.
struct Place {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Place {
    fn new(contents: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("campaign.toml");
        fs::write(&file, contents.replace("ROOT", ROOT)).unwrap();
        Self { folder, file }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes one shard in the folder `name`.
    fn shard(&self, name: &str, shard: &str) -> PathBuf {
        let folder = self.at(name);
        let (file, out) = (text(&self.file), text(&folder));
        let (code, said) = surelift(&[&file, "--quiet", "--resume", "--out", &out, "--shard", shard]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(&format!("shard {shard}: ")), "{said}");
        folder
    }

    /// Merges folders into a new one.
    fn merged(&self, out: &str, shards: &[&Path], more: &[&str]) -> (Option<i32>, String) {
        let (out, shards) = (text(&self.at(out)), shards.iter().map(|shard| text(shard)));
        let shards: Vec<String> = shards.collect();
        let mut arguments = vec!["merge", &out];
        arguments.extend(shards.iter().map(String::as_str));
        arguments.extend(more);
        surelift(&arguments)
    }

    /// That a merge is refused with these words and leaves nothing behind.
    fn refused(&self, shards: &[&Path], more: &[&str], words: &[&str]) {
        let (code, said) = self.merged("refused", shards, more);
        assert_eq!(code, Some(2), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        assert!(!self.at("refused").exists(), "something is left behind");
    }
}

/// All files that sum a campaign up, by name.
fn written(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<(String, String)> = entries
        .filter(|path| name(path) != "trials.jsonl")
        .map(|path| (name(&path), fs::read_to_string(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Keys of a JSON file that say how long the computer took.
const TIMES: [&str; 2] = ["wall_s", "seconds"];

fn without_times(value: &mut Value) {
    match value {
        Value::Object(keys) => {
            TIMES.iter().for_each(|time| drop(keys.remove(*time)));
            keys.values_mut().for_each(without_times);
        }
        Value::Array(list) => list.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// The same but for how long the computer took: the last column of tables about estimates and of `results.csv`, and [`TIMES`].
fn untimed(files: Vec<(String, String)>, timed_table: bool) -> Vec<(String, String)> {
    let without = |(name, content): (String, String)| {
        let cut = |by: &str| -> String {
            content
                .lines()
                .map(|line| {
                    line.trim_end().rsplit_once(by).map_or(line, |(rest, _)| rest).trim_end().to_owned()
                        + "\n"
                })
                .collect()
        };
        let content = match name.as_str() {
            "results.csv" => cut(","),
            "table.txt" if timed_table => cut("  "),
            name if name.ends_with(".json") => {
                let mut value: Value = serde_json::from_str(&content).unwrap();
                without_times(&mut value);
                value.to_string()
            }
            _ => content,
        };
        (name, content)
    };
    files.into_iter().map(without).collect()
}

/// Makes a campaign in one piece and in so many shards, and compares all that is written.
fn same_in_shards(contents: &str, of: usize, timed_table: bool) {
    let place = Place::new(contents);
    let (file, whole) = (text(&place.file), place.at("whole"));
    let (code, said) = surelift(&[&file, "--quiet", "--out", &text(&whole)]);
    assert!(matches!(code, Some(0 | 1)), "{said}");
    let shards: Vec<PathBuf> =
        (1..=of).map(|i| place.shard(&format!("shard{i}"), &format!("{i}/{of}"))).collect();
    let made: Vec<usize> = shards
        .iter()
        .map(|shard| fs::read_to_string(shard.join("trials.jsonl")).unwrap().lines().count())
        .collect();
    assert!(made.iter().all(|count| *count > 0), "a shard had nothing to do: {made:?}");
    // In any order.
    let backwards: Vec<&Path> = shards.iter().rev().map(PathBuf::as_path).collect();
    let (merged_code, told) = place.merged("merged", &backwards, &[]);
    assert_eq!(merged_code, code, "{told}");
    let merged = written(&place.at("merged"));
    assert_eq!(untimed(written(&whole), timed_table), untimed(merged.clone(), timed_table));
    // With the times too, where one piece takes over the trials of the shards. All were there, none is made again.
    let (again, trials) =
        (place.at("again"), fs::read_to_string(place.at("merged").join("trials.jsonl")).unwrap());
    fs::create_dir(&again).unwrap();
    fs::write(again.join("trials.jsonl"), &trials).unwrap();
    assert_eq!(surelift(&[&file, "--quiet", "--resume", "--out", &text(&again)]).0, code);
    assert_eq!(written(&again), merged);
    assert_eq!(fs::read_to_string(again.join("trials.jsonl")).unwrap(), trials);
    assert_eq!(trials.lines().count(), made.iter().sum::<usize>());
}

const IDENTIFICATION: &str = "schema = 1\nname = \"few\"\nkind = \"identification\"\ntrials = 7\nseconds = 0.4\nseed = 3\n\
    scenario = \"ROOT/scenarios/dumbbell_c_8lb.toml\"\n";

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn attacks_on_the_certifier_in_three_shards_at_length() {
    // Two blocks of each arm, of which the second is not full.
    let text = "schema = 1\nname = \"few\"\nkind = \"soundness\"\nsamples = 16385\nwalks = 0\nseed = 5\n\
        [[arms]]\nscenario = \"ROOT/scenarios/z1_post.toml\"\n[[arms]]\nscenario = \"ROOT/scenarios/z1_load.toml\"\n";
    same_in_shards(text, 3, false);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn truths_that_stay_inside_in_three_shards_at_length() {
    same_in_shards(IDENTIFICATION, 3, false);
}

#[test]
fn widths_in_two_shards() {
    let text = "schema = 1\nname = \"few\"\nkind = \"widths\"\nplans = 2\nintervals = 16\nseed = 1\nk_r = [8.0, 10.0]\n\
        [[arms]]\nscenario = \"ROOT/scenarios/z1_post.toml\"\n";
    same_in_shards(text, 2, false);
}

#[test]
fn regressors_in_two_shards() {
    let text = "schema = 1\nname = \"few\"\nkind = \"regressors\"\nrobot = \"z1\"\nseries = 3\nseed = 1\nduration_s = 0.4\n\
        horizons = [1, 10]\n[[ensembles]]\nlabel = \"a\"\nharmonics = 5\nspeed = 0.2\n[[ensembles]]\nlabel = \"b\"\nharmonics = 9\nspeed = 0.1\n";
    same_in_shards(text, 2, false);
}

/// Two experiments of one name, which only their order tells apart, and a page.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn methods_in_two_shards_at_length() {
    let experiment =
        "[[experiments]]\nlabel = \"a\"\nscenario = \"ROOT/scenarios/dumbbell_a.toml\"\nitems = [\"4lb\"]\n";
    let text = format!(
        "schema = 1\nname = \"few\"\nkind = \"methods\"\nseeds = 1\nmethods = [\"grav-pid\", \"adap-1\"]\n{experiment}{experiment}"
    );
    same_in_shards(&text, 2, false);
}

/// One ends as expected, the other does not.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn runs_in_two_shards_at_length() {
    let text = "schema = 1\nname = \"few\"\nkind = \"runs\"\nseeds = 1\n\
[[runs]]\nscenario = \"ROOT/examples/my_arm/first_move.toml\"\nexpected = \"success\"\n\
        [[runs]]\nscenario = \"ROOT/examples/my_arm/first_move.toml\"\nexpected = \"assumption_broken\"\n";
    same_in_shards(text, 2, false);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn designs_of_excitation_in_two_shards_at_length() {
    let text = "schema = 1\nname = \"few\"\nkind = \"excitation\"\nscenario = \"ROOT/scenarios/dumbbell_c_8lb.toml\"\nseeds = 2\n\
        evaluations = 5\ndesigns = [\"fourier\"]\n[[payloads]]\nname = \"4 lb\"\n\
        body = [3.09923, -4e-5, 9e-5, -0.43801, 0.07803, 0.0, 0.07405, 0.0, 0.0, 0.00705]\n";
    same_in_shards(text, 2, false);
}

const HECTOR: &str = "[[problem]]\nlabel = \"Hector\"\nfile = \"ROOT/scenarios/estimation/hector_payload.toml\"\n\
    change = { simulate = { duration_s = 0.3 } }\n";

#[test]
fn starts_of_estimates_in_three_shards() {
    // The second variant does not converge: there are no errors to tell of.
    let text = format!(
        "schema = 1\nname = \"few\"\nkind = \"estimation\"\nstarts = 2\nspread = 0.3\nstate_spread = 0.0\n{HECTOR}\
         [[variant]]\nlabel = \"whole\"\n[[variant]]\nlabel = \"cut\"\nchange = {{ solver = {{ iterations = 1 }} }}\n"
    );
    same_in_shards(&text, 3, true);
}

#[test]
fn estimates_under_noise_in_two_shards() {
    let text = "schema = 1\nname = \"few\"\nkind = \"estimation_noise\"\nnoise = [0.0, 0.01]\nleast = 1e-4\nseeds = 1\n\
        torque_windows_s = [0.02]\nenergy_windows_s = [0.1]\n[[problem]]\nlabel = \"arm\"\n\
        file = \"ROOT/scenarios/estimation/gen3_payload.toml\"\n\
        change = { formulation = \"inverse\", simulate = { duration_s = 1.0 }, truth = { joint = [{ value = 7.40648 }] } }\n";
    same_in_shards(text, 2, true);
}

#[test]
fn deviations_of_estimates_in_two_shards() {
    let text = format!(
        "schema = 1\nname = \"few\"\nkind = \"estimation_deviations\"\nseeds = 3\nlargest_mean_square = 1e-3\n{HECTOR}"
    );
    same_in_shards(&text, 2, false);
}

/// A small arm, each part as short as it may be.
const LIMBS: &str = "schema = 1\nname = \"few\"\nkind = \"limbs\"\nrobot = \"z1\"\nseeds = 2\n\
    [truth]\nmass_share = 0.1\ncenter_m = 0.01\nfriction_factor = 2.0\narmature_factor = 1.2\noffset_nm = 0.5\npassive_friction = 0.02\n\
    stribeck_share = [0.1, 0.3]\nstribeck_rad_s = [0.1, 0.3]\nload_share = [0.005, 0.02]\n\
    [noise]\nposition_rad = 1e-4\nvelocity_rad_s = 5e-3\ntorque_nm = 0.1\n\
    [control]\nperiod_s = 0.004\nplant_steps = 1\n[filter]\norder = 4\ncutoff_hz = 15.0\n\
    [excitation]\nmotions = 2\nduration_s = 3.0\nevaluations = 5\nleast_singular_value = 0.0\nbandwidth_rad_s = 30.0\nseed = 0\n\
    [prediction]\nmotions = 2\nduration_s = 2.0\nsegments = 4\n\
    [tracking]\nspeeds_rad_s = [1.0]\nrange_share = 0.4\nramp_s = 0.5\nduration_s = 1.0\nbandwidth_rad_s = 15.0\n";

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn limbs_in_two_shards_at_length() {
    same_in_shards(LIMBS, 2, false);
}

#[test]
fn mechanisms_in_two_shards() {
    let noise = "[[noise]]\nlabel = \"seeds\"\nproblem = \"ROOT/scenarios/estimation/furuta_synthetic.toml\"\nseeds = 2\n\
        change = { simulate = { duration_s = 1.0, plant_step_s = 1e-3 } }\n";
    let text = format!("schema = 1\nname = \"few\"\nkind = \"mechanism\"\n{noise}");
    same_in_shards(&text, 2, false);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn what_cannot_be_merged_is_refused_by_name_at_length() {
    let place = Place::new(IDENTIFICATION);
    let [one, two, three] = [1, 2, 3].map(|i| place.shard(&format!("part{i}"), &format!("{i}/3")));
    place.refused(&[&one, &three], &[], &["shards are missing: 2/3"]);
    place.refused(&[&three], &[], &["shards are missing: 1/3, 2/3"]);
    place.refused(&[&one, &two, &three, &two], &[], &["part2", "is shard 2/3, and so is"]);
    place.refused(&[&one, &two, &place.at("nothing")], &[], &["nothing", "is no shard", "shard.json"]);
    // Of a campaign that is divided otherwise.
    let half = place.shard("half", "2/2");
    place.refused(&[&one, &two, &half], &[], &["half", "is shard 2/2", "is shard 1/3"]);
    // Of other files, seeds and versions.
    for (from, to, words) in [
        ("seed = 3", "seed = 4", "field `seed` is 4 here and 3 there"),
        ("seconds = 0.4", "seconds = 0.5", "field `seconds` is 0.5 here and 0.4 there"),
        ("8lb.toml", "8lb_brisk.toml", "field `scenario` is "),
    ] {
        let contents = IDENTIFICATION.replace(from, to);
        assert_ne!(contents, IDENTIFICATION);
        let other = Place::new(&contents);
        let second = other.shard("other", "2/3");
        place.refused(&[&one, &second, &three], &[], &["other", "is of another campaign", "part1", words]);
        place.refused(&[&one, &two, &three], &["--campaign", &text(&other.file)], &["is not the campaign"]);
    }
    let changed = |from: &str, to: &str, words: &[&str]| {
        let file = two.join("shard.json");
        let before = fs::read_to_string(&file).unwrap();
        assert!(before.contains(from), "{before}");
        fs::write(&file, before.replacen(from, to, 1)).unwrap();
        place.refused(&[&one, &two, &three], &[], &[&["part2"], words].concat());
        fs::write(&file, before).unwrap();
    };
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    changed(&version, "\"version\": \"0.0.9\"", &["version 0.0.9", env!("CARGO_PKG_VERSION")]);
    changed("\"inputs\": \"", "\"inputs\": \"0", &["is of another campaign", "a robot, scenario or problem"]);
    changed("\"schema\": 1", "\"schema\": 2", &["`schema`: is 2"]);
    changed("\"shard\": 2", "\"shard\": 0", &["shard 0 of 3"]);
    changed("\"shard\": 2", "\"shard\": NaN", &["is damaged"]);
    changed("\"of\": 3", "\"of\": 0", &["0 shards"]);
    // However many shards a file claims.
    let claims = format!("\"of\": {}", 10_u64.pow(13));
    for folder in [&one, &two, &three] {
        let file = folder.join("shard.json");
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, before.replacen("\"of\": 3", &claims, 1)).unwrap();
    }
    let more = format!("13/{0} and {1} more", 10_u64.pow(13), 10_u64.pow(13) - 13);
    place.refused(&[&one, &two, &three], &[], &["shards are missing: 4/10000000000000, 5/", &more]);
    for folder in [&one, &two, &three] {
        let file = folder.join("shard.json");
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, before.replacen(&claims, "\"of\": 3", 1)).unwrap();
    }
    // A campaign file that is no longer what it was, or where it was.
    let elsewhere = place.at("moved.toml");
    fs::rename(&place.file, &elsewhere).unwrap();
    place.refused(&[&one, &two, &three], &[], &["campaign.toml", "cannot be read"]);
    fs::write(&place.file, IDENTIFICATION.replace("seed = 3", "seed = 8").replace("ROOT", ROOT)).unwrap();
    place.refused(&[&one, &two, &three], &[], &["is not the campaign", "field `seed` is 8 here and 3 there"]);
    let (code, said) = place.merged("merged", &[&one, &two, &three], &["--campaign", &text(&elsewhere)]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_shard_that_is_not_finished_is_refused_and_goes_on_at_length() {
    let place = Place::new(IDENTIFICATION);
    let [one, two] = [1, 2].map(|i| place.shard(&format!("part{i}"), &format!("{i}/2")));
    let (code, said) = place.merged("before", &[&one, &two], &[]);
    assert_eq!(code, Some(0), "{said}");
    let journal = two.join("trials.jsonl");
    let lines = fs::read_to_string(&journal).unwrap();
    let count = lines.lines().count();
    // Cut off in its second trial: the first is left.
    let cut = lines.find('\n').unwrap() + 40;
    fs::write(&journal, &lines[..cut]).unwrap();
    let missing =
        format!("is not finished: {} trials are missing or cannot be as they are written (trial ", count - 1);
    place.refused(&[&one, &two], &[], &["part2", &missing, "seed 3", "--resume"]);
    fs::remove_file(&journal).unwrap();
    place.refused(&[&one, &two], &[], &["part2", &format!("{count} trials are missing")]);
    fs::write(&journal, &lines[..cut]).unwrap();
    place.shard("part2", "2/2");
    assert_eq!(place.merged("after", &[&one, &two], &[]).0, Some(0));
    assert_eq!(written(&place.at("after")), written(&place.at("before")));
}

/// All files of a folder with what they hold, of which a command that is refused changes none.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn trials_of_another_version_campaign_or_part_are_not_taken_over_at_length() {
    let place = Place::new(IDENTIFICATION);
    let two = place.shard("part2", "2/2");
    let (file, out, label) = (text(&place.file), text(&two), two.join("shard.json"));
    let refused = |more: &[&str], words: &[&str]| {
        let before = everything(&two);
        let (code, said) = surelift(&[&[&*file, "--quiet", "--resume", "--out", &out], more].concat());
        assert_eq!(code, Some(2), "{said}");
        let words = [&["part2", "without `--resume` it begins anew", "another `--out`"], words].concat();
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        assert_eq!(everything(&two), before, "something is changed");
    };
    let own = fs::read_to_string(&label).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(own.contains(&version), "{own}");
    let older = own.replace(&version, "\"version\": \"0.0.9\"");
    fs::write(&label, &older).unwrap();
    refused(&["--shard", "2/2"], &["was made by version 0.0.9", env!("CARGO_PKG_VERSION")]);
    refused(&[], &["was made by version 0.0.9"]);
    fs::write(&label, "{").unwrap();
    refused(&["--shard", "2/2"], &["is damaged"]);
    fs::write(&label, own.replace("\"inputs\": \"", "\"inputs\": \"0")).unwrap();
    refused(&["--shard", "2/2"], &["is of another campaign: a robot, scenario or problem"]);
    fs::write(&label, &own).unwrap();
    refused(&["--shard", "1/2"], &["holds shard 2/2, not 1/2"]);
    refused(&["--shard", "2/3"], &["holds shard 2/2, not 2/3"]);
    refused(&[], &["holds shard 2/2, not the whole campaign"]);
    fs::write(&place.file, IDENTIFICATION.replace("seed = 3", "seed = 4").replace("ROOT", ROOT)).unwrap();
    refused(&["--shard", "2/2"], &["is of another campaign: field `seed` is 3 here and 4 there"]);
    fs::write(&place.file, IDENTIFICATION.replace("ROOT", ROOT)).unwrap();
    fs::remove_file(&label).unwrap();
    refused(&["--shard", "2/2"], &["has trials but no `shard.json`"]);
    // The ways out: anew as a part, and as a whole, which holds no shard then.
    fs::write(&label, &older).unwrap();
    let anew = [&*file, "--quiet", "--out", &out];
    assert_eq!(surelift(&[&anew[..], &["--shard", "2/2"]].concat()).0, Some(0));
    assert_eq!(fs::read_to_string(&label).unwrap(), own);
    assert_eq!(surelift(&anew).0, Some(0));
    assert!(!label.exists());
    assert_eq!(surelift(&[&anew[..], &["--resume"]].concat()).0, Some(0));
}

#[test]
fn more_shards_than_trials_are_refused() {
    let place = Place::new(IDENTIFICATION);
    for (shard, expected) in [("1/8", "for 8 shards"), ("1/99999999999", "for 99999999999 shards")] {
        let out = place.at("out");
        let (code, said) = surelift(&[&text(&place.file), "--shard", shard, "--out", &text(&out)]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("has 7 trials") && said.contains(expected), "{said}");
        assert!(!out.exists(), "something is left behind");
    }
}

/// A journal may say anything. What is no number is held against the claim; what there cannot be counts as not made.
#[test]
fn a_ledger_that_was_tampered_with_is_not_believed() {
    let place = Place::new(
        "schema = 1\nname = \"few\"\nkind = \"soundness\"\nsamples = 64\nwalks = 0\nseed = 5\n\
        [[arms]]\nscenario = \"ROOT/scenarios/z1_post.toml\"\n[[arms]]\nscenario = \"ROOT/scenarios/z1_load.toml\"\n",
    );
    let [one, two] = [1, 2].map(|i| place.shard(&format!("part{i}"), &format!("{i}/2")));
    assert_eq!(place.merged("before", &[&one, &two], &[]).0, Some(0));
    let journal = two.join("trials.jsonl");
    let own = fs::read_to_string(&journal).unwrap();
    // The first claim of the ledger, as it is written in place of its figures.
    let tampered = |key: &str, value: &str| {
        let from = own.find(&format!("\"{key}\":")).unwrap() + key.len() + 3;
        let to = from + own[from..].find([',', '}']).unwrap();
        fs::write(&journal, format!("{}{value}{}", &own[..from], &own[to..])).unwrap();
    };
    tampered("gap", "\"nan\"");
    let (code, said) = place.merged("passed", &[&one, &two], &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("UNSOUND: 1 claims were passed"), "{said}");
    for (key, value) in [("trials", "18446744073709551615"), ("walked", "18446744073709551615")] {
        tampered(key, value);
        place.refused(&[&one, &two], &[], &["part2", "cannot be as they are written (arm 1"]);
    }
    // It is made again.
    place.shard("part2", "2/2");
    assert_eq!(place.merged("after", &[&one, &two], &[]).0, Some(0));
    assert_eq!(written(&place.at("after")), written(&place.at("before")));
}

#[test]
fn a_killed_shard_goes_on_and_loses_nothing_that_was_written_down() {
    let place = Place::new(&IDENTIFICATION.replace("trials = 7", "trials = 10"));
    let one = place.shard("part1", "1/2");
    let two = place.at("part2");
    let mut child = Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(["campaign", &text(&place.file), "--quiet", "--shard", "2/2", "--out", &text(&two)])
        .current_dir(ROOT)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = two.join("trials.jsonl");
    let lines = || fs::read_to_string(&journal).unwrap_or_default();
    while lines().lines().count() < 2 && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(2));
    }
    // It may have come to its end.
    let _ = child.kill();
    child.wait().unwrap();
    let before = lines();
    println!("killed after {} of 5 trials", before.lines().count());
    assert!(before.lines().count() >= 2);
    place.shard("part2", "2/2");
    assert!(lines().starts_with(&before) && lines().lines().count() <= 6);
    assert_eq!(place.merged("merged", &[&one, &two], &[]).0, Some(0));
    let (file, whole) = (text(&place.file), place.at("whole"));
    assert_eq!(surelift(&[&file, "--quiet", "--out", &text(&whole)]).0, Some(0));
    assert_eq!(written(&place.at("merged")), written(&whole));
}
