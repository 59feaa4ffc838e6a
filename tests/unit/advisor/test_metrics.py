"""What a configuration tells to Prometheus, and the alerts on it."""

import re

import pytest
from msgspec import structs

from builders.advisorworld import World
from trimtab.advisor import metrics
from trimtab.advisor.alerts import alert_groups
from trimtab.obs.metrics import exposition


def value(sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", exposition().decode(), re.MULTILINE)
    assert found, sample
    return float(found[1])


@pytest.mark.proves("B13")
def test_phase_drift_and_items_are_counted() -> None:
    world = World("Apply")
    world.run()
    world.hand("mode", "Manual")
    world.run()
    metrics.tell(world.config)
    name = 'config="load-aware-rebalancing"'
    assert value(f"trimtab_advisor_drifted{{{name}}}") == 1
    assert value(f'trimtab_advisor_phase{{{name},phase="Drifted"}}') == 1
    assert value(f'trimtab_advisor_phase{{{name},phase="Completed"}}') == 0
    item = f'trimtab_advisor_plan_items{{{name},severity="High",state="Completed"}}'
    assert value(item) == 1
    metrics.forget(world.config.metadata.name)
    assert value(f"trimtab_advisor_drifted{{{name}}}") == 0
    assert value(item) == 0


def test_every_alert_is_about_a_metric_that_exists() -> None:
    metrics.tell(structs.replace(World().config))
    text = exposition().decode()
    for rule in alert_groups()["groups"][0]["rules"]:
        (name,) = re.findall(r"trimtab_advisor_\w+", rule["expr"])
        assert f"\n{name}{{" in text
        assert rule["annotations"]["summary"]
