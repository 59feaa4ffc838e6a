"""The client against a real API server: verbs, conditions, errors by name."""

import asyncio
from pathlib import Path

import msgspec
import pytest
import yaml

from builders.values.kube import pod_to_create
from conformance.apiserver import ApiServer
from trimtab.errors import ConfigError
from trimtab.kube.apply import ApplyConflict, ContestedField, apply
from trimtab.kube.client import Client
from trimtab.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Status,
    TooManyRequests,
    Unavailable,
)
from trimtab.kube.resources import CONFIG_MAPS, PODS, ConfigMap, ObjectMeta, free_kind

BUDGETS = free_kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
FREE_CONFIG_MAPS = free_kind("", "v1", "configmaps", "ConfigMap")


def a_map(namespace: str, name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


async def test_an_object_is_created_read_listed_patched_replaced_and_deleted(
    client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, a_map(namespace, x="1"))
    assert made.metadata.uid
    assert await client.get(CONFIG_MAPS, "a", namespace) == made
    assert await client.list(CONFIG_MAPS, namespace) == [made]
    merged = await client.patch(CONFIG_MAPS, "a", {"data": {"y": "2"}}, namespace)
    assert merged.data == {"x": "1", "y": "2"}
    by_json = [{"op": "test", "path": "/data/y", "value": "2"}, {"op": "remove", "path": "/data/y"}]
    assert (await client.patch(CONFIG_MAPS, "a", by_json, namespace)).data == {"x": "1"}
    assert (await client.replace(CONFIG_MAPS, a_map(namespace, z="3"))).data == {"z": "3"}
    await client.delete(CONFIG_MAPS, "a", namespace)
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_a_list_of_several_pages_is_whole_and_selectors_select(
    client: Client, namespace: str
) -> None:
    for n in range(7):
        labels = {"parity": "odd" if n % 2 else "even"}
        meta = ObjectMeta(name=f"m{n}", namespace=namespace, labels=labels)
        await client.create(CONFIG_MAPS, ConfigMap(metadata=meta))
    pages = [page async for page in client.pages(CONFIG_MAPS, namespace, {}, 3)]
    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert len({page.metadata.resource_version for page in pages}) == 1
    odd = await client.list(CONFIG_MAPS, namespace, labels="parity=odd")
    assert {m.metadata.name for m in odd} == {"m1", "m3", "m5"}
    one = await client.list(CONFIG_MAPS, namespace, fields="metadata.name=m2")
    assert [m.metadata.name for m in one] == ["m2"]


async def test_conditions_that_do_not_hold_are_conflicts(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, a_map(namespace))
    with pytest.raises(AlreadyExists):
        await client.create(CONFIG_MAPS, a_map(namespace))
    await client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace)
    old = {"metadata": {"resourceVersion": made.metadata.resource_version}, "data": {"x": "2"}}
    with pytest.raises(Conflict):
        await client.patch(CONFIG_MAPS, "a", old, namespace)
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, uid="another")
    version = made.metadata.resource_version
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, resource_version=version)
    with pytest.raises(Invalid):
        await client.patch(
            CONFIG_MAPS, "a", [{"op": "test", "path": "/data/x", "value": "9"}], namespace
        )
    await client.delete(CONFIG_MAPS, "a", namespace, uid=made.metadata.uid)


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, a_map(namespace), dry_run=True)
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)
    made = await client.create(CONFIG_MAPS, a_map(namespace))
    patched = await client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace, dry_run=True)
    assert patched.data == {"x": "1"}
    await client.delete(CONFIG_MAPS, "a", namespace, dry_run=True)
    assert await client.get(CONFIG_MAPS, "a", namespace) == made


async def test_what_is_wrong_with_an_object_is_told_field_by_field(
    client: Client, namespace: str
) -> None:
    with pytest.raises(Invalid, match=r"spec\.containers") as refused:
        await client.create(PODS, {"metadata": {"name": "p"}, "spec": {}}, namespace)
    assert [cause.field for cause in refused.value.causes] == ["spec.containers"]


async def test_status_is_written_through_its_own_door(client: Client, namespace: str) -> None:
    await client.create(PODS, pod_to_create("p", namespace))
    await client.patch(PODS, "p", {"status": {"phase": "Running"}}, namespace)
    assert (await client.get(PODS, "p", namespace)).status.phase == "Pending"
    status = {"status": {"phase": "Running", "startTime": "2026-01-02T03:04:05Z"}}
    pod = await client.patch(PODS, "p", status, namespace, subresource="status")
    assert pod.status.phase == "Running"
    assert pod.status.start_time is not None


async def test_an_eviction_that_a_budget_forbids_is_too_many_requests(
    client: Client, namespace: str
) -> None:
    await client.create(PODS, pod_to_create("p", namespace, labels={"app": "a"}))
    selector = {"matchLabels": {"app": "a"}}
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    await client.create(BUDGETS, budget, namespace)
    bound = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}}
    target = {"target": {"kind": "Node", "name": "n"}}
    path = PODS.path(namespace, "p", "binding")
    await client.request("POST", path, body=msgspec.json.encode(bound | target))
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await client.patch(PODS, "p", {"status": running}, namespace, subresource="status")
    with pytest.raises(TooManyRequests):
        await client.evict("p", namespace)
    await client.delete(BUDGETS, "b", namespace)
    await client.evict("p", namespace, grace_s=0, dry_run=True)
    assert (await client.get(PODS, "p", namespace)).metadata.deletion_timestamp is None
    await client.evict("p", namespace, grace_s=0)
    with pytest.raises(NotFound):
        await client.get(PODS, "p", namespace)


async def test_apply_says_who_owns_what_and_force_takes_it(client: Client, namespace: str) -> None:
    ours = {"metadata": {"name": "a", "namespace": namespace}, "data": {"x": "1", "y": "1"}}
    await apply(client, CONFIG_MAPS, ours, manager="first")
    theirs = ours | {"data": {"x": "2", "y": "2", "z": "2"}}
    with pytest.raises(ApplyConflict) as refused:
        await apply(client, CONFIG_MAPS, theirs, manager="second", dry_run=True)
    assert set(refused.value.claims) == {
        ContestedField(".data.x", "first"),
        ContestedField(".data.y", "first"),
    }
    preview = await apply(
        client, FREE_CONFIG_MAPS, theirs, manager="second", force=True, dry_run=True
    )
    assert preview["data"] == theirs["data"]
    assert (await client.get(CONFIG_MAPS, "a", namespace)).data == ours["data"]
    await apply(client, CONFIG_MAPS, theirs, manager="second", force=True)
    given_up = await apply(client, CONFIG_MAPS, ours | {"data": {"x": "2"}}, manager="second")
    assert given_up.data == {"x": "2"}  # what nobody claims any more is gone


async def test_an_apply_of_an_outdated_version_is_a_plain_conflict(
    client: Client, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, a_map(namespace))
    await client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace)
    wish = {"metadata": msgspec.to_builtins(made.metadata), "data": {"y": "1"}}
    with pytest.raises(Conflict) as refused:
        await apply(client, FREE_CONFIG_MAPS, wish, force=True)
    assert not isinstance(refused.value, ApplyConflict)


async def test_a_guard_can_veto_writes_but_not_reads(client: Client, namespace: str) -> None:
    def no_longer_leading() -> None:
        raise Conflict("write", Status(reason="NotLeading"))

    guarded = client.guarded(no_longer_leading)
    with pytest.raises(Conflict, match="NotLeading"):
        await guarded.create(CONFIG_MAPS, a_map(namespace))
    assert await guarded.list(CONFIG_MAPS, namespace) == []
    await client.create(CONFIG_MAPS, a_map(namespace))


async def test_a_user_without_rights_is_told_so(apiserver: ApiServer, namespace: str) -> None:
    nobody = apiserver.kubeconfig_for(apiserver.url, "nobody")
    async with Client.from_kubeconfig(nobody) as client:
        with pytest.raises(Forbidden, match='User "nobody" cannot list'):
            await client.list(CONFIG_MAPS, namespace)


async def test_writes_beyond_the_burst_wait_for_their_turn(
    apiserver: ApiServer, namespace: str
) -> None:
    async with Client.from_kubeconfig(apiserver.kubeconfig, writes_per_s=20, burst=1) as client:
        loop = asyncio.get_running_loop()
        started = loop.time()
        maps = (a_map(namespace, f"m{n}") for n in range(5))
        await asyncio.gather(*(client.create(CONFIG_MAPS, m) for m in maps))
        assert loop.time() - started >= 0.19


async def test_a_server_that_is_not_there_is_unavailable(apiserver: ApiServer) -> None:
    nowhere = apiserver.kubeconfig_for("https://127.0.0.1:1", "admin", "system:masters")
    async with Client.from_kubeconfig(nowhere) as client:
        with pytest.raises(Unavailable, match="GET /api/v1/pods"):
            await client.list(PODS)


async def test_a_list_of_files_is_one_kubeconfig(
    apiserver: ApiServer, namespace: str, tmp_path: Path
) -> None:
    async with Client.from_kubeconfig(split(apiserver.kubeconfig, tmp_path)) as client:
        assert await client.list(PODS, namespace) == []


def split(kubeconfig: Path, directory: Path) -> list[Path]:
    """The cluster in one file, the user in another with a certificate beside it, and no third."""
    whole = yaml.safe_load(kubeconfig.read_text())
    user = whole["users"][0]["user"]
    (directory / "admin.pem").write_bytes(Path(user["client-key"]).read_bytes())
    user |= {"client-certificate": "admin.pem", "client-key": "admin.pem"}
    parts = {"one": ("clusters", "current-context"), "two": ("contexts", "users")}
    for name, keys in parts.items():
        (directory / name).write_text(yaml.safe_dump({key: whole[key] for key in keys}))
    return [directory / name for name in ("none", *parts)]


def test_a_missing_or_broken_kubeconfig_is_the_users_to_fix(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        Client.from_kubeconfig(tmp_path / "none")
    (tmp_path / "bad").write_text("{]")
    with pytest.raises(ConfigError, match="not a kubeconfig"):
        Client.from_kubeconfig(tmp_path / "bad")
