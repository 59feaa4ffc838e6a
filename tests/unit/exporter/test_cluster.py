"""The stores of a cluster keep the ledger right, change by change."""

from typing import cast

import pytest
from prometheus_client import Gauge

from builders.logs import captured_logs
from builders.values.exporter import a_launcher, a_machine, a_node, by_node
from trimtab.exporter import metrics
from trimtab.exporter.nodes.cluster import ClusterFollower, facts
from trimtab.exporter.nodes.ledger import NodeFacts
from trimtab.exporter.nodes.page import MetricsPage
from trimtab.exporter.nodes.wire import Launcher, MachineObject, NodeObject
from trimtab.kube.client import Client
from trimtab.kube.clock import Clock
from trimtab.kube.resources import ConfigMap, Key, ObjectMeta


def a_cluster(*objects: NodeObject | MachineObject | Launcher) -> ClusterFollower:
    """A cluster whose stores hold `objects`; nothing is ever asked of its client."""
    cluster = ClusterFollower(cast(Client, None), node_selector="")
    for each in objects:
        put(cluster, each)
    return cluster


def put(cluster: ClusterFollower, each: NodeObject | MachineObject | Launcher) -> None:
    if isinstance(each, NodeObject):
        cluster.nodes.store.put(each)
    elif isinstance(each, MachineObject):
        cluster.vms.store.put(each)
    else:
        cluster.pods.store.put(each)


def value(gauge: Gauge) -> float:
    (metric,) = gauge.collect()
    return float(metric.samples[0].value)


def cpu(cluster: ClusterFollower) -> dict[str, float]:
    return by_node(MetricsPage(cluster).nodes(), "node_cpu_usage_ratio")


def memory(cluster: ClusterFollower) -> dict[str, float]:
    return by_node(MetricsPage(cluster).nodes(), "node_memory_usage_ratio")


def vms(cluster: ClusterFollower) -> dict[str, float]:
    return by_node(MetricsPage(cluster).nodes(), "node_vm_count")


def test_a_migration_from_beginning_to_end() -> None:
    source, target = a_launcher("web-1", node="n1"), a_launcher("web-2", node="n2", migration="m")
    cluster = a_cluster(a_node("n1"), a_node("n2"), a_machine(), source)
    assert (cpu(cluster), memory(cluster)) == ({"n1": 0.1, "n2": 0}, {"n1": 0.2, "n2": 0})

    put(cluster, a_machine(phase="Migrating", migration="m"))
    put(cluster, target)
    assert (cpu(cluster), memory(cluster)) == ({"n1": 0.1, "n2": 0}, {"n1": 0.2, "n2": 0.2})
    assert vms(cluster) == {"n1": 1, "n2": 0}

    put(cluster, a_machine(pod="web-2"))  # the cut-over: one write, both pods change
    assert (cpu(cluster), memory(cluster)) == ({"n1": 0, "n2": 0.1}, {"n1": 0, "n2": 0.2})
    assert vms(cluster) == {"n1": 0, "n2": 1}

    cluster.pods.store.discard(source.metadata.key)
    assert cpu(cluster) == {"n1": 0, "n2": 0.1}


@pytest.mark.parametrize("vm_first", [True, False], ids=["the VM first", "the pods first"])
def test_the_order_of_news_does_not_matter(vm_first: bool) -> None:
    pods = [a_launcher("web-1", node="n1"), a_launcher("web-2", node="n2", migration="m")]
    vm = a_machine(phase="Migrating", migration="m")
    news: list[MachineObject | Launcher] = [vm, *pods] if vm_first else [*pods, vm]
    cluster = a_cluster(a_node("n1"), a_node("n2"), *news)
    assert (cpu(cluster), memory(cluster)) == ({"n1": 0.1, "n2": 0}, {"n1": 0.2, "n2": 0.2})


def test_a_leaked_target_is_not_counted_twice() -> None:
    leaked = a_launcher("web-2", node="n2", migration="failed")
    cluster = a_cluster(a_node("n1"), a_node("n2"), a_machine(), a_launcher("web-1"), leaked)
    assert (vms(cluster), memory(cluster)) == ({"n1": 1, "n2": 0}, {"n1": 0.2, "n2": 0})


def test_a_pod_stands_for_itself_once_its_vm_is_gone() -> None:
    cluster = a_cluster(a_node("n1"), a_machine(pod="web-2"), a_launcher("web-1"))
    assert vms(cluster) == {"n1": 0}
    cluster.vms.store.discard(Key("default", "web"))
    assert vms(cluster) == {"n1": 1}


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(a_launcher(deleted=True), id="being deleted"),
        pytest.param(a_launcher(phase="Failed"), id="failed"),
        pytest.param(a_launcher(phase="Succeeded"), id="finished"),
    ],
)
def test_a_pod_that_ends_stops_counting(after: Launcher) -> None:
    cluster = a_cluster(a_node("n1"), a_launcher())
    put(cluster, after)
    assert (cpu(cluster), vms(cluster)) == ({"n1": 0}, {"n1": 0})


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(a_node("n1", ready=False), id="not Ready"),
        pytest.param(a_node("n1", cpu=None), id="without CPU"),
        pytest.param(a_node("n1", cpu="many"), id="with an unreadable capacity"),
        pytest.param(a_node("n1", memory="0"), id="without memory"),
    ],
)
def test_a_node_that_cannot_be_measured_has_no_series_at_all(after: NodeObject) -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2"), a_launcher(), after)
    page = MetricsPage(cluster, production=True).nodes()
    assert '"n1"' not in page
    assert value(metrics.left_out) == 1


def test_a_node_that_becomes_ready_has_its_pods() -> None:
    cluster = a_cluster(a_node("n1", ready=False), a_launcher())
    assert cpu(cluster) == {}
    put(cluster, a_node("n1"))
    assert cpu(cluster) == {"n1": 0.1}


def test_a_node_that_says_nothing_about_readiness_is_measured() -> None:
    """The descheduler counts it as ready, and fails as a whole if it has no sample."""
    assert cpu(a_cluster(a_node("n1", ready=None), a_launcher())) == {"n1": 0.1}


def test_an_unreadable_pod_is_logged_once_counted_and_forgotten() -> None:
    bad = a_launcher(cpu="much")
    with captured_logs() as logs:
        cluster = a_cluster(a_node("n1"), bad)
        put(cluster, bad)
        put(cluster, a_machine())
        cluster.refresh()
    assert [entry["event"] for entry in logs] == ["pod unreadable"]
    assert "vm-cpu-consumption: 'much'" in logs[0]["error"]
    assert value(metrics.unreadable) == 1
    assert (cpu(cluster), vms(cluster)) == ({"n1": 0}, {"n1": 1})
    put(cluster, a_launcher())
    assert value(metrics.unreadable) == 0
    assert cpu(cluster) == {"n1": 0.1}


def test_refreshing_changes_nothing_that_is_right() -> None:
    cluster = a_cluster(a_node("n1"), a_launcher())
    before = cluster.ledger.nodes["n1"]
    cluster.refresh()
    assert cluster.ledger.nodes == {"n1": before}


def a_clock(**data: str) -> ConfigMap:
    meta = ObjectMeta(name="clock", namespace="trimtab-system", uid="u", resource_version="1")
    return ConfigMap(metadata=meta, data=data)


def test_the_clock_follows_its_config_map() -> None:
    cluster = a_cluster()
    cluster.clocks.store.put(a_clock(epoch="1000", scale="15"))
    assert cluster.clock == Clock(1000.0, 15.0)
    assert cluster.clock.lab_s(1010.0) == 150.0
    assert "trimtab_time_scale 15.0\n" in MetricsPage(cluster).nodes()


def test_a_clock_that_is_lost_goes_on_as_it_was_and_that_is_said_once() -> None:
    cluster = a_cluster()
    assert cluster.clock == Clock(0.0, 1.0)
    with captured_logs() as logs:
        cluster.clocks.store.put(a_clock(epoch="1000", scale="15"))
        cluster.clocks.store.discard(Key("trimtab-system", "clock"))
        cluster.clocks.store.put(a_clock(epoch="1000", scale="15"))
    assert cluster.clock == Clock(1000.0, 15.0)
    assert [(line["event"], line["error"]) for line in logs] == [
        ("clock ignored", "ConfigMap trimtab-system/clock is gone")
    ]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"epoch": "1000"}, id="without a scale"),
        pytest.param({"epoch": "now", "scale": "1"}, id="not a number"),
        pytest.param({"epoch": "1000", "scale": "0"}, id="standing still"),
        pytest.param({"epoch": "nan", "scale": "1"}, id="no epoch"),
    ],
)
def test_a_clock_that_makes_no_sense_is_ignored_and_said_so(data: dict[str, str]) -> None:
    cluster = a_cluster()
    cluster.clocks.store.put(a_clock(epoch="1000", scale="15"))
    with captured_logs() as logs:
        cluster.clocks.store.put(a_clock(**data))
    assert cluster.clock == Clock(1000.0, 15.0)
    assert [entry["event"] for entry in logs] == ["clock ignored"]


def test_the_counters_are_added_up_before_the_clock_changes() -> None:
    heard: list[float] = []
    cluster = a_cluster()
    cluster.before_clock_change = lambda: heard.append(cluster.clock.scale)
    cluster.clocks.store.put(a_clock(epoch="1000", scale="15"))
    assert heard == [1.0]


@pytest.mark.parametrize(
    ("labels", "roles"),
    [
        pytest.param({}, ("worker",), id="a node without roles is a worker"),
        pytest.param({"node-role.kubernetes.io/agent": ""}, ("agent", "worker"), id="an agent too"),
        pytest.param(
            {"node-role.kubernetes.io/control-plane": ""}, ("control-plane",), id="not the masters"
        ),
        pytest.param({"node-role.kubernetes.io/worker": ""}, ("worker",), id="once is enough"),
    ],
)
def test_roles_come_from_labels(labels: dict[str, str], roles: tuple[str, ...]) -> None:
    assert facts(a_node(labels=labels)).roles == roles


def test_capacity_is_what_pods_can_have() -> None:
    assert facts(a_node(cpu="15500m", memory="1Gi")) == NodeFacts(15.5, 2.0**30)


def test_a_vm_is_where_its_active_pod_is() -> None:
    cluster = a_cluster(
        a_node("n1"),
        a_machine(phase="Migrating", migration="m"),
        a_launcher("web-1", node="n1"),
        a_launcher("web-2", node="n2", migration="m"),
        a_machine("new", pod="new-1"),
        a_launcher("new-1", vm="new", node=""),
        a_machine("off", pod="", phase="Stopped"),
    )
    assert cluster.node_of(Key("default", "web")) == "n1"
    assert cluster.node_of(Key("default", "new")) is None
    assert cluster.unplaced() == ["new"]
