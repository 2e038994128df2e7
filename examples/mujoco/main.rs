//! MuJoCo as an independent plant: the public loop drives an arm that another program simulates, in lock step over two pipes.
//!
//! `examples/mujoco/run` makes what is needed and starts this.

mod arm;
mod momentum;
mod peer;
mod setup;
mod table;
mod truth;

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde::Deserialize;
use surelift::horizon::{self, RunOptions};
use surelift::robot::EncoderSide;
use surelift::scenario::Scenario;

use arm::PeerArm;
use peer::Peer;
use setup::SpringSetup;
use table::Row;
use truth::{Draw, Effect};

/// Time after which a peer that says nothing is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is to be run; see `jobs.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Campaign {
    /// Its jobs.
    job: Vec<Job>,
}

/// Runs of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    /// Its name.
    name: String,
    /// Scenario, from the folder that the program runs in.
    scenario: PathBuf,
    /// URDF that MuJoCo reads.
    urdf: String,
    /// Integration steps in a control period.
    steps: usize,
    /// First seed, and the one after the last.
    seeds: [u64; 2],
    /// How far beside the hand's axis the centre of what is held is, m.
    off_axis_m: Option<[f64; 2]>,
    /// Effects that go beyond their bounds, one at a time.
    #[serde(default)]
    beyond: Vec<Effect>,
    /// How many times.
    #[serde(default)]
    times: Vec<f64>,
    /// Springs in the joints that the robot's file says nothing of.
    springs: Option<Springs>,
}

/// Springs in all joints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Springs {
    /// Stiffnesses, N m/rad, one after the other.
    stiffness_nm_rad: Vec<f64>,
    /// Where the encoders are.
    encoders: EncoderSide,
}

impl Springs {
    fn fault(&self) -> Option<String> {
        let bad = self.stiffness_nm_rad.iter().find(|x| !(**x > 0.0 && x.is_finite()));
        let expected = "expected finite numbers above 0";
        let none = self.stiffness_nm_rad.is_empty();
        bad.map(|x| format!("springs.stiffness_nm_rad: {x}, {expected}"))
            .or_else(|| none.then(|| format!("springs.stiffness_nm_rad: none, {expected}")))
    }
}

impl Job {
    /// What makes no sense in it, and what was expected.
    fn fault(&self) -> Option<String> {
        let steps = || (self.steps == 0).then(|| "steps: 0, expected at least 1".to_owned());
        let seeds =
            || (self.seeds[0] >= self.seeds[1]).then(|| format!("seeds: {:?}, expected some", self.seeds));
        let aside = || {
            let [least, most] = self.off_axis_m?;
            let good = 0.0 <= least && least <= most && most.is_finite();
            (!good).then(|| format!("off_axis_m: {least} to {most}, expected 0 <= least <= most"))
        };
        let times = || {
            let bad = self.times.iter().find(|x| !(**x > 1.0 && x.is_finite()));
            let lacks = (self.times.is_empty() != self.beyond.is_empty())
                .then(|| "expected `beyond` and `times`, or neither".to_owned());
            bad.map(|x| format!("times: {x}, expected a finite number above 1")).or(lacks)
        };
        let springs = || {
            let both = self.springs.is_some() && !self.beyond.is_empty();
            let own = self.springs.as_ref().and_then(Springs::fault);
            own.or_else(|| both.then(|| "expected `springs` or `beyond`, not both".to_owned()))
        };
        steps().or_else(seeds).or_else(aside).or_else(times).or_else(springs)
    }
}

/// Where everything is.
struct Places {
    python: PathBuf,
    plant: PathBuf,
    jobs: PathBuf,
    out: PathBuf,
    only: Option<String>,
}

impl Places {
    fn from_arguments() -> Result<Self, String> {
        let mut all = Self {
            python: "python3".into(),
            plant: "examples/mujoco/plant.py".into(),
            jobs: "examples/mujoco/jobs.toml".into(),
            out: "runs/mujoco".into(),
            only: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name}: expected a value"))?;
            match name.as_str() {
                "--python" => all.python = value.into(),
                "--plant" => all.plant = value.into(),
                "--jobs" => all.jobs = value.into(),
                "--out" => all.out = value.into(),
                "--only" => all.only = Some(value),
                _ => return Err(format!("{name}: expected --python, --plant, --jobs, --out or --only")),
            }
        }
        Ok(all)
    }
}

fn main() -> ExitCode {
    match Places::from_arguments().map_err(Into::into).and_then(|places| campaign(&places)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all jobs; whether all that is within its bounds went as proven.
fn campaign(places: &Places) -> Result<bool, Box<dyn Error>> {
    let text = fs::read_to_string(&places.jobs).map_err(|e| format!("{}: {e}", places.jobs.display()))?;
    let campaign: Campaign = toml::from_str(&text).map_err(|e| format!("{}: {e}", places.jobs.display()))?;
    let jobs = chosen(&campaign, places)?;
    fs::create_dir_all(&places.out).map_err(|e| format!("{}: {e}", places.out.display()))?;
    let mut csv = fs::File::create(places.out.join("runs.csv"))?;
    writeln!(csv, "{}", table::HEADINGS)?;
    let mut rows = Vec::new();
    for job in jobs {
        for draw in draws(job) {
            let row = run(job, &draw, places)?;
            println!("{}", row.csv());
            writeln!(csv, "{}", row.csv())?;
            rows.push(row);
        }
    }
    let table = table::markdown(&rows);
    fs::write(places.out.join("table.md"), &table)?;
    println!("\n{table}");
    Ok(rows.iter().filter(|row| row.beyond.is_empty()).all(Row::sound))
}

/// The jobs that are to be run, checked.
fn chosen<'a>(campaign: &'a Campaign, places: &Places) -> Result<Vec<&'a Job>, String> {
    let wanted = |job: &&Job| places.only.as_ref().is_none_or(|name| *name == job.name);
    let jobs: Vec<&Job> = campaign.job.iter().filter(wanted).collect();
    if jobs.is_empty() {
        let names: Vec<&str> = campaign.job.iter().map(|job| job.name.as_str()).collect();
        return Err(format!("--only {}: expected one of {names:?}", places.only.as_deref().unwrap_or("")));
    }
    match jobs.iter().find_map(|job| Some((job, job.fault()?))) {
        Some((job, fault)) => Err(format!("{}, job '{}': {fault}", places.jobs.display(), job.name)),
        None => Ok(jobs),
    }
}

/// What a job draws, run by run.
fn draws(job: &Job) -> Vec<Draw> {
    let plain = Draw { seed: 0, beyond: None, off_axis_m: job.off_axis_m, springs: None };
    let cases: Vec<Draw> = if let Some(springs) = &job.springs {
        let each = springs.stiffness_nm_rad.iter();
        let setup = |&stiffness_nm_rad| SpringSetup { stiffness_nm_rad, encoders: springs.encoders };
        each.map(|stiffness| Draw { springs: Some(setup(stiffness)), ..plain }).collect()
    } else if job.beyond.is_empty() {
        vec![plain]
    } else {
        let times = |&effect: &Effect| {
            job.times.iter().map(move |&times| Draw { beyond: Some((effect, times)), ..plain })
        };
        job.beyond.iter().flat_map(times).collect()
    };
    let seeds = |case| (job.seeds[0]..job.seeds[1]).map(move |seed| Draw { seed, ..case });
    cases.into_iter().flat_map(seeds).collect()
}

/// What of a draw the library's assumptions exclude; empty if nothing.
fn beyond(draw: &Draw) -> String {
    let springs = draw.springs.map(|SpringSetup { stiffness_nm_rad, encoders }| {
        let side = format!("{encoders:?}").to_lowercase();
        format!("springs of {stiffness_nm_rad} N m/rad with encoders at the {side}")
    });
    springs.or_else(|| draw.beyond.map(|(effect, times)| format!("{effect:?} x {times}"))).unwrap_or_default()
}

/// One run.
fn run(job: &Job, draw: &Draw, places: &Places) -> Result<Row, Box<dyn Error>> {
    let beyond = beyond(draw);
    let aside = if beyond.is_empty() { String::new() } else { format!(", {beyond}") };
    let named = |e: &dyn std::fmt::Display| format!("job '{}', seed {}{aside}: {e}", job.name, draw.seed);
    let (task, _) = Scenario::load(&job.scenario)?.split();
    let truth = truth::draw(&task, &absolute(&job.urdf)?, job.steps, draw).map_err(|e| named(&e))?;
    let mut command = Command::new(&places.python);
    let peer = Peer::start(command.arg(&places.plant), &truth.setup, PATIENCE).map_err(|e| named(&e))?;
    let mut arm = PeerArm::new(&task.robot, truth.theta.clone(), peer).map_err(|e| named(&e))?;
    let options = RunOptions { method: "ours".to_owned(), seed: draw.seed, timed: false };
    let record = horizon::run(&task, &mut arm, &options, &mut ())?;
    let (seen, farewell) = arm.end().map_err(|e| named(&e))?;
    let mut row = Row::new(&job.name, beyond, draw.seed, &record, seen, farewell);
    let mass = truth.theta[task.robot.body_range(task.robot.end_effector()).start];
    row.mass = row.mass.map(|(_, half_width)| (mass, half_width));
    Ok(row)
}

/// The file's full path, so that it does not matter where the peer runs.
fn absolute(file: &str) -> Result<String, String> {
    let path = Path::new(file).canonicalize().map_err(|e| format!("{file}: {e}"))?;
    path.to_str().map(str::to_owned).ok_or_else(|| format!("{file}: expected a path in UTF-8"))
}
