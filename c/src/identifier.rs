//! Guaranteed sets from measurements.

use std::ffi::c_char;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use surelift::identify::{CollectedWindow, Identifier, IdentifierOptions, IdentifyError, WindowCollector};
use surelift::inertia::{INERTIAL, ParameterSet};
use surelift::recording::Sample;
use surelift::robot::Arm;

use crate::arrays::{Written, numbers, optional_text};
use crate::border::{Fault, SureliftStatus, border, fault, input};
use crate::handles::{self, Kept, Table, alone};
use crate::payload::{self, SureliftPayload};
use crate::robot::{SureliftRobot, arm, fits};
use crate::set::{self, SureliftSet};

/// Narrows what the arm may hold from what a control loop measures. One thread may push while another updates; two that push at once, or two that update at once, are in each other's way: the second gets
/// SURELIFT_STATUS_BUSY.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SureliftIdentifier {
    /// The library's number for it; 0 for none.
    pub id: u64,
}

/// What an update says of itself.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SureliftUpdate {
    /// Windows of measurements that it has used.
    pub windows: usize,
    /// Rows of data in use.
    pub rows: usize,
    /// Condition number of the last body's regressor over all windows so far, in SI units; infinite while it is singular.
    pub condition_number: f64,
    /// How long it took, ms.
    pub update_ms: f64,
}

/// What an identifier's handle stands for: the half that takes ticks, the half that learns, and what lies between and behind them.
pub(crate) struct IdentifierObject {
    arm: Arc<Arm>,
    collector: Mutex<WindowCollector>,
    full: Mutex<Vec<CollectedWindow>>,
    learner: Mutex<Identifier>,
    known: Mutex<Arc<Known>>,
}

/// What the last update has left.
struct Known {
    set: ParameterSet,
    nominal: [f64; INERTIAL],
}

impl Known {
    fn of(identifier: &Identifier) -> Arc<Self> {
        Arc::new(Self { set: identifier.set().clone(), nominal: *identifier.nominal() })
    }
}

impl Kept for IdentifierObject {
    const KIND: u8 = 7;
    const NAME: &'static str = "identifier";

    fn table() -> &'static Table<Self> {
        static TABLE: Table<IdentifierObject> = Table::new();
        &TABLE
    }
}

/// What is never half done, whoever held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Data that nothing explains break an assumption; everything else is input.
fn refused(error: IdentifyError) -> Fault {
    let status = match error {
        IdentifyError::Jump { .. } | IdentifyError::AssumptionBroken { .. } => SureliftStatus::Broken,
        IdentifyError::WrongLength { .. } => SureliftStatus::Size,
        _ => SureliftStatus::Input,
    };
    fault(status, error)
}

/// Makes an identifier for the last body of an arm. `prior`: what may be true beforehand. `acceleration_rad_s2`: the largest acceleration of each joint, `n` = dof, as surelift_plan_tube has it of the
/// plan that is followed; 0 while the arm stands. `window_s`: how long a window of measurements is, s, rounded to whole control periods; 0.1 serves.
/// `*identifier` is to be closed by surelift_identifier_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_new(
    robot: SureliftRobot,
    prior: SureliftSet,
    acceleration_rad_s2: *const f64,
    n: usize,
    window_s: f64,
    identifier: *mut SureliftIdentifier,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("identifier", identifier)?;
        let (arm, prior) = (arm(robot)?, handles::get::<set::SetObject>(prior.id)?);
        fits(&arm, &prior.0)?;
        // SAFETY: the caller's promise.
        let bound = unsafe { numbers("acceleration_rad_s2", acceleration_rad_s2, n, arm.dof()) }?.to_vec();
        let options = IdentifierOptions { window_s, ..IdentifierOptions::default() };
        let collector = WindowCollector::new(arm.clone(), bound.clone(), &options).map_err(refused)?;
        let learner = Identifier::new(arm.clone(), &prior.0, bound, options).map_err(refused)?;
        let known = Mutex::new(Known::of(&learner));
        let (collector, learner) = (Mutex::new(collector), Mutex::new(learner));
        let id = handles::open(IdentifierObject { arm, collector, full: Mutex::default(), learner, known })?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[SureliftIdentifier { id }]) };
        Ok(())
    })
}

/// Closes an identifier. Sets that were taken from it stay.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_identifier_close(identifier: SureliftIdentifier) -> SureliftStatus {
    border(|| handles::close::<IdentifierObject>(identifier.id))
}

/// Replaces the largest accelerations (rad/s^2, `n` = dof) for the measurements from now on: call it when the plan changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_set_acceleration(
    identifier: SureliftIdentifier,
    acceleration_rad_s2: *const f64,
    n: usize,
) -> SureliftStatus {
    border(|| {
        let kind = handles::get::<IdentifierObject>(identifier.id)?;
        // SAFETY: the caller's promise.
        let bound = unsafe { numbers("acceleration_rad_s2", acceleration_rad_s2, n, kind.arm.dof()) }?;
        alone("identifier", &kind.collector)?.set_acceleration_bound(bound.to_vec()).map_err(refused)
    })
}

/// Takes the measurements of one tick: its time `t` (s), and positions `q` (rad, continuous), velocities `dq` (rad/s) and torques `tau` (N m, held from this tick to the next), `n` = dof each. Ticks follow
/// one another by the control period. SURELIFT_STATUS_BROKEN: a joint moved farther than its bounds allow. A tick that is refused leaves the identifier as it was.
///
/// It takes a few microseconds and some memory. It waits for an update for no longer than that needs to take a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_push(
    identifier: SureliftIdentifier,
    t: f64,
    q: *const f64,
    dq: *const f64,
    tau: *const f64,
    n: usize,
) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe { take(identifier, t, [("q", q), ("dq", dq), ("tau", tau)], n, WindowCollector::push) })
}

/// The same for the first tick after some that are missing. The window in progress is left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_resume(
    identifier: SureliftIdentifier,
    t: f64,
    q: *const f64,
    dq: *const f64,
    tau: *const f64,
    n: usize,
) -> SureliftStatus {
    // SAFETY: the caller's promise.
    border(|| unsafe {
        take(identifier, t, [("q", q), ("dq", dq), ("tau", tau)], n, WindowCollector::resume)
    })
}

unsafe fn take(
    identifier: SureliftIdentifier,
    t: f64,
    given: [(&str, *const f64); 3],
    n: usize,
    how: impl FnOnce(&mut WindowCollector, Sample) -> Result<Option<CollectedWindow>, IdentifyError>,
) -> Result<(), Fault> {
    let kind = handles::get::<IdentifierObject>(identifier.id)?;
    let mut vectors: [Vec<f64>; 3] = [vec![], vec![], vec![]];
    for (vector, (what, pointer)) in vectors.iter_mut().zip(given) {
        // SAFETY: the caller's promise is passed on.
        *vector = unsafe { numbers(what, pointer, n, kind.arm.dof()) }?.to_vec();
    }
    let [q, dq, tau] = vectors;
    let mut collector = alone("identifier", &kind.collector)?;
    let window = how(&mut collector, Sample { t, q, dq, tau }).map_err(refused)?;
    lock(&kind.full).extend(window);
    Ok(())
}

/// Learns from the windows that are full; without any, nothing changes. `*update` may be null. SURELIFT_STATUS_BROKEN: no parameters of the prior explain the measurements, so an assumption is false;
/// the set is as it was, and no more can be learnt from these.
///
/// It takes up to a second or so, so it belongs in a thread of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_update(
    identifier: SureliftIdentifier,
    update: *mut SureliftUpdate,
) -> SureliftStatus {
    border(|| {
        let out = if update.is_null() { None } else { Some(Written::one("update", update)?) };
        let kind = handles::get::<IdentifierObject>(identifier.id)?;
        let learner = &mut *alone("identifier", &kind.learner)?;
        let full = std::mem::take(&mut *lock(&kind.full));
        let windows = full.len();
        full.into_iter().try_for_each(|window| learner.take(window)).map_err(refused)?;
        let done = learner.update().map_err(refused)?;
        *lock(&kind.known) = Known::of(learner);
        let (rows, condition_number, update_ms) = (done.rows, done.condition_number, done.update_ms);
        if let Some(out) = out {
            // SAFETY: the caller's promise.
            unsafe { out.write(&[SureliftUpdate { windows, rows, condition_number, update_ms }]) };
        }
        Ok(())
    })
}

/// What may be true after the last update. It waits for none that is under way. `*set` is to be closed by surelift_set_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_set(
    identifier: SureliftIdentifier,
    set: *mut SureliftSet,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("set", set)?;
        let kind = handles::get::<IdentifierObject>(identifier.id)?;
        let known = lock(&kind.known).clone();
        // SAFETY: the caller's promise.
        unsafe { set::open(out, known.set.clone()) }
    })
}

/// What is known of the payload after the last update: see SureliftPayload. It waits for none that is under way. `frame` is the name of a link that moves with the hand; null for the tool frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_payload(
    identifier: SureliftIdentifier,
    frame: *const c_char,
    payload: *mut SureliftPayload,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("payload", payload)?;
        let kind = handles::get::<IdentifierObject>(identifier.id)?;
        // SAFETY: the caller's promise.
        let frame = unsafe { optional_text("frame", frame) }?;
        let known = lock(&kind.known).clone();
        let found = payload::of(&kind.arm, frame, &known.set, Some(&known.nominal))?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[found]) };
        Ok(())
    })
}

/// The proof of the present set, as JSON, into a file that `surelift verify --set` reads. It needs the measurements of all windows, so it grows with them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_identifier_save_proof(
    identifier: SureliftIdentifier,
    path: *const c_char,
) -> SureliftStatus {
    border(|| {
        let kind = handles::get::<IdentifierObject>(identifier.id)?;
        // SAFETY: the caller's promise.
        let path = unsafe { crate::arrays::text("path", path) }?;
        let proof = alone("identifier", &kind.learner)?.proof();
        crate::plan::write(path, &serde_json::to_string(&proof).map_err(input)?)
    })
}
