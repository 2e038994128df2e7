//! Progress on the terminal: a live bar where there is one, a plain line an event elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::horizon::{Event, Observer, Outcome};
use crate::report::figure::{above, below, percent};

/// Shows a run on the standard error.
pub enum TerminalObserver {
    /// A live bar, with what should stay printed above it.
    Live(LiveObserver),
    /// A plain line an event.
    Plain(PlainObserver<io::Stderr>),
}

impl TerminalObserver {
    /// A live bar if the standard error is a terminal, plain lines otherwise.
    pub fn new() -> Self {
        if io::stderr().is_terminal() {
            TerminalObserver::Live(LiveObserver::new())
        } else {
            TerminalObserver::Plain(PlainObserver::new(io::stderr()))
        }
    }
}

impl Default for TerminalObserver {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for TerminalObserver {
    fn event(&mut self, event: &Event) {
        match self {
            TerminalObserver::Live(live) => live.event(event),
            TerminalObserver::Plain(plain) => plain.event(event),
        }
    }
}

/// Writes a line an event. Of the many reports on one execution, only the first is written.
pub struct PlainObserver<W> {
    sink: W,
    executing_until: Option<f64>,
}

impl<W: Write> PlainObserver<W> {
    /// Writes to `sink`; a sink that fails is ignored, because a run must not end for want of a listener.
    pub fn new(sink: W) -> Self {
        Self { sink, executing_until: None }
    }
}

impl<W: Write> Observer for PlainObserver<W> {
    fn event(&mut self, event: &Event) {
        if let Event::Executing { t_end, .. } = event
            && self.executing_until.replace(*t_end) == Some(*t_end)
        {
            return;
        }
        let _ = writeln!(self.sink, "{event}");
    }
}

/// A live bar: the motion under way, the tube in use, the plan being made, the mass.
pub struct LiveObserver {
    bar: ProgressBar,
    /// First proven interval of the mass, kg: the frame in which later ones are drawn.
    first_mass: Option<(f64, f64)>,
    mass: String,
    planning: String,
    /// Start and end of what is being executed, s.
    span: (f64, f64),
}

impl LiveObserver {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{spinner} {prefix:6} {bar:12} {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("━╸─"));
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, first_mass: None, mass: String::new(), planning: String::new(), span: (0.0, 0.0) }
    }

    fn executing(&mut self, t: f64, t_end: f64, ratio: f64) {
        if t_end != self.span.1 {
            self.span = (t, t_end);
        }
        let milliseconds = |from: f64, to: f64| (1e3 * (to - from)).max(0.0) as u64;
        self.bar.set_length(milliseconds(self.span.0, t_end));
        self.bar.set_position(milliseconds(self.span.0, t));
        let tube = percent(Some(ratio));
        self.bar.set_message(format!("{t:.2} s{} · tube {tube}{}", self.mass, self.planning));
    }
}

impl Observer for LiveObserver {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Executing { t, t_end, phase, tracking_ratio } => {
                self.bar.set_prefix(phase.to_string());
                self.executing(*t, *t_end, *tracking_ratio);
            }
            Event::PlanProposed { index, propose_ms, .. } => {
                self.planning = format!(" · plan {index} proposed in {propose_ms:.0} ms");
            }
            Event::PlanCertified { index, propose_ms, certify_ms, .. } => {
                self.planning = format!(" · plan {index}: {propose_ms:.0} + {certify_ms:.0} ms");
                self.bar.println(format!("  {event}"));
            }
            Event::Identified { mass_lower, mass_upper, .. } => {
                let now = (*mass_lower, *mass_upper);
                let first = *self.first_mass.get_or_insert(now);
                self.mass = format!(" · {} – {} kg", below(now.0), above(now.1));
                self.bar.println(format!("  {} {event}", mass_bar(first, now, 24)));
            }
            Event::Stopped { outcome, .. } => {
                self.bar.finish_and_clear();
                // The closing table says it all when everything went well.
                if *outcome != Outcome::Success {
                    self.bar.println(format!("  {event}"));
                }
            }
            _ => self.bar.println(format!("  {event}")),
        }
    }
}

/// The interval `now` drawn within the interval `first`, in `width` characters; never thinner than one.
fn mass_bar(first: (f64, f64), now: (f64, f64), width: usize) -> String {
    let place = |x: f64| (width as f64 * (x - first.0) / (first.1 - first.0)).clamp(0.0, width as f64);
    // A float too large or NaN saturates in `as`, so the bar is only ever empty, never out of range.
    let (from, to) = (place(now.0).floor() as usize, place(now.1).ceil() as usize);
    let filled = |i: usize| i >= from.min(width - 1) && i < to.max(from + 1);
    let cells: String = (0..width).map(|i| if filled(i) { '█' } else { '·' }).collect();
    format!("│{cells}│")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::horizon::TaskPhase;

    #[test]
    fn plain_lines_tell_of_each_execution_once() {
        let mut observer = PlainObserver::new(Vec::new());
        for (t, t_end) in [(0.0, 1.5), (0.5, 1.5), (1.5, 3.0)] {
            observer.event(&Event::Executing { t, t_end, phase: TaskPhase::Excite, tracking_ratio: 0.1 });
        }
        observer.event(&Event::Stopped { outcome: Outcome::SafeStop, reason: Some("no plan".into()) });
        let text = String::from_utf8(observer.sink).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.ends_with("Safe stop: no plan\n"), "{text}");
    }

    #[test]
    fn the_mass_bar_shrinks_and_survives_any_numbers() {
        assert_eq!(mass_bar((0.0, 8.0), (0.0, 8.0), 8), "│████████│");
        assert_eq!(mass_bar((0.0, 8.0), (2.0, 4.0), 8), "│··██····│");
        for now in [(f64::NAN, f64::NAN), (-1e300, 1e300), (8.0, 8.0), (f64::INFINITY, f64::NEG_INFINITY)] {
            assert_eq!(mass_bar((0.0, 8.0), now, 8).chars().count(), 10);
            assert_eq!(mass_bar((1.0, 1.0), now, 8).chars().count(), 10);
        }
    }
}
