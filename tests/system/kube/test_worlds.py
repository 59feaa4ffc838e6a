"""The other kind of VMs, installed while a service of the first kind works."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.waiting import until
from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.resources import CRDS
from trimtab.kube.worlds import World, refuse_beside, serves_vms, watch_for

pytestmark = pytest.mark.engines
OURS = Path(__file__).parents[3] / "k8s" / "virtualmachine-crd.yaml"


def definition(world: World) -> dict[str, Any]:
    """Our own as it is installed; KubeVirt's reduced to what the API server serves."""
    if world == "trimtab":
        found: dict[str, Any] = next(yaml.safe_load_all(OURS.read_text()))
        return found
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    names = {"plural": "virtualmachines", "kind": "VirtualMachine"}
    return {
        "metadata": {"name": "virtualmachines.kubevirt.io"},
        "spec": {
            "group": "kubevirt.io",
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.fixture(params=["kubevirt", "trimtab"])
async def world(request: pytest.FixtureRequest, client: Client) -> AsyncIterator[World]:
    """A kind of VMs that is not installed yet; afterwards it is not any more."""
    chosen: World = request.param
    yield chosen
    await client.delete(CRDS, definition(chosen)["metadata"]["name"])


async def test_who_works_for_one_kind_of_vms_ends_when_the_other_is_installed(
    client: Client, world: World
) -> None:
    await refuse_beside(client, world)
    watching = asyncio.create_task(watch_for(client, world, every_s=0.1))
    await asyncio.sleep(0.3)
    assert not watching.done()
    await client.create(CRDS, definition(world))
    await until(watching.done)
    with pytest.raises(ConfigError, match=r"exists here; .*use"):
        await watching
    assert await serves_vms(client, world)
