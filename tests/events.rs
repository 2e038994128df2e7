//! The promise: with `--log-format json` all that the program says on the standard error is JSON, one object a line, that names what happened.
#![cfg(feature = "cli")]

#[path = "events/library.rs"]
mod library;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Exit code, and all events; every line has to be one.
fn events(arguments: &[&str], asked: Option<&str>) -> (Option<i32>, Vec<Value>) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_surelift"));
    program.args(["--log-format", "json"]).args(arguments).current_dir(ROOT).env_remove("RUST_LOG");
    if let Some(asked) = asked {
        program.env("RUST_LOG", asked);
    }
    let output = program.output().expect("the program starts");
    let said = String::from_utf8(output.stderr).unwrap();
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for key in ["timestamp", "level", "target", "message"] {
            assert!(event[key].as_str().is_some_and(|text| !text.is_empty()), "`{key}` of {line}");
        }
        event
    };
    (output.status.code(), said.lines().map(event).collect())
}

/// The events of this name.
fn named<'a>(events: &'a [Value], message: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["message"] == message).collect()
}

fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap_or_else(|| panic!("`{key}` of {event}"))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What a viewer draws, and where the arm is over time.
fn a_viewer_has_what_it_needs(told: &[Value], out: &Path) {
    let [world] = named(told, "arm and obstacles")[..] else { panic!("{told:#?}") };
    let list = |event: &Value, key: &str| -> Vec<Value> {
        serde_json::from_str(event[key].as_str().unwrap()).unwrap()
    };
    let (joints, shapes, obstacles) =
        (list(world, "joints"), list(world, "shapes"), list(world, "obstacles"));
    let plan = std::fs::read_dir(out.join("plans")).unwrap().next().unwrap().unwrap().path();
    let plan: Value = serde_json::from_str(&std::fs::read_to_string(plan).unwrap()).unwrap();
    assert_eq!((joints.len(), &Value::Array(obstacles)), (7, &plan["scene"]["obstacles"]));
    assert!(shapes.len() > 7 && shapes.iter().all(|shape| shape["capsule"]["radius"].as_f64() > Some(0.0)));
    let states = named(told, "state");
    assert!(states.len() > 10, "{} states", states.len());
    for state in &states {
        assert!(number(state, "t") >= 0.0);
        for key in ["q", "dq", "tau"] {
            assert!(list(state, key).iter().filter_map(Value::as_f64).count() == 7, "{state}");
        }
    }
    assert!(states.windows(2).all(|pair| number(pair[0], "t") < number(pair[1], "t")));
}

/// A run of an arm that learns, and a study of its log: every part tells of itself.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_run_and_a_study_tell_what_happens_at_length() {
    let folder = tempfile::tempdir().unwrap();
    let (out, found) = (folder.path().join("run"), folder.path().join("found"));
    let run = ["run", "scenarios/dumbbell_c_8lb.toml", "--untimed", "--out", text(&out)];
    let (code, told) = events(&run, Some("surelift=debug"));
    assert_eq!(code, Some(0));
    let [started] = named(&told, "run started")[..] else { panic!("{told:#?}") };
    assert_eq!((started["robot"].as_str(), started["seed"].as_u64()), (Some("kinova_gen3_2f85"), Some(0)));
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let plans = summary["plans"].as_array().unwrap();
    let certified = plans.iter().filter(|plan| plan["certified"] == true).count();
    let proven = named(&told, "plan certified");
    assert_eq!(proven.len(), certified);
    assert!(named(&told, "plan proposed").len() >= certified && named(&told, "proven").len() >= certified);
    for (event, plan) in proven.iter().zip(plans.iter().filter(|plan| plan["certified"] == true)) {
        assert_eq!(event["margin_torque_nm"], plan["min_margin"]["torque"], "{event}");
        assert_eq!((event["span"]["name"].as_str(), &event["span"]["plan"]), (Some("plan"), &event["plan"]));
        assert!(number(event, "propose_ms") > 0.0 && number(event, "certify_ms") > 0.0);
    }
    let sets = named(&told, "set identified");
    assert_eq!(sets.len(), summary["identification"].as_array().unwrap().len());
    assert!(sets.iter().all(|set| number(set, "mass_lower_kg") <= number(set, "mass_upper_kg")));
    assert!(named(&told, "set updated").len() >= sets.len());
    a_viewer_has_what_it_needs(&told, &out);
    let [ended] = named(&told, "run ended")[..] else { panic!("{told:#?}") };
    assert_eq!(ended["outcome"], "Success");
    // Positions that nothing explains, in the beginning of its log. Unless it is asked for, the inside keeps quiet.
    let log = out.join("log.csv");
    let rows = std::fs::read_to_string(&log).unwrap();
    let jump = |(i, line): (usize, &str)| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        if i > 1000 {
            cells[1] = (cells[1].parse::<f64>().unwrap() + 0.01).to_string();
        }
        cells.join(",") + "\n"
    };
    std::fs::write(&log, rows.lines().take(1500).enumerate().map(jump).collect::<String>()).unwrap();
    let study = ["identify", "--robot", "kinova_gen3_2f85", "--log", text(&log), "--out", text(&found)];
    let study =
        [&study[..], &["--unknown", "payload", "--prior", "scenarios/priors/gen3_hand.toml"]].concat();
    let (code, told) = events(&study, None);
    assert_eq!(code, Some(4), "{told:#?}");
    let [identified] = named(&told, "recordings identified")[..] else { panic!("{told:#?}") };
    assert_eq!(identified["consistent"], false);
    assert!(told.iter().all(|event| event["level"] != "DEBUG"), "{told:#?}");
    let broken = named(&told, "assumption broken");
    assert!(
        broken.iter().any(|b| b["joint"] == "joint_1" && (0.9..1.1).contains(&number(b, "t"))),
        "{told:#?}"
    );
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_broken_assumption_is_told_with_time_and_joint_at_length() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let run = ["run", "scenarios/faults/frozen_encoder.toml", "--untimed", "--out", text(&out)];
    let (code, told) = events(&run, None);
    assert_eq!(code, Some(4), "{told:#?}");
    let summary: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    let (broken, recorded) = (named(&told, "assumption broken"), summary["broken"].as_array().unwrap());
    assert!(!recorded.is_empty());
    assert_eq!(broken.len(), recorded.len(), "{told:#?}");
    for (event, recorded) in broken.iter().zip(recorded) {
        assert_eq!((&event["t"], &event["joint"]), (&recorded["t"], &recorded["joint"]));
        assert_eq!((&event["evidence"], &event["reason"]), (&recorded["evidence"], &recorded["text"]));
        assert_eq!(event["level"], "WARN");
    }
}

#[test]
fn an_estimation_tells_how_it_went() {
    let folder = tempfile::tempdir().unwrap();
    let estimate =
        ["estimate", "scenarios/estimation/hector_payload.toml", "--quiet", "--out", text(folder.path())];
    let (code, told) = events(&estimate, Some("surelift=debug"));
    assert_eq!(code, Some(0), "{told:#?}");
    let [found] = named(&told, "estimated")[..] else { panic!("{told:#?}") };
    assert_eq!(
        (found["problem"].as_str(), found["status"].as_str()),
        (Some("hector_payload"), Some("converged"))
    );
    let costs: Vec<f64> = named(&told, "iterated").into_iter().map(|event| number(event, "cost")).collect();
    // The last of them finds that nothing is left to be gained.
    assert_eq!(costs.len() as f64, number(found, "iterations") + 1.0, "{costs:?}");
    assert_eq!(costs.last(), Some(&number(found, "cost")));
    assert_eq!(number(named(&told, "minimised")[0], "cost"), number(found, "cost"));
}

#[test]
fn failures_and_campaigns_are_told_in_json_too() {
    let (code, told) = events(&["run", "no_such.toml"], None);
    let [failed] = &told[..] else { panic!("{told:#?}") };
    assert_eq!((code, failed["level"].as_str(), failed["code"].as_u64()), (Some(2), Some("ERROR"), Some(2)));
    assert!(failed["message"].as_str().unwrap().contains("no_such.toml"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("few.toml");
    let scenario = format!("{ROOT}/scenarios/dumbbell_c_8lb.toml");
    std::fs::write(&file, format!("schema = 1\nname = \"few\"\nkind = \"identification\"\ntrials = 1\nseconds = 0.3\nseed = 1\nscenario = {scenario:?}\n")).unwrap();
    let (code, told) = events(&["campaign", text(&file), "--out", text(&folder.path().join("out"))], None);
    assert_eq!(code, Some(0), "{told:#?}");
    assert_eq!(named(&told, "campaign summed up")[0]["passed"], true, "{told:#?}");
    // A filter that makes no sense is told of, and passed over.
    let (_, told) = events(&["run", "no_such.toml"], Some("surelift=loud"));
    assert!(told.len() == 2 && told[0]["message"].as_str().unwrap().contains("is passed over"), "{told:#?}");
}

/// The outermost span of an event.
fn outermost(event: &Value) -> &Value {
    &event["spans"][0]
}

/// Two runs of one scenario at a time: their events come mixed, and each says to which it belongs.
#[test]
fn events_of_parallel_runs_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two.toml");
    let scenario = format!("{ROOT}/examples/my_arm/first_move.toml");
    let runs = format!("[[runs]]\nscenario = {scenario:?}\nexpected = \"success\"\n");
    std::fs::write(&file, format!("schema = 1\nname = \"two\"\nkind = \"runs\"\nseeds = 2\n{runs}")).unwrap();
    let out = folder.path().join("out");
    let (code, told) = events(&["campaign", text(&file), "--out", text(&out)], Some("surelift=debug"));
    assert_eq!(code, Some(0), "{told:#?}");
    let (of_runs, others): (Vec<_>, Vec<_>) =
        told.iter().partition(|event| outermost(event)["name"] == "run");
    let others: Vec<&Value> = others.iter().map(|event| &event["message"]).collect();
    assert_eq!(others, ["campaign summed up"]);
    for seed in 0..2 {
        let own: Vec<&Value> =
            of_runs.iter().copied().filter(|event| outermost(event)["seed"].as_u64() == Some(seed)).collect();
        let messages: Vec<&str> = own.iter().map(|event| event["message"].as_str().unwrap()).collect();
        let count = |message: &str| messages.iter().filter(|m| **m == message).count();
        assert_eq!((messages[0], messages[messages.len() - 1]), ("run started", "run ended"));
        assert_eq!((count("run started"), count("run ended"), count("arm and obstacles")), (1, 1, 1));
        assert_eq!(own[0]["seed"].as_u64(), Some(seed));
        // The plans of a run are numbered without a gap, and what is told within one is of that one.
        let plans = own.iter().filter(|event| event["message"] == "plan proposed");
        let plans: Vec<u64> = plans.map(|event| event["plan"].as_u64().unwrap()).collect();
        assert!(!plans.is_empty() && plans.windows(2).all(|pair| pair[0] < pair[1]), "{plans:?}");
        for event in own.iter().filter(|event| event["message"] == "proven") {
            let names: Vec<&Value> =
                event["spans"].as_array().unwrap().iter().map(|span| &span["name"]).collect();
            assert_eq!(names, ["run", "plan", "certify"], "{event}");
        }
        assert!(count("solved") == 0 || own.iter().any(|event| event["span"]["name"] == "propose"));
    }
    assert_eq!(of_runs.len(), told.len() - 1);
}

/// What stands in the quotation marks that a text begins with.
fn quoted(source: &str) -> Option<&str> {
    source.strip_prefix('"')?.split_once('"').map(|(name, _)| name)
}

/// The names of events and spans in Rust source: of an event the last text of its macro call, of a span the first one.
fn told_in(source: &str, events: &mut BTreeSet<String>, spans: &mut BTreeSet<String>) {
    let levels = ["trace", "debug", "info", "warn", "error"];
    for call in source.split("tracing::").skip(1) {
        let Some((name, arguments)) = call.split_once("!(") else { continue };
        let is_span = levels.iter().any(|level| name.strip_suffix("_span") == Some(level));
        if !is_span && !levels.contains(&name) {
            // A path or a word of documentation, and some other macro after it.
            continue;
        }
        let mut depth = 1;
        let end = arguments.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        });
        let arguments = &arguments[..end.unwrap().0];
        let mut texts =
            arguments.match_indices('"').step_by(2).map(|(at, _)| quoted(&arguments[at..]).unwrap());
        if !is_span {
            // Others pass a sentence on.
            events.extend(texts.last().filter(|text| !text.starts_with('{')).map(str::to_owned));
        } else {
            spans.insert(texts.next().unwrap().to_owned());
        }
    }
}

/// The names in the first column of a page's table below this heading.
fn listed(page: &str, heading: &str) -> BTreeSet<String> {
    let table = page.split(heading).nth(1).unwrap().split("\n\n").next().unwrap();
    let first = table.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_event_and_span_is_documented() {
    let (mut events, mut spans) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting = vec![Path::new(ROOT).join("src")];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs") {
            told_in(&std::fs::read_to_string(&path).unwrap(), &mut events, &mut spans);
        }
    }
    assert!(events.len() > 25 && spans.len() >= 8, "{events:?}, {spans:?}");
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/howto/events.md")).unwrap();
    assert_eq!(listed(&page, "| `message` "), events);
    assert_eq!(listed(&page, "| span "), spans);
}

#[test]
fn names_are_found_in_the_source() {
    let (mut events, mut spans) = (BTreeSet::new(), BTreeSet::new());
    let source = "tracing::info!(a = f(\"x\"), \"done\");\ntracing::warn!(\"{text}\");\n\
        tracing::info_span!(parent: None, \"run\", x = 1);\ntracing::Span::current();\n\
        tracing::debug!(\n    k,\n    \"gone on\"\n)";
    told_in(source, &mut events, &mut spans);
    assert_eq!(events.iter().map(String::as_str).collect::<Vec<_>>(), ["done", "gone on"]);
    assert_eq!(spans.iter().map(String::as_str).collect::<Vec<_>>(), ["run"]);
}
