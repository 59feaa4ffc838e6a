"""A scenario at a glance, on cases small enough to compute by hand."""

import pytest

from builders.values.scenarios import a_file
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.summary import SLOTS, summarise

NODES = [{"name": "node", "count": 2, "cpu": 10, "memory": "10Gi"}]


def test_nodes_carry_what_starts_on_them() -> None:
    vms = [
        {"name": "a", "count": 3, "cpu": 4, "memory": "2Gi", "node": "node-1"},
        {"name": "b", "cpu": 2, "memory": "1Gi"},
    ]
    summary = summarise(expand(a_file(nodes=NODES, vms=vms)))
    first, second = summary.nodes
    assert (first.vms, first.cpu_use, first.memory_use) == (3, 0.6, 0.48)
    assert (second.vms, second.cpu_use, second.memory_use) == (0, 0.0, 0.0)
    assert first.cpu_pressure == pytest.approx(0.05 * 0.6 / 0.7, abs=1e-6)
    assert summary.unplaced == 1
    assert summary.cpu_use == (0.35,) * SLOTS


def test_vms_alike_are_one_line_with_their_mean_over_time() -> None:
    vms = [
        {
            "name": "a",
            "count": 2,
            "load": {"cpu": {"type": "steps", "points": [[0, 0], [1800, 1]]}},
            "stagger": "15m",
        },
        {"name": "c", "cpu": 4},
    ]
    summary = summarise(expand(a_file(nodes=NODES, vms=vms)))
    assert [(vms.name, vms.count) for vms in summary.vms] == [("a", 2), ("c", 1)]
    assert summary.vms[0].cpu_use == (0.0,) * 12 + (0.5,) * 6 + (1.0,) * 6


def test_arrivals_and_departures_count_from_and_to_their_moment() -> None:
    events = [
        {"type": "vmsArrive", "at": "30m", "vms": {"name": "late", "cpu": 20}},
        {"type": "vmDeparts", "at": "45m", "vm": "web"},
    ]
    vms = [{"name": "web", "cpu": 4, "node": "node-1"}]
    summary = summarise(expand(a_file(nodes=NODES, vms=vms, events=events)))
    assert summary.nodes[0].vms == 1
    assert summary.unplaced == 0
    assert summary.cpu_use == (0.1,) * 12 + (0.6,) * 6 + (0.5,) * 6
