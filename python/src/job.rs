//! A job with an arm that Python drives, or with one that the library simulates.

use std::cell::RefCell;
use std::rc::Rc;

use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use surelift::horizon::{Hardware, Reading};
use surelift::job::{self, GraspPrior, JobError, JobOptions, Until};

use crate::arm::Arm;
use crate::arrays::{Given, array, triple};
use crate::errors;
use crate::scene::Scene;
use crate::simulated::SimulatedArm;

/// The first exception of a driver's method.
type Raised = Rc<RefCell<Option<PyErr>>>;

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
        let answered = self.raised.borrow().is_none()
            && Python::attach(|py| match self.call(py, method, tau, out) {
                Ok(()) => true,
                Err(error) => {
                    *self.raised.borrow_mut() = Some(error);
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
            if found.shape() != [out.len()] {
                return Err(errors::input(format!(
                    "{method}: array of shape {:?}, expected ({},)",
                    found.shape(),
                    out.len()
                )));
            }
            out.copy_from_slice(&crate::arrays::numbers(&found));
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
        if self.raised.borrow().is_some() {
            return;
        }
        let told = Python::attach(|py| self.object.call_method1(py, "gripper", (closes,)).map(|_| ()));
        *self.raised.borrow_mut() = told.err();
    }
}

/// An arm and what is done with it, one call after the other.
#[pyclass(unsendable, module = "surelift")]
pub struct Job {
    inner: job::Job<'static>,
    raised: Raised,
}

impl Job {
    /// What came of a call: an exception of the driver comes before what the loop made of it.
    fn done<T>(&self, result: Result<T, JobError>) -> PyResult<T> {
        if let Some(raised) = self.raised.borrow_mut().take() {
            return Err(raised);
        }
        result.map_err(|error| errors::of_job(&error))
    }

    /// Something with what is held.
    fn with_held<T>(
        &mut self,
        act: impl FnOnce(&mut job::Held<'_, 'static>) -> Result<T, JobError>,
    ) -> PyResult<T> {
        let result = match self.inner.held() {
            Some(mut held) => act(&mut held),
            None => return Err(errors::input("nothing is held: call `grasp` first")),
        };
        self.done(result)
    }
}

/// Proven bounds of what is held.
fn bounds(py: Python<'_>, found: &job::PayloadBounds) -> PyResult<Py<PyAny>> {
    let told = pyo3::types::PyDict::new(py);
    told.set_item("name", &found.name)?;
    told.set_item("frame", &found.frame)?;
    told.set_item("mass_kg", found.mass_kg.to_vec())?;
    told.set_item("center_m", found.center_m.map(|center| center.map(|x| x.to_vec()).to_vec()))?;
    told.set_item("inertia_kg_m2", found.inertia_kg_m2.map(|x| x.to_vec()).to_vec())?;
    Ok(told.into_any().unbind())
}

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (arm, driver, scene=None, seed=0))]
    fn new(arm: &Arm, driver: &Bound<'_, PyAny>, scene: Option<&Scene>, seed: u64) -> PyResult<Self> {
        let raised = Raised::default();
        let period_s = arm.inner.gains().period_s;
        let options = JobOptions { seed, ..JobOptions::of(&arm.inner) };
        let scene = scene.map(|scene| scene.inner.clone()).unwrap_or_default();
        let about = ((*arm.inner).clone(), scene);
        let begun = match driver.extract::<PyRef<'_, SimulatedArm>>() {
            Ok(simulated) => job::Job::begin(about, simulated.hardware(arm)?, options, ()),
            Err(_) => {
                let object = driver.clone().unbind();
                let driver = Driver { object, period_s, ticks: 0, raised: raised.clone() };
                job::Job::begin(about, driver, options, ())
            }
        };
        if let Some(error) = raised.borrow_mut().take() {
            return Err(error);
        }
        Ok(Self { inner: begun.map_err(|error| errors::of_job(&error))?, raised })
    }

    /// Goes to a configuration with an empty hand, and rests there.
    fn move_to(&mut self, goal: Given<'_>) -> PyResult<()> {
        let goal = numbers_of(&goal);
        let result = self.inner.move_to(&goal);
        self.done(result)
    }

    /// Takes anything of at most `mass_kg` that lies in a box in the tool frame, or in that of `frame`.
    #[pyo3(signature = (mass_kg, center_m, size_m, least_kg=0.0, frame=None, name="thing"))]
    fn grasp(
        &mut self,
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
        let result = self.inner.grasp(&prior).map(|_| ());
        self.done(result)
    }

    /// Weighs what is held while the arm stands.
    #[pyo3(signature = (seconds=1.0))]
    fn weigh(&mut self, py: Python<'_>, seconds: f64) -> PyResult<Py<PyAny>> {
        let found = self.with_held(|held| held.weigh(seconds))?;
        bounds(py, &found)
    }

    /// Moves so as to learn what is held: so many motions, or until the mass is known to within so many kg.
    #[pyo3(signature = (motions=None, mass_within_kg=None))]
    fn learn(
        &mut self,
        py: Python<'_>,
        motions: Option<usize>,
        mass_within_kg: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let until = match (motions, mass_within_kg) {
            (Some(motions), None) => Until::Motions(motions),
            (None, Some(kg)) => Until::MassWithinKg(kg),
            _ => return Err(errors::input("learn: expected either `motions` or `mass_within_kg`")),
        };
        let found = self.with_held(|held| held.learn(until))?;
        bounds(py, &found)
    }

    /// What is proven of it by now.
    fn payload(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let found = self.with_held(|held| Ok(held.payload()))?;
        bounds(py, &found)
    }

    /// Carries it to a configuration, and rests there.
    fn carry_to(&mut self, goal: Given<'_>) -> PyResult<()> {
        let goal = numbers_of(&goal);
        self.with_held(|held| held.carry_to(&goal))
    }

    /// Lets go of it.
    fn release(&mut self) -> PyResult<()> {
        let result = match self.inner.held() {
            Some(held) => held.release(),
            None => return Err(errors::input("nothing is held: call `grasp` first")),
        };
        self.done(result)
    }

    /// What was done so far, in words.
    fn report(&self) -> String {
        self.inner.report().to_string()
    }
}

/// All numbers; how many there must be is for the job to say.
fn numbers_of(given: &Given<'_>) -> Vec<f64> {
    crate::arrays::numbers(given).into_owned()
}
