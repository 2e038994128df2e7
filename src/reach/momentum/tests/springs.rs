//! Links of an arm on springs: how far they may be from its common motion, against plain geometry.

use nalgebra::Vector3;

use super::*;
use crate::robot::{EncoderSide, Spring};

/// Bends by 0.9 mrad at 90 N m.
const SOFT: f64 = 1e5;
const APART_RAD: f64 = 1e-4;

/// Springs of all joints: soft where `soft` says so, and hardly any elsewhere.
fn on_springs(case: &mut Case, soft: impl Fn(usize) -> bool) {
    let spring = |j: usize| Spring {
        stiffness_nm_rad: if soft(j) { SOFT } else { 1e12 },
        encoders: EncoderSide::Motor,
        unmodelled_nm: 0.0,
        velocity_rad_s: 0.0,
        position_rad: if soft(j) { APART_RAD } else { 0.0 },
    };
    let drive = |j: usize| DriveBounds { spring: Some(spring(j)), ..DriveBounds::IDEAL };
    let sensors = Sensors { position_rad: APART_RAD, ..case.robot.sensors().clone() };
    let robot = case.robot.with_sensors(sensors).unwrap();
    case.robot = robot.with_drives((0..7).map(drive).collect()).unwrap();
}

/// How far a link may be from the common motion, rad.
fn bent(robot: &Arm, j: usize) -> f64 {
    robot.joints[j].limits.torque / SOFT + APART_RAD
}

#[test]
fn positions_keep_what_springs_bend_by_from_their_limits() {
    let report = case(1e-6, |_| ()).report();
    let (rigid, growth_m) = (report.position_margin, report.needs.growth_m);
    let elastic = case(1e-6, |case| on_springs(case, |_| true));
    for (j, (found, rigid)) in elastic.report().position_margin.iter().zip(&rigid).enumerate() {
        let exact = rigid - bent(&elastic.robot, j);
        let matched = if rigid.is_finite() { (found - exact).abs() < 1e-9 } else { found == rigid };
        assert!(matched, "joint {j}: {found} for {exact}");
    }
    // What errors carry links by has no part in it.
    let elastic = elastic.report().needs.growth_m;
    assert!(growth_m > 0.0 && (elastic - growth_m).abs() < 1e-12, "{elastic} for {growth_m}");
}

/// The ends of all capsules are where they are with one link bent to either side, and not three in a hundred further.
#[test]
fn capsules_are_wherever_a_spring_may_have_them() {
    for k in 0..7 {
        let case = case(1e-6, |case| {
            case.tube.robust_nm = vec![1e-9; 7];
            case.tube.lag_nms2 = vec![1e-12; 7];
            on_springs(case, |j| j == k);
        });
        let mut space = case.space();
        // At rest, where the times that a cell reaches to do not move the links.
        let at = (Pieces::from(&case.curve), Span::Rest);
        MomentumReport::new(&case.robot, &case.set, &case.tube, at, &mut space).unwrap();
        let (q, most) = (case.curve.end(), bent(&case.robot, k));
        let ends = |share: f64| -> Vec<Vector3<f64>> {
            let moved: Vec<f64> = (0..7).map(|j| q[j] + if j == k { share * most } else { 0.0 }).collect();
            let frames = case.robot.frames(&moved);
            let placed = (0..case.robot.shapes().len()).map(|s| case.robot.placed_capsule(s, &frames));
            placed.flat_map(|capsule| [capsule.a, capsule.b]).collect()
        };
        let beyond = |share: f64| {
            let ends = ends(share);
            let within = space.ends().iter().flatten().zip(&ends).map(|(bounds, end)| {
                let off = (0..3).map(|x| (bounds[x].lower() - end[x]).max(end[x] - bounds[x].upper()));
                off.fold(f64::NEG_INFINITY, f64::max)
            });
            within.fold(f64::NEG_INFINITY, f64::max)
        };
        for side in [-1.0, 1.0] {
            assert!(beyond(side) <= 0.0, "joint {k}: an end is {} m outside", beyond(side));
            // The hand turns about the last axis, far from which no end of its capsules is.
            assert!(k == 6 || beyond(1.03 * side) > 0.0, "joint {k}: more than three in a hundred too wide");
        }
    }
}
