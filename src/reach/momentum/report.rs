//! What the theorem needs over one span of time, and what the plan asks of the arm there.

use crate::enclose::{Affine, Rounding};
use crate::reach::cell::{Joints, Span, TIME};
use crate::reach::links::sweep_capsules;
use crate::reach::prepared_set::PreparedSet;
use crate::reach::roundoff::LAW_ROUNDOFF;
use crate::reach::upward::{add_up, div_up, mul_up, sum_up};
use crate::robot::Arm;
use crate::trajectory::Pieces;

use super::cell::{CellNumbers, CellRadii, MomentumCell};
use super::constants::MomentumTube;
use super::coupling::{Coupling, coupling};
use super::disturbance::{Mismatch, mismatch, parts};
use super::narrowing::Narrowing;
use super::outlook::CellOutlook;
use super::workspace::MomentumWorkspace;

/// What the constants of a [`MomentumTube`] must at least be over one span, a joint each.
#[derive(Debug, Clone)]
pub struct MomentumNeeds {
    /// The times.
    pub span: Span,
    /// u_j, N m.
    pub robust_nm: Joints<f64>,
    /// N_j, N m s.
    pub noise_nms: Joints<f64>,
    /// E_j, N m s^2.
    pub lag_nms2: Joints<f64>,
    /// Sign band, rad/s.
    pub sign_band_rad_s: Joints<f64>,
    /// kappa a (1 - F_jj) e, the largest; at most 1 is allowed.
    pub gain: f64,
    /// Upper bound of how far tracking errors carry any capsule's end, m; what springs bend by comes on top.
    pub growth_m: f64,
}

/// Bounds over one span.
#[derive(Debug, Clone)]
pub struct MomentumReport {
    /// What the tube has to be there.
    pub needs: MomentumNeeds,
    /// rho_j, N m.
    pub rho_nm: Joints<f64>,
    /// Least and largest 1 - F_jj.
    pub reaction: Joints<(f64, f64)>,
    /// Radius of e_j, rad.
    pub position_error_rad: Joints<f64>,
    /// Radius of r_j, rad/s.
    pub r_rad_s: Joints<f64>,
    /// Position margin of the links, rad; infinite for continuous joints.
    pub position_margin: Joints<f64>,
    /// Velocity margin, rad/s.
    pub velocity_margin: Joints<f64>,
    /// Torque margin, N m: of what the drive applies at most, its error with it.
    pub torque_margin: Joints<f64>,
}

impl MomentumNeeds {
    /// What the constants of `tube` are at least where this span needs them.
    pub fn least_of(&self, tube: &MomentumTube) -> MomentumTube {
        // The end of the plan matters to where a reach begins, not to where it ends.
        tube.narrowest_until(tube.reach_of(self.span, 0.0).1)
    }

    /// Whether the constants of `tube` are as large as this span needs them; then the theorem holds over it.
    pub fn covered_by(&self, tube: &MomentumTube) -> bool {
        let bears = |(j, noise): (usize, &f64)| {
            let carried = tube.noise_while_carried(self.span, j);
            carried.is_none_or(|(own, besides)| own >= add_up(*noise, besides))
        };
        let bears_carried = self.noise_nms.iter().enumerate().all(bears);
        let tube = self.least_of(tube);
        let all = |have: &[f64], need: &[f64]| have.iter().zip(need).all(|(have, need)| have >= need);
        self.gain <= 1.0
            && bears_carried
            && all(&tube.robust_nm, &self.robust_nm)
            && all(&tube.noise_nms, &self.noise_nms)
            && all(&tube.lag_nms2, &self.lag_nms2)
            && all(&tube.sign_band_rad_s, &self.sign_band_rad_s)
    }
}

impl MomentumReport {
    /// Evaluates all of it over `span` of `curve`; `None` where M may be too far from M_0 for any bound. Leaves the ends of the capsules in the workspace.
    pub fn new<const N: usize, R: Rounding>(
        robot: &Arm,
        set: &PreparedSet,
        tube: &MomentumTube,
        (curve, span): (Pieces<'_>, Span),
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<Self> {
        Self::with_outlook(robot, set, tube, (curve, span), space).map(|(report, _)| report)
    }

    /// [`MomentumReport::new`], and what other constants would need there, about.
    pub fn with_outlook<const N: usize, R: Rounding>(
        robot: &Arm,
        set: &PreparedSet,
        tube: &MomentumTube,
        (curve, span): (Pieces<'_>, Span),
        space: &mut MomentumWorkspace<N, R>,
    ) -> Option<(Self, CellOutlook)> {
        let n = robot.dof();
        let (from_s, _) = tube.reach_of(span, curve.duration_s());
        let narrowing = tube.narrowing_from(from_s);
        let tube = &tube.widest_from(from_s);
        let cell = MomentumCell::new(robot, set, tube, (curve, span), space)?;
        let coupling = coupling(robot, set, &cell, space)?;
        sweep_capsules(robot, &space.moved, &mut space.placed, &mut space.ends);
        let growth_m = space.ends.iter().flatten().map(growth).fold(0.0, f64::max);
        let parts = parts(robot, set, tube, &cell, space);
        let links = cell.links(robot);
        if robot.has_springs() {
            space.moved.place(robot, &links);
            sweep_capsules(robot, &space.moved, &mut space.placed, &mut space.ends);
        }
        let MomentumCell { dq, radii, along, .. } = cell;
        let mismatch = mismatch(robot, tube, (&along, &radii), &parts);
        let needed = Needed {
            tube,
            cell: (&along, &radii),
            coupling: &coupling,
            mismatch: &mismatch,
            narrowing: &narrowing,
        };
        let needs = needed.all(span, growth_m);
        let limits = |j: usize| &robot.joints[j].limits;
        let position = |j: usize| {
            limits(j).position.map_or(f64::INFINITY, |(lower, upper)| {
                (links[j].lower() - lower).min(upper - links[j].upper()).next_down()
            })
        };
        let torque = |j: usize| {
            let command = add_up(mismatch[j].nominal_nm, tube.robust_nm[j]);
            let drive = robot.drive(j);
            let applied = add_up(mul_up(command, 1.0 + drive.error_ratio.next_up()), drive.error_nm);
            (limits(j).torque - mul_up(applied, 1.0 + LAW_ROUNDOFF)).next_down()
        };
        let report = Self {
            needs,
            rho_nm: mismatch.iter().map(|m| m.rho_nm).collect(),
            position_margin: (0..n).map(position).collect(),
            velocity_margin: (0..n).map(|j| (limits(j).velocity - dq[j].sup_abs()).next_down()).collect(),
            torque_margin: (0..n).map(torque).collect(),
            position_error_rad: radii.e.clone(),
            r_rad_s: radii.r.clone(),
            reaction: coupling.reaction.clone(),
        };
        let (k_r, duration_s) = (tube.gains.k_r, curve.duration_s());
        Some((report, CellOutlook { span, k_r, duration_s, along, radii, coupling, parts, growth_m }))
    }
}

/// The conditions of the theorem, see [`super`].
pub(super) struct Needed<'a> {
    pub tube: &'a MomentumTube,
    pub cell: (&'a CellNumbers, &'a CellRadii),
    pub coupling: &'a Coupling,
    pub mismatch: &'a [Mismatch],
    pub narrowing: &'a Narrowing,
}

impl Needed<'_> {
    /// What is needed of each constant.
    pub fn all(&self, span: Span, growth_m: f64) -> MomentumNeeds {
        let n = self.mismatch.len();
        let largest = self.coupling.reaction.iter().map(|(_, most)| *most).fold(0.0, f64::max);
        MomentumNeeds {
            span,
            robust_nm: (0..n).map(|j| self.robust(j)).collect(),
            noise_nms: self.mismatch.iter().map(|m| m.noise_nms).collect(),
            lag_nms2: (0..n).map(|j| self.lag(j)).collect(),
            sign_band_rad_s: self.mismatch.iter().map(|m| m.sign_band_rad_s).collect(),
            gain: self.tube.gain(largest),
            growth_m,
        }
    }

    /// (1 - F_jj) (u_j - rho_j) >= sum |F_ji| (rho_i + u_i) + K_r P_j + K_r^2 E_j + c_j + |dP_j/dt|.
    fn robust(&self, j: usize) -> f64 {
        let Self { tube, cell: (along, radii), coupling, mismatch, .. } = self;
        let k_r = tube.gains.k_r;
        let besides = sum_up([
            mul_up(k_r, tube.radius(j)),
            mul_up(mul_up(k_r, k_r), tube.lag_nms2[j]),
            along.turning.row_times(j, &radii.p),
            self.narrowing.radius_nm[j],
        ]);
        let pushed: Joints<f64> =
            mismatch.iter().zip(&tube.robust_nm).map(|(m, u)| add_up(m.rho_nm, *u)).collect();
        add_up(mismatch[j].rho_nm, coupling.outweighing(j, &pushed, besides))
    }

    /// K_r E_j >= P_j + |dM_0/dt e|_j + |dE_j/dt|.
    fn lag(&self, j: usize) -> f64 {
        let (along, radii) = self.cell;
        let turned = along.turning.row_times(j, &radii.lag);
        let inward = sum_up([self.tube.radius(j), turned, self.narrowing.lag_nms[j]]);
        div_up(inward, self.tube.gains.k_r)
    }
}

/// Upper bound of how far `point` is from the line that it would follow without errors, m.
pub(in crate::reach) fn growth<const N: usize, R: Rounding>(point: &[Affine<N, R>; 3]) -> f64 {
    let beyond = |x: &Affine<N, R>| {
        let mut still = *x.generators();
        still[TIME] = 0.0;
        Affine::<N, R>::new(0.0, still, x.remainder()).radius()
    };
    sum_up(point.iter().map(|x| mul_up(beyond(x), beyond(x)))).sqrt().next_up()
}
