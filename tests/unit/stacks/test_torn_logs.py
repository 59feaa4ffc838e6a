"""Logs that a full disk, a kill or a rotation has torn: whole cycles are read, nothing raises."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.observe.descheduler_log import parse_cycles
from trimtab.stacks.loop.state.recent_cycles import read_cycles, recent_cycle

HERE = Path(__file__).parent
WORKED, FAILED = ((HERE / f"{name}.log").read_text() for name in ("worked", "failed"))
(WHOLE,) = (recent_cycle(cycle) for cycle in parse_cycles(WORKED.splitlines()))


def test_a_line_without_its_last_field_is_passed_over(tmp_path: Path) -> None:
    lines = WORKED.splitlines()
    torn = max(n for n, line in enumerate(lines) if '"Node has been classified"' in line)
    lines[torn] = lines[torn].partition(" usagePercentage=")[0]
    log = tmp_path / "descheduler.log"
    log.write_text("\n".join(lines) + "\n")
    (cycle,) = read_cycles(log)
    assert len(cycle.classes) == len(WHOLE.classes) - 1
    assert cycle.requests == WHOLE.requests


@pytest.mark.parametrize("which", range(len(WORKED.splitlines())))
def test_any_line_may_end_anywhere(which: int) -> None:
    lines = WORKED.splitlines()
    for cut in range(0, len(lines[which]), 3):
        torn = [*lines[:which], lines[which][:cut], *lines[which + 1 :]]
        assert len([recent_cycle(cycle) for cycle in parse_cycles(torn)]) <= 1


@given(
    start=st.integers(0, len(WORKED)),
    end=st.integers(0, len(WORKED)),
    garbage=st.text(max_size=60),
)
def test_what_is_missing_or_garbled_never_hides_the_cycles_after_it(
    start: int, end: int, garbage: str
) -> None:
    damaged = WORKED[: min(start, end)] + garbage + WORKED[max(start, end) :]
    other = WORKED.replace(" 9858 ", " 7777 ")
    cycles = [recent_cycle(c) for c in parse_cycles((damaged + "\n" + other + FAILED).splitlines())]
    assert cycles[-1].errors
    assert cycles[-2].classes == WHOLE.classes
    assert cycles[-2].requests == WHOLE.requests


@given(st.binary(max_size=200), st.integers(0, len(WORKED)))
def test_bytes_that_are_no_text_are_passed_over(
    tmp_path_factory: pytest.TempPathFactory, garbage: bytes, at: int
) -> None:
    log = tmp_path_factory.mktemp("logs") / "descheduler.log"
    data = WORKED.encode()
    log.write_bytes(data[:at] + garbage + data[at:] + b"\n" + WORKED.encode())
    assert read_cycles(log)[-1].classes == WHOLE.classes
