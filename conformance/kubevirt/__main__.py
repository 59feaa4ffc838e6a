"""`scripts/conformance kubevirt`: trimtab's own VMs beside the real KubeVirt.

Starts two labs of its own, plays scenarios of the seed in both and compares them.

    scripts/conformance kubevirt -n 500 --keep DIR    goes on where it was stopped
    scripts/conformance kubevirt -n 20 --limits       KubeVirt's limits and order
    scripts/conformance kubevirt --judge DIR          compares again, without labs
    scripts/conformance kubevirt -n 30 --recorded     ours beside what KubeVirt did once
    scripts/conformance kubevirt --record DIR         keeps what KubeVirt did for that
"""

import asyncio
import signal
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from builders.labs.lab import RunningLab
from builders.labs.vm import TRIMTAB, vm_stack
from conformance.kubevirt import labs
from conformance.kubevirt.compare import Compared, answers, by_kind, table, waits
from conformance.kubevirt.draws import limits, scenario
from conformance.kubevirt.recording import (
    RECORDED,
    Courses,
    Played,
    Side,
    append,
    compared,
    left_over,
    limits_of,
    load,
    record,
    recorded,
)
from conformance.kubevirt.run import run
from conformance.kubevirt.scenario import Scenario
from conformance.kubevirt.wrong import MISTAKES, command
from trimtab.lab.components.stack import Stack
from trimtab.lab.files.layout import Home
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack

PREFIX = "trimtab-conformance-"
SIDES: tuple[Side, ...] = get_args(Side)


def main() -> int:
    """0 if every difference is a known one."""
    for each in (signal.SIGINT, signal.SIGTERM):  # whoever stops it, the labs go down
        signal.signal(each, signal.default_int_handler)
    options = _options()
    if options.record:
        theirs = _all_of(options.record, "theirs")
        record(theirs)
        print(f"{RECORDED.name}: {len(theirs)} scenarios")
        return 0
    if options.judge:
        ours, theirs = (_all_of(options.judge, side) for side in SIDES)
        return _conclude(compared(ours, theirs), [])
    with ExitStack() as stack:
        home = options.labs or Path(stack.enter_context(TemporaryDirectory(prefix=PREFIX)))
        keep = options.keep or home / "played"
        sides = ("ours",) if options.recorded else (options.side,) if options.side else SIDES
        failures = asyncio.run(_play(options, home, keep, sides))
        ours, theirs = (load(keep, side) for side in SIDES)
        theirs = recorded() if options.recorded else theirs
    return _conclude(compared(ours, theirs), failures)


def _all_of(directories: Sequence[Path], side: Side) -> Courses:
    return {each: c for directory in directories for each, c in load(directory, side).items()}


def _options() -> Namespace:
    parser = ArgumentParser(
        "conformance kubevirt", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--scenarios", type=int, default=500)
    parser.add_argument("-s", "--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("-p", "--places", type=int, default=30, help="scenarios side by side")
    parser.add_argument("--limits", action="store_true", help="KubeVirt's limits, one at a time")
    parser.add_argument("--only", type=int, nargs="*", help="only these numbers of the seed")
    parser.add_argument("--side", choices=SIDES, help="play in this world only")
    parser.add_argument(
        "--recorded", action="store_true", help="play ours only, beside what KubeVirt did once"
    )
    parser.add_argument(
        "--record", type=Path, nargs="+", metavar="DIR", help="keep what KubeVirt did in DIR"
    )
    parser.add_argument(
        "--mistake", action="append", choices=MISTAKES, help="play ours with a wrong rule"
    )
    parser.add_argument("--labs", type=Path, help="directory of labs that are left running")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="add what was played to DIR")
    parser.add_argument(
        "--judge", type=Path, nargs="+", metavar="DIR", help="compare what was played earlier"
    )
    return parser.parse_args()


def _wanted(options: Namespace) -> list[Scenario]:
    draw = limits if options.limits else scenario
    numbers = options.only or range(options.first, options.first + options.scenarios)
    return [draw(options.seed, number) for number in numbers]


async def _play(options: Namespace, home: Path, keep: Path, sides: Sequence[Side]) -> list[str]:
    played = await asyncio.gather(*(_play_side(options, home, keep, side) for side in sides))
    return [failure for failures in played for failure in failures]


async def _play_side(options: Namespace, home: Path, keep: Path, side: Side) -> list[str]:
    wanted = left_over(_wanted(options), load(keep, side))
    if not wanted:
        return []
    places = 1 if options.limits else min(options.places, len(wanted))
    stack = _stack(side, wanted[0], options)
    lab = RunningLab(Home(home), side, (stack,))
    try:
        nodes = places * labs.NODES_EACH
        # KubeVirt's waits are real seconds, so faster ones of ours would save nothing.
        await asyncio.to_thread(lab.up, stacks=(stack.name,), nodes=nodes, scale=1)
        async with labs.world(side, lab.kubeconfig) as world:
            made = await labs.make_places(world, places)
            return await run(wanted, world, made, _reporter(keep, side))
    finally:
        if options.labs is None:
            lab.down()


def _stack(side: Side, first: Scenario, options: Namespace) -> Stack:
    parallel = limits_of(first).cluster
    if side == "theirs":
        return kubevirt_stack(KubevirtSettings(parallel=parallel, priority_queue=options.limits))
    program = command(*options.mistake) if options.mistake else TRIMTAB
    return vm_stack(bandwidth=labs.BANDWIDTH, parallel=parallel, command=program)


def _reporter(keep: Path, side: Side) -> Callable[[Played], None]:
    began, count = time.monotonic(), 0

    def report(played: Played) -> None:
        nonlocal count
        append(keep, side, played)
        count += 1
        if count % 10 == 0:
            print(f"{side}: {count} scenarios in {time.monotonic() - began:.0f} s", flush=True)

    return report


def _conclude(found: Sequence[Compared], failures: Sequence[str]) -> int:
    print(*table(found), sep="\n")
    print(f"differences by kind: {dict(by_kind(found))}")
    print(f"KubeVirt's answers: {dict(answers(found))}")
    print(f"KubeVirt's waits after failures: {dict(waits(found))}")
    unexplained = [each for each in found if each.unexplained]
    for each in unexplained:
        print(f"{each.scenario.name}: {each.scenario.told()}")
        print(*(f"  {difference}" for difference in each.differences), sep="\n")
    print(*failures, sep="\n")
    return 1 if unexplained or failures else 0


if __name__ == "__main__":
    sys.exit(main())
