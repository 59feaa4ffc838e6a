"""The limits hold for any crowd, nobody is held up without need, and nobody jumps the queue."""

from collections import Counter
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.resources import Key, ObjectMeta
from trimtab.kube.virtual_machines import EVACUATION_LABEL, VirtualMachineMigration, VmStatus
from trimtab.virt.slots import MigrationLimits, MigrationPriority, MigrationRequest, granted
from trimtab.vm.decide.situation import VmSituation
from trimtab.vm.decide.steps import Start
from trimtab.vm.leader_state import LeaderState, Slots
from trimtab.vm.settings import VmControllerSettings

NODES = st.sampled_from(["n1", "n2", "n3"])
KEYS = st.integers(0, 12).map(lambda number: Key("default", f"vm-{number}"))
LIMITS = st.builds(MigrationLimits, st.integers(1, 6), st.integers(1, 3))


@st.composite
def crowds(draw: st.DrawFn) -> tuple[dict[Key, str], list[MigrationRequest[Key]], MigrationLimits]:
    limits = draw(LIMITS)
    running: dict[Key, str] = {}
    for key, node in draw(st.dictionaries(KEYS, NODES)).items():
        full = len(running) >= limits.cluster
        if not full and list(running.values()).count(node) < limits.node:
            running[key] = node
    others = draw(
        st.dictionaries(
            KEYS, st.tuples(st.sampled_from(MigrationPriority), st.integers(0, 5), NODES)
        )
    )
    waiting = [
        MigrationRequest(priority, float(created), key, node)
        for key, (priority, created, node) in others.items()
        if key not in running
    ]
    return running, waiting, limits


@given(crowds())
def test_the_limits_hold_and_no_slot_stays_empty_without_need(
    crowd: tuple[dict[Key, str], list[MigrationRequest[Key]], MigrationLimits],
) -> None:
    running, waiting, limits = crowd
    chosen = granted(running, waiting, limits)
    after = running | {each.key: each.node for each in waiting if each.key in chosen}
    leaving = Counter(after.values())
    assert len(after) <= limits.cluster
    assert all(count <= limits.node for count in leaving.values())
    for each in waiting:
        if each.key not in chosen and len(after) < limits.cluster:
            assert leaving[each.node] == limits.node


@given(crowds())
def test_of_two_that_leave_the_same_node_the_first_goes_first(
    crowd: tuple[dict[Key, str], list[MigrationRequest[Key]], MigrationLimits],
) -> None:
    running, waiting, limits = crowd
    chosen = granted(running, waiting, limits)
    for first in waiting:
        for second in waiting:
            if first.node == second.node and order(first) < order(second) and second.key in chosen:
                assert first.key in chosen


def order(request: MigrationRequest[Key]) -> tuple[int, float, Key]:
    return -request.priority, request.created, request.key


def a_request(number: int, node: str = "n1") -> MigrationRequest[Key]:
    key = Key("default", f"vm-{number}")
    return MigrationRequest(MigrationPriority.USER_TRIGGERED, float(number), key, node)


def test_what_was_granted_a_moment_ago_counts_before_the_store_shows_it() -> None:
    slots = Slots(MigrationLimits(cluster=5, node=2), dict, lambda _: None)
    assert [slots.take(a_request(number)) for number in range(4)] == [True, True, False, False]


def test_the_next_in_line_is_woken_when_a_slot_is_free() -> None:
    woken: list[Key] = []
    slots = Slots(MigrationLimits(cluster=1, node=1), dict, woken.append)
    first, second, third = (a_request(number, f"n{number}") for number in range(3))
    assert slots.take(first)
    assert not slots.take(third)
    assert not slots.take(second)
    slots.release(first.key)
    assert woken == [second.key]
    assert not slots.take(third), "it is not its turn"
    assert slots.take(second)


def test_one_that_does_not_ask_again_holds_nobody_up() -> None:
    slots = Slots(MigrationLimits(cluster=1, node=1), dict, lambda _: None)
    first, second, third = (a_request(number, f"n{number}") for number in range(3))
    assert slots.take(first)
    assert not slots.take(second)
    slots.release(first.key)
    slots.leave_queue(second.key)
    assert slots.take(third)


def test_an_evacuation_gets_a_slot_before_what_somebody_asked_for_earlier() -> None:
    others = {
        Key("other", str(number)): f"n{number}"
        for number in range(VmControllerSettings().limits.cluster)
    }
    state = LeaderState(VmControllerSettings(), lambda: others, lambda _: None)

    def take(name: str, minute: int, labels: dict[str, str]) -> bool:
        now = datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
        meta = ObjectMeta(name=name, labels=labels, creation_timestamp=now)
        migration = VirtualMachineMigration(metadata=meta)
        s = VmSituation(key=Key("default", name), now=now)
        return state.take_slot(s, Start(migration, "n9", VmStatus(), ()))

    assert not take("asked", 1, {})
    assert not take("evacuated", 2, {EVACUATION_LABEL: "true"})
    others.popitem()
    assert not take("asked", 1, {})
    assert take("evacuated", 2, {EVACUATION_LABEL: "true"})
