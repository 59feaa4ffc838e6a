"""`trimtab doctor`: every check has a way to fail, and every failure a way out."""

import socket
from pathlib import Path

import msgspec
import pytest

from trimtab.cli.setup import doctor_probes as probes
from trimtab.cli.setup.doctor import doctor
from trimtab.cli.setup.doctor_probes import (
    BUILD_BYTES,
    GB,
    PORTS,
    CheckOutcome,
    check_browser,
    check_disk,
    check_engines,
    check_go,
    check_limits,
    check_memory,
    check_ports,
    check_python,
    check_state,
    check_system,
    findings,
    state_fault,
)
from trimtab.lab.ports import is_free

CACHE = Path("/c")


@pytest.mark.parametrize(
    "finding",
    [
        pytest.param(check_system("linux"), id="Linux"),
        pytest.param(check_python((3, 11, 0)), id="the oldest Python that will do"),
        pytest.param(check_go("go1.26.8 at /go", (), True, 9), id="a Go"),
        pytest.param(check_go(None, (), True, 9), id="no Go, but pip can fetch one"),
        pytest.param(check_go(None, (), False, 0), id="no Go, and nothing to build"),
        pytest.param(check_engines(9, 9), id="all engines"),
        pytest.param(
            check_disk("cache disk", CACHE, BUILD_BYTES, BUILD_BYTES), id="just enough disk"
        ),
        pytest.param(check_memory(2 * GB), id="just enough memory"),
        pytest.param(check_ports({}), id="all ports free"),
        pytest.param(check_limits(4096, 128), id="usual limits"),
        pytest.param(check_state(CACHE, None, 107), id="the longest path of a socket"),
        pytest.param(check_browser("/usr/bin/chromium"), id="a browser"),
    ],
)
def test_what_is_well_needs_no_action(finding: CheckOutcome) -> None:
    assert (finding.state, finding.fix) == ("ok", "")


@pytest.mark.parametrize(
    ("finding", "state", "fix"),
    [
        pytest.param(check_system("darwin"), "FAIL", "use a Linux computer", id="not Linux"),
        pytest.param(check_python((3, 10, 9)), "FAIL", "install Python 3.11", id="old Python"),
        pytest.param(
            check_go(None, ("/usr/bin/go is go1.22.2",), False, 1),
            "FAIL",
            "install Go from https://go.dev/dl, or pip",
            id="an old Go and no pip",
        ),
        pytest.param(
            check_engines(3, 9), "warn", "run: trimtab engines build", id="engines missing"
        ),
        pytest.param(
            check_disk("cache disk", CACHE, 1.5 * GB, 6 * GB),
            "FAIL",
            "free 4.5 GB, or point XDG_CACHE_HOME",
            id="cache disk full",
        ),
        pytest.param(
            check_disk("state disk", CACHE, 0, GB),
            "FAIL",
            "free 1.0 GB, or point XDG_STATE_HOME",
            id="state disk full",
        ),
        pytest.param(check_memory(1 * GB), "warn", "close something", id="little memory"),
        pytest.param(
            check_ports({6443: "kube-apiserver (pid 7)"}),
            "warn",
            "nothing: a lab moves",
            id="a port taken",
        ),
        pytest.param(check_limits(1024, 128), "warn", "ulimit -Hn 4096", id="few open files"),
        pytest.param(
            check_limits(4096, 8), "warn", "sysctl fs.inotify.max_user_instances", id="few watches"
        ),
        pytest.param(check_state(CACHE, "read-only", 50), "FAIL", "XDG_STATE_HOME", id="no locks"),
        pytest.param(check_state(CACHE, None, 108), "FAIL", "a shorter path", id="path too long"),
        pytest.param(check_browser(None), "warn", "install chromium", id="no browser"),
    ],
)
def test_what_is_not_well_comes_with_what_to_do(
    finding: CheckOutcome, state: str, fix: str
) -> None:
    assert finding.state == state
    assert fix in finding.fix
    assert finding.says


def test_locks_and_sockets_are_really_tried_and_leave_nothing(tmp_path: Path) -> None:
    assert state_fault(tmp_path / "not" / "there" / "yet") is None
    assert list(tmp_path.iterdir()) == []


def test_a_place_without_files_is_found_out() -> None:
    assert state_fault(Path("/proc/trimtab")) is not None


def test_a_taken_port_is_named_with_its_holder() -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port = next(port for port in PORTS if is_free("127.0.0.1", port))
        listener.bind(("127.0.0.1", port))
        listener.listen(1)
        (found,) = [each for each in findings() if each.check == "ports"]
    assert found.state == "warn"
    assert f"{port} ({PORTS[port]}) by " in found.says


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without engines, whose labs would be kept below tmp_path."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "/tmp")
    return tmp_path


def test_the_exit_code_counts_failures_and_not_warnings(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(probes, "_free", lambda place: 10 * GB)
    assert doctor() == 0
    assert "warn  engines     0 of 9 built\n" in capsys.readouterr().out
    monkeypatch.setattr(probes, "_free", lambda place: 0.5 * GB)
    assert doctor() == 1
    assert "FAIL  cache disk  0.5 GB free" in capsys.readouterr().out


def test_json_has_the_same_findings(
    elsewhere: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    doctor(json=True)
    found = msgspec.json.decode(capfdbinary.readouterr().out, type=list[CheckOutcome])
    assert [each.check for each in found] == [each.check for each in findings()]


def test_elsewhere_than_on_linux_only_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert [each.state for each in findings()] == ["FAIL", "ok"]
