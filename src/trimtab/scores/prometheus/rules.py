"""Rule groups for chosen scores: base records, helpers, scores, aliases, cluster means.

All rules of one group in dependency order, so that every result carries one timestamp and
sees the others; a reader in another group would see values up to one interval old.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.scores.expr import Column, Expr, ParetoFront, Record, walk
from trimtab.scores.inputs import DIMENSIONS, IN_FLIGHT, cluster_means
from trimtab.scores.prometheus.pareto_promql import LARGEST_UNROLLED, ParetoRules
from trimtab.scores.prometheus.promql import Printer
from trimtab.scores.prometheus.records import (
    RecordingRule,
    base_record,
    duration,
    mean_record,
    score_record,
)
from trimtab.scores.score import MEAN_WINDOW_S, Mode, Score

MODES: tuple[Mode, Mode] = ("score", "avg1m")

# What the exporter calls the inputs.
EXPORTED: dict[Column, str] = {
    "cpu_usage": "node_cpu_usage_ratio",
    "cpu_pressure": "node_cpu_pressure_psi",
    "memory_usage": "node_memory_usage_ratio",
    "memory_pressure": "node_memory_pressure_psi",
}
# Load of VMs under migration as a share of the node: (arriving, leaving).
EXPORTED_IN_FLIGHT: dict[Column, tuple[str, str]] = {
    "cpu_in_flight": ("trimtab_node_arriving_cpu_ratio", "trimtab_node_leaving_cpu_ratio"),
    "memory_in_flight": ("trimtab_node_arriving_memory_ratio", "trimtab_node_leaving_memory_ratio"),
}


class RuleSettings(Struct, frozen=True, kw_only=True):
    """Everything about a rule file but the scores in it.

    scale: simulated seconds per second; every time in the file is divided by it.
    interval_s: before that division.
    nodes: how many the cluster has at most; it chooses the form of the Pareto rules.
    """

    scale: float = 1.0
    interval_s: float = 15.0
    nodes: int = LARGEST_UNROLLED

    def __post_init__(self) -> None:
        for name, value in (("scale", self.scale), ("interval", self.interval_s)):
            if not value > 0:
                raise ConfigError(f"{name} is {value:g}; give a number above 0")
        if self.nodes < 1:
            raise ConfigError(f"nodes is {self.nodes}; give the most the cluster may have")

    @property
    def interval(self) -> str:
        return duration(self.interval_s / self.scale)

    @property
    def pareto_levels(self) -> int:
        """A total order of n nodes has n fronts, so n - 1 levels are always enough.

        Rules for more than 50 nodes unroll as many as those for 50: a cluster that has shrunk
        sends pairs again, and without pairs the unrolled rules cost nothing.
        """
        return max(1, min(self.nodes, LARGEST_UNROLLED) - 1)


def recording_rules(
    scores: Sequence[Score], settings: RuleSettings, base: Sequence[RecordingRule] | None = None
) -> list[RecordingRule]:
    """All rules of `scores`; `base` replaces the rules that make the instant base records."""
    in_flight = any(score.reads_migrations for score in scores)
    columns = (*DIMENSIONS, *IN_FLIGHT) if in_flight else DIMENSIONS
    instant = list(base) if base is not None else [_filtered(column) for column in DIMENSIONS]
    if in_flight:
        instant += [_net_in_flight(column) for column in IN_FLIGHT]
    averages = [_averaged(column, settings.scale) for column in columns]
    return [
        *instant,
        *formula_rules(scores, "score", settings),
        *averages,
        *formula_rules(scores, "avg1m", settings),
        *_aliases(scores),
        *_means(scores),
    ]


def _filtered(column: Column) -> RecordingRule:
    """The input of nodes that have all four, finite and not negative, once per node."""
    others = [column, *(c for c in DIMENSIONS if c != column)]
    valid = (f"(clamp_min({EXPORTED[c]}, 0) < +Inf)" for c in others)
    merged = f"max by (node) ({' and on (node) '.join(valid)})"
    return RecordingRule(
        base_record(column, "score"), f"label_replace({merged}, {INSTANCE_FROM_NODE})"
    )


INSTANCE_FROM_NODE = '"instance", "$1", "node", "(.+)"'


def _net_in_flight(column: Column) -> RecordingRule:
    """Arriving minus leaving; 0 for a node of which the exporter says nothing."""
    scored = base_record("cpu_usage", "score")
    arriving, leaving = (
        f"(label_replace(max by (node) (clamp_min({series}, 0) < +Inf), {INSTANCE_FROM_NODE}) "
        f"and {scored} or 0 * {scored})"
        for series in EXPORTED_IN_FLIGHT[column]
    )
    return RecordingRule(base_record(column, "score"), f"{arriving} - {leaving}")


def _averaged(column: Column, scale: float) -> RecordingRule:
    """`and` drops a node that has left: its samples stay in the window for a minute."""
    instant = base_record(column, "score")
    window = duration(MEAN_WINDOW_S / scale)
    return RecordingRule(
        base_record(column, "avg1m"), f"avg_over_time({instant}[{window}]) and {instant}"
    )


def formula_rules(
    scores: Sequence[Score], mode: Mode, settings: RuleSettings
) -> list[RecordingRule]:
    """Helpers first, then scores with what depends on other scores, the Pareto front last."""
    pareto = ParetoRules(mode, settings.pareto_levels)
    printer = Printer(mode, settings.scale, pareto)
    helpers: list[RecordingRule] = []
    results: list[RecordingRule] = []
    for expr in _parts(sorted(scores, key=_has_fronts)):
        if isinstance(expr, ParetoFront):
            results += pareto.rules()
        elif isinstance(expr, Record):
            dimension = {"dimension": expr.dimension} if expr.dimension else {}
            rule = RecordingRule(printer.name(expr), printer.definition(expr), dimension)
            (results if _needs_scores(expr) else helpers).append(rule)
    _check_names([*helpers, *results])
    return [*helpers, *results]


def _parts(scores: Iterable[Score]) -> list[Expr]:
    """Every part of the scores once, each after the parts it is made of."""
    wanted = [*cluster_means, *(score.value for score in scores)]
    return list(dict.fromkeys(part for expr in wanted for part in walk(expr)))


def _has_fronts(score: Score) -> bool:
    return any(isinstance(part, ParetoFront) for part in walk(score.value))


def _needs_scores(record: Record) -> bool:
    return any(isinstance(part, Record) and part.kind == "score" for part in walk(record))


def _check_names(rules: Sequence[RecordingRule]) -> None:
    seen: set[tuple[str, str]] = set()
    for rule in rules:
        key = (rule.record, str(sorted(rule.labels.items())))
        if key in seen:
            raise ConfigError(f'"{rule.record}" is recorded twice; rename one of the two parts')
        seen.add(key)


def _aliases(scores: Iterable[Score]) -> list[RecordingRule]:
    return [
        RecordingRule(score_record(alias, mode), score_record(score.name, mode))
        for score in scores
        for alias in score.aliases
        for mode in MODES
    ]


def _means(scores: Sequence[Score]) -> list[RecordingRule]:
    means = [
        RecordingRule(mean_record(score.name), f"avg({score_record(score.name, 'avg1m')})")
        for score in scores
    ]
    copies = [
        RecordingRule(mean_record(alias), mean_record(score.name))
        for score in scores
        for alias in score.aliases
    ]
    return means + copies
