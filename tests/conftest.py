"""What all tests share: property tests that are the same on every run and never look at a clock,
and an account of the time that each test took."""

import gc
import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, settings

from builders.examples import FULL, examples

# Two workers with two threads each that wait for each other take longer than one thread alone.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Machines are noisy: a limit on the time of one example would fail tests that are right.
settings.register_profile(
    "trimtab",
    deadline=None,
    derandomize=True,
    max_examples=examples(20, full=100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("trimtab")

UNIT = Path(__file__).parent / "unit"
ASKED_CPU_S = 1.0
LIMIT_CPU_S = 6.0
"""CPU time of a unit test and of the processes that it waited for. Neighbours on the machine and
modules that are compiled for the first time were seen to cost four times as much."""
SHOWN = 10
CPU = "cpu_s"

_cpu = pytest.StashKey[float]()


# With Python's own 700 a twentieth of the unit tests' time is the garbage collector's.
gc.set_threshold(50_000, 20, 50)


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector need not visit them every time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    before = _cpu_s()
    try:
        return (yield)
    finally:
        item.stash[_cpu] = _cpu_s() - before


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and _cpu in item.stash:
        took_s = item.stash[_cpu]
        report.user_properties.append((CPU, round(took_s, 3)))
        if report.passed and took_s > LIMIT_CPU_S and _is_limited(item):
            report.outcome = "failed"
            report.longrepr = (
                f"{took_s:.1f} s of CPU time; a unit test has {ASKED_CPU_S:.0f} s."
                " Make it smaller, mark it `full`, or move it to tests/contract."
            )
    return report


def _is_limited(item: pytest.Item) -> bool:
    return UNIT in item.path.parents and not FULL and item.get_closest_marker("full") is None


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The most expensive tests of each tier, set-up included."""
    wall: dict[str, float] = defaultdict(float)
    cpu: dict[str, float] = {}
    for report in _reports(terminalreporter):
        wall[report.nodeid] += report.duration
        cpu.update((report.nodeid, float(str(v))) for k, v in report.user_properties if k == CPU)
    tiers: dict[str, list[str]] = defaultdict(list)
    for nodeid in sorted(cpu, key=lambda nodeid: max(wall[nodeid], cpu[nodeid]), reverse=True):
        tiers["/".join(PurePosixPath(nodeid).parts[:2])].append(nodeid)
    for tier, found in tiers.items():
        total_s, cpu_s = (sum(each[nodeid] for nodeid in found) for each in (wall, cpu))
        terminalreporter.section(
            f"slowest of {len(found)} in {tier}: {total_s:.0f} s of work, {cpu_s:.0f} s CPU"
        )
        for nodeid in found[:SHOWN]:
            terminalreporter.line(f"{wall[nodeid]:7.2f} s {cpu[nodeid]:7.2f} s CPU  {nodeid}")


def _reports(reporter: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    for reports in reporter.stats.values():
        yield from (report for report in reports if isinstance(report, pytest.TestReport))
