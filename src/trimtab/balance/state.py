"""The cluster while a plan is made: every move that is planned counts as done.

`fits` and `refusal` are the one place that says where a VM may go. A move must fit while
the VM still is on its source, because both pods exist until the copy ends; on the target
it needs its whole request.
"""

import numpy as np

from trimtab.balance.problem import RESOURCES, Flags, Floats, Places, Problem, node_sums

_ROUNDING = 1e-9
"""The share by which requests may exceed what is left."""


class State:
    """Where every VM is after the moves planned so far."""

    def __init__(self, problem: Problem, *, at_once: bool = False) -> None:
        """at_once: all moves are started together, so a source keeps what its VMs request."""
        self.problem, self._at_once = problem, at_once
        nodes = len(problem.nodes)
        self.where: Places = problem.where.copy()
        self.share: Floats = problem.shares()
        self.used: Floats = (
            node_sums(problem.where, problem.request, nodes, problem.taken)
            if len(problem.resources)
            else np.zeros((0, nodes))
        )
        self.on_node: list[list[int]] = [[] for _ in range(nodes)]
        for vm, node in enumerate(problem.where.tolist()):
            if node >= 0:
                self.on_node[node].append(vm)
        self._groups = _GroupCounts(problem)

    def share_of(self, vm: int | Places, node: int | Places) -> Floats:
        """(2, …) the VM's load as a share of the node's capacity."""
        return np.asarray(self.problem.load[:, vm] / self.problem.capacity[:, node])

    def move(self, vm: int, target: int) -> None:
        """Count a move as done."""
        problem, source = self.problem, int(self.where[vm])
        self.share[:, source] -= problem.load[:, vm] / problem.capacity[:, source]
        self.share[:, target] += problem.load[:, vm] / problem.capacity[:, target]
        if not self._at_once:
            self.used[:, source] -= problem.request[:, vm]
        self.used[:, target] += problem.request[:, vm]
        self.on_node[source].remove(vm)
        self.on_node[target].append(vm)
        self._groups.move(vm, source, target)
        self.where[vm] = target

    def fits(self, vms: Places, targets: Places) -> Flags:
        """(vms, targets): the VM may run there by every rule that is known."""
        problem = self.problem
        fits = problem.allowed[problem.kind[vms][:, None], targets[None, :]]
        fits &= problem.open[targets]
        for used, whole, request in zip(
            self.used, problem.allocatable, problem.request, strict=True
        ):
            room = (whole[targets] - used[targets]) * (1 + _ROUNDING)
            fits &= request[vms][:, None] <= room[None, :]
        if problem.groups is not None:
            for row, vm in enumerate(vms.tolist()):
                if self._groups.touches(vm):
                    fits[row] &= ~self._groups.meets(vm, int(self.where[vm]), targets)
        fits &= targets[None, :] != self.where[vms][:, None]
        return np.asarray(fits)

    def refusal(self, vm: int, target: int) -> tuple[str, str] | None:
        """The rule that keeps a VM from a node, and a sentence; None if none does."""
        problem = self.problem
        node = problem.nodes[target]
        if target == self.where[vm]:
            return "same-node", "it is there already"
        if not problem.open[target]:
            return "closed", f"{node} takes no new pods: cordoned or not ready"
        if not problem.allowed[problem.kind[vm], target]:
            return "allowed-nodes", f"its selectors, affinity or tolerations leave {node} out"
        for row, name in enumerate(problem.resources):
            room = float(problem.allocatable[row, target] - self.used[row, target])
            if problem.request[row, vm] > room * (1 + _ROUNDING):
                return "requests", f"{node} has too little {name} left to request"
        if (
            self._groups.touches(vm)
            and self._groups.meets(vm, int(self.where[vm]), np.array([target])).any()
        ):
            return "anti-affinity", f"a VM that it keeps apart from runs in {node}'s domain"
        return None

    def breaks_rule(self, vm: int) -> str | None:
        """The rule that a VM breaks where it is now, as a sentence, or None."""
        problem, node = self.problem, int(self.where[vm])
        if problem.emptied[node]:
            return f"{problem.vms[vm]} runs on {problem.nodes[node]}, which is to be emptied"
        if not problem.allowed[problem.kind[vm], node]:
            return (
                f"{problem.vms[vm]} runs on {problem.nodes[node]}, "
                "which its selectors, affinity or tolerations leave out"
            )
        if self._groups.touches(vm) and self._groups.meets(vm, node, np.array([node])).any():
            return f"{problem.vms[vm]} meets a VM on {problem.nodes[node]} that it keeps apart from"
        return None

    def excess(self, ceiling: Floats) -> Floats:
        """(N,) how far each node is above its ceiling, CPU and memory added up."""
        return np.asarray((self.share - ceiling).clip(min=0.0).sum(axis=0))

    def hottest_resource(self, node: int, ceiling: Floats) -> str:
        return RESOURCES[int((self.share[:, node] - ceiling[:, node]).argmax())]


class _GroupCounts:
    """How many holders and repelled VMs of each anti-affinity group are in each domain."""

    def __init__(self, problem: Problem) -> None:
        self._groups = problem.groups
        self._holding: dict[tuple[int, int], int] = {}
        self._present: dict[tuple[int, int], int] = {}
        if self._groups is None:
            return
        for vm in {*self._groups.holders, *self._groups.repelled}:
            self._count(vm, int(problem.where[vm]), +1)

    def touches(self, vm: int) -> bool:
        groups = self._groups
        return groups is not None and (vm in groups.holders or vm in groups.repelled)

    def move(self, vm: int, source: int, target: int) -> None:
        if self.touches(vm):
            self._count(vm, source, -1)
            self._count(vm, target, +1)

    def meets(self, vm: int, node: int, targets: Places) -> Flags:
        """(targets,): the VM would be where one that repels it, or that it repels, is.

        The VM itself does not count on its own `node`. On other nodes it does: while it is copied
        both of its pods exist, so one that keeps its like out of a zone must leave the zone.
        """
        groups = self._groups
        assert groups is not None
        bad = np.zeros(len(targets), dtype=np.bool_)
        holds, repelled = groups.holders.get(vm, ()), groups.repelled.get(vm, ())
        for group in {*holds, *repelled}:
            for at, domain in enumerate(groups.domain[group, targets].tolist()):
                if domain < 0:
                    continue
                here = int(targets[at]) == node
                if group in holds:
                    others = self._present.get((group, domain), 0) - (here and group in repelled)
                    bad[at] |= others > 0
                if group in repelled:
                    others = self._holding.get((group, domain), 0) - (here and group in holds)
                    bad[at] |= others > 0
        return bad

    def _count(self, vm: int, node: int, by: int) -> None:
        groups = self._groups
        assert groups is not None
        if node < 0:
            return
        for counts, of in ((self._holding, groups.holders), (self._present, groups.repelled)):
            for group in of.get(vm, ()):
                domain = int(groups.domain[group, node])
                if domain >= 0:
                    counts[group, domain] = counts.get((group, domain), 0) + by
