//! What reports say of links that keep a distance from each other.

use super::figure::figure;
use crate::study::standing::SelfCollisionReport;

/// How near links come to each other, and of how many pairs.
pub(super) fn nearest(links: &SelfCollisionReport) -> String {
    match &links.nearest {
        Some((distance, [a, b])) => {
            format!("{} mm, `{a}` and `{b}`, of {} pairs", figure(1e3 * distance), links.pairs)
        }
        None => "not looked at: the robot's file has no capsules that could meet".to_owned(),
    }
}

/// Sentences on pairs that were left out, or keep less than they are asked for; by name.
pub(super) fn exceptions(links: &SelfCollisionReport) -> Vec<String> {
    let named = |[a, b]: &[String; 2]| format!("`{a}` and `{b}`");
    let mut all = vec![];
    if !links.overlap_at_start.is_empty() {
        let pairs: Vec<String> = links.overlap_at_start.iter().map(named).collect();
        all.push(format!(
            "Pairs that overlap where motions begin, and were not looked at: {}.",
            pairs.join(", ")
        ));
    }
    if !links.near_by_build.is_empty() {
        let kept = |(kept, pair): &(f64, [String; 2])| format!("{} ({} mm)", named(pair), figure(1e3 * kept));
        let pairs: Vec<String> = links.near_by_build.iter().map(kept).collect();
        all.push(format!(
            "Pairs that are near by their build, and keep less than the clearance: {}.",
            pairs.join(", ")
        ));
    }
    all
}
