//! What reports say of links that keep a distance from each other.

use super::figure::figure;
use crate::study::standing::SelfCollisionReport;

/// How near links come to each other, and what was not looked at.
pub(super) fn nearest(links: &SelfCollisionReport) -> String {
    let left_out = match links.overlap_at_start.len() {
        0 => String::new(),
        count => format!("; {count} pairs overlap by their build"),
    };
    match &links.nearest {
        Some((distance, [a, b])) => {
            format!("{} mm, `{a}` and `{b}`, of {} pairs{left_out}", figure(1e3 * distance), links.pairs)
        }
        None if links.overlap_at_start.is_empty() => {
            "not looked at: no capsules in the robot's file".to_owned()
        }
        None => format!("not looked at{left_out}"),
    }
}

/// The pairs that were left out by name; nothing where there are none.
pub(super) fn left_out(links: &SelfCollisionReport) -> Option<String> {
    let pairs: Vec<String> = links.overlap_at_start.iter().map(|[a, b]| format!("`{a}` and `{b}`")).collect();
    (!pairs.is_empty()).then(|| {
        format!("Pairs that overlap where motions begin, and were not looked at: {}", pairs.join(", "))
    })
}
