"""The descheduler's log in short; the two files beside this one are real ones."""

from pathlib import Path

from trimtab.stacks.loop.state.recent_cycles import RecentCycle, read_cycles

HERE = Path(__file__).parent
WORKED, FAILED = ((HERE / f"{name}.log").read_text() for name in ("worked", "failed"))


def read(tmp_path: Path, text: str, pid: int | None = None) -> list[RecentCycle]:
    log = tmp_path / "descheduler.log"
    log.write_text(text)
    return read_cycles(log, pid)


def test_a_cycle_tells_classes_requests_and_that_it_worked(tmp_path: Path) -> None:
    (cycle,) = read(tmp_path, WORKED)
    assert cycle.worked
    assert cycle.ended == "23:25:19.404516"
    assert cycle.classes == {
        "kwok-node-1": "overutilized",
        **dict.fromkeys((f"kwok-node-{n}" for n in range(2, 6)), "underutilized"),
    }
    assert [request.background for request in cycle.requests] == [True, True]
    assert all(request.pod.startswith("default/virt-launcher-hot-") for request in cycle.requests)
    assert cycle.evicted == 0


def test_a_failed_cycle_tells_why(tmp_path: Path) -> None:
    (cycle,) = read(tmp_path, FAILED)
    assert not cycle.worked
    assert cycle.errors == (
        'plugin "LowNodeUtilization" finished with error: error initializing usage client: '
        "prometheus client not initialized",
    )


def test_an_unfinished_cycle_is_left_out_and_another_process_begins_anew(tmp_path: Path) -> None:
    unfinished = "".join(WORKED.splitlines(keepends=True)[:-1])
    assert read(tmp_path, unfinished) == []
    (cycle,) = read(tmp_path, unfinished + FAILED.replace(" 9858 ", " 7777 "))
    assert (cycle.pid, cycle.requests) == (7777, ())


def test_a_log_is_read_from_its_end_for_one_process(tmp_path: Path) -> None:
    assert read_cycles(tmp_path / "none.log") == []
    both = WORKED + FAILED.replace(" 9858 ", " 7777 ")
    assert [cycle.pid for cycle in read(tmp_path, both)] == [9858, 7777]
    assert [cycle.pid for cycle in read(tmp_path, both, 7777)] == [7777]
