"""What the comparison with KubeVirt is made of: scenarios, courses, differences."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from conformance.kubevirt.compare import compare, table
from conformance.kubevirt.course import (
    Course,
    Fate,
    Move,
    Record,
    backoffs,
    most_leaving,
    overtakings,
    power_of_wait,
)
from conformance.kubevirt.differences import KNOWN
from conformance.kubevirt.draws import THEMES, limits, scenario
from conformance.kubevirt.recording import Played, append, compared, left_over, load
from conformance.kubevirt.scenario import LIMITS, ON_NODES, Machine, Moment, Scenario, Step
from conformance.kubevirt.world import answered
from trimtab.kube.errors import Invalid, Status, Unavailable
from trimtab.virt.slots import MigrationLimits

LIMIT = MigrationLimits()
numbers = st.integers(0, 10_000)
MOVED = Move("eviction", ("Pending", "Scheduling", "Copying", "Succeeded"))
FATE = Fate(moves=(MOVED,), moved=1, at=1, kept=1)


def a_scenario(nodes: int = 2, theme: str = "evictions", *more: Step) -> Scenario:
    return Scenario(1, 1, theme, nodes, (Machine(),), (Step("evict"), *more))


def a_course(**changes: object) -> Course:
    return structs.replace(Course(answers=("429 marked",), fates=(FATE,), leaving=1), **changes)


def a_record(
    *phases: str, cause: str = "eviction", source: str = "a", begun: float = 0.0
) -> Record:
    record = Record("ns/vm", cause, source)  # type: ignore[arg-type]
    for at, phase in enumerate(phases):
        record.note(begun + at, phase)
    return record


@given(numbers, numbers)
def test_a_scenario_is_the_same_every_time_and_names_what_exists(seed: int, number: int) -> None:
    drawn = scenario(seed, number)
    assert drawn == scenario(seed, number)
    for machine in drawn.machines:
        assert machine.node < drawn.nodes
    for step in drawn.steps:
        assert step.on < (drawn.nodes if step.deed in ON_NODES else len(drawn.machines))
        assert step.when.vm < len(drawn.machines)
        assert step.to is None or step.to < drawn.nodes


def test_any_few_scenarios_have_all_themes() -> None:
    assert {scenario(1, number).theme for number in range(len(THEMES))} == set(THEMES)


@given(numbers)
def test_a_scenario_about_limits_has_more_moves_than_slots(number: int) -> None:
    drawn = limits(1, number)
    asked = [step.on for step in drawn.steps if step.deed in ("evict", "migrate")]
    assert sorted(asked) == list(range(len(drawn.machines)))
    assert len(asked) > LIMIT.cluster


def test_equal_courses_have_no_differences() -> None:
    assert compare(a_scenario(), a_course(), a_course(), LIMIT).differences == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"answers": ("done",)}, id="answer"),
        pytest.param({"missed": (0,)}, id="moment"),
        pytest.param({"settled": False}, id="settled"),
        pytest.param({"leaving": LIMIT.node + 1}, id="limit of a node"),
        pytest.param({"together": LIMIT.cluster + 1}, id="limit of the cluster"),
    ],
)
def test_what_differs_is_noticed(changes: dict[str, object]) -> None:
    found = compare(a_scenario(), a_course(**changes), a_course(), LIMIT)
    assert len(found.unexplained) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"moves": ()},
        {"moves": (structs.replace(MOVED, cause="person"),)},
        {"backoff": (0,)},
        {"lives": 2},
        {"end": "gone"},
        {"moved": 0},
        {"at": 0},
        {"kept": 0},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_differs_of_a_vm_is_noticed(changes: dict[str, object]) -> None:
    other = a_course(fates=(structs.replace(FATE, **changes),))
    assert len(compare(a_scenario(), a_course(), other, LIMIT).unexplained) == 1


@pytest.mark.parametrize("changes", [{"leaving": 2}, {"together": 2}, {"overtaken": 1}])
def test_slots_are_compared_where_they_are_short(changes: dict[str, int]) -> None:
    here, there = (a_scenario(theme=theme) for theme in ("evictions", LIMITS))
    assert compare(here, a_course(**changes), a_course(), LIMIT).differences == ()
    assert len(compare(there, a_course(**changes), a_course(), LIMIT).unexplained) == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "explained"),
    [(0, 1, True), (0, 2, True), (0, 3, False), (1, 0, False), (1, 2, False)],
)
def test_only_kubevirt_may_let_some_go_first_and_not_all_that_people_asked_for(
    ours: int, theirs: int, explained: bool
) -> None:
    mine, other = (
        a_course(overtaken=count, answers=("429 marked", "done", "done", "done"))
        for count in (ours, theirs)
    )
    asked = (Step("migrate"),) * 3
    found = compare(a_scenario(2, LIMITS, *asked), mine, other, LIMIT)
    assert (not found.unexplained) == explained


def test_with_three_nodes_the_scheduler_may_choose() -> None:
    other = a_course(fates=(structs.replace(FATE, at=2),))
    assert compare(a_scenario(nodes=3), a_course(), other, LIMIT).differences == ()


def test_a_migration_that_was_taken_back_is_aborted_however_it_ends() -> None:
    deleted = a_record("Pending", "Copying")
    deleted.gone(9.0)
    failed = structs.replace(a_record("Pending", "Copying", "Failed"), asked_to_end=True)
    cancelled = a_record("Pending", "Copying", "Cancelled")
    for record in (deleted, failed, cancelled):
        assert record.told() == ("Pending", "Copying", "Aborted")


@pytest.mark.parametrize(
    ("seconds", "power"), [(0.5, -1), (15, -1), (19.5, 0), (28, 0), (39.5, 1), (48, 1), (81, 2)]
)
def test_a_wait_is_a_power_of_two(seconds: float, power: int) -> None:
    assert power_of_wait(seconds) == power


def test_waits_count_between_evacuations_only() -> None:
    failed = a_record("Pending", "Scheduling", "Failed")
    person = a_record("Pending", "Scheduling", "Failed", cause="person", begun=3.0)
    again = a_record("Pending", "Scheduling", begun=10.0)
    late = a_record("Pending", "Scheduling", begun=42.0)
    assert backoffs([failed, person, again]) == (-1,)
    assert backoffs([failed, person, late]) == (1,)
    assert backoffs([failed]) == ()


def test_migrations_count_from_their_slot_to_their_end() -> None:
    first = a_record("Pending", "Scheduling", "Succeeded")
    second = a_record("Pending", "Scheduling", "Copying", begun=0.5)
    third = a_record("Pending", "Scheduling", source="b", begun=2.0)
    waiting = a_record("Pending")
    assert most_leaving([first, second, third, waiting]) == {"a": 2, "b": 1, "": 2}


def test_an_evacuation_that_waits_is_not_to_be_overtaken() -> None:
    waiting = a_record("Pending")
    waiting.note(9.0, "Scheduling")
    quick = a_record("Pending", "Scheduling", cause="person", begun=5.0)
    elsewhere = a_record("Pending", "Scheduling", cause="person", begun=5.0, source="b")
    at_once = a_record("Pending", "Scheduling", cause="person", begun=0.5)
    after = a_record("Pending", "Scheduling", cause="person", begun=9.0)
    assert overtakings([waiting, quick]) == 1
    assert overtakings([waiting, elsewhere, at_once, after]) == 0
    assert overtakings([quick, after]) == 0


SECOND = Step("migrate", 0, Moment("copying"))
BY_HAND = structs.replace(MOVED, cause="person")


@pytest.mark.parametrize(
    ("changes", "explained"),
    [
        pytest.param({}, True, id="it comes after the first"),
        pytest.param({"moved": 1, "at": 1}, False, id="but does not move the VM"),
        pytest.param({"kept": 1}, False, id="but is forgotten"),
        pytest.param({"moves": (MOVED,)}, False, id="but never existed"),
        pytest.param({"moves": (MOVED, BY_HAND, BY_HAND)}, False, id="but comes twice"),
        pytest.param({"lives": 2}, False, id="but the VM is started anew"),
        pytest.param({"backoff": (0,)}, False, id="but something waits"),
    ],
)
def test_what_follows_from_a_second_migration_must_follow_exactly(
    changes: dict[str, object], explained: bool
) -> None:
    second = Fate(moves=(MOVED, BY_HAND), moved=2, at=0, kept=2)
    ours = a_course(answers=("429 marked", "done"), fates=(structs.replace(second, **changes),))
    theirs = a_course(answers=("429 marked", "400 in flight"))
    found = compare(a_scenario(2, "evictions", SECOND), ours, theirs, LIMIT)
    assert found.differences
    assert (not found.unexplained) == explained


LOST = (Step("lose", 1, Moment("copying")), Step("revive", 1, Moment("failed")))
FAILED = Move("eviction", ("Pending", "Scheduling", "Copying", "Failed"))


@pytest.mark.parametrize(
    ("changes", "explained"),
    [
        ({}, True),
        ({"lives": 2}, False),
        ({"end": "waiting"}, False),
        ({"moves": (FAILED,)}, False),
        ({"moves": (FAILED, FAILED, MOVED)}, False),
    ],
    ids=str,
)
def test_a_lost_target_explains_a_failure_and_its_repetition_only(
    changes: dict[str, object], explained: bool
) -> None:
    fate = Fate(moves=(FAILED, MOVED), backoff=(0,), moved=1, at=1, kept=2)
    answers = ("429 marked", "done", "done")
    ours = a_course(answers=answers, missed=(2,))
    theirs = a_course(answers=answers, fates=(structs.replace(fate, **changes),))
    found = compare(a_scenario(2, "losses", *LOST), ours, theirs, LIMIT)
    assert (not found.unexplained) == explained


def test_what_was_played_is_kept_and_not_played_again(tmp_path: Path) -> None:
    wanted = [scenario(1, number) for number in range(3)]
    assert load(tmp_path, "ours") == {}
    for each in wanted[:2]:
        append(tmp_path, "ours", Played(each, a_course()))
    played = a_scenario()
    for side in ("ours", "theirs"):
        append(tmp_path, side, Played(played, a_course()))
    ours, theirs = load(tmp_path, "ours"), load(tmp_path, "theirs")
    assert ours[played] == a_course()
    assert left_over(wanted, ours) == wanted[2:]
    assert [each.scenario for each in compared(ours, theirs)] == [played]


def test_the_table_counts_each_scenario_once_for_each_rule() -> None:
    answers = ("429 marked", "done"), ("429 marked", "400 in flight")
    fate = Fate(moves=(MOVED, BY_HAND), moved=2, at=0, kept=2)
    second = a_scenario(2, "evictions", SECOND)
    differing = compare(
        second, a_course(answers=answers[0], fates=(fate,)), a_course(answers=answers[1]), LIMIT
    )
    equal = compare(a_scenario(), a_course(), a_course(), LIMIT)
    *_, all_themes = table([equal, differing])
    assert all_themes.startswith("| all | 2 | 1 | 1 |")


def test_every_known_difference_has_its_row_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/kubevirt-conformance.md").read_text()
    assert [known.name for known in KNOWN if f"\n| {known.name} |" not in page] == []


async def test_a_request_whose_webhook_was_too_slow_is_made_again() -> None:
    answers = iter([500, 500, 0])

    async def request() -> None:
        if code := next(answers):
            raise Unavailable("create", Status(code=code, message="context deadline exceeded"))

    assert await answered(request) == "done"


async def test_a_refusal_is_asked_for_once() -> None:
    answers = iter([400, 0])

    async def request() -> None:
        if code := next(answers):
            raise Invalid("create", Status(code=code, message="in-flight migration detected"))

    assert await answered(request) == "400 in flight"
