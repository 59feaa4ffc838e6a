"""All tables in a real terminal of 60, 80, 100 and 140 columns: no number is cut."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from builders.programs import shown_views
from builders.programs.ptys import in_terminal
from builders.programs.shown_views import END, VIEWS
from trimtab.view.tables.layout import TEXT_LEAST

WIDTHS = (60, 80, 100, 140)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
_WITH_DIGITS = re.compile(r"\S*\d\S*")


def parts(shown: str) -> dict[str, str]:
    """What each view printed."""
    found: dict[str, str] = {}
    start = 0
    for end in re.finditer(rf"^{END}(.*)$", shown, re.MULTILINE):
        found[end.group(1).strip()] = shown[start : end.start()]
        start = end.end() + 1
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Through a pipe, where there is room for everything."""
    command = [sys.executable, shown_views.__file__, str(tmp_path_factory.mktemp("whole"))]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return parts(done.stdout)


@pytest.mark.parametrize("columns", WIDTHS)
def test_all_tables_in_a_terminal(columns: int, whole: dict[str, str], tmp_path: Path) -> None:
    """No word with a digit may be seen that the whole table does not have."""
    command = [sys.executable, shown_views.__file__, str(tmp_path)]
    narrow = parts(in_terminal(command, columns, environment=ENVIRONMENT))
    assert list(narrow) == list(whole) == list(VIEWS)
    for view, shown in narrow.items():
        assert shown.strip(), view
        assert not cut_words(shown, whole[view]), f"{view}\n{shown}"
        assert max(map(cell_len, shown.splitlines())) <= columns, f"{view}\n{shown}"
    check_watch(narrow["lab watch, 120 nodes"])


def cut_words(shown: str, full: str) -> list[str]:
    known = set(_WITH_DIGITS.findall(full))
    long = [word for word in known if len(word) > TEXT_LEAST]  # may be broken between numbers
    rest = re.sub(r"… and \d+ nodes in between", "", shown)
    found = [word for word in _WITH_DIGITS.findall(rest) if word not in known and "…" not in word]
    return [word for word in found if not any(word in each for each in long)]


def check_watch(shown: str) -> None:
    """More nodes than the terminal has lines: the hottest and the coolest, and the thresholds."""
    assert len(shown.splitlines()) <= 24, shown
    assert "kwok-node-120 " in shown
    assert "kwok-node-1 " in shown
    assert "nodes in between" in shown
    assert "24.4 %" in shown
    assert "1234 Running" in " ".join(shown.split())
