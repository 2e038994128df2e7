//! Chooses the constants of the momentum law for a plan. A guess with a margin: [`MomentumProblem::proven`] decides whether it holds.

use thiserror::Error;

use crate::reach::momentum::{CycleTiming, MomentumGains, MomentumProblem, MomentumReport, MomentumTube};
use crate::robot::Joint;

/// What is stored exceeds what a round needs by this factor, so that the fixed point u -> w -> u is passed and not only approached. More widens the
/// torque, less takes more rounds.
const RESERVE: f64 = 1.02;
/// Rounds at most. One that has not settled by then grows too slowly to be told from one that never will.
const MOST_ROUNDS: usize = 40;
/// Largest share of the robust torque that misreadings alone may ask for. At 1 and above the law is a switch that noise throws at every tick, proven but
/// harsh; less costs growth, as the tube is wider where more torque is at hand.
const NOISE_SHARE: f64 = 0.5;
/// A robust torque above this multiple of what the joint can do is none that settles at a value of use.
const HOPELESS: f64 = 3.0;

/// Why no constants were found.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MomentumRefusal {
    /// The problem is none, or a constant.
    #[error("{0}")]
    Unsupported(String),
    /// The mass matrix is too uncertain: the nominal one may be off by as much as itself.
    #[error(
        "what is held is too uncertain: the mass matrix may be as far from the nominal one as it is large; learn or narrow the payload"
    )]
    MassMatrix,
    /// kappa is too high for the age.
    #[error(
        "kappa = {kappa:.1} 1/s is too high for readings that are {age_ms:.2} ms old: at most {most:.1} 1/s"
    )]
    Gain {
        /// kappa, 1/s.
        kappa: f64,
        /// Age, ms.
        age_ms: f64,
        /// The largest kappa, 1/s.
        most: f64,
    },
    /// The torque that tracking errors ask for makes larger errors than it mends.
    #[error(
        "joint '{joint}' needs a robust torque of more than {robust_nm:.0} N m: errors ask for more torque than they are answered with"
    )]
    Diverges {
        /// The joint.
        joint: String,
        /// What it had come to, N m.
        robust_nm: f64,
    },
}

/// Constants under which the tube is proven along the problem's motion, with the reports on them.
///
/// # Errors
/// [`MomentumRefusal`] if none are found.
pub fn fit(
    problem: &MomentumProblem<'_>,
    gains: MomentumGains,
    timing: CycleTiming,
    cells: usize,
) -> Result<(MomentumTube, Vec<MomentumReport>), MomentumRefusal> {
    let n = problem.robot.dof();
    let none = vec![0.0; n];
    let mut tube = MomentumTube {
        gains,
        timing,
        robust_nm: none.clone(),
        noise_nms: none.clone(),
        lag_nms2: none.clone(),
        sign_band_rad_s: none,
    };
    for _ in 0..MOST_ROUNDS {
        let reports = problem.survey(&tube, cells).map_err(MomentumRefusal::Unsupported)?;
        let reports = reports.ok_or(MomentumRefusal::MassMatrix)?;
        let gain = reports.iter().map(|report| report.gain).fold(0.0, f64::max);
        if gain > 1.0 {
            let (kappa, age_ms) = (gains.kappa, 1e3 * timing.age_s());
            return Err(MomentumRefusal::Gain { kappa, age_ms, most: kappa / gain });
        }
        if reports.iter().all(|report| report.covered_by(&tube)) {
            return Ok((tube, reports));
        }
        raise(&mut tube, &reports);
        for (joint, &robust_nm) in problem.robot.joints.iter().zip(&tube.robust_nm) {
            if !(robust_nm <= HOPELESS * joint.limits.torque) {
                return Err(MomentumRefusal::Diverges { joint: joint.name.clone(), robust_nm });
            }
        }
    }
    let joints = problem.robot.joints.iter().zip(&tube.robust_nm);
    let share = |(joint, robust_nm): (&Joint, &f64)| robust_nm / joint.limits.torque;
    let (joint, &robust_nm) = joints
        .max_by(|a, b| share(*a).total_cmp(&share(*b)))
        .ok_or_else(|| MomentumRefusal::Unsupported("the robot has no joints".to_owned()))?;
    Err(MomentumRefusal::Diverges { joint: joint.name.clone(), robust_nm })
}

/// Gives the tube what the reports need, with the reserve.
fn raise(tube: &mut MomentumTube, reports: &[MomentumReport]) {
    let most = |of: &dyn Fn(&MomentumReport) -> f64| RESERVE * reports.iter().map(of).fold(0.0, f64::max);
    for j in 0..tube.robust_nm.len() {
        tube.noise_nms[j] = most(&|report| report.needed_noise_nms[j]);
        let quiet = tube.gains.kappa * tube.noise_nms[j] / NOISE_SHARE;
        tube.robust_nm[j] = most(&|report| report.needed_robust_nm[j]).max(quiet);
        tube.lag_nms2[j] = most(&|report| report.needed_lag_nms2[j]);
        tube.sign_band_rad_s[j] = most(&|report| report.needed_sign_band_rad_s[j]);
    }
}
