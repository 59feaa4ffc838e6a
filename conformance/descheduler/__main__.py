"""`make conformance`: run, judge and report; save what disagrees."""

import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir

from conformance.descheduler.judge.chance import not_chance
from conformance.descheduler.judge.compare import judge
from conformance.descheduler.judge.rules import REQUIRED
from conformance.descheduler.recording import Recording, load, load_together, save, save_together
from conformance.descheduler.run import WORKERS, Tally, numbers_for, run
from conformance.descheduler.selection import telling

_SAVED = Path(gettempdir()) / "trimtab-conformance"


def main() -> int:
    """0 if everything agreed."""
    parser = ArgumentParser("conformance", description=__doc__)
    parser.add_argument("-n", "--cycles", type=int, default=1000)
    parser.add_argument("-s", "--seed", type=int, default=1)
    parser.add_argument("-w", "--workers", type=int, default=WORKERS)
    parser.add_argument("--session", type=int, help="only this session of the seed, once more")
    parser.add_argument("--replay", type=Path, help="judge saved cycles again, without programs")
    parser.add_argument("--record", type=Path, help="keep cycles that touch every rule (.xz)")
    parser.add_argument("-o", "--output", type=Path, default=_SAVED)
    options = parser.parse_args()
    if options.replay:
        return _replay(options.replay)
    started = time.monotonic()
    chosen = [options.session] if options.session is not None else None
    numbers = chosen or numbers_for(options.cycles, options.seed)
    print(f"seed {options.seed}: {len(numbers)} sessions")
    tally = run(
        options.seed,
        numbers,
        workers=options.workers,
        keep=options.record is not None,
        report=_progress(started, options.output),
    )
    if options.record:
        save_together(telling(tally.recordings), options.record)
    return _conclude(tally, options.output)


def _replay(path: Path) -> int:
    together = path.suffix == ".xz"
    cycles = load_together(path) if together else [load(path)]
    problems = [problem for cycle in cycles for problem in _named(cycle)]
    print("\n".join(problems) or f"{path}: {len(cycles)} agree")
    return 1 if problems else 0


def _named(cycle: Recording) -> list[str]:
    return [f"{cycle.name}: {problem}" for problem in judge(cycle).problems]


def _progress(started: float, output: Path) -> Callable[[Tally], None]:
    def report(tally: Tally) -> None:
        save([recording for recording, _ in tally.disagreements], output)
        seconds = time.monotonic() - started
        print(
            f"{tally.cycles} cycles in {seconds:.0f} s, {tally.evicting} with evictions, "
            f"{len(tally.disagreements)} disagreements",
            flush=True,
        )

    return report


def _conclude(tally: Tally, output: Path) -> int:
    print("rules:", ", ".join(f"{rule} {tally.rules[rule]}" for rule in REQUIRED))
    wrong = [*not_chance(tally.orders), *tally.failures]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    for (recording, problems), path in zip(
        tally.disagreements, save([r for r, _ in tally.disagreements], output), strict=True
    ):
        print(f"{recording.theme}, {recording.kind}: scripts/conformance --replay {path}")
        print(*(f"  {problem}" for problem in problems), sep="\n")
    return 1 if tally.disagreements or wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
