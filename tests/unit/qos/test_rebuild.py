"""A restarted ledger equals one that never stopped, whatever happened meanwhile."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import World, a_life_pod, controlled_by, few, when
from builders.worlds.qos_restart import NEWEST, Happening, History, checkpoint, rebuilt
from trimtab.kube.resources import OwnerReference
from trimtab.qos.ledger.pod_life import LifePod, PodMeta, Written
from trimtab.qos.service.rebuild import RebuildOutcome
from trimtab.qos.wire import QosAccount

KINDS = {
    "StatefulSet": controlled_by("StatefulSet", "web"),
    "VirtualMachine": controlled_by("VirtualMachine", "web", api="trimtab.dev/v1alpha1"),
}


class Plan(msgspec.Struct):
    """A pod's life: seconds."""

    created: int
    bound: int | None
    deleted: int | None
    gone: int | None


@st.composite
def plans(draw: st.DrawFn) -> list[Plan]:
    made = []
    for _ in range(draw(st.integers(1, 5))):
        moments = sorted(draw(st.lists(st.integers(0, 100), min_size=4, max_size=4)))
        last = draw(st.sampled_from(["waits", "runs", "leaves", "gone", "gives up"]))
        bound = None if last in ("waits", "gives up") else moments[1]
        deleted = moments[2] if last in ("leaves", "gone", "gives up") else None
        gone = moments[3] if last in ("gone", "gives up") else None
        made.append(Plan(moments[0], bound, deleted, gone))
    return made


def happenings(lives: list[Plan], owner: OwnerReference) -> list[Happening]:
    """All watch events in order, with versions."""
    told: list[tuple[float, int, str, dict[str, Any]]] = []
    for number, life in enumerate(lives):
        base: dict[str, Any] = {"created": life.created}
        told.append((life.created, number, "ADDED", dict(base)))
        if life.bound is not None:
            base["scheduled"] = life.bound
            told.append((life.bound, number, "MODIFIED", dict(base)))
        if life.deleted is not None:
            base |= {"deleted": life.deleted, "grace": 30}
            told.append((life.deleted, number, "MODIFIED", dict(base)))
        if life.gone is not None:
            told.append((life.gone, number, "DELETED", dict(base)))
    ordered = sorted(told, key=lambda each: each[0])
    return [
        Happening(second, index, kind, a_life_pod(f"p{n}", owner=owner, version=index, **facts))
        for index, (second, n, kind, facts) in enumerate(ordered, 1)
    ]


def play(world: World, events: list[Happening]) -> None:
    for event in events:
        world.second = event.at
        if event.type == "DELETED":
            world.stores.pods.store.discard(event.pod.metadata.key)
        else:
            world.put(event.pod)


def a_world(kind: str) -> World:
    world = World()
    if kind == "StatefulSet":
        world.owner("StatefulSet", "web")
    return world


def restarted(
    kind: str, events: list[Happening], saved_at: float, back_at: float, gone: bool = False
) -> tuple[World, World, RebuildOutcome]:
    """A world that saw everything, and one that was away from its checkpoint until `back_at`."""
    live = a_world(kind)
    before = [event for event in events if event.at <= saved_at]
    play(live, before)
    live.second = saved_at
    accounts = list(live.tracker.ledger.accounts.values())
    version = max((event.version for event in before), default=0)
    saved = [checkpoint(account, saved_at, version) for account in accounts]
    missed = [event for event in events if saved_at < event.at <= back_at]
    later = a_world(kind)
    later.tracker.ready = False
    play(later, [*before, *missed])
    later.tracker._aside.clear()  # it was not there to see it
    later.second = back_at
    outcome = rebuilt(later, History(saved, [*before, *missed], gone))
    play(live, missed)
    rest = [event for event in events if event.at > back_at]
    play(live, rest)
    play(later, rest)
    live.second = later.second = 200
    return live, later, outcome


@few
@given(plans(), st.sampled_from(sorted(KINDS)), st.integers(0, 100), st.integers(0, 100))
def test_a_rebuilt_ledger_equals_the_live_one(
    lives: list[Plan], kind: str, saved_at: int, away: int
) -> None:
    events = happenings(lives, KINDS[kind])
    live, later, _ = restarted(kind, events, saved_at, saved_at + away)
    if "uid-web" not in live.tracker.ledger.accounts:
        return
    transitions = len(events)
    for one, other in zip(live.sums("uid-web"), later.sums("uid-web"), strict=True):
        assert abs(one - other) <= transitions


OWNED: dict[str, Any] = {"owner": KINDS["StatefulSet"], "created": 0, "scheduled": 2}
STORY = [Plan(0, 2, 50, 51), Plan(20, 22, 60, 61), Plan(55, 56, None, None)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_vanished_is_replayed_to_the_second(kind: str) -> None:
    live, later, outcome = restarted(kind, happenings(STORY, KINDS[kind]), 30, 90)
    assert later.sums("uid-web") == live.sums("uid-web")
    assert (outcome.gap, outcome.lost) == (False, 0)


def test_where_the_watch_has_forgotten_the_gap_is_bounded_and_told() -> None:
    events = happenings(STORY, KINDS["StatefulSet"])
    live, later, outcome = restarted("StatefulSet", events, 30, 90, gone=True)
    assert (outcome.gap, outcome.lost) == (True, 2)
    running, waiting = live.sums("uid-web")
    found, waited = later.sums("uid-web")
    missing = later.account("uid-web").gap / 10**9
    assert missing == 2 * 60
    assert running - missing <= found <= running
    assert waited == waiting


def test_where_the_watch_has_forgotten_pods_that_came_and_went_are_a_gap_too() -> None:
    events = happenings([Plan(0, 2, 20, 21), Plan(40, 42, 80, 81)], KINDS["StatefulSet"])
    live, later, outcome = restarted("StatefulSet", events, 30, 90, gone=True)
    assert (outcome.gap, outcome.lost) == (True, 0)
    assert live.sums("uid-web")[0] - later.sums("uid-web")[0] == 38
    assert later.account("uid-web").gap / 10**9 == 60


def test_a_vm_that_ran_all_the_time_has_no_gap_though_the_watch_has_forgotten() -> None:
    events = happenings([Plan(0, 2, None, None)], KINDS["VirtualMachine"])
    _, later, outcome = restarted("VirtualMachine", events, 30, 90, gone=True)
    assert (outcome.gap, later.account("uid-web").gap) == (True, 0)


def test_a_pod_that_came_where_the_watch_has_forgotten_may_have_had_gates() -> None:
    live = a_world("StatefulSet")
    live.put(a_life_pod("a", **OWNED))
    new = a_life_pod("new", created=70)
    later = a_restart(live, [checkpoint(live.account("uid-web"), 60, 10)], [new], 90, gone=True)
    assert later.account("uid-new").gap / 10**9 == 20


def test_a_restart_right_after_a_checkpoint_changes_nothing() -> None:
    events = happenings(STORY, KINDS["StatefulSet"])
    for second in range(0, 100, 10):
        live, later, _ = restarted("StatefulSet", events, second, second)
        assert later.sums("uid-web") == live.sums("uid-web")


def test_who_ends_while_the_past_is_replayed_is_not_lost() -> None:
    events = happenings([Plan(0, 2, None, None)], KINDS["StatefulSet"])
    newer = a_life_pod("new", owner=KINDS["StatefulSet"], created=89, version=NEWEST + 1)
    live = a_world("StatefulSet")
    play(live, events)
    later = a_world("StatefulSet")
    later.tracker.ready = False
    play(later, events)
    later.tracker._aside.clear()
    ahead = Happening(89, NEWEST + 1, "ADDED", newer)  # the store will hear of it later
    api = History([checkpoint(live.account("uid-web"), 10, 2)], [*events, ahead])
    later.second = 90

    def end() -> None:
        later.remove(events[0].pod)

    api.on_watch = end
    outcome = rebuilt(later, api)
    assert (outcome.lost, later.account("uid-web").gap) == (0, 0)
    assert later.sums("uid-web") == (88, 2)


def a_restart(
    live: World, saved: list[QosAccount], pods: list[LifePod], second: float, gone: bool = False
) -> World:
    """A world that finds these checkpoints and pods; `gone`: and no watch history."""
    later = a_world("StatefulSet")
    later.tracker.ready = False
    later.put(*pods)
    later.tracker._aside.clear()
    later.second = second
    events = [] if gone else [Happening(0, 900, "MODIFIED", pod) for pod in pods]
    rebuilt(later, History(saved, events, gone))
    return later


@pytest.mark.parametrize("gone", [False, True], ids=["with the history", "without it"])
@pytest.mark.parametrize("saved", ["neither", "the old one", "the new one", "both"])
def test_a_released_pods_time_stays_where_it_was_over_a_restart(saved: str, gone: bool) -> None:
    """Whichever of the two checkpoints was written after the pod had left."""
    live = a_world("StatefulSet")
    live.put(a_life_pod("a", **OWNED), a_life_pod("b", **OWNED))
    before = [checkpoint(live.account("uid-web"), 50, 10)]
    live.second = 50
    loose = written_at(a_life_pod("a", created=0, scheduled=2, version=20), 50)
    live.put(loose)
    live.second = 58
    old, new = (checkpoint(live.account(uid), 58, 30) for uid in ("uid-web", "uid-a"))
    chosen = {
        "neither": before,
        "the old one": [old],
        "the new one": [*before, new],
        "both": [old, new],
    }[saved]
    later = a_restart(live, chosen, [loose, a_life_pod("b", **OWNED)], 90, gone)
    assert later.sums("uid-web") == (48 + 88, 2 + 2)
    assert later.sums("uid-a") == (40, 0)
    unwatched = 90 - (58 if old in chosen else 50) if gone else 0
    gaps = [later.account(uid).gap / 10**9 for uid in ("uid-web", "uid-a")]
    assert gaps == [unwatched, 0]  # a bare pod's account has no other pod to miss


def written_at(pod: LifePod, second: float, subresource: str = "") -> LifePod:
    entry = Written(time=when(second), subresource=subresource)
    meta = msgspec.structs.replace(pod.metadata, managed_fields=(entry,))
    return msgspec.structs.replace(pod, metadata=meta)


@pytest.mark.parametrize("gone", [False, True], ids=["with the history", "without it"])
@pytest.mark.parametrize(
    ("told", "running", "gap"),
    [
        pytest.param(None, 58, 30, id="nothing tells: until the checkpoint, and a gap"),
        pytest.param(75, 73, 0, id="its status was last written then"),
        pytest.param(30, 58, 0, id="a clue from before the checkpoint knew it running"),
    ],
)
def test_a_pod_that_failed_while_nobody_watched_keeps_its_time(
    told: float | None, running: float, gap: float, gone: bool
) -> None:
    live = a_world("StatefulSet")
    live.put(a_life_pod("solo", **OWNED))
    failed = a_life_pod("solo", phase="Failed", version=20, **OWNED)
    if told is not None:
        failed = written_at(failed, told, "status")
    later = a_restart(live, [checkpoint(live.account("uid-web"), 60, 10)], [failed], 90, gone)
    assert later.sums("uid-web") == (running, 2)
    assert later.account("uid-web").gap / 10**9 == (30 if gone else gap)


def test_an_end_that_a_checkpoint_knows_is_not_forgotten() -> None:
    live = a_world("StatefulSet")
    live.put(a_life_pod("solo", **OWNED))
    live.second = 50
    failed = a_life_pod("solo", phase="Failed", version=20, **OWNED)
    live.put(failed)
    live.second = 55
    later = a_restart(live, [checkpoint(live.account("uid-web"), 55, 20)], [failed], 90)
    assert later.sums("uid-web") == live.sums("uid-web") == (48, 2)


@pytest.mark.parametrize(
    ("after", "running", "gap"),
    [
        pytest.param([], 58, 30, id="nothing came after it: a gap until now"),
        pytest.param([("other", 80)], 58, 20, id="something else came after it: until then"),
        pytest.param([("web", 80)], 78, 20, id="its controller replaced it: then"),
    ],
)
def test_a_removal_that_has_no_time_is_bounded_by_what_came_after(
    after: list[tuple[str, float]], running: float, gap: float
) -> None:
    live = a_world("StatefulSet")
    pod = a_life_pod("a", **OWNED, version=1)
    live.put(pod)
    saved = [checkpoint(live.account("uid-web"), 60, 10)]
    events = [Happening(0, 20, "DELETED", msgspec.structs.replace(pod, metadata=at_20(pod)))]
    events += [
        Happening(0, 30, "ADDED", a_life_pod("n", owner=whose(owner), created=second, version=30))
        for owner, second in after
    ]
    later = a_world("StatefulSet")
    later.owner("StatefulSet", "other")
    later.tracker.ready = False
    later.put(*(event.pod for event in events if event.type == "ADDED"))
    later.tracker._aside.clear()
    later.second = 90
    rebuilt(later, History(saved, events))
    assert later.sums("uid-web")[0] == running
    assert later.account("uid-web").gap / 10**9 == gap


def at_20(pod: LifePod) -> PodMeta:
    return msgspec.structs.replace(pod.metadata, resource_version="20")


def whose(name: str) -> OwnerReference:
    return controlled_by("StatefulSet", name)


def test_a_pod_that_came_and_went_between_two_accounts_checkpoints_is_counted() -> None:
    """`web` had no pod when it was written; `db`, with one, was written later."""
    world = a_world("StatefulSet")
    world.owner("StatefulSet", "db")
    web, db = KINDS["StatefulSet"], controlled_by("StatefulSet", "db")
    first = a_life_pod("w0", owner=web, created=0, scheduled=1, deleted=2, version=3)
    other = a_life_pod("d0", owner=db, created=0, scheduled=1, version=4)
    brief = a_life_pod("w1", owner=web, created=5, scheduled=6, deleted=9, version=6)
    world.put(first, other)
    world.remove(first)
    world.second = 12
    saved = [
        checkpoint(world.account("uid-web"), 3, 4, complete=4),
        checkpoint(world.account("uid-db"), 12, 8, complete=4),
    ]
    later = a_world("StatefulSet")
    later.owner("StatefulSet", "db")
    later.tracker.ready = False
    later.put(other)
    later.tracker._aside.clear()
    later.second = 20
    outcome = rebuilt(later, History(saved, [Happening(9, 6, "DELETED", brief)]))
    assert (outcome.replayed, outcome.lost) == (1, 0)
    assert later.sums("uid-web") == (1 + 3, 1 + 1)
    assert later.sums("uid-db") == (19, 1)
