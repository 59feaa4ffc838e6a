"""Nodes that KubeVirt can use, their CPUs, and how often they say that they live."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.resources import Node, NodeStatus, ObjectMeta
from trimtab.kube.runtime.options import written
from trimtab.player.nodes import (
    RESOURCES,
    heartbeat_every_s,
    label_changes,
    labels_of,
    model_of,
    parse_models,
    resource_changes,
)
from trimtab.player.settings import PlayerSettings

MODELS = parse_models(["Intel:Haswell", "AMD:EPYC-Rome", "Intel:Skylake-Server"])


def a_node(labels: dict[str, str] | None = None, **allocatable: str) -> Node:
    meta = ObjectMeta(name="kwok-node-3", labels=labels or {})
    return Node(metadata=meta, status=NodeStatus(allocatable=allocatable))


def test_models_go_round_the_nodes() -> None:
    names = [model_of(f"kwok-node-{number}", MODELS).model for number in range(1, 5)]
    assert names == ["Haswell", "EPYC-Rome", "Skylake-Server", "Haswell"]


def test_a_newer_cpu_takes_guests_of_older_ones_of_its_vendor() -> None:
    newer, older = labels_of("kwok-node-3", MODELS), labels_of("kwok-node-1", MODELS)
    accepts = "cpu-model-migration.node.kubevirt.io/"
    assert f"{accepts}Haswell" in newer
    assert f"{accepts}Skylake-Server" not in older
    assert f"{accepts}EPYC-Rome" not in newer


def test_a_node_that_is_fit_is_left_alone() -> None:
    node = a_node(labels_of("kwok-node-3", MODELS), **RESOURCES)
    assert label_changes(node, MODELS) == {}
    assert resource_changes(node) == {}


def test_labels_of_another_cpu_go() -> None:
    old = "host-model-cpu.node.kubevirt.io/Penryn"
    changes = label_changes(a_node({old: "true", "mine": "stays"}), MODELS)
    assert changes[old] is None
    assert "mine" not in changes


@pytest.mark.parametrize(("nodes", "seconds"), [(5, 60.0), (500, 125.0), (5000, 180.0)])
def test_many_nodes_beat_more_slowly_but_within_five_minutes(nodes: int, seconds: float) -> None:
    assert heartbeat_every_s(nodes) == seconds


@given(st.integers(0, 100_000))
def test_no_heart_stops_for_as_long_as_kubevirt_waits(nodes: int) -> None:
    assert heartbeat_every_s(nodes) < 300


def test_each_cpu_model_is_an_option_of_its_own_on_the_command_line() -> None:
    models = ("Intel:Haswell", "AMD:EPYC-Rome")
    settings = PlayerSettings(handler_kubeconfig=Path("handler"), cpu_model=models)
    assert written(settings) == (
        "--handler-kubeconfig=handler",
        "--cpu-model=Intel:Haswell",
        "--cpu-model=AMD:EPYC-Rome",
    )
