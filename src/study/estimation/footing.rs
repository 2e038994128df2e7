//! Contacts and loops of a problem file: from times to phases, and whether the log agrees.

use nalgebra::Vector3;

use super::file::File;
use super::load::Reader;
use crate::dynamics::constraint::RowAxes;
use crate::dynamics::{Axes, Constraint, Workspace};
use crate::estimate::error::EstimateError;
use crate::multibody::{ContactPhase, Contacts, Deviations, Observation};
use crate::recording::Sample;
use crate::recording::Sensor;
use crate::robot::{LoopKind, Placement};
use crate::simulate::{Footing, Hold, Reads};

/// Baumgarte's damping of contacts, and of loops with stiffness, 1/s and 1/s^2: rates that a sampling interval of a few
/// milliseconds follows.
const DAMPING: f64 = 20.0;
const LOOP_DAMPING: f64 = 40.0;
/// Mean speed of a standing foot, m/s, beyond what the noise explains (six deviations), from which a schedule does not
/// fit a log.
const SLIPS: f64 = 0.01;
const NOISE: f64 = 6.0;
/// Times of one sample differ by rounding, s.
const SAME: f64 = 1e-6;

/// When each sample of a log was taken, s since the first.
pub(super) struct Stamps {
    times: Vec<f64>,
    /// Whether times of contact must be those of samples: a simulated robot's are what the file says.
    exact: bool,
}

impl Stamps {
    pub(super) fn of_log(samples: &[Sample]) -> Self {
        let first = samples.first().map_or(0.0, |s| s.t);
        Self { times: samples.iter().map(|s| s.t - first).collect(), exact: false }
    }

    pub(super) fn of_simulation(samples: &[Reads]) -> Self {
        Self { times: samples.iter().map(|s| s.t).collect(), exact: true }
    }

    fn last(&self) -> usize {
        self.times.len() - 1
    }

    /// The sample nearest to `t`; behind the last one they go on as before it.
    fn nearest(&self, t: f64) -> usize {
        let last = self.last();
        let behind = self.times.partition_point(|x| *x < t);
        if t.is_infinite() {
            return usize::MAX;
        }
        if behind > last {
            let step = self.times[last] - self.times[last.saturating_sub(1)];
            // Times of contact end somewhere.
            return last + ((t - self.times[last]) / step).round().min(1e9) as usize;
        }
        let nearer_before = behind > 0 && t - self.times[behind - 1] <= self.times[behind] - t;
        if nearer_before { behind - 1 } else { behind }
    }

    /// The last sample before a span of time and the first one behind it: between them is all of it.
    fn around(&self, [from, to]: [f64; 2]) -> [usize; 2] {
        let before = self.times.partition_point(|x| *x <= from + SAME).saturating_sub(1);
        let behind = self.times.partition_point(|x| *x < to - SAME);
        [before, behind]
    }

    /// The sample of a time of contact, if it can be one.
    fn sample(&self, t: f64) -> Option<usize> {
        let k = Some(t).filter(|t| *t >= 0.0 && t.is_finite()).map(|t| self.nearest(t))?;
        let there = self.times.get(k).is_none_or(|x| (x - t).abs() < SAME * t.max(1.0));
        (there || !self.exact).then_some(k)
    }
}

/// Contacts of a problem, and where their forces are unknown.
pub(super) struct Stands {
    pub(super) contacts: Contacts,
    /// What deviations of forces are more in the interval behind each sample, N (N m); empty where nothing is added.
    pub(super) added_force: Vec<f64>,
}

/// In the air from which sample to which.
type Lifted = Vec<[usize; 2]>;

/// Times in the air, s, each longer by `time_s` at both ends; those that meet are one.
fn widened(lifted: &[[f64; 2]], time_s: f64) -> Vec<[f64; 2]> {
    let mut wide: Vec<[f64; 2]> = Vec::with_capacity(lifted.len());
    for [from, to] in lifted {
        let (from, to) = (from - time_s, to + time_s);
        match wide.last_mut() {
            Some(last) if from <= last[1] => last[1] = last[1].max(to),
            _ => wide.push([from, to]),
        }
    }
    wide
}

impl Reader<'_> {
    /// The samples between which contact `c` is in the air, in order.
    fn lifted(&self, file: &File, stamps: &Stamps, c: usize) -> Result<Lifted, EstimateError> {
        let contact = &file.contact[c];
        let field = format!("contact[{c}].lifted_s");
        let last = stamps.last();
        let sample = |t: f64| {
            match stamps.sample(t) {
            Some(k) => Ok(k),
            None => self.error(
                &field,
                format!("{t} s, expected a time >= 0 at which there is a sample: a multiple of the sampling interval"),
            ),
        }
        };
        if contact.repeat_s.is_some_and(|t| !(t > 0.0 && t.is_finite())) {
            return self.error(&format!("contact[{c}].repeat_s"), "expected a positive time".into());
        }
        let mut lifted: Lifted = Vec::new();
        for round in 0.. {
            let shift = contact.repeat_s.unwrap_or(0.0) * f64::from(round);
            for &[from, to] in &contact.lifted_s {
                let (from, to) = (sample(from + shift)?, sample(to + shift)?);
                if from >= to {
                    return self.error(&field, format!("from sample {from} to {to}, expected a later end"));
                }
                if lifted.last().is_some_and(|l| from <= l[1]) {
                    return self.error(&field, "intervals overlap or are not in order".into());
                }
                if to >= last {
                    // A repeated step that the log does not see the end of is not begun.
                    if round > 0 {
                        continue;
                    }
                    let (t, end) = (
                        contact.lifted_s[0][1].max(contact.lifted_s.last().map_or(0.0, |l| l[1])),
                        stamps.times[last],
                    );
                    return self.error(&field, format!("until {t} s, but the log ends at {end} s"));
                }
                lifted.push([from, to]);
            }
            let over = |period: f64| period * f64::from(round + 1) >= stamps.times[last];
            if contact.repeat_s.is_none_or(over) {
                break;
            }
        }
        Ok(lifted)
    }

    /// The times between which foot `c` of a simulated robot is in the air, s.
    pub(super) fn lifted_times(
        &self,
        file: &File,
        stamps: &Stamps,
        c: usize,
    ) -> Result<Vec<[f64; 2]>, EstimateError> {
        let times = |lifted: [usize; 2]| lifted.map(|k| stamps.times[k]);
        Ok(self.lifted(file, stamps, c)?.into_iter().map(times).collect())
    }

    /// Contacts and loops of a simulated robot over its samples.
    pub(super) fn simulated_contacts(&self, file: &File, stamps: &Stamps) -> Result<Contacts, EstimateError> {
        let lifted =
            (0..file.contact.len()).map(|c| self.lifted(file, stamps, c)).collect::<Result<_, _>>()?;
        self.contacts(file, lifted, stamps.times.len())
    }

    /// Contacts and loops over a log as the estimator knows them: by the file, or as a simulated sensor `told` (s).
    pub(super) fn stands(
        &self,
        file: &File,
        stamps: &Stamps,
        told: Option<&Vec<Vec<[f64; 2]>>>,
    ) -> Result<Stands, EstimateError> {
        let error_s = file.contact_time_error_s;
        if !(error_s >= 0.0 && error_s.is_finite()) {
            return self.error("contact_time_error_s", format!("{error_s}, expected a number >= 0"));
        }
        let lifted: Vec<Vec<[f64; 2]>> = match told {
            Some(told) => told.clone(),
            None => (0..file.contact.len())
                .map(|c| self.lifted_times(file, stamps, c))
                .collect::<Result<_, _>>()?,
        };
        let mut added_force = vec![];
        if error_s > 0.0 {
            let p = self.robot.nominal_parameters();
            let mass: f64 = (0..self.robot.bodies()).map(|i| p[self.robot.inertial_index(i)]).sum();
            added_force = vec![0.0; stamps.times.len()];
            for t in lifted.iter().flatten().flatten().filter(|t| t.is_finite()) {
                let open = stamps.around([t - error_s, t + error_s]).map(|k| k.min(added_force.len()));
                added_force[open[0]..open[1]].fill(mass * self.robot.gravity.norm());
            }
        }
        let samples = |times: [f64; 2]| {
            if error_s > 0.0 { stamps.around(times) } else { times.map(|t| stamps.nearest(t.max(0.0))) }
        };
        let lifted = lifted.iter().map(|l| widened(l, error_s).into_iter().map(samples).collect()).collect();
        Ok(Stands { contacts: self.contacts(file, lifted, stamps.times.len())?, added_force })
    }

    /// Contacts that are in the air between these of `count` samples, and loops.
    fn contacts(
        &self,
        file: &File,
        mut lifted: Vec<Lifted>,
        count: usize,
    ) -> Result<Contacts, EstimateError> {
        if !(file.compliance >= 0.0 && file.compliance.is_finite()) {
            return self.error("compliance", format!("{}, expected a number >= 0", file.compliance));
        }
        let (robot, mut constraints) = (&self.robot, Vec::new());
        for (c, contact) in file.contact.iter().enumerate() {
            let frame = self.frame(&format!("contact[{c}].frame"), &contact.frame)?;
            if let Some(friction) = contact.friction {
                self.positive(&format!("contact[{c}].friction"), friction)?;
            }
            if let Some(sole_m) = contact.sole_m {
                let field = format!("contact[{c}].sole_m");
                for x in sole_m {
                    self.positive(&field, x)?;
                }
                if contact.friction.is_none() || contact.kind != LoopKind::Rigid {
                    let reason = "expected `kind = \"rigid\"` and `friction` for the same contact";
                    return self.error(&field, reason.to_owned());
                }
            }
            let held = Constraint::contact(robot, frame, contact.kind, Placement::identity());
            constraints.push(held.stabilised(0.0, DAMPING));
        }
        if file.loops {
            if robot.loops.is_empty() {
                return self.error("loops", format!("robot `{}` has none", robot.name));
            }
            for i in 0..robot.loops.len() {
                let stiffness = 0.25 * LOOP_DAMPING * LOOP_DAMPING;
                let closure = Constraint::closure(robot, i).in_axes(RowAxes::WorldAligned).in_plane(robot);
                constraints.push(closure.stabilised(stiffness, LOOP_DAMPING));
                lifted.push(Vec::new());
            }
        }
        let mut changes: Vec<usize> =
            lifted.iter().flatten().flatten().copied().filter(|k| k.saturating_add(1) < count).collect();
        changes.push(0);
        changes.sort_unstable();
        changes.dedup();
        let stands = |l: &Vec<[usize; 2]>, k: usize| !l.iter().any(|[from, to]| (*from..*to).contains(&k));
        let phase =
            |from: usize| ContactPhase { from, active: lifted.iter().map(|l| stands(l, from)).collect() };
        let phases = changes.into_iter().map(phase).collect();
        Ok(Contacts { constraints, phases, compliance: file.compliance })
    }

    /// Sensors beside the encoders.
    pub(super) fn observations(&self, file: &File) -> Result<Vec<Observation>, EstimateError> {
        let mut observations = Vec::new();
        for (s, sensor) in file.sensor.iter().enumerate() {
            let field = |name: &str| format!("sensor[{s}].{name}");
            let frame = self.frame(&field("frame"), &sensor.frame)?;
            let deviation = self.measured(&field("deviation"), &sensor.deviation, 3)?;
            if !(sensor.noise >= 0.0 && sensor.noise.is_finite()) {
                return self.error(&field("noise"), format!("{}, expected a number >= 0", sensor.noise));
            }
            let contact = file.contact.iter().position(|c| c.frame == sensor.frame);
            if sensor.while_standing && contact.is_none() {
                return self.error(&field("while_standing"), format!("`{}` is no contact", sensor.frame));
            }
            observations.push(Observation {
                sensor: Sensor { frame, quantity: sensor.quantity },
                deviation: [deviation[0], deviation[1], deviation[2]],
                standing: contact.filter(|_| sensor.while_standing),
            });
        }
        Ok(observations)
    }

    pub(super) fn frame(&self, field: &str, name: &str) -> Result<usize, EstimateError> {
        match self.robot.frame_index(name) {
            Some(i) => Ok(i),
            None => {
                let known: Vec<_> = self.robot.named_frames.iter().map(|f| f.name.as_str()).collect();
                self.error(field, format!("no frame `{name}`, expected one of {}", known.join(", ")))
            }
        }
    }

    /// Whether frames that stand by the schedule stand by the log, as far as its velocities are measured at all.
    pub(super) fn check_schedule(
        &self,
        contacts: &Contacts,
        samples: &[Sample],
        d: &Deviations,
    ) -> Result<(), EstimateError> {
        if d.dq.iter().any(|x| x.is_infinite()) {
            return Ok(());
        }
        let robot = &*self.robot;
        let (n, mut workspace) = (robot.nv(), Workspace::new(robot));
        let zero = vec![0.0; n];
        for (c, constraint) in contacts.constraints.iter().enumerate() {
            let Some(frame) = robot.named_frames.iter().find(|f| f.name == constraint.name) else { continue };
            let mut jacobian = vec![0.0; 6 * n];
            let mut from = None;
            for k in 0..samples.len() {
                let phase = contacts.phases.iter().rfind(|p| p.from <= k);
                let stands = phase.is_some_and(|p| p.active[c]) && k + 1 < samples.len();
                from = match (from, stands) {
                    (None, true) => Some(k),
                    (Some(first), false) => {
                        // The sample of the impact itself is from before it.
                        let count = k.saturating_sub(first + 1);
                        let (mut mean, mut variance) = (Vector3::zeros(), 0.0);
                        for s in &samples[first + 1..k] {
                            workspace.place_moving(robot, &s.q, &s.dq, &zero);
                            let v = workspace.frame_velocity(frame, Axes::WorldAligned);
                            mean += Vector3::new(v[0], v[1], v[2]) / count as f64;
                            workspace.frame_jacobian(robot, frame, Axes::WorldAligned, &mut jacobian);
                            let spread = |j: usize| (0..3).map(|r| jacobian[n * r + j].powi(2)).sum::<f64>();
                            variance += (0..n).map(|j| spread(j) * d.dq[j].powi(2)).sum::<f64>();
                        }
                        let allowed = SLIPS + NOISE * variance.sqrt() / count.max(1) as f64;
                        if mean.norm() > allowed {
                            let [from, to] = [first, k].map(|k| samples[k].t - samples[0].t);
                            let reason = format!(
                                "`{}` stands from {from:.3} s to {to:.3} s, but in the log it moves by {:.3} m/s then \
                                 (noise and slip explain {allowed:.3}); does the schedule belong to this log?",
                                constraint.name,
                                mean.norm()
                            );
                            return self.error(&format!("contact[{c}].lifted_s"), reason);
                        }
                        None
                    }
                    (from, _) => from,
                };
            }
        }
        Ok(())
    }

    /// The same for the simulator.
    pub(super) fn footing(file: &File, contacts: &Contacts) -> Footing {
        let hold = |c: &super::file::Contact| c.friction.map(|friction| Hold { friction, sole_m: c.sole_m });
        Footing {
            hold: file.contact.iter().map(hold).collect(),
            constraints: contacts.constraints.clone(),
            phases: contacts.phases.iter().map(|p| (p.from, p.active.clone())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(times: &[f64]) -> Stamps {
        Stamps { times: times.to_vec(), exact: false }
    }

    #[test]
    fn times_are_those_of_samples_and_spans_lie_between_them() {
        let s = stamps(&[0.0, 0.001, 0.0025, 0.003, 0.004]);
        for (t, nearest) in
            [(0.0, 0), (0.0004, 0), (0.0018, 2), (0.0026, 2), (0.0028, 3), (0.004, 4), (0.0061, 6)]
        {
            assert_eq!(s.nearest(t), nearest, "{t}");
        }
        assert_eq!(s.nearest(f64::INFINITY), usize::MAX);
        // All of the span is between the two samples; beyond the ends there is no more than the log.
        for (span, samples) in [
            ([0.0012, 0.0026], [1, 3]),
            ([0.001, 0.003], [1, 3]),
            ([-1.0, 0.0001], [0, 1]),
            ([0.0035, 1.0], [3, 5]),
            ([1.0, f64::INFINITY], [4, 5]),
        ] {
            assert_eq!(s.around(span), samples, "{span:?}");
        }
        assert_eq!(s.sample(-0.001), None);
        assert_eq!(s.sample(f64::NAN), None);
        assert_eq!(s.sample(0.0024), Some(2));
        assert_eq!(Stamps { exact: true, ..s }.sample(0.0024), None);
    }

    #[test]
    fn spans_that_meet_are_one() {
        let lifted = [[0.5, 0.8], [0.805, 0.9], [1.0, f64::INFINITY]];
        let wide = widened(&lifted, 0.003);
        assert_eq!(wide.len(), 2);
        assert!((wide[0][0] - 0.497).abs() < 1e-12 && (wide[0][1] - 0.903).abs() < 1e-12, "{wide:?}");
        assert!((wide[1][0] - 0.997).abs() < 1e-12 && wide[1][1].is_infinite(), "{wide:?}");
        assert_eq!(widened(&lifted, 0.0).len(), 3);
        // One within another.
        assert_eq!(widened(&[[0.1, 0.9], [0.2, 0.3]], 0.0), [[0.1, 0.9]]);
    }
}
