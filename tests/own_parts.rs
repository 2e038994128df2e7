//! The promise: a controller, a cost and an arm with its sensors of one's own work from outside the crate, each as its seam says:
//! `control::Controller`, `plan::decision::EndCost` and `horizon::Hardware`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use surelift::certify::{Partition, Problem, Start, certify};
use surelift::control::{Controller, Measured, RobustController, Tick};
use surelift::dynamics::Workspace;
use surelift::horizon::{self, Evidence, Hardware, Outcome, Reading, RunOptions, Task};
use surelift::inertia::ParameterSet;
use surelift::plan::decision::EndCost;
use surelift::plan::propose::{Planner, Proposal, Purpose, Setting};
use surelift::plan::{Plan, tube_fit};
use surelift::reach::PreparedSet;
use surelift::robot::{Arm, Scene};
use surelift::scenario::Scenario;
use surelift::simulate::{HiddenTruth, World};
use surelift::trajectory::{Bezier, JointState};

fn scenario(name: &str) -> (Task, HiddenTruth) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/my_arm").join(name);
    Scenario::load(path.with_extension("toml")).unwrap().split()
}

/// Computed torque: what the nominal model needs, and a spring and a damper besides.
struct ComputedTorque<'a> {
    robot: &'a Arm,
    dynamics: Workspace,
    nominal: Vec<f64>,
    asked: Vec<f64>,
    stiffness: f64,
    damping: f64,
}

impl<'a> ComputedTorque<'a> {
    fn new(robot: &'a Arm, stiffness: f64, damping: f64) -> Self {
        let (dynamics, nominal) = (Workspace::new(robot), robot.nominal_parameters());
        Self { robot, dynamics, nominal, asked: vec![0.0; robot.dof()], stiffness, damping }
    }
}

impl Controller for ComputedTorque<'_> {
    fn tick(&mut self, _: f64, measured: Measured<'_>, desired: &JointState, tau: &mut [f64]) -> Tick {
        for (j, asked) in self.asked.iter_mut().enumerate() {
            let (e, de) = (desired.q[j] - measured.q[j], desired.dq[j] - measured.dq[j]);
            *asked = desired.ddq[j] + self.stiffness * e + self.damping * de;
        }
        let Self { robot, dynamics, nominal, asked, .. } = self;
        dynamics.inverse_dynamics(robot, measured.q, measured.dq, asked, nominal, tau);
        let mut saturated = false;
        for ((tau, joint), dq) in tau.iter_mut().zip(&self.robot.joints).zip(&desired.dq) {
            let (friction, most) = (&joint.friction, joint.limits.torque);
            let wanted = *tau + friction.viscous * dq + friction.coulomb * (dq / 1e-2).clamp(-1.0, 1.0);
            (*tau, saturated) = (wanted.clamp(-most, most), saturated || wanted.abs() > most);
        }
        Tick { energy_j: 0.0, energy_floor_j: 0.0, saturated }
    }
}

/// The largest tracking error (rad) of one second of motion in the simulator, and whether a torque was cut.
fn track(controller: &mut dyn Controller, task: &Task, truth: HiddenTruth, curve: &Bezier) -> (f64, bool) {
    let (robot, n) = (Arc::new(task.robot.clone()), task.robot.dof());
    let mut world = World::new(robot.clone(), task.scene.clone(), &task.start, truth, 3);
    let (mut reading, mut desired) = (Reading::new(n), JointState::at_rest(&task.start));
    let (mut tau, mut measured) = (vec![0.0; n], vec![0.0; n]);
    let (mut largest, mut cut) = (0.0_f64, false);
    for tick in 0..1000 {
        let t = f64::from(tick) * robot.gains().period_s;
        curve.evaluate(t, &mut desired);
        world.read(&mut reading);
        let errors = desired.q.iter().zip(&reading.q).map(|(d, q)| (d - q).abs());
        largest = errors.fold(largest, f64::max);
        cut |= controller.tick(t, Measured { q: &reading.q, dq: &reading.dq }, &desired, &mut tau).saturated;
        world.command(&tau, &mut measured);
    }
    let counts = world.reveal().counts;
    assert_eq!((counts.torque, counts.position, counts.velocity), (0, 0, 0));
    (largest, cut)
}

#[test]
fn an_own_controller_drives_the_simulated_arm() {
    let (task, _) = scenario("first_move");
    let truth = || scenario("first_move").1;
    let start = JointState::at_rest(&task.start);
    let curve = Bezier::to_rest(&start, &[-0.3, 0.5, 0.8], 1.0).unwrap();
    let own = track(&mut ComputedTorque::new(&task.robot, 400.0, 40.0), &task, truth(), &curve);
    assert!(own.0 < 0.02 && !own.1, "{own:?}");
    // It is the controller that does it: a soft one is left behind.
    let soft = track(&mut ComputedTorque::new(&task.robot, 4.0, 0.4), &task, truth(), &curve);
    assert!(soft.0 > 2.0 * own.0, "{soft:?} {own:?}");
    // The crate's own law takes the same place, and keeps what is proven of it.
    let robot = Arc::new(task.robot.clone());
    let set = ParameterSet::around_nominal(&robot);
    let tube = tube_fit::fit(&robot, &set, &curve, &tube_fit::initial(&robot), 16).unwrap();
    let robust = track(&mut RobustController::new(robot.clone(), &set, &tube), &task, truth(), &curve);
    let proven = (0..robot.dof()).map(|j| tube.e_radius(j)).fold(0.0, f64::max);
    assert!(robust.0 <= proven + robot.sensors().position_rad, "{robust:?} {proven}");
}

/// Wants one joint as far as may be, and the others where they are.
#[derive(Debug)]
struct Far<'a> {
    joint: usize,
    sign: f64,
    start: &'a [f64],
}

impl EndCost for Far<'_> {
    fn evaluate(&self, end: &[f64], gradient: &mut [f64]) -> f64 {
        let mut cost = 0.0;
        for j in 0..end.len() {
            let (moved, weight) = (end[j] - self.start[j], if j == self.joint { 0.0 } else { 0.5 });
            cost += weight * moved * moved;
            gradient[j] = 2.0 * weight * moved;
        }
        gradient[self.joint] -= self.sign;
        cost - self.sign * (end[self.joint] - self.start[self.joint])
    }
}

/// Says nothing that is a number.
#[derive(Debug)]
struct Nothing;

impl EndCost for Nothing {
    fn evaluate(&self, _: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(f64::NAN);
        f64::NAN
    }
}

#[test]
fn an_own_cost_decides_what_is_proposed_and_it_can_be_proven() {
    let (task, _) = scenario("first_move");
    let (robot, scene) = (&task.robot, Scene::default());
    let set = Arc::new(PreparedSet::new(robot, &ParameterSet::around_nominal(robot)));
    let start = JointState::at_rest(&task.start);
    let propose = |cost: &dyn EndCost| -> Option<Proposal> {
        let setting = Setting {
            robot,
            set: &set,
            scene: &scene,
            start: &start,
            duration_s: 3.0,
            reach: &[0.3; 3],
            warm: None,
            held: None,
            growth_max_m: None,
            seed: 0,
            // Counts limit the search, not the clock.
            deadline: Instant::now() + Duration::from_secs(600),
        };
        Planner::of_few_assessments(20).propose(&setting, Purpose::Least(cost)).ok().cloned()
    };
    let moved = |proposal: &Proposal| -> Vec<f64> {
        proposal.curve.end().iter().zip(&task.start).map(|(end, start)| end - start).collect()
    };
    for (joint, sign) in [(0, 1.0), (0, -1.0), (2, -1.0)] {
        let cost = Far { joint, sign, start: &task.start };
        let found = propose(&cost).unwrap();
        let moved = moved(&found);
        assert!(sign * moved[joint] > 0.2, "joint {joint}: {moved:?}");
        assert!((0..3).all(|j| j == joint || moved[j].abs() < 0.1), "joint {joint}: {moved:?}");
        // What it cost is what the cost says.
        let said = cost.evaluate(&found.curve.end(), &mut [0.0; 3]);
        assert!((said - found.cost).abs() < 1e-9, "{said} {}", found.cost);
        let problem = Problem::with_prepared(robot, &set, &scene, &found.tube, &found.curve).unwrap();
        certify(&problem, &Start::Rest, Partition::default()).unwrap();
    }
    // Nonsense may be answered with any motion, but with none that is not proven.
    if let Some(found) = propose(&Nothing) {
        let problem = Problem::with_prepared(robot, &set, &scene, &found.tube, &found.curve).unwrap();
        certify(&problem, &Start::Rest, Partition::default()).unwrap();
    }
}

/// An arm of one's own, here around the simulated one: it counts what it is asked for, and from some time on its first encoder
/// reads too much.
struct Watched {
    inside: World,
    wrong_from_s: f64,
    reads: u64,
    commands: u64,
    plans: Vec<f64>,
}

impl Hardware for Watched {
    fn time(&self) -> f64 {
        self.inside.time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.reads += 1;
        Hardware::read(&mut self.inside, reading);
        if self.time() >= self.wrong_from_s {
            reading.q[0] += 0.05;
        }
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.commands += 1;
        assert_eq!(self.reads, self.commands, "one reading for each command");
        self.inside.command(tau, measured)
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.inside.hold(measured)
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.plans.push(plan.t_start_s);
        self.inside.plan_starts(plan);
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.inside.set_claimed(set);
    }
}

/// A run whose encoder is wrong from this time on.
fn watched(wrong_from_s: f64) -> (horizon::Record, Watched) {
    let (task, truth) = scenario("first_move");
    let inside = World::new(Arc::new(task.robot.clone()), task.scene.clone(), &task.start, truth, 1);
    let mut arm = Watched { inside, wrong_from_s, reads: 0, commands: 0, plans: Vec::new() };
    let options = RunOptions { method: "ours".to_owned(), seed: 1, timed: false };
    let record = horizon::run(&task, &mut arm, &options, &mut ()).unwrap();
    assert_eq!((arm.reads, arm.commands), (record.log.len() as u64, record.log.len() as u64));
    assert_eq!(arm.plans.len(), record.plans.len());
    (record, arm)
}

#[test]
fn an_own_arm_runs_the_whole_loop_and_its_faults_are_found() {
    let (record, arm) = watched(f64::INFINITY);
    assert_eq!(record.outcome, Outcome::Success, "{:?}", record.reason);
    assert!(arm.time() > 1.0 && record.broken.is_empty());
    let audit = arm.inside.reveal();
    assert_eq!((audit.counts.collision, audit.counts.tube), (0, 0));
    assert!(audit.truth_inside && audit.tube_used < 1.0);

    let (record, arm) = watched(1.0);
    assert_eq!(record.outcome, Outcome::AssumptionBroken, "{:?}", record.reason);
    let first = &record.broken[0];
    assert!((0.999..1.01).contains(&first.t), "{first:?}");
    assert_eq!(first.evidence, Evidence::Motion, "{first:?}");
    assert!(first.joint.as_deref().is_some_and(|joint| joint == arm_joint()), "{first:?}");
    let counts = arm.inside.reveal().counts;
    assert_eq!((counts.collision, counts.torque, counts.position, counts.velocity), (0, 0, 0, 0));
}

/// The joint whose encoder reads too much.
fn arm_joint() -> String {
    scenario("first_move").0.robot.joints[0].name.clone()
}
