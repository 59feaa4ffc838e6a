"""Quotas without room and budgets that are not met hold VMs back, with the reason."""

from typing import Any

import msgspec
import pytest

from trimtab.kube.resources import Key
from trimtab.observe import wire
from trimtab.observe.vm_limits import DisruptionBudget, Quota, with_limits
from trimtab.observe.vm_loads import Fate

WEB = Key("shop", "web")


def a_launcher(namespace: str = "shop", memory: str = "4Gi") -> wire.Pod:
    given = {
        "metadata": {
            "name": "virt-launcher-web",
            "namespace": namespace,
            "labels": {"kubevirt.io": "virt-launcher", "app": "virt-launcher", "tier": "front"},
            "annotations": {"kubevirt.io/domain": "web"},
        },
        "spec": {
            "nodeName": "n1",
            "containers": [
                {"name": "compute", "resources": {"requests": {"cpu": "500m", "memory": memory}}}
            ],
        },
        "status": {"phase": "Running"},
    }
    return msgspec.convert(given, wire.Pod)


def a_budget(healthy: int, desired: int, **changes: Any) -> DisruptionBudget:
    given = {
        "metadata": {"name": "front", "namespace": "shop"} | changes.get("metadata", {}),
        "spec": {"selector": changes.get("selector", {"matchLabels": {"tier": "front"}})},
        "status": {"currentHealthy": healthy, "desiredHealthy": desired},
    }
    return msgspec.convert(given, DisruptionBudget)


def a_quota(hard: dict[str, str], used: dict[str, str], **spec: Any) -> Quota:
    given = {
        "metadata": {"name": "team", "namespace": "shop"},
        "spec": spec,
        "status": {"hard": hard, "used": used},
    }
    return msgspec.convert(given, Quota)


def reason(
    budgets: tuple[DisruptionBudget, ...] = (),
    quotas: tuple[Quota, ...] = (),
    fate: Fate | None = None,
) -> str:
    found = with_limits({WEB: fate or Fate("n1")}, [a_launcher()], budgets, quotas)
    return found[WEB].not_movable


@pytest.mark.parametrize(
    ("budget", "found"),
    [
        pytest.param(
            a_budget(1, 2),
            "its PodDisruptionBudget front has 1 healthy pods and asks for 2",
            id="not met",
        ),
        pytest.param(a_budget(2, 2), "", id="met: a migration is no eviction"),
        pytest.param(a_budget(1, 2, selector={"matchLabels": {"tier": "back"}}), "", id="others'"),
        pytest.param(a_budget(1, 2, metadata={"namespace": "bank"}), "", id="elsewhere"),
        pytest.param(
            a_budget(
                0,
                1,
                metadata={"ownerReferences": [{"kind": "VirtualMachineInstance", "name": "web"}]},
            ),
            "",
            id="KubeVirt's own for one VM",
        ),
    ],
)
def test_a_budget_that_is_not_met_holds_its_vms_back(budget: DisruptionBudget, found: str) -> None:
    assert reason((budget,)) == found


@pytest.mark.parametrize(
    ("quota", "found"),
    [
        pytest.param(
            a_quota({"requests.memory": "10Gi"}, {"requests.memory": "7Gi"}),
            "the quota team has no room for its second pod: requests.memory",
            id="too little memory",
        ),
        pytest.param(
            a_quota({"memory": "10Gi"}, {"memory": "7Gi"}),
            "the quota team has no room for its second pod: memory",
            id="by the short name",
        ),
        pytest.param(
            a_quota({"pods": "5"}, {"pods": "5"}),
            "the quota team has no room for its second pod: pods",
            id="no pod more",
        ),
        pytest.param(
            a_quota({"requests.memory": "11Gi"}, {"requests.memory": "7Gi"}), "", id="just enough"
        ),
        pytest.param(
            a_quota({"pods": "1"}, {"pods": "1"}, scopes=["BestEffort"]), "", id="other pods' scope"
        ),
        pytest.param(
            a_quota({"persistentvolumeclaims": "1"}, {"persistentvolumeclaims": "1"}),
            "",
            id="nothing that a pod uses up",
        ),
    ],
)
def test_a_quota_must_have_room_for_the_second_pod(quota: Quota, found: str) -> None:
    assert reason(quotas=(quota,)) == found


def test_a_reason_that_was_known_before_stays() -> None:
    assert reason((a_budget(1, 2),), fate=Fate("n1", "it migrates already")) == (
        "it migrates already"
    )
