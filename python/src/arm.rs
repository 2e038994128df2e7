//! Arms: a model with limits, shapes, sensors and gains.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use surelift::inertia::ParameterSet;
use surelift::robot;

use crate::arrays::array;
use crate::errors::{self, border};
use crate::model::{Model, homogeneous};

type Numbers<'py> = PyResult<Bound<'py, PyArrayDyn<f64>>>;

/// A robot arm from its files: a model with limits, shapes, sensors and gains. `load` makes one. It has n joints, whose numbers are in rad, or in m where they slide.
#[pyclass(frozen, module = "surelift")]
pub struct Arm {
    pub inner: Arc<robot::Arm>,
    model: Py<Model>,
}

impl Arm {
    /// Whether a set is one of this arm's parameters.
    pub fn fits(&self, set: &ParameterSet) -> PyResult<()> {
        let (found, expected) = (set.len(), self.inner.parameter_count());
        if found == expected {
            return Ok(());
        }
        let name = &self.inner.name;
        Err(errors::input(format!("set of {found} parameters, '{name}' has {expected}")))
    }

    fn by_joint<'py>(&self, py: Python<'py>, of: impl Fn(&robot::JointLimits) -> f64) -> Numbers<'py> {
        let all: Vec<f64> = self.inner.joints.iter().map(|joint| of(&joint.limits)).collect();
        let n = all.len();
        array(py, all, &[n])
    }
}

/// Loads an arm with all that its files say, in SI units: limits, shapes, sensors, gains.
///
/// `path` is the name of one that ships, such as "kinova_gen3_2f85", or the path of a robot TOML or of a plain URDF, as text or as a `pathlib.Path`.
/// `InputError` names the file and what is wrong with it.
#[pyfunction]
pub fn load(py: Python<'_>, path: PathBuf) -> PyResult<Arm> {
    let inner = border(|| py.detach(|| robot::load(path).map_err(errors::input)))?;
    let model = Py::new(py, Model::of(inner.model().clone()))?;
    Ok(Arm { inner: Arc::new(inner), model })
}

#[pymethods]
impl Arm {
    /// Name of the robot.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its dynamics, in SI units.
    #[getter]
    fn model(&self, py: Python<'_>) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// How many joints it has, n.
    #[getter]
    fn dof(&self) -> usize {
        self.inner.dof()
    }

    /// Names of the n joints, from the base on.
    #[getter]
    fn joint_names(&self) -> Vec<String> {
        self.inner.joints.iter().map(|joint| joint.name.clone()).collect()
    }

    /// Index of the body that holds things, from 0.
    #[getter]
    fn end_effector(&self) -> usize {
        self.inner.end_effector()
    }

    /// Name and placement, (4, 4), m, of the tool frame, or of another link that moves with the last body, in that body's frame.
    ///
    /// The ten parameters of a body are about and in that body's frame.
    #[pyo3(signature = (link=None))]
    fn tool_frame<'py>(
        &self,
        py: Python<'py>,
        link: Option<&str>,
    ) -> PyResult<(String, Bound<'py, PyArrayDyn<f64>>)> {
        let frames = self.inner.tool_frames();
        let frame = frames.get(link).map_err(errors::input)?;
        Ok((frame.name.clone(), array(py, homogeneous(&frame.placement), &[4, 4])?))
    }

    /// Control period, s.
    #[getter]
    fn period_s(&self) -> f64 {
        self.inner.gains().period_s
    }

    /// Least positions, (n,), rad (m); minus infinity for joints without limits.
    #[getter]
    fn lower_position_limits<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        self.by_joint(py, |limits| limits.position.map_or(f64::NEG_INFINITY, |(lower, _)| lower))
    }

    /// Largest positions, (n,), rad (m); infinity for joints without limits.
    #[getter]
    fn upper_position_limits<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        self.by_joint(py, |limits| limits.position.map_or(f64::INFINITY, |(_, upper)| upper))
    }

    /// Largest speeds, (n,), rad/s (m/s).
    #[getter]
    fn velocity_limits<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        self.by_joint(py, |limits| limits.velocity)
    }

    /// Largest torques of the drives, (n,), N m (N).
    #[getter]
    fn torque_limits<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        self.by_joint(py, |limits| limits.torque)
    }

    fn __repr__(&self) -> String {
        format!("Arm('{}', {} joints)", self.inner.name, self.inner.dof())
    }
}
