"""All conditions of a plan over one cell of time; the numbers of sections and equations are those of docs/proof.md."""

import math

import numpy as np
from flint import arb, arb_mat

from dynamics import Posture, times
from forms import Dual, Form, Size, add, ball, cross, dot, hull, lower, scaled, size, upper
from robot import ARMATURE, COULOMB, OFFSET, VISCOUS, apart, ends_of, place

ROUNDING = arb(2) ** -40  # what rounding makes of a number of the controller, relative to the sizes of its terms (section 9)
LEVEL = 1 + arb(2) ** -20  # the tube's level of V, relative to V_max


def root(x):
    """Upper bound of the square root of a number that is not negative."""
    return x.abs_upper().sqrt().upper()


def largest(*numbers):
    """The largest upper bound; not a number if one is none."""
    best = arb(0)
    for x in map(arb, numbers):
        if x.is_nan():
            return x
        best = best if x <= best else x.upper()
    return best


class Piece:
    """A Bezier curve of degree 5 a joint from one time to another; section 2."""

    def __init__(self, start, end, points):
        self.start, self.end, self.duration, self.points = start, end, end - start, points

    def power(self, j, order):
        """Coefficients of the derivative of this order by time, in powers of s = t / T."""
        b = self.points[j]
        a = [sum((b[i] * ((-1) ** (k - i) * math.comb(k, i)) for i in range(k + 1)), arb(0)) * math.comb(5, k) for k in range(6)]
        for _ in range(order):
            a = [a[k] * k / self.duration for k in range(1, len(a))]
        return a

    def at(self, j, order, t):
        """Value at time t."""
        return sum((c * ((t - self.start) / self.duration) ** k for k, c in enumerate(self.power(j, order))), arb(0))

    def over(self, j, order, start, end):
        """Enclosure over [start, end] as a form in time: Taylor's coefficients about the middle, those from the square on charged."""
        a, length = self.power(j, order), self.duration
        middle, half = ((start - self.start) + (end - self.start)) / (2 * length), (end - start) / (2 * length)
        c = [sum((a[m] * math.comb(m, k) * middle ** (m - k) for m in range(k, len(a))), arb(0)) * half**k for k in range(len(a))]
        rest = sum((abs(x) for x in c[3:]), arb(0)) + abs(c[2]) / 2
        return Form(c[0] + c[2] / 2 + ball(rest), c[1])

    def coefficients(self, j):
        """Largest control points of position, velocity and acceleration."""
        out, b = [], self.points[j]
        for degree in (5, 4, 3):
            out.append(largest(*(abs(x) for x in b)))
            b = [(y - x) * degree / self.duration for x, y in zip(b, b[1:])]
        return out


class Curve:
    """Pieces, one after another, and corrections that take up what roundings leave open where they join; section 2."""

    def __init__(self, duration, points, then=()):
        self.pieces, end = [], 0.0
        for length, rows in [(duration, points), *then]:
            start, end = end, end + float(length)
            self.pieces.append(Piece(arb(start), arb(end), rows))
        self.duration, self.points, self.last = self.pieces[-1].end, points, self.pieces[-1].points
        self.corrections = [[[arb(0)] * 4 for _ in points]]
        for before, piece in zip(self.pieces, self.pieces[1:]):
            self.corrections.append([self.correction(j, before, piece) for j in range(len(points))])

    @staticmethod
    def correction(j, before, piece):
        """Bounds of the quintic that takes up the jump from one piece to the next, and of its derivatives."""
        a, b, c = (abs(before.at(j, k, before.end) - piece.at(j, k, piece.start)).upper() for k in range(3))
        t = piece.duration
        m = a + 2 * t * b / 5 + t * t * c / 20
        return [x.upper() for x in (m, 5 * m / t, 60 * m / t**2, 420 * m / t**3)]

    def within(self, start, end):
        """Numbers of the pieces that may hold some of the times from start to end."""
        found = [k for k, p in enumerate(self.pieces) if not p.end <= start and not p.start >= end]
        return found or [k for k, p in enumerate(self.pieces) if not p.end < start and not p.start > end] or [len(self.pieces) - 1]

    def at(self, j, order, t):
        """Value at time t."""
        values = [self.pieces[k].at(j, order, t) + ball(self.corrections[k][j][order]) for k in self.within(t, t)]
        value = values[0]
        for other in values[1:]:
            value = value.union(other)
        return value

    def over(self, j, order, start, end):
        """Enclosure over [start, end] as a form in time."""
        parts = []
        for k in self.within(start, end):
            piece = self.pieces[k]
            a, b = (piece.start if piece.start > start else start), (piece.end if piece.end < end else end)
            parts.append((a, b, piece.over(j, order, a, b) + ball(self.corrections[k][j][order])))
        if len(parts) == 1:
            return parts[0][2]
        first, last = parts[0][2], parts[-1][2]
        low, high = (first.c - first.t).mid(), (last.c + last.t).mid()
        level, slope, off = (low + high) / 2, (high - low) / 2, arb(0)
        for a, b, form in parts:
            # The line, from -1 to 1 over the whole interval, in the part's own time.
            u, v = ((2 * x - start - end) / (end - start) for x in (a, b))
            apart = form.c - level - slope * (u + v) / 2
            off = off.union(apart + ball(abs(form.t - slope * (v - u) / 2)))
        return Form(level + off, slope)

    def coefficients(self, j):
        """Largest control points of position, velocity and acceleration; of several pieces also what differences round by."""
        if len(self.pieces) == 1:
            return self.pieces[0].coefficients(j)
        sizes = []
        for piece in self.pieces:
            position, velocity, acceleration = piece.coefficients(j)
            sizes.append([position, velocity, acceleration + 4 * velocity / piece.duration])
        return [largest(*column) for column in zip(*sizes)]

    def jump(self, j):
        """The first derivative that jumps by more than roundings where two pieces of joint j join, or None."""
        sizes = self.coefficients(j)
        for corrections in self.corrections:
            for name, x, size_of in zip(("position", "velocity", "acceleration"), corrections[j], sizes):
                if not x <= arb(2) ** -41 * (1 + size_of):
                    return name
        return None


class Cell:
    """Forms of the joints' motion in all ticks that begin between t0 and t1 (None: at rest after the end); section 4."""

    def __init__(self, plan, t0, t1):
        robot, tube, curve, n = plan.robot, plan.tube, plan.curve, plan.n
        self.span, k_r = (t0, t1), tube["k_r"]
        if t0 is not None:
            self.start, reach = arb(t0), arb(t1) + tube["h"]
            past = not reach < curve.duration
            self.end = curve.duration if past else reach
        self.q, self.dq, self.dqa, self.ddqa, self.jerk, self.r, self.off = [], [], [], [], [], [], []
        for j in range(n):
            row = lambda radius: arb_mat(1, n, [radius if k == j else arb(0) for k in range(n)])
            r_radius = plan.r_radius[j]
            e, r = Form(arb(0), 0, row(plan.e_radius[j])), Form(arb(0), 0, None, row(r_radius))
            de = r - e * k_r
            if t0 is None:
                desired = [Form(curve.last[j][5])] + [Form(arb(0))] * 3
            else:
                desired = [curve.over(j, order, self.start, self.end) for order in range(4)]
                if past:
                    desired[3] = Form(hull(desired[3]).union(arb(0)))
            fuzz = lambda *sizes: ROUNDING * (1 + sum(sizes, arb(0)))
            position, velocity, acceleration = curve.coefficients(j)
            off_q = robot.sensors["position_rad"] + fuzz(position)
            off_dq = robot.sensors["velocity_rad_s"] + fuzz(velocity, r_radius)
            off_ddq = fuzz(acceleration, 2 * k_r * r_radius)
            off_dqa, off_ddqa = k_r * off_q + fuzz(velocity, r_radius), k_r * off_dq + off_ddq
            self.off.append({"q": off_q, "dq": off_dq, "dqa": off_dqa, "ddqa": off_ddqa, "r": off_dq + k_r * off_q})
            self.q.append(desired[0] - e + ball(off_q))
            self.dq.append(desired[1] - de + ball(off_dq))
            self.dqa.append(desired[1] + e * k_r + ball(off_dqa))
            self.ddqa.append(desired[2] + de * k_r + ball(off_ddqa))
            self.jerk.append(desired[3] - de * k_r * k_r)
            self.r.append(r)
        self.reading = [(size(r) + off["r"]).upper() for r, off in zip(self.r, self.off)]


def rounding(plan, cell):
    """Errors of the computed nominal torques plus bounds rho (N m), and of V^ (J); section 9."""
    sizes = [[Size(size(x)) for x in forms] for forms in (cell.q, cell.dq, cell.dqa, cell.ddqa)]
    posture = Posture(plan.robot, sizes[0])
    rows = posture.regressor(posture.sweep([Size(g) for g in plan.robot.gravity], *sizes[1:]))
    both = [abs(c) + 2 * g for c, g in zip(plan.center, plan.radius)]
    torques = []
    for j in range(plan.n):
        c = both[plan.at(j) : plan.at(j) + 4]
        total = plan.tube["drift_nm"][j] + plan.breakaway * c[COULOMB] + c[OFFSET] + size(cell.dq[j]) * c[VISCOUS] + size(cell.ddqa[j]) * c[ARMATURE]
        total += sum((magnitude(y) * both[10 * i + p] for i, row in rows[j].items() for p, y in enumerate(row)), arb(0))
        total += plan.strip_sizes[j]
        torques.append((4 * ROUNDING * total).upper())
    mass = posture.mass([Size(x) for x in both[: 10 * plan.n]])
    energy = sum((2 * magnitude(m) * cell.reading[i] * cell.reading[j] for (i, j), m in mass.items()), arb(0))
    energy += sum(both[plan.at(j) + ARMATURE] * cell.reading[j] ** 2 for j in range(plan.n))
    return torques, (ROUNDING * (energy + plan.tube["energy_slack_j"])).upper()


def magnitude(y):
    """A size as a number."""
    return y.x if isinstance(y, Size) else abs(arb(y))


def velocity_slopes(plan, posture, cell):
    """Upper bounds, for all y with sum A_j y_j^2 <= 1, of |C(q, y) dq_a + F_v y|_i and of |C(q, dq) y|_i; (8.2)."""
    n, squares, weightless = plan.n, [[arb(0)] * plan.n, [arb(0)] * plan.n], [0, 0, 0]
    for j in range(n):
        unit = [1 if k == j else 0 for k in range(n)]
        for part, (dq, dqa) in enumerate(((unit, cell.dqa), (cell.dq, unit))):
            column = posture.torques(plan.range, posture.sweep(weightless, dq, dqa, [0] * n))
            if part == 0:
                column[j] = column[j] + plan.range[plan.at(j) + VISCOUS]
            for i in range(n):
                squares[part][i] += size(column[i]) ** 2 / plan.floor[j]
    return [[root(x) for x in part] for part in squares]


def drift(plan, cell, slopes):
    """What w_j changes by within a tick and by the errors of the sensors, but for what dr/dt does; (7.2), (7.3)."""
    h, out = plan.tube["h"], []
    turned = lambda name, forms: [Dual(hull(x), ball(off[name])) for x, off in zip(forms, cell.off)]
    misread = Posture(plan.robot, turned("q", cell.q))
    motion = misread.sweep(plan.robot.gravity, turned("dq", cell.dq), turned("dqa", cell.dqa), turned("ddqa", cell.ddqa))
    errors = misread.torques(plan.range, motion)
    for j in range(plan.n):
        at, total, each = plan.at(j), 0, arb(0)
        own = {at + VISCOUS: cell.ddqa[j] * h, at + ARMATURE: cell.jerk[j] * h}
        for p, y in [(10 * i + k, y) for i, row in slopes[j].items() for k, y in enumerate(row)] + list(own.items()):
            y = y.s if isinstance(y, Dual) else y if p in own else 0
            total, each = total + y * plan.center[p], each + size(y) * plan.radius[p]
        read = size(errors[j].s if isinstance(errors[j], Dual) else 0)
        read += size(plan.range[at + VISCOUS]) * cell.off[j]["dq"] + size(plan.range[at + ARMATURE]) * cell.off[j]["ddqa"]
        out.append((size(total) + each + read).upper())
    # V at q^ less V at q, for the true r; (8.4).
    energy = 0
    for i, units in enumerate(misread.units):
        m, first, inertia = plan.range[10 * i], plan.range[10 * i + 1 : 10 * i + 4], plan.range[10 * i + 4 : 10 * i + 10]
        v, w = [0, 0, 0], [0, 0, 0]
        for j, (u, z) in units.items():
            speed = hull(cell.r[j])
            v, w = add(v, scaled(u, speed)), add(w, scaled(z, speed))
        energy = energy + dot(v, v) * m * arb(0.5) + dot(v, cross(w, first)) + dot(w, times(inertia, w)) * arb(0.5)
    return out, size(energy.s if isinstance(energy, Dual) else 0)


def tilt_torques(plan, posture):
    """What each torque changes by where gravity is up to so many degrees off; (7.5)."""
    gravity, angle = plan.robot.gravity, plan.tilt * arb.pi() / 180
    if plan.tilt == 0:
        return [arb(0)] * plan.n
    still, axes = [0] * plan.n, ([1, 0, 0], [0, 1, 0], [0, 0, 1])
    # A torque is linear in gravity: lever . gravity.
    levers = list(zip(*(posture.torques(plan.range, posture.sweep(axis, still, still, still)) for axis in axes)))
    across = [root(sum((size(x) ** 2 for x in cross(lever, gravity)), arb(0))) for lever in levers]
    return [x * angle.sin() + size(dot(lever, gravity)) * (1 - angle.cos()) for x, lever in zip(across, levers)]


def bound_of_torques(plan, cell, rows, error):
    """For each joint sup |nominal torque| and rho; section 6."""
    out = []
    for j in range(plan.n):
        at, band = plan.at(j), plan.band[j]
        c, g, dq, ddqa = plan.center[at : at + 4], plan.radius[at : at + 4], cell.dq[j], cell.ddqa[j]
        if lower(dq) > band or upper(dq) < -band:
            coulomb, charge = c[COULOMB] if lower(dq) > band else -c[COULOMB], g[COULOMB]
        else:
            coulomb, charge = ball(abs(c[COULOMB])), plan.breakaway * (abs(c[COULOMB]) + g[COULOMB])
        row = {10 * i + p: value(y) for i, part in rows[j].items() for p, y in enumerate(part)}
        row |= {at + VISCOUS: dq, at + ARMATURE: ddqa, at + OFFSET: arb(1)}
        nominal = sum((y * plan.center[p] for p, y in row.items()), coulomb + ball(error[j]))
        by_box = open_torque(plan, row)
        options = [(size(nominal), by_box)]
        if plan.strips:
            options = []
            for first, second, share in plan.stretches(cell):
                a, b = plan.strips[first][j], plan.strips[second][j]
                mix = lambda x, y: share * (y - x) + x
                off = {p: row.get(p, 0) - mix(a.direction[p], b.direction[p]) for p in plan.compared(j)}
                shift = mix(a.shift, b.shift)
                known = upper(mix(a.half, b.half)) + open_torque(plan, off)
                options.append((size(nominal + shift), min(known, by_box + size(shift), key=float)))
        rho = largest(*(x for _, x in options)) + charge + plan.tube["drift_nm"][j] + error[j]
        out.append((largest(*(x for x, _ in options)), rho.upper()))
    return out


def value(y):
    """The value of a dual number; a plain number itself."""
    return y.v if isinstance(y, Dual) else y


def open_torque(plan, row):
    """Upper bound of sum_p |y_p| g_p: as one form where the sign of y_p is known all over the cell, else one by one."""
    total, each = arb(0), arb(0)
    for p, y in row.items():
        if not plan.radius[p] > 0:
            continue
        if lower(y) > 0 or upper(y) < 0:
            total = total + y * (plan.radius[p] if lower(y) > 0 else -plan.radius[p])
        else:
            each += size(y) * plan.radius[p]
    return (upper(total) + each).upper()


def chain_length(joint):
    """Length of the chain from the base to a body, m: only a guess of what the weights of section 5 should be."""
    return sum(math.sqrt(sum(float(arb(x).mid()) ** 2 for x in link.origin)) for link in joint.path)


def lowered_body(center, radius, length):
    """A body that never has more energy than one of the box; zeros if little is left of its mass. Section 5."""
    mass, moments = float(center[0].mid()), [float(center[p].mid()) for p in (4, 6, 9)]
    if not (mass > 0 and min(moments) > 0):
        return [arb(0)] * 10
    arms = [arb(max(math.sqrt(i / mass), 0.5 * length, 1e-3)) for i in moments]
    moving, turning = [radius[0]] * 3, [radius[p] for p in (4, 6, 9)]
    for k in range(3):
        a, b, off = (k + 1) % 3, (k + 2) % 3, radius[1 + k]
        for v, w in ((a, b), (b, a)):
            moving[v], turning[w] = moving[v] + off / arms[w], turning[w] + off * arms[w]
    for a, b, p in ((0, 1, 5), (0, 2, 7), (1, 2, 8)):
        weight = arb(min(1e6, max(1e-6, math.sqrt(moments[a] / moments[b]))))
        turning[a], turning[b] = turning[a] + radius[p] * weight, turning[b] + radius[p] / weight
    left = (center[0] - largest(*moving)).lower()
    if not left >= center[0] / 2:
        return [arb(0)] * 10
    lowered = [left] + list(center[1:])
    for p, turn in zip((4, 6, 9), turning):
        lowered[p] = (center[p] - turn).lower()
    return lowered


def floor_holds(plan, posture):
    """Largest m for which diag(A) <= (1 - m) M is proven over the cell, -1 if none is; section 5."""
    n, own = plan.n, [plan.below[plan.at(j) + ARMATURE] for j in range(plan.n)]
    if all(a <= b for a, b in zip(plan.floor, own)):
        return largest(min((1 - a / b for a, b in zip(plan.floor, own)), key=float).lower())
    links = posture.mass(plan.below)
    entry = lambda i, j: hull(links.get((max(i, j), min(i, j)), arb(0))) + (own[i] if i == j else 0)
    mass = [[entry(i, j) for j in range(n)] for i in range(n)]
    bare = [[plan.floor[i] if i == j else arb(0) for j in range(n)] for i in range(n)]
    proven = lambda m: definite([[mass[i][j] * (1 - m) - bare[i][j] for j in range(n)] for i in range(n)])
    low, high = arb(0), arb(1)
    if not proven(low):
        return arb(-1)
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (middle, high) if proven(middle) else (low, middle)
    return low


def definite(matrix):
    """Whether every symmetric matrix of these balls is positive definite: X m X' is dominated by its diagonal, X any guess."""
    n = len(matrix)
    try:
        guess = np.linalg.inv(np.linalg.cholesky(np.array([[float(x.mid()) for x in row] for row in matrix])))
    except np.linalg.LinAlgError:
        return False
    x = arb_mat(n, n, [arb(float(v)) for v in guess.flatten()])
    # Balls of (i, j) and (j, i) are one number each; products of balls hold those of all numbers in them.
    y = x * arb_mat(n, n, [e for row in matrix for e in row]) * x.transpose()
    return all(y[i, i] > sum((abs(y[i, j]) for j in range(n) if j != i), arb(0)) for i in range(n))


def relative_mass(plan, posture):
    """sigma with r'M r <= sigma z^2, z^2 = sum A_j r_j^2, and s_j with (A_j r_j^2 / z^2) r'M r <= s_j z^2; (8.1)."""
    n, a, links = plan.n, plan.floor, posture.mass(plan.range)
    m = [[size(links.get((max(i, j), min(i, j)), arb(0))) for j in range(n)] for i in range(n)]
    for j in range(n):
        entry = links.get((j, j), arb(0))
        m[j][j] = size(entry + plan.range[plan.at(j) + ARMATURE])
    rough, x = np.array([[float(v) for v in row] for row in m]) / np.array([float(v) for v in a])[:, None], np.ones(n)
    for _ in range(50):
        x = np.maximum((rough @ x) / np.max(rough @ x), 1e-3)
    x = [arb(float(v)) for v in x]
    sigma = largest(*(sum((m[i][j] * x[j] for j in range(n)), arb(0)) / (a[i] * x[i]) for i in range(n)))
    alone = []
    for j in range(n):
        coupled = root(sum((m[i][j] ** 2 / (a[i] * a[j]) for i in range(n) if i != j), arb(0)))
        best = sigma
        for t in (0.1, 0.25, 0.5, 1.0, 2.0):
            p, q = m[j][j] / a[j] + coupled * t, sigma + coupled / t
            bound = (p if q <= 2 * p else q * q / (4 * (q - p))).upper()
            best = bound if bound < best else best
        alone.append(best)
    return sigma, alone


def law(plan, energy_error, rho, reading, sigma, alone):
    """What the robust law does at most; (8.5) to (8.9)."""
    tube, a, n = plan.tube, plan.floor, plan.n
    h, c, beta, nu = tube["h"], tube["layer_ticks"], tube["hold_power_w"], tube["energy_slack_j"] + energy_error
    squares = [rho[j] ** 2 / a[j] for j in range(n)]
    rho_norm = root(sum(squares, arb(0)))
    terms = 2 * sum((x * y for x, y in zip(rho, reading)), arb(0)) + 2 * h * sum(squares, arb(0)) + beta + tube["alpha"] * tube["v_max"]
    share = arb(0.5) + (c - 1) ** 2 / (2 * (2 * c - 1))
    layer = [share * h * x for x in squares]
    base = beta + ROUNDING * terms
    rest = (base + sum(layer, arb(0))).upper()
    room = (tube["v_max"] - rest / tube["alpha"] - nu).lower()
    if not room > 0:
        return None
    z1 = (2 * room / sigma).sqrt().lower()
    robust = []
    for j in range(n):
        far = (base + sum((layer[i] for i in range(n) if i != j), arb(0))) * (a[j] * alone[j] / sigma).sqrt() / z1
        near = rest * c * h * rho[j] / z1**2
        robust.append(((rho[j] + largest(far, near)) * (1 + 8 * ROUNDING)).upper())
    turned = (rest / z1).upper()
    gain = ((1 / c + h * rest / z1**2) * (1 + 8 * ROUNDING)).upper()
    return {"robust": robust, "rho": rho_norm, "norm": rho_norm + turned, "mismatch": h / 2 * turned**2, "gain": gain, "terms": terms}


def evaluate(plan, t0, t1):
    """Margins of all constraints in the ticks from t0 to t1: [(family, where, margin)], margin a lower bound."""
    robot, tube, h = plan.robot, plan.tube, plan.tube["h"]
    cell = Cell(plan, t0, t1)
    error, energy_error = rounding(plan, cell)
    rate = lambda forms, rates: [Dual(x, y * h) for x, y in zip(forms, rates)]
    moving = Posture(robot, rate(cell.q, cell.dq))
    motion = moving.sweep(robot.gravity, rate(cell.dq, cell.ddqa), rate(cell.dqa, cell.ddqa), rate(cell.ddqa, cell.jerk))
    rows = moving.regressor(motion)
    posture = Posture(robot, cell.q)
    torques = bound_of_torques(plan, cell, rows, error)
    rho = [x for _, x in torques]
    sigma, alone = relative_mass(plan, posture)
    bounds = law(plan, energy_error, rho, cell.reading, sigma, alone)
    out = []
    if bounds is None:
        return [("tube", "the hold power leaves no room below V_max", arb(-1))]
    command = [((nominal + v) * (1 + ROUNDING)).upper() for (nominal, _), v in zip(torques, bounds["robust"])]
    # How far what the drives apply may be from that; (7.6).
    misled = [(d["error_nm"] + d["error_ratio"] * c).upper() for d, c in zip(robot.drives, command)]
    for j, joint in enumerate(robot.joints):
        if joint.position:
            out.append(("position", joint.name, lower(cell.q[j]) - joint.position[0]))
            out.append(("position", joint.name, joint.position[1] - upper(cell.q[j])))
        out.append(("velocity", joint.name, joint.velocity - size(cell.dq[j])))
        out.append(("torque", joint.name, joint.torque - command[j] - misled[j]))
    slope, coriolis = velocity_slopes(plan, posture, cell)
    # |r| <= sqrt(2 V) in the norm of A.
    radius = root(2 * plan.level)
    coriolis = [x * radius for x in coriolis]
    turned = root(sum((x**2 / a for x, a in zip(coriolis, plan.floor)), arb(0)))
    energy_rate = bounds["rho"] + bounds["norm"] + turned
    pull = [r + v for r, v in zip(rho, bounds["robust"])]
    held = bounds["mismatch"] + sum((off["r"] * p for off, p in zip(cell.off, pull)), arb(0))
    held += h / 2 * turned * (bounds["rho"] + bounds["norm"])
    held += ROUNDING * (sum((x * y for x, y in zip(cell.reading, command)), arb(0)) + bounds["terms"])
    (drifts, by_position), tilted = drift(plan, cell, rows), tilt_torques(plan, posture)
    delta = sigma * sum((a * off["r"] ** 2 for a, off in zip(plan.floor, cell.off)), arb(0))
    slack = by_position + root(delta) * root(2 * (plan.level + by_position)) + delta / 2 + energy_error
    needed = [("hold_power_w", tube["hold_power_w"], held), ("energy_slack_j", tube["energy_slack_j"], slack), ("gain condition", arb(1), bounds["gain"])]
    for j, joint in enumerate(robot.joints):
        changed = drifts[j] + h * (tube["k_r"] * (pull[j] + coriolis[j]) + energy_rate * slope[j]) + error[j] + tilted[j]
        changed += misled[j] + robot.drives[j]["unmodelled_nm"]
        speeding = size(cell.ddqa[j]) + energy_rate / plan.floor[j].sqrt()
        needed.append((f"drift_nm of {joint.name}", tube["drift_nm"][j], changed))
        needed.append((f"acceleration_bound of {joint.name}", tube["acceleration_bound"][j], speeding))
    out += [("tube", name, (have - need) / have if have > 0 else have - need) for name, have, need in needed]
    out.append(("tube", "inertia_floor", floor_holds(plan, posture)))
    out += collisions(plan, posture, cell)
    return [(family, where, arb(margin).lower()) for family, where, margin in out]


def collisions(plan, posture, cell):
    """Distances of all pairs that must stay apart; section 10."""
    frames, out = place(plan.robot, posture.turns, cell.q), []
    ends = {capsule: ends_of(capsule, frames) for capsule in plan.capsules}
    for capsule in plan.capsules:
        for obstacle in plan.obstacles:
            # At rest nothing is claimed of what moves.
            resting = cell.span[0] is None and obstacle.moves
            # What is fixed to the base does not move; where the base is mounted is not for a plan to change.
            if capsule.joint is not None and not resting:
                # The cell holds all ticks that begin in its span, to their ends.
                come = obstacle.moved(arb(cell.span[1]) + plan.tube["h"]) if obstacle.moves else arb(0)
                gap = apart(ends[capsule], [obstacle.center], capsule.radius + come, obstacle.generators)
                out.append(("collision", f"'{capsule.name}' against '{obstacle.name}'", gap))
    for a, b in plan.pairs:
        gap = apart(ends[a], ends[b], a.radius + b.radius)
        if not gap >= 0 and plan.cannot_touch(a, b):
            continue
        out.append(("collision", f"'{a.name}' against '{b.name}'", gap))
    return out
