//! One process that attacks one target. What ends it (a hang, no memory, no stack) leaves its last input in the folder.

use std::collections::HashSet;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use crate::clock;
use crate::coverage::Reached;
use crate::random::Random;
use crate::targets::Target;
use crate::{home, memory, mutate};

/// No input may take longer, on processors.
const LONGEST: Duration = Duration::from_secs(10);

/// Larger inputs are read once and not changed further, bytes: they would take all the time.
const LARGEST_KEPT: usize = 1 << 15;

/// Inputs read so far: the watchdog sees whether it goes on.
static COUNT: AtomicU64 = AtomicU64::new(0);
/// Whether an input is being read: a panic at another time is the harness's own.
static READING: AtomicBool = AtomicBool::new(false);
/// Where the last panic was.
static PLACE: Mutex<String> = Mutex::new(String::new());

/// Attacks a target for some time on processors.
pub fn work(target: &Target, time: Duration, seed: u64, folder: &Path) -> ExitCode {
    watch();
    panic::set_hook(Box::new(|info| {
        *PLACE.lock().unwrap_or_else(|e| e.into_inner()) = info.to_string();
        if !READING.load(SeqCst) {
            println!("the harness itself: {info}");
        }
    }));
    let mut attack = Attack {
        target,
        file: folder.join(target.file),
        folder,
        random: Random::new(seed),
        reached: Reached::new(),
        corpus: vec![],
        places: HashSet::new(),
        slowest: Duration::ZERO,
        accepted: 0,
    };
    let kept = home().join("corpus").join(target.name);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&kept).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    let kept = files.iter().filter_map(|path| fs::read(path).ok());
    for input in (target.examples)(folder).into_iter().chain(kept) {
        attack.read(&input);
    }
    // The time is asked for now and then: asking costs as much as a small input.
    while clock::used() < time {
        let _ = fs::write(folder.join(crate::PROGRESS), clock::used().as_secs_f64().to_string());
        for _ in 0..8 {
            let input = attack.next();
            attack.read(&input);
        }
    }
    println!(
        "{}: {:.0} s, {} inputs, {} accepted, {} kept, {} branches, slowest {:.2} s, at most {} MB, {} panics",
        target.name,
        clock::used().as_secs_f64(),
        COUNT.load(SeqCst),
        attack.accepted,
        attack.corpus.len(),
        attack.reached.branches,
        attack.slowest.as_secs_f64(),
        memory::most() >> 20,
        attack.places.len()
    );
    ExitCode::SUCCESS
}

/// Ends the process where one input takes too long.
fn watch() {
    thread::spawn(|| {
        let (mut last, mut since) = (u64::MAX, clock::used());
        loop {
            thread::sleep(Duration::from_millis(200));
            let now = COUNT.load(SeqCst);
            if now != last {
                (last, since) = (now, clock::used());
            } else if clock::used().saturating_sub(since) > LONGEST {
                println!("an input takes longer than {LONGEST:?}");
                std::process::exit(3);
            }
        }
    });
}

/// A target under attack.
struct Attack<'a> {
    target: &'a Target,
    folder: &'a Path,
    file: PathBuf,
    random: Random,
    reached: Reached,
    /// Good files, and inputs that reached something new; with the time on the clock that they took.
    corpus: Vec<(Vec<u8>, Duration)>,
    /// Places of panics.
    places: HashSet<String>,
    slowest: Duration,
    accepted: u64,
}

impl Attack<'_> {
    /// A new input.
    fn next(&mut self) -> Vec<u8> {
        // Half of the time of three at random the one that is read fastest: what takes long would otherwise take all the time.
        let candidates = [(); 3].map(|()| self.random.below(self.corpus.len()));
        let count = if self.random.once_in(2) { 3 } else { 1 };
        let one = candidates[..count].iter().copied().min_by_key(|&k| self.corpus[k].1).unwrap_or_default();
        let other = candidates[0];
        let mut input =
            mutate::mutate(&self.corpus[one].0, &self.corpus[other].0, self.target.text, &mut self.random);
        if self.target.name == "mcap" && !self.random.once_in(4) {
            mutate::without_sums(&mut input);
        }
        input
    }

    fn read(&mut self, input: &[u8]) {
        fs::write(&self.file, input).expect("the folder can be written to");
        COUNT.fetch_add(1, SeqCst);
        Reached::begin();
        let begun = clock::used();
        READING.store(true, SeqCst);
        let clock = Instant::now();
        let ended = panic::catch_unwind(AssertUnwindSafe(|| (self.target.read)(&self.file)));
        READING.store(false, SeqCst);
        let took = clock.elapsed();
        self.slowest = self.slowest.max(clock::used().saturating_sub(begun));
        self.accepted += u64::from(matches!(ended, Ok(true)));
        if ended.is_err() {
            let place = PLACE.lock().unwrap_or_else(|e| e.into_inner()).clone();
            let known = place.lines().next().unwrap_or_default().to_owned();
            if self.places.insert(known) {
                println!("{}: {place}", self.target.name);
                keep(self.target, self.folder, "panic");
            }
        }
        if self.reached.anything_new() && ended.is_ok() && input.len() <= LARGEST_KEPT {
            self.corpus.push((input.to_vec(), took));
            let folder = home().join("corpus").join(self.target.name);
            let _ = fs::create_dir_all(&folder);
            let _ = fs::write(folder.join(fingerprint(input)), input);
        }
    }
}

/// Saves the last input among the artifacts.
pub fn keep(target: &Target, folder: &Path, what: &str) {
    let artifacts = home().join("artifacts");
    let input = fs::read(folder.join(target.file)).unwrap_or_default();
    let ending = target.file.rsplit('.').next().unwrap_or("input");
    let path = artifacts.join(format!("{}-{what}-{}.{ending}", target.name, fingerprint(&input)));
    fs::create_dir_all(&artifacts).and_then(|()| fs::write(&path, input)).expect("the input can be saved");
    println!("{}: saved as {}", target.name, path.display());
}

/// A name for an input (FNV-1a).
fn fingerprint(input: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", input.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
