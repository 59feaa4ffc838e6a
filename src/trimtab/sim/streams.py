"""Randomness by purpose: each kind of chance has a stream of its own.

So two policies with one seed start from the same placement and meet the same failures
(common random numbers), however differently they go on: what one of them draws more of
does not shift what the other one gets.
"""

from enum import IntEnum
from random import Random

import numpy as np


class Purpose(IntEnum):
    """What a draw is for; the number is part of the seed and never changes its meaning."""

    INITIAL_PLACEMENT = 1
    SCHEDULER_TIES = 2
    VICTIMS = 3
    FAILURES = 4
    TIMER_PHASES = 5


def stream(seed: int, purpose: Purpose) -> Random:
    """A stream that depends on nothing but seed and purpose.

    Python's generator: a draw takes a tenth of the time of NumPy's where one is drawn at a time.
    """
    words = np.random.SeedSequence([purpose, seed % 2**64]).generate_state(8)
    return Random(words.tobytes())


def victims_of_cycle(seed: int, cycle: int) -> Random:
    """A fresh stream for each cycle: earlier choices do not shift later ones."""
    return Random(f"{Purpose.VICTIMS}/{seed}/{cycle}")


def attempt_fails(seed: int, vm: int, attempt: int, rate: float) -> bool:
    """Whether the n-th migration of a VM fails: a function of its arguments, not of history."""
    if rate <= 0.0:
        return False
    words = np.random.SeedSequence([Purpose.FAILURES, seed % 2**64, vm, attempt])
    return int(words.generate_state(1)[0]) < rate * 2**32
