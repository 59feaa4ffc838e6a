"""Beside each field that changes stands why the profile sets it."""

import pytest

from builders.worlds.openshift import DENSITY, a_cluster, added, changed, load_aware, planned
from trimtab.advisor.api import Item, Options
from trimtab.advisor.kinds import DESCHEDULER, POLICY, RULES
from trimtab.advisor.mocks.baseline import namespace
from trimtab.advisor.plan.diff import changing, with_changes
from trimtab.advisor.plan.fields import leaves, lookup, parse_path
from trimtab.advisor.profiles.eviction_limits import all_in_words, in_words
from trimtab.cli.main import app
from trimtab.view.services.advisor import show_diffs, show_plan

EXAMPLE = "example-profile"
UPSTREAM = load_aware(target="upstream")
CASES = [
    ("load-aware-rebalancing", None),
    ("load-aware-rebalancing", UPSTREAM),
    (DENSITY, None),
    (EXAMPLE, None),
]


def items(name: str, options: Options | None) -> tuple[Item, ...]:
    homes = [namespace(ref.namespace) for ref in (POLICY, RULES)]
    return planned(added(a_cluster(), *homes), options, name).items


@pytest.mark.parametrize(("name", "options"), CASES)
def test_every_value_that_a_profile_sets_has_a_reason(name: str, options: Options | None) -> None:
    for item in items(name, options):
        told = [parse_path(reason.field) for reason in item.reasons]
        for dotted in item.managed_fields:
            root = parse_path(dotted)
            for leaf in leaves(lookup(item.desired_state, root)[1]):
                path = (*root, *leaf)
                assert any(path[: len(t)] == t for t in told), f"{item.name}: {path} has none"
        assert all(len(reason.why) <= 300 for reason in item.reasons)


def test_only_reasons_of_what_changes_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = changed(a_cluster(), DESCHEDULER, mode="Automatic")
    plan = planned(cluster, load_aware(enable_psi_metrics=False))
    (item,) = plan.items
    fields = {reason.field for reason in changing(item)}
    assert "spec.deschedulingIntervalSeconds" in fields
    assert "spec.mode" not in fields
    show_plan(plan.items, (), "plan")
    assert "why spec.profiles: KubeVirtRelieveAndMigrate is the best profile" in _flat(capsys)
    show_diffs(plan.items)
    assert "# spec.profiles: KubeVirtRelieveAndMigrate is the best profile" in _flat(capsys)
    done = with_changes(item, item.desired_state, item.desired_state)
    assert changing(done) == ()


def _flat(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_limits_say_where_they_come_from() -> None:
    def why(options: Options) -> str:
        (item,) = planned(a_cluster(), options).items
        return next(r.why for r in item.reasons if r.field == "spec.evictionLimits.total")

    derived = why(load_aware(enable_psi_metrics=False))
    assert "parallelMigrationsPerCluster of HyperConverged is 5" in derived
    given = why(load_aware(enable_psi_metrics=False, eviction_limit_total=3))
    assert "options.loadAware.evictionLimitTotal" in given


def test_thresholds_are_explained_in_percent(capsys: pytest.CaptureFixture[str]) -> None:
    assert in_words("AsymmetricLow") == (
        "AsymmetricLow: a node more than 10 percentage points above the average load is "
        "overloaded, one below it takes VMs"
    )
    assert "more than 20 points below it" in in_words("Medium")
    app(["advisor", "explain", "AsymmetricLow"], result_action="return_value")
    assert "more than 10 percentage points above" in _flat(capsys)
    app(["advisor", "explain", "load-aware-rebalancing"], result_action="return_value")
    told = _flat(capsys).replace(" │ ", " ")
    assert all(word in told for word in all_in_words())
    assert "30 percentage points" in told
