//! Torques from outside in the logs of a study: noticed before a set is believed.
//!
//! What a set rests on says that nothing but the drives, gravity and friction moves the arm. Honest bounds on sensors are wide, so that a push
//! may fit into them and move the set away from the truth instead of contradicting it. Where one is noticed the bounds that explain the data are not
//! believed, and their set is not shown; who leaves its time out ([`crate::recording::LogRequest::left_out_s`]) gets one.

use super::{Assumption, BrokenAssumption, ConditionalSet, IdentificationStudy, Learned, Verdict};
use crate::identify::recorded::at_speed_limit;
use crate::recording::Sample;
use crate::study::external::{ExternalTorque, external_torques};

/// Time on either side of what was noticed that is to be left out with it, s.
const MARGIN_S: f64 = 0.05;

impl IdentificationStudy<'_> {
    /// What was noticed, segments numbered by log; and a sentence where nothing could be.
    pub(super) fn external_torques(&self) -> (Vec<ExternalTorque>, Option<String>) {
        let of_log = |log: usize| self.logs[log].segments.iter().map(move |part| (log, part.clone()));
        let parts: Vec<_> = (0..self.logs.len()).flat_map(of_log).collect();
        let segments: Vec<&[Sample]> =
            parts.iter().map(|(log, part)| &self.logs[*log].samples[part.clone()]).collect();
        let mut found = match external_torques(self.robot.model(), &segments) {
            Ok(found) => found,
            Err(reason) => return (vec![], Some(reason.to_string())),
        };
        found.iter_mut().for_each(|event| event.segment = parts[event.segment].0);
        // A drive at its speed limit brakes by itself: nobody pushes.
        found.retain(|event| !self.brakes_itself(event));
        (found, None)
    }

    fn brakes_itself(&self, event: &ExternalTorque) -> bool {
        let joint = self.robot.joints.iter().position(|joint| joint.name == event.joint);
        let [from, to] = event.touched_s;
        let mut samples = self.logs[event.segment].samples.iter().filter(|s| (from..=to).contains(&s.t));
        joint.is_some_and(|j| samples.any(|s| at_speed_limit(self.robot, &s.dq, j)))
    }

    /// What was learnt, with another verdict where something pushed. A set under bounds that explain everything goes; one under wider bounds, found after
    /// the stated ones were refuted, promises nothing that a push could break.
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
        let mut worst: Vec<&ExternalTorque> = vec![];
        for event in found {
            match worst.iter_mut().find(|other| other.joint == event.joint) {
                Some(other) if event.beyond > other.beyond => *other = event,
                Some(_) => {}
                None => worst.push(event),
            }
        }
        let noticed = worst.into_iter().map(broken_by);
        if let Verdict::Refuted { mut broken, time_stamps_s } = learned.verdict {
            broken.extend(noticed);
            return Learned { verdict: Verdict::Refuted { broken, time_stamps_s }, ..learned };
        }
        let (broken, time_stamps_s) = (noticed.collect(), None);
        let sensors = self.robot.sensors();
        let conditional = ConditionalSet {
            margin: self.options.margin,
            position_rad: sensors.position_rad,
            velocity_rad_s: sensors.velocity_rad_s,
            torque_nm: 0.0,
            windows_used: 0,
            windows_held_out: 0,
            refused: Some(format!(
                "something pushed, and a set that is learnt from it would be false; `--without {}` leaves its times out",
                without(found)
            )),
        };
        Learned {
            verdict: Verdict::Refuted { broken, time_stamps_s },
            conditional: Some(conditional),
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
