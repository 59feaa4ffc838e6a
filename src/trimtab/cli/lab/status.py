"""`trimtab lab status`: how a lab is, and whether its loop keeps up."""

import asyncio
from typing import TYPE_CHECKING

from msgspec import to_builtins

from trimtab.cli.common.output import Json, emit
from trimtab.cli.lab.context import Name, existing
from trimtab.lab.control import LabStatus
from trimtab.lab.files.layout import LabDir
from trimtab.lab.inspection import look
from trimtab.stacks.loop.settings import STACK
from trimtab.view.lab import show_status

if TYPE_CHECKING:
    from trimtab.stacks.loop.state.keeping_up import KeepingUp

PACE_LIMIT_S = 3.0


def status(*, name: Name = "default", json: Json = False) -> int:
    """Show every component and task of a lab, and warnings. Exits with 1 unless it is ready."""
    lab = existing(name)
    seen = look(lab)
    pace = _pace(lab, seen)
    document = seen if pace is None else {**to_builtins(seen), "keeping_up": pace}
    emit(seen, json, lambda _: show_status(seen, "" if pace is None else str(pace)), document)
    return 0 if seen.phase == "ready" else 1


def _pace(lab: LabDir, status: LabStatus) -> "KeepingUp | None":
    """Whether a loop that runs keeps up; None where there is none."""
    if STACK not in status.stacks or not status.units:
        return None

    # Most of what a client needs to start; a lab without a loop, or a stopped one, asks nothing.
    from trimtab.stacks.loop.connection import open_loop
    from trimtab.stacks.loop.state.keeping_up import keeping_up

    async def ask() -> "KeepingUp":
        async with open_loop(lab, limit_s=PACE_LIMIT_S) as loop:
            return await keeping_up(loop)

    return asyncio.run(ask())
