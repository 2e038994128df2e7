//! Rows over windows: pieces added up, with everything that may be wrong in the radius.

use std::ops::Range;

use nalgebra::DMatrix;

use super::balance::Frame;
use super::pieces::{Centered, Panel, Point};
use crate::enclose::Interval;
use crate::identify::polytope::{Origin, Rows};
use crate::inertia::ParameterSet;
use crate::reach::upward::{add_up, mul_up};
use crate::recording::Sample;
use crate::scalar::Scalar;

/// Samples without a gap, and what was made of them.
pub(super) struct Stretch {
    pub samples: Vec<Sample>,
    pub points: Vec<Point>,
    pub panels: Vec<Panel>,
}

impl Stretch {
    /// Windows of `shortest` panels and of twice as many and so on, each kind overlapping by half.
    pub(super) fn windows(&self, shortest: usize, longest: usize) -> Vec<Range<usize>> {
        let all = self.panels.len();
        let mut windows = vec![];
        let mut length = shortest.max(1);
        while length <= longest.max(shortest).min(all) {
            let starts = (0..=all - length).step_by((length / 2).max(1));
            windows.extend(starts.map(|from| from..from + length));
            length *= 2;
        }
        windows
    }

    /// The row of each motor over the panels of a window; `torque_error` is the bound of each motor's mean torque error, N m.
    pub(super) fn rows(
        &self,
        frame: &Frame,
        (window, torque_error): (&Range<usize>, &[f64]),
        set: &ParameterSet,
    ) -> Rows {
        let (m, p) = (frame.motors.len(), frame.parameters());
        let mut y = self.coefficients(m * p, window);
        let mut rows = Rows::none(p);
        rows.y = DMatrix::zeros(m, p);
        let panels = &self.panels[window.clone()];
        for panel in panels {
            for (k, parameter, coefficient) in &panel.coulomb {
                y[k * p + parameter] = y[k * p + parameter] + *coefficient;
            }
        }
        for (k, &error) in torque_error.iter().enumerate() {
            let mut radius = self.charges(k, window, error);
            for (j, y) in y[k * p..(k + 1) * p].iter().enumerate() {
                rows.y[(k, j)] = y.midpoint();
                let size = set.lower()[j].abs().max(set.upper()[j].abs());
                radius = add_up(radius, mul_up(y.radius(), size));
            }
            let torque = panels.iter().fold(Interval::zero(), |sum, panel| sum + panel.torque[k]);
            rows.u.push(torque.midpoint());
            rows.radius.push(add_up(radius, torque.radius()));
            rows.origin.push(Origin { t: self.samples[window.end].t, joint: frame.motors[k] });
        }
        rows
    }

    /// Difference of the momentum's coefficients, and the trapezoids of the rate's.
    fn coefficients(&self, count: usize, window: &Range<usize>) -> Vec<Interval> {
        let exact = |centered: &Centered, c: usize| Interval::constant(centered.middle[c]);
        let (first, last) = (&self.points[window.start], &self.points[window.end]);
        let mut y: Vec<Interval> =
            (0..count).map(|c| exact(&last.momentum, c) - exact(&first.momentum, c)).collect();
        for i in window.start..=window.end {
            let weight = self.weight(i, window);
            let rate = &self.points[i].rate;
            y.iter_mut().enumerate().filter(|(c, _)| rate.middle[*c] != 0.0).for_each(|(c, y)| {
                *y = *y + exact(rate, c) * weight;
            });
        }
        y
    }

    /// Weight of sample `i` in the trapezoids of a window, s.
    fn weight(&self, i: usize, window: &Range<usize>) -> Interval {
        let before = if i > window.start { self.panels[i - 1].length } else { Interval::zero() };
        let after = if i < window.end { self.panels[i].length } else { Interval::zero() };
        (before + after).scale(0.5)
    }

    /// Encoders at the ends and between, quadrature, torque.
    fn charges(&self, k: usize, window: &Range<usize>, torque_error: f64) -> f64 {
        let ends =
            add_up(self.points[window.start].momentum.charge[k], self.points[window.end].momentum.charge[k]);
        let between = (window.start..=window.end)
            .map(|i| mul_up(self.weight(i, window).upper(), self.points[i].rate.charge[k]));
        let panels = self.panels[window.clone()].iter();
        let over = panels.map(|panel| add_up(panel.missed[k], mul_up(panel.length.upper(), torque_error)));
        between.chain(over).fold(ends, add_up)
    }
}
