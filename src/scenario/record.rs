//! A run in simulation, from the scenario to what is reported: what the loop knew, and what the auditor saw.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::horizon::{
    self, BodyEstimate, Event, Identification, Observer, Outcome, Record, RunError, RunOptions, Task,
    TickTimes,
};
use crate::inertia::INERTIAL;
use crate::plan::Plan;
use crate::report::{Payload, RunRecord, Summary, Violations, summary};
use crate::robot::FramedPayload;
use crate::simulate::faults::PlannerStalls;
use crate::simulate::{Audit, Counts, Paced, World};

use super::{Scenario, replay};

/// Runs a scenario in simulation, to its end.
///
/// # Errors
/// [`RunError`] for an unknown method or a prior that the identifier refuses. Everything that happens to the arm is an
/// [`Outcome`] instead.
pub fn run(
    scenario: Scenario,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<RunRecord<Plan>, RunError> {
    simulate(scenario, options, observer, |task, world, observer| {
        horizon::run_within(task, world, options, observer)
    })
}

/// Runs a scenario in simulation against the wall clock: the world takes as long as it lasts, its control cycle has a thread of its own, and plans have to be ready in time
/// ([`horizon::run_realtime`]).
///
/// # Errors
/// As [`run`].
pub fn run_realtime(
    scenario: Scenario,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<RunRecord<Plan>, RunError> {
    simulate(scenario, options, observer, |task, world, observer| {
        let period_s = task.robot.gains().period_s;
        horizon::run_realtime_within(task, &mut Paced::new(world, period_s), options, observer)
    })
}

/// The same with whatever `run` makes of the arm in place of the loop.
pub(crate) fn simulate(
    scenario: Scenario,
    options: &RunOptions,
    observer: &mut dyn Observer,
    run: impl FnOnce(&Task, &mut World, &mut dyn Observer) -> Result<Record, RunError>,
) -> Result<RunRecord<Plan>, RunError> {
    let (task, truth) = scenario.split();
    let _span = horizon::run_span(&task, options).entered();
    let robot = Arc::new(task.robot.clone());
    let mut stalling = Stalling { inside: observer, stalls: truth.faults().planner_stalls };
    let mut world = World::new(robot, task.scene.clone(), &task.start, truth, options.seed);
    let record = run(&task, &mut world, &mut stalling)?;
    let record = close(record, &task, options, world.reveal());
    let (outcome, reason) = (record.summary.outcome, record.summary.reason.clone());
    let stopped = Event::Stopped { outcome, reason };
    crate::horizon::tell(&stopped);
    observer.event(&stopped);
    Ok(record)
}

/// Holds up the planner once, which tells of each plan that it has proposed before it goes to be certified.
struct Stalling<'a> {
    inside: &'a mut dyn Observer,
    stalls: Option<PlannerStalls>,
}

impl Observer for Stalling<'_> {
    fn event(&mut self, event: &Event) {
        self.inside.event(event);
        if let Event::PlanProposed { t, .. } = event
            && let Some(stall) = self.stalls.take_if(|stall| *t >= stall.at_s)
        {
            thread::sleep(Duration::from_secs_f64(stall.for_s));
        }
    }

    fn asks_to_stop(&mut self) -> bool {
        self.inside.asks_to_stop()
    }
}

/// The record of the run. What the auditor saw outweighs what the loop believed.
fn close(record: Record, task: &Task, options: &RunOptions, audit: Audit) -> RunRecord<Plan> {
    let away: Vec<f64> = audit.q.iter().zip(&record.goal).map(|(q, g)| (q - g).abs()).collect();
    let goal_error = away.iter().copied().fold(0.0, f64::max);
    let misplaced = misplaced(task, &audit, (&away, &record.goal));
    let (outcome, reason) = judged(record.outcome, record.reason, &audit, misplaced);
    let finite = |x: f64| x.is_finite().then_some(x);
    let (payload, payload_alone) =
        payloads(task, record.identification.last(), &audit, record.broken.is_empty()).unzip();
    let payload_alone = payload_alone.flatten();
    let replay = replay::of(task, &audit.states, &record.plans);
    let summary = Summary {
        schema: summary::SCHEMA,
        scenario: task.name.clone(),
        method: options.method.clone(),
        seed: options.seed,
        robot: task.robot.name.clone(),
        trusted: task.robot.trusted(),
        outcome,
        reason,
        broken: record.broken,
        stopped: record.stopped,
        gaps: record.gaps,
        waits: record.waits,
        violations: violations(&audit),
        touched_at_rest: audit.touched_at_rest,
        truth_inside: audit.truth_inside,
        payload,
        payload_alone,
        most_probable: record.most_probable,
        identification: record.identification,
        adapted: record.adapted,
        unproven: false,
        placing: task.placing.map(|placing| placing.error(&task.robot, &audit.q, &record.goal)),
        plans: record.attempts,
        max_tracking_error_rad: finite(audit.tracking_error_rad),
        tube_used_ratio: finite(audit.tube_used),
        max_torque_ratio: finite(audit.torque_ratio),
        min_clearance_m: finite(audit.clearance_m),
        closest: audit.closest,
        springs: audit.springs,
        goal_error_rad: finite(goal_error),
        integration_error_rad: finite(audit.integration_error_rad),
        route_ms: record.route_ms,
        deadline_misses: record.deadline_misses,
        ticks: record.ticks.as_ref().map(TickTimes::summary),
        duration_s: record.duration_s,
        wall_s: record.wall_s,
    };
    RunRecord {
        summary,
        log: record.log,
        clearance: audit.clearance,
        approaches: audit.approaches.iter().map(|near| (near.t, near.distance_m, near.at_rest)).collect(),
        joints: task.robot.joints.iter().map(|j| j.name.clone()).collect(),
        torque_limit: task.robot.joints.iter().map(|j| j.limits.torque).collect(),
        tube: record.tube,
        plans: record.plans,
        set_proof: record.set_proof,
        replay: Some(replay),
    }
}

fn violations(audit: &Audit) -> Violations {
    let Counts { collision, torque, position, velocity, tube } = audit.counts;
    Violations { collision, torque, position, velocity, tube }
}

/// A violation of the true state decides the outcome, whatever the runner believed.
fn judged(
    outcome: Outcome,
    reason: Option<String>,
    audit: &Audit,
    misplaced: Option<String>,
) -> (Outcome, Option<String>) {
    let counts = [
        (audit.counts.collision, Outcome::Collision, "contact"),
        (audit.counts.torque, Outcome::TorqueLimit, "a torque beyond its limit"),
        (audit.counts.position, Outcome::PositionLimit, "a position beyond its limit"),
        (audit.counts.velocity, Outcome::VelocityLimit, "a velocity beyond its limit"),
    ];
    if let Some((steps, violated, what)) = counts.into_iter().find(|(steps, ..)| *steps > 0) {
        let before = reason.map(|r| format!("; {r}")).unwrap_or_default();
        return (violated, Some(format!("{what} in {steps} integration steps{before}")));
    }
    match misplaced {
        Some(reason) if outcome == Outcome::Success => (Outcome::Misplaced, Some(reason)),
        _ => (outcome, reason),
    }
}

/// Why what is held is not where it belongs: by the tolerance of its place where there is one, else by that of the joints.
fn misplaced(task: &Task, audit: &Audit, (away, goal): (&[f64], &[f64])) -> Option<String> {
    if let Some(placing) = &task.placing {
        return placing.fault(&placing.error(&task.robot, &audit.q, goal));
    }
    let j = (0..away.len()).find(|&j| away[j] > task.goal_tolerance_rad[j])?;
    let (name, tolerance) = (&task.robot.joints[j].name, task.goal_tolerance_rad[j]);
    Some(format!("joint '{name}' is {:.4} rad from the goal, tolerance {tolerance} rad", away[j]))
}

/// The whole last body, and the payload alone in the frame that the prior names: with bounds as long as nothing that they rest on is proven to be false
/// (`unbroken`). `None` where nothing is held.
fn payloads(
    task: &Task,
    last: Option<&Identification>,
    audit: &Audit,
    unbroken: bool,
) -> Option<(Payload, Option<FramedPayload>)> {
    let (truth, prior) = (audit.payload?, &task.held.as_ref()?.prior);
    let guess = prior.guess()?;
    let known = match last {
        Some(update) => update.known.clone(),
        None => {
            let (lower, upper) = (prior.lower?.to_vec(), prior.upper?.to_vec());
            BodyEstimate { nominal: guess.to_vec(), lower, upper }
        }
    };
    let ten = |x: &[f64]| -> Option<[f64; INERTIAL]> { x.try_into().ok() };
    let bounds = ten(&known.lower).zip(ten(&known.upper)).map(|(lower, upper)| [lower, upper]);
    let bounds = bounds.filter(|_| unbroken);
    let robot = &task.robot;
    let (frame, stated) = (prior.frame.as_deref(), prior.stated.as_ref());
    let alone = FramedPayload::of_last_body(robot, frame, &ten(&known.nominal)?, bounds, stated);
    let alone = alone.ok().map(|alone| alone.with_truth(robot, &truth));
    Some((Payload::new(truth.to_vec(), known), alone))
}
