"""Which cluster a command means: one order for all of them, and it is said."""

import subprocess
import sys
from pathlib import Path

import pytest

from builders.labs.lab import a_lab_on_disk
from trimtab.cli import kubectl
from trimtab.cli.cluster import which
from trimtab.cli.main import app
from trimtab.errors import ConfigError, TrimtabError


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with everything that could be meant: labs, ~/.kube/config, a service account."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TRIMTAB_LAB", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("default", "two"):
        a_lab_on_disk(tmp_path / "state" / "trimtab" / "labs" / name)
    account = tmp_path / "serviceaccount"
    account.mkdir()
    monkeypatch.setattr(which, "SERVICE_ACCOUNT", account)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("{}")
    return tmp_path


def test_the_order_from_the_option_down_to_the_pod(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/a:/b")
    monkeypatch.setenv("TRIMTAB_LAB", "two")
    choose = which.which_cluster
    assert str(choose(kubeconfig=Path("/k"))) == "/k (--kubeconfig)"
    assert str(choose(Path("/k"), "prod")) == "/k, context prod (--kubeconfig)"
    assert str(choose(context="prod")) == "/a, /b, context prod (--context)"
    assert str(choose(lab="default")) == "lab default (--lab)"
    assert str(choose()) == "lab two (TRIMTAB_LAB)"
    monkeypatch.delenv("TRIMTAB_LAB")
    assert str(choose()) == "/a, /b (KUBECONFIG)"
    monkeypatch.delenv("KUBECONFIG")
    assert str(choose()) == "lab default"
    assert str(choose(context="prod")) == f"{world}/.kube/config, context prod (--context)"
    (world / "state" / "trimtab" / "labs" / "default" / "lab.json").unlink()
    assert str(choose()) == f"{world}/.kube/config"
    (world / ".kube" / "config").unlink()
    assert str(choose()) == "the one of this pod"
    which.SERVICE_ACCOUNT.rmdir()
    with pytest.raises(ConfigError, match=r"which cluster\? .*--context.*the labs there are: two"):
        choose()


def test_the_kubeconfig_of_a_lab_is_that_lab(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = world / "state" / "trimtab" / "labs" / "two"
    monkeypatch.setenv("KUBECONFIG", str(lab / "kubeconfig"))
    chosen = which.which_cluster()
    assert chosen.lab is not None
    assert str(chosen) == "lab two (KUBECONFIG)"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kubeconfig": Path("/k"), "lab": "two"}, "--kubeconfig and --lab name two clusters"),
        ({"context": "prod", "lab": "two"}, "--context and --lab name two clusters"),
        ({"lab": "none"}, r'no lab "none" \(there are: default, two\)'),
    ],
)
def test_two_clusters_or_none_are_an_error(
    options: dict[str, object], told: str, world: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        which.which_cluster(**options)  # type: ignore[arg-type]


COMMANDS = (
    ["vm", "list"],
    ["snapshot", "-o", "/dev/null"],
    ["explain", "--live"],
    ["lint", "configmap"],
    ["advisor", "plan"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_follows_it_and_says_which_was_taken(
    command: list[str],
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = world / "admin.conf"
    config.write_text("{}")
    monkeypatch.setenv("KUBECONFIG", str(config))
    with pytest.raises(TrimtabError, match="no current context; name one with --context"):
        app(command, result_action="return_value", exit_on_error=False)
    assert f"cluster: {config} (KUBECONFIG)" in capsys.readouterr().err


def test_the_page_of_a_strange_port_is_never_read(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="lab default has no QoS page; start it with"):
        app(["qos", "top"], result_action="return_value", exit_on_error=False)
    monkeypatch.setenv("KUBECONFIG", "/admin.conf")
    with pytest.raises(ConfigError, match=r"QoS page of /admin.conf .* cannot be reached from"):
        app(["qos", "top"], result_action="return_value", exit_on_error=False)


def test_kubectl_trimtab_means_the_cluster_of_kubectl(tmp_path: Path) -> None:
    usual = tmp_path / ".kube" / "config"
    env = {"HOME": str(tmp_path), "TRIMTAB_LAB": "two"}
    assert kubectl.environment(env, in_pod=True) == {"HOME": str(tmp_path)}
    assert kubectl.environment(env, in_pod=False)["KUBECONFIG"] == str(usual)
    usual.parent.mkdir()
    usual.touch()
    assert kubectl.environment(env, in_pod=True)["KUBECONFIG"] == str(usual)
    assert kubectl.environment(env | {"KUBECONFIG": "/a:/b"}, in_pod=False)["KUBECONFIG"] == "/a:/b"


def test_kubectl_trimtab_helps_with_what_works_on_a_cluster() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "trimtab.cli.kubectl", "--help"], capture_output=True, text=True
    )
    assert told.returncode == 0
    assert told.stdout.startswith("Usage: kubectl trimtab COMMAND")
    assert all(f"  {command} " in told.stdout for command in kubectl.COMMANDS)
