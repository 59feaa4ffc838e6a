"""How often Prometheus scrapes, from how many samples it has."""

import pytest

from trimtab.observe.record.prometheus_queries import (
    DEFAULT_SCRAPE_S,
    SCRAPE_PERIODS_S,
    scrape_interval,
)


def counts_of(interval_s: float, age_s: float) -> dict[int, float]:
    """Samples in each period, of a server that began `age_s` seconds ago."""
    return {period: min(period, age_s) // interval_s for period in SCRAPE_PERIODS_S}


@pytest.mark.parametrize("interval_s", [1.5, 5, 15, 30, 60])
def test_a_server_of_some_hours_tells_its_interval(interval_s: float) -> None:
    assert scrape_interval(counts_of(interval_s, 7200)) == pytest.approx(interval_s, rel=0.15)


@pytest.mark.parametrize(("interval_s", "age_s"), [(1.5, 31), (1.5, 90), (5, 60), (15, 130)])
def test_a_young_server_is_not_taken_for_a_slow_one(interval_s: float, age_s: float) -> None:
    assert scrape_interval(counts_of(interval_s, age_s)) == pytest.approx(interval_s, rel=0.15)


def test_without_samples_the_usual_interval_is_taken() -> None:
    assert scrape_interval(counts_of(15, 0)) == DEFAULT_SCRAPE_S
