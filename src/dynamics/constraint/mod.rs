//! Contacts, impacts and closed loops: motion under constraints, the forces that hold them, and all derivatives.
//!
//! # Constraints
//! A [`Constraint`] holds a frame a of one body to a frame b of another body or of the world ([`ConstraintEnd`]): their origins
//! ([`LoopKind::Point`], three rows) or all of them ([`LoopKind::Rigid`], six rows, linear before angular). A contact is
//! a constraint whose frame b is fixed to the base. In axes of the base frame its error, rate and acceleration are
//!
//! ```text
//! e  = (p_a - p_b, R_a r),  r = Log(R_b' R_a)            positions, and the turn between the frames
//! de = (dp_a/dt - dp_b/dt, w_a - w_b)                    its rate (exactly so in the linear part)
//! dde = (ddp_a/dt^2 - ddp_b/dt^2, dw_a/dt - dw_b/dt)
//! ```
//!
//! with classical point accelerations, and the constraint is dde + k_d de + k_p e = 0 (Baumgarte's terms; k = 0 leaves
//! plain dde = 0). [`RowAxes`] only says in whose axes rows and forces are written. With J the Jacobian of de that is
//! J a + gamma = 0. Force lambda (N, N m) acts on frame a's body, and the opposite on b's, at the frames' origins.
//!
//! # Dynamics
//! [`ConstrainedDynamics`] solves, by one factorisation (Cholesky of M along the tree, then of J M^-1 J' + c 1),
//!
//! ```text
//! [ M   J'  ] [  a      ]   [ tau - h ]
//! [ J  -c 1 ] [ -lambda ] = [ -gamma  ]
//! ```
//!
//! ([3, eqs. 5 and 8]): forward
//! dynamics, impacts with restitution, the dynamically consistent null-space projector, and from the same factors
//! the derivatives of motion and force to configuration, velocity, torque and inertial parameters ([3, eqs. 12 to 15, 41]).
//! The residuals and their derivatives, which inverse-dynamics formulations need, come on their own as well.
//!
//! M is the links' mass matrix plus the transmission inertia of the joints; friction is part of the torque that the
//! caller hands in (chain its derivative through `by_tau`). Derivatives to q are along the tangent (see
//! [`crate::robot::configuration`]).
//!
//! ```
//! use surelift::dynamics::constraint::{ConstrainedDynamics, Constraint, Redundancy};
//! use surelift::robot::{self, LoopKind, Placement, configuration};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let robot = robot::load_model("robots/go1.toml")?;
//! let feet = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"].map(|name| {
//!     let frame = robot.frame_index(name).expect("the file names it");
//!     Constraint::contact(&robot, frame, LoopKind::Point, Placement::identity()).stabilised(100.0, 20.0)
//! });
//! let mut dynamics = ConstrainedDynamics::new(&robot, feet.to_vec(), Redundancy::Refuse)?;
//! let theta = robot.nominal_parameters();
//! // Knees bent: straight legs make the feet's rows dependent.
//! let mut q = configuration::neutral(&robot);
//! for leg in 0..4 {
//!     q[7 + 3 * leg..10 + 3 * leg].copy_from_slice(&[0.0, 0.8, -1.6]);
//! }
//! let (v, tau) = (vec![0.0; robot.nv()], vec![0.0; robot.nv()]);
//! // The feet stand where they are, and do not move when the joints go limp.
//! (0..4).try_for_each(|foot| dynamics.hold_here(&robot, foot, &q))?;
//! dynamics.forward(&robot, &q, &v, &tau, &theta)?;
//! assert!(dynamics.violation() < 1e-9);
//! println!("a foot carries {:?} N", dynamics.force_of(0));
//! # Ok(())
//! # }
//! ```
//!
//! # Redundant constraints
//! [`Redundancy`] says what happens where rows of J depend on each other: refuse, leave rows out, or give way.

use nalgebra::Vector3;
use thiserror::Error;

use crate::robot::{LoopKind, Model, Placement};

mod close;
mod factor;
mod forward;
mod impulse;
mod plane;
// Matrices of any size: nalgebra has them with the standard library alone, which the feature `arm` brings.
#[cfg(feature = "arm")]
pub mod reduced;
mod results;
mod rows;
mod screw;
#[cfg(test)]
mod tests;

pub use forward::ConstrainedDynamics;
pub use results::{Residuals, Sensitivities, Sensitivity};

/// One end of a constraint: a frame fixed to the body that `joint` moves, or to the base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConstraintEnd {
    /// The joint; `None` for the base.
    pub joint: Option<usize>,
    /// The frame in that joint's frame (the base frame), m.
    pub placement: Placement,
}

impl ConstraintEnd {
    /// The robot's named frame `index`.
    pub fn named(robot: &Model, index: usize) -> Self {
        let frame = &robot.named_frames[index];
        Self { joint: frame.joint, placement: frame.placement }
    }
}

/// Axes in which a constraint's rows and forces are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAxes {
    /// Those of frame a, turning with its body.
    Local,
    /// Those of the base frame: what friction cones on level ground want.
    WorldAligned,
}

/// A constraint between two frames; the module's documentation has the equations.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    /// For messages.
    pub name: String,
    /// Frame a: force acts on it.
    pub a: ConstraintEnd,
    /// Frame b: the opposite force acts on it.
    pub b: ConstraintEnd,
    /// Origins only, or the whole frames.
    pub kind: LoopKind,
    /// Axes of rows and forces.
    pub axes: RowAxes,
    /// Whether the third row is left out, which binds nothing ([`Constraint::in_plane`]); it has no force.
    pub planar: bool,
    /// Baumgarte's k_p, 1/s^2, >= 0.
    pub stiffness: f64,
    /// Baumgarte's k_d, 1/s, >= 0.
    pub damping: f64,
    /// Coefficient of restitution in an impact, 0 to 1: de after = -restitution * de before.
    pub restitution: f64,
}

impl Constraint {
    /// A contact of the robot's named frame `index` with the world, in axes of the world, with the point (or frame)
    /// `at` in the base frame. `at` matters only with a stiffness, and for the force's moment of a rigid contact.
    pub fn contact(robot: &Model, index: usize, kind: LoopKind, at: Placement) -> Self {
        Self {
            name: robot.named_frames[index].name.clone(),
            a: ConstraintEnd::named(robot, index),
            b: ConstraintEnd { joint: None, placement: at },
            kind,
            axes: RowAxes::WorldAligned,
            planar: false,
            stiffness: 0.0,
            damping: 0.0,
            restitution: 0.0,
        }
    }

    /// The robot's loop closure `index`, in axes of its frame a.
    pub fn closure(robot: &Model, index: usize) -> Self {
        let closure = &robot.loops[index];
        Self {
            name: closure.name.clone(),
            a: ConstraintEnd::named(robot, closure.frame_a),
            b: ConstraintEnd::named(robot, closure.frame_b),
            kind: closure.kind,
            axes: RowAxes::Local,
            planar: false,
            stiffness: 0.0,
            damping: 0.0,
            restitution: 0.0,
        }
    }

    /// With rows and forces in these axes.
    pub fn in_axes(self, axes: RowAxes) -> Self {
        Self { axes, ..self }
    }

    /// With Baumgarte's terms k_p (1/s^2) and k_d (1/s); k_p = (k_d / 2)^2 is critically damped.
    pub fn stabilised(self, stiffness: f64, damping: f64) -> Self {
        Self { stiffness, damping, ..self }
    }

    /// With a coefficient of restitution, 0 to 1.
    pub fn bouncing(self, restitution: f64) -> Self {
        Self { restitution, ..self }
    }

    /// Number of rows: 3 or 6.
    pub fn rows(&self) -> usize {
        match self.kind {
            LoopKind::Point => 3,
            LoopKind::Rigid => 6,
        }
    }

    /// Number of rows that bind: all, or all but the third.
    pub fn binding(&self) -> usize {
        if self.planar { 2 } else { self.rows() }
    }

    fn fault(&self, robot: &Model) -> Option<String> {
        for (end, which) in [(&self.a, "a"), (&self.b, "b")] {
            if let Some(joint) = end.joint.filter(|&j| j >= robot.bodies()) {
                let count = robot.bodies();
                return Some(format!("end {which} is on joint {joint}, expected an index below {count}"));
            }
            let numbers = end.placement.rotation.iter().chain(end.placement.translation.iter());
            if let Some(bad) = numbers.into_iter().find(|x| !x.is_finite()) {
                return Some(format!("end {which} is placed at {bad}, expected finite numbers"));
            }
        }
        if self.planar && self.kind != LoopKind::Point {
            return Some("is planar, which only one of points can be".into());
        }
        if self.a.joint == self.b.joint {
            return Some("both ends are on the same body, expected two".into());
        }
        let gains = [("stiffness", self.stiffness, f64::MAX), ("damping", self.damping, f64::MAX)];
        let gains = gains.into_iter().chain([("restitution", self.restitution, 1.0)]);
        let (what, value, most) = gains.into_iter().find(|(_, x, most)| !(0.0 <= *x && x <= most))?;
        Some(format!("{what} {value}, expected 0 to {most}"))
    }
}

/// What to do where rows of J depend on each other (squared sine of their angle, in the metric M^-1, below 1e-10), as
/// two contacts on one body, or more rows than degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Redundancy {
    /// [`ConstraintError::Redundant`].
    Refuse,
    /// Leave dependent rows out: those kept are the ones at the widest angles to each other, the motion is exact, and
    /// where the rows left out agree with those kept, they are satisfied too ([`ConstrainedDynamics::violation`]
    /// tells). The forces are one of many solutions: rows left out carry none. Derivatives are those of the system of
    /// the rows kept.
    Drop,
    /// Give way: rows satisfy J a + gamma + c lambda = 0 with this compliance c > 0 (m/s^2/N and rad/s^2/(N m); m/s/(N s)
    /// in an impact). Every force is determined, and tends to the one of smallest norm as c tends to 0; motions give way by
    /// c lambda; derivatives are exact for the system with c. It should be well above 1e-10 of J M^-1 J'.
    Yield(f64),
}

/// What constrained dynamics can refuse.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ConstraintError {
    /// A constraint that makes no sense.
    #[error("constraint `{name}`: {reason}")]
    Constraint {
        /// Its name.
        name: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A compliance that is not positive.
    #[error("compliance {0} of redundant constraints, expected a finite number > 0")]
    Compliance(f64),
    /// A vector of the wrong length.
    #[error("{what} has length {length}, expected {expected}")]
    Length {
        /// Which argument.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The length expected.
        expected: usize,
    },
    /// The inertial parameters, or the configuration, make the mass matrix indefinite or not a number.
    #[error("the mass matrix is not positive definite at joint `{joint}`: check inertias and configuration")]
    Mass {
        /// The joint at which the factorisation stopped.
        joint: String,
    },
    /// Dependent rows, with [`Redundancy::Refuse`].
    #[error(
        "row {row} of constraint `{name}` depends on the other rows; drop it, or let the constraints yield"
    )]
    Redundant {
        /// The constraint.
        name: String,
        /// Row of the constraint.
        row: usize,
    },
}

/// The turn from base axes into a constraint's, applied to a vector in base axes.
#[inline]
fn into_axes(axes: RowAxes, frame: &nalgebra::Matrix3<f64>, x: &Vector3<f64>) -> Vector3<f64> {
    match axes {
        RowAxes::WorldAligned => *x,
        RowAxes::Local => frame.tr_mul(x),
    }
}
