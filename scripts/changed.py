"""Prints the folders of tests/contract that a change can reach, one a line.

A change is what differs from `main` (or from $BASE), and what is not committed. A folder of tests
is named after a room of src/trimtab or after a folder at the top. A changed module reaches the
rooms of all modules that import it, directly or not; a changed builder the tests that use it.

A change at the bottom of the layers reaches nearly everything, and nobody waits for six minutes
while working. So the folders of the changed rooms are printed always, and of the others those that
fit into `BUDGET_S`, the nearest by imports first. Who is left out is said on stderr.

    scripts/changed.py                      print the folders
    scripts/changed.py --learn REPORT.xml   keep how long the tests of a JUnit report took
"""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import grimp

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".import_linter_cache" / "changed"
"""Not the linter's own, which would take a file for known after we have seen its new imports."""
CONTRACT = ROOT / "tests" / "contract"
WRITES = {"install": "k8s", "docs": "k8s", "setup-kind-env.sh": "k8s", "examples": "study"}
"""Whose output, or whose examples, the tests of another name check."""
BUILDERS = ("tests/builders/", "conformance/")
BUILDER = re.compile(r"\b(?:builders|conformance)(?:\.\w+)*")
EVERYTHING = ("requirements", "pyproject.toml", "tests/conftest.py", "tests/contract/conftest.py")
BUDGET_S = 120.0
"""Of tests' time: two run at a time, so that is a minute of the two that `make quick` may take."""
LEARNED = ROOT / ".venv" / "contract-seconds.json"
"""Seconds by folder as they were on this machine, the last time that the folder was run."""
A_TEST_S = 1.6
"""A test of a folder that was never run here: the mean of tests/contract, two at a time."""
TEST = re.compile(r"^(?:async )?def test_", re.MULTILINE)


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files() -> set[str]:
    base = os.environ.get("BASE", "main")
    fork = git("merge-base", "HEAD", base) or ["HEAD"]
    return {
        *git("diff", "--name-only", fork[0]),
        *git("ls-files", "--others", "--exclude-standard"),
    }


def module_of(file: str) -> str | None:
    if not (file.startswith("src/") and file.endswith(".py")):
        return None
    return ".".join(Path(file).relative_to("src").with_suffix("").parts).removesuffix(".__init__")


@cache
def import_graph() -> grimp.ImportGraph:
    return grimp.build_graph("trimtab", cache_dir=str(CACHE))


def distances_of_rooms(files: Iterable[str]) -> dict[str, int]:
    """By room: how many imports lead to the nearest changed module. One that is gone has nobody."""
    graph = import_graph()
    found: dict[str, int] = {}
    level = {module for file in files if (module := module_of(file)) in graph.modules and module}
    seen = set(level)
    distance = 0
    while level:
        for module in level:
            if "." in module:
                found.setdefault(module.split(".")[1], distance)
        importers = (graph.find_modules_that_directly_import(module) for module in level)
        level = set().union(*importers) - seen
        seen |= level
        distance += 1
    return found


def distances_of_users(files: Iterable[str]) -> dict[str, int]:
    """By test file that imports a changed builder: directly (1), or through other builders."""
    found: dict[str, int] = {}
    asked = {file for file in files if file.startswith(BUILDERS)}
    distance = 1
    while asked:
        names = {_imported_as(file) for file in asked}
        using = {path for path, named in builders_in_tests().items() if named & names}
        asked = {file for file in using - found.keys() if file.startswith(BUILDERS)}
        found |= dict.fromkeys(using - found.keys(), distance)
        distance += 1
    return found


@cache
def builders_in_tests() -> dict[str, set[str]]:
    """By file of tests: the modules of builders that it names, and their packages."""
    paths = [path for folder in ("tests", "conformance") for path in (ROOT / folder).rglob("*.py")]
    return {str(path.relative_to(ROOT)): _builders_in(path.read_text()) for path in paths}


def _builders_in(text: str) -> set[str]:
    found: set[str] = set()
    for name in set(BUILDER.findall(text)):
        parts = name.split(".")
        found |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return found


def _imported_as(file: str) -> str:
    """tests/builders/labs/lab.py is builders.labs.lab; conformance is at the top."""
    return ".".join(Path(file.removeprefix("tests/")).with_suffix("").parts)


def distances(files: set[str]) -> dict[str, int]:
    """How far the change is from each room and each folder at the top that it can reach."""
    found = distances_of_rooms(files)
    found |= {Path(file).parts[0]: 0 for file in files}
    for file, distance in (dict.fromkeys(files, 0) | distances_of_users(files)).items():
        if file.startswith("tests/contract/"):
            name = Path(file).parts[2]
            found[name] = min(distance, found.get(name, distance))
    for writer, name in WRITES.items():
        if writer in found:
            found[name] = min(found[writer] + 1, found.get(name, found[writer] + 1))
    return found


def affordable(
    distances: Mapping[str, int], seconds: Mapping[str, float], budget_s: float = BUDGET_S
) -> set[str]:
    """What has changed itself, always; then the nearest, and of those alike the shortest first."""
    chosen = {name for name, distance in distances.items() if distance == 0}
    left_s = budget_s - sum(seconds[name] for name in chosen)
    for name in sorted(distances.keys() - chosen, key=lambda n: (distances[n], seconds[n], n)):
        if seconds[name] <= left_s:
            chosen.add(name)
            left_s -= seconds[name]
    return chosen


def seconds_of(folder: Path) -> float:
    """How long its tests took here; if they never ran, by their number."""
    learned = json.loads(LEARNED.read_text()) if LEARNED.exists() else {}
    if folder.name in learned:
        return float(learned[folder.name])
    return A_TEST_S * sum(len(TEST.findall(file.read_text())) for file in folder.rglob("test_*.py"))


def learn(report: Path) -> None:
    """Keep the seconds of all folders of tests/contract in a JUnit report; others stay."""
    took: dict[str, float] = defaultdict(float)
    for test in ElementTree.parse(report).getroot().iter("testcase"):
        tests, tier, folder, *_ = [*test.get("classname", "").split("."), "", "", ""]
        if (tests, tier) == ("tests", "contract"):
            took[folder] += float(test.get("time", 0))
    known = json.loads(LEARNED.read_text()) if LEARNED.exists() else {}
    known |= {folder: round(seconds, 1) for folder, seconds in took.items()}
    LEARNED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def main() -> None:
    if sys.argv[1:2] == ["--learn"]:
        learn(Path(sys.argv[2]))
        return
    files = changed_files()
    folders = {path.name: path for path in CONTRACT.iterdir() if any(path.glob("**/test_*.py"))}
    reached = {name: distance for name, distance in distances(files).items() if name in folders}
    if any(file.startswith(EVERYTHING) for file in files):
        reached = {name: reached.get(name, 1) for name in folders}
    seconds = {name: seconds_of(folders[name]) for name in reached}
    chosen = affordable(reached, seconds)
    for name in sorted(chosen):
        print(folders[name].relative_to(ROOT))
    if left := sorted(reached.keys() - chosen):
        named = ", ".join(f"{name} ({seconds[name]:.0f} s)" for name in left)
        print(f"reached, but left to `make test`: {named}", file=sys.stderr)


if __name__ == "__main__":
    main()
