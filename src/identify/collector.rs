//! From ticks to windows: the half of the identifier that belongs beside the control loop.
//!
//! Taking a tick is a comparison with the tick before and a copy; what windows tell is found by linear programs, a second of work. So they are
//! two things, [`WindowCollector`] and [`Identifier`](super::Identifier), that may live in two threads: windows are plain data and move
//! from one to the other by any queue. [`Identifier::push`](super::Identifier::push) is for those who have one thread.
//!
//! # Proven
//! The set after an update depends on the windows alone and on which update they were handed to, not on when or where they were collected.

use std::sync::Arc;

use super::error::IdentifyError;
use super::identifier::{IdentifierOptions, check_settings, check_vector};
use super::plausible::{check_motion, check_step};
use super::window::{Clock, Window};
use crate::recording::Sample;
use crate::robot::Arm;

/// Consecutive ticks that an update can use.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectedWindow {
    /// Number of the first of them since the collector began.
    pub(super) first_tick: usize,
    /// What was measured.
    pub(super) window: Window,
}

impl CollectedWindow {
    /// Number of the tick that follows its last one.
    pub(super) fn end(&self) -> usize {
        self.first_tick + self.window.samples.len() - 1
    }

    /// Times of the first and the last tick, s.
    pub fn times_s(&self) -> (f64, f64) {
        let t = |sample: Option<&Sample>| sample.map_or(f64::NAN, |sample| sample.t);
        (t(self.window.samples.first()), t(self.window.samples.last()))
    }
}

/// Gathers the measurements of ticks into windows for an [`Identifier`](super::Identifier).
#[derive(Debug, Clone)]
pub struct WindowCollector {
    robot: Arc<Arm>,
    /// Panels (control periods) a window.
    panels: usize,
    acceleration_bound: Vec<f64>,
    /// The largest bound of the time that readings may still be of, and how many more ticks they may be.
    late: (Vec<f64>, usize),
    /// Samples taken so far.
    ticks: usize,
    filling: Option<Window>,
}

impl WindowCollector {
    /// A collector for an arm whose joints accelerate by at most `acceleration_bound` (rad/s^2). Of the options the window's length counts; they are those
    /// of the identifier that the windows are for.
    ///
    /// # Errors
    /// [`IdentifyError::BadValue`] names an option, sensor bound or acceleration that is no number of its kind, [`IdentifyError::WrongLength`] unless there
    /// is one acceleration a joint.
    pub fn new(
        robot: Arc<Arm>,
        acceleration_bound: Vec<f64>,
        options: &IdentifierOptions,
    ) -> Result<Self, IdentifyError> {
        check_settings(&robot, options)?;
        let panels = ((options.window_s / robot.gains().period_s).round() as usize).max(1);
        let mut collector =
            Self { robot, panels, acceleration_bound: vec![], late: (vec![], 0), ticks: 0, filling: None };
        collector.set_acceleration_bound(acceleration_bound)?;
        Ok(collector)
    }

    /// Replaces the bound on |ddq_j| (rad/s^2) for the samples from now on; call it when the plan changes. The bound before goes on for windows that begin
    /// with a reading which may be of its time.
    ///
    /// # Errors
    /// [`IdentifyError::WrongLength`] unless there is one a joint; [`IdentifyError::BadValue`] for one that is negative or not finite.
    pub fn set_acceleration_bound(&mut self, bound: Vec<f64>) -> Result<(), IdentifyError> {
        check_vector("acceleration bound", &bound, self.robot.dof())?;
        if let Some(&value) = bound.iter().find(|&&x| x < 0.0) {
            let what = "acceleration bound".to_string();
            return Err(IdentifyError::BadValue { what, value, expected: "a number >= 0" });
        }
        if let Some(window) = &mut self.filling {
            // The window in progress sees both.
            window.acceleration_bound.iter_mut().zip(&bound).for_each(|(a, b)| *a = a.max(*b));
        }
        let before = std::mem::replace(&mut self.acceleration_bound, bound);
        self.keep_late(before);
        Ok(())
    }

    /// Readings of so many ticks to come may be of the time of a bound that was: it ends when the first command since then acts.
    fn keep_late(&mut self, before: Vec<f64>) {
        let (largest, left) = &mut self.late;
        if *left == 0 || largest.is_empty() {
            *largest = before;
        } else {
            largest.iter_mut().zip(before).for_each(|(a, b)| *a = a.max(b));
        }
        let timing = self.robot.timing();
        let shortest_s = self.robot.gains().period_s - timing.jitter_max_s;
        let late_s = timing.reading_age_max_s + timing.command_delay_max_s;
        *left = (late_s / shortest_s).ceil() as usize;
    }

    /// Takes the measurements of one tick; gives the window that it completes. Ticks follow one another by the control period; after a gap call
    /// [`WindowCollector::resume`]. A sample that is refused leaves the collector as it was.
    ///
    /// # Errors
    /// [`IdentifyError::WrongLength`] and [`IdentifyError::BadValue`] name the vector, [`IdentifyError::BadTime`] the time that is not
    /// one period later, [`IdentifyError::Jump`] the joint that moved farther than the bounds allow.
    pub fn push(&mut self, sample: Sample) -> Result<Option<CollectedWindow>, IdentifyError> {
        let n = self.robot.dof();
        check_vector("sample time", &[sample.t], 1)?;
        check_vector("sample q", &sample.q, n)?;
        check_vector("sample dq", &sample.dq, n)?;
        check_vector("sample tau", &sample.tau, n)?;
        let (panels, clock) = (self.panels, Clock::of_loop(&self.robot));
        let (bound, (late, left)) = (&self.acceleration_bound, &self.late);
        let start = |sample| {
            let mut samples = Vec::with_capacity(panels + 1);
            samples.push(sample);
            let mut acceleration_bound = bound.clone();
            if *left > 0 {
                acceleration_bound.iter_mut().zip(late).for_each(|(a, b)| *a = a.max(*b));
            }
            Window { samples, acceleration_bound, clock }
        };
        let Some(window) = &mut self.filling else {
            self.filling = Some(start(sample));
            self.pass();
            return Ok(None);
        };
        if let Some(previous) = window.samples.last() {
            check_step(&self.robot, previous, &sample, &window.acceleration_bound)?;
        }
        window.samples.push(sample.clone());
        let full = (window.samples.len() > panels).then(|| std::mem::replace(window, start(sample)));
        self.pass();
        let ticks = self.ticks;
        Ok(full.map(|window| CollectedWindow { first_tick: ticks - 1 - panels, window }))
    }

    /// One more tick has been taken.
    fn pass(&mut self) {
        self.ticks += 1;
        self.late.1 = self.late.1.saturating_sub(1);
    }

    /// Takes the first measurements after a gap: the window in progress is left out and a new one begins, so that no
    /// data reach over the gap; the motion over it must still be one that the bounds allow. A sample that is refused
    /// leaves the collector as it was.
    ///
    /// # Errors
    /// As [`WindowCollector::push`], but for the time.
    pub fn resume(&mut self, sample: Sample) -> Result<Option<CollectedWindow>, IdentifyError> {
        let n = self.robot.dof();
        check_vector("sample time", &[sample.t], 1)?;
        check_vector("sample q", &sample.q, n)?;
        check_vector("sample dq", &sample.dq, n)?;
        if let Some(window) = &self.filling
            && let Some(previous) = window.samples.last()
        {
            check_motion(&self.robot, previous, &sample, &window.acceleration_bound)?;
        }
        let interrupted = self.filling.take();
        self.push(sample).inspect_err(|_| self.filling = interrupted)
    }

    /// Forgets the window in progress: the next sample may come at any time.
    pub fn interrupt(&mut self) {
        self.filling = None;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    use super::super::tests::{arm, noise, prior, recording, truth};
    use super::super::{Identifier, Update};
    use super::*;
    use crate::inertia::ParameterSet;
    use crate::robot::TimingBounds;

    const WINDOWS: usize = 4;

    fn measured() -> (Arc<Arm>, ParameterSet, Vec<Sample>, Vec<f64>) {
        let robot = Arc::new(arm());
        let set = prior(&robot);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let theta = truth(&robot, &set, &mut rng);
        let duration_s = 0.1 * WINDOWS as f64;
        let (samples, bound) = recording(&robot, &theta, duration_s, noise(1), &mut rng);
        (robot, set, samples, bound)
    }

    #[test]
    fn collected_in_another_thread_windows_tell_the_same() {
        let (robot, set, samples, bound) = measured();
        let options = IdentifierOptions::default();
        let identifier = Identifier::new(robot.clone(), &set, bound.clone(), options).unwrap();
        let mut here = identifier.clone();
        samples.iter().for_each(|sample| here.push(sample.clone()).unwrap());
        let expected = here.update().unwrap();

        let (windows, queue) = mpsc::channel();
        let control = thread::spawn(move || {
            let mut collector = WindowCollector::new(robot, bound, &options).unwrap();
            for window in samples.into_iter().filter_map(|sample| collector.push(sample).unwrap()) {
                windows.send(window).unwrap();
            }
        });
        let learning = thread::spawn(move || {
            let mut there = identifier;
            let count = queue.into_iter().map(|window| there.take(window).unwrap()).count();
            (count, there.update().unwrap(), there.proof())
        });
        control.join().unwrap();
        let (count, found, proof) = learning.join().unwrap();
        assert_eq!(count, WINDOWS);
        assert_eq!(Update { update_ms: expected.update_ms, ..found }, expected);
        assert_eq!(proof, here.proof());
        assert_ne!(
            expected.set,
            *Identifier::new(Arc::new(arm()), &set, vec![0.0; 7], options).unwrap().set()
        );
    }

    #[test]
    fn windows_out_of_order_or_of_another_arm_are_refused_by_number() {
        let (robot, set, samples, bound) = measured();
        let options = IdentifierOptions::default();
        let mut collector = WindowCollector::new(robot.clone(), bound.clone(), &options).unwrap();
        let windows: Vec<CollectedWindow> =
            samples.into_iter().filter_map(|sample| collector.push(sample).unwrap()).collect();
        assert_eq!(windows.len(), WINDOWS);
        let (from, to) = windows[1].times_s();
        assert!((from - 0.1).abs() < 1e-9 && (to - 0.2).abs() < 1e-9, "{from} {to}");
        let mut identifier = Identifier::new(robot, &set, bound, options).unwrap();
        identifier.take(windows[1].clone()).unwrap();
        for again in [&windows[0], &windows[1]] {
            let refused = identifier.take(again.clone());
            let expected = windows[1].end();
            let first = again.first_tick;
            assert_eq!(refused, Err(IdentifyError::WindowOrder { first, expected }));
        }
        // One that was lost leaves a gap, and no more than that.
        identifier.take(windows[3].clone()).unwrap();
        let mut other = windows[3].clone();
        other.first_tick += 1000;
        other.window.samples[0].q.pop();
        let refused = identifier.take(other).unwrap_err();
        assert_eq!(refused, IdentifyError::WrongLength { what: "sample q", found: 6, expected: 7 });
    }

    #[test]
    fn a_window_keeps_the_largest_bound_of_its_ticks() {
        let (robot, _, samples, bound) = measured();
        let wider: Vec<f64> = bound.iter().map(|b| 2.0 * b).collect();
        let mut collector =
            WindowCollector::new(robot, wider.clone(), &IdentifierOptions::default()).unwrap();
        let mut found = vec![];
        for (k, sample) in samples.into_iter().enumerate() {
            if k == 50 {
                collector.set_acceleration_bound(bound.clone()).unwrap();
            }
            found.extend(collector.push(sample).unwrap().map(|window| window.window.acceleration_bound));
        }
        assert_eq!(found[..2], [wider, bound]);
    }

    /// A window that begins just after a change may begin with a reading of the time before it.
    #[test]
    fn a_bound_outlasts_itself_for_as_long_as_readings_may_be_of_its_time() {
        let (robot, _, samples, bound) = measured();
        let times = |factor: f64| -> Vec<f64> { bound.iter().map(|b| factor * b).collect() };
        // Windows of one period, so that each tick tells.
        let options = IdentifierOptions { window_s: 1e-3, ..Default::default() };
        let late = |reading_age_max_s: f64, command_delay_max_s: f64, jitter_max_s: f64| {
            let timing =
                TimingBounds { reading_age_max_s, command_delay_max_s, jitter_max_s, ..TimingBounds::EXACT };
            let robot = Arc::new(robot.with_timing(timing).unwrap());
            let mut collector = WindowCollector::new(robot, times(5.0), &options).unwrap();
            let mut found = vec![];
            for (k, sample) in samples[..20].iter().enumerate() {
                // Two plans in a row: the widest of the three counts for as long as it may matter.
                if k == 5 || k == 6 {
                    collector.set_acceleration_bound(times(if k == 5 { 2.0 } else { 3.0 })).unwrap();
                }
                if let Some(CollectedWindow { window, .. }) = collector.push(sample.clone()).unwrap() {
                    found.push((window.acceleration_bound[0] / bound[0]).round());
                }
            }
            found
        };
        // Window k is of the ticks k and k + 1; that of tick 4 is in progress as the bound changes.
        let expected =
            |until: usize| -> Vec<f64> { (0..19).map(|k| if k < until { 5.0 } else { 3.0 }).collect() };
        assert_eq!(late(0.0, 0.0, 0.0), expected(5));
        // The bound that a collector is made with is one too.
        let timing = TimingBounds { reading_age_max_s: 2.4e-3, ..TimingBounds::EXACT };
        let late_robot = Arc::new(robot.with_timing(timing).unwrap());
        let mut collector = WindowCollector::new(late_robot, times(5.0), &options).unwrap();
        collector.set_acceleration_bound(times(2.0)).unwrap();
        let first = samples[..2].iter().find_map(|sample| collector.push(sample.clone()).unwrap()).unwrap();
        assert_eq!(first.window.acceleration_bound, times(5.0));
        assert_eq!(late(2.4e-3, 0.0, 0.0), expected(9));
        assert_eq!(late(2.4e-3, 0.5e-3, 0.0), expected(9));
        assert_eq!(late(2.4e-3, 0.7e-3, 0.0), expected(10));
        assert_eq!(late(0.0, 0.7e-3, 0.0), expected(6));
        assert_eq!(late(2.4e-3, 0.0, 2.5e-4), expected(10));
    }

    #[test]
    fn a_bound_that_is_none_is_refused() {
        let (robot, _, _, bound) = measured();
        let options = IdentifierOptions::default();
        for (bad, told) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-1.0, "-1")] {
            let mut wrong = bound.clone();
            wrong[3] = bad;
            let error = WindowCollector::new(robot.clone(), wrong, &options).unwrap_err().to_string();
            assert!(error.contains("acceleration bound") && error.contains(told), "{error}");
        }
        let options = IdentifierOptions { window_s: f64::NAN, ..options };
        let error = WindowCollector::new(robot, bound, &options).unwrap_err().to_string();
        assert!(error.contains("window length"), "{error}");
    }
}
