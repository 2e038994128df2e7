use super::*;
use crate::report::html;
use crate::report::tests::record;

/// A capsule that turns about z, one on the base, one that is held, and two boxes of which one moves.
pub(crate) fn replay() -> Replay {
    let shape = |name: &str, owner: ShapeOwner| ReplayShape { name: name.to_owned(), owner, radius_m: 0.05 };
    let square = vec![vec![[0.1, 0.1, 0.1], [-0.1, 0.1, 0.1], [-0.1, -0.1, 0.1], [0.1, -0.1, 0.1]]];
    let obstacle = |name: &str, moves: bool| ReplayObstacle {
        name: name.to_owned(),
        center: [0.4, 0.0, 0.1],
        moves,
        faces: square.clone(),
    };
    let pose = |k: u32| {
        let t = 0.12 * f64::from(k);
        let (y, x) = t.sin_cos();
        let arm = [[0.0, 0.0, 0.3], [x, y, 0.3]];
        let ends = vec![[[0.0; 3], [0.0, 0.0, 0.3]], arm, [[x, y, 0.3], [x, y, 0.2]]];
        ReplayPose { t, ends, centers: vec![[0.4, -t, 0.1]] }
    };
    let cell = |k: u32| {
        let poses = (pose(k), pose(k + 1));
        let swept = |shape: usize| SweptCapsule {
            start: poses.0.ends[shape],
            end: poses.1.ends[shape],
            off: [0.004, 0.011],
        };
        (0..3).map(swept).collect()
    };
    Replay {
        shapes: vec![
            shape("base", ShapeOwner::Base),
            shape("</script>", ShapeOwner::Link),
            shape("payload", ShapeOwner::Payload),
        ],
        poses: (0..=100).map(pose).collect(),
        obstacles: vec![obstacle("table \"x\"", false), obstacle("person", true)],
        plans: vec![ReplayPlan { t: 1.5, duration_s: 3.0, cells: (0..12).map(cell).collect() }],
    }
}

/// Undoes the differences, as the page does.
fn rows(list: &serde_json::Value, width: usize) -> Vec<Vec<f64>> {
    let list: Vec<i64> = list.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect();
    let mut before = vec![0; width];
    let row = |row: &[i64]| {
        before.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        before.iter().map(|x| *x as f64 * QUANTUM_M).collect()
    };
    list.chunks(width).map(row).collect()
}

#[test]
fn what_is_written_is_what_was_seen() {
    let (replay, summary) = (replay(), record().summary);
    let data: serde_json::Value = serde_json::from_str(&replay.json(&summary)).unwrap();
    assert_eq!(
        (&data["shapes"][1]["name"], &data["shapes"][2]["owner"]),
        (&"</script>".into(), &"payload".into())
    );
    assert_eq!(data["obstacles"][1]["moves"], true);
    let times = rows(&data["t_ms"], 1);
    let poses = rows(&data["poses"], 3 * 6 + 3);
    assert_eq!((times.len(), poses.len()), (101, 101));
    for (k, pose) in replay.poses.iter().enumerate() {
        assert!((times[k][0] / QUANTUM_M * 1e-3 - pose.t).abs() < 1e-3);
        let exact = pose.ends.iter().flatten().chain(&pose.centers).flatten();
        assert!(exact.zip(&poses[k]).all(|(x, y)| (x - y).abs() <= 0.5001 * QUANTUM_M));
    }
    let plan = &data["plans"][0];
    assert_eq!((&plan["number"], &plan["phase"], &plan["cells"]), (&1.into(), &"excite".into(), &12.into()));
    // Two capsules that move: two ends twice, and how far each may be off.
    let swept = rows(&plan["swept"], 2 * 14);
    for (cell, row) in replay.plans[0].cells.iter().zip(&swept) {
        assert!((cell[1].end[1][0] - row[9]).abs() <= 0.5001 * QUANTUM_M);
        assert!(row[13] >= cell[1].off[1] && row[27] >= cell[2].off[1]);
    }
}

#[test]
fn the_page_with_a_replay_needs_nothing_else() {
    let mut record = record();
    record.replay = Some(replay());
    let page = html::page(&record).unwrap();
    for word in [
        "http",
        "//",
        "href",
        " src=",
        "url(",
        "@import",
        "import(",
        "<link",
        "<img",
        "NaN",
        "fetch(",
        "{closest}",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    // Every plot over time can be followed.
    assert!(page.matches("data-axes=").count() >= 4 + 9 + 2 + 7);
    assert!(page.contains("data-seek=\"5.310\"") && page.contains("&lt;fore&gt;"));
    assert!(page.contains("<li>Plan 5 (carry), to start at 7.5"));
    // Without one there is no script at all.
    assert!(!html::page(&crate::report::tests::record()).unwrap().contains("<script"));
}

#[test]
fn numbers_that_are_not_finite_are_still_json() {
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let mut replay = replay();
        replay.poses[3].ends[0][0][0] = bad;
        replay.shapes[0].radius_m = bad;
        replay.plans[0].cells[0][1].off[0] = bad;
        replay.obstacles[0].center[2] = bad;
        serde_json::from_str::<serde_json::Value>(&replay.json(&record().summary)).unwrap();
    }
}
