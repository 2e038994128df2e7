//! What passes in a tick: one command all through it, or more where commands act late.

use super::super::plant::{ActingTorques, Moment, SUBSTEPS};
use super::{DriveLag, Lateness, MotorCommand, Motors, Supposed, World, place};

/// How far a tick has come, and how near anything was in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// When the tick began, s.
    pub begun: f64,
    /// Time on the curve that is followed, s.
    pub t: f64,
    /// Time since the tick, s.
    pub since: f64,
    /// Smallest clearance, m, and the smallest to what may move.
    pub closest: f64,
    pub approach: f64,
}

impl Passed {
    pub fn new(begun: f64, reference: Option<&Supposed<'_>>) -> Self {
        let t = reference.map_or(0.0, |supposed| supposed.reference.t);
        Self { begun, t, since: 0.0, closest: f64::INFINITY, approach: f64::INFINITY }
    }
}

impl World {
    /// For so long (s) of this tick the drives are asked for `command`.
    pub(super) fn pass(
        &mut self,
        command: &[f64],
        length_s: f64,
        reference: Option<&Supposed<'_>>,
        passed: &mut Passed,
    ) {
        let (mut applied, mut acting) = (std::mem::take(&mut self.applied), std::mem::take(&mut self.acting));
        let mut fading = std::mem::take(&mut self.fading);
        fading.clear();
        let mut largest = Vec::new();
        for (j, &command) in command.iter().enumerate() {
            let delivered = self.delivered(j, command, passed.begun);
            let Some(lag) = &mut self.lag else {
                applied[j] = self.drives.applied(j, self.plant.q[j], delivered);
                acting[j] = applied[j] + self.drives.unmodelled(j, self.plant.q[j]);
                continue;
            };
            let followed = lag.follow(j, delivered, length_s);
            // In proportion to the least torque: within the bound all the time.
            let least = followed.least();
            let error = self.drives.applied(j, self.plant.q[j], least) - least;
            applied[j] = followed.mean + error;
            acting[j] = delivered + error + self.drives.unmodelled(j, self.plant.q[j]);
            fading.push((followed.behind, followed.rate_1_s));
            largest.push(followed.most() + error.abs());
        }
        self.note_torques(if largest.is_empty() { &applied } else { &largest });
        let step = length_s / SUBSTEPS as f64;
        let now = passed.begun;
        let (robot, audit, desired) = (&self.robot, &mut self.audit, &mut self.desired);
        let errors = &mut self.errors;
        let at_rest = reference.is_some_and(Supposed::rests);
        let (scene, at_first, contacts) = (&mut self.scene, &self.at_first, &mut self.contacts);
        let (paths, fault) = (&self.paths, self.faults.fast_obstacle.as_ref());
        let torques = ActingTorques { constant: &acting, fading: &fading };
        self.plant.advance(torques, length_s, |Moment { q, dq, followed }| {
            passed.t += step;
            passed.since += step;
            let since = passed.since;
            place(scene, at_first, paths, (now + since, fault));
            let (near, coming) = audit.look(robot, (contacts, &*scene), (now + since, q, dq), at_rest);
            (passed.closest, passed.approach) = (passed.closest.min(near), passed.approach.min(coming));
            if let Some(supposed) = reference {
                supposed.reference.curve.evaluate(passed.t, desired);
                let (q, dq) = followed;
                let share = errors.share(robot, supposed, (passed.t, q, dq), desired);
                audit.follow(q, dq, desired, &supposed.reference, share);
            }
            audit.stop.iter_mut().for_each(|stop| stop.look(dq));
        });
        (self.applied, self.acting, self.fading) = (applied, acting, fading);
    }

    /// The tick passes in pieces: each ends where another command comes into effect. Until the first one does, the arm is held where it stands. What the
    /// drives apply is then known by its mean over the tick, as the torque sensors see it.
    pub(super) fn pass_late(
        &mut self,
        late: &mut Lateness,
        tau: &[f64],
        reference: Option<&Supposed<'_>>,
        passed: &mut Passed,
    ) {
        let (begun, period) = (passed.begun, self.robot.gains().period_s);
        late.command(begun, tau);
        let length = late.next_length(period);
        let end = begun + length;
        let (mut now, mut impulse) = (begun, vec![0.0; tau.len()]);
        loop {
            late.arrive(now);
            self.lag.iter_mut().for_each(DriveLag::redraw);
            let until = late.until(end);
            match late.acting() {
                Some(command) => self.pass(command, until - now, reference, passed),
                None => self.held(until - now, reference, passed),
            }
            impulse.iter_mut().zip(&self.applied).for_each(|(sum, x)| *sum += (until - now) * x);
            now = until;
            late.remember(now, self.plant.at_encoders());
            if now >= end {
                break;
            }
        }
        self.applied.iter_mut().zip(&impulse).for_each(|(mean, sum)| *mean = sum / length);
    }

    /// The tick passes from reading to reading of the loops in the motors; their torques come on top of `tau` (N m). What the drives apply is then known by its mean over the tick.
    pub(super) fn pass_in_motors(
        &mut self,
        motors: &mut Motors,
        (tau, loops): (&[f64], &MotorCommand<'_>),
        reference: Option<&Supposed<'_>>,
        passed: &mut Passed,
    ) {
        let (begun, period) = (passed.begun, self.robot.gains().period_s);
        let end = begun + period;
        let (mut now, mut impulse, mut total) = (begun, vec![0.0; tau.len()], vec![0.0; tau.len()]);
        while now < end {
            let until = motors.read(now, self.plant.at_encoders()).min(end);
            motors.add(loops, tau, &mut total);
            self.pass(&total, until - now, reference, passed);
            impulse.iter_mut().zip(&self.applied).for_each(|(sum, x)| *sum += (until - now) * x);
            now = until;
        }
        self.applied.iter_mut().zip(&impulse).for_each(|(mean, sum)| *mean = sum / period);
    }

    /// For so long (s) the arm's own drives hold it.
    fn held(&mut self, length_s: f64, reference: Option<&Supposed<'_>>, passed: &mut Passed) {
        let mut tau = std::mem::take(&mut self.applied);
        self.hold_still(&mut tau);
        self.lag.iter_mut().for_each(|lag| lag.hold(&tau));
        self.applied = tau;
        passed.since += length_s;
        passed.t += length_s;
        if let Some(supposed) = reference {
            supposed.reference.curve.evaluate(passed.t, &mut self.desired);
            let (q, dq) = self.plant.followed();
            let share = self.errors.share(&self.robot, supposed, (passed.t, q, dq), &self.desired);
            self.audit.follow(q, dq, &self.desired, &supposed.reference, share);
        }
    }
}
