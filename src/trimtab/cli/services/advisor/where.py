"""Which cluster a `trimtab advisor` command means, and what its errors end with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from cyclopts import Parameter

from trimtab.advisor.api import CONFIGS, Accepted, Ignore, Options
from trimtab.advisor.cluster.requests import ConfigRequests
from trimtab.cli.cluster.options import ClusterOptions, Note
from trimtab.cli.common.numbers import Seconds
from trimtab.cli.common.option_files import read_manifests
from trimtab.errors import ConfigError, TrimtabError
from trimtab.kube.client import Client

T = TypeVar("T")
DEFAULT = "load-aware-rebalancing"


@Parameter(name="*")
@dataclass(frozen=True)
class AdvisorOptions(ClusterOptions):
    """Which cluster a command means."""

    timeout: Annotated[Seconds, Parameter(help="Seconds to wait for the operator.")] = 600.0


HERE = AdvisorOptions()


def talk(where: AdvisorOptions, ask: Callable[[ConfigRequests], Awaitable[T]]) -> T:
    """Run `ask` with requests to the cluster that is meant."""

    def made(client: Client, note: Note) -> Awaitable[T]:
        return ask(ConfigRequests(client, timeout_s=where.timeout, say=note))

    try:
        return where.ask("advisor", made)
    except ConfigError as error:
        raise as_failure(error) from error


def as_failure(error: ConfigError) -> TrimtabError:
    """The same words with exit code 1: here 2 means that changes are pending."""
    return TrimtabError(str(error))


def read_config(file: Path) -> dict[str, Any]:
    """The VirtPlatformConfig in a file."""
    found = [m for m in read_manifests(file) if m.get("kind") == CONFIGS.kind]
    if len(found) != 1:
        raise TrimtabError(f"--file {file}: it holds {len(found)} VirtPlatformConfigs; give one")
    return found[0]


def options_of(config: dict[str, Any]) -> Options | None:
    """The options of a manifest, checked as far as types go."""
    given = (config.get("spec") or {}).get("options")
    try:
        return None if given is None else msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise TrimtabError(f"spec.options: {error}") from error


def exceptions_of(
    config: dict[str, Any],
) -> tuple[tuple[Ignore, ...], tuple[Accepted, ...]]:
    """What a manifest leaves to others, and the drift that it accepts."""
    spec = config.get("spec") or {}
    try:
        ignored = msgspec.convert(spec.get("ignore") or (), tuple[Ignore, ...])
        return ignored, msgspec.convert(spec.get("accepted") or (), tuple[Accepted, ...])
    except msgspec.ValidationError as error:
        raise TrimtabError(f"spec.ignore, spec.accepted: {error}") from error
