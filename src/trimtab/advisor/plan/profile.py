"""Between a profile and the operator: what a profile may read, and what it may ask for.

A profile is pure. It first says which objects it wants to see (`reads`, asked again with what
was found until nothing new is wanted, since a pool names the rendered config to look at),
then drafts the objects that it desires. Live planning fills `ClusterFacts` from the API,
offline planning from a directory of manifests; both therefore give the same items.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from trimtab.advisor.api import GROUP, Accepted, Ignored, Options, Severity, TargetRef
from trimtab.errors import ConfigError
from trimtab.kube.resources import Free

_MISSING = "Missing in this cluster:"


class Resource(Struct, frozen=True, order=True):
    """A kind of object, as the API addresses it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def crd(self) -> str:
        return f"{self.plural}.{self.group}"

    def ref(self, name: str, namespace: str = "") -> TargetRef:
        return TargetRef(
            api_version=self.api_version, kind=self.kind, name=name, namespace=namespace
        )


class Prerequisite(Struct, frozen=True):
    """A resource that must exist before the profile can plan, and how to get it."""

    resource: Resource
    hint: str
    any_version: bool = False
    """Whether another served version will do as well."""


class ClusterFacts(Struct, frozen=True):
    """What was read of the cluster: objects (None = absent) and the CRDs' schemas."""

    objects: Mapping[TargetRef, Free | None]
    crds: Mapping[str, Free | None]
    """CustomResourceDefinitions by name, whole."""
    lists: Mapping[Resource, tuple[Free, ...]] = {}
    """All objects of the kinds that a profile asked to see whole (`PlatformProfile.lists`)."""

    def get(self, ref: TargetRef) -> Free | None:
        return self.objects.get(ref)

    def all(self, resource: Resource) -> tuple[Free, ...]:
        return self.lists.get(resource, ())


class DesiredObject(Struct, frozen=True):
    """One object as the profile wants it; becomes an item of the plan."""

    name: str
    desired: Free
    managed_fields: tuple[str, ...]
    """Dotted paths that the snapshot hash, drift and rollback are about."""
    severity: Severity
    impact: str
    message: str
    depends_on: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reasons: Mapping[str, str] = {}
    """Why a managed field, or all below a path, gets its value."""
    ignored: tuple[Ignored, ...] = ()
    """What the spec says to leave to others; profiles do not set it."""
    accepted: tuple[Accepted, ...] = ()
    """Values of others that may stay; profiles do not set it."""


class Draft(Struct, frozen=True):
    """A profile's answer: the objects it wants, in order, and the inputs it derived them from."""

    desired_objects: tuple[DesiredObject, ...]
    inputs: Mapping[str, Any] = {}
    """Values from outside the options that shaped them (HyperConverged's limits, the
    descheduler CRD's capabilities, PSI in effect), by name; a later change re-plans."""
    warnings: tuple[str, ...] = ()


class OptionError(ConfigError):
    """Options that this profile cannot honour: PrerequisiteFailed, with this text."""


class MissingError(OptionError):
    """Something that the cluster must have first, like a namespace: PrerequisiteFailed too."""


def dig(obj: Mapping[str, Any] | None, *path: str) -> Any:
    """The value at a path of keys, or None where it ends early."""
    value: Any = obj
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


class PlatformProfile(Protocol):
    """What every profile answers; all of it without side effects."""

    name: str
    description: str
    category: str
    impact_summary: str
    impact: Severity
    advertisable: bool

    def manages(self) -> tuple[Resource, ...]:
        """Every kind it may ever write: the operator's RBAC and watches come from here."""
        ...

    def looks_at(self) -> tuple[Resource, ...]:
        """Every kind it may ever read besides: rights to read, and watches that re-plan."""
        ...

    def targets(self) -> tuple[TargetRef, ...]:
        """Every object it may ever write, by name: the operator may write no other."""
        ...

    def needs(self, options: Options | None) -> tuple[Prerequisite, ...]: ...

    def lists(self, options: Options | None) -> tuple[Resource, ...]:
        """Kinds of which it wants to see all objects (a kind that is not served has none)."""
        ...

    def reads(self, options: Options | None, facts: ClusterFacts) -> tuple[TargetRef, ...]:
        """Objects to look at, targets included if `draft` wants them, given what was found."""
        ...

    def draft(self, options: Options | None, facts: ClusterFacts) -> Draft:
        """Raises OptionError for options it cannot honour."""
        ...


def missing(
    needs: Sequence[Prerequisite], crds: Mapping[str, Free | None]
) -> tuple[Prerequisite, ...]:
    return tuple(need for need in needs if not _serves(crds.get(need.resource.crd), need))


def _serves(crd: Free | None, need: Prerequisite) -> bool:
    """Whether the definition is there, established, and serves the version."""
    if crd is None:
        return False
    versions = (crd.get("spec") or {}).get("versions") or ()
    conditions = (crd.get("status") or {}).get("conditions") or ()
    told = {c.get("type"): c.get("status") for c in conditions}
    names = [v.get("name") for v in versions if v.get("served")]
    served = bool(names) if need.any_version else need.resource.version in names
    return told.get("Established") == "True" and served


def missing_text(needs: Sequence[Prerequisite]) -> str:
    """A header, and a line for each definition; nothing if nothing is missing."""
    if not needs:
        return ""
    return "\n".join([_MISSING, *(_bullet(need) for need in needs)])


def _bullet(need: Prerequisite) -> str:
    resource = need.resource
    where = f"{resource.group}.{resource.version}"
    return f"  - {resource.kind} ({where})" + (f": {need.hint}" if need.hint else "")


def manifest_head(ref: TargetRef) -> Free:
    """What every manifest of this object begins with."""
    return {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": {"name": ref.name, "namespace": ref.namespace},
    }


# Advertising: every profile that wants to be found has an object, with action Ignore.
#
# `kubectl get virtplatformconfig` is thereby the catalogue. Existing objects are never touched.
DESCRIPTION = f"{GROUP}/description"
IMPACT_SUMMARY = f"{GROUP}/impact-summary"
AUTO_CREATED = f"{GROUP}/auto-created"
CATEGORY = f"{GROUP}/category"


def advertisement(profile: PlatformProfile) -> Free:
    return {
        "metadata": {
            "name": profile.name,
            "annotations": {
                DESCRIPTION: profile.description,
                IMPACT_SUMMARY: profile.impact_summary,
                AUTO_CREATED: "true",
            },
            "labels": {CATEGORY: profile.category},
        },
        "spec": {"profile": profile.name, "action": "Ignore"},
    }
