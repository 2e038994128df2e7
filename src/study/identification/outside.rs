//! Torques from outside in the logs of a study: noticed before a set is believed.
//!
//! What a set rests on says that nothing but the drives, gravity and friction moves the arm. Honest bounds on sensors are wide, so that a push
//! may fit into them and move the set away from the truth instead of contradicting it. Where one is noticed no set is shown, whatever the bounds say;
//! who leaves its time out ([`crate::recording::LogRequest::left_out_s`]) gets one.

use super::{Assumption, BrokenAssumption, ConditionalSet, IdentificationStudy, Learned, Verdict};
use crate::recording::Sample;
use crate::study::external::{ExternalTorque, external_torques};

/// Time on either side of what was noticed that is to be left out with it, s.
const MARGIN_S: f64 = 0.05;

impl IdentificationStudy<'_> {
    /// What was noticed; segments are numbered by log.
    pub(super) fn external_torques(&self) -> Vec<ExternalTorque> {
        let of_log = |log: usize| self.logs[log].segments.iter().map(move |part| (log, part.clone()));
        let parts: Vec<_> = (0..self.logs.len()).flat_map(of_log).collect();
        let segments: Vec<&[Sample]> =
            parts.iter().map(|(log, part)| &self.logs[*log].samples[part.clone()]).collect();
        let mut found = external_torques(self.robot.model(), &segments);
        found.iter_mut().for_each(|event| event.segment = parts[event.segment].0);
        found
    }

    /// What was learnt, without its set and with another verdict where something pushed.
    pub(super) fn believed(&self, learned: Learned, found: &[ExternalTorque]) -> Learned {
        if found.is_empty() {
            return learned;
        }
        let broken_by = |event: &ExternalTorque| BrokenAssumption {
            assumption: Assumption::NothingPushes,
            log: Some(self.logs[event.segment].path.display().to_string()),
            joint: event.joint.clone(),
            t_s: event.to_s,
            over_s: event.to_s - event.from_s,
            steps: None,
            remedies: vec![],
        };
        let (mut broken, time_stamps_s) = match learned.verdict {
            Verdict::Consistent => (vec![], None),
            Verdict::Refuted { broken, time_stamps_s } => (broken, time_stamps_s),
        };
        broken.extend(found.iter().map(broken_by));
        let sensors = self.robot.sensors();
        let conditional = learned.conditional.unwrap_or(ConditionalSet {
            margin: self.options.margin,
            position_rad: sensors.position_rad,
            velocity_rad_s: sensors.velocity_rad_s,
            torque_nm: 0.0,
            windows_used: 0,
            windows_held_out: 0,
            refused: None,
        });
        let refused = Some(format!(
            "something pushed, and a set that is learnt from it would be false; `--without {}` leaves its times out",
            without(found)
        ));
        Learned {
            verdict: Verdict::Refuted { broken, time_stamps_s },
            conditional: Some(ConditionalSet { refused, ..conditional }),
            narrowed: None,
            ..learned
        }
    }
}

/// Times to leave out, those that touch as one: `15.8..16.4,17..17.2`.
fn without(found: &[ExternalTorque]) -> String {
    let mut times: Vec<[f64; 2]> =
        found.iter().map(|event| [event.touched_s[0] - MARGIN_S, event.touched_s[1] + MARGIN_S]).collect();
    times.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut joined: Vec<[f64; 2]> = vec![];
    for next in times {
        match joined.last_mut().filter(|last| next[0] <= last[1]) {
            Some(last) => last[1] = last[1].max(next[1]),
            None => joined.push(next),
        }
    }
    joined.iter().map(|[from, to]| format!("{from:.2}..{to:.2}")).collect::<Vec<_>>().join(",")
}
