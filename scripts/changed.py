"""Prints the folders of tests/contract that a change can reach, one a line.

A change is what differs from `main` (or from $BASE), and what is not committed. A folder of tests
is named after a room of src/trimtab or after a folder at the top. A changed module reaches the
rooms of all modules that import it, directly or not; a changed builder the tests that use it.
"""

import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

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


def reached_modules(files: Iterable[str]) -> set[str]:
    """The changed modules and everything that imports them; a module that is gone has nobody."""
    graph = import_graph()
    modules = {module for file in files if (module := module_of(file)) in graph.modules and module}
    above = (graph.find_downstream_modules(module) for module in modules)
    return modules.union(*above)


def users_of_builders(files: Iterable[str]) -> set[str]:
    """Test files that import a changed builder, directly or through other builders."""
    found: set[str] = set()
    asked = {file for file in files if file.startswith(BUILDERS)}
    while asked:
        names = {_imported_as(file) for file in asked}
        using = {path for path, named in builders_in_tests().items() if named & names}
        asked = {file for file in using - found if file.startswith(BUILDERS)}
        found |= using
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


def reached_names(files: set[str]) -> set[str]:
    names = {module.split(".")[1] for module in reached_modules(files) if "." in module}
    names |= {Path(file).parts[0] for file in files}
    for file in files | users_of_builders(files):
        if file.startswith("tests/contract/"):
            names.add(Path(file).parts[2])
    return names | {WRITES[name] for name in names if name in WRITES}


def main() -> None:
    files = changed_files()
    folders = {path.name: path for path in CONTRACT.iterdir() if path.is_dir()}
    everything = any(file.startswith(EVERYTHING) for file in files)
    names = set(folders) if everything else reached_names(files)
    for name in sorted(names & folders.keys()):
        print(folders[name].relative_to(ROOT))


if __name__ == "__main__":
    main()
