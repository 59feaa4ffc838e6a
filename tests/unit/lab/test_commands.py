"""The commands, as far as they need no running lab."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builders.labs.lab import a_lab_on_disk
from trimtab.cli.lab import commands as commands
from trimtab.cli.lab import context, reach, starting
from trimtab.errors import ConfigError
from trimtab.lab.control import LabStatus, UnitEvent, UnitStatus
from trimtab.view.lab import StartDisplay, show_started, show_status


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("TRIMTAB_LAB", raising=False)
    return tmp_path / "trimtab"


def run(*arguments: str) -> Any:
    return commands.app(arguments, result_action="return_value", exit_on_error=False)


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        ("get pods -n kube-system -o json", "get pods -n kube-system -o json"),
        ("run x --image=y -- sleep 3", "run x --image=y -- sleep 3"),
        ("--name two get pods --watch=true", "get pods --watch=true"),
        ("--help", "--help"),
        ("logs -f x --since=3s", "logs -f x --since=3s"),
    ],
)
def test_kubectl_gets_its_arguments_as_they_are(
    given: str, passed_on: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "two" if "--name" in given else "default"
    lab = a_lab_on_disk(state / "labs" / name)
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call))
    monkeypatch.setattr(context, "locate", lambda program: Path("/engines") / program)
    run("kubectl", *given.split())
    ((program, arguments, env),) = calls
    assert program == "/engines/kubectl"
    assert arguments == ["kubectl", *passed_on.split()]
    assert env["KUBECONFIG"] == str(lab.kubeconfig)
    assert Path(env["KUBECACHEDIR"]).parent == lab.path


def test_a_lab_that_is_not_there_is_told_with_those_that_are(state: Path) -> None:
    with pytest.raises(ConfigError, match=r'no lab "default" \(there are none\); make it: trim'):
        run("status")
    a_lab_on_disk(state / "labs" / "one")
    with pytest.raises(ConfigError, match=r'no lab "two" \(there are: one\).*up --name two'):
        run("down", "--name", "two")


def test_wipe_asks_first_and_without_a_terminal_it_needs_yes(state: Path) -> None:
    lab = a_lab_on_disk(state / "labs" / "default")
    with pytest.raises(ConfigError, match="use --yes"):
        run("wipe")
    assert lab.path.exists()
    assert run("wipe", "--yes") == 0
    assert not lab.path.exists()


def test_logs_name_the_logs_there_are(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = a_lab_on_disk(state / "labs" / "default")
    lab.log("etcd").write_text("one\ntwo\n")
    run("logs", "etcd", "-n", "1")
    assert capsys.readouterr().out == "two\n"
    with pytest.raises(ConfigError, match='no log of "kubelet"; it has etcd'):
        run("logs", "kubelet")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: [", "not YAML", id="not YAML"),
        pytest.param("kind: Pod", "expected one document of kind", id="something else"),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            "use kubescheduler.config.k8s.io/v1",
            id="an old version",
        ),
    ],
)
def test_a_wrong_scheduler_configuration_is_refused_before_anything_starts(
    text: str, problem: str, state: Path, tmp_path: Path
) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=problem) as caught:
        run("up", "--scheduler-config", str(file))
    assert str(file) in str(caught.value)
    assert not state.exists()


def test_leaving_the_loopback_is_said_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    starting.warn_of("127.0.0.1")
    starting.warn_of("::1")
    assert capsys.readouterr().err == ""
    starting.warn_of("0.0.0.0")
    assert "where others can reach it" in capsys.readouterr().err


def test_a_start_tells_each_new_state_once(capsys: pytest.CaptureFixture[str]) -> None:
    display = StartDisplay()
    for state, message in (
        ("waiting", "waits for etcd"),
        ("starting", ""),
        ("starting", "connection refused"),
        ("backing-off", "exit status 1"),
        ("ready", ""),
    ):
        display.show(UnitEvent(at=0.0, unit="kwok", state=state, message=message))
    lines = [line.split(" s  ")[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["kwok starting", "kwok backing-off: exit status 1", "kwok ready"]


def test_a_finished_start_shows_endpoints_and_three_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unit = UnitStatus(
        name="kube-apiserver", kind="component", state="ready", since=0.0, url="https://here:1"
    )
    show_started("created", LabStatus(name="x", phase="ready", dir="/labs/x", units=(unit,)))
    shown = capsys.readouterr()
    assert "kube-apiserver  https://here:1" in shown.out
    assert shown.err.count("trimtab lab ") == 3
    assert "--name x" in shown.err


def test_the_page_is_shown_last_with_the_token_that_the_status_itself_never_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki/page-looking.token").write_text("secret")
    unit = UnitStatus(
        name="page", kind="component", state="ready", since=0.0, url="http://127.0.0.1:8080"
    )
    status = LabStatus(name="x", phase="ready", dir=str(tmp_path), units=(unit,))
    show_started("created", status)
    assert capsys.readouterr().err.splitlines()[-1] == "  http://127.0.0.1:8080/#secret"
    show_status(status)
    assert "page: http://127.0.0.1:8080/#secret" in capsys.readouterr().out
    assert b"secret" not in msgspec.json.encode(status)


def test_the_status_shows_the_last_lines_of_what_was_given_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unit = UnitStatus(
        name="etcd",
        kind="component",
        state="gave-up",
        since=0.0,
        message="exit status 1, 5 times in a row",
        last_lines=("no space left on device",),
    )
    show_status(LabStatus(name="x", phase="degraded", dir="/labs/x", units=(unit,)))
    out = capsys.readouterr().out
    assert out.startswith("lab x: degraded\n")
    assert "last lines of etcd:\n  no space left on device\n" in out


@pytest.mark.parametrize(
    ("arguments", "component"),
    [
        pytest.param(("get", "pods", "-l", "app=vm-controller"), "vm-controller", id="by label"),
        pytest.param(("logs", "-lapp=eviction-webhook", "-f"), "webhook", id="logs"),
        pytest.param(("get", "pods", "-l", "app=virt-launcher"), "", id="these are pods"),
    ],
)
def test_who_looks_for_the_pods_of_a_service_is_told_where_it_is(
    arguments: tuple[str, ...], component: str
) -> None:
    note = reach.processes_not_pods(arguments)
    assert note.endswith(f"trimtab lab logs {component}") if component else note == ""
