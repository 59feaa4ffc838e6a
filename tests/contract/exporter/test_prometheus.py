"""A real Prometheus reads the page: our rules and production's, unchanged, agree with it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from builders.labs.exporter_http import ExporterProcess, running_exporter
from builders.labs.prometheus import running_prometheus
from builders.waiting import until
from trimtab.prom.client import Prometheus
from trimtab.scores import RuleSettings, evaluate, find_score, rule_groups, window
from trimtab.scores.prometheus.files import Flavor, render
from trimtab.scores.prometheus.rules import EXPORTED

pytestmark = pytest.mark.engines

CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yaml]
scrape_configs:
- job_name: exporter
  honor_labels: true
  static_configs: [{{targets: ['{target}']}}]
"""
# n-2 is idle: the node whose load a careless counter makes negative.
SCENARIO = """
name: three
nodes: [{name: n, count: 3}]
vms:
- {name: a, cpu: 32, memory: 64Gi, node: n-1, utilization: {cpu: 0.75, memory: 1}}
- {name: b, cpu: 32, memory: 64Gi, node: n-3, utilization: {cpu: 0.25, memory: 0.5}}
"""
SCALE = 15  # a minute is 4 s
CPU, MEMORY = "descheduler:nodeutilization:cpu:avg1m", "descheduler:nodeutilization:memory:avg1m"


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ExporterProcess]:
    (tmp_path / "three.yaml").write_text(SCENARIO)
    flags = (f"--scenario={tmp_path / 'three.yaml'}", "--node-exporter")
    with running_exporter(tmp_path, *flags) as exporter:
        yield exporter


def rules(flavor: Flavor) -> str:
    settings = RuleSettings(scale=SCALE, nodes=3)
    return render(rule_groups([find_score("pareto_front")], settings, flavor))


async def settled(prometheus: Prometheus, query: str, expected: list[float]) -> None:
    """Wait until the three nodes have these values."""

    async def seen() -> bool:
        found = await prometheus.by_label(query)
        values = [found[node] for node in sorted(found)]
        return len(values) == 3 and np.allclose(values, expected, atol=2e-3)

    await until(seen, f"{query} is not {expected}")


async def test_production_rules_run_unchanged(three: ExporterProcess, tmp_path: Path) -> None:
    config = CONFIG.format(target=three.url.removeprefix("http://"))
    with running_prometheus(tmp_path, config, rules__yaml=rules("openshift")) as url:
        async with Prometheus(url) as prometheus:
            await settled(prometheus, CPU, [0.75, 0.0, 0.25])
            await settled(prometheus, MEMORY, [0.5, 0.0, 0.25])
            lowest = await prometheus.by_label(f"min_over_time({CPU}[1h])")
            assert min(lowest.values()) >= 0


async def test_our_rules_agree_with_numpy(three: ExporterProcess, tmp_path: Path) -> None:
    config = CONFIG.format(target=three.url.removeprefix("http://"))
    page = [three.metric(name) for name in EXPORTED.values()]
    inputs = np.array([[column[node] for column in page] for node in sorted(page[0])])
    expected = evaluate(find_score("pareto_front"), window(inputs), mode="score")[0]
    with running_prometheus(tmp_path, config, rules__yaml=rules("trimtab")) as url:
        async with Prometheus(url) as prometheus:
            await settled(prometheus, "descheduler:node:pareto_front:avg1m", expected.tolist())
