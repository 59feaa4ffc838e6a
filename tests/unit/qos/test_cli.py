"""`trimtab qos` against a page that is really served."""

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from builders.values.qos import World, a_life_pod, at, controlled_by, unconnected
from trimtab.cli.main import app
from trimtab.errors import ConfigError, Unavailable
from trimtab.kube.http.web import Web
from trimtab.qos.page.feed import PageAccess
from trimtab.qos.page.routes import Routes
from trimtab.qos.page.text import HEADER
from trimtab.qos.queue.key import ANNOTATION, Stamp

SET = controlled_by("StatefulSet", "web")


def a_world() -> World:
    world = World()
    world.owner("StatefulSet", "web")
    world.put(a_life_pod("web-0", owner=SET, created=0, scheduled=60))
    stamp = {ANNOTATION: str(Stamp(0, 200_000, at(100)))}
    world.put(a_life_pod("web-1", owner=SET, created=100, annotations=stamp))
    world.put(a_life_pod("alone", created=200))
    world.second = 300
    return world


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A page in another thread, as in another process."""
    world = a_world()
    access = PageAccess(unconnected(), exposed=False)
    routes = Routes(
        world.tracker,
        world.waiting,
        access,
        world.settings,
        leading=lambda: True,
        skew=lambda: 0,
    )
    web = Web(routes.all())
    loop = asyncio.new_event_loop()
    task = loop.create_task(web.run())

    def serve() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            loop.close()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{web.port}"
    loop.call_soon_threadsafe(task.cancel)
    thread.join()


def qos(url: str, *words: str) -> None:
    app(["qos", *words, "--url", url], result_action="return_value", exit_on_error=False)


def test_top_prints_the_page_as_it_is(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    qos(url, "top")
    header, alone, web = capsys.readouterr().out.splitlines()
    assert header == HEADER
    assert (alone.split()[0], web.split()[0]) == ("alone", "web")
    assert web.split()[1:] == ["0.48/0.80", "-3m20s", "4m0s", "4m20s", "~0s"]


def test_top_sorts_and_widens(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    qos(url, "top", "--sort", "ttv", "--wide")
    header, first, _ = capsys.readouterr().out.splitlines()
    assert header.split()[6:8] == ["NAMESPACE", "KIND"]
    assert first.split()[0] == "web"
    assert "StatefulSet" in first


def test_json_is_for_programs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    qos(url, "top", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in answer["controllers"]] == ["alone", "web"]
    assert [each["name"] for each in answer["classes"]] == ["0.8"]


def test_the_queue_and_an_explanation(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    qos(url, "queue")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["default/web-1", "default/alone"]
    assert "unstamped" in lines[2]
    qos(url, "explain", "alone")
    told = capsys.readouterr().out
    assert "2, 1 ahead" in told
    assert "it would miss its promise earlier" in told


def test_the_history_of_a_controller(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    qos(url, "history", "web")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:] for line in lines[1:]] == [
        ["web-0", "created"],
        ["web-0", "bound"],
        ["web-1", "created"],
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["explain", "nobody"], "pod default/nobody: it does not wait for a scheduler"),
        (["history", "nobody"], 'no controller "nobody"; see: trimtab qos top'),
    ],
)
def test_a_wrong_name_is_told(url: str, words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        qos(url, *words)


def test_a_page_that_is_not_there_is_told() -> None:
    with pytest.raises(Unavailable, match=r"the QoS page does not answer .*trimtab run qos"):
        qos("http://127.0.0.1:9", "top")
