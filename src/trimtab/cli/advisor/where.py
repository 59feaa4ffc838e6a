"""Which cluster a `trimtab advisor` command means, and what its errors end with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter

from trimtab.cli.cluster.options import Context, Kubeconfig, LabName
from trimtab.cli.common.numbers import Seconds
from trimtab.errors import ConfigError, TrimtabError

if TYPE_CHECKING:
    from trimtab.advisor.api import Accepted, Ignore, Options
    from trimtab.advisor.cluster.requests import Desk

T = TypeVar("T")
DEFAULT = "load-aware-rebalancing"
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON instead of text.")]


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Which cluster a command means."""

    kubeconfig: Kubeconfig = None
    context: Context = ""
    lab: LabName = ""
    timeout: Annotated[Seconds, Parameter(help="Seconds to wait for the operator.")] = 600.0


HERE = Where()


def talk(where: Where, ask: "Callable[[Desk], Awaitable[T]]") -> T:
    """Run `ask` with a desk at the right cluster; waiting is shown on stderr."""
    import asyncio

    from trimtab.advisor.cluster.requests import Desk
    from trimtab.cli.cluster.which import say, which_cluster
    from trimtab.view.terminal import progress

    async def talk() -> T:
        with progress("advisor") as steps:
            async with cluster.connect() as client:
                return await ask(Desk(client, timeout_s=where.timeout, say=steps.note))

    try:
        cluster = say(which_cluster(where.kubeconfig, where.context, where.lab))
        return asyncio.run(talk())
    except ConfigError as error:
        raise as_failure(error) from error


def as_failure(error: ConfigError) -> TrimtabError:
    """The same words with exit code 1: here 2 means that changes are pending."""
    return TrimtabError(str(error))


def read_config(file: Path) -> dict[str, Any]:
    """The VirtPlatformConfig in a file."""
    from trimtab.advisor.api import CONFIGS
    from trimtab.cli.vm.yaml_files import read_manifests

    found = [m for m in read_manifests(file) if m.get("kind") == CONFIGS.kind]
    if len(found) != 1:
        raise TrimtabError(f"--file {file}: it holds {len(found)} VirtPlatformConfigs; give one")
    return found[0]


def options_of(config: dict[str, Any]) -> "Options | None":
    """The options of a manifest, checked as far as types go."""
    import msgspec

    from trimtab.advisor.api import Options

    given = (config.get("spec") or {}).get("options")
    try:
        return None if given is None else msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise TrimtabError(f"spec.options: {error}") from error


def exceptions_of(
    config: dict[str, Any],
) -> "tuple[tuple[Ignore, ...], tuple[Accepted, ...]]":
    """What a manifest leaves to others, and the drift that it accepts."""
    import msgspec

    from trimtab.advisor.api import Accepted, Ignore

    spec = config.get("spec") or {}
    try:
        ignored = msgspec.convert(spec.get("ignore") or (), tuple[Ignore, ...])
        return ignored, msgspec.convert(spec.get("accepted") or (), tuple[Accepted, ...])
    except msgspec.ValidationError as error:
        raise TrimtabError(f"spec.ignore, spec.accepted: {error}") from error


def agreed(question: str) -> bool:
    """Ask on the terminal; without one nobody agrees."""
    import sys

    if not sys.stdin.isatty():
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
