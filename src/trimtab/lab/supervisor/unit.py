"""The life of one unit: a component that is kept alive, or a task that is done once.

Both wait until what they need is ready. A unit posts every change of its state and
knows nothing of the others but their names.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct

from trimtab.errors import TrimtabError
from trimtab.lab.api import Api
from trimtab.lab.components.component import Action, Component, LogLine, SupervisorTask
from trimtab.lab.control import State, UnitStatus
from trimtab.lab.files import logs
from trimtab.lab.files.layout import LabDir
from trimtab.lab.supervisor.child import Child, how_it_ended, spawn
from trimtab.lab.supervisor.probes import GiveUp, ProbeTarget, after_death, missing
from trimtab.lab.supervisor.states import UnitStates

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.03, 0.25
PAUSE_SHARE = 0.1
"""Of what a start has taken so far: it is noticed soon, and asked for some thirty times."""
HEARTBEAT_S = 5.0
LAST_LINES = 12


class Shared(Struct, frozen=True):
    """What all units of a lab share."""

    lab: LabDir
    states: UnitStates
    api: Api
    plain: httpx2.AsyncClient
    perform: Callable[[Action], Awaitable[str]]
    started: Callable[[str, Child], None]
    guarded: Callable[[str, Coroutine[Any, Any, None]], Coroutine[Any, Any, None]]


class TaskUnit:
    """Does its action once, again and again until it works."""

    def __init__(self, task: SupervisorTask, shared: Shared) -> None:
        self.task, self._shared = task, shared
        status = UnitStatus(name=task.name, kind="task", state="waiting", since=time.time())
        shared.states.add(status)

    async def run(self) -> None:
        states, name = self._shared.states, self.task.name
        pause = _Pause()
        while True:
            await states.until(lambda: states.ready(self.task.needs))
            try:
                note = await self._shared.perform(self.task.action)
            except (TrimtabError, TimeoutError) as error:
                states.post(name, state="starting", message=str(error) or "no answer in time")
                await pause()
            else:
                states.post(name, state="ready", message=note)
                return

    async def stop(self) -> None:
        self._shared.states.post(self.task.name, state="stopped")


class ComponentUnit:
    """Starts its process, watches it, starts it again."""

    def __init__(self, component: Component, shared: Shared) -> None:
        self.component, self._shared = component, shared
        self._child: Child | None = None
        self._quick_deaths = 0
        self._asked = asyncio.Event()  # somebody wants it restarted, whatever it does now
        status = UnitStatus(
            name=component.name,
            kind="component",
            state="waiting",
            since=time.time(),
            url=component.url,
        )
        shared.states.add(status)

    @property
    def _log(self) -> Path:
        return self._shared.lab.log(self.component.name)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._until_startable()
            begin, position = time.monotonic(), logs.size(self._log)
            death = await self._live(position)
            if self._asked.is_set():
                self._asked.clear()
                self._quick_deaths = 0
            else:
                await self._report_death(death, time.monotonic() - begin, position)

    async def restart(self) -> None:
        """End its process if it has one, and start it without delay."""
        self._asked.set()
        if self._child is not None:
            await self._child.end(self.component.stop_within_s)

    def ask_to_start(self) -> None:
        """End the wait that follows a death, or a giving up."""
        self._asked.set()

    def signal(self, number: signal.Signals) -> None:
        if self._child is not None:
            self._child.signal(number)

    async def stop(self) -> None:
        """End its process for good; `run` must have been cancelled."""
        if self._child is not None:
            await self._child.end(self.component.stop_within_s)
        self._post("stopped", "")

    async def _until_startable(self) -> None:
        """What it needs is ready, and what must be done before each start is done."""
        states = self._shared.states
        if not states.ready(self.component.needs):
            self._post("waiting", self._waits_for())
            await states.until(lambda: states.ready(self.component.needs))
        await self._do_all(self.component.before, "waiting")

    async def _do_all(self, actions: tuple[Action, ...], state: State) -> None:
        """Carry out the actions; begin again until none fails."""
        pause = _Pause()
        while True:
            try:
                for action in actions:
                    await self._shared.perform(action)
            except (TrimtabError, TimeoutError) as error:
                self._post(state, str(error) or "no answer in time")
                await pause()
            else:
                return

    def _waits_for(self) -> str:
        absent = [name for name in self.component.needs if not self._shared.states.ready([name])]
        return f"waits for {', '.join(absent)}"

    async def _live(self, position: int) -> str:
        """One process from start to end; how it ended."""
        self._asked.clear()
        self._post("starting", "")
        try:
            child = spawn(
                self.component.argv,
                self._shared.lab.path,
                {**_base_env(self._shared.lab), **self.component.env},
                self._log,
            )
        except OSError as error:
            return f"cannot start {self.component.argv[0]}: {error.strerror}"
        self._child = child
        self._shared.started(self.component.name, child)
        self._shared.states.post(self.component.name, pid=child.pid)
        watch = asyncio.create_task(
            self._shared.guarded(self.component.name, self._watch(position))
        )
        try:
            await asyncio.wait([child.exited])
        finally:
            watch.cancel()
        await asyncio.wait([watch])
        self._child = None
        return how_it_ended(child.exited.result())

    async def _watch(self, position: int) -> None:
        """Post when it becomes ready, then whenever that changes."""
        pause = _Pause()
        target = ProbeTarget(self._shared.lab.path, self._log, position)
        while reason := await self._missing(target, lasting=False):
            self._publish("starting", reason)
            await pause()
        self._publish("ready", "")
        await self._do_all(self.component.after, "ready")
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            reason = await self._missing(target, lasting=True)
            self._publish("unhealthy" if reason else "ready", reason)

    def _publish(self, state: State, message: str) -> None:
        """What a process shows while it is being ended says nothing about the next one."""
        if not self._asked.is_set():
            self._post(state, message)

    async def _missing(self, target: ProbeTarget, *, lasting: bool) -> str:
        for probe in self.component.probes:
            if lasting and isinstance(probe, LogLine):
                continue  # it was written once, and may have been rotated away
            if reason := await missing(probe, target, self._shared.api, self._shared.plain):
                return reason
        return ""

    async def _report_death(self, death: str, lived_s: float, position: int) -> None:
        """Tell how it died, then wait as long as its rule says."""
        verdict = after_death(self.component.restart, self._quick_deaths, lived_s)
        self._quick_deaths = verdict.quick_deaths
        status = self._shared.states.units[self.component.name]
        gave_up = isinstance(verdict, GiveUp)
        self._shared.states.post(
            self.component.name,
            state="gave-up" if gave_up else "backing-off",
            message=f"{death}, {verdict.quick_deaths} times in a row" if gave_up else death,
            pid=None,
            restarts=status.restarts + (not gave_up),
            last_lines=logs.last_words(self._log, LAST_LINES, position),
        )
        wait = None if isinstance(verdict, GiveUp) else verdict.wait_s
        try:
            await asyncio.wait_for(self._asked.wait(), wait)
        except TimeoutError:
            return
        self._asked.clear()
        self._quick_deaths = 0

    def _post(self, state: State, message: str) -> None:
        self._shared.states.post(self.component.name, state=state, message=message)


class _Pause:
    """Short pauses at first, longer ones when it takes its time."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    async def __call__(self) -> None:
        share_s = PAUSE_SHARE * (time.monotonic() - self._begin)
        await asyncio.sleep(min(LONGEST_PAUSE_S, max(SHORTEST_PAUSE_S, share_s)))


def _base_env(lab: LabDir) -> dict[str, str]:
    """Nothing of the user's environment: no proxy, no credentials, no surprises."""
    return {
        "HOME": str(lab.path),  # kwok reads ~/.kwok/kwok.yaml
        "TMPDIR": str(lab.scratch),  # virt-api never removes what it makes there
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
    }
