"""Candidates: the policy with a few values replaced, judged on the same look."""

from pathlib import Path

import pytest
from msgspec import structs

from trimtab.errors import ConfigError
from trimtab.model.examples import example_path
from trimtab.model.snapshot import Snapshot, load
from trimtab.policy.file.default import DEFAULT_POLICY
from trimtab.policy.file.reader import read_policy
from trimtab.policy.file.settings import LowNodeUtilization
from trimtab.prom.client import Sample
from trimtab.scores.prometheus.records import score_record
from trimtab.truth.explain.changes.trial import read_trial
from trimtab.web.compare import PolicyCandidate, candidate_policy, try_candidate

SCORE = "cpu_focused"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return load(example_path(Path("evicts"), "snapshots"))


def low_node_utilization(text: str) -> LowNodeUtilization:
    (plugin,) = [p for profile in read_policy(text, "test").profiles for _, p in profile.plugins]
    assert isinstance(plugin, LowNodeUtilization)
    return plugin


def test_an_empty_candidate_decides_as_the_policy_does(snapshot: Snapshot) -> None:
    trial = read_trial(snapshot)
    tried = try_candidate(trial, PolicyCandidate(), ())
    assert len(tried.evictions) == trial.evictions() > 0
    assert {node for node, judged in tried.nodes.items() if judged.kind == "over"}
    assert snapshot.query is not None
    assert tried.query == snapshot.query.query


def test_a_candidate_replaces_its_own_values_and_nothing_else() -> None:
    changed = candidate_policy(
        DEFAULT_POLICY, PolicyCandidate(score=SCORE, low=5, high=20, per_node=7, total=9)
    )
    policy, plugin = read_policy(changed, "test"), low_node_utilization(changed)
    assert (set(plugin.low.values()), set(plugin.high.values())) == ({5.0}, {20.0})
    assert plugin.query == score_record(SCORE, "avg1m")
    assert plugin.node_limit == 7
    before, was = read_policy(DEFAULT_POLICY, "test"), low_node_utilization(DEFAULT_POLICY)
    assert plugin.deviation == was.deviation
    assert policy.node_selector == before.node_selector
    assert policy.prometheus_url == before.prometheus_url


def test_thresholds_that_nobody_reaches_evict_nothing(snapshot: Snapshot) -> None:
    tried = try_candidate(read_trial(snapshot), PolicyCandidate(high=100), ())
    assert tried.evictions == ()
    assert tried.problem
    assert not {node for node, judged in tried.nodes.items() if judged.kind == "over"}


def test_another_score_is_judged_by_its_recorded_values(snapshot: Snapshot) -> None:
    """Values that are the reverse of the policy's make the coolest nodes the hottest."""
    assert snapshot.query is not None
    record = score_record(SCORE, "avg1m")
    reverse = [
        Sample({**each.labels, "__name__": record}, 0.0, 1 - float(each.value))
        for each in snapshot.query.samples
    ]
    trial = read_trial(snapshot)
    as_is = try_candidate(trial, PolicyCandidate(), reverse)
    other = try_candidate(trial, PolicyCandidate(score=SCORE), reverse)
    assert other.query == record
    for name, judged in as_is.nodes.items():
        if judged.percent is not None and other.nodes[name].percent is not None:
            assert abs(100 - judged.percent - (other.nodes[name].percent or 0)) <= 1


@pytest.mark.parametrize(
    ("policy", "candidate", "words"),
    [
        pytest.param(DEFAULT_POLICY, PolicyCandidate(score="nobody"), "nobody", id="no such score"),
        pytest.param(DEFAULT_POLICY, PolicyCandidate(score=SCORE), "not recorded", id="no values"),
        pytest.param(
            "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: []\n",
            PolicyCandidate(low=1),
            "nothing to try",
            id="another plugin",
        ),
    ],
)
def test_what_cannot_be_tried_is_said(
    snapshot: Snapshot, policy: str, candidate: PolicyCandidate, words: str
) -> None:
    trial = read_trial(snapshot)
    changed = structs.replace(trial, snapshot=structs.replace(snapshot, policy=policy))
    assert words in try_candidate(changed, candidate, ()).problem


def test_a_policy_without_the_plugin_is_not_applied_to() -> None:
    with pytest.raises(ConfigError, match="nothing to try"):
        candidate_policy("profiles: []", PolicyCandidate(low=1))
