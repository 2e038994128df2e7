//! Digit with its torso held, simulated with other inertias, friction and offsets than its files say.

mod bad_data;
mod exponents;
mod methods;

use std::fmt::Write;
use std::path::PathBuf;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics};
use crate::inertia::INERTIAL;
use crate::robot::{configuration, load_model};

const NOISE_NM: f64 = 0.1;
const PERIOD_S: f64 = 0.01;

/// Bodies up to a fifth heavier or lighter, friction, armature and offset of every joint drawn.
fn truth(robot: &Model, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut theta = robot.nominal_parameters();
    for body in theta[..INERTIAL * robot.bodies()].chunks_mut(INERTIAL) {
        let factor = rng.random_range(0.8..1.2);
        body.iter_mut().for_each(|x| *x *= factor);
    }
    for joint in 0..robot.bodies() {
        let at = robot.joint_index(joint);
        let small = robot.joints[joint].limits.torque == 0.0;
        let size = if small { 0.02 } else { 1.0 };
        theta[at.coulomb] += size * rng.random_range(0.2..1.0);
        theta[at.viscous] += size * rng.random_range(0.2..1.0);
        theta[at.armature] *= rng.random_range(0.9..1.1);
        theta[at.offset] = if small { 0.0 } else { rng.random_range(-0.5..0.5) };
    }
    theta
}

/// Sums of sines of the motors, within the proven domain and 0.6 of the other joints' ranges.
struct Motion {
    /// Middle, then three sines, a motor.
    waves: Vec<(f64, [Sine; 3])>,
}

/// Amplitude, angular speed and phase.
pub(super) type Sine = (f64, f64, f64);

/// Positions, velocities and accelerations at time t of motors that swing about these middles.
pub(super) fn sums_of_sines<const K: usize>(waves: &[(f64, [Sine; K])], t: f64) -> [Vec<f64>; 3] {
    let sum = |f: &dyn Fn(f64, f64, f64) -> f64| -> Vec<f64> {
        waves.iter().map(|(_, sines)| sines.iter().map(|&(a, w, p)| f(a, w, w * t + p)).sum()).collect()
    };
    let mut q = sum(&|a, _, x| a * x.sin());
    q.iter_mut().zip(waves).for_each(|(q, (middle, _))| *q += middle);
    [q, sum(&|a, w, x| a * w * x.cos()), sum(&|a, w, x| -a * w * w * x.sin())]
}

impl Motion {
    fn draw(robot: &Model, domain: &ClosureDomain, motors: &[usize], rng: &mut ChaCha8Rng) -> Self {
        let wave = |&motor: &usize| {
            let block = domain.blocks.iter().find_map(|block| {
                let place = block.block.motors.iter().position(|&j| j == motor)?;
                Some((block.rectangle[place].lower(), block.rectangle[place].upper()))
            });
            let (lower, upper) = block.or(robot.joints[motor].limits.position).unwrap_or((-1.0, 1.0));
            let share = if block.is_some() { 0.9 } else { 0.6 };
            let amplitude = share * 0.5 * (upper - lower) / 3.0;
            let sine = |k: usize| {
                (amplitude, (1.5 + 1.7 * k as f64) * rng.random_range(0.8..1.2), rng.random_range(0.0..6.0))
            };
            (0.5 * (lower + upper), [0, 1, 2].map(sine))
        };
        Self { waves: motors.iter().map(wave).collect() }
    }

    /// Positions, velocities and accelerations at time t.
    fn at(&self, t: f64) -> [Vec<f64>; 3] {
        sums_of_sines(&self.waves, t)
    }
}

/// A recording as a CSV file: of all joints, or of the motors alone.
fn recording(robot: &Model, theta: &[f64], seed: u64, seconds: f64, all: bool) -> String {
    recording_of(robot, theta, (seed, seconds, all), |_| true, |_, _| 0.0)
}

/// The same of a motion of some motors; the others stand where their ranges have their middles. Each needs a `further` torque at its speed.
fn recording_of(
    robot: &Model,
    theta: &[f64],
    (seed, seconds, all): (u64, f64, bool),
    moves: impl Fn(usize) -> bool,
    further: impl Fn(usize, f64) -> f64,
) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let domain = ClosureDomain::of(robot).unwrap();
    let mut reduced = ReducedDynamics::of_loops(robot).unwrap();
    let motors = reduced.independent().to_vec();
    let mut motion = Motion::draw(robot, &domain, &motors, &mut rng);
    for ((_, sines), &motor) in motion.waves.iter_mut().zip(&motors) {
        sines.iter_mut().for_each(|sine| sine.0 *= f64::from(u8::from(moves(motor))));
    }
    let columns: Vec<usize> = if all { (0..robot.nv()).collect() } else { motors.clone() };
    let names =
        ["q", "dq", "tau"].iter().flat_map(|name| (1..=columns.len()).map(move |j| format!("{name}{j}")));
    let mut text = std::iter::once("t".to_owned()).chain(names).collect::<Vec<_>>().join(",");
    for k in 0..(seconds / PERIOD_S) as usize {
        let t = k as f64 * PERIOD_S;
        let [q_a, v_a, a_a] = motion.at(t);
        let mut q = configuration::neutral(robot);
        motors.iter().zip(&q_a).for_each(|(&k, x)| q[k] = *x);
        domain.place(robot, &mut q).unwrap();
        reduced.close(robot, &mut q).unwrap();
        reduced.place(robot, &q, &v_a, &a_a).unwrap();
        let torque = reduced.torque(robot, theta).unwrap();
        let mut tau = vec![0.0; robot.nv()];
        for (&k, x) in motors.iter().zip(torque.iter()) {
            tau[k] = x + further(k, reduced.v()[k]) + 3f64.sqrt() * NOISE_NM * rng.random_range(-1.0..1.0);
        }
        let _ = write!(text, "\n{t}");
        for from in [&q[..], reduced.v(), &tau] {
            columns.iter().for_each(|&k| write!(text, ",{}", from[k]).unwrap());
        }
    }
    text + "\n"
}

struct Data {
    _folder: tempfile::TempDir,
    robot: Model,
    theta: Vec<f64>,
    logs: Vec<MotorLog>,
}

fn data(all: bool, seconds: f64) -> Data {
    let robot = load_model("digit").unwrap();
    let held = robot.with_base_held();
    let theta = truth(&held, &mut ChaCha8Rng::seed_from_u64(7));
    let folder = tempfile::tempdir().unwrap();
    let log = |seed: u64| {
        let path = folder.path().join(format!("{seed}.csv"));
        std::fs::write(&path, recording(&held, &theta, seed, seconds, all)).unwrap();
        MotorLog::read(&path, &robot, &LogRequest::default()).unwrap()
    };
    let logs = (1..=3).map(log).collect();
    Data { _folder: folder, robot, theta, logs }
}

impl Data {
    fn learn(&self, unknown: LimbUnknown) -> LimbFindings {
        let study = LimbStudy {
            robot: &self.robot,
            logs: &self.logs[..2],
            validation: Some(&self.logs[2]),
            unknown,
            smoothing: Smoothing::SavitzkyGolay { half: 2, degree: 2 },
            passive_tolerance: 1e-6,
            exponents: false,
        };
        study.run().unwrap()
    }
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn everything_learnt_predicts_unseen_torques_to_their_noise_at_length() {
    let data = data(false, 20.0);
    let findings = data.learn(LimbUnknown::Everything);
    assert!(!findings.passive_measured && findings.limbs.len() == 4);
    for limb in &findings.limbs {
        println!(
            "{}: rank {} of {}, gap {:?}, cond {:.0}, duality gap {:.1e}, {} rounds, outliers {}",
            limb.name,
            limb.base.rank,
            limb.parameters.len(),
            limb.base.gap,
            limb.base.condition_number,
            limb.duality_gap,
            limb.rounds,
            limb.outliers
        );
        println!(
            "    {:?}",
            limb.belief.as_ref().map(|b| (b.link_share, b.outliers, b.links, b.learnt_share))
        );
        assert!(limb.duality_gap < 1e-2, "{}", limb.duality_gap);
        assert_eq!(limb.base.combinations.len(), limb.base.rank);
        for motor in &limb.motors {
            println!("    {motor:?}");
            let (own, model) = (motor.validation_rms_nm.unwrap(), motor.validation_model_rms_nm.unwrap());
            assert!(own < 1.1 * NOISE_NM && own < 0.5 * model, "{motor:?}");
        }
    }
}

/// With the links known, friction of every motor is what it is, within what is told.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn friction_is_found_within_its_deviations_at_length() {
    let mut data = data(true, 10.0);
    for (i, joint) in data.robot.joints.iter_mut().skip(1).enumerate() {
        joint.inertia.copy_from_slice(&data.theta[INERTIAL * i..INERTIAL * (i + 1)]);
    }
    let held = data.robot.with_base_held();
    let findings = data.learn(LimbUnknown::Friction);
    assert!(findings.passive_measured);
    let (mut sum, mut count) = (0.0, 0.0);
    for parameter in findings.limbs.iter().flat_map(|limb| &limb.parameters) {
        let index = (0..held.parameter_count())
            .find(|&k| crate::identify::parameter_name(&held, k).0 == parameter.name)
            .unwrap();
        let off = (parameter.estimate - data.theta[index]) / parameter.deviation;
        if parameter.deviation < 0.1 {
            (sum, count) = (sum + off * off, count + 1.0);
        }
    }
    println!("{count} parameters, rms of errors in deviations {:.2}", f64::sqrt(sum / count));
    assert!(count > 40.0 && sum / count < 4.0, "{count} {}", sum / count);
}

#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn samples_that_cannot_be_are_named_at_length() {
    let mut data = data(true, 2.0);
    let study = |logs: &[MotorLog], robot: &Model| {
        LimbStudy {
            robot,
            logs,
            validation: None,
            unknown: LimbUnknown::Friction,
            smoothing: Smoothing::default(),
            passive_tolerance: 0.02,
            exponents: false,
        }
        .run()
        .unwrap_err()
        .to_string()
    };
    let held = data.robot.with_base_held();
    let at = |name: &str| held.joints.iter().position(|joint| joint.name == name).unwrap();
    // The knee beyond the proven domain.
    data.logs[0].log.samples[41].q[at("left_knee")] = 1.0;
    let text = study(&data.logs[..1], &data.robot);
    assert!(
        text.contains("1.csv: sample 42 at t = 0.4100 s") && text.contains("`left_knee` is at 1"),
        "{text}"
    );
    // A passive joint that jumps to the other branch.
    data.logs[1].log.samples[60].q[at("right_tarsus")] += 0.5;
    let text = study(&data.logs[1..2], &data.robot);
    assert!(text.contains("2.csv: sample 61") && text.contains("`right_tarsus`"), "{text}");
    let mut limp = held;
    limp.joints.iter_mut().for_each(|joint| joint.limits.torque = 0.0);
    assert!(study(&data.logs[2..], &limp).contains("no motors"));
}

#[test]
fn a_log_of_other_columns_is_refused() {
    let robot = load_model("digit").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.csv");
    std::fs::write(&path, "t,q1,dq1,tau1\n0,0,0,0\n0.1,0,0,0\n").unwrap();
    let error = MotorLog::read(&path, &robot, &LogRequest::default()).unwrap_err().to_string();
    assert!(error.contains("few.csv") && error.contains("q2"), "{error}");
}
