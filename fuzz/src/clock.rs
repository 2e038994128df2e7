//! Time that this process has had on processors: on a busy machine an input is not slow because others are served first.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Ticks of the kernel in a second, as all usual configurations have it.
const TICKS: f64 = 100.0;

/// Time on processors, all threads together, to 10 ms; time on the clock where the system does not tell.
pub fn used() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    ticks().unwrap_or_else(|| START.get_or_init(Instant::now).elapsed())
}

fn ticks() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may hold anything: fields 14 and 15 of all.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Duration::from_secs_f64((user + system) / TICKS))
}
