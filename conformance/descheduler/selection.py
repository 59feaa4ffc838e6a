"""As few recorded cycles as are sharp enough: every rule decided, every wrong variant found."""

from collections import Counter
from collections.abc import Iterable, Sequence

from conformance.descheduler.judge.chance import Orders, not_chance, orders_in
from conformance.descheduler.judge.compare import judge
from conformance.descheduler.judge.coverage import coverage
from conformance.descheduler.judge.rules import REQUIRED
from conformance.descheduler.recording import Recording
from conformance.descheduler.wrong.mutants import MUTANTS, Mutant
from trimtab.policy.snapshot_view import SnapshotView

TIMES = 5
Seen = tuple[Recording, SnapshotView]


def in_turn(recordings: Iterable[Recording]) -> list[Seen]:
    """All themes in turn: most variants are found sooner."""
    ordered = sorted(recordings, key=lambda r: (r.step, r.session))
    return [(recording, SnapshotView(recording.snapshot)) for recording in ordered]


def telling(recordings: Sequence[Recording]) -> list[Recording]:
    """The cycles that are worth keeping."""
    rules: Counter[str] = Counter()
    everything, kept = in_turn(recordings), dict[str, Seen]()
    for recording, view in everything:
        touched = coverage([(recording, judge(recording, view))])
        if any(rules[rule] < TIMES for rule in touched if rule in REQUIRED):
            rules += touched
            kept[recording.name] = recording, view
    for mutant in MUTANTS:
        if not is_found(mutant, list(kept.values())):
            kept |= {seen[0].name: seen for seen in everything if is_found(mutant, [seen])}
    return sorted((recording for recording, _ in kept.values()), key=lambda r: (r.session, r.step))


def is_found(mutant: Mutant, seen: Sequence[Seen]) -> bool:
    """Some cycle disagrees, or an order that is called chance is none."""
    orders: Orders = Counter()
    with mutant.at_work():
        for recording, view in seen:
            judgement = judge(recording, None if mutant.of_view else view)
            if judgement.problems:
                return True
            orders += orders_in(judgement)
        return bool(not_chance(orders))
