"""Viewers who sign in: the API server says who they are, and judges what they ask for."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from builders.programs.page_over_http import TOKEN, ask, enter, page_over_http
from builders.waiting import LIMIT_S
from trimtab.install.vm.crd import crds
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import CONFIG_MAPS, CRDS, SERVICE_ACCOUNTS, free_kind
from trimtab.kube.virtual_machines import MIGRATIONS, VMS
from trimtab.model.examples import example_path
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.web.changes import PolicyMap, apply_candidate, as_one_person
from trimtab.web.compare import PolicyCandidate, candidate_policy
from trimtab.web.feed.sources import file_source
from trimtab.web.sign_in import LOOKING, SignedIn

RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = (
    free_kind(RBAC, "v1", f"{kind.lower()}s", kind, namespaced=False)
    for kind in ("ClusterRole", "ClusterRoleBinding")
)
SNAPSHOT = file_source(example_path(Path("evicts"), "snapshots"))


async def token_of(client: Client, name: str) -> str:
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": name}}, "default")
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = SERVICE_ACCOUNTS.path("default", name, "token")
    answer = await client.request("POST", path, body=msgspec.json.encode(body))
    token: str = msgspec.json.decode(answer)["status"]["token"]
    return token


async def grant(client: Client, name: str, *rules: dict[str, Any]) -> None:
    await apply(client, ROLES, {"metadata": {"name": name}, "rules": list(rules)}, force=True)
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    await apply(client, BINDINGS, binding, force=True)


LOOK = {"nonResourceURLs": [LOOKING], "verbs": ["get"]}
MOVE = [
    {"apiGroups": ["trimtab.dev"], "resources": ["virtualmachines"], "verbs": ["get"]},
    {"apiGroups": ["trimtab.dev"], "resources": ["virtualmachinemigrations"], "verbs": ["create"]},
]


async def test_viewers_who_sign_in_have_their_own_rights_and_no_others(
    client: Client,
) -> None:
    for definition in crds():
        await apply(client, CRDS, definition, force=True)
    await established(client)
    spec = {"running": False, "resources": {"cpu": "1", "memory": "1Gi"}}
    vm = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    await client.create(VMS, vm)
    mover, viewer, stranger = [await token_of(client, n) for n in ("mover", "viewer", "stranger")]
    await grant(client, "mover", LOOK, *MOVE)
    await grant(client, "viewer", LOOK, MOVE[0])
    async with page_over_http(SNAPSHOT, SignedIn(client), changes=True) as (http, _):
        closed = await http.get("/v1/history")
        assert (closed.status_code, closed.headers["X-Trimtab-Sign-In"]) == (401, "yes")
        for token, status in ((stranger, 403), (f"{mover}x", 401), (TOKEN, 401)):
            headers = {"Authorization": f"Bearer {token}"}
            assert (await http.post("/v1/session", headers=headers)).status_code == status
        refused = await ask(http, await enter(http, viewer))
        assert refused.status_code == 403
        assert "system:serviceaccount:default:viewer" in refused.text
        assert await client.list(MIGRATIONS) == []
        asked = await ask(http, await enter(http, mover))
        assert asked.status_code == 200, asked.text
    (made,) = await client.list(MIGRATIONS)
    assert made.spec.vm_name == "web"
    assert made.metadata.name in asked.json()["asked"]


async def test_a_candidate_is_put_into_a_labs_policy_and_nothing_else_is(
    client: Client, namespace: str
) -> None:
    where = PolicyMap(namespace, "descheduler-policy", "policy.yaml")
    data = {"policy.yaml": DEFAULT_POLICY, "other": "kept"}
    await client.create(CONFIG_MAPS, {"metadata": {"name": where.name}, "data": data}, namespace)
    candidate = PolicyCandidate(score="cpu_focused", low=5, high=20)
    await apply_candidate(candidate, where, as_one_person(client))
    found = (await client.get(CONFIG_MAPS, where.name, namespace)).data
    assert found == {
        "policy.yaml": candidate_policy(DEFAULT_POLICY, candidate),
        "other": "kept",
    }


async def established(client: Client) -> None:
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                await client.list(VMS)
                await client.list(MIGRATIONS)
            except NotFound:
                await asyncio.sleep(0.1)
            else:
                return
