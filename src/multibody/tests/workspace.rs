//! A workspace brings nothing from one stage to another: what an estimate is does not depend on which thread had which stage.

use super::*;

/// What a stage tells, in all of its digits, and then again with what it remembers.
fn told(p: &MultibodyProblem, k: usize, s: &mut MultibodySpace) -> String {
    let (size, at) = (p.size(k), p.guess());
    let last = k + 1 == p.stages();
    let next = if last { 0 } else { p.size(k + 1).tangent };
    let mut values = StageValues {
        next: vec![0.0; if last { 0 } else { p.size(k + 1).state }],
        constraints: vec![0.0; size.constraints],
        ..StageValues::default()
    };
    let mut model = StageModel::new(size, next, p.map.len());
    let mut all = String::new();
    for _ in 0..2 {
        p.evaluate(k, at.at(k), s, &mut values).unwrap();
        all += &format!("{values:?}");
        model.clear(size, next);
        p.linearise(k, at.at(k), s, &mut model, &mut values).unwrap();
        let StageModel { cost, grad, hess, jac, con, con_value, .. } = &model;
        all += &format!("{cost} {grad:?} {hess:?} {jac:?} {con:?} {con_value:?} {values:?}");
    }
    all
}

#[test]
fn a_workspace_brings_nothing_from_one_stage_to_another() {
    let feet = ["LF_FOOT", "RF_FOOT"];
    let cases = [
        problem("kinova_gen3_2f85", Coordinates::LogCholesky),
        geared(problem("kinova_gen3_2f85", Coordinates::LogCholesky)),
        problem("go1", Coordinates::ExponentialEigenvalue),
        standing("anymal_b", &feet, LoopKind::Point),
    ];
    for p in cases {
        for form in [Formulation::Forward, Formulation::Inverse] {
            let p = p.clone().formulated(form);
            let mut kept = p.workspace();
            for k in (0..p.stages()).chain((0..p.stages()).rev()) {
                let name = &p.robot.name;
                assert!(told(&p, k, &mut kept) == told(&p, k, &mut p.workspace()), "{name}, {form:?}, {k}");
            }
        }
    }
}
