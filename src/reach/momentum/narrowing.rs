//! A tube that is wide at the start of a plan and narrows: what the plan before has left fades, and the torque that is held ready for it too.
//!
//! # Proven
//! *Shape.* sigma(t) = (1 + lambda (t - t_0) / 8)^-8 for t >= t_0, and 1 before: it never grows, and falls at lambda sigma^(9/8), no faster than
//! e^(-lambda t) does. Each constant is *later* + (*start* - *later*) sigma, so its fall over a span is fastest where the span begins.
//!
//! *Rounding.* Sum, quotient and product are rounded monotonously, so what the controller computes does not grow either. A difference, a product and a
//! quotient make 1 + x, off by less than 4 u of itself; its eighth power's inverse by less than 40 u, and the constant by less than 64 u =
//! 2^-47 of itself. Bounds are given with [`LAW_ROUNDOFF`], 2^-40.

use serde::{Deserialize, Serialize};

use crate::reach::cell::{Joints, Span};
use crate::reach::roundoff::LAW_ROUNDOFF;
use crate::reach::upward::{add_up, div_up, mul_up};

use super::constants::MomentumTube;

/// When a constant begins to fall from its value at the start towards its later one, and how fast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Fall {
    /// t_0, s: until then nothing falls.
    pub hold_s: f64,
    /// lambda, 1/s.
    pub rate_1_s: f64,
}

impl Fall {
    /// sigma at `t` seconds of the plan.
    pub fn share(self, t: f64) -> f64 {
        let square = self.root(t) * self.root(t);
        let fourth = square * square;
        fourth * fourth
    }

    /// About when sigma is `share`, s.
    pub fn time_to(self, share: f64) -> f64 {
        self.hold_s + 8.0 * (share.powf(-0.125) - 1.0) / self.rate_1_s
    }

    /// 1 / (1 + lambda (t - t_0) / 8).
    fn root(self, t: f64) -> f64 {
        1.0 / (1.0 + self.rate_1_s * (t - self.hold_s).max(0.0) / 8.0)
    }

    /// Upper bound of |d sigma / dt| from `t` on, 1/s.
    fn rate(self, t: f64) -> f64 {
        mul_up(mul_up(self.rate_1_s, mul_up(self.share(t), self.root(t))), 1.0 + LAW_ROUNDOFF)
    }
}

/// What the constants of a [`MomentumTube`] are at the start of a plan that follows another; none is below its later value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct WideStart {
    /// u_j, N m.
    pub robust_nm: Vec<f64>,
    /// N_j, N m s.
    pub noise_nms: Vec<f64>,
    /// E_j, N m s^2.
    pub lag_nms2: Vec<f64>,
    /// Sign bands, rad/s.
    pub sign_band_rad_s: Vec<f64>,
    /// What commands of the plan before that drives remember make of the momentum errors at most, N m s ([`super::CarriedCommands`]); none where
    /// drives do not lag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried_nms: Vec<f64>,
    /// How u and N fall.
    pub momentum_fall: Fall,
    /// How E and the sign band fall.
    pub lag_fall: Fall,
}

/// How fast the tube narrows at most over a span.
#[derive(Debug, Clone)]
pub(super) struct Narrowing {
    /// |dP_j/dt|, N m.
    pub radius_nm: Joints<f64>,
    /// |dE_j/dt|, N m s.
    pub lag_nms: Joints<f64>,
}

fn between(later: f64, start: f64, share: f64) -> f64 {
    later + (start - later) * share
}

impl MomentumTube {
    /// u_j at `t` seconds of the plan, N m: what the controller cuts the robust torque at.
    pub fn robust_at(&self, j: usize, t: f64) -> f64 {
        let later = self.robust_nm[j];
        self.start.as_ref().map_or(later, |s| between(later, s.robust_nm[j], s.momentum_fall.share(t)))
    }

    /// N_j at `t` seconds of the plan, N m s.
    pub fn noise_at(&self, j: usize, t: f64) -> f64 {
        let later = self.noise_nms[j];
        self.start.as_ref().map_or(later, |s| between(later, s.noise_nms[j], s.momentum_fall.share(t)))
    }

    /// E_j at `t` seconds of the plan, N m s^2.
    pub fn lag_at(&self, j: usize, t: f64) -> f64 {
        let later = self.lag_nms2[j];
        self.start.as_ref().map_or(later, |s| between(later, s.lag_nms2[j], s.lag_fall.share(t)))
    }

    /// The sign band of joint `j` at `t` seconds of the plan, rad/s.
    pub fn sign_band_at(&self, j: usize, t: f64) -> f64 {
        let later = self.sign_band_rad_s[j];
        self.start.as_ref().map_or(later, |s| between(later, s.sign_band_rad_s[j], s.lag_fall.share(t)))
    }

    /// A tube that does not narrow, with the constants of `t` seconds of the plan times `factor`.
    fn still(&self, t: f64, factor: f64) -> Self {
        if self.start.is_none() {
            return self.clone();
        }
        let of = |at: &dyn Fn(usize) -> f64| (0..self.robust_nm.len()).map(|j| at(j) * factor).collect();
        Self {
            gains: self.gains,
            timing: self.timing,
            robust_nm: of(&|j| self.robust_at(j, t)),
            noise_nms: of(&|j| self.noise_at(j, t)),
            lag_nms2: of(&|j| self.lag_at(j, t)),
            sign_band_rad_s: of(&|j| self.sign_band_at(j, t)),
            start: None,
        }
    }

    /// A tube that does not narrow and is nowhere narrower than this one from `t` seconds of the plan on.
    pub fn widest_from(&self, t: f64) -> Self {
        self.still(t, 1.0 + 2.0 * LAW_ROUNDOFF)
    }

    /// A tube that does not narrow and is nowhere wider than this one until `t` seconds of the plan.
    pub fn narrowest_until(&self, t: f64) -> Self {
        self.still(t, 1.0 - 2.0 * LAW_ROUNDOFF)
    }

    /// Times from which on, and until which, the constants matter over `span` of a plan of this duration, s: those of the states in
    /// its cell, which begin twice the age before it and what drives remember, and those of the commands that act in it, whose clock may be rounded. Where drives
    /// lag, moments after the plan's end that still depend on commands before it are the last cell's.
    pub(super) fn reach_of(&self, span: Span, duration_s: f64) -> (f64, f64) {
        let age_s = self.timing.age_s();
        let before_s = self.timing.with_memory(2.0 * age_s);
        match span {
            Span::Between(t0, t1) => {
                ((t0 - before_s).next_down(), add_up(t1, self.timing.with_memory(age_s)))
            }
            Span::Rest => ((duration_s - before_s).next_down(), f64::INFINITY),
        }
    }

    /// Shares of what it falls by that are left where `span` has its least constants: of u and N, and of E and the sign band. None where it does not fall.
    pub fn shares_over(&self, span: Span) -> (f64, f64) {
        // The end of the plan matters to where a reach begins, not to where it ends.
        let until_s = self.reach_of(span, 0.0).1;
        let left = |start: &WideStart| (start.momentum_fall.share(until_s), start.lag_fall.share(until_s));
        self.start.as_ref().map_or((0.0, 0.0), left)
    }

    /// Over a span that begins while drives may remember the plan before: N_j, and what readings of momenta may be off by besides misreadings, which is twice what
    /// its commands make; N m s.
    pub fn noise_while_carried(&self, span: Span, j: usize) -> Option<(f64, f64)> {
        let Span::Between(begins_s, _) = span else { return None };
        let start = self.start.as_ref().filter(|_| begins_s <= self.timing.window_s())?;
        let besides = mul_up(2.0, *start.carried_nms.get(j)?);
        Some((start.noise_nms[j] * (1.0 - 2.0 * LAW_ROUNDOFF), besides))
    }

    /// Rates from `t` seconds of the plan on.
    pub(super) fn narrowing_from(&self, t: f64) -> Narrowing {
        let n = self.robust_nm.len();
        let none = || (0..n).map(|_| 0.0).collect();
        let Some(start) = &self.start else { return Narrowing { radius_nm: none(), lag_nms: none() } };
        let gap = |start: f64, later: f64| (start - later).next_up().max(0.0);
        let (radius_rate, lag_rate) = (start.momentum_fall.rate(t), start.lag_fall.rate(t));
        let radius = |j: usize| {
            let robust = div_up(gap(start.robust_nm[j], self.robust_nm[j]), self.gains.kappa);
            mul_up(add_up(robust, gap(start.noise_nms[j], self.noise_nms[j])), radius_rate)
        };
        Narrowing {
            radius_nm: (0..n).map(radius).collect(),
            lag_nms: (0..n).map(|j| mul_up(gap(start.lag_nms2[j], self.lag_nms2[j]), lag_rate)).collect(),
        }
    }

    /// The first constant of the start that is none, is below its later value, or falls while the plan before may still act.
    pub(super) fn start_fault(&self) -> Option<String> {
        let start = self.start.as_ref()?;
        let lists = [
            ("robust_nm", &start.robust_nm, &self.robust_nm),
            ("noise_nms", &start.noise_nms, &self.noise_nms),
            ("lag_nms2", &start.lag_nms2, &self.lag_nms2),
            ("sign_band_rad_s", &start.sign_band_rad_s, &self.sign_band_rad_s),
        ];
        for (what, list, later) in lists {
            if list.len() != later.len() {
                return Some(format!("start {what}: expected {} values, found {}", later.len(), list.len()));
            }
            if let Some((x, least)) = list.iter().zip(later).find(|(x, least)| !(x >= least && x.is_finite()))
            {
                return Some(format!(
                    "start {what}: expected finite numbers not below the later ones, found {x} for {least}"
                ));
            }
        }
        let carried = &start.carried_nms;
        if !carried.is_empty() && carried.len() != self.robust_nm.len() {
            let (expected, found) = (self.robust_nm.len(), carried.len());
            return Some(format!("start carried_nms: expected {expected} values or none, found {found}"));
        }
        if let Some(x) = carried.iter().find(|x| !(**x >= 0.0 && x.is_finite())) {
            return Some(format!("start carried_nms: expected finite numbers not below 0, found {x}"));
        }
        let least_s = self.timing.window_s();
        for (what, Fall { hold_s, rate_1_s }) in
            [("momentum_fall", start.momentum_fall), ("lag_fall", start.lag_fall)]
        {
            if !(hold_s >= least_s && hold_s.is_finite()) {
                return Some(format!("start {what} hold_s: expected at least {least_s:e}, found {hold_s}"));
            }
            if !(rate_1_s >= 0.0 && rate_1_s.is_finite()) {
                return Some(format!(
                    "start {what} rate_1_s: expected a finite number not below 0, found {rate_1_s}"
                ));
            }
        }
        None
    }
}
