//! Exceptions: one family, so that `except surelift.SureliftError` catches all that the library says no to.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use surelift::job::JobError;

create_exception!(surelift, SureliftError, PyException, "Everything that surelift says no to.");
create_exception!(
    surelift,
    InputError,
    SureliftError,
    "What was given makes no sense; nothing has happened. The message names what, and what was expected."
);
create_exception!(
    surelift,
    NotProvenError,
    SureliftError,
    "What was asked for could not be proven, so it was not done. The message names the constraint that fails."
);
create_exception!(
    surelift,
    BrokenError,
    SureliftError,
    "An assumption does not hold: nothing that was proven counts any more. An arm that moved was stopped."
);
create_exception!(surelift, StoppedError, SureliftError, "Somebody asked for the end. The arm rests.");

/// Adds them to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SureliftError", py.get_type::<SureliftError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("NotProvenError", py.get_type::<NotProvenError>())?;
    module.add("BrokenError", py.get_type::<BrokenError>())?;
    module.add("StoppedError", py.get_type::<StoppedError>())
}

/// Something that was given makes no sense.
pub fn input(reason: impl Display) -> PyErr {
    InputError::new_err(reason.to_string())
}

/// Something could not be proven.
pub fn not_proven(reason: impl Display) -> PyErr {
    NotProvenError::new_err(reason.to_string())
}

/// An assumption is broken.
pub fn broken(reason: impl Display) -> PyErr {
    BrokenError::new_err(reason.to_string())
}

/// The exception for what a job says.
pub fn of_job(error: &JobError) -> PyErr {
    match error {
        JobError::Broken(_) => broken(error),
        JobError::NotProven(_) => not_proven(error),
        JobError::Stopped(_) => StoppedError::new_err(error.to_string()),
        // Something that was given, or a call out of order.
        _ => input(error),
    }
}
