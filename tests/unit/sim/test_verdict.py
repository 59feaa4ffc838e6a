"""One sentence about a run, and it says so when one should not run this."""

from math import nan
from typing import Any

import pytest

from builders.worlds.sim import one_hot_node
from trimtab.sim import simulate_one
from trimtab.sim.measures.meaning import verdict
from trimtab.sim.outcome import ReportCard
from trimtab.sim.spec import RunSpec

LEVEL = {"first_converged_s": 240.0, "last_converged_s": 240.0, "migrations": 8}


def a_card(**changes: Any) -> ReportCard:
    values: dict[str, Any] = dict.fromkeys(ReportCard.__struct_fields__, 0)
    return ReportCard(**(values | {"minimum_migrations": 7, "load_std_mean": 0.04} | changes))


NOTHING = a_card(load_std_mean=0.2, first_converged_s=nan)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"first_converged_s": nan, "migrations": 480, "vms_moved_again": 20},
         "Never level, 480 migrations, 20 VMs moved more than once: do not run this."),
        ({"first_converged_s": nan, "migrations": 9, "load_std_mean": 0.2},
         "Never level, 9 migrations, and no better than doing nothing: do not run this."),
        ({"first_converged_s": nan, "migrations": 1, "failed_migrations": 2},
         "Never level, 1 migration (2 failed); better than doing nothing, but not enough."),
        ({"first_converged_s": nan},
         "Never level, and nothing was moved: these settings do not see the imbalance."),
        (LEVEL, "Level after 4m with 8 migrations, and it stays so."),
        (LEVEL | {"migrations": 40, "vms_moved_again": 1},
         "Level after 4m, but with 40 migrations where 7 would do, 1 VM moved more than once."),
        (LEVEL | {"last_converged_s": 3600.0},
         "Level after 4m, but not for good: left again until 1h, 8 migrations."),
        ({"first_converged_s": 0.0}, "Level without a migration: there is nothing to do here."),
    ],
)  # fmt: skip
def test_what_a_run_means(changes: dict[str, Any], told: str) -> None:
    assert verdict(a_card(**changes), NOTHING) == told


def test_moves_without_a_gain_are_not_recommended() -> None:
    level = a_card(load_std_mean=0.04, first_converged_s=0.0)
    assert "doing nothing is as level" in verdict(a_card(**LEVEL), level)


def test_a_real_run_has_a_verdict() -> None:
    scenario = one_hot_node(4)
    run, idle = (simulate_one(RunSpec(scenario, score=s), 1) for s in ("max_metric", None))
    assert verdict(run.card, idle.card).startswith(("Level after", "Never level"))
    assert "do not see the imbalance" in verdict(idle.card, idle.card)
