"""Anonymous snapshots: no word of the cluster is left, and every decision is the same."""

from typing import Any

import pytest
from hypothesis import given, settings

from builders.examples import examples
from builders.worlds.snapshots import (
    a_launcher,
    a_policy,
    a_snapshot,
    decide_as_answered,
    snapshots,
)
from trimtab.model.snapshot import Sample, Snapshot, encode
from trimtab.observe.anonymise import anonymise
from trimtab.observe.pseudonyms import Pseudonyms
from trimtab.policy.cycle import Cycle, PluginRun
from trimtab.truth.explain.outcome_texts import EVACUATING, EVICTION_ANSWER

SECRETS = ("payroll", "acme", "ledger", "important", "team", "red", "blue", "n-a", "vm-", "gold")


def told(cycle: Cycle, nodes: list[str], pods: dict[str, int]) -> list[Any]:
    """A cycle in numbers: everything that was decided, whatever things are called."""

    def of(run: PluginRun) -> Any:
        figures = run.figures
        return (
            run.error and run.error.rule,
            run.exit and run.exit.rule,
            figures and (figures.average, figures.low, figures.high, figures.classes.tolist()),
            figures and dict(figures.doubtful),
            run.headroom,
            run.sources,
            run.destinations,
            [
                (
                    nodes.index(visit.node),
                    [[pods[p.uid] for p in equals] for equals in visit.candidates],
                    [(pods[s.pod.uid], s.outcome) for s in visit.steps],
                    visit.stop,
                )
                for visit in run.visits
            ],
        )

    return [[nodes.index(n) for n in cycle.nodes], cycle.skipped is None, *map(of, cycle.runs)]


def decided(snapshot: Snapshot) -> list[Any]:
    nodes = [node.name for node in snapshot.nodes]
    return told(
        decide_as_answered(snapshot), nodes, {p.uid: at for at, p in enumerate(snapshot.pods)}
    )


@settings(max_examples=examples(15))
@given(snapshots())
def test_decisions_and_their_ties_stay_the_same(snapshot: Snapshot) -> None:
    assert decided(anonymise(snapshot)) == decided(snapshot)


@pytest.mark.full
@settings(max_examples=250)
@given(snapshots())
def test_decisions_stay_the_same_in_many_clusters(snapshot: Snapshot) -> None:
    assert decided(anonymise(snapshot)) == decided(snapshot)


@settings(max_examples=examples(10))
@given(snapshots())
def test_no_word_of_the_cluster_is_left(snapshot: Snapshot) -> None:
    text = encode(anonymise(snapshot)).decode()
    assert [word for word in SECRETS if word in text] == []


def test_names_keep_their_order_and_stay_the_same_everywhere() -> None:
    anonymous = anonymise(a_snapshot({"zeta": 80, "alpha": 10}))
    assert [node.name for node in anonymous.nodes] == ["node-2", "node-1"]
    assert anonymous.query is not None
    assert [s.labels["instance"] for s in anonymous.query.samples] == ["node-2", "node-1"]
    assert {pod.node for pod in anonymous.pods} == {"node-2", "node-1"}


def test_what_is_no_rules_business_is_dropped() -> None:
    pod = a_launcher("vm", "n1", annotations={"secret": "x", EVACUATING: "n1"})
    snapshot = a_snapshot({"n1": 80, "n2": 10}, pods=(pod,))
    (shown,) = anonymise(snapshot).pods
    assert shown.annotations == {EVACUATING: "node-1"}


def test_the_answers_of_vms_are_kept() -> None:
    pod = a_launcher("vm", "n1", annotations={EVICTION_ANSWER: "refused: not live-migratable"})
    (shown,) = anonymise(a_snapshot({"n1": 80, "n2": 10}, pods=(pod,))).pods
    assert shown.annotations[EVICTION_ANSWER] == "refused: not live-migratable"


def test_labels_of_samples_besides_instance_go() -> None:
    snapshot = a_snapshot({"n1": 80, "n2": 10})
    assert snapshot.query is not None
    sample = Sample({"__name__": "score", "instance": "n1", "cluster": "payroll"}, "0.1")
    query = type(snapshot.query)(time=snapshot.taken_at, samples=(sample,))
    shown = anonymise(type(snapshot)(taken_at=snapshot.taken_at, nodes=snapshot.nodes, query=query))
    assert shown.query is not None
    assert shown.query.samples[0].labels == {"__name__": "score", "instance": "node-1"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("http://prom.corp.example:9090", "http://prometheus.example:9090", id="port"),
        pytest.param("https://thanos.corp.example", "https://prometheus.example", id="https"),
    ],
)
def test_addresses_keep_scheme_and_port(url: str, shown: str) -> None:
    server = {"source": "Prometheus", "prometheus": {"url": url}}
    text = anonymise(a_snapshot({"a": 1, "b": 2}, a_policy(metricsProviders=[server]))).policy
    assert shown in text
    assert "corp" not in text


def test_a_pseudonym_is_never_a_word_that_is_kept() -> None:
    names = Pseudonyms(keep=["node-1"])
    names.add("node", ["mine"])
    assert names("mine") == "nodex-1"
