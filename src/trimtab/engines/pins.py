"""Pins: everything that decides what a program will be, and the hash that names it in the cache.

Two hashes would be equal only if a rebuild gave the same bytes, so the compiler's version is
part of it. The compiler is not part of the *pins*: a program that another Go built from these
sources is as good (and on a machine without network the only one there can be).
"""

import hashlib
import platform
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from trimtab.engines.programs import Program
from trimtab.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parents[1]
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Pins(Struct, frozen=True):
    """What this repository says about one program on this computer."""

    program: str
    package: str
    platform: str
    tags: tuple[str, ...]
    ldflags: tuple[str, ...]
    go_mod: str
    go_sum: str
    sources: str  # of our own Go files; empty if the program has none


def sources_dir() -> Path:
    """The Go modules: the checkout's, or the copy inside the installed package."""
    checkout = _PACKAGE.parents[1] / "engines"
    return checkout if (checkout / "kubernetes" / "go.mod").is_file() else _PACKAGE / "_engines"


def host_platform() -> str:
    """This computer in Go's words: `linux/amd64`."""
    machine = platform.machine()
    return f"{sys.platform}/{_ARCHITECTURES.get(machine, machine)}"


def pins_of(program: Program, sources: Path | None = None) -> Pins:
    """Read the pins from the module's files; under a millisecond, so never stored."""
    module = (sources or sources_dir()) / program.module
    try:
        return Pins(
            program=program.name,
            package=program.package,
            platform=host_platform(),
            tags=program.tags,
            ldflags=program.ldflags,
            go_mod=_sha256((module / "go.mod").read_bytes()),
            go_sum=_sha256((module / "go.sum").read_bytes()),
            sources=_own_sources(module) if program.is_ours else "",
        )
    except OSError as error:
        raise ConfigError(
            f"the Go module of {program.name} cannot be read ({error.filename}: {error.strerror}); "
            "reinstall trimtab or repair the checkout"
        ) from error


def entry_hash(pins: Pins, go_version: str) -> str:
    """The name of what `go_version` makes of `pins`: 16 hex digits."""
    return _sha256(msgspec.json.encode([pins, go_version]))[:16]


def _own_sources(module: Path) -> str:
    """One hash of all Go files but tests; paths count, so that a moved file is a change."""
    files = sorted(path for path in module.rglob("*.go") if not path.name.endswith("_test.go"))
    listing = [(str(path.relative_to(module)), _sha256(path.read_bytes())) for path in files]
    return _sha256(msgspec.json.encode(listing))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
