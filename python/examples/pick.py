"""Picks up something unknown with an arm of one's own: here one that Python simulates with the package's dynamics.

Replace `SimulatedArm` by a class with the same four methods that talks to your drives.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import surelift

Array = NDArray[np.float64]


class SimulatedArm:
    """A rigid arm with its nominal friction, in steps of a quarter of a control period."""

    def __init__(self, arm: surelift.Arm, start: ArrayLike, payload: ArrayLike) -> None:
        self.arm, self.model = arm, arm.model
        self.q, self.dq = np.array(start, dtype=float), np.zeros(arm.dof)
        self.empty = self.model.nominal_parameters()
        self.payload, self.theta = np.array(payload, dtype=float), self.empty
        own = self.empty[10 * arm.dof :].reshape(arm.dof, 4)
        self.coulomb, self.viscous = own[:, 0], own[:, 1]

    def read(self) -> tuple[Array, Array]:
        return self.q, self.dq

    def command(self, tau: Array) -> Array:
        step = self.arm.period_s / 4
        for _ in range(4):
            friction = self.coulomb * np.clip(self.dq / 1e-3, -1, 1) + self.viscous * self.dq
            ddq = self.model.forward_dynamics(self.q, self.dq, tau - friction, self.theta)
            self.dq = self.dq + step * ddq
            self.q = self.q + step * self.dq
        return tau

    def hold(self) -> Array:
        self.dq = np.zeros(self.arm.dof)
        return self.model.gravity(self.q, self.theta)

    def gripper(self, closes: bool) -> None:
        hand = slice(10 * self.arm.end_effector, 10 * self.arm.end_effector + 10)
        self.theta = self.empty.copy()
        if closes:
            self.theta[hand] += self.payload


def block(mass: float, center: ArrayLike, size: ArrayLike, frame: Array) -> Array:
    """Ten parameters, about and in the last body's frame, of a homogeneous block whose sides are along the axes of `frame`."""
    s, turn = np.asarray(size, dtype=float), frame[:3, :3]
    c = turn @ np.asarray(center, dtype=float) + frame[:3, 3]
    own = turn @ np.diag(mass * (np.sum(s**2) - s**2) / 12) @ turn.T
    about = own + mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, about[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])


def pick(mass_kg: float = 0.9) -> dict[str, Any]:
    """Takes a block of which the loop knows no more than a box that holds it and that it weighs at most 1.5 kg."""
    arm = surelift.load("kinova_gen3_2f85")
    start = [0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]
    _, tool = arm.tool_frame()
    driver = SimulatedArm(arm, start, block(mass_kg, [0.0, 0.0, 0.12], [0.04, 0.08, 0.04], tool))
    job = surelift.Job(arm, driver)
    job.grasp(1.5, [0.0, 0.0, 0.12], [0.06, 0.12, 0.06])
    job.weigh(1.0)
    payload = job.learn(motions=4)
    low, high = payload["mass_kg"]
    print(f"between {low:.3f} and {high:.3f} kg")
    job.carry_to([0.4, 0.2, 3.0, -1.6, 0.2, 0.6, 1.3])
    job.release()
    print(job.report())
    return payload


if __name__ == "__main__":
    pick()
