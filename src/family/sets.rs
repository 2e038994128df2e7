//! The certifier's sets over all of K: affine forms with the parameters k as further symbols.
//!
//! # Assumed
//! As for [`crate::reach::cell`] and [`crate::reach::tube`].
//!
//! # Proven
//! For every k in [-1, 1]^n, every tick of the span, every state of the tube with its sensor errors and every theta of the set:
//! the forms hold joint motion, nominal torque and ends of the capsules at that k, and `rho` and `robust` bound the disturbance
//! and the robust torque. Everything is computed by the functions that the certifier runs at a fixed k (`reach`); the desired motion
//! mid + reach_j k_j w is a form in time and k_j. Symbols are those of a cell, then k_1 .. k_n.
//!
//! The bounds of [`crate::reach::extent`] know nothing of k: before they are asked, each form is *settled*, that is the symbols of k
//! are replaced by numbers, or by a remainder of the sum of their absolute coefficients, which covers all k.

use super::{TrajectoryFamily, swept_capsules};
use crate::dynamics::vec3::Vec3;
use crate::dynamics::{BodyPlacement, Motion};
use crate::enclose::{Affine, Counted, Interval, Rounding};
use crate::inertia::INERTIAL;
use crate::reach::CellWorkspace;
use crate::reach::PreparedSet;
use crate::reach::cell::through_ticks;
use crate::reach::energy::relative_mass;
use crate::reach::law::{ByBox, Law, LawBounds, TorqueRow, Upward, by_either, by_strips};
use crate::reach::links::sweep_capsules;
use crate::reach::roundoff::RoundoffBounds;
use crate::reach::strips::Between;
use crate::reach::upward::{add_up, mul_up, sum_up};
use crate::reach::{Cell, Span, Tube, extent, symbols};
use crate::robot::Arm;
use crate::scalar::Scalar;
use crate::trajectory::DesiredMotion;

/// Sets over one span of time and all k. `N` symbols hold a robot of up to (N - 1) / 3 joints; of more, the k that do not fit are
/// in the remainders.
#[derive(Debug, Clone)]
pub struct FamilySets<const N: usize, R: Rounding = Counted> {
    /// Position, rad (m).
    pub q: Vec<Affine<N, R>>,
    /// Velocity, rad/s (m/s).
    pub dq: Vec<Affine<N, R>>,
    /// Nominal torque with what the law leans on, N m (N).
    pub torque: Vec<Affine<N, R>>,
    /// The part of it that the law leans on beside the centre of the set, N m (N).
    pub lean: Vec<Affine<N, R>>,
    /// Bound on the disturbance, drift included, N m (N).
    pub rho: Vec<f64>,
    /// Bound on the robust torque, N m (N); infinite where the tube leaves no room.
    pub robust: Vec<f64>,
    /// Ends of the capsules, base frame, m.
    pub ends: Vec<[Vec3<Affine<N, R>>; 2]>,
}

/// The form at `k`, or for all k: without the symbols of k.
pub fn settled<const N: usize, R: Rounding>(
    form: &Affine<N, R>,
    dof: usize,
    k: Option<&[f64]>,
) -> Affine<N, R> {
    let from = symbols(dof).min(N);
    let steered = &form.generators()[from..];
    let mut kept = *form.generators();
    kept[from..].fill(0.0);
    let still = Affine::new(form.center(), kept, form.remainder());
    match k {
        None => still.widen(sum_up(steered.iter().map(|g| g.abs()))),
        Some(k) => {
            let along = steered
                .iter()
                .zip(k)
                .fold(Interval::zero(), |sum, (g, k)| sum + Interval::constant(*g) * Interval::constant(*k));
            still + Affine::from_interval(along)
        }
    }
}

impl<const N: usize, R: Rounding> FamilySets<N, R> {
    /// Encloses the ticks from `t0` to `t1` (s) of the family under a tube; `prepared` is the set prepared, once for all spans.
    pub fn new(
        robot: &Arm,
        prepared: &PreparedSet,
        tube: &Tube,
        family: &TrajectoryFamily,
        (t0, t1): (f64, f64),
    ) -> Self {
        let n = robot.dof();
        let law = Law::new(robot, prepared, tube);
        let whole = around(robot, tube, family, (t0, t1));
        let cell = over_all(&whole, n);
        let mut motion = Motion::new(robot);
        motion.sweep(robot, &whole.q, &whole.dq, &whole.dqa, &whole.ddqa);
        let ends = swept_capsules(robot, &motion);
        let mut space = CellWorkspace::<N, R>::new(robot);
        let sizes = (&mut space.sizes.motion, &mut space.size_regressor);
        let roundoff = RoundoffBounds::new(robot, &law, &cell, sizes);
        let y = space.regressor.torque(robot, &motion);
        let over = prepared.strips().map(|l| l.over(tube, family.mid.duration_s, Span::Between(t0, t1)));
        let stretches = over.unwrap_or_default();
        let mut sets = Self {
            q: whole.q.to_vec(),
            dq: whole.dq.to_vec(),
            torque: vec![],
            lean: vec![],
            rho: vec![],
            robust: vec![],
            ends,
        };
        for j in 0..n {
            let row = TorqueRow::new(y, (j, INERTIAL * n), whole.dq[j], whole.ddqa[j]);
            let (nominal, lean, by_set) = joint(&law, n, j, (&row, &stretches));
            sets.torque.push((nominal + lean).widen(roundoff.torque_nm[j]));
            sets.lean.push(lean);
            sets.rho.push((law.disturbance(j, by_set) + Upward(roundoff.torque_nm[j])).0);
        }
        let floor = &tube.inertia_floor[..];
        let mass = relative_mass(robot, prepared, &cell, floor, (&mut space.ranges, &mut space.mass));
        let r: Vec<f64> = (0..n).map(|j| add_up(cell.r[j].sup_abs(), cell.deviation[j].r)).collect();
        sets.robust =
            LawBounds::new(tube, &roundoff, &sets.rho, &r, floor, (mass.0, &mass.1)).robust.to_vec();
        sets
    }

    /// Bounds of the torque command of joint `j`, at `k` or for all k, N m (N).
    pub fn command(&self, j: usize, k: Option<&[f64]>) -> (f64, f64) {
        let nominal = settled(&self.torque[j], self.q.len(), k);
        let robust = self.robust[j];
        (-add_up(-extent::lower(&nominal), robust), add_up(extent::upper(&nominal), robust))
    }

    /// Change of the nominal torque's centre with each k, N m (N): the gradient of a planner's model.
    pub fn torque_gradient(&self, j: usize) -> &[f64] {
        self.torque[j].generators().get(symbols(self.q.len())..).unwrap_or(&[])
    }
}

/// Where the capsules can be, for all k: the part of [`FamilySets`] that asks for no torques, in storage that is kept.
#[derive(Debug, Clone)]
pub struct Places<const N: usize, R: Rounding = Counted> {
    motion: Motion<Affine<N, R>>,
    placed: Vec<BodyPlacement<Affine<N, R>>>,
    ends: Vec<[Vec3<Affine<N, R>>; 2]>,
}

impl<const N: usize, R: Rounding> Places<N, R> {
    /// Storage for `robot`.
    pub fn new(robot: &Arm) -> Self {
        let (placed, ends) = (Vec::with_capacity(robot.dof()), Vec::with_capacity(robot.shapes().len()));
        Self { motion: Motion::new(robot), placed, ends }
    }

    /// Ends of the capsules over the ticks from `t0` to `t1` (s), base frame, m: [`FamilySets::ends`].
    pub fn over(
        &mut self,
        robot: &Arm,
        tube: &Tube,
        family: &TrajectoryFamily,
        span: (f64, f64),
    ) -> &[[Vec3<Affine<N, R>>; 2]] {
        self.motion.place(robot, &around(robot, tube, family, span).q);
        sweep_capsules(robot, &self.motion, &mut self.placed, &mut self.ends);
        &self.ends
    }
}

/// The joint tube for all k.
fn around<const N: usize, R: Rounding>(
    robot: &Arm,
    tube: &Tube,
    family: &TrajectoryFamily,
    (t0, t1): (f64, f64),
) -> Cell<N, R> {
    let unit = through_ticks::<N, R>(tube, (&family.unit).into(), 0, t0, t1);
    Cell::around(robot, tube, |j| (steered(family, tube, j, (t0, t1), &unit), magnitudes(family, j)))
}

/// Desired motion of joint `j` for all k; `unit` is that of w.
fn steered<const N: usize, R: Rounding>(
    family: &TrajectoryFamily,
    tube: &Tube,
    j: usize,
    (t0, t1): (f64, f64),
    unit: &DesiredMotion<N, R>,
) -> DesiredMotion<N, R> {
    let mid = through_ticks::<N, R>(tube, (&family.mid).into(), j, t0, t1);
    let k = Affine::<N, R>::symbol(symbols(family.mid.dof()) + j, family.reach[j]);
    let [position, velocity, acceleration] = family.roundoff(j);
    DesiredMotion {
        q: (mid.q + k * unit.q).widen(position),
        dq: (mid.dq + k * unit.dq).widen(velocity),
        ddq: (mid.ddq + k * unit.ddq).widen(acceleration),
        dddq: mid.dddq + k * unit.dddq,
    }
}

/// [`crate::trajectory::Bezier::magnitudes`] for all k.
fn magnitudes(family: &TrajectoryFamily, j: usize) -> [f64; 3] {
    let (mid, unit) = (family.mid.magnitudes(j), family.unit.magnitudes(0));
    std::array::from_fn(|i| add_up(mid[i], mul_up(family.reach[j].abs(), unit[i])))
}

/// The cell with every form settled for all k.
fn over_all<const N: usize, R: Rounding>(cell: &Cell<N, R>, n: usize) -> Cell<N, R> {
    let all = |forms: &[Affine<N, R>]| forms.iter().map(|form| settled(form, n, None)).collect();
    Cell {
        q: all(&cell.q),
        dq: all(&cell.dq),
        dqa: all(&cell.dqa),
        ddqa: all(&cell.ddqa),
        r: all(&cell.r),
        jerk: all(&cell.jerk),
        deviation: cell.deviation.clone(),
    }
}

/// Nominal torque of joint `j` at the centre of the set, what the law leans on beside it, and what of rho the parameters make for all k: as
/// [`crate::reach::torque::joint_torques`].
fn joint<const N: usize, R: Rounding>(
    law: &Law<'_>,
    n: usize,
    j: usize,
    (row, stretches): (&TorqueRow<'_, Affine<N, R>>, &[Between<Affine<N, R>>]),
) -> (Affine<N, R>, Affine<N, R>, Upward) {
    let links: Vec<Affine<N, R>> = row.links.iter().map(|entry| settled(entry, n, None)).collect();
    let still = TorqueRow { links: &links, own: row.own.map(|entry| settled(&entry, n, None)) };
    let ByBox { nominal, charge, left } = law.by_box(j, row, &still);
    let Some(strips) = law.set.strips() else { return (nominal, Affine::zero(), left) };
    let mut by_set = Upward(0.0);
    let mut shifts = Vec::with_capacity(stretches.len());
    for place in stretches {
        let (shift, known) = by_strips(law.set, j, (place, strips.pair(place, j)), &still);
        by_set = Upward(by_set.0.max(by_either((left, charge), (shift, known)).0));
        shifts.push(shift);
    }
    // With several stretches the shift is that of any of them: the first one's, give or take the difference.
    let first = shifts.first().copied().unwrap_or_else(Affine::zero);
    let apart = shifts.iter().map(|shift| (*shift - first).sup_abs()).fold(0.0, f64::max);
    (nominal, first.widen(apart), by_set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::fixture::fitted;
    use crate::certify::{Problem, Workspaces};
    use crate::inertia::ParameterSet;
    use crate::reach::fixture;
    use crate::robot::{self, Scene};
    use crate::trajectory::{Bezier, JointState};

    type Sets = FamilySets<24>;

    /// An arm, what is known of it, and a motion with its tube.
    struct Case {
        robot: Arm,
        set: ParameterSet,
        tube: Tube,
        curve: Bezier,
    }

    fn case(v_max: Option<f64>) -> Case {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/kinova_gen3_2f85.toml");
        let robot = robot::load(path).unwrap();
        let set = ParameterSet::around_nominal(&robot);
        let start = JointState::at_rest(&[0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]);
        let curve = Bezier::to_rest(&start, &[0.2, 0.4, 3.0, -1.7, 0.1, 0.6, 1.4], 3.0).unwrap();
        let mut guess = fixture::tube(&robot);
        guess.gains.v_max = v_max.unwrap_or(guess.gains.v_max);
        let tube = fitted(&robot, &set, &curve, guess);
        Case { robot, set, tube, curve }
    }

    #[test]
    fn at_one_k_the_sets_are_the_certifiers() {
        // A family of one member: nothing but the certifier's own numbers, up to rounding.
        let case = case(None);
        let alone = TrajectoryFamily::new(case.curve.clone(), vec![0.0; 7]).unwrap();
        let prepared = PreparedSet::new(&case.robot, &case.set);
        let span = (0.75, 0.75 + 3.0 / 64.0);
        let sets = Sets::new(&case.robot, &prepared, &case.tube, &alone, span);
        let scene = Scene::default();
        let problem = Problem::new(&case.robot, &case.set, &scene, &case.tube, &case.curve).unwrap();
        let report = problem.report(Span::Between(span.0, span.1), &Workspaces::<Counted>::default());
        for j in 0..7 {
            let torque = &report.torque[j];
            assert!((sets.rho[j] - torque.rho).abs() < 1e-6 * torque.rho);
            assert!((sets.robust[j] - report.robust[j]).abs() < 1e-6 * report.robust[j]);
            let nominal = settled(&sets.torque[j], 7, None);
            assert!((extent::upper(&nominal) - torque.nominal_upper).abs() < 1e-6);
        }
    }

    #[test]
    fn a_slice_is_smaller_than_the_hull() {
        let case = case(Some(1e-4));
        let family = TrajectoryFamily::new(case.curve.clone(), vec![std::f64::consts::PI / 96.0; 7]).unwrap();
        let prepared = PreparedSet::new(&case.robot, &case.set);
        let sets = Sets::new(&case.robot, &prepared, &case.tube, &family, (1.5, 1.5 + 3.0 / 64.0));
        for j in 1..4 {
            let width = |k| {
                let form = settled(&sets.torque[j], 7, k);
                extent::upper(&form) - extent::lower(&form)
            };
            let (slice, hull) = (width(Some(&[0.5; 7][..])), width(None));
            assert!(slice < hull, "joint {j}: {slice} of {hull}");
            assert_eq!(sets.torque_gradient(j).len(), 24 - 15);
        }
    }
}
