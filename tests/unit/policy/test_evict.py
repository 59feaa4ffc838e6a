"""The eviction engine: who goes, in which order, and what ends it (E1–E9)."""

from typing import Any

import pytest

from builders.worlds.policy import a_node, a_pod, a_policy, a_view, some_pods
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import Toleration
from trimtab.policy.choices import Answer
from trimtab.policy.cycle import PluginRun, PodOutcome, VisitEnd
from trimtab.policy.decision import decide
from trimtab.policy.evict import order_candidates
from trimtab.policy.file.settings import METRIC_RESOURCE
from trimtab.policy.inflight import EMPTY, InFlight, KnownEviction
from trimtab.policy.view import PodView, Qos

SOFT = Taint(key="soft", value="true", effect="PreferNoSchedule")
FLYING = {"request_evict_only": True}


def names(run: PluginRun) -> list[str]:
    return [eviction.pod.name for eviction in run.evictions]


def test_headroom_is_summed_over_destinations_below_the_truncated_cap() -> None:
    """E1: high is 46.67, so each destination takes up to 46."""
    (run,) = decide(a_view([80, 10, 20]), a_policy(0, 10)).runs
    assert run.headroom == {METRIC_RESOURCE: (46 - 10) + (46 - 20)}
    assert run.destinations == (1, 2)


def test_sources_come_by_descending_usage_and_equals_together() -> None:
    """E2."""
    (run,) = decide(a_view([70, 90, 70, 5, 5, 5]), a_policy(0, 10)).runs
    assert run.sources == ((1,), (0, 2))
    assert [visit.node for visit in run.visits] == ["n1", "n0", "n2"]


def test_a_chooser_reorders_equal_sources_only() -> None:
    def last_first(tie: object, items: list[int]) -> list[int]:
        return list(reversed(items))

    view = a_view([70, 90, 70, 5, 5, 5], pods={f"n{at}": some_pods(f"n{at}", 1) for at in range(6)})
    (run,) = decide(view, a_policy(0, 10), choose=last_first).runs  # type: ignore[arg-type]
    assert [visit.node for visit in run.visits] == ["n1", "n2", "n0"]


def test_a_source_without_candidates_is_passed_over() -> None:
    """E4."""
    view = a_view([90, 80, 5, 5], pods={"n0": [a_pod(owners=0)], "n1": [a_pod("p2")]})
    (run,) = decide(view, a_policy(0, 10)).runs
    assert [visit.stop for visit in run.visits] == [VisitEnd.NO_CANDIDATES, VisitEnd.ONE_POD]
    assert names(run) == ["p2"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"priority": None}, {"priority": -5}, id="no priority before any priority"),
        pytest.param({"priority": -5}, {"priority": 0}, id="low before high"),
        pytest.param(
            {"qos": Qos.BEST_EFFORT}, {"qos": Qos.BURSTABLE}, id="best effort before burstable"
        ),
        pytest.param(
            {"qos": Qos.BURSTABLE}, {"qos": Qos.GUARANTEED}, id="burstable before guaranteed"
        ),
        pytest.param({}, {"prefer_no_eviction": True}, id="the willing before the reluctant"),
        pytest.param(
            {"priority": 1, "qos": Qos.GUARANTEED},
            {"priority": 2, "qos": Qos.BEST_EFFORT},
            id="priority before QoS",
        ),
        pytest.param(
            {"qos": Qos.BEST_EFFORT, "prefer_no_eviction": True},
            {"qos": Qos.BURSTABLE},
            id="QoS before reluctance",
        ),
    ],
)
def test_candidates_are_ordered(first: dict[str, Any], second: dict[str, Any]) -> None:
    """E5."""
    groups = order_candidates([a_pod("second", **second), a_pod("first", **first)])
    assert [[pod.name for pod in group] for group in groups] == [["first"], ["second"]]


def test_size_load_and_age_do_not_order_candidates() -> None:
    pods = [a_pod("old-big", started=0.0, requests={"cpu": 9}), a_pod("new-small", started=9.0)]
    (group,) = order_candidates(pods)
    assert [pod.name for pod in group] == ["old-big", "new-small"]


def test_usage_equal_to_the_cap_is_not_above_it() -> None:
    """E6: strict, and in whole percents."""
    (run,) = decide(a_view([71, 71, 5]), a_policy(20, 70.5, deviation=False)).runs
    assert [visit.stop for visit in run.visits] == [VisitEnd.ONE_POD] * 2
    (run,) = decide(a_view([29, 5]), a_policy(20, 28.9, deviation=False)).runs
    assert [visit.stop for visit in run.visits] == [VisitEnd.ONE_POD]
    (run,) = decide(a_view([28, 5]), a_policy(20, 28, deviation=False)).runs
    assert [visit.stop for visit in run.visits] == [VisitEnd.NOT_ABOVE_CAP]


def test_no_headroom_means_no_eviction() -> None:
    """E6: both destinations are exactly at their caps."""
    (run,) = decide(a_view([90, 50, 50]), a_policy(50, 50, deviation=False)).runs
    assert run.headroom == {METRIC_RESOURCE: 0}
    assert [visit.stop for visit in run.visits] == [VisitEnd.NO_HEADROOM]


@pytest.mark.parametrize(
    ("node_limit", "evicted", "stop"),
    [
        pytest.param(None, 1, VisitEnd.ONE_POD, id="without a limit one pod"),
        pytest.param(0, 0, VisitEnd.PLUGIN_LIMIT, id="zero is a limit"),
        pytest.param(2, 2, VisitEnd.PLUGIN_LIMIT, id="two"),
        pytest.param(9, 5, VisitEnd.EXHAUSTED, id="more than there are pods"),
    ],
)
def test_the_plugins_limit_per_node(node_limit: int | None, evicted: int, stop: VisitEnd) -> None:
    """E7a and E7f."""
    view = a_view([80, 10], pods={"n0": some_pods("n0", 5)})
    (run,) = decide(view, a_policy(node_limit=node_limit)).runs
    assert len(names(run)) == evicted
    assert run.visits[0].stop is stop


def test_the_policys_limit_per_node_does_not_raise_the_one_pod() -> None:
    """E7f: the trap of the wrong place."""
    view = a_view([80, 10], pods={"n0": some_pods("n0", 5)})
    (run,) = decide(view, a_policy(policy={"max_per_node": 4})).runs
    assert len(names(run)) == 1


@pytest.mark.parametrize(
    ("tolerations", "taints", "evicted"),
    [
        pytest.param((), [(), ()], True, id="no taints"),
        pytest.param((), [(SOFT,), (SOFT,)], False, id="a soft taint everywhere blocks"),
        pytest.param((), [(SOFT,), ()], True, id="one destination without taints is enough"),
        pytest.param(
            (Toleration(operator="Exists"),),
            [(SOFT,), (SOFT,)],
            True,
            id="one toleration each",
        ),
        pytest.param(
            (Toleration(operator="Exists"),),
            [(SOFT, Taint(key="hard")), (SOFT, Taint(key="hard"))],
            False,
            id="it tolerates everything, but there are more taints than tolerations",
        ),
        pytest.param(
            (Toleration(key="kwok", operator="Exists"), Toleration(key="a"), Toleration(key="b")),
            [(Taint(key="kwok"), SOFT), (Taint(key="kwok"), SOFT)],
            False,
            id="enough tolerations of the wrong taints",
        ),
    ],
)
def test_a_pod_must_tolerate_all_taints_of_one_destination(
    tolerations: tuple[Toleration, ...], taints: list[tuple[Taint, ...]], evicted: bool
) -> None:
    """E7b."""
    nodes = [a_node("hot"), *(a_node(f"n{at}", taints=given) for at, given in enumerate(taints))]
    view = a_view([90, 5, 5], nodes=nodes, pods={"hot": [a_pod(tolerations=tolerations)]})
    (run,) = decide(view, a_policy()).runs
    assert bool(names(run)) == evicted
    if not evicted:
        assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.NOT_TOLERATED]


def test_taints_of_the_source_and_of_other_nodes_play_no_part() -> None:
    nodes = [a_node("hot", taints=(SOFT,)), a_node("middle", taints=(SOFT,)), a_node("cool")]
    view = a_view([90, 60, 10], nodes=nodes, pods={"hot": [a_pod()]})
    (run,) = decide(view, a_policy(20, 80, deviation=False)).runs
    assert names(run) == ["p1"]


def test_an_excluded_namespace_is_skipped_and_the_next_pod_tried() -> None:
    """E7c."""
    pods = [a_pod("a", namespace="kube-system"), a_pod("b", namespace="default")]
    view = a_view([80, 10], pods={"n0": pods})
    (run,) = decide(view, a_policy(excluded=frozenset({"kube-system"}))).runs
    assert [step.outcome for step in run.visits[0].steps] == [
        PodOutcome.NAMESPACE_EXCLUDED,
        PodOutcome.EVICTED,
    ]


def test_a_refused_eviction_uses_up_neither_slot_nor_counter() -> None:
    """E7e: the next pod is tried."""

    def answer(pod: PodView) -> Answer:
        return Answer.REFUSED if pod.name == "n0-0" else Answer.EVICTED

    view = a_view([80, 10], pods={"n0": some_pods("n0", 4)})
    (run,) = decide(view, a_policy(node_limit=2), answer=answer).runs
    assert names(run) == ["n0-1", "n0-2"]


def test_a_pod_in_flight_uses_up_the_single_slot() -> None:
    """E8: it succeeds without a call."""
    view = a_view([80, 10], pods={"n0": some_pods("n0", 3, **FLYING)})
    inflight = InFlight([KnownEviction("uid-default-n0-0", "n0", "default", 0.0)])
    (run,) = decide(view, a_policy(), inflight).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.IN_FLIGHT]
    assert names(run) == []


def test_a_pod_in_flight_counts_against_the_plugins_limit() -> None:
    view = a_view([80, 10], pods={"n0": some_pods("n0", 3, **FLYING)})
    inflight = InFlight([KnownEviction("uid-default-n0-0", "n0", "default", 0.0)])
    (run,) = decide(view, a_policy(node_limit=2), inflight).runs
    assert names(run) == ["n0-1"]
    assert run.visits[0].stop is VisitEnd.PLUGIN_LIMIT


def test_headroom_never_shrinks_while_usage_of_pods_is_unknown() -> None:
    """E7g, E9: one percent of headroom suffices for any number of evictions."""
    view = a_view([90, 90, 49], pods={name: some_pods(name, 3) for name in ("n0", "n1")})
    (run,) = decide(view, a_policy(49, 50, deviation=False, node_limit=3)).runs
    assert run.headroom == {METRIC_RESOURCE: 1}
    assert len(names(run)) == 6


def test_a_terminating_pod_with_the_evict_annotation_takes_the_slot_again() -> None:
    view = a_view([80, 10], pods={"n0": [a_pod("going", terminating=True, evict=True), a_pod("p")]})
    (run,) = decide(view, a_policy()).runs
    assert names(run) == ["going"]


def test_without_the_gate_a_background_answer_is_a_failure() -> None:
    """429 with the text counts only with the gate and the annotation."""
    view = a_view([80, 10], pods={"n0": some_pods("n0", 2, **FLYING)})
    (run,) = decide(view, a_policy(), EMPTY, background=False).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.REFUSED] * 2


def test_a_background_answer_to_a_pod_without_the_annotation_is_a_failure() -> None:
    view = a_view([80, 10], pods={"n0": some_pods("n0", 2)})
    (run,) = decide(view, a_policy(), answer=lambda pod: Answer.BACKGROUND).runs
    assert [step.outcome for step in run.visits[0].steps] == [PodOutcome.REFUSED] * 2
