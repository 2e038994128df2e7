//! Contacts and loops of a problem file: from times to phases, and whether the log agrees.

use std::path::Path;

use nalgebra::Vector3;

use super::file::{self, File};
use super::load::Reader;
use crate::dynamics::constraint::RowAxes;
use crate::dynamics::{Axes, Constraint, Workspace};
use crate::estimate::error::EstimateError;
use crate::multibody::{ContactPhase, Contacts, Deviations, Observation};
use crate::recording::Sample;
use crate::recording::Sensor;
use crate::robot::Placement;
use crate::simulate::posture::{Foot, Jump, Posture};
use crate::simulate::{Drive, Footing};
use crate::study::standing::read_motion;

/// Baumgarte's damping of contacts, and of loops with stiffness, 1/s and 1/s^2: rates that a sampling interval of a few
/// milliseconds follows.
const DAMPING: f64 = 20.0;
const LOOP_DAMPING: f64 = 40.0;
/// Mean speed of a standing foot, m/s, beyond what the noise explains (six deviations), from which a schedule does not
/// fit a log.
const SLIPS: f64 = 0.01;
const NOISE: f64 = 6.0;

impl Reader<'_> {
    /// The samples between which contact `c` is in the air, in order, within a log of `count` samples.
    fn lifted(
        &self,
        file: &File,
        step_s: f64,
        c: usize,
        count: usize,
    ) -> Result<Vec<[usize; 2]>, EstimateError> {
        let contact = &file.contact[c];
        let field = format!("contact[{c}].lifted_s");
        let last = count - 1;
        let end = last as f64 * step_s;
        let sample = |t: f64| {
            let k = (t / step_s).round();
            if t >= 0.0 && t.is_finite() && (t / step_s - k).abs() < 1e-6 * k.max(1.0) {
                return Ok(k as usize);
            }
            self.error(
                &field,
                format!("{t} s, expected a multiple >= 0 of the sampling interval {} s", step_s),
            )
        };
        let every = match contact.repeat_s {
            Some(t) => Some(sample(t)?).filter(|k| *k > 0),
            None => None,
        };
        if contact.repeat_s.is_some() && every.is_none() {
            return self.error(&format!("contact[{c}].repeat_s"), "expected a positive time".into());
        }
        let mut lifted: Vec<[usize; 2]> = Vec::new();
        for round in 0.. {
            let shift = every.unwrap_or(0) * round;
            for &[from, to] in &contact.lifted_s {
                let (from, to) = (sample(from)? + shift, sample(to)? + shift);
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
                    let t = to as f64 * step_s;
                    return self.error(&field, format!("until {t} s, but the log ends at {end} s"));
                }
                lifted.push([from, to]);
            }
            if every.is_none_or(|k| k * (round + 1) >= last) {
                break;
            }
        }
        Ok(lifted)
    }

    /// Contacts and loops over a log of `count` samples.
    pub(super) fn contacts(&self, file: &File, step_s: f64, count: usize) -> Result<Contacts, EstimateError> {
        if !(file.compliance >= 0.0 && file.compliance.is_finite()) {
            return self.error("compliance", format!("{}, expected a number >= 0", file.compliance));
        }
        let (robot, mut constraints, mut lifted) = (&self.robot, Vec::new(), Vec::new());
        for (c, contact) in file.contact.iter().enumerate() {
            let frame = self.frame(&format!("contact[{c}].frame"), &contact.frame)?;
            if let Some(friction) = contact.friction {
                self.positive(&format!("contact[{c}].friction"), friction)?;
            }
            let held = Constraint::contact(robot, frame, contact.kind, Placement::identity());
            constraints.push(held.stabilised(0.0, DAMPING));
            lifted.push(self.lifted(file, step_s, c, count)?);
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
        let mut changes: Vec<usize> = lifted.iter().flatten().flatten().copied().collect();
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
        step_s: f64,
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
                            let (from, to) = (first as f64 * step_s, k as f64 * step_s);
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
        let ground = |c: &super::file::Contact| c.friction;
        Footing {
            friction: file.contact.iter().map(ground).collect(),
            constraints: contacts.constraints.clone(),
            phases: contacts.phases.iter().map(|p| (p.from, p.active.clone())).collect(),
        }
    }

    /// The posture that the simulated robot follows: its feet are the contacts.
    pub(super) fn posture(
        &self,
        file: &File,
        (p, step_s): (&file::PostureFile, f64),
        count: usize,
    ) -> Result<Drive, EstimateError> {
        self.positive("simulate.posture.bandwidth_rad_s", p.bandwidth_rad_s)?;
        self.finite("simulate.posture.sway", p.sway.as_flattened())?;
        self.finite("simulate.posture.speed_m_s", &p.speed_m_s)?;
        self.finite("simulate.posture.moving_s", &p.moving_s)?;
        self.finite("simulate.posture.step_m", &p.step_m)?;
        self.finite("simulate.posture.height_m", &[p.height_m])?;
        let mut feet = Vec::new();
        for (c, contact) in file.contact.iter().enumerate() {
            let times = |[a, b]: [usize; 2]| [a as f64 * step_s, b as f64 * step_s];
            feet.push(Foot {
                frame: self.frame(&format!("contact[{c}].frame"), &contact.frame)?,
                kind: contact.kind,
                lifted: self.lifted(file, step_s, c, count)?.into_iter().map(times).collect(),
                step: Vector3::from(p.step_m),
                height: p.height_m,
            });
        }
        let mut joints = vec![[0.0; 2]; self.robot.nv()];
        for (i, swing) in p.joint.iter().enumerate() {
            let joint = self.joint(&format!("simulate.posture.joint[{i}].name"), &swing.name)?;
            self.finite(&format!("simulate.posture.joint[{i}]"), &[swing.amplitude_rad, swing.frequency_hz])?;
            joints[self.robot.v_index(joint)] = [swing.amplitude_rad, swing.frequency_hz];
        }
        if let Some(j) = &p.jump {
            self.finite("simulate.posture.jump", &[j.at_s, j.crouch_m])?;
            self.positive("simulate.posture.jump.lasts_s", j.lasts_s)?;
            self.positive("simulate.posture.jump.flight_s", j.flight_s)?;
        }
        let series = match &p.motion {
            None => None,
            Some(path) => {
                let path = self.path.parent().unwrap_or(Path::new("")).join(path);
                let (series, start) = read_motion(&self.robot, &path)
                    .or_else(|error| self.error("simulate.posture.motion", error.to_string()))?;
                let own = file.simulate.as_ref().map_or(&[][..], |simulate| &simulate.start_rad);
                if start.iter().zip(own).any(|(a, b)| (a - b).abs() > 1e-9) || start.len() != own.len() {
                    return self.error(
                        "simulate.start_rad",
                        format!("is not where `{}` starts: expected {start:?}", path.display()),
                    );
                }
                Some(series)
            }
        };
        let jump = p.jump.as_ref().map(|j| Jump {
            at: j.at_s,
            crouch: j.crouch_m,
            lasts: j.lasts_s,
            flight: j.flight_s,
        });
        Ok(Drive::Posture(Box::new(Posture {
            sway: p.sway,
            speed: Vector3::from(p.speed_m_s),
            moving: p.moving_s,
            jump,
            feet,
            joints,
            series,
            bandwidth: p.bandwidth_rad_s,
        })))
    }
}
