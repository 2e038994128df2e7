//! An arm whose driver is a shared library: no call of Python is in its control cycle.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::{Library, Symbol};
use pyo3::prelude::*;
use surelift::horizon::{Hardware, Reading};
use surelift::robot;

use crate::arm::Arm;
use crate::errors;

/// Name of the function that a driver's library exports.
const OPEN: &str = "surelift_driver_open";
/// The layout of [`Functions`], as in the header.
const VERSION: u32 = 1;
/// Room for a reason, bytes.
const ROOM: usize = 1024;

/// An error with what the system says of it.
fn in_full(error: libloading::Error) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        words += &format!(": {error}");
        source = error.source();
    }
    words
}

/// `SureliftDriver` of `include/surelift_driver.h`; what each function does is said there.
#[repr(C)]
struct Functions {
    version: u32,
    arm: *mut c_void,
    time: Option<unsafe extern "C" fn(*mut c_void) -> f64>,
    read: Option<unsafe extern "C" fn(*mut c_void, *mut f64, *mut f64) -> bool>,
    command: Option<unsafe extern "C" fn(*mut c_void, *const f64, *mut f64) -> bool>,
    hold: Option<unsafe extern "C" fn(*mut c_void, *mut f64) -> bool>,
    gripper: Option<unsafe extern "C" fn(*mut c_void, bool)>,
    stop_begins: Option<unsafe extern "C" fn(*mut c_void)>,
    close: Option<unsafe extern "C" fn(*mut c_void)>,
}

type Open = unsafe extern "C" fn(*const c_char, usize, f64, *mut Functions, *mut c_char, usize) -> c_int;

/// An arm whose driver is a shared library in C or C++, for `Job`: no call of Python, and no lock of its, is in the control cycle.
///
/// `path`: the library, which exports `surelift_driver_open` as `surelift_driver.h` in the folder `get_include()` says; `config`: any text for it, such as an address.
/// `InputError` says what is missing, or why the driver refuses. One job can be had with it. It is code of your own in this process: a fault of it ends Python.
#[pyclass(frozen, module = "surelift")]
pub struct NativeArm {
    native: Mutex<Option<Native>>,
    arm: Arc<robot::Arm>,
}

impl NativeArm {
    /// The arm as a job's hardware.
    pub fn hardware(&self, arm: &Arm) -> PyResult<Native> {
        if !Arc::ptr_eq(&self.arm, &arm.inner) {
            let (own, of_job) = (&self.arm.name, &arm.inner.name);
            return Err(errors::input(format!(
                "driver: drives '{own}', expected the job's own arm, '{of_job}'"
            )));
        }
        let taken = self.native.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| errors::input("driver: has had its job; open another NativeArm"))
    }
}

#[pymethods]
impl NativeArm {
    #[new]
    #[pyo3(signature = (arm, path, config=""))]
    fn new(arm: &Arm, path: PathBuf, config: &str) -> PyResult<Self> {
        let native = Native::open(&arm.inner, &path, config)
            .map_err(|reason| errors::input(format!("{}: {reason}", path.display())))?;
        Ok(Self { native: Mutex::new(Some(native)), arm: arm.inner.clone() })
    }
}

/// A driver that was opened.
pub struct Native {
    /// `version` is right, and `read`, `command` and `hold` are there.
    functions: Functions,
    period_s: f64,
    ticks: u64,
    /// What its clock said at first, s.
    first_s: Option<f64>,
    /// Keeps the functions in memory.
    _library: Library,
}

// SAFETY: the header says that everything is called in another thread than `surelift_driver_open`, one at a time.
unsafe impl Send for Native {}

impl Native {
    fn open(arm: &robot::Arm, path: &std::path::Path, config: &str) -> Result<Self, String> {
        let config = CString::new(config).map_err(|_| "config: a zero byte in the text".to_owned())?;
        // SAFETY: what the library does when it is loaded is its author's; the documentation says so.
        let library = unsafe { Library::new(path) }.map_err(in_full)?;
        let mut functions = Functions {
            version: 0,
            arm: std::ptr::null_mut(),
            time: None,
            read: None,
            command: None,
            hold: None,
            gripper: None,
            stop_begins: None,
            close: None,
        };
        let period_s = arm.gains().period_s;
        let mut reason = [0_u8; ROOM];
        let refused = {
            // SAFETY: the header says that a function of this name is of this type.
            let open: Symbol<'_, Open> = unsafe { library.get(OPEN) }
                .map_err(|error| format!("no driver, as `{OPEN}` is missing: {}", in_full(error)))?;
            let at = reason.as_mut_ptr().cast();
            // SAFETY: a text that ends, a place for one driver, and so much room.
            unsafe { open(config.as_ptr(), arm.dof(), period_s, &raw mut functions, at, ROOM) }
        };
        if refused != 0 {
            let end = reason.iter().position(|byte| *byte == 0).unwrap_or(ROOM);
            return Err(format!(
                "the driver refuses ({refused}): {}",
                String::from_utf8_lossy(&reason[..end])
            ));
        }
        if functions.version != VERSION {
            let found = functions.version;
            return Err(format!(
                "driver of version {found}, expected {VERSION}; compile it with the header of this surelift"
            ));
        }
        let needed = [
            ("read", functions.read.is_some()),
            ("command", functions.command.is_some()),
            ("hold", functions.hold.is_some()),
        ];
        let native = Self { functions, period_s, ticks: 0, first_s: None, _library: library };
        match needed.iter().find(|(_, there)| !there) {
            Some((name, _)) => Err(format!("the driver's function `{name}` is NULL")),
            None => Ok(native),
        }
    }

    /// When the reading was there, s: by the driver's clock from the first reading on, or by even periods.
    fn stamp_s(&mut self) -> f64 {
        let even_s = self.time();
        let Some(time) = self.functions.time else { return even_s };
        // SAFETY: as the header says.
        let now_s = unsafe { time(self.functions.arm) };
        now_s - *self.first_s.get_or_insert(now_s - even_s)
    }
}

impl Hardware for Native {
    fn time(&self) -> f64 {
        self.ticks as f64 * self.period_s
    }

    fn read(&mut self, reading: &mut Reading) {
        let (q, dq) = (&mut reading.q, &mut reading.dq);
        // SAFETY: both have one number a joint.
        let there = self
            .functions
            .read
            .is_some_and(|f| unsafe { f(self.functions.arm, q.as_mut_ptr(), dq.as_mut_ptr()) });
        if !there {
            q.fill(f64::NAN);
            dq.fill(f64::NAN);
        }
        reading.t = self.stamp_s();
    }

    fn command(&mut self, tau: &[f64], measured: &mut [f64]) -> bool {
        self.ticks += 1;
        let arm = self.functions.arm;
        // SAFETY: both have one number a joint.
        self.functions.command.is_some_and(|f| unsafe { f(arm, tau.as_ptr(), measured.as_mut_ptr()) })
    }

    fn hold(&mut self, measured: &mut [f64]) -> bool {
        self.ticks += 1;
        // SAFETY: one number a joint.
        self.functions.hold.is_some_and(|f| unsafe { f(self.functions.arm, measured.as_mut_ptr()) })
    }

    fn gripper(&mut self, closes: bool) {
        if let Some(f) = self.functions.gripper {
            // SAFETY: as the header says.
            unsafe { f(self.functions.arm, closes) }
        }
    }

    fn stop_begins(&mut self) {
        if let Some(f) = self.functions.stop_begins {
            // SAFETY: as the header says.
            unsafe { f(self.functions.arm) }
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        if let Some(close) = self.functions.close {
            // SAFETY: it is called once, and nothing after it.
            unsafe { close(self.functions.arm) }
        }
    }
}
