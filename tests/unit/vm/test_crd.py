"""The definitions know every field that the rest of the program knows, and no other."""

from typing import Any, get_args

import pytest
from msgspec import structs

from trimtab.install.vm.crd import FIELDS, crds
from trimtab.kube.machines import MigrationSpec, MigrationStatus, VmSpec, VmStatus
from trimtab.model.load.curve import Curve


def schema(kind: int, part: str) -> dict[str, Any]:
    version = crds()[kind]["spec"]["versions"][0]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"][part]
    return found


@pytest.mark.parametrize(
    ("kind", "part", "struct"),
    [
        (0, "spec", VmSpec),
        (0, "status", VmStatus),
        (1, "spec", MigrationSpec),
        (1, "status", MigrationStatus),
    ],
)
def test_fields_are_the_same_here_and_there(kind: int, part: str, struct: type) -> None:
    known = {field.encode_name for field in structs.fields(struct)}
    assert set(schema(kind, part)["properties"]) == known


def test_every_field_of_every_curve_can_be_written() -> None:
    known = {field.encode_name for curve in get_args(Curve) for field in structs.fields(curve)}
    load = schema(0, "spec")["properties"]["load"]["properties"]
    for resource in ("cpu", "memory"):
        assert set(load[resource]["properties"]) == known | {"type"}


@pytest.mark.parametrize("curve", get_args(Curve), ids=lambda curve: curve.__name__)
def test_a_curve_needs_exactly_the_fields_without_a_default(curve: Any) -> None:
    tag = curve.__struct_config__.tag
    fields = structs.fields(curve)
    needs = {field.encode_name for field in fields if field.required}
    assert set(FIELDS[tag][0]) == needs
    assert set(FIELDS[tag][1]) == {field.encode_name for field in fields} - needs
