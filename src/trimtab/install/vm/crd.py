"""The CustomResourceDefinitions of VirtualMachine and VirtualMachineMigration.

Written by hand rather than derived: the limits and sentences in here are what a user meets
when a VM is refused. Every string and list has a bound, which keeps the CEL rules affordable.
"""

from typing import get_args

from trimtab.kube.crd_schema import (
    Schema,
    choice,
    column,
    count,
    crd,
    flag,
    number,
    obj,
    quantity,
    rule,
    string,
)
from trimtab.kube.machines import MIGRATIONS, VMS, MigrationPhase, Phase
from trimtab.model.limits import MAX_BYTES, MAX_CORES, MAX_SECONDS, MAX_USE, MIN_SECONDS
from trimtab.model.names import MAX_OBJECT_NAME, OBJECT_NAME
from trimtab.virt.eviction import EvictionStrategy


def crds() -> list[Schema]:
    return [_virtual_machine(), _migration()]


def _virtual_machine() -> Schema:
    columns = [
        column("Phase", ".status.phase"),
        column("Node", ".status.nodeName"),
        column("CPU", ".status.allocated.cpu"),
        column("Memory", ".status.allocated.memory"),
        column("CPU%", ".status.cpuPercent", "integer"),
        column("Memory%", ".status.memoryPercent", "integer"),
        column("Pod", ".status.podName", wide=True),
        column("Evacuating", ".status.evacuationNodeName", wide=True),
        column("Age", ".metadata.creationTimestamp", "date"),
    ]
    schema = obj({"spec": _vm_spec(), "status": _vm_status()}, required=["spec"])
    return crd(VMS, ["vm", "vms"], schema, columns)


def _migration() -> Schema:
    columns = [
        column("VM", ".spec.vmName"),
        column("Phase", ".status.phase"),
        column("Source", ".status.sourceNode"),
        column("Target", ".status.targetNode"),
        column("Attempts", ".status.attempts", "integer", wide=True),
        column("Reason", ".status.reason", wide=True),
        column("Age", ".metadata.creationTimestamp", "date"),
    ]
    schema = obj({"spec": _migration_spec(), "status": _migration_status()}, required=["spec"])
    return crd(MIGRATIONS, ["vmm", "vmms"], schema, columns)


def _vm_spec() -> Schema:
    properties = {
        "running": flag(True, "Whether the VM is to run."),
        "resources": obj(
            {
                "cpu": quantity(
                    "Cores given to the VM.",
                    above_zero="cpu must be above 0",
                    most=MAX_CORES,
                ),
                "memory": quantity(
                    "Memory given to the VM.",
                    above_zero="memory must be above 0",
                    most=MAX_BYTES,
                ),
            },
            required=["cpu", "memory"],
        ),
        "utilization": obj(
            {
                "cpu": number(
                    "Share of the cores in use; may exceed 1.", default=0.5, most=MAX_USE
                ),
                "memory": number("Share of the memory in use.", default=0.8, most=1),
            },
            default={},
        ),
        "load": obj(
            {
                "cpu": curve("CPU use over time.", most=MAX_USE),
                "memory": curve("Memory use over time.", most=1),
            },
            text="Curves over time that replace `utilization`.",
        ),
        "evictionStrategy": choice(
            get_args(EvictionStrategy), "What an eviction does to the VM.", default="LiveMigrate"
        ),
        "liveMigratable": flag(True, "False simulates a VM that cannot move."),
    }
    return obj(properties, required=["resources"])


def _vm_status() -> Schema:
    given = obj({"cpu": string(64, "Cores it has."), "memory": string(64, "Memory it has.")})
    used = obj({"cpu": string(64, "Cores it uses."), "memory": string(64, "Memory it uses.")})
    return obj(
        {
            "phase": choice(get_args(Phase), "Where the VM is in its life."),
            "nodeName": string(253, "The node of the active pod."),
            "podName": string(253, "The active pod; named here before it is created."),
            "incarnation": count("How many pods the VM has had."),
            "evacuationNodeName": string(253, "The node that the VM is to leave."),
            "migrationName": string(253, "The migration under way."),
            "allocated": given,
            "used": used,
            "cpuPercent": count("Use of the allocated cores."),
            "memoryPercent": count("Use of the allocated memory."),
            "observedGeneration": count("The spec that this status answers."),
            "conditions": _conditions(),
        }
    )


def _migration_spec() -> Schema:
    properties = {
        "vmName": string(MAX_OBJECT_NAME, "The VM to move.", least=1, pattern=f"^{OBJECT_NAME}$"),
        "targetNode": string(
            MAX_OBJECT_NAME,
            "Where to: a wish, or with `force` a condition.",
            pattern=f"^({OBJECT_NAME})?$",
        ),
        "force": flag(False, "Only `targetNode` will do."),
    }
    rules = [
        rule("self.vmName == oldSelf.vmName", "vmName cannot change; create another migration"),
        rule("!self.force || self.targetNode != ''", "force needs a targetNode"),
    ]
    properties["targetNode"]["default"] = ""
    return obj(properties, required=["vmName"], rules=rules)


def _migration_status() -> Schema:
    time = {"type": "string", "format": "date-time"}
    return obj(
        {
            "phase": choice(get_args(MigrationPhase), "Where the migration is."),
            "sourceNode": string(253, "The node that the VM leaves."),
            "targetNode": string(253, "The node that it came to."),
            "targetPod": string(253, "Its new pod; named here before it is created."),
            "startTime": time | {"description": "When it began, after waiting for its turn."},
            "precopyStartTime": time | {"description": "When copying the memory began."},
            "completionTime": time | {"description": "When it ended, well or not."},
            "reason": string(1024, "Why it did not succeed."),
            "attempts": count("Which attempt in a row this is; failures count."),
        }
    )


def _conditions() -> Schema:
    condition = obj(
        {
            "type": string(64),
            "status": choice(("True", "False", "Unknown"), ""),
            "reason": string(128),
            "message": string(1024),
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": count(""),
        },
        required=["type", "status"],
    )
    return {
        "description": "Ready: its pod runs. LiveMigratable: it can move.",
        "type": "array",
        "maxItems": 16,
        "items": condition,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }


# The schema of a load curve, and which fields belong to which kind of it.
MAX_TRACE = 2000
FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constant": (("value",), ()),
    "steps": (("points",), ("repeat", "delay")),
    "diurnal": (("low", "high"), ("peakAt", "period")),
    "spikes": (("base", "peak", "every", "lasts"), ("seed", "delay")),
    "trace": (("values",), ("interval", "repeat")),
}
"""The fields of each curve: those it needs, those it may have."""


def curve(text: str, *, most: float) -> Schema:
    """One object for all five curves, with values up to `most`.

    A structural schema cannot say "one of these types".
    """
    point = {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {"type": "number", "minimum": 0, "maximum": MAX_SECONDS},
    }
    period = {"least": MIN_SECONDS, "most": MAX_SECONDS}
    moment = {"least": -MAX_SECONDS, "most": MAX_SECONDS}
    properties = {
        "type": choice(tuple(FIELDS), "Which curve."),
        "value": number("constant: the value.", most=most),
        "points": {
            "description": "steps: pairs of seconds and the value from then on.",
            "type": "array",
            "minItems": 1,
            "maxItems": 500,
            "items": point,
        },
        "repeat": {
            "description": "steps: seconds after which it starts again; trace: whether it does.",
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "delay": number("steps, spikes: seconds later.", **moment),
        "low": number("diurnal: the lowest value.", most=most),
        "high": number("diurnal: the highest value.", most=most),
        "peakAt": number("diurnal: seconds to the highest value.", **moment),
        "period": number("diurnal: seconds.", **period),
        "base": number("spikes: the value between spikes.", most=most),
        "peak": number("spikes: the value during a spike.", most=most),
        "every": number("spikes: seconds from one to the next, on average.", **period),
        "lasts": number("spikes: seconds.", **period),
        "seed": {"type": "integer", "description": "spikes: another seed, other moments."},
        "values": {
            "description": "trace: the recorded values.",
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_TRACE,
            "items": {"type": "number", "minimum": 0, "maximum": most},
        },
        "interval": number("trace: seconds that each value lasts.", **period),
    }
    return obj(properties, required=["type"], rules=_curve_rules(most), text=text)


def _curve_rules(most: float) -> list[Schema]:
    """What each type needs and must not have: elsewhere other fields are an error, too.

    `repeat` is missing, because CEL does not see a field of two types.
    """
    fields = {name for needs, may in FIELDS.values() for name in (*needs, *may)} - {"repeat"}
    rules = [
        rule("!has(self.low) || !has(self.high) || self.low <= self.high", "low is above high"),
        rule(
            "!has(self.lasts) || !has(self.every) || self.lasts <= self.every",
            "lasts is longer than every",
        ),
        rule(
            f"!has(self.points) || self.points.all(point, point[1] <= {float(most)})",
            f"the values of the points must be at most {most:g}",
        ),
        rule(
            "!has(self.points) || self.points.map(point, point[0]).isSorted()",
            "the times of the points must rise",
        ),
    ]
    for kind, (needs, may) in FIELDS.items():
        foreign = sorted(fields.difference(needs, may))
        has = " && ".join(f"has(self.{name})" for name in needs)
        not_has = " && ".join(f"!has(self.{name})" for name in foreign)
        other = f"self.type != '{kind}'"
        rules += [
            rule(f"{other} || ({has})", f"a {kind} curve needs {', '.join(needs)}"),
            rule(f"{other} || ({not_has})", f"a {kind} curve has no {', '.join(foreign)}"),
        ]
    return rules
