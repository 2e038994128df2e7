//! Physics and limits that a model must satisfy before it becomes an arm.

use std::path::PathBuf;

use nalgebra::Matrix3;

use super::error::RobotError;
use super::mend::Mended;
use super::merge::Merged;
use super::model::JointLimits;
use super::urdf::{Link, Tree};
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::{InertiaError, check_moments};

/// Whether a fault ends the loading, or is written down and lived with.
#[derive(Debug, Default)]
pub(super) struct Judge {
    lenient: bool,
    /// Whether the robot is to be used for dynamics alone; it may then have joints without a motor, and links without
    /// mass between the axes of one joint.
    pub dynamics_only: bool,
    /// Whether shapes matter: collision meshes are then read, and missed where they are not.
    pub shapes: bool,
    /// Folders in which a person says that packages are.
    pub package_path: Vec<PathBuf>,
    /// What was guessed of a URDF without a robot TOML.
    pub guesses: Vec<String>,
    /// Of these, the links whose inertia no body can have.
    pub mended: Vec<Mended>,
    /// What a lenient judge was told.
    pub found: Vec<RobotError>,
}

impl Judge {
    /// One for whom every fault is the last.
    pub fn strict() -> Self {
        Self::default()
    }

    /// One who writes faults down.
    pub fn lenient() -> Self {
        Self { lenient: true, ..Self::default() }
    }

    /// This one, asked for an arm, whose shapes matter.
    #[cfg(feature = "arm")]
    pub fn of_shapes(self) -> Self {
        Self { shapes: true, ..self }
    }

    /// The same, with folders in which packages of meshes are.
    #[cfg(feature = "arm")]
    pub fn of_shapes_in(self, package_path: &[PathBuf]) -> Self {
        Self { package_path: package_path.to_vec(), ..self.of_shapes() }
    }

    /// Whether what is wrong with a URDF that has no robot TOML is mended. Who only writes faults down wants to see the figures as they are, unless
    /// shapes matter: then an arm is wanted.
    pub fn mends(&self) -> bool {
        !self.lenient || self.shapes
    }

    /// Passes sentence on a fault of an arm, which is none where dynamics alone are asked for.
    ///
    /// # Errors
    /// As [`Judge::hear`].
    pub fn hear_of_arm(&mut self, fault: RobotError) -> Result<(), RobotError> {
        if self.shapes || self.lenient { self.hear(fault) } else { Ok(()) }
    }

    /// Passes sentence on a fault that a model for dynamics alone survives.
    ///
    /// # Errors
    /// `fault` itself, unless this judge is lenient and writes it down.
    pub fn hear(&mut self, fault: RobotError) -> Result<(), RobotError> {
        if !self.lenient {
            return Err(fault);
        }
        self.found.push(fault);
        Ok(())
    }
}

/// Why no rigid body is like this link.
pub(super) fn link_fault(link: &Link) -> Option<String> {
    if link.mass < 0.0 {
        return Some(format!("mass {} kg, expected >= 0", link.mass));
    }
    if link.mass == 0.0 {
        let massless = link.inertia == Matrix3::zeros();
        return (!massless).then(|| "mass 0 kg but a non-zero inertia; expected both or neither".into());
    }
    check_moments(&link.inertia).err().map(|fault| match fault {
        InertiaError::Triangle { moments: [small, middle, large] } => {
            let excess = large - small - middle;
            let share = 100.0 * excess / large;
            format!("{fault}: it does so by {excess:.3e} kg m^2, {share:.3} % of it")
        }
        _ => fault.to_string(),
    })
}

/// Objects to moving bodies without mass; `Merged` has the sums over fixed joints.
///
/// A joint with two axes is modelled as two joints with a massless link between them. For dynamics that is well: what
/// the link carries has mass.
pub(super) fn bodies(tree: &Tree, merged: &Merged, judge: &mut Judge) -> Result<(), RobotError> {
    for (b, body) in merged.bodies.iter().enumerate() {
        let carries = || merged.bodies.iter().any(|c| c.parent == Some(b) && c.inertia[0] > 0.0);
        if judge.dynamics_only && body.inertia == [0.0; INERTIAL] && carries() {
            continue;
        }
        if !(body.inertia[0] > 0.0) {
            judge.hear(RobotError::Link {
                path: tree.path.clone(),
                link: body.link_name(tree).to_owned(),
                reason: format!(
                    "moves with joint `{}` but has mass {} kg (with everything fixed to it), expected > 0",
                    body.joint_name(tree),
                    body.inertia[0]
                ),
            })?;
        }
    }
    if merged.bodies.is_empty() {
        let reason = "there is no revolute, continuous or prismatic joint, and the base is fixed".into();
        return Err(RobotError::Tree { path: tree.path.clone(), reason });
    }
    Ok(())
}

/// Why these limits are unusable; with `dynamics_only` a torque of 0 is well (no motor).
pub(super) fn limits_fault(limits: &JointLimits, dynamics_only: bool) -> Option<String> {
    if let Some((lower, upper)) = limits.position
        && !(lower.is_finite() && upper.is_finite() && lower < upper)
    {
        return Some(format!("position limits [{lower}, {upper}], expected finite numbers, lower < upper"));
    }
    let passive = dynamics_only && limits.torque == 0.0;
    let torque = if passive { f64::MIN_POSITIVE } else { limits.torque };
    let named = [("velocity", limits.velocity), ("effort (torque)", torque)];
    named.iter().find(|(_, x)| !(x.is_finite() && *x > 0.0)).map(|(what, x)| {
        format!("{what} limit {x} (0 if missing), expected a finite number > 0 in the URDF or the robot TOML")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(mass: f64, moments: [f64; 3]) -> Link {
        Link {
            name: "l".into(),
            mass,
            com: nalgebra::Vector3::zeros(),
            inertia: Matrix3::from_diagonal(&moments.into()),
            collisions: Vec::new(),
            meshes: Vec::new(),
        }
    }

    #[test]
    fn impossible_links_are_named_with_their_fault() {
        assert!(link_fault(&link(-1.0, [1.0; 3])).unwrap().contains("mass -1 kg"));
        assert!(link_fault(&link(0.0, [1.0; 3])).unwrap().contains("non-zero inertia"));
        assert!(link_fault(&link(1.0, [1.0, 1.0, -0.1])).unwrap().contains("negative"));
        assert!(link_fault(&link(1.0, [1.0, 1.0, 2.1])).unwrap().contains("triangle"));
        assert_eq!(link_fault(&link(1.0, [1.0, 1.0, 2.0])), None);
        assert_eq!(link_fault(&link(0.0, [0.0; 3])), None);
    }

    #[test]
    fn limits_must_leave_room() {
        let good = JointLimits { position: Some((-1.0, 1.0)), velocity: 1.0, torque: 1.0 };
        assert_eq!(limits_fault(&good, false), None);
        for position in [(1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (f64::NEG_INFINITY, 1.0)] {
            let fault = limits_fault(&JointLimits { position: Some(position), ..good }, false).unwrap();
            assert!(fault.contains("position"), "{fault}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                limits_fault(&JointLimits { velocity: bad, ..good }, false).unwrap().contains("velocity")
            );
            assert!(limits_fault(&JointLimits { torque: bad, ..good }, false).unwrap().contains("effort"));
        }
        let passive = JointLimits { torque: 0.0, ..good };
        assert_eq!(limits_fault(&passive, true), None);
        assert!(limits_fault(&JointLimits { torque: -1.0, ..good }, true).is_some());
    }
}
