//! Rigid-body dynamics of any robot, for one state or for many at once.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use rayon::prelude::*;
use surelift::dynamics::{Axes, Workspace, torque_regressor};
use surelift::inertia::INERTIAL;
use surelift::robot;

use crate::arrays::{Given, array};
use crate::errors::{self, border};

/// States of which each thread takes so many at once: a few dozen microseconds of work.
const CHUNK: usize = 32;

type Output<'py> = PyResult<Bound<'py, PyArrayDyn<f64>>>;

/// What dynamics need of a robot: its tree of joints and bodies. `load_model` makes one; `Arm.model` is one.
///
/// `q` has nq numbers, `v`, `a` and `tau` have nv: rad (m for joints that slide), and per s, per s^2; N m (N). For a floating base, `q` begins with
/// position and quaternion (7), `v` with linear and angular velocity in the body's own frame (6). A call takes one state, as (nq,) and (nv,), or N of
/// them, as (N, nq) and (N, nv): then it works on all cores, and other threads of Python go on. `theta`, (p,), replaces the nominal parameters.
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
        let many = batch(&arguments)?;
        let mut views: [(&[f64], usize); K] = [(&[], 0); K];
        for (view, (what, given, width)) in views.iter_mut().zip(arguments) {
            *view = (given.numbers(what)?, width);
        }
        let size: usize = shape.iter().product();
        let mut out = vec![0.0; size * many.unwrap_or(1)];
        let state = |i: usize| views.map(|(x, width)| &x[width * i..width * (i + 1)]);
        let model = &*self.model;
        border(|| {
            if many.is_none() {
                let mut space = self.workspace();
                evaluate(&mut space, model, state(0), theta, &mut out);
                self.give_back(space);
                return Ok(());
            }
            py.detach(|| {
                let chunks = out.par_chunks_mut((size * CHUNK).max(1)).enumerate();
                chunks.for_each_init(
                    || Workspace::new(model),
                    |space, (chunk, out)| {
                        for (i, out) in out.chunks_mut(size.max(1)).enumerate() {
                            evaluate(space, model, state(chunk * CHUNK + i), theta, out);
                        }
                    },
                );
            });
            Ok(())
        })?;
        let shape: Vec<usize> = many.into_iter().chain(shape.iter().copied()).collect();
        array(py, out, &shape)
    }

    fn theta<'a>(&'a self, theta: Option<&'a Given<'_>>) -> PyResult<&'a [f64]> {
        theta.map_or(Ok(&self.nominal), |theta| theta.any("theta", self.nominal.len()))
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
        let found = match *given.shape(what)? {
            [n] if n == *width => None,
            [count, n] if n == *width => Some(count),
            ref shape => {
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

/// Loads a robot for its dynamics alone, in SI units: an arm or a legged robot.
///
/// `path` is the name of one that ships, such as "go1", or the path of a robot TOML or of a plain URDF, as text or as a `pathlib.Path`.
/// `InputError` names the file and what is wrong with it.
#[pyfunction]
pub fn load_model(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
    border(|| py.detach(|| robot::load_model(path).map(Model::of).map_err(errors::input)))
}

#[pymethods]
impl Model {
    /// Name of the robot.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    /// How many numbers a configuration `q` has: one a joint in rad (m), and seven for a floating base.
    #[getter]
    fn nq(&self) -> usize {
        self.model.nq()
    }

    /// How many numbers a velocity `v` has: one a joint in rad/s (m/s), and six for a floating base.
    #[getter]
    fn nv(&self) -> usize {
        self.model.nv()
    }

    /// Names of the joints, in the order of `v`.
    #[getter]
    fn joint_names(&self) -> Vec<String> {
        self.model.joints.iter().map(|joint| joint.name.clone()).collect()
    }

    /// Frames that the robot TOML names, then the URDF's links.
    #[getter]
    fn frame_names(&self) -> Vec<String> {
        let frames = self.model.named_frames.iter().chain(&self.model.link_frames);
        frames.map(|frame| frame.name.clone()).collect()
    }

    /// The parameters in the robot's files, (p,): ten a body, then four a joint.
    ///
    /// Of each body m (kg), h (x, y, z; kg m) and I (xx, xy, yy, xz, yz, zz; kg m^2) about and in its joint's frame; then of each joint F_c (N m),
    /// F_v (N m s/rad), I_a (kg m^2) and beta (N m).
    fn nominal_parameters<'py>(&self, py: Python<'py>) -> Output<'py> {
        array(py, self.nominal.clone(), &[self.nominal.len()])
    }

    /// Torques, (nv,) or (N, nv), N m (N), that a motion needs: inverse dynamics, transmission inertia with them, friction not.
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

    /// Accelerations, (nv,) or (N, nv), rad/s^2 (m/s^2), that torques `tau`, N m (N), cause without friction.
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

    /// The mass matrix, (nv, nv) or (N, nv, nv), kg m^2 (kg m, kg), with transmission inertia on its diagonal.
    #[pyo3(signature = (q, theta=None))]
    fn mass_matrix<'py>(&self, py: Python<'py>, q: Given<'py>, theta: Option<Given<'py>>) -> Output<'py> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.each(py, [("q", &q, nq)], theta.as_ref(), &[nv, nv], |space, model, [q], theta, out| {
            space.mass_matrix(model, q, theta, out);
        })
    }

    /// Torques, (nv,) or (N, nv), N m (N), that hold the robot where it is.
    #[pyo3(signature = (q, theta=None))]
    fn gravity<'py>(&self, py: Python<'py>, q: Given<'py>, theta: Option<Given<'py>>) -> Output<'py> {
        let (nq, nv) = (self.model.nq(), self.model.nv());
        self.each(py, [("q", &q, nq)], theta.as_ref(), &[nv], |space, model, [q], theta, out| {
            space.gravity_torques(model, q, theta, out);
        })
    }

    /// Kinetic and potential energy, J: (2,) or (N, 2).
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

    /// The torque regressor Y, (n, 10 bodies) or (N, n, 10 bodies), of a robot on a fixed base: `Y @ theta[:10 * bodies]` are the torques of its links, N m (N).
    ///
    /// Transmission inertia and friction are not in them.
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

    /// Placement of a named frame, or of a link of the URDF, in the base frame: homogeneous matrices, (4, 4) or (N, 4, 4), m.
    fn frame_placement<'py>(&self, py: Python<'py>, frame: &str, q: Given<'py>) -> Output<'py> {
        let frame = self.frame(frame)?;
        let nq = self.model.nq();
        self.each(py, [("q", &q, nq)], None, &[4, 4], |space, model, [q], _, out| {
            space.place(model, q);
            out.copy_from_slice(&homogeneous(&space.frame_placement(&frame)));
        })
    }

    /// The Jacobian of a frame, (6, nv) or (N, 6, nv): velocity of its origin (m/s), then angular velocity (rad/s), along the base frame's axes, for each
    /// number of `v`.
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
