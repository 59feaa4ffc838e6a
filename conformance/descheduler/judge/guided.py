"""Ties broken as the real descheduler broke them, as far as its log tells.

Pods and sources that the log names come in its order. Those it does not name come after them,
or before them if that explains more: either it never came to them, or what became of them
leaves no trace (an excluded namespace).
"""

import random
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

from trimtab.observe.descheduler_log import LoggedCycle
from trimtab.policy.choices import Item, Tie
from trimtab.policy.cycle import Cycle, PodOutcome, VisitEnd

UNNAMED = (PodOutcome.TOTAL_LIMIT, PodOutcome.NODE_LIMIT, PodOutcome.NAMESPACE_EXCLUDED)
"""The log does not say whom they met: when that was is our guess."""


class Guided:
    """A `Choose`; `attempt` picks another order of summation each time it is needed (T5).

    `later` are pods to be put behind all others: the limits' lines do not name the pod that
    met the limit, so it is one that we would look at without a word of the log about it.
    `sooner` are pods to be put before all others: passed over without a line, they were not
    left when the limit was reached.
    """

    def __init__(
        self,
        cycle: LoggedCycle,
        nodes: Sequence[str],
        attempt: int,
        later: Collection[str],
        sooner: Collection[str],
    ) -> None:
        notes = [note.pod for note in cycle.notes if note.pod]
        self._pods = {pod: at for at, pod in reversed(list(enumerate(notes)))}
        sources = [source for run in cycle.runs for source in run.sources]
        self._sources = {source.node: at for at, source in enumerate(sources)}
        self._exhausted = {source.node for source in sources if not source.ended}
        self._nodes, self._attempt = nodes, attempt
        self._later, self._sooner = later, sooner
        self.order_of_sum_mattered = False

    def __call__(self, tie: Tie, items: Sequence[Item]) -> Iterable[Item]:
        ordered = list(items)
        if tie is Tie.MEAN:
            self.order_of_sum_mattered = True
            if self._attempt:
                random.Random(self._attempt).shuffle(ordered)
            return ordered
        if tie is Tie.CANDIDATES:
            return sorted(ordered, key=self._pod)
        return sorted(ordered, key=self._source)

    def _pod(self, pod: Any) -> tuple[bool, bool, int]:
        name = f"{pod.namespace}/{pod.name}"
        last, first = name in self._later, name in self._sooner
        return last, not first, self._pods.get(name, len(self._pods))

    def unseen(self, ours: Cycle) -> set[str]:
        """Pods that we looked at with a result that the log would have told."""
        steps = (step for run in ours.runs for visit in run.visits for step in visit.steps)
        named = {f"{s.pod.namespace}/{s.pod.name}" for s in steps if s.outcome not in UNNAMED}
        return named - self._pods.keys()

    def unreached(self, ours: Cycle) -> set[str]:
        """Pods that our limit left on nodes where the real one went through all of them."""
        stopped = (
            visit
            for run in ours.runs
            for visit in run.visits
            if visit.stop is VisitEnd.PLUGIN_LIMIT and visit.node in self._exhausted
        )
        return {
            f"{pod.namespace}/{pod.name}"
            for visit in stopped
            for pod in chain.from_iterable(visit.candidates)
            if pod not in [step.pod for step in visit.steps]
        } - self._pods.keys()

    def _source(self, node: Any) -> int:
        return self._sources.get(self._nodes[node], len(self._sources))
