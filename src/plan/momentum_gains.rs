//! Chooses the gains of the momentum law for a plan, by what proves along a motion. A guess as the constants are: the certifier decides.
//!
//! Higher kappa answers errors harder; what the age allows bounds it ([`crate::reach::momentum`]), and readings that are off make the torque noisy. Higher K_r makes
//! position errors follow momenta faster, and asks for more torque. What is best depends on the set, so some of both are tried:
//! in what two looks at the cells foresee ([`CellOutlook`]), and what promises most is then fitted.

use rayon::prelude::*;

use crate::certify::{MomentumProblem, SurveyedCell};
use crate::reach::momentum::{CellOutlook, MomentumGains, MomentumTube};

use super::momentum_fit::{MomentumRefusal, fit_from, foresee, standing_tube};

/// Shares of the largest kappa that are tried. The next to 1 leaves what a wider tube adds to the mass matrix's uncertainty. A plan that follows another begins with
/// that one's momenta, times kappa: the least ones are for where that is much.
const KAPPA_SHARES: [f64; 6] = [0.95, 0.65, 0.45, 0.3, 0.2, 0.13];
/// K_r that are tried, as shares of that kappa.
const K_R_SHARES: [f64; 5] = [0.025, 0.035, 0.05, 0.07, 0.1];
/// Gains must settle with so many times what is foreseen, where any do. A tube settles if what it answers errors with exceeds what they ask for. Where it barely does
/// it is several times as wide as it need be. A plan for another set begins with that width, turned by another M_0, and settles nowhere.
/// With 1 the measured Gen3 (seed 0) came to rest after six plans. Not even resting was provable in the tube that it had. With 1.05 and with 1.1 it came to its goal
/// (seeds 0, 2 and 3), with 1.1 in tubes half as wide.
const PRUDENCE: f64 = 1.1;

/// Gains that promise most are fitted, no more than so many until one is proven.
const MOST_FITS: usize = 3;
/// All gains are scored in one cell of so many, and those that promise most there in all cells. A motion changes little from one cell to the next.
const ROUGH_STRIDE: usize = 4;
/// So many of them. Twice those that are fitted: what a few cells foresee is off by some per cent.
const SHORTLIST: usize = 2 * MOST_FITS;

/// The tube of those gains that prove best along the problem's motion. Where a plan goes before, its K_r is tried as well: another one turns its position errors into momenta.
/// Those under which errors may carry a link farther than `growth_max_m` (m) come last, if that is limited.
///
/// # Errors
/// [`MomentumRefusal`] of the first gains that were tried, if none are proven.
pub fn choose(
    problem: &MomentumProblem<'_>,
    cells: usize,
    growth_max_m: Option<f64>,
) -> Result<MomentumTube, MomentumRefusal> {
    let still = survey(problem, &standing_tube(problem.robot()), cells)?;
    // The gain grows with kappa, which is 1 here.
    let most = 1.0 / still.iter().map(|cell| cell.report.needs.gain).fold(0.0, f64::max);
    let left = problem.left();
    let may_change = left.is_none_or(|left| left.k_r_may_change().is_ok());
    let others = K_R_SHARES.iter().filter(|_| may_change).map(|share| share * most);
    let k_rs: Vec<f64> = left.map(|left| left.k_r).into_iter().chain(others).collect();
    let pairs = |share: &f64| {
        let kappa = share * most;
        k_rs.iter().map(move |&k_r| MomentumGains { k_r, kappa }).collect::<Vec<_>>()
    };
    let tried: Vec<MomentumGains> = KAPPA_SHARES.iter().flat_map(pairs).collect();
    let moving = look_about(problem, &tried, &still, cells);
    let outlooks: Vec<&CellOutlook> = moving.as_ref().unwrap_or(&still).iter().map(|c| &c.outlook).collect();
    let (mut refusal, mut fitted) = (None, vec![]);
    for more in [PRUDENCE, 1.0] {
        match first_proven(problem, (&tried, &mut fitted), (&outlooks, cells), (more, growth_max_m)) {
            Ok(tube) => return Ok(tube),
            Err(error) => refusal = refusal.or(error),
        }
    }
    Err(refusal.unwrap_or_else(|| MomentumRefusal::Unsupported("no gains to try".to_owned())))
}

/// The tube of the best gains that settle with `more` times what is foreseen and are then proven. Those that were fitted before were not, and are left out.
fn first_proven(
    problem: &MomentumProblem<'_>,
    (tried, fitted): (&[MomentumGains], &mut Vec<MomentumGains>),
    (outlooks, cells): (&[&CellOutlook], usize),
    (more, growth_max_m): (f64, Option<f64>),
) -> Result<MomentumTube, Option<MomentumRefusal>> {
    let ranked = |gains: &[MomentumGains], outlooks: &[&CellOutlook]| {
        let scores = scores(problem, gains, (outlooks, cells), more);
        let best = best_first(gains, &scores, growth_max_m);
        let left: Vec<MomentumGains> = best.into_iter().filter(|gains| !fitted.contains(gains)).collect();
        (left, scores.into_iter().find_map(Result::err))
    };
    let (mut left, _) = ranked(tried, &sparse(outlooks));
    left.truncate(SHORTLIST);
    let (mut left, mut refused) = ranked(&left, outlooks);
    if left.is_empty() {
        (left, refused) = ranked(tried, outlooks);
    }
    let mut refusal = None;
    for gains in left.into_iter().take(MOST_FITS) {
        fitted.push(gains);
        // What is foreseen of them is where the fit begins: mostly one more look is enough.
        let foreseen = foresee(problem, gains, (outlooks, cells), 1.0);
        match foreseen.and_then(|(guess, _)| fit_from(problem, &guess, cells)) {
            Ok(tube) => return Ok(tube),
            Err(error) => _ = refusal.get_or_insert(error),
        }
    }
    Err(refusal.or(refused))
}

/// One cell of every [`ROUGH_STRIDE`], counted from the last, which is what a plan that follows begins with.
fn sparse<'a>(outlooks: &[&'a CellOutlook]) -> Vec<&'a CellOutlook> {
    let last = outlooks.len().saturating_sub(1);
    (0..=last)
        .filter(|k| (last - k).is_multiple_of(ROUGH_STRIDE))
        .filter_map(|k| outlooks.get(k).copied())
        .collect()
}

/// What each of the gains promises.
fn scores(
    problem: &MomentumProblem<'_>,
    gains: &[MomentumGains],
    outlooks: (&[&CellOutlook], usize),
    more: f64,
) -> Vec<Result<Score, MomentumRefusal>> {
    // Other threads do not know what they work for.
    let span = tracing::Span::current();
    let scored = |gains: &MomentumGains| span.in_scope(|| score(problem, *gains, outlooks, more));
    gains.par_iter().map(scored).collect()
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
    let (tube, _) = tried.iter().find_map(|gains| foresee(problem, *gains, (&outlooks, cells), 1.0).ok())?;
    survey(problem, &tube, cells).ok()
}

/// What gains promise.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Score {
    /// The largest share that the robust torque takes of what the motion leaves of a torque limit.
    torque: f64,
    /// How far links are carried at most, m.
    growth_m: f64,
    /// And in the end, which is what a plan that follows begins with, m.
    rest_growth_m: f64,
}

/// What the gains promise with `more` times what is foreseen.
fn score(
    problem: &MomentumProblem<'_>,
    gains: MomentumGains,
    outlooks: (&[&CellOutlook], usize),
    more: f64,
) -> Result<Score, MomentumRefusal> {
    let robot = problem.robot();
    let (tube, needs) = foresee(problem, gains, outlooks, more)?;
    let rest_growth_m = needs.last().map_or(0.0, |rest| rest.growth_m);
    let growth_m = needs.iter().map(|needs| needs.growth_m).fold(0.0, f64::max);
    let share = |outlook: &&CellOutlook| outlook.torque_share(robot, &tube);
    let torque = outlooks.0.iter().map(share).fold(0.0, f64::max);
    tracing::debug!(k_r = gains.k_r, kappa = gains.kappa, growth_m, rest_growth_m, torque, "gains");
    Ok(Score { torque, growth_m, rest_growth_m })
}

/// Gains that settled, the best first. What counts is how far links are carried in the end, over the share of a torque limit that is left to move with. Gains that
/// ask for the least torque make wide tubes, and the plans that follow have to begin with those. Those that make the narrowest tubes leave no room for a motion.
/// Where nothing is left those come first that lack least. Gains that carry links too far come after all that do not.
fn best_first(
    tried: &[MomentumGains],
    scores: &[Result<Score, MomentumRefusal>],
    growth_max_m: Option<f64>,
) -> Vec<MomentumGains> {
    let rank = |score: &Score| {
        let too_far = growth_max_m.is_some_and(|most_m| score.growth_m > most_m);
        let (lacks, cost) = if score.torque < 1.0 {
            (false, score.rest_growth_m / (1.0 - score.torque))
        } else {
            (true, score.torque)
        };
        (lacks, too_far, cost)
    };
    let settled =
        tried.iter().zip(scores).filter_map(|(gains, score)| Some((*gains, rank(score.as_ref().ok()?))));
    let mut settled: Vec<_> = settled.collect();
    settled.sort_by(|(_, a), (_, b)| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    settled.into_iter().map(|(gains, _)| gains).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of gains that leave torque the narrowest for what they leave; those that carry links too far after them; those that leave none last.
    #[test]
    fn gains_that_carry_links_too_far_come_after_those_that_do_not() {
        let tried: Vec<MomentumGains> =
            (0..5).map(|k| MomentumGains { k_r: f64::from(k), kappa: 1.0 }).collect();
        let score =
            |torque: f64, growth_m: f64, rest_growth_m: f64| Ok(Score { torque, growth_m, rest_growth_m });
        let refused = Err(MomentumRefusal::MassMatrix);
        let scores = [
            score(0.5, 0.03, 0.001),
            score(0.2, 0.02, 0.004),
            refused,
            score(1.2, 0.01, 0.001),
            score(0.8, 0.01, 0.002),
        ];
        let order = |most: Option<f64>| -> Vec<f64> {
            best_first(&tried, &scores, most).into_iter().map(|gains| gains.k_r).collect()
        };
        assert_eq!(order(None), [0.0, 1.0, 4.0, 3.0]);
        assert_eq!(order(Some(0.025)), [1.0, 4.0, 0.0, 3.0]);
    }
}
