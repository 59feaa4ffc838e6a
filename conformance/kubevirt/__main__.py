"""`scripts/conformance kubevirt`: trimtab's own VMs beside the real KubeVirt.

Starts two labs of its own, plays scenarios of the seed in both and compares them.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from builders.labs.lab import RunningLab
from builders.labs.vm import vm_stack
from conformance.kubevirt import labs
from conformance.kubevirt.compare import Compared
from conformance.kubevirt.draws import limits, scenario
from conformance.kubevirt.run import Tally, run
from conformance.kubevirt.scenario import Scenario
from trimtab.lab import Home, Stack
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack
from trimtab.virt.slots import MigrationLimits

SCALE = 1
"""KubeVirt's waits are real seconds, so faster ones of ours would save nothing."""
PREFIX = "trimtab-conformance-"
WIDE = 10_000
"""Migrations at a time in the cluster, where scenarios are not about that limit."""


def main() -> int:
    """0 if every difference is a known one."""
    parser = ArgumentParser("conformance kubevirt", description=__doc__)
    parser.add_argument("-n", "--scenarios", type=int, default=500)
    parser.add_argument("-s", "--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("-p", "--places", type=int, default=30, help="scenarios side by side")
    parser.add_argument("--limits", action="store_true", help="KubeVirt's limits, one at a time")
    parser.add_argument("--only", type=int, nargs="*", help="only these numbers of the seed")
    parser.add_argument("--labs", type=Path, help="directory of labs that are left running")
    options = parser.parse_args()
    wanted = _wanted(options)
    places = 1 if options.limits else min(options.places, len(wanted))
    with ExitStack() as stack:
        home = options.labs or Path(stack.enter_context(TemporaryDirectory(prefix=PREFIX)))
        parallel = MigrationLimits().cluster if options.limits else WIDE
        own, real = (
            _lab(stack, home, name, each, places, keep=options.labs is not None)
            for name, each in (
                ("ours", vm_stack(bandwidth=labs.bandwidth_for(SCALE), parallel=parallel)),
                ("theirs", kubevirt_stack(KubevirtSettings(parallel=parallel))),
            )
        )
        tally = asyncio.run(_run(own, real, wanted, places))
    return _conclude(tally)


def _lab(
    stack: ExitStack, home: Path, name: str, of: Stack, places: int, *, keep: bool
) -> RunningLab:
    scale = SCALE if name == "ours" else 1
    lab = RunningLab(Home(home), name, (of,))
    if not keep:
        stack.callback(lab.down)
    lab.up(stacks=(of.name,), nodes=places * labs.NODES_EACH, scale=scale)
    return lab


def _wanted(options: Namespace) -> list[Scenario]:
    draw = limits if options.limits else scenario
    numbers = options.only or range(options.first, options.first + options.scenarios)
    return [draw(options.seed, number) for number in numbers]


async def _run(own: RunningLab, real: RunningLab, wanted: Sequence[Scenario], places: int) -> Tally:
    began = time.monotonic()

    def report(tally: Tally) -> None:
        last = tally.compared[-1]
        if last.unexplained:
            _show(last)
        if len(tally.compared) % 10 == 0:
            print(
                f"{len(tally.compared)} scenarios in {time.monotonic() - began:.0f} s, "
                f"{len(tally.unexplained)} with unexplained differences",
                flush=True,
            )

    async with labs.ours(own.kubeconfig, SCALE) as ours, labs.theirs(real.kubeconfig) as theirs:
        mine = await labs.make_places(ours, 1, places, SCALE)
        others = await labs.make_places(theirs, 1, places, 1)
        return await run(wanted, (ours, mine), (theirs, others), report=report)


def _show(compared: Compared) -> None:
    print(f"{compared.scenario.name}: {compared.scenario.told()}")
    print(*(f"  {each}" for each in compared.differences), sep="\n", flush=True)


def _conclude(tally: Tally) -> int:
    print(f"{len(tally.compared)} scenarios; answers: {dict(tally.answers())}")
    for why, count in tally.explained().most_common():
        print(f"  {count} scenarios: {why}")
    print(f"{len(tally.unexplained)} scenarios with unexplained differences")
    print(*tally.failures, sep="\n")
    return 1 if tally.unexplained or tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
