//! Sets of parameters: what may be true.

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::inertia;
use surelift::robot::Prior;

use crate::arm::Arm;
use crate::arrays::{Given, array, vector};
use crate::errors;

/// A box of parameter vectors, with what else is known of them.
#[pyclass(frozen, module = "surelift")]
pub struct ParameterSet {
    pub inner: inertia::ParameterSet,
}

#[pymethods]
impl ParameterSet {
    #[new]
    fn new(lower: Given<'_>, upper: Given<'_>) -> PyResult<Self> {
        use numpy::PyUntypedArrayMethods;
        let n = lower.shape().first().copied().unwrap_or(0);
        let (lower, upper) = (vector("lower", &lower, n)?, vector("upper", &upper, n)?);
        let inner = inertia::ParameterSet::new(lower, upper).map_err(errors::input)?;
        Ok(Self { inner })
    }

    /// What the arm's file says may be true of it.
    #[staticmethod]
    fn around_nominal(arm: &Arm) -> Self {
        Self { inner: inertia::ParameterSet::around_nominal(&arm.inner) }
    }

    /// What is left of this set by a prior's file.
    fn with_prior(&self, path: std::path::PathBuf, arm: &Arm) -> PyResult<Self> {
        arm.fits(&self.inner)?;
        let read = Prior::read(&path, self.inner.clone(), &arm.inner);
        Ok(Self { inner: read.map_err(errors::input)?.1 })
    }

    #[getter]
    fn lower<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        array(py, self.inner.lower().to_vec(), &[self.inner.len()])
    }

    #[getter]
    fn upper<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        array(py, self.inner.upper().to_vec(), &[self.inner.len()])
    }

    /// Lower and upper mass of a body, kg.
    fn mass(&self, body: usize) -> PyResult<(f64, f64)> {
        if inertia::INERTIAL * (body + 1) > self.inner.len() {
            return Err(errors::input(format!("body {body}: the set has fewer bodies")));
        }
        let mass = self.inner.body(body).mass();
        Ok((mass.lower, mass.upper))
    }

    fn contains(&self, theta: Given<'_>) -> PyResult<bool> {
        Ok(self.inner.contains(&vector("theta", &theta, self.inner.len())?))
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __repr__(&self) -> String {
        format!("ParameterSet of {} parameters", self.inner.len())
    }
}
