//! Guaranteed intervals of friction of limbs with closed chains, from the motors' side.
//!
//! # The balance
//! In the motors' coordinates constraint forces are gone, and no acceleration is needed (the file `guaranteed/balance.rs` derives it). With G the ratios of all joints'
//! speeds to the motors', P = M v the tree's momentum and Y_f theta = dT/dq - g, over a window
//!
//! ```text
//! int u dt = [G'P] - int ((dG/dt)'P + G' Y_f theta) dt + int G'(F_c s + F_v v + beta) dt.
//! ```
//!
//! It is linear in the parameters of all links and joints, passive ones too. What the caller knows of them is a box. All are unknowns of one linear program, so that a wrong
//! mass is the same wrong mass in all rows.
//!
//! # Assumed
//! - The robot's geometry, gravity and loops are those of its files; its base is held, and nothing else touches it.
//! - It is assembled as in its neutral posture (the branch of [`ClosureDomain`]).
//! - The true parameters are in the stated set; friction is Coulomb (s the sign of the speed, at most the breakaway ratio where it may be below the
//!   stiction speed of the robot's files), viscous and an offset. Whatever else acts on a motor is below `unmodelled`, in the mean over each window; what acts on
//!   passive joints counts as G' makes it act on the motors.
//! - At each sample the motors' positions, speeds and torques are within the stated errors; of the torque the mean over the time to the next sample
//!   is meant, or where the [`Clock`] is that of a recording, the mean of both samples. Time stamps are right.
//! - |ddq| of each motor is within the stated bound at all times. So between samples speeds are within a h/2 of those at the nearer one. Samples that no
//!   such motion connects are refused.
//!
//! Passive joints are not taken from the log: the loops put them where they are, for all positions that the motors may have.
//!
//! # What is bounded, and how
//! A row's coefficients y are middles of enclosures. Its radius is an upper bound of |sum_j (Y_j - y_j) z_j| over the set, plus what follows:
//! - *Encoders*: at each sample positions and speeds are affine forms in the sensors' errors, passive joints, G and dG/dt too
//!   ([`crate::dynamics::constraint::reduced`], `domain/enclosed.rs`). With z_j in c_j +- r_j the radius is that of sum_j Y_j c_j, one form, and sum_j rad(Y_j) r_j.
//!   Samples count each for itself.
//! - *Quadrature*: with m a panel's middle, int f dt = h (f_0 + f_1)/2 - int (t - m) f' dt, and int (t - m) dt = 0, so that any constant may be taken from f'.
//!   So the trapezoid is off by at most h^2/4 times the radius of a set that holds f' over the panel. f is Lipschitz, since the speeds are. The set is
//!   evaluated on a block of panels: positions, speeds and accelerations are symbols over all that they may be there, f' a dual number's slope.
//! - *Closure*: Krawczyk's test on the box of positions, at each sample and each block.
//! - *Coulomb*: the sign counts where the speed's range over a panel excludes the stiction speed; else anything within the breakaway ratio does. Of passive
//!   joints it is multiplied with an enclosure of the ratio's integral.
//! - *Torque*: its errors and `unmodelled`, times the window's length.
//! - *Rounding*: all sums are of intervals or are rounded up; coefficients that are floats in place of intervals are charged with the largest |z_j|.
//!
//! # From rows to intervals
//! As in [`crate::identify`]: for each friction parameter a linear program proposes multipliers, and weak duality makes them a bound, whatever they are
//! ([`crate::identify::certificate`]). Momentum windows of several lengths are offered; any choice is sound.

use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

use super::{LimbError, MotorLog};
use crate::dynamics::Motion;
use crate::dynamics::constraint::reduced::{ClosureDomain, ReducedDynamics, motors_and_base};
use crate::enclose::{Interval, environment};
use crate::identify::IdentifyError;
use crate::identify::bounds::{Effort, tighten};
use crate::identify::polytope::{Cuts, Polytope, Rows};
use crate::identify::window::Clock;
use crate::inertia::{ARMATURE, COULOMB, FRICTION, INERTIAL, OFFSET, ParameterSet, VISCOUS};
use crate::recording::Sample;
use crate::robot::{Limb, Model, configuration};
use crate::scalar::Scalar;

mod balance;
mod pieces;
mod prior;
#[cfg(test)]
mod tests;
mod windows;

use balance::Frame;
use pieces::{Fault, Maker, Panel, Point};
pub use prior::FrictionPrior;
use windows::Stretch;

/// Panels that share one enclosure of what happens between samples: so much time, s. More is faster, and wider.
const BLOCK_S: f64 = 0.008;

/// What is stated of sensors and motion. Lists have one number for all motors, or one for each in the order of the robot's joints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrictionAssumptions {
    /// Bound of the errors of measured motor positions, rad (m).
    pub position_error: f64,
    /// Bound of the errors of measured motor speeds, rad/s (m/s).
    pub velocity_error: f64,
    /// Bound of the errors of measured motor torques, N m (N).
    pub torque_error: Vec<f64>,
    /// Bound of all torque that the model does not have, in the mean over a window, N m (N).
    pub unmodelled: Vec<f64>,
    /// Bound of the motors' accelerations at any time, rad/s^2 (m/s^2).
    pub acceleration: Vec<f64>,
    /// Static over Coulomb friction, >= 1, for speeds below the robot's stiction speed.
    pub breakaway_ratio: f64,
    /// What a torque stands for between two samples.
    pub clock: Clock,
    /// Lengths of the shortest and of the longest windows, s.
    pub window_s: [f64; 2],
}

/// What a guaranteed study of friction needs.
#[derive(Debug, Clone, Copy)]
pub struct GuaranteedStudy<'a> {
    /// The robot; a floating base is held.
    pub robot: &'a Model,
    /// Recordings to learn from.
    pub logs: &'a [MotorLog],
    /// What is stated of sensors and motion.
    pub assumptions: &'a FrictionAssumptions,
    /// The box that the true parameters are in: layout of [`Model::nominal_parameters`] of the robot with its base held ([`FrictionPrior`] makes one).
    pub prior: &'a ParameterSet,
    /// How far measured passive joints may be from where the loops put them, rad or m; they are looked at and then left out.
    pub passive_tolerance: f64,
}

/// Intervals of all limbs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GuaranteedFindings {
    /// The robot's name.
    pub robot: String,
    /// Files that were learnt from.
    pub logs: Vec<String>,
    /// What the intervals rest on, besides the prior.
    pub assumptions: FrictionAssumptions,
    /// Speed below which a joint may stick, rad/s (m/s): that of the robot's files.
    pub stiction_speed_rad_s: f64,
    /// One entry a limb with motors.
    pub limbs: Vec<GuaranteedLimb>,
}

/// Intervals of a limb.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GuaranteedLimb {
    /// Its name: that of its first joint.
    pub name: String,
    /// Momentum windows that were looked at, times motors.
    pub rows: usize,
    /// Its motors.
    pub motors: Vec<GuaranteedMotor>,
    /// The box of all its parameters, with the intervals that were found.
    #[serde(skip)]
    pub set: ParameterSet,
}

/// Intervals of a motor's friction; the truth is inside if what is assumed holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GuaranteedMotor {
    /// Its joint.
    pub joint: String,
    /// Coulomb friction, N m (N).
    pub coulomb: GuaranteedInterval,
    /// Viscous friction, N m s/rad (N s/m).
    pub viscous: GuaranteedInterval,
    /// Armature (transmission inertia), kg m^2 (kg).
    pub armature: GuaranteedInterval,
    /// Offset of the torque, N m (N).
    pub offset: GuaranteedInterval,
}

/// Before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GuaranteedInterval {
    /// What was stated beforehand.
    pub prior: [f64; 2],
    /// What the recordings leave of it.
    pub interval: [f64; 2],
}

impl GuaranteedInterval {
    /// Width that is left as a share of the prior's; NaN where that is zero.
    pub fn share(&self) -> f64 {
        (self.interval[1] - self.interval[0]) / (self.prior[1] - self.prior[0])
    }
}

impl GuaranteedMotor {
    /// Its four intervals by name, with their units (of a joint that turns).
    pub fn intervals(&self) -> [(&'static str, &'static str, GuaranteedInterval); FRICTION] {
        [
            ("Coulomb", "N m", self.coulomb),
            ("viscous", "N m s/rad", self.viscous),
            ("armature", "kg m^2", self.armature),
            ("offset", "N m", self.offset),
        ]
    }
}

impl GuaranteedStudy<'_> {
    /// Finds the intervals of all limbs that have motors.
    ///
    /// # Errors
    /// [`LimbError`] names a number that is none, the log and its sample, or the motor and the time at which the data contradict what is assumed.
    pub fn run(&self) -> Result<GuaranteedFindings, LimbError> {
        let held = self.robot.with_base_held();
        let motors = motors_and_base(&held);
        self.check(&held, motors.len())?;
        let driven = |limb: &Limb| !motors_and_base(&limb.model).is_empty();
        let limbs: Vec<Limb> = held.limbs().into_iter().filter(driven).collect();
        if limbs.is_empty() {
            return Err(LimbError::NoMotors { robot: held.name.clone() });
        }
        let found: Result<Vec<_>, _> = limbs.iter().map(|limb| self.limb(&held, limb, &motors)).collect();
        Ok(GuaranteedFindings {
            robot: self.robot.name.clone(),
            logs: self.logs.iter().map(|log| log.log.path.display().to_string()).collect(),
            assumptions: self.assumptions.clone(),
            stiction_speed_rad_s: held.friction_speed_rad_s,
            limbs: found?,
        })
    }

    fn check(&self, held: &Model, motors: usize) -> Result<(), LimbError> {
        if let Some(fault) = environment::fault() {
            return Err(LimbError::Guarantee(IdentifyError::Arithmetic(fault)));
        }
        if let Some(log) = self.logs.iter().find(|log| log.log.derived.is_some()) {
            return Err(LimbError::Derived { path: log.log.path.display().to_string() });
        }
        if let Some(ratio) = held.joints.iter().find_map(|joint| joint.gear_ratio) {
            let (what, expected) =
                ("gear ratio of a rotor".to_owned(), "none: intervals do not account for rotors on links");
            return Err(LimbError::Guarantee(IdentifyError::BadValue { what, value: ratio, expected }));
        }
        let a = self.assumptions;
        let wrong = |what: &str, value: f64, expected| {
            let what = what.to_owned();
            LimbError::Guarantee(IdentifyError::BadValue { what, value, expected })
        };
        let lists = [
            ("bound of torque errors", &a.torque_error),
            ("bound of unmodelled torque", &a.unmodelled),
            ("bound of accelerations", &a.acceleration),
        ];
        for (what, list) in lists {
            if list.len() != 1 && list.len() != motors {
                let (found, expected) = (list.len(), motors);
                return Err(LimbError::Guarantee(IdentifyError::WrongLength { what, found, expected }));
            }
        }
        let single =
            [("bound of position errors", a.position_error), ("bound of velocity errors", a.velocity_error)];
        let all = lists.iter().flat_map(|(what, list)| list.iter().map(|x| (*what, *x))).chain(single);
        let is_bound = |x: f64| x.is_finite() && x >= 0.0;
        if let Some((what, value)) = all.into_iter().find(|(_, x)| !is_bound(*x)) {
            return Err(wrong(what, value, "a finite number >= 0"));
        }
        if !(a.breakaway_ratio.is_finite() && a.breakaway_ratio >= 1.0) {
            return Err(wrong("breakaway ratio", a.breakaway_ratio, "a finite number >= 1"));
        }
        if let Some(value) = a.window_s.into_iter().find(|x| !(x.is_finite() && *x > 0.0)) {
            return Err(wrong("length of a window", value, "a finite number of seconds > 0"));
        }
        let (found, expected) = (self.prior.len(), held.parameter_count());
        if found != expected {
            let what = "prior box";
            return Err(LimbError::Guarantee(IdentifyError::WrongLength { what, found, expected }));
        }
        Ok(())
    }

    fn limb(&self, held: &Model, limb: &Limb, motors: &[usize]) -> Result<GuaranteedLimb, LimbError> {
        let name = limb.joints.first().map_or("", |&j| held.joints[j].name.as_str()).to_owned();
        let domain = ClosureDomain::of(&limb.model)
            .map_err(|source| LimbError::Domain { limb: name.clone(), source })?;
        self.limb_within(held, (limb, name), motors, &domain)
    }

    /// The limb, where its loops are known to close.
    fn limb_within(
        &self,
        held: &Model,
        (limb, name): (&Limb, String),
        motors: &[usize],
        domain: &ClosureDomain,
    ) -> Result<GuaranteedLimb, LimbError> {
        // As many passive freedoms as rows, or there are no reduced coordinates.
        let reduced = ReducedDynamics::of_loops(&limb.model)
            .map_err(|source| LimbError::Reduced { limb: name.clone(), source })?;
        let frame = Frame::new(limb.model.clone(), reduced.independent().to_vec());
        let set = own_set(held, limb, self.prior);
        // Place of each of the limb's motors among those of the robot.
        let places: Vec<usize> = frame
            .motors
            .iter()
            .filter_map(|&own| motors.iter().position(|&motor| motor == limb.joints[own]))
            .collect();
        let each = |list: &[f64]| -> Vec<f64> {
            places.iter().map(|&k| if list.len() == 1 { list[0] } else { list[k] }).collect()
        };
        let acceleration = each(&self.assumptions.acceleration);
        let torque: Vec<f64> = each(&self.assumptions.torque_error)
            .iter()
            .zip(each(&self.assumptions.unmodelled))
            .map(|(error, more)| crate::reach::upward::add_up(*error, more))
            .collect();
        let maker = Maker::new(&frame, domain, (self.assumptions, acceleration), &set);
        let mut rows = vec![];
        for log in self.logs {
            self.look_at_passive(log, limb, domain)?;
            for stretch in self.stretches(log, &maker, (limb, &places))? {
                let period = log.log.period_s;
                let [shortest, longest] = self.assumptions.window_s.map(|s| (s / period).round() as usize);
                let windows = stretch.windows(shortest, longest);
                let made = windows.par_iter().map(|window| stretch.rows(&frame, (window, &torque), &set));
                rows.extend(made.collect::<Vec<_>>());
            }
        }
        if rows.iter().all(Rows::is_empty) {
            return Err(LimbError::NoWindow { limb: name, shortest_s: self.assumptions.window_s[0] });
        }
        solve((name, &frame), &rows, set)
    }

    /// Refuses a log whose measured passive joints are not where the loops put them.
    fn look_at_passive(&self, log: &MotorLog, limb: &Limb, domain: &ClosureDomain) -> Result<(), LimbError> {
        if !log.passive {
            return Ok(());
        }
        for (number, sample) in log.log.samples.iter().enumerate() {
            let mut q = configuration::neutral(&limb.model);
            limb.joints.iter().enumerate().for_each(|(own, &joint)| q[own] = sample.q[joint]);
            domain
                .check(&limb.model, &q, self.passive_tolerance)
                .map_err(|source| refused(log, number, LimbOrDomain::Domain(source)))?;
        }
        Ok(())
    }

    /// What a log's parts without a gap tell of a limb.
    fn stretches(
        &self,
        log: &MotorLog,
        maker: &Maker<'_>,
        (limb, places): (&Limb, &[usize]),
    ) -> Result<Vec<Stretch>, LimbError> {
        let columns: Vec<usize> = maker
            .frame
            .motors
            .iter()
            .zip(places)
            .map(|(&own, &place)| if log.passive { limb.joints[own] } else { place })
            .collect();
        let own = |sample: &Sample| {
            let of = |x: &[f64]| -> Vec<f64> { columns.iter().map(|&k| x[k]).collect() };
            Sample { t: sample.t, q: of(&sample.q), dq: of(&sample.dq), tau: of(&sample.tau) }
        };
        let panels = (BLOCK_S / log.log.period_s).round() as usize;
        let mut stretches = vec![];
        for segment in log.log.segments.iter().filter(|segment| segment.len() > 1) {
            let samples: Vec<Sample> = log.log.samples[segment.clone()].iter().map(own).collect();
            let told = |(at, fault): (usize, Fault)| {
                let of = match fault {
                    Fault::Domain(source) => LimbOrDomain::Domain(source),
                    Fault::Loose => LimbOrDomain::Loose,
                    Fault::Faster(motor) => LimbOrDomain::Faster(limb.model.joints[motor].name.clone()),
                };
                refused(log, segment.start + at, of)
            };
            stretches.push(stretch(maker, samples, panels).map_err(told)?);
        }
        Ok(stretches)
    }
}

/// What is wrong at a sample.
enum LimbOrDomain {
    Domain(crate::dynamics::constraint::reduced::DomainError),
    Loose,
    Faster(String),
}

fn refused(log: &MotorLog, number: usize, of: LimbOrDomain) -> LimbError {
    let (path, t) = (log.log.path.display().to_string(), log.log.samples[number].t);
    match of {
        LimbOrDomain::Domain(source) => LimbError::Sample { path, sample: number + 1, t, source },
        LimbOrDomain::Loose => LimbError::Loose { path, sample: number + 1, t },
        LimbOrDomain::Faster(joint) => LimbError::Faster { path, sample: number + 1, t, joint },
    }
}

/// Points and panels of consecutive samples of a limb's motors; an error comes with the number of its sample.
fn stretch(maker: &Maker<'_>, samples: Vec<Sample>, panels: usize) -> Result<Stretch, (usize, Fault)> {
    let model = &maker.frame.model;
    for (i, pair) in samples.windows(2).enumerate() {
        if let Some(k) = maker.unconnected([&pair[0], &pair[1]]) {
            return Err((i, Fault::Faster(maker.frame.motors[k])));
        }
    }
    let points: Result<Vec<Point>, _> = samples
        .par_iter()
        .enumerate()
        .map_init(
            || Motion::new(model),
            |motion, (i, sample)| maker.point(motion, sample).map_err(|fault| (i, fault)),
        )
        .collect();
    let points = points?;
    let made: Result<Vec<Vec<Panel>>, _> = pieces::blocks(0..samples.len(), panels)
        .into_par_iter()
        .map_init(
            || Motion::new(model),
            |motion, block| block_panels(maker, motion, (&samples, &points), block),
        )
        .collect();
    let panels = made?.into_iter().flatten().collect();
    Ok(Stretch { samples, points, panels })
}

/// The panels of a block; where it is too large for a proof, those of its halves.
fn block_panels(
    maker: &Maker<'_>,
    motion: &mut pieces::BlockMotion,
    (samples, points): (&[Sample], &[Point]),
    block: Range<usize>,
) -> Result<Vec<Panel>, (usize, Fault)> {
    let (own, ends) = (&samples[block.clone()], &points[block.clone()]);
    match maker.panels(motion, own, ends) {
        Ok(panels) => Ok(panels),
        Err(fault) if block.len() <= 2 => Err((block.start, fault)),
        Err(_) => {
            let middle = block.start + block.len() / 2;
            let mut panels = block_panels(maker, motion, (samples, points), block.start..middle + 1)?;
            panels.extend(block_panels(maker, motion, (samples, points), middle..block.end)?);
            Ok(panels)
        }
    }
}

/// The limb's part of the robot's box.
fn own_set(held: &Model, limb: &Limb, whole: &ParameterSet) -> ParameterSet {
    let links = limb.joints.iter().flat_map(|&j| held.body_range(j));
    let friction =
        limb.joints.iter().flat_map(|&j| held.friction_index(j)..held.friction_index(j) + FRICTION);
    let own: Vec<usize> = links.chain(friction).collect();
    debug_assert_eq!(own.len(), (INERTIAL + FRICTION) * limb.joints.len());
    let mut set = whole.part(0..own.len());
    own.iter().enumerate().for_each(|(k, &j)| set.replace(k, [whole.lower()[j], whole.upper()[j]]));
    set
}

/// The mean torque over the time between two samples, as they tell it.
fn held_or_mean(clock: Clock, [a, b]: [f64; 2]) -> Interval {
    match clock {
        Clock::Control | Clock::Stamped => Interval::constant(a),
        Clock::Recorded => (Interval::constant(a) + Interval::constant(b)).scale(0.5),
    }
}

/// Certified intervals of the motors' parameters.
fn solve(
    (name, frame): (String, &Frame),
    rows: &[Rows],
    set: ParameterSet,
) -> Result<GuaranteedLimb, LimbError> {
    let mut all = Rows::none(set.len());
    all.append_all(rows);
    let count = all.len();
    let prior = set.clone();
    // Bodies need not be ones that can exist: no cuts, and none are sought.
    let cuts = Cuts { offset: 0, basic: 0, coefficients: vec![] };
    let mut polytope = Polytope { set, rows: all, cuts, weight: vec![] };
    let effort = Effort { rounds: 1, cut_tolerance: f64::INFINITY, ..Effort::default() };
    let parameters = [COULOMB, VISCOUS, ARMATURE, OFFSET];
    let unknown: Vec<usize> = frame
        .motors
        .iter()
        .flat_map(|&motor| parameters.map(|k| frame.model.friction_index(motor) + k))
        .collect();
    let found = tighten(&mut polytope, &unknown, effort).map_err(|source| match source {
        IdentifyError::AssumptionBroken { t, joint, by } => {
            let joint = frame.model.joints[joint].name.clone();
            LimbError::Contradiction { limb: name.clone(), joint, t, by }
        }
        other => LimbError::Guarantee(other),
    })?;
    let set = found.set;
    let interval = |j: usize| GuaranteedInterval {
        prior: [prior.lower()[j], prior.upper()[j]],
        interval: [set.lower()[j], set.upper()[j]],
    };
    let motor = |&joint: &usize| {
        let first = frame.model.friction_index(joint);
        GuaranteedMotor {
            joint: frame.model.joints[joint].name.clone(),
            coulomb: interval(first + COULOMB),
            viscous: interval(first + VISCOUS),
            armature: interval(first + ARMATURE),
            offset: interval(first + OFFSET),
        }
    };
    let motors = frame.motors.iter().map(motor).collect();
    Ok(GuaranteedLimb { name, rows: count, motors, set })
}
