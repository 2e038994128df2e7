//! Does a box of inertial parameters contain any rigid body at all?

use crate::identify::tighten_by_physics;
use crate::inertia::{INERTIAL, ParameterSet};

/// Why the prior's box contains no physically consistent body; `None` if none is excluded.
///
/// The bounds of [`tighten_by_physics`] are certified outwards, so a box that does hold a body is never refused.
pub(super) fn exclusion(lower: &[f64; INERTIAL], upper: &[f64; INERTIAL]) -> Option<String> {
    if upper[0] <= 0.0 {
        return Some(format!("the mass is at most {} kg, expected room for a mass > 0", upper[0]));
    }
    let set = match ParameterSet::new(lower.to_vec(), upper.to_vec()) {
        Ok(set) => set,
        Err(error) => return Some(error.to_string()),
    };
    tighten_by_physics(&set, 0).err().map(|e| {
        format!(
            "{e}; a pseudo-inertia >= 0 is needed: for a given mass and first moment the inertia about the joint \
             frame must at least be that of a point mass, and its moments must satisfy the triangle inequality"
        )
    })
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::super::task::Scenario;
    use super::*;
    use crate::horizon::HeldObject;
    use crate::inertia::{INERTIAL, pseudo::check_physical};

    /// What the Z1's scenario claims to be known of its load is so: the box holds it, and what is left of it without the known
    /// part is a body.
    #[test]
    fn the_z1s_load_is_as_its_prior_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/z1_unknown_2kg.toml");
        let (task, truth) = Scenario::load(path).unwrap().split();
        let HeldObject { prior, .. } = task.held.unwrap();
        let (body, core) = (truth.reveal().unwrap(), prior.core.unwrap());
        let [lower, upper] = prior.body().unwrap().unwrap();
        assert!((0..INERTIAL).all(|k| lower[k] <= body[k] && body[k] <= upper[k]));
        assert!(check_physical(&std::array::from_fn(|k| body[k] - core[k])).is_ok());
    }

    type Bounds = ([f64; INERTIAL], [f64; INERTIAL]);

    fn table_1() -> Bounds {
        let join = |head: [f64; 4], x: f64| std::array::from_fn(|k| if k < 4 { head[k] } else { x });
        (join([1.2, -0.4, -0.4, -1.0], -0.2), join([5.2, 0.4, 0.4, -0.1], 0.2))
    }

    fn excluded((lower, upper): &Bounds) -> Option<String> {
        exclusion(lower, upper)
    }

    #[test]
    fn the_published_prior_holds_bodies() {
        assert_eq!(excluded(&table_1()), None);
    }

    #[test]
    fn priors_that_exclude_physics_are_refused() {
        // A centre of mass further out than the inertia allows: I_xx >= h_z^2 / m = 0.9^2 / 2.
        let mut far = table_1();
        (far.1[0], far.1[3]) = (2.0, -0.9);
        assert!(excluded(&far).unwrap().contains("no physically consistent body"));
        // Products of inertia larger than the moments.
        let mut skew = table_1();
        skew.0[5] = 0.19;
        (skew.1[4], skew.1[6], skew.1[9]) = (0.1, 0.1, 0.1);
        assert!(excluded(&skew).unwrap().contains("no physically consistent body"));
        // The triangle inequality.
        let mut sharp = table_1();
        (sharp.0[9], sharp.1[4], sharp.1[6]) = (0.2, 0.09, 0.09);
        assert!(excluded(&sharp).is_some());
        let mut weightless = table_1();
        (weightless.0[0], weightless.1[0]) = (-1.0, 0.0);
        assert!(excluded(&weightless).unwrap().contains("mass"));
    }

    #[test]
    fn a_box_around_a_body_is_never_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..25 {
            // Some point masses: always a body.
            let mut theta = [0.0; INERTIAL];
            for _ in 0..rng.random_range(1..6) {
                let m: f64 = rng.random_range(0.01..2.0);
                let r: [f64; 3] = std::array::from_fn(|_| rng.random_range(-0.3..0.3));
                let [x, y, z] = r;
                let point =
                    [1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y];
                theta.iter_mut().zip(point).for_each(|(t, p)| *t += m * p);
            }
            let width: f64 = rng.random_range(0.0..0.1);
            let prior = (
                theta.map(|x| x - width * rng.random_range(0.0..1.0)),
                theta.map(|x| x + width * rng.random_range(0.0..1.0)),
            );
            assert_eq!(excluded(&prior), None);
        }
    }
}
