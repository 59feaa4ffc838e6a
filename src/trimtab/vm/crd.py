"""The CustomResourceDefinitions of VirtualMachine and VirtualMachineMigration.

Written by hand rather than derived: the limits and sentences in here are what a user meets
when a VM is refused. Every string and list has a bound, which keeps the CEL rules affordable.
"""

from typing import Any, get_args

from trimtab.kube.virt import GROUP, VERSION, MigrationPhase, Phase, Strategy

Schema = dict[str, Any]
MAX_TRACE = 2000
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constant": (("value",), ()),
    "steps": (("points",), ("repeat", "delay")),
    "diurnal": (("low", "high"), ("peakAt", "period")),
    "spikes": (("base", "peak", "every", "lasts"), ("seed", "delay")),
    "trace": (("values",), ("interval", "repeat")),
}
"""The fields of each curve: those it needs, those it may have."""
_POSITIVE = (
    "type(self) == int ? self > 0 : isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))"
)


def crds() -> list[Schema]:
    return [_virtual_machine(), _migration()]


def _virtual_machine() -> Schema:
    columns = [
        _column("Phase", ".status.phase"),
        _column("Node", ".status.nodeName"),
        _column("CPU", ".status.allocated.cpu"),
        _column("Memory", ".status.allocated.memory"),
        _column("CPU%", ".status.cpuPercent", "integer"),
        _column("Memory%", ".status.memoryPercent", "integer"),
        _column("Pod", ".status.podName", wide=True),
        _column("Evacuating", ".status.evacuationNodeName", wide=True),
        _column("Age", ".metadata.creationTimestamp", "date"),
    ]
    schema = _object({"spec": _vm_spec(), "status": _vm_status()}, required=["spec"])
    return _crd("VirtualMachine", "virtualmachines", ["vm", "vms"], schema, columns)


def _migration() -> Schema:
    columns = [
        _column("VM", ".spec.vmName"),
        _column("Phase", ".status.phase"),
        _column("Source", ".status.sourceNode"),
        _column("Target", ".status.targetNode"),
        _column("Attempts", ".status.attempts", "integer", wide=True),
        _column("Reason", ".status.reason", wide=True),
        _column("Age", ".metadata.creationTimestamp", "date"),
    ]
    schema = _object({"spec": _migration_spec(), "status": _migration_status()}, required=["spec"])
    return _crd(
        "VirtualMachineMigration", "virtualmachinemigrations", ["vmm", "vmms"], schema, columns
    )


def _vm_spec() -> Schema:
    properties = {
        "running": _flag(True, "Whether the VM is to run."),
        "resources": _object(
            {
                "cpu": _quantity("Cores given to the VM.", below_zero="cpu must be above 0"),
                "memory": _quantity("Memory given to the VM.", below_zero="memory must be above 0"),
            },
            required=["cpu", "memory"],
        ),
        "utilization": _object(
            {
                "cpu": _number("Share of the cores in use; may exceed 1.", default=0.5),
                "memory": _number("Share of the memory in use.", default=0.8, most=1),
            },
            default={},
        ),
        "load": _object(
            {"cpu": _curve("CPU use over time."), "memory": _curve("Memory use over time.")},
            text="Curves over time that replace `utilization`.",
        ),
        "evictionStrategy": _choice(
            get_args(Strategy), "What an eviction does to the VM.", default="LiveMigrate"
        ),
        "liveMigratable": _flag(True, "False simulates a VM that cannot move."),
    }
    return _object(properties, required=["resources"])


def _vm_status() -> Schema:
    given = _object({"cpu": _text(64, "Cores it has."), "memory": _text(64, "Memory it has.")})
    used = _object({"cpu": _text(64, "Cores it uses."), "memory": _text(64, "Memory it uses.")})
    return _object(
        {
            "phase": _choice(get_args(Phase), "Where the VM is in its life."),
            "nodeName": _text(253, "The node of the active pod."),
            "podName": _text(253, "The active pod; named here before it is created."),
            "incarnation": _count("How many pods the VM has had."),
            "evacuationNodeName": _text(253, "The node that the VM is to leave."),
            "migrationName": _text(253, "The migration under way."),
            "allocated": given,
            "used": used,
            "cpuPercent": _count("Use of the allocated cores."),
            "memoryPercent": _count("Use of the allocated memory."),
            "observedGeneration": _count("The spec that this status answers."),
            "conditions": _conditions(),
        }
    )


def _migration_spec() -> Schema:
    properties = {
        "vmName": _text(253, "The VM to move.", least=1),
        "targetNode": _text(253, "Where to: a wish, or with `force` a condition."),
        "force": _flag(False, "Only `targetNode` will do."),
    }
    rules = [
        _rule("self.vmName == oldSelf.vmName", "vmName cannot change; create another migration"),
        _rule("!self.force || self.targetNode != ''", "force needs a targetNode"),
    ]
    properties["targetNode"]["default"] = ""
    return _object(properties, required=["vmName"], rules=rules)


def _migration_status() -> Schema:
    time = {"type": "string", "format": "date-time"}
    return _object(
        {
            "phase": _choice(get_args(MigrationPhase), "Where the migration is."),
            "sourceNode": _text(253, "The node that the VM leaves."),
            "targetNode": _text(253, "The node that it came to."),
            "targetPod": _text(253, "Its new pod; named here before it is created."),
            "startTime": time | {"description": "When it began, after waiting for its turn."},
            "precopyStartTime": time | {"description": "When copying the memory began."},
            "completionTime": time | {"description": "When it ended, well or not."},
            "reason": _text(1024, "Why it did not succeed."),
            "attempts": _count("Which attempt in a row this is; failures count."),
        }
    )


def _curve(text: str) -> Schema:
    """One object for all five curves: a structural schema cannot say "one of these types"."""
    point = {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {"type": "number", "minimum": 0},
    }
    properties = {
        "type": _choice(tuple(_FIELDS), "Which curve."),
        "value": _number("constant: the value."),
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
        "delay": {"type": "number", "description": "steps, spikes: seconds later."},
        "low": _number("diurnal: the lowest value."),
        "high": _number("diurnal: the highest value."),
        "peakAt": {"type": "number", "description": "diurnal: seconds to the highest value."},
        "period": _number("diurnal: seconds.", above_zero=True),
        "base": _number("spikes: the value between spikes."),
        "peak": _number("spikes: the value during a spike."),
        "every": _number("spikes: seconds from one to the next, on average.", above_zero=True),
        "lasts": _number("spikes: seconds.", above_zero=True),
        "seed": {"type": "integer", "description": "spikes: another seed, other moments."},
        "values": {
            "description": "trace: the recorded values.",
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_TRACE,
            "items": {"type": "number", "minimum": 0},
        },
        "interval": _number("trace: seconds that each value lasts.", above_zero=True),
    }
    return _object(properties, required=["type"], rules=_curve_rules(), text=text)


def _curve_rules() -> list[Schema]:
    """What each type needs and must not have: elsewhere other fields are an error, too.

    `repeat` is missing, because CEL does not see a field of two types.
    """
    fields = {name for needs, may in _FIELDS.values() for name in (*needs, *may)} - {"repeat"}
    rules = [
        _rule("!has(self.low) || !has(self.high) || self.low <= self.high", "low is above high"),
        _rule(
            "!has(self.lasts) || !has(self.every) || self.lasts <= self.every",
            "lasts is longer than every",
        ),
        _rule(
            "!has(self.points) || self.points.map(point, point[0]).isSorted()",
            "the times of the points must rise",
        ),
    ]
    for kind, (needs, may) in _FIELDS.items():
        foreign = sorted(fields.difference(needs, may))
        has = " && ".join(f"has(self.{name})" for name in needs)
        not_has = " && ".join(f"!has(self.{name})" for name in foreign)
        other = f"self.type != '{kind}'"
        rules += [
            _rule(f"{other} || ({has})", f"a {kind} curve needs {', '.join(needs)}"),
            _rule(f"{other} || ({not_has})", f"a {kind} curve has no {', '.join(foreign)}"),
        ]
    return rules


def _conditions() -> Schema:
    condition = _object(
        {
            "type": _text(64),
            "status": _choice(("True", "False", "Unknown"), ""),
            "reason": _text(128),
            "message": _text(1024),
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": _count(""),
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


def _crd(kind: str, plural: str, short: list[str], schema: Schema, columns: list[Schema]) -> Schema:
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "shortNames": short}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def _column(name: str, path: str, kind: str = "string", *, wide: bool = False) -> Schema:
    column: Schema = {"name": name, "type": kind, "jsonPath": path}
    return column | {"priority": 1} if wide else column


def _object(
    properties: Schema,
    *,
    required: list[str] | None = None,
    rules: list[Schema] | None = None,
    text: str = "",
    default: Any = None,
) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if text:
        schema["description"] = text
    if required:
        schema["required"] = required
    if rules:
        schema["x-kubernetes-validations"] = rules
    if default is not None:
        schema["default"] = default
    return schema


def _rule(expression: str, message: str) -> Schema:
    return {"rule": expression, "message": message}


def _quantity(text: str, *, below_zero: str) -> Schema:
    return {
        "description": text,
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": 32,
        "x-kubernetes-validations": [
            _rule(_POSITIVE, f"{below_zero}, as a quantity like 2, 500m or 4Gi")
        ],
    }


def _number(
    text: str,
    *,
    default: float | None = None,
    most: float | None = None,
    above_zero: bool = False,
) -> Schema:
    schema: Schema = {"type": "number", "minimum": 0, "description": text}
    if above_zero:
        schema["exclusiveMinimum"] = True
    if default is not None:
        schema["default"] = default
    if most is not None:
        schema["maximum"] = most
    return schema


def _flag(default: bool, text: str) -> Schema:
    return {"type": "boolean", "default": default, "description": text}


def _choice(names: tuple[str, ...], text: str, *, default: str | None = None) -> Schema:
    schema: Schema = {"type": "string", "enum": list(names)}
    if text:
        schema["description"] = text
    return schema | {"default": default} if default is not None else schema


def _text(most: int, text: str = "", *, least: int = 0) -> Schema:
    schema: Schema = {"type": "string", "maxLength": most}
    if least:
        schema["minLength"] = least
    return schema | {"description": text} if text else schema


def _count(text: str) -> Schema:
    schema: Schema = {"type": "integer", "minimum": 0}
    return schema | {"description": text} if text else schema
