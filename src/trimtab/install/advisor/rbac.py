"""Who may do what: the operator by the objects that its profiles name, people by their part.

Rights to write are bound to names, so that a profile that is not there cannot be imitated.
Server-side apply creates by name too, which is why `create` may be bound to one. Kinds of
others' APIs are in a ClusterRole, because their namespaces need not exist when the operator is
installed. ConfigMaps and Deployments mean something in every namespace, so the rights to them
are Roles in the namespaces of the targets, granted where such a target is used.
"""

from collections.abc import Iterable
from typing import Any

from trimtab.advisor.api import CONFIGS, GROUP, TargetRef
from trimtab.advisor.cluster.records import secret_name
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
from trimtab.advisor.settings import NAME, NAMESPACE

Manifest = dict[str, Any]
LOOK = ["get", "list", "watch"]
EDIT = ["create", "update", "patch", "delete"]
APPROVE = "approve"
"""The verb of our own that admission asks for; no role of Kubernetes' own includes it."""
APPROVER = "virtplatformconfig-approver"
_ONLY_CHANGED = {(r.group, r.plural) for r in (HYPERCONVERGEDS, DEPLOYMENTS)}
"""What others install: we never create or delete it."""
_SINGLE = {known.kind: known.name for known in (DESCHEDULER, HYPERCONVERGED, SCHEDULER)}
"""Kinds of which one object is read; of the others all are."""
_RBAC = "rbac.authorization.k8s.io"


def operator_rbac(registry: Registry | None = None) -> list[Manifest]:
    """What the operator's account is bound to everywhere, and at home."""
    profiles = registry or built_in()
    foreign = [t for t in _targets(profiles) if not is_local(known(t))]
    everywhere = [*_own_rules(profiles), *_reading(profiles), *_writing(foreign)]
    return [*bound("ClusterRole", everywhere), *bound("Role", _at_home(profiles), NAMESPACE)]


def target_rbac(*namespaces: str, registry: Registry | None = None) -> list[Manifest]:
    """ConfigMaps and Deployments that the operator may write in these namespaces."""
    local = [t for t in _targets(registry or built_in()) if is_local(known(t))]
    mine = {n: [t for t in local if t.namespace == n] for n in namespaces}
    return [each for n in namespaces for each in bound("Role", _local(mine[n]), n)]


def is_local(resource: Resource) -> bool:
    """Kubernetes' own kinds, of which there are some in every namespace."""
    return "." not in resource.group


def _targets(profiles: Registry) -> list[TargetRef]:
    return sorted({t for profile in profiles for t in profile.targets()}, key=str)


def _own_rules(profiles: Registry) -> list[Manifest]:
    names = [profile.name for profile in profiles]
    return [
        rule(GROUP, [CONFIGS.plural], [*LOOK, "create"]),
        rule(GROUP, [f"{CONFIGS.plural}/status"], ["update"], only=names),
        rule("events.k8s.io", ["events"], ["create", "patch"]),
        rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
        rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
        rule(
            "apiextensions.k8s.io",
            ["customresourcedefinitions"],
            LOOK,
            only=sorted({r.crd for r in profiles.resources() if "." in r.group}),
        ),
    ]


def _reading(profiles: Registry) -> list[Manifest]:
    """Namespaces that targets live in; of others' kinds the one object there is, or all."""
    homes = sorted({t.namespace for t in _targets(profiles) if t.namespace})
    kinds = {(r.group, r.plural, r.kind) for r in profiles.resources() if not is_local(r)}
    return [
        rule("", ["namespaces"], LOOK, only=homes),
        *(
            rule(group, [plural], LOOK, only=[_SINGLE[kind]] if kind in _SINGLE else None)
            for group, plural, kind in sorted(kinds)
        ),
    ]


def _writing(targets: Iterable[TargetRef]) -> list[Manifest]:
    names: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        resource = known(target)
        names.setdefault((resource.group, resource.plural), []).append(target.name)
    return [
        rule(kind[0], [kind[1]], _verbs(kind), only=sorted(set(found)))
        for kind, found in names.items()
    ]


def _verbs(kind: tuple[str, str]) -> list[str]:
    return ["patch"] if kind in _ONLY_CHANGED else ["create", "patch", "delete"]


def _local(targets: Iterable[TargetRef]) -> list[Manifest]:
    return [each | {"verbs": [*LOOK, *each["verbs"]]} for each in _writing(targets)]


def known(target: TargetRef) -> Resource:
    resource = resource_of(target.api_version, target.kind)
    assert resource is not None, f"{target}: its kind is not in kinds.py"
    return resource


def _at_home(profiles: Registry) -> list[Manifest]:
    secrets = [secret_name(profile.name) for profile in profiles]
    return [
        rule("coordination.k8s.io", ["leases"], ["create"]),
        rule("coordination.k8s.io", ["leases"], ["get", "patch"], only=[NAME]),
        rule("", ["secrets"], ["get", "create", "patch", "delete"], only=secrets),
    ]


def user_rbac() -> list[Manifest]:
    """Roles to bind people to: look, edit, approve.

    Those who may `view` or `edit` everything may look at plans or prepare them. To approve
    can reboot every node, so no role of Kubernetes' own includes it.
    """
    look = rule(GROUP, [CONFIGS.plural], LOOK)
    edit = rule(GROUP, [CONFIGS.plural], [*LOOK, *EDIT])
    approve = rule(GROUP, [CONFIGS.plural], [*LOOK, *EDIT, APPROVE])
    return [
        _cluster_role("virtplatformconfig-viewer", look, "view"),
        _cluster_role("virtplatformconfig-editor", edit, "edit"),
        _role("ClusterRole", APPROVER, [approve]),
        _role("ClusterRole", f"trimtab:{NAME}-metrics", [_metrics_rule()]),
    ]


def _metrics_rule() -> Manifest:
    return {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}


def _cluster_role(name: str, only: Manifest, into: str) -> Manifest:
    labels = {f"{_RBAC}/aggregate-to-{into}": "true"}
    return _role("ClusterRole", name, [only]) | {"metadata": {"name": name, "labels": labels}}


def rule(
    group: str, resources: list[str], verbs: list[str], *, only: list[str] | None = None
) -> Manifest:
    names = {"resourceNames": only} if only else {}
    return {"apiGroups": [group], "resources": resources, "verbs": verbs} | names


def bound(kind: str, rules: list[Manifest], namespace: str = "") -> list[Manifest]:
    """A role of the operator's account, and the binding between them."""
    name = f"trimtab:{NAME}"
    role = _role(kind, name, rules, namespace)
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": role["metadata"],
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [account],
    }
    return [role, binding]


def _role(kind: str, name: str, rules: list[Manifest], namespace: str = "") -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
