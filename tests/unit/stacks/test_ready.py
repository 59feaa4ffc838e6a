"""What `lab up` says while it waits for the first cycle that works."""

from trimtab.stacks.loop.state.ready import problem_text

FIRST = "its last cycle failed: error getting node usage: prometheus client not initialized"


def test_a_first_cycle_without_its_token_is_no_failure_to_show() -> None:
    shown = problem_text(FIRST, 6.0)
    assert "fail" not in shown
    assert "within 6 s" in shown


def test_any_other_problem_is_shown_as_it_is() -> None:
    other = "its last cycle failed: unable to find metric entry for kwok-node-3"
    assert problem_text(other, 6.0) == other
