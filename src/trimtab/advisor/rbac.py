"""Who may do what: the operator by the objects that its profiles name, people by their part.

Rights to write are bound to names, so that a profile that is not there cannot be imitated.
Server-side apply creates by name too, which is why `create` may be bound to one. They are in
a ClusterRole, because the targets' namespaces need not exist when the operator is installed.
"""

from collections.abc import Iterable
from typing import Any

from trimtab.advisor.api import CONFIGS, GROUP, TargetRef
from trimtab.advisor.kinds import resource_of
from trimtab.advisor.profile import Resource
from trimtab.advisor.profiles.registry import Registry, built_in
from trimtab.advisor.records import secret_name
from trimtab.advisor.settings import NAME, NAMESPACE

Manifest = dict[str, Any]
LOOK = ["get", "list", "watch"]
CHANGE = [*LOOK, "create", "patch", "delete"]
_RBAC = "rbac.authorization.k8s.io"


def operator_rbac(registry: Registry | None = None) -> list[Manifest]:
    """Everything that the operator's account is bound to."""
    profiles = registry or built_in()
    targets = sorted({t for profile in profiles for t in profile.targets()}, key=str)
    everywhere = [*_own_rules(profiles), *_reading(profiles), *_writing(targets)]
    return [*bound("ClusterRole", everywhere), *bound("Role", _at_home(profiles), NAMESPACE)]


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
    """Kinds of others' APIs are read whole; ConfigMaps and the like only by name, below."""
    kinds = {r for r in profiles.resources() if "." in r.group}
    kinds |= {r for profile in profiles for r in profile.looks_at() if not r.namespaced}
    groups = sorted({(r.group, r.plural) for r in kinds})
    return [rule(group, [plural], LOOK) for group, plural in groups]


def _writing(targets: Iterable[TargetRef]) -> list[Manifest]:
    names: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        resource = known(target)
        names.setdefault((resource.group, resource.plural), []).append(target.name)
    return [
        rule(group, [plural], CHANGE, only=sorted(set(found)))
        for (group, plural), found in names.items()
    ]


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
    """Roles to bind people to: look, edit, and with the approval policy, approve."""
    look = [rule(GROUP, [CONFIGS.plural], LOOK)]
    edit = [rule(GROUP, [CONFIGS.plural], [*LOOK, "create", "update", "patch", "delete"])]
    approve = [*edit, rule(GROUP, [CONFIGS.plural], ["approve"])]
    return [
        _cluster_role("viewer", look, "view"),
        _cluster_role("editor", edit, "edit"),
        _cluster_role("approver", approve, "admin"),
        _role("ClusterRole", f"trimtab:{NAME}-metrics", [_metrics_rule()]),
    ]


def _metrics_rule() -> Manifest:
    return {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}


def _cluster_role(part: str, rules: list[Manifest], into: str) -> Manifest:
    name = f"virtplatformconfig-{part}"
    label = {f"{_RBAC.split('.')[0]}.authorization.k8s.io/aggregate-to-{into}": "true"}
    role = _role("ClusterRole", name, rules)
    return role | {"metadata": {"name": name, "labels": label}}


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
