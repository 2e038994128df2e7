//! Extreme points of a parameter set: corners of its box, and of what its strips leave of it.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use nalgebra::DMatrix;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::dynamics::truth;
use crate::inertia::{INERTIAL, ParameterSet, Strip, TorqueStrips};
use crate::linear::triangular::ordered_dot;
use crate::regression::foresee;
use crate::robot::Arm;
use crate::trajectory::Bezier;

/// Consistent points whose mean the strips are drawn around: a mean lies inside, so that strips of any width leave
/// something.
const AROUND: usize = 8;
/// Directions of strips differ from the rows of the motion by this share, as those of identified strips do: rows that fit
/// exactly would hide what the rest of a row costs.
const AWRY: f64 = 0.01;
/// Strips keep between these shares of what the box allows: narrower ones leave little to attack, wider ones are the box.
const KEPT: std::ops::Range<f64> = 0.1..0.9;

fn strips(set: &ParameterSet) -> impl Iterator<Item = &Strip> {
    set.strips().into_iter().flat_map(|s| &s.strips)
}

/// `set` with strips along the motion `curve`, such as identification leaves, and a point inside all of them at which every
/// body is consistent. Some strips are narrow and some wide, and none needs be in the middle of the box.
pub fn correlated(
    robot: &Arm,
    set: &ParameterSet,
    curve: &Bezier,
    rng: &mut ChaCha8Rng,
) -> (ParameterSet, Vec<f64>) {
    let mut inside = vec![0.0; set.len()];
    for _ in 0..AROUND {
        let point = truth::consistent(robot, set, rng);
        inside.iter_mut().zip(point).for_each(|(sum, x)| *sum += x / AROUND as f64);
    }
    let radius = set.radius();
    let (times, rows) = foresee::torque_rows(robot, curve);
    let strip = |row: &Vec<f64>| {
        let mut direction = row.clone();
        direction.iter_mut().for_each(|d| *d *= 1.0 + AWRY * rng.random_range(-1.0..1.0));
        // What the law does not compare with its rows: Coulomb friction, and the friction of other joints.
        for d in &mut direction[robot.dof() * INERTIAL..] {
            *d += AWRY * rng.random_range(-1.0..1.0);
        }
        let spread: f64 = direction.iter().zip(&radius).map(|(d, g)| (d * g).abs()).sum();
        let half = spread * rng.random_range(KEPT);
        let middle = ordered_dot(&direction, &inside) + half * rng.random_range(-0.8..0.8);
        Strip { direction, lower: middle - half, upper: middle + half }
    };
    let strips = rows.iter().map(strip).collect();
    let strips = Some(TorqueStrips { times, strips });
    (set.clone().with_strips(strips), inside)
}

/// The point of the segment from `from`, which lies in all strips, to `to` that is furthest from `from` without leaving one.
pub fn toward(set: &ParameterSet, from: &[f64], to: &[f64]) -> Vec<f64> {
    let mut share = 1.0f64;
    for strip in strips(set) {
        let (a, b) = (ordered_dot(&strip.direction, from), ordered_dot(&strip.direction, to));
        let room = if b > a { strip.upper - a } else { a - strip.lower };
        if (b - a).abs() * share > room {
            share = (room / (b - a).abs()).max(0.0);
        }
    }
    from.iter().zip(to).map(|(a, b)| a + share * (b - a)).collect()
}

/// The point of the set at which `slopes` (index of a parameter, value) together are largest; `inside` lies in all strips.
///
/// Over a box that is a corner. With strips a linear program finds the point if it is to be `exact` (some milliseconds), but for the
/// program's tolerance, which is undone on the way from `inside`; else that way leads towards the corner.
pub fn furthest(set: &ParameterSet, inside: &[f64], slopes: &[(usize, f64)], exact: bool) -> Vec<f64> {
    let mut corner = set.lower().to_vec();
    for &(p, slope) in slopes {
        corner[p] = if slope >= 0.0 { set.upper()[p] } else { set.lower()[p] };
    }
    if set.strips().is_none() {
        return corner;
    }
    let best = if exact { program(set, slopes) } else { None };
    toward(set, inside, &best.unwrap_or(corner))
}

/// Solves the linear program in the unknowns x = (theta - center) / radius, those that have a radius.
fn program(set: &ParameterSet, slopes: &[(usize, f64)]) -> Option<Vec<f64>> {
    let (center, radius) = (set.center(), set.radius());
    let unknown: Vec<usize> = (0..set.len()).filter(|&p| radius[p] > 0.0).collect();
    let mut slope = vec![0.0; set.len()];
    slopes.iter().for_each(|&(p, s)| slope[p] += s);
    let cost: Vec<f64> = unknown.iter().map(|&p| -slope[p] * radius[p]).collect();
    let size = cost.iter().fold(f64::MIN_POSITIVE, |m: f64, c| m.max(c.abs()));
    let cost: Vec<f64> = cost.iter().map(|c| c / size).collect();
    let (n, m) = (unknown.len(), strips(set).count());
    let (mut a, mut b) = (DMatrix::zeros(2 * (n + m), n), Vec::with_capacity(2 * (n + m)));
    for k in 0..n {
        (a[(2 * k, k)], a[(2 * k + 1, k)]) = (1.0, -1.0);
        b.extend([1.0, 1.0]);
    }
    for (k, strip) in strips(set).enumerate() {
        let row: Vec<f64> = unknown.iter().map(|&p| strip.direction[p] * radius[p]).collect();
        let scale = row.iter().map(|x| x.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
        for (i, x) in row.iter().enumerate() {
            (a[(2 * (n + k), i)], a[(2 * (n + k) + 1, i)]) = (x / scale, -x / scale);
        }
        let middle = ordered_dot(&strip.direction, &center);
        b.extend([(strip.upper - middle) / scale, (middle - strip.lower) / scale]);
    }
    let rows: Vec<Vec<f64>> = a.row_iter().map(|row| row.iter().copied().collect()).collect();
    let cones = [SupportedConeT::NonnegativeConeT(b.len())];
    let settings = DefaultSettings { verbose: false, ..Default::default() };
    let (quadratic, linear) = (CscMatrix::zeros((n, n)), CscMatrix::from(&rows));
    let mut solver = DefaultSolver::new(&quadratic, &cost, &linear, &b, &cones, settings).ok()?;
    solver.solve();
    let mut point = center;
    for (x, &p) in solver.solution.x.iter().zip(&unknown) {
        if !x.is_finite() {
            return None;
        }
        point[p] = (point[p] + x * radius[p]).clamp(set.lower()[p], set.upper()[p]);
    }
    Some(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(strips: &[([f64; 2], f64, f64)]) -> ParameterSet {
        let strip = |s: &([f64; 2], f64, f64)| Strip { direction: s.0.to_vec(), lower: s.1, upper: s.2 };
        let strips = TorqueStrips { times: vec![0.0], strips: strips.iter().map(strip).collect() };
        ParameterSet::new(vec![-1.0, -1.0], vec![1.0, 3.0]).unwrap().with_strips(Some(strips))
    }

    #[test]
    fn the_furthest_point_is_a_corner_of_what_the_strips_leave() {
        let set = square(&[([1.0, 1.0], -1.0, 2.0), ([1.0, -1.0], -4.0, 0.5)]);
        let inside = [0.0, 0.0];
        for (slopes, expected) in
            [([1.0, 0.0], [1.0, 0.75]), ([0.1, 1.0], [-1.0, 3.0]), ([1.0, 1.5], [-1.0, 3.0])]
        {
            let found = furthest(&set, &inside, &[(0, slopes[0]), (1, slopes[1])], true);
            assert!(set.contains(&found), "{found:?}");
            let value = |x: &[f64]| slopes[0] * x[0] + slopes[1] * x[1];
            assert!(value(&found) >= value(&expected) - 1e-6, "{slopes:?}: {found:?}");
        }
    }

    #[test]
    fn the_way_ends_at_the_first_strip() {
        let set = square(&[([1.0, 1.0], -1.0, 2.0), ([1.0, -1.0], -4.0, 0.5)]);
        assert_eq!(toward(&set, &[0.0, 0.0], &[1.0, 0.0]), [0.5, 0.0]);
        assert_eq!(toward(&set, &[0.0, 0.0], &[-1.0, -1.0]), [-0.5, -0.5]);
        assert_eq!(toward(&set, &[0.0, 0.0], &[0.25, 0.0]), [0.25, 0.0]);
        assert_eq!(toward(&set, &[0.0, 0.0], &[0.0, 0.0]), [0.0, 0.0]);
    }
}
