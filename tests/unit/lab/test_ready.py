"""How long one waits for a lab: as long as it comes closer, and not when it goes in circles."""

from collections.abc import Iterator

import pytest

from trimtab.lab.control import EventAnswer, LabStatus, UnitEvent
from trimtab.lab.starting.wait_ready import LONGEST_S, while_it_moves

QUIET_S = 120.0


class Time:
    """Goes on by a minute whenever an event comes."""

    def __init__(self, step_s: float = 60.0) -> None:
        self.now, self.step_s = 0.0, step_s

    def events(self, *messages: str) -> Iterator[EventAnswer]:
        status = LabStatus(name="test", phase="starting", dir="")
        for message in messages:
            self.now += self.step_s
            event = UnitEvent(at=self.now, unit="scenario", state="starting", message=message)
            yield EventAnswer(event=event, status=status)


def count(time: Time, *messages: str) -> int:
    return sum(1 for _ in while_it_moves(QUIET_S, time.events(*messages), lambda: time.now))


def test_a_lab_that_starts_ever_more_vms_is_waited_for() -> None:
    assert count(Time(), *(f"{left} VMs" for left in range(10, 0, -1))) == 10


def test_a_unit_that_goes_in_circles_makes_no_progress() -> None:
    assert count(Time(), *["died", "starts"] * 10) == 5


@pytest.mark.parametrize("step_s", [60.0, 100.0])
def test_even_progress_ends_some_day(step_s: float) -> None:
    seen = count(Time(step_s), *(f"{left} VMs" for left in range(1000)))
    assert LONGEST_S / step_s <= seen <= LONGEST_S / step_s + 2
