"""How long copying takes when several share a network, and what stops it."""

import pytest

from trimtab.kube.resources import Key
from trimtab.virt.copies import Copies, CopyOrder
from trimtab.virt.migration_backoff import GIB, completion_limit_s

WEB, DB = Key("default", "web"), Key("default", "db")


def an_order(migration: str = "m1", **more: float) -> CopyOrder:
    fields = {"size": 4 * GIB, "dirty_rate": 0.0, "begun_s": 100.0} | more
    limit_s = completion_limit_s(fields["size"])
    return CopyOrder(migration=migration, source="n1", target="n2", limit_s=limit_s, **fields)


def test_a_copy_alone_takes_its_size_over_the_bandwidth() -> None:
    copies = Copies[Key](GIB, lambda _: None)
    assert copies.progress(WEB, an_order(), 100.0).left_s == 4.0
    half = copies.progress(WEB, an_order(), 102.0)
    assert (half.left_s, half.left, half.sent) == (2.0, 2 * GIB, 2 * GIB)
    assert half.is_half_done


def test_two_from_one_node_share_and_the_first_hears_of_it() -> None:
    woken: list[Key] = []
    copies = Copies(GIB, woken.append)
    copies.progress(WEB, an_order(), 100.0)
    copies.progress(DB, an_order("m2"), 100.0)
    assert woken == [WEB]
    assert copies.progress(WEB, an_order(), 100.0).left_s == 8.0
    copies.drop(DB, 100.0)
    assert copies.progress(WEB, an_order(), 100.0).left_s == 4.0


def test_a_migrations_own_limit_holds() -> None:
    copies = Copies[Key](GIB, lambda _: None)
    assert copies.progress(WEB, an_order(bandwidth=GIB / 2), 100.0).left_s == 8.0


def test_memory_that_changes_faster_than_it_is_copied_is_given_up() -> None:
    copies = Copies[Key](GIB, lambda _: None)
    seen = copies.progress(WEB, an_order(dirty_rate=2 * GIB), 100.0)
    assert seen.stuck
    assert not seen.in_time
    assert seen.left_s == 150.0


def test_a_new_process_goes_on_from_the_time_of_the_start() -> None:
    copies = Copies[Key](GIB, lambda _: None)
    assert copies.progress(WEB, an_order(), 103.0).left_s == pytest.approx(1.0)


def test_another_migration_of_the_same_vm_begins_anew() -> None:
    copies = Copies[Key](GIB, lambda _: None)
    copies.progress(WEB, an_order(), 100.0)
    assert copies.progress(WEB, an_order("m2", begun_s=103.0), 103.0).left_s == 4.0
