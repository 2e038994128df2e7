//! What a certificate covers, as shapes that can be drawn: where each capsule of the robot may be over a span of a plan, tracking errors included.
//!
//! The ends of the capsules come from the forms that the certifier separates ([`super::links`]), and the radii from [`super::extent::growth`]. Sums
//! here are plain floating point: pictures are made of them, and no certificate rests on them.

use crate::dynamics::Motion;
use crate::enclose::{Affine, Counted};
use crate::robot::Arm;
use crate::trajectory::Pieces;

use super::cell::{Cell, Span, TIME};
use super::extent::growth;
use super::links::sweep_capsules;
use super::momentum::{self, MomentumReport, MomentumTube, MomentumWorkspace};
use super::prepared_set::PreparedSet;
use super::sized;
use super::tube::Tube;

/// One capsule over a span of time. While time goes from the span's start to its end each end of its axis goes from its place in `start` to that in
/// `end`, in a straight line and evenly, and stays within its entry of `off` of that, whatever the tracking errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweptCapsule {
    /// Both ends of the axis at the span's start, m, base frame.
    pub start: [[f64; 3]; 2],
    /// The same at its end.
    pub end: [[f64; 3]; 2],
    /// How far each end may be from there, m.
    pub off: [f64; 2],
}

/// Both ends of a capsule's axis.
type Ends<const N: usize> = [[Affine<N, Counted>; 3]; 2];

/// Every capsule of [`Arm::shapes`] over `span`, in that order. The robot has at most [`super::cell::MAX_JOINTS`] joints.
pub fn swept_capsules(robot: &Arm, tube: &Tube, curve: Pieces<'_>, span: Span) -> Vec<SweptCapsule> {
    sized!(robot, N => swept::<N>(robot, tube, curve, span))
}

fn swept<const N: usize>(robot: &Arm, tube: &Tube, curve: Pieces<'_>, span: Span) -> Vec<SweptCapsule> {
    let cell = Cell::<N, Counted>::new(robot, tube, curve, span);
    let mut motion: Motion<Affine<N, Counted>> = Motion::new(robot);
    motion.place(robot, &cell.q);
    let (mut placed, mut ends) = (vec![], vec![]);
    sweep_capsules(robot, &motion, &mut placed, &mut ends);
    drawn(&ends, growth, 0.0)
}

/// The same under the momentum law, for this set; `None` where nothing bounds the errors.
pub fn swept_capsules_momentum(
    robot: &Arm,
    set: &PreparedSet,
    tube: &MomentumTube,
    (curve, span): (Pieces<'_>, Span),
) -> Option<Vec<SweptCapsule>> {
    sized!(robot, N => swept_momentum::<N>(robot, set, tube, (curve, span)))
}

fn swept_momentum<const N: usize>(
    robot: &Arm,
    set: &PreparedSet,
    tube: &MomentumTube,
    motion: (Pieces<'_>, Span),
) -> Option<Vec<SweptCapsule>> {
    let mut space = MomentumWorkspace::<N, Counted>::new(robot);
    MomentumReport::new(robot, set, tube, motion, &mut space)?;
    // The forms reach beyond the span, by twice the age on both sides at most and by what drives remember: so much of their way in time is not the span's.
    let beyond_s = 4.0 * tube.timing.age_s() + tube.timing.memory_s();
    let beyond = match motion.1 {
        Span::Between(t0, t1) => beyond_s / (t1 - t0 + beyond_s),
        Span::Rest => 0.0,
    };
    Some(drawn(space.ends(), momentum::growth, 2.0 * beyond))
}

/// The ends of capsules as forms, as they are drawn; further off by a share of their way in time.
fn drawn<const N: usize>(
    ends: &[Ends<N>],
    growth: impl Fn(&[Affine<N, Counted>; 3]) -> f64,
    besides: f64,
) -> Vec<SweptCapsule> {
    let way =
        |end: &[Affine<N, Counted>; 3]| end.iter().map(|x| x.generators()[TIME].powi(2)).sum::<f64>().sqrt();
    let at = |x: &Affine<N, Counted>, side: f64| x.center() + side * x.generators()[TIME];
    let capsule = |ends: &Ends<N>| {
        let places = |side: f64| [0, 1].map(|k| [0, 1, 2].map(|i| at(&ends[k][i], side)));
        SweptCapsule {
            start: places(-1.0),
            end: places(1.0),
            off: [0, 1].map(|k| growth(&ends[k]) + besides * way(&ends[k])),
        }
    };
    ends.iter().map(capsule).collect()
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::reach::fixture;
    use crate::trajectory::{Bezier, JointState};

    fn apart(a: &Vector3<f64>, b: [f64; 3]) -> f64 {
        (a - Vector3::from(b)).norm()
    }

    /// Any time of the span, and any tracking error of the tube: the capsules are where they are said to be. And not far from where they may be.
    #[test]
    fn no_capsule_is_outside_of_what_is_drawn() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for name in ["z1", "kinova_gen3"] {
            let robot = crate::robot::load(name).unwrap();
            let (tube, n) = (fixture::tube(&robot), robot.dof());
            for _ in 0..20 {
                let start: Vec<f64> = (0..n).map(|_| rng.random_range(-1.5..1.5)).collect();
                let goal: Vec<f64> = start.iter().map(|q| q + rng.random_range(-0.8..0.8)).collect();
                let curve = Bezier::to_rest(&JointState::at_rest(&start), &goal, 2.0).unwrap();
                let curve = Pieces::from(&curve);
                let (t0, t1) = (0.8, 0.9);
                let swept = swept_capsules(&robot, &tube, curve, Span::Between(t0, t1));
                assert_eq!(swept.len(), robot.shapes().len());
                for _ in 0..40 {
                    let share = rng.random::<f64>();
                    let mut state = JointState::at_rest(&start);
                    // The span reaches one control period further.
                    let last = t1 + tube.gains.period_s;
                    curve.evaluate(t0 + share * (last - t0), &mut state);
                    let raw: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
                    let length = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let q: Vec<f64> =
                        (0..n).map(|j| state.q[j] - tube.e_radius(j) * raw[j] / length).collect();
                    let frames = robot.frames(&q);
                    for (shape, drawn) in swept.iter().enumerate() {
                        let capsule = robot.placed_capsule(shape, &frames);
                        for (k, end) in [capsule.a, capsule.b].iter().enumerate() {
                            let place = [0, 1, 2]
                                .map(|i| drawn.start[k][i] + share * (drawn.end[k][i] - drawn.start[k][i]));
                            let away = apart(end, place);
                            assert!(away <= drawn.off[k] + 1e-12, "{name} {shape}: {away} {:?}", drawn.off);
                            assert!(drawn.off[k] < 0.1, "{name} {shape}: {:?}", drawn.off);
                        }
                    }
                }
            }
        }
    }
}
