"""Picks up something unknown with an arm that MuJoCo simulates (`pip install mujoco`), from its URDF and with its own dynamics.

    python python/examples/pick_mujoco.py
"""

from pathlib import Path
from typing import Any, Optional

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

import surelift

Array = NDArray[np.float64]
URDF = Path(__file__).parents[2] / "robots" / "kinova_gen3_2f85.urdf"
# Steps of MuJoCo in a control period: friction rises steeply around rest.
STEPS = 10
# Below this speed, rad/s, friction rises to its Coulomb value.
STICTION = 1e-3


class MujocoArm:
    """An arm in MuJoCo; its hand closes around a block, whose centre and sides (m) are given in the tool frame."""

    def __init__(self, arm: surelift.Arm, start: ArrayLike, mass_kg: float, center_m: ArrayLike, size_m: ArrayLike) -> None:
        self.arm = arm
        joints = arm.model.nominal_parameters()[10 * arm.dof :].reshape(arm.dof, 4)
        self.coulomb, self.viscous, self.armature = joints[:, 0], joints[:, 1], joints[:, 2]
        self.empty, self.full = self.build(None), self.build((mass_kg, np.asarray(center_m), np.asarray(size_m)))
        self.model, self.data = self.empty, mujoco.MjData(self.empty)
        self.data.qpos[:] = start
        self.contacts = 0
        mujoco.mj_forward(self.model, self.data)

    def build(self, block: Optional[tuple[float, Array, Array]]) -> Any:
        spec = mujoco.MjSpec.from_file(str(URDF))
        hand = spec.joint(self.arm.joint_names[-1]).parent
        # The pedestal and the first link share a housing.
        spec.add_exclude(name="pedestal", bodyname1="world", bodyname2=spec.joint(self.arm.joint_names[0]).parent.name)
        if block is not None:
            mass, center, size = block
            tool = self.arm.tool_frame()[1]
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, tool[:3, :3].flatten())
            held = hand.add_body(name="held", pos=tool[:3, 3] + tool[:3, :3] @ center, quat=quaternion)
            held.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=size / 2, mass=mass)
        model = spec.compile()
        assert [model.joint(i).name for i in range(model.njnt)] == self.arm.joint_names
        model.opt.timestep = self.arm.period_s / STEPS
        model.dof_armature[:], model.dof_damping[:] = self.armature, self.viscous
        return model

    def read(self) -> tuple[Array, Array]:
        return self.data.qpos.copy(), self.data.qvel.copy()

    def command(self, tau: Array) -> Array:
        for _ in range(STEPS):
            self.data.qfrc_applied[:] = tau - self.coulomb * np.clip(self.data.qvel / STICTION, -1, 1)
            mujoco.mj_step(self.model, self.data)
        self.contacts = max(self.contacts, int(self.data.ncon))
        return tau

    def hold(self) -> Array:
        """The brakes hold; what they bear is gravity."""
        self.data.qvel[:] = 0.0
        mujoco.mj_forward(self.model, self.data)
        return np.array(self.data.qfrc_bias)

    def gripper(self, closes: bool) -> None:
        before = self.data
        self.model = self.full if closes else self.empty
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = before.qpos, before.qvel
        mujoco.mj_forward(self.model, self.data)


def pick(mass_kg: float = 0.9) -> dict[str, Any]:
    """Takes a block of which the loop knows no more than a box that holds it and that it weighs at most 1.5 kg."""
    arm = surelift.load("kinova_gen3_2f85")
    center, size = [0.0, 0.0, 0.12], [0.04, 0.08, 0.04]
    driver = MujocoArm(arm, [0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5], mass_kg, center, size)
    job = surelift.Job(arm, driver)
    job.grasp(1.5, center, [0.06, 0.12, 0.06])
    job.weigh(1.0)
    payload = job.learn(motions=4)
    low, high = payload["mass_kg"]
    print(f"between {low:.3f} and {high:.3f} kg, {driver.contacts} contacts")
    job.carry_to([0.4, 0.2, 3.0, -1.6, 0.2, 0.6, 1.3])
    job.release()
    print(job.report())
    return {**payload, "contacts": driver.contacts}


if __name__ == "__main__":
    pick()
