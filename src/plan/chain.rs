//! Proves a run's plans anew, one after the other from rest, and holds them against one's own files.

use crate::certify::{Certificate, Margin, Partition, Refusal};
use crate::enclose::Rounding;
use crate::inertia::ParameterSet;
use crate::robot::{Arm, Scene};

use super::Plan;
use super::believed::{Believed, differences, narrower, robot_differences};
use super::propose::cells;
use super::saved::PlanStart;

/// A repeated proof finds the stored margins again, to this at least: the proof's arithmetic is the same on all machines.
const SAME_MARGIN: f64 = 1e-9;
/// What rounding makes of times (s) and places (m) at which an obstacle was seen.
const SAME_MOMENT: f64 = 1e-9;
/// See [`SAME_MOMENT`].
const SAME_PLACE: f64 = 1e-6;

/// One's own files, where one has them.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// The robot as its own file has it.
    pub robot: Option<Arm>,
    /// The task as the scenario has it.
    pub task: Option<ExpectedTask>,
}

/// What a scenario says of a run's plans.
#[derive(Debug, Clone)]
pub struct ExpectedTask {
    /// The robot with what it holds.
    pub robot: Arm,
    /// Obstacles.
    pub scene: Scene,
    /// Where the arm stands at first, rad.
    pub start: Vec<f64>,
    /// What is believed before the first measurement.
    pub prior: ParameterSet,
    /// What physics leaves of that, unless what is held is weighed first. The first plan must be proven for all of it.
    pub first_set: Option<ParameterSet>,
}

/// What came of one plan.
#[derive(Debug, Clone)]
pub struct Link {
    /// What was proven, or what stands in the way.
    pub proof: Result<Certificate, Vec<String>>,
    /// What had to be believed.
    pub believed: Believed,
}

/// Verifies the plans of one run in their order; each goes to `tell` as soon as it is done.
pub fn verify<R: Rounding>(plans: &[Plan], expected: &Expected, mut tell: impl FnMut(usize, &Link)) -> bool {
    let mut before: Option<(&Plan, f64)> = None;
    let mut proven = true;
    for (k, plan) in plans.iter().enumerate() {
        let link = Link {
            proof: link::<R>(plan, k, before, plans.first(), expected),
            believed: Believed::of(plan, before.is_none()),
        };
        proven &= link.proof.is_ok();
        tell(k, &link);
        // What follows a plan that is not proven is proven on the belief that its start is within its tube.
        before = link.proof.as_ref().ok().map(|certificate| (plan, certificate.excess));
    }
    proven
}

/// Everything about one plan.
fn link<R: Rounding>(
    plan: &Plan,
    k: usize,
    before: Option<(&Plan, f64)>,
    first: Option<&Plan>,
    expected: &Expected,
) -> Result<Certificate, Vec<String>> {
    let mut faults = held_against(plan, k, expected);
    if k == 0 && plan.start != PlanStart::Rest && expected.task.is_some() {
        faults.push(
            "start: it starts in motion, expected the first plan of a run, which starts at rest".to_owned(),
        );
    }
    if let Some(first) = first.filter(|_| k > 0) {
        faults.extend(differences("robot", &plan.robot, &first.robot));
        faults.extend(scene_differences(&plan.scene, &first.scene));
        if plan.start == PlanStart::Rest {
            faults.push("start: at rest, but only the first plan of a run may be".to_owned());
        }
    }
    faults.extend(before.and_then(|(before, _)| out_of_time(plan, before)));
    faults.extend(before.and_then(|(before, _)| too_fast(plan, before)));
    if !faults.is_empty() {
        return Err(faults);
    }
    let partition = Partition { cells: cells(plan.curve.duration_s()), ..Partition::default() };
    let refused = |refusal: Refusal| vec![refusal.to_string()];
    let certificate = plan.verify::<R>(before, partition).map_err(refused)?;
    let claims = overstated(&plan.certificate, &certificate);
    if claims.is_empty() { Ok(certificate) } else { Err(claims) }
}

/// Where the plan is not what one's own files say.
fn held_against(plan: &Plan, k: usize, expected: &Expected) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(robot) = &expected.robot {
        faults.extend(robot_differences(&plan.robot, robot));
    }
    let Some(task) = &expected.task else { return faults };
    faults.extend(differences("robot", &plan.robot, &task.robot));
    faults.extend(scene_differences(&plan.scene, &task.scene));
    if k == 0 {
        let start = plan.curve.start();
        faults.extend(differences("start", &start, &task.start));
        let first = task.first_set.as_ref();
        faults.extend(first.map(|set| narrower(&plan.robot, &plan.set, set)).unwrap_or_default());
    }
    faults
}

/// Differences of two scenes. Where an obstacle that moves was seen, and how long ago, each plan says for itself.
fn scene_differences(found: &Scene, own: &Scene) -> Vec<String> {
    let mut alike = found.clone();
    for (obstacle, own) in alike.obstacles.iter_mut().zip(&own.obstacles).filter(|(_, own)| own.moves()) {
        (obstacle.center, obstacle.age_s) = (own.center, own.age_s);
        obstacle.generators.clone_from(&own.generators);
    }
    differences("scene", &alike, own)
}

/// Where an obstacle has moved faster from one plan to the next than both say it can.
fn too_fast(plan: &Plan, before: &Plan) -> Option<String> {
    let pairs = plan.scene.obstacles.iter().zip(&before.scene.obstacles);
    pairs.filter(|(now, _)| now.moves()).find_map(|(now, then)| {
        let elapsed = (plan.t_start_s - now.age_s) - (before.t_start_s - then.age_s);
        let (moved, allowed) = (now.moved_from(then), now.speed_m_s * elapsed);
        // Also false where something is no number.
        let within = elapsed >= -SAME_MOMENT && moved <= allowed.max(0.0) + SAME_PLACE;
        (!within).then(|| {
            format!(
                "scene.obstacles['{}']: it moved by {moved} m in {elapsed} s since it was seen for the plan before, expected at most {allowed} m",
                now.name
            )
        })
    })
}

/// Where the plan's time of start is not that of its tick.
fn out_of_time(plan: &Plan, before: &Plan) -> Option<String> {
    let PlanStart::AfterTicks(ticks) = plan.start else { return None };
    let period = before.tube.period_s();
    let (stated, by_ticks) = (plan.t_start_s - before.t_start_s, ticks as f64 * period);
    let same = (stated - by_ticks).abs() <= 0.5 * period;
    (!same).then(|| {
        format!(
            "t_start_s: {stated} s after the plan before, but its start is after {ticks} ticks, {by_ticks} s"
        )
    })
}

/// Margins that the file claims and that are not proven.
fn overstated(claimed: &Certificate, proven: &Certificate) -> Vec<String> {
    let pairs = [
        ("position", &claimed.position, &proven.position),
        ("velocity", &claimed.velocity, &proven.velocity),
        ("torque", &claimed.torque, &proven.torque),
        ("collision", &claimed.collision, &proven.collision),
        ("tube", &claimed.tube, &proven.tube),
    ];
    let more = |claimed: &Margin, proven: &Margin| match (claimed.value, proven.value) {
        (Some(claimed), Some(proven)) => !(claimed <= proven + SAME_MARGIN * (1.0 + proven.abs())),
        (claimed, proven) => claimed.is_some() != proven.is_some(),
    };
    let wrong = pairs.into_iter().filter(|(_, claimed, proven)| more(claimed, proven));
    // Nothing is said of a time where distances hold for ever.
    let until = |certificate: &Certificate| certificate.clear_until_s.unwrap_or(f64::INFINITY);
    let longer = !(until(claimed) <= until(proven) + SAME_MOMENT);
    let longer = longer.then(|| {
        format!(
            "certificate.clear_until_s: the file claims {} s, proven are {} s",
            until(claimed),
            until(proven)
        )
    });
    wrong
        .map(|(name, claimed, proven)| {
            let [claimed, proven] =
                [claimed, proven].map(|m| m.value.map_or("none".to_owned(), |x| x.to_string()));
            format!("certificate.{name}: the file claims a margin of {claimed}, proven is {proven}")
        })
        .chain(longer)
        .collect()
}
