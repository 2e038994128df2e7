//! What a person believes before the first measurement: one format for scenarios, campaigns and the command line.
//!
//! ```toml
//! # The last body with all that it holds: m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about and in its joint's frame (SI).
//! lower = [1.2, -0.4, -0.4, -1.0, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2]
//! upper = [5.2, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
//!
//! [joints.joint_1]                # [lower, upper]; what is not named stays as it is
//! coulomb = [0.0, 2.0]            # N m
//! viscous = [5.0, 15.0]           # N m s/rad
//! armature = [0.0, 12.0]          # kg m^2
//! offset = [-0.5, 0.5]            # N m
//! ```
//!
//! In place of `lower` and `upper`, the payload alone in words, in the frame of a link ([`super::words`]):
//!
//! ```toml
//! [payload]
//! max_mass_kg = 3.0
//! center_m = [0.0, 0.0, 0.1]      # of a box that holds all of it, in the tool frame
//! size_m = [0.1, 0.1, 0.2]
//! ```
//!
//! This is a file for `surelift identify --prior`; in a scenario it is the table `[prior]`, in a campaign `[arms.prior]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::arm::Arm;
use super::words::{PayloadWords, StatedPayload, ToolFrames};
use crate::extend::from_text;
use crate::inertia::pseudo::check_physical;
use crate::inertia::{INERTIAL, ParameterSet};

/// What is believed of the whole last body (link, gripper, payload) and of the joints; parameters in the order m, h_x, h_y, h_z, I_xx,
/// I_xy, I_yy, I_xz, I_yz, I_zz about and in the last joint's frame, SI units.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// Lower bounds of the last body with all that it holds; given with `upper` or not at all.
    pub lower: Option<[f64; INERTIAL]>,
    /// Upper bounds.
    pub upper: Option<[f64; INERTIAL]>,
    /// A guess inside the box, of a body that can exist: the estimate until something is learnt, and where a search for the most probable body
    /// begins. `surelift identify` and campaigns refuse it.
    pub nominal: Option<[f64; INERTIAL]>,
    /// What is surely part of the last body, such as the gripper; the rest is a body that can exist, or nothing. Certified motions rest
    /// on it; `surelift identify` makes nothing of it.
    pub core: Option<[f64; INERTIAL]>,
    /// The payload in words, in place of `lower` and `upper`: the set that follows holds every body that fits the words, and the link that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadWords>,
    /// Link of the URDF that moves with the hand, in whose frame results tell of the payload; that of `[payload]` if left out, or the tool frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// What the words said of the payload alone, once [`Prior::in_numbers`] has put numbers in their place: results keep to it.
    #[serde(skip)]
    pub stated: Option<StatedPayload>,
    /// Friction and transmission, by joint name; what is not named keeps what the robot's file says.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joints: BTreeMap<String, JointPrior>,
}

/// What is believed of one joint.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointPrior {
    /// Coulomb friction F_c, lower and upper bound, N m.
    pub coulomb: Option<[f64; 2]>,
    /// Viscous friction F_v, N m s/rad.
    pub viscous: Option<[f64; 2]>,
    /// Transmission inertia I_a, kg m^2.
    pub armature: Option<[f64; 2]>,
    /// Torque offset, N m.
    pub offset: Option<[f64; 2]>,
}

/// What is wrong with a prior: the field, what it says and what was expected.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{field}: {reason}")]
pub struct PriorFault {
    /// The field.
    pub field: String,
    /// What is wrong, and what was expected.
    pub reason: String,
}

/// Why a prior's file cannot be used.
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
    #[error("`{}`, {fault}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: PriorFault,
    },
}

impl Prior {
    /// Reads a TOML file of this form.
    ///
    /// # Errors
    /// [`PriorError`] names the file, and the line that does not parse.
    pub fn load(path: &Path) -> Result<Self, PriorError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PriorError::Read { path: path.to_owned(), source })?;
        let prior: Self =
            from_text(&text).map_err(|message| PriorError::Parse { path: path.to_owned(), message })?;
        Ok(prior.in_folder(path.parent().unwrap_or(Path::new(""))))
    }

    /// The same prior, where files that its words name are relative to `folder`.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.payload = self.payload.map(|words| words.in_folder(folder));
        self
    }

    /// Reads a file and applies it: the prior, and `set` with it ([`Prior::applied_to`]).
    ///
    /// # Errors
    /// [`PriorError`] names the file and the field.
    pub fn read(path: &Path, set: ParameterSet, robot: &Arm) -> Result<(Self, ParameterSet), PriorError> {
        let at = |fault| PriorError::Field { path: path.to_owned(), fault };
        let prior = Self::load(path)?.in_numbers(robot).map_err(at)?;
        let set = prior.applied_to(set, robot).map_err(at)?;
        Ok((prior, set))
    }

    /// The same prior with ten numbers in place of words, those of the whole last body: what the words leave possible, and the link that
    /// holds the payload as uncertain as its file says.
    ///
    /// # Errors
    /// [`PriorFault`] for words that no body fits, and for numbers beside the words.
    pub fn in_numbers(self, robot: &Arm) -> Result<Self, PriorFault> {
        let frame = self.frame.as_deref().or_else(|| self.payload.as_ref()?.frame.as_deref());
        let frame = frame.map(str::to_owned);
        ToolFrames::of(robot).get(frame.as_deref()).map_err(|fault| PriorFault {
            field: if self.frame.is_some() { "frame".to_owned() } else { fault.field },
            reason: fault.reason,
        })?;
        let Some(words) = &self.payload else { return Ok(self) };
        if [self.lower, self.upper, self.nominal].iter().any(Option::is_some) {
            let reason = "given beside `lower`, `upper` or `nominal`, expected words or numbers";
            return Err(PriorFault { field: "payload".to_owned(), reason: reason.to_owned() });
        }
        let found = words.whole_body(robot)?;
        let stated = Some(words.stated(&ToolFrames::of(robot))?);
        let (lower, upper) = (Some(found.lower), Some(found.upper));
        Ok(Self { lower, upper, nominal: found.nominal, payload: None, frame, stated, ..self })
    }

    /// Bounds of the last body, if the prior says something of it.
    ///
    /// # Errors
    /// [`PriorFault`] if one of `lower` and `upper` is missing, if a nominal value or a known part comes without them, or if numbers are not
    /// finite or not in order.
    pub fn body(&self) -> Result<Option<[[f64; INERTIAL]; 2]>, PriorFault> {
        let fault = |field: &str, reason: String| PriorFault { field: field.to_owned(), reason };
        if self.payload.is_some() {
            return Err(fault("payload", "stated in words, expected numbers (Prior::in_numbers)".into()));
        }
        let (lower, upper) = match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => (lower, upper),
            (None, None) if self.nominal.is_none() && self.core.is_none() => return Ok(None),
            (None, _) => return Err(fault("lower", "missing, expected ten numbers".into())),
            (_, None) => return Err(fault("upper", "missing, expected ten numbers".into())),
        };
        for (field, ten) in
            [("lower", Some(lower)), ("upper", Some(upper)), ("nominal", self.nominal), ("core", self.core)]
        {
            if let Some(k) = ten.and_then(|ten| ten.iter().position(|x| !x.is_finite())) {
                let found = ten.map_or(f64::NAN, |ten| ten[k]);
                return Err(fault(field, format!("entry {k} is {found}, expected a finite number")));
            }
        }
        let nominal = self.nominal.unwrap_or(lower);
        for (k, ((lower, upper), nominal)) in lower.iter().zip(&upper).zip(&nominal).enumerate() {
            if !(lower <= nominal && nominal <= upper) {
                let reason = format!(
                    "{lower}, nominal {nominal}, upper {upper}, expected lower <= nominal <= upper in entry {k} (of m, h_x, h_y, h_z, \
                     I_xx, I_xy, I_yy, I_xz, I_yz, I_zz)"
                );
                return Err(fault("lower", reason));
            }
        }
        for (field, ten) in [("nominal", self.nominal), ("core", self.core)] {
            if let Some(Err(error)) = ten.as_ref().map(check_physical) {
                return Err(fault(field, format!("no rigid body has this inertia: {error}")));
            }
        }
        Ok(Some([lower, upper]))
    }

    /// The guess to be shown before anything is learnt, if the prior says something of the last body: `nominal`, or the middle of its box.
    pub fn guess(&self) -> Option<[f64; INERTIAL]> {
        let (lower, upper) = (self.lower?, self.upper?);
        Some(self.nominal.unwrap_or(std::array::from_fn(|k| 0.5 * (lower[k] + upper[k]))))
    }

    /// `set`, that of `robot`, with this in place of what it says of the last body and of the joints that are named.
    ///
    /// # Errors
    /// [`PriorFault`] names the field: as [`Prior::body`], unknown joints, intervals that are none.
    pub fn applied_to(&self, set: ParameterSet, robot: &Arm) -> Result<ParameterSet, PriorFault> {
        let (mut set, hand) = (set, robot.end_effector());
        if let Some([lower, upper]) = self.body()? {
            set = set
                .with_body(hand, &lower, &upper)
                .map_err(|error| PriorFault { field: "lower".into(), reason: error.to_string() })?;
        }
        if let Some(part) = self.core {
            set = set.with_core(hand, part);
        }
        for (name, joint) in &self.joints {
            let Some(i) = robot.joints.iter().position(|j| j.name == *name) else {
                let names: Vec<&str> = robot.joints.iter().map(|j| j.name.as_str()).collect();
                let reason = format!("no such joint, expected one of {}", names.join(", "));
                return Err(PriorFault { field: format!("joints.{name}"), reason });
            };
            let at = robot.joint_index(i);
            for (field, value, at, least) in [
                ("coulomb", joint.coulomb, at.coulomb, 0.0),
                ("viscous", joint.viscous, at.viscous, 0.0),
                ("armature", joint.armature, at.armature, 0.0),
                ("offset", joint.offset, at.offset, f64::NEG_INFINITY),
            ] {
                let Some([lower, upper]) = value else { continue };
                if !(lower.is_finite() && upper.is_finite() && lower <= upper && lower >= least) {
                    let sign = if least == 0.0 { ", lower >= 0" } else { "" };
                    let reason = format!("[{lower}, {upper}], expected finite lower <= upper{sign}");
                    return Err(PriorFault { field: format!("joints.{name}.{field}"), reason });
                }
                set.replace(at, [lower, upper]);
            }
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inertia::JointParameters;
    use crate::robot::fixture::small_robot;
    use std::io::Write;

    fn applied(text: &str) -> Result<(Prior, ParameterSet), PriorError> {
        let robot = small_robot();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Prior::read(file.path(), ParameterSet::around_nominal(&robot), &robot)
    }

    #[test]
    fn named_intervals_are_replaced_and_others_kept() {
        let robot = small_robot();
        let (prior, set) = applied("[joints.two]\nviscous = [0.1, 3.0]\noffset = [-1.0, 1.0]").unwrap();
        assert_eq!((prior.body().unwrap(), prior.guess()), (None, None));
        let viscous = set.joint(1).viscous();
        assert_eq!((viscous.lower, viscous.upper), (0.1, 3.0));
        let before = ParameterSet::around_nominal(&robot);
        let JointParameters { coulomb, .. } = robot.joint_index(1);
        assert_eq!(set.lower()[coulomb], before.lower()[coulomb]);
        let ten = |x: f64| format!("{:?}", [x; 10]);
        let (prior, set) = applied(&format!("lower = {}\nupper = {}", ten(-1.0), ten(2.0))).unwrap();
        assert_eq!((set.body(2).mass().lower, set.body(2).range(9).upper), (-1.0, 2.0));
        assert_eq!(prior.guess(), Some([0.5; 10]));
    }

    #[test]
    fn nonsense_is_refused_by_field() {
        let ten = |x: f64| format!("{:?}", [x; 10]);
        let (zero, one) = (ten(0.0), ten(1.0));
        for (text, culprit) in [
            ("[joints.four]\ncoulomb = [0.0, 1.0]".to_owned(), "joints.four"),
            ("[joints.two]\ncoulomb = [1.0, 0.0]".to_owned(), "joints.two.coulomb"),
            ("[joints.two]\nviscous = [-1.0, 1.0]".to_owned(), "joints.two.viscous"),
            ("[joints.two]\noffset = [nan, 1.0]".to_owned(), "joints.two.offset"),
            ("[joints.two]\nstiffness = [0.0, 1.0]".to_owned(), "stiffness"),
            ("lower = [1.0]\nupper = [2.0]".to_owned(), "length"),
            (format!("lower = {zero}"), "upper: missing"),
            (format!("nominal = {zero}"), "lower: missing"),
            (format!("lower = {one}\nupper = {zero}"), "lower <= nominal <= upper"),
            (format!("lower = {zero}\nupper = {zero}\nnominal = {one}"), "lower <= nominal <= upper"),
            (format!("lower = {zero}\nupper = {one}\ncore = {one}"), "core: no rigid body"),
            (format!("lower = {zero}\nupper = {one}\nnominal = {one}"), "nominal: no rigid body"),
            (format!("lower = {zero}\nupper = [0, 0, 0, 0, 0, 0, 0, 0, inf, 0]"), "entry 8"),
        ] {
            let error = applied(&text).unwrap_err().to_string();
            assert!(error.contains(culprit), "{text}: {error}");
        }
        let error = Prior::load(Path::new("no/such.toml")).unwrap_err();
        assert!(error.to_string().contains("no/such.toml"), "{error}");
    }
}
