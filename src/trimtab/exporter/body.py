"""Request bodies: bounded in size, decoded, and refused by the field that is wrong."""

import re
from typing import TypeVar

import msgspec
from starlette.requests import Request

from trimtab.errors import ConfigError
from trimtab.exporter.problems import Refused
from trimtab.model.expand import expand
from trimtab.model.scenario import Scenario
from trimtab.model.scenario_file import ScenarioFile, VmsArrive
from trimtab.model.scenario_io import parse_file

T = TypeVar("T")
MAX_BODY = 16 * 1024**2
MAX_VMS = MAX_NODES = 20_000
_WHERE = "scenario"
_AT = re.compile(r" - at `(?:key in )?\$?\.?([^`]*)`")


async def read_body(request: Request) -> bytes:
    """The whole body, but never more than 16 MiB of it."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            detail = f"the body is larger than {MAX_BODY >> 20} MiB; send a smaller one"
            raise Refused(413, "Too large", detail)
    return bytes(body)


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


def read_scenario(body: bytes, select: str | None = None) -> Scenario:
    """A scenario with every node and VM by name, from the seed's JSON or our YAML.

    Recorded traces are files of the sender's computer: they cannot be read here.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refused(400, "Not text", "the body is not UTF-8 text") from error
    try:
        file = parse_file(text, _WHERE, select=select)
        check_size(file)
        return expand(file)
    except ConfigError as error:
        raise ConfigError(str(error).removeprefix(f"{_WHERE}: ")) from error


def check_size(file: ScenarioFile) -> None:
    """Refuse, before anything is expanded, what no cluster here could hold."""
    groups = [(f"vms[{index}].count", group.count) for index, group in enumerate(file.vms)]
    groups += [
        (f"events[{index}].vms.count", event.vms.count)
        for index, event in enumerate(file.events)
        if isinstance(event, VmsArrive)
    ]
    _check_sum(groups, MAX_VMS, "VMs")
    nodes = [(f"nodes[{index}].count", group.count) for index, group in enumerate(file.nodes)]
    _check_sum(nodes, MAX_NODES, "nodes")


def _check_sum(groups: list[tuple[str, int]], most: int, what: str) -> None:
    total = 0
    for field, count in groups:
        total += max(count, 0)
        if total > most:
            raise ConfigError(f"{field}: more than {most} {what}; use fewer")
