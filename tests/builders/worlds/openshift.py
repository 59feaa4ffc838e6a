"""Clusters as a profile sees them, without a cluster: mocks, a baseline, and changes to it."""

import json
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from trimtab.advisor.api import LoadAwareOptions, Options, TargetRef
from trimtab.advisor.cluster.offline import Directory, plan_offline
from trimtab.advisor.kinds import DESCHEDULER, HYPERCONVERGED, MACHINE_CONFIGS
from trimtab.advisor.mocks.baseline import RENDERED, baseline
from trimtab.advisor.mocks.kube_descheduler import Release
from trimtab.advisor.mocks.manifests import definitions
from trimtab.advisor.plan.plan import PlatformPlan, target_of
from trimtab.advisor.plan.profile import Draft
from trimtab.advisor.profiles.registry import built_in
from trimtab.kube.resources import Free

LOAD_AWARE = "load-aware-rebalancing"
DENSITY = "virt-higher-density"


def a_cluster(release: Release = "5.32", *, without: Iterable[TargetRef] = ()) -> Directory:
    """The baseline on one release's definitions."""
    gone = set(without)
    objects = {target_of(obj): deepcopy(obj) for obj in baseline()}
    kept = {ref: obj for ref, obj in objects.items() if ref not in gone}
    crds = {crd["metadata"]["name"]: crd for crd in definitions(release)}
    return Directory(kept, crds)


def changed(cluster: Directory, ref: TargetRef, **spec: Any) -> Directory:
    """With fields of one object's spec replaced."""
    objects = dict(cluster.objects)
    obj = deepcopy(objects[ref])
    obj["spec"] = {**obj.get("spec", {}), **spec}
    objects[ref] = obj
    return Directory(objects, cluster.crds)


def added(cluster: Directory, *objects: Free) -> Directory:
    more = {target_of(obj): obj for obj in objects}
    return Directory({**cluster.objects, **more}, cluster.crds)


def with_profiles(cluster: Directory, *names: str) -> Directory:
    return changed(cluster, DESCHEDULER, profiles=list(names))


def with_migrations(cluster: Directory, total: int | None, node: int | None) -> Directory:
    """HyperConverged's limits; None leaves one out."""
    limits = {"parallelMigrationsPerCluster": total, "parallelOutboundMigrationsPerNode": node}
    given = {name: value for name, value in limits.items() if value is not None}
    return changed(cluster, HYPERCONVERGED, liveMigrationConfig=given)


def running_with(cluster: Directory, *arguments: str) -> Directory:
    """The workers boot with these kernel arguments."""
    rendered = MACHINE_CONFIGS.ref(RENDERED.format("worker"))
    return changed(cluster, rendered, kernelArguments=list(arguments))


def load_aware(**options: Any) -> Options:
    return Options(load_aware=LoadAwareOptions(**options))


def drafted(cluster: Directory, options: Options | None = None, name: str = LOAD_AWARE) -> Draft:
    profile = built_in().get(name)
    return profile.draft(options, cluster.facts(profile, options))


def planned(
    cluster: Directory, options: Options | None = None, name: str = LOAD_AWARE
) -> PlatformPlan:
    return plan_offline(built_in().get(name), options, cluster)


def said(draft: Draft) -> str:
    """Every warning of a draft, as one text."""
    lines = [
        *draft.warnings,
        *(line for wanted in draft.desired_objects for line in wanted.warnings),
    ]
    return "\n".join(lines)


def save_cluster(directory: Path) -> None:
    """Write a cluster of release 5.32 as kubectl saves it: objects and definitions in a list."""
    cluster = a_cluster("5.32")
    everything = [*cluster.crds.values(), *cluster.objects.values()]
    document = {"apiVersion": "v1", "kind": "List", "items": everything}
    (directory / "cluster.yaml").write_text(json.dumps(document))
