//! Sets of parameters: what may be true.

use std::ffi::c_char;

use surelift::inertia::ParameterSet;
use surelift::robot::Prior;

use crate::arrays::{Written, numbers, optional_text, text};
use crate::border::{Fault, SureliftStatus, border, input};
use crate::handles::{self, Kept, Table};
use crate::payload::{self, SureliftPayload};
use crate::robot::{SureliftRobot, arm, fits};

/// A set of parameter vectors: what may be true of an arm and what it holds. It never changes, so any number of threads may use it at once.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SureliftSet {
    /// The library's number for it; 0 for none.
    pub id: u64,
}

/// What such a handle stands for.
pub(crate) struct SetObject(pub(crate) ParameterSet);

impl Kept for SetObject {
    const KIND: u8 = 3;
    const NAME: &'static str = "set";

    fn table() -> &'static Table<Self> {
        static TABLE: Table<SetObject> = Table::new();
        &TABLE
    }
}

/// A handle for a set, where the caller wants it.
pub(crate) unsafe fn open(out: Written<SureliftSet>, set: ParameterSet) -> Result<(), Fault> {
    let id = handles::open(SetObject(set))?;
    // SAFETY: the caller's promise is passed on.
    unsafe { out.write(&[SureliftSet { id }]) };
    Ok(())
}

/// What the arm's file says may be true of it, with nothing in its hand. `*set` is to be closed by surelift_set_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_set_around_nominal(
    robot: SureliftRobot,
    set: *mut SureliftSet,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("set", set)?;
        // SAFETY: the caller's promise.
        unsafe { open(out, ParameterSet::around_nominal(&*arm(robot)?)) }
    })
}

/// The set of all vectors between two, `n` parameters each in the order of surelift_robot_parameter_count. `*set` is to be closed by surelift_set_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_set_new(
    lower: *const f64,
    upper: *const f64,
    n: usize,
    set: *mut SureliftSet,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("set", set)?;
        // SAFETY: the caller's promise.
        let [lower, upper] = unsafe { [numbers("lower", lower, n, n)?, numbers("upper", upper, n, n)?] };
        let found = ParameterSet::new(lower.to_vec(), upper.to_vec()).map_err(input)?;
        // SAFETY: the caller's promise.
        unsafe { open(out, found) }
    })
}

/// What is left of a set by a prior's file (TOML): what is believed of the last body, or of a payload in words. `*narrowed` is to be closed by surelift_set_close; it may be where `set` is, which
/// stays open all the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_set_with_prior(
    set: SureliftSet,
    path: *const c_char,
    robot: SureliftRobot,
    narrowed: *mut SureliftSet,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("narrowed", narrowed)?;
        let (set, arm) = (handles::get::<SetObject>(set.id)?, arm(robot)?);
        fits(&arm, &set.0)?;
        // SAFETY: the caller's promise.
        let path = unsafe { text("path", path) }?;
        let (_, found) = Prior::read(path.as_ref(), set.0.clone(), &arm).map_err(input)?;
        // SAFETY: the caller's promise.
        unsafe { open(out, found) }
    })
}

/// Closes a set. What was made from it stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn surelift_set_close(set: SureliftSet) -> SureliftStatus {
    border(|| handles::close::<SetObject>(set.id))
}

/// The smallest and the largest values of each parameter, `n` each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_set_bounds(
    set: SureliftSet,
    lower: *mut f64,
    upper: *mut f64,
    n: usize,
) -> SureliftStatus {
    border(|| {
        let set = handles::get::<SetObject>(set.id)?;
        let expected = set.0.len();
        let outs = [Written::many("lower", lower, n, expected)?, Written::many("upper", upper, n, expected)?];
        for (out, found) in outs.into_iter().zip([set.0.lower(), set.0.upper()]) {
            // SAFETY: the caller's promise.
            unsafe { out.write(found) };
        }
        Ok(())
    })
}

/// What a set says of a payload: see SureliftPayload. `frame` is the name of a link that moves with the hand; null for the tool frame. There is no estimate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surelift_set_payload(
    set: SureliftSet,
    robot: SureliftRobot,
    frame: *const c_char,
    payload: *mut SureliftPayload,
) -> SureliftStatus {
    border(|| {
        let out = Written::one("payload", payload)?;
        let (set, arm) = (handles::get::<SetObject>(set.id)?, arm(robot)?);
        fits(&arm, &set.0)?;
        // SAFETY: the caller's promise.
        let frame = unsafe { optional_text("frame", frame) }?;
        let found = payload::of(&arm, frame, &set.0, None)?;
        // SAFETY: the caller's promise.
        unsafe { out.write(&[found]) };
        Ok(())
    })
}
