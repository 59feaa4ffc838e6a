"""What node-exporter and kube-state-metrics would say, for rules written for real clusters.

`instance` is the node's name: scrape with `honor_labels: true`. Counters carry the moment they
are of: otherwise Prometheus would divide by the time between its own clock readings, and a
slow answer would make an idle node idle for more than all of the time. A node shows up as one
CPU: its idle time is that of all its cores on average.
"""

import numpy as np

from trimtab.exporter.nodes.counters import Table
from trimtab.exporter.nodes.exposition import Texts, escape, family, starts, texts
from trimtab.exporter.nodes.ledger import NodeFacts, NodeLedger
from trimtab.exporter.nodes.reading import NodeFigures

_CPU = '{{cpu="0",mode="%s",instance="{}"}}'
_INSTANCE = '{{instance="{}"}}'
_UNITS = {"cpu": "core", "memory": "byte"}


def render_production(reading: NodeFigures, ledger: NodeLedger, table: Table, at_ms: int) -> str:
    """All series of production rules at one moment."""
    nodes = reading.nodes
    facts = [_facts(ledger, node) for node in nodes]
    return "".join(
        (
            _cpu_seconds(nodes, table, at_ms),
            _waiting("cpu", nodes, table[:, 2], at_ms),
            _waiting("memory", nodes, table[:, 3], at_ms),
            _available(reading, facts),
            _roles(nodes, facts),
            _allocatable(nodes, facts),
        )
    )


def _facts(ledger: NodeLedger, node: str) -> NodeFacts:
    facts = ledger.nodes[node].facts
    assert facts is not None  # or it would not be in a reading
    return facts


def _cpu_seconds(nodes: tuple[str, ...], table: Table, at_ms: int) -> str:
    name = "node_cpu_seconds_total"
    lines = [*starts(name, nodes, _CPU % "idle"), *starts(name, nodes, _CPU % "user")]
    values = [*_seconds(table[:, 0]), *_seconds(table[:, 1])]
    text = "Seconds the node's CPUs spent, on average over its cores."
    return family(name, text, "counter", lines, values, end=f" {at_ms}\n")


def _waiting(resource: str, nodes: tuple[str, ...], column: Table, at_ms: int) -> str:
    name = f"node_pressure_{resource}_waiting_seconds_total"
    text = f"Seconds in which some task waited for {resource} (simulated)."
    lines = starts(name, nodes, _INSTANCE)
    return family(name, text, "counter", lines, _seconds(column), end=f" {at_ms}\n")


def _seconds(nanoseconds: Table) -> Texts:
    return [f"{ns // 10**9}.{ns % 10**9:09d}" for ns in nanoseconds.tolist()]


def _available(reading: NodeFigures, facts: list[NodeFacts]) -> str:
    name = "node_memory_MemAvailable_bytes"
    sizes = np.array([each.bytes for each in facts])
    free = sizes * (1 - np.clip(reading.usage[:, 1], 0.0, 1.0))
    text = "Memory of the node that its VMs do not use."
    return family(name, text, "gauge", starts(name, reading.nodes, _INSTANCE), texts(free))


def _roles(nodes: tuple[str, ...], facts: list[NodeFacts]) -> str:
    name = "kube_node_role"
    lines = [
        f'{name}{_both(node)},role="{escape(role)}"}} '
        for node, each in zip(nodes, facts, strict=True)
        for role in each.roles
    ]
    text = "The node's roles; without the control plane's it is a worker."
    return family(name, text, "gauge", lines, ["1"] * len(lines))


def _allocatable(nodes: tuple[str, ...], facts: list[NodeFacts]) -> str:
    name = "kube_node_status_allocatable"
    lines, values = [], []
    for node, each in zip(nodes, facts, strict=True):
        for resource, amount in (("cpu", each.cores), ("memory", each.bytes)):
            lines.append(f'{name}{_both(node)},resource="{resource}",unit="{_UNITS[resource]}"}} ')
            values.append(repr(amount))
    return family(name, "What the node can give to pods.", "gauge", lines, values)


def _both(node: str) -> str:
    return f'{{node="{escape(node)}",instance="{escape(node)}"'
