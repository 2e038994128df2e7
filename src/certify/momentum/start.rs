//! Whether a plan of the second law starts where the arm is: at rest, or where a proven plan is. The planner is not believed in this.

use crate::enclose::Rounding;
use crate::reach::PreparedSet;
use crate::reach::momentum::{Handover, MomentumPredecessor, MomentumTube, NeededAtStart, handover, jumps};
use crate::reach::upward::{add_up, mul_up};
use crate::robot::Arm;
use crate::trajectory::Pieces;

use super::MomentumStart;
use crate::certify::switch::{SAME_ACCELERATION, at_rest};
use crate::certify::{Refusal, StartRefusal};

/// What the plan before leaves, evaluated in the arithmetic `R`, or what is wrong with the start whatever the tube is.
pub(super) fn left<R: Rounding>(
    robot: &Arm,
    set: &PreparedSet,
    curve: Pieces<'_>,
    start: &MomentumStart<'_>,
) -> Result<Option<Handover>, Refusal> {
    let MomentumStart::After(before) = start else {
        at_rest(robot, curve)?;
        return Ok(None);
    };
    check(robot, before)?;
    let timing = before.tube.timing;
    if timing.drive_lag_s > 0.0 && !(curve.duration_s() > timing.window_s()) {
        let expected =
            format!("more than {:e}: for so long the drives remember the plan before", timing.window_s());
        let what = "duration, s,".to_owned();
        return Err(StartRefusal::Constant { what, found: curve.duration_s(), expected }.into());
    }
    continuous::<R>(robot, before, curve)?;
    let left = handover::<R>(robot, before, (set, curve));
    let turns = || {
        Refusal::Unsupported("the nominal mass matrix turns too fast at the switch for any bound".to_owned())
    };
    left.ok_or_else(turns).map(Some)
}

/// Whether the tube is as wide at its start as is needed there, and of the law that the plan before has.
pub(super) fn covered(
    robot: &Arm,
    tube: &MomentumTube,
    start: &MomentumStart<'_>,
    left: Option<&Handover>,
) -> Result<(), StartRefusal> {
    let (MomentumStart::After(before), Some(left)) = (start, left) else { return Ok(()) };
    let (now, then) = (tube.timing, before.tube.timing);
    let same = [
        ("period_s", now.period_s, then.period_s),
        ("latency_s", now.latency_s, then.latency_s),
        ("delay_s", now.delay_s, then.delay_s),
        ("jitter_s", now.jitter_s, then.jitter_s),
        ("drive_lag_s", now.drive_lag_s, then.drive_lag_s),
    ];
    for (what, found, was) in same {
        if found != was {
            let expected = format!("{was} as before");
            return Err(StartRefusal::Constant { what: what.to_owned(), found, expected });
        }
    }
    let k_r = tube.gains.k_r;
    if let (true, Err(most)) = (k_r != left.k_r, left.k_r_may_change()) {
        let expected = format!("{} as before, as only one of at most {most} may change", left.k_r);
        return Err(StartRefusal::Constant { what: "k_r".to_owned(), found: k_r, expected });
    }
    let needed = left.needed(robot, k_r);
    let least = tube.narrowest_until(0.0);
    let carried = carried(robot, tube, &needed)?;
    for (j, joint) in robot.joints.iter().enumerate() {
        let radius = (least.robust_nm[j] / least.gains.kappa).next_down() + least.noise_nms[j];
        let wide = [
            ("radius of p", radius.next_down(), more(needed.radius_nms[j], carried(j, 1.0))),
            ("noise_nms", least.noise_nms[j], more(needed.noise_nms[j], carried(j, 2.0))),
            ("lag_nms2", least.lag_nms2[j], needed.lag_nms2[j]),
        ];
        for (what, found, need) in wide {
            if !(found >= need) {
                let what = format!("{what} of joint '{}' at the start", joint.name);
                return Err(StartRefusal::Constant { what, found, expected: format!("at least {need}") });
            }
        }
    }
    Ok(())
}

/// A sum, rounded up if there is anything to add.
fn more(x: f64, besides: f64) -> f64 {
    if besides > 0.0 { add_up(x, besides) } else { x }
}

/// What commands of the plan before that drives remember make of the momentum error of a joint, so many times, N m s, rounded up. Refuses a tube that has less, or for
/// whose position errors it is not known.
fn carried(
    robot: &Arm,
    tube: &MomentumTube,
    needed: &NeededAtStart<'_>,
) -> Result<impl Fn(usize, f64) -> f64, StartRefusal> {
    let widest = tube.widest_from(0.0);
    let known = needed.carried;
    let impulse = known.map(|carried| carried.impulse_nms(&widest.robust_nm));
    for (j, joint) in robot.joints.iter().enumerate() {
        let refuse = |what: &str, found: f64, expected: String| {
            let what = format!("{what} of joint '{}' at the start", joint.name);
            Err(StartRefusal::Constant { what, found, expected })
        };
        let (Some(known), Some(impulse)) = (known, &impulse) else { break };
        let own = tube.start.as_ref().and_then(|start| start.carried_nms.get(j).copied()).unwrap_or(0.0);
        if !(own >= impulse[j]) {
            return refuse("carried_nms", own, format!("at least {}", impulse[j]));
        }
        if !(widest.lag_nms2[j] <= known.most_lag_nms2[j]) {
            return refuse("lag_nms2", widest.lag_nms2[j], format!("at most {}", known.most_lag_nms2[j]));
        }
    }
    Ok(move |j: usize, times: f64| impulse.as_ref().map_or(0.0, |impulse| mul_up(times, impulse[j])))
}

/// Refuses a predecessor that is none.
fn check(robot: &Arm, before: &MomentumPredecessor<'_>) -> Result<(), Refusal> {
    let n = robot.dof();
    let unsupported = |fault: String| Err(Refusal::Unsupported(format!("plan before: {fault}")));
    if before.set.joints() != n || before.curve.dof() != n {
        let (set, curve) = (before.set.joints(), before.curve.dof());
        return unsupported(format!("set of {set} joints, trajectory of {curve}, expected {n} of each"));
    }
    if let Some(fault) = before.tube.fault(n) {
        return unsupported(format!("tube {fault}"));
    }
    if let Err(fault) = before.curve.check() {
        return unsupported(fault.to_string());
    }
    if let Some(fault) = before.set.set().fault(n, robot.parameter_count(), before.curve.duration_s()) {
        return unsupported(format!("parameter set: {fault}"));
    }
    if let Some((_, joint)) = robot.joints.iter().enumerate().find(|(j, _)| !before.curve.rests(*j)) {
        return unsupported(format!("joint '{}' does not come to rest", joint.name));
    }
    // Its own first readings and commands must be over.
    let least = 2.0 * before.tube.timing.window_s();
    if !(before.at_s >= least && before.at_s.is_finite()) {
        let expected = format!("at least {least:e}: twice the age of a reading");
        let what = "time of the switch, s,".to_owned();
        return Err(StartRefusal::Constant { what, found: before.at_s, expected }.into());
    }
    Ok(())
}

/// Refuses a desired motion that jumps by more than roundings. No bound rests on it, as jumps are charged: it tells a plan that was made for another start.
fn continuous<R: Rounding>(
    robot: &Arm,
    before: &MomentumPredecessor<'_>,
    curve: Pieces<'_>,
) -> Result<(), StartRefusal> {
    let jumps = jumps::<R>(before, curve);
    for (j, joint) in robot.joints.iter().enumerate() {
        let sizes = before.curve.magnitudes(j);
        for (order, what) in ["position", "velocity", "acceleration"].into_iter().enumerate() {
            let jump = jumps[j][order];
            if !(jump <= SAME_ACCELERATION * (1.0 + sizes[order])) {
                let ticks = (before.at_s / before.tube.timing.period_s).round() as u64;
                return Err(StartRefusal::Jump { joint: joint.name.clone(), what, jump, ticks });
            }
        }
    }
    Ok(())
}
