"""The Pareto score as recording rules: dominance, fronts and crowding on pairs of nodes.

PromQL has neither sorting nor recursion. Pairs come from the exporter: `trimtab_node_pair`
(value 0) for every ordered pair of nodes, `trimtab_node_order` for positions in name order.
Fronts are unrolled: rule k finds the nodes with a chain of at least k dominators. Up to 50
nodes that is exact and quick; above, the exporter computes the score and the rule passes it
on. The rule prefers what the exporter computed, so one file serves a cluster that grows or
shrinks.
"""

from trimtab.scores.expr import Column
from trimtab.scores.inputs import DIMENSIONS
from trimtab.scores.prometheus.records import RecordingRule, base_record, helper_ending
from trimtab.scores.score import Mode

PAIR = "trimtab_node_pair"
ORDER = "trimtab_node_order"
COMPUTED: dict[Mode, str] = {
    "score": "trimtab_node_pareto_front",
    "avg1m": "trimtab_node_pareto_front_avg1m",
}
LARGEST_UNROLLED = 50  # nodes: 0.35 s for both modes on 2 cores; 200 nodes take 2 to 10 s


class ParetoRules:
    """The rules of one mode; `levels` fronts are unrolled beyond the first."""

    def __init__(self, mode: Mode, levels: int = LARGEST_UNROLLED - 1) -> None:
        self._mode, self._levels = mode, levels
        self._columns = {d: base_record(d, mode) for d in DIMENSIONS}
        self._any = self._columns["cpu_usage"]
        self._dominated = self._helper("pair", "dominated")
        self._level = self._helper("node", "pareto_level")
        self._index = self._helper("node", "pareto_index")
        self._label = self._helper("node", "pareto_front_label")
        self._key = self._helper("node", "pareto_key")
        self._same = self._helper("pair", "same_front")
        self._crowding = self._helper("node", "pareto_crowding")

    def _helper(self, place: str, name: str) -> str:
        return f"descheduler:{place}:{name}:{helper_ending(self._mode)}"

    @property
    def expression(self) -> str:
        """The score before the final clamp."""
        by_exporter = (
            f"label_replace(max by (node) ({COMPUTED[self._mode]} >= 0), "
            f'"instance", "$1", "node", "(.+)") and {self._any}'
        )
        return f"{by_exporter} or {self._front_and_crowding()}"

    def _front_and_crowding(self) -> str:
        """A node without a finite distance adds nothing; a front without any adds 0.05 each."""
        widest = f"(max by (front) ({self._crowding}) > 1e-60)"
        share = f"{self._crowding} / on (front) group_left () {widest}"
        crowding = (
            f"sum by (node, instance) (0.1 * (1 - {share}) or 0 * {self._crowding} + 0.05) "
            f"or 0 * {self._index}"
        )
        return f"{self._index} / scalar(clamp_min(max({self._index}), 1)) + ({crowding})"

    def rules(self) -> list[RecordingRule]:
        """The helpers, in the order in which they must be evaluated."""
        return [*self._dominance(), *self._fronts(), *self._neighbours(), self._truncated()]

    def _difference(self, pairs: str, record: str) -> str:
        """What the other node has more than the node, for each of `pairs`, whose value is 0."""
        return (
            f"{pairs} + on (other) group_left () {_of_other(record)} "
            f"- on (node) group_left () {record}"
        )

    def _dominance(self) -> list[RecordingRule]:
        """Each input narrows the pairs of the one before; then one input must be smaller."""
        weakly = self._helper("pair", "weakly_dominated")
        pairs = PAIR
        for record in self._columns.values():
            pairs = f"0 * ({self._difference(pairs, record)} <= 0)"
        strict = (f"({self._difference(f'0 * {weakly}', r)} < 0)" for r in self._columns.values())
        return [
            RecordingRule(weakly, pairs.removeprefix("0 * (").removesuffix(")")),
            RecordingRule(self._dominated, " or ".join(strict)),
        ]

    def _fronts(self) -> list[RecordingRule]:
        levels = [
            RecordingRule(self._level, f"group by (node) ({self._dominated})", {"level": "1"})
        ]
        for k in range(2, self._levels + 1):
            below = _of_other(f'{self._level}{{level="{k - 1}"}}')
            chain = f"group by (node) ({self._dominated} and on (other) {below})"
            levels.append(RecordingRule(self._level, chain, {"level": str(k)}))
        zero = f"0 * {self._any}"
        depth = f"{zero} + on (node) group_left () count by (node) ({self._level}) or {zero}"
        labelled = f'count_values by (node, instance) ("front", {self._index})'
        return [*levels, RecordingRule(self._index, depth), RecordingRule(self._label, labelled)]

    def _neighbours(self) -> list[RecordingRule]:
        """Keys of one front differ by less than half a million; their difference is the order."""
        order = f"on (node) group_left () max by (node) ({ORDER})"
        same = f"({self._difference(PAIR, self._key)}) < 5e5 > -5e5"
        crowding = " + ".join(self._crowding_in(d) for d in DIMENSIONS)
        return [
            RecordingRule(self._key, f"1e6 * {self._index} + {order}"),
            RecordingRule(self._same, same),
            *(RecordingRule(self._range(d), self._range_of(d)) for d in DIMENSIONS),
            RecordingRule(self._crowding, crowding),
        ]

    def _range(self, column: Column) -> str:
        return self._helper("front", f"{column}_range")

    def _range_of(self, column: Column) -> str:
        inside = f"{self._label} * on (node) group_left () {self._columns[column]}"
        return f"max by (front) ({inside}) - min by (front) ({inside})"

    def _crowding_in(self, column: Column) -> str:
        """Next minus previous, lexicographically by (value, order): the value counts 1e100."""
        value = self._difference(f"0 * {self._same}", self._columns[column])
        gap = f"(1e100 * ({value}) + {self._same})"
        between = f"min by (node) ({gap} > 0) - max by (node) ({gap} < 0)"
        return (
            f"{self._label} * on (node) group_left () (1e-100 * ({between})) "
            f"/ on (front) group_left () clamp_min({self._range(column)}, 1e-30)"
        )

    def _truncated(self) -> RecordingRule:
        """Above 0 when the deepest unrolled level is in use, so that there may be more fronts."""
        deepest = f'{self._level}{{level="{self._levels}"}}'
        name = self._helper("cluster", "pareto_front_truncated")
        return RecordingRule(name, f"count({deepest}) or vector(0)")


def _of_other(record: str) -> str:
    return f'label_replace({record}, "other", "$1", "node", "(.+)")'
