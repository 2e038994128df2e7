//! Whole runs and estimates, from their files.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Serialize;
use surelift::horizon::RunOptions;
use surelift::scenario::{self, Scenario};
use surelift::study::estimation::EstimationStudy;

use crate::arrays::Whole;
use crate::errors::{self, border};
use crate::progress::{Progress, Raised, watched};

/// Anything with a form in files, as Python's dictionaries, lists and numbers.
pub fn to_python(py: Python<'_>, value: &impl Serialize) -> PyResult<Py<PyAny>> {
    let text = serde_json::to_string(value).map_err(errors::input)?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}

/// Runs a scenario's file in simulation. Gives what `summary.json` holds, in SI units (`docs/reference/summary.md`).
///
/// `method` is "ours" or "conservative"; `seed` draws truth and noise; `timed`: plans must be ready in time on the clock. `progress`, if given, is told what happens, in words. If it
/// raises, or Ctrl-C is heard, the arm is brought to rest at the end of its plan, and the exception is raised.
#[pyfunction]
#[pyo3(signature = (scenario, method="ours", seed=Whole::ZERO, timed=false, progress=None),
    text_signature = "(scenario, method='ours', seed=0, timed=False, progress=None)")]
pub fn run(
    py: Python<'_>,
    scenario: PathBuf,
    method: &str,
    seed: Whole,
    timed: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let options = RunOptions { method: method.to_owned(), seed: seed.get("seed")?, timed };
    let raised = Raised::default();
    let mut watch = Progress::new(progress, raised.clone());
    let summary = border(|| {
        py.detach(|| {
            let scenario = Scenario::load(scenario).map_err(errors::input)?;
            let record = scenario::run(scenario, &options, &mut watch);
            record.map(|record| record.summary).map_err(errors::input)
        })
    });
    match raised.take() {
        Some(raised) => Err(raised),
        None => to_python(py, &summary?),
    }
}

/// Solves an estimation problem's file: the most probable states and parameters, with deviations, in SI units (`docs/howto/estimate.md`). Gives what the program writes as JSON.
///
/// `validate` is a recording that is predicted, not learnt from. `progress`, if given, is told in words when the files are read and when the estimate stands;
/// an exception of it, and Ctrl-C, end the call then. Iterations are not told.
#[pyfunction]
#[pyo3(signature = (problem, validate=None, progress=None))]
pub fn estimate(
    py: Python<'_>,
    problem: PathBuf,
    validate: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let result = watched(py, progress, |steps| {
        let mut study = EstimationStudy::load(&problem).map_err(errors::input)?;
        if let Some(path) = &validate {
            study = study.validated_on(path).map_err(errors::input)?;
        }
        steps.tell("read");
        study.run().map_err(errors::input)
    });
    to_python(py, &result?)
}
