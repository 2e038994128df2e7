//! What is told beside an estimate of a mechanism: what it owes to priors, to the length of steps and to friction, and why there is none.

use super::{CrossValidation, MechanismStudy};
use crate::discrete::{DiscreteEstimate, DiscreteProblem, Mechanism, MechanismParameter};
use crate::estimate::error::EstimateError;

/// Share of a prior's deviation that has to be left for a parameter to count as unseen by the data.
const UNSEEN: f64 = 0.98;
/// Share of the cost that one more step may promise where the explicit form ended at the minimum.
const SHORT: f64 = 1e-3;
/// Stages at which a step is asked whether it is the only one.
const ASKED: usize = 100;
/// Deviations by which the length of the steps may move an estimate untold.
const BIASED: f64 = 1.0;
/// Deviations by which it may with the step that is advised.
const ADVISED: f64 = 0.8;
/// Steps into which a step may be advised to be divided.
const EVEN: [f64; 8] = [2.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
/// Share of a moment within which the triangle inequality counts as met.
const ROUNDING: f64 = 1e-6;

impl MechanismStudy {
    /// What broke the iteration down, with what dry friction has to do with it.
    pub(super) fn explained(&self, problem: &DiscreteProblem, error: EstimateError) -> EstimateError {
        let (path, told) = (self.path.display().to_string(), error.to_string());
        let guess = problem.guess(&self.guess).ok();
        let ambiguous = guess.and_then(|guess| self.ambiguity(&problem.ambiguous_steps(&guess, ASKED)));
        let reason = match (ambiguous, self.frictional()) {
            (Some(words), _) => format!("{path}: {words}. No estimate: {told}"),
            (None, Some(hinges)) if matches!(error, EstimateError::NotConvex { .. }) => format!(
                "{path}: no estimate: {told} Dry friction of {hinges} bends the cost where a hinge sticks or turns back: expected smaller coefficients, \
                 or a `creep` above 0 in the mechanism's file"
            ),
            _ if told.contains(&path) => return error,
            _ => format!("{path}: no estimate: {told}"),
        };
        EstimateError::Recording { reason }
    }

    /// The hinges that have dry friction, or for which it is sought.
    fn frictional(&self) -> Option<String> {
        use MechanismParameter::{Excess, Kinetic};
        let sought = |j: usize| {
            self.sought
                .iter()
                .any(|s| matches!(s.parameter, Kinetic(i) | Excess(i) if i == j) && s.upper > 0.0)
        };
        let rubs = |j: &usize| {
            sought(*j) || self.mechanism.joints[*j].dry().is_some_and(|d| d.kinetic + d.excess > 0.0)
        };
        let names: Vec<&str> = (0..self.mechanism.joints.len())
            .filter(rubs)
            .map(|j| self.mechanism.joints[j].name.as_str())
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// In words: where steps are not unique, if there is any such place.
    fn ambiguity(&self, stages: &[usize]) -> Option<String> {
        let t = self.first_s + *stages.first()? as f64 * self.log.step_s;
        let (count, asked) = (stages.len(), self.log.angles.len().min(ASKED));
        Some(format!(
            "dry friction is so large that a step is not unique at {count} of {asked} times asked, first at {t:.3} s"
        ))
    }

    pub(super) fn warnings(
        &self,
        problem: &DiscreteProblem,
        estimate: &DiscreteEstimate,
        (found, validation): (&Mechanism, &[CrossValidation]),
    ) -> Vec<String> {
        let mut out = vec![];
        if !estimate.converged {
            let why = self.frictional().map_or_else(String::new, |hinges| {
                format!(" (dry friction of {hinges} gives the cost kinks where a hinge sticks or turns back)")
            });
            out.push(format!(
                "the iteration did not converge{why}; the deviations below are those of where it ended"
            ));
        }
        if let Some(share) = estimate.promised.filter(|share| estimate.converged && *share > SHORT) {
            out.push(format!(
                "the iteration ended where the tolerances of the explicit form let it: one more step promises to lower the cost by {:.1} %; \
                 `form = \"inverse\"` minimises the same cost to the end",
                100.0 * share.min(1.0)
            ));
        }
        out.extend(self.step_warning(problem, estimate));
        out.extend(estimate.unobservable.iter().map(|v| format!("nothing is known along {v}")));
        for (p, sought) in estimate.parameters.iter().zip(&self.sought) {
            if let (Some(deviation), Some([_, prior])) = (p.deviation, sought.prior)
                && deviation > UNSEEN * prior * estimate.scale
            {
                out.push(format!("the prior alone decides {}", p.name));
            }
        }
        let bound = estimate.parameters.iter().filter(|p| p.bound);
        out.extend(bound.map(|p| format!("{} ended at a bound, {:.3e} {}", p.name, p.value, p.unit)));
        out.extend(self.moment_warnings(found, estimate));
        let ambiguous = self.ambiguity(&problem.ambiguous_steps(&estimate.trajectory, ASKED));
        out.extend(ambiguous.map(|words| format!("{words}: the estimate chose one of several motions")));
        for other in validation.iter().filter(|v| !v.converged) {
            out.push(format!("the states of `{}` were not fitted to the end", other.label));
        }
        out
    }

    /// Whether the length of the steps moves the estimate by more than its deviations.
    fn step_warning(&self, problem: &DiscreteProblem, estimate: &DiscreteEstimate) -> Option<String> {
        if self.sought.is_empty() || !estimate.converged {
            return None;
        }
        let ms = 1e3 * self.log.step_s;
        let biases = match problem.step_bias(estimate, self.options) {
            Ok(biases) => biases,
            Err(error) => {
                return Some(format!("what steps of {ms} ms do to the estimate is not known: {error}"));
            }
        };
        let rows = estimate.parameters.iter().zip(biases);
        let mut large: Vec<(&str, f64)> =
            rows.filter_map(|(p, b)| Some((&*p.name, b?))).filter(|(_, b)| !(b.abs() <= BIASED)).collect();
        large.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let shorter = (large.first()?.1.abs() / ADVISED).sqrt();
        let advice = match EVEN.iter().find(|n| **n >= shorter) {
            Some(n) => format!("`model_step_s = {:?}` would be short enough", rounded(self.log.step_s / n)),
            None => "expected a shorter `model_step_s`".to_owned(),
        };
        let parts: Vec<String> =
            large.iter().map(|(name, b)| format!("{name} by {:.1} deviations", b.abs())).collect();
        Some(format!(
            "steps of {ms} ms bias the estimate by more than its deviations say: {}; {advice}",
            parts.join(", ")
        ))
    }

    /// Bodies whose estimated moments no body has, by more than their deviations, or that are kept from that.
    fn moment_warnings(&self, found: &Mechanism, estimate: &DiscreteEstimate) -> Vec<String> {
        let mut out = vec![];
        for (b, body) in found.bodies.iter().enumerate() {
            let of = |p: MechanismParameter| matches!(p, MechanismParameter::Inertia(other, _) if other == b);
            let own: Vec<f64> = (self.sought.iter().zip(&estimate.parameters))
                .filter(|(s, _)| of(s.parameter))
                .map(|(_, p)| p.deviation.unwrap_or(f64::INFINITY))
                .collect();
            if own.is_empty() {
                continue;
            }
            let sum: f64 = body.inertia_kg_m2.iter().sum();
            let largest = body.inertia_kg_m2.iter().copied().fold(0.0, f64::max);
            let deviation = own.iter().map(|d| d * d).sum::<f64>().sqrt();
            let (name, excess) = (&body.name, 2.0 * largest - sum);
            if excess > deviation.max(ROUNDING * largest) {
                out.push(format!(
                    "no body has the inertias of {name}: one principal moment is above the sum of the other two, by {excess:.1e} kg m^2, \
                     more than their deviations; `consistent = true` in [solver] keeps them apart from that"
                ));
            } else if self.consistent && excess.abs() <= ROUNDING * largest {
                out.push(format!(
                    "the inertias of {name} ended where one principal moment is the sum of the other two"
                ));
            }
        }
        out
    }
}

/// To three digits.
fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}
