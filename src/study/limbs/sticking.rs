//! When a motor may stick.
//!
//! Dry friction of a motor that stands is anything up to its size, and that of one that turns back jumps. No smoothed speed tells when. In samples near such a time the
//! regressor's sign is right for some of what the torque is a mean of, and wrong for the rest: errors as large as the friction itself, and not by chance. Fits explain
//! them by friction of joints that move in proportion, and find too little in the drive. So a row counts only where the measured speed has one sign, noise and all, over
//! the time that a smoothed value is a mean of ([`Smoothing::width_s`](crate::regression::filter::Smoothing::width_s)).

use crate::regression::inverse::Moving;

/// For each sample whether the speed of channel `from` may have changed its sign about it, within `width_s` on each side. `measured` are the speeds as sensors told
/// them, in the order of `samples`.
pub(super) fn sticks(samples: &[Moving], measured: &[f64], from: usize, width_s: f64) -> Vec<bool> {
    let running = |counts: fn(f64) -> bool| -> Vec<usize> {
        let step = |sum: &mut usize, v: &f64| {
            *sum += usize::from(counts(*v));
            Some(*sum)
        };
        std::iter::once(0).chain(measured.iter().scan(0, step)).collect()
    };
    let (forwards, backwards) = (running(|v| v > 0.0), running(|v| v < 0.0));
    let (mut first, mut end) = (0, 0);
    let one = |(k, sample): (usize, &Moving)| {
        while samples[first].t < sample.t - width_s {
            first += 1;
        }
        end = end.max(k + 1);
        while end < samples.len() && samples[end].t <= sample.t + width_s {
            end += 1;
        }
        let with = if sample.dq[from] > 0.0 { &forwards } else { &backwards };
        with[end] - with[first] < end - first
    };
    samples.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_turns_and_of_noise_about_rest_stick() {
        // Forwards, a turn after 0.5 s, backwards, and at rest from 0.8 s on with noise of both signs.
        let v = |k: usize| match k {
            0..50 => 0.3,
            50..80 => -0.2,
            _ => 0.001 * if k.is_multiple_of(3) { -1.0 } else { 1.0 },
        };
        let sample = |k: usize| {
            let none = vec![];
            let dq = vec![9.0, v(k)];
            Moving { t: 0.01 * k as f64, q: none.clone(), dq, ddq: none.clone(), tau: none }
        };
        let samples: Vec<Moving> = (0..100).map(sample).collect();
        let measured: Vec<f64> = (0..100).map(v).collect();
        let found = sticks(&samples, &measured, 1, 0.0301);
        let wanted: Vec<bool> = (0..100).map(|k| (47..53).contains(&k) || k >= 77).collect();
        assert_eq!(found, wanted);
        // A smoothed speed of the other sign than what is measured about it, and no speed at all.
        assert!(sticks(&samples, &[-1.0; 100], 0, 0.03).iter().all(|sticks| *sticks));
        assert!(sticks(&samples, &[0.0; 100], 0, 0.0).iter().all(|sticks| *sticks));
        assert!(sticks(&samples, &[1.0; 100], 0, 0.03).iter().all(|sticks| !*sticks));
    }
}
