//! `method = "perturbation"`: the bound of [1, Theorem 13], for comparison with the figures there (`docs/bibliography.md`).
//!
//! # The theorem and its interval Jacobian
//! With eta*(m) a local minimiser of |Y P(eta) - U(m)|, P the log-Cholesky map, theta_e lies in
//! theta*(m) + d theta*/dm(\[m\]) (\[m\] - m), m being torques, links and friction. The paper takes the Jacobian by the
//! implicit function theorem from P' and P''. But P'(eta) is invertible for every eta ([`crate::inertia::log_cholesky::jacobian`]),
//! so at a stationary point P'' Y'(Y P - U) = 0 forces Y'(Y P - U) = 0: theta* is the plain least-squares solution, and
//!
//! ```text
//! d theta*/dm = P' (P'Y'Y P')^-1 P' Y' dU/dm = L dU/dm,      L = (Y'Y)^-1 Y',
//! ```
//!
//! the same matrix for every m of \[m\]: the interval Jacobian is a point but for rounding, and no interval Hessian is
//! needed. U is affine in m, so the mean value form is exact, and the inclusion holds whether or not the minimiser is
//! interior: theta = L Y theta = L U(m_true).
//!
//! # Proven here
//! The bound in direction d = +-e_i is the certificate ([`super::certificate`]) with the rows' multipliers +-L_i, whatever
//! L came out as: L Y = 1 + E with E of the size of rounding, and E theta is charged over the prior. Links and friction are
//! shared by all windows, as in dU/dm. Beyond the paper (its assumption 12 and forward Euler) the rows' radii hold
//! the encoders' errors and the quadrature's. The dual bound chooses the best L instead of this one.

use nalgebra::DMatrix;

use super::bounds::{Proven, Tightened};
use super::certificate::{Multipliers, upper_bound};
use super::error::IdentifyError;
use super::physics::tighten_body;
use super::polytope::Polytope;
use crate::inertia::INERTIAL;

/// Singular values of Y below this share of the largest count as zero: the data then say nothing.
const NEGLIGIBLE: f64 = 1e-12;

/// Shrinks the intervals of the unknown body to the theorem's. Neither cuts nor better multipliers are used; physics
/// only serves to find a body inside.
///
/// # Errors
/// [`IdentifyError::AssumptionBroken`] if an interval comes out empty, with the row that weighs most.
pub(crate) fn tighten(polytope: &Polytope) -> Result<Tightened, IdentifyError> {
    let (offset, p) = (polytope.cuts.offset, polytope.len());
    let mut set = polytope.set.clone();
    let mut row_share = vec![0.0_f64; polytope.rows.len()];
    let none = vec![0.0; polytope.cuts.coefficients.len()];
    let mut proven = vec![];
    for (i, l) in pseudo_inverse(polytope).iter().flat_map(DMatrix::row_iter).enumerate() {
        let multipliers = [1.0, -1.0].map(|sign| {
            let rows: Vec<f64> = l.iter().map(|l| f64::from((sign * l) as f32)).collect();
            Multipliers { rows, cuts: none.clone() }
        });
        let mut sides = [(1.0, &multipliers[0]), (-1.0, &multipliers[1])].map(|(sign, by)| {
            let mut d = vec![0.0; p];
            d[offset + i] = sign;
            upper_bound(polytope, &d, by)
        });
        sides.iter_mut().for_each(|side| side.noise = side.noise.max(f64::MIN_POSITIVE));
        let (at, [upper, lower]) = (offset + i, sides);
        if upper.value < set.upper()[at] {
            set.narrow(at, f64::NEG_INFINITY, upper.value);
            proven.push(Proven::new(polytope, at, true, upper.value, &multipliers[0]));
        }
        if -lower.value > set.lower()[at] {
            set.narrow(at, -lower.value, f64::INFINITY);
            proven.push(Proven::new(polytope, at, false, -lower.value, &multipliers[1]));
        }
        let weight = |w: usize| l[w].abs() * polytope.rows.radius[w];
        for (w, share) in row_share.iter_mut().enumerate() {
            *share = share.max(weight(w) / upper.noise);
        }
        if let Some(excess) = set.emptied(at) {
            let heaviest = (0..polytope.rows.len()).max_by(|&a, &b| weight(a).total_cmp(&weight(b)));
            let origin = heaviest.map(|w| polytope.rows.origin[w]);
            return Err(origin.map_or(IdentifyError::PriorExcludesPhysics { parameter: at }, |origin| {
                // Both sides grow by the noise of one for every unit that the bounds grow.
                let by = 1.0 + excess / (upper.noise + lower.noise);
                IdentifyError::AssumptionBroken { t: origin.t, joint: origin.joint, by }
            }));
        }
    }
    let mut vertex = set.center();
    if let Ok((_, inside)) = tighten_body(&set, offset / INERTIAL) {
        vertex[offset..offset + INERTIAL].copy_from_slice(&inside);
    }
    let cut_used = vec![true; none.len()];
    Ok(Tightened { set, vertices: vec![vertex], row_share, cut_used, proven })
}

/// (Y'Y)^-1 Y' of the unknown body's columns; `None` without full column rank.
fn pseudo_inverse(polytope: &Polytope) -> Option<DMatrix<f64>> {
    let rows = &polytope.rows;
    if rows.len() < INERTIAL {
        return None;
    }
    let svd = rows.y.columns(polytope.cuts.offset, INERTIAL).into_owned().svd(true, true);
    let (largest, smallest) = (svd.singular_values.max(), svd.singular_values.min());
    if !(smallest > NEGLIGIBLE * largest) {
        return None;
    }
    svd.pseudo_inverse(0.0).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    use crate::identify::tests::{Noise, arm, prior, recording, truth};
    use crate::identify::{Identifier, IdentifierOptions, IdentifyError, Method};

    #[test]
    fn it_holds_the_truth_and_the_dual_bound_is_tighter() {
        let robot = Arc::new(arm());
        let start = prior(&robot);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let theta = truth(&robot, &start, &mut rng);
        let (samples, bound) = recording(&robot, &theta, 3.0, Noise::Corner, &mut rng);
        let known = |method: Method| {
            let options = IdentifierOptions { method, ..IdentifierOptions::default() };
            let mut identifier = Identifier::new(robot.clone(), &start, bound.clone(), options).unwrap();
            samples.iter().for_each(|s| identifier.push(s.clone()).unwrap());
            identifier.update().unwrap()
        };
        let (dual, theorem) = (known(Method::Dual), known(Method::Perturbation));
        assert!(theorem.set.contains(&theta) && dual.set.contains(&theta));
        let at = robot.inertial_index(robot.end_effector());
        let half = |set: &crate::inertia::ParameterSet, k: usize| set.radius()[at + k];
        println!("{:.3?} {:.3?}", &dual.set.radius()[at..at + 10], &theorem.set.radius()[at..at + 10]);
        for k in 0..10 {
            assert!(half(&dual.set, k) <= half(&theorem.set, k) * (1.0 + 1e-3), "{k}");
        }
        // It says something of its own: the mass is known better than from the prior.
        assert!(half(&theorem.set, 0) < half(&start, 0), "{}", half(&theorem.set, 0));
        assert!(theorem.set.lower()[at..].iter().zip(&theorem.nominal).all(|(l, x)| l <= x));
    }

    #[test]
    fn data_that_contradict_the_prior_are_noticed() {
        let robot = Arc::new(arm());
        let start = prior(&robot);
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut theta = truth(&robot, &start, &mut rng);
        let at = robot.inertial_index(robot.end_effector());
        (theta[at], theta[at + 3]) = (12.0, -2.4);
        let (samples, bound) = recording(&robot, &theta, 2.0, Noise::Uniform, &mut rng);
        let options = IdentifierOptions { method: Method::Perturbation, ..IdentifierOptions::default() };
        let mut identifier = Identifier::new(robot.clone(), &start, bound, options).unwrap();
        samples.into_iter().for_each(|s| identifier.push(s).unwrap());
        assert!(matches!(identifier.update(), Err(IdentifyError::AssumptionBroken { by, .. }) if by > 1.0));
    }
}
