//! How a profile does on a recording that it was not learnt from: torque errors over time, and when and at which joint they are larger than it allows.
//!
//! Over a window the mean torque error of a joint is what its measured torques have more than the profile's own figures make of the motion. The
//! profile *allows* it what all its bounds together leave open there: sensors, links, friction, gravity, what is left of the delay, unmodelled
//! torque. An error beyond that proves that some bound of the profile is too small for this recording, whatever the parameters are.

use serde::Serialize;

use crate::identify::recorded::RecordedRows;
use crate::inertia::ParameterSet;
use crate::recording::MeasurementLog;
use crate::robot::Arm;

/// Parts of the recording's time for which errors are listed.
pub const PARTS: usize = 8;

/// A time at which a joint's torque is not what the profile says it can be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excursion {
    /// End of its first window, s.
    pub from_s: f64,
    /// End of its last window, s.
    pub to_s: f64,
    /// Windows in it.
    pub windows: usize,
    /// Largest mean torque error, N m.
    pub error_nm: f64,
    /// What the profile allows there, N m.
    pub allowed_nm: f64,
}

/// A window of one joint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WindowError {
    /// Its end, s.
    pub t_s: f64,
    /// Measured less predicted torque, mean over the window, N m.
    pub error_nm: f64,
    /// The largest size that the profile allows, N m.
    pub allowed_nm: f64,
}

/// What a recording says of one joint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JointCheck {
    /// Its name.
    pub name: String,
    /// Windows compared.
    pub windows: usize,
    /// Those of them in which the error is one that the profile allows.
    pub within: usize,
    /// Root mean square of the errors, N m.
    pub rms_nm: f64,
    /// Root mean square and largest error in each of [`PARTS`] equal parts of the time, N m; none where a part has no window.
    pub over_time_nm: Vec<Option<[f64; 2]>>,
    /// Where it goes wrong, in the order of time.
    pub excursions: Vec<Excursion>,
    /// Every window.
    pub errors: Vec<WindowError>,
}

/// What a recording says of a profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileCheck {
    /// The file.
    pub path: String,
    /// First and last time, s.
    pub time_s: [f64; 2],
    /// The joints.
    pub joints: Vec<JointCheck>,
}

impl ProfileCheck {
    /// Whether the profile allows all that was recorded.
    pub fn holds(&self) -> bool {
        self.joints.iter().all(|joint| joint.within == joint.windows)
    }

    /// The joint and the time at which the error is the largest multiple of what is allowed, if it is ever more.
    pub fn worst(&self) -> Option<(&JointCheck, &Excursion)> {
        let all = self.joints.iter().flat_map(|joint| joint.excursions.iter().map(move |e| (joint, e)));
        all.max_by(|a, b| (a.1.error_nm / a.1.allowed_nm).total_cmp(&(b.1.error_nm / b.1.allowed_nm)))
    }
}

/// Compares rows of data, made with the profile's bounds, with its figures.
pub(super) fn of_rows(robot: &Arm, log: &MeasurementLog, data: &RecordedRows) -> ProfileCheck {
    let set = ParameterSet::around_nominal(robot);
    let time_s = [log.samples[0].t, log.samples[log.samples.len() - 1].t];
    let (center, radius) = (set.center(), set.radius());
    let rows = &data.rows;
    let window = |w: usize| {
        let y = rows.y.row(w);
        let known: f64 = y.iter().zip(&center).map(|(y, c)| y * c).sum();
        let open: f64 = y.iter().zip(&radius).map(|(y, g)| y.abs() * g).sum();
        let length = data.duration[w];
        WindowError {
            t_s: rows.origin[w].t,
            error_nm: (rows.u[w] - known) / length,
            allowed_nm: (rows.radius[w] + open) / length,
        }
    };
    let joint = |j: usize| {
        let mut errors: Vec<WindowError> =
            (0..rows.len()).filter(|&w| rows.origin[w].joint == j).map(window).collect();
        errors.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        of_joint(robot.joints[j].name.clone(), time_s, errors)
    };
    let joints = (0..robot.dof()).map(joint).collect();
    ProfileCheck { path: log.path.display().to_string(), time_s, joints }
}

/// Root mean square and largest error of some windows, N m; none without any.
fn figures<'a>(windows: impl Iterator<Item = &'a WindowError>) -> Option<[f64; 2]> {
    let (mut count, mut squares, mut most) = (0usize, 0.0, 0.0f64);
    for window in windows {
        (count, squares) = (count + 1, squares + window.error_nm * window.error_nm);
        most = most.max(window.error_nm.abs());
    }
    (count > 0).then(|| [(squares / count as f64).sqrt(), most])
}

fn of_joint(name: String, [from, to]: [f64; 2], errors: Vec<WindowError>) -> JointCheck {
    let part = |t: f64| (((t - from) / (to - from) * PARTS as f64) as usize).min(PARTS - 1);
    // What is no number is not allowed.
    let wrong = |window: &WindowError| !(window.error_nm.abs() <= window.allowed_nm);
    let mut excursions: Vec<Excursion> = Vec::new();
    let mut before = false;
    for window in &errors {
        if wrong(window) {
            match excursions.last_mut().filter(|_| before) {
                Some(running) => running.extend(window),
                None => excursions.push(Excursion::begun(window)),
            }
        }
        before = wrong(window);
    }
    JointCheck {
        name,
        windows: errors.len(),
        within: errors.iter().filter(|window| !wrong(window)).count(),
        rms_nm: figures(errors.iter()).map_or(0.0, |f| f[0]),
        over_time_nm: (0..PARTS)
            .map(|k| figures(errors.iter().filter(|window| part(window.t_s) == k)))
            .collect(),
        excursions,
        errors,
    }
}

impl Excursion {
    fn begun(window: &WindowError) -> Self {
        let (error_nm, allowed_nm) = (window.error_nm.abs(), window.allowed_nm);
        Self { from_s: window.t_s, to_s: window.t_s, windows: 1, error_nm, allowed_nm }
    }

    fn extend(&mut self, window: &WindowError) {
        (self.to_s, self.windows) = (window.t_s, self.windows + 1);
        if window.error_nm.abs() / window.allowed_nm > self.error_nm / self.allowed_nm {
            (self.error_nm, self.allowed_nm) = (window.error_nm.abs(), window.allowed_nm);
        }
    }
}
