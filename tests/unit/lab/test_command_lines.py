"""The exact command lines and files of a lab, so that no flag changes unseen.

After a wanted change: `.venv/bin/pytest tests/unit/lab --snapshot-update`, then read the diff.
"""

import re
from pathlib import Path

import pytest
from msgspec import structs
from syrupy.assertion import SnapshotAssertion

from builders.labs.lab import a_spec
from trimtab.lab.components.component import Component
from trimtab.lab.components.stack import NONE, Lab
from trimtab.lab.plan import Blueprint, draw
from trimtab.lab.spec import LabClock
from trimtab.lab.supervisor.repair import changed_units


def drawn(**changes: object) -> Blueprint:
    lab = Lab(
        Path("/state/labs/test"), structs.replace(a_spec(), **changes), Path("/engines").joinpath
    )
    return draw(lab, (NONE,), None)


def as_text(component: Component) -> str:
    facts = {
        "needs": component.needs,
        "probes": component.probes,
        "before": component.before,
        "after": component.after,
        "env": component.env,
        "url": component.url,
        "restart": component.restart,
        "stop within": component.stop_within_s,
    }
    return "\n".join((*component.argv, *(f"  {name}: {fact}" for name, fact in facts.items())))


@pytest.mark.parametrize(
    "name", ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"]
)
def test_each_component_has_exactly_this_command_line(
    name: str, snapshot: SnapshotAssertion
) -> None:
    components = {component.name: component for component in drawn().plan.components}
    assert as_text(components[name]) == snapshot


def test_the_tasks_are_exactly_these(snapshot: SnapshotAssertion) -> None:
    text = "\n".join(map(str, drawn().plan.tasks))
    assert re.sub("digest='[0-9a-f]{16}'", "digest=…", text) == snapshot


def test_another_port_in_a_configuration_file_is_another_description() -> None:
    ports = dict(a_spec().ports)
    usual, moved = drawn(), drawn(ports=ports | {"kwok": 1})
    assert changed_units(usual.plan, moved.plan) == {"kwok"}
    other = drawn(placement="binpack")
    assert changed_units(usual.plan, other.plan) == {"kube-scheduler"}
    elsewhere = drawn(clock=LabClock(0.0))
    assert changed_units(usual.plan, elsewhere.plan) == {"objects"}


@pytest.mark.parametrize(
    "file", ["config/scheduler.yaml", "config/kwok.yaml", "config/objects.json"]
)
def test_each_file_has_exactly_this_text(file: str, snapshot: SnapshotAssertion) -> None:
    assert drawn().files[file] == snapshot


def test_binpack_and_time_change_the_scheduler_only(snapshot: SnapshotAssertion) -> None:
    plain, changed = drawn(), drawn(placement="binpack", clock=LabClock(a_spec().clock.epoch, 10))
    assert changed.files["config/scheduler.yaml"] == snapshot
    assert changed_units(plain.plan, changed.plan) == {"kube-scheduler", "objects"}


def test_another_address_reaches_the_api_server_and_its_certificate_only() -> None:
    changed = drawn(listen="192.0.2.7")
    arguments = {c.name: " ".join(c.argv) for c in changed.plan.components}
    assert "--bind-address=192.0.2.7" in arguments["kube-apiserver"]
    assert changed.plan.server == "https://192.0.2.7:6443"
    assert [name for name, text in arguments.items() if "192.0.2.7" in text] == ["kube-apiserver"]
    assert "192.0.2.7" in next(s for s in changed.servers if "apiserver" in s.name).hosts


def test_large_labs_renew_leases_less_often_and_the_controller_manager_waits_for_it() -> None:
    large = drawn(nodes=1000)
    assert "nodeLeaseDurationSeconds: 200" in large.files["config/kwok.yaml"]
    manager = next(c for c in large.plan.components if c.name == "kube-controller-manager")
    assert "--node-monitor-grace-period=210s" in manager.argv
