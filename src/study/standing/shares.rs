//! What a motion uses of the limits.

/// What is in the way where links come too near.
pub(super) const APART: &str = "the distance of links from each other";

/// The largest share of each limit that a motion uses: 1 is the limit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LimitShares {
    /// Of half of a joint's range, from its middle.
    pub position: f64,
    /// Of a joint's speed.
    pub speed: f64,
    /// Of a motor's torque.
    pub torque: f64,
    /// Of the friction cone ([`crate::simulate::Hold::shares`]), forces off by [`super::Carried::force_errors`] to the worse.
    pub friction: f64,
    /// A twentieth of a foot's part of the weight by what it carries, which is off to the worse as well; infinite where it lifts.
    pub load: f64,
    /// Of the way to a singular posture, such as a stretched knee: of the loss of the legs' smallest singular value that is allowed.
    pub posture: f64,
    /// Of the sole, from its middle to its edge, by the centre of pressure; 0 for feet that are points.
    pub pressure: f64,
    /// The distance that links have to keep from each other, by that which they keep; infinite where they overlap, 0 without shapes.
    pub apart: f64,
}

impl LimitShares {
    /// Of a motion that does nothing.
    pub const NONE: Self = Self {
        position: 0.0,
        speed: 0.0,
        torque: 0.0,
        friction: 0.0,
        load: 0.0,
        posture: 0.0,
        pressure: 0.0,
        apart: 0.0,
    };

    /// The largest of all.
    pub fn most(&self) -> f64 {
        self.worst().1
    }

    /// Each of them, in words and how much of it.
    pub(super) fn each(&self) -> [(&'static str, f64); 8] {
        [
            ("a joint's range", self.position),
            ("a joint's speed", self.speed),
            ("a motor's torque", self.torque),
            ("a foot's friction", self.friction),
            ("what a foot has to carry", self.load),
            ("a singular posture of the legs", self.posture),
            ("the edge of a sole", self.pressure),
            (APART, self.apart),
        ]
    }

    /// The limit of which most is used, in words, and how much of it.
    pub fn worst(&self) -> (&'static str, f64) {
        // What is no number is worst.
        let worse = |limit: f64, worst: f64| !worst.is_nan() && !(limit <= worst);
        self.each()
            .into_iter()
            .fold(("nothing", 0.0), |worst, limit| if worse(limit.1, worst.1) { limit } else { worst })
    }

    /// The larger of both, one by one.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self {
            position: larger(self.position, other.position),
            speed: larger(self.speed, other.speed),
            torque: larger(self.torque, other.torque),
            friction: larger(self.friction, other.friction),
            load: larger(self.load, other.load),
            posture: larger(self.posture, other.posture),
            pressure: larger(self.pressure, other.pressure),
            apart: larger(self.apart, other.apart),
        }
    }
}

/// The larger number; what is no number is larger than all.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}
