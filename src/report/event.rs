//! What a running job tells, as lines of plain text.

use std::fmt;

use super::figure::{above, below, figure, percent};
use crate::horizon::Event;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::RunStarted { scenario, method, seed, robot } => {
                write!(f, "{scenario}: {robot}, method {method}, seed {seed}")
            }
            Event::PlanProposed { index, phase, t, propose_ms } => {
                write!(f, "plan {index} ({phase}, from {t:.2} s) proposed in {propose_ms:.0} ms")
            }
            Event::PlanCertified { index, phase, t, propose_ms, certify_ms, min_margin } => {
                write!(f, "plan {index} ({phase}, from {t:.2} s) certified: ")?;
                write!(f, "propose {propose_ms:.0} ms, certify {certify_ms:.0} ms; margins: {min_margin}")
            }
            Event::PlanFailed { index, reason } => write!(f, "plan {index} failed: {reason}"),
            Event::Executing { t, t_end, phase, tracking_ratio } => {
                write!(f, "t = {t:.2} s, executing ({phase}) until {t_end:.2} s, ")?;
                write!(f, "{} of the tube used", percent(Some(*tracking_ratio)))
            }
            Event::Identified { t, mass_lower, mass_upper, half_widths, update_ms, condition_number } => {
                let widest = |range: std::ops::Range<usize>| {
                    above(half_widths.get(range).unwrap_or(&[]).iter().copied().fold(f64::NAN, f64::max))
                };
                write!(f, "t = {t:.2} s, mass in [{}, {}] kg", below(*mass_lower), above(*mass_upper))?;
                write!(f, "; half-widths <= {} kg m, {} kg m^2", widest(1..4), widest(4..10))?;
                if let Some(condition) = condition_number {
                    write!(f, "; condition {}", figure(*condition))?;
                }
                write!(f, " ({update_ms:.0} ms)")
            }
            Event::Gap { from, to } => {
                write!(f, "no measurements from {from:.3} s to {to:.3} s; their window of data is left out")
            }
            Event::Waiting { t, obstacle } => write!(f, "t = {t:.2} s, waiting for '{obstacle}'"),
            Event::Stopped { outcome, reason } => {
                write!(f, "{outcome}")?;
                reason.iter().try_for_each(|why| write!(f, ": {why}"))
            }
        }
    }
}
