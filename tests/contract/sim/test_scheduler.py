"""The simulator's scheduler beside the real kube-scheduler, on random rules of pods and nodes.

Nodes with labels, taints, cordons and other pods; VMs with selectors, affinity, tolerations and
anti-affinity. Both must find the same nodes feasible, and the real choice must be among the
simulator's best. The path is that of a recording: API objects become a snapshot, its constraints
a scenario.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from random import Random

import msgspec
import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from builders.labs.kube_scheduler import RealScheduler, real_scheduler
from builders.values.placements import NAMESPACES, Object, Placement, a_placement
from trimtab.kube.resources import Node as WireNode
from trimtab.model.nodes_and_vms import Ground, Node, Vm
from trimtab.model.quantity import Quantity, parse_quantity
from trimtab.model.scenarios.scenario import Scenario
from trimtab.model.selectors import matches_node
from trimtab.model.snapshot import Snapshot, SnapshotPod, SnapshotVm
from trimtab.observe import wire
from trimtab.observe.objects import node_of, pod_of
from trimtab.policy.pods import anti_affinity, taints
from trimtab.policy.pods.requests import requests_of
from trimtab.sim import fleet as fleet_module
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.placement import rules, scheduler
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler
from trimtab.study.recorded import constraints

pytestmark = pytest.mark.engines
PODS_EACH = 10


class Verdict(Struct, frozen=True):
    """What the real scheduler said of one new pod."""

    feasible: frozenset[str]
    chosen: str | None


Judged = tuple[Placement, list[Verdict]]


@pytest.fixture(scope="module")
def real() -> Iterator[RealScheduler]:
    with real_scheduler() as found:
        for name in NAMESPACES:
            found.namespace(name)
        yield found


@pytest.fixture(scope="module")
def judged(real: RealScheduler) -> list[Judged]:
    return judge(real, 20, seed=1)


def judge(real: RealScheduler, count: int, seed: int) -> list[Judged]:
    """Random placements with the real scheduler's verdicts on their new pods."""
    found: list[Judged] = []
    old: list[str] = []
    for number in range(count):
        placement = a_placement(Random(f"{seed}/{number}"), f"s{seed}r{number}", wanted=PODS_EACH)
        real.replace_nodes(old, placement.nodes)
        for pod in (*placement.ground, *placement.vms):
            real.create(pod)
        verdicts = [Verdict(*real.schedule(pod)) for pod in placement.wanted]
        for pod in (*placement.ground, *placement.vms, *placement.wanted):
            real.delete(pod)
        old = [node["metadata"]["name"] for node in placement.nodes]
        found.append((placement, verdicts))
    real.remove_nodes(old)
    return found


def test_the_same_nodes_are_feasible_and_the_choice_is_among_the_best(
    judged: list[Judged],
) -> None:
    assert disagreements(judged) == []
    verdicts = [verdict for _, some in judged for verdict in some]
    # The cases are worth something only if the rules bite, and not always.
    assert sum(verdict.chosen is None for verdict in verdicts) >= 10
    assert sum(len(verdict.feasible) > 1 for verdict in verdicts) >= 50


@pytest.mark.full
def test_the_same_on_thousands_of_pods(real: RealScheduler) -> None:
    assert disagreements(judge(real, 300, seed=2)) == []


def disagreements(judged: list[Judged]) -> list[str]:
    return [line for placement, verdicts in judged for line in compare(placement, verdicts)]


def compare(placement: Placement, verdicts: list[Verdict]) -> Iterator[str]:
    """Follows the real choices, so that one difference does not lead to others."""
    scenario = scenario_of(placement)
    cluster = a_cluster(Fleet(scenario))
    names = cluster.fleet.node_names
    for vm in range(len(placement.vms)):
        node = cluster.fleet.node_number[placement.vms[vm]["spec"]["nodeName"]]
        cluster.reserve(vm, node)
    for vm, verdict in enumerate(verdicts, len(placement.vms)):
        every = Scheduler(cluster, "spread", Random(0))
        feasible = frozenset(name for at, name in enumerate(names) if every.takes(vm, at))
        chosen = {None if at is None else names[at] for at in choices(cluster, vm)}
        if feasible != verdict.feasible or verdict.chosen not in chosen:
            yield (
                f"{scenario.vms[vm].name}: real {sorted(verdict.feasible)} {verdict.chosen}, "
                f"ours {sorted(feasible)} {chosen}"
            )
        if verdict.chosen is not None:
            cluster.reserve(vm, cluster.fleet.node_number[verdict.chosen])


class Ties(Random):
    """Breaks a tie by number, the first one if there are fewer, and remembers a bound of them."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.count = number, 1

    def getrandbits(self, k: int, /) -> int:
        self.count = 1 << k
        number, self.number = self.number, 0
        return number


def choices(cluster: ReplicaPlacement, vm: int) -> set[int | None]:
    """Every node that the scheduler may choose."""
    first = Ties(0)
    found = {Scheduler(cluster, "spread", first).choose(vm)}
    for number in range(1, first.count):
        found.add(Scheduler(cluster, "spread", Ties(number)).choose(vm))
    return found


def a_cluster(fleet: Fleet) -> ReplicaPlacement:
    loads, width = Loads(fleet, np.array([0.0, 60.0])), fleet.nodes + 1
    where = np.empty(fleet.vms, dtype=np.intp)
    return ReplicaPlacement(fleet, loads, where, np.zeros(width), np.zeros(width))


def scenario_of(placement: Placement) -> Scenario:
    ground = [snapshot_pod(pod) for pod in placement.ground]
    mine = [snapshot_pod(pod) for pod in (*placement.vms, *placement.wanted)]
    nodes = [node_of(msgspec.convert(node, WireNode)) for node in placement.nodes]
    snapshot = Snapshot(
        taken_at=datetime.now(UTC),
        nodes=tuple(nodes),
        pods=(*ground, *mine),
        vms=tuple(SnapshotVm(pod.namespace, pod.name, pod.uid) for pod in mine),
    )
    found = constraints.recorded_constraints(snapshot, [node.name for node in nodes])
    return Scenario(
        name="placement",
        nodes=tuple(
            Node(
                node.name,
                parse_quantity(node.allocatable["cpu"]),
                parse_quantity(node.allocatable["memory"]),
                int(node.allocatable["pods"]),
                node.labels,
                node.taints,
                node.unschedulable,
                constraints.requested_ground([p for p in ground if p.node == node.name]),
            )
            for node in nodes
        ),
        vms=tuple(
            Vm(
                pod.name,
                Quantity(requests_of(pod)["cpu"] * 10),
                Quantity(requests_of(pod)["memory"]),
                constraints=found[f"{pod.namespace}/{pod.name}"],
            )
            for pod in mine
        ),
        requests="overcommit",
    )


def snapshot_pod(pod: Object) -> SnapshotPod:
    named = pod | {"metadata": pod["metadata"] | {"uid": pod["metadata"]["name"]}}
    return pod_of(msgspec.convert(named, wire.Pod))


Patch = Callable[[pytest.MonkeyPatch], None]


def _set(module: object, name: str, value: object) -> Patch:
    return lambda patch: patch.setattr(module, name, value)


def _one_way(own: bool) -> Patch:
    """Anti-affinity that looks at the pod's own terms only, or at those of others only."""

    class Half(rules.Apart):
        def banned(self, vm: int) -> anti_affinity.Places:
            kept = self._holding, self._present
            empty: list[dict[int, int]] = [{} for _ in self._groups.domain]
            if own:
                self._holding = empty
            else:
                self._present = empty
            found = super().banned(vm)
            self._holding, self._present = kept
            return found

    return lambda patch: patch.setattr("trimtab.sim.placement.cluster.Apart", Half)


def _no_defaults(nodes: object) -> object:
    grounded = [
        replace(node, ground=replace(node.ground or Ground(), without_cpu=0, without_memory=0))
        for node in nodes  # type: ignore[attr-defined]
    ]
    return _GROUND_OF(grounded)


_GROUND_OF = fleet_module.ground_of
_MATCHES = matches_node
_DOMAINS = anti_affinity._domains
_SELECTED = anti_affinity._selected
MUTANTS: dict[str, Patch] = {
    "node affinity is ignored": _set(
        rules, "matches_node", lambda terms, *rest: _MATCHES(None, *rest)
    ),
    "node selectors are ignored": _set(
        rules, "matches_node", lambda terms, selector, *rest: _MATCHES(terms, {}, *rest)
    ),
    "all terms of an affinity must hold": _set(
        rules,
        "matches_node",
        lambda terms, *rest: (
            all(_MATCHES((term,), *rest) for term in terms) if terms else _MATCHES(terms, *rest)
        ),
    ),
    "taints are ignored": _set(rules, "tolerates_for_scheduling", lambda *_: True),
    "soft taints keep pods away": _set(rules, "tolerates_for_scheduling", taints.tolerates_all),
    "NoExecute keeps nobody away": _set(
        rules,
        "tolerates_for_scheduling",
        lambda mine, theirs: taints.tolerates_for_scheduling(
            mine, [taint for taint in theirs if taint.effect != "NoExecute"]
        ),
    ),
    "own tolerations are ignored": _set(
        rules, "tolerations_of", lambda _: taints.LAUNCHER_TOLERATIONS
    ),
    "nobody bears a cordon": _set(
        rules, "_bears", lambda kinds, _: np.zeros(len(kinds), dtype=np.bool_)
    ),
    "anti-affinity is of own terms only": _one_way(own=True),
    "anti-affinity is of others' terms only": _one_way(own=False),
    "every node is a domain": _set(
        anti_affinity, "_domains", lambda key, labels: np.arange(len(labels), dtype=np.intp)
    ),
    "nodes without the label are one domain": _set(
        anti_affinity, "_domains", lambda key, labels: _DOMAINS(key, labels) + 1
    ),
    "anti-affinity knows no namespaces": _set(
        anti_affinity,
        "_selected",
        lambda selector, namespaces, alike: _SELECTED(selector, NAMESPACES, alike),
    ),
    "other pods are not kept apart from": _set(constraints, "_banned", lambda *_: {}),
    "other pods request nothing": _set(fleet_module, "ground_of", lambda nodes: None),
    "containers without requests count for nothing": _set(fleet_module, "ground_of", _no_defaults),
    "soft taints are counted against tolerations": _set(
        rules, "soft_taints", lambda nodes, _: [len(node.taints) for node in nodes]
    ),
    "soft taints weigh nothing": _set(scheduler, "TAINT_WEIGHT", 0),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_rule_is_caught(
    mutant: str, judged: list[Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    MUTANTS[mutant](monkeypatch)
    assert disagreements(judged)
