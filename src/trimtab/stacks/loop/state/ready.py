"""A loop is ready when it has gone round once: the descheduler has finished a cycle that worked.

The descheduler begins its first cycle at the same moment as it begins to read its token, so
that cycle mostly fails, whatever was there before its start; nobody outside can change that.
So this takes up to two intervals, which at scale 1 are two minutes.
"""

import asyncio
import time
from collections.abc import Callable

from trimtab.errors import NotReady
from trimtab.lab.files.layout import LabDir
from trimtab.stacks.loop.connection import Loop, open_loop
from trimtab.stacks.loop.state.links import Broken, check_descheduler, check_samples

LIMIT_S, LOOK_S = 90.0, 0.2
_NO_TOKEN = "prometheus client not initialized"


async def await_cycle(lab: LabDir, note: Callable[[str], None] = lambda _text: None) -> None:
    """Wait until the descheduler that runs now has finished a cycle that worked."""
    async with open_loop(lab) as loop:
        limit_s = LIMIT_S + 3 * loop.interval_s
        deadline = time.monotonic() + limit_s
        while (missing := await _missing(loop)) is not None:
            if time.monotonic() > deadline:
                raise NotReady(
                    f"the loop does not close within {limit_s:.0f} s: {missing}; "
                    "find the broken link: trimtab lab test"
                )
            note(f"descheduler: {problem_text(missing, loop.interval_s)}")
            await asyncio.sleep(LOOK_S)


async def _missing(loop: Loop) -> str | None:
    try:
        await check_samples(loop)
        await check_descheduler(loop)
    except Broken as error:
        return str(error)
    return None


def problem_text(problem: str, interval_s: float) -> str:
    """A problem as `lab up` shows it; a cycle that began without the token is none."""
    if _NO_TOKEN in problem:
        return f"has read its token; the cycle that counts begins within {interval_s:.0f} s"
    return problem
