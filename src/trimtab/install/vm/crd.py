"""The CustomResourceDefinitions of VirtualMachine and VirtualMachineMigration.

The limits and sentences in here are what a user meets when a VM is refused.
"""

from math import inf
from typing import get_args

from msgspec import structs

from trimtab.install.definitions import Note, Notes, Schema, column, conditions, definition, under
from trimtab.kube.virtual_machines import MIGRATIONS, VMS
from trimtab.model.limits import MAX_BYTES, MAX_CORES, MAX_SECONDS, MAX_USE, MIN_SECONDS
from trimtab.model.load.curve import Curve
from trimtab.model.names import MAX_OBJECT_NAME, OBJECT_NAME
from trimtab.model.quantity import NANO, Quantity

MAX_TRACE = 2000


def crds() -> list[Schema]:
    return [_virtual_machine(), _migration()]


def _virtual_machine() -> Schema:
    notes: Notes = {
        "spec": Note(required=True),
        "spec.running": Note("Whether the VM is to run.", filled=True),
        "spec.resources": Note(required=True),
        "spec.resources.cpu": _quantity("Cores given to the VM.", "cpu", most=MAX_CORES),
        "spec.resources.memory": _quantity("Memory given to the VM.", "memory", most=MAX_BYTES),
        "spec.utilization": Note(filled=True),
        "spec.utilization.cpu": Note(
            "Share of the cores in use; may exceed 1.", most=MAX_USE, filled=True
        ),
        "spec.utilization.memory": Note("Share of the memory in use.", most=1, filled=True),
        "spec.load": Note("Curves over time that replace `utilization`."),
        "spec.load.cpu": Note("CPU use over time.", rules=_curve_rules(MAX_USE)),
        **under("spec.load.cpu", _curve(MAX_USE)),
        "spec.load.memory": Note("Memory use over time.", rules=_curve_rules(1)),
        **under("spec.load.memory", _curve(1)),
        "spec.evictionStrategy": Note("What an eviction does to the VM.", filled=True),
        "spec.liveMigratable": Note("False simulates a VM that cannot move.", filled=True),
        "status.phase": Note("Where the VM is in its life."),
        "status.nodeName": Note("The node of the active pod.", most=253),
        "status.podName": Note("The active pod; named here before it is created.", most=253),
        "status.incarnation": Note("How many pods the VM has had."),
        "status.evacuationNodeName": Note("The node that the VM is to leave.", most=253),
        "status.migrationName": Note("The migration under way.", most=253),
        "status.allocated.cpu": Note("Cores it has.", most=64),
        "status.allocated.memory": Note("Memory it has.", most=64),
        "status.used.cpu": Note("Cores it uses.", most=64),
        "status.used.memory": Note("Memory it uses.", most=64),
        "status.cpuPercent": Note("Use of the allocated cores."),
        "status.memoryPercent": Note("Use of the allocated memory."),
        "status.observedGeneration": Note("The spec that this status answers."),
        **conditions(
            "Ready: its pod runs. LiveMigratable: it can move.", most=16, longest_message=1024
        ),
    }
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
    return definition(VMS, notes, short=["vm", "vms"], columns=columns)


def _migration() -> Schema:
    same_vm, forced = "self.vmName == oldSelf.vmName", "!self.force || self.targetNode != ''"
    notes: Notes = {
        "spec": Note(
            required=True,
            rules={
                same_vm: "vmName cannot change; create another migration",
                forced: "force needs a targetNode",
            },
        ),
        "spec.vmName": Note(
            "The VM to move.",
            least=1,
            most=MAX_OBJECT_NAME,
            pattern=f"^{OBJECT_NAME}$",
            required=True,
        ),
        "spec.targetNode": Note(
            "Where to: a wish, or with `force` a condition.",
            most=MAX_OBJECT_NAME,
            pattern=f"^({OBJECT_NAME})?$",
            filled=True,
        ),
        "spec.force": Note("Only `targetNode` will do.", filled=True),
        "status.phase": Note("Where the migration is."),
        "status.sourceNode": Note("The node that the VM leaves.", most=253),
        "status.targetNode": Note("The node that it came to.", most=253),
        "status.targetPod": Note("Its new pod; named here before it is created.", most=253),
        "status.startTime": Note("When it began, after waiting for its turn."),
        "status.precopyStartTime": Note("When copying the memory began."),
        "status.completionTime": Note("When it ended, well or not."),
        "status.reason": Note("Why it did not succeed.", most=1024),
        "status.attempts": Note("Which attempt in a row this is; failures count."),
    }
    columns = [
        column("VM", ".spec.vmName"),
        column("Phase", ".status.phase"),
        column("Source", ".status.sourceNode"),
        column("Target", ".status.targetNode"),
        column("Attempts", ".status.attempts", "integer", wide=True),
        column("Reason", ".status.reason", wide=True),
        column("Age", ".metadata.creationTimestamp", "date"),
    ]
    return definition(MIGRATIONS, notes, short=["vmm", "vmms"], columns=columns)


def _quantity(text: str, name: str, *, most: int) -> Note:
    """A quantity above 0 and at most `most`, written as a whole number or as text."""
    within = (
        f"type(self) == int ? self > 0 && self <= {most} : "
        "isQuantity(self) && quantity(self).isGreaterThan(quantity('0')) && "
        f"!quantity(self).isGreaterThan(quantity('{most}'))"
    )
    largest = Quantity(most * NANO)
    refusal = f"{name} must be above 0 and at most {largest}, as a quantity like 2 or 4Gi"
    return Note(text, most=32, rules={within: refusal}, required=True)


def _curve(most: float) -> Notes:
    """A load curve with values up to `most`: one object with the fields of all kinds of curves."""

    def seconds(text: str, least: float = MIN_SECONDS) -> Note:
        return Note(text, least=least, most=MAX_SECONDS)

    return {
        "type": Note("Which curve."),
        "value": Note("constant: the value.", most=most),
        "points": Note("steps: pairs of seconds and the value from then on.", least=1, most=500),
        "points[][]": Note(most=MAX_SECONDS),
        "repeat": Note("steps: seconds after which it starts again; trace: whether it does."),
        "delay": seconds("steps, spikes: seconds later.", least=-MAX_SECONDS),
        "low": Note("diurnal: the lowest value.", most=most),
        "high": Note("diurnal: the highest value.", most=most),
        "peakAt": seconds("diurnal: seconds to the highest value.", least=-MAX_SECONDS),
        "period": seconds("diurnal: seconds."),
        "base": Note("spikes: the value between spikes.", most=most),
        "peak": Note("spikes: the value during a spike.", most=most),
        "every": seconds("spikes: seconds from one to the next, on average."),
        "lasts": seconds("spikes: seconds."),
        "seed": Note("spikes: another seed, other moments.", least=-inf),
        "values": Note("trace: the recorded values.", least=1, most=MAX_TRACE),
        "values[]": Note(most=most),
        "interval": seconds("trace: seconds that each value lasts."),
    }


def _curve_rules(most: float) -> dict[str, str]:
    """What each kind of curve needs and must not have: elsewhere other fields are an error, too.

    `repeat` is missing, because CEL does not see a field of two types.
    """
    rules = {
        "!has(self.low) || !has(self.high) || self.low <= self.high": "low is above high",
        "!has(self.lasts) || !has(self.every) || self.lasts <= self.every": (
            "lasts is longer than every"
        ),
        f"!has(self.points) || self.points.all(point, point[1] <= {float(most)})": (
            f"the values of the points must be at most {most:g}"
        ),
        "!has(self.points) || self.points.map(point, point[0]).isSorted()": (
            "the times of the points must rise"
        ),
    }
    curves = {kind.__struct_config__.tag: structs.fields(kind) for kind in get_args(Curve)}
    names = {field.encode_name for fields in curves.values() for field in fields} - {"repeat"}
    for kind, fields in curves.items():
        needs = [field.encode_name for field in fields if field.required]
        foreign = sorted(names.difference(field.encode_name for field in fields))
        has = " && ".join(f"has(self.{name})" for name in needs)
        not_has = " && ".join(f"!has(self.{name})" for name in foreign)
        other = f"self.type != '{kind}'"
        rules[f"{other} || ({has})"] = f"a {kind} curve needs {', '.join(needs)}"
        rules[f"{other} || ({not_has})"] = f"a {kind} curve has no {', '.join(foreign)}"
    return rules
