"""What the descheduler sees, and how old it is."""

import numpy as np
import pytest
from numpy.typing import NDArray

from trimtab.scores import Window, evaluate, find_score
from trimtab.sim.descheduling.sensor import Pieces, Sensor, phases
from trimtab.sim.spec import Timing

STEADY = Timing(random_phases=False)
READY = np.array([True, True])


def a_sensor(timing: Timing = STEADY, score: str = "cpu_focused", replicas: int = 1) -> Sensor:
    return Sensor(find_score(score), ["a", "b"], timing, list(range(replicas)))


def inputs(*cpu: float) -> NDArray[np.float64]:
    """CPU use of each node; no pressure, no memory."""
    return np.array([cpu, *np.zeros((3, len(cpu)))])


def piece(start: float, end: float, *cpu: float) -> Pieces:
    return Pieces(np.array([0]), np.array([start]), np.array([end]), inputs(*cpu)[None])


@pytest.mark.parametrize(
    ("timing", "expected"),
    [
        pytest.param(STEADY, [120, 105, 90, 75], id="all in step"),
        pytest.param(
            Timing(scrape_phase_s=5, random_phases=False),
            [110, 95, 80, 65],
            id="rules see the scrape before them",
        ),
        pytest.param(
            Timing(scrape_phase_s=10, rules_phase_s=4, random_phases=False),
            [100, 85, 70, 55],
            id="and the query sees the rules before it",
        ),
        pytest.param(
            Timing(rules_s=30, random_phases=False),
            [120, 90],
            id="half the rules, half the samples",
        ),
        pytest.param(
            Timing(scrape_s=60, random_phases=False), [120, 60, 60, 60], id="a sample counts again"
        ),
    ],
)
def test_a_query_counts_the_samples_of_the_last_minute(
    timing: Timing, expected: list[float]
) -> None:
    assert a_sensor(timing).scrapes(120.0)[0].tolist() == expected


def test_a_change_shows_in_proportion_to_the_samples_since() -> None:
    sensor = a_sensor()
    sensor.remember(piece(-np.inf, 80.0, 0.8, 0.2))
    sensor.remember(piece(80.0, 120.0, 0.4, 0.6))  # a VM moved at 80 s
    # Scrapes at 120, 105, 90 and 75 s: one before the move, three after.
    scores = sensor.scores(120.0, READY)[0]
    np.testing.assert_allclose(scores, [0.7 * (0.8 + 3 * 0.4) / 4, 0.7 * (0.2 + 3 * 0.6) / 4])
    np.testing.assert_allclose(sensor.seen[0, 0], [0.5, 0.5])


def test_a_move_right_before_the_decision_is_not_seen_at_all() -> None:
    sensor = a_sensor(Timing(scrape_phase_s=5, random_phases=False))
    sensor.remember(piece(-np.inf, 115.0, 0.8, 0.2))
    sensor.remember(piece(115.0, 120.0, 0.1, 0.9))
    np.testing.assert_allclose(sensor.scores(120.0, READY)[0], [0.56, 0.14])


def test_the_past_before_the_run_is_its_start() -> None:
    sensor = a_sensor()
    sensor.start_with(inputs(0.6, 0.2)[None])
    np.testing.assert_allclose(sensor.scores(0.0, READY)[0, 0], 0.7 * 0.6)
    sensor.remember(piece(0.0, 15.0, 1.0, 1.0))
    np.testing.assert_allclose(sensor.scores(15.0, READY)[0, 0], 0.7 * (3 * 0.6 + 1.0) / 4)


def test_every_sample_counts_when_all_timers_are_in_step() -> None:
    sensor = a_sensor()
    sensor.start_with(inputs(0.6, 0.6)[None])
    for minute in range(5):
        sensor.remember(piece(60.0 * minute, 60.0 * minute + 60, 0.6, 0.6))
        assert sensor.scores(60.0 * minute + 60, READY)[0].tolist() == [0.42, 0.42]


def test_a_scrape_at_the_moment_of_a_change_sees_what_was_before() -> None:
    sensor = a_sensor()
    sensor.remember(piece(-np.inf, 120.0, 0.8, 0.2))
    sensor.remember(piece(120.0, 180.0, 0.0, 1.0))
    np.testing.assert_allclose(sensor.scores(120.0, READY)[0], [0.56, 0.14])


def test_a_lost_node_has_no_score() -> None:
    sensor = a_sensor()
    sensor.start_with(inputs(0.6, 0.2)[None])
    scores = sensor.scores(-1.0, np.array([True, False]))[0]
    assert scores[0] == pytest.approx(0.42)
    assert np.isnan(scores[1])


def test_a_score_that_looks_back_gets_all_its_samples() -> None:
    sensor = a_sensor(score="sustained")
    sensor.start_with(inputs(0.2, 0.2)[None])
    sensor.remember(piece(0.0, 3600.0, 0.9, 0.2))
    # Six minutes of rules every 15 s up to 60 s: 20 from before the run, 4 from the run.
    samples = np.stack([inputs(0.2, 0.2).T] * 20 + [inputs(0.9, 0.2).T] * 4)[None]
    expected = evaluate(find_score("sustained"), Window(samples, 15.0 * np.arange(24.0)))
    np.testing.assert_array_equal(sensor.scores(60.0, READY), expected)
    assert sensor.scores(900.0, READY)[0, 0] > 3 * expected[0, 0]


def test_phases_differ_by_seed_within_their_periods_and_can_be_fixed() -> None:
    drawn = np.array([phases(seed, Timing()) for seed in range(50)])
    assert len(np.unique(drawn)) == 100
    assert ((drawn >= 0) & (drawn < 15)).all()
    assert phases(3, Timing(scrape_phase_s=2.0, random_phases=False)) == (2.0, 0.0)
