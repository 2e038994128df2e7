"""How errors of a plant wander within their bounds."""

import numpy as np

# A joint's cogging has so many periods in a turn.
PERIODS_A_TURN = (4.0, 400.0)


class Course:
    """How an error wanders within its bound: it stays, often at an end; it is another at every tick; or it goes with the position, as cogging does."""

    # Ticks that are drawn at once.
    BLOCK = 1024

    def __init__(self, rng, bound, at_ends, cogging=False):
        self.rng, self.bound, self.at_ends = rng, bound, at_ends
        n = len(bound)
        self.constant = self.draw((n,))
        kind = rng.integers(0, 3 if cogging else 2, n)
        self.stays, self.cogs = kind == 0, kind == 2
        self.wave = rng.uniform(*PERIODS_A_TURN, n)
        self.phase = rng.uniform(0.0, 2 * np.pi, n)
        self.ticks, self.ideal, self.moves = 0, not bound.any(), cogging and self.cogs.any()
        self.new_tick()

    def draw(self, shape):
        share = self.rng.uniform(-1.0, 1.0, shape)
        return np.where(share < 0, -1.0, 1.0) if self.at_ends else share

    def new_tick(self):
        k = self.ticks % self.BLOCK
        if k == 0:
            block = self.draw((self.BLOCK, len(self.bound)))
            self.errors = self.bound * np.where(self.stays, self.constant, block)
        self.error = self.errors[k]
        self.ticks += 1

    def at(self, q):
        if self.moves and not self.ideal:
            return np.where(self.cogs, self.bound * np.sin(self.wave * q + self.phase), self.error)
        return self.error
