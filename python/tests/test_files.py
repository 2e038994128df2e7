"""The promise: scenarios and estimation problems run from Python, with progress; logs are learnt from."""

import sys
from pathlib import Path

import numpy as np
import pytest

import surelift

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import identify_log  # noqa: E402
import pick  # noqa: E402

ROOT = Path(__file__).parents[2]
PRIOR = ROOT / "scenarios/priors/gen3_hand.toml"


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
    prior = surelift.ParameterSet.around_nominal(arm).with_prior(PRIOR, arm)
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


def recording(arm: surelift.Arm, theta: np.ndarray) -> np.ndarray:
    """t, q, dq and tau of an arm with these parameters, which follows a motion exactly; a line a tick."""
    start, end = [0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5], [0.6, 0.0, 2.8, -1.4, 0.6, 0.9, 0.9]
    everything = surelift.ParameterSet.around_nominal(arm)
    plan = surelift.certify(arm, everything, start, end, 4.0)
    t = arm.period_s * np.arange(int(4.0 / arm.period_s))
    q, dq, ddq = (np.array(x) for x in zip(*(plan.desired(at) for at in t)))
    joints = theta[10 * arm.dof :].reshape(arm.dof, 4)
    tau = arm.model.rnea(q, dq, ddq, theta) + joints[:, 0] * np.sign(dq) + joints[:, 1] * dq
    return np.column_stack([t, q, dq, tau])


def written(path: Path, rows: np.ndarray) -> str:
    names = ["t"] + [f"{what}{j}" for what in ("q", "dq", "tau") for j in range(1, 8)]
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return str(path)


def test_a_log_says_what_the_hand_holds(tmp_path: Path) -> None:
    arm = surelift.load("kinova_gen3_2f85")
    prior = surelift.ParameterSet.around_nominal(arm).with_prior(PRIOR, arm)
    theta = arm.model.nominal_parameters()
    hand = slice(10 * arm.end_effector, 10 * arm.end_effector + 10)
    theta[hand] += pick.block(2.0, [0.0, 0.0, 0.12], [0.06, 0.12, 0.06], arm.tool_frame()[1])
    assert prior.contains(theta)
    rows = recording(arm, theta)
    log = written(tmp_path / "log.csv", rows)
    found = identify_log.identify(log, str(PRIOR))
    assert found["verdict"]["kind"] == "consistent"
    for parameter, truth in zip(found["parameters"], theta[hand]):
        low, high = parameter["set"]
        assert low <= truth <= high, parameter["name"]
    mass = found["parameters"][0]["set"]
    assert mass[1] - mass[0] < 0.5 * (prior.mass(arm.end_effector)[1] - prior.mass(arm.end_effector)[0])

    told: list[str] = []
    surelift.identify(arm, [log], "payload", prior=PRIOR, progress=told.append)
    assert told[0].startswith("read ") and any(words.startswith("recordings identified") for words in told), told

    def stop(_: str) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        surelift.identify(arm, [log], "payload", prior=PRIOR, progress=stop)

    rows[100, 3] = np.nan
    bad = written(tmp_path / "bad.csv", rows)
    with pytest.raises(surelift.InputError, match="bad.csv.*line 102.*q3"):
        surelift.identify(arm, [bad])
    with pytest.raises(surelift.InputError, match="nothing.csv"):
        surelift.identify(arm, [log], validate="nothing.csv")
    with pytest.raises(surelift.InputError, match="prior"):
        surelift.identify(arm, [log], "payload")
    with pytest.raises(surelift.InputError, match="unknown: 'mass'"):
        surelift.identify(arm, [log], "mass")
    with pytest.raises(surelift.InputError, match="logs: none"):
        surelift.identify(arm, [])
    with pytest.raises(surelift.InputError, match="acceleration"):
        surelift.identify(arm, [log], acceleration=[1.0, np.nan, 1.0, 1.0, 1.0, 1.0, 1.0])
    with pytest.raises(surelift.InputError, match="window_s"):
        surelift.identify(arm, [log], window_s=-1.0)
