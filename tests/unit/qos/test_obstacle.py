"""Pods that cannot run: nobody waits for them, and their waiting earns no place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from builders.values.qos import World, a_life_pod, at, controlled_by, few
from trimtab.kube.resources import Condition, Container, Node, NodeStatus, ObjectMeta, Resources
from trimtab.qos.ledger.pod_life import LifePod, SchedulingGate
from trimtab.qos.ledger.time_to_violation import SECOND, AccountGrowth
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.queue.key import Horizon, Place, PodSituation, Stamp, queue_key
from trimtab.qos.queue.overbooking import Advice, shortage

SET = controlled_by("StatefulSet", "farm")
NO_MATCH = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
FULL = "0/2 nodes are available: 2 Insufficient cpu."
NO_VICTIM = " preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."


def told(pod: LifePod, message: str, reason: str = "Unschedulable") -> LifePod:
    """The pod, after the scheduler has said so; a gated one is told by the API server."""
    if reason == "SchedulingGated":
        spec = structs.replace(pod.spec, scheduling_gates=(SchedulingGate(name="wait"),))
        pod = structs.replace(pod, spec=spec)
    said = Condition(type="PodScheduled", status="False", reason=reason, message=message)
    return structs.replace(pod, status=structs.replace(pod.status, conditions=(said,)))


def a_world(cpu: str = "4") -> World:
    world = World()
    there = NodeStatus(allocatable={"cpu": cpu, "memory": "8Gi"})
    world.stores.nodes.store.put(Node(metadata=ObjectMeta(name="n1"), status=there))
    return world


def wants(cpu: str) -> dict[str, Any]:
    return {"containers": (Container(resources=Resources(requests={"cpu": cpu})),)}


@pytest.mark.parametrize(
    ("message", "reason", "cpu", "obstacle"),
    [
        pytest.param("", "SchedulingGated", "1", "gated", id="gated"),
        pytest.param(NO_MATCH + NO_VICTIM, "Unschedulable", "1", "fits nowhere", id="no such node"),
        pytest.param(FULL + NO_VICTIM, "Unschedulable", "1", "", id="the cluster is full"),
        pytest.param(FULL + NO_VICTIM, "Unschedulable", "5", "fits nowhere", id="too large"),
        pytest.param("error", "SchedulerError", "1", "", id="the scheduler had trouble"),
        pytest.param(
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).",
            *("Unschedulable", "1", ""),
            id="one node would do",
        ),
        pytest.param(
            "0/2 nodes are available: pods that were promised more, or wait for longer, "
            "are tried first. preemption: 0/2 nodes are available: 2 Preemption is not helpful.",
            *("Unschedulable", "1", ""),
            id="it made way",
        ),
    ],
)
async def test_the_schedulers_words_tell_whether_a_place_would_help(
    message: str, reason: str, cpu: str, obstacle: str
) -> None:
    world = a_world()
    pod = told(a_life_pod(**wants(cpu)), message, reason)
    assert world.stamper.obstacles.of(pod) == obstacle
    assert world.stamper.obstacles.of(a_life_pod(**wants(cpu))) == ""


async def test_a_larger_node_changes_the_answer() -> None:
    world = a_world()
    pod = told(a_life_pod(**wants("5")), FULL)
    assert world.stamper.obstacles.of(pod) == "fits nowhere"
    there = NodeStatus(allocatable={"cpu": "8", "memory": "8Gi"})
    world.stores.nodes.store.put(Node(metadata=ObjectMeta(name="n2"), status=there))
    assert world.stamper.obstacles.of(pod) == ""


@pytest.mark.parametrize("reason", ["Unschedulable", "SchedulingGated"])
async def test_two_hundred_replicas_that_cannot_run_earn_nothing(reason: str) -> None:
    """The next pod of their controller is behind one that honestly waited for ten minutes."""
    world = a_world()
    honest = a_life_pod("honest", created=0, annotations={SLO: "0.9"})
    world.put(honest)
    world.second = 500
    for number in range(200):
        pod = a_life_pod(f"f{number}", owner=SET, created=500, annotations={SLO: "0.9"})
        world.put(told(pod, NO_MATCH, reason))
    world.second = 560
    stamp = world.stamper.at_creation(a_life_pod("next", owner=SET, annotations={SLO: "0.9"})).stamp
    assert stamp == Stamp(0, 100_000, at(560)), "as if nobody of its own had waited"
    (seat,) = world.stamper.waiting_pods(world.account("uid-honest"), world.now())
    assert seat.decision.stamp < stamp


async def test_two_hundred_replicas_that_only_wait_earn_what_one_of_them_does() -> None:
    world = a_world()
    for number in range(200):
        world.put(a_life_pod(f"f{number}", owner=SET, created=0, annotations={SLO: "0.9"}))
    world.second = 60
    seats = world.stamper.waiting_pods(world.account("uid-farm"), world.now())
    assert {seat.decision.stamp for seat in seats} == {Stamp(0, 100_000, at(0))}


HORIZON = Horizon(margin=30 * SECOND, ageing=600 * SECOND, most_debt=3600 * SECOND)
debts = st.integers(0, 10**7)


@few
@given(debts, st.integers(0, 50), st.integers(1, 400), st.integers(0, 5000))
def test_no_debt_lets_a_pod_pass_one_that_came_an_hour_earlier(
    debt_s: int, running: int, waiting: int, waited_s: int
) -> None:
    now = at(0)
    late = PodSituation(
        now, now - waited_s * SECOND, -debt_s * SECOND, 0.9, AccountGrowth(running, waiting)
    )
    came = late.created - 3600 * SECOND
    early = PodSituation(now, came, came - now, 0.9, AccountGrowth(0, 1))
    keys = [
        Place(str(queue_key(each, HORIZON).stamp), each.created, uid).sort_key
        for each, uid in ((early, "a"), (late, "b"))
    ]
    assert keys[0] < keys[1]


@few
@given(debts, st.integers(0, 9), st.integers(1, 50), st.integers(1, 50))
def test_more_replicas_never_put_a_controller_further_ahead(
    debt_s: int, running: int, waiting: int, more: int
) -> None:
    """At the moment they come; from then on each of them earns what one alone would."""
    now = at(0)

    def due(count: int) -> int:
        pace = AccountGrowth(running, count)
        return queue_key(
            PodSituation(now, now, -debt_s * SECOND, 0.9, pace), HORIZON
        ).stamp.deadline

    assert due(waiting) <= due(waiting + more)


async def test_a_gated_pod_has_no_position_and_is_ahead_of_nobody() -> None:
    world = a_world()
    world.put(told(a_life_pod("gated", created=0), "", "SchedulingGated"))
    world.put(a_life_pod("next", created=5))
    queue = [(each.name, each.position) for each in world.waiting.queue()]
    assert queue == [("next", 1), ("gated", None)]
    free, gated = (world.waiting.explain("default", name) for name in ("next", "gated"))
    assert (free.pod.position, free.ahead_total) == (1, 0)
    assert (gated.pod.position, gated.ahead, gated.expected_wait_seconds) == (None, [], None)
    assert gated.outlook.startswith("gated")


async def test_no_wait_is_expected_of_a_pod_that_fits_nowhere_nor_for_it() -> None:
    world = a_world()
    world.put(told(a_life_pod("large", created=0, **wants("5")), FULL))
    world.put(a_life_pod("small", created=5, **wants("1")))
    for number in range(60):
        world.put(a_life_pod(f"b{number}", created=5, scheduled=5))
    world.second = 60
    large, small = (world.waiting.explain("default", name) for name in ("large", "small"))
    assert large.pod.position == 1
    assert large.expected_wait_seconds is None
    assert "fits on no node" in large.outlook
    assert small.ahead_total == 1
    assert small.expected_wait_seconds == pytest.approx(1.0), "the first takes no place"


@pytest.mark.parametrize(
    ("demand", "limit", "words"),
    [
        pytest.param(4.0, 8.0, "", id="it fits"),
        pytest.param(4.0, None, "", id="nothing is promised"),
        pytest.param(11.0, 10.0, "ask for 11 cores, the promises leave room for 10", id="too much"),
        pytest.param(1.0, 0.0, "higher promises take all the room", id="no room at all"),
    ],
)
def test_a_shortage_is_told_in_a_sentence(demand: float, limit: float | None, words: str) -> None:
    over = limit is not None and demand > limit
    advice = Advice(
        class_name="0.5", slo=0.5, demand_cores=demand, limit_cores=limit, exceeded=over
    )
    assert words in shortage(advice)
    assert bool(words) == bool(shortage(advice))


async def test_an_explanation_tells_of_promises_that_exceed_the_room() -> None:
    world = a_world(cpu="2")
    promised = {SLO: "1"}
    for number in range(3):
        world.put(a_life_pod(f"gold{number}", created=0, annotations=promised, **wants("1")))
    world.put(a_life_pod("bronze", created=0, annotations={SLO: "0.5"}, **wants("1")))
    explained = [world.waiting.explain("default", name).outlook for name in ("gold0", "bronze")]
    assert "ask for 3 cores, the promises leave room for 2" in explained[0]
    assert "higher promises take all the room" in explained[1]
