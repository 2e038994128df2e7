//! Crossover and phase margin of a linear loop with a delay, and with drives that lag.
//!
//! The joints obey M x'' = u, and the law answers u = -(D x' + K x), all of it `a` seconds late: the *age*. The loop is
//!
//! L(s) = (D s + K) e^(-a s) / (M s^2 (1 + T s)), with T the lag of the drives.
//!
//! By the generalised Nyquist criterion (MacFarlane and Postlethwaite 1977) its eigenvalues, the *characteristic loci*, tell how far it is from
//! instability: the *crossover* is the highest frequency at which one of them has the size 1, and the *phase margin* the least by which
//! one may be turned further there, in all joints alike, before it meets -1.
//!
//! What is approximate: the whole age counts as a pure delay, where a held torque is half a period old on average; and a margin that is the same in all
//! joints says nothing of delays that differ among them. Friction, gravity and Coriolis torques are taken to be met by what the law makes up for; met `a`
//! late, friction N is worth N a of inertia, some percent of a drive's own.

use std::f64::consts::{PI, TAU};

use nalgebra::{Complex, DMatrix, Schur};
use serde::Serialize;

/// Lowest frequency that is looked at, Hz: slower loops follow nothing.
const LOWEST_HZ: f64 = 0.05;
/// Highest, Hz: above any joint's control.
const HIGHEST_HZ: f64 = 2e4;
/// Frequencies a decade. Loci turn over decades, so that none passes 1 and comes back between two of them.
const A_DECADE: usize = 24;
/// Halvings of the interval in which a locus passes 1: to one part in a million.
const HALVINGS: usize = 20;

/// What counts as zero below the diagonal of a Schur form, relative to the diagonal, tried in turn: of some loops, gains far apart, rounding leaves a little
/// more than the first for ever.
const ZEROS: [f64; 4] = [f64::EPSILON, 1e-14, 1e-12, 1e-10];
/// Steps in which the form is found, or the next is tried; most take two a joint.
const STEPS: usize = 300;

/// A linear loop; all matrices n x n, rows are torques.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearLoop {
    /// M, kg m^2.
    pub mass: DMatrix<f64>,
    /// D, N m s/rad.
    pub velocity_gain: DMatrix<f64>,
    /// K, N m/rad.
    pub position_gain: DMatrix<f64>,
}

/// Where a loop crosses over, and what is left there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoopMargin {
    /// Highest frequency at which a characteristic locus has the size 1, Hz.
    pub crossover_hz: f64,
    /// Least phase margin at any such frequency, degrees; negative: the linear loop is unstable.
    pub phase_deg: f64,
}

impl LinearLoop {
    /// Crossover and phase margin at an age of `age_s` (s) of drives that lag by `lag_s` (s); none if no locus passes 1: then no delay alone can make the loop ring.
    pub fn margin(&self, age_s: f64, lag_s: f64) -> Option<LoopMargin> {
        let steps = ((HIGHEST_HZ / LOWEST_HZ).log10() * A_DECADE as f64).ceil() as usize;
        let at = |i: usize| LOWEST_HZ * (HIGHEST_HZ / LOWEST_HZ).powf(i as f64 / steps as f64);
        let mut margin: Option<LoopMargin> = None;
        let mut before = self.loci(at(0), lag_s)?;
        for i in 1..=steps {
            let now = self.loci(at(i), lag_s)?;
            for k in 0..now.len() {
                if (before[k].norm() > 1.0) == (now[k].norm() > 1.0) {
                    continue;
                }
                let (hz, locus) = self.crossing(k, (at(i - 1), before[k]), at(i), lag_s)?;
                let turned = (locus.arg() + PI + PI).rem_euclid(TAU) - PI;
                let phase_deg = (turned - TAU * hz * age_s).to_degrees();
                let least = margin.map_or(phase_deg, |m| m.phase_deg.min(phase_deg));
                margin = Some(LoopMargin { crossover_hz: hz, phase_deg: least });
            }
            before = now;
        }
        margin
    }

    /// Frequency between two at which locus `k` has the size 1, and the locus there.
    fn crossing(
        &self,
        k: usize,
        (mut low, mut locus): (f64, Complex<f64>),
        mut high: f64,
        lag_s: f64,
    ) -> Option<(f64, Complex<f64>)> {
        let above = locus.norm() > 1.0;
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            locus = self.loci(middle, lag_s)?[k];
            if (locus.norm() > 1.0) == above { low = middle } else { high = middle }
        }
        Some(((low * high).sqrt(), locus))
    }

    /// Eigenvalues of the loop without its delay at `hz`, by their size; none if the mass matrix is singular.
    fn loci(&self, hz: f64, lag_s: f64) -> Option<Vec<Complex<f64>>> {
        let s = Complex::new(0.0, TAU * hz);
        let complex = |x: f64| Complex::new(x, 0.0);
        let mut answer = self.velocity_gain.map(complex) / s + self.position_gain.map(complex) / (s * s);
        if lag_s > 0.0 {
            answer /= complex(1.0) + s * lag_s;
        }
        let loop_at = self.mass.map(complex).lu().solve(&answer)?;
        if !loop_at.iter().all(|x| x.re.is_finite() && x.im.is_finite()) {
            return None;
        }
        let form = ZEROS.into_iter().find_map(|zero| Schur::try_new(loop_at.clone(), zero, STEPS))?;
        let mut loci: Vec<Complex<f64>> = form.eigenvalues()?.iter().copied().collect();
        loci.sort_by(|a, b| a.norm().total_cmp(&b.norm()));
        Some(loci)
    }
}

impl LoopMargin {
    /// The higher crossover and the smaller margin of two.
    pub fn worse(self, other: Self) -> Self {
        let phase_deg = self.phase_deg.min(other.phase_deg);
        Self { crossover_hz: self.crossover_hz.max(other.crossover_hz), phase_deg }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// x'' = -mu (x' + k x) for each pair, seen in coordinates turned by `turn`.
    fn loops(pairs: [(f64, f64); 2], turn: f64) -> LinearLoop {
        let (s, c) = turn.sin_cos();
        let rotation = DMatrix::from_row_slice(2, 2, &[c, -s, s, c]);
        let in_turned = |a: f64, b: f64| {
            &rotation * DMatrix::from_row_slice(2, 2, &[a, 0.0, 0.0, b]) * rotation.transpose()
        };
        let [(a, k), (b, l)] = pairs;
        LinearLoop {
            mass: in_turned(1.0, 1.0),
            velocity_gain: in_turned(a, b),
            position_gain: in_turned(a * k, b * l),
        }
    }

    /// Crossover (rad/s) and phase margin (degrees) of mu (s + k) / s^2 e^(-a s): w^4 = mu^2 (w^2 + k^2), atan(w / k) - a w.
    fn scalar(mu: f64, k: f64, age: f64) -> (f64, f64) {
        let w = (0.5 * (mu * mu + (mu.powi(4) + 4.0 * mu * mu * k * k).sqrt())).sqrt();
        (w, ((w / k).atan() - age * w).to_degrees())
    }

    #[test]
    fn two_scalar_loops_in_any_coordinates_are_those_loops() {
        for turn in [0.0, 0.4, 1.3] {
            let found = loops([(200.0, 5.0), (60.0, 40.0)], turn).margin(3e-3, 0.0).unwrap();
            let [(fast, first), (_, second)] = [scalar(200.0, 5.0, 3e-3), scalar(60.0, 40.0, 3e-3)];
            assert!((found.crossover_hz / (fast / TAU) - 1.0).abs() < 1e-5, "{found:?}");
            assert!((found.phase_deg - first.min(second)).abs() < 1e-3, "{found:?}, {first}, {second}");
        }
        // Nothing is answered: nothing crosses over.
        assert_eq!(loops([(0.0, 1.0), (0.0, 1.0)], 0.2).margin(1.0, 0.0), None);
    }

    /// Rounding keeps some Schur forms from ever being exact; the loop of such a state is told all the same, and in time.
    #[test]
    fn loops_of_seven_joints_with_gains_far_apart_are_told() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut random = |from: f64, to: f64| {
            DMatrix::from_fn(7, 7, |_, _| {
                rng.random_range(-1.0..1.0) * 10f64.powf(rng.random_range(from..to))
            })
        };
        let mut told = 0;
        for _ in 0..40 {
            let floor = random(-2.0, 0.0);
            let mass = &floor * floor.transpose() + DMatrix::identity(7, 7);
            // One joint answers far more than the others, as where the law acts near the edge of its tube; gains without a part of rank 1 have no such scale.
            let loud = random(2.0, 4.0).column(0) * random(-1.0, 1.0).column(0).transpose();
            let law = LinearLoop {
                mass,
                velocity_gain: loud.clone() + random(-9.0, -7.0),
                position_gain: loud * 5.0,
            };
            told += usize::from(law.margin(1e-3, 0.0).is_some());
        }
        assert!(told > 30, "{told} of 40");
    }

    #[test]
    fn what_is_no_number_has_no_margin() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut broken = loops([(200.0, 5.0), (60.0, 40.0)], 0.3);
            broken.velocity_gain[(0, 1)] = bad;
            assert_eq!(broken.margin(1e-3, 0.0), None);
        }
    }

    /// By how much a small error of the delayed loop grows in ten turns at its crossover.
    fn growth(mu: f64, k: f64, age: f64) -> f64 {
        let (w, _) = scalar(mu, k, age);
        let (turn, step) = (TAU / w, (age / 40.0).min(0.002 / w));
        let late = (age / step).round() as usize;
        let (mut x, mut v, mut past) = (1.0, 0.0, vec![mu * k; late + 1]);
        let (mut early, mut end, total) = (0.0f64, 0.0f64, (20.0 * turn / step) as usize);
        for i in 0..total {
            let slot = i % past.len();
            let answer = past[slot];
            past[slot] = mu * (v + k * x);
            v -= step * answer;
            x += step * v;
            let size = (x * x + (v / w).powi(2)).sqrt();
            let part = i * 20 / total;
            early = if (9..10).contains(&part) { early.max(size) } else { early };
            end = if part == 19 { end.max(size) } else { end };
        }
        end / early
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// The margin has the sign that the loop's own motion has: with some left it dies out, with less than none it grows.
        #[test]
        fn loops_with_a_margin_settle_and_loops_without_grow(mu in 20.0f64..300.0, share in 0.02f64..0.4, age in 0.3f64..2.5) {
            let (k, age) = (share * mu, age / mu);
            let phase = loops([(mu, k), (0.5 * mu, k)], 0.7).margin(age, 0.0).unwrap().phase_deg;
            let worst = growth(mu, k, age).max(growth(0.5 * mu, k, age));
            prop_assume!(phase.abs() > 3.0);
            prop_assert_eq!(worst > 1.0, phase < 0.0, "{} degrees, grows to {}", phase, worst);
        }
    }
}
