//! Which branches an input has taken: counters that the compiler puts in (see `.cargo/config.toml`).

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

static START: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Called before `main` by each compiled part, each time with all counters of the program.
///
/// # Safety
/// The compiler's runtime hands over the bounds of an array that lives as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, end: *mut u8) {
    START.store(start as usize, SeqCst);
    END.store(end as usize, SeqCst);
}

/// What has been reached so far.
pub struct Reached {
    /// For each counter the classes of counts that were seen, a bit each.
    seen: Vec<u8>,
    /// Counters that were seen at all.
    pub branches: usize,
}

impl Reached {
    pub fn new() -> Self {
        Self { seen: vec![0; counters().len()], branches: 0 }
    }

    /// Sets all counters to zero.
    pub fn begin() {
        counters().fill(0);
    }

    /// Whether the counters show anything new since [`Self::begin`]; it counts as seen from now on.
    pub fn anything_new(&mut self) -> bool {
        let mut new = false;
        for (words, seen) in counters().chunks(8).zip(self.seen.chunks_mut(8)) {
            if words == [0; 8] {
                continue;
            }
            for (count, seen) in words.iter().zip(seen) {
                let class = class(*count);
                if class & !*seen != 0 {
                    self.branches += usize::from(*seen == 0);
                    *seen |= class;
                    new = true;
                }
            }
        }
        new
    }
}

/// All counters. Threads that count at the same time lose counts at worst.
fn counters() -> &'static mut [u8] {
    let (start, end) = (START.load(SeqCst), END.load(SeqCst));
    if start == 0 {
        return &mut [];
    }
    // SAFETY: the bounds come from the compiler's runtime; only one thread of this program asks.
    unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) }
}

/// Counts that differ by a factor of some two are told apart.
fn class(count: u8) -> u8 {
    match count {
        0 => 0,
        1..=3 => 1 << (count - 1),
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        _ => 128,
    }
}
