//! Torques of the independent coordinates, their regressor, and the derivatives of both.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::ReducedDynamics;
use crate::dynamics::actuation::{coulomb_direction, friction_columns};
use crate::dynamics::constraint::ConstraintError;
use crate::dynamics::regressor::torque_regressor;
use crate::dynamics::rotor::rotor_column;
use crate::inertia::INERTIAL;
use crate::robot::Model;

/// Torques u = G'(M a + h + friction) and their derivatives by the independent coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct ReducedDerivatives {
    /// u, N m: one number an independent freedom.
    pub torque: DVector<f64>,
    /// du/dq_a, square; with velocity and acceleration of the independent freedoms fixed.
    pub by_q: DMatrix<f64>,
    /// du/dv_a, square.
    pub by_v: DMatrix<f64>,
    /// du/da_a = G' M G with armatures, square.
    pub by_a: DMatrix<f64>,
    /// du/dtheta = Y_c, independent x parameters.
    pub by_theta: DMatrix<f64>,
}

/// Derivatives of columns of the projected regressor; each matrix is independent x independent and belongs to one column.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressorDerivatives {
    /// By the independent coordinates.
    pub by_q: Vec<DMatrix<f64>>,
    /// By the independent velocities.
    pub by_v: Vec<DMatrix<f64>>,
    /// By the independent accelerations.
    pub by_a: Vec<DMatrix<f64>>,
}

/// The degree of freedom of joint `i`, for all joints but a free flyer.
fn single(robot: &Model) -> impl Iterator<Item = (usize, usize)> + '_ {
    (robot.first_actuated()..robot.bodies()).map(|i| (i, robot.v_index(i)))
}

impl ReducedDynamics {
    /// Inverse dynamics of the tree with friction of all joints at the present motion, nv numbers.
    fn tree_torque(&mut self, robot: &Model, theta: &[f64], a: &[f64]) -> Vec<f64> {
        let mut tau = vec![0.0; self.v.len()];
        self.dynamics.workspace.inverse_dynamics(robot, &self.q, &self.v, a, theta, &mut tau);
        for (i, k) in single(robot) {
            let own = robot.joint_parameters(theta, i);
            let (sign, _) = coulomb_direction(robot, self.v[k]);
            tau[k] += own.coulomb * sign + own.viscous * self.v[k] + own.offset;
        }
        tau
    }

    fn check_parameters(&self, robot: &Model, theta: &[f64]) -> Result<(), ConstraintError> {
        self.dynamics.check(robot, &[("theta", theta.len(), robot.parameter_count())])
    }

    /// u of the last state, N m.
    ///
    /// # Errors
    /// [`ConstraintError::Length`] unless `theta` has [`Model::parameter_count`] numbers.
    pub fn torque(&mut self, robot: &Model, theta: &[f64]) -> Result<DVector<f64>, ConstraintError> {
        let tree = self.unbound_torque(robot, theta)?;
        Ok(self.g.tr_mul(&DVector::from_vec(tree)))
    }

    /// Torques that make the last motion of all joints where no constraint bears anything, M a + h + friction: nv numbers, N m (N for a base's linear ones).
    ///
    /// # Errors
    /// As [`ReducedDynamics::torque`].
    pub fn unbound_torque(&mut self, robot: &Model, theta: &[f64]) -> Result<Vec<f64>, ConstraintError> {
        self.check_parameters(robot, theta)?;
        let a = self.a.clone();
        Ok(self.tree_torque(robot, theta, &a))
    }

    /// Forces of the constraints' binding rows, N (N m), in the order of the constraints, where the dependent freedoms bear the torques that `tau` (length nv) has for them:
    /// J_u' f = (M a + h - tau)_u. The independent rows then hold where `tau` makes the motion: G' tau = u.
    ///
    /// # Errors
    /// [`ConstraintError::Length`].
    pub fn constraint_force(
        &mut self,
        robot: &Model,
        theta: &[f64],
        tau: &[f64],
    ) -> Result<DVector<f64>, ConstraintError> {
        let unbound = self.unbound_torque(robot, theta)?;
        self.constraint_force_of(robot, &unbound, tau)
    }

    /// [`ReducedDynamics::constraint_force`] from [`ReducedDynamics::unbound_torque`], for those who ask for several `tau` at one state.
    ///
    /// # Errors
    /// [`ConstraintError::Length`].
    pub fn constraint_force_of(
        &self,
        robot: &Model,
        unbound: &[f64],
        tau: &[f64],
    ) -> Result<DVector<f64>, ConstraintError> {
        let n = robot.nv();
        self.dynamics.check(robot, &[("the unbound torque", unbound.len(), n), ("tau", tau.len(), n)])?;
        let left: Vec<f64> = unbound.iter().zip(tau).map(|(unbound, tau)| unbound - tau).collect();
        let force = self.holding_force(&left);
        Ok(DVector::from_iterator(self.rows.len(), self.rows.iter().map(|&r| force[r])))
    }

    /// What a torque of a dependent freedom adds to [`ReducedDynamics::constraint_force`] at the last configuration: -J_u^-T, one row a binding row, one column a dependent freedom.
    pub fn force_by_torque(&self) -> DMatrix<f64> {
        let u = self.dependent.len();
        // The factor was checked when it was made.
        let inverse = self.factor.try_inverse().unwrap_or_else(|| DMatrix::from_element(u, u, f64::NAN));
        -inverse.transpose()
    }

    /// What a torque of any freedom adds to the constraints' forces at the last configuration where the robot gives way to it: one row a binding row, one column a degree of freedom. The freedoms accelerate by
    /// M_r^-1 G' dtau and the dependent ones bear what is left, so that it is -J_u^-T (S_u - (M G)_u M_r^-1 G'), with S_u the rows of one that choose the dependent freedoms.
    /// `held` is [`ReducedDynamics::force_by_torque`] at that configuration, which most callers need as well.
    ///
    /// # Errors
    /// As [`ReducedDynamics::acceleration`].
    pub fn force_by_free_torque(
        &mut self,
        robot: &Model,
        theta: &[f64],
        held: &DMatrix<f64>,
    ) -> Result<DMatrix<f64>, ConstraintError> {
        let (lifted, across) = (self.mass(robot, theta)? * &self.g, self.g.transpose());
        // Solved for the fewer dependent freedoms; M_r is symmetric. Products of whole matrices are faster than `tr_mul`.
        let given = self
            .factor_mass(robot, &across * &lifted)?
            .solve(&lifted.select_rows(&self.dependent).transpose());
        let mut borne = -(given.transpose() * across);
        for (row, &dof) in self.dependent.iter().enumerate() {
            borne[(row, dof)] += 1.0;
        }
        Ok(held * borne)
    }

    /// The equations of motion in independent coordinates, u = M_r a_a + h_r: M_r = G' M G (with armatures) and h_r (velocity
    /// terms, gravity, friction and offsets of all joints) at the last configuration and velocity.
    ///
    /// # Errors
    /// As [`ReducedDynamics::torque`].
    pub fn mass_and_bias(
        &mut self,
        robot: &Model,
        theta: &[f64],
    ) -> Result<(DMatrix<f64>, DVector<f64>), ConstraintError> {
        let mass = self.mass(robot, theta)?;
        let bias: Vec<f64> = self.bias.iter().copied().collect();
        let tau = self.tree_torque(robot, theta, &bias);
        Ok((self.g.tr_mul(&(mass * &self.g)), self.g.tr_mul(&DVector::from_vec(tau))))
    }

    /// Independent accelerations that the torques `u` of the independent freedoms cause.
    ///
    /// # Errors
    /// As [`ReducedDynamics::torque`]; [`ConstraintError::Mass`] where parameters make the reduced mass indefinite.
    pub fn acceleration(
        &mut self,
        robot: &Model,
        theta: &[f64],
        u: &DVector<f64>,
    ) -> Result<DVector<f64>, ConstraintError> {
        self.dynamics.check(robot, &[("the torque", u.len(), self.independent.len())])?;
        let (mass, bias) = self.mass_and_bias(robot, theta)?;
        Ok(self.factor_mass(robot, mass)?.solve(&(u - bias)))
    }

    /// M of all degrees of freedom at the last configuration, with armatures, nv x nv.
    fn mass(&mut self, robot: &Model, theta: &[f64]) -> Result<DMatrix<f64>, ConstraintError> {
        self.check_parameters(robot, theta)?;
        let n = self.v.len();
        let mut mass = vec![0.0; n * n];
        self.dynamics.workspace.mass_matrix(robot, &self.q, theta, &mut mass);
        Ok(DMatrix::from_row_slice(n, n, &mass))
    }

    /// The factor of M_r, refused where it is indefinite.
    fn factor_mass(
        &self,
        robot: &Model,
        reduced: DMatrix<f64>,
    ) -> Result<Cholesky<f64, Dyn>, ConstraintError> {
        let joint = self.dynamics.screws.joint[self.independent[0]];
        let refused = || ConstraintError::Mass { joint: robot.joints[joint].name.clone() };
        reduced.cholesky().ok_or_else(refused)
    }

    /// Columns of Y_c of the last state that are links' parameters: independent x `columns` (below 10 bodies).
    pub fn link_columns(&mut self, robot: &Model, columns: &[usize]) -> DMatrix<f64> {
        let (n, width) = (self.v.len(), INERTIAL * robot.bodies());
        self.motion.sweep_plain(robot, &self.q, &self.v, &self.a);
        let mut links = vec![0.0; n * width];
        torque_regressor(robot, &self.motion, 0..robot.bodies(), &mut links);
        let own = DMatrix::from_fn(n, columns.len(), |r, c| links[width * r + columns[c]]);
        // A product of matrices is several times as fast as `tr_mul`, which takes one dot product an entry.
        self.g.transpose() * own
    }

    /// Y_c of the last state: independent x [`Model::parameter_count`], u = Y_c theta.
    pub fn regressor(&mut self, robot: &Model) -> DMatrix<f64> {
        let width = INERTIAL * robot.bodies();
        let all: Vec<usize> = (0..width).collect();
        let mut y = DMatrix::zeros(self.independent.len(), robot.parameter_count());
        y.columns_mut(0, width).copy_from(&self.link_columns(robot, &all));
        for (i, k) in single(robot) {
            let own = friction_columns(robot, self.v[k], self.a[k]);
            for (p, x) in own.iter().enumerate() {
                let column = robot.friction_index(i) + p;
                y.set_column(column, &(self.g.row(k).transpose() * *x));
            }
            let mut column = y.column_mut(robot.joint_index(i).armature);
            rotor_column(robot, &self.motion, i, (&self.v, &self.a), |row, x| {
                column.axpy(x, &self.g.row(row).transpose(), 1.0);
            });
        }
        y
    }

    /// u and its derivatives at the last state.
    ///
    /// # Errors
    /// As [`ReducedDynamics::torque`].
    pub fn torque_derivatives(
        &mut self,
        robot: &Model,
        theta: &[f64],
    ) -> Result<ReducedDerivatives, ConstraintError> {
        let by_theta = self.regressor(robot);
        let [torque, by_q, by_v, by_a] = self.state_slopes(robot, theta)?;
        Ok(ReducedDerivatives { torque: torque.column(0).into_owned(), by_q, by_v, by_a, by_theta })
    }

    /// Derivatives of the columns `which` of Y_c: it is linear in theta, so a column's are those of u at a unit vector.
    ///
    /// # Errors
    /// [`ConstraintError::Length`] for a column beyond the last.
    pub fn regressor_derivatives(
        &mut self,
        robot: &Model,
        which: &[usize],
    ) -> Result<RegressorDerivatives, ConstraintError> {
        let mut theta = vec![0.0; robot.parameter_count()];
        let (mut q, mut v, mut a) = (vec![], vec![], vec![]);
        for &column in which {
            let expected = theta.len();
            let unit = theta.get_mut(column);
            *unit.ok_or(ConstraintError::Length { what: "a column's index", length: column, expected })? =
                1.0;
            let [_, by_q, by_v, by_a] = self.state_slopes(robot, &theta)?;
            theta[column] = 0.0;
            q.push(by_q);
            v.push(by_v);
            a.push(by_a);
        }
        Ok(RegressorDerivatives { by_q: q, by_v: v, by_a: a })
    }

    /// u (a column), du/dq_a, du/dv_a, du/da_a: [`ReducedDynamics::torque_derivatives`] without those by parameters.
    ///
    /// # Errors
    /// As [`ReducedDynamics::torque`].
    pub fn state_slopes(
        &mut self,
        robot: &Model,
        theta: &[f64],
    ) -> Result<[DMatrix<f64>; 4], ConstraintError> {
        self.check_parameters(robot, theta)?;
        let n = self.v.len();
        let a = self.a.clone();
        let tau = self.tree_torque(robot, theta, &a);
        let force = self.holding_force(&tau);
        let mut r = std::mem::take(&mut self.residuals);
        let still = vec![0.0; n];
        let state = (self.q.as_slice(), self.v.as_slice(), self.a.as_slice());
        let done = self.dynamics.residuals(robot, state, &force, &still, theta, &mut r);
        let square = |x: &[f64]| DMatrix::from_row_slice(n, n, x);
        let (by_q, mut by_v, mass) = (square(&r.dynamics_by_q), square(&r.dynamics_by_v), square(&r.mass));
        let (bound_q, bound_v) = (self.binding(&r.constraint_by_q), self.binding(&r.constraint_by_v));
        self.residuals = r;
        done?;
        for (i, k) in single(robot) {
            let own = robot.joint_parameters(theta, i);
            by_v[(k, k)] += own.viscous + own.coulomb * coulomb_direction(robot, self.v[k]).1;
        }
        // How velocity and acceleration of all joints follow: the screws are at the present motion.
        let v_by_q = self.velocity_slopes(robot);
        let a_by_q = self.lift(&-self.solve(&(&bound_q * &self.g + &bound_v * &v_by_q)));
        let a_by_v = self.lift(&-self.solve(&(&bound_v * &self.g)));
        let g = &self.g;
        Ok([
            g.tr_mul(&DMatrix::from_vec(n, 1, tau)),
            g.tr_mul(&(by_q * g + &by_v * v_by_q + &mass * a_by_q)),
            g.tr_mul(&(by_v * g + &mass * a_by_v)),
            g.tr_mul(&(mass * g)),
        ])
    }

    /// lambda with J_u' lambda = tau_u, in the order of all rows.
    fn holding_force(&self, tau: &[f64]) -> Vec<f64> {
        let mut force = vec![0.0; self.dynamics.rows()];
        let own = DVector::from_iterator(self.dependent.len(), self.dependent.iter().map(|&k| tau[k]));
        if own.is_empty() {
            return force;
        }
        // J_u = P^-1 L U, so lambda = P^-1 L^-T U^-T tau_u with a permutation's inverse its transpose.
        let mut x = own;
        self.factor.u().tr_solve_upper_triangular_mut(&mut x);
        self.factor.l().tr_solve_lower_triangular_mut(&mut x);
        self.factor.p().inv_permute_rows(&mut x);
        self.rows.iter().zip(x.iter()).for_each(|(&r, x)| force[r] = *x);
        force
    }
}
