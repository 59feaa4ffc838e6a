"""docs/reference/acceptance.md: which test proves which point of the advisor's acceptance list.

Read from the `proves` markers without running anything. A point without a test is an error.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = "docs/reference/acceptance.md"
POINTS = (
    *(f"7.{number}" for number in range(1, 162)),
    *(f"B{number}" for number in range(1, 14)),
    *(f"N{number}" for number in range(1, 12)),
)
RESOLVED = tuple(f"M{number}" for number in range(1, 11))
"""Where the user's documents and comparable operators disagree: told if a test proves it."""
_HEAD = """\
# What is proven, and by which test

<!-- Written by `make generate` from the markers in tests/ by scripts/acceptance.py. -->

Each point of the advisor's acceptance list, with the tests that fail if it does not hold.
Numbers with 7 are its behaviour.
B and N are defects of comparable operators, which must not come back.
M are places where documents and operators disagree, and how that was resolved.

| point | tests |
|---|---|
"""


def generate() -> dict[str, str]:
    proven = collected()
    unknown = sorted(proven.keys() - {*POINTS, *RESOLVED})
    assert not unknown, f"markers name points that do not exist: {unknown}"
    assert not missing(), f"no test proves: {missing()}"
    told = [point for point in (*POINTS, *RESOLVED) if point in proven]
    rows = [f"| {point} | {'<br>'.join(proven[point])} |" for point in told]
    return {FILE: _HEAD + "\n".join(rows) + "\n"}


def missing() -> list[str]:
    proven = collected()
    return [point for point in POINTS if point not in proven]


def collected() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for points, test in markers(file):
            said = f"{test.removeprefix('test_').replace('_', ' ')} (`{file.relative_to(ROOT)}`)"
            for point in points:
                found.setdefault(point, []).append(said)
    return found


def markers(file: Path) -> Iterator[tuple[list[str], str]]:
    """The points and the name of every marked test in a file."""
    text = file.read_text()
    if "proves(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if re.search(r"\bproves\(", ast.unparse(decorator)):
                    assert isinstance(decorator, ast.Call)
                    given = [ast.literal_eval(argument) for argument in decorator.args]
                    yield given, node.name


if __name__ == "__main__":
    print("\n".join(missing()) or "every point is proven")
