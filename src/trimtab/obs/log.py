"""Log lines: key=value for people, JSON for everything that is not a terminal.

Events are constants in the past tense with fields beside them:
`log.info("vm migration requested", vm=key, source=node)`.

Written here because every process pays for a library at its start (docs/decisions/0018).
"""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from json import JSONEncoder
from types import MappingProxyType
from typing import Any, Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]
Fields = Mapping[str, Any]

_RANKS: dict[Level, int] = {"debug": 0, "info": 1, "warning": 2, "error": 3}
_COLOURS = {"debug": "32", "info": "32", "warning": "33", "error": "31"}
_in_context: ContextVar[Fields] = ContextVar("fields", default=MappingProxyType({}))


class _Output:
    """Where lines go and how they look; `configure` changes it for all loggers at once.

    A stream that is closed or full costs the line, never the caller: a log line must not
    take a service or a tool down.
    """

    _lock = threading.Lock()
    least: int
    render: Callable[[dict[str, Any]], str]
    stream: TextIO | None  # None: what stderr is at that moment

    def write(self, fields: dict[str, Any]) -> None:
        line = self.render(fields)
        with self._lock, suppress(OSError, ValueError):
            print(line, file=self.stream or sys.stderr, flush=True)


_output = _Output()


class Logger:
    """Writes lines, with `bound` fields on each of them."""

    def __init__(self, bound: Fields) -> None:
        self._bound = bound

    def debug(self, event: str, **fields: Any) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """`exc_info=error` adds the error's traceback as the field `exception`."""
        self._write("error", event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """An error with the traceback of the exception that is being handled."""
        self._write("error", event, {**fields, "exc_info": sys.exception()})

    def _write(self, level: Level, event: str, given: Fields) -> None:
        if _RANKS[level] < _output.least:
            return
        fields = {**self._bound, **given}
        error = fields.pop("exc_info", None)
        fields["event"] = event
        fields = {**fields, **{k: v for k, v in _in_context.get().items() if k not in fields}}
        fields["level"] = level
        fields["timestamp"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        if error is not None:
            fields["exception"] = _traceback(error)
        _output.write(fields)


def get_logger(**bound: object) -> Logger:
    """A logger with `bound` fields on every line."""
    return Logger(bound)


@contextmanager
def bound_fields(**fields: object) -> Iterator[None]:
    """Every line of this task, whoever writes it, has `fields` too."""
    before = _in_context.set({**_in_context.get(), **fields})
    try:
        yield
    finally:
        _in_context.reset(before)


def configure(
    level: Level = "info", *, json: bool | None = None, stream: TextIO | None = None
) -> None:
    """Send log lines to `stream` (stderr): JSON unless it is a terminal or `json` decides."""
    out = stream or sys.stderr
    terminal = out is not None and not out.closed and out.isatty()
    as_json = not terminal if json is None else json
    _output.least, _output.stream = _RANKS[level], stream
    _output.render = JSONEncoder(default=repr).encode if as_json else _for_people(terminal)


def _for_people(coloured: bool) -> Callable[[dict[str, Any]], str]:
    def paint(code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if coloured else text

    def line(fields: dict[str, Any]) -> str:
        time, level, event = (fields.pop(key) for key in ("timestamp", "level", "event"))
        trace = fields.pop("exception", "")
        head = f"{paint('2', time)} [{paint(_COLOURS[level], f'{level:9}')}] "
        pairs = (f"{paint('36', key)}={_value(value)}" for key, value in sorted(fields.items()))
        return " ".join((head + paint("1", f"{event:30}"), *pairs)) + (trace and f"\n{trace}")

    return line


def _value(value: object) -> str:
    if isinstance(value, str) and not set(value) & set(" \t=\r\n\"'"):
        return value
    return repr(value)


def _traceback(error: BaseException) -> str:
    from traceback import format_exception  # rarely needed, and brings the tokenizer

    return "".join(format_exception(error)).removesuffix("\n")


# Until a command says otherwise: warnings, and never on stdout, which is for results.
configure("warning")
