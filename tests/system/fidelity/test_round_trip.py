"""Round trip: a lab is recorded, and what it does next is compared with what-ifs on that."""

import pytest

from builders.labs.fidelity import a_bench
from builders.labs.round_trip import RecordedRun, play_and_record, predicted, sampling_error
from trimtab.fidelity.runs import RunFigures, figures_of_lab, ranges
from trimtab.fidelity.verdict import ScenarioVerdict, Subject, judge
from trimtab.study.recorded.replay import replay

pytestmark = [pytest.mark.engines, pytest.mark.full]
RUNS, CYCLES = 3, 15
WRONG = "pressure_focused"


def test_a_lab_of_unlike_nodes_does_what_what_ifs_on_its_recordings_predict(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """With fidelity's statistics: 400 seeds of each recording, no figure beyond chance."""
    with a_bench(tmp_path_factory, "heterogeneous-nodes", cycles=CYCLES, scale=15) as (loop, order):
        recorded = [
            play_and_record(loop, order, tmp_path_factory.mktemp("recorded")) for _ in range(RUNS)
        ]
    lab = [figures_of_lab(each.run, CYCLES) for each in recorded]
    for each in recorded:
        check_replays(each)

    def verdict(score: str | None) -> ScenarioVerdict:
        first = recorded[0]
        interval_s = first.run.interval_s * first.run.scale
        known: list[RunFigures] = predicted(first, order, interval_s, score=score)
        found = ranges(known, lab)
        print(found)
        return judge(Subject(order.scenario.name, order.score.name), [], found)

    assert verdict("").problems == ()
    assert not verdict(None).passed
    assert not verdict(WRONG).passed


def check_replays(recorded: RecordedRun) -> None:
    rest, levels = replay(recorded.before), replay(recorded.during)
    bound = sampling_error(recorded.during)
    print(
        f"\nat rest {rest.cpu_mean:.2g} points of CPU, while it levels {levels.cpu_mean:.2f} "
        f"(95 % below {levels.cpu_p95:.1f}; moves explain up to {bound:.2f})"
    )
    assert rest.cpu_p95 < 0.01
    assert levels.trusted
    assert levels.cpu_mean < bound + 0.05
