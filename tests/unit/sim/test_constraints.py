"""Rules about where VMs may run: in the scheduler, the descheduler and the planner of a run."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.examples import examples
from builders.worlds.sim import a_node, a_scenario, a_vm
from trimtab.model.nodes_and_vms import Ground, Node, Taint, Vm
from trimtab.model.pod_rules import (
    AntiAffinityTerm,
    Constraints,
    Expression,
    Match,
    NodeTerm,
    Toleration,
)
from trimtab.model.quantity import cores, gib
from trimtab.model.scenarios.scenario import Migration, ScenarioEvent
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml
from trimtab.sim import simulate_one
from trimtab.sim.fleet import Fleet
from trimtab.sim.loads import Loads
from trimtab.sim.outcome import Outcome
from trimtab.sim.placement.cluster import ReplicaPlacement
from trimtab.sim.placement.scheduler import Scheduler
from trimtab.sim.spec import RunSpec, VictimChoice

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APART = AntiAffinityTerm(HOSTNAME, Match({"app": "db"}))
ZONES_APART = AntiAffinityTerm(ZONE, Match({"app": "db"}))


def a_cluster(nodes: Sequence[Node], vms: Sequence[Vm]) -> ReplicaPlacement:
    fleet = Fleet(a_scenario(nodes, vms))
    loads, width = Loads(fleet, np.array([0.0, 60.0])), fleet.nodes + 1
    where = np.empty(fleet.vms, dtype=np.intp)
    return ReplicaPlacement(fleet, loads, where, np.zeros(width), np.zeros(width))


def a_db(name: str, term: AntiAffinityTerm = APART, node: str | None = None) -> Vm:
    rules = Constraints(labels={"app": "db"}, anti_affinity=(term,))
    return replace(a_vm(name, node=node), constraints=rules)


# --- an independent reading of the rules, pod by pod and node by node ---

_TERMS = (
    NodeTerm((Expression("disk", "In", ("fast",)),)),
    NodeTerm((Expression(ZONE, "NotIn", ("a",)),)),
    NodeTerm((Expression(ZONE, "Exists"), Expression("disk", "NotIn", ("slow",)))),
    NodeTerm(match_fields=(Expression("metadata.name", "NotIn", ("n1",)),)),
    NodeTerm(),
)
_TAINTS = (Taint("gpu"), Taint("old", effect="PreferNoSchedule"), Taint("out", "x", "NoExecute"))
_TOLERATIONS = (
    Toleration("gpu", "Exists"),
    Toleration("out", "Equal", "x"),
    Toleration("out", "Equal", "y"),
    Toleration(operator="Exists"),
)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[Vm], list[tuple[int, int]]]:
    """Nodes, VMs, and some of the VMs bound to nodes by whatever was before."""
    nodes = [
        a_node(
            f"n{at}",
            cpu=draw(st.sampled_from([4, 8])),
            taints=tuple(draw(st.sets(st.sampled_from(_TAINTS), max_size=2))),
            unschedulable=draw(st.integers(0, 5)) == 0,
            labels={"disk": draw(st.sampled_from(["fast", "slow"]))}
            | draw(st.sampled_from([{}, {ZONE: "a"}, {ZONE: "b"}])),
        )
        for at in range(draw(st.integers(1, 5)))
    ]
    vms = [
        replace(a_vm(f"v{at}", cpu=2), constraints=draw(st.none() | rules()))
        for at in range(draw(st.integers(1, 6)))
    ]
    bound = [(vm, draw(st.integers(0, len(nodes) - 1))) for vm in range(len(vms) // 2)]
    return nodes, vms, bound


def rules() -> st.SearchStrategy[Constraints]:
    selector = st.sampled_from(
        [Match({"app": "db"}), Match(), Match(match_expressions=(Expression("app", "Exists"),))]
    )
    term = st.builds(
        AntiAffinityTerm,
        st.sampled_from([HOSTNAME, ZONE]),
        selector,
        st.sampled_from([(), ("other",)]),
    )
    return st.builds(
        Constraints,
        namespace=st.sampled_from(["default", "other"]),
        labels=st.sampled_from([{}, {"app": "db"}, {"app": "web"}]),
        node_selector=st.sampled_from([{}, {"disk": "fast"}]),
        node_affinity=st.none() | st.lists(st.sampled_from(_TERMS), max_size=2).map(tuple),
        tolerations=st.lists(st.sampled_from(_TOLERATIONS), max_size=2).map(tuple),
        anti_affinity=st.lists(term, max_size=2).map(tuple),
    )


def may_run(vm: Vm, node: Node, others: Sequence[tuple[Vm, Node]]) -> bool:
    """The rules once more, in words of the Kubernetes reference and without our functions."""
    mine, labels = vm.constraints or Constraints(), {HOSTNAME: node.name, **node.labels}
    if any(labels.get(key) != value for key, value in mine.node_selector.items()):
        return False
    if mine.node_affinity is not None and not any(
        _holds(term, node.name, labels) for term in mine.node_affinity
    ):
        return False
    bears_all = any(not each.key for each in mine.tolerations)
    if node.unschedulable and not bears_all:
        return False
    for taint in node.taints:
        borne = any(
            each.key == taint.key and (each.operator == "Exists" or each.value == taint.value)
            for each in mine.tolerations
        )
        if taint.effect != "PreferNoSchedule" and not borne and not bears_all:
            return False
    for other, there in others:
        theirs = other.constraints or Constraints()
        for holder, term, target in (
            *((mine, term, theirs) for term in mine.anti_affinity),
            *((theirs, term, mine) for term in theirs.anti_affinity),
        ):
            here = {HOSTNAME: there.name, **there.labels}
            key = term.topology_key
            if key not in labels or key not in here or labels[key] != here[key]:
                continue
            if target.namespace in (term.namespaces or (holder.namespace,)) and _selects(
                term, target.labels
            ):
                return False
    return True


def _holds(term: NodeTerm, name: str, labels: dict[str, str]) -> bool:
    found = [_true(each, labels) for each in term.match_expressions]
    found += [name not in each.values for each in term.match_fields]
    return bool(found) and all(found)


def _true(each: Expression, labels: dict[str, str]) -> bool:
    has = each.key in labels
    match each.operator:
        case "In":
            return has and labels[each.key] in each.values
        case "NotIn":
            return not has or labels[each.key] not in each.values
        case _:
            return has


def _selects(term: AntiAffinityTerm, labels: dict[str, str]) -> bool:
    assert term.label_selector is not None
    same = all(labels.get(k) == v for k, v in term.label_selector.match_labels.items())
    return same and all(_true(each, labels) for each in term.label_selector.match_expressions)


@settings(max_examples=examples(50, full=300))
@given(clusters())
def test_a_pod_goes_exactly_where_every_rule_lets_it(
    given_cluster: tuple[list[Node], list[Vm], list[tuple[int, int]]],
) -> None:
    nodes, vms, bound = given_cluster
    cluster = a_cluster(nodes, vms)
    for vm, at in bound:
        cluster.reserve(vm, at)
    scheduler = Scheduler(cluster, "spread", Random(0))
    others = [(vms[vm], nodes[at]) for vm, at in bound]
    for vm in range(len(bound), len(vms)):
        fits = [scheduler.fits(vm, at) for at in range(len(nodes))]
        expected = {
            at for at in range(len(nodes)) if fits[at] and may_run(vms[vm], nodes[at], others)
        }
        assert {at for at in range(len(nodes)) if scheduler.takes(vm, at)} == expected
        chosen = scheduler.choose(vm)
        assert chosen in expected if expected else chosen is None


# --- what it means in a run ---


def a_run(nodes: Sequence[Node], vms: Sequence[Vm], **more: object) -> Outcome:
    events = more.pop("events", ())
    migration = more.pop("migration", None)
    scenario = a_scenario(nodes, vms, events=events, migration=migration)  # type: ignore[arg-type]
    return simulate_one(RunSpec(scenario, **more), 3)  # type: ignore[arg-type]


def nodes_in_zones(*zones: str) -> list[Node]:
    return [a_node(f"n{at}", labels={ZONE: zone}) for at, zone in enumerate(zones)]


def test_vms_that_keep_apart_start_on_nodes_of_their_own_and_the_last_one_waits() -> None:
    found = a_run(nodes_in_zones("a", "a", "b"), [a_db(f"v{at}") for at in range(4)])
    assert sorted(found.placement_after.values()) == ["n0", "n1", "n2"]
    assert "found no node" in found.errors[0]


def test_a_vm_that_keeps_out_of_its_own_zone_migrates_to_another_zone_only() -> None:
    drain = [ScenarioEvent(60.0, "drain", "n0")]
    vms = [a_db("v0", ZONES_APART, node="n0")]
    there = a_run(nodes_in_zones("a", "a", "b"), vms, events=drain, score=None)
    assert there.placement_after == {"v0": "n2"}
    stuck = a_run(nodes_in_zones("a", "a"), vms, events=drain, score=None)
    assert stuck.placement_after == {"v0": "n0"}
    # Where the old pod is gone first, its zone is free.
    anew = Migration(mode="recreate")
    moved = a_run(nodes_in_zones("a", "a"), vms, events=drain, score=None, migration=anew)
    assert moved.placement_after == {"v0": "n1"}


@pytest.mark.parametrize("victims", ["stock", "best-fit", "steepest-pair", "planned"])
def test_no_choice_of_victims_breaks_a_rule(victims: VictimChoice) -> None:
    nodes = [a_node(f"n{at}", labels={"disk": "fast" if at < 3 else "slow"}) for at in range(6)]
    picky = Constraints(node_selector={"disk": "fast"})
    vms = [replace(a_vm(f"p{at}", node="n0"), constraints=picky) for at in range(10)]
    vms += [a_db(f"d{at}", node=f"n{at}") for at in range(4)]
    vms += [a_vm(f"v{at}", node="n1") for at in range(6)]
    found = a_run(nodes, vms, victims=victims)
    assert any(move.outcome == "succeeded" for move in found.moves)
    where = found.placement_after
    assert {where[f"p{at}"] for at in range(10)} <= {"n0", "n1", "n2"}
    assert len({where[f"d{at}"] for at in range(4)}) == 4
    assert {move.target for move in found.moves if move.vm.startswith("p")} <= {"n0", "n1", "n2"}


def test_a_vm_that_cannot_move_stays_and_its_reason_does_not_matter() -> None:
    fixed = Constraints(not_movable="it is not live-migratable: a local disk")
    vms = [replace(a_vm(f"v{at}", node="n0"), constraints=fixed) for at in range(12)]
    assert a_run([a_node("n0"), a_node("n1")], vms).moves == ()


def a_policy(**evictor: object) -> str:
    """The default policy with other arguments of its DefaultEvictor."""
    tree = load_yaml(DEFAULT_POLICY, "policy")
    configs = tree["profiles"][0]["pluginConfig"]
    next(each for each in configs if each["name"] == "DefaultEvictor")["args"] = evictor
    return dump_yaml(tree)


@pytest.mark.parametrize(
    ("protections", "moves"),
    [
        pytest.param({}, False, id="local storage is protected by default"),
        pytest.param({"defaultDisabled": ["PodsWithLocalStorage"]}, True, id="switched off"),
    ],
)
def test_the_descheduler_protects_what_its_policy_says(
    protections: dict[str, object], moves: bool
) -> None:
    stored = Constraints(local_storage=True)
    vms = [replace(a_vm(f"v{at}", node="n0"), constraints=stored) for at in range(12)]
    found = a_run([a_node("n0"), a_node("n1")], vms, policy=a_policy(podProtections=protections))
    assert bool(found.moves) == moves


def test_with_node_fit_nothing_is_evicted_that_fits_nowhere_else() -> None:
    tied = Constraints(node_selector={HOSTNAME: "n0"})
    vms = [replace(a_vm(f"v{at}", node="n0"), constraints=tied) for at in range(12)]
    nodes = [a_node("n0"), a_node("n1")]
    assert a_run(nodes, vms, policy=a_policy(nodeFit=True)).moves == ()
    without = a_run(nodes, vms, policy=a_policy(nodeFit=False))
    assert {move.target for move in without.moves} == {None}  # evicted, and no node takes it


def test_ground_load_counts_for_use_requests_and_pods() -> None:
    ground = Ground(cpu=cores(8), memory=gib(32), requested_cpu=cores(30), pods=109)
    busy = replace(a_node("n0"), ground=ground)
    found = a_run([busy, a_node("n1")], [a_vm("v0"), a_vm("v1")], score=None)
    assert found.placement_after == {"v0": "n0", "v1": "n1"} or set(
        found.placement_after.values()
    ) == {"n1"}
    assert found.course.cpu[0, 0] >= 8 / 32
    assert found.course.memory[0, 0] >= 32 / 128
    full = a_run([replace(busy, ground=replace(ground, pods=110))], [a_vm("v0")], score=None)
    assert full.placement_after == {}


def test_rules_that_restrict_nothing_change_no_bit_of_a_run() -> None:
    nodes = [a_node(f"n{at}") for at in range(5)]
    vms = [a_vm(f"v{at}", node="n0" if at < 14 else None) for at in range(24)]
    ruled = [replace(vm, constraints=Constraints(labels={"app": "web"})) for vm in vms]
    grounded = [replace(node, ground=Ground()) for node in nodes]
    plain, same = a_run(nodes, vms), a_run(grounded, ruled)
    assert plain.moves == same.moves
    assert plain.card == same.card
    assert np.array_equal(plain.course.cpu, same.course.cpu)
