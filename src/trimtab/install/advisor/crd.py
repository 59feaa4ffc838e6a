"""The CustomResourceDefinition of VirtPlatformConfig, with the limits and sentences of refusals.

A default is only filled in where it holds for everybody: the memory ratio has none, because
it depends on swap, and a default that another rule then refuses would be a trap.
"""

from typing import get_args

from trimtab.advisor.api import CONFIGS, ProfileName
from trimtab.advisor.plan import durations
from trimtab.advisor.plan.profile import dig
from trimtab.advisor.profiles.eviction_limits import all_in_words
from trimtab.install.advisor.crd_status import FIELD, STATUS, accepted
from trimtab.install.definitions import Note, Notes, Schema, column, definition, under

LOAD_AWARE, DENSITY = "load-aware-rebalancing", "virt-higher-density"
_MEMBERS = {LOAD_AWARE: "loadAware", DENSITY: "virtHigherDensity"}
"""Where the options of a profile are."""
_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LABEL_VALUE = f"^({_NAME})?$"
LABEL_KEY = rf"^([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}$"

# Rules in CEL, and what the API server says to who breaks them.
_SINGLETON = {
    "self.metadata.name == self.spec.profile": (
        "metadata.name must equal spec.profile: there is a single VirtPlatformConfig per profile"
    )
}
_FIELD_OR_MANAGER = {
    "has(self.field) != has(self.manager)": "ignore names either a field or a manager"
}
_LIMITS = {
    "!has(self.evictionLimitNode) || !has(self.evictionLimitTotal) || "
    "self.evictionLimitNode <= self.evictionLimitTotal": (
        "evictionLimitNode must not be larger than evictionLimitTotal"
    )
}
_SWAP = {
    "!has(self.memoryToRequestRatio) || self.memoryToRequestRatio <= 120 || "
    "!has(self.enableSwap) || self.enableSwap": (
        "memoryToRequestRatio above 120 requires enableSwap: true"
    )
}
_LABEL_KEYS = {
    "self.all(key, !format.qualifiedName().validate(key).hasValue())": (
        "keys must be names of labels, like kubernetes.io/arch"
    )
}
_VALUES = {
    "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : "
    "!has(self.values) || self.values.size() == 0": (
        "In and NotIn need values, Exists and DoesNotExist take none"
    )
}


def config_crd() -> Schema:
    columns = [
        column("Action", ".spec.action"),
        column("Impact", ".status.impactSeverity"),
        column("Phase", ".status.phase"),
        column("Plan", ".status.planId", wide=True),
        column("Age", ".metadata.creationTimestamp", "date"),
    ]
    return definition(CONFIGS, {"": Note(rules=_SINGLETON), **_spec(), **STATUS}, columns=columns)


def _spec() -> Notes:
    return {
        "spec": Note(required=True, rules=_spec_rules()),
        "spec.profile": Note(
            "What the cluster is configured for.", choices=get_args(ProfileName), required=True
        ),
        "spec.action": Note(
            "DryRun plans, Apply carries out the plan that is shown, Rollback plans the way back, "
            "Ignore leaves everything as it is.",
            filled=True,
        ),
        "spec.failurePolicy": Note("What a failed item does to those after it.", filled=True),
        "spec.bypassOptimisticLock": Note(
            "Apply although the cluster changed since, and again after drift.", filled=True
        ),
        "spec.waitTimeout": Note(
            "How long an item may take to be in effect; unset waits for ever.",
            most=32,
            pattern=durations.PATTERN,
        ),
        "spec.approvedPlan": Note(
            "Approves the plan with this id, for one start, and no other.",
            most=12,
            pattern="^([0-9a-f]{12})?$",
        ),
        "spec.ignore": Note("What plans neither write nor compare.", most=32),
        "spec.ignore[]": Note(rules=_FIELD_OR_MANAGER),
        "spec.ignore[].field": Note(
            "Path of a field as in managedFields: spec.mode.", most=512, pattern=FIELD
        ),
        "spec.ignore[].manager": Note(
            "A field manager: all fields that it owns.", least=1, most=128
        ),
        "spec.ignore[].item": Note("Only in this item of the plan; unset: in all.", most=253),
        **accepted(
            "spec.accepted", "Drift that may stay, for as long as the field has this value."
        ),
        "spec.options.loadAware": Note(rules=_LIMITS),
        **under("spec.options.loadAware", _load_aware()),
        "spec.options.virtHigherDensity": Note(rules=_SWAP),
        **under("spec.options.virtHigherDensity", _density()),
    }


def _spec_rules() -> dict[str, str]:
    only = "options.{} belongs to the profile {} only"
    needs = "profile {} takes its options in options.{}; leave options out for the defaults"
    rules = {"self.profile == oldSelf.profile": "profile cannot be changed; use another one"}
    for profile, mine in _MEMBERS.items():
        (other,) = set(_MEMBERS.values()) - {mine}
        is_it = f"self.profile == '{profile}'"
        has_mine = (
            f"!({is_it} && has(self.options)) || "
            f"(has(self.options.{mine}) && !has(self.options.{other}))"
        )
        is_mine = f"!(has(self.options) && has(self.options.{mine})) || {is_it}"
        rules[has_mine] = needs.format(profile, mine)
        rules[is_mine] = only.format(mine, profile)
    return rules


def _load_aware() -> Notes:
    return {
        "deschedulingIntervalSeconds": _integer(
            "Seconds between two runs.", 60, 86400, filled=True
        ),
        "mode": Note("Automatic evicts, Predictive only simulates.", filled=True),
        "enablePSIMetrics": Note("Switch PSI on by a kernel argument: nodes restart.", filled=True),
        "devDeviationThresholds": Note(
            "How far from the average load is too far. " + ". ".join(all_in_words().values()) + ".",
            filled=True,
        ),
        "evictionLimitTotal": _integer(
            "Evictions at a time in the cluster; unset: from HyperConverged.", 1, 1000
        ),
        "evictionLimitNode": _integer(
            "Evictions at a time from one node; unset: from HyperConverged.", 1, 100
        ),
        "target": Note(
            "Which descheduler: OpenShift's operator, or the upstream one.", filled=True
        ),
        "algorithm": Note("The node score of the upstream target; empty: the default.", most=63),
        "backgroundEvictions": Note(
            "Wait for live migrations also where LongLifecycle is all there is.", filled=True
        ),
    }


def _density() -> Notes:
    selector: Notes = {
        "matchLabels": Note("Labels of the nodes.", most=32, rules=_LABEL_KEYS),
        "matchLabels[]": Note(most=63, pattern=LABEL_VALUE),
        "matchExpressions": Note(most=32),
        "matchExpressions[]": Note(rules=_VALUES),
        "matchExpressions[].key": Note(least=1, most=317, pattern=LABEL_KEY, required=True),
        "matchExpressions[].operator": Note(required=True),
        "matchExpressions[].values": Note(most=64),
        "matchExpressions[].values[]": Note(most=63, pattern=LABEL_VALUE),
    }
    return {
        "enableSwap": Note("Swap for VMs; unset: true."),
        "ksmConfiguration.enabled": Note("Share equal memory pages.", filled=True),
        "ksmConfiguration.nodeLabelSelector": Note(
            "Nodes that share memory pages; empty: all.",
            also={"x-kubernetes-map-type": "atomic"},
        ),
        **under("ksmConfiguration.nodeLabelSelector", selector),
        "memoryToRequestRatio": _integer(
            "Percent of memory given to what is asked for; unset: 150 with swap, else 120.",
            100,
            300,
        ),
    }


def _integer(text: str, least: int, most: int, *, filled: bool = False) -> Note:
    return Note(text, least=least, most=most, filled=filled, also={"format": "int32"})


# The options of a profile in words, for the command line.


def described(profile: str) -> list[tuple[str, str, str]]:
    """Path, default and meaning of every option; none for a profile without options."""
    version = config_crd()["spec"]["versions"][0]
    spec = dig(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")
    member = _MEMBERS.get(profile, "")
    schema = dig(spec, "options", "properties", member)
    return _rows(schema, f"options.{member}") if schema else []


def _rows(schema: Schema, at: str) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    for name, inner in (schema.get("properties") or {}).items():
        if inner.get("properties") and name != "nodeLabelSelector":
            rows += _rows(inner, f"{at}.{name}")
        else:
            rows.append((f"{at}.{name}", _default(inner), _meaning(inner)))
    return rows


def _default(schema: Schema) -> str:
    value = schema.get("default")
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _meaning(schema: Schema) -> str:
    values = schema.get("enum")
    bounds = [str(schema[key]) for key in ("minimum", "maximum") if key in schema]
    which = " | ".join(values) if values else " to ".join(bounds)
    text = str(schema.get("description", "")).strip()
    return f"{text} ({which})" if which else text
