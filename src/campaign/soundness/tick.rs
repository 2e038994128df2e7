//! A tick under *any* disturbance that the theorem of [`crate::reach::tube`] allows: |w_j| <= rho_j at each instant, whether or not
//! parameters of the set can make it. The law, its rho and V are at stake here, not what becomes of one plant.

use nalgebra::{Cholesky, DVector, Dyn};

use super::attack::Attack;
use super::case::{Case, Drawn};
use super::ledger::{Check, Ledger};
use crate::dynamics::truth;

/// Steps in which a tick is integrated. The midpoint rule is of second order: half as many err four times as much.
const STEPS: usize = 8;

/// Errors of position, r and what drives them.
struct Errors<'a> {
    case: &'a Case,
    theta: &'a [f64],
    /// Start of the tick, s.
    t: f64,
    /// Robust torque, held, N m.
    v: &'a [f64],
    /// Bound on the disturbance, N m.
    rho: &'a [f64],
}

/// Mass matrix, C r, velocity and acceleration asked for at one time of the tick.
struct Motion {
    mass: Cholesky<f64, Dyn>,
    turned: Vec<f64>,
    q: Vec<f64>,
    dq: Vec<f64>,
    dqa: Vec<f64>,
    ddqa: Vec<f64>,
}

impl Errors<'_> {
    /// What moves how where the errors are e and r, `s` seconds into the tick; `None` where M has no inverse.
    fn motion(&self, s: f64, e: &[f64], r: &[f64]) -> Option<Motion> {
        let (case, n, k) = (self.case, e.len(), self.case.tube.gains.k_r);
        let d = case.curve.state(self.t + s);
        let de = |j: usize| r[j] - k * e[j];
        let q: Vec<f64> = (0..n).map(|j| d.q[j] - e[j]).collect();
        let dq: Vec<f64> = (0..n).map(|j| d.dq[j] - de(j)).collect();
        let zero = vec![0.0; n];
        let with = truth::needed(&case.robot, self.theta, [&q, &dq, r, &zero]);
        let without = truth::needed(&case.robot, self.theta, [&q, &dq, &zero, &zero]);
        Some(Motion {
            mass: truth::mass(&case.robot, self.theta, &q).cholesky()?,
            turned: with.iter().zip(without).map(|(a, b)| a - b).collect(),
            dqa: (0..n).map(|j| d.dq[j] + k * e[j]).collect(),
            ddqa: (0..n).map(|j| d.ddq[j] + k * de(j)).collect(),
            q,
            dq,
        })
    }

    /// V after a tick in which w pushes along r at every instant; `None` where M has no inverse.
    fn pushed(&self, e: &[f64], r: &[f64]) -> Option<f64> {
        let (n, k, h) = (e.len(), self.case.tube.gains.k_r, self.case.tube.gains.period_s);
        let slope = |s: f64, e: &[f64], r: &[f64], along: &[f64]| {
            let at = self.motion(s, e, r)?;
            let push = |j: usize| self.rho[j] * along[j].signum() - self.v[j] - at.turned[j];
            let rate = at.mass.solve(&DVector::from_fn(n, |j, _| push(j)));
            Some(((0..n).map(|j| r[j] - k * e[j]).collect::<Vec<f64>>(), rate.as_slice().to_vec()))
        };
        let plus =
            |x: &[f64], s: f64, y: &[f64]| -> Vec<f64> { x.iter().zip(y).map(|(a, b)| a + s * b).collect() };
        let (mut e, mut r) = (e.to_vec(), r.to_vec());
        let step = h / STEPS as f64;
        for part in 0..STEPS {
            let s = step * part as f64;
            let (de, dr) = slope(s, &e, &r, &r)?;
            let half = (plus(&e, 0.5 * step, &de), plus(&r, 0.5 * step, &dr));
            let (de, dr) = slope(s + 0.5 * step, &half.0, &half.1, &r)?;
            (e, r) = (plus(&e, step, &de), plus(&r, step, &dr));
        }
        let q = self.motion(h, &e, &r)?.q;
        Some(truth::energy(&self.case.robot, self.theta, &q, &r))
    }
}

/// A tick from a state of the tube: the true errors, what the controller did, and what that leaves to V.
pub(super) struct Pushed<'a> {
    pub theta: &'a [f64],
    pub t: f64,
    pub drawn: &'a Drawn,
    /// Robust torque and rho, N m.
    pub robust: &'a [f64],
    pub rho: &'a [f64],
    /// How far the torques that act may be from the commands, N m.
    pub beside: &'a [f64],
    /// V at the tick, J.
    pub energy: f64,
    /// Power that the law leaves to V, W, and V_max - V^, J.
    pub gave: f64,
    pub allowance: f64,
    /// Whether no torque was cut off.
    pub in_force: bool,
}

impl Attack<'_> {
    /// Holds the claims of drift, acceleration and V against disturbances that are the worst for each.
    pub(super) fn pushed(&self, tick: &Pushed<'_>, ledger: &mut Ledger) {
        let case = self.truth;
        let n = case.robot.dof();
        let Pushed { theta, t, drawn, robust, rho, .. } = *tick;
        let [_, _, r] = case.auxiliary(&drawn.desired, &drawn.q, &drawn.dq);
        let e: Vec<f64> = (0..n).map(|j| drawn.desired.q[j] - drawn.q[j]).collect();
        let errors = Errors { case, theta, t, v: robust, rho };
        let Some(motion) = errors.motion(0.0, &e, &r) else { return };
        if tick.in_force {
            self.rates(tick, &motion, ledger);
            if let Some(after) = errors.pushed(&e, &r) {
                let gains = &self.claim.tube.gains;
                let allowed = tick.energy + gains.period_s * gains.alpha * tick.allowance.max(0.0);
                ledger.note(Check::RiseOfV, after, allowed);
                let power = (after - tick.energy) / gains.period_s - tick.gave;
                ledger.note(Check::HoldPower, power, self.report.required.hold_power_w);
            }
        }
    }

    /// Acceleration and drift where each w_k = +-rho_k has the worst sign for each joint. The drift by first order: what h times
    /// its rate at the tick and the sensor errors make of it.
    fn rates(&self, tick: &Pushed<'_>, at: &Motion, ledger: &mut Ledger) {
        let (case, n) = (self.truth, at.q.len());
        let (k, h) = (case.tube.gains.k_r, case.tube.gains.period_s);
        let held = at.mass.solve(&DVector::from_fn(n, |j, _| -tick.robust[j] - at.turned[j]));
        let pushed: Vec<DVector<f64>> = (0..n)
            .map(|w| at.mass.solve(&DVector::from_fn(n, |j, _| if j == w { tick.rho[w] } else { 0.0 })))
            .collect();
        let required = &self.report.required;
        for (j, bound) in required.acceleration_bound.iter().enumerate() {
            let most = (at.ddqa[j] - held[j]).abs() + pushed.iter().map(|p| p[j].abs()).sum::<f64>();
            ledger.note(Check::Acceleration, most, *bound);
        }
        let torque = |state: [&[f64]; 4]| truth::needed(&case.robot, tick.theta, state);
        let now = torque([&at.q, &at.dq, &at.dqa, &at.ddqa]);
        let d = tick.drawn;
        let [read_dqa, read_ddqa, _] = case.auxiliary(&d.desired, &d.read_q, &d.read_dq);
        // The controller reckons with its own direction of gravity: what the true one changes is drift.
        let read =
            truth::needed(&self.claim.robot, tick.theta, [&d.read_q, &d.read_dq, &read_dqa, &read_ddqa]);
        let next = case.curve.state(tick.t + h);
        let moved =
            |x: &[f64], by: &dyn Fn(usize) -> f64| -> Vec<f64> { (0..n).map(|j| x[j] + by(j)).collect() };
        let q = moved(&at.q, &|j| h * at.dq[j]);
        let dq = moved(&at.dq, &|j| h * (at.ddqa[j] - held[j]));
        let [dqa, ddqa, _] = case.auxiliary(&next, &q, &dq);
        let base = torque([&q, &dq, &dqa, &ddqa]);
        // A push on r by dr lets dq fall by it and ddq_a rise by K_r of it.
        let columns: Vec<Vec<f64>> = pushed
            .iter()
            .map(|p| {
                let dq = moved(&dq, &|j| -h * p[j]);
                let ddqa = moved(&ddqa, &|j| h * k * p[j]);
                let with = torque([&q, &dq, &dqa, &ddqa]);
                with.iter().zip(&base).map(|(a, b)| (a - b).abs()).collect()
            })
            .collect();
        for (j, bound) in required.drift_nm.iter().enumerate() {
            let pushes: f64 = columns.iter().map(|c| c[j]).sum();
            let most = (base[j] - read[j]).abs().max((now[j] - read[j]).abs()) + pushes + tick.beside[j];
            ledger.note(Check::Drift, most, *bound);
        }
    }
}
