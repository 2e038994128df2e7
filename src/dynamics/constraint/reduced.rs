//! Robots with closed loops in as many coordinates as they have freedoms: the motors' side.
//!
//! Some degrees of freedom are chosen as *independent* (the motors, and the base if it floats); the constraints bind the
//! others, as many as they have rows. With J = \[J_a J_u\] split by columns, and q_u a function of q_a where J_u is regular,
//!
//! ```text
//! G   = [1; -J_u^-1 J_a]                     v = G v_a
//! a   = G a_a + b,  b = (0, -J_u^-1 gamma)   gamma = dJ/dt v
//! u   = G'(M a + h + friction)               what the motors give: constraint forces are gone, because J G = 0
//! Y_c = G' Y(q, v, a)                        u = Y_c theta, for the inertial, friction, armature and offset parameters of all
//!                                            joints: passive ones are seen through G'
//! ```
//!
//! Derivatives use the forces that hold the dependent side, J_u' lambda = tau_u: u = G'(tau - J' lambda), and a change of G
//! meets only entries that are zero. So du = G'(dtau - d(J' lambda)) at fixed lambda, and no derivative of G is needed.
//!
//! Where independent freedoms and rows do not match (over- and under-actuated robots), [`ForceProjector`] takes the
//! constraint forces out instead.

use nalgebra::{DMatrix, DVector, Dyn, LU};
use thiserror::Error;

use super::forward::ConstrainedDynamics;
use super::results::Residuals;
use super::{Constraint, ConstraintError, Redundancy};
use crate::dynamics::Motion;
use crate::robot::configuration::integrate;
use crate::robot::{JointKind, Model};

pub(crate) mod domain;
mod projector;
mod torques;

pub use domain::{BlockDomain, ClosureBlock, ClosureDomain, DomainError, ProvenCell};
pub use projector::ForceProjector;
pub use torques::{ReducedDerivatives, RegressorDerivatives};

/// Position errors (m, rad) below which loops count as closed; rounding leaves some 1e-15.
const CLOSED: f64 = 1e-10;
/// Position errors at which Newton's method stops; it doubles the digits in each step.
const EXACT: f64 = 1e-14;
/// Newton steps at most, and halvings of one.
const STEPS: usize = 60;
const HALVINGS: usize = 20;
/// J_u counts as singular where its smallest singular value is below this share of its largest: ten digits would be lost.
const SINGULAR: f64 = 1e-10;

/// Why a robot has no reduced coordinates, or a configuration is none.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ReducedError {
    /// A constraint, or a vector's length.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// As many dependent freedoms as rows are needed.
    #[error(
        "{dependent} degrees of freedom are not independent, and the constraints bind {rows}: expected as many; \
         over- and under-actuated robots have a projector instead"
    )]
    Count {
        /// Degrees of freedom that are not independent.
        dependent: usize,
        /// Rows of all constraints.
        rows: usize,
    },
    /// An index that is none.
    #[error("independent degree of freedom {index}, expected increasing numbers below {count}")]
    Index {
        /// The index.
        index: usize,
        /// Degrees of freedom.
        count: usize,
    },
    /// A number that is not finite.
    #[error("{what} {index} is {value}, expected a finite number")]
    NotFinite {
        /// Which vector.
        what: &'static str,
        /// Which entry.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The loops do not close at these independent coordinates, or not near the dependent ones given.
    #[error(
        "loop `{name}` stays open by {gap_m:.3e} m where the independent joints are; it closes for others only"
    )]
    Open {
        /// The constraint that is farthest open.
        name: String,
        /// By how much, m (and rad).
        gap_m: f64,
    },
    /// J_u is singular: the independent coordinates do not tell the motion.
    #[error(
        "singular posture: joint `{joint}` can move with the independent joints at rest (smallest singular value {smallest:.1e})"
    )]
    Singular {
        /// The dependent joint that moves most.
        joint: String,
        /// Smallest singular value of J_u, m/rad.
        smallest: f64,
    },
}

/// A robot in independent coordinates, at one state. The module's documentation has the equations.
///
/// Vectors of all coordinates have length nq or nv, those of independent ones as many numbers as [`ReducedDynamics::independent`]
/// (velocities; the configuration keeps its full length, with the dependent part found by [`ReducedDynamics::close`]).
#[derive(Debug, Clone)]
pub struct ReducedDynamics {
    dynamics: ConstrainedDynamics,
    independent: Vec<usize>,
    dependent: Vec<usize>,
    /// Rows that bind.
    rows: Vec<usize>,
    residuals: Residuals,
    motion: Motion<f64>,
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    g: DMatrix<f64>,
    bias: DVector<f64>,
    factor: LU<f64, Dyn, Dyn>,
    /// Smallest singular value of J_u.
    smallest: f64,
}

/// Degrees of freedom with a motor, and those of a floating base: what is independent in a fully actuated robot.
pub fn motors_and_base(robot: &Model) -> Vec<usize> {
    let own = |(i, joint): (usize, &crate::robot::Joint)| {
        let first = robot.v_index(i);
        let drives = joint.limits.torque > 0.0 || joint.kind == JointKind::FreeFlyer;
        if drives { first..first + joint.kind.nv() } else { 0..0 }
    };
    robot.joints.iter().enumerate().flat_map(own).collect()
}

impl ReducedDynamics {
    /// The robot with all its loops, in the coordinates of its motors and of its base.
    ///
    /// # Errors
    /// As [`ReducedDynamics::new`].
    pub fn of_loops(robot: &Model) -> Result<Self, ReducedError> {
        let loops = (0..robot.loops.len()).map(|i| Constraint::closure(robot, i).in_plane(robot)).collect();
        Self::new(robot, loops, motors_and_base(robot))
    }

    /// The robot under `constraints` (Baumgarte's terms do not matter: coordinates are exact), in the coordinates of the
    /// increasing `independent` degrees of freedom.
    ///
    /// # Errors
    /// A constraint that makes no sense; an index that is none; unless as many degrees of freedom are dependent as rows bind,
    /// [`ReducedError::Count`].
    pub fn new(
        robot: &Model,
        constraints: Vec<Constraint>,
        independent: Vec<usize>,
    ) -> Result<Self, ReducedError> {
        let n = robot.nv();
        let wrong = |k: usize| independent[k] >= n || (k > 0 && independent[k] <= independent[k - 1]);
        if let Some(k) = (0..independent.len()).find(|&k| wrong(k)) {
            return Err(ReducedError::Index { index: independent[k], count: n });
        }
        let constraints: Vec<_> = constraints.into_iter().map(|c| c.stabilised(0.0, 0.0)).collect();
        let dynamics = ConstrainedDynamics::new(robot, constraints, Redundancy::Drop)?;
        let dependent: Vec<usize> = (0..n).filter(|k| independent.binary_search(k).is_err()).collect();
        let rows: Vec<usize> = (0..dynamics.rows()).filter(|&r| dynamics.row_active[r]).collect();
        if dependent.len() != rows.len() {
            return Err(ReducedError::Count { dependent: dependent.len(), rows: rows.len() });
        }
        let (m, u) = (independent.len(), dependent.len());
        Ok(Self {
            residuals: Residuals::new(robot, dynamics.constraints(), false),
            motion: Motion::new(robot),
            q: vec![0.0; robot.nq()],
            v: vec![0.0; n],
            a: vec![0.0; n],
            g: DMatrix::zeros(n, m),
            bias: DVector::zeros(n),
            factor: DMatrix::identity(u, u).lu(),
            smallest: if u == 0 { f64::INFINITY } else { 1.0 },
            dynamics,
            independent,
            dependent,
            rows,
        })
    }

    /// Puts frame b of constraint `index` where frame a is in configuration `q`: a foot stands where it is.
    ///
    /// # Errors
    /// [`ReducedError::Constraint`] for a wrong length.
    pub fn hold_here(&mut self, robot: &Model, index: usize, q: &[f64]) -> Result<(), ReducedError> {
        Ok(self.dynamics.hold_here(robot, index, q)?)
    }

    /// Indices of the independent degrees of freedom.
    pub fn independent(&self) -> &[usize] {
        &self.independent
    }

    /// Indices of the dependent degrees of freedom.
    pub fn dependent(&self) -> &[usize] {
        &self.dependent
    }

    /// The independent entries of a vector of length nv.
    pub fn select(&self, all: &[f64]) -> Vec<f64> {
        self.independent.iter().map(|&k| all[k]).collect()
    }

    /// Configuration of the last [`ReducedDynamics::place`].
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// Velocity of all degrees of freedom, G v_a.
    pub fn v(&self) -> &[f64] {
        &self.v
    }

    /// Acceleration of all degrees of freedom, G a_a + b.
    pub fn a(&self) -> &[f64] {
        &self.a
    }

    /// G, nv x independent.
    pub fn g(&self) -> &DMatrix<f64> {
        &self.g
    }

    /// b, the acceleration of all degrees of freedom where the independent ones have none.
    pub fn velocity_bias(&self) -> &DVector<f64> {
        &self.bias
    }

    /// Fills J_u at the screws' configuration.
    fn dependent_jacobian(&mut self, robot: &Model) -> (DMatrix<f64>, DMatrix<f64>) {
        let n = self.v.len();
        let mut jacobian = std::mem::take(&mut self.dynamics.jacobian);
        jacobian.fill(0.0);
        self.dynamics.each_active(robot, |rows| rows.add_jacobian(&mut jacobian));
        let columns = |which: &[usize]| {
            DMatrix::from_fn(self.rows.len(), which.len(), |r, c| jacobian[n * self.rows[r] + which[c]])
        };
        let parts = (columns(&self.independent), columns(&self.dependent));
        self.dynamics.jacobian = jacobian;
        parts
    }

    /// Moves the dependent coordinates of `q` by Newton's method until all loops are closed; the independent ones stay. Which of
    /// several closures is found depends on where the dependent ones start.
    ///
    /// # Errors
    /// [`ReducedError::Open`] where the loops do not close, [`ReducedError::Singular`] where they do in a singular posture,
    /// [`ReducedError::NotFinite`] and lengths.
    pub fn close(&mut self, robot: &Model, q: &mut [f64]) -> Result<(), ReducedError> {
        self.check_finite(robot, q)?;
        let mut errors = vec![0.0; self.dynamics.rows()];
        self.dynamics.position_errors(robot, q, &mut errors)?;
        let mut error = norm(&errors);
        for _ in 0..STEPS {
            if error <= EXACT {
                break;
            }
            self.dynamics.screws.sweep(robot, q, &self.dynamics.zero, &self.dynamics.zero);
            let (_, j_u) = self.dependent_jacobian(robot);
            let e = DVector::from_iterator(self.rows.len(), self.rows.iter().map(|&r| errors[r]));
            // Where J_u is regular its factors are enough, at a fifth of the time.
            let quick = j_u.clone().lu().solve(&e);
            if let Some(whole) = quick
                && self.stepped(robot, q, (&whole, 1.0), (&mut errors, &mut error))?
            {
                continue;
            }
            // Near a singular posture a least-norm step still goes somewhere; the halving keeps it honest.
            let svd = j_u.svd(true, true);
            let floor = SINGULAR * svd.singular_values.max();
            let Ok(whole) = svd.solve(&e, floor) else { break };
            let mut shrunk = false;
            for k in 0..HALVINGS {
                let scale = 0.5f64.powi(k as i32);
                shrunk = self.stepped(robot, q, (&whole, scale), (&mut errors, &mut error))?;
                if shrunk {
                    break;
                }
            }
            if !shrunk {
                break;
            }
        }
        self.dynamics.position_errors(robot, q, &mut errors)?;
        if !(error <= CLOSED) {
            return Err(self.open(&errors));
        }
        self.dynamics.screws.sweep(robot, q, &self.dynamics.zero, &self.dynamics.zero);
        let (_, j_u) = self.dependent_jacobian(robot);
        self.check_regular(robot, &j_u).map(|_| ())
    }

    /// Takes the dependent coordinates of `q` back by `scale` times `whole` if the loops are less open then, with their errors and these errors' norm.
    fn stepped(
        &mut self,
        robot: &Model,
        q: &mut [f64],
        (whole, scale): (&DVector<f64>, f64),
        (errors, error): (&mut [f64], &mut f64),
    ) -> Result<bool, ReducedError> {
        let (mut step, mut to) = (vec![0.0; robot.nv()], q.to_vec());
        self.dependent.iter().zip(whole).for_each(|(&i, x)| step[i] = -scale * x);
        integrate(robot, q, &step, &mut to);
        self.dynamics.position_errors(robot, &to, errors)?;
        let shrunk = norm(errors) < *error;
        if shrunk {
            *error = norm(errors);
            q.copy_from_slice(&to);
        }
        Ok(shrunk)
    }

    fn open(&self, errors: &[f64]) -> ReducedError {
        let gap = |i: usize| {
            let first = self.dynamics.first_row(i);
            let own = &errors[first..first + self.dynamics.constraints()[i].rows()];
            own.iter().map(|e| e * e).sum::<f64>().sqrt()
        };
        let count = self.dynamics.constraints().len();
        let worst = (0..count).max_by(|&a, &b| gap(a).total_cmp(&gap(b))).unwrap_or(0);
        ReducedError::Open { name: self.dynamics.constraints()[worst].name.clone(), gap_m: gap(worst) }
    }

    /// The smallest singular value of J_u, unless it is singular.
    fn check_regular(&self, robot: &Model, j_u: &DMatrix<f64>) -> Result<f64, ReducedError> {
        if j_u.is_empty() {
            return Ok(f64::INFINITY);
        }
        let values = j_u.singular_values();
        let (least, largest) = (values.min(), values.max());
        if least > SINGULAR * largest {
            return Ok(least);
        }
        let svd = j_u.clone().svd(false, true);
        let v_t = svd.v_t.unwrap_or_default();
        let row = (0..v_t.nrows()).min_by(|&a, &b| svd.singular_values[a].total_cmp(&svd.singular_values[b]));
        let moves = row.map_or(0, |r| v_t.row(r).transpose().iamax());
        let joint = self.dynamics.screws.joint[self.dependent[moves]];
        Err(ReducedError::Singular { joint: robot.joints[joint].name.clone(), smallest: least })
    }

    fn check_finite(&self, robot: &Model, q: &[f64]) -> Result<(), ReducedError> {
        self.dynamics.check(robot, &[("q", q.len(), robot.nq())])?;
        finite("configuration", q)
    }

    /// Smallest singular value of J_u at the last [`ReducedDynamics::place`], m/rad: the distance to a singular posture.
    pub fn smallest_singular_value(&self) -> f64 {
        self.smallest
    }

    /// Takes the robot to configuration `q`, whose loops are closed ([`ReducedDynamics::close`]), independent velocities `v_a` and
    /// accelerations `a_a`: computes G, b and the motion of all joints.
    ///
    /// # Errors
    /// [`ReducedError::Open`] if `q` misses a loop by more than 1e-10 m, [`ReducedError::Singular`], [`ReducedError::NotFinite`]
    /// and lengths.
    pub fn place(&mut self, robot: &Model, q: &[f64], v_a: &[f64], a_a: &[f64]) -> Result<(), ReducedError> {
        self.check_finite(robot, q)?;
        self.check_motion(robot, v_a, a_a)?;
        let mut errors = vec![0.0; self.dynamics.rows()];
        self.dynamics.position_errors(robot, q, &mut errors)?;
        if errors.iter().map(|e| e * e).sum::<f64>().sqrt() > CLOSED {
            return Err(self.open(&errors));
        }
        let (j_a, j_u) = self.dependent_jacobian(robot);
        self.smallest = self.check_regular(robot, &j_u)?;
        self.factor = j_u.lu();
        self.q.copy_from_slice(q);
        let below = self.solve(&j_a);
        for (c, &k) in self.independent.iter().enumerate() {
            self.g.column_mut(c).fill(0.0);
            self.g[(k, c)] = 1.0;
            for (r, &k) in self.dependent.iter().enumerate() {
                self.g[(k, c)] = -below[(r, c)];
            }
        }
        self.follow(robot, v_a, a_a);
        Ok(())
    }

    /// Gives the robot other independent velocities and accelerations where [`ReducedDynamics::place`] has taken it.
    ///
    /// # Errors
    /// [`ReducedError::NotFinite`] and lengths.
    pub fn set_motion(&mut self, robot: &Model, v_a: &[f64], a_a: &[f64]) -> Result<(), ReducedError> {
        self.check_motion(robot, v_a, a_a)?;
        self.follow(robot, v_a, a_a);
        Ok(())
    }

    fn check_motion(&self, robot: &Model, v_a: &[f64], a_a: &[f64]) -> Result<(), ReducedError> {
        let m = self.independent.len();
        let lengths =
            [("the independent velocity", v_a.len(), m), ("the independent acceleration", a_a.len(), m)];
        self.dynamics.check(robot, &lengths)?;
        finite("independent velocity", v_a)?;
        finite("independent acceleration", a_a)
    }

    /// The motion of all joints by that of the independent ones.
    fn follow(&mut self, robot: &Model, v_a: &[f64], a_a: &[f64]) {
        self.v.copy_from_slice((&self.g * DVector::from_column_slice(v_a)).as_slice());
        self.dynamics.screws.sweep(robot, &self.q, &self.v, &self.dynamics.zero);
        let mut gamma = vec![0.0; self.dynamics.rows()];
        self.dynamics.each_active(robot, |rows| rows.write_condition(&mut gamma));
        let own = DMatrix::from_iterator(self.rows.len(), 1, self.rows.iter().map(|&r| gamma[r]));
        let below = self.solve(&own);
        self.bias.fill(0.0);
        self.dependent.iter().zip(below.iter()).for_each(|(&k, x)| self.bias[k] = -x);
        let a = &self.g * DVector::from_column_slice(a_a) + &self.bias;
        self.a.copy_from_slice(a.as_slice());
    }

    /// J_u^-1 X for X with one row a binding row.
    fn solve(&self, x: &DMatrix<f64>) -> DMatrix<f64> {
        // The factor was checked when it was made.
        if x.is_empty() { x.clone() } else { self.factor.solve(x).unwrap_or_else(|| x * f64::NAN) }
    }

    /// Rows that bind of a row-major rows x nv matrix.
    fn binding(&self, all: &[f64]) -> DMatrix<f64> {
        let n = self.v.len();
        DMatrix::from_fn(self.rows.len(), n, |r, c| all[n * self.rows[r] + c])
    }

    /// Puts `x` (one row a dependent freedom) into the rows of an nv x columns matrix.
    fn lift(&self, x: &DMatrix<f64>) -> DMatrix<f64> {
        let mut all = DMatrix::zeros(self.v.len(), x.ncols());
        self.dependent.iter().enumerate().for_each(|(r, &k)| all.row_mut(k).copy_from(&x.row(r)));
        all
    }

    /// d(G v_a)/dq_a at fixed v_a, nv x independent, for the velocity that the screws hold.
    fn velocity_slopes(&self, robot: &Model) -> DMatrix<f64> {
        let mut by_q = vec![0.0; self.dynamics.jacobian.len()];
        self.dynamics.each_active(robot, |rows| rows.add_rate_slopes(&mut by_q));
        self.lift(&-self.solve(&(self.binding(&by_q) * &self.g)))
    }

    /// Derivatives of G by the independent coordinates: matrix k holds those of G's column k (nv x independent).
    pub fn g_derivatives(&mut self, robot: &Model) -> Vec<DMatrix<f64>> {
        (0..self.independent.len())
            .map(|k| {
                let unit: Vec<f64> = self.g.column(k).iter().copied().collect();
                self.dynamics.screws.sweep(robot, &self.q, &unit, &self.dynamics.zero);
                self.velocity_slopes(robot)
            })
            .collect()
    }

    /// dG/dt at the last state, nv x independent.
    pub fn g_rate(&mut self, robot: &Model) -> DMatrix<f64> {
        let v_a = DVector::from_vec(self.select(&self.v));
        let mut rate = self.g.clone();
        for (k, slopes) in self.g_derivatives(robot).iter().enumerate() {
            rate.set_column(k, &(slopes * &v_a));
        }
        rate
    }
}

fn finite(what: &'static str, x: &[f64]) -> Result<(), ReducedError> {
    match x.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(ReducedError::NotFinite { what, index, value: x[index] }),
        None => Ok(()),
    }
}

/// The root of the sum of squares.
fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;
