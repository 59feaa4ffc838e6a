"""The CustomResourceDefinition of VirtPlatformConfig, with the limits and sentences of refusals.

A default is only filled in where it holds for everybody: the memory ratio has none, because
it depends on swap, and a default that another rule then refuses would be a trap.
"""

from typing import get_args

from trimtab.advisor.api import (
    CONFIGS,
    Action,
    Deviation,
    FailurePolicy,
    Mode,
    ProfileName,
    Target,
)
from trimtab.advisor.plan import durations
from trimtab.advisor.profiles.eviction_limits import all_in_words
from trimtab.install.advisor.crd_status import FIELD, accepted, status_schema
from trimtab.kube.crd_schema import (
    Schema,
    array,
    choice,
    column,
    crd,
    flag,
    integer,
    obj,
    rule,
    string,
)

LOAD_AWARE, DENSITY = "load-aware-rebalancing", "virt-higher-density"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LABEL_VALUE = f"^({_NAME})?$"
LABEL_KEY = rf"^([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}$"


def config_crd() -> Schema:
    columns = [
        column("Action", ".spec.action"),
        column("Impact", ".status.impactSeverity"),
        column("Phase", ".status.phase"),
        column("Plan", ".status.planId", wide=True),
        column("Age", ".metadata.creationTimestamp", "date"),
    ]
    singleton = rule(
        "self.metadata.name == self.spec.profile",
        "metadata.name must equal spec.profile: there is a single VirtPlatformConfig per profile",
    )
    schema = obj({"spec": _spec(), "status": status_schema()}, required=["spec"], rules=[singleton])
    return crd(CONFIGS, [], schema, columns)


def _spec() -> Schema:
    properties = {
        "profile": choice(get_args(ProfileName), "What the cluster is configured for."),
        "action": choice(
            get_args(Action),
            "DryRun plans, Apply carries out the plan that is shown, Rollback plans the way back, "
            "Ignore leaves everything as it is.",
            default="DryRun",
        ),
        "failurePolicy": choice(
            get_args(FailurePolicy),
            "What a failed item does to those after it.",
            default="Abort",
        ),
        "bypassOptimisticLock": flag(
            False, "Apply although the cluster changed since, and again after drift."
        ),
        "waitTimeout": {
            "type": "string",
            "maxLength": 32,
            "pattern": durations.PATTERN,
            "description": "How long an item may take to be in effect; unset waits for ever.",
        },
        "approvedPlan": {
            "type": "string",
            "pattern": "^([0-9a-f]{12})?$",
            "maxLength": 12,
            "description": "Approves the plan with this id, for one start, and no other.",
        },
        "options": _options(),
        "ignore": _ignore(),
        "accepted": accepted("Drift that may stay, for as long as the field has this value."),
    }
    return obj(properties, required=["profile"], rules=_spec_rules())


def _ignore() -> Schema:
    which = rule("has(self.field) != has(self.manager)", "ignore names either a field or a manager")
    entry = obj(
        {
            "field": {
                "type": "string",
                "maxLength": 512,
                "pattern": FIELD,
                "description": "Path of a field as in managedFields: spec.mode.",
            },
            "manager": string(128, "A field manager: all fields that it owns.", least=1),
            "item": string(253, "Only in this item of the plan; unset: in all."),
        },
        rules=[which],
    )
    return array(entry, 32, "What plans neither write nor compare.")


def _spec_rules() -> list[Schema]:
    only = "options.{} belongs to the profile {} only"
    needs = "profile {} takes its options in options.{}; leave options out for the defaults"
    rules = [rule("self.profile == oldSelf.profile", "profile cannot be changed; use another one")]
    for profile, mine, other in (
        (LOAD_AWARE, "loadAware", "virtHigherDensity"),
        (DENSITY, "virtHigherDensity", "loadAware"),
    ):
        is_it = f"self.profile == '{profile}'"
        rules += [
            rule(
                f"!({is_it} && has(self.options)) || "
                f"(has(self.options.{mine}) && !has(self.options.{other}))",
                needs.format(profile, mine),
            ),
            rule(
                f"!(has(self.options) && has(self.options.{mine})) || {is_it}",
                only.format(mine, profile),
            ),
        ]
    return rules


def _options() -> Schema:
    return obj({"loadAware": _load_aware(), "virtHigherDensity": _density()})


def _load_aware() -> Schema:
    properties = {
        "deschedulingIntervalSeconds": integer(60, 86400, "Seconds between two runs.", 60),
        "mode": choice(
            get_args(Mode), "Automatic evicts, Predictive only simulates.", default="Automatic"
        ),
        "enablePSIMetrics": flag(True, "Switch PSI on by a kernel argument: nodes restart."),
        "devDeviationThresholds": choice(
            get_args(Deviation),
            "How far from the average load is too far. " + ". ".join(all_in_words().values()) + ".",
            default="AsymmetricLow",
        ),
        "evictionLimitTotal": integer(
            1, 1000, "Evictions at a time in the cluster; unset: from HyperConverged."
        ),
        "evictionLimitNode": integer(
            1, 100, "Evictions at a time from one node; unset: from HyperConverged."
        ),
        "target": choice(
            get_args(Target),
            "Which descheduler: OpenShift's operator, or the upstream one.",
            default="openshift",
        ),
        "algorithm": string(63, "The node score of the upstream target; empty: the default."),
        "backgroundEvictions": flag(
            False, "Wait for live migrations also where LongLifecycle is all there is."
        ),
    }
    limits = rule(
        "!has(self.evictionLimitNode) || !has(self.evictionLimitTotal) || "
        "self.evictionLimitNode <= self.evictionLimitTotal",
        "evictionLimitNode must not be larger than evictionLimitTotal",
    )
    return obj(properties, rules=[limits])


def _density() -> Schema:
    requirement = obj(
        {
            "key": string(317, least=1) | {"pattern": LABEL_KEY},
            "operator": choice(_OPERATORS, ""),
            "values": array({"type": "string", "maxLength": 63, "pattern": LABEL_VALUE}, 64),
        },
        required=["key", "operator"],
        rules=[
            rule(
                "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : "
                "!has(self.values) || self.values.size() == 0",
                "In and NotIn need values, Exists and DoesNotExist take none",
            )
        ],
    )
    selector = obj(
        {
            "matchLabels": {
                "type": "object",
                "additionalProperties": {
                    "type": "string",
                    "maxLength": 63,
                    "pattern": LABEL_VALUE,
                },
                "maxProperties": 32,
                "description": "Labels of the nodes.",
                "x-kubernetes-validations": [
                    rule(
                        "self.all(key, !format.qualifiedName().validate(key).hasValue())",
                        "keys must be names of labels, like kubernetes.io/arch",
                    )
                ],
            },
            "matchExpressions": array(requirement, 32),
        },
        text="Nodes that share memory pages; empty: all.",
    )
    selector["x-kubernetes-map-type"] = "atomic"
    properties = {
        "enableSwap": {"type": "boolean", "description": "Swap for VMs; unset: true."},
        "ksmConfiguration": obj(
            {
                "enabled": flag(True, "Share equal memory pages."),
                "nodeLabelSelector": selector,
            }
        ),
        "memoryToRequestRatio": integer(
            100,
            300,
            "Percent of memory given to what is asked for; unset: 150 with swap, else 120.",
        ),
    }
    swap = rule(
        "!has(self.memoryToRequestRatio) || self.memoryToRequestRatio <= 120 || "
        "!has(self.enableSwap) || self.enableSwap",
        "memoryToRequestRatio above 120 requires enableSwap: true",
    )
    return obj(properties, rules=[swap])
