"""What a configuration tells to Prometheus, and the alerts on it."""

import re
from pathlib import Path

from msgspec import structs

from builders.worlds.advisor import World
from trimtab.advisor import metrics
from trimtab.install.advisor.alerts import GUIDE, alert_groups
from trimtab.obs.metrics import exposition


def value(sample: str) -> float:
    found = re.search(rf"^{re.escape(sample)} (\S+)$", exposition().decode(), re.MULTILINE)
    assert found, sample
    return float(found[1])


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


def test_every_alert_leads_to_a_section_of_the_guide() -> None:
    guide = (Path(__file__).parents[3] / GUIDE).read_text()
    titles = [line.lstrip("# ") for line in guide.splitlines() if line.startswith("#")]
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    for rule in alert_groups()["groups"][0]["rules"]:
        page, _, section = rule["annotations"]["runbook"].partition("#")
        assert (page, section in anchors) == (GUIDE, True), rule["alert"]
