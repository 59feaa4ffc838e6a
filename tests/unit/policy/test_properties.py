"""What holds for every cluster and every policy."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.examples import examples
from builders.worlds.policy import AView, a_high, a_low, a_node, a_pod, a_policy, a_view, nano
from trimtab.model.nodes_and_vms import Taint
from trimtab.model.snapshot import Toleration
from trimtab.policy.choices import Shuffled
from trimtab.policy.cycle import Class, Cycle, PluginRun, PodOutcome
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import (
    DEFAULT_PROTECTIONS,
    Evictor,
    HighNodeUtilization,
    Plugin,
    Policy,
    UsageSource,
)
from trimtab.policy.inflight import InFlight, KnownEviction
from trimtab.policy.pods.filters import Filter
from trimtab.policy.view import Qos
from trimtab.truth.explain.pods import Judge

SOFT = Taint(key="soft", effect="PreferNoSchedule")
LIMIT = st.none() | st.integers(0, 4)
TRAITS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "priority": st.sampled_from([None, 0, 7, 2_000_000_000]),
        "qos": st.sampled_from(list(Qos)),
        "evict": st.sampled_from([False, False, False, True]),
        "prefer_no_eviction": st.booleans(),
        "request_evict_only": st.booleans(),
        "owners": st.sampled_from([0, 1, 1, 1]),
        "local_storage": st.sampled_from([False, False, True]),
        "tolerations": st.sampled_from([(), (Toleration(operator="Exists"),)]),
        "requests": st.sampled_from([nano(cpu=1), nano(cpu="250m", memory=3), {}]),
    }
)
POD = st.tuples(TRAITS, st.sampled_from(["a", "b"]), st.booleans())
NODE = st.tuples(st.integers(0, 100), st.booleans(), st.sampled_from([(), (SOFT,)]))


@st.composite
def views(draw: st.DrawFn) -> AView:
    drawn = draw(st.lists(st.tuples(NODE, st.lists(POD, max_size=4)), min_size=2, max_size=6))
    nodes, pods = [], {}
    for at, ((_, cordoned, taints), on_it) in enumerate(drawn):
        nodes.append(a_node(f"n{at}", unschedulable=cordoned, taints=taints))
        pods[f"n{at}"] = [
            a_pod(f"n{at}-{number}", namespace=namespace, terminating=going, **traits)
            for number, (traits, namespace, going) in enumerate(on_it)
        ]
    return a_view([node[0] for node, _ in drawn], nodes=nodes, pods=pods)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    limits = {name: draw(LIMIT) for name in ("max_total", "max_per_node", "max_per_namespace")}
    evictor = Evictor(
        no_eviction=draw(st.sampled_from(["", "Mandatory"])),
        protections=draw(st.sampled_from([DEFAULT_PROTECTIONS, frozenset()])),
        node_fit=draw(st.booleans()),
    )
    low, high = sorted((draw(st.integers(0, 100)), draw(st.integers(0, 100))))
    excluded = draw(st.sampled_from([frozenset(), frozenset({"b"})]))
    plugin: Any = draw(
        st.sampled_from(
            [
                None,
                a_low({"cpu": low}, {"cpu": high}, excluded=excluded),
                a_high({"cpu": low}, excluded=excluded),
            ]
        )
    )
    args = {"node_limit": draw(LIMIT), "excluded": excluded} if plugin is None else {}
    deviation = draw(st.booleans())
    return a_policy(
        low, high, deviation=deviation, plugin=plugin, evictor=evictor, policy=limits, **args
    )


IN_FLIGHT = st.lists(
    st.builds(
        KnownEviction,
        st.sampled_from(["uid-a-n0-0", "uid-b-n1-0", "x", "y"]),
        st.sampled_from(["n0", "n1"]),
        st.sampled_from(["a", "b"]),
        st.none() | st.just(0.0),
    ),
    max_size=3,
    unique_by=lambda entry: entry.pod_uid,
).map(InFlight)


@given(view=views(), policy=policies(), inflight=IN_FLIGHT, seed=st.integers(0, 99))
@settings(max_examples=examples(50))
def test_every_cycle(view: AView, policy: Policy, inflight: InFlight, seed: int) -> None:
    cycle = decide(view, policy, inflight, Shuffled(seed))
    again = decide(view, policy, inflight, Shuffled(seed))
    assert fingerprint(cycle) == fingerprint(again)
    the_limits_hold(cycle, policy, inflight)
    for run, (_, plugin) in zip(cycle.runs, policy.profiles[0].plugins, strict=True):
        sources_are_no_destinations(run, plugin, view)
        candidates_are_taken_in_order(run)
        nobody_goes_who_may_not(run, plugin, Filter(policy.profiles[0].evictor, view), inflight)


def fingerprint(cycle: Cycle) -> object:
    return [
        (run.error, run.exit, run.headroom, [(v.node, v.steps, v.stop) for v in run.visits])
        for run in cycle.runs
    ]


def the_limits_hold(cycle: Cycle, policy: Policy, inflight: InFlight) -> None:
    evictions = cycle.evictions
    if evictions and policy.max_total is not None:
        assert inflight.total + len(evictions) <= policy.max_total
    nodes = Counter(e.node for e in evictions)
    namespaces = Counter(e.pod.namespace for e in evictions)
    for limit, known, counts in (
        (policy.max_per_node, inflight.per_node, nodes),
        (policy.max_per_namespace, inflight.per_namespace, namespaces),
    ):
        if limit is not None:
            assert all(known.get(name, 0) + count <= limit for name, count in counts.items())


def sources_are_no_destinations(run: PluginRun, plugin: Plugin, view: AView) -> None:
    sources = {n for group in run.sources for n in group}
    assert sources.isdisjoint(run.destinations)
    assert not any(view.nodes[n].unschedulable for n in run.destinations)
    wanted = Class.UNDER if isinstance(plugin, HighNodeUtilization) else Class.OVER
    if run.figures is not None:
        assert all(run.figures.classes[n] == wanted for n in sources)


def candidates_are_taken_in_order(run: PluginRun) -> None:
    for visit in run.visits:
        places = {pod.uid: at for at, group in enumerate(visit.candidates) for pod in group}
        taken = [places[step.pod.uid] for step in visit.steps]
        assert taken == sorted(taken)


def nobody_goes_who_may_not(
    run: PluginRun, plugin: Plugin, judge: Filter, inflight: InFlight
) -> None:
    for eviction in run.evictions:
        assert judge.refusals(eviction.pod) == ()
        assert eviction.pod.namespace not in plugin.excluded
        assert not (eviction.background and eviction.pod.uid in inflight)


@given(view=views(), policy=policies())
@settings(max_examples=examples(25))
def test_reasons_and_decisions_agree(view: AView, policy: Policy) -> None:
    """A pod that was evicted has no reason to stay; one that was skipped has the named one."""
    cycle = decide(view, policy)
    expected = {
        PodOutcome.NOT_TOLERATED: "E7b",
        PodOutcome.NAMESPACE_EXCLUDED: "E7c",
        PodOutcome.PRE_EVICTION_FILTER: "2.2.nodeFit",
    }
    for run, (_, plugin) in zip(cycle.runs, policy.profiles[0].plugins, strict=True):
        takers = [view.nodes[n] for n in run.destinations]
        judge = Judge(view, policy.profiles[0], plugin, takers)
        for visit in run.visits:
            for step in visit.steps:
                rules = [reason.rule for reason in judge.reasons(step.pod, visit.node)]
                if step.outcome in expected:
                    assert rules[0] == expected[step.outcome]
                else:
                    assert rules == []


def test_reasons_name_every_rule_in_order() -> None:
    view = a_view([90, 5], nodes=[a_node("hot"), a_node("idle", taints=(SOFT,))])
    evictor = Evictor(node_fit=True)
    policy = a_policy(evictor=evictor, excluded=frozenset({"a"}))
    (profile,) = policy.profiles
    ((_, plugin),) = profile.plugins
    judge = Judge(view, profile, plugin, [view.nodes[1]])
    pod = a_pod(namespace="a", owners=0, local_storage=True, requests=nano(cpu=99))
    assert [reason.rule for reason in judge.reasons(pod, "hot")] == [
        "2.1.4.FailedBarePods",
        "2.1.4.PodsWithLocalStorage",
        "E7b",
        "E7c",
        "2.2.nodeFit",
    ]


def test_high_node_utilizations_mode_is_a_reason() -> None:
    plugin = a_high({"cpu": 20}, only_thresholding_resources=True)
    (profile,) = a_policy(plugin=plugin).profiles
    view = a_view()
    judge = Judge(view, profile, plugin, list(view.nodes))
    (reason,) = judge.reasons(a_pod(), "n0")
    assert reason.rule == "1.7.evictionModes"


@pytest.mark.parametrize("source", [UsageSource.REQUESTS, UsageSource.METRICS_SERVER])
def test_a_seed_decides_the_same_twice_and_seeds_differ(source: UsageSource) -> None:
    pods = {"n0": [a_pod(f"p{at}", requests=nano(cpu=1)) for at in range(8)], "n1": []}
    metrics = {"n0": nano(cpu=8, memory=1), "n1": nano(cpu=0, memory=0)}
    usage = {f"p{at}": [nano(cpu=1, memory=0)] for at in range(8)}
    view = a_view([0, 0], pods=pods, node_metrics=metrics, pod_metrics=usage)
    policy = a_policy(plugin=a_low({"cpu": 20}, {"cpu": 50}, source=source))
    chosen = {
        tuple(e.pod.name for e in decide(view, policy, choose=Shuffled(seed)).evictions)
        for seed in (1, 2, 3, 4)
        for _ in range(2)
    }
    assert len(chosen) == 4
    assert {len(names) for names in chosen} == {3}
