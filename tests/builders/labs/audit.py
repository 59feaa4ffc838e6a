"""The API server's audit log in a lab: which requests each service made, and their outcome.

with running_loop(tmp_path_factory, beside=(audit_stack(),)) as loop:
    requests = audited(loop.lab.dir)
"""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

import msgspec
import yaml
from msgspec import Struct, structs

from trimtab.install.rights import Right, Role
from trimtab.install.service import ServiceSpec
from trimtab.lab.components.control_plane import kube_apiserver
from trimtab.lab.components.stack import Lab, Stack, StackContribution

LOG, POLICY = "logs/audit.json", "config/audit.yaml"
SYSTEM = "system:serviceaccount:trimtab-system:"
_NAMED = re.compile(r"metadata\.name=([^&,]+)")


def audit_stack() -> Stack:
    """The lab's API server, writing down every request of an account in trimtab-system."""
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "userGroups": ["system:serviceaccounts:trimtab-system"]},
            {"level": "None"},
        ],
    }

    def contribute(lab: Lab) -> StackContribution:
        server = kube_apiserver(lab)
        options = (f"--audit-log-path={LOG}", f"--audit-policy-file={POLICY}")
        return StackContribution(
            components=(structs.replace(server, argv=(*server.argv, *options)),),
            files={POLICY: yaml.safe_dump(policy)},
        )

    return Stack(name="audit", contribute=contribute)


class _User(Struct, frozen=True):
    username: str = ""


class _Object(Struct, rename="camel", frozen=True):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""


class _Status(Struct, frozen=True):
    code: int = 0


class _Event(Struct, rename="camel", frozen=True):
    verb: str
    user: _User
    uri: str = msgspec.field(default="", name="requestURI")
    object_ref: _Object | None = None
    response_status: _Status = _Status()


class Request(Struct, frozen=True):
    """One kind of request that a service made; `name` is empty where it meant no object."""

    service: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    code: int


def audited(lab: Path) -> set[Request]:
    """All requests so far, without repetitions."""
    lines = (lab / LOG).read_bytes().splitlines()
    events = (msgspec.json.decode(line, type=_Event) for line in lines)
    return {request for event in events for request in _requests(event)}


def _requests(event: _Event) -> list[Request]:
    target = event.object_ref
    if target is None:
        return []
    resource = target.resource + (f"/{target.subresource}" if target.subresource else "")
    chosen = _NAMED.search(unquote(event.uri))
    request = Request(
        event.user.username.removeprefix(SYSTEM),
        event.verb,
        target.api_group,
        resource,
        target.namespace,
        target.name or (chosen[1] if chosen else ""),
        event.response_status.code,
    )
    if event.verb == "patch" and request.code == 201:  # an apply that made the object
        return [request, structs.replace(request, verb="create")]
    return [request]


def uses(request: Request, role: Role, right: Right) -> bool:
    """Whether the right allows the request."""
    return (
        request.group == right.group
        and request.resource in right.resources
        and request.verb in right.verbs
        and (not role.namespace or request.namespace == role.namespace)
        and (not right.only or request.name in right.only)
    )


def unused_rights(service: ServiceSpec, requests: Iterable[Request]) -> list[tuple[object, ...]]:
    """Rights of a service that none of its requests shows."""
    mine = [each for each in requests if each.service == service.name]
    return [
        (role.namespace, right.group, resource, verb, right.only)
        for role in service.roles()
        for right in role.rights
        for resource in right.resources
        for verb in right.verbs
        if verb not in right.unseen
        and not any(
            uses(each, role, right) and (each.resource, each.verb) == (resource, verb)
            for each in mine
        )
    ]
