//! Polynomials in k: joint motion, nominal torque and capsules of a whole family over an interval of time.
//!
//! # Assumed
//! As for [`crate::reach::cell`].
//!
//! # Proven
//! For every k, every time of the interval and every state of the tube, the polynomials hold the joint motion, the nominal
//! torque (centre of the set, measured state) and the ends of the capsules, at that k: by [`super::polynomial`] and the same
//! algorithms that the certifier runs on affine forms. Factor j is k_j, factor [`TIME`] normalised time. Tracking and
//! sensor errors are in the remainders, so a slice at k needs no more than the hull over time.

use super::polynomial::{FACTORS, Polynomial};
use super::{TrajectoryFamily, swept_capsules};
use crate::dynamics::vec3::Vec3;
use crate::dynamics::{Motion, Wrench, rnea};
use crate::enclose::{Affine, Counted};
use crate::inertia::ParameterSet;
use crate::reach::Tube;
use crate::reach::upward::{add_up, mul_up, sum_up};
use crate::robot::Arm;
use crate::scalar::Scalar;
use crate::trajectory::DesiredMotion;

/// Factor of normalised time: joints beyond have no factor of their own, and their k goes to the remainders.
pub const TIME: usize = FACTORS - 1;
/// Symbols of the enclosures that time is taken from. It needs one.
const SYMBOLS: usize = 4;

/// Position, velocity and acceleration of joint `j` over an interval of time.
fn desired<const C: usize, const D: u32>(
    family: &TrajectoryFamily,
    j: usize,
    t0: f64,
    t1: f64,
) -> [Polynomial<C, D>; 3] {
    let mid: DesiredMotion<SYMBOLS, Counted> = family.mid.enclose(j, t0, t1, 0);
    let unit: DesiredMotion<SYMBOLS, Counted> = family.unit.enclose(0, t0, t1, 0);
    let reach = family.reach[j];
    let k = if j < TIME { Polynomial::factor(j, reach) } else { Polynomial::zero().widen(reach) };
    let [position, velocity, acceleration] = family.roundoff(j);
    let along = |mid, unit, off| (in_time(mid) + k * in_time(unit)).widen(off);
    [along(mid.q, unit.q, position), along(mid.dq, unit.dq, velocity), along(mid.ddq, unit.ddq, acceleration)]
}

/// A form in normalised time as a polynomial in it.
fn in_time<const C: usize, const D: u32>(form: Affine<SYMBOLS, Counted>) -> Polynomial<C, D> {
    let line = Polynomial::constant(form.center()) + Polynomial::factor(TIME, form.generators()[0]);
    line.widen(form.remainder())
}

/// Sets over one interval of time and all k.
#[derive(Debug, Clone)]
pub struct PolynomialSets<const C: usize, const D: u32> {
    /// Position, rad (m).
    pub q: Vec<Polynomial<C, D>>,
    /// Velocity, rad/s (m/s).
    pub dq: Vec<Polynomial<C, D>>,
    /// Nominal torque, N m (N).
    pub torque: Vec<Polynomial<C, D>>,
    /// Ends of the capsules, base frame, m.
    pub ends: Vec<[Vec3<Polynomial<C, D>>; 2]>,
}

impl<const C: usize, const D: u32> PolynomialSets<C, D> {
    /// Encloses the interval from `t0` to `t1` (s) of the family under a tube.
    pub fn new(
        robot: &Arm,
        set: &ParameterSet,
        tube: &Tube,
        family: &TrajectoryFamily,
        (t0, t1): (f64, f64),
    ) -> Self {
        let n = robot.dof();
        let k_r = tube.gains.k_r;
        let (mut q, mut dq, mut dqa, mut ddqa) = (vec![], vec![], vec![], vec![]);
        for j in 0..n {
            let [position, velocity, acceleration] = desired(family, j, t0, t1);
            let (e, r) = (tube.e_radius(j), tube.r_radius(j));
            // de = r - K_r e, so |de| <= r + K_r e.
            let de = add_up(r, mul_up(k_r, e));
            let (sensor_q, sensor_dq) = (robot.sensors().position_rad, robot.sensors().velocity_rad_s);
            let lag = mul_up(k_r, add_up(e, sensor_q));
            q.push(position.widen(add_up(e, sensor_q)));
            dq.push(velocity.widen(add_up(de, sensor_dq)));
            dqa.push(velocity.widen(lag));
            ddqa.push(acceleration.widen(mul_up(k_r, add_up(de, sensor_dq))));
        }
        let mut motion = Motion::new(robot);
        motion.sweep(robot, &q, &dq, &dqa, &ddqa);
        let center = set.center();
        let theta: Vec<_> = center.iter().map(|&x| Polynomial::<C, D>::constant(x)).collect();
        let mut torque = vec![Polynomial::zero(); n];
        rnea(robot, &motion, &theta, &mut vec![Wrench::zero(); n], &mut torque);
        for j in 0..n {
            let f = robot.joint_parameters(&center, j);
            let range = dq[j].interval();
            let band = tube.sign_band(robot.sensors(), j);
            let coulomb = if range.lower() > band {
                Polynomial::constant(f.coulomb)
            } else if range.upper() < -band {
                Polynomial::constant(-f.coulomb)
            } else {
                Polynomial::zero().widen(f.coulomb.abs())
            };
            let joint = dq[j].scale(f.viscous) + ddqa[j].scale(f.armature) + coulomb;
            // The controller's own arithmetic is off by parts in 10^13 of its terms; 2^-36 of their sum is generous.
            let size = sum_up([torque[j], joint].map(|x| x.interval().sup_abs()));
            torque[j] =
                (torque[j] + joint + Polynomial::constant(f.offset)).widen(mul_up(LAW_ROUNDOFF, size));
        }
        let ends = swept_capsules(robot, &motion);
        Self { q, dq, torque, ends }
    }
}

/// 2^-36.
const LAW_ROUNDOFF: f64 = 1.0 / (1_u64 << 36) as f64;

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::dynamics::rnea as inverse_dynamics;
    use crate::reach::fixture;
    use crate::robot;
    use crate::trajectory::{Bezier, JointState};

    type Sets = PolynomialSets<48, 2>;

    fn arm() -> (Arm, ParameterSet, Tube, TrajectoryFamily) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
        let robot = robot::load(path).unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let tube = fixture::tube(&robot);
        let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
        let mid = Bezier::to_rest(&start, &[0.2, 0.4, 3.0, -1.7, 0.1, 0.6, 1.4], 3.0).unwrap();
        (robot, set, tube, TrajectoryFamily::new(mid, vec![std::f64::consts::PI / 24.0; 7]).unwrap())
    }

    fn exact_torque(robot: &Arm, set: &ParameterSet, state: &JointState) -> Vec<f64> {
        let (n, theta) = (robot.dof(), set.center());
        let mut motion = Motion::new(robot);
        motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
        let mut tau = vec![0.0; n];
        inverse_dynamics(robot, &motion, &theta, &mut vec![Wrench::zero(); n], &mut tau);
        (0..n)
            .map(|j| {
                let f = robot.joint_parameters(&theta, j);
                tau[j] + f.viscous * state.dq[j] + f.armature * state.ddq[j] + f.offset
            })
            .collect()
    }

    #[test]
    fn no_member_of_the_family_escapes() {
        let (robot, set, tube, family) = arm();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..12 {
            let t0 = rng.random_range(0.0..2.9);
            let t1 = t0 + 3.0 / 64.0;
            let sets = Sets::new(&robot, &set, &tube, &family, (t0, t1));
            for _ in 0..30 {
                let k: Vec<f64> = (0..7)
                    .map(|_| [-1.0, 1.0, rng.random_range(-1.0..1.0)][rng.random_range(0..3)])
                    .collect();
                let t: f64 = rng.random_range(t0..=t1);
                let state = family.at(&k).state(t.min(3.0));
                let tau = exact_torque(&robot, &set, &state);
                let frames = robot.frames(&state.q);
                for j in 0..7 {
                    assert!(sets.q[j].slice(&k).contains(state.q[j]));
                    assert!(sets.dq[j].slice(&k).contains(state.dq[j]));
                    let friction = set.center()[robot.joint_index(j).coulomb];
                    let slice = sets.torque[j].slice(&k);
                    assert!(slice.lower() <= tau[j] + friction && tau[j] - friction <= slice.upper());
                    assert!(sets.torque[j].interval().encloses(slice));
                }
                for (shape, ends) in sets.ends.iter().enumerate() {
                    let capsule = robot.placed_capsule(shape, &frames);
                    for (end, point) in ends.iter().zip([capsule.a, capsule.b]) {
                        assert!((0..3).all(|r| end[r].slice(&k).contains(point[r])));
                    }
                }
            }
        }
    }

    #[test]
    fn a_slice_is_much_smaller_than_the_hull() {
        let (robot, set, mut tube, family) = arm();
        // Hardly any tracking errors: what is left is time and k.
        tube.gains.v_max = 1e-8;
        let sets = Sets::new(&robot, &set, &tube, &family, (0.6, 0.6 + 3.0 / 64.0));
        for j in 1..4 {
            let torque = &sets.torque[j];
            let (slice, hull) = (torque.slice(&[0.5; 7]).width(), torque.interval().width());
            assert!(slice < 0.7 * hull, "joint {j}: {slice} of {hull}");
        }
    }
}
