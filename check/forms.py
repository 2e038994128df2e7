"""Numbers for the proofs: affine forms with ball coefficients, derivatives along one direction, 3-vectors of either.

A plain number is an `int` (0 and 1 are exact and cost nothing) or an `arb`: a ball, midpoint and radius, whose operations are
rounded outward by Arb. A `Form` stands for

    x = c + t s + sum_j e_j a_j + sum_j r_j b_j,      |s| <= 1,  sum a_j^2 <= 1,  sum b_j^2 <= 1,

where s is time within the cell, a the position errors and b the velocity errors, each in units of its radius (docs/proof.md,
section 4). s, a and b are the same unknowns in all forms of a cell. All coefficients are balls; whatever is not linear, or is
independent of the symbols, is in the radius of c.
"""

from flint import arb


def ball(radius):
    """The set [-radius, radius]."""
    return arb(0, radius)


def _mix(x, a, y, b):
    """x a + y b for rows of coefficients, of which None is the zero row."""
    if x is None:
        return None if y is None else y * b
    return x * a if y is None else x * a + y * b


def _plus(x, y):
    return y if x is None else x if y is None else x + y


def _norm(row):
    """Upper bound of the Euclidean length of a row."""
    return 0 if row is None else (row * row.transpose())[0, 0].abs_upper().sqrt().abs_upper()


class Form:
    """An affine form, see the header. `t` is a number; `e` and `r` are rows (1 x n), or None for zeros."""

    __slots__ = ("c", "t", "e", "r", "_spread")

    def __init__(self, c, t=0, e=None, r=None):
        self.c, self.t, self.e, self.r, self._spread = c, t, e, r, None

    def spread(self):
        """Upper bound of |x - c|: by Cauchy-Schwarz |t| + |e| + |r|."""
        if self._spread is None:
            self._spread = (abs(arb(self.t)) + _norm(self.e) + _norm(self.r)).abs_upper()
        return self._spread

    def __add__(self, other):
        if other.__class__ is Form:
            return Form(self.c + other.c, self.t + other.t, _plus(self.e, other.e), _plus(self.r, other.r))
        return self if other.__class__ is int and other == 0 else Form(self.c + other, self.t, self.e, self.r)

    __radd__ = __add__

    def __neg__(self):
        return self * arb(-1)

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __mul__(self, other):
        if other.__class__ is not Form:
            if other.__class__ is int and other in (0, 1):
                return self if other else 0
            a = arb(other)
            return Form(self.c * a, self.t * a, _mix(self.e, a, None, 0), _mix(self.r, a, None, 0))
        # (a + X)(b + Y) = a b + a Y + b X + X Y; of X Y the part of s^2, in [0, 1], is half of its coefficient +- half of it.
        a, b = self.c, other.c
        square = self.t * other.t / arb(2)
        rest = self.spread() * other.spread() - abs(square)
        center = a * b + square + ball(rest)
        return Form(center, self.t * b + other.t * a, _mix(self.e, b, other.e, a), _mix(self.r, b, other.r, a))

    __rmul__ = __mul__

    def sin_cos(self):
        """sin(c + X) = sin c cos X + cos c sin X with cos X in [1 - x^2/2, 1] and |sin X - X| <= x^3/6 for |X| <= x."""
        sine, cosine = arb(self.c).sin(), arb(self.c).cos()
        x = self.spread()
        if not x <= 1:
            whole = arb(self.c) + ball(x)
            return Form(whole.sin()), Form(whole.cos())
        quarter = x * x / 4
        even, odd = 1 - quarter + ball(quarter), ball(x * x * x / 6)

        def turned(p, q):
            row = Form(0, self.t, self.e, self.r) * q
            return Form(p * even + q * odd, row.t, row.e, row.r)

        return turned(sine, cosine), turned(cosine, -sine)


def sin_cos(x):
    """Sine and cosine of any number."""
    return (arb(x) if x.__class__ is int else x).sin_cos()


def spread(x):
    """How far x may be from its central ball."""
    return x.spread() if x.__class__ is Form else arb(0)


def center(x):
    """The central ball of a form; a plain number itself."""
    return arb(x.c if x.__class__ is Form else x)


def upper(x):
    """Upper bound, an exact number."""
    return (center(x) + spread(x)).upper()


def lower(x):
    """Lower bound."""
    return (center(x) - spread(x)).lower()


def size(x):
    """Upper bound of the absolute value."""
    return (abs(center(x)) + spread(x)).abs_upper()


def hull(x):
    """The ball that holds all values."""
    return center(x) + ball(spread(x))


class Dual:
    """A value and its slope along one direction."""

    __slots__ = ("v", "s")

    def __init__(self, v, s=0):
        self.v, self.s = v, s

    def __add__(self, other):
        if other.__class__ is Dual:
            return Dual(self.v + other.v, self.s + other.s)
        return Dual(self.v + other, self.s)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.v, -self.s)

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __mul__(self, other):
        if other.__class__ is Dual:
            return Dual(self.v * other.v, self.v * other.s + self.s * other.v)
        return 0 if other.__class__ is int and other == 0 else Dual(self.v * other, self.s * other)

    __rmul__ = __mul__

    def sin_cos(self):
        sine, cosine = sin_cos(self.v)
        return Dual(sine, cosine * self.s), Dual(cosine, -(sine * self.s))


class Size:
    """Upper bound of an absolute value: sums and products of sizes bound those of the numbers, whatever their signs."""

    __slots__ = ("x",)

    def __init__(self, x):
        self.x = abs(arb(x)).abs_upper()

    def __add__(self, other):
        return Size(self.x + (other.x if other.__class__ is Size else abs(arb(other))))

    __radd__ = __sub__ = __rsub__ = __add__

    def __neg__(self):
        return self

    def __mul__(self, other):
        return Size(self.x * (other.x if other.__class__ is Size else abs(arb(other))))

    __rmul__ = __mul__

    def sin_cos(self):
        return Size(1), Size(1)


def add(a, b):
    """Sum of vectors."""
    return [x + y for x, y in zip(a, b)]


def minus(a, b):
    """Difference of vectors."""
    return [x - y for x, y in zip(a, b)]


def scaled(a, k):
    """A vector times a number."""
    return [x * k for x in a]


def dot(a, b):
    """Inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    """Cross product."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def rotate(m, x):
    """m x for a matrix by rows."""
    return [dot(row, x) for row in m]


def back(m, x):
    """m' x."""
    return [m[0][k] * x[0] + m[1][k] * x[1] + m[2][k] * x[2] for k in range(3)]
