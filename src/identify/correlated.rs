//! What a box forgets: bounds in directions of one's choice. Each is a certificate of its own ([`super::certificate`]), proven over the
//! same rows, box and cuts as the intervals; the truth lies in all of them together.

use nalgebra::{SMatrix, SymmetricEigen};

use super::bounds::{Effort, strips};
use super::error::IdentifyError;
use super::identifier::{Identifier, check_vector};
use super::nominal::reduced_quadratic;
use super::polytope::{Origin, Rows};
use crate::enclose::Interval;
use crate::inertia::{INERTIAL, Strip, TorqueStrips};

/// Right-hand side and radius of the row that a strip is.
pub(super) fn row_of(strip: &Strip) -> (f64, f64) {
    let range = Interval::new(strip.lower, strip.upper);
    (range.midpoint(), range.radius())
}

type Matrix10 = SMatrix<f64, INERTIAL, INERTIAL>;

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
        let (strips, proven) = strips(&mut self.polytope, directions, effort)?;
        let t = self.polytope.rows.origin.iter().map(|o| o.t).fold(0.0, f64::max);
        let mut kept = Rows::none(p);
        kept.y = nalgebra::DMatrix::from_fn(strips.len(), p, |k, j| strips[k].direction[j]);
        for (k, strip) in strips.iter().enumerate() {
            let (u, radius) = row_of(strip);
            kept.u.push(u);
            kept.radius.push(radius);
            kept.origin.push(Origin { t, joint: k % n });
        }
        kept.source = self.record.strips(&strips, &proven);
        self.polytope.rows.append(&kept);
        Ok(TorqueStrips { times, strips })
    }

    /// Proven bounds of the unknown body's parameters in the ten directions of the whitened data: a parallelotope. Each strip's
    /// direction has one number a parameter, in units of one over the parameter's; what the data tell best comes first.
    ///
    /// With rows over their radii and parameters over the half-widths h of their intervals, the directions are the eigenvectors of the
    /// information that is left of the body once the arm's parameters suit it best, over h. Without data they are the box's own. For
    /// the torques of a coming motion [`Identifier::torque_strips`] is tighter.
    ///
    /// # Errors
    /// `AssumptionBroken` as for [`Identifier::update`].
    pub fn parallelotope(&mut self) -> Result<Vec<Strip>, IdentifyError> {
        let (offset, p) = (self.polytope.cuts.offset, self.polytope.len());
        // What is known exactly still needs a unit.
        let radius = self.polytope.set.radius();
        let half: [f64; INERTIAL] = std::array::from_fn(|j| radius[offset + j].max(f64::MIN_POSITIVE.sqrt()));
        let information = reduced_quadratic(&self.polytope).map(|quadratic| {
            let scaled = |i: usize, j: usize| quadratic.curvature[(i, j)] * half[i] * half[j];
            // The upper triangle may differ by rounding.
            Matrix10::from_fn(|i, j| 0.5 * (scaled(i, j) + scaled(j, i)))
        });
        let eigen = information.filter(|s| s.iter().all(|x| x.is_finite())).map(SymmetricEigen::new);
        let mut order: [usize; INERTIAL] = std::array::from_fn(|k| k);
        if let Some(eigen) = &eigen {
            order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        }
        let along = |k: usize, j: usize| match &eigen {
            Some(eigen) => eigen.eigenvectors[(j, k)],
            None => f64::from(j == k),
        };
        let direction = |&k: &usize| {
            let mut direction = vec![0.0; p];
            (0..INERTIAL).for_each(|j| direction[offset + j] = along(k, j) / half[j]);
            direction
        };
        let directions: Vec<Vec<f64>> = order.iter().map(direction).collect();
        Ok(strips(&mut self.polytope, &directions, self.options.effort)?.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::identify::IdentifierOptions;
    use crate::identify::tests::{arm, prior};

    /// Where no direction meets the unknown body, of which physics knows more than the box, the strips end where corners of the set
    /// do: box, and what a row of data leaves of one parameter.
    #[test]
    fn strips_and_the_rows_kept_of_them_end_where_the_set_does() {
        let robot = Arc::new(arm());
        let (n, start) = (robot.dof(), prior(&robot));
        let mut identifier =
            Identifier::new(robot.clone(), &start, vec![1.0; n], IdentifierOptions::default()).unwrap();
        let (body, p) = (robot.inertial_index(robot.end_effector()), robot.parameter_count());
        let (mut lower, mut upper) = (start.lower().to_vec(), start.upper().to_vec());
        let known = robot.joint_index(1).viscous;
        let third = (upper[known] - lower[known]) / 3.0;
        (lower[known], upper[known]) = (lower[known] + third, upper[known] - third);
        let mut row = Rows::none(p);
        row.y = nalgebra::DMatrix::from_fn(1, p, |_, j| f64::from(j == known));
        (row.u, row.radius) = (vec![0.5 * (lower[known] + upper[known])], vec![0.5 * third]);
        row.origin = vec![Origin { t: 0.0, joint: 1 }];
        identifier.polytope.rows.append(&row);

        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut draw = |j: usize| {
            let unit = 1.0 / (upper[j] - lower[j]).max(1e-3);
            if (body..body + INERTIAL).contains(&j) { 0.0 } else { unit * rng.random_range(-1.0..1.0) }
        };
        let directions: Vec<Vec<f64>> = (0..n).map(|_| (0..p).map(&mut draw).collect()).collect();
        let TorqueStrips { strips, .. } = identifier.torque_strips(vec![0.0], &directions).unwrap();
        let kept = &identifier.polytope.rows;
        for (k, strip) in strips.iter().enumerate() {
            for up in [false, true] {
                let end = |j: usize| if (strip.direction[j] > 0.0) == up { upper[j] } else { lower[j] };
                let mut theta: Vec<f64> = (0..p).map(end).collect();
                theta[body..body + INERTIAL].copy_from_slice(identifier.nominal());
                let along: f64 = strip.direction.iter().zip(&theta).map(|(d, z)| d * z).sum();
                let width = strip.upper - strip.lower;
                let gap = if up { strip.upper - along } else { along - strip.lower };
                assert!((-1e-9 * width..0.005 * width).contains(&gap), "strip {k}: {gap} of {width}");
                for w in 0..kept.len() {
                    let value: f64 = kept.y.row(w).iter().zip(&theta).map(|(y, z)| y * z).sum();
                    let off = (value - kept.u[w]).abs();
                    assert!(
                        off <= kept.radius[w] * (1.0 + 1e-9),
                        "strip {k}, row {w}: {off} {}",
                        kept.radius[w]
                    );
                }
            }
        }
        assert_eq!(kept.len(), 1 + n);
    }
}
