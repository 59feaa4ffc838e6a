"""Is what we call chance really chance?

Following the real choices inside our ties cannot notice a tie that is none: if we said that
QoS plays no part, every real order would still be one of those we allow. So the orders seen
inside ties are looked at together: where two members differ in something that could decide,
both orders must occur.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from conformance.descheduler.judge.compare import Judgement
from conformance.descheduler.judge.guided import UNNAMED
from trimtab.policy.cycle import PluginRun
from trimtab.policy.view import Traits

_WAYS = (True, False)
_ENOUGH = 8_000
"""Thousandths of a bit: one order all the time, where chance would have it 1 in 128."""


Orders = Counter[tuple[str, bool]]
"""By what the members of ties differ in, and whether the lesser came first: the evidence."""


def orders_in(judgement: Judgement) -> Orders:
    """How surprising the orders inside this cycle's ties are, for each way they may go."""
    found: Orders = Counter()
    for feature, values in _ties(judgement):
        for way, evidence in evidence_of(values):
            found[feature, way] += evidence
    return found


def not_chance(orders: Orders) -> list[str]:
    """Ties whose members always came in one order."""
    features = sorted({feature for feature, _ in orders})
    return [
        f"{feature}: in ties always the same way, {total / 1000:.1f} bits"
        for feature in features
        if (total := sum(orders[feature, way] for way in _WAYS)) >= _ENOUGH
        and not all(orders[feature, way] for way in _WAYS)
    ]


def evidence_of(values: Sequence[int]) -> Iterator[tuple[bool, int]]:
    """A sorted course speaks for its way by the number of courses there could have been."""
    courses = math.factorial(len(values))
    for times in Counter(values).values():
        courses //= math.factorial(times)
    if courses == 1:
        return
    ascending = sorted(values)
    for way, course in ((True, ascending), (False, ascending[::-1])):
        if list(values) == course:
            yield way, round(1000 * math.log2(courses))
            return
    yield from ((way, 1) for way in _WAYS)


def _ties(judgement: Judgement) -> Iterator[tuple[str, list[int]]]:
    """What the members of each tie that the cycle really came to are like, in its order."""
    for run in judgement.cycle.runs:
        yield from _sources(run, judgement.cycle.nodes)
        for visit in run.visits:
            group = {pod.uid: at for at, equals in enumerate(visit.candidates) for pod in equals}
            came = (step.pod for step in visit.steps if step.outcome not in UNNAMED)
            for _, tie in groupby(came, key=lambda pod: group[pod.uid]):
                yield from _features([pod.traits for pod in tie])


def _sources(run: PluginRun, nodes: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    if run.figures is None:
        return
    totals = np.stack(list(run.figures.usage.values())).sum(axis=0).tolist()
    group = {node: at for at, equals in enumerate(run.sources) for node in equals}
    came = (nodes.index(visit.node) for visit in run.visits)
    for _, tie in groupby(came, key=lambda node: group[node]):
        yield f"usage of the sources of {run.plugin}", [totals[node] for node in tie]


def _features(tie: list[Traits]) -> Iterator[tuple[str, list[int]]]:
    yield "priority", [_priority(each) for each in tie]
    yield "QoS", [int(each.qos) for each in tie]
    yield "preference", [int(each.prefer_no_eviction) for each in tie]


def _priority(traits: Traits) -> int:
    return -(2**40) if traits.priority is None else traits.priority
