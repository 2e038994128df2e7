//! Physics and limits that a model must satisfy before it becomes a `Robot`.

use nalgebra::{Matrix3, SymmetricEigen};

use super::error::RobotError;
use super::merge::Merged;
use super::model::{INERTIAL, JointLimits};
use super::urdf::{Link, Tree};

/// How far principal moments may miss the triangle inequality, relative to their sum: CAD programs print six
/// digits, and a thin plate or rod satisfies it with equality.
const TRIANGLE_TOLERANCE: f64 = 1e-9;

/// Refuses links that no rigid body can have.
pub(super) fn links(tree: &Tree) -> Result<(), RobotError> {
    for link in &tree.links {
        if let Some(reason) = link_fault(link) {
            return Err(RobotError::Link { path: tree.path.clone(), link: link.name.clone(), reason });
        }
    }
    Ok(())
}

fn link_fault(link: &Link) -> Option<String> {
    if link.mass < 0.0 {
        return Some(format!("mass {} kg, expected >= 0", link.mass));
    }
    if link.mass == 0.0 {
        let massless = link.inertia == Matrix3::zeros();
        return (!massless).then(|| "mass 0 kg but a non-zero inertia; expected both or neither".into());
    }
    inertia_fault(&link.inertia)
}

/// Why no mass distribution has this inertia about its centre of mass.
fn inertia_fault(inertia: &Matrix3<f64>) -> Option<String> {
    let mut moments: Vec<f64> = SymmetricEigen::new(*inertia).eigenvalues.iter().copied().collect();
    moments.sort_by(f64::total_cmp);
    let [small, middle, large] = [moments[0], moments[1], moments[2]];
    let tolerance = TRIANGLE_TOLERANCE * inertia.trace().abs();
    if small < -tolerance {
        return Some(format!(
            "principal moment of inertia {small:.6e} kg m^2 at the centre of mass is negative"
        ));
    }
    (large > small + middle + tolerance).then(|| {
        format!(
            "principal moments of inertia {small:.6e}, {middle:.6e}, {large:.6e} kg m^2 violate the triangle \
             inequality (the largest may not exceed the sum of the others)"
        )
    })
}

/// Refuses moving bodies without mass; `Merged` has the sums over fixed joints.
pub(super) fn bodies(tree: &Tree, merged: &Merged) -> Result<(), RobotError> {
    for body in &merged.bodies {
        if body.inertia[0] <= 0.0 {
            let joint = &tree.joints[body.joint];
            return Err(RobotError::Link {
                path: tree.path.clone(),
                link: tree.links[joint.child].name.clone(),
                reason: format!(
                    "moves with joint `{}` but has mass {} kg (with everything fixed to it), expected > 0",
                    joint.name, body.inertia[0]
                ),
            });
        }
    }
    if merged.bodies.is_empty() {
        let reason = "there is no revolute, continuous or prismatic joint".into();
        return Err(RobotError::Tree { path: tree.path.clone(), reason });
    }
    Ok(())
}

/// Why these limits are unusable.
pub(super) fn limits_fault(limits: &JointLimits) -> Option<String> {
    if let Some((lower, upper)) = limits.position
        && !(lower.is_finite() && upper.is_finite() && lower < upper)
    {
        return Some(format!("position limits [{lower}, {upper}], expected finite numbers, lower < upper"));
    }
    let named = [("velocity", limits.velocity), ("effort (torque)", limits.torque)];
    named.iter().find(|(_, x)| !(x.is_finite() && *x > 0.0)).map(|(what, x)| {
        format!("{what} limit {x} (0 if missing), expected a finite number > 0 in the URDF or the robot TOML")
    })
}

/// Why these inertial parameters (m, h, I about the same origin) belong to no rigid body: a body of mass > 0
/// needs an inertia about its centre of mass with non-negative principal moments that satisfy the triangle
/// inequality, which is the same as a pseudo-inertia J >= 0. `None` when they are consistent.
pub(crate) fn body_fault(p: &[f64; INERTIAL]) -> Option<String> {
    if let Some(bad) = p.iter().find(|x| !x.is_finite()) {
        return Some(format!("contains {bad}, expected finite numbers"));
    }
    let mass = p[0];
    if mass <= 0.0 {
        return Some(format!("mass {mass} kg, expected > 0"));
    }
    let c = nalgebra::Vector3::new(p[1], p[2], p[3]) / mass;
    #[rustfmt::skip]
    let about_origin = Matrix3::new(
        p[4], p[5], p[7],
        p[5], p[6], p[8],
        p[7], p[8], p[9],
    );
    inertia_fault(&(about_origin - (Matrix3::identity() * c.norm_squared() - c * c.transpose()) * mass))
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
        let mut skewed = link(1.0, [1.0; 3]);
        skewed.inertia[(0, 1)] = 1.5;
        skewed.inertia[(1, 0)] = 1.5;
        assert!(link_fault(&skewed).unwrap().contains("negative"));
    }

    #[test]
    fn limits_must_leave_room() {
        let good = JointLimits { position: Some((-1.0, 1.0)), velocity: 1.0, torque: 1.0 };
        assert_eq!(limits_fault(&good), None);
        for position in [(1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (f64::NEG_INFINITY, 1.0)] {
            let fault = limits_fault(&JointLimits { position: Some(position), ..good }).unwrap();
            assert!(fault.contains("position"), "{fault}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(limits_fault(&JointLimits { velocity: bad, ..good }).unwrap().contains("velocity"));
            assert!(limits_fault(&JointLimits { torque: bad, ..good }).unwrap().contains("effort"));
        }
    }

    #[test]
    fn a_body_must_have_the_inertia_that_its_first_moment_forces() {
        let mut p = [2.0, 0.0, 0.0, -1.0, 0.51, 0.0, 0.51, 0.0, 0.0, 0.01];
        assert_eq!(body_fault(&p), None);
        p[4] = 0.49;
        assert!(body_fault(&p).unwrap().contains("negative"));
        p[4] = f64::NAN;
        assert!(body_fault(&p).unwrap().contains("NaN"));
        assert!(body_fault(&[0.0; 10]).unwrap().contains("mass"));
    }
}
