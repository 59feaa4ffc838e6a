"""A vm-controller and a webhook with wrong rules: the comparison must notice each of them.

    python -m conformance.kubevirt.wrong "MISTAKE[,MISTAKE…]" run vm-controller …

is `trimtab run vm-controller …` with these mistakes, for a lab's component.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.cli.main import run
from trimtab.virt.eviction import EvictionVerdict, judge_eviction
from trimtab.virt.slots import MigrationLimits
from trimtab.vm import leader_state
from trimtab.vm.decide import eviction, finished_migrations

Change = tuple[Any, str, Any]


def _always_20_s(failures: int) -> float:
    return 20.0 if failures else 0.0


def _allow_one_more(limits: MigrationLimits, leaving: int) -> bool:
    return leaving <= limits.node


def _let_go(strategy: str, **facts: Any) -> EvictionVerdict:
    verdict = judge_eviction(strategy, **facts)
    protected = verdict is EvictionVerdict.PROTECTED
    return EvictionVerdict.NOT_MIGRATABLE if protected else verdict


MISTAKES: Mapping[str, Sequence[Change]] = {
    "the wait does not double": [(finished_migrations, "backoff_s", _always_20_s)],
    "one more leaves a node": [(MigrationLimits, "allow_leaving", _allow_one_more)],
    "a protected VM is let go": [(eviction, "judge_eviction", _let_go)],
    "people go before evacuations": [
        (leader_state, "EVACUATION", leader_state.REQUESTED),
        (leader_state, "REQUESTED", leader_state.EVACUATION),
    ],
}


def command(*mistakes: str) -> tuple[str, ...]:
    """How to start `trimtab` with mistakes, from any directory and with any environment."""
    path = repr([each for each in sys.path if each])
    code = f"import sys; sys.path[:0] = {path}; from conformance.kubevirt.wrong import main; main()"
    return (sys.executable, "-c", code, ",".join(mistakes))


def main() -> None:
    """The first argument names the mistakes; the others are `trimtab`'s."""
    for name in sys.argv.pop(1).split(","):
        for place, attribute, wrong_one in MISTAKES[name]:
            setattr(place, attribute, wrong_one)
    run()


if __name__ == "__main__":
    main()
