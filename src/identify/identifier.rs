//! The identifier: samples in, parameter sets out.

use std::sync::Arc;
use std::time::Instant;

use nalgebra::SMatrix;
use serde::{Deserialize, Serialize};

use super::bounds::{Effort, Search, Tightened, check_rows, unit};
use super::collector::{CollectedWindow, WindowCollector};
use super::error::IdentifyError;
use super::physics::{check_box, prove_body};
use super::polytope::Polytope;
use super::proof::{Recorder, SetProof};
use super::separate::{ChargeEstimate, Profile, RowSeparation};
use super::window::{History, Past, Pick, Placed, RowMaker, Window};
use super::{nominal, perturbation};
use crate::enclose::environment;
use crate::inertia::{INERTIAL, ParameterSet};
use crate::recording::Sample;
use crate::regression::balance;
use crate::robot::Arm;

/// How intervals come of data; both are proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The best certificate that linear programs find ([`super::bounds`]).
    #[default]
    Dual,
    /// The sensitivity bound of [1, Theorem 13] ([`super::perturbation`]).
    Perturbation,
    /// As `Dual`; after a run of a scenario also the most probable parameters ([`crate::multibody::payload`]), which nothing relies on.
    Map,
}

/// How the identifier works; every value is sound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdentifierOptions {
    /// How intervals come of data.
    pub method: Method,
    /// Length of a window, s; rounded to whole control periods, at least one.
    pub window_s: f64,
    /// So many windows are remembered; rows are made over any span of ticks in them ([`super::separate`]).
    pub windows: usize,
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
            windows: 100,
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
    /// Condition number of the unknown body's regressor, in SI units, over all windows that were used so far, each as one row a joint (what \[1, Table V\]
    /// reports); infinite while it is singular.
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
    pub(super) robot: Arc<Arm>,
    pub(super) options: IdentifierOptions,
    pub(super) polytope: Polytope,
    nominal: [f64; INERTIAL],
    /// The triangular factor of the unknown body's columns over all windows so far, forgotten rows included.
    seen: SMatrix<f64, INERTIAL, INERTIAL>,
    collector: WindowCollector,
    /// Number of the tick with which the next window may begin.
    next_tick: usize,
    /// Full windows that no update has used yet, each with the number of its first tick.
    waiting: Vec<(usize, Window)>,
    /// Enclosures of the first of them.
    enclosed: Vec<Past>,
    /// The windows that updates have used, and what their rows are made of.
    history: History,
    profiles: Vec<Arc<Profile>>,
    /// What their rows are charged by the present set, one a joint and window.
    estimates: Vec<ChargeEstimate>,
    /// The set that the rows which hold the bounds were last made with.
    made_with: ParameterSet,
    pub(super) record: Recorder,
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
        robot: Arc<Arm>,
        prior: &ParameterSet,
        acceleration_bound: Vec<f64>,
        options: IdentifierOptions,
    ) -> Result<Self, IdentifyError> {
        let expected = robot.parameter_count();
        if prior.len() != expected {
            return Err(IdentifyError::WrongLength { what: "prior box", found: prior.len(), expected });
        }
        check_box(prior, expected)?;
        let collector = WindowCollector::new(robot.clone(), acceleration_bound, &options)?;
        let (set, inside, proven) = prove_body(prior, robot.end_effector())?;
        let offset = robot.inertial_index(robot.end_effector());
        let record = Recorder::new(prior, &proven, offset);
        let made_with = set.clone();
        let polytope = Polytope::from_box(set, offset);
        Ok(Self {
            robot,
            options,
            polytope,
            nominal: inside,
            seen: SMatrix::zeros(),
            collector,
            next_tick: 0,
            waiting: vec![],
            enclosed: vec![],
            history: History::default(),
            profiles: vec![],
            estimates: vec![],
            made_with,
            record,
        })
    }

    /// The same with a guess of the unknown body, which is the nominal estimate until something is learnt. No bound rests on it.
    pub fn with_guess(mut self, guess: [f64; INERTIAL]) -> Self {
        self.nominal = guess;
        self
    }

    /// The present parameter set.
    pub fn set(&self) -> &ParameterSet {
        &self.polytope.set
    }

    /// What proves the present set, and the strips made so far: everything that another process needs beside the measurements.
    pub fn proof(&self) -> SetProof {
        self.record.proof(&self.robot)
    }

    /// The present nominal inertial parameters of the unknown body.
    pub fn nominal(&self) -> &[f64; INERTIAL] {
        &self.nominal
    }

    /// Replaces the bound on |ddq_j| (rad/s^2) for the samples from now on; call it when the plan changes.
    ///
    /// # Errors
    /// As [`WindowCollector::set_acceleration_bound`].
    pub fn set_acceleration_bound(&mut self, bound: Vec<f64>) -> Result<(), IdentifyError> {
        self.collector.set_acceleration_bound(bound)
    }

    /// Takes the measurements of one tick. Ticks follow one another by the control period; after a gap call
    /// [`Identifier::resume`]. A sample that is refused leaves the identifier as it was.
    ///
    /// # Errors
    /// As [`WindowCollector::push`].
    pub fn push(&mut self, sample: Sample) -> Result<(), IdentifyError> {
        let completed = self.collector.push(sample).inspect_err(tell_contradiction)?;
        completed.map_or(Ok(()), |window| self.take(window))
    }

    /// Takes the first measurements after a gap.
    ///
    /// # Errors
    /// As [`WindowCollector::resume`].
    pub fn resume(&mut self, sample: Sample) -> Result<(), IdentifyError> {
        let completed = self.collector.resume(sample).inspect_err(tell_contradiction)?;
        completed.map_or(Ok(()), |window| self.take(window))
    }

    /// Forgets the window in progress: the next sample may come at any time.
    pub fn interrupt(&mut self) {
        self.collector.interrupt();
    }

    /// Takes a window that a [`WindowCollector`] of the same arm has collected, in another thread maybe. Whoever takes windows from one collector pushes
    /// no ticks besides.
    ///
    /// # Errors
    /// [`IdentifyError::WindowOrder`] for one that begins before the last one taken ends, [`IdentifyError::WrongLength`] for one of another
    /// arm; the identifier is then as it was.
    pub fn take(&mut self, window: CollectedWindow) -> Result<(), IdentifyError> {
        let n = self.robot.dof();
        for sample in &window.window.samples {
            check_vector("sample q", &sample.q, n)?;
        }
        let (first, expected) = (window.first_tick, self.next_tick);
        if first < expected {
            return Err(IdentifyError::WindowOrder { first, expected });
        }
        self.next_tick = window.end();
        self.waiting.push((first, window.window));
        Ok(())
    }

    /// Encloses the windows that have been completed: work that [`Identifier::update`] has not got to do then. It takes some 4 ms for a window
    /// of 0.1 s at 1 kHz (Gen3), so it belongs between updates, in the thread of these, not into the control loop. Nothing that is
    /// found depends on when, or whether, it is called.
    pub fn prepare(&mut self) {
        let ready = History::enclose(&self.robot, &self.waiting[self.enclosed.len()..]);
        self.enclosed.extend(ready);
    }

    /// Uses the windows completed since the last update. Without any, the set stays as it is.
    ///
    /// # Errors
    /// [`IdentifyError::AssumptionBroken`] proves that no parameters of the prior explain the measurements within the stated
    /// error bounds; the set is then left as it was.
    pub fn update(&mut self) -> Result<Update, IdentifyError> {
        let start = Instant::now();
        environment::fault().map_or(Ok(()), |fault| Err(IdentifyError::Arithmetic(fault)))?;
        let windows = std::mem::take(&mut self.waiting);
        let robot = &*self.robot.name;
        let _span = tracing::info_span!("identify", robot, windows = windows.len()).entered();
        if !windows.is_empty() {
            self.learn(&windows).inspect_err(|error| {
                tell_contradiction(error);
                self.forget_windows();
            })?;
        }
        let update = Update {
            set: self.polytope.set.clone(),
            nominal: self.nominal,
            condition_number: self.condition_number(),
            rows: self.polytope.rows.len(),
            update_ms: 1e3 * start.elapsed().as_secs_f64(),
        };
        let mass = update.set.body(self.robot.end_effector()).range(0);
        let Update { condition_number, rows, update_ms, .. } = update;
        tracing::debug!(
            windows = windows.len(),
            rows,
            condition_number,
            update_ms,
            mass_lower_kg = mass.lower,
            mass_upper_kg = mass.upper,
            "set updated"
        );
        Ok(update)
    }

    /// Narrows the set by what the windows tell, and the ones before.
    fn learn(&mut self, windows: &[(usize, Window)]) -> Result<(), IdentifyError> {
        let robot = self.robot.clone();
        let set = self.polytope.set.clone();
        self.remember(windows);
        let mut maker = RowMaker::new(&robot, &set, &self.history, self.record.next_step());
        let placed: Vec<Placed> = self.history.windows().collect();
        let fresh = &placed[self.profiles.len()..];
        let whole: Vec<Pick> = fresh.iter().flat_map(|w| w.whole(robot.dof())).collect();
        let rows = maker.rows(&whole);
        let mut polytope = self.polytope.clone();
        polytope.rows.append(&rows);
        check_rows(&polytope)?;
        let own = rows.y.columns(polytope.cuts.offset, INERTIAL);
        let own = own.row_iter().map(|row| row.transpose().fixed_rows::<INERTIAL>(0).into_owned());
        self.seen = balance::with_rows(self.seen, own);
        if self.options.method == Method::Perturbation {
            let found = perturbation::tighten(&polytope)?;
            self.history = History::default();
            self.record.update(windows, &found.proven);
            self.take_over(polytope, &found);
            return Ok(());
        }
        let profiles = Profile::of_windows(&robot, &set, fresh, &maker, &rows.radius);
        self.estimates.extend(Profile::estimates(&profiles, fresh, &maker));
        self.profiles.extend(profiles);
        let offset = polytope.cuts.offset;
        let unknown: Vec<usize> = (offset..offset + INERTIAL).collect();
        let directions: Vec<_> = unknown.iter().map(|&j| unit(polytope.len(), j)).collect();
        let mut search = Search::new(&polytope, &directions, self.options.effort);
        let mut source = RowSeparation::new(&self.history, &self.profiles, &self.estimates, maker, whole);
        search.run(&mut polytope, &mut source);
        let mut steps = vec![search.found(&polytope, &unknown)?];
        let (mut estimates, mut made_with) = (None, self.made_with.clone());
        for _ in 0..self.options.effort.remakes {
            let Some(found) = steps.last().filter(|found| self.pays(&made_with, &found.set)) else { break };
            made_with = found.set.clone();
            let held = polytope.holding(&found.row_share);
            polytope.set = made_with.clone();
            let step = self.record.next_step() + steps.len();
            let mut maker = RowMaker::new(&robot, &made_with, &self.history, step);
            let (held, picks): (Vec<usize>, Vec<Pick>) =
                held.into_iter().filter(|(_, pick)| self.history.holds(pick)).unzip();
            polytope.rows.append(&maker.rows(&picks));
            polytope.supersede(&held);
            let before = estimates.as_ref().unwrap_or(&self.estimates);
            let own = Profile::estimates_again(&self.profiles, &placed, before, &mut maker);
            let own = estimates.insert(own);
            let mut source = RowSeparation::new(&self.history, &self.profiles, own, maker, picks);
            search.run(&mut polytope, &mut source);
            steps.push(search.found(&polytope, &unknown)?);
        }
        drop(placed);
        self.estimates = estimates.unwrap_or(std::mem::take(&mut self.estimates));
        self.made_with = made_with;
        for (k, found) in steps.iter().enumerate() {
            self.record.update(if k == 0 { windows } else { &[] }, &found.proven);
        }
        if let Some(found) = steps.pop() {
            self.take_over(polytope, &found);
        }
        Ok(())
    }

    /// Takes windows into the history, whose oldest ones give way.
    fn remember(&mut self, windows: &[(usize, Window)]) {
        let mut past = std::mem::take(&mut self.enclosed);
        past.extend(History::enclose(&self.robot, &windows[past.len()..]));
        self.history.extend_enclosed(windows, past);
        let kept = self.profiles.len() + windows.len();
        let surplus = kept.saturating_sub(self.options.windows).min(self.profiles.len());
        self.profiles.drain(..surplus);
        self.estimates.drain(..surplus * self.robot.dof());
        self.history.forget(self.profiles.len() + windows.len());
    }

    /// Whether rows made with `now` would be enough tighter than those made with `then`.
    fn pays(&self, then: &ParameterSet, now: &ParameterSet) -> bool {
        let offset = self.polytope.cuts.offset;
        let width = |set: &ParameterSet, j: usize| set.upper()[j] - set.lower()[j];
        let least = 1.0 - self.options.effort.remake;
        (offset..offset + INERTIAL).any(|j| width(now, j) < least * width(then, j))
    }

    fn take_over(&mut self, mut polytope: Polytope, found: &Tightened) {
        let inside = polytope.cuts.body(&found.middle());
        polytope.set = found.set.clone();
        self.nominal = nominal::estimate(&polytope, &inside);
        polytope.forget(found, self.options.row_budget);
        self.polytope = polytope;
    }

    fn forget_windows(&mut self) {
        self.history = History::default();
        self.profiles.clear();
        self.estimates.clear();
    }

    fn condition_number(&self) -> f64 {
        let values = self.seen.singular_values();
        // What is smaller is rounding.
        if values.min() > INERTIAL as f64 * f64::EPSILON * values.max() {
            values.max() / values.min()
        } else {
            f64::INFINITY
        }
    }
}

pub(super) fn check_settings(robot: &Arm, options: &IdentifierOptions) -> Result<(), IdentifyError> {
    let (sensors, control) = (robot.sensors(), &robot.gains());
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
    if robot.end_effector() >= robot.dof() {
        let what = "end effector index".to_string();
        let value = robot.end_effector() as f64;
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

/// Tells `tracing` of an error if it shows that an assumption is broken.
fn tell_contradiction(error: &IdentifyError) {
    if matches!(error, IdentifyError::Jump { .. } | IdentifyError::AssumptionBroken { .. }) {
        tracing::warn!(%error, "measurements contradict what is assumed");
    }
}
