//! An arm that the library simulates, for jobs that no driver in Python slows down.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pyo3::prelude::*;
use surelift::horizon::{Hardware, Reading, Sighting};
use surelift::inertia::ParameterSet;
use surelift::plan::Plan;
use surelift::robot;
use surelift::simulate::{SimulatedObject, World};

use crate::arm::Arm;
use crate::arrays::{Given, vector};
use crate::errors;
use crate::scene::Scene;

/// An arm at rest with its surroundings; a job moves it.
#[pyclass(unsendable, module = "surelift")]
pub struct SimulatedArm {
    world: Rc<RefCell<World>>,
    arm: Arc<robot::Arm>,
}

impl SimulatedArm {
    /// The arm as a job's hardware.
    pub fn hardware(&self, arm: &Arm) -> PyResult<Shared> {
        if !Arc::ptr_eq(&self.arm, &arm.inner) {
            let (own, of_job) = (&self.arm.name, &arm.inner.name);
            return Err(errors::input(format!(
                "driver: simulates '{own}', expected the job's own arm, '{of_job}'"
            )));
        }
        Ok(Shared(self.world.clone()))
    }
}

#[pymethods]
impl SimulatedArm {
    #[new]
    #[pyo3(signature = (arm, start, objects=vec![], scene=None, seed=0))]
    fn new(
        arm: &Arm,
        start: Given<'_>,
        objects: Vec<(f64, [f64; 3], [f64; 3])>,
        scene: Option<&Scene>,
        seed: u64,
    ) -> PyResult<Self> {
        let start = vector("start", &start, arm.inner.dof())?;
        let object = |(k, (mass, center, size)): (usize, (f64, [f64; 3], [f64; 3]))| {
            let object = SimulatedObject::cuboid(mass, center, size);
            object.map_err(|reason| errors::input(format!("objects[{k}]: {reason}")))
        };
        let objects = objects.into_iter().enumerate().map(object).collect::<PyResult<Vec<_>>>()?;
        let scene = scene.map(|scene| scene.inner.clone()).unwrap_or_default();
        let world = World::with_objects(arm.inner.clone(), scene, &start, objects, seed);
        Ok(Self { world: Rc::new(RefCell::new(world)), arm: arm.inner.clone() })
    }

    /// Time since it was made, s.
    #[getter]
    fn time_s(&self) -> f64 {
        self.world.borrow().time()
    }
}

/// A world that a job moves while Python still holds it.
pub struct Shared(Rc<RefCell<World>>);

impl Hardware for Shared {
    fn time(&self) -> f64 {
        self.0.borrow().time()
    }

    fn read(&mut self, reading: &mut Reading) {
        self.0.borrow_mut().read(reading);
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.0.borrow_mut().command(tau, measured)
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.0.borrow_mut().hold(measured)
    }

    fn observe(&mut self, obstacle: usize, seen: &mut Sighting) -> bool {
        self.0.borrow_mut().observe(obstacle, seen)
    }

    fn plan_starts(&mut self, plan: &Plan) {
        self.0.borrow_mut().plan_starts(plan);
    }

    fn stop_begins(&mut self) {
        self.0.borrow_mut().stop_begins();
    }

    fn gripper(&mut self, closes: bool) {
        self.0.borrow_mut().gripper(closes);
    }

    fn set_claimed(&mut self, set: &ParameterSet) {
        self.0.borrow_mut().set_claimed(set);
    }
}
