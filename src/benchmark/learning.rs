//! What a method does before it carries what is held: it moves so as to learn that, or does nothing.

use std::sync::Arc;

use super::follow::Follower;
use super::law::Law;
use super::preset::{FourierLearning, PlannedLearning};
use crate::horizon::{
    BodyEstimate, Ending, Hardware, Identification, Learner, Observer, Outcome, Record, RunError, RunOptions,
    Session, Task,
};
use crate::inertia::{INERTIAL, ParameterSet};
use crate::plan::excite::open::{CurveBasis, DesignLimits, DesignTask, design};
use crate::plan::propose::ConstraintModel;
use crate::plan::tube_fit;
use crate::recording::Sample;
use crate::trajectory::{JointState, PiecewiseBezier};

/// Samples of a Fourier design at which cost and limits are looked at.
const SAMPLES: usize = 200;

/// What a method has when it comes to the path.
pub(super) struct Lesson {
    /// What was recorded.
    pub(super) record: Record,
    /// What was identified: the guaranteed set, and the body in it that is believed.
    pub(super) known: Option<(ParameterSet, [f64; INERTIAL])>,
}

/// One of the motions that an arm followed.
pub(super) struct Stretch {
    curve: PiecewiseBezier,
    duration_s: f64,
}

/// The task of which `ours` is to do all but the path.
pub(super) fn without_path(task: &Task, how: &PlannedLearning, planner: ConstraintModel) -> Task {
    let mut task = adjusted(task, how, planner);
    if let Some(path) = task.path.take() {
        task.goal = path.start();
    }
    task
}

/// The task as a method's way to learn and its planner have it.
pub(super) fn adjusted(task: &Task, how: &PlannedLearning, planner: ConstraintModel) -> Task {
    let mut task = Task { planner, ..task.clone() };
    if let Some(held) = &mut task.held {
        held.excite.criterion = how.criterion.unwrap_or(held.excite.criterion);
        held.identify.method = how.intervals.unwrap_or(held.identify.method);
        held.identify.correlated &= how.correlated;
    }
    task
}

/// Proven motions, then the way to the start of the path. The record says how far it came.
pub(super) fn planned<H: Hardware>(
    task: &Task,
    hardware: &mut H,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Lesson, RunError> {
    let mut session = Session::begin(task, hardware, options, Box::new(observer))?;
    let learnt = learn_and_come_back(&mut session, task);
    let set = session.set().clone();
    let mut record = session.close();
    (record.outcome, record.reason) = match learnt {
        Ok(()) => (Outcome::Success, None),
        Err(Ending::Broken(broken)) => (Outcome::AssumptionBroken, Some(broken.text.clone())),
        Err(Ending::NotProven(reason) | Ending::Stopped(reason)) => (Outcome::SafeStop, Some(reason)),
    };
    let last = record.identification.last().and_then(|last| last.known.nominal.clone().try_into().ok());
    Ok(Lesson { known: last.map(|body| (set, body)), record })
}

fn learn_and_come_back(session: &mut Session<'_>, task: &Task) -> Result<(), Ending> {
    let weigh_s = task.held.as_ref().map_or(0.0, |held| held.identify.weigh_s);
    if weigh_s > 0.0 {
        session.weigh(weigh_s)?;
    }
    match session.learn(task.timing.exciting_plans, &|_| false) {
        // With fewer motions than wished for it goes on with what it knows, as the loop does.
        Ok(_) | Err(Ending::NotProven(_)) => {}
        Err(other) => return Err(other),
    }
    session.go(&task.goal)
}

/// The motions of a record, each as long as it was followed.
pub(super) fn motions(record: &Record) -> Vec<Stretch> {
    let starts = record.plans.iter().map(|plan| plan.t_start_s).skip(1).chain([record.duration_s]);
    record
        .plans
        .iter()
        .zip(starts)
        .map(|(plan, end)| Stretch { curve: plan.curve.clone(), duration_s: end - plan.t_start_s })
        .collect()
}

/// Follows motions one after the other.
pub(super) fn follow_motions<H: Hardware>(
    follower: &mut Follower<'_, H>,
    law: &mut Law,
    motions: &[Stretch],
) -> Result<(), String> {
    motions.iter().try_for_each(|stretch| {
        let desired = |t: f64, out: &mut JointState| stretch.curve.evaluate(t, out);
        follower.follow(law, &desired, stretch.duration_s)
    })
}

/// Follows a Fourier series that starts and ends where the arm is. What it tells is identified as in [1, Algorithm 1]; as nothing is proven about the
/// motion, the set carries no guarantee and only its nominal body is used. An error says why nothing was learnt.
pub(super) fn fourier<H: Hardware>(
    task: &Task,
    follower: &mut Follower<'_, H>,
    law: &mut Law,
    (series, seed): (&FourierLearning, u64),
) -> Result<(Identification, ParameterSet), String> {
    let held = task.held.as_ref().ok_or("nothing is held, so there is nothing to learn")?;
    let prior = task.prior_set().map_err(|fault| fault.to_string())?;
    let robot = Arc::clone(&follower.robot);
    let what = DesignTask {
        robot: &robot,
        set: &prior,
        scene: &task.scene,
        start: &task.start,
        duration_s: series.duration_s,
        samples: SAMPLES,
        limits: DesignLimits::Kinematic(series.acceleration_rad_s2),
    };
    let (curve, _) = design(&what, CurveBasis::Fourier(series.harmonics), series.evaluations, seed)
        .ok_or("no Fourier series keeps the limits of position, speed and acceleration")?;
    let first = follower.log.len();
    let desired = |t: f64, out: &mut JointState| curve.evaluate(t, out);
    follower.follow(law, &desired, curve.duration_s())?;
    let bound = tube_fit::initial(&robot).acceleration_bound;
    let mut learner = Learner::new(robot.clone(), held, &prior, bound).map_err(|e| e.to_string())?;
    for row in &follower.log[first..] {
        let (q, dq, tau) = (row.q.clone(), row.dq.clone(), row.tau.clone());
        learner.push(Sample { t: row.t, q, dq, tau }).map_err(|broken| broken.text.clone())?;
    }
    let t = follower.hardware.time();
    let update = learner.update(t).map_err(|broken| broken.text.clone())?;
    let body = update.set.body(robot.end_effector());
    let known = BodyEstimate {
        nominal: update.nominal.to_vec(),
        lower: body.lower().to_vec(),
        upper: body.upper().to_vec(),
    };
    let condition_number = Some(update.condition_number).filter(|c| c.is_finite());
    Ok((Identification { t, known, condition_number, update_ms: update.update_ms }, update.set))
}
