//! An arm that somebody else simulates, as the loop sees it, with an auditor who looks at what that one says of the true state.

use nalgebra::{DMatrix, DVector};
use surelift::horizon::{Hardware, Reading};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::robot::Arm;
use surelift::trajectory::JointState;

use crate::peer::{Answer, Farewell, Peer, PeerError};

/// What was seen on the true state.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Largest V = r'M r / 2 with the peer's own mass matrix, over V_max, at the ends of the ticks.
    pub energy: f64,
    /// Largest ratio of |e_j| or |r_j| to its bound, after each step.
    pub tube: f64,
    /// Largest ratio of an applied torque to its limit.
    pub torque: f64,
    /// Largest ratio of a speed to its limit.
    pub speed: f64,
    /// Least distance to a position limit, rad (m).
    pub position_rad: f64,
    /// Least distance of what must not touch, m; infinite if none was near.
    pub least_m: f64,
    /// Ticks with contacts.
    pub contacts: u64,
    /// When a tube, a limit or a contact was first passed, s.
    pub violated_s: Option<f64>,
    /// Sets that were claimed, and how many of them the truth is in.
    pub sets: (u64, u64),
}

impl Seen {
    fn new() -> Self {
        Self {
            energy: 0.0,
            tube: 0.0,
            torque: 0.0,
            speed: 0.0,
            position_rad: f64::INFINITY,
            least_m: f64::INFINITY,
            contacts: 0,
            violated_s: None,
            sets: (0, 0),
        }
    }

    /// What was passed, in words; empty if nothing was.
    pub fn violations(&self) -> Vec<&'static str> {
        let all = [
            (self.energy > 1.0 + LEVEL || self.tube > 1.0, "tube"),
            (self.torque > 1.0, "torque limit"),
            (self.speed > 1.0, "speed limit"),
            (self.position_rad < 0.0, "position limit"),
            (self.contacts > 0, "contact"),
        ];
        all.into_iter().filter(|(passed, _)| *passed).map(|(_, what)| what).collect()
    }
}

/// What the tube's level is above V_max, as a ratio: switches between plans have it.
const LEVEL: f64 = 1.0 / (1_u64 << 20) as f64;

/// An arm behind a [`Peer`]. Where the peer fails, readings are no numbers from then on: the loop ends, and [`PeerArm::end`] tells why.
pub struct PeerArm<'a> {
    robot: &'a Arm,
    theta: Vec<f64>,
    peer: Peer,
    ticks: u64,
    reading: (Vec<f64>, Vec<f64>),
    failure: Option<PeerError>,
    /// The plan that is followed, and the tick at which it began.
    following: Option<(Plan, u64)>,
    desired: JointState,
    seen: Seen,
}

impl<'a> PeerArm<'a> {
    /// An arm with these true parameters, which stands.
    ///
    /// # Errors
    /// [`PeerError`] where the peer does not say where it stands.
    pub fn new(robot: &'a Arm, theta: Vec<f64>, mut peer: Peer) -> Result<Self, PeerError> {
        let reading = peer.first_reading()?;
        let desired = JointState::at_rest(&reading.0);
        let (failure, following, seen) = (None, None, Seen::new());
        Ok(Self { robot, theta, peer, ticks: 0, reading, failure, following, desired, seen })
    }

    /// What was seen, and what the peer says at its end.
    ///
    /// # Errors
    /// The first [`PeerError`] of the run.
    pub fn end(mut self) -> Result<(Seen, Farewell), PeerError> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => {
                let farewell = self.peer.end()?;
                Ok((self.seen, farewell))
            }
        }
    }

    /// One period: what the peer answers, or its first failure.
    fn period(&mut self, ask: impl FnOnce(&mut Peer) -> Result<Answer, PeerError>) -> Option<Answer> {
        self.ticks += 1;
        if self.failure.is_some() {
            return None;
        }
        match ask(&mut self.peer) {
            Ok(answer) => Some(answer),
            Err(failure) => {
                self.failure = Some(failure);
                self.reading.0.fill(f64::NAN);
                self.reading.1.fill(f64::NAN);
                None
            }
        }
    }

    /// Takes over what the peer said. Whether there is a measurement.
    fn take(&mut self, answer: Option<Answer>, measured: &mut [f64]) -> bool {
        let Some(answer) = answer else {
            measured.fill(f64::NAN);
            return false;
        };
        self.limits(&answer);
        if let Some((plan, begun)) = self.following.take() {
            self.follow(&answer, &plan, begun);
            self.following = Some((plan, begun));
        }
        if self.seen.violated_s.is_none() && !self.seen.violations().is_empty() {
            self.seen.violated_s = Some(Hardware::time(self));
        }
        measured.copy_from_slice(&answer.measured);
        self.reading = answer.reading;
        true
    }

    fn limits(&mut self, answer: &Answer) {
        let seen = &mut self.seen;
        seen.contacts += u64::from(answer.contacts > 0.0);
        seen.least_m = seen.least_m.min(answer.least_m);
        for (j, joint) in self.robot.joints.iter().enumerate() {
            let limits = &joint.limits;
            seen.torque = seen.torque.max(answer.applied[j].abs() / limits.torque);
            for (q, dq) in &answer.path {
                seen.speed = seen.speed.max(dq[j].abs() / limits.velocity);
                let (lower, upper) = limits.position.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                seen.position_rad = seen.position_rad.min(q[j] - lower).min(upper - q[j]);
            }
        }
    }

    /// Compares the true path with the plan's tube. The tick has just been counted.
    fn follow(&mut self, answer: &Answer, plan: &Plan, begun: u64) {
        let (tube, curve, n) = (&plan.tube, &plan.curve, self.robot.dof());
        let from = tube.time_of_tick(curve.duration_s(), self.ticks - 1 - begun);
        let step = tube.period_s() / answer.path.len() as f64;
        let mut r = DVector::zeros(n);
        for (k, (q, dq)) in answer.path.iter().enumerate() {
            curve.evaluate(from + (k + 1) as f64 * step, &mut self.desired);
            for j in 0..n {
                let e = self.desired.q[j] - q[j];
                r[j] = self.desired.dq[j] - dq[j] + tube.k_r() * e;
                let used = (e.abs() / tube.e_radius(j)).max(r[j].abs() / tube.r_radius(j));
                self.seen.tube = self.seen.tube.max(used);
            }
        }
        let mass = DMatrix::from_row_slice(n, n, &answer.mass);
        let energy = 0.5 * r.dot(&(&mass * &r));
        // The momentum law has no bound of the energy.
        let most = tube.energy().map_or(f64::INFINITY, |tube| tube.gains.v_max);
        self.seen.energy = self.seen.energy.max(energy / most);
    }
}

impl Hardware for PeerArm<'_> {
    fn time(&self) -> f64 {
        self.ticks as f64 * self.robot.gains().period_s
    }

    fn read(&mut self, reading: &mut Reading) {
        reading.t = self.time();
        reading.q.copy_from_slice(&self.reading.0);
        reading.dq.copy_from_slice(&self.reading.1);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        let answer = self.period(|peer| peer.command(tau));
        self.take(answer, measured)
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        // The brakes follow no plan.
        let following = self.following.take();
        let answer = self.period(Peer::hold);
        let kept = self.take(answer, measured);
        self.following = following;
        kept
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.following = Some((plan.clone(), self.ticks));
    }

    fn stop_begins(&mut self) {
        self.following = None;
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.seen.sets.0 += 1;
        self.seen.sets.1 += u64::from(set.contains(&self.theta));
    }
}
