//! While something is held.

use super::payload::PayloadBounds;
use super::{Job, JobError, check};
use crate::horizon::Task;
use crate::inertia::ParameterSet;

/// How long to learn what is held. Learning ends after [`super::JobOptions::most_motions`] in any case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// After so many motions, whatever they tell.
    Motions(usize),
    /// When the mass is proven to within so many kg either way.
    MassWithinKg(f64),
}

/// Something is in the hand. The job is borrowed until it is let go of.
#[must_use = "what is held stays in the hand until it is released"]
pub struct Held<'j, 'a> {
    job: &'j mut Job<'a>,
}

impl<'j, 'a> Held<'j, 'a> {
    pub(super) fn new(job: &'j mut Job<'a>) -> Self {
        Self { job }
    }

    /// Weighs it: the arm stands for so long, s, held by its own drives, and what their torques say is learnt. The next motion starts from rest.
    ///
    /// # Errors
    /// [`JobError::Input`] for a time that is none or shorter than a window of data; [`JobError::Broken`], [`JobError::Stopped`].
    pub fn weigh(&mut self, seconds: f64) -> Result<PayloadBounds, JobError> {
        check::seconds("seconds", seconds)?;
        let window = self.job.options.window_s;
        if seconds < window {
            return Err(JobError::input(
                "seconds",
                format!("{seconds} s, expected at least window_s = {window} s"),
            ));
        }
        self.job.step("weigh", |session| session.weigh(seconds).map_err(JobError::from))?;
        Ok(self.payload())
    }

    /// Moves so as to learn what it is; every motion is proven for all that it may be.
    ///
    /// # Errors
    /// [`JobError::NotProven`] where no motion to learn by could be proven, or all of them leave more open than asked for; the arm rests, and what was learnt counts.
    /// [`JobError::Input`] for an end that makes no sense; [`JobError::Broken`], [`JobError::Stopped`].
    pub fn learn(&mut self, until: Until) -> Result<PayloadBounds, JobError> {
        let most = self.job.options.most_motions;
        let hand = self.job.robot.end_effector();
        match until {
            Until::Motions(0) => return Err(JobError::input("until", "0 motions, expected at least 1")),
            Until::Motions(motions) => {
                self.job.step("learn", |session| {
                    session.learn(motions.min(most), &|_| false).map_err(JobError::from)
                })?;
            }
            Until::MassWithinKg(kg) => {
                check::positive("until", kg)?;
                let half = |set: &ParameterSet| set.body(hand).mass().half_width();
                self.job.step("learn", |session| match session.learn(most, &|set| half(set) <= kg)? {
                    true => Ok(()),
                    false => {
                        let left = half(session.set());
                        Err(JobError::NotProven(format!(
                            "after {most} motions the mass is known to within {left:.4} kg, asked for were {kg} kg"
                        )))
                    }
                })?;
            }
        }
        Ok(self.payload())
    }

    /// What is proven of it by now.
    pub fn payload(&self) -> PayloadBounds {
        PayloadBounds::of(&self.job.robot, self.job.session.set(), self.job.grasped.as_ref())
    }

    /// Carries it to a configuration (rad, m; one number a joint), and rests there.
    ///
    /// # Errors
    /// As [`Job::move_to`].
    pub fn carry_to(&mut self, goal: &[f64]) -> Result<(), JobError> {
        self.job.go("carry_to", goal)
    }

    /// Lets go: the hand opens ([`crate::horizon::Hardware::gripper`]) while the arm's own drives hold it. What was learnt stays in the report.
    ///
    /// # Errors
    /// [`JobError::Broken`], [`JobError::Stopped`]: the hand is taken to be full still.
    pub fn release(self) -> Result<(), JobError> {
        let learnt = self.payload();
        let robot = self.job.robot.clone();
        let task = Task { robot, held: None, ..self.job.session.task().clone() };
        self.job.hand("release", false, task)?;
        self.job.steps.learnt(learnt);
        self.job.grasped = None;
        Ok(())
    }
}
