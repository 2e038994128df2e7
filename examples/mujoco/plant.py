"""An arm in MuJoCo, advanced one control period at a time by a program at the other end of two pipes.

Nothing of the library's dynamics is used here. MuJoCo reads the URDF itself, integrates (fourth-order Runge-Kutta, several steps a period), and finds the
contacts. Transmission inertia is MuJoCo's `armature`, viscous friction its `damping`. Coulomb friction is a passive force of this file (`Friction`): MuJoCo's
`frictionloss` is a soft constraint whose force is not the Coulomb torque while the drive decelerates a joint, so it would break the stated friction law.

First line in: a JSON object, `Setup` of setup.rs. All that follows: see `serve`.
"""

import json
import os
import struct
import sys

import mujoco
import numpy as np

from course import Course
from elastic import Springs
from late import Clock, DriveLag
from motors import MotorCommand, Motors

PROTOCOL = 4
# How far what MuJoCo makes of the URDF may be from what the library makes of it, relative to the size of the body's figures.
SAME = 1e-6
# Distances up to this are looked at, m; beyond it they are only known to be larger.
SEEN_M = 0.05
# No part of an arm moves farther within a tick, m: 10 m/s at a tick of 1 ms.
ALONE_M = 0.01


class Refused(Exception):
    """Why no plant can be made or advanced."""


def vector(x, size, what):
    v = np.array(x, dtype=float)
    if v.shape != (size,) or not np.isfinite(v).all():
        raise Refused(f"{what}: expected {size} finite numbers")
    return v


def moments(body):
    """Mass, centre of mass and inertia about it, of m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about the frame's origin."""
    m, (xx, xy, yy, xz, yz, zz) = body[0], body[4:]
    c = body[1:4] / m
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return m, c, inertia - m * (c @ c * np.eye(3) - np.outer(c, c))


class Friction:
    """Coulomb friction: F_c sign(dq) above the stiction speed. Below it, a smooth rise to `breakaway` F_c and a fall to F_c."""

    def __init__(self, rng, coulomb, breakaway, stiction_speed):
        self.coulomb, self.breakaway, self.speed = coulomb, breakaway, stiction_speed
        # Share of the stiction speed at which the peak lies.
        self.peak = rng.uniform(0.6, 0.8, len(coulomb))

    def torque(self, dq):
        s = np.abs(dq) / self.speed
        if s.min() >= 1.0:
            return self.coulomb * np.sign(dq)
        rising = self.breakaway * np.sin(0.5 * np.pi * np.minimum(s / self.peak, 1.0))
        past = np.clip((s - self.peak) / (1.0 - self.peak), 0.0, 1.0)
        falling = 1.0 + (self.breakaway - 1.0) * 0.5 * (1.0 + np.cos(np.pi * past))
        return self.coulomb * np.where(s < self.peak, rising, falling) * np.sign(dq)


class Plant:
    def __init__(self, setup):
        self.setup, self.joints = setup, setup["joints"]
        self.n = len(self.joints)
        # Independent draws, so that a scenario without drive errors sees the same sensors as one with them.
        seeds = np.random.SeedSequence(setup["seed"]).spawn(15)
        self.rng = [np.random.default_rng(seed) for seed in seeds]
        self.springs = Springs(setup["springs"], self.n)
        self.model = self.read_urdf()
        self.data = mujoco.MjData(self.model)
        self.own_parameters()
        self.errors()
        self.times()
        self.springs.start(self.model, self.data, vector(setup["start"], self.n, "start"))
        # Positions and speeds of the links, and of what the encoders are at. They stay views of the state.
        links, encoders = self.springs.links, self.springs.encoders
        self.q, self.dq = self.data.qpos[links], self.data.qvel[links]
        self.at_encoders = (self.data.qpos[encoders], self.data.qvel[encoders])
        mujoco.mj_forward(self.model, self.data)
        self.mass = np.zeros((self.model.nv, self.model.nv))
        self.touched, self.least_m, self.near_m = {}, float("inf"), 0.0
        mujoco.set_mjcb_passive(self.passive)

    # The model.

    def read_urdf(self):
        s = self.setup
        spec = mujoco.MjSpec.from_file(s["urdf"])
        for k, body in enumerate(spec.bodies):
            for i, geom in enumerate(body.geoms):
                geom.name = f"{body.name}/{i}"
        for obstacle in s["obstacles"]:
            self.add_obstacle(spec, obstacle)
        plain = spec.compile()
        names = [plain.joint(i).name for i in range(plain.njnt)]
        if names != [joint["name"] for joint in self.joints]:
            raise Refused(f"MuJoCo's joints are {names}, expected {[joint['name'] for joint in self.joints]}")
        self.body = [int(b) for b in plain.jnt_bodyid]
        self.frames(plain)
        self.add_held(spec, plain)
        self.springs.add_transmissions(spec)
        # The pedestal and the first body share a housing; MuJoCo leaves out parent and child except where the parent is the world.
        spec.add_exclude(name="pedestal", bodyname1="world", bodyname2=plain.body(self.body[0]).name)
        for geom in spec.geoms:
            # Seen from the gap on, felt from the margin on: where they touch.
            geom.margin, geom.gap = 0.0, SEEN_M
        model = spec.compile()
        model.opt.timestep = s["period_s"] / s["steps"]
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        model.opt.gravity[:] = vector(s["gravity"], 3, "gravity")
        # What passes a position limit shall be seen to pass it.
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
        return model

    def add_obstacle(self, spec, obstacle):
        g = np.array(obstacle["generators"], dtype=float)
        length = np.linalg.norm(g, axis=1)
        unit = g / length[:, None]
        if g.shape != (3, 3) or np.abs(unit @ unit.T - np.eye(3)).max() > 1e-9:
            raise Refused(f"obstacle '{obstacle['name']}': expected a box")
        if np.linalg.det(unit) < 0:
            unit[2] = -unit[2]
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, unit.T.flatten())
        body = spec.worldbody.add_body(name=f"obstacle {obstacle['name']}", pos=obstacle["center"], quat=quat, mocap=True)
        body.add_geom(name=f"obstacle {obstacle['name']}", type=mujoco.mjtGeom.mjGEOM_BOX, size=length)

    def frames(self, model):
        """Where the library's frames are in MuJoCo's bodies: from both at q = 0. Axes must agree."""
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        self.inside = []
        for j, joint in enumerate(self.joints):
            r = np.array(joint["frame"]["rotation"], dtype=float).reshape(3, 3)
            p = np.array(joint["frame"]["translation"], dtype=float)
            body, axis, anchor = self.body[j], data.xaxis[j], data.xanchor[j]
            beside = np.linalg.norm(np.cross(axis, p - anchor))
            if np.abs(r[:, 2] - axis).max() > 1e-9 or beside > 1e-9:
                raise Refused(f"joint '{joint['name']}': the axis that MuJoCo reads differs from the library's")
            turn = data.xmat[body].reshape(3, 3).T
            self.inside.append((turn @ r, turn @ (p - data.xpos[body])))
            self.compare(model, j, vector(joint["nominal"], 10, f"joint '{joint['name']}', nominal"))

    def in_body(self, j, parameters):
        """Mass, centre of mass, inertia about it, in MuJoCo's body."""
        m, c, inertia = moments(parameters)
        r, p = self.inside[j]
        return m, r @ c + p, r @ inertia @ r.T

    def compare(self, model, j, nominal):
        m, c, inertia = self.in_body(j, nominal)
        b = self.body[j]
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, model.body_iquat[b])
        axes = axes.reshape(3, 3)
        own = axes @ np.diag(model.body_inertia[b]) @ axes.T
        off = max(abs(m - model.body_mass[b]) / m, np.abs(c - model.body_ipos[b]).max(), np.abs(own - inertia).max() / np.abs(own).max())
        if off > SAME:
            raise Refused(f"joint '{self.joints[j]['name']}': what MuJoCo reads of its body differs by {off:.1e} from the library's")

    def add_held(self, spec, plain):
        """Capsules of what is held, also against the body before the hand, which MuJoCo leaves out for a parent and its child."""
        for k, held in enumerate(self.setup["held"]):
            r, p = self.inside[held["joint"]]
            ends = [r @ np.array(held[end], dtype=float) + p for end in ("a", "b")]
            name = plain.body(self.body[held["joint"]]).name
            body = spec.body(name)
            kind = dict(type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[held["radius"], 0, 0], fromto=np.concatenate(ends))
            if np.linalg.norm(ends[0] - ends[1]) < 1e-9:
                kind = dict(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[held["radius"], 0, 0], pos=ends[0])
            body.add_geom(name=f"held/{k}", mass=0, **kind)
            for other in spec.body(plain.body(plain.body_parentid[self.body[held["joint"]]]).name).geoms:
                spec.add_pair(name=f"held/{k} {other.name}", geomname1=f"held/{k}", geomname2=other.name, margin=0.0, gap=SEEN_M)

    def own_parameters(self):
        m, joints = self.model, self.joints
        for j, joint in enumerate(joints):
            mass, c, inertia = self.in_body(j, vector(joint["body"], 10, f"joint '{joint['name']}', body"))
            moments_, axes = np.linalg.eigh(inertia)
            if not (mass > 0 and moments_[0] > 0):
                raise Refused(f"joint '{joint['name']}': no body has the parameters {joint['body']}")
            if np.linalg.det(axes) < 0:
                axes[:, 0] = -axes[:, 0]
            b = self.body[j]
            m.body_mass[b], m.body_ipos[b], m.body_inertia[b] = mass, c, moments_
            mujoco.mju_mat2Quat(m.body_iquat[b], axes.flatten())
            m.body_sameframe[b] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        self.springs.own_inertia(m, *(vector([joint[key] for joint in joints], self.n, key) for key in ("armature", "viscous")))
        mujoco.mj_setConst(m, self.data)

    def errors(self):
        s, rng, n = self.setup, self.rng, self.n
        of = lambda key: vector([joint[key] for joint in self.joints], n, key)
        self.offset, self.stuck = of("offset"), of("stuck")
        self.friction = Friction(rng[0], of("coulomb"), of("breakaway"), s["stiction_speed_rad_s"])
        self.drive_error = Course(rng[1], of("drive_error_nm"), s["at_ends"])
        self.drive_ratio = Course(rng[2], of("drive_error_ratio"), s["at_ends"])
        self.unmodelled = Course(rng[3], of("unmodelled_nm"), s["at_ends"], cogging=True)
        self.position = Course(rng[4], np.full(n, s["position_rad"]), s["at_ends"])
        self.velocity = Course(rng[5], np.full(n, s["velocity_rad_s"]), s["at_ends"])
        self.torque_ratio = Course(rng[6], np.full(n, s["torque_ratio"]), s["at_ends"])
        self.torque_abs = Course(rng[7], np.array(s["torque_abs_nm"]), s["at_ends"])
        self.all = [self.drive_error, self.drive_ratio, self.unmodelled, self.position, self.velocity, self.torque_ratio, self.torque_abs]

    def times(self):
        """How late all is. Zero bounds make an arm that is on time."""
        s, rng, period = self.setup, self.rng, self.setup["period_s"]
        for name, x in s["timing"].items():
            if not (np.isfinite(x) and x >= 0.0 and (name != "jitter_max_s" or x < period)):
                below = ", shorter than the control period" if name == "jitter_max_s" else ""
                raise Refused(f"timing.{name}: {x}, expected a time in s not below 0{below}")
        self.clock = Clock(rng[8:11], s["timing"], period, s["at_ends"])
        self.lag = DriveLag(rng[11], s["timing"]["drive_lag_max_s"], self.n, s["at_ends"])
        limit = vector([joint["torque_limit_nm"] for joint in self.joints], self.n, "torque_limit_nm")
        errors = [Course(rng[k], np.full(self.n, s[key]), s["at_ends"]) for k, key in ((12, "position_rad"), (13, "velocity_rad_s"))]
        self.motors = Motors(rng[14], s["timing"]["motor_loop_age_max_s"], errors, limit, s["at_ends"])

    def passive(self, model, data):
        """What acts on the joints beside drives, gravity and MuJoCo's own damping; called in each stage of each step."""
        links, motors = self.springs.links, self.springs.motors
        data.qfrc_passive[motors] += self.unmodelled.at(data.qpos[links]) - self.friction.torque(data.qvel[motors]) - self.offset
        self.springs.push(data)

    # Ticks.

    def look(self, yes):
        """Whether MuJoCo looks for contacts."""
        off = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        flags = self.model.opt.disableflags
        self.model.opt.disableflags = flags & ~off if yes else flags | off

    def encoders(self):
        q, dq = self.clock.told(*self.at_encoders)
        return q + self.position.at(q), dq + self.velocity.at(q)

    def torque_sensors(self, torque):
        q = self.q
        return torque + self.torque_ratio.at(q) * np.abs(torque) + self.torque_abs.at(q)

    def new_tick(self):
        for course in self.all:
            course.new_tick()

    def command(self, tau, loops=None):
        """Torques for a tick, and what the motors' loops are told, if anything."""
        self.clock.begin()
        self.clock.command((tau, loops))
        # What is farther away than an arm moves within a tick cannot touch: the search for contacts is left out until the tick's end.
        self.look(self.near_m < ALONE_M)
        path, torques = [], []
        self.clock.remember(0.0, *self.at_encoders)
        for since, until, acting in self.clock.pieces():
            if acting is None:
                self.brake(since, until, path, torques)
            else:
                self.asked(acting, (since, until), path, torques)
        return self.end(path, torques)

    def asked(self, command, piece, path, torques):
        """One command acts for a piece of the tick; that falls into more of them where loops in the motors take their readings."""
        tau, loops = command
        self.lag.new_lags()
        if loops is None:
            self.motors.let_go()
            self.drive(tau, piece, path, torques)
            return
        for since, until in self.motors.pieces(*piece, self.at_encoders):
            self.drive(self.motors.total(tau, loops), (since, until), path, torques)

    def drive(self, command, piece, path, torques):
        """Drives are asked for the same torques for a piece of the tick."""
        m, d, (since, until) = self.model, self.data, piece
        # A whole period has the stated number of steps; none is longer than those.
        steps = max(1, int(np.ceil(self.setup["steps"] * (until - since) / self.setup["period_s"] - 1e-9)))
        m.opt.timestep = h = (until - since) / steps
        for k in range(steps):
            asked = self.lag.mean(command, h)
            applied = asked + self.drive_error.at(self.q) + self.drive_ratio.at(self.q) * np.abs(asked)
            torques.append((h, applied))
            d.qfrc_applied[self.springs.motors] = applied
            mujoco.mj_step(m, d)
            self.note(since + (k + 1) * h, path)

    def note(self, since, path):
        # What is proven is proven of what encoders see. Links may be behind springs.
        path += [[since], *(x.copy() for x in self.at_encoders)]
        if self.springs.elastic:
            path += [self.q.copy(), self.dq.copy()]
        self.clock.remember(since, *self.at_encoders)

    def hold(self):
        self.clock.begin()
        path, torques = [], []
        self.clock.let_go()
        self.motors.let_go()
        self.clock.remember(0.0, *self.at_encoders)
        for since, until, _ in self.clock.pieces():
            self.brake(since, until, path, torques)
        return self.end(path, torques)

    def brake(self, since, until, path, torques):
        """The brakes are on: the arm stays where it is. The drives carry its weight but for what static friction does."""
        d = self.data
        d.qvel[:] = 0.0
        d.qfrc_applied[:] = 0.0
        mujoco.mj_forward(self.model, d)
        applied = d.qfrc_bias[self.springs.links] + self.stuck * self.friction.coulomb + self.offset - self.unmodelled.at(self.q)
        # What a drive errs by is not a part of what lags.
        without = applied - self.drive_error.at(self.q)
        self.lag.hold(without / (1.0 + self.drive_ratio.at(self.q) * np.sign(without)))
        torques.append((until - since, applied))
        self.note(until, path)

    def end(self, path, torques):
        m, d = self.model, self.data
        self.clock.end()
        # The sensors see the mean of what was applied from tick to tick; exactly what was applied where that was one torque.
        first = torques[0][1]
        mean = first + sum(h * (x - first) for h, x in torques) / sum(h for h, _ in torques)
        all_applied = np.array([x for _, x in torques])
        largest = all_applied[np.abs(all_applied).argmax(axis=0), np.arange(self.n)]
        measured = self.torque_sensors(mean)
        self.look(True)
        mujoco.mj_fwdPosition(m, d)
        mujoco.mj_fullM(m, d, self.mass)
        distances = d.contact.dist
        least = float(distances.min()) if d.ncon else float("inf")
        if d.nefc and least >= 0:
            raise Refused(f"MuJoCo pushes at a distance of {least} m; margin and gap mean something else in version {mujoco.__version__}")
        touching = int((distances < 0).sum()) if least < 0 else 0
        if touching:
            for contact in d.contact:
                if contact.dist < 0:
                    pair = " with ".join(m.geom(g).name for g in (contact.geom1, contact.geom2))
                    self.touched.setdefault(pair, self.clock.t)
        self.near_m, self.least_m = least, min(self.least_m, least)
        self.new_tick()
        return np.concatenate([*self.encoders(), measured, largest, [self.clock.t], self.springs.mass(self.mass).flatten(), [least, float(touching)], *path])

    def reading(self):
        self.clock.age = 0.0
        return np.concatenate(self.encoders())

    def farewell(self):
        # No number for a distance that was never below what is looked at.
        least = self.least_m if np.isfinite(self.least_m) else None
        return {"touched": [{"pair": pair, "t": t} for pair, t in self.touched.items()], "least_m": least}


def commanded(reads, count):
    """So many numbers of a request."""
    numbers = np.frombuffer(reads.read(8 * count), dtype="<f8")
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise Refused(f"a command of {list(numbers)}, expected {count} finite numbers")
    return numbers


def serve(reads, writes):
    """Every answer is a byte that says its kind, the length of what follows (4 bytes, little-endian), and that: `s` numbers (8 bytes each), `j` JSON,
    `e` text that says why there is no answer; after it the process ends.

    After the setup a request is a byte: `c` and n numbers command torques, `l` and 5 n + 1 numbers command torques and tell the motors' loops their references,
    q and dq, their K_r, their gains and their limits, `h` holds, `q` asks for the first reading, `x` ends. `q` is answered by what the
    encoders say, q and dq; `c`, `l` and `h` by what they say at the next tick, by torques (measured as the mean, applied at most), by that tick's time, by the
    mass matrix, by the least distance (m; infinite if none is below 0.05 m) and the number of contacts, and then, for each integration step, by the time since the
    tick and the true q and dq at the encoders; where joints have springs, then those of the links.
    """

    def say(kind, data):
        writes.write(kind + struct.pack("<I", len(data)) + data)
        writes.flush()

    def numbers(values):
        say(b"s", values.astype("<f8").tobytes())

    try:
        setup = json.loads(reads.readline())
        if setup.get("protocol") != PROTOCOL:
            raise Refused(f"protocol {setup.get('protocol')}, expected {PROTOCOL}")
        plant = Plant(setup)
        say(b"j", json.dumps({"mujoco": mujoco.__version__, "joints": plant.n}).encode())
        while kind := reads.read(1):
            if kind == b"c":
                numbers(plant.command(commanded(reads, plant.n)))
            elif kind == b"l":
                tau, *told = np.split(commanded(reads, 5 * plant.n + 1), np.cumsum([plant.n, plant.n, plant.n, 1, plant.n]))
                if not plant.motors.age_s > 0.0:
                    raise Refused("loops in the motors, but timing.motor_loop_age_max_s is 0")
                numbers(plant.command(tau, MotorCommand(*told)))
            elif kind == b"h":
                numbers(plant.hold())
            elif kind == b"q":
                numbers(plant.reading())
            elif kind == b"x":
                say(b"j", json.dumps(plant.farewell()).encode())
                return 0
            else:
                raise Refused(f"request {kind!r}, expected one of c, l, h, q, x")
    except Exception as reason:
        say(b"e", f"{type(reason).__name__}: {reason}".encode())
        return 1
    return 0


if __name__ == "__main__":
    # Whatever prints to the standard output shall not get between the frames.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    code = serve(sys.stdin.buffer, out)
    mujoco.set_mjcb_passive(None)
    sys.exit(code)
