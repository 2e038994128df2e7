//! Attacks the files that surelift reads with broken ones; see README.md.

mod clock;
mod coverage;
mod examples;
mod memory;
mod mutate;
mod random;
mod targets;
mod worker;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{env, fs};

use targets::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: memory::Limited = memory::Limited;

const USAGE: &str =
    "usage: surelift-fuzz all|TARGET SECONDS [SEED]\n       surelift-fuzz replay FILE\ntargets: ";
/// Where a process writes down the time that it has used, s.
pub const PROGRESS: &str = "progress";
/// After so many inputs that end the process a target is left alone.
const MOST_ENDS: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["replay", file] => replay(Path::new(file)),
        ["worker", name, seconds, seed, folder] => {
            let target = target(name).expect("a worker is started with a target's name");
            let (seconds, seed) = (seconds.parse().expect("a time"), seed.parse().expect("a seed"));
            worker::work(target, Duration::from_secs_f64(seconds), seed, Path::new(folder))
        }
        [which, seconds, ref seed @ ..] if seed.len() < 2 => {
            let chosen: Vec<&Target> = TARGETS.iter().filter(|t| which == "all" || t.name == which).collect();
            let seed = seed.first().map_or(Some(1), |seed| seed.parse().ok());
            match (seconds.parse::<f64>(), seed) {
                (Ok(seconds), Some(seed)) if !chosen.is_empty() && seconds > 0.0 => {
                    let share = seconds / chosen.len() as f64;
                    let bad: usize = chosen.iter().map(|target| campaign(target, share, seed)).sum();
                    println!("{bad} found");
                    ExitCode::from(u8::from(bad > 0))
                }
                _ => usage(),
            }
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!("{USAGE}{}", names.join(", "));
    ExitCode::from(2)
}

fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// The folder of this package.
fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A folder of this process for inputs, with what they refer to.
fn workplace() -> PathBuf {
    let folder = env::temp_dir().join(format!("surelift-fuzz-{}", std::process::id()));
    targets::furnish(&folder);
    folder
}

/// Attacks one target for so many seconds on processors; how many faults were found.
fn campaign(target: &Target, seconds: f64, seed: u64) -> usize {
    let folder = workplace();
    let progress = folder.join(PROGRESS);
    let mut left = seconds;
    let artifacts = home().join("artifacts");
    let count = || fs::read_dir(&artifacts).map_or(0, |entries| entries.flatten().count());
    let before = count();
    for round in 0..MOST_ENDS {
        if left < 0.5 {
            break;
        }
        let seed = seed + 1000 * round as u64;
        println!("{}: {left:.0} s, seed {seed}", target.name);
        let ended = Command::new(env::current_exe().expect("the program knows where it is"))
            .args(["worker", target.name, &left.to_string(), &seed.to_string()])
            .arg(&folder)
            .status()
            .expect("the program can be started");
        if ended.success() {
            break;
        }
        // What the process had used when it last wrote it down.
        let used = fs::read_to_string(&progress).ok().and_then(|text| text.parse::<f64>().ok());
        left -= used.unwrap_or(left);
        // A hang, no memory, no stack: the last input is to blame.
        worker::keep(target, &folder, "end");
        println!("{}: the process ended with {ended}", target.name);
    }
    let _ = fs::remove_dir_all(folder);
    count() - before
}

/// Reads one input without any net.
fn replay(file: &Path) -> ExitCode {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(target) = name.split('-').next().and_then(target) else { return usage() };
    let folder = workplace();
    fs::copy(file, folder.join(target.file)).expect("the input can be copied");
    let accepted = (target.read)(&folder.join(target.file));
    println!("accepted: {accepted}, {:?} in all, at most {} MB", clock::used(), memory::most() >> 20);
    let _ = fs::remove_dir_all(folder);
    ExitCode::SUCCESS
}
