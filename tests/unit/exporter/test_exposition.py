"""The text is what Prometheus' own client would read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.exporter import REFERENCE_NODE, a_share, by_node, samples
from trimtab.exporter.nodes.consumption import PodRole
from trimtab.exporter.nodes.exposition import render, render_fronts, render_pairs, texts
from trimtab.exporter.nodes.ledger import NodeLedger
from trimtab.exporter.nodes.reading import NodeFigures, NodeReader

AWKWARD = 'a "quoted" \\ back\\nslash\nand a line'


def reading_of(*nodes: str) -> NodeFigures:
    ledger = NodeLedger()
    for place, node in enumerate(nodes):
        ledger.set_node(node, REFERENCE_NODE)
        ledger.put(node, a_share(node, cpu=0.1 * place, memory=1 / 3, role=PodRole.LEAVING))
    return NodeReader(ledger).read(0.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("node_cpu_usage_ratio", {"n1": 0.0, "n2": 0.1}),
        ("node_memory_usage_ratio", {"n1": 0.333333333, "n2": 0.333333333}),
        ("node_vm_count", {"n1": 1.0, "n2": 1.0}),
        ("trimtab_node_leaving_cpu_ratio", {"n1": 0.0, "n2": 0.1}),
        ("trimtab_node_leaving_memory_ratio", {"n1": 0.333333333, "n2": 0.333333333}),
        ("trimtab_node_arriving_cpu_ratio", {"n1": 0.0, "n2": 0.0}),
        ("trimtab_node_arriving_memory_ratio", {"n1": 0.0, "n2": 0.0}),
    ],
)
def test_every_node_has_a_sample_of_each_metric(name: str, expected: dict[str, float]) -> None:
    assert by_node(render(reading_of("n1", "n2")), name) == pytest.approx(expected)


def test_pressures_are_those_of_the_model() -> None:
    reading = reading_of("n1", "n2", "n3")
    page = render(reading)
    for k, name in enumerate(("node_cpu_pressure_psi", "node_memory_pressure_psi")):
        assert list(by_node(page, name).values()) == reading.psi[:, k].tolist()


def test_label_values_survive_escaping() -> None:
    page = render(reading_of(AWKWARD))
    assert {sample.labels["node"] for sample in samples(page)} == {AWKWARD}


def test_no_node_means_no_sample_but_the_families_are_there() -> None:
    page = render(reading_of())
    assert samples(page) == []
    assert page.count("# TYPE") == 9


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_numbers_read_back_as_they_were(values: list[float]) -> None:
    assert [float(text) for text in texts(np.array(values))] == values


def test_pairs_are_all_ordered_pairs_and_the_order_is_by_name() -> None:
    page = render_pairs(("a", "b", "c"))
    pairs = {
        (s.labels["node"], s.labels["other"]): s.value
        for s in samples(page)
        if s.name == "trimtab_node_pair"
    }
    assert pairs == {(x, y): 0.0 for x in "abc" for y in "abc" if x != y}
    assert by_node(page, "trimtab_node_order") == {"a": 0.0, "b": 1.0, "c": 2.0}


def test_fronts_are_two_families() -> None:
    page = render_fronts(("a", "b"), np.array([0.0, 1.0]), np.array([0.25, 0.5]))
    assert by_node(page, "trimtab_node_pareto_front") == {"a": 0.0, "b": 1.0}
    assert by_node(page, "trimtab_node_pareto_front_avg1m") == {"a": 0.25, "b": 0.5}
