//! A study in words: what was done to the data, what was assumed, what the set is worth.

use super::{Assumption, ConditionalSet, IdentificationStudy, LogFinding, Verdict};
use crate::identify::proof::WiderBounds;
use crate::identify::recorded::clock_of;
use crate::identify::window::Clock;
use crate::recording::MeasurementLog;

impl IdentificationStudy<'_> {
    pub(super) fn log_findings(&self) -> Vec<LogFinding> {
        let finding = |log: &MeasurementLog, purpose| {
            let mut notes = log.notes();
            notes.push(
                match clock_of(self.robot, log) {
                    Clock::Control => {
                        "has every tick of the control loop: torque taken as held between samples"
                    }
                    Clock::Stamped => {
                        "has every tick of the control loop, with stamps: a torque is taken as the mean until the next"
                    }
                    Clock::Recorded => "time stamps used as they are; torque between samples taken as linear",
                }
                .to_owned(),
            );
            LogFinding { path: log.path.display().to_string(), purpose, notes }
        };
        let fit = self.logs.iter().map(|log| finding(log, "fit"));
        fit.chain(self.validation.map(|log| finding(log, "validation"))).collect()
    }

    pub(super) fn guarantee(&self, verdict: &Verdict, conditional: Option<&ConditionalSet>) -> String {
        let Verdict::Refuted { broken, .. } = verdict else {
            return "The set holds the true parameters if the stated assumptions are true; the data do not contradict them."
                .to_owned();
        };
        let refuted = if broken.iter().all(|b| b.assumption == Assumption::NothingPushes) {
            "No guarantee: something pushed the arm, or its model lacks something there."
        } else {
            "No guarantee: the stated assumptions cannot all be true, whatever the parameters."
        };
        match conditional {
            Some(found) => format!("{refuted} {}", found.sentence()),
            None => refuted.to_owned(),
        }
    }
}

impl ConditionalSet {
    /// In words.
    pub fn sentence(&self) -> String {
        if let Some(reason) = &self.refused {
            return format!("No interval is shown: {reason}.");
        }
        let Self { margin, position_rad, velocity_rad_s, torque_nm, .. } = *self;
        let wider = WiderBounds { position_rad, velocity_rad_s, torque_nm, margin };
        format!(
            "The set is what is left if {} ({} windows, from which the set is); a common gain of all torque sensors is left open between \
             0.8 and 1.25. The rest, {} windows, does not contradict that; nothing proves that these bounds hold.",
            wider.sentence(),
            self.windows_used,
            self.windows_held_out
        )
    }
}
