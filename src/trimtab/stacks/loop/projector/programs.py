"""Making the lab's programs read their files again, and knowing whether they did.

The descheduler reads its policy once, so it is restarted. Prometheus reloads on SIGHUP and
says in its own metrics whether that worked. Both go through the lab's supervisor.
"""

import asyncio
import re
from typing import Protocol

import httpx2

from trimtab.errors import TrimtabError, Unavailable
from trimtab.lab import control
from trimtab.lab.control import UnitStatus
from trimtab.lab.files.layout import LabDir

LIMIT_S = 60.0
_NUMBER = r"^%s (\S+)$"
_WORKED = re.compile(_NUMBER % "prometheus_config_last_reload_successful", re.MULTILINE)
_WHEN = re.compile(_NUMBER % "prometheus_config_last_reload_success_timestamp_seconds", re.M)


class Programs(Protocol):
    """What the projector needs of the lab."""

    async def take(self, component: str) -> None:
        """Make a component read its file; a TrimtabError says why it does not."""


class LabPrograms:
    """The programs of a running lab, through its control socket."""

    def __init__(self, lab: LabDir, prometheus: str) -> None:
        self._lab = lab
        self._prometheus = prometheus

    async def take(self, component: str) -> None:
        unit = await self._unit(component)
        if unit.state == "waiting":
            return  # it has not started yet, and will read the file when it does
        if component == "prometheus":
            if unit.state != "ready":
                raise Unavailable(f"{component} is {unit.state}")
            await self._reload()
        else:
            await self._restart(component)

    async def _restart(self, component: str) -> None:
        await self._ask(control.RestartComponent(component))
        unit = await self._unit(component)
        if unit.state != "ready":
            lines = "; ".join(unit.last_lines[-3:])
            raise TrimtabError(f"{component} does not start with it: {unit.message}: {lines}")

    async def _reload(self) -> None:
        async with httpx2.AsyncClient(timeout=10.0, trust_env=False) as http:
            before, _ = await self._reloaded(http)
            await self._ask(control.ReloadComponent("prometheus"))
            deadline = asyncio.get_running_loop().time() + LIMIT_S
            while asyncio.get_running_loop().time() < deadline:
                when, worked = await self._reloaded(http)
                if not worked:
                    raise TrimtabError("Prometheus refused it; see: trimtab lab logs prometheus")
                if when > before:
                    return
                await asyncio.sleep(0.05)
        raise Unavailable(f"Prometheus did not reload within {LIMIT_S:g} s")

    async def _reloaded(self, http: httpx2.AsyncClient) -> tuple[float, bool]:
        """When Prometheus last read its configuration, and whether the last try worked."""
        try:
            text = (await http.get(f"{self._prometheus}/metrics")).text
        except httpx2.HTTPError as error:
            raise Unavailable(f"Prometheus does not answer: {error!r}") from error
        when, worked = _WHEN.search(text), _WORKED.search(text)
        if when is None or worked is None:
            raise Unavailable("Prometheus does not say when it was loaded")
        return float(when[1]), worked[1] == "1"

    async def _ask(self, request: control.Request) -> None:
        await asyncio.to_thread(control.ask, self._lab, request, 150.0)

    async def _unit(self, component: str) -> UnitStatus:
        status = await asyncio.to_thread(control.read_status, self._lab)
        unit = next((unit for unit in status.units if unit.name == component), None)
        if unit is None:
            raise TrimtabError(f"this lab has no {component}")
        return unit
