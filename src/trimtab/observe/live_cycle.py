"""One descheduling cycle on a live cluster, from what its exporter and Prometheus tell.

The rules are those of `trimtab.policy`. The descheduler says who must go and the scheduler
where to; here each VM gets an intended node as well, so that the two can be compared: the
under-utilised node that would be the least used with it, VMs intended before counted.

What an exporter does not tell is taken as the lab has it: every node is schedulable and
without taints, every VM can migrate and has the default priority.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct, field

from trimtab.errors import ConfigError
from trimtab.observe.node_classes import LiveView
from trimtab.policy.choices import Shuffled
from trimtab.policy.cycle import Class, Cycle, PluginRun
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import METRIC_RESOURCE, LowNodeUtilization, Policy, UsageSource
from trimtab.policy.numbers import NotANumberError
from trimtab.policy.pods.taints import LAUNCHER_TOLERATIONS
from trimtab.policy.view import PlainNode, PlainPod, QueryFailure, Traits, Vector
from trimtab.virt.launcher import SCHEDULABLE

_TRAITS = Traits(
    request_evict_only=True,
    tolerations=LAUNCHER_TOLERATIONS,
    node_selector={SCHEDULABLE: "true"},
)


class LiveVm(Struct, frozen=True):
    """A VM and what it uses, as shares of the reference node."""

    id: str
    cpu: float
    memory: float


class LiveNode(Struct, frozen=True):
    """A node, its VMs, and its use as shares of itself (None: not measured)."""

    name: str
    vms: tuple[LiveVm, ...]
    use: tuple[float, float] | None


class LiveNodeClass(Struct, frozen=True, rename="camel"):
    """A node with its class by the policy; `percent` is None where it was not looked at."""

    node: str
    percent: float | None
    kind: str
    vms: int


class IntendedMove(Struct, frozen=True, rename="camel"):
    """A VM that must go, and where it is meant to go."""

    vm_id: str
    from_node: str
    intended_node: str | None


class LiveDecision(Struct, frozen=True, rename="camel"):
    """What one cycle comes to."""

    nodes: tuple[LiveNodeClass, ...]
    low: float | None
    high: float | None
    intended_moves: tuple[IntendedMove, ...] = field(name="wishes")
    quiet: str = ""
    """Why no VM moves, if none does."""
    error: str = ""
    """Why the descheduler would have failed."""


class Landing(Struct, frozen=True, rename="camel"):
    """One VM: where it was meant to go and where it goes."""

    vm_id: str
    from_node: str
    intended_node: str | None
    actual_node: str | None
    error: str = ""

    @property
    def verdict(self) -> str:
        if self.error:
            return self.error
        if self.intended_node is None:
            return "placed"
        return "as intended" if self.actual_node == self.intended_node else "elsewhere"


class LiveResult(Struct, frozen=True, rename="camel"):
    """What `--json` prints."""

    query: str
    dry_run: bool
    decision: LiveDecision
    moves: tuple[Landing, ...]


def query_of(policy: Policy) -> str:
    """The one query of a policy that can be decided from outside the cluster."""
    plugins = [plugin for profile in policy.profiles for _, plugin in profile.plugins]
    if len(plugins) != 1 or not isinstance(plugins[0], LowNodeUtilization):
        raise ConfigError("--live: the policy must enable LowNodeUtilization and nothing else")
    plugin = plugins[0]
    if plugin.source is not UsageSource.PROMETHEUS:
        raise ConfigError("--live: the policy must ask Prometheus (metricsUtilization.source)")
    if policy.profiles[0].evictor.node_fit:
        raise ConfigError("--live: nodeFit needs the nodes' capacity, which no exporter tells")
    return plugin.query


def decide_live(
    nodes: Sequence[LiveNode], answer: Vector | QueryFailure, policy: Policy, seed: int = 0
) -> LiveDecision:
    """Decide one cycle on the answer to `query_of(policy)`; `seed` decides ties."""
    measured = any(node.use for node in nodes)
    view = LiveView(
        [_node(node, measured=measured) for node in nodes],
        answer,
        {node.name: [_pod(vm) for vm in node.vms] for node in nodes},
    )
    if not view.selected(policy.node_selector).nodes:
        raise ConfigError(
            f"--live: nodeSelector {policy.node_selector.text!r} matches no node that the "
            "exporter tells of; it knows no labels of nodes but kubevirt.io/schedulable=true"
        )
    try:
        cycle = decide(view, policy, choose=Shuffled(seed))
    except NotANumberError:
        return _decision(nodes, Cycle(nodes=()), "a sample is NaN")
    return _decision(nodes, cycle)


def _node(node: LiveNode, *, measured: bool) -> PlainNode:
    """A node without metrics is one that is not Ready: the exporter leaves those out."""
    labels = {SCHEDULABLE: "true", "kubernetes.io/hostname": node.name}
    return PlainNode(name=node.name, labels=labels, ready=node.use is not None or not measured)


def _pod(vm: LiveVm) -> PlainPod:
    namespace, _, name = vm.id.rpartition("/")
    return PlainPod(
        uid=vm.id,
        name=f"virt-launcher-{name}",
        namespace=namespace or "default",
        owner_uid=vm.id,
        traits=_TRAITS,
    )


def _decision(nodes: Sequence[LiveNode], cycle: Cycle, error: str = "") -> LiveDecision:
    run = cycle.runs[0] if cycle.runs else None
    reason = cycle.skipped or (run.exit if run else None)
    figures = run.figures if run else None
    intended_moves = tuple(_intended(nodes, cycle.nodes, run)) if run else ()
    if not intended_moves and not reason and not error and run and not run.error:
        stops = ", ".join(f"{visit.node}: {visit.stop.name.lower()}" for visit in run.visits)
        quiet = f"no VM may go ({stops.replace('_', ' ')})"
    else:
        quiet = reason.text if reason else ""
    return LiveDecision(
        nodes=tuple(_node_classes(nodes, cycle.nodes, run)),
        low=figures.low[METRIC_RESOURCE] if figures else None,
        high=figures.high[METRIC_RESOURCE] if figures else None,
        intended_moves=intended_moves,
        quiet=quiet,
        error=error or (run.error.text if run and run.error else ""),
    )


def _node_classes(
    nodes: Sequence[LiveNode], selected: tuple[str, ...], run: PluginRun | None
) -> Iterator[LiveNodeClass]:
    figures = run.figures if run else None
    for node in nodes:
        if figures is None or node.name not in selected:
            known = "not looked at" if run and node.name not in selected else "unknown"
            yield LiveNodeClass(node.name, None, known, len(node.vms))
            continue
        number = selected.index(node.name)
        percent = float(figures.percent[METRIC_RESOURCE][number])
        kind = Class(figures.classes[number]).name.lower()
        yield LiveNodeClass(node.name, percent, kind, len(node.vms))


def _intended(
    nodes: Sequence[LiveNode], selected: tuple[str, ...], run: PluginRun
) -> Iterator[IntendedMove]:
    by_name = {node.name: node for node in nodes}
    targets = Targets([by_name[selected[number]] for number in run.destinations])
    vms = {vm.id: vm for node in nodes for vm in node.vms}
    for eviction in run.evictions:
        vm = vms[eviction.pod.uid]
        yield IntendedMove(vm.id, eviction.node, targets.take(vm))


class Targets:
    """Nodes with room; each VM goes where the mean of CPU and memory use is then the lowest."""

    def __init__(self, nodes: Sequence[LiveNode]) -> None:
        self._names = [node.name for node in nodes]
        sums = [[sum(vm.cpu for vm in n.vms), sum(vm.memory for vm in n.vms)] for n in nodes]
        own = np.array(sums, dtype=np.float64).reshape(-1, 2)
        measured = [node.use or tuple(row) for node, row in zip(nodes, sums, strict=True)]
        self._use = np.array(measured, dtype=np.float64).reshape(-1, 2)
        # A share of the reference node as a share of this one: from its own VMs, where it has any.
        known = (own > 0) & (self._use > 0)
        self._scale = np.divide(self._use, own, out=np.ones_like(own), where=known)

    def take(self, vm: LiveVm) -> str | None:
        """The node for this VM, which from now on counts there."""
        if not self._names:
            return None
        after = self._use + np.array([vm.cpu, vm.memory]) * self._scale
        chosen = int(after.sum(axis=1).argmin())
        self._use[chosen] = after[chosen]
        return self._names[chosen]
