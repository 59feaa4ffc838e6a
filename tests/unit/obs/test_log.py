"""A log line must not take a tool down."""

import io
import json
import re
import sys
from collections.abc import Iterator

import pytest

from trimtab import obs
from trimtab.obs.log import Logger


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


def written(*, as_json: bool) -> list[str]:
    """Lines of each kind, without the time that differs."""
    stream = io.StringIO()
    obs.configure("info", json=as_json, stream=stream)
    log = obs.get_logger(room="model")
    with obs.bound_fields(controller="vm", key="default/web"):
        log.info("vm moved", source="n 1", size=(1, 2.5), old=None, reason=ValueError("é"))
        log.debug("vm checked")
        log.warning("vm lost", key="its own")
    with pytest.raises(KeyError) as caught:
        _fail(log)
    log.error("turn failed", exc_info=caught.value)
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"
    return re.sub(time, "TIME", stream.getvalue()).splitlines()


def _fail(log: Logger) -> None:
    try:
        dict[str, str]()["web"]
    except KeyError:
        log.exception("turn failed", vm="a")
        raise


def test_lines_for_programs_are_json_with_the_fields_before_event_level_and_time() -> None:
    moved, lost, failed, again = written(as_json=True)
    assert moved == (
        '{"room": "model", "source": "n 1", "size": [1, 2.5], "old": null, '
        '"reason": "ValueError(\'\\u00e9\')", "event": "vm moved", "controller": "vm", '
        '"key": "default/web", "level": "info", "timestamp": "TIME"}'
    )
    assert lost == (
        '{"room": "model", "key": "its own", "event": "vm lost", "controller": "vm", '
        '"level": "warning", "timestamp": "TIME"}'
    )
    trace = json.loads(failed)["exception"]
    assert trace.startswith("Traceback (most recent call last):\n")
    assert trace.endswith("KeyError: 'web'")
    assert json.loads(again)["exception"].endswith("KeyError: 'web'")
    assert [*json.loads(failed)] == ["room", "vm", "event", "level", "timestamp", "exception"]


def test_lines_for_people_have_time_level_event_and_fields_in_order() -> None:
    moved, lost, failed, trace, *_ = written(as_json=False)
    assert moved == (
        "TIME [info     ] vm moved                       controller=vm key=default/web old=None "
        "reason=ValueError('é') room=model size=(1, 2.5) source='n 1'"
    )
    assert lost.endswith("vm lost                        controller=vm key='its own' room=model")
    assert failed == "TIME [error    ] turn failed                    room=model vm=a"
    assert trace == "Traceback (most recent call last):"
