"""Processes: known by more than their pid, and never left behind."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from builders.waiting import LIMIT_S, wait_until
from trimtab.lab.process import await_end, end, identify, is_alive
from trimtab.lab.supervisor.child import how_it_ended, spawn


@contextmanager
def killed_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_we_know_ourselves() -> None:
    me = identify(os.getpid())
    assert me is not None
    assert is_alive(me)
    assert "python" in me.command


def test_the_same_pid_with_another_start_or_command_is_a_stranger() -> None:
    me = identify(os.getpid())
    assert me is not None
    for stranger in (
        structs.replace(me, started=me.started - 1),
        structs.replace(me, command="etcd"),
        structs.replace(me, boot="another"),
    ):
        assert not is_alive(stranger)
        assert end(stranger, signal.SIGKILL, wait_s=0)  # and we are still here
        assert await_end(stranger, wait_s=0)


def test_a_process_that_is_gone_is_nobody() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert identify(process.pid) is None


def test_a_zombie_is_nobody() -> None:
    with killed_at_the_end(subprocess.Popen(["sleep", "60"])) as process:
        known = identify(process.pid)
        assert known is not None
        assert end(known, signal.SIGKILL, wait_s=10)
        assert identify(process.pid) is None
        assert not is_alive(known)


def test_a_process_lives_until_its_last_thread_has_ended() -> None:
    program = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    with killed_at_the_end(subprocess.Popen([sys.executable, "-c", program])) as process:
        known = identify(process.pid)
        assert known is not None
        wait_until(lambda: identify(process.pid) is None, "the first thread has not ended")
        assert is_alive(known)
        assert end(known, signal.SIGKILL, wait_s=10)
        assert not is_alive(known)


def test_a_process_is_known_from_its_first_moment() -> None:
    for _ in range(20):  # the kernel shows no command for a moment after an exec
        with killed_at_the_end(subprocess.Popen(["sleep", "60"])) as process:
            known = identify(process.pid)
            assert known is not None
            assert known.command == "sleep 60"


async def test_a_child_runs_in_its_own_session_and_writes_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    child = spawn(["sh", "-c", "pwd; echo $A; exit 3"], tmp_path, {"A": "b"}, log)
    async with asyncio.timeout(LIMIT_S):
        assert await child.exited == 3
    assert log.read_text().splitlines() == [str(tmp_path), "b"]
    assert log.stat().st_mode & 0o777 == 0o600


async def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    script = "trap '' TERM; echo up; while :; do sleep 0.01; done"
    child = spawn(["sh", "-c", script], tmp_path, {}, tmp_path / "log")
    async with asyncio.timeout(LIMIT_S):
        while "up" not in (tmp_path / "log").read_text():
            await asyncio.sleep(0.01)
    assert child.identity is not None
    assert os.getsid(child.pid) == child.pid
    await child.end(within_s=0.05)
    assert how_it_ended(child.exited.result()) == "killed by SIGKILL"


def test_children_die_with_a_killed_parent(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from trimtab.lab.supervisor.child import spawn\n"
        "async def main():\n"
        "    env = {'PATH': '/usr/bin:/bin'}\n"
        "    child = spawn(['sleep', '600'], Path('.'), env, Path(sys.argv[1]))\n"
        "    print(child.pid, flush=True)\n"
        "    await child.exited\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = identify(int(parent.stdout.readline()))
        assert child is not None
        assert is_alive(child)
        parent.kill()
    wait_until(lambda: not is_alive(child), "the child outlived its parent")


def test_exit_codes_in_words() -> None:
    assert how_it_ended(1) == "exit status 1"
    assert how_it_ended(-9) == "killed by SIGKILL"
    assert how_it_ended(-63) == "killed by signal 63"
