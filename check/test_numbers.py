"""Tests of forms, dynamics and shapes: exact samples in balls of many bits, or in plain floats."""

import math
import random
import unittest

import numpy as np
from flint import arb, arb_mat, ctx

import forms
import robot as robots
import tube
from dynamics import Posture
from forms import Dual, Form, size
from samples import ROBOTS, load, unit


class Numbers(unittest.TestCase):
    """Forms hold what they stand for."""

    def test_no_value_of_an_expression_escapes_its_form(self):
        rng, n = random.Random(1), 3
        for _ in range(300):
            row = lambda: [rng.uniform(-1, 1) * 10 ** rng.uniform(-3, -0.5) for _ in range(n)]
            parts = [(rng.uniform(-2, 2), rng.uniform(-0.2, 0.2), row(), row(), rng.uniform(0, 0.01)) for _ in range(3)]
            made = [Form(arb(c, off), arb(t), arb_mat(1, n, e), arb_mat(1, n, r)) for c, t, e, r, off in parts]
            x, y, z = made
            s, c = x.sin_cos()
            far, _ = (x * arb(9)).sin_cos()
            results = [x * y, x * y * z - y * y, s * y + c * z, (x - x * y) * 3 + 1, far, x * x - 2 * x]
            for _ in range(20):
                t, a, b = rng.choice([-1, 1, rng.uniform(-1, 1)]), unit(rng, n) * (1 - 1e-12), unit(rng, n) * (1 - 1e-12)
                at = lambda p: p[0] + p[1] * t + sum(np.array(p[2]) * a) + sum(np.array(p[3]) * b) + p[4] * rng.choice([-1, 1]) * (1 - 1e-12)
                u, v, w = map(at, parts)
                truth = [u * v, u * v * w - v * v, math.sin(u) * v + math.cos(u) * w, (u - u * v) * 3 + 1, math.sin(9 * u), u * u - 2 * u]
                for form, value in zip(results, truth):
                    self.assertLessEqual(float(forms.lower(form)), value + 1e-13)
                    self.assertGreaterEqual(float(forms.upper(form)), value - 1e-13)
                    # Not only the hull: the linear part too, at the same symbols.
                    row = lambda k: np.zeros(n) if k is None else np.array([float(v) for v in k.entries()])
                    linear = float(arb(form.c).mid()) + float(arb(form.t)) * t + row(form.e) @ a + row(form.r) @ b
                    spare = 1e-13 + sum(float(v.rad()) for k in (form.e, form.r) if k is not None for v in k.entries())
                    self.assertLessEqual(abs(value - linear), float(arb(form.c).rad()) + float(arb(form.t).rad()) + spare)

    def test_what_is_no_number_bounds_nothing(self):
        nan = arb("nan")
        self.assertTrue(tube.largest(arb(1), nan, arb(3)).is_nan())
        self.assertFalse(arb(1) - tube.largest(nan, arb(0)) >= 0)
        far = Form(arb(0, math.inf), arb(1)) * Form(arb(0), arb(1))
        self.assertFalse(arb(1) - size(far) >= 0)
        self.assertFalse(arb(1) - size(Form(arb(0), arb(math.inf)).sin_cos()[0] * arb(0)) >= 2)

    def test_suprema_are_reached(self):
        form = Form(arb(0.5), arb(-2), arb_mat(1, 2, [3, 4]), arb_mat(1, 2, [0, 1]))
        self.assertAlmostEqual(float(forms.upper(form)), 0.5 + 2 + 5 + 1)
        self.assertAlmostEqual(float(forms.lower(form)), 0.5 - 8)
        self.assertAlmostEqual(float(size(form)), 8.5)

    def test_slopes_are_derivatives(self):
        x = Dual(arb(0.7), arb(1))
        s, c = x.sin_cos()
        y = s * c * x - x * x * 3
        self.assertAlmostEqual(float(y.s), math.cos(1.4) * 0.7 + math.sin(1.4) / 2 - 4.2)

    def test_a_curve_never_leaves_its_enclosure(self):
        rng = random.Random(3)
        for _ in range(50):
            points = [[arb(rng.uniform(-3, 3)) for _ in range(6)]]
            curve = tube.Curve(arb(2.5), points)
            a, width = rng.uniform(0, 2.0), rng.uniform(0.001, 0.5)
            for order in range(4):
                form = curve.over(0, order, arb(a), arb(a + width))
                for _ in range(10):
                    t = rng.uniform(0, 1)
                    value = self.derivative([float(p) for p in points[0]], order, (a + t * width) / 2.5, 2.5)
                    line = form.c + form.t * (2 * t - 1)
                    self.assertTrue(abs(line.mid() - value) <= line.rad() + 1e-10, (line, value))

    def test_pieces_never_leave_their_enclosure(self):
        """Two pieces through a junction that moves, over intervals on either side of it and across it."""
        rng = random.Random(4)
        for _ in range(30):
            lengths, states = [rng.uniform(0.5, 1.5) for _ in range(2)], [[0.3, 0, 0], [rng.uniform(-2, 2) for _ in range(3)], [-0.8, 0, 0]]
            rows = [self.between(*states[k : k + 2], lengths[k]) for k in range(2)]
            curve = tube.Curve(arb(lengths[0]), [list(map(arb, rows[0]))], [(arb(lengths[1]), [list(map(arb, rows[1]))])])
            self.assertIsNone(curve.jump(0))
            a, width = rng.uniform(0, sum(lengths) - 0.6), rng.uniform(0.001, 0.6)
            for order in range(4):
                form = curve.over(0, order, arb(a), arb(a + width))
                self.assertLess(float(form.c.rad()), (1, 20, 300, 3000)[order])
                for _ in range(20):
                    t = rng.uniform(0, 1)
                    now = a + t * width
                    k = int(now >= lengths[0])
                    value = self.derivative(rows[k], order, (now - k * lengths[0]) / lengths[k], lengths[k])
                    line = form.c + form.t * (2 * t - 1)
                    self.assertTrue(abs(line.mid() - value) <= line.rad() + 1e-9, (order, line, value))
            for k, by in ((0, 1e-10), (1, 1e-10), (2, 1e-8)):
                moved = [row + by * (i == k) for i, row in enumerate(rows[1])]
                curve = tube.Curve(arb(lengths[0]), [list(map(arb, rows[0]))], [(arb(lengths[1]), [list(map(arb, moved))])])
                self.assertIsNotNone(curve.jump(0))

    def between(self, a, b, t):
        """Control points of the quintic from one state (position, velocity, acceleration) to another in t."""
        s, c = t / 5, t * t / 20
        return [
            a[0], a[0] + s * a[1], a[0] + 2 * s * a[1] + c * a[2],
            b[0] - 2 * s * b[1] + c * b[2], b[0] - s * b[1], b[0],
        ]

    def derivative(self, b, order, s, duration):
        """De Casteljau's."""
        for k in range(order):
            b = [(y - x) * (len(b) - 1) / duration for x, y in zip(b, b[1:])]
        while len(b) > 1:
            b = [x + s * (y - x) for x, y in zip(b, b[1:])]
        return b[0]


def pseudo_inertia(p):
    """The 4 x 4 matrix of integral (x, 1)(x, 1)' dm of ten inertial parameters."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = p
    t = (xx + yy + zz) / 2
    return [[t - xx, -xy, -xz, hx], [-xy, t - yy, -yz, hy], [-xz, -yz, t - zz, hz], [hx, hy, hz, m]]


class Dynamics(unittest.TestCase):
    """Torques against Lagrange's equations, with energies of moving frames and finite differences in 400 bits."""

    def setUp(self):
        ctx.prec = 400

    def tearDown(self):
        ctx.prec = 64

    def frames(self, robot, q):
        turns = [x.sin_cos() if j.rotates else (0, 1) for x, j in zip(q, robot.joints)]
        placed = robots.place(robot, turns, q)
        return [[[arb(x) for x in row] + [arb(p)] for row, p in zip(*placed[j])] for j in robot.joints]

    def lagrangian(self, robot, theta, armature, q, dq):
        step = arb(2) ** -120
        ahead = self.frames(robot, [x + step * v for x, v in zip(q, dq)])
        behind, here = self.frames(robot, [x - step * v for x, v in zip(q, dq)]), self.frames(robot, q)
        energy = sum((a * v * v / 2 for a, v in zip(armature, dq)), arb(0))
        for i in range(len(robot.joints)):
            J = pseudo_inertia(theta[10 * i : 10 * i + 10])
            speed = [[(x - y) / (2 * step) for x, y in zip(r, s)] for r, s in zip(ahead[i], behind[i])]
            for row, place, g in zip(speed, here[i], robot.gravity):
                energy += sum((row[k] * J[k][l] * row[l] for k in range(4) for l in range(4)), arb(0)) / 2
                energy += g * sum((place[k] * J[k][3] for k in range(4)), arb(0))
        return energy

    def test_torques_obey_lagrange(self):
        rng = random.Random(5)
        for name in ("gantry", "z1", "flap"):
            robot = robots.Robot(ROBOTS[name])
            n = len(robot.joints)
            draw = lambda scale: [arb(rng.uniform(-scale, scale)) for _ in range(n)]
            q, dq, ddq = draw(1), draw(2), draw(3)
            theta = [arb(rng.uniform(-1, 1)) for _ in range(10 * n)]
            armature, step = [arb(rng.random()) for _ in range(n)], arb(2) ** -60
            energy = lambda q, dq: self.lagrangian(robot, theta, armature, q, dq)
            moved = lambda x, k, d: [v + d * (i == k) for i, v in enumerate(x)]
            momentum = lambda q, dq, k: (energy(q, moved(dq, k, step)) - energy(q, moved(dq, k, -step))) / (2 * step)
            posture = Posture(robot, q)
            motion = posture.sweep(robot.gravity, dq, dq, ddq)
            found = posture.torques(theta, motion)
            rows = posture.regressor(motion)
            for k in range(n):
                at = lambda s: ([x + s * v + s * s / 2 * a for x, v, a in zip(q, dq, ddq)], [v + s * a for v, a in zip(dq, ddq)])
                rate = (momentum(*at(step), k) - momentum(*at(-step), k)) / (2 * step)
                slope = (energy(moved(q, k, step), dq) - energy(moved(q, k, -step), dq)) / (2 * step)
                want = float((rate - slope).mid()) - float(armature[k] * ddq[k])
                self.assertAlmostEqual(float(arb(found[k]).mid()), want, places=9)
                by_row = sum(float(arb(y * theta[10 * i + p])) for i, row in rows[k].items() for p, y in enumerate(row))
                self.assertAlmostEqual(by_row, want, places=9)

    def test_the_coriolis_matrix_is_the_skew_one(self):
        rng = random.Random(6)
        for name in ("gantry", "z1"):
            robot = robots.Robot(ROBOTS[name])
            n, step = len(robot.joints), arb(2) ** -60
            draw = lambda: [arb(rng.uniform(-1, 1)) for _ in range(n)]
            q, dq, x, y = draw(), draw(), draw(), draw()
            theta = [arb(rng.uniform(-1, 1)) for _ in range(10 * n)]
            zero = [0] * n

            def product(u, posture, v):
                torques = posture.torques(theta, posture.sweep([0, 0, 0], dq, v, zero))
                return sum((a * b for a, b in zip(u, torques)), arb(0))

            def energy(s, u, v):
                m = Posture(robot, [a + s * b for a, b in zip(q, dq)]).mass(theta)
                return sum((u[i] * m.get((max(i, j), min(i, j)), 0) * v[j] for i in range(n) for j in range(n)), arb(0))

            posture = Posture(robot, q)
            rate = (energy(step, x, y) - energy(-step, x, y)) / (2 * step)
            both = product(x, posture, y) + product(y, posture, x)
            self.assertAlmostEqual(float(rate.mid()), float(both.mid()), places=9)
            # Rows of the regressor say the same as the recursion where auxiliary motion is another.
            motion = posture.sweep(robot.gravity, dq, x, y)
            for row, torque in zip(posture.regressor(motion), posture.torques(theta, motion)):
                by_row = sum((y * theta[10 * i + p] for i, part in row.items() for p, y in enumerate(part)), arb(0))
                self.assertAlmostEqual(float(by_row.mid()), float(arb(torque).mid()), places=9)


class Shapes(unittest.TestCase):
    """Primitives in capsules, and pairs that cannot touch."""

    def test_covers_only_what_it_covers(self):
        zero, one = [arb(0)] * 3, robots.ONE
        bar = robots.Capsule("bar", None, [arb(0), arb(0), arb(-0.1)], [arb(0), arb(0), arb(0.1)], arb(0.05))
        box = lambda x, y, z: robots.covered("box", [arb(x), arb(y), arb(z)], (one, zero), [bar])
        self.assertTrue(box(0.05, 0.05, 0.2))
        self.assertFalse(box(0.08, 0.08, 0.2))
        self.assertFalse(box(0.05, 0.05, 0.32))
        cylinder = lambda r, l: robots.covered("cylinder", [arb(r), arb(l)], (one, zero), [bar])
        self.assertTrue(cylinder(0.049, 0.2))
        self.assertFalse(cylinder(0.0505, 0.2))
        upper = robots.Capsule("upper", None, [arb(0), arb(0), arb(0.08)], [arb(0), arb(0), arb(0.3)], arb(0.05))
        # Two capsules together hold what neither holds alone.
        self.assertFalse(cylinder(0.03, 0.5))
        self.assertTrue(robots.covered("cylinder", [arb(0.03), arb(0.3)], (one, [arb(0), arb(0), arb(0.1)]), [bar, upper]))

    def test_pairs_that_can_touch_are_not_let_go(self):
        robot = load("z1").robot
        named = {c.name: c for c in robot.capsules}
        self.assertTrue(robots.never_touch(robot, named["pedestal"], named["elbow"], 800))
        wide = robots.Capsule("wide", named["elbow"].joint, *named["elbow"].ends, arb(0.4))
        self.assertFalse(robots.never_touch(robot, named["pedestal"], wide, 800))


if __name__ == "__main__":
    unittest.main()
