"""What `lab up --with advisor` adds to a lab, on paper, and what its options mean."""

from pathlib import Path

import msgspec
import pytest

from builders.labs.lab import a_lab_on_disk, a_spec
from trimtab.advisor.mocks.kube_descheduler import PROFILES, RELEASES, Release
from trimtab.cli.lab.stacks.advisor import stack_for
from trimtab.errors import ConfigError
from trimtab.lab.components.component import Component
from trimtab.lab.components.control_plane import PORTS as CONTROL_PLANE
from trimtab.lab.components.stack import Lab
from trimtab.lab.files.layout import Home
from trimtab.lab.plan import OBJECTS_FILE, Blueprint, draw
from trimtab.lab.spec import LabClock
from trimtab.stacks.advisor.stack import (
    PORTS,
    STACK,
    AdvisorStackSettings,
    advisor_stack,
    from_lab,
    lab_baseline,
)


def a_blueprint(path: Path, settings: AdvisorStackSettings, *, scale: int = 10) -> Blueprint:
    spec = a_spec(ports=CONTROL_PLANE | PORTS, clock=LabClock(0.0, scale))
    lab = Lab(path, spec, lambda program: Path("/engines") / program)
    return draw(lab, (advisor_stack(settings),), None)


def components(blueprint: Blueprint) -> dict[str, Component]:
    return {component.name: component for component in blueprint.plan.components}


def test_the_operator_runs_beside_one_that_plays_openshifts(tmp_path: Path) -> None:
    parts = components(a_blueprint(tmp_path, AdvisorStackSettings()))
    assert "--reboot=2s" in parts["machine-config-operator"].argv
    assert "--kubeconfig=pki/advisor.kubeconfig" in parts["advisor"].argv
    assert "descheduler" not in parts


def test_without_the_operator_everything_else_is_there(tmp_path: Path) -> None:
    blueprint = a_blueprint(tmp_path, AdvisorStackSettings(operator=False))
    assert "advisor" not in components(blueprint)
    assert "virtplatformconfigs.advisor.kubevirt.io" in blueprint.files[OBJECTS_FILE]


@pytest.mark.parametrize("release", RELEASES)
def test_a_lab_has_the_definitions_of_its_release(tmp_path: Path, release: Release) -> None:
    files = a_blueprint(tmp_path, AdvisorStackSettings(release=release)).files
    objects = msgspec.json.decode(files[OBJECTS_FILE])
    crd = next(o for o in objects if o["metadata"]["name"].startswith("kubedeschedulers"))
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert tuple(spec["properties"]["profiles"]["items"]["enum"]) == PROFILES[release]


def test_what_people_change_is_not_applied_again_when_a_lab_is_resumed(tmp_path: Path) -> None:
    objects = msgspec.json.decode(a_blueprint(tmp_path, AdvisorStackSettings()).files[OBJECTS_FILE])
    kinds = {each["kind"] for each in objects}
    assert not kinds & {"KubeDescheduler", "MachineConfig", "HyperConverged"}
    assert {each["kind"] for each in lab_baseline()} >= {"KubeDescheduler", "HyperConverged"}


def test_settings_are_kept_as_they_were(tmp_path: Path) -> None:
    home = Home(tmp_path)
    kept = AdvisorStackSettings(release="5.14", operator=False)
    a_lab_on_disk(home.lab("x").path, stacks=(STACK,), settings={STACK: msgspec.to_builtins(kept)})
    same = stack_for(home, "x", (STACK,), None, None)
    assert from_lab(dict(same.settings)) == kept
    upgraded = stack_for(home, "x", (STACK,), "5.32", None)
    assert from_lab(dict(upgraded.settings)) == AdvisorStackSettings(release="5.32", operator=False)


@pytest.mark.parametrize(
    ("release", "operator", "words"),
    [
        pytest.param("5.14", None, "--ocp belongs to the advisor", id="a release"),
        pytest.param(None, False, "--operator belongs to the advisor", id="the operator"),
    ],
)
def test_its_options_are_refused_for_other_labs(
    tmp_path: Path, release: Release | None, operator: bool | None, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        stack_for(Home(tmp_path), "x", ("loop",), release, operator)
    assert stack_for(Home(tmp_path), "x", ("loop",), None, None).name == STACK
