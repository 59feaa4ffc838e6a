"""Planning without a cluster: from a directory of manifests, with the items and diffs of live.

The directory holds what `kubectl get -o yaml` printed, the CRDs included. With
`--show-managed-fields` the plan also tells which fields it takes from whom.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from trimtab.advisor.api import Accepted, Ignore, Options, TargetRef
from trimtab.advisor.cluster.server_apply import forced_apply, schema_of
from trimtab.advisor.decide.accepted_drift import accepting
from trimtab.advisor.kinds import NAMESPACES, resource_of
from trimtab.advisor.plan.ignored_fields import ignoring, overlooked, to_write
from trimtab.advisor.plan.plan import PlatformPlan, Preview, desired_item, make_plan, target_of
from trimtab.advisor.plan.profile import (
    ClusterFacts,
    DesiredObject,
    MissingError,
    PlatformProfile,
    Resource,
)
from trimtab.errors import ConfigError
from trimtab.files.yaml import read_documents
from trimtab.kube.resources import Free

SUFFIXES = (".yaml", ".yml", ".json")
_CRD = "CustomResourceDefinition"


class Directory(Struct, frozen=True):
    """What the manifests say: objects by reference, CRDs by name."""

    objects: Mapping[TargetRef, Free] = field(default_factory=dict)
    crds: Mapping[str, Free] = field(default_factory=dict)

    def facts(self, profile: PlatformProfile, options: Options | None) -> ClusterFacts:
        """As the API would answer: what is not in the directory does not exist."""
        lists = {kind: self._all(kind) for kind in profile.lists(options)}
        known: dict[TargetRef, Free | None] = {}
        facts = ClusterFacts(known, self.crds, lists)
        while new := [ref for ref in profile.reads(options, facts) if ref not in known]:
            known |= {ref: self.objects.get(ref) for ref in new}
            facts = ClusterFacts(known, self.crds, lists)
        asked = {ref: obj for ref, obj in known.items() if not self._unknown(ref)}
        return ClusterFacts(asked, self.crds, lists)

    def _all(self, kind: Resource) -> tuple[Free, ...]:
        wanted = (kind.api_version, kind.kind)
        found = [o for ref, o in self.objects.items() if (ref.api_version, ref.kind) == wanted]
        return tuple(found)

    def _unknown(self, ref: TargetRef) -> bool:
        """Saved manifests rarely include Namespaces, so an unlisted one is assumed to exist."""
        named = any(each.kind == NAMESPACES.kind for each in self.objects)
        return ref.kind == NAMESPACES.kind and not named


def read_directory(path: Path) -> Directory:
    """All manifests under `path`; lists are taken apart, later files win over earlier ones."""
    if not path.is_dir():
        raise ConfigError(f"--manifests {path}: not a directory")
    objects: dict[TargetRef, Free] = {}
    crds: dict[str, Free] = {}
    for file in sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES):
        for obj in _documents(file):
            ref = target_of(obj)
            if ref.kind == _CRD:
                crds[ref.name] = obj
            else:
                objects[ref] = obj
    if not objects and not crds:
        raise ConfigError(f"--manifests {path}: no manifests in it; use: kubectl get … -o yaml")
    return Directory(objects, crds)


def plan_offline(
    profile: PlatformProfile,
    options: Options | None,
    directory: Directory,
    ignore: tuple[Ignore, ...] = (),
    accepted: tuple[Accepted, ...] = (),
) -> PlatformPlan:
    """The plan that the operator would draft on a cluster in that state."""
    missing = [need for need in profile.needs(options) if need.resource.crd not in directory.crds]
    if missing:
        said = "; ".join(f"{need.resource.crd} ({need.hint})" for need in missing)
        raise MissingError(f"profile {profile.name}: missing definitions: {said}")
    draft = profile.draft(options, directory.facts(profile, options))
    live = {w.name: directory.objects.get(target_of(w.desired)) for w in draft.desired_objects}
    draft = ignoring(accepting(draft, accepted, live), ignore, live)
    previews = {
        wanted.name: _preview(wanted, directory, ignore) for wanted in draft.desired_objects
    }
    return make_plan(draft, previews, options)


def _preview(wanted: DesiredObject, directory: Directory, ignore: tuple[Ignore, ...]) -> Preview:
    item = desired_item(wanted)
    ref, live = item.target_ref, directory.objects.get(item.target_ref)
    resource = resource_of(ref.api_version, ref.kind)
    schema = None
    if resource is not None and resource.crd in directory.crds:
        schema = schema_of(directory.crds[resource.crd], resource.version)
    applied = forced_apply(live, to_write(item, live, ignore), schema)
    before, after = (overlooked(item, obj, ignore) for obj in (applied.before, applied.after))
    return Preview(before, after, applied.takes)


def _documents(file: Path) -> list[Free]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {' '.join(str(error).split())}") from error
    found = (each for each in read_documents(text, str(file)) if each)
    return [obj for each in found for obj in _objects(each, file)]


def _objects(document: Free, file: Path) -> list[Free]:
    if not isinstance(document, dict) or "kind" not in document:
        raise ConfigError(f"{file}: not a Kubernetes object; keep only manifests there")
    if str(document["kind"]).endswith("List") and isinstance(document.get("items"), list):
        return list(document["items"])
    return [document]
