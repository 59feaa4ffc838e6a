"""Objects by reference: reading, previewing and writing kinds that only profiles know."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from msgspec import json

from trimtab.advisor.api import MANAGER, Taking, TargetRef
from trimtab.advisor.plan.plan import Preview
from trimtab.advisor.plan.profile import Resource
from trimtab.errors import ConfigError
from trimtab.kube.apply import ApplyConflict, ContestedField, apply
from trimtab.kube.client import PATCHES, Client
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import Free, Kind, free_kind

CRDS = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False
)


class Watched(NamedTuple):
    """One object, or with an empty name all of a kind."""

    resource: Resource
    namespace: str = ""
    name: str = ""


class ClusterObjects:
    """The API by TargetRef; what was looked at is kept in `seen`, to be watched."""

    def __init__(self, client: Client, resources: Iterable[Resource]) -> None:
        self._client = client
        self._resources = {(r.api_version, r.kind): r for r in (*resources, CRDS)}
        self.seen: set[Watched] = set()

    def looking(self) -> "ClusterObjects":
        """The same, with nothing looked at yet."""
        return ClusterObjects(self._client, self._resources.values())

    def resource(self, ref: TargetRef) -> Resource:
        resource = self._resources.get((ref.api_version, ref.kind))
        if resource is None:
            raise ConfigError(f"{ref}: no profile knows {ref.api_version} {ref.kind}")
        return resource

    def kind(self, ref: TargetRef) -> Kind[Free]:
        return kind_of(self.resource(ref))

    async def get(self, ref: TargetRef) -> Free | None:
        """The object, or None if it or its kind does not exist."""
        watched = Watched(self.resource(ref), ref.namespace, ref.name)
        try:
            found = await self._client.get(self.kind(ref), ref.name, ref.namespace or None)
        except NotFound as error:
            if is_served(error):
                self.seen.add(watched)
            return None
        self.seen.add(watched)
        return found

    async def crd(self, name: str) -> Free | None:
        return await self.get(CRDS.ref(name))

    async def all(self, resource: Resource) -> tuple[Free, ...]:
        try:
            found = tuple(await self._client.list(kind_of(resource)))
        except NotFound:
            return ()
        self.seen.add(Watched(resource))
        return found

    async def preview(self, ref: TargetRef, body: Callable[[Free | None], Free]) -> Preview:
        """A dry run: without force to learn whose fields it takes, then with force.

        `body` makes what is applied of the live object.
        """
        live, kind = await self.get(ref), self.kind(ref)
        desired = body(live)
        try:
            after = await apply(self._client, kind, desired, manager=MANAGER, dry_run=True)
            return Preview(live, after)
        except ApplyConflict as conflict:
            takes = takings(conflict.claims)
        forced = await apply(self._client, kind, desired, manager=MANAGER, force=True, dry_run=True)
        return Preview(live, forced, takes)

    async def apply(self, ref: TargetRef, desired: Free, version: str, *, force: bool) -> Free:
        """Server-side apply of what we manage; `version` makes it conditional."""
        body = desired
        if version:
            body = desired | {"metadata": desired["metadata"] | {"resourceVersion": version}}
        return await apply(self._client, self.kind(ref), body, manager=MANAGER, force=force)

    async def delete(self, ref: TargetRef, live: Free) -> None:
        meta = live["metadata"]
        with suppress(NotFound):
            await self._client.delete(
                self.kind(ref),
                ref.name,
                ref.namespace or None,
                uid=meta.get("uid", ""),
                resource_version=meta.get("resourceVersion", ""),
            )

    async def patch_as(self, ref: TargetRef, manager: str, patch: Free, live: Free) -> Free:
        """A merge patch in the name of `manager`, if the object is still as in `live`."""
        version = {"resourceVersion": live["metadata"]["resourceVersion"]}
        body = patch | {"metadata": patch.get("metadata", {}) | version}
        return await self._patch(ref, manager, json.encode(body), "merge")

    async def set_managers(self, ref: TargetRef, entries: list[Free], live: Free) -> Free:
        """Replace the list of field managers, if the object is still as in `live`."""
        version = live["metadata"]["resourceVersion"]
        operations = [
            {"op": "replace", "path": "/metadata/managedFields", "value": entries},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]
        return await self._patch(ref, MANAGER, json.encode(operations), "json")

    async def _patch(self, ref: TargetRef, manager: str, body: bytes, flavour: str) -> Free:
        path = self.kind(ref).path(ref.namespace or None, ref.name)
        params = {"fieldManager": manager}
        answer = await self._client.request("PATCH", path, params, body, PATCHES[flavour])
        return json.decode(answer, type=Free)


def is_served(error: NotFound) -> bool:
    """Whether it is the object that is missing: of a missing kind the API server says less.

    A kind that is not served is not watched; its definition is, and tells when it comes.
    """
    return error.reason == "NotFound"


def kind_of(resource: Resource) -> Kind[Free]:
    return free_kind(
        resource.group,
        resource.version,
        resource.plural,
        resource.kind,
        namespaced=resource.namespaced,
    )


def takings(claims: Iterable[ContestedField]) -> tuple[Taking, ...]:
    """Claims as plans tell them, without the leading dot of the API's paths."""
    return tuple(
        Taking(field=claim.field.removeprefix("."), manager=claim.manager)
        for claim in sorted(claims)
    )
