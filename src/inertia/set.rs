//! A set of parameter vectors: what the planner, the controller and the certifier quantify over.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ARMATURE, COULOMB, FRICTION, INERTIAL, OFFSET, VISCOUS};

/// A box of parameter vectors (layout of [`crate::robot::Model::nominal_parameters`]), `lower <= theta <= upper`, and what is known of
/// combinations of them besides. Bounds are finite and in order, wherever the set came from.
///
/// Units are those of the parameters: kg, kg m, kg m^2, then N m, N m s/rad, kg m^2, N m. [`ParameterSet::body`] and
/// [`ParameterSet::joint`] call them by name.
///
/// ```
/// use surelift::inertia::ParameterSet;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let robot = surelift::robot::load("kinova_gen3_2f85")?;
/// let set = ParameterSet::around_nominal(&robot);
/// let mass = set.body(robot.end_effector()).mass();
/// println!("the hand weighs {} to {} kg", mass.lower, mass.upper);
/// println!("joint 1 rubs with {} N m at most", set.joint(0).coulomb().upper);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(try_from = "Stated")]
pub struct ParameterSet {
    /// Lower bounds.
    lower: Vec<f64>,
    /// Upper bounds, not below `lower`.
    upper: Vec<f64>,
    /// Bounds on combinations, for one motion; none if the box is all that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    strips: Option<TorqueStrips>,
    /// A part of one of the bodies; none if nothing of the kind is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<Core>,
}

/// A set as it is written, not checked yet.
#[cfg(any(feature = "verify", not(surelift_program)))]
#[derive(Deserialize)]
struct Stated {
    lower: Vec<f64>,
    upper: Vec<f64>,
    #[serde(default)]
    strips: Option<TorqueStrips>,
    #[serde(default)]
    core: Option<Core>,
}

#[cfg(any(feature = "verify", not(surelift_program)))]
impl TryFrom<Stated> for ParameterSet {
    type Error = SetError;

    fn try_from(stated: Stated) -> Result<Self, SetError> {
        let Stated { lower, upper, strips, core } = stated;
        Ok(Self { strips, core, ..Self::new(lower, upper)? })
    }
}

/// Why bounds make no set.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SetError {
    /// Not as many upper as lower bounds.
    #[error("{lower} lower and {upper} upper bounds, expected as many")]
    Lengths {
        /// Lower bounds.
        lower: usize,
        /// Upper bounds.
        upper: usize,
    },
    /// An interval that is empty or not finite.
    #[error("interval {parameter} is from {lower} to {upper}, expected finite bounds in order")]
    Interval {
        /// Index of the parameter.
        parameter: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
}

/// What one parameter may be, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterRange {
    /// Smallest value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
}

impl ParameterRange {
    /// Half the difference of the bounds.
    pub fn half_width(self) -> f64 {
        0.5 * (self.upper - self.lower)
    }

    /// Whether `x` lies in it.
    pub fn contains(self, x: f64) -> bool {
        self.lower <= x && x <= self.upper
    }
}

/// What a set says of one body: ten intervals, about and in the frame of its joint.
#[derive(Debug, Clone, Copy)]
pub struct BodyRanges<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
}

impl BodyRanges<'_> {
    /// The `p`-th of the ten, in the order of [`super::PARAMETER_NAMES`], in its unit.
    pub fn range(&self, p: usize) -> ParameterRange {
        ParameterRange { lower: self.lower[p], upper: self.upper[p] }
    }

    /// Mass, kg.
    pub fn mass(&self) -> ParameterRange {
        self.range(0)
    }

    /// First moment m c (x, y, z), kg m.
    pub fn first_moment(&self) -> [ParameterRange; 3] {
        std::array::from_fn(|k| self.range(1 + k))
    }

    /// Inertia (xx, xy, yy, xz, yz, zz), kg m^2.
    pub fn inertia(&self) -> [ParameterRange; 6] {
        std::array::from_fn(|k| self.range(4 + k))
    }

    /// All ten lower bounds, in the order of [`super::PARAMETER_NAMES`].
    pub fn lower(&self) -> [f64; INERTIAL] {
        std::array::from_fn(|k| self.lower[k])
    }

    /// All ten upper bounds, in that order.
    pub fn upper(&self) -> [f64; INERTIAL] {
        std::array::from_fn(|k| self.upper[k])
    }

    /// Whether ten parameters lie in the ten intervals.
    pub fn contains(&self, body: &[f64; INERTIAL]) -> bool {
        (0..INERTIAL).all(|p| self.range(p).contains(body[p]))
    }
}

/// What a set says of one joint.
#[derive(Debug, Clone, Copy)]
pub struct JointRanges<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
}

impl JointRanges<'_> {
    fn range(&self, p: usize) -> ParameterRange {
        ParameterRange { lower: self.lower[p], upper: self.upper[p] }
    }

    /// Coulomb friction, N m.
    pub fn coulomb(&self) -> ParameterRange {
        self.range(COULOMB)
    }

    /// Viscous friction, N m s/rad.
    pub fn viscous(&self) -> ParameterRange {
        self.range(VISCOUS)
    }

    /// Transmission inertia, kg m^2.
    pub fn armature(&self) -> ParameterRange {
        self.range(ARMATURE)
    }

    /// Torque offset, N m.
    pub fn offset(&self) -> ParameterRange {
        self.range(OFFSET)
    }
}

/// Part of a body: what is left of the body without it is one that can exist (pseudo-inertia >= 0), or nothing. A gripper that
/// holds something is known to be still there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Index of the whole body's mass among the parameters.
    pub first: usize,
    /// Inertial parameters of the part, in the whole body's frame.
    pub part: [f64; INERTIAL],
}

/// { theta : lower <= direction . theta <= upper }. A few of them hold what a box forgets: that the data allow a heavier
/// payload only with a lighter link, or one that is held closer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Strip {
    /// One number a parameter.
    pub direction: Vec<f64>,
    /// Lower bound of `direction . theta`.
    pub lower: f64,
    /// Upper bound, not below `lower`.
    pub upper: f64,
}

/// Strips in the directions in which a motion needs them: at some of its times and for each joint, the row that the joint's
/// torque (N m) depends on the parameters with, or one near it. The strips say something about the parameters, not about
/// the motion: they hold for any other one too.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(feature = "verify", not(surelift_program)), derive(Deserialize))]
#[serde(deny_unknown_fields)]
pub struct TorqueStrips {
    /// Times from the motion's start, s; at least one, increasing.
    pub times: Vec<f64>,
    /// For each time in turn, one strip a joint.
    pub strips: Vec<Strip>,
}

impl Strip {
    /// Whether `theta` lies in it, up to the rounding of the sum.
    pub fn contains(&self, theta: &[f64]) -> bool {
        let (mut sum, mut size) = (0.0, 0.0);
        for (d, x) in self.direction.iter().zip(theta) {
            sum += d * x;
            size += (d * x).abs();
        }
        let slack = (self.direction.len() + 2) as f64 * f64::EPSILON * size;
        theta.len() == self.direction.len() && self.lower - slack <= sum && sum <= self.upper + slack
    }
}

impl TorqueStrips {
    /// What is wrong with them for a robot with `dof` joints and so many `parameters`, over a motion of `duration_s`.
    pub fn fault(&self, dof: usize, parameters: usize, duration_s: f64) -> Option<String> {
        let times = &self.times;
        let ordered = times.windows(2).all(|pair| pair[0] < pair[1]);
        let within = times.first().is_some_and(|t| *t >= 0.0) && times.iter().all(|t| *t <= duration_s);
        if !(ordered && within) {
            return Some(format!("times {times:?}, expected increasing ones from 0 to {duration_s} s"));
        }
        if self.strips.len() != dof * times.len() {
            let (found, expected) = (self.strips.len(), dof * times.len());
            return Some(format!(
                "{found} strips, expected {dof} for each of {} times, {expected}",
                times.len()
            ));
        }
        let sound = |strip: &Strip| {
            let numbers = strip.direction.iter().chain([&strip.lower, &strip.upper]);
            strip.direction.len() == parameters
                && strip.lower <= strip.upper
                && numbers.into_iter().all(|x| x.is_finite())
        };
        let bad = self.strips.iter().position(|strip| !sound(strip))?;
        Some(format!("strip {bad}: expected {parameters} finite numbers and finite bounds, lower <= upper"))
    }
}

impl ParameterSet {
    /// The box from `lower` to `upper`.
    ///
    /// # Errors
    /// [`SetError`] for lists of different lengths, and for the first interval that is empty or not finite.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self, SetError> {
        if lower.len() != upper.len() {
            return Err(SetError::Lengths { lower: lower.len(), upper: upper.len() });
        }
        let finite = |(l, u): (&f64, &f64)| l <= u && l.is_finite() && u.is_finite();
        if let Some(parameter) = lower.iter().zip(&upper).position(|bounds| !finite(bounds)) {
            let (lower, upper) = (lower[parameter], upper[parameter]);
            return Err(SetError::Interval { parameter, lower, upper });
        }
        Ok(Self { lower, upper, strips: None, core: None })
    }

    /// Lower bounds of all parameters.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Upper bounds of all parameters.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// What is known of combinations of parameters along one motion, if anything.
    pub fn strips(&self) -> Option<&TorqueStrips> {
        self.strips.as_ref()
    }

    /// A known part of one of the bodies, if there is one.
    pub fn core(&self) -> Option<&Core> {
        self.core.as_ref()
    }

    /// Number of bodies, each with a joint.
    fn bodies(&self) -> usize {
        self.len() / (INERTIAL + FRICTION)
    }

    /// What is known of body `i`, which moves with joint `i`.
    pub fn body(&self, i: usize) -> BodyRanges<'_> {
        let at = INERTIAL * i..INERTIAL * (i + 1);
        BodyRanges { lower: &self.lower[at.clone()], upper: &self.upper[at] }
    }

    /// What is known of joint `j`'s friction, transmission and offset.
    pub fn joint(&self, j: usize) -> JointRanges<'_> {
        let first = INERTIAL * self.bodies() + FRICTION * j;
        let at = first..first + FRICTION;
        JointRanges { lower: &self.lower[at.clone()], upper: &self.upper[at] }
    }

    /// The same set with these intervals for the parameters from number `first` on.
    ///
    /// # Errors
    /// As [`ParameterSet::new`].
    pub fn with_intervals(mut self, first: usize, lower: &[f64], upper: &[f64]) -> Result<Self, SetError> {
        for (k, (l, u)) in lower.iter().zip(upper).enumerate() {
            (self.lower[first + k], self.upper[first + k]) = (*l, *u);
        }
        let Self { lower, upper, strips, core } = self;
        Ok(Self { strips, core, ..Self::new(lower, upper)? })
    }

    /// The same set with these intervals for body `i`, in the order of [`super::PARAMETER_NAMES`].
    ///
    /// # Errors
    /// As [`ParameterSet::new`].
    pub fn with_body(
        self,
        i: usize,
        lower: &[f64; INERTIAL],
        upper: &[f64; INERTIAL],
    ) -> Result<Self, SetError> {
        self.with_intervals(INERTIAL * i, lower, upper)
    }

    /// The same set, and body `i` is known to hold the part `part` (its inertial parameters in the body's frame).
    pub fn with_core(mut self, i: usize, part: [f64; INERTIAL]) -> Self {
        self.core = Some(Core { first: INERTIAL * i, part });
        self
    }

    /// The same box with these strips and no others.
    pub fn with_strips(mut self, strips: Option<TorqueStrips>) -> Self {
        self.strips = strips;
        self
    }

    /// Puts another interval in the place of that of parameter `p`; finite and in order, as the caller has seen to.
    pub(crate) fn replace(&mut self, p: usize, [lower, upper]: [f64; 2]) {
        debug_assert!(lower <= upper && lower.is_finite() && upper.is_finite());
        (self.lower[p], self.upper[p]) = (lower, upper);
    }

    /// Makes interval `p` smaller. Whoever does so looks whether anything is left: [`ParameterSet::emptied`].
    pub(crate) fn narrow(&mut self, p: usize, lower: f64, upper: f64) {
        self.lower[p] = self.lower[p].max(lower);
        self.upper[p] = self.upper[p].min(upper);
    }

    /// By how much the bounds of interval `p` have passed each other, if they have.
    pub(crate) fn emptied(&self, p: usize) -> Option<f64> {
        (self.upper[p] < self.lower[p]).then(|| self.lower[p] - self.upper[p])
    }

    /// The box of some of the parameters.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Self {
        let (lower, upper) = (self.lower[range.clone()].to_vec(), self.upper[range].to_vec());
        Self { lower, upper, strips: None, core: None }
    }

    /// The same box with one parameter more.
    pub(crate) fn with_further(&self, range: [f64; 2]) -> Self {
        let mut set = Self { strips: None, core: None, ..self.clone() };
        set.lower.push(range[0]);
        set.upper.push(range[1]);
        set
    }

    /// The same box without its last parameter.
    pub(crate) fn without_last(&self) -> Self {
        let count = self.len().saturating_sub(1);
        let (lower, upper) = (self.lower[..count].to_vec(), self.upper[..count].to_vec());
        Self { lower, upper, strips: None, core: None }
    }

    /// All within the second number of the first one, outward-rounded; both finite.
    pub(crate) fn around(each: impl Iterator<Item = (f64, f64)>) -> Self {
        let (lower, upper) = each.map(|(x, half)| ((x - half).next_down(), (x + half).next_up())).unzip();
        Self { lower, upper, strips: None, core: None }
    }

    /// What is wrong with the set for a robot with `dof` joints and so many `parameters`, over a motion of `duration_s`.
    pub fn fault(&self, dof: usize, parameters: usize, duration_s: f64) -> Option<String> {
        let (lower, upper) = (self.lower.len(), self.upper.len());
        if lower != parameters || upper != parameters {
            return Some(format!(
                "expected {parameters} intervals, found {lower} lower and {upper} upper bounds"
            ));
        }
        if let Some(Core { first, part }) = &self.core
            && !(first.is_multiple_of(INERTIAL)
                && *first < INERTIAL * dof
                && part.iter().all(|x| x.is_finite()))
        {
            return Some(format!("core: expected finite numbers of a body, found {part:?} from {first}"));
        }
        self.strips.as_ref()?.fault(dof, parameters, duration_s).map(|fault| format!("strips: {fault}"))
    }

    /// Number of parameters.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// Whether the set has no parameters at all.
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// Midpoint of each interval (any point serves as centre; `radius` is taken about the returned value).
    pub fn center(&self) -> Vec<f64> {
        self.centers_and_radii().map(|(center, _)| center).collect()
    }

    /// Half-widths about [`ParameterSet::center`], rounded up so that the box is inside center +- radius.
    pub fn radius(&self) -> Vec<f64> {
        self.centers_and_radii().map(|(_, radius)| radius).collect()
    }

    /// [`ParameterSet::center`] and [`ParameterSet::radius`], one parameter after the other.
    pub fn centers_and_radii(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.lower.iter().zip(&self.upper).map(|(l, u)| {
            let c = 0.5 * l + 0.5 * u;
            (c, (u - c).next_up().max((c - l).next_up()).max(0.0))
        })
    }

    /// Bounds to be changed unchecked, by tests.
    #[cfg(test)]
    pub(crate) fn bounds(&mut self) -> (&mut Vec<f64>, &mut Vec<f64>) {
        (&mut self.lower, &mut self.upper)
    }

    /// Strips to be changed unchecked, by tests.
    #[cfg(test)]
    pub(crate) fn known_strips(&mut self) -> Option<&mut TorqueStrips> {
        self.strips.as_mut()
    }

    /// Whether `theta` lies in the box and, up to rounding, in all strips.
    pub fn contains(&self, theta: &[f64]) -> bool {
        let mut strips = self.strips.iter().flat_map(|s| &s.strips);
        theta.len() == self.len()
            && strips.all(|strip| strip.contains(theta))
            && theta.iter().zip(self.lower.iter().zip(&self.upper)).all(|(x, (l, u))| l <= x && x <= u)
    }
}
