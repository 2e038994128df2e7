//! Rigid-body dynamics of an arm.

use std::sync::{Arc, Mutex};

use surelift::dynamics::Workspace;
use surelift::robot::Arm;

use crate::arrays::{Written, numbers, optional};
use crate::border::{Fault, SureliftStatus, border};
use crate::handles::{self, Kept, Table, alone};
use crate::robot::{SureliftRobot, arm};

/// Storage for the dynamics of an arm. It serves one call at a time: each thread has its own.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SureliftDynamics {
    /// The library's number for it; 0 for none.
    pub id: u64,
}

/// What such a handle stands for.
pub(crate) struct DynamicsObject(Mutex<Storage>);

struct Storage {
    arm: Arc<Arm>,
    nominal: Vec<f64>,
    workspace: Workspace,
    /// A number a joint, and a matrix.
    vector: Vec<f64>,
    matrix: Vec<f64>,
}

impl Kept for DynamicsObject {
    const KIND: u8 = 2;
    const NAME: &'static str = "dynamics";

    fn table() -> &'static Table<Self> {
        static TABLE: Table<DynamicsObject> = Table::new();
        &TABLE
    }
}

/// Makes storage for the dynamics of an arm. `*dynamics` is to be closed by surelift_dynamics_close. The calls with it ask for no memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_dynamics_new(
    robot: SureliftRobot,
    dynamics: *mut SureliftDynamics,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("dynamics", dynamics)?;
        let arm = arm(robot)?;
        let n = arm.dof();
        let storage = Storage {
            nominal: arm.nominal_parameters(),
            workspace: Workspace::new(&arm),
            vector: vec![0.0; n],
            matrix: vec![0.0; n * n],
            arm,
        };
        let id = handles::open(DynamicsObject(Mutex::new(storage)))?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[SureliftDynamics { id }]) };
        Ok(())
    })
}

/// Lets go of the storage.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_dynamics_close(dynamics: SureliftDynamics) -> SureliftStatus {
    border(|| handles::close::<DynamicsObject>(dynamics.id))
}

/// Inverse dynamics (recursive Newton-Euler): the torques `tau` (N m) of positions `q` (rad), velocities `v` (rad/s) and accelerations `a` (rad/s^2), `n` = dof each, with transmission
/// inertia, without friction and offsets. `theta`: `parameters` parameters in the order of surelift_robot_parameter_count; null for the nominal ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_dynamics_rnea(
    dynamics: SureliftDynamics,
    q: *const f64,
    v: *const f64,
    a: *const f64,
    n: usize,
    theta: *const f64,
    parameters: usize,
    tau: *mut f64,
) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe {
        on_vectors(
            dynamics,
            [("q", q), ("v", v), ("a", a)],
            n,
            (theta, parameters),
            ("tau", tau),
            |s, [q, v, a], theta| {
                s.workspace.inverse_dynamics(&s.arm, q, v, a, theta.unwrap_or(&s.nominal), &mut s.vector);
            },
        )
    })
}

/// Forward dynamics: the accelerations `a` (rad/s^2) that torques `tau` (N m) cause at positions `q` (rad) and velocities `v` (rad/s), `n` = dof each. Friction and offsets are for the caller
/// to take from `tau`. `theta` as in surelift_dynamics_rnea.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_dynamics_forward(
    dynamics: SureliftDynamics,
    q: *const f64,
    v: *const f64,
    tau: *const f64,
    n: usize,
    theta: *const f64,
    parameters: usize,
    a: *mut f64,
) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe {
        on_vectors(
            dynamics,
            [("q", q), ("v", v), ("tau", tau)],
            n,
            (theta, parameters),
            ("a", a),
            |s, [q, v, tau], theta| {
                s.workspace.forward_dynamics(&s.arm, q, v, tau, theta.unwrap_or(&s.nominal), &mut s.vector);
            },
        )
    })
}

/// The mass matrix (kg m^2) at positions `q` (rad, `n` = dof), n * n numbers row by row, with transmission inertia. `theta` as in surelift_dynamics_rnea.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_dynamics_mass_matrix(
    dynamics: SureliftDynamics,
    q: *const f64,
    n: usize,
    theta: *const f64,
    parameters: usize,
    mass: *mut f64,
) -> SureliftStatus {
    border(|| {
        let kind = handles::get::<DynamicsObject>(dynamics.id)?;
        let s = &mut *alone("dynamics", &kind.0)?;
        let dof = s.arm.dof();
        let out = Written::many("mass", mass, n.saturating_mul(n), dof * dof)?;
        // SAFETY: the caller's promise.
        let q = unsafe { numbers("q", q, n, dof) }?;
        // SAFETY: the caller's promise.
        let theta = unsafe { optional("theta", theta, parameters, s.nominal.len()) }?;
        s.workspace.mass_matrix(&s.arm, q, theta.unwrap_or(&s.nominal), &mut s.matrix);
        // SAFETY: the caller's promise.
        unsafe { out.write(&s.matrix) };
        Ok(())
    })
}

/// `evaluate` on three vectors; it leaves what it finds in the storage's vector.
unsafe fn on_vectors(
    dynamics: SureliftDynamics,
    given: [(&str, *const f64); 3],
    n: usize,
    (theta, parameters): (*const f64, usize),
    (what, out): (&str, *mut f64),
    evaluate: impl FnOnce(&mut Storage, [&[f64]; 3], Option<&[f64]>),
) -> Result<(), Fault> {
    let kind = handles::get::<DynamicsObject>(dynamics.id)?;
    let storage = &mut *alone("dynamics", &kind.0)?;
    let dof = storage.arm.dof();
    let out = Written::many(what, out, n, dof)?;
    let mut vectors: [&[f64]; 3] = [&[]; 3];
    for (vector, (what, pointer)) in vectors.iter_mut().zip(given) {
        // SAFETY: the caller's promise is passed on.
        *vector = unsafe { numbers(what, pointer, n, dof) }?;
    }
    // SAFETY: the caller's promise is passed on.
    let theta = unsafe { optional("theta", theta, parameters, storage.nominal.len()) }?;
    evaluate(storage, vectors, theta);
    // SAFETY: the caller's promise is passed on.
    unsafe { out.write(&storage.vector) };
    Ok(())
}
