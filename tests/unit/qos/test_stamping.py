"""Stamps at creation and after, the queue that they make, and who is ahead."""

import base64

import msgspec
import pytest

from builders.values.qos import World, a_life_pod, at, controlled_by
from trimtab.qos.promise import ANNOTATION as SLO
from trimtab.qos.queue.key import ANNOTATION, INFINITE, Stamp
from trimtab.qos.queue.waiting import NoSuchPod, place, why_before
from trimtab.qos.service.webhook import PodAdmissionRequest, answered, in_namespace, patch

STATEFUL_SET = controlled_by("StatefulSet", "web")
VM = controlled_by("VirtualMachine", "db", api="trimtab.dev/v1alpha1")


def promised(slo: str, stamp: Stamp | None = None) -> dict[str, str]:
    return {SLO: slo} | ({ANNOTATION: str(stamp)} if stamp else {})


async def test_the_first_pod_of_all_is_due_now() -> None:
    world = World()
    decision = world.stamper.at_creation(a_life_pod(annotations=promised("0.9")))
    assert decision.stamp == Stamp(0, 100_000, at(0))


async def test_a_pod_of_somebody_in_credit_is_due_when_that_is_used_up() -> None:
    world = World()
    world.owner("StatefulSet", "web")
    old = a_life_pod("web-1", owner=STATEFUL_SET, created=0, scheduled=0, deleted=1000)
    world.put(old)
    world.second = 1000
    world.remove(old)
    new = a_life_pod("web-2", owner=STATEFUL_SET, annotations=promised("0.9"))
    decision = world.stamper.at_creation(new)
    assert decision.stamp.tier == 1
    assert decision.stamp.deadline == pytest.approx(at(1000 + 1000 / 9), abs=10**6)


async def test_the_target_of_a_live_migration_is_in_no_hurry() -> None:
    world = World()
    world.put(a_life_pod("l1", owner=VM, created=0, scheduled=0))
    world.second = 86_400
    target = a_life_pod("l2", owner=VM, annotations=promised("0.9"))
    assert world.stamper.at_creation(target).stamp == Stamp(2, 0, INFINITE)


async def test_siblings_are_stamped_alike_and_anew_when_one_is_bound() -> None:
    world = World()
    for number in range(3):
        world.put(a_life_pod(f"w{number}", owner=STATEFUL_SET, created=0))
    world.second = 10
    account = world.account("uid-web")
    before = world.stamper.waiting_pods(account, at(10))
    assert len({str(seat.decision.stamp) for seat in before}) == 1
    world.put(a_life_pod("w0", owner=STATEFUL_SET, created=0, scheduled=10))
    world.second = 500
    after = world.stamper.waiting_pods(account, at(500))
    assert len(after) == 2
    assert after[0].decision.stamp != before[0].decision.stamp


async def test_pods_of_other_schedulers_and_bound_ones_are_not_stamped() -> None:
    world = World()
    assert not world.stamper.stampable(a_life_pod(scheduler_name="other"))
    assert not world.stamper.stampable(a_life_pod(scheduled=1))
    assert not world.stamper.stampable(a_life_pod(deleted=1))
    assert not world.stamper.stampable(a_life_pod(namespace="kube-system"))
    assert world.stamper.stampable(a_life_pod())


@pytest.mark.parametrize("annotations", [{}, {"mine": "1"}])
def test_the_webhooks_answer_adds_the_stamp_and_keeps_the_rest(
    annotations: dict[str, str],
) -> None:
    pod = a_life_pod(annotations=annotations)
    asked = PodAdmissionRequest(uid="u1", object=pod)
    response = answered(asked, patch(pod, "v1:x"))["response"]
    assert (response["uid"], response["allowed"]) == ("u1", True)
    (operation,) = msgspec.json.decode(base64.b64decode(response["patch"]))
    if annotations:
        assert operation["path"] == "/metadata/annotations/qos.trimtab.dev~1key"
        assert operation["value"] == "v1:x"
    else:
        assert operation["value"] == {ANNOTATION: "v1:x"}


def test_without_a_patch_a_pod_is_let_in_as_it_is() -> None:
    response = answered(PodAdmissionRequest(uid="u1"), [])["response"]
    assert response == {"uid": "u1", "allowed": True}


def test_a_pod_under_creation_may_leave_its_namespace_to_the_request() -> None:
    assert in_namespace(a_life_pod(namespace=""), "red").metadata.namespace == "red"
    assert in_namespace(a_life_pod(namespace="blue"), "red").metadata.namespace == "blue"


async def test_the_queue_is_in_the_schedulers_order_with_reasons() -> None:
    world = World()
    early, late = Stamp(0, 0, at(1)), Stamp(0, 0, at(2))
    world.put(
        a_life_pod("late", created=0, annotations=promised("1", late)),
        a_life_pod("early", created=0, annotations=promised("1", early)),
        a_life_pod("ranked", created=0, annotations=promised("0.9", Stamp(0, 100_000, at(0)))),
        a_life_pod("unstamped", created=0),
        a_life_pod("carefree", created=0, annotations=promised("0", Stamp(2, 0, INFINITE))),
        a_life_pod("first", created=0, priority=1000),
    )
    names = [pod.name for pod in world.waiting.queue()]
    assert names == ["first", "early", "late", "ranked", "unstamped", "carefree"]
    world.second = 30
    told = world.waiting.explain("default", "unstamped")
    assert (told.pod.position, told.ahead_total, told.estimate) == (5, 4, True)
    assert [each.why for each in told.ahead] == [
        "its priority is higher",
        "its promise weighs more",
        "its promise weighs more",
        "its promise weighs more",
    ]
    assert told.expected_wait_seconds is None, "nothing was bound yet"


async def test_the_expected_wait_is_the_position_over_the_recent_rate() -> None:
    world = World()
    world.put(*(a_life_pod(f"b{n}", created=0, scheduled=n) for n in range(30)))
    world.put(a_life_pod("w", created=0))
    world.second = 60
    told = world.waiting.explain("default", "w")
    assert told.bindings_per_minute == 30
    assert told.expected_wait_seconds == pytest.approx(2)


async def test_a_pod_that_does_not_wait_is_not_explained() -> None:
    with pytest.raises(NoSuchPod, match="does not wait"):
        World().waiting.explain("default", "nobody")


def test_two_equal_pods_are_told_apart_by_uid() -> None:
    one, other = (a_life_pod(name, created=0) for name in "ab")
    assert place(one).sort_key < place(other).sort_key
    assert why_before(one, other) == "its uid is smaller: otherwise they are equal"
