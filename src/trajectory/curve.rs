//! What every desired trajectory can do; and the two kinds beside [`Bezier`] that the literature excites robots with.
//!
//! Only [`Bezier`] is enclosed over time intervals ([`super::enclosure`]) and can therefore be certified; the others
//! are for comparison.

use std::f64::consts::TAU;

use super::bezier::{Bezier, JointState, TrajectoryError};
use super::pieces::PiecewiseBezier;

/// A desired trajectory on \[0, duration\].
pub trait Curve: Sync {
    /// Duration, s.
    fn duration_s(&self) -> f64;

    /// Desired state at time `t` (s, clamped to the duration) into `out`, whose vectors have one entry a joint.
    fn evaluate(&self, t: f64, out: &mut JointState);
}

impl Curve for Bezier {
    fn duration_s(&self) -> f64 {
        self.duration_s
    }

    fn evaluate(&self, t: f64, out: &mut JointState) {
        Bezier::evaluate(self, t, out);
    }
}

impl Curve for PiecewiseBezier {
    fn duration_s(&self) -> f64 {
        self.view().duration_s()
    }

    fn evaluate(&self, t: f64, out: &mut JointState) {
        self.view().evaluate(t, out);
    }
}

/// A Fourier series a joint whose period is the duration (or a whole part of it, [`Fourier::repeated`]), at rest (velocity and acceleration zero) at both ends:
/// q(t) = q0 + sum_k a_k sin(k w t) / (k w) + b_k (1 - cos(k w t)) / (k w), k = 1..N, with a_1 = -sum_{k>1} a_k and
/// b_1 = -sum_{k>1} k b_k, which are dq(0) = 0 and ddq(0) = 0; being periodic it ends as it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Fourier {
    duration_s: f64,
    /// The duration, or a whole part of it.
    period_s: f64,
    start: Vec<f64>,
    /// (a_k, b_k), k = 1..N, rad/s; one row a joint.
    coefficients: Vec<Vec<[f64; 2]>>,
}

impl Fourier {
    /// The series from `start` (rad) with `free`\[j\] the (a_k, b_k), k = 2..N, of joint j (rad/s).
    ///
    /// # Errors
    /// [`TrajectoryError`] for another number of joints, numbers that are not finite, or a duration that is not positive.
    pub fn at_rest(start: &[f64], free: &[Vec<[f64; 2]>], duration_s: f64) -> Result<Self, TrajectoryError> {
        check(start, free.len(), free.iter().flatten().flatten(), duration_s)?;
        let coefficients = free
            .iter()
            .map(|free| {
                let first = free
                    .iter()
                    .zip(2..)
                    .fold([0.0, 0.0], |[a, b], (&[ak, bk], k)| [a - ak, b - f64::from(k) * bk]);
                [&[first][..], free].concat()
            })
            .collect();
        Ok(Self { duration_s, period_s: duration_s, start: start.to_vec(), coefficients })
    }

    /// The series `times` times, one after the other; it rests in between. Nothing happens for 0.
    #[must_use]
    pub fn repeated(self, times: u32) -> Self {
        Self { duration_s: self.period_s * f64::from(times.max(1)), ..self }
    }
}

impl Curve for Fourier {
    fn duration_s(&self) -> f64 {
        self.duration_s
    }

    fn evaluate(&self, t: f64, out: &mut JointState) {
        let (w, t) = (TAU / self.period_s, t.clamp(0.0, self.duration_s));
        for (j, coefficients) in self.coefficients.iter().enumerate() {
            let (mut q, mut dq, mut ddq) = (self.start[j], 0.0, 0.0);
            for (&[a, b], k) in coefficients.iter().zip(1..) {
                let rate = f64::from(k) * w;
                let (sin, cos) = (rate * t).sin_cos();
                q += (a * sin + b * (1.0 - cos)) / rate;
                dq += a * cos + b * sin;
                ddq += rate * (b * cos - a * sin);
            }
            (out.q[j], out.dq[j], out.ddq[j]) = (q, dq, ddq);
        }
    }
}

/// Degree of [`BSpline`].
const DEGREE: usize = 5;
/// Equal control points at each end that make it rest there.
const RESTING: usize = 3;

/// A quintic B-spline a joint with equal knot spans, clamped to its ends, at rest at both.
#[derive(Debug, Clone, PartialEq)]
pub struct BSpline {
    duration_s: f64,
    /// Control points, rad; one row a joint, all of one length.
    points: Vec<Vec<f64>>,
}

impl BSpline {
    /// The spline from `start` (rad) through the control points `free`\[j\] (rad) of joint j, the last of which is where
    /// it ends; the points at both ends are repeated for it to rest there.
    ///
    /// # Errors
    /// [`TrajectoryError`] for another number of joints, a joint with another number of points than the first or with
    /// none, numbers that are not finite, or a duration that is not positive.
    pub fn at_rest(start: &[f64], free: &[Vec<f64>], duration_s: f64) -> Result<Self, TrajectoryError> {
        check(start, free.len(), free.iter().flatten(), duration_s)?;
        let expected = free.first().map_or(1, |first| first.len().max(1));
        if let Some(other) = free.iter().find(|points| points.len() != expected) {
            return Err(TrajectoryError::Size { field: "points", expected, found: other.len() });
        }
        let points = start
            .iter()
            .zip(free)
            .map(|(&start, free)| {
                let end = free.iter().copied().next_back().unwrap_or(start);
                [&[start; RESTING][..], free, &[end; RESTING - 1]].concat()
            })
            .collect();
        Ok(Self { duration_s, points })
    }

    /// Knot `i` of a spline of `count` points, in units of the duration.
    fn knot(count: usize, i: usize) -> f64 {
        let spans = (count - DEGREE) as f64;
        (i.saturating_sub(DEGREE) as f64 / spans).min(1.0)
    }
}

impl Curve for BSpline {
    fn duration_s(&self) -> f64 {
        self.duration_s
    }

    fn evaluate(&self, t: f64, out: &mut JointState) {
        let s = (t / self.duration_s).clamp(0.0, 1.0);
        for (j, points) in self.points.iter().enumerate() {
            let spans = points.len() - DEGREE;
            let span = DEGREE + ((s * spans as f64) as usize).min(spans - 1);
            let value = |order: usize| derivative(points, order, span, s);
            let rate = 1.0 / self.duration_s;
            (out.q[j], out.dq[j], out.ddq[j]) = (value(0), rate * value(1), rate * rate * value(2));
        }
    }
}

/// Derivative of the given order (by s) of the spline in knot span `span`: the control points of the derivative, then de
/// Boor's recursion.
fn derivative(points: &[f64], order: usize, span: usize, s: f64) -> f64 {
    let knot = |i: usize| BSpline::knot(points.len(), i);
    // The points that matter in this span, d[i] standing for number span - DEGREE + i.
    let mut d: [f64; DEGREE + 1] = std::array::from_fn(|i| points[span - DEGREE + i]);
    for lost in 1..=order {
        let degree = DEGREE + 1 - lost;
        for i in (lost..=DEGREE).rev() {
            let at = span - DEGREE + i;
            d[i] = degree as f64 * (d[i] - d[i - 1]) / (knot(at + degree) - knot(at));
        }
    }
    for level in 1..=DEGREE - order {
        for i in (order + level..=DEGREE).rev() {
            let at = span - DEGREE + i;
            let (low, high) = (knot(at), knot(at + DEGREE + 1 - order - level));
            let share = (s - low) / (high - low);
            d[i] = (1.0 - share) * d[i - 1] + share * d[i];
        }
    }
    d[DEGREE]
}

fn check<'a>(
    start: &'a [f64],
    found: usize,
    numbers: impl Iterator<Item = &'a f64>,
    duration_s: f64,
) -> Result<(), TrajectoryError> {
    if found != start.len() {
        return Err(TrajectoryError::Size { field: "coefficients", expected: start.len(), found });
    }
    if !(duration_s.is_finite() && duration_s > 0.0) {
        let (field, what) = ("duration_s", "number above 0");
        return Err(TrajectoryError::Value { field, what, found: duration_s });
    }
    match start.iter().chain(numbers).find(|x| !x.is_finite()) {
        Some(&found) => Err(TrajectoryError::Value { field: "coefficients", what: "number", found }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: f64 = 7.5;

    fn curves() -> Vec<Box<dyn Curve>> {
        let fourier = [vec![[0.2, -0.1], [0.05, 0.3]], vec![[-0.3, 0.0], [0.1, 0.2]]];
        let points = [vec![0.5, -1.0, 0.3, 0.9], vec![1.0, 2.0, -0.4, 0.2]];
        vec![
            Box::new(Fourier::at_rest(&[0.3, -1.0], &fourier, T).unwrap()),
            Box::new(BSpline::at_rest(&[0.3, -1.0], &points, T).unwrap()),
        ]
    }

    fn state(curve: &dyn Curve, t: f64) -> JointState {
        let mut out = JointState::at_rest(&[0.0; 2]);
        curve.evaluate(t, &mut out);
        out
    }

    #[test]
    fn they_start_where_they_should_and_rest_at_both_ends() {
        for (curve, end) in curves().iter().zip([[0.3, -1.0], [0.9, 0.2]]) {
            let (first, last) = (state(curve.as_ref(), 0.0), state(curve.as_ref(), T));
            for j in 0..2 {
                assert!((first.q[j] - [0.3, -1.0][j]).abs() < 1e-12 && (last.q[j] - end[j]).abs() < 1e-12);
                for x in [first.dq[j], first.ddq[j], last.dq[j], last.ddq[j]] {
                    assert!(x.abs() < 1e-11, "{x}");
                }
            }
            // And they move in between.
            assert!(state(curve.as_ref(), 2.9).dq.iter().all(|x| x.abs() > 1e-3));
        }
    }

    #[test]
    fn a_series_that_is_repeated_goes_on_as_it_began() {
        let once = Fourier::at_rest(&[0.3, -1.0], &[vec![[0.2, -0.1]], vec![[-0.3, 0.4]]], T).unwrap();
        let often = once.clone().repeated(3);
        assert_eq!((often.duration_s(), once.clone().repeated(0).duration_s()), (3.0 * T, T));
        for k in 0..=30 {
            let t = 0.1 * f64::from(k) * T;
            let (own, other) = (state(&often, t), state(&once, t % T));
            for (x, y) in own
                .q
                .iter()
                .chain(&own.dq)
                .chain(&own.ddq)
                .zip(other.q.iter().chain(&other.dq).chain(&other.ddq))
            {
                assert!((x - y).abs() < 1e-12, "{t}: {x} {y}");
            }
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        for curve in curves() {
            for k in 1..74 {
                let (t, h) = (0.1 * f64::from(k) + 0.013, 1e-5);
                let (a, b) = (state(curve.as_ref(), t - h), state(curve.as_ref(), t + h));
                let m = state(curve.as_ref(), t);
                for j in 0..2 {
                    assert!(((b.q[j] - a.q[j]) / (2.0 * h) - m.dq[j]).abs() < 1e-8, "{t}");
                    assert!(((b.dq[j] - a.dq[j]) / (2.0 * h) - m.ddq[j]).abs() < 1e-7, "{t}");
                }
            }
        }
    }

    #[test]
    fn a_spline_of_equal_points_stays_and_lies_between_them() {
        let still = BSpline::at_rest(&[0.4], &[vec![0.4; 6]], 2.0).unwrap();
        let line = BSpline::at_rest(&[0.0], &[vec![0.2, 0.6, 1.0]], 2.0).unwrap();
        let mut out = JointState::at_rest(&[0.0]);
        for k in 0..=20 {
            still.evaluate(0.1 * f64::from(k), &mut out);
            assert!((out.q[0] - 0.4).abs() < 1e-14 && out.dq[0].abs() < 1e-13);
            line.evaluate(0.1 * f64::from(k), &mut out);
            assert!((-1e-14..=1.0 + 1e-14).contains(&out.q[0]) && out.dq[0] >= -1e-13);
        }
    }

    #[test]
    fn what_is_no_curve_is_refused() {
        let none: [Vec<[f64; 2]>; 0] = [];
        assert!(Fourier::at_rest(&[0.0], &none, 1.0).is_err());
        assert!(Fourier::at_rest(&[0.0], &[vec![[f64::NAN, 0.0]]], 1.0).is_err());
        assert!(Fourier::at_rest(&[0.0], &[vec![[0.1, 0.0]]], 0.0).is_err());
        assert!(BSpline::at_rest(&[0.0, 1.0], &[vec![0.1], vec![]], 1.0).is_err());
        assert!(BSpline::at_rest(&[0.0], &[vec![]], 1.0).is_err());
        assert!(BSpline::at_rest(&[f64::INFINITY], &[vec![0.1]], 1.0).is_err());
    }
}
