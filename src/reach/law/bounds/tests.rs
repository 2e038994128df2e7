use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::reach::law::robust;
use crate::robot::Gains;

proptest! {
    #[test]
    fn no_place_in_the_layer_needs_more_than_the_factor(c in 1.0..20.0f64, x in 0.0..=1.0f64) {
        let needed = c * x * (1.0 - x) + 0.5 * (1.0 - x) * (1.0 - x);
        prop_assert!(needed <= layer_factor(c) * (1.0 + 1e-14));
        // And the factor is reached.
        let top = (c - 1.0) / (2.0 * c - 1.0);
        let reached = c * top * (1.0 - top) + 0.5 * (1.0 - top) * (1.0 - top);
        prop_assert!(layer_factor(c) <= reached * (1.0 + 1e-12));
    }
}

/// A law's figures, random over many orders of magnitude, and the mass matrix that it meets.
struct Trial {
    tube: Tube,
    roundoff: RoundoffBounds,
    rho: Vec<f64>,
    a: Vec<f64>,
    /// r'Mr = sum_i (1 + (sigma_i - 1)) A_i r_i^2: a diagonal M above A.
    mass: Vec<f64>,
    sigma: f64,
}

impl Trial {
    fn new(n: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut between = |low: f64, high: f64| 10f64.powf(rng.random_range(low..high));
        let h = between(-4.0, -2.0);
        let alpha = between(-2.0, 0.0) / h;
        let v_max = between(-5.0, 0.0);
        let a: Vec<f64> = (0..n).map(|_| between(-1.0, 1.0)).collect();
        let relative: Vec<f64> = (0..n).map(|_| between(0.0, 0.5)).collect();
        let slack = v_max * between(-6.0, -1.0);
        let hold = alpha * v_max * between(-6.0, -1.0);
        // The layers take as much of alpha V_max as the hold power does, or less.
        let rho: Vec<f64> = a.iter().map(|a| (alpha * v_max * a / h * between(-6.0, -1.0)).sqrt()).collect();
        let layer_ticks = 1.0 + between(-2.0, 0.7);
        let gains = Gains { k_r: 10.0, alpha, v_max, period_s: h, stiction_speed_rad_s: 1e-3 };
        let zero = vec![0.0; n];
        let tube = Tube {
            gains,
            layer_ticks,
            inertia_floor: a.clone(),
            lag_floor: a.clone(),
            drift_nm: zero.clone(),
            hold_power_w: hold,
            energy_slack_j: slack,
            acceleration_bound: zero,
            motor_loops: None,
        };
        let sigma = relative.iter().copied().fold(0.0, f64::max);
        let mass = relative.iter().zip(&a).map(|(s, a)| s * a).collect();
        let roundoff = RoundoffBounds { torque_nm: (0..n).map(|_| 0.0).collect(), energy_j: 0.0 };
        Self { tube, roundoff, rho, a, mass, sigma }
    }

    fn bounds(&self, alone: &[f64]) -> LawBounds {
        let r: Vec<f64> = self.a.iter().map(|a| (2.0 * self.tube.gains.v_max / a).sqrt()).collect();
        LawBounds::new(&self.tube, &self.roundoff, &self.rho, &r, &self.a, (self.sigma, alone))
    }

    /// What the law makes of this r: |v|, and the rest's torques m.
    fn law(&self, r: &[f64], energy: f64) -> (Vec<f64>, Vec<f64>) {
        let mut pull = vec![0.0; r.len()];
        let sums = robust::demand(&self.tube, (&self.rho, r), energy, &mut pull);
        let Some(shares) = robust::shares(&sums) else { return (vec![0.0; r.len()], vec![0.0; r.len()]) };
        let of =
            |j: usize, shares: &robust::Shares<f64>| robust::torque(shares, pull[j], self.a[j], r[j]).abs();
        let rest = robust::Shares { layer: 0.0, ..shares };
        (0..r.len()).map(|j| (of(j, &shares), of(j, &rest))).unzip()
    }
}

/// Whatever r is read, the law keeps its bounds; robots of one joint use them up.
#[test]
fn the_law_never_does_more_than_its_bounds() {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let (mut used, mut tried) = ([0.0f64; 4], 0);
    for trial in 0..600 {
        let n = 1 + trial % 3;
        let trial = Trial::new(n, &mut rng);
        let bounds = trial.bounds(&vec![trial.sigma; n]);
        if bounds.robust.iter().any(|x| !x.is_finite()) {
            continue;
        }
        let h = trial.tube.gains.period_s;
        for _ in 0..300 {
            let alone = rng.random_range(0..n);
            let others = [0.0, 0.1, 1.0][rng.random_range(0..3)];
            let along: Vec<f64> =
                (0..n).map(|j| if j == alone { 1.0 } else { others * rng.random_range(-1.0..1.0) }).collect();
            let twice: f64 = trial.mass.iter().zip(&along).map(|(m, r)| m * r * r).sum();
            // V^ = r'Mr/2 + nu is anywhere up to V_max, often close below.
            let room = trial.tube.gains.v_max * (1.0 - 10f64.powf(rng.random_range(-6.0..0.0)));
            let scale = (2.0 * (room - trial.tube.energy_slack_j).max(0.0) / twice).sqrt();
            let r: Vec<f64> = along.iter().map(|x| scale * x).collect();
            let (v, rest) = trial.law(&r, room);
            let norm = |x: &[f64]| x.iter().zip(&trial.a).map(|(x, a)| x * x / a).sum::<f64>();
            let gain = (0..n).filter(|&j| r[j] != 0.0).map(|j| h * v[j] / (trial.a[j] * r[j].abs()));
            let robust = (0..n).map(|j| v[j] / bounds.robust[j]).fold(0.0, f64::max);
            let shares = [
                robust,
                norm(&v).sqrt() / bounds.robust_norm,
                0.5 * h * norm(&rest) / bounds.own_mismatch_w,
                gain.fold(0.0, f64::max) / bounds.gain,
            ];
            for (used, share) in used.iter_mut().zip(shares) {
                assert!(share <= 1.0 + 1e-9, "{shares:?}");
                *used = used.max(share);
            }
            tried += 1;
        }
    }
    assert!(tried > 50_000 && used.iter().all(|used| *used > 0.97), "{used:?} of {tried}");
}

/// The bounds of the module's header, written out in plain numbers.
#[test]
fn bounds_are_those_of_the_header() {
    let mut rng = ChaCha8Rng::seed_from_u64(32);
    let mut layers = 0;
    for trial in 0..300 {
        let n = 1 + trial % 3;
        let trial = Trial::new(n, &mut rng);
        let alone: Vec<f64> = (0..n).map(|_| trial.sigma * rng.random_range(0.3..1.0)).collect();
        let bounds = trial.bounds(&alone);
        let Trial { tube, rho, a, sigma, .. } = &trial;
        let (gains, c) = (&tube.gains, tube.layer_ticks);
        let h = gains.period_s;
        let factor = 0.5 + (c - 1.0).powi(2) / (2.0 * (2.0 * c - 1.0));
        let layer: Vec<f64> = (0..n).map(|j| factor * h * rho[j].powi(2) / a[j]).collect();
        let rest = tube.hold_power_w + layer.iter().sum::<f64>();
        let below = gains.v_max - rest / gains.alpha - tube.energy_slack_j;
        if below <= 0.0 {
            continue;
        }
        let z1 = (2.0 * below / sigma).sqrt();
        let near_exactly = |found: f64, right: f64| {
            assert!(found >= right * (1.0 - 1e-13) && found <= right * (1.0 + 1e-4), "{found} for {right}");
        };
        for (j, (layer, alone)) in layer.iter().zip(&alone).enumerate() {
            let far = (rest - layer) * (a[j] * alone / sigma).sqrt() / z1;
            let near = rest * c * h * rho[j] / (z1 * z1);
            layers += usize::from(near > far);
            near_exactly(bounds.robust[j], rho[j] + far.max(near));
        }
        let norm = (0..n).map(|j| rho[j].powi(2) / a[j]).sum::<f64>().sqrt();
        near_exactly(bounds.rho_norm, norm);
        near_exactly(bounds.robust_norm, norm + rest / z1);
        near_exactly(bounds.own_mismatch_w, 0.5 * h * (rest / z1).powi(2));
        near_exactly(bounds.gain, 1.0 / c + h * rest / (z1 * z1));
        let r: Vec<f64> = a.iter().map(|a| (2.0 * gains.v_max / a).sqrt()).collect();
        let power: f64 = r.iter().zip(rho).map(|(r, rho)| r * rho).sum();
        near_exactly(
            bounds.terms_w,
            2.0 * power + 2.0 * h * norm * norm + tube.hold_power_w + gains.alpha * gains.v_max,
        );
    }
    assert!(layers > 10, "{layers} torques are largest within the layer");
}

/// No room below V_max: nothing is claimed.
#[test]
fn a_hold_power_beyond_all_room_bounds_nothing() {
    let mut trial = Trial::new(1, &mut ChaCha8Rng::seed_from_u64(33));
    trial.tube.hold_power_w = 2.0 * trial.tube.gains.alpha * trial.tube.gains.v_max;
    let bounds = trial.bounds(&[trial.sigma]);
    assert!(bounds.robust[0] == f64::INFINITY && bounds.gain == f64::INFINITY);
}

/// Nothing to do but for the rounding of terms that cancel: alpha V_max, next to which the hold power is nothing.
#[test]
fn bounds_hold_the_rounding_of_the_law() {
    let mut trial = Trial::new(1, &mut ChaCha8Rng::seed_from_u64(34));
    (trial.tube.hold_power_w, trial.tube.energy_slack_j) = (0.0, 0.0);
    trial.rho[0] = 0.0;
    let bounds = trial.bounds(&[trial.sigma]);
    let gains = &trial.tube.gains;
    let rest = 2f64.powi(-40) * gains.alpha * gains.v_max;
    let z1 = (2.0 * gains.v_max / trial.sigma).sqrt();
    let turned = bounds.robust_norm - bounds.rho_norm;
    assert!(turned >= rest / z1 && turned <= 1.01 * rest / z1, "{turned} for {}", rest / z1);
}
