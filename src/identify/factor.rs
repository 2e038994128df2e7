//! By how much sensors would have to be worse than stated for a recording to contradict nothing.
//!
//! # What is proven
//! Let the bounds of some sensors be multiplied by s, rows of data made anew with them (torque errors enter as s rho/(1 - s rho), the
//! encoders' through everything that they touch), and the box be the one that was believed before any measurement.
//! - *At least*: multipliers on the rows with s prove that no z of the box explains them ([`super::additive::radius_excess`]). Whatever
//!   sensors within smaller bounds may have done is within s as well, so every smaller factor is refuted by the same proof.
//! - *Enough*: a z of the box with a physically consistent last body lies within the radius of every row with s, rounded outward. So no
//!   proof from these rows, the box and physical consistency can refute s.
//!
//! Where s rho >= 1 the rows say nothing: a torque of which nothing is known is explained by every z. So 1/rho is always enough.

use super::additive::{Warm, radius_excess};
use super::error::IdentifyError;
use super::polytope::Rows;
use crate::inertia::ParameterSet;
use crate::robot::Sensors;

/// The two figures are at most so far apart, as a ratio, where the search ends by itself.
const CLOSE: f64 = 1.01;
/// Around a factor that neither proof decides both are tried with this ratio.
const ASIDE: f64 = 1.003;
/// No larger factor is looked for.
const FARTHEST: f64 = 1e6;

/// Whose bounds are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaled {
    /// The torque sensors' alone.
    Torque,
    /// All sensors'.
    Sensors,
}

impl Scaled {
    /// The bounds times `factor`; None where nothing is known of torques then.
    pub fn times(self, sensors: &Sensors, factor: f64) -> Option<Sensors> {
        let mut scaled = sensors.clone().with_torque_errors_times(factor);
        if self == Self::Sensors {
            scaled.position_rad *= factor;
            scaled.velocity_rad_s *= factor;
        }
        (scaled.torque_ratio < 1.0).then_some(scaled)
    }
}

/// A smallest factor, enclosed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmallestFactor {
    /// Proven: smaller ones are refuted. At least one.
    pub at_least: f64,
    /// Proven: with this one the rows are explained. None if none was found up to 10^6.
    pub enough: Option<f64>,
}

/// What the rows with a factor say.
enum Said {
    Refuted,
    Explained,
    Undecided,
}

/// Encloses the smallest factor on the bounds of the sensors that `scaled` names. `rows` makes the rows of data with given bounds: always
/// the same windows in the same order, over the full parameter vector of `prior`; the body with index `body` is physically consistent.
///
/// # Errors
/// [`IdentifyError`] of `rows`, or for a box that is not finite or holds no physically consistent body.
pub fn smallest_factor(
    prior: &ParameterSet,
    body: usize,
    sensors: &Sensors,
    scaled: Scaled,
    rows: impl Fn(&Sensors) -> Result<Rows, IdentifyError>,
) -> Result<SmallestFactor, IdentifyError> {
    let mut warm = Warm::new(body);
    let mut said = |factor: f64| -> Result<Said, IdentifyError> {
        let Some(sensors) = scaled.times(sensors, factor) else { return Ok(Said::Explained) };
        let (necessary, sufficient, _) = radius_excess(prior, &rows(&sensors)?, &mut warm)?;
        Ok(if necessary > 0.0 {
            Said::Refuted
        } else if sufficient <= 0.0 {
            Said::Explained
        } else {
            Said::Undecided
        })
    };
    let ratio = sensors.torque_ratio;
    let (mut low, mut high) = (1.0_f64, (ratio > 0.0).then(|| (1.0 / ratio).next_up().next_up()));
    if matches!(said(1.0)?, Said::Explained) {
        return Ok(SmallestFactor { at_least: 1.0, enough: Some(1.0) });
    }
    let mut step = 2.0_f64;
    while high.is_none_or(|high| high > CLOSE * low) && low < FARTHEST {
        let factor = high.map_or(low * step, |high: f64| (low * high).sqrt());
        step *= step;
        match said(factor)? {
            Said::Refuted => low = factor,
            Said::Explained => high = Some(factor),
            Said::Undecided => {
                // At the edge, where the program's tolerance shows.
                let (below, above) = (factor / ASIDE, factor * ASIDE);
                if matches!(said(below)?, Said::Refuted) {
                    low = low.max(below);
                }
                if matches!(said(above)?, Said::Explained) {
                    high = Some(above);
                }
                break;
            }
        }
    }
    Ok(SmallestFactor { at_least: low, enough: high })
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::super::polytope::Origin;
    use super::*;
    use crate::inertia::INERTIAL;

    const BODY: [f64; INERTIAL] = [2.0, 0.1, -0.2, 0.3, 0.2, 0.01, 0.25, 0.0, -0.02, 0.15];

    /// Rows y z = tau with torques whose errors are `factor` times as large as a ratio of 2.5 % allows, at random or at the end.
    struct Problem {
        set: ParameterSet,
        y: DMatrix<f64>,
        measured: Vec<f64>,
    }

    impl Problem {
        fn new(seed: u64, factor: f64) -> Self {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let set = ParameterSet::new(
                BODY.iter().map(|x| x - rng.random_range(0.1..0.4)).collect(),
                BODY.iter().map(|x| x + rng.random_range(0.1..0.4)).collect(),
            )
            .unwrap();
            let y = DMatrix::from_fn(300, INERTIAL, |_, _| rng.random_range(-1.0..1.0));
            let measured = (0..300)
                .map(|w| {
                    let exact: f64 = y.row(w).iter().zip(&BODY).map(|(y, z)| y * z).sum();
                    let share: f64 = if rng.random() { 1.0 } else { rng.random_range(-1.0..1.0) };
                    exact * (1.0 + share * 0.025 * factor)
                })
                .collect();
            Self { set, y, measured }
        }

        fn rows(&self, sensors: &Sensors) -> Rows {
            let ratio = sensors.torque_ratio;
            Rows {
                y: self.y.clone(),
                u: self.measured.clone(),
                radius: self.measured.iter().map(|u| ratio * u.abs() / (1.0 - ratio) + 1e-9).collect(),
                origin: (0..self.measured.len()).map(|w| Origin { t: w as f64, joint: w % 7 }).collect(),
                source: vec![],
            }
        }
    }

    fn sensors() -> Sensors {
        Sensors { torque_ratio: 0.025, ..Sensors::PERFECT }
    }

    /// The true factor explains the rows, so none above is necessary; and what is said to be enough is: rows with it have a witness.
    #[test]
    #[ignore = "long: cargo test --release --tests -- --ignored at_length"]
    fn the_figures_enclose_the_smallest_factor_at_length() {
        for seed in 0..12 {
            let true_factor = [1.5, 4.0, 15.0][seed as usize % 3];
            let problem = Problem::new(seed, true_factor);
            let found = smallest_factor(&problem.set, 0, &sensors(), Scaled::Torque, |s| Ok(problem.rows(s)))
                .unwrap();
            let enough = found.enough.unwrap();
            assert!(1.0 < found.at_least && found.at_least <= true_factor * 1.000001, "{seed}: {found:?}");
            assert!(found.at_least <= enough && enough < 1.02 * found.at_least, "{seed}: {found:?}");
            let with = |factor: f64| {
                let rows = problem.rows(&Scaled::Torque.times(&sensors(), factor).unwrap());
                radius_excess(&problem.set, &rows, &mut Warm::new(0)).unwrap()
            };
            // Neither figure rests on what was carried over.
            let (_, excess, witness) = with(enough);
            assert!(excess == 0.0 && problem.set.contains(&witness), "{seed}: {excess}");
            assert!(with(0.999 * found.at_least).0 > 0.0, "{seed}: {found:?}");
        }
    }

    /// With 2.5 % no factor above 40 is ever needed, however false the torques are. Here they are 300 times too large and of the
    /// wrong sign: what they were is within s rho/(1 - s rho) of what they read from s = 20 on.
    #[test]
    fn one_over_the_ratio_is_always_enough() {
        let mut problem = Problem::new(3, 1.0);
        problem.measured.iter_mut().for_each(|u| *u *= -300.0);
        let found =
            smallest_factor(&problem.set, 0, &sensors(), Scaled::Torque, |s| Ok(problem.rows(s))).unwrap();
        assert!(found.at_least > 19.0 && found.enough.unwrap() < 21.0, "{found:?}");
    }

    #[test]
    fn what_is_explained_needs_no_factor() {
        let problem = Problem::new(5, 0.9);
        let found =
            smallest_factor(&problem.set, 0, &sensors(), Scaled::Sensors, |s| Ok(problem.rows(s))).unwrap();
        assert_eq!(found, SmallestFactor { at_least: 1.0, enough: Some(1.0) });
    }
}
