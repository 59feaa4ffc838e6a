"""The limits hold for any crowd, nobody is held up without need, and nobody jumps the queue."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.resources import Key
from trimtab.vm.decide.slots import Request, Slots, granted
from trimtab.vm.settings import Limits

NODES = st.sampled_from(["n1", "n2", "n3"])
KEYS = st.integers(0, 12).map(lambda number: Key("default", f"vm-{number}"))
LIMITS = st.builds(Limits, st.integers(1, 6), st.integers(1, 3))


@st.composite
def crowds(draw: st.DrawFn) -> tuple[dict[Key, str], list[Request], Limits]:
    limits = draw(LIMITS)
    running: dict[Key, str] = {}
    for key, node in draw(st.dictionaries(KEYS, NODES)).items():
        full = len(running) >= limits.cluster
        if not full and list(running.values()).count(node) < limits.node:
            running[key] = node
    others = draw(st.dictionaries(KEYS, st.tuples(st.booleans(), st.integers(0, 5), NODES)))
    waiting = [
        Request(evacuation, float(created), key, node)
        for key, (evacuation, created, node) in others.items()
        if key not in running
    ]
    return running, waiting, limits


@given(crowds())
def test_the_limits_hold_and_no_slot_stays_empty_without_need(
    crowd: tuple[dict[Key, str], list[Request], Limits],
) -> None:
    running, waiting, limits = crowd
    lucky = granted(running, waiting, limits)
    after = running | {each.key: each.node for each in waiting if each.key in lucky}
    leaving = Counter(after.values())
    assert len(after) <= limits.cluster
    assert all(count <= limits.node for count in leaving.values())
    for each in waiting:
        if each.key not in lucky and len(after) < limits.cluster:
            assert leaving[each.node] == limits.node


@given(crowds())
def test_of_two_that_leave_the_same_node_the_first_goes_first(
    crowd: tuple[dict[Key, str], list[Request], Limits],
) -> None:
    running, waiting, limits = crowd
    lucky = granted(running, waiting, limits)
    for first in waiting:
        for second in waiting:
            if first < second and first.node == second.node and second.key in lucky:
                assert first.key in lucky


def a_request(number: int, node: str = "n1") -> Request:
    return Request(False, float(number), Key("default", f"vm-{number}"), node)


def test_what_was_granted_a_moment_ago_counts_before_the_store_shows_it() -> None:
    slots = Slots(Limits(cluster=5, node=2), dict, lambda _: None)
    assert [slots.take(a_request(number)) for number in range(4)] == [True, True, False, False]


def test_the_next_in_line_is_woken_when_a_slot_is_free() -> None:
    woken: list[Key] = []
    slots = Slots(Limits(cluster=1, node=1), dict, woken.append)
    first, second, third = (a_request(number, f"n{number}") for number in range(3))
    assert slots.take(first)
    assert not slots.take(third)
    assert not slots.take(second)
    slots.release(first.key)
    assert woken == [second.key]
    assert not slots.take(third), "it is not its turn"
    assert slots.take(second)


def test_one_that_does_not_ask_again_holds_nobody_up() -> None:
    slots = Slots(Limits(cluster=1, node=1), dict, lambda _: None)
    first, second, third = (a_request(number, f"n{number}") for number in range(3))
    assert slots.take(first)
    assert not slots.take(second)
    slots.release(first.key)
    slots.leave_queue(second.key)
    assert slots.take(third)
