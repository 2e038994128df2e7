"""Writes what both sides work on: `workload.py FOLDER ROBOT.urdf[:fixed|floating]...` makes FOLDER/ROBOT.txt.

Needs the `pin` wheel: its own URDF parser decides on joint types, so that Pinocchio gets the model it would make for itself.
A continuous joint is written as a revolute one (an angle, not a cosine and a sine): that is what the other side has, too.

File, all in SI units and separated by white space: `robot NAME`, `joints N`, then a line a joint (parent, 0 for the world;
kind; rotation row by row and translation of its placement; ten inertial parameters m, m c, I_xx, I_xy, I_yy, I_xz, I_yz,
I_zz about the joint's origin), then `states S` and S times q, v, a, tau. A free flyer has the quaternion x, y, z, w.
"""

import pathlib
import sys

import numpy as np
import pinocchio as pin

STATES = 64
KINDS = {
    "JointModelFreeFlyer": "free_flyer",
    "JointModelRX": "rx", "JointModelRY": "ry", "JointModelRZ": "rz",
    "JointModelRUBX": "rx", "JointModelRUBY": "ry", "JointModelRUBZ": "rz",
}


def kind(model, j):
    name = model.joints[j].shortname()
    if name in KINDS:
        return KINDS[name]
    if name in ("JointModelRevoluteUnaligned", "JointModelRevoluteUnboundedUnaligned"):
        data = model.joints[j].createData()
        model.joints[j].calc(data, pin.neutral(model), np.zeros(model.nv))
        return "ru " + text(data.S.matrix()[3:, 0])
    sys.exit(f"{name} has no counterpart here")


def text(values):
    return " ".join(repr(float(x)) for x in np.asarray(values).flatten())


def write(folder, urdf, base):
    arguments = (str(urdf), pin.JointModelFreeFlyer()) if base == "floating" else (str(urdf),)
    model = pin.buildModelFromUrdf(*arguments)
    lines = [f"robot {urdf.stem}", f"joints {model.njoints - 1}"]
    for j in range(1, model.njoints):
        placement = model.jointPlacements[j]
        numbers = [placement.rotation, placement.translation, model.inertias[j].toDynamicParameters()]
        lines.append(" ".join([str(model.parents[j]), kind(model, j), *map(text, numbers)]))
    lines.append(f"states {STATES}")
    random = np.random.default_rng(1)
    for _ in range(STATES):
        q = []
        if base == "floating":
            quaternion = random.normal(size=4)
            q += [*random.uniform(-1, 1, 3), *(quaternion / np.linalg.norm(quaternion))]
        q += [*random.uniform(-2, 2, model.njoints - (2 if base == "floating" else 1))]
        lines.append(text(q))
        lines += [text(random.uniform(-scale, scale, model.nv)) for scale in (2.0, 5.0, 20.0)]
    (folder / f"{urdf.stem}.txt").write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for argument in sys.argv[2:]:
        urdf, _, base = argument.partition(":")
        write(folder, pathlib.Path(urdf), base or "fixed")


if __name__ == "__main__":
    main()
