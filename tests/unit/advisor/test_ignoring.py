"""What plans leave to others: neither written nor compared, and always said."""

from typing import Any

import pytest

from builders.worlds.openshift import a_cluster, changed, load_aware
from trimtab.advisor.api import MANAGER, Ignore, Item, VirtPlatformConfig
from trimtab.advisor.cluster.offline import plan_offline
from trimtab.advisor.cluster.requests import changed_rules
from trimtab.advisor.decide.drift import what_changed
from trimtab.advisor.kinds import DESCHEDULER
from trimtab.advisor.plan.fields import parse_path, snapshot_hash
from trimtab.advisor.plan.ignored_fields import overlooked, to_write
from trimtab.advisor.plan.plan import PlatformPlan, differs
from trimtab.advisor.plan.profile import OptionError
from trimtab.advisor.profiles.registry import built_in
from trimtab.errors import ConfigError
from trimtab.kube.resources import Free
from trimtab.view.services.advisor import exceptions

ITEM = "enable-load-aware-descheduling"
MODE = Ignore(field="spec.mode")
NESTED = Ignore(field="spec.profileCustomizations.devDeviationThresholds")
OPTIONS = load_aware(enable_psi_metrics=False)


def plan(*rules: Ignore, **live: Any) -> PlatformPlan:
    cluster = changed(a_cluster(), DESCHEDULER, **live) if live else a_cluster()
    return plan_offline(built_in().get("load-aware-rebalancing"), OPTIONS, cluster, rules)


def item(*rules: Ignore, **live: Any) -> Item:
    (found,) = plan(*rules, **live).items
    return found


def owned(manager: str, *paths: str, operation: str = "Apply") -> Free:
    fields: Free = {}
    for dotted in paths:
        at = fields
        for part in parse_path(dotted):
            at = at.setdefault(f"f:{part}", {})
    return {"manager": manager, "operation": operation, "fieldsV1": fields}


def live_with(item: Item, *entries: Free, **spec: Any) -> Free:
    """The object as desired, with these fields changed and these owners."""
    desired = item.desired_state or {}
    meta = desired["metadata"] | {"managedFields": list(entries)}
    return desired | {"metadata": meta, "spec": desired["spec"] | spec}


def test_an_ignored_field_is_not_written_and_not_in_the_diff() -> None:
    assert "+  mode: Automatic" in item().diff
    left = item(MODE)
    assert "mode: Automatic" not in left.diff
    assert "mode" not in (left.desired_state or {})["spec"]
    assert "spec.mode" not in left.managed_fields
    assert exceptions([left]) == [f"ignored: {ITEM}: spec.mode"]
    assert plan().plan_id != plan(MODE).plan_id


def test_of_a_map_the_other_keys_stay_managed() -> None:
    left = item(NESTED)
    assert "spec.profileCustomizations.devEnableSoftTainter" in left.managed_fields
    assert "devDeviationThresholds" not in left.diff
    assert "devEnableSoftTainter: true" in left.diff


def test_a_rule_of_another_item_says_nothing() -> None:
    assert item(Ignore(field="spec.mode", item="enable-psi-metrics")).ignored == ()
    assert item(Ignore(field="spec.mode", item=ITEM)).ignored != ()


def test_a_path_that_no_item_manages_is_named() -> None:
    for field in ("spec.modus", "spec.profiles.0", "spec.logLevel"):
        (told,) = plan(Ignore(field=field)).warnings
        assert f"no item of this plan manages {field}" in told


def test_nothing_may_be_left_of_an_item() -> None:
    rules = [Ignore(field=path) for path in item().managed_fields]
    with pytest.raises(OptionError, match="leaves nothing of item"):
        plan(*rules)


def test_a_later_change_of_it_is_no_drift() -> None:
    left = item(MODE)
    before, after = live_with(left, mode="Automatic"), live_with(left, mode="Predictive")
    hashes = {
        snapshot_hash([left], {left.target_ref: overlooked(left, live, (MODE,))})
        for live in (before, after)
    }
    assert len(hashes) == 1
    assert what_changed(left, overlooked(left, after, (MODE,))) == []


def test_what_was_ours_keeps_its_value_and_what_is_not_is_left_out() -> None:
    left = item(MODE)
    ours = live_with(left, owned(MANAGER, "spec.mode"), mode="Automatic")
    assert to_write(left, ours, (MODE,))["spec"]["mode"] == "Automatic"
    theirs = live_with(left, owned("kubectl", "spec.mode"), mode="Predictive")
    assert "mode" not in to_write(left, theirs, (MODE,))["spec"]
    assert to_write(item(), theirs, ()) == item().desired_state


def test_what_an_ignored_manager_takes_later_is_no_drift_either() -> None:
    rules = (Ignore(manager="gitops"),)
    left = item(*rules)
    assert left.ignored == ()
    taken = live_with(left, owned("gitops", "spec.mode"), mode="Predictive")
    assert what_changed(left, overlooked(left, taken, rules)) == []
    assert "mode" not in to_write(left, taken, rules)["spec"]
    by_others = live_with(left, owned("alice", "spec.mode"), mode="Predictive")
    assert what_changed(left, overlooked(left, by_others, rules)) == ["spec.mode changed by alice"]


def test_a_key_that_an_ignored_manager_adds_is_not_counted() -> None:
    left, path = item(), "spec.profileCustomizations.namespaces"
    custom = (left.desired_state or {})["spec"]["profileCustomizations"] | {"namespaces": "x"}
    live = live_with(left, owned("gitops", path), profileCustomizations=custom)
    assert what_changed(left, live) == [f"{path} added by gitops"]
    assert what_changed(left, overlooked(left, live, (Ignore(manager="gitops"),))) == []


def test_the_same_wish_is_not_another_plan_because_something_is_ignored() -> None:
    desired_objects = [w for w in _draft() if w.name == ITEM]
    assert not differs([item(MODE, NESTED)], desired_objects)
    assert differs([item(MODE)], [w for w in _draft(deschedulingInterval=90) if w.name == ITEM])


def _draft(deschedulingInterval: int = 60) -> tuple[Any, ...]:
    options = load_aware(
        enable_psi_metrics=False, descheduling_interval_seconds=deschedulingInterval
    )
    profile, cluster = built_in().get("load-aware-rebalancing"), a_cluster()
    return profile.draft(options, cluster.facts(profile, options)).desired_objects


def config(*rules: Ignore) -> VirtPlatformConfig:
    from msgspec import structs

    blank = VirtPlatformConfig()
    return structs.replace(
        blank,
        spec=structs.replace(blank.spec, ignore=rules),
        status=structs.replace(blank.status, items=(item(),)),
    )


def test_rules_are_added_once_and_removed_by_name() -> None:
    assert changed_rules(config(), MODE, remove=False) == [MODE]
    assert changed_rules(config(MODE), MODE, remove=False) == [MODE]
    assert changed_rules(config(MODE, NESTED), MODE, remove=True) == [NESTED]
    with pytest.raises(ConfigError, match="is not ignored"):
        changed_rules(config(), MODE, remove=True)
    with pytest.raises(ConfigError, match=r"manages spec\.modus; managed are: spec\.man"):
        changed_rules(config(), Ignore(field="spec.modus"), remove=False)
    with pytest.raises(ConfigError, match='no item "other"'):
        changed_rules(config(), Ignore(field="spec.mode", item="other"), remove=False)
