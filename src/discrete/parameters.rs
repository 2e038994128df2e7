//! Parameters of a mechanism that can be estimated.

use nalgebra::Vector3;

use super::mechanism::{DryFriction, HeldJointKind, HingeMotor, Mechanism};

/// One number of a mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MechanismParameter {
    /// Mass of a body, kg.
    Mass(usize),
    /// Principal moment of a body about an axis (0, 1, 2), kg m^2.
    Inertia(usize, usize),
    /// Viscous friction of a hinge, N m s / rad.
    Viscous(usize),
    /// Kinetic friction of a hinge.
    Kinetic(usize),
    /// Static less kinetic friction of a hinge.
    Excess(usize),
    /// Rate of Stribeck's effect in a hinge, s^2 / rad^2.
    Rate(usize),
    /// Torque of a motor for each unit of control, N m.
    Gain(usize),
    /// Inertia of a motor's shaft, kg m^2.
    Shaft(usize),
    /// Component (0, 1, 2) of the rotation vector that tilts the stand, rad.
    Tilt(usize),
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl MechanismParameter {
    /// Its name, with that of the body or joint.
    pub fn name(self, mechanism: &Mechanism) -> String {
        let body = |b: usize| mechanism.bodies[b].name.as_str();
        let joint = |j: usize| mechanism.joints[j].name.as_str();
        match self {
            Self::Mass(b) => format!("mass of {}", body(b)),
            Self::Inertia(b, i) => format!("J_{0}{0} of {1}", AXES[i], body(b)),
            Self::Viscous(j) => format!("viscous friction of {}", joint(j)),
            Self::Kinetic(j) => format!("dry friction of {}", joint(j)),
            Self::Excess(j) => format!("static excess of {}", joint(j)),
            Self::Rate(j) => format!("Stribeck rate of {}", joint(j)),
            Self::Gain(j) => format!("motor gain of {}", joint(j)),
            Self::Shaft(j) => format!("shaft inertia of {}", joint(j)),
            Self::Tilt(i) => format!("tilt about {}", AXES[i]),
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Mass(_) => "kg",
            Self::Inertia(..) | Self::Shaft(_) => "kg m^2",
            Self::Viscous(_) => "N m s/rad",
            Self::Kinetic(_) | Self::Excess(_) => "-",
            Self::Rate(_) => "s^2/rad^2",
            Self::Gain(_) => "N m",
            Self::Tilt(_) => "rad",
        }
    }

    /// Whether the mechanism has it: the body or joint exists, with the friction or motor that it belongs to.
    pub fn exists(self, mechanism: &Mechanism) -> bool {
        let joint = |j: usize| mechanism.joints.get(j);
        match self {
            Self::Mass(b) => b < mechanism.bodies.len(),
            Self::Inertia(b, i) => b < mechanism.bodies.len() && i < 3,
            Self::Viscous(j) => joint(j).is_some_and(|j| matches!(j.kind, HeldJointKind::Hinge { .. })),
            Self::Kinetic(j) | Self::Excess(j) | Self::Rate(j) => joint(j).is_some_and(|j| j.dry().is_some()),
            Self::Gain(j) | Self::Shaft(j) => {
                joint(j).is_some_and(|j| matches!(j.kind, HeldJointKind::Hinge { motor: Some(_), .. }))
            }
            Self::Tilt(i) => i < 3,
        }
    }

    /// Its value.
    pub fn get(self, mechanism: &Mechanism) -> f64 {
        let dry = |j: usize| mechanism.joints[j].dry().unwrap_or_default();
        match self {
            Self::Mass(b) => mechanism.bodies[b].mass_kg,
            Self::Inertia(b, i) => mechanism.bodies[b].inertia_kg_m2[i],
            Self::Viscous(j) => mechanism.joints[j].viscous(),
            Self::Kinetic(j) => dry(j).kinetic,
            Self::Excess(j) => dry(j).excess,
            Self::Rate(j) => dry(j).rate,
            Self::Gain(j) => mechanism.joints[j].motor().gain,
            Self::Shaft(j) => mechanism.joints[j].motor().shaft_kg_m2,
            Self::Tilt(i) => mechanism.tilt_rad[i],
        }
    }

    /// Sets its value; nothing happens where the mechanism has no such parameter.
    pub fn set(self, mechanism: &mut Mechanism, value: f64) {
        match self {
            Self::Mass(b) => mechanism.bodies[b].mass_kg = value,
            Self::Inertia(b, i) => mechanism.bodies[b].inertia_kg_m2[i] = value,
            Self::Tilt(i) => mechanism.tilt_rad[i] = value,
            Self::Viscous(j)
            | Self::Kinetic(j)
            | Self::Excess(j)
            | Self::Rate(j)
            | Self::Gain(j)
            | Self::Shaft(j) => {
                if let HeldJointKind::Hinge { viscous, dry, motor } = &mut mechanism.joints[j].kind {
                    self.set_in_hinge(viscous, dry.as_mut(), motor.as_mut(), value);
                }
            }
        }
    }

    fn set_in_hinge(
        self,
        viscous: &mut f64,
        dry: Option<&mut DryFriction>,
        motor: Option<&mut HingeMotor>,
        value: f64,
    ) {
        match (self, dry, motor) {
            (Self::Viscous(_), ..) => *viscous = value,
            (Self::Kinetic(_), Some(dry), _) => dry.kinetic = value,
            (Self::Excess(_), Some(dry), _) => dry.excess = value,
            (Self::Rate(_), Some(dry), _) => dry.rate = value,
            (Self::Gain(_), _, Some(motor)) => motor.gain = value,
            (Self::Shaft(_), _, Some(motor)) => motor.shaft_kg_m2 = value,
            _ => {}
        }
    }

    /// The least value that makes sense.
    pub fn floor(self) -> f64 {
        match self {
            Self::Gain(_) | Self::Tilt(_) => f64::NEG_INFINITY,
            Self::Mass(_) | Self::Inertia(..) => 1e-8,
            _ => 0.0,
        }
    }
}

/// The slopes of gravity by the tilt: column i of - [g]x J_l(tilt).
pub(super) fn gravity_slope(mechanism: &Mechanism, axis: usize) -> Vector3<f64> {
    let column: Vector3<f64> =
        crate::linear::rigid_motion::left_jacobian3(&mechanism.tilt_rad).column(axis).into_owned();
    column.cross(&mechanism.gravity())
}
