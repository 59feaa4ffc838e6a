"""A running Prometheus on clusters too large for promtool: up to 60 nodes, fronts by rules.

Both modes are compared at the timestamp of one rule evaluation. What a minute's mean holds here
is a mixture of several clusters, so the means are taken from Prometheus and the scores of them
computed by NumPy; that the means themselves agree is shown in test_both_back_ends.py.
"""

import json
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from builders.labs.prometheus import running_prometheus
from builders.waiting import LIMIT_S, wait_until
from builders.worlds.clusters import Cluster, clusters, node_names
from trimtab.scores import CATALOG, Mode, RuleSettings, evaluate_many, evaluate_means_many, window
from trimtab.scores.arrays.window import Floats
from trimtab.scores.expr import COLUMNS
from trimtab.scores.prometheus.files import RuleFileGroup, render
from trimtab.scores.prometheus.records import RecordingRule, base_record, score_record
from trimtab.scores.prometheus.rules import EXPORTED, EXPORTED_IN_FLIGHT, recording_rules

pytestmark = [pytest.mark.engines, pytest.mark.full]

CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 2s}}
rule_files: [rules.yaml]
scrape_configs:
- job_name: exporter
  static_configs: [{{targets: ['127.0.0.1:{port}']}}]
"""
CLOSED = [score for score in CATALOG.values() if score.reach_s == 0]
Found = dict[str, dict[str, float]]


class SixtyNodes(RuleSettings, frozen=True, kw_only=True):
    """More levels than we ship: a chain of 60 nodes has 60 fronts."""

    @property
    def pareto_levels(self) -> int:
        return 59


def metrics(turn: int, cluster: Cluster) -> str:
    """What the exporter says about a cluster."""
    nodes = node_names(len(cluster.values))
    lines = [f"test_turn {turn}"]
    for k, (node, row) in enumerate(zip(nodes, cluster.columns.tolist(), strict=True)):
        for series, value in zip(EXPORTED.values(), row[:4], strict=True):
            lines.append(f'{series}{{node="{node}"}} {value!r}')
        for (arriving, leaving), net in zip(EXPORTED_IN_FLIGHT.values(), row[4:], strict=True):
            lines.append(f'{arriving if net > 0 else leaving}{{node="{node}"}} {abs(net)!r}')
        lines.append(f'trimtab_node_order{{node="{node}"}} {k}')
        lines += [f'trimtab_node_pair{{node="{node}",other="{o}"}} 0' for o in nodes if o != node]
    return "\n".join(lines) + "\n"


class Exporter:
    """Serves `text` on a free port."""

    def __init__(self) -> None:
        self.text = ""
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(exporter.text.encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    served = Exporter()
    yield served
    served.stop()


@pytest.fixture(scope="module")
def prometheus(exporter: Exporter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    turn = "max(test_turn)"
    rules = recording_rules(CLOSED, SixtyNodes())
    group = RuleFileGroup(
        "trimtab",
        "2s",
        [RecordingRule("test:first", turn), *rules, RecordingRule("test:last", turn)],
    )
    directory: Path = tmp_path_factory.mktemp("prometheus")
    config = CONFIG.format(port=exporter.port)
    with running_prometheus(directory, config, rules__yaml=render([group])) as url:
        yield url


def query(url: str, expression: str, at: float | None = None) -> list[tuple[dict[str, str], float]]:
    parameters = {"query": expression} if at is None else {"query": expression, "time": str(at)}
    address = f"{url}/api/v1/query?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(address, timeout=LIMIT_S) as response:
        result = json.load(response)["data"]["result"]
    return [(each["metric"], float(each["value"][1])) for each in result]


def evaluated_at(url: str, turn: int) -> float:
    """The timestamp of an evaluation that saw this cluster from the first rule to the last."""
    seen = f"test:first == {turn} and test:last == {turn}"
    wait_until(lambda: query(url, seen), f"cluster {turn} is not evaluated")
    return query(url, f"timestamp(test:last == {turn})")[0][1]


def records(url: str, at: float) -> Found:
    found: Found = {}
    for labels, value in query(url, '{__name__=~"descheduler:node:.+"}', at):
        name = labels.pop("__name__")
        if name.endswith(("score", "avg1m")) and set(labels) == {"node", "instance"}:
            found.setdefault(name, {})[labels["instance"]] = value
    return found


def worst(found: Found, mode: Mode, nodes: list[str], expected: dict[str, Floats]) -> float:
    """The largest difference of any score; every node must be there, and nobody else."""
    largest = 0.0
    for name, values in expected.items():
        got = found[score_record(name, mode)]
        assert sorted(got) == nodes, name
        difference = np.abs(np.array([got[n] for n in nodes]) - values[0]).max()
        assert difference <= 1e-9, f"{name} {mode}: {difference}"
        largest = max(largest, float(difference))
    return largest


CHOSEN = [c for c in clusters(5, 60, seed=60) if len(c.values) > 28][:24]


@pytest.mark.parametrize("turn", range(len(CHOSEN)), ids=[c.name for c in CHOSEN])
def test_a_running_prometheus_agrees(turn: int, exporter: Exporter, prometheus: str) -> None:
    cluster = CHOSEN[turn]
    nodes = node_names(len(cluster.values))
    exporter.text = metrics(turn, cluster)
    found = records(prometheus, evaluated_at(prometheus, turn))
    instant = evaluate_many(CLOSED, window(cluster.columns), mode="score")
    means = np.array([[[found[base_record(c, "avg1m")][n] for c in COLUMNS] for n in nodes]])
    average = evaluate_means_many(CLOSED, means)
    print(worst(found, "score", nodes, instant), worst(found, "avg1m", nodes, average))
