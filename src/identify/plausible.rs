//! Whether two successive samples can belong to one motion: otherwise a wrapped angle, a lost sample, a frozen encoder or
//! a wrong clock would enter the balance as if it were physics.

use super::error::IdentifyError;
use crate::recording::Sample;
use crate::robot::Arm;

/// Generous to rounding: these are plausibility checks, not part of the bounds.
const SLACK: f64 = 1e-9;

/// Time advances by one period, give or take the stated jitter, and the motion between the two ticks is one that the bounds allow.
pub(super) fn check_step(
    robot: &Arm,
    a: &Sample,
    b: &Sample,
    acceleration: &[f64],
) -> Result<(), IdentifyError> {
    let period = robot.gains().period_s;
    let uneven = 1e-3 * period + robot.timing().jitter_max_s;
    if !(((b.t - a.t) - period).abs() <= uneven + SLACK * b.t.abs()) {
        return Err(IdentifyError::BadTime { t: b.t, previous: a.t, period });
    }
    check_motion(robot, a, b, acceleration)
}

/// The motion from `a` to the later `b` is one that the bounds allow; time itself is an error where it does not advance.
///
/// With |ddq| <= a and D = t_b - t_a, dq stays within \[min - a D/2, max + a D/2\] of its two ends
/// ([`super::window`], between ticks), and q_b - q_a is D times something in that interval. Readings that may be late by s are, beside the encoders' errors, up
/// to a s off in velocity and s (|dq| + a s / 2) in position.
pub(crate) fn check_motion(
    robot: &Arm,
    a: &Sample,
    b: &Sample,
    acceleration: &[f64],
) -> Result<(), IdentifyError> {
    let (elapsed, sensors, age) = (b.t - a.t, robot.sensors(), robot.timing().reading_age_max_s);
    if !(elapsed > 0.0) {
        return Err(IdentifyError::BadTime { t: b.t, previous: a.t, period: robot.gains().period_s });
    }
    for j in 0..robot.dof() {
        let gained = elapsed * acceleration[j];
        let late_rad_s = age * acceleration[j];
        let velocity = sensors.velocity_rad_s + late_rad_s;
        let moved = |dq: f64| age * (dq.abs() + sensors.velocity_rad_s + 0.5 * late_rad_s);
        let (slow, fast) = (a.dq[j].min(b.dq[j]) - 0.5 * gained, a.dq[j].max(b.dq[j]) + 0.5 * gained);
        // What is measured, the range of what may have happened, and what the encoder adds at most.
        let steps = [
            ("velocity", b.dq[j] - a.dq[j], (-gained, gained), 2.0 * velocity),
            (
                "position",
                b.q[j] - a.q[j],
                (elapsed * slow, elapsed * fast),
                2.0 * sensors.position_rad + moved(a.dq[j]) + moved(b.dq[j]) + elapsed * velocity,
            ),
        ];
        for (what, step, (low, high), error) in steps {
            let (beyond, end) =
                if step > high { (step - high, high + error) } else { (low - step, low - error) };
            let rounding = SLACK * (step.abs() + end.abs()) + 1e-12;
            if !(beyond <= error + rounding) {
                let by = beyond / error;
                return Err(IdentifyError::Jump { t: b.t, joint: j, what, step, largest: end, by });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(q: [f64; 2], dq: [f64; 2], t: f64) -> Result<(), IdentifyError> {
        let robot = super::super::tests::arm();
        let sample = |t: f64, q: f64, dq: f64| Sample {
            t,
            q: [&[q][..], &[0.0; 6]].concat(),
            dq: [&[dq][..], &[0.0; 6]].concat(),
            tau: vec![0.0; 7],
        };
        check_motion(&robot, &sample(0.0, q[0], dq[0]), &sample(t, q[1], dq[1]), &[3.0; 7])
    }

    #[test]
    fn motions_within_the_bounds_pass_and_others_do_not() {
        check([0.0, 0.0005], [0.5, 0.5], 1e-3).unwrap();
        check([0.0, 0.0005 + 1e-5], [0.5, 0.5], 1e-3).unwrap();
        // The fastest way over a gap: up for half of it, then down.
        check([0.0, 0.05 + 0.25 * 3.0 * 0.01], [0.5, 0.5], 0.1).unwrap();
        for (q, dq, t, expected) in [
            // A frozen position, a frozen encoder whose velocity is its derivative, a clock that jumps ahead.
            ([0.2, 0.2], [0.5, 0.5], 1e-3, "position"),
            ([0.2, 0.2], [0.5, 0.0], 1e-3, "velocity"),
            ([0.0, 0.0005], [0.5, 0.5], 0.051, "position"),
            ([0.0, std::f64::consts::TAU], [0.5, 0.5], 1e-3, "position"),
            ([0.0, f64::NAN], [0.5, 0.5], 1e-3, "position"),
        ] {
            let error = check(q, dq, t).unwrap_err();
            let IdentifyError::Jump { joint: 0, what, by, .. } = error else { panic!("{error}") };
            assert!(what == expected && !(by <= 1.0), "{error}");
        }
        for t in [0.0, -0.01, f64::NAN] {
            assert!(matches!(check([0.0; 2], [0.0; 2], t), Err(IdentifyError::BadTime { .. })));
        }
    }

    #[test]
    fn the_factor_is_the_one_at_which_it_passes() {
        let error = check([0.0, 0.0005], [0.5, 0.5], 0.051).unwrap_err();
        let IdentifyError::Jump { by, .. } = error else { panic!("{error}") };
        let mut robot = super::super::tests::arm();
        let passes = |factor: f64, robot: &mut Arm| {
            let own = super::super::tests::arm().sensors().clone();
            robot.stated().sensors.position_rad = factor * own.position_rad;
            robot.stated().sensors.velocity_rad_s = factor * own.velocity_rad_s;
            let sample = |t: f64, q: f64| Sample {
                t,
                q: [&[q][..], &[0.0; 6]].concat(),
                dq: [&[0.5][..], &[0.0; 6]].concat(),
                tau: vec![0.0; 7],
            };
            check_motion(robot, &sample(0.0, 0.0), &sample(0.051, 0.0005), &[3.0; 7]).is_ok()
        };
        assert!(passes(1.001 * by, &mut robot) && !passes(0.999 * by, &mut robot));
    }
}
