"""`scripts/conformance kubevirt`: trimtab's own VMs beside the real KubeVirt.

Starts two labs of its own, plays scenarios of the seed in both and compares them.

    scripts/conformance kubevirt -n 500 --keep played.jsonl    goes on where it was stopped
    scripts/conformance kubevirt -n 20 --limits                KubeVirt's limits and order
    scripts/conformance kubevirt --judge played.jsonl          compares again, without labs
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from builders.labs.lab import RunningLab
from builders.labs.vm import vm_stack
from conformance.kubevirt import labs
from conformance.kubevirt.compare import Compared
from conformance.kubevirt.draws import limits, scenario
from conformance.kubevirt.recording import Played, append, left_over, limits_of, load
from conformance.kubevirt.run import Tally, run
from conformance.kubevirt.scenario import Scenario
from conformance.kubevirt.table import answers, by_kind, table, waits
from trimtab.lab import Home, Stack
from trimtab.stacks.kubevirt.settings import KubevirtSettings
from trimtab.stacks.kubevirt.stack import kubevirt_stack

SCALE = 1
"""KubeVirt's waits are real seconds, so faster ones of ours would save nothing."""
PREFIX = "trimtab-conformance-"


def main() -> int:
    """0 if every difference is a known one."""
    options = _options()
    if options.judge:
        return _conclude(Tally([each.compared() for path in options.judge for each in load(path)]))
    known = load(options.keep) if options.keep else []
    wanted = list(left_over(_wanted(options), known))
    tally = _play(options, wanted) if wanted else Tally()
    tally.compared = [each.compared() for each in known] + tally.compared
    return _conclude(tally)


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
    parser.add_argument("--labs", type=Path, help="directory of labs that are left running")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add what was played to FILE")
    parser.add_argument(
        "--judge", type=Path, nargs="+", metavar="FILE", help="compare what was played earlier"
    )
    return parser.parse_args()


def _wanted(options: Namespace) -> list[Scenario]:
    draw = limits if options.limits else scenario
    numbers = options.only or range(options.first, options.first + options.scenarios)
    return [draw(options.seed, number) for number in numbers]


def _play(options: Namespace, wanted: Sequence[Scenario]) -> Tally:
    places = 1 if options.limits else min(options.places, len(wanted))
    parallel = limits_of(wanted[0]).cluster
    theirs = KubevirtSettings(parallel=parallel, priority_queue=options.limits)
    with ExitStack() as stack:
        home = options.labs or Path(stack.enter_context(TemporaryDirectory(prefix=PREFIX)))
        own, real = (
            _lab(stack, home, name, each, places, keep=options.labs is not None)
            for name, each in (
                ("ours", vm_stack(bandwidth=labs.bandwidth_for(SCALE), parallel=parallel)),
                ("theirs", kubevirt_stack(theirs)),
            )
        )
        return asyncio.run(_run(own, real, wanted, places, options.keep))


def _lab(
    stack: ExitStack, home: Path, name: str, of: Stack, places: int, *, keep: bool
) -> RunningLab:
    scale = SCALE if name == "ours" else 1
    lab = RunningLab(Home(home), name, (of,))
    if not keep:
        stack.callback(lab.down)
    lab.up(stacks=(of.name,), nodes=places * labs.NODES_EACH, scale=scale)
    return lab


async def _run(
    own: RunningLab, real: RunningLab, wanted: Sequence[Scenario], places: int, keep: Path | None
) -> Tally:
    began = time.monotonic()
    seen: list[Compared] = []

    def report(played: Played, compared: Compared) -> None:
        seen.append(compared)
        if keep:
            append(keep, played)
        if compared.unexplained:
            _show(compared)
        if len(seen) % 10 == 0:
            odd = sum(bool(each.unexplained) for each in seen)
            took = f"{len(seen)} scenarios in {time.monotonic() - began:.0f} s"
            print(f"{took}, {odd} with unexplained differences", flush=True)

    async with labs.ours(own.kubeconfig, SCALE) as ours, labs.theirs(real.kubeconfig) as theirs:
        mine = await labs.make_places(ours, 1, places, SCALE)
        others = await labs.make_places(theirs, 1, places, 1)
        return await run(wanted, (ours, mine), (theirs, others), report=report)


def _show(compared: Compared) -> None:
    print(f"{compared.scenario.name}: {compared.scenario.told()}")
    print(*(f"  {each}" for each in compared.differences), sep="\n", flush=True)


def _conclude(tally: Tally) -> int:
    print(*table(tally.compared), sep="\n")
    print(f"differences by kind: {dict(by_kind(tally.compared))}")
    print(f"KubeVirt's answers: {dict(answers(tally.compared))}")
    print(f"KubeVirt's waits after failures: {dict(waits(tally.compared))}")
    for each in tally.unexplained:
        _show(each)
    print(*tally.failures, sep="\n")
    return 1 if tally.unexplained or tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
