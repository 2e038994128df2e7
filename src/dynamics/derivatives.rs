//! Derivatives of inverse and forward dynamics, in closed form.
//!
//! In a common frame, let S be the axis of a joint k, v and a the motion of its parent's body, dS = v x S,
//! ddS = a x S + v x dS. Moving joint k turns everything that it carries: for a body i that it carries,
//!     dv_i/dq_k = S x v_i + dS,   da_i/dq_k = S x a_i + dS x v_i + ddS,   da_i/dv_k = S x v_i + 2 dS,
//! (because the joint's own motion commutes with S; gravity cancels in a_i - a). The force f = I a + v x* I v on the
//! body follows as df/dq_k = S x* f + I ddS + B dS, df/dv_k = 2 I dS + B S, with B x = I (x x v) + x x* (I v) + v x* (I x).
//! Summed over the subtree of i this gives (Carpentier and Mansard 2018; Singh, Russell and Wensing 2022), for j an
//! ancestor of i, tau_j = S_j . F_j, and composites I, B, F of subtree i:
//!     dtau_j/dq_i = S_j . (S_i x* F + I ddS_i + B dS_i),    dtau_j/dv_i = S_j . (2 I dS_i + B S_i),
//!     dtau_i/dq_j = (I S_i) . ddS_j + (B'S_i) . dS_j,       dtau_i/dv_j = 2 (I S_i) . dS_j + (B'S_i) . S_j.
//! B is nearly empty: with h the linear part of the momentum I v, c the first moment, u and w the parts of v and J the
//! second moments, it maps a linear x to nothing and an angular x to (2 x x h, E x),
//! E = 2 ((c.u) 1 - u c') + \[w\] J + (\[w\] J)' - \[J w\]; the Jacobi identity removes the rest.
//!
//! A free flyer's axes are unit vectors of the root frame. Moving the root turns gravity only: with M the mass
//! matrix, dtau/dq along a rotation e is M times the linear acceleration e x g. For its velocity dS = v_0 x e counts once
//! instead of twice, because S v_0 does not change v_0 itself.

use crate::inertia::INERTIAL;
use crate::robot::Model;

use super::factor::Columns;
use super::regressor::torque_regressor;
use super::spatial::{Spatial, symmetric_times};
use super::vec3::{self, Vec3};
use super::workspace::{Link, Workspace, armature};

/// The matrix B of the module header, of a body or a subtree.
#[derive(Debug, Clone, Copy, Default)]
pub struct Swing {
    /// Linear part of the momentum.
    pub(super) momentum: Vec3<f64>,
    /// Columns of E.
    pub(super) columns: [Vec3<f64>; 3],
}

impl Swing {
    /// B of a link whose momentum is filled.
    #[inline]
    pub(super) fn of(link: &Link) -> Self {
        let (u, w, c) = (&link.v.lin, &link.v.ang, &link.inertia.first);
        let [xx, xy, yy, xz, yz, zz] = link.inertia.second;
        // Columns of [w] J, and J w.
        let turned = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        let turned: [Vec3<f64>; 3] = std::array::from_fn(|c| vec3::cross(w, &turned[c]));
        let spin = symmetric_times(&link.inertia.second, w);
        let along = 2.0 * vec3::dot(c, u);
        // Column k of [spin] is spin x e_k.
        let crossed = [[0.0, spin[2], -spin[1]], [-spin[2], 0.0, spin[0]], [spin[1], -spin[0], 0.0]];
        let columns = std::array::from_fn(|k| {
            std::array::from_fn(|r| {
                let diagonal = if r == k { along } else { 0.0 };
                diagonal + turned[k][r] + turned[r][k] - crossed[k][r] - 2.0 * u[r] * c[k]
            })
        });
        Self { momentum: link.momentum.lin, columns }
    }

    #[inline]
    pub(super) fn add(&mut self, other: &Self) {
        self.momentum = vec3::add(&self.momentum, &other.momentum);
        for (a, b) in self.columns.iter_mut().zip(&other.columns) {
            *a = vec3::add(a, b);
        }
    }

    /// B x.
    #[inline]
    pub(super) fn times(&self, x: &Spatial) -> Spatial {
        let lin = vec3::times(&vec3::cross(&x.ang, &self.momentum), 2.0);
        let ang = vec3::combine(&self.columns, &x.ang);
        Spatial { lin, ang }
    }

    /// The angular part of B'x; its linear part is zero.
    #[inline]
    pub(super) fn transposed_times(&self, x: &Spatial) -> Vec3<f64> {
        let lever = vec3::cross(&self.momentum, &x.lin);
        std::array::from_fn(|k| 2.0 * lever[k] + vec3::dot(&self.columns[k], &x.ang))
    }
}

/// Inverse dynamics and its derivatives; matrices are row-major nv x nv.
#[derive(Debug, Clone)]
pub struct InverseDerivatives {
    /// tau, with transmission inertia, without friction.
    pub tau: Vec<f64>,
    /// dtau/dq, in tangent space.
    pub by_q: Vec<f64>,
    /// dtau/dv.
    pub by_v: Vec<f64>,
    /// dtau/da: the mass matrix, with transmission inertia.
    pub mass: Vec<f64>,
}

impl InverseDerivatives {
    /// Room for the results; the only allocation.
    pub fn new(robot: &Model) -> Self {
        let n = robot.nv();
        Self { tau: vec![0.0; n], by_q: vec![0.0; n * n], by_v: vec![0.0; n * n], mass: vec![0.0; n * n] }
    }
}

/// Forward dynamics and its derivatives; matrices are row-major nv x nv.
#[derive(Debug, Clone)]
pub struct ForwardDerivatives {
    /// Accelerations.
    pub a: Vec<f64>,
    /// da/dq, in tangent space.
    pub by_q: Vec<f64>,
    /// da/dv.
    pub by_v: Vec<f64>,
    /// da/dtau: the inverse of the mass matrix (with transmission inertia).
    pub by_tau: Vec<f64>,
    inverse: InverseDerivatives,
    /// Right and then left sides of M (-by_q, -by_v, by_tau) = (dtau/dq, dtau/dv, 1), side by side. A free flyer's
    /// columns of dtau/dq are left out: their solution is known.
    sides: Columns,
}

impl ForwardDerivatives {
    /// Room for the results; the only allocation.
    pub fn new(robot: &Model) -> Self {
        let inverse = InverseDerivatives::new(robot);
        let blank = inverse.mass.clone();
        Self {
            a: inverse.tau.clone(),
            by_q: blank.clone(),
            by_v: blank.clone(),
            by_tau: blank,
            inverse,
            sides: Columns::new(robot.nv(), 3 * robot.nv() - robot.v_index(robot.first_actuated())),
        }
    }

    /// The mass matrix, with transmission inertia.
    pub fn mass(&self) -> &[f64] {
        &self.inverse.mass
    }
}

impl Workspace {
    /// Inverse dynamics with its derivatives with respect to q, v and a (see the header of [`mod@super::derivatives`]).
    pub fn inverse_dynamics_derivatives(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        a: &[f64],
        theta: &[f64],
        out: &mut InverseDerivatives,
    ) {
        self.place_links(robot, q);
        self.place_inertias(robot, theta);
        self.move_links(robot, v);
        self.accelerate_links(robot, v, a, self.upward());
        self.inverse_derivatives(robot, (v, a), theta, out);
        for i in robot.first_actuated()..robot.bodies() {
            let at = robot.v_index(i);
            out.tau[at] += armature(robot, theta, i) * a[at];
        }
    }

    /// Forward dynamics with its derivatives with respect to q, v and tau: those of inverse dynamics at the resulting
    /// acceleration, times -M^-1.
    pub fn forward_dynamics_derivatives(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        tau: &[f64],
        theta: &[f64],
        out: &mut ForwardDerivatives,
    ) {
        self.forward_dynamics(robot, q, v, tau, theta, &mut out.a);
        self.inverse_derivatives(robot, (v, &out.a), theta, &mut out.inverse);
        self.factor.factorise(&out.inverse.mass);
        let (n, known) = (robot.nv(), robot.v_index(robot.first_actuated()));
        out.sides.clear();
        for r in 0..n {
            let row = n * r..n * (r + 1);
            out.sides.put(r, 0, &out.inverse.by_q[row.clone()][known..]);
            out.sides.put(r, n - known, &out.inverse.by_v[row]);
            out.sides.put(r, 2 * n - known + r, &[1.0]);
        }
        self.factor.solve_columns(&mut out.sides);
        let negate = |x: &mut [f64]| x.iter_mut().for_each(|x| *x = -*x);
        for r in 0..n {
            let row = n * r..n * (r + 1);
            out.sides.take(r, 0, &mut out.by_q[row.clone()][known..]);
            out.sides.take(r, n - known, &mut out.by_v[row.clone()]);
            out.sides.take(r, 2 * n - known, &mut out.by_tau[row]);
        }
        negate(&mut out.by_q);
        negate(&mut out.by_v);
        for k in 0..known {
            // dtau/dq = M (e x g) along a rotation e of a free flyer, 0 along a translation.
            let e = Spatial::unit(k).ang;
            let fall = vec3::cross(&e, &self.gravity);
            for r in 0..n {
                out.by_q[n * r + k] = if r < 3 { -fall[r] } else { 0.0 };
            }
        }
    }

    /// Derivative of forward dynamics with respect to the inertial parameters, row-major nv x (10 a body): -M^-1 Y, with the
    /// torque regressor Y at the resulting acceleration (that of inverse dynamics is Y itself). After
    /// [`Workspace::forward_dynamics_derivatives`] with the same `q`, `v` and results.
    pub fn forward_dynamics_by_parameters(
        &mut self,
        robot: &Model,
        q: &[f64],
        v: &[f64],
        results: &ForwardDerivatives,
        out: &mut [f64],
    ) {
        self.motion.sweep_plain(robot, q, v, &results.a);
        out.fill(0.0);
        torque_regressor(robot, &self.motion, 0..robot.bodies(), out);
        out.iter_mut().for_each(|x| *x = -*x);
        self.factor.solve_rows(out, INERTIAL * robot.bodies());
    }

    /// Derivatives at the present motion of the links (gravity included), and tau without transmission inertia.
    fn inverse_derivatives(
        &mut self,
        robot: &Model,
        (v, a): (&[f64], &[f64]),
        theta: &[f64],
        out: &mut InverseDerivatives,
    ) {
        self.second_rates(robot, self.upward());
        for (link, swing) in self.links.iter_mut().zip(&mut self.swing) {
            link.momentum = link.inertia.times(&link.v);
            link.force = link.inertia.times(&link.a) + link.v.cross_force(&link.momentum);
            link.subtree = link.inertia;
            *swing = Swing::of(link);
        }
        self.add_rotor_swings(robot, v, theta);
        self.add_rotor_forces(robot, (v, a), theta);
        let (n, first) = (robot.nv(), robot.first_actuated());
        let offset = robot.nv() - robot.bodies();
        // Entries of joints on different branches stay zero.
        for matrix in [&mut out.by_q, &mut out.by_v, &mut out.mass] {
            matrix.fill(0.0);
        }
        for i in (first..self.links.len()).rev() {
            let (link, swing) = (&self.links[i], &self.swing[i]);
            let s = &link.axis;
            let u = link.subtree.times(s);
            let w = swing.transposed_times(s);
            let by_q = s.cross_force(&link.force)
                + link.subtree.times(&link.axis_second)
                + swing.times(&link.axis_rate);
            let by_v = link.subtree.times(&link.axis_rate).times(2.0) + swing.times(s);
            let row = i + offset;
            out.tau[row] = s.dot(&link.force);
            out.mass[n * row + row] = s.dot(&u) + armature(robot, theta, i);
            out.by_q[n * row + row] = s.dot(&by_q);
            out.by_v[n * row + row] = s.dot(&by_v);
            let mut next = self.parents[i];
            while let Some(j) = next.filter(|&j| j >= first) {
                let above = &self.links[j];
                let column = j + offset;
                let (here, there) = (n * row + column, n * column + row);
                let mass = above.axis.dot(&u);
                out.mass[here] = mass;
                out.mass[there] = mass;
                out.by_q[there] = above.axis.dot(&by_q);
                out.by_v[there] = above.axis.dot(&by_v);
                out.by_q[here] = above.axis_second.dot(&u) + vec3::dot(&above.axis_rate.ang, &w);
                out.by_v[here] = 2.0 * above.axis_rate.dot(&u) + vec3::dot(&above.axis.ang, &w);
                next = self.parents[j];
            }
            if first == 1 {
                self.root_entries(row, n, &u, &w, [&by_q, &by_v], out);
            }
            if let Some(parent) = self.parents[i] {
                let (before, here) = self.links.split_at_mut(i);
                before[parent].subtree += here[0].subtree;
                before[parent].force += here[0].force;
                let (before, here) = self.swing.split_at_mut(i);
                before[parent].add(&here[0]);
            }
        }
        if first == 1 {
            self.root_block(n, out);
        }
        self.add_rotor_slopes(robot, theta, out);
    }

    /// Entries between a joint and a free flyer.
    #[inline]
    fn root_entries(
        &self,
        row: usize,
        n: usize,
        u: &Spatial,
        w: &Vec3<f64>,
        [by_q, by_v]: [&Spatial; 2],
        out: &mut InverseDerivatives,
    ) {
        let mass = u.to_array();
        let (by_q, by_v) = (by_q.to_array(), by_v.to_array());
        // e x g . u = e . (g x u); (v x e) . u = -e . (v x* u)
        let turned = vec3::cross(&self.gravity, &u.lin);
        let swung = (Spatial { lin: [0.0; 3], ang: *w } - self.links[0].v.cross_force(u)).to_array();
        for k in 0..6 {
            out.mass[n * row + k] = mass[k];
            out.mass[n * k + row] = mass[k];
            out.by_q[n * k + row] = by_q[k];
            out.by_v[n * k + row] = by_v[k];
            out.by_v[n * row + k] = swung[k];
        }
        out.by_q[n * row + 3..n * row + 6].copy_from_slice(&turned);
    }

    /// Entries of a free flyer with itself.
    fn root_block(&self, n: usize, out: &mut InverseDerivatives) {
        let (root, swing) = (&self.links[0], &self.swing[0]);
        out.tau[..6].copy_from_slice(&root.force.to_array());
        for k in 0..6 {
            let unit = Spatial::unit(k);
            let mass = root.subtree.times(&unit);
            let by_v = root.subtree.times(&root.v.cross(&unit)) + swing.times(&unit);
            let turned = Spatial { lin: vec3::cross(&unit.ang, &self.gravity), ang: [0.0; 3] };
            let by_q = root.subtree.times(&turned);
            let columns = [(&mut out.mass, mass), (&mut out.by_v, by_v), (&mut out.by_q, by_q)];
            for (matrix, column) in columns {
                for (r, x) in column.to_array().into_iter().enumerate() {
                    matrix[n * r + k] = x;
                }
            }
        }
    }
}
