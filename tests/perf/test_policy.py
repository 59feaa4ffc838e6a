"""What a cycle costs: the simulator decides thousands of them.

Ceilings are CPU time with about three times the slack; the figures are printed.
"""

from collections.abc import Sequence
from time import process_time

import numpy as np
import pytest

from builders.worlds.policy import default_policy
from trimtab.policy.choices import Shuffled
from trimtab.policy.decision import decide
from trimtab.policy.numbers import classify_nodes, mean_of, percent_of, thresholds_around, usage_of
from trimtab.policy.pods.filters import Filter
from trimtab.policy.view import PlainNode, PlainPod, PodView, Traits, Vector, View

LAUNCHER = Traits(request_evict_only=True, local_storage=True)
CEILING_US = {100: 900.0, 1_000: 1_200.0, 10_000: 2_700.0}  # three times what was measured
PODS = 16


class Cluster(View):
    """Nodes with random scores and sixteen VMs each; pods are made when they are asked for."""

    def __init__(self, nodes: int, seed: int = 1) -> None:
        labels = {"kubevirt.io/schedulable": "true"}
        super().__init__([PlainNode(name=f"n{at}", labels=labels) for at in range(nodes)])
        names = self.selected(default_policy().node_selector).names
        self._vector = Vector(names, np.random.default_rng(seed).random(nodes))

    def samples(self) -> Vector:
        return self._vector

    def pods_on(self, node: str) -> Sequence[PodView]:
        return [
            PlainPod(uid=f"{node}-{at}", name=f"{node}-{at}", traits=LAUNCHER) for at in range(PODS)
        ]


def microseconds(cluster: View, cycles: int) -> float:
    """CPU time of one cycle: the best of five rounds, so that neighbours do not count."""
    policy, best = default_policy(), float("inf")
    for round_ in range(5):
        start = process_time()
        for cycle in range(cycles):
            decide(cluster, policy, choose=Shuffled(round_ * cycles + cycle))
        best = min(best, (process_time() - start) / cycles * 1e6)
    return best


@pytest.mark.parametrize("nodes", sorted(CEILING_US))
def test_a_cycle_with_three_sources_visited(nodes: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Five evictions, two a node: three sources with sixteen pods each are looked at."""
    spent = microseconds(Cluster(nodes), cycles=max(10, 20_000 // nodes))
    with capsys.disabled():
        print(
            f"\npolicy: {nodes:>6} nodes  {spent:8.0f} µs a cycle  {spent / nodes:7.3f} µs a node"
        )
    assert spent < CEILING_US[nodes]


def test_cost_grows_more_slowly_than_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    small, large = (microseconds(Cluster(nodes), 20) for nodes in (1_000, 10_000))
    with capsys.disabled():
        print(f"\npolicy: ten times the nodes cost {large / small:.1f} times as much")
    assert large < 3 * 2.0 * small


@pytest.mark.parametrize(
    ("shared", "measured_us"),
    [
        pytest.param(True, 0.15, id="traits shared"),
        pytest.param(False, 2.0, id="traits of its own each"),
    ],
)
def test_a_pod_is_filtered_in_microseconds(
    shared: bool, measured_us: float, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [
        PlainPod(uid=str(at), name=str(at), traits=LAUNCHER if shared else Traits(owners=1))
        for at in range(10_000)
    ]
    best = float("inf")
    for _ in range(5):
        judge = Filter(default_policy().profiles[0].evictor, Cluster(2))
        start = process_time()
        passed = sum(map(judge.passes, pods))
        best = min(best, (process_time() - start) / len(pods) * 1e6)
    with capsys.disabled():
        print(f"\npolicy: {best:.2f} µs a pod, {passed} of {len(pods)} pass")
    assert best < 3 * measured_us


def test_replicas_are_classified_together(capsys: pytest.CaptureFixture[str]) -> None:
    """The numeric part alone, 20 replicas of 1,000 nodes at once against one by one."""
    values = np.random.default_rng(2).random((20, 1_000))
    schedulable = np.ones(1_000, dtype=np.bool_)

    def classify(samples: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
        percent = percent_of(usage_of(samples), 100)
        low, high = thresholds_around(mean_of(percent), 0.0, 10.0)
        classify_nodes(percent, low, high, schedulable)

    spent = []
    for work in ([values], list(values)):
        start = process_time()
        for _ in range(50):
            for samples in work:
                classify(samples)
        spent.append((process_time() - start) / 50 * 1e6)
    with capsys.disabled():
        print(f"\npolicy: 20 replicas at once {spent[0]:.0f} µs, one by one {spent[1]:.0f} µs")
    assert spent[0] < 620
