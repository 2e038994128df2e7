//! Sets of parameters: what may be true.

use std::path::PathBuf;

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::inertia;
use surelift::robot::Prior;

use crate::arm::Arm;
use crate::arrays::{Given, Whole, array, vector};
use crate::errors::{self, border};
use crate::payload;

/// Numbers of a set for each body of an arm, which hangs on one joint.
const PER_BODY: usize = inertia::INERTIAL + inertia::FRICTION;

/// What p parameters may be: a box, and what else is known of them.
///
/// `lower` and `upper`, (p,) each, are its bounds, in the order and the units of `Model.nominal_parameters`.
#[pyclass(frozen, module = "surelift")]
pub struct ParameterSet {
    pub inner: inertia::ParameterSet,
}

#[pymethods]
impl ParameterSet {
    #[new]
    fn new(lower: Given<'_>, upper: Given<'_>) -> PyResult<Self> {
        let n = lower.shape("lower")?.first().copied().unwrap_or(0);
        let (lower, upper) = (vector("lower", &lower, n)?, vector("upper", &upper, n)?);
        let inner = inertia::ParameterSet::new(lower, upper).map_err(errors::input)?;
        Ok(Self { inner })
    }

    /// What the arm's file says may be true of its p parameters, with nothing in its hand.
    #[staticmethod]
    fn around_nominal(arm: &Arm) -> PyResult<Self> {
        border(|| Ok(Self { inner: inertia::ParameterSet::around_nominal(&arm.inner) }))
    }

    /// This set of p parameters, narrowed or replaced by a prior's file (`docs/reference/prior.md`).
    fn with_prior(&self, py: Python<'_>, path: PathBuf, arm: &Arm) -> PyResult<Self> {
        arm.fits(&self.inner)?;
        let read = border(|| {
            py.detach(|| Prior::read(&path, self.inner.clone(), &arm.inner).map_err(errors::input))
        })?;
        Ok(Self { inner: read.1 })
    }

    /// Lower bounds, (p,), in the units of `Model.nominal_parameters`.
    #[getter]
    fn lower<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        array(py, self.inner.lower().to_vec(), &[self.inner.len()])
    }

    /// Upper bounds, (p,), in the units of `Model.nominal_parameters`.
    #[getter]
    fn upper<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        array(py, self.inner.upper().to_vec(), &[self.inner.len()])
    }

    /// Lower and upper bound of the mass of a body, kg. `body` is its index, from 0.
    fn mass(&self, body: Whole) -> PyResult<(f64, f64)> {
        let (index, bodies) = (body.count("body")?, self.inner.len() / PER_BODY);
        if index >= bodies {
            let told = match bodies {
                0 => "but the set has none".to_owned(),
                _ => format!("expected 0 to {}", bodies - 1),
            };
            return Err(errors::input(format!("body: {index}, {told}")));
        }
        let mass = self.inner.body(index).mass();
        Ok((mass.lower, mass.upper))
    }

    /// What the set says of the payload alone, without the hand that holds it, in the frame of the link `frame`, or in the tool frame.
    ///
    /// Gives `frame`, `mass_kg`, `center_m` (three intervals, m; None where nothing bounds it, as the mass may be 0) and `inertia_kg_m2` (I_xx, I_xy, I_yy,
    /// I_xz, I_yz, I_zz about the centre, along the axes of the frame). Each interval is [lower, upper], and holds the truth if the set does.
    #[pyo3(signature = (arm, frame=None))]
    fn payload(&self, py: Python<'_>, arm: &Arm, frame: Option<&str>) -> PyResult<Py<PyAny>> {
        arm.fits(&self.inner)?;
        border(|| payload::of(py, &arm.inner, frame, &self.inner, None))
    }

    /// Whether parameters `theta`, (p,), in the units of `Model.nominal_parameters`, lie in the set.
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
