"""The Prometheus queries of a recording, and which sources of loads the cluster has for them.

VMs: KubeVirt's own metrics, else cAdvisor's of their pods, else the curves in the pods of our
own VMs. Nodes: our exporter, node-exporter, or OpenShift's rules. All are aggregated by the
server, so that restarts and labels of exporters vanish. `rate` divides by the whole window, so
while a VM moves the rates of its two nodes add up to what it uses.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from trimtab.kube.resources import Key
from trimtab.prom.client import Prometheus, QueryFailed

SCRAPE_PERIODS_S = (600, 120, 30)
ENOUGH_SAMPLES = 4
"""In a shorter period: fewer would say little about the time between them."""
DEFAULT_SCRAPE_S = 30.0
_PODS = 'container="compute",pod=~"virt-launcher-.+"'
_LAUNCHER = re.compile(r"virt-launcher-(?P<vm>.+)-[a-z0-9]{5}")
VmSource = Literal["kubevirt", "cadvisor", "pods", "selected"]
SOURCE_NAMES: dict[VmSource, str] = {
    "kubevirt": "KubeVirt's metrics",
    "cadvisor": "cAdvisor's metrics of the VMs' pods",
    "pods": "the load curves in the VMs' pods",
    "selected": "cAdvisor's metrics of the chosen pods",
}


class SourceTable(Struct, frozen=True):
    """One query over the whole period; `labels` name its columns."""

    name: str
    source: str
    query: str
    labels: tuple[str, ...] = ()
    series: int = 1
    """About how many series the server reads at a moment."""


class Sources(Struct, frozen=True):
    """What was found."""

    vms: VmSource
    tables: tuple[SourceTable, ...] = ()
    node_source: str = ""
    node_label: str = ""
    scrape_s: float = DEFAULT_SCRAPE_S

    @property
    def names(self) -> frozenset[str]:
        return frozenset(table.name for table in self.tables)


async def find_sources(
    prometheus: Prometheus | None,
    nodes: Sequence[str],
    step_s: float,
    at: float,
    namespaces: Sequence[str] = (),
) -> Sources:
    """Ask what there is; a handful of instant queries. `namespaces` are those of chosen pods."""
    if prometheus is None:
        return Sources("pods")
    vms, metric = await _vm_source(prometheus, at, namespaces)
    scrape_s = await _scrape_s(prometheus, metric or "up", at)
    window = f"{math.ceil(max(step_s, 4 * scrape_s))}s"
    tables = await _found(prometheus, _vm_tables(vms, window, namespaces), at)
    short = f"{math.ceil(max(step_s, 2 * scrape_s))}s"
    nodes_from, label, node_tables = await _node_tables(prometheus, nodes, (window, short), at)
    return Sources(vms, (*tables, *node_tables), nodes_from, label, scrape_s)


async def _found(
    prometheus: Prometheus, tables: Sequence[SourceTable], at: float
) -> list[SourceTable]:
    """Those that have a series, with how many; of two with one name the first."""
    counts = await _together(prometheus, [f"count({table.query})" for table in tables], at)
    found: dict[str, SourceTable] = {}
    for table, count in zip(tables, counts, strict=True):
        if count and table.name == "resets":  # one column, but the server reads all counters
            count = found["vm_cpu"].series if "vm_cpu" in found else count
        if count and table.name not in found:
            found[table.name] = replace(table, series=int(count))
    return list(found.values())


async def _vm_source(
    prometheus: Prometheus, at: float, namespaces: Sequence[str]
) -> tuple[VmSource, str]:
    if namespaces:
        return "selected", _of_pods("container_cpu_usage_seconds_total", namespaces)
    candidates: tuple[tuple[VmSource, str], ...] = (
        ("kubevirt", "kubevirt_vmi_cpu_usage_seconds_total"),
        ("cadvisor", f"container_cpu_usage_seconds_total{{{_PODS}}}"),
    )
    asked = [f"count(count_over_time({metric}[1h]))" for _, metric in candidates]
    for candidate, count in zip(candidates, await _together(prometheus, asked, at), strict=True):
        if count:
            return candidate
    return "pods", ""


async def _scrape_s(prometheus: Prometheus, metric: str, at: float) -> float:
    asked = [f"max(count_over_time({metric}[{period}s]))" for period in SCRAPE_PERIODS_S]
    counts = await _together(prometheus, asked, at)
    return scrape_interval(dict(zip(SCRAPE_PERIODS_S, counts, strict=True)))


async def _together(prometheus: Prometheus, queries: Sequence[str], at: float) -> list[float]:
    """The one value of each query, 0 for nothing, by one query: servers ask for few of them."""
    if not queries:
        return []
    marked = [f'label_replace({q}, "asked", "{n}", "", "")' for n, q in enumerate(queries)]
    found = await prometheus.instant(" or ".join(marked), at)
    values = {sample.labels["asked"]: sample.value for sample in found}
    return [values.get(str(number), 0.0) for number in range(len(queries))]


def scrape_interval(counts: Mapping[int, float]) -> float:
    """The time between two samples, from how many there were in the last so many seconds.

    The shorter periods are for a Prometheus that began a moment ago.
    """
    longest = max(counts)
    seen = [
        period / count
        for period, count in counts.items()
        if count >= (1 if period == longest else ENOUGH_SAMPLES)
    ]
    return min(max(min(seen), 1.0), 300.0) if seen else DEFAULT_SCRAPE_S


def _of_pods(metric: str, namespaces: Sequence[str]) -> str:
    """Of containers: cAdvisor also tells of whole pods, and of what holds their network."""
    where = "|".join(namespaces)
    return f'{metric}{{container!="",container!="POD",namespace=~"{where}"}}'


def _pod_tables(
    source: VmSource, window: str, namespaces: Sequence[str]
) -> tuple[SourceTable, ...]:
    """By cAdvisor, of the VMs' pods, or of chosen pods, which are recorded by their own names."""
    said, chosen = SOURCE_NAMES[source], source == "selected"
    used, memory = (
        _of_pods(metric, namespaces) if chosen else f"{metric}{{{_PODS}}}"
        for metric in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes")
    )
    name = ("namespace", "name" if chosen else "pod")

    def named(query: str) -> str:
        return f'label_replace({query}, "name", "$1", "pod", "(.+)")' if chosen else query

    total = "sum" if chosen else "max"
    by_pod = "by (namespace, pod)"
    return (
        SourceTable("vm_cpu", said, named(f"sum {by_pod} (rate({used}[{window}]))"), name),
        SourceTable("vm_memory", said, named(f"{total} {by_pod} ({memory})"), name),
        SourceTable(
            "placement", said, named(f"max by (namespace, pod, node) ({used})"), (*name, "node")
        ),
        SourceTable("resets", said, f"sum(resets({used}[{window}]))"),
    )


def _vm_tables(
    source: VmSource, window: str, namespaces: Sequence[str] = ()
) -> tuple[SourceTable, ...]:
    vm = ("namespace", "name")
    if source == "kubevirt":
        by, said = "sum by (namespace, name)", SOURCE_NAMES[source]
        used = "kubevirt_vmi_cpu_usage_seconds_total"
        waited = "kubevirt_vmi_vcpu_delay_seconds_total"
        place = "max by (namespace, name, node)"
        return (
            SourceTable("vm_cpu", said, f"{by} (rate({used}[{window}]))", vm),
            SourceTable("vm_delay", said, f"{by} (rate({waited}[{window}]))", vm),
            SourceTable(
                "vm_memory",
                said,
                "max by (namespace, name) (kubevirt_vmi_memory_resident_bytes)",
                vm,
            ),
            SourceTable(
                "placement", said, f'{place} (kubevirt_vmi_info{{node!=""}})', (*vm, "node")
            ),
            SourceTable("placement", said, f"{place} ({used})", (*vm, "node")),
            SourceTable("resets", said, f"sum(resets({used}[{window}]))"),
        )
    return () if source == "pods" else _pod_tables(source, window, namespaces)


class _NodeSource(Struct, frozen=True):
    said: str
    label: str
    cpu: str
    memory: str


def _node_sources(window: str, short: str) -> tuple[_NodeSource, ...]:
    """Counters need a window with several samples; a mean of gauges is nearer to its moment."""
    idle = f'rate(node_cpu_seconds_total{{mode="idle"}}[{window}])'
    free, total = "node_memory_MemAvailable_bytes", "node_memory_MemTotal_bytes"

    def exporter(label: str, joined: str = "") -> _NodeSource:
        by = f"by ({label})"
        cpu = f"1 - avg {by} ({idle}{joined})"
        memory = f"1 - max {by} ({free}{joined}) / max {by} ({total}{joined})"
        return _NodeSource("node-exporter", label, cpu, memory)

    rule = "descheduler:nodeutilization:{}:avg1m"
    return (
        _NodeSource(
            "trimtab's exporter",
            "node",
            f"max by (node) (avg_over_time(node_cpu_usage_ratio[{short}]))",
            f"max by (node) (avg_over_time(node_memory_usage_ratio[{short}]))",
        ),
        exporter("instance"),
        exporter("node"),
        exporter("nodename", " * on (instance) group_left (nodename) node_uname_info"),
        _NodeSource(
            "OpenShift's rules",
            "instance",
            f"max by (instance) (avg_over_time({rule.format('cpu')}[{short}]))",
            f"max by (instance) (avg_over_time({rule.format('memory')}[{short}]))",
        ),
    )


async def _node_tables(
    prometheus: Prometheus, nodes: Sequence[str], windows: tuple[str, str], at: float
) -> tuple[str, str, list[SourceTable]]:
    """The source that knows most of the nodes by name, the first of equals."""
    best: tuple[int, _NodeSource] | None = None
    for candidate in _node_sources(*windows):
        if best is not None and best[0] == len(nodes):
            break
        try:
            found = await prometheus.instant(candidate.cpu, at)
        except QueryFailed:  # several series for one node: not a source to rely on
            continue
        known = {node_name(sample.labels.get(candidate.label, "")) for sample in found}
        count = len(known & set(nodes))
        if count and (best is None or count > best[0]):
            best = (count, candidate)
    if best is None:
        return "", "", []
    chosen, columns = best[1], (best[1].label,)
    tables = [SourceTable("node_cpu", chosen.said, chosen.cpu, columns, len(nodes))]
    if await prometheus.instant(f"count({chosen.memory})", at):
        tables.append(SourceTable("node_memory", chosen.said, chosen.memory, columns, len(nodes)))
    return chosen.said, chosen.label, tables


def node_name(label: str) -> str:
    """A node by the label of its series: exporters may add their port."""
    name, colon, port = label.rpartition(":")
    return name if colon and port.isdigit() else label


def vm_key(labels: Mapping[str, str]) -> Key:
    """The VM that a series is about: by its own name, or by that of its pod."""
    namespace = labels.get("namespace", "")
    if "pod" not in labels:
        return Key(namespace, labels.get("name", ""))
    matched = _LAUNCHER.fullmatch(labels["pod"])
    return Key(namespace, matched["vm"] if matched else labels["pod"])


def missing(sources: Sources, nodes: int) -> Iterable[tuple[str, str]]:
    """What no source tells, and what that means for the answer."""
    if sources.vms != "pods":
        if "vm_delay" not in sources.names:
            yield (
                "no metric tells how long VMs waited for CPU",
                "VMs of full nodes look smaller than they are: answers are optimistic",
            )
        if "vm_memory" not in sources.names:
            yield (
                "no metric tells the memory of VMs",
                "the memory that they request stands for it",
            )
        if "placement" not in sources.names:
            yield (
                "no metric tells on which node a VM was",
                "every VM is taken to have been where it is now",
            )
    if nodes and "node_cpu" not in sources.names:
        yield (
            "no metric tells the load of nodes",
            "what pods beside VMs use is unknown, and a replay cannot be checked",
        )
