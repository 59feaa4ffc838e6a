"""A step as a JSON patch: nothing is removed that is not there, and nulls survive."""

from msgspec import convert

from trimtab.kube.kubevirt import Vmi
from trimtab.player.patches import json_patch


def a_vmi(**status: object) -> Vmi:
    meta = {"name": "vm", "resourceVersion": "7", "labels": {"a/b": "1"}}
    return convert({"metadata": meta, "status": status}, Vmi)


def paths(operations: list[dict[str, object]]) -> list[str]:
    return [f"{each['op']} {each['path']}" for each in operations]


def test_the_version_is_part_of_every_patch() -> None:
    (version,) = json_patch(a_vmi(), {})
    assert version == {"op": "add", "path": "/metadata/resourceVersion", "value": "7"}


def test_what_is_not_there_is_not_removed() -> None:
    changes = {
        "metadata": {"labels": {"a/b": None, "gone": None}, "annotations": {"x": None}},
        "status": {"evacuationNodeName": None, "launcherContainerImageVersion": None},
    }
    made = paths(json_patch(a_vmi(evacuationNodeName="n1"), changes)[1:])
    assert made == ["remove /metadata/labels/a~1b", "remove /status/evacuationNodeName"]


def test_the_first_annotation_brings_the_map() -> None:
    (_, made) = json_patch(a_vmi(), {"metadata": {"annotations": {"x/y": "z", "no": None}}})
    assert made == {"op": "add", "path": "/metadata/annotations", "value": {"x/y": "z"}}


def test_nulls_inside_conditions_stay() -> None:
    condition = {"type": "LiveMigratable", "status": "True", "lastProbeTime": None}
    (_, made) = json_patch(a_vmi(), {"status": {"conditions": [condition]}})
    assert made["value"] == [condition]


def test_memory_keeps_what_others_wrote() -> None:
    vmi = a_vmi(memory={"memoryOverhead": "200Mi"})
    (_, made) = json_patch(vmi, {"status": {"memory": {"guestCurrent": "2Gi"}}})
    assert made["value"] == {"memoryOverhead": "200Mi", "guestCurrent": "2Gi"}
