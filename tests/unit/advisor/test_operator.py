"""The operator's loop on an API server of a few lines: what it reads, writes and leaves alone."""

from typing import Any, cast

from trimtab.advisor.operator import Operator
from trimtab.advisor.settings import AdvisorSettings
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound, Status, error_from
from trimtab.kube.events import EventRecorder
from trimtab.kube.resources import Free, Key
from trimtab.kube.runtime.controller import Done

EXAMPLE = Key("", "example-profile")


class Api:
    """Holds VirtPlatformConfigs; everything else does not exist."""

    def __init__(self, *configs: Free) -> None:
        self.configs = {config["metadata"]["name"]: config for config in configs}
        self.writes = 0

    async def get(self, kind: Any, name: str, _: str | None = None) -> Free:
        if kind.kind != "VirtPlatformConfig" or name not in self.configs:
            raise NotFound("get", Status(404, "NotFound", "no"))
        return self.configs[name]

    async def replace(self, _: Any, body: Free, *, subresource: str) -> Free:
        assert subresource == "status"
        self.writes += 1
        self.configs[body["metadata"]["name"]] = body
        return body


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def record(self, _: Any, reason: str, note: str, **__: Any) -> None:
        self.heard.append(reason)


def a_config(name: str = EXAMPLE.name, **spec: Any) -> Free:
    meta = {"name": name, "uid": "u", "generation": 1, "resourceVersion": "1"}
    return {"metadata": meta, "spec": {"profile": name, **spec}}


def an_operator(api: Api) -> tuple[Operator, Listener]:
    listener = Listener()
    operator = Operator(
        cast(Client, api), cast(EventRecorder, listener), AdvisorSettings(advertise=False)
    )
    return operator, listener


async def test_an_object_that_cannot_be_read_is_told_so_once_and_alone() -> None:
    api = Api(a_config(action="Ignore"), a_config("virt-higher-density", action={"not": "a text"}))
    operator, listener = an_operator(api)
    bad = Key("", "virt-higher-density")
    for _ in range(3):
        assert await operator.reconcile(bad) == Done()
    status = api.configs[bad.name]["status"]
    assert status["phase"] == "Failed"
    told = next(c for c in status["conditions"] if c["type"] == "Failed")
    assert "$.spec.action" in told["message"]
    assert api.writes == 1
    assert listener.heard == ["Failed"]
    await operator.reconcile(EXAMPLE)
    assert api.configs[EXAMPLE.name]["status"]["phase"] == "Ignored"


async def test_an_ignored_object_is_not_written_again() -> None:
    api = Api(a_config(action="Ignore"))
    operator, _ = an_operator(api)
    for _ in range(3):
        await operator.reconcile(EXAMPLE)
    assert api.writes == 1


async def test_an_unknown_profile_is_a_prerequisite() -> None:
    api = Api(a_config("from-the-future"))
    operator, _ = an_operator(api)
    await operator.reconcile(Key("", "from-the-future"))
    assert api.configs["from-the-future"]["status"]["phase"] == "PrerequisiteFailed"
    writes = api.writes
    await operator.reconcile(Key("", "from-the-future"))
    assert api.writes == writes


class Narrow(Api):
    """Takes no status with items."""

    async def get(self, kind: Any, name: str, namespace: str | None = None) -> Free:
        if kind.kind == "Namespace":
            return {"metadata": {"name": name}}
        return await super().get(kind, name, namespace)

    async def patch(self, *_: Any, **__: Any) -> Free:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}

    async def request(self, *_: Any, **__: Any) -> bytes:
        return b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}'

    async def replace(self, kind: Any, body: Free, *, subresource: str) -> Free:
        if body["status"].get("items"):
            raise error_from("replace", Status(500, "", "etcdserver: request is too large"))
        return await super().replace(kind, body, subresource=subresource)


async def test_a_plan_that_cannot_be_stored_fails_and_says_why() -> None:
    api = Narrow(a_config())
    operator, _ = an_operator(api)
    assert await operator.reconcile(EXAMPLE) == Done()
    status = api.configs[EXAMPLE.name]["status"]
    assert status["phase"] == "Failed"
    told = next(c for c in status["conditions"] if c["type"] == "Failed")
    assert "The plan cannot be stored: etcdserver: request is too large" in told["message"]
