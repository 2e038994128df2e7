//! The promise: the first command of the README moves an unknown payload safely, narrows it down, brings it to its
//! place, and leaves a folder behind whose plans anybody can prove again; a plan that was tampered with is refused.

#[path = "main_job/tampering.rs"]
mod tampering;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use surelift::certify::{ConstraintFamily, Partition, Refusal};
use surelift::enclose::Counted;

use surelift::horizon::{Outcome, RunOptions, TaskPhase};
use surelift::plan::tube_fit;
use surelift::plan::{Plan, PlanError};
use surelift::reach::Tube;
use surelift::report::{self, Summary};
use surelift::robot::{Arm, Capsule, JointLimits};
use surelift::scenario::{self, Scenario};
use tempfile::TempDir;

/// The constants of a plan's tube, to be changed.
fn energy(plan: &mut Plan) -> &mut Tube {
    plan.tube.energy_mut().unwrap()
}

/// Changes a plan after it was proven.
type Tamper = fn(&mut Plan);

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/dumbbell_c_8lb.toml");

/// A run that tests look at; whoever comes first executes it, without deadlines, so that a busy machine changes nothing.
struct Job {
    folder: TempDir,
    summary: Summary,
    /// Duration of a trajectory, s.
    t_f: f64,
}

/// The job with one exciting trajectory, for the tests that are quick.
static JOB: LazyLock<Job> = LazyLock::new(|| {
    let robot = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
    let text = format!("extends = {SCENARIO:?}\nrobot = {robot:?}\n[timing]\nexciting_plans = 1\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dumbbell_c_8lb.toml");
    std::fs::write(&path, text).unwrap();
    Job::done(Scenario::load(&path).unwrap())
});

/// The job as it ships, for the tests that are long.
static WHOLE: LazyLock<Job> = LazyLock::new(|| Job::done(Scenario::load(SCENARIO).unwrap()));

impl Job {
    fn done(scenario: Scenario) -> Self {
        let t_f = scenario.task().timing.t_f_s;
        let options = RunOptions { method: "ours".into(), seed: 0, timed: false };
        let record = scenario::run(scenario, &options, &mut ()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        report::write(&folder.path().join("run"), &record).unwrap();
        Self { folder, summary: record.summary, t_f }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn plans(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path().join("plans")).unwrap();
        let mut plans: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        plans.sort();
        plans
    }

    fn first_plan(&self) -> Plan {
        Plan::load(&self.plans()[0]).unwrap()
    }

    /// Saves a plan beside the run and asks for its proof, as another person would.
    fn refusal(&self, name: &str, plan: &Plan) -> Refusal {
        let path = self.folder.path().join(format!("{name}.json"));
        std::fs::write(&path, serde_json::to_string(plan).unwrap()).unwrap();
        Plan::load(&path).unwrap().verify::<Counted>(None, Partition::default()).unwrap_err()
    }
}

#[test]
fn the_payload_arrives_and_nothing_is_violated() {
    arrives(&JOB);
}

fn arrives(job: &Job) {
    let summary = &job.summary;
    assert_eq!(summary.outcome, Outcome::Success, "{:?}", summary.reason);
    for (name, count) in summary.violations.counts() {
        assert_eq!(count, 0, "{name}");
    }
    assert!(summary.truth_inside);
    assert!(summary.max_torque_ratio.unwrap() < 1.0);
    assert!(summary.min_clearance_m.unwrap() > 0.0);
    assert!(summary.tube_used_ratio.unwrap() < 1.0);
    // One step's error of the plant, far below the encoders' resolution.
    assert!(summary.integration_error_rad.unwrap() < 1e-8);
    let executed = summary.plans.iter().filter(|plan| plan.certified);
    assert_eq!(executed.count(), job.plans().len());
}

#[test]
fn the_set_holds_the_truth_and_only_ever_shrinks() {
    only_ever_shrinks(&JOB);
}

fn only_ever_shrinks(job: &Job) {
    let summary = &job.summary;
    let payload = summary.payload.as_ref().unwrap();
    let truth = &payload.truth;
    for update in &summary.identification {
        for p in 0..truth.len() {
            let name = &payload.names[p];
            assert!(
                update.known.lower[p] <= truth[p] && truth[p] <= update.known.upper[p],
                "{name} at {} s",
                update.t
            );
            let nominal = update.known.nominal[p];
            assert!(
                update.known.lower[p] <= nominal && nominal <= update.known.upper[p],
                "{name} at {} s",
                update.t
            );
        }
    }
    for pair in summary.identification.windows(2) {
        for p in 0..truth.len() {
            assert!(
                pair[0].known.lower[p] <= pair[1].known.lower[p]
                    && pair[1].known.upper[p] <= pair[0].known.upper[p]
            );
        }
    }
}

#[test]
fn an_exciting_trajectory_narrows_the_payload_down() {
    // A fifth above what it is.
    let limits = [0.295, 0.0103, 0.025, 0.0672, 0.0621, 0.0463, 0.0621, 0.0532, 0.0426, 0.0764];
    is_narrowed_down(&JOB, limits);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn the_job_is_done_as_it_ships_at_length() {
    arrives(&WHOLE);
    only_ever_shrinks(&WHOLE);
    // A fifth above what it is: 0.197 kg, then 4.6, 4.4 and 36.8 g m, then 38.1, 15.5, 33.6, 15.9, 7.4 and 19.3 g m^2.
    let limits = [0.236, 0.0055, 0.0053, 0.044, 0.0457, 0.0186, 0.0403, 0.019, 0.0088, 0.0232];
    is_narrowed_down(&WHOLE, limits);
}

/// To these half-widths after the last exciting trajectory.
fn is_narrowed_down(job: &Job, limits: [f64; 10]) {
    let exciting = job.summary.plans.iter().filter(|p| p.certified && p.phase == TaskPhase::Excite);
    let end = exciting.map(|p| p.t).fold(f64::NEG_INFINITY, f64::max) + job.t_f;
    let known = job.summary.identification.iter().find(|i| i.t >= end - 1e-9).unwrap();
    let names = &job.summary.payload.as_ref().unwrap().names;
    for (p, limit) in limits.into_iter().enumerate() {
        let half_width = 0.5 * (known.known.upper[p] - known.known.lower[p]);
        assert!(half_width <= limit, "{}: {half_width} > {limit}", names[p]);
    }
}

#[test]
fn the_correlated_set_leaves_less_open_than_the_box() {
    let carried = JOB.summary.plans.iter().filter(|p| p.certified && p.phase == TaskPhase::Carry);
    let ratios: Vec<f64> = carried.filter_map(|p| Some(p.torque.as_ref()?.ratio())).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!(ratios.len() > 2 && mean < 0.9, "{ratios:?}");
}

#[test]
fn the_folder_is_complete() {
    let folder = JOB.path();
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["log.csv", "plans", "report.html", "set_proof.json", "summary.json"]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();

    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    let has = |value: &serde_json::Value, names: &[&str]| {
        for name in names {
            assert!(value.get(name).is_some(), "`{name}` is missing in {value}");
        }
    };
    has(&summary, &["schema", "scenario", "method", "seed", "outcome", "violations", "truth_inside"]);
    has(&summary, &["payload", "identification", "plans", "max_tracking_error_rad", "max_torque_ratio"]);
    has(&summary, &["min_clearance_m", "goal_error_rad", "wall_s"]);
    assert_eq!(summary["outcome"], "success");
    has(&summary["violations"], &["collision", "torque", "position", "velocity", "tube"]);
    has(&summary["payload"], &["names", "truth", "nominal", "lower", "upper"]);
    for update in summary["identification"].as_array().unwrap() {
        has(update, &["t", "nominal", "lower", "upper", "condition_number", "update_ms"]);
    }
    for plan in summary["plans"].as_array().unwrap() {
        has(plan, &["t", "phase", "certified", "propose_ms", "certify_ms", "min_margin"]);
        has(&plan["min_margin"], &["position", "velocity", "torque", "collision"]);
    }

    let log = read("log.csv");
    assert!(log.starts_with("t,q1,"), "{}", log.lines().next().unwrap());
    // One row a millisecond, and the heading.
    assert_eq!(log.lines().count(), (1e3 * JOB.summary.duration_s).round() as usize + 1);

    let page = read("report.html");
    assert!(page.contains("<svg"));
    for reference in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(reference), "the page needs the network: {reference}");
    }
}

#[test]
fn the_first_and_the_last_plan_are_proven_again_from_their_files() {
    proven_again_from_their_files(&JOB, &[0, JOB.plans().len() - 1]);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn every_plan_is_proven_again_from_its_file_at_length() {
    proven_again_from_their_files(&WHOLE, &(0..WHOLE.plans().len()).collect::<Vec<_>>());
}

/// Each of these plans after the one before it, whose proof is believed here.
fn proven_again_from_their_files(job: &Job, which: &[usize]) {
    let plans = job.plans();
    assert!(plans.len() > 4);
    for &k in which {
        let plan = Plan::load(&plans[k]).unwrap();
        let before = k.checked_sub(1).map(|k| Plan::load(&plans[k]).unwrap());
        let before = before.as_ref().map(|plan| (plan, plan.certificate.excess));
        let proof = plan.verify::<Counted>(before, Partition::default());
        let certificate = proof.unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(certificate, plan.certificate, "{k}");
    }
}

/// Exit code, and what `surelift verify` says of plans.
#[cfg(feature = "cli")]
fn verified(plans: &[PathBuf]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_surelift");
    let output =
        std::process::Command::new(program).arg("verify").args(plans).output().expect("the program starts");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[cfg(feature = "cli")]
fn all_are_proven(plans: &[PathBuf]) {
    let (code, said) = verified(plans);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains(": proven")).count(), plans.len(), "{said}");
}

#[cfg(feature = "cli")]
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn another_process_proves_every_plan_at_length() {
    all_are_proven(&WHOLE.plans());
}

#[cfg(feature = "cli")]
#[test]
fn another_process_proves_a_plan_or_names_what_it_cannot_prove() {
    let plans = JOB.plans();
    all_are_proven(&plans[..1]);
    let mut plan = JOB.first_plan();
    plan.robot = limited(&plan.robot, |limits| limits.torque = 10.0);
    let path = JOB.folder.path().join("weak.json");
    std::fs::write(&path, serde_json::to_string(&plan).unwrap()).unwrap();
    let (code, said) = verified(&[plans[0].clone(), path]);
    assert_eq!(code, Some(1), "{said}");
    for word in ["weak.json: NOT PROVEN", "Torque", "joint 'joint_2'", "between"] {
        assert!(said.contains(word), "{said}");
    }
}

/// The log with torques that are a little larger until the first update: no such set follows.
fn with_larger_torques(log: &str) -> String {
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    for line in &mut lines[1..1500] {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        for torque in &mut fields[15..22] {
            *torque = (torque.parse::<f64>().unwrap() * 1.02).to_string();
        }
        *line = fields.join(",");
    }
    lines.join("\n") + "\n"
}

/// The set that the plans rest on is proven again from the log, and a log or a set that was changed is refused with the place.
#[cfg(feature = "cli")]
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn another_process_proves_the_identified_set_or_names_what_it_cannot_prove_at_length() {
    let verify = |folder: &Path| {
        let program = env!("CARGO_BIN_EXE_surelift");
        let proof = folder.join("set_proof.json");
        let done = std::process::Command::new(program).arg("verify").arg("--set").arg(proof).output();
        let done = done.expect("the program starts");
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let (code, said) = verify(&WHOLE.path());
    println!("{said}");
    assert_eq!(code, Some(0), "{said}");
    for word in [": proven", "I_zz", "Believed", "kinova_gen3"] {
        assert!(said.contains(word), "{said}");
    }
    let proof = std::fs::read_to_string(WHOLE.path().join("set_proof.json")).unwrap();
    let log = std::fs::read_to_string(WHOLE.path().join("log.csv")).unwrap();
    println!("{} bytes of proof, {} of log", proof.len(), log.len());
    assert!(proof.len() < log.len());
    let changed = |name: &str, proof: &str, log: &str, plans: &[(&str, String)]| {
        let folder = WHOLE.folder.path().join(name);
        std::fs::create_dir_all(folder.join("plans")).unwrap();
        std::fs::write(folder.join("set_proof.json"), proof).unwrap();
        std::fs::write(folder.join("log.csv"), log).unwrap();
        for (name, plan) in plans {
            std::fs::write(folder.join("plans").join(name), plan).unwrap();
        }
        verify(&folder)
    };
    let (code, said) = changed("torques", &proof, &with_larger_torques(&log), &[]);
    assert!(
        code == Some(1) && said.contains("NOT PROVEN: step 2") | said.contains("NOT PROVEN: step 1"),
        "{said}"
    );
    // Another robot's sensors, a narrower set in a plan, and accelerations below what the plan allows.
    let mut plan = Plan::load(WHOLE.plans().last().unwrap()).unwrap();
    let text = |plan: &Plan| serde_json::to_string(plan).unwrap();
    let expect = |name: &str, plan: &Plan, word: &str| {
        let (code, said) = changed(name, &proof, &log, &[("plan_000.json", text(plan))]);
        assert!(code == Some(1) && said.contains(word), "{said}");
    };
    let mut sensors = plan.robot.sensors().clone();
    sensors.torque_ratio *= 0.5;
    plan.robot = plan.robot.with_sensors(sensors).unwrap();
    expect("sensors", &plan, "another robot");
    let mut plan = Plan::load(WHOLE.plans().last().unwrap()).unwrap();
    let mass = plan.set.body(plan.robot.end_effector()).mass();
    let (at, middle) =
        (plan.robot.body_range(plan.robot.end_effector()).start, 0.5 * (mass.lower + mass.upper));
    plan.set = plan.set.with_intervals(at, &[mass.lower], &[middle]).unwrap();
    expect("narrower", &plan, &format!("parameter {at}"));
    let mut plan = WHOLE.first_plan();
    plan.tube.energy_mut().unwrap().acceleration_bound[2] *= 1.5;
    expect("accelerations", &plan, "joint 2");
}

/// The family, and that the message names the place and the time.
fn expect_constraint(refusal: &Refusal, expected: ConstraintFamily, place: &str) {
    let text = refusal.to_string();
    let Refusal::Constraint { family, at, t0, t1, margin } = refusal else { panic!("{text}") };
    assert_eq!(*family, expected, "{text}");
    assert!(at.contains(place) && text.contains(place), "{text}");
    assert!(text.contains(&format!("{t0:.4} s")) && t1 > t0 && *margin < 0.0, "{text}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_end_point_moved_into_the_table_is_refused_at_length() {
    // The last plan knows the payload best, so torque limits its end point least.
    let mut plan = Plan::load(WHOLE.plans().last().unwrap()).unwrap();
    // Bend shoulder or elbow until the arm lies in the table, the only obstacle, and aim there.
    plan.scene.obstacles.retain(|o| o.name == "table");
    let end = plan.curve.end();
    let bent = |joint: usize, by: f64| {
        let mut q = end.clone();
        q[joint] += by;
        q
    };
    let end = (1..=250)
        .map(|k| 0.01 * f64::from(k))
        .flat_map(|x| [bent(1, x), bent(1, -x), bent(3, x), bent(3, -x)])
        .find(|q| plan.robot.obstacle_clearance(&plan.robot.frames(q), &plan.scene).unwrap().distance < -0.01)
        .expect("the arm reaches the table");
    for (points, end) in plan.curve.first.points.iter_mut().zip(&end) {
        points[3..].fill(*end);
    }
    let text = WHOLE.refusal("table", &plan).to_string();
    assert!(text.contains("cannot prove"), "{text}");
    // Slowed down and with a tube that fits, the table is all that remains in the way.
    plan.curve.first.duration_s *= 4.0;
    let guess = plan.tube.energy().unwrap();
    plan.tube = tube_fit::fit(&plan.robot, &plan.set, &plan.curve, guess, 32).unwrap().into();
    expect_constraint(&WHOLE.refusal("slow", &plan), ConstraintFamily::Collision, "obstacle 'table'");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_obstacle_moved_onto_the_arm_is_refused_at_length() {
    let mut plan = WHOLE.first_plan();
    let middle = plan.curve.state(0.5 * plan.curve.duration_s()).q;
    let hand = plan.robot.shapes().iter().position(|s| s.joint == Some(plan.robot.end_effector())).unwrap();
    let Capsule { a, b, .. } = plan.robot.placed_capsule(hand, &plan.robot.frames(&middle));
    let obstacle = plan.scene.obstacles.last_mut().unwrap();
    obstacle.center = 0.5 * (a + b);
    obstacle.generators.iter_mut().for_each(|g| *g = g.normalize() * 0.01);
    let name = format!("obstacle '{}'", obstacle.name);
    expect_constraint(&WHOLE.refusal("obstacle", &plan), ConstraintFamily::Collision, &name);
}

/// The arm with other limits of its second joint.
fn limited(robot: &Arm, change: impl FnOnce(&mut JointLimits)) -> Arm {
    robot.changed(|arm| change(&mut arm.model.joints[1].limits)).unwrap()
}

#[test]
fn lowered_limits_are_refused() {
    let sound = JOB.first_plan();
    let cases: [(ConstraintFamily, Tamper); 3] = [
        (ConstraintFamily::Torque, |plan| plan.robot = limited(&plan.robot, |limits| limits.torque = 10.0)),
        (ConstraintFamily::Velocity, |plan| {
            plan.robot = limited(&plan.robot, |limits| limits.velocity = 1e-3)
        }),
        (ConstraintFamily::Position, |plan| {
            let q = plan.curve.end()[1];
            plan.robot = limited(&plan.robot, |limits| limits.position = Some((q + 0.1, q + 0.2)));
        }),
    ];
    for (family, tamper) in cases {
        let mut plan = sound.clone();
        tamper(&mut plan);
        let joint = format!("joint '{}'", plan.robot.joints[1].name);
        expect_constraint(&JOB.refusal("limits", &plan), family, &joint);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_larger_set_or_a_smaller_tube_is_refused_at_length() {
    let sound = WHOLE.first_plan();
    let cases: [(&str, Tamper); 5] = [
        ("drift_nm", |plan| energy(plan).drift_nm.iter_mut().for_each(|x| *x *= 0.5)),
        ("hold_power_w", |plan| energy(plan).hold_power_w = 0.0),
        ("energy_slack_j", |plan| energy(plan).energy_slack_j = 0.0),
        ("acceleration_bound", |plan| energy(plan).acceleration_bound[3] *= 0.1),
        ("", |plan| {
            let hand = plan.robot.end_effector();
            let (lower, mut upper) = (plan.set.body(hand).lower(), plan.set.body(hand).upper());
            upper[0] += 5.0;
            plan.set = plan.set.clone().with_body(hand, &lower, &upper).unwrap();
        }),
    ];
    for (place, tamper) in cases {
        let mut plan = sound.clone();
        tamper(&mut plan);
        let refusal = WHOLE.refusal("tube", &plan);
        let Refusal::Constraint { family, at, .. } = &refusal else { panic!("{refusal}") };
        assert!(at.contains(place), "{refusal}");
        assert!(place.is_empty() || *family == ConstraintFamily::Tube, "{refusal}");
    }
}

#[test]
fn files_that_are_no_plans_are_refused() {
    let sound = std::fs::read_to_string(&JOB.plans()[0]).unwrap();
    let load = |name: &str, text: String| {
        let path = JOB.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Plan::load(&path)
    };
    let schema = load("schema.json", sound.replacen("\"schema\": 4", "\"schema\": 99", 1));
    assert!(matches!(schema, Err(PlanError::Schema { found: 99, .. })));
    let cut = load("cut.json", sound[..sound.len() / 2].to_owned()).unwrap_err();
    assert!(cut.to_string().contains("cut.json"), "{cut}");
    let extra = load("extra.json", sound.replacen('{', "{\"safe\": true,", 1)).unwrap_err();
    assert!(extra.to_string().contains("safe"), "{extra}");
    let missing = Plan::load(Path::new("no/such/plan.json")).unwrap_err();
    assert!(missing.to_string().contains("no/such/plan.json"), "{missing}");
}
