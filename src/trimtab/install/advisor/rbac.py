"""Who may do what: the operator by the objects that its profiles name, people by their part.

Rights to write are bound to names, so that a profile that is not there cannot be imitated.
Server-side apply creates by name too, which is why `create` may be bound to one. Kinds of
others' APIs are in a ClusterRole, because their namespaces need not exist when the operator is
installed. ConfigMaps and Deployments mean something in every namespace, so the rights to them
are Roles in the namespaces of the targets, granted where such a target is used.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from trimtab.advisor.api import CONFIGS, GROUP, TargetRef
from trimtab.advisor.cluster.writing import secret_name
from trimtab.advisor.kinds import (
    DEPLOYMENTS,
    DESCHEDULER,
    HYPERCONVERGED,
    HYPERCONVERGEDS,
    SCHEDULER,
    resource_of,
)
from trimtab.advisor.plan.profile import Resource
from trimtab.advisor.profiles.registry import Registry, built_in
from trimtab.advisor.settings import NAME
from trimtab.install.rights import (
    LOOK,
    RBAC,
    Right,
    Role,
    at_home,
    events,
    everywhere,
    granted,
    lease,
    right,
    role_manifest,
    rule,
    within,
)

Manifest = dict[str, Any]
EDIT = ["create", "update", "patch", "delete"]
_OPEN = "in labs everybody on this computer may read the metrics"
_OTHERS = "depends on the profile and on what the cluster has: see tests/system/advisor"
APPROVE = "approve"
"""The verb of our own that admission asks for; no role of Kubernetes' own includes it."""
APPROVER = "virtplatformconfig-approver"
_ONLY_CHANGED = {(r.group, r.plural) for r in (HYPERCONVERGEDS, DEPLOYMENTS)}
"""What others install: we never create or delete it."""
_SINGLE = {known.kind: known.name for known in (DESCHEDULER, HYPERCONVERGED, SCHEDULER)}
"""Kinds of which one object is read; of the others all are."""


def operator_roles(registry: Registry | None = None) -> tuple[Role, ...]:
    """What the operator may do everywhere, and at home."""
    profiles = registry or built_in()
    foreign = [t for t in _targets(profiles) if not is_local(known(t))]
    return (
        everywhere(*_own_rights(profiles), *_reading(profiles), *_writing(foreign)),
        at_home(*_at_home(profiles)),
    )


def operator_rbac(registry: Registry | None = None) -> list[Manifest]:
    """The same, granted to the operator's account."""
    return granted(NAME, operator_roles(registry))


def target_rbac(*namespaces: str, registry: Registry | None = None) -> list[Manifest]:
    """ConfigMaps and Deployments that the operator may write in these namespaces."""
    local = [t for t in _targets(registry or built_in()) if is_local(known(t))]
    mine = {n: [t for t in local if t.namespace == n] for n in namespaces}
    return granted(NAME, (within(n, *_local(mine[n])) for n in namespaces))


def is_local(resource: Resource) -> bool:
    """Kubernetes' own kinds, of which there are some in every namespace."""
    return "." not in resource.group


def _targets(profiles: Registry) -> list[TargetRef]:
    return sorted({t for profile in profiles for t in profile.targets()}, key=str)


def _own_rights(profiles: Registry) -> list[Right]:
    names = [profile.name for profile in profiles]
    return [
        right(GROUP, [CONFIGS.plural], [*LOOK, "create"]),
        right(GROUP, [f"{CONFIGS.plural}/status"], ["update"], only=names),
        events(),
        right("authentication.k8s.io", ["tokenreviews"], ["create"], unseen={"create": _OPEN}),
        right(
            "authorization.k8s.io", ["subjectaccessreviews"], ["create"], unseen={"create": _OPEN}
        ),
        right(
            "apiextensions.k8s.io",
            ["customresourcedefinitions"],
            LOOK,
            only=sorted({r.crd for r in profiles.resources() if "." in r.group}),
        ),
    ]


def _reading(profiles: Registry) -> list[Right]:
    """Namespaces that targets live in; of others' kinds the one object there is, or all."""
    homes = sorted({t.namespace for t in _targets(profiles) if t.namespace})
    kinds = {(r.group, r.plural, r.kind) for r in profiles.resources() if not is_local(r)}
    return [
        right("", ["namespaces"], LOOK, only=homes),
        *(
            right(
                group,
                [plural],
                LOOK,
                only=[_SINGLE[kind]] if kind in _SINGLE else (),
                unseen=dict.fromkeys(LOOK, _OTHERS),
            )
            for group, plural, kind in sorted(kinds)
        ),
    ]


def _writing(targets: Iterable[TargetRef]) -> list[Right]:
    names: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        resource = known(target)
        names.setdefault((resource.group, resource.plural), []).append(target.name)
    return [
        right(
            kind[0],
            [kind[1]],
            _verbs(kind),
            only=sorted(set(found)),
            unseen=dict.fromkeys(_verbs(kind), _OTHERS),
        )
        for kind, found in names.items()
    ]


def _verbs(kind: tuple[str, str]) -> list[str]:
    return ["patch"] if kind in _ONLY_CHANGED else ["create", "patch", "delete"]


def _local(targets: Iterable[TargetRef]) -> list[Right]:
    return [structs.replace(each, verbs=(*LOOK, *each.verbs)) for each in _writing(targets)]


def known(target: TargetRef) -> Resource:
    resource = resource_of(target.api_version, target.kind)
    assert resource is not None, f"{target}: its kind is not in kinds.py"
    return resource


def _at_home(profiles: Registry) -> list[Right]:
    secrets = [secret_name(profile.name) for profile in profiles]
    return [
        *lease(NAME),
        right("", ["secrets"], ["get", "create", "patch", "delete"], only=secrets),
    ]


def user_rbac() -> list[Manifest]:
    """Roles to bind people to: look, edit, approve.

    Those who may `view` or `edit` everything may look at plans or prepare them. To approve
    can reboot every node, so no role of Kubernetes' own includes it.
    """
    look = right(GROUP, [CONFIGS.plural], LOOK)
    edit = right(GROUP, [CONFIGS.plural], [*LOOK, *EDIT])
    approve = right(GROUP, [CONFIGS.plural], [*LOOK, *EDIT, APPROVE])
    metrics = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    return [
        _cluster_role("virtplatformconfig-viewer", rule(look), "view"),
        _cluster_role("virtplatformconfig-editor", rule(edit), "edit"),
        _cluster_role(APPROVER, rule(approve)),
        _cluster_role(f"trimtab:{NAME}-metrics", metrics),
    ]


def _cluster_role(name: str, only: Manifest, into: str = "") -> Manifest:
    labels = {"labels": {f"{RBAC}/aggregate-to-{into}": "true"}} if into else {}
    return role_manifest("ClusterRole", {"name": name, **labels}, [only])
