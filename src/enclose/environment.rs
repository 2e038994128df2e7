//! Whether this thread's arithmetic is the one that enclosures assume.
//!
//! Rust assumes it, too. But a program in C, C++ or Python may have changed it before it calls: with `fesetround`, or by a library that was compiled with `-ffast-math`, which has numbers near zero
//! flushed to zero. Outward rounding would then be none.

use std::hint::black_box;

/// What is wrong with this thread's arithmetic, in words; `None` if it rounds to nearest and keeps subnormal numbers.
///
/// Three sums tell the rounding modes of IEEE 754 apart. With e = [`f64::EPSILON`], 1 + e/4 and -1 - e/4 lie nearest to 1 and -1, and so does 1 - e/8 to 1. Upward the first sum gives
/// 1 + e, downward the second one -1 - e, towards zero the third one 1 - e/2. The compiler knows none of the operands, so nothing is computed before the program runs.
pub fn fault() -> Option<&'static str> {
    let (one, quarter, least) = (black_box(1.0), black_box(f64::EPSILON / 4.0), black_box(f64::MIN_POSITIVE));
    let sums = [one + quarter, -(-one - quarter), one - 0.5 * quarter];
    if sums != [1.0; 3] {
        return Some("this thread's arithmetic does not round to nearest (fesetround?)");
    }
    let half = black_box(0.5 * least);
    // Read as zero, or made zero.
    if half == 0.0 || half + half != least {
        return Some("this thread's arithmetic takes numbers near zero for zero (-ffast-math?)");
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn arithmetic_is_as_it_should_be() {
        assert_eq!(super::fault(), None);
    }

    /// In a thread of its own, which ends with it.
    #[cfg(target_arch = "x86_64")]
    fn with_control(bits: u32, work: impl FnOnce() + Send + 'static) {
        let within = move || {
            let mut control = 0_u32;
            // SAFETY: the control word of this thread's floating-point arithmetic, which is set back below; nothing in between relies on it but what is tested.
            unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control) };
            let changed = control | bits;
            // SAFETY: as above.
            unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const changed) };
            work();
            // SAFETY: as above.
            unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control) };
        };
        std::thread::spawn(within).join().unwrap();
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn each_other_arithmetic_is_told() {
        // Rounding down, up and towards zero; subnormal results flushed to zero; subnormal operands taken for zero.
        for (bits, words) in [
            (0x2000, "nearest"),
            (0x4000, "nearest"),
            (0x6000, "nearest"),
            (0x8000, "zero"),
            (0x0040, "zero"),
        ] {
            with_control(bits, move || {
                let fault = super::fault();
                assert!(fault.is_some_and(|fault| fault.contains(words)), "{bits:x}: {fault:?}");
            });
        }
    }
}
