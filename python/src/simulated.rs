//! An arm that the library simulates, for jobs that no driver in Python slows down.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use surelift::horizon::{Hardware, Reading, Sighting};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::robot;
use surelift::simulate::{SimulatedObject, World};

use crate::arm::Arm;
use crate::arrays::{Given, Whole, vector};
use crate::errors::{self, border};
use crate::progress::Raised;
use crate::scene::Scene;

/// Control periods after which Ctrl-C is listened for: a few milliseconds of work.
const LISTENS: u64 = 256;

/// An arm that the library simulates, for `Job`: no call of Python slows its control cycle down, and other threads of Python go on.
///
/// It stands at `start`, (n,), rad (m). `objects`: what the hand takes, one after the other, each as its mass (kg), its centre (3,) and its full side lengths (3,), m, in the tool frame
/// once it is held. Its true parameters and the noise of its sensors are drawn by `seed` from everything that the arm's files leave open.
#[pyclass(frozen, module = "surelift")]
pub struct SimulatedArm {
    world: Arc<Mutex<World>>,
    arm: Arc<robot::Arm>,
}

impl SimulatedArm {
    /// The arm as a job's hardware, which keeps Ctrl-C in `asked`.
    pub fn hardware(&self, arm: &Arm, asked: Raised) -> PyResult<Shared> {
        if !Arc::ptr_eq(&self.arm, &arm.inner) {
            let (own, of_job) = (&self.arm.name, &arm.inner.name);
            return Err(errors::input(format!(
                "driver: simulates '{own}', expected the job's own arm, '{of_job}'"
            )));
        }
        Ok(Shared { world: self.world.clone(), asked, ticks: 0 })
    }
}

/// A thing for the hand.
fn object(k: usize, given: &(f64, Given<'_>, Given<'_>)) -> PyResult<SimulatedObject> {
    let (mass, center, size) = given;
    let triple = |what: &str, given| crate::arrays::triple(&format!("objects[{k}]: {what}"), given);
    let object = SimulatedObject::cuboid(*mass, triple("centre", center)?, triple("sides", size)?);
    object.map_err(|reason| errors::input(format!("objects[{k}]: {reason}")))
}

#[pymethods]
impl SimulatedArm {
    #[new]
    #[pyo3(signature = (arm, start, objects=vec![], scene=None, seed=Whole::ZERO),
        text_signature = "(arm, start, objects=(), scene=None, seed=0)")]
    fn new(
        arm: &Arm,
        start: Given<'_>,
        objects: Vec<(f64, Given<'_>, Given<'_>)>,
        scene: Option<&Scene>,
        seed: Whole,
    ) -> PyResult<Self> {
        let (start, seed) = (vector("start", &start, arm.inner.dof())?, seed.get("seed")?);
        let objects =
            objects.iter().enumerate().map(|(k, given)| object(k, given)).collect::<PyResult<_>>()?;
        let scene = scene.map(|scene| scene.inner.clone()).unwrap_or_default();
        let world = border(|| Ok(World::with_objects(arm.inner.clone(), scene, &start, objects, seed)))?;
        Ok(Self { world: Arc::new(Mutex::new(world)), arm: arm.inner.clone() })
    }

    /// Simulated time since it was made, s.
    #[getter]
    fn time_s(&self) -> f64 {
        self.world.lock().unwrap_or_else(PoisonError::into_inner).time()
    }
}

/// A world that a job moves while Python still holds it.
pub struct Shared {
    world: Arc<Mutex<World>>,
    asked: Raised,
    ticks: u64,
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more control period.
    fn pass(&mut self) {
        self.ticks += 1;
        if self.ticks.is_multiple_of(LISTENS) {
            self.asked.hear_signals();
        }
    }
}

impl Hardware for Shared {
    fn time(&self) -> f64 {
        self.world().time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.world().read(reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.pass();
        self.world().command(tau, measured)
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.pass();
        self.world().hold(measured)
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        self.world().observe(obstacle, seen)
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.world().plan_starts(plan);
    }

    fn stop_begins(&mut self) {
        self.world().stop_begins();
    }

    fn gripper(&mut self, closes: bool) {
        self.world().gripper(closes);
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.world().set_claimed(set);
    }
}
