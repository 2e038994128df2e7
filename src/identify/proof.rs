//! What proves an identified set: for each bound its multipliers and the spans of measurements that they belong to, update by
//! update, since the set of one update enters the radii of the next.
//!
//! With the log and [`SetProof`] another process repeats everything that the set rests on ([`check`]): it makes the rows again
//! from the measurements, evaluates each bound with the multipliers kept ([`super::certificate`]), and compares. No program is
//! solved, and nothing that proposed a row or a multiplier is believed. Sets from recordings are proven in the same way ([`check_recorded`]),
//! under what their file states ([`Premises`]).

mod check;
mod recorded;
mod statements;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use nalgebra::Vector4;
use serde::{Deserialize, Serialize};

pub use check::{Checked, ProofError, check};
pub use recorded::{LogFile, Premises, WiderBounds, check_recorded};

use super::bounds::Proven;
use super::polytope::Source;
use super::recorded::Narrowed;
use super::window::Window;
use crate::inertia::{INERTIAL, pseudo::quadratic_form};
use crate::inertia::{ParameterSet, Strip};
use crate::robot::Arm;

/// Version of the file.
pub const SCHEMA: u32 = 1;
/// Cuts are v'J v >= 0 with v in multiples of one over this.
const GRID: f64 = (1u64 << 20) as f64;

/// A set's proof, apart from the measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct SetProof {
    /// Version of this format.
    pub schema: u32,
    /// The robot, with the bounds on its sensors.
    pub robot: Arm,
    /// The box that the true parameters are assumed to lie in.
    pub prior: ParameterSet,
    /// What else a set from recordings rests on; none for that of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Premises>,
    /// How each row can be made again.
    pub rows: Vec<Source>,
    /// Vectors v of cuts v'J v >= 0 of the last body's pseudo-inertia, in units of 2^-20.
    pub cuts: Vec<[i32; 4]>,
    /// What was proven, one after the other.
    pub steps: Vec<ProofStep>,
}

/// One step of learning. Everything in it is proven over the set that the steps before leave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ProofStep {
    /// What physical consistency says of the prior.
    Physics {
        /// Bounds of single parameters.
        bounds: Vec<ProvenBound>,
    },
    /// What measurements say.
    Update {
        /// Windows that came since the step before.
        windows: Vec<MeasuredWindow>,
        /// Bounds of single parameters.
        bounds: Vec<ProvenBound>,
    },
    /// Bounds of combinations of parameters, which are rows from then on.
    Strips {
        /// One after the other.
        strips: Vec<ProvenStrip>,
    },
}

/// A window of measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct MeasuredWindow {
    /// Number of its first tick; windows that share a tick follow one another.
    pub tick: usize,
    /// Time of its first sample, s: that sample of the log and as many after it as there are panels.
    pub t_s: f64,
    /// Control periods.
    pub panels: usize,
    /// Assumed bound on |ddq_j|, rad/s^2.
    pub acceleration_bound: Vec<f64>,
}

/// A bound of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct ProvenBound {
    /// Index in the parameter vector.
    pub parameter: usize,
    /// Whether it is an upper bound.
    pub upper: bool,
    /// The bound.
    pub value: f64,
    /// Its proof.
    pub by: Terms,
}

/// Multipliers that are not zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Index into [`SetProof::rows`], multiplier.
    pub rows: Vec<(u32, f32)>,
    /// Index into [`SetProof::cuts`], multiplier.
    pub cuts: Vec<(u32, f32)>,
}

/// A strip with its proof.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct ProvenStrip {
    /// Index of a parameter, its share in the direction; zeros are left out.
    pub direction: Vec<(u32, f64)>,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
    /// Proof of the lower bound: of the upper one of the opposite direction.
    pub lower_by: Terms,
    /// Proof of the upper bound.
    pub upper_by: Terms,
}

impl SetProof {
    /// Reads a proof from JSON.
    ///
    /// # Errors
    /// [`ProofError::File`] names the file: unreadable, or no proof of a set.
    #[cfg(any(feature = "verify", not(surelift_program)))]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ProofError> {
        let path = path.as_ref();
        let file = |reason: String| ProofError::File { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| file(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| file(error.to_string()))
    }

    /// Where the accelerations were assumed to be smaller than the motions in force promise: from the time (s) of each on,
    /// |ddq_j| was bounded by its numbers (rad/s^2). The motions are in order of time.
    pub fn acceleration_fault(&self, motions: &[(f64, &[f64])]) -> Option<String> {
        let windows = self.steps.iter().flat_map(|step| match step {
            ProofStep::Update { windows, .. } => &windows[..],
            _ => &[],
        });
        for window in windows {
            let end = window.t_s + window.panels as f64 * self.robot.gains().period_s;
            for (k, (from, bound)) in motions.iter().enumerate() {
                let until = motions.get(k + 1).map_or(f64::INFINITY, |next| next.0);
                // A tick that begins or ends another motion's time is none of this one's; where ticks shake, the window's end is known to so much.
                let shaken = window.panels as f64 * self.robot.timing().jitter_max_s;
                let period = 1.5 * self.robot.gains().period_s + shaken;
                let inside = from + period < end && window.t_s + period < until;
                let least = bound.iter().zip(&window.acceleration_bound).position(|(a, b)| a > b);
                if let Some(joint) = least.filter(|_| inside) {
                    return Some(format!(
                        "window from t = {} s: accelerations of joint {joint} are assumed below {} rad/s^2, the motion promises {}",
                        window.t_s, window.acceleration_bound[joint], bound[joint]
                    ));
                }
            }
        }
        None
    }
}

/// Writes the proof down while the set comes about.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    prior: ParameterSet,
    rows: Vec<Source>,
    row_index: HashMap<Source, u32>,
    cuts: Vec<[i32; 4]>,
    cut_index: HashMap<[i32; 4], u32>,
    steps: Vec<ProofStep>,
}

impl Recorder {
    /// Of a prior and what physics says of its body.
    pub(super) fn new(prior: &ParameterSet, body: &[Proven], offset: usize) -> Self {
        let mut recorder = Self {
            prior: prior.clone(),
            rows: vec![],
            row_index: HashMap::new(),
            cuts: vec![],
            cut_index: HashMap::new(),
            steps: vec![],
        };
        let bounds = recorder.bounds(body, offset);
        recorder.steps.push(ProofStep::Physics { bounds });
        recorder
    }

    /// Of a set from recordings, whose last body's parameters begin at `offset`.
    pub(crate) fn of_recordings(prior: &ParameterSet, narrowed: &Narrowed, offset: usize) -> Self {
        let (body, updates) = narrowed.proven.split_first().map_or((&[][..], &[][..]), |(a, b)| (&a[..], b));
        let mut recorder = Self::new(prior, body, offset);
        updates.iter().for_each(|proven| recorder.update(&[], proven));
        recorder
    }

    /// The number of the step that comes next.
    pub(super) fn next_step(&self) -> usize {
        self.steps.len()
    }

    /// An update by these windows, each with its first tick.
    pub(super) fn update(&mut self, windows: &[(usize, Window)], proven: &[Proven]) {
        let bounds = self.bounds(proven, 0);
        let measured = |(tick, window): &(usize, Window)| MeasuredWindow {
            tick: *tick,
            t_s: window.samples.first().map_or(f64::NAN, |sample| sample.t),
            panels: window.samples.len().saturating_sub(1),
            acceleration_bound: window.acceleration_bound.clone(),
        };
        self.steps.push(ProofStep::Update { windows: windows.iter().map(measured).collect(), bounds });
    }

    /// Strips, with the proofs of upper and lower bound of each in turn; returns how they are referred to as rows.
    pub(super) fn strips(&mut self, strips: &[Strip], proven: &[Proven]) -> Vec<Option<Source>> {
        let step = u32::try_from(self.steps.len()).ok();
        let mut kept = vec![];
        for (strip, pair) in strips.iter().zip(proven.chunks_exact(2)) {
            let entries = strip.direction.iter().zip(0u32..).filter(|(x, _)| **x != 0.0);
            kept.push(ProvenStrip {
                direction: entries.map(|(x, j)| (j, *x)).collect(),
                lower: strip.lower,
                upper: strip.upper,
                lower_by: self.terms(&pair[1]),
                upper_by: self.terms(&pair[0]),
            });
        }
        self.steps.push(ProofStep::Strips { strips: kept });
        (0u32..).take(strips.len()).map(|k| Some(Source::Strip([step?, k]))).collect()
    }

    /// All that is written down so far.
    pub(crate) fn proof(&self, robot: &Arm) -> SetProof {
        SetProof {
            schema: SCHEMA,
            robot: robot.clone(),
            prior: self.prior.clone(),
            recorded: None,
            rows: self.rows.clone(),
            cuts: self.cuts.clone(),
            steps: self.steps.clone(),
        }
    }

    fn bounds(&mut self, proven: &[Proven], offset: usize) -> Vec<ProvenBound> {
        let mut bound = |p: &Proven| ProvenBound {
            parameter: p.index + offset,
            upper: p.upper,
            value: p.value,
            by: self.terms(p),
        };
        proven.iter().map(&mut bound).collect()
    }

    /// Rows and cuts that cannot be named are left out: the proof is then seen to fail.
    fn terms(&mut self, proven: &Proven) -> Terms {
        let mut terms = Terms::default();
        for (source, multiplier) in &proven.rows {
            let Some(source) = *source else { continue };
            let rows = &mut self.rows;
            let index = *self.row_index.entry(source).or_insert_with(|| {
                rows.push(source);
                rows.len() as u32 - 1
            });
            terms.rows.push((index, *multiplier as f32));
        }
        for (coefficients, multiplier) in &proven.cuts {
            let Some(v) = on_grid(coefficients) else { continue };
            let cuts = &mut self.cuts;
            let index = *self.cut_index.entry(v).or_insert_with(|| {
                cuts.push(v);
                cuts.len() as u32 - 1
            });
            terms.cuts.push((index, *multiplier as f32));
        }
        terms
    }
}

/// v in units of 2^-20 from the coefficients of v'J v.
fn on_grid(coefficients: &[f64; INERTIAL]) -> Option<[i32; 4]> {
    let [ww, xw, yw, zw, a, xy, b, xz, yz, c] = *coefficients;
    // v v'.
    let (xx, yy, zz) = (b + c, a + c, a + b);
    let (xy, xz, yz, xw, yw, zw) = (-0.5 * xy, -0.5 * xz, -0.5 * yz, 0.5 * xw, 0.5 * yw, 0.5 * zw);
    let square = [[xx, xy, xz, xw], [xy, yy, yz, yw], [xz, yz, zz, zw], [xw, yw, zw, ww]];
    let most = (0..4).max_by(|&i, &j| square[i][i].total_cmp(&square[j][j]))?;
    let v = square[most].map(|x| (x / square[most][most].sqrt() * GRID).round() as i32);
    (cut(&v) == *coefficients).then_some(v)
}

/// The coefficients of v'J v, exact for |v| <= 2^20.
fn cut(v: &[i32; 4]) -> [f64; INERTIAL] {
    quadratic_form(&Vector4::from(v.map(|x| f64::from(x) / GRID)))
}
