"""Ports that are lost between choice and bind: who lost which, and how often they move."""

import os
from pathlib import Path

import pytest

from builders.labs.lab import a_script
from trimtab.files.lock import held
from trimtab.lab.components.component import LabPlan
from trimtab.lab.control import UnitEvent
from trimtab.lab.files.layout import Home
from trimtab.lab.ports import TRIES, PortMover, choosing, lost_ports
from trimtab.lab.supervisor.repair import changed_units

PORTS = {"api": 6443, "scheduler": 10259, "exporter": 8000}


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        pytest.param(
            'E1116 err="failed to listen on 127.0.0.1:10259: listen tcp 127.0.0.1:10259: bind: '
            'address already in use"',
            ["scheduler"],
            id="a Go program",
        ),
        pytest.param(
            "[Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): "
            "[errno 98] address already in use",
            ["exporter"],
            id="a Python program",
        ),
        pytest.param("listen tcp [::]:6443: bind: Address already in use", ["api"], id="IPv6"),
        pytest.param("dial tcp 127.0.0.1:6443: connection refused", [], id="somebody else's"),
        pytest.param("listen tcp :64430: bind: address already in use", [], id="another port"),
        pytest.param("bind: address already in use", [], id="no port is named"),
    ],
)
def test_a_lost_port_is_read_from_the_last_lines(line: str, lost: list[str]) -> None:
    assert lost_ports(PORTS, ("something before", line)) == lost


def test_the_ports_of_a_component_move_a_few_times_and_no_more() -> None:
    asked: list[tuple[str, ...]] = []

    def move(lines: tuple[str, ...]) -> bool:
        asked.append(lines)
        return True

    mover = PortMover(move)
    lost = UnitEvent(at=0.0, unit="kwok", state="backing-off", last_lines=("in use",))
    assert [mover.mend(lost) for _ in range(TRIES + 2)] == [True] * TRIES + [False] * 2
    assert asked == [("in use",)] * TRIES
    assert not mover.mend(UnitEvent(at=0.0, unit="etcd", state="starting", last_lines=("in use",)))


def test_labs_of_different_state_directories_see_each_other_while_they_start(
    tmp_path: Path,
) -> None:
    ours, theirs = Home(tmp_path / "ours"), Home(tmp_path / "theirs")
    lab, other = ours.lab("test"), theirs.lab("test")
    with held(theirs.turn_lock(other), 1.0):
        with choosing(theirs, tmp_path) as register:
            register.enter(other, {"api": 6443})
        with choosing(ours, tmp_path) as register:
            assert register.others(lab) == {6443: 'lab "test"'}
            assert register.others(other) == {}
    with choosing(ours, tmp_path) as register:
        assert register.others(lab) == {}, "it neither starts nor runs"


def test_a_torn_register_and_a_directory_of_somebody_else_stop_nobody(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with choosing(home, tmp_path) as register:
        register.enter(home.lab("test"), {"api": 1})
    (file,) = tmp_path.glob("trimtab-*/ports.json")
    assert file.parent.stat().st_mode & 0o777 == 0o700
    file.write_bytes(file.read_bytes()[:-3])
    with choosing(home, tmp_path) as register:
        assert register.others(home.lab("other")) == {}
    (tmp_path / "elsewhere").mkdir()
    place = tmp_path / "hostile"
    place.mkdir()
    (place / f"trimtab-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with choosing(home, place) as register:
        register.enter(home.lab("test"), {"api": 1})
    assert list((tmp_path / "elsewhere").iterdir()) == []


def a_plan(server: str, needs: dict[str, tuple[str, ...]]) -> LabPlan:
    scripts = tuple(a_script(name, "", needs=others) for name, others in needs.items())
    return LabPlan(server=server, components=scripts)


def test_an_api_server_that_moves_concerns_all_who_need_it() -> None:
    needs = {"etcd": (), "api": ("etcd",), "tokens": ("api",), "exporter": ("tokens",)}
    old, new = a_plan("https://a:1", needs), a_plan("https://a:2", needs)
    assert changed_units(old, old) == set()
    moved = LabPlan(
        server=new.server,
        components=tuple(
            a_script("api", "moved", needs=("etcd",)) if c.name == "api" else c
            for c in new.components
        ),
    )
    assert changed_units(old, moved) == {"api", "tokens", "exporter"}
