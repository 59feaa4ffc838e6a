"""Alerts: what someone should look at, each with its threshold and how long it must last."""

from collections.abc import Mapping

from msgspec import Struct

from trimtab.scores.expr import Column
from trimtab.scores.prometheus.records import duration

OUR_GROUPS = 'rule_group=~".*;trimtab.*"'
MINUTE = 60.0


class Alert(Struct, frozen=True, kw_only=True, rename={"after": "for"}):
    """One alerting rule; `after` is how long the expression must hold."""

    alert: str
    expr: str
    after: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


class AlertSources(Struct, frozen=True):
    """Where alerts find what they watch.

    means: the records of the inputs, averaged over a minute.
    expected: a vector with a label `instance` for every node that should have them.
    scores: the records of the scores, by name.
    """

    means: Mapping[Column, str]
    expected: str
    scores: Mapping[str, str]


def all_alerts(sources: AlertSources, scale: float) -> list[Alert]:
    """About nodes, the cluster, the scores and the rules themselves."""
    watches = [
        *_of_nodes(sources),
        _imbalance(sources),
        *(_stuck(name, record) for name, record in sources.scores.items()),
        *(_PARETO if "pareto_front" in sources.scores else ()),
        _slow_rules(),
    ]
    return [watch.at(scale) for watch in watches]


class _Watch(Struct, frozen=True):
    name: str
    severity: str
    expr: str
    after_s: float
    summary: str
    labels: Mapping[str, str] = {}

    def at(self, scale: float) -> Alert:
        return Alert(
            alert=f"Trimtab{self.name}",
            expr=self.expr,
            after=duration(self.after_s / scale),
            labels={"severity": self.severity, **self.labels},
            annotations={"summary": self.summary},
        )


_USAGE: Mapping[str, Column] = {"cpu": "cpu_usage", "memory": "memory_usage"}
_NODE = "{{ $labels.instance }}"
_PERCENT = "{{ $value | humanizePercentage }}"


def _of_nodes(sources: AlertSources) -> list[_Watch]:
    cpu, memory = sources.means["cpu_usage"], sources.means["memory_usage"]
    stalled = f"VMs on {_NODE} wait {_PERCENT} of the time for"
    return [
        _Watch(
            "CpuPressureHigh",
            "warning",
            f"{sources.means['cpu_pressure']} > 0.5",
            5 * MINUTE,
            f"{stalled} a processor.",
        ),
        _Watch(
            "MemoryPressureHigh",
            "warning",
            f"{sources.means['memory_pressure']} > 0.5",
            5 * MINUTE,
            f"{stalled} memory.",
        ),
        _Watch(
            "NodeOverloaded",
            "warning",
            f"{cpu} > 1",
            5 * MINUTE,
            f"The VMs on {_NODE} ask for {_PERCENT} of its processors.",
        ),
        _Watch(
            "MemoryNearlyExhausted",
            "critical",
            f"{memory} > 0.95",
            2 * MINUTE,
            f"{_PERCENT} of the memory of {_NODE} is in use: VMs may be killed.",
        ),
        _Watch(
            "NodeWithoutSamples",
            "critical",
            f"{sources.expected} unless on (instance) {cpu}",
            2 * MINUTE,
            f"{_NODE} has no complete inputs, so it has no score: as long as the descheduler "
            "selects it, nothing is rebalanced anywhere.",
        ),
    ]


def _imbalance(sources: AlertSources) -> _Watch:
    """Half an hour is more than levelling should take."""
    gaps = []
    for resource in ("cpu", "memory"):
        record = sources.means[_USAGE[resource]]
        gap = f"max({record}) - avg({record})"
        gaps.append(f'label_replace({gap}, "resource", "{resource}", "", "")')
    return _Watch(
        "ClusterImbalanced",
        "warning",
        f"({' or '.join(gaps)}) > 0.3",
        30 * MINUTE,
        f"The fullest node is {_PERCENT} above the mean in {{{{ $labels.resource }}}} usage, and "
        "the descheduler does not level it.",
    )


def _stuck(name: str, record: str) -> _Watch:
    return _Watch(
        "ScoreStuckAtOne",
        "warning",
        f"{record} >= 1",
        60 * MINUTE,
        f"The score {name} of {_NODE} has been 1 for an hour: evictions do not help, or the score "
        "cannot tell bad from worse.",
        {"score": name},
    )


_PARETO = (
    _Watch(
        "ParetoFrontsMissing",
        "warning",
        "count(descheduler:node:cpu_usage:ratio) > 1 "
        "unless on () (count(trimtab_node_pair) or count(trimtab_node_pareto_front))",
        5 * MINUTE,
        "The exporter sends neither pairs of nodes nor Pareto scores: every pareto_front is 0.",
    ),
    _Watch(
        "ParetoFrontsTruncated",
        "warning",
        'count({__name__=~"descheduler:cluster:pareto_front_truncated:.+"} > 0)',
        5 * MINUTE,
        "There may be more Pareto fronts than rules for them: make the rules for more nodes.",
    ),
)


def _slow_rules() -> _Watch:
    took = f"prometheus_rule_group_last_duration_seconds{{{OUR_GROUPS}}}"
    interval = f"prometheus_rule_group_interval_seconds{{{OUR_GROUPS}}}"
    return _Watch(
        "RulesSlow",
        "critical",
        f"{took} > {interval}",
        2 * MINUTE,
        "{{ $labels.rule_group }} takes {{ $value }} s, longer than its interval: scores are old. "
        "Ship fewer algorithms or a longer interval.",
    )
