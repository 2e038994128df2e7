//! The proof of one motion, and the heaviest payload for which there is one.

use surelift::certify::{Certificate, Partition, Problem, Start, certify};
use surelift::inertia::ParameterSet;
use surelift::job::{GraspPrior, JobOptions};
use surelift::plan::Plan;
use surelift::plan::propose::cells;
use surelift::plan::saved::{self, PlanStart};
use surelift::plan::tube_fit;
use surelift::reach::TrackingTube;
use surelift::robot::{Arm, Scene};
use surelift::trajectory::{Bezier, PiecewiseBezier};

use crate::{ProvenMargin, in_words};

/// Cells in which the constants of a tube are fitted.
const FIT_CELLS: usize = 16;
/// Heaviest and lightest payload that is tried, kg.
const HEAVIEST_KG: f64 = 64.0;
const LIGHTEST_KG: f64 = 1.0 / 64.0;
/// Halvings of the interval of masses, in logarithms: of a factor 4096 remains one of 1.033.
const HALVINGS: usize = 8;

/// An arm with an unknown payload.
pub struct Held {
    /// The payload's shape is part of it.
    pub robot: Arm,
    /// All that may be true.
    pub set: ParameterSet,
}

impl Held {
    /// All of the payload lies in a box of the tool frame, m, and weighs no more than so many kg.
    pub fn new(robot: &Arm, mass_kg: f64, center_m: [f64; 3], size_m: [f64; 3]) -> Result<Self, String> {
        let prior = GraspPrior::within(mass_kg, center_m, size_m).named("payload");
        let (robot, held) = prior.attached_to(robot, &JobOptions::of(robot)).map_err(in_words)?;
        let set = held.prior.applied_to(ParameterSet::around_nominal(&robot), &robot).map_err(in_words)?;
        Ok(Self { robot, set })
    }
}

/// Proves the motion from rest for all that may be true; or says what could not be proven.
pub fn prove(Held { robot, set }: &Held, curve: &Bezier) -> Result<Plan, String> {
    let scene = Scene::default();
    let guess = tube_fit::initial(robot);
    let tube = tube_fit::fit(robot, set, curve, &guess, FIT_CELLS).map_err(in_words)?;
    let curve = PiecewiseBezier::from(curve.clone());
    let certificate = {
        let problem = Problem::new(robot, set, &scene, &tube, &curve).map_err(in_words)?;
        let partition = Partition { cells: cells(curve.duration_s()), ..Partition::default() };
        certify(&problem, &Start::Rest, partition).map_err(in_words)?
    };
    let tube = TrackingTube::from(tube);
    Ok(Plan {
        schema: saved::schema(&scene, curve.view(), &tube),
        t_start_s: 0.0,
        start: PlanStart::Rest,
        curve,
        tube,
        set: set.clone(),
        scene,
        robot: robot.clone(),
        certificate,
    })
}

/// What is left of each kind of limit.
pub fn margins(certificate: &Certificate) -> Vec<ProvenMargin> {
    let all = [
        ("position", &certificate.position, "rad"),
        ("velocity", &certificate.velocity, "rad/s"),
        ("torque", &certificate.torque, "N m"),
        ("distance", &certificate.collision, "m"),
    ];
    let told = |(of, margin, unit): (_, &surelift::certify::Margin, _)| ProvenMargin {
        of,
        value: margin.value,
        unit,
        t: margin.t,
        at: margin.at.clone(),
    };
    all.into_iter().map(told).collect()
}

/// A mass, kg, up to which the motion is proven, and what stands in the way of 4 % more. A bisection: its lower end was proven, its upper end refused.
pub fn heaviest(curve: &Bezier, held: impl Fn(f64) -> Result<Held, String>) -> Result<(f64, String), String> {
    let tried = |mass_kg: f64| held(mass_kg).and_then(|held| prove(&held, curve).map(drop));
    // What is wrong with the box is no question of mass.
    held(LIGHTEST_KG)?;
    if let Err(forbids) = tried(LIGHTEST_KG) {
        return Ok((0.0, forbids));
    }
    let (mut proven, mut refused) = (LIGHTEST_KG, HEAVIEST_KG);
    let mut forbids = match tried(HEAVIEST_KG) {
        Ok(()) => return Ok((HEAVIEST_KG, "nothing heavier was tried".to_owned())),
        Err(forbids) => forbids,
    };
    for _ in 0..HALVINGS {
        let middle = (proven * refused).sqrt();
        match tried(middle) {
            Ok(()) => proven = middle,
            Err(refusal) => (refused, forbids) = (middle, refusal),
        }
    }
    Ok((proven, forbids))
}
