"""The promise: readings of the loops in the plant's motors are as old and err as much as they may, and no more, whatever commands come; drives cut the sum."""

import numpy as np

from course import Course
from motors import SHORTEST_S, MotorCommand, Motors

PERIOD_S = 2e-3
TICKS = 40


def loops(seed, age_s, bounds=(0.0, 0.0), limit=30.0):
    """Of two joints."""
    rng = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)]
    at_ends = seed % 2 == 1
    errors = [Course(rng[k], np.full(2, bounds[k]), at_ends) for k in (0, 1)]
    return Motors(rng[2], age_s, errors, np.full(2, limit), at_ends)


def ages(seed, age_s):
    """At the beginnings and ends of all pieces, of an arm whose positions tell the time."""
    motors, found = loops(seed, age_s), []
    state, lengths, begun = (np.zeros(2), np.zeros(2)), [], 0.0
    for tick in range(TICKS):
        t, ends = tick * PERIOD_S, 0.0
        for since, until in motors.pieces(0.0, PERIOD_S, state):
            assert since == ends, "pieces leave nothing out"
            ends = until
            lengths.append(until - since)
            read = motors.readings[0][0][0]
            # Before it began to move it was at rest: older readings are as good as the first.
            if read > begun:
                found += [t + since - read, t + until - read]
            state[0][:] = t + until
        assert ends == PERIOD_S
        if tick % 15 == 14:
            motors.let_go()
            assert not motors.readings, "nothing from before the brakes"
            begun = t + PERIOD_S
    assert min(lengths) > 0.99 * SHORTEST_S
    return found, motors.behind


def old():
    for age_s in (5e-5, 2.5e-4, 1e-3, 3.7e-3, 1e-5 * np.pi):
        kinds = set()
        for seed in range(8):
            found, behind = ages(seed, age_s)
            kinds.add((behind, seed % 2))
            # The clock of this test has rounding.
            assert -1e-12 < min(found) and max(found) <= age_s + 1e-12, f"{max(found)} s, expected at most {age_s} s"
            if seed % 2 == 1:
                assert max(found) > age_s - 1e-12, f"{max(found)} s, expected to reach {age_s} s"
            assert (min(found) < 1e-12) == (behind == 0)
        assert len(kinds) == 4, "readings are used at once and a cycle later, at the ends and within"


def errors():
    bounds, most = (1e-5, 2e-4), [0.0, 0.0]
    for seed in range(20):
        motors, state = loops(seed, 5e-5, bounds), (np.array([1.0, -2.0]), np.array([0.5, 0.0]))
        for _ in motors.pieces(0.0, 0.1, state):
            for k in (0, 1):
                off = np.abs(motors.readings[0][k] - state[k])
                assert off.max() < bounds[k] + 1e-15
                assert seed % 2 == 0 or off.min() > bounds[k] - 1e-15, "at the ends"
                most[k] = max(most[k], off.max())
    assert most[0] > 0.999 * bounds[0] and most[1] > 0.999 * bounds[1]


def torques():
    motors, state = loops(0, 5e-5, limit=12.0), (np.array([0.1, 0.2]), np.array([0.3, -0.1]))
    next(iter(motors.pieces(0.0, PERIOD_S, state)))
    both = np.ones(2)
    told = MotorCommand(np.array([0.11, 0.2]), np.array([0.3, 0.1]), np.array([8.0]), 10.0 * both, 1.5 * both)
    # 10 (8 * 0.01) and 10 * 0.2, which is above the loop's limit.
    assert np.abs(motors.total(np.array([1.0, 3.0]), told) - [1.8, 4.5]).max() < 1e-12
    # The joint's limit is for the sum.
    assert np.abs(motors.total(np.array([-20.0, 11.0]), told) - [-12.0, 12.0]).max() < 1e-12


if __name__ == "__main__":
    old()
    errors()
    torques()
