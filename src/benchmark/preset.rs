//! What a method is, as written.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::control::{AdaptiveGains, AdaptiveRobustGains, PidGains};
use crate::extend::from_text;
use crate::horizon::ExciteCriterion;
use crate::identify::Method;
use crate::plan::propose::ConstraintModel;

/// A method: how it moves to learn, what it believes then, how it controls, and what it asks to be proven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodPreset {
    /// Version of this format: 1.
    pub schema: u32,
    /// Its name in tables and folders.
    pub name: String,
    /// One or two sentences for people.
    pub description: String,
    /// Where it is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Where the planner of its motions takes its constraints from.
    #[serde(default)]
    pub planner: ConstraintModel,
    /// How it moves to learn what is held, before it carries that.
    pub learns: Learning,
    /// What its controller takes for true when it carries what is held.
    pub believes: AssumedBody,
    /// What follows the path.
    pub controller: ControlLaw,
    /// What has to be proven.
    pub proof: Proof,
}

/// How a method moves to learn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learning {
    /// Not at all.
    Nothing,
    /// By proven motions of the planner, which the proven law follows, with a guaranteed set.
    Planned(PlannedLearning),
    /// Its own controller follows the motions that `planned` learning makes for the same task and seed, and adapts meanwhile.
    Adapting,
    /// Its own controller follows a Fourier series that keeps limits of position, speed and acceleration alone.
    Fourier(FourierLearning),
}

/// Proven motions, and what is made of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlannedLearning {
    /// What a motion minimises; what the scenario says if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criterion: Option<ExciteCriterion>,
    /// How intervals come of the data; what the scenario says if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Method>,
    /// Whether plans may count on what is known of combinations of parameters, beside the ten intervals.
    pub correlated: bool,
}

impl Default for PlannedLearning {
    fn default() -> Self {
        Self { criterion: None, intervals: None, correlated: true }
    }
}

/// A Fourier series that excites, \[26\], with the limits that the baseline of \[1\] keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FourierLearning {
    /// Number of harmonics, at least 2.
    pub harmonics: usize,
    /// Duration, s.
    pub duration_s: f64,
    /// Largest acceleration of any joint, rad/s^2 (m/s^2).
    pub acceleration_rad_s2: f64,
    /// Steps of the search for a small condition number.
    pub evaluations: usize,
}

impl Default for FourierLearning {
    fn default() -> Self {
        Self { harmonics: 5, duration_s: 7.5, acceleration_rad_s2: 5.0, evaluations: 400 }
    }
}

/// What a controller takes for true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssumedBody {
    /// What was identified.
    Identified,
    /// The scenario's prior.
    Prior,
    /// The robot's own hand, with nothing in it, exactly.
    EmptyHand,
    /// What the scenario's variant of this name holds, exactly, whatever is held in truth.
    Item(String),
}

/// A controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlLaw {
    /// The robust law ([`crate::control::RobustController`]), with the robot's gains.
    Robust,
    /// [`crate::control::GravityPid`] with these gains.
    GravityPid(PidGains),
    /// [`crate::control::AdaptiveController`] with these gains.
    Adaptive(AdaptiveGains),
    /// [`crate::control::AdaptiveRobustController`] with these gains.
    AdaptiveRobust(AdaptiveRobustGains),
}

/// What has to be proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Every motion: what is not proven is not carried out.
    Required,
    /// Nothing is proven of the path.
    None,
}

/// A method that cannot be used.
#[derive(Debug, Error)]
pub enum PresetError {
    /// There is no such method.
    #[error("method `{name}`: no such file, and none of the methods that ship: {}", shipped_names())]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no TOML, lacks a key or has an unknown one.
    #[error("{}: not a valid method: {message}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Line, key and expectation.
        message: String,
    },
    /// Values that cannot be, or not together.
    #[error("{}: field `{field}`: {reason}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field.
        field: String,
        /// What is wrong and what was expected.
        reason: String,
    },
}

macro_rules! shipped {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../planners/", $name, ".toml"))),)*]
    };
}

/// Name and text of the methods that ship, those of the paper in its order, then variants of `ours` and the planner of the papers.
const SHIPPED: &[(&str, &str)] = shipped![
    "ours",
    "wrong",
    "conservative",
    "random",
    "adap-1",
    "adap-1-excit",
    "adap-2",
    "adap-2-excit",
    "grav-pid",
    "grav-pid-ours",
    "grav-pid-excit",
    "ours-box",
    "ours-perturbation",
    "ours-condition",
    "armour"
];

fn shipped_names() -> String {
    SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl MethodPreset {
    /// Names of the methods that ship.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The method that ships under this name, or that of a file.
    ///
    /// # Errors
    /// [`PresetError`] names the file and the field.
    pub fn find(name: &str) -> Result<Self, PresetError> {
        if let Some((name, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
            return Self::parse(text, &Path::new("planners").join(name).with_extension("toml"));
        }
        let path = Path::new(name);
        if !path.exists() && path.extension().is_none() {
            return Err(PresetError::Unknown { name: name.to_owned() });
        }
        let text = std::fs::read_to_string(path)
            .map_err(|source| PresetError::Read { path: path.to_path_buf(), source })?;
        Self::parse(&text, path)
    }

    /// Reads the text of a file and checks it.
    fn parse(text: &str, path: &Path) -> Result<Self, PresetError> {
        let preset: Self = from_text(text).map_err(|message| PresetError::Parse {
            path: path.to_path_buf(),
            message: message.trim_end().to_owned(),
        })?;
        let refuse = |(field, reason): (&str, String)| PresetError::Field {
            path: path.to_path_buf(),
            field: field.to_owned(),
            reason,
        };
        preset.check().map_err(refuse)?;
        Ok(preset)
    }

    /// What contradicts itself: the field, and why.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.schema != 1 {
            return Err(("schema", format!("{}, expected 1", self.schema)));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(("name", format!("`{}`, expected letters, digits, `-` and `_`", self.name)));
        }
        self.learning()?;
        self.planner.check().map_err(|reason| ("planner.polynomial_zonotopes", reason))?;
        let plans = matches!(self.learns, Learning::Planned(_)) || self.proof == Proof::Required;
        if self.planner != ConstraintModel::default() && !plans {
            let reason =
                "nothing is planned; expected `learns` by `planned` motions, or a `proof` that is `required`";
            return Err(("planner", reason.to_owned()));
        }
        let identifies = matches!(self.learns, Learning::Planned(_) | Learning::Fourier(_));
        let robust = self.controller == ControlLaw::Robust;
        match (&self.believes, &self.learns) {
            (AssumedBody::Identified, _) if !identifies => {
                return Err((
                    "believes",
                    "`identified`, but nothing is; expected `learns` by `planned` or `fourier` motions"
                        .to_owned(),
                ));
            }
            (AssumedBody::Identified, _) => {}
            (_, _) if identifies => {
                return Err((
                    "believes",
                    "expected `identified`: what is learnt would be of no use".to_owned(),
                ));
            }
            _ => {}
        }
        if self.learns == Learning::Adapting && !self.controller.adapts() {
            return Err(("learns", "`adapting`, expected a controller that adapts".to_owned()));
        }
        let provable = robust && matches!(self.believes, AssumedBody::Identified | AssumedBody::Prior);
        if self.proof == Proof::Required && (!provable || matches!(self.learns, Learning::Fourier(_))) {
            let reason = "`required`, expected the `robust` controller with the `identified` set or the `prior`, and no Fourier series";
            return Err(("proof", reason.to_owned()));
        }
        Ok(())
    }

    fn learning(&self) -> Result<(), (&'static str, String)> {
        let Learning::Fourier(series) = &self.learns else { return Ok(()) };
        if !(2..=50).contains(&series.harmonics) {
            return Err(("learns.fourier.harmonics", format!("{}, expected 2 to 50", series.harmonics)));
        }
        for (field, x) in [
            ("learns.fourier.duration_s", series.duration_s),
            ("learns.fourier.acceleration_rad_s2", series.acceleration_rad_s2),
        ] {
            if !(x.is_finite() && x > 0.0 && x <= 600.0) {
                return Err((field, format!("{x}, expected a number above 0, at most 600")));
            }
        }
        Ok(())
    }
}

impl ControlLaw {
    /// Whether it changes what it believes while it controls.
    pub fn adapts(&self) -> bool {
        match self {
            Self::Robust | Self::GravityPid(_) => false,
            Self::Adaptive(_) | Self::AdaptiveRobust(_) => true,
        }
    }

    /// Whether its gains are of use for an arm with so many joints.
    ///
    /// # Errors
    /// Names the gain and what was expected.
    pub fn check(&self, joints: usize) -> Result<(), String> {
        match self {
            Self::Robust => Ok(()),
            Self::GravityPid(gains) => gains.check(joints),
            Self::Adaptive(gains) => gains.check(joints),
            Self::AdaptiveRobust(gains) => gains.check(joints),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_ship_are_valid_and_named_as_their_files() {
        for name in MethodPreset::names() {
            let preset = MethodPreset::find(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(preset.name, name);
            let again = toml::to_string(&preset).unwrap();
            assert_eq!(MethodPreset::parse(&again, Path::new("again.toml")).unwrap(), preset);
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_field() {
        let whole = "schema = 1\nname = \"mine\"\ndescription = \"d\"\nlearns = \"nothing\"\nbelieves = \"prior\"\ncontroller = \"robust\"\nproof = \"none\"\n";
        let parse = |text: &str| MethodPreset::parse(text, Path::new("mine.toml"));
        assert!(parse(whole).is_ok());
        let said = |from: &str, to: &str| {
            assert!(whole.contains(from));
            parse(&whole.replace(from, to)).unwrap_err().to_string()
        };
        for (from, to, field) in [
            ("schema = 1", "schema = 2", "`schema`"),
            ("\"mine\"", "\"my method\"", "`name`"),
            ("\"prior\"", "\"identified\"", "`believes`"),
            ("learns = \"nothing\"", "learns = { planned = {} }", "`believes`"),
            ("learns = \"nothing\"", "learns = \"adapting\"", "`learns`"),
            ("learns = \"nothing\"", "learns = { fourier = { harmonics = 1 } }", "harmonics"),
            ("learns", "planner = { polynomial_zonotopes = { range_rad = 0.1 } }\nlearns", "`planner`"),
            (
                "learns",
                "planner = { polynomial_zonotopes = { range_rad = nan } }\nlearns",
                "range_rad is NaN",
            ),
            ("learns", "planner = { polynomial_zonotopes = { range_rad = 4 } }\nlearns", "range_rad is 4"),
            ("learns", "planner = { polynomial_zonotopes = {} }\nlearns", "range_rad"),
            ("learns = \"nothing\"", "learns = { fourier = { duration_s = nan } }", "duration_s"),
            ("\"robust\"", "\"hope\"", "hope"),
            ("proof = \"none\"", "proof = \"none\"\ncolour = 3", "colour"),
        ] {
            let said = said(from, to);
            assert!(said.contains("mine.toml") && said.contains(field), "{said}");
        }
        let wrong = whole.replace("\"prior\"", "{ item = \"8lb\" }");
        assert!(parse(&wrong).is_ok());
        let said = parse(&wrong.replace("\"none\"", "\"required\"")).unwrap_err().to_string();
        assert!(said.contains("`proof`"), "{said}");
        let said = MethodPreset::find("hope").unwrap_err().to_string();
        assert!(said.contains("conservative"), "{said}");
        assert!(MethodPreset::find("no/such.toml").unwrap_err().to_string().contains("no/such.toml"));
    }
}
