//! The robust torque v of the law ([`crate::reach::tube`]): layer, grip, demand and rest.
//!
//! It is computed in three steps, so that what each rounds can be told apart. [`demand`] adds up what is asked for and what the layers give; it is
//! run on [`crate::reach::roundoff::Roundoff`] too, which checks [`crate::reach::roundoff::LAW_ROUNDOFF`]. [`shares`] makes two factors of these
//! sums, and [`torque`] the torque of one joint: products and quotients of terms that are not negative, off by a few units in the last place.

use std::ops::Div;

use crate::reach::tube::{LEVEL, Tube};

use super::Magnitude;

/// Above this multiple of V_max a lower bound of V proves that an assumption is broken: farther from the tube's level than the
/// rounding of that lower bound, a sum of a few dozen terms, can reach. The law itself takes no notice: beyond its promise it asks for
/// no more than within. What happens then is the matter of whoever runs it ([`crate::control::SupervisedController`]).
const BROKEN: f64 = 1.0 + 1.0 / (1_u64 << 16) as f64;
const _: () = assert!(BROKEN > LEVEL);

/// Energy, J, that a lower bound of V, computed in `f64`, cannot pass while all assumptions hold.
pub fn broken_above_j(tube: &Tube) -> f64 {
    BROKEN * tube.gains.v_max
}

/// What a tick asks for and what the layers give, W; and what the rest is distributed by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand<T> {
    /// Power that v must have against r, W.
    pub demand: T,
    /// What the layers' torques alone make of it, W.
    pub grip: T,
    /// sum A_j r_j^2, J.
    pub spread: T,
}

/// Sums up the demand for rho (N m) and r (rad/s), given V^ (J). The layers' torques u_j go to `pull`, N m.
pub fn demand<T: Magnitude>(tube: &Tube, (rho, r): (&[T], &[T]), energy: T, pull: &mut [T]) -> Demand<T> {
    let gains = &tube.gains;
    let h = gains.period_s;
    let [mut power, mut held, mut grip, mut spread] = [T::zero(); 4];
    for (j, pull) in pull.iter_mut().enumerate() {
        let (rho, r, floor) = (rho[j], r[j].absolute(), tube.inertia_floor[j]);
        *pull = r.scale(floor).over(tube.layer_ticks * h).minimum(rho);
        power = power + rho * r;
        held = held + (rho.scale(0.5 * h) * rho).over(floor);
        grip = grip + (*pull * r + (pull.scale(0.5 * h) * (rho + (rho - *pull))).over(floor));
        spread = spread + r.scale(floor) * r;
    }
    let room = (T::constant(gains.v_max) - energy).positive_part();
    let asked = power + held + T::constant(tube.hold_power_w);
    Demand { demand: asked - room.scale(gains.alpha), grip, spread }
}

/// What each joint's layer and the rest are multiplied with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares<T> {
    /// kappa, the share of the layers' torques.
    pub layer: T,
    /// mu / sum A_j r_j^2, 1/s.
    pub rest: T,
}

/// The factors; none where nothing is asked for.
pub fn shares<T: Magnitude + Div<Output = T> + PartialOrd>(sums: &Demand<T>) -> Option<Shares<T>> {
    let Demand { demand, grip, spread } = *sums;
    (demand > T::zero() && spread > T::zero()).then(|| Shares {
        layer: (demand / grip).minimum(T::constant(1.0)),
        rest: (demand - grip).positive_part() / spread,
    })
}

/// v_j, N m, against r_j of a joint with the layer's torque `pull`, N m, and A_j = `floor`.
pub fn torque<T: Magnitude + PartialOrd>(shares: &Shares<T>, pull: T, floor: f64, r: T) -> T {
    let layer = shares.layer * pull;
    let layer = if r < T::zero() { -layer } else { layer };
    layer + shares.rest.scale(floor) * r
}

#[cfg(test)]
mod tests;
