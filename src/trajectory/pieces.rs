//! Motions of several quintic pieces, one after another, through junctions that may move.

use serde::{Deserialize, Serialize};

use super::bezier::{Bezier, JointState, POINTS, TrajectoryError};

/// Most pieces of one motion. Every tick and every cell looks through them.
pub const MAX_PIECES: usize = 64;

/// Quintic Bézier pieces of the same joints, each of which starts where the one before ends; a single one as a rule. Past the end of the
/// last one it rests there.
///
/// Whether the pieces join is checked by [`Pieces::check`], and by the certifier ([`crate::trajectory::junction`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StatedPieces", into = "StatedPieces")]
pub struct PiecewiseBezier {
    /// The first piece.
    pub first: Bezier,
    /// Those after it, in order; none as a rule.
    pub then: Vec<Bezier>,
}

/// Quintic Bézier pieces of the same joints: the first one, and those that follow it without a jump of position, velocity or acceleration.
/// The last one comes to rest.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedPieces {
    /// Duration T of the first piece, s.
    duration_s: f64,
    /// Control points b_0..b_5 of each joint on the first piece, rad.
    points: Vec<[f64; POINTS]>,
    /// The pieces after it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    then: Vec<Bezier>,
}

impl From<StatedPieces> for PiecewiseBezier {
    fn from(stated: StatedPieces) -> Self {
        let StatedPieces { duration_s, points, then } = stated;
        Self { first: Bezier { duration_s, points }, then }
    }
}

impl From<PiecewiseBezier> for StatedPieces {
    fn from(pieces: PiecewiseBezier) -> Self {
        let PiecewiseBezier { first: Bezier { duration_s, points }, then } = pieces;
        Self { duration_s, points, then }
    }
}

impl From<Bezier> for PiecewiseBezier {
    fn from(first: Bezier) -> Self {
        Self { first, then: Vec::new() }
    }
}

impl PiecewiseBezier {
    /// The pieces, borrowed.
    pub fn view(&self) -> Pieces<'_> {
        self.into()
    }

    /// As [`Pieces::duration_s`].
    pub fn duration_s(&self) -> f64 {
        self.view().duration_s()
    }

    /// As [`Pieces::start`].
    pub fn start(&self) -> Vec<f64> {
        self.view().start()
    }

    /// As [`Pieces::end`].
    pub fn end(&self) -> Vec<f64> {
        self.view().end()
    }

    /// As [`Pieces::evaluate`].
    pub fn evaluate(&self, t: f64, out: &mut JointState) {
        self.view().evaluate(t, out);
    }

    /// As [`Pieces::state`].
    pub fn state(&self, t: f64) -> JointState {
        self.view().state(t)
    }
}

/// The pieces of a motion, borrowed: of a [`PiecewiseBezier`], or a single [`Bezier`].
///
/// Piece k runs from S_k to S_(k+1), where S_0 = 0 and S_(k+1) is the float nearest to S_k plus the piece's duration: on \[S_k, S_(k+1)\] its
/// normalised time goes from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pieces<'a> {
    first: &'a Bezier,
    then: &'a [Bezier],
}

impl<'a> From<&'a Bezier> for Pieces<'a> {
    fn from(first: &'a Bezier) -> Self {
        Self { first, then: &[] }
    }
}

impl<'a> From<&'a PiecewiseBezier> for Pieces<'a> {
    fn from(pieces: &'a PiecewiseBezier) -> Self {
        Self { first: &pieces.first, then: &pieces.then }
    }
}

/// One piece and when it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimedPiece<'a> {
    pub(super) piece: &'a Bezier,
    /// S_k, s.
    pub(super) start_s: f64,
    /// S_(k+1), s.
    pub(super) end_s: f64,
}

impl<'a> Pieces<'a> {
    /// The pieces with their times.
    pub(super) fn timed(self) -> impl Iterator<Item = TimedPiece<'a>> + Clone {
        std::iter::once(self.first).chain(self.then).scan(0.0, |end, piece| {
            let start_s = *end;
            *end = start_s + piece.duration_s;
            Some(TimedPiece { piece, start_s, end_s: *end })
        })
    }

    /// Number of pieces, at least 1.
    pub fn count(self) -> usize {
        1 + self.then.len()
    }

    /// The piece, if there is a single one.
    pub fn single(self) -> Option<&'a Bezier> {
        self.then.is_empty().then_some(self.first)
    }

    fn last(self) -> &'a Bezier {
        self.then.last().unwrap_or(self.first)
    }

    /// Duration of the whole motion, s.
    pub fn duration_s(self) -> f64 {
        self.then.iter().fold(self.first.duration_s, |end, piece| end + piece.duration_s)
    }

    /// Number of joints.
    pub fn dof(self) -> usize {
        self.first.dof()
    }

    /// Control points of a joint on the first piece.
    pub fn first_points(self, joint: usize) -> [f64; POINTS] {
        self.first.points[joint]
    }

    /// Where a joint rests after the motion.
    pub(super) fn end_of(self, joint: usize) -> f64 {
        self.last().points[joint][POINTS - 1]
    }

    /// Where it starts, rad.
    pub fn start(self) -> Vec<f64> {
        self.first.points.iter().map(|p| p[0]).collect()
    }

    /// Where it ends, rad.
    pub fn end(self) -> Vec<f64> {
        self.last().end()
    }

    /// Whether a joint comes to rest: see [`Bezier::rests`], here of the last piece.
    pub fn rests(self, joint: usize) -> bool {
        self.last().rests(joint)
    }

    /// Desired state at time `t` (s) into `out`; before 0 and after the end it is clamped to the motion's ends, at rest after the end.
    pub fn evaluate(self, t: f64, out: &mut JointState) {
        if let Some(single) = self.single() {
            return single.evaluate(t, out);
        }
        let Some(TimedPiece { piece, start_s, end_s }) = self.timed().find(|part| t < part.end_s) else {
            let last = self.last();
            return last.evaluate(f64::INFINITY, out);
        };
        piece.evaluate_on(t - start_s, end_s - start_s, out);
    }

    /// Desired state at time `t` (s), allocated.
    pub fn state(self, t: f64) -> JointState {
        let mut out = JointState::at_rest(&vec![0.0; self.dof()]);
        self.evaluate(t, &mut out);
        out
    }

    /// Refuses numbers that are none, pieces of different joints, more than [`MAX_PIECES`] of them, and pieces that do not join: position,
    /// velocity and acceleration may jump by no more than roundings ([`crate::trajectory::junction`]).
    ///
    /// # Errors
    /// [`TrajectoryError`] names the piece and the joint.
    pub fn check(self) -> Result<(), TrajectoryError> {
        if self.count() > MAX_PIECES {
            return Err(TrajectoryError::Pieces { found: self.count() });
        }
        let expected = self.dof();
        for TimedPiece { piece, start_s, end_s } in self.timed() {
            piece.check()?;
            if piece.dof() != expected {
                return Err(TrajectoryError::Size { field: "piece", expected, found: piece.dof() });
            }
            if !(end_s.is_finite() && end_s > start_s) {
                let what = "number that adds to the duration of the pieces before";
                let found = piece.duration_s;
                return Err(TrajectoryError::Value { field: "duration_s", what, found });
            }
        }
        (0..expected).try_for_each(|joint| self.joins(joint))
    }
}

#[cfg(test)]
mod tests;
