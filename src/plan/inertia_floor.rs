//! Chooses the floor of the mass matrix for the tube of a plan: diag(A) as large as it may be along the way. A guess; the certifier decides.
//!
//! Where the links weigh little against the transmissions, the smallest transmission inertias are taken as they are. Else the
//! matrices of the lightest bodies ([`crate::reach::mass`]) at some times of the plan are asked how far each entry may still be
//! raised while M - diag(A) stays positive definite: by 1 / (e_j'(M - diag(A))^-1 e_j) if only that entry is. All are
//! raised by the n-th part of it, which is no more than a mean of matrices that are allowed each, and asked again.

use arrayvec::ArrayVec;

use crate::dynamics::{Composites, Motion, crba};
use crate::inertia::ParameterSet;
use crate::reach::cell::MAX_JOINTS;
use crate::reach::{Joints, PreparedSet};
use crate::robot::Arm;
use crate::trajectory::{JointState, Pieces};

/// Times of the plan that are looked at, its ends included. The certifier proves the floor for all times; more of them cost
/// time, and with fewer [`KEPT`] would have to leave more.
const TIMES: usize = 9;
/// How often the entries are raised. A round takes the share [`RAISED`] of the room that is left, so what a further one adds
/// shrinks.
const ROUNDS: usize = 12;
/// Shares of the transmissions and of what the links add that are kept: for the times between, and for tracking errors.
const KEPT: f64 = 0.98;
const RAISED: f64 = 0.85;
/// Links are worth the search where some diagonal entry is at least this multiple of its transmission's part.
const HEAVY: f64 = 3.0;

/// Storage for the search.
#[derive(Debug)]
pub struct FloorFit {
    motion: Motion<f64>,
    composites: Composites<f64>,
    mass: Vec<f64>,
    state: JointState,
}

impl FloorFit {
    /// Storage for `robot`.
    pub fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        Self {
            motion: Motion::new(robot),
            composites: Composites::new(robot),
            mass: vec![0.0; n * n],
            state: JointState::at_rest(&vec![0.0; n]),
        }
    }

    /// Sets `floor` for `curve`, kg m^2 (kg).
    pub fn fit(&mut self, robot: &Arm, set: &PreparedSet, curve: Pieces<'_>, floor: &mut [f64]) {
        let n = robot.dof();
        let light = &set.between().below;
        let bare: Joints<f64> = (0..n).map(|j| light[robot.joint_index(j).armature]).collect();
        let times = (0..TIMES).map(|k| curve.duration_s() * k as f64 / (TIMES - 1) as f64);
        let heavy = times.clone().any(|t| {
            self.mass_matrix_at(robot, light, curve, t);
            (0..n).any(|j| self.mass[n * j + j] >= HEAVY * bare[j])
        });
        if !heavy {
            floor.copy_from_slice(&bare);
            return;
        }
        floor.iter_mut().zip(&bare).for_each(|(a, bare)| *a = KEPT * bare);
        for _ in 0..ROUNDS {
            let mut room: Joints<f64> = (0..n).map(|_| f64::INFINITY).collect();
            for t in times.clone() {
                self.mass_matrix_at(robot, light, curve, t);
                for (j, a) in floor.iter().enumerate() {
                    self.mass[n * j + j] -= a;
                }
                self.room(n, &mut room);
            }
            for (a, room) in floor.iter_mut().zip(&room) {
                *a += room / n as f64;
            }
        }
        for (a, bare) in floor.iter_mut().zip(&bare) {
            *a = KEPT * bare + RAISED * (*a - KEPT * bare);
        }
    }

    /// The mass matrix at time `t`.
    fn mass_matrix_at(&mut self, robot: &Arm, theta: &[f64], curve: Pieces<'_>, t: f64) {
        let n = robot.dof();
        curve.evaluate(t, &mut self.state);
        self.motion.place(robot, &self.state.q);
        crba(robot, &self.motion, theta, &mut self.composites, &mut self.mass);
        for j in 0..n {
            self.mass[n * j + j] += theta[robot.joint_index(j).armature];
        }
    }

    /// Lowers `room` to what this matrix leaves: 1 / (e_j' mass^-1 e_j), or nothing where it is not positive definite.
    fn room(&mut self, n: usize, room: &mut [f64]) {
        let m = &mut self.mass;
        // Cholesky, in the lower triangle.
        for k in 0..n {
            let pivot = m[n * k + k] - (0..k).map(|i| m[n * k + i] * m[n * k + i]).sum::<f64>();
            if !(pivot > 0.0) {
                room.fill(0.0);
                return;
            }
            m[n * k + k] = pivot.sqrt();
            for r in k + 1..n {
                let dot: f64 = (0..k).map(|i| m[n * r + i] * m[n * k + i]).sum();
                m[n * r + k] = (m[n * r + k] - dot) / m[n * k + k];
            }
        }
        for j in 0..n {
            let mut x: ArrayVec<f64, MAX_JOINTS> = (0..n).map(|_| 0.0).collect();
            for r in j..n {
                let dot: f64 = (j..r).map(|i| m[n * r + i] * x[i]).sum();
                x[r] = (f64::from(u8::from(r == j)) - dot) / m[n * r + r];
            }
            room[j] = room[j].min(1.0 / x.iter().map(|x| x * x).sum::<f64>());
        }
    }
}

/// Smallest transmission inertia of joint `j` over the set, kg m^2 (kg).
pub fn armature_floor(robot: &Arm, set: &ParameterSet, j: usize) -> f64 {
    set.lower()[robot.joint_index(j).armature]
}

#[cfg(test)]
mod tests;
