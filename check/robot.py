"""The robot, from its URDF and TOML alone: bodies without fixed joints, limits, friction, sensors, capsules (docs/proof.md, 1).

Numbers of the files are the 64-bit floats nearest to what is written there; all that follows from them is in balls.
"""

import tomllib
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path

import numpy as np
from flint import arb

from forms import add, dot, hull, lower, minus, rotate, scaled, upper

ONE = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
COULOMB, VISCOUS, ARMATURE, OFFSET = range(4)


class Unreadable(Exception):
    """A file that is no robot or no plan; names the file, the field and what was expected."""


def number(x):
    """A finite number of a file as an exact ball."""
    x = float(x)
    if not abs(x) < float("inf"):
        raise Unreadable(f"{x}: expected a finite number")
    return arb(x)


def vector(text):
    """Numbers of an attribute."""
    return [number(x) for x in (text.split() if isinstance(text, str) else text)]


def exact_int(x):
    """Exact zeros and ones as the `int`s that cost nothing."""
    return int(float(x)) if x.is_exact() and x in (-1, 0, 1) else x


def product(a, b):
    """Matrix product, by rows."""
    return [[dot(row, [b[0][k], b[1][k], b[2][k]]) for k in range(3)] for row in a]


def compose(f, g):
    """Frame g, given in frame f, in what f is given in. A frame is (rotation by rows, origin)."""
    return product(f[0], g[0]), add(rotate(f[0], g[1]), f[1])


def roll_pitch_yaw(angles):
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (s1, c1), (s2, c2), (s3, c3) = [angle.sin_cos() for angle in angles]
    x = [[1, 0, 0], [0, c1, -s1], [0, s1, c1]]
    y = [[c2, 0, s2], [0, 1, 0], [-s2, 0, c2]]
    z = [[c3, -s3, 0], [s3, c3, 0], [0, 0, 1]]
    return product(z, product(y, x))


def turn_z_to(axis):
    """The smallest rotation that takes +z to the unit vector `axis`; half a turn about x for -z."""
    x, y, z = axis
    if x == 0 and y == 0:
        return ONE if z > 0 else [[1, 0, 0], [0, -1, 0], [0, 0, -1]]
    f = 1 / (1 + z)
    return [[1 - x * x * f, -x * y * f, x], [-x * y * f, 1 - y * y * f, y], [-x, -y, z]]


def origin_of(element):
    """The <origin> of an element, as a frame."""
    origin = element.find("origin")
    get = lambda key: vector(origin.get(key, "0 0 0") if origin is not None else "0 0 0")
    return roll_pitch_yaw(get("rpy")), get("xyz")


def inertial_of(link, frame):
    """Ten parameters (m, h, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz) of a link, about and in the body's frame."""
    inertial = link.find("inertial")
    if inertial is None:
        return [arb(0)] * 10
    m = number(inertial.find("mass").get("value"))
    turn, c = compose(frame, origin_of(inertial))
    get = lambda key: number(inertial.find("inertia").get(key, "0"))
    xx, xy, xz, yy, yz, zz = (get(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    at_center = product(product(turn, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), list(zip(*turn)))
    cc = dot(c, c)
    entry = lambda i, j: at_center[i][j] + m * ((cc if i == j else 0) - c[i] * c[j])
    pairs = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
    return [m] + scaled(c, m) + [entry(i, j) for i, j in pairs]


class Joint:
    """A moving joint and its body. The joint's axis is +z of the body's frame."""

    def __init__(self, name, kind, parent, turn, origin):
        self.name, self.kind, self.parent, self.turn, self.origin = name, kind, parent, turn, origin
        self.inertia = [arb(0)] * 10
        self.path = (parent.path if parent else []) + [self]

    @property
    def rotates(self):
        return self.kind != "prismatic"


class Capsule:
    """All points within `radius` of the segment from a to b, in the frame of `joint`'s body (None: the base)."""

    def __init__(self, name, joint, a, b, radius):
        self.name, self.joint, self.ends, self.radius = name, joint, (a, b), radius


# Bounds of what a drive does beside its command.
DRIVE = ("error_nm", "error_ratio", "unmodelled_nm")


def merged_toml(path, depth=8):
    """The keys of a robot TOML and of those that it extends; and the folder of the file that names the URDF."""
    try:
        keys = tomllib.loads(Path(path).read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from error
    folder, base = Path(path).parent, keys.pop("extends", None)
    if base is None:
        return keys, folder
    named = folder / base if any(sign in base for sign in "./\\") else folder / f"{base}.toml"
    if depth == 0:
        raise Unreadable(f"{path}: `extends` goes on for more than 8 files")
    under, where = merged_toml(named, depth - 1)
    over = lambda low, high: low | {
        k: over(low[k], v) if isinstance(v, dict) and isinstance(low.get(k), dict) else v for k, v in high.items()
    }
    return over(under, keys), folder if "urdf" in keys else where


class Robot:
    """Everything that the proof takes from the robot's files."""

    def __init__(self, path):
        self.path, self.trusted = path, []
        keys, folder = merged_toml(path)
        self.keys = keys
        try:
            self._tree(folder / keys["urdf"])
            self._settings()
            self._shapes()
        except KeyError as missing:
            raise Unreadable(f"{path}: expected the key or link {missing}") from missing

    def _tree(self, path):
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            raise Unreadable(f"{path}: {error}") from error
        self.links = {link.get("name"): link for link in root.findall("link")}
        joints = root.findall("joint")
        children = {joint.find("child").get("link") for joint in joints}
        self.joints, self.carriers = [], {name: (None, (ONE, [0, 0, 0])) for name in self.links if name not in children}
        if len(self.carriers) != 1:
            raise Unreadable(f"{path}: expected one root link, found {sorted(self.carriers)}")
        open_joints = list(joints)
        while open_joints:
            # The first in the file whose parent is known: parents come before children.
            joint = next((j for j in open_joints if j.find("parent").get("link") in self.carriers), None)
            if joint is None:
                raise Unreadable(f"{path}: joint '{open_joints[0].get('name')}' hangs on nothing")
            open_joints.remove(joint)
            self._hang(path, joint)
        for name, (body, frame) in self.carriers.items():
            if body:
                body.inertia = [x + y for x, y in zip(body.inertia, inertial_of(self.links[name], frame))]

    def _hang(self, path, joint):
        name, kind = joint.get("name"), joint.get("type")
        body, frame = self.carriers[joint.find("parent").get("link")]
        placed, child = compose(frame, origin_of(joint)), joint.find("child").get("link")
        if kind == "fixed":
            self.carriers[child] = (body, placed)
            return
        if kind not in ("revolute", "continuous", "prismatic") or joint.find("mimic") is not None:
            raise Unreadable(f"{path}: joint '{name}' is {kind}, expected revolute, continuous, prismatic or fixed, no mimic")
        axis = vector(joint.find("axis").get("xyz")) if joint.find("axis") is not None else [arb(1), arb(0), arb(0)]
        length = dot(axis, axis).sqrt()
        turn = turn_z_to([x / length if x != 0 else arb(0) for x in axis])
        whole = [[exact_int(arb(x)) for x in row] for row in product(placed[0], turn)]
        made = Joint(name, kind, body, whole, [exact_int(arb(x)) for x in placed[1]])
        limit, dynamics = joint.find("limit"), joint.find("dynamics")
        get = lambda element, key: number(element.get(key, "0") if element is not None else "0")
        made.position = None if kind == "continuous" else (get(limit, "lower"), get(limit, "upper"))
        made.velocity, made.torque = get(limit, "velocity"), get(limit, "effort")
        made.friction = [get(dynamics, "friction"), get(dynamics, "damping"), arb(0), arb(0)]
        self.joints.append(made)
        self.carriers[child] = (made, (list(map(list, zip(*turn))), [0, 0, 0]))

    def _settings(self):
        keys = self.keys
        if keys.get("base", "fixed") != "fixed":
            raise Unreadable(f"{self.path}: base = '{keys['base']}', expected an arm on a fixed base")
        late = sorted(k for k, x in keys.get("timing", {}).items() if number(x) != 0)
        if late:
            raise Unreadable(f"{self.path}: timing.{late[0]} is not 0, and this proof is of readings and commands of their tick alone")
        if any("spring" in given for given in [keys.get("drives", {})] + [j.get("drive", {}) for j in keys.get("joints", {}).values()]):
            raise Unreadable(f"{self.path}: drives.spring is stated, and this proof is of rigid joints alone")
        self.gravity = vector(keys.get("gravity_m_s2", [0.0, 0.0, -9.81]))
        self.sensors = {k: number(keys["sensors"][k]) for k in ("position_rad", "velocity_rad_s")}
        self.control = {k: number(x) for k, x in keys["control"].items()}
        self.ratios = {k: number(x) for k, x in keys["uncertainty"].items()}
        named, degree = {j.name: j for j in self.joints}, arb.pi() / 180
        # What a drive does beside its command: what is said of all, then of its joint.
        beside = lambda joint: keys.get("drives", {}) | keys.get("joints", {}).get(joint.name, {}).get("drive", {})
        self.drives = [{k: number(beside(j).get(k, 0.0)) for k in DRIVE} for j in self.joints]
        held = keys["end_effector"]
        self.hand = named[held] if held in named else self.carriers[held][0]
        for name, given in keys.get("joints", {}).items():
            joint = named[name]
            for unit, factor in (("deg", degree), ("rad", 1), ("m", 1)):
                if f"position_{unit}" in given:
                    joint.position = tuple(x * factor for x in vector(given[f"position_{unit}"]))
                    joint.kind = "revolute" if joint.kind == "continuous" else joint.kind
                if f"velocity_{unit}_s" in given:
                    joint.velocity = number(given[f"velocity_{unit}_s"]) * factor
            joint.torque = number(given.get("torque_nm", given.get("force_n", joint.torque.mid())))
            for k, key in enumerate(("coulomb", "viscous", "armature", "offset")):
                joint.friction[k] = number(given.get(key, joint.friction[k]))
        along = number(keys.get("grip_along_axis_m", 0.0))
        if along != 0:
            self._slide(along)

    def _slide(self, along):
        """Moves the frame of the hand's body along its axis; nothing else moves."""
        hand, shift = self.hand, [0, 0, along]
        hand.origin = add(hand.origin, rotate(hand.turn, shift))
        for joint in self.joints:
            if joint.parent is hand:
                joint.origin = minus(joint.origin, shift)
        hand.inertia = [arb(0)] * 10
        for name, (body, frame) in self.carriers.items():
            if body is hand:
                self.carriers[name] = (body, (frame[0], minus(frame[1], shift)))
                hand.inertia = [x + y for x, y in zip(hand.inertia, inertial_of(self.links[name], self.carriers[name][1]))]

    def _shapes(self):
        """Capsules of the TOML, or one around each primitive; every primitive must be inside those of its body."""
        place = lambda frame, p: [arb(x) for x in add(rotate(frame[0], p), frame[1])]
        self.capsules = []
        for given in self.keys.get("capsules", []):
            body, frame = self.carriers[given["link"]]
            ends = [place(frame, vector(given[k])) for k in ("a_m", "b_m")]
            self.capsules.append(Capsule(given["name"], body, *ends, number(given["radius_m"])))
        stated, parts = bool(self.capsules), []
        for name, (body, frame) in self.carriers.items():
            for k, collision in enumerate(self.links[name].findall("collision")):
                shape, dims = primitive(collision, f"{self.path}: link '{name}'")
                title = f"{name}: {collision.get('name') or f'{shape} {k}'}"
                parts.append((shape, dims, body, compose(frame, origin_of(collision)), title))
        # Spheres last: where nothing is stated, those that round off another shape are inside its capsule.
        for shape, dims, body, placed, title in sorted(parts, key=lambda part: part[0] == "sphere"):
            if covered(shape, dims, placed, [c for c in self.capsules if c.joint is body], 6 if stated else 0):
                continue
            if stated:
                raise Unreadable(f"{self.path}: collision '{title}' is not proven inside the capsules of its body")
            half, radius = around(shape, dims)
            self.capsules.append(Capsule(title, body, *(place(placed, scaled(half, sign)) for sign in (-1, 1)), radius))
        names = {c.name for c in self.capsules}
        ignored = self.keys.get("self_collision", {}).get("ignore", [])
        if any(pair[k] not in names for pair in ignored for k in "ab"):
            raise Unreadable(f"{self.path}: self_collision.ignore names a capsule that there is not")
        self.ignored = {frozenset((pair["a"], pair["b"])): pair["reason"] for pair in ignored}

    def pairs(self, capsules):
        """Pairs that must stay apart: all of bodies that are not the same nor joined by a joint, but ignored ones."""
        joined = lambda a, b: a is b or (a is not None and a.parent is b) or (b is not None and b.parent is a)
        free = [(a, b) for a, b in combinations(capsules, 2) if not joined(a.joint, b.joint)]
        return [(a, b) for a, b in free if frozenset((a.name, b.name)) not in self.ignored]


def primitive(collision, where):
    """Kind of a collision primitive, and its lengths."""
    shape = next(iter(collision.find("geometry")))
    if shape.tag == "box":
        return "box", vector(shape.get("size"))
    if shape.tag in ("cylinder", "capsule"):
        return shape.tag, [number(shape.get("radius")), number(shape.get("length"))]
    if shape.tag == "sphere":
        return "sphere", [number(shape.get("radius"))]
    raise Unreadable(f"{where}: collision geometry <{shape.tag}>, expected box, cylinder, capsule or sphere")


def around(shape, dims):
    """Half of the segment and the radius of a capsule around a primitive."""
    if shape == "box":
        longest = max(range(3), key=lambda k: float(dims[k]))
        half = [x / 2 if k == longest else arb(0) for k, x in enumerate(dims)]
        radius = sum(x * x / 4 for k, x in enumerate(dims) if k != longest).sqrt()
        return half, radius
    return [arb(0), arb(0), dims[1] / 2 if len(dims) > 1 else arb(0)], dims[0]


CORNERS = 256


def points_of(shape, dims):
    """(point, radius) of balls whose convex hull holds the primitive, in its own frame."""
    if shape == "box":
        return [([i * dims[0] / 2, j * dims[1] / 2, k * dims[2] / 2], arb(0)) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    if shape == "cylinder":
        outer = dims[0] / (arb.pi() / CORNERS).cos()
        turns = [(arb.pi() * (2 * k) / CORNERS).sin_cos() for k in range(CORNERS)]
        return [([outer * c, outer * s, end * dims[1] / 2], arb(0)) for s, c in turns for end in (-1, 1)]
    half = dims[1] / 2 if len(dims) > 1 else arb(0)
    return [([arb(0), arb(0), end * half], dims[0]) for end in (-1, 1)]


def beyond(point, radius, ends, own_radius):
    """How far a ball is proven to reach out of a capsule at most; the nearest point of the axis may be any guess."""
    axis, off = minus(ends[1], ends[0]), minus(point, ends[0])
    length = float(dot(axis, axis).mid())
    share = min(1.0, max(0.0, float(dot(axis, off).mid()) / length)) if length > 0 else 0.0
    gap = minus(off, scaled(axis, arb(share)))
    return dot(gap, gap).abs_upper().sqrt() + radius - own_radius


def covered(shape, dims, frame, capsules, depth=6):
    """Whether the primitive is inside the union of the capsules: inside one, or both halves of it are inside some."""
    hulls = [(add(rotate(frame[0], p), frame[1]), radius) for p, radius in points_of(shape, dims)]
    if any(all(beyond(p, radius, c.ends, c.radius) <= 0 for p, radius in hulls) for c in capsules):
        return True
    if depth == 0 or shape in ("sphere", "capsule"):
        return False
    k = 1 if shape == "cylinder" else max(range(3), key=lambda i: float(dims[i]))
    axis, part = (2 if shape == "cylinder" else k), list(dims)
    part[k] = dims[k] / 2
    halves = ([part[k] / 2 * sign if i == axis else arb(0) for i in range(3)] for sign in (-1, 1))
    return all(covered(shape, part, compose(frame, (ONE, half)), capsules, depth - 1) for half in halves)


def place(robot, turns, slides):
    """Frames of all bodies in the base frame: {joint: (rotation, origin)}, for sines and cosines, and positions, of the joints."""
    frames = {None: (ONE, [0, 0, 0])}
    for joint, (sine, cosine), q in zip(robot.joints, turns, slides):
        if joint.rotates:
            own = (product(joint.turn, [[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]), joint.origin)
        else:
            own = (joint.turn, add(joint.origin, [row[2] * q for row in joint.turn]))
        frames[joint] = compose(frames[joint.parent], own)
    return frames


def ends_of(capsule, frames):
    """Ends of a capsule in the base frame."""
    turn, origin = frames[capsule.joint]
    return [add(rotate(turn, p), origin) for p in capsule.ends]


def toward(difference, generators):
    """A guess of the shortest of difference + sum l_k g_k, |l_k| <= 1: the direction that separates best. Not trusted."""
    x, shares = np.array(difference, float), [0.0] * len(generators)
    for _ in range(40):
        for k, g in enumerate(generators):
            if (length := g @ g) > 0:
                share = min(1.0, max(-1.0, shares[k] - (x @ g) / length))
                x, shares[k] = x + (share - shares[k]) * g, share
    length = np.linalg.norm(x)
    return [arb(float(v)) for v in (x / length if length > 1e-9 else [0.0, 0.0, 1.0])]


def middle(x):
    """The centre of a vector of numbers, as plain floats: for guesses."""
    return np.array([float(hull(v).mid()) for v in x])


def apart(first, second, radii, generators=()):
    """Lower bound of the distance of two hulls of points, the second with a zonotope's generators, less the radii (m)."""
    mid = lambda ends: (sum(middle(p) for p in ends) / len(ends), (middle(ends[-1]) - middle(ends[0])) / 2)
    (c1, g1), (c2, g2) = mid(first), mid(second)
    u = toward(c1 - c2, [g1, g2] + [middle(g) for g in generators])
    gaps = [lower(dot(u, minus(a, b))) for a in first for b in second]
    least = min(gaps) - sum((upper(abs(dot(u, g))) for g in generators), arb(0))
    return (least / dot(u, u).sqrt() - radii).lower()


def never_touch(robot, a, b, budget=20000):
    """Whether two capsules at most three joints of one path apart cannot touch within the position limits: boxes of joint
    positions are halved until on each the distance at its centre is more than any point of the second can move."""
    path = lambda c: c.joint.path if c.joint else []
    if len(path(a)) > len(path(b)):
        a, b = b, a
    between = path(b)[len(path(a)):]
    if path(b)[: len(path(a))] != path(a) or not 0 < len(between) <= 3:
        return False
    norm = lambda p: dot(p, p).abs_upper().sqrt().upper()
    boxes, levers, reach = [], [], max(norm(p) for p in b.ends)
    for joint in reversed(between):
        low, high = joint.position or (-arb.pi(), arb.pi())
        boxes.insert(0, (low.lower(), high.upper()))
        levers.insert(0, reach if joint.rotates else arb(1))
        reach = reach + norm(joint.origin) + (0 if joint.rotates else abs(low).upper() + abs(high).upper())
    whole = [boxes]
    for _ in range(budget):
        if not whole:
            return True
        box = whole.pop()
        mids = [((low + high) / 2).mid() for low, high in box]
        moves = [lever * ((high - low) / 2 + abs((high + low) / 2 - m)) for lever, m, (low, high) in zip(levers, mids, box)]
        frame = (ONE, [0, 0, 0])
        for joint, q in zip(between, mids):
            s, c = q.sin_cos() if joint.rotates else (0, 1)
            own = product(joint.turn, [[c, -s, 0], [s, c, 0], [0, 0, 1]])
            slide = [0, 0, 0] if joint.rotates else [row[2] * q for row in joint.turn]
            frame = compose(frame, (own, add(joint.origin, slide)))
        moved = [add(rotate(frame[0], p), frame[1]) for p in b.ends]
        gap = apart(moved, list(a.ends), a.radius + b.radius)
        if not gap > 0:
            return False
        if gap > sum(moves, arb(0)):
            continue
        k = max(range(len(moves)), key=lambda i: float(moves[i]))
        for part in ((box[k][0], mids[k]), (mids[k], box[k][1])):
            whole.append(box[:k] + [part] + box[k + 1 :])
    return False
