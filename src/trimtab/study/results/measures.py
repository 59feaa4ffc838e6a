"""Measures: the questions a study answers about each run, in units that people use.

Imbalance ranks the candidates. It is the distance of a node from the cluster's mean in the
plane of CPU and memory use, averaged over nodes and time: no weights, since both axes are
shares of a node. Everything else is shown beside it, never mixed into it.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.sim.outcome import ReportCard


class Measure(Struct, frozen=True):
    """One number of a run; less is better for all of them but `converged`."""

    name: str
    title: str
    unit: str
    about: str
    of: Callable[[ReportCard], float]


def imbalance(card: ReportCard) -> float:
    """In percentage points, as the report shows it."""
    return 100 * math.hypot(card.load_std_mean, card.memory_std_mean)


IMBALANCE, MIGRATIONS, MINIMUM, CONVERGED = "imbalance", "migrations", "minimum", "converged"

MEASURES: tuple[Measure, ...] = (
    Measure(
        IMBALANCE,
        "imbalance",
        "points",
        "distance of a node from the cluster's mean in CPU and memory use, over the whole run",
        imbalance,
    ),
    Measure(
        MIGRATIONS, "migrations", "", "VMs that were moved", lambda card: float(card.migrations)
    ),
    Measure(
        "cpu_imbalance",
        "CPU imbalance",
        "points",
        "standard deviation of the nodes' CPU use, over the whole run",
        lambda card: 100 * card.load_std_mean,
    ),
    Measure(
        "memory_imbalance",
        "memory imbalance",
        "points",
        "standard deviation of the nodes' memory use, over the whole run",
        lambda card: 100 * card.memory_std_mean,
    ),
    Measure(
        "overload",
        "overload",
        "node·s",
        "use above a node's capacity, summed over nodes and time",
        lambda card: card.overload_node_seconds,
    ),
    Measure(
        "unserved",
        "unserved CPU",
        "%",
        "share of the CPU demand that was not served",
        lambda card: 100 * card.degraded_vm_share,
    ),
    Measure(
        "gb_moved", "data moved", "GB", "memory sent by migrations", lambda card: card.gb_moved
    ),
    Measure(
        "moved_again",
        "moved again",
        "VMs",
        "VMs that moved more than once",
        lambda card: float(card.vms_moved_again),
    ),
    Measure(
        "overshoot",
        "overshoot",
        "points",
        "how far past the mean a node went that had been out of the band on the other side",
        lambda card: 100 * card.overshoot,
    ),
    Measure(
        "ping_pongs",
        "ping-pong",
        "",
        "VMs back on a node they had left less than an hour before",
        lambda card: float(card.ping_pongs),
    ),
    Measure(
        "esv",
        "ESV",
        "kWh",
        "energy times the share of time that nodes are full times the share of CPU that VMs lose "
        "to migrations",
        lambda card: card.esv,
    ),
    Measure(
        MINIMUM,
        "minimum",
        "",
        "the fewest migrations with which any rebalancer can level the same start",
        lambda card: float(card.minimum_migrations),
    ),
    Measure(
        CONVERGED,
        "converged",
        "share",
        "runs that reached a state without nodes more than 10 points above the mean",
        lambda card: float(not math.isnan(card.first_converged_s)),
    ),
)


def values(measure: Measure, cards: Sequence[Sequence[ReportCard]]) -> NDArray[np.float64]:
    """(candidates, seeds) of one measure."""
    return np.array([[measure.of(card) for card in row] for row in cards], dtype=np.float64)
