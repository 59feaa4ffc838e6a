"""Server-side apply: say what we want of an object, and learn who else wants it otherwise."""

import re
from typing import TypeVar

from msgspec import Struct

from trimtab.kube.client import PATCHES, Client
from trimtab.kube.codec import codec, encode
from trimtab.kube.errors import Cause, Conflict, Details, Status
from trimtab.kube.resources import Free, Kind, metadata

T = TypeVar("T")
_MANAGER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')


class ContestedField(Struct, frozen=True, order=True):
    """A field of ours that another manager owns with another value."""

    field: str
    manager: str


class ApplyConflict(Conflict):
    """Others own fields that we want to change; `claims` says which and who."""

    def __init__(self, what: str, claims: tuple[ContestedField, ...], status: Status) -> None:
        super().__init__(what, status)
        self.claims = claims


async def apply(
    client: Client,
    kind: Kind[T],
    obj: T | Free | Struct,
    *,
    manager: str = "",
    force: bool = False,
    dry_run: bool = False,
    subresource: str = "",
) -> T:
    """Make the fields in `obj` ours with these values; what we no longer name is given up.

    Without `force` a field that another manager set differently raises `ApplyConflict` and
    nothing is written. A resourceVersion in `obj` makes it conditional (plain `Conflict`).
    """
    meta = metadata(obj)
    path = kind.path(meta.namespace, meta.name, subresource)
    params: dict[str, str | int] = {"fieldManager": manager or client.manager}
    if force:
        params["force"] = "true"
    if dry_run:
        params["dryRun"] = "All"
    try:
        answer = await client.request("PATCH", path, params, encode(kind, obj), PATCHES["apply"])
    except Conflict as error:
        claims = claims_in(error.causes)
        if not claims:
            raise
        raise ApplyConflict(f"apply {path}", claims, _status(error)) from error
    return codec(kind).one(answer)


def claims_in(causes: tuple[Cause, ...]) -> tuple[ContestedField, ...]:
    """Fields and their managers; the message is the only place that names the manager."""
    return tuple(
        ContestedField(cause.field, _manager(cause.message))
        for cause in causes
        if cause.reason == "FieldManagerConflict"
    )


def _manager(message: str) -> str:
    match = _MANAGER.search(message)
    return match.group(1).replace('\\"', '"') if match else message


def _status(error: Conflict) -> Status:
    return Status(error.code, error.reason, error.message, Details(list(error.causes)))
