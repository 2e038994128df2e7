//! Rotors that ride on the link before their joint, held beside bodies of their own that turn faster, and beside differences.

use super::*;

/// The robot with each such rotor as a body: it hangs on the link before its joint, turns about the same axis, and has an inertia about that axis alone. Behind the joints,
/// so that no index changes; and the joint that drives each, with the turns.
fn with_bodies(robot: &Model) -> (Model, Vec<(usize, f64)>) {
    let (mut whole, mut driven) = (robot.clone(), vec![]);
    for (j, joint) in robot.joints.iter().enumerate() {
        let (Some(ratio), Some(_)) = (joint.gear_ratio, joint.parent) else { continue };
        let mut body = joint.clone();
        body.inertia = [0.0; INERTIAL];
        body.inertia[9] = joint.friction.armature / (ratio * ratio);
        whole.joints.push(body);
        whole.joints[j].friction.armature = 0.0;
        driven.push((j, ratio));
    }
    for joint in &mut whole.joints {
        joint.gear_ratio = None;
    }
    for joint in &mut whole.joints[robot.bodies()..] {
        joint.friction.armature = 0.0;
    }
    (whole, driven)
}

/// The robot whose links have in them what rotors weigh against turning with them.
fn with_heavier_links(robot: &Model) -> Model {
    let mut heavier = robot.clone();
    for joint in &robot.joints {
        let (Some(ratio), Some(carrier)) = (joint.gear_ratio, joint.parent) else { continue };
        let z = joint.placement.rotation.column(2);
        let spin = joint.friction.armature / (ratio * ratio);
        for (k, (r, c)) in [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)].into_iter().enumerate() {
            heavier.joints[carrier].inertia[4 + k] += spin * z[r] * z[c];
        }
    }
    heavier
}

#[test]
fn rotors_are_bodies_that_turn_faster() {
    let mut seen = 0;
    for_trees(31, |robot, _, q, v, a| {
        let (n, (whole, driven)) = (robot.nv(), with_bodies(robot));
        let heavier = with_heavier_links(robot);
        seen += driven.len();
        let long = |x: &[f64], at: fn(&Model, usize) -> usize| -> Vec<f64> {
            x.iter().copied().chain(driven.iter().map(|(j, ratio)| ratio * x[at(robot, *j)])).collect()
        };
        let (long_q, long_v, long_a) =
            (long(q, Model::q_index), long(v, Model::v_index), long(a, Model::v_index));
        let theta = whole.nominal_parameters();
        let mut want = inverse_dynamics(&whole, &long_q, &long_v, &long_a, &theta);
        for (k, (j, ratio)) in driven.iter().enumerate() {
            want[robot.v_index(*j)] += ratio * want[n + k];
        }
        let own = heavier.nominal_parameters();
        assert_close("torques", &inverse_dynamics(&heavier, q, v, a, &own), &want[..n], 1e-11);
        let energy = Workspace::new(&whole).energy(&whole, &long_q, &long_v, &theta);
        let got = Workspace::new(&heavier).energy(&heavier, q, v, &own);
        assert_close("energy", &[got.kinetic, got.potential], &[energy.kinetic, energy.potential], 1e-11);
    });
    assert!(seen > 50, "{seen} rotors");
}

#[test]
fn derivatives_of_inverse_dynamics_are_those_of_differences() {
    for_trees(32, |robot, _, q, v, a| {
        let theta = robot.nominal_parameters();
        let mut out = InverseDerivatives::new(robot);
        Workspace::new(robot).inverse_dynamics_derivatives(robot, q, v, a, &theta, &mut out);
        let torque = |q: &[f64], v: &[f64], a: &[f64]| inverse_dynamics(robot, q, v, a, &theta);
        assert_close("tau", &out.tau, &torque(q, v, a), 1e-12);
        let by_q = columns(robot, |e, h| torque(&moved(robot, q, e, h), v, a));
        let by_v = columns(robot, |e, h| torque(q, &plus(v, h, e), a));
        let by_a = columns(robot, |e, h| torque(q, v, &plus(a, h, e)));
        assert_close("by q", &out.by_q, &by_q, 1e-7);
        assert_close("by v", &out.by_v, &by_v, 1e-7);
        assert_close("mass", &out.mass, &by_a, 1e-7);
        let mut mass = vec![0.0; robot.nv() * robot.nv()];
        Workspace::new(robot).mass_matrix(robot, q, &theta, &mut mass);
        assert_close("mass matrix", &mass, &out.mass, 1e-12);
    });
}

#[test]
fn columns_times_inertias_are_what_rotors_ask_for() {
    for_trees(33, |robot, _, q, v, a| {
        let mut plain = robot.clone();
        plain.joints.iter_mut().for_each(|joint| joint.gear_ratio = None);
        let theta = robot.nominal_parameters();
        let mut want = inverse_dynamics(robot, q, v, a, &theta);
        let without = inverse_dynamics(&plain, q, v, a, &theta);
        want.iter_mut().zip(&without).for_each(|(x, y)| *x -= y);
        let mut motion = Motion::new(robot);
        motion.sweep_plain(robot, q, v, a);
        let mut got = vec![0.0; robot.nv()];
        for j in robot.first_actuated()..robot.bodies() {
            let inertia = robot.joint_parameters(&theta, j).armature;
            rotor_column(robot, &motion, j, (v, a), |row, x| got[row] += inertia * x);
        }
        assert_close("torques", &got, &want, 1e-11);
    });
}
