"""The examples that come with the package, by the names that the documents use.

`one-hot-node`, `one-hot-node.yaml` and `examples/scenarios/one-hot-node.yaml` are all the same
file, also where no clone of the repository is at hand. A file of the caller's always wins.
"""

import re
from pathlib import Path

from trimtab.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parents[1]
_SUFFIXES = ("", ".yaml", ".json")
_FORMER_NAMES = {"seed-sample": "classic-sample"}


def folder() -> Path:
    """Where the examples are: in the clone, or in the installed package."""
    checkout = _PACKAGE.parents[1] / "examples"
    return checkout if (checkout / "scenarios").is_dir() else _PACKAGE / "_examples"


def example_or_file(given: str, *kinds: str) -> str:
    """The path of the example that is meant, or what was given; `file#name` keeps its name.

    `kinds` are the folders that are looked through for a bare name.
    """
    path = given.partition("#")[0]
    return given if not path or Path(path).exists() else _example(given, kinds) or given


def file_or_example(beside: Path, given: str, *kinds: str) -> str:
    """What a file in the directory `beside` names: a path relative to it, else an example."""
    path = beside / given
    if path.exists() or (beside / given.partition("#")[0]).exists():
        return str(path)
    return _example(given, kinds) or str(path)


def example_path(given: Path, *kinds: str) -> Path:
    return Path(example_or_file(str(given), *kinds))


def all_examples() -> list[Path]:
    """Every example, relative to the folder."""
    files = (file for file in folder().rglob("*") if file.is_file())
    return sorted(file.relative_to(folder()) for file in files)


def demo_study() -> Path:
    """The study file of `trimtab study demo`."""
    file = folder() / "studies" / "demo.yaml"
    if file.is_file():
        return file
    raise ConfigError(
        "the examples are not part of this installation; "
        "run the demo in a clone of the repository: make demo"
    )


def _example(given: str, kinds: tuple[str, ...]) -> str | None:
    path, mark, part = given.partition("#")
    if path.startswith(("/", ".", "~")):
        return None
    found = _named(path, kinds) if "/" not in path else _documented(path)
    return f"{found}{mark}{part}" if found is not None else None


def _named(name: str, kinds: tuple[str, ...]) -> Path | None:
    name = _today(name)
    candidates = (folder() / kind / f"{name}{end}" for kind in kinds for end in _SUFFIXES)
    return next((each for each in candidates if each.is_file()), None)


def _documented(path: str) -> Path | None:
    if not path.startswith("examples/"):
        return None
    found = folder() / _today(path.removeprefix("examples/"))
    return found if found.exists() else None


def _today(path: str) -> str:
    """An example under the name that it has now; its former name goes on working."""
    for former, name in _FORMER_NAMES.items():
        path = re.sub(rf"(^|/){former}(?=\.|$)", rf"\g<1>{name}", path)
    return path
