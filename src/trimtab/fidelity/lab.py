"""One run of a scenario in a lab, recorded from a quiet start to its last cycle.

The descheduler rests while the VMs start, so that the run begins as a simulated one does:
every VM where the scenario puts it, and for as long as any window looks back. Load curves
begin with the first cycle that works.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from trimtab.errors import ConfigError, TrimtabError
from trimtab.fidelity.recording import (
    COLUMNS,
    LabRun,
    PodVersion,
    RecordedSeries,
    is_without_token,
    moment,
)
from trimtab.kube.clock import NAME as CLOCK
from trimtab.kube.clock import NAMESPACE
from trimtab.kube.resources import CONFIG_MAPS
from trimtab.kube.runtime.reflector import Reflector
from trimtab.lab.control import read_status
from trimtab.model.scenarios.scenario import Scenario
from trimtab.observe import wire
from trimtab.observe.descheduler_log import LoggedCycle, parse_cycles
from trimtab.observe.objects import node_of, pod_of
from trimtab.policy.file.settings import Policy, queries
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml
from trimtab.scores import MEAN_WINDOW_S, Score
from trimtab.scores.prometheus.records import base_record
from trimtab.scores.prometheus.rules import EXPORTED
from trimtab.stacks.loop.change import change_policy, change_scenario
from trimtab.stacks.loop.connection import Loop
from trimtab.stacks.loop.projector.policy_file import with_algorithm
from trimtab.stacks.loop.settings import SCRAPE_S

LOOK_S = 0.5
FAR_S = 30 * 24 * 3600.0
"""An epoch so far ahead that every load curve stands at its beginning."""
Note = Callable[[str], None]


class LabRunOrder(Struct, frozen=True, kw_only=True):
    """What to play: the scenario, its score, the policy as it is written, how many cycles."""

    scenario: Scenario
    score: Score
    policy: str
    cycles: int


def resting(policy: str) -> str:
    """The same policy with a limit of no evictions at all."""
    return dump_yaml(load_yaml(policy, "policy") | {"maxNoOfPodsToEvictTotal": 0})


def playable(order: LabRunOrder) -> None:
    """Refuse what a run cannot be predicted of."""
    if order.scenario.events:
        raise ConfigError(
            f"scenario {order.scenario.name}: its events come at the lab's own time; "
            "leave them out to compare it with the simulator"
        )
    ruled = any(vm.constraints for vm in order.scenario.vms)
    if ruled or any(node.ground for node in order.scenario.nodes):
        raise ConfigError(
            f"scenario {order.scenario.name}: a lab does not play constraints and ground load; "
            "leave them out to compare it with the simulator"
        )
    if order.score.reads_migrations:
        raise ConfigError(f"score {order.score.name}: scores of VMs in flight are not recorded")


async def play(
    loop: Loop, order: LabRunOrder, note: Note, at_rest: Callable[[], Awaitable[None]] | None = None
) -> LabRun:
    """Start over, let it run for so many cycles, and bring back what happened.

    `at_rest` is called when every VM is where the run begins, before the descheduler may act.
    """
    playable(order)
    wanted = with_algorithm(order.policy, order.score.name)
    note("the descheduler rests")
    await change_policy(loop, resting(wanted))
    began = time.time()
    await _set_epoch(loop, began + FAR_S)
    changes: list[PodVersion] = []
    watching = asyncio.create_task(_watch(loop, changes))
    try:
        note(f"starting {len(order.scenario.vms)} VMs")
        await asyncio.to_thread(change_scenario, loop, order.scenario)
        await _until(lambda: _is_calm(loop), "the VMs do not come to rest")
        await asyncio.sleep(_sight_s(loop, order.score))
        if at_rest is not None:
            await at_rest()
        await change_policy(loop, wanted)
        cycles = await _follow(loop, order.cycles, note)
    finally:
        watching.cancel()
        await asyncio.wait([watching])
    note("reading what Prometheus kept")
    return await _recorded(loop, order, tuple(cycles), tuple(changes), time.time() - began)


def _sight_s(loop: Loop, score: Score) -> float:
    """Real seconds until every window sees nothing but the start."""
    sight = max(score.lookback_s, MEAN_WINDOW_S) + 3 * SCRAPE_S
    return sight / loop.spec.clock.scale


async def _is_calm(loop: Loop) -> bool:
    vms, moves = await loop.vms(), await loop.migrations()
    running = all(vm.status.phase == "Running" for vm in vms)
    marked = any(vm.status.evacuation_node_name for vm in vms)
    return running and not marked and all(move.finished for move in moves)


async def _set_epoch(loop: Loop, epoch: float) -> None:
    await loop.api.patch(CONFIG_MAPS, CLOCK, {"data": {"epoch": repr(epoch)}}, NAMESPACE)


async def _watch(loop: Loop, changes: list[PodVersion]) -> None:
    """Write down every change of a pod as it is heard of."""

    def heard(old: wire.Pod | None, new: wire.Pod | None) -> None:
        if new is not None:
            changes.append(PodVersion(time.time(), pod_of(new)))
        elif old is not None:
            changes.append(PodVersion(time.time(), pod_of(old), gone=True))

    pods = Reflector(loop.api, wire.PODS, name="fidelity")
    pods.store.subscribe(heard)
    await pods.run()


async def _follow(loop: Loop, wanted: int, note: Note) -> list[LoggedCycle]:
    """The cycles of the descheduler that runs now, as soon as enough of them have worked."""
    pid = next(u.pid for u in read_status(loop.lab).units if u.name == "descheduler")
    aligned = False
    found: list[LoggedCycle] = []

    async def enough() -> bool:
        nonlocal aligned, found
        found = _cycles(loop, pid)
        if found and not aligned:
            await _set_epoch(loop, _start(loop, found[0]))
            aligned = True
        worked = [each for each in found if not is_without_token(each)]
        note(f"cycle {len(worked)} of {wanted}")
        return len(worked) >= wanted

    limit_s = (wanted + 5) * loop.interval_s + 60
    await _until(enough, "the descheduler does not run its cycles", limit_s)
    return found


def _cycles(loop: Loop, pid: int | None) -> list[LoggedCycle]:
    with loop.lab.log("descheduler").open(errors="replace") as log:
        return [each for each in parse_cycles(log) if each.pid == pid]


def _start(loop: Loop, first: LoggedCycle) -> float:
    """When the first cycle that works begins: the first one mostly has no token yet."""
    began = moment(first.began)
    return began + loop.interval_s if is_without_token(first) else began


async def _until(
    holds: Callable[[], Awaitable[bool]], otherwise: str, limit_s: float = 300.0
) -> None:
    deadline = time.monotonic() + limit_s
    while not await holds():
        if time.monotonic() > deadline:
            raise TrimtabError(f"{otherwise} within {limit_s:.0f} s; look at: trimtab lab status")
        await asyncio.sleep(LOOK_S)


async def _recorded(
    loop: Loop,
    order: LabRunOrder,
    cycles: tuple[LoggedCycle, ...],
    changes: tuple[PodVersion, ...],
    seconds: float,
) -> LabRun:
    window, policy = f"{int(seconds) + 1}s", loop.policy()
    nodes = [node_of(node) for node in await loop.api.list(wire.NODES)]
    selected = [node for node in nodes if policy.node_selector.matches(node.labels)]
    (query,) = _one(queries(policy), policy)
    return LabRun(
        scenario=order.scenario.name,
        score=order.score.name,
        policy=loop.policy_text(),
        scale=loop.spec.clock.scale,
        interval_s=loop.interval_s,
        nodes=tuple(sorted(selected, key=lambda node: node.name)),
        pods=changes,
        scrapes={c: await recorded_series(loop, EXPORTED[c], window, "node") for c in COLUMNS},
        base={c: await recorded_series(loop, base_record(c, "score"), window) for c in COLUMNS},
        scores=await recorded_series(loop, query, window),
        cycles=cycles,
    )


def _one(found: Sequence[str], policy: Policy) -> Sequence[str]:
    if len(found) != 1:
        raise ConfigError(
            f"the policy has {len(found)} queries in {len(policy.profiles)} profiles; "
            "a run can be compared with one"
        )
    return found


async def recorded_series(
    loop: Loop, selector: str, window: str, label: str = "instance"
) -> Mapping[str, RecordedSeries]:
    """What Prometheus kept of the last so many seconds, by the value of a label."""
    series = await loop.prometheus.samples(selector, window)
    found: dict[str, RecordedSeries] = {}
    for each in series:
        found[each.labels.get(label, "")] = RecordedSeries(each.times, each.values)
    return found
