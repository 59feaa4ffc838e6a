"""The policies in a real API server: which SLOs get in, and who may stamp."""

from typing import Any

import pytest

from builders.values.kube import pod_to_create
from trimtab.kube.client import Client
from trimtab.kube.errors import Forbidden, Invalid
from trimtab.kube.resources import DEPLOYMENTS, NAMESPACES, PODS
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.promise import read_slo
from trimtab.qos.queue.key import ANNOTATION as KEY

GOOD = ["0", "1", "1.0", "0.95", ".5", "95%", "99.9%", "100%"]
BAD = ["", "1.1", "-0.1", "NaN", "1e-3", "0,95", "101%", "0.95 ", "high", "0.9\n", "٠.٥"]
STAMP = "v1:0:000000:00000000000000000000"


def declared(slo: str) -> dict[str, Any]:
    return {"annotations": {SLO: slo}}


async def test_the_api_server_and_we_agree_on_every_spelling(
    client: Client, namespace: str
) -> None:
    accepted = []
    for number, text in enumerate([*GOOD, *BAD]):
        pod = pod_to_create(f"p{number}", namespace, **declared(text))
        try:
            await client.create(PODS, pod, dry_run=True)
            accepted.append(text)
        except Invalid:
            assert read_slo(text) is None
    assert accepted == GOOD
    assert all(read_slo(text) is not None for text in GOOD)


async def test_a_refusal_says_what_is_wrong_and_what_to_write(
    client: Client, namespace: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await client.create(PODS, pod_to_create("p", namespace, **declared("five nines")))
    assert f'annotation {SLO}: "five nines" is not an SLO' in str(refused.value)
    assert "write a number from 0 to 1 like 0.95, or 95%" in str(refused.value)


@pytest.mark.parametrize("where", ["owner", "template", "both good"])
async def test_owners_are_held_to_it_too(client: Client, namespace: str, where: str) -> None:
    own, template = (
        declared("lots" if bad else "99%") for bad in (where == "owner", where == "template")
    )
    labels = {"app": "web"}
    deployment = {
        "metadata": {"name": "web", "namespace": namespace} | own,
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels} | template,
                "spec": {"containers": [{"name": "c", "image": "none"}]},
            },
        },
    }
    if where == "both good":
        await client.create(DEPLOYMENTS, deployment)
        return
    with pytest.raises(Invalid, match="is not an SLO"):
        await client.create(DEPLOYMENTS, deployment)


async def test_so_are_namespaces_and_changes(client: Client, namespace: str) -> None:
    await client.patch(NAMESPACES, namespace, {"metadata": declared("0.5")})
    with pytest.raises(Invalid, match="is not an SLO"):
        await client.patch(NAMESPACES, namespace, {"metadata": declared("half")})


async def test_a_stamp_that_comes_with_a_pod_is_taken_off(client: Client, namespace: str) -> None:
    stamped = {"annotations": {KEY: STAMP, "mine": "stays"}}
    pod = await client.create(PODS, pod_to_create("p", namespace, **stamped))
    assert pod.metadata.annotations == {"mine": "stays"}


async def test_only_the_stamper_changes_a_stamp(
    client: Client, account: Client, namespace: str
) -> None:
    await client.create(PODS, pod_to_create("p", namespace))
    patch = {"metadata": {"annotations": {KEY: STAMP}}}
    with pytest.raises(Forbidden) as refused:
        await client.patch(PODS, "p", patch, namespace)
    assert "is written by system:serviceaccount:trimtab-system:qos only" in str(refused.value)
    pod = await account.patch(PODS, "p", patch, namespace)
    assert pod.metadata.annotations[KEY] == STAMP
    with pytest.raises(Forbidden):
        await client.patch(PODS, "p", {"metadata": {"annotations": {KEY: None}}}, namespace)
    await client.patch(PODS, "p", {"metadata": {"annotations": {"mine": "1"}}}, namespace)
