//! What would have to be better for what is not provable, each thing alone, by bisection.
//!
//! A shorter period, more transmission inertia and finer velocities make each term of the proof smaller. So one side of each bisection is proven and the
//! other is not; what is told is a value of the proven side.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use super::{CELLS, TuningProblem, follow, measure};
use crate::plan::setup::Setup;
use crate::reach::momentum::CycleTiming;
use crate::report::figure::{above, below};
use crate::robot::{Arm, Gains, RobotError, Sensors, TimingBounds};
use crate::trajectory::Bezier;

/// Factors by which one thing alone may be better.
pub(super) const MOST_BETTER: f64 = 32.0;
/// Halvings of an interval of factors, in logarithms: the last one is a hundredth of a power of ten wide.
const HALVINGS: usize = 7;
/// Shares of V_max with which gains are tried where something is better: a narrower tube is what it may allow.
const NARROWER: [f64; 4] = [1.0, 0.5, 0.25, 0.125];

/// Halvings of the control period that are tried for gains that are not followed.
const SHORTER: u32 = 3;

/// What would be enough for what is asked, each alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Needs {
    /// A control period, s; `None` if a 32nd of the robot's is not enough.
    pub period_s: Option<f64>,
    /// So many times the transmission inertia of every joint; `None` if 32 times are not enough.
    pub armature_ratio: Option<f64>,
    /// A bound on the errors of measured velocities, rad/s (m/s); `None` if a 32nd of the robot's is not enough.
    pub velocity_rad_s: Option<f64>,
    /// So many times as fresh readings and commands; `None` if 32 times are not enough, or if the arm is on time.
    pub fresher_ratio: Option<f64>,
    /// Whether fresher ones were tried: the arm is late.
    #[serde(skip)]
    late: bool,
}

/// Something about the robot that is to be better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Better {
    Period,
    Armature,
    Velocity,
    Age,
}

impl Needs {
    /// How many things are tried for an arm.
    fn tried(robot: &Arm) -> &'static [Better] {
        const ALL: [Better; 4] = [Better::Period, Better::Armature, Better::Velocity, Better::Age];
        if robot.timing().first_above_zero().is_none() { &ALL[..3] } else { &ALL }
    }

    /// Whether none of them alone is enough.
    pub(super) fn are_not_met(&self) -> bool {
        let Self { period_s, armature_ratio, velocity_rad_s, fresher_ratio, late: _ } = self;
        [period_s, armature_ratio, velocity_rad_s, fresher_ratio].iter().all(|found| found.is_none())
    }

    /// By bisection of what `works` says of a thing that is better by a factor.
    pub(super) fn find(robot: &Arm, works: &(dyn Fn(Better, f64) -> bool + Sync)) -> Self {
        let tried = Self::tried(robot).par_iter();
        let factors: Vec<Option<f64>> = tried.map(|what| enough(&|f| works(*what, f))).collect();
        Self {
            period_s: factors[0].map(|factor| robot.gains().period_s / factor),
            armature_ratio: factors[1],
            velocity_rad_s: factors[2].map(|factor| better_velocity(robot, factor)),
            fresher_ratio: factors.get(3).copied().flatten(),
            late: factors.len() > 3,
        }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let enough = [
            self.period_s.map(|s| format!("a control period of {} ms", below(1e3 * s))),
            self.armature_ratio.map(|ratio| format!("{} times the transmission inertia", above(ratio))),
            self.velocity_rad_s.map(|bound| format!("measured velocities within {} rad/s", below(bound))),
            self.fresher_ratio.map(|ratio| format!("readings and commands {} times as fresh", above(ratio))),
        ];
        let enough: Vec<String> = enough.into_iter().flatten().collect();
        if enough.is_empty() {
            let ages = if self.late { ", nor readings and commands as many times as fresh," } else { "" };
            return write!(
                f,
                "neither a control period nor velocity errors {MOST_BETTER} times smaller nor {MOST_BETTER} times the transmission inertia{ages} are \
                 enough alone"
            );
        }
        write!(f, "enough for it, each alone: {}", enough.join("; "))
    }
}

/// The least factor, to within the bisection, that works; `None` if the largest does not.
fn enough(works: &dyn Fn(f64) -> bool) -> Option<f64> {
    if !works(MOST_BETTER) {
        return None;
    }
    let (mut low, mut high) = (1.0f64, MOST_BETTER);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if works(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Bound of velocities whose encoders err less by a factor, rad/s; what springs need of it stays.
fn better_velocity(robot: &Arm, factor: f64) -> f64 {
    let own = robot.encoders().velocity_rad_s;
    robot.sensors().velocity_rad_s - own + own / factor
}

/// The arm with one thing better by a factor.
pub(super) fn better(robot: &Arm, what: Better, factor: f64) -> Option<Arm> {
    let changed = match what {
        Better::Period => faster(robot, factor),
        Better::Armature => robot.changed(|arm| {
            arm.model.joints.iter_mut().for_each(|joint| joint.friction.armature *= factor);
        }),
        Better::Velocity => {
            let velocity_rad_s = better_velocity(robot, factor);
            robot.with_sensors(Sensors { velocity_rad_s, ..robot.sensors().clone() })
        }
        Better::Age => {
            let timing = robot.timing();
            let TimingBounds {
                reading_age_max_s, command_delay_max_s, jitter_max_s, drive_lag_max_s, ..
            } = timing;
            robot.with_timing(TimingBounds {
                reading_age_max_s: reading_age_max_s / factor,
                command_delay_max_s: command_delay_max_s / factor,
                jitter_max_s: jitter_max_s / factor,
                drive_lag_max_s: drive_lag_max_s / factor,
                ..timing
            })
        }
    };
    changed.ok()
}

/// The arm with a shorter period. Ticks shake less in proportion: a jitter of more than the period would be none.
fn faster(robot: &Arm, factor: f64) -> Result<Arm, RobotError> {
    let (mut gains, mut timing) = (robot.gains(), robot.timing());
    gains.period_s /= factor;
    timing.jitter_max_s /= factor;
    // Times are judged against the period.
    robot.with_timing(TimingBounds::EXACT)?.with_gains(gains)?.with_timing(timing)
}

/// The same with what is known of the arm, whatever its set came from.
pub(super) fn better_setup(setup: &Setup, what: Better, factor: f64) -> Option<Setup> {
    let mut changed = setup.clone();
    changed.robot = better(&setup.robot, what, factor)?;
    if what == Better::Armature {
        for j in 0..setup.robot.dof() {
            // Third of Coulomb, viscous, transmission inertia and offset.
            let p = setup.robot.friction_index(j) + 2;
            let scaled = [setup.set.lower()[p], setup.set.upper()[p]].map(|x| factor * x);
            changed.set = changed.set.with_intervals(p, &scaled[..1], &scaled[1..]).ok()?;
        }
    }
    Some(changed)
}

/// Gains to try where the period is shorter by a factor: the same number of ticks within 1 / alpha, in tubes as wide and narrower.
pub(super) fn narrower(gains: Gains, factor: f64) -> impl Iterator<Item = Gains> {
    let alpha = gains.alpha * factor;
    let period_s = gains.period_s / factor;
    NARROWER.into_iter().map(move |share| Gains { alpha, period_s, v_max: share * gains.v_max, ..gains })
}

impl TuningProblem {
    /// What would make these gains, or a narrower tube with them, provable. `progress` counts on from what is done.
    pub(super) fn needs(
        &self,
        gains: Gains,
        curves: &[Bezier],
        (done, progress): (u64, &(dyn Fn(u64, u64) + Sync)),
        growth_m: f64,
    ) -> Needs {
        let things = Needs::tried(&self.arm.robot).len() as u64;
        let (tries, count) = (done + things * (HALVINGS as u64 + 1), AtomicU64::new(done));
        Needs::find(&self.arm.robot, &|what, factor| {
            progress(count.fetch_add(1, Ordering::Relaxed) + 1, tries);
            let Some(setup) = better_setup(&self.arm, what, factor) else { return false };
            narrower(gains, if what == Better::Period { factor } else { 1.0 }).any(|gains| {
                let found = measure::proven(&setup, gains, curves, CELLS);
                found.is_ok_and(|proven| proven.growth_m <= growth_m)
            })
        })
    }

    /// A control period, s, a power of two times shorter, at which these gains are followed; readings and commands are as late as they are.
    pub(super) fn calm_period_s(&self, gains: Gains, curves: &[Bezier], seed: u64) -> Option<f64> {
        let halved = (1..=SHORTER).map(|k| gains.period_s / f64::from(1 << k));
        halved.into_iter().find(|period_s| {
            let timing = CycleTiming { period_s: *period_s, ..self.timing };
            let gains = Gains { period_s: *period_s, ..gains };
            let simulated = follow::simulated(&self.arm, gains, curves, (&timing, seed));
            simulated.refusal(&self.arm.robot.joints).is_none()
        })
    }
}

/// How the needs of gains that are not provable are begun.
pub(super) const WITH_THESE: &str = "With these gains, or with them and a narrower tube";

/// What would let gains be followed that are not.
pub(super) fn fresher(period_s: Option<f64>) -> String {
    match period_s {
        Some(period_s) => format!("At a control period of {:.3} ms these gains are followed", 1e3 * period_s),
        None => format!(
            "A control period {} times shorter does not help: fresher readings and commands (timing.latency_s, delay_s), finer velocities, or less that \
             drives get wrong would do",
            1 << SHORTER
        ),
    }
}
