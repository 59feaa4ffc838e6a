"""What the page can change of VMs, where it was started with --allow-changes; a lab's policy too.

Each change is a request that `trimtab vm` could make, with the rights of one person: the page's
own account has none to write with. In a lab that is whoever started the page; where viewers
sign in it is the viewer, whose token goes with the request, so that the API server judges and
its audit log names them. Impersonation was refused: a page that may impersonate could become
anybody, also when nobody is signed in.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.kube.client import Client
from trimtab.kube.resources import CONFIG_MAPS
from trimtab.kube.worlds import world_of
from trimtab.model.names import is_object_name
from trimtab.obs import get_logger
from trimtab.vm.kubevirt_requests import KubevirtRequests
from trimtab.vm.requests import VmRequests
from trimtab.web.compare import PolicyCandidate, candidate_policy

log = get_logger()
Action = Literal["migrate", "cancel", "protect", "release"]
ClientOf = Callable[[], AbstractAsyncContextManager[Client]]
"""Opens the API server as the person who asks."""


class VmChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What a viewer asks for; without `to` the scheduler chooses where a migration goes."""

    action: Action
    vm: str
    to: str = ""


class PolicyMap(Struct, frozen=True):
    """The ConfigMap that holds a lab's policy."""

    namespace: str
    name: str
    key: str


async def carry_out(change: VmChange, client_of: ClientOf) -> str:
    """Make the request; what was asked for, in words."""
    namespace, slash, name = change.vm.partition("/")
    if not (slash and is_object_name(namespace) and is_object_name(name)):
        raise ConfigError(f"{change.vm!r} is not NAMESPACE/NAME of a VM")
    if change.to and (change.action != "migrate" or not is_object_name(change.to)):
        raise ConfigError(f"{change.to!r} cannot be where a VM goes with {change.action}")
    async with client_of() as client:
        theirs = await world_of(client) == "kubevirt"
        requests = (KubevirtRequests if theirs else VmRequests)(client, namespace)
        told = await _ask(change, requests, name, theirs=theirs)
    log.info("change asked for", action=change.action, vm=change.vm, to=change.to)
    return told


async def _ask(change: VmChange, requests: VmRequests, name: str, *, theirs: bool) -> str:
    if change.action == "migrate":
        # with KubeVirt a node is a condition; ours take it as a wish
        migration = await requests.migrate(name, to=change.to, force=theirs and bool(change.to))
        return f"migration {migration} was asked for"
    if change.action == "cancel":
        ended = await requests.cancel(name)
        return f"cancelled: {', '.join(ended)}" if ended else "there is nothing to cancel"
    if theirs:
        raise ConfigError(
            "KubeVirt has no switch that keeps a VM where it is; change its evictionStrategy "
            "or its migration policy with kubectl"
        )
    await requests.change(name, {"liveMigratable": change.action == "release"})
    return "it stays where it is" if change.action == "protect" else "it may move again"


async def apply_candidate(candidate: PolicyCandidate, where: PolicyMap, client_of: ClientOf) -> str:
    """Put the candidate's values into a lab's policy; its projector does the rest."""
    async with client_of() as client:
        found = await client.get(CONFIG_MAPS, where.name, where.namespace)
        text = candidate_policy(found.data.get(where.key, ""), candidate)
        # only over the policy that was read: somebody else may change it at the same time
        meta = {"resourceVersion": found.metadata.resource_version}
        patch = {"metadata": meta, "data": {where.key: text}}
        await client.patch(CONFIG_MAPS, where.name, patch, where.namespace)
    log.info("policy changed", score=candidate.score, low=candidate.low, high=candidate.high)
    return "the policy was changed; the descheduler starts again with it"


def as_one_person(client: Client) -> ClientOf:
    """Every change goes through this connection, which is not closed."""

    @asynccontextmanager
    async def open_it() -> AsyncIterator[Client]:
        yield client

    return open_it
