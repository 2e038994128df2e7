//! What is known of a payload in the frame of a link, as makers and simulators state it: mass, centre of mass, and inertia about that.
//!
//! # The claim and its proof
//! Of a payload whose ten parameters theta, about and in the frame of the hand's joint, lie in a box, [`FramedBounds::of`] encloses mass, centre of mass c' and
//! inertia about it I' in the frame of a link that the joint carries: with h = m c and R, t the link's frame in the joint's,
//!
//! - c = h / m and c' = R' (c - t), over intervals; nothing is said of c where the mass may be 0, unless a box of centres was stated
//!   ([`FramedBounds::of_last_body`]);
//! - the inertia about the centre of mass is I_c = I - (h.h E - h h') / m (Steiner), and I' = R' I_c R. Where the mass may be 0: a payload without negative
//!   density has 0 <= (I_c)_kk <= I_kk, since what is taken away is never negative;
//! - in any axes a moment of inertia is at least 0, and |I_xy| = |∫ x y dm| <= ∫ (x^2 + y^2)/2 dm = I_zz / 2.
//!
//! All of it is outward-rounded intervals. The link's frame is known up to rounding: R and t are products of a few rotations, off by less than 1e-13, so the centre
//! grows by a nanometre and each moment by 1e-9 of the largest, for lengths of at most a kilometre.

use nalgebra::Matrix3;
use serde::{Deserialize, Serialize};

use super::arm::Arm;
use super::model::{NamedFrame, Placement};
use super::prior::PriorFault;
use super::words::{StatedPayload, ToolFrames};
use crate::enclose::Interval;
use crate::inertia::INERTIAL;
use crate::inertia::pseudo::{check_physical, from_center_of_mass, nearest_physical};
use crate::scalar::Scalar;

/// By how much centres grow, m, and moments, of the largest: the link's place is rounded.
const ROUNDED: f64 = 1e-9;
/// The least thickness that an estimate is given where it is no body, m^2: a millimetre.
const THICKNESS: f64 = 1e-6;

/// A body in the frame of a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct FramedBody {
    /// Mass, kg.
    pub mass_kg: f64,
    /// Centre of mass, m.
    pub com_m: [f64; 3],
    /// I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the centre of mass, along the axes of the frame, kg m^2.
    pub inertia_kg_m2: [f64; 6],
}

/// Bounds of a body in the frame of a link, lower bound first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct FramedBounds {
    /// Mass, kg.
    pub mass_kg: [f64; 2],
    /// Centre of mass, m; left out where nothing bounds it, as the mass may be 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub com_m: Option<[[f64; 2]; 3]>,
    /// I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the centre of mass, along the axes of the frame, kg m^2.
    pub inertia_kg_m2: [[f64; 2]; 6],
}

/// A payload alone, without what holds it, in the frame of a link of the URDF.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
pub struct FramedPayload {
    /// The link.
    pub frame: String,
    /// The estimate; it comes with no bound. Left out where its mass is not above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<FramedBody>,
    /// Whether the estimate was no body that can exist, and the nearest one stands in its place: same mass and centre.
    #[serde(default)]
    pub mended: bool,
    /// Bounds, as long as the assumptions hold; left out where nothing is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<FramedBounds>,
    /// The truth, where a simulation knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<FramedBody>,
}

/// The order of six moments of inertia, as (row, column).
const SIX: [(usize, usize); 6] = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)];

impl FramedBody {
    /// A body whose ten parameters are about and in the frame of a joint, in that of a link which is placed there; `None` without a mass above 0.
    pub fn of(theta: &[f64; INERTIAL], placement: &Placement) -> Option<Self> {
        let [mass, hx, hy, hz, ..] = *theta;
        if !(mass > 0.0 && theta.iter().all(|x| x.is_finite())) {
            return None;
        }
        let h = nalgebra::Vector3::new(hx, hy, hz);
        let about = matrix(&theta[4..]) - (Matrix3::identity() * h.dot(&h) - h * h.transpose()) / mass;
        let turned = placement.rotation.transpose() * about * placement.rotation;
        let com = placement.inverse().point(&(h / mass));
        Some(Self {
            mass_kg: mass,
            com_m: com.into(),
            inertia_kg_m2: SIX.map(|(i, j)| 0.5 * (turned[(i, j)] + turned[(j, i)])),
        })
    }

    /// The ten parameters about and in the frame, in the order of [`crate::inertia::PARAMETER_NAMES`].
    pub fn parameters(&self) -> [f64; INERTIAL] {
        from_center_of_mass(self.mass_kg, &self.com_m.into(), &self.inertia())
    }

    /// Inertia about the centre of mass as a matrix, kg m^2.
    pub fn inertia(&self) -> Matrix3<f64> {
        matrix(&self.inertia_kg_m2)
    }
}

/// The symmetric matrix of xx, xy, yy, xz, yz, zz.
fn matrix(six: &[f64]) -> Matrix3<f64> {
    Matrix3::from_fn(|i, j| six[at(i, j)])
}

/// Where entry (i, j) of a symmetric matrix is among the six.
fn at(i: usize, j: usize) -> usize {
    SIX.iter().position(|&(a, b)| (a, b) == (i.min(j), i.max(j))).unwrap_or_default()
}

impl FramedBounds {
    /// Bounds of a payload of which ten intervals are known. Proof: the module's header. `None` where no body fits them.
    pub fn of(lower: &[f64; INERTIAL], upper: &[f64; INERTIAL], placement: &Placement) -> Option<Self> {
        let range = |k: usize| Interval::new(lower[k], upper[k]);
        if (0..INERTIAL).any(|k| !(lower[k] <= upper[k])) || upper[0] < 0.0 {
            return None;
        }
        let mass = Interval::new(lower[0].max(0.0), upper[0]);
        let (h, own) = ([range(1), range(2), range(3)], |i: usize, j: usize| range(4 + at(i, j)));
        let weighs = mass.lower() > 0.0;
        let rotation = |k: usize, i: usize| Interval::constant(placement.rotation[(k, i)]);
        let com = weighs.then(|| {
            let from: [Interval; 3] =
                std::array::from_fn(|k| h[k] / mass - Interval::constant(placement.translation[k]));
            std::array::from_fn(|i| {
                let sum =
                    (0..3).fold(Interval::around(0.0, ROUNDED), |sum, k| sum + rotation(k, i) * from[k]);
                [sum.lower(), sum.upper()]
            })
        });
        // About the centre of mass, along the joint's axes.
        let product = |i: usize, j: usize| if i == j { h[i].sqr() } else { h[i] * h[j] };
        let about = |i: usize, j: usize| {
            let (most, zero) = (own(i, i).upper().max(0.0), Interval::constant(0.0));
            match (i == j, weighs) {
                (true, true) => {
                    let taken = (0..3).filter(|k| *k != i).fold(zero, |sum, k| sum + product(k, k)) / mass;
                    let left = own(i, i) - taken;
                    Interval::new(left.lower().max(0.0), left.upper().min(most).max(0.0))
                }
                (true, false) => Interval::new(0.0, most),
                (false, _) => {
                    let half = 0.5 * own(3 - i - j, 3 - i - j).upper().max(0.0);
                    let bound = Interval::new(-half.next_up(), half.next_up());
                    let left = if weighs { own(i, j) + product(i, j) / mass } else { bound };
                    let (low, high) = (left.lower().max(bound.lower()), left.upper().min(bound.upper()));
                    if low <= high { Interval::new(low, high) } else { bound }
                }
            }
        };
        let about: [[Interval; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| about(i, j)));
        let slack = ROUNDED * about.iter().flatten().fold(0.0, |most: f64, x| most.max(x.sup_abs()));
        let turned: [Interval; 6] = SIX.map(|(i, j)| {
            let mut sum = Interval::around(0.0, slack);
            for (k, row) in about.iter().enumerate() {
                for (l, entry) in row.iter().enumerate() {
                    sum = sum + rotation(k, i) * rotation(l, j) * *entry;
                }
            }
            sum
        });
        let inertia = SIX.map(|(i, j)| {
            let found = turned[at(i, j)];
            let half = if i == j { f64::INFINITY } else { 0.5 * turned[at(3 - i - j, 3 - i - j)].upper() };
            let (low, high) = if i == j {
                (found.lower().max(0.0), found.upper().max(0.0))
            } else {
                (found.lower().max(-half.next_up()), found.upper().min(half.next_up()))
            };
            if low <= high { [low, high] } else { [found.lower(), found.upper()] }
        });
        Some(Self { mass_kg: [mass.lower(), mass.upper()], com_m: com, inertia_kg_m2: inertia })
    }

    /// Bounds of the payload alone, from lower and upper ones of the whole last body: what holds it is as the robot's file says, up to its uncertainty, and it
    /// is as was stated. `None` where no body fits all of that.
    ///
    /// The payload is the last body less the hand, and lies in the box that was stated; so it lies in what both have in common, and its centre of mass in what the
    /// stated box of centres has in common with that of [`FramedBounds::of`]. Where the mass may be 0, the stated box alone is left: it is where the centre of what
    /// there is lies. A box in another frame is not turned: the ten stated intervals hold what it says.
    ///
    /// What lies in [l, u] along an axis has there a second moment about its mean of at most m (u - l)^2 / 4 (Popoviciu). So with s the sides of the stated box,
    /// I_xx <= m (s_y^2 + s_z^2) / 4 about the centre of mass. And |I_xy| <= m s_x s_y / 4 (Cauchy and Schwarz).
    pub fn of_last_body(
        robot: &Arm,
        frame: &NamedFrame,
        [lower, upper]: &[[f64; INERTIAL]; 2],
        stated: Option<&StatedPayload>,
    ) -> Option<Self> {
        let empty = &robot.joints[robot.end_effector()].inertia;
        let hand = |k: usize| Interval::around(empty[k], robot.uncertainty().of_link(k, empty[k]));
        let alone = |k: usize| Interval::new(lower[k], upper[k]) - hand(k);
        let [low, high] =
            stated.map_or([[f64::NEG_INFINITY; INERTIAL], [f64::INFINITY; INERTIAL]], |s| s.bounds);
        let lower = std::array::from_fn(|k| alone(k).lower().max(low[k]));
        let upper = std::array::from_fn(|k| alone(k).upper().min(high[k]));
        let found = Self::of(&lower, &upper, &frame.placement)?;
        let Some(stated) = stated.filter(|stated| stated.frame == frame.name) else { return Some(found) };
        let com: [[f64; 2]; 3] = std::array::from_fn(|k| {
            let [low, high] = found.com_m.map_or([f64::NEG_INFINITY, f64::INFINITY], |com| com[k]);
            [low.max(stated.com_m[k][0]), high.min(stated.com_m[k][1])]
        });
        let mut told = Self { com_m: Some(com), ..found };
        let (mass, side) = (Interval::constant(found.mass_kg[1]), stated.size_m.map(Interval::constant));
        for (own, (i, j)) in told.inertia_kg_m2.iter_mut().zip(SIX) {
            let square = if i == j {
                (0..3).filter(|&k| k != i).fold(Interval::constant(0.0), |sum, k| sum + side[k].sqr())
            } else {
                side[i] * side[j]
            };
            let most = (mass * square * Interval::constant(0.25)).upper();
            *own = [own[0].max(if i == j { 0.0 } else { -most }), own[1].min(most)];
        }
        let ranges = com.iter().chain(&told.inertia_kg_m2);
        ranges.into_iter().all(|[low, high]| low <= high).then_some(told)
    }
}

impl FramedPayload {
    /// A payload in the frame of the link of that name, or in the tool frame, from what is known of the whole last body: what holds it is as the robot's file
    /// says, up to its uncertainty. `whole`: an estimate of the ten parameters; `bounds`: lower and upper ones, where they are proven; `stated`: what was said of the
    /// payload beforehand, which the bounds keep to.
    ///
    /// # Errors
    /// [`PriorFault`] for a link that does not move with the hand.
    pub fn of_last_body(
        robot: &Arm,
        frame: Option<&str>,
        whole: &[f64; INERTIAL],
        bounds: Option<[[f64; INERTIAL]; 2]>,
        stated: Option<&StatedPayload>,
    ) -> Result<Self, PriorFault> {
        let frames = ToolFrames::of(robot);
        let frame = frames.get(frame)?;
        let empty = &robot.joints[robot.end_effector()].inertia;
        let estimate = Self::alone(frame, &std::array::from_fn(|k| whole[k] - empty[k]), None);
        let bounds = bounds.and_then(|bounds| FramedBounds::of_last_body(robot, frame, &bounds, stated));
        Ok(Self { bounds, ..estimate })
    }

    /// The same of the ten parameters of the payload alone, about and in the frame of the hand's joint.
    pub fn alone(frame: &NamedFrame, theta: &[f64; INERTIAL], bounds: Option<[[f64; INERTIAL]; 2]>) -> Self {
        let mended = check_physical(theta).is_err();
        let shown = if mended { nearest_physical(theta, THICKNESS).ok() } else { Some(*theta) };
        let estimate = shown.and_then(|theta| FramedBody::of(&theta, &frame.placement));
        Self {
            frame: frame.name.clone(),
            mended: mended && estimate.is_some(),
            estimate,
            bounds: bounds.and_then(|[lower, upper]| FramedBounds::of(&lower, &upper, &frame.placement)),
            truth: None,
        }
    }

    /// The same, with the truth of the whole last body.
    pub fn with_truth(mut self, robot: &Arm, whole: &[f64; INERTIAL]) -> Self {
        let empty = &robot.joints[robot.end_effector()].inertia;
        let alone = std::array::from_fn(|k| whole[k] - empty[k]);
        let frames = ToolFrames::of(robot);
        let frame = frames.get(Some(&self.frame)).ok();
        self.truth = frame.and_then(|frame| FramedBody::of(&alone, &frame.placement));
        self
    }
}

#[cfg(test)]
mod tests;
