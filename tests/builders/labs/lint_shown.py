"""Findings on the real descheduler: the same policy, samples and cluster for it and for `lint`.

One API server for all. Cases that differ in samples or nodes only share one descheduler; the
last of them is clean and evicts, so the silence of the others was not the harness's fault.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from builders.values.lint_cases import NODES, answer
from builders.waiting import LIMIT_S
from builders.worlds.snapshots import ROOM, SOFT, WORKER, a_launcher, a_policy, a_snapshot
from conformance.descheduler.cluster import Cluster
from conformance.descheduler.plane import TOKEN, Running, running_plane
from conformance.descheduler.stubs import CLOSED, Reply
from trimtab.model.snapshot import QueryResult, Snapshot, SnapshotNode
from trimtab.truth.lint import DeschedulerProgram, Facts

GOOD = answer("0.8", "0.3", "0.1")
INTERVAL = "300ms"
_BEGAN, _ENDED = "] Resetting pod evictor counters", '] "Number of evictions/requests"'
_NOT_YET = "prometheus client not initialized"
_CLOSED = (CLOSED, "server error: 503")  # its client for Prometheus drops our words
_PATIENCE = 200
"""Cycles until the descheduler has read its token; it mostly needs one."""


class Shown(Struct, frozen=True, kw_only=True):
    """One case: what is found (empty for a clean one), and what the real one says or does."""

    id: str
    query: QueryResult = GOOD
    soft: bool = False
    policy: dict[str, Any] = {}
    background: bool = True
    asked: int = 0
    """Evictions that it asks for in a cycle."""
    says: str = ""
    """In the log of the cycle."""
    never_ready: bool = False
    """The client is never made: that is what is shown."""

    def cluster(self) -> Snapshot:
        taints = (SOFT,) if self.soft else ()
        nodes = tuple(
            SnapshotNode(n, WORKER, taints if n != "n1" else (), allocatable=ROOM, capacity=ROOM)
            for n in NODES
        )
        pods = tuple(a_launcher(f"virt-launcher-{at}", "n1") for at in range(4))
        return a_snapshot({}, nodes=nodes, pods=pods)

    def text(self, prometheus: str) -> str:
        server = {"url": prometheus, "authToken": {"secretReference": dict(TOKEN)}}
        provider = [{"source": "Prometheus", "prometheus": server}]
        tree = a_policy(**{"metricsProviders": provider, **self.policy})
        written: str = yaml.safe_dump(tree, sort_keys=False)
        return written

    def facts(self, prometheus: str) -> Facts:
        """What `lint` is given."""
        return Facts(
            policy=self.text(prometheus),
            query=self.query,
            cluster=self.cluster(),
            program=DeschedulerProgram("descheduler", "v0.36.0", self.background),
        )


class Descheduler:
    """The log of a running descheduler, cycle by cycle."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        self._log = process.stderr

    async def cycle(self) -> tuple[str, ...]:
        """The lines of the next whole cycle."""
        lines: list[str] = []
        async with asyncio.timeout(LIMIT_S):
            while raw := await self._log.readline():
                line = raw.decode(errors="replace").rstrip("\n")
                if line.endswith(_BEGAN):
                    lines = []
                lines.append(line)
                if _ENDED in line:
                    return tuple(lines)
        raise AssertionError("the descheduler ended:\n" + "\n".join(lines[-20:]))


class Seen(Struct, frozen=True):
    """What the real descheduler did with a case."""

    facts: Facts
    lines: tuple[str, ...]
    asked: tuple[str, ...]


LOCAL: dict[str, Any] = {"evictLocalStoragePods": True}
# one descheduler for all of these; the last one evicts
SAMPLES = (
    Shown(
        id="query-no-instance",
        query=answer("0.8", "0.3", "0.1", label="node"),
        says="the collected metrics sample is missing 'instance' key",
    ),
    Shown(
        id="instance-not-node",
        query=answer("0.8", "0.3", "0.1", names=("n1:9100", "n2:9100", "n3:9100")),
        says="unable to find metric entry for n",
    ),
    Shown(
        id="node-no-sample", query=answer("0.8", "0.3"), says="unable to find metric entry for n3"
    ),
    Shown(
        id="query-out-of-range",
        query=answer("0.8", "0.3", "10"),
        says="outside of <0; 1> interval",
    ),
    Shown(id="query-nan", query=answer("0.8", "NaN", "0.1")),
    Shown(
        id="query-failed",
        query=replace(GOOD, result_type="scalar"),
        says="expected query results to be of type",
    ),
    Shown(id="query-no-samples", query=answer(), says="unable to find metric entry for n"),
    Shown(
        id="same-percent",
        query=answer("0.121", "0.125", "0.129"),
        says="All nodes are underutilized, nothing to do here",
    ),
    Shown(
        id="thresholds-saturate",
        query=answer("0.99", "0.97", "0.92"),
        says="All nodes are under target utilization, nothing to do here",
    ),
    Shown(id="soft-taints", soft=True),
    Shown(id="", asked=2),
)
# a descheduler each
POLICIES = (
    Shown(id="node-limit-missing", policy={"args": {"evictionLimits": None}}, asked=1),
    Shown(
        id="pdb-protects-all",
        policy={"evictor": {**LOCAL, "ignorePodsWithoutPDB": True}},
        says="pod does not have a PodDisruptionBudget",
    ),
    Shown(id="vms-protected", policy={"evictor": {}}, says="pod has local storage"),
    Shown(
        id="node-fit-selector",
        policy={"evictor": {**LOCAL, "nodeFit": True, "nodeSelector": "a=b,,"}},
    ),
    Shown(id="api-version-missing", policy={"apiVersion": ""}),
    Shown(id="field-ignored", policy={"maxNoOfPodsToEvictTotals": 0}, asked=2),
    Shown(
        id="provider-missing",
        policy={"metricsProviders": None},
        says=_NOT_YET,
        never_ready=True,
    ),
    Shown(
        id="nothing-enabled",
        policy={
            "profiles": [
                {
                    **a_policy()["profiles"][0],
                    "plugins": {"balance": {"enabled": []}},
                }
            ]
        },
    ),
    Shown(id="background-off", background=False, asked=4),
)


def addresses(running: Running) -> tuple[Shown, ...]:
    """Cases whose policy names a port that is known only now."""

    def at(url: str) -> dict[str, Any]:
        server = {"url": url, "authToken": {"secretReference": dict(TOKEN)}}
        return {"metricsProviders": [{"source": "Prometheus", "prometheus": server}]}

    plain = running.prometheus.removeprefix("http://")
    return (
        Shown(
            id="url-https-port",
            policy=at(f"https://localhost:{running.tls_port}"),
            says="x509: certificate is valid for",
        ),
        Shown(
            id="url-scheme", policy=at(f"ftp://{plain}"), says='unsupported protocol scheme "ftp"'
        ),
    )


async def show_all() -> dict[str, tuple[Shown, Seen]]:
    """Run every case; the results by the id of the finding."""
    seen: dict[str, tuple[Shown, Seen]] = {}
    async with running_plane() as running:
        cluster = Cluster(running.plane)
        async with cluster.followed():
            for manifest in running.plane.objects(running.tls_port):
                await cluster.create(manifest)
            sessions = [SAMPLES, *((each,) for each in (*POLICIES, *addresses(running)))]
            for session in sessions:
                for shown, result in await _session(running, cluster, session):
                    seen[shown.id] = (shown, result)
    return seen


async def _session(
    running: Running, cluster: Cluster, cases: Sequence[Shown]
) -> list[tuple[Shown, Seen]]:
    first = cases[0]
    await _arrange(running, cluster, first)
    process = await running.plane.start_descheduler(
        first.text(running.prometheus), INTERVAL, first.background
    )
    try:
        descheduler = Descheduler(process)
        await _ready(descheduler, first)
        found = []
        for case in cases:
            await _arrange(running, cluster, case)
            found.append((case, await _played(running, descheduler, case)))
        return found
    finally:
        process.kill()
        await process.wait()


async def _ready(descheduler: Descheduler, case: Shown) -> None:
    """Its first cycles may not have read the token yet."""
    for _ in range(_PATIENCE):
        lines = await descheduler.cycle()
        if case.never_ready or not any(_NOT_YET in line for line in lines):
            return
    raise AssertionError("the descheduler did not get its token:\n" + "\n".join(lines))


async def _arrange(running: Running, cluster: Cluster, case: Shown) -> None:
    running.stubs.open = False
    wished = case.cluster()
    await cluster.become(wished.nodes, {(p.namespace, p.name): p for p in wished.pods})
    running.stubs.query = case.query
    running.stubs.replies = {f"{p.namespace}/{p.name}": Reply.EVACUATE for p in wished.pods}
    running.stubs.calls = []


async def _played(running: Running, descheduler: Descheduler, case: Shown) -> Seen:
    """One whole cycle with the gate open; the one under way when it opens does not count."""
    await descheduler.cycle()
    running.stubs.calls = []
    running.stubs.open = True
    lines = await descheduler.cycle()
    while not running.stubs.calls and any(gate in line for line in lines for gate in _CLOSED):
        lines = await descheduler.cycle()
    running.stubs.open = False
    ended = lines[-1][1:21]  # the time of the line, which a call of the next cycle comes after
    asked = tuple(pod for pod, _, when in running.stubs.calls if when <= ended)
    return Seen(case.facts(running.prometheus), lines, asked)
