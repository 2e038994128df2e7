//! Motions through a point, made in advance: two quintic pieces of least jerk.

use crate::trajectory::{Bezier, PiecewiseBezier, TrajectoryError};

/// The motion from rest at `start` through `via` to rest at `end` (rad or m, one a joint), in two quintic pieces of these durations (s),
/// whose integral of the squared jerk is the least, joint by joint. It passes `via` without stopping.
///
/// With d the way of a piece, v and a the velocity and acceleration at the junction, the least jerk of a quintic piece of duration T from
/// rest is (d, v, a) W (d, v, a)', W = [720, -360 T, 60 T^2; -360 T, 192 T^2, -36 T^3; 60 T^2, -36 T^3, 9 T^4] / T^5, the inverse Gramian
/// of three integrators. The second piece is the same backwards in time. Both together are least where their slopes by v and a vanish: two
/// linear equations.
///
/// # Errors
/// [`TrajectoryError`] for different numbers of joints, numbers that are not finite and durations that are not positive.
pub fn least_jerk(
    start: &[f64],
    via: &[f64],
    end: &[f64],
    durations_s: [f64; 2],
) -> Result<PiecewiseBezier, TrajectoryError> {
    let expected = start.len();
    for (field, given) in [("via", via), ("end", end)] {
        if given.len() != expected {
            return Err(TrajectoryError::Size { field, expected, found: given.len() });
        }
    }
    let [t, u] = durations_s;
    let (mut first, mut second) = (Vec::with_capacity(expected), Vec::with_capacity(expected));
    for j in 0..expected {
        let (there, on) = (via[j] - start[j], end[j] - via[j]);
        let [speed, both, acceleration] =
            [192.0 * (t.powi(-3) + u.powi(-3)), 36.0 * (u.powi(-2) - t.powi(-2)), 9.0 * (1.0 / t + 1.0 / u)];
        let by_speed = 360.0 * (there * t.powi(-4) + on * u.powi(-4));
        let by_acceleration = 60.0 * (on * u.powi(-3) - there * t.powi(-3));
        let determinant = speed * acceleration - both * both;
        let dq = (by_speed * acceleration - both * by_acceleration) / determinant;
        let ddq = (speed * by_acceleration - both * by_speed) / determinant;
        let q = via[j];
        first.push([
            start[j],
            start[j],
            start[j],
            q - 0.4 * t * dq + 0.05 * t * t * ddq,
            q - 0.2 * t * dq,
            q,
        ]);
        second.push([q, q + 0.2 * u * dq, q + 0.4 * u * dq + 0.05 * u * u * ddq, end[j], end[j], end[j]]);
    }
    let piece = |duration_s, points| Bezier { duration_s, points };
    let path = PiecewiseBezier { first: piece(t, first), then: vec![piece(u, second)] };
    path.view().check().map(|()| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::JointState;
    use proptest::prelude::*;

    /// Integral of the squared jerk of one joint, by differences.
    fn jerk(path: &PiecewiseBezier) -> f64 {
        const PARTS: usize = 4000;
        let h = path.duration_s() / PARTS as f64;
        let at = |k: usize| path.state(k as f64 * h * (1.0 - 1e-15)).ddq[0];
        (0..PARTS).map(|k| (at(k + 1) - at(k)).powi(2) / h).sum()
    }

    #[test]
    fn through_its_own_middle_it_is_the_quintic() {
        let whole = Bezier::to_rest(&JointState::at_rest(&[0.3]), &[1.5], 2.0).unwrap();
        let path = least_jerk(&[0.3], &whole.state(0.8).q, &[1.5], [0.8, 1.2]).unwrap();
        for k in 0..=40 {
            let (a, b) = (whole.state(0.05 * f64::from(k)), path.state(0.05 * f64::from(k)));
            assert!((a.q[0] - b.q[0]).abs() < 1e-12 && (a.dq[0] - b.dq[0]).abs() < 1e-11);
            assert!((a.ddq[0] - b.ddq[0]).abs() < 1e-10);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let refused = |via: &[f64], end: &[f64], durations| least_jerk(&[0.0], via, end, durations).is_err();
        assert!(!refused(&[0.1], &[0.2], [1.0, 1.0]));
        assert!(refused(&[0.1, 0.2], &[0.2], [1.0, 1.0]) && refused(&[0.1], &[], [1.0, 1.0]));
        assert!(refused(&[f64::NAN], &[0.2], [1.0, 1.0]) && refused(&[0.1], &[f64::INFINITY], [1.0, 1.0]));
        assert!(refused(&[0.1], &[0.2], [0.0, 1.0]) && refused(&[0.1], &[0.2], [1.0, -1.0]));
        assert!(refused(&[0.1], &[0.2], [1.0, f64::NAN]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_other_junction_has_less_jerk(
            via in -1.0..1.0f64, end in -1.0..1.0f64, t in 0.5..1.5f64, u in 0.5..1.5f64,
            dq in -0.3..0.3f64, ddq in -1.0..1.0f64,
        ) {
            let best = least_jerk(&[0.0], &[via], &[end], [t, u]).unwrap();
            let mut other = best.clone();
            let p = &mut other.first.points[0];
            (p[3], p[4]) = (p[3] - 0.4 * t * dq + 0.05 * t * t * ddq, p[4] - 0.2 * t * dq);
            let p = &mut other.then[0].points[0];
            (p[1], p[2]) = (p[1] + 0.2 * u * dq, p[2] + 0.4 * u * dq + 0.05 * u * u * ddq);
            prop_assert!(other.view().check().is_ok());
            prop_assert!(jerk(&best) <= jerk(&other) * (1.0 + 1e-3) + 1e-9);
        }
    }
}
