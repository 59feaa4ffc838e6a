"""When an Event happened and how often, whichever kind its reporter writes."""

from typing import Any

import msgspec
import pytest

from trimtab.kube.resources import Event

OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"


@pytest.mark.parametrize(
    ("given", "last", "times"),
    [
        pytest.param({"eventTime": OLD}, OLD, 1, id="once"),
        pytest.param(
            {"eventTime": OLD, "series": {"count": 7, "lastObservedTime": NEW}},
            NEW,
            7,
            id="a series",
        ),
        pytest.param(
            {"eventTime": None, "deprecatedLastTimestamp": NEW, "deprecatedCount": 3},
            NEW,
            3,
            id="the older kind, as KubeVirt writes it",
        ),
        pytest.param(
            {"metadata": {"name": "e", "creationTimestamp": OLD}}, OLD, 1, id="no time of its own"
        ),
    ],
)
def test_the_last_time_and_the_number_are_known(
    given: dict[str, Any], last: str, times: int
) -> None:
    event = msgspec.convert({"metadata": {"name": "e"}, **given}, Event)
    assert event.last_seen is not None
    assert (event.last_seen.strftime("%Y-%m-%dT%H:%M:%SZ"), event.times) == (last, times)
