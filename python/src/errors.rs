//! Exceptions: one family, so that `except surelift.SureliftError` catches all that the library says no to. No panic becomes one of another family.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, TryLockError};

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
create_exception!(
    surelift,
    BusyError,
    SureliftError,
    "The object is at work in another call, or belongs to another thread. Nothing has happened."
);
create_exception!(
    surelift,
    FaultError,
    SureliftError,
    "A fault of the library: please report it. The object that was called is not to be used any more."
);

/// Adds them to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SureliftError", py.get_type::<SureliftError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("NotProvenError", py.get_type::<NotProvenError>())?;
    module.add("BrokenError", py.get_type::<BrokenError>())?;
    module.add("StoppedError", py.get_type::<StoppedError>())?;
    module.add("BusyError", py.get_type::<BusyError>())?;
    module.add("FaultError", py.get_type::<FaultError>())
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

/// Something is at work elsewhere.
pub fn busy(reason: impl Display) -> PyErr {
    BusyError::new_err(reason.to_string())
}

/// Something was left half done by a panic.
pub fn left_half_done(what: &str) -> PyErr {
    FaultError::new_err(format!("{what}: a fault of the library ended an earlier call; make a new one"))
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

/// An exception that ends work of the library which has no other end: see [`end`].
struct Ended(PyErr);

/// Ends the work under way in [`border`], which raises `error`. For work alone that leaves nothing behind.
pub fn end(error: PyErr) -> ! {
    resume_unwind(Box::new(Ended(error)))
}

/// Does `work`; a panic in it ends here, as a `FaultError`.
pub fn border<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(of_panic(payload)))
}

fn of_panic(payload: Box<dyn Any + Send>) -> PyErr {
    let payload = match payload.downcast::<Ended>() {
        Ok(ended) => return ended.0,
        Err(payload) => payload,
    };
    let words = payload.downcast_ref::<&str>().copied();
    let words = words.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let words = words.unwrap_or("no reason given").to_owned();
    // Its own drop might panic.
    std::mem::forget(payload);
    FaultError::new_err(format!("a fault of the library, please report it: {words}"))
}

/// Something that one call at a time may use; a second one is refused, as it might wait for itself.
pub fn alone<'a, T>(what: &str, mutex: &'a Mutex<T>) -> PyResult<MutexGuard<'a, T>> {
    mutex.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => busy(format!("{what}: at work in another call, expected one at a time")),
        TryLockError::Poisoned(_) => left_half_done(what),
    })
}

/// Panics, so that tests see what becomes of it.
#[pyfunction]
pub fn _panic(words: String) -> PyResult<()> {
    border(|| panic!("{words}"))
}
