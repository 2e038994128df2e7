//! A limb that moves under torques of its drives, in the coordinates of its motors, and of its springs where it has some.
//!
//! Steps are those of the L-stable two-stage method with g = 1 - 1/sqrt(2) (Alexander 1977), of second order:
//!
//! ```text
//! stage 1:  v1 = v + g h a1,                  q1 = q + g h v1
//! stage 2:  v2 = v + (1 - g) h a1 + g h a2,   q2 = q + (1 - g) h v1 + g h v2     (the end of the step)
//! u = ID(q_i, v_i, a_i) + what is outside the model class,  solved for a_i
//! ```
//!
//! Dry friction and springs are stiff, and such steps may be as long as a control period all the same. Newton's method keeps its slopes as long as they
//! serve. Where dry friction changes its direction it may go to and fro: then slopes are those of lines through rest, which never pass the solution by.

use nalgebra::{DMatrix, DVector, Dyn, LU};
use thiserror::Error;

use crate::dynamics::actuation::coulomb_direction;
use crate::dynamics::constraint::ConstraintError;
use crate::dynamics::constraint::reduced::{ReducedDynamics, ReducedError};
use crate::robot::Model;

/// g above.
const SHARE: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// Torque error at which a stage is solved, and one that is good enough where rounds gain nothing more, N m.
const SOLVED_NM: f64 = 1e-6;
const ENOUGH_NM: f64 = 1e-3;
/// Rounds of a stage at most.
const ROUNDS: usize = 60;
/// Kept slopes serve as long as a round leaves less than this share of the error.
const SERVES: f64 = 0.2;
/// So many poor rounds with new slopes, and dry friction is taken by lines through rest.
const POOR: usize = 3;
/// Stiffness of the stops at the ends of a joint's range, N m/rad.
const STOP_NM_RAD: f64 = 5e3;

/// Why a limb cannot go on.
#[derive(Debug, Clone, Error)]
pub(super) enum PlantFault {
    /// Its loops do not close, or not in one way.
    #[error(transparent)]
    Reduced(#[from] ReducedError),
    /// Sizes that do not fit.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// No accelerations were found.
    #[error("no accelerations were found: torques stay off by {0:.1e} N m")]
    Unsolved(f64),
}

/// Torque of an independent joint that is outside the model class; it acts against the motion.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Beyond {
    /// More dry friction near rest, N m: excess exp(-(v / rate)^2).
    pub excess_nm: f64,
    /// Speed at which it has fallen to 1/e, rad/s.
    pub rate_rad_s: f64,
    /// Dry friction by what the drive gives, as a share of its torque.
    pub load: f64,
    /// Stiffness of a spring, N m/rad.
    pub stiffness_nm_rad: f64,
    /// Its damping, N m s/rad.
    pub damping_nm_s_rad: f64,
    /// Where stops are, rad.
    pub range: Option<(f64, f64)>,
}

impl Beyond {
    /// Size of the dry part, and its slope by the speed.
    fn dry(&self, v: f64, u: f64) -> (f64, f64) {
        if self.excess_nm == 0.0 {
            return (self.load * u.abs(), 0.0);
        }
        let excess = self.excess_nm * (-(v / self.rate_rad_s).powi(2)).exp();
        (excess + self.load * u.abs(), -2.0 * v / self.rate_rad_s.powi(2) * excess)
    }

    /// The torque, where the drive gives `u`.
    fn torque(&self, robot: &Model, (q, v, u): (f64, f64, f64)) -> f64 {
        let (sign, _) = coulomb_direction(robot, v);
        let beyond_stops = self.range.map_or(0.0, |(lower, upper)| q - q.clamp(lower, upper));
        sign * self.dry(v, u).0
            + self.stiffness_nm_rad * q
            + self.damping_nm_s_rad * v
            + STOP_NM_RAD * beyond_stops
    }

    /// Its slope by the position.
    fn by_position(&self, q: f64) -> f64 {
        let stopped = self.range.is_some_and(|(lower, upper)| !(lower..=upper).contains(&q));
        self.stiffness_nm_rad + if stopped { STOP_NM_RAD } else { 0.0 }
    }

    /// Its slope by the speed.
    fn by_velocity(&self, robot: &Model, (v, u): (f64, f64)) -> f64 {
        let ((sign, slope), (dry, by_v)) = (coulomb_direction(robot, v), self.dry(v, u));
        slope * dry + sign * by_v + self.damping_nm_s_rad
    }
}

/// Moves the loops of `robot` along: `q` to where the independent joints are at `to`, the dependent ones by where they were.
pub(super) fn follow_loops(
    reduced: &mut ReducedDynamics,
    robot: &Model,
    q: &mut [f64],
    to: &[f64],
) -> Result<(), ReducedError> {
    let independent = reduced.independent();
    let moved = DVector::from_fn(to.len(), |k, _| to[k] - q[independent[k]]);
    let all = reduced.g() * moved;
    reduced.dependent().iter().for_each(|&k| q[k] += all[k]);
    independent.iter().zip(to).for_each(|(&k, x)| q[k] = *x);
    reduced.close(robot, q)
}

/// A limb with its state.
pub(super) struct Plant<'a> {
    robot: &'a Model,
    reduced: ReducedDynamics,
    theta: Vec<f64>,
    /// One entry an independent joint; empty where there is nothing outside the class.
    beyond: Vec<Beyond>,
    /// Configuration of all joints.
    q: Vec<f64>,
    /// Velocities and accelerations of the independent ones.
    v: DVector<f64>,
    a: DVector<f64>,
    slopes: Option<LU<f64, Dyn, Dyn>>,
}

impl<'a> Plant<'a> {
    /// The limb with parameters `theta`, at rest where `q` is, whose loops are closed.
    pub(super) fn new(
        robot: &'a Model,
        reduced: ReducedDynamics,
        theta: Vec<f64>,
        beyond: Vec<Beyond>,
        q: Vec<f64>,
    ) -> Self {
        let still = DVector::zeros(reduced.independent().len());
        Self { robot, reduced, theta, beyond, q, v: still.clone(), a: still, slopes: None }
    }

    /// Puts the limb to `q`, whose loops are closed, with velocities `v` of the independent joints.
    pub(super) fn put(&mut self, q: &[f64], v: &[f64]) {
        self.q.copy_from_slice(q);
        self.v.copy_from_slice(v);
        self.a.fill(0.0);
    }

    /// Positions of the independent joints, rad.
    pub(super) fn positions(&self) -> Vec<f64> {
        self.reduced.select(&self.q)
    }

    /// Velocities of the independent joints, rad/s.
    pub(super) fn velocities(&self) -> &[f64] {
        self.v.as_slice()
    }

    /// One step of `h` s under torques `u` of the independent joints, N m.
    ///
    /// # Errors
    /// [`PlantFault`]; the limb is then somewhere on its way.
    pub(super) fn step(&mut self, u: &[f64], h: f64) -> Result<(), PlantFault> {
        let (q, v) = (DVector::from_vec(self.positions()), self.v.clone());
        self.stage((&q, &v), SHARE * h, u)?;
        let rest = (1.0 - SHARE) * h;
        let (q, v) = (q + rest * &self.v, v + rest * &self.a);
        self.stage((&q, &v), SHARE * h, u)
    }

    /// Solves one stage that starts from these positions and velocities.
    fn stage(&mut self, from: (&DVector<f64>, &DVector<f64>), h: f64, u: &[f64]) -> Result<(), PlantFault> {
        let (mut last, mut poor) = (f64::INFINITY, 0);
        for _ in 0..ROUNDS {
            let error = self.error(from, h, u)?;
            let size = error.amax();
            if size <= SOLVED_NM {
                return Ok(());
            }
            if !size.is_finite() {
                break;
            }
            if self.slopes.is_none() || size > SERVES * last {
                self.slopes = Some(self.slopes(h, u, poor > POOR)?.lu());
                poor += 1;
            }
            last = size;
            let step = self.slopes.as_ref().and_then(|slopes| slopes.solve(&error));
            match step {
                Some(step) => self.a -= step,
                None => break,
            }
        }
        self.slopes = None;
        if last <= ENOUGH_NM { Ok(()) } else { Err(PlantFault::Unsolved(last)) }
    }

    /// By how much more torque than `u` the present accelerations take; the limb is then where they lead.
    fn error(
        &mut self,
        (q, v): (&DVector<f64>, &DVector<f64>),
        h: f64,
        u: &[f64],
    ) -> Result<DVector<f64>, PlantFault> {
        self.v = v + h * &self.a;
        let to = q + h * &self.v;
        follow_loops(&mut self.reduced, self.robot, &mut self.q, to.as_slice())?;
        self.reduced.place(self.robot, &self.q, self.v.as_slice(), self.a.as_slice())?;
        let mut error = self.reduced.torque(self.robot, &self.theta)?;
        for (k, beyond) in self.beyond.iter().enumerate() {
            error[k] += beyond.torque(self.robot, (to[k], self.v[k], u[k]));
        }
        Ok(error - DVector::from_column_slice(u))
    }

    /// Slopes of [`Plant::error`] by the accelerations; dry friction by lines through rest where `chords`.
    fn slopes(&mut self, h: f64, u: &[f64], chords: bool) -> Result<DMatrix<f64>, PlantFault> {
        let [_, mut by_q, mut by_v, by_a] = self.reduced.state_slopes(self.robot, &self.theta)?;
        for (k, beyond) in self.beyond.iter().enumerate() {
            by_q[(k, k)] += beyond.by_position(self.q[self.reduced.independent()[k]]);
            by_v[(k, k)] += beyond.by_velocity(self.robot, (self.v[k], u[k]));
        }
        if chords {
            let (g, all) = (self.reduced.g(), self.reduced.v());
            // Slope of the line through rest, above that of the friction itself.
            let more = |k: usize, dry: f64| {
                let (sign, slope) = coulomb_direction(self.robot, all[k]);
                if slope > 0.0 { 0.0 } else { dry * sign / all[k] }
            };
            let own = |k| more(k, self.robot.joint_parameters(&self.theta, k).coulomb);
            let dry = DMatrix::from_diagonal(&DVector::from_fn(all.len(), |k, _| own(k)));
            by_v += g.tr_mul(&(dry * g));
            for (k, beyond) in self.beyond.iter().enumerate() {
                by_v[(k, k)] += more(self.reduced.independent()[k], beyond.dry(self.v[k], u[k]).0);
            }
        }
        Ok(by_a + h * by_v + h * h * by_q)
    }
}
