//! Nominal torque and disturbance bound of one joint: what the law takes of a set of parameters, with friction, strips and drift.
//!
//! # Assumed
//! [`super::super::tube`]: the friction law above the stiction speed, theta in the set.
//!
//! # Stated
//! For the measured state of a tick, Y its torque regressor, theta_0 +- g the set's box:
//!
//! * nominal torque: Y theta_0 + friction(theta_0), and with strips what they shift it by;
//! * rho_j: the smaller of what the box leaves, sum |Y_jp| g_p and what the shift takes, and of what the strips leave ([`super::super::strips`]);
//!   Coulomb friction besides; and the drift D_j.
//!
//! *Coulomb friction.* Where the direction is known its centre is compensated and its radius is left. Where it is in doubt anything in
//! \[-F_c, F_c\] may act, and below the stiction speed as much more as a joint needs to break away: to compensate nothing leaves least.
//!
//! The operations follow each other here as the controller rounds them.

use crate::inertia::{ARMATURE, COULOMB, OFFSET, VISCOUS};
use crate::reach::prepared_set::PreparedSet;
use crate::reach::strips::{Between, OWN, PreparedStrip};
use crate::reach::tube::Tube;
use crate::robot::{Arm, Sensors};

use super::{AbsoluteSum, Bound, Direction, LawScalar};

/// The row of one joint's torque as linear function of the parameters.
#[derive(Debug, Clone, Copy)]
pub struct TorqueRow<'a, T> {
    /// Entries in the columns of the links.
    pub links: &'a [T],
    /// Entries in the joint's own columns [`OWN`]: speed, auxiliary acceleration, 1.
    pub own: [T; 3],
}

impl<'a, T: LawScalar> TorqueRow<'a, T> {
    /// Row number `j` of a regressor with these entries of the links, at a measured speed `dq` (rad/s) and `ddqa` (rad/s^2).
    pub fn new(regressor: &'a [T], (j, width): (usize, usize), dq: T, ddqa: T) -> Self {
        Self { links: &regressor[width * j..width * (j + 1)], own: [dq, ddqa, T::constant(1.0)] }
    }
}

/// What the law makes of a joint with the box alone, N m.
#[derive(Debug, Clone, Copy)]
pub struct ByBox<T: LawScalar> {
    /// Nominal torque.
    pub nominal: T,
    /// What Coulomb friction adds to rho.
    pub charge: T::Bound,
    /// What of rho the box leaves, the charge with it.
    pub left: T::Bound,
}

/// The law of one plan, and what of the robot it depends on.
#[derive(Debug, Clone, Copy)]
pub struct Law<'a> {
    /// The parameters.
    pub set: &'a PreparedSet,
    /// The constants.
    pub tube: &'a Tube,
    sensors: &'a Sensors,
    breakaway_ratio: f64,
}

impl<'a> Law<'a> {
    /// The law for `robot`, which `set` is of.
    pub fn new(robot: &'a Arm, set: &'a PreparedSet, tube: &'a Tube) -> Self {
        Self { set, tube, sensors: robot.sensors(), breakaway_ratio: robot.uncertainty().breakaway_ratio }
    }

    /// What the law makes of joint `j` with the box alone. rho is bounded by `bounded`: the row itself, or one that holds it and says less.
    pub fn by_box<T: LawScalar>(
        &self,
        j: usize,
        row: &TorqueRow<'_, T>,
        bounded: &TorqueRow<'_, T>,
    ) -> ByBox<T> {
        let (c, g) = self.set.joint(j);
        let [dq, ddqa, _] = row.own;
        let (coulomb, direction) = dq.coulomb(c[COULOMB], self.tube.sign_band(self.sensors, j));
        let charge = match direction {
            Direction::Known => T::Bound::exactly(g[COULOMB]),
            Direction::Doubtful => {
                let most = T::Bound::exactly(c[COULOMB].abs()) + T::Bound::exactly(g[COULOMB]);
                most.times(self.breakaway_ratio)
            }
        };
        let own = coulomb + dq.scale(c[VISCOUS]) + ddqa.scale(c[ARMATURE]) + T::constant(c[OFFSET]);
        let (nominal, left) = sums(self.set, j, (own, charge), (row, bounded));
        ByBox { nominal, charge, left }
    }

    /// rho of joint `j`, N m, where the set leaves so much: with all that the reading's age and errors add.
    pub fn disturbance<B: Bound>(&self, j: usize, by_set: B) -> B {
        by_set + B::exactly(self.tube.drift_nm[j])
    }
}

/// `nominal` with the links' part at the set's centre; and `charge` with all that the box leaves of the torque of joint `j`, sum |y_p| g_p; N m.
pub fn sums<T: LawScalar>(
    set: &PreparedSet,
    j: usize,
    (mut nominal, charge): (T, T::Bound),
    (row, bounded): (&TorqueRow<'_, T>, &TorqueRow<'_, T>),
) -> (T, T::Bound) {
    let (_, g) = set.joint(j);
    let mut left = T::AbsoluteSum::starting(charge);
    left.own(bounded.own[0], g[VISCOUS]);
    left.own(bounded.own[1], g[ARMATURE]);
    left.one(g[OFFSET]);
    // In one pass: neither sum waits for the other.
    let columns = set.center().iter().zip(set.radius());
    for ((y, bound), (c, g)) in row.links.iter().zip(bounded.links).zip(columns) {
        nominal = nominal + y.scale(*c);
        left.link(*bound, *g);
    }
    (nominal, left.total())
}

/// What strips `a` and `b` add to the nominal torque of joint `j`, N m, and what they leave of rho but for Coulomb friction and drift.
pub fn by_strips<T: LawScalar>(
    set: &PreparedSet,
    j: usize,
    (place, [a, b]): (&Between<T>, [&PreparedStrip; 2]),
    row: &TorqueRow<'_, T>,
) -> (T, T::Bound) {
    let (_, own) = set.joint(j);
    let mut known = T::AbsoluteSum::starting(T::between(place, a.half, b.half).at_most());
    for (((y, g), a), b) in row.links.iter().zip(set.radius()).zip(&a.links).zip(&b.links) {
        known.link(*y - T::between(place, *a, *b), *g);
    }
    for (((y, column), a), b) in row.own.iter().zip(OWN).zip(&a.own).zip(&b.own) {
        known.own(*y - T::between(place, *a, *b), own[column]);
    }
    (T::between(place, a.shift, b.shift), known.total())
}

/// The smaller of what the box leaves when the strips shift the torque, and of what they leave with the charge besides, N m.
pub fn by_either<T: LawScalar>(
    (left, charge): (T::Bound, T::Bound),
    (shift, known): (T, T::Bound),
) -> T::Bound {
    (left + shift.size_at_most()).smaller(charge + known)
}
