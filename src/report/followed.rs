//! How a path was followed: tracking error and torque of each joint over time (\[1, Figs. 11 and 12\]), in few enough points for many runs on a page.

use serde::{Deserialize, Serialize};

use super::html::{CLASSES, escape};
use super::plots::{LIMIT, LINES, Plot, Series, Shape};
use super::{ReportError, RunRecord};
use crate::horizon::{LogRow, TaskPhase};

/// Points a curve; each is the value of largest size of an equal part of the time.
const POINTS: usize = 40;
/// Size of a plot on the page, CSS pixels.
const SIZE: (u32, u32) = (520, 170);

/// Tracking errors and torques along the path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct FollowedPath {
    /// Name of each joint.
    pub joints: Vec<String>,
    /// Times since the path began, s.
    pub t_s: Vec<f64>,
    /// Desired minus measured position at these times, mrad (mm): a list a joint.
    pub error_mrad: Vec<Vec<f64>>,
    /// Torque by its limit at these times: a list a joint.
    pub torque_ratio: Vec<Vec<f64>>,
}

impl FollowedPath {
    /// Of a run that came to its path; `None` of one that did not.
    pub fn of<P>(record: &RunRecord<P>) -> Option<Self> {
        let begun = record.summary.plans.iter().rev().find(|plan| plan.phase == TaskPhase::Path)?.t;
        let rows: Vec<&LogRow> = record.log.iter().filter(|row| row.t >= begun).collect();
        let parts: Vec<&[&LogRow]> = rows.chunks(rows.len().div_ceil(POINTS).max(1)).collect();
        if parts.is_empty() {
            return None;
        }
        let largest = |part: &[&LogRow], of: &dyn Fn(&LogRow) -> f64, digits: f64| {
            let values = part.iter().map(|row| of(row));
            let most = values.fold(0.0, |most: f64, x| if x.abs() > most.abs() { x } else { most });
            (most * digits).round() / digits
        };
        let each = |of: &dyn Fn(&LogRow, usize) -> f64, digits: f64| -> Vec<Vec<f64>> {
            let curve =
                |j: usize| parts.iter().map(|part| largest(part, &|row| of(row, j), digits)).collect();
            (0..record.joints.len()).map(curve).collect()
        };
        Some(Self {
            joints: record.joints.clone(),
            t_s: parts.iter().map(|part| ((part[0].t - begun) * 1e3).round() * 1e-3).collect(),
            error_mrad: each(&|row, j| 1e3 * row.error[j], 1e3),
            torque_ratio: each(&|row, j| row.tau[j] / record.torque_limit[j], 1e3),
        })
    }

    /// Both plots, under the name of the method.
    pub(super) fn section(&self, method: &str) -> Result<String, ReportError> {
        let limits = Some((-1.1, 1.1));
        let errors = self.plot(&format!("{method}: tracking error, mrad"), &self.error_mrad, None, &[])?;
        let torques =
            self.plot(&format!("{method}: torque / limit"), &self.torque_ratio, limits, &[-1.0, 1.0])?;
        Ok(format!("<div class=\"grid\">{errors}{torques}</div>"))
    }

    /// What the colours stand for.
    pub(super) fn key(&self) -> String {
        let joint =
            |(name, class): (&String, &&str)| format!("<span class=\"{class}\">{}</span> ", escape(name));
        let names: String = self.joints.iter().zip(CLASSES.iter().cycle()).map(joint).collect();
        format!("<p class=\"key\">{names}<span class=\"limit\">limit</span></p>")
    }

    fn plot(
        &self,
        title: &str,
        curves: &[Vec<f64>],
        range: Option<(f64, f64)>,
        limits: &[f64],
    ) -> Result<String, ReportError> {
        let t_end = self.t_s.last().copied().unwrap_or(1.0);
        let line = |color, points| Series { color, shape: Shape::Line, points };
        let straight = limits.iter().map(|limit| line(LIMIT, vec![(0.0, *limit), (t_end, *limit)]));
        let finite = |curve: &Vec<f64>| -> Vec<(f64, f64)> {
            self.t_s.iter().copied().zip(curve.iter().copied()).filter(|(_, x)| x.is_finite()).collect()
        };
        let curves =
            curves.iter().zip(LINES.iter().cycle()).map(|(curve, color)| line(*color, finite(curve)));
        let series = straight.chain(curves).collect();
        let plot =
            Plot { title: title.to_owned(), size: SIZE, t_end, range, from_zero: false, phases: &[], series };
        Ok(format!("<figure><figcaption>{}</figcaption>{}</figure>", escape(title), plot.svg()?))
    }
}
