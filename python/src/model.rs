//! Rigid-body dynamics of any robot, for one state or for many at once.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;
use surelift::dynamics::{Axes, Workspace, torque_regressor};
use surelift::inertia::INERTIAL;
use surelift::robot;

use crate::arrays::{Given, array, numbers};
use crate::errors;

/// States of which each thread takes so many at once: a few dozen microseconds of work.
const CHUNK: usize = 32;

type Output<'py> = PyResult<Bound<'py, PyArrayDyn<f64>>>;

/// What dynamics need of a robot: its tree of joints and bodies.
#[pyclass(frozen, module = "surelift")]
pub struct Model {
    model: Arc<robot::Model>,
    nominal: Vec<f64>,
    /// Storage that is not in use.
    idle: Mutex<Vec<Workspace>>,
}

impl Model {
    pub fn of(model: robot::Model) -> Self {
        let (nominal, first) = (model.nominal_parameters(), Workspace::new(&model));
        Self { model: Arc::new(model), nominal, idle: Mutex::new(vec![first]) }
    }

    fn workspace(&self) -> Workspace {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| Workspace::new(&self.model))
    }

    fn give_back(&self, workspace: Workspace) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(workspace);
    }

    /// `evaluate` for one state or for each row of states; `shape` is that of its output. Arguments are named, with how many numbers each has a state.
    fn each<'py, const K: usize>(
        &self,
        py: Python<'py>,
        arguments: [(&str, &Given<'py>, usize); K],
        theta: Option<&Given<'py>>,
        shape: &[usize],
        evaluate: impl Fn(&mut Workspace, &robot::Model, [&[f64]; K], &[f64], &mut [f64]) + Sync,
    ) -> Output<'py> {
        let theta = self.theta(theta)?;
        let theta: &[f64] = &theta;
        let many = batch(&arguments)?;
        let inputs = arguments.map(|(_, given, width)| (numbers(given), width));
        let views: [(&[f64], usize); K] = std::array::from_fn(|k| (&*inputs[k].0, inputs[k].1));
        let size: usize = shape.iter().product();
        let mut out = vec![0.0; size * many.unwrap_or(1)];
        let state = |i: usize| views.map(|(x, width)| &x[width * i..width * (i + 1)]);
        let model = &*self.model;
        match many {
            None => {
                let mut space = self.workspace();
                evaluate(&mut space, model, state(0), theta, &mut out);
                self.give_back(space);
            }
            Some(_) => py.detach(|| {
                let chunks = out.par_chunks_mut((size * CHUNK).max(1)).enumerate();
                chunks.for_each_init(
                    || Workspace::new(model),
                    |space, (chunk, out)| {
                        for (i, out) in out.chunks_mut(size.max(1)).enumerate() {
                            evaluate(space, model, state(chunk * CHUNK + i), theta, out);
                        }
                    },
                );
            }),
        }
        let shape: Vec<usize> = many.into_iter().chain(shape.iter().copied()).collect();
        array(py, out, &shape)
    }

    fn theta<'a>(&'a self, theta: Option<&'a Given<'_>>) -> PyResult<std::borrow::Cow<'a, [f64]>> {
        let Some(theta) = theta else { return Ok((&self.nominal[..]).into()) };
        let expected = self.nominal.len();
        if theta.shape() != [expected] {
            return Err(errors::input(format!(
                "theta: array of shape {:?}, expected ({expected},)",
                theta.shape()
            )));
        }
        Ok(numbers(theta))
    }

    fn frame(&self, name: &str) -> PyResult<robot::NamedFrame> {
        self.model.frame(name).cloned().ok_or_else(|| {
            let frames = self.frame_names();
            errors::input(format!("frame '{name}': expected one of {frames:?}"))
        })
    }
}

/// The homogeneous matrix of a placement, row by row.
pub fn homogeneous(placement: &robot::Placement) -> Vec<f64> {
    let mut matrix = vec![0.0; 16];
    for i in 0..3 {
        for k in 0..3 {
            matrix[4 * i + k] = placement.rotation[(i, k)];
        }
        matrix[4 * i + 3] = placement.translation[i];
    }
    matrix[15] = 1.0;
    matrix
}

/// How many states the arguments have; none for one state without a leading dimension. All of one state, or all as many.
fn batch<const K: usize>(arguments: &[(&str, &Given<'_>, usize); K]) -> PyResult<Option<usize>> {
    let mut many: Option<Option<usize>> = None;
    for (what, given, width) in arguments {
        let found = match *given.shape() {
            [n] if n == *width => None,
            [count, n] if n == *width => Some(count),
            _ => {
                let shape = given.shape();
                return Err(errors::input(format!(
                    "{what}: array of shape {shape:?}, expected ({width},) or (any, {width})"
                )));
            }
        };
        if *many.get_or_insert(found) != found {
            let first = arguments[0].0;
            return Err(errors::input(format!("{what}: expected as many states as `{first}` has")));
        }
    }
    Ok(many.flatten())
}

/// Loads a robot for its dynamics alone; see `surelift.load_model`.
#[pyfunction]
pub fn load_model(path: &str) -> PyResult<Model> {
    robot::load_model(path).map(Model::of).map_err(errors::input)
}

#[pymethods]
impl Model {
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    #[getter]
    fn nq(&self) -> usize {
        self.model.nq()
    }

    #[getter]
    fn nv(&self) -> usize {
        self.model.nv()
    }

    #[getter]
    fn joint_names(&self) -> Vec<String> {
        self.model.joints.iter().map(|joint| joint.name.clone()).collect()
    }

    #[getter]
    fn frame_names(&self) -> Vec<String> {
        let frames = self.model.named_frames.iter().chain(&self.model.link_frames);
        frames.map(|frame| frame.name.clone()).collect()
    }

    fn nominal_parameters<'py>(&self, py: Python<'py>) -> Output<'py> {
        array(py, self.nominal.clone(), &[self.nominal.len()])
    }

    #[pyo3(signature = (q, v, a, theta=None))]
    fn rnea<'py>(
        &self,
        py: Python<'py>,
        q: Given<'py>,
        v: Given<'py>,
        a: Given<'py>,
        theta: Option<Given<'py>>,
    ) -> Output<'py> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let arguments = [("q", &q, nq), ("v", &v, nv), ("a", &a, nv)];
        self.each(py, arguments, theta.as_ref(), &[nv], |space, model, [q, v, a], theta, out| {
            space.inverse_dynamics(model, q, v, a, theta, out);
        })
    }

    #[pyo3(signature = (q, v, tau, theta=None))]
    fn forward_dynamics<'py>(
        &self,
        py: Python<'py>,
        q: Given<'py>,
        v: Given<'py>,
        tau: Given<'py>,
        theta: Option<Given<'py>>,
    ) -> Output<'py> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let arguments = [("q", &q, nq), ("v", &v, nv), ("tau", &tau, nv)];
        self.each(py, arguments, theta.as_ref(), &[nv], |space, model, [q, v, tau], theta, out| {
            space.forward_dynamics(model, q, v, tau, theta, out);
        })
    }

    #[pyo3(signature = (q, theta=None))]
    fn mass_matrix<'py>(&self, py: Python<'py>, q: Given<'py>, theta: Option<Given<'py>>) -> Output<'py> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.each(py, [("q", &q, nq)], theta.as_ref(), &[nv, nv], |space, model, [q], theta, out| {
            space.mass_matrix(model, q, theta, out);
        })
    }

    #[pyo3(signature = (q, theta=None))]
    fn gravity<'py>(&self, py: Python<'py>, q: Given<'py>, theta: Option<Given<'py>>) -> Output<'py> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.each(py, [("q", &q, nq)], theta.as_ref(), &[nv], |space, model, [q], theta, out| {
            space.gravity_torques(model, q, theta, out);
        })
    }

    #[pyo3(signature = (q, v, theta=None))]
    fn energy<'py>(
        &self,
        py: Python<'py>,
        q: Given<'py>,
        v: Given<'py>,
        theta: Option<Given<'py>>,
    ) -> Output<'py> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        let arguments = [("q", &q, nq), ("v", &v, nv)];
        self.each(py, arguments, theta.as_ref(), &[2], |space, model, [q, v], theta, out| {
            let energy = space.energy(model, q, v, theta);
            out.copy_from_slice(&[energy.kinetic, energy.potential]);
        })
    }

    /// Of robots on a fixed base: the columns are the inertial parameters of all bodies.
    fn regressor<'py>(&self, py: Python<'py>, q: Given<'py>, v: Given<'py>, a: Given<'py>) -> Output<'py> {
        if self.model.has_free_flyer() {
            return Err(errors::input(format!("regressor: '{}' has a floating base", self.model.name)));
        }
        let (n, bodies) = (self.model.nv(), self.model.bodies());
        let arguments = [("q", &q, n), ("v", &v, n), ("a", &a, n)];
        let shape = [n, INERTIAL * bodies];
        self.each(py, arguments, None, &shape, |space, model, [q, v, a], theta, out| {
            // Inverse dynamics leave the motion behind.
            let mut torques = vec![0.0; n];
            space.inverse_dynamics(model, q, v, a, theta, &mut torques);
            torque_regressor(model, space.motion(), 0..bodies, out);
        })
    }

    fn frame_placement<'py>(&self, py: Python<'py>, frame: &str, q: Given<'py>) -> Output<'py> {
        let frame = self.frame(frame)?;
        let nq = self.model.nq();
        self.each(py, [("q", &q, nq)], None, &[4, 4], |space, model, [q], _, out| {
            space.place(model, q);
            out.copy_from_slice(&homogeneous(&space.frame_placement(&frame)));
        })
    }

    fn frame_jacobian<'py>(&self, py: Python<'py>, frame: &str, q: Given<'py>) -> Output<'py> {
        let frame = self.frame(frame)?;
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.each(py, [("q", &q, nq)], None, &[6, nv], |space, model, [q], _, out| {
            space.place(model, q);
            space.frame_jacobian(model, &frame, Axes::WorldAligned, out);
        })
    }

    fn __repr__(&self) -> String {
        format!("Model('{}', nq={}, nv={})", self.model.name, self.model.nq(), self.model.nv())
    }
}
