"""Four generations of the KubeDescheduler's definition, by the labels that users know.

What differs is what the profile must notice: which profiles there are, which customizations,
and whether evictions can be limited per node.
"""

from typing import Literal, get_args

from trimtab.advisor.kinds import KUBE_DESCHEDULERS
from trimtab.advisor.mocks.schema import (
    FLAG,
    FREE,
    INT,
    TEXT,
    Schema,
    definition,
    items,
    one_of,
    record,
)
from trimtab.advisor.profiles.psi import DEV, GA

Release = Literal["5.10", "5.14", "5.21", "5.32"]
RELEASES: tuple[Release, ...] = get_args(Release)
COMMON = (
    "AffinityAndTaints",
    "TopologyAndDuplicates",
    "LifecycleAndUtilization",
    "DevPreviewLongLifecycle",
    "LongLifecycle",
    "SoftTopologyAndDuplicates",
    "EvictPodsWithLocalStorage",
    "EvictPodsWithPVC",
    "CompactAndScale",
)
PROFILES: dict[Release, tuple[str, ...]] = {
    "5.10": COMMON,
    "5.14": (*COMMON, DEV),
    "5.21": (*COMMON, DEV),
    "5.32": (*COMMON, DEV, GA),
}
_LEVELS = one_of("", "Normal", "Debug", "Trace", "TraceAll", default="Normal")
_DEVIATIONS = ("Low", "Medium", "High", "AsymmetricLow", "AsymmetricMedium", "AsymmetricHigh", "")


def kube_descheduler(release: Release) -> Schema:
    """The CustomResourceDefinition of a release."""
    spec = record(
        {
            "managementState": {
                "type": "string",
                "pattern": "^(Managed|Unmanaged|Force|Removed)$",
            },
            "logLevel": _LEVELS,
            "operatorLogLevel": _LEVELS,
            "observedConfig": {**FREE, "nullable": True},
            "unsupportedConfigOverrides": {**FREE, "nullable": True},
            "deschedulingIntervalSeconds": INT,
            "mode": one_of("Automatic", "Predictive", default="Predictive"),
            "profiles": items(one_of(*PROFILES[release])),
            "profileCustomizations": record(_customizations(release), nullable=True),
            "evictionLimits": record(_limits(per_node=release == "5.32"), nullable=True),
        }
    )
    rules = [{"rule": "self.metadata.name == 'cluster'", "message": "its name must be 'cluster'"}]
    root: Schema = {"x-kubernetes-validations": rules} if release == "5.32" else {}
    return definition(KUBE_DESCHEDULERS, spec, dict(FREE), **root)


def _customizations(release: Release) -> Schema:
    first = release == "5.10"
    low = {"type": "string", "default": "Medium"} if first else one_of("Low", "Medium", "High", "")
    common: Schema = {
        "devEnableEvictionsInBackground": FLAG,
        "devHighNodeUtilizationThresholds": one_of("Minimal", "Modest", "Moderate", ""),
        "devLowNodeUtilizationThresholds": low,
        "namespaces": record({"included": items(TEXT), "excluded": items(TEXT)}),
        "podLifetime": TEXT,
        "thresholdPriority": {**INT, "nullable": True},
        "thresholdPriorityClassName": TEXT,
    }
    if first:
        return common
    deprecated = "Deprecated: ignored by the operator, which decides by the profile."
    wanted = "Lets the operator taint nodes above the thresholds softly."
    return common | {
        "devActualUtilizationProfile": TEXT,
        "devDeviationThresholds": one_of(*_DEVIATIONS),
        "devEnableSoftTainter": {
            **FLAG,
            "description": wanted if release == "5.14" else deprecated,
        },
        # not the field of this name one level up, which alone limits evictions
        "evictionLimits": record(_limits(per_node=True)),
    }


def _limits(*, per_node: bool) -> Schema:
    total: Schema = {"total": {**INT, "nullable": True}}
    return total | {"node": {**INT, "nullable": True}} if per_node else total
