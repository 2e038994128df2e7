//! What physical consistency alone says about a box of inertial parameters.

use super::bounds::{Effort, Proven, tighten};
use super::error::IdentifyError;
use super::polytope::Polytope;
use crate::inertia::{INERTIAL, ParameterSet, pseudo::check_physical};

/// Shrinks the ten intervals of body `body` to what its pseudo-inertia being positive semi-definite allows.
///
/// `set` is a full parameter vector's box (layout of [`crate::robot::Model::nominal_parameters`], `body` the
/// joint index of the body). No data is used; the result contains every physically consistent body of the box.
///
/// # Errors
/// [`IdentifyError::PriorExcludesPhysics`] if no such body lies in the box; [`IdentifyError::BadPrior`] for intervals that are none.
pub fn tighten_by_physics(set: &ParameterSet, body: usize) -> Result<ParameterSet, IdentifyError> {
    Ok(tighten_body(set, body)?.0)
}

/// [`tighten_by_physics`] and a physically consistent body well inside the result.
pub(crate) fn tighten_body(
    set: &ParameterSet,
    body: usize,
) -> Result<(ParameterSet, [f64; INERTIAL]), IdentifyError> {
    prove_body(set, body).map(|(set, inside, _)| (set, inside))
}

/// [`tighten_body`], and what proves the bounds of the body's ten parameters.
pub(super) fn prove_body(
    set: &ParameterSet,
    body: usize,
) -> Result<(ParameterSet, [f64; INERTIAL], Vec<Proven>), IdentifyError> {
    let offset = body * INERTIAL;
    check_box(set, offset + INERTIAL)?;
    exists_if_single(set, body)?;
    let mut polytope = alone(set, offset);
    let unknown: Vec<usize> = (0..INERTIAL).collect();
    let effort = Effort { rounds: 100, cut_tolerance: 1e-6, tolerance: 1e-6, ..Effort::default() };
    let found = tighten(&mut polytope, &unknown, effort).map_err(|e| match e {
        IdentifyError::PriorExcludesPhysics { parameter } => {
            IdentifyError::PriorExcludesPhysics { parameter: parameter + offset }
        }
        other => other,
    })?;
    let mut out = set.clone();
    for k in 0..INERTIAL {
        out.replace(offset + k, [found.set.lower()[k], found.set.upper()[k]]);
    }
    Ok((out, polytope.cuts.body(&found.middle()), found.proven))
}

/// A box that is one body leaves nothing to tighten, so that no interval of it would come out empty: it is asked directly.
fn exists_if_single(set: &ParameterSet, body: usize) -> Result<(), IdentifyError> {
    let own = set.body(body);
    let refused = own.lower() == own.upper() && check_physical(&own.lower()).is_err();
    if refused { Err(IdentifyError::PriorExcludesPhysics { parameter: INERTIAL * body }) } else { Ok(()) }
}

/// The body whose parameters start at `offset`, alone: only its ten numbers matter to what physics says.
pub(super) fn alone(set: &ParameterSet, offset: usize) -> Polytope {
    let range = offset..offset + INERTIAL;
    Polytope::from_box(set.part(range), 0)
}

/// Checks that a box is finite, ordered, and has at least `least` parameters.
pub(crate) fn check_box(set: &ParameterSet, least: usize) -> Result<(), IdentifyError> {
    let found = set.lower().len().min(set.upper().len());
    if found < least || set.lower().len() != set.upper().len() {
        return Err(IdentifyError::WrongLength { what: "prior box", found, expected: least });
    }
    for (parameter, (&lower, &upper)) in set.lower().iter().zip(set.upper()).enumerate() {
        if !(lower.is_finite() && upper.is_finite() && lower <= upper) {
            return Err(IdentifyError::BadPrior { parameter, lower, upper });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inertia::log_cholesky;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Table I of the identification paper, in the order of the parameter vector.
    pub fn table_one() -> ParameterSet {
        let mut lower = vec![1.2, -0.4, -0.4, -1.0];
        let mut upper = vec![5.2, 0.4, 0.4, -0.1];
        lower.extend([-0.2; 6]);
        upper.extend([0.2; 6]);
        ParameterSet::new(lower, upper).unwrap()
    }

    #[test]
    fn table_one_shrinks_to_what_physics_leaves() {
        let start = std::time::Instant::now();
        let set = tighten_by_physics(&table_one(), 0).unwrap();
        println!("{:?}\n{:.4?}\n{:.4?}", start.elapsed(), set.lower(), set.upper());
        // By hand: Sigma_zz >= h_z^2/m >= 0.01/5.2, so I_xx, I_yy >= 0.00192; I_zz >= 0;
        // |I_xy| <= sqrt(S_xx S_yy) <= (S_xx + S_yy)/2 = I_zz/2 <= 0.1, likewise the others.
        let floor = 0.01 / 5.2;
        for j in [4, 6] {
            assert!((set.lower()[j] - floor).abs() < 1e-4, "{}", set.lower()[j]);
        }
        assert!(set.lower()[9].abs() < 1e-4);
        for j in [5, 7, 8] {
            assert!(set.upper()[j] < 0.1001 && set.upper()[j] > 0.098 && set.lower()[j] > -0.1001);
        }
    }

    #[test]
    fn no_physical_body_is_lost() {
        let prior = table_one();
        let set = tighten_by_physics(&prior, 0).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut inside = 0;
        for _ in 0..400_000 {
            let mut eta: [f64; 10] = std::array::from_fn(|_| rng.random_range(-0.2..0.2));
            eta[0] = rng.random_range(0.1..0.85);
            (1..4).for_each(|i| eta[i] = rng.random_range(-6.0..-1.5));
            eta[9] = rng.random_range(-0.3..0.0);
            let theta = log_cholesky::theta(&eta);
            if prior.contains(&theta) {
                inside += 1;
                assert!(set.contains(&theta), "{theta:?}");
            }
        }
        assert!(inside > 1000, "{inside}");
    }

    #[test]
    fn refuses_a_prior_without_bodies() {
        let mut set = table_one();
        (set.bounds().0[4], set.bounds().1[4]) = (-0.2, -0.1);
        let error = tighten_by_physics(&set, 0).unwrap_err();
        assert!(matches!(error, IdentifyError::PriorExcludesPhysics { .. }), "{error}");
        let single = |body: &[f64; INERTIAL]| ParameterSet::new(body.to_vec(), body.to_vec()).unwrap();
        let error = tighten_by_physics(&single(&[2.0; INERTIAL]), 0).unwrap_err();
        assert!(matches!(error, IdentifyError::PriorExcludesPhysics { parameter: 0 }), "{error}");
        let ball = [2.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1];
        tighten_by_physics(&single(&ball), 0).unwrap();
        set.bounds().1[2] = f64::NAN;
        assert!(matches!(tighten_by_physics(&set, 0), Err(IdentifyError::BadPrior { parameter: 2, .. })));
        assert!(matches!(tighten_by_physics(&set, 1), Err(IdentifyError::WrongLength { .. })));
    }
}
