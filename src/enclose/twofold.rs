//! Numbers of twice the precision: an oracle that checks hold enclosures against. Not part of any proof.

/// The unevaluated sum of two floats, about 106 bits.
#[derive(Debug, Clone, Copy)]
pub struct Twofold {
    /// The nearest float.
    pub head: f64,
    /// What is missing.
    pub tail: f64,
}

#[allow(clippy::should_implement_trait, reason = "plain names keep the oracle apart from what it checks")]
impl Twofold {
    /// The sum of a larger and a smaller float.
    pub fn new(head: f64, tail: f64) -> Self {
        let sum = head + tail;
        let part = sum - head;
        Self { head: sum, tail: (head - (sum - part)) + (tail - part) }
    }

    /// A float.
    pub fn from(x: f64) -> Self {
        Self { head: x, tail: 0.0 }
    }

    /// Sum.
    pub fn add(self, other: Self) -> Self {
        let s = Self::new(self.head, other.head);
        let t = Self::new(self.tail, other.tail);
        let s = Self::new(s.head, s.tail + t.head);
        Self::new(s.head, s.tail + t.tail)
    }

    /// Negative.
    pub fn neg(self) -> Self {
        Self { head: -self.head, tail: -self.tail }
    }

    /// Difference.
    pub fn sub(self, other: Self) -> Self {
        self.add(other.neg())
    }

    /// Product.
    pub fn mul(self, other: Self) -> Self {
        let p = self.head * other.head;
        let e = self.head.mul_add(other.head, -p);
        Self::new(p, e + (self.head * other.tail + self.tail * other.head))
    }

    /// Quotient.
    pub fn div(self, other: Self) -> Self {
        let q = self.head / other.head;
        let rest = self.sub(other.mul(Self::from(q)));
        let q2 = rest.head / other.head;
        let rest = rest.sub(other.mul(Self::from(q2)));
        Self::new(q, q2).add(Self::from(rest.head / other.head))
    }

    /// Absolute value.
    pub fn abs(self) -> Self {
        if self.head < 0.0 { self.neg() } else { self }
    }

    /// pi/4 by Machin's formula: independent of the digits that the library uses.
    pub fn quarter_pi() -> Self {
        let arctan_inverse = |n: f64| {
            let mut power = Self::from(1.0).div(Self::from(n));
            let mut sum = power;
            for k in 1..60 {
                power = power.div(Self::from(-n * n));
                sum = sum.add(power.div(Self::from(f64::from(2 * k + 1))));
            }
            sum
        };
        arctan_inverse(5.0).mul(Self::from(4.0)).sub(arctan_inverse(239.0))
    }

    /// Sine and cosine by Taylor series about a multiple of pi/2; good to about 1e-31 |x|.
    pub fn sin_cos(self) -> (Self, Self) {
        let half_pi = Self::quarter_pi().mul(Self::from(2.0));
        let turns = (self.head / half_pi.head).round();
        let y = self.sub(half_pi.mul(Self::from(turns)));
        let (mut s, mut c, mut term) = (y, Self::from(1.0), y);
        for k in 2..32 {
            term = term.mul(y).div(Self::from(f64::from(k)));
            let signed = if k % 4 >= 2 { term.neg() } else { term };
            if k % 2 == 0 { c = c.add(signed) } else { s = s.add(signed) }
        }
        match (turns as i64).rem_euclid(4) {
            0 => (s, c),
            1 => (c, s.neg()),
            2 => (s.neg(), c.neg()),
            _ => (c.neg(), s),
        }
    }

    /// The exact product of two floats, short of underflow.
    pub fn product(a: f64, b: f64) -> Self {
        Self::from(a).mul(Self::from(b))
    }

    /// `|x - center - sum generators[i] symbols[i]|`.
    pub fn distance_to_line(self, center: f64, generators: &[f64], symbols: &[f64]) -> Self {
        let line = generators.iter().zip(symbols).map(|(g, e)| Self::product(*g, *e));
        line.fold(self.sub(Self::from(center)), Self::sub).abs()
    }
}
