"""Run ids: a hash of all that decides what comes out, so that equal ids mean equal results.

What decides: the scenario's content, score, policy, setting, seed, and the code that turns
them into an outcome. The code counts by its text: a version number alone would serve stale
results to everyone who changes the simulator.
"""

import hashlib
import platform
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from trimtab import __version__
from trimtab.sim.spec import RunSpec

_PACKAGE = Path(__file__).resolve().parents[2]
_DECIDING_ROOMS = ("model", "scores", "policy", "virt", "balance", "sim")


class Versions(Struct, frozen=True):
    """What a result was made with."""

    trimtab: str
    code: str
    """Hash of the rooms that decide an outcome."""
    python: str
    numpy: str
    platform: str


@cache
def versions() -> Versions:
    """Of this installation."""
    return Versions(
        trimtab=__version__,
        code=_code(),
        python=platform.python_version(),
        numpy=np.__version__,
        platform=f"{platform.system().lower()}/{platform.machine()}",
    )


def cell_id(spec: RunSpec, scenario: str, own_score: str | None = None) -> str:
    """The id of a spec with all its seeds.

    `scenario` is the digest of the spec's scenario: hashing a recorded day takes a tenth of a
    second, and a study has many cells on it. `own_score` is the text of a score that is not in
    the catalogue.
    """
    made_by = versions()
    rest = [getattr(spec, field) for field in spec.__struct_fields__ if field != "scenario"]
    return digest([made_by.trimtab, made_by.code, scenario, rest, own_score])


def run_id(cell: str, seed: int) -> str:
    """The id of one run."""
    return digest([cell, seed])


def digest(value: Any) -> str:
    """16 hex digits that change with anything in `value` (structs, arrays, plain data)."""
    data = msgspec.json.encode(value, enc_hook=_array, order="deterministic")
    return hashlib.sha256(data).hexdigest()[:16]


def _array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Sequence):  # the migrations of a run, made when they are read
        return list(value)
    raise TypeError(f"cannot hash a {type(value).__name__}")


def _code() -> str:
    found = hashlib.sha256()
    for room in _DECIDING_ROOMS:
        for path in sorted((_PACKAGE / room).rglob("*.py")):
            found.update(str(path.relative_to(_PACKAGE)).encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]
