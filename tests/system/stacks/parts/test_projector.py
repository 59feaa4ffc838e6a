"""Policy and rules change a running lab through the API; a bad text changes nothing."""

import os
import signal
from pathlib import Path

import httpx2
import pytest
import yaml

from builders.labs.loops import LoopLab
from builders.waiting import wait_until
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.scores.prometheus.files import KEY as RULES_KEY
from trimtab.stacks.loop.projector.policy_file import with_algorithm
from trimtab.stacks.loop.projector.projection import JUDGED, OUTCOME, digest
from trimtab.stacks.loop.settings import POLICY_FILE, POLICY_KEY, POLICY_MAP, RULES_FILE, RULES_MAP

pytestmark = pytest.mark.engines
ROOT = Path(__file__).parents[4]


def manifest(where: tuple[str, str], key: str, text: str) -> str:
    namespace, name = where
    metadata = {"name": name, "namespace": namespace}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    return str(yaml.safe_dump({**kind, "metadata": metadata, "data": {key: text}}))


def outcome(loop: LoopLab, where: tuple[str, str], key: str) -> str:
    """What the projector says about the text that is there now, once it has said it."""
    said: dict[str, str] = {}

    def judged() -> bool:
        config = loop.lab.get("configmap", "-n", *where)
        said.update(config["metadata"]["annotations"])
        return said.get(JUDGED) == digest(config["data"][key])

    wait_until(judged, "the projector does not look")
    return said[OUTCOME]


def test_kubectl_apply_of_the_shipped_policy_with_another_score_is_all_it_takes(
    loop: LoopLab,
) -> None:
    shipped = (ROOT / "k8s/descheduler-policy.yaml").read_text()
    changed = with_algorithm_in(shipped, "euclidean_distance")
    before = loop.lab.pid("descheduler")
    loop.apply(changed)
    assert outcome(loop, POLICY_MAP, POLICY_KEY) == "accepted"
    assert loop.lab.pid("descheduler") != before
    assert loop.state().algorithm == "euclidean_distance"
    loop.apply(shipped)
    assert outcome(loop, POLICY_MAP, POLICY_KEY) == "accepted"
    assert loop.state().algorithm == "linear_amplified_ippd_k3"


def with_algorithm_in(text: str, name: str) -> str:
    config = yaml.safe_load(text)
    config["data"][POLICY_KEY] = with_algorithm(config["data"][POLICY_KEY], name)
    return str(yaml.safe_dump(config))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            DEFAULT_POLICY.replace("evictionLimits", "evictionLimit"),
            'unknown field "evictionLimit"',
            id="a field that does not exist",
        ),
        pytest.param("profiles: [", "policy.yaml: not YAML", id="not YAML"),
    ],
)
def test_a_bad_policy_is_refused_where_it_was_applied_and_the_old_one_keeps_running(
    loop: LoopLab, text: str, why: str
) -> None:
    loop.policy(DEFAULT_POLICY)
    running, file = loop.lab.pid("descheduler"), loop.lab.dir / POLICY_FILE
    kept = file.read_text()
    loop.apply(manifest(POLICY_MAP, POLICY_KEY, text))
    said = outcome(loop, POLICY_MAP, POLICY_KEY)
    assert said.startswith("refused: ")
    assert why in said
    assert (loop.lab.pid("descheduler"), file.read_text()) == (running, kept)
    loop.policy(DEFAULT_POLICY)


def test_a_policy_that_only_the_descheduler_refuses_is_taken_back(loop: LoopLab) -> None:
    loop.policy(DEFAULT_POLICY)
    kept = (loop.lab.dir / POLICY_FILE).read_text()
    # the reader does not know this plugin's arguments; the descheduler wants a list
    plugin = "      - name: RemovePodsViolatingNodeAffinity\n        args: {nodeAffinityType: 3}\n"
    bad = DEFAULT_POLICY.replace("    pluginConfig:\n", f"    pluginConfig:\n{plugin}")
    loop.apply(manifest(POLICY_MAP, POLICY_KEY, bad))
    said = outcome(loop, POLICY_MAP, POLICY_KEY)
    assert said.startswith("refused: descheduler does not start with it: exit status 1")
    assert "nodeAffinityType" in said
    assert (loop.lab.dir / POLICY_FILE).read_text() == kept
    loop.lab.await_ready()
    loop.policy(DEFAULT_POLICY)


def test_rules_are_taken_at_the_labs_pace_and_bad_ones_are_refused(loop: LoopLab) -> None:
    shipped = loop.lab.get("configmap", "-n", *RULES_MAP)["data"][RULES_KEY]
    more = yaml.safe_load(shipped)
    mine = {"record": "mine", "expr": "avg_over_time(node_cpu_usage_ratio[1m])"}
    more["groups"].append({"name": "mine", "interval": "15s", "rules": [mine]})
    try:
        loop.apply(manifest(RULES_MAP, RULES_KEY, yaml.safe_dump(more)))
        assert outcome(loop, RULES_MAP, RULES_KEY) == "accepted"
        wait_until(lambda: len(loop.query("mine")) == 5, "the new rule gives nothing")
        scaled = yaml.safe_load((loop.lab.dir / RULES_FILE).read_text())["groups"][-1]
        assert scaled["interval"] == "1s"
        assert scaled["rules"][0]["expr"] == "avg_over_time(node_cpu_usage_ratio[4s])"
        more["groups"][-1]["rules"][0]["expr"] = "avg_over_time(node_cpu_usage_ratio[1m]"
        loop.apply(manifest(RULES_MAP, RULES_KEY, yaml.safe_dump(more)))
        said = outcome(loop, RULES_MAP, RULES_KEY)
        assert said.startswith("refused: ")
        assert "parse error" in said
        assert len(loop.query("mine")) == 5
    finally:
        loop.apply(manifest(RULES_MAP, RULES_KEY, shipped))
    assert outcome(loop, RULES_MAP, RULES_KEY) == "accepted"


NO_ANSWER = ("Prometheus does not answer", "prometheus is unhealthy")
"""Who finds out first: the projector, or the supervisor's next look at it."""


def test_a_text_that_comes_while_prometheus_does_not_answer_is_taken_later(loop: LoopLab) -> None:
    shipped = loop.lab.get("configmap", "-n", *RULES_MAP)["data"][RULES_KEY]
    more = yaml.safe_load(shipped)
    more["groups"].append({"name": "mine", "rules": [{"record": "mine", "expr": "vector(1)"}]})
    log, prometheus = loop.lab.lab.log("projector"), loop.lab.processes()["prometheus"].pid
    before = log.stat().st_size
    os.kill(prometheus, signal.SIGSTOP)
    try:
        loop.apply(manifest(RULES_MAP, RULES_KEY, yaml.safe_dump(more)))
        wait_until(lambda: any(w in log.read_text()[before:] for w in NO_ANSWER), "not tried")
        os.kill(prometheus, signal.SIGCONT)
        assert outcome(loop, RULES_MAP, RULES_KEY) == "accepted"
        wait_until(lambda: loop.query("mine"), "the new rule gives nothing")
    finally:
        os.kill(loop.lab.processes()["prometheus"].pid, signal.SIGCONT)
        loop.apply(manifest(RULES_MAP, RULES_KEY, shipped))
    assert outcome(loop, RULES_MAP, RULES_KEY) == "accepted"


def test_the_deschedulers_metrics_are_there_on_plain_http(loop: LoopLab) -> None:
    url = loop.lab.urls["descheduler"]
    answer = httpx2.get(f"{url}/metrics", trust_env=False)
    assert answer.status_code == 200
    assert "descheduler_build_info{" in answer.text
    assert httpx2.get(f"{url}/healthz", trust_env=False).status_code == 200
    assert httpx2.delete(f"{url}/metrics", trust_env=False).status_code == 405
