"""The promise: dynamics by numpy arrays, one state or many, agree with each other; wrong shapes are named."""

import numpy as np
import pytest

import surelift

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def model() -> surelift.Model:
    return surelift.load_model("kinova_gen3")


def states(model: surelift.Model, count: int) -> list[np.ndarray]:
    return [RNG.uniform(-1, 1, (count, model.nv)) for _ in range(3)]


def test_one_state_and_many_agree(model: surelift.Model) -> None:
    # More than one thread's share, and no whole number of shares.
    q, v, a = states(model, 101)
    tau = model.rnea(q, v, a)
    assert tau.shape == (101, model.nv)
    for i in (0, 31, 32, 100):
        assert np.array_equal(tau[i], model.rnea(q[i], v[i], a[i]))
    assert np.array_equal(model.mass_matrix(q)[7], model.mass_matrix(q[7]))


def test_torques_and_accelerations_undo_each_other(model: surelift.Model) -> None:
    q, v, a = states(model, 20)
    assert np.allclose(model.forward_dynamics(q, v, model.rnea(q, v, a)), a, atol=1e-8)
    # tau = M a + C v + g.
    still = np.zeros_like(q)
    assert np.allclose(model.rnea(q, still, still), model.gravity(q), atol=1e-12)
    moved = np.einsum("nij,nj->ni", model.mass_matrix(q), a)
    assert np.allclose(model.rnea(q, v, a) - model.rnea(q, v, still), moved, atol=1e-9)


def test_the_regressor_is_linear_in_the_parameters(model: surelift.Model) -> None:
    q, v, a = states(model, 10)
    theta = model.nominal_parameters()
    bodies = model.nv
    armature = theta[10 * bodies :].reshape(bodies, 4)[:, 2]
    links = model.regressor(q, v, a) @ theta[: 10 * bodies]
    assert np.allclose(links + armature * a, model.rnea(q, v, a), atol=1e-9)
    doubled = theta.copy()
    doubled[: 10 * bodies] *= 2
    assert np.allclose(model.gravity(q, doubled), 2 * model.gravity(q), atol=1e-9)


def test_jacobians_are_slopes_of_placements(model: surelift.Model) -> None:
    q, step = RNG.uniform(-1, 1, model.nq), 1e-6
    assert "end_effector_link" in [name.lower() for name in model.frame_names]
    for link in model.frame_names:
        jacobian = model.frame_jacobian(link, q)
        for j in range(model.nv):
            d = np.zeros(model.nq)
            d[j] = step
            slope = (model.frame_placement(link, q + d) - model.frame_placement(link, q - d)) / (2 * step)
            assert np.allclose(slope[:3, 3], jacobian[:3, j], atol=1e-8)


def test_energy_changes_by_the_work_that_is_done(model: surelift.Model) -> None:
    q, v, a = (x[0] for x in states(model, 1))
    step = 1e-6
    after = model.energy(q + step * v + step**2 / 2 * a, v + step * a).sum()
    before = model.energy(q - step * v + step**2 / 2 * a, v - step * a).sum()
    power = model.rnea(q, v, a) @ v
    assert (after - before) / (2 * step) == pytest.approx(power, rel=1e-6, abs=1e-6)


def test_legged_robots_have_dynamics_too() -> None:
    go1 = surelift.load_model("go1")
    assert (go1.nq, go1.nv) == (19, 18)
    q = np.zeros(19)
    q[6] = 1.0
    assert go1.mass_matrix(q).shape == (18, 18)
    with pytest.raises(surelift.InputError, match="floating base"):
        go1.regressor(q, np.zeros(18), np.zeros(18))


def test_wrong_shapes_are_named(model: surelift.Model) -> None:
    q = np.zeros(model.nq)
    for wrong, told in [
        ((q[:6], q, q), r"q: array of shape \[6\], expected \(7,\)"),
        ((q, np.zeros((2, 7)), q), "v: expected as many states as `q` has"),
        ((q, q, np.zeros((2, 2, 7))), r"a: array of shape \[2, 2, 7\]"),
    ]:
        with pytest.raises(surelift.InputError, match=told):
            model.rnea(*wrong)
    with pytest.raises(surelift.InputError, match="theta"):
        model.gravity(q, q)
    with pytest.raises(surelift.InputError, match="no_such"):
        surelift.load_model("no_such_robot")
    with pytest.raises(surelift.InputError, match="frame 'nowhere': expected one of"):
        model.frame_placement("nowhere", q)
    # No states at all are none.
    assert model.rnea(np.zeros((0, 7)), np.zeros((0, 7)), np.zeros((0, 7))).shape == (0, 7)


def test_arrays_with_gaps_and_of_integers_will_do(model: surelift.Model) -> None:
    wide = RNG.uniform(-1, 1, (5, 14))
    assert np.array_equal(model.gravity(wide[:, ::2]), model.gravity(wide[:, ::2].copy()))
    assert np.array_equal(model.gravity([0] * 7), model.gravity(np.zeros(7)))
