"""The books are right after any sequence of changes."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.exporter import REFERENCE_NODE, a_share
from trimtab.exporter.nodes.consumption import Amounts, PodContribution, PodRole
from trimtab.exporter.nodes.ledger import NodeFacts, NodeLedger
from trimtab.exporter.nodes.reading import NodeFigures, NodeReader
from trimtab.kube.virtual_machines import Load
from trimtab.model.load.curve import Diurnal

WAVE = Load(8.0, 2.0**34, cpu=Diurnal(0.1, 0.9, period=600.0), memory=Diurnal(0.2, 0.3))
NODES = ["n1", "n2", "n3"]
UIDS = ["a", "b", "c", "d"]
shares = st.builds(
    a_share,
    st.sampled_from(NODES),
    st.floats(0, 2),
    st.floats(0, 2),
    role=st.sampled_from(PodRole),
    load=st.sampled_from([None, WAVE]),
)
facts = st.builds(
    NodeFacts, st.sampled_from([0.0, 8.0, 32.0]), st.sampled_from([0.0, 2.0**36]), st.booleans()
)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(UIDS), shares),
        st.tuples(st.just("remove"), st.sampled_from(UIDS), st.none()),
        st.tuples(st.just("node"), st.sampled_from(NODES), facts),
        st.tuples(st.just("no node"), st.sampled_from(NODES), st.none()),
        st.tuples(st.just("look"), st.just(""), st.none()),
    ),
    max_size=30,
)


def recount(nodes: dict[str, NodeFacts], pods: dict[str, PodContribution]) -> NodeLedger:
    ledger = NodeLedger()
    for name, each in nodes.items():
        ledger.set_node(name, each)
    for uid, pod in pods.items():
        ledger.put(uid, pod)
    return ledger


def as_tuple(reading: NodeFigures) -> tuple[object, ...]:
    flows = (reading.leaving, reading.arriving)
    moving = [{k: v for k, v in each.items() if any(v)} for each in flows]
    return reading.nodes, reading.inputs.tolist(), reading.vms, *moving


@given(changes)
def test_after_any_changes_the_books_equal_a_recount(
    changes: list[tuple[str, str, object]],
) -> None:
    ledger, nodes, pods = NodeLedger(), dict[str, NodeFacts](), dict[str, PodContribution]()
    reader = NodeReader(ledger)
    for what, name, value in changes:
        match what, value:
            case "put", PodContribution():
                ledger.put(name, value)
                pods[name] = value
            case "remove", _:
                ledger.remove(name)
                pods.pop(name, None)
            case "node", NodeFacts():
                ledger.set_node(name, value)
                nodes[name] = value
            case "no node", _:
                ledger.remove_node(name)
                nodes.pop(name, None)
            case _:
                reader.read(0.0)
    fresh = recount(nodes, pods)
    assert ledger.nodes == fresh.nodes
    assert as_tuple(reader.read(123.0)) == as_tuple(NodeReader(fresh).read(123.0))


def ledger_of(shares: Iterable[PodContribution], facts: NodeFacts = REFERENCE_NODE) -> NodeLedger:
    return recount(
        {each.node: facts for each in shares}, {str(k): each for k, each in enumerate(shares)}
    )


def test_adding_and_taking_away_many_times_leaves_nothing() -> None:
    ledger = ledger_of([a_share(cpu=0.5)])
    for step in range(10_000):
        ledger.put("other", a_share(cpu=(step % 97) / 97, memory=(step % 89) / 89))
    ledger.remove("other")
    assert ledger.nodes["n1"].fixed == Amounts(500_000_000, 200_000_000)


def test_a_small_node_is_fuller_than_the_reference_node_with_the_same_vm() -> None:
    half = NodeFacts(cores=16.0, bytes=2.0**36)
    reading = NodeReader(ledger_of([a_share(cpu=0.25, memory=0.25)], half)).read(0.0)
    assert reading.usage.tolist() == [[0.5, 0.5]]


def test_both_pods_of_a_migrating_vm_are_one_vm() -> None:
    ledger = ledger_of(
        [a_share("n1", role=PodRole.LEAVING), a_share("n2", role=PodRole.ARRIVING), a_share("n2")]
    )
    reading = NodeReader(ledger).read(0.0)
    assert reading.vms == [1, 1]
    assert reading.usage.ravel().tolist() == pytest.approx([0.1, 0.2, 0.1, 0.4])
    assert reading.leaving == {0: (0.1, 0.2), 1: (0.0, 0.0)}
    assert reading.arriving == {0: (0.0, 0.0), 1: (0.1, 0.0)}  # its memory is there already


def test_cpu_demand_may_exceed_the_node_and_then_presses() -> None:
    reading = NodeReader(ledger_of([a_share(cpu=0.9), a_share(cpu=0.6)])).read(0.0)
    assert reading.usage[0, 0] == 1.5
    assert reading.psi[0, 0] == 1.0


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(NodeFacts(0.0, 2.0**36), id="without CPU"),
        pytest.param(NodeFacts(8.0, 0.0), id="without memory"),
        pytest.param(NodeFacts(8.0, 2.0**36, ready=False), id="not Ready"),
    ],
)
def test_a_node_that_cannot_be_measured_is_left_out_not_idle(facts: NodeFacts) -> None:
    ledger = ledger_of([a_share("n1"), a_share("n2")])
    ledger.set_node("n1", facts)
    assert NodeReader(ledger).read(0.0).nodes == ("n2",)


def test_pods_on_a_node_that_comes_later_are_there_when_it_comes() -> None:
    ledger = NodeLedger()
    reader = NodeReader(ledger)
    ledger.put("a", a_share("late"))
    assert reader.read(0.0).nodes == ()
    ledger.set_node("late", REFERENCE_NODE)
    assert reader.read(0.0).vms == [1]


def test_nobody_keeps_a_node_without_object_and_pods() -> None:
    ledger = ledger_of([a_share("n1")])
    ledger.remove_node("n1")
    assert list(ledger.nodes) == ["n1"]
    ledger.remove("0")
    assert ledger.nodes == {}
