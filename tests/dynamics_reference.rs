//! The rigid-body algorithms agree with independently computed figures of the robots that ship.
//!
//! `tests/figures/*.json` hold a few states each. `SURELIFT_FIGURES=FOLDER cargo test --release --test dynamics_reference
//! -- --ignored --nocapture` takes other files of the same form and prints the largest relative error of each quantity.

use std::collections::BTreeMap;
use std::path::Path;

use nalgebra::{Matrix3, Vector3};
use serde::Deserialize;
use surelift::dynamics::{
    Axes, BodyPlacement, Composites, Motion, Workspace, Wrench, crba, kinetic_energy_regressor,
    momentum_rate_regressor, momentum_regressor, placements, potential_energy_regressor, rnea,
    torque_regressor,
};
use surelift::inertia::INERTIAL;
use surelift::inertia::JointParameters;
use surelift::robot::{self, Model, Placement};

/// Required relative accuracy: of each quantity, relative to its largest component (at least 1e-3).
const ACCURACY: f64 = 1e-11;

#[derive(Deserialize)]
struct Figures {
    robot: String,
    gravity_m_s2: [f64; 3],
    joints: Vec<JointFigures>,
    states: Vec<State>,
}

/// A joint and its body; a free flyer comes first.
#[derive(Deserialize)]
struct JointFigures {
    name: String,
    inertia: [f64; INERTIAL],
}

/// A state and what others computed for it. Joint frames are those of the URDF. A free flyer's numbers are as ours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    q: Vec<f64>,
    dq: Vec<f64>,
    ddq: Vec<f64>,
    torque: Vec<f64>,
    mass_matrix: Vec<Vec<f64>>,
    coriolis_dq: Vec<f64>,
    coriolis_transposed_dq: Vec<f64>,
    gravity_torque: Vec<f64>,
    /// M v.
    momentum: Vec<f64>,
    kinetic_energy: f64,
    potential_energy: f64,
    placements: Vec<Placed>,
    kinetic_regressor: Vec<f64>,
    potential_regressor: Vec<f64>,
    torque_regressor: Option<Vec<Vec<f64>>>,
    momentum_regressor: Option<Vec<Vec<f64>>>,
    /// Times the parameters: C'v.
    coriolis_transposed_regressor: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    frames: Vec<FrameFigures>,
    /// Torque less what the forces on the frames contribute.
    torque_with_forces: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Placed {
    rotation: [[f64; 3]; 3],
    origin: [f64; 3],
}

/// A named frame: Jacobians linear before angular, and the part of the classical acceleration that is not J a.
#[derive(Deserialize)]
struct FrameFigures {
    name: String,
    rotation: [[f64; 3]; 3],
    origin: [f64; 3],
    jacobian_world_aligned: Vec<Vec<f64>>,
    jacobian_local: Vec<Vec<f64>>,
    drift_world_aligned: Vec<f64>,
    /// A force at the frame's origin, in base axes.
    force_world: [f64; 3],
}

fn matrix(rows: &[[f64; 3]; 3]) -> Matrix3<f64> {
    Matrix3::from_fn(|r, c| rows[r][c])
}

/// Largest relative error of each quantity.
#[derive(Default)]
struct Errors(BTreeMap<&'static str, f64>);

impl Errors {
    fn compare(&mut self, what: &'static str, got: &[f64], want: &[f64]) {
        self.compare_at(what, 1e-3, got, want);
    }

    /// Compares relative to the largest component, or to `scale` if that is larger.
    fn compare_at(&mut self, what: &'static str, scale: f64, got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len(), "{what}");
        let scale = want.iter().fold(scale, |m, x| m.max(x.abs()));
        let error = got.iter().zip(want).map(|(g, w)| (g - w).abs() / scale);
        // A result that is not a number is as wrong as can be.
        let error = error.fold(0.0f64, |m, e| if e <= m { m } else { e });
        let worst = self.0.entry(what).or_default();
        *worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
    }

    fn placement(&mut self, what: &'static str, got: &Placement, rotation: &Matrix3<f64>, origin: &[f64; 3]) {
        self.compare(what, got.rotation.as_slice(), rotation.as_slice());
        self.compare(what, got.translation.as_slice(), origin);
    }
}

/// A robot that ships, without friction, beside figures for it.
struct Case {
    robot: Model,
    /// Our joint frames, whose z is the axis, in those of the URDF.
    turns: Vec<Matrix3<f64>>,
    theta: Vec<f64>,
    figures: Figures,
}

/// The parameters of a body in axes turned by `turn`.
fn turned(theta: &[f64; INERTIAL], turn: &Matrix3<f64>) -> [f64; INERTIAL] {
    let [m, hx, hy, hz, xx, xy, yy, xz, yz, zz] = *theta;
    let h = turn.transpose() * Vector3::new(hx, hy, hz);
    let i = turn.transpose() * Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz) * turn;
    [m, h.x, h.y, h.z, i.m11, i.m12, i.m22, i.m13, i.m23, i.m33]
}

impl Case {
    fn new(text: &str) -> Self {
        let figures: Figures = serde_json::from_str(text).unwrap();
        let mut robot = robot::load_model(&figures.robot).unwrap();
        assert_eq!(robot.bodies(), figures.joints.len());
        let state = &figures.states[0];
        let turns: Vec<_> = robot
            .frames(&state.q)
            .iter()
            .zip(&state.placements)
            .map(|(ours, theirs)| matrix(&theirs.rotation).transpose() * ours.rotation)
            .collect();
        let floats = robot.has_free_flyer();
        for (i, (joint, given)) in robot.joints.iter_mut().zip(&figures.joints).enumerate() {
            assert!(joint.name == given.name || (i == 0 && floats), "{} for {}", joint.name, given.name);
            let reference = turned(&given.inertia, &turns[i]);
            let close =
                |k: usize| (joint.inertia[k] - reference[k]).abs() <= 1e-14 * (1.0 + reference[k].abs());
            // The one inertia that is replaced in the robots that ship belongs to the root, and only its products differ.
            let replaced = i == 0 && floats;
            let product = |k: usize| (k == 5 || k == 7 || k == 8) && replaced;
            for k in 0..INERTIAL {
                assert!(close(k) || product(k), "{}: {:?} is not {reference:?}", joint.name, joint.inertia);
                let difference = (joint.inertia[k] - reference[k]).abs();
                assert!(difference <= 1e-6 * (1.0 + 1e-9), "{}: {difference}", joint.name);
            }
            joint.inertia = reference;
            joint.friction = JointParameters { coulomb: 0.0, viscous: 0.0, armature: 0.0, offset: 0.0 };
        }
        assert_eq!(robot.gravity, Vector3::from(figures.gravity_m_s2));
        Self { theta: robot.nominal_parameters(), robot, turns, figures }
    }

    /// Rows of a regressor of ours (row-major) in the parameters of the figures.
    fn in_their_parameters(&self, y: &[f64]) -> Vec<f64> {
        let columns = INERTIAL * self.robot.bodies();
        let mut out = Vec::with_capacity(y.len());
        for row in y.chunks(columns) {
            for (block, turn) in row.chunks(INERTIAL).zip(&self.turns) {
                for k in 0..INERTIAL {
                    let mut unit = [0.0; INERTIAL];
                    unit[k] = 1.0;
                    out.push(block.iter().zip(turned(&unit, turn)).map(|(y, x)| y * x).sum());
                }
            }
        }
        out
    }

    /// Compares every quantity of every state.
    fn errors(&self) -> Errors {
        let mut errors = Errors::default();
        for state in &self.figures.states {
            self.kinematics(state, &mut errors);
            self.any_scalar(state, &mut errors);
            self.plain(state, &mut errors);
            self.frames(state, &mut errors);
        }
        errors
    }

    fn kinematics(&self, state: &State, errors: &mut Errors) {
        let frames = self.robot.frames(&state.q);
        for ((ours, theirs), turn) in frames.iter().zip(&state.placements).zip(&self.turns) {
            errors.placement("placements", ours, &(matrix(&theirs.rotation) * turn), &theirs.origin);
        }
    }

    /// The algorithms on plain numbers.
    fn plain(&self, s: &State, errors: &mut Errors) {
        let (robot, theta) = (&self.robot, &self.theta[..]);
        let n = robot.nv();
        let mut work = Workspace::new(robot);
        let mut out = vec![0.0; n];
        work.inverse_dynamics(robot, &s.q, &s.dq, &s.ddq, theta, &mut out);
        errors.compare("inverse dynamics", &out, &s.torque);
        work.forward_dynamics(robot, &s.q, &s.dq, &s.torque, theta, &mut out);
        // Where the accelerations are zero, torques balance gravity: its acceleration is the scale of what cancels.
        errors.compare_at("forward dynamics", robot.gravity.norm(), &out, &s.ddq);
        work.bias(robot, &s.q, &s.dq, theta, &mut out);
        errors.compare("bias", &out, &sum(&s.coriolis_dq, &s.gravity_torque, 1.0));
        work.gravity_torques(robot, &s.q, theta, &mut out);
        errors.compare("gravity torque", &out, &s.gravity_torque);
        let energy = work.energy(robot, &s.q, &s.dq, theta);
        errors.compare("kinetic energy", &[energy.kinetic], &[s.kinetic_energy]);
        errors.compare("potential energy", &[energy.potential], &[s.potential_energy]);

        let mut square = vec![0.0; n * n];
        work.mass_matrix(robot, &s.q, theta, &mut square);
        errors.compare("mass matrix", &square, &s.mass_matrix.concat());
        errors.compare("momentum", &product(&square, &s.dq), &s.momentum);
        work.coriolis_matrix(robot, &s.q, &s.dq, theta, &mut square);
        errors.compare("Coriolis matrix x velocity", &product(&square, &s.dq), &s.coriolis_dq);
        let transposed: Vec<f64> = (0..n * n).map(|k| square[k % n * n + k / n]).collect();
        let what = "Coriolis matrix, transposed, x velocity";
        errors.compare(what, &product(&transposed, &s.dq), &s.coriolis_transposed_dq);
    }

    /// Named frames, and the forces on them.
    fn frames(&self, s: &State, errors: &mut Errors) {
        let (robot, n) = (&self.robot, self.robot.nv());
        let mut work = Workspace::new(robot);
        work.place_moving(robot, &s.q, &s.dq, &vec![0.0; n]);
        let mut torque = s.torque.clone();
        for given in &s.frames {
            let named = &robot.named_frames[robot.frame_index(&given.name).unwrap()];
            // Named frames are those of links, whose axes are the URDF's.
            let placed = work.frame_placement(named);
            errors.placement("frame placements", &placed, &matrix(&given.rotation), &given.origin);
            let mut jacobian = vec![0.0; 6 * n];
            work.frame_jacobian(robot, named, Axes::Local, &mut jacobian);
            errors.compare("frame Jacobians, local", &jacobian, &given.jacobian_local.concat());
            work.frame_jacobian(robot, named, Axes::WorldAligned, &mut jacobian);
            let what = "frame Jacobians, world-aligned";
            errors.compare(what, &jacobian, &given.jacobian_world_aligned.concat());
            let drift = work.frame_acceleration(named, Axes::WorldAligned);
            errors.compare("frame drift, world-aligned", &drift, &given.drift_world_aligned);
            for (k, tau) in torque.iter_mut().enumerate() {
                *tau -= (0..3).map(|r| jacobian[r * n + k] * given.force_world[r]).sum::<f64>();
            }
        }
        if let Some(want) = &s.torque_with_forces {
            errors.compare("torque less that of forces on frames", &torque, want);
        }
    }

    /// The algorithms that are written for any scalar.
    fn any_scalar(&self, s: &State, errors: &mut Errors) {
        let (robot, n, bodies) = (&self.robot, self.robot.nv(), self.robot.bodies());
        let theta = &self.theta[..INERTIAL * bodies];
        let mut motion = Motion::new(robot);
        motion.sweep(robot, &s.q, &s.dq, &s.dq, &s.ddq);
        let mut tau = vec![0.0; n];
        rnea(robot, &motion, theta, &mut vec![Wrench::zero(); bodies], &mut tau);
        errors.compare("inverse dynamics, any scalar", &tau, &s.torque);

        let blank = vec![0.0; n * INERTIAL * bodies];
        let mut y = blank.clone();
        torque_regressor(robot, &motion, 0..bodies, &mut y);
        errors.compare("torque regressor x parameters", &times(&y, theta), &s.torque);
        if let Some(want) = &s.torque_regressor {
            errors.compare("torque regressor", &self.in_their_parameters(&y), &want.concat());
        }
        y.clone_from(&blank);
        momentum_regressor(robot, &motion, 0..bodies, &mut y);
        errors.compare("momentum regressor x parameters", &times(&y, theta), &s.momentum);
        if let Some(want) = &s.momentum_regressor {
            errors.compare("momentum regressor", &self.in_their_parameters(&y), &want.concat());
        }
        y.clone_from(&blank);
        momentum_rate_regressor(robot, &motion, 0..bodies, &mut y);
        let want = sum(&s.coriolis_transposed_dq, &s.gravity_torque, -1.0);
        errors.compare("momentum rate regressor x parameters", &times(&y, theta), &want);
        if let Some(want) = &s.coriolis_transposed_regressor {
            // Without gravity it is the regressor of C'v alone.
            let weightless = Model { gravity: Vector3::zeros(), ..robot.clone() };
            motion.sweep(&weightless, &s.q, &s.dq, &s.dq, &s.ddq);
            y.clone_from(&blank);
            momentum_rate_regressor(&weightless, &motion, 0..bodies, &mut y);
            errors.compare(
                "momentum rate regressor, weightless",
                &self.in_their_parameters(&y),
                &want.concat(),
            );
        }

        let mut mass = vec![0.0; n * n];
        crba(robot, &motion, theta, &mut Composites::new(robot), &mut mass);
        errors.compare("mass matrix, any scalar", &mass, &s.mass_matrix.concat());

        let mut placed = vec![BodyPlacement::<f64>::base(); bodies];
        placements(robot, &motion, &mut placed);
        for ((got, want), turn) in placed.iter().zip(&s.placements).zip(&self.turns) {
            let axes = Matrix3::from_columns(&got.axes.map(Vector3::from));
            let got = Placement { rotation: axes, translation: got.origin.into() };
            errors.placement("placements, any scalar", &got, &(matrix(&want.rotation) * turn), &want.origin);
        }
        let mut y = vec![0.0; INERTIAL * bodies];
        kinetic_energy_regressor(&motion, &mut y);
        errors.compare("kinetic energy regressor", &self.in_their_parameters(&y), &s.kinetic_regressor);
        potential_energy_regressor(robot, &placed, &mut y);
        errors.compare("potential energy regressor", &self.in_their_parameters(&y), &s.potential_regressor);
    }
}

/// A regressor times the parameters that it belongs to.
fn times(y: &[f64], theta: &[f64]) -> Vec<f64> {
    y.chunks(theta.len()).map(|row| row.iter().zip(theta).map(|(a, b)| a * b).sum()).collect()
}

/// A square matrix times a vector.
fn product(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks(x.len()).map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum()).collect()
}

/// a + sign b.
fn sum(a: &[f64], b: &[f64], sign: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + sign * b).collect()
}

const FIGURES: [&str; 3] = [
    include_str!("figures/kinova_gen3_2f85.json"),
    include_str!("figures/z1.json"),
    include_str!("figures/go1.json"),
];

#[test]
fn every_quantity_agrees_to_eleven_digits() {
    for text in FIGURES {
        let case = Case::new(text);
        for (what, error) in case.errors().0 {
            assert!(error <= ACCURACY, "{}: {what}: {error:e}", case.robot.name);
        }
    }
}

#[test]
#[ignore = "needs files of figures in the folder SURELIFT_FIGURES"]
fn figures_of_a_folder() {
    let folder = std::env::var("SURELIFT_FIGURES").expect("SURELIFT_FIGURES names a folder");
    let mut files: Vec<_> =
        std::fs::read_dir(Path::new(&folder)).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "json")) {
        let case = Case::new(&std::fs::read_to_string(file).unwrap());
        println!("{}, {} states", case.robot.name, case.figures.states.len());
        for (what, error) in case.errors().0 {
            println!("  {what:36} {error:.1e}");
            assert!(error <= ACCURACY, "{what}");
        }
    }
}

#[test]
fn the_auxiliary_velocity_enters_through_a_skew_symmetric_form() {
    // r' (dM/dt - 2 C(q, dq)) r = 0 for every r, with dM/dt by a central difference.
    let case = Case::new(FIGURES[0]);
    let (robot, theta) = (&case.robot, &case.theta[..]);
    let n = robot.nv();
    let mut motion = Motion::new(robot);
    let mut wrenches = vec![Wrench::zero(); n];
    for s in &case.figures.states {
        let r = &s.ddq;
        let mut torque = |dqa: &[f64]| {
            let mut tau = vec![0.0; n];
            motion.sweep(robot, &s.q, &s.dq, dqa, &vec![0.0; n]);
            rnea(robot, &motion, theta, &mut wrenches, &mut tau);
            tau
        };
        let (with, without) = (torque(r), torque(&vec![0.0; n]));
        let coriolis: f64 = r.iter().zip(with.iter().zip(&without)).map(|(r, (a, b))| r * (a - b)).sum();
        let mut energy = |step: f64| {
            let q: Vec<f64> = s.q.iter().zip(&s.dq).map(|(q, v)| q + step * v).collect();
            let mut mass = vec![0.0; n * n];
            motion.place(robot, &q);
            crba(robot, &motion, theta, &mut Composites::new(robot), &mut mass);
            let row = |m: &[f64]| m.iter().zip(r).map(|(m, r)| m * r).sum::<f64>();
            mass.chunks(n).zip(r).map(|(m, r)| row(m) * r).sum::<f64>()
        };
        let rate = (energy(1e-5) - energy(-1e-5)) / 2e-5;
        assert!((rate - 2.0 * coriolis).abs() < 1e-7 * rate.abs().max(1.0), "{rate} against {coriolis}");
    }
}
