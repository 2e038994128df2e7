//! The promise: after construction neither the control tick nor the rigid-body algorithms allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nalgebra::{Matrix3, Vector3};

use surelift::control::{Controller, Measured, RobustController};
use surelift::dynamics::constraint::{Redundancy, Residuals, Sensitivities};
use surelift::dynamics::{
    Axes, Composites, ConstrainedDynamics, Constraint, ForwardDerivatives, FrameDerivatives,
    InverseDerivatives, Motion, Workspace, Wrench, crba, momentum_rate_regressor, momentum_regressor, rnea,
    torque_regressor,
};
use surelift::estimate::{
    EstimationProblem, ParameterModel, Point, Rollout, Solver, SolverOptions, StageModel, StageSize,
    StageValues, Trajectory,
};
use surelift::family::Polynomial;
use surelift::identify::tighten_by_physics;
use surelift::inertia::{INERTIAL, ParameterSet, Strip, TorqueStrips};
use surelift::plan::excite::{Criterion, Information};
use surelift::plan::propose::{Planner, Purpose, Setting};
use surelift::plan::route::{Router, Terrain};
use surelift::plan::tube_fit;
use surelift::reach::PreparedSet;
use surelift::regression::foresee;
use surelift::robot::{self, LoopKind, NamedFrame, Placement, Zonotope3, configuration};
use surelift::scalar::Scalar;
use surelift::scenario::Scenario;
use surelift::study::estimation::EstimationStudy;
use surelift::trajectory::{Bezier, JointState};

#[path = "no_allocation/baselines.rs"]
mod baselines;
#[path = "no_allocation/momentum.rs"]
mod momentum;
#[path = "no_allocation/stopping.rs"]
mod stopping;

/// The system's allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
    /// Whether this is a thread of the pool whose requests are counted together.
    static POOLED: Cell<bool> = const { Cell::new(false) };
}

/// What the threads of the pool have asked for.
static ASKED_BY_POOL: AtomicUsize = AtomicUsize::new(0);
/// One pool is counted at a time.
static POOL: Mutex<()> = Mutex::new(());

/// Does `work` on two threads that are counted together.
fn in_pool(work: impl FnOnce() + Send) {
    let _alone = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(|_| POOLED.set(true)).build();
    pool.unwrap().install(work);
}

/// What the pool asks for during `work`, and what comes of it.
fn pooled<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ASKED_BY_POOL.load(Ordering::Relaxed);
    let found = work();
    (found, ASKED_BY_POOL.load(Ordering::Relaxed) - before)
}

fn count() {
    // A thread that is going away has no counter any more; nobody looks at it either.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
    if POOLED.try_with(Cell::get) == Ok(true) {
        ASKED_BY_POOL.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread during `work`.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ASKED.get();
    work();
    ASKED.get() - before
}

fn arm() -> robot::Arm {
    robot::load(concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml")).unwrap()
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1.0; 100]))), 1);
}

#[test]
fn the_control_tick_does_not_allocate() {
    let robot = Arc::new(arm());
    let start = JointState::at_rest(&[0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5]);
    let curve = Bezier::to_rest(&start, &[0.5, 0.2, 2.7, -1.7, 0.0, 0.3, 1.2], 3.0).unwrap();
    // With strips around the nominal torques.
    let set = ParameterSet::around_nominal(&robot);
    let (times, rows) = foresee::torque_rows(&robot, &curve);
    let theta = robot.nominal_parameters();
    let strip = |direction: Vec<f64>| {
        let torque: f64 = direction.iter().zip(&theta).map(|(d, x)| d * x).sum();
        Strip { direction, lower: torque - 0.1, upper: torque + 0.1 }
    };
    let strips = rows.into_iter().map(strip).collect();
    let set = set.with_strips(Some(TorqueStrips { times, strips }));
    let mut controller = RobustController::new(robot.clone(), &set, &tube_fit::initial(&robot));
    let mut desired = start.clone();
    let (mut q, mut dq) = (vec![0.0; robot.dof()], vec![0.0; robot.dof()]);
    let mut tau = vec![0.0; robot.dof()];
    let asked = allocations(|| {
        for k in 0..3000 {
            curve.evaluate(1e-3 * f64::from(k), &mut desired);
            for j in 0..robot.dof() {
                // Near the desired state, far from it, and not a number at all.
                let error = [1e-3, 0.3, f64::NAN][k as usize % 3];
                q[j] = desired.q[j] + error;
                dq[j] = desired.dq[j] - error;
            }
            controller.tick(1e-3 * f64::from(k), Measured { q: &q, dq: &dq }, &desired, &mut tau);
        }
    });
    assert_eq!(asked, 0);
    assert!(tau.iter().all(|x| x.is_finite()));
    // Nor does the first tick of the next plan, whose set was prepared with its proof.
    let next = Arc::new(PreparedSet::new(&robot, &ParameterSet::around_nominal(&robot)));
    let mut tube = tube_fit::initial(&robot);
    tube.hold_power_w = 1.0;
    let asked = allocations(|| {
        let before = controller.switch(next, &tube);
        controller.tick(0.0, Measured { q: &q, dq: &dq }, &desired, &mut tau);
        assert!(before.strips().is_some());
    });
    assert_eq!(asked, 0);
}

#[test]
fn the_rigid_body_algorithms_do_not_allocate() {
    for name in ["kinova_gen3_2f85", "go1"] {
        let robot = robot::load_model(name).unwrap();
        let (n, bodies) = (robot.nv(), robot.bodies());
        let theta = robot.nominal_parameters();
        let wave = |phase: f64| (0..n).map(|j| (phase + j as f64).sin()).collect::<Vec<f64>>();
        let (dq, ddq) = (wave(1.1), wave(2.7));
        let mut q = vec![0.0; robot.nq()];
        let neutral = configuration::neutral(&robot);
        let mut motion = Motion::new(&robot);
        let mut composites = Composites::new(&robot);
        let mut wrenches = vec![Wrench::zero(); bodies];
        let (mut tau, mut mass, mut y) = (vec![0.0; n], vec![0.0; n * n], vec![0.0; n * INERTIAL * bodies]);
        let asked = allocations(|| {
            configuration::integrate(&robot, &neutral, &dq, &mut q);
            motion.sweep(&robot, &q, &dq, &dq, &ddq);
            rnea(&robot, &motion, &theta, &mut wrenches, &mut tau);
            crba(&robot, &motion, &theta, &mut composites, &mut mass);
            torque_regressor(&robot, &motion, 0..bodies, &mut y);
            momentum_regressor(&robot, &motion, 0..bodies, &mut y);
            momentum_rate_regressor(&robot, &motion, 0..bodies, &mut y);
        });
        assert_eq!(asked, 0, "{name}");

        let mut space = Workspace::new(&robot);
        let (mut inverse, mut forward) = (InverseDerivatives::new(&robot), ForwardDerivatives::new(&robot));
        let mut frame_slopes = FrameDerivatives::new(&robot);
        let mut jacobian = vec![0.0; 6 * n];
        let frame = NamedFrame {
            name: "tip".into(),
            joint: Some(bodies - 1),
            placement: robot.joints[bodies - 1].placement,
        };
        let asked = allocations(|| {
            space.inverse_dynamics(&robot, &q, &dq, &ddq, &theta, &mut tau);
            space.mass_matrix(&robot, &q, &theta, &mut mass);
            space.forward_dynamics(&robot, &q, &dq, &ddq, &theta, &mut tau);
            space.inverse_dynamics_derivatives(&robot, &q, &dq, &ddq, &theta, &mut inverse);
            space.forward_dynamics_derivatives(&robot, &q, &dq, &ddq, &theta, &mut forward);
            space.bias(&robot, &q, &dq, &theta, &mut tau);
            space.gravity_torques(&robot, &q, &theta, &mut tau);
            space.coriolis_matrix(&robot, &q, &dq, &theta, &mut mass);
            space.energy(&robot, &q, &dq, &theta);
            space.centroidal(&robot, &q, &dq, &theta);
            space.centroidal_matrix(&robot, &q, &theta, &mut jacobian);
            space.place_moving(&robot, &q, &dq, &ddq);
            for axes in [Axes::Local, Axes::World, Axes::WorldAligned] {
                space.frame_jacobian(&robot, &frame, axes, &mut jacobian);
                space.frame_jacobian_rate(&robot, &frame, axes, &mut jacobian);
                space.frame_derivatives(&robot, &frame, axes, &mut frame_slopes);
            }
        });
        assert_eq!(asked, 0, "{name}");
    }
}

#[test]
fn constrained_dynamics_do_not_allocate() {
    let robot = robot::load_model("go1").unwrap();
    let n = robot.nv();
    let theta = robot.nominal_parameters();
    let wave = |phase: f64| (0..n).map(|j| (phase + j as f64).sin()).collect::<Vec<f64>>();
    let (v, tau) = (wave(1.1), wave(2.7));
    let mut q = vec![0.0; robot.nq()];
    configuration::integrate(&robot, &configuration::neutral(&robot), &wave(0.2), &mut q);
    let feet: Vec<_> = (0..robot.named_frames.len())
        .filter(|&i| robot.named_frames[i].joint.is_some())
        .take(4)
        .map(|i| Constraint::contact(&robot, i, LoopKind::Point, Placement::identity()).stabilised(1.0, 2.0))
        .collect();
    let rows = 3 * feet.len();
    let mut out = Sensitivities::new(&robot, &feet, true);
    let mut residuals = Residuals::new(&robot, &feet, true);
    let (mut projector, mut errors, mut stance) = (vec![0.0; n * n], vec![0.0; rows], q.clone());
    let mut dynamics = ConstrainedDynamics::new(&robot, feet, Redundancy::Drop).unwrap();
    let asked = allocations(|| {
        dynamics.hold_here(&robot, 0, &q).unwrap();
        dynamics.position_errors(&robot, &q, &mut errors).unwrap();
        dynamics.close(&robot, &mut stance, &theta).unwrap();
        dynamics.forward_derivatives(&robot, &q, &v, &tau, &theta, &mut out).unwrap();
        dynamics.impulse_derivatives(&robot, &q, &v, &theta, &mut out).unwrap();
        dynamics.projection_derivatives(&robot, &q, &v, &theta, &mut out).unwrap();
        dynamics.projector(&robot, &q, &theta, &mut projector).unwrap();
        dynamics.set_active(1, false);
        dynamics.forward(&robot, &q, &v, &tau, &theta).unwrap();
        let state = (q.as_slice(), v.as_slice(), tau.as_slice());
        dynamics.residuals(&robot, state, &errors, &tau, &theta, &mut residuals).unwrap();
    });
    assert_eq!(asked, 0);
    assert!(rows == 12 && out.by_theta.motion.iter().all(|x| x.is_finite()));
}

/// Proposals towards way-points, from the second on: curve, tube, survey of all cells, rows, proof and quadratic programs, on
/// all threads.
#[test]
fn planning_does_not_allocate_after_the_first_proposal() {
    let mut task = Scenario::load_in_world("scenarios/armour_world.toml", "scenarios/worlds/post.csv")
        .unwrap()
        .split()
        .0;
    let (set, start) = (task.prior_set().unwrap(), JointState::at_rest(&task.start));
    let beside = |step: f64| -> Vec<f64> { task.start.iter().map(|q| q + step).collect() };
    // The first target is blocked, so that the solver works for its whole budget from both starts; the second is free.
    let (blocked, free) = (beside(0.3), beside(0.1));
    let hand = task.robot.shapes().len() - 1;
    let inside = task.robot.placed_capsule(hand, &task.robot.frames(&blocked)).b;
    let block = Zonotope3::cuboid("block", inside, Vector3::repeat(0.05), &Matrix3::identity());
    task.scene.obstacles.push(block);
    // Enough that those out of reach are left out.
    task.scene.obstacles.extend((0..100).map(|i| {
        let far = Vector3::new(-0.6 - 0.02 * f64::from(i), 0.0, 0.1 * f64::from(i % 10));
        Zonotope3::cuboid(format!("box {i}"), far, Vector3::repeat(0.03), &Matrix3::identity())
    }));
    let prepared = Arc::new(PreparedSet::new(&task.robot, &set));
    let setting = Setting {
        robot: &task.robot,
        set: &prepared,
        scene: &task.scene,
        start: &start,
        duration_s: task.timing.t_f_s,
        reach: &task.carry.range_rad,
        warm: Some(&start.q),
        held: None,
        growth_max_m: None,
        seed: 0,
        deadline: Instant::now() + Duration::from_secs(600),
    };
    in_pool(|| {
        let mut planner = Planner::default();
        let mut propose = |target: &[f64]| {
            pooled(|| planner.propose(&setting, Purpose::Approach(target)).map(|found| found.cost).unwrap())
        };
        let (first, asked) = propose(&blocked);
        assert!(first > 1e-4 && asked > 0, "the target is blocked, but the cost is {first}");
        assert_eq!(propose(&blocked), (first, 0));
        let (cost, asked) = propose(&free);
        assert!(cost < 1e-12 && asked == 0, "cost {cost}, {asked} requests");
    });
}

/// Exciting proposals, from the second on: the design's cost and its gradient too, for both designs.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn exciting_does_not_allocate_after_the_first_proposal_at_length() {
    let task = Scenario::load("scenarios/dumbbell_c_8lb.toml").unwrap().split().0;
    let held = task.held.clone().unwrap().excite;
    let set = tighten_by_physics(&task.prior_set().unwrap(), task.robot.end_effector()).unwrap();
    let start = JointState::at_rest(&task.start);
    let prepared = Arc::new(PreparedSet::new(&task.robot, &set));
    let setting = Setting {
        robot: &task.robot,
        set: &prepared,
        scene: &task.scene,
        start: &start,
        duration_s: task.timing.t_f_s,
        reach: &held.range_rad,
        warm: None,
        held: None,
        growth_max_m: None,
        seed: 1,
        deadline: Instant::now() + Duration::from_secs(600),
    };
    let known = Information::none();
    for criterion in [Criterion::predicted_width(&task.robot, &set), Criterion::condition_number()] {
        let (samples, horizon_s) = (held.samples, task.timing.t_p_s);
        let purpose = Purpose::Excite { known: &known, criterion: &criterion, samples, horizon_s };
        in_pool(|| {
            let mut planner = Planner::default();
            let mut propose =
                || pooled(|| planner.propose(&setting, purpose).map(|found| found.cost).unwrap());
            let (first, asked) = propose();
            assert!(first.is_finite() && asked > 0);
            assert_eq!(propose(), (first, 0), "{criterion:?}");
        });
    }
}

/// Searches of a way around something, and targets on it, from the second on.
#[test]
fn searching_the_way_does_not_allocate_after_the_first_time() {
    let world = "scenarios/worlds/post.csv";
    let task = Scenario::load_in_world("scenarios/armour_world.toml", world).unwrap().split().0;
    let set = task.prior_set().unwrap();
    let terrain = Terrain { robot: &task.robot, set: &set, scene: &task.scene };
    let deadline = Instant::now() + Duration::from_secs(600);
    in_pool(|| {
        let mut router = Router::default();
        let mut find = || {
            pooled(|| {
                let found = router.find(terrain, &task.start, &task.goal, 1, deadline).is_ok();
                assert!(found && router.target(terrain, &task.start, &task.carry.range_rad).is_some());
            })
            .1
        };
        assert!(find() > 0);
        assert_eq!(find(), 0);
    });
}

/// A pendulum with measured angles: states (q, v), two inputs that a stage equation holds together, theta = (w^2, d).
struct Pendulum;

const STAGES: usize = 40;
const STEP: f64 = 0.05;

impl EstimationProblem for Pendulum {
    type Workspace = ();
    fn workspace(&self) {}
    fn stages(&self) -> usize {
        STAGES
    }
    fn size(&self, k: usize) -> StageSize {
        let inner = usize::from(k + 1 < STAGES);
        StageSize { state: 2, tangent: 2, input: 2 * inner, constraints: inner }
    }
    fn parameters(&self) -> (usize, usize, usize) {
        (2, 0, 2)
    }
    fn constrain_parameters(&self, theta: &[f64], out: &mut ParameterModel) {
        out.inequality_values.copy_from_slice(&[theta[1] + 1e-3, 1e-3 - theta[1]]);
        (out.inequalities[(1, 0)], out.inequalities[(1, 1)]) = (1.0, -1.0);
    }
    fn evaluate(&self, k: usize, at: Point<'_>, _: &mut (), out: &mut StageValues) -> Result<(), String> {
        let seen = (0.3 * k as f64).cos();
        out.cost = 50.0 * (at.x[0] - seen).powi(2) + at.u.iter().map(|u| u * u).sum::<f64>();
        if k + 1 < STAGES {
            let v = at.x[1] + STEP * (-at.theta[0] * at.x[0].sin() - at.theta[1] * at.x[1] + at.u[0]);
            out.next.copy_from_slice(&[at.x[0] + STEP * v, v]);
            out.constraints[0] = at.u[0] - at.u[1] - 0.1 * at.x[0];
        }
        Ok(())
    }
    fn linearise(
        &self,
        k: usize,
        at: Point<'_>,
        workspace: &mut (),
        m: &mut StageModel,
        out: &mut StageValues,
    ) -> Result<(), String> {
        self.evaluate(k, at, workspace, out)?;
        let x = m.nu;
        m.add_direct(at.x[0] - (0.3 * k as f64).cos(), x, 100.0);
        if k + 1 < STAGES {
            (0..2).for_each(|i| m.add_direct(at.u[i], i, 2.0));
            let (q, v) = (at.x[0], at.x[1]);
            let slopes = [1.0, 0.0, -at.theta[0] * q.cos(), -at.theta[1], -q.sin(), -v];
            for (j, slope) in slopes.into_iter().enumerate() {
                m.jac[(j, 1)] = STEP * slope;
                m.jac[(j, 0)] = STEP * STEP * slope;
            }
            m.jac[(2, 0)] += 1.0;
            m.jac[(3, 0)] += STEP;
            m.jac[(3, 1)] += 1.0;
            m.con.col_mut(0)[..3].copy_from_slice(&[1.0, -1.0, -0.1]);
            m.con_value[0] = out.constraints[0];
        }
        Ok(())
    }
}

#[test]
fn polynomials_do_not_allocate() {
    type Form = Polynomial<40, 2>;
    let k: [f64; 7] = std::array::from_fn(|i| 0.1 * i as f64 - 0.3);
    let mut held = true;
    let asked = allocations(|| {
        let mut x = (0..7).fold(Form::constant(0.5), |sum, i| sum + Form::factor(i, 0.1 + 0.01 * i as f64));
        for _ in 0..20 {
            let (sine, cosine) = x.sin_cos();
            x = (sine * cosine - x.scale(0.3)).widen(1e-3) + (Form::constant(2.0) + sine).sqrt();
            held &= x.interval().contains(x.slice(&k).midpoint());
            held &= x.gradient(&k, 2).width() >= 0.0 && x.hessian(&k, 1, 2).width() >= 0.0;
        }
    });
    assert!(held);
    assert_eq!(asked, 0);
}

#[test]
fn an_estimate_does_not_allocate_after_its_first_iteration() {
    let guess = Trajectory {
        xs: vec![vec![0.1, 0.0]; STAGES],
        us: (0..STAGES).map(|k| vec![0.0; Pendulum.size(k).input]).collect(),
        theta: vec![1.0, 0.0],
    };
    for rollout in [Rollout::Single, Rollout::Feasible, Rollout::Multiple] {
        let asked = |iterations| {
            // A tolerance that nothing meets, so that all iterations are done.
            let options = SolverOptions {
                iterations,
                tolerance: -1.0,
                rollout,
                parallel: false,
                ..SolverOptions::default()
            };
            let mut solver = Solver::new(&Pendulum, options).unwrap();
            let mut steps = 0;
            let asked = allocations(|| steps = solver.solve(&guess).unwrap().record.len());
            (asked, steps)
        };
        let ((first, one), (all, many)) = (asked(1), asked(20));
        assert_eq!(first, all, "{rollout:?}: {one} and {many} iterations");
        assert!(many > 5, "{rollout:?}: {many}");
    }
}

/// Robots on four feet and an arm, whose noise is found or follows from the accelerations, with the trajectory found or integrated
/// out: the later iterations ask for nothing.
#[test]
fn an_estimate_of_a_robot_does_not_allocate() {
    let files = [
        ("anymal_stand", 0.06, "inverse"),
        ("anymal_stand", 0.03, "forward"),
        ("gen3_payload", 0.06, "forward"),
    ];
    for (name, seconds, form) in files {
        let change = format!("formulation = \"{form}\"\nsimulate = {{ duration_s = {seconds} }}");
        let change: toml::Table = toml::from_str(&change).unwrap();
        let path = format!("scenarios/estimation/{name}.toml");
        let study = EstimationStudy::load_changed(&path, &[&change]).unwrap();
        let problem = study.problem().unwrap();
        for (marginal, early) in [(false, 1), (true, 8)] {
            let asked = |iterations| {
                let options =
                    SolverOptions { iterations, tolerance: -1.0, marginal, parallel: false, ..study.options };
                let mut solver = Solver::new(&problem, options).unwrap();
                let mut steps = 0;
                let solve = || steps = solver.refine(&problem.guess(), None).unwrap().record.len();
                (allocations(solve), steps)
            };
            let ((first, few), (all, many)) = (asked(early), asked(20));
            assert_eq!(first, all, "{name}, {form}, marginal {marginal}: {few} and {many} iterations");
            assert!(many > early + 4, "{name}, {form}, marginal {marginal}: {many}");
        }
    }
}
