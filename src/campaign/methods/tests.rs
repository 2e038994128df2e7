use super::*;
use crate::campaign::{self, Campaign, Journal};

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/campaigns/dumbbells.toml");

/// The shipped campaign with a few of its runs.
fn few(methods: &str, items: &str) -> String {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_a.toml");
    format!(
        "schema = 1\nkind = \"methods\"\nname = \"few\"\nseeds = 1\nmethods = {methods}\nmust_succeed = [\"grav-pid\"]\n\
         [[experiments]]\nlabel = \"a\"\nscenario = {scenario:?}\nitems = {items}\n"
    )
}

fn loaded(text: &str) -> Result<Box<dyn Campaign>, CampaignError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.toml");
    std::fs::write(&path, text).unwrap();
    campaign::load(&path)
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn runs_are_the_same_whatever_is_known_of_them_before_at_length() {
    let campaign = loaded(&few("[\"grav-pid\", \"adap-1\"]", "[\"4lb\", \"8lb\"]")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let first = campaign.go_on(&Journal::open(folder.path(), false).unwrap(), &|_, _| ()).unwrap();
    assert!(first.passed, "{}", first.verdict);
    let journal = folder.path().join("trials.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(lines.lines().count(), 4);
    // A run that was cut off in the middle of its third trial.
    let cut: usize = lines.lines().take(2).map(|line| line.len() + 1).sum();
    std::fs::write(&journal, &lines[..cut + 40]).unwrap();
    let again = campaign.go_on(&Journal::open(folder.path(), true).unwrap(), &|_, _| ()).unwrap();
    let timeless = |found: &CampaignFindings| {
        let rows =
            found.files[0].1.lines().map(|row| row.rsplit_once(',').map_or("", |(row, _)| row).to_owned());
        (found.table.clone(), found.files[1].1.clone(), rows.collect::<Vec<_>>())
    };
    assert_eq!(timeless(&first), timeless(&again));
    assert_eq!(first.files[0].1.lines().count(), 5);
    let names: Vec<&str> = first.files.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["results.csv", "tables.md", "report.html", "results.json"]);
    let results: serde_json::Value = serde_json::from_str(&first.files[3].1).unwrap();
    assert_eq!(results["runs"].as_array().unwrap().len(), 4);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn what_is_wrong_in_the_file_is_named_at_length() {
    campaign::load(Path::new(SHIPPED)).map(|_| ()).unwrap();
    let refused = |text: &str, words: &str| {
        let said = loaded(text).err().unwrap().to_string();
        assert!(said.contains(words), "{words}: {said}");
    };
    let fine = few("[\"grav-pid\"]", "[\"4lb\"]");
    refused(&fine.replace("[\"grav-pid\"]\nmust", "[\"hope\"]\nmust"), "methods[0]");
    refused(&fine.replace("must_succeed = [\"grav-pid\"]", "must_succeed = [\"ours\"]"), "must_succeed");
    refused(&fine.replace("seeds = 1", "seeds = 0"), "`seeds`");
    refused(&fine.replace("[\"4lb\"]", "[\"9lb\"]"), "9lb");
    refused(&fine.replace("dumbbell_a", "dumbbell_z"), "experiments[0].scenario");
}
