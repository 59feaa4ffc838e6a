"""structlog, set up once: key=value lines for people, JSON for everything that is not a terminal.

Events are constants in the past tense with fields beside them:
`log.info("vm migration requested", vm=key, source=node)`.
"""

import logging
import sys
import threading
from contextlib import suppress
from typing import Literal, TextIO

import structlog

Level = Literal["debug", "info", "warning", "error"]


class _Lines:
    """Writes each line to `stream`, or to what stderr is at that moment.

    A stream that is closed or full costs the line, never the caller: a log line must not
    take a service or a tool down.
    """

    _lock = threading.Lock()

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def msg(self, message: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            print(message, file=self._stream or sys.stderr, flush=True)

    log = debug = info = warning = error = critical = exception = failure = fatal = msg


def configure(
    level: Level = "info", *, json: bool | None = None, stream: TextIO | None = None
) -> None:
    """Send log lines to `stream` (stderr): JSON unless it is a terminal or `json` decides."""
    out = stream or sys.stderr
    terminal = out is not None and not out.closed and out.isatty()
    as_json = not terminal if json is None else json
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=terminal)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=lambda *_: _Lines(stream),
        cache_logger_on_first_use=False,
    )


def get_logger(**bound: object) -> structlog.typing.FilteringBoundLogger:
    """A logger with `bound` fields on every line."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(**bound)
    return logger


# Until a command says otherwise: warnings, and never on stdout, which is for results.
configure("warning")
