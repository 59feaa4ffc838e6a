"""What is wrong with a scenario file: every mistake, in the words of the file.

Each is one line, `vms[2].cpu: '2 cores' is not a quantity; write it like …`. Mistakes in the
file's structure (fields, types) are found before, by `trimtab.model.scenarios.structure`.
"""

import re
from collections.abc import Iterator, Mapping

from trimtab.errors import ConfigError
from trimtab.model.duration import parse_duration
from trimtab.model.limits import (
    MAX_AT_ONCE,
    MAX_BYTES,
    MAX_CORES,
    MAX_NODES,
    MAX_PODS,
    MAX_USE,
    MAX_VMS,
)
from trimtab.model.load.curve import Curve, check_curve, levels
from trimtab.model.pod_rules import AntiAffinityTerm, Constraints, NodeTerm, Toleration
from trimtab.model.quantity import NANO, Quantity, parse_quantity
from trimtab.model.scenarios.file import (
    API_VERSION,
    Amount,
    Between,
    EventInFile,
    GroundLoad,
    MigrationModel,
    NodeDrains,
    NodeFails,
    NodeGroup,
    ScenarioFile,
    TraceSource,
    VmGroup,
    VmsArrive,
)
from trimtab.model.selectors import label_problem, node_requirement_problem, selector_of

MAX_PRIORITY = 1_000_000_000  # Kubernetes keeps higher ones for itself
_CORES, _MEMORY = Quantity(MAX_CORES * NANO), Quantity(MAX_BYTES * NANO)
_PER_SECOND = _MEMORY


def check_file(file: ScenarioFile) -> Iterator[str]:
    """Every mistake that can be seen without expanding the file."""
    if file.api_version != API_VERSION:
        yield f"apiVersion: {file.api_version!r} is not known; write {API_VERSION}"
    yield from _duration(file.duration, "duration")
    if not file.nodes:
        yield "nodes: a scenario needs at least one node"
    yield from check_counts(file)
    for index, nodes in enumerate(file.nodes):
        yield from _node_group(nodes, f"nodes[{index}]")
    for index, vms in enumerate(file.vms):
        yield from _vm_group(vms, f"vms[{index}]")
    for index, event in enumerate(file.events):
        yield from _event(event, f"events[{index}]")
    yield from _migration(file.migration)


def check_counts(
    file: ScenarioFile, max_nodes: int = MAX_NODES, max_vms: int = MAX_VMS
) -> Iterator[str]:
    """Refuse, before anything is expanded, more than can be held; the field that is too many."""
    nodes = [(f"nodes[{index}].count", group.count) for index, group in enumerate(file.nodes)]
    vms = [(f"vms[{index}].count", group.count) for index, group in enumerate(file.vms)]
    vms += [
        (f"events[{index}].vms.count", event.vms.count)
        for index, event in enumerate(file.events)
        if isinstance(event, VmsArrive)
    ]
    yield from _too_many(nodes, max_nodes, "nodes")
    yield from _too_many(vms, max_vms, "VMs")


def _too_many(groups: list[tuple[str, int]], most: int, what: str) -> Iterator[str]:
    total = 0
    for field, count in groups:
        if count < 0:
            yield f"{field}: must not be negative"
        total += max(count, 0)
        if total > most:
            yield f"{field}: more than {most} {what}; use fewer"
            return


def _duration(text: Amount, field: str, *, zero: bool = False) -> Iterator[str]:
    """Problems of a duration that must be above 0, or with `zero` may be 0."""
    try:
        seconds = parse_duration(text, field)
    except ConfigError as error:
        yield str(error)
    else:
        if not (seconds or zero):
            yield f"{field}: {text!r} must be above 0"


def _quantity(text: Amount, field: str, most: Quantity, *, zero: bool = False) -> Iterator[str]:
    """Problems of a quantity that must be above 0, or with `zero` may be 0."""
    try:
        quantity = parse_quantity(text, field)
    except ConfigError as error:
        yield str(error)
        return
    if quantity.nano < 0 or not (quantity.nano or zero):
        yield f"{field}: {text!r} must {'not be negative' if zero else 'be above 0'}"
    elif quantity > most:
        yield f"{field}: {text!r} must be at most {most}"


def _node_group(group: NodeGroup, field: str) -> Iterator[str]:
    yield from _quantity(group.cpu, f"{field}.cpu", _CORES)
    yield from _quantity(group.memory, f"{field}.memory", _MEMORY)
    if not 1 <= group.pods <= MAX_PODS:
        yield f"{field}.pods: must be at least 1 and at most {MAX_PODS}"
    yield from _ground(group.ground, f"{field}.ground")


def _ground(load: GroundLoad, field: str) -> Iterator[str]:
    yield from _quantity(load.cpu, f"{field}.cpu", _CORES, zero=True)
    yield from _quantity(load.memory, f"{field}.memory", _MEMORY, zero=True)
    yield from _quantity(load.requested_cpu, f"{field}.requestedCpu", _CORES, zero=True)
    yield from _quantity(load.requested_memory, f"{field}.requestedMemory", _MEMORY, zero=True)
    for name, count in (
        ("pods", load.pods),
        ("withoutCpu", load.without_cpu),
        ("withoutMemory", load.without_memory),
    ):
        if not 0 <= count <= MAX_PODS:
            yield f"{field}.{name}: must be at least 0 and at most {MAX_PODS}"


def _vm_group(group: VmGroup, field: str) -> Iterator[str]:
    yield from _quantity(group.cpu, f"{field}.cpu", _CORES)
    yield from _quantity(group.memory, f"{field}.memory", _MEMORY)
    yield from _level(group.utilization.cpu, f"{field}.utilization.cpu", MAX_USE)
    yield from _level(group.utilization.memory, f"{field}.utilization.memory", 1)
    yield from _curve(group.load.cpu, f"{field}.load.cpu", MAX_USE)
    yield from _curve(group.load.memory, f"{field}.load.memory", 1)
    yield from _duration(group.stagger, f"{field}.stagger", zero=True)
    if not -(2**31) <= group.priority <= MAX_PRIORITY:
        yield f"{field}.priority: must be at most {MAX_PRIORITY}"
    yield from _quantity(group.dirty_rate, f"{field}.dirtyRate", _PER_SECOND, zero=True)
    yield from constraint_problems(group.constraints, f"{field}.constraints")
    if group.trace is not None:
        yield from _trace(group, group.trace, field)


def _level(level: float | Between, field: str, most: float) -> Iterator[str]:
    low, high = (level.min, level.max) if isinstance(level, Between) else (level, level)
    if low > high:
        yield f"{field}: min is above max"
    elif not 0 <= low <= high <= most:
        yield f"{field}: {low if low < 0 else high:g} must be within 0..{most}"


def _curve(curve: Curve | None, field: str, most: float) -> Iterator[str]:
    if curve is None:
        return
    try:
        check_curve(curve, field)
    except ConfigError as error:
        yield str(error)
    if max(levels(curve), default=0.0) > most:
        yield f"{field}: a VM cannot use more memory than it has; keep the values within 0..1"


def _trace(group: VmGroup, trace: TraceSource, field: str) -> Iterator[str]:
    if group.load.cpu is not None:
        yield f"{field}.load.cpu: the trace decides it; leave one of them out"
    if group.stagger not in (0, "0", "0s"):
        yield f"{field}.stagger: every machine of a trace has its own curve; leave it out"
    if group.count != 1:
        yield f"{field}.count: the trace decides it; write trace.limit"
    if trace.limit is not None and trace.limit < 1:
        yield f"{field}.trace.limit: must be at least 1"
    if not 0 < trace.cpu_factor <= MAX_USE:
        yield f"{field}.trace.cpuFactor: must be above 0 and at most {MAX_USE}"


def _event(event: EventInFile, field: str) -> Iterator[str]:
    yield from _duration(event.at, f"{field}.at", zero=True)
    if isinstance(event, VmsArrive):
        yield from _vm_group(event.vms, f"{field}.vms")
    if isinstance(event, NodeFails | NodeDrains) and event.lasts is not None:
        yield from _duration(event.lasts, f"{field}.lasts")


def _migration(model: MigrationModel) -> Iterator[str]:
    for name, number in (
        ("perCluster", model.per_cluster),
        ("perNodeOutbound", model.per_node_outbound),
    ):
        if not 1 <= number <= MAX_AT_ONCE:
            yield f"migration.{name}: must be at least 1 and at most {MAX_AT_ONCE}"
    if not 0 <= model.failure_rate < 1:
        yield "migration.failureRate: must be at least 0 and below 1"
    yield from _quantity(model.bandwidth, "migration.bandwidth", _PER_SECOND)
    yield from _duration(model.timeout_per_gib, "migration.timeoutPerGib")
    yield from _duration(model.backoff, "migration.backoff", zero=True)


# What is wrong with the rules of a VM in a scenario file, as the API server would say it.
MAX_SENTENCE = 300
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_OPERATORS = ("", "Equal", "Exists", "Lt", "Gt")
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")
NODE_NAME = "metadata.name"


def constraint_problems(rules: Constraints, field: str) -> Iterator[str]:
    """Every mistake, one line each."""
    if not _NAMESPACE.fullmatch(rules.namespace):
        yield f"{field}.namespace: {rules.namespace!r} cannot be a namespace"
    yield from _labels(rules.labels, f"{field}.labels")
    yield from _labels(rules.node_selector, f"{field}.nodeSelector")
    if rules.node_affinity == ():
        yield f"{field}.nodeAffinity: without a term no node fits; leave it out, or write one"
    for at, term in enumerate(rules.node_affinity or ()):
        yield from _node_term(term, f"{field}.nodeAffinity[{at}]")
    for at, toleration in enumerate(rules.tolerations):
        yield from _toleration(toleration, f"{field}.tolerations[{at}]")
    for at, apart in enumerate(rules.anti_affinity):
        yield from _apart(apart, f"{field}.antiAffinity[{at}]")
    if len(rules.not_movable) > MAX_SENTENCE or not rules.not_movable.isprintable():
        yield f"{field}.notMovable: write one line of at most {MAX_SENTENCE} characters"


def _labels(labels: Mapping[str, str], field: str) -> Iterator[str]:
    for key, value in labels.items():
        if problem := label_problem(key, value):
            yield f"{field}: {problem}"


def _node_term(term: NodeTerm, field: str) -> Iterator[str]:
    if not term.match_expressions and not term.match_fields:
        yield f"{field}: an empty term matches no node; write matchExpressions or matchFields"
    for expression in term.match_expressions:
        if problem := node_requirement_problem(expression):
            yield f"{field}.matchExpressions: {problem}"
    for expression in term.match_fields:
        fits = expression.operator in ("In", "NotIn") and len(expression.values) == 1
        if expression.key != NODE_NAME or not fits:
            yield f"{field}.matchFields: write {NODE_NAME} with In or NotIn and one value"


def _toleration(toleration: Toleration, field: str) -> Iterator[str]:
    if toleration.operator not in _OPERATORS:
        yield f"{field}.operator: {toleration.operator!r} is not Equal, Exists, Lt or Gt"
    elif not toleration.key and toleration.operator != "Exists":
        yield f"{field}.key: only the operator Exists goes without a key"
    elif toleration.operator == "Exists" and toleration.value:
        yield f"{field}.value: the operator Exists takes no value"
    if toleration.effect not in _EFFECTS:
        yield f"{field}.effect: {toleration.effect!r} is not one of {', '.join(_EFFECTS[1:])}"


def _apart(term: AntiAffinityTerm, field: str) -> Iterator[str]:
    if problem := label_problem(term.topology_key, ""):
        yield f"{field}.topologyKey: {problem}"
    if term.label_selector is None:
        yield f"{field}.labelSelector: without one no pod is kept apart; write matchLabels"
        return
    try:
        selector_of(term.label_selector, f"{field}.labelSelector")
    except ConfigError as error:
        yield str(error)
