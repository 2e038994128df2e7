//! Who is told what happens, and who may end it: a callback, and Ctrl-C.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use surelift::horizon::{Event, Observer};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Level, Metadata, Subscriber};

use crate::errors;

/// The first exception of a callback, of a driver's method, or of Ctrl-C.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        self.lock().is_some()
    }

    /// Keeps an exception, unless there is one.
    pub fn keep(&self, error: PyErr) {
        self.lock().get_or_insert(error);
    }

    /// The exception, which is forgotten here.
    pub fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }

    /// Hears Ctrl-C. Python does so in its main thread alone.
    pub fn hear_signals(&self) {
        if !self.is_some()
            && let Err(error) = Python::attach(|py| py.check_signals())
        {
            self.keep(error);
        }
    }
}

/// Tells Python what happens. An exception of the callback, or Ctrl-C, asks for the end.
pub struct Progress {
    callback: Option<Py<PyAny>>,
    raised: Raised,
}

impl Progress {
    /// Whose exceptions are kept in `raised`.
    pub fn new(callback: Option<Py<PyAny>>, raised: Raised) -> Self {
        Self { callback, raised }
    }

    /// Tells it in words.
    fn tell(&self, words: &str) {
        if self.raised.is_some() {
            return;
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.callback.as_ref().map_or(Ok(()), |f| f.call1(py, (words,)).map(|_| ()))
        });
        if let Err(error) = told {
            self.raised.keep(error);
        }
    }
}

impl Observer for Progress {
    fn event(&mut self, event: &Event) {
        self.tell(&event.to_string());
    }

    fn asks_to_stop(&mut self) -> bool {
        self.raised.hear_signals();
        self.raised.is_some()
    }
}

/// What a study says of itself while it works ([`watched`]): the events of the library in the calling thread.
pub struct Steps(Progress);

impl Steps {
    /// Tells `words`; an exception of the callback, and Ctrl-C, end the work.
    pub fn tell(&self, words: &str) {
        self.0.tell(words);
        if let Some(error) = self.0.raised.take() {
            errors::end(error);
        }
    }
}

/// Does `work` without Python's lock and tells of its steps. It ends with an exception of the callback, or Ctrl-C; so `work` is something that leaves nothing behind.
pub fn watched<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Steps) -> PyResult<T> + Send,
) -> PyResult<T> {
    let steps = Arc::new(Steps(Progress::new(callback, Raised::default())));
    errors::border(|| {
        py.detach(|| {
            let dispatch = Dispatch::new(Listening(steps.clone()));
            tracing::dispatcher::with_default(&dispatch, || work(&steps))
        })
    })
}

/// Hears the library's events.
struct Listening(Arc<Steps>);

impl Subscriber for Listening {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::DEBUG && metadata.target().starts_with("surelift")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        self.0.tell(&format!("{}{}", words.message, words.fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event in words: what happened, then its numbers.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A string takes whatever is written.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => {
                let sep = if self.fields.is_empty() { ": " } else { ", " };
                write!(self.fields, "{sep}{name} {value:?}")
            }
        };
    }
}
