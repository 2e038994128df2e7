//! Reading a problem file: the public problem, and the truth on its way to the simulator.

mod posture;
mod simulated;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::EstimationStudy;
use super::file::{self, File, Numbers};
use super::footing::{Stamps, Stands};
use super::log::Samples;
use super::motors::Whole;

use crate::estimate::error::EstimateError;
use crate::estimate::solver::{Rollout, SolverOptions};
use crate::extend::from_text;
use crate::inertia::INERTIAL;
use crate::multibody::equations::ParameterEquation;
use crate::multibody::parameters::ParameterMap;
use crate::multibody::{Deviations, Observation, ParameterBound};
use crate::recording::Sample;
use crate::robot::{self, Limb, Model};
use crate::simulate::Sealed;

/// What a quaternion's length may differ from one by.
const UNIT: f64 = 1e-3;

/// The file with what its errors need.
pub(super) struct Reader<'a> {
    pub(super) path: &'a Path,
    pub(super) robot: Arc<Model>,
    /// The robot that logs are of, where the problem is about one of its limbs.
    pub(super) whole: Option<Whole>,
}

impl EstimationStudy {
    /// Reads a problem file and makes its recording, if it asks for a simulated one; the truth goes under seal.
    ///
    /// # Errors
    /// [`EstimateError::Field`] names the file, the field and what was expected.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, EstimateError> {
        Self::load_changed(path, &[])
    }

    /// [`EstimationStudy::load`] of the file with changes laid over it, one after the other: a table's keys replace or join those
    /// of the file, and so do tables in lists, by their place (`body = [{ coordinates = "log_cholesky" }]` changes the
    /// first body).
    ///
    /// # Errors
    /// As [`EstimationStudy::load`].
    pub fn load_changed(path: impl AsRef<Path>, changes: &[&toml::Table]) -> Result<Self, EstimateError> {
        let path = path.as_ref();
        let file = File::read(path, changes)?;
        let reader = Reader::new(path, &file)?;
        let (map, prior_deviations) = reader.parameters(&file)?;
        let bounds = reader.bounds(&file)?;
        let equations = reader.equations(&file, &map)?;
        let deviations = reader.deviations(&file, prior_deviations)?;
        let observations = reader.observations(&file)?;
        let (mut log, sealed, Stands { contacts, added_force }) = reader.samples(&file, &observations)?;
        reader.check_schedule(&contacts, &log.samples, &deviations)?;
        let work = reader.work(&file, &map, &log, &deviations)?;
        reader.forget_unmeasured(&mut log.samples, &deviations);
        let request =
            file.log.first().map(|log| reader.request(log, vec![])).transpose()?.unwrap_or_default();
        Ok(Self {
            name: file.name.clone(),
            description: file.description.clone(),
            options: reader.options(&file)?,
            first_part: reader.first_part(&file, &log)?,
            deviation_blocks: reader.blocks(&file, &log)?,
            method: file.solver.method,
            noise: file.solver.noise,
            friction_speed: file.solver.friction_speed,
            outside: file.solver.outside_torques,
            robot: reader.robot,
            step_s: log.step_s,
            samples: log.samples,
            readings: log.readings,
            intervals_s: log.intervals_s,
            missing: log.missing,
            notes: log.notes,
            validation: None,
            request,
            map,
            deviations,
            contacts,
            added_force,
            work,
            equations,
            bounds,
            sensor_noise: file.has_sensor_noise(),
            observations,
            formulation: file.formulation,
            cut_off: (!log.cut_off.is_empty()).then(|| log.cut_off.join("; ")),
            of_limb: reader.whole.is_some(),
            sealed,
        })
    }
}

impl File {
    /// Whether noise of torques is their sensors' alone.
    fn has_sensor_noise(&self) -> bool {
        self.deviations.tau_is.map_or_else(
            || {
                let mut parameters = self.joint.iter().flat_map(|joint| &joint.parameters);
                let of_the_sensor = parameters.any(|which| which.is_of_the_sensor());
                of_the_sensor && self.simulate.is_none() && !self.solver.marginal
            },
            |noise| noise == file::TorqueNoise::Sensor,
        )
    }

    /// Reads a problem file with changes laid over it.
    pub(super) fn read(path: &Path, changes: &[&toml::Table]) -> Result<Self, EstimateError> {
        let problem = |field: &str, reason: String| field_error(path, field, reason);
        let text =
            std::fs::read_to_string(path).map_err(|e| problem("the file", format!("cannot be read: {e}")))?;
        let file: File = if changes.is_empty() {
            from_text(&text).map_err(|e| problem("TOML", e))?
        } else {
            let mut table: toml::Table = toml::from_str(&text).map_err(|e| problem("TOML", e.to_string()))?;
            changes.iter().for_each(|change| lay_over(&mut table, change));
            let refuse = |reason: String| problem("TOML with its changes", reason);
            let text = toml::to_string(&table).map_err(|e| refuse(e.to_string()))?;
            from_text(&text).map_err(refuse)?
        };
        if file.schema != file::SCHEMA {
            return Err(problem("schema", format!("{}, expected {}", file.schema, file::SCHEMA)));
        }
        if let Some(step) = file.step_s.filter(|h| !(*h > 0.0 && h.is_finite())) {
            return Err(problem("step_s", format!("{step}, expected a positive number of seconds")));
        }
        Ok(file)
    }

    /// The robot that the problem file at `path` names; where the problem is about one of its limbs, the limb and the whole.
    fn load_robot(&self, path: &Path) -> Result<(Model, Option<Whole>), EstimateError> {
        let problem = |field: &str, reason: String| field_error(path, field, reason);
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut robot = robot::find(Path::new(&self.robot), folder)
            .and_then(robot::load_model)
            .map_err(|e| problem("robot", e.to_string()))?;
        if let Some(speed) = self.friction_speed_rad_s {
            if !(speed > 0.0 && speed.is_finite()) {
                return Err(problem("friction_speed_rad_s", format!("{speed}, expected a positive number")));
            }
            robot.friction_speed_rad_s = speed;
        }
        let Some(joint) = &self.limb else { return Ok((robot, None)) };
        match robot.limb_of(joint) {
            Some(Limb { model, joints }) => {
                Ok((model, Some(Whole { robot: robot.with_base_held(), joints })))
            }
            None => Err(problem("limb", format!("no joint `{joint}` of `{}`", robot.name))),
        }
    }
}

/// Lays `change` over `table`.
pub(in crate::study) fn lay_over(table: &mut toml::Table, change: &toml::Table) {
    for (key, new) in change {
        match table.get_mut(key) {
            Some(old) => replace(old, new),
            None => {
                table.insert(key.clone(), new.clone());
            }
        }
    }
}

fn replace(old: &mut toml::Value, new: &toml::Value) {
    use toml::Value::{Array, Table};
    match (&mut *old, new) {
        (Table(old), Table(new)) => lay_over(old, new),
        (Array(list), Array(changes))
            if [&*list, changes].iter().all(|l| l.iter().all(toml::Value::is_table)) =>
        {
            for (i, change) in changes.iter().enumerate() {
                match list.get_mut(i) {
                    Some(old) => replace(old, change),
                    None => list.push(change.clone()),
                }
            }
        }
        _ => old.clone_from(new),
    }
}

pub(in crate::study) fn field_error(path: &Path, field: &str, reason: String) -> EstimateError {
    EstimateError::Field { file: PathBuf::from(path), field: field.to_owned(), reason }
}

impl<'a> Reader<'a> {
    /// Of the problem file at `path`; loads its robot.
    pub(super) fn new(path: &'a Path, file: &File) -> Result<Self, EstimateError> {
        let (robot, whole) = file.load_robot(path)?;
        Ok(Self { path, robot: Arc::new(robot), whole })
    }
}

impl Reader<'_> {
    pub(super) fn error<T>(&self, field: &str, reason: String) -> Result<T, EstimateError> {
        Err(field_error(self.path, field, reason))
    }

    /// Samples of logs or of the simulator with its truth under seal, and the contacts over them.
    fn samples(
        &self,
        file: &File,
        observations: &[Observation],
    ) -> Result<(Samples, Option<Sealed>, Stands), EstimateError> {
        match (file.log.is_empty(), &file.simulate) {
            (false, None) => {
                let folder = self.path.parent().unwrap_or(Path::new("."));
                let log = self.read_logs(folder, file, observations)?;
                let stands = self.stands(file, &Stamps::of_log(&log.samples), None)?;
                Ok((log, None, stands))
            }
            (true, Some(simulate)) => {
                let Some(step_s) = file.step_s else {
                    return self.error("step_s", "missing, expected the simulator's interval".into());
                };
                let reads = self.reads(simulate, step_s)?;
                let stamps = Stamps::of_simulation(&reads);
                let plan = self.plan(file, (simulate, &stamps, reads), observations, None)?;
                let recording = self.simulate(file, &plan)?;
                let stands = self.stands(file, &stamps, recording.lifted.as_ref())?;
                let samples = Samples::simulated(recording.log, recording.missing, step_s);
                Ok((samples, Some(recording.sealed), stands))
            }
            _ => self.error("log / simulate", "expected exactly one of the two".into()),
        }
    }

    fn link(&self, field: &str, name: &str) -> Result<usize, EstimateError> {
        match self.robot.joints.iter().position(|j| j.link == name) {
            Some(i) => Ok(i),
            None => {
                let known: Vec<_> = self.robot.joints.iter().map(|j| j.link.as_str()).collect();
                self.error(field, format!("no moving link `{name}`, expected one of {}", known.join(", ")))
            }
        }
    }

    pub(super) fn joint(&self, field: &str, name: &str) -> Result<usize, EstimateError> {
        match self.robot.joints.iter().position(|j| j.name == name) {
            Some(i) => Ok(i),
            None => {
                let known: Vec<_> = self.robot.joints.iter().map(|j| j.name.as_str()).collect();
                self.error(field, format!("no joint `{name}`, expected one of {}", known.join(", ")))
            }
        }
    }

    /// `count` numbers, each positive and finite.
    fn numbers(&self, field: &str, numbers: &Numbers, count: usize) -> Result<Vec<f64>, EstimateError> {
        let values = self.measured(field, numbers, count)?;
        match values.iter().find(|x| x.is_infinite()) {
            Some(bad) => self.error(field, format!("{bad}, expected a finite standard deviation")),
            None => Ok(values),
        }
    }

    /// `count` numbers, each positive; `inf` says that there is no such sensor.
    pub(super) fn measured(
        &self,
        field: &str,
        numbers: &Numbers,
        count: usize,
    ) -> Result<Vec<f64>, EstimateError> {
        let values = self.spread(field, numbers, count)?;
        if values.len() != count {
            return self.error(field, format!("{} numbers, expected one or {count}", values.len()));
        }
        if let Some(bad) = values.iter().find(|&&x| !(x > 0.0)) {
            return self.error(field, format!("{bad}, expected a positive standard deviation"));
        }
        Ok(values)
    }

    /// One number for all, one each, or six for a floating base and the others.
    fn spread(&self, field: &str, numbers: &Numbers, count: usize) -> Result<Vec<f64>, EstimateError> {
        match numbers {
            Numbers::One(x) => Ok(vec![*x; count]),
            Numbers::Each(list) => Ok(list.clone()),
            Numbers::Floating(parts) if self.robot.has_free_flyer() && count == self.robot.nv() => {
                let mut values = parts.base.to_vec();
                values.extend(self.spread(&format!("{field}.joints"), &parts.joints, count - 6)?);
                Ok(values)
            }
            Numbers::Floating(_) => {
                self.error(field, "has a part for a floating base, expected numbers alone".into())
            }
        }
    }

    /// What is wrong with the orientation of a floating base in `q`, if anything.
    pub(super) fn turned_wrong(&self, q: &[f64]) -> Option<String> {
        let quaternion = q.get(3..7).filter(|_| self.robot.has_free_flyer())?;
        let norm = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
        ((norm - 1.0).abs() > UNIT)
            .then(|| format!("the base's quaternion (x, y, z, w) has length {norm}, expected 1"))
    }

    /// Positions that are not measured stay at the first sample's, velocities at zero: nothing looks at them but the first
    /// guess, which must not know them.
    fn forget_unmeasured(&self, samples: &mut [Sample], d: &Deviations) {
        let Some((first, others)) = samples.split_first_mut() else { return };
        let base = if self.robot.has_free_flyer() { 6 } else { 0 };
        let places = (0..base / 2).chain(base..d.q.len());
        for k in places.filter(|&k| d.q[k].is_infinite()) {
            // Behind a floating base positions are one ahead of velocities.
            let at = if k < base { k } else { k + self.robot.nq() - self.robot.nv() };
            others.iter_mut().for_each(|s| s.q[at] = first.q[at]);
        }
        for (k, deviation) in d.dq.iter().enumerate() {
            if deviation.is_infinite() {
                first.dq[k] = 0.0;
                others.iter_mut().for_each(|s| s.dq[k] = 0.0);
            }
        }
    }

    fn numbers_or_open(
        &self,
        field: &str,
        numbers: &Option<Numbers>,
        count: usize,
    ) -> Result<Vec<f64>, EstimateError> {
        numbers.as_ref().map_or(Ok(vec![f64::INFINITY; count]), |x| self.numbers(field, x, count))
    }

    /// What is estimated, where it starts, and the prior's deviations.
    fn parameters(&self, file: &File) -> Result<(ParameterMap, Vec<f64>), EstimateError> {
        let (robot, mut map) = (&self.robot, ParameterMap::none(&self.robot));
        let mut deviations = Vec::new();
        for (b, body) in file.body.iter().enumerate() {
            let field = |name: &str| format!("body[{b}].{name}");
            let i = self.link(&field("link"), &body.link)?;
            if map.bodies.iter().any(|(other, _)| *other == i) {
                return self.error(&field("link"), format!("`{}` is estimated twice", body.link));
            }
            self.positive(&field("start_ratio"), body.start_ratio)?;
            let at = robot.body_range(i);
            map.nominal[at].iter_mut().for_each(|x| *x *= body.start_ratio);
            map.bodies.push((i, body.coordinates));
            deviations.extend(self.numbers_or_open(&field("deviation"), &body.deviation, INERTIAL)?);
        }
        for (b, joint) in file.joint.iter().enumerate() {
            let field = |name: &str| format!("joint[{b}].{name}");
            let i = self.joint(&field("name"), &joint.name)?;
            self.positive(&field("start_ratio"), joint.start_ratio)?;
            for &which in &joint.parameters {
                if map.joints.contains(&(i, which)) {
                    return self
                        .error(&field("parameters"), format!("`{}` is estimated twice", which.name().0));
                }
                map.nominal[which.index(robot, i)] *= joint.start_ratio;
                map.joints.push((i, which));
            }
            if let Some(start) = &joint.start {
                if start.len() != joint.parameters.len() || start.iter().any(|x| !x.is_finite()) {
                    let expected = joint.parameters.len();
                    return self.error(&field("start"), format!("expected {expected} finite numbers"));
                }
                for (which, x) in joint.parameters.iter().zip(start) {
                    map.nominal[which.index(robot, i)] = *x;
                }
            }
            let count = joint.parameters.len();
            deviations.extend(self.numbers_or_open(&field("deviation"), &joint.deviation, count)?);
        }
        Ok((map, deviations))
    }

    /// Bounds on the estimated parameters, in the order in which [`Self::parameters`] takes these.
    fn bounds(&self, file: &File) -> Result<Vec<ParameterBound>, EstimateError> {
        let lists = (file.body.iter().enumerate())
            .map(|(b, body)| (format!("body[{b}]"), &body.lower, &body.upper, INERTIAL))
            .chain(file.joint.iter().enumerate().map(|(j, joint)| {
                (format!("joint[{j}]"), &joint.lower, &joint.upper, joint.parameters.len())
            }));
        let (mut bounds, mut first) = (vec![], 0);
        for (table, lower, upper, count) in lists {
            for (name, side) in [("lower", lower), ("upper", upper)] {
                let Some(side) = side else { continue };
                if side.len() != count || side.iter().any(|x| x.is_nan()) {
                    let reason = format!("expected {count} numbers, infinite ones where there is no bound");
                    return self.error(&format!("{table}.{name}"), reason);
                }
            }
            for k in 0..count {
                let side = |list: &Option<Vec<f64>>, open: f64| list.as_ref().map_or(open, |list| list[k]);
                let (lower, upper) = (side(lower, f64::NEG_INFINITY), side(upper, f64::INFINITY));
                if !(lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY) {
                    let reason = format!("number {}: {lower} above {upper}, expected no more than it", k + 1);
                    return self.error(&format!("{table}.lower"), reason);
                }
                if lower.is_finite() || upper.is_finite() {
                    bounds.push(ParameterBound { place: first + k, lower, upper });
                }
            }
            first += count;
        }
        Ok(bounds)
    }

    fn equations(&self, file: &File, map: &ParameterMap) -> Result<Vec<ParameterEquation>, EstimateError> {
        let mut equations = Vec::new();
        for (e, equation) in file.equation.iter().enumerate() {
            let field = format!("equation[{e}]");
            let body = |name: &String| {
                let link = self.link(&field, name)?;
                match map.bodies.iter().position(|(b, _)| *b == link) {
                    Some(b) => Ok(b),
                    None => self.error(&field, format!("`{name}` is not estimated")),
                }
            };
            equations.push(match equation {
                file::Equation::TotalMass { links, mass_kg } => {
                    self.positive(&format!("{field}.mass_kg"), *mass_kg)?;
                    ParameterEquation::TotalMass(links.iter().map(body).collect::<Result<_, _>>()?, *mass_kg)
                }
                file::Equation::Mirror { links: [a, b], plane } => {
                    if a == b {
                        return self.error(&field, "expected two links; a link's own is `symmetric`".into());
                    }
                    ParameterEquation::Mirror(body(a)?, body(b)?, *plane)
                }
                file::Equation::Symmetric { link, plane } => {
                    ParameterEquation::Symmetric(body(link)?, *plane)
                }
            });
        }
        Ok(equations)
    }

    pub(super) fn positive(&self, field: &str, x: f64) -> Result<f64, EstimateError> {
        if x > 0.0 && x.is_finite() {
            return Ok(x);
        }
        self.error(field, format!("{x}, expected a positive number"))
    }

    pub(super) fn finite(&self, field: &str, list: &[f64]) -> Result<(), EstimateError> {
        match list.iter().find(|x| !x.is_finite()) {
            Some(bad) => self.error(field, format!("{bad}, expected finite numbers")),
            None => Ok(()),
        }
    }

    fn deviations(&self, file: &File, theta: Vec<f64>) -> Result<Deviations, EstimateError> {
        let (n, d) = (self.robot.nv(), &file.deviations);
        Ok(Deviations {
            q: self.measured("deviations.q_rad", &d.q_rad, n)?,
            dq: self.measured("deviations.dq_rad_s", &d.dq_rad_s, n)?,
            tau: self.numbers("deviations.tau_nm", &d.tau_nm, n)?,
            first_q: self.numbers_or_open("deviations.first_q_rad", &d.first_q_rad, n)?,
            first_dq: self.numbers_or_open("deviations.first_dq_rad_s", &d.first_dq_rad_s, n)?,
            theta,
        })
    }

    fn options(&self, file: &File) -> Result<SolverOptions, EstimateError> {
        let rollout = match file.solver.rollout.as_str() {
            "single" => Rollout::Single,
            "feasible" => Rollout::Feasible,
            "multiple" => Rollout::Multiple,
            other => {
                return self.error(
                    "solver.rollout",
                    format!("`{other}`, expected `single`, `feasible` or `multiple`"),
                );
            }
        };
        let File { solver, .. } = file;
        Ok(SolverOptions {
            rollout,
            iterations: solver.iterations,
            secant: solver.secant,
            significance: solver.significance,
            marginal: solver.marginal,
            cautious: solver.cautious.unwrap_or(file.simulate.is_none()),
            ..SolverOptions::default()
        })
    }

    /// Samples of the part that is solved first.
    fn first_part(&self, file: &File, log: &Samples) -> Result<Option<usize>, EstimateError> {
        match file.solver.first_part_s {
            None => Ok(None),
            Some(t) if t > log.step_s && t.is_finite() => {
                let first = log.samples[0].t;
                // Half an interval earlier, so that rounding of a stamp decides nothing.
                Ok(Some(log.samples.partition_point(|s| s.t - first < t - 0.5 * log.step_s)))
            }
            Some(t) => self.error("solver.first_part_s", format!("{t} s, expected more than one interval")),
        }
    }
}
