"""PSI on the nodes: which roles get it, and whether that reboots them."""

import pytest

from builders.worlds.openshift import a_cluster, added, drafted, running_with
from trimtab.advisor.cluster.offline import Directory
from trimtab.advisor.kinds import MACHINE_CONFIG_POOLS
from trimtab.advisor.mocks.baseline import MASTERS, WORKERS, configs, pool
from trimtab.kube.resources import Free


def compact(workers: int, masters: int) -> Directory:
    pools = pool("worker", WORKERS, workers), pool("master", MASTERS, masters)
    return added(a_cluster(), *pools)


def scheduler(**spec: object) -> Free:
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Scheduler",
        "metadata": {"name": "cluster"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("arguments", "severity"),
    [
        pytest.param([], "High", id="without PSI nodes reboot"),
        pytest.param(["psi=1"], "Low", id="with PSI they do not"),
        pytest.param(["psi=0", "psi=1"], "Low", id="the last argument counts, on"),
        pytest.param(["psi=1", "psi=0"], "High", id="the last argument counts, off"),
    ],
)
def test_severity_is_about_reboots(arguments: list[str], severity: str) -> None:
    wanted = drafted(running_with(a_cluster(), *arguments)).desired_objects[0]
    assert wanted.severity == severity
    assert ("already effective in pool 'worker'" in wanted.message) == (severity == "Low")


def test_without_a_pool_the_worst_is_assumed() -> None:
    alone = a_cluster(without=[MACHINE_CONFIG_POOLS.ref(name) for name in ("worker", "master")])
    assert drafted(alone).desired_objects[0].severity == "High"
    unknown = pool("worker", WORKERS, 3)
    unknown["status"]["configuration"] = {"name": ""}
    assert drafted(added(a_cluster(), unknown)).desired_objects[0].severity == "High"


@pytest.mark.parametrize(
    ("workers", "masters", "schedulable", "items"),
    [
        pytest.param(3, 3, False, ["enable-psi-metrics"], id="VMs run on workers"),
        pytest.param(
            0,
            3,
            False,
            ["enable-psi-metrics", "enable-psi-metrics-master"],
            id="a compact cluster has no others",
        ),
        pytest.param(
            3,
            3,
            True,
            ["enable-psi-metrics", "enable-psi-metrics-master"],
            id="masters are schedulable",
        ),
    ],
)
def test_masters_get_it_where_vms_run_on_them(
    workers: int, masters: int, schedulable: bool, items: list[str]
) -> None:
    cluster = added(compact(workers, masters), scheduler(mastersSchedulable=schedulable))
    desired_objects = drafted(cluster).desired_objects
    assert [wanted.name for wanted in desired_objects[:-1]] == items
    assert desired_objects[-1].depends_on == tuple(items)


def test_a_custom_pool_that_takes_worker_configs_reboots_too() -> None:
    infra = pool("infra", {"node-role.kubernetes.io/infra": ""}, 2)
    role = "machineconfiguration.openshift.io/role"
    expression = {"key": role, "operator": "In", "values": ["worker", "infra"]}
    infra["spec"]["machineConfigSelector"] = {"matchExpressions": [expression]}
    wanted = drafted(added(a_cluster(), infra, *configs("infra"))).desired_objects[0]
    assert wanted.impact == "reboots the 5 machines of pool 'worker', 'infra', one after another"


def test_a_paused_pool_is_said_before() -> None:
    paused = pool("worker", WORKERS, 3)
    paused["spec"]["paused"] = True
    assert "is paused" in drafted(added(a_cluster(), paused)).desired_objects[0].warnings[0]
