//! Chooses the gains of the momentum law for a plan, by what proves along a motion. A guess as the constants are: the certifier decides.
//!
//! Higher kappa answers errors harder; what the age allows bounds it ([`crate::reach::momentum`]), and readings that are off make the torque noisy. Higher K_r makes
//! position errors follow momenta faster, and asks for more torque. What is best depends on the set, so some of both are tried:
//! in what two looks at the cells foresee ([`CellOutlook`]), and what promises most is then fitted.

use rayon::prelude::*;

use crate::certify::{MomentumProblem, SurveyedCell};
use crate::reach::momentum::{CellOutlook, CycleTiming, MomentumGains, MomentumTube};

use super::momentum_fit::{MomentumRefusal, fit, foresee, standing_tube};

/// Shares of the largest kappa that are tried. The next to 1 leaves what a wider tube adds to the mass matrix's uncertainty. A plan that follows another begins with
/// that one's momenta, times kappa: the least ones are for where that is much.
const KAPPA_SHARES: [f64; 6] = [0.95, 0.65, 0.45, 0.3, 0.2, 0.13];
/// K_r that are tried, as shares of that kappa.
const K_R_SHARES: [f64; 5] = [0.025, 0.035, 0.05, 0.07, 0.1];
/// Among gains whose largest share of what is left of a torque limit is within this factor of the least one those are taken that carry links least in the end.
const AS_GENTLE: f64 = 1.1;
/// And those with less than this share: what a motion leaves beside that is enough to steer and to excite. Gains that ask for the least torque make wide tubes, and
/// the plans that follow have to begin with those.
const COMFORTABLE: f64 = 0.5;

/// Gains that promise most are fitted, no more than so many until one is proven.
const MOST_FITS: usize = 3;

/// Gains that prove best along the problem's motion; with this K_r where it is given.
///
/// # Errors
/// [`MomentumRefusal`] of the first gains that were tried, if none are proven.
pub fn choose(
    problem: &MomentumProblem<'_>,
    k_r: Option<f64>,
    cells: usize,
) -> Result<MomentumGains, MomentumRefusal> {
    let still = survey(problem, &standing_tube(problem.robot()), cells)?;
    // The gain grows with kappa, which is 1 here.
    let most = 1.0 / still.iter().map(|cell| cell.report.needs.gain).fold(0.0, f64::max);
    let k_rs: Vec<f64> = k_r.map_or_else(|| K_R_SHARES.map(|share| share * most).to_vec(), |k_r| vec![k_r]);
    let pairs = |share: &f64| {
        let kappa = share * most;
        k_rs.iter().map(move |&k_r| MomentumGains { k_r, kappa }).collect::<Vec<_>>()
    };
    let tried: Vec<MomentumGains> = KAPPA_SHARES.iter().flat_map(pairs).collect();
    let moving = look_about(problem, &tried, &still, cells);
    let outlooks: Vec<&CellOutlook> = moving.as_ref().unwrap_or(&still).iter().map(|c| &c.outlook).collect();
    // Other threads do not know what they work for.
    let span = tracing::Span::current();
    let scored = |gains: &MomentumGains| span.in_scope(|| score(problem, *gains, (&outlooks, cells)));
    let scores: Vec<_> = tried.par_iter().map(scored).collect();
    let timing = CycleTiming::of(problem.robot());
    let mut refusal = None;
    for gains in best_first(&tried, &scores).into_iter().take(MOST_FITS) {
        match fit(problem, gains, timing, cells) {
            Ok(_) => return Ok(gains),
            Err(error) => _ = refusal.get_or_insert(error),
        }
    }
    let refusal = refusal.or_else(|| scores.into_iter().find_map(Result::err));
    Err(refusal.unwrap_or_else(|| MomentumRefusal::Unsupported("no gains to try".to_owned())))
}

fn survey(
    problem: &MomentumProblem<'_>,
    tube: &MomentumTube,
    cells: usize,
) -> Result<Vec<SurveyedCell>, MomentumRefusal> {
    let survey = problem.survey_apart(tube, cells).map_err(MomentumRefusal::Unsupported)?;
    survey.ok_or(MomentumRefusal::MassMatrix)
}

/// Cells under a tube about as wide as it will be: that of the first gains that settle in what is foreseen from a tube of no width.
fn look_about(
    problem: &MomentumProblem<'_>,
    tried: &[MomentumGains],
    still: &[SurveyedCell],
    cells: usize,
) -> Option<Vec<SurveyedCell>> {
    let outlooks: Vec<&CellOutlook> = still.iter().map(|cell| &cell.outlook).collect();
    let (tube, _) = tried.iter().find_map(|gains| foresee(problem, *gains, (&outlooks, cells)).ok())?;
    survey(problem, &tube, cells).ok()
}

/// The largest share that the robust torque takes of what the motion leaves of a torque limit, and how far links are carried in the end, which is
/// what a plan that follows begins with, m; as it is foreseen.
fn score(
    problem: &MomentumProblem<'_>,
    gains: MomentumGains,
    outlooks: (&[&CellOutlook], usize),
) -> Result<(f64, f64), MomentumRefusal> {
    let robot = problem.robot();
    let (tube, needs) = foresee(problem, gains, outlooks)?;
    let growth = needs.last().map_or(0.0, |rest| rest.growth_m);
    let share = |outlook: &&CellOutlook| outlook.torque_share(robot, &tube);
    let torque = outlooks.0.iter().map(share).fold(0.0, f64::max);
    tracing::debug!(k_r = gains.k_r, kappa = gains.kappa, growth, torque, "gains");
    Ok((torque, growth))
}

/// Gains that settled, the best first: the gentle ones by growth, then the others by torque.
fn best_first(tried: &[MomentumGains], scores: &[Result<(f64, f64), MomentumRefusal>]) -> Vec<MomentumGains> {
    let settled = tried.iter().zip(scores).filter_map(|(gains, score)| Some((*gains, *score.as_ref().ok()?)));
    let mut settled: Vec<(MomentumGains, (f64, f64))> = settled.collect();
    let gentlest = settled.iter().map(|(_, (torque, _))| *torque).fold(f64::INFINITY, f64::min);
    let gentle = COMFORTABLE.max(AS_GENTLE * gentlest);
    let rank = |(torque, growth): (f64, f64)| {
        if torque <= gentle { (0, growth) } else { (1, torque) }
    };
    settled.sort_by(|a, b| {
        let (a, b) = (rank(a.1), rank(b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    settled.into_iter().map(|(gains, _)| gains).collect()
}
