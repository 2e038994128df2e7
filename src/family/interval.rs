//! What one may want to know of intervals besides what the certifier does.

use crate::enclose::Interval;

impl Interval {
    /// Distance between the bounds, rounded up.
    #[inline]
    pub fn width(self) -> f64 {
        if self.lower() == self.upper() { 0.0 } else { (self.upper() - self.lower()).next_up() }
    }

    /// Whether all of `other` lies inside.
    #[inline]
    pub fn encloses(self, other: Self) -> bool {
        self.lower() <= other.lower() && other.upper() <= self.upper()
    }

    /// What both have in common, if anything.
    #[inline]
    pub fn intersect(self, other: Self) -> Option<Self> {
        let (lower, upper) = (self.lower().max(other.lower()), self.upper().min(other.upper()));
        (lower <= upper).then(|| Self::new(lower, upper))
    }

    /// The set of `|x|`.
    #[inline]
    pub fn abs(self) -> Self {
        if self.lower() >= 0.0 {
            self
        } else if self.upper() <= 0.0 {
            -self
        } else {
            Self::new(0.0, self.sup_abs())
        }
    }
}
