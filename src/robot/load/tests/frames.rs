//! Frames of links, beside those that a reader of URDFs of its own works out.

use nalgebra::{Isometry3, Translation3, Unit, UnitQuaternion, Vector3};

use crate::robot::load_model;

/// The frame of `link` in the URDF's root, at these positions of the joints that move.
fn placed(urdf: &urdf_rs::Robot, link: &str, q: &dyn Fn(&str) -> f64) -> Isometry3<f64> {
    let Some(joint) = urdf.joints.iter().find(|joint| joint.child.link == link) else {
        return Isometry3::identity();
    };
    let [x, y, z] = *joint.origin.xyz;
    let [roll, pitch, yaw] = *joint.origin.rpy;
    let origin = Isometry3::from_parts(
        Translation3::new(x, y, z),
        UnitQuaternion::from_euler_angles(roll, pitch, yaw),
    );
    let axis = Vector3::from(*joint.axis.xyz);
    let turned = match joint.joint_type {
        urdf_rs::JointType::Fixed => Isometry3::identity(),
        urdf_rs::JointType::Prismatic => Translation3::from(axis * q(&joint.name)).into(),
        _ => Isometry3::from_parts(
            Translation3::identity(),
            UnitQuaternion::from_axis_angle(&Unit::new_normalize(axis), q(&joint.name)),
        ),
    };
    placed(urdf, &joint.parent.link, q) * origin * turned
}

#[test]
fn frames_of_links_are_those_of_the_urdf() {
    for name in ["ur5e", "z1", "panda", "kinova_gen3", "go1"] {
        let robot = load_model(name).unwrap();
        let urdf = urdf_rs::read_file(format!("robots/{name}.urdf")).unwrap();
        let held = robot.with_base_held();
        let angles: Vec<f64> = (0..held.nv()).map(|j| (1.3 * j as f64).sin()).collect();
        let mut q = crate::robot::configuration::neutral(&robot);
        let floats = robot.nq() - held.nq();
        q[floats..].copy_from_slice(&angles);
        let frames = robot.frames(&q);
        let of = |joint: &str| held.joints.iter().position(|j| j.name == joint).map_or(0.0, |j| angles[j]);
        assert_eq!(robot.link_frames.len(), urdf.links.len(), "{name}");
        for link in &urdf.links {
            let frame = robot.frame(&link.name).unwrap();
            let ours = frame.joint.map_or(frame.placement, |j| frames[j].compose(&frame.placement));
            let theirs = placed(&urdf, &link.name, &of);
            let apart = (ours.rotation - theirs.rotation.to_rotation_matrix().matrix()).norm()
                + (ours.translation - theirs.translation.vector).norm();
            assert!(apart < 1e-9, "{name}, {}: {ours:?}, {theirs:?}", link.name);
        }
    }
}
