"""What Prometheus spends on a lab's rules: all of them often, beside what the policy needs.

A lab of scale 5 (an evaluation every three seconds) with a server that plays the exporter. Both
sides in one run; CPU seconds of Prometheus for each evaluation, with scrapes and a share of what
is evaluated once a minute. Seconds on the clock are shown: on a busy machine they say little.

    .venv/bin/pytest tests/perf/test_rules.py -s
"""

import random
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec import Struct

from builders.labs.prometheus import running_prometheus
from trimtab.scores.prometheus.focus import focus, rescale
from trimtab.scores.prometheus.records import score_record
from trimtab.stacks.loop.projector.policy_file import shipped_rules

pytestmark = pytest.mark.engines
SCALE = 5
POLICY = score_record("linear_amplified_ippd_k3", "avg1m")
EVALUATIONS = 20  # a minute, so that everything slow takes place once
FEW = 6
SERIES = (
    "node_cpu_usage_ratio",
    "node_cpu_pressure_psi",
    "node_memory_usage_ratio",
    "node_memory_pressure_psi",
    "node_vm_count",
    "trimtab_node_pareto_front",
)


class Cost(Struct, frozen=True):
    """What one rule file costs."""

    cpu_s: float
    """For each evaluation of the policy's group."""
    evaluation_s: float
    """The longest of the groups that are evaluated every three seconds, the last time."""
    missed: int


@contextmanager
def an_exporter(nodes: int) -> Iterator[str]:
    """Its address; the page is the same every time."""
    chance = random.Random(nodes)
    page = "".join(
        f'{name}{{node="kwok-node-{n}"}} {chance.random():.6f}\n'
        for name in SERIES
        for n in range(nodes)
    ).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


CONFIG = """\
global: {{scrape_interval: 3s, evaluation_interval: 3s}}
rule_files: [rules.yaml]
scrape_configs: [{{job_name: exporter, static_configs: [{{targets: ["{target}"]}}]}}]
"""


def numbers(url: str, name: str) -> dict[str, float]:
    """The values of a metric of Prometheus itself, by the name of the rule group."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found = re.findall(rf"^{name}(?:\{{rule_group=\"[^;]*;([^\"]*)\"\}})? (\S+)$", text, re.M)
    return {group: float(value) for group, value in found}


def evaluated(url: str) -> float:
    """How often the policy's group was evaluated; Prometheus counts those it missed as well."""
    all_of_them = numbers(url, "prometheus_rule_group_iterations_total").get("trimtab", 0.0)
    return all_of_them - numbers(url, "prometheus_rule_group_iterations_missed_total").get(
        "trimtab", 0.0
    )


def cost(directory: Path, target: str, rules: str, evaluations: int) -> Cost:
    directory.mkdir()
    with running_prometheus(directory, CONFIG.format(target=target), rules__yaml=rules) as url:
        while evaluated(url) < 2:  # the first finds no samples
            time.sleep(0.5)
        first, cpu = evaluated(url), numbers(url, "process_cpu_seconds_total")[""]
        while (last := evaluated(url)) < first + evaluations:
            time.sleep(0.5)
        spent = numbers(url, "process_cpu_seconds_total")[""] - cpu
        took = numbers(url, "prometheus_rule_group_last_duration_seconds")
        missed = numbers(url, "prometheus_rule_group_iterations_missed_total")
        return Cost(
            cpu_s=spent / (last - first),
            evaluation_s=max(s for group, s in took.items() if not group.endswith("-slow")),
            missed=round(sum(missed.values())),
        )


@pytest.mark.parametrize("nodes", [100, 500, 1000])
def test_what_the_policy_needs_costs_less_than_half_of_all_scores(
    nodes: int, tmp_path: Path
) -> None:
    everything = rescale(shipped_rules(nodes), SCALE)
    with an_exporter(nodes) as target:
        before = cost(tmp_path / "all", target, everything, FEW)
        after = cost(tmp_path / "needed", target, focus(everything, [POLICY]), EVALUATIONS)
    print(f"\n{nodes:5} nodes")
    for name, spent in (("all", before), ("needed", after)):
        print(
            f"  {name:7} {spent.cpu_s:6.3f} CPU s an evaluation"
            f"  ({spent.evaluation_s:.2f} s on the clock, {spent.missed} missed)"
        )
    assert after.cpu_s < 0.5 * before.cpu_s
