"""The last look before an eviction: nodeFit and the namespace's labels (2.2)."""

from typing import Any

import pytest

from builders.worlds.policy import a_node, a_pod, a_policy, a_view, nano
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import AntiAffinityTerm, Expression, Match, NodeTerm, Toleration
from trimtab.policy.cycle import PodOutcome
from trimtab.policy.decision import decide
from trimtab.policy.file.selector_text import parse_selector
from trimtab.policy.file.settings import Evictor
from trimtab.policy.pods.fit import misfit

HARD = Taint(key="hard")
SOFT = Taint(key="soft", effect="PreferNoSchedule")
ZONE = AntiAffinityTerm("zone", Match({"app": "db"}))


def in_zone(*values: str) -> NodeTerm:
    return NodeTerm(match_expressions=(Expression("zone", "In", values),))


def named(operator: str, name: str) -> NodeTerm:
    return NodeTerm(match_fields=(Expression("metadata.name", operator, (name,)),))


@pytest.mark.parametrize(
    ("pod", "node", "problem"),
    [
        pytest.param({}, {}, None, id="fits"),
        pytest.param({}, {"unschedulable": True}, "schedulable", id="cordoned"),
        pytest.param({"node_selector": {"zone": "b"}}, {}, "selector", id="node selector"),
        pytest.param({"node_selector": {"zone": "a"}}, {}, None, id="matching node selector"),
        pytest.param({"node_affinity": (in_zone("b"),)}, {}, "selector", id="affinity"),
        pytest.param(
            {"node_affinity": (in_zone("b"), in_zone("a"))}, {}, None, id="terms are alternatives"
        ),
        pytest.param({"node_affinity": ()}, {}, "selector", id="an affinity without terms"),
        pytest.param({"node_affinity": (NodeTerm(),)}, {}, "selector", id="an empty term"),
        pytest.param({"node_affinity": (named("In", "n1"),)}, {}, None, id="by name"),
        pytest.param({"node_affinity": (named("NotIn", "n1"),)}, {}, "selector", id="not by name"),
        pytest.param({"node_affinity": (named("Exists", ""),)}, {}, "selector", id="bad field"),
        pytest.param({}, {"taints": (HARD,)}, "taints", id="a hard taint"),
        pytest.param({}, {"taints": (SOFT,)}, None, id="a soft taint does not matter here"),
        pytest.param(
            {"tolerations": (Toleration(key="hard", operator="Exists"),)},
            {"taints": (HARD, SOFT)},
            None,
            id="tolerated, and tolerations are not counted here",
        ),
        pytest.param({"requests": nano(cpu="10")}, {}, None, id="just enough cpu"),
        pytest.param({"requests": nano(cpu="10001m")}, {}, "cpu", id="a milli-core too much"),
        pytest.param({"requests": nano(memory=101)}, {}, "memory", id="a byte too much"),
        pytest.param(
            {"requests": {"devices.kubevirt.io/kvm": 10**9}}, {}, "kvm", id="a device it lacks"
        ),
        pytest.param(
            {"requests": {"devices.kubevirt.io/kvm": 0}}, {}, None, id="zero of a device it lacks"
        ),
    ],
)
def test_a_node_fits_or_says_why_not(
    pod: dict[str, Any], node: dict[str, Any], problem: str | None
) -> None:
    found = misfit(a_pod(**pod), a_node("n1", labels={"zone": "a"}, **node), a_view(pods={}))
    assert (found is None) == (problem is None)
    assert problem is None or problem in str(found)


def test_requests_of_the_pods_there_are_taken_off() -> None:
    there = [a_pod("there", requests=nano(cpu="6", memory=50))]
    view = a_view([0], nodes=[a_node("n1")], pods={"n1": there})
    assert misfit(a_pod(requests=nano(cpu="4", memory=50)), a_node("n1"), view) is None
    assert misfit(a_pod(requests=nano(cpu="4001m")), a_node("n1"), view) == "insufficient cpu"


@pytest.mark.parametrize(("room", "fits"), [(2, True), (1, False), (0, False)])
def test_a_pod_needs_a_place(room: int, fits: bool) -> None:
    node = a_node("n1", capacity={"pods": room})
    view = a_view([0], nodes=[node], pods={"n1": [a_pod("there")]})
    assert (misfit(a_pod(), node, view) is None) == fits


@pytest.mark.parametrize(
    ("term", "other", "labels", "fits"),
    [
        pytest.param(ZONE, {"labels": {"app": "db"}}, {"zone": "a"}, False, id="repelled"),
        pytest.param(ZONE, {"labels": {"app": "web"}}, {"zone": "a"}, True, id="another app"),
        pytest.param(ZONE, {"labels": {"app": "db"}}, {}, True, id="no topology label"),
        pytest.param(
            ZONE, {"labels": {"app": "db"}, "namespace": "b"}, {"zone": "a"}, True, id="namespace"
        ),
        pytest.param(
            AntiAffinityTerm("zone", Match({"app": "db"}), ("b",)),
            {"labels": {"app": "db"}, "namespace": "b"},
            {"zone": "a"},
            False,
            id="a namespace it names",
        ),
        pytest.param(
            ZONE, {"labels": {"app": "db"}, "name": "p1"}, {"zone": "a"}, True, id="its own name"
        ),
        pytest.param(
            AntiAffinityTerm("zone"),
            {"labels": {"app": "db"}},
            {"zone": "a"},
            True,
            id="no selector",
        ),
        pytest.param(
            AntiAffinityTerm("zone", Match({}, (Expression("a", "Bad"),))),
            {},
            {},
            False,
            id="a selector that cannot be read repels from everywhere",
        ),
    ],
)
def test_anti_affinity(
    term: AntiAffinityTerm, other: dict[str, Any], labels: dict[str, str], fits: bool
) -> None:
    node = a_node("n1", labels=labels)
    view = a_view([0], nodes=[node], pods={"n1": [a_pod(**{"name": "there", **other})]})
    assert (misfit(a_pod("p1", anti_affinity=(term,)), node, view) is None) == fits


def cycle_outcomes(evictor: Evictor, **view: Any) -> list[PodOutcome]:
    (run,) = decide(a_view(**view), a_policy(evictor=evictor)).runs
    return [step.outcome for step in run.visits[0].steps]


def test_fitting_the_source_itself_does_not_count() -> None:
    nodes = [a_node("hot"), a_node("full", capacity={"cpu": 0})]
    pods = {"hot": [a_pod(requests=nano(cpu=1))]}
    outcomes = cycle_outcomes(Evictor(node_fit=True), percent=[80, 10], nodes=nodes, pods=pods)
    assert outcomes == [PodOutcome.PRE_EVICTION_FILTER]


def test_any_node_will_do_not_only_a_destination() -> None:
    """It does not ask for an under-utilised node, nor for one of the policy's selection."""
    nodes = [a_node("hot"), a_node("hotter"), a_node("idle", capacity={"cpu": 0})]
    pods = {"hot": [a_pod(requests=nano(cpu=1))]}
    outcomes = cycle_outcomes(Evictor(node_fit=True), percent=[90, 89, 1], nodes=nodes, pods=pods)
    assert outcomes == [PodOutcome.EVICTED]


def test_unready_nodes_and_those_of_another_selector_do_not_count() -> None:
    selector = parse_selector("kind=target", "nodeSelector")
    small = {"cpu": 0}
    nodes = [
        a_node("hot"),
        a_node("idle", capacity=small, labels={"kind": "target"}),
        a_node("unready", ready=False, labels={"kind": "target"}),
        a_node("other"),
    ]
    outcomes = cycle_outcomes(
        Evictor(node_fit=True, node_selector=selector),
        percent=[90, 1, 1, 1],
        nodes=nodes,
        pods={"hot": [a_pod(requests=nano(cpu=1))]},
    )
    assert outcomes == [PodOutcome.PRE_EVICTION_FILTER]


def test_a_selector_that_cannot_be_read_fits_nowhere() -> None:
    """The descheduler starts with it and then evicts nothing."""
    assert cycle_outcomes(Evictor(node_fit=True, node_selector=None)) == (
        [PodOutcome.PRE_EVICTION_FILTER] * 3
    )


@pytest.mark.parametrize(
    ("labels", "outcome"),
    [
        pytest.param({"move": "yes"}, PodOutcome.EVICTED, id="matching"),
        pytest.param({}, PodOutcome.PRE_EVICTION_FILTER, id="not matching"),
        pytest.param(None, PodOutcome.PRE_EVICTION_FILTER, id="unknown namespace"),
    ],
)
def test_the_namespaces_labels(labels: dict[str, str] | None, outcome: PodOutcome) -> None:
    evictor = Evictor(namespace_selector=parse_selector("move=yes", "namespaceLabelSelector"))
    found = cycle_outcomes(evictor, pods={"n0": [a_pod()]}, namespaces={"default": labels})
    assert found == [outcome]
