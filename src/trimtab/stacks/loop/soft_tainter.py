"""The soft tainter: classifies nodes as the descheduler does and taints the fuller ones softly.

As OpenShift's: its own clock, the same policy file and query, and nodes that are NotReady are
not left out, so one of them without a sample makes a whole turn fail. On an orderly stop it
takes its taints away.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs, to_builtins

from trimtab.errors import Conflict, NotReady, TrimtabError
from trimtab.kube.client import Client
from trimtab.kube.http.web import Web
from trimtab.kube.resources import NODES, Node, Taint
from trimtab.kube.runtime.reflector import Reflector
from trimtab.kube.runtime.service import Service
from trimtab.obs import get_logger
from trimtab.obs.metrics import counter
from trimtab.observe.node_classes import Classification, classify
from trimtab.policy.file.reader import load_policy
from trimtab.policy.file.settings import queries
from trimtab.prom.client import Prometheus
from trimtab.virt.soft_taints import EFFECT, KEYS, keys_of

NAME = "soft-tainter"
CLEAN_LIMIT_S = 4.0
log = get_logger()
turns = counter("trimtab_soft_tainter_turns_total", "Turns by whether they worked", "outcome")


class SoftTainter:
    """One policy file, one Prometheus, one cluster."""

    def __init__(
        self, client: Client, prometheus: Prometheus, policy: Path, interval_s: float
    ) -> None:
        self._client, self._prometheus = client, prometheus
        self._policy, self._interval_s = policy, interval_s
        self.nodes = Reflector(client, NODES)

    async def run(self) -> None:
        """A turn every interval, until cancelled; then the nodes are left without our taints."""
        try:
            while True:
                await self._turn_or_log()
                await asyncio.sleep(self._interval_s)
        finally:
            async with asyncio.timeout(CLEAN_LIMIT_S):
                await self._clean()

    async def _turn_or_log(self) -> None:
        try:
            await self.turn()
            turns.labels("worked").inc()
        except TrimtabError as error:
            turns.labels("failed").inc()
            log.warning("turn failed", error=str(error))

    async def turn(self) -> None:
        """Classify all nodes that the policy selects, and taint them accordingly."""
        policy = load_policy(self._policy)
        query = next(iter(queries(policy)), "")
        if not query:
            raise NotReady(f"{self._policy}: it asks Prometheus nothing; there are no classes")
        samples = await self._prometheus.instant(query)
        nodes = list(self.nodes.store)
        verdict = classify([_regardless(node) for node in nodes], samples, policy)
        if verdict.problem:
            raise NotReady(verdict.problem)
        keys = wanted(verdict)
        for node in nodes:
            if node.metadata.name in keys:
                await self._set_taints(node, keys[node.metadata.name])

    async def _set_taints(self, node: Node, keys: frozenset[str]) -> None:
        if soft_taints_of(node.spec.taints) == keys:
            return
        meta = node.metadata
        patch = {
            "metadata": {"resourceVersion": meta.resource_version},
            "spec": {"taints": to_builtins(with_soft_taints(node.spec.taints, keys))},
        }
        try:
            await self._client.patch(NODES, meta.name, patch)
        except Conflict:  # somebody changed the node: the next turn sees how
            log.debug("node changed meanwhile", node=meta.name)
        else:
            log.info("node tainted", node=meta.name, taints=sorted(keys))

    async def _clean(self) -> None:
        for node in self.nodes.store:
            await self._set_taints(node, frozenset())


def _regardless(node: Node) -> Node:
    """The node without its Ready condition, which OpenShift's tainter does not look at."""
    return structs.replace(node, status=structs.replace(node.status, conditions=()))


async def serve(tainter: SoftTainter, *, host: str, port: int) -> None:
    """Run until SIGTERM."""
    web = Web(host=host, port=port)
    await Service(NAME, reflectors=[tainter.nodes], jobs=[tainter.run], web=web).run()


# The soft taints of classified nodes in a cluster, by the rule of `virt.soft_taints`.


def wanted(found: Classification) -> Mapping[str, frozenset[str]]:
    """The taints of each classified node; if none is under-utilised, appropriate ones get none."""
    kinds = {name: node.kind for name, node in found.nodes.items()}
    some_under = "under" in kinds.values()
    return {name: frozenset(keys_of(kind, some_under=some_under)) for name, kind in kinds.items()}


def soft_taints_of(taints: Sequence[Taint]) -> frozenset[str]:
    """Those of our taints that a node wears."""
    return frozenset(taint.key for taint in taints if taint.key in KEYS)


def with_soft_taints(taints: Sequence[Taint], keys: frozenset[str]) -> list[Taint]:
    """A node's taints with exactly `keys` of ours; everybody else's stay as they are."""
    others = [taint for taint in taints if taint.key not in KEYS]
    return others + [Taint(key=key, value="true", effect=EFFECT) for key in sorted(keys)]
