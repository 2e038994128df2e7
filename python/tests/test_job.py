"""The promise: an arm that Python drives picks up something unknown; what goes wrong in the driver is raised."""

import sys
from pathlib import Path

import numpy as np
import pytest

import surelift

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import certify_motion  # noqa: E402
import pick  # noqa: E402

START = [0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5]


def test_an_unknown_block_is_picked_up() -> None:
    payload = pick.pick(0.9)
    low, high = payload["mass_kg"]
    assert low <= 0.9 <= high and high - low < 0.6
    for (low, high), truth in zip(payload["center_m"], [0.0, 0.0, 0.12]):
        assert low <= truth <= high


def test_an_unknown_block_is_picked_up_in_mujoco() -> None:
    pytest.importorskip("mujoco")
    import pick_mujoco

    payload = pick_mujoco.pick(0.9)
    low, high = payload["mass_kg"]
    assert low <= 0.9 <= high and high - low < 0.6
    for (low, high), truth in zip(payload["center_m"], [0.0, 0.0, 0.12]):
        assert low <= truth <= high
    assert payload["contacts"] == 0


def test_the_simulated_arm_takes_one_thing_after_the_other() -> None:
    arm = surelift.load("kinova_gen3_2f85")
    things = [(0.9, [0.0, 0.0, 0.12], [0.04, 0.08, 0.04]), (0.4, [0.0, 0.0, 0.12], [0.04, 0.04, 0.04])]
    driver = surelift.SimulatedArm(arm, START, things, seed=1)
    job = surelift.Job(arm, driver)
    for mass, _, _ in things:
        job.grasp(1.5, [0.0, 0.0, 0.12], [0.06, 0.12, 0.06])
        job.weigh(1.0)
        low, high = job.learn(motions=2)["mass_kg"]
        assert low <= mass <= high and high - low < 0.7
        job.release()
    assert driver.time_s > 8.0
    with pytest.raises(surelift.InputError, match="expected the job's own arm"):
        surelift.Job(surelift.load("z1"), driver)
    for start, objects, message in [
        (START[:3], [], "start"),
        ([float("nan")] * 7, [], "start: entry 0 is NaN"),
        (START, [(-1.0, [0, 0, 0], [1, 1, 1])], r"objects\[0\]: -1 kg"),
    ]:
        with pytest.raises(surelift.InputError, match=message):
            surelift.SimulatedArm(arm, start, objects)


def test_a_motion_of_ones_own_is_certified() -> None:
    certify_motion.main()


class Failing(pick.SimulatedArm):
    def command(self, tau: np.ndarray) -> np.ndarray:
        raise RuntimeError("the bus is gone")


class Short(pick.SimulatedArm):
    def read(self) -> tuple[np.ndarray, np.ndarray]:
        return self.q[:3], self.dq


def test_exceptions_of_the_driver_are_raised() -> None:
    arm = surelift.load("kinova_gen3_2f85")
    job = surelift.Job(arm, Failing(arm, START, np.zeros(10)))
    with pytest.raises(RuntimeError, match="the bus is gone"):
        job.move_to(np.array(START) + 0.2)
    with pytest.raises(surelift.InputError, match=r"read: array of shape \[3\]"):
        surelift.Job(arm, Short(arm, START, np.zeros(10)))


def test_calls_out_of_order_are_refused() -> None:
    arm = surelift.load("kinova_gen3_2f85")
    job = surelift.Job(arm, pick.SimulatedArm(arm, START, np.zeros(10)))
    with pytest.raises(surelift.InputError, match="nothing is held"):
        job.carry_to(START)
    with pytest.raises(surelift.InputError, match="either `motions`"):
        job.learn()
    with pytest.raises(surelift.InputError, match="goal"):
        job.move_to([0.0])
