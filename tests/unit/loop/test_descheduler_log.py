"""The descheduler's log read as cycles; the two files beside this one are real ones."""

from pathlib import Path

from trimtab.loop.descheduler_log import cycles, lines, read_cycles

HERE = Path(__file__).parent
WORKED, FAILED = ((HERE / f"{name}.log").read_text() for name in ("worked", "failed"))


def test_a_cycle_tells_classes_requests_and_that_it_worked() -> None:
    (cycle,) = cycles(lines(WORKED.splitlines()))
    assert cycle.worked
    assert cycle.classes == {
        "kwok-node-1": "overutilized",
        **dict.fromkeys((f"kwok-node-{n}" for n in range(2, 6)), "underutilized"),
    }
    assert [request.background for request in cycle.requests] == [True, True]
    assert all(request.pod.startswith("default/virt-launcher-hot-") for request in cycle.requests)
    assert cycle.evicted == 0


def test_a_failed_cycle_tells_why() -> None:
    (cycle,) = cycles(lines(FAILED.splitlines()))
    assert not cycle.worked
    assert cycle.errors == (
        'plugin "LowNodeUtilization" finished with error: error initializing usage client: '
        "prometheus client not initialized",
    )


def test_an_unfinished_cycle_is_left_out_and_another_process_begins_anew() -> None:
    unfinished = WORKED.splitlines()[:-1]
    other = FAILED.replace(" 9858 ", " 7777 ").splitlines()
    assert list(cycles(lines(unfinished))) == []
    (cycle,) = cycles(lines(unfinished + other))
    assert (cycle.pid, cycle.requests) == (7777, ())


def test_what_is_not_a_line_of_the_log_is_passed_over() -> None:
    assert list(lines(["", "panic: no", "goroutine 1 [running]:"])) == []


def test_a_log_is_read_from_its_end_for_one_process(tmp_path: Path) -> None:
    log = tmp_path / "descheduler.log"
    assert read_cycles(log) == []
    log.write_text(WORKED + FAILED.replace(" 9858 ", " 7777 "))
    assert [cycle.pid for cycle in read_cycles(log)] == [9858, 7777]
    assert [cycle.pid for cycle in read_cycles(log, 7777)] == [7777]
