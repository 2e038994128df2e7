//! Studies of recordings in files.

use std::path::PathBuf;

use pyo3::prelude::*;
use surelift::identify::Unknown;
use surelift::recording::{AngleUnit, MeasurementLog};
use surelift::regression::filter::Smoothing;
use surelift::robot::Prior;
use surelift::study::identification::{Delay, IdentificationStudy, StudyOptions, WINDOWS_S, window_by_noise};

use crate::arm::Arm;
use crate::arrays::{Given, vector};
use crate::errors;
use crate::progress::watched;
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

/// Learns from recordings in files (CSV or MCAP; `docs/tutorial/own_logs.md`), as `surelift identify` does.
///
/// `unknown` is "friction", "payload" or "all"; the last two need the file of a `prior`. `validate` is a recording that is predicted, not learnt from. `degrees`: angles in the
/// files are in degrees, not rad. `acceleration`, (n,), rad/s^2, bounds the joints' accelerations (1.5 times the largest seen unless stated); `torque_abs_nm`, (n,), N m, is added to
/// the arm's own bounds; `window_s`, s, is the length of a window of measurements (chosen by the noise unless stated).
///
/// Gives what `summary.json` holds: `verdict["kind"]` is "consistent" where the stated bounds explain the data, and only then is `parameters[i]["set"]` guaranteed. `InputError` names
/// file, line and column of what cannot be used. `progress`, if given, is told what happens, in words; an exception of it, and Ctrl-C, end the call at the next of these.
#[pyfunction]
#[pyo3(signature = (arm, logs, unknown="friction", prior=None, validate=None, degrees=false, acceleration=None, torque_abs_nm=None,
    window_s=None, progress=None))]
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
    progress: Option<Py<PyAny>>,
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
        stated: stated.stated.clone(),
        margin: MARGIN,
    };
    let unit = if degrees { AngleUnit::Degrees } else { AngleUnit::Radians };
    let found = watched(py, progress, |steps| {
        let read = |path: &PathBuf| {
            let log = MeasurementLog::read(path, &robot, unit).map_err(errors::input)?;
            steps.tell(&format!("read {}", path.display()));
            Ok(log)
        };
        let logs = logs.iter().map(read).collect::<PyResult<Vec<_>>>()?;
        let validation = validate.as_ref().map(read).transpose()?;
        if window_s.is_none() {
            options.window_s = window_by_noise(robot.model(), &logs);
            steps.tell(&format!("windows of {} s", options.window_s));
        }
        let period = logs.iter().map(|log| log.period_s).fold(f64::INFINITY, f64::min);
        options.smoothing = Smoothing::usual(period);
        let (logs, validation) = (&logs, validation.as_ref());
        let study = IdentificationStudy { robot: &robot, prior: &prior, logs, validation, options: &options };
        study.run().map_err(errors::input)
    });
    to_python(py, &found?)
}
