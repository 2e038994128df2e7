//! The arms that ship are those of the references.

use super::*;

/// Inertial parameters of the merged bodies about the joint frames, computed with an independent library.
const REFERENCE: [[f64; 10]; 7] = [
    [
        1.3773,
        -3.167789999999999e-05,
        -0.014274337199999996,
        -0.10103872799999995,
        0.012130140316820793,
        6.716902444000001e-07,
        0.012243201814671693,
        -3.2389074399999817e-07,
        -0.0005991653769919991,
        0.0015569399593325,
    ],
    [
        1.1636,
        -5.1198399999999994e-05,
        -0.115871288,
        -0.015450280799999999,
        0.022831611687502404,
        -9.833667199999875e-08,
        0.001277151081192,
        -6.798123551999999e-07,
        -0.002229538962064,
        0.0227934651117696,
    ],
    [
        1.1636,
        -5.1198399999999994e-05,
        -0.0077274676,
        -0.1371791312,
        0.027155640247761993,
        -3.400085744e-07,
        0.027299324388159997,
        -1.30358817728e-05,
        -0.0003050066102992,
        0.0010943203650612,
    ],
    [
        0.9302,
        -1.67436e-05,
        -0.0702096356,
        -0.0139585812,
        0.013655745345304001,
        -2.2637734408e-06,
        0.0008404627708719996,
        -2.512544616e-07,
        -0.0015535657918136,
        0.0136152831772016,
    ],
    [
        0.6781,
        6.781e-07,
        -0.0063958392,
        -0.0433190623,
        0.0044236772122453,
        6.3958392e-09,
        0.004374351657589,
        4.33190623e-08,
        -0.00015258539561359993,
        0.0004593255560125,
    ],
    [
        0.6781,
        6.781e-07,
        -0.030842022300000004,
        -0.006543665000000001,
        0.0031069340675209003,
        3.0842022300000005e-08,
        0.0004731463679281,
        6.5436650000000005e-09,
        -0.000575625515195,
        0.0030437877009490003,
    ],
    [
        1.2848642730399997,
        -4.2500308904799285e-05,
        8.758577719476931e-05,
        -0.10866042673210367,
        0.01258073583891399,
        -4.066023909558754e-06,
        0.013381682849930195,
        -8.257592150231013e-07,
        5.97932273168403e-06,
        0.0013934355976276448,
    ],
];

#[test]
fn the_shipped_arm_has_the_reference_inertias() {
    for (joint, reference) in gen3().joints.iter().zip(REFERENCE) {
        for (got, want) in joint.inertia.iter().zip(reference) {
            assert!((got - want).abs() < 1e-12, "{}: {got} instead of {want}", joint.name);
        }
    }
}
#[test]
fn the_shipped_arm_has_the_published_limits_and_friction() {
    let robot = gen3();
    assert_eq!((robot.dof(), robot.end_effector(), robot.shapes().len()), (7, 6, 14));
    // Of 21 pairs of bodies that are no neighbours, these remain, counted from the base; the others provably cannot touch.
    let body = |shape: usize| robot.shapes()[shape].joint.map_or(0, |joint| joint + 1);
    let bodies: std::collections::BTreeSet<_> =
        robot.self_pairs().iter().map(|&(a, b)| (body(a), body(b))).collect();
    let pairs = [(0, 4), (0, 5), (0, 6), (0, 7), (1, 5), (1, 6), (1, 7), (2, 6), (2, 7), (3, 7)];
    assert_eq!(bodies.into_iter().collect::<Vec<_>>(), pairs);
    let [shoulder, wrist] = [&robot.joints[1], &robot.joints[6]];
    let (lower, upper) = shoulder.limits.position.unwrap();
    assert!((upper - 128.9_f64.to_radians()).abs() < 1e-12 && lower == -upper);
    assert_eq!(wrist.limits.position, None);
    assert!((wrist.limits.velocity - std::f64::consts::PI).abs() < 1e-12);
    assert_eq!((shoulder.limits.torque, wrist.limits.torque), (90.0, 45.0));
    assert_eq!((shoulder.friction.armature, wrist.friction.coulomb), (11.9962, 0.1434));
}

#[test]
fn the_shipped_arm_is_where_the_reference_puts_it() {
    let q = [
        0.18004164348361307,
        -1.0056341155388187,
        -0.4788281087027967,
        -1.3486151362567742,
        0.4977583582126829,
        0.9368707463711687,
        0.2730149753102461,
    ];
    let last = gen3().frames(&q)[6];
    let p = Vector3::new(-0.6701555646929047, -0.10304636991603575, 0.3513325789229948);
    let z = Vector3::new(0.8819552466843444, 0.38402031015564264, -0.27328253554503634);
    assert!((last.translation - p).norm() < 1e-12);
    assert!((last.rotation.column(2) - z).norm() < 1e-12);
}

#[test]
fn the_shipped_capsules_leave_ordinary_configurations_free() {
    use std::f64::consts::{FRAC_PI_2, PI};

    use rand::{RngExt, SeedableRng};
    let robot = gen3();
    let names = |(a, b): (usize, usize)| (robot.shapes()[a].name.clone(), robot.shapes()[b].name.clone());
    let assert_free = |q: &[f64], least: f64| {
        let c = robot.self_clearance(&robot.frames(q)).unwrap();
        let crate::robot::Obstruction::Shape(other) = c.to else { panic!("not a shape") };
        assert!(c.distance > least, "{:?} {} m apart at {q:?}", names((c.shape, other)), c.distance);
    };
    assert_free(&[0.0, 0.26, PI, -2.27, 0.0, 0.96, FRAC_PI_2], 0.02);
    assert_free(&[0.0; 7], 0.02);
    let mut rng = rand::rngs::ChaCha8Rng::seed_from_u64(4);
    let mut ordinary = 0;
    for _ in 0..5000 {
        let mut within = |range: f64| rng.random_range(-range..range);
        let q = [within(3.1), within(1.6), within(3.1), within(1.9), within(3.1), within(1.7), within(3.1)];
        let frames = robot.frames(&q);
        // Elbow up: no further down than the shoulder, hand above the mounting plane and in front of the base.
        let hand = frames[6].translation;
        if frames[3].translation.z > 0.28 && hand.z > 0.25 && hand.xy().norm() > 0.25 {
            assert_free(&q, 0.0);
            ordinary += 1;
        }
    }
    assert!(ordinary > 500, "only {ordinary}");
    for joint in [1, 3, 5] {
        let mut q = [0.0; 7];
        q[joint] = robot.joints[joint].limits.position.unwrap().1;
        assert_free(&q, -0.01);
    }
}

#[test]
fn arms_that_ship_have_room_to_move() {
    use rand::SeedableRng;
    let mut rng = rand::rngs::ChaCha8Rng::seed_from_u64(3);
    for (name, at_least) in [("kinova_gen3", 500), ("z1", 500)] {
        let robot = load(name).unwrap();
        let free = (0..1000).filter(|_| {
            let q = crate::robot::configuration::random(&robot, &mut rng);
            robot.self_clearance(&robot.frames(&q)).is_some_and(|c| c.distance > 0.0)
        });
        let free = free.count();
        assert!(free >= at_least, "{name}: {free} of 1000");
    }
}
