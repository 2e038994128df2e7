//! What a box forgets: bounds in directions of one's choice. Each is a certificate of its own ([`super::certificate`]), proven over the
//! same rows, box and cuts as the intervals; the truth lies in all of them together.

use nalgebra::DMatrix;

use super::bounds::{Effort, strips};
use super::error::IdentifyError;
use super::identifier::{Identifier, check_vector};
use super::polytope::{Origin, Rows};
use crate::enclose::Interval;
use crate::inertia::{Strip, TorqueStrips};
use crate::robot::INERTIAL;

impl Identifier {
    /// Proven bounds of torques along a motion: for each of `times` (s from the motion's start) in turn and each joint, of the row in
    /// `directions` (one number a parameter) that the joint's torque depends on the parameters with. They are kept as rows of
    /// data: later bounds are no wider for what is forgotten of the measurements meanwhile.
    ///
    /// # Errors
    /// [`IdentifyError::WrongLength`] or [`IdentifyError::BadValue`] for directions that do not fit; `AssumptionBroken` as for
    /// [`Identifier::update`].
    pub fn torque_strips(
        &mut self,
        times: Vec<f64>,
        directions: &[Vec<f64>],
    ) -> Result<TorqueStrips, IdentifyError> {
        check_vector("times of the strips", &times, times.len())?;
        let (n, p) = (self.robot.dof(), self.polytope.len());
        if directions.len() != n * times.len() {
            let (found, expected) = (directions.len(), n * times.len());
            return Err(IdentifyError::WrongLength { what: "directions of the strips", found, expected });
        }
        directions.iter().try_for_each(|d| check_vector("direction of a strip", d, p))?;
        let effort = Effort { rounds: 1, tolerance: 1e-3, ..self.options.effort };
        let strips = strips(&mut self.polytope, directions, effort)?;
        let t = self.polytope.rows.origin.iter().map(|o| o.t).fold(0.0, f64::max);
        let mut kept = Rows::none(p);
        kept.y = nalgebra::DMatrix::from_fn(strips.len(), p, |k, j| strips[k].direction[j]);
        for (k, strip) in strips.iter().enumerate() {
            let range = Interval::new(strip.lower, strip.upper);
            kept.u.push(range.midpoint());
            kept.radius.push(range.radius());
            kept.origin.push(Origin { t, joint: k % n });
        }
        self.polytope.rows.append(&kept);
        Ok(TorqueStrips { times, strips })
    }

    /// Proven bounds of the unknown body's parameters in the ten directions of the whitened data: a parallelotope. Each strip's
    /// direction has one number a parameter, in units of one over the parameter's; what the data tell best comes first.
    ///
    /// With rows Y over their radii r, and the body's present half-widths h, the directions are the right singular vectors of
    /// diag(1/r) Y diag(h), over h. For the torques of a coming motion [`Identifier::torque_strips`] is tighter.
    ///
    /// # Errors
    /// `AssumptionBroken` as for [`Identifier::update`].
    pub fn parallelotope(&mut self) -> Result<Vec<Strip>, IdentifyError> {
        let (rows, offset, p) = (&self.polytope.rows, self.polytope.cuts.offset, self.polytope.len());
        let half = self.polytope.set.radius();
        // What is known exactly still needs a unit, and so does what is without error.
        let unit = |j: usize| half[offset + j].max(f64::MIN_POSITIVE.sqrt());
        let mut whitened = DMatrix::zeros(rows.len().max(INERTIAL), INERTIAL);
        for w in 0..rows.len() {
            let weight = 1.0 / rows.radius[w].max(f64::MIN_POSITIVE.sqrt());
            (0..INERTIAL).for_each(|j| whitened[(w, j)] = weight * rows.y[(w, offset + j)] * unit(j));
        }
        // nalgebra sorts the singular values; where they cannot be had, the box's own directions serve.
        let v = whitened.try_svd(false, true, f64::EPSILON, 0).and_then(|svd| svd.v_t);
        let v = v.filter(|v| v.iter().all(|x| x.is_finite()));
        let v = v.unwrap_or_else(|| DMatrix::identity(INERTIAL, INERTIAL));
        let direction = |k: usize| {
            let mut direction = vec![0.0; p];
            (0..INERTIAL).for_each(|j| direction[offset + j] = v[(k, j)] / unit(j));
            direction
        };
        let directions: Vec<Vec<f64>> = (0..INERTIAL).map(direction).collect();
        strips(&mut self.polytope, &directions, self.options.effort)
    }
}
