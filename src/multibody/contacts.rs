//! Which constraints hold when: contacts and closed loops over the samples of a log, and the stages that follow.

use crate::dynamics::constraint::{ConstrainedDynamics, Constraint, Redundancy, RowAxes};
use crate::estimate::error::EstimateError;
use crate::robot::{LoopKind, Model};

/// Constraints of a log, and the phases in which they are active.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Contacts {
    /// All constraints that occur.
    pub constraints: Vec<Constraint>,
    /// The phases, in order; the first begins with sample 0.
    pub phases: Vec<ContactPhase>,
    /// Compliance of the rows (m/s^2/N, see [`Redundancy::Yield`]), or 0 for rigid ones. Rows that depend on each other
    /// need it in the forward form.
    pub compliance: f64,
}

/// A phase of contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactPhase {
    /// Sample at which it begins.
    pub from: usize,
    /// Which constraints are active.
    pub active: Vec<bool>,
}

/// What a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An impact: velocities jump into what the constraints of the new phase allow; no time passes.
    Reset,
    /// One sampling interval.
    Step,
    /// A gap of the log: what follows begins anywhere, x' = measured (+) u, with u free.
    Gap,
    /// The end.
    Last,
}

/// A stage: what happens from which sample on, in which phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stage {
    pub kind: Kind,
    pub sample: usize,
    pub phase: usize,
    /// The first stage of its sample: it carries the measurements.
    pub observed: bool,
}

/// A checked schedule.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    pub contacts: Contacts,
    /// Rows (among those of all constraints) that are active, by phase.
    pub rows: Vec<Vec<usize>>,
    pub stages: Vec<Stage>,
    /// Rows of the loops of points that are closed from the beginning, in axes of the base (of planar ones in those of their
    /// plane, where gradients are exact up to the product of gap and turn).
    pub closures: Vec<usize>,
}

impl Schedule {
    /// No constraint at any time; a gap behind each sample where `gap` says so.
    pub fn free(samples: usize, gap: impl Fn(usize) -> bool) -> Self {
        let contacts =
            Contacts { phases: vec![ContactPhase { from: 0, active: Vec::new() }], ..Contacts::default() };
        let mut stages = stages(&contacts, samples);
        stages.iter_mut().filter(|s| s.kind == Kind::Step && gap(s.sample)).for_each(|s| s.kind = Kind::Gap);
        Self { stages, rows: vec![Vec::new()], closures: Vec::new(), contacts }
    }

    /// The same constraints over fewer samples; `contacts` are those of this schedule with later phases left out.
    pub fn shortened(&self, contacts: Contacts, samples: usize) -> Self {
        let rows = self.rows[..contacts.phases.len()].to_vec();
        let gaps: Vec<usize> = self.stages.iter().filter(|s| s.kind == Kind::Gap).map(|s| s.sample).collect();
        let mut stages = stages(&contacts, samples);
        for stage in stages.iter_mut().filter(|s| s.kind == Kind::Step && gaps.contains(&s.sample)) {
            stage.kind = Kind::Gap;
        }
        Self { stages, rows, closures: self.closures.clone(), contacts }
    }

    /// The schedule over a log of `samples`.
    ///
    /// # Errors
    /// When phases are out of order, beyond the log or speak of another number of constraints, or a constraint makes no
    /// sense.
    pub fn new(robot: &Model, contacts: Contacts, samples: usize) -> Result<Self, EstimateError> {
        let wrong = |reason: String| EstimateError::Schedule { reason };
        let count = contacts.constraints.len();
        if contacts.phases.first().is_none_or(|p| p.from != 0) {
            return Err(wrong("the first phase does not begin with sample 0".into()));
        }
        for (i, phase) in contacts.phases.iter().enumerate() {
            if phase.active.len() != count {
                let found = phase.active.len();
                return Err(wrong(format!("phase {i} speaks of {found} constraints, expected {count}")));
            }
            if phase.from + 1 >= samples {
                let from = phase.from;
                return Err(wrong(format!(
                    "phase {i} begins at sample {from}, expected one before the last of the log's {samples}"
                )));
            }
            if i > 0 && phase.from <= contacts.phases[i - 1].from {
                return Err(wrong(format!("phase {i} begins no later than the one before")));
            }
        }
        let riding = robot.joints.iter().find(|joint| joint.gear_ratio.is_some());
        if let (Some(joint), false) = (riding, contacts.constraints.is_empty()) {
            let reason = format!(
                "joint `{}` has a gear_ratio, expected none where feet stand or loops close: impulses there do not have rotors on links",
                joint.name
            );
            return Err(wrong(reason));
        }
        dynamics(robot, &contacts)?;
        let rows = contacts.phases.iter().map(|p| active_rows(&contacts.constraints, &p.active)).collect();
        let closed = |(c, constraint): (usize, &Constraint)| {
            contacts.phases[0].active[c]
                && constraint.b.joint.is_some()
                && constraint.kind == LoopKind::Point
                && (constraint.axes == RowAxes::WorldAligned || constraint.planar)
        };
        let closed: Vec<bool> = contacts.constraints.iter().enumerate().map(closed).collect();
        let closures = active_rows(&contacts.constraints, &closed);
        Ok(Self { stages: stages(&contacts, samples), rows, closures, contacts })
    }
}

/// Constrained dynamics with these contacts.
pub(super) fn dynamics(robot: &Model, contacts: &Contacts) -> Result<ConstrainedDynamics, EstimateError> {
    let redundancy =
        if contacts.compliance == 0.0 { Redundancy::Drop } else { Redundancy::Yield(contacts.compliance) };
    ConstrainedDynamics::new(robot, contacts.constraints.clone(), redundancy)
        .map_err(|e| EstimateError::Schedule { reason: e.to_string() })
}

fn active_rows(constraints: &[Constraint], active: &[bool]) -> Vec<usize> {
    let mut rows = Vec::new();
    let mut first = 0;
    for (constraint, active) in constraints.iter().zip(active) {
        if *active {
            rows.extend(first..first + constraint.binding());
        }
        first += constraint.rows();
    }
    rows
}

/// One step an interval, a reset before it wherever a constraint becomes active, and the end.
fn stages(contacts: &Contacts, samples: usize) -> Vec<Stage> {
    let mut stages = Vec::with_capacity(samples + contacts.phases.len());
    for (i, phase) in contacts.phases.iter().enumerate() {
        let before = i.checked_sub(1).map(|b| &contacts.phases[b].active);
        let begins = (0..phase.active.len()).any(|c| phase.active[c] && !before.is_some_and(|b| b[c]));
        if begins {
            stages.push(Stage { kind: Kind::Reset, sample: phase.from, phase: i, observed: true });
        }
        let end = contacts.phases.get(i + 1).map_or(samples.saturating_sub(1), |p| p.from);
        for sample in phase.from..end {
            let observed = !(begins && sample == phase.from);
            stages.push(Stage { kind: Kind::Step, sample, phase: i, observed });
        }
    }
    let phase = contacts.phases.len() - 1;
    stages.push(Stage { kind: Kind::Last, sample: samples.saturating_sub(1), phase, observed: true });
    stages
}
