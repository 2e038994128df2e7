//! Where a plan starts: at rest, or where a certified plan is at one of its ticks. The planner is not believed in this.
//!
//! # Assumed
//! * From rest (A4): before the first tick [`crate::control::RobustController::start_fault`] finds nothing.
//! * After another plan: that plan was certified with the *excess* x, its controller ran for so many ticks (past its end it rests), and
//!   the next plan's controller takes over at the tick that follows.
//!
//! # Proven
//! With V_max, the floors A >= L (`lag_floor`) and the excess x of a plan, at all its times
//!
//! ```text
//! (a)  V <= (1 + x) V_max,          (b)  sum L_j (K_r e_j)^2 / 2 <= (1 + x) V_max.
//! ```
//!
//! *Within a plan.* (a): the law lets V rise to no more than max(V, V_max) in a tick ([`crate::reach::tube`]), as long as the state is within the tube's
//! level, (1 + 2^-20) V_max; x is at most [`MOST_EXCESS`], half of that. (b): K_r e is a convex combination of K_r e at the plan's start and of values of
//! r ([`crate::reach::extent`]), and sum L r^2 / 2 <= sum A r^2 / 2 <= V.
//!
//! *From rest.* x = 0: what is found at the first tick is (a) and (b).
//!
//! *At a switch.* V contains no constant of a plan; it changes as r does. The desired position and velocity jump by at most Dq and Ddq, which are
//! enclosed: the jump of r_j is at most R_j = Ddq_j + K_r Dq_j, and in the norm of M at most sqrt(sigma sum A_j R_j^2), with the next plan's A and
//! the sigma of its first cell, which holds the arm's position there. So sqrt(V) grows by at most d = sqrt(sigma sum A R^2 / 2), and the root of (b)'s left
//! side by d' = sqrt(sum L (K_r Dq)^2 / 2). With V_max' >= V_max and L' V_max <= L V_max', both hold after it with
//!
//! ```text
//! 1 + x' = (sqrt(1 + x) + max(d, d') / sqrt(V_max'))^2.
//! ```
//!
//! # Rounding
//! Upward term by term. The comparison L' V_max <= L V_max' is made in floats: its two products are each off by one part in 2^53, for which `UNIT` is charged
//! at every switch.

use thiserror::Error;

use crate::enclose::{Affine, Counted};
use crate::reach::Tube;
use crate::reach::cell::TIME;
use crate::reach::motor_loops::MotorLoops;
use crate::reach::tube::LEVEL;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::robot::Arm;
use crate::trajectory::{DesiredMotion, Pieces};

/// Largest excess: half of what the tube's level leaves above V_max.
pub const MOST_EXCESS: f64 = 0.5 * (LEVEL - 1.0);
/// 2^-50: two products that are compared are off by less, relatively.
const UNIT: f64 = 4.0 * f64::EPSILON;
/// A jump of the desired acceleration (rad/s^2, and relative to its size) above this is none of rounding. No bound rests on it: every tick belongs to one
/// plan. It tells a plan that was made for another start.
pub(super) const SAME_ACCELERATION: f64 = 1e-9;

/// One moment of a desired motion: no symbol but that of time, which does not pass.
type Form = Affine<1, Counted>;
type Motion = DesiredMotion<1, Counted>;

/// What is known of the state in which a plan starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start<'a> {
    /// The arm stands at the plan's first point, as the controller finds before its first tick.
    Rest,
    /// A certified plan runs until then.
    After(Predecessor<'a>),
    /// Nothing is known; it is believed that the state is within the tube. What is proven then is conditional.
    Believed,
}

/// A certified plan at a tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predecessor<'a> {
    /// Its desired motion.
    pub curve: Pieces<'a>,
    /// Its constants.
    pub tube: &'a Tube,
    /// Its certificate's excess.
    pub excess: f64,
    /// Ticks that it has been followed for when the next plan takes over.
    pub ticks: u64,
}

/// Why a plan does not start where it should.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StartRefusal {
    /// A first plan that starts in motion.
    #[error(
        "it starts in motion ({what} of joint '{joint}' is {found}), but no plan before it is known; expected a plan that starts at rest"
    )]
    Moving {
        /// The joint.
        joint: String,
        /// Velocity or acceleration.
        what: &'static str,
        /// Its value, rad/s or rad/s^2.
        found: f64,
    },
    /// A constant that must not change, or change in one direction only.
    #[error("it does not follow the plan before it: {what} is {found}, expected {expected}")]
    Constant {
        /// Which constant.
        what: String,
        /// Its value.
        found: f64,
        /// What it should be.
        expected: String,
    },
    /// A plan that starts in motion, and nothing is known of the one before it.
    #[error("it starts in motion, but the plan before it is not given")]
    Unknown,
    /// One law after another: no switch between them is proven.
    #[error("it does not follow the plan before it: that is proven for another law")]
    OtherLaw,
    /// A desired motion that jumps.
    #[error(
        "it does not follow the plan before it: the desired {what} of joint '{joint}' jumps by {jump:e} after {ticks} ticks of that plan"
    )]
    Jump {
        /// The joint that jumps most.
        joint: String,
        /// Position, velocity or acceleration.
        what: &'static str,
        /// Upper bound of the jump, rad, rad/s or rad/s^2.
        jump: f64,
        /// When.
        ticks: u64,
    },
}

impl Predecessor<'_> {
    /// Time on its curve, s: the one that the loop evaluates it at ([`Tube::time_of_tick`]).
    fn time(&self) -> f64 {
        self.tube.time_of_tick(self.curve.duration_s(), self.ticks)
    }

    /// Desired motion of joint `j` at the switch.
    fn desired(&self, j: usize) -> Motion {
        let t = self.time();
        if t >= self.curve.duration_s() {
            self.curve.enclose_rest(j)
        } else {
            self.curve.enclose(j, t, t, TIME)
        }
    }
}

/// Proves that a plan with this tube and curve starts within its tube; gives its excess. `sigma` is that of the plan's first cell: r'Mr <=
/// sigma sum A_j r_j^2 there.
///
/// # Errors
/// [`StartRefusal`] names what does not fit, and the joint.
pub fn excess(
    robot: &Arm,
    tube: &Tube,
    curve: Pieces<'_>,
    start: &Start<'_>,
    sigma: f64,
) -> Result<f64, StartRefusal> {
    match start {
        Start::Believed => Ok(MOST_EXCESS),
        Start::Rest => at_rest(robot, curve).map(|()| 0.0),
        Start::After(before) => {
            constants(robot, tube, before)?;
            let jumps = jumps(robot, curve, before)?;
            let after = grown(tube, before.excess, &jumps, sigma);
            if after <= MOST_EXCESS {
                return Ok(after);
            }
            Err(worst(robot, tube, before, &jumps))
        }
    }
}

pub(super) fn at_rest(robot: &Arm, curve: Pieces<'_>) -> Result<(), StartRefusal> {
    for (j, joint) in robot.joints.iter().enumerate() {
        let p = curve.first_points(j);
        let (velocity, acceleration) = (p[1] - p[0], p[2] - p[1]);
        for (what, found) in [("velocity", velocity), ("acceleration", acceleration)] {
            if found != 0.0 {
                return Err(StartRefusal::Moving { joint: joint.name.clone(), what, found });
            }
        }
    }
    Ok(())
}

/// What the next plan's constants must be like.
fn constants(robot: &Arm, tube: &Tube, before: &Predecessor<'_>) -> Result<(), StartRefusal> {
    let refuse =
        |what: String, found: f64, expected: String| Err(StartRefusal::Constant { what, found, expected });
    let (old, new) = (&before.tube.gains, &tube.gains);
    for (what, found, was) in [("k_r", new.k_r, old.k_r), ("period_s", new.period_s, old.period_s)] {
        if found != was {
            return refuse(what.to_owned(), found, format!("{was} as before"));
        }
    }
    if !(new.v_max >= old.v_max && old.v_max > 0.0) {
        return refuse("v_max".to_owned(), new.v_max, format!("at least {} as before", old.v_max));
    }
    if !(0.0..=MOST_EXCESS).contains(&before.excess) {
        return refuse(
            "excess of the plan before".to_owned(),
            before.excess,
            format!("0 to {MOST_EXCESS:e}"),
        );
    }
    let (loops, loops_before) = (&tube.motor_loops, &before.tube.motor_loops);
    if loops.is_some() != loops_before.is_some() {
        return Err(StartRefusal::OtherLaw);
    }
    for (j, joint) in robot.joints.iter().enumerate() {
        // What the arm did before the switch is still in readings.
        let rate =
            |loops: &Option<Box<MotorLoops>>| -> Option<f64> { loops.as_ref()?.rate_rad_s2.get(j).copied() };
        if loops.is_some() && !(rate(loops) >= rate(loops_before) && rate(loops_before) >= Some(0.0)) {
            let (found, was) = (rate(loops), rate(loops_before));
            let what = format!("motor_loops.rate_rad_s2 of joint '{}'", joint.name);
            let expected =
                was.map_or("one there before".to_owned(), |was| format!("at least {was} as before"));
            return refuse(what, found.unwrap_or(f64::NAN), expected);
        }
    }
    let sized = before.curve.dof() == robot.dof() && before.tube.lag_floor.len() == robot.dof();
    if !sized {
        return refuse("number of joints".to_owned(), before.curve.dof() as f64, robot.dof().to_string());
    }
    let rests = before.curve.check().is_ok() && (0..robot.dof()).all(|j| before.curve.rests(j));
    if !rests {
        return refuse(
            "duration_s".to_owned(),
            before.curve.duration_s(),
            "a curve that comes to rest before".to_owned(),
        );
    }
    for (j, joint) in robot.joints.iter().enumerate() {
        let (now, then) = (tube.lag_floor[j] * old.v_max, before.tube.lag_floor[j] * new.v_max);
        // Subnormal products would have lost digits.
        if !(now <= then && now >= f64::MIN_POSITIVE) {
            let most = then / old.v_max;
            return refuse(
                format!("lag_floor of joint '{}'", joint.name),
                tube.lag_floor[j],
                format!("at most {most}"),
            );
        }
    }
    Ok(())
}

/// Upper bounds of the jumps of the desired position and velocity of each joint.
fn jumps(robot: &Arm, curve: Pieces<'_>, before: &Predecessor<'_>) -> Result<Vec<[f64; 2]>, StartRefusal> {
    let apart = |a: Form, b: Form| (a - b).sup_abs();
    (0..robot.dof())
        .map(|j| {
            let (old, new): (Motion, Motion) = (before.desired(j), curve.enclose(j, 0.0, 0.0, TIME));
            let turn = apart(new.ddq, old.ddq);
            if !(turn <= SAME_ACCELERATION * (1.0 + old.ddq.sup_abs())) {
                let joint = robot.joints[j].name.clone();
                return Err(StartRefusal::Jump {
                    joint,
                    what: "acceleration",
                    jump: turn,
                    ticks: before.ticks,
                });
            }
            Ok([apart(new.q, old.q), apart(new.dq, old.dq)])
        })
        .collect()
}

/// Upper bound of x'.
fn grown(tube: &Tube, excess: f64, jumps: &[[f64; 2]], sigma: f64) -> f64 {
    let (k_r, v_max) = (tube.gains.k_r, tube.gains.v_max);
    let lag = |dq: f64| mul_up(k_r, dq);
    let energy = |terms: &mut dyn Iterator<Item = (f64, f64)>| {
        let half = sum_up(terms.map(|(weight, x)| mul_up(weight, mul_up(x, x))));
        mul_up(0.5, half)
    };
    let r = energy(&mut jumps.iter().zip(&tube.inertia_floor).map(|([q, dq], a)| (*a, add_up(*dq, lag(*q)))));
    let e = energy(&mut jumps.iter().zip(&tube.lag_floor).map(|([q, _], l)| (*l, lag(*q))));
    let d = mul_up(sigma, r).max(e).sqrt().next_up();
    let root = add_up(add_up(1.0, excess).sqrt().next_up(), div_up(d, v_max.sqrt().next_down()));
    // The root is above one, so the difference is one of near numbers: exact but for one step.
    add_up((mul_up(root, root) - 1.0).next_up(), UNIT)
}

/// The joint whose jump costs most.
fn worst(robot: &Arm, tube: &Tube, before: &Predecessor<'_>, jumps: &[[f64; 2]]) -> StartRefusal {
    let cost = |j: usize| tube.inertia_floor[j].sqrt() * (jumps[j][1] + tube.gains.k_r * jumps[j][0]);
    let j = (0..jumps.len()).fold(0, |worst, j| if cost(j) > cost(worst) { j } else { worst });
    let [q, dq] = jumps[j];
    let (what, jump) = if tube.gains.k_r * q >= dq { ("position", q) } else { ("velocity", dq) };
    StartRefusal::Jump { joint: robot.joints[j].name.clone(), what, jump, ticks: before.ticks }
}

#[cfg(test)]
mod tests;
