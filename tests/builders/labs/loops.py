"""A lab with the closed loop for tests, and what to ask of it.

    with running_loop(tmp_path_factory) as loop:
        loop.start_over()
        story = loop.converge()

Numbers come from Prometheus, decisions from the descheduler's log and the webhook's.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec import Struct

from builders.labs.lab import RunningLab, running_lab
from builders.waiting import LIMIT_S, wait_until
from trimtab.kube.virtual_machines import VirtualMachine, VirtualMachineMigration
from trimtab.lab.components.stack import Stack
from trimtab.model.scenarios.io import load_scenario
from trimtab.model.scenarios.scenario import Scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.stacks.loop.change import change_algorithm, change_policy, change_scenario
from trimtab.stacks.loop.connection import Loop, open_loop
from trimtab.stacks.loop.descheduler import IDENTITY
from trimtab.stacks.loop.scenario.objects import script_of
from trimtab.stacks.loop.settings import LoopSettings, following
from trimtab.stacks.loop.stack import loop_stack
from trimtab.stacks.loop.state.loop_state import LoopState, read_loop
from trimtab.stacks.loop.state.ready import await_cycle
from trimtab.stacks.loop.state.recent_cycles import RecentCycle, Request, read_cycles
from trimtab.vm.launcher import pod_name

T = TypeVar("T")
EXAMPLES = Path(__file__).parents[3] / "examples"
ONE_HOT_NODE = EXAMPLES / "scenarios" / "one-hot-node.yaml"
QUIET = 3
WHOLE_POINT = 1.0


def vm_of(pod: str) -> str:
    """The VM that a launcher pod, named with its namespace or without, belongs to."""
    return pod.partition("virt-launcher-")[2].rpartition("-")[0]


def above_the_band(seen: LoopState) -> list[str]:
    """Nodes that the descheduler would relieve.

    One that is over by less than a point is over too, but the descheduler evicts nobody there:
    it counts in whole points.
    """
    over = {node.name: node.score for node in seen.nodes if node.kind == "over"}
    assert seen.high is not None
    least = seen.high + WHOLE_POINT
    return [name for name, score in over.items() if score is None or 100 * score >= least]


class Decision(Struct):
    """A line of the webhook's log."""

    event: str = ""
    pod: str = ""
    verdict: str = ""
    user: str = ""


class Story(Struct, frozen=True):
    """How a run from a hot node to a level cluster went."""

    over_at_first: tuple[str, ...]
    deviation_before: float
    deviation_after: float
    at_last: LoopState
    migrations: list[VirtualMachineMigration]


class LoopLab:
    """A running loop; everything here may be called from a plain test."""

    def __init__(self, lab: RunningLab, scenario: Scenario) -> None:
        self.lab = lab
        self.scenario = scenario
        self._marks_read = 0
        self._cycles_read = 0

    def ask(self, question: Callable[[Loop], Awaitable[T]]) -> T:
        """Ask a coroutine function about the loop."""

        async def asked() -> T:
            async with open_loop(self.lab.lab, limit_s=30.0) as loop:
                return await question(loop)

        return asyncio.run(asked())

    def state(self) -> LoopState:
        return self.ask(read_loop)

    def vms(self) -> list[VirtualMachine]:
        return list(self.ask(lambda loop: loop.vms()))

    def migrations(self) -> list[VirtualMachineMigration]:
        return list(self.ask(lambda loop: loop.migrations()))

    def query(self, text: str, label: str = "node") -> dict[str, float]:
        return dict(self.ask(lambda loop: loop.prometheus.by_label(text, label)))

    def value(self, text: str) -> float:
        return next(iter(self.query(text).values()))

    def cycles(self) -> list[RecentCycle]:
        """All cycles since the last `start_over`, of every descheduler process."""
        return read_cycles(self.lab.lab.log("descheduler"))[self._cycles_read :]

    def requests(self) -> list[Request]:
        return [request for cycle in self.cycles() for request in cycle.requests]

    def decisions(self) -> list[Decision]:
        """The webhook's decisions since the last `start_over`; KubeVirt's webhook tells none."""
        if not self.lab.lab.log("webhook").exists():
            return []
        lines = self.lab.lab.log("webhook").read_bytes().splitlines()
        judged = [msgspec.json.decode(line, type=Decision) for line in lines if b"judged" in line]
        return judged[self._marks_read :]

    def algorithm(self, name: str) -> None:
        async def change(loop: Loop) -> None:
            await change_algorithm(loop, name)

        self.ask(change)

    def policy(self, text: str) -> None:
        async def change(loop: Loop) -> None:
            await change_policy(loop, text)

        self.ask(change)

    def start_over(self, scenario: Scenario | None = None) -> None:
        """Load a scenario, or the lab's own once more; the loop then begins from its hot node."""

        async def change(loop: Loop) -> None:
            await asyncio.to_thread(change_scenario, loop, scenario or self.scenario)

        self._marks_read += len(self.decisions())
        self._cycles_read += len(self.cycles())
        self.ask(change)

    def converge(self, quiet: int = QUIET) -> Story:
        """From an over-utilised node until nothing was evicted for `quiet` cycles in a row."""
        over = self.await_over()
        before = self.value("max_over_time(stddev(node_cpu_usage_ratio)[1m:1s])")
        self.await_quiet(quiet)
        seen = self.state()
        after = self.value("stddev(node_cpu_usage_ratio)")
        done = [m for m in self.migrations() if m.status.phase == "Succeeded"]
        return Story(over, before, after, seen, done)

    def await_over(self) -> tuple[str, ...]:
        """The nodes that are over-utilised, as soon as one is."""
        found: list[tuple[str, ...]] = []

        def over() -> bool:
            found.append(tuple(n.name for n in self.state().nodes if n.kind == "over"))
            return bool(found[-1])

        wait_until(over, "no node became over-utilised")
        return found[-1]

    def await_quiet(self, quiet: int = QUIET, limit_s: float = LIMIT_S) -> None:
        """Until `quiet` cycles in a row asked for nothing, all begun with nothing under way.

        While migrations are under way the descheduler may be quiet because of its limits.
        """
        known = idle_since = len(self.cycles())

        def is_quiet() -> bool:
            nonlocal known, idle_since
            told = self.cycles()
            if len(told) == known:  # the API server is asked once a cycle, not at every look
                return False
            known = len(told)
            asked = any(cycle.requests for cycle in told)
            if not asked or told[-1].requests or self.in_flight():
                idle_since = known
            last = told[idle_since + 1 :][-quiet:]  # the first may have begun before
            return len(last) == quiet and all(c.worked and not c.requests for c in last)

        wait_until(is_quiet, "the loop does not come to rest", limit_s)

    def in_flight(self) -> list[str]:
        """VMs that are marked, and migrations that are not over."""
        marked = [vm.metadata.name for vm in self.vms() if vm.status.evacuation_node_name]
        return marked + [m.metadata.name for m in self.migrations() if not m.finished]

    def await_migrations(self, count: int) -> None:
        """Until so many VMs have been asked to leave."""
        wait_until(lambda: len(self.marked()) >= count, f"fewer than {count} marks")

    def marked(self) -> set[str]:
        """Pods that the descheduler asked to go and whose VM was marked."""
        wanted = ("marked", IDENTITY.user)
        return self.ours(d.pod for d in self.decisions() if (d.verdict, d.user) == wanted)

    def ours(self, pods: Iterable[str]) -> set[str]:
        """Those that the present VMs have, or had; the last scenario's may be asked to go yet."""
        of_vms = [(vm, range(1, vm.status.incarnation + 1)) for vm in self.vms()]
        known = {pod_name(vm, number) for vm, numbers in of_vms for number in numbers}
        return {pod for pod in pods if pod.rpartition("/")[2] in known}

    def apply(self, text: str) -> str:
        return self.lab.kubectl("apply", "-f", "-", stdin=text)

    @contextmanager
    def stopped(self, component: str) -> Iterator[None]:
        """A component that hangs: it neither works nor ends."""
        process = self.lab.processes()[component]
        os.kill(process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process.pid, signal.SIGCONT)


@contextmanager
def running_loop(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    scenario: Scenario | None = None,
    policy: str = DEFAULT_POLICY,
    settings: dict[str, Any] | None = None,
    beside: tuple[Stack, ...] = (),
    **options: Any,
) -> Iterator[LoopLab]:
    """A loop at scale 15 that has gone round once; `options` are those of `lab up`.

    `beside` are stacks that run in the same lab.
    """
    wanted = scenario or load_scenario(ONE_HOT_NODE)
    # a page beside every lab of the tests would cost more than it shows; see test_links
    plain = following(LoopSettings(page=False), wanted)
    chosen = msgspec.structs.replace(plain, **(settings or {}))
    stack = loop_stack(chosen, script=script_of(wanted), policy=policy)
    options = {"scale": 15, "nodes": len(wanted.nodes)} | options
    with running_lab(tmp_path_factory, stacks=(stack, *beside), **options) as lab:
        asyncio.run(await_cycle(lab.lab))
        yield LoopLab(lab, wanted)
