//! What is known of some links' inertia before a motion, and after it.

use nalgebra::DMatrix;

use crate::inertia::INERTIAL;
use crate::robot::Model;

/// Parameters of the wanted links; what is known before is a normal distribution with these deviations.
///
/// Before, a mass is known to within itself; a first moment and an inertia to within that of this mass in the root of the mean squared distance of the link's nominal mass from its joint's frame.
/// Directions that no motion tells, such as those that fixed feet hide, keep these deviations.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// Indices among all inertial parameters.
    pub columns: Vec<usize>,
    /// Deviations before, of m (kg), m c (kg m), inertia (kg m^2).
    pub before: Vec<f64>,
}

impl Wanted {
    /// # Errors
    /// In words, the link that has no mass or no size.
    pub fn new(robot: &Model, links: &[usize]) -> Result<Self, String> {
        let (mut columns, mut before) = (vec![], vec![]);
        for &link in links {
            let own = &robot.joints[link].inertia;
            let (mass, trace) = (own[0], own[4] + own[6] + own[9]);
            // The trace is twice the sum of the masses times their squared distances.
            let distance = (0.5 * trace / mass).sqrt();
            if !(mass > 0.0 && distance > 0.0 && distance.is_finite()) {
                let name = &robot.joints[link].link;
                return Err(format!(
                    "links: `{name}` has no mass or no size by its file, expected one that has"
                ));
            }
            columns.extend(INERTIAL * link..INERTIAL * (link + 1));
            let of = |k: usize| mass * distance.powi([0, 1, 1, 1, 2, 2, 2, 2, 2, 2][k]);
            before.extend((0..INERTIAL).map(of));
        }
        Ok(Self { columns, before })
    }

    /// The inverse covariance after rows whose products are `information` (of these columns), in units of the deviations before.
    fn precision(&self, information: &DMatrix<f64>) -> DMatrix<f64> {
        let n = self.before.len();
        let scaled = |r: usize, c: usize| self.before[r] * information[(r, c)] * self.before[c];
        DMatrix::identity(n, n) + DMatrix::from_fn(n, n, scaled)
    }

    /// Deviations of each link's parameters after such rows, where all other links are known.
    pub fn deviations(&self, information: &DMatrix<f64>) -> Vec<f64> {
        let precision = self.precision(information);
        let link = |first: usize| {
            let own = precision.view((first, first), (INERTIAL, INERTIAL)).into_owned();
            let roots = own.cholesky().map(|own| own.inverse().diagonal().map(f64::sqrt));
            roots.map_or(vec![f64::NAN; INERTIAL], |roots| roots.as_slice().to_vec())
        };
        let all = (0..self.before.len()).step_by(INERTIAL).flat_map(link);
        all.zip(&self.before).map(|(root, before)| root * before).collect()
    }

    /// Sum of the logarithms of these deviations by those before.
    pub fn log_deviations(&self, information: &DMatrix<f64>) -> f64 {
        self.deviations(information)
            .iter()
            .zip(&self.before)
            .map(|(after, before)| (after / before).ln())
            .sum()
    }

    /// Half of the logarithm of the determinant of all wanted parameters' covariance together, by that before.
    pub fn log_determinant(&self, information: &DMatrix<f64>) -> f64 {
        let factor = self.precision(information).cholesky();
        factor.map_or(f64::NAN, |factor| -factor.l_dirty().diagonal().iter().map(|x| x.ln()).sum::<f64>())
    }

    /// The derivative of [`Wanted::log_deviations`] by the entries of `information`: of d = (P^-1)_ii it is -P^-1 e_i e_i' P^-1.
    pub fn deviations_slope(&self, information: &DMatrix<f64>) -> DMatrix<f64> {
        let n = self.before.len();
        let (precision, mut slope) = (self.precision(information), DMatrix::zeros(n, n));
        for first in (0..n).step_by(INERTIAL) {
            let own = precision.view((first, first), (INERTIAL, INERTIAL)).into_owned();
            let Some(factor) = own.cholesky() else { return DMatrix::from_element(n, n, f64::NAN) };
            let covariance = factor.inverse();
            let shares = DMatrix::from_fn(INERTIAL, INERTIAL, |r, c| covariance[(r, c)] / covariance[(r, r)]);
            slope.view_mut((first, first), (INERTIAL, INERTIAL)).copy_from(&(covariance * shares * -0.5));
        }
        self.by_information(slope)
    }

    /// The derivative of [`Wanted::log_determinant`] by the entries of `information`.
    pub fn determinant_slope(&self, information: &DMatrix<f64>) -> DMatrix<f64> {
        let n = self.before.len();
        let factor = self.precision(information).cholesky();
        factor.map_or(DMatrix::from_element(n, n, f64::NAN), |factor| {
            self.by_information(factor.inverse() * -0.5)
        })
    }

    /// A derivative by the precision as one by the information.
    fn by_information(&self, slope: DMatrix<f64>) -> DMatrix<f64> {
        let n = self.before.len();
        DMatrix::from_fn(n, n, |r, c| self.before[r] * slope[(r, c)] * self.before[c])
    }

    /// Directions of all wanted parameters together that such rows tell better than they were known.
    pub fn told(&self, information: &DMatrix<f64>) -> usize {
        if self.before.is_empty() {
            return 0;
        }
        // A variance that is less than half of what it was.
        self.precision(information).symmetric_eigenvalues().iter().filter(|x| **x > 2.0).count()
    }
}

#[cfg(all(test, feature = "urdf"))]
mod tests {
    use super::*;
    use crate::robot::load_model;

    /// Two rows that tell the mass and a first moment alone.
    #[test]
    fn what_rows_tell_is_added_to_what_was_known() {
        let robot = load_model("go1").unwrap();
        let wanted = Wanted::new(&robot, &[0, 1]).unwrap();
        assert_eq!(wanted.columns, (0..20).collect::<Vec<_>>());
        let mass = robot.joints[1].inertia[0];
        assert_eq!(wanted.before[10], mass);
        let mut information = DMatrix::zeros(20, 20);
        assert_eq!(wanted.deviations(&information), wanted.before);
        assert_eq!((wanted.log_determinant(&information), wanted.log_deviations(&information)), (0.0, 0.0));
        information[(10, 10)] = 3.0 / (mass * mass);
        let after = wanted.deviations(&information);
        assert!((after[10] - 0.5 * mass).abs() < 1e-12 * mass && after[11] == wanted.before[11]);
        assert_eq!(wanted.told(&information), 1);
        let half = 0.5f64.ln();
        assert!((wanted.log_determinant(&information) - half).abs() < 1e-12);
        assert!((wanted.log_deviations(&information) - half).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_told_where_nothing_is_wanted() {
        let wanted = Wanted::new(&load_model("go1").unwrap(), &[]).unwrap();
        let none = DMatrix::zeros(0, 0);
        assert!(wanted.deviations(&none).is_empty());
        assert_eq!((wanted.told(&none), wanted.log_determinant(&none)), (0, 0.0));
    }

    #[test]
    fn a_link_without_mass_is_named() {
        let mut robot = load_model("go1").unwrap();
        robot.joints[1].inertia = [0.0; INERTIAL];
        let reason = Wanted::new(&robot, &[1]).unwrap_err();
        assert!(reason.contains(&robot.joints[1].link), "{reason}");
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let robot = load_model("go1").unwrap();
        let wanted = Wanted::new(&robot, &[0, 1]).unwrap();
        let rows = DMatrix::from_fn(15, 20, |r, c| (((7 * r + 3 * c) % 11) as f64 - 5.0) / wanted.before[c]);
        let information = rows.transpose() * rows;
        let by =
            DMatrix::from_fn(20, 20, |r, c| ((r + c) % 5) as f64 / (wanted.before[r] * wanted.before[c]));
        let h = 1e-5;
        let [above, below] = [h, -h].map(|h| &information + &by * h);
        for (of, slope) in [
            (
                Wanted::log_deviations as fn(&Wanted, &DMatrix<f64>) -> f64,
                Wanted::deviations_slope as fn(&Wanted, &DMatrix<f64>) -> DMatrix<f64>,
            ),
            (Wanted::log_determinant, Wanted::determinant_slope),
        ] {
            let expected = (of(&wanted, &above) - of(&wanted, &below)) / (2.0 * h);
            let found = slope(&wanted, &information).dot(&by);
            assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} {expected}");
        }
    }
}
