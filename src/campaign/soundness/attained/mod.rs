//! Bounds that are attained: on robots of one or two joints, moved and measured such that one term of a bound outweighs all others,
//! some state comes within a few per mille of the bound. So a bound without that term, or with 3 % less of it, is passed.
//!
//! What attacks is the theorem of [`crate::reach::tube`], not a plant: the tube's states, sensor errors and parameters at their
//! corners, a disturbance w that takes *any* value with |w_j| <= rho_j, and a robust torque of any sign. Rates come from
//! M dr/dt + C r = w - v, radii and margins from [`crate::reach::formulas`].

mod adversary;
mod floor;
mod power;
mod rates;
mod rounding;
mod still;
mod strips;

use nalgebra::{Matrix3, Vector3};

use super::case::Case;
use crate::certify::{CellReport, Workspaces};
use crate::enclose::Counted;
use crate::inertia::{FRICTION, INERTIAL, JointParameters, ParameterSet};
use crate::reach::{Span, Tube};
use crate::robot::fixture::small_robot;
use crate::robot::{Gains, Joint, JointKind, JointLimits, Placement, Scene};
use crate::trajectory::{Bezier, JointState};

/// Limits that no joint of these robots comes near.
const FAR: f64 = 1e6;
/// Where positions have limits.
const ENDS: f64 = 100.0;
/// The least share of a bound that is to be met. The hundredth is for what an attack cannot choose, such as the time within
/// a cell and the corners of a ball.
const MET: f64 = 0.99;

/// A joint without friction, with a transmission of so much inertia (kg m^2, kg).
fn joint(kind: JointKind, parent: Option<usize>, armature: f64, inertia: [f64; INERTIAL]) -> Joint {
    let at = parent.map_or(0, |p| p + 1);
    Joint {
        name: format!("joint {at}"),
        link: format!("link {at}"),
        kind,
        parent,
        placement: Placement::identity(),
        limits: JointLimits { position: Some((-ENDS, ENDS)), velocity: FAR, torque: FAR },
        friction: JointParameters { coulomb: 0.0, viscous: 0.0, armature, offset: 0.0 },
        gear_ratio: None,
        inertia,
    }
}

/// A mass at the origin.
fn mass(m: f64) -> [f64; INERTIAL] {
    [m, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
}

/// A joint with these bodies, known exactly, at rest at zero, with a tube whose constants are still zero.
fn case(joints: Vec<Joint>, gravity: [f64; 3], floor: &[f64]) -> Case {
    let n = joints.len();
    let gains = Gains { k_r: 10.0, alpha: 100.0, v_max: 1e-12, period_s: 1e-3, stiction_speed_rad_s: 1e-6 };
    let mut robot = small_robot();
    let stated = robot.stated();
    (stated.model.joints, stated.model.gravity) = (joints, Vector3::from(gravity));
    (stated.shapes, stated.end_effector, stated.gains) = (vec![], n - 1, gains);
    robot.pairs().clear();
    let theta = robot.nominal_parameters();
    let tube = Tube {
        gains,
        layer_ticks: 2.0,
        inertia_floor: floor.to_vec(),
        lag_floor: floor.to_vec(),
        drift_nm: vec![0.0; n],
        hold_power_w: 0.0,
        energy_slack_j: 0.0,
        acceleration_bound: vec![0.0; n],
        motor_loops: None,
    };
    let set = ParameterSet::new(theta.clone(), theta).unwrap();
    Case::new(robot, set, Scene::default(), tube, still(&vec![0.0; n]))
}

/// A carriage of 2 kg on a level rail, driven through a transmission of 1 kg.
fn slider() -> Case {
    case(vec![joint(JointKind::Prismatic, None, 1.0, mass(2.0))], [0.0; 3], &[3.0])
}

/// Torque that holds the pendulum where it is level, N m.
const WEIGHT: f64 = 2.0 * 0.5 * 9.81;

/// 2 kg half a metre from an axis that is level; at q = 0 it sticks out sideways.
fn pendulum() -> Case {
    let body = [2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.5];
    case(vec![joint(JointKind::Revolute, None, 0.5, body)], [0.0, -9.81, 0.0], &[1.0])
}

/// A mass of 2 kg that slides out along a level arm, which turns about the vertical: M = diag(1 + 2 x^2, 2 + `armature`), here at x = 1.
fn polar(armature: f64) -> Case {
    let arm = joint(JointKind::Revolute, None, 1.0, mass(0.0));
    let mut slide = joint(JointKind::Prismatic, Some(0), armature, mass(2.0));
    // Its z is the arm's x.
    slide.placement.rotation = Matrix3::new(0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0);
    let mut case = case(vec![arm, slide], [0.0; 3], &[2.999, 0.9999 * (2.0 + armature)]);
    case.curve = still(&[0.0, 1.0]);
    case
}

/// Rest at `q`.
fn still(q: &[f64]) -> Bezier {
    from(q, &vec![0.0; q.len()], &vec![0.0; q.len()])
}

/// A motion that starts at `q` with this velocity and acceleration and comes to rest there within two seconds.
fn from(q: &[f64], dq: &[f64], ddq: &[f64]) -> Bezier {
    let start = JointState { q: q.to_vec(), dq: dq.to_vec(), ddq: ddq.to_vec() };
    Bezier::to_rest(&start, q, 2.0).unwrap()
}

/// The first microsecond: what its ticks do depends on the motion's start alone.
const START: Span = Span::Between(0.0, 1e-6);

/// What is claimed of a span.
fn report(case: &mut Case, span: Span) -> CellReport {
    case.robot.stated().gains = case.tube.gains;
    case.problem().unwrap().report(span, &Workspaces::<Counted>::default())
}

/// Widens one parameter of joint or body `i` by `half`; `p` counts the body's, then the joint's.
fn widen(case: &mut Case, i: usize, p: usize, half: f64) {
    let at = match p {
        0..INERTIAL => case.robot.inertial_index(i) + p,
        _ => case.robot.friction_index(i) + p - INERTIAL,
    };
    assert!(p < INERTIAL + FRICTION);
    let (lower, upper) = case.set.bounds();
    lower[at] -= half;
    upper[at] += half;
}

/// `found` does not pass `claimed`, and comes near it.
#[track_caller]
fn meets(what: &str, found: f64, claimed: f64) {
    assert!(found <= claimed * (1.0 + 1e-9), "{what}: {found} was found, {claimed} is claimed");
    assert!(found >= MET * claimed, "{what}: only {found} of {claimed} was found");
}
