//! Rows with more errors granted than are stated, for sets that are conditional on them ([`crate::study::identification`]).
//!
//! # The gain
//! A common gain of all torque sensors looks like a heavier or lighter load. It is left unknown within [`GAIN`]: with readings g times the
//! true torque but for an error within the sensor's bounds of the reading, a row |y z - u| <= r becomes
//! |y z - kappa u| <= kappa r, kappa = 1/g. That is a row over (z, kappa) with right-hand side zero, and kappa r is at most
//! r times the largest kappa (what r holds beside the torque's error is charged too much then).

use super::RecordedRows;
use crate::identify::polytope::Rows;
use crate::inertia::ParameterSet;
use crate::recording::MeasurementLog;

/// Share of every log that wider bounds are found on, and the set is from; the rest tries them.
const USED: f64 = 2.0 / 3.0;
/// What true torques are taken to be, as a share of the readings: the same for all joints.
const GAIN: [f64; 2] = [0.8, 1.25];

/// Of each log the part that wider bounds and the set are from, and the part that tries them; none where one is too short.
pub fn parted(logs: &[MeasurementLog]) -> Option<(Vec<MeasurementLog>, Vec<MeasurementLog>)> {
    let parts: Option<Vec<_>> = logs.iter().map(|log| log.split(USED)).collect();
    Some(parts?.into_iter().unzip())
}

/// The box with the gain as last parameter.
pub fn with_gain(set: &ParameterSet) -> ParameterSet {
    set.with_further(GAIN)
}

/// The rows with a mean torque error of `more` (N m) granted to each of `joints` joints, and the gain as last parameter.
pub fn gain_left_open(data: &RecordedRows, more: f64, joints: usize) -> Rows {
    let mut rows = data.granting(&vec![more; joints]);
    let p = rows.y.ncols();
    rows.y = rows.y.insert_column(p, 0.0);
    for (w, u) in rows.u.iter_mut().enumerate() {
        rows.y[(w, p)] = -*u;
        *u = 0.0;
    }
    rows.radius.iter_mut().for_each(|radius| *radius = (*radius * GAIN[1]).next_up());
    rows
}
