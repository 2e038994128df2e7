//! How old readings are, how late commands act, and how evenly ticks follow one another.

use serde::{Deserialize, Serialize};

/// Ages and delays of more control periods than this are refused: no law is of use there, and a figure in another unit is likelier.
const MOST_PERIODS: f64 = 100.0;

/// Bounds on when readings are taken and commands act. Zero where a file says nothing: readings are of their tick, commands act at once, and ticks are
/// exactly one control period apart.
///
/// All joints of a tick are read at one moment, not later than the tick and not earlier than `reading_age_max_s` before it. Nobody knows when; it may
/// be another age at each tick. A command acts at latest `command_delay_max_s` after its tick, and until the next one does. Two ticks are a control period
/// apart, give or take `jitter_max_s`; when a tick was is known. Torques are measured as means from tick to tick, whatever the age of the readings.
///
/// A drive may follow its commands with a first-order lag: what it is about to apply, before its other errors, follows T dtau/dt = command - tau with some T from
/// 0 to `drive_lag_max_s`, another one for each joint, and at any time another one. An arm at rest that a plan starts from stands by the torques of its drives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimingBounds {
    /// Largest age of a tick's positions and velocities, s.
    pub reading_age_max_s: f64,
    /// Longest time from a tick until its command acts, s.
    pub command_delay_max_s: f64,
    /// Largest difference of the time between two ticks from the control period, s.
    pub jitter_max_s: f64,
    /// Largest time constant of the first-order lag with which a drive's torque follows its command, s.
    #[serde(skip_serializing_if = "is_zero")]
    pub drive_lag_max_s: f64,
    /// Of drives with a loop of their own, which runs between the commands: largest age of the reading that its torque stems from, s; sampling, arithmetic and hold together.
    /// Zero: drives have no such loops. Where they have, all of the above are zero ([`crate::reach::motor_loops`]).
    #[serde(skip_serializing_if = "is_zero")]
    pub motor_loop_age_max_s: f64,
}

/// Files that say nothing of a bound stay as they are.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

impl TimingBounds {
    /// Readings and commands are of their tick, and ticks come on time.
    pub const EXACT: Self = Self {
        reading_age_max_s: 0.0,
        command_delay_max_s: 0.0,
        jitter_max_s: 0.0,
        drive_lag_max_s: 0.0,
        motor_loop_age_max_s: 0.0,
    };

    /// Whether the file says nothing.
    pub fn is_exact(&self) -> bool {
        *self == Self::EXACT
    }

    /// Whether drives have loops of their own.
    pub fn has_motor_loops(&self) -> bool {
        self.motor_loop_age_max_s > 0.0
    }

    /// The first bound above zero of what comes late to the computer or from it, by its name.
    pub fn first_above_zero(&self) -> Option<(&'static str, f64)> {
        let all = [
            ("reading_age_max_s", self.reading_age_max_s),
            ("command_delay_max_s", self.command_delay_max_s),
            ("jitter_max_s", self.jitter_max_s),
            ("drive_lag_max_s", self.drive_lag_max_s),
        ];
        // What is not a number is not zero either.
        all.into_iter().find(|(_, x)| *x != 0.0)
    }

    /// The first bound that is none for an arm with this control period (s), by its name, and what was expected.
    pub fn fault(&self, period_s: f64) -> Option<(&'static str, String)> {
        let late = |x: f64| x >= 0.0 && x.is_finite() && x <= MOST_PERIODS * period_s;
        let most = "a time in s not below 0, at most 100 control periods";
        let shaken = self.jitter_max_s >= 0.0 && self.jitter_max_s < period_s;
        let all = [
            ("reading_age_max_s", self.reading_age_max_s, late(self.reading_age_max_s), most),
            ("command_delay_max_s", self.command_delay_max_s, late(self.command_delay_max_s), most),
            (
                "jitter_max_s",
                self.jitter_max_s,
                shaken,
                "a time in s not below 0, shorter than the control period",
            ),
            ("drive_lag_max_s", self.drive_lag_max_s, late(self.drive_lag_max_s), most),
            (
                "motor_loop_age_max_s",
                self.motor_loop_age_max_s,
                self.motor_loop_age_max_s >= 0.0 && self.motor_loop_age_max_s <= period_s,
                "a time in s not below 0, at most the control period",
            ),
        ];
        let Some((what, x, _, expected)) = all.into_iter().find(|(_, _, good, _)| !good) else {
            return self.beside_motor_loops();
        };
        Some((what, format!("{x}, expected {expected} (`control.period_s` is {period_s})")))
    }

    /// The bound that is stated beside loops in the motors, and what to do: no law is proven for both.
    fn beside_motor_loops(&self) -> Option<(&'static str, String)> {
        let (what, x) = self.first_above_zero().filter(|_| self.has_motor_loops())?;
        Some((
            what,
            format!(
                "{x}, expected 0 beside `motor_loop_age_max_s`: no law is proven for both. Leave one of them out"
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_none_are_named() {
        const PERIOD_S: f64 = 1e-3;
        assert_eq!(TimingBounds::EXACT.fault(PERIOD_S), None);
        assert!(TimingBounds::EXACT.is_exact() && TimingBounds::default().is_exact());
        let named = |change: &dyn Fn(&mut TimingBounds)| {
            let mut timing = TimingBounds::EXACT;
            change(&mut timing);
            assert!(!timing.is_exact());
            timing.fault(PERIOD_S).map(|(what, _)| what)
        };
        for bad in [-1e-9, f64::NAN, f64::INFINITY, 0.11] {
            assert_eq!(named(&|t| t.reading_age_max_s = bad), Some("reading_age_max_s"));
            assert_eq!(named(&|t| t.command_delay_max_s = bad), Some("command_delay_max_s"));
            assert_eq!(named(&|t| t.jitter_max_s = bad), Some("jitter_max_s"));
            assert_eq!(named(&|t| t.drive_lag_max_s = bad), Some("drive_lag_max_s"));
            assert_eq!(named(&|t| t.motor_loop_age_max_s = bad), Some("motor_loop_age_max_s"));
        }
        assert_eq!(named(&|t| t.motor_loop_age_max_s = 1e-3), None);
        let loops = TimingBounds { motor_loop_age_max_s: 1e-4, ..TimingBounds::EXACT };
        assert!(loops.has_motor_loops() && loops.fault(PERIOD_S).is_none());
        let both = TimingBounds { jitter_max_s: 1e-5, ..loops };
        let (what, why) = both.fault(PERIOD_S).unwrap();
        assert!(what == "jitter_max_s" && why.contains("motor_loop_age_max_s"), "{what}: {why}");
        // Twenty periods late are as many as one likes; a jitter of a whole one is no rhythm.
        assert_eq!(named(&|t| t.reading_age_max_s = 0.02), None);
        assert_eq!(named(&|t| t.command_delay_max_s = 0.02), None);
        assert_eq!(named(&|t| t.drive_lag_max_s = 0.02), None);
        assert_eq!(named(&|t| t.jitter_max_s = 0.9e-3), None);
        assert_eq!(named(&|t| t.jitter_max_s = 1e-3), Some("jitter_max_s"));
    }
}
