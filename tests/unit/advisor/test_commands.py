"""`trimtab advisor` where it needs no cluster: offline plans, explanations, exit codes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.worlds.openshift import a_cluster, planned, running_with, save_cluster
from trimtab.advisor.api import PlatformStatus, VirtPlatformConfig
from trimtab.advisor.cluster.offline import Directory
from trimtab.advisor.guidance import PHASES, exit_code, told
from trimtab.advisor.mocks.manifests import sample
from trimtab.advisor.plan.diff import has_changes
from trimtab.advisor.plan.summary import summarise
from trimtab.cli.kubectl import arguments
from trimtab.cli.main import app
from trimtab.errors import TrimtabError
from trimtab.kube.resources import Condition
from trimtab.view.services.advisor import coloured


def trimtab(*arguments: str) -> Any:
    return app([*arguments], result_action="return_value", exit_on_error=False)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A cluster as kubectl saves it: one file per kind, objects in lists."""
    save_cluster(tmp_path)
    (tmp_path / "notes.txt").write_text("not a manifest")
    return tmp_path


def test_an_offline_plan_shows_diffs_and_ends_with_two(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trimtab("advisor", "plan", "--manifests", str(saved)) == 2
    out = capsys.readouterr().out
    assert "+  - KubeVirtRelieveAndMigrate" in out
    assert "1 to add, 1 to change, 0 to remove; machines of pool worker reboot" in out


def test_options_of_a_file_are_planned_with(
    saved: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    config = sample()
    config["spec"]["options"]["loadAware"] |= {"mode": "Predictive", "enablePSIMetrics": False}
    file = tmp_path_factory.mktemp("config") / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    where = ("--manifests", str(saved), "--file", str(file))
    assert trimtab("advisor", "plan", *where, "--json") == 2
    plan = json.loads(capsys.readouterr().out)
    (item,) = plan["items"]
    assert item["desiredState"]["spec"]["mode"] == "Predictive"
    assert plan["summary"]["reboots"] == []
    assert plan["planId"]


def test_what_is_as_planned_ends_with_zero(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = running_with(a_cluster("5.32"), "psi=1")
    desired = [item.desired_state for item in planned(cluster).items if item.desired_state]
    (saved / "z-applied.yaml").write_text("\n---\n".join(map(json.dumps, desired)))
    assert trimtab("advisor", "plan", "--manifests", str(saved)) == 0
    assert "no changes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("files", "words"),
    [
        pytest.param({}, "no manifests in it", id="an empty directory"),
        pytest.param({"a.yaml": "{"}, "a.yaml", id="no YAML"),
        pytest.param({"a.yaml": "a: 1"}, "not a Kubernetes object", id="no object"),
        pytest.param(
            {"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}"},
            "missing definitions: kubedeschedulers.operator.openshift.io",
            id="no definitions",
        ),
    ],
)
def test_errors_are_one_line_and_never_mean_changes(
    tmp_path: Path, files: dict[str, str], words: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(TrimtabError, match=words) as error:
        trimtab("advisor", "plan", "--manifests", str(tmp_path))
    assert error.value.exit_code == 1
    assert "\n" not in str(error.value)


def test_diffs_are_patches(tmp_path: Path) -> None:
    """`patch` takes a diff and makes of the object before the object after."""
    item = planned(a_cluster()).items[-1]
    assert has_changes(item.diff)
    before = "".join(f"{line[1:]}\n" for line in item.diff.splitlines()[3:] if line[0] != "+")
    after = "".join(f"{line[1:]}\n" for line in item.diff.splitlines()[3:] if line[0] != "-")
    skipped = int(item.diff.splitlines()[2].split("-")[1].split(",")[0]) - 1
    file = tmp_path / "object.yaml"
    file.write_text("x\n" * skipped + before)
    command = ["patch", str(file)]
    subprocess.run(command, input=item.diff, text=True, check=True, capture_output=True)
    assert file.read_text() == "x\n" * skipped + after


def test_a_summary_counts_what_changes() -> None:
    plan = planned(a_cluster())
    summary = summarise(plan.items)
    assert (summary.add, summary.change, summary.remove) == (1, 1, 0)
    assert summary.reboots == ("worker",)
    assert str(summarise(())) == "no changes"


def test_colours_do_not_change_a_diff() -> None:
    diff = planned(a_cluster()).items[-1].diff
    text = coloured(diff)
    assert text.plain == diff
    styles = {str(span.style) for span in text.spans}
    assert {"green", "red", "cyan", "bold"} <= styles


def a_config(phase: str) -> VirtPlatformConfig:
    true = Condition(type=phase, status="True", message="because")
    status = PlatformStatus(phase=phase, conditions=(true,))  # type: ignore[arg-type]
    return VirtPlatformConfig(status=status)


@pytest.mark.parametrize(
    ("phase", "pending", "code"),
    [
        ("Completed", False, 0),
        ("Ignored", False, 0),
        ("RolledBack", False, 0),
        ("ReviewRequired", True, 2),
        ("Drifted", True, 2),
        ("CompletedWithUpgrade", False, 2),
        ("InProgress", True, 2),
        ("Failed", True, 1),
        ("PrerequisiteFailed", False, 1),
        ("CompletedWithErrors", False, 1),
    ],
)
def test_exit_codes_tell_a_script_what_to_do(phase: str, pending: bool, code: int) -> None:
    assert exit_code(a_config(phase), pending) == code
    assert told(a_config(phase)) == "because"


def test_every_phase_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    from typing import get_args

    from trimtab.advisor.api import Phase

    assert set(PHASES) == set(get_args(Phase))
    trimtab("advisor", "explain", "drifted")
    assert "Somebody changed what the plan had set" in capsys.readouterr().out


def test_a_profile_is_explained_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    trimtab("advisor", "explain", "load-aware-rebalancing")
    out = capsys.readouterr().out
    assert "options.loadAware.mode" in out
    assert "Predictive only simulates" in out
    trimtab("advisor", "explain", "virt-higher-density")
    assert "options.virtHigherDensity.ksmConfiguration.enabled" in capsys.readouterr().out
    trimtab("advisor", "explain")
    assert "example-profile" in capsys.readouterr().out


def test_nobody_is_explained_by_name() -> None:
    with pytest.raises(TrimtabError, match="neither a profile nor a phase"):
        trimtab("advisor", "explain", "nobody")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(["plan"], ["advisor", "plan"], id="a command alone"),
        pytest.param(["advisor", "diff"], ["advisor", "diff"], id="with its group"),
        pytest.param(["explain"], ["advisor", "explain"], id="what a profile or a phase means"),
        pytest.param(["explain", "--live"], ["explain", "--live"], id="the cluster's evictions"),
        pytest.param(["explain", "now.yaml"], ["explain", "now.yaml"], id="a snapshot's evictions"),
        pytest.param(["scores", "list"], ["scores", "list"], id="another group"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_kubectl_trimtab_has_the_advisors_commands_without_its_name(
    given: list[str], expected: list[str]
) -> None:
    assert arguments(given) == expected


def test_a_directory_tells_absence_but_not_of_namespaces_it_never_saved() -> None:
    cluster = a_cluster()
    kinds = [ref for ref in cluster.objects if ref.kind == "Namespace"]
    without = {ref: obj for ref, obj in cluster.objects.items() if ref not in kinds}
    assert len(planned(Directory(without, cluster.crds)).items) == 2
