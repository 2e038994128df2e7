#!/usr/bin/env python3
"""Proves plans of `surelift run` again, from the formulas of docs/proof.md, with ball arithmetic; shares no code with surelift."""

import argparse
import json
import math
import os
import sys
import time
from fractions import Fraction
from itertools import zip_longest
from multiprocessing import Pool
from pathlib import Path

from flint import arb, ctx

from forms import Form
from robot import ARMATURE, DRIVE, OFFSET, VISCOUS, Capsule, Robot, Unreadable, apart, ends_of, never_touch, number, place, vector
from tube import LEVEL, Curve, chain_length, evaluate, largest, lowered_body, root

ctx.prec = 64
FAMILIES = {"position": "rad", "velocity": "rad/s", "torque": "N m", "collision": "m", "tube": "of the stored constant"}


class Refused(Exception):
    """A plan that is not proven, and why."""


class Strip:
    """What a correlated set says of one joint's torque near one time: |direction . (theta - theta_0) - shift| <= half."""

    def __init__(self, direction, shift, half):
        self.direction, self.shift, self.half = direction, shift, half


class Obstacle:
    """A zonotope that held an obstacle `age` (s) before the plan starts, and a bound on the speed of its points (m/s); section 10."""

    def __init__(self, data):
        unknown = set(data) - {"name", "center", "generators", "speed_m_s", "age_s"}
        if unknown:
            raise Unreadable(f"obstacle '{data.get('name')}': unknown keys {sorted(unknown)}")
        self.name, self.center, self.generators = data["name"], vector(data["center"]), [vector(g) for g in data["generators"]]
        self.speed, self.age = number(data.get("speed_m_s", 0.0)), number(data.get("age_s", 0.0))
        for key, x in (("speed_m_s", self.speed), ("age_s", self.age)):
            if not x >= 0:
                raise Refused(f"obstacle '{self.name}': {key} is below 0")

    @property
    def moves(self):
        return self.speed != 0

    def moved(self, until):
        """How far it may be from its zonotope at any time of the plan until then, m."""
        return (self.speed * (self.age + until)).upper()


class Plan:
    """A plan file: the curve, the tube's constants, the set, the scene, the payload's shape. The rest is the robot's."""

    def __init__(self, path, robot):
        self.path, self.robot, self.n, self.touch = path, robot, len(robot.joints), {}
        try:
            data = json.loads(Path(path).read_text())
            self.data, self.start = data, number(data["t_start_s"])
            self._assumed(data["robot"]["uncertainty"])
            self._curve(data["curve"])
            if "law" in data["tube"]:
                law = data["tube"]["law"]
                raise Refused(f"tube: law '{law}': this program proves plans of the first law alone; expected a tube without `law`")
            if "motor_loops" in data["tube"]:
                raise Refused("tube motor_loops: this program proves plans whose feedback is in the commands alone; expected a tube without `motor_loops`")
            self._tube(data["tube"])
            self._set(data["set"])
            self._bodies(data["robot"])
            self.obstacles = [Obstacle(given) for given in data["scene"]["obstacles"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"{path}: not a plan: {error.__class__.__name__} {error}") from error

    def _assumed(self, written):
        """Gravity's direction (degrees) and breakaway friction: the robot's own; where its file is silent what such plans assume."""
        own, found = self.robot.ratios, {}
        for key, silent, none, what in (
            ("gravity_direction_deg", 0.2, 0.0, "the direction of gravity is exact"),
            ("breakaway_ratio", 1.2, 1.0, "no joint needs more than Coulomb friction to break away"),
        ):
            found[key] = own.get(key, arb(silent if key in written else none))
            if not found[key] > none:
                self.robot_trusts(what)
        self.tilt, self.breakaway = found["gravity_direction_deg"], found["breakaway_ratio"]
        if not (0 <= self.tilt <= 45 and self.breakaway >= 1):
            raise Refused("gravity_direction_deg or breakaway_ratio: expected 0 to 45 degrees, and at least 1")

    def at(self, j):
        """Index of the first of joint j's friction parameters."""
        return 10 * self.n + 4 * j

    def _sized(self, name, values):
        if len(values) != self.n:
            raise Refused(f"{name}: {len(values)} values, expected {self.n}")
        return vector(values)

    def _curve(self, data):
        pieces = [(number(piece["duration_s"]), self._sized_rows(piece["points"])) for piece in [data, *data.get("then", [])]]
        if not all(duration > 0 for duration, _ in pieces):
            raise Refused("curve: duration_s is not above 0")
        self.curve = Curve(*pieces[0], pieces[1:])
        if not all(piece.end > piece.start for piece in self.curve.pieces):
            raise Refused("curve: duration_s of a piece adds nothing to those before")
        for j, joint in enumerate(self.robot.joints):
            p, jump = self.curve.last[j], self.curve.jump(j)
            if not (p[3] == p[4] == p[5]):
                raise Refused(f"curve: joint '{joint.name}' does not come to rest")
            if jump:
                raise Refused(f"curve: {jump} of joint '{joint.name}' jumps where two pieces join")

    def _sized_rows(self, rows):
        if len(rows) != self.n or any(len(row) != 6 for row in rows):
            raise Refused(f"curve: expected 6 control points for each of {self.n} joints")
        return [vector(row) for row in rows]

    def _tube(self, data):
        gains, own = data["gains"], self.robot.control
        self.tube = {k: number(gains[k]) for k in ("k_r", "alpha", "v_max")} | {"h": number(gains["period_s"])}
        self.tube |= {k: number(data[k]) for k in ("layer_ticks", "hold_power_w", "energy_slack_j")}
        self.tube |= {k: self._sized(k, data[k]) for k in ("drift_nm", "acceleration_bound")}
        self.floor, self.lag = (self._sized(k, data[k]) for k in ("inertia_floor", "lag_floor"))
        tube, stiction = self.tube, number(gains["stiction_speed_rad_s"])
        rules = {
            "gains are above 0": all(tube[k] > 0 for k in ("k_r", "alpha", "v_max", "h")),
            "alpha h <= 1": tube["alpha"] * tube["h"] <= 1,
            "layer_ticks >= 1": tube["layer_ticks"] >= 1,
            "0 < lag_floor <= inertia_floor": all(0 < x <= a for x, a in zip(self.lag, self.floor)),
            "period_s is the robot's": tube["h"] == own["period_s"],
            "stiction_speed_rad_s is not below the robot's": stiction >= own["stiction_speed_rad_s"],
            "constants are not below 0": all(
                x >= 0 for k in ("drift_nm", "acceleration_bound") for x in tube[k]
            ) and all(tube[k] >= 0 for k in ("hold_power_w", "energy_slack_j")),
        }
        for rule, holds in rules.items():
            if not holds:
                raise Refused(f"tube: expected that {rule}")
        self.level = (LEVEL * tube["v_max"]).upper()
        self.r_radius = [root(2 * self.level / a) for a in self.floor]
        self.e_radius = [(root(2 * self.level / a) / tube["k_r"]).upper() for a in self.lag]
        known = stiction + self.robot.sensors["velocity_rad_s"]
        self.band = [(known + tube["h"] * x).upper() for x in tube["acceleration_bound"]]

    def _set(self, data):
        low, high = data["lower"], data["upper"]
        if len(low) != 14 * self.n or len(high) != 14 * self.n or not all(a <= b for a, b in zip(low, high)):
            raise Refused(f"set: expected {14 * self.n} intervals, lower <= upper")
        centers = [0.5 * a + 0.5 * b for a, b in zip(low, high)]
        widths = [max(math.nextafter(b - c, math.inf), math.nextafter(c - a, math.inf), 0.0) for a, b, c in zip(low, high, centers)]
        self.center, self.radius = vector(centers), vector(widths)
        self.range = [arb(c, g) for c, g in zip(self.center, self.radius)]
        core = data.get("core")
        self.below = [number(x) for x in low]
        for i, joint in enumerate(self.robot.joints):
            body = slice(10 * i, 10 * i + 10)
            lowered = lowered_body(self.center[body], self.radius[body], chain_length(joint))
            if core and core["first"] == 10 * i and any(number(core["part"][p]) > lowered[p] for p in (0, 4, 6, 9)):
                lowered = vector(core["part"])
                self.robot_trusts("set.core: that the held body surely contains this part")
            self.below[body] = lowered
        self._strips(data.get("strips"))

    def robot_trusts(self, what):
        if what not in self.robot.trusted:
            self.robot.trusted.append(what)

    def compared(self, j):
        """Parameters in which a strip of joint j is compared with the torque's row."""
        return [*range(10 * self.n), *(self.at(j) + k for k in (VISCOUS, ARMATURE, OFFSET))]

    def _strips(self, data):
        self.strips, self.times, self.strip_sizes = [], [], [arb(0)] * self.n
        if not data:
            return
        self.times = vector(data["times"])
        ordered = all(a < b for a, b in zip(self.times, self.times[1:]))
        if not (self.times and ordered and self.times[0] >= 0 and self.times[-1] <= self.curve.duration):
            raise Refused("set.strips: expected increasing times within the plan")
        if len(data["strips"]) != self.n * len(self.times):
            raise Refused(f"set.strips: expected {self.n} for each of {len(self.times)} times")
        for k, given in enumerate(data["strips"]):
            j, d = k % self.n, vector(given["direction"])
            low, high = number(given["lower"]), number(given["upper"])
            if len(d) != len(self.center) or not low <= high:
                raise Refused(f"set.strips[{k}]: expected {len(self.center)} numbers, lower <= upper")
            middle = sum((x * c for x, c in zip(d, self.center)), arb(0))
            shift = ((low + high) / 2 - middle).mid()
            half = largest(high - middle - shift, shift + middle - low)
            compared = set(self.compared(j))
            half += sum((abs(x) * g for p, (x, g) in enumerate(zip(d, self.radius)) if p not in compared), arb(0))
            if j == 0:
                self.strips.append([])
            self.strips[-1].append(Strip(d, shift, half.upper()))
            used = 3 * abs(shift) + half + sum((abs(d[p]) * self.radius[p] for p in compared), arb(0))
            self.strip_sizes[j] = largest(self.strip_sizes[j], used)

    def stretches(self, cell):
        """(first, second, share of the second): the strips that the law may use at the ticks of a cell."""
        last, (t0, t1) = len(self.times) - 1, cell.span
        if t0 is None:
            return [(last, last, arb(1))]
        out = []
        if t0 < self.times[0]:
            out.append((0, 0, arb(1)))
        if t1 > self.times[last] or last == 0:
            out.append((last, last, arb(1)))
        for k in range(last):
            if t0 < self.times[k + 1] and t1 > self.times[k]:
                length = self.times[k + 1] - self.times[k]
                middle, half = (cell.start + cell.end) / 2 - self.times[k], (cell.end - cell.start) / 2
                out.append((k, k + 1, Form(middle / length, half / length)))
        return out

    def _bodies(self, data):
        """Capsules of the robot, and those of the payload, which the plan alone knows."""
        own = {c.name for c in self.robot.capsules}
        self.capsules = list(self.robot.capsules)
        for shape in data["shapes"]:
            if shape["name"] not in own:
                capsule = shape["capsule"]
                if shape["joint"] != self.robot.joints.index(self.robot.hand) or not capsule["radius"] > 0:
                    raise Refused(f"capsule '{shape['name']}' is neither the robot's nor one that its hand holds")
                ends = [vector(capsule[k]) for k in "ab"]
                self.capsules.append(Capsule(shape["name"], self.robot.hand, *ends, number(capsule["radius"])))
        held = [c for c in self.capsules if c not in self.robot.capsules]
        # The hand and what it holds turn against the body before it, though a joint joins the two.
        before = [c for c in self.capsules if c.joint is self.robot.hand.parent]
        joined = [(a, b) for a in before for b in self.capsules if b.joint is self.robot.hand]
        housed = [(a, b) for a, b in joined if b not in held and not self._apart_at_first(a, b)]
        for a, b in housed:
            self.robot_trusts(f"{a.name} and {b.name} overlap where a plan starts and are not kept apart: joined by '{self.robot.hand.name}'")
        self.pairs = self.robot.pairs(self.capsules) + [pair for pair in joined if pair not in housed]
        # Who states the object's shape may state what it need not be kept apart from.
        names, loose = {c.name for c in held}, {}
        for pair in data.get("ignored_pairs", []):
            both = frozenset(data["shapes"][pair[k]]["name"] for k in "ab")
            if both & names:
                loose[both] = pair["reason"]
                self.robot_trusts(f"{' and '.join(sorted(both))} are not kept apart, as the plan says: {pair['reason']}")
            elif both not in self.robot.ignored:
                raise Refused(f"the plan ignores {' and '.join(sorted(both))}, {self.robot.path} does not")
        ignored = {**self.robot.ignored, **loose}
        self.pairs = [(a, b) for a, b in self.pairs if frozenset((a.name, b.name)) not in ignored]
        self.undeclared = data.get("held") == "undeclared"

    def _apart_at_first(self, a, b):
        """Whether two capsules are apart at the plan's first point."""
        q = [p[0] for p in self.curve.points]
        frames = place(self.robot, [x.sin_cos() if joint.rotates else (0, 1) for x, joint in zip(q, self.robot.joints)], q)
        return apart(ends_of(a, frames), ends_of(b, frames), a.radius + b.radius) > 0

    def cannot_touch(self, a, b):
        """Whether two capsules cannot touch within the position limits; asked only where the plan leaves it open."""
        key = (a.name, b.name)
        if key not in self.touch:
            self.touch[key] = never_touch(self.robot, a, b)
        return self.touch[key]


def differences(plan):
    """Where the robot that is written into the plan is not that of the robot's files."""
    robot, data = plan.robot, plan.data["robot"]
    same = lambda a, b, slack=1e-12: abs(arb(a) - number(b)) <= slack * (1 + abs(number(b)))
    all_same = lambda a, b: len(a) == len(b) and all(map(same, a, b))
    if not all_same(robot.gravity, data["gravity"]):
        yield "gravity"
    for section, own in (("sensors", robot.sensors), ("control", robot.control), ("uncertainty", robot.ratios)):
        for key, x in own.items():
            if not same(x, data[section].get(key, math.inf) if key in data[section] else 1e300):
                yield f"{section}.{key}"
    for key, x in (("gravity_direction_deg", plan.tilt), ("breakaway_ratio", plan.breakaway)):
        if key in data["uncertainty"] and not same(x, data["uncertainty"][key]):
            yield f"uncertainty.{key}"
    if any(x != 0 for x in data.get("timing", {}).values()):
        yield "timing"
    if any(drive.get("spring") for drive in data.get("drives") or []):
        yield "drives.spring"
    drives = data.get("drives") or [dict.fromkeys(DRIVE, 0.0)] * len(robot.joints)
    if len(drives) != len(robot.drives) or not all(same(a[k], b[k]) for a, b in zip(robot.drives, drives) for k in DRIVE):
        yield "drives"
    if [j.name for j in robot.joints] != [j["name"] for j in data["joints"]]:
        yield "the joints' names or order"
        return
    if data["end_effector"] != robot.joints.index(robot.hand):
        yield "end_effector"
    for joint, other in zip(robot.joints, data["joints"]):
        parent = robot.joints.index(joint.parent) if joint.parent else None
        position, limits = joint.position, other["limits"]
        turn = [joint.turn[r][c] for c in range(3) for r in range(3)]
        friction = [other["friction"][k] for k in ("coulomb", "viscous", "armature", "offset")]
        checks = {
            "kind": joint.kind == other["kind"],
            "parent": parent == other["parent"],
            "placement": all_same(turn + joint.origin, other["placement"]["rotation"] + other["placement"]["translation"]),
            "position limits": all_same(position, limits["position"]) if position and limits["position"] else position == limits["position"],
            "velocity limit": same(joint.velocity, limits["velocity"]),
            "torque limit": same(joint.torque, limits["torque"]),
            "friction": all_same(joint.friction, friction),
            "inertia": all_same(joint.inertia, other["inertia"]),
        }
        yield from (f"{what} of joint '{joint.name}'" for what, good in checks.items() if not good)
    shapes = {s["name"]: s for s in data["shapes"]}
    for c in robot.capsules:
        other = shapes.get(c.name)
        carrier = robot.joints.index(c.joint) if c.joint else None
        ends = [x for end in c.ends for x in end]
        if not other or other["joint"] != carrier or not all_same(ends, other["capsule"]["a"] + other["capsule"]["b"]):
            yield f"capsule '{c.name}'"
        # One around a primitive may be a little larger than ours.
        elif not same(c.radius, other["capsule"]["radius"], 1e-12 if robot.keys.get("capsules") else 0.01):
            yield f"radius of capsule '{c.name}'"


def narrower(plan):
    """Parameters of which the set knows more than the robot's files say; the hand's body is identified, hence left out."""
    robot = plan.robot
    # Beside the ratios there may be absolute figures.
    beside = lambda key: robot.ratios.get(key, arb(0))
    links = [("link_ratio", arb(0) if p == 0 else beside("first_moment_kg_m" if p < 4 else "inertia_kg_m2")) for p in range(10)]
    joints = [("friction_ratio", arb(0))] * 2 + [("armature_ratio", arb(0)), ("friction_ratio", beside("offset_nm"))]
    for i, joint in enumerate(robot.joints):
        own = [] if joint is robot.hand else [(10 * i + p, x, *links[p], f"inertial parameter {p}") for p, x in enumerate(joint.inertia)]
        own += [(plan.at(i) + k, x, *joints[k], ("coulomb", "viscous", "armature", "offset")[k]) for k, x in enumerate(joint.friction)]
        for p, x, ratio, more, name in own:
            half = abs(x) * robot.ratios[ratio] + more
            slack = arb(1e-12) * (abs(x) + arb(1e-3))
            if not (plan.center[p] - plan.radius[p] <= x - half + slack and x + half - slack <= plan.center[p] + plan.radius[p]):
                yield f"{name} of joint '{joint.name}'"


def from_rest(plan):
    """Refuses a first plan that does not start at rest."""
    for joint, p in zip(plan.robot.joints, plan.curve.points):
        if not (p[0] == p[1] == p[2]):
            raise Refused(f"no plan before it is known, and it does not start at rest: joint '{joint.name}'")


def crude_mass(plan):
    """Upper bound of M relative to diag(A): with L the reach of the chain and x = sum |r_j|, a body turns at most at x and moves at
    most at (1 + L) x; and x^2 <= n sum r_j^2."""
    reach, total = arb(1), arb(0)
    for joint in plan.robot.joints:
        reach += sum((abs(arb(x)) for x in joint.origin), arb(0))
        reach += arb(0) if joint.rotates else largest(*(abs(x) for x in joint.position))
    for i in range(plan.n):
        m, h, inertia = plan.range[10 * i], plan.range[10 * i + 1 : 10 * i + 4], plan.range[10 * i + 4 : 10 * i + 10]
        total += abs(m) * reach**2 + 2 * sum(map(abs, h), arb(0)) * reach + 2 * sum(map(abs, inertia), arb(0))
    total = plan.n * total + sum((abs(plan.range[plan.at(j) + ARMATURE]) for j in range(plan.n)), arb(0))
    return largest(*(total / a for a in plan.floor))


def too_fast(plan, before):
    """Obstacles that have moved from plan to plan, in one run's time, by more than their speeds allow, or that have become others."""
    names = [[(o.name, o.speed) for o in p.obstacles] for p in (plan, before)]
    if names[0] != names[1]:
        yield "the scene's obstacles are not those of the plan before"
        return
    for now, then in zip(plan.obstacles, before.obstacles):
        elapsed = (plan.start - now.age) - (before.start - then.age)
        norm = lambda x: sum((v * v for v in x), arb(0)).sqrt()
        apart = lambda a, b: norm([x - y for x, y in zip(a, b)])
        both = zip_longest(now.generators, then.generators, fillvalue=vector("0 0 0"))
        moved = apart(now.center, then.center) + sum((apart(a, b) for a, b in both), arb(0))
        if not moved <= now.speed * largest(elapsed) + arb(1e-6):
            yield f"obstacle '{now.name}' moved by {float(moved.mid()):.6f} m in {float(elapsed.mid()):.6f} s"


def follows(plan, before, excess):
    """How far V may be above V_max, relative to it, after the switch, given the same before it; refuses what does not follow.

    Section 11."""
    old, new, start = before.tube, plan.tube, plan.data.get("start")
    if start == "rest":
        # The arm is released anew: what was before it does not matter.
        from_rest(plan)
        return arb(0)
    after = number(start["after_ticks"]) * old["h"] if start else plan.start - before.start
    ticks = after / new["h"]
    if not (after >= 0 and abs(ticks - arb(round(float(ticks.mid())))) < arb(2) ** -20):
        raise Refused(f"it starts {float(after.mid()):.6f} s after the one before, expected a whole number of ticks")
    for key in ("k_r", "h"):
        if not old[key] == new[key]:
            raise Refused(f"{key} is {new[key].str(6, radius=False)}, that of the plan before {old[key].str(6, radius=False)}")
    if not new["v_max"] >= old["v_max"]:
        raise Refused("V_max is below that of the plan before")
    by_speed, by_position, mass, exact = arb(0), arb(0), crude_mass(plan), lambda x: Fraction(float(x))
    for j, joint in enumerate(plan.robot.joints):
        if exact(plan.lag[j]) * exact(old["v_max"]) > exact(before.lag[j]) * exact(new["v_max"]):
            raise Refused(f"the bound on position errors of joint '{joint.name}' is below that of the plan before")
        gone = not after < before.curve.duration
        was = [before.curve.last[j][5], arb(0), arb(0)] if gone else [before.curve.at(j, k, after) for k in range(3)]
        jump = [abs(plan.curve.at(j, k, arb(0)) - x).upper() for k, x in enumerate(was)]
        for name, x in zip(("position", "velocity", "acceleration"), jump):
            if not x <= arb(2) ** -30 * (1 + largest(*plan.curve.coefficients(j))):
                raise Refused(f"{name} of joint '{joint.name}' jumps by {float(x):.3e} at the switch from the plan before")
        by_speed += mass * plan.floor[j] * (jump[1] + new["k_r"] * jump[0]) ** 2 / 2
        by_position += plan.lag[j] * (new["k_r"] * jump[0]) ** 2 / 2
    step = root(largest(by_speed, by_position)) / new["v_max"].sqrt()
    excess = (((1 + excess).sqrt() + step) ** 2 - 1).upper()
    if not excess <= (LEVEL - 1) / 2:
        raise Refused(f"switches have let V rise to {float(excess):.3e} of V_max above it, expected at most 2^-21")
    return excess


def prove_cell(task):
    """(least margins of each family, number of cells) or the first constraint that is not proven, halving cells."""
    t0, t1, depth = task
    margins = evaluate(PLAN, t0, t1)
    short = [m for m in margins if not m[2] >= 0]
    if not short:
        least = {}
        for family, where, margin in margins:
            if family not in least or margin < least[family][0]:
                least[family] = (margin, where, t0)
        return {k: (float(m), where, t) for k, (m, where, t) in least.items()}, 1, None
    if depth == 0 or t0 is None:
        family, where, margin = short[0]
        return {}, 1, f"{family} of {where} between {t0} s and {t1} s: margin {margin.str(6, radius=False)}"
    middle = 0.5 * (t0 + t1)
    least, cells, failure = prove_cell((t0, middle, depth - 1))
    if failure:
        return least, cells, failure
    more, added, failure = prove_cell((middle, t1, depth - 1))
    return merged(least, more), cells + added, failure


def merged(a, b):
    """The smaller margin of each family."""
    return {k: min((x[k] for x in (a, b) if k in x), key=lambda m: m[0]) for k in {*a, *b}}


PLAN = None


def prove(plan, cells, depth, jobs):
    """Least margins and number of cells; raises `Refused` at the first constraint that is not proven."""
    global PLAN
    PLAN, end = plan, float(plan.curve.duration)
    times = [end * k / cells for k in range(cells)] + [end]
    tasks = [(a, b, depth) for a, b in zip(times, times[1:])] + [(None, None, 0)]
    least, count = {}, 0
    with Pool(jobs) as pool:
        for part, number_of, failure in pool.imap(prove_cell, tasks):
            if failure:
                pool.terminate()
                raise Refused(failure)
            least, count = merged(least, part), count + number_of
    return least, count


def admit(plan, before=None, excess=arb(0), anywhere=False):
    """All that is not a matter of cells: the robot's own files, the set, the chain. Gives the chain's excess."""
    for what in differences(plan):
        raise Refused(f"the robot in the plan is not that of {plan.robot.path}: {what}")
    for what in narrower(plan):
        raise Refused(f"the set knows more than {plan.robot.path} says: {what}")
    if before is not None:
        for what in too_fast(plan, before):
            raise Refused(what)
        return follows(plan, before, excess)
    if not anywhere:
        from_rest(plan)
    return arb(0)


def main(arguments=None):
    """The command line; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="check.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=(
            "Proves plans again: position, speed, torque and collision limits, and every condition of the tracking tube, for all\n"
            "times, all parameters in the plan's set and all tracking errors in the tube. Limits, sensors, friction, gravity,\n"
            "kinematics and capsules come from the robot's URDF and TOML; the plan's copy of them must agree. The formulas are in\n"
            "docs/proof.md. Arithmetic: balls of python-flint (Arb). Nothing of surelift is used.\n\n"
            "Plans given in order form a chain: the first starts at rest, each starts where the desired motion of the one before\n"
            "is at that time, and no tube is narrower than the one before. One plan of the middle of a run: --anywhere."
        ),
        epilog=(
            "examples:\n"
            "  python3 check/check.py --robot robots/kinova_gen3_2f85.toml runs/dumbbell_c_8lb-ours-0/plans/*.json\n"
            "  python3 check/check.py --robot robots/z1.toml --anywhere --cells 128 runs/z1_post-ours-0/plans/plan_003.json\n\n"
            "exit codes: 0 all proven, 1 a plan is not proven, 2 a file cannot be read. See check/README.md."
        ),
    )
    parser.add_argument("plans", nargs="+", metavar="PLAN.json", help="plans of one run, in order")
    parser.add_argument("--robot", required=True, metavar="ROBOT.toml", help="the robot's TOML, which names its URDF")
    parser.add_argument("--cells", type=int, default=32, help="cells of time that each plan starts with (default 32)")
    parser.add_argument("--depth", type=int, default=4, help="how often a cell is halved where something is not proven (default 4)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: all processors)")
    parser.add_argument("--anywhere", action="store_true", help="the first plan need not start at rest: what came before it is trusted")
    options = parser.parse_args(arguments)
    try:
        robot, before, excess = Robot(options.robot), None, arb(0)
        for path in options.plans:
            began = time.time()
            try:
                plan = Plan(path, robot)
                excess = admit(plan, before, excess, options.anywhere)
                least, cells = prove(plan, options.cells, options.depth, options.jobs)
            except Refused as refused:
                print(f"{path}: NOT PROVEN: {refused} ({time.time() - began:.0f} s)", flush=True)
                return 1
            print(f"{path}: PROVEN in {cells} cells, {time.time() - began:.0f} s", flush=True)
            for family, unit in FAMILIES.items():
                if family in least:
                    margin, where, t = least[family]
                    when = "at rest after the end" if t is None else f"from {t:.4f} s"
                    print(f"  {family:9} {margin:10.4g} {unit}: {where}, {when}")
            before = plan
        for what in trusted(before):
            print(f"trusted: {what}")
        return 0
    except Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def trusted(plan):
    """What was believed and not proven, for people."""
    robot = plan.robot
    yield from robot.trusted
    for pair, reason in robot.ignored.items():
        yield f"{' and '.join(sorted(pair))} are not kept apart, as {robot.path} says: {reason}"
    yield f"the scene: {', '.join(o.name for o in plan.obstacles) or 'no obstacle'}"
    for o in plan.obstacles:
        if o.moves:
            where = f"where each plan says when it was seen, and moves at most {float(o.speed)} m/s"
            yield f"'{o.name}' was {where}; it is kept clear of until a plan has ended, not while the arm rests"
    held = [c.name for c in plan.capsules if c not in robot.capsules]
    if held:
        yield f"what the hand holds stays within {', '.join(held)}"
    else:
        yield "the shape of what is held is not declared: nothing is proven of it" if plan.undeclared else "the hand is empty"
    yield f"the set's bounds on the body of '{robot.hand.name}'" + (", and its strips" if plan.strips else "")


if __name__ == "__main__":
    sys.exit(main())
