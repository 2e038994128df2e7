//! The rigid-body algorithms agree with independently computed figures of the Kinova Gen3 with its gripper.

use nalgebra::{Matrix3, Vector3};
use serde::Deserialize;
use surelift::dynamics::{
    BodyPlacement, Composites, Motion, Wrench, crba, momentum_rate_regressor, momentum_regressor, placements,
    rnea, torque_regressor,
};
use surelift::robot::*;

#[derive(Deserialize)]
struct Figures {
    gravity: [f64; 3],
    joints: Vec<JointFigures>,
    states: Vec<State>,
}

#[derive(Deserialize)]
struct JointFigures {
    name: String,
    parent: usize,
    #[serde(rename = "placement_R")]
    rotation: [[f64; 3]; 3],
    #[serde(rename = "placement_p")]
    translation: [f64; 3],
    pi: [f64; 10],
}

#[derive(Deserialize)]
struct State {
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    tau: Vec<f64>,
    #[serde(rename = "M")]
    mass: Vec<Vec<f64>>,
    #[serde(rename = "CTv")]
    ctv: Vec<f64>,
    g: Vec<f64>,
    #[serde(rename = "Hv")]
    momentum: Vec<f64>,
    #[serde(rename = "KE")]
    kinetic: f64,
    #[serde(rename = "oMi")]
    placements: Vec<Placed>,
}

#[derive(Deserialize)]
struct Placed {
    #[serde(rename = "R")]
    rotation: [[f64; 3]; 3],
    p: [f64; 3],
}

fn figures() -> Figures {
    serde_json::from_str(include_str!("figures/kinova_gen3_2f85.json")).unwrap()
}

fn robot(figures: &Figures) -> Robot {
    let joints = figures
        .joints
        .iter()
        .map(|j| Joint {
            name: j.name.clone(),
            link: j.name.clone(),
            kind: JointKind::Continuous,
            parent: j.parent.checked_sub(1),
            placement: Placement {
                rotation: Matrix3::from_fn(|r, c| j.rotation[r][c]),
                translation: Vector3::from(j.translation),
            },
            limits: JointLimits { position: None, velocity: 1.0, torque: 1.0 },
            friction: Friction { coulomb: 0.0, viscous: 0.0, armature: 0.0, offset: 0.0 },
            inertia: j.pi,
        })
        .collect::<Vec<_>>();
    Robot {
        name: "figures".into(),
        gravity: Vector3::from(figures.gravity),
        end_effector: joints.len() - 1,
        joints,
        named_frames: vec![],
        loops: vec![],
        missing: vec![],
        shapes: vec![],
        self_pairs: vec![],
        uncertainty: Uncertainty { link_ratio: 0.05, friction_ratio: 0.05, armature_ratio: 0.05 },
        sensors: SensorBounds {
            position_rad: 0.0,
            velocity_rad_s: 0.0,
            torque_ratio: 0.0,
            torque_abs_nm: 0.0,
        },
        control: ControlGains {
            k_r: 5.0,
            alpha: 20.0,
            v_max: 0.02,
            period_s: 1e-3,
            stiction_speed_rad_s: 1e-3,
        },
    }
}

fn times(y: &[f64], theta: &[f64]) -> Vec<f64> {
    y.chunks(theta.len()).map(|row| row.iter().zip(theta).map(|(a, b)| a * b).sum()).collect()
}

#[track_caller]
fn assert_close(what: &str, got: &[f64], want: &[f64]) {
    let scale = want.iter().fold(1e-3f64, |m, x| m.max(x.abs()));
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-11 * scale, "{what}: {got:?} instead of {want:?}");
    }
}

#[test]
fn every_quantity_agrees_to_eleven_digits() {
    let figures = figures();
    let robot = robot(&figures);
    let n = robot.dof();
    let theta = &robot.nominal_parameters()[..10 * n];
    let mut motion = Motion::new(&robot);
    for s in &figures.states {
        motion.sweep(&robot, &s.q, &s.v, &s.v, &s.a);
        let mut tau = vec![0.0; n];
        rnea(&robot, &motion, theta, &mut vec![Wrench::zero(); n], &mut tau);
        assert_close("rnea", &tau, &s.tau);

        let mut y = vec![0.0; 10 * n * n];
        torque_regressor(&robot, &motion, 0..n, &mut y);
        assert_close("torque regressor", &times(&y, theta), &s.tau);

        y.fill(0.0);
        momentum_regressor(&robot, &motion, 0..n, &mut y);
        let momentum = times(&y, theta);
        assert_close("momentum regressor", &momentum, &s.momentum);
        let kinetic = 0.5 * momentum.iter().zip(&s.v).map(|(p, v)| p * v).sum::<f64>();
        assert_close("kinetic energy", &[kinetic], &[s.kinetic]);

        y.fill(0.0);
        momentum_rate_regressor(&robot, &motion, 0..n, &mut y);
        let want: Vec<f64> = s.ctv.iter().zip(&s.g).map(|(c, g)| c - g).collect();
        assert_close("momentum rate regressor", &times(&y, theta), &want);

        let mut mass = vec![0.0; n * n];
        crba(&robot, &motion, theta, &mut Composites::new(&robot), &mut mass);
        assert_close("mass matrix", &mass, &s.mass.concat());

        let mut placed = vec![BodyPlacement::<f64>::base(); n];
        placements(&robot, &motion, &mut placed);
        for (got, want) in placed.iter().zip(&s.placements) {
            assert_close("origin", &got.origin, &want.p);
            for c in 0..3 {
                assert_close("axis", &got.axes[c], &std::array::from_fn::<_, 3, _>(|r| want.rotation[r][c]));
            }
        }
    }
}

#[test]
fn the_auxiliary_velocity_enters_through_a_skew_symmetric_form() {
    // r' (dM/dt - 2 C(q, dq)) r = 0 for every r, with dM/dt by a central difference.
    let figures = figures();
    let robot = robot(&figures);
    let n = robot.dof();
    let theta = robot.nominal_parameters();
    let mut motion = Motion::new(&robot);
    let mut wrenches = vec![Wrench::zero(); n];
    for s in &figures.states {
        let r = &s.a;
        let mut torque = |dqa: &[f64]| {
            let mut tau = vec![0.0; n];
            motion.sweep(&robot, &s.q, &s.v, dqa, &vec![0.0; n]);
            rnea(&robot, &motion, &theta, &mut wrenches, &mut tau);
            tau
        };
        let (with, without) = (torque(r), torque(&vec![0.0; n]));
        let coriolis: f64 = r.iter().zip(with.iter().zip(&without)).map(|(r, (a, b))| r * (a - b)).sum();
        let mut energy = |step: f64| {
            let q: Vec<f64> = s.q.iter().zip(&s.v).map(|(q, v)| q + step * v).collect();
            let mut mass = vec![0.0; n * n];
            motion.place(&robot, &q);
            crba(&robot, &motion, &theta, &mut Composites::new(&robot), &mut mass);
            times(&mass, r).iter().zip(r).map(|(m, r)| m * r).sum::<f64>()
        };
        let rate = (energy(1e-5) - energy(-1e-5)) / 2e-5;
        assert!((rate - 2.0 * coriolis).abs() < 1e-7 * rate.abs().max(1.0), "{rate} against {coriolis}");
    }
}
