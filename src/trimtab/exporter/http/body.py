"""Request bodies: bounded in size, decoded, and refused by the field that is wrong."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar

import msgspec
from starlette.requests import Request

from trimtab.errors import ConfigError
from trimtab.exporter.http.problems import Refused
from trimtab.kube.http.callers import TooLarge, bounded_body
from trimtab.model.scenarios.check import check_counts
from trimtab.model.scenarios.classic_json import classic_notes, is_classic
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.io import parse_file
from trimtab.model.scenarios.scenario import Scenario
from trimtab.model.yaml_text import parse_text

T = TypeVar("T")
MAX_BODY = 16 * 1024**2
MAX_VMS = MAX_NODES = 20_000
"""What no cluster behind an exporter could hold; files for the simulator may have more."""
_WHERE = "scenario"
_AT = re.compile(r" - at `(?:key in )?\$?\.?([^`]*)`")


async def read_body(request: Request) -> bytes:
    """The whole body, but never more than 16 MiB of it."""
    try:
        return await bounded_body(request.receive, MAX_BODY)
    except TooLarge as error:
        raise Refused(413, "Too large", f"{error}; send a smaller one") from error


def decode(body: bytes, kind: type[T]) -> T:
    """JSON of a fixed form."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        place = _AT.search(str(error))
        field = place[1] if place else ""
        what = _AT.sub("", str(error))
        raise Refused(
            422, "Not as expected", f"{field}: {what}" if field else what, field
        ) from error
    except msgspec.DecodeError as error:
        raise Refused(400, "Not JSON", f"the body is not JSON: {error}") from error


class Posted(NamedTuple):
    """A scenario that somebody sent."""

    scenario: Scenario
    notes: Sequence[str] = ()
    """What had to be changed to read it."""
    by_hand: AbstractSet[str] = frozenset()
    """VMs that no scenario made, as `GET /scenario` says: they are left as they are."""


def read_scenario(body: bytes, select: str | None = None) -> Posted:
    """A scenario with every node and VM by name, from node-classifier-sim's JSON or our YAML.

    Recorded traces are files of the sender's computer: they cannot be read here.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refused(400, "Not text", "the body is not UTF-8 text") from error
    try:
        return _posted(text, select)
    except ConfigError as error:
        raise ConfigError(str(error).removeprefix(f"{_WHERE}: ")) from error


def _posted(text: str, select: str | None) -> Posted:
    data = parse_text(text, _WHERE)
    file = parse_file(text, _WHERE, select=select)
    for problem in check_counts(file, MAX_NODES, MAX_VMS):
        raise ConfigError(problem)
    notes, by_hand = classic_notes(data, _WHERE, select) if is_classic(data) else ([], set())
    return Posted(expand(file), notes, by_hand)
