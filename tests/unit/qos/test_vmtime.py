"""VMs: one unit however many pods; migrations cost what they cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.values.qos import a_gated_life, a_life, an_account, at, few
from trimtab.qos.ledger.account import Account
from trimtab.qos.ledger.pod_life import Incarnation
from trimtab.qos.ledger.time_to_violation import SECOND, AccountGrowth

S = SECOND


def a_vm(*lives: Incarnation) -> Account:
    return an_account(*lives, kind="VirtualMachine")


def sums(vm: Account, second: float) -> tuple[float, float, float]:
    reading = vm.at(at(second))
    return reading.running / S, reading.waiting / S, reading.binding / S


@pytest.mark.parametrize(
    ("lives", "expected"),
    [
        pytest.param([a_life("a", 0, 2)], (98, 2, 0), id="it waits for its first pod only"),
        pytest.param(
            [a_life("a", 0, 2), a_life("b", 50)], (98, 2, 0), id="a pending target is no waiting"
        ),
        pytest.param(
            [a_life("a", 0, 2, 60), a_life("b", 50, 55)],
            (98, 2, 0),
            id="a live migration adds no waiting, and no running twice",
        ),
        pytest.param(
            [a_life("a", 0, 2, 60), a_life("b", 61, 64)],
            (94, 6, 0),
            id="recreate adds exactly the gap from the end to the binding",
        ),
        pytest.param(
            [a_life("a", 0, 2, 60), a_life("b", 61, 64, binding=63)],
            (94, 5, 1),
            id="and the binding is neither",
        ),
        pytest.param([a_life("a", 0, 2, 60)], (58, 42, 0), id="a lost VM waits until it is back"),
        pytest.param(
            [a_life("a", 0, 2, 60), a_life("b", 50, None, 58), a_life("c", 59, 70)],
            (88, 12, 0),
            id="a target that gave up is nothing",
        ),
    ],
)
def test_a_vm_runs_while_any_of_its_pods_runs(
    lives: list[Incarnation], expected: tuple[float, float, float]
) -> None:
    assert sums(a_vm(*lives), 100) == expected


def test_a_vm_behind_gates_does_not_wait_for_the_scheduler() -> None:
    vm = a_vm(a_gated_life("a", ungated=10, bound=12, ended=50), a_gated_life("b"))
    assert sums(vm, 60) == (38, 2, 0)
    assert (vm.at(at(60)).gated, vm.at(at(60)).gated_now) == (20 * S, 1)


def test_a_vm_that_its_user_stops_has_no_clock() -> None:
    vm = a_vm(a_life("a", 0, 2, 60))
    vm.want(False, at(60))
    assert sums(vm, 1000) == (58, 2, 0)
    assert vm.at(at(1000)).pace == AccountGrowth(0, 0)
    vm.want(True, at(500))
    assert sums(vm, 510) == (58, 12, 0)
    vm.observe(a_life("b", 505, 520))
    assert sums(vm, 600) == (138, 22, 0)


def test_a_vm_without_a_pod_waits_from_its_creation() -> None:
    vm = a_vm()
    vm.begin(at(0))
    assert sums(vm, 5) == (0, 5, 0)
    vm.observe(a_life("a", 1, 8))
    assert sums(vm, 10) == (2, 8, 0)


def test_many_migrations_take_no_room_and_cost_nothing() -> None:
    vm = a_vm(a_life("p0", 0, 1))
    for number in range(1, 200):
        start = number * 10
        vm.observe(a_life(f"p{number}", start, start + 1))
        vm.forget(f"p{number - 1}", at(start + 2))
        vm.settle(at(start + 9))
        assert len(vm.pods) <= 4
    assert sums(vm, 2000) == (1999, 1, 0)


def test_stops_long_past_take_no_room() -> None:
    vm = a_vm()
    for number in range(50):
        start = number * 100
        vm.observe(a_life(f"p{number}", start, start + 1, start + 50))
        vm.want(False, at(start + 50))
        vm.want(True, at(start + 100))
        vm.settle(at(start + 99))
    assert len(vm.life.stops) <= 2
    assert sums(vm, 5000) == (49 * 50, 50, 0)


@st.composite
def pods(draw: st.DrawFn) -> list[Incarnation]:
    made = []
    for number in range(draw(st.integers(1, 6))):
        moments = sorted(draw(st.lists(st.integers(0, 200), min_size=3, max_size=3)))
        bound = moments[1] if draw(st.booleans()) else None
        ended = moments[2] if draw(st.booleans()) else None
        made.append(a_life(f"p{number}", moments[0], bound, ended))
    return made


@few
@given(pods())
def test_all_of_a_vms_time_is_running_or_waiting(lives: list[Incarnation]) -> None:
    """Checked second by second against the definition."""
    born = min(life.created for life in lives)
    running = sum(
        any(
            p.bound is not None and p.bound <= t and (p.ended is None or t < p.ended) for p in lives
        )
        for t in range(born, at(300), S)
    )
    assert sums(a_vm(*lives), 300) == (running, (at(300) - born) / S - running, 0)


def runs(life: Incarnation, moment: int) -> bool:
    begun = life.bound is not None and life.bound <= moment
    return begun and (life.ended is None or moment < life.ended)
