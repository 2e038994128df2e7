//! The promise: under the momentum law no arm within its bounds leaves the tube, whatever its readings' age, its drives' errors and its payload are
//! within what is assumed. Written on the public API, with dynamics that the proof does not use (articulated bodies instead of regressors).

use std::collections::VecDeque;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use surelift::certify::{MomentumProblem, MomentumStart, Partition};
use surelift::control::{Measured, MomentumController, MomentumPlan};
use surelift::dynamics::{Composites, Motion, Workspace, crba};
use surelift::identify::tighten_by_physics;
use surelift::inertia::{INERTIAL, ParameterSet, pseudo::check_physical};
use surelift::plan::momentum_fit::{MomentumRefusal, fit};
use surelift::reach::PreparedSet;
use surelift::reach::momentum::{CycleTiming, MomentumGains, MomentumPredecessor, MomentumTube, WideStart};
use surelift::robot::{Arm, DriveBounds, Scene, Sensors};
use surelift::scenario::Scenario;
use surelift::trajectory::{Bezier, JointState, PiecewiseBezier};

/// Integration step, s: a twentieth of the shortest age.
const STEP_S: f64 = 1e-4;
const DURATION_S: f64 = 1.0;
/// Of a plan that takes over from another.
const NEXT_S: f64 = 2.0;
const CELLS: usize = 24;
const PARTITION: Partition = Partition { cells: CELLS, depth: 4 };

/// A plan, and from when on it is followed, s.
struct Leg {
    plan: Arc<MomentumPlan>,
    from_s: f64,
    /// Bounds of the joints' accelerations, rad/s^2.
    accelerations: Vec<f64>,
}

/// An arm with the errors of a real one, and plans one after another, each for what is known by then.
struct Bench {
    robot: Arc<Arm>,
    gains: MomentumGains,
    timing: CycleTiming,
    legs: Vec<Leg>,
    ends: Vec<Vec<f64>>,
}

const TIMING: CycleTiming =
    CycleTiming { period_s: 1e-3, latency_s: 5e-4, delay_s: 5e-4, jitter_s: 1e-4, drive_lag_s: 0.0 };
const GAINS: MomentumGains = MomentumGains { k_r: 6.0, kappa: 100.0 };

/// The Gen3 of a scenario with velocities as bad as those of real arms, and places to go to.
fn arm(reach: f64) -> (Bench, ParameterSet, Vec<f64>) {
    let task = Scenario::load("scenarios/dumbbell_c_8lb.toml").unwrap().split().0;
    let robot = &task.robot;
    let set = tighten_by_physics(&task.prior_set().unwrap(), robot.end_effector()).unwrap();
    let sensors = Sensors { velocity_rad_s: 5e-3, position_rad: 2e-5, ..robot.sensors().clone() };
    let drive = DriveBounds { error_nm: 0.1, error_ratio: 0.005, unmodelled_nm: 0.5, ..DriveBounds::IDEAL };
    let robot = robot.with_sensors(sensors).unwrap().with_drives(vec![drive; robot.dof()]).unwrap();
    let range = task.held.unwrap().excite.range_rad;
    let end = |share: f64| -> Vec<f64> {
        let end = task.start.iter().zip(&range).enumerate();
        end.map(|(j, (q, r))| q + share * r * if j % 2 == 0 { 1.0 } else { -1.0 }).collect()
    };
    let ends = vec![end(reach), end(-0.2 * reach), end(0.3 * reach)];
    let bench = Bench { robot: Arc::new(robot), gains: GAINS, timing: TIMING, legs: vec![], ends };
    (bench, set, task.start.clone())
}

/// The part of a set about `center` that a share of its width leaves.
fn about(set: &ParameterSet, center: &[f64], share: f64) -> ParameterSet {
    let ends = |sign: f64| -> Vec<f64> {
        let wide = center.iter().zip(set.radius()).map(|(c, g)| c + sign * share * g);
        wide.zip(set.lower().iter().zip(set.upper())).map(|(x, (low, high))| x.clamp(*low, *high)).collect()
    };
    ParameterSet::new(ends(-1.0), ends(1.0)).unwrap()
}

/// One plan from rest, for a payload of which a share of the prior is left open.
fn bench(open: f64, reach: f64) -> Bench {
    let (mut bench, set, start) = arm(reach);
    let set = about(&set, &set.center(), open);
    bench.follow(&set, &start, DURATION_S);
    bench
}

impl Bench {
    /// Proves a motion to the next place from where the last leg is at `from_s`, or from rest at `start`, and follows it.
    fn follow(&mut self, set: &ParameterSet, start: &[f64], from_s: f64) -> &MomentumPlan {
        let set = Arc::new(PreparedSet::new(&self.robot, set));
        let end = &self.ends[self.legs.len() % self.ends.len()];
        let scene = Scene::default();
        let (curve, from) = match self.legs.last() {
            None => (Bezier::to_rest(&JointState::at_rest(start), end, DURATION_S), MomentumStart::Rest),
            Some(Leg { plan, from_s: begun_s, .. }) => {
                let at_s = from_s - begun_s;
                let MomentumPlan { set, tube, curve } = &**plan;
                let before = MomentumPredecessor { set, tube, curve: curve.view(), at_s };
                (Bezier::to_rest(&curve.state(at_s), end, NEXT_S), MomentumStart::After(before))
            }
        };
        let from_s = if self.legs.is_empty() { 0.0 } else { from_s };
        let curve = PiecewiseBezier::from(curve.unwrap());
        let problem = MomentumProblem::new(&self.robot, &set, &scene, &curve, from).unwrap();
        let (tube, _) = fit(&problem, self.gains, self.timing, CELLS).unwrap();
        let most = |t: f64| (0..7).map(|j| tube.robust_at(j, t)).collect::<Vec<_>>();
        println!("u from {:.1?} to {:.1?}", most(0.0), most(f64::INFINITY));
        problem.certify(&tube, PARTITION).unwrap();
        let accelerations = problem.accelerations(&tube, CELLS).unwrap().unwrap();
        self.legs.push(Leg { plan: Arc::new(MomentumPlan { set, tube, curve }), from_s, accelerations });
        &self.legs.last().unwrap().plan
    }

    /// The leg that is followed at `t`.
    fn leg(&self, t: f64) -> usize {
        self.legs.iter().rposition(|leg| t >= leg.from_s - 1e-9).unwrap()
    }

    fn end_s(&self) -> f64 {
        self.legs.last().map_or(0.0, |leg| leg.from_s + leg.plan.curve.duration_s())
    }
}

/// How bad luck is distributed: which joint is pushed out, and how many times the assumed bounds are used.
#[derive(Clone, Copy)]
struct Luck {
    joint: usize,
    unmodelled: f64,
    ends: bool,
}

/// Parameters of the set whose every body can be one: most at corners where `ends`.
fn truth(set: &ParameterSet, ends: bool, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let (c, g) = (set.center(), set.radius());
    let draw = |p: usize, rng: &mut ChaCha8Rng| {
        let x: f64 = rng.random_range(-1.0..=1.0);
        c[p] + g[p] * if ends { x.signum() } else { x }
    };
    let mut theta: Vec<f64> = (0..c.len()).map(|p| draw(p, rng)).collect();
    let bodies = c.len() / (INERTIAL + 4);
    for body in 0..bodies {
        let at = INERTIAL * body..INERTIAL * (body + 1);
        let physical = |theta: &[f64]| check_physical(theta[at.clone()].try_into().unwrap()).is_ok();
        for k in 0..2000 {
            if physical(&theta) {
                break;
            }
            // Towards the middle, little by little.
            let share = 1.0 - f64::from(k) / 2000.0;
            at.clone().for_each(|p| theta[p] = c[p] + share * (draw(p, rng) - c[p]));
        }
        if !physical(&theta) {
            at.for_each(|p| theta[p] = c[p]);
        }
    }
    theta
}

/// The world: states of the past, for readings that are late, and commands that are on their way.
struct Adversary<'a> {
    bench: &'a Bench,
    luck: Luck,
    theta: Vec<f64>,
    work: Workspace,
    q: Vec<f64>,
    dq: Vec<f64>,
    past: VecDeque<(Vec<f64>, Vec<f64>)>,
    coming: VecDeque<(usize, Vec<f64>)>,
    applied: Vec<f64>,
    /// The command in effect, which the applied torque follows with a lag of so long, s.
    command: Vec<f64>,
    lag_s: f64,
    motion: Motion<f64>,
    composites: Composites<f64>,
    /// Largest share of its bound that an acceleration had.
    accelerated: f64,
}

impl<'a> Adversary<'a> {
    /// An arm that has stood where the first plan starts.
    fn new(bench: &'a Bench, luck: Luck, theta: Vec<f64>) -> Self {
        let (robot, n) = (&bench.robot, bench.robot.dof());
        let start = bench.legs[0].plan.curve.state(0.0).q;
        Self {
            bench,
            luck,
            theta,
            work: Workspace::new(robot),
            dq: vec![0.0; n],
            past: VecDeque::from(vec![(start.clone(), vec![0.0; n]); 64]),
            q: start,
            coming: VecDeque::new(),
            applied: vec![0.0; n],
            command: vec![0.0; n],
            lag_s: 0.0,
            motion: Motion::new(robot),
            composites: Composites::new(robot),
            accelerated: 0.0,
        }
    }

    /// p and M_0 e at time `t` of the given leg.
    fn errors(&mut self, leg: usize, t: f64) -> (Vec<f64>, Vec<f64>) {
        let robot = &self.bench.robot;
        let MomentumPlan { set, tube, curve } = &*self.bench.legs[leg].plan;
        let n = robot.dof();
        let desired = curve.state(t);
        let mut mass = vec![0.0; n * n];
        self.motion.place(robot, &desired.q);
        crba(robot, &self.motion, set.center(), &mut self.composites, &mut mass);
        (0..n).for_each(|j| mass[n * j + j] += set.center()[robot.joint_index(j).armature]);
        let e: Vec<f64> = (0..n).map(|j| desired.q[j] - self.q[j]).collect();
        let r: Vec<f64> = (0..n).map(|j| desired.dq[j] - self.dq[j] + tube.gains.k_r * e[j]).collect();
        let times = |x: &[f64]| -> Vec<f64> {
            (0..n).map(|j| (0..n).map(|i| mass[n * j + i] * x[i]).sum()).collect()
        };
        (times(&r), times(&e))
    }

    /// Accelerations under the applied torque, pushed by unmodelled ones along `push`.
    fn acceleration(&mut self, q: &[f64], dq: &[f64], push: &[f64], ddq: &mut [f64]) {
        let robot = &self.bench.robot;
        let tau: Vec<f64> = (0..q.len())
            .map(|j| {
                let (own, drive) = (robot.joint_parameters(&self.theta, j), robot.drive(j));
                let sign = (dq[j] / robot.gains().stiction_speed_rad_s).clamp(-1.0, 1.0);
                let friction = own.coulomb * sign + own.viscous * dq[j] + own.offset;
                let error = drive.error_nm + drive.error_ratio * self.applied[j].abs();
                self.applied[j] + push[j] * (error + self.luck.unmodelled * drive.unmodelled_nm) - friction
            })
            .collect();
        self.work.forward_dynamics(robot, q, dq, &tau, &self.theta, ddq);
    }

    /// Notes the largest |ddq_j| over its bound, `t` seconds into a leg: also over that of the leg before, until a command of this one must act. The arm
    /// is held until a command of the first one does.
    fn note_accelerations(&mut self, leg: usize, t: f64, push: &[f64]) {
        if leg == 0 && t <= TIMING.delay_s {
            return;
        }
        let (q, dq, mut ddq) = (self.q.clone(), self.dq.clone(), vec![0.0; self.q.len()]);
        self.acceleration(&q, &dq, push, &mut ddq);
        let legs = &self.bench.legs;
        let before = if leg > 0 && t <= TIMING.delay_s + TIMING.period_s { leg - 1 } else { leg };
        let bound = |j: usize| legs[leg].accelerations[j].max(legs[before].accelerations[j]);
        let share = ddq.iter().enumerate().map(|(j, x)| x.abs() / bound(j)).fold(0.0, f64::max);
        self.accelerated = self.accelerated.max(share);
    }

    /// The applied torque over the coming step: what it is at its end.
    fn follow(&mut self) {
        let kept = if self.lag_s > 0.0 { (-STEP_S / self.lag_s).exp() } else { 0.0 };
        for (applied, command) in self.applied.iter_mut().zip(&self.command) {
            *applied = command + kept * (*applied - command);
        }
    }

    /// The torques that hold the arm where it stands, where friction and what pushes leave as much to the drives as they may, towards one side or the other.
    fn stand(&mut self, side: f64) {
        let (n, robot) = (self.q.len(), &self.bench.robot);
        // The acceleration is linear in the torque: what makes none, by M times what none makes.
        let mut ddq = vec![0.0; n];
        self.work.forward_dynamics(robot, &self.q, &self.dq, &vec![0.0; n], &self.theta, &mut ddq);
        let mut mass = vec![0.0; n * n];
        self.motion.place(robot, &self.q);
        crba(robot, &self.motion, &self.theta, &mut self.composites, &mut mass);
        for j in 0..n {
            let own = robot.joint_parameters(&self.theta, j);
            let links: f64 = (0..n).map(|i| mass[n * j + i] * ddq[i]).sum();
            let held = own.coulomb + self.luck.unmodelled * robot.drive(j).unmodelled_nm;
            self.applied[j] = own.offset - links - own.armature * ddq[j] + side * held;
        }
    }

    fn step(&mut self, push: &[f64]) {
        let n = self.q.len();
        let (q, dq) = (self.q.clone(), self.dq.clone());
        let mut slopes: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        for share in [0.0, 0.5, 0.5, 1.0] {
            let h = share * STEP_S;
            let at = |x: &[f64], slope: Option<&Vec<f64>>| -> Vec<f64> {
                (0..n).map(|j| x[j] + slope.map_or(0.0, |s| h * s[j])).collect()
            };
            let (qa, dqa) = (at(&q, slopes.last().map(|s| &s.0)), at(&dq, slopes.last().map(|s| &s.1)));
            let mut ddq = vec![0.0; n];
            self.acceleration(&qa, &dqa, push, &mut ddq);
            slopes.push((dqa, ddq));
        }
        for j in 0..n {
            for (slope, weight) in slopes.iter().zip([1.0, 2.0, 2.0, 1.0]) {
                self.q[j] += STEP_S / 6.0 * weight * slope.0[j];
                self.dq[j] += STEP_S / 6.0 * weight * slope.1[j];
            }
        }
        self.past.push_back((self.q.clone(), self.dq.clone()));
        self.past.pop_front();
    }
}

/// Readings with noise that makes the pushed joint's momentum error look smaller.
fn misread(sensors: &Sensors, (q, dq): (&[f64], &[f64]), p: &[f64], pushed: usize) -> (Vec<f64>, Vec<f64>) {
    let share = |i: usize| p[pushed].signum() * if i == pushed { 1.0 } else { 0.5 };
    let read =
        |x: &[f64], off: f64| -> Vec<f64> { x.iter().enumerate().map(|(i, x)| x + off * share(i)).collect() };
    (read(q, sensors.position_rad), read(dq, sensors.velocity_rad_s))
}

/// So many steps, or a number up to that.
fn drawn(most: usize, luck: Luck, rng: &mut ChaCha8Rng) -> usize {
    if luck.ends { most } else { rng.random_range(0..=most) }
}

/// The brakes hold until the first command acts; drives that lag begin with what holds the arm.
fn begin(world: &mut Adversary<'_>, tau: &[f64], pushed: usize, timing: CycleTiming) {
    world.command.copy_from_slice(tau);
    world.applied.copy_from_slice(tau);
    if timing.drive_lag_s > 0.0 {
        world.stand(if pushed.is_multiple_of(2) { 1.0 } else { -1.0 });
    }
}

/// Largest |p_j| / P_j, |M_0 e|_j / E_j, and the law's own largest share.
fn play(bench: &Bench, luck: Luck, truth: Vec<f64>, rng: &mut ChaCha8Rng) -> (f64, f64, f64) {
    let robot = &bench.robot;
    let n = robot.dof();
    let first = &bench.legs[0].plan;
    let (sensors, timing) = (robot.sensors(), first.tube.timing);
    let mut controller = MomentumController::new(robot.clone(), first.clone());
    let mut world = Adversary::new(bench, luck, truth);
    let steps_of = |s: f64| (s / STEP_S).round() as usize;
    let (mut worst, mut next_tick, mut tau) = ((0.0f64, 0.0f64, 0.0f64), 0, vec![0.0; n]);
    let mut followed = 0;
    for k in 0..steps_of(bench.end_s() + 0.3) {
        let now = k as f64 * STEP_S;
        let leg = bench.leg(now);
        let t = now - bench.legs[leg].from_s;
        let (p, lag) = world.errors(leg, t);
        let tube = &bench.legs[leg].plan.tube;
        for j in 0..n {
            let radius = tube.robust_at(j, t) / tube.gains.kappa + tube.noise_at(j, t);
            worst.0 = worst.0.max(p[j].abs() / radius);
            worst.1 = worst.1.max(lag[j].abs() / tube.lag_at(j, t));
        }
        let pushed: Vec<f64> = (0..n)
            .map(|i| if i == luck.joint { -p[i].signum() } else { rng.random_range(-1.0..=1.0f64).signum() })
            .collect();
        if k == next_tick {
            if leg > followed {
                controller.switch(
                    bench.legs[leg].from_s - bench.legs[followed].from_s,
                    bench.legs[leg].plan.clone(),
                );
                followed = leg;
            }
            let late = drawn(steps_of(timing.latency_s), luck, rng);
            let (q, dq) = world.past[world.past.len() - 1 - late].clone();
            let (q, dq) = misread(sensors, (&q, &dq), &p, luck.joint);
            let measured = Measured { q: &q, dq: &dq };
            if k == 0 {
                assert_eq!(controller.start_fault(measured), None);
            }
            let tick = controller.tick(t, measured, &mut tau);
            assert!(!tick.saturated);
            worst.2 = worst.2.max(tick.share);
            let delay = drawn(steps_of(timing.delay_s), luck, rng);
            world.coming.push_back((k + delay, tau.clone()));
            next_tick += steps_of(timing.period_s + if luck.ends { timing.jitter_s } else { 0.0 });
            if k == 0 {
                begin(&mut world, &tau, luck.joint, timing);
            }
        }
        while world.coming.front().is_some_and(|(at, _)| *at <= k) {
            let (_, command) = world.coming.pop_front().unwrap();
            world.command.copy_from_slice(&command);
        }
        world.lag_s = timing.drive_lag_s * if luck.ends { 1.0 } else { rng.random_range(0.0..=1.0) };
        world.follow();
        world.note_accelerations(leg, t, &pushed);
        world.step(&pushed);
    }
    println!("accelerations: {:.3} of their bounds", world.accelerated);
    // One that is pushed beyond its bounds has none.
    assert!(luck.unmodelled > 1.0 || (0.1..=1.0).contains(&world.accelerated), "{}", world.accelerated);
    worst
}

#[test]
fn no_arm_within_its_bounds_leaves_the_tube() {
    attack_single_plans(3);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_arm_within_its_bounds_leaves_the_tube_at_length() {
    attack_single_plans(10);
}

/// So many runs for each of two sets.
fn attack_single_plans(runs: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut worst = (0.0f64, 0.0f64, 0.0f64);
    for open in [0.15, 0.4] {
        let bench = bench(open, 0.3);
        for k in 0..runs {
            let luck = Luck { joint: k % bench.robot.dof(), unmodelled: 1.0, ends: k % 3 != 0 };
            let theta = truth(bench.legs[0].plan.set.set(), luck.ends, &mut rng);
            let found = play(&bench, luck, theta, &mut rng);
            println!("open {open}, run {k}: {found:?}");
            assert!(found.0 <= 1.0 && found.1 <= 1.0 && found.2 <= 1.0, "open {open}, run {k}: {found:?}");
            worst = (worst.0.max(found.0), worst.1.max(found.1), worst.2.max(found.2));
        }
    }
    // The attack is not idle: a fifth of the tube is used.
    assert!(worst.0 > 0.2, "{worst:?}");
}

/// Where an assumption is broken the law notices it by its own readings.
#[test]
fn what_is_pushed_beyond_its_bounds_is_noticed() {
    let bench = bench(0.15, 0.3);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let theta = truth(bench.legs[0].plan.set.set(), true, &mut rng);
    let found = play(&bench, Luck { joint: 1, unmodelled: 100.0, ends: true }, theta, &mut rng);
    assert!(found.0 > 1.0 && found.2 > 1.0, "{found:?}");
}

/// Three plans, each begun while the arm moves, with sets that shrink about a truth that is not in their middle, and with these K_r (1/s).
fn chain(drive_lag_s: f64, k_r: [f64; 3], rng: &mut ChaCha8Rng) -> (Bench, Vec<f64>) {
    let (mut bench, prior, start) = arm(0.3);
    bench.timing.drive_lag_s = drive_lag_s;
    // Less gain, so that it is not noise that the torque is for.
    bench.gains.kappa = 60.0;
    let set = about(&prior, &prior.center(), 0.4);
    let theta = truth(&set, true, rng);
    bench.gains.k_r = k_r[0];
    bench.follow(&set, &start, 0.0);
    let mut known = set;
    for (share, from_s, k_r) in [(0.5, 0.55, k_r[1]), (0.3, 1.35, k_r[2])] {
        bench.gains.k_r = k_r;
        // Off its middle by half of what is left of the width.
        let width = known.radius();
        let off = width.iter().map(|g| 0.3 * share * g * rng.random_range(-1.0..=1.0f64).signum());
        let center: Vec<f64> = theta.iter().zip(off).map(|(x, off)| x + off).collect();
        known = about(&known, &center, share);
        bench.follow(&known, &start, from_s);
    }
    (bench, theta)
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_arm_leaves_the_tube_of_a_chain_of_plans_at_length() {
    attack_chains(&[[GAINS.k_r; 3]; 2], 3);
}

/// The next plan may answer position errors harder or softer.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_arm_leaves_the_tube_where_k_r_changes_from_plan_to_plan_at_length() {
    attack_chains(&[[6.0, 4.0, 2.5], [4.0, 7.0, 5.0]], 5);
}

fn attack_chains(chains: &[[f64; 3]], seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut worst = (0.0f64, 0.0f64, 0.0f64);
    for (trial, k_r) in chains.iter().enumerate() {
        let (bench, theta) = chain(0.0, *k_r, &mut rng);
        for (k, leg) in bench.legs.iter().enumerate() {
            let tube = &leg.plan.tube;
            let most = |t: f64| (0..7).map(|j| tube.robust_at(j, t)).fold(0.0, f64::max);
            println!("plan {k}: robust torque {:.1} N m, then {:.1}", most(0.0), most(f64::INFINITY));
        }
        for k in 0..5 {
            let luck = Luck { joint: (3 * trial + k) % 7, unmodelled: 1.0, ends: k % 3 != 0 };
            let found = play(&bench, luck, theta.clone(), &mut rng);
            println!("chain {trial}, run {k}: {found:?}");
            assert!(found.0 <= 1.0 && found.1 <= 1.0 && found.2 <= 1.0, "chain {trial}, run {k}: {found:?}");
            worst = (worst.0.max(found.0), worst.1.max(found.1), worst.2.max(found.2));
        }
    }
    assert!(worst.0 > 0.2, "{worst:?}");
}

/// The same where drives lag by a millisecond: from the torques that hold the arm to those of the first plan, and from plan to plan.
#[test]
fn no_arm_whose_drives_lag_leaves_the_tube_of_a_chain_of_plans() {
    attack_drives_that_lag(2);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn no_arm_whose_drives_lag_leaves_the_tube_of_a_chain_of_plans_at_length() {
    attack_drives_that_lag(7);
}

/// Pushes as many joints out, one after the other.
fn attack_drives_that_lag(joints: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (bench, theta) = chain(1e-3, [GAINS.k_r, 5.0, GAINS.k_r], &mut rng);
    less_room_for_what_drives_remember_is_refused(&bench);
    let mut worst = (0.0f64, 0.0f64, 0.0f64);
    for k in 0..joints {
        let luck = Luck { joint: k, unmodelled: 1.0, ends: k % 3 != 0 };
        let found = play(&bench, luck, theta.clone(), &mut rng);
        println!("lag, run {k}: {found:?}");
        assert!(found.0 <= 1.0 && found.1 <= 1.0 && found.2 <= 1.0, "run {k}: {found:?}");
        worst = (worst.0.max(found.0), worst.1.max(found.1), worst.2.max(found.2));
    }
    assert!(worst.0 > 0.2, "{worst:?}");
}

/// The second plan's tube has to have room for what the first one's last commands do while drives remember them.
fn less_room_for_what_drives_remember_is_refused(bench: &Bench) {
    let [first, second, ..] = &bench.legs[..] else { panic!("two plans") };
    let MomentumPlan { set, tube, curve } = &*first.plan;
    let before = MomentumPredecessor { set, tube, curve: curve.view(), at_s: second.from_s };
    let (scene, next) = (Scene::default(), &second.plan);
    let from = MomentumStart::After(before);
    let problem = MomentumProblem::new(&bench.robot, &next.set, &scene, &next.curve, from).unwrap();
    let certified = |change: &dyn Fn(&mut MomentumTube)| {
        let mut tube = next.tube.clone();
        change(&mut tube);
        problem.certify(&tube, PARTITION).map(|_| ()).map_err(|refusal| refusal.to_string())
    };
    certified(&|_| ()).unwrap();
    let carried = next.tube.start.as_ref().unwrap().carried_nms.clone();
    println!("left by drives that remember: {carried:.4?} N m s");
    assert!(carried.iter().all(|x| *x > 1e-3));
    let start = |change: &dyn Fn(&mut WideStart)| {
        certified(&|tube| change(tube.start.as_mut().unwrap())).unwrap_err()
    };
    let said = start(&|start| start.carried_nms[2] *= 0.96);
    assert!(said.contains("carried_nms of joint 'joint_3'"), "{said}");
    let said = start(&|start| start.carried_nms.clear());
    assert!(said.contains("carried_nms"), "{said}");
    let said = start(&|start| start.lag_nms2[2] *= 5.0);
    assert!(said.contains("lag_nms2 of joint 'joint_3'") && said.contains("at most"), "{said}");
    let said = certified(&|tube| {
        let start = tube.start.as_mut().unwrap();
        start.noise_nms[1] -= carried[1];
        tube.noise_nms[1] = tube.noise_nms[1].min(start.noise_nms[1]);
    });
    assert!(said.is_err(), "less room for misreadings was taken");
    let said = certified(&|tube| tube.timing.drive_lag_s = 0.5e-3).unwrap_err();
    assert!(said.contains("drive_lag_s"), "{said}");
}

#[test]
fn what_the_theorem_does_not_cover_is_refused_by_name() {
    let bench = bench(0.15, 0.3);
    let (MomentumPlan { set, curve, .. }, scene) = (&*bench.legs[0].plan, Scene::default());
    let problem = MomentumProblem::new(&bench.robot, set, &scene, curve, MomentumStart::Rest).unwrap();
    let refused =
        |gains: MomentumGains, timing: CycleTiming| fit(&problem, gains, timing, CELLS).unwrap_err();
    let late = refused(GAINS, CycleTiming { delay_s: 3e-3, ..TIMING });
    assert!(matches!(late, MomentumRefusal::Gain { most, .. } if most < GAINS.kappa), "{late}");
    let lagging = refused(GAINS, CycleTiming { drive_lag_s: 3e-3, ..TIMING });
    assert!(matches!(lagging, MomentumRefusal::Gain { most, .. } if most < GAINS.kappa), "{lagging}");
    assert!(lagging.to_string().contains("drives that lag by 3.00 ms"), "{lagging}");
    let none = refused(GAINS, CycleTiming { drive_lag_s: f64::NAN, ..TIMING });
    assert!(none.to_string().contains("drive_lag_s"), "{none}");
    let weak = refused(MomentumGains { kappa: 14.0, k_r: 6.0 }, TIMING);
    assert!(matches!(weak, MomentumRefusal::Diverges { .. }), "{weak}");
    let none = refused(GAINS, CycleTiming { jitter_s: f64::NAN, ..TIMING });
    assert!(none.to_string().contains("jitter_s"), "{none}");
    // Motions that do not start at rest, and sets of other arms.
    let mut moving = curve.clone();
    moving.first.points[2][1] += 0.01;
    let of = |robot: &Arm, curve: &PiecewiseBezier| {
        MomentumProblem::new(robot, set, &scene, curve, MomentumStart::Rest).unwrap_err().to_string()
    };
    let said = of(&bench.robot, &moving);
    assert!(said.contains("joint_3") && said.contains("motion"), "{said}");
    let z1 = surelift::robot::load("z1").unwrap();
    let said = of(&z1, curve);
    assert!(said.contains("6 joints") && said.contains("expected 6"), "{said}");
}
