//! What is known beforehand of a thing that is to be taken.

use nalgebra::Vector3;

use super::error::JobError;
use super::options::JobOptions;
use crate::horizon::{Excite, ExciteCriterion, HeldObject, Identify};
use crate::inertia::INERTIAL;
use crate::robot::{Arm, Capsule, DescribedPayload, PayloadWords, Prior, RobotError, StatedPayload};

/// What rounding makes of a sum of a few products, relative to the sum of their sizes: far more than it does.
const ROUNDED: f64 = 1e-12;
/// No thing is larger or farther from the hand, m, or heavier, kg.
const MOST: f64 = 1e4;
/// Samples of a motion at which it is foreseen what it would tell.
const SAMPLES: usize = 128;

/// Anything of which this is known. Places are in the tool frame of the arm ([`Arm::tool_frames`]), or in that of another link ([`GraspPrior::in_frame`]).
#[derive(Debug, Clone, PartialEq)]
pub struct GraspPrior {
    name: String,
    inside: Inside,
    /// Ends (m) and radius (m) of what covers it.
    capsules: Vec<([f64; 3], [f64; 3], f64)>,
    ignored: Vec<(String, String)>,
    /// The link; the tool frame if none.
    frame: Option<String>,
}

/// What its mass may be, and where.
#[derive(Debug, Clone, PartialEq)]
enum Inside {
    /// All of it lies in a box.
    Box { mass_kg: [f64; 2], center_m: [f64; 3], size_m: [f64; 3] },
    /// Ten intervals of the whole last body.
    Body(Box<Prior>),
}

impl GraspPrior {
    /// A thing of at most `mass_kg` that lies in a box with this centre and these full side lengths, m. However its mass is spread within, the ten inertial parameters
    /// that follow are the narrowest intervals that hold them. The box is what must not touch anything, too: a capsule along its longest side covers it.
    pub fn within(mass_kg: f64, center_m: [f64; 3], size_m: [f64; 3]) -> Self {
        let longest = (0..3).fold(0, |most, k| if size_m[k] > size_m[most] { k } else { most });
        let along = |sign: f64| {
            std::array::from_fn(|k| center_m[k] + if k == longest { sign * 0.5 * size_m[k] } else { 0.0 })
        };
        let across: f64 = (0..3).filter(|&k| k != longest).map(|k| (0.5 * size_m[k]).powi(2)).sum();
        Self {
            name: "thing".to_owned(),
            inside: Inside::Box { mass_kg: [0.0, mass_kg], center_m, size_m },
            capsules: vec![(along(-1.0), along(1.0), across.sqrt() * (1.0 + ROUNDED))],
            ignored: Vec::new(),
            frame: None,
        }
    }

    /// A thing of which ten intervals are known, as scenario files have them: those of the *whole last body*, link, hand and thing, in the order m, h_x, h_y, h_z, I_xx, I_xy,
    /// I_yy, I_xz, I_yz, I_zz, about and in the frame of the last joint. Its shape has to be said with [`GraspPrior::with_capsule`].
    pub fn of_last_body(lower: [f64; INERTIAL], upper: [f64; INERTIAL]) -> Self {
        let prior = Prior { lower: Some(lower), upper: Some(upper), ..Prior::default() };
        let inside = Inside::Body(Box::new(prior));
        Self { name: "thing".to_owned(), inside, capsules: Vec::new(), ignored: Vec::new(), frame: None }
    }

    /// The same, with all places in the frame of this link of the URDF, which moves with the hand. Results are told in it, too.
    pub fn in_frame(self, link: impl Into<String>) -> Self {
        Self { frame: Some(link.into()), ..self }
    }

    /// The same with a name for messages.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The same, at least so heavy, kg.
    pub fn at_least(mut self, mass_kg: f64) -> Self {
        match &mut self.inside {
            Inside::Box { mass_kg: [least, _], .. } => *least = mass_kg,
            Inside::Body(prior) => prior.lower.iter_mut().for_each(|lower| lower[0] = mass_kg),
        }
        self
    }

    /// The same, covered by this capsule, too: all points within `radius_m` of the segment between two points, m.
    pub fn with_capsule(mut self, a_m: [f64; 3], b_m: [f64; 3], radius_m: f64) -> Self {
        self.capsules.push((a_m, b_m, radius_m));
        self
    }

    /// The same, which need not be kept apart from one of the arm's own capsules. That is trusted, with the reason.
    pub fn may_touch(mut self, capsule: impl Into<String>, reason: impl Into<String>) -> Self {
        self.ignored.push((capsule.into(), reason.into()));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The link in whose frame places are, if one is named.
    pub(super) fn frame(&self) -> Option<&str> {
        self.frame.as_deref()
    }

    /// What is said of the thing alone, where a box is.
    pub(super) fn stated(&self, robot: &Arm) -> Option<StatedPayload> {
        match &self.inside {
            Inside::Box { mass_kg, center_m, size_m } => {
                self.words(*mass_kg, *center_m, *size_m).stated(&robot.tool_frames()).ok()
            }
            Inside::Body(_) => None,
        }
    }

    /// The arm with the thing in its hand, and what is known of that: for a loop of one's own. [`super::Job::grasp`] does it itself.
    ///
    /// # Errors
    /// [`JobError::Input`] names what is wrong with the prior.
    pub fn attached_to(&self, robot: &Arm, options: &JobOptions) -> Result<(Arm, HeldObject), JobError> {
        let prior = self.prior(robot)?;
        if let Some((capsule, _)) = self.ignored.iter().find(|(_, reason)| reason.trim().is_empty()) {
            return Err(JobError::input(
                "prior.may_touch",
                format!("'{capsule}' may be touched without a reason"),
            ));
        }
        if self.capsules.is_empty() {
            let reason = "missing; expected at least one capsule that the thing lies in (`with_capsule`)";
            return Err(JobError::input("prior.capsule", reason));
        }
        let frames = robot.tool_frames();
        let frame = frames.get(self.frame()).map_err(|fault| JobError::input("prior.frame", fault.reason))?;
        let placement = frame.placement;
        let capsules: Vec<Capsule> = self
            .capsules
            .iter()
            .map(|&(a, b, radius)| {
                Capsule { a: Vector3::from(a), b: Vector3::from(b), radius }.placed(&placement)
            })
            .collect();
        let robot = robot.with_payload_shape(&capsules, &self.ignored).map_err(|fault| match fault {
            RobotError::Payload { index, reason } => {
                JobError::input(format!("prior.capsule[{index}]"), reason)
            }
            RobotError::PayloadIgnore { name } => {
                JobError::input("prior.may_touch", format!("there is no capsule '{name}'"))
            }
            other => JobError::input("prior", other),
        })?;
        let excite = Excite {
            criterion: ExciteCriterion::PredictedWidth,
            weights: [1.0; 3],
            samples: SAMPLES,
            look_ahead: false,
            range_rad: options.excite_range_rad.clone(),
        };
        let identify = Identify { window_s: options.window_s, ..Identify::default() };
        Ok((robot, HeldObject { payload: self.name.clone(), prior, excite, identify }))
    }

    /// Ten intervals of the whole last body.
    fn prior(&self, robot: &Arm) -> Result<Prior, JobError> {
        let (mass, center, size) = match &self.inside {
            Inside::Box { mass_kg, center_m, size_m } => (mass_kg, center_m, size_m),
            Inside::Body(prior) => {
                prior
                    .body()
                    .map_err(|fault| JobError::input(format!("prior.{}", fault.field), fault.reason))?;
                return Ok((**prior).clone());
            }
        };
        let [least, most] = *mass;
        if !(0.0 <= least && least <= most && 0.0 < most && most <= MOST) {
            let reason =
                format!("from {least} to {most} kg, expected 0 <= least <= most <= {MOST}, most above 0");
            return Err(JobError::input("prior.mass_kg", reason));
        }
        if let Some(bad) = center.iter().find(|x| !(x.abs() <= MOST)) {
            return Err(JobError::input(
                "prior.center_m",
                format!("{bad} m, expected a number of at most {MOST}"),
            ));
        }
        if let Some(bad) = size.iter().find(|x| !(**x > 0.0 && **x <= MOST)) {
            let reason = format!("{bad} m, expected a number above 0, at most {MOST}");
            return Err(JobError::input("prior.size_m", reason));
        }
        let whole = self.words(*mass, *center, *size).whole_body(robot);
        let DescribedPayload { lower, upper, .. } =
            whole.map_err(|fault| JobError::input(format!("prior.{}", fault.field), fault.reason))?;
        Ok(Prior { lower: Some(lower), upper: Some(upper), ..Prior::default() })
    }

    /// What is known of a thing of such a mass that lies in such a box.
    fn words(&self, mass_kg: [f64; 2], center_m: [f64; 3], size_m: [f64; 3]) -> PayloadWords {
        let [least, most] = mass_kg;
        PayloadWords {
            frame: self.frame.clone(),
            min_mass_kg: Some(least),
            max_mass_kg: Some(most),
            center_m: Some(center_m),
            size_m: Some(size_m),
            ..PayloadWords::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capsule_covers_the_box() {
        let prior = GraspPrior::within(1.0, [0.1, 0.2, 0.3], [0.05, 0.3, 0.1]);
        let (a, b, radius) = prior.capsules[0];
        let (a, b) = (Vector3::from(a), Vector3::from(b));
        for corner in 0..8 {
            let sign = |k: usize| if corner >> k & 1 == 1 { 0.5 } else { -0.5 };
            let p = Vector3::new(0.1 + 0.05 * sign(0), 0.2 + 0.3 * sign(1), 0.3 + 0.1 * sign(2));
            let s = ((p - a).dot(&(b - a)) / (b - a).norm_squared()).clamp(0.0, 1.0);
            assert!((p - a - (b - a) * s).norm() <= radius);
        }
    }
}
