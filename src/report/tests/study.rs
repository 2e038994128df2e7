//! What is said of a study.

use std::fs;

use crate::report::study::{closing, write};
use crate::study::identification::tests::refutations::found_of_a_jump;

/// Terminal, page and JSON name the kind, the joint and what would be enough.
#[test]
#[ignore = "long: cargo test --release --tests -- --ignored at_length"]
fn a_jump_is_told_with_its_joint_and_what_would_be_enough_at_length() {
    let (findings, joint) = found_of_a_jump();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("found");
    write(&out, &findings, None).unwrap();
    let said = closing(&findings);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for text in [&said, &page] {
        for part in ["position against velocity", &joint, "both encoder bounds x", "timing: no errors"] {
            assert!(text.contains(part), "`{part}` not in {text}");
        }
    }
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    let told = &json["verdict"]["broken"][0];
    assert_eq!(told["assumption"], "position_against_velocity");
    assert!(told["remedies"][0]["enough"].as_f64().unwrap() > 1.0, "{told}");
}
