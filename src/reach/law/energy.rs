//! The bounds of V = r'M(q; theta) r / 2 that the law computes at a tick.

use crate::inertia::{ARMATURE, INERTIAL};

use super::{Law, Magnitude};
use crate::reach::tube::Tube;

impl Law<'_> {
    /// V^ = sup over the set of r'M(q)r/2 + nu, J: linear in the parameters through the momentum regressor `momentum` at dq := `r`.
    pub fn energy_bound<T: Magnitude>(&self, r: &[T], momentum: &[T]) -> T {
        let n = r.len();
        let width = INERTIAL * n;
        let mut energy = T::constant(self.tube.energy_slack_j);
        for (p, (c, g)) in self.set.center().iter().zip(self.set.radius()).take(width).enumerate() {
            let y = (0..n).fold(T::zero(), |sum, j| sum + r[j] * momentum[width * j + p]);
            energy = energy + (y.scale(*c) + y.absolute().scale(*g)).scale(0.5);
        }
        for (j, r) in r.iter().enumerate() {
            let (c, g) = self.set.joint(j);
            let most = T::constant(c[ARMATURE]) + T::constant(g[ARMATURE]);
            energy = energy + most.scale(0.5) * *r * *r;
        }
        energy
    }
}

/// V >= sum A_j r_j^2 / 2 - nu (J), because M >= diag(A).
pub fn energy_floor<T: Magnitude>(tube: &Tube, r: &[T]) -> T {
    let own = r.iter().zip(&tube.inertia_floor).map(|(r, a)| r.scale(0.5 * a) * *r);
    own.fold(T::zero(), |sum, own| sum + own) - T::constant(tube.energy_slack_j)
}
