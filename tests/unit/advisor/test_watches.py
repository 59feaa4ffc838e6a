"""Which changes lead to another look, and at which configuration."""

import asyncio
from typing import Any, cast

import pytest

from trimtab.advisor.cluster.objects import CRDS, Watched, is_served
from trimtab.advisor.cluster.watches import Watches, matters, slim
from trimtab.advisor.kinds import HYPERCONVERGEDS, KUBE_DESCHEDULERS, MACHINE_CONFIG_POOLS
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound, Status
from trimtab.kube.resources import Key, Object, ObjectMeta

HCO = Watched(HYPERCONVERGEDS, "openshift-cnv", "kubevirt-hyperconverged")
AWARE, DENSE = Key("", "load-aware-rebalancing"), Key("", "virt-higher-density")


def version(generation: int, resource_version: str = "1") -> Object:
    return Object(metadata=ObjectMeta(generation=generation, resource_version=resource_version))


@pytest.mark.parametrize(
    ("watched", "old", "new", "expected"),
    [
        pytest.param(HCO, None, version(1), True, id="created"),
        pytest.param(HCO, version(1), version(2), True, id="its spec changed"),
        pytest.param(HCO, version(1), version(1, "2"), False, id="status or metadata alone"),
        pytest.param(HCO, version(1), None, True, id="deleted"),
        pytest.param(
            Watched(MACHINE_CONFIG_POOLS), version(1), version(1, "2"), True, id="a pool's status"
        ),
        pytest.param(Watched(CRDS, "", "x"), version(1), version(1), True, id="a definition's"),
        pytest.param(
            Watched(KUBE_DESCHEDULERS), version(0), version(0, "2"), True, id="without generations"
        ),
    ],
)
def test_what_matters(
    watched: Watched, old: Object | None, new: Object | None, expected: bool
) -> None:
    assert matters(watched, old, new) is expected


class Still:
    """A client under whose watches nothing ever happens."""

    def pages(self, *_: Any) -> Any:
        async def none() -> Any:
            await asyncio.Event().wait()
            yield

        return none()


async def test_each_configuration_hears_of_its_own_objects_and_watches_end_with_the_last() -> None:
    watches = Watches(cast(Client, Still()), lambda _: None)
    running = asyncio.ensure_future(watches.run())
    await asyncio.sleep(0)
    one, two = Watched(KUBE_DESCHEDULERS, "n", "cluster"), Watched(MACHINE_CONFIG_POOLS)
    watches.want(AWARE, [one, two])
    watches.want(DENSE, [two])
    assert len(watches) == 2
    watches.want(AWARE, [])
    assert len(watches) == 1, "the other still wants it"
    watches.want(DENSE, [])
    assert len(watches) == 0
    running.cancel()
    await asyncio.wait({running})


def test_watches_read_metadata_alone() -> None:
    assert slim(HCO).type is Object
    assert slim(HCO).path("n") == HCO.resource.api_version.join(("/apis/", "/namespaces/n/")) + (
        "hyperconvergeds"
    )


def test_a_missing_kind_is_told_from_a_missing_object() -> None:
    assert is_served(NotFound("get", Status(404, "NotFound", "no such object")))
    assert not is_served(NotFound("get", Status(404, "", "404 page not found")))
