"""Rights as values, and the roles and bindings that grant them."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from trimtab.model.names import SYSTEM_NAMESPACE

Manifest = dict[str, Any]
LOOK = ("get", "list", "watch")
FOLLOW = ("list", "watch")
"""What a cache needs: it never reads a single object."""
RBAC = "rbac.authorization.k8s.io"


class Right(Struct, frozen=True, kw_only=True):
    """Verbs on resources of one API group; `only` binds them to these names."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    only: tuple[str, ...] = ()
    unseen: dict[str, str] = {}
    """By verb: why no request of a service in a lab shows it, where none does."""


class Role(Struct, frozen=True, kw_only=True):
    """Rights of a service in one namespace, or everywhere; `part` tells two roles apart."""

    rights: tuple[Right, ...]
    namespace: str = ""
    part: str = ""


def right(
    group: str,
    resources: Iterable[str],
    verbs: Iterable[str],
    *,
    only: Iterable[str] = (),
    unseen: Mapping[str, str] | None = None,
) -> Right:
    """A right; tests compare it with what a lab's services do, but for the verbs in `unseen`."""
    return Right(
        group=group,
        resources=tuple(resources),
        verbs=tuple(verbs),
        only=tuple(only),
        unseen=dict(unseen or {}),
    )


def everywhere(*rights: Right, part: str = "") -> Role:
    return Role(rights=rights, part=part)


def within(namespace: str, *rights: Right, part: str = "") -> Role:
    return Role(rights=rights, namespace=namespace, part=part)


def at_home(*rights: Right) -> Role:
    """In the namespace of all services, where leases and the clock are."""
    return within(SYSTEM_NAMESPACE, *rights)


def events() -> Right:
    repeated = {"patch": "an Event that repeats within minutes is counted, not written again"}
    return right("events.k8s.io", ["events"], ["create", "patch"], unseen=repeated)


def lease(name: str) -> tuple[Right, Right]:
    """One replica of several acts: a name cannot be bound to `create`, so that is apart."""
    return (
        right("coordination.k8s.io", ["leases"], ["create"]),
        right("coordination.k8s.io", ["leases"], ["get", "patch"], only=[name]),
    )


def rule(each: Right) -> Manifest:
    names = {"resourceNames": list(each.only)} if each.only else {}
    return {
        "apiGroups": [each.group],
        "resources": list(each.resources),
        "verbs": list(each.verbs),
    } | names


def granted(
    service: str, roles: Iterable[Role], *, account_in: str = SYSTEM_NAMESPACE
) -> list[Manifest]:
    """Each role with its binding to the service's account, which lives in `account_in`."""
    account = {"kind": "ServiceAccount", "name": service, "namespace": account_in}
    return [manifest for each in roles for manifest in _granted(service, each, account)]


def _granted(service: str, role: Role, account: Manifest) -> list[Manifest]:
    kind = "Role" if role.namespace else "ClusterRole"
    name = f"trimtab:{service}" + (f":{role.part}" if role.part else "")
    metadata = {"name": name} | ({"namespace": role.namespace} if role.namespace else {})
    return [
        role_manifest(kind, metadata, [rule(each) for each in role.rights]),
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            "subjects": [account],
        },
    ]


def role_manifest(kind: str, metadata: Manifest, rules: list[Manifest]) -> Manifest:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
