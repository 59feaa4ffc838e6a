"""KubevirtMigrationAware of OpenShift's descheduler: who migrates stays, who migrated rests."""

from datetime import timedelta
from typing import Any

import pytest

from builders.values.lint_cases import facts
from builders.worlds.policy import decide_snapshot
from builders.worlds.snapshots import NOON, a_launcher, a_policy, a_snapshot
from trimtab.errors import ConfigError
from trimtab.model.snapshot import EVICT, MIGRATIONS, REQUEST_EVICT_ONLY, Snapshot
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.yaml_text import dump_yaml, load_yaml
from trimtab.policy.pods.migration_aware import MigrationAware, cooldown_s
from trimtab.truth.explain.explanation import explain
from trimtab.truth.lint import DeschedulerProgram, lint

HOUR, QUARTER = 3600.0, 900.0
HOT: dict[str, float] = {"n1": 80, "n2": 30, "n3": 10}
NAME = "KubevirtMigrationAware"


def of_openshift(**args: Any) -> str:
    """A policy as OpenShift's operator writes it."""
    tree = a_policy(evictor={"evictLocalStoragePods": True, "noEvictionPolicy": "Mandatory"})
    (profile,) = tree["profiles"]
    profile["pluginConfig"].append({"name": NAME, "args": args})
    for point in ("filter", "preevictionfilter"):
        profile["plugins"][point] = {"enabled": ["DefaultEvictor", NAME]}
    return dump_yaml(tree)


def migrated(*minutes_ago: tuple[float, float | None], **annotations: str) -> Snapshot:
    """One VM on the hot node, with the beginnings and ends of its migrations."""
    times = [
        f"{(NOON - timedelta(minutes=begun)).isoformat()}/"
        + ("" if ended is None else (NOON - timedelta(minutes=ended)).isoformat())
        for begun, ended in minutes_ago
    ]
    known = {REQUEST_EVICT_ONLY: "", MIGRATIONS: " ".join(times), **annotations}
    return a_snapshot(HOT, of_openshift(), pods=(a_launcher("vm", "n1", annotations=known),))


@pytest.mark.parametrize(
    ("history", "now", "expected"),
    [
        pytest.param([], HOUR, 0.0, id="never moved"),
        pytest.param([(0, 10)], HOUR, QUARTER, id="moved once"),
        pytest.param([(0, 1200)], HOUR, 1200.0, id="a long migration rests as long"),
        pytest.param([(0, 10), (20, 30)], HOUR, 2 * QUARTER, id="twice: twice as long"),
        pytest.param([(i, i + 1) for i in range(4)], HOUR, 8 * QUARTER, id="four times: eight"),
        pytest.param([(i, i + 1) for i in range(9)], HOUR, 6 * HOUR, id="six hours at most"),
        pytest.param([(0, 10), (20, 30)], 49 * HOUR, 0.0, id="two days later all is forgotten"),
        pytest.param(
            [(0, 10), (10 * HOUR, 10 * HOUR + 5)], 49 * HOUR, QUARTER, id="or the first of two"
        ),
    ],
)
def test_the_cooldown_doubles_with_each_recent_migration(
    history: list[tuple[float, float]], now: float, expected: float
) -> None:
    assert cooldown_s(history, now, MigrationAware()) == expected


def test_a_limit_of_zero_is_none() -> None:
    history = [(float(i), i + 1.0) for i in range(9)]
    assert cooldown_s(history, HOUR, MigrationAware(longest_cooldown_s=0)) == 256 * QUARTER


@pytest.mark.parametrize(
    ("snapshot", "rule"),
    [
        pytest.param(migrated((5, None)), f"2.1.{NAME}", id="it migrates now"),
        pytest.param(migrated((5, None), **{EVICT: ""}), f"2.1.{NAME}", id="marked evict as well"),
        pytest.param(migrated((11, 10)), f"2.2.{NAME}", id="it migrated ten minutes ago"),
        pytest.param(migrated((90, 89), (26, 25)), f"2.2.{NAME}", id="twice, 25 minutes ago"),
        pytest.param(migrated((26, 25)), "2.4", id="once, 25 minutes ago: it may go"),
        pytest.param(migrated(), "2.4", id="never"),
        pytest.param(migrated(**{MIGRATIONS: "yesterday/"}), "2.4", id="unreadable: it may go"),
    ],
)
def test_a_vm_that_migrates_or_rests_stays(snapshot: Snapshot, rule: str) -> None:
    (run,) = explain(snapshot).explanation.runs
    (pod,) = run.pods
    assert pod.rule == rule
    assert len(decide_snapshot(snapshot).evictions) == (rule == "2.4")


def test_arguments_are_durations() -> None:
    text = of_openshift(migrationCooldown="1h", maxMigrationCooldown="0s")
    aware = read_policy(text).profiles[0].evictor.migration_aware
    assert aware == MigrationAware(cooldown_s=3600, longest_cooldown_s=0)
    with pytest.raises(ConfigError, match="migrationCooldown: invalid duration '1 hour'"):
        read_policy(of_openshift(migrationCooldown="1 hour"))


def test_configured_but_not_enabled_it_decides_nothing() -> None:
    tree = load_yaml(of_openshift(), "policy")
    tree["profiles"][0]["plugins"] = {"balance": {"enabled": ["LowNodeUtilization"]}}
    assert read_policy(dump_yaml(tree)).profiles[0].evictor.migration_aware is None


@pytest.mark.parametrize(
    ("program", "severities"),
    [
        pytest.param(DeschedulerProgram(openshift=True), [], id="OpenShift's build"),
        pytest.param(DeschedulerProgram(openshift=False), ["error"], id="upstream's"),
        pytest.param(DeschedulerProgram(), ["note"], id="who knows"),
    ],
)
def test_lint_knows_who_has_the_plugin(program: DeschedulerProgram, severities: list[str]) -> None:
    found = lint(facts(of_openshift(), program=program))
    assert [f.severity for f in found if f.id == "plugin-openshift-only"] == severities
    assert len(found) == len(severities)
