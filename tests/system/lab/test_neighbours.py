"""Labs beside others: two at once, ports that somebody else has, foreign processes."""

import socket

import pytest

from builders.lab import running_lab
from trimtab.lab import Home

pytestmark = pytest.mark.engines


def test_two_labs_run_side_by_side_and_know_nothing_of_each_other(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    home = Home(tmp_path_factory.mktemp("state"))
    with running_lab(tmp_path_factory, home=home, name="one", nodes=1) as one:
        one.kubectl("create", "namespace", "only-here")
        ports = one.status().ports
        one.down()
        with running_lab(tmp_path_factory, home=home, name="two", nodes=2) as two:
            # a stopped lab keeps its ports
            assert set(ports.values()).isdisjoint(two.status().ports.values())
            usual_ports = ports["kube-apiserver"] == 6443  # unless somebody else has them
            assert any("taken by" in line for line in two.reports)
            assert any('taken by lab "one"' in line for line in two.reports) or not usual_ports
            assert one.up() == "resumed"
            assert one.status().ports == ports
            assert len(two.get("nodes")["items"]) == 2
            names = {n["metadata"]["name"] for n in two.get("namespaces")["items"]}
            assert "only-here" not in names
            bystanders = two.processes()
            one.kill("supervisor")
            assert two.processes() == bystanders
            assert two.await_ready().phase == "ready"


def test_a_port_that_was_taken_meanwhile_moves_and_the_kubeconfig_follows(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_lab(tmp_path_factory, nodes=1) as lab:
        port = lab.status().ports["kube-apiserver"]
        lab.down()
        with socket.create_server(("127.0.0.1", port)):
            assert lab.up() == "resumed"
            moved = lab.status().ports["kube-apiserver"]
            assert moved != port
            assert f":{moved}" in lab.kubeconfig.read_text()
            assert len(lab.get("nodes")["items"]) == 1
        (report,) = lab.reports[-1:]
        assert report.startswith(f"port {port} (kube-apiserver) is taken by ")
        assert report.endswith(f"using {moved}")
        lab.down()
        assert lab.up() == "resumed"
        assert lab.status().ports["kube-apiserver"] == moved
