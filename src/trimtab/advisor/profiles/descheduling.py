"""The KubeDescheduler that moves VMs away from loaded nodes, and what to know before wanting it.

Only fields that the cluster's CRD has are written: an unknown one would be dropped by the API
server without a word, and the plan would drift for ever. What an option cannot do here is
said in the plan instead.
"""

from typing import Any

from trimtab.advisor.api import LoadAwareOptions
from trimtab.advisor.kinds import DESCHEDULER, HYPERCONVERGED, SCHEDULER
from trimtab.advisor.plan.profile import ClusterFacts, DesiredObject, dig, manifest_head
from trimtab.advisor.profiles.eviction_limits import (
    HYPERCONVERGED_REFS,
    NODE_INPUT,
    TOTAL_INPUT,
    DerivedLimits,
    eviction_limits,
    in_words,
)
from trimtab.advisor.profiles.psi import (
    DEV,
    FALLBACK,
    KEPT,
    SOFT_TAINTER,
    Capabilities,
    is_on,
    profiles_with,
    roles,
)
from trimtab.kube.resources import Free

ITEM = "enable-load-aware-descheduling"
INTERVAL_S = 60
BACKGROUND, DEVIATION = "devEnableEvictionsInBackground", "devDeviationThresholds"
LOW_THRESHOLDS, REAL_LOAD = "devLowNodeUtilizationThresholds", "devActualUtilizationProfile"
_ALWAYS = ("spec.managementState", "spec.deschedulingIntervalSeconds", "spec.mode", "spec.profiles")


def descheduler_object(
    options: LoadAwareOptions, able: Capabilities, facts: ClusterFacts, depends_on: tuple[str, ...]
) -> tuple[DesiredObject, dict[str, Any]]:
    """The object that is wanted, and the values of HyperConverged that shaped it."""
    live = facts.get(DESCHEDULER)
    limits = _limits(options, able, facts)
    spec = _spec(options, able, live, limits)
    optional = [f"spec.{name}" for name in ("profileCustomizations", "evictionLimits")]
    wanted = DesiredObject(
        name=ITEM,
        desired={**manifest_head(DESCHEDULER), "spec": spec},
        managed_fields=(*_ALWAYS, *(path for path in optional if path[5:] in spec)),
        severity="Low" if live else "Medium",
        impact=_impact(options, live),
        message=f"KubeDescheduler 'cluster' will be configured with profile '{able.profile}'",
        depends_on=depends_on,
        reasons=_reasons(options, able, limits),
        warnings=(
            *_without_effect(options, able),
            *_preflight(options, able, facts, live),
            *([limits.doubt] if limits and limits.doubt and "node" in able.limits else []),
        ),
    )
    return wanted, dict(limits.inputs) if limits else {}


def interval_s(options: LoadAwareOptions) -> int:
    wanted = options.descheduling_interval_seconds
    return wanted if wanted > 0 else INTERVAL_S


def _limits(
    options: LoadAwareOptions, able: Capabilities, facts: ClusterFacts
) -> DerivedLimits | None:
    if not able.is_kubevirt or not able.limits:
        return None
    return eviction_limits(options, facts, per_node="node" in able.limits)


def _spec(
    options: LoadAwareOptions, able: Capabilities, live: Free | None, limits: DerivedLimits | None
) -> Free:
    spec: Free = {
        "managementState": "Managed",
        "deschedulingIntervalSeconds": interval_s(options),
        "mode": options.mode,
        "profiles": profiles_with(live, able.profile),
    }
    if customizations := _customizations(options, able):
        spec["profileCustomizations"] = customizations
    if limits:
        values = {"total": limits.total, "node": limits.node}
        spec["evictionLimits"] = {name: values[name] for name in values if name in able.limits}
    return spec


def _customizations(options: LoadAwareOptions, able: Capabilities) -> Free:
    if not able.is_kubevirt:
        return {BACKGROUND: True} if options.background_evictions else {}
    wanted = {
        BACKGROUND: True,
        SOFT_TAINTER: True,
        DEVIATION: options.dev_deviation_thresholds,
    }
    return {name: value for name, value in wanted.items() if able.customizes(name)}


def _impact(options: LoadAwareOptions, live: Free | None) -> str:
    what = "updates the descheduler's configuration" if live else "installs a descheduler"
    if options.mode == "Predictive":
        return f"{what}; mode Predictive only simulates: nothing is evicted"
    return f"{what}; VMs will be live-migrated away from loaded nodes"


def _reasons(
    options: LoadAwareOptions, able: Capabilities, limits: DerivedLimits | None
) -> dict[str, str]:
    """Why each field has the value that it gets."""
    custom, given = "spec.profileCustomizations", "options.loadAware"
    why = {
        "spec.managementState": "the descheduler's operator acts on a Managed object only",
        "spec.deschedulingIntervalSeconds": f"how often load is looked at; {given}."
        "deschedulingIntervalSeconds",
        "spec.mode": f"Automatic evicts, Predictive only simulates; {given}.mode",
        "spec.profiles": f"{able.profile} is the best profile that this KubeDescheduler knows; "
        f"{' and '.join(KEPT)} stay, others contradict it",
        f"{custom}.{BACKGROUND}": "an eviction of a VM is a live migration, which takes time: the "
        "descheduler waits for it",
        f"{custom}.{SOFT_TAINTER}": "loaded nodes are marked, so that VMs do not move back to them",
        f"{custom}.{DEVIATION}": in_words(options.dev_deviation_thresholds)
        + f"; {given}.{DEVIATION}",
    }
    for name, source in (("total", TOTAL_INPUT), ("node", NODE_INPUT)):
        value = (limits.inputs if limits else {}).get(source)
        option = f"evictionLimit{name.capitalize()}"
        why[f"spec.evictionLimits.{name}"] = (
            f"{source.rpartition('.')[2]} of HyperConverged is {value}, and people keep a share"
            if value is not None
            else f"moves at a time; {given}.{option}, or the default"
        )
    return why


def _without_effect(options: LoadAwareOptions, able: Capabilities) -> list[str]:
    """Options that were given and that this CRD has no field for."""
    given = {
        "devDeviationThresholds": options.dev_deviation_thresholds
        != LoadAwareOptions().dev_deviation_thresholds,
        "evictionLimitTotal": options.eviction_limit_total is not None,
        "evictionLimitNode": options.eviction_limit_node is not None,
    }
    possible = {
        "devDeviationThresholds": able.is_kubevirt and able.customizes(DEVIATION),
        "evictionLimitTotal": able.is_kubevirt and "total" in able.limits,
        "evictionLimitNode": able.is_kubevirt and "node" in able.limits,
    }
    said = [
        f"options.loadAware.{name} has no effect: this KubeDescheduler has no such field "
        f"for profile {able.profile}"
        for name, is_given in given.items()
        if is_given and not possible[name]
    ]
    if options.algorithm:
        said.append("options.loadAware.algorithm has no effect: it is for target upstream")
    if options.background_evictions and able.is_kubevirt:
        said.append("options.loadAware.backgroundEvictions has no effect: they are on anyway")
    return said


def _preflight(
    options: LoadAwareOptions, able: Capabilities, facts: ClusterFacts, live: Free | None
) -> list[str]:
    """What the descheduler's operator would trip over, or a reviewer should know."""
    return [
        *(_fallback_warnings(options, facts) if not able.is_kubevirt else ()),
        *(_kubevirt_warnings(options, able, facts, live) if able.is_kubevirt else ()),
        *(_first_time(options, live)),
    ]


def _fallback_warnings(options: LoadAwareOptions, facts: ClusterFacts) -> list[str]:
    said = [
        f"this KubeDescheduler knows no KubeVirt profile; {FALLBACK} goes by requests and "
        "thresholds of its own, not by load"
    ]
    if not options.background_evictions:
        said.append(
            f"{FALLBACK} does not wait for live migrations unless {BACKGROUND} is true (KubeVirt "
            "alerts HCOMisconfiguredDescheduler); set options.loadAware.backgroundEvictions: true"
        )
    if dig(facts.get(SCHEDULER), "spec", "profile") == "HighNodeUtilization":
        said.append(f"the scheduler's profile HighNodeUtilization contradicts {FALLBACK}")
    return said


def _kubevirt_warnings(
    options: LoadAwareOptions, able: Capabilities, facts: ClusterFacts, live: Free | None
) -> list[str]:
    said = []
    dark = [role for role in roles(facts) if not is_on(role, facts)]
    if not options.enable_psi_metrics and dark:
        said.append(
            f"PSI is off in pool {', '.join(dark)} and enablePSIMetrics is false: the descheduler "
            f"operator refuses {able.profile} until nodes run with psi=1"
        )
    if all(facts.get(ref) is None for ref in HYPERCONVERGED_REFS):
        said.append(
            f"HyperConverged {HYPERCONVERGED.namespace}/{HYPERCONVERGED.name} was not found: the "
            f"descheduler operator refuses {able.profile} unless KubeVirt is deployed"
        )
    if dig(live, "spec", "profileCustomizations", LOW_THRESHOLDS):
        said.append(
            f"spec.profileCustomizations.{LOW_THRESHOLDS} is set and excludes {DEVIATION}; its "
            "owner must remove it, or the descheduler operator refuses both"
        )
    if able.soft_tainter_ignored and able.customizes(SOFT_TAINTER):
        said.append(f"{SOFT_TAINTER} is deprecated here and ignored by the descheduler operator")
    has_metrics = dig(live, "spec", "profileCustomizations", REAL_LOAD)
    if able.profile == DEV and able.customizes(REAL_LOAD) and not has_metrics:
        said.append(f"{REAL_LOAD} is not set: depending on the release, {DEV} then sees no load")
    return said


def _first_time(options: LoadAwareOptions, live: Free | None) -> list[str]:
    if options.mode == "Automatic" and dig(live, "spec", "mode") != "Automatic":
        return ["evictions begin with this plan; mode: Predictive first would only simulate them"]
    return []
