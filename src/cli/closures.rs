//! Where a robot's loops are proven to close in one way only, for `surelift robot`.

use serde::Serialize;

use crate::dynamics::constraint::reduced::{BlockDomain, ClosureDomain};
use crate::report::figure::figure;
use crate::robot::Model;

/// What is proven of the loops.
#[derive(Debug, Clone, Serialize)]
pub struct Closures {
    /// Loops tied to each other, with their motors.
    pub closures: Vec<ClosureFigures>,
    /// Why nothing is proven, if so.
    pub closures_fault: Option<String>,
}

/// Loops that share passive joints.
#[derive(Debug, Clone, Serialize)]
pub struct ClosureFigures {
    /// Their names.
    pub loops: Vec<String>,
    /// The joints that they move.
    pub passive: Vec<String>,
    /// The motors that move them.
    pub motors: Vec<MotorRange>,
    /// Proven cells of the motors' positions.
    pub cells: usize,
    /// Share of all cells.
    pub share: f64,
    /// Lower bound of the smallest singular value of the loops' Jacobian by the passive joints where the motors are in their proven ranges,
    /// m/rad where all of these joints turn.
    pub smallest_singular_value: f64,
    /// The same on all proven cells.
    pub smallest_on_all_cells: f64,
}

/// A motor of a loop.
#[derive(Debug, Clone, Serialize)]
pub struct MotorRange {
    /// Its joint.
    pub joint: String,
    /// Where the closure is proven to be unique, whatever the other motors do within theirs; rad or m.
    pub proven: [f64; 2],
    /// The joint's own range.
    pub range: [f64; 2],
}

impl Closures {
    /// Proves what can be proven around the posture in which the robot's file says that loops are closed.
    pub fn of(robot: &Model) -> Self {
        match ClosureDomain::of(robot) {
            Ok(domain) => {
                let closures = domain.blocks.iter().map(|block| ClosureFigures::of(robot, block)).collect();
                Self { closures, closures_fault: None }
            }
            Err(error) => Self { closures: vec![], closures_fault: Some(error.to_string()) },
        }
    }

    /// Rows of cells, a heading first.
    pub fn table(&self) -> Vec<Vec<String>> {
        let heading = ["loops", "motor", "proven", "of", "sigma of J_u", "all cells", "sigma there"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        for block in &self.closures {
            for (k, motor) in block.motors.iter().enumerate() {
                let first = |text: String| if k == 0 { text } else { String::new() };
                rows.push(vec![
                    first(block.loops.join(", ")),
                    motor.joint.clone(),
                    range(motor.proven),
                    range(motor.range),
                    first(figure(block.smallest_singular_value)),
                    first(format!("{} %", figure(100.0 * block.share))),
                    first(figure(block.smallest_on_all_cells)),
                ]);
            }
        }
        rows
    }
}

fn range([lower, upper]: [f64; 2]) -> String {
    format!("{lower:.4} to {upper:.4}")
}

impl ClosureFigures {
    fn of(robot: &Model, block: &BlockDomain) -> Self {
        let name = |&joint: &usize| robot.joints[joint].name.clone();
        let motor = |(k, joint): (usize, &usize)| {
            let ends = |range: crate::enclose::Interval| [range.lower(), range.upper()];
            MotorRange { joint: name(joint), proven: ends(block.rectangle[k]), range: ends(block.ranges[k]) }
        };
        Self {
            loops: block.block.loops().map(str::to_owned).collect(),
            passive: block.block.passive.iter().map(name).collect(),
            motors: block.block.motors.iter().enumerate().map(motor).collect(),
            cells: block.cells().len(),
            share: block.share(),
            smallest_singular_value: block.smallest_singular_value(&block.rectangle),
            smallest_on_all_cells: block.smallest_singular_value(&block.ranges),
        }
    }
}
