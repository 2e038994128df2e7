//! What the law rounds, held against its own model of rounding and against numbers of twice the precision.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::reach::cell::MAX_JOINTS;
use crate::reach::law::energy_floor;
use crate::reach::law::exact::Exact;
use crate::reach::roundoff::{LAW_ROUNDOFF, Roundoff};
use crate::robot::Gains;
use crate::scalar::Scalar;

/// A tick of a law with figures of many orders of magnitude.
struct Tick {
    tube: Tube,
    rho: Vec<f64>,
    r: Vec<f64>,
    energy: f64,
}

impl Tick {
    fn new(n: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut between = |low: f64, high: f64| 10f64.powf(rng.random_range(low..high));
        let h = between(-4.0, -2.0);
        let alpha = between(-2.0, 0.0) / h;
        let v_max = between(-5.0, 0.0);
        let floor: Vec<f64> = (0..n).map(|_| between(-2.0, 1.0)).collect();
        let rho: Vec<f64> =
            floor.iter().map(|a| (alpha * v_max * a / h * between(-8.0, 0.0)).sqrt()).collect();
        let r: Vec<f64> = floor.iter().map(|a| (2.0 * v_max / a).sqrt() * between(-8.0, 0.0)).collect();
        let gains = Gains { k_r: 10.0, alpha, v_max, period_s: h, stiction_speed_rad_s: 1e-3 };
        let tube = Tube {
            gains,
            layer_ticks: 1.0 + between(-2.0, 0.7),
            lag_floor: floor.clone(),
            inertia_floor: floor,
            drift_nm: vec![0.0; n],
            hold_power_w: alpha * v_max * between(-6.0, -0.3),
            energy_slack_j: v_max * between(-6.0, -1.0),
            acceleration_bound: vec![0.0; n],
            motor_loops: None,
        };
        let r = r.into_iter().map(|r| if rng.random() { r } else { -r }).collect();
        let energy = v_max * rng.random_range(0.0..=1.0);
        Self { tube, rho, r, energy }
    }

    /// The sums and the layers' torques, in the arithmetic of `of`.
    fn sums<T: Magnitude>(&self, of: impl Fn(f64) -> T) -> (Demand<T>, Vec<T>) {
        let all = |x: &[f64]| -> Vec<T> { x.iter().map(|x| of(*x)).collect() };
        let (rho, r) = (all(&self.rho), all(&self.r));
        let mut pull = vec![T::zero(); r.len()];
        (demand(&self.tube, (&rho, &r), of(self.energy), &mut pull), pull)
    }

    /// Size of all terms of demand and grip, as [`crate::reach::law::LawBounds`] has it.
    fn terms(&self) -> f64 {
        let Tube { gains, hold_power_w, inertia_floor, .. } = &self.tube;
        let power: f64 = self.rho.iter().zip(&self.r).map(|(rho, r)| rho * r.abs()).sum();
        let squares: f64 = self.rho.iter().zip(inertia_floor).map(|(rho, a)| rho * rho / a).sum();
        2.0 * power + 2.0 * gains.period_s * squares + hold_power_w + gains.alpha * gains.v_max
    }
}

/// 2^-53.
const UNIT: f64 = 0.5 * f64::EPSILON;

/// The allowance for what the law rounds is one: the law's own functions, run on sizes and errors, stay below it for as many joints as there
/// may be. And their errors are those of plain numbers: they are met.
#[test]
fn the_allowance_covers_what_demand_and_grip_round() {
    let mut rng = ChaCha8Rng::seed_from_u64(41);
    let (mut claimed, mut used) = (0.0f64, 0.0f64);
    for trial in 0..3000 {
        let tick = Tick::new(if trial % 4 == 0 { MAX_JOINTS } else { 1 + trial % 7 }, &mut rng);
        let (bound, pulls) = tick.sums(Roundoff::float);
        let error = bound.demand.error + bound.grip.error;
        claimed = claimed.max(error / (LAW_ROUNDOFF * tick.terms()));
        let ((plain, pull), (exact, right)) = (tick.sums(|x| x), tick.sums(Exact::constant));
        let off = |plain: f64, exact: Exact| (exact - Exact::constant(plain)).0.abs().head;
        for (plain, exact, bound) in [
            (plain.demand, exact.demand, bound.demand),
            (plain.grip, exact.grip, bound.grip),
            (plain.spread, exact.spread, bound.spread),
        ] {
            let off = off(plain, exact);
            assert!(off <= bound.error, "{off} of {}", bound.error);
            used = used.max(off / bound.error);
        }
        for ((plain, exact), bound) in pull.iter().zip(&right).zip(&pulls) {
            assert!(off(*plain, *exact) <= bound.error);
        }
    }
    // 0.28: sizes know no sign, and of the smaller of two numbers no more than of the larger one.
    println!("{claimed} of the allowance is claimed, {used} of the claim is used");
    assert!(claimed > 0.05 && claimed < 1.0, "{claimed} of the allowance is claimed");
    assert!(used > 0.1, "{used} of the claim is used");
}

/// What is made of the sums is off by a few units in the last place.
#[test]
fn factors_and_torques_are_off_by_few_units() {
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    let (mut worst, mut rests) = (0.0f64, 0);
    for trial in 0..3000 {
        let tick = Tick::new(1 + trial % 7, &mut rng);
        let (sums, pull) = tick.sums(|x| x);
        let lift = Exact::constant;
        let exact = Demand { demand: lift(sums.demand), grip: lift(sums.grip), spread: lift(sums.spread) };
        let (Some(plain), Some(exact)) = (shares(&sums), shares(&exact)) else { continue };
        rests += usize::from(plain.rest > 0.0);
        for (j, pull) in pull.iter().enumerate() {
            let (floor, r) = (tick.tube.inertia_floor[j], tick.r[j]);
            let v = torque(&plain, *pull, floor, r);
            let right = torque(&exact, lift(*pull), floor, lift(r));
            assert!(v * r >= 0.0);
            let off = (right - lift(v)).0.abs().head / v.abs().max(f64::MIN_POSITIVE);
            worst = worst.max(off);
        }
    }
    assert!(rests > 300, "{rests} with a rest");
    assert!(worst > 0.5 * UNIT && worst <= 8.0 * UNIT, "{} units", worst / UNIT);
}

/// The alarm's bound lies above the tube's level by more than the lower bound of V rounds, for states up to the alarm.
#[test]
fn no_rounding_raises_the_alarm() {
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    let mut worst = 0.0f64;
    for trial in 0..1000 {
        let tick = Tick::new(if trial % 4 == 0 { MAX_JOINTS } else { 1 + trial % 7 }, &mut rng);
        let (tube, v_max) = (&tick.tube, tick.tube.gains.v_max);
        // Scaled so that V is what it is at the alarm.
        let energy: f64 = tick.r.iter().zip(&tube.inertia_floor).map(|(r, a)| 0.5 * a * r * r).sum();
        let scale = (broken_above_j(tube) / energy).sqrt();
        let r: Vec<Roundoff> = tick.r.iter().map(|r| Roundoff::float((scale * r).abs())).collect();
        worst = worst.max(energy_floor(tube, &r).error / (broken_above_j(tube) - LEVEL * v_max));
    }
    assert!(worst > 0.0 && worst < 1e-3, "{worst} of the distance between level and alarm");
}

/// What is asked for at the same r grows with V^ up to V_max, and beyond that no more.
#[test]
fn beyond_the_promise_no_more_is_asked_for() {
    let mut rng = ChaCha8Rng::seed_from_u64(44);
    for trial in 0..100 {
        let tick = Tick::new(1 + trial % 7, &mut rng);
        let v_max = tick.tube.gains.v_max;
        let of = |energy: f64| {
            demand(&tick.tube, (&tick.rho, &tick.r), energy, &mut vec![0.0; tick.r.len()]).demand
        };
        assert!(of(0.5 * v_max) < of(v_max));
        assert!([1.0, 2.0, 1e4].iter().all(|times| of(times * v_max) == of(v_max)));
    }
}
