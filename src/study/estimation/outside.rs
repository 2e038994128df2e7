//! Torques from outside in the recording of a problem: noticed before anything is estimated, and left out.

use serde::Deserialize;

use super::EstimationStudy;
use crate::recording::Sample;
use crate::study::external::{ExternalTorque, external_torques};

/// What becomes of times at which torques from outside are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutsideTorques {
    /// They are left out: the motion begins anew behind them.
    #[default]
    LeaveOut,
    /// They are told, and learnt from all the same.
    Keep,
    /// They are not looked for.
    Ignore,
}

/// Time on either side of what was noticed that is left out with it, s.
const MARGIN_S: f64 = 0.05;

impl EstimationStudy {
    /// Looks for torques from outside and leaves their times out, if that is asked for. Simulated samples, contacts, loops, recordings without
    /// velocities and those that are too short to tell ([`crate::study::external::NotNoticed`]) are not looked at.
    pub(super) fn notice_outside(&mut self) -> Vec<ExternalTorque> {
        let measured = |deviations: &[f64]| deviations.iter().all(|d| d.is_finite());
        let asked = self.outside != OutsideTorques::Ignore && self.sealed.is_none();
        let fit = self.contacts.constraints.is_empty()
            && measured(&self.deviations.q)
            && measured(&self.deviations.dq);
        if !asked || !fit {
            return vec![];
        }
        let mut segments: Vec<&[Sample]> = vec![];
        let (mut first, count) = (0, self.samples.len());
        for k in 0..count {
            if k + 1 == count || self.intervals_s[k].is_infinite() {
                segments.push(&self.samples[first..=k]);
                first = k + 1;
            }
        }
        let found = external_torques(&self.robot, &segments).unwrap_or_default();
        if self.outside == OutsideTorques::LeaveOut {
            let starts: Vec<usize> = segments
                .iter()
                .scan(0, |at, s| {
                    *at += s.len();
                    Some(*at - s.len())
                })
                .collect();
            let cuts: Vec<(usize, usize)> = found
                .iter()
                .flat_map(|event| {
                    let (start, segment) = (starts[event.segment], segments[event.segment]);
                    let times = event.touched_s[0] - MARGIN_S..event.touched_s[1] + MARGIN_S;
                    let first = segment.partition_point(|s| s.t < times.start);
                    let last = segment.partition_point(|s| s.t < times.end);
                    (first < last).then_some((start + first, start + last - 1))
                })
                .collect();
            for (first, last) in cuts {
                self.intervals_s[first..=last].fill(f64::INFINITY);
            }
        }
        found
    }

    /// What was noticed, in words.
    pub(super) fn outside_warnings(&self, found: &[ExternalTorque]) -> Vec<String> {
        let ending = match self.outside {
            OutsideTorques::LeaveOut => "; these times are left out",
            _ => "; these times were learnt from",
        };
        found.iter().map(|event| format!("{}{ending}", event.sentence())).collect()
    }
}
