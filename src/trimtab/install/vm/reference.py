"""docs/reference/virtualmachine.md, printed from the definitions themselves."""

from trimtab.install.definitions import Schema
from trimtab.install.manifests import field_table, name_table, refusals
from trimtab.install.vm.crd import crds
from trimtab.kube.virtual_machines import (
    CANCEL_EVACUATION,
    EVACUATION_LABEL,
    GUARD_LABEL,
    INITIAL_NODE,
    LOAD,
    MIGRATION_LABEL,
)

FILE = "docs/reference/virtualmachine.md"
_HEAD = """\
# VirtualMachine and VirtualMachineMigration

<!-- Written by `make generate` from trimtab/install/vm/reference.py; change it there. -->

API version `trimtab.dev/v1alpha1`, namespaced.
How to use them: [virtual machines](../guide/virtual-machines.md).
"""
_NOTES = {
    INITIAL_NODE: "on a VirtualMachine: its first pod goes to this node and nowhere else",
    CANCEL_EVACUATION: "on a VirtualMachine: if it is to leave this node, it may stay",
    EVACUATION_LABEL: "label of a migration that an eviction led to",
    GUARD_LABEL: "label of a pod that nobody may delete directly",
    MIGRATION_LABEL: "label of the target pod of a migration under way",
    LOAD: "annotation of a pod: size and curves of its VM, as JSON",
}


_SAME = {"spec.load.memory": "spec.load.cpu"}


def generate() -> dict[str, str]:
    notes = name_table("Labels and annotations", ("name", "meaning"), _NOTES)
    return {FILE: "\n".join([_HEAD, *(_section(crd) for crd in crds()), notes])}


def _section(crd: Schema) -> str:
    names, version = crd["spec"]["names"], crd["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    short = ", ".join(f"`{name}`" for name in names["shortNames"])
    columns = ", ".join(
        column["name"] + (" (with `-o wide`)" if column.get("priority") else "")
        for column in version["additionalPrinterColumns"]
    )
    return "\n".join(
        [
            f"## {names['kind']}",
            "",
            f"`kubectl get {names['plural']}`, short {short}.",
            f"It shows {columns}.",
            "",
            field_table("spec", schema["spec"], level=3, like=_SAME),
            field_table("status", schema["status"], level=3),
            refusals(schema["spec"]),
        ]
    )
