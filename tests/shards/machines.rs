//! Shards on Slurm, as far as that goes without it, and on HyperQueue.

use super::*;

/// The script for HyperQueue.
const SHARDS_ON_HYPERQUEUE: &str = "examples/many_machines/hyperqueue_shards.py";

/// The program's folder comes first where programs are looked for.
fn with_program(command: &mut Command) -> &mut Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_surelift")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", folder.display()))
}

/// The script of the documents, as Slurm would run each task of its array. Only where results go, which campaign it is and in how many shards is
/// changed.
#[cfg(unix)]
#[test]
fn the_script_for_slurm_makes_shards_that_can_be_merged() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/howto/many_machines.md")).unwrap();
    let from = page.find("#!/usr/bin/env bash").unwrap();
    let script = &page[from..from + page[from..].find("```").unwrap()];
    let place = Place::new(IDENTIFICATION);
    let (file, out) = (text(&place.file), text(&place.at("shards")));
    let mut changed = script.to_owned();
    for (before, after) in [
        ("campaign=scenarios/campaigns/soundness.toml", format!("campaign={file}")),
        ("shards=64", "shards=2".to_owned()),
        ("runs/soundness-shards", out.clone()),
    ] {
        assert_eq!(changed.matches(before).count(), 1, "{before}");
        changed = changed.replace(before, &after);
    }
    // Twice each, as after a lost node.
    for task in ["1", "2", "2", "1"] {
        let mut bash = Command::new("bash");
        bash.args(["-c", &changed]).current_dir(ROOT).env("SLURM_SUBMIT_DIR", ROOT);
        bash.env("SLURM_ARRAY_TASK_ID", task).env("SLURM_CPUS_PER_TASK", "1");
        let ended = with_program(&mut bash).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let shards = ["1", "2"].map(|task| place.at("shards").join(task));
    let (code, said) = place.merged("merged", &[&shards[0], &shards[1]], &[]);
    assert_eq!(code, Some(0), "{said}");
}

/// The script for HyperQueue with a server and two workers of its own, or nothing where HyperQueue's Python package is not: of the Python that
/// `PYTHON` names, or of `python3`.
fn hyperqueue(file: &str, out: &Path) -> Option<Command> {
    let python = std::env::var("PYTHON").unwrap_or("python3".to_owned());
    let found = Command::new(&python).args(["-c", "import hyperqueue"]).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        println!("skipped: no HyperQueue (pip install hyperqueue)");
        return None;
    }
    let mut queue = Command::new(&python);
    queue.arg(format!("{ROOT}/{SHARDS_ON_HYPERQUEUE}"));
    queue.args([env!("CARGO_BIN_EXE_surelift"), file, "3", &text(out), "--local", "2"]);
    queue.current_dir(ROOT);
    Some(queue)
}

#[test]
fn shards_on_hyperqueue() {
    let place = Place::new(IDENTIFICATION);
    let (file, out, whole) = (text(&place.file), place.at("out"), place.at("whole"));
    let Some(mut queue) = hyperqueue(&file, &out) else { return };
    let ended = queue.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert_eq!(surelift(&[&file, "--quiet", "--out", &text(&whole)]).0, Some(0));
    assert_eq!(written(&out.join("whole")), written(&whole));
}

/// The first process found that makes a shard below this folder is killed; whether there was one.
#[cfg(target_os = "linux")]
fn a_shard_is_killed(out: &Path) -> bool {
    let of_a_shard = |pid: &str| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).into_owned();
        command.starts_with(env!("CARGO_BIN_EXE_surelift")) && command.contains(&text(&out.join("shard-")))
    };
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let found = processes.filter(|name| name.parse::<u32>().is_ok()).find(|pid| of_a_shard(pid));
    found.is_some_and(|pid| Command::new("kill").args(["-9", &pid]).status().unwrap().success())
}

/// A shard that is killed is given out again; a server that is killed with its workers is started again.
#[cfg(target_os = "linux")]
#[test]
fn hyperqueue_loses_a_shard_and_then_everything_and_nothing_is_lost() {
    let place = Place::new(IDENTIFICATION);
    let (file, out, whole) = (text(&place.file), place.at("out"), place.at("whole"));
    let Some(mut queue) = hyperqueue(&file, &out) else { return };
    let mut running = queue.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !a_shard_is_killed(&out) && running.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(2));
    }
    assert!(running.try_wait().unwrap().is_none(), "ended before a shard could be killed");
    let some = || {
        (1..=3).any(|i| {
            fs::read(out.join(format!("shard-{i}/trials.jsonl"))).is_ok_and(|lines| !lines.is_empty())
        })
    };
    while !some() && running.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(2));
    }
    let _ = running.kill();
    running.wait().unwrap();
    let again = hyperqueue(&file, &out).unwrap().output().unwrap();
    let said = String::from_utf8_lossy(&again.stdout) + String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success(), "{said}");
    assert_eq!(surelift(&[&file, "--quiet", "--out", &text(&whole)]).0, Some(0));
    assert_eq!(written(&out.join("whole")), written(&whole));
}
