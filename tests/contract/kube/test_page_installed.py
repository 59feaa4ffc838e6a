"""The page as k8s/page installs it: what its account may do, who may look, who may say yes."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
import yaml

from builders.labs.apiserver import await_served
from builders.programs.page_over_http import enter, page_over_http
from builders.values.manifests import K8S
from trimtab.balancer.wire import REBALANCE_PLANS, PlannedMove, RebalancePlanSpec, plan_id
from trimtab.install.balancer.crd import crds
from trimtab.install.page.manifests import VIEWER
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.errors import AlreadyExists, Forbidden, NotFound
from trimtab.kube.resources import (
    CONFIG_MAPS,
    CRDS,
    NAMESPACES,
    NODES,
    SERVICE_ACCOUNTS,
    free_kind,
)
from trimtab.model.examples import example_path
from trimtab.observe.wire import MIGRATION_POLICIES, VALIDATING_WEBHOOKS
from trimtab.web.feed.sources import file_source
from trimtab.web.plan_changes import PlanChange
from trimtab.web.sign_in import SignedIn

RBAC = "rbac.authorization.k8s.io"
KINDS = {
    kind: free_kind(RBAC, "v1", f"{kind.lower()}s", kind, namespaced=not kind.startswith("C"))
    for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
}
SNAPSHOT = file_source(example_path(Path("evicts"), "snapshots"))
HOME = "trimtab-system"
MOMENT = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
async def account(client: Client) -> AsyncIterator[Client]:
    """The API server as the account of the page, with the rights of its manifest."""
    for name in (HOME, "kube-descheduler"):
        with suppress(AlreadyExists):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
    for manifest in yaml.safe_load_all((K8S / "page" / "rbac.yaml").read_text()):
        if manifest["kind"] in KINDS:
            await apply(client, KINDS[manifest["kind"]], manifest, force=True)
        elif manifest["kind"] == "ServiceAccount":
            await apply(client, SERVICE_ACCOUNTS, manifest, force=True)
    async with client.as_bearer(await token_of(client, "page", HOME)) as page:
        yield page


async def token_of(client: Client, name: str, namespace: str = "default") -> str:
    made = {"metadata": {"name": name, "namespace": namespace}}
    await apply(client, SERVICE_ACCOUNTS, made, force=True)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = SERVICE_ACCOUNTS.path(namespace, name, "token")
    answer = await client.request("POST", path, body=msgspec.json.encode(body))
    token: str = msgspec.json.decode(answer)["status"]["token"]
    return token


async def bind(client: Client, role: str, name: str) -> None:
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    binding = {
        "metadata": {"name": f"{name}-{role.replace(':', '-')}"},
        "roleRef": reference,
        "subjects": [subject],
    }
    await apply(client, KINDS["ClusterRoleBinding"], binding, force=True)


async def test_the_pages_account_reads_and_can_write_nothing(account: Client) -> None:
    await account.list(NODES)
    for refused in (
        account.list(CONFIG_MAPS),
        account.list(free_kind("", "v1", "secrets", "Secret")),
        account.create(CONFIG_MAPS, {"metadata": {"name": "mine"}}, HOME),
        account.patch(NODES, "any", {"metadata": {"labels": {"a": "b"}}}),
    ):
        with pytest.raises(Forbidden):
            await refused


async def test_the_pages_account_sees_what_kubevirt_is_configured_with(account: Client) -> None:
    await account.list(VALIDATING_WEBHOOKS)
    with pytest.raises(NotFound):  # KubeVirt is not there; whoever may not list it is forbidden to
        await account.list(MIGRATION_POLICIES)


async def signed_in(http: httpx2.AsyncClient, token: str) -> int:
    answer = await http.post("/v1/session", headers={"Authorization": f"Bearer {token}"})
    return answer.status_code


async def test_whoever_has_the_viewers_role_signs_in_and_nobody_else(
    client: Client, account: Client
) -> None:
    looker, unbound = [await token_of(client, name) for name in ("looker", "unbound")]
    await bind(client, VIEWER, "looker")
    async with page_over_http(SNAPSHOT, SignedIn(account)) as (http, _):
        assert await signed_in(http, unbound) == 403
        assert await signed_in(http, looker) == 204
        assert (await http.get("/v1/history")).status_code == 200


async def a_proposed_plan(client: Client, name: str) -> str:
    moves = (PlannedMove(vm="default/web", source="n1", target="n2"),)
    identity = plan_id("propose", MOMENT, moves)
    spec = RebalancePlanSpec(mode="propose", plan_id=identity, made_at=MOMENT, moves=moves)
    body = {"metadata": {"name": name}, "spec": msgspec.to_builtins(spec)}
    await client.create(REBALANCE_PLANS, body)
    return identity


async def test_a_plan_is_approved_and_cancelled_as_the_person_who_asks(
    client: Client, account: Client
) -> None:
    for definition in crds():
        await apply(client, CRDS, definition, force=True)
    await await_served(client, REBALANCE_PLANS)
    identity = await a_proposed_plan(client, "plan-a")
    looker, owner = [await token_of(client, name) for name in ("looker", "owner")]
    verbs = {"apiGroups": ["trimtab.dev"], "resources": ["rebalanceplans"]}
    rules = [{**verbs, "verbs": ["list", "patch"]}]
    role: dict[str, Any] = {"metadata": {"name": "plan-owner"}, "rules": rules}
    await apply(client, KINDS["ClusterRole"], role, force=True)
    for name in ("looker", "owner"):
        await bind(client, VIEWER, name)
    await bind(client, "plan-owner", "owner")

    async def say(http: httpx2.AsyncClient, token: str, action: Any) -> httpx2.Response:
        body = msgspec.json.encode(PlanChange(kind="plan", action=action, name="plan-a"))
        return await http.post("/v1/plan", headers=await enter(http, token), content=body)

    async with page_over_http(SNAPSHOT, SignedIn(account), changes=True) as (http, _):
        refused = await say(http, looker, "approve")
        assert refused.status_code == 403
        assert "system:serviceaccount:default:looker" in refused.text
        assert not (await client.get(REBALANCE_PLANS, "plan-a")).spec.approved
        approved = await say(http, owner, "approve")
        assert approved.status_code == 200, approved.text
        assert (await client.get(REBALANCE_PLANS, "plan-a")).spec.approved_plan == identity
        assert (await say(http, owner, "cancel")).status_code == 200
        assert (await client.get(REBALANCE_PLANS, "plan-a")).spec.cancelled
        assert (await say(http, owner, "rollback")).status_code == 404
