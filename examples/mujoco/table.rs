//! One line a run as CSV, and one line a job as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use surelift::horizon::{Outcome, Record};

use crate::arm::Seen;
use crate::peer::Farewell;

/// A run as it is reported.
#[derive(Debug, Clone)]
pub struct Row {
    /// Job that it belongs to.
    pub job: String,
    /// What goes beyond its bound, and how many times; empty if nothing does.
    pub beyond: String,
    /// Seed.
    pub seed: u64,
    /// How it ended, as the loop knows it, and why.
    pub outcome: Outcome,
    /// Why.
    pub reason: String,
    /// Plans that were proven, of those tried.
    pub plans: (usize, usize),
    /// When the loop gave up an assumption, s, and what it saw.
    pub alarm: Option<(f64, String)>,
    /// True mass of the last body, kg, and half the width of what is known of it; none with an empty hand.
    pub mass: Option<(f64, f64)>,
    /// Time on the arm's clock, s.
    pub duration_s: f64,
    /// What was seen on the true state.
    pub seen: Seen,
    /// What touched.
    pub farewell: Farewell,
}

/// Headings of [`Row::csv`].
pub const HEADINGS: &str = "job,beyond,seed,outcome,plans_certified,plans,violations,violated_s,alarm_s,alarm,energy_ratio,momentum_ratio,tube_ratio,acceleration_ratio,\
    torque_ratio,speed_ratio,least_m,sets,truth_inside,mass_kg,mass_half_width_kg,duration_s,touched,reason";

impl Row {
    /// Of a finished run.
    pub fn new(
        job: &str,
        beyond: String,
        seed: u64,
        record: &Record,
        seen: Seen,
        farewell: Farewell,
    ) -> Self {
        let certified = record.attempts.iter().filter(|plan| plan.certified).count();
        let broken = record.broken.first().map(|broken| (broken.t, broken.evidence.to_string()));
        let stopped = record.stopped.as_ref().map(|stop| (stop.t, "stop".to_owned()));
        Self {
            job: job.to_owned(),
            beyond,
            seed,
            outcome: record.outcome,
            reason: record.reason.clone().unwrap_or_default(),
            plans: (certified, record.attempts.len()),
            alarm: broken.or(stopped),
            mass: record.identification.last().map(|last| (f64::NAN, last.known.half_width(0))),
            duration_s: record.duration_s,
            seen,
            farewell,
        }
    }

    /// Whether nothing happened that the proof excludes: no violation, the truth in every set, and no alarm.
    pub fn sound(&self) -> bool {
        self.seen.violations().is_empty() && self.seen.sets.0 == self.seen.sets.1 && self.alarm.is_none()
    }

    /// One line.
    pub fn csv(&self) -> String {
        let seen = &self.seen;
        let number =
            |x: Option<f64>| x.filter(|x| x.is_finite()).map_or(String::new(), |x| format!("{x:.6}"));
        let touched: Vec<&str> = self.farewell.touched.iter().map(|touch| touch.pair.as_str()).collect();
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "'").replace('\n', " "));
        let fields = [
            quoted(&self.job),
            self.beyond.clone(),
            self.seed.to_string(),
            quoted(&self.outcome.to_string()),
            self.plans.0.to_string(),
            self.plans.1.to_string(),
            quoted(&seen.violations().join("; ")),
            number(seen.violated_s),
            number(self.alarm.as_ref().map(|alarm| alarm.0)),
            self.alarm.as_ref().map_or(String::new(), |alarm| alarm.1.clone()),
            number(Some(seen.energy)),
            number(Some(seen.momentum)),
            number(Some(seen.tube)),
            number(Some(seen.acceleration)),
            number(Some(seen.torque)),
            number(Some(seen.speed)),
            number(Some(seen.least_m)),
            seen.sets.0.to_string(),
            seen.sets.1.to_string(),
            number(self.mass.map(|mass| mass.0)),
            number(self.mass.map(|mass| mass.1)),
            number(Some(self.duration_s)),
            quoted(&touched.join("; ")),
            quoted(&self.reason),
        ];
        fields.join(",")
    }
}

/// A table of all jobs within their bounds, and one of what went beyond.
pub fn markdown(rows: &[Row]) -> String {
    let mut jobs: BTreeMap<(bool, &str, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let key = (!row.beyond.is_empty(), row.job.as_str(), row.beyond.as_str());
        jobs.entry(key).or_default().push(row);
    }
    let (mut within, mut beyond) = (String::new(), String::new());
    for ((passed, job, what), rows) in jobs {
        let most = |of: &dyn Fn(&Row) -> f64| rows.iter().map(|row| of(row)).fold(0.0, f64::max);
        let least = rows.iter().map(|row| row.seen.least_m).fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { format!("{:.0} mm", 1e3 * least) } else { "> 50 mm".to_owned() };
        // One law has the one, the other law the other.
        let level = most(&|row| row.seen.energy.max(row.seen.momentum));
        let (tube, acceleration) = (most(&|row| row.seen.tube), most(&|row| row.seen.acceleration));
        let (torque, speed) = (most(&|row| row.seen.torque), most(&|row| row.seen.speed));
        let limits = format!("{:.0} % / {:.0} %", 100.0 * torque, 100.0 * speed);
        let used = format!("{:.1} % / {:.1} % / {:.1} %", 100.0 * level, 100.0 * tube, 100.0 * acceleration);
        if passed {
            let ends: Vec<String> = rows.iter().map(|row| ending(row)).collect();
            let _ =
                writeln!(beyond, "| {job} | {what} | {} | {used} | {limits} | {least} |", ends.join("; "));
            continue;
        }
        let count = |of: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| of(row)).count();
        let (success, violated) =
            (count(&|row| row.outcome == Outcome::Success), count(&|row| !row.seen.violations().is_empty()));
        let sets: u64 = rows.iter().map(|row| row.seen.sets.0).sum();
        let inside: u64 = rows.iter().map(|row| row.seen.sets.1).sum();
        let plans: usize = rows.iter().map(|row| row.plans.0).sum();
        let tried: usize = rows.iter().map(|row| row.plans.1).sum();
        let n = rows.len();
        let _ = writeln!(
            within,
            "| {job} | {success} of {n} | {violated} | {inside} of {sets} | {plans} of {tried} | {used} | {limits} | {least} |"
        );
    }
    let first = "| job | reached the goal | runs with a violation | truth inside | plans certified | V or p / tube / ddq | torque / speed | nearest |\n\
        |---|---|---|---|---|---|---|---|\n";
    let second = "| job | beyond its bound | what happened | V or p / tube / ddq | torque / speed | nearest |\n|---|---|---|---|---|---|\n";
    let beyond = if beyond.is_empty() { beyond } else { format!("\n{second}{beyond}") };
    format!("{first}{within}{beyond}")
}

/// How a run beyond the bounds went.
fn ending(row: &Row) -> String {
    let alarm = row.alarm.as_ref().map(|(t, what)| format!("alarm ({what}) at {t:.2} s"));
    let violations = row.seen.violations();
    let passed = (!violations.is_empty()).then(|| {
        let when = row.seen.violated_s.unwrap_or(f64::NAN);
        format!("{} passed, first at {when:.2} s", violations.join(" and "))
    });
    let outcome = row.outcome.to_string().to_lowercase();
    let said: Vec<String> = [alarm, passed].into_iter().flatten().collect();
    if said.is_empty() { format!("no alarm, {outcome}") } else { said.join(", ") }
}
