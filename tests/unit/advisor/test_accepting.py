"""Drift that somebody accepted stays, and never becomes something that we write."""

from typing import Any

import pytest
from msgspec import structs

from builders.worlds.openshift import a_cluster, changed, load_aware
from trimtab.advisor.api import Accepted, FieldChange, Item, VirtPlatformConfig
from trimtab.advisor.cluster.offline import plan_offline
from trimtab.advisor.cluster.requests import with_accepted, without_accepted
from trimtab.advisor.decide.accepted_drift import shown
from trimtab.advisor.kinds import DESCHEDULER
from trimtab.advisor.plan.diff import has_changes
from trimtab.advisor.plan.plan import PlatformPlan, differs
from trimtab.advisor.profiles.registry import built_in
from trimtab.errors import ConfigError
from trimtab.view.services.advisor import exceptions

ITEM = "enable-load-aware-descheduling"
OPTIONS = load_aware(enable_psi_metrics=False)
HOURLY = Accepted(item=ITEM, field="spec.deschedulingIntervalSeconds", value=3600)


def plan(*accepted: Accepted, **live: Any) -> PlatformPlan:
    cluster = changed(a_cluster(), DESCHEDULER, **live) if live else a_cluster()
    profile = built_in().get("load-aware-rebalancing")
    return plan_offline(profile, OPTIONS, cluster, (), accepted)


def item(*accepted: Accepted, **live: Any) -> Item:
    (found,) = plan(*accepted, **live).items
    return found


def test_an_accepted_value_stays_and_is_said() -> None:
    kept = item(HOURLY)
    assert "-  deschedulingIntervalSeconds: 3600" not in kept.diff
    assert "+  mode: Automatic" in kept.diff
    assert exceptions([kept]) == [f"accepted: {ITEM}: spec.deschedulingIntervalSeconds stays 3600"]
    assert "spec.deschedulingIntervalSeconds" in kept.managed_fields  # it is still watched


def test_another_value_than_the_accepted_one_is_planned_as_ever() -> None:
    made = plan(HOURLY, deschedulingIntervalSeconds=1800)
    assert "+  deschedulingIntervalSeconds: 60" in made.items[0].diff
    assert made.items[0].accepted == ()
    (told,) = made.warnings
    assert "is not 3600 any more; the acceptance has no effect" in told


def test_what_is_accepted_is_never_written_where_it_is_not() -> None:
    forged = Accepted(item=ITEM, field="spec.mode", value="Wild")
    outside = Accepted(item=ITEM, field="spec.logLevel", value="Normal")
    made = plan(forged, outside)
    assert (made.items[0].desired_state or {})["spec"] == (item().desired_state or {})["spec"]
    assert len(made.warnings) == 2


def test_a_field_that_is_gone_may_stay_away() -> None:
    gone = Accepted(item=ITEM, field="spec.evictionLimits", removed=True)
    assert "evictionLimits" not in item(gone).diff
    assert shown(gone) == "absent"


def test_the_profile_does_not_plan_otherwise_because_of_it() -> None:
    profile, cluster = built_in().get("load-aware-rebalancing"), a_cluster()
    desired_objects = profile.draft(OPTIONS, cluster.facts(profile, OPTIONS)).desired_objects
    assert not differs([item(HOURLY)], desired_objects)
    assert has_changes(item().diff)


def config(*accepted: Accepted) -> VirtPlatformConfig:
    drift = (
        FieldChange(field="spec.mode", value="Predictive", by=("kubectl",)),
        FieldChange(field="spec.profiles", removed=True),
    )
    blank = VirtPlatformConfig()
    return structs.replace(
        blank,
        spec=structs.replace(blank.spec, accepted=accepted),
        status=structs.replace(blank.status, items=(Item(name="i", drift=drift),)),
    )


def test_all_drift_is_accepted_or_single_fields() -> None:
    mode = Accepted(item="i", field="spec.mode", value="Predictive")
    gone = Accepted(item="i", field="spec.profiles", removed=True)
    assert with_accepted(config(), []) == [mode, gone]
    old = Accepted(item="i", field="spec.mode", value="Old")
    assert with_accepted(config(old), ["spec.mode"]) == [mode]
    assert without_accepted(config(mode, gone), ["spec.mode"]) == [gone]
    assert without_accepted(config(mode, gone), []) == []
    with pytest.raises(ConfigError, match="no drift to accept"):
        with_accepted(config(), ["spec.other"])
    with pytest.raises(ConfigError, match="nothing is accepted"):
        without_accepted(config(), [])
