//! The model of a stage against finite differences of its values.

use super::*;

/// Step of the differences.
const STEP: f64 = 1e-5;

/// Problems with all that is modelled, and the stage that is looked at.
fn cases() -> Vec<(&'static str, MultibodyProblem, usize)> {
    use Coordinates::{ExponentialEigenvalue, LogCholesky};
    use Formulation::{Forward, Inverse};
    let four = ["LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT"];
    let two = ["left_sole", "right_sole"];
    let go1 = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"];
    let anymal = || standing("anymal_b", &four, LoopKind::Point);
    vec![
        ("arm", problem("kinova_gen3_2f85", LogCholesky).formulated(Forward), 0),
        ("arm, inverse", problem("kinova_gen3_2f85", ExponentialEigenvalue).formulated(Inverse), 0),
        (
            "sensor's noise",
            problem("kinova_gen3_2f85", LogCholesky).with_sensor_noise().formulated(Forward),
            0,
        ),
        (
            "sensor's noise, inverse",
            problem("kinova_gen3_2f85", LogCholesky).with_sensor_noise().formulated(Inverse),
            0,
        ),
        ("four feet, sensor's noise, inverse", anymal().with_sensor_noise().formulated(Inverse), 3),
        ("flying", problem("go1", LogCholesky).formulated(Forward), 0),
        ("rotors on links", geared(problem("kinova_gen3_2f85", LogCholesky)).formulated(Forward), 0),
        ("rotors on links, inverse", geared(problem("kinova_gen3_2f85", LogCholesky)).formulated(Inverse), 0),
        ("rotors on links, flying", geared(problem("go1", LogCholesky)).formulated(Inverse), 0),
        ("rotors", problem("hector", ExponentialEigenvalue).formulated(Forward), 0),
        ("four feet", anymal().formulated(Forward), 3),
        ("three feet", anymal().formulated(Forward), 1),
        ("impact", anymal(), 2),
        ("first impact", standing("go1", &go1, LoopKind::Point), 0),
        ("four feet, inverse", anymal().formulated(Inverse), 3),
        ("sensors", sensing(anymal(), "LF_FOOT").formulated(Forward), 1),
        ("sensors, inverse", sensing(anymal(), "LF_FOOT").formulated(Inverse), 3),
        ("work", working(anymal()).formulated(Forward), 1),
        ("work, inverse", working(anymal()).formulated(Inverse), 3),
        ("work of an arm", working(problem("kinova_gen3_2f85", LogCholesky)).formulated(Forward), 0),
        ("work of an arm, inverse", working(problem("kinova_gen3_2f85", LogCholesky)).formulated(Inverse), 0),
        ("uneven", uneven("kinova_gen3_2f85").formulated(Forward), 1),
        ("uneven, inverse", uneven("go1").formulated(Inverse), 1),
        ("gap", uneven("kinova_gen3_2f85").formulated(Forward), 0),
        ("gap of a floating base", uneven("go1").formulated(Inverse), 0),
        ("two soles", standing("talos_reduced", &two, LoopKind::Rigid).formulated(Forward), 3),
        ("two soles, inverse", standing("talos_reduced", &two, LoopKind::Rigid).formulated(Inverse), 3),
    ]
}

/// A gap behind the first sample, an interval of 3 ms behind the second, and readings that are missing.
fn uneven(name: &str) -> MultibodyProblem {
    let p = problem(name, Coordinates::LogCholesky);
    let missing = MissingReadings { q: vec![1, 2], dq: vec![0, 4], tau: vec![] };
    p.with_intervals(&[f64::INFINITY, 0.003, 0.01])
        .unwrap()
        .with_missing(vec![missing.clone(), missing, MissingReadings::default()])
        .unwrap()
}

/// A stage away from its measured place, and its model there.
struct Linearised<'a> {
    p: &'a MultibodyProblem,
    k: usize,
    guess: Trajectory,
    model: StageModel,
    out: StageValues,
}

/// Values of stage `k` along a variable, or their slopes: cost, next state, constraints.
struct Along {
    cost: f64,
    next: Vec<f64>,
    constraints: Vec<f64>,
}

fn blank(p: &MultibodyProblem, k: usize) -> StageValues {
    let size = p.size(k);
    StageValues {
        next: vec![0.0; size.state],
        constraints: vec![0.0; size.constraints],
        ..StageValues::default()
    }
}

impl<'a> Linearised<'a> {
    fn new(p: &'a MultibodyProblem, k: usize, s: &mut MultibodySpace) -> Self {
        let mut guess = p.guess();
        guess.theta.iter_mut().enumerate().for_each(|(i, t)| *t += 0.01 * (i as f64).cos());
        guess.us[k].iter_mut().enumerate().for_each(|(i, u)| *u = (i as f64).sin());
        let size = p.size(k);
        // Away from the measured place, so that position residuals count.
        let away: Vec<f64> = (0..size.tangent).map(|i| 0.01 * (3.0 * i as f64).sin()).collect();
        let measured = guess.xs[k].clone();
        p.integrate(k, &measured, &away, &mut guess.xs[k]);
        let mut model = StageModel::new(size, size.tangent, p.map.len());
        let mut out = blank(p, k);
        p.linearise(k, guess.at(k), s, &mut model, &mut out).unwrap();
        Self { p, k, guess, model, out }
    }

    /// Whether variable `i` is the shift of the input, which comes after those of the model.
    fn is_shift(&self, i: usize) -> bool {
        i == self.model.n()
    }

    /// The trajectory moved by `step` along variable `i`.
    fn moved(&self, i: usize, step: f64) -> Trajectory {
        let (p, k, model) = (self.p, self.k, &self.model);
        let (nu, nx, substitution) = (model.nu, p.size(k).tangent, &model.substitution);
        let mut g = self.guess.clone();
        if self.is_shift(i) {
            g.us[k].iter_mut().zip(&substitution.shift).for_each(|(u, d)| *u += step * d);
        } else if substitution.active {
            let rows = &substitution.rows;
            g.us[k].iter_mut().enumerate().for_each(|(j, u)| *u += step * rows[(i, j)]);
        } else if i < nu {
            g.us[k][i] += step;
        }
        if (nu..nu + nx).contains(&i) {
            let mut shift = vec![0.0; nx];
            shift[i - nu] = step;
            p.integrate(k, &self.guess.xs[k], &shift, &mut g.xs[k]);
        } else if i >= nu + nx && !self.is_shift(i) {
            g.theta[i - nu - nx] += step;
        }
        g
    }

    /// Values there, the next state as its difference to that of the place itself.
    fn values(&self, at: &Trajectory, s: &mut MultibodySpace) -> Along {
        let (p, k) = (self.p, self.k);
        let mut values = blank(p, k);
        p.evaluate(k, at.at(k), s, &mut values).unwrap();
        let mut next = vec![0.0; p.size(k).tangent];
        p.difference(k + 1, &values.next, &self.out.next, &mut next);
        Along { cost: values.cost, next, constraints: values.constraints }
    }

    /// Slopes along variable `i` by differences of fourth order: light links make curved functions of their inertia.
    fn differences(&self, i: usize, s: &mut MultibodySpace) -> Along {
        let [up, down, far_up, far_down] =
            [1.0, -1.0, 2.0, -2.0].map(|n: f64| self.values(&self.moved(i, n * STEP), s));
        let slope = |value: &dyn Fn(&Along) -> f64| {
            (8.0 * (value(&up) - value(&down)) - (value(&far_up) - value(&far_down))) / (12.0 * STEP)
        };
        Along {
            cost: slope(&|v| v.cost),
            next: (0..up.next.len()).map(|c| slope(&|v| v.next[c])).collect(),
            constraints: (0..up.constraints.len()).map(|c| slope(&|v| v.constraints[c])).collect(),
        }
    }

    /// Slopes along variable `i` as the model tells them.
    fn told(&self, i: usize) -> Along {
        let (model, out, substitution) = (&self.model, &self.out, &self.model.substitution);
        let shifted = self.is_shift(i);
        let next = |c| if shifted { substitution.drift[c] } else { model.jac[(i, c)] };
        let constraint = |c: usize| match (substitution.active, shifted) {
            (false, _) => model.con[(i, c)],
            (true, false) => 0.0,
            (true, true) => -out.constraints[c],
        };
        let size = self.p.size(self.k);
        Along {
            cost: if shifted { substitution.slope } else { model.grad[i] },
            next: (0..size.tangent).map(next).collect(),
            constraints: (0..size.constraints).map(constraint).collect(),
        }
    }

    fn assert_slopes(&self, name: &str, i: usize, s: &mut MultibodySpace) {
        let (found, told) = (self.differences(i, s), self.told(i));
        let e = (found.cost - told.cost).abs();
        // Rounding of the cost over the step counts too.
        let allowed = 1e-4 * (1.0 + found.cost.abs()) + 1e-10 * self.out.cost;
        assert!(e < allowed, "{name}: cost by {i}: {} {}", found.cost, told.cost);
        for (c, (slope, told)) in found.constraints.iter().zip(&told.constraints).enumerate() {
            let e = (slope - told).abs();
            assert!(e < 1e-6 * (1.0 + slope.abs().max(told.abs())), "{name}: d h_{c} / d {i}: {e:e}");
        }
        for (c, (slope, told)) in found.next.iter().zip(&told.next).enumerate() {
            let e = (slope - told).abs();
            assert!(e < 1e-6 * (1.0 + slope.abs()), "{name}: d f_{c} / d {i}: {e:e}");
        }
    }
}

#[test]
fn derivatives_agree_with_finite_differences() {
    for (name, p, k) in cases() {
        let mut s = p.workspace();
        let here = Linearised::new(&p, k, &mut s);
        let active = here.model.substitution.active;
        assert_eq!(
            active,
            p.formulation == Formulation::Inverse
                && k != 2
                && !name.contains("impact")
                && !name.contains("gap"),
            "{name}"
        );
        let mut plain = blank(&p, k);
        p.evaluate(k, here.guess.at(k), &mut s, &mut plain).unwrap();
        let e = (plain.cost - here.out.cost).abs();
        assert!(e <= 1e-9 * here.out.cost, "{name}: {} {}", plain.cost, here.out.cost);
        // Along every variable of the model, and along the shift of the input.
        for i in 0..here.model.n() + usize::from(active) {
            here.assert_slopes(name, i, &mut s);
        }
    }
}
