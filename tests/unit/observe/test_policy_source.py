"""Where a look finds the policy and the descheduler's flags."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from trimtab.errors import ConfigError
from trimtab.install.observe.rbac import snapshot_rbac
from trimtab.observe.descheduler import deschedulers_in
from trimtab.observe.policy_source import read_file

ROOT = Path(__file__).parents[3]


def a_deployment(image: str, *args: str, **container: Any) -> dict[str, Any]:
    containers = [{"image": image, "args": list(args), **container}]
    return {
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "ns"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


@pytest.mark.parametrize(
    ("args", "on"),
    [
        pytest.param(["--feature-gates=EvictionsInBackground=true"], True, id="on"),
        pytest.param(["--feature-gates", "EvictionsInBackground=true"], True, id="two words"),
        pytest.param(["--feature-gates=A=true,EvictionsInBackground=true"], True, id="one of two"),
        pytest.param(["--feature-gates=EvictionsInBackground=false"], False, id="off"),
        pytest.param([], False, id="not named"),
    ],
)
def test_the_feature_gate_is_read_from_the_flags(args: list[str], on: bool) -> None:
    image = "registry.example:5000/descheduler/descheduler:v0.36.0"
    (found,) = deschedulers_in([a_deployment(image, *args)])
    assert (found.name, found.version, found.in_background) == ("Deployment ns/d", "v0.36.0", on)


@pytest.mark.parametrize(
    ("image", "count"),
    [
        pytest.param("quay.io/openshift/cluster-kube-descheduler-operator:v5", 0, id="operator"),
        pytest.param("nginx:1", 0, id="another"),
        pytest.param("descheduler@sha256:0123", 1, id="a digest"),
    ],
)
def test_only_deschedulers_are_found(image: str, count: int) -> None:
    assert len(deschedulers_in([a_deployment(image)])) == count


def test_a_cron_job_is_found() -> None:
    job = {"spec": {"template": a_deployment("descheduler:v0.34.0")["spec"]["template"]}}
    (found,) = deschedulers_in([{"kind": "CronJob", "spec": {"jobTemplate": job}}])
    assert found.version == "v0.34.0"


def test_our_own_manifests_can_be_read() -> None:
    text = (ROOT / "k8s/descheduler.yaml").read_text()
    (found,) = deschedulers_in(yaml.safe_load_all(text))
    assert found.in_background
    policy = read_file(ROOT / "k8s/descheduler-policy.yaml").text
    assert "kind: DeschedulerPolicy" in policy
    assert "ConfigMap" not in policy


def test_a_config_map_with_many_keys_must_be_told_apart(tmp_path: Path) -> None:
    manifest = tmp_path / "cm.yaml"
    manifest.write_text(yaml.safe_dump({"kind": "ConfigMap", "data": {"a": "1", "b": "2"}}))
    with pytest.raises(ConfigError, match="which of a, b is the policy"):
        read_file(manifest)


def test_the_rights_are_to_look_and_no_more() -> None:
    rules = [rule for manifest in snapshot_rbac() for rule in manifest.get("rules", ())]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    assert not any("secrets" in rule["resources"] for rule in rules)
