use proptest::prelude::*;

use super::*;
use crate::enclose::Counted;
use crate::trajectory::DesiredMotion;

const TIME: usize = 0;

/// The quintic that goes from one state to another in `t` s: position, velocity and acceleration of one joint.
fn between([q0, v0, a0]: [f64; 3], [q1, v1, a1]: [f64; 3], t: f64) -> [f64; POINTS] {
    let (s, c) = (t / 5.0, t * t / 20.0);
    [q0, q0 + s * v0, q0 + 2.0 * s * v0 + c * a0, q1 - 2.0 * s * v1 + c * a1, q1 - s * v1, q1]
}

/// Pieces of one joint through these states after these durations, the last one at rest.
fn through(states: &[[f64; 3]], durations: &[f64]) -> PiecewiseBezier {
    let piece = |k: usize| Bezier {
        duration_s: durations[k],
        points: vec![between(states[k], states[k + 1], durations[k])],
    };
    PiecewiseBezier { first: piece(0), then: (1..durations.len()).map(piece).collect() }
}

fn two() -> PiecewiseBezier {
    through(&[[0.3, 0.0, 0.0], [1.1, 1.7, -0.4], [2.0, 0.0, 0.0]], &[1.0, 1.0])
}

#[test]
fn it_passes_the_junction_and_comes_to_rest() {
    let pieces = two();
    pieces.view().check().unwrap();
    let JointState { q, dq, ddq } = pieces.state(1.0);
    assert!((q[0] - 1.1).abs() < 1e-14 && (dq[0] - 1.7).abs() < 1e-13 && (ddq[0] + 0.4).abs() < 1e-12);
    let before = pieces.state(1.0 - 1e-9);
    assert!((before.dq[0] - 1.7).abs() < 1e-7 && (before.ddq[0] + 0.4).abs() < 1e-6);
    for t in [2.0, 2.5, f64::INFINITY] {
        assert_eq!(pieces.state(t), JointState::at_rest(&[2.0]));
    }
    assert_eq!(pieces.state(-1.0).q, vec![0.3]);
    assert_eq!((pieces.duration_s(), pieces.start(), pieces.end()), (2.0, vec![0.3], vec![2.0]));
}

#[test]
fn a_single_piece_is_what_it_was() {
    let curve = Bezier::to_rest(&JointState::at_rest(&[0.3, 1.0]), &[-0.2, 0.4], 1.7).unwrap();
    let pieces = PiecewiseBezier::from(curve.clone());
    assert_eq!(serde_json::to_string(&pieces).unwrap(), serde_json::to_string(&curve).unwrap());
    for k in 0..20 {
        assert_eq!(pieces.state(0.1 * f64::from(k)), curve.state(0.1 * f64::from(k)));
    }
    let (alone, among): (DesiredMotion<4, Counted>, DesiredMotion<4, Counted>) =
        (curve.enclose(1, 0.2, 0.9, TIME), pieces.view().enclose(1, 0.2, 0.9, TIME));
    assert_eq!(alone.ddq.interval(), among.ddq.interval());
    assert_eq!(curve.magnitudes(0), pieces.view().magnitudes(0));
}

#[test]
fn a_file_says_the_same_and_unknown_keys_are_refused() {
    let text = serde_json::to_string(&two()).unwrap();
    assert_eq!(serde_json::from_str::<PiecewiseBezier>(&text).unwrap(), two());
    let wrong = text.replacen("\"then\"", "\"than\"", 1);
    assert!(serde_json::from_str::<PiecewiseBezier>(&wrong).unwrap_err().to_string().contains("than"));
}

#[test]
fn pieces_that_do_not_join_are_refused() {
    let refused = |change: &dyn Fn(&mut PiecewiseBezier)| {
        let mut pieces = two();
        change(&mut pieces);
        pieces.view().check().unwrap_err()
    };
    let jumps = |found: TrajectoryError, expected: &str| match found {
        TrajectoryError::Junction { what, joint: 0, piece: 2, .. } => assert_eq!(what, expected),
        other => panic!("{other}"),
    };
    jumps(refused(&|p| p.then[0].points[0][0] += 1e-10), "position");
    jumps(refused(&|p| p.then[0].points[0][1] += 1e-10), "velocity");
    jumps(refused(&|p| p.then[0].duration_s *= 1.0 + 1e-9), "velocity");
    jumps(refused(&|p| p.then[0].points[0][2] += 1e-10), "acceleration");
    let message = refused(&|p| p.then[0].points[0][2] += 1e-3).to_string();
    assert!(
        message.contains("from piece 1 to piece 2") && message.contains("acceleration of joint 1"),
        "{message}"
    );
    for (what, change) in [
        ("size", (|p| p.then[0].points.push([0.0; 6])) as fn(&mut PiecewiseBezier)),
        ("number", |p| p.then[0].points[0][3] = f64::NAN),
        ("number", |p| p.first.points[0][3] = f64::INFINITY),
        ("duration", |p| p.then[0].duration_s = 0.0),
        ("duration", |p| p.then[0].duration_s = f64::NAN),
        ("duration", |p| p.then[0].duration_s = -1.0),
        ("duration", |p| p.then[0].duration_s = 1e-17),
        ("duration", |p| p.then[0].duration_s = f64::INFINITY),
    ] {
        let found = refused(&change);
        let right = match found {
            TrajectoryError::Size { .. } => what == "size",
            TrajectoryError::Value { field: "points", .. } => what == "number",
            TrajectoryError::Value { field: "duration_s", .. } => what == "duration",
            _ => false,
        };
        assert!(right, "{what}: {found}");
    }
    let many = refused(&|p| p.then = vec![p.then[0].clone(); MAX_PIECES]);
    assert_eq!(many, TrajectoryError::Pieces { found: MAX_PIECES + 1 });
}

proptest! {
    #[test]
    fn the_motion_never_leaves_its_enclosure(
        states in prop::collection::vec([-3.0..3.0f64, -2.0..2.0f64, -4.0..4.0f64], 1..4),
        durations in prop::collection::vec(0.3..1.7f64, 4),
        begin in 0.0..1.0f64, width in 0.0..0.7f64, inside in 0.0..1.0f64,
    ) {
        let mut all = vec![[0.5, 0.0, 0.0]];
        all.extend(states);
        all.push([-1.0, 0.0, 0.0]);
        let pieces = through(&all, &durations[..all.len() - 1]);
        pieces.view().check().unwrap();
        let end = pieces.duration_s();
        let t0 = begin * end;
        let t1 = (t0 + width).min(end);
        let motion: DesiredMotion<4, Counted> = pieces.view().enclose(0, t0, t1, TIME);
        let t = (t0 + inside * (t1 - t0)).clamp(t0, t1);
        let state = pieces.state(t);
        let sigma = if t1 > t0 { ((2.0 * t - t0 - t1) / (t1 - t0)).clamp(-1.0, 1.0) } else { 0.0 };
        let sizes = pieces.view().magnitudes(0);
        for (k, (form, value)) in [(motion.q, state.q[0]), (motion.dq, state.dq[0]), (motion.ddq, state.ddq[0])].into_iter().enumerate() {
            let line = form.center() + form.generators()[TIME] * sigma;
            // The time symbol at t is rounded itself.
            let slack = 1e-9 * form.generators()[TIME].abs();
            prop_assert!((value - line).abs() <= form.remainder() + slack, "{k}: {value} {line} {}", form.remainder());
            prop_assert!(form.lower() <= value && value <= form.upper());
            prop_assert!(value.abs() <= sizes[k]);
        }
        // The jerk, by a difference on one side that stays on its piece.
        let h = 1e-4;
        let on = |t: f64| pieces.view().timed().position(|p| t < p.end_s);
        if t + h < t1 && on(t) == on(t + h) {
            let jerk = (pieces.state(t + h).ddq[0] - state.ddq[0]) / h;
            prop_assert!(motion.dddq.lower() - 1e-6 <= jerk && jerk <= motion.dddq.upper() + 1e-6);
        }
    }

    #[test]
    fn an_enclosure_across_a_junction_is_narrow(width in 1e-3..0.1f64, share in 0.05..0.95f64) {
        let pieces = two();
        let motion: DesiredMotion<4, Counted> = pieces.view().enclose(0, 1.0 - share * width, 1.0 + (1.0 - share) * width, TIME);
        // A line with a remainder of second order.
        prop_assert!(motion.q.remainder() <= 20.0 * width * width + 1e-11);
        prop_assert!(motion.dq.remainder() <= 60.0 * width + 1e-11);
    }

    #[test]
    fn a_moment_is_enclosed_up_to_roundings(t in 0.0..2.0f64) {
        let pieces = two();
        let motion: DesiredMotion<1, Counted> = pieces.view().enclose(0, t, t, TIME);
        prop_assert!(motion.q.upper() - motion.q.lower() < 1e-11);
        prop_assert!(motion.ddq.upper() - motion.ddq.lower() < 1e-9);
    }

    /// The corrections are what their bounds say: stored pieces plus corrections do not jump, whatever was rounded.
    #[test]
    fn jumps_stay_below_what_a_piece_may_be_corrected_by(
        state in [-3.0..3.0f64, -2.0..2.0f64, -4.0..4.0f64], first in 0.5..3.0f64, second in 0.5..3.0f64, k in 1..POINTS - 1, off in -40i32..-10,
    ) {
        let mut pieces = through(&[[0.0; 3], state, [1.0, 0.0, 0.0]], &[first, second]);
        prop_assert!(pieces.view().check().is_ok());
        // Another control point of the junction by more than roundings.
        if k < 3 {
            pieces.then[0].points[0][k] += 2.0f64.powi(off);
            let jump = 2.0f64.powi(off) * (5.0 / second).min(1.0);
            let [position, speed, acceleration] = pieces.view().magnitudes(0);
            if jump > 1e-12 * (1.0 + position.max(speed).max(acceleration)) {
                prop_assert!(pieces.view().check().is_err());
            }
        }
    }
}
