"""A process that was kept from looking says so."""

from trimtab.qos.ledger.time_to_violation import SECOND
from trimtab.qos.tracking.stores import PauseDetector

S = SECOND


def test_whoever_looks_all_the_time_misses_nothing() -> None:
    attention = PauseDetector()
    for second in range(100):
        attention.look(1000 * S + second * S)
    assert attention.unseen(1100 * S) == 0


def test_what_is_heard_after_a_pause_may_be_as_old_as_it() -> None:
    attention = PauseDetector()
    attention.look(1000 * S)
    assert attention.unseen(1060 * S) == 60 * S
    attention.look(1061 * S)
    assert attention.unseen(1062 * S) == 62 * S, "there is a backlog"
    attention.look(1063 * S)
    attention.look(1066 * S)
    assert attention.unseen(1066 * S) == 0


def test_who_never_looked_cannot_have_missed_it() -> None:
    assert PauseDetector().unseen(1000 * S) == 0
