"""The supervisor of one lab: units, tokens, log rotation and the control socket in one event loop.

Children die with this process (see `supervisor.child.spawn`), so there is nothing to clean up
after a kill -9: a free `supervisor.lock` means that nothing of the lab runs.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TextIO, cast

import httpx2
import msgspec
from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.files.lock import held
from trimtab.files.writing import make_private_dir, write_private
from trimtab.lab.api import Api, trusting
from trimtab.lab.components.component import Action, Component, LabPlan, Unit
from trimtab.lab.control import LabStatus, UnitEvent
from trimtab.lab.files import logs
from trimtab.lab.files.layout import LabDir
from trimtab.lab.inspection import SUPERVISOR_LOCK
from trimtab.lab.process import SupervisorRun, identify
from trimtab.lab.spec import LabSpec
from trimtab.lab.stop import end_leftovers
from trimtab.lab.supervisor.actions import perform
from trimtab.lab.supervisor.child import Child
from trimtab.lab.supervisor.repair import changed_units, repair, stop_waves, watch_clock
from trimtab.lab.supervisor.server import serve
from trimtab.lab.supervisor.states import UnitStates
from trimtab.lab.supervisor.tokens import keep_tokens
from trimtab.lab.supervisor.unit import ComponentUnit, Shared, TaskUnit
from trimtab.obs import configure, get_logger

log = get_logger()

TIDY_S = 5.0
LOW_DISK = 100 * 1024 * 1024


def supervise(lab: LabDir, watch: Callable[[UnitEvent], None] | None = None) -> None:
    """Run the lab until it is told to stop; refuses if another supervisor has it.

    `watch` is called with every event. The working directory becomes the lab's.
    """
    os.umask(0o077)
    os.chdir(lab.path)
    with (
        held(lab.path / SUPERVISOR_LOCK, wait_s=5.0),
        logs.LogStream(lab.log("supervisor")) as stream,
    ):
        configure(json=True, stream=cast(TextIO, stream))
        end_leftovers(lab)
        asyncio.run(_main(lab, stream, watch))


async def _main(
    lab: LabDir, stream: logs.LogStream, watch: Callable[[UnitEvent], None] | None
) -> None:
    supervisor = Supervisor(lab, stream)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.ask_to_stop)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)
    if watch is not None:
        supervisor.states.watch(watch)
    await supervisor.run()


class Supervisor:
    """Executes a plan. Its methods are the verbs of the control socket."""

    def __init__(self, lab: LabDir, stream: logs.LogStream) -> None:
        self.lab, self._stream = lab, stream
        self.spec, self.plan = self._read()
        self.states = UnitStates()
        me = identify(os.getpid())
        assert me is not None
        self._run = SupervisorRun(me)
        self._shared = Shared(
            lab,
            self.states,
            Api(self.plan.server, lab.pki),
            httpx2.AsyncClient(verify=trusting(lab.pki), trust_env=False),
            self._perform,
            self._record,
            self._guarded,
        )
        self._units: dict[str, ComponentUnit | TaskUnit] = {}
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()
        self._refreshing = asyncio.Lock()
        self._former_apis: list[Api] = []

    async def run(self) -> None:
        """Start everything, serve requests, stop everything in order when asked."""
        self._save_run()
        shutil.rmtree(self.lab.scratch, ignore_errors=True)
        make_private_dir(self.lab.scratch)
        async with serve(self):
            for unit in self.plan.units.values():
                self._add(unit)
            self.states.touch()
            self.in_background("tidying", self._tidy())
            self.in_background("tokens", keep_tokens(self))
            await self._stop.wait()
            self.states.stopping = True
            for job in self._background:
                job.cancel()
            await self._stop_all()
            for api in (self._shared.api, *self._former_apis):
                await api.close()
            await self._shared.plain.aclose()
        shutil.rmtree(self.lab.scratch, ignore_errors=True)
        self.lab.run_file.unlink(missing_ok=True)
        log.info("lab stopped", lab=self.lab.name)

    def ask_to_stop(self) -> None:
        self._stop.set()

    async def stop(self) -> None:
        """Stop everything; returns when no child is left."""
        self.ask_to_stop()
        await self.states.until(
            lambda: all(u.state == "stopped" for u in self.states.units.values())
        )

    async def restart(self, name: str) -> None:
        """Restart a component and wait until it is ready again, or has been given up."""
        unit = self._component(name)
        self.states.post(name, state="starting", message="restart requested")
        await unit.restart()
        await self.states.until(lambda: self.states.units[name].state in ("ready", "gave-up"))

    async def repair(self) -> list[str]:
        """Try again what was given up or stays unhealthy; what was found, in words."""
        return await repair(self)

    def revive(self, name: str) -> None:
        """Try a unit again that was given up."""
        unit, job = self._units[name], self._jobs[name]
        if job.done():  # a defect of ours ended it: begin from its description
            self.states.warn(name, "")
            self._add(self.plan.units[name])
        elif isinstance(unit, ComponentUnit):
            self.states.post(name, state="starting", message="tried again after it was given up")
            unit.ask_to_start()

    def in_background(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Let it go on beside the requests; it ends with the supervisor at the latest."""
        job = asyncio.create_task(self._guarded(name, work))
        self._background.add(job)
        job.add_done_callback(self._background.discard)

    async def reload(self, name: str) -> None:
        """What reloading means for the component: SIGHUP, or a restart."""
        unit = self._component(name)
        if unit.component.reload == "hup":
            unit.signal(signal.SIGHUP)
        else:
            await self.restart(name)

    async def refresh(self) -> None:
        """Follow a changed plan: only units that differ are stopped, started or done again."""
        async with self._refreshing:
            self.states.refreshing = True
            try:
                await self._follow_plan()
            finally:
                self.states.refreshing = False
                self.states.touch()

    async def _follow_plan(self) -> None:
        self.spec, new = self._read()
        changed = changed_units(self.plan, new)
        log.info("plan changed", units=sorted(changed), ports=self.spec.ports)
        for wave in stop_waves(self.plan):
            await asyncio.gather(*(self._remove(name) for name in wave if name in changed))
        if new.server != self.plan.server:
            self._former_apis.append(self._shared.api)  # a request may be under way
            self._shared = structs.replace(self._shared, api=Api(new.server, self.lab.pki))
        self.plan = new
        for name, unit in new.units.items():
            if name in changed:
                self._add(unit)

    def status(self) -> LabStatus:
        """The lab as it is now."""
        return LabStatus(
            name=self.spec.name,
            phase=self.states.phase,
            dir=str(self.lab.path),
            supervisor_pid=os.getpid(),
            stacks=self.spec.stacks,
            nodes=self.spec.nodes,
            scale=self.spec.clock.scale,
            server=self.plan.server,
            ports=self.spec.ports,
            units=tuple(self.states.units.values()),
            warnings=tuple(self.states.warnings.values()),
        )

    @property
    def api(self) -> Api:
        return self._shared.api

    def _read(self) -> tuple[LabSpec, LabPlan]:
        spec = self.lab.read_spec()
        if spec is None:
            raise ConfigError(f"{self.lab.spec_file}: no such file")
        return spec, self.lab.read_plan()

    def _component(self, name: str) -> ComponentUnit:
        unit = self._units.get(name)
        if not isinstance(unit, ComponentUnit):
            names = ", ".join(component.name for component in self.plan.components)
            raise ConfigError(f'no component "{name}"; there are {names}')
        return unit

    def _add(self, description: Unit) -> None:
        made: ComponentUnit | TaskUnit
        if isinstance(description, Component):
            made = ComponentUnit(description, self._shared)
        else:
            made = TaskUnit(description, self._shared)
        self._units[description.name] = made
        job = asyncio.create_task(self._guarded(description.name, made.run()))
        self._jobs[description.name] = job

    async def _remove(self, name: str) -> None:
        await self._end(name)
        del self._units[name], self._jobs[name]
        self.states.remove(name)

    async def _end(self, name: str) -> None:
        self._jobs[name].cancel()
        await asyncio.wait([self._jobs[name]])
        await self._units[name].stop()

    async def _stop_all(self) -> None:
        for wave in stop_waves(self.plan):
            await asyncio.gather(*(self._end(name) for name in wave))

    async def _perform(self, action: Action) -> str:
        return await perform(action, self._shared.api, self.lab.path, self.plan.tokens)

    def _record(self, name: str, child: Child) -> None:
        if child.identity is not None:
            self._run.children[name] = child.identity
            self._save_run()

    def _save_run(self) -> None:
        try:
            write_private(self.lab.run_file, msgspec.json.encode(self._run))
        except OSError as error:
            self.states.warn("run file", f"cannot write {self.lab.run_file}: {error.strerror}")
        else:
            self.states.warn("run file", "")

    def _rotate(self, file: Path) -> None:
        try:
            logs.rotate(file)
        except OSError as error:
            self.states.warn(file.name, f"cannot rotate {file}: {error.strerror}")
        else:
            self.states.warn(file.name, "")

    async def _guarded(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """The boundary of a unit: a defect of ours in one must not take down the lab."""
        try:
            await work
        except Exception as error:
            log.exception("unit failed", unit=name)
            self.states.warn(name, f"{name}: internal error: {error!r}; see logs/supervisor.log")
            if name in self.states.units:
                self.states.post(name, state="gave-up", message=f"internal error: {error!r}")

    async def _tidy(self) -> None:
        """Rotate logs, look at the disk and the clock; a warning goes when its reason does."""
        while True:
            for file in self.lab.logs.glob("*.log"):
                self._rotate(file)
            free = shutil.disk_usage(self.lab.path).free
            low = f"the disk of {self.lab.path} has {free // 2**20} MB left" * (free < LOW_DISK)
            self.states.warn("disk", low)
            if self._stream.trouble:
                log.info("log tried again", trouble=self._stream.trouble)
            self.states.warn("log", self._stream.trouble and f"no log: {self._stream.trouble}")
            if "run file" in self.states.warnings:
                self._save_run()
            await watch_clock(self)
            await asyncio.sleep(TIDY_S)
