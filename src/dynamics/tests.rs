//! Properties that hold for any robot, on random trees of random joints.

mod rotors;

use nalgebra::{DMatrix, DVector, Matrix3, Rotation3, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::inertia::{INERTIAL, pseudo::from_center_of_mass};
use crate::robot::configuration::{difference, integrate, random};
use crate::robot::fixture::{floating, small_model};
use crate::robot::load::tests::with_grip;
use crate::robot::{Arm, Joint, JointKind, Model, NamedFrame, Placement};
use crate::scalar::{Dual, Scalar};

fn vector(rng: &mut impl RngExt, range: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| rng.random_range(-range..range))
}

pub(super) fn vec_of(rng: &mut impl RngExt, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

pub(super) fn placement(rng: &mut impl RngExt) -> Placement {
    Placement { rotation: Rotation3::new(vector(rng, 2.0)).into_inner(), translation: vector(rng, 0.4) }
}

fn inertia(rng: &mut impl RngExt) -> [f64; INERTIAL] {
    let (mass, com) = (rng.random_range(0.3..3.0), vector(rng, 0.2));
    let masses: Vec<_> = (0..4).map(|_| (rng.random_range(0.1..1.0), vector(rng, 0.2))).collect();
    let point =
        |(m, p): &(f64, Vector3<f64>)| (Matrix3::identity() * p.norm_squared() - p * p.transpose()) * *m;
    from_center_of_mass(mass, &com, &masses.iter().map(point).sum())
}

/// A tree of up to 30 joints, each a random kind on a random earlier one; with a free flyer if asked.
pub(super) fn tree(rng: &mut impl RngExt, afloat: bool) -> Model {
    let mut robot = small_model();
    let count = rng.random_range(1..=29);
    let pattern = robot.joints[0].clone();
    robot.joints = (0..count)
        .map(|i: usize| {
            let kinds = [JointKind::Revolute, JointKind::Continuous, JointKind::Prismatic];
            let mut joint: Joint = pattern.clone();
            joint.kind = kinds[rng.random_range(0..3)];
            joint.limits.position = (joint.kind != JointKind::Continuous).then_some((-1.5, 1.5));
            // Mostly chains, some branches, sometimes several roots.
            let back = rng.random_range(0..8) / 3;
            joint.parent = i.checked_sub(1).map(|last| last - back.min(last));
            if i > 0 && rng.random_range(0..12) == 0 {
                joint.parent = None;
            }
            joint.placement = placement(rng);
            joint.inertia = inertia(rng);
            joint.friction.armature = rng.random_range(0.0..0.5);
            joint
        })
        .collect();
    if afloat { floating(robot) } else { robot }
}

/// With rotors that ride on the links before, for some of the joints that turn.
fn with_rotors(mut robot: Model, rng: &mut impl RngExt) -> Model {
    for joint in &mut robot.joints {
        let ratio = rng.random_range(6.0..60.0) * if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        joint.gear_ratio = (rng.random_bool(0.5) && joint.kind.is_rotation()).then_some(ratio);
    }
    robot
}

/// Runs a property on trees with and without a free flyer, at random states (q, v, a); half of the joints that turn have rotors on other links.
fn for_trees(seed: u64, property: impl FnMut(&Model, &mut ChaCha8Rng, &[f64], &[f64], &[f64])) {
    let mut rotors = ChaCha8Rng::seed_from_u64(seed + 100);
    for_trees_made(seed, |robot| with_rotors(robot, &mut rotors), property);
}

/// The same with all rotors for their own joints alone: the generic algorithms know links only.
fn for_plain_trees(seed: u64, property: impl FnMut(&Model, &mut ChaCha8Rng, &[f64], &[f64], &[f64])) {
    for_trees_made(seed, |robot| robot, property);
}

fn for_trees_made(
    seed: u64,
    mut made: impl FnMut(Model) -> Model,
    mut property: impl FnMut(&Model, &mut ChaCha8Rng, &[f64], &[f64], &[f64]),
) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..24 {
        let robot = made(tree(&mut rng, round % 2 == 0));
        let q = random(&robot, &mut rng);
        let (v, a) = (vec_of(&mut rng, robot.nv()), vec_of(&mut rng, robot.nv()));
        property(&robot, &mut rng, &q, &v, &a);
    }
}

#[track_caller]
pub(super) fn assert_close(what: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * scale, "{what}[{k}]: {g} instead of {w} (scale {scale})");
    }
}

pub(super) fn matrix(n: usize, x: &[f64]) -> DMatrix<f64> {
    DMatrix::from_row_slice(n, x.len() / n, x)
}

/// q (+) step * v.
pub(super) fn moved(robot: &Model, q: &[f64], v: &[f64], step: f64) -> Vec<f64> {
    let mut to = vec![0.0; robot.nq()];
    integrate(robot, q, &v.iter().map(|v| step * v).collect::<Vec<_>>(), &mut to);
    to
}

pub(super) fn unit(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| if i == k { 1.0 } else { 0.0 }).collect()
}

pub(super) fn plus(x: &[f64], step: f64, y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + step * y).collect()
}

/// Central difference of a vector function at 0.
fn slope(f: impl Fn(f64) -> Vec<f64>) -> Vec<f64> {
    let h = 2e-6;
    f(h).iter().zip(f(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect()
}

/// Columns k of the derivative of f(q (+) x e_k).
fn columns(robot: &Model, f: impl Fn(&[f64], f64) -> Vec<f64>) -> Vec<f64> {
    let n = robot.nv();
    let columns: Vec<_> = (0..n).map(|k| slope(|h| f(&unit(n, k), h))).collect();
    (0..columns[0].len()).flat_map(|r| columns.iter().map(move |c| c[r])).collect()
}

fn inverse_dynamics(robot: &Model, q: &[f64], v: &[f64], a: &[f64], theta: &[f64]) -> Vec<f64> {
    let mut tau = vec![0.0; robot.nv()];
    Workspace::new(robot).inverse_dynamics(robot, q, v, a, theta, &mut tau);
    tau
}

type D = Dual<f64, 1>;

/// q (+) epsilon e_k, to first order, with epsilon in the slopes.
fn varied(robot: &Model, q: &[f64], k: usize) -> Vec<D> {
    let mut q: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
    if !robot.has_free_flyer() {
        q[k].slope[0] = 1.0;
    } else if k >= 6 {
        q[k + 1].slope[0] = 1.0;
    } else {
        let [x, y, z, w] = [3, 4, 5, 6].map(|i| q[i].value);
        if k < 3 {
            let axes = BodyPlacement::<f64>::from_quaternion([x, y, z, w], [0.0; 3]).axes;
            (0..3).for_each(|r| q[r].slope[0] = axes[k][r]);
        } else {
            // q times the quaternion (e / 2, 0).
            let rate = [[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]][k - 3];
            (0..4).for_each(|r| q[3 + r].slope[0] = 0.5 * rate[r]);
        }
    }
    q
}

#[test]
fn derivatives_of_inverse_dynamics_are_those_of_dual_numbers() {
    for_plain_trees(11, |robot, _, q, v, a| {
        let (n, theta) = (robot.nv(), robot.nominal_parameters());
        let mut out = InverseDerivatives::new(robot);
        Workspace::new(robot).inverse_dynamics_derivatives(robot, q, v, a, &theta, &mut out);
        let plain = |x: &[f64]| x.iter().map(|x| D::constant(*x)).collect::<Vec<_>>();
        let (dq, dv, da, parameters) = (plain(q), plain(v), plain(a), plain(&theta));
        let mut motion = Motion::new(robot);
        let mut run = |q: &[D], v: &[D]| {
            let mut tau = vec![D::zero(); n];
            motion.sweep_plain(robot, q, v, &da);
            rnea(robot, &motion, &parameters, &mut vec![Wrench::zero(); robot.bodies()], &mut tau);
            tau
        };
        for k in 0..n {
            let by_q: Vec<f64> = run(&varied(robot, q, k), &dv).iter().map(|x| x.slope[0]).collect();
            let mut v = dv.clone();
            v[k].slope[0] = 1.0;
            let by_v: Vec<f64> = run(&dq, &v).iter().map(|x| x.slope[0]).collect();
            let column = |m: &[f64]| (0..n).map(|r| m[n * r + k]).collect::<Vec<_>>();
            assert_close(&format!("by q, column {k}"), &column(&out.by_q), &by_q, 1e-11);
            assert_close(&format!("by v, column {k}"), &column(&out.by_v), &by_v, 1e-11);
        }
        let mut mass = vec![0.0; n * n];
        Workspace::new(robot).mass_matrix(robot, q, &theta, &mut mass);
        assert_close("mass", &out.mass, &mass, 1e-12);
        assert_close("tau", &out.tau, &inverse_dynamics(robot, q, v, a, &theta), 1e-12);
    });
}

#[test]
fn forward_dynamics_undo_inverse_dynamics() {
    for_trees(12, |robot, _, q, v, a| {
        let (n, theta) = (robot.nv(), robot.nominal_parameters());
        let mut space = Workspace::new(robot);
        let tau = inverse_dynamics(robot, q, v, a, &theta);
        let mut back = vec![0.0; n];
        space.forward_dynamics(robot, q, v, &tau, &theta, &mut back);
        assert_close("a", &back, a, 1e-9);

        let mut mass = vec![0.0; n * n];
        space.mass_matrix(robot, q, &theta, &mut mass);
        let m = matrix(n, &mass);
        assert_eq!(m, m.transpose());
        assert!(m.clone().cholesky().is_some(), "not positive definite");
        let mut factor = MassFactor::new(robot);
        factor.factorise(&mass);
        let mut inverse = vec![0.0; n * n];
        factor.inverse(&mut inverse);
        assert_close(
            "M M^-1",
            (&m * matrix(n, &inverse)).as_slice(),
            DMatrix::identity(n, n).as_slice(),
            1e-9,
        );
        let mut x = (m * DVector::from_column_slice(a)).as_slice().to_vec();
        factor.solve(&mut x);
        assert_close("M^-1 M a", &x, a, 1e-9);
    });
}

#[test]
fn derivatives_of_forward_dynamics_are_those_of_differences() {
    for_trees(13, |robot, rng, q, v, _| {
        let (n, theta) = (robot.nv(), robot.nominal_parameters());
        let tau = vec_of(rng, n);
        let mut out = ForwardDerivatives::new(robot);
        Workspace::new(robot).forward_dynamics_derivatives(robot, q, v, &tau, &theta, &mut out);
        let answer = |q: &[f64], v: &[f64], tau: &[f64]| {
            let mut a = vec![0.0; n];
            Workspace::new(robot).forward_dynamics(robot, q, v, tau, &theta, &mut a);
            a
        };
        assert_close("a", &out.a, &answer(q, v, &tau), 1e-14);
        let by_q = columns(robot, |e, h| answer(&moved(robot, q, e, h), v, &tau));
        let by_v = columns(robot, |e, h| answer(q, &plus(v, h, e), &tau));
        let by_tau = columns(robot, |e, h| answer(q, v, &plus(&tau, h, e)));
        assert_close("by q", &out.by_q, &by_q, 1e-6);
        assert_close("by v", &out.by_v, &by_v, 1e-6);
        assert_close("by tau", &out.by_tau, &by_tau, 1e-6);
        let mut inverse = vec![0.0; n * n];
        let mut factor = MassFactor::new(robot);
        factor.factorise(out.mass());
        factor.inverse(&mut inverse);
        assert_close("M^-1", &out.by_tau, &inverse, 1e-11);

        let mut space = Workspace::new(robot);
        space.forward_dynamics_derivatives(robot, q, v, &tau, &theta, &mut out);
        let width = INERTIAL * robot.bodies();
        let mut by_theta = vec![0.0; n * width];
        space.forward_dynamics_by_parameters(robot, q, v, &out, &mut by_theta);
        for _ in 0..4 {
            let p = rng.random_range(0..width);
            let want = slope(|h| {
                let mut a = vec![0.0; n];
                let theta = plus(&theta, h, &unit(theta.len(), p));
                Workspace::new(robot).forward_dynamics(robot, q, v, &tau, &theta, &mut a);
                a
            });
            let got: Vec<f64> = (0..n).map(|r| by_theta[width * r + p]).collect();
            assert_close("by a parameter", &got, &want, 1e-6);
        }
    });
}

#[test]
fn the_coriolis_matrix_fits_the_mass_matrix() {
    for_trees(14, coriolis_fits);
    for_plain_trees(14, coriolis_fits);
}

fn coriolis_fits(robot: &Model, rng: &mut ChaCha8Rng, q: &[f64], v: &[f64], _: &[f64]) {
    let (n, theta) = (robot.nv(), robot.nominal_parameters());
    let mut space = Workspace::new(robot);
    let (mut c, mut bias, mut gravity) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
    space.coriolis_matrix(robot, q, v, &theta, &mut c);
    space.bias(robot, q, v, &theta, &mut bias);
    space.gravity_torques(robot, q, &theta, &mut gravity);
    let c = matrix(n, &c);
    let cv = &c * DVector::from_column_slice(v);
    assert_close("C v + g", &plus(cv.as_slice(), 1.0, &gravity), &bias, 1e-11);
    let rate = slope(|h| {
        let mut mass = vec![0.0; n * n];
        Workspace::new(robot).mass_matrix(robot, &moved(robot, q, v, h), &theta, &mut mass);
        mass
    });
    let rate = matrix(n, &rate);
    let mut mass = vec![0.0; n * n];
    space.mass_matrix(robot, q, &theta, &mut mass);
    let mass = matrix(n, &mass);
    assert_eq!(mass, mass.transpose());
    assert!(mass.cholesky().is_some(), "the mass matrix is not positive definite");
    assert_close("C + C'", (&c + c.transpose()).as_slice(), rate.as_slice(), 1e-8);
    let r = DVector::from_vec(vec_of(rng, n));
    let skew = r.dot(&((rate - &c * 2.0) * &r));
    assert!(skew.abs() < 1e-7 * (1.0 + c.norm()), "{skew}");

    // C'v - g is the momentum rate regressor times the parameters, of links.
    if robot.joints.iter().any(|joint| joint.gear_ratio.is_some()) {
        return;
    }
    let inertial = INERTIAL * robot.bodies();
    let mut y = vec![0.0; n * inertial];
    let mut motion = Motion::new(robot);
    motion.sweep_plain(robot, q, v, &vec![0.0; n]);
    momentum_rate_regressor(robot, &motion, 0..robot.bodies(), &mut y);
    let got = matrix(n, &y) * DVector::from_column_slice(&theta[..inertial]);
    let want = c.transpose() * DVector::from_column_slice(v) - DVector::from_vec(gravity);
    assert_close("C'v - g", got.as_slice(), want.as_slice(), 1e-11);
}

#[test]
fn regressors_times_parameters_are_the_dynamics() {
    for_trees(15, |robot, rng, q, v, a| {
        let (n, bodies) = (robot.nv(), robot.bodies());
        let inertial = INERTIAL * bodies;
        // Any numbers will do, physical or not; without transmission inertia.
        let mut theta = vec_of(rng, robot.parameter_count());
        theta[inertial..].fill(0.0);
        let times = |y: &[f64]| {
            (matrix(y.len() / inertial, y) * DVector::from_column_slice(&theta[..inertial]))
                .as_slice()
                .to_vec()
        };
        let mut space = Workspace::new(robot);
        let mut tau = vec![0.0; n];
        space.inverse_dynamics(robot, q, v, a, &theta, &mut tau);
        let mut y = vec![0.0; n * inertial];
        torque_regressor(robot, space.motion(), 0..bodies, &mut y);
        assert_close("torque", &times(&y), &tau, 1e-11);
        let mut mass = vec![0.0; n * n];
        momentum_regressor(robot, space.motion(), 0..bodies, &mut y);
        let (mut units, mut visited) = (UnitMotions::empty(), vec![0.0; n * inertial]);
        units.place(robot, space.motion());
        units.momentum(space.motion(), |row, i, ten| {
            visited[inertial * row + INERTIAL * i..][..INERTIAL].copy_from_slice(ten);
        });
        assert_eq!(visited, y);
        let mut kinetic = vec![0.0; inertial];
        kinetic_energy_regressor(space.motion(), &mut kinetic);
        let mut placed = vec![BodyPlacement::base(); bodies];
        placements(robot, space.motion(), &mut placed);
        let mut potential = vec![0.0; inertial];
        potential_energy_regressor(robot, &placed, &mut potential);
        space.mass_matrix(robot, q, &theta, &mut mass);
        let momentum = matrix(n, &mass) * DVector::from_column_slice(v);
        assert_close("momentum", &times(&y), momentum.as_slice(), 1e-11);
        let energy = space.energy(robot, q, v, &theta);
        assert_close("kinetic", &times(&kinetic), &[energy.kinetic], 1e-11);
        assert_close("potential", &times(&potential), &[energy.potential], 1e-11);
        let half = 0.5 * momentum.dot(&DVector::from_column_slice(v));
        assert_close("v'M v / 2", &[energy.kinetic], &[half], 1e-11);
    });
}

#[test]
fn power_goes_into_energy() {
    for_trees(16, |robot, _, q, v, a| {
        let theta = robot.nominal_parameters();
        let tau = inverse_dynamics(robot, q, v, a, &theta);
        let power: f64 = tau.iter().zip(v).map(|(t, v)| t * v).sum();
        let rate = slope(|h| {
            let energy = Workspace::new(robot).energy(robot, &moved(robot, q, v, h), &plus(v, h, a), &theta);
            vec![energy.mechanical()]
        });
        assert_close("power", &rate, &[power], 1e-6);
    });
}

#[test]
fn the_center_of_mass_and_its_momentum_move_as_they_should() {
    for_trees(17, |robot, _, q, v, _| {
        let (n, theta) = (robot.nv(), robot.nominal_parameters());
        let mut space = Workspace::new(robot);
        let now = space.centroidal(robot, q, v, &theta);
        let rate = slope(|h| {
            Workspace::new(robot).centroidal(robot, &moved(robot, q, v, h), v, &theta).com.to_vec()
        });
        assert_close("velocity of the com", &now.velocity, &rate, 1e-7);
        let mut a = vec![0.0; 6 * n];
        space.centroidal_matrix(robot, q, &theta, &mut a);
        let momentum = matrix(6, &a) * DVector::from_column_slice(v);
        assert_close("momentum", momentum.as_slice(), &[now.linear, now.angular].concat(), 1e-11);
        // A body's placement is that of the generic algorithms and of the model.
        let mut motion = Motion::new(robot);
        motion.place(robot, q);
        let mut placed = vec![BodyPlacement::base(); robot.bodies()];
        placements(robot, &motion, &mut placed);
        for (i, frame) in robot.frames(q).iter().enumerate() {
            for other in [space.body_placement(i), placed[i].to_placement()] {
                assert_close("origin", other.translation.as_slice(), frame.translation.as_slice(), 1e-12);
                assert_close("axes", other.rotation.as_slice(), frame.rotation.as_slice(), 1e-12);
            }
        }
    });
}

/// A frame's pose relative to where it is at q, as a tangent vector in the view's axes.
fn pose_change(robot: &Model, frame: &NamedFrame, axes: Axes, q: &[f64], to: &[f64]) -> Vec<f64> {
    let at = |q: &[f64]| {
        let mut space = Workspace::new(robot);
        space.place(robot, q);
        space.frame_placement(frame)
    };
    let (a, b) = (at(q), at(to));
    // The sine of a small angle; its arccosine would be off.
    let turn = b.rotation * a.rotation.transpose();
    let turn = 0.5
        * Vector3::new(turn[(2, 1)] - turn[(1, 2)], turn[(0, 2)] - turn[(2, 0)], turn[(1, 0)] - turn[(0, 1)]);
    let shift = b.translation - a.translation;
    let (lin, ang) = match axes {
        Axes::WorldAligned => (shift, turn),
        Axes::Local => (a.rotation.transpose() * shift, a.rotation.transpose() * turn),
        // The point of the body at the origin.
        Axes::World => (shift - turn.cross(&a.translation), turn),
    };
    [lin.as_slice(), ang.as_slice()].concat()
}

#[test]
fn frames_move_as_their_jacobians_say() {
    for_trees(18, |robot, rng, q, v, a| {
        let n = robot.nv();
        let joint = Some(rng.random_range(0..robot.bodies()));
        let frame = NamedFrame { name: "hand".into(), joint, placement: placement(rng) };
        let at = |q: &[f64], v: &[f64], a: &[f64]| {
            let mut space = Workspace::new(robot);
            space.place_moving(robot, q, v, a);
            space
        };
        for axes in [Axes::Local, Axes::WorldAligned, Axes::World] {
            let space = at(q, v, a);
            let (mut j, mut rate) = (vec![0.0; 6 * n], vec![0.0; 6 * n]);
            space.frame_jacobian(robot, &frame, axes, &mut j);
            let want = columns(robot, |e, h| pose_change(robot, &frame, axes, q, &moved(robot, q, e, h)));
            assert_close(&format!("{axes:?} J"), &j, &want, 1e-8);
            let velocity = matrix(6, &j) * DVector::from_column_slice(v);
            assert_close("J v", &space.frame_velocity(&frame, axes), velocity.as_slice(), 1e-12);
            space.frame_jacobian_rate(robot, &frame, axes, &mut rate);
            let want = slope(|h| {
                let mut j = vec![0.0; 6 * n];
                at(&moved(robot, q, v, h), v, a).frame_jacobian(robot, &frame, axes, &mut j);
                j
            });
            assert_close(&format!("{axes:?} dJ"), &rate, &want, 1e-7);
            let acceleration = matrix(6, &rate) * DVector::from_column_slice(v)
                + matrix(6, &j) * DVector::from_column_slice(a);
            let got = space.frame_acceleration(&frame, axes);
            assert_close("dJ v + J a", &got, acceleration.as_slice(), 1e-11);

            let mut out = FrameDerivatives::new(robot);
            space.frame_derivatives(robot, &frame, axes, &mut out);
            assert_close("J again", &out.jacobian, &j, 1e-13);
            let velocity = |q: &[f64], v: &[f64]| at(q, v, a).frame_velocity(&frame, axes).to_vec();
            let acceleration = |q: &[f64], v: &[f64]| at(q, v, a).frame_acceleration(&frame, axes).to_vec();
            let want = columns(robot, |e, h| velocity(&moved(robot, q, e, h), v));
            assert_close(&format!("{axes:?} dv/dq"), &out.velocity_by_q, &want, 1e-7);
            let want = columns(robot, |e, h| acceleration(&moved(robot, q, e, h), v));
            assert_close(&format!("{axes:?} da/dq"), &out.acceleration_by_q, &want, 1e-7);
            let want = columns(robot, |e, h| acceleration(q, &plus(v, h, e)));
            assert_close(&format!("{axes:?} da/dv"), &out.acceleration_by_v, &want, 1e-7);
        }
    });
}

#[test]
fn the_auxiliary_velocity_enters_through_the_coriolis_matrix() {
    // On a fixed base the passivity form and the Coriolis matrix need not be the same; both are skew against dM/dt.
    for_plain_trees(19, |robot, rng, q, v, a| {
        let (n, theta) = (robot.nv(), robot.nominal_parameters());
        let r = vec_of(rng, n);
        let mut motion = Motion::new(robot);
        let mut run = |auxiliary: &[f64]| {
            let mut tau = vec![0.0; n];
            motion.sweep(robot, q, v, auxiliary, a);
            rnea(robot, &motion, &theta, &mut vec![Wrench::zero(); robot.bodies()], &mut tau);
            tau
        };
        let (with, without, plain) = (run(&r), run(&vec![0.0; n]), run(v));
        let passive: f64 = r.iter().zip(with.iter().zip(&without)).map(|(r, (a, b))| r * (a - b)).sum();
        let mut c = vec![0.0; n * n];
        Workspace::new(robot).coriolis_matrix(robot, q, v, &theta, &mut c);
        let r = DVector::from_vec(r);
        let other = r.dot(&(matrix(n, &c) * &r));
        assert_close("r'C r", &[passive], &[other], 1e-10);
        let mut sweep = Motion::new(robot);
        let mut tau = vec![0.0; n];
        sweep.sweep_plain(robot, q, v, a);
        rnea(robot, &sweep, &theta, &mut vec![Wrench::zero(); robot.bodies()], &mut tau);
        assert_eq!(plain, tau);
    });
}

#[test]
fn it_does_not_matter_where_a_floating_robot_is() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let robot = tree(&mut rng, true);
    let (q, n, theta) = (random(&robot, &mut rng), robot.nv(), robot.nominal_parameters());
    let (v, tau) = (vec_of(&mut rng, n), vec_of(&mut rng, n));
    let mut far = q.clone();
    far[..3].copy_from_slice(&[1e6, -3e5, 2e6]);
    let (mut near_a, mut far_a) = (vec![0.0; n], vec![0.0; n]);
    let mut space = Workspace::new(&robot);
    space.forward_dynamics(&robot, &q, &v, &tau, &theta, &mut near_a);
    space.forward_dynamics(&robot, &far, &v, &tau, &theta, &mut far_a);
    assert_eq!(near_a, far_a);
    let mut apart = vec![0.0; n];
    difference(&robot, &q, &far, &mut apart);
    assert!(apart[..3].iter().any(|x| x.abs() > 1e5));
}

/// Where the hand is held is of no account to the torques: the bodies have not moved.
#[test]
fn the_grip_changes_no_torque() {
    let near = crate::robot::load("kinova_gen3_2f85").unwrap();
    let q = [0.3, -0.7, 1.1, -1.4, 0.2, 0.9, -0.5];
    let (dq, ddq) = ([0.4, -0.2, 0.7, 0.1, -0.9, 0.3, 0.5], [1.0, 2.0, -1.0, 0.5, 0.3, -2.0, 1.5]);
    let torques = |robot: &Arm| {
        let mut tau = vec![0.0; 7];
        let theta = robot.nominal_parameters();
        Workspace::new(robot).inverse_dynamics(robot, &q, &dq, &ddq, &theta, &mut tau);
        tau
    };
    for end_effector in ["joint_7", "joint_4"] {
        for (a, b) in torques(&near).iter().zip(torques(&with_grip(end_effector))) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
}
