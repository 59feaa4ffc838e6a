"""How long copying takes: alone, together, and when the controller is another one."""

import pytest

from trimtab.kube.resources import Key
from trimtab.virt.copies import Copies, CopyOrder, Progress
from trimtab.virt.migration_backoff import GIB

A, B = Key("default", "a"), Key("default", "b")


class Copying:
    """Copies of 10 GiB at 1 GiB/s; remembers who was woken."""

    def __init__(self) -> None:
        self.woken: list[Key] = []
        self.copies = Copies(GIB, self.woken.append)

    def look(
        self, key: Key, now_s: float, *, begun_s: float = 0.0, way: str = "n1 n2", dirty: float = 0
    ) -> Progress:
        order = an_order(f"move-{key.name}", way, begun_s=begun_s, dirty=dirty)
        return self.copies.progress(key, order, now_s)


def an_order(migration: str, way: str, *, begun_s: float, dirty: float = 0.0) -> CopyOrder:
    source, target = way.split()
    return CopyOrder(
        migration=migration,
        source=source,
        target=target,
        size=10 * GIB,
        dirty_rate=dirty,
        begun_s=begun_s,
        limit_s=1500.0,
    )


def test_alone_it_takes_the_memory_over_the_bandwidth() -> None:
    copying = Copying()
    assert copying.look(A, 0).left_s == pytest.approx(10)
    assert copying.look(A, 4).left_s == pytest.approx(6)
    done = copying.look(A, 10)
    assert done.left_s == pytest.approx(0)
    assert done.in_time


def test_what_a_vm_changes_meanwhile_has_to_be_copied_again() -> None:
    assert Copying().look(A, 0, dirty=GIB / 2).left_s == pytest.approx(20)


def test_a_vm_that_changes_more_than_can_be_copied_is_given_up() -> None:
    stuck = Copying().look(A, 0, dirty=2 * GIB)
    assert stuck.left_s == pytest.approx(150)
    assert not stuck.in_time


def test_two_that_leave_the_same_node_share_its_network() -> None:
    copying = Copying()
    copying.look(A, 0)
    assert copying.look(B, 5, begun_s=5, way="n1 n3").left_s == pytest.approx(20)
    assert copying.woken == [A]
    assert copying.look(A, 5).left_s == pytest.approx(10)
    copying.copies.drop(A, 10)
    assert copying.look(B, 10, begun_s=5, way="n1 n3").left_s == pytest.approx(7.5)
    assert copying.woken == [A, B]


def test_two_on_different_ways_do_not_hinder_each_other() -> None:
    copying = Copying()
    copying.look(A, 0)
    assert copying.look(B, 0, way="n2 n3").left_s == pytest.approx(10)
    assert copying.look(A, 0).left_s == pytest.approx(10)


def test_another_controller_goes_on_from_the_time_it_began() -> None:
    assert Copying().look(A, 7, begun_s=0).left_s == pytest.approx(3)


def test_another_migration_of_the_same_vm_begins_anew() -> None:
    copying = Copying()
    copying.look(A, 9)
    fresh = copying.copies.progress(A, an_order("another", "n2 n3", begun_s=9.0), 9.0)
    assert fresh.left_s == pytest.approx(10)
