//! World files: start, goal and boxes as a table of numbers, the CSV format of the random worlds of ARMOUR (`docs/bibliography.md`, number 6).
//!
//! | row | content |
//! |---|---|
//! | 1 | start configuration, one number a joint, rad |
//! | 2 | goal configuration, rad |
//! | 3 | `NaN` in every column: ends the configurations |
//! | 4 and on | one box a row: centre x, y, z, full side lengths x, y, z (m), axes along those of the base frame |
//!
//! Every row has as many columns as there are joints (six at least, for the boxes). Columns that a row has no number for
//! hold `NaN`, in any case, or nothing at all. Empty lines at the end are passed over.

use std::path::Path;

use super::error::ScenarioError;

/// What a world file says.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldFile {
    /// Start configuration, rad.
    pub start: Vec<f64>,
    /// Goal configuration, rad.
    pub goal: Vec<f64>,
    /// The boxes.
    pub boxes: Vec<Cuboid>,
}

/// A box along the axes of the base frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cuboid {
    /// Centre, m.
    pub center: [f64; 3],
    /// Full side lengths, m.
    pub size: [f64; 3],
}

/// Numbers of a box.
const BOX: usize = 6;

/// Where something is wrong: line, column and reason.
type Fault = (usize, Option<usize>, String);

/// Reads a world file for an arm with `joints` joints.
///
/// # Errors
/// [`ScenarioError::Read`] or [`ScenarioError::World`] with line and column.
pub fn read(path: &Path, joints: usize) -> Result<WorldFile, ScenarioError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ScenarioError::Read { path: path.to_path_buf(), source })?;
    parse(&text, joints).map_err(|(line, column, reason)| ScenarioError::World {
        path: path.to_path_buf(),
        line,
        column,
        reason,
    })
}

fn parse(text: &str, joints: usize) -> Result<WorldFile, Fault> {
    let columns = joints.max(BOX);
    let rows: Vec<(usize, &str)> = text.trim_end().lines().enumerate().map(|(i, s)| (i + 1, s)).collect();
    let last = rows.len();
    let mut rows = rows.into_iter();
    let mut next = |what: &str| {
        rows.next().ok_or_else(|| (last.max(1), None, format!("the file ends here, expected {what} below")))
    };
    let start = numbers(next("the start configuration")?, columns, joints, "a joint angle in rad")?;
    let goal = numbers(next("the goal configuration")?, columns, joints, "a joint angle in rad")?;
    numbers(next("a line of NaN")?, columns, 0, "")?;
    let boxes = rows.map(|row| cuboid(row, columns)).collect::<Result<_, Fault>>()?;
    Ok(WorldFile { start, goal, boxes })
}

/// A row of `columns` values whose first `used` are finite numbers and whose others are none.
fn numbers(row: (usize, &str), columns: usize, used: usize, what: &str) -> Result<Vec<f64>, Fault> {
    let (line, text) = row;
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    if cells.len() != columns {
        return Err((line, None, format!("{} columns, expected {columns}", cells.len())));
    }
    let mut values = Vec::with_capacity(used);
    for (i, cell) in cells.into_iter().enumerate() {
        let fault = |expected: &str| (line, Some(i + 1), format!("`{cell}`, expected {expected}"));
        let none = cell.is_empty() || cell.eq_ignore_ascii_case("nan");
        match cell.parse::<f64>() {
            Ok(x) if i < used && x.is_finite() => values.push(x),
            _ if i < used => return Err(fault(what)),
            _ if none => {}
            _ => return Err(fault("NaN or nothing")),
        }
    }
    Ok(values)
}

fn cuboid(row: (usize, &str), columns: usize) -> Result<Cuboid, Fault> {
    let line = row.0;
    let values = numbers(row, columns, BOX, "a length in m")?;
    if let Some(i) = (3..BOX).find(|&i| values[i] <= 0.0) {
        return Err((line, Some(i + 1), format!("side length {} m, expected more than 0", values[i])));
    }
    let three = |from: usize| std::array::from_fn(|i| values[from + i]);
    Ok(Cuboid { center: three(0), size: three(3) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: &str = "0.1,0.2,0.3,0.4,0.5,0.6,0.7\n-1,-2,-3,-4,-5,-6,-7e-1\nNaN,NaN,NaN,NaN,NaN,NaN,NaN\n\
                         0.4,0.5,0.6,0.1,0.2,0.3,NaN\n0.7, 0.8 ,0.9,1,2,3,\n\n";

    #[test]
    fn start_goal_and_boxes_are_read() {
        let world = parse(WORLD, 7).unwrap();
        assert_eq!(world.start, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
        assert_eq!(world.goal[6], -0.7);
        let boxes = [
            Cuboid { center: [0.4, 0.5, 0.6], size: [0.1, 0.2, 0.3] },
            Cuboid { center: [0.7, 0.8, 0.9], size: [1.0, 2.0, 3.0] },
        ];
        assert_eq!(world.boxes, boxes);
        assert_eq!(parse(&WORLD.replace('\n', "\r\n").to_lowercase(), 7).unwrap(), world);
        let empty: Vec<&str> = WORLD.lines().take(3).collect();
        assert!(parse(&empty.join("\n"), 7).unwrap().boxes.is_empty());
        // An arm with fewer joints than a box has numbers.
        let small = "1,2,3,nan,nan,nan\n1,2,3,,,\n,,,,,\n1,2,3,4,5,6";
        assert_eq!(parse(small, 3).unwrap().goal, [1.0, 2.0, 3.0]);
    }

    #[test]
    fn faults_are_found_where_they_are() {
        let fault = |from: &str, to: &str| {
            assert!(WORLD.contains(from));
            parse(&WORLD.replacen(from, to, 1), 7).unwrap_err()
        };
        assert_eq!(fault("0.3,0.4,0.5,0.6,0.7", "0.3").0, 1);
        for (from, to, line, column, says) in [
            ("0.3,", "x,", 1, 3, "`x`, expected a joint angle"),
            ("-7e-1", "NaN", 2, 7, "`NaN`, expected a joint angle"),
            ("-5,", "inf,", 2, 5, "expected a joint angle"),
            ("NaN,", "0,", 3, 1, "`0`, expected NaN or nothing"),
            ("0.6,0.1,", "0.6,nan,", 4, 4, "expected a length"),
            ("0.3,NaN", "0.3,9", 4, 7, "`9`, expected NaN"),
            ("1,2,3,", "1,0,3,", 5, 5, "side length 0 m"),
            ("1,2,3,", "1,2,-3,", 5, 6, "side length -3 m"),
        ] {
            let (l, c, reason) = fault(from, to);
            assert_eq!((l, c), (line, Some(column)), "{reason}");
            assert!(reason.contains(says), "{reason}");
        }
        assert_eq!(fault("\n0.7,", "\n\n0.7,"), (5, None, "1 columns, expected 7".to_owned()));
        for (rows, expected) in [(0, "start"), (1, "goal"), (2, "line of NaN")] {
            let text: Vec<&str> = WORLD.lines().take(rows).collect();
            let (_, _, reason) = parse(&text.join("\n"), 7).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
    }
}
