"""Tests of the checker: `python3 -m unittest discover -s check` (some minutes), in the style of an adversary.

Samples are exact numbers, evaluated in balls of 200 bits or in plain floats; what is bounded is never taken from the code that bounds it.
"""

import json
import math
import random
import subprocess
import sys
import unittest
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from flint import arb, arb_mat, ctx

import check
import forms
import robot as robots
import tube
from dynamics import Posture
from forms import Dual, Form, size

HERE = Path(__file__).parent
ROBOTS = {
    "gen3": HERE / "tests/robots/kinova_gen3_2f85.toml",
    "z1": HERE / "tests/robots/z1.toml",
    "gantry": HERE / "tests/robots/gantry.toml",
    "chain12": HERE / "tests/robots/chain12.toml",
    "flap": HERE / "tests/robots/flap_and_arm.toml",
}
PLANS = {
    "gen3": ("gen3", "gen3_prior.json"),
    "gen3 with strips": ("gen3", "gen3_strips.json"),
    "z1": ("z1", "z1_0.json"),
    "tree": ("gantry", "gantry.json"),
    "chain of twelve": ("chain12", "chain12.json"),
}
LOADED = {}


def load(name):
    """A plan with its robot, read once."""
    if name not in LOADED:
        toml, file = PLANS[name]
        LOADED[name] = check.Plan(HERE / "tests/plans" / file, robots.Robot(ROBOTS[toml]))
    return LOADED[name]


def unit(rng, n):
    """A point of the unit ball, on its surface more often than not."""
    x = np.array([rng.gauss(0, 1) for _ in range(n)])
    return x / np.linalg.norm(x) * (1.0 if rng.random() < 0.8 else rng.random())


def least(margins):
    """The least margin of each constraint."""
    out = {}
    for family, where, m in margins:
        out[family, where] = min(float(m), out.get((family, where), math.inf))
    return out


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


class State:
    """One state within the tube of a plan, in one tick of a cell, with sensor errors and parameters at extremes: plain floats."""

    def __init__(self, plan, rng, t):
        self.plan, n, tube_ = plan, plan.n, plan.tube
        f = lambda x: float(arb(x).mid())
        self.h, self.k_r = f(tube_["h"]), f(tube_["k_r"])
        self.qd, self.dqd, self.ddqd, self.dddqd = ([f(plan.curve.at(j, k, arb(t))) for j in range(n)] for k in range(4))
        self.qd, self.dqd, self.ddqd, self.dddqd = map(np.array, (self.qd, self.dqd, self.ddqd, self.dddqd))
        self.e = unit(rng, n) * [f(x) for x in plan.e_radius] * (1 - 1e-9)
        self.r = unit(rng, n) * [f(x) for x in plan.r_radius] * (1 - 1e-9)
        sensor = plan.robot.sensors
        self.off_q = np.array([rng.choice([-1, 1]) for _ in range(n)]) * f(sensor["position_rad"])
        self.off_dq = np.array([rng.choice([-1, 1]) for _ in range(n)]) * f(sensor["velocity_rad_s"])
        self.center, self.radius = np.array([f(x) for x in plan.center]), np.array([f(x) for x in plan.radius])
        self.theta = self.center + self.radius * np.array([rng.choice([-1, 1]) for _ in self.center])
        # Bodies must be able to exist where the floor of M matters: scaled ones.
        self.scaled = self.center.copy()
        for i, joint in enumerate(plan.robot.joints):
            ratio = min((self.radius[10 * i + p] / abs(x) for p, x in enumerate(self.center[10 * i : 10 * i + 10]) if x), default=0)
            self.scaled[10 * i : 10 * i + 10] *= 1 + rng.choice([-1, 1]) * min(ratio, 0.5)

    def at(self, e, r):
        """q, dq, dq_a, ddq_a."""
        de = r - self.k_r * e
        return self.qd - e, self.dqd - de, self.dqd + self.k_r * e, self.ddqd + self.k_r * de

    def measured(self):
        """The same as the controller has it, and r^."""
        q, dq, dqa, ddqa = self.at(self.e, self.r)
        e, de = self.e - self.off_q, self.r - self.k_r * self.e - self.off_dq
        return (q + self.off_q, dq + self.off_dq, self.dqd + self.k_r * e, self.ddqd + self.k_r * de), de + self.k_r * e

    def rows(self, motion):
        """Y, n x 14 n: links, then F_v, I_a; without Coulomb friction and offset."""
        n, (q, dq, dqa, ddqa) = self.plan.n, [[arb(float(x)) for x in v] for v in motion]
        posture = Posture(self.plan.robot, q)
        rows, out = posture.regressor(posture.sweep(self.plan.robot.gravity, dq, dqa, ddqa)), np.zeros((n, 14 * n))
        for j in range(n):
            for i, row in rows[j].items():
                out[j, 10 * i : 10 * i + 10] = [float(arb(x).mid()) for x in row]
            out[j, self.plan.at(j) + robots.VISCOUS], out[j, self.plan.at(j) + robots.ARMATURE] = motion[1][j], motion[3][j]
        return out

    def mass(self, q, theta):
        n, links = self.plan.n, Posture(self.plan.robot, [arb(float(x)) for x in q]).mass([arb(float(x)) for x in theta[: 10 * self.plan.n]])
        out = np.zeros((n, n))
        for (i, j), x in links.items():
            out[i, j] = out[j, i] = float(arb(x).mid())
        return out + np.diag([theta[self.plan.at(j) + robots.ARMATURE] for j in range(n)])

    def turning(self, q, dq, r, theta):
        """C(q, dq) r."""
        point = lambda v: [arb(float(x)) for x in v]
        posture = Posture(self.plan.robot, point(q))
        motion = posture.sweep([0, 0, 0], point(dq), point(r), [0] * self.plan.n)
        return np.array([float(arb(x).mid()) for x in posture.torques(point(theta[: 10 * self.plan.n]), motion)])

    def law(self):
        """(nominal torque, rho, v, V^ without slack) of section 4, at the measured state; strips left out."""
        plan, f = self.plan, lambda x: float(arb(x).mid())
        motion, r = self.measured()
        y, n, t = self.rows(motion), plan.n, plan.tube
        nominal, rho = y @ self.center, np.abs(y) @ self.radius
        for j in range(n):
            at, sign = plan.at(j), 0.0 if abs(motion[1][j]) <= f(plan.band[j]) else math.copysign(1, motion[1][j])
            nominal[j] += sign * self.center[at] + self.center[at + robots.OFFSET]
            rho[j] += self.radius[at] + (0 if sign else abs(self.center[at])) + self.radius[at + robots.OFFSET] + f(t["drift_nm"][j])
        # r'M r of the box: Y with dq_a = 0, ddq_a = r and no gravity, in the direction r.
        posture = Posture(plan.robot, [arb(float(x)) for x in motion[0]])
        rest = [0] * n
        links = posture.regressor(posture.sweep([0, 0, 0], rest, rest, [arb(float(x)) for x in r]))
        along = np.zeros(14 * n)
        for j in range(n):
            for i, row in links[j].items():
                along[10 * i : 10 * i + 10] += r[j] * np.array([float(arb(x).mid()) for x in row])
            along[plan.at(j) + robots.ARMATURE] += r[j] ** 2
        energy = 0.5 * (along @ self.center + np.abs(along) @ self.radius)
        a, h, c, size_r = np.array([f(x) for x in plan.floor]), self.h, f(t["layer_ticks"]), np.abs(r)
        u = np.minimum(rho, a * size_r / (c * h))
        demand = rho @ size_r + h / 2 * sum(rho**2 / a) + f(t["hold_power_w"])
        demand -= f(t["alpha"]) * max(0.0, f(t["v_max"]) - energy - f(t["energy_slack_j"]))
        grip = u @ size_r + h / 2 * sum(u * (2 * rho - u) / a)
        v = np.zeros(n)
        if demand > 0:
            v = min(1.0, demand / grip) * u * np.sign(r) + max(0.0, demand - grip) * a * r / sum(a * r * r)
        return nominal, rho, v, energy


class Soundness(unittest.TestCase):
    """No sampled state of any plan has less margin than is claimed, here or in the plan's own certificate."""

    CELLS = 24

    def attack(self, name, cells, states):
        plan, rng, f = load(name), random.Random(name), lambda x: float(arb(x).mid())
        end, n, tightest = f(plan.curve.duration), plan.n, {}
        stored = plan.data["certificate"]
        for k in cells:
            t0, t1 = end * k / self.CELLS, end * (k + 1) / self.CELLS
            margins = least(tube.evaluate(plan, t0, t1))
            need = lambda what, have: f(have) * (1 - margins["tube", what])
            for _ in range(states):
                t = rng.uniform(t0, t1)
                s = State(plan, rng, t)
                motion, read = s.measured()
                q, dq, dqa, ddqa = s.at(s.e, s.r)
                nominal, rho, v, energy = s.law()
                seen = {}
                for j, joint in enumerate(plan.robot.joints):
                    if joint.position:
                        seen["position", joint.name] = min(q[j] - f(joint.position[0]), f(joint.position[1]) - q[j])
                    seen["velocity", joint.name] = f(joint.velocity) - abs(dq[j])
                    seen["torque", joint.name] = f(joint.torque) - (abs(nominal[j] + v[j]) if not plan.strips else 0)
                    if plan.strips:
                        del seen["torque", joint.name]
                for key, value in seen.items():
                    self.assertLessEqual(margins[key], value + 1e-9, (name, key, t))
                    tightest[key] = min(tightest.get(key, math.inf), value)
                    # The plan's own certificate is no more than the truth either.
                    if stored[key[0]]["value"] is not None:
                        self.assertLessEqual(stored[key[0]]["value"], value + 1e-9, (name, key, t))
                # Distances, at the true state, by support in the direction between nearest points of a fine search.
                self.tick(plan, s, need, name, rng)
        return tightest

    def tick(self, plan, s, need, name, rng):
        """Slack, drift, acceleration, floor and gain condition in one tick, moved along with extreme disturbances."""
        f, n, t = lambda x: float(arb(x).mid()), plan.n, plan.tube
        motion, read = s.measured()
        nominal, rho, v, _ = s.law()
        theta = s.scaled
        q, dq, dqa, ddqa = s.at(s.e, s.r)
        a = np.array([f(x) for x in plan.floor])
        M = s.mass(q, theta)
        # Sets with a payload of any inertia are not scaled bodies; transmissions carry their floor.
        self.assertGreater(min(np.linalg.eigvalsh(M - np.diag(a))), -1e-9, name)
        energy = 0.5 * s.r @ M @ s.r
        # States beyond the level do not occur.
        shrink = min(1.0, math.sqrt(f(plan.level) / energy)) if energy > 0 else 1.0
        r, e = s.r * shrink, s.e.copy()
        off = s.off_dq + s.k_r * s.off_q
        there = 0.5 * (r - off) @ s.mass(q + s.off_q, theta) @ (r - off)
        self.assertLessEqual(abs(there - 0.5 * r @ M @ r), need("energy_slack_j", t["energy_slack_j"]) * (1 + 1e-9), name)
        own = np.array([0.0 if p < 10 * n or (p - 10 * n) % 4 in (robots.VISCOUS, robots.ARMATURE) else 1.0 for p in range(14 * n)])
        force = lambda state: s.rows(state) @ (theta * (1 - own))
        start = (q + s.off_q, dq + s.off_dq, s.dqd + s.k_r * (e - s.off_q), s.ddqd + s.k_r * (r - s.k_r * e - s.off_dq - s.k_r * 0))
        before, w = force(start), rho * np.array([rng.choice([-1, 1]) for _ in range(n)])
        qd, dqd, ddqd, steps = s.qd.copy(), s.dqd.copy(), s.ddqd.copy(), 4
        for k in range(steps):
            q, dq, _, ddqa = s.at(e, r)
            rate = np.linalg.solve(s.mass(q, theta), w - v - s.turning(q, dq, r, theta))
            for j, joint in enumerate(plan.robot.joints):
                bound = need(f"acceleration_bound of {joint.name}", t["acceleration_bound"][j])
                self.assertLessEqual(abs(ddqa[j] - rate[j]), bound * (1 + 1e-9), (name, joint.name))
            step = s.h / steps
            s.qd, s.dqd, s.ddqd = s.qd + step * s.dqd, s.dqd + step * s.ddqd, s.ddqd + step * s.dddqd
            e, r = e + step * (r - s.k_r * e), r + step * rate
        changed = np.abs(force(s.at(e, r)) - before)
        s.qd, s.dqd, s.ddqd = qd, dqd, ddqd
        for j, joint in enumerate(plan.robot.joints):
            bound = need(f"drift_nm of {joint.name}", t["drift_nm"][j])
            self.assertLessEqual(changed[j], bound * (1 + 1e-3), (name, joint.name))
        gain = s.h * np.abs(v) - need("gain condition", arb(1)) * a * np.abs(read)
        self.assertLessEqual(max(gain), 1e-12, name)

    def test_gen3(self):
        tightest = self.attack("gen3", (3, 11, 12), 12)
        self.assertGreater(len(tightest), 15)

    def test_gen3_with_strips(self):
        self.attack("gen3 with strips", (5, 12), 6)

    def test_z1(self):
        self.attack("z1", (2, 12, 19), 12)

    def test_a_tree(self):
        self.attack("tree", (1, 8, 12, 20), 12)

    def test_a_chain_of_twelve(self):
        self.attack("chain of twelve", (6, 12), 6)

    def test_margins_are_close_to_what_is_found(self):
        """Bounds that prove nothing would be sound too: speed and position within a few per cent of the limit of what samples reach."""
        plan, f = load("tree"), lambda x: float(arb(x).mid())
        margins = least(tube.evaluate(plan, 1.5, 1.5625))
        rng = random.Random(9)
        found = {}
        for _ in range(300):
            s = State(plan, rng, rng.uniform(1.5, 1.5625))
            q, dq, _, _ = s.at(s.e, s.r)
            nominal, _, v, _ = s.law()
            for j, joint in enumerate(plan.robot.joints):
                for key, x in (("velocity", f(joint.velocity) - abs(dq[j])), ("torque", f(joint.torque) - abs(nominal[j] + v[j]))):
                    found[key, joint.name] = min(found.get((key, joint.name), math.inf), x)
        for (family, name), x in found.items():
            joint = next(j for j in plan.robot.joints if j.name == name)
            limit = f(joint.velocity if family == "velocity" else joint.torque)
            self.assertLess(x - margins[family, name], 0.06 * limit, (family, name))

    def test_no_two_points_are_nearer_than_claimed(self):
        for name in ("gen3", "z1", "tree"):
            plan, rng = load(name), random.Random(name)
            end = float(plan.curve.duration)
            t0, t1 = end * 11 / self.CELLS, end * 12 / self.CELLS
            margins = {where: float(m) for family, where, m in tube.evaluate(plan, t0, t1) if family == "collision"}
            self.assertGreater(len(margins), 5 if name == "z1" else 1)
            for _ in range(40):
                s = State(plan, rng, rng.uniform(t0, t1))
                q = [arb(float(x)) for x in s.at(s.e, s.r)[0]]
                turns = [x.sin_cos() if j.rotates else (0, 1) for x, j in zip(q, plan.robot.joints)]
                frames = robots.place(plan.robot, turns, q)
                grid, axes = np.linspace(0, 1, 9)[:, None], {}
                for c in plan.capsules:
                    p, q = (np.array([float(arb(x).mid()) for x in end]) for end in robots.ends_of(c, frames))
                    axes[c] = p + grid * (q - p)
                apart = lambda x, y: np.min(np.linalg.norm(x[:, None] - y[None], axis=2))
                kept = {frozenset(plan.data["robot"]["shapes"][k]["name"] for k in pair) for pair in plan.data["robot"].get("self_pairs", [])}
                stored = plan.data["certificate"]["collision"]["value"]
                for a, b in plan.pairs:
                    nearest = apart(axes[a], axes[b]) - float(a.radius + b.radius)
                    if (where := f"'{a.name}' against '{b.name}'") in margins:
                        self.assertLessEqual(margins[where], nearest + 1e-9, where)
                    if frozenset((a.name, b.name)) in kept:
                        self.assertLessEqual(stored, nearest + 1e-9, where)
                for title, middle, generators in plan.obstacles:
                    corner = np.array([[float(x) for x in g] for g in generators])
                    inside = [np.array([float(x) for x in middle]) + np.array([rng.uniform(-1, 1) for _ in corner]) @ corner for _ in range(20)]
                    for c in (c for c in plan.capsules if c.joint):
                        nearest = apart(axes[c], np.array(inside)) - float(c.radius)
                        self.assertLessEqual(max(stored, margins[f"'{c.name}' against '{title}'"]), nearest + 1e-9)


class Terms(unittest.TestCase):
    """Every term of sections 6 to 9 against the same formulas in plain floats at one state, one source at a time.

    The cell is one moment and the tube so narrow that its bounds must be those of that state. Where a source is switched on, its
    terms make up a good part of the bound: without them, or with much less, the bound would fall below what is asked here.
    """

    def plan(self, **changes):
        """The tree's plan with another tube, set and sensors; unchecked."""
        plan = copy(load("tree"))
        plan.robot, plan.tube = copy(plan.robot), dict(plan.tube)
        plan.robot.sensors = {"position_rad": arb(changes.get("position", 0)), "velocity_rad_s": arb(changes.get("velocity", 0))}
        plan.tube |= {"h": arb(changes.get("h", 1e-6)), "hold_power_w": arb(changes.get("beta", 1e-9)), "energy_slack_j": arb(0)}
        plan.tube |= {"v_max": arb(changes.get("v_max", 1e-10)), "drift_nm": [arb(changes.get("drift", 0))] * plan.n}
        plan.tube["alpha"], plan.tube["k_r"] = arb(changes.get("alpha", 1e6)), arb(changes.get("k_r", 5))
        plan.radius = [x * arb(changes.get("open", 0)) for x in plan.radius]
        if not changes.get("friction", 0):
            plan.center = [arb(0) if p >= 10 * plan.n and (p - 10 * plan.n) % 4 == robots.COULOMB else x for p, x in enumerate(plan.center)]
        plan.range = [arb(c, g) for c, g in zip(plan.center, plan.radius)]
        plan.lag = [x * arb(changes.get("lag", 1)) for x in plan.lag]
        plan.level = (tube.LEVEL * plan.tube["v_max"]).upper()
        plan.r_radius = [tube.root(2 * plan.level / a) for a in plan.floor]
        plan.e_radius = [(tube.root(2 * plan.level / a) / plan.tube["k_r"]).upper() for a in plan.lag]
        plan.band = [arb(1e3 if changes.get("friction", 0) else 1e-3)] * plan.n
        return plan

    def expected(self, plan, t, grain, turn):
        """Needs and command at the desired state of time t, in floats."""
        f, n, rng = lambda x: float(arb(x).mid()), plan.n, random.Random(0)
        s = State(plan, rng, t)
        u = {k: f(plan.tube[k]) for k in ("h", "k_r", "alpha", "v_max", "layer_ticks", "hold_power_w")}
        h, k_r, c, beta = u["h"], u["k_r"], u["layer_ticks"], u["hold_power_w"]
        a, R = np.array([f(x) for x in plan.floor]), np.array([f(x) for x in plan.r_radius])
        E, D = np.array([f(x) for x in plan.e_radius]), np.array([f(x) for x in plan.tube["drift_nm"]])
        sizes = np.array([[f(x) for x in plan.curve.coefficients(j)] for j in range(n)]).T
        off_q = f(plan.robot.sensors["position_rad"]) + grain * (1 + sizes[0])
        off_dq = f(plan.robot.sensors["velocity_rad_s"]) + grain * (1 + sizes[1] + R)
        off_dqa, off_ddqa = k_r * off_q + grain * (1 + sizes[1] + R), k_r * off_dq + grain * (1 + sizes[2] + 2 * k_r * R)
        off_r, state = off_dq + k_r * off_q, (s.qd, s.dqd, s.dqd, s.ddqd)
        y, center, g = s.rows(state), s.center, np.array([f(x) for x in plan.radius])
        at = np.array([plan.at(j) for j in range(n)])
        doubt = np.abs(s.dqd) <= [f(x) for x in plan.band]
        charge = g[at] + doubt * np.abs(center[at])
        sign = np.where(doubt, 0, np.sign(s.dqd))
        nominal = y @ center + sign * center[at] + center[at + robots.OFFSET]
        rho = np.abs(y) @ g + charge + g[at + robots.OFFSET] + D
        m = np.abs(s.mass(s.qd, center))
        sigma = max(abs(np.linalg.eigvals(m / a[:, None])))
        coupled = np.sqrt([sum(m[i, j] ** 2 / (a[i] * a[j]) for i in range(n) if i != j) for j in range(n)])

        def share(j):
            best = sigma
            for x in (0.1, 0.25, 0.5, 1.0, 2.0):
                p, q = m[j, j] / a[j] + x * coupled[j], sigma + coupled[j] / x
                best = min(best, p if q <= 2 * p else q * q / (4 * (q - p)))
            return best

        terms = 2 * rho @ (R + off_r) + 2 * h * sum(rho**2 / a) + beta + u["alpha"] * u["v_max"]
        base, layer = beta + grain * terms, (0.5 + (c - 1) ** 2 / (2 * (2 * c - 1))) * h * rho**2 / a
        rest = base + sum(layer)
        z1 = math.sqrt(2 * (u["v_max"] - rest / u["alpha"]) / sigma)
        alone = np.array([share(j) for j in range(n)])
        v = rho + np.maximum((rest - layer) * np.sqrt(a * alone / sigma) / z1, rest * c * h * rho / z1**2)
        norm = lambda x: math.sqrt(sum(x**2 / a))
        vn, unit_ = norm(rho) + rest / z1, np.eye(n)
        viscous = np.diag(center[at + robots.VISCOUS])
        first = np.array([s.turning(s.qd, unit_[j], s.dqd, center) for j in range(n)]).T + viscous
        second = np.array([s.turning(s.qd, s.dqd, unit_[j], center) for j in range(n)]).T
        G = np.sqrt((first**2 / a) @ np.ones(n))
        swing = np.sqrt((second**2 / a) @ np.ones(n)) * math.sqrt(2 * u["v_max"]) * turn
        x = norm(rho) + vn + norm(swing)
        step = 1e-6
        moved = lambda d: (s.rows([p + step * q for p, q in zip(state, d)]) - s.rows([p - step * q for p, q in zip(state, d)])) / (2 * step)
        rate, zero = moved((s.dqd, s.ddqd, s.ddqd, s.dddqd)), np.zeros(n)
        errors = zero
        for j in range(n):
            e = unit_[j]
            for d, amount in (((e, zero, zero, zero), off_q), ((zero, e, zero, zero), off_dq), ((zero, zero, e, zero), off_dqa), ((zero, zero, zero, e), off_ddqa)):
                errors = errors + np.abs(moved(d) @ center) * amount[j]
        tilt = [(s.mass(s.qd + step * unit_[j], center) - s.mass(s.qd - step * unit_[j], center)) / (2 * step) for j in range(n)]
        # The largest r'Nr over the tube's ellipsoid, N the slope along each pattern of signs of the errors.
        patterns = [np.array([1 if k >> j & 1 else -1 for j in range(n)]) for k in range(2**n)]
        scale = np.diag(1 / np.sqrt(a))
        along = max(max(abs(np.linalg.eigvalsh(scale @ sum(w * o * d for w, o, d in zip(p, off_q, tilt)) @ scale))) for p in patterns) * u["v_max"]
        delta = math.sqrt(sigma * sum(a * off_r**2))
        force_size = np.abs(y) @ np.abs(center) * 4 * grain
        pull = rho + v
        return {
            "hold_power_w": h / 2 * (rest / z1) ** 2 + off_r @ pull + h / 2 * norm(swing) * (norm(rho) + vn)
            + grain * ((R + off_r) @ (np.abs(nominal) + v) + terms),
            "energy_slack_j": along + delta * math.sqrt(2 * (u["v_max"] + along)) + delta**2 / 2,
            "gain condition": (1 / c + h * rest / z1**2),
            "drift_nm": h * (np.abs(rate @ center) + np.abs(rate) @ g) + errors + h * (k_r * (pull + swing) + x * G) + force_size,
            "acceleration_bound": np.abs(s.ddqd) + k_r * (R**2 + (k_r * E) ** 2) ** 0.5 + off_ddqa + x / np.sqrt(a),
            "torque": (np.abs(nominal) + force_size + v),
            "position": np.array([E[j] + off_q[j] for j in range(n)]),
            "velocity": np.abs(s.dqd) + R + k_r * E + off_dq,
        }

    SOURCES = {
        "the law's own mismatch": {"beta": 1e-5},
        "the set": {"open": 1.0, "v_max": 1e-4, "h": 1e-7},
        "the set, long ticks": {"open": 1.0, "v_max": 1e-2, "h": 1e-4},
        "stiction": {"friction": 1, "v_max": 1e-4, "h": 1e-7},
        "misread speeds": {"velocity": 1e-6, "v_max": 1e-8, "k_r": 0.1},
        "misread positions": {"position": 1e-6, "v_max": 1e-8, "k_r": 1e-3},
        "misread positions, wide r": {"position": 1e-6, "v_max": 1e-3, "k_r": 1e-3, "lag": 1e12},
        "misread positions, high gain": {"position": 1e-8, "v_max": 1e-8, "k_r": 1e3},
        "errors that outweigh r": {"velocity": 1e-2, "v_max": 1e-8, "k_r": 0.1},
        "turning arms": {"beta": 1e-12, "v_max": 1e-5, "k_r": 1},
        "turning arms, high gain": {"beta": 1e-12, "v_max": 1e-6, "k_r": 300},
        "arms that turn fast": {"beta": 1e-12, "v_max": 1e-8, "k_r": 20, "turn": 1e7},
        "drift": {"drift": 1.0, "v_max": 1e-4, "h": 1e-6, "k_r": 100},
        "rounding": {"grain": 1e-6, "open": 0.1, "beta": 1e-9, "v_max": 1e-6, "h": 1e-7, "alpha": 1e3},
    }

    def test_no_term_is_missing(self):
        for name, changes in self.SOURCES.items():
            plan, t, own = self.plan(**changes), 1.1, tube.ROUNDING
            swing, turn = tube.velocity_slopes, changes.get("turn", 1)
            if "grain" in changes:
                tube.ROUNDING = arb(changes["grain"])
            if "turn" in changes:
                # Coriolis forces as if the arm turned much faster.
                tube.velocity_slopes = lambda *given: [swing(*given)[0], [x * turn for x in swing(*given)[1]]]
            try:
                margins = least(tube.evaluate(plan, t, t))
            finally:
                tube.ROUNDING, tube.velocity_slopes = own, swing
            want = self.expected(plan, t + float(plan.tube["h"]) / 2, changes.get("grain", 2**-40), turn)
            relative = lambda have, m: have * (1 - m) if have > 0 else -m
            for key in ("hold_power_w", "energy_slack_j"):
                self.agree(relative(float(plan.tube[key]), margins["tube", key]), want[key], name, key)
            self.agree(1 - margins["tube", "gain condition"], want["gain condition"], name, "gain")
            for j, joint in enumerate(plan.robot.joints):
                for key in ("drift_nm", "acceleration_bound"):
                    need = relative(float(plan.tube[key][j]), margins["tube", f"{key} of {joint.name}"])
                    self.agree(need, want[key][j], name, f"{key} of {joint.name}")
                self.agree(float(joint.torque) - margins["torque", joint.name], want["torque"][j], name, f"torque of {joint.name}")
                self.agree(float(joint.velocity) - margins["velocity", joint.name], want["velocity"][j], name, "velocity")
                if joint.position:
                    q = float(plan.curve.at(j, 0, arb(t)).mid())
                    room = min(q - float(joint.position[0]), float(joint.position[1]) - q)
                    self.agree(room - margins["position", joint.name], want["position"][j], name, "position")

    def agree(self, found, want, *where):
        """No less than is needed; not many times as much either. (A gradient that is zero has balls that are not.)"""
        self.assertGreaterEqual(found, want * 0.99 - 1e-15, where)
        if not where[1].startswith("drift"):
            self.assertLessEqual(found, 10 * want + 1e-12, where)

    def test_needs_agree_with_those_of_the_library(self):
        """Constants in plans are 1.1 times what the library found to be needed: what is found here is that or a little less."""
        for name, least in (("z1", 0.85), ("tree", 0.9), ("gen3 with strips", 0.5)):
            plan, needs = load(name), {}
            end = float(plan.curve.duration)
            for k in range(32):
                for family, where, m in tube.evaluate(plan, end * k / 32, end * (k + 1) / 32):
                    if family == "tube" and where not in ("gain condition", "inertia_floor"):
                        needs[where] = max(needs.get(where, 0), 1.1 * (1 - float(m)))
            self.assertEqual(len(needs), 2 + 2 * plan.n)
            for where, need in needs.items():
                self.assertTrue(least < need < 1.005, (name, where, need))


class Parts(unittest.TestCase):
    """Radii, cells, floors and strips by themselves."""

    def test_radii_and_bands(self):
        for name in PLANS:
            plan, gains = load(name), load(name).data["tube"]["gains"]
            stored, level = plan.data["tube"], gains["v_max"] * (1 + 2.0**-20)
            for j in range(plan.n):
                r = math.sqrt(2 * level / stored["inertia_floor"][j])
                e = math.sqrt(2 * level / stored["lag_floor"][j]) / gains["k_r"]
                band = gains["stiction_speed_rad_s"] + float(plan.robot.sensors["velocity_rad_s"]) + gains["period_s"] * stored["acceleration_bound"][j]
                for found, want in ((plan.r_radius[j], r), (plan.e_radius[j], e), (plan.band[j], band)):
                    self.assertAlmostEqual(float(found) / want, 1, delta=1e-12)

    def test_a_cell_reaches_to_the_end_of_its_last_tick(self):
        plan = copy(load("tree"))
        plan.tube = plan.tube | {"h": arb(0.2)}
        cell = tube.Cell(plan, 1.0, 1.1)
        for j in range(plan.n):
            for t in (1.0, 1.2, 1.3):
                for order, form in enumerate((cell.q[j], cell.dq[j], cell.ddqa[j])):
                    value = float(plan.curve.at(j, order, arb(t)).mid())
                    self.assertTrue(float(forms.lower(form)) <= value <= float(forms.upper(form)), (j, t, order))
        # A tick that overlaps the end finds the jerk of the rest there.
        last = tube.Cell(plan, 2.9, 3.0)
        self.assertTrue(all(forms.lower(x) <= 0 <= forms.upper(x) for x in last.jerk))
        self.assertLessEqual(float(last.end), 3.0)

    def test_lowered_bodies_never_have_more_energy(self):
        rng, useful = random.Random(12), 0

        def matrix(p):
            m, hx, hy, hz, xx, xy, yy, xz, yz, zz = p
            h = np.array([[0, -hz, hy], [hz, 0, -hx], [-hy, hx, 0]])
            return np.block([[m * np.eye(3), -h], [h, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])]])

        for name in ("z1", "tree"):
            plan, f = load(name), lambda x: float(x.mid())
            for i, joint in enumerate(plan.robot.joints):
                center = plan.center[10 * i : 10 * i + 10]
                for wide in (1.0, 4.0):
                    radius = [x * arb(wide) for x in plan.radius[10 * i : 10 * i + 10]]
                    lowered = [f(x) for x in check.lowered_body(center, radius, check.chain_length(joint))]
                    useful += lowered[0] > 0
                    for _ in range(200):
                        theta = [f(c) + rng.choice([-1, 1]) * f(g) for c, g in zip(center, radius)]
                        if lowered[0] > 0:
                            least = min(np.linalg.eigvalsh(matrix(theta) - matrix(lowered)))
                            self.assertGreaterEqual(least, -1e-12, (name, joint.name))
        self.assertGreater(useful, 10)

    def test_products_and_first_moments_are_charged_as_they_must_be(self):
        """One parameter uncertain at a time: the corner's body less the lowered one has no negative direction, and hardly any room."""
        center = [arb(x) for x in (2.0, 0.1, -0.2, 0.3, 0.4, 0.01, 0.5, 0.02, -0.03, 0.6)]
        for p in range(10):
            radius = [arb(0.05) if k == p else arb(0) for k in range(10)]
            lowered = check.lowered_body(center, radius, 0.4)
            moved = sum(float((c - low).mid()) for c, low in zip(center, lowered))
            self.assertGreater(moved, 0.049, p)

    def test_the_floor_needs_its_proof(self):
        """Links carry the floor: what is proven holds at samples, and a floor that no sample has is refused."""
        for name in ("z1", "chain of twelve"):
            plan = copy(load(name))
            if name != "z1":
                plan.floor = [a * arb(1.01 if j == 1 else 0.92) for j, a in enumerate(plan.floor)]
            self.assertTrue(any(a > plan.below[plan.at(j) + robots.ARMATURE] for j, a in enumerate(plan.floor)))
            q = [plan.curve.at(j, 0, arb(1.0)) + forms.ball(1e-4) for j in range(plan.n)]
            margin = float(tube.floor_holds(plan, Posture(plan.robot, q)))
            self.assertGreaterEqual(margin, 0)
            s = State(plan, random.Random(3), 1.0)
            light = np.array([float(x.mid()) for x in plan.below])
            least = lambda a: min(np.linalg.eigvalsh(s.mass(s.qd, light) - np.diag([float(x.mid()) for x in a])))
            self.assertGreater(least(plan.floor), 0)
            high = copy(plan)
            for factor in np.linspace(1.0, 3.0, 200):
                high.floor = [a * arb(float(factor)) for a in plan.floor]
                if least(high.floor) < 0:
                    break
            self.assertLess(float(tube.floor_holds(high, Posture(plan.robot, q))), 0, (name, factor))
            self.assertLess(margin, 1 - 1 / factor + 1e-3)

    def test_strips_hold_for_all_parameters_in_them(self):
        """The law's own numbers at sampled states, and parameters on the strips' boundary."""
        plan, rng, f = load("gen3 with strips"), random.Random(13), lambda x: float(arb(x).mid())
        raw, n, tight = plan.data["set"], plan.n, 0.0
        low, high = np.array(raw["lower"]), np.array(raw["upper"])
        center, radius = (low + high) / 2, (high - low) / 2
        times = raw["strips"]["times"]
        strips = [(np.array(x["direction"]), x["lower"], x["upper"]) for x in raw["strips"]["strips"]]
        rows_of_strips, middles = np.array([d for d, _, _ in strips]), np.array([(a + b) / 2 for _, a, b in strips])
        halves = np.array([(b - a) / 2 for _, a, b in strips])
        for k in (1, 7, 8, 15):
            t0, t1 = 3.0 * k / 24, 3.0 * k / 24 + 0.004
            cell = tube.Cell(plan, t0, t1)
            grain, _ = tube.rounding(plan, cell)
            posture = Posture(plan.robot, cell.q)
            rows = posture.regressor(posture.sweep(plan.robot.gravity, cell.dq, cell.dqa, cell.ddqa))
            bounds = tube.bound_of_torques(plan, cell, rows, grain)
            for _ in range(25):
                t = rng.choice([t0, t1, rng.uniform(t0, t1)])
                s = State(plan, rng, t)
                y = s.rows(s.measured()[0])
                k0 = min(max(sum(x <= t for x in times) - 1, 0), len(times) - 2)
                share = min(1.0, max(0.0, (t - times[k0]) / (times[k0 + 1] - times[k0])))
                # A point of the set: from one inside as far as box and strips allow.
                inside = center + np.linalg.lstsq(rows_of_strips * radius, middles - rows_of_strips @ center, rcond=None)[0] * radius
                if np.any(np.abs(inside - center) > radius) or np.any(np.abs(rows_of_strips @ inside - middles) > halves):
                    inside = center
                if np.any(np.abs(rows_of_strips @ inside - middles) > halves):
                    self.fail("no point of the set is known")
                way = radius * np.array([rng.choice([-1, 1]) for _ in radius])
                room = [(high[p] if w > 0 else low[p]) - inside[p] for p, w in enumerate(way)]
                far = min(abs(r / w) for r, w in zip(room, way) if w)
                along = rows_of_strips @ way
                far = min([far] + [((h if a > 0 else -h) + m - x) / a for a, h, m, x in zip(along, halves, middles, rows_of_strips @ inside) if a])
                theta = inside + max(0.0, far) * way
                for j in range(n):
                    (d0, l0, u0), (d1, l1, u1) = strips[n * k0 + j], strips[n * (k0 + 1) + j]
                    mix = lambda a, b: (1 - share) * a + share * b
                    shift = mix((l0 + u0) / 2 - d0 @ center, (l1 + u1) / 2 - d1 @ center)
                    at = plan.at(j)
                    row = y[j].copy()
                    row[at + robots.OFFSET] = 1.0
                    compared = np.zeros(14 * n, bool)
                    compared[: 10 * n] = compared[[at + robots.VISCOUS, at + robots.ARMATURE, at + robots.OFFSET]] = True
                    half = mix(*((u - l) / 2 + np.abs(d[~compared]) @ radius[~compared] for d, l, u in (strips[n * k0 + j], strips[n * (k0 + 1) + j])))
                    known = half + np.abs(row - mix(d0, d1))[compared] @ radius[compared]
                    by_box = np.abs(row) @ radius + abs(shift)
                    off = abs(row @ (theta - center) - shift)
                    self.assertLessEqual(off, min(known, by_box) + 1e-9)
                    drift, doubt = f(plan.tube["drift_nm"][j]), abs(s.measured()[0][1][j]) <= f(plan.band[j])
                    charge = radius[at] + (abs(center[at]) if doubt else 0)
                    needed = min(known, by_box) + charge + drift
                    nominal = abs(row @ center + shift + (0 if doubt else math.copysign(center[at], s.measured()[0][1][j])))
                    self.assertLessEqual(needed, float(bounds[j][1]) + 1e-9)
                    self.assertLessEqual(nominal, float(bounds[j][0]) + 1e-9)
                    tight = max(tight, (needed - drift) / (float(bounds[j][1]) - drift))
        self.assertGreater(tight, 0.96)

    def test_what_the_law_does_at_most(self):
        """(8.5) to (8.8) against floats, with a rounding that can be seen."""
        rng, plan, own, seen = random.Random(14), copy(load("tree")), tube.ROUNDING, set()
        for _ in range(300):
            n, grain = plan.n, 10 ** rng.uniform(-7, -2)
            h, alpha, v_max, c = 1e-3, rng.uniform(100, 900), 10 ** rng.uniform(-3, -1), rng.uniform(1, 4)
            nu, beta = v_max * rng.uniform(0, 0.1), v_max * 10 ** rng.uniform(-5, 1)
            plan.tube = plan.tube | {"h": arb(h), "alpha": arb(alpha), "v_max": arb(v_max), "layer_ticks": arb(c), "hold_power_w": arb(beta), "energy_slack_j": arb(0)}
            rho, reading = [np.array([10 ** rng.uniform(-2, 0.8) for _ in range(n)]) for _ in range(2)]
            sigma, a = rng.uniform(1, 3), np.array([float(x) for x in plan.floor])
            alone = sigma * np.array([rng.uniform(0.2, 1) for _ in range(n)])
            tube.ROUNDING = arb(grain)
            try:
                found = tube.law(plan, arb(nu), *([arb(float(x)) for x in v] for v in (rho, reading)), arb(sigma), [arb(float(x)) for x in alone])
            finally:
                tube.ROUNDING = own
            terms = 2 * rho @ reading + 2 * h * sum(rho**2 / a) + beta + alpha * v_max
            # The worst place in the layer, by search.
            x = np.linspace(0, 1, 4001)
            layer = max(c * x * (1 - x) + (1 - x) ** 2 / 2) * h * rho**2 / a
            rest = beta + grain * terms + sum(layer)
            room = v_max - rest / alpha - nu
            if room <= 0:
                self.assertIsNone(found)
                continue
            z1 = math.sqrt(2 * room / sigma)
            far, near = (rest - layer) * np.sqrt(a * alone / sigma) / z1, rest * c * h * rho / z1**2
            seen |= {bool(p > q) for p, q in zip(far, near)}
            same = lambda x, y: self.assertAlmostEqual(float(x) / y, 1, delta=1e-5)
            for j in range(n):
                same(found["robust"][j], (rho[j] + max(far[j], near[j])) * (1 + 8 * grain))
            rho_norm = math.sqrt(sum(rho**2 / a))
            same(found["rho"], rho_norm)
            same(found["norm"], rho_norm + rest / z1)
            same(found["mismatch"], h / 2 * (rest / z1) ** 2)
            same(found["gain"], (1 / c + h * rest / z1**2) * (1 + 8 * grain))
            same(found["terms"], terms)
        self.assertEqual(seen, {True, False})

    def test_gravity_that_leans(self):
        """What is charged is what the worst direction changes, for a set that is a point."""
        plan, f = copy(load("gen3")), lambda x: float(arb(x).mid())
        plan.range = list(plan.center)
        q = [plan.curve.at(j, 0, arb(1.0)) for j in range(plan.n)]
        posture, still, g = Posture(plan.robot, q), [0] * plan.n, [f(x) for x in plan.robot.gravity]
        torques = lambda gravity: np.array([f(x) for x in posture.torques(plan.center, posture.sweep([arb(x) for x in gravity], still, still, still))])
        for degrees in (0.2, 30.0):
            plan.tilt = arb(degrees)
            charged, most = [f(x) for x in tube.tilt_torques(plan, posture)], np.zeros(plan.n)
            for k in range(360):
                a, b = math.radians(degrees), math.radians(k)
                leaning = [9.81 * math.sin(a) * math.cos(b), 9.81 * math.sin(a) * math.sin(b), -9.81 * math.cos(a)]
                most = np.maximum(most, np.abs(torques(leaning) - torques(g)))
            self.assertTrue(all(c >= m - 1e-12 for c, m in zip(charged, most)), (charged, most))
            self.assertTrue(all(c <= m * 1.01 + 1e-9 for c, m in zip(charged, most)) or degrees > 1, (charged, most))
        # It is part of the drift that is asked for.
        leaning, shoulder = copy(load("gen3")), ("tube", f"drift_nm of {plan.robot.joints[1].name}")
        leaning.tilt = arb(0.2)
        before, after = (least(tube.evaluate(p, 1.0, 1.05))[shoulder] for p in (load("gen3"), leaning))
        self.assertGreater((before - after) * f(leaning.tube["drift_nm"][1]), 0.05)

    def test_breakaway_friction(self):
        plan = copy(load("gen3"))
        plan.breakaway = arb(1.5)
        more = []
        for p in (load("gen3"), plan):
            cell = tube.Cell(p, 0.0, 0.01)
            posture = Posture(p.robot, cell.q)
            rows = posture.regressor(posture.sweep(p.robot.gravity, cell.dq, cell.dqa, cell.ddqa))
            more.append([float(rho) for _, rho in tube.bound_of_torques(p, cell, rows, [arb(0)] * p.n)])
        for j, (a, b) in enumerate(zip(*more)):
            friction = plan.data["set"]["upper"][plan.at(j)]
            self.assertAlmostEqual(b - a, 0.5 * friction, places=9)

    def test_assumptions_that_a_robot_file_leaves_open(self):
        for key, usual, none in (("gravity_direction_deg", 0.2, 0.0), ("breakaway_ratio", 1.2, 1.0)):
            plan = copy(load("z1"))
            plan._assumed({})
            self.assertEqual(float(plan.tilt if usual < 1 else plan.breakaway), none)
            plan._assumed({key: 7.0})
            self.assertEqual(float(plan.tilt if usual < 1 else plan.breakaway), usual)

    def test_what_switches_add_is_counted(self):
        first, second = load("z1"), check.Plan(HERE / "tests/plans/z1_1.json", load("z1").robot)
        little = check.follows(second, first, arb(0))
        self.assertTrue(0 < little < arb(2) ** -40)
        self.assertTrue(check.follows(second, first, little) > little)
        with self.assertRaisesRegex(check.Refused, "switches"):
            check.follows(second, first, arb(2) ** -21)


class Refusals(unittest.TestCase):
    """Plans that are tampered with are refused, by name."""

    def plan(self, name, change):
        """The plan with a change of its JSON."""
        toml, file = PLANS[name]
        data = json.loads((HERE / "tests/plans" / file).read_text())
        change(data)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            path.write_text(json.dumps(data))
            return check.Plan(path, load(name).robot)

    def test_constants_of_the_tube_that_are_too_small_where_they_bind(self):
        for name in ("gen3", "z1", "tree"):
            good, k = load(name), 11
            end, joint = float(good.curve.duration), good.robot.joints[1].name
            span = (end * k / 32, end * (k + 1) / 32)
            before = {where: float(m) for family, where, m in tube.evaluate(good, *span) if family == "tube"}
            for field, where in (
                ("hold_power_w", "hold_power_w"),
                ("energy_slack_j", "energy_slack_j"),
                ("drift_nm", f"drift_nm of {joint}"),
                ("acceleration_bound", f"acceleration_bound of {joint}"),
                ("inertia_floor", "inertia_floor"),
            ):
                self.assertGreaterEqual(before[where], 0, (name, where))

                def change(data):
                    stored, factor = data["tube"], (1 - before[where]) / 1.2
                    if field == "inertia_floor":
                        # Higher than it is proven: the floor of all joints, as the form is one.
                        stored[field] = [x / (1 - before[where]) * 1.2 for x in stored[field]]
                    elif isinstance(stored[field], list):
                        stored[field][1] *= factor
                    else:
                        stored[field] *= factor

                after = {w: m for family, w, m in tube.evaluate(self.plan(name, change), *span) if family == "tube"}
                self.assertFalse(after[where] >= 0, (name, where))

    def test_what_the_robot_files_say_otherwise(self):
        def capsule(data):
            data["robot"]["shapes"][3]["capsule"]["radius"] = 0.001

        def limit(data):
            data["robot"]["joints"][2]["limits"]["torque"] *= 2

        def sensor(data):
            data["robot"]["sensors"]["position_rad"] = 0.0

        def link(data):
            data["robot"]["joints"][1]["placement"]["translation"][2] += 1e-6

        def gravity(data):
            data["robot"]["gravity"][2] = 0.0

        def parent(data):
            data["robot"]["joints"][3]["parent"] = 1

        def shape(data):
            del data["robot"]["shapes"][2]

        def shrunk(data):
            data["set"]["lower"][11], data["set"]["upper"][11] = [sum(data["set"][k][11] for k in ("lower", "upper")) / 2] * 2

        def friction(data):
            data["set"]["upper"][-4] *= 0.98

        changes = {
            capsule: "capsule 'upper_arm_2'", limit: "torque limit of joint 'joint_3'", sensor: "position_rad", link: "placement",
            gravity: "gravity", parent: "parent", shape: "capsule 'upper_arm_1'", shrunk: "the set knows more", friction: "coulomb",
        }
        for change, words in changes.items():
            with self.assertRaisesRegex(check.Refused, words):
                check.admit(self.plan("gen3", change))
        check.admit(load("gen3"))

    def test_curves_and_gains_that_the_proof_does_not_cover(self):
        def restless(data):
            data["curve"]["points"][2][4] += 1e-6

        def moving(data):
            data["curve"]["points"][2][1] += 1e-6

        def period(data):
            data["tube"]["gains"]["period_s"] = 1e-4

        def stiction(data):
            data["tube"]["gains"]["stiction_speed_rad_s"] = 1e-4

        def ticks(data):
            data["tube"]["layer_ticks"] = 0.9

        def lag(data):
            data["tube"]["lag_floor"][0] *= 1.01

        def held(data):
            data["robot"]["shapes"][-1]["joint"] = 2

        changes = {
            restless: "does not come to rest", moving: "does not start at rest", period: "period_s", stiction: "stiction",
            ticks: "layer_ticks", lag: "lag_floor", held: "neither",
        }
        for change, words in changes.items():
            with self.assertRaisesRegex(check.Refused, words):
                check.admit(self.plan("gen3", change))

    def test_plans_that_do_not_follow(self):
        first = load("z1")
        second = lambda change: check.Plan(self.written(change), first.robot)
        check.admit(second(lambda data: None), first)

        def away(data):
            data["curve"]["points"][0] = [x + 0.05 for x in data["curve"]["points"][0]]

        def faster(data):
            data["curve"]["points"][0][1] += 1e-3

        def accelerating(data):
            data["curve"]["points"][0][2] += 1e-4

        def late(data):
            data["t_start_s"] += 0.25

        def between(data):
            data["t_start_s"] += 0.0003

        def level(data):
            data["tube"]["gains"]["v_max"] *= 0.99

        def gain(data):
            data["tube"]["gains"]["k_r"] *= 1.01

        def floor(data):
            data["tube"]["lag_floor"] = data["tube"]["inertia_floor"] = [1.3 * x for x in data["tube"]["inertia_floor"]]

        # Plans that say at which tick of the one before they start.
        def ticks(number):
            return lambda data: data.update(start={"after_ticks": number})

        check.admit(second(ticks(1500)), first)
        for number in (1499, 0, 3000):
            with self.assertRaisesRegex(check.Refused, "jumps"):
                check.admit(second(ticks(number)), first)
        with self.assertRaisesRegex(check.Refused, "does not start at rest"):
            check.admit(second(lambda data: data.update(start="rest")), first)

        changes = {
            away: "position", faster: "velocity", accelerating: "acceleration", late: "jumps", between: "whole number",
            level: "V_max", gain: "k_r", floor: "position errors",
        }
        for change, words in changes.items():
            with self.assertRaisesRegex(check.Refused, words):
                check.admit(second(change), first)

    def written(self, change):
        data = json.loads((HERE / "tests/plans/z1_1.json").read_text())
        change(data)
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "plan.json"
        path.write_text(json.dumps(data))
        return path

    def test_an_obstacle_in_the_way_and_a_larger_object(self):
        good = load("gen3")
        end = float(good.curve.duration)
        q = [good.curve.at(j, 0, arb(end / 2)) for j in range(good.n)]
        frames = robots.place(good.robot, [x.sin_cos() for x in q], q)
        where = [float(arb(x).mid()) for x in robots.ends_of(good.capsules[-1], frames)[0]]

        def block(data):
            data["scene"]["obstacles"][1]["center"] = where

        def larger(data):
            data["robot"]["shapes"][-1]["capsule"]["radius"] = 0.5

        for change in (lambda data: None, block, larger):
            margins = tube.evaluate(self.plan("gen3", change), 0.49 * end, 0.51 * end)
            least = min(float(m) for family, _, m in margins if family == "collision")
            self.assertEqual(least < 0, change in (block, larger))


class FalseCertificate(unittest.TestCase):
    """A flap and an arm on one base: `certify` once gave this plan a certificate out of storage that it had used before."""

    def test_the_flap_is_not_held(self):
        robot = robots.Robot(ROBOTS["flap"])
        plan = check.Plan(HERE / "tests/plans/flap_and_arm.json", robot)
        check.admit(plan)
        self.assertGreater(plan.data["certificate"]["torque"]["value"], 0)
        torque = {where: float(m) for family, where, m in tube.evaluate(plan, 0.0, 0.05) if family == "torque"}
        # Gravity alone asks for 39 N m of a motor that has 30.
        nominal, _, v, _ = State(plan, random.Random(1), 0.01).law()
        self.assertLess(float(robot.joints[0].torque) - abs(nominal[0]), -5)
        self.assertLess(torque["hinge"], -5)
        self.assertGreater(min(m for where, m in torque.items() if where != "hinge"), 0)

    def test_the_command_line_says_so(self):
        run = lambda *arguments: subprocess.run([sys.executable, HERE / "check.py", *map(str, arguments)], capture_output=True, text=True)
        told = run("--robot", ROBOTS["flap"], "--depth", 0, HERE / "tests/plans/flap_and_arm.json")
        self.assertEqual(told.returncode, 1, told.stderr)
        self.assertRegex(told.stdout, "NOT PROVEN: torque of hinge")
        told = run("--robot", ROBOTS["gantry"], "--cells", 8, HERE / "tests/plans/gantry.json")
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertRegex(told.stdout, "PROVEN in")
        self.assertEqual(run("--robot", ROBOTS["gantry"], HERE / "README.md").returncode, 2)
        self.assertEqual(run("--robot", HERE / "none.toml", HERE / "tests/plans/gantry.json").returncode, 2)
        self.assertRegex(run("--help").stdout, "docs/proof.md")


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
