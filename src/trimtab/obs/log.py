"""structlog, set up once: key=value lines for people, JSON for everything that is not a terminal.

Events are constants in the past tense with fields beside them:
`log.info("vm migration requested", vm=key, source=node)`.
"""

import logging
import sys
from typing import Literal, TextIO

import structlog

Level = Literal["debug", "info", "warning", "error"]


def configure(
    level: Level = "info", *, json: bool | None = None, stream: TextIO | None = None
) -> None:
    """Send log lines to `stream` (stderr): JSON unless it is a terminal or `json` decides."""
    out = stream or sys.stderr
    as_json = not out.isatty() if json is None else json
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=out.isatty())
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
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )


def get_logger(**bound: object) -> structlog.typing.FilteringBoundLogger:
    """A logger with `bound` fields on every line."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(**bound)
    return logger


# Until a command says otherwise: warnings, and never on stdout, which is for results.
configure("warning")
