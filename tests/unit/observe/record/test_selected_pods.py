"""Pods by a selector, recorded as if they were VMs."""

from datetime import UTC, datetime

import pytest

from trimtab.errors import ConfigError
from trimtab.model.snapshot import Owner, Snapshot, SnapshotPod
from trimtab.observe.record.selected_pods import with_pods_as_vms
from trimtab.study.recorded.constraints import strategy_of


def a_pod(name: str, labels: dict[str, str], owner: str = "ReplicaSet", **more: str) -> SnapshotPod:
    given = {"node": "n1", "phase": "Running"} | more
    owners = (Owner(owner, f"uid-of-{owner}"),)
    return SnapshotPod(
        "shop",
        name,
        f"uid-{name}",
        labels=labels,
        owners=owners,
        **given,  # type: ignore[arg-type]
    )


SEEN = Snapshot(
    taken_at=datetime(2026, 1, 1, tzinfo=UTC),
    pods=(
        a_pod("web-1", {"app": "web"}),
        a_pod("db-1", {"app": "db"}),
        a_pod("web-agent", {"app": "web"}, owner="DaemonSet"),
        a_pod("web-waits", {"app": "web"}, node=""),
        a_pod("web-done", {"app": "web"}, phase="Succeeded"),
    ),
)


def test_running_pods_that_can_go_elsewhere_are_chosen() -> None:
    found = with_pods_as_vms(SEEN, "app in (web)")
    assert [(vm.namespace, vm.name) for vm in found.vms] == [("shop", "web-1")]


def test_an_eviction_restarts_them_and_does_not_migrate_them() -> None:
    found = with_pods_as_vms(SEEN, "app=web")
    by_name = {pod.name: strategy_of(pod) for pod in found.pods}
    assert by_name["web-1"] == "None"


@pytest.mark.parametrize(
    ("selector", "said"),
    [("app=mail", "no running pod has these labels"), ("app in web", "--pods")],
)
def test_a_selector_that_chooses_nothing_or_cannot_be_read_is_an_error(
    selector: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        with_pods_as_vms(SEEN, selector)
