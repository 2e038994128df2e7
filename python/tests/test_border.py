"""The promise: arrays mean the same in any order; what is wrong is a `SureliftError` that names it, and leaves nothing half done."""

import threading
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

import surelift

PRIOR = Path(__file__).parents[2] / "scenarios/priors/gen3_hand.toml"
START = np.array([0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5])
RNG = np.random.default_rng(5)


@pytest.fixture(scope="module")
def arm() -> surelift.Arm:
    return surelift.load("kinova_gen3_2f85")


@pytest.fixture(scope="module")
def everything(arm: surelift.Arm) -> surelift.ParameterSet:
    return surelift.ParameterSet.around_nominal(arm)


def in_records(rows: np.ndarray) -> np.ndarray:
    """The same numbers in records whose size is no multiple of that of a number."""
    records = np.zeros(len(rows), dtype=np.dtype([("x", "f8", (7,)), ("flag", "i1")]))
    records["x"] = rows
    return records["x"]


def not_aligned(rows: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + rows.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(rows.shape)


ORDERS: list[Callable[[np.ndarray], np.ndarray]] = [
    np.asfortranarray,
    lambda rows: np.vstack([np.array(column) for column in rows.T]).T,
    lambda rows: rows[::-1].copy()[::-1],
    lambda rows: rows.astype(">f8"),
    in_records,
    not_aligned,
]


@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_states_mean_the_same_in_any_order(arm: surelift.Arm, order: int) -> None:
    model, other = arm.model, ORDERS[order]
    q, v, a = (RNG.uniform(-1, 1, (40, 7)) for _ in range(3))
    assert np.array_equal(other(q), q)
    assert np.array_equal(model.rnea(other(q), other(v), other(a)), model.rnea(q, v, a))
    assert np.array_equal(model.forward_dynamics(q, other(v), a), model.forward_dynamics(q, v, a))
    assert np.array_equal(model.mass_matrix(other(q)), model.mass_matrix(q))
    assert np.array_equal(model.frame_jacobian(model.frame_names[0], other(q)), model.frame_jacobian(model.frame_names[0], q))


def ticks(arm: surelift.Arm, count: int, first: int = 0) -> list[np.ndarray]:
    """Times, positions, velocities and torques of an arm that stands with a full hand."""
    theta = arm.model.nominal_parameters()
    theta[10 * arm.end_effector] += 0.3
    q = np.array([0.0, 0.9, 3.1, -1.2, 0.0, 0.8, 1.5])
    tau = arm.model.gravity(q, theta)
    return [arm.period_s * np.arange(first, first + count), np.tile(q, (count, 1)), np.zeros((count, 7)), np.tile(tau, (count, 1))]


def identifier(arm: surelift.Arm, everything: surelift.ParameterSet) -> surelift.Identifier:
    return surelift.Identifier(arm, everything.with_prior(PRIOR, arm), np.zeros(7))


def test_measurements_mean_the_same_in_any_order(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    t, *rows = ticks(arm, 301)
    one, other = identifier(arm, everything), identifier(arm, everything)
    one.push(t, *rows)
    other.push(t, *(np.asfortranarray(x) for x in rows))
    expected, found = one.update(), other.update()
    assert np.array_equal(found.lower, expected.lower) and np.array_equal(found.upper, expected.upper)
    assert expected.upper[10 * arm.end_effector] < everything.with_prior(PRIOR, arm).upper[10 * arm.end_effector]


def test_a_push_that_is_refused_leaves_the_identifier_as_it_was(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    one, other = identifier(arm, everything), identifier(arm, everything)
    one.push(*ticks(arm, 301))
    t, q, dq, tau = ticks(arm, 301)
    late = t.copy()
    late[250:] += 1.0
    for bad in ([late, q, dq, tau], [t, q, dq, np.where(np.arange(301)[:, None] == 250, np.nan, tau)], [t, q, dq[:300], tau]):
        with pytest.raises(surelift.InputError):
            other.push(*bad)
    # Had 250 ticks been taken, the first one of these would be refused.
    other.push(t, q, dq, tau)
    assert np.array_equal(one.update().upper, other.update().upper)
    jumped = ticks(arm, 100, 301)
    jumped[1][50:] += 0.5
    with pytest.raises(surelift.BrokenError):
        other.push(*jumped)
    other.push(*ticks(arm, 100, 301))


def test_bodies_that_are_none_are_refused(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    assert everything.mass(6)[1] > 0.0
    for body in (7, 8, 9, 2**63, 2**64 - 1, 2**64, -1):
        with pytest.raises(surelift.InputError, match=f"body: {body}, expected"):
            everything.mass(body)
    with pytest.raises(surelift.InputError, match="body: 0, but the set has none"):
        surelift.ParameterSet([0.0], [1.0]).mass(0)


def test_numbers_that_are_none_are_refused_by_name(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    for seed in (-1, 2**64):
        for call in (
            lambda: surelift.SimulatedArm(arm, START, seed=seed),
            lambda: surelift.Job(arm, surelift.SimulatedArm(arm, START), seed=seed),
            lambda: surelift.propose(arm, everything, START, START, 1.0, seed=seed),
            lambda: surelift.run("nothing.toml", seed=seed),
        ):
            with pytest.raises(surelift.InputError, match=f"seed: {seed}, expected a whole number"):
                call()
    with pytest.raises(surelift.InputError, match="q: could not convert"):
        arm.model.gravity(["a"] * 7)
    with pytest.raises(surelift.InputError, match="q: .*inhomogeneous"):
        arm.model.gravity([[0.0], [0.0, 1.0]])
    with pytest.raises(surelift.InputError, match=r"objects\[0\]: centre"):
        surelift.SimulatedArm(arm, START, [(1.0, [0, 0], [1, 1, 1])])


def test_paths_of_any_kind_will_do() -> None:
    robots = Path(__file__).parents[2] / "robots"
    assert surelift.load(robots / "z1.toml").dof == surelift.load(str(robots / "z1.toml")).dof
    assert surelift.load_model(robots / "z1.toml").nq == surelift.load_model("z1").nq


def test_a_panic_is_of_the_family() -> None:
    with pytest.raises(surelift.FaultError, match="a fault of the library.*joint 3"):
        getattr(surelift._native, "_panic")("joint 3")
    assert issubclass(surelift.FaultError, surelift.SureliftError)


def test_a_job_belongs_to_its_thread_and_does_one_thing_at_a_time(arm: surelift.Arm) -> None:
    refused: list[str] = []
    made: list[surelift.Job] = []

    def again(_: str) -> None:
        for job in made:
            try:
                job.report()
            except surelift.BusyError as error:
                refused.append(str(error))

    job = surelift.Job(arm, surelift.SimulatedArm(arm, START), progress=again)
    made.append(job)
    job.move_to(START + 0.1)
    assert refused and "at work in another call" in refused[0]
    elsewhere: list[BaseException] = []

    def from_elsewhere() -> None:
        try:
            job.report()
        except BaseException as error:
            elsewhere.append(error)

    thread = threading.Thread(target=from_elsewhere)
    thread.start()
    thread.join()
    assert isinstance(elsewhere[0], surelift.BusyError) and "belongs to another thread" in str(elsewhere[0])
    assert "move_to" in job.report()


def test_an_identifier_takes_and_learns_at_once_but_no_two_learn(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    learning = identifier(arm, everything)
    learning.push(*ticks(arm, 4001))
    begun, errors = threading.Barrier(2), []

    def learn() -> None:
        begun.wait()
        try:
            learning.update()
        except surelift.SureliftError as error:
            errors.append(error)

    thread = threading.Thread(target=learn)
    thread.start()
    begun.wait()
    pushed = 0
    while thread.is_alive():
        learning.push(*ticks(arm, 1, 4001 + pushed))
        pushed += 1
        try:
            learning.update()
        except surelift.SureliftError as error:
            errors.append(error)
    thread.join()
    assert pushed > 0 and all(isinstance(error, surelift.BusyError) for error in errors)
