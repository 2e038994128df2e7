//! Studies of recordings in files.

use std::path::PathBuf;

use pyo3::prelude::*;
use surelift::identify::Unknown;
use surelift::recording::{AngleUnit, LogError, MeasurementLog};
use surelift::regression::filter::Smoothing;
use surelift::robot::Prior;
use surelift::study::identification::{Delay, IdentificationStudy, StudyOptions, WINDOWS_S, window_by_noise};

use crate::arm::Arm;
use crate::arrays::{Given, vector};
use crate::errors;
use crate::run::to_python;

/// Bounds that the set is for where the stated ones are refuted: this many times what a part of the data needs, as in the program.
const MARGIN: f64 = 2.0;

fn named(unknown: &str) -> PyResult<Unknown> {
    match unknown {
        "friction" => Ok(Unknown::Friction),
        "payload" => Ok(Unknown::Payload),
        "all" => Ok(Unknown::All),
        other => {
            Err(errors::input(format!("unknown: '{other}', expected \"friction\", \"payload\" or \"all\"")))
        }
    }
}

/// One finite number >= 0 a joint.
fn bounds(what: &str, given: &Given<'_>, joints: usize) -> PyResult<Vec<f64>> {
    let bounds = vector(what, given, joints)?;
    match bounds.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        Some(bad) => Err(errors::input(format!("{what}: {bad}, expected finite numbers >= 0"))),
        None => Ok(bounds),
    }
}

/// Learns from recordings; see `surelift.identify`.
#[pyfunction]
#[pyo3(signature = (arm, logs, unknown="friction", prior=None, validate=None, degrees=false, acceleration=None, torque_abs_nm=None,
    window_s=None))]
pub fn identify(
    py: Python<'_>,
    arm: &Arm,
    logs: Vec<PathBuf>,
    unknown: &str,
    prior: Option<PathBuf>,
    validate: Option<PathBuf>,
    degrees: bool,
    acceleration: Option<Given<'_>>,
    torque_abs_nm: Option<Given<'_>>,
    window_s: Option<f64>,
) -> PyResult<Py<PyAny>> {
    let (robot, unknown) = (arm.inner.clone(), named(unknown)?);
    let joints = robot.dof();
    if let Some(window) = window_s.filter(|window| !(window.is_finite() && *window > 0.0)) {
        return Err(errors::input(format!("window_s: {window}, expected a finite number > 0")));
    }
    if logs.is_empty() {
        return Err(errors::input("logs: none, expected at least one file"));
    }
    let usual = unknown.default_prior(&robot);
    let (stated, prior) = match &prior {
        Some(path) => Prior::read(path, usual, &robot).map_err(errors::input)?,
        None => (Prior::default(), usual),
    };
    if stated.lower.is_none() && unknown != Unknown::Friction {
        let expected = "expected the file of a `prior` with `lower` and `upper`, or `[payload]`";
        return Err(errors::input(format!(
            "unknown: a payload is bounded from what was known before; {expected}"
        )));
    }
    let mut options = StudyOptions {
        unknown,
        method: None,
        smoothing: Smoothing::default(),
        window_s: window_s.unwrap_or(WINDOWS_S[0]),
        acceleration: acceleration.map(|given| bounds("acceleration", &given, joints)).transpose()?,
        torque_abs_nm: match torque_abs_nm {
            Some(given) => bounds("torque_abs_nm", &given, joints)?,
            None => vec![0.0; joints],
        },
        delay: Delay::Automatic,
        frame: stated.frame.clone(),
        margin: MARGIN,
    };
    let unit = if degrees { AngleUnit::Degrees } else { AngleUnit::Radians };
    let found = py.detach(|| {
        let read = |path: &PathBuf| MeasurementLog::read(path, &robot, unit);
        let logs = logs.iter().map(read).collect::<Result<Vec<_>, LogError>>().map_err(|e| e.to_string())?;
        let validation = validate.as_ref().map(read).transpose().map_err(|e| e.to_string())?;
        if window_s.is_none() {
            options.window_s = window_by_noise(robot.model(), &logs);
        }
        let period = logs.iter().map(|log| log.period_s).fold(f64::INFINITY, f64::min);
        options.smoothing = Smoothing::usual(period);
        let (logs, validation) = (&logs, validation.as_ref());
        let study = IdentificationStudy { robot: &robot, prior: &prior, logs, validation, options: &options };
        study.run().map_err(|error| error.to_string())
    });
    to_python(py, &found.map_err(errors::input)?)
}
