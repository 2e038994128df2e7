//! The gains with which a search begins.

use crate::robot::Gains;

/// K_r, 1/s, of the grid. The search around its best goes on by finer steps, so the grid need not be fine.
const K_R: [f64; 3] = [5.0, 10.0, 20.0];
/// alpha as a share of the control rate.
const ALPHA_SHARE: [f64; 2] = [0.3, 0.9];
/// V_max, J.
const V_MAX: [f64; 7] = [3e-4, 6e-4, 1.2e-3, 2.5e-3, 5e-3, 1e-2, 2e-2];

/// The robot's own gains, then those of the grid at its control period.
pub(super) fn grid(own: Gains) -> Vec<Gains> {
    let mut all = vec![own];
    for k_r in K_R {
        for share in ALPHA_SHARE {
            all.extend(V_MAX.map(|v_max| Gains { k_r, alpha: share / own.period_s, v_max, ..own }));
        }
    }
    all
}
