"""Is what we call chance really chance?

Following the real choices inside our ties cannot notice a tie that is none: if we said that
QoS plays no part, every real order would still be one of those we allow. So the orders seen
inside ties are looked at together: where two members differ in something that could decide,
both orders must occur.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from builders.conformance.compare import Judgement
from trimtab.policy import Run, Traits

_WAYS = (True, False)
_ENOUGH = 8
"""One order in this many pairs in a row is no chance: 1 in 128."""


Orders = Counter[tuple[str, bool]]


def orders_in(judgement: Judgement) -> Orders:
    """How often neighbours inside a tie came with the lesser first, by what they differ in."""
    return Counter(_pairs(judgement))


def not_chance(orders: Orders) -> list[str]:
    """Ties whose members always came in one order."""
    features = sorted({feature for feature, _ in orders})
    return [
        f"{feature}: in ties always the same way, {sum(orders[feature, w] for w in _WAYS)} times"
        for feature in features
        if sum(orders[feature, way] for way in _WAYS) >= _ENOUGH
        and not all(orders[feature, way] for way in _WAYS)
    ]


def _pairs(judgement: Judgement) -> Iterator[tuple[str, bool]]:
    """Neighbours inside a tie that the cycle really came to, and differ."""
    for run in judgement.cycle.runs:
        yield from _sources(run, judgement.cycle.nodes)
        for visit in run.visits:
            group = {pod.uid: at for at, equals in enumerate(visit.candidates) for pod in equals}
            for one, other in pairwise(step.pod for step in visit.steps):
                if group[one.uid] == group[other.uid]:
                    yield from _differences(one.traits, other.traits)


def _sources(run: Run, nodes: Sequence[str]) -> Iterator[tuple[str, bool]]:
    if run.figures is None:
        return
    totals = np.stack(list(run.figures.usage.values())).sum(axis=0).tolist()
    group = {node: at for at, equals in enumerate(run.sources) for node in equals}
    for a, b in pairwise(nodes.index(visit.node) for visit in run.visits):
        if group[a] == group[b] and totals[a] != totals[b]:
            yield f"usage of the sources of {run.plugin}", totals[a] < totals[b]


def _differences(one: Traits, other: Traits) -> Iterator[tuple[str, bool]]:
    for feature, a, b in (
        ("priority", _priority(one), _priority(other)),
        ("QoS", int(one.qos), int(other.qos)),
        ("preference", int(one.prefer_no_eviction), int(other.prefer_no_eviction)),
    ):
        if a != b:
            yield feature, a < b


def _priority(traits: Traits) -> int:
    return -(2**40) if traits.priority is None else traits.priority
