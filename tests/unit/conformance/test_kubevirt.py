"""What the comparison with KubeVirt is made of: scenarios, courses, differences."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from conformance.kubevirt.compare import compare
from conformance.kubevirt.course import (
    Course,
    Fate,
    Move,
    Record,
    backoffs,
    most_leaving,
    power_of_wait,
)
from conformance.kubevirt.differences import KNOWN
from conformance.kubevirt.draws import THEMES, limits, scenario
from conformance.kubevirt.scenario import ON_NODES, Machine, Scenario, Step

LIMIT = 2
numbers = st.integers(0, 10_000)
MOVED = Move("eviction", ("Pending", "Scheduling", "Copying", "Succeeded"))
FATE = Fate(moves=(MOVED,), moved=1, at=1, kept=1)


def a_scenario(nodes: int = 2) -> Scenario:
    return Scenario(1, 1, "evictions", nodes, (Machine(),), (Step("evict"),))


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
    assert len(drawn.steps) == len(drawn.machines) > 5


def test_equal_courses_have_no_differences() -> None:
    assert compare(a_scenario(), a_course(), a_course(), LIMIT).differences == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"answers": ("done",)}, id="answer"),
        pytest.param({"missed": (0,)}, id="moment"),
        pytest.param({"settled": False}, id="settled"),
        pytest.param({"leaving": LIMIT + 1}, id="limit"),
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


def test_waits_count_between_evacuations_only_and_in_the_time_of_the_lab() -> None:
    failed = a_record("Pending", "Scheduling", "Failed")
    person = a_record("Pending", "Scheduling", "Failed", cause="person", begun=3.0)
    again = a_record("Pending", "Scheduling", begun=10.0)
    assert backoffs([failed, person, again], scale=1.0) == (-1,)
    assert backoffs([failed, person, again], scale=5.0) == (1,)
    assert backoffs([failed], scale=1.0) == ()


def test_migrations_count_from_their_slot_to_their_end() -> None:
    first = a_record("Pending", "Scheduling", "Succeeded")
    second = a_record("Pending", "Scheduling", "Copying", begun=0.5)
    third = a_record("Pending", "Scheduling", source="b", begun=2.0)
    waiting = a_record("Pending")
    assert most_leaving([first, second, third, waiting]) == {"a": 2, "b": 1, "": 2}


def test_every_known_difference_has_its_row_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/kubevirt-conformance.md").read_text()
    assert [known.name for known in KNOWN if f"\n| {known.name} |" not in page] == []
