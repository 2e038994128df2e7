//! Reachable sets over a whole family of trajectories at once: polynomials in the parameters k, for a planner.
//!
//! # Assumed
//! As for [`super::cell`]. The family is q(t; k) = mid(t) + reach_j k_j w(t) with k in [-1, 1]^n, w the sum of the last three
//! Bernstein polynomials of degree 5: trajectories from one start to rest at end + reach k.
//!
//! # Proven
//! For every k, every time of the interval and every state of the tube, the polynomials hold the joint motion, the nominal
//! torque (centre of the set, measured state) and the ends of the capsules, at that k: by [`crate::enclose::polynomial`] and the same
//! algorithms that the certifier runs on affine forms. Factor j is k_j, factor [`TIME`] normalised time. Tracking and
//! sensor errors are in the remainders, so a slice at k needs no more than the hull over time.
//!
//! A family holds what a planner's own curve is, up to the rounding of its control points: end + reach k in floats is off by
//! 2^-52 (|end| + reach) at most, of which 16 times is added to position, velocity and acceleration, each times what one unit
//! in the last three control points is worth (at most 1, 5/T, 20/T^2).

use crate::dynamics::vec3::Vec3;
use crate::dynamics::{Motion, Wrench, rnea};
use crate::enclose::polynomial::{FACTORS, Polynomial};
use crate::enclose::{Affine, Counted};
use crate::inertia::ParameterSet;
use crate::robot::{ARMATURE, COULOMB, OFFSET, Robot, VISCOUS};
use crate::scalar::Scalar;
use crate::trajectory::{Bezier, DesiredMotion};

use super::links::swept_capsules;
use super::tube::Tube;
use super::upward::{add_up, div_up, mul_up, sum_up};

/// Factor of normalised time.
pub const TIME: usize = FACTORS - 1;
/// Joints of a family: one factor each, and time.
pub const MAX_JOINTS: usize = TIME;
/// Symbols of the enclosures that time is taken from.
const SYMBOLS: usize = 4;

/// The trajectories from one start.
#[derive(Debug, Clone)]
pub struct Family {
    mid: Bezier,
    unit: Bezier,
    reach: Vec<f64>,
}

/// A family that cannot be enclosed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FamilyError {
    /// Sizes that do not fit together.
    #[error("family of trajectories: expected {expected} finite reaches, one a joint, found {found}")]
    Reach {
        /// How many finite ones there are.
        found: usize,
        /// How many joints the curve has.
        expected: usize,
    },
    /// More joints than there are factors.
    #[error("family of trajectories: {0} joints, expected at most {MAX_JOINTS}")]
    Joints(usize),
    /// The middle is not a curve to rest.
    #[error("family of trajectories: joint {joint} of the middle does not come to rest")]
    Moving {
        /// Its index.
        joint: usize,
    },
}

impl Family {
    /// The trajectories around `mid` (which must come to rest) whose ends are within `reach` (rad, m) of its end.
    ///
    /// # Errors
    /// [`FamilyError`] for sizes that do not fit.
    pub fn new(mid: Bezier, reach: Vec<f64>) -> Result<Self, FamilyError> {
        let n = mid.dof();
        let finite = reach.iter().filter(|r| r.is_finite()).count();
        if reach.len() != n || finite != n {
            return Err(FamilyError::Reach { found: finite, expected: n });
        }
        if n > MAX_JOINTS {
            return Err(FamilyError::Joints(n));
        }
        if let Some(joint) = mid.points.iter().position(|p| !(p[3] == p[4] && p[4] == p[5])) {
            return Err(FamilyError::Moving { joint });
        }
        let unit = Bezier { points: vec![[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]], duration_s: mid.duration_s };
        Ok(Self { mid, unit, reach })
    }

    /// The trajectory of one k.
    pub fn at(&self, k: &[f64]) -> Bezier {
        let mut curve = self.mid.clone();
        for (points, (reach, k)) in curve.points.iter_mut().zip(self.reach.iter().zip(k)) {
            let end = points[5] + reach * k;
            points[3..].fill(end);
        }
        curve
    }

    /// Position, velocity and acceleration of joint `j` over an interval of time.
    fn desired<const C: usize, const D: u32>(&self, j: usize, t0: f64, t1: f64) -> [Polynomial<C, D>; 3] {
        let mid: DesiredMotion<SYMBOLS, Counted> = self.mid.enclose(j, t0, t1, 0);
        let unit: DesiredMotion<SYMBOLS, Counted> = self.unit.enclose(0, t0, t1, 0);
        let k = Polynomial::factor(j, self.reach[j]);
        let rate = div_up(5.0, self.mid.duration_s);
        let grain = mul_up(16.0 * f64::EPSILON, add_up(self.mid.points[j][5].abs(), self.reach[j].abs()));
        let family = |mid, unit, worth| (in_time(mid) + k * in_time(unit)).widen(mul_up(grain, worth));
        [
            family(mid.q, unit.q, 1.0),
            family(mid.dq, unit.dq, rate),
            family(mid.ddq, unit.ddq, mul_up(4.0, mul_up(rate, rate))),
        ]
    }
}

/// A form in normalised time as a polynomial in it.
fn in_time<const C: usize, const D: u32>(form: Affine<SYMBOLS, Counted>) -> Polynomial<C, D> {
    let line = Polynomial::constant(form.center()) + Polynomial::factor(TIME, form.generators()[0]);
    line.widen(form.remainder())
}

/// Sets over one interval of time and all k.
#[derive(Debug, Clone)]
pub struct FamilySets<const C: usize, const D: u32> {
    /// Position, rad (m).
    pub q: Vec<Polynomial<C, D>>,
    /// Velocity, rad/s (m/s).
    pub dq: Vec<Polynomial<C, D>>,
    /// Nominal torque, N m (N).
    pub torque: Vec<Polynomial<C, D>>,
    /// Ends of the capsules, base frame, m.
    pub ends: Vec<[Vec3<Polynomial<C, D>>; 2]>,
}

impl<const C: usize, const D: u32> FamilySets<C, D> {
    /// Encloses the interval from `t0` to `t1` (s) of the family under a tube.
    pub fn new(
        robot: &Robot,
        set: &ParameterSet,
        tube: &Tube,
        family: &Family,
        (t0, t1): (f64, f64),
    ) -> Self {
        let n = robot.dof();
        let k_r = tube.gains.k_r;
        let (mut q, mut dq, mut dqa, mut ddqa) = (vec![], vec![], vec![], vec![]);
        for j in 0..n {
            let [position, velocity, acceleration] = family.desired(j, t0, t1);
            let (e, r) = (tube.e_radius(robot, set, j), tube.r_radius(robot, set, j));
            // de = r - K_r e, so |de| <= r + K_r e.
            let de = add_up(r, mul_up(k_r, e));
            let (sensor_q, sensor_dq) = (robot.sensors.position_rad, robot.sensors.velocity_rad_s);
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
            let f = &center[robot.friction_index(j)..];
            let range = dq[j].interval();
            let band = tube.sign_band(robot, j);
            let coulomb = if range.lower() > band {
                Polynomial::constant(f[COULOMB])
            } else if range.upper() < -band {
                Polynomial::constant(-f[COULOMB])
            } else {
                Polynomial::zero().widen(f[COULOMB].abs())
            };
            let joint = dq[j].scale(f[VISCOUS]) + ddqa[j].scale(f[ARMATURE]) + coulomb;
            // The controller's own arithmetic is off by parts in 10^13 of its terms; 2^-36 of their sum is generous.
            let size = sum_up([torque[j], joint].map(|x| x.interval().sup_abs()));
            torque[j] = (torque[j] + joint + Polynomial::constant(f[OFFSET])).widen(mul_up(GRAIN, size));
        }
        let ends = swept_capsules(robot, &motion);
        Self { q, dq, torque, ends }
    }
}

/// 2^-36.
const GRAIN: f64 = 1.0 / (1_u64 << 36) as f64;

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::dynamics::rnea as inverse_dynamics;
    use crate::plan::tube_fit;
    use crate::robot;
    use crate::trajectory::JointState;

    type Sets = FamilySets<48, 2>;

    fn arm() -> (Robot, ParameterSet, Tube, Family) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
        let robot = robot::load(path).unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let tube = tube_fit::initial(&robot);
        let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
        let mid = Bezier::to_rest(&start, &[0.2, 0.4, 3.0, -1.7, 0.1, 0.6, 1.4], 3.0).unwrap();
        (robot, set, tube, Family::new(mid, vec![std::f64::consts::PI / 24.0; 7]).unwrap())
    }

    fn exact_torque(robot: &Robot, set: &ParameterSet, state: &JointState) -> Vec<f64> {
        let (n, theta) = (robot.dof(), set.center());
        let mut motion = Motion::new(robot);
        motion.sweep(robot, &state.q, &state.dq, &state.dq, &state.ddq);
        let mut tau = vec![0.0; n];
        inverse_dynamics(robot, &motion, &theta, &mut vec![Wrench::zero(); n], &mut tau);
        (0..n)
            .map(|j| {
                let f = &theta[robot.friction_index(j)..];
                tau[j] + f[VISCOUS] * state.dq[j] + f[ARMATURE] * state.ddq[j] + f[OFFSET]
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
                    let friction = set.center()[robot.friction_index(j) + COULOMB];
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

    #[test]
    fn what_does_not_fit_is_refused() {
        let (_, _, _, family) = arm();
        let refusal =
            |mid: &Bezier, reach: Vec<f64>| Family::new(mid.clone(), reach).unwrap_err().to_string();
        assert!(refusal(&family.mid, vec![0.1; 6]).contains("7 finite"));
        assert!(refusal(&family.mid, vec![f64::NAN; 7]).contains("found 0"));
        let mut moving = family.mid.clone();
        moving.points[2][4] += 0.1;
        assert!(refusal(&moving, vec![0.1; 7]).contains("joint 2"));
    }
}
