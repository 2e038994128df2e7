//! Filters for recordings: zero-phase Butterworth, and Savitzky-Golay as a local polynomial on the actual time stamps.
//!
//! Both serve estimates, never bounds: what a filter removes is not bounded by anything.

use nalgebra::{DMatrix, DVector};

use super::error::RegressionError;

/// How accelerations are found and signals smoothed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Smoothing {
    /// A polynomial of `degree` through the `2 half + 1` nearest samples.
    SavitzkyGolay {
        /// Samples on each side.
        half: usize,
        /// Degree of the polynomial, less than `2 half + 1`.
        degree: usize,
    },
    /// A low-pass of `order`, forwards and backwards; derivatives are central differences of its output.
    Butterworth {
        /// Order of one pass.
        order: usize,
        /// Frequency of one pass's -3 dB, Hz.
        cutoff_hz: f64,
    },
}

impl Default for Smoothing {
    fn default() -> Self {
        Self::SavitzkyGolay { half: 5, degree: 2 }
    }
}

/// Time on each side of the usual filter, s, and the fewest samples that make one.
const USUAL_S: f64 = 0.05;
const FEWEST: usize = 2;
/// Samples at most from which it is told how much noise a filter leaves.
const LONGEST: f64 = 1e6;

impl Smoothing {
    /// Parabolas over 50 ms on each side, of signals whose samples are `period_s` (s) apart: what accelerations of a recording are found with unless
    /// somebody says otherwise.
    pub fn usual(period_s: f64) -> Self {
        Self::SavitzkyGolay { half: ((USUAL_S / period_s).round() as usize).max(FEWEST), degree: 2 }
    }

    /// Time on each side from which nearly all of a smoothed value comes, s, of a signal whose samples are `period_s` (s) apart: half of a polynomial's window, or half a period of the
    /// frequency that is cut off. At the ends of a recording a polynomial's window lies on one side.
    pub fn width_s(&self, period_s: f64) -> f64 {
        match *self {
            Self::SavitzkyGolay { half, .. } => half as f64 * period_s,
            Self::Butterworth { cutoff_hz, .. } => 0.5 / cutoff_hz,
        }
    }

    /// Variance of a smoothed value where samples, `rate_hz` of them a second, have independent errors of variance 1.
    ///
    /// # Errors
    /// As [`Smoothing::apply`].
    pub fn noise_gain(&self, rate_hz: f64) -> Result<f64, RegressionError> {
        // What is left of one sample, far from both ends.
        let middle = (10.0 * self.width_s(1.0 / rate_hz) * rate_hz).min(LONGEST).ceil() as usize + 1;
        let times: Vec<f64> = (0..=2 * middle).map(|k| k as f64 / rate_hz).collect();
        let mut impulse = vec![0.0; times.len()];
        impulse[middle] = 1.0;
        let (values, _) = self.apply(&times, &impulse)?;
        Ok(values.iter().map(|x| x * x).sum())
    }

    /// Smoothed values and derivatives of a signal at its (increasing, not necessarily regular) times.
    ///
    /// Butterworth needs a regular grid: the signal is interpolated linearly to the mean period first and back after.
    ///
    /// # Errors
    /// [`RegressionError::BadValue`] for settings that no filter has, [`RegressionError::WrongLength`] if the signal is
    /// shorter than two samples or does not fit its times.
    pub fn apply(&self, times: &[f64], signal: &[f64]) -> Result<(Vec<f64>, Vec<f64>), RegressionError> {
        if times.len() != signal.len() || times.len() < 2 {
            let expected = times.len().max(2);
            return Err(RegressionError::WrongLength { what: "signal", found: signal.len(), expected });
        }
        match *self {
            Self::SavitzkyGolay { half, degree } => {
                let weights = LocalPolynomial::new(times, half, degree)?;
                Ok((weights.values(signal), weights.derivatives(signal)))
            }
            Self::Butterworth { order, cutoff_hz } => {
                let span = times[times.len() - 1] - times[0];
                let rate = (times.len() - 1) as f64 / span;
                let filter = Butterworth::low_pass(order, cutoff_hz, rate)?;
                let grid: Vec<f64> = (0..times.len()).map(|k| times[0] + k as f64 / rate).collect();
                let smooth = filter.zero_phase(&interpolate(times, signal, &grid));
                let slopes = differences(&smooth, rate);
                Ok((interpolate(&grid, &smooth, times), interpolate(&grid, &slopes, times)))
            }
        }
    }
}

/// Weights of the local least-squares polynomials around each sample: on a regular grid those of Savitzky and Golay.
/// Near the ends the window stays at full length and the polynomial is evaluated off its middle.
#[derive(Debug, Clone)]
pub struct LocalPolynomial {
    /// For each sample, the first index of its window.
    first: Vec<usize>,
    /// For each sample, the weights of value and derivative over the window.
    weights: Vec<(DVector<f64>, DVector<f64>)>,
}

impl LocalPolynomial {
    /// Windows of `2 half + 1` samples (all samples if there are fewer) and polynomials of `degree` (less if the window
    /// has too few samples).
    ///
    /// # Errors
    /// [`RegressionError::BadValue`] unless `degree < 2 half + 1`.
    pub fn new(times: &[f64], half: usize, degree: usize) -> Result<Self, RegressionError> {
        if degree > 2 * half {
            let what = "Savitzky-Golay degree".to_owned();
            return Err(RegressionError::BadValue {
                what,
                value: degree as f64,
                expected: "less than 2 half + 1",
            });
        }
        let length = (2 * half + 1).min(times.len());
        let degree = degree.min(length - 1);
        let (mut first, mut weights) = (vec![], vec![]);
        for i in 0..times.len() {
            let start = i.saturating_sub(half).min(times.len() - length);
            let window = &times[start..start + length];
            let unit = (window[length - 1] - window[0]).max(f64::MIN_POSITIVE);
            let vandermonde =
                DMatrix::from_fn(length, degree + 1, |r, c| ((window[r] - times[i]) / unit).powi(c as i32));
            // The rows of the pseudo-inverse are the weights of the polynomial's coefficients at t_i.
            let inverse = vandermonde.pseudo_inverse(1e-13).map_err(|_| RegressionError::BadValue {
                what: format!("time stamps around t = {} s", times[i]),
                value: times[i],
                expected: "distinct times",
            })?;
            let row = |r: usize, scale: f64| {
                if r <= degree { inverse.row(r).transpose() * scale } else { DVector::zeros(length) }
            };
            first.push(start);
            weights.push((row(0, 1.0), row(1, 1.0 / unit)));
        }
        Ok(Self { first, weights })
    }

    /// Smoothed values.
    pub fn values(&self, signal: &[f64]) -> Vec<f64> {
        self.apply(signal, |w| &w.0)
    }

    /// Derivatives by time.
    pub fn derivatives(&self, signal: &[f64]) -> Vec<f64> {
        self.apply(signal, |w| &w.1)
    }

    fn apply(
        &self,
        signal: &[f64],
        which: impl Fn(&(DVector<f64>, DVector<f64>)) -> &DVector<f64>,
    ) -> Vec<f64> {
        let sum = |(start, weights): (&usize, &(DVector<f64>, DVector<f64>))| {
            which(weights).iter().zip(&signal[*start..]).map(|(w, x)| w * x).sum()
        };
        self.first.iter().zip(&self.weights).map(sum).collect()
    }
}

/// One section of second (or first) order: b0, b1, b2, a1, a2.
type Section = [f64; 5];

/// A Butterworth low-pass as a cascade of sections.
#[derive(Debug, Clone, PartialEq)]
pub struct Butterworth {
    sections: Vec<Section>,
    /// Samples that a transient takes to die away.
    settling: usize,
}

impl Butterworth {
    /// By the bilinear transform with the cut-off frequency kept in place.
    ///
    /// # Errors
    /// [`RegressionError::BadValue`] unless `1 <= order <= 12` and `0 < cutoff_hz < rate_hz / 2`.
    pub fn low_pass(order: usize, cutoff_hz: f64, rate_hz: f64) -> Result<Self, RegressionError> {
        let refuse = |what: &str, value: f64, expected| {
            Err(RegressionError::BadValue { what: what.to_owned(), value, expected })
        };
        if !(1..=12).contains(&order) {
            return refuse("Butterworth order", order as f64, "1 to 12");
        }
        if !(cutoff_hz > 0.0 && cutoff_hz < 0.5 * rate_hz && rate_hz.is_finite()) {
            return refuse("Butterworth cut-off", cutoff_hz, "between 0 and half the sampling rate, Hz");
        }
        let k = (std::f64::consts::PI * cutoff_hz / rate_hz).tan();
        let mut sections = vec![];
        for pair in 0..order / 2 {
            // s^2 + damping s + 1, the pole pair at this angle from the imaginary axis.
            let damping = 2.0 * (std::f64::consts::PI * (2 * pair + 1) as f64 / (2 * order) as f64).sin();
            let scale = 1.0 + damping * k + k * k;
            let b0 = k * k / scale;
            sections.push([
                b0,
                2.0 * b0,
                b0,
                2.0 * (k * k - 1.0) / scale,
                (1.0 - damping * k + k * k) / scale,
            ]);
        }
        if order % 2 == 1 {
            let b0 = k / (1.0 + k);
            sections.push([b0, b0, 0.0, (k - 1.0) / (k + 1.0), 0.0]);
        }
        let settling = (3.0 * order as f64 * rate_hz / cutoff_hz).ceil().min(1e6) as usize;
        Ok(Self { sections, settling })
    }

    /// Filters forwards, then backwards: no phase, and the square of the gain. The ends are continued by odd reflection,
    /// and each pass starts in the steady state of its first value.
    pub fn zero_phase(&self, signal: &[f64]) -> Vec<f64> {
        let n = signal.len();
        if n < 2 {
            return signal.to_vec();
        }
        let pad = self.settling.min(n - 1);
        let mut x: Vec<f64> = (1..=pad).rev().map(|i| 2.0 * signal[0] - signal[i]).collect();
        x.extend_from_slice(signal);
        x.extend((1..=pad).map(|i| 2.0 * signal[n - 1] - signal[n - 1 - i]));
        for _ in 0..2 {
            self.pass(&mut x);
            x.reverse();
        }
        x[pad..pad + n].to_vec()
    }

    fn pass(&self, x: &mut [f64]) {
        for [b0, b1, b2, a1, a2] in &self.sections {
            // Steady state for a constant input, the gain at zero frequency being one.
            let mut s2 = (b2 - a2) * x[0];
            let mut s1 = (b1 - a1) * x[0] + s2;
            for x in x.iter_mut() {
                let y = b0 * *x + s1;
                s1 = b1 * *x - a1 * y + s2;
                s2 = b2 * *x - a2 * y;
                *x = y;
            }
        }
    }
}

/// Central differences, one-sided at the ends.
fn differences(signal: &[f64], rate: f64) -> Vec<f64> {
    let last = signal.len() - 1;
    (0..signal.len())
        .map(|k| {
            let (a, b) = (k.saturating_sub(1), (k + 1).min(last));
            (signal[b] - signal[a]) * rate / (b - a) as f64
        })
        .collect()
}

/// Linear interpolation at increasing times; constant beyond the ends.
fn interpolate(times: &[f64], signal: &[f64], at: &[f64]) -> Vec<f64> {
    let mut k = 0;
    at.iter()
        .map(|&t| {
            while k + 2 < times.len() && times[k + 1] < t {
                k += 1;
            }
            let share = ((t - times[k]) / (times[k + 1] - times[k])).clamp(0.0, 1.0);
            signal[k] + share * (signal[k + 1] - signal[k])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn irregular(n: usize) -> Vec<f64> {
        (0..n).map(|k| 0.01 * k as f64 + 0.002 * (1.7 * k as f64).sin()).collect()
    }

    #[test]
    fn polynomials_pass_unchanged_and_their_derivatives_are_exact() {
        let times = irregular(60);
        let cubic = |t: f64| 1.0 - 2.0 * t + 3.0 * t * t - 4.0 * t * t * t;
        let slope = |t: f64| -2.0 + 6.0 * t - 12.0 * t * t;
        let signal: Vec<f64> = times.iter().map(|&t| cubic(t)).collect();
        let (value, derivative) =
            Smoothing::SavitzkyGolay { half: 4, degree: 3 }.apply(&times, &signal).unwrap();
        for (i, &t) in times.iter().enumerate() {
            assert!((value[i] - cubic(t)).abs() < 1e-11 && (derivative[i] - slope(t)).abs() < 1e-9, "{i}");
        }
    }

    #[test]
    fn weights_on_a_regular_grid_are_the_published_ones() {
        let times: Vec<f64> = (0..9).map(f64::from).collect();
        let weights = LocalPolynomial::new(&times, 2, 2).unwrap();
        // Savitzky and Golay's table for five points: (-3, 12, 17, 12, -3)/35 and (-2, -1, 0, 1, 2)/10.
        let (value, slope) = &weights.weights[4];
        for (w, expected) in value.iter().zip([-3.0, 12.0, 17.0, 12.0, -3.0]) {
            assert!((w - expected / 35.0).abs() < 1e-12);
        }
        for (w, expected) in slope.iter().zip([-2.0, -1.0, 0.0, 1.0, 2.0]) {
            assert!((w - expected / 10.0).abs() < 1e-12);
        }
    }

    /// By the published weights, and by what is left of random noise.
    #[test]
    fn noise_is_left_as_said() {
        let gain = Smoothing::SavitzkyGolay { half: 2, degree: 2 }.noise_gain(77.0).unwrap();
        assert!((gain - 17.0 / 35.0).abs() < 1e-12, "{gain}");
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            12f64.sqrt() * ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5)
        };
        let times: Vec<f64> = (0..50_000).map(|k| 0.002 * f64::from(k)).collect();
        let signal: Vec<f64> = times.iter().map(|_| noise()).collect();
        for smoothing in [
            Smoothing::Butterworth { order: 4, cutoff_hz: 15.0 },
            Smoothing::SavitzkyGolay { half: 10, degree: 3 },
        ] {
            let (values, _) = smoothing.apply(&times, &signal).unwrap();
            let left = values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64;
            let gain = smoothing.noise_gain(500.0).unwrap();
            assert!((left / gain - 1.0).abs() < 0.1, "{smoothing:?}: {left} {gain}");
        }
    }

    /// Amplitude of the filtered sine in the middle of a long record.
    fn gain(filter: &Butterworth, hz: f64, rate: f64) -> f64 {
        let signal: Vec<f64> =
            (0..4000).map(|k| (std::f64::consts::TAU * hz * k as f64 / rate).sin()).collect();
        let out = filter.zero_phase(&signal);
        // No phase: the output is a multiple of the input.
        let (mut with, mut of) = (0.0, 0.0);
        for k in 1000..3000 {
            with += out[k] * signal[k];
            of += signal[k] * signal[k];
        }
        let factor = with / of;
        for k in 1000..3000 {
            assert!((out[k] - factor * signal[k]).abs() < 1e-3, "phase at {hz} Hz");
        }
        factor
    }

    #[test]
    fn the_gain_is_that_of_two_passes_and_there_is_no_phase() {
        let rate = 200.0;
        for order in [1, 2, 3, 4, 7] {
            let filter = Butterworth::low_pass(order, 10.0, rate).unwrap();
            for hz in [1.0, 5.0, 10.0, 20.0, 40.0] {
                // |H|^2 = 1/(1 + (w/wc)^(2 order)) with frequencies warped by the bilinear transform.
                let warp = |f: f64| (std::f64::consts::PI * f / rate).tan();
                let expected = 1.0 / (1.0 + (warp(hz) / warp(10.0)).powi(2 * order as i32));
                let found = gain(&filter, hz, rate);
                assert!((found - expected).abs() < 2e-3, "order {order}, {hz} Hz: {found} {expected}");
            }
        }
    }

    #[test]
    fn straight_lines_pass_the_butterworth_up_to_the_ends() {
        let times = irregular(300);
        let signal: Vec<f64> = times.iter().map(|t| 3.0 - 2.0 * t).collect();
        let smoothing = Smoothing::Butterworth { order: 4, cutoff_hz: 8.0 };
        let (value, slope) = smoothing.apply(&times, &signal).unwrap();
        assert!(value.iter().zip(&signal).all(|(a, b)| (a - b).abs() < 1e-6));
        assert!(slope.iter().all(|s| (s + 2.0).abs() < 1e-4));
    }

    #[test]
    fn bad_settings_are_refused() {
        let times = irregular(10);
        for smoothing in [
            Smoothing::SavitzkyGolay { half: 2, degree: 5 },
            Smoothing::Butterworth { order: 0, cutoff_hz: 5.0 },
            Smoothing::Butterworth { order: 4, cutoff_hz: 60.0 },
            Smoothing::Butterworth { order: 4, cutoff_hz: f64::NAN },
        ] {
            assert!(matches!(smoothing.apply(&times, &times), Err(RegressionError::BadValue { .. })));
        }
        let short = Smoothing::default().apply(&times[..1], &times[..1]);
        assert!(matches!(short, Err(RegressionError::WrongLength { .. })));
    }
}
