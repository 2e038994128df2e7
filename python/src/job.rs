//! A job with an arm that Python drives, or with one that the library simulates.

use pyo3::prelude::*;
use surelift::horizon::{Hardware, Reading};
use surelift::job::{self, GraspPrior, JobError, JobOptions, Until};

use crate::arm::Arm;
use crate::arrays::{Given, Whole, array, triple};
use crate::errors::{self, border};
use crate::owned::{Owned, detached};
use crate::payload;
use crate::progress::{Progress, Raised};
use crate::scene::Scene;
use crate::simulated::SimulatedArm;

/// A driver written in Python.
struct Driver {
    object: Py<PyAny>,
    period_s: f64,
    ticks: u64,
    raised: Raised,
}

impl Driver {
    /// Calls a method that gives `out.len()` arrays of its sizes. After an exception everything is NaN: the loop takes the arm for lost.
    fn ask(&mut self, method: &str, tau: Option<&[f64]>, out: &mut [&mut [f64]]) -> bool {
        let answered = !self.raised.is_some()
            && Python::attach(|py| match self.call(py, method, tau, out) {
                Ok(()) => true,
                Err(error) => {
                    self.raised.keep(error);
                    false
                }
            });
        if !answered {
            out.iter_mut().for_each(|out| out.fill(f64::NAN));
        }
        answered
    }

    fn call(
        &self,
        py: Python<'_>,
        method: &str,
        tau: Option<&[f64]>,
        out: &mut [&mut [f64]],
    ) -> PyResult<()> {
        py.check_signals()?;
        let object = self.object.bind(py);
        let answer = match tau {
            Some(tau) => object.call_method1(method, (array(py, tau.to_vec(), &[tau.len()])?,))?,
            None => object.call_method0(method)?,
        };
        let parts: Vec<Bound<'_, PyAny>> = if out.len() == 1 { vec![answer] } else { answer.extract()? };
        if parts.len() != out.len() {
            return Err(errors::input(format!("{method}: {} arrays, expected {}", parts.len(), out.len())));
        }
        for (part, out) in parts.iter().zip(out) {
            let found: Given<'_> = part.extract()?;
            out.copy_from_slice(found.any(method, out.len())?);
        }
        Ok(())
    }
}

impl Hardware for Driver {
    fn time(&self) -> f64 {
        self.ticks as f64 * self.period_s
    }

    fn read(&mut self, reading: &mut Reading) {
        reading.t = self.time();
        self.ask("read", None, &mut [&mut reading.q, &mut reading.dq]);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.ticks += 1;
        self.ask("command", Some(tau), &mut [measured])
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.ticks += 1;
        self.ask("hold", None, &mut [measured])
    }

    fn gripper(&mut self, closes: bool) {
        if self.raised.is_some() {
            return;
        }
        if let Err(error) = Python::attach(|py| self.object.call_method1(py, "gripper", (closes,))) {
            self.raised.keep(error);
        }
    }
}

/// An arm and what is done with it, one call after the other. Every motion is proven before it begins.
///
/// `driver` is a `SimulatedArm` of the same `arm`, or any object with the methods of `Driver` in the stubs: `read`, `command`, `hold` and `gripper`. `seed` draws the planner's random numbers.
/// `progress`, if given, is told what happens, in words. Other threads of Python go on during a call; a job belongs to the thread that made it, to which its calls are left.
///
/// If `progress` raises, or Ctrl-C is heard with a `SimulatedArm`, the arm follows its plan to the end, where it rests, and the call raises; the job goes on.
/// An exception of the driver, and Ctrl-C while Python drives, end the call at once and are raised by it. The loop takes the arm for lost then: its own drives have to hold it.
/// Configurations are (n,), rad (m).
#[pyclass(frozen, module = "surelift")]
pub struct Job {
    inner: Owned<job::Job<'static>>,
    /// Exceptions of the driver.
    lost: Raised,
    /// Exceptions of the callback, and Ctrl-C.
    asked: Raised,
}

impl Job {
    /// What comes of a call: an exception of Python comes before what the loop made of it.
    fn call<T>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut job::Job<'static>) -> Result<T, JobError>,
    ) -> PyResult<T> {
        let result = self.inner.with(py, act)?;
        raised(&self.lost, &self.asked)?;
        result.map_err(|error| errors::of_job(&error))
    }

    /// Something with what is held.
    fn with_held<T>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(job::Held<'_, 'static>) -> Result<T, JobError>,
    ) -> PyResult<T> {
        let done = self.call(py, |job| job.held().map(act).transpose())?;
        done.ok_or_else(|| errors::input("nothing is held: call `grasp` first"))
    }
}

/// What Python has raised meanwhile.
fn raised(lost: &Raised, asked: &Raised) -> PyResult<()> {
    // A driver's exception says more; the other one is of the past, too.
    let asked = asked.take();
    lost.take().or(asked).map_or(Ok(()), Err)
}

/// Proven bounds of what is held.
fn bounds(py: Python<'_>, found: &job::PayloadBounds) -> PyResult<Py<PyAny>> {
    let told = payload::bounds(py, &found.frame, found.mass_kg, (found.center_m, found.inertia_kg_m2))?;
    told.set_item("name", &found.name)?;
    Ok(told.into_any().unbind())
}

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (arm, driver, scene=None, seed=Whole::ZERO, progress=None),
        text_signature = "(arm, driver, scene=None, seed=0, progress=None)")]
    fn new(
        py: Python<'_>,
        arm: &Arm,
        driver: &Bound<'_, PyAny>,
        scene: Option<&Scene>,
        seed: Whole,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (lost, asked) = (Raised::default(), Raised::default());
        let watch = Progress::new(progress, asked.clone());
        let period_s = arm.inner.gains().period_s;
        let options = JobOptions { seed: seed.get("seed")?, ..JobOptions::of(&arm.inner) };
        let scene = scene.map(|scene| scene.inner.clone()).unwrap_or_default();
        let about = ((*arm.inner).clone(), scene);
        let begun = match driver.extract::<PyRef<'_, SimulatedArm>>() {
            Ok(simulated) => {
                let simulated = simulated.hardware(arm, asked.clone())?;
                border(|| Ok(detached(py, || job::Job::begin(about, simulated, options, watch))))
            }
            Err(_) => {
                let (object, raised) = (driver.clone().unbind(), lost.clone());
                let driver = Driver { object, period_s, ticks: 0, raised };
                border(|| Ok(detached(py, || job::Job::begin(about, driver, options, watch))))
            }
        };
        let begun = begun?;
        raised(&lost, &asked)?;
        let inner = Owned::new("job", begun.map_err(|error| errors::of_job(&error))?);
        Ok(Self { inner, lost, asked })
    }

    /// Goes to a configuration `goal`, (n,), rad (m), with an empty hand, and rests there.
    ///
    /// `NotProvenError` where no way there could be proven: the arm then rests where it got to, and the job goes on.
    fn move_to(&self, py: Python<'_>, goal: Given<'_>) -> PyResult<()> {
        let goal = goal.numbers("goal")?;
        self.call(py, |job| job.move_to(goal))
    }

    /// Takes anything of `least_kg` to `mass_kg`, kg, that lies in a box: its centre `center_m` (3,) and full side lengths `size_m` (3,), m, in the tool frame, or in that of the link `frame`.
    ///
    /// The hand closes while the arm's own drives hold it. From then on everything is proven for whatever may be held.
    #[pyo3(signature = (mass_kg, center_m, size_m, least_kg=0.0, frame=None, name="thing"))]
    fn grasp(
        &self,
        py: Python<'_>,
        mass_kg: f64,
        center_m: Given<'_>,
        size_m: Given<'_>,
        least_kg: f64,
        frame: Option<String>,
        name: &str,
    ) -> PyResult<()> {
        let (center, size) = (triple("center_m", &center_m)?, triple("size_m", &size_m)?);
        let prior = GraspPrior::within(mass_kg, center, size).at_least(least_kg).named(name);
        let prior = match frame {
            Some(frame) => prior.in_frame(frame),
            None => prior,
        };
        self.call(py, |job| job.grasp(&prior).map(|_| ()))
    }

    /// Weighs what is held while the arm stands for `seconds`, s; gives proven bounds, as `payload` does. Ctrl-C with a `SimulatedArm` is heard when it ends.
    #[pyo3(signature = (seconds=1.0))]
    fn weigh(&self, py: Python<'_>, seconds: f64) -> PyResult<Py<PyAny>> {
        let found = self.with_held(py, |mut held| held.weigh(seconds))?;
        bounds(py, &found)
    }

    /// Moves so as to learn what is held: so many `motions`, or until the mass is known to within `mass_within_kg`, kg, either way. Gives proven bounds, as `payload` does.
    #[pyo3(signature = (motions=None, mass_within_kg=None))]
    fn learn(
        &self,
        py: Python<'_>,
        motions: Option<Whole>,
        mass_within_kg: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let until = match (motions, mass_within_kg) {
            (Some(motions), None) => Until::Motions(motions.count("motions")?),
            (None, Some(kg)) => Until::MassWithinKg(kg),
            _ => return Err(errors::input("learn: expected either `motions` or `mass_within_kg`")),
        };
        let found = self.with_held(py, |mut held| held.learn(until))?;
        bounds(py, &found)
    }

    /// What is proven by now of what is held: `name`; `mass_kg`, kg; `center_m`, three intervals, m (None where nothing bounds it); `inertia_kg_m2`, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz
    /// about the centre, kg m^2. Each is an interval [lower, upper], in the frame of the link `frame`.
    fn payload(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let found = self.with_held(py, |held| Ok(held.payload()))?;
        bounds(py, &found)
    }

    /// Carries it to a configuration `goal`, (n,), rad (m), and rests there. `NotProvenError` as of `move_to`.
    fn carry_to(&self, py: Python<'_>, goal: Given<'_>) -> PyResult<()> {
        let goal = goal.numbers("goal")?;
        self.with_held(py, |mut held| held.carry_to(goal))
    }

    /// Lets go of it: the hand opens while the arm's own drives hold it. What was learnt stays in the report.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.with_held(py, |held| held.release())
    }

    /// What was done so far, in words, with times in s and masses in kg.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        self.inner.with(py, |job| job.report().to_string())
    }
}
