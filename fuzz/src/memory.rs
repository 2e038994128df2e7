//! Counts the memory in use, and refuses more than [`LIMIT`]: the program then ends as it would on a machine that has no more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes in use at most, those of the harness (some 20 MB) included.
pub const LIMIT: usize = 512 << 20;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a limit.
pub struct Limited;

// SAFETY: all work is the system's; a null pointer is the answer of an allocator that has no more.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Relaxed) + layout.size();
        if used > LIMIT {
            USED.fetch_sub(layout.size(), Relaxed);
            return std::ptr::null_mut();
        }
        MOST.fetch_max(used, Relaxed);
        // SAFETY: as asked.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as asked.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most bytes that were in use at a time.
pub fn most() -> usize {
    MOST.load(Relaxed)
}
