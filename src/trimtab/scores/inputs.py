"""What a score sees of each node, and the parts that most scores are built from.

Four inputs: CPU usage (may exceed 1), CPU pressure, memory usage, memory pressure. Two more
for scores that know about migrations under way: the CPU and the memory of the VMs arriving
minus those leaving, as a share of the node, so they may be negative; 0 where nobody tells.
"""

from collections.abc import Sequence

from trimtab.scores.expr import COLUMNS, Column, Expr, Input, Record
from trimtab.scores.language import clamp, cluster_record, maximum, mean, record, sqrt

DIMENSIONS: tuple[Column, ...] = COLUMNS[:4]
IN_FLIGHT: tuple[Column, ...] = COLUMNS[4:]
PRESSURE: tuple[Column, ...] = ("cpu_pressure", "memory_pressure")

# Identical nodes differ from their mean by one rounding step; without a floor, dividing by the
# largest such difference would score them 1 instead of 0. 1e-6 leaves 10 % of the tolerance
# between the two back ends, 1e-5 a factor of four.
FLOOR = 1e-5

cpu_usage = Input("cpu_usage")
cpu_pressure = Input("cpu_pressure")
memory_usage = Input("memory_usage")
memory_pressure = Input("memory_pressure")
cpu_in_flight = Input("cpu_in_flight")
memory_in_flight = Input("memory_in_flight")
inputs = (cpu_usage, cpu_pressure, memory_usage, memory_pressure)

cluster_means: tuple[Record, ...] = tuple(cluster_record(x.column, mean(x)) for x in inputs)
deviations: tuple[Expr, ...] = tuple(x - m for x, m in zip(inputs, cluster_means, strict=True))
excesses: tuple[Record, ...] = tuple(
    record(f"{name}_excess", clamp(d, low=0))
    for name, d in zip(DIMENSIONS, deviations, strict=True)
)
excess_means: tuple[Record, ...] = tuple(
    cluster_record("excess", mean(e), name) for name, e in zip(DIMENSIONS, excesses, strict=True)
)


def total(terms: Sequence[Expr]) -> Expr:
    """The sum, from left to right."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def length(vector: Sequence[Expr]) -> Expr:
    """The Euclidean length."""
    return sqrt(total([x**2 for x in vector]))


def norm(argument: Expr) -> Expr:
    """Relative to the largest of any node, so that the worst node scores 1."""
    return argument / clamp(maximum(argument), low=FLOOR)


def excess_distance(name: str, values: Sequence[Expr]) -> Record:
    """How far each node lies above the cluster's mean, over all of `values`.

    This is the distance behind `linear_amplified_ippd_k3` for inputs that were changed first
    (`name` tells how); the parts are recorded as `<input>_<name>`.
    """
    recorded = [record(f"{d}_{name}", v) for d, v in zip(DIMENSIONS, values, strict=True)]
    means = [cluster_record(r.name, mean(r)) for r in recorded]
    above = [clamp(r - m, low=0) for r, m in zip(recorded, means, strict=True)]
    return record(f"{name}_distance", length(above))
