"""Plans and robots of the tests, and states of the tube as an adversary draws them; in plain floats."""

import math
from pathlib import Path

import numpy as np
from flint import arb

import check
import robot as robots
from dynamics import Posture

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
