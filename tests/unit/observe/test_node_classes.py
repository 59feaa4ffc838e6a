"""Nodes as the descheduler would classify them, and the soft taints that follow."""

from collections.abc import Mapping

import pytest

from builders.worlds.policy import default_policy
from trimtab.kube.resources import Condition, Node, NodeSpec, NodeStatus, ObjectMeta, Taint
from trimtab.observe.node_classes import Classification, ClassifiedNode, classify
from trimtab.policy.view import QueryFailure
from trimtab.prom.client import Sample
from trimtab.stacks.loop.soft_tainter import soft_taints_of, wanted, with_soft_taints
from trimtab.virt.soft_taints import APPROPRIATE, OVER, NodeClass


def a_node(name: str, *, ready: bool = True, cordoned: bool = False) -> Node:
    condition = Condition(type="Ready", status="True" if ready else "False")
    return Node(
        metadata=ObjectMeta(name=name, labels={"kubevirt.io/schedulable": "true"}),
        spec=NodeSpec(unschedulable=cordoned),
        status=NodeStatus(conditions=(condition,)),
    )


def samples(values: Mapping[str, float]) -> list[Sample]:
    return [Sample({"instance": name}, 0.0, value) for name, value in values.items()]


NODES = [a_node("a"), a_node("b"), a_node("c")]


def test_nodes_are_classified_by_truncated_percents_around_the_mean() -> None:
    verdict = classify(NODES, samples({"a": 0.609, "b": 0.1, "c": 0.2}), default_policy())
    assert verdict == Classification(
        nodes={
            "a": ClassifiedNode(60.0, "over"),
            "b": ClassifiedNode(10.0, "under"),
            "c": ClassifiedNode(20.0, "under"),
        },
        average=30.0,
        low=30.0,
        high=40.0,
    )


def test_a_cordoned_node_is_never_under_and_an_unready_one_is_left_out() -> None:
    nodes = [a_node("a"), a_node("b", cordoned=True), a_node("c", ready=False)]
    verdict = classify(nodes, samples({"a": 0.6, "b": 0.1}), default_policy())
    assert {name: standing.kind for name, standing in verdict.nodes.items()} == {
        "a": "over",
        "b": "appropriate",
    }


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param(
            samples({"a": 0.1, "b": 0.1}), "unable to find metric entry for c", id="a node missing"
        ),
        pytest.param(
            samples({"a": 1.5, "b": 0.1, "c": 0.1}), "outside of <0; 1>", id="a value above 1"
        ),
        pytest.param(
            samples({"a": float("nan"), "b": 0.1, "c": 0.1}), "not a number", id="not a number"
        ),
        pytest.param(QueryFailure("it is down"), "it is down", id="no answer"),
    ],
)
def test_what_stops_the_descheduler_is_told(
    answer: list[Sample] | QueryFailure, problem: str
) -> None:
    assert problem in classify(NODES, answer, default_policy()).problem


def test_one_node_is_no_cluster() -> None:
    assert "requires >=2 nodes" in classify(NODES[:1], [], default_policy()).problem


def kinds(**nodes: NodeClass) -> Classification:
    return Classification(nodes={name: ClassifiedNode(0.0, kind) for name, kind in nodes.items()})


@pytest.mark.parametrize(
    ("found", "taints"),
    [
        pytest.param(
            kinds(a="over", b="appropriate", c="under"),
            {"a": {OVER, APPROPRIATE}, "b": {APPROPRIATE}, "c": set()},
            id="one of each",
        ),
        pytest.param(
            kinds(a="over", b="appropriate"),
            {"a": {OVER, APPROPRIATE}, "b": set()},
            id="nobody under: appropriate ones go without",
        ),
    ],
)
def test_soft_taints_follow_the_classes(found: Classification, taints: dict[str, set[str]]) -> None:
    assert wanted(found) == taints


def test_the_taints_of_others_stay() -> None:
    theirs = Taint(key="dedicated", value="x", effect="NoSchedule")
    old = [theirs, Taint(key=OVER, value="true", effect="PreferNoSchedule")]
    assert soft_taints_of(old) == {OVER}
    new = with_soft_taints(old, frozenset((APPROPRIATE,)))
    assert new == [theirs, Taint(key=APPROPRIATE, value="true", effect="PreferNoSchedule")]
    assert with_soft_taints(new, frozenset()) == [theirs]
