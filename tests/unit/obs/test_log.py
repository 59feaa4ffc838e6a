"""A log line must not take a tool down."""

import io
import sys
from collections.abc import Iterator

import pytest

from trimtab import obs


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    obs.configure("warning")


def test_lines_go_to_what_stderr_is_when_they_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", first)
    obs.configure("info")
    log = obs.get_logger()
    monkeypatch.setattr(sys, "stderr", second)
    log.info("vm moved", vm="web")
    assert first.getvalue() == ""
    assert '"vm moved"' in second.getvalue()


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("closed", [True, False], ids=["a closed stream", "a full disk"])
def test_a_stream_that_takes_nothing_costs_the_line_only(closed: bool) -> None:
    stream = io.StringIO() if closed else Full()
    if closed:
        stream.close()
    obs.configure("info", stream=stream)
    obs.get_logger().warning("nobody hears this")
    assert stream.closed is closed, "written to and left as it was"
