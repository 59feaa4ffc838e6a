"""Definitions that are missing, and how that is told."""

from typing import Any

import pytest

from trimtab.advisor.api import GROUP
from trimtab.advisor.cluster.reading import crd_names, refusal
from trimtab.advisor.kinds import (
    CONFIG_MAPS,
    HYPERCONVERGEDS,
    KUBE_DESCHEDULERS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
)
from trimtab.advisor.plan.plan import target_of
from trimtab.advisor.plan.profile import Prerequisite, Resource, missing, missing_text
from trimtab.kube.errors import Invalid, NotFound, Status

NEED = Prerequisite(KUBE_DESCHEDULERS, "install the Kube Descheduler Operator")


def a_crd(*, established: str = "True", version: str = "v1", served: bool = True) -> Any:
    return {
        "spec": {"versions": [{"name": version, "served": served}]},
        "status": {"conditions": [{"type": "Established", "status": established}]},
    }


@pytest.mark.parametrize(
    ("crd", "is_missing"),
    [
        pytest.param(a_crd(), False, id="served"),
        pytest.param(None, True, id="not there"),
        pytest.param(a_crd(established="False"), True, id="not established"),
        pytest.param(a_crd(version="v2"), True, id="another version"),
        pytest.param(a_crd(served=False), True, id="no longer served"),
    ],
)
def test_a_definition_counts_when_it_serves(crd: Any, is_missing: bool) -> None:
    assert bool(missing([NEED], {NEED.resource.crd: crd})) is is_missing


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (KUBE_DESCHEDULERS, "kubedeschedulers.operator.openshift.io"),
        (MACHINE_CONFIGS, "machineconfigs.machineconfiguration.openshift.io"),
        (MACHINE_CONFIG_POOLS, "machineconfigpools.machineconfiguration.openshift.io"),
        (HYPERCONVERGEDS, "hyperconvergeds.hco.kubevirt.io"),
        (CONFIG_MAPS, "configmaps."),
        (Resource(GROUP, "v1alpha1", "VirtPlatformConfig", "virtplatformconfigs"),
         f"virtplatformconfigs.{GROUP}"),
    ],
)  # fmt: skip
def test_names_of_definitions_are_given_and_not_guessed(resource: Resource, name: str) -> None:
    assert resource.crd == name


def test_kinds_of_kubernetes_itself_have_no_definition() -> None:
    assert crd_names([CONFIG_MAPS, KUBE_DESCHEDULERS, KUBE_DESCHEDULERS]) == (
        "kubedeschedulers.operator.openshift.io",
    )


def test_what_is_missing_is_a_list() -> None:
    assert missing_text([]) == ""
    text = missing_text([NEED, Prerequisite(MACHINE_CONFIGS, "")]).splitlines()
    assert text == [
        "Missing in this cluster:",
        "  - KubeDescheduler (operator.openshift.io.v1): install the Kube Descheduler Operator",
        "  - MachineConfig (machineconfiguration.openshift.io.v1)",
    ]


def test_a_missing_namespace_is_a_prerequisite_and_a_bad_plan_is_not() -> None:
    assert refusal(NotFound("apply", Status(404, "NotFound", "ns"))).kind == "prerequisite"
    assert refusal(Invalid("apply", Status(422, "Invalid", "spec"))).kind == "generation"


def test_references_are_read_from_objects_of_any_kind() -> None:
    for resource, namespace in ((CONFIG_MAPS, "n"), (MACHINE_CONFIGS, "")):
        meta = {"name": "x"} | ({"namespace": namespace} if namespace else {})
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        assert target_of(body) == resource.ref("x", namespace)
