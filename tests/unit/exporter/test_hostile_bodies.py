"""No body, however hostile, is answered with 500, and a refused one changes nothing."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from builders.examples import examples
from trimtab.exporter.http.problems import guarded
from trimtab.exporter.http.routes import Exporter
from trimtab.exporter.http.token import TokenCheck
from trimtab.exporter.nodes.page import MetricsPage
from trimtab.exporter.scenario.in_memory import InMemoryCluster

EXAMPLES = examples(60, full=300)
NUMBERS = (
    *("1e999", "-1e999", "1e308", "5e-324", "NaN", "Infinity", "-0.0", "0", "-1", "1.5"),
    *("99999999999999999999999999", "1000000000000", "9" * 400, "9" * 5000, "true", "null"),
)
TEXTS = (
    *('"1e999"', '"9e999Ei"', '"inf"', '"nan"', '"../../x"', '""', '"\\u0000"', '"-5s"'),
    *("[]", "{}"),
)
hostile = st.sampled_from((*NUMBERS, *TEXTS))
OURS = """{{"name": "s", "duration": {0}, "seed": {1}, "nodes": [{{"name": "n", "count": {2},
 "cpu": {3}, "memory": {4}, "pods": {5}}}], "vms": [{{"name": "v", "count": {6}, "cpu": {7},
 "memory": {8}, "priority": {9}, "stagger": {10}, "dirtyRate": {11},
 "utilization": {{"cpu": {12}, "memory": {13}}},
 "load": {{"cpu": {14}}}}}], "migration": {{"perCluster": {15}, "bandwidth": {16}}}}}"""
GOOD = ("600", "1", "2", "32", '"64Gi"', "110", "3", "2", '"4Gi"', "0", "0", "0", "0.5", "0.5")
CURVES = (
    '{{"type": "constant", "value": {0}}}',
    '{{"type": "spikes", "base": 0.1, "peak": {0}, "every": {1}, "lasts": {2}, "seed": {3}}}',
    '{{"type": "diurnal", "low": {0}, "high": {1}, "period": {2}, "peakAt": {3}}}',
    '{{"type": "steps", "points": [[{0}, {1}]], "repeat": {2}, "delay": {3}}}',
    '{{"type": "trace", "values": [{0}, {1}], "interval": {2}, "repeat": {3}}}',
)
CLASSIC = """[{{"name": "n", "vms": [{{"id": {0}, "cpu_consumption": {1},
 "memory_consumption": {2}}}]}}, {{"name": "m", "cpu_usage": {3}, "memory_usage": {4}}}]"""


@st.composite
def scenarios(draw: st.DrawFn) -> str:
    """A scenario that is right but for one, two or all of its values."""
    values = [*GOOD, "null", "5", '"1Gi"']
    for place in draw(st.lists(st.integers(0, len(values) - 1), max_size=3)):
        values[place] = draw(hostile)
    if draw(st.booleans()):
        numbers = draw(st.lists(st.one_of(hostile, st.just("3")), min_size=4, max_size=4))
        values[14] = draw(st.sampled_from(CURVES)).format(*numbers)
    return OURS.format(*values)


@st.composite
def seeds(draw: st.DrawFn) -> str:
    good = ['"a"', "0.1", "0.2", "0.3", "0.4"]
    place = draw(st.integers(0, 4))
    good[place] = draw(hostile)
    return CLASSIC.format(*good)


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
).map(json.dumps)
bodies = st.one_of(scenarios(), seeds(), anything, st.text()).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)


def posted(exporter: Exporter, path: str, body: bytes) -> tuple[int, bytes]:
    """The status and answer to a POST of `body`."""
    endpoint = guarded(path, getattr(exporter, path))

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 5),
    }

    async def ask() -> tuple[int, bytes]:
        response = await endpoint(Request(scope, receive))
        return response.status_code, bytes(response.body)

    return asyncio.run(ask())


def in_memory() -> tuple[Exporter, MetricsPage]:
    memory = InMemoryCluster(now=lambda: 1000.0)
    page = MetricsPage(memory, production=True)
    return Exporter(memory, page, memory, TokenCheck()), page


@settings(max_examples=EXAMPLES, deadline=None)
@given(bodies)
@example(OURS.format(*GOOD[:7], "99999999999999999999999999", *GOOD[8:], "null", 5, 1).encode())
@example(CLASSIC.format('"a"', "1e999", "0.2", "0.3", "0.4").encode())
@example(("[" * 100_000).encode())
@example(b"\xff\xfe")
def test_no_scenario_is_answered_with_a_server_error(body: bytes) -> None:
    exporter, page = in_memory()
    status, answer = posted(exporter, "load_scenario", body)
    assert status in (200, 400, 422), answer
    page.text()  # what was accepted can be measured


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(anything, st.text()).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_wish_is_answered_with_a_server_error(body: bytes) -> None:
    exporter, _ = in_memory()
    status, answer = posted(exporter, "feedback", body)
    assert status in (200, 400, 422), answer


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (OURS.format(*GOOD[:6], 10**12, *GOOD[7:], "null", 5, 1), "vms[0].count"),
        (OURS.format(*GOOD[:7], 10**26, *GOOD[8:], "null", 5, 1), "vms[0].cpu"),
        (CLASSIC.format('"a"', "1e999", "0.2", "0.3", "0.4"), "scenario[0].vms[0]"),
    ],
)
def test_the_answer_names_the_field(text: str, field: str) -> None:
    exporter, page = in_memory()
    status, answer = posted(exporter, "load_scenario", text.encode())
    assert (status, json.loads(answer)["field"]) == (422, field)
    assert b"node_vm_count{" not in page.text()
