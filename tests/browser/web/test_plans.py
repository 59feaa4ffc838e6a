"""The buttons of Plans, in a browser, with a real API server behind the page."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

import msgspec
import pytest
from playwright.sync_api import expect

from browser.web.conftest import Opener
from builders.labs.apiserver import await_served
from builders.programs.served_page import ServedPage
from builders.values.manifests import one
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.balancer.wire import REBALANCE_PLANS, PlannedMove, RebalancePlanSpec, plan_id
from trimtab.install.balancer.crd import crds
from trimtab.kube.apply import apply
from trimtab.kube.client import Client
from trimtab.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, NODES

pytestmark = [pytest.mark.browser, pytest.mark.engines]
PATIENCE_MS = 300_000
MOMENT = datetime(2026, 11, 1, tzinfo=UTC)
MOVES = (PlannedMove(vm="default/web", source="n1", target="n2", why="n1 is above the band"),)
T = TypeVar("T")


def as_admin(server: ApiServer, ask: Callable[[Client], Awaitable[T]]) -> T:
    """In a thread: the browser's own event loop runs in this one."""

    async def asked() -> T:
        async with Client.from_kubeconfig(server.kubeconfig) as client:
            return await ask(client)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(asked())).result()


async def install(client: Client) -> None:
    """The balancer's kind, a policy, and nodes to draw."""
    await client.create(NAMESPACES, {"metadata": {"name": "kube-descheduler"}})
    await apply(client, CONFIG_MAPS, one("ConfigMap", "descheduler-policy"), force=True)
    for definition in crds():
        await apply(client, CRDS, definition, force=True)
    for name in ("n1", "n2"):
        await client.create(NODES, {"metadata": {"name": name}})
    await await_served(client, REBALANCE_PLANS)


async def propose(client: Client) -> None:
    identity = plan_id("propose", MOMENT, MOVES)
    spec = RebalancePlanSpec(mode="propose", plan_id=identity, made_at=MOMENT, moves=MOVES)
    body = {"metadata": {"name": "plan-a"}, "spec": msgspec.to_builtins(spec)}
    await client.create(REBALANCE_PLANS, body)


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with running_apiserver() as running:
        as_admin(running, install)
        as_admin(running, propose)
        yield running


def spec_of(server: ApiServer) -> RebalancePlanSpec:
    return as_admin(server, lambda client: client.get(REBALANCE_PLANS, "plan-a")).spec


def test_a_page_that_only_shows_has_no_buttons_for_a_plan(
    server: ApiServer, serve: Callable[..., ServedPage], open_page: Opener
) -> None:
    seen = open_page(serve("--kubeconfig", server.kubeconfig).address).drawn()
    seen.page.keyboard.press("p")
    plan = seen.page.locator("[data-plan=plan-a]")
    expect(plan).to_contain_text("n1 is above the band", timeout=PATIENCE_MS)
    assert plan.get_by_role("button").count() == 0


def test_a_plan_that_waits_is_approved_then_cancelled_by_its_buttons(
    server: ApiServer, serve: Callable[..., ServedPage], open_page: Opener
) -> None:
    page = serve("--kubeconfig", server.kubeconfig, "--allow-changes")
    seen = open_page(page.address).drawn()
    seen.page.keyboard.press("p")
    plan = seen.page.locator("[data-plan=plan-a]")
    said = seen.page.locator("[data-part=asked]")
    plan.get_by_role("button", name="Approve").click(timeout=PATIENCE_MS)
    expect(said).to_contain_text("plan-a is approved", timeout=PATIENCE_MS)
    assert spec_of(server).approved_plan == plan_id("propose", MOMENT, MOVES)
    expect(plan.get_by_role("button", name="Approve")).to_have_count(0, timeout=PATIENCE_MS)
    # a plan that waits for nobody is folded
    plan.locator("summary").click()
    plan.get_by_role("button", name="Cancel").click(timeout=PATIENCE_MS)
    expect(said).to_contain_text("plan-a is being cancelled", timeout=PATIENCE_MS)
    assert spec_of(server).cancelled
