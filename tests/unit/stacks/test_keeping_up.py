"""Is the loop keeping up? One line from a few numbers."""

import pytest

from trimtab.stacks.loop.state.keeping_up import KeepingUp, RuleGroupPace, skipped_cycles
from trimtab.stacks.loop.state.recent_cycles import RecentCycle

QUICK, SLOW = RuleGroupPace("trimtab", 0.31, 3.0, 2.0), RuleGroupPace("trimtab", 8.2, 3.0, 4.0)
WELL = {"groups": (QUICK,), "missed": 0, "scrape_age_s": 1.2, "scrape_interval_s": 3.0, "queue": 0}


def test_a_loop_that_keeps_up_says_its_figures() -> None:
    seen = KeepingUp(**WELL, cycles=10)  # type: ignore[arg-type]
    assert seen.ok
    assert str(seen) == (
        "keeping up: rules take 0.31 of 3 s, samples are 1.2 s old, 0 in the controller's queue, "
        "no cycle skipped"
    )


@pytest.mark.parametrize(
    ("late", "said"),
    [
        pytest.param({"groups": (SLOW,)}, "rules (trimtab) take 8.2 s, their interval is 3 s"),
        pytest.param(
            {"groups": (RuleGroupPace("trimtab", 0.1, 3.0, 20.0),)},
            "rules (trimtab) were evaluated 20 s ago, their interval is 3 s",
        ),
        pytest.param({"missed": 12}, "12 evaluations of rules were missed in two minutes"),
        pytest.param({"scrape_age_s": 9.5}, "samples are 9.5 s old, their interval is 3 s"),
        pytest.param(
            {"queue": 1047, "queue_oldest_s": 80.0}, "1047 VMs wait for the controller, up to 80 s"
        ),
        pytest.param(
            {"cycles": 10, "skipped": 2}, "2 descheduling cycles were skipped in the last 10"
        ),
    ],
)
def test_what_is_late_is_named(late: dict[str, object], said: str) -> None:
    seen = KeepingUp(**{**WELL, **late})  # type: ignore[arg-type]
    assert not seen.ok
    assert str(seen) == f"falling behind: {said}"


@pytest.mark.parametrize(
    ("missed", "group", "left_out"),
    [
        pytest.param(0, QUICK, False, id="none is missed"),
        pytest.param(10, SLOW, False, id="a quarter of forty is late, not broken"),
        pytest.param(11, SLOW, True, id="more than a quarter"),
        pytest.param(40, RuleGroupPace("somebody's", 8.2, 3.0), False, id="not our rules"),
        pytest.param(None, SLOW, False, id="nobody knows"),
    ],
)
def test_rules_that_miss_their_intervals_again_and_again_are_a_fault(
    missed: int | None, group: RuleGroupPace, left_out: bool
) -> None:
    seen = KeepingUp(groups=(group,), missed=missed)
    assert bool(seen.rules_left_out) == left_out
    if left_out:
        assert seen.rules_left_out == (
            "rules miss their intervals: 11 of 40 evaluations in two minutes were left out "
            "(trimtab takes 8.2 s, its interval is 3 s), so decisions rest on old scores"
        )


def test_without_an_answer_nothing_is_claimed() -> None:
    seen = KeepingUp(unknown="Prometheus does not answer")
    assert (seen.ok, seen.problems) == (False, [])
    assert str(seen) == "keeping up: not known: Prometheus does not answer"


@pytest.mark.parametrize(
    ("ends", "skipped"),
    [
        pytest.param(["10:00:00.0", "10:00:12.1", "10:00:24.0"], 0, id="one after the other"),
        pytest.param(["10:00:00.0", "10:00:36.0"], 2, id="two are missing"),
        pytest.param(["23:59:55.0", "00:00:07.0"], 0, id="midnight"),
        pytest.param(["10:00:00.0", "10:00:17.0", "10:00:24.0"], 0, id="a long one"),
        pytest.param(["10:00:00.0", ""], 0, id="unreadable"),
        pytest.param([], 0, id="none"),
    ],
)
def test_cycles_that_did_not_take_place_are_counted(ends: list[str], skipped: int) -> None:
    cycles = [RecentCycle(pid=1, ended=end) for end in ends]
    assert skipped_cycles(cycles, 12.0) == skipped
