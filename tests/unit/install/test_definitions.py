"""A definition has the fields of the type that reads its objects, at every depth."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct, structs

from trimtab.advisor.api import VirtPlatformConfig
from trimtab.balancer.wire import RebalancePlan
from trimtab.kube.machines import VirtualMachine, VirtualMachineMigration
from trimtab.qos.wire import QosAccount
from trimtab.stacks.registry import all_services

TYPES: dict[str, type[Struct]] = {
    "VirtualMachine": VirtualMachine,
    "VirtualMachineMigration": VirtualMachineMigration,
    "VirtPlatformConfig": VirtPlatformConfig,
    "QosAccount": QosAccount,
    "RebalancePlan": RebalancePlan,
}
DEFINITIONS = {
    crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for service in all_services()
    for crd in service.kinds()
}
SEVERAL_TYPES = {"spec.load.cpu", "spec.load.memory"}
"""A structural schema cannot say which fields belong to which curve; rules do."""

NEVER_KEPT = {"status.ledger.pods[].vague"}
"""It is about what was seen just now; an account keeps pods without it."""


def test_every_definition_has_its_type() -> None:
    assert DEFINITIONS.keys() == TYPES.keys()


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("kind", TYPES)
def test_fields_and_choices_are_those_of_the_type(kind: str, part: str) -> None:
    schema = DEFINITIONS[kind]["properties"][part]
    wanted = get_type_hints(TYPES[kind])[part]
    assert list(_differences(part, schema, wanted)) == []


def _differences(path: str, schema: dict[str, Any], wanted: Any) -> Iterator[str]:
    wanted = _bare(wanted)
    if path in SEVERAL_TYPES or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if get_origin(wanted) is tuple:
        yield from _differences(f"{path}[]", schema["items"], get_args(wanted)[0])
    elif choices := _choices(wanted):
        if {each for each in schema.get("enum", ()) if each} != choices:
            yield f"{path}: {schema.get('enum')} instead of {choices}"
    elif isinstance(wanted, type) and issubclass(wanted, Struct) and "properties" in schema:
        types = get_type_hints(wanted)
        fields = {field.encode_name: types[field.name] for field in structs.fields(wanted)}
        for name in fields.keys() ^ schema["properties"].keys():
            if f"{path}.{name}" in NEVER_KEPT:
                continue
            yield f"{path}.{name}: only in one of them"
        for name in fields.keys() & schema["properties"].keys():
            yield from _differences(f"{path}.{name}", schema["properties"][name], fields[name])


def _bare(kind: Any) -> Any:
    """Without `| None`, and without the empty text beside a choice."""
    rest = [each for each in get_args(kind) if each is not type(None)]
    return rest[0] if type(None) in get_args(kind) and len(rest) == 1 else kind


def _choices(kind: Any) -> set[str]:
    parts = [kind] if get_origin(kind) is Literal else get_args(kind)
    if not parts or not all(get_origin(each) is Literal for each in parts):
        return set()
    return {word for each in parts for word in get_args(each) if word}
