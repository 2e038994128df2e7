//! What a run writes down while it goes on, and how it is closed with the audit.

use crate::identify::SetProof;
use crate::plan::Plan;
use crate::report::{
    Broken, Gap, Identification, LogRow, MostProbable, Outcome, Payload, PlanSummary, RunRecord, Summary,
    TubeStep, Violations, summary,
};
use crate::robot::INERTIAL;
use crate::simulate::Audit;

use super::PublicTask;
use super::run::RunOptions;

/// Notes of a run.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) identification: Vec<Identification>,
    pub(super) plans: Vec<PlanSummary>,
    pub(super) executed: Vec<Plan>,
    pub(super) log: Vec<LogRow>,
    pub(super) gaps: Vec<Gap>,
    pub(super) deadline_misses: u64,
    pub(super) route_ms: Option<f64>,
    tube: Vec<TubeStep>,
    torque_limit: Vec<f64>,
}

/// How a run ended.
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) reason: Option<String>,
    pub(super) broken: Vec<Broken>,
    pub(super) audit: Audit,
    pub(super) goal: Vec<f64>,
    pub(super) duration_s: f64,
    pub(super) wall_s: f64,
    pub(super) most_probable: Option<MostProbable>,
    pub(super) set_proof: Option<SetProof>,
}

impl Story {
    pub(super) fn new(task: &PublicTask) -> Self {
        Self {
            identification: vec![],
            plans: vec![],
            executed: vec![],
            log: vec![],
            gaps: vec![],
            deadline_misses: 0,
            route_ms: None,
            tube: vec![],
            torque_limit: task.robot.joints.iter().map(|j| j.limits.torque).collect(),
        }
    }

    /// A plan with this tube is in force from `t` on. |de_j| = |r_j - K_r e_j| is at most twice the radius of r_j.
    pub(super) fn switched(&mut self, t: f64, e_radius: &[f64], r_radius: &[f64]) {
        let largest = |x: &[f64]| x.iter().copied().fold(0.0, f64::max);
        self.tube.push(TubeStep {
            t,
            position_rad: largest(e_radius),
            velocity_rad_s: 2.0 * largest(r_radius),
        });
    }

    /// The record of the run. What the auditor saw outweighs what the runner believed.
    pub(super) fn close(self, task: &PublicTask, options: &RunOptions, end: End) -> RunRecord<Plan> {
        let End { outcome, reason, broken, audit, goal, duration_s, wall_s, most_probable, set_proof } = end;
        let away: Vec<f64> = audit.q.iter().zip(&goal).map(|(q, g)| (q - g).abs()).collect();
        let goal_error = away.iter().copied().fold(0.0, f64::max);
        let (outcome, reason) = judged(outcome, reason, &audit, task, &away);
        let finite = |x: f64| x.is_finite().then_some(x);
        let (payload, payload_alone) = payloads(task, self.identification.last(), &audit).unzip();
        let counts = audit.counts;
        let summary = Summary {
            schema: summary::SCHEMA,
            scenario: task.name.clone(),
            method: options.method.clone(),
            seed: options.seed,
            robot: task.robot.name.clone(),
            trusted: task.robot.trusted(),
            outcome,
            reason,
            broken,
            gaps: self.gaps,
            violations: Violations {
                collision: counts.collision,
                torque: counts.torque,
                position: counts.position,
                velocity: counts.velocity,
                tube: counts.tube,
            },
            truth_inside: audit.truth_inside,
            payload,
            payload_alone,
            most_probable,
            identification: self.identification,
            plans: self.plans,
            max_tracking_error_rad: finite(audit.tracking_error_rad),
            tube_used_ratio: finite(audit.tube_used),
            max_torque_ratio: finite(audit.torque_ratio),
            min_clearance_m: finite(audit.clearance_m),
            goal_error_rad: finite(goal_error),
            integration_error_rad: finite(audit.integration_error_rad),
            route_ms: self.route_ms,
            deadline_misses: self.deadline_misses,
            duration_s,
            wall_s,
        };
        RunRecord {
            summary,
            log: self.log,
            clearance: audit.clearance,
            torque_limit: self.torque_limit,
            tube: self.tube,
            plans: self.executed,
            set_proof,
        }
    }
}

/// A violation of the true state decides the outcome, whatever the runner believed.
fn judged(
    outcome: Outcome,
    reason: Option<String>,
    audit: &Audit,
    task: &PublicTask,
    away: &[f64],
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
    let far = (0..away.len()).find(|&j| away[j] > task.goal_tolerance_rad[j]);
    if let Some(j) = far.filter(|_| outcome == Outcome::Success) {
        let (name, tolerance) = (&task.robot.joints[j].name, task.goal_tolerance_rad[j]);
        let reason = format!("joint '{name}' is {:.4} rad from the goal, tolerance {tolerance} rad", away[j]);
        return (Outcome::Misplaced, Some(reason));
    }
    (outcome, reason)
}

/// The whole last body, and the payload alone: the nominal gripper link subtracted, its own uncertainty added to the
/// interval. `None` where nothing is held.
fn payloads(task: &PublicTask, last: Option<&Identification>, audit: &Audit) -> Option<(Payload, Payload)> {
    let (truth, prior) = (audit.payload?, &task.held.as_ref()?.prior);
    let (nominal, lower, upper) = match last {
        Some(i) => (i.nominal.clone(), i.lower.clone(), i.upper.clone()),
        None => (prior.nominal.to_vec(), prior.lower.to_vec(), prior.upper.to_vec()),
    };
    let empty = &task.robot.joints[task.robot.end_effector].inertia;
    let spread = |p: usize| task.robot.uncertainty.of_link(p, empty[p]);
    let less =
        |x: &[f64], sign: f64| (0..INERTIAL).map(|p| x[p] - empty[p] + sign * spread(p)).collect::<Vec<_>>();
    let alone = Payload::new(less(&truth, 0.0), less(&nominal, 0.0), less(&lower, -1.0), less(&upper, 1.0));
    Some((Payload::new(truth.to_vec(), nominal, lower, upper), alone))
}
