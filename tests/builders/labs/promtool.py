"""Expected scores against the real rules: a `promtool test rules` file, written and run.

Time passes in steps. Each step gives inputs to some nodes and says which scores are wanted;
a node without inputs in a step has left. Rules added to the group compare, with a form that
sees values that differ, are missing, are not a number or were not asked for.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from trimtab.engines import locate
from trimtab.scores.arrays.window import Floats
from trimtab.scores.prometheus.records import RecordingRule, score_record
from trimtab.scores.prometheus.rules import EXPORTED, EXPORTED_IN_FLIGHT
from trimtab.scores.score import Mode

TOLERANCE = 1e-9
Series = dict[str, dict[int, float]]


class Timeline:
    """Series by step, and how often each score was wanted."""

    def __init__(self, step_s: int) -> None:
        self._step_s = step_s
        self._series: Series = {}
        self.wanted: dict[tuple[str, Mode], int] = {}
        self.steps = 0

    def step(self, nodes: Sequence[str], columns: Floats, *, pairs: bool = True) -> int:
        """Let one step pass in which `nodes` have these inputs (nodes, 6)."""
        at, self.steps = self.steps, self.steps + 1
        for k, (node, row) in enumerate(zip(nodes, columns.tolist(), strict=True)):
            for series, value in zip(EXPORTED.values(), row[:4], strict=True):
                self.put(f'{series}{{node="{node}"}}', at, value)
            for (arriving, leaving), net in zip(EXPORTED_IN_FLIGHT.values(), row[4:], strict=True):
                if net:  # a node with nothing in flight is not mentioned by the exporter
                    self.put(f'{arriving if net > 0 else leaving}{{node="{node}"}}', at, abs(net))
            self.put(f'trimtab_node_order{{node="{node}"}}', at, k)
            for other in nodes if pairs else ():
                if other != node:
                    self.put(f'trimtab_node_pair{{node="{node}",other="{other}"}}', at, 0)
        return at

    def give(self, series: str, nodes: Sequence[str], at: int, values: Floats) -> None:
        """Further samples of the exporter, one a node."""
        for node, value in zip(nodes, values.tolist(), strict=True):
            self.put(f'{series}{{node="{node}"}}', at, value)

    def want(self, name: str, mode: Mode, nodes: Sequence[str], at: int, values: Floats) -> None:
        """Expect this score of each node at that step."""
        for node, value in zip(nodes, values.tolist(), strict=True):
            self.put(f'{_want(name, mode)}{{node="{node}",instance="{node}"}}', at, value)
        self.wanted[name, mode] = self.wanted.get((name, mode), 0) + len(nodes)

    def put(self, series: str, at: int, value: float) -> None:
        """One sample of any series."""
        self._series.setdefault(series, {})[at] = value

    def check(self, rules: Sequence[RecordingRule], directory: Path) -> str:
        """What promtool has to say against `rules`: nothing, if they agree."""
        group = {"name": "trimtab", "rules": [*rules, *self._comparisons()]}
        return check_rules({"groups": [group]}, self._tests(), directory)

    def _comparisons(self) -> list[RecordingRule]:
        """No `on`: the labels must be exactly `node` and `instance`, as those of what is wanted."""
        rules = []
        for name, mode in self.wanted:
            want, got = _want(name, mode), score_record(name, mode)
            right = f"abs({got} - {want}) <= {TOLERANCE}"
            unasked = f"({got} unless {want}) and on () count({want})"
            wrong = f"({want} unless ({right})) or ({unasked}) or {got} > 1 or {got} < 0"
            rules.append(RecordingRule(f"wrong:{name}:{mode}", wrong))
            rules.append(RecordingRule(f"right:{name}:{mode}", f"count({right})"))
        return rules

    def _tests(self) -> Mapping[str, object]:
        last = f"{(self.steps - 1) * self._step_s}s"
        span = f"{self.steps * self._step_s}s"
        wrong = [
            {"expr": f"count_over_time(wrong:{name}:{mode}[{span}])", "eval_time": last}
            for name, mode in self.wanted
        ]
        right = [
            {
                "expr": f"sum_over_time(right:{name}:{mode}[{span}])",
                "eval_time": last,
                "exp_samples": [{"labels": "{}", "value": count}],
            }
            for (name, mode), count in self.wanted.items()
        ]
        series = [{"series": s, "values": self._values(v)} for s, v in self._series.items()]
        step = f"{self._step_s}s"
        test = {"interval": step, "input_series": series, "promql_expr_test": [*wrong, *right]}
        return {"evaluation_interval": step, "tests": [test]}

    def _values(self, samples: Mapping[int, float]) -> str:
        """promtool's notation; `stale` after a sample that is not followed by another."""
        words, previous = [], False
        for at in range(self.steps):
            here = at in samples
            words.append(_spelled(samples[at]) if here else "stale" if previous else "_")
            previous = here
        return " ".join(words)


def _spelled(value: float) -> str:
    return repr(value).replace("nan", "NaN").replace("inf", "Inf")


def check_rules(rules: object, tests: Mapping[str, object], directory: Path) -> str:
    """What `promtool test rules` complains about: nothing if the tests hold."""
    (directory / "rules.yaml").write_text(_as_yaml(rules))
    (directory / "tests.yaml").write_text(_as_yaml({"rule_files": ["rules.yaml"], **tests}))
    command = [str(locate("promtool")), "test", "rules", "tests.yaml"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _want(name: str, mode: Mode) -> str:
    return f"want_{name}_{mode}"


def _as_yaml(data: object) -> str:
    """JSON is YAML; it is read and written many times faster."""
    return json.dumps(msgspec.to_builtins(data))
