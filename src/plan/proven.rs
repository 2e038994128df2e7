//! A motion of one's own, with a tube that is fitted to it and a proof: what callers need that have no planner.

use crate::certify::{Partition, Problem, Refusal, Start, certify};
use crate::inertia::ParameterSet;
use crate::reach::TrackingTube;
use crate::robot::{Arm, Scene};
use crate::trajectory::PiecewiseBezier;

use super::propose::cells;
use super::saved::{self, Plan, PlanStart};
use super::tube_fit;

/// Cells in which the constants of the tube are fitted. They are a guess with a reserve, so a few do.
const CELLS: usize = 16;

impl Plan {
    /// Proves `curve` from rest for an arm whose parameters lie in `set`, among the obstacles of `scene` (base frame), under the first law. The constants of
    /// the tube are fitted to the curve.
    ///
    /// # Errors
    /// [`Refusal::Unsupported`] for sizes, numbers and curves that make no sense, by name; otherwise the constraint that could not be proven.
    pub fn prove_from_rest(
        robot: &Arm,
        set: &ParameterSet,
        scene: &Scene,
        curve: PiecewiseBezier,
    ) -> Result<Self, Refusal> {
        // The fit takes sizes for granted.
        let (found, expected) = (curve.view().dof(), robot.dof());
        if found != expected {
            let name = &robot.name;
            return Err(Refusal::Unsupported(format!(
                "points: expected {expected} joints of '{name}', found {found}"
            )));
        }
        curve.view().check().map_err(|error| Refusal::Unsupported(error.to_string()))?;
        if let Some(fault) = set.fault(expected, robot.parameter_count(), curve.duration_s()) {
            return Err(Refusal::Unsupported(format!("parameter set: {fault}")));
        }
        let tube = tube_fit::fit(robot, set, &curve, &tube_fit::initial(robot), CELLS)?;
        let problem = Problem::new(robot, set, scene, &tube, &curve)?;
        let partition = Partition { cells: cells(curve.duration_s()), ..Partition::default() };
        let certificate = certify(&problem, &Start::Rest, partition)?;
        let tube = TrackingTube::from(tube);
        Ok(Self {
            schema: saved::schema(scene, curve.view(), &tube),
            t_start_s: 0.0,
            start: PlanStart::Rest,
            curve,
            tube,
            set: set.clone(),
            scene: scene.clone(),
            robot: robot.clone(),
            certificate,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enclose::Counted;
    use crate::trajectory::{Bezier, JointState};

    const START: [f64; 7] = [0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5];
    const END: [f64; 7] = [0.3, 0.2, 3.0, -1.6, 0.3, 0.7, 1.2];

    fn prove(curve: PiecewiseBezier, parameters: Option<usize>) -> Result<Plan, Refusal> {
        let robot = crate::robot::load("kinova_gen3_2f85").unwrap();
        let set = match parameters {
            Some(n) => ParameterSet::new(vec![0.0; n], vec![1.0; n]).unwrap(),
            None => ParameterSet::around_nominal(&robot),
        };
        Plan::prove_from_rest(&robot, &set, &Scene::default(), curve)
    }

    fn curve() -> Bezier {
        Bezier::to_rest(&JointState::at_rest(&START), &END, 3.0).unwrap()
    }

    #[test]
    fn a_plan_of_ones_own_is_proven_again_from_what_it_holds() {
        let plan = prove(curve().into(), None).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        let read = Plan::from_json(&text).unwrap();
        assert_eq!(read, plan);
        let partition = Partition { cells: cells(3.0), ..Partition::default() };
        let again = read.verify::<Counted>(None, partition).unwrap();
        assert_eq!(again, plan.certificate);
    }

    #[test]
    fn what_makes_no_sense_is_named_and_what_is_not_proven_too() {
        let refused = |curve: Bezier, parameters: Option<usize>| prove(curve.into(), parameters).unwrap_err();
        let unsupported = |refusal: Refusal, words: &str| match refusal {
            Refusal::Unsupported(text) => assert!(text.contains(words), "{text}"),
            other => panic!("{other}"),
        };
        let mut short = curve();
        short.points.pop();
        unsupported(refused(short, None), "expected 7 joints");
        let mut lost = curve();
        lost.points[2][3] = f64::NAN;
        unsupported(refused(lost, None), "points");
        unsupported(refused(Bezier { duration_s: 0.0, ..curve() }, None), "duration_s");
        unsupported(refused(curve(), Some(3)), "parameter set");
        let mut moving = curve();
        moving.points[0][1] += 0.1;
        assert!(matches!(refused(moving, None), Refusal::Start(_)));
        let hasty = Bezier { duration_s: 0.3, ..curve() };
        assert!(matches!(refused(hasty, None), Refusal::Constraint { .. }));
    }
}
