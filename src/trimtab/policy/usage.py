"""What each selected node uses, from one of the three sources, or why that is unknown.

One bad or missing sample ends the whole cycle (P2–P4, P7): the descheduler acts on all
nodes or on none.

Rule ids in parentheses are explained in docs/reference/policy.md.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from msgspec import Struct

from trimtab.model.quantity import NANO
from trimtab.policy.cycle import Reason
from trimtab.policy.file.settings import METRIC_RESOURCE, Plugin, UsageSource
from trimtab.policy.numbers import Floats, Integers, usage_of
from trimtab.policy.view import Amounts, ClusterView, NodeView, QueryFailure, Selection, Vector

MILLI = NANO // 1000


class Usage(Struct, frozen=True, eq=False):
    """Usage of all nodes. `exact` is None where the whole numbers are exact: percents."""

    shown: Mapping[str, Integers]
    """(nodes,) cpu in milli-units, everything else whole, both rounded up."""
    exact: tuple[dict[str, int], ...] | None = None
    """By node, in nano-units."""


def unit_of(resource: str) -> int:
    """Nano-units in the unit that a resource is counted in."""
    return MILLI if resource == "cpu" else NANO


def shown(resource: str, amount: int) -> int:
    """An exact amount in its unit, rounded away from zero as Kubernetes does."""
    unit = unit_of(resource)
    return -(-amount // unit) if amount > 0 else amount // unit


def capacity_of(node: NodeView) -> Amounts:
    """Allocatable, or capacity where a node has no allocatable at all (T2)."""
    return node.allocatable or node.capacity


def measure(
    view: ClusterView,
    selection: Selection,
    plugin: Plugin,
    source: UsageSource,
    nan: Literal["raise", "amd64"],
) -> Usage | Reason:
    """Read the usage that the plugin asks for."""
    if source is UsageSource.PROMETHEUS:
        return _from_samples(view.samples(), selection, nan)
    if source is UsageSource.METRICS_SERVER:
        return _from_metrics(view, selection, plugin.resources)
    return _from_requests(view, selection, plugin.resources)


def _from_samples(
    answer: Vector | QueryFailure, selection: Selection, nan: Literal["raise", "amd64"]
) -> Usage | Reason:
    if isinstance(answer, QueryFailure):
        return _failed("P2", answer.message)
    if problem := _bad_sample(answer, named=answer.instances is selection.names):
        return problem
    values = _by_node(answer, selection)
    if isinstance(values, Reason):
        return values
    return Usage({METRIC_RESOURCE: usage_of(values, nan)})


def _bad_sample(vector: Vector, *, named: bool) -> Reason | None:
    """The first sample, in the order of the response, that the descheduler stumbles over.

    named: every one of them is known to have an instance.
    """
    outside = np.flatnonzero((vector.values < 0) | (vector.values > 1))
    first_outside = int(outside[0]) if outside.size else len(vector.values)
    missing = not named and None in vector.instances
    unnamed = vector.instances.index(None) if missing else len(vector.values)
    if unnamed <= first_outside and unnamed < len(vector.values):
        return _failed("P3", "the collected metrics sample is missing 'instance' key")
    if not outside.size:
        return None
    return _failed(
        "P4",
        f'the collected metrics sample for "{vector.instances[first_outside]}" has value '
        f"{_go_float(vector.values[first_outside])} outside of <0; 1> interval",
    )


def _by_node(vector: Vector, selection: Selection) -> Floats | Reason:
    """Samples in the order of the nodes; the last one of an instance counts (P6)."""
    if vector.instances is selection.names:
        return vector.values
    last = {instance: at for at, instance in enumerate(vector.instances)}
    missing = next((name for name in selection.names if name not in last), None)
    if missing is not None:
        return _failed("P7", f"unable to find metric entry for {missing}")
    return vector.values[[last[name] for name in selection.names]]


def _from_requests(
    view: ClusterView, selection: Selection, resources: tuple[str, ...]
) -> Usage | Reason:
    exact = []
    for name in selection.names:
        amounts, pods = view.requested_on(name)
        exact.append({r: pods * NANO if r == "pods" else amounts.get(r, 0) for r in resources})
    return _usage(exact, resources)


def _from_metrics(
    view: ClusterView, selection: Selection, resources: tuple[str, ...]
) -> Usage | Reason:
    """The metrics server tells of cpu and memory only; pods are counted."""
    exact = []
    for name in selection.names:
        metrics = view.node_metrics(name)
        if metrics is None:
            return _failed("P7", f'unable to find node "{name}" in the collected metrics')
        unknown = next((r for r in resources if r not in ("cpu", "memory", "pods")), None)
        if unknown is not None:
            return _failed(
                "P7", f'unable to find "{unknown}" resource for collected "{name}" node metric'
            )
        known = {**metrics, "pods": len(view.pods_on(name)) * NANO}
        exact.append({r: known.get(r, 0) for r in resources})
    return _usage(exact, resources)


def _usage(exact: list[dict[str, int]], resources: tuple[str, ...]) -> Usage:
    return Usage(
        {
            r: np.array([shown(r, amounts[r]) for amounts in exact], dtype=np.int64)
            for r in resources
        },
        tuple(exact),
    )


def _failed(rule: str, message: str) -> Reason:
    return Reason(rule, f"error getting node usage: {message}")


def _go_float(value: np.float64) -> str:
    """As Prometheus prints a sample: no exponent, and a sign before infinity."""
    if np.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return np.format_float_positional(value, trim="-")
