//! A set's proof repeated from the measurements; see [`super`].

use std::collections::HashMap;
use std::path::PathBuf;

use thiserror::Error;

use super::{GRID, MeasuredWindow, ProofStep, ProvenBound, SCHEMA, SetProof, Terms, cut};
use crate::identify::certificate::{Multipliers, upper_bound};
use crate::identify::correlated::row_of;
use crate::identify::error::IdentifyError;
use crate::identify::identifier::{IdentifierOptions, check_settings, check_vector};
use crate::identify::physics::{alone, check_box};
use crate::identify::plausible::check_step;
use crate::identify::polytope::{Cuts, Origin, Polytope, Rows, Source};
use crate::identify::window::{Clock, History, Pick, RowMaker, Window};
use crate::inertia::{INERTIAL, ParameterSet, Strip};
use crate::recording::Sample;
use crate::robot::Arm;

/// A bound is what its multipliers prove up to this share of the prior's width and of its size; on one machine to the last bit.
const SAME: f64 = 1e-10;

/// What a proof has been found to prove.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The set that the last step leaves.
    pub set: ParameterSet,
    /// The set that each step leaves.
    pub after: Vec<ParameterSet>,
    /// All strips.
    pub strips: Vec<Strip>,
    /// How many bounds were proven anew, those of strips included.
    pub bounds: usize,
    /// How many rows were made anew.
    pub rows: usize,
    /// The largest bound on |ddq_j| that was assumed, rad/s^2, joint by joint.
    pub acceleration_bound: Vec<f64>,
}

/// Why a proof does not hold, with the first place where it fails.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ProofError {
    /// The file cannot be read.
    #[error("{}: no proof of a set: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system or the parser says.
        reason: String,
    },
    /// The file contradicts itself.
    #[error("{place}: {reason}")]
    Malformed {
        /// Which part of the file.
        place: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// The measurements are not those of the proof.
    #[error("step {step}, window from t = {t} s: {reason}")]
    Measurements {
        /// Number of the step.
        step: usize,
        /// Start of the window, s.
        t: f64,
        /// What is wrong.
        reason: String,
    },
    /// The readings contradict what the file states.
    #[error("{0}")]
    Contradicted(String),
    /// A bound follows, but so does a tighter one: it was not found under what the file states.
    #[error(
        "step {step}, {what}: claimed {claimed}, but by what the file states its multipliers prove {proven}: the set was found under \
         something else"
    )]
    Loose {
        /// Number of the step.
        step: usize,
        /// Whose bound, and which side.
        what: String,
        /// The bound as written.
        claimed: f64,
        /// What its multipliers prove.
        proven: f64,
    },
    /// A bound cannot be proven with its multipliers.
    #[error("step {step}, {what}: claimed {claimed}, the measurements prove {proven}")]
    NotProven {
        /// Number of the step.
        step: usize,
        /// Whose bound, and which side.
        what: String,
        /// The bound as written.
        claimed: f64,
        /// What its multipliers prove.
        proven: f64,
    },
}

impl Checked {
    /// What a claimed set leaves out of the proven one.
    pub fn excludes(&self, claimed: &ParameterSet) -> Option<String> {
        if claimed.len() != self.set.len() {
            return Some(format!("{} parameters, expected {}", claimed.len(), self.set.len()));
        }
        for j in 0..self.set.len() {
            let (lower, upper) = (claimed.lower()[j], claimed.upper()[j]);
            if !(lower <= self.set.lower()[j] && self.set.upper()[j] <= upper) {
                let (a, b) = (self.set.lower()[j], self.set.upper()[j]);
                return Some(format!("parameter {j} is claimed in [{lower}, {upper}], proven in [{a}, {b}]"));
            }
        }
        let mut known: HashMap<Vec<u64>, (f64, f64)> = HashMap::new();
        for strip in &self.strips {
            let own = known.entry(bits(&strip.direction)).or_insert((strip.lower, strip.upper));
            *own = (own.0.max(strip.lower), own.1.min(strip.upper));
        }
        let holds = |strip: &Strip| {
            let own = known.get(&bits(&strip.direction));
            own.is_some_and(|(lower, upper)| strip.lower <= *lower && *upper <= strip.upper)
        };
        let strips = claimed.strips().into_iter().flat_map(|s| &s.strips);
        let unknown = strips.enumerate().find(|(_, strip)| !holds(strip));
        unknown.map(|(k, _)| format!("strip {k} is narrower than what is proven, or in another direction"))
    }
}

fn bits(direction: &[f64]) -> Vec<u64> {
    direction.iter().map(|x| if *x == 0.0 { 0 } else { x.to_bits() }).collect()
}

/// A row made anew: coefficients, right-hand side, radius.
pub(super) type Row = (Vec<f64>, f64, f64);

/// The state of a repetition.
pub(super) struct Replay<'a> {
    proof: &'a SetProof,
    robot: &'a Arm,
    samples: &'a [Sample],
    /// Which sample has a time, by its bits.
    at_time: HashMap<u64, usize>,
    set: ParameterSet,
    history: History,
    rows: Vec<Option<Row>>,
    strips: HashMap<u32, Vec<Strip>>,
    bounds: usize,
    acceleration_bound: Vec<f64>,
}

/// Repeats a proof from the samples of its log.
///
/// **Why what it returns holds.** The prior is assumed. Each step is taken over the set that the steps before have proven: rows are
/// made from the samples with that set ([`RowMaker`] and its argument), cuts hold for every physical body, and a bound is
/// accepted only where the certificate, evaluated with outward rounding, reaches it. What the file says is used for nothing else.
///
/// # Errors
/// [`ProofError`] names the first part of the file that is malformed, window that the log does not hold, or bound that cannot be
/// proven.
pub fn check(proof: &SetProof, samples: &[Sample]) -> Result<Checked, ProofError> {
    check_head(proof)?;
    if proof.recorded.is_some() {
        return Err(malformed("recorded", "a set from recordings, expected that of a run"));
    }
    let rows = vec![None; proof.rows.len()];
    let prior = proof.prior.part(0..proof.prior.len());
    Replay::new(proof, prior, samples, rows).run()
}

pub(super) fn malformed(place: impl Into<String>, reason: impl Into<String>) -> ProofError {
    ProofError::Malformed { place: place.into(), reason: reason.into() }
}

/// Arm, prior and tables.
pub(super) fn check_head(proof: &SetProof) -> Result<(), ProofError> {
    let SetProof { schema, robot, prior, cuts, .. } = proof;
    if *schema != SCHEMA {
        return Err(malformed("schema", format!("is {schema}, this program reads {SCHEMA}")));
    }
    let ordered = |(j, joint): (usize, &crate::robot::Joint)| joint.parent.is_none_or(|p| p < j);
    if !robot.joints.iter().enumerate().all(ordered) {
        return Err(malformed("robot", "expected each joint's parent before it"));
    }
    let refused = |error: IdentifyError| malformed("robot", error.to_string());
    check_settings(robot, &IdentifierOptions::default()).map_err(refused)?;
    let expected = robot.parameter_count();
    if prior.len() != expected {
        return Err(malformed("prior", format!("{} parameters, expected {expected}", prior.len())));
    }
    check_box(prior, expected).map_err(|error| malformed("prior", error.to_string()))?;
    match cuts.iter().position(|v| v.iter().any(|x| f64::from(*x).abs() > GRID)) {
        Some(k) => Err(malformed(format!("cuts[{k}]"), "expected components of at most 2^20")),
        None => Ok(()),
    }
}

impl<'a> Replay<'a> {
    /// Nothing is proven yet of `set` but what the prior says, and `rows` are those that are made already.
    pub(super) fn new(
        proof: &'a SetProof,
        set: ParameterSet,
        samples: &'a [Sample],
        rows: Vec<Option<Row>>,
    ) -> Self {
        Self {
            proof,
            robot: &proof.robot,
            samples,
            at_time: samples.iter().enumerate().map(|(k, sample)| (sample.t.to_bits(), k)).collect(),
            set,
            history: History::default(),
            rows,
            strips: HashMap::new(),
            bounds: 0,
            acceleration_bound: vec![0.0; proof.robot.dof()],
        }
    }

    /// All steps.
    pub(super) fn run(mut self) -> Result<Checked, ProofError> {
        let proof = self.proof;
        let mut after = vec![];
        for (number, step) in proof.steps.iter().enumerate() {
            self.step(number, step)?;
            after.push(self.set.clone());
        }
        let mut strips: Vec<(u32, Vec<Strip>)> = self.strips.into_iter().collect();
        strips.sort_by_key(|(step, _)| *step);
        Ok(Checked {
            set: self.set,
            after,
            strips: strips.into_iter().flat_map(|(_, strips)| strips).collect(),
            bounds: self.bounds,
            rows: self.rows.iter().flatten().count(),
            acceleration_bound: self.acceleration_bound,
        })
    }

    fn step(&mut self, number: usize, step: &ProofStep) -> Result<(), ProofError> {
        match step {
            ProofStep::Physics { bounds } => self.physics(number, bounds),
            ProofStep::Update { windows, bounds } => {
                self.take_windows(number, windows)?;
                self.make_rows(number)?;
                let mut next = self.set.clone();
                for bound in bounds {
                    if bound.parameter >= self.robot.parameter_count() {
                        return Err(self.no_parameter(number, bound));
                    }
                    let mut direction = vec![0.0; self.set.len()];
                    direction[bound.parameter] = if bound.upper { 1.0 } else { -1.0 };
                    let polytope = self.polytope(number, &bound.by)?;
                    self.prove(number, &polytope, &direction, bound)?;
                    narrow(&mut next, bound);
                }
                self.take_over(number, next)
            }
            ProofStep::Strips { strips } => {
                let proven = strips.iter().map(|strip| self.strip(number, strip));
                let proven = proven.collect::<Result<Vec<_>, _>>()?;
                self.bounds += 2 * proven.len();
                self.strips.insert(number as u32, proven);
                self.make_rows(number)
            }
        }
    }

    /// Bounds of the last body, alone.
    fn physics(&mut self, number: usize, bounds: &[ProvenBound]) -> Result<(), ProofError> {
        let offset = self.robot.inertial_index(self.robot.end_effector());
        let mut next = self.set.clone();
        for bound in bounds {
            let Some(own) = bound.parameter.checked_sub(offset).filter(|k| *k < INERTIAL) else {
                return Err(self.no_parameter(number, bound));
            };
            if !bound.by.rows.is_empty() {
                return Err(malformed(format!("step {number}"), "rows of data before any measurement"));
            }
            let polytope = Polytope { cuts: self.cuts(number, &bound.by, 0)?, ..alone(&self.set, offset) };
            let mut direction = vec![0.0; INERTIAL];
            direction[own] = if bound.upper { 1.0 } else { -1.0 };
            self.prove(number, &polytope, &direction, bound)?;
            narrow(&mut next, bound);
        }
        self.take_over(number, next)
    }

    fn no_parameter(&self, number: usize, bound: &ProvenBound) -> ProofError {
        malformed(format!("step {number}"), format!("parameter {} cannot be bounded there", bound.parameter))
    }

    /// Compares a bound with what its multipliers prove.
    fn prove(
        &mut self,
        step: usize,
        polytope: &Polytope,
        direction: &[f64],
        bound: &ProvenBound,
    ) -> Result<(), ProofError> {
        let found = upper_bound(polytope, direction, &multipliers(&bound.by)).value;
        let (proven, follows) =
            if bound.upper { (found, bound.value >= found) } else { (-found, bound.value <= -found) };
        let side = if bound.upper { "upper" } else { "lower" };
        let (what, claimed) = (format!("{side} bound of parameter {}", bound.parameter), bound.value);
        if !follows {
            return Err(ProofError::NotProven { step, what, claimed, proven });
        }
        let prior = &self.proof.prior;
        let width = prior.upper()[bound.parameter] - prior.lower()[bound.parameter];
        if (claimed - proven).abs() > SAME * (width + proven.abs()) {
            return Err(ProofError::Loose { step, what, claimed, proven });
        }
        self.bounds += 1;
        Ok(())
    }

    /// The set that a step leaves.
    fn take_over(&mut self, step: usize, next: ParameterSet) -> Result<(), ProofError> {
        match (0..next.len()).find(|&j| !(next.lower()[j] <= next.upper()[j])) {
            Some(j) => {
                Err(malformed(format!("step {step}"), format!("the interval of parameter {j} is empty")))
            }
            None => {
                self.set = next;
                Ok(())
            }
        }
    }

    /// A strip, proven on both sides.
    fn strip(&self, step: usize, strip: &super::ProvenStrip) -> Result<Strip, ProofError> {
        let place = || format!("step {step}, strips");
        let mut direction = vec![0.0; self.robot.parameter_count()];
        for &(j, x) in &strip.direction {
            let entry = direction.get_mut(j as usize).filter(|_| x.is_finite());
            *entry.ok_or_else(|| malformed(place(), "expected finite shares of parameters"))? = x;
        }
        let opposite: Vec<f64> = direction.iter().map(|x| -x).collect();
        let upper =
            upper_bound(&self.polytope(step, &strip.upper_by)?, &direction, &multipliers(&strip.upper_by))
                .value;
        let lower =
            -upper_bound(&self.polytope(step, &strip.lower_by)?, &opposite, &multipliers(&strip.lower_by))
                .value;
        for (side, claimed, proven, reached) in [
            ("upper", strip.upper, upper, strip.upper >= upper),
            ("lower", strip.lower, lower, strip.lower <= lower),
        ] {
            if !reached {
                return Err(ProofError::NotProven {
                    step,
                    what: format!("{side} bound of a strip"),
                    claimed,
                    proven,
                });
            }
        }
        if !(strip.lower <= strip.upper && strip.lower.is_finite() && strip.upper.is_finite()) {
            return Err(malformed(place(), "expected finite bounds, lower <= upper"));
        }
        Ok(Strip { direction, lower: strip.lower, upper: strip.upper })
    }

    /// The windows of an update that some row needs, from the log.
    fn take_windows(&mut self, step: usize, windows: &[MeasuredWindow]) -> Result<(), ProofError> {
        let spans: Vec<[u32; 4]> = self
            .proof
            .rows
            .iter()
            .filter_map(|row| match row {
                Source::Span(span) => Some(*span),
                Source::Strip(_) | Source::Recorded(_) => None,
            })
            .collect();
        let mut found = vec![];
        for measured in windows {
            let (start, end) = (measured.tick, measured.tick.saturating_add(measured.panels));
            if spans.iter().any(|span| (span[1] as usize) < end && start < span[2] as usize) {
                found.push((measured.tick, self.window(step, measured)?));
            }
        }
        let later = spans.iter().filter(|span| span[3] as usize >= step).map(|span| span[1] as usize).min();
        self.history.forget_before(later.unwrap_or(usize::MAX));
        self.history.extend(self.robot, &found);
        Ok(())
    }

    /// A window's samples, which must be ones that an identifier would have taken.
    fn window(&mut self, step: usize, measured: &MeasuredWindow) -> Result<Window, ProofError> {
        let MeasuredWindow { t_s, panels, acceleration_bound: bound, .. } = measured;
        let fault = |reason: String| ProofError::Measurements { step, t: *t_s, reason };
        let n = self.robot.dof();
        check_vector("acceleration bound", bound, n).map_err(|error| fault(error.to_string()))?;
        if bound.iter().any(|x| *x < 0.0) || *panels == 0 {
            return Err(fault(
                "expected at least one panel and bounds on the accelerations that are not negative".into(),
            ));
        }
        let first = self.at_time.get(&t_s.to_bits()).copied();
        let first = first.ok_or_else(|| fault("the log has no sample at that time".into()))?;
        let samples = first.checked_add(panels + 1).and_then(|end| self.samples.get(first..end));
        let samples = samples.ok_or_else(|| fault(format!("the log ends before its {panels} panels")))?;
        for sample in samples {
            for (what, values) in [("q", &sample.q), ("dq", &sample.dq), ("tau", &sample.tau)] {
                check_vector(what, values, n).map_err(|error| fault(error.to_string()))?;
            }
        }
        for pair in samples.windows(2) {
            check_step(self.robot, &pair[0], &pair[1], bound).map_err(|error| fault(error.to_string()))?;
        }
        self.acceleration_bound.iter_mut().zip(bound).for_each(|(a, b)| *a = a.max(*b));
        let acceleration_bound = bound.clone();
        Ok(Window { samples: samples.to_vec(), acceleration_bound, clock: Clock::of_loop(self.robot) })
    }

    /// The rows that step number `step` makes.
    fn make_rows(&mut self, step: usize) -> Result<(), ProofError> {
        let mut picks: Vec<(usize, Pick)> = vec![];
        for (k, source) in self.proof.rows.iter().enumerate() {
            let place = || format!("rows[{k}]");
            match *source {
                Source::Span([joint, from, to, own]) if own as usize == step => {
                    let pick = Pick { from: from as usize, to: to as usize, joint: joint as usize };
                    if pick.joint >= self.robot.dof() || !self.history.holds(&pick) {
                        let reason = "its joint does not exist, or its span of ticks is not within windows without a gap";
                        return Err(malformed(place(), reason));
                    }
                    picks.push((k, pick));
                }
                Source::Strip([own, which]) if own as usize == step => {
                    let strip = self.strips.get(&own).and_then(|strips| strips.get(which as usize));
                    let strip = strip.ok_or_else(|| malformed(place(), "there is no such strip"))?;
                    let (u, radius) = row_of(strip);
                    self.rows[k] = Some((strip.direction.clone(), u, radius));
                }
                _ => {}
            }
        }
        let spans: Vec<Pick> = picks.iter().map(|(_, pick)| pick.clone()).collect();
        let made = RowMaker::new(self.robot, &self.set, &self.history, step).rows(&spans);
        for (w, (k, _)) in picks.iter().enumerate() {
            let y = made.y.row(w).iter().copied().collect();
            self.rows[*k] = Some((y, made.u[w], made.radius[w]));
        }
        Ok(())
    }

    /// Box, rows and cuts that a proof names.
    fn polytope(&self, step: usize, terms: &Terms) -> Result<Polytope, ProofError> {
        let p = self.set.len();
        let mut rows = Rows::none(p);
        rows.y = nalgebra::DMatrix::zeros(terms.rows.len(), p);
        for (w, (index, _)) in terms.rows.iter().enumerate() {
            let row = self.rows.get(*index as usize).and_then(Option::as_ref);
            let (y, u, radius) = row.ok_or_else(|| {
                malformed(format!("step {step}"), format!("row {index} is not made by then"))
            })?;
            rows.y.row_mut(w).iter_mut().zip(y).for_each(|(to, y)| *to = *y);
            rows.u.push(*u);
            rows.radius.push(*radius);
            rows.origin.push(Origin { t: 0.0, joint: 0 });
        }
        let offset = self.robot.inertial_index(self.robot.end_effector());
        let cuts = self.cuts(step, terms, offset)?;
        Ok(Polytope { set: self.set.clone(), rows, cuts, weight: vec![] })
    }

    fn cuts(&self, step: usize, terms: &Terms, offset: usize) -> Result<Cuts, ProofError> {
        let vector = |(index, _): &(u32, f32)| {
            let v = self.proof.cuts.get(*index as usize);
            v.map(cut).ok_or_else(|| malformed(format!("step {step}"), format!("there is no cut {index}")))
        };
        let coefficients = terms.cuts.iter().map(vector).collect::<Result<Vec<_>, _>>()?;
        Ok(Cuts { offset, basic: 0, coefficients })
    }
}

fn multipliers(terms: &Terms) -> Multipliers {
    let of = |list: &[(u32, f32)]| list.iter().map(|(_, x)| f64::from(*x)).collect();
    Multipliers { rows: of(&terms.rows), cuts: of(&terms.cuts) }
}

/// Takes a proven bound over.
fn narrow(set: &mut ParameterSet, bound: &ProvenBound) {
    let (lower, upper) =
        if bound.upper { (f64::NEG_INFINITY, bound.value) } else { (bound.value, f64::INFINITY) };
    set.narrow(bound.parameter, lower, upper);
}
