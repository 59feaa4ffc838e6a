"""The descheduler of a run: its policy, and its decision about one replica in one cycle.

The rules are those of `trimtab.policy`; here they get a replica to look at.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import nan

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.policy.choices import Answer, Shuffled
from trimtab.policy.cycle import Cycle, StepsTogether, VisitedPod
from trimtab.policy.decision import decide
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import METRIC_RESOURCE, LowNodeUtilization, Policy
from trimtab.policy.view import PodView
from trimtab.sim.descheduling.replica_view import ReplicaView, SharedTraits, VmPod
from trimtab.sim.descheduling.restraint import Restrained
from trimtab.sim.fleet import Fleet, Floats, Numbers
from trimtab.sim.replica import Replica
from trimtab.sim.spec import RunSpec
from trimtab.sim.streams import victims_of_cycle
from trimtab.virt.eviction import EvictionEffect

ANSWERS = {
    EvictionEffect.MIGRATES: Answer.BACKGROUND,
    EvictionEffect.RESTARTS: Answer.EVICTED,
    EvictionEffect.REFUSES: Answer.REFUSED,
}


@lru_cache(maxsize=64)
def _read(text: str) -> Policy:
    return read_policy(text)


def policy_of(spec: RunSpec) -> Policy:
    """What the descheduler of this run goes by; its query is the spec's score."""
    policy = _read(spec.policy or DEFAULT_POLICY)
    if spec.thresholds is not None:
        policy = policy.with_thresholds(*spec.thresholds)
    if spec.limits is not None:
        policy = policy.with_limits(*spec.limits)
    return policy


class CycleDecision(Struct, frozen=True, eq=False):
    """What one cycle decided in one replica: the nodes' classes, and the VMs to evict."""

    classes: NDArray[np.int8]
    """(nodes,) -1 under-utilised, 0 appropriate, 1 over-utilised"""
    low: float = nan
    high: float = nan
    evicted: Sequence[int] = ()
    error: str | None = None


class Descheduler:
    """Decides for one replica, cycle after cycle."""

    def __init__(
        self, spec: RunSpec, policy: Policy, fleet: Fleet, shared: SharedTraits, replica: Replica
    ) -> None:
        self._policy, self._fleet, self._shared = policy, fleet, shared
        self._replica = replica
        self.restrained = Restrained(spec.restraint, replica, fleet.nodes)
        self._view: ReplicaView | None = None
        self._numbers: tuple[tuple[str, ...], Numbers] = (), np.zeros(0, dtype=np.intp)

    def look_again(self) -> None:
        """A node's taints or conditions changed."""
        self._view = None

    def decide(self, cycle: int, scores: Floats) -> CycleDecision:
        """One cycle on these scores (nodes,); nothing is changed yet."""
        if self._view is None:
            self._view = ReplicaView(self._fleet, self._shared, self._replica, self.restrained)
        view = self._view
        view.scores, view.now = scores, self._replica.now
        choose = Shuffled(victims_of_cycle(self._replica.seed, cycle))
        decided = decide(view, self._policy, self._replica.inflight, choose, answer=self._answer)
        return self._decision(decided)

    def _answer(self, pod: PodView) -> Answer:
        assert isinstance(pod, VmPod)
        return ANSWERS[self._fleet.eviction_effects[pod.vm]]

    def _decision(self, cycle: Cycle) -> CycleDecision:
        classes = np.zeros(self._fleet.nodes, dtype=np.int8)
        low = high = nan
        errors = [run.error.text for run in cycle.runs if run.error]
        for run in cycle.runs:
            if run.figures is not None:
                classes[self._numbers_of(cycle.nodes)] = run.figures.classes
                low = run.figures.low.get(METRIC_RESOURCE, nan)
                high = run.figures.high.get(METRIC_RESOURCE, nan)
        evicted = [vm for run in cycle.runs for visit in run.visits for vm in _evicted(visit.steps)]
        return CycleDecision(classes, low, high, evicted, "; ".join(errors) or None)

    def _numbers_of(self, names: tuple[str, ...]) -> Numbers:
        if names is not self._numbers[0]:  # comparing 10,000 names takes longer than a look-up
            numbers = [self._fleet.node_number[name] for name in names]
            self._numbers = names, np.array(numbers, dtype=np.intp)
        return self._numbers[1]


def _evicted(steps: Sequence[VisitedPod]) -> list[int]:
    """The VMs that are to go."""
    evicted: list[int] = []
    if isinstance(steps, StepsTogether):
        evicted += steps.together.numbers
        steps = steps.others
    granted = (step.pod for step in steps if step.outcome.is_eviction)
    return evicted + [pod.vm for pod in granted if isinstance(pod, VmPod)]


def limits_of(policy: Policy) -> tuple[int | None, int | None]:
    """Evictions that a cycle allows in all and per node."""
    per_node = [policy.max_per_node] if policy.max_per_node is not None else []
    for profile in policy.profiles:
        for _, plugin in profile.plugins:
            if isinstance(plugin, LowNodeUtilization):
                # Without a limit of its own the plugin takes one pod a node and cycle (E7f).
                per_node.append(1 if plugin.node_limit is None else plugin.node_limit)
    return policy.max_total, min(per_node, default=None)
