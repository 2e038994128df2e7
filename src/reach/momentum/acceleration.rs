//! How fast the joints accelerate at most under the law. The identifier is told: between two ticks, and since a late reading, no more can happen.
//!
//! # Assumed
//! The theorem ([`super`]); and that every body can exist, so that the links' part of the mass matrix M is positive semidefinite.
//!
//! # Proven
//! By the law and the dynamics M (ddq_d - ddq) = w - v, with |w_j| <= rho_j and |v_j| <= u_j. As M >= D, the diagonal of the least transmission inertias,
//! M^-1 <= D^-1, and by Cauchy and Schwarz in the product of M^-1
//!
//! ```text
//! |ddq_j - ddq_d,j| <= sqrt((M^-1)_jj) sqrt((w - v)' M^-1 (w - v)) <= sqrt(sum_i (rho_i + u_i)^2 / D_i) / sqrt(D_j).
//! ```
//!
//! Until the first command of a plan from rest acts the arm stands. Until that of a plan that follows another acts, the bound of the one before
//! holds: whoever takes over keeps both for as long as a command may be late.

use crate::enclose::Counted;
use crate::inertia::ARMATURE;
use crate::reach::cell::{Span, TIME};
use crate::reach::prepared_set::PreparedSet;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::trajectory::{DesiredMotion, Pieces};

use super::constants::MomentumTube;
use super::report::MomentumReport;

/// Bounds of |ddq_j| along `curve` under `tube` (rad/s^2), given the reports on spans that together are all of its time. `None` where a joint may have no
/// transmission inertia, as nothing is then known of M here.
pub fn accelerations(
    set: &PreparedSet,
    tube: &MomentumTube,
    curve: Pieces<'_>,
    reports: &[MomentumReport],
) -> Option<Vec<f64>> {
    let n = set.joints();
    let least = |j: usize| {
        let (center, half) = set.joint(j);
        (center[ARMATURE] - half[ARMATURE]).next_down()
    };
    let floor: Vec<f64> = (0..n).map(least).collect();
    if !floor.iter().all(|least| *least > 0.0) {
        return None;
    }
    // u never grows: this is the largest, with what its own arithmetic is off by.
    let robust = tube.widest_from(0.0).robust_nm;
    let mut most = vec![0.0f64; n];
    for report in reports {
        let pushed = |i: usize| add_up(report.rho_nm[i], robust[i]);
        let energy = sum_up((0..n).map(|i| div_up(mul_up(pushed(i), pushed(i)), floor[i])));
        for (j, most) in most.iter_mut().enumerate() {
            let desired = match report.span {
                Span::Rest => 0.0,
                Span::Between(t0, t1) => {
                    let motion: DesiredMotion<1, Counted> = curve.enclose(j, t0, t1, TIME);
                    motion.ddq.sup_abs()
                }
            };
            let beside = div_up(energy, floor[j]).sqrt().next_up();
            *most = most.max(add_up(desired, beside));
        }
    }
    Some(most)
}
