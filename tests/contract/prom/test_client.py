"""Our calls against a real Prometheus that scrapes itself."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.labs.prometheus import running_prometheus
from builders.waiting import LIMIT_S, until
from conformance.apiserver import free_port
from trimtab.errors import Unavailable
from trimtab.prom.client import Prometheus, QueryFailed, Verbatim

pytestmark = pytest.mark.engines

CONFIG = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
- job_name: nothing
  static_configs: [{targets: ["127.0.0.1:1"]}]
"""
RULES = """
groups:
- name: ours
  rules:
  - {record: a_third, expr: vector(1) / 3}
  - {alert: Never, expr: vector(1) < 0}
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory: Path = tmp_path_factory.mktemp("prometheus")
    with running_prometheus(directory, CONFIG, rules__yml=RULES) as url:
        yield url


async def test_an_instant_query_gives_the_very_double_that_prometheus_computed(url: str) -> None:
    async with Prometheus(url) as prometheus:
        samples = await prometheus.instant("vector(1) / 3")
    assert [sample.value for sample in samples] == [1 / 3]


async def test_a_scalar_is_one_sample_without_labels(url: str) -> None:
    async with Prometheus(url) as prometheus:
        (sample,) = await prometheus.instant("scalar(vector(NaN))")
    assert sample.labels == {}
    assert math.isnan(sample.value)


async def test_a_matrix_is_refused_where_a_vector_is_expected(url: str) -> None:
    async with Prometheus(url) as prometheus:
        with pytest.raises(QueryFailed, match="expected a vector"):
            await prometheus.instant("up[1m]")


async def test_a_bad_query_says_what_is_wrong_with_it(url: str) -> None:
    async with Prometheus(url) as prometheus:
        with pytest.raises(QueryFailed, match="parse error"):
            await prometheus.instant("sum(")


async def test_recorded_values_can_be_read_back_over_time(url: str) -> None:
    async with Prometheus(url) as prometheus:
        async with asyncio.timeout(LIMIT_S):
            while not (now := await prometheus.instant("a_third")):
                await asyncio.sleep(0.2)
        (series,) = await prometheus.range("a_third", now[0].time, now[0].time + 1, 1.0)
    assert set(series.values) == {1 / 3}
    assert series.labels == {"__name__": "a_third"}


async def test_stored_samples_come_with_their_own_times(url: str) -> None:
    async with Prometheus(url) as prometheus:
        async with asyncio.timeout(LIMIT_S):
            while not (found := await prometheus.samples("a_third", "10m")):
                await asyncio.sleep(0.2)
    (series,) = found
    assert set(series.values) == {1 / 3}
    assert len(series.times) == len(series.values)
    assert list(series.times) == sorted(set(series.times))


async def test_rules_and_targets_come_with_their_health(url: str) -> None:
    async with Prometheus(url) as prometheus:
        await until(prometheus.targets, "no target is known")  # it looks for them after its start
        (group,) = await prometheus.rules()
        (target,) = await prometheus.targets()
    assert [(rule.name, rule.type) for rule in group.rules] == [
        ("a_third", "recording"),
        ("Never", "alerting"),
    ]
    assert target.health in ("down", "unknown")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    async with Prometheus(f"http://127.0.0.1:{free_port()}") as prometheus:
        assert not await prometheus.ready()
        with pytest.raises(Unavailable, match="is it running"):
            await prometheus.instant("up")


async def test_whoever_judges_an_answer_gets_it_as_it_came(url: str) -> None:
    async with Prometheus(url) as prometheus:
        text = await prometheus.verbatim('label_replace(vector(NaN), "a", "b", "", "")')
        scalar = await prometheus.verbatim("1 / 3", at=1000.0)
        matrix = await prometheus.verbatim("up[1m]")
    assert text == Verbatim("vector", (({"a": "b"}, "NaN"),))
    assert scalar == Verbatim("scalar", (({}, "0.3333333333333333"),))
    assert matrix == Verbatim("matrix")
