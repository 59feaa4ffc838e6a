"""`trimtab sim --live`: decide one cycle on a running cluster, ask for it, see what came of it."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from trimtab.cli.cluster.which import Cluster
from trimtab.cli.common.output import emit
from trimtab.cli.lab.context import home
from trimtab.cli.simulation.sim.options import LiveOptions, PolicyOptions, policy_text
from trimtab.errors import ConfigError, TrimtabError, Unavailable
from trimtab.exporter.http.api import FeedbackResult, Moved, Scene
from trimtab.kube.login.connection import is_loopback
from trimtab.observe.live_cycle import (
    IntendedMove,
    Landing,
    LiveNode,
    LiveResult,
    LiveVm,
    decide_live,
    query_of,
)
from trimtab.observe.node_classes import vector
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import Policy
from trimtab.policy.view import QueryFailure, Vector
from trimtab.prom.client import Prometheus
from trimtab.prom.client import QueryFailed as Refused
from trimtab.scores.own import choose_score
from trimtab.scores.prometheus.records import score_record
from trimtab.stacks.loop.settings import EXPORTER_TOKEN_FILE
from trimtab.view.sim import show_live
from trimtab.view.terminal import progress

PLACEMENT_LIMIT_S = 120.0
"""The exporter answers when every target is placed, or gives up before this."""
_USE = ("node_cpu_usage_ratio", "node_memory_usage_ratio")
T = TypeVar("T")


class ExporterClient:
    """The two endpoints that a cycle needs; use as an async context manager."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.AsyncClient(
            base_url=self.url, headers=headers, timeout=PLACEMENT_LIMIT_S
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def scene(self) -> Scene:
        return await self._call("GET", "/scenario", Scene)

    async def feedback(self, intended_moves: Sequence[IntendedMove]) -> Sequence[Moved]:
        body = {"migrations": [_asked(move) for move in intended_moves]}
        return (await self._call("POST", "/feedback", FeedbackResult, body)).migrations

    async def _call(self, verb: str, path: str, kind: type[T], body: Any = None) -> T:
        try:
            response = await self._http.request(verb, path, json=body)
        except httpx2.HTTPError as error:
            raise Unavailable(
                f"the exporter at {self.url} does not answer ({type(error).__name__}); "
                "is it running?"
            ) from error
        if response.status_code != 200:
            raise TrimtabError(f"{self.url}{path}: {_detail(response.content)}")
        try:
            return msgspec.json.decode(response.content, type=kind)
        except msgspec.MsgspecError as error:
            raise Unavailable(
                f"{self.url}{path} does not answer as an exporter does; check the address"
            ) from error


def _asked(move: IntendedMove) -> dict[str, str]:
    asked = {"vm_id": move.vm_id, "from_node": move.from_node}
    return asked | ({"to_node": move.intended_node} if move.intended_node else {})


def _detail(body: bytes) -> str:
    try:
        problem = msgspec.json.decode(body, type=dict[str, Any])
        return str(problem.get("detail") or problem.get("title") or "it refuses")
    except msgspec.MsgspecError:
        return "it refuses, and not as an exporter does; check the address"


def live_cycle(live: LiveOptions, given: PolicyOptions, *, json: bool) -> int:
    """Decide, ask, show; 1 if the decision failed or a VM cannot move."""
    prometheus, exporter = live.live or addresses_of(live.cluster())
    for what, url in (("PROMETHEUS", prometheus), ("EXPORTER", exporter)):
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"--live: {what} {url!r} is no address; write it like http://…:9090")
    policy = _policy(given)
    cycle = LiveCycle(
        policy=policy,
        query=_query(given.score) or query_of(policy),
        seed=given.seed,
        dry_run=live.dry_run,
        token=_token(live.token_file, exporter),
    )
    with progress("looking" if live.dry_run else "waiting for the scheduler"):
        result = asyncio.run(_run(cycle, prometheus, exporter))
    emit(result, json, show_live)
    return 1 if result.decision.error or any(move.error for move in result.moves) else 0


def addresses_of(cluster: Cluster) -> tuple[str, str]:
    """Prometheus and exporter of a cluster; only a lab's ports are known from outside."""
    spec = cluster.lab.read_spec() if cluster.lab is not None else None
    ports = spec.ports if spec is not None else {}
    if "prometheus" in ports and "exporter" in ports:
        return f"http://127.0.0.1:{ports['prometheus']}", f"http://127.0.0.1:{ports['exporter']}"
    raise ConfigError(
        f"{cluster}: the addresses of its Prometheus and exporter are not known here; "
        "give them with --live PROMETHEUS EXPORTER"
    )


class LiveCycle(Struct, frozen=True):
    """One cycle to decide: by which policy and query, and whether to carry it out."""

    policy: Policy
    query: str
    seed: int
    dry_run: bool
    token: str | None


def _policy(given: PolicyOptions) -> Policy:
    text = policy_text(given.policy) or DEFAULT_POLICY
    policy = read_policy(text, str(given.policy or "default policy"))
    query_of(policy)  # refuses what cannot be decided from outside
    if (points := given.points) is not None:
        policy = policy.with_thresholds(*points)
    if (most := given.most_evictions) is not None:
        policy = policy.with_limits(*most)
    return policy


def _query(score: str | None) -> str | None:
    return None if score is None else score_record(choose_score(score).name, "avg1m")


def lab_token(exporter: str) -> Path | None:
    """The token's file of the lab of this user whose exporter has that address."""
    url = httpx2.URL(exporter)
    if not is_loopback(url.host):
        return None
    for lab in home().labs():
        file, spec = lab.path / EXPORTER_TOKEN_FILE, lab.read_spec()
        if spec is not None and spec.ports.get("exporter") == url.port and file.exists():
            return file
    return None


def _token(path: Path | None, exporter: str) -> str | None:
    """What the file says; without one, the token of the lab whose exporter this is."""
    path = path or lab_token(exporter)
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--token-file {path}: cannot be read") from error


async def _run(cycle: LiveCycle, prometheus: str, exporter: str) -> LiveResult:
    async with ExporterClient(exporter, cycle.token) as side, Prometheus(prometheus) as server:
        scene = await side.scene()
        use = [await server.by_label(name, "node") for name in _USE]
        answer = await _samples(server, cycle.query)
        decision = decide_live(live_nodes(scene, use), answer, cycle.policy, cycle.seed)
        if cycle.dry_run or not decision.intended_moves:
            moves = tuple(_planned(move) for move in decision.intended_moves)
        else:
            moved = await side.feedback(decision.intended_moves)
            moves = tuple(
                _landed(move, m) for move, m in zip(decision.intended_moves, moved, strict=True)
            )
    return LiveResult(cycle.query, cycle.dry_run, decision, moves)


async def _samples(server: Prometheus, query: str) -> Vector | QueryFailure:
    try:
        found = await server.instant(query)
    except Refused as error:
        return QueryFailure(str(error))
    if not found:
        return QueryFailure(
            f"{query} has no samples; are the rules loaded, and for a minute already?"
        )
    return vector(found)


def live_nodes(scene: Scene, use: Sequence[Mapping[str, float]]) -> list[LiveNode]:
    """What the exporter tells, with what Prometheus measured of CPU and memory."""
    cpu, memory = use
    return [
        LiveNode(
            node.name,
            tuple(LiveVm(vm.id, vm.cpu_consumption, vm.memory_consumption) for vm in node.vms),
            (cpu[node.name], memory[node.name])
            if node.name in cpu and node.name in memory
            else None,
        )
        for node in scene.nodes
    ]


def _planned(move: IntendedMove) -> Landing:
    return Landing(move.vm_id, move.from_node, move.intended_node, None)


def _landed(move: IntendedMove, moved: Moved) -> Landing:
    return Landing(move.vm_id, move.from_node, move.intended_node, moved.actual_node, moved.error)
