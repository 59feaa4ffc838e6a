"""The history of a configuration: who, when, what came of it, and what each plan changed."""

import pytest
from msgspec import structs

from builders.worlds.advisor import START, World
from trimtab.advisor.api import HistoryLine, PlatformStatus
from trimtab.advisor.decide.history import LONGEST_DIFF, MOST, MOST_DIFFS, past_plans, recorded
from trimtab.errors import TrimtabError


def applied(world: World, interval: int) -> str:
    """Another plan, applied; its id."""
    world.edit(action="DryRun")
    world.options(interval, psi=False)
    world.run()
    world.edit(action="Apply")
    world.run()
    assert world.config.status.phase == "Completed"
    return world.config.status.plan_id


def test_a_past_plan_shows_what_it_changed_and_who_approved_it() -> None:
    world = World()
    first, second = applied(world, 100), applied(world, 200)
    (one,), (two,) = (past_plans([world.config], plan) for plan in (first, second))
    plans = [one, two]
    assert ["+  interval: 100" in plan.diff for plan in plans] == [True, False]
    assert "-  interval: 100\n+  interval: 200" in plans[1].diff
    assert {plan.by for plan in plans} == {"admin"}


def test_a_plan_that_was_never_started_has_a_line_and_no_diff() -> None:
    world = World()
    world.run()
    plan = world.config.status.plan_id
    with pytest.raises(TrimtabError, match=f"plan {plan}: it was not started"):
        past_plans([world.config], plan)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(TrimtabError, match="there are: load-aware-rebalancing"):
        past_plans([World().config], "nonsense")


def test_lines_and_diffs_are_bounded_and_the_oldest_diffs_go_first() -> None:
    status = PlatformStatus()
    for number in range(100):
        status = structs.replace(status, plan_id=f"{number:012d}")
        for what, diff in (("Approved", ""), ("InProgress", f"+{number}\n")):
            lines = recorded(status, what, START, diff=diff)
            status = structs.replace(status, history=lines)
    assert len(status.history) == MOST
    kept = [line.diff for line in status.history if line.diff]
    assert kept == [f"+{number}\n" for number in range(100 - MOST_DIFFS, 100)]


def test_a_huge_diff_is_cut_between_lines_and_says_so() -> None:
    world = World()
    world.options(100, psi=False)
    world.run()
    (item,) = world.config.status.items
    long = item.diff + "+ a line\n" * LONGEST_DIFF
    items = (structs.replace(item, diff=long),)
    world.config = structs.replace(
        world.config, status=structs.replace(world.config.status, items=items)
    )
    world.edit(action="Apply")
    world.run()
    line: HistoryLine = next(each for each in world.config.status.history if each.diff)
    assert len(line.diff) < LONGEST_DIFF + 100
    assert line.diff.endswith("more lines, the history keeps no more\n")
