"""Labs beside others: two at once, ports that somebody else has, foreign processes."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from builders.labs.lab import RunningLab, running_lab
from trimtab.lab.components.control_plane import PORTS
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.lab.files.layout import Home

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


class Squatter:
    """A neighbour that takes ports of a lab after they were chosen and before they are bound."""

    def __init__(self, *ports: str) -> None:
        self._wanted = set(ports)
        self.taken: dict[str, int] = {}
        self._sockets = ExitStack()

    def stack(self) -> Stack:
        """`up` asks a stack for its contribution at that very moment."""

        def contribute(lab: Lab) -> StackContribution:
            for name in self._wanted - self.taken.keys():
                self.taken[name] = lab.port(name)
                server = socket.create_server(("127.0.0.1", lab.port(name)))
                self._sockets.enter_context(server)
            return StackContribution()

        return Stack(name="squatter", contribute=contribute)

    def close(self) -> None:
        self._sockets.close()


@contextmanager
def a_squatter(*ports: str) -> Iterator[Squatter]:
    squatter = Squatter(*ports)
    try:
        yield squatter
    finally:
        squatter.close()


def test_ports_that_are_lost_between_choice_and_bind_move(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with (
        a_squatter(*PORTS) as squatter,
        running_lab(tmp_path_factory, stacks=(squatter.stack(),), nodes=1) as lab,
    ):
        ports = lab.status().ports
        assert squatter.taken.keys() == PORTS.keys()
        assert all(ports[name] != taken for name, taken in squatter.taken.items())
        for name, taken in squatter.taken.items():
            told = [line for line in lab.reports if line.startswith(f"port {taken} ({name})")]
            assert told[0].endswith(f"; using {ports[name]}")
            assert len(told) == 1
        assert f":{ports['kube-apiserver']}" in lab.kubeconfig.read_text()
        assert len(lab.get("nodes")["items"]) == 1
        lab.down()
        assert lab.up() == "resumed"
        assert lab.status().ports == ports


def test_two_labs_of_different_state_directories_start_at_the_same_moment(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    labs = [RunningLab(Home(tmp_path_factory.mktemp("state")), "test", ()) for _ in range(2)]
    try:
        with ThreadPoolExecutor(2) as both:
            outcomes = list(both.map(lambda lab: lab.up(nodes=1), labs))
        assert outcomes == ["created", "created"]
        one, two = (set(lab.status().ports.values()) for lab in labs)
        assert one.isdisjoint(two)
    finally:
        for lab in labs:
            lab.down()
