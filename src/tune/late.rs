//! What is proven of an arm that is late, under the momentum law ([`crate::reach::momentum`]), whose gains are chosen anew for each plan.

use super::limits::ProvenPlans;
use crate::certify::{MomentumProblem, MomentumStart};
use crate::plan::setup::Setup;
use crate::plan::{momentum_fit, momentum_gains};
use crate::reach::PreparedSet;
use crate::trajectory::Bezier;

/// Proves the tubes of all plans, each from rest.
///
/// # Errors
/// What is wanting for the first that is not proven.
pub(super) fn proven(arm: &Setup, curves: &[Bezier], cells: usize) -> Result<ProvenPlans, String> {
    let set = PreparedSet::new(&arm.robot, &arm.set);
    let mut found = ProvenPlans { growth_m: 0.0, within_limits: 0, plans: curves.len() };
    for curve in curves {
        let problem = MomentumProblem::new(&arm.robot, &set, &arm.scene, curve, MomentumStart::Rest)
            .map_err(|refusal| refusal.to_string())?;
        let tube = momentum_gains::choose(&problem, cells, None).map_err(|refusal| refusal.to_string())?;
        let fitted = momentum_fit::fit_bounded(&problem, tube.gains, None, cells);
        let (_, survey) = fitted.map_err(|refusal| refusal.to_string())?;
        let reports = || survey.iter().map(|cell| &cell.report);
        found.growth_m = reports().map(|report| report.needs.growth_m).fold(found.growth_m, f64::max);
        found.within_limits += usize::from(reports().all(|report| {
            let (torque, velocity) = (&report.torque_margin, &report.velocity_margin);
            torque.iter().chain(velocity).chain(&report.position_margin).all(|margin| *margin >= 0.0)
        }));
    }
    Ok(found)
}
