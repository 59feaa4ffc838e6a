"""Explanations: the rule that stopped a cycle, and the smallest change that would not."""

from typing import Any

import pytest
from msgspec.structs import replace

from builders.worlds.snapshots import (
    NOON,
    SOFT,
    WORKER,
    a_launcher,
    a_policy,
    a_snapshot,
    decide_as_answered,
)
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import (
    EVICTION_IN_PROGRESS,
    PREFER_NO_EVICTION,
    REQUEST_EVICT_ONLY,
    InFlightEviction,
    QueryResult,
    Sample,
    Snapshot,
    SnapshotNode,
    decode,
    encode,
)
from trimtab.truth.explain.explanation import Explanation, explain
from trimtab.truth.explain.outcome_texts import EVICTION_ANSWER

HOT: dict[str, float] = {"n1": 80, "n2": 30, "n3": 10}


def samples_of(*pairs: tuple[dict[str, str], str]) -> QueryResult:
    return QueryResult(time=NOON, query="score", samples=tuple(Sample(*pair) for pair in pairs))


def tainted(*taints: Taint) -> tuple[SnapshotNode, ...]:
    return tuple(SnapshotNode(n, WORKER, taints if n != "n1" else ()) for n in HOT)


def marked(**annotations: str) -> tuple[Any, ...]:
    known = {REQUEST_EVICT_ONLY: "", **annotations}
    return tuple(a_launcher(f"vm-{at}", "n1", annotations=known) for at in range(2))


FLYING = tuple(InFlightEviction(f"uid-x{at}", "n3", "default") for at in range(5))
UNPROTECTED: dict[str, Any] = {}

# the snapshot, the rule that stopped it, the smallest change
CASES = [
    pytest.param(
        a_snapshot({"n1": 20, "n2": 12, "n3": 4}),
        "1.5.4",
        "lower targetThresholds.MetricResource from 10 to 7.9",
        id="nobody is over",
    ),
    pytest.param(
        a_snapshot({"n1": 99, "n2": 96, "n3": 93}),
        "1.5.4",
        "lower targetThresholds.MetricResource from 10 to 2.9",
        id="the high threshold is clamped to 100",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(32, 10)),
        "1.5.1",
        "lower thresholds.MetricResource from 32 to 30",
        id="nobody is under",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(args={"numberOfNodes": 2})),
        "1.5.2",
        "lower numberOfNodes from 2 to 1",
        id="too few are under",
    ),
    pytest.param(
        a_snapshot(HOT, in_flight=FLYING),
        "E7e total",
        "raise maxNoOfPodsToEvictTotal from 5 to 6",
        id="the total limit is used up in flight",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(maxNoOfPodsToEvictPerNode=0)),
        "E7e node",
        "raise maxNoOfPodsToEvictPerNode from 0 to 1",
        id="a limit of none a node",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(args={"evictionLimits": {"node": 0}})),
        "E7a",
        "evictionLimits.node: raise from 0 to 1",
        id="the plugin's limit is zero",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(evictor={})),
        "E4",
        "switch the protection PodsWithLocalStorage off",
        id="local storage protects every VM",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(evictor={"evictLocalStoragePods": True, "ignorePvcPods": True})),
        "",
        "",
        id="old booleans let them go",
    ),
    pytest.param(
        a_snapshot(
            HOT,
            a_policy(evictor={"evictLocalStoragePods": True, "ignorePodsWithoutPDB": True}),
        ),
        "E4",
        "switch the protection PodsWithoutPDB off",
        id="PodsWithoutPDB protects everybody",
    ),
    pytest.param(
        a_snapshot(HOT, nodes=tainted(SOFT)),
        "E7",
        f"take the taint {SOFT.key}:PreferNoSchedule off n2",
        id="soft taints on all destinations",
    ),
    pytest.param(
        a_snapshot(
            HOT, a_policy(evictor={"nodeFit": True, "evictLocalStoragePods": True}), nodes=tainted()
        ),
        "E7",
        "switch nodeFit off",
        id="nothing fits elsewhere",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(args={"evictableNamespaces": {"exclude": ["default"]}})),
        "E7",
        "take default out of evictableNamespaces.exclude",
        id="the namespace is excluded",
    ),
    pytest.param(
        a_snapshot(
            HOT,
            a_policy(evictor={"noEvictionPolicy": "Mandatory", "evictLocalStoragePods": True}),
            pods=marked(**{PREFER_NO_EVICTION: ""}),
        ),
        "E4",
        "make noEvictionPolicy Preferred",
        id="VMs that would rather stay",
    ),
    pytest.param(
        a_snapshot(HOT, pods=marked(**{EVICTION_ANSWER: "refused: it is not live-migratable"})),
        "E7",
        "let the VM of default/vm-0 migrate: the API server refuses its eviction",
        id="VMs that cannot migrate",
    ),
    pytest.param(
        a_snapshot(HOT, query=samples_of(*(({"instance": n}, "0.5") for n in ("n1", "n2")))),
        "P7",
        "give n3 a sample (0.0 was tried)",
        id="a missing sample, if it were low enough",
    ),
    pytest.param(
        a_snapshot(HOT, query=samples_of(({"instance": "n1"}, "0.9"), ({"instance": "n2"}, "0.1"))),
        "P7",
        "give n3 a sample (0.5 was tried)",
        id="a missing sample",
    ),
    pytest.param(
        a_snapshot(HOT, query=samples_of(*(({"node": n}, f"0.{p:.0f}") for n, p in HOT.items()))),
        "P3",
        'ask label_replace(score, "instance", "$1", "node", "(.+)") instead',
        id="samples without instance",
    ),
    pytest.param(
        a_snapshot(
            HOT,
            query=samples_of(*(({"instance": f"{n}:9100"}, f"0.{p:.0f}") for n, p in HOT.items())),
        ),
        "P7",
        'ask label_replace(score, "instance", "$1", "instance", "([^:]+):.*") instead',
        id="instances with a port",
    ),
    pytest.param(
        a_snapshot(
            HOT,
            query=samples_of(*(({"instance": n}, f"{p / 50}") for n, p in HOT.items())),
        ),
        "P4",
        "ask clamp(score, 0, 1) instead",
        id="a sample above 1",
    ),
    pytest.param(
        a_snapshot({"n1": 80}),
        "R4",
        "",
        id="one node only",
    ),
    pytest.param(
        a_snapshot(HOT, a_policy(nodeSelector="zone=a")),
        "R4",
        "select all nodes instead of zone=a",
        id="the selector selects nobody",
    ),
]


def rule_of(explanation: Explanation) -> str:
    """What stopped the cycle: the first reason that is given."""
    if explanation.skipped is not None:
        return explanation.skipped.rule
    (run,) = explanation.runs
    if reason := run.error or run.exit:
        return reason.rule
    return "" if explanation.evictions else next(n.stop_rule for n in run.nodes if n.stop_rule)


@pytest.mark.parametrize(("snapshot", "rule", "change"), CASES)
def test_the_rule_and_the_changes_that_evict(snapshot: Snapshot, rule: str, change: str) -> None:
    explained = explain(snapshot)
    assert rule_of(explained.explanation) == rule
    changes = explained.explanation.changes
    assert (changes[0].what if changes else "") == change
    for found in explained.found:
        again = decide_as_answered(decode(encode(found.snapshot)))
        assert len(again.evictions) == found.change.evictions > 0


def test_a_single_slot_that_is_in_flight_wants_a_second_one() -> None:
    pods = (
        a_launcher(
            "vm-0", "n1", annotations={REQUEST_EVICT_ONLY: "", EVICTION_IN_PROGRESS: "true"}
        ),
        a_launcher("vm-1", "n1"),
    )
    policy = a_policy(args={"evictionLimits": None})
    explained = explain(a_snapshot(HOT, policy, pods=pods)).explanation
    assert explained.evictions == 0
    assert explained.changes[0].what == "wait until the eviction of default/vm-0 has ended"
    assert "evictionLimits.node: set to 2" in [change.what for change in explained.changes]


def test_nodes_are_told_with_their_distances() -> None:
    (run,) = explain(a_snapshot(HOT)).explanation.runs
    assert [(n.name, n.node_class, round(n.above_high)) for n in run.nodes] == [
        ("n1", "over", 30),
        ("n2", "under", -20),
        ("n3", "under", -40),
    ]


def test_nodes_outside_the_selection_are_told_why() -> None:
    nodes = (
        *(SnapshotNode(n, WORKER) for n in HOT),
        SnapshotNode("control", {}),
        SnapshotNode("broken", WORKER, ready=False),
    )
    (run,) = explain(a_snapshot(HOT, nodes=nodes)).explanation.runs
    assert {n.name: n.node_class for n in run.nodes[3:]} == {
        "control": "not selected",
        "broken": "not ready",
    }


def test_evicted_pods_are_told_why_these() -> None:
    (run,) = explain(a_snapshot(HOT)).explanation.runs
    assert len(run.evictions) == 2
    assert run.evictions[0].why == (
        "n1 is the only over-utilised node; "
        "any of 3 equal pods (priority none, burstable): chance decides"
    )


def test_pods_are_told_their_rule() -> None:
    pods = (
        a_launcher("goes", "n1"),
        a_launcher("bare", "n1", owners=()),
        a_launcher("late", "n1", priority=7),
        a_launcher("elsewhere", "n2"),
    )
    policy = a_policy(args={"evictionLimits": {"node": 1}})
    (run,) = explain(a_snapshot(HOT, policy, pods=pods)).explanation.runs
    assert {pod.name: (pod.verdict, pod.rule) for pod in run.pods} == {
        "goes": ("evicted", "2.4"),
        "bare": ("kept", "2.1.4.FailedBarePods"),
        "late": ("candidate", "E7a"),
        "elsewhere": ("not looked at", "C3"),
    }


def test_a_sample_that_is_no_number_is_told_and_mended() -> None:
    query = samples_of(
        ({"instance": "n1"}, "0.9"), ({"instance": "n2"}, "NaN"), ({"instance": "n3"}, "0.1")
    )
    explained = explain(a_snapshot(HOT, query=query)).explanation
    assert rule_of(explained) == "P8"
    assert explained.changes[0].what == ("make n2's sample a number instead of NaN (0.5 was tried)")


def test_doubtful_classes_ignored_fields_and_strange_plugins_are_noted() -> None:
    policy = a_policy(0, 10, maxNoOfPodsToEvictPerNodes=3)
    exact = {"a": "0.285", "b": "0.555", "c": "0.245", "d": "0.055"}
    snapshot = a_snapshot({"a": 28, "b": 55, "c": 24, "d": 5}, policy)
    query = samples_of(*(({"instance": n}, v) for n, v in exact.items()))
    notes = explain(replace(snapshot, query=query)).explanation.notes
    assert any("maxNoOfPodsToEvictPerNodes" in note for note in notes)
    assert any("a may be appropriate or under" in note for note in notes)


def test_a_failed_query_has_no_change() -> None:
    query = QueryResult(time=NOON, query="score", error="connection refused")
    explained = explain(a_snapshot(HOT, query=query)).explanation
    assert rule_of(explained) == "P2"
    assert explained.changes == ()
