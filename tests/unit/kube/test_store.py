"""The store: indexes stay right, and subscribers hear of everything exactly once."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.values.kube import a_pod
from trimtab.kube.resources import Key, Pod
from trimtab.kube.runtime.store import Store


def by_node(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


NODES, UIDS = ("", "n1", "n2"), ("u1", "u2")
# as in the API, one version never has two contents
pods = st.builds(
    lambda name, n: a_pod(name, node=NODES[n % 3], uid=UIDS[n % 2], version=n),
    st.sampled_from("abc"),
    st.integers(1, 12),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), pods),
        st.tuples(st.just("discard"), st.sampled_from("abc")),
        st.tuples(st.just("swap"), st.lists(pods, max_size=3, unique_by=lambda p: p.metadata.name)),
    ),
    max_size=25,
)


class Mirror:
    """A subscriber that believes only what it hears."""

    def __init__(self) -> None:
        self.objects: dict[Key, Pod] = {}

    def __call__(self, old: Pod | None, new: Pod | None) -> None:
        key = (new or old or a_pod("?")).metadata.key
        assert self.objects.get(key) == old, "heard of an old state that was never announced"
        if new is None:
            del self.objects[key]
        else:
            assert old is None or old.metadata.uid == new.metadata.uid
            self.objects[key] = new


@settings(deadline=None)
@given(steps)
def test_indexes_and_subscribers_always_agree_with_the_objects(
    script: list[tuple[str, object]],
) -> None:
    store: Store[Pod] = Store({"node": by_node})
    mirror = Mirror()
    store.subscribe(mirror)
    for verb, what in script:
        if isinstance(what, Pod):
            store.put(what)
        elif isinstance(what, str):
            store.discard(Key("default", what))
        elif isinstance(what, list):
            store.swap(what)
        objects = {pod.metadata.key: pod for pod in store}
        assert mirror.objects == objects, verb
        nodes = {pod.spec.node_name for pod in objects.values()} - {""}
        assert set(store.values_of("node")) == nodes
        for node in nodes:
            expected = {k for k, pod in objects.items() if pod.spec.node_name == node}
            assert {pod.metadata.key for pod in store.by("node", node)} == expected


def heard(store: Store[Pod]) -> list[tuple[str | None, str | None]]:
    """What a subscriber hears from now on, as (old, new) versions."""
    news: list[tuple[str | None, str | None]] = []
    store.subscribe(lambda old, new: news.append((version(old), version(new))))
    return news


def version(pod: Pod | None) -> str | None:
    return pod.metadata.resource_version if pod else None


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param([a_pod("a", version=1)], [], id="the same version is no news"),
        pytest.param([a_pod("a", version=2)], [("1", "2")], id="a new version is a change"),
        pytest.param([], [("1", None)], id="a deletion nobody saw is reported"),
        pytest.param(
            [a_pod("a", uid="other", version=9)],
            [("1", None), (None, "9")],
            id="deleted and created again under one name is both",
        ),
    ],
)
def test_a_swap_reports_the_differences(
    after: list[Pod], expected: list[tuple[str | None, str | None]]
) -> None:
    store: Store[Pod] = Store()
    store.put(a_pod("a", version=1))
    news = heard(store)
    news.clear()
    store.swap(after)
    assert news == expected


def test_a_late_subscriber_hears_of_what_is_there() -> None:
    store: Store[Pod] = Store()
    store.put(a_pod("a", version=3))
    assert heard(store) == [(None, "3")]


def test_subscribers_see_the_whole_new_state_during_a_swap() -> None:
    store: Store[Pod] = Store({"node": by_node})
    seen: list[int] = []
    store.subscribe(lambda old, new: seen.append(len(store.by("node", "n1"))))
    store.swap([a_pod("a", node="n1"), a_pod("b", node="n1")])
    assert seen == [2, 2]
