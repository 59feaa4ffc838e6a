"""What is logged inside a `with` block."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trimtab import obs


@contextmanager
def captured_logs() -> Iterator[list[dict[str, Any]]]:
    """The fields of every line, as programs read them; complete after the block."""
    lines: list[dict[str, Any]] = []
    stream = io.StringIO()
    obs.configure("debug", json=True, stream=stream)
    try:
        yield lines
    finally:
        obs.configure("warning")
        lines += map(json.loads, stream.getvalue().splitlines())
