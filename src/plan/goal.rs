//! The cost of ending away from a target.

use crate::reach::Joints;

use super::decision::{Cost, CostError, EndPoints, check_size};
use super::qp::{Matrix, Vector};

/// sum_j w_j (q_j(t_f; k) - target_j)^2, a convex quadratic function of k.
#[derive(Debug, Clone, PartialEq)]
pub struct GoalCost {
    ends: EndPoints,
    target: Joints<f64>,
    weights: Joints<f64>,
}

impl GoalCost {
    /// `target` in rad or m (turn continuous joints with [`super::guide::nearest_turn`] first) and weights >= 0, both
    /// of length n.
    ///
    /// # Errors
    /// [`CostError`] for wrong lengths, a non-finite target, a weight that is negative or not finite.
    pub fn new(ends: EndPoints, target: &[f64], weights: &[f64]) -> Result<Self, CostError> {
        check_size("target", ends.dimension(), target.len())?;
        check_size("weights of the goal", ends.dimension(), weights.len())?;
        if let Some(&found) = target.iter().find(|x| !x.is_finite()) {
            return Err(CostError::Value { field: "target", expected: "finite numbers", found });
        }
        if let Some(&found) = weights.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
            let field = "weights of the goal";
            return Err(CostError::Value { field, expected: "finite numbers, 0 or above", found });
        }
        Ok(Self {
            ends,
            target: target.iter().copied().collect(),
            weights: weights.iter().copied().collect(),
        })
    }

    /// Value and gradient at `k` (length n).
    pub fn evaluate(&self, k: &[f64]) -> Cost {
        let mut value = 0.0;
        let parts = self.ends.at(k).into_iter().zip(&self.target).zip(&self.weights).zip(self.ends.reach());
        let gradient = parts
            .map(|(((q, target), weight), reach)| {
                value += weight * (q - target) * (q - target);
                2.0 * weight * (q - target) * reach
            })
            .collect();
        Cost { value, gradient }
    }

    /// The Hessian with respect to the first variables of k, the same everywhere; diagonal.
    pub fn hessian(&self) -> Matrix {
        let mut diagonal = Vector::zeros();
        let parts = self.weights.iter().zip(self.ends.reach());
        diagonal.iter_mut().zip(parts).for_each(|(entry, (w, r))| *entry = 2.0 * w * r * r);
        Matrix::from_diagonal(&diagonal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_agree_with_differences() {
        let ends = EndPoints::new(&[0.3, -0.7], &[0.5, 0.2]).unwrap();
        let goal = GoalCost::new(ends, &[0.9, -0.6], &[2.0, 3.0]).unwrap();
        let (k, h) = ([0.4, -0.8], 1e-5);
        let here = goal.evaluate(&k);
        assert!((here.value - (2.0 * 0.4f64.powi(2) + 3.0 * 0.26f64.powi(2))).abs() < 1e-12);
        for j in 0..2 {
            let at = |s: f64| {
                let mut k = k;
                k[j] += s;
                goal.evaluate(&k)
            };
            let slope = (at(h).value - at(-h).value) / (2.0 * h);
            assert!((slope - here.gradient[j]).abs() < 1e-9);
            let curvature = (at(h).gradient[j] - at(-h).gradient[j]) / (2.0 * h);
            assert!((curvature - goal.hessian()[(j, j)]).abs() < 1e-9);
        }
    }

    #[test]
    fn bad_goals_are_refused() {
        let ends = EndPoints::new(&[0.3, -0.7], &[0.5, 0.2]).unwrap();
        let make = |t: &[f64], w: &[f64]| GoalCost::new(ends.clone(), t, w);
        assert!(matches!(make(&[0.0], &[1.0, 1.0]), Err(CostError::Size { field: "target", .. })));
        assert!(matches!(make(&[0.0, f64::NAN], &[1.0, 1.0]), Err(CostError::Value { .. })));
        assert!(matches!(make(&[0.0, 0.0], &[1.0, -1.0]), Err(CostError::Value { .. })));
    }
}
