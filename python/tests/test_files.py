"""The promise: scenarios and estimation problems run from Python, with progress; logs are learnt from."""

from pathlib import Path

import numpy as np
import pytest

import surelift

ROOT = Path(__file__).parents[2]


def test_a_scenario_runs_with_progress() -> None:
    told: list[str] = []
    summary = surelift.run(ROOT / "scenarios/z1_load.toml", progress=told.append)
    assert summary["outcome"] == "success" and len(told) > 3


def test_a_callback_that_raises_ends_the_run() -> None:
    def stop(_: str) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        surelift.run(ROOT / "scenarios/z1_load.toml", progress=stop)
    with pytest.raises(surelift.InputError, match="nothing.toml"):
        surelift.run("nothing.toml")
    with pytest.raises(surelift.InputError, match="no_method"):
        surelift.run(ROOT / "scenarios/z1_load.toml", method="no_method")


def test_an_estimate_is_made() -> None:
    result = surelift.estimate(ROOT / "scenarios/estimation/gen3_payload.toml")
    assert result["status"] == "converged"


def test_ticks_are_learnt_from() -> None:
    """An arm that stands says what it carries, and the truth stays inside."""
    arm = surelift.load("kinova_gen3_2f85")
    prior = surelift.ParameterSet.around_nominal(arm).with_prior(ROOT / "scenarios/priors/gen3_hand.toml", arm)
    identifier = surelift.Identifier(arm, prior, np.zeros(7))
    before = prior.mass(arm.end_effector)
    q, count = np.array([0.0, 0.9, 3.1, -1.2, 0.0, 0.8, 1.5]), 301
    theta = arm.model.nominal_parameters()
    hand = slice(10 * arm.end_effector, 10 * arm.end_effector + 10)
    theta[hand] = (prior.lower[hand] + prior.upper[hand]) / 2
    assert prior.contains(theta)
    tau = arm.model.gravity(q, theta)
    identifier.push(arm.period_s * np.arange(count), np.tile(q, (count, 1)), np.zeros((count, 7)), np.tile(tau, (count, 1)))
    learnt = identifier.update()
    low, high = learnt.mass(arm.end_effector)
    assert low <= theta[hand][0] <= high
    assert high - low < 0.9 * (before[1] - before[0])
    with pytest.raises(surelift.InputError, match="q: 3 rows, expected 2"):
        identifier.push([1.0, 2.0], np.zeros((3, 7)), np.zeros((2, 7)), np.zeros((2, 7)))
    # Torques that no load explains.
    t = arm.period_s * np.arange(count, 2 * count)
    identifier.push(t, np.tile(q, (count, 1)), np.zeros((count, 7)), np.tile(tau + 30.0, (count, 1)))
    with pytest.raises(surelift.BrokenError):
        identifier.update()
