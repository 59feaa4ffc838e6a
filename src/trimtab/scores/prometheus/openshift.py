"""The rules that OpenShift's descheduler operator ships, on node-exporter's counters.

The records have the operator's names, so its default query and its dashboards work unchanged
on a cluster without the operator. Labels are `instance` only, as there. Unlike ours, means are
over workers, and pressure counts only where the utilisation beside it exceeds 70 %, because CPU
limits alone can cause pressure on an idle node.
"""

from collections.abc import Sequence

from trimtab.scores.expr import Column
from trimtab.scores.inputs import DIMENSIONS
from trimtab.scores.prometheus.records import RecordingRule, base_record, duration
from trimtab.scores.prometheus.rules import RuleSettings

INTERVAL_S = 30.0

# Input: the operator's word for it. A record is `descheduler:node<word>:avg1m`.
WORDS: dict[Column, str] = {
    "cpu_usage": "utilization:cpu",
    "cpu_pressure": "pressure:cpu",
    "memory_usage": "utilization:memory",
    "memory_pressure": "pressure:memory",
}
PRESSURE_COUNTS_ABOVE = 0.7
PRESSURE_RULES_ABOVE = 0.8

_INSTANCE = '"instance", "$1", "node", "(.+)"'
WORKERS = f'max by (instance) (label_replace(kube_node_role{{role="worker"}}, {_INSTANCE}))'
_ALLOCATABLE = (
    "max by (instance) "
    f'(label_replace(kube_node_status_allocatable{{resource="memory"}} > 0, {_INSTANCE}))'
)
# What the operator's default profile asks for.
DEFAULT = "linear_amplified_ideal_point_positive_distance:k3"
_K3 = f"descheduler:node:{DEFAULT}"


def node_record(column: Column) -> str:
    """The operator's record of an input."""
    return f"descheduler:node{WORDS[column]}:avg1m"


def production_rules(settings: RuleSettings) -> list[RecordingRule]:
    """All of them, in the order in which they must be evaluated."""
    return [
        *_inputs(duration(60 / settings.scale)),
        *(
            RecordingRule(_mean(c), f"avg({node_record(c)} and on (instance) {WORKERS})")
            for c in DIMENSIONS
        ),
        _combined(),
        *_distance("avg1m", {c: _above_mean(c) for c in DIMENSIONS}),
        *_distance("p66_5m", {c: _p66(c, duration(300 / settings.scale)) for c in DIMENSIONS}),
        *_cooldown(duration(600 / settings.scale)),
    ]


def base_rules() -> list[RecordingRule]:
    """Our base records from the operator's: workers that have all four, `node` added."""
    rules = []
    for column in DIMENSIONS:
        order = [column, *(c for c in DIMENSIONS if c != column)]
        valid = (f"(clamp_min({node_record(c)}, 0) < +Inf)" for c in order)
        merged = f"{' and on (instance) '.join(valid)} and on (instance) {WORKERS}"
        named = f'label_replace(max by (instance) ({merged}), "node", "$1", "instance", "(.+)")'
        rules.append(RecordingRule(base_record(column, "score"), named))
    return rules


def without_production_names(
    rules: Sequence[RecordingRule], production: Sequence[RecordingRule]
) -> list[RecordingRule]:
    """Our rules but those under a name that the operator uses for its own."""
    taken = {rule.record for rule in production}
    return [rule for rule in rules if rule.record not in taken]


def _inputs(minute: str) -> list[RecordingRule]:
    idle = f'avg by (instance) (rate(node_cpu_seconds_total{{mode="idle"}}[{minute}]))'
    available = f"avg by (instance) (avg_over_time(node_memory_MemAvailable_bytes[{minute}]))"
    return [
        RecordingRule(node_record("cpu_usage"), f"1 - {idle}"),
        RecordingRule(node_record("memory_usage"), f"1 - {available} / {_ALLOCATABLE}"),
        _gated_pressure("cpu", minute),
        _gated_pressure("memory", minute),
    ]


def _gated_pressure(resource: str, minute: str) -> RecordingRule:
    waiting = f"node_pressure_{resource}_waiting_seconds_total[{minute}]"
    pressure = f"avg by (instance) (rate({waiting}))"
    busy = f"descheduler:nodeutilization:{resource}:avg1m > {PRESSURE_COUNTS_ABOVE}"
    record = f"descheduler:nodepressure:{resource}:avg1m"
    return RecordingRule(record, f"{pressure} and ({busy}) or 0 * {pressure}")


def _mean(column: Column) -> str:
    return f"descheduler:averageworkers{WORDS[column]}:avg1m"


def _combined() -> RecordingRule:
    """Utilisation while there is room in the cluster, pressure when there is none."""
    room = f"{_mean('cpu_usage')} < {PRESSURE_RULES_ABOVE}"
    either = f"{node_record('cpu_usage')} and on () ({room}) or {node_record('cpu_pressure')}"
    return RecordingRule("descheduler:combined_utilization_and_pressure:avg1m", either)


def _deviation(column: Column, window: str) -> str:
    return f"descheduler:node{WORDS[column]}:{window}:positivedeviation"


def _above_mean(column: Column) -> str:
    return f"clamp_min({node_record(column)} - scalar({_mean(column)}), 0)"


def _p66(column: Column, window: str) -> str:
    above = _deviation(column, "avg1m")
    return f"quantile_over_time(0.66, {above}[{window}]) and {above}"


def _distance(window: str, deviations: dict[Column, str]) -> list[RecordingRule]:
    squares = " + ".join(f"{_deviation(c, window)} ^ 2" for c in deviations)
    distance = f"descheduler:node:ideal_point_positive_distance:{window}"
    return [
        *(RecordingRule(_deviation(c, window), expr) for c, expr in deviations.items()),
        RecordingRule(distance, f"sqrt({squares})"),
        RecordingRule(f"{_K3}:{window}", f"clamp_max(3 * {distance}, 1)"),
    ]


def _cooldown(window: str) -> list[RecordingRule]:
    """Each eviction of the last ten minutes takes a tenth off a node's priority."""
    done = 'descheduler_pods_evicted_total{strategy="LowNodeUtilization", result="success"}'
    by_node = f"label_replace(increase({done}[{window}]), {_INSTANCE})"
    count = "descheduler:node:eviction_count:10m"
    multiplier = "descheduler:node:cooldown_multiplier:10m"
    return [
        RecordingRule(count, f"sum by (instance) ({by_node}) or 0 * {node_record('cpu_usage')}"),
        RecordingRule(multiplier, f"clamp_min(1 - 0.1 * {count}, 0.01)"),
        RecordingRule("descheduler:node:actuation_priority:p66_5m", f"{_K3}:p66_5m * {multiplier}"),
    ]
