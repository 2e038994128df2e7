"""Feedback loops inside the motors of a plant: each drive adds a torque to what it is asked for, from readings of its own that are old within a stated bound.

A loop runs in cycles. At the beginning of each it takes a reading, and it uses that in the same cycle, or the one of the cycle before: then arithmetic takes
a cycle. The age of a reading at the end of its use is what the bound is for. Cycles run on from tick to tick: a command comes at any place in one, and acts
with whatever reading is in use.
"""

from dataclasses import dataclass

import numpy as np

from late import Habit

# No piece of a tick is shorter, s: what speeds gain in one that is would be rounding. Where it would be, a reading is taken so much earlier.
SHORTEST_S = 1e-9
# The shortest cycle in parts of the longest one.
LEAST = 0.3


def cut(torque, limit):
    return np.maximum(np.minimum(torque, limit), -limit)


@dataclass
class MotorCommand:
    """What loops are told for a tick: q_ref (rad), dq_ref (rad/s), K_r (1/s), k_j (N m s/rad), u_j (N m)."""

    q_ref: np.ndarray
    dq_ref: np.ndarray
    k_r: np.ndarray
    gain: np.ndarray
    limit: np.ndarray

    def torque(self, q, dq):
        """What loops add for a reading, N m."""
        r = self.dq_ref - dq + self.k_r * (self.q_ref - q)
        return cut(self.gain * r, self.limit)


class Motors:
    """The loops of an arm whose readings are at most `age_s` old; 0: it has none. `errors` of readings are two courses, of positions (rad) and of speeds (rad/s)."""

    def __init__(self, rng, age_s, errors, torque_limit, at_ends):
        self.age_s, self.errors, self.torque_limit, self.at_ends = age_s, errors, torque_limit, at_ends
        # Cycles from a reading to its use.
        self.behind = int(rng.integers(0, 2))
        self.longest = age_s / (1 + self.behind)
        self.lengths = Habit(rng, 1, False)
        self.let_go()

    def let_go(self):
        """The arm is held in another way: readings are of no use any more."""
        # The newest one last; the first is in use.
        self.readings, self.left = [], 0.0

    def read(self, q, dq):
        """A cycle begins."""
        for course in self.errors:
            course.new_tick()
        reading = (q + self.errors[0].at(q), dq + self.errors[1].at(q))
        # An arm that begins to move was at rest: an earlier reading would have said the same.
        earlier = self.readings or [reading] * self.behind
        self.readings = [*earlier, reading][-1 - self.behind :]
        share = 1.0 if self.at_ends else LEAST + (1.0 - LEAST) * self.lengths.draw()[0]
        self.left = share * self.longest

    def pieces(self, since, end, state):
        """From when to when since the tick (s) which reading is in use. `state` is q and dq, there and then."""
        while since < end:
            if self.left < 2.0 * SHORTEST_S:
                self.read(*state)
            until = min(since + self.left, end)
            if 0.0 < end - until < SHORTEST_S:
                until = end - SHORTEST_S
                self.left = until - since
            yield since, until
            self.left -= until - since
            since = until

    def total(self, tau, loops):
        """What drives are asked for with the reading in use, N m: they cut it at the joints' limits."""
        return cut(tau + loops.torque(*self.readings[0]), self.torque_limit)
