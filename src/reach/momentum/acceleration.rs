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
//! holds: whoever takes over keeps both for as long as a command may be late. Drives that lag then go on with both commands for a while: beside what the next law
//! feeds forward the one before has no more than U_j ([`super::CarriedCommands`]), and of an average of both the larger bound is true. What holds
//! an arm at rest before its first command is within rho_j of what is fed forward, which is no more than u_j.

use crate::enclose::Counted;
use crate::reach::cell::{Span, TIME};
use crate::reach::prepared_set::PreparedSet;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::trajectory::{DesiredMotion, Pieces};

use super::constants::MomentumTube;
use super::report::MomentumReport;

/// Bounds of |ddq_j| along `curve` under `tube` (rad/s^2), where drives remember torques of `carried` (N m) of a plan before, given the reports on spans that together are all of its time. `None` where a joint may have no
/// transmission inertia, as nothing is then known of M here.
pub fn accelerations(
    set: &PreparedSet,
    (tube, carried): (&MomentumTube, Option<&[f64]>),
    curve: Pieces<'_>,
    reports: &[MomentumReport],
) -> Option<Vec<f64>> {
    let n = set.joints();
    let floor: Vec<f64> = (0..n).map(|j| set.least_armature(j)).collect();
    if !floor.iter().all(|least| *least > 0.0) {
        return None;
    }
    // u never grows: this is the largest, with what its own arithmetic is off by.
    let mut robust = tube.widest_from(0.0).robust_nm;
    robust.iter_mut().zip(carried.unwrap_or_default()).for_each(|(u, carried)| *u = u.max(*carried));
    let mut most = vec![0.0f64; n];
    for report in reports {
        let pushed = |i: usize| add_up(report.rho_nm[i], robust[i]);
        let energy = sum_up((0..n).map(|i| div_up(mul_up(pushed(i), pushed(i)), floor[i])));
        for (j, most) in most.iter_mut().enumerate() {
            let desired = match report.needs.span {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inertia::ParameterSet;
    use crate::reach::momentum::{CycleTiming, MomentumGains, MomentumWorkspace};
    use crate::robot::fixture::small_robot;
    use crate::trajectory::{Bezier, JointState};

    /// Where one joint alone is pushed, and its links weigh nothing, it accelerates as the bound has it; and beside that as it is to.
    #[test]
    fn a_joint_that_is_pushed_alone_accelerates_as_its_bound_says() {
        let robot = small_robot();
        let n = robot.dof();
        let set = PreparedSet::new(&robot, &ParameterSet::around_nominal(&robot));
        let curve = Bezier::to_rest(&JointState::at_rest(&[0.1, 0.2, 0.0]), &[0.9, -0.7, 0.2], 1.0).unwrap();
        let timing =
            CycleTiming { period_s: 1e-3, latency_s: 0.0, delay_s: 0.0, jitter_s: 0.0, drive_lag_s: 0.0 };
        let tube = MomentumTube {
            gains: MomentumGains { k_r: 5.0, kappa: 50.0 },
            timing,
            robust_nm: vec![0.0; n],
            noise_nms: vec![0.0; n],
            lag_nms2: vec![0.0; n],
            sign_band_rad_s: vec![0.1; n],
            start: None,
        };
        let mut space = MomentumWorkspace::<16, Counted>::new(&robot);
        let pieces = Pieces::from(&curve);
        let spans = (0..40).map(|k| Span::Between(0.025 * f64::from(k), 0.025 * f64::from(k + 1)));
        let quiet: Vec<MomentumReport> = spans
            .chain([Span::Rest])
            .map(|span| {
                let found = MomentumReport::new(&robot, &set, &tube, (pieces, span), &mut space);
                let mut report = found.unwrap();
                report.rho_nm.iter_mut().for_each(|rho| *rho = 0.0);
                report
            })
            .collect();
        let desired = |j: usize| {
            let at = |k: u32| curve.state(1e-3 * f64::from(k)).ddq[j].abs();
            (0..=1000).map(at).fold(0.0, f64::max)
        };
        for i in 0..n {
            let least = set.set().lower()[robot.joint_index(i).armature];
            let (rho, robust) = (1.7, 2.9);
            let (mut tube, mut reports) = (tube.clone(), quiet.clone());
            tube.robust_nm[i] = robust;
            reports.iter_mut().for_each(|report| report.rho_nm[i] = rho);
            let found = accelerations(&set, (&tube, None), pieces, &reports).unwrap();
            let pushed = (rho + robust) / least;
            let near = |found: f64, expected: f64| (1.0..1.01).contains(&(found / expected));
            // The enclosure of the motion over a span is a little wide.
            let share = found[i] / (desired(i) + pushed);
            assert!((1.0..1.03).contains(&share), "joint {i}: {share}");
            // Drives may remember a larger torque of the plan before, and a smaller one is none.
            let mut carried = vec![0.0; n];
            for (torque, robust) in [(4.4, 4.4), (0.3, robust)] {
                carried[i] = torque;
                let found = accelerations(&set, (&tube, Some(&carried)), pieces, &reports[40..]).unwrap();
                assert!(near(found[i], (rho + robust) / least), "joint {i}: {found:?}");
            }
            // Where nothing is to be done, the push alone.
            let rest = accelerations(&set, (&tube, None), pieces, &reports[40..]).unwrap();
            assert!(near(rest[i], pushed), "joint {i}: {rest:?}");
            for j in (0..n).filter(|&j| j != i) {
                let other = set.set().lower()[robot.joint_index(j).armature];
                assert!(near(rest[j], (rho + robust) / (least * other).sqrt()), "joint {j}: {rest:?}");
            }
        }
        // A joint without transmission inertia may have any acceleration, as far as is known here.
        let mut light = ParameterSet::around_nominal(&robot);
        light.bounds().0[robot.joint_index(1).armature] = 0.0;
        assert!(accelerations(&PreparedSet::new(&robot, &light), (&tube, None), pieces, &quiet).is_none());
    }
}
