"""Around the ledger: bindings, Events, metrics, access, settings."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from cyclopts import ValidationError
from starlette.requests import Request

from builders.values.qos import START, World, a_life, a_life_pod, at, controlled_by, unconnected
from trimtab.cli.main import app
from trimtab.errors import ConfigError
from trimtab.kube.http.authorize import AccessDenied
from trimtab.kube.http.callers import is_local
from trimtab.kube.runtime.options import read
from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.page.feed import PageAccess
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.queue.overbooking import PromisedCores
from trimtab.qos.service.bindings import Binding, Bindings, BindingsAnswer
from trimtab.qos.service.metrics import MOST_CLASSES, OTHER, AccountMetrics
from trimtab.qos.service.slo_events import SloEvents
from trimtab.qos.settings import QosSettings


def a_binding(uid: str, start: float, seconds: float, result: str = "bound") -> Binding:
    began = datetime.fromtimestamp(START + start, UTC)
    return Binding(1, uid, result, began, seconds)


def heard(world: World, *bindings: Binding, offset: int = 0) -> Bindings:
    source = Bindings("", world.tracker.ledger, lambda: offset)
    source.take(BindingsAnswer("now", 2, bindings))
    return source


async def test_a_binding_moves_the_boundary_between_waiting_and_running() -> None:
    world = World()
    world.put(a_life_pod("p", created=0, scheduled=3))
    heard(world, a_binding("uid-p", 2.5, 0.75))
    world.second = 10
    assert world.sums("uid-p") == (6.75, 2.5)
    reading = world.account("uid-p").at(at(10))
    assert (reading.binding, reading.about) == (SECOND * 3 // 4, False)


async def test_a_binding_by_a_skewed_clock_is_set_right() -> None:
    world = World()
    world.put(a_life_pod("p", created=0, scheduled=3))
    heard(world, a_binding("uid-p", 102.5, 0.5), offset=-100 * SECOND)
    world.second = 10
    assert world.sums("uid-p") == (7, 2.5)


async def test_a_failed_binding_is_waiting() -> None:
    world = World()
    world.put(a_life_pod("p", created=0))
    heard(world, a_binding("uid-p", 2.5, 0.75, result="failed"))
    world.second = 10
    assert world.sums("uid-p") == (0, 10)


async def test_a_binding_before_its_pod_is_seen_is_kept() -> None:
    world = World()
    source = Bindings("", world.tracker.ledger, lambda: 0)
    now = datetime.now(UTC)
    source.take(BindingsAnswer("now", 2, (Binding(1, "uid-p", "bound", now, 0.5),)))
    seconds = now.timestamp() - START
    world.put(a_life_pod("p", created=int(seconds) - 1))
    source.take(BindingsAnswer("now", 2))
    assert world.account("uid-p").pods["uid-p"].exact


async def test_another_scheduler_is_asked_for_all_its_bindings() -> None:
    """It may have bound more than the one before by the time that it is asked."""
    world = World()
    world.put(a_life_pod("p", created=0, scheduled=3), a_life_pod("q", created=0, scheduled=3))
    told = (a_binding("uid-p", 2.5, 0.75), a_binding("uid-q", 2.5, 0.25))
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        since = request.url.params["since"]
        asked.append(since)
        started = "first" if len(asked) == 1 else "second"
        found = told if started == "second" and since == "0" else ()
        return httpx2.Response(200, content=msgspec.json.encode(BindingsAnswer(started, 2, found)))

    source = Bindings("http://scheduler", world.tracker.ledger, lambda: 0)
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        assert await source._ask(http)
        assert await source._ask(http)
    assert asked == ["0", "2", "0"]
    assert all(world.account(f"uid-{name}").pods[f"uid-{name}"].exact for name in "pq")


def test_a_bindings_url_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="--bindings localhost: not a URL"):
        Bindings("localhost", World().tracker.ledger, lambda: 0)


class Told:
    """A recorder that remembers."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def record(self, about: Any, reason: str, note: str, **more: Any) -> None:
        self.reasons.append(reason)


def an_observer(world: World, *, leading: bool = True) -> tuple[SloEvents, Told]:
    told = Told()
    recorder: Any = told
    return SloEvents(world.tracker, world.accounts, recorder, lambda: leading), told


async def test_a_promise_is_told_at_risk_broken_and_kept_again_once_each() -> None:
    world = World()
    events, told = an_observer(world)
    notes = {SLO: "0.5"}
    world.put(a_life_pod("p", created=0, scheduled=0, annotations=notes))
    events.judge(at(10))
    assert told.reasons == [], "too young to judge"
    account = world.account("uid-p")
    world.put(a_life_pod("p", created=0, scheduled=0, deleted=100, annotations=notes))
    events.judge(at(100))
    assert told.reasons == []
    account.observe(a_life("q", 100))
    for second in (150, 190, 195, 260, 270):
        events.judge(at(second))
    assert told.reasons == ["SLOAtRisk", "SLOViolated"]
    account.observe(a_life("q", 100, 270))
    for second in (300, 2000):
        events.judge(at(second))
    assert told.reasons == ["SLOAtRisk", "SLOViolated", "SLORecovered"]


async def test_an_slo_that_cannot_be_read_is_told_once_and_by_the_next_leader_again() -> None:
    world = World()
    events, told = an_observer(world)
    follower, later = an_observer(world, leading=False)
    world.put(a_life_pod("p", created=0, annotations={SLO: "bad"}))
    for second in (1, 3, 5):
        events.judge(at(second))
        follower.judge(at(second))
    assert (told.reasons, later.reasons) == (["SLOInvalid"], [])
    follower._leading = lambda: True
    follower.judge(at(7))
    assert later.reasons == ["SLOInvalid"]


async def test_a_replica_that_does_not_lead_tells_nothing() -> None:
    world = World()
    events, told = an_observer(world, leading=False)
    world.put(a_life_pod("p", created=0))
    events.judge(at(1000))
    assert told.reasons == []


async def test_a_promise_of_one_is_not_broken_by_a_quick_start() -> None:
    world = World()
    world.put(a_life_pod("p", created=0, scheduled=1, annotations={SLO: "1"}))
    view = world.accounts.one(world.account("uid-p"), at(1000))
    assert view.ttv == -SECOND
    assert view.state == "ok", "nothing waits"


@pytest.mark.parametrize("slo", ["0.8", "0.99", "0.999", "1"])
async def test_a_healthy_account_is_never_told_at_risk(slo: str) -> None:
    """It has little time left when it is young, and loses none while all of it runs."""
    world = World()
    events, told = an_observer(world)
    world.put(a_life_pod("p", created=0, scheduled=0.4, annotations={SLO: slo}))
    for second in range(30, 7200, 90):
        events.judge(at(second))
    assert told.reasons == []


async def test_an_account_whose_pods_wait_no_more_than_promised_is_not_at_risk() -> None:
    world = World()
    events, told = an_observer(world)
    notes, owner = {SLO: "0.5"}, controlled_by("ReplicaSet", "web")
    world.owner("ReplicaSet", "web")
    for number in range(3):
        scheduled = None if number == 2 else 0.0
        pod = a_life_pod(f"web-{number}", created=0, scheduled=scheduled, owner=owner)
        pod.metadata.annotations.update(notes)
        world.put(pod)
    for second in range(30, 3600, 90):
        events.judge(at(second))
    assert told.reasons == []


def series_of(world: World, limit: int = 500) -> dict[str, Any]:
    cores = PromisedCores(world.tracker)
    found = AccountMetrics(world.tracker, world.accounts, cores, lambda: None, limit).collect()
    return {metric.name: metric.samples for metric in found}


async def test_series_are_bounded_whatever_people_deploy() -> None:
    world = World()
    for number in range(100):
        notes = {SLO: f"0.{number:02d}"}
        world.put(a_life_pod(f"p{number}", created=0, annotations=notes))
    found = series_of(world, limit=7)
    assert len(found["qosaware_qos_ratio"]) == 7
    classes = {each.labels["class"] for each in found["qosaware_class_deficit_ratio"]}
    assert len(classes) == MOST_CLASSES + 1
    assert OTHER in classes
    assert found["qosaware_accounts"][0].value == 100


async def test_series_have_the_names_and_units_that_alerts_read() -> None:
    world = World()
    world.put(a_life_pod("p", created=0, scheduled=4, annotations={SLO: "0.5"}))
    world.second = 10
    found = series_of(world)
    labels = {"namespace": "default", "kind": "Pod", "controller": "p", "class": "0.5"}
    for name, value in {
        "qosaware_qos_ratio": 0.6,
        "qosaware_slo_ratio": 0.5,
        "qosaware_ttv_seconds": 2,
        "qosaware_running_seconds": 6,
        "qosaware_waiting_seconds": 4,
        "qosaware_in_violation": 0,
    }.items():
        (sample,) = found[name]
        assert (sample.labels, sample.value) == (labels, value)


def a_request(client: str = "127.0.0.1", host: str = "localhost:10000", **headers: str) -> Request:
    pairs = {"host": host} | headers
    raw = [(name.encode(), value.encode()) for name, value in pairs.items()]
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": "/",
            "query_string": b"",
            "headers": raw,
            "client": (client, 1),
            "server": ("127.0.0.1", 10000),
            "scheme": "http",
        }
    )


@pytest.mark.parametrize(
    ("request_", "local"),
    [
        (a_request(), True),
        pytest.param(a_request("10.0.0.7"), False, id="another computer"),
        pytest.param(a_request(host="evil.example"), False, id="a name that points here"),
        pytest.param(a_request(origin="https://evil.example"), False, id="a web page"),
        pytest.param(a_request("::ffff:127.0.0.1"), True, id="IPv4 in IPv6"),
    ],
)
def test_local_is_a_program_on_this_computer(request_: Request, local: bool) -> None:
    assert is_local(request_) == local


@pytest.mark.parametrize(("exposed", "status"), [(False, 403), (True, 401)])
async def test_others_need_a_token_where_the_page_is_exposed_at_all(
    exposed: bool, status: int
) -> None:
    with pytest.raises(AccessDenied) as refused:
        await PageAccess(unconnected(), exposed).check(a_request("10.0.0.7"))
    assert refused.value.status == status


def test_the_page_listens_on_this_computer_only_unless_told_otherwise() -> None:
    assert QosSettings().address == "127.0.0.1"
    assert not QosSettings().exposed
    assert QosSettings(address="0.0.0.0").exposed
    assert not QosSettings(address="localhost").exposed


def test_a_certificate_needs_its_key() -> None:
    with pytest.raises(ConfigError, match="--certificate and --key belong together"):
        QosSettings(certificate=Path("x"))


def test_old_is_four_margins_and_at_least_ten_minutes() -> None:
    assert QosSettings().ageing_s == 600
    assert QosSettings(safety_margin_s=300).ageing_s == 1200
    assert QosSettings(max_wait_s=60).ageing_s == 60


def test_how_many_accounts_have_metrics_of_their_own_is_an_option() -> None:
    _, given, _ = app.parse_args(["run", "qos", "--series", "2000"], exit_on_error=False)
    assert read(QosSettings, given.kwargs).series == 2000
    with pytest.raises(ValidationError, match="is not within 0"):
        app.parse_args(["run", "qos", "--series", "-1"], exit_on_error=False, print_error=False)
