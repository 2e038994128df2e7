//! What the program says on the standard error beside progress: events of the inside, warnings, and why it fails; in words or as JSON.

use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use super::Failure;

/// Form of what is said on the standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum EventFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line, and nothing else: what happened, with its figures
    Json,
}

/// Whether all that is said is JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// Listens to events from now on.
pub(super) fn start(format: EventFormat) {
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let told = tracing_subscriber::registry();
    let json = format == EventFormat::Json;
    let (targets, fault) = targets(if json { LevelFilter::INFO } else { LevelFilter::ERROR });
    if json {
        JSON.store(true, Ordering::Relaxed);
        let lines = layer.json().flatten_event(true).with_span_list(true);
        told.with(lines.with_filter(targets)).init();
        std::panic::set_hook(Box::new(tell_panic));
    } else {
        told.with(layer.with_ansi(io::stderr().is_terminal()).with_filter(targets)).init();
    }
    if cfg!(panic = "abort") {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            tell(info);
            leave_after_panic();
        }));
    }
    fault.iter().for_each(|fault| warn(fault));
}

/// What [`super::main`] does after a panic, for a build that cannot unwind: nobody could catch it there.
fn leave_after_panic() -> ! {
    let failure = Failure::panicked();
    fail(&failure);
    std::process::exit(failure.code().into());
}

fn tell_panic(info: &PanicHookInfo<'_>) {
    let at = info.location().map(ToString::to_string);
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let reason = text.or(payload.downcast_ref::<String>().map(String::as_str));
    tracing::error!(at, reason, "panicked");
}

/// Whether progress for people is out of place.
pub(super) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// What is told of the inside: errors, and events of this library from `own` on, or in their place what `RUST_LOG` asks for; and why that is passed
/// over, if it is.
fn targets(own: LevelFilter) -> (Targets, Option<String>) {
    let asked = std::env::var("RUST_LOG").unwrap_or_default();
    let usual = Targets::new().with_default(LevelFilter::ERROR).with_target("surelift", own);
    match asked.parse() {
        _ if asked.is_empty() => (usual, None),
        Ok(targets) => (targets, None),
        Err(error) => (usual, Some(format!("RUST_LOG={asked} is passed over: {error}"))),
    }
}

/// A warning.
pub(super) fn warn(text: &str) {
    if is_json() {
        tracing::warn!("{text}");
    } else {
        let _ = writeln!(io::stderr(), "warning: {text}");
    }
}

/// A word to whoever waits.
pub(super) fn note(text: &str) {
    if is_json() {
        tracing::info!("{text}");
    } else {
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// Why the program ends without having done what it was asked.
pub(super) fn fail(failure: &Failure) {
    if is_json() {
        let (Failure::Input(reason) | Failure::Internal(reason)) = failure;
        tracing::error!(code = failure.code(), "{reason}");
    } else {
        let _ = writeln!(io::stderr(), "{failure}");
    }
}
