//! What the constants of a tube would have to be if they were others, about: for those who seek some. No bound rests on it.
//!
//! What the theorem asks for ([`super`]) depends on the constants in two ways: by sums and products of them, which are cheap, and through the positions that the
//! arm may be in, which are not. Here positions are those of a tube that was looked at. What they change the torque by grows in
//! proportion to the errors; how the mass matrix couples joints stays as it was.

use crate::reach::cell::Span;
use crate::robot::Arm;

use super::cell::{CellNumbers, CellRadii};
use super::constants::MomentumTube;
use super::coupling::Coupling;
use super::disturbance::{MismatchParts, Parts, mismatch};
use super::report::{MomentumNeeds, Needed};

/// What a motion leaves of a torque limit counts for no less than this share of it: where nothing is left, others must be sought, and gains matter little.
const LEAST_ROOM: f64 = 0.02;
/// Errors of less than this, rad or rad/s, are roundings of a tube that has no width.
const NOTHING: f64 = 1e-9;

impl MomentumNeeds {
    /// The same and so many times as much.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        let lists = [&mut self.robust_nm, &mut self.noise_nms, &mut self.lag_nms2, &mut self.sign_band_rad_s];
        lists.into_iter().flatten().for_each(|need| *need *= factor);
        self
    }
}

/// What was seen of a span under one tube.
#[derive(Debug, Clone)]
pub struct CellOutlook {
    pub(super) span: Span,
    /// K_r of the tube.
    pub(super) k_r: f64,
    pub(super) duration_s: f64,
    pub(super) along: CellNumbers,
    pub(super) radii: CellRadii,
    pub(super) coupling: Coupling,
    pub(super) parts: Parts,
    pub(super) growth_m: f64,
}

impl CellOutlook {
    /// What would be needed under `tube`, about.
    pub fn needs(&self, robot: &Arm, tube: &MomentumTube) -> MomentumNeeds {
        let (from_s, _) = tube.reach_of(self.span, self.duration_s);
        let narrowing = &tube.narrowing_from(from_s);
        let tube = &tube.widest_from(from_s);
        let radii = &self.along.radii_of(tube);
        let (e, r) = (grown(&radii.e, &self.radii.e), grown(&radii.r, &self.radii.r));
        let parts = &self.parts_under(radii, tube.gains.k_r, e.max(r));
        let mismatch = &mismatch(robot, tube, (&self.along, radii), parts);
        let (cell, coupling) = ((&self.along, radii), &self.coupling);
        Needed { tube, cell, coupling, mismatch, narrowing }.all(self.span, self.growth_m * e)
    }

    /// The largest share, over the joints, that the robust torque under `tube` has of what the motion leaves of the torque limit there; about.
    pub fn torque_share(&self, robot: &Arm, tube: &MomentumTube) -> f64 {
        let (from_s, _) = tube.reach_of(self.span, self.duration_s);
        let share = |(j, part): (usize, &MismatchParts)| {
            let (limit, drive) = (robot.joints[j].limits.torque, robot.drive(j));
            let room = (limit - drive.error_nm) / (1.0 + drive.error_ratio) - part.nominal_nm;
            tube.robust_at(j, from_s) / room.max(LEAST_ROOM * limit)
        };
        self.parts.joints.iter().enumerate().map(share).fold(0.0, f64::max)
    }

    fn parts_under(&self, radii: &CellRadii, k_r: f64, factor: f64) -> Parts {
        let of = |(j, part): (usize, &MismatchParts)| {
            // What is lost to forms that do not cancel stays.
            let lost = part.error_rad_s - (self.radii.r[j] + self.k_r * self.radii.e[j]);
            let error_rad_s = radii.r[j] + k_r * radii.e[j] + lost;
            let followed_nm = part.followed_nm * factor;
            MismatchParts { followed_nm, error_rad_s, ..*part }
        };
        Parts {
            joints: self.parts.joints.iter().enumerate().map(of).collect(),
            mass_error: self.parts.mass_error.clone(),
        }
    }
}

/// By what factor errors have grown, all joints together; of nothing at all nothing is known.
fn grown(now: &[f64], then: &[f64]) -> f64 {
    let (now, then): (f64, f64) = (now.iter().sum(), then.iter().sum());
    if then > NOTHING { now / then } else { 1.0 }
}
