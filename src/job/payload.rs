//! What is proven of a thing in the hand.

use std::fmt;

use super::grasp::GraspPrior;
use crate::inertia::ParameterSet;
use crate::robot::{Arm, FramedBounds, NamedFrame, Placement};

/// Proven bounds of what is held, without the hand: each an interval, lower bound first. They are in the frame of a link of the URDF.
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadBounds {
    /// Its name.
    pub name: String,
    /// The link in whose frame the rest is told: that of the prior, or the tool frame.
    pub frame: String,
    /// Mass, kg.
    pub mass_kg: [f64; 2],
    /// Centre of mass, m; `None` where nothing bounds it: no box was stated, and the thing may weigh nothing.
    pub center_m: Option<[[f64; 2]; 3]>,
    /// I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the centre of mass, along the axes of the frame, kg m^2.
    pub inertia_kg_m2: [[f64; 2]; 6],
}

/// See [`PayloadBounds::of`].
fn bounds(robot: &Arm, set: &ParameterSet, prior: Option<&GraspPrior>) -> PayloadBounds {
    let hand = robot.end_effector();
    let (whole, stated) = (set.body(hand), prior.and_then(|prior| prior.stated(robot)));
    // The prior's frame was looked for when the thing was taken.
    let frames = robot.tool_frames();
    let frame = frames.get(prior.and_then(GraspPrior::frame)).or_else(|_| frames.get(None));
    let joints_own = || NamedFrame {
        name: robot.joints[hand].link.clone(),
        joint: Some(hand),
        placement: Placement::identity(),
    };
    let frame = frame.map_or_else(|_| joints_own(), Clone::clone);
    let framed = FramedBounds::of_last_body(robot, &frame, &[whole.lower(), whole.upper()], stated.as_ref());
    // What was stated and what was found contradict each other: nothing is proven.
    let unknown = [f64::NEG_INFINITY, f64::INFINITY];
    let nothing = FramedBounds { mass_kg: [0.0, f64::INFINITY], com_m: None, inertia_kg_m2: [unknown; 6] };
    let FramedBounds { mass_kg, com_m, inertia_kg_m2 } = framed.unwrap_or(nothing);
    PayloadBounds {
        name: prior.map_or_else(String::new, |prior| prior.name().to_owned()),
        frame: frame.name,
        mass_kg,
        center_m: com_m,
        inertia_kg_m2,
    }
}

impl PayloadBounds {
    /// What `set` says of the last body, less what the empty hand of `robot` may be, and what was known of the thing beforehand. The set is one of this
    /// robot's parameters.
    pub fn of(robot: &Arm, set: &ParameterSet, prior: Option<&GraspPrior>) -> Self {
        bounds(robot, set, prior)
    }

    /// The middle of the mass, kg, and how far it may be from there.
    pub fn mass_and_spread_kg(&self) -> (f64, f64) {
        let [low, high] = self.mass_kg;
        (0.5 * (low + high), 0.5 * (high - low))
    }
}

impl fmt::Display for PayloadBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.mass_kg;
        // Rounded outward.
        let (low, high) = ((1e3 * low).floor() / 1e3, (1e3 * high).ceil() / 1e3);
        write!(f, "{}: {low:.3} to {high:.3} kg", self.name)?;
        if let Some(center) = &self.center_m {
            let [x, y, z] =
                center.map(|[low, high]| format!("{:.0} to {:.0}", (1e3 * low).floor(), (1e3 * high).ceil()));
            write!(f, ", centre of mass at x {x}, y {y}, z {z} mm of '{}'", self.frame)?;
        }
        Ok(())
    }
}
