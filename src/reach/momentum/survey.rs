//! The theorem over a whole plan: every time of it, and the rest after its end, lies in a cell whose conditions hold.

use rayon::prelude::*;

use crate::enclose::{Counted, Rounding};
use crate::inertia::ParameterSet;
use crate::reach::cell::{Span, symbols};
use crate::reach::prepared_set::PreparedSet;
use crate::robot::Arm;
use crate::trajectory::Bezier;

use super::constants::MomentumTube;
use super::report::MomentumReport;
use super::workspace::MomentumWorkspace;

/// A plan that the law is to follow.
#[derive(Debug, Clone, Copy)]
pub struct MomentumProblem<'a> {
    /// The arm.
    pub robot: &'a Arm,
    /// What its parameters may be; of a set with strips the box alone is used.
    pub set: &'a PreparedSet,
    /// The desired motion.
    pub curve: &'a Bezier,
}

impl<'a> MomentumProblem<'a> {
    /// Puts a problem together.
    ///
    /// # Errors
    /// What the theorem does not cover, by name: another number of joints, a set that is none, a motion that does not start and end at rest.
    pub fn new(robot: &'a Arm, set: &'a PreparedSet, curve: &'a Bezier) -> Result<Self, String> {
        let n = robot.dof();
        if set.joints() != n || curve.dof() != n {
            let (name, set, curve) = (&robot.name, set.joints(), curve.dof());
            return Err(format!(
                "'{name}' has {n} joints: set of {set} joints, trajectory of {curve}, expected {n} of each"
            ));
        }
        curve.check().map_err(|error| error.to_string())?;
        if let Some(fault) = fault_of(set.set(), robot, curve.duration_s) {
            return Err(format!("parameter set: {fault}"));
        }
        for (j, joint) in robot.joints.iter().enumerate() {
            let [a, b, c, ..] = curve.points[j];
            if !(a == b && b == c && curve.rests(j)) {
                let name = &joint.name;
                return Err(format!("trajectory: joint '{name}' does not start and end at rest"));
            }
        }
        Ok(Self { robot, set, curve })
    }

    /// Reports on `cells` equal spans of the plan and on the rest after it; `None` where the mass matrix is too uncertain for any bound.
    ///
    /// # Errors
    /// Constants that are none, by name.
    pub fn survey(&self, tube: &MomentumTube, cells: usize) -> Result<Option<Vec<MomentumReport>>, String> {
        if let Some(fault) = tube.fault(self.robot.dof()) {
            return Err(format!("tube {fault}"));
        }
        Ok(match symbols(self.robot.dof()) {
            0..=16 => self.reports::<16, Counted>(tube, cells.max(1)),
            17..=32 => self.reports::<32, Counted>(tube, cells.max(1)),
            _ => self.reports::<64, Counted>(tube, cells.max(1)),
        })
    }

    fn reports<const N: usize, R: Rounding>(
        &self,
        tube: &MomentumTube,
        cells: usize,
    ) -> Option<Vec<MomentumReport>> {
        let space = || MomentumWorkspace::<N, R>::new(self.robot);
        let report = |space: &mut MomentumWorkspace<N, R>, k: usize| {
            MomentumReport::new(self.robot, self.set, tube, (self.curve, self.span(k, cells)), space)
        };
        (0..=cells).into_par_iter().map_init(space, report).collect()
    }

    /// Span `k` of `cells`, which follow each other without a gap; the last one is the rest.
    fn span(&self, k: usize, cells: usize) -> Span {
        let end = self.curve.duration_s;
        let t = |k: usize| end * k as f64 / cells as f64;
        if k == cells {
            return Span::Rest;
        }
        Span::Between(t(k), if k + 1 == cells { end } else { t(k + 1) })
    }

    /// Whether the tube is proven never to be left: by reports of [`MomentumProblem::survey`].
    ///
    /// # Errors
    /// As there.
    pub fn proven(&self, tube: &MomentumTube, cells: usize) -> Result<bool, String> {
        let reports = self.survey(tube, cells)?;
        Ok(reports.is_some_and(|reports| reports.iter().all(|report| report.covered_by(tube))))
    }
}

fn fault_of(set: &ParameterSet, robot: &Arm, duration_s: f64) -> Option<String> {
    set.fault(robot.dof(), robot.parameter_count(), duration_s)
}
