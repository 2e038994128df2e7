//! What the reports on a plan amount to, in numbers: the least margin of each family, or the first that is negative.
//! Names are given at the end.

use crate::robot::{Robot, Scene};

use super::{Body, Certificate, Family, Margin, Refusal};

/// Which constraint of its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// That of a joint.
    Joint(usize),
    /// That of a capsule against another body.
    Pair(usize, Body),
    /// The tube's hold power.
    HoldPower,
    /// The tube's slack.
    EnergySlack,
    /// The tube's gain condition.
    Gain,
    /// The tube's drift of a joint.
    Drift(usize),
    /// The tube's bound on a joint's acceleration.
    Acceleration(usize),
    /// A time that no cell covers.
    Uncovered,
}

impl Place {
    fn name(self, robot: &Robot, scene: &Scene) -> String {
        let joint = |j: usize| format!("joint '{}'", robot.joints[j].name);
        let shape = |s: usize| &robot.shapes[s].name;
        match self {
            Place::Joint(j) => joint(j),
            Place::Pair(s, Body::Obstacle(k)) => {
                format!("'{}' against obstacle '{}'", shape(s), scene.obstacles[k].name)
            }
            Place::Pair(s, Body::Shape(k)) => format!("'{}' against '{}'", shape(s), shape(k)),
            Place::HoldPower => "tube hold_power_w".to_owned(),
            Place::EnergySlack => "tube energy_slack_j".to_owned(),
            Place::Gain => "tube gain condition".to_owned(),
            Place::Drift(j) => format!("tube drift_nm of {}", joint(j)),
            Place::Acceleration(j) => format!("tube acceleration_bound of {}", joint(j)),
            Place::Uncovered => "a time that no cell covers".to_owned(),
        }
    }
}

/// A constraint that could not be proven, see [`Refusal::Constraint`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// Its family.
    pub family: Family,
    /// Which one.
    pub place: Place,
    /// Start of the cell, s.
    pub t0: f64,
    /// End of the cell, s (infinite for the rest after the plan).
    pub t1: f64,
    /// Limit minus proven supremum.
    pub margin: f64,
}

impl Shortfall {
    /// The same with names.
    pub fn refusal(self, robot: &Robot, scene: &Scene) -> Refusal {
        let Self { family, place, t0, t1, margin } = self;
        if place == Place::Uncovered {
            return Refusal::Unsupported("the surveyed cells do not cover the plan".to_owned());
        }
        Refusal::Constraint { family, at: place.name(robot, scene), t0, t1, margin }
    }
}

/// Where a margin is smallest.
#[derive(Debug, Clone, Copy)]
struct Least {
    value: f64,
    t: f64,
    place: Place,
}

/// The least margin of each family over some cells; none is negative.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// By [`Family`].
    least: [Option<Least>; 5],
    cells: usize,
}

impl Tally {
    /// Of one cell, before its margins are taken.
    pub(super) fn of_a_cell() -> Self {
        Self { cells: 1, ..Self::default() }
    }

    pub(super) fn take(&mut self, family: Family, value: f64, t: f64, place: Place) {
        if value.is_finite() {
            self.lower(family as usize, Least { value, t, place });
        }
    }

    fn lower(&mut self, family: usize, other: Least) {
        let slot = &mut self.least[family];
        if slot.is_none_or(|least| other.value < least.value) {
            *slot = Some(other);
        }
    }

    /// Of these cells and later ones.
    pub(super) fn and(mut self, later: Self) -> Self {
        for (family, least) in later.least.into_iter().enumerate() {
            least.into_iter().for_each(|least| self.lower(family, least));
        }
        self.cells += later.cells;
        self
    }

    pub(super) fn certificate(&self, robot: &Robot, scene: &Scene) -> Certificate {
        let margin = |family: Family| match self.least[family as usize] {
            Some(Least { value, t, place }) => Margin { value: Some(value), t, at: place.name(robot, scene) },
            None => Margin { value: None, t: 0.0, at: String::new() },
        };
        Certificate {
            position: margin(Family::Position),
            velocity: margin(Family::Velocity),
            torque: margin(Family::Torque),
            collision: margin(Family::Collision),
            tube: margin(Family::Tube),
            cells: self.cells,
        }
    }
}
