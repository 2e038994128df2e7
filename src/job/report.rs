//! What was done in a job.

use std::fmt;

use super::error::JobError;
use super::payload::PayloadBounds;
use crate::horizon::{Margins, Record, TickSummary};

/// One call of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStep {
    /// Which.
    pub what: &'static str,
    /// When it began and ended, s on the hardware's clock.
    pub from_s: f64,
    /// See `from_s`.
    pub to_s: f64,
    /// Plans that were proven meanwhile.
    pub proven: usize,
    /// Plans that were refused, or not found.
    pub refused: usize,
    /// Why it did not come to its end, if so.
    pub error: Option<JobError>,
}

/// All that was done in a job. Its `Display` is a table.
#[derive(Debug, Clone, PartialEq)]
pub struct JobReport {
    /// Name of the robot.
    pub robot: String,
    /// The calls, in order.
    pub steps: Vec<JobStep>,
    /// What was proven of each thing when it was let go of.
    pub payloads: Vec<PayloadBounds>,
    /// Smallest margins that were proven of any executed plan.
    pub margins: Margins,
    /// Time on the hardware's clock, s.
    pub duration_s: f64,
    /// How well the ticks kept time, once a job is over that time did not wait for.
    pub ticks: Option<TickSummary>,
}

/// What is written down while a job goes on. Its end is that of the job, and tells `tracing` so.
#[derive(Debug)]
pub(super) struct Steps {
    /// To which job it belongs.
    span: tracing::Span,
    steps: Vec<JobStep>,
    payloads: Vec<PayloadBounds>,
    margins: Margins,
}

/// Plans of a record: proven, and refused.
pub(super) fn plans(record: &Record) -> (usize, usize) {
    let proven = record.attempts.iter().filter(|plan| plan.certified).count();
    (proven, record.attempts.len() - proven)
}

/// The smaller of two margins, where there are any.
fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::min)
}

/// The smallest margins of a record's plans and of those before.
fn least(before: Margins, record: &Record) -> Margins {
    record.plans.iter().map(|plan| Margins::from(&plan.certificate)).fold(before, |least, own| Margins {
        position: smaller(least.position, own.position),
        velocity: smaller(least.velocity, own.velocity),
        torque: smaller(least.torque, own.torque),
        collision: smaller(least.collision, own.collision),
    })
}

impl Steps {
    /// Of a job that begins.
    pub(super) fn new(span: tracing::Span) -> Self {
        Self { span, steps: Vec::new(), payloads: Vec::new(), margins: Margins::default() }
    }

    /// A call is over; `counts` are those of plans at its beginning and end. Where the record is a new one by then, nothing was planned.
    pub(super) fn note(
        &mut self,
        what: &'static str,
        (from_s, to_s): (f64, f64),
        (before, now): ((usize, usize), (usize, usize)),
        error: Option<&JobError>,
    ) {
        let (proven, refused) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
        self.steps.push(JobStep { what, from_s, to_s, proven, refused, error: error.cloned() });
    }

    /// A record is complete.
    pub(super) fn absorb(&mut self, record: &Record) {
        self.margins = least(self.margins, record);
    }

    /// Something was let go of.
    pub(super) fn learnt(&mut self, payload: PayloadBounds) {
        self.payloads.push(payload);
    }

    /// The report, with what the present record adds.
    pub(super) fn report(&self, robot: &str, present: &Record, duration_s: f64) -> JobReport {
        JobReport {
            robot: robot.to_owned(),
            steps: self.steps.clone(),
            payloads: self.payloads.clone(),
            margins: least(self.margins, present),
            duration_s,
            ticks: None,
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        let failed = self.steps.iter().filter(|step| step.error.is_some()).count();
        let t = self.steps.last().map_or(0.0, |step| step.to_s);
        self.span.in_scope(|| tracing::info!(steps = self.steps.len(), failed, t, "job ended"));
    }
}

impl fmt::Display for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {:.1} s", self.robot, self.duration_s)?;
        for step in &self.steps {
            write!(f, "  {:8.1} s  {:<9}", step.from_s, step.what)?;
            if step.proven + step.refused > 0 {
                write!(f, " {} of {} plans proven", step.proven, step.proven + step.refused)?;
            }
            match &step.error {
                Some(error) => writeln!(f, "  {error}")?,
                None => writeln!(f)?,
            }
        }
        for payload in &self.payloads {
            writeln!(f, "  {payload}")?;
        }
        for (name, margin, unit) in self.margins.entries() {
            if let Some(margin) = margin {
                writeln!(f, "  smallest proven margin, {name:<9} {margin:.4} {unit}")?;
            }
        }
        if let Some(TickSummary { ticks, overruns, late_most_us, latest_us, .. }) = self.ticks {
            let late = format!("late by {late_most_us:.0} us in 99.9 %, {latest_us:.0} us at most");
            writeln!(f, "  {ticks} ticks, {overruns} overrun, {late}")?;
        }
        Ok(())
    }
}
