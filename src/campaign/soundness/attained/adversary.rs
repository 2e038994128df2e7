//! The states, rates and torques that the theorem allows, at their extremes.

use super::super::case::Case;
use crate::certify::CellReport;
use crate::dynamics::truth;
use crate::reach::Span;
use crate::reach::formulas;

/// Step of central differences: what they leave out and what rounding adds are both far below the hundredth that
/// [`super::MET`] leaves.
const STEP: f64 = 1e-3;

/// All vectors of -1 and 1.
pub fn corners(n: usize) -> Vec<Vec<f64>> {
    let sign = |k: usize, j: usize| if k >> j & 1 == 0 { 1.0 } else { -1.0 };
    (0..1 << n).map(|k| (0..n).map(|j| sign(k, j)).collect()).collect()
}

/// Points of the unit sphere: both of a line, sixteen of a circle.
pub fn directions(n: usize) -> Vec<Vec<f64>> {
    let turn = |k: usize| (k as f64 * std::f64::consts::PI / 8.0).sin_cos();
    match n {
        1 => vec![vec![1.0], vec![-1.0]],
        2 => (0..16).map(|k| vec![turn(k).1, turn(k).0]).collect(),
        _ => panic!("a robot of one or two joints was expected, not of {n}"),
    }
}

/// Times at which something begins or ends in the ticks of a span.
pub fn times(case: &Case, span: Span) -> Vec<f64> {
    match span {
        Span::Between(t0, t1) => vec![t0, t1, t1 + case.tube.gains.period_s],
        Span::Rest => vec![case.curve.duration_s],
    }
}

/// All corners of the parameters that are not known exactly.
pub fn thetas(case: &Case) -> Vec<Vec<f64>> {
    let set = &case.set;
    let open: Vec<usize> = (0..set.len()).filter(|&p| set.upper()[p] > set.lower()[p]).collect();
    let at = |signs: Vec<f64>| {
        let mut theta = set.lower().to_vec();
        open.iter().zip(signs).filter(|(_, s)| *s > 0.0).for_each(|(&p, _)| theta[p] = set.upper()[p]);
        theta
    };
    corners(open.len()).into_iter().map(at).collect()
}

/// A true state of the tube.
#[derive(Debug, Clone)]
pub struct AdversaryState {
    /// Position.
    pub q: Vec<f64>,
    /// Velocity.
    pub dq: Vec<f64>,
    /// Auxiliary velocity.
    pub dqa: Vec<f64>,
    /// Auxiliary acceleration.
    pub ddqa: Vec<f64>,
    /// r.
    pub r: Vec<f64>,
    /// Its rate without K_r dr/dt: dddq_d - K_r^2 de.
    pub jerk: Vec<f64>,
}

/// The states with e and r at the edge, at the times of a span.
pub fn states(case: &Case, span: Span) -> Vec<AdversaryState> {
    let n = case.robot.dof();
    let (k, tube) = (case.tube.gains.k_r, &case.tube);
    let mut all = Vec::new();
    for t in times(case, span) {
        let d = case.curve.state(t);
        let jerk = jerk(case, t);
        for x in directions(n) {
            for y in directions(n) {
                let e: Vec<f64> = (0..n).map(|j| x[j] * formulas::e_radius(tube, j)).collect();
                let r: Vec<f64> = (0..n).map(|j| y[j] * formulas::r_radius(tube, j)).collect();
                let de: Vec<f64> = (0..n).map(|j| r[j] - k * e[j]).collect();
                all.push(AdversaryState {
                    q: (0..n).map(|j| d.q[j] - e[j]).collect(),
                    dq: (0..n).map(|j| d.dq[j] - de[j]).collect(),
                    dqa: (0..n).map(|j| d.dq[j] + k * e[j]).collect(),
                    ddqa: (0..n).map(|j| d.ddq[j] + k * de[j]).collect(),
                    jerk: (0..n).map(|j| jerk[j] - k * k * de[j]).collect(),
                    r,
                });
            }
        }
    }
    all
}

/// Third derivative of the desired motion: of a quintic, by the derivative of its control points.
fn jerk(case: &Case, t: f64) -> Vec<f64> {
    let (s, length) = (t / case.curve.duration_s, case.curve.duration_s);
    let third = |p: &[f64; 6], i: usize| p[i + 3] - 3.0 * p[i + 2] + 3.0 * p[i + 1] - p[i];
    let value = |p: &[f64; 6]| {
        let [a, b, c] = [0, 1, 2].map(|i| third(p, i));
        60.0 / length.powi(3) * (a * (1.0 - s) * (1.0 - s) + 2.0 * b * s * (1.0 - s) + c * s * s)
    };
    if s > 1.0 { vec![0.0; case.curve.dof()] } else { case.curve.points.iter().map(value).collect() }
}

/// What the theorem allows of w - v: |w_j| <= rho_j, |v_j| <= the largest robust torque; all corners, N m.
fn pulls(report: &CellReport) -> Vec<Vec<f64>> {
    let size = |j: usize| report.torque[j].rho + report.robust[j];
    let scaled = |x: Vec<f64>| x.iter().enumerate().map(|(j, x)| x * size(j)).collect();
    corners(report.torque.len()).into_iter().map(scaled).collect()
}

/// C(q, dq) r.
pub fn coriolis(case: &Case, theta: &[f64], s: &AdversaryState) -> Vec<f64> {
    let zero = vec![0.0; s.q.len()];
    let with = truth::needed(&case.robot, theta, [&s.q, &s.dq, &s.r, &zero]);
    let without = truth::needed(&case.robot, theta, [&s.q, &s.dq, &zero, &zero]);
    with.iter().zip(without).map(|(a, b)| a - b).collect()
}

/// dr/dt from M dr/dt + C r = w - v.
fn r_rate(case: &Case, theta: &[f64], s: &AdversaryState, pull: &[f64]) -> Vec<f64> {
    let right: Vec<f64> = pull.iter().zip(coriolis(case, theta, s)).map(|(d, c)| d - c).collect();
    let mass = truth::mass(&case.robot, theta, &s.q).cholesky().unwrap();
    mass.solve(&nalgebra::DVector::from_vec(right)).as_slice().to_vec()
}

/// Change of Y theta + I_a ddq_a + F_v dq by first order, where q, dq, dq_a and ddq_a change by these.
fn change(case: &Case, theta: &[f64], s: &AdversaryState, by: [&[f64]; 4]) -> Vec<f64> {
    let largest = by.iter().flat_map(|x| x.iter()).fold(f64::MIN_POSITIVE, |m: f64, x| m.max(x.abs()));
    let share = STEP / largest;
    let at = |sign: f64| {
        let moved = |x: &[f64], y: &[f64]| -> Vec<f64> {
            x.iter().zip(y).map(|(x, y)| x + sign * share * y).collect()
        };
        let [q, dq] = [moved(&s.q, by[0]), moved(&s.dq, by[1])];
        let [dqa, ddqa] = [moved(&s.dqa, by[2]), moved(&s.ddqa, by[3])];
        truth::needed(&case.robot, theta, [&q, &dq, &dqa, &ddqa])
    };
    at(1.0).iter().zip(at(-1.0)).map(|(a, b)| (a - b) / (2.0 * share)).collect()
}

/// The largest changes of the required torque within a tick and by sensor errors, joint by joint, N m.
pub fn drift(case: &Case, report: &CellReport) -> Vec<f64> {
    let n = case.robot.dof();
    let (k, h) = (case.tube.gains.k_r, case.tube.gains.period_s);
    let sensors = case.robot.sensors();
    let mut worst = vec![0.0f64; n];
    for theta in thetas(case) {
        for s in states(case, report.span) {
            let (mut tick, mut misread) = (vec![0.0f64; n], vec![0.0f64; n]);
            for pull in pulls(report) {
                let rate = r_rate(case, &theta, &s, &pull);
                let ddq: Vec<f64> = (0..n).map(|j| s.ddqa[j] - rate[j]).collect();
                let jerk: Vec<f64> = (0..n).map(|j| s.jerk[j] + k * rate[j]).collect();
                let found = change(case, &theta, &s, [&s.dq, &ddq, &s.ddqa, &jerk]);
                tick.iter_mut().zip(found).for_each(|(t, f)| *t = t.max(h * f.abs()));
            }
            for signs in corners(2 * n) {
                let q: Vec<f64> = signs[..n].iter().map(|x| x * sensors.position_rad).collect();
                let dq: Vec<f64> = signs[n..].iter().map(|x| x * sensors.velocity_rad_s).collect();
                let [dqa, ddqa] = [&q, &dq].map(|off| off.iter().map(|x| -k * x).collect::<Vec<f64>>());
                let found = change(case, &theta, &s, [&q, &dq, &dqa, &ddqa]);
                misread.iter_mut().zip(found).for_each(|(m, f)| *m = m.max(f.abs()));
            }
            for (worst, (tick, misread)) in worst.iter_mut().zip(tick.iter().zip(&misread)) {
                *worst = worst.max(tick + misread);
            }
        }
    }
    worst
}

/// The largest true accelerations, joint by joint, rad/s^2.
pub fn acceleration(case: &Case, report: &CellReport) -> Vec<f64> {
    let mut worst = vec![0.0f64; case.robot.dof()];
    for theta in thetas(case) {
        for s in states(case, report.span) {
            for pull in pulls(report) {
                let rate = r_rate(case, &theta, &s, &pull);
                for (j, worst) in worst.iter_mut().enumerate() {
                    *worst = worst.max((s.ddqa[j] - rate[j]).abs());
                }
            }
        }
    }
    worst
}
