//! What is proven of plans of the second law, and what is refused, by name.

use nalgebra::Vector3;

use super::*;
use crate::certify::StartRefusal;
use crate::inertia::ParameterSet;
use crate::reach::momentum::{CycleTiming, Fall, MomentumGains, WideStart};
use crate::robot::{Gains, TimingBounds, load};
use crate::trajectory::{Bezier, JointState, PiecewiseBezier};

const TIMING: CycleTiming =
    CycleTiming { period_s: 1e-3, latency_s: 2e-4, delay_s: 3e-4, jitter_s: 0.0, drive_lag_s: 0.0 };
const PARTITION: Partition = Partition { cells: 12, depth: 2 };
/// When the second plan takes over, s.
const AT_S: f64 = 0.9;

struct Case {
    robot: Arm,
    set: PreparedSet,
    curve: PiecewiseBezier,
    tube: MomentumTube,
    next: PiecewiseBezier,
    next_tube: MomentumTube,
}

/// `tube` with constants that hold along the problem's motion, each times 1.2.
fn fitted(problem: &MomentumProblem<'_>, mut tube: MomentumTube) -> MomentumTube {
    for _ in 0..12 {
        let reports = problem.survey(&tube, PARTITION.cells).unwrap().unwrap();
        let most = |of: &dyn Fn(&MomentumReport) -> f64| 1.2 * reports.iter().map(of).fold(0.0, f64::max);
        let list = |of: &dyn Fn(&MomentumReport, usize) -> f64| -> Vec<f64> {
            (0..problem.robot.dof()).map(|j| most(&|report| of(report, j))).collect()
        };
        tube.robust_nm = list(&|report, j| report.needs.robust_nm[j]);
        tube.noise_nms = list(&|report, j| report.needs.noise_nms[j]);
        tube.lag_nms2 = list(&|report, j| report.needs.lag_nms2[j]);
        tube.sign_band_rad_s = list(&|report, j| report.needs.sign_band_rad_s[j]);
    }
    tube
}

fn none(n: usize) -> MomentumTube {
    MomentumTube {
        gains: MomentumGains { k_r: 6.0, kappa: 100.0 },
        timing: TIMING,
        robust_nm: vec![0.0; n],
        noise_nms: vec![0.0; n],
        lag_nms2: vec![0.0; n],
        sign_band_rad_s: vec![0.0; n],
        start: None,
    }
}

/// A plan from rest, and one that takes over from it as wide as it must, for a payload that is nearly known.
fn case() -> Case {
    let robot = load("kinova_gen3_2f85").unwrap();
    let nominal = ParameterSet::around_nominal(&robot);
    let ends = |sign: f64| -> Vec<f64> {
        nominal.center().iter().zip(nominal.radius()).map(|(c, g)| c + sign * 0.05 * g).collect()
    };
    let set = PreparedSet::new(&robot, &ParameterSet::new(ends(-1.0), ends(1.0)).unwrap());
    let start = JointState::at_rest(&[0.1, 0.4, 3.0, -1.9, 0.2, 0.6, 1.5]);
    let end: Vec<f64> = start.q.iter().map(|q| q + 0.2).collect();
    let curve = PiecewiseBezier::from(Bezier::to_rest(&start, &end, 1.5).unwrap());
    let next = PiecewiseBezier::from(Bezier::to_rest(&curve.state(AT_S), &start.q, 1.5).unwrap());
    let scene = Scene::default();
    let n = robot.dof();
    let tube = {
        let problem = MomentumProblem::new(&robot, &set, &scene, &curve, MomentumStart::Rest).unwrap();
        fitted(&problem, none(n))
    };
    let before = MomentumPredecessor { set: &set, tube: &tube, curve: curve.view(), at_s: AT_S };
    let next_tube = {
        let from = MomentumStart::After(before);
        let problem = MomentumProblem::new(&robot, &set, &scene, &next, from).unwrap();
        let mut later = fitted(&problem, none(n));
        // Wide for its own motion, and wider at the start.
        later.robust_nm.iter_mut().for_each(|u| *u *= 1.3);
        later.lag_nms2.iter_mut().for_each(|lag| *lag *= 1.6);
        later.sign_band_rad_s.iter_mut().for_each(|band| *band *= 1.6);
        let needed = problem.needed_at_start(later.gains.k_r).unwrap();
        let above = |later: &[f64], need: &[f64]| -> Vec<f64> {
            later.iter().zip(need).map(|(later, need)| later.max(1.001 * need)).collect()
        };
        let noise_nms = above(&later.noise_nms, &needed.noise_nms);
        let inherited: Vec<f64> = (0..n).map(|j| 100.0 * (needed.radius_nms[j] - noise_nms[j])).collect();
        let fall = Fall { hold_s: 0.01, rate_1_s: 1.0 };
        let start = WideStart {
            robust_nm: above(&later.robust_nm, &inherited),
            lag_nms2: above(&later.lag_nms2, &needed.lag_nms2),
            sign_band_rad_s: later.sign_band_rad_s.clone(),
            noise_nms,
            carried_nms: vec![],
            momentum_fall: fall,
            lag_fall: fall,
        };
        MomentumTube { start: Some(start), ..later }
    };
    Case { robot, set, curve, tube, next, next_tube }
}

impl Case {
    fn at_rest<'a>(&'a self, scene: &'a Scene) -> MomentumProblem<'a> {
        MomentumProblem::new(&self.robot, &self.set, scene, &self.curve, MomentumStart::Rest).unwrap()
    }

    fn before(&self) -> MomentumPredecessor<'_> {
        let Self { set, tube, curve, .. } = self;
        MomentumPredecessor { set, tube, curve: curve.view(), at_s: AT_S }
    }
}

#[test]
fn constants_that_are_too_small_are_refused_by_name() {
    let (case, scene) = (case(), Scene::default());
    let problem = case.at_rest(&scene);
    let certificate = problem.certify(&case.tube, PARTITION).unwrap();
    assert!(certificate.cells > PARTITION.cells && certificate.clear_until_s.is_none());
    for margin in [&certificate.position, &certificate.velocity, &certificate.torque, &certificate.tube] {
        assert!(margin.value.unwrap() >= 0.0);
    }
    let refused = |change: &dyn Fn(&mut MomentumTube)| {
        let mut tube = case.tube.clone();
        change(&mut tube);
        problem.certify(&tube, PARTITION).unwrap_err().to_string()
    };
    for (named, said) in [
        ("robust_nm", refused(&|tube| tube.robust_nm[1] *= 0.1)),
        ("noise_nms", refused(&|tube| tube.noise_nms[2] *= 0.1)),
        ("lag_nms2", refused(&|tube| tube.lag_nms2[3] *= 0.1)),
        ("sign_band_rad_s", refused(&|tube| tube.sign_band_rad_s[4] *= 0.1)),
        ("gain condition", refused(&|tube| tube.timing.delay_s = 0.01)),
        ("period_s", refused(&|tube| tube.timing.period_s = f64::NAN)),
        ("robust_nm: expected 7 values", refused(&|tube| tube.robust_nm.clear())),
    ] {
        assert!(said.contains(named), "{named}: {said}");
    }
    // An arm that is later than the law is told, or keeps another period.
    let scene = Scene::default();
    let of = |robot: &Arm| {
        let problem = MomentumProblem::new(robot, &case.set, &scene, &case.curve, MomentumStart::Rest);
        problem.unwrap().certify(&case.tube, PARTITION).map_err(|refusal| refusal.to_string())
    };
    let late = |timing: TimingBounds| of(&case.robot.with_timing(timing).unwrap());
    let own = TimingBounds {
        reading_age_max_s: TIMING.latency_s,
        command_delay_max_s: TIMING.delay_s,
        ..TimingBounds::EXACT
    };
    late(own).unwrap();
    for (named, timing) in [
        ("latency_s: expected at least 0.00021", TimingBounds { reading_age_max_s: 2.1e-4, ..own }),
        ("delay_s: expected at least 0.00031", TimingBounds { command_delay_max_s: 3.1e-4, ..own }),
        ("jitter_s: expected at least 0.00001", TimingBounds { jitter_max_s: 1e-5, ..own }),
        ("drive_lag_s: expected at least 0.00002", TimingBounds { drive_lag_max_s: 2e-5, ..own }),
    ] {
        let said = late(timing).unwrap_err();
        assert!(said.contains(named), "{named}: {said}");
    }
    let slower = Gains { period_s: 2e-3, ..case.robot.gains() };
    let said = of(&case.robot.with_gains(slower).unwrap()).unwrap_err();
    assert!(said.contains("period_s: expected 0.002"), "{said}");
    // More torque than the actuators have.
    let said = refused(&|tube| tube.robust_nm.fill(100.0));
    assert!(said.contains("Torque") || said.contains("Velocity"), "{said}");
    // The rest is a cell too.
    let coarse = problem.certify(&case.tube, Partition { cells: 48, depth: 0 }).unwrap();
    assert_eq!(coarse.cells, 49);
}

#[test]
fn obstacles_in_the_way_are_refused_and_those_that_move_while_the_arm_does() {
    let case = case();
    let frames = case.robot.frames(&case.curve.state(0.7).q);
    let hand = case.robot.placed_capsule(case.robot.shapes().len() - 1, &frames);
    let scene = |center: Vector3<f64>, speed_m_s: f64| {
        let size = Vector3::new(0.1, 0.1, 0.1);
        let block = Zonotope3::cuboid("post", center, size, &nalgebra::Matrix3::identity());
        Scene { obstacles: vec![Zonotope3 { speed_m_s, ..block }] }
    };
    let decided = |scene: &Scene| case.at_rest(scene).certify(&case.tube, PARTITION);
    let said = decided(&scene(hand.a, 0.0)).unwrap_err().to_string();
    assert!(said.contains("Collision") && said.contains("post"), "{said}");
    let away = Vector3::new(0.0, 0.0, 2.5);
    let still = decided(&scene(away, 0.0)).unwrap();
    let slow = decided(&scene(away, 0.05)).unwrap();
    assert_eq!((still.clear_until_s, slow.clear_until_s), (None, Some(1.5)));
    let said = decided(&scene(away, 3.0)).unwrap_err().to_string();
    assert!(said.contains("post"), "{said}");
    let none = scene(away, f64::NAN);
    let said = MomentumProblem::new(&case.robot, &case.set, &none, &case.curve, MomentumStart::Rest);
    assert!(said.unwrap_err().to_string().contains("post"));
}

#[test]
fn a_plan_that_follows_another_must_fit_it() {
    let (case, scene) = (case(), Scene::default());
    let problem = |before: MomentumPredecessor<'_>| -> Result<Certificate, Refusal> {
        let from = MomentumStart::After(before);
        MomentumProblem::new(&case.robot, &case.set, &scene, &case.next, from)?
            .certify(&case.next_tube, PARTITION)
    };
    problem(case.before()).unwrap();
    // Not from rest, and not at another time of the plan before.
    let rest = MomentumProblem::new(&case.robot, &case.set, &scene, &case.next, MomentumStart::Rest);
    assert!(matches!(rest.unwrap_err(), Refusal::Start(StartRefusal::Moving { .. })));
    for (at_s, named) in [(0.7, "jumps"), (1e-3, "time of the switch"), (f64::NAN, "time of the switch")] {
        let said = problem(MomentumPredecessor { at_s, ..case.before() }).unwrap_err().to_string();
        assert!(said.contains(named), "{at_s}: {said}");
    }
    // Another law.
    let changed = |change: &dyn Fn(&mut MomentumTube)| {
        let mut tube = case.tube.clone();
        change(&mut tube);
        problem(MomentumPredecessor { tube: &tube, ..case.before() }).unwrap_err().to_string()
    };
    // With another K_r it would have to begin wider.
    let said = changed(&|tube| tube.gains.k_r = 1.0);
    assert!(said.contains("radius of p of joint") && said.contains("at least"), "{said}");
    let said = changed(&|tube| tube.gains.k_r = 1e6);
    assert!(said.contains("k_r is 6, expected 1000000 as before, as only one of at most"), "{said}");
    assert!(changed(&|tube| tube.timing.jitter_s = 1e-5).contains("jitter_s is 0"));
    assert!(changed(&|tube| tube.robust_nm[0] = f64::INFINITY).contains("plan before: tube robust_nm"));
    // A tube that is narrower than what the plan before leaves.
    let narrower = |change: &dyn Fn(&mut WideStart)| {
        let mut tube = case.next_tube.clone();
        change(tube.start.as_mut().unwrap());
        let start = tube.start.as_ref().unwrap();
        for (later, start) in [
            (&mut tube.robust_nm, &start.robust_nm),
            (&mut tube.noise_nms, &start.noise_nms),
            (&mut tube.lag_nms2, &start.lag_nms2),
        ] {
            later.iter_mut().zip(start).for_each(|(later, start)| *later = later.min(*start));
        }
        let from = MomentumStart::After(case.before());
        let problem = MomentumProblem::new(&case.robot, &case.set, &scene, &case.next, from).unwrap();
        problem.certify(&tube, PARTITION).unwrap_err()
    };
    for (named, refusal) in [
        ("radius of p", narrower(&|start| start.robust_nm[2] *= 0.5)),
        ("noise_nms of joint", narrower(&|start| start.noise_nms[2] *= 0.5)),
        ("lag_nms2 of joint", narrower(&|start| start.lag_nms2[2] *= 0.5)),
    ] {
        let said = refusal.to_string();
        assert!(matches!(refusal, Refusal::Start(_)) && said.contains(named), "{named}: {said}");
    }
}

/// Threads that compute in another way than the proof assumes prove nothing.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_thread_with_other_arithmetic_proves_nothing() {
    let (case, scene) = (case(), Scene::default());
    let problem = case.at_rest(&scene);
    let within = |bits: u32| {
        let begin = move |_| {
            let mut control = 0_u32;
            // SAFETY: the thread ends with the pool, and computes nothing that is relied on.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control);
                control |= bits;
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control);
            }
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(begin).build().unwrap();
        pool.install(|| problem.certify(&case.tube, Partition { cells: 30, depth: 3 }))
    };
    let sound = within(0);
    assert!(!matches!(sound, Err(Refusal::Unsupported(_))), "{sound:?}");
    for bits in [0x4000, 0x8000] {
        let found = within(bits);
        assert!(
            matches!(&found, Err(Refusal::Unsupported(words)) if words.contains("arithmetic")),
            "{found:?}"
        );
    }
}
