"""Which tests stay together on one worker of xdist: those that share a lab or an API server.

A directory with a conftest.py shares what that starts, in fixtures of scope `package`, and goes to
one worker as a whole; elsewhere every file stands for itself. What takes longest goes first, so
that nobody waits for it at the end.
"""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling


class SharedDirectory(pytest.Package):
    """A directory whose fixtures of scope `package` end with its last test.

    Those of scope `session` would run on until the worker ends, and an idle lab takes a sixth of a
    core. pytest takes a directory for a package by its __init__.py; ours have none.
    """

    def setup(self) -> None:
        """There is no module to import."""


def shared_directory(path: Path, parent: pytest.Collector) -> SharedDirectory | None:
    """The hook `pytest_collect_directory` of a tier."""
    if not (path / "conftest.py").exists():
        return None
    found: SharedDirectory = SharedDirectory.from_parent(parent, path=path)
    return found


class BySharing(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out directories and files, in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(nodeid.partition("::")[0])
        shares = (Path(self.config.rootpath) / file.parent / "conftest.py").exists()
        return str(file.parent if shares else file)


def scheduler(config: pytest.Config, log: Any) -> BySharing:
    return BySharing(config, log)


def put_first(items: list[pytest.Item], tier: Path, longest: Sequence[str]) -> None:
    """Sort the items of `tier` so that files and directories named in `longest` come first.

    A directory counts wherever it is on the way to the file: `levelling` means `stacks/levelling`.
    """

    def turn(item: pytest.Item) -> int:
        names = (*item.path.parent.relative_to(tier).parts, item.path.stem)
        return min((longest.index(n) for n in names if n in longest), default=len(longest))

    ours = iter(sorted((item for item in items if tier in item.path.parents), key=turn))
    items[:] = [next(ours) if tier in item.path.parents else item for item in items]
