"""Starts that cannot succeed: one clear message with the reason, and nothing left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from builders.labs.lab import RunningLab
from builders.waiting import LIMIT_S, wait_until
from trimtab.engines import cache_dir, locate
from trimtab.errors import TrimtabError
from trimtab.lab.components.stack import NONE
from trimtab.lab.control import LabStatus
from trimtab.lab.files.layout import Home
from trimtab.lab.process import ProcessId, is_alive
from trimtab.lab.starting.resolve_request import LabRequest
from trimtab.lab.starting.start import Means, up

pytestmark = pytest.mark.engines


def trimtab(state: Path, *arguments: str) -> subprocess.Popen[str]:
    """The real command, with a state directory of its own."""
    engines = cache_dir(os.environ).parent.parent
    env = {"PATH": os.defpath, "HOME": str(state), "XDG_STATE_HOME": str(state)}
    return subprocess.Popen(
        [sys.executable, "-m", "trimtab.cli", *arguments],
        env={**env, "XDG_CACHE_HOME": str(engines), "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # whoever started the tests in the background has made them ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[RunningLab]:
    """The lab that the commands make; stopped at the end even if a test fails."""
    lab = RunningLab(Home(tmp_path / "trimtab"), "default", ())
    yield lab
    lab.down()


def finished(command: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = command.communicate(timeout=LIMIT_S)
    return command.returncode, out, err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(
            "#!/bin/sh\necho cannot find my library >&2; exit 4\n", "exit status 4", id="exits"
        ),
        pytest.param("this is no program", "Exec format error", id="is no program"),
    ],
)
def test_a_broken_program_is_named_with_its_last_lines(
    tmp_path: Path, content: str, reason: str
) -> None:
    broken = tmp_path / "kube-apiserver"
    broken.write_text(content)
    broken.chmod(0o755)
    means = Means(
        stacks={"none": NONE},
        locate=lambda name: broken if name == broken.name else locate(name),
        port_shift=10_000,
    )
    home = Home(tmp_path / "state")
    with pytest.raises(TrimtabError, match="kube-apiserver: ") as caught:
        up(home, LabRequest(name="test", nodes=1), means, None)
    lab = RunningLab(home, "test", ())
    assert reason in str(caught.value)
    assert "5 times in a row" in str(caught.value)
    assert str(home.lab("test").log("kube-apiserver")) in str(caught.value)
    if "library" in content:
        assert "\n  cannot find my library" in str(caught.value)
    assert lab.status().phase == "stopped"
    assert lab.processes() == {}


FILL = """
import sys
from collections.abc import Iterator
from pathlib import Path
from trimtab.engines import locate
from trimtab.errors import TrimtabError
from trimtab.lab.components.stack import NONE
from trimtab.lab.files.layout import Home
from trimtab.lab.starting.resolve_request import LabRequest
from trimtab.lab.starting.start import Means, up
import trimtab.lab.starting.start as module

means = Means(stacks={"none": NONE}, locate=locate, port_shift=20_000)
for needed in (module.NEEDED_DISK, 0):
    module.NEEDED_DISK = needed
    try:
        up(Home(Path(sys.argv[1])), LabRequest(name="test", nodes=1), means, None)
    except TrimtabError as error:
        print(f"<<{error}>>")
"""


def a_small_disk() -> list[str]:
    """A command prefix that gives its command a mount namespace of its own."""
    for prefix in (["unshare", "-m"], ["unshare", "-rm"]):
        probe = [*prefix, "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"]
        try:
            if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
                return prefix
        except FileNotFoundError:
            break
    pytest.skip("no mount namespaces for this user: a full disk cannot be made here")


def test_a_full_disk_is_told_before_and_after_the_start(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=40m none "{disk}" && exec "$@"'
    command = [*a_small_disk(), "sh", "-c", script, "sh", sys.executable, "-c", FILL, str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    early, late = done.stdout.strip().removeprefix("<<").removesuffix(">>").split(">>\n<<")
    assert early == (
        f"the disk of {disk} has 40 MB left, a lab needs 300; make room there or set XDG_STATE_HOME"
    )
    assert late.startswith("etcd: ")
    assert (
        f"the disk of {disk}/labs/test is full: make room, then: trimtab lab up --name test" in late
    )
    assert "no space left on device" in late


RECOVER = """
import sys, time
from pathlib import Path
from subprocess import run
from trimtab.engines import locate
from trimtab.lab.components.stack import NONE
from trimtab.lab.files.layout import Home
from trimtab.lab.inspection import look
from trimtab.lab.starting.resolve_request import LabRequest
from trimtab.lab.starting.start import Means, up
from trimtab.lab.stop import down

home, request = Home(Path(sys.argv[1])), LabRequest(name="test", nodes=1)
means = Means(stacks={"none": NONE}, locate=locate, port_shift=21_000, report=print)
lab = home.lab("test")

def create(number):
    command = [locate("kubectl"), "create", "configmap", f"c{number}", "--request-timeout=5s"]
    big = "--from-literal=big=" + "x" * 100_000
    run([*command, big, f"--kubeconfig={lab.kubeconfig}"], capture_output=True, check=False)

def until(holds, number=0):
    deadline = time.monotonic() + 240
    while not holds():
        assert time.monotonic() < deadline, look(lab)
        create(number := number + 1)
        time.sleep(0.2)

def filled():
    try:
        with (home.path / "filler").open("ab") as file:
            while True:
                file.write(bytes(2**20))
                file.flush()
    except OSError:
        pass
    return any(unit.state == "gave-up" for unit in look(lab).units)

try:
    up(home, request, means, None)
    until(filled)
    (home.path / "filler").unlink()
    print(up(home, request, means, None)[0])
    until(lambda: not look(lab).warnings)
    print(look(lab).phase)
finally:
    down(lab)
"""


@pytest.mark.full
def test_after_a_full_disk_up_is_the_way_back(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f'mount -t tmpfs -o size=420m none "{disk}" && exec "$@"'
    command = [*a_small_disk(), "sh", "-c", script, "sh", sys.executable, "-c", RECOVER, str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    *_, outcome, phase = done.stdout.split("\n")[:-1]
    assert (outcome, phase) == ("repaired", "ready")
    assert "had been given up; it is tried again" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_during_up_leaves_nothing_running(
    tmp_path: Path, lab: RunningLab, number: signal.Signals
) -> None:
    command = trimtab(tmp_path, "lab", "up", "--with", "none", "--nodes", "1")
    wait_until(lambda: "kube-apiserver" in lab.processes(), "the API server did not start")
    command.send_signal(number)
    code, _, err = finished(command)
    assert code == 130
    assert err.endswith("trimtab: interrupted\n")
    assert lab.left_over() == []
    assert lab.status().phase == "stopped"


def test_a_start_that_is_interrupted_at_once_leaves_no_supervisor(tmp_path: Path) -> None:
    from trimtab.lab.starting.launch import launching

    lab = Home(tmp_path).lab("test")
    lab.logs.mkdir(parents=True)
    started: list[ProcessId] = []

    def interrupted() -> None:
        with launching(lab) as launch:
            assert launch.process is not None
            started.append(launch.process)
            assert is_alive(launch.process)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not is_alive(*started)


def test_the_foreground_shows_what_happens_and_stops_on_ctrl_c(
    tmp_path: Path, lab: RunningLab
) -> None:
    command = trimtab(tmp_path, "lab", "up", "--with", "none", "--nodes", "1", "--foreground")
    wait_until(lambda: "supervisor" in lab.processes(), "no supervisor")
    lab.await_ready()
    assert lab.processes()["supervisor"].pid == command.pid
    code, _, err = finished(trimtab(tmp_path, "lab", "up"))
    assert code == 0
    assert "is running already; nothing was changed" in err
    command.send_signal(signal.SIGINT)
    code, _, err = finished(command)
    assert code == 0
    assert "kube-apiserver ready" in err
    assert lab.left_over() == []


@pytest.mark.usefixtures("lab")
def test_the_commands_tell_and_refuse(tmp_path: Path) -> None:
    code, _, err = finished(trimtab(tmp_path, "lab", "up", "--with", "magic"))
    assert code == 2
    assert err.startswith('trimtab: --with magic: this trimtab has no stack "magic"; it has ')
    assert not (tmp_path / "trimtab" / "labs").exists()
    code, out, err = finished(trimtab(tmp_path, "lab", "up", "--with", "none", "--nodes", "1"))
    assert code == 0
    assert "kube-apiserver  https://127.0.0.1:" in out
    assert err.count("trimtab lab ") == 3
    code, out, _ = finished(trimtab(tmp_path, "lab", "status", "--json"))
    assert (code, msgspec.json.decode(out, type=LabStatus).phase) == (0, "ready")
    code, out, _ = finished(trimtab(tmp_path, "lab", "kubectl", "get", "nodes", "-o", "name"))
    assert out == "node/kwok-node-1\n"
    assert finished(trimtab(tmp_path, "lab", "wipe", "--yes"))[0] == 1
    assert finished(trimtab(tmp_path, "lab", "down"))[0] == 0
    assert finished(trimtab(tmp_path, "lab", "status"))[0] == 1
    assert finished(trimtab(tmp_path, "lab", "wipe"))[0] == 2
    assert finished(trimtab(tmp_path, "lab", "wipe", "--yes"))[0] == 0
    assert finished(trimtab(tmp_path, "lab", "list", "--json"))[1] == "[]\n"
