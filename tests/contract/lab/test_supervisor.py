"""The supervisor with shell scripts for components: what it does when they die, hang or change."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec import structs

from builders.labs.lab import a_lab_on_disk, a_script, write_plan
from builders.waiting import LIMIT_S
from trimtab.errors import TrimtabError
from trimtab.lab import control
from trimtab.lab.components.component import (
    CreateNodes,
    LogLine,
    Restart,
    SocketAccepts,
    SupervisorTask,
)
from trimtab.lab.control import LabStatus, UnitStatus
from trimtab.lab.files import logs
from trimtab.lab.files.layout import LabDir
from trimtab.lab.inspection import look
from trimtab.lab.spec import NodeSize
from trimtab.lab.supervisor.run import Supervisor
from trimtab.lab.supervisor.states import phase_of

FOREVER = "exec sleep 600"
SOON = Restart(first_s=0.01, longest_s=0.05, quick_s=5.0, give_up_after=3)


@asynccontextmanager
async def supervised(lab: LabDir, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Supervisor]:
    """The lab's supervisor in this process, stopped at the end whatever happens."""
    monkeypatch.chdir(lab.path)
    with logs.LogStream(lab.log("supervisor")) as stream:
        supervisor = Supervisor(lab, stream)
        running = asyncio.create_task(supervisor.run())
        try:
            yield supervisor
        finally:
            supervisor.ask_to_stop()
            async with asyncio.timeout(LIMIT_S):
                await running


async def until(supervisor: Supervisor, holds: Callable[[dict[str, UnitStatus]], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        await supervisor.states.until(
            lambda: bool(supervisor.states.units) and holds(supervisor.states.units)
        )


async def test_a_lab_is_ready_when_all_its_units_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = a_script("first", f"echo open; {FOREVER}", probes=(LogLine("open"),))
    second = a_script("second", FOREVER, needs=("first",))
    lab = a_lab_on_disk(tmp_path / "test", second, first)
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        units = supervisor.states.units
        assert units["second"].since >= units["first"].since
        assert all(unit.pid for unit in units.values())
    assert supervisor.states.phase == "stopping"
    assert {unit.state for unit in supervisor.states.units.values()} == {"stopped"}
    assert not lab.run_file.exists()


async def test_what_components_leave_in_the_temporary_directory_goes_with_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = a_script("one", f"mktemp; echo open; {FOREVER}", probes=(LogLine("open"),))
    lab = a_lab_on_disk(tmp_path / "test", careless)
    lab.scratch.mkdir()
    (lab.scratch / "of-a-killed-lab").touch()
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        made = lab.log("one").read_text().splitlines()[0]
        assert list(map(str, lab.scratch.iterdir())) == [made]
        assert lab.scratch.stat().st_mode & 0o777 == 0o700
    assert not lab.scratch.exists()


async def test_a_killed_component_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = a_lab_on_disk(tmp_path / "test", a_script("one", FOREVER, restart=SOON))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["one"].state == "ready")
        pid = supervisor.states.units["one"].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(supervisor, lambda units: units["one"].state == "backing-off")
        assert supervisor.states.units["one"].message == "killed by SIGKILL"
        await until(supervisor, lambda units: units["one"].state == "ready")
        assert supervisor.states.units["one"].restarts == 1
        assert supervisor.states.units["one"].pid not in (pid, None)


async def test_a_component_that_dies_too_often_is_given_up_with_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = a_lab_on_disk(tmp_path / "test", a_script("bad", "echo so bad; exit 7", restart=SOON))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["bad"].state == "gave-up")
        unit = supervisor.states.units["bad"]
        assert unit.message == "exit status 7, 3 times in a row"
        assert unit.last_lines == ("so bad",)
        assert supervisor.states.phase == "degraded"


async def test_a_program_that_is_not_there_is_given_up_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = a_script("gone", "")
    missing = type(missing)(name="gone", argv=("/no/such/program",), restart=SOON)
    lab = a_lab_on_disk(tmp_path / "test", missing)
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["gone"].state == "gave-up")
        message = supervisor.states.units["gone"].message
        assert message.startswith("cannot start /no/such/program: No such file or directory")


async def test_a_restart_revives_what_was_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"test -e fixed && {FOREVER}; exit 1"
    lab = a_lab_on_disk(tmp_path / "test", a_script("bad", script, restart=SOON))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["bad"].state == "gave-up")
        (lab.path / "fixed").touch()
        await supervisor.restart("bad")
        assert supervisor.states.units["bad"].state == "ready"


async def test_a_repair_revives_what_was_given_up_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = a_script("bad", f"test -e fixed && {FOREVER}; exit 1", restart=SOON)
    lab = a_lab_on_disk(tmp_path / "test", bad, a_script("after", FOREVER, needs=("bad",)))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["bad"].state == "gave-up")
        (lab.path / "fixed").touch()
        assert await supervisor.repair() == ["bad had been given up; it is tried again"]
        assert supervisor.states.units["bad"].state != "gave-up"
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        assert await supervisor.repair() == []


async def test_a_repair_restarts_what_stays_unhealthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.lab.supervisor.unit.HEARTBEAT_S", 0.01)
    monkeypatch.setattr("trimtab.lab.supervisor.repair.HEALTH_GRACE_S", 0.1)
    listens = (
        "import socket, time, os\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(str(os.getpid()) + '.sock'); s.listen(9)\n"
        "os.replace(str(os.getpid()) + '.sock', 'one.sock'); time.sleep(600)"
    )
    one = a_script("one", "", probes=(SocketAccepts("one.sock"),))
    one = structs.replace(one, argv=(sys.executable, "-c", listens))
    lab = a_lab_on_disk(tmp_path / "test", one)
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["one"].state == "ready")
        pid = supervisor.states.units["one"].pid
        (lab.path / "one.sock").unlink()
        await until(supervisor, lambda units: units["one"].state == "unhealthy")
        assert await supervisor.repair() == []
        await until(supervisor, lambda units: units["one"].state == "ready")
        assert supervisor.states.units["one"].pid != pid


async def test_warnings_about_the_disk_go_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.lab.supervisor.run.TIDY_S", 0.01)
    lab = a_lab_on_disk(tmp_path / "test", a_script("one", FOREVER))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        with monkeypatch.context() as full:
            full.setattr("trimtab.lab.supervisor.run.write_private", no_space)
            await supervisor.restart("one")
            async with asyncio.timeout(LIMIT_S):
                while not supervisor.status().warnings:
                    await asyncio.sleep(0.01)
        async with asyncio.timeout(LIMIT_S):
            while supervisor.status().warnings:
                await asyncio.sleep(0.01)
        assert lab.run_file.exists()


def no_space(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_restart_is_over_when_the_new_process_is_ready_not_while_the_old_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.lab.supervisor.unit.HEARTBEAT_S", 0.01)
    reluctant = "trap 'sleep 0.3; exit 0' TERM; echo open; while :; do sleep 0.01; done"
    lab = a_lab_on_disk(tmp_path / "test", a_script("one", reluctant, probes=(LogLine("open"),)))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["one"].state == "ready")
        old = supervisor.states.units["one"].pid
        await supervisor.restart("one")
        unit = supervisor.states.units["one"]
        assert (unit.state, unit.pid != old) == ("ready", True)


async def test_a_requested_restart_is_no_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = a_lab_on_disk(tmp_path / "test", a_script("one", FOREVER))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["one"].state == "ready")
        before = supervisor.states.units["one"].pid
        await supervisor.restart("one")
        unit = supervisor.states.units["one"]
        assert (unit.state, unit.restarts) == ("ready", 0)
        assert unit.pid != before


async def test_reloading_is_a_signal_where_the_component_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "trap 'echo again' HUP; echo up; while :; do sleep 0.01; done"
    polite = a_script("polite", script, reload="hup", probes=(LogLine("up"),))
    lab = a_lab_on_disk(tmp_path / "test", polite)
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: units["polite"].state == "ready")
        pid = supervisor.states.units["polite"].pid
        await supervisor.reload("polite")
        async with asyncio.timeout(LIMIT_S):
            while "again" not in logs.tail(lab.log("polite"), 5):
                await asyncio.sleep(0.01)
        assert supervisor.states.units["polite"].pid == pid


async def test_refresh_touches_only_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same, old, new = (a_script(name, FOREVER) for name in ("same", "old", "new"))
    changed = a_script("changed", FOREVER)
    lab = a_lab_on_disk(tmp_path / "test", same, old, changed)
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        before = dict(supervisor.states.units)
        write_plan(lab, same, a_script("changed", f"echo other; {FOREVER}"), new)
        await supervisor.refresh()
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        after = supervisor.states.units
        assert after.keys() == {"same", "changed", "new"}
        assert after["same"].pid == before["same"].pid
        assert after["changed"].pid != before["changed"].pid


async def test_a_component_waits_for_what_it_needs_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shy = a_script("shy", FOREVER, probes=(SocketAccepts("never.sock"),))
    lab = a_lab_on_disk(tmp_path / "test", shy, a_script("after", FOREVER, needs=("shy",)))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: "never.sock" in units["shy"].message)
        assert supervisor.states.units["shy"].state == "starting"
        assert supervisor.states.units["after"].message == "waits for shy"
        assert supervisor.states.phase == "starting"


async def test_a_task_is_repeated_and_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = SupervisorTask(name="nodes", action=CreateNodes(1, NodeSize()))
    lab = a_lab_on_disk(tmp_path / "test", task)
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda units: "does not answer" in units["nodes"].message)
        assert supervisor.states.units["nodes"].state == "starting"


async def test_the_control_socket_answers_from_a_very_deep_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path.joinpath(*["d" * 60] * 4) / "test"
    lab = a_lab_on_disk(deep, a_script("one", FOREVER))
    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        status = await asyncio.to_thread(control.read_status, lab)
        assert status.phase == "ready"
        assert status.supervisor_pid == os.getpid()
        with pytest.raises(TrimtabError, match='no component "two"; there are one'):
            await asyncio.to_thread(control.ask, lab, control.RestartComponent("two"))
        assert (lab.path / control.SOCKET).stat().st_mode & 0o777 == 0o600


async def test_followers_hear_everything_and_then_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = a_lab_on_disk(tmp_path / "test", a_script("one", FOREVER))

    def heard() -> list[str]:
        return [answer.event.state for answer in control.follow(lab, silence_s=20)]

    async with supervised(lab, monkeypatch) as supervisor:
        await until(supervisor, lambda _: supervisor.states.phase == "ready")
        listening = asyncio.create_task(asyncio.to_thread(heard))
        while not supervisor.states.has_followers:
            await asyncio.sleep(0.01)
    assert await listening == ["ready", "stopped"]


def a_unit(state: str) -> UnitStatus:
    return UnitStatus(name=state, kind="component", state=state, since=0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("states", "was_ready", "phase"),
    [
        pytest.param(["ready", "ready"], False, "ready", id="all ready"),
        pytest.param(["ready", "waiting"], False, "starting", id="not yet"),
        pytest.param(["ready", "backing-off"], True, "degraded", id="something died meanwhile"),
        pytest.param(["ready", "unhealthy"], True, "degraded", id="something does not answer"),
        pytest.param(["starting", "gave-up"], False, "degraded", id="given up while starting"),
    ],
)
def test_the_phase_of_a_lab(states: list[str], was_ready: bool, phase: str) -> None:
    assert phase_of([a_unit(state) for state in states], False, was_ready) == phase


def test_a_lab_at_rest_is_stopped_and_a_killed_one_died(tmp_path: Path) -> None:
    lab = a_lab_on_disk(tmp_path / "test")
    assert look(lab).phase == "stopped"
    lab.run_file.write_text(
        '{"supervisor":{"pid":1,"started":0,"boot":"","command":""},"children":{}}'
    )
    status: LabStatus = look(lab)
    assert status.phase == "died"
    assert "nothing is running; resume: trimtab lab up --name test" in status.message
