//! Whole runs and estimates, from their files.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Serialize;
use surelift::horizon::{Event, Observer, RunOptions};
use surelift::scenario::{self, Scenario};
use surelift::study::estimation::EstimationStudy;

use crate::errors;

/// Anything with a form in files, as Python's dictionaries, lists and numbers.
pub fn to_python(py: Python<'_>, value: &impl Serialize) -> PyResult<Py<PyAny>> {
    let text = serde_json::to_string(value).map_err(errors::input)?;
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}

/// Tells Python what happens. An exception of the callback, or Ctrl-C, ends the run with the arm at rest; it is raised then.
struct Progress {
    callback: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Observer for Progress {
    fn event(&mut self, event: &Event) {
        if self.raised.is_some() {
            return;
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.callback.as_ref().map_or(Ok(()), |f| f.call1(py, (event.to_string(),)).map(|_| ()))
        });
        self.raised = told.err();
    }

    fn asks_to_stop(&mut self) -> bool {
        if self.raised.is_none() {
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_some()
    }
}

/// Runs a scenario in simulation; see `surelift.run`.
#[pyfunction]
#[pyo3(signature = (scenario, method="ours", seed=0, timed=false, progress=None))]
pub fn run(
    py: Python<'_>,
    scenario: PathBuf,
    method: &str,
    seed: u64,
    timed: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let scenario = Scenario::load(scenario).map_err(errors::input)?;
    let options = RunOptions { method: method.to_owned(), seed, timed };
    let mut watch = Progress { callback: progress, raised: None };
    let (record, watch) = py.detach(move || {
        let record = scenario::run(scenario, &options, &mut watch);
        (record.map(|record| record.summary).map_err(|error| error.to_string()), watch)
    });
    match watch.raised {
        Some(raised) => Err(raised),
        None => to_python(py, &record.map_err(errors::input)?),
    }
}

/// Solves an estimation problem; see `surelift.estimate`.
#[pyfunction]
#[pyo3(signature = (problem, validate=None))]
pub fn estimate(py: Python<'_>, problem: PathBuf, validate: Option<PathBuf>) -> PyResult<Py<PyAny>> {
    let result = py.detach(|| {
        let mut study = EstimationStudy::load(&problem)?;
        if let Some(path) = &validate {
            study = study.validated_on(path)?;
        }
        study.run()
    });
    to_python(py, &result.map_err(errors::input)?)
}
