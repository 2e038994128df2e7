//! What the arm was last told to follow, and what is proven of the true state meanwhile: for the auditor alone.

use crate::dynamics::{Composites, Motion, crba};
use crate::inertia::ParameterSet;
use crate::plan::Plan;
use crate::plan::saved::PlanStart;
use crate::reach::TrackingTube;
use crate::reach::momentum::BoundedTube;
use crate::robot::Arm;
use crate::trajectory::{JointState, PiecewiseBezier};

use super::audit::TrackingReference;

/// A plan that is followed.
#[derive(Debug)]
pub(super) struct Following {
    curve: PiecewiseBezier,
    tube: TrackingTube,
    e_radius: Vec<f64>,
    r_radius: Vec<f64>,
    /// Centre of its set.
    center: Vec<f64>,
    /// Tick at which it began.
    begun: u64,
    /// When its own clock was zero, s: what the momentum law goes by.
    begun_s: f64,
}

impl Following {
    /// `plan` begins at this tick, at this time (s), after another one that began then by its own clock, s.
    pub(super) fn new(robot: &Arm, plan: &Plan, (tick, now_s): (u64, f64), before: Option<&Self>) -> Self {
        let n = robot.dof();
        let begun_s = match (plan.start, before) {
            (PlanStart::AfterTicks(ticks), Some(before)) => {
                before.begun_s + ticks as f64 * plan.tube.period_s()
            }
            _ => now_s,
        };
        Self {
            curve: plan.curve.clone(),
            tube: plan.tube.clone(),
            e_radius: (0..n).map(|j| plan.tube.e_radius(j)).collect(),
            r_radius: (0..n).map(|j| plan.tube.r_radius(j)).collect(),
            center: ParameterSet::center(&plan.set),
            begun: tick,
            begun_s,
        }
    }

    /// What is supposed at this tick, at this time (s).
    pub(super) fn supposed(&self, tick: u64, now_s: f64) -> Supposed<'_> {
        let curve = self.curve.view();
        let radii =
            |k_r, t| TrackingReference { curve, t, k_r, e_radius: &self.e_radius, r_radius: &self.r_radius };
        match &self.tube {
            TrackingTube::Energy(tube) => {
                let t = tube.time_of_tick(curve.duration_s(), tick - self.begun);
                Supposed::from(radii(tube.gains.k_r, t))
            }
            TrackingTube::Momentum(bounded) => Supposed {
                momentum: Some((&**bounded, &self.center)),
                ..Supposed::from(radii(bounded.tube.gains.k_r, now_s - self.begun_s))
            },
        }
    }
}

/// What the motion is supposed to be during a tick, and what is proven of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Supposed<'a> {
    /// Desired motion, and radii of e and r.
    pub(super) reference: TrackingReference<'a>,
    /// Under the momentum law the tube besides, with the nominal parameters.
    momentum: Option<(&'a BoundedTube, &'a [f64])>,
}

impl<'a> From<TrackingReference<'a>> for Supposed<'a> {
    fn from(reference: TrackingReference<'a>) -> Self {
        Self { reference, momentum: None }
    }
}

impl Supposed<'_> {
    /// Whether the desired motion has come to its end.
    pub(super) fn rests(&self) -> bool {
        self.reference.t >= self.reference.curve.duration_s()
    }
}

/// Storage for the momentum errors of a true state.
#[derive(Debug)]
pub(super) struct MomentumErrors {
    motion: Motion<f64>,
    composites: Composites<f64>,
    mass: Vec<f64>,
}

impl MomentumErrors {
    pub(super) fn new(robot: &Arm) -> Self {
        let n = robot.dof();
        Self { motion: Motion::new(robot), composites: Composites::new(robot), mass: vec![0.0; n * n] }
    }

    /// The largest share that |p_j| and |M_0 e|_j have of what the tube allows, `t` seconds by the plan's clock; 0 under the first law.
    pub(super) fn share(
        &mut self,
        robot: &Arm,
        supposed: &Supposed<'_>,
        (t, q, dq): (f64, &[f64], &[f64]),
        desired: &JointState,
    ) -> f64 {
        let Some((BoundedTube { tube, .. }, center)) = supposed.momentum else { return 0.0 };
        let n = q.len();
        self.motion.place(robot, &desired.q);
        crba(robot, &self.motion, center, &mut self.composites, &mut self.mass);
        for j in 0..n {
            self.mass[n * j + j] += center[robot.joint_index(j).armature];
        }
        let e = |i: usize| desired.q[i] - q[i];
        let r = |i: usize| desired.dq[i] - dq[i] + tube.gains.k_r * e(i);
        let shares = (0..n).map(|j| {
            let times = |x: &dyn Fn(usize) -> f64| (0..n).map(|i| self.mass[n * j + i] * x(i)).sum::<f64>();
            let radius = tube.robust_at(j, t) / tube.gains.kappa + tube.noise_at(j, t);
            (times(&r).abs() / radius).max(times(&e).abs() / tube.lag_at(j, t))
        });
        // What is no number is not within any bound.
        shares.fold(0.0, |most, x| if x.is_nan() { f64::INFINITY } else { most.max(x) })
    }
}
