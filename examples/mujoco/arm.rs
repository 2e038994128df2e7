//! An arm that somebody else simulates, as the loop sees it, with an auditor who looks at what that one says of the true state.

use nalgebra::{DMatrix, DVector};
use surelift::control::MotorCommand;
use surelift::horizon::{Hardware, Reading};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::plan::saved::PlanStart;
use surelift::reach::TrackingTube;
use surelift::robot::Arm;
use surelift::trajectory::JointState;

use crate::momentum::MomentumErrors;
use crate::peer::{Answer, Farewell, Passed, Peer, PeerError};

/// What was seen on the true state.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Largest V = r'M r / 2 with the peer's own mass matrix, over V_max, at the ends of the ticks.
    pub energy: f64,
    /// Largest ratio of a momentum error |p_j|, or of |M_0 e|_j, to its bound, after each step; 0 under the first law.
    pub momentum: f64,
    /// Largest ratio of |e_j| or |r_j| to its bound, after each step, where the encoders are.
    pub tube: f64,
    /// Largest ratio of an acceleration to its bound, as the mean over a step.
    pub acceleration: f64,
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
            momentum: 0.0,
            tube: 0.0,
            acceleration: 0.0,
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
            (self.energy > 1.0 + LEVEL || self.momentum > 1.0 || self.tube > 1.0, "tube"),
            (self.acceleration > 1.0, "acceleration"),
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
    /// Stamp of the tick, s.
    now_s: f64,
    reading: (Vec<f64>, Vec<f64>),
    failure: Option<PeerError>,
    following: Option<Followed>,
    desired: JointState,
    errors: MomentumErrors,
    /// True speeds at the tick, rad/s; none while brakes hold the arm.
    dq: Option<Vec<f64>>,
    seen: Seen,
}

/// A plan that is followed.
struct Followed {
    plan: Plan,
    /// Centre of its set.
    center: Vec<f64>,
    /// The tick at which it began.
    begun: u64,
    /// When its own clock was zero, s: what the momentum law goes by.
    begun_s: f64,
    /// Bounds of the accelerations by the plan before, whose last command may still act.
    before: Option<Vec<f64>>,
}

impl Followed {
    /// `plan` takes over at this tick, at this time (s).
    fn new(plan: &Plan, (tick, now_s): (u64, f64), before: Option<&Self>) -> Self {
        let begun_s = match (plan.start, before) {
            (PlanStart::AfterTicks(ticks), Some(before)) => {
                before.begun_s + ticks as f64 * plan.tube.period_s()
            }
            _ => now_s,
        };
        let before = before.map(|before| before.plan.tube.acceleration_bound().to_vec());
        Self { center: plan.set.center(), plan: plan.clone(), begun: tick, begun_s, before }
    }

    /// Time on the curve at this tick, at this time, s.
    fn time_at(&self, tick: u64, now_s: f64) -> f64 {
        match &self.plan.tube {
            TrackingTube::Energy(tube) => tube.time_of_tick(self.plan.curve.duration_s(), tick - self.begun),
            TrackingTube::Momentum(_) => now_s - self.begun_s,
        }
    }

    /// Bound of |ddq_j| (rad/s^2) at this time on its curve, s.
    fn acceleration(&self, j: usize, t: f64) -> f64 {
        let own = self.plan.tube.acceleration_bound()[j];
        let acts_s = self.plan.tube.momentum().map_or(0.0, |tube| tube.tube.timing.window_s());
        self.before.as_ref().filter(|_| t <= acts_s).map_or(own, |before| own.max(before[j]))
    }
}

impl<'a> PeerArm<'a> {
    /// An arm with these true parameters, which stands.
    ///
    /// # Errors
    /// [`PeerError`] where the peer does not say where it stands.
    pub fn new(robot: &'a Arm, theta: Vec<f64>, mut peer: Peer) -> Result<Self, PeerError> {
        let reading = peer.first_reading()?;
        let desired = JointState::at_rest(&reading.0);
        let (failure, following, dq, seen) = (None, None, None, Seen::new());
        let errors = MomentumErrors::new(robot);
        let (ticks, now_s) = (0, 0.0);
        Ok(Self { robot, theta, peer, ticks, now_s, reading, failure, following, desired, errors, dq, seen })
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
        let now_s = self.now_s;
        let later = |answer: Answer| {
            let reason = || format!("the next tick at {} s, expected later than {now_s} s", answer.t);
            let backwards = answer.t <= now_s;
            if backwards {
                Err(PeerError::Answer { request: "a period", reason: reason() })
            } else {
                Ok(answer)
            }
        };
        match ask(&mut self.peer).and_then(later) {
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
        if let Some(followed) = self.following.take() {
            self.follow(&answer, &followed);
            self.following = Some(followed);
        }
        self.now_s = answer.t;
        self.dq = answer.path.last().map(|last| last.dq.clone());
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
            for (q, dq) in answer.path.iter().map(Passed::links) {
                seen.speed = seen.speed.max(dq[j].abs() / limits.velocity);
                let (lower, upper) = limits.position.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                seen.position_rad = seen.position_rad.min(q[j] - lower).min(upper - q[j]);
            }
        }
    }

    /// Compares the true path, where the encoders are, with what is proven of the plan. The tick has just been counted.
    fn follow(&mut self, answer: &Answer, followed: &Followed) {
        let (tube, curve, n) = (&followed.plan.tube, &followed.plan.curve, self.robot.dof());
        let from = followed.time_at(self.ticks - 1, self.now_s);
        let mut r = DVector::zeros(n);
        for Passed { since_s, q, dq, .. } in &answer.path {
            let t = from + since_s;
            curve.evaluate(t, &mut self.desired);
            for j in 0..n {
                let e = self.desired.q[j] - q[j];
                r[j] = self.desired.dq[j] - dq[j] + tube.k_r() * e;
                self.seen.tube = larger(self.seen.tube, e.abs() / tube.e_radius(j));
                self.seen.tube = larger(self.seen.tube, r[j].abs() / tube.r_radius(j));
            }
            if let Some(bounded) = tube.momentum() {
                let proven = (bounded, followed.center.as_slice(), t);
                let share = self.errors.share(self.robot, proven, (q, dq), &self.desired);
                self.seen.momentum = self.seen.momentum.max(share);
            }
        }
        self.accelerate(answer, followed, from);
        let Some(tube) = tube.energy() else { return };
        let mass = DMatrix::from_row_slice(n, n, &answer.mass);
        let energy = 0.5 * r.dot(&(&mass * &r));
        self.seen.energy = self.seen.energy.max(energy / tube.gains.v_max);
    }

    /// Compares what speeds gain in each step with the bounds of the accelerations. The tick began at `from` seconds of the plan.
    fn accelerate(&mut self, answer: &Answer, followed: &Followed, from: f64) {
        let still = vec![0.0; self.robot.dof()];
        let (mut before, mut since) = (self.dq.as_ref().unwrap_or(&still), 0.0);
        for Passed { since_s, dq, .. } in &answer.path {
            for j in 0..dq.len() {
                let gained = (dq[j] - before[j]).abs() / (since_s - since);
                let used = gained / followed.acceleration(j, from + since);
                self.seen.acceleration = larger(self.seen.acceleration, used);
            }
            (before, since) = (dq, *since_s);
        }
    }
}

/// The larger share of a bound. What is no number is within none.
pub fn larger(most: f64, share: f64) -> f64 {
    if share.is_nan() { f64::INFINITY } else { most.max(share) }
}

impl Hardware for PeerArm<'_> {
    fn time(&self) -> f64 {
        self.now_s
    }

    fn read(&mut self, reading: &mut Reading) {
        reading.t = self.now_s;
        reading.q.copy_from_slice(&self.reading.0);
        reading.dq.copy_from_slice(&self.reading.1);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        let answer = self.period(|peer| peer.command(tau));
        self.take(answer, measured)
    }

    fn has_motor_loops(&self) -> bool {
        self.robot.timing().has_motor_loops()
    }

    fn command_loops(&mut self, tau: &[f64], loops: &MotorCommand<'_>, measured: &mut [f64]) -> bool {
        let answer = self.period(|peer| peer.command_loops(tau, loops));
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
        self.following = Some(Followed::new(plan, (self.ticks, self.now_s), self.following.as_ref()));
    }

    fn stop_begins(&mut self) {
        self.following = None;
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.seen.sets.0 += 1;
        self.seen.sets.1 += u64::from(set.contains(&self.theta));
    }
}
