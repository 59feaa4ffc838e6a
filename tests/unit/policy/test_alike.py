"""Pods alike that are decided about together: the decision about each of them one by one."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.examples import examples
from builders.worlds.policy import AView, a_pod, a_policy, a_view
from trimtab.policy.choices import Answer, Shuffled
from trimtab.policy.cycle import Cycle, StepsTogether
from trimtab.policy.decision import decide
from trimtab.policy.file.settings import Evictor, Policy
from trimtab.policy.inflight import InFlight, KnownEviction
from trimtab.policy.view import PlainPod, PodsAlike, Traits

NODES = ("n0", "n1", "n2")
LIMIT = st.one_of(st.none(), st.integers(0, 40))


def pods_of(counts: list[int], traits: Traits) -> dict[str, list[PlainPod]]:
    return {
        node: [replace(a_pod(f"{node}-{at}", started=float(at)), traits=traits) for at in range(n)]
        for node, n in zip(NODES, counts, strict=True)
    }


def view_of(pods: dict[str, Any]) -> AView:
    return a_view([90, 80, 70, 5, 5, 5, 5, 5], pods=pods, now=30.0)


def told(cycle: Cycle) -> list[Any]:
    return [
        (visit.node, [(step.pod.uid, step.outcome) for step in visit.steps], visit.stop)
        for run in cycle.runs
        for visit in run.visits
    ]


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """One profile or the same one twice, which finds in flight what the first one evicted."""
    limits = {name: draw(LIMIT) for name in ("max_total", "max_per_node", "max_per_namespace")}
    evictor = draw(st.sampled_from([Evictor(), Evictor(min_pod_age_s=20.0)]))
    policy = a_policy(evictor=evictor, policy=limits, node_limit=draw(LIMIT))
    return replace(policy, profiles=policy.profiles * draw(st.integers(1, 2)))


@given(
    counts=st.lists(st.integers(0, 30), min_size=3, max_size=3),
    policy=policies(),
    answer=st.sampled_from(Answer),
    background=st.booleans(),
    request_evict_only=st.booleans(),
    flying=st.lists(st.tuples(st.sampled_from(NODES), st.integers(0, 35)), max_size=2),
    seed=st.integers(0, 99),
)
@settings(max_examples=examples(150), deadline=None)
def test_pods_alike_get_what_each_of_them_gets(
    counts: list[int],
    policy: Policy,
    answer: Answer,
    background: bool,
    request_evict_only: bool,
    flying: list[tuple[str, int]],
    seed: int,
) -> None:
    pods = pods_of(counts, Traits(request_evict_only=request_evict_only))
    alike = {node: PodsAlike(range(len(some)), some.__getitem__) for node, some in pods.items()}
    in_flight = InFlight(
        KnownEviction(f"uid-default-{node}-{at}", node, "default", 0.0) for node, at in flying
    )
    decided = []
    for shown in (pods, alike):
        chance = Random(seed)
        cycle = decide(
            view_of(shown),
            policy,
            in_flight,
            Shuffled(chance),
            background=background,
            answer=lambda pod: answer,
        )
        decided.append((told(cycle), chance.getstate()))
    assert decided[0] == decided[1]


def test_many_pods_alike_are_taken_together_and_read_like_any_others() -> None:
    (pods,) = (pods_of([12, 0, 0], Traits(request_evict_only=True))["n0"],)
    view = view_of({"n0": PodsAlike(range(12), pods.__getitem__)})
    (run,) = decide(view, a_policy(node_limit=10)).runs
    steps = run.visits[0].steps
    assert isinstance(steps, StepsTogether)
    assert len(steps) == len(list(steps)) == 10
    assert [step.pod.name for step in steps[:2]] == ["n0-0", "n0-1"]
    assert steps[-1].pod is pods[9]
    assert len(list(run.evictions)) == 10
