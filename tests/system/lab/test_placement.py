"""The scheduler's configuration decides where pods go."""

from collections import Counter

import pytest

from builders.labs.lab import RunningLab, running_lab
from trimtab.errors import TrimtabError

pytestmark = pytest.mark.engines

OWN = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
"""
SLEEPER = (
    '{"spec":{"containers":[{"name":"c","image":"none","resources":{"requests":{"cpu":"1"}}}]}}'
)


def place(lab: RunningLab, prefix: str, count: int) -> list[int]:
    """How many pods each used node got, most first."""
    for number in range(count):
        lab.kubectl("run", f"{prefix}-{number}", "--image=none", "--overrides", SLEEPER)
        lab.kubectl("wait", f"pod/{prefix}-{number}", "--for=condition=Ready", "--timeout=300s")
    pods = [p for p in lab.get("pods")["items"] if p["metadata"]["name"].startswith(prefix)]
    nodes = Counter(pod["spec"]["nodeName"] for pod in pods)
    lab.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
    return [many for _, many in nodes.most_common()]


def test_spread_binpack_and_an_own_configuration(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_lab(tmp_path_factory, nodes=3, node_cpu="8") as lab:
        assert place(lab, "spread", 6) == [2, 2, 2]
        lab.down()
        lab.up(placement="binpack")
        assert place(lab, "binpack", 6) == [6]
        lab.down()
        lab.up(own_scheduler_config=OWN)
        lab.kubectl(
            "run", "mine", "--image=none", "--overrides", '{"spec":{"schedulerName":"mine"}}'
        )
        lab.kubectl("wait", "pod/mine", "--for=condition=Ready", "--timeout=300s")
        lab.down()
        with pytest.raises(
            TrimtabError, match=r"kube-scheduler: exit status 1, 5 times in a row"
        ) as caught:
            lab.up(
                own_scheduler_config=OWN + "  plugins: {score: {enabled: [{name: NoSuchPlugin}]}}\n"
            )
        assert "NoSuchPlugin" in str(caught.value)
        assert lab.left_over() == []
