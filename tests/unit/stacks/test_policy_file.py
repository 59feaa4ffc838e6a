"""Policies on their way into a lab: the score, the address, the token, the times."""

from typing import Any

import pytest
import yaml

from trimtab.errors import ConfigError
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import queries
from trimtab.stacks.loop.projector.policy_file import (
    algorithm_of,
    for_lab,
    is_in_cluster,
    with_algorithm,
    with_service_address,
)

HERE = "http://127.0.0.1:9090"


def test_the_default_policy_asks_for_the_default_score() -> None:
    (query,) = queries(read_policy(DEFAULT_POLICY))
    assert algorithm_of(query) == "linear_amplified_ippd_k3"


@pytest.mark.parametrize("name", ["cpu_focused", "linear_amplified_ippd_k5", "robust"])
def test_another_score_is_another_query_and_nothing_else(name: str) -> None:
    changed = with_algorithm(DEFAULT_POLICY, name)
    assert [algorithm_of(query) for query in queries(read_policy(changed))] == [name]
    differing = set(DEFAULT_POLICY.splitlines()) ^ set(changed.splitlines())
    assert all("query:" in line for line in differing)


def test_comments_survive_a_change_of_the_score() -> None:
    text = f"# mine\n{DEFAULT_POLICY}"
    assert with_algorithm(text, "cpu_focused").startswith("# mine\n")


def test_an_unknown_score_is_refused_with_a_near_one() -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        with_algorithm(DEFAULT_POLICY, "cpu_focussed")


def test_a_policy_that_asks_prometheus_nothing_has_no_score_to_change() -> None:
    text = """
profiles:
- name: p
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
"""
    with pytest.raises(ConfigError, match="asks Prometheus nothing"):
        with_algorithm(text, "cpu_focused")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        pytest.param("descheduler:node:my_own:avg1m", "my_own", id="a record of one's own"),
        pytest.param("max by (instance) (x)", "max by (instance) (x)", id="no record at all"),
    ],
)
def test_a_query_of_ones_own_is_shown_as_it_is(query: str, shown: str) -> None:
    assert algorithm_of(query) == shown


def test_in_a_lab_the_services_address_is_the_labs_prometheus() -> None:
    source = provider(for_lab(DEFAULT_POLICY, 10, HERE))
    assert source["url"] == HERE
    assert source["authToken"]["secretReference"]["name"] == "prometheus-token"


def test_a_policy_without_a_token_gets_the_labs_and_an_address_of_its_own_stays() -> None:
    tree = yaml.safe_load(DEFAULT_POLICY)
    tree["metricsProviders"][0]["prometheus"] = {"url": "http://127.0.0.1:1234"}
    source = provider(for_lab(yaml.safe_dump(tree), 10, HERE))
    assert source == {
        "url": "http://127.0.0.1:1234",
        "authToken": {
            "secretReference": {"namespace": "kube-descheduler", "name": "prometheus-token"}
        },
    }


def provider(text: str) -> dict[str, Any]:
    source: dict[str, Any] = yaml.safe_load(text)["metricsProviders"][0]["prometheus"]
    return source


def test_times_are_divided_by_the_scale_and_the_rest_stays() -> None:
    tree = yaml.safe_load(DEFAULT_POLICY)
    tree["profiles"][0]["pluginConfig"][1]["args"]["minPodAge"] = "5m"
    fast = yaml.safe_load(for_lab(yaml.safe_dump(tree), 10, HERE))
    evictor = fast["profiles"][0]["pluginConfig"][1]["args"]
    assert evictor.pop("minPodAge") == "30s"
    assert evictor == yaml.safe_load(DEFAULT_POLICY)["profiles"][0]["pluginConfig"][1]["args"]
    assert fast["maxNoOfPodsToEvictTotal"] == 5


def test_a_policy_that_the_descheduler_would_refuse_is_refused_here() -> None:
    with pytest.raises(ConfigError, match="not in \\[0, 100\\] range"):
        for_lab(DEFAULT_POLICY.replace("MetricResource: 10", "MetricResource: 101"), 1, HERE)


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("http://prometheus.monitoring.svc:9090", True),
        ("https://prometheus.monitoring.svc.cluster.local", True),
        ("http://prometheus.monitoring:9090", True),
        ("http://prometheus:9090", True),
        ("http://127.0.0.1:9090", False),
        ("http://localhost:9090", False),
        ("http://[::1]:9090", False),
        ("https://prometheus.example.org", False),
        ("https://thanos-querier-openshift-monitoring.apps.example.org", False),
    ],
)
def test_names_of_services_are_told_from_addresses(url: str, inside: bool) -> None:
    assert is_in_cluster(url) is inside


@pytest.mark.parametrize("url", ["http://127.0.0.1:9091", "https://thanos.apps.example.com"])
def test_a_recorded_policy_asks_the_lab_and_not_the_recorded_cluster(url: str) -> None:
    recorded = yaml.safe_load(DEFAULT_POLICY)
    recorded["metricsProviders"][0]["prometheus"] = {
        "url": url,
        "authToken": {"secretReference": {"namespace": "theirs", "name": "token"}},
    }
    text = with_service_address(yaml.safe_dump(recorded))
    (provider,) = yaml.safe_load(for_lab(text, 1.0, HERE))["metricsProviders"]
    assert provider["prometheus"]["url"] == HERE
    assert provider["prometheus"]["authToken"]["secretReference"]["name"] == "prometheus-token"
    assert queries(read_policy(text)) == queries(read_policy(DEFAULT_POLICY))
