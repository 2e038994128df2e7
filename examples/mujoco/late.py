"""When a plant's readings are taken, its commands act and its ticks come, and how its drives follow: late within stated bounds.

Where all bounds are zero readings are of their tick, commands act at once, ticks are a control period apart, and drives apply what they are asked for.
"""

from collections import deque

import numpy as np

ZERO_TO_BOUND, BOTH_SIDES = range(2)


class Habit:
    """Where figures lie between 0 and 1. At the ends: always at one, at one and the other by turns, or at either by chance. Else: always the same, or another one
    at each draw."""

    def __init__(self, rng, size, at_ends, kind=ZERO_TO_BOUND):
        self.rng, self.size, self.at_ends = rng, size, at_ends
        # A time that is always zero is not late.
        end = np.ones(size) if kind == ZERO_TO_BOUND else rng.integers(0, 2, size).astype(float)
        self.same = end if at_ends else rng.uniform(0.0, 1.0, size)
        self.how = rng.integers(0, 3 if at_ends else 2, size)
        self.turn = rng.integers(0, 2, size).astype(float)

    def draw(self):
        self.turn = 1.0 - self.turn
        chance = self.rng.integers(0, 2, self.size).astype(float) if self.at_ends else self.rng.uniform(0.0, 1.0, self.size)
        return np.where(self.how == 0, self.same, np.where(self.how == 1, chance, self.turn))


class Clock:
    """Ticks that shake, with right stamps; commands on their way; states that encoders may still tell."""

    def __init__(self, rng, timing, period, at_ends):
        self.age_s, self.delay_s, self.jitter_s = (timing[key] for key in ("reading_age_max_s", "command_delay_max_s", "jitter_max_s"))
        self.ages, self.delays = (Habit(rng[k], 1, at_ends) for k in (0, 1))
        self.shakes = Habit(rng[2], 1, at_ends, BOTH_SIDES)
        self.period, self.ticks, self.shift, self.t = period, 0, 0.0, 0.0
        # With the time at which each begins to act; the next one first.
        self.coming = deque()
        # None while brakes hold the arm.
        self.acting = None
        self.past = deque()

    def begin(self):
        """A tick begins: how long it is, and how old the reading at its end will be, s."""
        self.length = self.period + self.jitter_s * (2.0 * self.shakes.draw()[0] - 1.0)
        self.age = self.age_s * self.ages.draw()[0]

    def end(self):
        """The next tick. Its stamp is right."""
        self.ticks += 1
        self.shift += self.length - self.period
        self.t = self.ticks * self.period + self.shift

    def command(self, tau):
        """Commands act in the order in which they are given."""
        at = self.t + self.delay_s * self.delays.draw()[0]
        self.coming.append((max(at, self.coming[-1][0]) if self.coming else at, tau))

    def let_go(self):
        """Brakes hold the arm from now on."""
        self.coming.clear()
        self.acting = None

    def pieces(self):
        """From when to when since the tick (s) which command acts. A piece also ends where the next reading is taken: the state there is one that is integrated."""
        since = 0.0
        while True:
            while self.coming and self.coming[0][0] - self.t <= since:
                self.acting = self.coming.popleft()[1]
            until = self.length
            if self.coming:
                until = min(until, self.coming[0][0] - self.t)
            if 0.0 < self.age and since < self.length - self.age < until:
                until = self.length - self.age
            yield since, until, self.acting
            if until >= self.length:
                return
            since = until

    def remember(self, since, q, dq):
        """The state so long after the tick, s."""
        if self.age_s == 0.0:
            return
        t = self.t + since
        self.past.append((t, q.copy(), dq.copy()))
        # One that is older than any reading stays, to come from.
        while len(self.past) > 1 and self.past[1][0] < t - self.age_s:
            self.past.popleft()

    def told(self, q, dq):
        """The state that the encoders tell at this tick, given the one there is: between two that were integrated on the cubic through both."""
        t = self.t - self.age
        if self.age == 0.0 or not self.past or t <= self.past[0][0]:
            return (self.past[0][1], self.past[0][2]) if self.age > 0.0 and self.past else (q, dq)
        for k in range(len(self.past) - 1, 0, -1):
            (a, qa, da), (b, qb, db) = self.past[k - 1], self.past[k]
            if a <= t <= b and a < b:
                length, x = b - a, (t - a) / (b - a)
                rise, start, end = qb - qa, length * da, length * db
                c, d = 3.0 * rise - 2.0 * start - end, start + end - 2.0 * rise
                return qa + x * (start + x * (c + x * d)), (start + x * (2.0 * c + 3.0 * x * d)) / length
        return q, dq


class DriveLag:
    """T dl/dt = command - l, with another T for each joint, and another one whenever a piece of a tick begins."""

    def __init__(self, rng, bound_s, joints, at_ends):
        self.bound_s, self.habit = bound_s, Habit(rng, joints, at_ends)
        self.torque, self.lag = np.zeros(joints), np.zeros(joints)

    def new_lags(self):
        self.lag = self.bound_s * self.habit.draw()

    def hold(self, torque):
        """The arm stands by these torques."""
        self.torque = torque.copy()

    def mean(self, command, h):
        """Mean of l over the next h seconds. The integration takes it for l: so its impulse is right however short the lag is."""
        if self.bound_s == 0.0:
            return command
        lags = self.lag > 0.0
        lag = np.where(lags, self.lag, 1.0)
        behind = np.where(lags, self.torque - command, 0.0)
        left = behind * np.exp(-h / lag)
        self.torque = command + left
        return command + lag / h * (behind - left)
