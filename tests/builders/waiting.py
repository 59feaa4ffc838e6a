"""Waiting for a state that can be observed, never for time.

`wait_until(look)` and, in coroutines, `await until(look)` return as soon as what `look` sees is
true, and fail with what it saw last. The limit is for machines that do a dozen other things:
a test that is right never meets it, and a shorter one would make no test quicker.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from inspect import isawaitable
from typing import TypeVar

T = TypeVar("T")
Complaint = str | Callable[[], str]
"""What did not come, for the one who reads the failure; a function is asked only then."""
LIMIT_S = 400.0


def wait_until(look: Callable[[], T], otherwise: Complaint = "", limit_s: float = LIMIT_S) -> T:
    """What `look` saw, once it is true."""
    started = time.monotonic()
    for pause_s in _pauses():
        if seen := look():
            return seen
        passed_s = time.monotonic() - started
        assert passed_s < limit_s, _complaint(passed_s, otherwise or repr(look), seen)
        time.sleep(pause_s)
    raise AssertionError("unreachable")


async def until(
    look: Callable[[], object], otherwise: Complaint = "", limit_s: float = LIMIT_S
) -> None:
    """Return once what `look` sees is true; `look` may be a coroutine function."""
    clock = asyncio.get_running_loop().time
    started = clock()
    for pause_s in _pauses():
        looked = look()
        seen = await looked if isawaitable(looked) else looked
        if seen:
            return
        passed_s = clock() - started
        assert passed_s < limit_s, _complaint(passed_s, otherwise or repr(look), seen)
        await asyncio.sleep(pause_s)


def _pauses() -> Iterator[float]:
    """Often at first, then twice a second: a look may ask several programs."""
    pause_s = 0.01
    while True:
        yield pause_s
        pause_s = min(0.5, pause_s * 1.25)


def _complaint(passed_s: float, otherwise: Complaint, seen: object) -> str:
    said = otherwise() if callable(otherwise) else otherwise
    return f"{said}: not within {passed_s:.0f} s; seen last: {seen!r}"
