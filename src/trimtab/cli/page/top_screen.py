"""The screen of `trimtab top`: looks come in a thread, keys are answered at once."""

import asyncio
import curses
import os
import shutil
import sys
from concurrent.futures import Future
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec

from trimtab import obs
from trimtab.cli.cluster.options import LookOptions
from trimtab.cli.page.web import page_source
from trimtab.errors import TrimtabError
from trimtab.kube.client import Client
from trimtab.view.top import KeyRequest, Top, frame, node_lines, press, vm_lines
from trimtab.web.changes import VmChange, as_one_person, carry_out
from trimtab.web.feed.sources import Seen
from trimtab.web.why import Answers

TICK_MS = 200
_KEYS = {
    "\n": "Enter",
    "\r": "Enter",
    "\t": "Tab",
    "\x1b": "Escape",
    "\x7f": "Backspace",
    "\b": "Backspace",
    curses.KEY_ENTER: "Enter",
    curses.KEY_UP: "Up",
    curses.KEY_DOWN: "Down",
    curses.KEY_BACKSPACE: "Backspace",
}


def show(file: Path | None, where: LookOptions, every: float, *, once: bool, json: bool) -> None:
    """One picture or one screen where that was asked for, otherwise a screen that lives."""
    obs.configure("error")  # a line of the log would tear the screen; the look says what failed
    followed = _Followed(file, where, every)
    with followed:
        if json:
            print(msgspec.json.encode(followed.first().picture).decode())
        elif once or not (sys.stdout.isatty() and sys.stdin.isatty()):
            size = shutil.get_terminal_size()
            shown = frame(Top(), followed.first().picture, followed.name, size.columns, size.lines)
            print("\n".join(shown))
        else:
            followed.first()
            os.environ.setdefault("ESCDELAY", "25")
            curses.wrapper(_show, followed)


class _Followed:
    """The newest look, taken in a thread of its own, so that no key waits for the cluster."""

    def __init__(self, file: Path | None, where: LookOptions, every: float) -> None:
        self._what = file, where, every
        self.name = ""
        self.seen: Seen | None = None
        self._client: Client | None = None
        self._error: TrimtabError | None = None
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._there = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self._task is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(5)

    def first(self) -> Seen:
        """The first look; the error instead of it, if there is one."""
        while not self._there.wait(0.2):  # in steps, so that Ctrl-C is heard
            pass
        if self._error is not None:
            raise self._error
        assert self.seen is not None, "it is there, or there is an error"
        return self.seen

    def migrate(self, vm: str) -> "Future[str]":
        async def ask() -> str:
            if self._client is None:
                return "a file has no VMs to move"
            change = VmChange(action="migrate", vm=vm)
            return await carry_out(change, as_one_person(self._client))

        return asyncio.run_coroutine_threadsafe(ask(), self._loop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(self._follow())
        try:
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass  # the person has left the screen: an error has no place to be shown
        except TrimtabError as error:
            self._error = error
        finally:
            self._there.set()

    async def _follow(self) -> None:
        async with page_source(*self._what) as (source, self._client):
            self.name = source.name
            async for seen in source.looks():
                self.seen = seen
                self._there.set()
            await asyncio.Event().wait()  # a file has no more; it is shown until the end


def _show(screen: Any, followed: _Followed) -> None:
    curses.curs_set(0)
    screen.timeout(TICK_MS)
    state, asked = Top(), None
    waiting: Future[str] | None = None
    while asked is None or asked.what != "quit":
        seen = followed.first()
        _draw(screen, frame(state, seen.picture, followed.name, *_size(screen)))
        state, asked = press(state, _key(screen), seen.picture)
        if asked is not None and asked.what == "migrate":
            waiting = followed.migrate(asked.name)
        elif asked is not None and asked.what == "why":
            state = msgspec.structs.replace(state, text=_why(state, asked, seen, screen))
        if waiting is not None and waiting.done():
            state = msgspec.structs.replace(state, note=_told(waiting))
            waiting = None


def _key(screen: Any) -> str:
    try:
        key = screen.get_wch()
    except curses.error:  # nobody pressed one meanwhile
        return ""
    return _KEYS.get(key, key if isinstance(key, str) else "")


def _size(screen: Any) -> tuple[int, int]:
    lines, columns = screen.getmaxyx()
    return columns, lines


def _draw(screen: Any, lines: list[str]) -> None:
    screen.erase()
    for number, line in enumerate(lines):
        style = curses.A_REVERSE if line.startswith("> ") else curses.A_NORMAL
        try:
            screen.addstr(number, 0, line, style)
        except curses.error:  # the last cell of the screen, or a terminal that just shrank
            continue
    screen.refresh()


def _why(state: Top, asked: KeyRequest, seen: Seen, screen: Any) -> tuple[str, ...]:
    if seen.snapshot is None:
        return ("Why is answered for a lab, a cluster or a snapshot.",)
    columns = _size(screen)[0]
    answers = Answers(seen.snapshot)
    try:
        if state.kind == "nodes":
            return node_lines(answers.node(asked.name), columns)
        return vm_lines(answers.vm(asked.name), columns)
    except TrimtabError as error:
        return (str(error),)


def _told(waiting: "Future[str]") -> str:
    try:
        return waiting.result()
    except TrimtabError as error:
        return f"not done: {error}"
