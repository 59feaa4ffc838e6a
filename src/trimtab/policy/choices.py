"""What the descheduler leaves to chance, and who decides it here.

Three of its results depend on the order in which Go walks a map: the last bit of the mean
(T5), the order of sources with equal usage (E2) and of candidates of one class (E5). A
`Choose` puts the items of such a tie in order; everything else is determined.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Protocol, TypeVar

from trimtab.policy.view import PodView

Item = TypeVar("Item")


class Tie(Enum):
    """Where items are interchangeable to the descheduler."""

    MEAN = "T5"
    """Node numbers, in the order their percentages are added up. Asked only if it can matter."""
    SOURCES = "E2"
    """Names of over-utilised nodes with equal usage."""
    CANDIDATES = "E5"
    """Pods (`PodView`) of equal priority, QoS and preference on one node, or their numbers."""


class Choose(Protocol):
    """Puts the items of a tie in order. It may be lazy: often only the first ones are taken."""

    def __call__(self, tie: Tie, items: Sequence[Item]) -> Iterable[Item]: ...


def as_given(tie: Tie, items: Sequence[Item]) -> Iterable[Item]:
    """Keep the order of the view: for tests and explanations."""
    return items


class Shuffled:
    """Any order is as likely as any other; the same seed gives the same choices."""

    def __init__(self, seed: int | str | random.Random) -> None:
        source = seed if isinstance(seed, random.Random) else random.Random(seed)
        self._bits = source.getrandbits

    def __call__(self, tie: Tie, items: Sequence[Item]) -> Iterable[Item]:
        """Draws one item at a time, so taking two of a thousand costs two draws and a copy."""
        rest, bits = list(items), self._bits
        left = len(rest)
        while left:
            # As `below`, whose calls would take half of the time; so many share one width.
            width = left.bit_length()
            shortest = 1 << (width - 1)
            while left >= shortest:
                at = bits(width)
                if at < left:
                    left -= 1
                    taken = rest[at]
                    rest[at] = rest[left]
                    yield taken


def below(source: random.Random) -> Callable[[int], int]:
    """The same draws as `source.randrange`, which takes three times as long."""
    bits = source.getrandbits

    def draw(count: int) -> int:
        width = count.bit_length()
        drawn = bits(width)
        while drawn >= count:
            drawn = bits(width)
        return drawn

    return draw


class Answer(Enum):
    """What the API server says to an eviction."""

    EVICTED = "evicted"
    """It happened; the cycle's counters grow."""
    BACKGROUND = "background"
    """429 with "Eviction triggered evacuation" to a pod that asks for it: in flight from now on."""
    REFUSED = "refused"
    """Anything else: a PDB, a VM that cannot migrate, a 403. The next pod is tried."""


Answers = Callable[[PodView], Answer]


def willing(pod: PodView) -> Answer:
    """Every eviction is granted; with `request-evict-only` in background, as by KubeVirt."""
    return Answer.BACKGROUND if pod.traits.request_evict_only else Answer.EVICTED
