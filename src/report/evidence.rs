//! What the measurements said against the assumptions, and what was missing of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::figure::figure;
use super::summary::number;

/// A proof that the assumptions do not all hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    /// When, s: the tick, or the end of the window.
    #[serde(deserialize_with = "number")]
    pub t: f64,
    /// Name of the joint that contradicts the most; `None` where it is no matter of joints.
    pub joint: Option<String>,
    /// Factor, > 1, by which the sensors' error bounds would have to be larger at least for the assumptions to hold;
    /// `None` where no error of theirs explains it.
    pub by: Option<f64>,
    /// Where it shows.
    pub evidence: Evidence,
    /// All of it in words.
    pub text: String,
}

/// Where a broken assumption shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The tracking energy V passed what the proof allows; the encoders' bounds would have to grow.
    Tracking,
    /// The encoders moved as no arm within the proven accelerations can; the encoders' bounds would have to grow.
    Motion,
    /// The time stamps run backwards.
    Clock,
    /// No parameters explain the measured motion and torques; all error bounds of the data would have to grow.
    Data,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Evidence::Tracking => "tracking",
            Evidence::Motion => "motion",
            Evidence::Clock => "clock",
            Evidence::Data => "data",
        })
    }
}

impl Broken {
    /// `motion, t = 1.001 s, joint_2, x 340`.
    pub fn short(&self) -> String {
        let joint = self.joint.as_ref().map_or(String::new(), |joint| format!(", {joint}"));
        let by = self.by.map_or(String::new(), |by| format!(", x {}", figure(by)));
        format!("{}, t = {:.3} s{joint}{by}", self.evidence, self.t)
    }
}

/// A time without measurements; no window of data reaches over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Last sample before it, s.
    pub from_s: f64,
    /// First sample after it, s.
    pub to_s: f64,
}
