"""Random scenarios end alike with trimtab's own VMs and with the real KubeVirt.

KubeVirt's side was recorded (`scripts/conformance kubevirt --record`), so ours is played beside
any load; in the full tier KubeVirt itself is played again.
"""

import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from builders.labs.kubevirt import needs_kubevirt
from conformance.kubevirt.compare import Compared
from conformance.kubevirt.course import Course
from conformance.kubevirt.draws import THEMES
from conformance.kubevirt.recording import compared, load, recorded
from conformance.kubevirt.scenario import Scenario

IS_FULL = bool(os.environ.get("TRIMTAB_TEST_FULL"))
COUNT = 150 if IS_FULL else 30
LIVE = 30
ROOT = Path(__file__).parents[3]
SHOWN_BY: dict[str, tuple[Callable[[Scenario, Course], bool], str]] = {
    "the wait does not double": (lambda _, course: course.fates[0].backoff == (0, 1), "backoff"),
    "a protected VM is let go": (lambda _, course: "429 protected" in course.answers, "answer"),
    "one more leaves a node": (lambda scenario, _: _is_a_crowd(scenario), "leaving beyond"),
}
"""Which scenarios show a mistake, and what then differs."""

pytestmark = [pytest.mark.engines, pytest.mark.timeout(3600)]


def play(keep: Path, *arguments: str, ends: int = 0) -> None:
    """Asked to stop, the program takes its labs down before it ends."""
    command = [str(ROOT / "scripts/conformance"), "kubevirt", f"--keep={keep}", *arguments]
    log = keep.parent / "log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            code = process.wait()
        finally:
            process.terminate()
    assert code == ends, log.read_text()


def unexplained(found: Iterable[Compared]) -> dict[str, list[str]]:
    """What nobody knows the reason of, by the scenario's name."""
    told = {each.scenario.name: list(map(str, each.unexplained)) for each in found}
    return {name: differences for name, differences in told.items() if differences}


def themes(found: Iterable[Compared]) -> set[str]:
    return {each.scenario.theme for each in found}


def test_ours_ends_as_the_recorded_kubevirt_or_differs_for_a_known_reason(tmp_path: Path) -> None:
    keep = tmp_path / "played"
    play(keep, "--recorded", f"-n={COUNT}", "-p=30")
    found = compared(load(keep, "ours"), recorded())
    assert unexplained(found) == {}
    assert (len(found), themes(found)) == (COUNT, set(THEMES))


@needs_kubevirt
@pytest.mark.full
def test_kubevirt_itself_still_ends_so(tmp_path: Path) -> None:
    seed = os.environ.get("TRIMTAB_SEED", "2")
    keep = tmp_path / "played"
    play(keep, f"-n={LIVE}", f"--seed={seed}", "-p=10")
    found = compared(load(keep, "ours"), load(keep, "theirs"))
    assert unexplained(found) == {}
    assert (len(found), themes(found)) == (LIVE, set(THEMES))


@pytest.mark.full
def test_wrong_rules_of_ours_are_noticed(tmp_path: Path) -> None:
    """All mistakes at once, in scenarios that show one of them each."""
    theirs, keep = recorded(), tmp_path / "played"
    shown = {
        mistake: next(each for each, course in theirs.items() if shows(each, course))
        for mistake, (shows, _) in SHOWN_BY.items()
    }
    numbers = [str(each.number) for each in shown.values()]
    wrong = [f"--mistake={mistake}" for mistake in shown]
    play(keep, "--recorded", *wrong, "--only", *numbers, ends=1)
    differing = {
        each.scenario: {difference.aspect.name for difference in each.unexplained}
        for each in compared(load(keep, "ours"), theirs)
    }
    for mistake, (_, aspect) in SHOWN_BY.items():
        assert aspect in differing[shown[mistake]], mistake


def _is_a_crowd(scenario: Scenario) -> bool:
    """More VMs leave one node than may at a time, and all of them do."""
    deeds = {step.deed for step in scenario.steps}
    return scenario.theme == "crowds" and len(scenario.machines) > 3 and "delete" not in deeds
