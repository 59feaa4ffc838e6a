"""Limits: this cycle's evictions and everything in flight, from whichever cycle (2.3)."""

from typing import Any

import pytest

from builders.worlds.policy import AView, a_node, a_pod, a_policy, a_view, some_pods
from trimtab.policy.choices import Answer
from trimtab.policy.cycle import PodOutcome, VisitEnd
from trimtab.policy.decision import decide
from trimtab.policy.inflight import InFlight, KnownEviction
from trimtab.policy.view import PodView

FLYING = {"request_evict_only": True}


def flying(count: int, node: str = "elsewhere", namespace: str = "other") -> InFlight:
    return InFlight(KnownEviction(f"gone-{at}", node, namespace, 0.0) for at in range(count))


def three_hot_nodes(**pods: Any) -> AView:
    names = ("n0", "n1", "n2")
    return a_view([90, 80, 70, 5, 5, 5, 5, 5], pods={n: some_pods(n, 3, **pods) for n in names})


@pytest.mark.parametrize(
    ("limits", "in_flight", "per_node"),
    [
        pytest.param({}, flying(9), [3, 3, 3], id="no limits"),
        pytest.param({"max_total": 4}, flying(0), [3, 1], id="total stops everything"),
        pytest.param({"max_total": 4}, flying(3), [1], id="what is in flight counts"),
        pytest.param({"max_total": 4}, flying(4), [0], id="and may leave nothing"),
        pytest.param({"max_total": 4}, flying(7), [0], id="or less than nothing"),
        pytest.param({"max_total": 0}, flying(0), [0], id="zero is a limit"),
        pytest.param({"max_per_node": 2}, flying(0), [2, 2, 2], id="per node stops that node"),
        pytest.param({"max_per_node": 2}, flying(1, "n1"), [2, 1, 2], id="in flight per node"),
        pytest.param({"max_per_node": 2}, flying(5), [2, 2, 2], id="other nodes' do not count"),
        pytest.param({"max_per_namespace": 4}, flying(0), [3, 1, 0], id="per namespace goes on"),
        pytest.param(
            {"max_per_namespace": 4}, flying(4, namespace="default"), [0, 0, 0], id="in flight"
        ),
        pytest.param({"max_per_namespace": 4}, flying(4), [3, 1, 0], id="other namespaces' not"),
    ],
)
@pytest.mark.parametrize("background", [True, False], ids=["in background", "at once"])
def test_limits(
    limits: dict[str, int], in_flight: InFlight, per_node: list[int], background: bool
) -> None:
    """An eviction in background counts like one that happened."""
    view = three_hot_nodes(request_evict_only=background)
    policy = a_policy(node_limit=9, policy=limits)
    (run,) = decide(view, policy, in_flight).runs
    counts = [sum(step.outcome.is_eviction for step in visit.steps) for visit in run.visits]
    assert counts == per_node


def test_without_the_gate_nothing_is_in_flight() -> None:
    view = three_hot_nodes()
    cycle = decide(
        view, a_policy(node_limit=9, policy={"max_total": 4}), flying(4), background=False
    )
    assert len(cycle.evictions) == 4


def test_the_total_is_checked_before_the_node_and_the_namespace() -> None:
    policy = a_policy(policy={"max_total": 0, "max_per_node": 0, "max_per_namespace": 0})
    (run,) = decide(a_view(), policy).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.TOTAL_LIMIT]
    assert run.visits[-1].stop is VisitEnd.TOTAL_LIMIT


def test_the_node_is_checked_before_the_namespace() -> None:
    policy = a_policy(policy={"max_per_node": 0, "max_per_namespace": 0})
    (run,) = decide(a_view(), policy).runs
    assert run.visits[0].stop is VisitEnd.NODE_LIMIT


def test_the_namespace_limit_skips_pod_after_pod() -> None:
    """E7e: it is no reason to leave the node; another namespace may have room."""
    pods = [a_pod("a"), a_pod("b"), a_pod("c", namespace="roomy")]
    view = a_view([80, 10], pods={"n0": pods})
    (run,) = decide(view, a_policy(node_limit=9, policy={"max_per_namespace": 1})).runs
    assert [step.outcome for step in run.visits[0].steps] == [
        PodOutcome.EVICTED,
        PodOutcome.NAMESPACE_LIMIT,
        PodOutcome.EVICTED,
    ]


def test_a_pod_without_uid_is_skipped_before_any_limit() -> None:
    view = a_view([80, 10], pods={"n0": [a_pod("ghost", uid=""), a_pod("real")]})
    (run,) = decide(view, a_policy()).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.NO_UID, PodOutcome.EVICTED]


def test_a_pod_in_flight_passes_even_at_the_limit() -> None:
    """The look into the cache comes before the limits."""
    view = a_view([80, 10], pods={"n0": some_pods("n0", 1, **FLYING)})
    inflight = InFlight([KnownEviction("uid-default-n0-0", "n0", "default", 0.0)])
    (run,) = decide(view, a_policy(policy={"max_total": 1}), inflight).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.IN_FLIGHT]


def test_an_entry_counts_although_its_pod_lost_the_annotation() -> None:
    """Without request-evict-only the pod is not recognised: it runs into the limit it fills."""
    view = a_view([80, 10], pods={"n0": some_pods("n0", 1)})
    inflight = InFlight([KnownEviction("uid-default-n0-0", "n0", "default", 0.0)])
    (run,) = decide(view, a_policy(policy={"max_total": 1}), inflight).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.TOTAL_LIMIT]


def test_a_refused_eviction_leaves_the_limits_alone() -> None:
    view = three_hot_nodes()
    asked: list[str] = []

    def answer(pod: PodView) -> Answer:
        asked.append(pod.name)
        return Answer.REFUSED if len(asked) < 3 else Answer.EVICTED

    cycle = decide(view, a_policy(node_limit=9, policy={"max_total": 1}), answer=answer)
    assert [eviction.pod.name for eviction in cycle.evictions] == ["n0-2"]


def test_evictions_of_nodes_alike_come_from_each() -> None:
    nodes = [a_node("a"), a_node("b"), a_node("idle")]
    view = a_view([90, 90, 5], nodes=nodes, pods={n: some_pods(n, 2) for n in ("a", "b")})
    cycle = decide(view, a_policy(policy={"max_per_node": 1}))
    assert sorted(eviction.node for eviction in cycle.evictions) == ["a", "b"]
