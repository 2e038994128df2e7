"""The promise: readings, commands, ticks and drives of the plant are late within their bounds, reach both ends, and are on time where the bounds are zero."""

import numpy as np

from late import Clock, DriveLag

PERIOD_S = 1e-3
TICKS = 400
NAMES = ("reading_age_max_s", "command_delay_max_s", "jitter_max_s")


def course(t):
    """A motion whose position tells when it was: the cubic through two of its states is exact."""
    return np.array([t**3 - 2 * t, 5.0]), np.array([3 * t * t - 2, 0.0])


def when(q, near):
    """By Newton's method."""
    for _ in range(9):
        near -= (course(near)[0][0] - q[0]) / course(near)[1][0]
    return near


def lateness(seed, bounds):
    """Ages, delays and jitters of a run, s."""
    rng = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)]
    clock = Clock(rng, dict(zip(NAMES, bounds)), PERIOD_S, seed % 2 == 1)
    ages, jitters, given, acted, stamp = [], [], {}, {}, 0.0
    for k in range(TICKS):
        clock.begin()
        clock.command(k)
        given[k] = clock.t
        clock.remember(0.0, *course(clock.t))
        ends = 0.0
        for since, until, acting in clock.pieces():
            assert since == ends and until > since, "pieces leave nothing out"
            ends = until
            if acting is not None:
                acted.setdefault(acting, clock.t + since)
            for x in np.linspace(since, until, 5)[1:]:
                clock.remember(x, *course(clock.t + x))
        assert ends == clock.length
        clock.end()
        jitters.append(clock.t - stamp - PERIOD_S)
        stamp = clock.t
        q, dq = clock.told(*course(clock.t))
        was = when(q, clock.t)
        assert abs(dq[0] - course(was)[1][0]) < 1e-9, "positions and speeds of one moment"
        if clock.t > bounds[0]:
            ages.append(clock.t - was)
    assert list(acted) == sorted(acted), "commands act in their order"
    return ages, [acted[k] - given[k] for k in acted], jitters


def reached(figures, least, most):
    low, high = min(map(min, figures)), max(map(max, figures))
    assert abs(low - least) < 1e-12 and abs(high - most) < 1e-12, f"{low} to {high}, expected {least} to {most}"


def times():
    for age, delay, jitter in [(5e-4, 4e-4, 1e-4), (2.5e-3, 1.5e-3, 2e-4), (0.0, 0.0, 0.0)]:
        ages, delays, jitters = zip(*(lateness(seed, (age, delay, jitter)) for seed in range(40)))
        reached(ages, 0.0, age)
        reached(delays, 0.0, delay)
        reached(jitters, -jitter, jitter)


def lags(bound_s, step_s=2.5e-4, joints=5):
    command, lengths = np.arange(joints) - 2.0, []
    for seed in range(20):
        drives = DriveLag(np.random.default_rng(seed), bound_s, joints, seed % 2 == 1)
        drives.hold(np.full(joints, 3.0))
        for _ in range(20):
            drives.new_lags()
            before, lag = drives.torque, np.maximum(drives.lag, 1e-12)
            mean = drives.mean(command, step_s)
            lengths.append(drives.lag)
            # T dl/dt = command - l, from what it was.
            x = (np.arange(20000) + 0.5)[:, None] * step_s / 20000
            follows = command + (before - command) * np.exp(-x / lag)
            if bound_s == 0.0:
                assert (mean == command).all()
            else:
                assert np.abs(follows.mean(axis=0) - mean).max() < 1e-5
                assert np.abs(command + (before - command) * np.exp(-step_s / lag) - drives.torque).max() < 1e-12
    reached(lengths, 0.0, bound_s)


if __name__ == "__main__":
    times()
    lags(2e-3)
    lags(0.0)
