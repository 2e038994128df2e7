//! Things that belong to the thread that made them, for calls that let go of Python's lock.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, ThreadId};

use pyo3::prelude::*;

use crate::errors::{self, border};

const FREE: u8 = 0;
const BUSY: u8 = 1;
/// A panic has ended a call.
const FAULTY: u8 = 2;

/// Something that one thread alone uses, one call at a time.
pub struct Owned<T> {
    inner: std::cell::UnsafeCell<ManuallyDrop<T>>,
    owner: ThreadId,
    state: AtomicU8,
    what: &'static str,
}

// SAFETY: `inner` is reached through `with` and `drop` alone, and both of them by the thread that made it alone.
unsafe impl<T> Send for Owned<T> {}
// SAFETY: as above; two uses at once are kept apart by `state`.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Owned<T> {
    /// `what` names it in messages.
    pub fn new(what: &'static str, inner: T) -> Self {
        let (owner, state) = (thread::current().id(), AtomicU8::new(FREE));
        Self { inner: ManuallyDrop::new(inner).into(), owner, state, what }
    }

    /// Does something with it while other threads of Python go on; no panic gets out.
    pub fn with<R>(&self, py: Python<'_>, act: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        if thread::current().id() != self.owner {
            let expected = "expected a call from the thread that made it";
            return Err(errors::busy(format!("{}: belongs to another thread, {expected}", self.what)));
        }
        match self.state.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {}
            Err(FAULTY) => return Err(errors::left_half_done(self.what)),
            Err(_) => {
                let expected = "expected no call from within one";
                return Err(errors::busy(format!("{}: at work in another call, {expected}", self.what)));
            }
        }
        // SAFETY: this thread is the owner, and no other call is under way.
        let inner = unsafe { &mut *self.inner.get() };
        let done = border(|| Ok(detached(py, || act(inner))));
        self.state.store(if done.is_ok() { FREE } else { FAULTY }, Ordering::Release);
        done
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // In another thread it stays in memory: its parts may not be touched there. After a panic nobody knows what its end would do.
        if thread::current().id() == self.owner && *self.state.get_mut() != FAULTY {
            // SAFETY: it is dropped once, by its owner.
            unsafe { ManuallyDrop::drop(self.inner.get_mut()) };
        }
    }
}

/// What runs without Python's lock, and what comes of it, in the thread that it was made in.
struct Here<T>(T);

// SAFETY: `detached` alone makes one. `Python::detach` calls what it is given in the calling thread, before it returns.
unsafe impl<T> Send for Here<T> {}

impl<T> Here<T> {
    fn take(self) -> T {
        self.0
    }
}

/// `act` without Python's lock. It may use what belongs to this thread, and objects of Python through `Python::attach` alone.
pub fn detached<R>(py: Python<'_>, act: impl FnOnce() -> R) -> R {
    let here = Here(act);
    py.detach(move || Here(here.take()())).take()
}
