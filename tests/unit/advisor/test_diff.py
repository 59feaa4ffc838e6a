"""Diffs: what they leave out, what they mask, and that `patch` accepts them."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from trimtab.advisor.api import TargetRef
from trimtab.advisor.plan.diff import (
    LAST_APPLIED,
    MOST,
    NO_CHANGES,
    NOISE,
    creates,
    has_changes,
    object_diff,
    sanitised,
    sorted_yaml,
)

REF = TargetRef(api_version="d/v1", kind="KubeDescheduler", name="cluster", namespace="n")
BARE = TargetRef(api_version="m/v1", kind="MachineConfig", name="psi")


def an_object(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "d/v1",
        "kind": "KubeDescheduler",
        "metadata": {"name": "cluster"},
        "spec": spec,
    }


def test_what_the_server_keeps_for_itself_is_left_out() -> None:
    noisy = an_object(mode="a") | {"status": {"x": 1}}
    noisy["metadata"] |= dict.fromkeys(NOISE, "x") | {"labels": {"l": "v"}}
    noisy["metadata"]["annotations"] = {LAST_APPLIED: "{}"}
    clean = an_object(mode="a")
    clean["metadata"]["labels"] = {"l": "v"}
    assert sanitised(noisy) == clean
    assert sanitised(clean) == clean


@pytest.mark.parametrize("ref", [REF, BARE], ids=["namespaced", "cluster-scoped"])
def test_a_creation_counts_its_lines_and_keeps_empty_ones(ref: TargetRef) -> None:
    text = "first\n\nthird\n"
    diff = object_diff(ref, None, an_object(script=text))
    lines = diff.splitlines()
    assert lines[0] == "--- /dev/null"
    assert lines[1] == f"+++ {ref.name} ({ref.kind})"
    assert lines[2] == f"@@ -0,0 +1,{len(lines) - 3} @@"
    assert all(line.startswith("+") for line in lines[3:])
    assert "+" in lines[3:], "the empty line of the block text"
    assert creates(diff)


def test_a_change_shows_before_and_after() -> None:
    diff = object_diff(REF, an_object(mode="Predictive"), an_object(mode="Automatic", new=1))
    assert "-  mode: Predictive\n" in diff
    assert "+  mode: Automatic\n" in diff
    assert "+  new: 1\n" in diff
    assert "@@ " in diff
    assert not diff.endswith("\n \n")


@pytest.mark.parametrize(
    ("diff", "changes"),
    [
        pytest.param("", False, id="empty"),
        pytest.param(object_diff(REF, an_object(), an_object()), False, id="says so"),
        pytest.param("--- a\n+++ a\n", False, id="headers alone"),
        pytest.param("--- a\n+++ a\n@@ -1 +1,2 @@\n x\n+y\n", True, id="added"),
        pytest.param("--- a\n+++ a\n@@ -1,2 +1 @@\n x\n-y\n", True, id="removed"),
        pytest.param("--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n", True, id="replaced"),
        pytest.param("--- a\n+++ a\n@@ -1 +0,0 @@\n--- x\n", True, id="looks like a header"),
    ],
)
def test_whether_a_diff_changes_anything(diff: str, changes: bool) -> None:
    assert has_changes(diff) is changes


def test_equal_objects_say_so() -> None:
    assert NO_CHANGES in object_diff(REF, an_object(a=1), an_object(a=1))


def test_secrets_show_that_they_change_and_not_to_what() -> None:
    ref = TargetRef(api_version="v1", kind="Secret", name="s", namespace="n")
    before = {"kind": "Secret", "data": {"a": "b2xk", "same": "c2FtZQ=="}}
    after = {"kind": "Secret", "data": {"a": "bmV3", "same": "c2FtZQ=="}}
    diff = object_diff(ref, before, after)
    assert has_changes(diff)
    for value in ("b2xk", "bmV3", "c2FtZQ=="):
        assert value not in diff


_text = st.text(
    st.characters(codec="ascii", exclude_categories=["Cc"]) | st.just("\n"), max_size=20
)
_spec = st.dictionaries(st.sampled_from("abcdef"), _text | st.integers(0, 9), max_size=5)


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program patch is not installed")
@settings(max_examples=examples(8))
@given(before=st.none() | _spec, after=_spec)
def test_every_diff_is_a_patch(before: dict[str, Any] | None, after: dict[str, Any]) -> None:
    old = None if before is None else an_object(**before)
    new = an_object(**after)
    diff = object_diff(REF, old, new)
    if not has_changes(diff):
        return
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "object"
        file.write_text("" if old is None else sorted_yaml(old))
        done = subprocess.run(
            ["patch", "-s", str(file)], input=diff, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr + diff
        assert file.read_text() == sorted_yaml(new)


def test_a_huge_diff_is_cut_at_a_line_and_says_so() -> None:
    huge = an_object(**{f"k{number:05}": "x" * 60 for number in range(2000)})
    diff = object_diff(REF, None, huge)
    assert len(diff) < MOST + 100
    assert diff.endswith("more lines, see desiredState\n")
    assert has_changes(diff)
