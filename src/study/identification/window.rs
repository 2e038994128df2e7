//! How long momentum windows should be: long enough that noise of velocities does not drown what they tell.
//!
//! Over a window of length T the momentum M dq changes by what the mean torque did. White noise of deviation s in each velocity reads as a mean torque of
//! sqrt(2) |M s| / T. Longer windows suffer less from it, and average out more of the motion; so the shortest of [`WINDOWS_S`] is taken whose noise is
//! small against every joint's torques.

use crate::dynamics::Workspace;
use crate::recording::{MeasurementLog, Sample};
use crate::regression::inverse::rms;
use crate::robot::Model;

/// Lengths to choose from, s.
pub const WINDOWS_S: [f64; 4] = [0.1, 0.2, 0.4, 0.8];
/// Noise of a window's mean torque, as a share of the joint's torques (root mean square), that is no reason for a longer one.
const SMALL: f64 = 0.1;
/// The longest segment of the logs has to hold so many windows.
const FEWEST: f64 = 10.0;
/// Samples at which mass matrices are looked at, at most.
const PLACES: usize = 20;

/// The length of momentum windows that suits the noise of these logs, s.
pub fn window_by_noise(robot: &Model, logs: &[MeasurementLog]) -> f64 {
    let noise = read_as_torque(robot, logs);
    let torques: Vec<_> = logs.iter().flat_map(|log| log.samples.iter().map(|s| s.tau.clone())).collect();
    let torque = rms(&torques, robot.nv());
    let longest = logs.iter().flat_map(|log| log.segments.iter().map(|part| &log.samples[part.clone()]));
    let seconds =
        |part: &[Sample]| part.last().zip(part.first()).map_or(0.0, |(last, first)| last.t - first.t);
    let longest = longest.map(seconds).fold(0.0, f64::max);
    let small =
        |window: f64| noise.iter().zip(&torque).all(|(noise, torque)| noise / window <= SMALL * torque);
    let fits = |window: &&f64| FEWEST * **window <= longest;
    let candidates: Vec<f64> = WINDOWS_S.iter().filter(fits).copied().collect();
    let chosen = candidates.iter().find(|window| small(**window)).or(candidates.last());
    chosen.copied().unwrap_or(WINDOWS_S[0])
}

/// What noise of velocities reads as over a window of a second, N m, a joint each: the largest over places of the logs.
fn read_as_torque(robot: &Model, logs: &[MeasurementLog]) -> Vec<f64> {
    let n = robot.nv();
    let noise = velocity_noise(logs, n);
    let count: usize = logs.iter().map(|log| log.samples.len()).sum();
    let (mut workspace, mut mass) = (Workspace::new(robot), vec![0.0; n * n]);
    let theta = robot.nominal_parameters();
    let mut largest = vec![0.0f64; n];
    for sample in logs.iter().flat_map(|log| &log.samples).step_by(count.div_ceil(PLACES).max(1)) {
        workspace.mass_matrix(robot, &sample.q, &theta, &mut mass);
        for (j, largest) in largest.iter_mut().enumerate() {
            let row = mass[n * j..n * (j + 1)].iter().zip(&noise);
            let torque = (2.0 * row.map(|(m, s)| (m * s).powi(2)).sum::<f64>()).sqrt();
            *largest = largest.max(torque);
        }
    }
    largest
}

/// White noise of each velocity, by third differences of neighbouring samples: motion is smooth over three steps, noise is not. NaN where no
/// segment has four samples: then the longest window that fits is taken.
fn velocity_noise(logs: &[MeasurementLog], joints: usize) -> Vec<f64> {
    let parts = logs.iter().flat_map(|log| log.segments.iter().map(|part| &log.samples[part.clone()]));
    let third = |w: &[Sample]| -> Vec<f64> {
        // Squares of the factors 1, 3, 3, 1 add up to 20.
        (0..joints)
            .map(|j| (w[3].dq[j] - 3.0 * w[2].dq[j] + 3.0 * w[1].dq[j] - w[0].dq[j]) / f64::sqrt(20.0))
            .collect()
    };
    let rows: Vec<Vec<f64>> = parts.flat_map(|part| part.windows(4).map(third).collect::<Vec<_>>()).collect();
    rms(&rows, joints)
}
