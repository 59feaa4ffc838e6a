"""What a cluster's KubeDescheduler can do, read from its CRD's schema and never from a version.

The schema says which profiles there are, which customizations, and whether evictions can be
limited per node. All of it is an input of the plan: an upgraded CRD re-plans.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trimtab.advisor.plan.profile import dig
from trimtab.kube.resources import Free

GA, DEV, FALLBACK = "KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate", "LongLifecycle"
PREFERENCE = (GA, DEV, FALLBACK)
KEPT = ("AffinityAndTaints", "SoftTopologyAndDuplicates")
"""Profiles of a live KubeDescheduler that do not contradict ours."""
SOFT_TAINTER = "devEnableSoftTainter"


class Capabilities(Struct, frozen=True):
    """`profile` is the best one there is; customizations and limits are sorted names."""

    profile: str = GA
    customizations: tuple[str, ...] | None = None
    """None: the schema does not tell."""
    limits: tuple[str, ...] = ()
    soft_tainter_ignored: bool = False

    @property
    def is_kubevirt(self) -> bool:
        return self.profile != FALLBACK

    def customizes(self, name: str) -> bool:
        return self.customizations is None or name in self.customizations


def capabilities(crd: Free | None) -> Capabilities:
    """Of the first version whose schema lists the profiles; without one, today's profile."""
    for version in dig(crd, "spec", "versions") or ():
        spec = dig(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")
        names = dig(spec, "profiles", "items", "enum")
        if names:
            return _read(spec, names)
    return Capabilities()


def _read(spec: Mapping[str, Any], names: list[str]) -> Capabilities:
    customizations = dig(spec, "profileCustomizations", "properties")
    described = str(dig(customizations, SOFT_TAINTER, "description") or "").lower()
    return Capabilities(
        profile=next((name for name in PREFERENCE if name in names), GA),
        customizations=None if customizations is None else tuple(sorted(customizations)),
        limits=tuple(sorted(dig(spec, "evictionLimits", "properties") or ())),
        soft_tainter_ignored="deprecated" in described or "ignored" in described,
    )


def profiles_with(live: Free | None, chosen: str) -> list[str]:
    """What stays of the live list, in its order, and the chosen profile last."""
    there = dig(live, "spec", "profiles") or ()
    kept = [name for name in dict.fromkeys(there) if name in KEPT]
    return [*kept, chosen]
