//! Obstacles.

use pyo3::prelude::*;
use surelift::robot;

use crate::arrays::{Given, triple};
use crate::errors;

/// Obstacles that stand still, in the base frame, m. A new one is empty; it never changes.
#[pyclass(frozen, module = "surelift")]
pub struct Scene {
    pub inner: robot::Scene,
}

#[pymethods]
impl Scene {
    #[new]
    fn new() -> Self {
        Self { inner: robot::Scene::default() }
    }

    /// A scene with this box beside the others: its centre `center_m` (3,) and its full side lengths `size_m` (3,), m.
    fn with_box(&self, name: &str, center_m: Given<'_>, size_m: Given<'_>) -> PyResult<Self> {
        let (center, size) = (triple("center_m", &center_m)?, triple("size_m", &size_m)?);
        if let Some(side) = size.iter().find(|side| !(**side > 0.0)) {
            return Err(errors::input(format!("size_m of '{name}': {side}, expected sides above 0")));
        }
        Ok(Self { inner: self.inner.clone().with_box(name, center, size) })
    }

    /// Names of the obstacles.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.obstacles.iter().map(|obstacle| obstacle.name.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.inner.obstacles.len()
    }
}
