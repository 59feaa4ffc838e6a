"""A lab for a scenario of the examples, and the order to play it there."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from builders.labs.loops import EXAMPLES, LoopLab, running_loop
from trimtab.fidelity.lab import LabRunOrder
from trimtab.model.scenarios.io import load_scenario
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.scores import find_score

SCORE = "linear_amplified_ippd_k3"


@contextmanager
def a_bench(
    factory: pytest.TempPathFactory, scenario: str, *, cycles: int, scale: int
) -> Iterator[tuple[LoopLab, LabRunOrder]]:
    wanted = load_scenario(EXAMPLES / "scenarios" / f"{scenario}.yaml")
    order = LabRunOrder(
        scenario=wanted, score=find_score(SCORE), policy=DEFAULT_POLICY, cycles=cycles
    )
    with running_loop(factory, scenario=wanted, scale=scale) as loop:
        yield loop, order
