//! Reading a mechanism and a problem about it: the public problem, and the truth on its way to the simulator.

use std::path::{Path, PathBuf};

use nalgebra::{Rotation3, UnitQuaternion, Vector3};

use super::MechanismStudy;
use super::file::{
    EstimatorForm, FrameFile, ImpulsesFile, JointFile, JointFileKind, MechanismFile, MechanismProblem,
    MechanismQuantity, SCHEMA, SimulateMechanism, SoughtFile,
};
use super::log::{self, ReadLog};
use crate::discrete::mechanism::{Attachment, DryFriction, FreeBody, HeldJoint, HeldJointKind, HingeMotor};
use crate::discrete::{
    DiscreteForm, Mechanism, MechanismParameter, OutsideImpulses, ResidualWeights, SoughtParameter,
};
use crate::estimate::error::EstimateError;
use crate::estimate::solver::SolverOptions;
use crate::extend::{Disk, Fault, Layers, from_text};
use crate::simulate::{MechanismPlan, MechanismPlant, MechanismRecording, Sealed, record_mechanism};
use crate::study::estimation::{field_error, lay_over};

/// Most steps of the model in a simulation or a log.
pub(super) const LONGEST: f64 = 1e6;
/// Most steps of the model from one reading to the next.
const MOST_STEPS: f64 = 1000.0;
/// What two axes of a frame may differ from a right angle by, rad.
const SQUARE: f64 = 1e-6;

impl EstimatorForm {
    pub(super) fn discrete(self) -> DiscreteForm {
        match self {
            Self::Implicit => DiscreteForm::Impulses,
            Self::Inverse | Self::Explicit => DiscreteForm::Changes,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Implicit => "implicit",
            Self::Inverse => "inverse",
            Self::Explicit => "explicit",
        }
    }
}

/// Whether the problem file at `path` is about a mechanism: it, or a file that it extends, names one. A file that is no TOML or is not there names none.
///
/// # Errors
/// [`EstimateError::Field`] if what it extends cannot be read, or if it names neither a mechanism nor a robot.
pub fn is_mechanism_problem(path: &Path) -> Result<bool, EstimateError> {
    let keys = match Layers::read(path, &Disk).and_then(|layers| layers.parse::<toml::Table>(&[])) {
        Ok(keys) => keys,
        Err(fault @ Fault::Extends { .. }) => return Err(faulty(fault)),
        Err(Fault::Read { path: other, source }) if other != path => {
            return Err(faulty(Fault::Read { path: other, source }));
        }
        Err(_) => return Ok(false),
    };
    if !["mechanism", "robot"].iter().any(|key| keys.contains_key(*key)) {
        let reason = "expected the key `robot` or, for a mechanism in maximal coordinates, `mechanism`";
        return Err(field_error(path, "TOML", reason.into()));
    }
    Ok(keys.contains_key("mechanism"))
}

/// The file with what its errors need.
struct Reader<'a> {
    path: &'a Path,
    file: MechanismProblem,
}

fn faulty(fault: Fault) -> EstimateError {
    match fault {
        Fault::Read { path, source } => field_error(&path, "the file", format!("cannot be read: {source}")),
        Fault::Parse { path, message } => field_error(&path, "TOML", message),
        Fault::Extends { path, reason } => field_error(&path, crate::extend::KEY, reason),
    }
}

impl MechanismStudy {
    /// Reads a problem file and makes its recording, if it asks for a simulated one; the truth goes under seal.
    ///
    /// # Errors
    /// [`EstimateError::Field`] names the file, the field and what was expected.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, EstimateError> {
        Self::load_changed(path, &[])
    }

    /// [`MechanismStudy::load`] of the file with changes laid over it, one after the other, as
    /// [`crate::study::estimation::EstimationStudy::load_changed`] lays them.
    ///
    /// # Errors
    /// As [`MechanismStudy::load`].
    pub fn load_changed(path: impl AsRef<Path>, changes: &[&toml::Table]) -> Result<Self, EstimateError> {
        let path = path.as_ref();
        let reader = Reader::read(path, changes)?;
        let mut study = reader.study()?;
        for (i, other) in reader.file.validation.iter().enumerate() {
            let at = match &other.problem {
                None => path.to_owned(),
                Some(name) => reader.near(name),
            };
            let own: Vec<&toml::Table> = if other.problem.is_none() { changes.to_vec() } else { vec![] };
            let all: Vec<&toml::Table> = own.into_iter().chain([&other.change]).collect();
            let named = |e: EstimateError| field_error(path, &format!("validation[{i}]"), e.to_string());
            let loaded = Self::load_alone(&at, &all).map_err(named)?;
            study.add_validation(other.label.clone(), loaded).map_err(named)?;
        }
        Ok(study)
    }

    /// [`MechanismStudy::load_changed`] without what the problem's file has it validated on.
    ///
    /// # Errors
    /// As [`MechanismStudy::load`].
    pub fn load_alone(path: &Path, changes: &[&toml::Table]) -> Result<Self, EstimateError> {
        Reader::read(path, changes)?.study()
    }
}

impl<'a> Reader<'a> {
    fn read(path: &'a Path, changes: &[&toml::Table]) -> Result<Self, EstimateError> {
        let layers = Layers::read(path, &Disk).map_err(faulty)?;
        let file: MechanismProblem = if changes.is_empty() {
            layers.parse(&[]).map_err(faulty)?
        } else {
            let mut table: toml::Table = layers.parse(&[]).map_err(faulty)?;
            changes.iter().for_each(|change| lay_over(&mut table, change));
            let refuse = |reason: String| field_error(path, "TOML with its changes", reason);
            let text = toml::to_string(&table).map_err(|e| refuse(e.to_string()))?;
            from_text(&text).map_err(refuse)?
        };
        let reader = Self { path, file };
        if reader.file.schema != SCHEMA {
            return reader.error("schema", format!("{}, expected {SCHEMA}", reader.file.schema));
        }
        for (field, value) in [
            ("step_s", Some(reader.file.step_s)),
            ("model_step_s", reader.file.model_step_s),
            ("kappa", Some(reader.file.kappa)),
            ("encoder_rad", Some(reader.file.encoder_rad)),
        ] {
            if let Some(value) = value.filter(|x| !(*x > 0.0 && x.is_finite())) {
                return reader.error(field, format!("{value}, expected a number above 0"));
            }
        }
        let solver = &reader.file.solver;
        for (field, value) in [("tolerance", solver.tolerance), ("significance", solver.significance)] {
            if !(value >= 0.0 && value.is_finite()) {
                return reader
                    .error(&format!("solver.{field}"), format!("{value}, expected a number of at least 0"));
            }
        }
        if solver.iterations == 0 {
            return reader.error("solver.iterations", "0, expected at least 1".into());
        }
        Ok(reader)
    }

    fn error<T>(&self, field: &str, reason: String) -> Result<T, EstimateError> {
        Err(field_error(self.path, field, reason))
    }

    fn near(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new(".")).join(name)
    }

    /// Steps of the model from one reading to the next.
    fn steps(&self) -> Result<usize, EstimateError> {
        let longest = self.file.model_step_s.unwrap_or(self.file.step_s);
        let steps = (self.file.step_s / longest - 1e-9).ceil().max(1.0);
        if steps > MOST_STEPS {
            let reason = format!("{longest}, expected at least a {MOST_STEPS}th of `step_s`");
            return self.error("model_step_s", reason);
        }
        Ok(steps as usize)
    }

    fn study(&self) -> Result<MechanismStudy, EstimateError> {
        let file = &self.file;
        let steps = self.steps()?;
        let step_s = file.step_s / steps as f64;
        let (mechanism_name, truth) = self.mechanism()?;
        let mut mechanism = truth.clone();
        soften(&mut mechanism, file.compliance, file.relaxation_s);
        let sought = self.sought(&mechanism)?;
        let (mut read, sealed) = match (&file.log, &file.simulate) {
            (Some(named), None) => {
                if !file.truth.is_empty() {
                    return self
                        .error("truth", "is of simulated mechanisms, expected none with a log".into());
                }
                (log::read(self.path, named, &mechanism, (file.step_s, step_s))?, None)
            }
            (None, Some(simulate)) => {
                let (read, sealed) = self.simulate(truth, simulate, &sought, step_s)?;
                (read, Some(sealed))
            }
            _ => return self.error("log / simulate", "expected exactly one of the two".into()),
        };
        read.keep_every(steps);
        let solver = &file.solver;
        Ok(MechanismStudy {
            name: file.name.clone(),
            description: file.description.clone(),
            mechanism_name,
            mechanism,
            log: read.log,
            guess: read.angles,
            sought,
            weights: ResidualWeights { kappa: file.kappa * steps as f64, angle_rad: file.encoder_rad },
            impulses: self.impulses()?,
            options: SolverOptions {
                iterations: solver.iterations,
                tolerance: solver.tolerance,
                significance: solver.significance,
                cautious: solver.cautious,
                ..SolverOptions::default()
            },
            notes: read.notes,
            form: file.form,
            consistent: solver.consistent,
            first_s: read.first_s,
            path: self.path.to_owned(),
            validation: vec![],
            sealed,
        })
    }

    fn impulses(&self) -> Result<OutsideImpulses, EstimateError> {
        match (self.file.form, self.file.impulses) {
            (EstimatorForm::Implicit, None | Some(ImpulsesFile::Hinges)) => Ok(OutsideImpulses::Hinges),
            (EstimatorForm::Implicit, Some(ImpulsesFile::Bodies)) => Ok(OutsideImpulses::Bodies),
            (_, None | Some(ImpulsesFile::Twice)) => Ok(OutsideImpulses::Twice),
            (form, Some(_)) => self.error("impulses", format!("the form `{}` needs `twice`", form.word())),
        }
    }

    /// Name and numbers of the mechanism.
    fn mechanism(&self) -> Result<(String, Mechanism), EstimateError> {
        let path = self.near(&self.file.mechanism);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| self.field("mechanism", format!("`{}` cannot be read: {e}", path.display())))?;
        let file: MechanismFile = from_text(&text).map_err(|e| field_error(&path, "TOML", e))?;
        if file.schema != SCHEMA {
            return Err(field_error(&path, "schema", format!("{}, expected {SCHEMA}", file.schema)));
        }
        let bodies = file.body.iter().map(|b| FreeBody {
            name: b.name.clone(),
            mass_kg: b.mass_kg,
            inertia_kg_m2: b.inertia_kg_m2,
        });
        let mut mechanism = Mechanism {
            bodies: bodies.collect(),
            joints: vec![],
            gravity_m_s2: Vector3::from(file.gravity_m_s2),
            tilt_rad: Vector3::from(file.tilt_rad),
        };
        for (i, body) in file.body.iter().enumerate() {
            if file.body[..i].iter().any(|other| other.name == body.name) {
                return Err(field_error(&path, &format!("body[{i}].name"), "is there twice".into()));
            }
        }
        for (j, joint) in file.joint.iter().enumerate() {
            let held = held(joint, &mechanism.bodies)
                .map_err(|(field, reason)| field_error(&path, &format!("joint[{j}].{field}"), reason))?;
            if mechanism.joints.iter().any(|other: &HeldJoint| other.name == held.name) {
                return Err(field_error(&path, &format!("joint[{j}].name"), "is there twice".into()));
            }
            mechanism.joints.push(held);
        }
        mechanism
            .check_moments()
            .and_then(|()| mechanism.check_at_rest())
            .map_err(|e| EstimateError::Recording { reason: format!("{}: {e}", path.display()) })?;
        Ok((file.name, mechanism))
    }

    fn field(&self, field: &str, reason: String) -> EstimateError {
        field_error(self.path, field, reason)
    }

    /// The parameter that a table names.
    fn parameter(
        &self,
        mechanism: &Mechanism,
        field: &str,
        (of, quantity): (&Option<String>, MechanismQuantity),
    ) -> Result<MechanismParameter, EstimateError> {
        use MechanismParameter as P;
        use MechanismQuantity as Q;
        let name = of.as_deref().unwrap_or("");
        let known = |names: Vec<&str>| {
            let known = names.join(", ");
            Err(self.field(&format!("{field}.of"), format!("`{name}`, expected one of {known}")))
        };
        let body = || match mechanism.bodies.iter().position(|b| b.name == name) {
            Some(b) => Ok(b),
            None => known(mechanism.bodies.iter().map(|b| b.name.as_str()).collect()),
        };
        let joint = || match mechanism.joints.iter().position(|j| j.name == name) {
            Some(j) => Ok(j),
            None => known(mechanism.joints.iter().map(|j| j.name.as_str()).collect()),
        };
        let found = match quantity {
            Q::Mass => P::Mass(body()?),
            Q::InertiaXx => P::Inertia(body()?, 0),
            Q::InertiaYy => P::Inertia(body()?, 1),
            Q::InertiaZz => P::Inertia(body()?, 2),
            Q::Viscous => P::Viscous(joint()?),
            Q::Dry => P::Kinetic(joint()?),
            Q::Excess => P::Excess(joint()?),
            Q::Rate => P::Rate(joint()?),
            Q::Gain => P::Gain(joint()?),
            Q::Shaft => P::Shaft(joint()?),
            Q::TiltX | Q::TiltY | Q::TiltZ if of.is_some() => {
                return self.error(&format!("{field}.of"), "the tilt is the stand's, expected none".into());
            }
            Q::TiltX => P::Tilt(0),
            Q::TiltY => P::Tilt(1),
            Q::TiltZ => P::Tilt(2),
        };
        if found.exists(mechanism) {
            return Ok(found);
        }
        let reason = format!("`{name}` has no friction or motor of that kind in the mechanism's file");
        self.error(&format!("{field}.quantity"), reason)
    }

    fn sought(&self, mechanism: &Mechanism) -> Result<Vec<SoughtParameter>, EstimateError> {
        let one = |(i, s): (usize, &SoughtFile)| {
            let field = format!("parameter[{i}]");
            let parameter = self.parameter(mechanism, &field, (&s.of, s.quantity))?;
            let start = s.start.unwrap_or_else(|| parameter.get(mechanism));
            let usual = SoughtParameter::new(parameter, start);
            let sought = SoughtParameter {
                scale: s.scale.unwrap_or(usual.scale),
                lower: s.lower.unwrap_or(usual.lower),
                upper: s.upper.unwrap_or(usual.upper),
                prior: s.prior,
                ..usual
            };
            Ok(sought)
        };
        self.file.parameter.iter().enumerate().map(one).collect()
    }

    /// How the recording is made.
    fn plan(&self, s: &SimulateMechanism, step_s: f64) -> Result<MechanismPlan, EstimateError> {
        let count = (s.duration_s / step_s).round() + 1.0;
        if !(3.0..=LONGEST).contains(&count) {
            let reason =
                format!("{} s in steps of {step_s} s, expected three to a million readings", s.duration_s);
            return self.error("simulate.duration_s", reason);
        }
        for (field, value) in [("plant_step_s", s.plant_step_s), ("noise_rad", s.noise_rad + 1.0)] {
            if !(value > 0.0 && value.is_finite()) || field == "noise_rad" && s.noise_rad < 0.0 {
                return self.error(&format!("simulate.{field}"), "expected a positive number".into());
            }
        }
        Ok(MechanismPlan {
            plant: s.plant,
            plant_step_s: s.plant_step_s,
            step_s,
            samples: count as usize,
            start_rad: s.start_rad.clone(),
            excitation: s.excitation,
            hold_s: s.hold_s.unwrap_or(self.file.step_s),
            counts: s.counts.filter(|c| *c > 0),
            noise_rad: s.noise_rad,
            seed: s.seed,
        })
    }

    /// The recording of the true mechanism.
    fn simulate(
        &self,
        mut truth: Mechanism,
        s: &SimulateMechanism,
        sought: &[SoughtParameter],
        step_s: f64,
    ) -> Result<(ReadLog, Sealed), EstimateError> {
        for (i, t) in self.file.truth.iter().enumerate() {
            let field = format!("truth[{i}]");
            if !t.value.is_finite() {
                return self.error(&format!("{field}.value"), format!("{}, expected a number", t.value));
            }
            self.parameter(&truth, &field, (&t.of, t.quantity))?.set(&mut truth, t.value);
        }
        truth.check_moments().map_err(|e| self.field("truth", e.to_string()))?;
        if s.plant == MechanismPlant::Discrete {
            soften(&mut truth, Some(s.plant_compliance), s.plant_relaxation_s);
        }
        let plan = self.plan(s, step_s)?;
        let parameters: Vec<MechanismParameter> = sought.iter().map(|s| s.parameter).collect();
        let MechanismRecording { log, sealed } =
            record_mechanism(truth, &parameters, &plan).map_err(|e| self.field("simulate", e.to_string()))?;
        Ok((ReadLog { angles: log.angles.clone(), log, first_s: 0.0, notes: vec![] }, sealed))
    }
}

/// Compliance and relaxation time of all rows.
fn soften(mechanism: &mut Mechanism, compliance: Option<f64>, relaxation_s: Option<f64>) {
    for joint in &mut mechanism.joints {
        if let Some(compliance) = compliance {
            (joint.compliance_m_n, joint.compliance_rad_nm) = (compliance, compliance);
        }
        if let Some(relaxation_s) = relaxation_s {
            joint.relaxation_s = relaxation_s;
        }
    }
}

/// A joint of the file; or the field and what is wrong with it.
fn held(file: &JointFile, bodies: &[FreeBody]) -> Result<HeldJoint, (&'static str, String)> {
    let body = |field: &'static str, name: &str| {
        bodies.iter().position(|b| b.name == name).ok_or_else(|| {
            let known: Vec<&str> = bodies.iter().map(|b| b.name.as_str()).collect();
            (field, format!("no body `{name}`, expected one of {}", known.join(", ")))
        })
    };
    let dry = file.dry.as_ref().map(|d| DryFriction {
        kinetic: d.kinetic,
        excess: d.excess,
        rate: d.rate,
        radius_m: d.radius_m,
        creep: d.creep,
    });
    let motor = file.motor.as_ref().map(|m| HingeMotor { gain: m.gain, shaft_kg_m2: m.shaft_kg_m2 });
    let kind = match file.kind {
        JointFileKind::Hinge => HeldJointKind::Hinge { viscous: file.viscous, dry, motor },
        JointFileKind::Point if dry.is_some() || motor.is_some() || file.viscous != 0.0 => {
            return Err(("kind", "a point has neither friction nor motor, expected a `hinge`".into()));
        }
        JointFileKind::Point => HeldJointKind::Point,
    };
    Ok(HeldJoint {
        name: file.name.clone(),
        parent: file.parent.as_deref().map(|name| body("parent", name)).transpose()?,
        child: body("child", &file.child)?,
        parent_frame: frame("on_parent", &file.on_parent)?,
        child_frame: frame("on_child", &file.on_child)?,
        kind,
        compliance_m_n: file.compliance_m_n,
        compliance_rad_nm: file.compliance_rad_nm,
        relaxation_s: file.relaxation_s,
    })
}

fn frame(field: &'static str, file: &FrameFile) -> Result<Attachment, (&'static str, String)> {
    let (x, y) = (Vector3::from(file.x), Vector3::from(file.y));
    let (long, wide) = (x.norm(), y.norm());
    if !(long > 0.0 && wide > 0.0 && (x.dot(&y) / (long * wide)).abs() <= SQUARE) {
        let reason = format!("axes x = {:?} and y = {:?}, expected two at a right angle", file.x, file.y);
        return Err((field, reason));
    }
    let x = x / long;
    let y = (y - x * x.dot(&y)).normalize();
    let turn = Rotation3::from_matrix_unchecked(nalgebra::Matrix3::from_columns(&[x, y, x.cross(&y)]));
    Ok(Attachment {
        point_m: Vector3::from(file.point_m),
        rotation: UnitQuaternion::from_rotation_matrix(&turn),
    })
}
