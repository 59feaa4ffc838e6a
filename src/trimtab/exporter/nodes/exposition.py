"""The text that Prometheus scrapes, written by hand: a tenth of what a registry costs.

Two things make it quick (tests/perf/test_exporter.py): the part of a line before its value
never changes and is kept, and a column of numbers becomes text in one call.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from trimtab.exporter.nodes.reading import Flow, NodeFigures

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Texts = Sequence[str]

# name: (what it says, column of `usage` or `psi`)
USAGE = {
    "node_cpu_usage_ratio": ("CPU demand of the node's VMs as a share of it; may exceed 1.", 0),
    "node_memory_usage_ratio": ("Memory in use by the node's VMs as a share of it.", 1),
}
PRESSURE = {
    "node_cpu_pressure_psi": ("Share of time in which some task waits for CPU (simulated).", 0),
    "node_memory_pressure_psi": ("Share of time in which some task waits for memory.", 1),
}
# name: (what it says, column)
LEAVING = {
    "trimtab_node_leaving_cpu_ratio": ("CPU of VMs that are to leave the node.", 0),
    "trimtab_node_leaving_memory_ratio": ("Memory of VMs that are to leave the node.", 1),
}
ARRIVING = {
    "trimtab_node_arriving_cpu_ratio": ("CPU of VMs that migrate to the node.", 0),
    "trimtab_node_arriving_memory_ratio": ("Memory of such VMs that is not there yet.", 1),
}


def render(reading: NodeFigures) -> str:
    """The gauges of every node."""
    nodes, parts = reading.nodes, []
    for series, values in ((USAGE, reading.usage), (PRESSURE, reading.psi)):
        parts += [gauge(n, text, nodes, texts(values[:, k])) for n, (text, k) in series.items()]
    counts = list(map(str, reading.vms))
    parts.append(gauge("node_vm_count", "VMs whose active pod is on the node.", nodes, counts))
    for flows, moving in ((LEAVING, reading.leaving), (ARRIVING, reading.arriving)):
        parts += [_flow(n, text, nodes, moving, k) for n, (text, k) in flows.items()]
    return "".join(parts)


def render_pairs(nodes: tuple[str, ...]) -> str:
    """What the Pareto rules need of up to 50 nodes: every ordered pair, and the name order."""
    places = [str(place) for place in range(len(nodes))]
    order = gauge("trimtab_node_order", "Place of the node in name order.", nodes, places)
    return _pairs(nodes) + order


def render_fronts(
    nodes: tuple[str, ...], now: NDArray[np.float64], mean: NDArray[np.float64]
) -> str:
    """The Pareto score itself, for more nodes than PromQL can compare in time."""
    return gauge(
        "trimtab_node_pareto_front", "Pareto front of the node as a score.", nodes, texts(now)
    ) + gauge(
        "trimtab_node_pareto_front_avg1m",
        "The same of the means over the last minute.",
        nodes,
        texts(mean),
    )


def gauge(name: str, text: str, nodes: tuple[str, ...], values: Texts) -> str:
    """A family with one line for each node."""
    return family(name, text, "gauge", starts(name, nodes), values)


def family(
    name: str, text: str, kind: str, line_starts: Texts, values: Texts, *, end: str = "\n"
) -> str:
    """One metric family: its two comment lines, then start, value and end of each series."""
    lines = [end] * (3 * len(values))
    lines[::3], lines[1::3] = line_starts, values
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n{''.join(lines)}"


@lru_cache(maxsize=32)
def starts(name: str, nodes: tuple[str, ...], form: str = '{{node="{}"}}') -> Texts:
    """`name{node="…"} ` for each node; the same list as long as the nodes are the same."""
    return [f"{name}{form.format(escape(node))} " for node in nodes]


@lru_cache(maxsize=2)
def _pairs(nodes: tuple[str, ...]) -> str:
    name, labels = "trimtab_node_pair", [escape(node) for node in nodes]
    lines = [
        f'{name}{{node="{node}",other="{other}"}} '
        for node in labels
        for other in labels
        if node != other
    ]
    return family(name, "Every ordered pair of nodes.", "gauge", lines, ["0"] * len(lines))


def escape(value: str) -> str:
    """A label value as the text format wants it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def texts(column: NDArray[np.float64]) -> Texts:
    """Shortest texts that read back as the same numbers, which must be finite.

    One JSON array, split: 20,000 numbers in 2 ms, where repr of each takes 8.
    """
    if not len(column):
        return []
    return msgspec.json.encode(column.tolist())[1:-1].decode().split(",")


def _flow(
    name: str, text: str, nodes: tuple[str, ...], moving: Mapping[int, Flow], column: int
) -> str:
    """A family that is 0 for almost every node, and usually for all of them."""
    if not moving:
        return _still(name, text, nodes)
    values = ["0"] * len(nodes)
    for row, flow in moving.items():
        values[row] = repr(flow[column])
    return gauge(name, text, nodes, values)


@lru_cache(maxsize=4)
def _still(name: str, text: str, nodes: tuple[str, ...]) -> str:
    return gauge(name, text, nodes, ["0"] * len(nodes))
