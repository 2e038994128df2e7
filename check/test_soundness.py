"""Samples against what is claimed: no state of any plan has less margin."""

import math
import random
import unittest

import numpy as np
from flint import arb

import robot as robots
import tube
from samples import State, least, load


class Soundness(unittest.TestCase):
    """No sampled state of any plan has less margin than is claimed, here or in the plan's own certificate."""

    CELLS = 24

    def attack(self, name, cells, states):
        plan, rng, f = load(name), random.Random(name), lambda x: float(arb(x).mid())
        end, tightest = f(plan.curve.duration), {}
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
                for obstacle in plan.obstacles:
                    title, corner = obstacle.name, np.array([[float(x) for x in g] for g in obstacle.generators])
                    inside = [np.array([float(x) for x in obstacle.center]) + np.array([rng.uniform(-1, 1) for _ in corner]) @ corner for _ in range(20)]
                    for c in (c for c in plan.capsules if c.joint):
                        nearest = apart(axes[c], np.array(inside)) - float(c.radius)
                        self.assertLessEqual(max(stored, margins[f"'{c.name}' against '{title}'"]), nearest + 1e-9)


if __name__ == "__main__":
    unittest.main()
