"""What came of a run: the report card, and the course of events behind it.

Definitions are in docs/reference/metrics.md and tested on hand-computed cases. A smaller
number is better unless its name says otherwise.
"""

from collections.abc import Sequence
from math import nan

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class ReportCard(Struct, frozen=True, rename="camel"):
    """One number per question; nan where the question has no answer in this run."""

    # Balance: time integrals over the run, so a late recovery counts less than an early one.
    load_std_mean: float
    """Standard deviation of the nodes' CPU use, averaged over time."""
    load_std_final: float
    memory_std_mean: float
    max_over_mean: float
    gini: float
    spread: float
    """Largest minus smallest node, averaged over time."""
    # Contention
    overload_node_seconds: float
    """Time integral of use above 1, summed over nodes and both resources."""
    degraded_vm_share: float
    """The share of CPU demand that was not served."""
    degraded_vm_share_p99: float
    psi_node_seconds: float
    slatah: float
    pdm: float
    slav: float
    # Cost
    migrations: int
    failed_migrations: int
    gb_moved: float
    precopy_seconds: float
    peak_concurrent: int
    vms_moved_again: int
    """VMs that moved more than once."""
    # Control
    first_converged_s: float
    """First moment from which no node was above the band for three cycles; nan if never.

    The band is the same for every score and policy: 10 points above the nodes' mean, in
    CPU and memory.
    """
    last_converged_s: float
    """The last such moment: equal to the first unless the band was left again."""
    oscillations: int
    """Changes of a node between above the band and below the mean."""
    ping_pongs: int
    """VMs back on a node they had left less than an hour before."""
    # Bounds: what the best conceivable rebalancer needs from the same start (NaN without one)
    minimum_migrations: int
    minimum_gb: float
    minimum_cycles: int
    # Further figures; nan where the run was made before they existed.
    load_cv_mean: float = nan
    """Standard deviation of the nodes' CPU use over its mean, averaged over time."""
    down_vm_seconds: float = nan
    """Seconds in which a VM should have run and did not, summed over VMs."""
    overshoot: float = nan
    """How far past the mean a node went that had been out of the band on the other side."""
    energy_kwh: float = nan
    esv: float = nan
    """Energy times `slav`."""


class Course(Struct, frozen=True):
    """Arrays over time for charts, one row per descheduling cycle."""

    times: NDArray[np.float64]
    """(cycles,) seconds"""
    cpu: NDArray[np.float32]
    """(cycles, nodes) share of the node used"""
    memory: NDArray[np.float32]
    score: NDArray[np.float32]
    """(cycles, nodes) what the descheduler saw"""
    classes: NDArray[np.int8]
    """(cycles, nodes) -1 under-utilised, 0 appropriate, 1 over-utilised"""
    thresholds: NDArray[np.float32]
    """(cycles, 2) low and high, in points"""


class MigrationRecord(Struct, frozen=True, rename="camel", gc=False):
    """One migration, finished or not."""

    vm: str
    source: str
    target: str | None
    requested_s: float
    started_s: float | None
    ended_s: float | None
    gb: float
    outcome: str
    """succeeded, failed, timed-out, running, waiting"""


class Outcome(Struct, frozen=True, rename="camel"):
    """Everything a run leaves behind."""

    card: ReportCard
    course: Course
    moves: Sequence[MigrationRecord]
    placement_before: dict[str, str]
    """node of each VM at the start"""
    placement_after: dict[str, str]
    errors: tuple[str, ...] = ()
    """Cycles that the descheduler would have failed, with its reason."""
