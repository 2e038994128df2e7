//! What is believed before the first measurement, from a TOML file:
//!
//! ```toml
//! [payload]                       # the last body: m, m c, I about and in its joint's frame (SI)
//! lower = [1.2, -0.4, -0.4, -1.0, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2]
//! upper = [5.2, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
//!
//! [joints.joint_1]                # [lower, upper]; what is not named keeps its default
//! coulomb = [0.0, 2.0]            # N m
//! viscous = [5.0, 15.0]           # N m s/rad
//! armature = [0.0, 12.0]          # kg m^2
//! offset = [-0.5, 0.5]            # N m
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::inertia::{ARMATURE, COULOMB, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use crate::robot::Arm;

/// Why a prior cannot be used.
#[derive(Debug, Error)]
pub enum PriorError {
    /// The file cannot be read.
    #[error("`{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's word.
        source: std::io::Error,
    },
    /// It is no such TOML.
    #[error("`{}`: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        message: String,
    },
    /// A field makes no sense.
    #[error("`{}`, {field}: {reason}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field.
        field: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The last body with what it holds.
    payload: Option<Payload>,
    /// Friction and transmission inertia, by joint name; what is not named keeps its default.
    #[serde(default)]
    joints: BTreeMap<String, Joint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    /// Lower bounds of m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about and in its joint's frame, SI units.
    lower: [f64; INERTIAL],
    /// Upper bounds.
    upper: [f64; INERTIAL],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Joint {
    /// Coulomb friction F_c, lower and upper bound, N m.
    coulomb: Option<[f64; 2]>,
    /// Viscous friction F_v, N m s/rad.
    viscous: Option<[f64; 2]>,
    /// Transmission inertia I_a, kg m^2.
    armature: Option<[f64; 2]>,
    /// Torque offset, N m.
    offset: Option<[f64; 2]>,
}

/// Replaces intervals of `set` by those of the file; returns whether it names the payload.
///
/// # Errors
/// [`PriorError`] names the file and the field.
pub fn apply(path: &Path, robot: &Arm, set: &mut ParameterSet) -> Result<bool, PriorError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| PriorError::Read { path: path.to_owned(), source })?;
    let file: File = toml::from_str(&text)
        .map_err(|e| PriorError::Parse { path: path.to_owned(), message: e.to_string() })?;
    let refuse =
        |field: String, reason: String| Err(PriorError::Field { path: path.to_owned(), field, reason });
    let mut put = |at: usize, field: String, [lower, upper]: [f64; 2], least: f64| {
        if !(lower.is_finite() && upper.is_finite() && lower <= upper && lower >= least) {
            let sign = if least == 0.0 { ", lower >= 0" } else { "" };
            return refuse(field, format!("[{lower}, {upper}], expected finite lower <= upper{sign}"));
        }
        set.replace(at, [lower, upper]);
        Ok(())
    };
    if let Some(payload) = &file.payload {
        let at = robot.inertial_index(robot.end_effector());
        for k in 0..INERTIAL {
            let field = format!("payload, entry {k} (of m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz)");
            put(at + k, field, [payload.lower[k], payload.upper[k]], f64::NEG_INFINITY)?;
        }
    }
    for (name, joint) in &file.joints {
        let Some(i) = robot.joints.iter().position(|j| j.name == *name) else {
            let names: Vec<&str> = robot.joints.iter().map(|j| j.name.as_str()).collect();
            return Err(PriorError::Field {
                path: path.to_owned(),
                field: format!("joints.{name}"),
                reason: format!("no such joint, expected one of {}", names.join(", ")),
            });
        };
        let fields = [
            ("coulomb", joint.coulomb, COULOMB, 0.0),
            ("viscous", joint.viscous, VISCOUS, 0.0),
            ("armature", joint.armature, ARMATURE, 0.0),
            ("offset", joint.offset, OFFSET, f64::NEG_INFINITY),
        ];
        for (field, value, k, least) in fields {
            if let Some(value) = value {
                put(robot.friction_index(i) + k, format!("joints.{name}.{field}"), value, least)?;
            }
        }
    }
    Ok(file.payload.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::fixture::small_robot;
    use std::io::Write;

    fn applied(text: &str) -> Result<(bool, ParameterSet), PriorError> {
        let robot = small_robot();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut set = ParameterSet::around_nominal(&robot);
        apply(file.path(), &robot, &mut set).map(|payload| (payload, set))
    }

    #[test]
    fn named_intervals_are_replaced_and_others_kept() {
        let robot = small_robot();
        let (payload, set) = applied("[joints.two]\nviscous = [0.1, 3.0]\noffset = [-1.0, 1.0]").unwrap();
        assert!(!payload);
        let at = robot.joint_index(1);
        assert_eq!((set.lower()[at.viscous], set.upper()[at.viscous]), (0.1, 3.0));
        let before = ParameterSet::around_nominal(&robot);
        assert_eq!(set.lower()[at.coulomb], before.lower()[at.coulomb]);
        let ten = |x: f64| format!("{:?}", [x; 10]);
        let (payload, set) =
            applied(&format!("[payload]\nlower = {}\nupper = {}", ten(-1.0), ten(2.0))).unwrap();
        let at = robot.inertial_index(2);
        assert!(payload && (set.lower()[at], set.upper()[at + 9]) == (-1.0, 2.0));
    }

    #[test]
    fn nonsense_is_refused_by_field() {
        let ten = format!("{:?}", [0.0; 10]);
        for (text, culprit) in [
            ("[joints.four]\ncoulomb = [0.0, 1.0]".to_owned(), "joints.four"),
            ("[joints.two]\ncoulomb = [1.0, 0.0]".to_owned(), "joints.two.coulomb"),
            ("[joints.two]\nviscous = [-1.0, 1.0]".to_owned(), "joints.two.viscous"),
            ("[joints.two]\noffset = [nan, 1.0]".to_owned(), "joints.two.offset"),
            ("[joints.two]\nstiffness = [0.0, 1.0]".to_owned(), "stiffness"),
            ("[payload]\nlower = [1.0]\nupper = [2.0]".to_owned(), "length"),
            (format!("[payload]\nlower = {ten}\nupper = [0, 0, 0, 0, 0, 0, 0, 0, inf, 0]"), "entry 8"),
        ] {
            let error = applied(&text).unwrap_err().to_string();
            assert!(error.contains(culprit), "{text}: {error}");
        }
        let robot = small_robot();
        let mut set = ParameterSet::around_nominal(&robot);
        let error = apply(Path::new("no/such.toml"), &robot, &mut set).unwrap_err();
        assert!(error.to_string().contains("no/such.toml"), "{error}");
    }
}
