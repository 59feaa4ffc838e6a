"""A cluster as a balancer sees it, in arrays: what is where, how much it uses, what may go where.

Loads are demands (use plus what was wanted and not given) in units of the node's own
capacity, requests are what the scheduler adds up. Row 0 of every pair is CPU, row 1 memory.
A VM that is moving already stands at its target and has the exclusion `moving`: its load is
there as soon as the copy ends, and a balancer that forgets it overshoots.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from trimtab.errors import ConfigError
from trimtab.policy.pods.anti_affinity import Groups as Groups

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

NOWHERE = -1
"""The place of a VM that runs on no node."""
SLACK = 1e-9
"""Shares of a node that differ by less are the same: the rest is rounding."""
CPU, MEMORY = 0, 1
RESOURCES = ("CPU", "memory")


class Exclusion(Struct, frozen=True):
    """Why a VM is not moved: a short word for programs, a sentence for people."""

    rule: str
    text: str


class Problem(Struct, frozen=True, eq=False, kw_only=True):
    """Everything that decides a plan. N nodes, V VMs, R requested resources.

    capacity: (2, N) cores and bytes that loads are shares of.
    ground: (2, N) load that no VM causes (other pods), in cores and bytes.
    open: (N,) takes new VMs: ready, not cordoned.
    node_class: (N,) nodes that are alike share a number; targets are sampled by class.
    allocatable, taken: (R, N) requests that fit, and what other pods than VMs request.
    where: (V,) the node of each VM, NOWHERE for one without.
    load: (2, V) demand in cores and bytes.
    request: (R, V) what each VM's pod requests.
    kind: (V,) row of `allowed`: VMs with the same rules share one.
    allowed: (kinds, N) nodes that selectors, affinity, taints and labels leave.
    resident, dirty_rate: (V,) bytes to copy, bytes a second that the guest changes.
    pressure: (N,) share of time that work waits for CPU or memory (PSI or CPU delay).
    leaving, arriving: (N,) migrations under way out of and into each node.
    emptied: (N,) nodes that every VM has to leave: drained, or taken away in a what-if.
    """

    nodes: tuple[str, ...]
    vms: tuple[str, ...]
    capacity: Floats
    ground: Floats
    open: Flags
    node_class: Places
    allocatable: Floats
    taken: Floats
    resources: tuple[str, ...]
    where: Places
    load: Floats
    request: Floats
    kind: Places
    allowed: Flags
    resident: Floats
    dirty_rate: Floats
    pressure: Floats
    emptied: Flags
    leaving: Places
    arriving: Places
    excluded: Mapping[int, Exclusion] = {}
    groups: Groups | None = None

    @property
    def movable(self) -> Flags:
        """(V,) VMs that run somewhere and that nothing excludes."""
        movable = self.where >= 0
        if self.excluded:
            movable[list(self.excluded)] = False
        return movable

    def shares(self) -> Floats:
        """(2, N) demand of each node as a share of its capacity."""
        return node_sums(self.where, self.load, len(self.nodes), self.ground) / self.capacity

    def mean(self) -> Floats:
        """(2,) demand of the nodes that take part as a share of what they have.

        Moves between nodes do not change it, also between unlike ones, where the mean of
        the shares would: that is what makes the bound a bound.
        """
        there = self.participating
        if not there.any():
            return np.zeros(2)
        ground = np.where(self.emptied, 0.0, self.ground)
        total = node_sums(self.where, self.load, len(self.nodes), ground)
        total = total[:, there | self.emptied]
        return np.asarray(total.sum(axis=1) / self.capacity[:, there].sum(axis=1))

    @property
    def participating(self) -> Flags:
        """(N,) nodes that the mean is taken over: open ones, and those with VMs on them."""
        used = np.zeros(len(self.nodes), dtype=np.bool_)
        used[self.where[self.where >= 0]] = True
        return np.asarray((self.open | used) & ~self.emptied)


def node_sums(where: Places, values: Floats, nodes: int, ground: Floats) -> Floats:
    """(rows, N): `ground` plus the values (rows, V) of the VMs on each node."""
    placed = where >= 0
    return ground + np.stack(
        [np.bincount(where[placed], row[placed], minlength=nodes) for row in values]
    )


def problem_of(
    *,
    nodes: Sequence[str],
    vms: Sequence[str],
    capacity: Floats,
    where: Sequence[int] | Places,
    load: Floats,
    ground: Floats | None = None,
    open_nodes: Flags | None = None,
    node_class: Places | None = None,
    resources: Sequence[str] = (),
    allocatable: Floats | None = None,
    taken: Floats | None = None,
    request: Floats | None = None,
    kind: Places | None = None,
    allowed: Flags | None = None,
    resident: Floats | None = None,
    dirty_rate: Floats | None = None,
    pressure: Floats | None = None,
    emptied: Flags | None = None,
    leaving: Places | None = None,
    arriving: Places | None = None,
    excluded: Mapping[int, Exclusion] | None = None,
    groups: Groups | None = None,
) -> Problem:
    """A problem with the usual defaults: no rules, no requests, resident memory = memory load."""
    n, v = len(nodes), len(vms)
    rows = len(resources)
    classes = _classes(capacity) if node_class is None else node_class
    problem = Problem(
        nodes=tuple(nodes),
        vms=tuple(vms),
        capacity=np.asarray(capacity, dtype=np.float64),
        ground=np.zeros((2, n)) if ground is None else ground,
        open=_open(n, open_nodes, emptied),
        node_class=classes,
        resources=tuple(resources),
        allocatable=np.full((rows, n), np.inf) if allocatable is None else allocatable,
        taken=np.zeros((rows, n)) if taken is None else taken,
        where=np.asarray(where, dtype=np.intp),
        load=np.asarray(load, dtype=np.float64),
        request=np.zeros((rows, v)) if request is None else request,
        kind=np.zeros(v, dtype=np.intp) if kind is None else kind,
        allowed=np.ones((1, n), dtype=np.bool_) if allowed is None else allowed,
        resident=np.asarray(load[MEMORY] if resident is None else resident, dtype=np.float64),
        dirty_rate=np.zeros(v) if dirty_rate is None else dirty_rate,
        pressure=np.zeros(n) if pressure is None else pressure,
        emptied=np.zeros(n, dtype=np.bool_) if emptied is None else emptied,
        leaving=np.zeros(n, dtype=np.intp) if leaving is None else leaving,
        arriving=np.zeros(n, dtype=np.intp) if arriving is None else arriving,
        excluded={} if excluded is None else excluded,
        groups=groups,
    )
    check(problem)
    return problem


def _open(nodes: int, given: Flags | None, emptied: Flags | None) -> Flags:
    """Nodes that are being emptied take no VM."""
    taking = np.ones(nodes, dtype=np.bool_) if given is None else given
    return taking if emptied is None else np.asarray(taking & ~emptied)


def _classes(capacity: Floats) -> Places:
    _, inverse = np.unique(capacity.T, axis=0, return_inverse=True)
    return np.asarray(inverse.reshape(-1), dtype=np.intp)


def check(problem: Problem) -> None:
    """Refuse what no plan can be made from, in one line: which, where, what is wrong."""
    bad = np.flatnonzero(~(problem.capacity > 0).all(axis=0))
    if len(bad):
        raise ConfigError(f"node {problem.nodes[bad[0]]}: its capacity is not above zero")
    for what, values in (("load", problem.load), ("request", problem.request)):
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)).all(axis=0))
        if len(bad):
            raise ConfigError(f"VM {problem.vms[bad[0]]}: its {what} is not a number from 0 up")
    bad = np.flatnonzero(problem.where >= len(problem.nodes))
    if len(bad):
        raise ConfigError(f"VM {problem.vms[bad[0]]}: it is on a node that is not listed")
