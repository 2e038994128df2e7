//! What the certifier charges for drives that do not do as they are told.

use crate::certify::{CellReport, Problem, Workspaces};
use crate::enclose::Counted;
use crate::inertia::ParameterSet;
use crate::reach::{Span, fixture};
use crate::robot::{Arm, DriveBounds, Scene, load};
use crate::trajectory::{Bezier, JointState};

/// The report over `span` of a small motion with a tube of the usual size.
fn report(robot: &Arm, span: Span) -> CellReport {
    let (set, scene, tube) = (ParameterSet::around_nominal(robot), Scene::default(), fixture::tube(robot));
    let start = JointState::at_rest(&[0.1, 0.4, -0.3, 1.2, 0.2, -0.5, 0.3]);
    let end: Vec<f64> = start.q.iter().map(|q| q + 0.2).collect();
    let curve = Bezier::to_rest(&start, &end, 2.0).unwrap();
    Problem::new(robot, &set, &scene, &tube, &curve).unwrap().report(span, &Workspaces::<Counted>::default())
}

/// To the drift comes all that acts beside the command, to the torque that the joint must bear what the drive applies beside it; at the end of
/// the bounds, as the sum of both is a drive that is allowed.
#[test]
fn all_that_acts_beside_the_command_is_charged_and_no_more() {
    let ideal = load("kinova_gen3_2f85").unwrap();
    let drive = |j: usize| DriveBounds {
        error_nm: 0.1 + 0.02 * j as f64,
        error_ratio: 0.01 + 0.001 * j as f64,
        unmodelled_nm: 0.3 + 0.05 * j as f64,
        ..DriveBounds::IDEAL
    };
    let real = ideal.with_drives((0..ideal.dof()).map(drive).collect()).unwrap();
    for span in [Span::Between(0.5, 0.51), Span::Rest] {
        let (without, with) = (report(&ideal, span), report(&real, span));
        for j in 0..ideal.dof() {
            let command = without.torque[j].nominal_sup() + without.robust[j];
            let error = drive(j).error_nm + drive(j).error_ratio * command;
            let drift = with.required.drift_nm[j] - without.required.drift_nm[j];
            let margin = without.torque_margin[j] - with.torque_margin[j];
            for (charged, right) in [(drift, error + drive(j).unmodelled_nm), (margin, error)] {
                assert!(
                    charged >= right * (1.0 - 1e-9) && charged <= right * (1.0 + 1e-9),
                    "joint {j}: {charged} for {right}"
                );
            }
        }
    }
}
