//! A study in words: what was done to the data, what was assumed, what the set is worth.

use super::{ACCELERATION_MARGIN, Assumption, ConditionalSet, IdentificationStudy, LogFinding, Verdict};
use crate::identify::proof::{Premises, WiderBounds};
use crate::identify::recorded::clock_of;
use crate::identify::window::Clock;
use crate::recording::MeasurementLog;
use crate::robot::Arm;

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

impl Premises {
    /// In words, one sentence each, the delay as `delay` says; wider bounds are not among them.
    pub fn sentences(&self, robot: &Arm, delay: String) -> Vec<String> {
        let (sensors, u) = (&robot.sensors(), &robot.uncertainty());
        let from = if self.acceleration_from_logs {
            format!(
                "a guess: {ACCELERATION_MARGIN} times the largest in the smoothed data, or what velocities show; --acceleration states them"
            )
        } else {
            "as stated".to_owned()
        };
        vec![
            format!(
                "torque error at most {} % of the torque plus {} N m, and a mean over a window of {} N m more",
                100.0 * sensors.torque_ratio,
                sensors.torque_abs_nm,
                list(&self.torque_abs_nm)
            ),
            format!(
                "encoder errors at most {} rad and {} rad/s",
                sensors.position_rad, sensors.velocity_rad_s
            ),
            format!(
                "known links within {} %, {} kg m and {} kg m^2 of the model, unknown parameters within the prior",
                100.0 * u.link_ratio,
                u.first_moment_kg_m,
                u.inertia_kg_m2
            ),
            format!(
                "gravity within {} degrees of the stated direction, breakaway friction at most {} times Coulomb's",
                u.gravity_direction_deg, u.breakaway_ratio
            ),
            format!("accelerations at most {} rad/s^2 ({from})", list(&self.acceleration_bound)),
            delay,
            format!("windows of {} s; time stamps exact; nothing else touches the arm", self.window_s),
        ]
    }
}

impl WiderBounds {
    /// In words.
    pub fn sentence(&self) -> String {
        format!(
            "the encoders err by at most {:.3e} rad and {:.3e} rad/s, and the mean torque of each joint over a window by {:.4} N m beyond \
             its stated bound: {} times what the first two thirds of the logs need",
            self.position_rad, self.velocity_rad_s, self.torque_nm, self.margin
        )
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

/// `1.23, 4.5`; one number where all are the same.
fn list(values: &[f64]) -> String {
    match values.split_first() {
        Some((first, others)) if others.iter().all(|x| x == first) => format!("{first:.4}"),
        _ => values.iter().map(|x| format!("{x:.4}")).collect::<Vec<_>>().join(", "),
    }
}
