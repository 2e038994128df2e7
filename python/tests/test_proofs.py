"""The promise: motions are proven or refused by name, plans survive a file, and the law follows them."""

import json
from pathlib import Path

import numpy as np
import pytest

import surelift

START = np.array([0.0, 0.3, 3.1, -1.8, 0.0, 0.5, 1.5])
END = np.array([0.3, 0.2, 3.0, -1.6, 0.3, 0.7, 1.2])


@pytest.fixture(scope="module")
def arm() -> surelift.Arm:
    return surelift.load("kinova_gen3_2f85")


@pytest.fixture(scope="module")
def everything(arm: surelift.Arm) -> surelift.ParameterSet:
    return surelift.ParameterSet.around_nominal(arm)


@pytest.fixture(scope="module")
def plan(arm: surelift.Arm, everything: surelift.ParameterSet) -> surelift.Plan:
    return surelift.certify(arm, everything, START, END, 3.0)


def test_a_proven_motion_says_what_is_to_spare(arm: surelift.Arm, plan: surelift.Plan) -> None:
    assert plan.duration_s == 3.0
    for family in ("position", "velocity", "torque", "collision", "tube"):
        value = plan.certificate[family]["value"]
        assert value is None or value >= 0
    assert plan.tracking_error_rad.shape == (arm.dof,) and (plan.tracking_error_rad > 0).all()
    q, dq, ddq = plan.desired(3.0)
    assert np.allclose(q, END) and not dq.any() and not ddq.any()


def test_what_cannot_be_proven_is_refused_by_name(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    through = surelift.Scene().with_box("post", [0.4, 0.0, 0.3], [0.6, 0.6, 0.9])
    with pytest.raises(surelift.NotProvenError, match="post"):
        surelift.certify(arm, everything, START, END, 3.0, through)
    with pytest.raises(surelift.NotProvenError):
        surelift.certify(arm, everything, START, END + 1.0, 0.2)


def test_a_plan_survives_a_file_and_a_tampered_one_does_not(plan: surelift.Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan.to_json())
    again = surelift.Plan.load(path)
    again.verify()
    assert again.to_json() == plan.to_json()
    content = json.loads(plan.to_json())
    content["tube"]["drift_nm"] = [0.5 * x for x in content["tube"]["drift_nm"]]
    path.write_text(json.dumps(content))
    with pytest.raises(surelift.NotProvenError):
        surelift.Plan.load(path).verify()
    path.write_text(plan.to_json()[:-100])
    with pytest.raises(surelift.InputError, match="plan.json"):
        surelift.Plan.load(path)


def test_a_proposal_leads_towards_the_target(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    found = surelift.propose(arm, everything, START, START + 0.3, 3.0, seconds=20.0)
    end, *_ = found.desired(3.0)
    assert np.abs(end - (START + 0.3)).max() < 0.05
    found.verify()


def test_the_law_asks_for_no_more_than_the_drives_have(arm: surelift.Arm, plan: surelift.Plan) -> None:
    controller = surelift.Controller(plan)
    for tick in range(100):
        q, dq, _ = plan.desired(tick * arm.period_s)
        assert (np.abs(controller.tick(tick * arm.period_s, q, dq)) <= arm.torque_limits).all()
    assert controller.stopped is None
    q, dq, _ = plan.desired(0.1)
    controller.tick(0.1, q + 0.3, dq)
    assert controller.stopped is not None
    with pytest.raises(surelift.InputError, match="dq"):
        controller.tick(0.1, q, dq[:3])


def test_a_clock_that_goes_back_stops_the_arm(plan: surelift.Plan) -> None:
    for late in (np.nan, -1.0, 0.0, 0.5):
        controller = surelift.Controller(plan)
        q, dq, _ = plan.desired(0.0)
        controller.tick(0.0, q, dq)
        assert controller.stopped is None
        assert np.isfinite(controller.tick(late, q, dq)).all()
        assert controller.stopped is not None and "Clock" in controller.stopped


def test_nonsense_is_refused(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    bad = START.copy()
    bad[2] = np.nan
    with pytest.raises(surelift.InputError, match="start: entry 2"):
        surelift.certify(arm, everything, bad, END, 3.0)
    for seconds in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(surelift.InputError):
            surelift.certify(arm, everything, START, END, seconds)
    with pytest.raises(surelift.InputError, match="size_m of 'b'"):
        surelift.Scene().with_box("b", [0, 0, 0], [1, 0, 1])
    small = surelift.ParameterSet([0.0], [1.0])
    with pytest.raises(surelift.InputError, match="set of 1 parameters"):
        surelift.certify(arm, small, START, END, 3.0)
    with pytest.raises(surelift.InputError):
        surelift.ParameterSet([1.0], [0.0])
    assert issubclass(surelift.InputError, surelift.SureliftError)


def test_a_curve_of_ones_own_is_proven(arm: surelift.Arm, everything: surelift.ParameterSet, plan: surelift.Plan) -> None:
    """The motion of `certify` is one of these, and so is one that goes on in a second piece."""
    assert plan.points.shape == (1, 7, 6) and np.array_equal(plan.durations_s, [3.0])
    again = surelift.certify_curve(arm, everything, np.asfortranarray(plan.points), plan.durations_s)
    assert again.certificate == plan.certificate and np.array_equal(again.points, plan.points)
    there_and_back = np.concatenate([plan.points, plan.points[:, :, ::-1]])
    both = surelift.certify_curve(arm, everything, there_and_back, [3.0, 3.0])
    both.verify()
    assert both.duration_s == 6.0 and np.allclose(both.desired(3.0)[0], END) and np.allclose(both.desired(6.0)[0], START)

    through = surelift.Scene().with_box("post", [0.4, 0.0, 0.3], [0.6, 0.6, 0.9])
    with pytest.raises(surelift.NotProvenError, match="post"):
        surelift.certify_curve(arm, everything, plan.points, [3.0], through)
    moving, jumping = plan.points.copy(), there_and_back.copy()
    moving[0, 0, 1] += 0.1
    jumping[1, 0] += 0.1
    for points, durations, message in [
        (plan.points[0], [3.0], r"points: array of shape \[7, 6\], expected \(1 to 64, 7, 6\)"),
        (plan.points, [3.0, 3.0], "durations_s: array of shape"),
        (plan.points, [0.0], "duration"),
        (np.full((1, 7, 6), np.nan), [3.0], "points: entry 0 is NaN"),
        (jumping, [3.0, 3.0], "joint 1 does not go on from piece 1 to piece 2"),
        (moving, [3.0], "starts in motion"),
    ]:
        with pytest.raises((surelift.InputError, surelift.NotProvenError), match=message):
            surelift.certify_curve(arm, everything, points, durations)


def test_a_plan_says_how_fast_its_joints_accelerate(arm: surelift.Arm, everything: surelift.ParameterSet, plan: surelift.Plan) -> None:
    bound = plan.acceleration_bound
    desired = np.abs([plan.desired(t)[2] for t in np.linspace(0.0, 3.0, 61)]).max(axis=0)
    assert bound.shape == (7,) and (bound >= desired).all()
    surelift.Identifier(arm, everything, bound).set_acceleration_bound(2.0 * bound)
    with pytest.raises(surelift.InputError, match="acceleration_bound"):
        surelift.Identifier(arm, everything, bound).set_acceleration_bound(bound[:6])


def test_a_plan_whose_parts_do_not_fit_is_refused(plan: surelift.Plan, tmp_path: Path) -> None:
    content, path = json.loads(plan.to_json()), tmp_path / "plan.json"
    content["curve"]["points"].pop()
    path.write_text(json.dumps(content))
    with pytest.raises(surelift.InputError):
        surelift.Plan.load(path)


def test_a_set_says_what_the_payload_may_be(arm: surelift.Arm, everything: surelift.ParameterSet) -> None:
    prior = everything.with_prior(Path(__file__).parents[2] / "scenarios/priors/gen3_hand.toml", arm)
    hand = slice(10 * arm.end_effector, 10 * arm.end_effector + 10)
    found = prior.payload(arm)
    low, high = found["mass_kg"]
    assert 0.0 <= low < high and high >= (prior.upper - everything.upper)[hand][0]
    assert len(found["inertia_kg_m2"]) == 6 and "estimate" not in found
    learnt = surelift.Identifier(arm, prior, np.zeros(7)).payload(found["frame"])
    assert learnt["mass_kg"][1] <= high and low <= learnt["estimate"]["mass_kg"] <= high
    with pytest.raises(surelift.InputError, match="nowhere"):
        prior.payload(arm, "nowhere")
