//! The two machines of \[5\]: a pendulum and a Furuta pendulum.
//!
//! Gravity is along -y. Hinge 1 of the Furuta pendulum is upright; the arm (A) turns about its own z axis, and lies along its x axis.
//! Hinge 2 is along the arm; the rod (B) lies along its own x axis and swings about its y axis, hanging at 0.

use nalgebra::{UnitQuaternion, Vector3};

use super::mechanism::{Attachment, DryFriction, FreeBody, HeldJoint, HeldJointKind, HingeMotor, Mechanism};

/// Acceleration of gravity in \[5\], m / s^2.
pub const GRAVITY: f64 = 9.82;

/// The numbers of [5, Table G.5]; l_2 there is ten times what it can be (0.92 m), and K is none there (7.3 N m is what the real one has).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FurutaNumbers {
    /// From hinge 1 to the arm's centre of mass, m.
    pub l_1: f64,
    /// From hinge 1 to hinge 2, m.
    pub l_a: f64,
    /// From hinge 2 to the rod's centre of mass, m.
    pub l_2: f64,
    /// Masses of arm and rod, kg.
    pub masses: [f64; 2],
    /// Principal moments of the arm and of the rod, kg m^2.
    pub inertias: [[f64; 3]; 2],
    /// Viscous friction of the hinges, N m s / rad.
    pub viscous: [f64; 2],
    /// Dry friction of the hinges, if there is any.
    pub dry: Option<[DryFriction; 2]>,
    /// The motor on hinge 1.
    pub motor: HingeMotor,
    /// Compliance of all rows, m / N and rad / (N m).
    pub compliance: f64,
    /// Relaxation time, s.
    pub relaxation_s: f64,
}

impl Default for FurutaNumbers {
    fn default() -> Self {
        Self {
            l_1: 0.128,
            l_a: 0.248,
            l_2: 0.092,
            masses: [0.238, 0.428],
            inertias: [[1e-4, 3e-3, 3e-3], [1e-4, 4e-3, 4e-3]],
            viscous: [1e-3, 1e-4],
            dry: None,
            motor: HingeMotor { gain: 7.3, shaft_kg_m2: 1e-4 },
            compliance: 1e-4,
            relaxation_s: 0.02,
        }
    }
}

/// A Furuta pendulum.
pub fn furuta(n: &FurutaNumbers) -> Mechanism {
    use std::f64::consts::FRAC_PI_2;
    let body = |name: &str, i: usize| FreeBody {
        name: name.into(),
        mass_kg: n.masses[i],
        inertia_kg_m2: n.inertias[i],
    };
    let hinge = |name: &str, i: usize, parent, parent_frame, child_frame| HeldJoint {
        name: name.into(),
        parent,
        child: i,
        parent_frame,
        child_frame,
        kind: HeldJointKind::Hinge {
            viscous: n.viscous[i],
            dry: n.dry.map(|d| d[i]),
            motor: (i == 0).then_some(n.motor),
        },
        compliance_m_n: n.compliance,
        compliance_rad_nm: n.compliance,
        relaxation_s: n.relaxation_s,
    };
    // The x axis of a hinge's frame along the world's y (from -z to y about x leaves x; so about z), along the arm's z, along the arm's x,
    // and along the rod's y.
    let upright = Attachment::at(0.0, 0.0, 0.0).turned(0.0, 0.0, FRAC_PI_2);
    let arm_z = Attachment::at(-n.l_1, 0.0, 0.0).turned(0.0, -FRAC_PI_2, 0.0);
    // At 0 the rod's centre hangs down: the arm's -z, which is the rod's +x.
    let along = Attachment::at(n.l_a - n.l_1, 0.0, 0.0);
    let mut rod = Attachment::at(-n.l_2, 0.0, 0.0);
    // Columns are the frame's axes (x, y, z) in the rod's: x is the rod's y, z (the arm's up) the rod's -x, and y the rod's -z.
    let axes = nalgebra::Matrix3::from_columns(&[Vector3::y(), -Vector3::z(), -Vector3::x()]);
    rod.rotation = UnitQuaternion::from_matrix(&axes);
    Mechanism {
        bodies: vec![body("arm", 0), body("rod", 1)],
        joints: vec![hinge("hinge 1", 0, None, upright, arm_z), hinge("hinge 2", 1, Some(0), along, rod)],
        gravity_m_s2: Vector3::new(0.0, -GRAVITY, 0.0),
        tilt_rad: Vector3::zeros(),
    }
}

/// A pendulum of one body that swings about the world's z axis, and hangs at 0: `length_m` from the hinge to its centre of mass, which is on its
/// own -y axis from there; `inertia_kg_m2` about the axis, through the centre of mass.
pub fn pendulum(
    mass_kg: f64,
    length_m: f64,
    inertia_kg_m2: f64,
    hinge: HeldJointKind,
    compliance: f64,
) -> Mechanism {
    use std::f64::consts::FRAC_PI_2;
    let axis = |y: f64| Attachment::at(0.0, y, 0.0).turned(0.0, -FRAC_PI_2, 0.0);
    Mechanism {
        bodies: vec![FreeBody {
            name: "rod".into(),
            mass_kg,
            inertia_kg_m2: [inertia_kg_m2, 0.1 * inertia_kg_m2, inertia_kg_m2],
        }],
        joints: vec![HeldJoint {
            name: "hinge".into(),
            parent: None,
            child: 0,
            parent_frame: axis(0.0),
            child_frame: axis(length_m),
            kind: hinge,
            compliance_m_n: compliance,
            compliance_rad_nm: compliance,
            relaxation_s: 0.02,
        }],
        gravity_m_s2: Vector3::new(0.0, -GRAVITY, 0.0),
        tilt_rad: Vector3::zeros(),
    }
}
