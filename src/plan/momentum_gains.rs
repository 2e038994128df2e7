//! Chooses the gains of the momentum law for a plan, by what proves along a motion. A guess as the constants are: the certifier decides.
//!
//! Higher kappa answers errors harder; what the age allows bounds it ([`crate::reach::momentum`]), and readings that are off make the torque noisy. Higher K_r makes
//! position errors follow momenta faster, and asks for more torque. What is best depends on the set, so some of both are tried.

use rayon::prelude::*;

use crate::certify::MomentumProblem;
use crate::reach::momentum::{CycleTiming, MomentumGains};

use super::momentum_fit::{MomentumRefusal, fit, standing_tube};

/// Shares of the largest kappa that are tried. The next to 1 leaves what a wider tube adds to the mass matrix's uncertainty.
const KAPPA_SHARES: [f64; 5] = [0.95, 0.65, 0.45, 0.3, 0.2];
/// K_r that are tried, as shares of that kappa.
const K_R_SHARES: [f64; 5] = [0.025, 0.035, 0.05, 0.07, 0.1];
/// Among gains whose largest share of a torque limit is within this factor of the least one those are taken that carry links least.
const AS_GENTLE: f64 = 1.1;

/// Gains that prove best along the problem's motion; with this K_r where it is given.
///
/// # Errors
/// [`MomentumRefusal`] of the first gains that were tried, if none are proven.
pub fn choose(
    problem: &MomentumProblem<'_>,
    k_r: Option<f64>,
    cells: usize,
) -> Result<MomentumGains, MomentumRefusal> {
    let robot = problem.robot();
    let most = largest_kappa(problem, cells)?;
    let k_rs: Vec<f64> = k_r.map_or_else(|| K_R_SHARES.map(|share| share * most).to_vec(), |k_r| vec![k_r]);
    let pairs = |share: &f64| {
        let kappa = share * most;
        k_rs.iter().map(move |&k_r| MomentumGains { k_r, kappa }).collect::<Vec<_>>()
    };
    let tried: Vec<MomentumGains> = KAPPA_SHARES.iter().flat_map(pairs).collect();
    let timing = CycleTiming::of(robot);
    let score = |gains: &MomentumGains| -> Result<(f64, f64), MomentumRefusal> {
        let (tube, reports) = fit(problem, *gains, timing, cells)?;
        let growth = reports.iter().map(|report| report.growth_m).fold(0.0, f64::max);
        let torque = (0..robot.dof())
            .map(|j| tube.robust_at(j, 0.0) / robot.joints[j].limits.torque)
            .fold(0.0, f64::max);
        tracing::debug!(k_r = gains.k_r, kappa = gains.kappa, growth, torque, "gains");
        Ok((torque, growth))
    };
    let scores: Vec<Result<(f64, f64), MomentumRefusal>> = tried.par_iter().map(score).collect();
    let proven =
        || tried.iter().zip(&scores).filter_map(|(gains, score)| Some((gains, score.as_ref().ok()?)));
    let gentlest = proven().map(|(_, (torque, _))| *torque).fold(f64::INFINITY, f64::min);
    let gentle = proven().filter(|(_, (torque, _))| *torque <= AS_GENTLE * gentlest);
    if let Some((gains, _)) = gentle.min_by(|a, b| a.1.1.total_cmp(&b.1.1)) {
        return Ok(*gains);
    }
    let refusal = scores.into_iter().find_map(Result::err);
    Err(refusal.unwrap_or_else(|| MomentumRefusal::Unsupported("no gains to try".to_owned())))
}

/// The largest kappa that the age allows, for a tube of no width.
fn largest_kappa(problem: &MomentumProblem<'_>, cells: usize) -> Result<f64, MomentumRefusal> {
    let tube = standing_tube(problem.robot());
    let reports = problem.survey(&tube, cells).map_err(MomentumRefusal::Unsupported)?;
    let reports = reports.ok_or(MomentumRefusal::MassMatrix)?;
    // The gain grows with kappa, which is 1 here.
    let gain = reports.iter().map(|report| report.gain).fold(0.0, f64::max);
    Ok(tube.gains.kappa / gain)
}
