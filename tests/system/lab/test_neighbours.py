"""Labs beside others: two at once, ports that somebody else has, foreign processes.

The tests are a walk with three labs, because every start takes the time of a whole control plane.
"""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from builders.labs.lab import RunningLab
from trimtab.lab.components.control_plane import PORTS
from trimtab.lab.components.stack import Lab, Stack, StackContribution
from trimtab.lab.files.layout import Home

pytestmark = pytest.mark.engines


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


class Labs:
    """`one` and `elsewhere` of different state directories; `two` will be in the one of `one`."""

    def __init__(self, homes: tuple[Home, Home], squatter: Squatter) -> None:
        self.one, self.elsewhere = (RunningLab(home, "one", ()) for home in homes)
        self.squatter = squatter
        self.two = self._beside_one()

    def who_chose_first_is_one(self) -> None:
        """It has the usual ports, which are therefore those that `two` will ask for."""

        def port(lab: RunningLab) -> int:
            return lab.status().ports["kube-apiserver"]

        self.one, self.elsewhere = sorted((self.one, self.elsewhere), key=port)
        self.two = self._beside_one()

    def _beside_one(self) -> RunningLab:
        return RunningLab(self.one.home, "two", (self.squatter.stack(),))

    @property
    def all(self) -> tuple[RunningLab, ...]:
        return self.one, self.elsewhere, self.two


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labs]:
    """None of them is made yet; whatever happens, none is left."""
    homes = (Home(tmp_path_factory.mktemp("state")), Home(tmp_path_factory.mktemp("state")))
    with a_squatter(*PORTS) as squatter:
        labs = Labs(homes, squatter)
        try:
            yield labs
        finally:
            for lab in labs.all:
                lab.down()
    assert [lab.left_over() for lab in labs.all] == [[], [], []]


def test_two_labs_of_different_state_directories_start_at_the_same_moment(labs: Labs) -> None:
    both = (labs.one, labs.elsewhere)
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda lab: lab.up(nodes=1), both))
    assert outcomes == ["created", "created"]
    one, elsewhere = (set(lab.status().ports.values()) for lab in both)
    assert one.isdisjoint(elsewhere)
    labs.who_chose_first_is_one()
    labs.elsewhere.down()


def test_a_stopped_lab_keeps_its_ports_and_those_lost_between_choice_and_bind_move(
    labs: Labs,
) -> None:
    one, two, squatter = labs.one, labs.two, labs.squatter
    one.kubectl("create", "namespace", "only-here")
    kept = one.status().ports
    one.down()
    assert two.up(nodes=2, stacks=("squatter",)) == "created"
    ports = two.status().ports
    assert set(kept.values()).isdisjoint(ports.values())
    told = [line for line in two.reports if "taken by" in line]
    assert told
    for name, port in kept.items():  # unless somebody else had what `one` would have had
        about = [line for line in told if line.startswith(f"port {port} ({name})")]
        assert all('taken by lab "one"' in line for line in about)

    assert squatter.taken.keys() == PORTS.keys()
    assert set(kept.values()).isdisjoint(squatter.taken.values())
    assert all(ports[name] != taken for name, taken in squatter.taken.items())
    for name, taken in squatter.taken.items():
        told = [line for line in two.reports if line.startswith(f"port {taken} ({name})")]
        assert told[0].endswith(f"; using {ports[name]}")
        assert len(told) == 1
    assert f":{ports['kube-apiserver']}" in two.kubeconfig.read_text()
    assert len(two.get("nodes")["items"]) == 2


def test_a_port_that_was_taken_meanwhile_moves_and_the_kubeconfig_follows(labs: Labs) -> None:
    one = labs.one
    ports = one.status().ports
    port = ports["kube-apiserver"]
    with socket.create_server(("127.0.0.1", port)):
        assert one.up() == "resumed"
        moved = one.status().ports["kube-apiserver"]
        assert moved != port
        assert one.status().ports == {**ports, "kube-apiserver": moved}
        assert f":{moved}" in one.kubeconfig.read_text()
        assert len(one.get("nodes")["items"]) == 1
    (report,) = one.reports[-1:]
    assert report.startswith(f"port {port} (kube-apiserver) is taken by ")
    assert report.endswith(f"using {moved}")


def test_moved_ports_are_kept(labs: Labs) -> None:
    for lab in (labs.one, labs.two):  # one moved before its choice, the other after it
        ports = lab.status().ports
        lab.down()
        assert lab.up() == "resumed"
        assert lab.status().ports == ports


def test_two_labs_run_side_by_side_and_know_nothing_of_each_other(labs: Labs) -> None:
    one, two = labs.one, labs.two
    assert "only-here" in namespaces(one)
    assert "only-here" not in namespaces(two)
    assert len(one.get("nodes")["items"]) == 1
    assert len(two.get("nodes")["items"]) == 2
    bystanders = two.processes()
    one.kill("supervisor")
    assert two.processes() == bystanders
    assert two.await_ready().phase == "ready"


def namespaces(lab: RunningLab) -> set[str]:
    return {each["metadata"]["name"] for each in lab.get("namespaces")["items"]}
