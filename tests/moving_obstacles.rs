//! The promise: among obstacles that move within a stated speed nothing touches an arm that moves, whatever they do; the arm waits, or goes round, and arrives.
//! What is faster than stated is noticed. Every plan is proven again from its file, with what was seen when it was made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use surelift::enclose::Counted;
use surelift::horizon::{self, Evidence, Hardware, Outcome, Reading, Record, RunOptions, Sighting};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::plan::chain::{self, Expected};
use surelift::scenario::Scenario;
use surelift::simulate::{Audit, World};

fn shipped(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(file)
}

fn options(seed: u64) -> RunOptions {
    RunOptions { method: "ours".into(), seed, timed: false }
}

fn run(path: &Path, seed: u64) -> (Record, Audit) {
    let (task, truth) = Scenario::load(path).unwrap().split();
    let robot = Arc::new(task.robot.clone());
    let mut world = World::new(robot, task.scene.clone(), &task.start, truth, seed);
    let record = horizon::run(&task, &mut world, &options(seed), &mut ()).unwrap();
    (record, world.reveal())
}

/// The shipped scenario with other keys, from a folder of its own.
fn variant(name: &str, keys: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name).with_extension("toml");
    let base = shipped("person_crosses.toml");
    let robot = Path::new(env!("CARGO_MANIFEST_DIR")).join("robots/kinova_gen3.toml");
    let text = format!("extends = {base:?}\nrobot = {robot:?}\nname = \"{name}\"\n{keys}");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn unharmed(name: &str, audit: &Audit) {
    let counts = audit.counts;
    let harm = [counts.collision, counts.torque, counts.position, counts.velocity, counts.tube];
    assert_eq!(harm, [0; 5], "{name}");
    assert!(audit.clearance_m > 0.0, "{name}: {}", audit.clearance_m);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_person_crosses_and_the_arm_waits_and_arrives_at_length() {
    for seed in 0..3 {
        let (record, audit) = run(&shipped("person_crosses.toml"), seed);
        let name = format!("seed {seed}");
        assert_eq!(record.outcome, Outcome::Success, "{name}: {:?}", record.reason);
        unharmed(&name, &audit);
        // It waited for the person, who really was in its way, and was not touched while it stood either.
        let wait = record.waits.first().unwrap_or_else(|| panic!("{name}: no wait"));
        assert!(wait.obstacle == "person" && wait.to_s - wait.from_s > 1.0, "{wait:?}");
        assert_eq!(audit.touched_at_rest, 0, "{name}");
        let nearest = |at_rest: bool| {
            let those = audit.approaches.iter().filter(|near| near.at_rest == at_rest);
            those.map(|near| near.distance_m).fold(f64::INFINITY, f64::min)
        };
        println!(
            "{name}: {:.1} s, waits {:?}, the person came to {:.3} m of the resting and {:.3} m of the moving arm",
            record.duration_s,
            record.waits,
            nearest(true),
            nearest(false)
        );
        assert!(nearest(true) < 0.5, "{name}: the person does not cross");
        // While the arm moves it does not come as near as it might: it walks more slowly than it could.
        assert!(nearest(false) > 0.4, "{name}: {}", nearest(false));
        proven_again(&name, &record.plans);
    }
}

/// From their files, one after the other, and not with less assumed.
fn proven_again(name: &str, plans: &[Plan]) {
    assert!(!plans.is_empty(), "{name}");
    let read = |plan: &Plan| Plan::from_json(&serde_json::to_string(plan).unwrap()).unwrap();
    let plans: Vec<Plan> = plans.iter().map(read).collect();
    for plan in &plans {
        let person = plan.scene.obstacles.iter().find(|obstacle| obstacle.moves()).unwrap();
        // Seen at the start of its planning period.
        assert!(plan.schema == 5 && person.age_s >= 0.5 && person.age_s < 0.51, "{name}: {}", person.age_s);
        assert_eq!(plan.certificate.clear_until_s, Some(plan.curve.duration_s()));
    }
    assert!(chain::verify::<Counted>(&plans, &Expected::default(), |_, link| {
        assert!(link.proof.is_ok(), "{name}: {:?}", link.proof);
        assert!(link.believed.moving[0].contains("1.6 m/s"));
    }));
    refused(&plans, "moved by", |plans| plans[1].scene.obstacles[1].center.y += 5.0);
    refused(&plans, "speed_m_s", |plans| plans[1].scene.obstacles[1].speed_m_s = 0.1);
    refused(&plans, "age_s", |plans| plans[0].scene.obstacles[1].age_s = -0.5);
    refused(&plans, "Collision", |plans| {
        plans.iter_mut().for_each(|plan| plan.scene.obstacles[1].age_s += 3.0);
    });
}

/// The chain with this change is refused with these words.
fn refused(plans: &[Plan], words: &str, change: impl FnOnce(&mut [Plan])) {
    let mut changed = plans.to_vec();
    change(&mut changed);
    let mut faults = vec![];
    let proven = chain::verify::<Counted>(&changed, &Expected::default(), |_, link| {
        faults.extend(link.proof.as_ref().err().into_iter().flatten().cloned());
    });
    assert!(!proven && faults.iter().any(|fault| fault.contains(words)), "{words}: {faults:?}");
}

#[test]
fn somebody_who_stays_in_the_way_is_waited_for_as_long_as_patience_lasts() {
    let person = "[timing]\nmax_failures = 2\npatience_s = 3.0\n[[obstacles]]\nname = \"person\"\ncenter_m = [1.3, 0.0, 0.1]\n\
                  size_m = [0.5, 0.6, 1.8]\nspeed_m_s = 1.6\n";
    let (_folder, path) = variant("stays", person);
    let (record, audit) = run(&path, 0);
    unharmed("stays", &audit);
    assert_eq!(record.outcome, Outcome::SafeStop);
    let reason = record.reason.unwrap();
    assert!(reason.contains("'person'") && reason.contains("timing.patience_s"), "{reason}");
    assert!(record.waits.len() == 1 && record.waits[0].to_s >= 3.0, "{:?}", record.waits);
    assert!((3.0..4.0).contains(&record.duration_s), "{}", record.duration_s);
}

/// Slow enough for plans beside it, and between start and goal for good.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_slow_thing_in_the_way_is_gone_round_at_length() {
    let trolley = "[[obstacles]]\nname = \"trolley\"\ncenter_m = [0.6, 0.0, 0.2]\nsize_m = [0.1, 0.1, 0.4]\nspeed_m_s = 0.05\n\
                   path = [{ at_s = 30.0, offset_m = [0.0, 0.1, 0.0] }]\n";
    let (_folder, path) = variant("trolley", trolley);
    for seed in 0..2 {
        let (record, audit) = run(&path, seed);
        assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
        unharmed("trolley", &audit);
        println!("seed {seed}: {:.1} s, waits {:?}", record.duration_s, record.waits);
    }
}

#[test]
fn what_is_faster_than_stated_ends_the_run_in_the_braking_part() {
    let (record, audit) = run(&shipped("faults/person_runs.toml"), 0);
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{:?}", record.reason);
    let broken = &record.broken[0];
    assert_eq!(broken.evidence, Evidence::Obstacle);
    assert!(broken.at_least.unwrap() > 1.0 && broken.text.contains("'person'"), "{broken:?}");
    // Seen at the plan after it began, and no plan was given up for it.
    assert!((1.2..1.8).contains(&broken.t) && record.stopped.is_none(), "{broken:?}");
    assert_eq!(audit.counts.torque + audit.counts.position + audit.counts.velocity, 0);
}

/// An arm that stands is touched by what goes through it: told apart from a collision, and no harm to what is promised.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn what_walks_into_the_resting_arm_is_told_apart_at_length() {
    let person = "[timing]\npatience_s = 8.0\n[[obstacles]]\nname = \"person\"\ncenter_m = [0.55, 2.4, 0.1]\nsize_m = [0.5, 0.6, 1.8]\n\
                  speed_m_s = 1.6\npath = [{ at_s = 2.4, offset_m = [0.0, -3.0, 0.0] }, { at_s = 6.0, offset_m = [0.0, -7.0, 0.0] }]\n";
    let (_folder, path) = variant("walks_through", person);
    let (record, audit) = run(&path, 0);
    unharmed("walks through", &audit);
    assert!(audit.touched_at_rest > 0, "{:?}", record.waits);
    assert!(audit.approaches.iter().all(|near| near.at_rest || near.distance_m > 0.5));
}

/// A world whose tracker has failed.
struct Blind(World);

impl Hardware for Blind {
    fn time(&self) -> f64 {
        self.0.time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.0.read(reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        Hardware::command(&mut self.0, tau, measured)
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        Hardware::hold(&mut self.0, measured)
    }

    fn observe(&mut self, _: usize, _: &mut Sighting) -> bool {
        false
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.0.plan_starts(plan);
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.0.set_claimed(set);
    }
}

/// The ball goes on growing from where the obstacle was at first: after a few plans nothing can be proven any more.
#[test]
fn without_a_tracker_the_arm_soon_stands() {
    let person = "[timing]\npatience_s = 2.0\n[[obstacles]]\nname = \"person\"\ncenter_m = [0.0, 3.7, 0.1]\nsize_m = [0.5, 0.6, 1.8]\n\
                  speed_m_s = 1.0\npath = [{ at_s = 6.0, offset_m = [0.0, -3.7, 0.0] }]\n";
    let (_folder, path) = variant("blind", person);
    let (task, truth) = Scenario::load(&path).unwrap().split();
    let robot = Arc::new(task.robot.clone());
    let mut world = Blind(World::new(robot, task.scene.clone(), &task.start, truth, 0));
    let record = horizon::run(&task, &mut world, &options(0), &mut ()).unwrap();
    unharmed("blind", &world.0.reveal());
    assert_eq!(record.outcome, Outcome::SafeStop, "{:?}", record.reason);
    assert!(record.plans.len() > 1 && record.duration_s < 8.0, "{} s", record.duration_s);
    // Each plan's sighting is older than that of the one before.
    let ages: Vec<f64> = record.plans.iter().map(|plan| plan.scene.obstacles[0].age_s).collect();
    assert!(ages.windows(2).all(|pair| pair[1] > pair[0] + 0.4), "{ages:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_load_is_learnt_while_somebody_walks_past_at_length() {
    let (record, audit) = run(&shipped("dumbbell_c_8lb_person.toml"), 0);
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    unharmed("with a load", &audit);
    assert!(audit.truth_inside && record.gaps.is_empty());
    assert!(record.waits.iter().any(|wait| wait.obstacle == "person"), "{:?}", record.waits);
    let (before, after) = (&record.identification[0], record.identification.last().unwrap());
    assert!(after.known.half_width(0) < 0.2 * before.known.half_width(0));
}
