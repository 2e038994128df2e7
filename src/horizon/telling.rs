//! What a run tells `tracing`: all that it tells its observer, and each assumption that is found broken.
//!
//! Nothing here is called within a control tick.

use crate::robot::{Arm, Scene};

use super::cycle::Row;
use super::event::{Event, Observer};
use super::evidence::Broken;
use super::run::RunOptions;
use super::task::Task;

/// An observer of whose events `tracing` is told too.
pub(super) struct Telling<'a>(pub Box<dyn Observer + 'a>);

impl Observer for Telling<'_> {
    fn event(&mut self, event: &Event) {
        tell(event);
        self.0.event(event);
    }

    fn asks_to_stop(&mut self) -> bool {
        self.0.asks_to_stop()
    }
}

/// To which run an event belongs. A span of its own, whatever goes on around it: a thread that waits within one run may begin another meanwhile.
pub(crate) fn run_span(task: &Task, options: &RunOptions) -> tracing::Span {
    let (scenario, robot) = (&*task.name, &*task.robot.name);
    tracing::info_span!(parent: None, "run", scenario, robot, seed = options.seed)
}

/// Tells `tracing` of an event of a run.
pub(crate) fn tell(event: &Event) {
    match event {
        Event::RunStarted { scenario, method, seed, robot } => {
            tracing::info!(scenario = &**scenario, method = &**method, seed, robot = &**robot, "run started");
        }
        Event::PlanProposed { index, phase, t, propose_ms } => {
            tracing::info!(plan = index, %phase, t, propose_ms, "plan proposed");
        }
        Event::PlanCertified { index, phase, t, propose_ms, certify_ms, min_margin } => {
            tracing::info!(
                plan = index, %phase, t, propose_ms, certify_ms,
                margin_position_rad = min_margin.position,
                margin_velocity_rad_s = min_margin.velocity,
                margin_torque_nm = min_margin.torque,
                margin_collision_m = min_margin.collision,
                "plan certified"
            );
        }
        Event::PlanFailed { index, reason } => {
            tracing::warn!(plan = index, reason = &**reason, "plan failed");
        }
        Event::Executing { t, t_end, phase, tracking_ratio } => {
            tracing::debug!(t, t_end, %phase, tracking_ratio, "executing");
        }
        Event::Identified { t, mass_lower, mass_upper, half_widths, update_ms, condition_number } => {
            tracing::info!(
                t,
                mass_lower_kg = mass_lower,
                mass_upper_kg = mass_upper,
                ?half_widths,
                update_ms,
                condition_number,
                "set identified"
            );
        }
        Event::Gap { from, to } => tracing::warn!(from_s = from, to_s = to, "measurements are missing"),
        Event::Waiting { t, obstacle } => tracing::info!(t, obstacle = &**obstacle, "waiting"),
        Event::Stopped { outcome, reason } => {
            tracing::info!(%outcome, reason = reason.as_deref(), "run ended");
        }
    }
}

/// Tells `tracing` that an assumption is broken.
pub(super) fn tell_broken(broken: &Broken) {
    let Broken { t, joint, at_least, evidence, text } = broken;
    tracing::warn!(t, joint = joint.as_deref(), at_least, %evidence, reason = &**text, "assumption broken");
}

/// Tells `tracing` what a viewer draws: capsules in the frames of joints, and obstacles (base frame), as the plan file has them.
pub(super) fn tell_world(robot: &Arm, scene: &Scene) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let json = |value: serde_json::Result<String>| value.unwrap_or_else(|error| error.to_string());
    let (shapes, obstacles) =
        (serde_json::to_string(robot.shapes()), serde_json::to_string(&scene.obstacles));
    let joints: Vec<&str> = robot.joints.iter().map(|joint| joint.name.as_str()).collect();
    tracing::debug!(?joints, shapes = json(shapes), obstacles = json(obstacles), "arm and obstacles");
}

/// Tells `tracing` where the arm is and what its drives do.
pub(super) fn tell_state(row: &Row) {
    let Row { t, q, dq, tau, .. } = row;
    tracing::debug!(t, q = ?&q[..], dq = ?&dq[..], tau = ?&tau[..], "state");
}
