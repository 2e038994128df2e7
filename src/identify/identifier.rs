//! The identifier: samples in, parameter sets out.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bounds::{Effort, check_rows, tighten};
use super::error::IdentifyError;
use super::extremes::Search;
use super::nominal;
use super::perturbation;
use super::physics::{check_box, tighten_body};
use super::plausible::{check_motion, check_step};
use super::polytope::{Polytope, Rows};
use super::window::{Clock, Enclosures, Part, Sample, Window, equal_spans, rows_over_parts};
use crate::inertia::ParameterSet;
use crate::robot::{INERTIAL, Robot};

/// How intervals come of data; both are proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The best certificate that linear programs find ([`super::bounds`]).
    #[default]
    Dual,
    /// The paper's sensitivity bound ([`super::perturbation`]).
    Perturbation,
    /// As `Dual`; after a run of a scenario also the most probable parameters ([`super::map`]), which nothing relies on.
    Map,
}

/// How the identifier works; every value is sound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdentifierOptions {
    /// How intervals come of data.
    pub method: Method,
    /// Length of a window, s; rounded to whole control periods, at least one.
    pub window_s: f64,
    /// So many parts of a window are also taken alone, and together in every number that divides this one: the errors of the
    /// torque sensor seldom add up over a short time. One or less: none.
    pub parts: usize,
    /// How many consecutive windows are also taken together: their encoder errors matter at the outer ends alone. One
    /// or less: none.
    pub joined_windows: usize,
    /// So many short parts of a window are taken alone for each joint and side, where the torque sensor seems to have erred
    /// most ([`super::extremes`]).
    pub extremes: usize,
    /// Rows of data kept from one update to the next; of more, those that hold the bounds stay.
    pub row_budget: usize,
    /// Effort per bound.
    pub effort: Effort,
}

impl Default for IdentifierOptions {
    fn default() -> Self {
        Self {
            method: Method::default(),
            window_s: 0.1,
            parts: 2,
            joined_windows: 3,
            extremes: 2,
            row_budget: 600,
            effort: Effort::default(),
        }
    }
}

/// The result of one update.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The new parameter set, inside the one before.
    pub set: ParameterSet,
    /// Nominal inertial parameters of the unknown body, physically consistent and in the set.
    pub nominal: [f64; INERTIAL],
    /// Condition number of the unknown body's regressor over the rows in use; infinite while it is singular.
    pub condition_number: f64,
    /// Rows of data in use.
    pub rows: usize,
    /// Wall time of the update, ms.
    pub update_ms: f64,
}

/// Narrows the inertial parameters of the robot's end effector from measurements. It sees nothing else: no plant, no
/// true parameters.
#[derive(Debug, Clone)]
pub struct Identifier {
    pub(super) robot: Arc<Robot>,
    pub(super) options: IdentifierOptions,
    pub(super) polytope: Polytope,
    nominal: [f64; INERTIAL],
    acceleration_bound: Vec<f64>,
    /// The window being filled, then the full ones that no update has used yet.
    filling: Option<Window>,
    waiting: Vec<Window>,
}

impl Identifier {
    /// An identifier for the body at `robot.end_effector`, whose prior is tightened by physical consistency.
    ///
    /// `prior` is the box of the full parameter vector (assumption A1), `acceleration_bound` the bound on |ddq_j|
    /// (rad/s^2) that the tracking tube promises.
    ///
    /// # Errors
    /// [`IdentifyError`] names what does not fit the robot, the prior's interval or setting that is no number, or the parameter for
    /// which physics leaves nothing of the prior.
    pub fn new(
        robot: Arc<Robot>,
        prior: &ParameterSet,
        acceleration_bound: Vec<f64>,
        options: IdentifierOptions,
    ) -> Result<Self, IdentifyError> {
        if let Some(fault) = robot.arm_fault() {
            return Err(IdentifyError::NoArm(fault));
        }
        let expected = robot.parameter_count();
        if prior.len() != expected {
            return Err(IdentifyError::WrongLength { what: "prior box", found: prior.len(), expected });
        }
        check_box(prior, expected)?;
        check_settings(&robot, &options)?;
        let (set, inside) = tighten_body(prior, robot.end_effector)?;
        let polytope = Polytope::from_box(set, robot.inertial_index(robot.end_effector));
        let mut identifier = Self {
            robot,
            options,
            polytope,
            nominal: inside,
            acceleration_bound: vec![],
            filling: None,
            waiting: vec![],
        };
        identifier.set_acceleration_bound(acceleration_bound)?;
        Ok(identifier)
    }

    /// The present parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.polytope.set
    }

    /// The present nominal inertial parameters of the unknown body.
    pub fn nominal(&self) -> &[f64; INERTIAL] {
        &self.nominal
    }

    /// Replaces the bound on |ddq_j| (rad/s^2) for the samples from now on; call it when the plan changes.
    ///
    /// # Errors
    /// [`IdentifyError::WrongLength`] unless there is one a joint; [`IdentifyError::BadValue`] for one that is negative or not finite.
    pub fn set_acceleration_bound(&mut self, bound: Vec<f64>) -> Result<(), IdentifyError> {
        check_vector("acceleration bound", &bound, self.robot.dof())?;
        if let Some(&value) = bound.iter().find(|&&x| x < 0.0) {
            let what = "acceleration bound".to_string();
            return Err(IdentifyError::BadValue { what, value, expected: "a number >= 0" });
        }
        if let Some(window) = &mut self.filling {
            // The window in progress sees both.
            window.acceleration_bound.iter_mut().zip(&bound).for_each(|(a, b)| *a = a.max(*b));
        }
        self.acceleration_bound = bound;
        Ok(())
    }

    /// Takes the measurements of one tick. Ticks follow one another by the control period; after a gap call
    /// [`Identifier::interrupt`] first. A sample that is refused leaves the identifier as it was.
    ///
    /// # Errors
    /// [`IdentifyError::WrongLength`] and [`IdentifyError::BadValue`] name the vector, [`IdentifyError::BadTime`] the time that is not
    /// one period later, [`IdentifyError::Jump`] the joint that moved farther than the bounds allow.
    pub fn push(&mut self, sample: Sample) -> Result<(), IdentifyError> {
        let n = self.robot.dof();
        check_vector("sample time", &[sample.t], 1)?;
        check_vector("sample q", &sample.q, n)?;
        check_vector("sample dq", &sample.dq, n)?;
        check_vector("sample tau", &sample.tau, n)?;
        let panels = self.panels();
        let bound = &self.acceleration_bound;
        let start = |sample| Window {
            samples: vec![sample],
            acceleration_bound: bound.clone(),
            clock: Clock::Control,
        };
        let Some(window) = &mut self.filling else {
            self.filling = Some(start(sample));
            return Ok(());
        };
        if let Some(previous) = window.samples.last() {
            check_step(&self.robot, previous, &sample, &window.acceleration_bound)?;
        }
        window.samples.push(sample.clone());
        if window.samples.len() > panels {
            let full = std::mem::replace(window, start(sample));
            self.waiting.push(full);
        }
        Ok(())
    }

    /// Takes the first measurements after a gap: the window in progress is left out and a new one begins, so that no
    /// data reach over the gap; the motion over it must still be one that the bounds allow. A sample that is refused
    /// leaves the identifier as it was.
    ///
    /// # Errors
    /// As [`Identifier::push`], but for the time.
    pub fn resume(&mut self, sample: Sample) -> Result<(), IdentifyError> {
        let n = self.robot.dof();
        check_vector("sample time", &[sample.t], 1)?;
        check_vector("sample q", &sample.q, n)?;
        check_vector("sample dq", &sample.dq, n)?;
        if let Some(window) = &self.filling
            && let Some(previous) = window.samples.last()
        {
            check_motion(&self.robot, previous, &sample, &window.acceleration_bound)?;
        }
        let interrupted = self.filling.take();
        self.push(sample).inspect_err(|_| self.filling = interrupted)
    }

    /// Forgets the window in progress: the next sample may come at any time.
    pub fn interrupt(&mut self) {
        self.filling = None;
    }

    /// Uses the windows completed since the last update. Without any, the set stays as it is.
    ///
    /// # Errors
    /// [`IdentifyError::AssumptionBroken`] proves that no parameters of the prior explain the measurements within the stated
    /// error bounds; the set is then left as it was.
    pub fn update(&mut self) -> Result<Update, IdentifyError> {
        let start = Instant::now();
        let windows = std::mem::take(&mut self.waiting);
        if !windows.is_empty() {
            let fresh = self.rows_of(&windows);
            let mut candidate = self.polytope.clone();
            candidate.rows.append_all(&fresh);
            self.tighten(candidate)?;
        }
        Ok(Update {
            set: self.polytope.set.clone(),
            nominal: self.nominal,
            condition_number: self.condition_number(),
            rows: self.polytope.rows.len(),
            update_ms: 1e3 * start.elapsed().as_secs_f64(),
        })
    }

    /// Rows over the windows, over parts of them, and over several together.
    fn rows_of(&self, windows: &[Window]) -> Vec<Rows> {
        let (robot, set, options) = (&self.robot, &self.polytope.set, &self.options);
        // Least squares would only count rows twice.
        let dual = options.method != Method::Perturbation;
        let (count, joined, extremes) =
            if dual { (options.parts, options.joined_windows, options.extremes) } else { (1, 1, 0) };
        let likely = self.likely();
        let storage = || (Enclosures::new(robot, set), Search::new(robot, &likely), vec![]);
        let cut: Vec<(Vec<Part>, Rows)> = windows
            .par_iter()
            .map_init(storage, |(enclosures, search, picks), window| {
                let mut enclosed = enclosures.of(window);
                search.run(&enclosed, extremes, picks);
                let parts = enclosed.parts(&equal_spans(window, count));
                (parts, enclosed.rows(picks.iter().map(|pick| (pick.span.clone(), pick.joint))))
            })
            .collect();
        let spans = spans(windows, &cut.iter().map(|(parts, _)| parts.len()).collect::<Vec<_>>(), joined);
        let (parts, mut rows): (Vec<_>, Vec<_>) = cut.into_iter().unzip();
        let parts = parts.concat();
        rows.par_extend(spans.par_iter().map(|span| rows_over_parts(robot, set, &parts[span.clone()])));
        rows
    }

    /// The nominal body, and the middle of what the others may be.
    fn likely(&self) -> Vec<f64> {
        let mut theta = self.polytope.set.center();
        let offset = self.polytope.cuts.offset;
        theta[offset..offset + INERTIAL].copy_from_slice(&self.nominal);
        theta
    }

    fn tighten(&mut self, mut polytope: Polytope) -> Result<(), IdentifyError> {
        let offset = polytope.cuts.offset;
        let unknown: Vec<usize> = (offset..offset + INERTIAL).collect();
        let found = match self.options.method {
            Method::Dual | Method::Map => tighten(&mut polytope, &unknown, self.options.effort)?,
            Method::Perturbation => {
                check_rows(&polytope)?;
                perturbation::tighten(&polytope)?
            }
        };
        let inside = polytope.cuts.body(&found.middle());
        polytope.set = found.set.clone();
        self.nominal = nominal::estimate(&polytope, &inside);
        polytope.forget(&found, self.options.row_budget);
        self.polytope = polytope;
        Ok(())
    }

    fn condition_number(&self) -> f64 {
        let rows = &self.polytope.rows;
        if rows.len() < INERTIAL {
            return f64::INFINITY;
        }
        let body = rows.y.columns(self.polytope.cuts.offset, INERTIAL).into_owned();
        let values = body.singular_values();
        if values.min() > 0.0 { values.max() / values.min() } else { f64::INFINITY }
    }

    /// Panels (control periods) a window.
    fn panels(&self) -> usize {
        ((self.options.window_s / self.robot.control.period_s).round() as usize).max(1)
    }
}

/// Ranges of parts that make a row: every window (of as many parts as `counts` says), in each the parts taken together by
/// every number that divides theirs, then every `joined` consecutive windows without a gap between them.
fn spans(windows: &[Window], counts: &[usize], joined: usize) -> Vec<Range<usize>> {
    let mut start = vec![0];
    start.extend(counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    }));
    let mut spans: Vec<_> = (0..windows.len()).map(|k| start[k]..start[k + 1]).collect();
    for (&count, &start) in counts.iter().zip(&start) {
        for length in (1..count).filter(|length| count % length == 0) {
            spans.extend((0..count).step_by(length).map(|k| start + k..start + k + length));
        }
    }
    let mut first = 0;
    while joined > 1 && first < windows.len() {
        let follows = |k: &usize| windows[k - 1].precedes(&windows[*k]);
        let count = 1 + (first + 1..windows.len()).take(joined - 1).take_while(follows).count();
        if count > 1 {
            spans.push(start[first]..start[first + count]);
        }
        first += count;
    }
    spans
}

fn check_settings(robot: &Robot, options: &IdentifierOptions) -> Result<(), IdentifyError> {
    let (sensors, control) = (&robot.sensors, &robot.control);
    let window = options.window_s;
    let checks = [
        ("window length", window, window > 0.0, "a time > 0 in s"),
        ("control period", control.period_s, control.period_s > 0.0, "a time > 0 in s"),
        ("position error bound", sensors.position_rad, sensors.position_rad >= 0.0, "a number >= 0"),
        ("velocity error bound", sensors.velocity_rad_s, sensors.velocity_rad_s >= 0.0, "a number >= 0"),
        ("torque error ratio", sensors.torque_ratio, (0.0..1.0).contains(&sensors.torque_ratio), "in [0, 1)"),
        ("torque error", sensors.torque_abs_nm, sensors.torque_abs_nm >= 0.0, "a number >= 0"),
        (
            "stiction speed",
            control.stiction_speed_rad_s,
            control.stiction_speed_rad_s >= 0.0,
            "a number >= 0",
        ),
    ];
    for (what, value, good, expected) in checks {
        if !(good && value.is_finite()) {
            return Err(IdentifyError::BadValue { what: what.to_string(), value, expected });
        }
    }
    if robot.end_effector >= robot.dof() {
        let what = "end effector index".to_string();
        let value = robot.end_effector as f64;
        return Err(IdentifyError::BadValue { what, value, expected: "a joint of the robot" });
    }
    Ok(())
}

pub(super) fn check_vector(what: &'static str, values: &[f64], expected: usize) -> Result<(), IdentifyError> {
    if values.len() != expected {
        return Err(IdentifyError::WrongLength { what, found: values.len(), expected });
    }
    match values.iter().position(|x| !x.is_finite()) {
        Some(i) => Err(IdentifyError::BadValue {
            what: format!("{what}[{i}]"),
            value: values[i],
            expected: "a finite number",
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_joined_up_to_a_gap() {
        let sample = |t: f64| Sample { t, q: vec![t], dq: vec![0.0], tau: vec![0.0] };
        let window = |a: f64| Window {
            samples: vec![sample(a), sample(a + 1.0)],
            acceleration_bound: vec![1.0],
            clock: Clock::Control,
        };
        // A gap before the fifth.
        let windows = [0.0, 1.0, 2.0, 3.0, 9.0, 10.0].map(window);
        let single = [0..1, 1..2, 2..3, 3..4, 4..5, 5..6];
        let whole = |joined| spans(&windows, &[1; 6], joined);
        assert_eq!(whole(1), single);
        assert_eq!(whole(3), [&single[..], &[0..3, 4..6]].concat());
        assert_eq!(whole(4), [&single[..], &[0..4, 4..6]].concat());
        assert!(spans(&[], &[], 3).is_empty());
        // The second window in four parts: by one, by two, and with its neighbour.
        let found = spans(&windows[..2], &[1, 4], 3);
        assert_eq!(found, [0..1, 1..5, 1..2, 2..3, 3..4, 4..5, 1..3, 3..5, 0..5]);
    }
}
