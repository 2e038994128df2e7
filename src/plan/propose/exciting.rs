//! The search for an exciting motion: first one that is proven, however little it tells, then others that tell more.
//!
//! What excites most is seldom proven, and a proof is dear: there may be time for half a dozen of them. So the first points to
//! be assessed are those that ask least of the arm, coasting to rest and going on to where the running plan ends. Where neither is
//! proven (coasting may lead into an obstacle, say), the rows of the better one are made to hold by moving it as little as their
//! linear models want ([`Candidates::repair`]). What is known of the rows there, the *anchor*, then says how far one may go from it towards
//! the end points that promise most, and two assessments on the way there say it better still.

use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::plan::excite::Excitation;
use crate::plan::nlp::{Evaluation, Row};
use crate::plan::qp::{self, LinearRow, Matrix, QuadraticProgram, Vector};
use crate::reach::Joints;

use super::search::{Candidates, least};
use super::{ProposeError, RETREAT, SPARE, STARTS, Starts};

/// Random end points among which starts are chosen, within [`CHOOSING_SHARE`] of the time. Twice as many take twice the
/// time, and only the best [`STARTS`] of them are used.
const CANDIDATES: usize = 64;
/// So many are looked at between two looks at the clock.
const BATCH: usize = 16;
/// Share of the time in which they may be looked at. The rest goes to proofs and to the solver, without which the best start
/// is worth nothing.
const CHOOSING_SHARE: f64 = 0.3;
/// A start is not begun without the time for so many assessments, unless it is the first: one to find it wanting, one to see
/// what mends it, and one for the proof.
const ASSESSMENTS: u32 = 3;
/// Share of the time that may be spent on making an anchor hold, before it is left as it is. Later there is too little time
/// to gain from it.
const REPAIR_SHARE: f64 = 0.6;
/// First bound of a repairing step in k (max norm), and the smallest that is tried: a quarter of the box, and a hundredth of
/// it, which hardly moves the arm.
const REPAIR_RADII: (f64, f64) = (0.5, 0.02);
/// Price of a violated row against half the square of the step: whatever a step can mend it mends.
const REPAIR_PENALTY: f64 = 1e3;
/// The linear models are not believed where they leave less than this of the way: rows bend over so long a step, and half of
/// it is at least a real try.
const LEAST_OFFERED: f64 = 0.5;
/// However bad a point on the way is, no less than this share of its distance is gone next: smaller steps would spend all
/// assessments before they lead anywhere.
const LEAST_NEXT: f64 = 0.3;

/// A point from which others are sought, and what was seen there.
#[derive(Debug, Default)]
pub(super) struct Anchor {
    k: Joints<f64>,
    rows: Vec<Row>,
    proven: bool,
    linear: Vec<LinearRow>,
    space: qp::QpWorkspace,
}

impl Anchor {
    /// Moves to where `seen` was found.
    fn take(&mut self, k: &[f64], seen: &Evaluation) {
        self.k.clear();
        self.k.extend(k.iter().copied());
        self.rows.clear();
        self.linear.clear();
        // Another point may have as many as there is room for.
        let room = seen.rows.capacity();
        self.rows.reserve(room);
        self.linear.reserve(room);
        self.space.reserve(room);
        self.rows.extend_from_slice(&seen.rows);
        self.proven = seen.proven;
    }

    /// What the row of this label was; those that were left out were far from being active.
    fn row(&self, label: u32) -> Option<&Row> {
        self.rows.binary_search_by_key(&label, |row| row.label).ok().map(|i| &self.rows[i])
    }

    /// The share, at most 1, of the way to `k` along which the linear models keep those rows that hold with something to spare.
    fn offered(&self, k: &[f64]) -> f64 {
        let holding = self.rows.iter().filter(|row| row.value > SPARE);
        let shares = holding.map(|row| {
            let change: f64 =
                row.gradient.iter().zip(k.iter().zip(&self.k)).map(|(g, (to, from))| g * (to - from)).sum();
            if change < 0.0 { (row.value - SPARE) / -change } else { f64::INFINITY }
        });
        shares.fold(1.0, f64::min)
    }

    /// The share of the way to a point with these rows along which straight lines between both ends keep the rows.
    fn interpolated(&self, rows: &[Row]) -> f64 {
        let short = rows.iter().filter(|row| row.value < SPARE);
        let shares = short.map(|row| match self.row(row.label) {
            Some(before) => ((before.value - SPARE) / (before.value - row.value)).max(0.0),
            None => 1.0,
        });
        shares.fold(1.0, f64::min)
    }

    /// Sum of what the rows are below `margin`.
    fn violation(&self, margin: f64) -> f64 {
        violation(&self.rows, margin)
    }

    /// The nearest point within `radius` where the linear models of all rows are at least `margin`, as far as that can be.
    fn mended(&mut self, radius: f64, margin: f64) -> Joints<f64> {
        let n = self.k.len();
        self.linear.clear();
        let linear = |row: &Row| LinearRow { value: row.value - margin, gradient: row.gradient };
        self.linear.extend(self.rows.iter().map(linear));
        let within = |end: &dyn Fn(f64) -> f64| {
            Vector::from_fn(|j, _| if j < n { end(self.k[j]).clamp(-radius, radius) } else { 0.0 })
        };
        let (lower, upper) = (within(&|x| -1.0 - x), within(&|x| 1.0 - x));
        let program = QuadraticProgram {
            dimension: n,
            hessian: &Matrix::identity(),
            gradient: &Vector::zeros(),
            rows: &self.linear,
            lower: &lower,
            upper: &upper,
            penalty: REPAIR_PENALTY,
        };
        let step = program.solve(&mut self.space).step;
        self.k.iter().zip(step.iter()).map(|(k, d)| (k + d).clamp(-1.0, 1.0)).collect()
    }
}

fn violation(rows: &[Row], margin: f64) -> f64 {
    rows.iter().map(|row| (margin - row.value).max(0.0)).sum()
}

impl Candidates<'_> {
    /// Searches for the proven motion that tells most; keeps every one that tells more than those before.
    pub(super) fn excite(&mut self, cost: &Excitation<'_>) -> Result<(), ProposeError> {
        self.fit_coasting()?;
        self.take_coasting_tube();
        if !self.sheltered() {
            self.repair();
        }
        let starts = self.exciting_starts(cost);
        let mut departed = false;
        for (i, start) in starts.iter().enumerate() {
            let end = self.task.setting.deadline;
            let left = end.saturating_duration_since(Instant::now());
            let worthwhile = left.as_nanos() / (ASSESSMENTS * self.search.pace).as_nanos().max(1);
            let sharing = (worthwhile.min(STARTS as u128) as usize).clamp(1, starts.len() - i);
            let deadline = Instant::now() + left / sharing as u32;
            // Until there is more than the anchor the way may take all the time there is, and begins where that is enough for all of what is left of it.
            departed |= match departed {
                true => self.approach(start, 0, deadline),
                false => self.approach(start, self.nearest_in_time(end), end),
            };
            if let Some(from) = self.search.known.clone() {
                self.improve(&from, deadline)?;
            }
        }
        Ok(())
    }

    /// Looks at what asks least of the arm, and makes the anchor of the first that is proven or else of the best of them.
    fn sheltered(&mut self) -> bool {
        let setting = self.task.setting;
        let goes_on = setting.warm.map(|end| self.task.ends.nearest(end));
        for (i, k) in [Some(self.task.coast.clone()), goes_on].into_iter().flatten().enumerate() {
            // Without the first there is nothing at all.
            if i > 0 && !self.affords(1, setting.deadline) {
                break;
            }
            let proven = self.is_proven(&k);
            self.keep_known();
            let (anchor, last) = (&mut self.search.anchor, &self.search.last);
            let better = anchor.rows.is_empty() || least(&last.rows) > least(&anchor.rows);
            if i == 0 || proven || usable(last) && better {
                anchor.take(&k, last);
            }
            tracing::debug!(i, proven, worst = least(&self.search.last.rows), "sheltered");
            if proven {
                return true;
            }
        }
        false
    }

    /// Moves the anchor to where its rows hold, by steps that are as short as their linear models want.
    fn repair(&mut self) {
        let end = self.task.setting.deadline;
        let patience = end.saturating_duration_since(Instant::now()).mul_f64(REPAIR_SHARE);
        let deadline = Instant::now() + patience;
        let (mut radius, mut margin) = (REPAIR_RADII.0, SPARE);
        while radius >= REPAIR_RADII.1 && self.affords(1, deadline) {
            let k = self.search.anchor.mended(radius, margin);
            let moved = k.iter().zip(&self.search.anchor.k).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let proven = self.is_proven(&k);
            self.keep_known();
            let (anchor, last) = (&mut self.search.anchor, &self.search.last);
            tracing::debug!(proven, worst = least(&last.rows), radius, moved, "repaired");
            if proven {
                anchor.take(&k, last);
                return;
            }
            if usable(last) && violation(&last.rows, margin) < anchor.violation(margin) {
                anchor.take(&k, last);
                // The tube grows with the motion, and with it what the rows need.
                margin += SPARE;
            } else {
                radius = 0.4 * radius.min(moved);
            }
        }
    }

    /// The best of many random end points by what their motions cost as far as the anchor's rows promise to let them go; as many as
    /// there is time for, the best first.
    fn exciting_starts(&self, cost: &Excitation<'_>) -> Starts {
        let setting = self.task.setting;
        let mut draw = ChaCha8Rng::seed_from_u64(setting.seed);
        let begun = Instant::now();
        let patience = setting.deadline.saturating_duration_since(begun).mul_f64(CHOOSING_SHARE);
        let anchor = &self.search.anchor;
        let mut best: ArrayVec<(f64, Joints<f64>), { STARTS + 1 }> = ArrayVec::new();
        let mut drawn = || -> Joints<f64> {
            let k: Joints<f64> = anchor.k.iter().map(|_| draw.random_range(-1.0..=1.0)).collect();
            let share = anchor.offered(&k).max(LEAST_OFFERED);
            anchor.k.iter().zip(&k).map(|(a, k)| a + share * (k - a)).collect()
        };
        let mut values = [0.0; BATCH];
        for _ in 0..CANDIDATES / BATCH {
            if best.len() == STARTS && begun.elapsed() > patience {
                break;
            }
            let batch: ArrayVec<Joints<f64>, BATCH> = (0..BATCH).map(|_| drawn()).collect();
            cost.values(&batch, &mut values);
            for (value, k) in values.into_iter().zip(batch) {
                // Behind those that are as good.
                let better = |other: &(f64, Joints<f64>)| value.total_cmp(&other.0).is_lt();
                let place = best.iter().position(better).unwrap_or(best.len());
                best.insert(place, (value, k));
                best.truncate(STARTS);
            }
        }
        best.into_iter().map(|(_, k)| k).collect()
    }

    /// Index of the part of a way back ([`RETREAT`]) with which it begins, if it may then be gone to its end before `deadline`.
    fn nearest_in_time(&self, deadline: Instant) -> usize {
        let left = deadline.saturating_duration_since(Instant::now());
        first_part(left, self.search.pace, self.search.allowed)
    }

    /// Goes to `start`, or as near to it as the part of [`RETREAT`] with index `first` says, and from there back towards the anchor until a point is proven; true if
    /// one is. The point assessed last is known afterwards, if there was time for any.
    fn approach(&mut self, start: &[f64], first: usize, deadline: Instant) -> bool {
        self.search.known = None;
        let (mut before, mut promised) = (0.0, 1.0f64);
        // At the end of the way is the anchor.
        for (i, pair) in RETREAT.windows(2).skip(first).enumerate() {
            if !self.affords(1, deadline) {
                return false;
            }
            // The last that there is time for is a more careful one.
            let last = i > 0 && !self.affords(2, deadline);
            let most = if last { pair[1].max(LEAST_NEXT * before) } else { pair[0] };
            let share = promised.min(most).max(LEAST_NEXT * before);
            let anchor = &self.search.anchor;
            let k: Joints<f64> = anchor.k.iter().zip(start).map(|(a, s)| a + share * (s - a)).collect();
            let proven = self.is_proven(&k);
            tracing::debug!(
                share,
                proven,
                worst = least(&self.search.last.rows),
                cost = self.search.last.cost,
                "on the way"
            );
            if proven {
                self.keep_known();
                return true;
            }
            promised = share * self.search.anchor.interpolated(&self.search.last.rows);
            before = share;
        }
        false
    }
}

/// With which part of [`RETREAT`] to begin so that all that follow can be assessed in the time `left`, at `pace` each and no more than are `allowed`; with the last
/// that leads anywhere if there is hardly time for one.
fn first_part(left: Duration, pace: Duration, allowed: Option<usize>) -> usize {
    let parts = RETREAT.len() - 1;
    let in_time = (left.as_nanos() / pace.as_nanos().max(1)).min(parts as u128) as usize;
    parts - allowed.map_or(in_time, |allowed| in_time.min(allowed)).max(1)
}

/// Whether an evaluation came to an end.
fn usable(seen: &Evaluation) -> bool {
    seen.cost.is_finite() && seen.rows.iter().all(|row| row.value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As much of the way back as there is time for, and the least that leads anywhere where there is none.
    #[test]
    fn a_way_back_begins_where_there_is_time_for_the_rest_of_it() {
        let (second, parts) = (Duration::from_secs(1), RETREAT.len() - 1);
        let first = |seconds: u64, allowed| first_part(seconds as u32 * second, second, allowed);
        assert_eq!((first(100, None), first(parts as u64, None)), (0, 0));
        assert_eq!((first(2, None), first(1, None), first(0, None)), (parts - 2, parts - 1, parts - 1));
        assert_eq!((first(100, Some(3)), first(100, Some(0))), (parts - 3, parts - 1));
        // Before anything is known of the pace.
        assert_eq!(first_part(second, Duration::ZERO, None), 0);
        assert!(RETREAT[parts - 1] > 0.0);
    }
}
