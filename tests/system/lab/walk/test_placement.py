"""The scheduler's configuration decides where pods go; each one is a new start of the same lab."""

import json
from collections import Counter

import pytest

from builders.labs.lab import RunningLab
from trimtab.errors import TrimtabError

pytestmark = pytest.mark.engines

OWN = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
"""
SLEEPER = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}


def place(lab: RunningLab, name: str, count: int) -> list[int]:
    """How many pods each used node got, most first; the scheduler takes them one by one."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "labels": {"placed": name}},
            "spec": {"containers": [SLEEPER]},
        }
        for number in range(count)
    ]
    these = ("-l", f"placed={name}")
    everything = {"apiVersion": "v1", "kind": "List", "items": pods}
    lab.kubectl("create", "-f", "-", stdin=json.dumps(everything))
    lab.kubectl("wait", "pod", *these, "--for=condition=Ready", "--timeout=300s")
    nodes = Counter(pod["spec"]["nodeName"] for pod in lab.get("pods", *these)["items"])
    lab.kubectl("delete", "pods", *these, "--grace-period=0", "--force")
    assert nodes.total() == count
    return [many for _, many in nodes.most_common()]


def test_pods_are_spread_unless_something_else_was_asked_for(lab: RunningLab) -> None:
    everywhere = len(lab.get("nodes")["items"])
    assert everywhere >= 3
    assert place(lab, "spread", 2 * everywhere) == [2] * everywhere


def test_data_and_ports_survive_down_and_up_with_binpack(lab: RunningLab) -> None:
    lab.kubectl("create", "configmap", "before", "--from-literal=a=b")
    ports = lab.status().ports
    assert lab.down()
    assert lab.left_over() == []
    assert lab.status().phase == "stopped"
    assert lab.up(placement="binpack") == "resumed"
    assert lab.get("configmap", "before")["data"] == {"a": "b"}
    assert lab.status().ports == ports
    assert place(lab, "binpack", 6) == [6]


def test_a_wrong_configuration_is_told_in_the_words_of_the_scheduler(lab: RunningLab) -> None:
    lab.down()
    with pytest.raises(
        TrimtabError, match=r"kube-scheduler: exit status 1, 5 times in a row"
    ) as caught:
        lab.up(own_scheduler_config=OWN + "  plugins: {score: {enabled: [{name: NoSuchPlugin}]}}\n")
    assert "NoSuchPlugin" in str(caught.value)
    assert lab.left_over() == []


def test_an_own_configuration_brings_its_own_scheduler_name(lab: RunningLab) -> None:
    lab.up(own_scheduler_config=OWN)
    lab.kubectl("run", "mine", "--image=none", "--overrides", '{"spec":{"schedulerName":"mine"}}')
    lab.kubectl("wait", "pod/mine", "--for=condition=Ready", "--timeout=300s")
