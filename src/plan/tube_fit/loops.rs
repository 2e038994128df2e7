//! Constants of loops in the motors ([`crate::reach::motor_loops`]).
//!
//! With k_j = u_j / eta_j, which makes S = sum u_j eta_j least, the claim asks for u_j = rho_j + c_j S with c_j = sqrt(M_jj / (2 V_max)). Summed up with eta_j that is
//! S = sum rho_j eta_j / (1 - sum c_j eta_j): there are such limits where sum c_j eta_j is below one. But rho and eta grow with the limits, so they are found round by
//! round, from small ones on.

use crate::certify::CellReport;
use crate::certify::cell::Required;
use crate::reach::motor_loops::{MotorLoops, MotorNeeds};
use crate::reach::{Joints, Tube};

use super::RESERVE;

/// Share of V_max that the limits are made for.
const LEVEL_SHARE: f64 = 0.95;
/// sum c_j eta_j is taken for no more than this: where it is more nothing is proven anyway, and the limits stay finite for a while.
const MOST_COUPLED: f64 = 0.9;
/// Limits beyond this, N m, are those of rounds that do not settle: no drive has them.
const HOPELESS_NM: f64 = 1e6;
/// What a first round starts from, N m, N m s/rad and rad/s^2: small. Where that suits a small arm no better than a large one it costs a round.
const FIRST_LIMIT_NM: f64 = 1.0;
const FIRST_GAIN_NMS_RAD: f64 = 10.0;
const FIRST_RATE_RAD_S2: f64 = 1.0;

/// A first guess for so many joints.
pub(super) fn initial(joints: usize) -> MotorLoops {
    let zero = || vec![0.0; joints];
    let mut loops = MotorLoops { limit_nm: zero(), gain_nms_rad: zero(), rate_rad_s2: zero() };
    begin(&mut loops);
    loops
}

/// Back to the first guess.
pub(super) fn begin(loops: &mut MotorLoops) {
    loops.limit_nm.fill(FIRST_LIMIT_NM);
    loops.gain_nms_rad.fill(FIRST_GAIN_NMS_RAD);
    loops.rate_rad_s2.fill(FIRST_RATE_RAD_S2);
}

/// Rates as large as those of the plan before.
pub(super) fn hold(loops: &mut MotorLoops, held: &MotorLoops) {
    loops.rate_rad_s2.iter_mut().zip(&held.rate_rad_s2).for_each(|(rate, held)| *rate = rate.max(*held));
}

/// Whether the tube has loops whose limits are no numbers, or far beyond any drive.
pub(super) fn are_hopeless(tube: &Tube) -> bool {
    let limits = tube.motor_loops.iter().flat_map(|loops| &loops.limit_nm);
    limits.into_iter().any(|limit| !(*limit <= HOPELESS_NM))
}

/// Whether the stored constants are as large as a cell needed them.
pub(super) fn covered(tube: &Tube, needed: &Required) -> bool {
    let (Some(loops), Some(needed)) = (&tube.motor_loops, &needed.motor_loops) else { return true };
    let rates = loops.rate_rad_s2.iter().zip(&needed.rate_rad_s2).all(|(have, need)| have >= need);
    rates && tube.gains.v_max >= needed.v_max_j
}

/// How many times as large as the stored constants a cell's needs are.
pub(super) fn growth(tube: &Tube, needed: &Required) -> f64 {
    let (Some(loops), Some(needed)) = (&tube.motor_loops, &needed.motor_loops) else { return 0.0 };
    let rates = loops.rate_rad_s2.iter().zip(&needed.rate_rad_s2).map(|(have, need)| need / have);
    rates.fold(needed.v_max_j / tube.gains.v_max, f64::max)
}

/// Gives the loops of `tube`, if it has some, limits, gains and rates for what `reports` needed.
pub(super) fn adapt(tube: &mut Tube, reports: &[CellReport]) {
    let v_max = LEVEL_SHARE * tube.gains.v_max;
    let Some(loops) = &mut tube.motor_loops else { return };
    let n = loops.limit_nm.len();
    let needs = || reports.iter().filter_map(|report| report.required.motor_loops.as_ref());
    let most = |of: &dyn Fn(&MotorNeeds) -> f64| RESERVE * needs().map(of).fold(0.0, f64::max);
    let rho: Joints<f64> = (0..n).map(|j| most(&|needed| needed.rho_nm[j])).collect();
    let eta: Joints<f64> = (0..n).map(|j| most(&|needed| needed.misread_rad_s[j])).collect();
    let c: Joints<f64> = (0..n)
        .map(|j| (needs().map(|needed| needed.mass[j]).fold(0.0, f64::max) / (2.0 * v_max)).sqrt())
        .collect();
    let coupled: f64 = c.iter().zip(&eta).map(|(c, eta)| c * eta).sum();
    let open: f64 = rho.iter().zip(&eta).map(|(rho, eta)| rho * eta).sum();
    let power = open / (1.0 - coupled.min(MOST_COUPLED));
    for j in 0..n {
        loops.limit_nm[j] = rho[j] + c[j] * power;
        loops.gain_nms_rad[j] = loops.limit_nm[j] / eta[j];
        loops.rate_rad_s2[j] = most(&|needed| needed.rate_rad_s2[j]);
    }
}
