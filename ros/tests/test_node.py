"""The node against another DDS implementation: an arm that is played in Python tells its joint states, asks and is told."""

import hashlib
import math
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import messages
from peer import Peer, Silence
from plant import PERIOD_S, ROOT, Plant

NODE = os.environ.get("SURELIFT_NODE", str(ROOT / "target" / "release" / "surelift_node"))
DOMAIN = 1 + os.getpid() % 100
SUCCEEDED, ABORTED = 4, 6
PATH_TOLERANCE_VIOLATED = -4


class Node:
    """A node of its own process, on the loopback interface alone, and a peer that has met it."""

    def __init__(self, domain, *more, name="surelift"):
        common = ["--interface", "127.0.0.1", "--domain", str(domain), "--rmw", "rmw_cyclonedds_cpp", "--name", name]
        self.process = subprocess.Popen([NODE, *common, *more], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        try:
            self.peer = Peer(domain, name)
            self.peer.meets()
        except BaseException:
            self.end()
            raise

    def end(self):
        self.process.terminate()
        told = self.process.communicate(timeout=30)[1]
        print(told)
        return self.process.returncode


@pytest.fixture(scope="module")
def scenario():
    node = Node(DOMAIN, "--scenario", "examples/my_arm/unknown_load.toml", "--robot", "examples/my_arm/my_arm.toml")
    yield node.peer
    assert node.end() == 0


@pytest.fixture(scope="module")
def plant():
    return Plant()


def state(plant, **changed):
    """What the arm says; joints in another order than the model's, and a finger besides."""
    q, dq, effort = plant.measured()
    order = [2, 0, 1]
    pick = lambda values: [values[j] for j in order] + [0.01]
    nanoseconds = 10**12 + plant.ticks * round(PERIOD_S * 1e9)
    stamp = messages.Time(nanoseconds // 10**9, nanoseconds % 10**9)
    names = [plant.names[j] for j in order] + ["finger"]
    told = messages.JointState(messages.Header(stamp), names, pick(q), pick(dq), pick(effort))
    for field, value in changed.items():
        setattr(told, field, value)
    return told


def stand(peer, plant, ticks):
    """The arm's own drives hold it; nobody has to wait for anybody."""
    for _ in range(ticks):
        plant.hold()
        peer.joint_states.write(state(plant))
        time.sleep(0.0005)


def move(peer, plant, spoil=lambda tick: False):
    """The arm does what it is told until it is handed back to its drives; largest differences from what feedback desires, and the ticks."""
    largest, ticks = [0.0] * 3, 0
    plant.hold()
    while True:
        told = state(plant)
        if spoil(ticks):
            told.position = told.position[:-1]
        peer.joint_states.write(told)
        answers = lambda command: command.header.stamp == told.header.stamp
        command = peer.next(peer.commands, 10.0, answers)
        if not command.effort:
            break
        assert list(command.name) == plant.names
        assert all(abs(x) <= limit["effort"] for x, limit in zip(command.effort, plant.limits))
        plant.step(command.effort)
        ticks += 1
    for feedback in peer.feedback.take(N=1000):
        assert list(feedback.joint_names) == plant.names
        largest = [max(a, abs(b)) for a, b in zip(largest, feedback.error.positions)]
    return largest, ticks


def values(array):
    """The only status of a diagnostic array, its values by their keys."""
    assert len(array.status) == 1 and array.status[0].level == 0
    return {pair.key: pair.value for pair in array.status[0].values}


def digest(trajectory):
    own = hashlib.sha256()
    for name in trajectory.joint_names:
        own.update(name.encode() + b"\0")
    for point in trajectory.points:
        own.update(struct.pack("<q", point.time_from_start.sec * 10**9 + point.time_from_start.nanosec))
        numbers = [*point.positions, *point.velocities, *point.accelerations]
        own.update(struct.pack(f"<{len(numbers)}d", *numbers))
    return own.hexdigest()


def proven(peer, plant, answer, folder):
    """A trajectory with its certificate: tied together, within the limits, and proven again by the checker, which is another program."""
    assert answer.success, answer.message
    trajectory, told = peer.latest(peer.trajectory), values(peer.latest(peer.certificate))
    file = peer.latest(peer.plan_file).data
    assert digest(trajectory) == told["trajectory/sha256"] and told["trajectory/sha256"] in answer.message
    assert hashlib.sha256(file.encode()).hexdigest() == told["plan/sha256"]
    assert list(trajectory.joint_names) == plant.names
    first, last = trajectory.points[0], trajectory.points[-1]
    assert all(abs(a - b) < 1e-4 for a, b in zip(first.positions, plant.q))
    assert all(abs(x) < 1e-9 for x in [*first.velocities, *last.velocities])
    end = last.time_from_start.sec + 1e-9 * last.time_from_start.nanosec
    assert end == pytest.approx(float(told["duration"]), abs=1e-9)
    for point in trajectory.points:
        for q, dq, limit in zip(point.positions, point.velocities, plant.limits):
            assert limit["lower"] <= q <= limit["upper"] and abs(dq) <= limit["velocity"]
    for family in ("position", "velocity", "effort", "distance"):
        assert float(told[f"margin/{family}"]) >= 0.0
    path = folder / "plan.json"
    path.write_text(file)
    check = [sys.executable, "check/check.py", "--robot", "examples/my_arm/my_arm.toml", str(path)]
    checked = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return trajectory, told


def intervals(peer):
    told = values(peer.latest(peer.payload_bounds))
    keys = [key.removesuffix("/lower") for key in told if key.endswith("/lower")]
    return {key: (float(told[f"{key}/lower"]), float(told[f"{key}/upper"])) for key in keys}


def true_payload(plant):
    mass, center, i = plant.load()
    told = {"m": mass, "com.x": center[0], "com.y": center[1], "com.z": center[2]}
    return told | {"ixx": i[0][0], "ixy": i[0][1], "iyy": i[1][1], "ixz": i[0][2], "iyz": i[1][2], "izz": i[2][2]}


def holds(found, plant):
    truth = true_payload(plant)
    assert set(found) == set(truth)
    outside = {key: (found[key], truth[key]) for key in truth if not found[key][0] <= truth[key] <= found[key][1]}
    assert not outside


def complaint(peer, told, seconds=10.0):
    return peer.next(peer.diagnostics, seconds, lambda array: any(told in status.message for status in array.status))


def test_nothing_is_known_before_a_joint_state(scenario):
    answer = scenario.call("plan")
    assert not answer.success and "no joint states" in answer.message
    answer = scenario.call("identify")
    assert not answer.success and "no joint states to learn from" in answer.message


def test_what_cannot_be_understood_is_told_by_name_and_not_used(scenario, plant):
    peer, nan = scenario, float("nan")
    plant.hold()
    good = state(plant)
    old = messages.JointState(messages.Header(messages.Time(1, 0)), good.name, good.position, good.velocity, good.effort)
    cases = [
        (dict(velocity=[nan, 0.0, 0.0, 0.0]), "joint 'elbow': velocity is NaN"),
        (dict(position=good.position[:2]), "`position` has 2 entries, expected 4"),
        (dict(effort=[*good.effort, 1.0]), "`effort` has 5 entries, expected 4"),
        (dict(name=["elbow", "waist", "hip", "finger"]), "joint 'shoulder' is missing"),
        (dict(name=["elbow", "waist", "elbow", "finger"]), "joint 'elbow' is named twice"),
    ]
    for changed, told in cases:
        peer.joint_states.write(state(plant, **changed))
        complaint(peer, told)
    assert "no joint states have come yet" in peer.call("plan").message
    peer.joint_states.write(good)
    peer.joint_states.write(old)
    complaint(peer, "expected a later stamp")


def test_goals_that_are_none_are_told(scenario, plant):
    name = plant.names
    scenario.goal.write(messages.JointState(name=name[:2], position=[0.0, 0.0]))
    complaint(scenario, "joint 'elbow' is missing")
    scenario.goal.write(messages.JointState(name=name, position=[0.0, 2.5, 0.0]))
    complaint(scenario, "joint 'shoulder' at 2.5, expected within")


def test_learn_execute_identify(scenario, plant, tmp_path):
    peer = scenario
    stand(peer, plant, 50)
    before = intervals(peer)
    holds(before, plant)
    trajectory, told = proven(peer, plant, peer.call("plan_learning"), tmp_path)
    # A trajectory that nobody proved is not executed.
    other = list(trajectory.points[40].positions)
    trajectory.points[40].positions = [other[0] + 1e-9, *other[1:]]
    assert not peer.follow(trajectory)[1]
    complaint(peer, "not the trajectory that was proven last")
    trajectory.points[40].positions = other
    identity, accepted = peer.follow(trajectory)
    assert accepted
    assert not peer.follow(trajectory)[1]
    busy = peer.call("identify")
    assert not busy.success and "executed" in busy.message
    largest, ticks = move(peer, plant)
    assert ticks == round((float(told["duration"]) + 0.05) / PERIOD_S)
    assert all(0.0 < error <= float(told[f"tracking_error/{name}"]) for error, name in zip(largest, plant.names))
    result = peer.result(identity)
    assert (result.status, result.error_code) == (SUCCEEDED, 0)
    stand(peer, plant, 20)
    answer = peer.call("identify")
    assert answer.success, answer.message
    after = intervals(peer)
    holds(after, plant)
    width = lambda found: found["m"][1] - found["m"][0]
    assert width(after) < 0.6 * width(before)
    payload = peer.latest(peer.payload)
    assert payload.header.frame_id == "gripper"
    assert after["m"][0] <= payload.inertia.m <= after["m"][1]
    assert after["com.z"][0] <= payload.inertia.com.z <= after["com.z"][1]
    print("mass:", before["m"], "->", after["m"], "truth", true_payload(plant)["m"])
    print("largest tracking error, rad:", largest)


def test_a_goal_is_reached_in_proven_trajectories(scenario, plant, tmp_path):
    peer = scenario
    goal = [-0.5, 0.5, 0.7]
    peer.goal.write(messages.JointState(name=plant.names[::-1], position=goal[::-1]))
    stand(peer, plant, 20)
    for _ in range(3):
        trajectory, _ = proven(peer, plant, peer.call("plan"), tmp_path)
        identity, accepted = peer.follow(trajectory)
        assert accepted
        move(peer, plant)
        assert peer.result(identity).status == SUCCEEDED
        stand(peer, plant, 20)
        if all(abs(a - b) < 0.02 for a, b in zip(plant.q, goal)):
            return
    raise AssertionError(f"at {plant.q}")


def test_an_execution_without_joint_states_it_can_use_ends_in_a_stop(scenario, plant, tmp_path):
    peer = scenario
    peer.goal.write(messages.JointState(name=plant.names, position=[-0.9, 0.6, 0.9]))
    stand(peer, plant, 20)
    trajectory, _ = proven(peer, plant, peer.call("plan"), tmp_path)
    identity, accepted = peer.follow(trajectory)
    assert accepted
    _, ticks = move(peer, plant, spoil=lambda tick: tick == 700)
    assert 700 < ticks < 1400
    result = peer.result(identity)
    assert (result.status, result.error_code) == (ABORTED, PATH_TOLERANCE_VIOLATED)
    assert "its state was lost" in result.error_string
    assert all(abs(dq) < 0.02 for dq in plant.dq)
    # The trajectory started where the arm is no more.
    assert not peer.follow(trajectory)[1]


def test_an_arm_that_is_pushed_breaks_an_assumption_until_reset(scenario, plant, tmp_path):
    peer = scenario
    stand(peer, plant, 20)
    trajectory, _ = proven(peer, plant, peer.call("plan"), tmp_path)
    identity, accepted = peer.follow(trajectory)
    assert accepted
    plant.hold()
    ticks = 0
    while True:
        told = state(plant)
        peer.joint_states.write(told)
        command = peer.next(peer.commands, 10.0, lambda own: own.header.stamp == told.header.stamp)
        if not command.effort:
            break
        push = 60.0 if 400 <= ticks < 420 else 0.0
        effort = list(command.effort)
        plant.step([effort[0] + push, *effort[1:]])
        plant.effort = effort
        ticks += 1
    result = peer.result(identity)
    assert result.status == ABORTED and ticks < 2000, result.error_string
    print("pushed:", result.error_string)
    stand(peer, plant, 20)
    answer = peer.call("identify")
    print("identify:", answer.message)
    assert not answer.success and re.search("broken.*joint '", answer.message)
    assert not peer.call("plan").success
    assert peer.call("reset").success
    stand(peer, plant, 20)
    assert peer.call("plan").success


def test_a_recording_of_others_tells_with_a_bound_on_accelerations():
    """Somebody else moves the arm; the payload is stated on the command line."""
    box = ["--mass", "0.6", "--center", "0,0,0.05", "--size", "0.1,0.1,0.16"]
    node = Node(DOMAIN + 1, "--robot", "examples/my_arm/my_arm.toml", *box, "--acceleration", "6", name="weigher")
    try:
        peer, plant = node.peer, Plant(seed=2)
        before = intervals(peer)
        stand(peer, plant, 20)
        start = list(plant.q)
        for tick in range(2500):
            t = tick * PERIOD_S
            ramp = min(1.0, t)
            wanted = [start[j] + 0.3 * ramp * math.sin((2.0 + 0.7 * j) * t) for j in range(3)]
            gravity = plant.inverse(plant.q, [0.0] * 3, [0.0] * 3)
            tau = [gravity[j] + 60.0 * (wanted[j] - plant.q[j]) - 12.0 * plant.dq[j] for j in range(3)]
            plant.step(tau)
            peer.joint_states.write(state(plant))
        time.sleep(0.5)
        answer = peer.call("identify")
        assert answer.success, answer.message
        after = intervals(peer)
        holds(after, plant)
        print("mass:", before["m"], "->", after["m"], "truth", true_payload(plant)["m"])
        assert after["m"][1] - after["m"][0] < 0.8 * (before["m"][1] - before["m"][0])
    finally:
        assert node.end() == 0


def test_bad_input_is_refused_by_name():
    cases = [
        ([], "--robot"),
        (["--robot", "nobody"], "nobody"),
        (["--robot", "z1", "--scenario", "examples/my_arm/unknown_load.toml"], "--robot is 'z1"),
        (["--scenario", "scenarios/person_crosses.toml"], "moves"),
        (["--robot", "z1", "--acceleration", "1,2"], "--acceleration: 2 numbers, expected 1 or 6"),
        (["--robot", "z1", "--acceleration", "nan"], "--acceleration: NaN"),
        (["--robot", "z1", "--mass", "-1", "--center", "0,0,0", "--size", "1,1,1"], "prior.mass_kg"),
        (["--robot", "z1", "--name", "a b"], "--name a b"),
        (["--robot", "z1", "--plan-seconds", "0"], "--plan-seconds"),
    ]
    for arguments, told in cases:
        ran = subprocess.run([NODE, "--interface", "127.0.0.1", "--domain", str(DOMAIN + 2), *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 2 and told in ran.stderr, (arguments, ran.stderr)
