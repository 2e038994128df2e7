//! Positions, velocities, nominal torques and the disturbance bound, of all moments of the ticks that begin in a span.

use super::adversary::states;
use super::*;
use crate::certify::Body;
use crate::inertia::{ARMATURE, COULOMB, OFFSET, VISCOUS};
use crate::reach::formulas;
use crate::robot::{Capsule, LinkShape, Zonotope3};

/// What sets the one source of error that is looked at.
type Change<'a> = &'a dyn Fn(&mut Case);

/// Largest |q|, |dq| and |ddq_a| of the first joint, true or read.
fn sizes(case: &Case, report: &CellReport) -> [f64; 3] {
    let sensors = case.robot.sensors();
    let k = case.tube.gains.k_r;
    let all = states(case, report.span);
    let most = |of: &dyn Fn(&super::adversary::AdversaryState) -> f64| {
        all.iter().map(|s| of(s).abs()).fold(0.0, f64::max)
    };
    [
        most(&|s| s.q[0]) + sensors.position_rad,
        most(&|s| s.dq[0]) + sensors.velocity_rad_s,
        most(&|s| s.ddqa[0]) + k * sensors.velocity_rad_s,
    ]
}

fn reported(change: impl FnOnce(&mut Case)) -> (Case, CellReport) {
    let mut case = slider();
    change(&mut case);
    let report = report(&mut case, START);
    (case, report)
}

#[test]
fn positions() {
    let position = |what: &str, change: &dyn Fn(&mut Case)| {
        let (case, report) = reported(change);
        meets(what, sizes(&case, &report)[0], ENDS - report.position[0]);
    };
    position("e", &|c| c.tube.gains.v_max = 1.5);
    // The lag may come from a tube with a lower floor.
    position("e of an earlier plan", &|c| (c.tube.gains.v_max, c.tube.lag_floor[0]) = (1.5, 0.3));
    position("delta_q", &|c| c.robot.stated().sensors.position_rad = 1e-3);
    // A tick that begins at the end of the span ends a millisecond later.
    for dq in [10.0, -10.0] {
        position("h dq", &|c| c.curve = from(&[0.0], &[dq], &[0.0]));
    }
}

#[test]
fn velocities() {
    let velocity = |what: &str, change: &dyn Fn(&mut Case)| {
        let (case, report) = reported(|c| {
            c.robot.joints[0].limits.velocity = ENDS;
            change(c);
        });
        meets(what, sizes(&case, &report)[1], ENDS - report.velocity[0]);
    };
    velocity("r and K_r e", &|c| c.tube.gains.v_max = 1.5);
    velocity("K_r e", &|c| (c.tube.gains.v_max, c.tube.lag_floor[0]) = (1.5, 1e-2));
    velocity("delta_dq", &|c| c.robot.stated().sensors.velocity_rad_s = 1e-3);
    velocity("h ddq", &|c| c.curve = from(&[0.0], &[0.0], &[10.0]));
}

#[test]
fn nominal_torques() {
    let nominal = |what: &str, expected: &dyn Fn([f64; 3]) -> f64, change: &dyn Fn(&mut Case)| {
        let (case, report) = reported(change);
        meets(what, expected(sizes(&case, &report)), report.torque[0].nominal_sup());
        assert_eq!(report.torque[0].nominal_upper, report.torque[0].nominal_sup(), "{what}");
    };
    let mass = |[_, _, ddqa]: [f64; 3]| 3.0 * ddqa;
    nominal("M K_r de", &mass, &|c| c.tube.gains.v_max = 1.5);
    nominal("M K_r delta_dq", &mass, &|c| c.robot.stated().sensors.velocity_rad_s = 1e-3);
    nominal("M ddq_d", &mass, &|c| c.curve = from(&[0.0], &[0.0], &[10.0]));
    let know = |c: &mut Case, p: usize, value: f64| {
        let at = c.robot.friction_index(0) + p;
        (c.set.bounds().0[at], c.set.bounds().1[at]) = (value, value);
    };
    nominal("beta", &|_| 7.0, &|c| know(c, OFFSET, 7.0));
    nominal("F_v dq", &|[_, dq, _]| 1e3 * dq, &|c| {
        know(c, VISCOUS, 1e3);
        c.curve = from(&[0.0], &[10.0], &[0.0]);
        c.tube.gains.k_r = 0.1;
    });
    // Below the band nothing is compensated; at its edge it may be.
    nominal("F_c in doubt", &|_| 7.0, &|c| know(c, COULOMB, 7.0));
    nominal("F_c", &|_| 7.0, &|c| {
        know(c, COULOMB, 7.0);
        c.curve = from(&[0.0], &[1e-2], &[0.0]);
    });
    // Against the offset where the joint turns backwards, or it would be 17 N m.
    nominal("-F_c", &|_| 3.0, &|c| {
        know(c, OFFSET, 10.0);
        know(c, COULOMB, 7.0);
        c.curve = from(&[0.0], &[-1e-2], &[0.0]);
    });
    nominal("weight", &|_| WEIGHT, &|c| *c = pendulum());
}

#[test]
fn the_disturbance_bound_holds_each_parameter() {
    let rho = |what: &str, expected: &dyn Fn([f64; 3]) -> f64, change: &dyn Fn(&mut Case)| {
        let (case, report) = reported(change);
        meets(what, expected(sizes(&case, &report)), report.torque[0].rho);
    };
    let moved = |c: &mut Case| c.curve = from(&[0.0], &[10.0], &[10.0]);
    for p in [0, INERTIAL + ARMATURE] {
        rho("ddq_a g", &|[_, _, ddqa]| 0.5 * ddqa, &|c| {
            moved(c);
            widen(c, 0, p, 0.5);
        });
        // The sign of the acceleration is not known.
        rho("K_r de g", &|[_, _, ddqa]| 0.5 * ddqa, &|c| {
            c.tube.gains.v_max = 1.5;
            widen(c, 0, p, 0.5);
        });
    }
    rho("dq g", &|[_, dq, _]| 0.5 * dq, &|c| {
        moved(c);
        widen(c, 0, INERTIAL + VISCOUS, 0.5);
    });
    rho("g of beta", &|_| 0.5, &|c| widen(c, 0, INERTIAL + OFFSET, 0.5));
    rho("D", &|_| 0.5, &|c| c.tube.drift_nm[0] = 0.5);
    rho("cos q g", &|_| 0.5 * 9.81, &|c| {
        *c = pendulum();
        widen(c, 0, 1, 0.5);
    });
    let known = |c: &mut Case| {
        let at = c.robot.joint_index(0).coulomb;
        (c.set.bounds().0[at], c.set.bounds().1[at]) = (5.0, 5.0);
        widen(c, 0, INERTIAL + COULOMB, 1.0);
    };
    rho("F_c and its g in doubt", &|_| 6.0, &known);
    for dq in [1e-2, -1e-2] {
        rho("g of F_c where the sign is known", &|_| 1.0, &|c| {
            known(c);
            c.curve = from(&[0.0], &[dq], &[0.0]);
        });
    }
}

/// The slide is pulled out by x dq dq_a, of which dq_a is off by K_r e and by K_r delta_q.
#[test]
fn nominal_torques_by_the_velocity_asked_for() {
    let parts: [(&str, Change<'_>); 2] = [
        ("K_r delta_q", &|c| c.robot.stated().sensors.position_rad = 1e-4),
        // Large errors of position, not of velocity.
        ("K_r e", &|c| (c.tube.gains.v_max, c.tube.lag_floor[0]) = (1.5e-10, 1e-6)),
    ];
    for (what, part) in parts {
        let mut case = polar(1.0);
        case.tube.gains.k_r = 1e3;
        part(&mut case);
        case.curve = from(&[0.0, 1.0], &[0.5, 0.0], &[0.0; 2]);
        let report = report(&mut case, START);
        let delta = case.robot.sensors().position_rad;
        let mut most = 0.0f64;
        for s in states(&case, START) {
            let read = |j: usize, sign: f64| s.q[j] + sign * delta;
            let dqa = |sign: f64| s.dqa[0] - sign * 1e3 * delta;
            for sign in [-1.0, 1.0] {
                // Inward on the slide, where it counts little; either way on the arm.
                let pulled = 2.0 * read(1, 1.0) * s.dq[0] * dqa(sign);
                most = most.max(pulled - 3.0 * s.ddqa[1]);
            }
        }
        meets(what, most, report.torque[1].nominal_sup());
    }
}

/// Where the sign of dq is in doubt, all of F_c is charged: just inside the band, whichever of its parts makes it.
#[test]
fn coulomb_friction_is_in_doubt_up_to_the_edge_of_the_band() {
    let parts: [(&str, Change<'_>); 3] = [
        ("stiction speed", &|c| c.tube.gains.stiction_speed_rad_s = 1e-2),
        ("delta_dq", &|c| c.robot.stated().sensors.velocity_rad_s = 1e-2),
        ("h ddq", &|c| c.tube.acceleration_bound[0] = 10.0),
    ];
    for (what, part) in parts {
        for sign in [-1.0, 1.0] {
            for (share, charged) in [(0.99, 5.0), (1.01, 0.0)] {
                let (case, report) = reported(|c| {
                    let at = c.robot.joint_index(0).coulomb;
                    (c.set.bounds().0[at], c.set.bounds().1[at]) = (5.0, 5.0);
                    part(c);
                    // Read as slow as that, at the least.
                    let speed =
                        share * formulas::sign_band(&c.tube, &c.robot, 0) + c.robot.sensors().velocity_rad_s;
                    c.curve = from(&[0.0], &[sign * speed], &[0.0]);
                });
                let rho = report.torque[0].rho;
                assert!(
                    (rho - charged).abs() < 1e-3,
                    "{what}: {rho} is charged at {share} of {}",
                    case.tube.gains.v_max
                );
            }
        }
    }
}

/// Two upright capsules on rails beside each other, and a box to each side of the first, near enough to be looked at closely and further away.
#[test]
fn distances() {
    let upright = |joint: usize, radius: f64| LinkShape {
        name: format!("capsule {joint}"),
        joint: Some(joint),
        capsule: Capsule { a: Vector3::zeros(), b: Vector3::new(0.0, 0.0, 1.0), radius },
    };
    let rail = |x: f64| {
        let mut rail = joint(JointKind::Prismatic, None, 1.0, mass(2.0));
        rail.placement.translation.x = x;
        rail
    };
    let mut case = case(vec![rail(0.0), rail(0.6)], [0.0; 3], &[3.0; 2]);
    case.robot.stated().shapes = vec![upright(0, 0.2), upright(1, 0.25)];
    *case.robot.pairs() = vec![(0, 1)];
    let boxes =
        [([-0.5, 0.0, 0.5], 0.2), ([0.0, 0.0, 1.5], 0.2), ([0.0, 0.0, -0.5], 0.2), ([0.0, -1.0, 0.5], 0.7)];
    let cuboid = |(center, _): &([f64; 3], f64)| {
        Zonotope3::cuboid("box", Vector3::from(*center), Vector3::repeat(0.2), &Matrix3::identity())
    };
    case.scene = Scene { obstacles: boxes.iter().map(cuboid).collect() };
    let report = report(&mut case, Span::Rest);
    let claimed = |shape: usize, other: Body| {
        let pair = report.clearances.iter().find(|c| (c.shape, c.other) == (shape, other)).unwrap();
        pair.separation.clearance_m
    };
    // What is claimed is not more than the distance, and hardly less.
    for (k, (_, distance)) in boxes.iter().enumerate() {
        meets("a box", claimed(0, Body::Obstacle(k)), *distance);
    }
    meets("the other capsule", claimed(0, Body::Shape(1)), 0.6 - 0.2 - 0.25);
}

/// The same box, where it was seen: it has come nearer by its speed times all the time since then, to the end of the last tick that begins in the span.
#[test]
fn distances_to_obstacles_that_move() {
    let upright = Capsule { a: Vector3::zeros(), b: Vector3::new(0.0, 0.0, 1.0), radius: 0.2 };
    let mut case = slider();
    case.robot.stated().shapes = vec![LinkShape { name: "post".into(), joint: Some(0), capsule: upright }];
    let cuboid =
        Zonotope3::cuboid("box", Vector3::new(-9.3, 0.0, 0.5), Vector3::repeat(0.2), &Matrix3::identity());
    for (what, speed_m_s, age_s, (t0, t1)) in [
        ("age", 1.0, 5.0, (0.0, 1e-6)),
        ("time of the plan", 5.0, 0.0, (0.5, 1.5)),
        ("both", 2.0, 1.0, (1.0, 1.25)),
        ("the last tick", 5000.0, 0.0, (0.0, 1e-6)),
    ] {
        case.scene = Scene { obstacles: vec![Zonotope3 { speed_m_s, age_s, ..cuboid.clone() }] };
        let claimed = report(&mut case, Span::Between(t0, t1)).clearances[0].separation.clearance_m;
        let come = speed_m_s * (age_s + t1 + case.tube.gains.period_s);
        // What is taken off the distance of 9 m is all that it may come, and hardly more.
        meets(what, come, 9.0 - claimed);
    }
    let at_rest = report(&mut case, Span::Rest).clearances[0].separation.clearance_m;
    assert_eq!(at_rest, f64::INFINITY);
}
