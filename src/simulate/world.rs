//! The world of a run: plant, sensors, and an auditor who sees the truth and tells nobody until the run is over.
//!
//! # Who may see what
//! [`World`] holds the true parameters and the true state in private fields. While a run goes on it gives out
//! [`Reading`]s and measured torques, nothing else; the auditor's counts stay inside. [`World::reveal`] hands the
//! [`Audit`] over *and consumes the world*, so nothing can be steered by it.

use std::collections::VecDeque;
use std::f64::consts::TAU;
use std::sync::Arc;

use nalgebra::Vector3;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::control::MotorCommand;
use crate::horizon::{Hardware, Reading, Sighting};
use crate::inertia::pseudo::check_physical;
use crate::inertia::{COULOMB, INERTIAL, ParameterSet, VISCOUS};
use crate::plan::Plan;
use crate::robot::{Arm, Scene};
use crate::trajectory::JointState;

use super::audit::{Approach, Audit, TrackingReference, TrueState};
use super::contact::Contacts;
use super::drives::{Drives, WITHIN};
use super::faults::{ElasticJoints, FastObstacle, Faults, PayloadSlips, slipped};
use super::following::{Following, MomentumErrors, Supposed};
use super::lag::DriveLag;
use super::lateness::Lateness;
use super::motors::Motors;
use super::object::Objects;
use super::passage::ObstaclePath;
use super::plant::Plant;
use super::stopping::StopAudit;
use super::truth::HiddenTruth;

mod grip;
mod passing;

use passing::Passed;

/// Draws of a body's parameters before the search for a physically consistent one is given up. The number is only there to
/// end where hardly any body in the box can exist.
const DRAWS: usize = 10_000;
/// Ticks between two points of the clearance curve, and between two states for a replay: a hundred a second, more than a plot has pixels.
const CLEARANCE_EVERY: u64 = 10;

/// A simulated robot with its sensors.
#[derive(Debug)]
pub struct World {
    robot: Arc<Arm>,
    /// What must not be touched, where it truly is now; and where that is at time 0.
    scene: Scene,
    at_first: Vec<Vector3<f64>>,
    paths: Vec<ObstaclePath>,
    contacts: Contacts,
    objects: Objects,
    plant: Plant,
    drives: Drives,
    /// What the drives apply during a tick, and with it what acts besides, N m.
    applied: Vec<f64>,
    acting: Vec<f64>,
    /// What drives that lag are still behind their commands by, N m, and how fast it fades, 1/s.
    fading: Vec<(f64, f64)>,
    /// How drives lag within their bound; none if they do not.
    lag: Option<DriveLag>,
    noise: ChaCha8Rng,
    faults: Faults,
    /// Share of F_c that static friction carries while the arm stands, within the breakaway ratio.
    stuck: Vec<f64>,
    /// What a frozen encoder repeats.
    frozen_at: Option<f64>,
    /// Readings that are still on their way, oldest first.
    late: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// How late the arm is within its bounds; none if it is on time.
    lateness: Option<Lateness>,
    /// Loops in its motors; none if there are none.
    motors: Option<Motors>,
    ticks: u64,
    audit: Audit,
    desired: JointState,
    following: Option<Following>,
    errors: MomentumErrors,
}

impl World {
    /// A world of an arm at rest at `start`. Every parameter of every link and joint is drawn
    /// from the robot's uncertainty box by `seed`, and so are the lean of its base and its joints' breakaway friction; the last
    /// body is `truth` where that holds something.
    pub fn new(robot: Arc<Arm>, scene: Scene, start: &[f64], truth: HiddenTruth, seed: u64) -> Self {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        draw.set_stream(1);
        let nominal = robot.nominal_parameters();
        let mut theta = true_parameters(&robot, truth.payload.as_ref(), &mut draw);
        if let Some(ratio) = truth.faults.friction_ratio {
            for (j, part) in (0..robot.dof()).flat_map(|j| [(j, COULOMB), (j, VISCOUS)]) {
                let at = robot.friction_index(j) + part;
                theta[at] = (1.0 + ratio) * nominal[at];
            }
        }
        let mut noise = ChaCha8Rng::seed_from_u64(seed);
        noise.set_stream(2);
        let mut rest = ChaCha8Rng::seed_from_u64(seed);
        rest.set_stream(3);
        let most = robot.uncertainty().breakaway_ratio;
        let stuck = (0..robot.dof()).map(|_| most * rest.random_range(-1.0..=1.0)).collect();
        let mut mounting = ChaCha8Rng::seed_from_u64(seed);
        mounting.set_stream(4);
        let (toward, share) = (mounting.random_range(0.0..TAU), mounting.random::<f64>());
        let within = WITHIN * share.sqrt() * robot.uncertainty().gravity_direction_deg;
        let leaning = robot.tilted(truth.faults.base_tilt_deg.unwrap_or(within).to_radians(), toward);
        let breakaway = (0..robot.dof()).map(|_| mounting.random_range(1.0..=most)).collect();
        let audit = Audit::new(truth.payload, start);
        let mut stands = start.to_vec();
        if let Some(off) = truth.faults.misplaced_start {
            stands[off.joint] += off.by_rad;
        }
        let plant = Plant::at_rest(Arc::new(leaning), theta, &stands).with_breakaway(breakaway);
        let stated = || ElasticJoints::of(&robot, seed);
        let plant = match truth.faults.elastic_joints.clone().or_else(stated) {
            Some(elastic) => plant.with_elastic_joints(&elastic),
            None => plant,
        };
        Self {
            desired: JointState::at_rest(start),
            following: None,
            errors: MomentumErrors::new(&robot),
            faults: truth.faults,
            stuck,
            frozen_at: None,
            late: VecDeque::new(),
            lateness: Lateness::new(&robot, seed),
            motors: Motors::new(&robot, seed),
            at_first: scene.obstacles.iter().map(|obstacle| obstacle.center).collect(),
            paths: truth.paths,
            contacts: Contacts::new(&robot),
            objects: Objects::default(),
            drives: Drives::new(&robot, seed),
            applied: vec![0.0; start.len()],
            acting: vec![0.0; start.len()],
            fading: Vec::with_capacity(start.len()),
            lag: DriveLag::new(&robot, seed),
            robot,
            scene,
            plant,
            noise,
            ticks: 0,
            audit,
        }
    }

    /// Time, s.
    pub fn time(&self) -> f64 {
        let shift_s = self.lateness.as_ref().map_or(0.0, Lateness::shift_s);
        self.ticks as f64 * self.robot.gains().period_s + shift_s
    }

    /// Reads the encoders; errors are uniform within the sensor bounds.
    pub fn read(&mut self, reading: &mut Reading) {
        let now = self.time();
        reading.t =
            now + self.faults.clock_jump.filter(|jump| now >= jump.at_s).map_or(0.0, |jump| jump.by_s);
        let sensors = self.robot.encoders();
        let late = self.lateness.as_mut().map(|late| late.read(now, self.plant.at_encoders()));
        let (q, dq) = late.as_ref().map_or_else(|| self.plant.at_encoders(), |(q, dq)| (q, dq));
        for (x, out) in q.iter().zip(&mut reading.q) {
            *out = x + sensors.position_rad * self.noise.random_range(-1.0..=1.0);
        }
        for (x, out) in dq.iter().zip(&mut reading.dq) {
            *out = x + sensors.velocity_rad_s * self.noise.random_range(-1.0..=1.0);
        }
        if let Some(late) = self.faults.late_readings {
            self.late.push_back((reading.q.clone(), reading.dq.clone()));
            let oldest = if now >= late.at_s { self.late.front() } else { None };
            if let Some((q, dq)) = oldest {
                reading.q.copy_from_slice(q);
                reading.dq.copy_from_slice(dq);
            }
            self.late.drain(..self.late.len().saturating_sub(late.periods));
        }
        if let Some(frozen) = self.faults.frozen_encoder.filter(|frozen| now >= frozen.at_s) {
            let j = frozen.joint;
            (reading.q[j], reading.dq[j]) = (*self.frozen_at.get_or_insert(reading.q[j]), 0.0);
        }
        if let Some(lost) = self.faults.lost_encoder.filter(|lost| now >= lost.at_s) {
            (reading.q[lost.joint], reading.dq[lost.joint]) = (f64::NAN, f64::NAN);
        }
    }

    /// Asks the drives for `tau` (N m) for one control period and writes what the torque sensors say of what they apply to `measured`. Whether
    /// the tick's measurements reach the log; if not, nobody but the controller has seen them.
    pub fn advance(
        &mut self,
        tau: &[f64],
        reference: Option<TrackingReference<'_>>,
        measured: &mut [f64],
    ) -> bool {
        self.pass_tick((tau, None), reference.map(Supposed::from), measured)
    }

    fn pass_tick(
        &mut self,
        (tau, loops): (&[f64], Option<&MotorCommand<'_>>),
        reference: Option<Supposed<'_>>,
        measured: &mut [f64],
    ) -> bool {
        self.begin_tick();
        let mut passed = Passed::new(self.time(), reference.as_ref());
        match (self.lateness.take(), self.motors.take(), loops) {
            (None, Some(mut motors), Some(loops)) => {
                self.pass_in_motors(&mut motors, (tau, loops), reference.as_ref(), &mut passed);
                self.motors = Some(motors);
            }
            (None, motors, _) => {
                self.motors = motors;
                self.motors.iter_mut().for_each(Motors::let_go);
                let period = self.robot.gains().period_s;
                self.pass(tau, period, reference.as_ref(), &mut passed);
            }
            (Some(mut late), motors, _) => {
                self.motors = motors;
                self.pass_late(&mut late, tau, reference.as_ref(), &mut passed);
                self.lateness = Some(late);
            }
        }
        self.sense(measured);
        let Passed { closest, approach, .. } = passed;
        if self.ticks.is_multiple_of(CLEARANCE_EVERY) && closest.is_finite() {
            self.audit.clearance.push((passed.begun, closest));
        }
        let at_rest = reference.is_some_and(|plan| plan.rests());
        self.note_approach(approach, at_rest);
        self.end_tick()
    }

    /// One control period under a command, while whatever is followed is.
    fn commanded(&mut self, command: (&[f64], Option<&MotorCommand<'_>>), measured: &mut [f64]) -> bool {
        let following = self.following.take();
        let reference = following.as_ref().map(|plan| plan.supposed(self.ticks, self.time()));
        let kept = self.pass_tick(command, reference, measured);
        self.following = following;
        kept
    }

    fn note_approach(&mut self, distance_m: f64, at_rest: bool) {
        if self.ticks.is_multiple_of(CLEARANCE_EVERY) && distance_m.is_finite() {
            self.audit.approaches.push(Approach { t: self.time(), distance_m, at_rest });
        }
    }

    /// The arm stands still for one control period, held by its own drives: writes what the torque sensors say of that to `measured`.
    /// How much of the load static friction carries is drawn by the seed. Whether the measurements reach the log, as in [`World::advance`].
    pub fn stand(&mut self, measured: &mut [f64]) -> bool {
        let mut tau = vec![0.0; measured.len()];
        self.hold_still(&mut tau);
        self.following = None;
        self.begin_tick();
        self.note_torques(&tau);
        self.applied.copy_from_slice(&tau);
        self.lag.iter_mut().for_each(|lag| lag.hold(&tau));
        self.sense(measured);
        self.lateness.iter_mut().for_each(Lateness::let_go);
        self.motors.iter_mut().for_each(Motors::let_go);
        if self.scene.moves() {
            let fault = self.faults.fast_obstacle.as_ref();
            let now = self.time();
            place(&mut self.scene, &self.at_first, &self.paths, (now, fault));
            let nearest =
                self.contacts.to_moving(&self.robot.frames(self.plant.link_positions()), &self.scene);
            self.audit.touched_at_rest += u64::from(nearest <= 0.0);
            self.note_approach(nearest, true);
        }
        self.end_tick()
    }

    /// The arm's own drives hold it: writes what they apply, N m.
    fn hold_still(&mut self, tau: &mut [f64]) {
        // Whatever was left of motion when the drives took over, they take out.
        self.plant.halt();
        self.plant.holding(&self.stuck, tau);
        for (j, tau) in tau.iter_mut().enumerate() {
            *tau -= self.drives.unmodelled(j, self.plant.q[j]);
        }
    }

    /// What a drive with a fault makes of `command`, N m, for joint `j` in the tick at `now` (s).
    fn delivered(&self, j: usize, command: f64, now: f64) -> f64 {
        let limit = self.robot.joints[j].limits.torque;
        self.faults.clamped_drive.as_ref().map_or(command, |weak| weak.acts(j, command, limit, now))
    }

    /// What happens to the hand at this tick.
    fn begin_tick(&mut self) {
        let now = self.time();
        self.note_state();
        if let Some(slip) = self.faults.payload_slips.take_if(|slip| now >= slip.at_s) {
            self.slip(slip);
        }
        if self.faults.payload_dropped.take_if(|drop| now >= drop.at_s).is_some() {
            self.drop_payload();
        }
    }

    /// The auditor sees what the drives apply, N m.
    fn note_torques(&mut self, applied: &[f64]) {
        for (j, x) in applied.iter().enumerate() {
            let ratio = x.abs() / self.robot.joints[j].limits.torque;
            self.audit.torque_ratio = self.audit.torque_ratio.max(ratio);
            self.audit.counts.torque += u64::from(ratio > 1.0);
        }
    }

    /// What the torque sensors say of what the drives applied in this tick.
    fn sense(&mut self, measured: &mut [f64]) {
        let sensors = self.robot.sensors();
        for (j, (out, &x)) in measured.iter_mut().zip(&self.applied).enumerate() {
            let bound = sensors.torque(j).error_nm(x);
            let gain = self.faults.torque_gain.map_or(1.0, |gain| gain.factor(j));
            *out = gain * x + bound * self.noise.random_range(-1.0..=1.0);
        }
    }

    /// Notes where everything truly is as this tick begins.
    fn note_state(&mut self) {
        if !self.ticks.is_multiple_of(CLEARANCE_EVERY) {
            return;
        }
        let center = |path: &ObstaclePath| (path.obstacle(), self.scene.obstacles[path.obstacle()].center);
        let obstacles = self.paths.iter().map(center).collect();
        let (t, q) = (self.time(), self.plant.link_positions().to_vec());
        self.audit.states.push(TrueState { t, q, obstacles });
    }

    /// The next tick follows. Whether what was measured at this one reaches the log.
    fn end_tick(&mut self) -> bool {
        let period = self.robot.gains().period_s;
        let lost = self.faults.dropped_samples.is_some_and(|drop| drop.loses(self.ticks, period));
        self.ticks += 1;
        !lost
    }

    /// The hand is empty.
    fn drop_payload(&mut self) {
        let at = self.robot.body_range(self.robot.end_effector());
        let mut theta = self.plant.theta().to_vec();
        theta[at].copy_from_slice(&self.robot.joints[self.robot.end_effector()].inertia);
        self.plant.change(theta);
    }

    /// The held object is somewhere else in the hand.
    fn slip(&mut self, slip: PayloadSlips) {
        let at = self.robot.body_range(self.robot.end_effector());
        let empty = &self.robot.joints[self.robot.end_effector()].inertia;
        let mut theta = self.plant.theta().to_vec();
        let body = std::array::from_fn(|k| theta[at.start + k]);
        theta[at].copy_from_slice(&slipped(&body, empty, slip.by_m));
        self.plant.change(theta);
    }

    /// Shows the auditor a parameter set; whether the truth lies in it, and within all its strips, is told at the end.
    pub fn witness(&mut self, set: &ParameterSet) {
        self.audit.truth_inside &= set.contains(self.plant.theta());
    }

    /// Ends the world and tells what the auditor saw.
    pub fn reveal(mut self) -> Audit {
        self.audit.integration_error_rad = self.plant.integration_error();
        self.audit.q = self.plant.link_positions().to_vec();
        self.audit.springs = self.plant.spring_audit();
        self.audit
    }
}

impl Hardware for World {
    fn time(&self) -> f64 {
        World::time(self)
    }

    fn read(&mut self, reading: &mut Reading) {
        World::read(self, reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.commanded((tau, None), measured)
    }

    fn has_motor_loops(&self) -> bool {
        self.motors.is_some()
    }

    fn command_loops(&mut self, tau: &[f64], loops: &MotorCommand<'_>, measured: &mut [f64]) -> bool {
        self.commanded((tau, Some(loops)), measured)
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.stand(measured)
    }

    /// The tracker of this world errs in nothing.
    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        let now = self.time();
        place(&mut self.scene, &self.at_first, &self.paths, (now, self.faults.fast_obstacle.as_ref()));
        let Some(there) = self.scene.obstacles.get(obstacle) else { return false };
        seen.t = now;
        seen.center = there.center;
        seen.generators.clone_from(&there.generators);
        true
    }

    fn plan_starts(&mut self, plan: &Plan) {
        let now = (self.ticks, self.time());
        self.following = Some(Following::new(&self.robot, plan, now, self.following.as_ref()));
    }

    fn stop_begins(&mut self) {
        self.following = None;
        self.audit.stop = Some(StopAudit::new(self.time(), self.plant.link_velocities()));
    }

    fn gripper(&mut self, closes: bool) {
        self.grip(closes);
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.witness(set);
    }
}

/// Puts the obstacles of a scene where they are at a time, s, given where they are at first.
fn place(
    scene: &mut Scene,
    at_first: &[Vector3<f64>],
    paths: &[ObstaclePath],
    (t, fault): (f64, Option<&FastObstacle>),
) {
    for path in paths {
        let k = path.obstacle();
        scene.obstacles[k].center = at_first[k] + path.offset(t, fault);
    }
}

/// Draws the true parameters: uniform in the robot's box, each body physically consistent (by rejection).
fn true_parameters(robot: &Arm, payload: Option<&[f64; INERTIAL]>, draw: &mut ChaCha8Rng) -> Vec<f64> {
    let set = ParameterSet::around_nominal(robot);
    let mut theta: Vec<f64> = set
        .lower()
        .iter()
        .zip(set.upper())
        .map(|(&lower, &upper)| draw.random_range(lower..=upper))
        .collect();
    for i in 0..robot.dof() {
        let (own, at) = (set.body(i), robot.body_range(i));
        if let Some(payload) = payload.filter(|_| i == robot.end_effector()) {
            theta[at].copy_from_slice(payload);
            continue;
        }
        let mut body = robot.joints[i].inertia;
        for _ in 0..DRAWS {
            let trial: [f64; INERTIAL] =
                std::array::from_fn(|p| draw.random_range(own.range(p).lower..=own.range(p).upper));
            if check_physical(&trial).is_ok() {
                body = trial;
                break;
            }
        }
        theta[at].copy_from_slice(&body);
    }
    theta
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inertia::{Strip, TorqueStrips};
    use crate::robot;

    const HELD: [f64; INERTIAL] = [1.0, 0.0, 0.0, -0.1, 0.02, 0.0, 0.02, 0.0, 0.0, 0.01];

    #[test]
    fn the_truth_is_drawn_from_the_box_and_by_the_seed() {
        let robot = robot::load("robots/kinova_gen3_2f85.toml").unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let drawn = |seed| true_parameters(&robot, Some(&HELD), &mut ChaCha8Rng::seed_from_u64(seed));
        let theta = drawn(3);
        assert_eq!(theta, drawn(3));
        assert_ne!(theta, drawn(4));
        let hand = robot.body_range(robot.end_effector());
        for (p, x) in theta.iter().enumerate() {
            assert!(hand.contains(&p) || (set.lower()[p] <= *x && *x <= set.upper()[p]), "parameter {p}");
        }
        for i in 0..robot.end_effector() {
            let body: [f64; INERTIAL] = theta[INERTIAL * i..INERTIAL * (i + 1)].try_into().unwrap();
            assert_eq!(check_physical(&body), Ok(()));
            assert_ne!(body, robot.joints[i].inertia, "body {i} was not drawn");
        }
        // An empty hand is drawn like the rest.
        let empty = true_parameters(&robot, None, &mut ChaCha8Rng::seed_from_u64(3));
        assert!(set.contains(&empty) && empty[hand.clone()] != robot.joints[robot.end_effector()].inertia);
    }

    #[test]
    fn a_standing_arm_is_held_by_gravity_and_what_friction_carries() {
        let robot = Arc::new(robot::load("robots/kinova_gen3_2f85.toml").unwrap());
        let start = [0.3, -0.4, 3.1, -1.8, 0.2, 0.1, 1.5];
        let mut shares = [1.0f64, -1.0];
        for seed in 0..20 {
            let truth = HiddenTruth::new(HELD).unwrap();
            let mut world = World::new(robot.clone(), Scene::default(), &start, truth, seed);
            let theta = world.plant.theta().to_vec();
            let mut gravity = [0.0; 7];
            world.plant.holding(&[0.0; 7], &mut gravity);
            let (mut reading, mut measured) =
                (Reading { t: 0.0, q: vec![0.0; 7], dq: vec![0.0; 7] }, [0.0; 7]);
            for tick in 0..5 {
                world.read(&mut reading);
                assert!((reading.t - f64::from(tick) * robot.gains().period_s).abs() < 1e-12);
                assert!(world.stand(&mut measured));
                for j in 0..7 {
                    let (q, dq) = (reading.q[j] - start[j], reading.dq[j]);
                    assert!(
                        q.abs() <= robot.sensors().position_rad && dq.abs() <= robot.sensors().velocity_rad_s
                    );
                    let coulomb = theta[robot.joint_index(j).coulomb];
                    let held = gravity[j] + world.stuck[j] * coulomb;
                    let off = robot.sensors().torque(j).error_nm(held);
                    assert!((measured[j] - held).abs() <= off * (1.0 + 1e-12) + 1e-12);
                    shares = [shares[0].min(world.stuck[j]), shares[1].max(world.stuck[j])];
                }
            }
            assert_eq!(world.plant.q, start);
            assert!(world.plant.dq.iter().all(|dq| *dq == 0.0));
        }
        // Friction is not always kind.
        assert!(shares[0] < -0.9 && shares[1] > 0.9, "{shares:?}");
    }

    #[test]
    fn bases_lean_within_their_bound_or_as_far_as_a_fault_says() {
        let robot = Arc::new(robot::load("robots/kinova_gen3_2f85.toml").unwrap());
        let angle = |faults: Faults, seed: u64| {
            let truth = HiddenTruth::new(HELD).unwrap().with_faults(faults);
            let world = World::new(robot.clone(), Scene::default(), &[0.0; 7], truth, seed);
            let down = world.plant.robot().gravity;
            down.cross(&robot.gravity).norm().atan2(down.dot(&robot.gravity)).to_degrees()
        };
        let bound = robot.uncertainty().gravity_direction_deg;
        let most = (0..40).map(|seed| angle(Faults::default(), seed)).fold(0.0, f64::max);
        assert!(most <= bound && most > 0.9 * bound, "{most}");
        let fault = Faults { base_tilt_deg: Some(2.0), ..Faults::default() };
        assert!((angle(fault, 1) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn strips_that_miss_the_truth_are_witnessed() {
        let robot = Arc::new(robot::load("robots/kinova_gen3_2f85.toml").unwrap());
        for (off, inside) in [(0.0, true), (0.1, false)] {
            let truth = HiddenTruth::new(HELD).unwrap();
            let mut world = World::new(robot.clone(), Scene::default(), &[0.0; 7], truth, 3);
            let theta = world.plant.theta().to_vec();
            let along = |d: &[f64]| d.iter().zip(&theta).map(|(d, x)| d * x).sum::<f64>();
            let strip = |k: usize| {
                let direction: Vec<f64> = (0..theta.len()).map(|j| ((j + 3 * k) as f64).sin()).collect();
                // One of them lies beside the truth.
                let lower = along(&direction) + if k == 4 { off } else { 0.0 };
                Strip { direction, lower, upper: lower + 1.0 }
            };
            let strips = TorqueStrips { times: vec![0.0], strips: (0..7).map(strip).collect() };
            let (lower, upper) = (theta.iter().map(|x| x - 1.0), theta.iter().map(|x| x + 1.0));
            let set = ParameterSet::new(lower.collect(), upper.collect()).unwrap();
            world.witness(&set.with_strips(Some(strips)));
            assert_eq!(world.reveal().truth_inside, inside);
        }
    }
}
