//! The promise: whatever ends the program, a folder of results is there in full or not at all. Ctrl-C ends a run with the arm at rest and everything
//! written; a disk that is full is an error that names the file. A campaign that is killed goes on, and ends with the same tables. A log that is cut off is read up to the cut, and that is said.
#![cfg(all(unix, feature = "cli"))]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use surelift::recording::{AngleUnit, MeasurementLog};

/// The program on its way, with what it says kept for later.
fn begin(scenario: &str, folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(["run", scenario, "--untimed", "--out", folder.to_str().unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits until the program says that the run has begun; gives what it says from then on.
fn begun(child: &mut Child) -> BufReader<ChildStderr> {
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    said.read_line(&mut first).unwrap();
    assert!(!first.is_empty(), "the run never began");
    said
}

fn tell(child: &Child, signal: &str) {
    let told = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(told.success());
}

/// Whether a run's folder is there; if so, all of it has to be.
fn complete(folder: &Path) -> bool {
    if !folder.exists() {
        return false;
    }
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let summary: Value = serde_json::from_str(&text("summary.json")).unwrap();
    let plans = summary["plans"].as_array().unwrap().iter().filter(|plan| plan["certified"] == true).count();
    assert_eq!(fs::read_dir(folder.join("plans")).unwrap().count(), plans);
    let log = text("log.csv");
    let columns = |line: &str| line.split(',').count();
    assert!(
        log.ends_with('\n') && log.lines().all(|line| columns(line) == columns(log.lines().next().unwrap()))
    );
    assert!(text("report.html").trim_end().ends_with("</html>"));
    true
}

#[test]
fn ctrl_c_ends_a_run_with_the_arm_at_rest_and_everything_written() {
    stopped_by_ctrl_c("examples/my_arm/unknown_load.toml", 3);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn ctrl_c_ends_a_run_with_the_arm_at_rest_and_everything_written_at_length() {
    stopped_by_ctrl_c("scenarios/dumbbell_c_8lb.toml", 7);
}

/// A scenario that takes longer than a second, of an arm of so many joints.
fn stopped_by_ctrl_c(scenario: &str, joints: usize) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut child = begin(scenario, &out);
    let mut rest = begun(&mut child);
    sleep(Duration::from_millis(300));
    tell(&child, "-INT");
    let mut said = String::new();
    rest.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
    assert!(said.contains("asked to stop") && complete(&out), "{said}");
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(out.join("summary.json")).unwrap()).unwrap();
    assert!(summary["reason"].as_str().unwrap().contains("asked to stop"), "{summary}");
    // At the end the arm hardly moves: by no more than tracking errors do.
    let log = fs::read_to_string(out.join("log.csv")).unwrap();
    let heading: Vec<&str> = log.lines().next().unwrap().split(',').collect();
    if let Some(last) = log.lines().skip(1).last() {
        let last: Vec<&str> = last.split(',').collect();
        let speed = |name: &str| name.strip_prefix("dq").is_some_and(|joint| joint.parse::<u32>().is_ok());
        let speeds: Vec<_> = heading.iter().zip(last).filter(|(name, _)| speed(name)).collect();
        assert_eq!(speeds.len(), joints);
        for (name, value) in speeds {
            assert!(value.parse::<f64>().unwrap().abs() < 0.05, "{name} is {value} at the end");
        }
    }
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut child = begin("scenarios/dumbbell_c_8lb.toml", &out);
    let _rest = begun(&mut child);
    tell(&child, "-TERM");
    sleep(Duration::from_millis(50));
    tell(&child, "-TERM");
    let code = child.wait().unwrap().code();
    // A run that had ended meanwhile is whole.
    assert!(code == Some(130) || code == Some(3) && complete(&out), "{code:?}");
}

/// Kills the program at random moments, so many times; gives how many of the folders were there.
fn killed(times: usize, seed: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let begun = Instant::now();
    assert!(begin("examples/my_arm/first_move.toml", &folder.path().join("whole")).wait().unwrap().success());
    let mut whole = begun.elapsed();
    assert!(complete(&folder.path().join("whole")));
    // Over and over in one place, so that it is also replaced.
    let out = folder.path().join("run");
    let mut there = 0;
    for _ in 0..times {
        let mut child = begin("examples/my_arm/first_move.toml", &out);
        let share = rng.random_range(0.0..1.1);
        sleep(whole.mul_f64(share));
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = complete(&out);
        there += usize::from(ended);
        // The machine may have become busier since the first run was timed.
        if share > 1.0 && !ended {
            whole = whole.mul_f64(1.5);
        }
    }
    there
}

#[test]
fn a_killed_program_leaves_a_whole_folder_or_none() {
    killed(3, 1);
}

#[test]
#[ignore = "fifty runs that are killed: `cargo test --release --test interrupted -- --ignored`"]
fn a_killed_program_leaves_a_whole_folder_or_none_at_length() {
    let there = killed(50, 2);
    println!("a folder was there after {there} of 50 kills");
    assert!(there > 0);
}

/// A campaign on its way, which goes on with what is in the folder.
fn campaign(file: &Path, out: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(["campaign", file.to_str().unwrap(), "--resume", "--quiet", "--out", out.to_str().unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// All that a campaign writes is whole or not there; how many trials are written down.
fn whole_or_absent(out: &Path) -> usize {
    let text = |name: &str| fs::read_to_string(out.join(name)).ok();
    for json in ["summary.json", "results.json"].into_iter().filter_map(text) {
        serde_json::from_str::<Value>(&json).unwrap();
    }
    if let Some(page) = text("report.html") {
        assert!(page.trim_end().ends_with("</html>"));
    }
    for name in ["tables.md", "results.csv", "table.txt"] {
        assert!(text(name).is_none_or(|text| text.ends_with('\n') && !text.trim().is_empty()), "{name}");
    }
    let trials = text("trials.jsonl").unwrap_or_default();
    // Only what was being written may be cut off; the next run puts it behind it.
    let lines: Vec<&str> = trials.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    lines.iter().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count()
}

/// The figures of a finished campaign, but for how long the computer took: tables, rows and page.
fn figures(out: &Path) -> [String; 3] {
    let text = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let csv = text("results.csv");
    let untimed: Vec<&str> = csv.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
    assert!(csv.starts_with("method,") && csv.lines().next().unwrap().ends_with(",wall_s"));
    [text("tables.md"), untimed.join("\n"), text("report.html")]
}

/// Kills a campaign of these methods, the quickest first, at so many random moments and lets it go on each time; gives how many trials each kill found written down.
fn killed_campaign(methods: &str, times: usize, seed: u64) -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    let scenario = format!("{}/scenarios/dumbbell_c.toml", env!("CARGO_MANIFEST_DIR"));
    let file = folder.path().join("campaign.toml");
    let text = format!(
        "schema = 1\nname = \"killed\"\nkind = \"methods\"\nseeds = 3\nmethods = [{methods}]\n[[experiments]]\nlabel = \"c\"\nscenario = {scenario:?}\n"
    );
    fs::write(&file, text).unwrap();
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    let begun = Instant::now();
    assert!(campaign(&file, &whole).wait().unwrap().success());
    // So that the last kills find nearly all of it.
    let each = begun.elapsed().mul_f64(1.6 / times as f64);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = vec![];
    for _ in 0..times {
        let mut child = campaign(&file, &out);
        sleep(each.mul_f64(rng.random_range(0.3..1.7)));
        // It may have come to its end.
        let _ = child.kill();
        child.wait().unwrap();
        found.push(whole_or_absent(&out));
    }
    assert!(found.windows(2).all(|pair| pair[0] <= pair[1]), "what was written down is lost: {found:?}");
    assert!(campaign(&file, &out).wait().unwrap().success());
    assert_eq!(
        whole_or_absent(&out),
        fs::read_to_string(whole.join("trials.jsonl")).unwrap().lines().count()
    );
    assert_eq!(figures(&out), figures(&whole), "{found:?}");
    found
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_campaign_of_short_runs_killed_ten_times_ends_with_the_same_tables_at_length() {
    let found = killed_campaign("\"grav-pid\", \"adap-1\", \"wrong\"", 10, 4);
    println!("{found:?} of 9 trials were written down");
    assert!(found.last() > Some(&0), "no kill came after the first trial: {found:?}");
}

/// With methods that learn, whose runs take as long as ten others.
#[test]
#[ignore = "minutes: cargo test --release --tests -- --ignored at_length"]
fn a_campaign_killed_ten_times_ends_with_the_same_tables_at_length() {
    let found = killed_campaign("\"grav-pid\", \"random\", \"grav-pid-excit\"", 10, 5);
    println!("{found:?} of 9 trials were written down");
    assert!(found.last() > Some(&0), "no kill came after the first trial: {found:?}");
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    // Files of more than 8 kB cannot be written: to the program that is what a full disk is.
    let line = "trap '' XFSZ; ulimit -f 8; exec \"$0\" run examples/my_arm/first_move.toml --untimed --quiet --out \"$1\"";
    let ended = Command::new("bash")
        .args(["-c", line, env!("CARGO_BIN_EXE_surelift"), out.to_str().unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(matches!(ended.status.code(), Some(1 | 2)), "{:?}: {said}", ended.status);
    let named = ["summary.json", "log.csv"].iter().any(|file| said.contains(file));
    assert!(named && !said.contains("panicked"), "{said}");
    assert!(
        !out.exists() && fs::read_dir(folder.path()).unwrap().next().is_none(),
        "something is left behind"
    );
}

/// The program's answer to some arguments: exit code and what it says on the standard error.
fn answer(arguments: &[&str]) -> (Option<i32>, String) {
    let ended = Command::new(env!("CARGO_BIN_EXE_surelift"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn the_log_of_a_run_that_is_cut_anywhere_is_read_up_to_the_cut() {
    cut_anywhere(11, 20);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_log_of_a_run_that_is_cut_anywhere_is_read_up_to_the_cut_at_length() {
    cut_anywhere(1, 100);
}

/// Cut at every so-manieth byte of its first rows, and at so many random places.
fn cut_anywhere(step: usize, random: usize) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    assert!(begin("examples/my_arm/first_move.toml", &out).wait().unwrap().success());
    let text = fs::read_to_string(out.join("log.csv")).unwrap();
    let robot = surelift::robot::load("examples/my_arm/my_arm.toml").unwrap();
    let cut = folder.path().join("cut.csv");
    let read = |text: &str| {
        fs::write(&cut, text).unwrap();
        MeasurementLog::read(&cut, &robot, AngleUnit::Radians)
    };
    let whole = read(&text).unwrap();
    assert!(whole.cut_off.is_none() && whole.samples.len() + 1 == text.lines().count());
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let heading = text.find('\n').unwrap();
    let early = (0..heading + 600).step_by(step);
    for length in early.chain((0..random).map(|_| rng.random_range(heading..text.len()))) {
        let rows = text[..length].matches('\n').count().saturating_sub(1);
        match read(&text[..length]) {
            Ok(log) => {
                assert_eq!(log.samples, whole.samples[..rows]);
                let said = log.cut_off.is_some_and(|what| what.starts_with(&format!("line {} ", rows + 2)));
                assert!(said || text[..length].ends_with('\n'));
            }
            Err(error) => assert!(rows < 2 && error.to_string().contains("cut.csv"), "{error}"),
        }
    }
    // `identify` says it, on the terminal and in what it writes.
    let length = text.len() / 2;
    let line = format!("line {} ", text[..length].lines().count());
    fs::write(&cut, &text[..length]).unwrap();
    let (log, found) = (cut.to_str().unwrap(), folder.path().join("found"));
    let arguments = ["identify", "--robot", "examples/my_arm/my_arm.toml", "--log", log, "--out"];
    let (code, said) = answer(&[&arguments[..], &[found.to_str().unwrap()]].concat());
    assert!(matches!(code, Some(0 | 4)), "{said}");
    assert!(said.contains("warning") && said.contains("cut.csv") && said.contains(&line), "{said}");
    assert!(fs::read_to_string(found.join("summary.json")).unwrap().contains(&line));
}

#[test]
fn an_estimation_from_a_log_that_is_cut_off_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    let problem = format!(
        "schema = 1\nname = \"cut\"\ndescription = \"A log that is cut off.\"\nrobot = \"{root}/robots/double_pendulum.toml\"\n\
         step_s = 0.01\nlog = {{ file = \"cut.csv\" }}\ndeviations = {{ q_rad = 1e-3, dq_rad_s = 1e-2, tau_nm = 1e-3 }}\n\
         body = [{{ link = \"link1\", deviation = 1.0 }}]\n"
    );
    fs::write(folder.path().join("problem.toml"), problem).unwrap();
    let rows: String = (0..30).map(|k| format!("{},0,0,0,0,0,0\n", 0.01 * f64::from(k))).collect();
    let cut = format!("t,q1,q2,dq1,dq2,tau1,tau2\n{rows}0.3,0,0,0,0,0,0");
    fs::write(folder.path().join("cut.csv"), cut).unwrap();
    let (problem, out) = (folder.path().join("problem.toml"), folder.path().join("out"));
    let (code, said) =
        answer(&["estimate", problem.to_str().unwrap(), "--quiet", "--out", out.to_str().unwrap()]);
    assert!(matches!(code, Some(0 | 3)), "{said}");
    assert!(said.contains("cut.csv`: line 32 ") && said.contains("30 samples"), "{said}");
    assert!(fs::read_to_string(out.join("summary.json")).unwrap().contains("line 32 "));
}
