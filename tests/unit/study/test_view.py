"""What the terminal says while a study runs."""

import pytest

from trimtab.view.study import Ticker, about


class Heard:
    def __init__(self) -> None:
        self.advanced, self.notes = 0.0, list[str]()

    def advance(self, amount: float = 1) -> None:
        self.advanced += amount

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_the_ticker_tells_every_tenth_and_how_long_it_will_take() -> None:
    now, heard = [0.0], Heard()
    ticker = Ticker(heard, 200, clock=lambda: now[0])
    for _ in range(40):
        now[0] += 3
        ticker.advance(5)
    assert heard.advanced == 200
    assert heard.notes[0] == "20 of 200 runs, about 2 min left"
    assert heard.notes[-1] == "200 of 200 runs"
    assert len(heard.notes) == 10


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (150, "2 min"), (7200, "2.0 h")]
)
def test_times_are_told_as_people_do(seconds: float, text: str) -> None:
    assert about(seconds) == text
