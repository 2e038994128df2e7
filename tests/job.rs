//! The promise: a job in a program. An arm that can be read and commanded takes unknown things, learns them, carries them and lets go of them; every motion is proven,
//! each to follow the one before, and what goes wrong is told in the words of the caller.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use nalgebra::Vector3;
use surelift::certify::Partition;
use surelift::dynamics::Workspace;
use surelift::enclose::Counted;
use surelift::horizon::{Event, Observer, Record};
use surelift::plan::saved::PlanStart;
use surelift::prelude::*;
use surelift::simulate::{Audit, SimulatedObject, World};

const HOME: [f64; 3] = [-0.8, 0.6, 0.9];
/// Where the fingers hold things, in the frame of the gripper, and how large these are, m.
const IN_HAND: [f64; 3] = [0.0, 0.0, 0.05];
const SIZE: [f64; 3] = [0.06, 0.06, 0.06];

fn my_arm() -> Arm {
    robot::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_arm/my_arm.toml")).unwrap()
}

/// Where the fingers hold things, in the frame of the last joint, m.
fn in_elbow(robot: &Arm) -> Vector3<f64> {
    robot.tool_frames().get(Some("gripper")).unwrap().placement.point(&IN_HAND.into())
}

fn around() -> Scene {
    Scene::default().with_box("post", [0.45, 0.0, 0.15], [0.06, 0.06, 0.3])
}

fn unknown() -> GraspPrior {
    GraspPrior::within(0.5, IN_HAND, SIZE)
}

fn world(masses: &[f64]) -> World {
    let things =
        masses.iter().map(|kg| SimulatedObject::cuboid(*kg, IN_HAND, [0.05, 0.04, 0.05]).unwrap()).collect();
    World::with_objects(Arc::new(my_arm()), around(), &HOME, things, 3)
}

// Three picks of unknown things.
fn three_picks(arm: impl Hardware) -> Result<(JobReport, Vec<Record>), Box<dyn Error>> {
    let scene = Scene::default().with_box("post", [0.45, 0.0, 0.15], [0.06, 0.06, 0.3]);
    let unknown = GraspPrior::within(0.5, [0.0, 0.0, 0.05], [0.06, 0.06, 0.06]);
    let mut job = Job::new(my_arm(), scene, arm)?;
    for place in [[0.8, 0.6, 0.9], [0.9, 0.5, 1.0], [0.7, 0.7, 0.8]] {
        job.move_to(&[-0.8, 0.6, 0.9])?;
        let mut held = job.grasp(&unknown)?;
        println!("{}", held.learn(Until::MassWithinKg(0.15))?);
        held.carry_to(&place)?;
        held.release()?;
    }
    println!("{}", job.report());
    Ok((job.report(), job.into_records()))
}

/// Every executed plan is proven again, each from rest or after the one before, without a gap in between.
fn proven_again(records: &[Record]) -> usize {
    let mut count = 0;
    for record in records {
        for (k, plan) in record.plans.iter().enumerate() {
            let before = k.checked_sub(1).map(|k| &record.plans[k]);
            assert_eq!(plan.start == PlanStart::Rest, k == 0, "plan {k}");
            let before = before.map(|before| (before, before.certificate.excess));
            plan.verify::<Counted>(before, Partition { cells: 96, ..Partition::default() }).unwrap();
            count += 1;
        }
    }
    count
}

fn untouched(audit: &Audit) {
    let counts = audit.counts;
    assert_eq!(
        (counts.collision, counts.torque, counts.position, counts.velocity, counts.tube),
        (0, 0, 0, 0, 0)
    );
    assert!(audit.truth_inside && audit.tube_used < 1.0, "{audit:?}");
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn three_unknown_things_are_taken_learnt_carried_and_put_down_by_the_simulated_arm_at_length() {
    let masses = [0.45, 0.2, 0.33];
    let mut world = world(&masses);
    let (report, records) = three_picks(&mut world).unwrap();
    untouched(&world.reveal());
    assert!(report.steps.iter().all(|step| step.error.is_none()), "{report}");
    assert_eq!(report.steps.iter().filter(|step| step.what == "carry_to").count(), 3);
    assert_eq!(report.payloads.len(), 3);
    for (payload, mass) in report.payloads.iter().zip(masses) {
        let [low, high] = payload.mass_kg;
        assert!(low <= mass && mass <= high && high - low <= 0.3, "{payload} of {mass} kg");
        assert_eq!(payload.frame, "gripper");
        // 0.05 m along the gripper's z, wherever the joint's own axes point.
        for (range, truth) in payload.center_m.unwrap().iter().zip(IN_HAND) {
            assert!(range[0] <= truth && truth <= range[1], "{payload}");
        }
    }
    // An empty hand, and one with a thing in it, three times; the hand is empty at the end.
    assert_eq!(records.len(), 7);
    assert!(proven_again(&records) >= 9);
}

/// An arm of the test's own. It knows the nominal arm and what is in its hand, and nothing of the library but dynamics.
struct OwnArm {
    robot: Arm,
    ticks: u64,
    q: Vec<f64>,
    dq: Vec<f64>,
    parameters: Vec<f64>,
    masses: Vec<f64>,
    dynamics: Workspace,
    /// From this tick on the first encoder reads too much.
    wrong_from: u64,
}

impl OwnArm {
    fn new(masses: &[f64]) -> Self {
        let robot = my_arm();
        Self {
            ticks: 0,
            q: HOME.to_vec(),
            dq: vec![0.0; 3],
            parameters: robot.nominal_parameters(),
            masses: masses.iter().rev().copied().collect(),
            dynamics: Workspace::new(&robot),
            wrong_from: u64::MAX,
            robot,
        }
    }
}

impl Hardware for OwnArm {
    fn time(&self) -> f64 {
        self.ticks as f64 * 1e-3
    }

    fn read(&mut self, reading: &mut Reading) {
        reading.t = self.time();
        reading.q.copy_from_slice(&self.q);
        reading.dq.copy_from_slice(&self.dq);
        if self.ticks >= self.wrong_from {
            reading.q[0] += 0.05;
        }
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        let (mut ddq, step) = (vec![0.0; 3], 1e-4);
        for _ in 0..10 {
            let joints = self.robot.joints.iter().zip(tau).zip(&self.dq);
            let acting: Vec<f64> = joints
                .map(|((joint, tau), dq)| {
                    let share = (dq / self.robot.gains().stiction_speed_rad_s).clamp(-1.0, 1.0);
                    tau - joint.friction.coulomb * share - joint.friction.viscous * dq
                })
                .collect();
            let Self { robot, dynamics, q, dq, parameters, .. } = self;
            dynamics.forward_dynamics(robot, q, dq, &acting, parameters, &mut ddq);
            for j in 0..3 {
                dq[j] += step * ddq[j];
                q[j] += step * dq[j];
            }
        }
        measured.copy_from_slice(tau);
        self.ticks += 1;
        true
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.dq.fill(0.0);
        self.dynamics.inverse_dynamics(
            &self.robot,
            &self.q,
            &[0.0; 3],
            &[0.0; 3],
            &self.parameters,
            measured,
        );
        self.ticks += 1;
        true
    }

    fn gripper(&mut self, closes: bool) {
        let at = self.robot.body_range(self.robot.end_effector());
        let [x, y, z]: [f64; 3] = in_elbow(&self.robot).into();
        let m = if closes { self.masses.pop().unwrap() } else { 0.0 };
        let point = [1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y];
        let empty = self.robot.joints[self.robot.end_effector()].inertia;
        let held: Vec<f64> = empty.iter().zip(point).map(|(empty, p)| empty + m * p).collect();
        self.parameters[at].copy_from_slice(&held);
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn an_arm_of_ones_own_does_the_same_job_at_length() {
    let masses = [0.1, 0.4, 0.25];
    let (report, records) = three_picks(OwnArm::new(&masses)).unwrap();
    for (payload, mass) in report.payloads.iter().zip(masses) {
        let [low, high] = payload.mass_kg;
        assert!(low <= mass && mass <= high, "{payload} of {mass} kg");
    }
    assert!(records.iter().all(|record| record.broken.is_empty()));
    assert!(proven_again(&records) >= 9);
}

#[test]
fn a_thing_is_weighed_at_any_time_it_is_held() {
    let mut world = world(&[0.4]);
    let mut job = Job::new(my_arm(), around(), &mut world).unwrap();
    let mut held = job.grasp(&unknown()).unwrap();
    let before = held.payload();
    assert_eq!(before.mass_kg[0], 0.0);
    // It may weigh nothing; its centre is where the prior says that all of it is.
    let center = before.center_m.unwrap();
    let stated = [[-0.03, 0.03], [-0.03, 0.03], [0.02, 0.08]];
    let off = center.as_flattened().iter().zip(stated.as_flattened()).map(|(a, b)| (a - b).abs());
    assert!(off.fold(0.0, f64::max) < 1e-9 && before.mass_kg[1] <= 0.5 + 1e-9, "{before}");
    let weighed = held.weigh(0.3).unwrap();
    held.carry_to(&[-0.4, 0.7, 0.8]).unwrap();
    let again = held.weigh(0.3).unwrap();
    let width = |payload: &PayloadBounds| payload.mass_and_spread_kg().1;
    assert!(
        width(&weighed) < width(&before) && width(&again) <= width(&weighed),
        "{before}; {weighed}; {again}"
    );
    assert!(again.mass_kg[0] <= 0.4 && 0.4 <= again.mass_kg[1]);
    for bad in [0.0, -1.0, 0.01, f64::NAN, f64::INFINITY] {
        assert!(matches!(held.weigh(bad), Err(JobError::Input { .. })), "{bad}");
    }
    held.release().unwrap();
    drop(job);
    untouched(&world.reveal());
}

#[test]
fn calls_out_of_order_are_errors_that_change_nothing() {
    let mut job = Job::new(my_arm(), around(), world(&[0.4])).unwrap();
    assert!(job.held().is_none());
    drop(job.grasp(&unknown().named("tin")).unwrap());
    let steps = job.report().steps.len();
    let told = job.move_to(&HOME).unwrap_err();
    assert!(matches!(told, JobError::Order { .. }) && told.to_string().contains("'tin' is held"), "{told}");
    assert!(matches!(job.grasp(&unknown()).map(drop), Err(JobError::Order { .. })));
    assert_eq!(job.report().steps.len(), steps);
    job.held().unwrap().release().unwrap();
    job.move_to(&[-0.7, 0.6, 0.9]).unwrap();
}

#[test]
fn what_makes_no_sense_is_refused_by_its_name_before_anything_happens() {
    let mut job = Job::new(my_arm(), around(), world(&[0.4])).unwrap();
    let before = job.report();
    for (goal, words) in [
        (vec![0.0; 2], "goal: 2 numbers, expected 3"),
        (vec![0.0, f64::NAN, 0.0], "goal: joint 'shoulder' at NaN"),
        (vec![0.0, 0.0, f64::INFINITY], "joint 'elbow' at inf"),
        (vec![3.5, 0.0, 0.0], "joint 'waist' at 3.5, expected within"),
    ] {
        let told = job.move_to(&goal).unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }
    let within = GraspPrior::within;
    for (prior, words) in [
        (within(-0.5, IN_HAND, SIZE), "prior.mass_kg"),
        (within(0.0, IN_HAND, SIZE), "prior.mass_kg"),
        (within(f64::NAN, IN_HAND, SIZE), "prior.mass_kg"),
        (unknown().at_least(0.6), "prior.mass_kg: from 0.6 to 0.5"),
        (within(0.5, [f64::INFINITY, 0.0, 0.0], SIZE), "prior.center_m"),
        (within(0.5, IN_HAND, [0.1, -0.1, 0.1]), "prior.size_m"),
        (within(0.5, IN_HAND, [0.1, f64::NAN, 0.1]), "prior.size_m"),
        (unknown().in_frame("turret"), "prior.payload.frame: no link `turret`"),
        (unknown().with_capsule(IN_HAND, IN_HAND, -1.0), "prior.capsule[1]"),
        (unknown().may_touch("spoiler", "it has none"), "no capsule 'spoiler'"),
        (unknown().may_touch("housing", " "), "without a reason"),
        (GraspPrior::of_last_body([0.0; 10], [1.0; 10]), "prior.capsule: missing"),
        (GraspPrior::of_last_body([1.0; 10], [0.0; 10]), "prior.lower"),
        (GraspPrior::of_last_body([2.0; 10], [2.0; 10]).with_capsule(IN_HAND, IN_HAND, 0.03), "prior: "),
    ] {
        let told = job.grasp(&prior).map(drop).expect_err(words);
        assert!(
            matches!(told, JobError::Input { .. }) && told.to_string().contains(words),
            "{words}: {told}"
        );
    }
    let told = job.set_scene(Scene::default().with_box("sun", [f64::NAN; 3], [1.0; 3])).unwrap_err();
    assert!(told.to_string().contains("obstacle 'sun'"), "{told}");
    assert!(job.set_scene(Scene::default().with_moving_box("fox", [9.0; 3], [1.0; 3], -1.0)).is_err());
    assert_eq!(job.report(), before);
    let mut held = job.grasp(&unknown()).unwrap();
    for until in [Until::Motions(0), Until::MassWithinKg(0.0), Until::MassWithinKg(f64::NAN)] {
        assert!(matches!(held.learn(until), Err(JobError::Input { .. })), "{until:?}");
    }
}

/// Links on springs would swing with what is taken, while the encoders stand still.
#[test]
fn an_arm_on_springs_takes_nothing() {
    let robot = surelift::robot::load(Path::new("kinova_gen3_2f85_elastic")).unwrap();
    let (start, things) = (vec![0.0, 0.5, 3.0, -1.6, 0.0, 0.4, 1.5], vec![]);
    let arm = World::with_objects(Arc::new(robot.clone()), Scene::default(), &start, things, 3);
    let mut job = Job::new(robot, Scene::default(), arm).unwrap();
    let before = job.report();
    let told = job.grasp(&GraspPrior::within(0.5, [0.0, 0.0, 0.1], SIZE)).map(drop).unwrap_err();
    assert!(told.to_string().starts_with("robot: its links hang on springs"), "{told}");
    assert_eq!(job.report(), before);
}

#[test]
fn settings_that_make_no_sense_are_refused_by_their_name() {
    type Change = (&'static str, fn(&mut JobOptions));
    let change: [Change; 9] = [
        ("carry_range_rad: 2 numbers", |options| options.carry_range_rad = vec![1.0; 2]),
        ("excite_range_rad: NaN", |options| options.excite_range_rad[1] = f64::NAN),
        ("goal_tolerance_rad: -1", |options| options.goal_tolerance_rad[0] = -1.0),
        ("timing.t_p_s: 3 s, expected less", |options| options.timing.t_p_s = 3.0),
        ("timing.t_f_s: inf", |options| options.timing.t_f_s = f64::INFINITY),
        ("timing.max_plans: 0", |options| options.timing.max_plans = 0),
        ("window_s: 2 s, expected at most", |options| options.window_s = 2.0),
        ("gripper_s: 0 s", |options| options.gripper_s = 0.0),
        ("most_motions: 0", |options| options.most_motions = 0),
    ];
    for (words, change) in change {
        let mut options = JobOptions::of(&my_arm());
        change(&mut options);
        let told =
            Job::begin((my_arm(), around()), world(&[]), options, ()).map(drop).unwrap_err().to_string();
        assert!(told.starts_with(words), "{words}: {told}");
    }
}

#[test]
fn a_goal_that_cannot_be_proven_leaves_the_arm_standing_and_the_job_going() {
    // The post in the way of the goal, and an arm that gets to another one afterwards.
    let post = |x: f64, y: f64| {
        Scene::default().with_turned_box("post", [x, y, 0.4], [0.1, 0.1, 0.6], [0.0, 0.0, 0.3])
    };
    let mut world = world(&[]);
    let goal = [0.8, 0.6, 0.9];
    let hand = my_arm().frames(&goal)[2].point(&in_elbow(&my_arm()));
    let mut job = Job::new(my_arm(), post(hand.x, hand.y), &mut world).unwrap();
    let told = job.move_to(&goal).unwrap_err();
    assert!(matches!(&told, JobError::NotProven(_)) && told.to_string().contains("post"), "{told}");
    job.move_to(&[-0.4, 0.5, 0.8]).unwrap();
    assert!(job.report().to_string().contains("not proven"));
    // Once the post is gone, there is a way.
    job.set_scene(Scene::default()).unwrap();
    job.move_to(&goal).unwrap();
    let (report, records) = (job.report(), job.into_records());
    assert!(report.steps.iter().map(|step| step.proven).sum::<usize>() >= proven_again(&records));
    untouched(&world.reveal());
}

#[test]
fn a_broken_assumption_ends_the_job() {
    let arm = OwnArm { wrong_from: 1500, ..OwnArm::new(&[0.2]) };
    let mut job = Job::new(my_arm(), around(), arm).unwrap();
    let told = job.move_to(&[0.8, 0.6, 0.9]).unwrap_err();
    let JobError::Broken(broken) = &told else { panic!("{told}") };
    assert_eq!(broken.joint.as_deref(), Some("waist"));
    assert!(matches!(job.move_to(&HOME), Err(JobError::Broken(_))));
    assert!(matches!(job.grasp(&unknown()).map(drop), Err(JobError::Broken(_))));

    // A thing heavier than said is told by what it does.
    let mut job = Job::new(my_arm(), around(), OwnArm::new(&[0.9])).unwrap();
    let mut held = job.grasp(&unknown()).unwrap();
    let told = held.weigh(0.3).unwrap_err();
    assert!(matches!(told, JobError::Broken(_)), "{told}");
}

/// Asks for the end after so many plans.
struct Impatient(usize);

impl Observer for Impatient {
    fn event(&mut self, event: &Event) {
        self.0 -= usize::from(matches!(event, Event::PlanCertified { .. }) && self.0 > 0);
    }

    fn asks_to_stop(&mut self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_wish_to_stop_is_told_apart() {
    let options = JobOptions::of(&my_arm());
    let mut job = Job::begin((my_arm(), around()), world(&[]), options, Impatient(1)).unwrap();
    assert!(matches!(job.move_to(&[0.8, 0.6, 0.9]), Err(JobError::Stopped(_))));
}
