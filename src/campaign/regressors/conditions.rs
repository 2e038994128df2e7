//! Condition numbers of one motion: of the torque regressor, of momentum regressors, and of averages.

use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

use crate::campaign::exact;
use crate::dynamics::{Motion, momentum_rate_regressor, momentum_regressor, torque_regressor};
use crate::inertia::INERTIAL;
use crate::robot::Arm;
use crate::trajectory::{Curve, JointState};

/// Steps of the trapezoidal rule within a control period: its error is that of one step by the square of this.
const FINE: usize = 4;

/// The condition numbers of one motion; lists have one a horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::campaign) struct Conditions {
    /// Of W: the last body's columns of the torque regressor at every tick.
    #[serde(with = "exact")]
    pub(super) standard: f64,
    /// Of Y_h by forward Euler.
    #[serde(with = "exact::list")]
    pub(super) euler: Vec<f64>,
    /// Of Y_h with the trapezoidal rule in [`FINE`] steps a period.
    #[serde(with = "exact::list")]
    pub(super) exact: Vec<f64>,
    /// Of W averaged over the h ticks from each on.
    #[serde(with = "exact::list")]
    pub(super) averaged: Vec<f64>,
}

/// What is added up from the first tick on, at every tick: blocks of n rows and ten columns each.
struct Sums {
    block: usize,
    momentum: Vec<f64>,
    euler: Vec<f64>,
    exact: Vec<f64>,
    standard: Vec<f64>,
}

/// The regressors of the last body at one time.
struct Blocks {
    standard: Vec<f64>,
    momentum: Vec<f64>,
    rate: Vec<f64>,
}

/// Of the curve, over its whole duration; horizons are in control periods.
pub(super) fn conditions(robot: &Arm, curve: &dyn Curve, horizons: &[usize]) -> Conditions {
    let ticks = (curve.duration_s() / robot.gains().period_s).round() as usize;
    let sums = Sums::along(robot, curve, ticks);
    let over = |value: &dyn Fn(usize, usize, usize) -> f64| -> Vec<f64> {
        let one = |&h: &usize| {
            let rows = (0..=ticks - h).flat_map(|i| (0..sums.block / INERTIAL).map(move |row| (i, row)));
            let entry = |(i, row): (usize, usize), p: usize| value(i, i + h, INERTIAL * row + p);
            condition(rows.map(|at| SVector::from_fn(|p, _| entry(at, p))))
        };
        horizons.iter().map(one).collect()
    };
    let change = |of: &[f64], a: usize, b: usize, x: usize| of[sums.block * b + x] - of[sums.block * a + x];
    let momentum = |a, b, x| change(&sums.momentum, a, b, x);
    let standard = (0..ticks).flat_map(|i| (0..sums.block / INERTIAL).map(move |row| (i, row)));
    let standard = standard
        .map(|(i, row)| SVector::from_fn(|p, _| change(&sums.standard, i, i + 1, INERTIAL * row + p)));
    Conditions {
        standard: condition(standard),
        euler: over(&|a, b, x| momentum(a, b, x) - change(&sums.euler, a, b, x)),
        exact: over(&|a, b, x| momentum(a, b, x) - change(&sums.exact, a, b, x)),
        averaged: over(&|a, b, x| change(&sums.standard, a, b, x)),
    }
}

/// Ratio of the largest to the smallest singular value of these rows, by the eigenvalues of Y'Y: good to eight digits below 10^4.
fn condition(rows: impl Iterator<Item = SVector<f64, INERTIAL>>) -> f64 {
    let gram = rows.fold(SMatrix::<f64, INERTIAL, INERTIAL>::zeros(), |mut sum, row| {
        sum.ger(1.0, &row, &row, 1.0);
        sum
    });
    let values = gram.symmetric_eigenvalues();
    if values.min() > 0.0 { (values.max() / values.min()).sqrt() } else { f64::INFINITY }
}

impl Sums {
    fn along(robot: &Arm, curve: &dyn Curve, ticks: usize) -> Self {
        let (n, period) = (robot.dof(), robot.gains().period_s);
        let block = n * INERTIAL;
        let room = || Vec::with_capacity(block * (ticks + 1));
        let mut sums = Self { block, momentum: room(), euler: room(), exact: room(), standard: room() };
        let mut sampler = Sampler::new(robot);
        let (mut euler, mut exact, mut standard) = (vec![0.0; block], vec![0.0; block], vec![0.0; block]);
        let add = |sum: &mut [f64], weight: f64, x: &[f64]| {
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += weight * x);
        };
        for tick in 0..=ticks {
            let here = sampler.at(curve, tick as f64 * period);
            for (all, now) in
                [(&mut sums.euler, &euler), (&mut sums.exact, &exact), (&mut sums.standard, &standard)]
            {
                all.extend_from_slice(now);
            }
            sums.momentum.extend_from_slice(&here.momentum);
            add(&mut standard, 1.0, &here.standard);
            add(&mut euler, period, &here.rate);
            for step in 0..=FINE {
                let end = step == 0 || step == FINE;
                let rate = sampler.at(curve, (tick as f64 + step as f64 / FINE as f64) * period).rate;
                add(&mut exact, if end { 0.5 } else { 1.0 } * period / FINE as f64, &rate);
            }
        }
        sums
    }
}

struct Sampler<'a> {
    robot: &'a Arm,
    motion: Motion<f64>,
    state: JointState,
    y: Vec<f64>,
}

impl<'a> Sampler<'a> {
    fn new(robot: &'a Arm) -> Self {
        let n = robot.dof();
        let state = JointState::at_rest(&vec![0.0; n]);
        Self { robot, motion: Motion::new(robot), state, y: vec![0.0; n * INERTIAL * n] }
    }

    fn at(&mut self, curve: &dyn Curve, t: f64) -> Blocks {
        let Self { robot, motion, state, y } = self;
        let (n, hand) = (robot.dof(), robot.end_effector());
        curve.evaluate(t, state);
        motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
        let taken = |y: &[f64]| -> Vec<f64> {
            let row = |j: usize| &y[INERTIAL * (n * j + hand)..INERTIAL * (n * j + hand + 1)];
            (0..n).flat_map(row).copied().collect()
        };
        torque_regressor(robot, motion, hand..hand + 1, y);
        let standard = taken(y);
        momentum_regressor(robot, motion, hand..hand + 1, y);
        let momentum = taken(y);
        momentum_rate_regressor(robot, motion, hand..hand + 1, y);
        Blocks { standard, momentum, rate: taken(y) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Sample;
    use crate::regression::balance::{condition_number, window_regressor};
    use crate::trajectory::Fourier;

    fn curve(robot: &Arm) -> Fourier {
        let free: Vec<Vec<[f64; 2]>> = (0..robot.dof())
            .map(|j| {
                (2..5)
                    .map(|k| [0.1 * (j + k) as f64 % 0.37 - 0.15, 0.07 * (2 * j + k) as f64 % 0.23])
                    .collect()
            })
            .collect();
        Fourier::at_rest(&vec![0.3; robot.dof()], &free, 1.0).unwrap()
    }

    /// With windows of one period the momentum regressor is the estimator's own, but for the rule of the integral; averages over one tick are W.
    #[test]
    fn they_are_those_of_the_regressors() {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let curve = curve(&robot);
        let found = conditions(&robot, &curve, &[1, 25]);
        assert!((found.averaged[0] / found.standard - 1.0).abs() < 1e-9, "{found:?}");
        let mut state = JointState::at_rest(&[0.0; 7]);
        let samples: Vec<Sample> = (0..=1000)
            .map(|tick| {
                let t = f64::from(tick) * robot.gains().period_s;
                curve.evaluate(t, &mut state);
                Sample { t, q: state.q.clone(), dq: state.dq.clone(), tau: vec![0.0; 7] }
            })
            .collect();
        let hand = robot.end_effector();
        let y = window_regressor(&robot, &samples, 1, hand..hand + 1);
        let by_windows = condition_number(&y);
        assert!((found.exact[0] / by_windows - 1.0).abs() < 1e-3, "{found:?} {by_windows}");
        // Averaging and the exact integral agree at any horizon, as the momentum's derivative is the torque.
        assert!((found.averaged[1] / found.exact[1] - 1.0).abs() < 0.05, "{found:?}");
        assert!(found.euler[1] != found.exact[1]);
    }
}
