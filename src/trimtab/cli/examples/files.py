"""The examples that come with the package, by the names that the documents use.

`one-hot-node`, `one-hot-node.yaml` and `examples/scenarios/one-hot-node.yaml` are all the same
file, also where no clone of the repository is at hand. A file of the caller's always wins.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]
_SUFFIXES = ("", ".yaml", ".json")


def folder() -> Path:
    """Where the examples are: in the clone, or in the installed package."""
    checkout = _PACKAGE.parents[1] / "examples"
    return checkout if (checkout / "scenarios").is_dir() else _PACKAGE / "_examples"


def example_or_file(given: str, *kinds: str) -> str:
    """The path of the example that is meant, or what was given; `file#name` keeps its name.

    `kinds` are the folders that are looked through for a bare name.
    """
    path, mark, part = given.partition("#")
    if not path or Path(path).exists() or path.startswith(("/", ".", "~")):
        return given
    found = _named(path, kinds) if "/" not in path else _documented(path)
    return f"{found}{mark}{part}" if found is not None else given


def example_path(given: Path, *kinds: str) -> Path:
    return Path(example_or_file(str(given), *kinds))


def all_examples() -> list[Path]:
    """Every example, relative to the folder."""
    files = (file for file in folder().rglob("*") if file.is_file())
    return sorted(file.relative_to(folder()) for file in files)


def _named(name: str, kinds: tuple[str, ...]) -> Path | None:
    candidates = (folder() / kind / f"{name}{end}" for kind in kinds for end in _SUFFIXES)
    return next((each for each in candidates if each.is_file()), None)


def _documented(path: str) -> Path | None:
    if not path.startswith("examples/"):
        return None
    found = folder() / path.removeprefix("examples/")
    return found if found.exists() else None
