//! The promise: `docs/reference/` says what the program reads and writes, key by key and option by option.
//!
//! The pages are made from the types that files are read into and from the program's own help. After a change:
//! `SURELIFT_WRITE=1 cargo test --release --test reference`.
#![cfg(feature = "cli")]

mod page;
mod types;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use page::{Format, Page};
use types::Library;

/// A page: its file, its title, what precedes the tables, how its tables are named, and the types: module, name, heading.
struct Plan {
    file: &'static str,
    title: &'static str,
    before: &'static str,
    format: Format,
    types: &'static [(&'static str, &'static str, &'static str)],
}

const EXTENDS: &str = "\
The key `extends = \"FILE\"` takes over all keys of another file but those given here. Tables are merged key by key; lists are replaced \
as a whole.\n";

const PLANS: [Plan; 9] = [
    Plan {
        file: "robot.md",
        title: "Robot file",
        before: "A robot is a URDF and a TOML file beside it. The TOML says what a URDF cannot say. \
                 `surelift robot FILE` prints what was understood.",
        format: Format::Toml,
        types: &[("robot::settings", "Settings", "The file")],
    },
    Plan {
        file: "scenario.md",
        title: "Scenario file",
        before: "A scenario says what is to be done, and what is true in the simulated world. `surelift run FILE` runs it. \
                 It may come in variants: each table `[items.NAME]` holds what one of them puts over the rest of the file. \
                 `item = \"NAME\"` says which is meant, and `--item NAME` chooses another.",
        format: Format::Toml,
        types: &[("scenario::load::schema", "ScenarioFile", "The file")],
    },
    Plan {
        file: "method.md",
        title: "Method file",
        before: "A method says how an arm learns, what it believes then, how it controls, and what has to be proven. \
                 `surelift run SCENARIO --method FILE` runs it; those that ship are in `planners/`.",
        format: Format::Toml,
        types: &[("benchmark::preset", "MethodPreset", "The file")],
    },
    Plan {
        file: "prior.md",
        title: "Prior file",
        before: "A prior says what is believed before the first measurement. `surelift identify --prior FILE` reads it. \
                 A scenario has the same keys in its table `[prior]`, a campaign in `[arms.prior]`.",
        format: Format::Toml,
        types: &[("robot::prior", "Prior", "The file")],
    },
    Plan {
        file: "estimation.md",
        title: "Estimation problem",
        before: "A problem names a robot, its samples, what is estimated, and what is assumed. `surelift estimate FILE` solves it.",
        format: Format::Toml,
        types: &[("study::estimation::file", "File", "The file")],
    },
    Plan {
        file: "mechanism.md",
        title: "Mechanism and problems about it",
        before: "A mechanism in maximal coordinates is a file of bodies and joints. A problem names one by its key `mechanism`, with readings of its \
                 encoders, what is estimated, and what is assumed. `surelift estimate FILE` solves it.",
        format: Format::Toml,
        types: &[
            ("study::mechanism::file", "MechanismProblem", "The problem"),
            ("study::mechanism::file", "MechanismFile", "The mechanism"),
        ],
    },
    Plan {
        file: "campaign.md",
        title: "Campaign file",
        before: "A campaign makes many trials of one promise. `surelift campaign FILE` runs it. Two keys stand in every file; \
                 `kind` decides which others do.",
        format: Format::Toml,
        types: &[
            ("campaign", "Header", "Every file"),
            ("campaign::soundness", "SoundnessFile", "kind = soundness"),
            ("campaign::identification", "IdentificationFile", "kind = identification"),
            ("campaign::runs", "RunsFile", "kind = runs"),
            ("campaign::methods", "MethodsFile", "kind = methods"),
            ("campaign::regressors", "RegressorsFile", "kind = regressors"),
            ("campaign::widths", "WidthsFile", "kind = widths"),
            ("campaign::payloads", "PayloadsFile", "kind = payloads"),
            ("campaign::excitation", "ExcitationFile", "kind = excitation"),
            ("campaign::estimation", "StartsFile", "kind = estimation"),
            ("campaign::estimation::noise", "NoiseFile", "kind = estimation_noise"),
            ("campaign::limbs", "LimbsFile", "kind = limbs"),
            ("campaign::mechanism", "MechanismCampaignFile", "kind = mechanism"),
            ("campaign::estimation::deviations", "DeviationsFile", "kind = estimation_deviations"),
            ("campaign::localisation", "LocalisationFile", "kind = localisation"),
            ("campaign::tracking", "TrackingFile", "kind = tracking"),
            ("campaign::transmission", "TransmissionFile", "kind = transmission"),
        ],
    },
    Plan {
        file: "plan.md",
        title: "Plan file",
        before: "A plan file holds one motion with everything that its proof needs, as JSON. `surelift run` writes them, \
                 `surelift verify` proves them again.",
        format: Format::Json,
        types: &[("plan::saved", "Plan", "The file")],
    },
    Plan {
        file: "summary.md",
        title: "Summary of a run",
        before: "`surelift run` writes all figures of a run to `summary.json`.",
        format: Format::Json,
        types: &[("report::summary", "Summary", "The file")],
    },
];

/// Beneath the introduction of each page with tables.
const LEGEND: &str = "\
A dash under *if left out* marks a key that may be missing. Names in the column *value* lead to the table that stands there.\n";

const MADE: &str =
    "<!-- Made from the source code: SURELIFT_WRITE=1 cargo test --release --test reference -->\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages of file formats, and keys of them that nothing is said about.
fn formats() -> (BTreeMap<String, String>, Vec<String>) {
    let library = Library::read(&root().join("src"));
    let (mut pages, mut undocumented) = (BTreeMap::new(), vec![]);
    for plan in PLANS {
        let mut page = Page::new(&library, plan.format);
        for (module, name, heading) in plan.types {
            page.root(module, name, heading);
        }
        let Page { text, undocumented: more, .. } = page;
        undocumented.extend(more);
        let extends = match plan.file {
            "robot.md" | "scenario.md" | "campaign.md" | "mechanism.md" => format!("\n{EXTENDS}"),
            _ => String::new(),
        };
        let text = format!("# {}\n\n{MADE}\n{}\n{extends}\n{LEGEND}{text}", plan.title, plan.before);
        pages.insert(plan.file.to_owned(), text);
    }
    (pages, undocumented)
}

/// They are made once for all tests.
static FORMATS: LazyLock<(BTreeMap<String, String>, Vec<String>)> = LazyLock::new(formats);

/// What the program prints when asked for help.
fn help(arguments: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(arguments)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names under `Commands:` in a help text.
fn subcommands(help: &str) -> Vec<String> {
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn command_line() -> String {
    let mut text = format!("# Command line\n\n{MADE}");
    let mut waiting = vec![vec![]];
    while !waiting.is_empty() {
        let arguments = waiting.remove(0);
        let help = help(&arguments);
        let lines = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        let title = ["surelift".to_owned()].iter().chain(&arguments).cloned().collect::<Vec<_>>().join(" ");
        text += &format!("\n## {title}\n\n```text\n{lines}\n```\n");
        let below = subcommands(&help).into_iter().map(|name| [&arguments[..], &[name]].concat());
        waiting.extend(below);
    }
    text
}

#[test]
fn every_key_says_what_it_means() {
    let (_, undocumented) = &*FORMATS;
    assert!(undocumented.is_empty(), "no documentation: {undocumented:#?}");
}

#[test]
fn the_reference_is_what_the_program_says() {
    let mut pages = FORMATS.0.clone();
    pages.insert("command_line.md".to_owned(), command_line());
    let folder = root().join("docs/reference");
    let write = std::env::var_os("SURELIFT_WRITE").is_some();
    let mut stale = vec![];
    for (file, text) in &pages {
        let path = folder.join(file);
        if write {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, text).unwrap();
        }
        if fs::read_to_string(&path).ok().as_ref() != Some(text) {
            stale.push(file);
        }
    }
    let again = "SURELIFT_WRITE=1 cargo test --release --test reference";
    assert!(
        stale.is_empty(),
        "docs/reference/ is not what the program says in {stale:?}; write it anew with `{again}`"
    );
}

#[test]
fn commands_and_keys_of_every_kind_are_found() {
    let text = command_line();
    for title in ["## surelift run\n", "## surelift robot tune\n", "## surelift verify\n"] {
        assert!(text.contains(title), "{title}");
    }
    let (pages, _) = &*FORMATS;
    // An optional key, one with a default of its own, a renamed list, one in a nested table, a choice of values.
    for (file, row) in [
        ("robot.md", "| `end_effector` | text | – |"),
        ("robot.md", "| `gravity_m_s2` | 3 numbers | [0, 0, -9.81] |"),
        ("robot.md", "| `frame` | list; each [frame](#frame) | none |"),
        ("robot.md", "| `breakaway_ratio` | number | 1.2 |"),
        ("scenario.md", "- `\"predicted_width\"`"),
        ("plan.md", "| `duration_s` | number | **required** |"),
        ("campaign.md", "| `duration_s` | number | 3 |"),
    ] {
        assert!(pages[file].contains(row), "{file}: {row}\n{}", pages[file]);
    }
}
