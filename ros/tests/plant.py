"""The arm of the tutorial with a load in its hand, played in plain Python: what is true, and how it moves. Shares no code with surelift."""

import math
import random
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "examples" / "my_arm"
GRAVITY = 9.81
PERIOD_S = 1e-3


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(*vectors):
    return tuple(map(sum, zip(*vectors)))


def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


def times(m, a):
    return tuple(row[0] * a[0] + row[1] * a[1] + row[2] * a[2] for row in m)


def transposed(m):
    return tuple(zip(*m))


def product(a, b):
    columns = transposed(b)
    return tuple(tuple(sum(x * y for x, y in zip(row, column)) for column in columns) for row in a)


def shifted(mass, center, inertia, by):
    """Mass, first moment and inertia about a point from which the frame's origin is at `by`."""
    c = add(center, by)
    squared = sum(x * x for x in c)
    about = tuple(
        tuple(inertia[i][j] + mass * ((squared if i == j else 0.0) - c[i] * c[j]) for j in range(3)) for i in range(3)
    )
    return mass, scale(mass, c), about


def plus(a, b):
    """Two bodies in one frame as one."""
    return a[0] + b[0], add(a[1], b[1]), tuple(add(p, q) for p, q in zip(a[2], b[2]))


def about_center(body):
    """Mass, centre, inertia about the centre."""
    mass, h, about = body
    c = scale(1.0 / mass, h)
    squared = sum(x * x for x in c)
    own = tuple(
        tuple(about[i][j] - mass * ((squared if i == j else 0.0) - c[i] * c[j]) for j in range(3)) for i in range(3)
    )
    return mass, c, own


def numbers(text):
    return tuple(float(x) for x in text.split())


def inertial(link):
    tag = link.find("inertial")
    i = {key: float(value) for key, value in tag.find("inertia").attrib.items()}
    own = ((i["ixx"], i["ixy"], i["ixz"]), (i["ixy"], i["iyy"], i["iyz"]), (i["ixz"], i["iyz"], i["izz"]))
    return float(tag.find("mass").get("value")), numbers(tag.find("origin").get("xyz")), own


class Plant:
    """Three joints, a load, friction and noise, all of it within what my_arm.toml states."""

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        urdf = ET.parse(FILES / "my_arm.urdf").getroot()
        self.settings = tomllib.loads((FILES / "my_arm.toml").read_text())
        scenario = tomllib.loads((FILES / "unknown_load.toml").read_text())
        links = {link.get("name"): link for link in urdf.iter("link")}
        joints = [j for j in urdf.iter("joint") if j.get("type") == "revolute"]
        self.names = [j.get("name") for j in joints]
        self.limits = [{k: float(v) for k, v in j.find("limit").attrib.items()} for j in joints]
        self.origins = [numbers(j.find("origin").get("xyz")) for j in joints]
        self.axes = [numbers(j.find("axis").get("xyz")) for j in joints]
        bodies = [shifted(*inertial(links[j.find("child").get("link")]), (0.0, 0.0, 0.0)) for j in joints]
        fixed = next(j for j in urdf.iter("joint") if j.get("type") == "fixed")
        self.flange = numbers(fixed.find("origin").get("xyz"))
        self.hand = plus(bodies[2], shifted(*inertial(links["gripper"]), self.flange))
        # Links are heavier than the model says, joints rub less.
        self.bodies = [(1.03 * m, scale(1.03, h), tuple(scale(1.03, row) for row in i)) for m, h, i in bodies[:2]]
        self.bodies.append(self.whole(scenario["payload"]))
        own = [self.settings["joints"][name] for name in self.names]
        self.coulomb = [0.97 * joint["coulomb"] for joint in own]
        self.viscous = [1.02 * joint["viscous"] for joint in own]
        self.armature = [1.03 * joint["armature"] for joint in own]
        first = tomllib.loads((FILES / "first_move.toml").read_text())
        self.q = list(first["start_rad"])
        self.dq = [0.0] * 3
        self.ticks = 0
        self.effort = self.holding()

    @staticmethod
    def whole(payload):
        """The last body with its load: the file has it in a frame whose axes are x, -z, y of the URDF's."""
        h, i = payload["first_moment_kg_m"], payload["inertia_kg_m2"]
        turn = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0))
        own = ((i["xx"], i["xy"], i["xz"]), (i["xy"], i["yy"], i["yz"]), (i["xz"], i["yz"], i["zz"]))
        return payload["mass_kg"], times(turn, h), product(product(turn, own), transposed(turn))

    def load(self):
        """What is truly held, without the hand: mass, centre and inertia about it, in the frame of the gripper."""
        (m, h, i), (mh, hh, ih) = self.bodies[2], self.hand
        rest = (m - mh, add(h, scale(-1.0, hh)), tuple(add(a, scale(-1.0, b)) for a, b in zip(i, ih)))
        mass, center, own = about_center(rest)
        return mass, add(center, scale(-1.0, self.flange)), own

    def inverse(self, q, dq, ddq):
        """Torques without friction and armature, by Newton and Euler."""
        w, dw, a = (0.0,) * 3, (0.0,) * 3, (0.0, 0.0, GRAVITY)
        turns, wrenches = [], []
        for j in range(3):
            axis, origin = self.axes[j], self.origins[j]
            s, c = math.sin(q[j]), math.cos(q[j])
            # From the joint's frame to the one before; axes are z or y.
            turn = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)) if axis[2] else ((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c))
            back = transposed(turn)
            a = times(back, add(a, cross(dw, origin), cross(w, cross(w, origin))))
            w, dw = times(back, w), times(back, dw)
            rate = scale(dq[j], axis)
            dw = add(dw, scale(ddq[j], axis), cross(w, rate))
            w = add(w, rate)
            m, h, i = self.bodies[j]
            force = add(scale(m, a), cross(dw, h), cross(w, cross(w, h)))
            moment = add(times(i, dw), cross(w, times(i, w)), cross(h, a))
            turns.append(turn)
            wrenches.append([force, moment])
        tau = [0.0] * 3
        for j in (2, 1, 0):
            force, moment = wrenches[j]
            tau[j] = sum(x * y for x, y in zip(moment, self.axes[j]))
            if j:
                force, moment = times(turns[j], force), times(turns[j], moment)
                before = wrenches[j - 1]
                before[0] = add(before[0], force)
                before[1] = add(before[1], moment, cross(self.origins[j], force))
        return tau

    def acceleration(self, q, dq, tau):
        zero = [0.0] * 3
        bias = self.inverse(q, dq, zero)
        speed = self.settings["control"]["stiction_speed_rad_s"]
        free = [
            tau[j] - bias[j] - self.coulomb[j] * max(-1.0, min(1.0, dq[j] / speed)) - self.viscous[j] * dq[j]
            for j in range(3)
        ]
        gravity = self.inverse(q, zero, zero)
        rows = []
        for k in range(3):
            column = self.inverse(q, zero, [float(j == k) for j in range(3)])
            rows.append([column[j] - gravity[j] + (self.armature[j] if j == k else 0.0) for j in range(3)])
        # Cramer's rule; the mass matrix is symmetric.
        whole = sum(x * y for x, y in zip(rows[0], cross(rows[1], rows[2])))
        return [
            sum(x * y for x, y in zip(free, cross(rows[(k + 1) % 3], rows[(k + 2) % 3]))) / whole for k in range(3)
        ]

    def step(self, tau):
        """One control period under torques that are held, by the classical rule of Runge and Kutta."""
        h, q, dq = PERIOD_S, self.q, self.dq

        def after(slope, s):
            return [x + s * y for x, y in zip(q, slope[0])], [x + s * y for x, y in zip(dq, slope[1])]

        def slope(state):
            return state[1], self.acceleration(*state, tau)

        k1 = slope((q, dq))
        k2 = slope(after(k1, h / 2))
        k3 = slope(after(k2, h / 2))
        k4 = slope(after(k3, h))
        mean = [[(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(*part)] for part in zip(k1, k2, k3, k4)]
        self.q, self.dq = after(mean, h)
        self.effort = list(tau)
        self.ticks += 1

    def holding(self):
        return self.inverse(self.q, [0.0] * 3, [0.0] * 3)

    def hold(self):
        """One control period in which the arm's own drives hold it."""
        self.dq = [0.0] * 3
        self.effort = self.holding()
        self.ticks += 1

    def measured(self):
        """Positions, velocities and mean efforts since the tick before, with errors within the stated bounds."""
        sensors = self.settings["sensors"]
        off = lambda most: self.random.uniform(-0.9, 0.9) * most
        q = [x + off(sensors["position_rad"]) for x in self.q]
        dq = [x + off(sensors["velocity_rad_s"]) for x in self.dq]
        effort = [x + off(sensors["torque_ratio"] * abs(x)) for x in self.effort]
        return q, dq, effort
