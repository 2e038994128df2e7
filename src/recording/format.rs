//! How a file that others wrote is to be understood: its columns' names and units, the scale of its torques, and what to do with bad rows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::robot::Model;

/// What stands in a pattern for a joint's number from 1, its number from 0, and its name.
const PLACES: [&str; 3] = ["{}", "{0}", "{name}"];
/// Units of time, and how many make a second.
const TIMES: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
/// Units of angles, and whether they are degrees.
const ANGLES: [(&str, bool); 2] = [("rad", false), ("deg", true)];

/// How a file is to be understood beyond its unit of angles. The default is the format that surelift writes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields, default)]
pub struct LogFormat {
    /// What the columns of a CSV file are called.
    #[serde(skip_serializing_if = "ColumnNames::is_default")]
    pub columns: ColumnNames,
    /// Every torque is multiplied by this: nothing, one number for all degrees of freedom, or one each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub torque_scale: Vec<f64>,
    /// Whether rows that hold no numbers, too few or too many, or go back in time are left out and counted, instead of refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_bad: bool,
    /// Where a file has no velocities at all they are difference quotients of positions over so many samples on each side
    /// ([`super::DerivedVelocities`]); such a file is refused where there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub velocity_half: Option<usize>,
}

impl LogFormat {
    /// What the torque of degree of freedom `j` is multiplied by.
    pub fn torque_scale(&self, j: usize) -> f64 {
        match self.torque_scale.as_slice() {
            [] => 1.0,
            [one] => *one,
            each => each.get(j).copied().unwrap_or(1.0),
        }
    }

    /// What is wrong with it for a robot of `dof` degrees of freedom, in words.
    pub(super) fn fault(&self, dof: usize) -> Option<String> {
        let count = self.torque_scale.len();
        if count > 1 && count != dof {
            return Some(format!("torque scale: {count} numbers, expected 1 or {dof}, one a joint"));
        }
        let bad = self.torque_scale.iter().position(|x| !(x.is_finite() && *x != 0.0));
        if let Some(j) = bad {
            let found = self.torque_scale[j];
            return Some(format!("torque scale {}: {found}, expected a finite number other than 0", j + 1));
        }
        if self.velocity_half == Some(0) {
            return Some("velocities from positions 0 samples away, expected at least 1".to_owned());
        }
        None
    }
}

/// What the columns of a CSV file are called, and their units: `t=time:ms,q=pos_{},dq=vel_{},tau=effort_{}`.
///
/// Each of `t`, `q`, `dq` and `tau` may be named; what is not named is called as surelift calls it. In a name `{}` stands for the joint's
/// number from 1, `{0}` for its number from 0, and `{name}` for its name. A unit may follow a colon: s, ms, us or ns of `t`, rad or deg of
/// `q` and `dq` (per second). Time in other units than s is counted from the first row.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(try_from = "String", into = "String")]
pub struct ColumnNames {
    /// Patterns of t, q, dq and tau, with their units.
    named: [Option<Column>; 4],
}

/// A pattern, with its unit if it has one.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    pattern: String,
    unit: Option<&'static str>,
}

/// The quantities in the order of [`ColumnNames`]'s patterns.
pub(super) const QUANTITIES: [&str; 4] = ["t", "q", "dq", "tau"];

impl ColumnNames {
    /// Whether all columns are called as surelift calls them.
    pub fn is_default(&self) -> bool {
        self.named.iter().all(Option::is_none)
    }

    /// The name of the column of quantity `k` and number `j` (from 0) of the robot's configuration or velocity.
    pub(super) fn name(&self, k: usize, j: usize, robot: &Model) -> String {
        let Some(Column { pattern, .. }) = &self.named[k] else {
            return if k == 0 { QUANTITIES[0].to_owned() } else { format!("{}{}", QUANTITIES[k], j + 1) };
        };
        let joint = robot.joints.get(j).map_or("", |joint| joint.name.as_str());
        let numbers = [(j + 1).to_string(), j.to_string(), joint.to_owned()];
        PLACES.iter().zip(&numbers).fold(pattern.clone(), |text, (place, own)| text.replace(place, own))
    }

    /// Whether quantity `k` was named.
    pub(super) fn names(&self, k: usize) -> bool {
        self.named[k].is_some()
    }

    /// Whether quantity `k` is said to be in degrees.
    pub(super) fn in_degrees(&self, k: usize) -> bool {
        let unit = self.named[k].as_ref().and_then(|column| column.unit);
        ANGLES.iter().any(|(name, degrees)| *degrees && unit == Some(name))
    }

    /// How many units of time make a second, where the unit is no second.
    pub(super) fn per_second(&self) -> Option<f64> {
        let unit = self.named[0].as_ref()?.unit?;
        TIMES.iter().find(|(name, _)| *name == unit).map(|(_, count)| *count).filter(|count| *count != 1.0)
    }

    /// One entry of the list.
    fn take(&mut self, entry: &str) -> Result<(), String> {
        let expected =
            "expected entries as t=time, q=pos_{}, dq=vel_{} or tau=effort_{}, separated by commas";
        let Some((key, rest)) = entry.split_once('=') else {
            return Err(format!("`{entry}`: no `=`; {expected}"));
        };
        let (key, rest) = (key.trim(), rest.trim());
        let Some(k) = QUANTITIES.iter().position(|quantity| *quantity == key) else {
            return Err(format!("`{key}`: expected one of t, q, dq, tau; {expected}"));
        };
        if self.named[k].is_some() {
            return Err(format!("`{key}` is named twice"));
        }
        let units: Vec<&'static str> = match k {
            0 => TIMES.iter().map(|(name, _)| *name).collect(),
            1 | 2 => ANGLES.iter().map(|(name, _)| *name).collect(),
            _ => vec![],
        };
        let split = rest.rsplit_once(':');
        let known = split.and_then(|(name, unit)| Some((name, *units.iter().find(|own| **own == unit)?)));
        let (pattern, unit) = known.map_or((rest, None), |(name, unit)| (name, Some(unit)));
        if pattern.is_empty() {
            return Err(format!("`{key}`: no name; {expected}"));
        }
        let varies = PLACES.iter().any(|place| pattern.contains(place));
        if varies != (k > 0) {
            let wanted = if k == 0 {
                "expected one column for all joints"
            } else {
                "expected `{}` (the joint's number from 1), `{0}` (from 0) or `{name}` in it"
            };
            return Err(format!("`{key}={pattern}`: {wanted}"));
        }
        self.named[k] = Some(Column { pattern: pattern.to_owned(), unit });
        Ok(())
    }
}

impl FromStr for ColumnNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut names = Self::default();
        text.split(',').try_for_each(|entry| names.take(entry))?;
        Ok(names)
    }
}

impl TryFrom<String> for ColumnNames {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() { Ok(Self::default()) } else { text.parse() }
    }
}

impl From<ColumnNames> for String {
    fn from(names: ColumnNames) -> Self {
        names.to_string()
    }
}

impl fmt::Display for ColumnNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = |(key, column): (&&str, &Option<Column>)| {
            let Column { pattern, unit } = column.as_ref()?;
            let unit = unit.map(|unit| format!(":{unit}")).unwrap_or_default();
            Some(format!("{key}={pattern}{unit}"))
        };
        let entries: Vec<String> = QUANTITIES.iter().zip(&self.named).filter_map(entry).collect();
        f.write_str(&entries.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_again() {
        let text = "t=time:ms,q=pos_{}:deg,dq=/js/{name}/velocity,tau=effort[{0}]";
        let names: ColumnNames = text.parse().unwrap();
        assert_eq!(names.to_string(), text);
        let robot = crate::robot::load_model("kinova_gen3").unwrap();
        assert_eq!(names.name(0, 0, &robot), "time");
        assert_eq!(names.name(1, 2, &robot), "pos_3");
        assert_eq!(names.name(2, 2, &robot), format!("/js/{}/velocity", robot.joints[2].name));
        assert_eq!(names.name(3, 2, &robot), "effort[2]");
        assert!(names.in_degrees(1) && !names.in_degrees(2));
        assert_eq!(names.per_second(), Some(1e3));
        // A colon that begins no unit is part of the name.
        let names: ColumnNames = "q=a:b_{}".parse().unwrap();
        assert_eq!((names.name(1, 0, &robot), names.name(3, 0, &robot)), ("a:b_1".into(), "tau1".into()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, words) in [
            ("time", "no `=`"),
            ("x=pos_{}", "`x`"),
            ("q=pos", "the joint's number"),
            ("t=t_{}", "one column"),
            ("q=a{},q=b{}", "twice"),
            ("q=", "no name"),
            ("", "no `=`"),
        ] {
            let error = text.parse::<ColumnNames>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let scale = |torque_scale: Vec<f64>| LogFormat { torque_scale, ..LogFormat::default() }.fault(3);
        assert!(scale(vec![1.0, 2.0]).unwrap().contains("expected 1 or 3"));
        assert!(scale(vec![0.0]).is_some() && scale(vec![1.0, f64::NAN, 1.0]).unwrap().contains("scale 2"));
        assert!(scale(vec![-1.0]).is_none() && scale(vec![]).is_none());
    }
}
