"""The link test: is the loop closed, and if not, which link is broken and what to look at?

First what can be seen without touching anything, in the order in which data flow; then one
small VM is made, evicted as the descheduler would, and followed through all links.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal

import httpx2
import msgspec
from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.clock import NAMESPACE as CLOCK_NAMESPACE
from trimtab.kube.errors import NotFound
from trimtab.kube.resources import CONFIG_MAPS, NODES
from trimtab.kube.scenario.kinds import OwnVms
from trimtab.lab.components.objects import wrong_clock
from trimtab.lab.control import read_status
from trimtab.observe.node_classes import classify
from trimtab.policy.file.settings import queries
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.projector.projection import ACCEPTED, OUTCOME
from trimtab.stacks.loop.settings import POLICY_MAP, RULES_MAP
from trimtab.stacks.loop.state.keeping_up import keeping_up
from trimtab.stacks.loop.state.recent_cycles import current_cycle

PATIENCE_S, LOOK_S = 20.0, 0.2


class Link(Struct, frozen=True, kw_only=True):
    """One link and how it is; `look_at` is a command when it is broken."""

    name: str
    state: Literal["ok", "late", "broken", "untested"]
    """Late: it holds, but what passes it is older than it should be."""
    detail: str
    look_at: str = ""


class Broken(TrimtabError):
    """A link does not hold: why, and what to look at."""

    def __init__(self, detail: str, look_at: str = "") -> None:
        super().__init__(detail)
        self.look_at = look_at


class Late(TrimtabError):
    """A link holds and does not keep up."""


Check = Callable[[Loop], Awaitable[str]]


async def judge(name: str, check: Awaitable[str], look_at: str) -> Link:
    """Carry out one check; whatever goes wrong in it is the link's fault."""
    try:
        return Link(name=name, state="ok", detail=await check)
    except Late as error:
        return Link(name=name, state="late", detail=str(error), look_at=look_at)
    except Broken as error:
        where = error.look_at or look_at
        return Link(name=name, state="broken", detail=str(error), look_at=where)
    except (TrimtabError, TimeoutError, httpx2.HTTPError) as error:
        detail = str(error) or type(error).__name__
        return Link(name=name, state="broken", detail=detail, look_at=look_at)


async def holds(check: Check, loop: Loop, limit_s: float = PATIENCE_S) -> str:
    """Look again until a check passes; after `limit_s` the last failure counts."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            return await check(loop)
        except TrimtabError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(LOOK_S)


async def standing_links(loop: Loop) -> AsyncIterator[Link]:
    """Everything that can be seen without touching the loop."""
    for name, check, look_at in STANDING:
        yield await judge(name, holds(check, loop), look_at)
    patience = PATIENCE_S + 2 * loop.interval_s
    yield await judge(
        "descheduler", holds(check_descheduler, loop, patience), "trimtab lab logs descheduler"
    )


async def check_components(loop: Loop) -> str:
    status = await asyncio.to_thread(read_status, loop.lab)
    down = [f"{u.name} is {u.state}: {u.message}" for u in status.units if u.state != "ready"]
    if down:
        raise Broken("; ".join(down))
    return f"{len(status.units)} parts are ready"


async def check_clock(loop: Loop) -> str:
    """Whether everybody reads the time that the lab was started with."""
    try:
        found = (await loop.api.get(CONFIG_MAPS, CLOCK, CLOCK_NAMESPACE)).data
    except NotFound:
        found = None
    if problem := wrong_clock(loop.spec.clock, found):
        raise Broken(problem)
    scale = loop.spec.clock.scale
    return f"time goes {scale} times as fast" if scale > 1 else "time goes at its usual pace"


async def check_vms(loop: Loop) -> str:
    vms = await loop.vms()
    lost = [vm.metadata.name for vm in vms if not OwnVms().is_settled(vm)]
    if lost:
        raise Broken(f"{len(lost)} of {len(vms)} VMs do not run: {', '.join(lost[:3])}")
    return f"{len(vms)} VMs"


class _Health(Struct):
    source: str = ""
    nodes: int = 0
    status: str = ""


async def check_exporter(loop: Loop) -> str:
    async with httpx2.AsyncClient(timeout=5.0, trust_env=False) as http:
        answer = await http.get(f"{loop.url('exporter')}/health")
    health = msgspec.json.decode(answer.content, type=_Health)
    if health.source == "scenario":
        raise Broken("it makes its numbers up from a scenario: it has no connection to the pods")
    if answer.status_code != 200:
        raise Broken(f"/health answers {answer.status_code}: {health.status}")
    return f"reads the pods of {health.nodes} nodes"


async def check_targets(loop: Loop) -> str:
    targets = await loop.prometheus.targets()
    down = [
        f"{t.labels.get('job', t.scrape_url)}: {t.last_error or t.health}"
        for t in targets
        if t.health != "up"
    ]
    if down or not targets:
        raise Broken(f"Prometheus cannot scrape {'; '.join(down) or 'anything: it has no targets'}")
    return f"{len(targets)} targets are up"


async def check_rules(loop: Loop) -> str:
    rules = [rule for group in await loop.prometheus.rules() for rule in group.rules]
    sick = [
        f"{rule.name}: {rule.last_error or rule.health}" for rule in rules if rule.health != "ok"
    ]
    if sick or not rules:
        raise Broken("; ".join(sick[:3]) or "Prometheus has no rules")
    if left_out := (await keeping_up(loop)).rules_left_out:
        raise Broken(f"{left_out}; start the lab with fewer nodes or a smaller --scale")
    return f"{len(rules)} rules are loaded and healthy"


async def check_pace(loop: Loop) -> str:
    """Whether everything keeps up; a busy computer makes it late, not broken."""
    seen = await keeping_up(loop)
    if seen.problems:
        raise Late(str(seen))
    return str(seen)


async def check_samples(loop: Loop) -> str:
    policy = loop.policy()
    query = next(iter(queries(policy)), "")
    if not query:
        raise Broken("the policy asks Prometheus nothing", "trimtab lab algorithm NAME")
    samples = await loop.prometheus.instant(query)
    verdict = classify(await loop.api.list(NODES), samples, policy)
    if verdict.problem:
        raise Broken(f"{query}: {verdict.problem}")
    return f"{len(verdict.nodes)} nodes have a sample of {query}"


async def check_projection(loop: Loop) -> str:
    for namespace, name in (POLICY_MAP, RULES_MAP):
        try:
            config = await loop.api.get(CONFIG_MAPS, name, namespace)
        except NotFound as error:
            raise Broken(f"ConfigMap {namespace}/{name} is gone") from error
        outcome = config.metadata.annotations.get(OUTCOME, "not looked at yet")
        if outcome != ACCEPTED:
            look_at = f"trimtab lab kubectl get configmap -n {namespace} {name} -o yaml"
            raise Broken(f"ConfigMap {namespace}/{name}: {outcome}", look_at)
    return "policy and rules run as the ConfigMaps say"


async def check_descheduler(loop: Loop) -> str:
    cycle = current_cycle(loop.lab)
    if cycle is None:
        raise Broken("it has not finished a cycle since its start")
    quiet_s = time.time() - loop.lab.log("descheduler").stat().st_mtime
    if quiet_s > 3 * loop.interval_s + PATIENCE_S:
        raise Broken(f"its last cycle ended {quiet_s:.0f} s ago")
    if not cycle.worked:
        raise Broken(f"its last cycle failed: {cycle.errors[0]}")
    return f"classified {len(cycle.classes)} nodes, asked for {len(cycle.requests)} evictions"


STANDING: tuple[tuple[str, Check, str], ...] = (
    ("components", check_components, "trimtab lab status"),
    ("clock", check_clock, "trimtab lab up"),
    ("VMs", check_vms, "trimtab lab kubectl get vm -o wide"),
    ("exporter", check_exporter, "trimtab lab logs exporter"),
    ("targets", check_targets, "trimtab lab logs prometheus"),
    ("rules", check_rules, "trimtab lab logs prometheus"),
    ("pace", check_pace, "trimtab lab status --json"),
    ("samples", check_samples, "trimtab lab logs exporter"),
    ("projection", check_projection, "trimtab lab logs projector"),
)
